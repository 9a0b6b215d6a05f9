r"""Pass rates of a behavioral suite: by functionality, class and test type, with intervals.

A case passes if all its examples do to which the expectation applies. The pass rate of a
functionality is the share of its cases that pass, and the score of a suite, a class or a test type
is the unweighted mean over functionalities. Cases with the same text are one cluster: a model gives
them one answer, so that their repetition adds no evidence. `pass_rates` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.behavior.expectations import Answers, evaluate_cases
from rightreasons.behavior.predictions import (
    OUTPUTS,
    ClassesOrTexts,
    SuitePredictions,
    parse_predictions,
)
from rightreasons.core.clusters import UnitSums, number_clusters, sum_units
from rightreasons.core.intervals import (
    Interval,
    cluster_wilson,
    stratified_wilson,
    sum_squares,
    wilson,
)
from rightreasons.core.results import Result
from rightreasons.core.significance import holm
from rightreasons.core.suites import SuiteTable
from rightreasons.core.validation import check_fraction, check_one_of


@dataclasses.dataclass(frozen=True)
class FunctionalityResult(Result):
    """Pass rate of one functionality.

    Attributes:
        functionality: Name of the functionality.
        functionality_class: Class of the functionality.
        test_type: "MFT", "INV" or "DIR".
        pass_rate: Share of the applicable cases that pass, in [0, 1]; None if there are none.
        n_passed: Number of cases that pass.
        n_cases: Number of cases to which the expectation applies.
        n_filtered: Number of cases to which the expectation does not apply.
        interval: Wilson interval of the pass rate, in which cases with the same text are one
            cluster; None if the expectation applies to no case.
        n_distinct: Number of applicable cases with different texts; None if all texts differ.
        n_effective: Number of independent cases that are as informative, n^2 / sum m_g^2 for
            clusters of m_g cases with the same text; None if all texts differ.
    """

    functionality: str
    functionality_class: str
    test_type: str
    pass_rate: float | None
    n_passed: int
    n_cases: int
    n_filtered: int
    interval: Interval | None
    n_distinct: int | None = None
    n_effective: float | None = None


@dataclasses.dataclass(frozen=True)
class GroupResult(Result):
    """Unweighted mean of the pass rates of a group of functionalities.

    Attributes:
        pass_rate: Mean over the functionalities with an applicable case; None if there are none.
        n_functionalities: Number of these functionalities.
        interval: Interval over cases within functionalities (`stratified_wilson`); None without a
            pass rate.
    """

    pass_rate: float | None
    n_functionalities: int
    interval: Interval | None


@dataclasses.dataclass(frozen=True)
class BehavioralPassRate(Result):
    """Pass rates of a model on a suite, from `pass_rates`.

    Attributes:
        behavioral_pass_rate: Score of the suite: unweighted mean of the pass rates of the
            functionalities, in [0, 1]; None if no case is applicable.
        interval: Interval over cases within functionalities (`stratified_wilson`), in which cases
            with the same text count once.
        functionalities: One result per functionality, in the suite's order.
        classes: Mean by functionality class.
        test_types: Mean by test type.
        n_examples: Number of examples of the suite.
        n_cases: Number of cases of the suite.
        n_filtered: Number of cases to which no expectation applies.
        passed: One entry per case, in the suite's order: True, False, or None if the expectation
            does not apply.
        n_repeated: Number of applicable cases that repeat the text of an earlier case of their
            functionality; 0 if all texts differ.
    """

    behavioral_pass_rate: float | None
    interval: Interval | None
    functionalities: list[FunctionalityResult]
    classes: dict[str, GroupResult]
    test_types: dict[str, GroupResult]
    n_examples: int
    n_cases: int
    n_filtered: int
    passed: list[bool | None]
    n_repeated: int = 0


def pass_rates(
    predictions: Any,
    suite: SuiteTable,
    *,
    outputs: str = "probabilities",
    confidence_level: float = 0.95,
) -> BehavioralPassRate:
    """Compute the pass rates of predictions on a behavioral suite.

    A case passes if every example passes to which the expectation applies. (The first example of a
    case does not count if the others are compared with it.) The pass rate of a functionality is
    the number of passed cases over the number of applicable cases. Cases with the same text are one
    cluster in its interval.

    Args:
        predictions: One prediction per example, in the suite's order.
        suite: Table of the suite.
        outputs: Kind of the predictions: "probabilities" or "logits" (n, K), in the order of the
            suite's labels; "labels", (n,) whole numbers; "texts" of reading comprehension, or names
            of labels; or "binary_sentiment", (n,) P(positive), which are turned into probabilities
            of negative, neutral and positive as in BeLUGA.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        A `BehavioralPassRate`.

    Raises:
        ValueError: If the number of predictions differs from the number of examples, or the number of
            columns from the number of labels; if a functionality has no cases; or if predictions are
            texts, but the suite does not compare texts and they are not names of its labels.

    References:
        Ribeiro, Wu, Guestrin and Singh (2020), "Beyond Accuracy: Behavioral Testing of NLP Models
        with CheckList", ACL.
    """
    check_one_of(outputs, OUTPUTS, "outputs")
    parsed = parse_predictions(predictions, suite, outputs)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    return compute_pass_rates(parsed, suite, level)


def compute_pass_rates(
    predictions: SuitePredictions, suite: SuiteTable, level: float
) -> BehavioralPassRate:
    """Compute pass rates by functionality, class and test type, from checked predictions.

    Args:
        predictions: Answers to all examples, and their probabilities. An answer need not be the most
            probable label.
        suite: Table of the suite.
        level: Confidence level of the intervals.

    Raises:
        ValueError: If a functionality has no cases, or its expectation needs probabilities that are
            missing.
    """
    passed: list[bool | None] = []
    results = []
    for number in range(len(suite.functionalities)):
        verdicts = _judge_cases(predictions, suite, number)
        passed.extend(verdicts)
        clusters = None
        if suite.case_clusters is not None:
            clusters = suite.case_clusters[get_case_slice(suite, number)]
        counts = _CaseCounts.from_verdicts(verdicts, clusters)
        results.append(_score_functionality(counts, suite, number, level))

    # Number of cases by which a suite is larger than the number of its distinct texts.
    n_repeated = 0
    for result in results:
        if result.n_distinct is not None:
            n_repeated += result.n_cases - result.n_distinct
    mean = _average_rates(results, level)
    return BehavioralPassRate(
        behavioral_pass_rate=mean.pass_rate,
        interval=mean.interval,
        functionalities=results,
        classes=_average_groups(results, suite.classes, level),
        test_types=_average_groups(results, suite.test_types, level),
        n_examples=len(suite),
        n_cases=len(passed),
        n_filtered=passed.count(None),
        passed=passed,
        n_repeated=n_repeated,
    )


def get_case_slice(suite: SuiteTable, number: int) -> slice:
    """Return the slice of the cases of one functionality among all cases of the suite.

    Args:
        suite: Table of the suite, whose cases are sorted by functionality.
        number: Index of the functionality.
    """
    start, stop = np.searchsorted(suite.case_functionality, [number, number + 1]).tolist()
    return slice(start, stop)


def select_answers(
    answers: ClassesOrTexts,
    probabilities: NDArray[np.float64] | None,
    suite: SuiteTable,
    number: int,
) -> Answers:
    """Return the answers to the examples of one functionality, with their labels.

    Args:
        answers: n answers to all examples of the suite, class numbers or texts.
        probabilities: (n, K) probabilities; None if the model gives none.
        suite: Table of the suite. `case_offsets` has the position of the first example of each case,
            and the number of examples.
        number: Index of the functionality.
    """
    cases = get_case_slice(suite, number)
    # One offset more than cases: the last one is the end of the last case.
    offsets = suite.case_offsets[cases.start : cases.stop + 1]
    examples = slice(int(offsets[0]), int(offsets[-1]))
    return Answers(
        predictions=answers[examples],
        # Positions count from the first example of the functionality.
        offsets=offsets - offsets[0],
        probabilities=None if probabilities is None else probabilities[examples],
        labels=suite.labels[examples],
        meta=None if suite.meta is None else suite.meta[examples],
    )


def _judge_cases(
    predictions: SuitePredictions, suite: SuiteTable, number: int
) -> list[bool | None]:
    """Return whether each case of a functionality passes; None if the expectation does not apply.

    Args:
        predictions: Checked predictions on the whole suite.
        suite: Table of the suite.
        number: Index of the functionality.

    Raises:
        TypeError, ValueError: If the expectation cannot be evaluated; the message names the functionality.
    """
    answers = select_answers(predictions.answers, predictions.probabilities, suite, number)
    try:
        _, case_results = evaluate_cases(suite.expectations[number], answers)
    except (TypeError, ValueError) as error:
        # The user needs the name of the functionality to correct the suite.
        name = suite.functionalities[number]
        raise type(error)(f"{error} (functionality {name!r})") from error
    verdicts: list[bool | None] = []
    for result in case_results.tolist():
        verdicts.append(None if np.isnan(result) else bool(result))
    return verdicts


# ----------------------------------------------------------------------------- intervals


@dataclasses.dataclass(frozen=True, eq=False)
class _CaseCounts:
    """Numbers of cases of a functionality.

    Attributes:
        n_cases: Number of cases to which the expectation applies.
        n_passed: Number of cases that pass.
        n_filtered: Number of cases to which the expectation does not apply.
        cluster_sums: Number of passed cases (`sums`) and of applicable cases (`sizes`) of each
            cluster; None if all applicable cases are independent.
    """

    n_cases: int
    n_passed: int
    n_filtered: int
    cluster_sums: UnitSums | None

    @classmethod
    def from_verdicts(
        cls, verdicts: Sequence[bool | None], clusters: NDArray[np.int64] | None
    ) -> _CaseCounts:
        """Count the cases of a functionality that pass, fail, and do not apply.

        Args:
            verdicts: C verdicts: whether the case passes, None if the expectation does not apply.
            clusters: (C,) number of the cluster of each case, such as that of its text; None for
                independent cases.

        Returns:
            The counts. `cluster_sums` is None if every applicable case is the only one of its cluster.
        """
        n_filtered = verdicts.count(None)
        n_cases = len(verdicts) - n_filtered
        cluster_sums = None
        if clusters is not None:
            # Only applicable cases count in the size of a cluster.
            rows = [row for row, verdict in enumerate(verdicts) if verdict is not None]
            outcomes = np.array([verdicts[row] for row in rows], dtype=np.float64)
            codes = number_clusters(clusters[rows], n_cases)
            cluster_sums = sum_units(outcomes, codes)
        if cluster_sums is not None and len(cluster_sums) == n_cases:
            # The cases are independent, so that an interval without clusters can be used.
            cluster_sums = None
        return cls(
            n_cases=n_cases,
            n_passed=verdicts.count(True),
            n_filtered=n_filtered,
            cluster_sums=cluster_sums,
        )


def _score_functionality(
    counts: _CaseCounts, suite: SuiteTable, number: int, level: float
) -> FunctionalityResult:
    """Return the pass rate of a functionality with its interval.

    Args:
        counts: Numbers of cases of the functionality, and of each cluster of cases with the same text.
        suite: Table of the suite.
        number: Index of the functionality.
        level: Confidence level of the interval.
    """
    pass_rate = None
    interval = None
    n_distinct = None
    n_effective = None
    if counts.n_cases > 0:
        pass_rate = counts.n_passed / counts.n_cases
    clusters = counts.cluster_sums
    if clusters is not None:
        # A model gives the same answer to the same text, so that 6,000 cases with 60 different texts
        # are only as informative as 60 cases.
        n_distinct = len(clusters)
        n_effective = counts.n_cases**2 / sum_squares(clusters.sizes)
        interval = cluster_wilson(clusters.sums, clusters.sizes, confidence_level=level)
    elif counts.n_cases > 0:
        interval = wilson(counts.n_passed, counts.n_cases, confidence_level=level)
    return FunctionalityResult(
        functionality=suite.functionalities[number],
        functionality_class=suite.classes[number],
        test_type=suite.test_types[number],
        pass_rate=pass_rate,
        n_passed=counts.n_passed,
        n_cases=counts.n_cases,
        n_filtered=counts.n_filtered,
        interval=interval,
        n_distinct=n_distinct,
        n_effective=n_effective,
    )


def _average_groups(
    results: Sequence[FunctionalityResult], groups: Sequence[str], level: float
) -> dict[str, GroupResult]:
    """Average the pass rates of functionalities by their class or test type.

    Args:
        results: F results.
        groups: F names: the class or the test type of each functionality.
        level: Confidence level of the intervals.

    Returns:
        Name of a group -> its mean, in the order of the first members.
    """
    results_by_group: dict[str, list[FunctionalityResult]] = {}
    for result, group in zip(results, groups, strict=True):
        results_by_group.setdefault(group, []).append(result)
    return {name: _average_rates(members, level) for name, members in results_by_group.items()}


def _average_rates(results: Sequence[FunctionalityResult], level: float) -> GroupResult:
    """Return the unweighted mean of the pass rates of functionalities, with its interval.

    Args:
        results: Results of the functionalities. A functionality without a pass rate is left out.
        level: Confidence level of the interval, which accounts for the sampling of cases, but not of
            functionalities.
    """
    rates = []
    n_passed: list[float] = []
    n_cases: list[float] = []
    for result in results:
        # Skip a functionality without an applicable case.
        if result.pass_rate is None:
            continue
        rates.append(result.pass_rate)
        if result.n_effective is None:
            n_passed.append(result.n_passed)
            n_cases.append(result.n_cases)
        else:
            # Some texts are repeated. Count the cases as the number of independent cases that is as
            # informative.
            n_passed.append(result.pass_rate * result.n_effective)
            n_cases.append(result.n_effective)

    if not rates:
        return GroupResult(pass_rate=None, n_functionalities=0, interval=None)
    return GroupResult(
        pass_rate=float(np.mean(rates)),
        n_functionalities=len(rates),
        interval=stratified_wilson(n_passed, n_cases, confidence_level=level),
    )


# ---------------------------------------------------------------------------------- tests


def find_low_pass_rates(
    functionalities: Sequence[FunctionalityResult], bound: float, *, confidence_level: float = 0.95
) -> list[FunctionalityResult]:
    """Return the functionalities whose pass rate is significantly below a bound.

    Each is compared with the bound by the one-sided exact binomial test, with Holm's correction for
    all of them: one case that fails shows nothing. Cases with the same text count once.

    Args:
        functionalities: Results of a suite.
        bound: Smallest acceptable pass rate, such as 0.9.
        confidence_level: One minus the chance that any of the returned ones is not below the bound;
            default 0.95.

    Returns:
        The functionalities below the bound, in their order.

    References:
        Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure; Korn, Graubard (1998),
        Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated
        from Survey Data, for the binomial tail at an effective number of cases.

    Example:
        At the bound, no pass of one case has the probability 0.1, and none of three 0.001.

        >>> results = []
        >>> for name, n_cases in (("a", 1), ("b", 3)):
        ...     results.append(FunctionalityResult(name, "A", "MFT", 0.0, 0, n_cases, 0, None))
        >>> [result.functionality for result in find_low_pass_rates(results, 0.9)]
        ['b']
    """
    limit = check_fraction(bound, "bound", open_ends=True)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    defined = [result for result in functionalities if result.n_cases]
    tails = [_compute_lower_tail(result, limit) for result in defined]
    p_values = holm(np.array(tails))

    low_results = []
    # The p-values are corrected, so that each is compared with the level for all functionalities.
    for result, p_value in zip(defined, p_values, strict=True):
        if p_value <= 1 - level:
            low_results.append(result)
    return low_results


def _compute_lower_tail(result: FunctionalityResult, limit: float) -> float:
    """Return the p-value of the one-sided binomial test whether a pass rate is below a limit.

    This is the probability of `n_passed` or fewer passed cases if each passes with the probability
    `limit`.

    Args:
        result: Pass rate of a functionality with at least one applicable case. If texts are repeated,
            the numbers of cases are scaled down to the effective number of cases.
        limit: Limit, in (0, 1).
    """
    if result.n_effective is None:
        return float(special.bdtr(result.n_passed, result.n_cases, limit))
    # The effective number of cases is not a whole number. The incomplete beta function generalizes the
    # binomial tail to such numbers.
    n_passed = result.n_passed / result.n_cases * result.n_effective
    n_failed = result.n_effective - n_passed
    # If all cases pass, the tail is 1; rounding may leave slightly fewer than 0 failures.
    if n_failed <= 0:
        return 1.0
    return float(special.betainc(n_failed, n_passed + 1, 1 - limit))
