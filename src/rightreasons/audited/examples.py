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
    """Make an example for the page of a report: an item with its label and a prediction.

    Args:
        context: The audit.
        split: Split of the item.
        item: Row of the item.
        predicted: Predicted class or choice. If None, the prediction and the confidence are taken
            from the scores of the split.
        confidence: Confidence in the prediction.
        marks: Marks in the text. If None, its planted tokens are marked.
        note: Remark to show after the choices of the item.
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
    return Example(
        id=split.ids[item],
        text=split.data[item][split.text_column],
        text_pair=text_pair,
        label=label,
        prediction=prediction,
        confidence=shown_confidence,
        marks=marks,
        note=_compose_note(split, item, note),
    )


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
    """Return the choices of an item, a remark, and a warning if its label contradicts its text.

    Args:
        split: Split of the item.
        item: Row of the item.
        note: The remark; "" for none.
    """
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
