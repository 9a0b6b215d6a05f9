"""How the commands about multiple-choice data open it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import datasets

PREFERRED = ("train", "test", "validation", "dev")
"""The splits to look for when none is named: the first of these that has labels."""


def open_items(
    dataset: str,
    config: str | None,
    *,
    split: str | None,
    prompt_column: str | None = None,
    choices_column: str | None = None,
    **options: Any,
) -> tuple[datasets.Dataset, str]:
    """Open a multiple-choice data set and take the labeled items of one split.

    Args:
        dataset: What the user named.
        config: A configuration of the data set.
        split: A split; None for the first of `PREFERRED` with labels, or else any.
        prompt_column: Comma-separated column names.
        choices_column: Comma-separated column names.
        **options: Further options of `open_multiple_choice`.

    Returns:
        The items that have a label, and in words what was taken.
    """
    from rightreasons.data.opening.datasets import open_splits
    from rightreasons.data.opening.splits import choose_split, labeled_items
    from rightreasons.foundations.options import listed, one_or_more

    splits = open_splits(
        dataset,
        config,
        task="multiple_choice",
        prompt_column=listed(prompt_column),
        choices_column=one_or_more(choices_column),
        **options,
    )
    name = choose_split(splits, split, where=dataset, preferred=PREFERRED, others=True)
    items = labeled_items(splits[name])
    if len(items) == 0:
        raise ValueError(f"Expected items with a label in {dataset}, but none of split {name!r} has one.")
    without = len(splits[name]) - len(items)
    return items, name if without == 0 else f"{name} without {without:,} items that have no label"
