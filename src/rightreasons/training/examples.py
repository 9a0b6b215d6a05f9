"""Tables on which a model is fine-tuned: opened from a name or a file, and tokenized for Trainer.

`open_training_data` opens a data set and selects its splits. `encode_examples` tokenizes a table
into the `Examples` that Trainer reads.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.labels.ids import LabelColumn
from rightreasons.core.store import digest_arrays, format_json_lines, write_text
from rightreasons.core.validation import check_columns, check_labels, check_texts
from rightreasons.io.label_columns import read_labels
from rightreasons.io.samples import choose_rows, limit_items, select_labeled_items
from rightreasons.io.tables import open_task_items
from rightreasons.models.batching import encode
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.windows import encode_windows, find_answer_characters, find_answer_tokens
from rightreasons.training.options import TrainingDataOptions

Table: TypeAlias = "datasets.Dataset | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]"

COLUMNS: Mapping[str, tuple[str, ...]] = {
    # "" is a task that is not known yet.
    "": (),
    "classification": ("text", "label"),
    "multiple_choice": ("prompt", "choices", "label"),
    "question_answering": ("question", "context", "answers"),
}
"""Columns that a table of each task must have."""

HELD_OUT = "held_out"
"""Name of the items that are held out of a data set without a split to evaluate on."""

VALIDATION_SPLITS = ("validation", "dev", "valid", "val", "test")
"""Names of the splits to evaluate on during training, the preferred one first."""

_GROUP_COLUMNS = ("pair_id", "source_id", "prompt", "text")
"""Columns whose equal values keep items together when some are held out, preferred one first."""

_WRITTEN_COLUMNS = (
    "id",
    "text",
    "text_pair",
    "prompt",
    "choices",
    "label",
    *_GROUP_COLUMNS[:2],
)


@dataclasses.dataclass(frozen=True, eq=False)
class Examples:
    """Tokenized examples.

    Attributes:
        dataset: One row per example: `input_ids` (and `token_type_ids`), `labels` and the extra
            columns. For multiple choice, one list of ids per choice; for question answering,
            one row per window, with `start_positions` and `end_positions` in place of `labels`.
        lengths: (N,) number of tokens of each example; for multiple choice, of its longest choice.
        truncated: Number of texts (or pairs of prompt and choice) that were truncated, or of contexts
            that were divided into several windows.
        fingerprint: Digest of the token ids, the labels and the extra columns.
    """

    dataset: Any
    lengths: NDArray[np.int64]
    truncated: int
    fingerprint: str

    def __len__(self) -> int:
        return len(self.lengths)

    def by_length(self) -> Examples:
        """Return the examples sorted by length, longest first, so that batches need less padding."""
        order = np.argsort(-self.lengths, kind="stable")
        dataset = self.dataset.select(order)
        return dataclasses.replace(self, dataset=dataset, lengths=self.lengths[order])


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingData:
    """Items to train on, and to evaluate on.

    Attributes:
        task: "classification" or "multiple_choice".
        train: Labeled items to train on.
        validation: Labeled items to evaluate on; None if there are none.
        train_name: Name of the split of `train`.
        validation_name: Name of the split of `validation`, or "held_out" if it was part of
            `train_name`; None if there is no validation set.
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


def find_training_task(table: Table) -> str:
    """Return the task whose columns a table has: "multiple_choice" or "question_answering".

    Any other table is of the task "classification".

    Args:
        table: A dataset, a mapping of columns, or a list of rows.
    """
    columns = set(convert_table(table, "", "train").column_names)
    for task in ("multiple_choice", "question_answering"):
        if columns.issuperset(COLUMNS[task]):
            return task
    return "classification"


def convert_table(table: Table, task: str, name: str) -> Any:
    """Convert a table to a dataset, and check that it has the columns of the task.

    Args:
        table: A dataset, a mapping of columns, or a list of rows.
        task: "classification", "multiple_choice", "question_answering", or "" to check no columns.
        name: Name of the table, for error messages.

    Raises:
        TypeError: If the table has another type.
        ValueError: If a column is missing, or the table is empty.
    """
    # A string is a sequence, too.
    is_sequence = isinstance(table, Sequence) and not isinstance(table, str)
    if isinstance(table, datasets.Dataset):
        dataset = table
    elif isinstance(table, Mapping):
        dataset = datasets.Dataset.from_dict(dict(table))
    elif is_sequence and all(isinstance(row, Mapping) for row in table):
        dataset = datasets.Dataset.from_list(list(map(dict, table)))
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

    Args:
        dataset: A dataset with the column `label`.
        label_names: Names of the classes. If None, they are the names of a `ClassLabel` column, the
            sorted labels if these are words, or else "0", "1", … up to the largest label.

    Raises:
        ValueError: If there are fewer than two classes, or a label is not one of them.
    """
    names = _read_label_column(dataset, label_names, "train").names
    # With one class, the softmax of the only output is always 1.
    if len(names) < 2:
        raise ValueError(
            "Expected at least two classes in the training set, "
            f"but got {', '.join(names) or 'none'}."
        )
    return names


@dataclasses.dataclass(frozen=True, eq=False)
class _Texts:
    """The texts of N examples, before they are tokenized.

    Attributes:
        texts: For classification, the text of each example. For multiple choice, the prompt of each
            example, repeated for each of its choices.
        text_pairs: The second text of each example, or the choices of all examples; None for
            classification of single texts.
        labels: (N,) labels of the examples.
        n_per_example: Number of texts of each example: its number of choices, or 1 for classification.
    """

    texts: list[str]
    text_pairs: list[str] | None
    labels: NDArray[np.int64]
    n_per_example: int


def encode_examples(
    tokenizer: Any,
    max_length: int,
    dataset: datasets.Dataset,
    name: str,
    *,
    label_names: Sequence[str] | None,
    extra_columns: Sequence[str] = (),
) -> Examples:
    """Tokenize labeled texts (and the column `text_pair`, if present), or each prompt with its choices.

    Args:
        tokenizer: A fast tokenizer of transformers.
        max_length: Maximum number of tokens per text, or per prompt with one choice.
        dataset: The data. For multiple choice, all examples must have the same number of choices.
        name: Name of the data, for error messages.
        label_names: Names of the classes of a classification; None for multiple choice.
        extra_columns: Further columns of the data, which are copied to the examples.
    """
    if label_names is None:
        source = _read_choices(dataset, name)
    else:
        source = _read_texts(dataset, name, label_names)
    encoded = encode(tokenizer, source.texts, source.text_pairs, max_length=max_length)
    columns: dict[str, Any] = {}
    for key, column in encoded.columns.items():
        # The tokens of all texts are in one array, which is split at the offsets of the texts.
        token_lists = [tokens.tolist() for tokens in np.split(column, encoded.offsets[1:-1])]
        columns[key] = _group_by_example(token_lists, source.n_per_example)
    columns["labels"] = source.labels.tolist()

    # The fingerprint covers everything that a model is trained on, including extra columns.
    content: dict[str, NDArray[Any]] = {
        **encoded.columns,
        "offsets": encoded.offsets,
        "labels": source.labels,
    }
    digests = [digest_arrays(content)]
    plain = dataset.with_format(None)
    for key in extra_columns:
        columns[key] = plain[key][:]
        digests.append(fingerprint_texts(map(repr, columns[key])))
    # An example of multiple choice is as long as its longest choice, to which the others are padded.
    lengths = encoded.lengths.reshape(-1, source.n_per_example).max(axis=1)
    return Examples(
        dataset=datasets.Dataset.from_dict(columns),
        lengths=lengths,
        truncated=int(encoded.truncated.sum()),
        fingerprint="-".join(digests),
    )


def encode_questions(
    tokenizer: Any,
    max_length: int,
    dataset: datasets.Dataset,
    name: str,
    *,
    extra_columns: Sequence[str] = (),
) -> Examples:
    """Tokenize questions with their contexts, and find the tokens of the first answer to each.

    A context that is too long is divided into several windows, each of which is an example. In a
    window without the whole answer, the first token is the answer (Devlin et al. 2019, section 4.3).

    Args:
        tokenizer: A fast tokenizer of transformers.
        max_length: Maximum number of tokens per window.
        dataset: The data, with `question`, `context` and `answers` (`text` and `answer_start`).
        name: Name of the data, for error messages.
        extra_columns: Must be empty, because columns of the data have one value per question, and not
            per window.

    Raises:
        ValueError: If there are extra columns, or an answer is not in its context.
    """
    if extra_columns:
        raise ValueError(
            f"Expected no extra columns for questions, but got {', '.join(extra_columns)}."
        )
    plain = dataset.with_format(None)
    questions = check_texts(plain["question"][:], f"{name}['question']")
    contexts = check_texts(plain["context"][:], f"{name}['context']")
    characters = find_answer_characters(plain["answers"][:], contexts, name)
    windows = encode_windows(tokenizer, questions, contexts, max_length=max_length)
    # (W, 2) first and last token of the answer; 0 in windows without the whole answer.
    answers = np.maximum(find_answer_tokens(windows, characters), 0)
    start_positions, end_positions = answers.T

    encoded = windows.encoded
    columns: dict[str, Any] = {}
    for key, column in encoded.columns.items():
        # The tokens of all windows are in one array, which is split at the offsets of the windows.
        columns[key] = [tokens.tolist() for tokens in np.split(column, encoded.offsets[1:-1])]
    columns["start_positions"] = start_positions.tolist()
    columns["end_positions"] = end_positions.tolist()
    content: dict[str, NDArray[Any]] = {
        **encoded.columns,
        "offsets": encoded.offsets,
        "tokens": answers,
    }
    n_windows = np.bincount(windows.owner, minlength=len(questions))
    return Examples(
        dataset=datasets.Dataset.from_dict(columns),
        lengths=encoded.lengths,
        # No part of a context is lost, but the model does not read it as a whole.
        truncated=int((n_windows > 1).sum()),
        fingerprint=digest_arrays(content),
    )


def _read_texts(dataset: datasets.Dataset, name: str, label_names: Sequence[str]) -> _Texts:
    """Read and check the texts of a classification, and the numbers of their labels.

    Args:
        dataset: The data, with `text`, `label`, and optionally `text_pair`.
        name: Name of the data, for error messages.
        label_names: Names of the classes. A label is numbered by the position of its name.
    """
    text_pairs = None
    has_pairs = "text_pair" in dataset.column_names
    # One text of a pair may be empty.
    texts = check_texts(dataset["text"], f"{name}['text']", allow_empty=has_pairs)
    if has_pairs:
        text_pairs = check_texts(dataset["text_pair"], f"{name}['text_pair']", allow_empty=True)
    ids = _read_label_column(dataset, label_names, name).ids
    labels = check_labels(ids, len(label_names), name=f"{name}['label']")
    return _Texts(texts, text_pairs, labels, n_per_example=1)


def _read_choices(dataset: datasets.Dataset, name: str) -> _Texts:
    """Read and check multiple-choice examples as pairs of a prompt and a choice.

    Args:
        dataset: The data, with `prompt`, `choices` and `label`.
        name: Name of the data, for errors.

    Raises:
        ValueError: If examples differ in their number of choices, which must be at least two.
    """
    prompts = check_texts(dataset["prompt"], f"{name}['prompt']", allow_empty=True)
    repeated_prompts: list[str] = []
    all_choices: list[str] = []
    n_choices = 0
    for index, (prompt, row) in enumerate(zip(prompts, dataset["choices"], strict=True)):
        choices = check_texts(row, f"{name}['choices'][{index}]", allow_empty=True)
        if index == 0:
            n_choices = len(choices)
        # All examples need the same number, because a batch is one tensor.
        if len(choices) != n_choices or n_choices < 2:
            raise ValueError(
                f"Expected each example of `{name}` to have the same number of choices, two or "
                f"more, but example 0 has {n_choices} and example {index} has {len(choices)}."
            )
        repeated_prompts.extend([prompt] * n_choices)
        all_choices.extend(choices)
    labels = check_labels(dataset["label"][:], n_choices, name=f"{name}['label']")
    return _Texts(repeated_prompts, all_choices, labels, n_per_example=n_choices)


def _group_by_example(token_lists: list[list[int]], n_per_example: int) -> list[Any]:
    """Group the tokens of texts by example, in the form that data collators expect.

    Args:
        token_lists: Tokens of each text, example by example.
        n_per_example: Number of texts of each example; 1 for classification.

    Returns:
        One entry per example: the tokens of its text; or, with several texts, a list of the tokens of
        each text.
    """
    if n_per_example == 1:
        return token_lists
    groups = []
    for start in range(0, len(token_lists), n_per_example):
        end = start + n_per_example
        groups.append(token_lists[start:end])
    return groups


def _read_label_column(dataset: Any, label_names: Sequence[str] | None, name: str) -> LabelColumn:
    """Read the names of the classes, and the number of each label, by the names of the labels.

    Two data sets may number the same classes differently.
    """
    tables = {name: (dataset.with_format(None), "label")}
    remedy = "Cast the column to a ClassLabel"
    return read_labels(tables, label_names, None, f"`{name}`", remedy=remedy)[name]


def open_training_data(
    name_or_path: Any,
    options: TrainingDataOptions,
    *,
    task: str | None = None,
    label_names: Sequence[str] | None = None,
) -> TrainingData:
    """Open a data set to fine-tune on.

    If there is no split to evaluate on, a share of the items is held out. They are selected by their
    ids, and items with equal texts (or prompts, or pairs) are not separated.

    Args:
        name_or_path: A data set of the catalog, a hub id, a file or folder, or a loaded data set, as in
            `open_dataset`.
        options: Location of the data, names of the splits, and share of the items to hold out.
        task: "classification" or "multiple_choice"; None to find it by the columns.
        label_names: Names of the classes in the order of their numbers; None for the names in the data.

    Returns:
        The labeled items.

    Raises:
        ValueError: If a split is missing, an option is for another task, or no item has a label.
    """
    if task == "question_answering":
        raise OptionError(
            "Expected `task` to be classification or multiple_choice for a data set that is "
            "opened by name, but got question_answering. Pass the rows to `fine_tune`.",
            option="task",
        )
    source = "the data"
    if isinstance(name_or_path, (str, os.PathLike)):
        source = os.fspath(name_or_path)
    task, opened = open_task_items(name_or_path, options, task, label_names=label_names)
    # Drop items without a label, such as the whole test split of a leaderboard.
    splits = {}
    for name, items in opened.items():
        labeled = select_labeled_items(items)
        if len(labeled):
            splits[name] = labeled
    if not splits:
        raise OptionError(
            f"Expected items with a label in {source}, but there are none.", option="label_column"
        )

    train_name = _select_train_split(splits, options, source)
    validation_name = _select_validation_split(splits, train_name, options, source)
    train = splits[train_name]
    validation = None if validation_name is None else splits[validation_name]
    if validation is None and options.held_out:
        train, validation = _hold_out(train, options.held_out, source)
        validation_name = HELD_OUT
    if validation is not None:
        validation = limit_items(validation, options.limit, 0)
    return TrainingData(
        task=task,
        train=limit_items(train, options.limit, 0),
        validation=validation,
        train_name=train_name,
        validation_name=validation_name,
    )


def _select_train_split(
    splits: Mapping[str, datasets.Dataset], options: TrainingDataOptions, source: str
) -> str:
    """Return the name of the split to train on: the requested one, "train", or the only one.

    Args:
        splits: Splits with labeled items, by name.
        options: `train_split` is the name of the requested split, if any.
        source: Name of the data, for the error message.

    Raises:
        ValueError: If there is no such split.
    """
    name = options.train_split
    if not name and len(splits) == 1:
        (name,) = splits
    elif not name:
        name = "train"
    if name not in splits:
        raise make_unknown_name_error(f"split of {source} with labels", name, splits)
    return name


def _select_validation_split(
    splits: Mapping[str, datasets.Dataset],
    train_name: str,
    options: TrainingDataOptions,
    source: str,
) -> str | None:
    """Return the name of the split to evaluate on: the requested one, or one with a usual name.

    Args:
        splits: Splits with labeled items, by name.
        train_name: Name of the split to train on, which is excluded.
        options: `validation_split` is the name of the requested split, if any.
        source: Name of the data, for the error message.

    Returns:
        The name; None if no split is requested, and no split has a name such as "validation" or "test".

    Raises:
        ValueError: If the requested split is missing.
    """
    candidates = [name for name in splits if name != train_name]
    requested = options.validation_split
    if requested is not None:
        # A misspelled name must not be replaced by another split.
        if requested not in candidates:
            raise make_unknown_name_error(
                f"split of {source} with labels, other than that to train on",
                requested,
                candidates or ["none"],
            )
        return requested
    for name in VALIDATION_SPLITS:
        if name in candidates:
            return name
    return None


def write_parts(data: TrainingData, folder: str | os.PathLike[str]) -> Path:
    """Write training items and held-out items as train.jsonl and test.jsonl, for an audit.

    Labels are written by name. An audit queries the held-out items, and searches for shortcuts in the
    training items.

    Args:
        data: Training data with held-out items.
        folder: The folder to write into.

    Returns:
        The folder.

    Raises:
        ValueError: If no items are held out.
    """
    if data.validation is None or not data.holds_out:
        raise ValueError(
            "Expected training data with held-out items, but got a split to evaluate on, or "
            "neither."
        )
    # By these file names, an audit recognizes the splits.
    for name, items in (("train", data.train), ("test", data.validation)):
        rows = format_json_lines(_name_labels(items))
        write_text(Path(folder) / f"{name}.jsonl", rows)
    return Path(folder)


def _name_labels(items: datasets.Dataset) -> Iterator[dict[str, Any]]:
    """Yield items as rows with texts, choices, ids and labels, in which classes have their names.

    Args:
        items: The items. Labels of another type than `ClassLabel` are left unchanged.
    """
    columns = [column for column in _WRITTEN_COLUMNS if column in items.column_names]
    selected = items.select_columns(columns)
    feature = selected.features.get("label")
    for row in selected.with_format(None):
        if isinstance(feature, datasets.ClassLabel):
            # Write the name of the class, because another reader may number the classes differently.
            row = {**row, "label": feature.names[row["label"]]}
        yield row


def _hold_out(
    train: datasets.Dataset, share: float, source: str
) -> tuple[datasets.Dataset, datasets.Dataset]:
    """Divide items into those to train on and those to evaluate on.

    Related items are not separated, because a model would remember the copies that it was trained on.
    They are related if they have the same value in the first of the columns pair_id, source_id, prompt
    and text that the data has.

    Args:
        train: The items, with unique ids, which determine the selection.
        share: Share of the items to hold out.
        source: Name of the data, for the error message.

    Returns:
        Items to train on, and items that are held out.

    Raises:
        OptionError: If no items remain to train on.
    """
    groups = None
    for column in _GROUP_COLUMNS:
        # The columns with explicit groups come before those of texts.
        if column in train.column_names:
            groups = list(map(str, train[column][:]))
            break
    n_held_out = max(1, round(share * len(train)))
    held_out_rows = choose_rows(train["id"][:], n_held_out, groups=groups)
    train_rows = np.setdiff1d(np.arange(len(train)), held_out_rows)
    if not len(train_rows):
        raise OptionError(
            f"Expected items of {source} to train on in addition to the held-out items, but all "
            f"{len(train)} items form one group. Set held_out=0 to train on all items.",
            option="held_out",
        )
    return train.select(train_rows), train.select(held_out_rows)
