"""Data of an audit by its task: texts to classify, or items with choices.

`open_task_data` opens it, `open_items` returns the items of a prompt, and `add_training_split` adds
training texts that are stored separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.audited.splits import limit_rows
from rightreasons.core.errors import OptionError
from rightreasons.io.options import AuditOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.prompts import Examples, Item

CLASSIFICATION_FIELDS = ("text", "text_pair")
CHOICE_FIELDS = ("prompt", "choices")


def open_task_data(
    dataset: Any,
    settings: AuditOptions,
    label_words: Sequence[str] = (),
    *,
    require_labels: bool,
) -> tuple[str, Mapping[str, datasets.Dataset]]:
    """Open data as items with choices or as texts to classify, whichever it contains.

    Args:
        dataset: Anything that `open_splits` opens.
        settings: Options of an audit, among them the task and the names of columns.
        label_words: Words for the classes in a prompt; empty if the user gave none.
        require_labels: Whether data without labels is refused.

    Returns:
        The task, "classification" or "multiple_choice", and the items of each split.
    """
    from rightreasons.io.tables import open_task_items

    task = settings.task
    # Names or words for classes are only given for a classification.
    if task is None and (settings.label_names or label_words):
        task = "classification"
    found_task, data = open_task_items(dataset, settings, task, require_labels=require_labels)
    return found_task, add_training_split(data, found_task, settings)


def open_items(
    dataset: Any, settings: AuditOptions, label_words: Sequence[str] = ()
) -> tuple[list[Item], tuple[str, ...] | None]:
    """Open the items of one split for a prompt.

    Args:
        dataset: Anything that `open_splits` opens.
        settings: The split, the limit, the task and the names of columns.
        label_words: Words for the classes in a prompt; empty if the user gave none.

    Returns:
        The items, with the label -1 if it is unknown, and the names of the classes, None for
        multiple choice.
    """
    from rightreasons.io.logs import select_links
    from rightreasons.io.samples import choose_split
    from rightreasons.models.prompts import Item

    data_name = str(dataset)
    task, splits = open_task_data(dataset, settings, label_words, require_labels=False)
    split = choose_split(splits, settings.split, source_name=data_name)
    rows = limit_rows(splits[split], settings, data_name)
    # Only classes have names. Each multiple-choice item has different choices.
    class_names = None
    fields = CHOICE_FIELDS
    if task == "classification":
        class_names = get_class_names([rows], data_name)
        fields = CLASSIFICATION_FIELDS

    items = []
    for row in rows:
        values = {name: row.get(name) for name in fields}
        item = Item(str(row["id"]), values, int(row.get("label", -1)), links=select_links(row))
        items.append(item)
    return items, class_names


def select_shots(data: Mapping[str, datasets.Dataset], task: str, n_shots: int) -> Examples | None:
    """Return the training items from which the few-shot examples of prompts are selected.

    Args:
        data: Split -> its items.
        task: "classification" or "multiple_choice".
        n_shots: Number of examples of a prompt.

    Returns:
        The items of the split "train". None if prompts have no examples, or if there is no such
        split with labels.
    """
    from rightreasons.models.prompts import Examples

    # Examples show a text with its label, so that unlabeled training texts cannot be used.
    train = data.get("train")
    if n_shots == 0 or train is None or "label" not in train.column_names:
        return None
    names = CLASSIFICATION_FIELDS
    if task == "multiple_choice":
        names = CHOICE_FIELDS
    fields = {name: train[name][:] for name in names if name in train.column_names}
    return Examples.from_columns(train["id"][:], train["label"][:], **fields)


def get_class_names(splits: Iterable[datasets.Dataset], data_name: str) -> tuple[str, ...]:
    """Return the names of the labels of data, from its first split with labels.

    Args:
        splits: Splits of the data.
        data_name: Name of the data, for the error message.

    Raises:
        OptionError: If no split has labels.
    """
    for rows in splits:
        if "label" in rows.column_names:
            return tuple(rows.features["label"].names)
    raise OptionError(
        f"Expected labels in {data_name}, because a language model chooses from the names of the "
        "labels, but got none.",
        option="label_column",
    )


def open_training_split(train: Any, **source: Any) -> datasets.Dataset:
    """Open labeled training texts: the split named train, or the only one.

    Args:
        train: Anything that `open_splits` opens.
        **source: Further options of `open_splits`.

    Raises:
        ValueError: If there are several splits and none is named train.
    """
    from rightreasons.io.tables import open_splits

    splits = open_splits(train, require_labels=True, **source)
    return splits[choose_training_split(splits)]


def choose_training_split(splits: Iterable[str]) -> str:
    """Return the split named train, or the only one.

    Raises:
        ValueError: If there are several splits and none is named train.
    """
    names = list(splits)
    if "train" in names:
        return "train"
    # It is unknown which of several splits the model was trained on.
    if len(names) > 1:
        raise OptionError(
            f"Expected one split, or a split named train, but got {', '.join(names)}.",
            option="train",
        )
    return names[0]


def add_training_split(
    data: Mapping[str, datasets.Dataset], task: str, settings: AuditOptions
) -> Mapping[str, datasets.Dataset]:
    """Return the splits of data, with the training texts of the option `train` as "train".

    Args:
        data: Split -> its rows.
        task: "classification" or "multiple_choice".
        settings: Options of the audit. If `train` is None, the data is returned unchanged.

    Returns:
        Split -> its rows. The labels of the training texts have the numbers of the data.

    Raises:
        ValueError: If the training texts have a label that the data lacks, or several splits and
            none is named train.
    """
    if settings.train is None:
        return data
    rows = open_training_split(settings.train, **settings.source(task))
    for split in data.values():
        if "label" in split.column_names:
            # All splits of the data number their labels in the same way, so that one is enough.
            rows = _renumber_labels(rows, split.features["label"], settings.train)
            break
    return {**data, "train": rows}


def _renumber_labels(rows: datasets.Dataset, label: Any, source: Any) -> datasets.Dataset:
    """Return training texts with their labels in the numbering of the data.

    Args:
        rows: The training texts, whose labels have names.
        label: Type of the labels of the data, a `ClassLabel` with the names in their order, or a
            number for multiple choice.
        source: Path of the training texts, or their table.
    """
    import datasets

    # For multiple choice, labels are positions of choices, which need no new numbers.
    if not isinstance(label, datasets.ClassLabel):
        return rows
    names = rows.features["label"].names
    if names == label.names:
        return rows
    data_name = source if isinstance(source, str) else "the training texts"
    for name in names:
        if name not in label.names:
            raise OptionError(
                f"Expected the labels of the data ({', '.join(label.names)}) in {data_name}, but "
                f"got {name!r}. Use label_names to rename the labels.",
                option="train",
            )
    numbers = [label.str2int(names[number]) if number >= 0 else -1 for number in rows["label"][:]]
    return rows.remove_columns("label").add_column("label", numbers).cast_column("label", label)
