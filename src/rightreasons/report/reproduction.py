"""How an audit is repeated: its arguments by name for audit.yaml, and its command line."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.options import Options
from rightreasons.report.questions import format_audit_arguments


def list_arguments(
    sources: Sequence[Any],
    settings: Sequence[Options],
    questions: Sequence[str] = (),
    options: Mapping[str, Options] | None = None,
) -> dict[str, Any]:
    """Return the arguments that repeat an audit, as audit.yaml stores them.

    Args:
        sources: The model and the data; None for an input that was not given.
        settings: Options of the audit as a whole.
        questions: Names of the questions; empty for all that apply.
        options: Question -> its options.

    Returns:
        Name -> value of the arguments that are not defaults, such as `{"model": "m", "dataset":
        "d.csv", "limit": 5, "probes_ks": [1]}`; empty if the model or the data is an object in
        memory.
    """
    arguments: dict[str, Any] = {}
    for name, source in zip(("model", "dataset"), sources, strict=True):
        if source is None:
            continue
        # A file cannot name an object.
        if not isinstance(source, (str, os.PathLike)):
            return {}
        arguments[name] = os.fspath(source)
    if questions:
        arguments["questions"] = list(questions)
    for group in settings:
        arguments.update(group.get_changes())
    for question, question_options in (options or {}).items():
        for name, value in question_options.get_changes().items():
            arguments[f"{question}_{name}"] = value

    # YAML has lists, and no tuples.
    for name, value in arguments.items():
        if isinstance(value, tuple):
            arguments[name] = list(value)
    return arguments


def make_audit_command(arguments: Mapping[str, Any]) -> str:
    """Return the command line for the result of `list_arguments`; "" if it is empty."""
    if not arguments:
        return ""
    return shlex.join(["rightreasons", "audit", *format_audit_arguments(arguments)])
