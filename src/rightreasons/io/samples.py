"""Splits and rows to evaluate on.

`choose_split` chooses a split, `select_labeled_items` its labeled items, and `choose_rows` some of
its rows. Every limit on a number of items in this package means the choice of `choose_rows`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.validation import check_count, check_same_length, check_seed

TEST_SPLITS = ("test", "validation", "dev", "valid", "val")
"""Names of the splits to evaluate on, the preferred one first."""

RANK_BYTES = 8
"""Size of the pseudo-random rank of a row."""


def choose_split(
    splits: Mapping[str, datasets.Dataset],
    split: str | None = None,
    *,
    source_name: str,
    preferred: Sequence[str] = TEST_SPLITS,
    takes_any: bool = False,
) -> str:
    """Choose the split of a data set to evaluate on: the named one, or the first with labels.

    Args:
        splits: The items of each split by its name.
        split: The name of the split; None to look for one.
        source_name: What the data is called, for errors.
        preferred: The names to look for, the best one first.
        takes_any: Whether any other split will do if there is none of these. The only split of a data
            set always does.

    Returns:
        `split`, or else the first of the candidates with a labeled item, or else the first candidate.

    Raises:
        ValueError: If there is no split of this name, or no candidate.

    Example:
        >>> labeled, unlabeled = (datasets.Dataset.from_dict({"label": [label]}) for label in (1, -1))
        >>> splits = {"train": labeled, "test": unlabeled, "validation": labeled}
        >>> choose_split(splits, source_name="the data")
        'validation'
    """
    if split is not None:
        if split not in splits:
            raise make_unknown_name_error(f"split of {source_name}", split, splits)
        return split
    names = list(preferred)
    if takes_any or len(splits) == 1:
        names += splits
    candidates = [name for name in dict.fromkeys(names) if name in splits]
    if not candidates:
        raise OptionError(
            f"Expected a split of {source_name} named one of {', '.join(preferred)}, but its "
            f"splits are {', '.join(splits)}. Choose a split with `split`.",
            option="split",
        )
    # Public test splits often come without labels.
    for name in candidates:
        if list_labeled_rows(splits[name]):
            return name
    return candidates[0]


def list_labeled_rows(data: datasets.Dataset) -> list[int]:
    """Return the numbers of the rows that have a label: neither -1 nor None.

    Args:
        data: Items; without a column `label`, none of them has a label.
    """
    if "label" not in data.column_names:
        return []
    rows = []
    for row, label in enumerate(data["label"][:]):
        # Labels may be names, which cannot be compared with 0.
        is_name = isinstance(label, str)
        if is_name or (label is not None and label >= 0):
            rows.append(row)
    return rows


def select_labeled_items(data: datasets.Dataset) -> datasets.Dataset:
    """Return the items that have a label, in their order.

    Args:
        data: Items with a column `label`, -1 or None for none; without it, none has a label.
    """
    return data.select(list_labeled_rows(data))


def limit_items(data: datasets.Dataset, limit: int | None, seed: int) -> datasets.Dataset:
    """Return at most `limit` rows of a data set with a column `id`, see `choose_rows`; None for all."""
    check_seed(seed)
    if limit is None or check_count(limit, "limit") >= len(data):
        return data
    return data.select(choose_rows(data["id"][:], limit, seed=seed))


def choose_rows(
    ids: Sequence[str], limit: int, *, seed: int = 0, groups: Sequence[Any] | None = None
) -> NDArray[np.int64]:
    """Choose a pseudo-random sample of rows that depends only on the seed and their ids.

    Each id has a rank, a hash of seed and id, and the rows with the lowest ranks are chosen. Hence the
    order of the rows does not matter, and a smaller sample is a part of a larger one.

    Args:
        ids: N unique ids.
        limit: Number of rows to choose, at most N.
        seed: The seed of the ranks.
        groups: N names of groups, None for a single row: a group is chosen as a whole, by the rank of
            its name, so that fewer rows may be chosen.

    Returns:
        (limit,) row numbers, ascending; with groups, fewer if the next one is too large, but always
        the first group.

    Example:
        >>> choose_rows(["a", "b", "c", "d"], 2)
        array([2, 3])
        >>> choose_rows(["a", "b", "c", "d", "e"], 4, groups=["x", "y", "x", "y", "y"])
        array([1, 3, 4])
    """
    limit = check_count(limit, "limit", minimum=0)
    check_seed(seed)
    names: Sequence[Any] = ids
    if groups is not None:
        check_same_length(ids=ids, groups=groups)
        # A row without a group is chosen by its own id.
        names = list(groups)
        for row, group in enumerate(groups):
            if group is None:
                names[row] = ids[row]
    ranks = np.array([_compute_rank(name, seed) for name in names], np.uint64)
    order = np.argsort(ranks, kind="stable")
    if groups is not None:
        limit = _limit_to_groups(ranks[order], limit)
    return np.sort(order[:limit])


def _compute_rank(name: Any, seed: int) -> int:
    """Return the pseudo-random rank of a name."""
    # A name may hold half a character.
    key = f"{seed}/{name}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=RANK_BYTES).digest()
    return int.from_bytes(digest, "big")


def _limit_to_groups(ranks: NDArray[np.uint64], limit: int) -> int:
    """Return how many of the first rows form whole groups, and are at most `limit`.

    The first group always counts, even if it is too large.

    Args:
        ranks: (N,) ranks of the rows, ascending; the rows of a group have one rank.
        limit: The maximum number of rows.
    """
    n_rows = len(ranks)
    if not 0 < limit < n_rows:
        return limit
    # The positions after the last row of each group, where the rank changes.
    is_end = np.diff(ranks) > 0
    ends = np.append(np.flatnonzero(is_end) + 1, n_rows)
    # The number of groups that end at the limit or before it.
    n_groups = int(np.searchsorted(ends, limit, side="right"))
    last_group = max(n_groups - 1, 0)
    return int(ends[last_group])
