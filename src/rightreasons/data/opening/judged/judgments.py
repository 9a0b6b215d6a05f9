"""Tables of judgments: which of two candidates a judge preferred, and in which order they were shown; pairs to judge.

A row is one judgment: the item, the judge, the candidate shown first and the one shown second (by the names of their
authors), and the verdict. The same two candidates in the other order are the swapped judgment of the same pair.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.data.opening.options import JudgmentOptions
from rightreasons.data.opening.predictions import ID_COLUMNS, number_in, source_name
from rightreasons.data.opening.stored_columns import column_called, read_columns
from rightreasons.foundations.label_names import listed
from rightreasons.foundations.options import takes
from rightreasons.foundations.sentences import checks_kinds

USUAL = {
    "item": ("item", "question_id", *ID_COLUMNS),
    "judge": ("judge",),
    "first": ("first", "model_a", "candidate_a", "a"),
    "second": ("second", "model_b", "candidate_b", "b"),
    "verdict": ("verdict", "winner", "preference", "preferred"),
    "first_text": ("first_text", "text_a", "response_a", "answer_a"),
    "second_text": ("second_text", "text_b", "response_b", "answer_b"),
    "first_length": ("first_length", "length_a"),
    "second_length": ("second_length", "length_b"),
    "prompt": ("prompt", "question", "instruction", "input"),
    "reference": ("reference", "gold", "human"),
}
"""Usual names of columns by what they hold."""

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
@checks_kinds
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
    where = source_name(source)
    held, n_rows = _held(source, options, needed=("first", "second", "verdict"))
    rows = []
    for row in range(n_rows):
        first, second = (str((held[what] or [])[row]) for what in ("first", "second"))
        _check_two(first, second, row, where)
        place = f"row {row} of {where}"
        rows.append(
            _Row(
                item=str(held["item"][row]) if held["item"] is not None else str(row),
                judge=str(held["judge"][row]) if held["judge"] is not None else "judge",
                first=first,
                second=second,
                wins=_verdict((held["verdict"] or [])[row], first, second, place),
                longer=_longer(held, row, place),
                reference=_verdict(held["reference"][row], first, second, place) if held["reference"] else None,
            )
        )
    judges = list(dict.fromkeys(row.judge for row in rows))
    return Judgments(
        judges=tuple(_pairs_of(judge, rows) for judge in judges),
        n_rows=n_rows,
        n_without=sum(row.wins is None for row in rows),
    )


@takes(JudgmentOptions)
@checks_kinds
def read_pairs(source: Any, *, options: JudgmentOptions) -> dict[str, list[Any]]:
    """Read pairs of answers that a model can be asked to judge.

    Args:
        source: A file as `read_predictions` takes them, or a table: what is answered, two answers, perhaps an item, the
            names of their authors and the verdict of a reference, as `read_judgments` takes it.
        options: The fields of `JudgmentOptions`, for columns whose names do not say what they are.

    Returns:
        Columns for `rightreasons.measuring.judge_pairs`: item, prompt, first_text, second_text, first and second where
        there are authors, and reference ("first", "second", "tie" or "") where there is one.

    Raises:
        ValueError: If a column is missing, a text is empty, a verdict is unknown, or two authors have one name.

    Example:
        >>> pairs = read_pairs({"question": ["Why?"], "answer_a": ["So."], "answer_b": ["No."], "human": ["A"]})
        >>> pairs["prompt"], pairs["first_text"], pairs["reference"]
        (['Why?'], ['So.'], ['first'])
    """
    where = source_name(source)
    held, n_rows = _held(source, options, needed=("prompt", "first_text", "second_text"))
    pairs: dict[str, list[Any]] = {"item": [str(name) for name in held["item"] or range(n_rows)]}
    for what in ("prompt", "first_text", "second_text"):
        pairs[what] = ["" if text is None or text != text else str(text) for text in held[what] or ()]
        empty = next((row for row, text in enumerate(pairs[what]) if not text.strip()), None)
        if empty is not None:
            raise ValueError(f"Expected a text in each row of {where}, but the {what} of row {empty} is empty.")
    usual = ("first", "second")
    authors = [[str(name) for name in held[what] or [what] * n_rows] for what in usual]
    if held["first"] is not None and held["second"] is not None:
        pairs |= dict(zip(usual, authors, strict=True))
    for row, (first, second) in enumerate(zip(*authors, strict=True)):
        _check_two(first, second, row, where)
    if held["reference"] is not None:
        words = {1.0: "first", 0.0: "second", 0.5: "tie", None: ""}
        pairs["reference"] = [
            words[_verdict(value, authors[0][row], authors[1][row], f"row {row} of {where}")]
            for row, value in enumerate(held["reference"])
        ]
    return pairs


# ------------------------------------------------------------------------------------------------------------- private


def _held(source: Any, options: JudgmentOptions, needed: Sequence[str]) -> tuple[dict[str, list[Any] | None], int]:
    """Return what a table holds of each of `USUAL`, None for what it does not, and its number of rows."""
    columns, where = read_columns(source), source_name(source)
    names = {
        what: column_called(
            columns, usual, named=getattr(options, f"{what}_column"), option=f"{what}_column", where=where
        )
        for what, usual in USUAL.items()
    }
    for what in needed:
        if names[what] is None:
            raise ValueError(
                f"Expected a column of the {what} ({', '.join(USUAL[what])}) in {where}, but its columns are: "
                f"{listed(list(columns))}; name it with `{what}_column`."
            )
    held = {what: None if name is None else list(columns[name]) for what, name in names.items()}
    return held, len(held[needed[0]] or ())


def _check_two(first: str, second: str, row: int, where: str) -> None:
    if first == second:
        raise ValueError(f"Expected two candidates in each row of {where}, but row {row} has {first!r} twice.")


@dataclasses.dataclass(frozen=True)
class _Row:
    item: str
    judge: str
    first: str
    second: str
    wins: float | None
    longer: float | None
    reference: float | None


def _pairs_of(judge: str, rows: Sequence[_Row]) -> JudgedPairs:
    """Join the judgments of the same two candidates, and those of the others as their reference."""
    order: dict[tuple[str, str, str], tuple[str, str]] = {}
    said: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    has_reference = any(row.reference is not None for row in rows)
    for row in rows:
        one, two = sorted((row.first, row.second))
        key = (row.item, one, two)
        own = row.judge == judge
        if own:
            order.setdefault(key, (row.first, row.second))
        parts = said.setdefault(key, {"ahead": [], "behind": [], "longer": [], "reference": []})
        # Everything is counted for the alphabetically first candidate, and turned at the end.
        ahead = row.first == one

        seen = [("longer", row.longer), ("reference", row.reference)]
        if own:
            seen.append(("ahead" if ahead else "behind", row.wins))
        elif not has_reference:
            seen.append(("reference", row.wins))
        for part, value in seen:
            if value is not None:
                parts[part].append(value if ahead else 1 - value)
    table = []
    for key, (first, _) in order.items():
        parts = said[key]
        means = {part: float(np.mean(values)) if values else np.nan for part, values in parts.items()}
        if first != key[1]:
            other = {"ahead": "behind", "behind": "ahead"}
            means = {part: 1 - means[other.get(part, part)] for part in means}
        table.append(list(means.values()))
    values = np.array(table).reshape(-1, 4)
    return JudgedPairs(judge, tuple(key[0] for key in order), tuple(order.values()), *values.T)


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


def _longer(held: dict[str, list[Any] | None], row: int, place: str) -> float | None:
    """Return 1 where the first candidate is longer, 0 where the second is, 0.5 for equal; None where one is unknown."""
    lengths = []
    for side in ("first", "second"):
        texts, numbers = held[f"{side}_text"], held[f"{side}_length"]
        if numbers is not None:
            length = number_in(numbers[row])
            if length is None or length < 0:
                raise ValueError(
                    f"Expected a length, or nothing, for the {side} candidate, but {place} has "
                    f"{str(numbers[row])[:40]!r}."
                )
            lengths.append(length)
        elif texts is not None and texts[row] is not None:
            lengths.append(float(len(str(texts[row]))))
    if len(lengths) < 2 or np.isnan(lengths).any():
        return None
    return 0.5 + 0.5 * float(np.sign(lengths[0] - lengths[1]))
