"""Pass rates of a behavioral suite: by functionality, class and test type, with intervals; G scores, with a test."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.behavior.expectations import Answers, evaluate_cases, spread_over_neutral
from rightreasons.core.arrays import to_array_or_list, to_numpy
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.intervals import Interval, stratified_wilson, wilson
from rightreasons.core.label_names import BY_NUMBER, format_list, resolve_labels
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value
from rightreasons.core.significance import holm
from rightreasons.core.suites import SuiteTable
from rightreasons.core.validation import (
    MAX_DRAWS,
    check_count,
    check_fraction,
    check_kind,
    check_labels,
    check_one_of,
    check_same_length,
    check_scores,
    check_seed,
    check_texts,
    check_vector,
)

OUTPUTS = ("probabilities", "logits", "labels", "texts", "binary_sentiment")
"""What `predictions` may be; see `pass_rates`."""

SENTIMENTS = ("negative", "neutral", "positive")
"""The labels of a suite of three sentiments, over which a model of two is spread."""


@dataclasses.dataclass(frozen=True)
class FunctionalityResult(Result):
    """The pass rate of one functionality.

    Attributes:
        functionality: Its name.
        functionality_class: Its class.
        test_type: "MFT", "INV" or "DIR".
        pass_rate: Passed cases over cases that apply, in [0, 1]; None where none applies.
        n_passed: Passed cases.
        n_cases: Cases that apply.
        n_filtered: Cases to which the expectation does not apply.
        interval: Wilson interval of the pass rate; None where no case applies.
    """

    functionality: str
    functionality_class: str
    test_type: str
    pass_rate: float | None
    n_passed: int
    n_cases: int
    n_filtered: int
    interval: Interval | None


@dataclasses.dataclass(frozen=True)
class GroupResult(Result):
    """The pass rate of a group of functionalities: their unweighted mean.

    Attributes:
        pass_rate: Mean pass rate of the functionalities with cases that apply; None where there is none.
        n_functionalities: How many those are.
        interval: Interval over cases within functionalities (`stratified_wilson`); None where there is no pass rate.
    """

    pass_rate: float | None
    n_functionalities: int
    interval: Interval | None


@dataclasses.dataclass(frozen=True)
class BehavioralPassRate(Result):
    """How a model does on a suite; see `pass_rates`.

    Attributes:
        behavioral_pass_rate: The suite score: unweighted mean of the functionalities' pass rates; None where no case
            applies.
        interval: Interval over cases within functionalities (`stratified_wilson`).
        functionalities: One result per functionality, in the suite's order.
        classes: Functionality class -> its mean.
        test_types: Test type -> its mean.
        n_examples: Examples of the suite.
        n_cases: Cases of the suite.
        n_filtered: Cases to which no expectation applies.
        passed: One entry per case, in the suite's order: True, False, or None where it does not apply.
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


def cases_of(suite: SuiteTable, number: int) -> slice:
    """Return the slice of the cases of a functionality."""
    return slice(*np.searchsorted(suite.case_functionality, [number, number + 1]).tolist())


def answers_of(
    suite: SuiteTable,
    number: int,
    answers: Any,
    probabilities: NDArray[np.float64] | None,
) -> Answers:
    """Return the answers to the examples of a functionality, with what they are compared with.

    Args:
        suite: The suite.
        number: Index of the functionality.
        answers: n answers to all examples, class numbers or texts.
        probabilities: (n, K) their probabilities, or None.
    """
    cases = cases_of(suite, number)
    offsets = suite.case_offsets[cases.start : cases.stop + 1]
    here = slice(int(offsets[0]), int(offsets[-1]))
    return Answers(
        predictions=answers[here],
        offsets=offsets - offsets[0],
        probabilities=None if probabilities is None else probabilities[here],
        labels=suite.labels[here],
        meta=None if suite.meta is None else suite.meta[here],
    )


def pass_rates(
    predictions: Any,
    suite: SuiteTable,
    *,
    outputs: str = "probabilities",
    confidence_level: float = 0.95,
) -> BehavioralPassRate:
    """Score predictions against a behavioral suite.

    A case passes when all of its examples that apply pass (the first example of a case does not count where the others
    are compared with it); pass rate = passed cases / cases that apply.

    Args:
        predictions: One answer per example, in the suite's order.
        suite: The suite's table.
        outputs: What the predictions are: "probabilities" or "logits" (n, K) in the order of the suite's labels,
            "labels" (n,) whole numbers, "texts" of reading comprehension or names of labels, or "binary_sentiment":
            (n,) P(positive), spread over negative, neutral and positive as BeLUGA does.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        A `BehavioralPassRate`.

    Raises:
        ValueError: If there are more or fewer predictions than examples, or columns than labels, a functionality has no
            cases, or texts are neither what the suite asks for nor the names of its labels.

    References:
        Ribeiro, Wu, Guestrin and Singh (2020), "Beyond Accuracy: Behavioral Testing of NLP Models with CheckList", ACL.
    """
    check_one_of(outputs, OUTPUTS, "outputs")
    answers, probabilities = _answers(predictions, outputs, suite)
    return answered_pass_rates(
        answers, suite, probabilities=probabilities, confidence_level=confidence_level
    )


def answered_pass_rates(
    answers: NDArray[np.int64] | list[str],
    suite: SuiteTable,
    *,
    probabilities: NDArray[np.float64] | None = None,
    confidence_level: float = 0.95,
) -> BehavioralPassRate:
    """Score answers that are checked already; see `pass_rates`.

    Args:
        answers: n numbers of the suite's labels, or texts, in the suite's order.
        suite: The suite's table.
        probabilities: (n, K) probabilities of the labels beside the answers; None where there are none. An answer need
            not be the most probable label.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        A `BehavioralPassRate`.

    Raises:
        ValueError: If a functionality has no cases, or asks for probabilities that are not there.
    """
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    passed: list[bool | None] = []
    results = []
    for number, name in enumerate(suite.functionalities):
        try:
            judged = evaluate_cases(
                suite.expectations[number], answers_of(suite, number, answers, probabilities)
            )[1]
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} (functionality {name!r})") from error
        outcomes = [None if np.isnan(value) else bool(value) for value in judged]
        passed += outcomes
        n_passed, n_cases = outcomes.count(True), len(outcomes) - outcomes.count(None)
        results.append(
            FunctionalityResult(
                functionality=name,
                functionality_class=suite.classes[number],
                test_type=suite.test_types[number],
                pass_rate=n_passed / n_cases if n_cases else None,
                n_passed=n_passed,
                n_cases=n_cases,
                n_filtered=len(outcomes) - n_cases,
                interval=wilson(n_passed, n_cases, confidence_level=level) if n_cases else None,
            )
        )
    mean = _mean(results, level)
    return BehavioralPassRate(
        behavioral_pass_rate=mean.pass_rate,
        interval=mean.interval,
        functionalities=results,
        classes=_means(results, suite.classes, level),
        test_types=_means(results, suite.test_types, level),
        n_examples=len(suite),
        n_cases=len(passed),
        n_filtered=passed.count(None),
        passed=passed,
    )


def clearly_below(
    functionalities: Sequence[FunctionalityResult], bound: float, *, confidence_level: float = 0.95
) -> list[FunctionalityResult]:
    """Return the functionalities that pass fewer than a share of their cases, beyond doubt.

    Each is compared with the bound by the one-sided exact binomial test, with Holm's correction over all of them: one
    case that fails shows nothing.

    Args:
        functionalities: The results of a suite.
        bound: The share, such as 0.9.
        confidence_level: One minus the chance that any of those returned does not lie below; default 0.95.

    Returns:
        Those that lie below, in their order.

    References:
        Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure.

    Example:
        At the bound, no pass of one case has the probability 0.1, none of three 0.001.

        >>> results = [FunctionalityResult(name, "A", "MFT", 0.0, 0, n, 0, None) for name, n in (("a", 1), ("b", 3))]
        >>> [each.functionality for each in clearly_below(results, 0.9)]
        ['b']
    """
    limit = check_fraction(bound, "bound", open_ends=True)
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    defined = [each for each in functionalities if each.n_cases]
    p_values = holm(
        np.array([special.bdtr(each.n_passed, each.n_cases, limit) for each in defined])
    )
    return [each for each, p_value in zip(defined, p_values, strict=True) if p_value <= 1 - level]


def asks_for_neutral(suite: SuiteTable) -> bool:
    """Tell whether the labels of a suite are called negative, neutral and positive.

    A model with two sentiments is scored on it with outputs="binary_sentiment".
    """
    return tuple(name.strip().casefold() for name in suite.label_names or ()) == SENTIMENTS


def label_answers(
    answers: NDArray[np.int64] | Sequence[str], suite: SuiteTable, *, where: str = "predictions"
) -> tuple[NDArray[np.int64], str] | None:
    """Turn answers, names or numbers, into the numbers of a suite's labels.

    A name is looked up among the names of the suite's labels before it is taken for a number; numbers are those of the
    suite, which count from 0.

    Args:
        answers: n numbers or texts.
        suite: The suite's table.
        where: What the answers are called in errors.

    Returns:
        The numbers, and how they were found, in words; None where the suite asks for texts, or where neither it nor the
        answers have numbers or names of labels (a test of invariance alone).

    Raises:
        ValueError: If an answer is no label of the suite; both lists are named.

    Example:
        >>> from rightreasons.core.suites import SuiteTable
        >>> one = {"case_ids": ("0",), "case_functionality": np.array([0]), "case_offsets": np.array([0, 2])}
        >>> names = {"functionalities": ("f",), "classes": ("C",), "test_types": ("MFT",)}
        >>> spec = {"expectations": ({"name": "equal"},), "labels": (0, 1)}
        >>> table = SuiteTable(**names, **one, **spec, label_names=("no", "yes"))
        >>> label_answers(["Yes", "no"], table)
        (array([1, 0]), 'by name, letter case aside')
    """
    if suite.asks_for_texts:
        return None
    names = suite.label_names
    if names is None and isinstance(answers, np.ndarray):
        return answers, BY_NUMBER
    if names is None and all(label is None for label in suite.labels):
        said = (
            spec.get(key)
            for spec in suite.expectations
            for key in ("value", "label", "where_first")
        )
        if all(value is None for value in said):  # the suite knows no label by its number
            return None
    column = resolve_labels(answers, names, first=0, where=where)
    if names is None and column.how != BY_NUMBER:
        raise ValueError(
            f"Expected numbers of labels in {where}, as the suite's first line has no `label_names`, but the answers "
            f"are {format_list(column.names)}."
        )
    missing = np.flatnonzero(column.ids < 0)
    if len(missing):
        raise ValueError(
            f"Expected an answer to each example in {where}, one of {format_list(names or column.names)}, but row "
            f"{int(missing[0])} has none."
        )
    pairs = ", ".join(f"{number} is {name}" for number, name in enumerate(names or ()))
    return column.ids, f"{column.how}: {pairs}" if names and column.how == BY_NUMBER else column.how


def _answers(
    predictions: Any, outputs: str, suite: SuiteTable
) -> tuple[NDArray[np.int64] | list[str], NDArray[np.float64] | None]:
    check_kind(suite, "suite", SuiteTable)
    n_predictions = len(predictions) if hasattr(predictions, "__len__") else None
    if n_predictions is not None and n_predictions != len(suite):
        raise ValueError(
            f"Expected one prediction for each of the {len(suite)} examples of the suite, "
            f"in its order, but got {n_predictions}."
        )
    if outputs in ("labels", "texts"):
        if outputs == "labels":
            answers: Any = check_labels(predictions, name="predictions")
        else:
            answers = check_texts(predictions, "predictions", allow_empty=True)
        labels = label_answers(answers, suite)
        return answers if labels is None else labels[0], None

    is_binary = outputs == "binary_sentiment"
    probabilities = check_scores(predictions, scores="probabilities" if is_binary else outputs)
    if is_binary:
        probabilities = spread_over_neutral(probabilities[:, 1])
    _check_number_of_columns(probabilities.shape[1], suite)
    answers = np.argmax(probabilities, axis=1)
    return answers.astype(np.int64), probabilities


def _check_number_of_columns(n_columns: int, suite: SuiteTable) -> None:
    """Check that there is a column of scores for each label of the suite."""
    n_labels = len(suite.label_names or ()) or suite.max_label + 1
    # Without names, the suite knows only the labels that it uses: there may be more.
    is_exact = bool(suite.label_names)
    if n_columns == n_labels or (n_columns > n_labels and not is_exact):
        return
    labels = f"0 to {suite.max_label}"
    if suite.label_names:
        labels = format_list(suite.label_names)
    hint = ""
    if n_columns == 2 and asks_for_neutral(suite):
        hint = ": say outputs='binary_sentiment'"
    raise OptionError(
        f"Expected a column of `predictions` for each label of the suite, {labels}, "
        f"but got {n_columns}{hint}.",
        option="outputs",
    )


def _means(
    results: Sequence[FunctionalityResult], groups: Sequence[str], level: float
) -> dict[str, GroupResult]:
    """Return the mean of each group of functionalities, in the order in which they come."""
    return {
        name: _mean(
            [each for each, group in zip(results, groups, strict=True) if group == name], level
        )
        for name in dict.fromkeys(groups)
    }


def _mean(members: Sequence[FunctionalityResult], level: float) -> GroupResult:
    """Average the pass rates of functionalities, each with a weight of one."""
    known = [each for each in members if each.pass_rate is not None]
    if not known:
        return GroupResult(None, 0, None)
    passed, cases = zip(*((each.n_passed, each.n_cases) for each in known), strict=True)
    interval = stratified_wilson(passed, cases, confidence_level=level)
    return GroupResult(float(np.mean([each.pass_rate for each in known])), len(known), interval)


# ------------------------------------------------------------------------------------------------ does it generalize?


SETTINGS = ("standard", "seen", "functionality", "class", "type")
"""What of the suite was trained on when a functionality was scored: nothing, all of it, all but that functionality, all
but its class, all but its test type."""


@dataclasses.dataclass(frozen=True)
class GeneralizationScore(Result):
    """G scores; see `generalization_score`.

    Attributes:
        generalization_score: Mean of the G scores of the settings other than "standard", or that of "standard" where it
            is alone.
        scores: Setting -> G, the harmonic mean of `iid_score` and the suite score, in [0, 1].
        suite_scores: Setting -> suite score: unweighted mean of the functionalities' pass rates.
        n_functionalities: Setting -> how many functionalities.
    """

    generalization_score: float
    scores: dict[str, float]
    suite_scores: dict[str, float]
    n_functionalities: dict[str, int]


def harmonic_mean(first: float, second: float) -> float:
    """Return 2ab / (a + b), and 0 where one of them is 0.

    Example:
        >>> round(harmonic_mean(0.9, 0.6), 6)
        0.72
    """
    return 0.0 if first <= 0 or second <= 0 else 2 * first * second / (first + second)


def generalization_score(pass_rates: Mapping[str, Any], iid_score: float) -> GeneralizationScore:
    r"""Join a model's score on independent data with its scores on a behavioral suite.

        G = 2 s_iid s / (s_iid + s),   s = mean pass rate over functionalities

    Args:
        pass_rates: Setting (one of `SETTINGS`) -> (F,) pass rates of the functionalities, each scored by the model of
            that setting. Functionalities that are not defined for a model are left out by the caller.
        iid_score: Score on independent data, such as accuracy, in [0, 1].

    Returns:
        A `GeneralizationScore`. Higher is better.

    Raises:
        ValueError: If a setting is unknown, a rate lies outside [0, 1] or there are none.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL,
        section 3.

    Example:
        >>> result = generalization_score({"seen": [0.5, 0.7]}, 0.9)
        >>> round(result.scores["seen"], 6)
        0.72
    """
    check_kind(pass_rates, "pass_rates", Mapping)
    if not pass_rates:
        raise ValueError("Expected the pass rates of at least one setting, but got none.")
    iid = check_fraction(iid_score, "iid_score")
    suites, counts = {}, {}
    for setting, rates in pass_rates.items():
        if setting not in SETTINGS:
            raise make_unknown_name_error("setting", setting, SETTINGS)
        values = check_vector(rates, setting, minimum=0, maximum=1)
        suites[setting], counts[setting] = float(values.mean()), len(values)
    scores = {setting: harmonic_mean(iid, score) for setting, score in suites.items()}
    generalizing = [score for setting, score in scores.items() if setting != "standard"]
    return GeneralizationScore(
        generalization_score=float(np.mean(generalizing)) if generalizing else scores["standard"],
        scores=scores,
        suite_scores=suites,
        n_functionalities=counts,
    )


@dataclasses.dataclass(frozen=True)
class Randomization(Result):
    """Approximate randomization of a difference of G scores.

    Attributes:
        difference: G of the first model minus that of the second.
        p_value: (k + 1) / (n_permutations + 1), k shuffles with a difference at least as large in size.
        n_permutations: How many shuffles.
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
) -> Randomization:
    """Test the difference of two models' G by approximate randomization.

    On every item that the models differ on, their outcomes change places with probability 1/2, and G is computed anew.

    Args:
        iid: Outcomes (N,) of the first and second model on independent data, 1 right and 0 wrong.
        suites: For every functionality, the outcomes of both models on its cases: 1 passed, 0 failed, NaN undefined. A
            case that is undefined for one of them changes no places; a functionality without a defined case is left
            out of the mean.
        n_permutations: Number of shuffles; default 10,000 as in the paper.
        seed: Seed of the shuffles; default 0.

    Returns:
        A `Randomization`.

    Raises:
        ValueError: If an outcome is none of these, lengths differ, or a model has no defined case at all.

    References:
        Yeh (2000), "More accurate tests for the statistical significance of result differences", COLING; Luz de Araujo
        and Roth (2023), section 4.
    """
    shuffles = check_count(n_permutations, "n_permutations", maximum=MAX_DRAWS)
    rng = np.random.default_rng(check_seed(seed))
    groups = [
        _pair(iid, "iid"),
        *(_pair(pair, f"suites[{k}]") for k, pair in enumerate(to_array_or_list(suites, "suites"))),
    ]
    if np.isnan(groups[0]).any():
        raise ValueError(
            "Expected an outcome of every independent item for both models, but some are undefined."
        )
    for side, name in enumerate(("first", "second")):
        if all(np.isnan(pair[side]).all() for pair in groups[1:]):
            raise ValueError(
                f"Expected a defined case of the {name} model in at least one of `suites`, but none is."
            )
    delta = float(_difference([_moved_means(a, b, np.zeros(1)) for a, b in groups])[0])
    permuted = _difference([_shuffled_means(a, b, shuffles, rng) for a, b in groups])
    k = int((np.abs(permuted) >= abs(delta) - 1e-12).sum())
    return Randomization(delta, (k + 1) / (shuffles + 1), shuffles)


def _difference(means: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the first model's G minus the second's, (R,), from their means on independent data and suites, (2, R)."""
    suite = np.nanmean(np.stack(means[1:]), axis=0)
    first, second = 2 * means[0] * suite / np.maximum(means[0] + suite, 1e-300)
    return np.asarray(first - second, dtype=np.float64)


def _pair(pair: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        a, b = (np.asarray(to_numpy(column, name), dtype=np.float64) for column in pair)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Expected `{name}` to be a pair of outcomes, but got {format_value(pair)}."
        ) from error
    check_same_length(first=a, second=b)
    for values in (a, b):
        if (
            values.ndim != 1
            or len(values) == 0
            or not np.isin(values[~np.isnan(values)], (0, 1)).all()
        ):
            raise ValueError(
                f"Expected outcomes of 1, 0 or NaN, (N,), in `{name}`, but got {format_value(values)}."
            )
    return a, b


def _shuffled_means(
    a: NDArray[np.float64], b: NDArray[np.float64], shuffles: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the means of both sides under random exchange, (2, shuffles).

    Only the number of exchanged wins matters: of the items that one side alone gets right, each side gains and loses a
    binomial number.
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    first_wins = int((a[both] > b[both]).sum())
    second_wins = int((b[both] > a[both]).sum())
    moved = rng.binomial(second_wins, 0.5, shuffles) - rng.binomial(first_wins, 0.5, shuffles)
    return _moved_means(a, b, moved)


def _moved_means(
    a: NDArray[np.float64], b: NDArray[np.float64], moved: NDArray[Any]
) -> NDArray[np.float64]:
    """Return both means when so many passes have moved to the first side, (2, len(moved)); NaN for a side of NaN."""
    sides = ((np.nansum(a) + moved, a), (np.nansum(b) - moved, b))
    return np.stack(
        [
            total / n if (n := int((~np.isnan(side)).sum())) else np.full(len(moved), np.nan)
            for total, side in sides
        ]
    )
