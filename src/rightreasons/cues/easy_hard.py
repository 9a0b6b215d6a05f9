"""Easy and Hard: how much better a model is where cues alone give the answer."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core import validation
from rightreasons.core.arrays import to_array_or_list
from rightreasons.core.bootstrap import make_quantile_interval
from rightreasons.core.clusters import number_clusters
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result

UNITS = ("item", "prediction")

METHOD = "percentile bootstrap over items, Easy and Hard resampled apart"


@dataclasses.dataclass(frozen=True)
class Run(Result):
    """The figures of one run (one seed of one model), as in `EasyHardGap`."""

    easy_hard_gap: float
    accuracy: float
    easy_accuracy: float
    hard_accuracy: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class EasyHardGap(Run):
    """Accuracy overall, on Easy and on Hard items, each the mean over runs.

    Attributes:
        easy_hard_gap: easy_accuracy - hard_accuracy, in [-1, 1]; 0 is best, positive means that cues help.
        accuracy: Over all items, in [0, 1].
        easy_accuracy: Over the Easy items.
        hard_accuracy: Over the Hard items.
        p_value: Approximate randomization test of gap = 0, two-sided, over all runs; of clusters Student's t.
        interval: Interval of the gap over items.
        accuracy_interval: Of accuracy.
        easy_accuracy_interval: Of easy_accuracy.
        hard_accuracy_interval: Of hard_accuracy.
        easy_hard_gap_std: Population standard deviation over runs; None for a single run.
        accuracy_std: Of accuracy, likewise.
        easy_accuracy_std: Of easy_accuracy, likewise.
        hard_accuracy_std: Of hard_accuracy, likewise.
        n_easy: How many Easy items.
        n_hard: How many Hard items.
        n_runs: How many runs.
        n_permutations: How many permutations each p-value rests on.
        runs: The same figures for each run.
    """

    interval: Interval
    accuracy_interval: Interval
    easy_accuracy_interval: Interval
    hard_accuracy_interval: Interval
    easy_hard_gap_std: float | None
    accuracy_std: float | None
    easy_accuracy_std: float | None
    hard_accuracy_std: float | None
    n_easy: int
    n_hard: int
    n_runs: int
    n_permutations: int
    runs: tuple[Run, ...]


def easy_hard_gap(
    predictions: object,
    references: object,
    easy: object,
    *,
    unit: str = "item",
    clusters: Any = None,
    n_permutations: int = 10_000,
    resampling: Resampling = Resampling(),
) -> EasyHardGap:
    r"""Compare a model's accuracy on Easy items, which cues alone solve, with that on Hard items.

    gap = acc(Easy) - acc(Hard). The test shuffles which items are called Easy, R times:

        p = \frac{1 + \#\{|\Delta^{(r)}| \ge |\Delta|\}}{R + 1}.

    With several runs, an item's score is its mean over the runs, so that the runs of an item stay together in the test
    and in the intervals; the standard deviations over runs are population ones (divisor: the number of runs).

    Args:
        predictions: (N,) the chosen index of each item, or (N, R) with one column per run.
        references: (N,) the right index of each item.
        easy: (N,) whether each item is Easy; both kinds must occur.
        unit: What the test shuffles. "item" keeps an item's runs together. "prediction" treats each run's answer as a
            separate item, as the published p-values seem to do: seeds agree on most items, so it overstates the
            evidence (RoBERTa-large on COPA: 0.0003 instead of 0.009).
        clusters: (N,) names of what belongs together, such as an item and its mirror: the test is then Student's t of
            the linearized gap over clusters, and the intervals resample clusters. None (default) where each item is on
            its own.
        n_permutations: Number of shuffles of the test; default 10,000.
        resampling: How the intervals are resampled, stratified by Easy and Hard; its seed is that of the test too.

    Returns:
        `EasyHardGap`.

    Raises:
        TypeError: If predictions or references are no whole numbers, or easy holds no flags.
        ValueError: If lengths differ, an input is empty, or all items are Easy, or none.

    References:
        Kavumba et al. (2019), Tables 4 and 5; Noreen (1989), Computer-Intensive Methods for Testing Hypotheses.

    Example:
        >>> result = easy_hard_gap([0, 1, 1, 0, 0], [0, 1, 1, 1, 0], easy=[True, True, False, False, False])
        >>> result.easy_accuracy, round(result.hard_accuracy, 4), round(result.easy_hard_gap, 4), result.n_easy
        (1.0, 0.6667, 0.3333, 2)
    """
    chosen = check_runs(predictions)
    right = validation.check_labels(references)
    flags = check_easy(easy)
    validation.check_same_length(predictions=chosen, references=right, easy=flags)
    validation.check_one_of(unit, UNITS, "unit")
    rounds = validation.check_count(n_permutations, "n_permutations", maximum=validation.MAX_DRAWS)
    rng = np.random.default_rng([resampling.seed, 1])

    units = None if clusters is None else number_clusters(clusters, len(right))

    def tested(hits: NDArray[np.int64], most: int) -> float:
        return (
            permutation_p(hits, most, flags, rounds, rng)
            if units is None
            else cluster_p(hits, flags, units)
        )

    correct = (chosen == right[:, None]).astype(np.int64)
    n_runs = correct.shape[1]
    runs = tuple(_figures(hits, 1, flags, tested(hits, 1)) for hits in correct.T)
    hits = correct.sum(axis=1)
    if unit == "prediction":
        p_value = permutation_p(correct.ravel(), 1, np.repeat(flags, n_runs), rounds, rng)
    else:
        p_value = tested(hits, n_runs)
    pooled, share = _figures(hits, n_runs, flags, p_value), flags.mean()
    if units is None:
        on_easy, on_hard = _bootstrap(hits, n_runs, flags, resampling.resamples, rng)
    else:
        on_easy, on_hard = _bootstrap_clusters(
            hits / n_runs, flags, units, resampling.resamples, rng
        )
    draws = {
        "easy_hard_gap": on_easy - on_hard,
        "accuracy": share * on_easy + (1 - share) * on_hard,
        "easy_accuracy": on_easy,
        "hard_accuracy": on_hard,
    }
    others: dict[str, Any] = {}
    for name, values in draws.items():
        figure, ends = (
            getattr(pooled, name),
            make_quantile_interval(values, resampling.level, method=METHOD),
        )
        ends = dataclasses.replace(ends, low=min(ends.low, figure), high=max(ends.high, figure))
        others["interval" if name == "easy_hard_gap" else f"{name}_interval"] = ends
        others[f"{name}_std"] = (
            float(np.std([getattr(run, name) for run in runs])) if n_runs > 1 else None
        )
    return EasyHardGap(
        **dataclasses.asdict(pooled),
        **others,
        n_easy=int(flags.sum()),
        n_hard=int((~flags).sum()),
        n_runs=n_runs,
        n_permutations=rounds,
        runs=runs,
    )


def check_runs(values: object, name: str = "predictions", *, least: int = 1) -> NDArray[np.int64]:
    """Check rows of one number of whole numbers from 0, (N, R), or a vector, which is one column.

    Example:
        >>> check_runs([0, 1]).shape, check_runs([[0, 1, 1], [1, 1, 1]]).shape
        ((2, 1), (2, 3))
    """
    rows = to_array_or_list(values, name)
    if len(rows) == 0:
        raise ValueError(f"Expected at least one item in `{name}`, but it is empty.")
    widths = sorted({len(row) if isinstance(row, list) or np.ndim(row) else 0 for row in rows})
    if widths == [0] and least == 1:
        return validation.check_labels(rows, name=name)[:, None]
    if len(widths) > 1 or widths[0] < least:
        raise ValueError(
            f"Expected each row of `{name}` to hold the same number of values, at least {least}, but rows have "
            f"{', '.join(map(str, widths))}."
        )
    return np.stack([validation.check_labels(row, name=name) for row in rows])


def permutation_p(
    values: NDArray[np.int64],
    most: int,
    easy: NDArray[np.bool_],
    n_permutations: int,
    rng: np.random.Generator,
) -> float:
    """Test whether the means of some values differ between Easy and Hard items, by shuffling Easy over the items.

    Shuffling is drawing n_easy items without replacement, so how many items of each value land in Easy is multivariate
    hypergeometric: the same law, without shuffling anything.

    Args:
        values: (N,) whole numbers from 0, such as how many runs got an item right.
        most: The largest value that there can be.
        easy: (N,) whether each item is Easy.
        n_permutations: Number of shuffles.
        rng: Their source.
    """
    n_items, n_easy = len(values), int(easy.sum())
    counts = np.bincount(values, minlength=most + 1)
    in_easy = rng.multivariate_hypergeometric(
        counts, n_easy, size=n_permutations, method="marginals"
    )
    total = int(values.sum())
    value = np.arange(most + 1)

    # |sum_easy / n_easy - sum_hard / n_hard| grows with |n sum_easy - n_easy total|: whole numbers, exact ties.
    observed = abs(n_items * int(values[easy].sum()) - n_easy * total)
    at_least = np.count_nonzero(np.abs(n_items * (in_easy @ value) - n_easy * total) >= observed)
    return (1 + int(at_least)) / (n_permutations + 1)


def cluster_p(
    values: NDArray[np.int64], easy: NDArray[np.bool_], units: NDArray[np.int64]
) -> float:
    """Test whether the means of some values differ between Easy and Hard items, by Student's t over clusters.

    The gap is linearized over items, and one value of each kind that differs keeps its error above zero.

    Args:
        values: (N,) whole numbers, such as how many runs got an item right.
        easy: (N,) whether each item is Easy.
        units: (N,) the number of the cluster of each item.
    """
    error, gap, square = np.zeros(len(values)), 0.0, 0.0
    for part, sign in ((easy, 1), (~easy, -1)):
        mean, n = float(values[part].mean()), int(part.sum())
        error[part], gap = sign * (values[part] - mean) / n, gap + sign * mean
        square += 1 / n**2
    n_units = int(units.max()) + 1
    square += n_units / max(n_units - 1, 1) * float((np.bincount(units, error) ** 2).sum())
    return float(2 * stats.t.sf(abs(gap) / np.sqrt(square), max(n_units - 1, 1)))


def check_easy(easy: object) -> NDArray[np.bool_]:
    """Check the flags of Easy items, of which there must be some but not all."""
    flags = validation.check_flags(easy, "easy")
    if flags.all() or not flags.any():
        kind = "Easy" if flags.all() else "Hard"
        raise ValueError(
            f"Expected both Easy and Hard items in `easy`, but all {len(flags)} are {kind}."
        )
    return flags


def _figures(hits: NDArray[np.int64], n_runs: int, easy: NDArray[np.bool_], p_value: float) -> Run:
    on_easy = float(hits[easy].mean() / n_runs)
    on_hard = float(hits[~easy].mean() / n_runs)
    return Run(on_easy - on_hard, float(hits.mean() / n_runs), on_easy, on_hard, p_value)


def _bootstrap(
    hits: NDArray[np.int64],
    n_runs: int,
    easy: NDArray[np.bool_],
    n_resamples: int,
    rng: np.random.Generator,
) -> list[NDArray[np.float64]]:
    """Return resampled mean accuracies of Easy and of Hard; resampling items is multinomial in their counts.

    Items that all agree have no other resample. Then a share of items that so many may well show none of, drawn from
    its distribution Beta(1, n), does otherwise: all wrong in place of right, or either where the runs differ.
    """
    means = []
    for part in (hits[easy], hits[~easy]):
        if np.ptp(part) == 0:
            means.append(_unseen(part[0] / n_runs, len(part), n_resamples, rng))
            continue
        counts = np.bincount(part, minlength=n_runs + 1)
        in_easy = rng.multinomial(len(part), counts / len(part), size=n_resamples)
        means.append(in_easy @ np.arange(n_runs + 1) / (len(part) * n_runs))
    return means


def _unseen(
    share: float, n: int, n_resamples: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return means of n items that all agree, where a share of others that these may not show does otherwise."""
    unseen = rng.beta(1, n, size=n_resamples)
    otherwise = rng.integers(2, size=n_resamples) if 0 < share < 1 else 1 - share
    return np.asarray((1 - unseen) * share + unseen * otherwise, dtype=np.float64)


def _bootstrap_clusters(
    shares: NDArray[np.float64],
    easy: NDArray[np.bool_],
    units: NDArray[np.int64],
    n_resamples: int,
    rng: np.random.Generator,
) -> list[NDArray[np.float64]]:
    """Return resampled mean accuracies of Easy and of Hard, of whole clusters; those without a kind do not count."""
    n_units = int(units.max()) + 1
    times = rng.multinomial(n_units, np.full(n_units, 1 / n_units), size=n_resamples).astype(
        np.float64
    )
    means = []
    for part in (easy, ~easy):
        if np.ptp(shares[part]) == 0:
            means.append(
                _unseen(float(shares[part][0]), len(np.unique(units[part])), n_resamples, rng)
            )
            continue
        hits, sizes = (
            times @ np.bincount(units, weights, n_units) for weights in (shares * part, part)
        )
        means.append(np.where(sizes > 0, hits / np.where(sizes > 0, sizes, 1), shares[part].mean()))
    return means
