"""Loading and prediction over the families of encoders that people fine-tune, each tiny and from its configuration."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from tiny_models import SPECIAL, WORDS, tiny_texts, tiny_tokenizer

SIZE = len(SPECIAL) + len(WORDS)
SMALL = {
    "distilbert": {
        "dim": 16,
        "n_layers": 2,
        "n_heads": 2,
        "hidden_dim": 32,
        "max_position_embeddings": 32,
    },
    # RoBERTa numbers positions from behind its padding index (here 0): 33 rows hold 32 tokens.
    "roberta": {"max_position_embeddings": 33, "pad_token_id": 0, "type_vocab_size": 1},
    "electra": {"embedding_size": 16, "max_position_embeddings": 32},
    "albert": {"embedding_size": 8, "max_position_embeddings": 32},
    "deberta-v2": {
        "max_position_embeddings": 32,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
    },
    "mpnet": {"max_position_embeddings": 34},  # as RoBERTa, from behind index 1
    "modernbert": {
        "max_position_embeddings": 32,
        "pad_token_id": 0,
        "cls_token_id": 2,
        "sep_token_id": 3,
    },
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
    "llama": {"max_position_embeddings": 32, "num_key_value_heads": 2},
}
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


@pytest.fixture(scope="module", params=sorted(SMALL))
def folder(request, tmp_path_factory):
    own = SMALL[request.param]
    general = {} if request.param in ("distilbert", "gpt2") else SIZES
    names = {0: "negative", 1: "positive"}
    config = AutoConfig.for_model(
        request.param, vocab_size=SIZE, id2label=names, initializer_range=0.2, bos_token_id=2, eos_token_id=3,
        **{**general, **own},
    )  # fmt: skip
    folder = tmp_path_factory.mktemp(request.param)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tokenizer = tiny_tokenizer(max_length=10**30)  # the model alone says how much it takes
    if request.param in ("distilbert", "roberta", "mpnet", "modernbert", "gpt2", "llama"):
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.save_pretrained(folder)
    return folder


def test_batches_say_what_single_texts_say(folder):
    classifier = load_classifier(folder, device="cpu")
    assert classifier.max_length == 32
    texts, _ = tiny_texts(12)
    texts.append("good " * 50)
    scores = predict(classifier, texts, batch_size=5, progress=False)
    assert scores.truncated == 1
    alone = []
    for text in texts:
        inputs = classifier.tokenizer(text, return_tensors="pt", truncation=True, max_length=32)
        with torch.no_grad():
            alone.append(classifier.model(**inputs).logits[0].double().numpy())
    np.testing.assert_allclose(scores.logits, alone, atol=1e-4)
    assert np.ptp(scores.logits[:, 0]) > 1e-2  # the texts are told apart
