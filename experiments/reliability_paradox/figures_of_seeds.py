"""The figures of a row of our Table 3: means over the seeds, with intervals over the test items."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from mistaken_error import positive_vs_correctness_error
from numpy.typing import NDArray

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.binning import assign_bins, make_uniform_edges
from rightreasons.core.bootstrap import bootstrap
from rightreasons.core.classification import classification_scores
from rightreasons.core.intervals import cluster_wilson
from rightreasons.core.resampling import Resampling

N_BINS = 10


@dataclasses.dataclass(frozen=True)
class Seen:
    """What one model does on N test items.

    Attributes:
        labels: (N,) labels.
        probabilities: (N, K).
        types: (N,) 0 for a prediction that is not cued, 1 for a grammar-cued and 2 for a lexicon-cued one.
        chance: (N,) how probably blind picks would cue it.
        classes: The classes that macro F1 averages: those among the labels and predictions of all test items, also
            where a resample lacks one.
    """

    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    types: NDArray[np.int64]
    chance: NDArray[np.float64]
    classes: tuple[int, ...]

    @classmethod
    def of_run(cls, run: Mapping[str, Any], when: str) -> Seen:
        """Take what a run saw "before" or "after" fine-tuning."""
        labels, probabilities = run["labels"], run[f"{when}_probabilities"]
        classes = sorted({*labels.tolist(), *probabilities.argmax(axis=1).tolist()})
        return cls(
            labels, probabilities, run[f"{when}_types"], run[f"{when}_chance"], tuple(classes)
        )

    def at(self, items: NDArray[np.intp]) -> Seen:
        """Take some items, each as often as it is named."""
        return Seen(
            self.labels[items],
            self.probabilities[items],
            self.types[items],
            self.chance[items],
            self.classes,
        )

    @property
    def predicted(self) -> NDArray[np.intp]:
        """(N,) the most probable classes."""
        return self.probabilities.argmax(axis=1)

    @property
    def right(self) -> NDArray[np.bool_]:
        """(N,) whether each prediction is the label."""
        return self.predicted == self.labels

    @property
    def rate(self) -> float:
        """Share of shortcut-cued predictions, in [0, 1]."""
        return float((self.types > 0).mean())

    @property
    def f1(self) -> float:
        """Macro F1 over `classes`, in [0, 1]."""
        scores = classification_scores(
            self.predicted, self.labels, n_classes=self.probabilities.shape[1]
        ).class_f1
        return float(np.mean([scores[k] or 0.0 for k in self.classes]))


def rate_of(seen: Seen, chosen: NDArray[np.bool_]) -> float | None:
    """Return the share of shortcut-cued predictions among those chosen; None where there is none."""
    return float((seen.types > 0)[chosen].mean()) if chosen.any() else None


SHARES: Mapping[str, Callable[[Seen], NDArray[np.bool_]]] = {
    "accuracy": lambda seen: seen.right,
    "shortcut_rate": lambda seen: seen.types > 0,
    "lexicon": lambda seen: seen.types == 2,
    "grammar": lambda seen: seen.types == 1,
}
MEASURES: Mapping[str, Callable[[Seen], float | None]] = {
    "f1": lambda seen: seen.f1,
    "null_rate": lambda seen: float(seen.chance.mean()),
    "excess": lambda seen: seen.rate - float(seen.chance.mean()),
    "tradeoff": lambda seen: seen.f1 / seen.rate if seen.rate else None,
    "rate_of_right": lambda seen: rate_of(seen, seen.right),
    "rate_of_wrong": lambda seen: rate_of(seen, ~seen.right),
}


def figures(runs: Sequence[Mapping[str, Any]], when: str, n_resamples: int) -> dict[str, Any]:
    """Return means over the seeds, with intervals over the test items, which the seeds share."""
    seeds, resampling = [Seen.of_run(run, when) for run in runs], Resampling(resamples=n_resamples)
    result = {key: mean_share([share(seen) for seen in seeds]) for key, share in SHARES.items()}
    result |= {key: resampled_mean(measure, seeds, resampling) for key, measure in MEASURES.items()}
    result["ece"] = mean_error(seeds, resampling)
    if seeds[0].probabilities.shape[1] == 2:
        # Biased upward, more so in a resample: the basic interval takes the bias off.
        mistaken = resampled_mean(
            lambda seen: positive_vs_correctness_error(
                seen.probabilities, seen.labels, n_bins=N_BINS
            ),
            seeds,
            resampling,
            mirrored=True,
        )
        result["positive_vs_correctness"] = {**mistaken, "low": max(mistaken["low"], 0.0)}
    return {**result, "bins": bins(seeds)}


def mean_share(by_seed: Sequence[NDArray[np.bool_]]) -> dict[str, Any]:
    """Return the mean share with the Wilson interval of items as clusters, which has no width of zero."""
    table = np.stack(by_seed, axis=1)
    interval = cluster_wilson(table.sum(axis=1), np.full(len(table), table.shape[1]))
    return figure(table.mean(axis=0).tolist(), interval.low, interval.high)


def resampled_mean(
    measure: Callable[[Seen], float | None],
    seeds: Sequence[Seen],
    resampling: Resampling,
    *,
    mirrored: bool = False,
) -> dict[str, Any]:
    """Return the mean of a measure with its bootstrap interval; None in all places where a seed has none."""

    def mean(items: NDArray[np.intp]) -> float | None:
        found = [measure(seen.at(items)) for seen in seeds]
        return None if None in found else float(np.mean(found))

    items = np.arange(len(seeds[0].labels))
    if mean(items) is None:
        return {"value": None, "low": None, "high": None}
    interval = bootstrap(mean, items, resampling=resampling, mirrored=mirrored)
    return figure([measure(seen) for seen in seeds], interval.low, interval.high)


def figure(by_seed: Sequence[float], low: float, high: float) -> dict[str, Any]:
    """Return a figure as results.json holds it."""
    return {"value": float(np.mean(by_seed)), "low": low, "high": high, "by_seed": list(by_seed)}


def mean_error(seeds: Sequence[Seen], resampling: Resampling) -> dict[str, Any]:
    """Return the mean of the seeds' errors and of the ends of their intervals.

    The mean of errors that go together in part varies less than they do, so these ends are too far out, if anything.
    """
    found = [
        calibration_error(seen.probabilities, seen.labels, n_bins=N_BINS, resampling=resampling)
        for seen in seeds
    ]
    by_seed = [each.ece for each in found]
    low, high = np.mean(
        [(each.interval.low, each.interval.high) for each in found], axis=0
    ).tolist()
    return figure(by_seed, low, high)


def bins(seeds: Sequence[Seen]) -> list[dict[str, Any]]:
    """Return the predictions of all seeds by confidence; the interval of the accuracy has items as clusters."""
    confidence = np.concatenate([seen.probabilities.max(axis=1) for seen in seeds])
    right, kind = (
        np.concatenate([getattr(seen, part) for seen in seeds]) for part in ("right", "types")
    )
    items = np.tile(np.arange(len(seeds[0].labels)), len(seeds))
    place = assign_bins(confidence, make_uniform_edges(N_BINS), is_uniform=True)
    keys = ("confidence", "accuracy", "accuracy_low", "accuracy_high", "lexicon", "grammar")
    rows: list[dict[str, Any]] = [{"n": 0, **dict.fromkeys(keys, 0.0)} for _ in range(N_BINS)]
    for m in np.unique(place).tolist():
        inside = place == m
        sizes = np.bincount(items[inside])
        hits = np.bincount(items[inside], right[inside])
        interval = cluster_wilson(hits[sizes > 0], sizes[sizes > 0])
        shares = (confidence, right, interval.low, interval.high, kind == 2, kind == 1)
        means = [
            float(share[inside].mean()) if isinstance(share, np.ndarray) else share
            for share in shares
        ]
        rows[m] = {"n": int(inside.sum()), **dict(zip(keys, means, strict=True))}
    return rows
