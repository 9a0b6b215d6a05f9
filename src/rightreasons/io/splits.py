"""Chooses what is asked of a data set: a split, its labeled items, some of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, unknown_name
from rightreasons.core.validation import check_count, check_same_length, check_seed

TEST_SPLITS = ("test", "validation", "dev", "valid", "val")
"""The names of the splits to evaluate on, the preferred one first."""


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
        raise OptionError(
            f"Expected a split of {where} that is called one of {', '.join(preferred)}, but its splits are "
            f"{', '.join(splits)}: name the one to use with `split`.",
            option="split",
        )
    return next((name for name in candidates if has_labels(splits[name])), candidates[0])


def has_labels(data: datasets.Dataset) -> bool:
    """Tell whether any item has a label: public test splits often come with -1 for each."""
    return "label" in data.column_names and any(map(_is_label, data["label"]))


def labeled_items(data: datasets.Dataset) -> datasets.Dataset:
    """Return the items that have a label, in their order.

    Args:
        data: Items with a column `label`, -1 or None for none.
    """
    return data.select([row for row, label in enumerate(data["label"][:]) if _is_label(label)])


def _is_label(label: Any) -> bool:
    return label is not None and (isinstance(label, str) or label >= 0)


def limited(data: datasets.Dataset, limit: int | None, seed: int) -> datasets.Dataset:
    """Keep at most `limit` rows of a data set that has a column `id`, chosen by `chosen_rows`; None keeps them all."""
    check_seed(seed)
    if limit is None or check_count(limit, "limit") >= len(data):
        return data
    return data.select(chosen_rows(data["id"][:], limit, seed=seed))


def chosen_rows(
    ids: Sequence[str], limit: int, *, seed: int = 0, groups: Sequence[Any] | None = None
) -> NDArray[np.int64]:
    """Choose rows by (seed, id): their order, their labels and the other rows do not matter.

    Each id has its own pseudo-random rank; the lowest ranks are kept. Hence a smaller choice is part of a larger one.
    Every limit on a number of items in this package means this choice.

    Args:
        ids: N unique ids.
        limit: How many to keep, at most N.
        seed: The seed of the ranks.
        groups: N names of what belongs together, None for a row on its own: it is kept or left out as one, by the rank
            of its name, so that fewer rows may be chosen.

    Returns:
        (limit,) row numbers, ascending; with groups, fewer where the next one is too large, but always the first.

    Example:
        >>> chosen_rows(["a", "b", "c", "d"], 2)
        array([2, 3])
        >>> chosen_rows(["a", "b", "c", "d", "e"], 4, groups=["x", "y", "x", "y", "y"])
        array([1, 3, 4])
    """
    limit = check_count(limit, "limit", minimum=0)
    check_seed(seed)
    if groups is not None:
        check_same_length(ids=ids, groups=groups)
    names = ids if groups is None else [ids[row] if name is None else name for row, name in enumerate(groups)]
    ranks = np.array(
        [
            int.from_bytes(
                hashlib.blake2b(f"{seed}/{name}".encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
            )
            for name in names
        ],
        dtype=np.uint64,
    )
    order = np.argsort(ranks, kind="stable")
    if groups is not None and 0 < limit < len(order):
        borders = np.flatnonzero(np.diff(ranks[order])) + 1  # a group ends before each of them
        within = borders[borders <= limit]
        limit = int(within[-1] if within.size else borders[0] if borders.size else len(order))
    return np.sort(order[:limit])
