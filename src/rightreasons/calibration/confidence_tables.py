"""Reads tables of confidence: how sure each of several sources was of its answers to the same items."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.core.errors import OptionError, naming
from rightreasons.core.label_names import listing
from rightreasons.core.options import listed as listed_names
from rightreasons.core.options import takes
from rightreasons.core.validation import check_each, check_ragged, check_scores
from rightreasons.io import predictions
from rightreasons.io.columns import (
    USUAL_COLUMNS,
    Column,
    Columns,
    column_key,
    find_column,
    in_expression,
    named_column,
    names_in,
    read_columns,
)
from rightreasons.io.options import PredictionOptions

ROWS: Mapping[str, Sequence[str]] = USUAL_COLUMNS["confidence"]
"""Usual names of the columns that say which item a row is about, from which source, and of which group."""

PREFIX = "confidence_"
"""What the columns of a wide table begin with; the rest names the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How sure each source was of its answers to N items.

    Attributes:
        items: N names of items.
        confidence: Source -> (N,) confidence in [0, 1]; NaN where the source gave none.
        correct: Source -> (N,) 1 where the answer was right, 0 where it was wrong, -1 where the source has no answer.
        groups: N names of groups, "" for none; None where there are no groups.
        used: In words, which columns were taken for what.
    """

    items: tuple[str, ...]
    confidence: dict[str, NDArray[np.float64]]
    correct: dict[str, NDArray[np.int64]]
    groups: tuple[str, ...] | None = None
    used: str = ""

    def __len__(self) -> int:
        return len(self.items)


@takes(ConfidenceOptions)
def read_confidence(files: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read how sure the authors of answers were, from one file or table, or from several.

    Args:
        files: A file as `read_predictions` takes them, a log of lm-evaluation-harness or inspect_ai among them, a table
            in memory, or a list of files.
        options: The fields of `ConfidenceOptions`, for columns whose names do not say what they are.

    Returns:
        A `ConfidenceTable` of all items that any source has.

    Raises:
        TypeError: If it is neither a file nor a table.
        FileNotFoundError: If a file is missing.
        ValueError: If a column is missing, a confidence is not in [0, 1], a source has an item twice, or the sources
            cannot be matched by items.

    Example:
        >>> rows = {"item": ["a", "b", "a"], "source": ["p", "p", "said"], "confidence": [0.9, 0.4, 0.8],
        ...         "correct": [1, 0, 1]}
        >>> table = read_confidence(rows)
        >>> table.confidence["said"].tolist(), table.correct["said"].tolist()
        ([0.8, nan], [1, -1])
    """
    several = isinstance(files, Sequence) and not isinstance(files, (str, os.PathLike))
    if several and not files:
        raise ValueError("Expected at least one file of confidence, but got none.")
    parts = [_confidence_rows(file, options, several and len(files) > 1) for file in (files if several else [files])]
    table = pd.concat(parts, ignore_index=True)
    twice = table[table.duplicated(["name", "item"])]
    if len(twice):
        name, item, where = twice[["name", "item", "where"]].iloc[0]
        raise OptionError(
            f"Expected each item once per source in {where}, but {name!r} has {item!r} twice; name the sources with "
            "`source_column`, or the items with `item_column`.",
            option=("source_column", "item_column"),
        )
    grouped = table.dropna(subset="group").drop_duplicates(["item", "group"])
    group_of = dict(zip(grouped["item"], grouped["group"], strict=True))
    if len(group_of) < len(grouped):
        item = grouped["item"][grouped.duplicated("item")].iloc[0]
        first, second = grouped["group"][grouped["item"] == item].iloc[:2]
        raise ValueError(f"Expected each item in one group, but {item!r} is in {first!r} and in {second!r}.")
    if table["by_row"].any() and len({part.index.nunique() for part in parts}) > 1:
        odd = table["where"][table["by_row"]].iloc[0]
        raise OptionError(
            f"Expected a column that names the items ({', '.join(ROWS['item'])}) in {odd}, as the files have "
            "different numbers of rows; name it with `item_column`.",
            option="item_column",
        )
    names = table["name"].unique()
    items = table.set_index("name").loc[names, "item"].unique()
    wide = table.pivot(index="item", columns="name", values=["confidence", "correct"]).reindex(items)
    return ConfidenceTable(
        items=tuple(items),
        confidence={name: wide["confidence", name].to_numpy(np.float64) for name in names},
        correct={name: wide["correct", name].fillna(-1).to_numpy(np.int64) for name in names},
        groups=tuple(group_of.get(item, "") for item in items) if group_of else None,
        used="; ".join(table["used"].unique()),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _confidence_rows(source: Any, options: ConfidenceOptions, is_one_of_several: bool) -> pd.DataFrame:
    """Return the rows of one file, once per column of confidence; the index is the number of the row."""
    columns, options, where = read_columns(source, options)
    named = {what: getattr(options, f"{what}_column") for what in ROWS}
    item, by, group = (
        find_column(columns, named[what], usual, f"{what}_column", where) for what, usual in ROWS.items()
    )
    names = listed_names(options.confidence_column) or [
        name
        for name in columns
        if column_key(name) in predictions.USUAL["confidence"] or name.lower().startswith(PREFIX)
    ]
    for name in names:
        named_column(columns, name, "confidence_column", where)
    if by is not None and item is None and len(set(map(str, columns[by]))) > 1:
        raise OptionError(
            f"Expected a column that names the items ({', '.join(ROWS['item'])}) in {where}, as it has several "
            "sources; name it with `item_column`.",
            option="item_column",
        )
    if names:
        of_right = PredictionOptions(correct_column=options.correct_column)
        right, columns_of_right, _ = predictions.correctness(predictions.roles_of(columns, where, of_right))
        read: dict[str, Any] = {
            re.sub(f"(?i)^{PREFIX}", "", name) if len(names) > 1 else "": _confidences(columns[name], name, where)
            for name in names
        }
        if all(np.isnan(values).all() for values in read.values()):
            raise ValueError(
                f"Expected the confidence in each answer in {listing(names)} of {where}, but no row has one."
            )
        used = f"confidence: {listing(names)}; right: {' is '.join(columns_of_right)}"
    else:
        likeliest, right, used = _top_label(columns, where, options)
        read = {"": likeliest}
    of_file = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else "table"
    n_rows = len(next(iter(columns.values())))
    sources = names_in(columns[by]) if by else [of_file if is_one_of_several else ""] * n_rows
    rows = {
        "item": names_in(columns[item] if item else range(n_rows)),
        "group": None if group is None else [name or None for name in names_in(columns[group])],
        "correct": right,
    }
    shared = {"where": where, "used": used, "by_row": item is None}
    return pd.concat(
        pd.DataFrame(
            {**rows, "name": [f"{origin} {column}".strip() or "confidence" for origin in sources], "confidence": values}
        ).assign(**shared)
        for column, values in read.items()
    )


def _confidences(column: Column, name: str, where: str) -> NDArray[np.float64]:
    values = predictions.as_numbers(column, name, missing=True)
    check_each(
        values,
        lambda value: not (value < 0 or value > 1),
        f"the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where} (`confidence_column` "
        f"may divide percentages: '{{{{ {in_expression(name)} | float / 100 }}}}')",
    )
    return values


@naming("score_columns", "label_column")
def _top_label(columns: Columns, where: str, options: ConfidenceOptions) -> tuple[list[float], Any, str]:
    """Return the probability of the likeliest class of each item, and whether it is the label."""
    of_right = PredictionOptions(correct_column=options.correct_column)
    found = predictions.find_predictions(columns, where, answers_alone=True, options=of_right)
    if found.answers_once:
        raise OptionError(
            f"Expected a confidence or scores beside the answers of {where}, but it has answers alone: `elicit` asks a "
            "model how sure it is, and a column of it is named by `confidence_column`.",
            option=("elicit", "confidence_column"),
        )
    if found.kind == "confidence":
        return list(found.predictions), found.references, found.used
    if found.references is None or (found.references < 0).any():
        raise ValueError(f"Expected a label in each row of {where}, but some have none.")
    table, scores = found.predictions, found.scores or "probabilities"
    rows = check_ragged(table, scores=scores) if isinstance(table, list) else check_scores(table, scores=scores)
    answers = [int(row.argmax()) for row in rows]
    confidence = [float(row[answer]) for row, answer in zip(rows, answers, strict=True)]
    used = f"{found.used}; confidence: the probability of the likeliest class"
    return confidence, np.array(answers) == found.references, used
