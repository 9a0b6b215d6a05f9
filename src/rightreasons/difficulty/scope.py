"""Models that have Fisher information; `explain_missing_fisher` gives the reason if a model has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext


def explain_missing_fisher(context: AuditContext) -> str:
    """Return why the audited model has no Fisher information; "" if it has.

    Classifiers have it for their texts, and scorers of choices or label words for their prompts.

    Args:
        context: The audit.
    """
    reason = context.why_no_gradients()
    if not reason:
        return ""
    # A model that is not in this process has no parameters here, and needs no torch to say so.
    if getattr(context.source, "n_parameters", None) is None:
        return reason
    from rightreasons.models.gradients.choice_fisher import (
        explain_missing_choice_gradients,
        is_scorer_of_choices,
    )

    # A scorer of choices has gradients of its own kind.
    if is_scorer_of_choices(context.scorer):
        return explain_missing_choice_gradients(context.scorer)
    return reason
