"""Behavioral suites as files of JSON lines, plain or compressed.

A suite is JSON lines (`.jsonl`, `.jsonl.gz`). The first line is a header:

    {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"],
     "label_names": ["negative", "positive"]}

and every other line is one functionality:

    {"functionality": "negation", "functionality_class": "Negation", "test_type": "MFT",
     "expectation": {"name": "equal"},
     "cases": [{"examples": ["This is not good."], "labels": [0]}, …]}

An example is a text, or a list of texts where there are several columns. `labels` holds one expected answer per
example; a case may have an `id` (by default its number) and `meta`, one (old, new) replacement or null per example.
`label_names` names the labels 0, 1, …; where the header has it, a label may be given by its name.

Instead of `cases`, a line may say how to make them: a `template` with `lexicons`, or `data` with a `perturbation`
(`editor.py`). The header may hold `lexicons` and a `seed` for all of them.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rightreasons.core.options import check_options
from rightreasons.core.store import json_lines, write_bytes
from rightreasons.core.validation import parse_json
from rightreasons.datasets.suites.cases import Case, Functionality, check_label_names, check_plain
from rightreasons.datasets.suites.editor import functionality_from_row

FORMAT = "rightreasons.suite"
VERSION = 1

_HEADER = ("format", "version", "name", "text_columns", "label_names", "lexicons", "seed")

Text = Annotated[str, Field(pattern=r"\S")]


class _Line(BaseModel):
    """A part of a suite as a line of its file has it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CaseLine(_Line):
    """A case of a line."""

    id: Annotated[str, Field(min_length=1)] | int = ""
    examples: list[str | list[str]]
    labels: list[int | str | None] | None = None
    meta: list[Annotated[list[str], Field(min_length=2, max_length=2)] | None] | None = None

    def case(self, number: int) -> Case:
        """Return the case; its number is its id where it has none."""
        return Case(
            str(number if self.id == "" else self.id),
            tuple((texts,) if isinstance(texts, str) else tuple(texts) for texts in self.examples),
            None if self.labels is None else tuple(self.labels),
            None if self.meta is None else tuple(None if pair is None else tuple(pair) for pair in self.meta),
        )


class FunctionalityLine(_Line):
    """A functionality, with its cases."""

    functionality: Text
    functionality_class: Text
    test_type: Text
    expectation: dict[str, Any]
    cases: list[CaseLine]


_ENTRIES = {*FunctionalityLine.model_fields, *CaseLine.model_fields}


def read_file(file: Path) -> tuple[str, tuple[str, ...], tuple[Functionality, ...], tuple[str, ...] | None]:
    """Read a suite.

    Args:
        file: A .jsonl or .jsonl.gz file.

    Returns:
        Its name, its text columns, its functionalities, and the names of its labels or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite of this version; the line is named.
    """
    if not file.is_file():
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    rows = _json_lines(file)
    header: Any = next(rows, ("", None))[1]
    name, columns, label_names = _check_header(header, file)
    return name, columns, tuple(_functionalities(rows, header, columns, file)), label_names


def write_file(
    file: Path,
    name: str,
    text_columns: Sequence[str],
    functionalities: Iterable[Functionality],
    label_names: Sequence[str] | None = None,
) -> None:
    """Write a suite, compressed where the name of the file ends in .gz."""
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": name, "text_columns": list(text_columns)}
    if label_names is not None:
        header["label_names"] = list(label_names)
    text = json_lines((header, *map(_row, functionalities)))
    # Half a surrogate pair, which UTF-8 has not, is escaped as JSON has it.
    content = text.encode("utf-8", "backslashreplace")
    write_bytes(file, gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


# ------------------------------------------------------------------------------------------------------------- private


def _functionalities(
    rows: Iterator[tuple[str, Any]], header: Mapping[str, Any], columns: Sequence[str], file: Path
) -> Iterator[Functionality]:
    for place, row in rows:
        where = f"{place} of {file}"
        if not isinstance(row, Mapping) or "cases" in row or not ("template" in row or "data" in row):
            yield _functionality(row, where)
            continue
        try:
            lexicons, seed = header.get("lexicons", {}), header.get("seed", 0)
            yield functionality_from_row(row, text_columns=columns, lexicons=lexicons, seed=seed)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} ({where})") from error


def _json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        # Editors may write a mark before the first line.
        opened: Any = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt", encoding="utf-8-sig") as stream:
            lines = stream.readlines()
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        kind = "compressed text" if file.suffix == ".gz" else "text"
        raise ValueError(f"Expected {kind} in UTF-8 in {file}, but it holds other bytes.") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number}", parse_json(line, str(file), line=number)


def _check_header(header: Any, file: Path) -> tuple[str, tuple[str, ...], tuple[str, ...] | None]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f'Expected the first line of {file} to say "format": "{FORMAT}", but it does not.')
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise ValueError(f"Expected version {VERSION} of a suite in {file}, but got {header.get('version')!r}.")
    check_options(header, _HEADER, f"the first line of {file}")
    columns = header.get("text_columns", ["text"])
    if not isinstance(columns, list) or not columns or not all(isinstance(column, str) for column in columns):
        raise ValueError(f"Expected `text_columns` of {file} to be a list of names, but got {columns!r}.")
    label_names = header.get("label_names")
    if label_names is not None:
        check_label_names(label_names, str(file))
    name = header.get("name", file.stem)
    if not isinstance(name, str):
        raise ValueError(f"Expected `name` of {file} to be a text, but got {name!r}.")
    return name, tuple(columns), None if label_names is None else tuple(label_names)


def _functionality(row: Any, where: str) -> Functionality:
    try:
        line = FunctionalityLine.model_validate(row)
    except ValidationError as error:
        place, kind = error.errors()[-1]["loc"], error.errors()[-1]["type"]
        entry = next((part for part in reversed(place) if part in _ENTRIES), "the line")
        if kind == "extra_forbidden":
            parent = CaseLine if "cases" in place else FunctionalityLine
            check_options({str(place[-1]): None}, parent.model_fields, where)
        raise ValueError(f"Expected a functionality in {where}, but {entry!r} is missing or wrong.") from error
    cases = tuple(case.case(number) for number, case in enumerate(line.cases))
    return Functionality(line.functionality, line.functionality_class, line.test_type, line.expectation, cases)


def _row(functionality: Functionality) -> dict[str, Any]:
    check_plain(functionality)
    cases: list[dict[str, Any]] = []
    for case in functionality.cases:
        examples: Sequence[Any] = [texts[0] if len(texts) == 1 else list(texts) for texts in case.examples]
        entry: dict[str, Any] = {"id": case.id, "examples": examples}
        if case.labels is not None:
            entry["labels"] = list(case.labels)
        if case.meta is not None:
            entry["meta"] = [None if pair is None else list(pair) for pair in case.meta]
        cases.append(entry)
    return {
        "functionality": functionality.name,
        "functionality_class": functionality.functionality_class,
        "test_type": functionality.test_type,
        "expectation": dict(functionality.expectation),
        "cases": cases,
    }
