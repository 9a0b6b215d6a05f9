"""The items of a report as a table with a row per item, for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.predictions_file import Predictions, read_predictions
from rightreasons.core.arrays import Ragged
from rightreasons.core.classification import find_disputed_labels
from rightreasons.core.scores import Scores
from rightreasons.core.validation import softmax
from rightreasons.report.figures import sort_answers
from rightreasons.report.items.values import read_item_values
from rightreasons.report.schema import list_class_names

if TYPE_CHECKING:
    import pandas as pd


def make_item_frame(audit: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """Make a table with a row per item of an audit.

    Args:
        audit: Content of audit.json.
        folder: Folder of the report, with its files of predictions and of items.

    Returns:
        A DataFrame indexed by `split` and `id`, with the columns

        - `text`, `label` and `prediction`; a missing label is None,
        - `confidence`, the largest probability; NaN for answers that have none,
        - `correct`; None without a label,
        - `disputed`, whether confident learning doubts the label (Northcutt et al. 2021),
        - the value of each figure that a finding is about, such as
          `shortcuts.deciding_share.copper/marble`: 1 if the swap flips the prediction and the
          control does not; NaN for items that were not tested,
        - `findings`, the names of those figures whose value for the item is positive.
    """
    import pandas as pd

    frames = []
    for split in audit["dataset"]["splits"]:
        # A split that no question read has no predictions.
        if split["predictions"]:
            predictions = read_predictions(folder / split["predictions"])
            frames.append(_make_split_frame(audit, split["name"], predictions))
    if not frames:
        raise ValueError(f"Expected predictions in the report of {folder}, but it has none.")
    frame = pd.concat(frames).set_index(["split", "id"])
    return _join_findings(frame, audit, folder)


def _make_split_frame(
    audit: Mapping[str, Any], split: str, predictions: Predictions
) -> pd.DataFrame:
    """Return a table with a row per item of a split: its text, label, prediction and confidence.

    Args:
        audit: Content of audit.json.
        split: Name of the split.
        predictions: Its predictions, from the folder of the report.
    """
    import pandas as pd

    # `Scores` handles items with different numbers of choices.
    scores = Scores(predictions.ids, predictions.logits)
    labels = predictions.labels
    is_labeled = labels >= 0
    is_correct = scores.predicted == labels
    names = list_class_names(audit)
    confidences = scores.confidence
    # Reports of earlier versions lack the field, and had a confidence.
    if audit["model"].get("has_confidence") is False:
        confidences = np.full(len(labels), np.nan)
    frame = pd.DataFrame(
        {
            "split": split,
            "id": predictions.ids,
            "text": list(map(" / ".join, predictions.items)),
            "label": _name_labels(labels, names),
            "prediction": _name_labels(scores.predicted, names),
            "confidence": confidences,
            "correct": np.where(is_labeled, is_correct, None),
            "disputed": _find_disputed(predictions, names),
        }
    )
    # In this task, the label is whether a given answer is correct: 1 for correct, 0 for incorrect.
    # The answers and the correct answers themselves are unknown.
    if audit["model"]["task"] == "confidence":
        frame["correct"] = np.where(is_labeled, labels == 1, None)
        frame["label"] = None
        frame["prediction"] = None
    return frame


def _name_labels(labels: NDArray[np.int64], names: Sequence[str]) -> list[str | int | None]:
    """Return the names of labels, with None for a missing label.

    Args:
        labels: (N,) labels, -1 for a missing one.
        names: Names of the classes; empty for multiple choice, whose labels stay numbers.
    """
    named: list[str | int | None] = []
    for label in labels.tolist():
        if label < 0:
            named.append(None)
        else:
            named.append(names[label] if names else label)
    return named


def _find_disputed(predictions: Predictions, names: Sequence[str]) -> NDArray[np.bool_]:
    """Return (N,) whether confident learning doubts the label of each item.

    No label of a multiple-choice item is doubted: confident learning needs classes that all items
    have in common.

    Args:
        predictions: Labels (-1 for none) and scores of N items.
        names: Names of the classes; empty for multiple choice.
    """
    is_disputed = np.zeros(len(predictions), dtype=np.bool_)
    labeled_rows = np.flatnonzero(predictions.labels >= 0)
    logits = predictions.logits
    if not names or isinstance(logits, Ragged) or not labeled_rows.size:
        return is_disputed
    probabilities = softmax(logits[labeled_rows])
    disputed = find_disputed_labels(probabilities, predictions.labels[labeled_rows])
    is_disputed[labeled_rows[disputed]] = True
    return is_disputed


def _join_findings(frame: pd.DataFrame, audit: Mapping[str, Any], folder: Path) -> pd.DataFrame:
    """Add a column for each figure that a finding is about, and the column "findings".

    A finding is about a figure such as the flips by a swap of two words, whose value is 1 for an
    item whose prediction flips. "findings" lists the names of the figures with a positive value.

    Args:
        frame: Items, indexed by "split" and "id"; the columns are added to it.
        audit: Content of audit.json.
        folder: Folder of the report, which has the values by item.
    """
    ids = frame.index.get_level_values("id")
    findings_by_row: list[list[str]] = [[] for _ in range(len(frame))]
    for answer in sort_answers(audit):
        figures = read_item_values(folder, answer["question"], answer["result"])
        for figure in figures.values():
            if not figure.is_finding:
                continue
            # An item may have several cases, such as the orders of its choices.
            value_by_id = average_by_id(figure.ids, figure.values)
            column = ids.map(value_by_id).to_numpy(dtype=np.float64)
            # The cases of a behavioral suite are no items of the data.
            if np.isnan(column).all():
                continue
            frame[f"{answer['question']}.{figure.key}"] = column
            for row in np.flatnonzero(column > 0).tolist():
                findings_by_row[row].append(figure.name)
    frame["findings"] = ["; ".join(names) for names in findings_by_row]
    return frame


def average_by_id(ids: tuple[str, ...], values: tuple[float, ...]) -> dict[str, float]:
    """Return the mean of the values of each id.

    Example:
        >>> average_by_id(("a", "b", "a"), (1.0, 0.0, 0.0))
        {'a': 0.5, 'b': 0.0}
    """
    values_by_id: dict[str, list[float]] = {}
    for item_id, value in zip(ids, values, strict=True):
        values_by_id.setdefault(item_id, []).append(value)
    means = {}
    for item_id, values_of_id in values_by_id.items():
        means[item_id] = float(np.mean(values_of_id))
    return means
