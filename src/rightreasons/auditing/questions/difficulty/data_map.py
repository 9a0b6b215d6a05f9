"""What training said of the items that a question looks at: the data map of `DataMapCallback`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.difficulty.data_map import DataMap
from rightreasons.analysis.difficulty.ranking import rank_correlation
from rightreasons.training.watching.data_map_files import load_data_map

Floats = NDArray[np.float64]

MIN_ITEMS = 20
"""With fewer items of the split than this in the map, nothing is compared."""


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedMap:
    """A data map with where it lies.

    Attributes:
        folder: The folder.
        found: The map.
        ids: The ids of its examples; () where the training run gave none.
    """

    folder: str
    found: DataMap
    ids: tuple[str, ...]

    @classmethod
    def of(cls, folder: str) -> OpenedMap:
        """Open a folder."""
        found, ids = load_data_map(folder)
        return cls(folder, found, ids)

    def of_items(self, items: Sequence[int], split_ids: Sequence[str], split_name: str) -> Trained:
        """Find items of a split in the map: by their ids, or by their rows where it has none.

        Args:
            items: Rows of the split.
            split_ids: The ids of all its items.
            split_name: Its name, for errors.

        Raises:
            ValueError: If too few are in the map.
        """
        size = len(self.found.variability)
        if not self.ids and size != len(split_ids):
            raise ValueError(
                f"Expected a data map of the {len(split_ids):,} items of {split_name}, but {self.folder} holds "
                f"{size:,} and no ids: ask about the split that was trained on, without a limit, or give "
                "DataMapCallback the ids."
            )
        row_of = {name: row for row, name in enumerate(self.ids or split_ids)}
        rows = np.array([row_of.get(split_ids[item], -1) for item in items], dtype=np.int64)
        places = np.flatnonzero(rows >= 0)
        if len(places) < MIN_ITEMS:
            first = next(iter(self.ids or split_ids))
            raise ValueError(
                f"Expected a data map with at least {MIN_ITEMS} of the items of {split_name} by their ids, but "
                f"{self.folder} has {len(places)} of {len(rows):,}: its first id is {first!r}, and that of "
                f"{split_name} is {split_ids[0]!r}."
            )
        taken = rows[places]
        return Trained(places, self.found.variability[taken], self.found.confidence[taken], self.found.n_epochs)


@dataclasses.dataclass(frozen=True, eq=False)
class Trained:
    """What training said of some items.

    Attributes:
        places: Which of the items that were asked for the map has.
        variability: Of each of them: the standard deviation over the epochs of the probability of the label.
        confidence: Its mean.
        n_epochs: How many epochs.
    """

    places: NDArray[np.int64]
    variability: Floats
    confidence: Floats
    n_epochs: int

    def measures(self) -> list[tuple[str, Floats, str]]:
        """Return the measures of difficulty that follow: name, values, definition."""
        over = f"of P(label) over {self.n_epochs} epochs of training; {len(self.places):,} items are in the data map."
        return [
            ("Variability in training", self.variability, f"Standard deviation {over}"),
            ("Low confidence in training", -self.confidence, f"Minus the mean {over}"),
        ]

    def to_dict(self, values: Floats, ids: Sequence[str]) -> dict[str, Any]:
        """Return it with its rank correlations with difficulties of the same items."""
        return {
            "n_epochs": self.n_epochs,
            "ids": list(ids),
            "variability": self.variability.tolist(),
            "confidence": self.confidence.tolist(),
            "correlation_with_variability": rank_correlation(values, self.variability).to_dict(),
            "correlation_with_confidence": rank_correlation(values, self.confidence).to_dict(),
        }
