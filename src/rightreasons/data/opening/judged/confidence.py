"""Tables of confidence: how sure the author of each answer was, from one source or several, and whether it was right.

A table is long, with a row per item and source (`item, source, confidence, correct`, and perhaps `group`), or wide,
with a row per item and a column per source (`item, confidence_p_true, confidence_said, correct`). Class scores give
the probability of the likeliest class. Of several files each is a source, by its name, unless a column names the
sources. A cell without a number says that the source gave no confidence, such as a verbalized one that could not be
parsed.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.data.opening.judged.answers import answers_alone
from rightreasons.data.opening.options import ConfidenceOptions, PredictionOptions
from rightreasons.data.opening.predictions import (
    CONFIDENCE_COLUMNS,
    ID_COLUMNS,
    LABEL_COLUMNS,
    correctness,
    find_predictions,
    number_in,
    source_name,
)
from rightreasons.data.opening.stored_columns import Column, Columns, column_called, read_columns
from rightreasons.foundations.label_names import listed
from rightreasons.foundations.options import listed as listed_names
from rightreasons.foundations.options import takes
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_ragged, check_scores, unknown_name

SOURCE_COLUMNS = ("source", "method", "elicitor")
"""Names of the column of the source of a confidence."""

GROUP_COLUMNS = ("group", "groups", "subject", "domain")
"""Names of the column of the group that an item belongs to."""

ITEM_COLUMNS = ("item", "items", *ID_COLUMNS)
"""Names of the column that says which rows are about one item."""

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
@checks_kinds
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
    parts = [_Part.of(one, options) for one in (files if several else [files])]
    rows: dict[str, dict[str, tuple[float, int]]] = {}
    group_of: dict[str, str] = {}
    for part in parts:
        for number, item in enumerate(part.items):
            source = part.sources[number] if part.sources is not None else part.name if len(parts) > 1 else ""
            for column, (confidence, correct) in part.columns.items():
                name = " ".join(word for word in (source, column) if word) or "confidence"
                own = rows.setdefault(name, {})
                if item in own:
                    raise ValueError(
                        f"Expected each item once per source in {part.where}, but {name!r} has {item!r} twice; name "
                        "the sources with `source_column`, or the items with `item_column`."
                    )
                own[item] = confidence[number], correct[number]
            if part.groups is not None and group_of.setdefault(item, part.groups[number]) != part.groups[number]:
                raise ValueError(
                    f"Expected each item in one group, but {item!r} is in {group_of[item]!r} and in "
                    f"{part.groups[number]!r}."
                )
    if len(parts) > 1 and any(part.by_row for part in parts) and len({len(part.items) for part in parts}) > 1:
        odd = next(part for part in parts if part.by_row)
        raise ValueError(
            f"Expected a column that names the items ({', '.join(ITEM_COLUMNS)}) in {odd.where}, as the files have "
            "different numbers of rows; name it with `item_column`."
        )
    items = tuple(dict.fromkeys(item for own in rows.values() for item in own))
    nothing = (float("nan"), -1)
    return ConfidenceTable(
        items=items,
        confidence={name: np.array([own.get(item, nothing)[0] for item in items]) for name, own in rows.items()},
        correct={
            name: np.array([own.get(item, nothing)[1] for item in items], dtype=np.int64) for name, own in rows.items()
        },
        groups=tuple(group_of.get(item, "") for item in items) if group_of else None,
        used="; ".join(dict.fromkeys(part.used for part in parts)),
    )


# ------------------------------------------------------------------------------------------------------------- private


@dataclasses.dataclass(frozen=True)
class _Part:
    """What one file says: rows in their order; by column ("" for the only one) the confidences and what was right."""

    where: str
    name: str
    items: list[str]
    by_row: bool
    sources: list[str] | None
    groups: list[str] | None
    columns: dict[str, tuple[list[float], list[int]]]
    used: str

    @classmethod
    def of(cls, source: Any, options: ConfidenceOptions) -> _Part:
        columns, where = read_columns(source, log_filter=options.log_filter), source_name(source)
        item, by, group = (
            column_called(columns, usual, named=getattr(options, option), option=option, where=where)
            for option, usual in (
                ("item_column", ITEM_COLUMNS),
                ("source_column", SOURCE_COLUMNS),
                ("group_column", GROUP_COLUMNS),
            )
        )
        names = listed_names(options.confidence_column) or [
            name for name in columns if name.lower() in CONFIDENCE_COLUMNS or name.lower().startswith(PREFIX)
        ]
        for name in names:
            if name not in columns:
                raise unknown_name(f"column of {where} in `confidence_column`", name, columns)
        n_rows = len(next(iter(columns.values())))
        if by is not None and item is None and len(set(map(str, columns[by]))) > 1:
            raise ValueError(
                f"Expected a column that names the items ({', '.join(ITEM_COLUMNS)}) in {where}, as it has several "
                "sources; name it with `item_column`."
            )
        read = {}
        if names:
            labels = [name for name in columns if name.lower() in LABEL_COLUMNS]
            chosen = PredictionOptions(correct_column=options.correct_column)
            right, used = correctness(columns, where, labels, chosen)
            for name in names:
                read[_source_in(name) if len(names) > 1 else ""] = (
                    _confidences(columns[name], name, where),
                    right.tolist(),
                )
            if all(np.isnan(values).all() for values, _ in read.values()):
                raise ValueError(
                    f"Expected the confidence in each answer in {listed(names)} of {where}, but no row has one."
                )
            used = f"confidence: {listed(names)}; {used}"
        else:
            likeliest, hits, used = _top_label(columns, where, options)
            read[""] = likeliest, hits
        return cls(
            where=where,
            name=Path(source).name.split(".")[0] if isinstance(source, (str, os.PathLike)) else "table",
            items=[str(value) for value in columns[item]] if item else [str(row) for row in range(n_rows)],
            by_row=item is None,
            sources=None if by is None else [str(value) for value in columns[by]],
            groups=None if group is None else [str(value) for value in columns[group]],
            columns=read,
            used=used,
        )


def _source_in(name: str) -> str:
    return name[len(PREFIX) :] if name.lower().startswith(PREFIX) else name


def _confidences(column: Column, name: str, where: str) -> list[float]:
    values = [number_in(value) for value in column]
    odd = next((row for row, value in enumerate(values) if value is None or value < 0 or value > 1), None)
    if odd is not None:
        raise ValueError(
            f"Expected the confidence in each answer, from 0 to 1, or nothing, in column {name!r} of {where}, but row "
            f"{odd} holds {str(column[odd])[:40]!r}."
        )
    return [value for value in values if value is not None]


def _top_label(columns: Columns, where: str, options: ConfidenceOptions) -> tuple[list[float], list[int], str]:
    """Return the probability of the likeliest class of each item, and whether it is the label."""
    if options.correct_column is not None:
        raise ValueError(
            f"Expected a column of confidence ({', '.join(CONFIDENCE_COLUMNS)}) beside `correct_column` in {where}, "
            f"but its columns are: {listed(list(columns))}; name it with `confidence_column`."
        )
    if answers_alone(columns, where, options=PredictionOptions()) is not None:
        raise ValueError(
            f"Expected a confidence or scores beside the answers of {where}, but it has answers alone: `elicit` asks a "
            "model how sure it is."
        )
    found = find_predictions(columns, where)
    if found.references is None or (found.references < 0).any():
        raise ValueError(f"Expected a label in each row of {where}, but some have none.")
    table, scores = found.predictions, found.scores or "probabilities"
    rows = check_ragged(table, scores=scores) if isinstance(table, list) else check_scores(table, scores=scores)
    answers = [int(row.argmax()) for row in rows]
    confidence = [float(row[answer]) for row, answer in zip(rows, answers, strict=True)]
    right = [int(answer == label) for answer, label in zip(answers, found.references.tolist(), strict=True)]
    return confidence, right, f"{found.used}; confidence: the probability of the likeliest class"
