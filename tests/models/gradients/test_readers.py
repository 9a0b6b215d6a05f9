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


def make_tokenizer():
    names = (*SPECIAL, *WORDS, "one", "of")
    vocabulary = {name: index for index, name in enumerate(names)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=24,
        model_input_names=["input_ids", "attention_mask"],
    )


def make_config(family, vocabulary_size):
    common = {
        "vocab_size": vocabulary_size,
        "num_labels": 3,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }
    t5 = {
        "d_model": 16,
        "d_kv": 8,
        "d_ff": 32,
        "num_layers": 1,
        "num_heads": 2,
        **common,
        "decoder_start_token_id": 0,
    }
    # Real configurations of T5 lack it.
    del t5["bos_token_id"]
    config_types = {
        "xlnet": (
            tf.XLNetConfig,
            {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32, **common},
        ),
        "longformer": (
            tf.LongformerConfig,
            {"attention_window": 4, "max_position_embeddings": 40, **SIZES, **common},
        ),
        "t5": (tf.T5Config, t5),
        "mt5": (tf.MT5Config, t5),
        "bart": (tf.BartConfig, {"max_position_embeddings": 40, **BART_SIZES, **common}),
        "mbart": (tf.MBartConfig, {"max_position_embeddings": 40, **BART_SIZES, **common}),
    }
    config_type, options = config_types[family]
    return config_type(**options)


def make_classifier(family):
    tokenizer = make_tokenizer()
    config = make_config(family, len(tokenizer))
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(1)
        model = tf.AutoModelForSequenceClassification.from_config(config)
        # Larger weights than those of the initialization, so that the texts have different logits.
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.4)
    return Classifier(model.double().eval(), tokenizer, ("a", "b", "c"), family)


def test_a_configuration_of_t5_has_no_beginning():
    assert not hasattr(make_classifier("t5").model.config, "bos_token_id")


@pytest.fixture(scope="module", params=["xlnet", "longformer", "t5", "bart", "mbart"])
def classifier(request):
    return make_classifier(request.param)


def differentiate_by_table(classifier, text, alpha=1.0):
    """Logits and their gradients with respect to the words of a text, (K, T, d), at a point of the path from zeros."""
    table = classifier.model.get_input_embeddings().weight
    ids = classifier.tokenizer(text, return_tensors="pt")["input_ids"]
    original = table.detach().clone()
    with torch.no_grad():
        table[ids[0]] *= alpha
    logits = classifier.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
    gradients = []
    for logit in logits:
        (gradient,) = torch.autograd.grad(logit, table, retain_graph=True)
        gradients.append(gradient[ids[0]])
    with torch.no_grad():
        table.copy_(original)
    return logits.detach(), torch.stack(gradients), original[ids[0]]


def attribute_by_table(classifier, text, steps):
    predicted_logits, _, embeddings = differentiate_by_table(classifier, text)
    label = int(predicted_logits.argmax())
    total = 0.0
    for step in range(1, steps + 1):
        logits, gradients, _ = differentiate_by_table(classifier, text, step / steps)
        p = logits.softmax(-1)
        # d p_y = p_y (d z_y - sum_k p_k d z_k)
        mean_gradient = torch.einsum("k,ktd->td", p, gradients)
        total = total + p[label] * (gradients[label] - mean_gradient) / steps
    return (total * embeddings).sum(-1).numpy()


def compute_eigenvalue_by_table(classifier, text):
    """The largest eigenvalue of J' F J, where F = diag(p) - p p' = R R', is that of R' J J' R."""
    logits, gradients, _ = differentiate_by_table(classifier, text)
    p = logits.softmax(-1)
    jacobian = gradients.flatten(1)
    fisher = torch.diag(p) - torch.outer(p, p)
    # F is singular, as its rows sum to 0, and a Cholesky root needs a positive definite matrix.
    root = torch.linalg.cholesky(fisher + 1e-15 * torch.eye(3, dtype=p.dtype))
    return float(torch.linalg.eigvalsh(root.T @ jacobian @ jacobian.T @ root)[-1])


def test_attributions_of_a_batch_are_those_of_the_table_item_by_item(classifier):
    attributions = integrated_gradients(classifier, TEXTS, reduce="sum", **QUICK)
    for row, text in enumerate(TEXTS):
        expected = attribute_by_table(classifier, text, 2)
        np.testing.assert_allclose(attributions.scores[row], expected, rtol=1e-4, atol=1e-6)


def test_as_many_rows_as_tokens(classifier):
    # Eight points of eight tokens in one pass: nobody can tell (rows, length) from (length, rows) by its shape.
    texts = TEXTS[1:5]
    attributions = integrated_gradients(classifier, texts, reduce="sum", max_tokens=64, **QUICK)
    for row, text in enumerate(texts):
        expected = attribute_by_table(classifier, text, 2)
        np.testing.assert_allclose(attributions.scores[row], expected, rtol=1e-4, atol=1e-6)


def test_fisher_information_is_that_of_the_table_item_by_item(classifier):
    eigenvalues = fisher_information(classifier, TEXTS, progress=False).eigenvalues
    expected = [compute_eigenvalue_by_table(classifier, text) for text in TEXTS]
    np.testing.assert_allclose(eigenvalues, expected, rtol=1e-4)


def test_an_encoder_decoder_with_two_tables_of_words_is_refused():
    classifier = make_classifier("bart")
    table = torch.ones(len(classifier.tokenizer), 16)
    with torch.no_grad():
        classifier.model.model.decoder.embed_tokens = torch.nn.Embedding.from_pretrained(table)
    with pytest.raises(ValueError, match="word embeddings"):
        EmbeddingInput(classifier.model)
