"""The order of the items changes no figure and no interval, even if values are tied."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from rightreasons.calibration.compare import compare_confidence
from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_classes, measure_figures
from rightreasons.calibration.paired import paired_test
from rightreasons.calibration.proper_scores import brier_score, selective_scores
from rightreasons.calibration.recalibrators import fit_temperature
from rightreasons.calibration.smooth import ece_sweep, smooth_ece
from rightreasons.core import bootstrap, estimates, intervals, significance
from rightreasons.core.ordering import argsort_descending
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import to_plain_python
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.cues.ratings import human_performance
from rightreasons.cues.statistics import cue_statistics
from rightreasons.difficulty.ranking import distribution_overlap, paired_difficulty
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.judges import judge_bias
from rightreasons.probes.option_order import choices_only, position_bias, pride_prior_intervals
from rightreasons.probes.paralysis import choice_paralysis
from rightreasons.reasons.sway import early_answers
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff

N = 90
FEW = Resampling(resamples=40)
BY_ITEM = ("differences", "consistent", "predictions", "cued")
"""Members of results that are listed item by item."""


class Items:
    """Items whose scores, labels and clusters are often tied, in the order of `rows`."""

    def __init__(self, rows, clustered):
        rng = np.random.default_rng(7)
        steps = np.round(rng.dirichlet([2.0, 1.0, 1.0], size=N) * 5)
        steps[:, 0] += 1
        predictions = steps.argmax(axis=1)
        is_correct = rng.random(N) < 0.5
        labels = np.where(is_correct, predictions, rng.integers(3, size=N))
        values = rng.integers(4, size=(2, N)).astype(float)
        flags = rng.random((2, N)) < 0.4
        words = np.array(
            ["a good film", "a bad film", "good good plot", "the plot was thin", "film"]
        )

        self.rows = rows
        self.p = (steps / steps.sum(axis=1, keepdims=True))[rows]
        self.labels = labels[rows]
        self.values = values[0, rows]
        self.others = values[1, rows]
        self.flags = flags[0, rows]
        self.cued = flags[1, rows]
        self.runs = rng.integers(3, size=(N, 3))[rows]
        self.votes = rng.integers(1, 5, size=(N, 3))[rows]
        self.texts = words[rng.integers(5, size=N)][rows].tolist()
        self.choices = words[rng.integers(5, size=(N, 2))][rows].tolist()
        self.clusters = (np.arange(N) // 3)[rows] if clustered else None

    @property
    def judged(self):
        return JudgedItems.of(np.log(np.maximum(self.p, 1e-9)), self.labels, clusters=self.clusters)

    @property
    def right(self):
        return self.p.argmax(axis=1) == self.labels


KERNELS = {
    "every figure of calibration": lambda i: measure_figures(i.judged, resampling=FEW),
    "classes": lambda i: measure_classes(i.judged, resampling=FEW),
    "paired calibration": lambda i: [
        paired_test(
            key,
            i.judged,
            JudgedItems.of(i.judged.logits / 2.0, i.labels, clusters=i.judged.clusters),
            resampling=FEW,
        )
        for key in ("nll", "brier", "ece")
    ],
    "calibration errors": lambda i: [
        calibration_error(
            i.p, i.labels, kind=kind, strategy=strategy, clusters=i.clusters, resampling=FEW
        )
        for kind in ("top_label", "classwise")
        for strategy in ("uniform", "quantile")
    ],
    "Brier": lambda i: brier_score(i.p, i.labels),
    "selective": lambda i: selective_scores(i.p, i.labels),
    "sweep": lambda i: ece_sweep(i.p, i.labels),
    "smooth": lambda i: smooth_ece(i.p, i.labels),
    "votes": lambda i: human_calibration(i.p, i.votes, resampling=FEW),
    "temperature": lambda i: fit_temperature(np.log(np.maximum(i.p, 1e-9)), i.labels),
    "confidences": lambda i: compare_confidence(
        {"one": i.p.max(axis=1), "two": i.values / 4}, i.right, clusters=i.clusters, resampling=FEW
    ),
    "AUROC": lambda i: intervals.delong(i.values, i.flags, clusters=i.clusters),
    "means": lambda i: [
        bootstrap.bootstrap_mean(i.values, clusters=i.clusters, resampling=FEW),
        significance.compare_paired_means(
            i.values, i.others, low=None, high=None, clusters=i.clusters, resampling=FEW
        ),
        intervals.bounded_mean_interval(i.values, low=0, high=3, clusters=i.clusters),
        bootstrap.bootstrap(np.median, i.values, clusters=i.clusters, resampling=FEW),
        bootstrap.jackknife(lambda x: float(x.var()), i.values, clusters=i.clusters),
    ],
    "rates": lambda i: [
        estimates.estimate_rate(i.flags, FEW, i.clusters),
        significance.two_rates_p_value(i.flags, i.cued, clusters=i.clusters),
        significance.chances_p_value(i.flags, i.values / 4, clusters=i.clusters),
    ],
    "difficulty": lambda i: [
        paired_difficulty(i.values, i.others, resampling=FEW),
        distribution_overlap(i.values, i.others),
    ],
    "Easy and Hard": lambda i: easy_hard_gap(
        i.runs, i.labels, i.flags, clusters=i.clusters, resampling=FEW
    ),
    "cues": lambda i: cue_statistics(i.choices, i.labels % 2),
    "people": lambda i: human_performance(i.votes, i.labels),
    "LMI": lambda i: lmi(i.texts, i.labels),
    "T_sc": lambda i: shortcut_tradeoff(i.runs[:, 0], i.labels, i.cued, resampling=FEW),
    "prior": lambda i: prior_bias(i.p, i.labels, resampling=FEW),
    "paralysis": lambda i: choice_paralysis(
        i.p[:, :2] / i.p[:, :2].sum(axis=1)[:, None], i.p, i.labels % 2, i.labels % 2
    ),
    "orders": lambda i: [
        position_bias(i.labels, i.runs[:, 0], 3, clusters=i.clusters),
        pride_prior_intervals(i.p),
        choices_only(i.labels, i.runs[:, 0], clusters=i.clusters),
    ],
    "judges": lambda i: judge_bias(
        i.runs[:, 0] / 2, i.runs[:, 1] / 2, items=i.clusters, resampling=FEW
    ),
    "early answers": lambda i: early_answers([*(i.runs > 0)], resampling=FEW),
}


def list_figures(result):
    """Return every number of a result by its path, without lists by item."""
    if hasattr(result, "to_dict"):
        result = result.to_dict()
    elif hasattr(result, "__dataclass_fields__"):
        result = vars(result)
    elif isinstance(result, np.ndarray):
        result = to_plain_python(result)
    if isinstance(result, Mapping):
        members = [(name, member) for name, member in result.items() if name not in BY_ITEM]
    elif isinstance(result, Sequence) and not isinstance(result, str):
        members = list(enumerate(result))
    else:
        return {"": result}

    figures = {}
    for name, member in members:
        for path, value in list_figures(member).items():
            figures[f"{name}.{path}"] = value
    return figures


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_order_of_the_items_changes_nothing(kernel, clustered):
    expected = list_figures(KERNELS[kernel](Items(np.arange(N), clustered)))

    for rows in (np.arange(N)[::-1], np.random.default_rng(1).permutation(N)):
        figures = list_figures(KERNELS[kernel](Items(rows, clustered)))

        assert figures.keys() == expected.keys()
        for path, value in expected.items():
            if isinstance(value, float) and math.isfinite(value):
                assert figures[path] == pytest.approx(value, rel=1e-7, abs=1e-9), path
            else:
                assert figures[path] == value, path


def test_equal_values_are_in_the_order_of_their_ids():
    values, ids = np.array([0.5, 0.9, 0.5, 0.5]), np.array(["d", "a", "b", "c"])
    for rows in (np.arange(4), np.array([2, 0, 3, 1])):
        assert ids[rows][argsort_descending(values[rows], ids[rows])].tolist() == [
            "a",
            "b",
            "c",
            "d",
        ]
