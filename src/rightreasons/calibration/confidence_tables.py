"""Reads tables of confidence: how sure each of several sources was of its answers to the same items."""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import listing
from rightreasons.core.options import listed as listed_names
from rightreasons.core.options import takes
from rightreasons.core.validation import check_each
from rightreasons.io import predictions
from rightreasons.io.columns import (
    USUAL_COLUMNS,
    Column,
    column_key,
    find_column,
    in_expression,
    named_column,
    names_in,
    read_columns,
)
from rightreasons.io.options import PredictionOptions

ITEM: Sequence[str] = USUAL_COLUMNS["confidence"]["item"]
"""Usual names of the column that says which item a row is about."""

PREFIX = "confidence_"
"""What the columns of a table begin with; the rest names the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """How sure each source was of its answers to N items.

    Attributes:
        items: N names of items.
        confidence: Source -> (N,) confidence in [0, 1]; NaN where the source gave none.
        correct: Source -> (N,) 1 where the answer was right, 0 where it was wrong, -1 where the source has no answer.
        used: In words, which columns were taken for what.
    """

    items: tuple[str, ...]
    confidence: dict[str, NDArray[np.float64]]
    correct: dict[str, NDArray[np.int64]]
    used: str = ""

    def __len__(self) -> int:
        return len(self.items)


@takes(ConfidenceOptions)
def read_confidence(files: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read how sure the authors of answers were, from one file or table, or from several.

    Args:
        files: A file as `read_predictions` takes them, a table in memory, or a list of files.
        options: The fields of `ConfidenceOptions`, for columns whose names do not say what they are.

    Returns:
        A `ConfidenceTable` of all items that any source has.

    Raises:
        TypeError: If it is neither a file nor a table.
        FileNotFoundError: If a file is missing.
        ValueError: If a column is missing, a confidence is not in [0, 1], or the sources cannot
            be matched by items.

    Example:
        >>> table = read_confidence({"confidence_p": [0.9, 0.4], "confidence_said": [0.8, None], "correct": [1, 0]})
        >>> table.confidence["said"].tolist(), table.correct["said"].tolist()
        ([0.8, nan], [1, 0])
    """
    several = isinstance(files, Sequence) and not isinstance(files, (str, os.PathLike))
    if several and not files:
        raise ValueError("Expected at least one file of confidence, but got none.")
    read = [_read(file, options, several and len(files) > 1) for file in (files if several else [files])]
    unnamed = next((where for _, where, _, is_named in read if not is_named), None)
    if unnamed is not None and len({len(next(iter(table.values()))) for table, *_ in read}) > 1:
        raise OptionError(
            f"Expected a column that names the items ({', '.join(ITEM)}) in {unnamed}, as the files have "
            "different numbers of rows; name it with `item_column`.",
            option="item_column",
        )
    sources = [(name, rows) for table, *_ in read for name, rows in table.items()]
    same = next((name for name, count in Counter(name for name, _ in sources).items() if count > 1), None)
    if same is not None:
        raise ValueError(f"Expected files of different names, but two sources are called {same!r}.")
    wide = pd.concat([rows for _, rows in sources], axis=1, keys=range(len(sources)), sort=False)
    return ConfidenceTable(
        items=tuple(wide.index),
        confidence={name: wide[k, "confidence"].to_numpy(np.float64) for k, (name, _) in enumerate(sources)},
        correct={name: wide[k, "correct"].fillna(-1).to_numpy(np.int64) for k, (name, _) in enumerate(sources)},
        used="; ".join(dict.fromkeys(used for _, _, used, _ in read)),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _read(
    source: Any, options: ConfidenceOptions, is_one_of_several: bool
) -> tuple[dict[str, pd.DataFrame], str, str, bool]:
    """Return source -> rows by item; the file's name, which columns were taken, and whether one names the items."""
    columns, options, where = read_columns(source, options)
    item = find_column(columns, options.item_column, ITEM, "item_column", where)
    names = listed_names(options.confidence_column) or [
        name
        for name in columns
        if column_key(name) in predictions.USUAL["confidence"] or name.lower().startswith(PREFIX)
    ]
    for name in names:
        named_column(columns, name, "confidence_column", where)
    if not names:
        raise OptionError(
            f"Expected a column of confidence in {where}, but it has {listing(list(columns))}; name it with "
            "`confidence_column`.",
            option="confidence_column",
        )
    of_right = PredictionOptions(correct_column=options.correct_column)
    right, columns_of_right, _ = predictions.correctness(predictions.roles_of(columns, where, of_right))
    found = {
        re.sub(f"(?i)^{PREFIX}", "", name) if len(names) > 1 else "": _confidences(columns[name], name, where)
        for name in names
    }
    if all(np.isnan(values).all() for values in found.values()):
        raise ValueError(f"Expected the confidence in each answer in {listing(names)} of {where}, but no row has one.")
    used = f"confidence: {listing(names)}; right: {' is '.join(columns_of_right)}"
    items = names_in(columns[item] if item else range(len(right)))
    twice = next((name for name, count in Counter(items).items() if count > 1), None)
    if twice is not None:
        raise OptionError(
            f"Expected each item once in {where}, but it has {twice!r} twice; name the items with `item_column`.",
            option="item_column",
        )
    of_file = Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else "table"
    origin = of_file if is_one_of_several else ""
    tables = {
        f"{origin} {column}".strip() or "confidence": pd.DataFrame(
            {"confidence": values, "correct": right}, index=items
        )
        for column, values in found.items()
    }
    return tables, where, used, item is not None


def _confidences(column: Column, name: str, where: str) -> NDArray[np.float64]:
    values = predictions.as_numbers(column, name, missing=True)
    check_each(
        values,
        lambda value: not (value < 0 or value > 1),
        f"the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where} (`confidence_column` "
        f"may divide percentages: '{{{{ {in_expression(name)} | float / 100 }}}}')",
    )
    return values
