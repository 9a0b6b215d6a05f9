"""Open the suite and the independent data of a plan by the names and options that its folder keeps."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.data.builders.catalog import CATALOG
from rightreasons.data.opening.datasets import open_dataset
from rightreasons.data.opening.questions import open_questions
from rightreasons.data.suites.opening import open_suite
from rightreasons.foundations.label_names import match_labels
from rightreasons.training.behavior.classes import Classes
from rightreasons.training.behavior.kind import IidData
from rightreasons.training.behavior.kinds import KINDS, kind_of
from rightreasons.training.behavior.options import LearningOptions, PlanOptions, parse_grid
from rightreasons.training.behavior.task import LearningTask


def describe_sources(model: str, suite: str, data: str, options: PlanOptions) -> dict[str, Any]:
    """Return what a plan keeps, as plain values with absolute paths; `open_task` reads it.

    Args:
        model: Folder or hub id.
        suite: Name or file of a suite.
        data: Known name, hub id or folder of independent data.
        options: The options.
    """
    names = {"model": _absolute(model), "suite": _absolute(suite), "data": data if data in CATALOG else _absolute(data)}
    data_dir = None if options.data_dir is None else str(Path(options.data_dir).resolve())
    return {**names, **dataclasses.replace(options, data_dir=data_dir).to_dict()}


def open_task(source: Mapping[str, Any]) -> LearningTask:
    """Open the model's name, the suite and the data of a plan.

    Args:
        source: From `describe_sources`.

    Raises:
        ValueError: If the data cannot be learned from, or options contradict one another.
    """
    values = dict(source)
    model, suite_name, data = (values.pop(name) for name in ("model", "suite", "data"))
    options = PlanOptions.read(values, "a plan")
    if data not in CATALOG and Path(data).expanduser().is_file():
        raise ValueError(
            f"Expected data with the splits {options.train_split!r} and {options.test_split!r}, but {data} is one "
            "table: give a folder with one file per split, such as train.csv and validation.csv."
        )
    suite = open_suite(suite_name, data_dir=options.data_dir, paper_labels=True, max_cases=options.max_cases)
    labels = options.labels or kind_of(suite)
    training = {name: getattr(options, name) for name in LearningOptions.names()}
    splits = ((options.train_split, options.train_limit), (options.test_split, options.test_limit))
    kind = KINDS.get(labels)
    if isinstance(kind, Classes):
        names = kind.class_names(suite)
        train, test = (_open_texts(data, split, limit, options, names, suite.name) for split, limit in splits)
    else:
        train, test = (_open_questions(data, split, limit, options) for split, limit in splits)
    return LearningTask(
        model=model,
        suite=suite,
        train=train,
        test=test,
        labels=labels,
        options=training,
        iid_options={**training, "epochs": options.iid_epochs, "batch_size": options.iid_batch_size},
        grid=tuple(parse_grid(options.grid)),
        max_length=options.max_length,
    )


def _absolute(name: str) -> str:
    """Return the absolute path of a file or folder; other names stay unchanged."""
    path = Path(name).expanduser()
    return os.path.abspath(path) if path.exists() else name


def _columns(options: PlanOptions) -> dict[str, Any]:
    names = ("text_column", "text_pair_column", "label_column")
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _open_questions(data: str, split: str, limit: int | None, options: PlanOptions) -> IidData:
    if columns := _columns(options):
        flag = next(iter(columns)).replace("_", "-")
        raise ValueError(f"Expected no --{flag} for a suite of reading, whose data has question and context.")
    rows: Any = open_questions(data, split=split, data_dir=options.data_dir, limit=limit)
    return IidData(rows["question"][:], rows["answers"][:], rows["context"][:])


def _open_texts(
    data: str, split: str, limit: int | None, options: PlanOptions, classes: Sequence[str] | None, suite: str
) -> IidData:
    """Open classified texts; their labels are matched by name with those of the suite where it names them."""
    rows: Any = open_dataset(
        data, split=split, data_dir=options.data_dir, limit=limit, drop_empty=True, **_columns(options)
    )
    labels = rows["label"][:]
    if min(labels) < 0:
        raise ValueError(f"Expected a label on every item of the split {split!r} of {data}, but some have none.")
    if classes is not None:
        names = rows.features["label"].names
        match = match_labels(names, classes, used=set(labels), where=data, classes_of=f"the suite {suite!r}")
        labels = match.class_of[labels].tolist()
    return IidData(rows["text"][:], labels, rows["text_pair"][:] if "text_pair" in rows.column_names else None)
