"""What several questions advise."""

from __future__ import annotations

import shlex

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.parts import Action


def ask(context: AuditContext, question: str, *, all_items: bool = False, **options: str) -> str:
    """Return the command that asks one question again as the audit did, with further options of the question.

    Args:
        context: The audit; MODEL and DATASET stand for its own where these are objects, which no command can name.
        question: The question.
        all_items: Whether to leave out the limit of the audit.
        **options: Options of the question.
    """
    command = shlex.split(context.command) or ["rightreasons", "audit", "MODEL", "DATASET"]
    if all_items and "--limit" in command:
        limit = command.index("--limit")
        del command[limit : limit + 2]
    flags = [word for name, value in options.items() for word in (f"--{question}-{name.replace('_', '-')}", value)]
    return shlex.join([*command, "--questions", question, *flags])


def gate(condition: str, what: str) -> Action:
    """Advise a gate, so that what was found does not come back unseen."""
    command = f"rightreasons gate report --fail-if {shlex.quote(condition)}"
    return Action(f"Keep watch: fail the build when {what}.", command)


def compare(text: str) -> Action:
    """Advise a change, and to compare the report of the changed model with this one."""
    return Action(text, "rightreasons compare report new-report --out comparison")
