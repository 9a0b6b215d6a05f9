"""The Brier score's parts, the log loss and AUROC by hand."""

import numpy as np
import pytest

from rightreasons.calibration.proper_scores import auroc, brier_score, label_log_probability
from rightreasons.core.arrays import Ragged
from rightreasons.core.bootstrap import jackknife


def test_reliability_by_hand():
    said = np.repeat([0.25, 0.75], 200)
    labels = np.concatenate([np.arange(200) < 90, np.arange(200) < 150]).astype(int)
    # Frequencies of 0.45 and 0.75, of two classes.
    assert np.isclose(brier_score(said, labels).reliability, 2 * 0.2**2 / 2)


def test_leaving_out_groups_tells_as_much_as_leaving_out_items():
    values = np.random.default_rng(1).normal(size=1000)
    found = jackknife(lambda x: float(x.var()), values)
    # The deviation of a variance of n normal values is (2 / n)^.5, and that of 200 groups of five differs by 5 %.
    assert abs((found.high - found.low) / (2 * 1.972 * (2 / 1000) ** 0.5) - 1) < 0.15


@pytest.mark.parametrize(
    ("scores", "events", "sentence"),
    [
        ([0.1, 0.2], [1], "`scores` and `events`"),
        ([[0.1, 0.9]], [1], r"shape \(1, 2\)"),
        ([0.1, 0.2], [2, 0], "False in `events`"),
        ([0.1, float("nan")], [1, 0], "finite"),
    ],
)
def test_auroc_says_what_it_takes(scores, events, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        auroc(scores, events)


def test_choices_of_different_numbers_at_another_temperature():
    # At temperature 2, exp of half of the logits: (2, 1) and (1, 3, 1).
    logits = Ragged.of(np.log([4.0, 1.0, 1.0, 9.0, 1.0]), [2, 3])
    assert label_log_probability(logits, np.array([0, 1]), 0.5) == pytest.approx(
        np.log([2 / 3, 3 / 5])
    )
