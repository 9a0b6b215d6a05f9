"""What a plan of behavioral learning is made of, opened from the names that its folder keeps."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightreasons.data.suites.suite import Suite
    from rightreasons.training.behavior.runner import Data, Task


def open_task(source: Mapping[str, Any]) -> Task:
    """Open the suite and the data of a plan.

    Args:
        source: What `rightreasons learn plan` was told. Where it names no `labels` or `max_length`, they are those
            that the suite asks for.
    """
    from rightreasons.training.behavior.runner import Task

    suite = _suite(source)
    labels = source["labels"] or labels_of(suite)
    max_length = source["max_length"]
    train, test = (
        _data(source, source[split], limit, labels)
        for split, limit in zip(("train_split", "test_split"), source["limits"], strict=True)
    )
    return Task(
        model=source["model"],
        suite=suite,
        train=train,
        test=test,
        labels=labels,
        grid=tuple(source.get("grid", ())),
        max_length=(384 if labels == "answers" else 128) if max_length is None else max_length,
        **{name: source[name] for name in ("options", "iid_options")},
    )


def labels_of(suite: Suite) -> str:
    """Tell what a suite's labels are: answers that are spans, three sentiments, or classes."""
    from rightreasons.analysis.behavior.pass_rates import asks_for_neutral
    from rightreasons.training.behavior.span_items import is_reading

    if is_reading(suite):
        return "answers"
    return "sentiment" if asks_for_neutral(suite.table()) else "classes"


def absolute(name: str) -> str:
    """Return the absolute path of what a name leads to; a name that leads to no file or folder stays as it is."""
    path = Path(name).expanduser()
    return os.path.abspath(path) if path.exists() else name


def _check_has_splits(source: Mapping[str, Any]) -> None:
    from rightreasons.data.builders.catalog import CATALOG

    if source["data"] not in CATALOG and Path(source["data"]).expanduser().is_file():
        raise ValueError(
            f"Expected data with the splits {source['train_split']!r} and {source['test_split']!r}, but "
            f"{source['data']} is one table: give a folder with one file a split, such as train.csv and validation.csv."
        )


def _suite(source: Mapping[str, Any]) -> Suite:
    from rightreasons.data.suites.opening import open_suite

    return open_suite(source["suite"], data_dir=source["data_dir"], paper_labels=True, max_cases=source["max_cases"])


def _data(source: Mapping[str, Any], split: str, limit: int | None, labels: str) -> Data:
    from rightreasons.data.opening.datasets import open_dataset
    from rightreasons.data.opening.questions import open_questions
    from rightreasons.training.behavior.runner import Data

    _check_has_splits(source)
    rows: Any
    if labels == "answers":
        named = [f"--{name.replace('_', '-')}" for name, value in source["columns"].items() if value is not None]
        if named:
            raise ValueError(f"Expected no {named[0]} for a suite of reading, whose data has question and context.")
        rows = open_questions(source["data"], split=split, data_dir=source["data_dir"], limit=limit)
        return Data(rows["question"][:], rows["answers"][:], rows["context"][:])
    rows = open_dataset(
        source["data"], split=split, data_dir=source["data_dir"], limit=limit, drop_empty=True, **source["columns"]
    )
    pairs = rows["text_pair"][:] if "text_pair" in rows.column_names else None
    found = rows["label"][:]
    if min(found) < 0:
        raise ValueError(
            f"Expected a label on every item of the split {split!r} of {source['data']}, but some have none."
        )
    return Data(rows["text"][:], found, pairs)
