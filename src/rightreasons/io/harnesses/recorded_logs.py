"""Answers to the requests of an audit that a harness recorded in its log.

`read_records` reads them from the logs of inspect_ai and lm-evaluation-harness.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.io.harnesses.inspect_logs import read_archive
from rightreasons.io.logs import REQUESTS_KEY, find_model_and_task, get_inner, list_objects

Records: TypeAlias = "list[Mapping[str, Any]]"
"""One record per sample, with the answers to the requests about its item."""

ARCHIVE = ".eval"
"""Type of the archives of inspect_ai."""

TYPES = (ARCHIVE, ".json", ".jsonl")
"""Types of the files of logs that may contain records."""


def read_records(source: object) -> tuple[str, Records] | None:
    """Read the answers to the requests of an audit from a log of a harness.

    Args:
        source: The path of a file, or any other source of predictions, which has no records.

    Returns:
        The name of the model, and a record per sample; None if the source has no records.

    Raises:
        ValueError: If the file is a damaged archive.
    """
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    # A file without records is not parsed here, because its own reader will parse it.
    if path.suffix not in TYPES or not path.is_file() or not _mentions_records(path):
        return None
    if path.suffix == ".jsonl":
        return _read_lines(path)
    if path.suffix == ARCHIVE:
        return _collect_records(read_archive(path), path)
    return _collect_records(json.loads(path.read_text("utf-8")), path)


def _collect_records(log: Mapping[str, Any], path: Path) -> tuple[str, Records] | None:
    """Return the model of a log of inspect_ai, and the records in the metadata of its samples.

    Args:
        log: The content of the file.
        path: The file, whose name replaces a missing name of the model.

    Returns:
        The name of the model, and the records, without samples that ended in an error; None if no sample
        has a record.
    """
    records = []
    for sample in list_objects(get_inner(log, "samples")):
        record = get_inner(sample, "metadata", REQUESTS_KEY)
        if isinstance(record, Mapping):
            records.append(record)
    if not records:
        return None
    # A log that was converted from another format may lack the name of the model.
    model = str(get_inner(log, "eval", "model") or path.stem)
    return model, records


def _mentions_records(path: Path) -> bool:
    """Return whether a file may have records of requests, without parsing all of it.

    Args:
        path: A log of inspect_ai (.eval or .json), or a file of samples (.jsonl).
    """
    if path.suffix == ARCHIVE:
        return _has_audit_solver(path)
    key = REQUESTS_KEY.encode()
    if path.suffix == ".json":
        return key in path.read_bytes()
    # Each line is a sample, all of which have a record or none has.
    with path.open("rb") as file:
        return key in file.readline()


def _has_audit_solver(path: Path) -> bool:
    """Return whether the header of an archive of inspect_ai names the solver for requests of audits.

    The result is False for a damaged archive, which its own reader will report.
    """
    # Only the header is read, because an archive may be large.
    try:
        from inspect_ai.log import read_eval_log

        log = read_eval_log(str(path), header_only=True)
    except Exception:
        return False
    return any(step.solver.endswith("questioned") for step in log.plan.steps)


def _read_lines(path: Path) -> tuple[str, Records] | None:
    """Return the model of a file of samples of lm-evaluation-harness, and the records in its documents.

    Args:
        path: The file, in a folder that is named after the model.

    Returns:
        The name of the model, and the records; None if no document has a record.
    """
    records = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = get_inner(json.loads(line), "doc", REQUESTS_KEY)
            if isinstance(record, Mapping):
                records.append(record)
    if not records:
        return None
    model, _ = find_model_and_task(path, {})
    return model or path.stem, records
