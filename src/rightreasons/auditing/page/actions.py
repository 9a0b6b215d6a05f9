"""What several questions advise."""

from __future__ import annotations

import shlex

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.parts import Action


def ask(context: AuditContext, question: str, *options: str) -> str:
    """Return the command that asks one question of the audited model and data again, with further options."""
    return shlex.join(["rightreasons", question, context.model_name, context.dataset_name, *options])


def gate(condition: str, what: str) -> Action:
    """Advise a gate, so that what was found does not come back unseen."""
    command = f"rightreasons gate report --fail-if {shlex.quote(condition)}"
    return Action(f"Keep watch: fail the build when {what}.", command)


def compare(text: str) -> Action:
    """Advise a change, and to compare the report of the changed model with this one."""
    return Action(text, "rightreasons compare report new-report --out comparison")
