"""Reads stored answers to a suite: tables with headings, and the prediction files of CheckList, which have none.

CheckList reads one line per example, in the order in which `TestSuite.to_raw_file` writes them, and names five formats:

| format | a line holds |
| --- | --- |
| `pred_only` | the answer: a number or the name of a label, or the text of an answer |
| `softmax` | one probability per label |
| `binary_conf` | the probability of label 1 of two |
| `pred_and_conf` | the answer and the confidence in it |
| `pred_and_softmax` | the answer and one probability per label |

Cells are separated by spaces or commas, or by tabs in a .tsv file and commas in a .csv file. A line of headings may
come first.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import CLASS_COLUMNS
from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import listing, match_labels, numbers_said
from rightreasons.core.validation import ROW_SUM_TOLERANCE, check_one_of, read_text
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.columns import SUFFIXES
from rightreasons.io.files import data_type, unpacked
from rightreasons.io.predictions import ANSWER_COLUMNS, ModelAnswers, read_answers

FORMATS = {
    "pred_only": (1, 1),
    "softmax": (2, None),
    "binary_conf": (1, 1),
    "pred_and_conf": (2, 2),
    "pred_and_softmax": (3, None),
}
"""CheckList's names of the formats of a file of predictions -> the least and the most cells of a line."""

_HEADINGS = (*ANSWER_COLUMNS, "predictions", "pred", "preds", "text", "texts")
_SEPARATORS = {".csv": re.compile(r"\s*,\s*"), ".tsv": re.compile(r" *\t *")}
_SPACES_OR_COMMAS = re.compile(r"[\s,]+")
_WHOLE = re.compile(r"\d+(?:\.0*)?")
_PREFIX = re.compile(rf"(?i)(?:{'|'.join(CLASS_COLUMNS)}|conf|softmax)(?:[_:. ]|(?=\d)|$)")


def read_suite_answers(
    path: Any, suite: Suite, *, file_format: str | None = None, log_filter: str | None = None
) -> ModelAnswers:
    """Read stored answers to a suite.

    Args:
        path: A table with headings as in `read_answers`, or a file in one of CheckList's `FORMATS`: any file of another
            suffix, and a .csv or .tsv file whose first line holds answers. A table whose ids are those of
            `Suite.examples()`, and perhaps more, may be in any order.
        suite: The suite, whose labels and whose number of examples the file is read by.
        file_format: The format, of `FORMATS`; None finds it out, and refuses a file that has two readings.
        log_filter: As in `read_answers`.

    Returns:
        The answers, one per example.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file has another number of lines than the suite has examples, no format or more than one
            fits, or a cell is not what the format says.
    """
    if file_format is not None:
        check_one_of(file_format, tuple(FORMATS), "file_format")
    if not isinstance(path, (str, os.PathLike)):
        return _by_number(_in_order(read_answers(path, log_filter=log_filter), suite), suite)
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"Expected predictions at {file}, but there is no such file.")
    suffix = data_type(file)
    if file_format is None and suffix in SUFFIXES and suffix not in _SEPARATORS:
        return _by_number(_in_order(read_answers(file, log_filter=log_filter), suite), suite)
    with unpacked(file, where=file.name) as plain:
        text = read_text(plain, file.name)
    reader = _Reader(suite, file.name, _SEPARATORS.get(suffix, _SPACES_OR_COMMAS))
    if file_format is None and suffix in _SEPARATORS and not reader.are_answers(text.split("\n", 1)[0]):
        return _by_number(_in_order(read_answers(file, log_filter=log_filter), suite), suite)
    return _by_number(reader.read(text, file_format), suite)


def _in_order(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Bring answers whose ids are those of the suite into its order; others are left as they are."""
    ids = [row["id"] for row in suite.examples()]
    row_of = {name: row for row, name in enumerate(answers.ids or ())}
    if answers.ids is None or len(row_of) < len(answers.ids) or not row_of.keys() >= set(ids):
        return answers
    rows = [row_of[name] for name in ids]

    def taken(column: Any) -> Any:
        return None if column is None else [column[row] for row in rows] if isinstance(column, list) else column[rows]

    columns = {name: taken(getattr(answers, name)) for name in ("scores", "answers", "confidences", "unread")}
    return dataclasses.replace(answers, ids=tuple(ids), **columns)


def _by_number(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Bring scores whose columns have names into the order of the numbers of a suite that does not name its labels."""
    names = answers.label_names
    if suite.label_names is not None or names is None or answers.scores is None or answers.scores.ndim < 2:
        return answers
    said = numbers_said(names)
    if said is None or sorted(said) != [*range(len(names))]:
        raise OptionError(
            f"Expected columns of scores that are numbered as the labels of the suite {suite.name!r}, which have no "
            f"names, but they are {listing(names)}: `label_names` gives the names in the order of the numbers.",
            option="label_names",
        )
    order = np.argsort(said)
    named = tuple(names[place] for place in order)
    return dataclasses.replace(answers, scores=answers.scores[:, order], label_names=named)


class _Reader:
    """Reads the lines of one file.

    Args:
        suite: The suite.
        name: The name of the file, for errors.
        separator: What stands between the cells of a line.
    """

    def __init__(self, suite: Suite, name: str, separator: re.Pattern[str]) -> None:
        self.suite = suite
        self.name = name
        self.separator = separator
        self.asks_for_texts = suite.table().asks_for_texts

    def are_answers(self, line: str) -> bool:
        """Tell whether the first line of a table with or without headings holds answers."""
        if self.asks_for_texts:
            return False
        cells = self._cells(line)
        return any(_is_number(cell) for cell in cells) or (len(cells) == 1 and self._is_label(cells[0]))

    def read(self, text: str, file_format: str | None) -> ModelAnswers:
        """Read the answers in a text."""
        lines, heading = self._split(text)
        if self.asks_for_texts:
            if file_format not in (None, "pred_only"):
                raise ValueError(
                    f"Expected pred_only as the format of the answers to {self.suite.name!r}, which are texts, but got "
                    f"{file_format}."
                )
            return ModelAnswers(None, lines, form="pred_only")
        rows = [self._cells(line) for line in lines]
        self._check_lengths(rows)
        form = self._format(rows) if file_format is None else file_format
        width, (least, most) = len(rows[0]), FORMATS[form]
        if width < least or (most is not None and width > most):
            wanted = f"{least}" if least == most else f"{least} or more"
            raise ValueError(
                f"Expected {wanted} cells in each line of {self.name} for the format {form}, but got {width}."
            )
        with_answer = form.startswith("pred")
        answers = _answers([row[0] for row in rows]) if with_answer else None
        if form == "pred_only":
            return ModelAnswers(None, answers, form=form)
        first = 1 if with_answer else 0
        numbers = self._numbers([row[first:] for row in rows], first)
        if form == "pred_and_conf":
            return ModelAnswers(None, answers, confidences=numbers[:, 0], form=form)
        if form == "binary_conf":
            return ModelAnswers(numbers[:, 0], kind="probabilities", form=form)
        names = None if heading is None else _class_names(self._cells(heading)[first:], width - first)
        return ModelAnswers(numbers, answers, names, "probabilities", form=form)

    def _split(self, text: str) -> tuple[list[str], str | None]:
        """Return as many lines as the suite has examples, and the line of headings or None."""
        n = self.suite.n_examples
        lines = text.removesuffix("\n").split("\n")
        heading = lines[0] if len(lines) > n and self._is_heading(lines[0]) else None
        if heading is not None:
            lines = lines[1:]
        while len(lines) > n and not lines[-1].strip():
            lines.pop()
        if len(lines) == n - 1 and self.asks_for_texts and text.endswith("\n"):
            lines.append("")  # the last answer is empty, and its line not ended
        if len(lines) != n:
            raise ValueError(
                f"Expected one line for each of the {n:,} examples of the suite {self.suite.name!r}, in its order, in "
                f"{self.name}, but got {len(lines):,}."
            )
        return lines, heading

    def _is_heading(self, line: str) -> bool:
        return line.strip().lower() in _HEADINGS if self.asks_for_texts else not self.are_answers(line)

    def _is_label(self, cell: str) -> bool:
        names = self.suite.label_names
        if names is None or not cell:
            return False
        try:
            match_labels([cell], names)
        except ValueError:
            return False
        return True

    def _cells(self, line: str) -> list[str]:
        return self.separator.split(line.strip())

    def _check_lengths(self, rows: Sequence[Sequence[str]]) -> None:
        for number, row in enumerate(rows):
            if len(row) != len(rows[0]) or not row[0]:
                raise ValueError(
                    f"Expected {len(rows[0])} cells in each line of {self.name}, as in its first, but the one of "
                    f"example {number} has {len(row) if row[0] else 0}."
                )

    def _numbers(self, rows: Sequence[Sequence[str]], first: int) -> NDArray[np.float64]:
        try:
            return np.array([[float(cell) for cell in row] for row in rows], dtype=np.float64)
        except ValueError:
            number, cell = next((n, c) for n, row in enumerate(rows) for c in row if not _is_number(c))
            raise ValueError(
                f"Expected numbers {'after the answer ' if first else ''}in each line of {self.name}, but the one of "
                f"example {number} has {cell[:40]!r}."
            ) from None

    def _format(self, rows: Sequence[Sequence[str]]) -> str:
        """Find the one format that the lines can have."""
        width = len(rows[0])
        first = [row[0] for row in rows]
        if width == 1:
            return "binary_conf" if all(map(_is_number, first)) and not all(map(_is_whole, first)) else "pred_only"
        fits = []
        if all(map(_is_whole, first)) or not any(map(_is_number, first)):
            if width == 2:
                fits.append("pred_and_conf")
            elif self._are_scores([row[1:] for row in rows], first):
                fits.append("pred_and_softmax")
        if self._are_scores(rows):
            fits.append("softmax")
        if len(fits) == 1:
            return fits[0]
        what = f"lines that can be {' as well as '.join(fits)}" if fits else f"{width} cells per line that fit none"
        raise ValueError(
            f"Expected lines of one of the formats {', '.join(FORMATS)} in {self.name}, but got {what}: name it "
            "(--predictions-format, file_format=)."
        )

    def _are_scores(self, rows: Sequence[Sequence[str]], answers: Sequence[str] = ()) -> bool:
        """Tell whether rows can be the probabilities of the suite's labels, one of which is each answer."""
        if not all(_is_number(cell) for row in rows for cell in row):
            return False
        table = np.array([[float(cell) for cell in row] for row in rows])
        names, width = self.suite.label_names, table.shape[1]
        if names is not None and width != len(names) and not (width == 2 and len(names) == 3):
            return False
        if any(_is_whole(answer) and float(answer) >= max(width, len(names or ())) for answer in answers):
            return False
        sums = table.sum(axis=1)
        return bool((table >= 0).all() and (np.abs(sums - 1) <= ROW_SUM_TOLERANCE).all())


def _answers(cells: list[str]) -> NDArray[np.int64] | list[str]:
    if all(len(cell) < 19 and _is_whole(cell) for cell in cells):
        return np.array([int(float(cell)) for cell in cells], dtype=np.int64)
    return cells


def _class_names(cells: Sequence[str], width: int) -> tuple[str, ...] | None:
    """Return the names of classes in a line of headings; None where it only numbers them."""
    if len(cells) != width:
        return None
    names = tuple(_PREFIX.sub("", cell, count=1) if _PREFIX.match(cell) else cell for cell in cells)
    return None if all(name.isdecimal() or not name for name in names) else names


def _is_whole(cell: str) -> bool:
    return _WHOLE.fullmatch(cell) is not None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
