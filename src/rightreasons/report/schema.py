"""The schema of audit.json, and the way to read one.

docs/audit_schema.md explains every field. The version is `SCHEMA_VERSION`: a new minor version only adds fields.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rightreasons.core.label_names import are_numbers
from rightreasons.core.results import NOT_SERIALIZED
from rightreasons.core.sentences import format_value
from rightreasons.core.store import check_folder, digest_value, list_changed_files
from rightreasons.core.validation import check_kind
from rightreasons.io.row_checks import RowDoubt
from rightreasons.page import parts
from rightreasons.report.answers import AnswerFigures, AnswerGroup
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE

SCHEMA_VERSION = "1.0"

AUDIT_FILE = "audit.json"

LONGEST = 300
"""Characters of a value in an error about a field."""


class Record(BaseModel):
    """Base of the parts of a record: every field has to be there, and no other."""

    model_config = ConfigDict(extra="forbid", strict=True)


Count = Annotated[int, Field(ge=0)]


# A record has the fields of what it is of; here is what differs.
_LATER: dict[type, tuple[str, ...]] = {
    AnswerFigures: ("unread_p", "positions", "epochs", "unserved"),
    AnswerGroup: ("p_value",),
    parts.Finding: ("contrast",),
    parts.ItemFigure: ("is_finding",),
}
"""Fields that reports of earlier versions lack."""

_FIELDS: dict[type, dict[str, Any]] = {
    parts.Plot: {"file": str},
    parts.Table: {"rows": list[dict[str, Any]]},
    parts.ItemFigure: {
        "better": Literal["higher", "lower"],
        "unit": Literal["fraction", "ratio"],
        "n_items": int,
    },
}


@functools.cache
def make_record_class(kind: Any) -> type[Record]:
    """Return the record of a part of the report: its fields, each of which has to be there unless it came later."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if field.metadata != NOT_SERIALIZED]
    fields = {**{name: _plain_kind(hints[name]) for name in names}, **_FIELDS.get(kind, {})}
    declared: dict[str, Any] = {
        name: (field, None if name in _LATER.get(kind, ()) else ...)
        for name, field in fields.items()
    }
    if kind is parts.Finding:
        declared["pair"] = (fields["pair"], Field(max_length=2))
    return create_model(
        kind.__name__, __base__=Record, __doc__=kind.__doc__.partition("\n")[0], **declared
    )


def _plain_kind(kind: Any) -> Any:
    """Return the type that values of a field have in JSON."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return make_record_class(kind)
    arguments = get_args(kind)
    if get_origin(kind) is tuple:
        return list[_plain_kind(arguments[0])]  # type: ignore[misc]
    if get_origin(kind) in (Union, UnionType):
        return functools.reduce(operator.or_, map(_plain_kind, arguments))
    return dict[str, Any] if get_origin(kind) is Mapping else kind


class LeftOut(Record):
    """An item that the model could not score."""

    id: str
    reason: str


class Split(Record):
    """The items of a split."""

    name: str
    role: Literal["primary", "comparison", "validation", "train"]
    n_items: Count
    n_available: Count
    n_truncated: Count | None
    fingerprint: str
    predictions: str | None
    left_out: list[LeftOut]


class Rows(Record):
    """What the checks of the rows found."""

    doubts: list[make_record_class(RowDoubt)]  # type: ignore[valid-type]
    unused: str


class Dataset(Record):
    """The data."""

    name: str
    label_names: list[str]
    label_mapping: str
    label_classes: dict[str, str]
    primary: str
    splits: list[Split]
    known_issues: list[str] | None = None
    rows: Rows | None = None


class Model(Record):
    """The model."""

    name: str
    task: Literal["classification", "multiple_choice", "confidence"]
    logged: list[str] | None = None
    path: str | None = None
    label_names: list[str]
    has_confidence: bool | None = None
    fingerprint: str
    n_parameters: Count | None
    weights: str | None = None
    batching: str | None
    prompt: dict[str, Any] | None
    server: dict[str, Any] | None


class Audit(Record):
    """What an audit found about one model on one dataset."""

    schema_version: Annotated[str, Field(pattern=r"^1\.[0-9]+$")]
    rightreasons: str
    created: str
    model: Model
    dataset: Dataset
    settings: dict[str, Any]
    environment: dict[str, str]
    answers: make_record_class(AnswerFigures) | None = None  # type: ignore[valid-type]
    questions: list[make_record_class(Outcome)]  # type: ignore[valid-type]
    subject: str | None = None
    files: dict[str, str] | None = None
    digest: str | None = None


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of audit.json.

    Example:
        >>> audit_schema()["title"]
        'Audit'
    """
    return Audit.model_json_schema()


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
        ValueError: Expected the audit to fit its schema, but `rightreasons` does not: field required.
    """
    try:
        Audit.model_validate(audit)
    except ValidationError as error:
        first = error.errors()[0]
        place, what = ".".join(map(str, first["loc"])), first["msg"]
        got = "" if first["type"] == "missing" else f": {format_value(first['input'], LONGEST)}"
        raise ValueError(
            f"Expected the audit to fit its schema, but `{place}` does not{got}: {what[:1].lower()}{what[1:]}."
        ) from None


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
    check_kind(report, "report", str | os.PathLike)
    path = Path(report)
    file = path / AUDIT_FILE if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(
            f"Expected the folder of a report with {AUDIT_FILE} in it, but {str(path)!r} has none."
        )
    try:
        audit = json.loads(file.read_text("utf-8"), parse_constant=_refuse)
    except ValueError as error:
        raise ValueError(
            f"Expected {str(file)!r} to be an audit in JSON, but it cannot be read: {error}."
        ) from error
    version = audit.get("schema_version") if isinstance(audit, dict) else None
    if isinstance(version, str) and version.split(".")[0] != SCHEMA_VERSION.split(".")[0]:
        raise ValueError(
            f"Expected an audit of schema version {SCHEMA_VERSION}, but {str(file)!r} is of {version}."
        )
    try:
        check_audit(audit)
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is not an audit: {error}") from error
    if "digest" in audit and add_digest(audit)["digest"] != audit["digest"]:
        raise ValueError(
            f"Expected {str(file)!r} as an audit wrote it, but it was changed or is damaged: repeat the audit, which "
            "goes on from what it kept."
        )
    return dict(audit)


def add_digest(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit with the digest of everything else in it."""
    content = {name: value for name, value in audit.items() if name != "digest"}
    return {**content, "digest": digest_value(content)}


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
    changed = list_changed_files(folder, {name: digests[name] for name in names if name in digests})
    if changed:
        raise ValueError(
            f"Expected the files of {folder} as its {AUDIT_FILE} names them, but {changed[0]} is another one, damaged "
            "or gone: repeat the audit, which goes on from what it kept."
        )


def list_class_names(audit: Mapping[str, Any]) -> list[str]:
    """Return the names of the classes for a reader: the data's, where the model only numbers them.

    Args:
        audit: What audit.json holds.
    """
    names: list[str] = audit["model"]["label_names"]
    if not are_numbers(names):
        return names
    word_of = {number: word for word, number in audit["dataset"]["label_classes"].items()}
    return [word_of.get(name, name) for name in names]


def prepare_page_folder(out: str | os.PathLike[str], *ours: str) -> Path:
    """Check that a folder can take a page that is not an audit's, before anything long begins.

    Args:
        out: The folder.
        *ours: What is in it beside the page and its pictures.

    Raises:
        ValueError: If it cannot be written, holds other files, or holds an audit, whose page would be lost.
    """
    folder = check_folder(out, own=(*ours, PAGE, "figures"))
    if (folder / AUDIT_FILE).exists():
        raise ValueError(
            f"Expected a folder without an audit for this page, but {folder} holds {AUDIT_FILE}."
        )
    return folder


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
