"""The schema of audit.json, and the way to read one.

It is a JSON Schema, `audit.schema.json`, explained in docs/audit_schema.md. Its version is `SCHEMA_VERSION`: a
new minor version only adds fields.
"""

from __future__ import annotations

import functools
import json
import os
from importlib import resources
from pathlib import Path
from typing import Any

from rightreasons.foundations.sentences import checks_kinds

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
    return dict(audit)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
