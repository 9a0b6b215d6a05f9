"""What judges of pairs prefer beside quality, from stored judgments or from a model that is asked in both orders."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.analysis.probes.judges import JudgeBias, judge_bias
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_same_length

if TYPE_CHECKING:
    from rightreasons.data.opening.judged.judgments import Judgments
    from rightreasons.models.protocol import Scorer

QUESTION = "Which of two answers to this question is better?\n\n{prompt}"
"""What a judge is asked; the two answers are its choices."""


@dataclasses.dataclass(frozen=True)
class JudgesMeasurement(Result):
    """What each judge prefers.

    Attributes:
        judges: Judge -> its figures.
        n_rows: Judgments in the table.
        n_without: Judgments without a verdict, which count nowhere.
    """

    judges: Mapping[str, JudgeBias]
    n_rows: int
    n_without: int


@checks_kinds
def measure_judges(judgments: Judgments, *, resampling: Resampling = Resampling()) -> JudgesMeasurement:
    """Measure what judges prefer beside quality: position, length, their own answers.

    Args:
        judgments: From `rightreasons.data.read_judgments` or `judge_pairs`.
        resampling: Level of the intervals, number of random signs of the tests, and seed.

    Returns:
        The figures of each judge that has a verdict; see `rightreasons.analysis.judge_bias`.

    Raises:
        ValueError: If no judgment has a verdict.
    """
    if not hasattr(judgments, "judges"):
        raise TypeError(f"Expected judgments from `read_judgments`, but got {type(judgments).__name__}.")
    found = {}
    for one in judgments.judges:
        if not np.isfinite(np.column_stack((one.first_wins, one.swapped))).any():
            continue
        found[one.judge] = judge_bias(
            one.first_wins,
            one.swapped,
            longer=one.longer,
            own=one.own,
            reference=one.reference,
            items=list(one.items),
            resampling=resampling,
        )
    if not found:
        raise ValueError(f"Expected judgments with a verdict, but none of {judgments.n_rows:,} has one.")
    return JudgesMeasurement(found, judgments.n_rows, judgments.n_without)


@checks_kinds
def judge_pairs(
    scorer: Scorer,
    rows: Mapping[str, Sequence[Any]],
    *,
    judge: str | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> dict[str, list[Any]]:
    """Ask a model which of two answers is better, in both orders.

    Args:
        scorer: A scorer of choices that sees both at once, such as a `Prompted` one with style="letters".
        rows: Columns `item`, `prompt`, `first_text`, `second_text`, and perhaps `first`, `second`, the names of their
            authors, and `reference`, the verdict of people: "first", "second", "tie" or "". As from
            `rightreasons.data.read_pairs`.
        judge: Name of the judge among the authors; by default the scorer's.
        progress: Whether to show a progress bar.
        out: Folder in which the answers are kept, to go on from.

    Returns:
        Columns of judgments, two rows per pair, for `rightreasons.data.read_judgments`.

    Raises:
        ValueError: If the scorer does not see both answers at once, or columns are missing.
    """
    needed = ("item", "prompt", "first_text", "second_text")
    missing = [name for name in needed if name not in rows]
    if missing:
        raise ValueError(f"Expected the columns {', '.join(needed)} of pairs to judge, but {missing[0]} is missing.")
    if not scorer.joint:
        raise ValueError(
            f"Expected a judge that sees both answers at once, but {scorer.name} scores each by itself: ask it with "
            "style='letters'."
        )
    n_pairs = check_same_length(**{name: rows[name] for name in rows})
    texts = [rows["first_text"], rows["second_text"]]
    authors = [list(rows.get(name, [usual] * n_pairs)) for name, usual in (("first", "one"), ("second", "two"))]
    columns: dict[str, list[Any]] = {
        name: [] for name in ("item", "judge", "first", "second", "verdict", "first_length", "second_length")
    }
    if "reference" in rows:
        columns["reference"] = []
    swapped = {"first": "second", "second": "first"}
    orders = [(pair, one, 1 - one) for pair in range(n_pairs) for one in (0, 1)]
    names = [f"{pair}/{one}" for pair, one, _ in orders]
    scores = scorer.choose(
        [QUESTION.format(prompt=rows["prompt"][pair]) for pair, _, _ in orders],
        [[texts[one][pair], texts[two][pair]] for pair, one, two in orders],
        ids=names,
        progress=progress,
        out=out,
    )
    verdicts = dict(zip(scores.ids, scores.predicted.tolist(), strict=True))
    for name, (pair, one, two) in zip(names, orders, strict=True):
        choice = verdicts.get(name)
        values: tuple[Any, ...] = (
            str(rows["item"][pair]),
            judge or scorer.name,
            str(authors[one][pair]),
            str(authors[two][pair]),
            None if choice is None else ("first", "second")[choice],
            len(str(texts[one][pair])),
            len(str(texts[two][pair])),
        )
        if "reference" in rows:
            said = str(rows["reference"][pair])
            values = (*values, swapped.get(said, said) if one else said)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    return columns
