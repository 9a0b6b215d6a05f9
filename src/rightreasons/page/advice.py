"""Commands that the advice of a question ends in."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightreasons.io.options import SourceOptions

TO_LOG = (
    "lm-evaluation-harness logs the scores of choices if the task has `output_type: "
    "multiple_choice`, and inspect_ai those of letters with `--logprobs --top-logprobs 20`. In a "
    "table of your own, `--confidence-column` names the confidence in the answer."
)
"""Advice for logs that have answers without scores."""


def format_report_folder(out: str | os.PathLike[str]) -> str:
    """Return the path of a report as the commands on its page name it."""
    folder = Path(out)
    # Apps write reports to a temporary folder, and move them afterwards. So the commands of the
    # report contain only the name of the folder.
    if folder.is_relative_to(tempfile.gettempdir()):
        return folder.name
    return str(folder)


def ask(context: Any, question: str, *, all_items: bool = False, **options: str) -> str:
    """Return the command that repeats one question of an audit, with further options.

    An example is "rightreasons audit MODEL DATASET --questions cues --cues-k 8". If the model or the
    data is an object in memory, which a command cannot name, the result is a call in Python.

    Args:
        context: The audit; `command` is its command, or "".
        question: Name of the question.
        all_items: Whether to remove the limit on the number of items.
        **options: Options of the question, as strings of the command line.
    """
    if not context.command:
        return _call_audit(context, question, options)
    command = shlex.split(context.command)
    if all_items:
        _drop_option(command, "--limit")
    command += ["--questions", question]
    for name, value in options.items():
        flag = name.replace("_", "-")
        command.append(f"--{question}-{flag}")
        command.append(value)
    return shlex.join(command)


def _call_audit(context: Any, question: str, options: dict[str, str]) -> str:
    """Return the call in Python that asks one question about a model and data in memory.

    An example is "rightreasons.audit(model, data, questions=['cues'], options={'cues': {'k': 8}})".

    Args:
        context: The audit. If it has stored predictions, the call has a table instead of a model.
        question: Name of the question.
        options: Options of the question, as strings of the command line.
    """
    arguments = ["model, data"]
    if context.stored:
        arguments = ["predictions=table"]
    arguments.append(f"questions={[question]}")
    values: dict[str, int | list[str]] = {}
    for name, value in options.items():
        # Convert the string of the command line to a number or to a list of names.
        if value.isdigit():
            values[name] = int(value)
        else:
            values[name] = value.split(",")
    if values:
        options_by_question = {question: values}
        arguments.append(f"options={options_by_question}")
    return f"rightreasons.audit({', '.join(arguments)})"


def repair(context: Any, report: str, words: Sequence[str], text: str) -> str:
    """Add a command or a call in Python to the advice to retrain the model without shortcuts.

    Args:
        context: The audit. If its model is an object in memory, which a command cannot name, the
            advice ends with its `repair_command` or with a call in Python.
        report: Folder of the report.
        words: Words that should not decide predictions.
        text: The advice.

    Returns:
        The advice with the command at its end, in backticks.
    """
    # A model in memory may come from a command that can make it again, such as that of the demo.
    if context.repair_command:
        return _add_line(text, context.repair_command)
    # A command cannot name a model or a table in memory.
    if not context.command:
        not_reasons = list(words)
        call = f"rightreasons.repair({report!r}, train, model, not_reasons={not_reasons})"
        return _add_line(text, call)
    # If the audit had no training texts, the user has to replace "train.csv" by a file.
    train = context.settings.train or "train.csv"
    command = ["rightreasons", "repair", report, "--train", train]
    command += ["--not-reasons", ",".join(words)]
    return _add_command(text, command)


def debias(context: Any, text: str) -> str:
    """Return advice to correct answer priors of the audited model, with the command that proves it.

    Args:
        context: The audit, of a model and data that a command can name.
        text: The advice.
    """
    # The command takes the model, the data and their options as the audit does.
    command = shlex.split(context.command)
    # The first two words of the command are "rightreasons audit".
    command[1] = "debias"
    # There are no earlier tests of a correction.
    _drop_option(command, "--after")
    return _add_command(text, command)


def mirror(context: Any, text: str) -> str:
    """Add the first command to the advice to balance the choices of the audited items.

    Args:
        context: The audit. If its data is an object in memory, which a command cannot name, the
            command contains DATA, which the user has to replace.
        text: The advice.

    Returns:
        The advice with the command at its end, in backticks.
    """
    command = ["rightreasons", "data", "mirror", "write"]
    if context.command:
        # The command reads the same rows and columns as the audit, so it gets the same options.
        changes = context.settings.get_changes()
        source_options = {}
        for name in SourceOptions.list_names():
            if name in changes:
                source_options[name] = changes[name]
        command.append(context.dataset_name)
        command += SourceOptions(**source_options).to_flags()
    else:
        command.append("DATA")
    return _add_command(text, [*command, "--out", "to-mirror.csv"])


def gate(report: str, condition: str, reason: str) -> str:
    """Return advice to let a build fail if the same is found again."""
    command = ["rightreasons", "gate", report, "--fail-if", condition]
    return _add_command(f"Fail the build when {reason}.", command)


def compare(report: str, text: str) -> str:
    """Return advice to change a model, and to compare its report with this one."""
    command = ["rightreasons", "compare", report, "new-report", "--out", "comparison"]
    return _add_command(text, command)


def _add_command(text: str, command: Sequence[str]) -> str:
    """Return advice that ends in a command."""
    return _add_line(text, shlex.join(command))


def _add_line(text: str, line: str) -> str:
    """Return advice that ends in a line in backticks, which the page lets a reader copy."""
    return f"{text} `{line}`"


def _drop_option(command: list[str], flag: str) -> None:
    """Remove an option and its value from the words of a command, in place, if it is there."""
    if flag in command:
        index = command.index(flag)
        del command[index : index + 2]
