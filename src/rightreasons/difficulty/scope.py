"""Models that have Fisher information; `explain_missing_fisher` gives the reason if a model has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext


def explain_missing_fisher(context: AuditContext) -> str:
    """Explain why Fisher information cannot be computed for the audited model; "" if it can.

    Classifiers have Fisher information for their texts. Models that score choices or label words have it
    for their prompts.

    Args:
        context: The audit, with the model as `source`.
    """
    reason = context.why_no_gradients()
    if not reason:
        return ""
    # A model on a server has no parameters here, so torch, which takes seconds to import, is not needed.
    is_remote = getattr(context.source, "n_parameters", None) is None
    if is_remote:
        return reason
    from rightreasons.models.gradients.choice_fisher import (
        explain_missing_choice_gradients,
        is_scorer_of_choices,
    )

    # The reason above is about the words of a text. The gradients of choices are computed differently.
    if is_scorer_of_choices(context.scorer):
        return explain_missing_choice_gradients(context.scorer)
    return reason
