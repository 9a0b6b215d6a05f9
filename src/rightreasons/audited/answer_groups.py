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
        resampling: Level, resamples and seed of the intervals.

    Returns:
        Every group of each column of `_list_columns`, the one with the lowest accuracy first.
    """
    groups = []
    for kind, values in _list_columns(answers).items():
        names = np.array(list(map(str, values)))
        for name in sorted(set(names.tolist())):
            is_inside = names == name
            clusters = select_clusters(answers.clusters, is_inside)
            accuracy = estimate_rate(answers.is_correct[is_inside], resampling, clusters)
            if accuracy is None:
                continue
            p_value = two_rates_p_value(answers.is_correct, is_inside, clusters=answers.clusters)
            groups.append(AnswerGroup(kind, name, int(is_inside.sum()), accuracy, p_value))
    # All groups are tested together, as the worst of many is always below the others.
    p_values = [group.p_value for group in groups]
    corrected_p_values = holm(np.array(p_values)).tolist()
    corrected_groups = []
    for group, p_value in zip(groups, corrected_p_values, strict=True):
        corrected_groups.append(dataclasses.replace(group, p_value=p_value))
    return sorted(corrected_groups, key=lambda group: group.accuracy.value or 0.0)


def _list_columns(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the values by which answers are grouped.

    They are those of columns of the data with few values, the position of the correct choice, and
    the length of the answer and of the question in thirds.

    Returns:
        Kind of the groups, such as "subject" or "length of the question" -> N values.
    """
    columns = _find_slices(answers)
    if answers.is_multiple_choice:
        positions = [f"choice {label + 1}" for label in answers.labels.tolist()]
        columns["position of the correct choice"] = positions
    answer_column = _find_answer_texts(answers)
    if answer_column is not None:
        lengths = answers.measure_texts(answer_column)
        columns |= _group_by_length("length of the answer", lengths)
    # Items with choices have a prompt, and others a text.
    lengths = answers.measure_texts("prompt")
    if len(lengths) == 0:
        lengths = answers.measure_texts("text")
    return columns | _group_by_length("length of the question", lengths)


def _find_answer_texts(answers: GivenAnswers) -> str | None:
    """Return the column of a file of predictions that holds the texts of the answers; None without one.

    A column of texts that says which answers are correct comes first, as that of a log does. Next is the
    only other column of texts.
    """
    # Texts of a data set are no answers.
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
        kind: Kind of the groups.
        lengths: (N,) lengths of texts.

    Returns:
        `kind` -> N names; {} if there are at most three different lengths.
    """
    # Thirds of a few lengths would be the lengths themselves.
    if len(np.unique(lengths)) <= 3:
        return {}
    ends = np.quantile(lengths, [1 / 3, 2 / 3])
    names = np.array(["short", "middle", "long"])
    return {kind: names[np.searchsorted(ends, lengths)].tolist()}


def _find_slices(answers: GivenAnswers) -> dict[str, list[Any]]:
    """Return the columns of the data by which answers are grouped, such as a subject.

    These have 2 to `MAX_GROUPS` values, and neither determine the label nor whether the answer is
    correct.

    Returns:
        Name -> the N values of the column, "none" for an empty cell.
    """
    slices = {}
    for name, feature in answers.split.data.features.items():
        if name in ITEM_COLUMNS or name in answers.used_columns:
            continue
        if getattr(feature, "dtype", "") not in ("string", "bool", "int64"):
            continue
        # The first rows show a column of many values, without reading all of it.
        first_values = answers.split.data[name][:N_INSPECTED_ROWS]
        if len(set(first_values)) > MAX_GROUPS:
            continue
        values = answers.column(name) or []
        n_values = len(set(values))
        if not 1 < n_values <= MAX_GROUPS:
            continue
        # A column whose values determine the label repeats it in other words.
        labels = answers.labels.tolist()
        if _determines(values, labels) or _is_outcome(values, answers):
            continue
        slices[name] = ["none" if value is None else value for value in values]
    return slices


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
