"""The declared form of audit.json, and the one way to read one back.

The form is a JSON Schema, `audit.schema.json`, explained in docs/audit_schema.md; `check_audit` holds a value
against the keywords that it uses. Its version is `SCHEMA_VERSION`: a new minor version only adds fields.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

SCHEMA_VERSION = "1.0"

AUDIT_FILE = "audit.json"

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


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


def check_audit(audit: object) -> None:
    """Check a value against the schema of audit.json.

    Args:
        audit: What `json.load` gives for an audit.json.

    Raises:
        ValueError: At the first field that differs: where it is, what was expected and what came.

    Example:
        >>> check_audit({"schema_version": "1.0"})
        Traceback (most recent call last):
        ...
        ValueError: Expected `rightreasons` in the audit, but it is missing.
    """
    _check(audit, audit_schema(), "")


def read_audit(report: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the audit.json of a report, and check it.

    Args:
        report: The folder of a report, or its audit.json.

    Returns:
        The audit, of the form that docs/audit_schema.md explains.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is no audit, or of a later major version.
    """
    path = Path(report)
    file = path / AUDIT_FILE if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(f"Expected the folder of a report with {AUDIT_FILE} in it, but {str(path)!r} has none.")
    try:
        audit = json.loads(file.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"Expected {str(file)!r} to be an audit in JSON, but it cannot be read: {error}.") from error
    version = audit.get("schema_version") if isinstance(audit, dict) else None
    if isinstance(version, str) and version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise ValueError(f"Expected an audit of schema version {SCHEMA_VERSION}, but {str(file)!r} is of {version}.")
    try:
        check_audit(audit)
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is no audit: {error}") from error
    return dict(audit)


def _check(value: object, schema: Mapping[str, Any], where: str) -> None:
    if "$ref" in schema:
        schema = audit_schema()["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    place = f"`{where}` in the audit" if where else "the audit"
    if "oneOf" in schema:
        schema = next(option for option in schema["oneOf"] if (option.get("type") == "null") == (value is None))
        _check(value, schema, where)
        return
    if "enum" in schema:
        if value not in schema["enum"]:
            raise ValueError(f"Expected {place} to be one of {schema['enum']}, but got {_short(value)}.")
        return
    wanted = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    classes = tuple(kind for name in wanted for kind in _TYPES[name])
    if not isinstance(value, classes) or isinstance(value, bool):
        raise ValueError(f"Expected {place} to be {' or '.join(wanted)}, but got {_short(value)}.")
    if isinstance(value, dict):
        _check_object(value, schema, where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, schema["items"], f"{where}[{index}]")
    elif isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise ValueError(f"Expected {place} to match {schema['pattern']}, but got {_short(value)}.")
    elif isinstance(value, (int, float)):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:  # also refuses NaN
            raise ValueError(f"Expected {place} between {low} and {high}, but got {value}.")


def _check_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> None:
    prefix = f"{where}." if where else ""
    for name in schema.get("required", ()):
        if name not in value:
            raise ValueError(f"Expected `{prefix}{name}` in the audit, but it is missing.")
    known = schema.get("properties", {})
    more = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in known:
            _check(item, known[name], prefix + name)
        elif more is False:
            raise ValueError(f"Expected no `{prefix}{name}` in the audit, but it is there.")
        elif isinstance(more, Mapping):
            _check(item, more, prefix + name)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
