"""The group of commands on data sets, and how its commands open the items of a data set.

The commands are in `data.py` and in the files that it imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rightreasons.cli import command_line
from rightreasons.core.errors import OptionError
from rightreasons.io.options import SourceOptions

if TYPE_CHECKING:
    import datasets

DATA = command_line()


def open_items(
    dataset: str,
    source: SourceOptions,
    split: str | None,
    *,
    train_first: bool = False,
    **options: Any,
) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set, and return the labeled items of one split.

    Args:
        dataset: Name, hub id or path of the data set.
        source: Names of its columns, and other options that open it.
        split: Name of the split. If None, the first of test, validation and dev with labeled items,
            or else any other one.
        train_first: Whether the split train is preferred to test, validation and dev.
        **options: Further options of `open_multiple_choice`, such as `limit`.

    Returns:
        The items that have a label, and the name of the split.

    Raises:
        OptionError: If no item has a label.
    """
    from rightreasons.io.samples import TEST_SPLITS, choose_split, select_labeled_items
    from rightreasons.io.tables import open_splits

    splits = open_splits(dataset, **source.source("multiple_choice"), **options)
    # A command on cues prefers the training split, from which a model may learn them.
    preferred: tuple[str, ...] = TEST_SPLITS
    if train_first:
        preferred = ("train", *TEST_SPLITS)
    name = choose_split(splits, split, source_name=dataset, preferred=preferred, takes_any=True)
    # Without a label, it is unknown which choice is correct.
    items = select_labeled_items(splits[name])
    if len(items) == 0:
        raise OptionError(
            f"Expected items with a label in {dataset}, but no item of split {name!r} has a label.",
            option="label_column",
        )
    return items, name
