"""The metric `ece` on confidence in given answers, and on predicted classes, by every way in."""

import numpy as np
import pytest

import rightreasons

CONFIDENCE = [0.0, 0.3, 0.3, 0.45, 0.9, 0.9, 1.0]
RIGHT = [0, 1, 0, 1, 1, 0, 1]


def by_add(ece, predictions, references, **options):
    for prediction, reference in zip(predictions, references, strict=True):
        ece.add(prediction=prediction, reference=reference)
    return ece.compute(**options)


def by_add_batch(ece, predictions, references, **options):
    ece.add_batch(predictions=predictions[:3], references=references[:3])
    ece.add_batch(predictions=predictions[3:], references=references[3:])
    return ece.compute(**options)


def by_compute(ece, predictions, references, **options):
    return ece.compute(predictions=predictions, references=references, **options)


WAYS = pytest.mark.parametrize("way", [by_compute, by_add_batch, by_add])


@WAYS
@pytest.mark.parametrize("form", [list, np.array], ids=["list", "array"])
def test_confidence(way, form):
    # Up to 0.5: confidence 1.05/4, right 2/4; above: 2.8/3 and 2/3. Weights 4/7 and 3/7.
    results = way(
        rightreasons.load("ece"), form(CONFIDENCE), form(RIGHT), kind="confidence", n_bins=2
    )
    assert results["ece"] == pytest.approx((0.95 + 0.8) / 7)
    assert results["mean_confidence"] == pytest.approx(3.85 / 7)


@WAYS
@pytest.mark.parametrize("form", [list, np.array], ids=["list", "array"])
@pytest.mark.parametrize("classes", [[0, 1, 1, 0, 1], [0, 2, 1, 2, 0]], ids=["two", "three"])
def test_predicted_classes_are_refused(way, form, classes):
    with pytest.raises(
        ValueError, match=r"predicted classes; pass \(N, K\) class scores, \(N,\) P\(class 1\)"
    ):
        way(rightreasons.load("ece"), form(classes), form([0, 1, 0, 0, 1]))


def test_certain_probabilities_are_taken():
    assert rightreasons.load("ece").compute(predictions=[0.0, 1.0, 1.0], references=[0, 1, 0])[
        "ece"
    ] == pytest.approx(1 / 3)
