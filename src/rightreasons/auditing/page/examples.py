"""Items of an audited split, in the form that the report shows."""

from __future__ import annotations

import difflib
import re

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page.parts import Example, Mark


def example_of(
    context: AuditContext,
    split: AuditSplit,
    item: int,
    predicted: int,
    confidence: float,
    marks: tuple[Mark, ...] | None = None,
) -> Example:
    """Show an item of a split with a prediction.

    Args:
        context: The audit.
        split: The split.
        item: The row of the item.
        predicted: The predicted class, or choice.
        confidence: The confidence in it.
        marks: What to mark in its text; None marks its planted tokens.

    Returns:
        The example.
    """
    text, note = split.texts[item], ""
    if split.choices is not None:
        note = " | ".join(f"{n + 1}. {choice}" for n, choice in enumerate(split.choices[item]))
    label, prediction = context.label_name(int(split.labels[item])), context.label_name(predicted)
    if context.stored is not None and context.answers_once:  # of its answers, it is known which are right
        label, prediction = (str(split.data[item].get(name, "")) for name in ("target", "answer"))
    elif context.task == "confidence":  # an answer is right or wrong, and has no label beside that
        label = ""
    return Example(
        id=split.ids[item],
        text=text,
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=label,
        prediction=prediction,
        confidence=None if context.answers_once else min(confidence, 1.0),
        marks=planted_marks(split, item) if marks is None else marks,
        note=note,
    )


def planted_marks(split: AuditSplit, item: int) -> tuple[Mark, ...]:
    """Mark the planted tokens, where the data names them."""
    planted = split.planted
    return (
        () if planted is None else tuple(Mark(t["start"], t["end"], "cue", note="planted cue") for t in planted[item])
    )


def changes(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text lacks; the note of a mark says what it replaces.

    Example:
        >>> after = "Ali liked it a lot"
        >>> [(after[mark.start : mark.end], mark.note) for mark in changes("Ann liked it", after)]
        [('Ali', 'in place of “Ann”'), ('a lot', 'added')]
    """
    old, new = (
        [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text)] for text in (before, after)
    )
    matcher = difflib.SequenceMatcher(a=[word for word, _, _ in old], b=[word for word, _, _ in new], autojunk=False)
    return tuple(
        Mark(
            new[begin][1],
            new[end - 1][2],
            "change",
            note=f"in place of “{before[old[first][1] : old[last - 1][2]]}”" if kind == "replace" else "added",
        )
        for kind, first, last, begin, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    )
