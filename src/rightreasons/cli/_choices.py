"""How the commands about multiple-choice data open it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

PREFERRED = ("train", "test", "validation", "dev")
"""The splits that are looked at when none is named: the first of these that has labels."""


def open_items(
    dataset: str,
    config: str | None,
    *,
    split: str | None,
    prompt_column: str | None = None,
    choices_column: str | None = None,
    **options: Any,
) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set and take the labelled items of one split.

    Args:
        dataset: What the user named.
        config: A configuration of it.
        split: A split; None for the first of `PREFERRED` with labels, or any.
        prompt_column: Columns, parted by commas.
        choices_column: Columns, parted by commas.
        **options: Further options of `open_multiple_choice`.

    Returns:
        The items that have a label, and in words what was taken.
    """
    import datasets as hf

    from rightreasons.data.opening.datasets import open_multiple_choice

    found = open_multiple_choice(
        dataset, config, prompt_column=listed(prompt_column), choices_column=one_or_more(choices_column), **options
    )
    if isinstance(found, hf.Dataset):
        found = hf.DatasetDict({str(found.split or "all items"): found})
    name, data = split_of(found, split, dataset)
    labelled = data.select([row for row, label in enumerate(data["label"][:]) if label >= 0])
    if len(labelled) == 0:
        raise ValueError(f"Expected items with a label in {dataset}, but none of split {name!r} has one.")
    without = len(data) - len(labelled)
    return labelled, name if without == 0 else f"{name} without {without:,} items that have no label"


def split_of(found: Mapping[str, datasets.Dataset], split: str | None, where: str) -> tuple[str, datasets.Dataset]:
    """Choose a split: the named one, or the first of `PREFERRED` that has labels."""
    from rightreasons.foundations.validation import unknown_name

    if split is not None:
        if split not in found:
            raise unknown_name(f"split of {where}", split, found)
        return split, found[split]
    order = [*(name for name in PREFERRED if name in found), *(name for name in found if name not in PREFERRED)]
    for name in order:
        if any(label >= 0 for label in found[name]["label"]):
            return name, found[name]
    return order[0], found[order[0]]


def listed(names: str | None) -> list[str] | None:
    """Read names that are parted by commas."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def one_or_more(names: str | None) -> str | list[str] | None:
    """Read one name, or several that are parted by commas."""
    found = listed(names)
    return found[0] if found is not None and len(found) == 1 else found
