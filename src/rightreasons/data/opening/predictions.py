"""Reads a model's predictions from a user's table: class scores and labels, as csv, tsv, jsonl, json, npz or parquet.

The names of the columns say what they are; nothing is guessed from their values:

- labels: one of `LABEL_COLUMNS`; whole numbers, or the class names of the score columns;
- scores: one column of `SCORE_COLUMNS` with a row of scores per item (or P(class 1)), or one column per class, such as
  `p_negative, p_positive` or `logit0, logit1, logit2`.
"""

from __future__ import annotations

import dataclasses
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_same_length

LABEL_COLUMNS = ("references", "reference", "labels", "label", "gold", "targets", "target")
"""Names of the label column."""

SCORE_COLUMNS: Mapping[str, str | None] = {
    "predictions": None,
    "scores": None,
    "probabilities": "probabilities",
    "probs": "probabilities",
    "logits": "logits",
    "log_probabilities": "log_probabilities",
    "log_probs": "log_probabilities",
}
"""Names of a single column of scores, with the kind of score that the name states."""

ANSWER_COLUMNS = ("prediction", "predicted", "predicted_label", "answer", "answers")
"""Names of the column of answers of a model without scores; see `read_answers`."""

CLASS_COLUMNS: Mapping[str, str | None] = {
    "p": "probabilities",
    "prob": "probabilities",
    "probability": "probabilities",
    "logit": "logits",
    "log_prob": "log_probabilities",
    "log_probability": "log_probabilities",
    "score": None,
}
"""Prefixes of the names of columns that hold one class each: `p_positive`, `p0`, `logit_2`."""

SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".npz", ".parquet")

Column: TypeAlias = "Sequence[Any] | NDArray[Any]"

_CLASS_COLUMN = re.compile(rf"({'|'.join(CLASS_COLUMNS)})(?:[_:. ](.+)|(\d+))")


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions for the calibration kernels, which check its values.

    Attributes:
        predictions: (N, K) scores, (N,) P(class 1), or N rows of different lengths.
        references: (N,) labels.
        label_names: K class names where the columns have them, or else None.
        scores: The kind of score that the column names state ("probabilities", "logits", "log_probabilities"), or None.
    """

    predictions: NDArray[Any] | list[list[float]]
    references: NDArray[Any]
    label_names: tuple[str, ...] | None = None
    scores: str | None = None

    def __len__(self) -> int:
        return len(self.references)


@dataclasses.dataclass(frozen=True, eq=False)
class ModelAnswers:
    """A model's answers to items whose labels are stored elsewhere, such as the examples of a behavioral suite.

    Attributes:
        scores: (N, K) scores or (N,) P(class 1); None where the file has only answers.
        answers: (N,) labels, or N texts; None where the file has scores.
        label_names: K class names where the columns have them, or else None.
        kind: The kind of score that the column names state ("probabilities", "logits", "log_probabilities"), or None.
        ids: N ids of the items where there is a column `id`, or else None.
    """

    scores: NDArray[Any] | None
    answers: NDArray[np.int64] | list[str] | None = None
    label_names: tuple[str, ...] | None = None
    kind: str | None = None
    ids: tuple[str, ...] | None = None

    def __len__(self) -> int:
        content = self.answers if self.scores is None else self.scores
        return 0 if content is None else len(content)


def read_predictions(path: str | Path) -> Predictions:
    """Read a file of predictions in the format of its suffix.

    Args:
        path: A .csv, .tsv, .jsonl, .json, .npz or .parquet file.

    Returns:
        The predictions and the labels.

    Raises:
        ValueError: If the file does not have the format of its suffix, or lacks a column.
    """
    path = Path(path)
    return from_columns(_read_columns(path), path.name)


def read_answers(path: str | Path) -> ModelAnswers:
    """Read a file of predictions without labels; a label column is ignored.

    Args:
        path: A .csv, .tsv, .jsonl, .json, .npz or .parquet file: scores as in `read_predictions`, or one column of
            `ANSWER_COLUMNS` (or "predictions") with a whole number or a text per item. A column `id` is kept.

    Returns:
        The scores, or the answers where there are no scores.

    Raises:
        ValueError: If the file does not have the format of its suffix, or has neither scores nor answers.
    """
    path = Path(path)
    columns = _read_columns(path)
    _check_rows(columns, path.name)
    answers = [name for name in columns if name.lower() in ANSWER_COLUMNS]
    answers += [name for name in columns if name.lower() == "predictions" and _are_answers(columns[name])]
    scored = {name: columns[name] for name in columns if name not in answers and name.lower() not in LABEL_COLUMNS}
    has_scores = any(name.lower() in SCORE_COLUMNS for name in scored) or _class_columns(list(scored), path.name)
    if answers and not has_scores:
        name = _one_column(answers, "answers", ANSWER_COLUMNS, columns, path.name)
        return _with_ids(ModelAnswers(None, _answers(columns[name], name)), columns)
    scores, names, kind = _scores(scored, columns, path.name)
    if isinstance(scores, list):
        raise ValueError(f"Expected as many scores for each item of {path.name}, but the rows differ in length.")
    return _with_ids(ModelAnswers(scores, None, names, kind), columns)


def parse_predictions(text: str) -> Predictions:
    r"""Read predictions from a pasted text: JSON, one JSON object per line, or comma- or tab-separated values.

    Example:
        >>> parsed = parse_predictions("p_no,p_yes,label\n0.9,0.1,no\n0.2,0.8,yes\n")
        >>> parsed.predictions.tolist(), parsed.references.tolist(), parsed.label_names, parsed.scores
        ([[0.9, 0.1], [0.2, 0.8]], [0, 1], ('no', 'yes'), 'probabilities')
    """
    text = text.strip()
    if not text:
        raise ValueError("Expected a table of predictions, but the text is empty.")
    if text[0] in "[{":
        suffix = ".jsonl" if _is_row(text.split("\n", 1)[0]) else ".json"
    else:
        suffix = ".tsv" if "\t" in text.split("\n", 1)[0] else ".csv"
    return from_columns(_text_columns(text, suffix, "the text"), "the text")


def from_columns(columns: Mapping[str, Column], where: str = "the table") -> Predictions:
    """Find scores and labels among named columns.

    Args:
        columns: Column by name, in order.
        where: The name of the table, for errors.

    Raises:
        ValueError: If there is no column of scores or of labels, or more than one.
    """
    _check_rows(columns, where)
    labels = [name for name in columns if name.lower() in LABEL_COLUMNS]
    label = _one_column(labels, "labels", LABEL_COLUMNS, columns, where)
    predictions, names, said = _scores({name: columns[name] for name in columns if name != label}, columns, where)
    check_same_length(predictions=predictions, references=columns[label])
    return Predictions(predictions, _labels(columns[label], label, names), names, said)


# ------------------------------------------------------------------------------------------------------------- columns


def _check_rows(columns: Mapping[str, Column], where: str) -> None:
    if not columns or not max(len(column) for column in columns.values()):
        raise ValueError(f"Expected at least one row in {where}, but it is empty.")


def _with_ids(given: ModelAnswers, columns: Mapping[str, Column]) -> ModelAnswers:
    column = next((column for name, column in columns.items() if name.lower() == "id"), None)
    if column is None:
        return given
    check_same_length(id=column, predictions=given)
    return dataclasses.replace(given, ids=tuple(str(value) for value in column))


def _scores(
    columns: Mapping[str, Column], table: Mapping[str, Column], where: str
) -> tuple[NDArray[Any] | list[list[float]], tuple[str, ...] | None, str | None]:
    """Return the scores, the names of their classes and their kind, as far as the column names state them.

    An error names the columns of the whole `table`.
    """
    single = [name for name in columns if name.lower() in SCORE_COLUMNS]
    by_class = _class_columns([name for name in columns if name not in single], where)
    if by_class and single:
        raise ValueError(f"Expected scores once in {where}, but got {', '.join([*single, *by_class[1].values()])}.")
    if by_class:
        prefix, by_name = by_class
        names = None if all(name.isdigit() for name in by_name) else tuple(by_name)
        scores = np.column_stack([_numbers(columns[column], column) for column in by_name.values()])
        return scores, names, CLASS_COLUMNS[prefix]
    score = _one_column(single, "scores", tuple(SCORE_COLUMNS), table, where)
    return _score_column(columns[score], score), None, SCORE_COLUMNS[score.lower()]


def _are_answers(column: Column) -> bool:
    """Tell whether a column holds whole numbers or plain texts rather than scores or lists of scores as texts."""
    values = column.tolist() if isinstance(column, np.ndarray) else column
    if all(isinstance(value, str) for value in values):
        return not any(_is_list(value) for value in values)
    return all(_is_answer(value) and not isinstance(value, str) for value in values)


def _answers(column: Column, name: str) -> NDArray[np.int64] | list[str]:
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    texts = bool(values) and isinstance(values[0], str)
    odd = [item for item, value in enumerate(values) if isinstance(value, str) != texts or not _is_answer(value)]
    if odd or (texts and all(_is_list(value) for value in values)):
        item = odd[0] if odd else 0
        raise ValueError(
            f"Expected whole numbers or texts in column {name!r}, but item {item} is {str(values[item])[:40]!r}."
        )
    if texts:
        return values
    huge = next((item for item, value in enumerate(values) if not -(2**63) <= value < 2**63), None)
    if huge is not None:
        raise ValueError(
            f"Expected numbers of classes in column {name!r}, but item {huge} is {str(values[huge])[:40]}, which is "
            "too large for one."
        )
    return np.asarray(values, dtype=np.int64)


def _is_answer(value: Any) -> bool:
    return isinstance(value, (str, int)) or (_is_number(value) and float(value).is_integer())


def _is_list(text: str) -> bool:
    """Tell whether a text is a JSON list, such as a cell of scores."""
    try:
        return text.lstrip().startswith("[") and isinstance(_json(text), list)
    except ValueError:
        return False


def _one_column(found: list[str], what: str, known: Sequence[str], columns: Mapping[str, Column], where: str) -> str:
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"Expected one column of {what} in {where}, but got {' and '.join(found)}.")
    hint = " or one column per class such as p_0, p_1" if what == "scores" else ""
    raise ValueError(
        f"Expected a column of {what} ({', '.join(known)}){hint} in {where}, but its columns are: {', '.join(columns)}."
    )


def _class_columns(names: Sequence[str], where: str) -> tuple[str, dict[str, str]] | None:
    """Return the prefix of the columns of single classes, and the columns by class, in the order of the classes."""
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = _CLASS_COLUMN.fullmatch(name.lower())
        if match:
            of_class = name[match.start(2) :] if match[2] else match[3]
            groups.setdefault(match[1], {})[of_class] = name
    groups = {prefix: group for prefix, group in groups.items() if len(group) > 1}
    if not groups:
        return None
    if len(groups) > 1:
        raise ValueError(f"Expected scores once in {where}, but columns begin with {' and with '.join(groups)}.")
    prefix, group = next(iter(groups.items()))
    if all(name.isdigit() for name in group):
        group = dict(sorted(group.items(), key=lambda entry: int(entry[0])))
        if [int(name) for name in group] != list(range(len(group))):
            raise ValueError(
                f"Expected the columns of scores in {where} to be numbered from 0, but got {', '.join(group.values())}."
            )
    return prefix, group


def _numbers(column: Column, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        item, value = next((i, value) for i, value in enumerate(column) if not _is_number(value))
        raise ValueError(f"Expected numbers in column {name!r}, but item {item} is {str(value)[:40]!r}.") from None


def _score_column(column: Column, name: str) -> NDArray[Any] | list[list[float]]:
    """Return (N, K), (N,), or rows of different lengths."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        table = _numbers(column, name)
    else:
        rows = [_score_row(row, name, item) for item, row in enumerate(column)]
        lists = [row for row in rows if isinstance(row, list)]
        if lists and len(lists) < len(rows):
            item = next(item for item, row in enumerate(rows) if not isinstance(row, list))
            raise ValueError(f"Expected a list of scores in each item of {name!r}, but item {item} is one number.")
        if len({len(row) for row in lists}) > 1:
            return lists
        table = np.asarray(rows, dtype=np.float64)
    if table.ndim == 1 and (table == np.floor(table)).all():
        raise ValueError(
            f"Expected probabilities in column {name!r}, but every value is a whole number: "
            "predicted classes do not tell how confident the model was."
        )
    return table


def _score_row(row: Any, name: str, item: int) -> float | list[float]:
    if isinstance(row, str):
        try:
            row = _json(row)
        except ValueError:
            raise ValueError(
                f"Expected a list such as [0.9, 0.1] in each cell of column {name!r}, but item {item} is {row[:40]!r}."
            ) from None
    if isinstance(row, (list, tuple, np.ndarray)):
        numbers = _numbers(row, f"{name}[{item}]")
        if numbers.ndim != 1:
            raise ValueError(f"Expected one list of scores per item in {name!r}, but item {item} holds lists of lists.")
        return [float(value) for value in numbers]
    if not _is_number(row):
        raise ValueError(f"Expected numbers in column {name!r}, but item {item} is {str(row)[:40]!r}.")
    return float(row)


def _labels(column: Column, name: str, names: tuple[str, ...] | None) -> NDArray[Any]:
    index = {label: number for number, label in enumerate(names or ())}
    values = list(column)
    if not any(isinstance(value, str) for value in values):
        return np.asarray(values)
    labels = []
    for item, value in enumerate(values):
        text = str(value).strip()
        if text in index:
            labels.append(index[text])
        elif text.isdecimal() and len(text) < 19:  # more digits may not fit into int64
            labels.append(int(text))
        else:
            known = f" or one of {', '.join(names)}" if names else ""
            raise ValueError(f"Expected whole numbers{known} in column {name!r}, but item {item} is {text[:40]!r}.")
    return np.asarray(labels, dtype=np.int64)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


# --------------------------------------------------------------------------------------------------------------- files


def _read_columns(path: Path) -> Mapping[str, Column]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"Expected a file that ends in {', '.join(SUFFIXES)}, but got {path.name!r}.")
    if suffix == ".npz":
        return _npz(path)
    if suffix == ".parquet":
        return _parquet(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"Expected text in UTF-8 in {path.name}, but it holds other bytes.") from None
    return _text_columns(text, suffix, path.name)


def _text_columns(text: str, suffix: str, where: str) -> dict[str, Column]:
    if suffix == ".json":
        try:
            content = _json(text)
        except ValueError as error:
            raise ValueError(f"Expected JSON in {where}, but it cannot be read: {error}.") from None
        if isinstance(content, Mapping) and all(isinstance(column, list) for column in content.values()):
            return dict(content)
        if isinstance(content, list):
            return _rows_to_columns(content, "item", where)
        raise ValueError(f"Expected a list of objects, or an object of lists, in {where}.")
    if suffix == ".jsonl":
        rows = []
        for number, line in enumerate(io.StringIO(text, newline=None), start=1):
            if line.strip():
                try:
                    rows.append(_json(line))
                except ValueError:
                    raise ValueError(
                        f"Expected a JSON object in each line of {where}, but line {number} is none."
                    ) from None
        return _rows_to_columns(rows, "line", where)
    return _separated(text, "\t" if suffix == ".tsv" else ",", where)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _separated(text: str, separator: str, where: str) -> dict[str, Column]:
    """Read columns of numbers, where an empty cell or NA is missing, and of texts, which stay unchanged."""
    import pandas as pd

    options: dict[str, Any] = {"sep": separator, "skipinitialspace": True, "low_memory": False}
    try:
        frame = pd.read_csv(io.StringIO(text), **options)
        numeric = {name for name in frame if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].notna().any()}
        every = len(numeric) == len(frame.columns)
        texts = frame if every else pd.read_csv(io.StringIO(text), keep_default_na=False, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise ValueError(f"Expected a table with headings in {where}, but it cannot be read: {reason}") from None
    return {str(name): (frame if name in numeric else texts)[name].to_numpy() for name in frame}


def _rows_to_columns(rows: list[Any], unit: str, where: str) -> dict[str, Column]:
    if not rows:
        raise ValueError(f"Expected at least one row in {where}, but it is empty.")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"Expected one JSON object per {unit} in {where}, but {unit} {number} is {str(row)[:40]!r}."
            )
        if row.keys() != rows[0].keys():
            odd = sorted(map(str, set(row) ^ set(rows[0])))
            raise ValueError(
                f"Expected the same keys in every {unit} of {where}, but {unit} {number} differs in {', '.join(odd)}."
            )
    return {str(name): [row[name] for row in rows] for name in rows[0]}


def _npz(path: Path) -> dict[str, Column]:
    # allow_pickle=False: an array of objects could run code.
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError):
        raise ValueError(f"Expected plain numpy arrays in {path.name}, but it cannot be read as such.") from None
    single = next((name for name, column in columns.items() if column.ndim == 0), None)
    if single is not None:
        raise ValueError(f"Expected arrays of one entry per item in {path.name}, but {single!r} is a single value.")
    return columns


def _parquet(path: Path) -> dict[str, Column]:
    import pyarrow
    import pyarrow.parquet

    try:
        columns: dict[str, Column] = pyarrow.parquet.read_table(path).to_pydict()
    except (pyarrow.ArrowException, OSError):
        raise ValueError(f"Expected a parquet table in {path.name}, but it cannot be read as such.") from None
    return columns


def _is_row(line: str) -> bool:
    """Tell whether a line is the JSON object of one item rather than of all columns."""
    try:
        content = _json(line)
    except ValueError:
        return False
    return isinstance(content, dict) and not all(isinstance(value, list) for value in content.values())
