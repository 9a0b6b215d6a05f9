"""Columns of scores by their headings: lists of usual names, and a column per class.

`list_score_columns` finds them. `spread_class_objects` makes a column per class of scores that are an object per item, and
`find_label_columns` recognizes columns whose headings are the labels.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rightreasons.core.arrays import CLASS_COLUMNS, parse_class_column
from rightreasons.core.options import parse_names
from rightreasons.io.cells import (
    is_list_of_one,
    is_number,
    parse_cell,
    parse_numbers,
    unwrap_value,
)
from rightreasons.io.columns import Column, Columns
from rightreasons.io.headings import PREDICTION_HEADINGS, list_role_columns, make_heading_key
from rightreasons.io.options import PredictionOptions
from rightreasons.io.score_cells import make_pipeline_columns
from rightreasons.io.scores.class_headings import find_label_in_heading, list_words
from rightreasons.io.scores.typed_values import iterate_distinct

SUM_TOLERANCE = 0.02
"""Scores whose headings are the labels add up to 1, or to 100, up to this share."""


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """Columns of scores: one of lists, or of P(class 1), or one per class.

    Attributes:
        columns: The columns, in the order of the classes.
        kind: "probabilities", "logits" or "log_probabilities", as their headings say; None if they do not.
        class_names: The class that each column names; None if they name none.
    """

    columns: tuple[str, ...]
    kind: str | None
    class_names: tuple[str, ...] | None = None


def list_score_columns(columns: Columns) -> list[ScoreColumns]:
    """Return the columns that may be the scores by their headings.

    These are single columns of a usual name ("scores", "logits"), and groups of columns with one class
    each ("p_good", "p_bad").

    Args:
        columns: Column by name.

    Returns:
        A candidate for each single column and for each group.
    """
    candidates = _list_usual_scores(columns)
    used_names = {candidate.columns[0] for candidate in candidates}
    # Prefix such as "p_" or "logit" -> class -> heading.
    heading_by_prefix: dict[str, dict[str, str]] = {}
    for heading in columns:
        prefix, class_name = parse_class_column(heading)
        if prefix is not None and heading not in used_names:
            heading_by_class = heading_by_prefix.setdefault(prefix, {})
            heading_by_class[class_name] = heading
    for prefix, heading_by_class in heading_by_prefix.items():
        # A single column is P(class 1) only if it has a usual name.
        if len(heading_by_class) < 2:
            continue
        scores = ScoreColumns(
            columns=tuple(heading_by_class.values()),
            kind=CLASS_COLUMNS[prefix],
            class_names=tuple(heading_by_class),
        )
        candidates.append(scores)
    return candidates


def _list_usual_scores(columns: Columns) -> list[ScoreColumns]:
    """Return the columns that may be scores by a usual heading, such as "scores" or "logits".

    A heading of confidences counts if the column holds lists, which are the scores of all classes.

    Args:
        columns: Column by name.
    """
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    candidates = []
    for name in list_role_columns(columns, "scores"):
        if _may_hold_scores(columns[name]):
            kind = kind_by_heading[make_heading_key(name)]
            candidates.append(ScoreColumns((name,), kind))
    for name in list_role_columns(columns, "confidence"):
        if _has_lists(columns[name]):
            candidates.append(ScoreColumns((name,), "probabilities"))
    return candidates


def spread_class_objects(
    columns: Columns, options: PredictionOptions
) -> tuple[Columns, PredictionOptions]:
    """Replace columns of objects of scores, such as {"up": 0.7, "down": 0.3}, by a column per class.

    What a pipeline of transformers returned, [{"label": "up", "score": 0.7}, …], is replaced as well.

    Args:
        columns: Column by name.
        options: Options, of which `score_columns` may name such a column.

    Returns:
        The columns, and the options without the name of a column that was replaced.
    """
    option_names = parse_names(options.score_columns) or ()
    for name in list(columns):
        column_by_class = _spread_column(name, columns[name], is_named=name in option_names)
        # A column that exists is not overwritten: the user has to choose between the two.
        has_conflict = bool(column_by_class.keys() & columns.keys())
        if not column_by_class or has_conflict:
            continue
        columns = {**columns, **column_by_class}
        del columns[name]
        if name in option_names:
            options = options.replace(score_columns=None)
    return columns, options


def _spread_column(name: str, column: Column, *, is_named: bool) -> dict[str, list[Any]]:
    """Return a column per class of a column of objects of scores; {} for other columns.

    Args:
        name: The heading, which may say the kind of the scores.
        column: The cells.
        is_named: Whether an option says that the column holds scores.
    """
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    heading_key = make_heading_key(name)
    has_scores = is_named or heading_key in kind_by_heading
    # The first cell shows that most columns are of another form, without parsing all rows.
    example = parse_cell(column[0])
    is_pipeline = bool(make_pipeline_columns([example]))
    has_objects = has_scores and isinstance(example, dict)
    if not is_pipeline and not has_objects:
        return {}
    cells = list(map(parse_cell, column))
    column_by_class = make_pipeline_columns(cells)
    if not column_by_class and has_scores:
        column_by_class = spread_objects(cells, kind_by_heading.get(heading_key))
    return column_by_class


def spread_objects(cells: Sequence[Any], kind: str | None) -> dict[str, list[Any]]:
    """Return a column per class of objects of scores by class; {} if a cell is no object.

    Args:
        cells: An object per row; a class that it lacks has the score None.
        kind: "probabilities", "logits", "log_probabilities" or None, which selects the prefix of the
            headings, such as "p_" for probabilities.

    Example:
        >>> spread_objects([{"up": 0.75, "down": 0.25}], "probabilities")
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    if not all(isinstance(cell, dict) for cell in cells):
        return {}
    # The first prefix of this kind.
    prefixes = list(CLASS_COLUMNS)
    kinds = list(CLASS_COLUMNS.values())
    prefix = prefixes[kinds.index(kind)]
    class_names = dict.fromkeys(itertools.chain.from_iterable(cells))
    columns = {}
    for class_name in class_names:
        columns[f"{prefix}_{class_name}"] = [cell.get(class_name) for cell in cells]
    return columns


def find_label_columns(columns: Columns, labels: Column) -> dict[str, Column]:
    """Return the columns whose headings are the labels, if they add up to 1 or to 100 in every row.

    For example, the columns "good" and "bad" next to labels of these names are P(good) and P(bad).

    Args:
        columns: Column by name, without that of the labels.
        labels: (N,) labels.

    Returns:
        The columns under headings that say what they are, such as "p_good"; {} if there are none.
    """
    label_by_word = {}
    for word, label in list_words(labels).items():
        # Numbers occur in headings by accident.
        if not is_number(label):
            label_by_word[word] = label
    name_by_label: dict[str, str] = {}
    for name in columns:
        label = find_label_in_heading(name, label_by_word)
        # Two columns of one label are no scores of classes.
        if label in name_by_label:
            return {}
        if label:
            name_by_label[label] = name
    if len(name_by_label) < 2 or not _are_shares(columns, name_by_label.values()):
        return {}
    return {f"p_{label}": columns[name] for label, name in name_by_label.items()}


def _are_shares(columns: Columns, names: Iterable[str]) -> bool:
    """Return whether the numbers of some columns add up to 1, or to 100, in every row.

    Args:
        columns: Column by name.
        names: The columns to add up; False if one holds something else than numbers.
    """
    sums: Any = 0
    for name in names:
        try:
            sums = sums + parse_numbers(columns[name], name)
        except ValueError:
            return False
    are_fractions = np.allclose(sums, 1, atol=SUM_TOLERANCE)
    are_percentages = np.allclose(sums, 100, atol=100 * SUM_TOLERANCE)
    return are_fractions or are_percentages


def _may_hold_scores(column: Column) -> bool:
    """Return whether a column with a heading of scores may hold them, by its first cell that is not empty.

    Annotation tools use such headings ("predictions") for objects, for the ids of objects, or for
    empty lists if no model filled them in.
    """
    if isinstance(column, np.ndarray):
        return True
    for cell in iterate_distinct(column):
        if cell in (None, [], "", "[]"):
            continue
        value = unwrap_value(cell)
        # A list of one whole number other than 0 and 1 holds an id.
        if is_list_of_one(cell) and isinstance(value, int):
            return value in (0, 1)
        example = value[0] if isinstance(value, list) else value
        return not isinstance(example, dict)
    return False


def _has_lists(column: Column) -> bool:
    """Return whether a column holds lists of numbers."""
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return True
    return isinstance(column[0], list)
