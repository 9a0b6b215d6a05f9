"""The answers of an audit on disk, so that a report keeps them when other questions are asked later."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from rightreasons.auditing.page import parts
from rightreasons.auditing.page.report import Outcome
from rightreasons.foundations.results import plain
from rightreasons.foundations.storing.records import read_record, write_record

FOLDER = "answers"
"""The folder, in that of work, of the answers."""

_KINDS: dict[str, Any] = {
    name: kind for name, kind in {**vars(parts), "Outcome": Outcome}.items() if dataclasses.is_dataclass(kind)
}


def save_answer(work: Path, outcome: Outcome, inputs: str) -> None:
    """Keep an answer; one with a part that is of no known kind is not kept, and the question is asked again.

    Args:
        work: The folder of work of a report.
        outcome: The question with its answer.
        inputs: A digest of what the answer depends on.
    """
    with contextlib.suppress(TypeError, ValueError):
        write_record(work / FOLDER / f"{outcome.question}.json", _encoded(outcome), inputs)


def load_answer(work: Path, question: str, inputs: str) -> Outcome | None:
    """Return a kept answer; None where there is none that depends on the same.

    Args:
        work: The folder of work of a report.
        question: The question.
        inputs: The digest of what the answer must depend on.
    """
    stored = read_record(work / FOLDER / f"{question}.json", inputs)
    try:
        return None if stored is None else _decoded(stored)
    except (KeyError, TypeError):  # of another version of these parts
        return None


def _encoded(value: Any) -> Any:
    """Write a result as JSON, with the kinds of its parts."""
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if type(value) in _KINDS.values():
        fields = {field.name: _encoded(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": type(value).__name__, "fields": fields}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    return plain(value) if value is None or isinstance(value, (str, int, float)) else {"plain": plain(value)}


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_decoded(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "plain" in value:
        return value["plain"]
    return _KINDS[value["kind"]](**{name: _decoded(field) for name, field in value["fields"].items()})
