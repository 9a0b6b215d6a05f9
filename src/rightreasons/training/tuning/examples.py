"""A data set of texts in the form that Trainer reads: token ids, labels and extra columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.data.opening.labels import read_labels
from rightreasons.foundations.label_names import LabelColumn
from rightreasons.foundations.storing.records import digest_of_arrays
from rightreasons.foundations.validation import check_labels, check_texts
from rightreasons.models.running.batching import Encoded, encode
from rightreasons.models.running.fingerprint import fingerprint_texts

Table: TypeAlias = "datasets.Dataset | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]"

COLUMNS = {
    "classification": ("text", "label"),
    "multiple_choice": ("prompt", "choices", "label"),
    "question_answering": ("question", "context", "answers"),
}


_DEFAULT = "classification"


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Tokenized examples.

    Attributes:
        dataset: One row per example: `input_ids` (and `token_type_ids`), `labels` and the extra columns; for multiple
            choice one list of ids per choice; for question answering `start_positions` and `end_positions` as labels.
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
        return dataclasses.replace(self, dataset=self.dataset.select(order), lengths=self.lengths[order])


def task_of(table: Table) -> str:
    """Return the task whose columns a table has: question answering, multiple choice, or else classification."""
    if isinstance(table, datasets.Dataset):
        columns = set(table.column_names)
    elif isinstance(table, Mapping):
        columns = set(table)
    else:
        columns = set(table[0]) if isinstance(table, Sequence) and table and isinstance(table[0], Mapping) else set()
    return next((task for task in ("question_answering", "multiple_choice") if columns >= {*COLUMNS[task]}), _DEFAULT)


def as_dataset(table: Table, task: str, name: str) -> Any:
    """Convert a mapping of columns or a list of rows to a dataset, and check that it has the columns of the task."""
    if isinstance(table, datasets.Dataset):
        dataset = table
    elif isinstance(table, Mapping):
        dataset = datasets.Dataset.from_dict(dict(table))
    elif isinstance(table, Sequence) and not isinstance(table, str) and all(isinstance(row, Mapping) for row in table):
        dataset = datasets.Dataset.from_list([dict(row) for row in table])
    else:
        raise TypeError(
            f"Expected `{name}` to be a Dataset, a mapping of columns or a list of rows, but got "
            f"{type(table).__name__}."
        )
    missing = [column for column in COLUMNS[task] if column not in dataset.column_names]
    if missing:
        raise ValueError(
            f"Expected `{name}` to have the columns {', '.join(COLUMNS[task])} of a {task} dataset, but it lacks "
            f"{' and '.join(missing)}; it has {', '.join(dataset.column_names) or 'none'}."
        )
    if len(dataset) == 0:
        raise ValueError(f"Expected at least one example in `{name}`, but it is empty.")
    return dataset


def find_label_names(dataset: Any, label_names: Sequence[str] | None) -> tuple[str, ...]:
    """Find the names of the classes of a training set, in the order of the labels.

    They are `label_names` if given, else the names of a `ClassLabel` column, else the sorted labels if they are words,
    else "0", "1", … up to the largest label; see `foundations.label_names`.
    """
    column = _label_column(dataset, label_names, "train")
    names = column.names
    if len(names) < 2:
        raise ValueError(f"Expected at least two classes in the training set, but got {', '.join(names) or 'none'}.")
    return names


def classification_examples(
    dataset: Any,
    tokenizer: Any,
    label_names: Sequence[str],
    *,
    max_length: int,
    name: str,
    extra_columns: Sequence[str] = (),
) -> Examples:
    """Tokenize the texts (and the column `text_pair`, if present) of a classification dataset."""
    texts = check_texts(dataset["text"], f"{name}['text']", allow_empty="text_pair" in dataset.column_names)
    pairs = None
    if "text_pair" in dataset.column_names:
        pairs = check_texts(dataset["text_pair"], f"{name}['text_pair']", allow_empty=True)
    labels = class_labels(dataset, label_names, name)
    encoded = encode(tokenizer, texts, pairs, max_length=max_length)
    columns: dict[str, Any] = {key: _rows(encoded, column) for key, column in encoded.columns.items()}
    return _examples(dataset, columns, labels, encoded, encoded.lengths, extra_columns)


def choice_examples(
    dataset: Any, tokenizer: Any, *, max_length: int, name: str, extra_columns: Sequence[str] = ()
) -> Examples:
    """Tokenize each prompt with each of its choices; every example has the same number of choices."""
    prompts = check_texts(dataset["prompt"], f"{name}['prompt']", allow_empty=True)
    choices = [
        check_texts(row, f"{name}['choices'][{index}]", allow_empty=True)
        for index, row in enumerate(dataset["choices"])
    ]
    counts = [len(row) for row in choices]
    n_choices = counts[0]
    if n_choices < 2 or min(counts) != max(counts):
        other = next((index for index, count in enumerate(counts) if count != n_choices or count < 2), 0)
        raise ValueError(
            f"Expected each example of `{name}` to have the same number of choices, two or more, but example 0 has "
            f"{n_choices} and example {other} has {counts[other]}."
        )
    labels = check_labels(dataset["label"][:], n_choices, name=f"{name}['label']")
    first = [prompt for prompt in prompts for _ in range(n_choices)]
    encoded = encode(tokenizer, first, [choice for row in choices for choice in row], max_length=max_length)
    columns: dict[str, Any] = {}
    for key, column in encoded.columns.items():
        rows = _rows(encoded, column)
        columns[key] = [rows[start : start + n_choices] for start in range(0, len(rows), n_choices)]
    lengths = encoded.lengths.reshape(-1, n_choices).max(axis=1)
    return _examples(dataset, columns, labels, encoded, lengths, extra_columns)


def _label_column(dataset: Any, label_names: Sequence[str] | None, name: str) -> LabelColumn:
    """Read the labels of a table by name, so that two datasets that number the same classes differently agree."""
    parts = {name: (dataset.with_format(None), "label")}
    return read_labels(parts, label_names, None, f"`{name}`", remedy="cast it to a ClassLabel")[name]


def class_labels(dataset: Any, label_names: Sequence[str], name: str, *, minimum: int = 0) -> NDArray[np.int64]:
    """Read the label of each example as a class, by name where the labels have names; -1 for none needs `minimum`."""
    ids = _label_column(dataset, label_names, name).ids
    return check_labels(ids, len(label_names), name=f"{name}['label']", minimum=minimum)


def _examples(
    dataset: Any,
    columns: dict[str, Any],
    labels: NDArray[np.int64],
    encoded: Encoded,
    lengths: NDArray[np.int64],
    extra_columns: Sequence[str],
) -> Examples:
    extra = {key: dataset.with_format(None)[key][:] for key in extra_columns}
    digests = [
        digest_of_arrays({**encoded.columns, "offsets": encoded.offsets, "labels": labels}),
        *(fingerprint_texts(map(repr, extra[key])) for key in extra),
    ]
    return Examples(
        dataset=datasets.Dataset.from_dict({**columns, "labels": labels.tolist(), **extra}),
        lengths=lengths,
        truncated=int(encoded.truncated.sum()),
        fingerprint="-".join(digests),
    )


def _rows(encoded: Encoded, column: NDArray[np.int32]) -> list[list[int]]:
    return [row.tolist() for row in np.split(column, encoded.offsets[1:-1])]
