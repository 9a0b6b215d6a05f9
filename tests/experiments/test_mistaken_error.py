"""The figure of a known mistake: worked by hand, and what the kernel gives for the mistaken input."""

import numpy as np
import pytest
from mistaken_error import positive_vs_correctness_error

from rightreasons.calibration.confidences import PositiveVersusCorrectnessWarning
from rightreasons.calibration.errors import calibration_error


def classifier(n=2000, sharpness=3.0):
    """P(class 1) of a calibrated binary classifier, and labels drawn from it."""
    rng = np.random.default_rng(0)
    positive = 1 / (1 + np.exp(-rng.normal(0, sharpness, n)))
    return positive, (rng.random(n) < positive).astype(int)


def correctness(positive, labels):
    return ((positive >= 0.5) == labels).astype(int)


class TestMistakenFigure:
    def test_worked(self):
        # .9 and .8 right: gaps of .1 and .2; .1 and .2 (class 0, right): gaps of .9 and .8
        assert positive_vs_correctness_error([0.9, 0.8, 0.1, 0.2], [1, 1, 0, 0]) == pytest.approx(
            0.5
        )

    def test_a_good_model_looks_bad(self):
        """Calibrated, balanced: below 0.5 the gap is (1 - p) - p, above it 0, so the mean is (2 accuracy - 1) / 2.

        That is the size of the published figures of METHODS 1.5: 0.44 to 0.47 where F1 is 0.92 to 0.95.
        """
        positive, labels = classifier(20_000, sharpness=5.0)
        accuracy = correctness(positive, labels).mean()
        assert 0.88 < accuracy < 0.93
        assert calibration_error(positive, labels, n_bins=10).ece < 0.02
        assert calibration_error(positive, labels, n_bins=10, kind="positive").ece < 0.02
        assert positive_vs_correctness_error(positive, labels) == pytest.approx(
            accuracy - 0.5, abs=0.01
        )

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    @pytest.mark.parametrize("norm", ["l1", "l2", "max"])
    def test_is_what_the_kernel_gives_for_the_mistaken_input(self, strategy, norm):
        positive, labels = classifier()
        with pytest.warns(PositiveVersusCorrectnessWarning):
            wrong = calibration_error(
                positive,
                correctness(positive, labels),
                kind="positive",
                strategy=strategy,
                norm=norm,
                n_bins=10,
            ).ece
        assert positive_vs_correctness_error(
            positive, labels, strategy=strategy, norm=norm
        ) == pytest.approx(wrong)

    def test_bad_input(self):
        with pytest.raises(ValueError, match="two classes"):
            positive_vs_correctness_error([[0.2, 0.3, 0.5]], [0])
        with pytest.raises(ValueError, match="`strategy`"):
            positive_vs_correctness_error([0.2], [0], strategy="equal")
