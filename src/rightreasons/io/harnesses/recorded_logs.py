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
    """Read the answers to the requests of an audit from a log of a harness.

    Args:
        source: The path of a file; anything else has no such answers.

    Returns:
        The name of the model, and a record per sample; None if the file has none.

    Raises:
        ValueError: If the file is a damaged archive.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    # Other files are parsed only once, by their own readers.
    if path.suffix not in TYPES or not path.is_file() or not _mentions_records(path):
        return None
    if path.suffix == ".jsonl":
        return _read_lines(path)
    if path.suffix == ARCHIVE:
        return _collect_records(read_archive(path), path)
    return _collect_records(json.loads(path.read_text("utf-8")), path)


def _collect_records(log: Mapping[str, Any], path: Path) -> tuple[str, Records] | None:
    """Return the model of a log of inspect_ai, and the record in the metadata of each sample.

    Args:
        log: The content of the file.
        path: The file, whose name replaces a missing name of the model.

    Returns:
        None if no sample has a record; a sample that ended in an error has none.
    """
    records = []
    for sample in list_objects(get_inner(log, "samples")):
        record = get_inner(sample, "metadata", REQUESTS_KEY)
        if isinstance(record, Mapping):
            records.append(record)
    if not records:
        return None
    model = str(get_inner(log, "eval", "model") or path.stem)
    return model, records


def _mentions_records(path: Path) -> bool:
    """Return whether a file may have records of requests, without parsing all of it.

    Args:
        path: A log of inspect_ai (.eval or .json), or a file of samples (.jsonl).
    """
    if path.suffix == ARCHIVE:
        return _is_asked_by_questions(path)
    key = REQUESTS_KEY.encode()
    if path.suffix == ".json":
        return key in path.read_bytes()
    # Each line has a record, so that the first one is enough.
    with path.open("rb") as file:
        return key in file.readline()


def _is_asked_by_questions(path: Path) -> bool:
    """Return whether the header of an archive of inspect_ai names our solver for the requests of audits.

    False for an archive that cannot be read: its own reader reports what is wrong with it.
    """
    try:
        from inspect_ai.log import read_eval_log

        log = read_eval_log(str(path), header_only=True)
    except Exception:
        return False
    return any(step.solver.endswith("questioned") for step in log.plan.steps)


def _read_lines(path: Path) -> tuple[str, Records] | None:
    """Return the model of a file of samples of lm-evaluation-harness, and the record in each document.

    Args:
        path: The file, whose folder names the model.

    Returns:
        None if no document has a record.
    """
    records = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = get_inner(json.loads(line), "doc", REQUESTS_KEY)
            if isinstance(record, Mapping):
                records.append(record)
    if not records:
        return None
    # The folder of the file has the name of the model.
    model, _ = logged(path, {})
    return model or path.stem, records
