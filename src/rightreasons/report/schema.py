"""The schema of audit.json, and functions that check and read one.

docs/audit_schema.md explains every field. A new minor version of `SCHEMA_VERSION` only adds fields.
Parts that a page shows have the fields of their dataclasses: `make_record_class` derives them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from rightreasons.audited.answer_groups import AnswerGroup
from rightreasons.core.labels.names import are_numbers
from rightreasons.core.results import NOT_SERIALIZED
from rightreasons.core.sentences import format_value
from rightreasons.core.store import check_folder, digest_value, list_changed_files
from rightreasons.core.validation import check_kind
from rightreasons.io.row_checks import RowDoubt
from rightreasons.page import parts
from rightreasons.page.formats import short_name
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE

SCHEMA_VERSION = "1.0"

AUDIT_FILE = "audit.json"

COMPARISON_FILE = "comparison.json"

MAX_CHARACTERS = 300
"""Longest value in an error about a field."""


class Record(BaseModel):
    """Base of the parts of a record: all fields are required unless they have a default."""

    model_config = ConfigDict(extra="forbid", strict=True)


Count = Annotated[int, Field(ge=0)]


ADDED_FIELDS: dict[type, tuple[str, ...]] = {
    AnswerFigures: ("unread_p", "positions", "epochs", "unserved"),
    AnswerGroup: ("p_value",),
    parts.Example: ("conditions", "choices"),
    parts.ExampleList: ("item_figure",),
    parts.Finding: ("contrast", "item_figure"),
    parts.ItemFigure: ("is_finding",),
}
"""Class -> fields that reports of earlier versions lack."""

JSON_TYPES: dict[type, dict[str, Any]] = {
    parts.Plot: {"file": str},
    parts.Table: {"rows": list[dict[str, Any]]},
    parts.ItemFigure: {
        "better": Literal["higher", "lower"],
        "unit": Literal["fraction", "ratio"],
        "n_items": int,
    },
}


@functools.cache
def make_record_class(part: Any) -> type[Record]:
    """Return a pydantic class that checks a part of the report as audit.json has it.

    Args:
        part: A dataclass, whose fields become those of the record.
    """
    hints = get_type_hints(part)
    types = {}
    for field in dataclasses.fields(part):
        if field.metadata != NOT_SERIALIZED:
            types[field.name] = _convert_type(hints[field.name])
    # Some fields have another type in JSON: a plot is the name of its file, and a row of a table is
    # a mapping from columns to cells.
    types.update(JSON_TYPES.get(part, {}))

    # pydantic expects (type, default) for each field, with `...` for a field without a default.
    declared: dict[str, Any] = {}
    for name, field_type in types.items():
        default: Any = ...
        # Reports of earlier versions lack these fields.
        if name in ADDED_FIELDS.get(part, ()):
            default = None
        declared[name] = (field_type, default)
    # Python has no type hint for lists of limited length.
    if part is parts.Finding:
        declared["pair"] = (types["pair"], Field(max_length=2))
    first_line, _, _ = part.__doc__.partition("\n")
    return create_model(part.__name__, __base__=Record, __doc__=first_line, **declared)


def _convert_type(hint: Any) -> Any:
    """Return the type hint for the values of a field in JSON.

    Dataclasses become record classes, tuples become lists, and mappings become dictionaries, such
    as `list[str]` for `tuple[str, ...]`.

    Args:
        hint: Type hint of a field of a dataclass.
    """
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return make_record_class(hint)
    origin = get_origin(hint)
    arguments = get_args(hint)
    # All tuples of the report have any number of elements of one type.
    if origin is tuple:
        return list[_convert_type(arguments[0])]  # type: ignore[misc]
    if origin in (Union, UnionType):
        return Union[tuple(_convert_type(argument) for argument in arguments)]  # noqa: UP007
    if origin is Mapping:
        return dict[str, Any]
    return hint


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
    """Findings of the checks of the rows."""

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
    """Findings of an audit of one model on one dataset."""

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
        audit: Value of `json.load` for an audit.json.

    Raises:
        ValueError: If a field differs, with its path and the difference.

    Example:
        >>> check_audit({"schema_version": "1.0"})
        Traceback (most recent call last):
        ...
        ValueError: Expected the audit to fit its schema, but `rightreasons` does not: field required.
    """
    try:
        Audit.model_validate(audit)
    except ValidationError as error:
        # The message has the first of the differences.
        difference = error.errors()[0]
        path = ".".join(map(str, difference["loc"]))
        message = difference["msg"]
        message = f"{message[:1].lower()}{message[1:]}"
        # The input of a missing field would be the whole record that lacks it.
        value = ""
        if difference["type"] != "missing":
            value = f": {format_value(difference['input'], MAX_CHARACTERS)}"
        raise ValueError(
            f"Expected the audit to fit its schema, but `{path}` does not{value}: {message}."
        ) from None


def read_audit(report: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the audit.json of a report, and check it.

    Args:
        report: The folder of a report, or its audit.json.

    Returns:
        The audit, in the form that docs/audit_schema.md explains.

    Raises:
        FileNotFoundError: If there is none.
        ValueError: If it is not an audit, is damaged, or is of a later major version.
    """
    check_kind(report, "report", str | os.PathLike)
    path = Path(report)
    file = path / AUDIT_FILE if path.is_dir() else path
    if not file.is_file():
        raise FileNotFoundError(
            f"Expected the folder of a report with {AUDIT_FILE} in it, but {str(path)!r} has none."
        )
    # `json` accepts NaN, which is no valid JSON: other programs cannot read it.
    try:
        audit = json.loads(file.read_text("utf-8"), parse_constant=_refuse_constant)
    except ValueError as error:
        raise ValueError(
            f"Expected {str(file)!r} to be an audit in JSON, but it cannot be read: {error}."
        ) from error
    _check_version(audit, file)
    try:
        check_audit(audit)
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is not an audit: {error}") from error
    # Reports of earlier versions have no digest.
    if "digest" in audit and add_digest(audit)["digest"] != audit["digest"]:
        raise ValueError(
            f"Expected {str(file)!r} as written by an audit, but the file was changed or is "
            "damaged. Repeat the audit, which resumes from its stored results."
        )
    return dict(audit)


def _check_version(audit: object, file: Path) -> None:
    """Raise a ValueError for an audit of another major version, whose fields have other meanings.

    Args:
        audit: Content of audit.json, not yet checked against the schema.
        file: Its path, for the error message.
    """
    if not isinstance(audit, dict):
        return
    version = audit.get("schema_version")
    # The check of the schema reports a missing version.
    if not isinstance(version, str):
        return
    major_version, _, _ = version.partition(".")
    expected_major_version, _, _ = SCHEMA_VERSION.partition(".")
    if major_version != expected_major_version:
        raise ValueError(
            f"Expected an audit of schema version {SCHEMA_VERSION}, but {str(file)!r} has schema "
            f"version {version}."
        )


def add_digest(audit: Mapping[str, Any]) -> dict[str, Any]:
    """Return an audit with the digest of its other fields."""
    # A digest of itself could not be computed.
    content = {name: value for name, value in audit.items() if name != "digest"}
    return {**content, "digest": digest_value(content)}


def check_files(folder: Path, audit: Mapping[str, Any], names: Iterable[str]) -> None:
    """Check that files of a report have the digests in its audit.json.

    Args:
        folder: The folder of the report.
        audit: Content of its audit.json.
        names: The files, relative to the folder.

    Raises:
        ValueError: If a file is missing or has changed.
    """
    # Reports of earlier versions have no digests.
    digests = audit.get("files", {})
    expected = {name: digests[name] for name in names if name in digests}
    changed = list_changed_files(folder, expected)
    if changed:
        raise ValueError(
            f"Expected the files of {folder} to match its {AUDIT_FILE}, but {changed[0]} is "
            "different, damaged or missing. Repeat the audit, which resumes from its stored "
            "results."
        )


def list_class_names(audit: Mapping[str, Any]) -> list[str]:
    """Return the names of the classes for readers.

    They are those of the model or, if the model only numbers its classes, those of the data.

    Args:
        audit: Content of audit.json.
    """
    class_names: list[str] = audit["model"]["label_names"]
    if not are_numbers(class_names):
        return class_names
    # Number of a class, which is its name in the model -> label of the data: "1" -> "positive".
    label_by_number = {}
    for label, number in audit["dataset"]["label_classes"].items():
        label_by_number[number] = label
    return [label_by_number.get(name, name) for name in class_names]


def get_names(audit: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the model and of the data for the title of a report.

    Predictions from the log of an evaluation have the names of the model and the task in the log.
    A path is shortened to the name of its file or folder, and a hub id is not shortened.

    Args:
        audit: Content of audit.json.

    Returns:
        Name of the model and name of the data, such as ("textattack/bert-base", "sst2").

    Example:
        >>> model = {"name": "logs/samples.jsonl", "logged": ["org/model", "piqa"]}
        >>> get_names({"model": model, "dataset": {"name": "logs/samples.jsonl"}})
        ('org/model', 'piqa')
        >>> model["logged"] = ["/models/tone", "piqa"]
        >>> get_names({"model": model, "dataset": {"name": "logs/samples.jsonl"}})
        ('tone', 'piqa')
    """
    model_path = audit["model"]["name"]
    data_path = audit["dataset"]["name"]
    logged_model = ""
    logged_task = ""
    # Only audits of a log have this field. Either name may be "" in it.
    if audit["model"].get("logged"):
        logged_model, logged_task = audit["model"]["logged"]

    model_name = short_name(model_path)
    data_name = short_name(data_path)
    # If one file contains both the predictions and the data, both get its name without extension.
    if model_path == data_path and not logged_task:
        model_name = Path(data_path).stem
        data_name = model_name
    if logged_model:
        # A harness logs the folder of a local model.
        model_name = short_name(logged_model)
    if logged_task:
        data_name = logged_task
    return model_name, data_name


def describe_subject(audit: Mapping[str, Any]) -> str:
    """Return the model as the subject of a sentence: its name or, without one, "The model of FILE".

    Example:
        >>> model = {"name": "answers.csv", "logged": ["", ""]}
        >>> describe_subject({"model": model, "dataset": {"name": "answers.csv"}})
        'The model of answers.csv'
    """
    logged = audit["model"].get("logged")
    # Stored predictions are named after their file unless a log names the model. A file is neither
    # correct nor confident.
    if logged is not None and not logged[0]:
        return f"The model of {short_name(audit['model']['name'])}"
    name, _ = get_names(audit)
    return name


def prepare_page_folder(out: str | os.PathLike[str], *own_files: str) -> Path:
    """Check that a page other than that of an audit can be written into a folder.

    This is called before a long computation, so that its results are not lost.

    Args:
        out: The folder.
        *own_files: Further files of the page, such as "comparison.json", which may be overwritten.

    Returns:
        The folder as a path.

    Raises:
        ValueError: If the folder cannot be written, or contains other files or an audit.
    """
    folder = check_folder(out, own=(*own_files, PAGE, "figures"))
    # The page of an audit has the same name, and would be overwritten.
    if (folder / AUDIT_FILE).exists():
        raise ValueError(
            f"Expected a folder without an audit for the new page, but {folder} contains "
            f"{AUDIT_FILE}."
        )
    return folder


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")
