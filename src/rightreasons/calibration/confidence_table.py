"""Tables of confidence: how confident several sources are in the same answers.

`read_confidence` reads one from a file or from a table in memory; `elicit_confidence` makes one by
querying a language model, and `measure_confidence` compares its sources.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.core.arrays import Floats
from rightreasons.core.errors import OptionError
from rightreasons.core.options import accept_options_as_keywords, parse_names
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_all
from rightreasons.io.cells import parse_numbers
from rightreasons.io.columns import (
    check_column_name,
    quote_column,
    read_names,
    write_expression,
)
from rightreasons.io.headings import (
    PREDICTION_HEADINGS,
    USUAL_HEADINGS,
    find_usual_column,
    make_heading_key,
)
from rightreasons.io.opened_columns import read_columns
from rightreasons.io.options import PredictionOptions
from rightreasons.io.prediction_proposals import find_prediction_roles
from rightreasons.io.roles import warn_of_doubts
from rightreasons.io.scores.graded_answers import read_correctness

COLUMN_PREFIX = "confidence_"
"""Prefix of columns of confidence; the remainder of the heading is the name of the source."""


@dataclasses.dataclass(frozen=True, eq=False)
class ConfidenceTable:
    """Confidence of several sources in the same N answers.

    Attributes:
        confidence: Source -> (N,) confidence in [0, 1], NaN if the source has none in an answer.
        correct: (N,) 1 for correct answers, 0 for incorrect ones, -1 for items without an answer.
        used: Description of the columns that were used.
    """

    confidence: dict[str, Floats]
    correct: NDArray[np.int64]
    used: str = ""


@accept_options_as_keywords(ConfidenceOptions)
def read_confidence(file: Any, *, options: ConfidenceOptions) -> ConfidenceTable:
    """Read the confidence of several sources in the same answers.

    Args:
        file: A file as `read_predictions` accepts it, or a table in memory. It has one row per
            item, a column per source (`confidence_p`, `confidence_verbalized`), and either a column
            `correct` or columns of answers and labels.
        options: Fields of `ConfidenceOptions`, for columns with unusual names.

    Returns:
        A `ConfidenceTable`.

    Raises:
        TypeError: If the input is neither a file nor a table.
        FileNotFoundError: If the file is missing.
        ValueError: If a column is missing, a confidence is not in [0, 1], or an item has two rows.

    Example:
        >>> table = read_confidence({
        ...     "confidence_p": [0.9, 0.4],
        ...     "confidence_verbalized": [0.8, None],
        ...     "correct": [1, 0],
        ... })
        >>> table.confidence["verbalized"].tolist(), table.correct.tolist()
        ([0.8, nan], [1, 0])
    """
    columns, options, source_name = read_columns(file, options)
    headings = parse_names(options.confidence_column) or _find_headings(columns, source_name)
    # Correctness is read as in a file of predictions: from a column, or from answers and labels.
    role_options = PredictionOptions(correct_column=options.correct_column)
    roles = find_prediction_roles(columns, source_name, role_options)
    warn_of_doubts(roles.doubts)
    correctness = read_correctness(roles)
    correct = correctness.is_correct.astype(np.int64)
    _check_unique_items(columns, len(correct), source_name)

    confidence = _parse_sources(columns, headings, source_name)
    used = f"confidence: {format_list(headings)}; correct: {' is '.join(correctness.columns)}"
    return ConfidenceTable(confidence, correct, used)


def _find_headings(columns: Any, source_name: str) -> list[str]:
    """Find the columns of confidence by their headings, such as "confidence" or "confidence_p".

    Args:
        columns: Heading -> cells.
        source_name: Name of the file or table, for the message.

    Raises:
        OptionError: If there is no such column.
    """
    headings = []
    for heading in columns:
        is_usual = make_heading_key(heading) in PREDICTION_HEADINGS["confidence"]
        if is_usual or heading.lower().startswith(COLUMN_PREFIX):
            headings.append(heading)
    if not headings:
        raise OptionError(
            f"Expected a column of confidence in {source_name}, but got the columns "
            f"{format_list(list(columns))}. Name the column with `confidence_column`.",
            option="confidence_column",
        )
    return headings


def _parse_sources(columns: Any, headings: Sequence[str], source_name: str) -> dict[str, Floats]:
    """Parse columns of confidence into one array per source.

    Args:
        columns: Heading -> cells.
        headings: Headings of the columns of confidence.
        source_name: Name of the file or table, for messages.

    Returns:
        Name of the source -> (N,) confidence, NaN for empty cells. The column "confidence_p" is the
        source "p"; a single column is the source "confidence".

    Raises:
        ValueError: If all cells are empty, or a confidence is not in [0, 1].
    """
    confidence = {}
    for heading in headings:
        column = columns[check_column_name(columns, heading, "confidence_column", source_name)]
        # A single source needs no name to distinguish it from others.
        source = "confidence"
        if len(headings) > 1:
            source = re.sub(f"(?i)^{COLUMN_PREFIX}", "", heading)
        confidence[source] = _parse_confidence(column, heading, source_name)
    is_empty = all(np.isnan(values).all() for values in confidence.values())
    if is_empty:
        raise ValueError(
            f"Expected the confidence in each answer in {format_list(headings)} of {source_name}, "
            "but all rows are empty."
        )
    return confidence


def _check_unique_items(columns: Any, n_rows: int, source_name: str) -> None:
    """Check that no item has two rows, if a column identifies the items.

    Args:
        columns: Heading -> cells.
        n_rows: Number of rows.
        source_name: Name of the file or table, for the message.
    """
    # Without a column of ids, each row is a separate item.
    id_column = find_usual_column(columns, USUAL_HEADINGS["confidence"]["item"])
    if id_column is None:
        return
    if len(set(read_names(columns[id_column]))) < n_rows:
        raise ValueError(
            f"Expected unique items in {source_name}, but its column {id_column!r} contains "
            "duplicates."
        )


def _parse_confidence(column: Any, heading: str, source_name: str) -> Floats:
    """Parse a column of confidences: (N,) numbers in [0, 1], NaN for empty cells.

    Args:
        column: N cells, numbers or text.
        heading: Heading of the column, for the message.
        source_name: Name of the file or table, for the message.

    Raises:
        ValueError: If a cell is not such a number. The message explains how to pass percentages.
    """
    values = parse_numbers(column, heading, missing=True)
    # Percentages are not divided by 100 silently: a table may have both scales.
    division = write_expression(f"{quote_column(heading)} | float / 100")
    check_all(
        values,
        # NaN passes, because it is neither below 0 nor above 1.
        lambda value: not (value < 0 or value > 1),
        f"confidences from 0 to 1, or empty cells, in column {heading!r} of {source_name} "
        f"(for percentages, pass `confidence_column` as '{division}')",
    )
    return values
