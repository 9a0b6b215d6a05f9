"""Splits and rows to evaluate on.

`choose_split` chooses a split, `select_labeled_items` its labeled items, and `choose_rows` some of
its rows. Every limit on a number of items in this package means the choice of `choose_rows`, and
`sort_by_id` puts the rows of an audit into an order that is not that of the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.validation import check_count, check_same_length, check_seed
from rightreasons.io.columns import get_arrow_column

TEST_SPLITS = ("test", "validation", "dev", "valid", "val")
"""Names of the splits to evaluate on, the preferred one first."""

RANK_BYTES = 8
"""Size of the pseudo-random rank of a row."""

MAX_SORTED_BYTES = 2**31
"""Largest table whose rows are copied in another order; Arrow cannot index more text in a column."""


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
        source_name: Name of the data, for error messages.
        preferred: The names to look for, the best one first.
        takes_any: Whether other splits are candidates after the preferred ones. The only split of a data
            set always is.

    Returns:
        `split`, or else the first candidate with a labeled item, or else the first candidate.

    Raises:
        ValueError: If there is no split with the name `split`, or no candidate.

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
        # Labels may be class names, which cannot be compared with 0.
        is_name = isinstance(label, str)
        if is_name or (label is not None and label >= 0):
            rows.append(row)
    return rows


def select_labeled_items(data: datasets.Dataset) -> datasets.Dataset:
    """Return the items that have a label, in their order.

    Args:
        data: Items with a column `label`, -1 or None for items without a label. Without this column, no
            item has a label.
    """
    return data.select(list_labeled_rows(data))


def sort_by_id(data: datasets.Dataset) -> datasets.Dataset:
    """Return rows in the order of their ids, as `argsort_by_id` has it.

    Args:
        data: Rows with a column `id` of unique strings or numbers.

    Example:
        >>> sort_by_id(datasets.Dataset.from_dict({"id": ["b", "10", "9"]}))["id"][:]
        ['9', 'b', '10']
    """
    order = argsort_by_id(data)
    # Most files are in this order already, and need no copy.
    file_order = np.arange(len(data))
    if np.array_equal(order, file_order):
        return data
    if data.data.nbytes > MAX_SORTED_BYTES:
        return data.select(order)
    # Rows that `select` chooses are slow to read. A sorted copy is as fast as the table itself.
    table = data.with_format("arrow")[:].take(order)
    # Without a fingerprint, datasets would pickle and digest the whole table.
    fingerprint = datasets.fingerprint.generate_random_fingerprint()
    return datasets.Dataset(table, info=data.info, split=data.split, fingerprint=fingerprint)


def argsort_by_id(data: datasets.Dataset) -> NDArray[np.int64]:
    """Return the (N,) positions of rows in the order of their ids.

    Short ids come first, and ids of one length are sorted by their characters. So "9" comes before
    "10", and numbered rows keep their order. Rows without ids have row numbers as ids, hence their
    order is that of the file.

    Args:
        data: Rows with a column `id` of unique strings or numbers.
    """
    ids = get_arrow_column(data, "id").cast(pa.string())
    lengths = pc.binary_length(ids)
    table = pa.table({"length": lengths, "id": ids})
    order = pc.sort_indices(
        table,
        sort_keys=[("length", "ascending"), ("id", "ascending")],
    )
    positions = order.to_numpy()
    return np.asarray(positions, dtype=np.int64)


def name_groups(tables: Sequence[datasets.Dataset], column: str) -> dict[Any, str]:
    """Return a name of each group that does not depend on the names in the data: its first id.

    Groups are sampled by these names, so that other names in the data select the same items.

    Args:
        tables: Splits with a column `id`. A group that occurs in several of them is named by the first
            of them.
        column: Column of groups, which a table may lack. None and "" are no groups.

    Returns:
        Group -> the first id of its rows, in the order of `argsort_by_id`.

    Example:
        >>> rows = {"id": ["10", "9", "8"], "page": ["b", "b", "a"]}
        >>> name_groups([datasets.Dataset.from_dict(rows)], "page")
        {'a': '8', 'b': '9'}
    """
    name_by_group: dict[Any, str] = {}
    for table in tables:
        if column not in table.column_names:
            continue
        ids = table["id"][:]
        groups = table[column][:]
        for row in argsort_by_id(table).tolist():
            group = groups[row]
            # The first row of a group in this order is the one that names it.
            if group not in (None, ""):
                name_by_group.setdefault(group, str(ids[row]))
    return name_by_group


def limit_items(data: datasets.Dataset, limit: int | None, seed: int) -> datasets.Dataset:
    """Return the sample of at most `limit` rows that `choose_rows` chooses by the column `id`, or all if None."""
    check_seed(seed)
    if limit is None or check_count(limit, "limit") >= len(data):
        return data
    return data.select(choose_rows(data["id"][:], limit, seed=seed))


def choose_rows(
    ids: Sequence[str], limit: int, *, seed: int = 0, groups: Sequence[Any] | None = None
) -> NDArray[np.int64]:
    """Choose a pseudo-random sample of rows that depends only on the seed and their ids.

    Each id has a rank, a hash of the seed and the id, and the rows with the lowest ranks are chosen. Hence
    the order of the rows does not matter, and a larger sample contains every smaller one.

    Args:
        ids: N unique ids.
        limit: Number of rows to choose, at most N.
        seed: The seed of the ranks.
        groups: N names of groups, None for a row without a group. A group is chosen as a whole, by the
            rank of its name. If None, rows have no groups.

    Returns:
        (limit,) row indices, ascending. With groups there are fewer if the next group does not fit, but
        the first group is always included.

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
    """Return the pseudo-random rank of a name: its hash with the seed."""
    # Half of a surrogate pair in a name cannot be encoded otherwise.
    key = f"{seed}/{name}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(key, digest_size=RANK_BYTES).digest()
    return int.from_bytes(digest, "big")


def _limit_to_groups(ranks: NDArray[np.uint64], limit: int) -> int:
    """Return the largest number of leading rows, up to `limit`, that consists of whole groups.

    The first group is always included, even if it has more rows.

    Args:
        ranks: (N,) ranks of the rows, ascending; the rows of a group have the same rank.
        limit: The maximum number of rows.
    """
    n_rows = len(ranks)
    if not 0 < limit < n_rows:
        return limit
    # A group ends where the rank changes. These are the numbers of rows up to each end.
    is_end = np.diff(ranks) > 0
    ends = np.append(np.flatnonzero(is_end) + 1, n_rows)
    # The number of groups that fit in the limit.
    n_groups = int(np.searchsorted(ends, limit, side="right"))
    last_group = max(n_groups - 1, 0)
    return int(ends[last_group])
