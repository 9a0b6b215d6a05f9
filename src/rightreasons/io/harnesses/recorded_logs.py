"""Logs with the answers to the requests of an audit: `read_records` for those of both harnesses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.io.harnesses.inspect_logs import read_archive
from rightreasons.io.logs import REQUESTS_KEY, get_inner, list_objects, logged

Records: TypeAlias = "list[Mapping[str, Any]]"

ARCHIVE = ".eval"
"""Type of the archives of inspect_ai."""

TYPES = (ARCHIVE, ".json", ".jsonl")
"""Types of the files of logs that can contain such answers."""


def read_records(source: object) -> tuple[str, Records] | None:
    """Return the model of a log, and the record of each of its samples.

    Args:
        source: The path of a file; anything else has no records.

    Returns:
        None if the file has no records.

    Raises:
        ValueError: If it is a damaged archive.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    # Other files are read once, by those who know their forms.
    if path.suffix not in TYPES or not path.is_file() or not _mentions_records(path):
        return None
    if path.suffix == ".jsonl":
        return _read_lines(path)
    if path.suffix == ARCHIVE:
        return _collect_records(read_archive(path), path)
    return _collect_records(json.loads(path.read_text("utf-8")), path)


def _collect_records(log: Mapping[str, Any], path: Path) -> tuple[str, Records] | None:
    """Return the model and the records of a log of inspect_ai."""
    records = []
    for sample in list_objects(get_inner(log, "samples")):
        record = get_inner(sample, "metadata", REQUESTS_KEY)
        # A sample that ended in an error has none.
        if isinstance(record, Mapping):
            records.append(record)
    if not records:
        return None
    return str(get_inner(log, "eval", "model") or path.stem), records


def _mentions_records(path: Path) -> bool:
    """Return whether a file may have records, without reading all of it as JSON."""
    if path.suffix == ARCHIVE:
        return _is_asked_by_questions(path)
    key = REQUESTS_KEY.encode()
    if path.suffix == ".json":
        return key in path.read_bytes()
    # The first line of a file of samples has the first of them.
    with path.open("rb") as file:
        return key in file.readline()


def _is_asked_by_questions(path: Path) -> bool:
    """Return whether the solver of an archive is ours, by its header."""
    try:
        from inspect_ai.log import read_eval_log

        log = read_eval_log(str(path), header_only=True)
    # What is wrong with the file is said by those who read it.
    except Exception:
        return False
    return any(step.solver.endswith("questioned") for step in log.plan.steps)


def _read_lines(path: Path) -> tuple[str, Records] | None:
    """Return the model and the records of samples of lm-evaluation-harness."""
    records = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = get_inner(json.loads(line), "doc", REQUESTS_KEY)
            if isinstance(record, Mapping):
                records.append(record)
    if not records:
        return None
    model, _ = logged(path, {})
    return model or path.stem, records
