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
    """Return what may be the scores by its headings: columns of a usual name, and a column per class."""
    candidates = _list_usual_scores(columns)
    used = {candidate.columns[0] for candidate in candidates}
    names_by_prefix: dict[str, dict[str, str]] = {}
    for name in columns:
        prefix, class_name = parse_class_column(name)
        if prefix is not None and name not in used:
            names_by_class = names_by_prefix.setdefault(prefix, {})
            names_by_class[class_name] = name
    for prefix, names_by_class in names_by_prefix.items():
        # A single such column is P(class 1) only under a usual name.
        if len(names_by_class) < 2:
            continue
        scores = ScoreColumns(
            columns=tuple(names_by_class.values()),
            kind=CLASS_COLUMNS[prefix],
            class_names=tuple(names_by_class),
        )
        candidates.append(scores)
    return candidates


def _list_usual_scores(columns: Columns) -> list[ScoreColumns]:
    """Return the columns of scores that have a usual name."""
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    candidates = []
    for name in list_role_columns(columns, "scores"):
        if _may_hold_scores(columns[name]):
            kind = kind_by_heading[make_heading_key(name)]
            candidates.append(ScoreColumns((name,), kind))
    for name in list_role_columns(columns, "confidence"):
        # Lists of confidences are the scores of all classes.
        if _has_lists(columns[name]):
            candidates.append(ScoreColumns((name,), "probabilities"))
    return candidates


def spread_class_objects(
    columns: Columns, options: PredictionOptions
) -> tuple[Columns, PredictionOptions]:
    """Make a column per class of scores that are an object per item, or what a pipeline returned.

    Args:
        columns: Column by name.
        options: Options, of which `score_columns` may name such a column.

    Returns:
        The columns, and the options without a name that they no longer have.
    """
    option_names = parse_names(options.score_columns) or ()
    for name in list(columns):
        spread = _spread_column(name, columns[name], is_named=name in option_names)
        # A column of that name exists: this is not the place to decide which is meant.
        if not spread or spread.keys() & columns.keys():
            continue
        columns = {**columns, **spread}
        del columns[name]
        if name in option_names:
            options = options.replace(score_columns=None)
    return columns, options


def _spread_column(name: str, column: Column, *, is_named: bool) -> dict[str, list[Any]]:
    """Return a column per class of a column of objects; {} of other columns."""
    kind_by_heading = PREDICTION_HEADINGS["scores"]
    key = make_heading_key(name)
    has_scores = is_named or key in kind_by_heading
    # The first cell tells most columns that are none, without a loop over all rows.
    example = parse_cell(column[0])
    is_pipeline = bool(make_pipeline_columns([example]))
    if not is_pipeline and not (has_scores and isinstance(example, dict)):
        return {}
    cells = list(map(parse_cell, column))
    spread = make_pipeline_columns(cells)
    if not spread and has_scores:
        spread = spread_objects(cells, kind_by_heading.get(key))
    return spread


def spread_objects(cells: Sequence[Any], kind: str | None) -> dict[str, list[Any]]:
    """Return a column per class of objects of scores by class; {} if a cell is no object.

    Example:
        >>> spread_objects([{"up": 0.75, "down": 0.25}], "probabilities")
        {'p_up': [0.75], 'p_down': [0.25]}
    """
    if not all(isinstance(cell, dict) for cell in cells):
        return {}
    # The heading of a class says which kind of scores it holds.
    prefixes = list(CLASS_COLUMNS)
    prefix = prefixes[list(CLASS_COLUMNS.values()).index(kind)]
    columns = {}
    for name in dict.fromkeys(itertools.chain(*cells)):
        columns[f"{prefix}_{name}"] = [cell.get(name) for cell in cells]
    return columns


def find_label_columns(columns: Columns, labels: Column) -> dict[str, Column]:
    """Return the columns whose headings are the labels as those of P(label), if they add up to 1 or to 100.

    Args:
        columns: Column by name, without that of the labels.
        labels: (N,) labels.

    Returns:
        The columns by headings that say so, such as "p_good"; {} if there are none.
    """
    # Numbers in headings occur by accident.
    words = {}
    for word, label in list_words(labels).items():
        if not is_number(label):
            words[word] = label
    names_by_label: dict[str, str] = {}
    for name in columns:
        label = find_label_in_heading(name, words)
        # Two columns of one label are no scores of classes.
        if label in names_by_label:
            return {}
        if label:
            names_by_label[label] = name
    if len(names_by_label) < 2 or not _are_shares(columns, names_by_label.values()):
        return {}
    label_columns = {}
    for label, name in names_by_label.items():
        label_columns[f"p_{label}"] = columns[name]
    return label_columns


def _are_shares(columns: Columns, names: Iterable[str]) -> bool:
    """Return whether the numbers of some columns add up to 1, or to 100, in every row."""
    sums: Any = 0
    for name in names:
        try:
            sums = sums + parse_numbers(columns[name], name)
        except ValueError:
            return False
    return any(np.allclose(sums, total, atol=SUM_TOLERANCE * total) for total in (1, 100))


def _may_hold_scores(column: Column) -> bool:
    """Return whether a column may hold scores, by its first cell that is not empty.

    Annotation tools export predictions as well: none that a model filled in, objects, or the ids of these.
    """
    if isinstance(column, np.ndarray):
        return True
    for cell in iterate_distinct(column):
        if cell in (None, [], "", "[]"):
            continue
        value = unwrap_value(cell)
        if is_list_of_one(cell) and isinstance(value, int):
            # P(class 1) of a list is a fraction.
            return value in (0, 1)
        example = value[0] if isinstance(value, list) else value
        return not isinstance(example, dict)
    return False


def _has_lists(column: Column) -> bool:
    """Return whether a column holds lists of numbers."""
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return True
    return isinstance(column[0], list)
