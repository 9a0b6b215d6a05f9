"""The data that a model is fine-tuned on, from a name or a file, with items held out for its audit."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.data.opening.datasets import open_task_items
from rightreasons.data.opening.questions import open_questions
from rightreasons.data.opening.splits import chosen_rows, labeled_items, limited
from rightreasons.foundations.validation import unknown_name
from rightreasons.training.tuning.options import TrainingDataOptions

HELD_OUT = "held_out"
"""The name of the items that are held out of a data set without a split to evaluate on."""

VALIDATION_SPLITS = ("validation", "dev", "valid", "val", "test")
"""The names of the splits to evaluate on while a model is trained, the preferred one first."""

_GROUPS = ("pair_id", "source_id", "prompt", "text", "context")
"""Columns whose equal values keep items together when some are held out, the preferred one first."""

_HELD_OUT = ("id", "text", "text_pair", "prompt", "choices", "question", "context", "answers", "label", *_GROUPS[:2])


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingData:
    """What a model is fine-tuned on, and evaluated on.

    Attributes:
        task: "classification", "multiple_choice" or "question_answering".
        train: The labeled items to train on.
        validation: The labeled items to evaluate on; None where there are none.
        train_name: The split of `train`.
        validation_name: The split of `validation`, or "held_out" where it was part of `train_name`; None without one.
    """

    task: str
    train: datasets.Dataset
    validation: datasets.Dataset | None
    train_name: str
    validation_name: str | None

    @property
    def holds_out(self) -> bool:
        """Whether the items to evaluate on were part of the split to train on."""
        return self.validation_name == HELD_OUT


def open_training_data(
    name_or_path: Any,
    options: TrainingDataOptions,
    *,
    task: str | None = None,
    label_names: Sequence[str] | None = None,
) -> TrainingData:
    """Open a data set to fine-tune on.

    Where no split is left to evaluate on, a share of the items is held out: chosen by their ids alone, with equal texts
    (or prompts, or contexts, or pairs) on one side.

    Args:
        name_or_path: As in `open_dataset`, or as in `open_questions` for question answering.
        options: Where the data is, which splits to take, and how much to hold out.
        task: "classification", "multiple_choice" or "question_answering"; None to find out which of the first two.
        label_names: The names of the classes in the order of their numbers; None for those of the data.

    Returns:
        The items, those without a label left out.

    Raises:
        ValueError: If a split is missing, an option is about another task, or no item has a label.
    """
    where = os.fspath(name_or_path) if isinstance(name_or_path, (str, os.PathLike)) else "the data"
    if task == "question_answering":
        splits = _questions(name_or_path, options)
    else:
        task, opened = open_task_items(name_or_path, options, task, label_names=label_names)
        labeled = {name: labeled_items(items) for name, items in opened.items()}
        splits = {name: items for name, items in labeled.items() if len(items)}
    if not splits:
        raise ValueError(f"Expected items with a label in {where}, but there are none.")
    train_name = options.train_split or ("train" if "train" in splits or len(splits) > 1 else next(iter(splits)))
    if train_name not in splits:
        raise unknown_name(f"split of {where} with labels", train_name, splits)
    others = [name for name in splits if name != train_name]
    name = options.validation_split or next((name for name in VALIDATION_SPLITS if name in others), None)
    if name is not None and name not in others:
        raise unknown_name(f"split of {where} with labels, other than that to train on", name, others or ["none"])
    train, validation = splits[train_name], None if name is None else splits[name]
    if validation is None and options.held_out:
        train, validation = _hold_out(train, options.held_out, where)
        name = HELD_OUT
    return TrainingData(
        task,
        limited(train, options.limit, 0),
        None if validation is None else limited(validation, options.limit, 0),
        train_name,
        name,
    )


def write_held_out(data: TrainingData, folder: str | os.PathLike[str]) -> Path:
    """Write the items that are held out as lines of JSON in the common schema, the labels by name.

    Args:
        data: Training data with items held out.
        folder: The folder of the file held_out.jsonl.

    Returns:
        The file.
    """
    from rightreasons.foundations.atomic_write import json_lines, write_text

    if data.validation is None or not data.holds_out:
        raise ValueError("Expected training data with items held out, but it has a split to evaluate on, or none.")
    rows = data.validation.select_columns([name for name in _HELD_OUT if name in data.validation.column_names])
    label = rows.features.get("label")
    names = label.names if isinstance(label, datasets.ClassLabel) else None
    named = ({**row, **({} if names is None else {"label": names[row["label"]]})} for row in rows.with_format(None))
    return write_text(Path(folder) / f"{HELD_OUT}.jsonl", json_lines(named))


# ------------------------------------------------------------------------------------------------------------- private


def _questions(name_or_path: Any, options: TrainingDataOptions) -> dict[str, datasets.Dataset]:
    """Open the splits of question answering that are asked for: a file has one."""
    how: dict[str, Any] = {"data_dir": options.data_dir}
    is_path = isinstance(name_or_path, (str, os.PathLike))
    if isinstance(name_or_path, datasets.Dataset) or (is_path and Path(os.fspath(name_or_path)).is_file()):
        return {options.train_split or "data": open_questions(name_or_path, **how)}
    names = (options.train_split or "train", options.validation_split or "validation")
    return {name: open_questions(name_or_path, split=name, **how) for name in names}


def _hold_out(train: datasets.Dataset, share: float, where: str) -> tuple[datasets.Dataset, datasets.Dataset]:
    """Divide items in two, those with the same value of the first column of `_GROUPS` on the same side."""
    column = next((name for name in _GROUPS if name in train.column_names), None)
    groups = None if column is None else [str(value) for value in train[column][:]]
    rows = chosen_rows(train["id"][:], max(1, round(share * len(train))), groups=groups)
    rest = np.setdiff1d(np.arange(len(train)), rows)
    if not len(rest):
        raise ValueError(
            f"Expected items of {where} to train on beside those held out, but it has {len(train)} in one group; "
            "held_out=0 holds none out."
        )
    return train.select(rest), train.select(rows)
