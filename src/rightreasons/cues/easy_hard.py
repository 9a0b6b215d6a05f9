"""Easy and Hard items: how much better a model is where cues alone give the answer.

`easy_hard_gap` compares the accuracy on both kinds of items. Its p-value comes from an approximate
randomization test, and its intervals from a bootstrap; if items form clusters, from Student's t and
a bootstrap of whole clusters. The interval of the accuracy over all items is the usual one of a
share: how many items are Easy is a matter of chance, too, which a bootstrap within both kinds leaves
out.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from rightreasons.core.bootstrap import bootstrap_mean, make_quantile_interval
from rightreasons.core.clusters import number_clusters
from rightreasons.core.estimates import make_rate_interval
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    MAX_DRAWS,
    check_count,
    check_flags,
    check_labels,
    check_one_of,
    check_same_length,
)
from rightreasons.cues.labels import parse_runs

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Units = NDArray[np.intp]

UNITS = ("item", "prediction")

METHOD = "percentile bootstrap over items, Easy and Hard resampled apart"
CLUSTER_METHOD = "percentile bootstrap over clusters"

_ACCURACIES = ("accuracy", "easy_accuracy", "hard_accuracy")


@dataclasses.dataclass(frozen=True)
class Run(Result):
    """The figures of one run (one seed of one model), defined as in `EasyHardGap`."""

    easy_hard_gap: float
    accuracy: float
    easy_accuracy: float
    hard_accuracy: float
    p_value: float


@dataclasses.dataclass(frozen=True)
class EasyHardGap(Run):
    """Accuracy overall, on Easy and on Hard items, each the mean over runs.

    Attributes:
        easy_hard_gap: easy_accuracy - hard_accuracy, in [-1, 1]; 0 is best, positive values mean
            that cues help.
        accuracy: Accuracy over all items, in [0, 1].
        easy_accuracy: Accuracy over the Easy items.
        hard_accuracy: Accuracy over the Hard items.
        p_value: Two-sided approximate randomization test of gap = 0 over all runs; Student's t if
            there are clusters.
        interval: Interval of the gap over items.
        accuracy_interval: Interval of `accuracy` over items of both kinds: Wilson for a single run,
            bootstrap of the items' means over several runs.
        easy_accuracy_interval: Interval of `easy_accuracy`.
        hard_accuracy_interval: Interval of `hard_accuracy`.
        easy_hard_gap_std: Population standard deviation of the gap over runs; None for a single
            run.
        accuracy_std: Standard deviation of `accuracy`; None for a single run.
        easy_accuracy_std: Standard deviation of `easy_accuracy`; None for a single run.
        hard_accuracy_std: Standard deviation of `hard_accuracy`; None for a single run.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_runs: Number of runs.
        n_permutations: Number of permutations of each p-value.
        runs: The figures of each run.
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


@dataclasses.dataclass(frozen=True, eq=False)
class _Answers:
    """Checked answers of R runs to N items.

    Attributes:
        correct: (N, R) 1 for each correct answer, 0 for each incorrect one.
        easy: (N,) whether each item is Easy.
        units: (N,) number of the cluster of each item; None for independent items.
    """

    correct: Counts
    easy: Flags
    units: Units | None

    @property
    def n_runs(self) -> int:
        """Number of runs R."""
        return int(self.correct.shape[1])

    @property
    def hits(self) -> Counts:
        """(N,) number of runs that answer each item correctly."""
        return np.asarray(self.correct.sum(axis=1))


@dataclasses.dataclass(frozen=True, eq=False)
class Randomization:
    """Settings of `permute_easy`.

    Attributes:
        n_permutations: Number of shuffles of each test.
        rng: Source of the shuffles.
    """

    n_permutations: int
    rng: np.random.Generator


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

    With several runs, an item's score is its mean over the runs, so that the runs of an item stay
    together in the test and in the intervals; the standard deviations over runs are population ones
    (divisor: the number of runs).

    Args:
        predictions: (N,) index of the predicted choice of each item, or (N, R) with one column per
            run.
        references: (N,) index of the correct choice of each item.
        easy: (N,) whether each item is Easy; both kinds must occur.
        unit: Unit that the test shuffles. "item" keeps an item's runs together. "prediction" treats
            each run's answer as a separate item, as the published p-values seem to do: seeds agree
            on most items, so it overstates the evidence (RoBERTa-large on COPA: 0.0003 instead of
            0.009).
        clusters: (N,) names of clusters of items, such as an item and its mirror: the test is then
            Student's t of the linearized gap over clusters, and the intervals resample clusters. If
            None (default), the items are independent.
        n_permutations: Number of shuffles of the test; default 10,000.
        resampling: Resampling of the intervals, stratified by Easy and Hard; its seed is that of
            the test too.

    Returns:
        `EasyHardGap`.

    Raises:
        TypeError: If predictions or references are not whole numbers, or easy does not consist of
            flags.
        ValueError: If lengths differ, an input is empty, or all items are of one kind.

    References:
        Kavumba et al. (2019), Tables 4 and 5; Noreen (1989), Computer-Intensive Methods for Testing
        Hypotheses.

    Example:
        >>> result = easy_hard_gap([0, 1, 1, 0, 0], [0, 1, 1, 1, 0], easy=[True, True, False, False, False])
        >>> result.easy_accuracy, round(result.hard_accuracy, 4), round(result.easy_hard_gap, 4), result.n_easy
        (1.0, 0.6667, 0.3333, 2)
    """
    predicted = parse_runs(predictions)
    correct_choices = check_labels(references)
    flags = parse_easy(easy)
    check_same_length(predictions=predicted, references=correct_choices, easy=flags)
    check_one_of(unit, UNITS, "unit")
    # What follows works on arrays that are not checked again.
    rounds = check_count(n_permutations, "n_permutations", maximum=MAX_DRAWS)
    answers = _Answers(
        correct=(predicted == correct_choices[:, None]).astype(np.int64),
        easy=flags,
        units=number_clusters(clusters, len(flags)),
    )

    # One generator for all draws, in this order: the tests of the runs, the joint test, the
    # bootstrap.
    rng = np.random.default_rng([resampling.seed, 1])
    randomization = Randomization(rounds, rng)
    runs = []
    for hits in answers.correct.T:
        p_value = _test_gap(hits, 1, answers, randomization)
        runs.append(_compute_run(hits, 1, flags, p_value))
    if unit == "prediction":
        easy_predictions = np.repeat(flags, answers.n_runs)
        p_value = permute_easy(answers.correct.ravel(), 1, easy_predictions, randomization)
    else:
        p_value = _test_gap(answers.hits, answers.n_runs, answers, randomization)
    pooled = _compute_run(answers.hits, answers.n_runs, flags, p_value)

    uncertainty: dict[str, Any] = {
        **_compute_intervals(pooled, answers, resampling, rng),
        **_compute_deviations(runs),
    }
    return EasyHardGap(
        **dataclasses.asdict(pooled),
        **uncertainty,
        n_easy=int(flags.sum()),
        n_hard=int((~flags).sum()),
        n_runs=answers.n_runs,
        n_permutations=rounds,
        runs=tuple(runs),
    )


def parse_easy(easy: object) -> Flags:
    """Check the flags of Easy items; raise ValueError unless there are Easy and Hard items.

    Args:
        easy: (N,) whether each item is Easy, as booleans or 0 and 1.

    Returns:
        (N,) booleans.
    """
    flags = check_flags(easy, "easy")
    if flags.all() or not flags.any():
        kind = "Easy" if flags.all() else "Hard"
        raise ValueError(
            f"Expected both Easy and Hard items in `easy`, but all {len(flags)} are {kind}."
        )
    return flags


def _compute_run(hits: Counts, n_runs: int, easy: Flags, p_value: float) -> Run:
    """Compute the accuracies and the gap of one run, or of several runs together.

    Args:
        hits: (N,) number of runs that answer each item correctly.
        n_runs: Number of runs.
        easy: (N,) whether each item is Easy.
        p_value: p-value of the gap.
    """
    easy_accuracy = float(hits[easy].mean() / n_runs)
    hard_accuracy = float(hits[~easy].mean() / n_runs)
    return Run(
        easy_hard_gap=easy_accuracy - hard_accuracy,
        accuracy=float(hits.mean() / n_runs),
        easy_accuracy=easy_accuracy,
        hard_accuracy=hard_accuracy,
        p_value=p_value,
    )


def _compute_intervals(
    pooled: Run,
    answers: _Answers,
    resampling: Resampling,
    rng: np.random.Generator,
) -> dict[str, Interval]:
    """Compute the intervals of the gap and of the accuracies.

    Args:
        pooled: Figures of all runs together.
        answers: Answers of the runs.
        resampling: Level and number of resamples.
        rng: Source of the resamples.

    Returns:
        Name of a field of `EasyHardGap`, such as "interval" (of the gap) or "accuracy_interval" ->
        interval.
    """
    n_resamples = resampling.resamples
    if answers.units is None:
        method = METHOD
        easy_means, hard_means = _resample_items(answers, n_resamples, rng)
    else:
        method = CLUSTER_METHOD
        shares = answers.hits / answers.n_runs
        easy_means, hard_means = _resample_clusters(
            shares, answers.easy, answers.units, n_resamples, rng
        )
    resamples = {
        "easy_hard_gap": easy_means - hard_means,
        "easy_accuracy": easy_means,
        "hard_accuracy": hard_means,
    }

    intervals = {"accuracy_interval": _compute_accuracy_interval(answers, resampling)}
    for name, values in resamples.items():
        figure = getattr(pooled, name)
        interval = make_quantile_interval(values, resampling.level, method=method)
        # Few resamples may all lie on one side of the figure; its interval contains it regardless.
        interval = dataclasses.replace(
            interval,
            low=min(interval.low, figure),
            high=max(interval.high, figure),
        )
        field = "interval" if name == "easy_hard_gap" else f"{name}_interval"
        intervals[field] = interval
    return intervals


def _compute_accuracy_interval(answers: _Answers, resampling: Resampling) -> Interval:
    """Compute the interval of the accuracy over all items, whichever of these are Easy.

    Args:
        answers: Answers of the runs.
        resampling: Level, number of resamples and seed.
    """
    # Each answer of a single run is correct or not, as in all other accuracies of a report.
    if answers.n_runs == 1:
        return make_rate_interval(answers.hits, resampling, answers.units)
    shares = answers.hits / answers.n_runs
    # Sorted, so that rounding errors do not depend on the order of independent items.
    if answers.units is None:
        shares = np.sort(shares)
    return bootstrap_mean(shares, bounds=(0.0, 1.0), clusters=answers.units, resampling=resampling)


def _compute_deviations(runs: list[Run]) -> dict[str, float | None]:
    """Compute the standard deviation of the gap and of the accuracies over runs.

    Returns:
        Name of a field of `EasyHardGap`, such as "accuracy_std" -> deviation; None for a single
        run, which shows no variation.
    """
    deviations: dict[str, float | None] = {}
    for name in ("easy_hard_gap", *_ACCURACIES):
        deviation = None
        if len(runs) > 1:
            deviation = float(np.std([getattr(run, name) for run in runs]))
        deviations[f"{name}_std"] = deviation
    return deviations


def _test_gap(
    hits: Counts,
    max_hits: int,
    answers: _Answers,
    randomization: Randomization,
) -> float:
    """Test whether Easy and Hard items have the same accuracy.

    Clusters are tested by Student's t, independent items by randomization.

    Args:
        hits: (N,) number of runs that answer each item correctly.
        max_hits: Number of runs.
        answers: Easy items and clusters.
        randomization: Number of shuffles, and their source.

    Returns:
        The p-value.
    """
    if answers.units is not None:
        return _test_clusters(hits, answers.easy, answers.units)
    return permute_easy(hits, max_hits, answers.easy, randomization)


def permute_easy(
    values: Counts,
    max_value: int,
    easy: Flags,
    randomization: Randomization,
) -> float:
    """Test whether the means of Easy and Hard items differ, by shuffling Easy over the items.

    Args:
        values: (N,) whole numbers from 0, such as the number of runs that answer an item correctly.
        max_value: Largest possible value.
        easy: (N,) whether each item is Easy.
        randomization: Number of shuffles, and their source.

    Returns:
        The p-value.
    """
    n_items = len(values)
    n_easy = int(easy.sum())
    # Shuffling draws n_easy items without replacement, so that the number of Easy items with each
    # value is multivariate hypergeometric: the same distribution, without shuffling anything.
    counts = np.bincount(values, minlength=max_value + 1)
    easy_counts = randomization.rng.multivariate_hypergeometric(
        counts, n_easy, size=randomization.n_permutations, method="marginals"
    )
    easy_sums = easy_counts @ np.arange(max_value + 1)

    # |easy_sum / n_easy - hard_sum / n_hard| grows with |N easy_sum - n_easy total|. In whole
    # numbers, permutations that tie with the observed gap are found exactly.
    total = int(values.sum())
    observed = abs(n_items * int(values[easy].sum()) - n_easy * total)
    permuted = np.abs(n_items * easy_sums - n_easy * total)
    n_extreme = int(np.count_nonzero(permuted >= observed))
    return (1 + n_extreme) / (randomization.n_permutations + 1)


def _test_clusters(values: Counts, easy: Flags, units: Units) -> float:
    """Test whether the means of Easy and Hard items differ, by Student's t over clusters.

    Args:
        values: (N,) whole numbers, such as the number of runs that answer an item correctly.
        easy: (N,) whether each item is Easy.
        units: (N,) number of the cluster of each item.

    Returns:
        The p-value.
    """
    # (N,) linearized gap: how much the deviation of each item from the mean of its kind adds to it.
    contributions = np.zeros(len(values))
    gap = 0.0
    variance = 0.0
    for mask, sign in ((easy, 1), (~easy, -1)):
        n_items = int(mask.sum())
        mean = float(values[mask].mean())
        gap += sign * mean
        contributions[mask] = sign * (values[mask] - mean) / n_items
        # One more item of each kind, which differs by 1, keeps the error above zero.
        variance += 1 / n_items**2

    n_units = int(units.max()) + 1
    n_degrees = max(n_units - 1, 1)
    unit_contributions = np.bincount(units, contributions)
    variance += n_units / n_degrees * float((unit_contributions**2).sum())
    return float(2 * scipy.stats.t.sf(abs(gap) / np.sqrt(variance), n_degrees))


def _resample_items(
    answers: _Answers,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Bootstrap the accuracies on Easy items and on Hard items, by resampling items of each kind.

    Args:
        answers: Answers of the runs.
        n_resamples: Number of resamples R.
        rng: Source of the resamples.

    Returns:
        (R,) accuracies on Easy items, and (R,) accuracies on Hard items.
    """
    n_runs = answers.n_runs
    means = []
    for hits in (answers.hits[answers.easy], answers.hits[~answers.easy]):
        n_items = len(hits)
        # If all items have the same hits, so would every resample.
        if np.ptp(hits) == 0:
            means.append(_draw_unseen(hits[0] / n_runs, n_items, n_resamples, rng))
            continue

        # The numbers of resampled items with 0, 1, … hits have a multinomial distribution, which is
        # faster to draw from than the items.
        counts = np.bincount(hits, minlength=n_runs + 1)
        resamples = rng.multinomial(n_items, counts / n_items, size=n_resamples)
        total_hits = resamples @ np.arange(n_runs + 1)
        means.append(total_hits / (n_items * n_runs))
    return means


def _resample_clusters(
    shares: Floats,
    easy: Flags,
    units: Units,
    n_resamples: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Bootstrap the accuracies on Easy and on Hard items, by resampling whole clusters.

    Args:
        shares: (N,) share of runs that answer each item correctly.
        easy: (N,) whether each item is Easy.
        units: (N,) number of the cluster of each item.
        n_resamples: Number of resamples R.
        rng: Source of the resamples.

    Returns:
        (R,) accuracies on Easy items, and (R,) accuracies on Hard items.
    """
    # (R, number of clusters) how often each resample contains each cluster.
    n_units = int(units.max()) + 1
    chances = np.full(n_units, 1 / n_units)
    weights = rng.multinomial(n_units, chances, size=n_resamples).astype(np.float64)
    means = []
    for mask in (easy, ~easy):
        values = shares[mask]
        if np.ptp(values) == 0:
            n_groups = len(np.unique(units[mask]))
            means.append(_draw_unseen(float(values[0]), n_groups, n_resamples, rng))
            continue

        hits = weights @ np.bincount(units, shares * mask, n_units)
        sizes = weights @ np.bincount(units, mask, n_units)
        # A resample without items of this kind has no accuracy, and gets the observed one.
        divisors = np.where(sizes > 0, sizes, 1)
        means.append(np.where(sizes > 0, hits / divisors, values.mean()))
    return means


def _draw_unseen(share: float, n: int, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Draw plausible accuracies if all items have the same one, so that resamples do not vary.

    In the population, a share of items may differ without being among n items. This share is drawn
    from Beta(1, n). The unseen items are incorrect if all items are correct and vice versa; if the
    runs disagree on each item, they are either.

    Args:
        share: Share of the runs that answer each item correctly.
        n: Number of items, or of clusters.
        n_resamples: Number of accuracies R.
        rng: Source of the draws.

    Returns:
        (R,) accuracies.
    """
    unseen = rng.beta(1, n, size=n_resamples)
    other_share: Any = 1 - share
    if 0 < share < 1:
        other_share = rng.integers(2, size=n_resamples)
    means = (1 - unseen) * share + unseen * other_share
    return np.asarray(means, dtype=np.float64)
