"""Reads tables of judgments by models and people, and pairs of answers to judge.

A row of a table says which of two candidates a judge preferred: the item, the judge, the candidate shown first and the
one shown second (by the names of their authors), and the verdict. The same two candidates in the other order are the
swapped judgment of the same pair.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rightreasons.core.errors import one_line
from rightreasons.core.options import takes
from rightreasons.core.validation import check_each
from rightreasons.io.columns import USUAL_COLUMNS, all_found, find_column, names_in, read_columns
from rightreasons.probes.options import JudgmentOptions

USUAL: Mapping[str, Sequence[str]] = USUAL_COLUMNS["judgments"]
"""Usual names of columns by what they hold."""

SHOWN = {"first": "candidate shown first", "second": "candidate shown second", "verdict": "verdict"}
"""What a row of judgments must have -> in words."""

ASKED = {"prompt": "prompt", "first_text": "answer shown first", "second_text": "answer shown second"}
"""What a row of pairs must have -> in words."""

FIRST = frozenset(("first", "a", "model_a", "candidate_a", "[[a]]", "1"))
SECOND = frozenset(("second", "b", "model_b", "candidate_b", "[[b]]", "2"))
TIE = frozenset(("tie", "both", "draw", "[[c]]", "c", "equal"))
NONE = frozenset(("", "none", "null", "nan", "error", "n/a"))


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The judgments of one judge on N pairs of candidates; `analysis.judge_bias` says what each array is.

    Attributes:
        judge: The judge.
        items: N names of items.
        pairs: N (first, second) names of candidates.
        first_wins: (N,) share of judgments that the first wins where it is shown first; NaN for none.
        swapped: (N,) the same where it is shown second.
        longer: (N,) 1, 0 or 0.5; NaN where lengths are unknown.
        reference: (N,) share of judgments of the reference that the first wins; NaN for none.
    """

    judge: str
    items: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    first_wins: NDArray[np.float64]
    swapped: NDArray[np.float64]
    longer: NDArray[np.float64]
    reference: NDArray[np.float64]

    @property
    def own(self) -> NDArray[np.float64]:
        """(N,) 1 where the first candidate is the judge's own, 0 where the second is, 0.5 otherwise."""
        return np.array([0.5 * (1 + (first == self.judge) - (second == self.judge)) for first, second in self.pairs])


@dataclasses.dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a table, by judge.

    Attributes:
        judges: The judges with what they said.
        n_rows: Rows of the table.
        n_without: Rows without a verdict, such as answers that could not be parsed.
    """

    judges: tuple[JudgedPairs, ...]
    n_rows: int
    n_without: int


@takes(JudgmentOptions)
def read_judgments(source: Any, *, options: JudgmentOptions) -> Judgments:
    """Read which of two candidates judges preferred.

    Verdicts are "first", "second" and "tie", also as A, B and C, [[A]], 1 and 2, or model_a and model_b, or the name of
    the candidate; an empty one is none. The reference of a judge is the column for it, or else all other judges.

    Args:
        source: A file as `read_predictions` takes them, or a table.
        options: The fields of `JudgmentOptions`, for columns whose names do not say what they are.

    Returns:
        The pairs of each judge.

    Raises:
        ValueError: If a column is missing, a verdict is unknown, or two candidates of a row have one name.

    Example:
        >>> rows = {"item": [1, 1], "model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
        >>> pairs = read_judgments(rows).judges[0]
        >>> pairs.pairs, pairs.first_wins.tolist(), pairs.swapped.tolist()
        ((('x', 'y'),), [1.0], [0.5])
    """
    rows, keys = [], dict[tuple[str, ...], int]()
    held_by_row, where = _held(source, options, needed=SHOWN)
    for row, held in enumerate(held_by_row):
        first, second, place = str(held["first"]), str(held["second"]), f"row {row} of {where}"
        key = (str(held.get("item", row)), *sorted((first, second)))
        reference = _verdict(held["reference"], first, second, place) if "reference" in held else None
        values = (_verdict(held["verdict"], first, second, place), reference, _longer(held, place))
        turned = (None if value is None else value if first == key[1] else 1 - value for value in values)
        judge = str(held.get("judge", "judge"))
        rows.append((keys.setdefault(key, len(keys)), judge, key[0], (first, second), first == key[1], *turned))
    columns = ["pair", "judge", "item", "shown", "ahead", "wins", "reference", "longer"]
    table = pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[5:], float))
    return Judgments(
        judges=tuple(_pairs_of(judge, table) for judge in table["judge"].unique()),
        n_rows=len(rows),
        n_without=int(table["wins"].isna().sum()),
    )


@takes(JudgmentOptions)
def read_pairs(source: Any, *, options: JudgmentOptions) -> dict[str, list[Any]]:
    """Read pairs of answers that a model can be asked to judge.

    Args:
        source: A file as `read_predictions` takes them, or a table: what is answered, two answers, perhaps an item, the
            names of their authors and the verdict of a reference, as `read_judgments` takes it.
        options: The fields of `JudgmentOptions`, for columns whose names do not say what they are.

    Returns:
        Columns for `probes.judges.judge_pairs`: item, prompt, first_text, second_text, first and second where
        there are authors, and reference ("first", "second", "tie" or "") where there is one.

    Raises:
        ValueError: If a column is missing, a text is empty, a verdict is unknown, or two authors have one name.

    Example:
        >>> pairs = read_pairs({"question": ["Why?"], "answer_a": ["So."], "answer_b": ["No."], "human": ["A"]})
        >>> pairs["prompt"], pairs["first_text"], pairs["reference"]
        (['Why?'], ['So.'], ['first'])
    """
    rows, where = _held(source, options, needed=ASKED)
    pairs: dict[str, list[Any]] = {"item": [str(held.get("item", row)) for row, held in enumerate(rows)]}
    for what in ASKED:
        texts = [held[what] for held in rows]
        pairs[what] = ["" if text is None or text != text else str(text) for text in texts]
        check_each(pairs[what], str.strip, f"a text as the {ASKED[what]} in each row of {where}")
    if {"first", "second"} <= rows[0].keys():
        pairs |= {side: [str(held[side]) for held in rows] for side in ("first", "second")}
    if "reference" in rows[0]:
        words = {1.0: "first", 0.0: "second", 0.5: "tie", None: ""}
        pairs["reference"] = [
            words[_verdict(held["reference"], *_authors(held), f"row {row} of {where}")]
            for row, held in enumerate(rows)
        ]
    return pairs


# ------------------------------------------------------------------------------------------------------------- private


def _held(source: Any, options: JudgmentOptions, needed: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """Return what each row of a table holds of `USUAL`, without what it has no column of, and what it is called."""
    columns, options, where = read_columns(source, options)

    def find(what: str) -> str | None:
        option = f"{what}_column"
        return find_column(columns, getattr(options, option), USUAL[what], option, where, needed.get(what, ""))

    found = all_found(*(functools.partial(find, what) for what in USUAL))
    taken = {what: columns[name] for what, name in zip(USUAL, found, strict=True) if name is not None}
    rows = [dict(zip(taken, cells, strict=True)) for cells in zip(*taken.values(), strict=True)]
    check_each(map(_authors, rows), lambda pair: pair[0] != pair[1], f"two candidates in each row of {where}")
    return rows, where


def _authors(held: Mapping[str, Any]) -> tuple[str, str]:
    return str(held.get("first", "first")), str(held.get("second", "second"))


def _pairs_of(judge: str, table: pd.DataFrame) -> JudgedPairs:
    """Join the judgments of the same two candidates, and those of the others as their reference.

    The table counts for the alphabetically first candidate; the pairs, for the one that the judge first saw first.
    """
    of_judge, ahead = table["judge"] == judge, table["ahead"]
    pairs = table[of_judge].drop_duplicates("pair")
    stated = table["reference"].notna().any()
    parts = {
        "first": table["wins"].where(of_judge & ahead),
        "second": table["wins"].where(of_judge & ~ahead),
        "longer": table["longer"],
        "reference": table["reference"] if stated else table["wins"].where(~of_judge),
    }
    means = pd.DataFrame(parts).groupby(table["pair"]).mean().loc[pairs["pair"]]
    turned = ~pairs["ahead"].to_numpy()
    first, second, longer, reference = (np.where(turned, 1 - mean, mean) for mean in means.to_numpy().T)
    return JudgedPairs(
        judge,
        items=tuple(pairs["item"]),
        pairs=tuple(pairs["shown"]),
        first_wins=np.where(turned, second, first),
        swapped=np.where(turned, first, second),
        longer=longer,
        reference=reference,
    )


def _verdict(value: Any, first: str, second: str, place: str) -> float | None:
    """Return 1 where the first wins, 0 where the second does, 0.5 for a tie and None for no verdict."""
    text = "" if value is None else str(value).strip()
    word = text.lower().split(" (")[0]
    if text in (first, second):
        if word in (FIRST if text == second else SECOND):
            raise ValueError(
                f"Expected a verdict that names one candidate, but in {place} {text!r} names a place and the candidate "
                "in the other: rename the candidates."
            )
        return float(text == first)
    for known, share in ((FIRST, 1.0), (SECOND, 0.0), (TIE, 0.5), (NONE, None)):
        if word in known:
            return share
    raise ValueError(
        f"Expected first, second or tie, A, B or C, or the name of a candidate as the verdict, but {place} has "
        f"{text[:40]!r}."
    )


def _longer(held: Mapping[str, Any], place: str) -> float | None:
    """Return 1 where the first candidate is longer, 0 where the second is, 0.5 for equal; None where one is unknown."""
    lengths = []
    for side in ("first", "second"):
        if f"{side}_length" in held:
            (length_text,) = names_in([held[f"{side}_length"]])
            if length_text and not length_text.isdecimal():  # "1,234" and "1.234" have a mark of thousands, or not
                raise ValueError(
                    f"Expected a length, a whole number without marks of thousands, or nothing, for the {side} "
                    f"candidate, but {place} has {one_line(length_text, 40)}."
                )
            length = float(length_text or "nan")
        else:
            text = held.get(f"{side}_text")
            length = np.nan if text is None else float(len(str(text)))
        lengths.append(length)
    if np.isnan(lengths).any():
        return None
    return 0.5 + 0.5 * float(np.sign(lengths[0] - lengths[1]))
