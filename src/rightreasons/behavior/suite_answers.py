"""Reads stored answers to a suite: tables with headings, and the prediction files of CheckList, which have none.

CheckList reads one line per example, in the order in which `TestSuite.to_raw_file` writes them, and names five formats:

| format | a line holds |
| --- | --- |
| `pred_only` | the answer: a number or the name of a label, or the text of an answer |
| `softmax` | one probability per label |
| `binary_conf` | the probability of label 1 of two |
| `pred_and_conf` | the answer and the confidence in it |
| `pred_and_softmax` | the answer and one probability per label |

Cells are separated by spaces or commas.
"""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import listing, numbers_said
from rightreasons.core.options import takes
from rightreasons.core.validation import check_each, check_one_of, read_text
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.options import ScoreOptions
from rightreasons.io.predictions import ModelAnswers, is_number, read_answers
from rightreasons.io.reading import FILE_TYPES, data_type, unpacked

FORMATS = {
    "pred_only": (1, 1),
    "softmax": (2, None),
    "binary_conf": (1, 1),
    "pred_and_conf": (2, 2),
    "pred_and_softmax": (3, None),
}
"""CheckList's names of the formats of a file of predictions -> the least and the most cells of a line."""

_SEPARATOR = re.compile(r"[\s,]+")
_WHOLE = re.compile(r"\d{1,18}(?:\.0*)?")


@takes(ScoreOptions, without=("confidence_column", "correct_column"))
def read_suite_answers(
    path: Any, suite: Suite, *, file_format: str | None = None, options: ScoreOptions
) -> ModelAnswers:
    """Read stored answers to a suite.

    Args:
        path: A table with headings as in `read_answers`, or a file in one of CheckList's `FORMATS`. A table whose ids
            are those of `Suite.examples()`, and perhaps more, may be in any order.
        suite: The suite, whose labels and whose number of examples the file is read by.
        file_format: The format, of `FORMATS`; None is a table, and "pred_only" where the suffix is of no table.
        options: score_columns, scores and log_filter, as in `read_predictions`.

    Returns:
        The answers, one per example.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file has another number of lines than the suite has examples, or a line or a cell is not
            what the format says.
    """
    if file_format is not None:
        check_one_of(file_format, tuple(FORMATS), "file_format")
    if not isinstance(path, (str, os.PathLike)) or (file_format is None and data_type(path) in FILE_TYPES):
        return _by_number(_in_order(read_answers(path, options=options), suite), suite)
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"Expected predictions at {file}, but there is no such file.")
    with unpacked(file, where=file.name) as plain:
        return _read_lines(read_text(plain, file.name), suite, file.name, file_format or "pred_only")


def _in_order(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Bring answers whose ids are those of the suite into its order; others are left as they are."""
    ids = [row["id"] for row in suite.examples()]
    row_of = {name: row for row, name in enumerate(answers.ids or ())}
    if answers.ids is None or len(row_of) < len(answers.ids) or not row_of.keys() >= set(ids):
        return answers
    return answers.take([row_of[name] for name in ids])


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


def _read_lines(text: str, suite: Suite, name: str, form: str) -> ModelAnswers:
    """Read the answers in the text of one of CheckList's files."""
    n, texts = suite.n_examples, suite.table().asks_for_texts
    lines = (text if texts else text.rstrip()).split("\n")
    while len(lines) > n and not lines[-1].strip():
        lines.pop()
    if len(lines) != n:
        raise ValueError(
            f"Expected one line for each of the {n:,} examples of the suite {suite.name!r}, in its order, in {name}, "
            f"but got {len(lines):,}."
        )
    if texts and form != "pred_only":
        raise ValueError(
            f"Expected pred_only as the format of the answers to {suite.name!r}, which are texts, but got {form}."
        )
    if texts:
        return ModelAnswers(None, lines, form=form)
    rows = [_SEPARATOR.split(line.strip()) if line.strip() else [] for line in lines]
    width, (least, most) = len(rows[0]), FORMATS[form]
    if width < least or (most is not None and width > most):
        wanted = f"{least}" if least == most else f"{least} or more"
        raise ValueError(
            f"Expected {wanted} cells in each line of {name} for the format {form}, but got {width}: name another "
            "format (--predictions-format, file_format=)."
        )
    expected = f"{width} cells in each line of {name}, as in its first"
    check_each(rows, lambda row: len(row) == width, expected, unit="that of example")
    answers = _answers([row[0] for row in rows]) if form.startswith("pred") else None
    if form == "pred_only":
        return ModelAnswers(None, answers, form=form)
    cells = [row[answers is not None :] for row in rows]
    expected = f"numbers for probabilities in each line of {name}"
    check_each(cells, lambda row: all(map(is_number, row)), expected, unit="that of example")
    numbers = np.array(cells, dtype=np.float64)
    if form == "pred_and_conf":
        return ModelAnswers(None, answers, confidences=numbers[:, 0], form=form)
    return ModelAnswers(numbers[:, 0] if form == "binary_conf" else numbers, answers, kind="probabilities", form=form)


def _answers(cells: list[str]) -> NDArray[np.int64] | list[str]:
    if all(_WHOLE.fullmatch(cell) for cell in cells):
        return np.array([int(float(cell)) for cell in cells], dtype=np.int64)
    return cells
