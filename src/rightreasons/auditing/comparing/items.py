"""The items that two reports share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.auditing.predictions import Predictions, read_predictions
from rightreasons.auditing.schema import check_files
from rightreasons.foundations.label_names import match_labels
from rightreasons.foundations.ragged import take_rows
from rightreasons.measuring.calibration import JudgedItems


@dataclasses.dataclass(frozen=True, eq=False)
class SharedItems:
    """The items that two reports share, judged by both models in the first's numbering of classes.

    Attributes:
        first: Judged by the first model.
        second: Judged by the second.
        ids: Their ids.
        texts: Their texts.
        n_only: Items that only the first holds, and only the second.
    """

    first: JudgedItems
    second: JudgedItems
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    n_only: tuple[int, int]


def matched_classes(audits: Sequence[dict[str, Any]]) -> NDArray[np.int64] | None:
    """Return the first model's class of each of the second's classes; None for multiple choice.

    The two are known to be of one task.
    """
    one, two = (audit["model"] for audit in audits)
    if one["task"] == "multiple_choice":
        return None
    if len(one["label_names"]) != len(two["label_names"]):
        raise ValueError(
            f"Expected two models of the same classes, but {one['name']} has {', '.join(one['label_names'])} "
            f"and {two['name']} has {', '.join(two['label_names'])}."
        )
    return match_labels(two["label_names"], one["label_names"], where=two["name"], classes_of=one["name"]).class_of


def prediction_files(audit: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of the predictions of each split that is compared."""
    return {
        split["name"]: split["predictions"]
        for split in audit["dataset"]["splits"]
        if split["predictions"] and split["role"] in ("primary", "comparison")
    }


def shared_items(
    split: str,
    first: Predictions,
    second: Predictions,
    mapping: NDArray[np.int64] | None,
    audits: Sequence[dict[str, Any]],
) -> SharedItems | None:
    """Join the labeled items that both reports hold with the same text; None where there are none."""
    place = {name: row for row, name in enumerate(second.ids)}
    rows = [
        (row, place[name])
        for row, name in enumerate(first.ids)
        if name in place and first.labels[row] >= 0 and first.texts[row] == second.texts[place[name]]
    ]
    if not rows:
        return None
    one, two = np.array(rows).T
    labels, others = first.labels[one], second.labels[two]
    logits = take_rows(second.logits, two)
    mapped = others
    if mapping is not None:
        mapped = mapping[others]
        logits = np.asarray(logits)[:, np.argsort(mapping)]
    # Reports that give an item different labels: one of them took its labels for other classes.
    odd = np.flatnonzero((others >= 0) & (labels != mapped))
    if odd.size:
        shown = [
            audit["model"]["label_names"][label] if audit["model"]["label_names"] else f"choice {label + 1}"
            for audit, label in zip(audits, (labels[odd[0]], others[odd[0]]), strict=True)
        ]
        raise ValueError(
            f"Expected two reports that give each item the same label, but item {first.ids[one[odd[0]]]!r} of the "
            f"split {split!r} is {shown[0]!r} in the first and {shown[1]!r} in the second."
        )
    return SharedItems(
        first=JudgedItems.of(take_rows(first.logits, one), labels),
        second=JudgedItems.of(logits, labels),
        ids=tuple(first.ids[row] for row in one),
        texts=tuple(first.texts[row] for row in one),
        n_only=(len(first) - len(rows), len(second) - len(rows)),
    )


def n_shared(folders: Sequence[Path], audits: Sequence[Mapping[str, Any]]) -> int:
    """Count the items of the primary split that two reports hold with the same id and text."""
    held = []
    for folder, audit in zip(folders, audits, strict=True):
        file = prediction_files(audit).get(audit["dataset"]["primary"])
        if file is None:
            return 0
        check_files(folder, audit, [file])
        predictions = read_predictions(folder / file)
        held.append(set(zip(predictions.ids, predictions.texts, strict=True)))
    return len(held[0] & held[1])
