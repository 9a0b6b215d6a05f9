"""What is fitted on one split is kept, loaded, and applied to other scores."""

import json

import numpy as np
import pytest

import rightreasons
from rightreasons.calibration.recalibration import recalibrate, recalibration_report
from rightreasons.calibration.recalibrators import (
    METHODS,
    Recalibrator,
    fit_recalibrator,
    load_recalibrator,
)


def draw_split(n_items, n_classes, seed):
    """Logits that are three times too large for their labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n_items, n_classes)) * 1.5
    noise = rng.gumbel(size=logits.shape)
    labels = (logits + noise).argmax(axis=1)
    return 3 * logits, labels


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_saved_recalibrator_is_the_recalibration(tmp_path, method, n_classes):
    fit, other = draw_split(400, n_classes, 0), draw_split(90, n_classes, 1)
    recalibrator = fit_recalibrator(*fit, method=method)
    file = recalibrator.save(tmp_path / "recalibrator.json")
    loaded = rightreasons.load_recalibrator(file)
    expected = recalibrate(*fit, other[0], method=method)
    # JSON keeps every digit of a float.
    np.testing.assert_array_equal(loaded(other[0]), expected)
    assert (loaded.method, loaded.n_classes, loaded.n_fit) == (method, n_classes, 400)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)


def test_scores_of_any_kind_are_applied_alike():
    logits, labels = draw_split(300, 3, 2)
    recalibrator = fit_recalibrator(logits, labels, method="vector")
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    for scores, values in (
        ("log_probabilities", log_probabilities),
        ("probabilities", np.exp(log_probabilities)),
    ):
        np.testing.assert_allclose(
            recalibrator(values, scores=scores), recalibrator(log_probabilities), atol=1e-9
        )


def test_a_temperature_is_told_with_its_test():
    fit, other = draw_split(4000, 3, 3), draw_split(2000, 3, 4)
    report = recalibration_report(*fit, *other, method="temperature")
    # The logits were made three times too large.
    assert report.recalibrator.parameters["temperature"][0] == pytest.approx(3.0, rel=0.1)
    ece = report.tests["ece"]
    assert ece.difference == pytest.approx(report.after["ece"] - report.before["ece"])
    assert ece.p_value < 1e-6
    assert ece.interval.high < 0
    # A temperature changes no answer.
    assert report.tests["accuracy"].difference == 0
    assert report.tests["accuracy"].p_value == 1.0


def test_an_infinite_log_loss_has_no_test():
    # Isotonic regression gives class 1 no probability below .5, where one label is 1.
    fit = [0.2] * 4 + [0.8] * 4, [0] * 4 + [1] * 4
    report = recalibration_report(*fit, [0.2, 0.2, 0.8], [0, 1, 1], scores="probabilities")
    assert set(report.tests) == {"accuracy", "ece", "brier"}


def test_scores_of_other_classes_are_refused():
    recalibrator = fit_recalibrator(*draw_split(50, 3, 5), method="temperature")
    with pytest.raises(ValueError, match="3 classes"):
        recalibrator([[0.1, 0.2]])


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ([1, 2], "recalibrator in"),
        ({"format": "something"}, "recalibrator in"),
        ({"method": "vector", "parameters": {"temperature": [1.0]}}, "weights and biases"),
        ({"method": "magic", "parameters": {}}, "one of"),
        ({"parameters": None}, "got none"),
        ({"n_classes": None}, "whole number"),
        ({"n_fit": "9"}, "whole number"),
        # The lengths and values of the parameters follow from the method and from two classes.
        ({"parameters": {"temperature": []}}, "finite numbers"),
        ({"parameters": {"temperature": [2.0, 3.0]}}, "length 1"),
        ({"parameters": {"temperature": [-1.0]}}, "above 0"),
        ({"method": "vector", "parameters": {"weights": [1], "biases": [0, 0]}}, "length 2"),
        ({"method": "vector", "parameters": {"weights": 5, "biases": [0, 0]}}, "finite numbers"),
        ({"method": "isotonic", "parameters": {"scores": [[0]] * 2, "rates": [[0]]}}, "1 list as"),
        ({"method": "isotonic", "parameters": {"scores": [[0]], "rates": [[0, 1]]}}, "length 1"),
        (
            {"method": "isotonic", "parameters": {"scores": [[1, 0]], "rates": [[0, 1]]}},
            "increasing",
        ),
        (
            {"method": "isotonic", "parameters": {"scores": [[0, 1]], "rates": [[1, 0]]}},
            "increasing",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, content, match):
    file = tmp_path / "file.json"
    if isinstance(content, dict) and "format" not in content:
        base = Recalibrator("temperature", 2, 9, {"temperature": [2.0]}).save(file)
        content = {**json.loads(base.read_text("utf-8")), **content}
    file.write_text(json.dumps(content), "utf-8")
    with pytest.raises(ValueError, match=match):
        load_recalibrator(file)
