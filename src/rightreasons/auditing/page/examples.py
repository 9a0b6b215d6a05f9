"""Items of an audited split, in the form that the report shows."""

from __future__ import annotations

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
    return Example(
        id=split.ids[item],
        text=text,
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=context.label_name(int(split.labels[item])),
        prediction=context.label_name(predicted),
        confidence=min(confidence, 1.0),
        marks=planted_marks(split, item) if marks is None else marks,
        note=note,
    )


def planted_marks(split: AuditSplit, item: int) -> tuple[Mark, ...]:
    """Mark the planted tokens, where the data names them."""
    planted = split.planted
    return (
        () if planted is None else tuple(Mark(t["start"], t["end"], "cue", note="planted cue") for t in planted[item])
    )
