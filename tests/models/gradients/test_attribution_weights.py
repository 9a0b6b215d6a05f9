"""Integrated gradients on real weights."""

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients

from rightreasons.models.gradients.attribution import integrated_gradients

pytestmark = pytest.mark.real_weights
TEXTS = [
    "A film of quiet, unhurried beauty.",
    "dull",
    "The acting is fine; the plot, however, is a mess.",
]


@pytest.fixture
def classifier(packaged_classifier):
    return packaged_classifier


def test_equal_to_captum_on_a_padded_batch(classifier):
    ours = integrated_gradients(
        classifier,
        TEXTS,
        baseline="pad",
        method="riemann_right",
        steps=10,
        reduce="sum",
        progress=False,
    )
    model, inputs = classifier.model, classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    engine = LayerIntegratedGradients(
        lambda ids, mask: model(input_ids=ids, attention_mask=mask).logits.softmax(-1),
        model.get_input_embeddings(),
    )
    theirs = engine.attribute(
        ids,
        baselines=torch.where(mask.bool(), classifier.tokenizer.pad_token_id, ids),
        additional_forward_args=(mask,),
        target=torch.tensor(ours.explained),
        n_steps=10,
        method="riemann_right",
    ).sum(-1)
    for row in range(len(TEXTS)):
        expected = theirs[row][mask[row].bool()][1:-1].numpy()
        np.testing.assert_allclose(ours.scores[row], expected, atol=1e-4)


def test_adaptive_keeps_its_gap_with_fewer_nodes_than_the_papers(classifier):
    attributions = integrated_gradients(classifier, TEXTS, tolerance=0.05, progress=False)
    assert (np.abs(attributions.gap) <= 0.05).all()
    assert attributions.nodes.max() < 50
    paper = integrated_gradients(
        classifier, TEXTS, method="riemann_right", steps=50, progress=False
    )
    for one, two in zip(attributions.scores, paper.scores, strict=True):
        top = [set(np.argsort(-scores, kind="stable")[:3].tolist()) for scores in (one, two)]
        assert len(top[0] & top[1]) >= min(2, len(one))
