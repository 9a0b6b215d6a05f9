"""A behavioral suite as a parquet file: one row an example, so that any tool can look at it.

Columns: functionality, functionality_class, test_type, expectation (JSON), case_id, the text columns, label (a whole
number) or answer (a text), and replaced_old, replaced_new. The header of the suite stands in the file's metadata.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rightreasons.data.suites.cases import Case, Functionality

KEY = b"rightreasons.suite"
"""Where the header stands in the metadata of the file's schema."""

_OF_FUNCTIONALITY = ("functionality", "functionality_class", "test_type", "expectation")
_OF_EXAMPLE = ("label", "answer", "replaced_old", "replaced_new")


def write_parquet(file: Path, header: Mapping[str, Any], functionalities: Sequence[Functionality]) -> None:
    """Write a suite.

    Args:
        file: The file.
        header: Format, version, name and text columns.
        functionalities: The functionalities.

    Raises:
        ValueError: If a label is neither a whole number nor a text, or a text column bears the name of another.
    """
    texts = header["text_columns"]
    taken = set(texts) & {*_OF_FUNCTIONALITY, "case_id", *_OF_EXAMPLE}
    if taken:
        raise ValueError(f"Expected text columns with names of their own for parquet, but got {sorted(taken)[0]!r}.")
    repeated = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema(
        [
            *((name, repeated) for name in _OF_FUNCTIONALITY),
            ("case_id", pa.string()),
            *((name, pa.string()) for name in texts),
            ("label", pa.int64()),
            *((name, pa.string()) for name in _OF_EXAMPLE[1:]),
        ],
        metadata={KEY: json.dumps(header, ensure_ascii=False)},
    )
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for functionality in functionalities:
        shared = (
            functionality.name,
            functionality.functionality_class,
            functionality.test_type,
            json.dumps(dict(functionality.expectation), ensure_ascii=False),
        )
        for case in functionality.cases:
            none = (None,) * len(case.examples)
            for example, label, pair in zip(case.examples, case.labels or none, case.meta or none, strict=True):
                for name, value in zip(_OF_FUNCTIONALITY, shared, strict=True):
                    columns[name].append(value)
                columns["case_id"].append(case.id)
                for name, text in zip(texts, example, strict=True):
                    columns[name].append(text)
                number, answer = _label(label, functionality.name)
                columns["label"].append(number)
                columns["answer"].append(answer)
                old, new = pair or (None, None)
                columns["replaced_old"].append(old)
                columns["replaced_new"].append(new)
    pq.write_table(pa.table(columns, schema=schema), file, compression="zstd")


def read_parquet(file: Path) -> tuple[Any, tuple[Functionality, ...]]:
    """Read a suite that `write_parquet` wrote.

    Returns:
        The header, and the functionalities.

    Raises:
        ValueError: If the file is no parquet or a damaged one, has no header, or lacks a column or holds it otherwise.
    """
    try:
        header, columns = _columns(file)
        expectations = {text: json.loads(text) for text in set(columns["expectation"])}
    except (OSError, pa.ArrowException, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"Expected a parquet file of a suite at {file}, but it cannot be read: {error}.") from error
    if not all(isinstance(expectation, dict) for expectation in expectations.values()):
        raise ValueError(f"Expected each expectation of {file} to be a JSON object, but there is another value.")
    case_ids = columns["case_id"]
    examples = list(zip(*(columns[name] for name in header["text_columns"]), strict=True))
    labels = [
        answer if number is None else number for number, answer in zip(columns["label"], columns["answer"], strict=True)
    ]
    pairs = [
        None if old is None else (old, new)
        for old, new in zip(columns["replaced_old"], columns["replaced_new"], strict=True)
    ]
    functionalities = []
    for (name, kind, test_type, expectation), rows in _runs(
        list(zip(*map(columns.get, _OF_FUNCTIONALITY), strict=True))
    ):
        cases = tuple(
            Case(case_id, tuple(examples[part]), _or_none(labels[part]), _or_none(pairs[part]))
            for case_id, part in _runs(case_ids[rows], rows.start)
        )
        functionalities.append(Functionality(name, kind, test_type, expectations[expectation], cases))
    return header, tuple(functionalities)


def _columns(file: Path) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    table = pq.read_table(file)
    found = (table.schema.metadata or {}).get(KEY)
    if found is None:
        raise ValueError(f"Expected the header of a suite in the metadata of {file}, but there is none.")
    header = json.loads(found)
    texts = header.get("text_columns") if isinstance(header, dict) else None
    if not isinstance(texts, list) or not all(isinstance(name, str) for name in texts):
        raise ValueError(f"Expected the header of a suite in the metadata of {file}, but got {header!r}.")
    needed = (*_OF_FUNCTIONALITY, "case_id", *texts)
    columns = {}
    for name in (*needed, *_OF_EXAMPLE):
        if name not in table.column_names:
            raise ValueError(f"Expected the column {name!r} of a suite in {file}, but it is missing.")
        columns[name] = table[name].cast(pa.int64() if name == "label" else pa.string()).to_pylist()
        if name in needed and None in columns[name]:
            row = columns[name].index(None)
            raise ValueError(f"Expected a text in each row of the column {name!r} of {file}, but row {row} has none.")
    return header, columns


def _runs(values: Sequence[Any], start: int = 0) -> list[tuple[Any, slice]]:
    """Return each run of equal values with the rows that it takes."""
    found = []
    for value, group in itertools.groupby(values):
        end = start + sum(1 for _ in group)
        found.append((value, slice(start, end)))
        start = end
    return found


def _label(label: Any, name: str) -> tuple[int | None, str | None]:
    if label is None or isinstance(label, str):
        return None, label
    if isinstance(label, int) and not isinstance(label, bool):
        return label, None
    raise ValueError(f"Expected whole numbers or texts as labels for parquet, but {name!r} has {label!r}.")


def _or_none(values: Sequence[Any]) -> tuple[Any, ...] | None:
    return None if all(value is None for value in values) else tuple(values)
