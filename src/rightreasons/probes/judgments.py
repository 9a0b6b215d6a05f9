"""Tables of judgments: which of two candidates a judge preferred, in either order.

A row has the item, the judge, the candidate shown first and the one shown second (by the names of
their authors), and the verdict. The same two candidates in the other order are the swapped judgment
of one pair. `read_judgments` joins the two, and returns the pairs of each judge for `judge_bias`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.validation import check_all
from rightreasons.io.columns import collect_results, find_column
from rightreasons.io.headings import USUAL_HEADINGS
from rightreasons.io.opened_columns import read_columns
from rightreasons.probes.options import JudgmentOptions

USUAL: Mapping[str, Sequence[str]] = USUAL_HEADINGS["judgments"]
"""Content of a column, such as "verdict" -> usual names of the column."""

REQUIRED = {
    "first": "candidate shown first",
    "second": "candidate shown second",
    "verdict": "verdict",
}
"""Columns that a table of judgments needs, with their descriptions."""

FIRST = frozenset(("first", "a", "model_a", "candidate_a", "[[a]]", "1"))
SECOND = frozenset(("second", "b", "model_b", "candidate_b", "[[b]]", "2"))
TIE = frozenset(("tie", "both", "draw", "[[c]]", "c", "equal"))
NO_VERDICT = frozenset(("", "none", "null", "nan", "error", "n/a"))

COUNTED = ("wins", "reference", "longer")
"""Columns whose values are about the alphabetically first candidate of a pair."""


@dataclasses.dataclass(frozen=True, eq=False)
class Judgments:
    """Judgments of a table, by judge.

    Attributes:
        judges: Judge -> its N pairs of candidates, as arguments of `judge_bias`: "first_wins",
            "swapped", "longer", "own", "reference" and "items".
        n_rows: Number of rows of the table.
        n_without: Number of rows without a verdict, such as answers that could not be parsed.
    """

    judges: Mapping[str, Mapping[str, Any]]
    n_rows: int
    n_without: int


@accept_options_as_keywords(JudgmentOptions)
def read_judgments(source: Any, *, options: JudgmentOptions) -> Judgments:
    """Read a table of judgments on which of two candidates is better.

    Verdicts are "first", "second" and "tie"; or A, B and C; [[A]], [[B]] and [[C]]; 1 and 2;
    model_a and model_b; or the name of the candidate. An empty cell is a missing verdict. The
    reference is the column for it, or otherwise the other judges.

    Args:
        source: A table, or a file in the same formats as `read_predictions`.
        options: Fields of `JudgmentOptions`, for columns without a usual name.

    Returns:
        The pairs of each judge.

    Raises:
        ValueError: If a column is missing, a verdict is unknown, or both candidates of a row have
            the same name.

    Example:
        >>> rows = {"item": [1, 1], "model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
        >>> pairs = read_judgments(rows).judges["judge"]
        >>> pairs["first_wins"].tolist(), pairs["swapped"].tolist()
        ([1.0], [0.5])
    """
    columns, options, source_name = read_columns(source, options)
    columns_by_content = _select_columns(columns, options, source_name)
    first_authors = map(str, columns_by_content["first"])
    second_authors = map(str, columns_by_content["second"])
    authors = list(zip(first_authors, second_authors, strict=True))
    check_all(
        authors, lambda pair: pair[0] != pair[1], f"two candidates in each row of {source_name}"
    )

    rows = []
    number_by_pair: dict[tuple[str, ...], int] = {}
    for index, (first_author, second_author) in enumerate(authors):
        cells = {name: column[index] for name, column in columns_by_content.items()}
        row = _parse_row(cells, (first_author, second_author), index, source_name)
        # The key of a pair is the same whichever candidate is shown first.
        pair_key = (row["item"], *sorted((first_author, second_author)))
        row["pair"] = number_by_pair.setdefault(pair_key, len(number_by_pair))
        rows.append(row)
    # The conversion to float turns missing verdicts, None, into NaN.
    table = pd.DataFrame(rows).astype(dict.fromkeys(COUNTED, float))
    judges = {}
    for judge in table["judge"].unique():
        judges[judge] = _join_pairs(judge, table)
    return Judgments(judges, n_rows=len(rows), n_without=int(table["wins"].isna().sum()))


def _select_columns(columns: Any, options: JudgmentOptions, source_name: str) -> dict[str, Any]:
    """Find the columns of a table of judgments, by the options or by their usual names.

    Args:
        columns: Name -> column of the table.
        options: Names of columns, such as `verdict_column`; None to look for a usual name.
        source_name: Name of the table, for errors.

    Returns:
        Content, such as "verdict" or "first_text" -> its column. Optional columns may be missing.

    Raises:
        ValueError: If a named or required column is missing; all of them are in one message.
    """
    finders = []
    for content, usual_names in USUAL.items():
        option = f"{content}_column"
        # Each search is deferred, so that the errors of all of them can be collected.
        finder = functools.partial(
            find_column,
            columns,
            getattr(options, option),
            usual_names,
            option,
            source_name,
            REQUIRED.get(content, ""),
        )
        finders.append(finder)
    column_names = collect_results(*finders)
    columns_by_content = {}
    for content, column_name in zip(USUAL, column_names, strict=True):
        if column_name is not None:
            columns_by_content[content] = columns[column_name]
    return columns_by_content


def _parse_row(
    row: Mapping[str, Any], pair: tuple[str, str], index: int, source_name: str
) -> dict[str, Any]:
    """Parse a judgment, and express it as a win of the alphabetically first candidate.

    So the judgments of a pair in both orders are about the same candidate.

    Args:
        row: Content, such as "verdict" or "first_text" -> the cell of the row.
        pair: Authors of the candidate shown first and of the one shown second.
        index: Index of the row, which names its item if the table has no column of items.
        source_name: Name of the table, for errors.

    Returns:
        "judge", "item", "authors" (the pair), "is_ordered" (whether the candidate shown first is
        the alphabetically first one), and the values for the latter: "wins", "reference" and
        "longer", each 1, 0 or 0.5, or None if unknown.
    """
    location = f"row {index} of {source_name}"
    # These values are about the candidate that was shown first.
    values = {
        "wins": _parse_verdict(row["verdict"], pair, location),
        "reference": None,
        "longer": _compare_lengths(row),
    }
    if "reference" in row:
        values["reference"] = _parse_verdict(row["reference"], pair, location)
    first_author, second_author = pair
    is_ordered = first_author < second_author
    if not is_ordered:
        for name, value in values.items():
            if value is not None:
                values[name] = 1 - value
    return {
        "judge": str(row.get("judge", "judge")),
        "item": str(row.get("item", index)),
        "authors": pair,
        "is_ordered": is_ordered,
        **values,
    }


def _join_pairs(judge: str, table: pd.DataFrame) -> dict[str, Any]:
    """Join the judgments of each pair in both orders, and add the reference of the pair.

    Args:
        judge: Name of a judge.
        table: A row per judgment of any judge: "pair" (its number), and what `_parse_row` returns.
            Values such as "wins" are about the alphabetically first candidate.

    Returns:
        Arguments of `judge_bias` for the N pairs of this judge: "items", "first_wins", "swapped",
        "longer", "own" and "reference". Their first candidate is the one that this judge saw first
        in its first judgment of the pair.
    """
    is_of_judge = table["judge"] == judge
    is_ordered = table["is_ordered"]
    # The other judges are the reference, unless the table has one.
    reference = table["wins"].where(~is_of_judge)
    if table["reference"].notna().any():
        reference = table["reference"]
    # `where` replaces the values of other rows by NaN, which the mean of a pair ignores.
    values = {
        "ordered_wins": table["wins"].where(is_of_judge & is_ordered),
        "reversed_wins": table["wins"].where(is_of_judge & ~is_ordered),
        "longer": table["longer"],
        "reference": reference,
    }
    first_judgments = table[is_of_judge].drop_duplicates("pair")
    means = pd.DataFrame(values).groupby(table["pair"]).mean().loc[first_judgments["pair"]]

    # So far the values are about the alphabetically first candidate. If the judge saw the other one
    # first, a win of one is a loss of the other.
    is_reversed = ~first_judgments["is_ordered"].to_numpy()
    columns = {}
    for name in values:
        column = means[name].to_numpy()
        columns[name] = np.where(is_reversed, 1 - column, column)
    # 1 if the first candidate is the judge's own, 0 if the second is, and otherwise 1/2.
    own_sides = []
    for first_author, second_author in first_judgments["authors"]:
        own_sides.append(0.5 * (1 + (first_author == judge) - (second_author == judge)))
    return {
        "items": list(first_judgments["item"]),
        "first_wins": np.where(is_reversed, columns["reversed_wins"], columns["ordered_wins"]),
        "swapped": np.where(is_reversed, columns["ordered_wins"], columns["reversed_wins"]),
        "longer": columns["longer"],
        "own": np.array(own_sides),
        "reference": columns["reference"],
    }


def _parse_verdict(value: Any, pair: tuple[str, str], location: str) -> float | None:
    """Return the share of the win that a verdict gives to the candidate that was shown first.

    Args:
        value: Verdict, such as "A", "model_b", "[[C]]", "tie (both fail)", or the name of a candidate.
        pair: Names of the candidate shown first and of the one shown second.
        location: Description of the row, for errors.

    Returns:
        1 if the first candidate wins, 0 if the second does, 0.5 for a tie. None for no verdict.

    Raises:
        ValueError: If the verdict is unknown or ambiguous.
    """
    text = ""
    if value is not None:
        text = str(value).strip()
    # A verdict may have a comment in brackets, as in "tie (both fail)".
    word = text.lower().split(" (")[0]
    if text in pair:
        # If a candidate called "a" is shown second, the verdict "a" has two meanings.
        opposite_words = FIRST if text == pair[1] else SECOND
        if word in opposite_words:
            raise ValueError(
                f"Expected a verdict that names one candidate, but {text!r} in {location} names "
                "both a position and the candidate in the other position. Rename the candidates."
            )
        return float(text == pair[0])
    if word in FIRST:
        return 1.0
    if word in SECOND:
        return 0.0
    if word in TIE:
        return 0.5
    if word in NO_VERDICT:
        return None
    raise ValueError(
        "Expected first, second or tie, A, B or C, or the name of a candidate as the verdict, "
        f"but {location} has {text[:40]!r}."
    )


def _compare_lengths(row: Mapping[str, Any]) -> float | None:
    """Return 1 if the first text is longer, 0 if the second is, 0.5 for equal; None without texts."""
    first_text = row.get("first_text")
    second_text = row.get("second_text")
    # Lengths are a column of some tables and not of others.
    if first_text is None or second_text is None:
        return None
    return 0.5 + 0.5 * float(np.sign(len(str(first_text)) - len(str(second_text))))
