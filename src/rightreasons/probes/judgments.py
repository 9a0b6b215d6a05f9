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
"""Usual names of columns by what they hold."""

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
"""Columns that count for the alphabetically first candidate of a pair."""


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
    """Read which of two candidates judges preferred.

    Verdicts are "first", "second" and "tie", also as A, B and C, [[A]], 1 and 2, or model_a and
    model_b, or the name of the candidate; an empty one is none. The reference of a judge is the
    column for it, or else all other judges.

    Args:
        source: A file as `read_predictions` takes them, or a table.
        options: Fields of `JudgmentOptions`, for columns without a usual name.

    Returns:
        The pairs of each judge.

    Raises:
        ValueError: If a column is missing, a verdict is unknown, or two candidates of a row have one
            name.

    Example:
        >>> rows = {"item": [1, 1], "model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
        >>> pairs = read_judgments(rows).judges["judge"]
        >>> pairs["first_wins"].tolist(), pairs["swapped"].tolist()
        ([1.0], [0.5])
    """
    columns, options, source_name = read_columns(source, options)
    cells = _select_columns(columns, options, source_name)
    authors = list(zip(map(str, cells["first"]), map(str, cells["second"]), strict=True))
    check_all(
        authors, lambda pair: pair[0] != pair[1], f"two candidates in each row of {source_name}"
    )

    rows = []
    number_by_pair: dict[tuple[str, ...], int] = {}
    for index, pair in enumerate(authors):
        row = {name: values[index] for name, values in cells.items()}
        parsed = _parse_row(row, pair, index, source_name)
        # A pair is the same two candidates for one item, in either order.
        key = (parsed["item"], *sorted(pair))
        rows.append({"pair": number_by_pair.setdefault(key, len(number_by_pair)), **parsed})
    table = pd.DataFrame(rows).astype(dict.fromkeys(COUNTED, float))
    judges = {}
    for judge in table["judge"].unique():
        judges[judge] = _join_pairs(judge, table)
    return Judgments(judges, n_rows=len(rows), n_without=int(table["wins"].isna().sum()))


def _select_columns(columns: Any, options: JudgmentOptions, source_name: str) -> dict[str, Any]:
    """Return the columns of a table of judgments by what they hold."""
    finders = []
    for content, names in USUAL.items():
        option = f"{content}_column"
        finder = functools.partial(
            find_column,
            columns,
            getattr(options, option),
            names,
            option,
            source_name,
            REQUIRED.get(content, ""),
        )
        finders.append(finder)
    # All missing columns are named at once.
    cells = {}
    for content, name in zip(USUAL, collect_results(*finders), strict=True):
        if name is not None:
            cells[content] = columns[name]
    return cells


def _parse_row(
    row: Mapping[str, Any], pair: tuple[str, str], index: int, source_name: str
) -> dict[str, Any]:
    """Return a judgment, whose `COUNTED` columns count for the alphabetically first candidate."""
    location = f"row {index} of {source_name}"
    values = {
        "wins": _parse_verdict(row["verdict"], pair, location),
        "reference": None,
        "longer": _compare_lengths(row),
    }
    if "reference" in row:
        values["reference"] = _parse_verdict(row["reference"], pair, location)
    # So far the values count for the candidate that was shown first.
    first_author, second_author = pair
    is_ordered = first_author < second_author
    if not is_ordered:
        for name, value in values.items():
            if value is not None:
                values[name] = 1 - value
    return {
        "judge": str(row.get("judge", "judge")),
        # Without a column of items, each row is one.
        "item": str(row.get("item", index)),
        "authors": pair,
        "is_ordered": is_ordered,
        **values,
    }


def _join_pairs(judge: str, table: pd.DataFrame) -> dict[str, Any]:
    """Join the judgments of each pair by a judge, and those of the other judges as its reference.

    The table counts for the alphabetically first candidate, the pairs for the one that the judge saw
    first in its first judgment.
    """
    is_of_judge = table["judge"] == judge
    is_ordered = table["is_ordered"]
    pairs = table[is_of_judge].drop_duplicates("pair")
    reference = table["wins"].where(~is_of_judge)
    # A stated reference takes the place of the other judges.
    if table["reference"].notna().any():
        reference = table["reference"]
    values = {
        "ordered": table["wins"].where(is_of_judge & is_ordered),
        "reversed": table["wins"].where(is_of_judge & ~is_ordered),
        "longer": table["longer"],
        "reference": reference,
    }
    means = pd.DataFrame(values).groupby(table["pair"]).mean().loc[pairs["pair"]]

    is_turned = ~pairs["is_ordered"].to_numpy()
    counts = {}
    for name in values:
        column = means[name].to_numpy()
        counts[name] = np.where(is_turned, 1 - column, column)
    # 1 if the first candidate is the judge's own, 0 if the second is, and otherwise 1/2.
    own_sides = []
    for first_author, second_author in pairs["authors"]:
        own_sides.append(0.5 * (1 + (first_author == judge) - (second_author == judge)))
    return {
        "items": list(pairs["item"]),
        "first_wins": np.where(is_turned, counts["reversed"], counts["ordered"]),
        "swapped": np.where(is_turned, counts["ordered"], counts["reversed"]),
        "longer": counts["longer"],
        "own": np.array(own_sides),
        "reference": counts["reference"],
    }


def _parse_verdict(value: Any, pair: tuple[str, str], location: str) -> float | None:
    """Return 1 if the first candidate wins, 0 if the second does, 0.5 for a tie, None for none."""
    text = ""
    if value is not None:
        text = str(value).strip()
    # Judges comment on a verdict in brackets.
    word = text.lower().split(" (")[0]
    if text in pair:
        # A candidate may be called "a", and be shown in the second place.
        opposite_words = FIRST if text == pair[1] else SECOND
        if word in opposite_words:
            raise ValueError(
                f"Expected a verdict that names one candidate, but in {location} {text!r} names a place "
                "and the candidate in the other: rename the candidates."
            )
        return float(text == pair[0])
    shares = ((FIRST, 1.0), (SECOND, 0.0), (TIE, 0.5), (NO_VERDICT, None))
    for words, share in shares:
        if word in words:
            return share
    raise ValueError(
        "Expected first, second or tie, A, B or C, or the name of a candidate as the verdict, but "
        f"{location} has {text[:40]!r}."
    )


def _compare_lengths(row: Mapping[str, Any]) -> float | None:
    """Return 1 if the first text is longer, 0 if the second is, 0.5 for equal; None without texts."""
    first_text = row.get("first_text")
    second_text = row.get("second_text")
    # Lengths are a column of some tables and not of others.
    if first_text is None or second_text is None:
        return None
    return 0.5 + 0.5 * float(np.sign(len(str(first_text)) - len(str(second_text))))
