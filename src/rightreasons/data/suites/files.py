"""Behavioral suites as files: JSON lines, plain or compressed, and parquet.

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

The same suite as parquet has one row per functionality with the same entries, its cases nested; `expectation` and each
label are JSON. The header is in the metadata of the file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rightreasons.data.suites.cases import Case, Functionality, check_label_names, check_plain
from rightreasons.data.suites.editor import functionality_from_row
from rightreasons.foundations.atomic_write import json_lines, write_bytes, write_with
from rightreasons.foundations.bounds import parse_json
from rightreasons.foundations.validation import check_options

FORMAT = "rightreasons.suite"
VERSION = 1

_HEADER = ("format", "version", "name", "text_columns", "label_names", "lexicons", "seed")
_LINE = ("functionality", "functionality_class", "test_type", "expectation", "cases")
_CASE = ("id", "examples", "labels", "meta")

# A schema of pyarrow's: the writer of `datasets` keeps no metadata of a file, where the header is, and its reader
# copies every file into its cache. `datasets.load_dataset("parquet", data_files=…)` opens such a file as it is.
_TEXTS = pa.list_(pa.string())
_CASES = pa.struct(
    [("id", pa.string()), ("examples", pa.list_(_TEXTS)), ("labels", _TEXTS), ("meta", pa.list_(_TEXTS))]
)
_SCHEMA = pa.schema([*((name, pa.string()) for name in _LINE[:-1]), ("cases", pa.list_(_CASES))])


def read_file(file: Path) -> tuple[str, tuple[str, ...], tuple[Functionality, ...], tuple[str, ...] | None]:
    """Read a suite.

    Args:
        file: A .jsonl, .jsonl.gz or .parquet file.

    Returns:
        Its name, its text columns, its functionalities, and the names of its labels or None.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite of this version; the line or row is named.
    """
    name, columns, label_names, functionalities = open_file(file)
    return name, columns, tuple(functionalities), label_names


def open_file(file: Path) -> tuple[str, tuple[str, ...], tuple[str, ...] | None, Iterator[Functionality]]:
    """Read the header of a suite, and its functionalities one by one; see `read_file`."""
    if not file.is_file():
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    rows = _parquet_rows(file) if file.suffix == ".parquet" else _json_lines(file)
    header: Any = next(rows, ("", None))[1]
    name, columns, label_names = _check_header(header, file)
    return name, columns, label_names, _functionalities(rows, header, columns, file)


def write_file(
    file: Path,
    name: str,
    text_columns: Sequence[str],
    functionalities: Iterable[Functionality],
    label_names: Sequence[str] | None = None,
) -> None:
    """Write a suite in the format that the suffix of the file says."""
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": name, "text_columns": list(text_columns)}
    if label_names is not None:
        header["label_names"] = list(label_names)
    rows = [_row(functionality) for functionality in functionalities]
    if file.suffix == ".parquet":
        schema = _SCHEMA.with_metadata({FORMAT: json.dumps(header, ensure_ascii=False)})
        table = pa.Table.from_pylist([_nested(row) for row in rows], schema=schema)
        write_with(file, lambda temporary: pq.write_table(table, temporary, compression="zstd"))
        return
    text = json_lines((header, *rows))
    # Half a surrogate pair, which UTF-8 has not, is escaped as JSON has it.
    content = text.encode("utf-8", "backslashreplace")
    write_bytes(file, gzip.compress(content, mtime=0) if file.suffix == ".gz" else content)


# ------------------------------------------------------------------------------------------------------------- private


class _EntryError(Exception):
    """Names an entry of a functionality that is missing or wrong."""


def _functionalities(
    rows: Iterator[tuple[str, Any]], header: Mapping[str, Any], columns: Sequence[str], file: Path
) -> Iterator[Functionality]:
    for where, row in rows:
        try:
            if isinstance(row, Mapping) and "cases" not in row and ("template" in row or "data" in row):
                yield _made(row, header, columns, f"{where} of {file}")
            else:
                yield _functionality(row, f"{where} of {file}")
        except _EntryError as error:
            raise ValueError(
                f"Expected a functionality in {where} of {file}, but {error} is missing or wrong."
            ) from error


def _json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    # Editors may write a mark before the first line.
    how: Any = {"mode": "rt", "encoding": "utf-8-sig"}
    with gzip.open(file, **how) if file.suffix == ".gz" else file.open(**how) as lines:
        number = 0
        while True:
            number += 1
            try:
                line = lines.readline()
            except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
                kind = "compressed text" if file.suffix == ".gz" else "text"
                raise ValueError(f"Expected {kind} in UTF-8 in {file}, but it holds other bytes.") from None
            if not line:
                return
            if line.strip():
                yield f"line {number}", parse_json(line, str(file), line=number)


def _parquet_rows(file: Path) -> Iterator[tuple[str, Any]]:
    def told(read: Callable[[], Any]) -> Any:
        try:
            return read()
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise ValueError(f"Expected a parquet file of a suite at {file}, but it cannot be read.") from error

    table = told(lambda: pq.ParquetFile(file))
    with table:
        header = told(lambda: (table.schema_arrow.metadata or {}).get(FORMAT.encode(), b"null").decode())
        yield "the metadata", parse_json(header, f"the metadata of {file}")
        batches, number = table.iter_batches(batch_size=1), 0
        while rows := told(lambda: next((batch.to_pylist() for batch in batches), None)):
            yield f"row {number}", _plain(rows[0], f"row {number} of {file}")
            number += 1


def _plain(row: Any, where: str) -> Any:
    """Read the entries of a row that are JSON; what reads the row says what else is wrong with it."""
    try:
        row["expectation"] = parse_json(row["expectation"], where)
        for case in row["cases"]:
            if case["labels"] is not None:
                case["labels"] = [parse_json(label or "null", where) for label in case["labels"]]
    except (KeyError, TypeError):
        pass
    return row


def _check_header(header: Any, file: Path) -> tuple[str, tuple[str, ...], tuple[str, ...] | None]:
    part = "metadata" if file.suffix == ".parquet" else "first line"
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f'Expected the {part} of {file} to say "format": "{FORMAT}", but it does not.')
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise ValueError(f"Expected version {VERSION} of a suite in {file}, but got {header.get('version')!r}.")
    check_options(header, _HEADER, f"the {part} of {file}")
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


def _made(row: Mapping[str, Any], header: Mapping[str, Any], columns: Sequence[str], where: str) -> Functionality:
    try:
        return functionality_from_row(
            row, text_columns=columns, lexicons=header.get("lexicons", {}), seed=header.get("seed", 0)
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({where})") from error


def _functionality(row: Any, where: str) -> Functionality:
    _check_entry(isinstance(row, Mapping), "the line")
    check_options(row, _LINE, where)
    for name in reversed(_LINE):
        _check_entry(name in row, name)
    _check_entry(isinstance(row["expectation"], Mapping), "expectation")
    cases = tuple(_case(case, number, where) for number, case in enumerate(_listed(row["cases"], "cases")))
    for key in _LINE[:3]:
        _check_entry(isinstance(row[key], str) and bool(row[key].strip()), key)
    name, group, test_type = (row[key] for key in _LINE[:3])
    return Functionality(name, group, test_type, dict(row["expectation"]), cases)


def _case(case: Any, number: int, where: str) -> Case:
    _check_entry(isinstance(case, Mapping), "cases")
    check_options(case, _CASE, f"a case in {where}")
    labels, meta, name = case.get("labels"), case.get("meta"), case.get("id", number)
    _check_entry(isinstance(name, (str, int)) and not isinstance(name, bool) and name != "", "id")
    return Case(
        str(name),
        tuple(map(_example, _listed(case.get("examples"), "examples"))),
        None if labels is None else tuple(map(_label, _listed(labels, "labels"))),
        None if meta is None else tuple(map(_replaced, _listed(meta, "meta"))),
    )


def _check_entry(right: bool, name: str) -> None:
    if not right:
        raise _EntryError(repr(name))


def _listed(value: Any, name: str) -> list[Any]:
    _check_entry(isinstance(value, list), name)
    entries: list[Any] = value
    return entries


def _example(value: Any) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else _listed(value, "examples")
    _check_entry(all(isinstance(text, str) for text in texts), "examples")
    return tuple(texts)


def _label(value: Any) -> int | str | None:
    _check_entry(value is None or (isinstance(value, (int, str)) and not isinstance(value, bool)), "labels")
    label: int | str | None = value
    return label


def _replaced(value: Any) -> tuple[str, str] | None:
    if value is None:
        return None
    pair = _listed(value, "meta")
    _check_entry(len(pair) == 2 and all(isinstance(text, str) for text in pair), "meta")
    return pair[0], pair[1]


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


def _nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line with values of one type each, as parquet needs them."""
    cases = [
        {
            **case,
            "examples": [[texts] if isinstance(texts, str) else texts for texts in case["examples"]],
            "labels": None if case.get("labels") is None else [json.dumps(label) for label in case["labels"]],
        }
        for case in row["cases"]
    ]
    return {**row, "expectation": json.dumps(row["expectation"], ensure_ascii=False), "cases": cases}
