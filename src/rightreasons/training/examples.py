"""The tables that a model is fine-tuned on: opened from a name or a file, and tokenized as Trainer reads them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.label_names import LabelColumn
from rightreasons.core.store import digest_arrays, format_json_lines, write_text
from rightreasons.core.validation import check_columns, check_labels, check_texts
from rightreasons.io.columns import read_labels
from rightreasons.io.tables import chosen_rows, labeled_items, limited, open_task_items
from rightreasons.models.batching import encode
from rightreasons.models.running import fingerprint_texts
from rightreasons.training.options import TrainingDataOptions

Table: TypeAlias = "datasets.Dataset | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]"

COLUMNS = {
    "": (),
    "classification": ("text", "label"),
    "multiple_choice": ("prompt", "choices", "label"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Tokenized examples.

    Attributes:
        dataset: One row per example: `input_ids` (and `token_type_ids`), `labels` and the extra columns; for multiple
            choice one list of ids per choice.
        lengths: (N,) tokens of each example; of its longest choice for multiple choice.
        truncated: Number of texts (or pairs of prompt and choice) that were cut.
        fingerprint: Digest of the ids, the labels and the extra columns.
    """

    dataset: Any
    lengths: NDArray[np.int64]
    truncated: int
    fingerprint: str

    def __len__(self) -> int:
        return len(self.lengths)

    def by_length(self) -> Examples:
        """Return the examples sorted by length, which reduces padding where the order does not matter."""
        order = np.argsort(-self.lengths, kind="stable")
        return dataclasses.replace(
            self, dataset=self.dataset.select(order), lengths=self.lengths[order]
        )


def task_of(table: Table) -> str:
    """Return the task whose columns a table has: multiple choice, or else classification."""
    columns = as_dataset(table, "", "train").column_names
    return "multiple_choice" if {*columns} >= {*COLUMNS["multiple_choice"]} else "classification"


def as_dataset(table: Table, task: str, name: str) -> Any:
    """Convert a mapping of columns or a list of rows to a dataset, and check that it has the columns of the task."""
    if isinstance(table, datasets.Dataset):
        dataset = table
    elif isinstance(table, Mapping):
        dataset = datasets.Dataset.from_dict(dict(table))
    elif (
        isinstance(table, Sequence)
        and not isinstance(table, str)
        and all(isinstance(row, Mapping) for row in table)
    ):
        dataset = datasets.Dataset.from_list([dict(row) for row in table])
    else:
        raise TypeError(
            f"Expected `{name}` to be a Dataset, a mapping of columns or a list of rows, but got "
            f"{type(table).__name__}."
        )
    check_columns(dataset.column_names, COLUMNS[task], f"`{name}`, a {task} dataset")
    if len(dataset) == 0:
        raise ValueError(f"Expected at least one example in `{name}`, but it is empty.")
    return dataset


def find_label_names(dataset: Any, label_names: Sequence[str] | None) -> tuple[str, ...]:
    """Find the names of the classes of a training set, in the order of the labels.

    They are `label_names` if given, else the names of a `ClassLabel` column, else the sorted labels if they are words,
    else "0", "1", … up to the largest label; see `core.label_names`.
    """
    column = _label_column(dataset, label_names, "train")
    names = column.names
    if len(names) < 2:
        raise ValueError(
            f"Expected at least two classes in the training set, but got {', '.join(names) or 'none'}."
        )
    return names


def encoded_examples(
    tokenizer: Any,
    max_length: int,
    dataset: datasets.Dataset,
    name: str,
    *,
    label_names: Sequence[str] | None,
    extra_columns: Sequence[str] = (),
) -> Examples:
    """Tokenize texts (and the column `text_pair`, if present), or each prompt with each of its choices.

    Args:
        tokenizer: A fast tokenizer of transformers.
        max_length: Maximum tokens per text, or per prompt with one choice.
        dataset: The data; for multiple choice with equally many choices in every example.
        name: What they are called in errors.
        label_names: The classes of a classification; None for multiple choice.
        extra_columns: Further columns of the data that the examples keep.
    """
    second: list[str] | None = None
    n_texts = 1
    if label_names is not None:
        has_pairs = "text_pair" in dataset.column_names
        first = check_texts(dataset["text"], f"{name}['text']", allow_empty=has_pairs)
        if has_pairs:
            second = check_texts(dataset["text_pair"], f"{name}['text_pair']", allow_empty=True)
        labels = check_labels(
            _label_column(dataset, label_names, name).ids, len(label_names), name=f"{name}['label']"
        )
    else:
        prompts = check_texts(dataset["prompt"], f"{name}['prompt']", allow_empty=True)
        choices = [
            check_texts(row, f"{name}['choices'][{index}]", allow_empty=True)
            for index, row in enumerate(dataset["choices"])
        ]
        counts = [len(row) for row in choices]
        n_texts = counts[0]
        other = next(
            (index for index, count in enumerate(counts) if count != n_texts or count < 2), None
        )
        if other is not None:
            raise ValueError(
                f"Expected each example of `{name}` to have the same number of choices, two or more, but example 0 has "
                f"{n_texts} and example {other} has {counts[other]}."
            )
        labels = check_labels(dataset["label"][:], n_texts, name=f"{name}['label']")
        first = [prompt for prompt in prompts for _ in range(n_texts)]
        second = [choice for row in choices for choice in row]
    encoded = encode(tokenizer, first, second, max_length=max_length)
    columns: dict[str, Any] = {}
    for key, column in encoded.columns.items():
        rows = [row.tolist() for row in np.split(column, encoded.offsets[1:-1])]
        grouped = [rows[start : start + n_texts] for start in range(0, len(rows), n_texts)]
        columns[key] = rows if n_texts == 1 else grouped
    extra = {key: dataset.with_format(None)[key][:] for key in extra_columns}
    digests = [
        digest_arrays({**encoded.columns, "offsets": encoded.offsets, "labels": labels}),
        *(fingerprint_texts(map(repr, extra[key])) for key in extra),
    ]
    columns |= {"labels": labels.tolist()} | extra
    lengths = encoded.lengths.reshape(-1, n_texts).max(axis=1)
    return Examples(
        datasets.Dataset.from_dict(columns),
        lengths,
        int(encoded.truncated.sum()),
        "-".join(digests),
    )


def _label_column(dataset: Any, label_names: Sequence[str] | None, name: str) -> LabelColumn:
    """Read the labels of a table by name, so that two datasets that number the same classes differently agree."""
    parts = {name: (dataset.with_format(None), "label")}
    return read_labels(parts, label_names, None, f"`{name}`", remedy="cast it to a ClassLabel")[
        name
    ]


HELD_OUT = "held_out"
"""The name of the items that are held out of a data set without a split to evaluate on."""

VALIDATION_SPLITS = ("validation", "dev", "valid", "val", "test")
"""The names of the splits to evaluate on while a model is trained, the preferred one first."""

_GROUPS = ("pair_id", "source_id", "prompt", "text")
"""Columns whose equal values keep items together when some are held out, the preferred one first."""

_WRITTEN = ("id", "text", "text_pair", "prompt", "choices", "label", *_GROUPS[:2])


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingData:
    """What a model is fine-tuned on, and evaluated on.

    Attributes:
        task: "classification" or "multiple_choice".
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
    (or prompts, or pairs) on one side.

    Args:
        name_or_path: As in `open_dataset`.
        options: Where the data is, which splits to take, and how much to hold out.
        task: "classification" or "multiple_choice"; None to find out which.
        label_names: The names of the classes in the order of their numbers; None for those of the data.

    Returns:
        The items, those without a label left out.

    Raises:
        ValueError: If a split is missing, an option is about another task, or no item has a label.
    """
    where = os.fspath(name_or_path) if isinstance(name_or_path, (str, os.PathLike)) else "the data"
    task, opened = open_task_items(name_or_path, options, task, label_names=label_names)
    labeled = {name: labeled_items(items) for name, items in opened.items()}
    splits = {name: items for name, items in labeled.items() if len(items)}
    if not splits:
        raise OptionError(
            f"Expected items with a label in {where}, but there are none.", option="label_column"
        )
    train_name = options.train_split or (
        "train" if "train" in splits or len(splits) > 1 else next(iter(splits))
    )
    if train_name not in splits:
        raise make_unknown_name_error(f"split of {where} with labels", train_name, splits)
    others = [name for name in splits if name != train_name]
    name = options.validation_split or next(
        (name for name in VALIDATION_SPLITS if name in others), None
    )
    if name is not None and name not in others:
        raise make_unknown_name_error(
            f"split of {where} with labels, other than that to train on", name, others or ["none"]
        )
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


def write_parts(data: TrainingData, folder: str | os.PathLike[str]) -> Path:
    """Write the two parts of a divided file as lines of JSON in the common schema, the labels by name.

    An audit reads both: it asks about the items that were held out, and looks for shortcuts in those of training.

    Args:
        data: Training data with items held out.
        folder: The folder of train.jsonl and test.jsonl.

    Returns:
        The folder.
    """
    if data.validation is None or not data.holds_out:
        raise ValueError(
            "Expected training data with items held out, but it has a split to evaluate on, or none."
        )
    for name, part in (("train", data.train), ("test", data.validation)):
        rows = part.select_columns([column for column in _WRITTEN if column in part.column_names])
        label = rows.features.get("label")
        names = label.names if isinstance(label, datasets.ClassLabel) else None
        named = (
            {**row, **({} if names is None else {"label": names[row["label"]]})}
            for row in rows.with_format(None)
        )
        write_text(Path(folder) / f"{name}.jsonl", format_json_lines(named))
    return Path(folder)


def _hold_out(
    train: datasets.Dataset, share: float, where: str
) -> tuple[datasets.Dataset, datasets.Dataset]:
    """Divide items in two, those with the same value of the first column of `_GROUPS` on the same side."""
    column = next((name for name in _GROUPS if name in train.column_names), None)
    groups = None if column is None else [str(value) for value in train[column][:]]
    rows = chosen_rows(train["id"][:], max(1, round(share * len(train))), groups=groups)
    rest = np.setdiff1d(np.arange(len(train)), rows)
    if not len(rest):
        raise OptionError(
            f"Expected items of {where} to train on beside those held out, but it has {len(train)} in one group; "
            "held_out=0 holds none out.",
            option="held_out",
        )
    return train.select(rest), train.select(rows)
