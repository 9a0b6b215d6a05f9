"""Which of two confidences in the same items is better: the differences of their figures, with paired tests."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.calibration.confidences import TopLabel, top_label
from rightreasons.calibration.proper_scores import auroc, ranked
from rightreasons.core.arrays import Result
from rightreasons.core.binning import (
    BinSums,
    finished_error,
    raw_error,
    resampled_rows,
    residual_bias,
    uniform_edges,
)
from rightreasons.core.intervals import Interval, PairedTest, cluster_codes, holm, jackknife_parts, paired_means
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import MOST_BINS, check_count, check_flags, check_same_length, check_vector

Floats = NDArray[np.float64]

COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "brier", "auroc", "aurc")
"""The figures that are compared; those of `calibration_summary` with kind="confidence"."""

MIN_OF_EACH = 5
"""With fewer right or fewer wrong answers than this, the items do not show how little is known of their ranking."""

RANKED = ("auroc", "aurc")
"""The figures of `COMPARED` that are about the ranking of right above wrong answers."""

_TINY = 1e-12
"""Differences up to this, which rounding makes, count as equal."""


@dataclasses.dataclass(frozen=True)
class ConfidencePair(Result):
    """How two confidences in the same items differ.

    Attributes:
        first: The name of the first.
        second: The name of the second.
        differences: Figure of `COMPARED` -> first minus second, with p-value and interval; only what is defined for
            both, "accuracy" only where the two are about different answers, and `RANKED` only with `MIN_OF_EACH` right
            and as many wrong answers of both.
        p_holm: Figure -> its p-value, corrected by Holm's method over all pairs.
    """

    first: str
    second: str
    differences: Mapping[str, PairedTest]
    p_holm: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class ConfidenceComparison(Result):
    """Several confidences in the same items, and how each two of them differ.

    Attributes:
        figures: Source -> figure of `COMPARED` -> its value; None where it is undefined.
        pairs: Each two sources, in their order.
        n_items: Number of items.
    """

    figures: Mapping[str, Mapping[str, float | None]]
    pairs: tuple[ConfidencePair, ...]
    n_items: int


def compare_confidence(
    confidences: Mapping[str, Any],
    correct: Any,
    *,
    n_bins: int = 15,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> ConfidenceComparison:
    r"""Compare several confidences in answers to the same items, such as an answer's probability and a verbalized one.

    The confidences of an item stay together in every test. Means over the items (accuracy, mean confidence and its gap
    to accuracy, Brier score) are compared by `paired_means`; the ranking of right above wrong answers (AUROC, AURC) by
    the jackknife of the difference, and the error (ECE) by a bootstrap of it, with Student's t of as many degrees of
    freedom as the figure is known from, less one: the number of items or clusters, and for the ranking that of right or
    of wrong answers, if less. Nothing is assumed about the scales: a confidence that only takes the values 0.9 and 0.95
    may be compared with one that takes all. A single item or cluster gives no such test.

    The error is biased upward, and less so for confidences in few bins. So its interval and its p-value are about the
    debiased errors, less what their resamples show of bias: the error of the items is the true one of these. They are
    still too large where gaps may be small, by up to `residual_bias` with gaps as small as intervals of the level let
    them be: by so much the first moves the low end down and the second the high end up, and the p-value is that of a
    difference nearer to 0. The interval reaches on to the difference of the errors themselves.

    Args:
        confidences: Name of a source -> (N,) confidences in [0, 1], in the same order of the items; at least one.
        correct: (N,) whether the answer was right, where all sources are about the same answers; or source -> (N,).
        n_bins: Number of bins of the ECE, of equal width.
        clusters: (N,) names of the clusters that items belong to; None for independent items.
        resampling: Level; number of random signs and resamples, and their seed.

    Returns:
        A `ConfidenceComparison`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If there is no source, or a name, a value or a length is wrong.

    References:
        Tukey (1958), Bias and Confidence in Not-quite Large Samples (the jackknife).
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5 (the debiased error).

    Example:
        The first ranks the right answers above the wrong ones; for the second all are alike.

        >>> p = [0.9, 0.8, 0.8, 0.7, 0.9, 0.4, 0.3, 0.2, 0.4, 0.1]
        >>> compared = compare_confidence({"p": p, "said": [0.7] * 10}, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0])
        >>> compared.figures["p"]["auroc"], compared.figures["said"]["auroc"]
        (1.0, 0.5)
        >>> compared.pairs[0].differences["auroc"].difference
        0.5
    """
    check_count(n_bins, "n_bins", maximum=MOST_BINS)
    sides = _sides(confidences, correct)
    n_items = len(next(iter(sides.values())))
    codes = cluster_codes(clusters, n_items)
    n_units = n_items if codes is None else int(codes.max()) + 1
    whole = {name: _figures(top, n_bins) for name, top in sides.items()}
    pairs: list[tuple[str, str, dict[str, PairedTest]]] = []
    for first, second in itertools.combinations(sides, 2):
        top_first, top_second = sides[first], sides[second]
        tests: dict[str, PairedTest] = {}
        if n_items > 1:
            bounds = {"mean_confidence": 0.0, "confidence_gap": -1.0, "brier": 0.0}
            if not np.array_equal(top_first.correct, top_second.correct):
                bounds = {"accuracy": 0.0, **bounds}
            for key, low in bounds.items():
                values = _values(key, top_first), _values(key, top_second)
                tests[key] = paired_means(*values, low=low, clusters=codes, resampling=resampling)
            fewest = min(min(top.correct.sum(), (~top.correct).sum()) for top in (top_first, top_second))
            known = {"ece": n_units, **dict.fromkeys(RANKED, min(int(fewest), n_units) if fewest >= MIN_OF_EACH else 0)}
            for key, n_known in known.items():
                if n_known > 1:
                    tests[key] = _difference(key, (top_first, top_second), n_bins, n_known, codes, resampling)
        pairs.append((first, second, {key: tests[key] for key in COMPARED if key in tests}))
    corrected: list[dict[str, float]] = [{} for _ in pairs]
    for key in COMPARED:
        having = [number for number, pair in enumerate(pairs) if key in pair[2]]
        p_values = holm(np.array([pairs[number][2][key].p_value for number in having]))
        for number, p_value in zip(having, p_values.tolist(), strict=True):
            corrected[number][key] = p_value
    return ConfidenceComparison(
        figures={name: {key: values[key] for key in COMPARED} for name, values in whole.items()},
        pairs=tuple(ConfidencePair(*pair, p_holm) for pair, p_holm in zip(pairs, corrected, strict=True)),
        n_items=n_items,
    )


# ------------------------------------------------------------------------------------------------------------- private


def _values(key: str, top: TopLabel) -> Floats:
    """Return the values (N,) of which a figure is the mean."""
    right = top.correct.astype(np.float64)
    gap = top.confidence - right
    return {"accuracy": right, "mean_confidence": top.confidence, "confidence_gap": gap, "brier": gap**2}[key]


def _ranked(key: str, confidence: Floats, correct: NDArray[np.bool_]) -> float:
    """Return AUROC or AURC; one half for an AUROC without right or without wrong answers."""
    if key == "aurc":
        return ranked(confidence, correct)[0]
    area = auroc(confidence, correct)
    return 0.5 if area is None else area


def _sums(confidence: Floats, correct: NDArray[np.bool_], n_bins: int) -> tuple[Floats, Floats, Floats]:
    return BinSums.of([(confidence, correct)], n_bins).parts


def _figures(top: TopLabel, n_bins: int) -> dict[str, float | None]:
    means = {key: float(_values(key, top).mean()) for key in COMPARED if key not in ("ece", *RANKED)}
    ece = float(finished_error(raw_error(*_sums(top.confidence, top.correct, n_bins)), norm="l1"))
    ranking = {"auroc": auroc(top.confidence, top.correct), "aurc": ranked(top.confidence, top.correct)[0]}
    return {**means, "ece": ece, **ranking}


def _difference(
    key: str,
    sides: tuple[TopLabel, TopLabel],
    n_bins: int,
    n_known: int,
    clusters: NDArray[np.intp] | None,
    resampling: Resampling,
) -> PairedTest:
    """Test whether two sources have the same figure, which is known from so many items or clusters."""
    level, below, above, n_resamples = resampling.level, 0.0, 0.0, None
    tail, quantile = (1 - level) / 2, float(special.stdtrit(n_known - 1, 0.5 + level / 2))
    if key == "ece":
        method, n_resamples = "bootstrap of the debiased errors", resampling.resamples
        sums = [_sums(top.confidence, top.correct, n_bins) for top in sides]
        difference, debiased = (
            float(np.subtract(*(raw_error(*each, debias=d) for each in sums))) for d in (False, True)
        )
        drawn = _drawn_differences(sides, n_bins, clusters, resampling)
        # The plain error of the sample is the true one of its resamples, so that they show what bias the noise leaves.
        center, spread = difference + debiased - float(drawn.mean()), float(drawn.std(ddof=1))
        deviations = float(special.ndtri(1 - tail))
        below, above = (float(residual_bias(*each, deviations)) for each in sums)
    else:
        method = "jackknife"

        def differ(*columns: Any) -> float:
            return _ranked(key, columns[0], columns[1]) - _ranked(key, columns[2], columns[3])

        columns = [each for top in sides for each in (top.confidence, top.correct)]
        difference, _, spread, _ = jackknife_parts(differ, *columns, clusters=clusters)
        # The bias of a ranking is small beside what leaving out so few wrong answers says of it.
        center = difference
    low, high = center - quantile * spread - below, center + quantile * spread + above
    if spread <= _TINY:
        # Where nothing differs, a share of items that so many may well show none of may do otherwise.
        unseen = 1 - tail ** (1 / n_known)
        low, high = low - unseen * (1 + low), high + unseen * (1 - high)
    nearer = max(center - below, 0.0) if center > 0 else min(center + above, 0.0)
    p_value = 1.0
    if abs(nearer) > _TINY:
        p_value = 2 * float(special.stdtr(n_known - 1, -abs(nearer) / max(spread, _TINY)))
    # One of debiased errors may lie to one side of the difference of the errors themselves.
    ends = max(-1.0, min(low, difference)), min(1.0, max(high, difference))
    interval = Interval(*ends, level, method, n_resamples)
    return PairedTest(difference, max(p_value, 0.5 ** (n_known - 1)), len(sides[0]), method, interval)


def _drawn_differences(
    sides: tuple[TopLabel, TopLabel], n_bins: int, clusters: NDArray[np.intp] | None, resampling: Resampling
) -> Floats:
    """Return (R,) differences of the debiased errors in resamples, which keep the confidences of an item together."""
    pairs = [(top.confidence, top.correct) for top in sides]
    edges = np.stack([uniform_edges(n_bins)] * len(pairs))
    errors = [
        raw_error(*(each[:, None] for each in sums), debias=True)
        for sums in resampled_rows(pairs, edges, resampling, clusters=clusters)
    ]
    return np.asarray(errors[0] - errors[1], dtype=np.float64)


def _sides(confidences: Mapping[str, Any], correct: Any) -> dict[str, TopLabel]:
    if not confidences:
        raise ValueError("Expected at least one source in `confidences`, but it is empty.")
    if isinstance(correct, Mapping):
        lacking = next((name for name in confidences if name not in correct), None)
        if lacking is not None:
            raise ValueError(f"Expected whether the answers of {lacking!r} were right in `correct`, but it lacks that.")
    else:
        correct = dict.fromkeys(confidences, check_flags(correct, "correct"))
    sides = {}
    for name, values in confidences.items():
        checked = check_vector(values, name, minimum=0, maximum=1)
        right = check_flags(correct[name], "correct")
        check_same_length(**{name: checked, "correct": right})
        sides[name] = top_label(checked, right, kind="confidence")
    if len({len(top) for top in sides.values()}) > 1:
        check_same_length(**{name: top.confidence for name, top in sides.items()})
    return sides
