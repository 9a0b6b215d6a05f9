"""What the first screen says about cues in the choices."""

from __future__ import annotations

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import gate
from rightreasons.auditing.page.parts import Action, Finding
from rightreasons.auditing.page.words import p_equals, percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.cues import CueFigures, ModelOnCues


def finding(context: AuditContext, figures: CueFigures, model: ModelOnCues, n_items: int) -> Finding:
    """Say how much better the model is where cues help."""
    gap = model.gap
    actions = (
        Action("Read the cues that lead to the right choice, and the items that have them.", link="#cues"),
        Action("Test on items whose cues are balanced: mirror each item so that every choice is right once."),
        gate("cues.easy_hard_gap.low > 0.1", "the gap between Easy and Hard items is surely above 10 points"),
    )
    if gap is None:
        reach = percent(figures.accuracy.value or 0.0)
        return Finding(
            claim=f"was asked items of which cues alone solve {reach}, where guessing gets {percent(figures.chance)}",
            evidence=f"{counted(n_items, 'item')}.",
            figure="cue_only_accuracy",
            actions=actions,
        )
    return Finding(
        claim=f"gets {percent(gap.easy_accuracy)} right where cues lead to the answer and {percent(gap.hard_accuracy)} "
        "where they do not",
        evidence=f"Permutation test of the gap, p {p_equals(gap.p_value)}, {counted(n_items, 'item')}.",
        figure="easy_hard_gap",
        size=max(gap.easy_hard_gap, 0.0),
        plot="easy_hard",
        actions=actions,
    )
