"""The scores of classes in a file: which columns hold them, and their numbers as one table.

`read_scores` is the entry point. Percentages are divided by 100, rounded probabilities by their sums, and the logit of
one class becomes a probability.
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
"""Percentages of one item miss 100 by no more than this."""

ROUNDED_DECIMALS = (2, 3)
"""Numbers of decimals to which people round probabilities."""

MAX_NUMBER_LENGTH = 18
"""Longer names of digits are ids, and no numbers of classes."""

ScoreTable = NDArray[Any] | list[list[float]]
"""(N, K) scores, (N,) P(class 1), or a list per item where the numbers of choices differ."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """The scores of a file.

    Attributes:
        columns: The columns that they were read from.
        table: The scores.
        kind: "probabilities", "logits" or "log_probabilities", as an option or the headings say; None otherwise.
        remark: What was done to them, in brackets; "" for nothing.
    """

    columns: ScoreColumns
    table: ScoreTable
    kind: str | None
    remark: str = ""


def read_scores(roles: PredictionRoles) -> Scores:
    """Read the scores of a table, with percentages as fractions and a single logit as a probability.

    Args:
        roles: The roles of the columns, and the options that name columns.

    Raises:
        OptionError: If no columns can be the scores, if several can, or if they must be percentages
            and no option says so.
        ValueError: If a column holds no scores.
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
    """Return the kind that scores have after they were read: percentages become probabilities."""
    return "probabilities" if scores == "percentages" else scores


# --------------------------------------------------------------------------- columns of scores


def select_score_columns(roles: PredictionRoles) -> ScoreColumns:
    """Return the columns of scores: those that an option names, or else the only candidates.

    Args:
        roles: The roles of the columns. Each element of `roles.scores` is a candidate: one column of
            lists, or a group of columns with one class each.

    Raises:
        OptionError: If there are no candidates, or several.
    """
    source_name = roles.source_name
    if roles.options.score_columns is not None:
        return _get_named_columns(roles, roles.options.score_columns)
    candidates = roles.scores
    if not candidates:
        # A column of answers may have a heading of scores; the reader of its cells refuses it with a
        # message about what it holds.
        unlabeled = {}
        for name, column in roles.columns.items():
            if name not in roles.labels:
                unlabeled[name] = column
        candidates = list_score_columns(unlabeled)

    # A table may have the probabilities and the logits: the option `scores` selects one of the two.
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
    return _sort_numbered(matches[0], source_name)


def _make_missing_scores_error(roles: PredictionRoles) -> OptionError:
    """Return the error for a table without columns of scores."""
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
    """Return the columns that `score_columns` names, with the kind and the classes by their headings.

    For example, "p_good,p_bad" are probabilities of the classes "good" and "bad".

    Args:
        roles: The roles of the columns.
        option: The value of `score_columns`, as in "p_good,p_bad".

    Raises:
        OptionError: If a column is missing.
    """
    names = tuple(parse_names(option) or ("",))
    for name in names:
        check_column_name(roles.columns, name, "score_columns", roles.source_name)
    check_ids(names, "score_columns")

    # The first heading says the kind of the numbers: by a usual name ("logits"), or by its prefix ("p_").
    heading = names[0]
    prefix, _ = parse_class_column(heading)
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    heading_key = make_heading_key(heading)
    kind: str | None
    if heading in NORMALIZED:
        # Log-likelihoods per character or per byte do not add up to 1, as logits do not.
        kind = "logits"
    elif heading_key in kind_by_heading:
        kind = kind_by_heading[heading_key]
    else:
        kind = CLASS_COLUMNS.get(prefix or "")

    # One column without a prefix holds lists, or P(class 1).
    if len(names) == 1 and prefix is None:
        return ScoreColumns(names, kind)
    classes = tuple(parse_class_column(name)[1] for name in names)
    return ScoreColumns(names, kind, classes)


def _select_kind(
    candidates: Sequence[ScoreColumns], roles: PredictionRoles
) -> Sequence[ScoreColumns]:
    """Return the candidates for the scores that have the kind which the option `scores` states.

    Args:
        candidates: Columns, or groups of columns, of scores.
        roles: The roles, with the options.

    Returns:
        The candidates of that kind, or else those of unknown kind; all of them without the option.

    Raises:
        OptionError: If all candidates are of another kind.
    """
    kind = settle_kind(roles.options.scores)
    if kind is None:
        return candidates
    matches = [candidate for candidate in candidates if candidate.kind == kind]
    if matches:
        return matches
    of_unknown_kind = [candidate for candidate in candidates if candidate.kind is None]
    if candidates and not of_unknown_kind:
        names: list[str] = []
        for candidate in candidates:
            names += candidate.columns
        raise OptionError(
            f"Expected {roles.options.scores} in {roles.source_name}, which `scores` requests, "
            f"but the scores are {format_list(names)}.",
            option="scores",
        )
    return of_unknown_kind


def _sort_numbered(scores: ScoreColumns, source_name: str) -> ScoreColumns:
    """Sort columns whose classes are numbers by these, as p_0, p_1, p_2, p_10; others stay as they are.

    Args:
        scores: The columns.
        source_name: The name of the table, for errors.

    Raises:
        OptionError: If the numbers do not count from 0 or 1 without a gap.
    """
    if not scores.class_names:
        return scores
    for name in scores.class_names:
        # Long digits are ids; other scripts have digits as well, which are no numbers of classes.
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
        names: One column of lists or of P(class 1), or K columns with a class each.

    Returns:
        (N, K) scores, (N,) P(class 1), or lists of different lengths.

    Raises:
        ValueError: If a cell holds no number, or a column of one class holds lists.
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
        column: The cells; lists may be written as texts.
        name: The name of the column, for errors.

    Returns:
        (N, K) scores, (N,) P(class 1), or lists of different lengths.

    Raises:
        ValueError: If all values are whole numbers, which are predicted classes.
    """
    cells: list[Any] = []
    # Arrays of numbers hold no lists.
    if not isinstance(column, np.ndarray) or column.dtype == object:
        cells = list(map(parse_list, column))
    # One list makes it a column of lists, in which other cells are refused.
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
        cells: The lists, whose numbers may be texts.
        name: The name of the column, for errors.

    Returns:
        (N, K) scores, or a list per item if their lengths differ, as those of choices do.

    Raises:
        ValueError: If a cell is no list, or holds lists or something else than numbers.
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
    # Items may have different numbers of choices.
    lengths = set(map(len, rows))
    if len(lengths) > 1:
        return [row.tolist() for row in rows]
    return np.stack(rows)


def scale_percentages(table: Any, roles: PredictionRoles, kind: str | None, columns: str) -> Any:
    """Divide percentages by 100 if the option `scores` says that the numbers are percentages.

    Args:
        table: (N, K) or (N,) numbers, or lists of numbers.
        roles: The roles, with the options.
        kind: The kind of the scores; None if it is not known.
        columns: The columns, for errors.

    Raises:
        OptionError: If the numbers must be percentages, and no option says so.
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
    """Divide rows of probabilities by their sums, if only rounding explains that these are not 1.

    Args:
        table: (N, K) scores; other tables are returned as they are.
        kind: The kind of the scores; None if it is not known.

    Returns:
        The scores, and a remark in brackets; "" if nothing was done.
    """
    is_table = isinstance(table, np.ndarray) and table.ndim >= 2
    if not is_table or kind not in (None, "probabilities"):
        return table, ""
    sums = table.sum(axis=1, keepdims=True)
    error = np.abs(sums - 1).max()
    # Most tables add up to 1, and need no search for the number of decimals. The comparison is negated
    # because the error is NaN if a score is.
    if not error > ROW_SUM_TOLERANCE or table.min() < 0:
        return table, ""
    for n_decimals in ROUNDED_DECIMALS:
        if not np.allclose(table, np.round(table, n_decimals), atol=1e-9):
            continue
        # Rounding changes each of the K numbers by half a unit of the last decimal at most.
        n_classes = table.shape[1]
        max_error = n_classes * 0.5 * 10.0**-n_decimals
        if error > max_error + 1e-9:
            return table, ""
        return table / sums, f" (rounded to {n_decimals} decimals, and made to add up to 1)"
    return table, ""
