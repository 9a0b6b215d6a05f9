"""The schema of audit.json, and the way to read one.

It is a JSON Schema, `audit.schema.json`, explained in docs/audit_schema.md. Its version is `SCHEMA_VERSION`: a
new minor version only adds fields.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.storing.records import changed_files, digest_of_value
from rightreasons.foundations.storing.swap import finish_swap

SCHEMA_VERSION = "1.0"

AUDIT_FILE = "audit.json"

LONGEST = 300
"""Characters of an error about a field; of a longer one the end is shown, which says what is wrong."""


@functools.cache
def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of audit.json.

    Example:
        >>> audit_schema()["title"]
        'rightreasons audit, version 1'
    """
    file = resources.files("rightreasons.auditing") / "audit.schema.json"
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema


@checks_kinds
def check_audit(audit: object) -> None:
    """Check a value against the schema of audit.json.

    Args:
        audit: What `json.load` gives for an audit.json.

    Raises:
        ValueError: If a field differs: which, and how.

    Example:
        >>> check_audit({"schema_version": "1.0"})
        Traceback (most recent call last):
        ...
        ValueError: Expected the audit to fit its schema, but 'rightreasons' is a required property.
    """
    import jsonschema

    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(audit_schema()).iter_errors(audit))
    if error is not None:
        field = error.json_path.removeprefix("$").lstrip(".")
        place = f"`{field}` in the audit" if field else "the audit"
        message = error.message if len(error.message) <= LONGEST else f"…{error.message[-LONGEST:]}"
        raise ValueError(f"Expected {place} to fit its schema, but {message}.")


@checks_kinds
def read_audit(report: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the audit.json of a report, and check it.

    Args:
        report: The folder of a report, or its audit.json.

    Returns:
        The audit, in the form that docs/audit_schema.md explains.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is not an audit, or of a later major version.
    """
    path = Path(report)
    file = path / AUDIT_FILE if path.is_dir() else path
    with contextlib.suppress(OSError):  # what a killed command had written, unless the folder can be read alone
        finish_swap(file.parent)
    if not file.is_file():
        raise FileNotFoundError(f"Expected the folder of a report with {AUDIT_FILE} in it, but {str(path)!r} has none.")
    try:
        audit = json.loads(file.read_text("utf-8"), parse_constant=_refuse)
    except ValueError as error:
        raise ValueError(f"Expected {str(file)!r} to be an audit in JSON, but it cannot be read: {error}.") from error
    version = audit.get("schema_version") if isinstance(audit, dict) else None
    if isinstance(version, str) and version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise ValueError(f"Expected an audit of schema version {SCHEMA_VERSION}, but {str(file)!r} is of {version}.")
    try:
        check_audit(audit)
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is not an audit: {error}") from error
    if "digest" in audit and signed(audit)["digest"] != audit["digest"]:
        raise ValueError(
            f"Expected {str(file)!r} as an audit wrote it, but it was changed or is damaged: repeat the audit, which "
            "goes on from what it kept."
        )
    return dict(audit)


def signed(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit with the digest of everything else in it."""
    content = {name: value for name, value in audit.items() if name != "digest"}
    return {**content, "digest": digest_of_value(content)}


def check_files(folder: Path, audit: Mapping[str, Any], names: Iterable[str]) -> None:
    """Check that files of a report are those that its audit.json was written with.

    Args:
        folder: The folder of the report.
        audit: What its audit.json holds.
        names: The files, relative to the folder.

    Raises:
        ValueError: If a file is missing or another one.
    """
    digests = audit.get("files", {})
    changed = changed_files(folder, {name: digests[name] for name in names if name in digests})
    if changed:
        raise ValueError(
            f"Expected the files of {folder} as its {AUDIT_FILE} names them, but {changed[0]} is another one, damaged "
            "or gone: repeat the audit, which goes on from what it kept."
        )


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
