"""Intervals and paired tests over items and over clusters of items that belong together."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import (
    check_count,
    check_flags,
    check_fraction,
    check_one_of,
    check_same_length,
    check_seed,
    check_vector,
)

Floats = NDArray[np.float64]

METHODS = ("percentile", "basic")

MAX_UNITS = 5_000
"""More units (items or clusters) than this are first put into so many random groups, which are then resampled.

The variance of a resampled sum is then itself estimated from this many groups, so that the width of an interval is
right to 1 / sqrt(2 * 5000) = 1 %, far inside the width's own sampling error on fewer items.
"""

_CELLS = 4_000_000
"""Resampling weights drawn at once, to bound the memory."""


@dataclasses.dataclass(frozen=True)
class Interval(Result):
    """A confidence interval.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        confidence_level: The share of such intervals that should cover the truth, such as 0.95.
        method: How it was made.
        n_resamples: How many resamples it rests on; None where it has a closed form.
    """

    low: float
    high: float
    confidence_level: float
    method: str
    n_resamples: int | None = None


@dataclasses.dataclass(frozen=True)
class PairedTest(Result):
    """A test whether two models differ on the same items.

    Attributes:
        difference: Figure of the first model minus figure of the second.
        p_value: Two-sided p-value of "no difference".
        n_items: Number of items.
        method: The test, in words.
        interval: Interval of the difference, where the test gives one.
    """

    difference: float
    p_value: float
    n_items: int
    method: str
    interval: Interval | None = None


def wilson(successes: int, n_items: int, *, confidence_level: float = 0.95) -> Interval:
    r"""Compute the Wilson score interval of a share.

    \[ \frac{\hat p + z^2/2n \pm z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n} \]

    Args:
        successes: Number of successes, from 0 to `n_items`.
        n_items: Number of independent items.
        confidence_level: Such as 0.95.

    Returns:
        The interval, inside [0, 1].

    References:
        Wilson (1927), Probable Inference, the Law of Succession, and Statistical Inference.

    Example:
        >>> interval = wilson(8, 10)
        >>> round(interval.low, 4), round(interval.high, 4)
        (0.4902, 0.9433)
    """
    n = check_count(n_items, "n_items")
    k = check_count(successes, "successes", minimum=0)
    if k > n:
        raise ValueError(f"Expected `successes` to be at most `n_items`, but got {k} of {n}.")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    z = float(special.ndtri(0.5 + level / 2))
    share = k / n
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the ends one limit is 0 or 1 exactly; rounding must not say otherwise.
    low = 0.0 if k == 0 else float(max(center - half, 0.0))
    high = 1.0 if k == n else float(min(center + half, 1.0))
    return Interval(low, high, level, "Wilson score")


def bootstrap_mean(
    values: Any,
    *,
    clusters: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of a mean.

    Args:
        values: (N,) one value an item; True and False count as 1 and 0.
        clusters: (N,) names of the clusters that the items belong to, which are resampled as wholes; None when every
            item stands for itself.
        confidence_level: Such as 0.95.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.
        method: "percentile" or "basic" (2 θ̂ - θ*).

    Returns:
        The interval.

    References:
        Efron, Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 14.

    Example:
        >>> interval = bootstrap_mean([0, 1, 1, 1, 0, 1, 1, 1])
        >>> interval.low, interval.high
        (0.375, 1.0)
    """
    checked = check_vector(np.asarray(values, dtype=np.float64) if _is_boolean(values) else values, "values")
    return bootstrap_sums(
        _mean_of_sums,
        np.column_stack((checked, np.ones(len(checked)))),
        clusters=clusters,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
        method=method,
    )


def bootstrap_sums(
    statistic: Callable[[Floats], Any],
    values: Any,
    *,
    clusters: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of any figure that is a function of sums over items; all resamples at once.

    Args:
        statistic: Maps (..., S) sums to (...) figures; NaN where the figure is undefined, such resamples are left out.
        values: (N, S) what each item adds to the S sums.
        clusters: (N,) names of the clusters, or None.
        confidence_level: Such as 0.95.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.
        method: "percentile" or "basic".

    Returns:
        The interval; `n_resamples` is the number of resamples in which the figure was defined.

    Raises:
        ValueError: If the figure is undefined for the items themselves or for every resample.

    Example:
        Precision is hits / predictions: two sums.

        >>> hits, predicted = [1, 0, 1, 1, 0, 0], [1, 1, 1, 1, 0, 0]
        >>> precision = lambda sums: sums[..., 0] / sums[..., 1]
        >>> bootstrap_sums(precision, np.column_stack((hits, predicted)), seed=1).high
        1.0
    """
    options = _Resampling.checked(confidence_level, n_resamples, seed, method)
    table = _table(values)
    units = _cluster_sums(table, clusters, options.rng())
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(np.asarray(statistic(table.sum(axis=0))))
        drawn = np.concatenate([np.atleast_1d(statistic(weights @ units)) for weights in options.weights(len(units))])
    return options.interval(estimate, drawn)


def bootstrap(
    statistic: Callable[..., float | None],
    *columns: Any,
    clusters: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    method: str = "percentile",
) -> Interval:
    """Compute a bootstrap interval of any figure; it is computed anew on every resample, so prefer `bootstrap_sums`.

    Args:
        statistic: Takes the columns, resampled, and returns a number, or None where it is undefined.
        *columns: Arrays of N items along their first axis, resampled together.
        clusters: (N,) names of the clusters, or None.
        confidence_level: Such as 0.95.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.
        method: "percentile" or "basic".

    Returns:
        The interval.

    Example:
        >>> interval = bootstrap(lambda x: float(np.median(x)), [1.0, 2.0, 3.0, 4.0, 100.0], n_resamples=200)
        >>> interval.low, interval.high
        (1.0, 100.0)
    """
    options = _Resampling.checked(confidence_level, n_resamples, seed, method)
    arrays, n_items = _columns(columns)
    members = _members(clusters, n_items)
    rng = options.rng()
    drawn = []
    for _ in range(options.n_resamples):
        picked = rng.integers(len(members) if members else n_items, size=len(members) if members else n_items)
        rows = np.concatenate([members[unit] for unit in picked]) if members else picked
        drawn.append(_number(statistic(*(array[rows] for array in arrays))))
    return options.interval(_number(statistic(*arrays)), np.array(drawn))


def paired_bootstrap(
    first: Any,
    second: Any,
    *,
    clusters: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> PairedTest:
    r"""Test whether two models have the same mean on the same items, by resampling the items' differences.

    The p-value is that of the percentile interval: twice the smaller share of resampled differences on one side of 0,
    with one added to both counts, so that it is never 0.

    Args:
        first: (N,) one value an item of the first model, such as whether it is right.
        second: (N,) the same of the second model, in the same order.
        clusters: (N,) names of the clusters, or None.
        confidence_level: Such as 0.95.
        n_resamples: Number of resamples.
        seed: Seed of the resamples.

    Returns:
        The difference of the means with its p-value and percentile interval.

    References:
        Efron, Tibshirani (1993), An Introduction to the Bootstrap, section 16.4.

    Example:
        >>> test = paired_bootstrap([1, 1, 1, 1, 0, 1], [0, 1, 0, 1, 0, 0])
        >>> test.difference, test.interval.low, test.interval.high
        (0.5, 0.16666666666666666, 0.8333333333333334)
    """
    options = _Resampling.checked(confidence_level, n_resamples, seed, "percentile")
    difference = _differences(first, second)
    units = _cluster_sums(np.column_stack((difference, np.ones(len(difference)))), clusters, options.rng())
    drawn = np.concatenate([_mean_of_sums(weights @ units) for weights in options.weights(len(units))])
    tail = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    estimate = float(difference.mean())
    return PairedTest(
        estimate,
        float(min(1.0, 2 * (tail + 1) / (len(drawn) + 1))),
        len(difference),
        "paired bootstrap of the mean difference",
        options.interval(estimate, drawn),
    )


def paired_permutation(
    first: Any,
    second: Any,
    *,
    clusters: Any = None,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    r"""Test whether two models have the same mean on the same items, by swapping the models at random in each item.

    The p-value is the share of sign patterns whose |mean difference| is at least the observed one: exact over all
    patterns when there are no more than `n_resamples` of them, else over random ones with the observed pattern counted.

    Args:
        first: (N,) one value an item of the first model.
        second: (N,) the same of the second model, in the same order.
        clusters: (N,) names of the clusters, which are swapped as wholes, or None.
        n_resamples: Number of random sign patterns.
        seed: Seed of the patterns.

    Returns:
        The difference of the means with its p-value.

    References:
        Fisher (1935), The Design of Experiments, section 21.

    Example:
        Three differences of the same sign: 2 of 8 patterns are as extreme.

        >>> paired_permutation([1, 1, 1], [0, 0, 0]).p_value
        0.25
    """
    n_resamples, rng = check_count(n_resamples, "n_resamples"), np.random.default_rng(check_seed(seed))
    difference = _differences(first, second)
    sums = _cluster_sums(difference[:, None], clusters, None)[:, 0]
    sums = sums[sums != 0]  # a cluster without a difference is the same either way round
    observed = abs(float(difference.sum()))
    # Sums of the same terms in another order differ by rounding.
    bar = observed * (1 - 1e-12)
    if len(sums) < 63 and 2 ** len(sums) <= n_resamples:
        patterns = 2 ** len(sums)
        signs = 1.0 - 2.0 * ((np.arange(patterns)[:, None] >> np.arange(len(sums))) & 1)
        p_value = float(np.count_nonzero(np.abs(signs @ sums) >= bar) / patterns)
        method = "exact paired permutation test of the mean difference"
    else:
        hits = 0
        step = max(1, _CELLS // len(sums))
        for start in range(0, n_resamples, step):
            shape = (min(step, n_resamples - start), len(sums))
            signs = 1.0 - 2.0 * rng.integers(2, size=shape, dtype=np.int8)
            hits += int(np.count_nonzero(np.abs(signs @ sums) >= bar))
        p_value = (hits + 1) / (n_resamples + 1)
        method = "paired permutation test of the mean difference"
    return PairedTest(float(difference.mean()), p_value, len(difference), method)


def paired_permutation_of(
    statistic: Callable[..., float],
    first: Any,
    second: Any,
    *shared: Any,
    n_resamples: int = 1000,
    seed: int = 0,
) -> PairedTest:
    """Test whether two models have the same figure, for any figure, by swapping their outputs at random in each item.

    Args:
        statistic: Takes the outputs of one model and the shared columns, and returns a number.
        first: (N, ...) outputs of the first model.
        second: (N, ...) outputs of the second model, in the same order and shape.
        *shared: Arrays of N items that both models share, such as the labels.
        n_resamples: Number of random swaps.
        seed: Seed of the swaps.

    Returns:
        The difference of the figures with its p-value; the observed assignment is counted as one of them.

    Example:
        >>> accuracy = lambda predicted, labels: float((predicted == labels).mean())
        >>> test = paired_permutation_of(accuracy, [0] * 12, [1] * 12, [0] * 12, n_resamples=200)
        >>> test.difference, test.p_value < 0.05
        (1.0, True)
    """
    n_resamples, rng = check_count(n_resamples, "n_resamples"), np.random.default_rng(check_seed(seed))
    (one, two, *rest), n_items = _columns((first, second, *shared))
    if one.shape != two.shape:
        raise ValueError(f"Expected `first` and `second` of one shape, but got {one.shape} and {two.shape}.")
    observed = float(statistic(one, *rest)) - float(statistic(two, *rest))
    hits = 0
    for _ in range(n_resamples):
        swap = rng.integers(2, size=n_items).astype(bool).reshape((-1,) + (1,) * (one.ndim - 1))
        mixed = np.where(swap, two, one), np.where(swap, one, two)
        difference = float(statistic(mixed[0], *rest)) - float(statistic(mixed[1], *rest))
        hits += abs(difference) >= abs(observed) * (1 - 1e-12)
    return PairedTest(observed, (hits + 1) / (n_resamples + 1), n_items, "paired permutation test")


def mcnemar(first: Any, second: Any) -> PairedTest:
    r"""Test whether two models are right equally often on the same items: the exact McNemar test.

    Of the items on which exactly one model is right, b are the first's and c the second's; under "no difference" b is
    binomial with chance 1/2. The p-value is two-sided and exact.

    Args:
        first: (N,) whether the first model is right.
        second: (N,) whether the second is, in the same order.

    Returns:
        The difference of the accuracies, (b - c) / N, with its p-value.

    References:
        McNemar (1947), Note on the Sampling Error of the Difference between Correlated Proportions.

    Example:
        b = 5, c = 0: p = 2 / 2^5.

        >>> mcnemar([True] * 8, [False] * 5 + [True] * 3).p_value
        0.0625
    """
    one, two = check_flags(first, "first"), check_flags(second, "second")
    n_items = check_same_length(first=one, second=two)
    b, c = int(np.count_nonzero(one & ~two)), int(np.count_nonzero(two & ~one))
    p_value = float(stats.binomtest(b, b + c, 0.5).pvalue) if b + c else 1.0
    return PairedTest((b - c) / n_items, p_value, n_items, "exact McNemar test")


# ------------------------------------------------------------------------------------------------------------- private


@dataclasses.dataclass(frozen=True)
class _Resampling:
    confidence_level: float
    n_resamples: int
    seed: int
    method: str

    @classmethod
    def checked(cls, confidence_level: float, n_resamples: int, seed: int, method: str) -> _Resampling:
        return cls(
            check_fraction(confidence_level, "confidence_level", open_ends=True),
            check_count(n_resamples, "n_resamples"),
            check_seed(seed),
            check_one_of(method, METHODS, "method"),
        )

    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def weights(self, n_units: int) -> Iterator[Floats]:
        """Yield (r, n_units) numbers of times that each unit is drawn, until there are `n_resamples` rows."""
        rng = np.random.default_rng([self.seed, 1])
        shares = np.full(n_units, 1.0 / n_units)
        step = max(1, _CELLS // n_units)
        for start in range(0, self.n_resamples, step):
            yield rng.multinomial(n_units, shares, size=min(step, self.n_resamples - start)).astype(np.float64)

    def interval(self, estimate: float, drawn: Floats) -> Interval:
        defined = drawn[np.isfinite(drawn)]
        if not np.isfinite(estimate) or not defined.size:
            raise ValueError("Expected a figure that is defined for the items, but it is undefined.")
        tail = (1.0 - self.confidence_level) / 2.0
        low, high = np.quantile(defined, (tail, 1.0 - tail))
        if self.method == "basic":
            low, high = 2.0 * estimate - high, 2.0 * estimate - low
        return Interval(float(low), float(high), self.confidence_level, f"{self.method} bootstrap", int(defined.size))


def _mean_of_sums(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1], dtype=np.float64)


def _is_boolean(values: Any) -> bool:
    return np.asarray(values).dtype.kind == "b"


def _table(values: Any) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] == 0:
        raise ValueError(f"Expected `values` of shape (N, S) with at least one item, but got shape {table.shape}.")
    if not np.isfinite(table).all():
        row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise ValueError(f"Expected finite numbers in `values`, but row {row} holds another.")
    return table


def _columns(columns: tuple[Any, ...]) -> tuple[list[NDArray[Any]], int]:
    arrays = [np.asarray(column) for column in columns]
    if not arrays or any(array.ndim == 0 or len(array) == 0 for array in arrays):
        raise ValueError("Expected columns of at least one item, but one is empty.")
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise ValueError(f"Expected columns of one length, but got {', '.join(map(str, lengths))}.")
    return arrays, lengths[0]


def _differences(first: Any, second: Any) -> Floats:
    one = check_vector(np.asarray(first, dtype=np.float64) if _is_boolean(first) else first, "first")
    two = check_vector(np.asarray(second, dtype=np.float64) if _is_boolean(second) else second, "second")
    check_same_length(first=one, second=two)
    return np.asarray(one - two, dtype=np.float64)


def _cluster_codes(clusters: Any, n_items: int) -> NDArray[np.intp] | None:
    if clusters is None:
        return None
    names = np.asarray(clusters)
    if names.ndim != 1 or len(names) != n_items:
        raise ValueError(f"Expected `clusters` to name the cluster of each of {n_items} items, but got {len(names)}.")
    return np.asarray(np.unique(names, return_inverse=True)[1], dtype=np.intp)


def _cluster_sums(table: Floats, clusters: Any, rng: np.random.Generator | None) -> Floats:
    """Sum the rows of each cluster; with `rng`, put units beyond `MAX_UNITS` into random groups."""
    codes = _cluster_codes(clusters, len(table))
    units = table if codes is None else _sum_by(codes, table)
    if rng is None or len(units) <= MAX_UNITS:
        return units
    return _sum_by(rng.integers(MAX_UNITS, size=len(units)), units, MAX_UNITS)


def _sum_by(codes: NDArray[np.intp], table: Floats, n_groups: int = 0) -> Floats:
    return np.stack([np.bincount(codes, column, minlength=n_groups) for column in table.T], axis=1)


def _members(clusters: Any, n_items: int) -> list[NDArray[np.intp]] | None:
    codes = _cluster_codes(clusters, n_items)
    if codes is None:
        return None
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
