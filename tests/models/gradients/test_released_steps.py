"""The attributions of two papers, repeated with captum: the released code of one, and the text of Du et al."""

import os

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.shortcuts.protocols import PROTOCOLS
from tiny_encoders import TEXTS, tiny_encoder

# Texts per model; 200 take a minute or two each.
N_TEXTS = int(os.environ.get("RELEASED_STEPS_TEXTS", "12"))


MODELS = ("bert", "roberta", "bart", "deberta", "albert")
OPTIONS = PROTOCOLS["bihani2025"].attribution()
DU = PROTOCOLS["du2021"].attribution()


def draw_texts(count):
    """Return texts of 3 to 20 words in random order, no two of which are equal."""
    words = sorted({word for text in TEXTS for word in text.split()})
    rng = np.random.default_rng(7)
    texts = []
    for _ in range(count):
        n_words = int(rng.integers(3, 21))
        texts.append(" ".join(rng.choice(words, size=n_words)))
    return texts


def attribute_as_released(classifier, text):
    """Return the tokens of a text and their scores by the released code, for the class that the model predicts."""
    model = classifier.model
    tokenizer = classifier.tokenizer
    with torch.no_grad():
        predicted = int(model(**tokenizer([text], return_tensors="pt")).logits.argmax())
    pieces = tokenizer.encode(text, add_special_tokens=False)
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = torch.tensor([[start, *pieces, end]])
    baseline = torch.tensor([[start, *[tokenizer.pad_token_id] * len(pieces), end]])

    model_type = model.config.model_type
    options = {"attention_mask": torch.ones_like(ids)}
    # The released code has the type 1 throughout.
    if model_type in ("bert", "albert", "deberta"):
        options["token_type_ids"] = torch.ones_like(ids)
    if model_type == "bert":
        options["position_ids"] = torch.arange(ids.shape[1])[None]
    body = model.base_model
    layer = body.encoder.embed_tokens if model_type == "bart" else body.embeddings

    def compute_logits(ids, *values):
        return model(ids, **dict(zip(options, values, strict=True))).logits

    with torch.no_grad():
        scores = LayerIntegratedGradients(compute_logits, layer).attribute(
            ids,
            baselines=baseline,
            additional_forward_args=tuple(options.values()),
            target=predicted,
        )
    scores = scores.sum(dim=-1).squeeze(0)
    scores = (scores / torch.norm(scores)).double().numpy()
    return tuple(tokenizer.convert_ids_to_tokens(ids[0].tolist())), scores


def have_same_top_tokens(scores, expected):
    """Return whether three tokens are on top in both; tokens with equal expected scores are exchangeable."""
    k = min(3, len(expected))
    top = set(np.argsort(-scores, kind="stable")[:k].tolist())
    expected_top = set(torch.topk(torch.tensor(expected), k).indices.tolist())
    # Two special tokens may both have 0.
    return len({expected[index] for index in top ^ expected_top}) <= 1


def count_agreements(classifier, texts):
    """Check the scores of all texts, and return the number of texts with the same three tokens on top."""
    attributions = integrated_gradients(
        classifier, texts, options=OPTIONS, max_length=classifier.max_length, progress=False
    )
    n_equal = 0
    for row, text in enumerate(texts):
        tokens, expected = attribute_as_released(classifier, text)
        assert attributions.tokens[row] == tokens
        np.testing.assert_allclose(attributions.scores[row], expected, atol=2e-3)
        n_equal += have_same_top_tokens(attributions.scores[row], expected)
    return n_equal


@pytest.mark.parametrize("architecture", MODELS)
def test_tiny_models_have_the_scores_of_the_released_code(architecture):
    assert count_agreements(tiny_encoder(architecture), draw_texts(N_TEXTS)) == N_TEXTS


@pytest.mark.real_weights
def test_the_packaged_encoder_has_the_scores_of_the_released_code(packaged_classifier):
    assert count_agreements(packaged_classifier, draw_texts(N_TEXTS)) == N_TEXTS


def attribute_by_du(classifier, text, label):
    """Return the norm of each piece after Du et al. (2021), Eq. 2, on the word embeddings, without special tokens.

    The probability of the gold label, from embeddings of zeros, by 50 points that end at the text.
    """
    model = classifier.model
    inputs = classifier.tokenizer([text], return_tensors="pt", return_special_tokens_mask=True)
    is_word = inputs.pop("special_tokens_mask")[0] == 0
    ids = inputs.pop("input_ids")

    def compute_probabilities(embeddings, *values):
        options = {}
        for name, value in zip(inputs, values, strict=True):
            options[name] = value.expand(len(embeddings), -1)
        return model(inputs_embeds=embeddings, **options).logits.softmax(-1)

    with torch.no_grad():
        embeddings = model.get_input_embeddings()(ids)
    vectors = IntegratedGradients(compute_probabilities).attribute(
        embeddings,
        baselines=torch.zeros_like(embeddings),
        additional_forward_args=tuple(inputs.values()),
        target=int(label),
        n_steps=50,
        method="riemann_right",
        internal_batch_size=64,
    )
    return vectors[0].norm(dim=-1)[is_word].detach().double().numpy()


# BART's classifier takes no embeddings.
@pytest.mark.parametrize("architecture", sorted({*MODELS} - {"bart"}))
def test_tiny_models_have_the_scores_of_du(architecture):
    classifier = tiny_encoder(architecture)
    texts = draw_texts(N_TEXTS)
    labels = [row % len(classifier.label_names) for row in range(len(texts))]

    attributions = integrated_gradients(
        classifier, texts, labels=labels, options=DU.replace(unit="wordpiece"), progress=False
    )

    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        expected = attribute_by_du(classifier, text, label)
        np.testing.assert_allclose(attributions.scores[row], expected, rtol=1e-3, atol=1e-7)
