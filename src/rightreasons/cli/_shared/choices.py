"""How the commands about multiple-choice data open it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    import datasets

    from rightreasons.data.opening.options import SourceOptions


def open_items(
    dataset: str, source: SourceOptions, split: str | None, *, train_first: bool = False, **options: Any
) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set and take the labeled items of one split.

    Args:
        dataset: What the user named.
        source: Where it is, and what its columns mean.
        split: A split; None for the first of test, validation and dev with labels, or else any.
        train_first: Whether train comes before these.
        **options: Further options of `open_multiple_choice`.

    Returns:
        The items that have a label, and in words what was taken.
    """
    from rightreasons.data.opening.datasets import open_splits
    from rightreasons.data.opening.splits import TEST_SPLITS, choose_split, labeled_items

    splits = open_splits(dataset, **source.source("multiple_choice"), **options)
    preferred = ("train", *TEST_SPLITS) if train_first else TEST_SPLITS
    name = choose_split(splits, split, where=dataset, preferred=preferred, others=True)
    items = labeled_items(splits[name])
    if len(items) == 0:
        raise ValueError(f"Expected items with a label in {dataset}, but none of split {name!r} has one.")
    without = len(splits[name]) - len(items)
    left_out = counted(without, "item that has", "items that have")
    return items, name if without == 0 else f"{name} without {left_out} no label"


def easy_flags(items: datasets.Dataset, subsets: Path | None) -> list[bool | None]:
    """Return whether each item is Easy; None for one that is in neither subset.

    Args:
        items: The items; without subsets, their column `easy` says it.
        subsets: easy_hard_subsets.json, as `rightreasons split` writes it.
    """
    from rightreasons.foundations.bounds import read_json

    if subsets is None:
        if "easy" not in items.column_names:
            raise ValueError(
                "Expected a column `easy` that says whether an item is Easy, or --subsets, but the data has "
                f"{', '.join(items.column_names)}."
            )
        return [bool(flag) for flag in items["easy"][:]]
    known = read_json(subsets)
    if not isinstance(known, dict) or not all(isinstance(known.get(name), list) for name in ("easy", "hard")):
        raise ValueError(
            f"Expected the lists `easy` and `hard` in {subsets.name}, as `rightreasons split` writes them."
        )
    easy, hard = ({str(name) for name in known[name]} for name in ("easy", "hard"))
    flags = [True if str(name) in easy else False if str(name) in hard else None for name in items["id"][:]]
    if all(flag is None for flag in flags):
        raise ValueError(f"Expected ids of the items in {subsets.name}, but it has none of them.")
    return flags
