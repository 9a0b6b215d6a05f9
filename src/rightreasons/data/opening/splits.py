"""Opens every split of a user's data set, chooses one of them, and takes its labeled items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets

from rightreasons.data.opening.datasets import open_dataset, open_multiple_choice
from rightreasons.data.opening.tables import splits_of
from rightreasons.foundations.choices import TASKS
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_one_of, unknown_name

TEST_SPLITS = ("test", "validation", "dev", "valid", "val")
"""The names of the splits to evaluate on, the preferred one first."""


@checks_kinds
def open_splits(
    name_or_path: Any, config: str | None = None, *, task: str = "classification", **options: Any
) -> dict[str, datasets.Dataset]:
    """Open every split of a data set in the common schema of a task.

    Args:
        name_or_path: As in `open_dataset`.
        config: A configuration of the data set.
        task: "classification" (`open_dataset`) or "multiple_choice" (`open_multiple_choice`).
        **options: Further options of that function, apart from `split`.

    Returns:
        The items of each split by its name; a table without splits is called "data", unless it has a name.

    Raises:
        TypeError: As `open_dataset` and `open_multiple_choice`.
        ValueError: As these, or if there is no such task.

    Example:
        >>> rows = datasets.Dataset.from_dict({"review": ["Fine.", "Dull."], "label": ["up", "down"]})
        >>> {name: items["label"][:] for name, items in open_splits({"train": rows, "test": rows}).items()}
        {'train': [1, 0], 'test': [1, 0]}
        >>> list(open_splits(rows))
        ['data']
    """
    check_one_of(task, TASKS, "task")
    opened = open_multiple_choice if task == "multiple_choice" else open_dataset
    return splits_of(opened(name_or_path, config, **options))


@checks_kinds
def choose_split(
    splits: Mapping[str, datasets.Dataset],
    split: str | None = None,
    *,
    where: str,
    preferred: Sequence[str] = TEST_SPLITS,
    others: bool = False,
) -> str:
    """Choose one split of a data set.

    Args:
        splits: The items of each split by its name.
        split: The name of the split; None to look for one.
        where: What the data is called, for errors.
        preferred: The names to look for, the best one first.
        others: Whether any other split will do where there is none of these. The only split of a data set always does.

    Returns:
        `split`, or else the first of the candidates with a labeled item, or else the first candidate.

    Raises:
        ValueError: If there is no split of this name, or no candidate.

    Example:
        >>> some, none = (datasets.Dataset.from_dict({"label": [label]}) for label in (1, -1))
        >>> choose_split({"train": some, "test": none, "validation": some}, where="the data")
        'validation'
    """
    if split is not None:
        if split not in splits:
            raise unknown_name(f"split of {where}", split, splits)
        return split
    candidates = [name for name in preferred if name in splits]
    if others or len(splits) == 1:
        candidates += [name for name in splits if name not in preferred]
    if not candidates:
        raise ValueError(
            f"Expected a split of {where} that is called one of {', '.join(preferred)}, but its splits are "
            f"{', '.join(splits)}: name the one to use with `split`."
        )
    return next((name for name in candidates if has_labels(splits[name])), candidates[0])


def has_labels(data: datasets.Dataset) -> bool:
    """Tell whether any item has a label: public test splits often come with -1 for each."""
    return "label" in data.column_names and any(label >= 0 for label in data["label"])


@checks_kinds
def labeled_items(data: datasets.Dataset) -> datasets.Dataset:
    """Return the items that have a label, in their order.

    Args:
        data: Items with a column `label`, -1 for none.
    """
    return data.select([row for row, label in enumerate(data["label"][:]) if label >= 0])
