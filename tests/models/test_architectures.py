"""Models of all families that people fine-tune are loaded and give the same logits in batches as singly."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from tiny_models import SPECIAL, WORDS, tiny_texts, tiny_tokenizer

SIZE = len(SPECIAL) + len(WORDS)
# Settings of each family, in addition to `SIZES`, with at most 32 positions.
SETTINGS = {
    "distilbert": {
        "dim": 16,
        "n_layers": 2,
        "n_heads": 2,
        "hidden_dim": 32,
        "max_position_embeddings": 32,
    },
    # RoBERTa numbers positions after its padding index (here 0): 33 rows are 32 tokens.
    "roberta": {"max_position_embeddings": 33, "pad_token_id": 0, "type_vocab_size": 1},
    "electra": {"embedding_size": 16, "max_position_embeddings": 32},
    "albert": {"embedding_size": 8, "max_position_embeddings": 32},
    "deberta-v2": {
        "max_position_embeddings": 32,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
    },
    # As RoBERTa, after index 1.
    "mpnet": {"max_position_embeddings": 34},
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


@pytest.fixture(scope="module", params=sorted(SETTINGS))
def folder(request, tmp_path_factory):
    family = request.param
    sizes = {} if family in ("distilbert", "gpt2") else SIZES
    config = AutoConfig.for_model(
        family,
        vocab_size=SIZE,
        id2label={0: "negative", 1: "positive"},
        initializer_range=0.2,
        bos_token_id=2,
        eos_token_id=3,
        **{**sizes, **SETTINGS[family]},
    )
    folder = tmp_path_factory.mktemp(family)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    # Only the model limits the length.
    tokenizer = tiny_tokenizer(max_length=10**30)
    if family in ("distilbert", "roberta", "mpnet", "modernbert", "gpt2", "llama"):
        tokenizer.model_input_names = ["input_ids", "attention_mask"]
    tokenizer.save_pretrained(folder)
    return folder


def test_batches_have_the_logits_of_single_texts(folder):
    classifier = load_classifier(folder, device="cpu")
    assert classifier.max_length == 32
    texts, _ = tiny_texts(12)
    texts.append("good " * 50)

    scores = predict(classifier, texts, batch_size=5, progress=False)

    assert scores.truncated == 1
    expected = []
    for text in texts:
        inputs = classifier.tokenizer(text, return_tensors="pt", truncation=True, max_length=32)
        with torch.no_grad():
            expected.append(classifier.model(**inputs).logits[0].double().numpy())
    np.testing.assert_allclose(scores.logits, expected, atol=1e-4)
    # The texts have different logits.
    assert np.ptp(scores.logits[:, 0]) > 1e-2
