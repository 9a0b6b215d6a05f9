"""Integrated gradients on real weights equal captum's, and need fewer nodes than the papers'."""

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
    attributions = integrated_gradients(
        classifier,
        TEXTS,
        baseline="pad",
        method="riemann_right",
        steps=10,
        reduce="sum",
        progress=False,
    )

    model = classifier.model
    inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    ids = inputs["input_ids"]
    mask = inputs["attention_mask"]

    def compute_probabilities(ids, mask):
        return model(input_ids=ids, attention_mask=mask).logits.softmax(-1)

    captum = LayerIntegratedGradients(compute_probabilities, model.get_input_embeddings())
    vectors = captum.attribute(
        ids,
        baselines=torch.where(mask.bool(), classifier.tokenizer.pad_token_id, ids),
        additional_forward_args=(mask,),
        target=torch.tensor(attributions.explained),
        n_steps=10,
        method="riemann_right",
    )
    for row in range(len(TEXTS)):
        # Without the special tokens at the start and the end.
        expected = vectors[row].sum(-1)[mask[row].bool()][1:-1].numpy()
        np.testing.assert_allclose(attributions.scores[row], expected, atol=1e-4)


def list_top_tokens(scores):
    """Return the indices of the three largest scores."""
    return set(np.argsort(-scores, kind="stable")[:3].tolist())


def test_adaptive_keeps_its_gap_with_fewer_nodes_than_the_papers(classifier):
    adaptive = integrated_gradients(classifier, TEXTS, tolerance=0.05, progress=False)
    assert (np.abs(adaptive.gap) <= 0.05).all()
    assert adaptive.nodes.max() < 50

    paper = integrated_gradients(
        classifier, TEXTS, method="riemann_right", steps=50, progress=False
    )
    for scores, paper_scores in zip(adaptive.scores, paper.scores, strict=True):
        shared = list_top_tokens(scores) & list_top_tokens(paper_scores)
        assert len(shared) >= min(2, len(scores))
