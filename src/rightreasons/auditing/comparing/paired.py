"""The answers of two reports item by item: which model is better at what, and what is open."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rightreasons.analysis.intervals import bounded_mean, paired_means
from rightreasons.auditing.items import items_file, read_items
from rightreasons.auditing.page.parts import ItemFigure
from rightreasons.auditing.schema import check_files
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.measuring.estimates import Estimate, estimate_of

Winner = Literal["first", "second", ""]

MIN_ITEMS = 10
"""With fewer shared items than this a figure is not compared."""


@dataclasses.dataclass(frozen=True)
class ComparedAnswer(Result):
    """One figure of a question, of two models on the same items.

    Attributes:
        question: The question.
        key: The figure.
        name: Its name for readers.
        group: The part of it that is compared, such as a functionality of a suite; "" for the whole.
        unit: "fraction" or "ratio".
        better: "higher" or "lower".
        n_items: Items that both reports hold.
        first: The first model's mean over them.
        second: The second model's.
        difference: First minus second, with its interval.
        p_value: Two-sided p-value of "no difference".
        test: The test, in words.
        holm_p_value: The p-value after Holm's correction for all tests of the comparison.
        winner: The model that is better by the corrected p-value; "" where that is open.
    """

    question: str
    key: str
    name: str
    group: str
    unit: str
    better: str
    n_items: int
    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    holm_p_value: float = 1.0
    winner: Winner = ""


def winner_of(difference: Estimate, better: str | None, holm_p_value: float, level: float) -> Winner:
    """Return which model is better; "" where the corrected p-value does not tell, or neither direction is better.

    Args:
        difference: First minus second.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after correction.
        level: Confidence level; p-values below one minus it tell.

    Example:
        >>> winner_of(Estimate(-0.2), "lower", 0.01, 0.95), winner_of(Estimate(-0.2), "lower", 0.2, 0.95)
        ('first', '')
    """
    if better is None or not difference.value or holm_p_value >= 1 - level:
        return ""
    return "first" if (difference.value > 0) == (better == "higher") else "second"


def compared_answers(
    audits: Sequence[Mapping[str, Any]], folders: Sequence[Path], shared: Collection[str], how: Resampling
) -> tuple[ComparedAnswer, ...]:
    """Compare the figures of all questions that both reports keep by item.

    Items of the data are joined by id where both reports hold them with the same text; cases of a behavioral suite
    where both reports are about the same suite.

    Args:
        audits: Two audits, as `read_audit` returns them.
        folders: The folders of their reports.
        shared: Ids of the items of the primary split that both hold with the same text.
        how: Level of the intervals; random signs and their seed.

    Returns:
        The figures in the order of the first report; not yet corrected for their number.
    """
    answers: list[ComparedAnswer] = []
    results = [{one["question"]: one["result"] for one in audit["questions"] if one["result"]} for audit in audits]
    for question in results[0]:
        if question not in results[1]:
            continue
        one, two = (result[question] for result in results)
        if one["data"].get("suite") != two["data"].get("suite"):
            continue
        figures = []
        for folder, audit, result in zip(folders, audits, (one, two), strict=True):
            check_files(folder, audit, [items_file(question)])
            figures.append(read_items(folder, question, result))
        for key in figures[0]:
            if key in figures[1]:
                known = None if figures[0][key].groups else shared
                answers += _compared(question, figures[0][key], figures[1][key], known, how)
    return tuple(answers)


# ------------------------------------------------------------------------------------------------------------- private


def _compared(
    question: str, first: ItemFigure, second: ItemFigure, known: Collection[str] | None, how: Resampling
) -> Iterator[ComparedAnswer]:
    """Compare one figure, and each of its groups."""
    place = {name: row for row, name in enumerate(second.ids)}
    rows = [
        (row, place[name]) for row, name in enumerate(first.ids) if name in place and (known is None or name in known)
    ]
    if len(rows) < MIN_ITEMS:
        return
    one, two = np.array(rows).T
    values = np.array(first.values)[one], np.array(second.values)[two]
    if not first.groups:
        yield _answer(question, first, "", values, how)
        return
    groups = np.array(first.groups)[one]
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    # So weighted, the mean over cases is the mean over groups of their means.
    weights = (len(groups) / (len(names) * counts))[codes]
    weighed = dataclasses.replace(first, low=0.0, high=first.high * float(weights.max()))
    yield _answer(question, weighed, "", (values[0] * weights, values[1] * weights), how)
    for name in dict.fromkeys(groups.tolist()):
        part = groups == name
        if part.sum() >= MIN_ITEMS:
            yield _answer(question, first, name, (values[0][part], values[1][part]), how)


def _answer(question: str, figure: ItemFigure, group: str, values: tuple[Any, Any], how: Resampling) -> ComparedAnswer:
    bounds = {"low": figure.low, "high": figure.high}
    test = paired_means(*values, **bounds, resampling=how)
    means = [
        estimate_of(float(each.mean()), bounded_mean(each, **bounds, confidence_level=how.level)) for each in values
    ]
    return ComparedAnswer(
        question=question,
        key=figure.key,
        name=figure.name,
        group=group,
        unit=figure.unit,
        better=figure.better,
        n_items=test.n_items,
        first=means[0],
        second=means[1],
        difference=estimate_of(test.difference, test.interval),
        p_value=test.p_value,
        test=test.method,
    )
