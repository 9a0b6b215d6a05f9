"""Columns of scores that are recognized by their headings: single columns of lists, and a column per class.

`list_score_columns` is the entry point. `spread_class_objects` replaces scores that are an object per item by a column
per class, and `find_label_columns` recognizes columns whose headings are the labels.
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
"""Maximum relative difference from 1, or from 100, of the sum of scores whose headings are the labels."""


@dataclasses.dataclass(frozen=True)
class ScoreColumns:
    """Columns of scores: a single one of lists or of P(class 1), or one column per class.

    Attributes:
        columns: The columns, in the order of the classes.
        kind: "probabilities", "logits" or "log_probabilities"; None if the headings do not show the kind.
        class_names: The class in the heading of each column; None if the headings contain no classes.
    """

    columns: tuple[str, ...]
    kind: str | None
    class_names: tuple[str, ...] | None = None


def list_score_columns(columns: Columns) -> list[ScoreColumns]:
    """Return the columns that may be the scores according to their headings.

    These are single columns with a usual heading ("scores", "logits"), and groups of columns with one class
    each ("p_good", "p_bad").

    Args:
        columns: Columns by their names.

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
        # A group has at least two columns: a single one such as "p_value" may be anything.
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
    """Return the columns with a usual heading of scores, such as "scores" or "logits".

    A column with a heading of confidences is included if it contains lists, the scores of all classes.

    Args:
        columns: Columns by their names.
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

    The results of a pipeline of transformers, [{"label": "up", "score": 0.7}, …], are replaced as well.

    Args:
        columns: Columns by their names.
        options: Options, of which `score_columns` may name such a column.

    Returns:
        The columns, and the options, without `score_columns` if the column that it names was replaced.
    """
    option_names = parse_names(options.score_columns) or ()
    for name in list(columns):
        column_by_class = _spread_column(name, columns[name], is_named=name in option_names)
        # Existing columns are not overwritten, so that the user has to choose one of the two.
        has_conflict = bool(column_by_class.keys() & columns.keys())
        if not column_by_class or has_conflict:
            continue
        columns = {**columns, **column_by_class}
        del columns[name]
        if name in option_names:
            options = options.replace(score_columns=None)
    return columns, options


def _spread_column(name: str, column: Column, *, is_named: bool) -> dict[str, list[Any]]:
    """Return the scores in a column of objects by class, or of results of a pipeline, as a column per class.

    Args:
        name: The heading. Unless an option names the column, only a usual heading such as "scores" shows
            that objects contain scores.
        column: The cells.
        is_named: Whether the option `score_columns` names the column.

    Returns:
        Heading such as "p_up" -> scores; an empty mapping for a column of other cells.
    """
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    heading_key = make_heading_key(name)
    has_scores = is_named or heading_key in kind_by_heading
    # The first cell shows whether it is worth parsing all cells.
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
    """Return the scores in objects by class as a column per class; an empty mapping if a cell is not an object.

    Args:
        cells: An object per row. A class that is missing in an object has the score None.
        kind: "probabilities", "logits", "log_probabilities" or None. It determines the prefix of the
            headings, such as "p_" for probabilities.

    Example:
        >>> spread_objects([{"up": 0.75, "down": 0.25}], "probabilities")
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    if not all(isinstance(cell, dict) for cell in cells):
        return {}
    # `CLASS_COLUMNS` maps prefixes to kinds. The first prefix of the kind is used.
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
        columns: Columns by their names, without the column of labels.
        labels: (N,) labels.

    Returns:
        The columns under new headings of probabilities, such as "p_good"; an empty mapping if there are no
        such columns.
    """
    label_by_word = {}
    for word, label in list_words(labels).items():
        # Headings contain numbers by accident.
        if not is_number(label):
            label_by_word[word] = label
    name_by_label: dict[str, str] = {}
    for name in columns:
        label = find_label_in_heading(name, label_by_word)
        # If two headings contain the same label, the columns are not scores of classes.
        if label in name_by_label:
            return {}
        if label:
            name_by_label[label] = name
    if len(name_by_label) < 2 or not _are_shares(columns, name_by_label.values()):
        return {}
    return {f"p_{label}": columns[name] for label, name in name_by_label.items()}


def _are_shares(columns: Columns, names: Iterable[str]) -> bool:
    """Return whether the numbers of several columns add up to 1, or to 100, in every row.

    Args:
        columns: Columns by their names.
        names: The columns to add up. If a cell in one of them is not a number, the result is False.
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
    """Return whether a column with a heading of scores may contain scores, by its first cell that is not empty.

    Annotation tools use the heading "predictions" for objects, for the ids of objects, or for empty lists
    if there are no predictions.

    Args:
        column: The cells.
    """
    if isinstance(column, np.ndarray):
        return True
    for cell in iterate_distinct(column):
        if cell in (None, [], "", "[]"):
            continue
        value = unwrap_value(cell)
        # A list of a single integer other than 0 and 1 contains an id.
        if is_list_of_one(cell) and isinstance(value, int):
            return value in (0, 1)
        example = value[0] if isinstance(value, list) else value
        return not isinstance(example, dict)
    return False


def _has_lists(column: Column) -> bool:
    """Return whether a column contains lists of numbers."""
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return True
    return isinstance(column[0], list)
