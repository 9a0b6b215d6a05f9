"""Logs of generated answers to items with choices, as stored predictions.

Each answer is one choice or none. `open_choice_log` makes a `StoredModel` of a log, and
`select_confident_answers` selects the answers with a confidence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.stored_items import get_ids, make_choice_items
from rightreasons.audited.stored_model import StoredModel
from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.io.logs import LACK, NO_READABLE_ANSWER, PICKED, find_model_and_task
from rightreasons.io.options import AuditOptions, PredictionOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit

CORRECT = "correct"
"""Column of a log with whether the harness counts an answer as correct."""

COLUMN_OPTIONS = ("label_column", "score_columns", "confidence_column", "correct_column")
"""Options that name the columns of predictions; a log whose columns are named is read by them."""


def is_choice_log(columns: Mapping[str, Any], options: PredictionOptions) -> bool:
    """Return whether a file is a log of generated answers to items with choices."""
    # If the user names columns of predictions, these are read instead of the answers.
    has_named_columns = any(getattr(options, name) is not None for name in COLUMN_OPTIONS)
    return PICKED in columns and not has_named_columns


def open_choice_log(
    columns: Mapping[str, Any], path: str, settings: AuditOptions, judged: str = ""
) -> tuple[StoredModel, datasets.Dataset]:
    """Return the answers of a log as stored predictions, and its items.

    Args:
        columns: Name -> column of the log. `PICKED` has the position of the choice that each answer
            picks, -1 for none.
        path: Path of the log.
        settings: Names of the columns of prompts, choices and labels.
        judged: Description of how many unread answers a judge read; "" without a judge.

    Returns:
        The predictions, in which a picked choice has all of the probability, and the items.
    """
    from rightreasons.io.arrow_tables import digest_table, make_dataset, make_table

    # As for a model, the labels of items with choices are positions of choices.
    table = make_table(columns, path)
    items = make_choice_items(make_dataset(table, path), settings)
    ids = get_ids(items)
    picks = np.array(columns[PICKED], dtype=np.int64)
    confidences = _get_confidences(columns)
    model = StoredModel(
        name=path,
        task="multiple_choice",
        label_names=None,
        ids=ids,
        logits=make_pick_logits(picks, [len(choices) for choices in items["choices"][:]]),
        probabilities=None,
        fingerprint=digest_table(table),
        used="; ".join(filter(None, (_describe_columns(confidences), judged))),
        answers_once=True,
        confidences=confidences,
        failures=_list_failures(columns, picks, ids),
        logged=find_model_and_task(path, columns),
        columns_used=(PICKED, "label", CORRECT, "answer"),
    )
    return model, items


def make_pick_logits(picks: NDArray[np.int64], n_choices: list[int]) -> Ragged:
    """Return logits of choices by which the picked choice of each item has probability 1.

    Args:
        picks: (N,) index of the picked choice, -1 for no answer.
        n_choices: Number of choices of each item.

    Example:
        >>> [row.tolist() for row in make_pick_logits(np.array([1, -1]), [3, 2])]
        [[-inf, 0.0, -inf], [0.0, 0.0]]
    """
    rows = []
    for pick, size in zip(picks.tolist(), n_choices, strict=True):
        # The logits of an item without an answer are never read.
        row = np.zeros(size)
        if pick >= 0:
            row[:] = -np.inf
            row[pick] = 0.0
        rows.append(row)
    return Ragged.of(np.concatenate(rows), n_choices)


def _get_confidences(columns: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """Return the (N,) confidence in each answer, NaN if unknown; None if the log contains none."""
    if "confidence" not in columns:
        return None
    confidences = []
    # An answer in words, for example, has no log-probability.
    for confidence in columns["confidence"]:
        confidences.append(float("nan") if confidence is None else float(confidence))
    return np.array(confidences)


def _describe_columns(confidences: NDArray[np.float64] | None) -> str:
    if confidences is None:
        return "answers without scores"
    n_known = int(np.isfinite(confidences).sum())
    return f"answers, {n_known:,} of {len(confidences):,} with a confidence"


def _list_failures(
    columns: Mapping[str, Any], picks: NDArray[np.int64], ids: Any
) -> dict[str, str]:
    """Return id -> reason why an item has no answer, for the items without an answer.

    Args:
        columns: Name -> column of the log. `LACK` has the reasons.
        picks: (N,) position of the picked choice; -1 for no answer.
        ids: N ids of the items.
    """
    # Not every log has the column of reasons.
    reasons = columns.get(LACK)
    failures = {}
    for row in np.flatnonzero(picks < 0).tolist():
        reason = "" if reasons is None else reasons[row]
        failures[ids[row]] = reason or NO_READABLE_ANSWER
    return failures


def select_confident_answers(context: AuditContext) -> AuditContext:
    """Return an audit of a log that is restricted to the answers with a confidence.

    Its task is "confidence": the labels are whether each answer is correct, and the scores are the
    confidences, so that questions about confidence can be asked.

    Args:
        context: An audit of all answers. One without logged confidences is returned unchanged.
    """
    stored = context.stored
    if stored is None or stored.confidences is None:
        return context
    split = context.primary
    confidence_by_id = dict(zip(stored.ids, stored.confidences.tolist(), strict=True))
    confidences = np.array([confidence_by_id[item_id] for item_id in split.ids])
    # NaN marks an answer without a confidence.
    has_confidence = np.isfinite(confidences) & split.labeled
    rows = np.flatnonzero(has_confidence)
    is_correct = get_correctness(split, context.scores(split))
    selected = dataclasses.replace(
        split, data=split.data.select(rows), labels=is_correct[rows].astype(np.int64)
    )
    scores = _make_confidence_scores(selected, confidences[rows])
    return dataclasses.replace(
        context,
        source=dataclasses.replace(stored, task="confidence", answers_once=False),
        primary=selected,
        comparisons=(),
        answers={selected.name: scores},
    )


def _make_confidence_scores(split: AuditSplit, confidences: NDArray[np.float64]) -> Scores:
    """Return confidences in answers as scores of the task "confidence".

    Args:
        split: N items, whose labels are whether the answer is correct.
        confidences: (N,) confidence in each answer, from 0 to 1.
    """
    from rightreasons.core.validation import check_logits

    return Scores(
        ids=split.ids,
        logits=check_logits(confidences, scores="probabilities"),
        labels=split.labels,
        probabilities=confidences,
        kind="confidence",
    )


def get_correctness(split: AuditSplit, scores: Scores) -> NDArray[np.bool_]:
    """Return (N,) whether each answer is correct, according to the log if it has a column for it."""
    column = split.column(CORRECT)
    if column is not None:
        return np.array(column).astype(bool)
    return np.asarray(scores.predicted == split.labels)
