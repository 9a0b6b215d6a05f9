"""The probe metrics by every way in: at once, and added in parts, with and without what may be left out."""

import numpy as np

import rightreasons

ROWS = [[0.7, 0.2, 0.1], [0.6, 0.4], [0.5, 0.5]]


def test_prior_bias_both_ways():
    metric = rightreasons.load("prior_bias")
    for references in ([0, 1, -1], None):
        whole = metric.compute(predictions=ROWS, references=references)
        metric.add_batch(predictions=ROWS[:2], references=references and references[:2])
        metric.add_batch(predictions=ROWS[2:], references=references and references[2:])
        assert metric.compute() == whole
    assert whole["pseudo_correct"] is None


def test_choice_paralysis_both_ways():
    metric = rightreasons.load("choice_paralysis", confidence_level=0.9, n_resamples=50)
    inputs = {
        "predictions": np.array([[0.8, 0.2], [0.3, 0.7]]),
        "perturbed_predictions": [[0.5, 0.1, 0.4], [0.2, 0.2, 0.2, 0.4]],
        "references": [0, 1],
        "perturbed_references": [0, 3],
    }
    for extra in ({}, {"original_positions": [[0, 1], [1, 3]]}):
        whole = metric.compute(**inputs, **extra)
        metric.add_batch(**inputs, **extra)
        assert metric.compute() == whole
