"""Answers without scores or confidence, such as those of a log of generated answers: whether each was right."""

from __future__ import annotations

import numpy as np

from rightreasons.data.opening.logs.fields import UNREAD
from rightreasons.data.opening.options import PredictionOptions
from rightreasons.data.opening.predictions import (
    ANSWER_COLUMNS,
    CONFIDENCE_COLUMNS,
    CORRECT_COLUMNS,
    LABEL_COLUMNS,
    Predictions,
    correctness,
    find_ids,
    has_scores,
)
from rightreasons.data.opening.stored_columns import Columns


def answers_alone(columns: Columns, where: str, *, options: PredictionOptions) -> Predictions | None:
    """Read answers that have neither scores nor a confidence; None where there are any, or no answers.

    Args:
        columns: Column by name.
        where: The name of the table, for errors.
        options: Those that name columns; where one does, this is no such table.

    Returns:
        Predictions with `answers_once`, of kind="confidence": which answers were right, and nothing else.

    Example:
        >>> columns = {"text": ["2 + 2", "3 + 3"], "answer": ["4", "5"], "correct": [1, 0]}
        >>> found = answers_alone(columns, "log.jsonl", options=PredictionOptions())
        >>> found.references.tolist(), found.predictions.tolist()
        ([1, 0], [1.0, 1.0])
        >>> answers_alone({**columns, "confidence": [0.9, 0.8]}, "log.jsonl", options=PredictionOptions())
    """
    names = {name.lower() for name in columns}
    labels = [name for name in columns if name.lower() in LABEL_COLUMNS]
    if options.score_columns or options.confidence_column or options.correct_column or names & {*CONFIDENCE_COLUMNS}:
        return None
    if len(names & {*ANSWER_COLUMNS}) != 1 or has_scores(columns, where):
        return None
    if not names & {*CORRECT_COLUMNS} and (len(labels) != 1 or UNREAD not in columns):
        return None
    right, used = correctness(columns, where, labels, options)
    if UNREAD in columns:
        right = np.where(np.array(columns[UNREAD], dtype=np.bool_), 0, right)
    return Predictions(
        predictions=np.ones(len(right)),
        references=right,
        scores="probabilities",
        kind="confidence",
        ids=find_ids(columns),
        columns=columns,
        used=f"answers without scores; {used}",
        answers_once=True,
    )
