"""Behavioral suites: functionalities, their cases and what is expected of them, in a plain and versioned file.

A suite is JSON lines (`.jsonl`, `.jsonl.gz`). The first line says what the file is:

    {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"]}

and every other line is one functionality:

    {"functionality": "negation", "functionality_class": "Negation", "test_type": "MFT",
     "expectation": {"name": "equal"},
     "cases": [{"examples": ["This is not good."], "labels": [0]}, …]}

An example is a text, or a list of texts where there are several columns. `labels` holds one expected answer an example;
a case may have an `id` (by default its number) and `meta`, one (old, new) replacement or null an example.

Instead of `cases`, a line may say how they are made: a `template` with `lexicons`, or `data` with a `perturbation`
(`suite_editor`). The first line may hold `lexicons` and a `seed` for all of them.

The same suite can be a parquet file, one row an example (`suite_parquet`).
"""

from __future__ import annotations

import csv
import dataclasses
import functools
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.data.suites.cases import TEST_TYPES, Case, Functionality, check_functionality
from rightreasons.data.suites.editor import functionality_from_row
from rightreasons.data.suites.parquet import read_parquet, write_parquet
from rightreasons.foundations.suite_table import SuiteTable
from rightreasons.foundations.validation import check_ids, check_one_of, check_options

__all__ = ["FORMAT", "SPLITS", "TEST_TYPES", "VERSION", "Case", "Functionality", "Suite", "read_hatecheck"]

FORMAT = "rightreasons.suite"
VERSION = 1
SPLITS = ("train", "validation", "test")

_HEADER = ("format", "version", "name", "text_columns", "lexicons", "seed")
_LINE = ("functionality", "functionality_class", "test_type", "expectation", "cases")
_CASE = ("id", "examples", "labels", "meta")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A behavioral suite.

    Args:
        name: What it is called.
        text_columns: The names of the texts of an example, such as ("text",) or ("question", "context").
        functionalities: The functionalities.

    Raises:
        TypeError: If a label is neither a whole number nor a text.
        ValueError: If a functionality has no cases, a case no examples, a case that is compared with its first example
            no other, an example the wrong number of texts, labels do not match examples, or one is out of bounds.

    Example:
        >>> case = Case("0", (("Not good.",), ("Not bad.",)), labels=(0, 1))
        >>> negation = Functionality("negation", "Negation", "MFT", {"name": "equal"}, (case,))
        >>> suite = Suite("mine", ("text",), (negation,))
        >>> suite.to_dataset()["label"][:]
        [0, 1]
    """

    name: str
    text_columns: tuple[str, ...]
    functionalities: tuple[Functionality, ...]

    def __post_init__(self) -> None:
        if not self.functionalities:
            raise ValueError(f"Expected at least one functionality in the suite {self.name!r}, but it has none.")
        if not self.text_columns:
            raise ValueError(f"Expected at least one text column in the suite {self.name!r}, but it has none.")
        check_ids(self.text_columns, "text column")
        check_ids([functionality.name for functionality in self.functionalities], "functionality")
        for functionality in self.functionalities:
            check_functionality(functionality, len(self.text_columns))

    @property
    def n_examples(self) -> int:
        """How many examples the suite has."""
        return sum(functionality.n_examples for functionality in self.functionalities)

    @property
    def n_cases(self) -> int:
        """How many cases the suite has."""
        return sum(len(functionality.cases) for functionality in self.functionalities)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Suite:
        """Read a suite that `write` wrote, or a person.

        Args:
            path: JSON lines (`.jsonl`, `.jsonl.gz`) or `.parquet`.

        Raises:
            ValueError: If the file is no suite of this version; the line is named.
        """
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
        if file.suffix == ".parquet":
            stored, held = read_parquet(file)
            return cls(*_header(stored, file), held)
        rows = _json_lines(file)
        header = next(rows, (1, None))[1]
        name, columns = _header(header, file)
        functionalities = []
        for line, row in rows:
            if isinstance(row, dict) and "cases" not in row and ("template" in row or "data" in row):
                functionalities.append(_made(row, header or {}, columns, f"line {line} of {file}"))
                continue
            try:
                functionalities.append(_functionality(row, f"line {line} of {file}"))
            except (KeyError, TypeError) as error:
                raise ValueError(
                    f"Expected a functionality in line {line} of {file}, but {error} is missing or wrong."
                ) from error
        return cls(name, columns, tuple(functionalities))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the suite as JSON lines, compressed where the name ends in .gz, or as .parquet."""
        file = Path(path)
        header = {"format": FORMAT, "version": VERSION, "name": self.name, "text_columns": list(self.text_columns)}
        if file.suffix == ".parquet":
            write_parquet(file, header, self.functionalities)
            return file
        with (
            gzip.open(file, "wt", encoding="utf-8") if file.suffix == ".gz" else file.open("w", encoding="utf-8") as out
        ):
            for row in (header, *map(_row, self.functionalities)):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
        return file

    def texts(self) -> list[tuple[str, ...]]:
        """Return the texts of every example, in the suite's order."""
        return [texts for f in self.functionalities for case in f.cases for texts in case.examples]

    def examples(self) -> Iterator[dict[str, Any]]:
        """Yield one row an example, in the suite's order."""
        for number, functionality in enumerate(self.functionalities):
            for case in functionality.cases:
                for index, texts in enumerate(case.examples):
                    label = None if case.labels is None else case.labels[index]
                    yield {
                        "id": f"{number}-{case.id}-{index}",
                        "functionality": functionality.name,
                        "functionality_class": functionality.functionality_class,
                        "test_type": functionality.test_type,
                        "case_id": f"{number}-{case.id}",
                        **dict(zip(self.text_columns, texts, strict=True)),
                        "label": label if isinstance(label, int) else -1,
                        "answer": label if isinstance(label, str) else "",
                    }

    def features(self) -> datasets.Features:
        """Return the columns of the suite as a dataset."""
        text = datasets.Value("string")
        before = ("id", "functionality", "functionality_class", "test_type", "case_id", *self.text_columns)
        return datasets.Features({**dict.fromkeys(before, text), "label": datasets.Value("int64"), "answer": text})

    def to_dataset(self) -> datasets.Dataset:
        """Turn the suite into a dataset: one row an example, `label` -1 and `answer` empty where there is none."""
        columns: dict[str, list[Any]] = {name: [] for name in self.features()}
        for row in self.examples():
            for name, column in columns.items():
                column.append(row[name])
        return datasets.Dataset.from_dict(columns, features=self.features())

    def table(self) -> SuiteTable:
        """Return what predictions in the suite's order are scored against."""
        return self._table

    @functools.cached_property
    def _table(self) -> SuiteTable:
        cases = [case for functionality in self.functionalities for case in functionality.cases]
        sizes = [len(case.examples) for case in cases]
        owner = np.repeat(
            np.arange(len(self.functionalities), dtype=np.int64), [len(f.cases) for f in self.functionalities]
        )
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        for shared in (owner, offsets):
            shared.setflags(write=False)
        meta = [pair for case in cases for pair in (case.meta or [None] * len(case.examples))]
        return SuiteTable(
            functionalities=tuple(f.name for f in self.functionalities),
            classes=tuple(f.functionality_class for f in self.functionalities),
            test_types=tuple(f.test_type for f in self.functionalities),
            expectations=tuple(f.expectation for f in self.functionalities),
            case_ids=tuple(f"{number}-{case.id}" for number, case in zip(owner.tolist(), cases, strict=True)),
            case_functionality=owner,
            case_offsets=offsets,
            labels=tuple(label for case in cases for label in (case.labels or [None] * len(case.examples))),
            meta=tuple(meta) if any(pair is not None for pair in meta) else None,
        )

    def split(self, part: str, *, seed: int = 123) -> Suite:
        """Return one part of BeLUGA's split of every functionality: half train, a quarter each of the rest.

        Cases are permuted as scikit-learn's `train_test_split` permutes them with `random_state=seed`, first into
        halves, then the second half into quarters. A part of a functionality that would be empty is left out.

        References:
            Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.
        """
        check_one_of(part, SPLITS, "part")
        kept = []
        for functionality in self.functionalities:
            order = np.arange(len(functionality.cases))
            train, rest = _halves(order, seed)
            validation, test = _halves(rest, seed)
            chosen = np.sort({"train": train, "validation": validation, "test": test}[part])
            if len(chosen):
                kept.append(dataclasses.replace(functionality, cases=tuple(functionality.cases[i] for i in chosen)))
        return Suite(self.name, self.text_columns, tuple(kept))


def read_hatecheck(path: str | os.PathLike[str], *, name: str = "hatecheck") -> Suite:
    """Read a suite of the form of HateCheck: a CSV with functionality, test_case and label_gold, one text a case.

    Args:
        path: The CSV file. `label_gold` is "hateful"/"non-hateful" or a whole number.
        name: What the suite is called.

    Raises:
        ValueError: If a column is missing, there is no row, or a row lacks something.
    """
    try:
        with open(
            path, encoding="utf-8-sig", newline=""
        ) as stream:  # spreadsheets write a mark before the first column
            reader = csv.DictReader(stream)
            columns, rows = reader.fieldnames or (), list(reader)
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"Expected a table in UTF-8 in {path}, but it cannot be read as such.") from None
    wanted = ("functionality", "test_case", "label_gold")
    missing = [column for column in wanted if column not in columns]
    if missing:
        raise ValueError(f"Expected the columns {', '.join(wanted)} in {path}, but {', '.join(missing)} is missing.")
    if not rows:
        raise ValueError(f"Expected at least one row in {path}, but it holds the names of its columns alone.")
    names = {"non-hateful": 0, "hateful": 1}
    groups: dict[str, list[Case]] = {}
    for number, row in enumerate(rows, start=1):
        for column in ("functionality", "test_case"):
            if not (row[column] or "").strip():
                raise ValueError(f"Expected a {column} in each row of {path}, but row {number} has none.")
        gold = (row["label_gold"] or "").strip()
        if gold not in names and not (gold.isdecimal() and len(gold) <= 10):
            raise ValueError(
                f"Expected `label_gold` to be hateful, non-hateful or a whole number, but row {number} of {path} has "
                f"{gold!r}."
            )
        label = names[gold] if gold in names else int(gold)
        cases = groups.setdefault(row["functionality"], [])
        cases.append(Case(str(row.get("case_id") or len(cases)), ((row["test_case"],),), (label,)))
    # HateCheck's names begin with their class: "derog_neg_emote_h" is derogation.
    return Suite(
        name,
        ("text",),
        tuple(
            Functionality(key, key.split("_")[0], "MFT", {"name": "equal"}, tuple(cases))
            for key, cases in groups.items()
        ),
    )


def _halves(items: Any, seed: int) -> tuple[Any, Any]:
    # As train_test_split(items, test_size=0.5): the first of the permuted items are the test part, rounded up.
    order = np.random.RandomState(seed).permutation(len(items))  # the published split was drawn so
    n_test = -(-len(items) // 2)
    return items[order[n_test:]], items[order[:n_test]]


def _header(header: Any, file: Path) -> tuple[str, tuple[str, ...]]:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f'Expected the first line of {file} to say "format": "{FORMAT}", but it does not.')
    if header.get("version") != VERSION:
        raise ValueError(f"Expected version {VERSION} of a suite in {file}, but got {header.get('version')!r}.")
    check_options(header, _HEADER, f"the first line of {file}")
    columns = header.get("text_columns", ["text"])
    if not isinstance(columns, list) or not columns or not all(isinstance(column, str) for column in columns):
        raise ValueError(f"Expected `text_columns` of {file} to be a list of names, but got {columns!r}.")
    return str(header.get("name", file.stem)), tuple(columns)


def _json_lines(file: Path) -> Iterator[tuple[int, Any]]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
            lines = stream.readlines()
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        kind = "compressed text" if file.suffix == ".gz" else "text"
        raise ValueError(f"Expected {kind} in UTF-8 in {file}, but it holds other bytes.") from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except RecursionError:
                raise ValueError(f"Expected JSON in line {number} of {file}, but it is nested too deeply.") from None
            except json.JSONDecodeError as error:
                raise ValueError(f"Expected JSON in line {number} of {file}, but {error.msg}.") from error
            except ValueError:
                raise ValueError(f"Expected JSON in line {number} of {file}, but a number is too long.") from None


def _made(row: Mapping[str, Any], header: Mapping[str, Any], columns: Sequence[str], where: str) -> Functionality:
    try:
        return functionality_from_row(
            row, text_columns=columns, lexicons=header.get("lexicons", {}), seed=header.get("seed", 0)
        )
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({where})") from error


def _functionality(row: Mapping[str, Any], where: str) -> Functionality:
    """Read one functionality; a KeyError or TypeError says which entry is missing or wrong."""
    _check_entry(isinstance(row, Mapping), "the line")
    check_options(row, _LINE, where)
    cases = []
    for number, case in enumerate(_listed(row["cases"], "cases")):
        _check_entry(isinstance(case, Mapping), "cases")
        check_options(case, _CASE, f"a case in {where}")
        labels, meta = case.get("labels"), case.get("meta")
        cases.append(
            Case(
                str(case.get("id", number)),
                tuple(map(_example, _listed(case["examples"], "examples"))),
                None if labels is None else tuple(map(_label, _listed(labels, "labels"))),
                None if meta is None else tuple(map(_replaced, _listed(meta, "meta"))),
            )
        )
    _check_entry(isinstance(row["expectation"], Mapping), "expectation")
    return Functionality(
        str(row["functionality"]),
        str(row["functionality_class"]),
        str(row["test_type"]),
        dict(row["expectation"]),
        tuple(cases),
    )


def _check_entry(right: bool, name: str) -> None:
    if not right:
        raise TypeError(repr(name))


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
