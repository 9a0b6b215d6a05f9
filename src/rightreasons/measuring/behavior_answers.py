"""What one model answered to a behavioral suite, held against it case by case; no model is needed for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.behavior.expectations import evaluate_cases, neutral_probabilities
from rightreasons.analysis.behavior.pass_rates import (
    BehavioralPassRate,
    answers_of,
    asks_for_neutral,
    cases_of,
    pass_rates,
)
from rightreasons.data.opening.predictions import ModelAnswers
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.expectation_specs import skips_first
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.suite_table import SuiteTable
from rightreasons.foundations.validation import SCORE_KINDS, check_scores

SENTIMENTS = ("negative", "neutral", "positive")
"""The classes over which a model of two sentiments is spread."""


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteAnswers:
    """What one model answered to a suite, and what it passes.

    Attributes:
        name: What the model is called.
        suite: The suite.
        result: Its pass rates.
        answers: n answers, class numbers or texts, in the suite's order.
        probabilities: (n, K) probabilities as they were scored; None where there are answers alone.
        class_names: K names; None where nothing tells them.
        spread: Whether a model of two sentiments was spread over three.
    """

    name: str
    suite: Suite
    result: BehavioralPassRate
    answers: NDArray[np.int64] | list[str]
    probabilities: NDArray[np.float64] | None = None
    class_names: tuple[str, ...] | None = None
    spread: bool = False

    @property
    def table(self) -> SuiteTable:
        """The suite without its texts."""
        return self.suite.table()

    def called(self, answer: Any) -> str:
        """Name an answer: a class, or the text itself."""
        if isinstance(answer, str):
            return answer
        known = self.class_names is not None and 0 <= int(answer) < len(self.class_names)
        return self.class_names[int(answer)] if known and self.class_names else f"class {int(answer)}"


@dataclasses.dataclass(frozen=True)
class JudgedExample:
    """One example of a case.

    Attributes:
        texts: Its texts.
        row: Its place in the suite.
        held: Whether it holds what is expected; None where nothing was asked of it.
    """

    texts: tuple[str, ...]
    row: int
    held: bool | None


@dataclasses.dataclass(frozen=True)
class JudgedCase:
    """One case with what became of its examples.

    Attributes:
        id: Its id in the functionality.
        passed: Whether it passes; None where the expectation does not apply.
        compared: Whether its first example is the original that the others are compared with.
        examples: Its examples.
    """

    id: str
    passed: bool | None
    compared: bool
    examples: tuple[JudgedExample, ...]


def score_stored(
    name: str,
    suite: Suite,
    given: ModelAnswers,
    *,
    resampling: Resampling = Resampling(),
) -> SuiteAnswers:
    """Score stored answers in the suite's order, without a model.

    Args:
        name: What the model is called.
        suite: The suite.
        given: From `rightreasons.data.opening.predictions.read_answers`: scores, labels or texts. Two scores per
            example are spread over three sentiments where the suite is one of three. Ids that are those of
            `Suite.examples()` are compared with its order.
        resampling: Level of the intervals, and how those of the means are resampled.

    Returns:
        What the model answered and passes.

    Raises:
        ValueError: If there are more or fewer answers than examples (both counts are told), answers in another order,
            or scores for too few classes or for sentiments in another order.
    """
    table = suite.table()
    if len(given) != len(table):
        raise ValueError(
            f"Expected one prediction for each of the {len(table):,} examples of the suite {suite.name!r}, in its "
            f"order, but got {len(given):,}."
        )
    _check_ids(given.ids, suite)
    if given.answers is not None:
        answers = _as_asked(given.answers, table)
        outputs = "texts" if isinstance(answers, list) else "labels"
        result = pass_rates(answers, table, outputs=outputs, resampling=resampling)
        return SuiteAnswers(name, suite, result, answers, None, given.label_names)
    check_sentiment_order(name, given.label_names, suite)
    probabilities = _probabilities(given)
    outputs = _outputs(probabilities, table)
    n_classes = 3 if outputs == "binary_sentiment" else probabilities.shape[1]
    highest = max((label for label in table.labels if isinstance(label, int)), default=-1)
    if highest >= n_classes:
        raise ValueError(
            f"Expected scores for every label of the suite {suite.name!r}, 0 to {highest}, but each row has "
            f"{n_classes}."
        )
    result = pass_rates(probabilities, table, outputs=outputs, resampling=resampling)
    return classified(name, suite, result, probabilities, given.label_names)


def failing_cases(tested: SuiteAnswers, number: int, *, limit: int | None = None, seed: int = 0) -> list[JudgedCase]:
    """Return cases of a functionality that fail, with what became of each example.

    Args:
        tested: What a model answered.
        number: The place of the functionality in the suite.
        limit: At most so many, drawn by (seed, name of the functionality); None for all.
        seed: Decides which.

    Returns:
        The cases, in the suite's order.
    """
    passed = tested.result.passed[cases_of(tested.table, number)]
    failed = [place for place, verdict in enumerate(passed) if verdict is False]
    if limit is not None and len(failed) > limit:
        drawn = item_rng(seed, tested.table.functionalities[number]).permutation(len(failed))[:limit]
        failed = [failed[place] for place in np.sort(drawn)]
    return judged_cases(tested, number, failed)


def judged_cases(tested: SuiteAnswers, number: int, places: Sequence[int] | None = None) -> list[JudgedCase]:
    """Hold the answers to cases of a functionality against what is expected of them.

    Args:
        tested: What a model answered.
        number: The place of the functionality in the suite.
        places: The places of the cases in the functionality; None for all.

    Returns:
        The cases, in the order of `places`, or of the suite.
    """
    functionality = tested.suite.functionalities[number]
    answers = answers_of(tested.table, number, tested.answers, tested.probabilities)
    held, passed = evaluate_cases(functionality.expectation, answers)
    begin = int(tested.table.case_offsets[cases_of(tested.table, number).start])
    compared = skips_first(functionality.expectation)
    judged = []
    for place in range(len(functionality.cases)) if places is None else places:
        case, first = functionality.cases[place], int(answers.offsets[place])
        verdicts = [_verdict(value) for value in held[first : first + len(case.examples)]]
        if compared:
            verdicts[0] = None
        examples = tuple(
            JudgedExample(texts, begin + row, verdict)
            for row, (texts, verdict) in enumerate(zip(case.examples, verdicts, strict=True), start=first)
        )
        judged.append(JudgedCase(case.id, _verdict(passed[place]), compared, examples))
    return judged


def classified(
    name: str,
    suite: Suite,
    result: BehavioralPassRate,
    probabilities: NDArray[np.float64],
    class_names: tuple[str, ...] | None,
) -> SuiteAnswers:
    """Return what a classifier answered: its most probable classes, of three where two sentiments are spread."""
    spread = _outputs(probabilities, suite.table()) == "binary_sentiment"
    if spread:
        probabilities, class_names = neutral_probabilities(probabilities[:, 1]), SENTIMENTS
    answers = probabilities.argmax(axis=1).astype(np.int64)
    return SuiteAnswers(name, suite, result, answers, probabilities, class_names, spread)


def check_sentiment_order(name: str, class_names: Sequence[str] | None, suite: Suite) -> None:
    """Check that classes named after sentiments stand in the order of the labels of a suite of sentiments.

    Args:
        name: What the model is called.
        class_names: The names of its classes, in the order of its scores; None where nothing tells them.
        suite: The suite.

    Raises:
        ValueError: If the suite is one of sentiments, and the classes are in another order.
    """
    named = [word for word in (each.strip().casefold() for each in class_names or ()) if word in SENTIMENTS]
    wanted = [word for word in SENTIMENTS if word in named]
    if {"positive", "negative"} <= set(named) and named != wanted and asks_for_neutral(suite.table()):
        raise ValueError(
            f"Expected the classes of {name} in the order of the labels of {suite.name!r}, {' before '.join(wanted)}, "
            f"but they are {', '.join(class_names or ())}."
        )


# ------------------------------------------------------------------------------------------------------------- private


def _check_ids(ids: tuple[str, ...] | None, suite: Suite) -> None:
    """Check the order of predictions whose ids are those of the suite; ids of another kind say nothing."""
    wanted = [row["id"] for row in suite.examples()] if ids is not None else []
    if ids is None or set(wanted).isdisjoint(ids):
        return
    for row, (found, expected) in enumerate(zip(ids, wanted, strict=True)):
        if found != expected:
            raise ValueError(
                f"Expected the predictions in the order of the suite {suite.name!r}, but row {row} has the id "
                f"{found[:40]} where the suite has {expected}."
            )


def _as_asked(answers: NDArray[np.int64] | list[str], table: SuiteTable) -> NDArray[np.int64] | list[str]:
    """Return whole numbers as texts where the suite asks for texts."""
    if isinstance(answers, list) or not any(isinstance(label, str) for label in table.labels):
        return answers
    return [str(answer) for answer in answers.tolist()]


def _outputs(probabilities: NDArray[np.float64], table: SuiteTable) -> str:
    return "binary_sentiment" if probabilities.shape[1] == 2 and asks_for_neutral(table) else "probabilities"


def _probabilities(given: ModelAnswers) -> NDArray[np.float64]:
    scores = given.scores
    try:
        return check_scores(scores, scores=given.kind or SCORE_KINDS[0], name="the predictions")
    except ValueError:
        # Where no column said what the scores are, raw outputs are the likely mistake.
        if given.kind is None and isinstance(scores, np.ndarray) and (scores.min() < 0 or scores.max() > 1):
            raise ValueError(
                f"Expected probabilities between 0 and 1, but got {scores.min():.4g} to {scores.max():.4g}; "
                "raw outputs of a model stand in columns that are called logits, or begin with logit_."
            ) from None
        raise


def _verdict(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)
