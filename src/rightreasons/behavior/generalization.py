r"""G scores: does a model that was trained on a behavioral suite generalize beyond it?

\[ G = \frac{2 s_{iid} s}{s_{iid} + s}, \quad s = \text{mean pass rate over functionalities}, \]

where the functionality, its class or its test type was held out of training when it was scored.
`generalization_score` computes G. `compare_generalization` tests the difference of the G of two
models, and `compare_average_generalization` that of two methods over several seeds, settings and
tasks. `find_negative_transfer` names the functionalities that training made worse.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_array_or_list, to_numpy
from rightreasons.core.clusters import number_clusters
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value
from rightreasons.core.significance import compare_paired_means, holm
from rightreasons.core.validation import (
    MAX_DRAWS,
    check_count,
    check_fraction,
    check_kind,
    check_same_length,
    check_seed,
    check_vector,
)

SETTINGS = ("standard", "seen", "functionality", "class", "type")
"""What the model of a functionality was trained on: nothing of the suite, all of it, or all but the
functionality, its class, or its test type."""

_ROUNDING_TOLERANCE = 1e-12
"""Largest difference of two G scores that is attributed to rounding."""

_SMALLEST_SUM = 1e-300
"""Divisor of a harmonic mean of two zeros, which is 0."""


# ------------------------------------------------------------------------------------ scores


@dataclasses.dataclass(frozen=True)
class GeneralizationScore(Result):
    """G scores of a model, from `generalization_score`.

    Attributes:
        generalization_score: Mean of the G scores of the settings other than "standard", or G of
            "standard" if it is the only setting.
        scores: G by setting: harmonic mean of `iid_score` and the suite score, in [0, 1].
        suite_scores: Suite score by setting: unweighted mean of the pass rates.
        n_functionalities: Number of functionalities by setting.
    """

    generalization_score: float
    scores: dict[str, float]
    suite_scores: dict[str, float]
    n_functionalities: dict[str, int]


def harmonic_mean(first: float, second: float) -> float:
    """Return 2ab / (a + b), or 0 if a or b is 0.

    Example:
        >>> round(harmonic_mean(0.9, 0.6), 6)
        0.72
    """
    if first <= 0 or second <= 0:
        return 0.0
    return 2 * first * second / (first + second)


def generalization_score(pass_rates: Mapping[str, Any], iid_score: float) -> GeneralizationScore:
    r"""Compute G, the harmonic mean of a model's score on independent data and on a behavioral suite.

        G = 2 s_iid s / (s_iid + s),   s = mean pass rate over functionalities

    Args:
        pass_rates: Setting (one of `SETTINGS`) -> (F,) pass rates of the functionalities, each
            scored by the model of that setting. Leave out functionalities that are undefined for a
            model.
        iid_score: Score on independent data, such as accuracy, in [0, 1].

    Returns:
        A `GeneralizationScore`. Higher is better.

    Raises:
        ValueError: If a setting is unknown, or a rate is outside [0, 1], or there are none.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL, section 3.

    Example:
        >>> result = generalization_score({"seen": [0.5, 0.7]}, 0.9)
        >>> round(result.scores["seen"], 6)
        0.72
    """
    check_kind(pass_rates, "pass_rates", Mapping)
    if not pass_rates:
        raise ValueError("Expected the pass rates of at least one setting, but got none.")
    iid = check_fraction(iid_score, "iid_score")

    scores = {}
    suite_scores = {}
    counts = {}
    for setting, rates in pass_rates.items():
        if setting not in SETTINGS:
            raise make_unknown_name_error("setting", setting, SETTINGS)
        values = check_vector(rates, setting, minimum=0, maximum=1)
        suite_scores[setting] = float(values.mean())
        scores[setting] = harmonic_mean(iid, suite_scores[setting])
        counts[setting] = len(values)

    # "standard" is the model before training on the suite, which has nothing to generalize from. It
    # is the result only if it is the only setting.
    trained_scores = [score for setting, score in scores.items() if setting != "standard"]
    if trained_scores:
        average = float(np.mean(trained_scores))
    else:
        average = scores["standard"]
    return GeneralizationScore(
        generalization_score=average,
        scores=scores,
        suite_scores=suite_scores,
        n_functionalities=counts,
    )


# ------------------------------------------------------------------------------------- tests


@dataclasses.dataclass(frozen=True)
class Randomization(Result):
    """Approximate randomization test of a difference of G scores.

    Attributes:
        difference: G of the first model minus G of the second.
        p_value: (k + 1) / (n_permutations + 1), if k shuffles have a difference that is at least as
            far from 0.
        n_permutations: Number of shuffles.
    """

    difference: float
    p_value: float
    n_permutations: int


def compare_generalization(
    iid: tuple[object, object],
    suites: Sequence[tuple[object, object]],
    *,
    n_permutations: int = 10_000,
    seed: int = 0,
    clusters: Sequence[object] | None = None,
) -> Randomization:
    """Test the difference of the G scores of two models by approximate randomization.

    In each shuffle, the outcomes of the two models on each item are exchanged with probability 1/2,
    and G is computed again. Cases of one cluster are exchanged together.

    Args:
        iid: Outcomes (N,) of the first and the second model on independent data: 1 for correct, 0
            for incorrect.
        suites: One pair per functionality: outcomes of both models on its cases, 1 for passed, 0
            for failed, NaN for undefined. A case that is undefined for a model is never exchanged,
            and a functionality without a defined case is left out of the mean.
        n_permutations: Number of shuffles; default 10,000 as in the paper.
        seed: Seed of the shuffles; default 0.
        clusters: One array of (C,) cluster names per functionality, such as the texts of its
            cases; None (default) for independent cases.

    Returns:
        A `Randomization`.

    Raises:
        ValueError: If an outcome is invalid, lengths differ, or a model has no defined case at all.

    References:
        Yeh (2000), "More accurate tests for the statistical significance of result differences",
        COLING; Luz de Araujo and Roth (2023), section 4.
    """
    comparison = GeneralizationPair(iid=iid, suites=suites, clusters=clusters)
    return _randomize([[_parse_pair(comparison)]], n_permutations, seed)


@dataclasses.dataclass(frozen=True, eq=False)
class GeneralizationPair:
    """Outcomes of two models with the same seed, setting and task.

    Attributes:
        iid: Outcomes (N,) of the first and the second model on independent data, as in
            `compare_generalization`.
        suites: One pair of outcomes (C,) per functionality.
        task: Name of the task. The pairs of one task have the same items and cases, in the same
            order.
        clusters: One array of (C,) cluster names per functionality; None for independent cases.
    """

    iid: tuple[object, object]
    suites: Sequence[tuple[object, object]]
    task: str = ""
    clusters: Sequence[object] | None = None


def compare_average_generalization(
    pairs: Sequence[GeneralizationPair], *, n_permutations: int = 10_000, seed: int = 0
) -> Randomization:
    r"""Test the difference of the mean G of two methods over seeds, settings and tasks.

    \[ \Delta = \frac1T \sum_t \frac1{R_t} \sum_{r \in t}
       \left(G_r^{first} - G_r^{second}\right) \]

    over T tasks with R_t pairs each: "Avg", the last column of the paper's Table 3, is the mean of
    G over 3 tasks with the 4 settings "seen", "functionality", "class" and "type". The pairs of a
    task have the same items. With probability 1/2, the outcomes of both methods on an item are
    exchanged, in all pairs of its task at once. So repeated seeds make the estimate more precise, but
    do not count as further items.

    Args:
        pairs: One pair per seed, setting and task.
        n_permutations: Number of shuffles; default 10,000.
        seed: Seed of the shuffles; default 0.

    Returns:
        A `Randomization` of the difference of the mean G.

    Raises:
        ValueError: If there are no pairs, the pairs of a task have different items or clusters, or
            a pair is invalid.

    References:
        Yeh (2000); Luz de Araujo and Roth (2023), section 4 and Table 3.

    Example:
        Two seeds on the same eight items and four cases. The first method is correct everywhere.
        The methods differ on four items and one case. Of the 2^5 possible exchanges, two have a
        difference as large as the observed one: p = 1 / 16.

        >>> iid = ([1] * 8, [1, 0] * 4)
        >>> pairs = [GeneralizationPair(iid, [([1] * 4, [0, 1, 1, 1])]) for _ in range(2)]
        >>> test = compare_average_generalization(pairs)
        >>> round(test.difference, 3), round(test.p_value, 2)
        (0.4, 0.06)
    """
    if not len(pairs):
        raise ValueError("Expected at least one pair in `pairs`, but got none.")
    # Group the pairs by task: an item is exchanged in all pairs of its task, or in none.
    pairs_by_task: dict[str, list[_ParsedPair]] = {}
    for pair in pairs:
        check_kind(pair, "pairs", GeneralizationPair)
        pairs_by_task.setdefault(pair.task, []).append(_parse_pair(pair))
    for name, parsed_pairs in pairs_by_task.items():
        _check_same_items(parsed_pairs, name)
    return _randomize(list(pairs_by_task.values()), n_permutations, seed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Outcomes:
    """Outcomes of two models on a set of items.

    Attributes:
        a: (N,) outcomes of the first model: 1, 0 or NaN.
        b: (N,) outcomes of the second model.
        codes: (N,) cluster numbers; None for independent items.
    """

    a: Floats
    b: Floats
    codes: NDArray[np.intp] | None = None

    @classmethod
    def parse(cls, pair: Any, name: str, clusters: object = None) -> _Outcomes:
        """Check the outcomes of two models on the same items.

        Args:
            pair: Two sequences of N outcomes: 1, 0, or NaN for undefined.
            name: Name of the argument, for error messages.
            clusters: (N,) cluster names; None for independent items.

        Raises:
            TypeError: If the argument is not a pair of sequences of numbers.
            ValueError: If their lengths differ, or a number is not 1, 0 or NaN.
        """
        try:
            outcomes_a, outcomes_b = pair
            a = np.asarray(to_numpy(outcomes_a, name), dtype=np.float64)
            b = np.asarray(to_numpy(outcomes_b, name), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Expected `{name}` to be a pair of outcomes, but got {format_value(pair)}."
            ) from error
        n_items = check_same_length(first=a, second=b)
        for values in (a, b):
            is_vector = values.ndim == 1 and len(values) > 0
            defined = values[~np.isnan(values)]
            if not is_vector or not np.isin(defined, (0, 1)).all():
                raise ValueError(
                    f"Expected outcomes of 1, 0 or NaN, (N,), in `{name}`, "
                    f"but got {format_value(values)}."
                )
        return cls(a=a, b=b, codes=number_clusters(clusters, n_items))

    def subtract(self) -> NDArray[np.int64]:
        """Return passes of the first model minus passes of the second model, (U,), by cluster.

        Independent items are clusters of one item each.
        """
        # An item that is undefined for a model has the difference NaN. With 0, exchanging it has no effect.
        differences = np.nan_to_num(self.a - self.b).astype(np.int64)
        if self.codes is None:
            return differences
        sums = np.bincount(self.codes, differences)
        return sums.astype(np.int64)

    def average(self, moved: NDArray[Any]) -> Floats:
        """Return the pass rates of both models after some items have been exchanged between them.

        Args:
            moved: (S,) number of passes that the first model gains from the second, for each of S shuffles.

        Returns:
            (2, S) pass rate of the first and the second model; NaN for a model without a defined item.
        """
        pass_rates = []
        # What the first model gains, the second model loses.
        for outcomes, gained in ((self.a, moved), (self.b, -moved)):
            n_defined = int((~np.isnan(outcomes)).sum())
            if n_defined == 0:
                pass_rates.append(np.full(len(moved), np.nan))
            else:
                # Undefined items are never exchanged, so that `n_defined` holds for every shuffle.
                n_passed = np.nansum(outcomes) + gained
                pass_rates.append(n_passed / n_defined)
        return np.stack(pass_rates)


@dataclasses.dataclass(frozen=True, eq=False)
class _ParsedPair:
    """Checked outcomes of two models on independent data and on each functionality."""

    iid: _Outcomes
    suites: list[_Outcomes]

    @property
    def groups(self) -> list[_Outcomes]:
        """The independent data, then the functionalities."""
        return [self.iid, *self.suites]


def _parse_pair(pair: GeneralizationPair) -> _ParsedPair:
    """Check the outcomes of two models on independent data and on each functionality.

    Args:
        pair: The outcomes, as the user passed them.

    Raises:
        TypeError: If `iid` or an element of `suites` is not a pair of outcomes.
        ValueError: If lengths differ, an outcome on independent data is undefined, or a model has no
            defined case.
    """
    iid = _Outcomes.parse(pair.iid, "iid")
    # `suites` may also be an array (functionality, model, case).
    outcome_pairs = to_array_or_list(pair.suites, "suites")
    clusters = pair.clusters
    if clusters is None:
        clusters = [None] * len(outcome_pairs)
    check_same_length(suites=outcome_pairs, clusters=clusters)
    suites = []
    for index, (outcome_pair, cluster_names) in enumerate(
        zip(outcome_pairs, clusters, strict=True)
    ):
        suites.append(_Outcomes.parse(outcome_pair, f"suites[{index}]", cluster_names))

    if np.isnan(iid.a).any() or np.isnan(iid.b).any():
        raise ValueError(
            "Expected an outcome of every independent item for both models, but some outcomes "
            "are undefined."
        )
    # The mean over functionalities needs at least one with a defined case.
    cases_by_model = {
        "first": [outcomes.a for outcomes in suites],
        "second": [outcomes.b for outcomes in suites],
    }
    for model, cases in cases_by_model.items():
        if all(np.isnan(outcomes).all() for outcomes in cases):
            raise ValueError(
                f"Expected a defined case of the {model} model in at least one of `suites`, but "
                "all cases are undefined."
            )
    return _ParsedPair(iid=iid, suites=suites)


def _check_same_items(pairs: Sequence[_ParsedPair], task: str) -> None:
    """Check that all pairs of a task have the same numbers of items and the same clusters.

    Args:
        pairs: Pairs of one task. Their `groups` are the outcomes on the independent data, and then on
            each functionality.
        task: Name of the task, for error messages.

    Raises:
        ValueError: If a pair differs from the first one.
    """
    expected_groups = pairs[0].groups
    expected_sizes = [len(outcomes.a) for outcomes in expected_groups]
    for pair in pairs[1:]:
        sizes = [len(outcomes.a) for outcomes in pair.groups]
        if sizes != expected_sizes:
            raise ValueError(
                f"Expected the pairs of the task {task!r} to have the same items and cases, "
                f"but got {expected_sizes} and {sizes}."
            )
        for outcomes, expected in zip(pair.groups, expected_groups, strict=True):
            if not _has_same_clusters(outcomes.codes, expected.codes):
                raise ValueError(
                    f"Expected the pairs of the task {task!r} to have the same clusters, but the "
                    "clusters differ."
                )


def _has_same_clusters(
    codes: NDArray[np.intp] | None, expected_codes: NDArray[np.intp] | None
) -> bool:
    """Return whether the cluster numbers of two sets of items are equal; None for independent items."""
    if codes is None or expected_codes is None:
        return codes is None and expected_codes is None
    return np.array_equal(codes, expected_codes)


def _randomize(
    tasks: Sequence[Sequence[_ParsedPair]], n_permutations: object, seed: object
) -> Randomization:
    """Test the difference of the mean G of two models by approximate randomization.

    Args:
        tasks: Pairs of each task. All tasks have the same weight, also if their numbers of pairs differ.
        n_permutations: Number of shuffles.
        seed: Seed of the shuffles.

    Returns:
        The difference, and its two-sided p-value.
    """
    n_shuffles = check_count(n_permutations, "n_permutations", maximum=MAX_DRAWS)
    rng = np.random.default_rng(check_seed(seed))
    observed_difference = 0.0
    shuffled_differences = np.zeros(n_shuffles)
    for pairs in tasks:
        observed, shuffled = _compute_differences(pairs, n_shuffles, rng)
        observed_difference += observed / len(tasks)
        shuffled_differences += shuffled / len(tasks)

    # The observed outcomes count as one of the shuffles, so that the p-value is never 0.
    min_distance = abs(observed_difference) - _ROUNDING_TOLERANCE
    n_extreme = int((np.abs(shuffled_differences) >= min_distance).sum())
    return Randomization(
        difference=observed_difference,
        p_value=(n_extreme + 1) / (n_shuffles + 1),
        n_permutations=n_shuffles,
    )


def _compute_differences(
    pairs: Sequence[_ParsedPair], n_shuffles: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """Return the mean difference of G over the pairs of one task, as observed and after each shuffle.

    Args:
        pairs: R pairs with the same items. An exchange of an item is made in all of them.
        n_shuffles: Number of shuffles S.
        rng: Random generator.

    Returns:
        The observed difference, and (S,) the differences after the shuffles.
    """
    # A group is the independent data, or a functionality.
    n_groups = len(pairs[0].groups)
    # For each group, (R, S) passes that the first model gains from the second, by pair and shuffle.
    moved_by_group = []
    for index in range(n_groups):
        differences = np.stack([pair.groups[index].subtract() for pair in pairs], axis=1)
        moved_by_group.append(_exchange_clusters(differences, n_shuffles, rng))

    observed = 0.0
    shuffled = np.zeros(n_shuffles)
    no_exchange = np.zeros(1)
    for row, pair in enumerate(pairs):
        observed_rates = []
        shuffled_rates = []
        for group, moved in zip(pair.groups, moved_by_group, strict=True):
            observed_rates.append(group.average(no_exchange))
            shuffled_rates.append(group.average(moved[row]))
        observed += float(_subtract_scores(observed_rates)[0]) / len(pairs)
        shuffled += _subtract_scores(shuffled_rates) / len(pairs)
    return observed, shuffled


def _exchange_clusters(
    differences: NDArray[np.int64], n_shuffles: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Exchange the outcomes of two models on each cluster with probability 1/2.

    Args:
        differences: (U, R) passes of the first model minus passes of the second, by cluster and pair
            of outcomes. A cluster is exchanged in all R pairs at once.
        n_shuffles: Number of shuffles S.
        rng: Random generator.

    Returns:
        (R, S) number of passes that the first model gains from the second.
    """
    # Clusters with the same R differences are interchangeable, so that only the number of exchanged
    # ones matters. It has a binomial distribution.
    patterns, counts = np.unique(differences, axis=0, return_counts=True)
    moved = np.zeros((differences.shape[1], n_shuffles), dtype=np.int64)
    for pattern, count in zip(patterns, counts.tolist(), strict=True):
        # On these clusters, both models have the same number of passes: an exchange changes nothing.
        if not pattern.any():
            continue
        n_exchanged = rng.binomial(count, 0.5, n_shuffles)
        # An exchange reverses the difference: the first model loses its lead.
        moved -= pattern[:, None] * n_exchanged
    return moved


def _subtract_scores(pass_rates: Sequence[Floats]) -> Floats:
    """Return G of the first model minus G of the second model, for each of S shuffles.

    G is the harmonic mean of the score on independent data and the mean pass rate.

    Args:
        pass_rates: (2, S) scores of both models on independent data, followed by (2, S) pass rates for
            each functionality.

    Returns:
        (S,) differences.
    """
    iid_scores, *functionality_rates = pass_rates
    # A functionality without a defined case is NaN in every shuffle, and left out of the mean.
    suite_scores = np.nanmean(np.stack(functionality_rates), axis=0)
    # The harmonic mean of two zeros is 0, not 0 / 0.
    sums = np.maximum(iid_scores + suite_scores, _SMALLEST_SUM)
    score_a, score_b = 2 * iid_scores * suite_scores / sums
    return np.asarray(score_a - score_b, dtype=np.float64)


# ------------------------------------------------------------------------- negative transfer


@dataclasses.dataclass(frozen=True)
class NegativeTransfer(Result):
    """A functionality on which a model became worse by training on other functionalities.

    Attributes:
        functionality: Name of the functionality.
        standard_pass_rate: Pass rate of the model before training on the suite.
        held_out_pass_rate: Pass rate of the model that was trained without the functionality.
        p_value: p-value of the paired test of the two rates, with Holm's correction.
        n_cases: Number of cases that are defined for both models.
    """

    functionality: str
    standard_pass_rate: float
    held_out_pass_rate: float
    p_value: float
    n_cases: int


def find_negative_transfer(
    standard: Mapping[str, object],
    held_out: Mapping[str, object],
    *,
    clusters: Mapping[str, object] | None = None,
    confidence_level: float = 0.95,
) -> list[NegativeTransfer]:
    """Find the functionalities whose pass rate falls if a model is trained on the rest of the suite.

    A functionality is held out of training. If the trained model passes significantly fewer of its
    cases than the model before that training, it learned something that contradicts the
    functionality. The models are compared on the cases that are defined for both
    (`compare_paired_means`: McNemar's mid-p test, or sign flips of the clusters), with Holm's
    correction over all functionalities.

    Args:
        standard: Functionality -> (C,) outcomes of the model before training on the suite: 1, 0, or
            NaN for undefined.
        held_out: Functionality -> (C,) outcomes of the model that was trained without it.
        clusters: Functionality -> (C,) cluster names, such as the texts of its cases; None
            (default) for independent cases.
        confidence_level: One minus the chance that any returned functionality did not become worse;
            default 0.95.

    Returns:
        The functionalities with a significantly lower pass rate, the largest loss first.

    Raises:
        ValueError: If the functionalities or the numbers of cases differ, or an outcome is invalid.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL, section 5.4.

    Example:
        Ten of twelve cases are lost, and none is gained: p = 2^-10.

        >>> standard = {"negation": [1] * 12, "names": [1, 0] * 6}
        >>> held_out = {"negation": [0] * 10 + [1] * 2, "names": [1, 0] * 6}
        >>> [loss.functionality for loss in find_negative_transfer(standard, held_out)]
        ['negation']
    """
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    check_kind(standard, "standard", Mapping)
    check_kind(held_out, "held_out", Mapping)
    if standard.keys() != held_out.keys():
        names = ", ".join(sorted(standard.keys() ^ held_out.keys()))
        raise ValueError(
            f"Expected the same functionalities in `standard` and `held_out`, but {names} occurs "
            "only on one side."
        )

    comparisons = []
    for name, outcomes in standard.items():
        cluster_names = None if clusters is None else clusters[name]
        pair = _Outcomes.parse((outcomes, held_out[name]), name, cluster_names)
        # A case is paired only if it is defined for both models.
        is_defined = ~np.isnan(pair.a) & ~np.isnan(pair.b)
        if is_defined.any():
            comparisons.append(_compare_pass_rates(name, pair, is_defined))

    # The correction is for all functionalities, also those whose pass rate rises.
    p_values = holm(np.array([comparison.p_value for comparison in comparisons]))
    losses = []
    for comparison, p_value in zip(comparisons, p_values, strict=True):
        is_worse = comparison.held_out_pass_rate < comparison.standard_pass_rate
        if is_worse and p_value <= 1 - level:
            losses.append(dataclasses.replace(comparison, p_value=float(p_value)))
    return sorted(losses, key=lambda loss: loss.held_out_pass_rate - loss.standard_pass_rate)


def _compare_pass_rates(
    name: str, pair: _Outcomes, is_defined: NDArray[np.bool_]
) -> NegativeTransfer:
    """Test whether the pass rate of a functionality differs between two models.

    Args:
        name: Name of the functionality.
        pair: Outcomes `a` of the model before training on the suite, and `b` of the model that was
            trained without the functionality.
        is_defined: (C,) whether a case is defined for both models.

    Returns:
        Both pass rates over the defined cases, and the p-value, not yet corrected.
    """
    standard = pair.a[is_defined]
    held_out = pair.b[is_defined]
    codes = None
    if pair.codes is not None:
        codes = pair.codes[is_defined]
    test = compare_paired_means(held_out, standard, clusters=codes)
    return NegativeTransfer(
        functionality=name,
        standard_pass_rate=float(standard.mean()),
        held_out_pass_rate=float(held_out.mean()),
        p_value=test.p_value,
        n_cases=test.n_items,
    )
