"""Which of two confidences in the same items is better: the differences of their figures, with paired tests."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core.binning import finished_error, raw_error, residual_bias, uniform_edges
from rightreasons.core.intervals import Interval, PairedTest, holm, paired_means
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import MOST_BINS, check_count, check_flags, check_same_length, check_vector

Floats = NDArray[np.float64]

COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "brier", "auroc", "aurc")
"""The figures that are compared; those of `calibration_summary` with kind="confidence"."""

MAX_CELLS = 5_000_000
"""Resamples times items that a comparison may cost; with more items there are fewer resamples."""

MIN_OF_EACH = 5
"""With fewer right or fewer wrong answers than this, resampling does not show how little is known of their ranking."""

RANKED = ("auroc", "aurc")
"""The figures of `COMPARED` that are about the ranking of right above wrong answers."""

_BLOCK = 2_000_000
"""Resampling weights held in memory at once."""

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
    resampling: Resampling = Resampling(),
) -> ConfidenceComparison:
    r"""Compare several confidences in answers to the same items, such as an answer's probability and a verbalized one.

    All differences are tested by one bootstrap over the items, in which the confidences of an item stay together. The
    interval of a difference d is the basic one, \(2 \hat d - d^*\) at the two quantiles, and the p-value of "no
    difference" is two-sided: twice the share of resamples whose \(d^* - \hat d\) is at least as far on the side of
    \(\hat d\), with one added to both counts. Nothing is assumed about the scales: a confidence that only takes the
    values 0.9 and 0.95 may be compared with one that takes all. Accuracies are compared by McNemar's exact test, with
    the interval of `bounded_mean`.

    The resamples of few items scatter less than the truth: by the factor \((n-1)/n\) in the variance, with the tails
    of a normal distribution rather than of Student's t. So both quantiles are multiplied by
    \(\sqrt{n/(n-1)}\, t_{n-1} / z\), and the p-value is that of Student's t at \(z_p \sqrt{(n-1)/n}\), where n is the
    number of items; for the ranking of right above wrong answers, the smaller of the numbers of both. The interval
    holds 0 where the p-value exceeds 1 - level. A single item gives no test.

    The error (ECE) is biased upward, and less so for confidences in few bins. So its interval and its p-value are about
    the debiased errors: in the place of \(\hat d\) stands the difference of the debiased errors of the items, and
    in the place of \(d^* - \hat d\) that of the debiased errors of a resample less that of the plain errors of the
    items, which are the truth of their resamples. Debiased errors are still too large where gaps may be small, by up to
    `residual_bias` with gaps as small as intervals of the level let them be: by so much the first moves the low
    end down and the second the high end up, and the p-value is that of a difference nearer to 0. Where both confidences
    may be calibrated, so that neither error can fall below its truth, the p-value is also at least that of the same
    difference among draws in which both are calibrated, unless one of the two errors is larger than in all draws in
    which it is calibrated.

    Args:
        confidences: Name of a source -> (N,) confidences in [0, 1], in the same order of the items; at least one.
        correct: (N,) whether the answer was right, where all sources are about the same answers; or source -> (N,).
        n_bins: Number of bins of the ECE, of equal width.
        resampling: Level, resamples (fewer above 5,000 items) and seed.

    Returns:
        A `ConfidenceComparison`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If there is no source, or a name, a value or a length is wrong.

    References:
        Davison, Hinkley (1997), Bootstrap Methods and their Application, sections 4.4 and 5.2.
        Hesterberg (2015), What Teachers Should Know About the Bootstrap, section 4 (why intervals are too
            narrow).
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
    sides = _sides(confidences, correct, n_bins)
    n_items = len(next(iter(sides.values())).order)
    ones = np.ones((1, n_items))
    whole = {name: {key: float(one[0]) for key, one in side.figures(ones).items()} for name, side in sides.items()}
    fewer = resampling.at_most(max(200, MAX_CELLS // n_items))
    drawn = _Draws(sides, fewer) if len(sides) > 1 else None
    pairs: list[tuple[str, str, dict[str, PairedTest]]] = []
    for first, second in itertools.combinations(sides, 2):
        tests = {}
        for key in COMPARED:
            known = min(side.n_known(key) for side in (sides[first], sides[second]))
            if known and np.isfinite(whole[first][key]) and np.isfinite(whole[second][key]) and drawn is not None:
                tests[key] = drawn.test(key, first, second, whole, known)
        if np.array_equal(sides[first].correct, sides[second].correct):
            tests.pop("accuracy", None)
        else:
            tests["accuracy"] = paired_means(sides[first].correct, sides[second].correct, resampling=fewer)
        pairs.append((first, second, tests))
    corrected: list[dict[str, float]] = [{} for _ in pairs]
    for key in COMPARED:
        having = [number for number, pair in enumerate(pairs) if key in pair[2]]
        p_values = holm(np.array([pairs[number][2][key].p_value for number in having]))
        for number, p_value in zip(having, p_values.tolist(), strict=True):
            corrected[number][key] = p_value
    return ConfidenceComparison(
        figures={name: {key: _number(values[key]) for key in COMPARED} for name, values in whole.items()},
        pairs=tuple(ConfidencePair(*pair, p_holm) for pair, p_holm in zip(pairs, corrected, strict=True)),
        n_items=n_items,
    )


# ------------------------------------------------------------------------------------------------------------- private


class _Ranked:
    """One confidence, its items in falling order, whose figures are sums of the items' weights along that order."""

    def __init__(self, confidence: Floats, correct: NDArray[np.bool_], n_bins: int) -> None:
        self.correct = correct
        self.order = np.argsort(-confidence, kind="stable")
        self.confidence, self.right = confidence[self.order], correct[self.order].astype(np.float64)
        last = np.concatenate((self.confidence[1:] != self.confidence[:-1], [True]))
        self.ties = np.flatnonzero(last)
        # A bin (lower, upper] ends, in falling order, with the last item above its lower edge; the first holds 0 too.
        edges = uniform_edges(n_bins)[::-1][1:].copy()
        edges[-1] = -1.0
        self.bins = np.searchsorted(-self.confidence, -edges, side="left")

    def n_known(self, key: str) -> int:
        """Return from how many items a figure is known, for its test; 0 where that is too few for one."""
        if key not in RANKED:
            return len(self.order) if len(self.order) > 1 else 0
        fewer = int(min(self.correct.sum(), (~self.correct).sum()))
        return fewer if fewer >= MIN_OF_EACH else 0

    def figures(self, weights: Floats) -> dict[str, Floats]:
        """Compute every figure for (R, N) weights of the items, whole numbers in the order of the input."""
        ordered = weights[:, self.order]
        total = ordered.sum(axis=1)
        hits, sure = ordered @ self.right, ordered @ self.confidence
        count, right = np.cumsum(ordered, axis=1), np.cumsum(ordered * self.right, axis=1)
        score = np.cumsum(ordered * self.confidence, axis=1)
        binned = [_between(sums, self.bins)[:, None, :] for sums in (count, score, right)]
        n, r = _steps(count[:, self.ties]), _steps(right[:, self.ties])
        before, right_before = count[:, self.ties] - n, right[:, self.ties] - r
        # The k-th of n items of equal confidence, in random order, adds their mean risk: sums of 1 / rank give all.
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, int(total.max()) + 1))))
        ranks = harmonic[count[:, self.ties].astype(np.intp)] - harmonic[before.astype(np.intp)]
        wrong = n - r
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(n > 0, wrong / np.maximum(n, 1.0), 0.0)
            aurc = (share * n + (before - right_before - share * before) * ranks).sum(axis=1) / total
            below = (total - hits)[:, None] - (before - right_before) - wrong
            auroc = (r * (below + wrong / 2)).sum(axis=1) / (hits * (total - hits))
        return {
            "accuracy": hits / total,
            "mean_confidence": sure / total,
            "confidence_gap": (sure - hits) / total,
            "ece": finished_error(raw_error(*binned), norm="l1"),
            "ece_debiased": raw_error(*binned, debias=True),
            "brier": ordered @ (self.confidence - self.right) ** 2 / total,
            "auroc": auroc,
            "aurc": aurc,
        }

    def error_if_calibrated(self, uniforms: Floats) -> Floats:
        """Compute the debiased errors of R calibrated answers; (R, N) uniform numbers in the order of the input."""
        right = uniforms[:, self.order] < self.confidence
        return raw_error(*self._binned(right.astype(np.float64)), debias=True)

    def error_bias(self, deviations: float) -> float:
        """Return the `residual_bias` of the debiased error of the items."""
        return float(residual_bias(*self._binned(self.right[None, :]), deviations)[0])

    def _binned(self, right: Floats) -> tuple[Floats, Floats, Floats]:
        """Return counts, sums of confidences and, for (R, N) answers in falling order, counts of right ones."""
        ones = np.ones((1, len(self.confidence)))
        sums = [np.cumsum(values, axis=1) for values in (ones, ones * self.confidence, right)]
        count, score, event = (_between(values, self.bins)[:, None, :] for values in sums)
        return count, score, event


def _between(sums: Floats, ends: NDArray[np.intp]) -> Floats:
    """Return the sums between positions from (R, N) running sums; an end is the number of items before it."""
    padded = np.concatenate((np.zeros((len(sums), 1)), sums), axis=1)
    return _steps(padded[:, ends])


def _steps(sums: Floats) -> Floats:
    return np.diff(sums, axis=1, prepend=0.0)


class _Draws:
    """The figures of every source in every resample, and the errors of calibrated answers to the same items."""

    def __init__(self, sides: Mapping[str, _Ranked], resampling: Resampling) -> None:
        self.level, rng = resampling.level, np.random.default_rng([resampling.seed, 3])
        self.tail = (1 - self.level) / 2
        self.bias = {name: side.error_bias(float(stats.norm.isf(self.tail))) for name, side in sides.items()}
        self.n_items = n_items = len(next(iter(sides.values())).order)
        step = max(1, _BLOCK // n_items)
        blocks: list[dict[str, dict[str, Floats]]] = []
        for start in range(0, resampling.resamples, step):
            rows = min(step, resampling.resamples - start)
            drawn = rng.integers(n_items, size=(rows, n_items)) + np.arange(rows)[:, None] * n_items
            weights = np.bincount(drawn.ravel(), minlength=rows * n_items).reshape(rows, n_items).astype(np.float64)
            uniforms = rng.random((rows, n_items))
            blocks.append(
                {
                    name: {**side.figures(weights), "ece_if_calibrated": side.error_if_calibrated(uniforms)}
                    for name, side in sides.items()
                }
            )
        self.figures = {
            name: {key: np.concatenate([block[name][key] for block in blocks]) for key in blocks[0][name]}
            for name in sides
        }

    def test(
        self, key: str, first: str, second: str, whole: Mapping[str, Mapping[str, float]], known: int
    ) -> PairedTest:
        """Test whether two sources have the same figure.

        `whole` has the figures of the items themselves, and the figure is known from so many items.
        """
        scale = "ece_debiased" if key == "ece" else key
        one, two = self.figures[first], self.figures[second]
        plain, center = (whole[first][each] - whole[second][each] for each in (key, scale))
        # The resamples scatter around `plain` as `center` does around the truth.
        noise = one[scale] - two[scale] - plain
        noise = noise[np.isfinite(noise)]
        spread, freedom, tail = np.sqrt(known / (known - 1)), known - 1, self.tail
        below, above = (self.bias[first], self.bias[second]) if key == "ece" else (0.0, 0.0)
        nearer = max(center - below, 0.0) if center > 0 else min(center + above, 0.0)
        # A p-value of 1 has the normal quantile 0, also where rounding says otherwise.
        place = stats.norm.isf(min(_two_sided(noise, nearer), 1.0) / 2)
        p_value = float(2 * stats.t.sf(place / spread, freedom))
        wider = spread * stats.t.isf(tail, freedom) / stats.norm.isf(tail)
        high, low = wider * np.quantile(noise, (tail, 1 - tail))
        low, high = center - low - below, center - high + above
        bound = 2.0 if key == "confidence_gap" else 1.0
        if np.ptp(noise) <= _TINY:
            # Where no resample differs, a share of items that so many may well show none of may do otherwise.
            unseen = 1 - tail ** (1 / known)
            low, high = low - unseen * (bound + low), high + unseen * (bound - high)
        if key == "ece" and all(
            whole[name][scale] <= self.figures[name]["ece_if_calibrated"].max() for name in (first, second)
        ):
            calibrated = np.abs(one["ece_if_calibrated"] - two["ece_if_calibrated"])
            both = (np.count_nonzero(calibrated >= abs(center) - _TINY) + 1) / (len(calibrated) + 1)
            p_value = max(p_value, float(both))
        if p_value > 1 - self.level:
            low, high = min(low, 0.0), max(high, 0.0)
        method = "basic bootstrap of debiased errors" if key == "ece" else "basic bootstrap"
        interval = Interval(max(-bound, float(low)), min(bound, float(high)), self.level, method, len(noise))
        return PairedTest(plain, p_value, self.n_items, "paired bootstrap", interval)


def _two_sided(noise: Floats, center: float) -> float:
    tail = min(np.count_nonzero(noise >= center - _TINY), np.count_nonzero(noise <= center + _TINY))
    return min(1.0, 2 * (tail + 1) / (len(noise) + 1))


def _sides(confidences: Mapping[str, Any], correct: Any, n_bins: int) -> dict[str, _Ranked]:
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
        sides[name] = _Ranked(checked, right, n_bins)
    lengths = {name: len(side.order) for name, side in sides.items()}
    if len(set(lengths.values())) > 1:
        check_same_length(**{name: side.order for name, side in sides.items()})
    return sides


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
