"""Temperature scaling: closed forms, a peer's optimizer, and the report on another split."""

import math

import numpy as np
import pytest
from scipy import optimize

from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.calibration.recalibrators import apply_temperature, fit_temperature


def overconfident(n, k=3, temperature=2.5, seed=0):
    """Logits that are `temperature` times too large for the labels drawn from them."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, k)) * 1.5
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    labels = (rng.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1)
    return true * temperature, np.minimum(labels, k - 1)


class TestFit:
    @pytest.mark.parametrize("temperature", [0.5, 1.0, 2.5, 10.0])
    def test_finds_the_planted_temperature(self, temperature):
        fit = fit_temperature(*overconfident(20_000, temperature=temperature))
        assert fit.temperature == pytest.approx(temperature, rel=0.05)
        assert not fit.at_bound

    def test_worked(self):
        # P(right) = sigmoid(4 / T) = 0.8 at T = 4 / ln 4
        fit = fit_temperature([[4.0, 0.0]] * 5, [0, 0, 0, 0, 1])
        assert fit.temperature == pytest.approx(4 / math.log(4))
        assert fit.nll_after == pytest.approx(-(0.8 * math.log(0.8) + 0.2 * math.log(0.2)))
        assert fit.nll_before > fit.nll_after

    def test_a_general_optimizer_finds_the_same(self):
        logits, labels = overconfident(500)

        def loss(log_t):
            z = logits / np.exp(log_t)
            return -(z[np.arange(500), labels] - np.log(np.exp(z).sum(axis=1))).mean()

        best = np.exp(
            optimize.minimize_scalar(
                loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}
            ).x
        )
        assert fit_temperature(logits, labels).temperature == pytest.approx(best, rel=1e-5)

    def test_bounds(self):
        sure = fit_temperature([[1.0, 0.0]] * 3, [0] * 3)  # never wrong: the sharper the better
        assert (sure.temperature, sure.at_bound) == (pytest.approx(0.01), True)
        lost = fit_temperature([[1.0, 0.0]] * 3, [1] * 3)  # always wrong: the flatter the better
        assert (lost.temperature, lost.at_bound) == (pytest.approx(100), True)

    def test_a_class_that_never_has_a_probability_changes_nothing(self):
        labels = [0, 0, 0, 1, 0]
        two = fit_temperature([[0.9, 0.1]] * 5, labels, scores="probabilities")
        three = fit_temperature([[0.9, 0.1, 0.0]] * 5, labels, scores="probabilities")
        # Right in 4 of 5 cases: log 9 / T = log 4.
        assert two.temperature == pytest.approx(np.log(9) / np.log(4))
        assert three.temperature == pytest.approx(two.temperature)

    def test_probabilities_and_ragged_rows(self):
        logits, labels = overconfident(300)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        expected = fit_temperature(logits, labels).temperature
        assert fit_temperature(p, labels, scores="probabilities").temperature == pytest.approx(
            expected, rel=1e-6
        )
        padded = [list(row) + [-np.inf] * (i % 2) for i, row in enumerate(logits)]
        assert fit_temperature(padded, labels).temperature == pytest.approx(expected, rel=1e-6)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="label of item 1 has probability 0"):
            fit_temperature([[0.5, 0.5], [1.0, 0.0]], [0, 1], scores="probabilities")
        with pytest.raises(ValueError, match="between 0 and 1, but item 0 is 2"):
            fit_temperature([[0.5, 0.5]], [2])
        with pytest.raises(ValueError, match="one length, but got 1 and 2"):
            fit_temperature([[0.5, 0.5]], [0, 1])
        with pytest.raises(ValueError, match="NaN"):
            fit_temperature([[np.nan, 0.5]], [0])


class TestApply:
    def test_worked(self):
        assert apply_temperature([[math.log(9), 0.0]], 2) == pytest.approx(np.array([[0.75, 0.25]]))
        assert apply_temperature([0.9], 2, scores="probabilities") == pytest.approx(
            np.array([[0.25, 0.75]])
        )

    def test_ragged(self):
        rows = apply_temperature([[math.log(9), 0.0], [0.0, 0.0, 0.0]], 2)
        assert rows[0] == pytest.approx([0.75, 0.25])
        assert rows[1] == pytest.approx([1 / 3] * 3)

    @pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf])
    def test_bad_temperature(self, temperature):
        with pytest.raises(ValueError, match="`temperature`"):
            apply_temperature([[1.0, 0.0]], temperature)


def test_what_a_temperature_does_on_another_split():
    logits, labels = overconfident(4000)
    fit = fit_temperature(logits[:2000], labels[:2000])
    before = calibration_summary(logits[2000:], labels[2000:], scores="logits")
    after = calibration_summary(apply_temperature(logits[2000:], fit.temperature), labels[2000:])
    assert fit.n_items == before["n_items"] == 2000
    assert after["accuracy"] == before["accuracy"]
    assert after["ece"] < before["ece"] / 3
    assert after["nll"] < before["nll"]
    assert after["brier"] < before["brier"]
    assert after["smooth_ece"] < before["smooth_ece"]
