"""Commands that the advice of a question ends in."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any


def ask(context: Any, question: str, *, all_items: bool = False, **options: str) -> str:
    """Return the command that asks one question again as the audit did, with further options.

    Args:
        context: The audit. If its model or data are objects, which no command can name, the result
            is a call in Python.
        question: The question.
        all_items: Whether to leave out the limit of the audit.
        **options: Options of the question.
    """
    if not context.command:
        return _call_audit(context, question, options)
    command = shlex.split(context.command)
    if all_items and "--limit" in command:
        limit = command.index("--limit")
        # The option and its value.
        del command[limit : limit + 2]
    command += ["--questions", question]
    for name, value in options.items():
        command += [f"--{question}-{name.replace('_', '-')}", value]
    return shlex.join(command)


def _call_audit(context: Any, question: str, options: dict[str, str]) -> str:
    """Return the call that asks one question about objects in memory."""
    source = "model, data"
    if context.stored:
        source = "predictions=table"
    arguments = [source, f"questions={[question]}"]
    if options:
        values: dict[str, int | list[str]] = {}
        for name, value in options.items():
            # A command has texts where a call has numbers and lists.
            values[name] = int(value) if value.isdigit() else value.split(",")
        arguments.append(f"options={ {question: values} }")
    return f"rightreasons.audit({', '.join(arguments)})"


def repair(context: Any, report: str, words: Sequence[str], text: str) -> str:
    """Return advice to repair what decides, with the command or the call that does it.

    Args:
        context: The audit. If its model is an object, which no command can name, the advice ends in
            a call in Python.
        report: Folder of the report.
        words: Words that are no reasons.
        text: The advice.
    """
    # A command can name neither a model nor a table that is in memory.
    if not context.command:
        call = f"rightreasons.repair({report!r}, train, model, not_reasons={list(words)})"
        return f"{text} `{call}`"
    # Without a file of training texts there is no set to edit: the name is to be filled in.
    train = context.settings.train or "train.csv"
    command = ["rightreasons", "repair", report, "--train", train]
    command += ["--not-reasons", ",".join(words)]
    return f"{text} `{shlex.join(command)}`"


def gate(report: str, condition: str, reason: str) -> str:
    """Return advice to let a build fail if the same is found again."""
    command = shlex.join(["rightreasons", "gate", report, "--fail-if", condition])
    return f"Fail the build when {reason}. `{command}`"


def compare(report: str, text: str) -> str:
    """Return advice to change a model, and to compare its report with this one."""
    command = ["rightreasons", "compare", report, "new-report", "--out", "comparison"]
    return f"{text} `{shlex.join(command)}`"
