"""Models that look words up in a layout of their own, against the gradients of their table of words, item by item.

The words of an item are all different, so that a row of the table is one token, wherever the model reads it.
"""

import numpy as np
import pytest
import torch
import transformers as tf
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.loading import Classifier
from tiny_encoders import BART_SIZES, SIZES
from tiny_models import WORDS

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
# Three lengths; four of 8 tokens, the last included.
TEXTS = [
    "the film was good",
    *(" ".join(WORDS[k : k + 7]) for k in (3, 8, 12, 17)),
    "a very dull plot and one poor actor fell because of rain",
]
QUICK = {
    "method": "riemann_right",
    "steps": 2,
    "baseline": "zeros",
    "rank_special": True,
    "progress": False,
}


def tokenizer():
    names = (*SPECIAL, *WORDS, "one", "of")
    inner = Tokenizer(
        models.WordLevel({name: index for index, name in enumerate(names)}, unk_token="<unk>")
    )
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>",
        model_max_length=24, model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


def reader(family):
    words = tokenizer()
    common = {
        "vocab_size": len(words), "num_labels": 3, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }  # fmt: skip
    t5 = {
        "d_model": 16,
        "d_kv": 8,
        "d_ff": 32,
        "num_layers": 1,
        "num_heads": 2,
        **common,
        "decoder_start_token_id": 0,
    }
    del t5["bos_token_id"]  # which real configurations lack
    config = {
        "xlnet": lambda: tf.XLNetConfig(d_model=16, n_layer=2, n_head=2, d_inner=32, **common),
        "longformer": lambda: tf.LongformerConfig(
            attention_window=4, max_position_embeddings=40, **SIZES, **common
        ),
        "t5": lambda: tf.T5Config(**t5),
        "mt5": lambda: tf.MT5Config(**t5),
        "bart": lambda: tf.BartConfig(max_position_embeddings=40, **BART_SIZES, **common),
        "mbart": lambda: tf.MBartConfig(max_position_embeddings=40, **BART_SIZES, **common),
    }[family]()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = tf.AutoModelForSequenceClassification.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.4)
    return Classifier(model.double().eval(), words, ("a", "b", "c"), family)


def test_a_configuration_of_t5_has_no_beginning():
    assert not hasattr(reader("t5").model.config, "bos_token_id")


@pytest.fixture(scope="module", params=["xlnet", "longformer", "t5", "bart", "mbart"])
def classifier(request):
    return reader(request.param)


def by_table(classifier, text, alpha=1.0):
    """Logits and their gradients with respect to the words of a text, (K, T, d), at a point of the path from zeros."""
    table = classifier.model.get_input_embeddings().weight
    ids = classifier.tokenizer(text, return_tensors="pt")["input_ids"]
    kept = table.detach().clone()
    with torch.no_grad():
        table[ids[0]] *= alpha
    logits = classifier.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
    rows = [torch.autograd.grad(value, table, retain_graph=True)[0][ids[0]] for value in logits]
    with torch.no_grad():
        table.copy_(kept)
    return logits.detach(), torch.stack(rows), kept[ids[0]]


def literal_attribution(classifier, text, steps):
    whole, _, embeddings = by_table(classifier, text)
    label, total = int(whole.argmax()), 0.0
    for k in range(1, steps + 1):
        logits, rows, _ = by_table(classifier, text, k / steps)
        p = logits.softmax(-1)
        # d p_y = p_y (d z_y - sum_k p_k d z_k)
        total = total + p[label] * (rows[label] - torch.einsum("k,ktd->td", p, rows)) / steps
    return (total * embeddings).sum(-1).numpy()


def literal_eigenvalue(classifier, text):
    logits, rows, _ = by_table(classifier, text)
    p, jacobian = logits.softmax(-1), rows.flatten(1)
    root = torch.linalg.cholesky(
        torch.diag(p) - torch.outer(p, p) + 1e-15 * torch.eye(3, dtype=p.dtype)
    )
    return float(torch.linalg.eigvalsh(root.T @ jacobian @ jacobian.T @ root)[-1])


def test_attributions_of_a_batch_are_those_of_the_table_item_by_item(classifier):
    found = integrated_gradients(classifier, TEXTS, reduce="sum", **QUICK)
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(
            found.scores[row], literal_attribution(classifier, text, 2), rtol=1e-4, atol=1e-6
        )


def test_as_many_rows_as_tokens(classifier):
    # Eight points of eight tokens in one pass: nobody can tell (rows, length) from (length, rows) by its shape.
    texts = TEXTS[1:5]
    found = integrated_gradients(classifier, texts, reduce="sum", max_tokens=64, **QUICK)
    for row, text in enumerate(texts):
        np.testing.assert_allclose(
            found.scores[row], literal_attribution(classifier, text, 2), rtol=1e-4, atol=1e-6
        )


def test_fisher_information_is_that_of_the_table_item_by_item(classifier):
    expected = [literal_eigenvalue(classifier, text) for text in TEXTS]
    np.testing.assert_allclose(
        fisher_information(classifier, TEXTS, progress=False).eigenvalues, expected, rtol=1e-4
    )


def test_an_encoder_decoder_of_another_kind_is_refused():
    classifier = reader("bart")
    model = classifier.model
    with torch.no_grad():
        model.model.decoder.embed_tokens = torch.nn.Embedding.from_pretrained(
            torch.ones(len(classifier.tokenizer), 16)
        )
    with pytest.raises(ValueError, match="word embeddings"):
        EmbeddingInput(model)
