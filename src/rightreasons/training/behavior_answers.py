"""What one model answered to a behavioral suite, held against it case by case; no model is needed for it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.behavior import BehavioralPassRate, asks_for_neutral, pass_rates
from rightreasons.analysis.expectations import PAIRWISE, Answers, evaluate_cases, neutral_probabilities
from rightreasons.data.predictions import ModelAnswers
from rightreasons.data.suite_cases import Functionality
from rightreasons.data.suites import Suite
from rightreasons.records import SuiteTable
from rightreasons.validation import SCORE_KINDS, check_scores, item_rng

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

    @functools.cached_property
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
    n_resamples: int = 1000,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> SuiteAnswers:
    """Score stored answers in the suite's order, without a model.

    Args:
        name: What the model is called.
        suite: The suite.
        given: From `rightreasons.data.predictions.read_answers`: scores, labels or texts. Two scores an example are
            spread over three sentiments where the suite is one of three.
        n_resamples: Bootstrap resamples of the means.
        confidence_level: Level of the intervals.
        seed: Seed of the resampling.

    Returns:
        What the model answered and passes.

    Raises:
        ValueError: If there are more or fewer answers than examples (both counts are told), or scores for too few
            classes.
    """
    options: dict[str, Any] = {"n_resamples": n_resamples, "confidence_level": confidence_level, "seed": seed}
    table = suite.table()
    if len(given) != len(table):
        raise ValueError(
            f"Expected one prediction for each of the {len(table):,} examples of the suite {suite.name!r}, in its "
            f"order, but got {len(given):,}."
        )
    if given.answers is not None:
        texts = isinstance(given.answers, list)
        result = pass_rates(given.answers, table, outputs="texts" if texts else "labels", **options)
        return SuiteAnswers(name, suite, result, given.answers, None, given.label_names)
    probabilities = _probabilities(given)
    outputs = _outputs(probabilities, table)
    n_classes = 3 if outputs == "binary_sentiment" else probabilities.shape[1]
    highest = max((label for label in table.labels if isinstance(label, int)), default=-1)
    if highest >= n_classes:
        raise ValueError(
            f"Expected scores for every label of the suite {suite.name!r}, 0 to {highest}, but each row has "
            f"{n_classes}."
        )
    result = pass_rates(probabilities, table, outputs=outputs, **options)
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
    table = tested.table
    first, end = _cases_of(table, number)
    failed = np.array([case for case in range(first, end) if tested.result.passed[case] is False], dtype=np.int64)
    if limit is not None and len(failed) > limit:
        drawn = item_rng(seed, table.functionalities[number]).permutation(len(failed))[:limit]
        failed = failed[np.sort(drawn)]
    judged = judged_cases(tested, number)
    return [judged[case - first] for case in failed.tolist()]


def judged_cases(tested: SuiteAnswers, number: int) -> list[JudgedCase]:
    """Hold the answers to all cases of a functionality against what is expected of them.

    Args:
        tested: What a model answered.
        number: The place of the functionality in the suite.

    Returns:
        The cases, in the suite's order.
    """
    table, functionality = tested.table, tested.suite.functionalities[number]
    first, end = _cases_of(table, number)
    offsets = table.case_offsets[first : end + 1]
    begin = int(offsets[0])
    here = slice(begin, int(offsets[-1]))
    answers = Answers(
        predictions=tested.answers[here],
        offsets=offsets - begin,
        probabilities=None if tested.probabilities is None else tested.probabilities[here],
        labels=table.labels[here],
        meta=None if table.meta is None else table.meta[here],
    )
    held, passed = evaluate_cases(functionality.expectation, answers)
    compared = compares(functionality)
    judged = []
    for case, row, verdict in zip(functionality.cases, offsets[:-1].tolist(), passed.tolist(), strict=True):
        examples = tuple(
            JudgedExample(texts, row + place, None if compared and place == 0 else _verdict(held[row - begin + place]))
            for place, texts in enumerate(case.examples)
        )
        judged.append(JudgedCase(case.id, _verdict(verdict), compared, examples))
    return judged


def compares(functionality: Functionality) -> bool:
    """Tell whether the first example of a case is the original that the others are compared with."""
    expectation = functionality.expectation
    return bool(expectation.get("skip_first", expectation["name"] in PAIRWISE))


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


# ------------------------------------------------------------------------------------------------------------- private


def _outputs(probabilities: NDArray[np.float64], table: SuiteTable) -> str:
    return "binary_sentiment" if probabilities.shape[1] == 2 and asks_for_neutral(table) else "probabilities"


def _probabilities(given: ModelAnswers) -> NDArray[np.float64]:
    scores = np.asarray(given.scores, dtype=np.float64)
    if given.kind is None and np.isfinite(scores).all() and (scores.min() < 0 or scores.max() > 1):
        raise ValueError(
            f"Expected probabilities between 0 and 1, but got {float(scores.min()):.4g} to {float(scores.max()):.4g}; "
            "raw outputs of a model stand in columns that are called logits, or begin with logit_."
        )
    return check_scores(scores, scores=given.kind or SCORE_KINDS[0], name="the predictions")


def _cases_of(table: SuiteTable, number: int) -> tuple[int, int]:
    """Return the first case of a functionality and the one behind its last."""
    first, end = np.searchsorted(table.case_functionality, (number, number + 1)).tolist()
    return first, end


def _verdict(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)
