"""Accuracy of groups of answers: by columns of the data, by position of the choice, and by length.

`measure_groups` shows where a model is less often correct than elsewhere. It needs no scores, so
that a log of sampled answers has these figures too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.given_answers import GivenAnswers
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import holm, two_rates_p_value
from rightreasons.io.contents import describe_content
from rightreasons.io.logs import LACK, PICKED, UNREAD

MAX_GROUPS = 12
"""Largest number of values of a column by which answers are grouped."""

N_INSPECTED_ROWS = 1000
"""Number of rows that show whether a column has few values."""

ITEM_COLUMNS = frozenset(
    {
        LACK,
        PICKED,
        UNREAD,
        "id",
        "text",
        "text_pair",
        "prompt",
        "label",
        "content_label",
        "cue_label",
        "source_id",
        "pair_id",
    }
)
"""Columns that the items of an audit have by definition, which are no slices of the data."""


@dataclasses.dataclass(frozen=True)
class AnswerGroup(Result):
    """Accuracy of a group of answers.

    Attributes:
        kind: A column of the data, "position of the correct choice" or "length of the answer".
        name: Name of the group.
        n_items: Number of its answers.
        accuracy: Share of correct answers.
        p_value: p-value of the hypothesis that the other answers are correct as often
            (`two_rates_p_value`), corrected by Holm's method for all groups. None for all answers.
    """

    kind: str
    name: str
    n_items: int
    accuracy: Estimate
    p_value: float | None = None


def measure_groups(answers: GivenAnswers, resampling: Resampling) -> list[AnswerGroup]:
    """Measure the accuracy of each group of answers, and test whether it differs from the others.

    Args:
        answers: N answers.
        resampling: Level, number of resamples and seed of the intervals.

    Returns:
        The groups by columns of the data, by the position of the correct choice, and by lengths,
        such as the answers whose column "subject" is "algebra". The group with the lowest accuracy
        comes first.
    """
    groups = []
    for kind, values in _list_groupings(answers).items():
        names = np.array(list(map(str, values)))
        for name in sorted(set(names.tolist())):
            is_inside = names == name
            clusters = select_clusters(answers.clusters, is_inside)
            accuracy = estimate_rate(answers.is_correct[is_inside], resampling, clusters)
            if accuracy is None:
                continue
            p_value = two_rates_p_value(answers.is_correct, is_inside, clusters=answers.clusters)
            groups.append(AnswerGroup(kind, name, int(is_inside.sum()), accuracy, p_value))
    # The p-values are corrected for the number of groups: the worst of many groups has a low
    # accuracy by chance alone.
    p_values = [group.p_value for group in groups]
    corrected_p_values = holm(np.array(p_values)).tolist()
    corrected_groups = []
    for group, p_value in zip(groups, corrected_p_values, strict=True):
        corrected_groups.append(dataclasses.replace(group, p_value=p_value))
    return sorted(corrected_groups, key=lambda group: group.accuracy.value or 0.0)


def _list_groupings(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the values by which N answers are grouped.

    They are the values of columns with few values, the position of the correct choice, and the
    third ("short", "middle", "long") to which the length of the answer and of the question or text belongs.

    Args:
        answers: The N answers with their items.

    Returns:
        Name of the grouping -> N values, such as `{"subject": ["algebra", "logic", …]}`.
    """
    groupings = _find_grouping_columns(answers)
    if answers.is_multiple_choice:
        positions = [f"choice {label + 1}" for label in answers.labels.tolist()]
        groupings["position of the correct choice"] = positions
    answer_column = _find_answer_column(answers)
    if answer_column is not None:
        lengths = answers.measure_texts(answer_column)
        groupings |= _group_by_length("length of the answer", lengths)
    # Items with choices have a column "prompt", and others a column "text".
    lengths = answers.measure_texts("prompt")
    if len(lengths) > 0:
        return groupings | _group_by_length("length of the question", lengths)
    return groupings | _group_by_length("length of the text", answers.measure_texts("text"))


def _find_answer_column(answers: GivenAnswers) -> str | None:
    """Return the column of a file of predictions that contains the texts of the answers.

    If the answers were read from a column of texts (`used_columns`), it is that column. Otherwise,
    it is the only other column of texts.

    Args:
        answers: The answers with their items.

    Returns:
        Name of the column; None if there is no such column, or there are several candidates.
    """
    # Without predictions from a file, all columns of texts are part of the data.
    if not answers.used_columns:
        return None
    candidates: list[str] = []
    for name, feature in answers.split.data.features.items():
        if name in ITEM_COLUMNS or getattr(feature, "dtype", "") != "string":
            continue
        if not _has_texts(answers, name):
            continue
        if name in answers.used_columns:
            return str(name)
        candidates.append(name)
    return candidates[0] if len(candidates) == 1 else None


def _has_texts(answers: GivenAnswers, name: str) -> bool:
    """Return whether the first cells of a column are texts, and no names of classes."""
    content = describe_content(answers.split.data[name][:N_INSPECTED_ROWS])
    return content.has_texts


def _group_by_length(kind: str, lengths: NDArray[np.int64]) -> dict[str, list[Any]]:
    """Return the third of the lengths, "short", "middle" or "long", to which each text belongs.

    Args:
        kind: Name of the grouping, such as "length of the answer".
        lengths: (N,) lengths of texts.

    Returns:
        `{kind: names}` with N names; empty if there are at most three different lengths.
    """
    # With so few lengths, such as those of "yes" and "no", the thirds would mean single words.
    if len(np.unique(lengths)) <= 3:
        return {}
    ends = np.quantile(lengths, [1 / 3, 2 / 3])
    names = np.array(["short", "middle", "long"])
    return {kind: names[np.searchsorted(ends, lengths)].tolist()}


def _find_grouping_columns(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the columns of the data by which answers are grouped, such as a subject.

    Such a column has 2 to `MAX_GROUPS` different values, which determine neither the label nor
    whether the answer is correct.

    Args:
        answers: N answers with their items.

    Returns:
        Name of the column -> its N values, with "none" for an empty cell.
    """
    values_by_column = {}
    for name, feature in answers.split.data.features.items():
        if name in ITEM_COLUMNS or name in answers.used_columns:
            continue
        if getattr(feature, "dtype", "") not in ("string", "bool", "int64"):
            continue
        # A column with many values is recognized by its first rows, without reading all of it.
        first_values = answers.split.data[name][:N_INSPECTED_ROWS]
        if len(set(first_values)) > MAX_GROUPS:
            continue
        values = answers.column(name) or []
        n_values = len(set(values))
        if not 1 < n_values <= MAX_GROUPS:
            continue
        # A column whose values determine the label, such as its name, only repeats it.
        labels = answers.labels.tolist()
        if _determines(values, labels) or _is_outcome(values, answers):
            continue
        values_by_column[name] = ["none" if value is None else value for value in values]
    return values_by_column


def _determines(values: Sequence[Any], outcomes: Sequence[Any]) -> bool:
    """Return whether all rows with the same value have the same outcome."""
    n_pairs = len(set(zip(values, outcomes, strict=True)))
    return n_pairs <= len(set(values))


def _is_outcome(values: Sequence[Any], answers: GivenAnswers) -> bool:
    """Return whether the values of a column determine which answers are correct.

    If all answers are correct, or none is, every column would.
    """
    if answers.is_correct.all() or not answers.is_correct.any():
        return False
    return _determines(values, answers.is_correct.tolist())
