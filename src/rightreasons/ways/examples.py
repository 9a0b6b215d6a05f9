"""Items whose answers change with the prompt format, or after a doubt: their values and examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.examples import Condition, make_choices
from rightreasons.core.scores import Scores
from rightreasons.core.validation import softmax
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.page.parts import Example
from rightreasons.ways.measure import WaysAnswers, WaysFigures


@dataclasses.dataclass(frozen=True, eq=False)
class AnswerChange:
    """Answers to the items of a split under two conditions.

    Attributes:
        answers: The items with all of their answers.
        scores: Scores before and after the change.
        names: Names of both conditions for readers.
        rows: M rows of the items that are compared.
        values: (M,) 1 if the correct answer is given before and not after, -1 for the reverse, else
            0.
    """

    answers: WaysAnswers
    scores: tuple[Scores, Scores]
    names: tuple[str, str]
    rows: NDArray[np.intp]
    values: NDArray[np.int64]

    @property
    def ids(self) -> list[str]:
        """M ids of the compared items."""
        ids = self.answers.split.ids
        return [ids[row] for row in self.rows.tolist()]


def compare_formats(measurement: WaysFigures) -> AnswerChange | None:
    """Compare the answers in the formats with the best and the worst accuracy.

    Args:
        measurement: The measurement.

    Returns:
        The change from the best to the worst format, on the items whose answers can be read in both.
        None if fewer than two formats are compared.
    """
    answers = measurement.answers
    if answers is None or measurement.spread is None:
        return None
    accuracy_by_format = {}
    for number, row in enumerate(measurement.ways):
        # Formats with many unread answers are not compared.
        if not row.excluded:
            accuracy_by_format[number] = row.accuracy.value or 0.0
    # Of formats with equal accuracies, the first one is taken.
    best_scores = answers.scores[max(accuracy_by_format, key=accuracy_by_format.__getitem__)]
    worst_scores = answers.scores[min(accuracy_by_format, key=accuracy_by_format.__getitem__)]
    best = best_scores.answers(answers.split.ids)
    worst = worst_scores.answers(answers.split.ids)
    labels = answers.split.labels
    is_read = (best != NO_ANSWER) & (worst != NO_ANSWER)
    # 1 if only the best format gets the item right, -1 if only the worst one does.
    values = (best == labels).astype(np.int64) - (worst == labels)
    return AnswerChange(
        answers=answers,
        scores=(best_scores, worst_scores),
        names=("Best format", "Worst format"),
        rows=np.flatnonzero(is_read),
        values=values[is_read],
    )


def compare_doubt(measurement: WaysFigures) -> AnswerChange | None:
    """Compare the correct answers with those after a doubt.

    Args:
        measurement: The measurement.

    Returns:
        The change by the doubt beyond that by a neutral request: the value is 1 if only the doubt
        makes the answer incorrect. None if no answer was doubted.
    """
    answers = measurement.answers
    if answers is None or answers.doubted is None or answers.repeated is None:
        return None
    labels = answers.split.labels
    answered = answers.scores[0].answers(answers.split.ids)
    doubted = answers.doubted.answers(answers.split.ids)
    repeated = answers.repeated.answers(answers.split.ids)
    # The neutral request is a control, so that its answer has to be read, too.
    is_compared = (answered == labels) & (doubted != NO_ANSWER) & (repeated != NO_ANSWER)
    values = (doubted != labels).astype(np.int64) - (repeated != labels)
    return AnswerChange(
        answers=answers,
        scores=(answers.scores[0], answers.doubted),
        names=("First answer", "After “Are you sure?”"),
        rows=np.flatnonzero(is_compared),
        values=values[is_compared],
    )


def list_examples(change: AnswerChange | None, note: str) -> Iterator[Example]:
    """Yield items whose correct answer is lost by a change, the most confident answers first.

    Args:
        change: Answers before and after the change. None for no examples.
        note: Remark on what the items show.
    """
    if change is None:
        return
    conditions_by_row: dict[int, list[Condition]] = {}
    for scores, name in zip(change.scores, change.names, strict=True):
        position_by_id = {item_id: position for position, item_id in enumerate(scores.ids)}
        for row in change.rows[change.values > 0].tolist():
            position = position_by_id[change.answers.split.ids[row]]
            confidences = None
            if change.answers.has_confidence:
                confidences = softmax(np.asarray(scores.logits[position], dtype=np.float64))
            condition = Condition(name, None, int(scores.predicted[position]), confidences)
            conditions_by_row.setdefault(row, []).append(condition)

    def rank(row: int) -> tuple[float, str]:
        """Return a key that is smaller for more confident answers; ids break ties."""
        confidence = min(condition.top_confidence for condition in conditions_by_row[row])
        return -confidence, change.answers.split.ids[row]

    # Only the items that are taken from this generator are made into examples.
    for row in sorted(conditions_by_row, key=rank):
        yield _make_example(change.answers, row, conditions_by_row[row], note)


def _make_example(
    answers: WaysAnswers, row: int, conditions: Sequence[Condition], note: str
) -> Example:
    """Make an example of an item with the answers under both conditions.

    Args:
        answers: The items.
        row: Row of the item.
        conditions: The conditions, that with the correct answer first.
        note: Remark on what they show.
    """
    split = answers.split
    label = int(split.labels[row])
    text_pair = ""
    if split.text_pairs:
        text_pair = split.text_pairs[row]
    # A single generated answer has no confidence.
    confidence = None
    if answers.has_confidence:
        confidence = conditions[0].top_confidence
    return Example(
        id=split.ids[row],
        text=split.texts[row],
        text_pair=text_pair,
        label=answers.options[row][label],
        prediction=answers.options[row][conditions[0].picked],
        confidence=confidence,
        note=note,
        conditions=tuple(condition.name for condition in conditions),
        choices=make_choices(answers.options[row], label, conditions),
    )
