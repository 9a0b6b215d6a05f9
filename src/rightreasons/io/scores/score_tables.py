"""Reads the scores of classes from the columns of a file as one table.

`read_scores` is the entry point. Percentages are divided by 100, rounded probabilities by their sums, and a single logit
becomes a probability.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from rightreasons.core.arrays import CLASS_COLUMNS, parse_class_column
from rightreasons.core.errors import OptionError
from rightreasons.core.options import parse_names
from rightreasons.core.sentences import escape_name, format_list
from rightreasons.core.validation import ROW_SUM_TOLERANCE, check_all, check_ids
from rightreasons.io.cells import parse_list, parse_numbers
from rightreasons.io.columns import Column, check_column_name
from rightreasons.io.headings import PREDICTION_HEADINGS, make_heading_key
from rightreasons.io.logs import NORMALIZED
from rightreasons.io.prediction_roles import PredictionRoles
from rightreasons.io.scores.score_columns import ScoreColumns, list_score_columns

MAX_PERCENT_ERROR = 1
"""Maximum difference of the sum of an item's percentages from 100."""

ROUNDED_DECIMALS = (2, 3)
"""Numbers of decimals to which probabilities are often rounded."""

MAX_NUMBER_LENGTH = 18
"""Maximum number of digits of the number of a class; more digits are an id."""

ScoreTable = NDArray[Any] | list[list[float]]
"""(N, K) scores, (N,) P(class 1), or a list per item if items have different numbers of choices."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a file.

    Attributes:
        columns: The columns from which the scores were read.
        table: The scores.
        kind: "probabilities", "logits" or "log_probabilities"; None if neither an option nor a heading states it.
        remark: A change to the scores, in brackets, such as " (its sigmoid)"; "" if they were not changed.
    """

    columns: ScoreColumns
    table: ScoreTable
    kind: str | None
    remark: str = ""


def read_scores(roles: PredictionRoles) -> Scores:
    """Read the scores of a table, with percentages as fractions and a single logit as a probability.

    Args:
        roles: The roles of the columns, and the options `score_columns` and `scores`.

    Raises:
        OptionError: If no columns can be the scores, if several can, or if the numbers are percentages
            but the option `scores` does not state it.
        ValueError: If the values of a column are not scores.
    """
    selection = select_score_columns(roles)
    kind = settle_kind(roles.options.scores) or selection.kind
    table = _read_table(roles, selection.columns)
    table = scale_percentages(table, roles, kind, format_list(selection.columns))
    table, remark = _divide_by_sums(table, kind)
    has_single_logit = isinstance(table, np.ndarray) and table.ndim == 1 and kind == "logits"
    if has_single_logit:
        return Scores(selection, expit(table), "probabilities", " (its sigmoid)")
    return Scores(selection, table, kind, remark)


def settle_kind(scores: str | None) -> str | None:
    """Return the kind of scores after they were read, with "probabilities" for "percentages"."""
    return "probabilities" if scores == "percentages" else scores


# --------------------------------------------------------------------------- columns of scores


def select_score_columns(roles: PredictionRoles) -> ScoreColumns:
    """Return the columns of scores: those that an option names, or else the only candidate.

    Args:
        roles: The roles of the columns. Each element of `roles.scores` is a candidate: one column of
            lists, or a group of one column per class.

    Raises:
        OptionError: If there is no candidate, or if there are several.
    """
    source_name = roles.source_name
    if roles.options.score_columns is not None:
        return _get_named_columns(roles, roles.options.score_columns)
    candidates = roles.scores
    if not candidates:
        # A column of answers may have a heading of scores. It becomes a candidate, so that the reader of
        # its cells raises an error about them.
        unlabeled = {}
        for name, column in roles.columns.items():
            if name not in roles.labels:
                unlabeled[name] = column
        candidates = list_score_columns(unlabeled)

    # If a table has probabilities and logits, the option `scores` selects one of the two.
    matches = _select_kind(candidates, roles)
    if not matches:
        raise _make_missing_scores_error(roles)
    if len(matches) > 1:
        groups = " and ".join(format_list(match.columns) for match in matches)
        raise OptionError(
            f"Expected one set of scores in {source_name}, but got {groups}. Choose with "
            "`scores` or `score_columns`.",
            option=("scores", "score_columns"),
        )
    return _sort_by_class_number(matches[0], source_name)


def _make_missing_scores_error(roles: PredictionRoles) -> OptionError:
    """Return the error for a table without columns of scores.

    Args:
        roles: The roles, with all columns, which the message lists, and the name of the table.
    """
    usual_headings = list(PREDICTION_HEADINGS["scores"])[:3]
    return OptionError(
        f"Expected a column of scores ({', '.join(usual_headings)}, …) or one column per class "
        f"such as p_0, p_1 in {roles.source_name}, but its columns are: "
        f"{format_list(list(roles.columns))}; name them with `score_columns`, or with "
        "`confidence_column` and `correct_column`. If the items have no scores, add a model "
        "that answers the items.",
        option=("score_columns", "confidence_column", "correct_column"),
    )


def _get_named_columns(roles: PredictionRoles, option: Any) -> ScoreColumns:
    """Return the columns that the option `score_columns` names, with their kind and classes.

    For example, "p_good,p_bad" are probabilities of the classes "good" and "bad".

    Args:
        roles: The roles, with all columns.
        option: The value of `score_columns`, such as "p_good,p_bad".

    Raises:
        OptionError: If a column is missing.
    """
    names = tuple(parse_names(option) or ("",))
    for name in names:
        check_column_name(roles.columns, name, "score_columns", roles.source_name)
    check_ids(names, "score_columns")

    # The first heading shows the kind of the numbers: it is a usual one ("logits"), or has a prefix ("p_").
    heading = names[0]
    prefix, _ = parse_class_column(heading)
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    heading_key = make_heading_key(heading)
    kind: str | None
    if heading in NORMALIZED:
        # Like logits, log-likelihoods per character or per byte are not those of probabilities.
        kind = "logits"
    elif heading_key in kind_by_heading:
        kind = kind_by_heading[heading_key]
    else:
        kind = CLASS_COLUMNS.get(prefix or "")

    # A single column without a prefix contains lists of scores, or P(class 1).
    if len(names) == 1 and prefix is None:
        return ScoreColumns(names, kind)
    classes = tuple(parse_class_column(name)[1] for name in names)
    return ScoreColumns(names, kind, classes)


def _select_kind(
    candidates: Sequence[ScoreColumns], roles: PredictionRoles
) -> Sequence[ScoreColumns]:
    """Return the candidates for the scores whose kind is the one that the option `scores` states.

    Args:
        candidates: Columns of scores, or groups of one column per class, each with its kind.
        roles: The roles, with the options.

    Returns:
        The candidates of this kind, or else those of unknown kind. Without the option, all candidates.

    Raises:
        OptionError: If all candidates are of another kind.
    """
    kind = settle_kind(roles.options.scores)
    if kind is None:
        return candidates
    matches = [candidate for candidate in candidates if candidate.kind == kind]
    if matches:
        return matches
    unspecified = [candidate for candidate in candidates if candidate.kind is None]
    if candidates and not unspecified:
        names: list[str] = []
        for candidate in candidates:
            names += candidate.columns
        raise OptionError(
            f"Expected {roles.options.scores} in {roles.source_name}, which `scores` requests, "
            f"but the scores are {format_list(names)}.",
            option="scores",
        )
    return unspecified


def _sort_by_class_number(scores: ScoreColumns, source_name: str) -> ScoreColumns:
    """Sort columns whose classes are numbers, such as p_0, p_1, p_2, p_10, by these numbers.

    Args:
        scores: The columns, and their classes. They are returned unchanged unless all classes are numbers.
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If the numbers do not count from 0 or 1 without a gap.
    """
    if not scores.class_names:
        return scores
    for name in scores.class_names:
        # Many digits are an id, and digits of other scripts are not used as numbers of classes.
        is_number = name.isascii() and name.isdecimal() and len(name) <= MAX_NUMBER_LENGTH
        if not is_number:
            return scores
    pairs = sorted(
        zip(scores.class_names, scores.columns, strict=True), key=lambda pair: int(pair[0])
    )
    class_names, columns = zip(*pairs, strict=True)
    numbers = list(map(int, class_names))
    start = numbers[0]
    expected_numbers = list(range(start, start + len(numbers)))
    if start not in (0, 1) or numbers != expected_numbers:
        raise OptionError(
            f"Expected the columns of scores in {source_name} to be numbered from 0 or from 1, "
            f"but got {', '.join(columns)}. Choose the columns with `score_columns`.",
            option="score_columns",
        )
    return dataclasses.replace(scores, columns=columns, class_names=class_names)


# ----------------------------------------------------------------------------- numbers of scores


def _read_table(roles: PredictionRoles, names: Sequence[str]) -> ScoreTable:
    """Read the numbers of the columns of scores.

    Args:
        roles: The roles, with all columns of the file.
        names: One column of lists or of P(class 1), or K columns of one class each.

    Returns:
        (N, K) scores, (N,) P(class 1), or lists of different lengths.

    Raises:
        ValueError: If a cell is not a number, or if it is a list in a column of one class.
    """
    columns = {**roles.columns, **roles.label_columns}
    if len(names) == 1:
        return _read_single_column(columns[names[0]], names[0])
    numbers = []
    for name in names:
        column = parse_numbers(columns[name], name)
        if column.ndim != 1:
            raise ValueError(
                f"Expected one score per item in each column of a class, but {escape_name(name)!r} "
                "holds lists."
            )
        numbers.append(column)
    return np.column_stack(numbers)


def _read_single_column(column: Column, name: str) -> ScoreTable:
    """Read a column of lists of scores, or of P(class 1).

    Args:
        column: (N,) cells, which may be lists, strings such as "[0.9, 0.1]", or numbers.
        name: Name of the column, for error messages.

    Returns:
        (N, K) scores, (N,) P(class 1), or lists of different lengths.

    Raises:
        ValueError: If all values are whole numbers, which are predicted classes.
    """
    cells: list[Any] = []
    # The cells of other arrays are numbers, and need not be parsed.
    if not isinstance(column, np.ndarray) or column.dtype == object:
        cells = list(map(parse_list, column))
    # If one cell is a list, all cells have to be lists.
    has_lists = any(isinstance(cell, (list, np.ndarray)) for cell in cells)
    table = _read_lists(cells, name) if has_lists else parse_numbers(column, name)
    is_vector = isinstance(table, np.ndarray) and table.ndim == 1
    if is_vector and np.array_equal(table, np.floor(table)):
        raise ValueError(
            f"Expected probabilities in column {name!r}, but every value is a whole number. "
            "Predicted classes do not show the confidence of the model."
        )
    return table


def _read_lists(cells: Sequence[Any], name: str) -> ScoreTable:
    """Read a column with a list of scores per item.

    Args:
        cells: (N,) lists of numbers, or of strings of numbers.
        name: Name of the column, for error messages.

    Returns:
        (N, K) scores, or N lists if their lengths differ, because items have different numbers of choices.

    Raises:
        ValueError: If a cell is not a list, or if a member of a list is not a number.
    """
    check_all(
        cells,
        lambda cell: isinstance(cell, (list, np.ndarray)),
        f"a list of scores in each item of {name!r}, such as [0.9, 0.1]",
        unit="item",
    )
    rows = []
    for item, cell in enumerate(cells):
        rows.append(parse_numbers(cell, f"{name}[{item}]"))
    check_all(
        rows, lambda row: row.ndim == 1, f"one list of scores per item in {name!r}", unit="item"
    )
    lengths = set(map(len, rows))
    if len(lengths) > 1:
        return [row.tolist() for row in rows]
    return np.stack(rows)


def scale_percentages(table: Any, roles: PredictionRoles, kind: str | None, columns: str) -> Any:
    """Divide percentages by 100 if the option `scores` says that the numbers are percentages.

    Args:
        table: (N, K) or (N,) numbers, or lists of numbers.
        roles: The roles, with the options.
        kind: The kind of the scores, such as "logits"; None if it is not known.
        columns: The columns, for error messages.

    Raises:
        OptionError: If the numbers are percentages, but the option does not state it.
    """
    if roles.options.scores == "percentages":
        if isinstance(table, np.ndarray):
            return table / 100
        return [[score / 100 for score in row] for row in table]
    can_be_percentages = kind in (None, "probabilities") and isinstance(table, np.ndarray)
    if can_be_percentages and table.size and _are_percentages(table):
        raise OptionError(
            f"Expected fractions from 0 to 1 in {columns} of {roles.source_name}, but got "
            f"{table.max():g}. If the scores are percentages, set scores=percentages.",
            option="scores",
        )
    return table


def _are_percentages(table: NDArray[Any]) -> bool:
    """Return whether scores can only be percentages: they add up to 100, or most of them are above 1.

    Args:
        table: (N, K) scores of classes, or (N,) scores of one class.
    """
    if table.min() < 0 or not 1 < table.max() <= 100:
        return False
    if table.ndim == 1:
        return bool(np.median(table) > 1)
    return np.allclose(table.sum(axis=1), 100, atol=MAX_PERCENT_ERROR)


def _divide_by_sums(table: Any, kind: str | None) -> tuple[Any, str]:
    """Divide rows of rounded probabilities by their sums, if these differ from 1 only by rounding.

    Args:
        table: (N, K) scores. Other scores, and those of other kinds than probabilities, are not changed.
        kind: The kind of the scores, such as "logits"; None if it is not known.

    Returns:
        The scores, and a remark on the change in brackets; "" if they were not changed.
    """
    is_table = isinstance(table, np.ndarray) and table.ndim >= 2
    if not is_table or kind not in (None, "probabilities"):
        return table, ""
    sums = table.sum(axis=1, keepdims=True)
    error = np.abs(sums - 1).max()
    # Most rows add up to 1, and need no change. The negation also covers scores of NaN, whose error is
    # NaN.
    if not error > ROW_SUM_TOLERANCE or table.min() < 0:
        return table, ""
    for n_decimals in ROUNDED_DECIMALS:
        # The tolerance of 1e-9 is for errors of floating-point numbers.
        if not np.allclose(table, np.round(table, n_decimals), atol=1e-9):
            continue
        # Rounding changes each of the K numbers by at most half a unit of the last decimal.
        n_classes = table.shape[1]
        max_error = n_classes * 0.5 * 10.0**-n_decimals
        if error > max_error + 1e-9:
            return table, ""
        return table / sums, f" (rounded to {n_decimals} decimals, and made to add up to 1)"
    return table, ""
