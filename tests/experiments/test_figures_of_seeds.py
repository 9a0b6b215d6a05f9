"""The figures of our Table 3: means over seeds, with intervals over the items that the seeds share."""

import numpy as np
import pytest
from figures_of_seeds import Seen, figures, mean_share

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.resampling import Resampling


def run(labels, probabilities, types):
    """Return what a run keeps; blind picks would cue one of eight."""
    return {
        "labels": np.array(labels),
        "after_probabilities": np.array(probabilities),
        "after_types": np.array(types),
        "after_chance": np.full(len(labels), 0.125),
    }


SURE, OTHER, THIRD = [0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]
LABELS = [0, 0, 0, 1, 1, 2]
SEEDS = [
    run(LABELS, [SURE, SURE, OTHER, OTHER, OTHER, THIRD], [2, 1, 0, 0, 2, 2]),
    run(LABELS, [SURE, SURE, SURE, OTHER, SURE, SURE], [0, 0, 0, 1, 2, 0]),
]


def test_means_over_the_seeds():
    found = figures(SEEDS, "after", 20)
    # F1 of the classes: 4/5, 4/5 and 1; then 6/8, 2/3 and 0.
    assert found["f1"]["by_seed"] == pytest.approx([2.6 / 3, (0.75 + 2 / 3) / 3])
    assert found["f1"]["value"] == pytest.approx((2.6 / 3 + (0.75 + 2 / 3) / 3) / 2)
    # Cued: 4 of 6 and 2 of 6. Of the right ones: 4 of 5, 1 of 4; of the wrong ones: 0 of 1, 1 of 2.
    assert found["shortcut_rate"]["value"] == 0.5
    assert found["excess"]["value"] == 0.375
    assert found["rate_of_right"]["by_seed"] == [0.8, 0.25]
    assert found["rate_of_wrong"]["by_seed"] == [0.0, 0.5]
    assert found["lexicon"]["by_seed"] == pytest.approx([3 / 6, 1 / 6])
    assert sum(row["n"] for row in found["bins"]) == 12
    assert "positive_vs_correctness" not in found


def test_a_resample_without_a_rare_class_scores_it_zero():
    seen = Seen.of_run(SEEDS[0], "after")
    without = seen.at(np.array([0, 0, 1, 3, 3, 4]))
    # All six right, but none of class 2: (1 + 1 + 0) / 3, not 1.
    assert without.right.all()
    assert without.f1 == pytest.approx(2 / 3)


def test_shares_never_have_a_width_of_zero():
    never = mean_share([np.zeros(8, bool), np.zeros(8, bool)])
    assert (never["value"], never["low"]) == (0.0, 0.0)
    # Wilson at 0 of 8, as the seeds of an item may always agree: z^2 / (8 + z^2).
    assert never["high"] == pytest.approx(1.959964**2 / (8 + 1.959964**2), abs=1e-6)


def test_the_interval_of_the_error_is_the_mean_of_the_seeds():
    found = figures(SEEDS, "after", 20)["ece"]
    resampling = Resampling(resamples=20)
    each = [
        calibration_error(seed["after_probabilities"], LABELS, n_bins=10, resampling=resampling)
        for seed in SEEDS
    ]
    assert found["by_seed"] == [one.ece for one in each]
    assert found["low"] == pytest.approx(np.mean([one.interval.low for one in each]))
    assert found["high"] == pytest.approx(np.mean([one.interval.high for one in each]))


def test_what_a_seed_lacks_the_mean_lacks():
    uncued = run(LABELS, SEEDS[1]["after_probabilities"], [0] * 6)
    assert figures([SEEDS[0], uncued], "after", 20)["tradeoff"] == {
        "value": None,
        "low": None,
        "high": None,
    }
