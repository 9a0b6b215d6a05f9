"""Isotonic regression and vector scaling, against scikit-learn and planted scalings."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.isotonic import IsotonicRegression

from rightreasons.calibration.recalibration import recalibrate, recalibration_report
from rightreasons.calibration.recalibrators import apply_temperature, fit_temperature
from rightreasons.core.validation import softmax


def planted(n, k=3, seed=0):
    """Logits whose calibrated probabilities are softmax(w z + b)."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * 2
    truth = softmax(logits * [0.4, 1.5, 0.8][:k] + [1.0, -0.5, 0.0][:k])
    return logits, (rng.random((n, 1)) >= truth.cumsum(axis=1)[:, :-1]).sum(axis=1), truth


def test_isotonic_is_that_of_scikit_learn():
    logits, labels, _ = planted(300)
    rows = softmax(logits).round(2)
    rows /= rows.sum(axis=1, keepdims=True)
    fitted = [
        IsotonicRegression(out_of_bounds="clip")
        .fit(rows[:200, k], labels[:200] == k)
        .predict(rows[200:, k])
        for k in range(3)
    ]
    expected = np.column_stack(fitted)
    sums = expected.sum(axis=1, keepdims=True)
    found = recalibrate(rows[:200], labels[:200], rows[200:], scores="probabilities")
    assert found == pytest.approx(expected / sums, abs=1e-9)
    two = (labels > 0).astype(int)
    positive = (
        IsotonicRegression(out_of_bounds="clip")
        .fit(rows[:200, 1], two[:200])
        .predict(rows[200:, 1])
    )
    found = recalibrate(rows[:200, 1], two[:200], rows[200:, 1], scores="probabilities")
    assert found == pytest.approx(np.column_stack((1 - positive, positive)), abs=1e-9)


def test_isotonic_rows_without_any_class():
    # Each class never occurs below 0.4: at three times 1/3 nothing is left.
    rows = [
        [0.8, 0.1, 0.1],
        [0.1, 0.8, 0.1],
        [0.1, 0.1, 0.8],
        [0.4, 0.4, 0.2],
        [0.2, 0.4, 0.4],
        [0.4, 0.2, 0.4],
    ]
    found = recalibrate(
        rows, [0, 1, 2, 2, 0, 1], [[1 / 3] * 3, [0.8, 0.1, 0.1]], scores="probabilities"
    )
    assert found == pytest.approx(np.array([[1 / 3] * 3, [1, 0, 0]]))


def test_vector_scaling_finds_a_planted_one():
    logits, labels, truth = planted(20_000)
    found = recalibrate(logits, labels, logits, method="vector")
    assert np.abs(found - truth).mean() < 0.01
    temperature = recalibrate(logits, labels, logits, method="temperature")
    assert np.abs(temperature - truth).mean() > 0.05
    assert temperature == pytest.approx(
        apply_temperature(logits, fit_temperature(logits, labels).temperature)
    )


def test_vector_scaling_has_the_least_penalized_loss():
    logits, labels, _ = planted(50, seed=3)

    def loss(x):
        scaled = softmax(logits * x[:3] + x[3:])
        return (
            -np.log(scaled[np.arange(50), labels]).mean()
            + ((x - [1, 1, 1, 0, 0, 0]) ** 2).sum() / 100
        )

    best = optimize.minimize(
        loss, np.zeros(6), method="Nelder-Mead", options={"maxiter": 20_000, "fatol": 1e-13}
    ).x
    found = recalibrate(logits, labels, logits[:5], method="vector")
    assert found == pytest.approx(softmax(logits[:5] * best[:3] + best[3:]), abs=1e-4)


def test_vector_scaling_of_certain_predictions_is_finite():
    found = recalibrate(
        [[1.0, 0.0]] * 4 + [[0.0, 1.0]],
        [0, 0, 0, 1, 1],
        [[1.0, 0.0]],
        method="vector",
        scores="probabilities",
    )
    assert 0.6 < found[0, 0] < 1


@pytest.mark.parametrize("method", ["isotonic", "vector"])
def test_report_on_another_split(method):
    logits, labels, _ = planted(4000, seed=5)
    report = recalibration_report(
        logits[:2000], labels[:2000], logits[2000:], labels[2000:], method=method
    )
    assert report.after["ece"] < report.before["ece"] / 2
    assert report.after["accuracy"] > report.before["accuracy"]
    assert (report.method, report.n_fit) == (method, 2000)


def test_what_cannot_be_recalibrated():
    with pytest.raises(ValueError, match="Only a temperature fits"):
        recalibrate([[0.5, 0.5], [0.2, 0.3, 0.5]], [0, 0], [[0.5, 0.5]], scores="probabilities")
    with pytest.raises(ValueError, match="in both splits"):
        recalibrate(np.zeros((2, 3)), [0, 1], np.zeros((2, 2)))
    with pytest.raises(ValueError, match="isotonic"):
        recalibrate([0.5], [0], [0.5], method="platt", scores="probabilities")
