"""The attributions of both papers, redone with captum: released code of the one, and the text of Du et al."""

import itertools
import os
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.shortcuts.protocols import PROTOCOLS
from tiny_encoders import TEXTS, tiny_encoder

N_TEXTS = int(os.environ.get("RELEASED_STEPS_TEXTS", "12"))
"""Texts per model; 200 take a minute or two each."""

MODELS = ("bert", "roberta", "bart", "deberta", "albert")
OPTIONS = PROTOCOLS["bihani2025"].attribution()
DU = PROTOCOLS["du2021"].attribution()


def mixed_texts(count):
    """Texts of 3 to 20 words in another order each; no two alike."""
    words = sorted({word for text in TEXTS for word in text.split()})
    generator = np.random.default_rng(7)
    return [
        " ".join(generator.choice(words, size=int(generator.integers(3, 21)))) for _ in range(count)
    ]


def released(classifier, text):
    """One text after the released code: tokens with their numbers, for the class that the model predicts."""
    model, tokenizer = classifier.model, classifier.tokenizer
    with torch.no_grad():
        predicted = int(model(**tokenizer([text], return_tensors="pt")).logits.argmax())
    pieces = tokenizer.encode(text, add_special_tokens=False)
    first, last, padding = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    ids = torch.tensor([[first, *pieces, last]])
    reference = torch.tensor([[first, *[padding] * len(pieces), last]])
    named = {"attention_mask": torch.ones_like(ids)}
    if model.config.model_type in ("bert", "albert", "deberta"):  # with type 1 throughout
        named["token_type_ids"] = torch.ones_like(ids)
    if model.config.model_type == "bert":
        named["position_ids"] = torch.arange(ids.shape[1])[None]
    core = model.base_model
    layer = core.encoder.embed_tokens if model.config.model_type == "bart" else core.embeddings

    def logits(ids, *more):
        return model(ids, **dict(zip(named, more, strict=True))).logits

    with torch.no_grad():
        numbers = LayerIntegratedGradients(logits, layer).attribute(
            ids,
            baselines=reference,
            additional_forward_args=tuple(named.values()),
            target=predicted,
        )
    numbers = numbers.sum(dim=-1).squeeze(0)
    numbers = (numbers / torch.norm(numbers)).double().numpy()
    return SimpleNamespace(
        tokens=tuple(tokenizer.convert_ids_to_tokens(ids[0].tolist())), numbers=numbers
    )


def agreement(classifier, texts):
    """Count the texts with the same three tokens on top, equal numbers (two special tokens with 0) being equal."""
    ours = integrated_gradients(
        classifier, texts, options=OPTIONS, max_length=classifier.max_length, progress=False
    )
    same = 0
    for row, text in enumerate(texts):
        theirs = released(classifier, text)
        assert ours.tokens[row] == theirs.tokens
        np.testing.assert_allclose(ours.scores[row], theirs.numbers, atol=2e-3)
        top = torch.topk(torch.tensor(theirs.numbers), min(3, len(theirs.numbers))).indices.tolist()
        mine = np.argsort(-ours.scores[row], kind="stable")[: len(top)].tolist()
        either = set(top) ^ set(mine)
        same += not either or all(
            theirs.numbers[a] == theirs.numbers[b] for a, b in itertools.combinations(either, 2)
        )
    return same


@pytest.mark.parametrize("architecture", MODELS)
def test_tiny_models(architecture):
    assert agreement(tiny_encoder(architecture), mixed_texts(N_TEXTS)) == N_TEXTS


@pytest.mark.real_weights
def test_the_packaged_encoder(packaged_classifier):
    assert agreement(packaged_classifier, mixed_texts(N_TEXTS)) == N_TEXTS


def described_by_du(classifier, text, label):
    """One text after Du et al. (2021), Eq. 2, on the word embeddings: the norm of each piece, special tokens left out.

    The probability of the gold label, from embeddings of zeros, by 50 points that end at the text.
    """
    model, tokenizer = classifier.model, classifier.tokenizer
    inputs = tokenizer([text], return_tensors="pt", return_special_tokens_mask=True)
    words = inputs.pop("special_tokens_mask")[0] == 0
    ids = inputs.pop("input_ids")

    def probability(embeddings, *more):
        named = {
            name: values.expand(len(embeddings), -1)
            for name, values in zip(inputs, more, strict=True)
        }
        return model(inputs_embeds=embeddings, **named).logits.softmax(-1)

    with torch.no_grad():
        embedded = model.get_input_embeddings()(ids)
    vectors = IntegratedGradients(probability).attribute(
        embedded,
        baselines=torch.zeros_like(embedded),
        additional_forward_args=tuple(inputs.values()),
        target=int(label),
        n_steps=50,
        method="riemann_right",
        internal_batch_size=64,
    )
    return vectors[0].norm(dim=-1)[words].detach().double().numpy()


# BART's classifier takes no embeddings.
@pytest.mark.parametrize("architecture", sorted({*MODELS} - {"bart"}))
def test_tiny_models_by_du(architecture):
    classifier, texts = tiny_encoder(architecture), mixed_texts(N_TEXTS)
    labels = [row % len(classifier.label_names) for row in range(len(texts))]
    ours = integrated_gradients(
        classifier, texts, labels=labels, options=DU.replace(unit="wordpiece"), progress=False
    )
    for row, (text, label) in enumerate(zip(texts, labels, strict=True)):
        np.testing.assert_allclose(
            ours.scores[row], described_by_du(classifier, text, label), rtol=1e-3, atol=1e-7
        )
