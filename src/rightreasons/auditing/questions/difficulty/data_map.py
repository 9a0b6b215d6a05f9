"""Opens a data map of `DataMapCallback`: how the items of a question fared in training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rightreasons.analysis.difficulty.data_map import DataMap
from rightreasons.measuring.difficulty import TrainingDynamics
from rightreasons.training.watching.data_map_files import load_data_map

MIN_ITEMS = 20
"""Minimum number of items of the split in the map."""


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedMap:
    """A data map with its folder.

    Attributes:
        folder: The folder.
        dynamics: The map.
        ids: The ids of its examples; () where the training run gave none.
    """

    folder: str
    dynamics: DataMap
    ids: tuple[str, ...]

    @classmethod
    def of(cls, folder: str) -> OpenedMap:
        """Open a folder."""
        return cls(folder, *load_data_map(folder))

    def of_items(self, ids: Sequence[str], split_ids: Sequence[str], split_name: str) -> TrainingDynamics:
        """Find items of a split in the map: by their ids, or by their rows where the map has none.

        Args:
            ids: The ids of the items.
            split_ids: The ids of all items of the split, in its order.
            split_name: Its name, for errors.

        Raises:
            ValueError: If too few are in the map.
        """
        size = len(self.dynamics.variability)
        if not self.ids and size != len(split_ids):
            raise ValueError(
                f"Expected a data map of the {len(split_ids):,} items of {split_name}, but {self.folder} holds "
                f"{size:,} and no ids: ask about the split that was trained on, without a limit, or give "
                "DataMapCallback the ids."
            )
        row_of = {name: row for row, name in enumerate(self.ids or split_ids)}
        rows = np.array([row_of.get(name, -1) for name in ids], dtype=np.int64)
        places = np.flatnonzero(rows >= 0)
        if len(places) < MIN_ITEMS:
            first = next(iter(self.ids or split_ids))
            raise ValueError(
                f"Expected a data map with at least {MIN_ITEMS} of the items of {split_name} by their ids, but "
                f"{self.folder} has {len(places)} of {len(rows):,}: its first id is {first!r}, and that of "
                f"{split_name} is {split_ids[0]!r}."
            )
        known = rows[places]
        dynamics = self.dynamics
        return TrainingDynamics(places, dynamics.variability[known], dynamics.confidence[known], dynamics.n_epochs)
