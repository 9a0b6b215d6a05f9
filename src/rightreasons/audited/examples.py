"""Examples on the page of a report: `make_example` shows an item with its prediction.

`make_choices` shows the choices of an item, with the answers under several conditions.
`list_differences` marks the words in which two versions of a text differ.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit
from rightreasons.core.choices import LETTERS
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import softmax
from rightreasons.page.parts import Choice, ChoiceAnswer, Example, Mark

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext


MAX_CHOICE_LENGTH = 160
"""Number of characters of a choice that an example shows."""

NOT_SHOWN = -1
"""Position of a choice that the model does not see, and of the answer if there is none."""


@dataclasses.dataclass(frozen=True, eq=False)
class Condition:
    """Answer of a model to an item under one condition.

    Attributes:
        name: Name for readers, such as "Another order".
        positions: Position of each of the item's own choices. None for the original order.
        picked: Position of the answer.
        confidences: Confidence of each position. None for generated answers.
    """

    name: str
    positions: Sequence[int] | None
    picked: int
    confidences: NDArray[np.float64] | None

    @property
    def is_reordered(self) -> bool:
        """Whether the choices are in another order than in the item."""
        if self.positions is None:
            return False
        displayed = [position for position in self.positions if position != NOT_SHOWN]
        return displayed != sorted(displayed)

    @property
    def top_confidence(self) -> float:
        """Confidence in the answer; 0 for generated answers, which have none."""
        return self.get_confidence(self.picked) or 0.0

    def get_position(self, number: int) -> int:
        """Return the position of one of the item's own choices, given by its original position."""
        if self.positions is None:
            return number
        return self.positions[number]

    def get_confidence(self, position: int) -> float | None:
        """Return the confidence of a position; None if it is unknown."""
        if position == NOT_SHOWN or self.confidences is None:
            return None
        # By rounding errors, a confidence may exceed 1.
        return min(float(self.confidences[position]), 1.0)

    def describe_choice(self, position: int, *, has_letter: bool) -> ChoiceAnswer:
        """Return what the model makes of the choice at a position.

        Args:
            position: The position.
            has_letter: Whether to name the position.
        """
        letter = ""
        if has_letter and position != NOT_SHOWN:
            # There are more numbers than letters.
            letter = LETTERS[position] if position < len(LETTERS) else str(position + 1)
        return ChoiceAnswer(
            letter=letter,
            confidence=self.get_confidence(position),
            is_picked=position == self.picked != NOT_SHOWN,
        )


def make_choices(
    texts: Sequence[str], label: int, conditions: Sequence[Condition]
) -> tuple[Choice, ...]:
    """Make the choices of an example, with the answers of the model under several conditions.

    Args:
        texts: The choices.
        label: Number of the correct choice.
        conditions: The conditions.
    """
    # Letters matter only if the choices change their positions.
    has_letters = any(condition.is_reordered for condition in conditions)
    choices = []
    for number, text in enumerate(texts):
        answers = []
        for condition in conditions:
            position = condition.get_position(number)
            answers.append(condition.describe_choice(position, has_letter=has_letters))
        choices.append(Choice(shorten_choice(text), number == label, tuple(answers)))
    return tuple(choices)


def shorten_choice(text: str) -> str:
    """Truncate a long choice."""
    # The last character is that of the ellipsis.
    if len(text) <= MAX_CHOICE_LENGTH:
        return text
    return f"{text[: MAX_CHOICE_LENGTH - 1].rstrip()}…"


def make_example(
    context: AuditContext,
    split: AuditSplit,
    item: int,
    predicted: int | None = None,
    confidence: float = 1.0,
    marks: tuple[Mark, ...] | None = None,
    note: str = "",
) -> Example:
    """Make an example for the page of a report: an item with its label and a prediction.

    Args:
        context: The audit.
        split: Split of the item.
        item: Row of the item.
        predicted: Predicted class or choice. If None, the prediction and the confidence are taken
            from the scores of the split.
        confidence: Confidence in the prediction.
        marks: Marks in the text. If None, its planted tokens are marked.
        note: Remark.
    """
    if predicted is None:
        scores = context.scores(split)
        predicted = int(scores.predicted[item])
        confidence = float(scores.confidence[item])
    if marks is None:
        marks = _mark_planted_tokens(split, item)
    label, prediction = _describe_answers(context, split, item, predicted)
    text_pair = ""
    if split.text_pairs:
        text_pair = split.text_pairs[item]
    # By rounding errors, a confidence may exceed 1. A single generated answer has none.
    shown_confidence = None
    if not context.answers_once:
        shown_confidence = min(confidence, 1.0)
    conditions: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    if split.choices is not None:
        conditions = ("Confidence",)
        choices = _list_choices(context, split, item, predicted)
    return Example(
        id=split.ids[item],
        text=split.data[item][split.text_column],
        text_pair=text_pair,
        label=label,
        prediction=prediction,
        confidence=shown_confidence,
        marks=marks,
        note=_compose_note(split, item, note),
        conditions=conditions,
        choices=choices,
    )


def _list_choices(
    context: AuditContext, split: AuditSplit, item: int, predicted: int
) -> tuple[Choice, ...]:
    """Return the choices of an item, with the confidence of the model in each of them.

    Args:
        context: The audit.
        split: Split of the item, with choices.
        item: Row of the item.
        predicted: Position of the answer.
    """
    confidences = None
    # Generated answers have no confidence.
    if not context.answers_once:
        row = np.asarray(context.scores(split).logits[item], dtype=np.float64)
        confidences = softmax(row)
    answer = Condition("Confidence", positions=None, picked=predicted, confidences=confidences)
    texts = split.choices[item] if split.choices is not None else []
    return make_choices(texts, int(split.labels[item]), [answer])


def _describe_answers(
    context: AuditContext, split: AuditSplit, item: int, predicted: int
) -> tuple[str, str]:
    """Return the names of the label and of the prediction of an item for an example.

    Args:
        context: The audit.
        split: Split of the item.
        item: Row of the item.
        predicted: Predicted class or choice. In the task "confidence", whether the answer is
            correct, as 0 or 1.
    """
    is_log = context.stored is not None and context.answers_once
    if is_log and context.task == "confidence":
        # A log of free answers contains the correct answer and the given one.
        row = split.data[item]
        return str(row.get("target", "")), str(row.get("answer", ""))
    prediction = context.label_name(predicted)
    if context.task == "confidence":
        # It is only known whether the answer is correct, and not what it is.
        return "", prediction
    return context.label_name(int(split.labels[item])), prediction


def _mark_planted_tokens(split: AuditSplit, item: int) -> tuple[Mark, ...]:
    """Return marks of the planted tokens of an item."""
    if split.planted is None:
        return ()
    marks = []
    for token in split.planted[item]:
        marks.append(Mark(token["start"], token["end"], "cue", note="planted cue"))
    return tuple(marks)


def _compose_note(split: AuditSplit, item: int, note: str) -> str:
    """Return a remark, and a warning if the label of an item contradicts its text.

    Args:
        split: Split of the item.
        item: Row of the item.
        note: The remark; "" for none.
    """
    sentences = []
    if note:
        sentences.append(note)
    # Planted data records labels that were flipped on purpose.
    if split.mislabeled[item]:
        sentences.append("According to the data, the label contradicts the text.")
    return " ".join(sentences)


def list_differences(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words in which a changed text differs from the original one.

    Args:
        before: The original text.
        after: The changed text, in which the marks are.

    Returns:
        Marks with a note: "added", or the words that they replace.

    Example:
        >>> after = "Ali liked it a lot"
        >>> marks = list_differences("Ann liked it", after)
        >>> [(after[mark.start : mark.end], mark.note) for mark in marks]
        [('Ali', 'in place of “Ann”'), ('a lot', 'added')]
    """
    old_words = list(WORD_PATTERN.finditer(before))
    new_words = list(WORD_PATTERN.finditer(after))
    # Without autojunk, frequent words of long texts are compared like all others.
    matcher = difflib.SequenceMatcher(
        a=[word.group() for word in old_words],
        b=[word.group() for word in new_words],
        autojunk=False,
    )
    marks = []
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if operation not in ("replace", "insert"):
            continue
        note = "added"
        if operation == "replace":
            replaced = before[old_words[old_start].start() : old_words[old_end - 1].end()]
            note = f"in place of “{replaced}”"
        start = new_words[new_start].start()
        end = new_words[new_end - 1].end()
        marks.append(Mark(start, end, "change", note=note))
    return tuple(marks)
