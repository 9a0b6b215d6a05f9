"""Results of items on disk, chunk by chunk, so that a killed run resumes.

A store is a folder of records (`foundations.storing.records`, which also training, reports and data sets use, and
which knows no items): `manifest.json` describes its run, and each `chunk-*.npz` holds results of some items, and each
`failed-*.npz` the reasons why others have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.storing.records import Records

FAILED = "failed"
"""The kind of the chunks that hold reasons, in a column `reason`, why items have no results."""

Column: TypeAlias = "NDArray[Any] | Ragged"


@dataclass(frozen=True, eq=False)
class Chunk:
    """Results of some items of a dataset.

    Attributes:
        items: (n,) the positions of the items in the dataset.
        columns: One row per item under each name: an array (n, ...), or `Ragged` where the rows differ in length.
    """

    items: NDArray[np.int64]
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.items)


def join(chunks: Iterable[Chunk]) -> Chunk:
    """Join chunks into one with its items in the dataset's order; a repeated item is kept once.

    Example:
        >>> late = Chunk(np.array([2]), {"x": np.array([0.3])})
        >>> early = Chunk(np.array([1, 0]), {"x": np.array([0.2, 0.1])})
        >>> join([late, early]).columns["x"]
        array([0.1, 0.2, 0.3])
    """
    parts = [chunk for chunk in chunks if len(chunk)]
    if not parts:
        return Chunk(np.empty(0, np.int64), {})
    items, order = np.unique(np.concatenate([part.items for part in parts]), return_index=True)
    names = list(parts[0].columns)
    columns = {name: _take(_concatenate([part.columns[name] for part in parts]), order) for name in names}
    return Chunk(items, columns)


class Store(Records):
    """The chunks of one run in one folder; a chunk is a record of arrays, as `Records` says.

    Args:
        folder: The folder of the chunks; made if it does not exist.
        run: What the results depend on, as short plain values: fingerprints of model and inputs, the version of the
            code, and every option that changes a result. What another run left in the folder is set aside.

    Raises:
        ValueError: If the folder holds other files, or another command is writing results of another run to it.
    """

    def write(self, chunk: Chunk, kind: str = "chunk") -> None:
        """Write one chunk, whole or not at all; `kind` tells those of results from those of failures."""
        if not len(chunk):
            return
        arrays: dict[str, NDArray[Any]] = {"items": chunk.items}
        for name, column in chunk.columns.items():
            if isinstance(column, Ragged):
                arrays[f"{name}.values"], arrays[f"{name}.offsets"] = column.values, column.offsets
            else:
                arrays[f"{name}.rows"] = column
        # Chunks share no item, so each has a name of its own, whichever process writes it.
        self.write_arrays(f"{kind}-{int(chunk.items.min()):09d}.npz", arrays)

    def read(self, kind: str = "chunk") -> Chunk:
        """Read all chunks of a kind, in the dataset's order; what is damaged or stale is set aside and left out."""
        return join(self._read(path.name) for path in sorted(self.folder.glob(f"{kind}-*.npz")))

    def _read(self, name: str) -> Chunk:
        arrays = self.read_arrays(name)
        if arrays is None:
            return Chunk(np.empty(0, np.int64), {})
        items = arrays.pop("items").astype(np.int64)
        columns: dict[str, Column] = {}
        for key, array in arrays.items():
            stem, kind = key.rsplit(".", 1)
            if kind == "rows":
                columns[stem] = array
            elif kind == "values":
                columns[stem] = Ragged(array, arrays[f"{stem}.offsets"])
        return Chunk(items, columns)


def _concatenate(columns: Sequence[Column]) -> Column:
    if all(isinstance(column, Ragged) for column in columns):
        rows = [column for column in columns if isinstance(column, Ragged)]
        return Ragged.of(np.concatenate([r.values for r in rows]), np.concatenate([r.lengths for r in rows]))
    return np.concatenate([np.asarray(column) for column in columns])


def _take(column: Column, order: NDArray[np.intp]) -> Column:
    return column.take(order) if isinstance(column, Ragged) else column[order]
