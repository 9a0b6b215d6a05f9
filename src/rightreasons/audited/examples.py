"""Examples on the page of a report: `make_example` shows an item with its prediction.

`list_differences` marks the words in which two versions of a text differ.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from rightreasons.audited.splits import AuditSplit
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.page.parts import Example, Mark

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext


def make_example(
    context: AuditContext,
    split: AuditSplit,
    item: int,
    predicted: int | None = None,
    confidence: float = 1.0,
    marks: tuple[Mark, ...] | None = None,
    note: str = "",
) -> Example:
    """Make the example of an item with a prediction.

    Args:
        context: The audit.
        split: Split of the item.
        item: Row of the item.
        predicted: Predicted class or choice. If None, prediction and confidence are those that the
            model has for the split.
        confidence: Confidence in the prediction.
        marks: Marks in the text. If None, its planted tokens are marked.
        note: Text after the choices of the item.

    Returns:
        The example.
    """
    if predicted is None:
        scores = context.scores(split)
        predicted = int(scores.predicted[item])
        confidence = float(scores.confidence[item])
    if marks is None:
        marks = _mark_planted_tokens(split, item)
    label, prediction = _describe_answers(context, split, item, predicted)
    return Example(
        id=split.ids[item],
        text=split.data[item][split.text_column],
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=label,
        prediction=prediction,
        # A single answer has no confidence; rounding may carry one above 1.
        confidence=None if context.answers_once else min(confidence, 1.0),
        marks=marks,
        note=_compose_note(split, item, note),
    )


def _describe_answers(
    context: AuditContext, split: AuditSplit, item: int, predicted: int
) -> tuple[str, str]:
    """Return the names of the label and of the prediction of an item, as an example shows them.

    Args:
        context: The audit.
        split: Split of the item.
        item: Row of the item.
        predicted: Predicted class or choice.
    """
    if context.stored is not None and context.answers_once and context.task == "confidence":
        # A log of answers stores their words, besides whether they are correct.
        row = split.data[item]
        return str(row.get("target", "")), str(row.get("answer", ""))
    prediction = context.label_name(predicted)
    if context.task == "confidence":
        # A given answer is correct or incorrect, and has no label besides.
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
    """Return the choices of an item, the note, and a remark on a wrong label."""
    sentences = []
    if split.choices is not None:
        choices = []
        for number, choice in enumerate(split.choices[item], start=1):
            choices.append(f"{number}. {choice}")
        sentences.append(" | ".join(choices))
    if note:
        sentences.append(note)
    # Planted data records labels that were flipped on purpose.
    if split.mislabeled[item]:
        sentences.append("The label contradicts the text, the data says.")
    return " ".join(sentences)


def list_differences(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text lacks; the note of a mark says what it replaces.

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
