"""Data maps on disk: one file an epoch, written while a model is trained and read by whatever compares them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.difficulty.data_map import DataMap, data_map

PATTERN = "epoch-*.npz"


@dataclasses.dataclass(frozen=True, eq=False)
class Epoch:
    """What the end of one epoch gave.

    Attributes:
        epoch: Which one, from 1.
        probability: (N,) probability of the gold label.
        correct: (N,) whether the prediction was right.
        ids: The ids of the N examples; () where the training run gave none.
    """

    epoch: int
    probability: NDArray[np.float64]
    correct: NDArray[np.bool_]
    ids: tuple[str, ...] = ()


def write_epoch(folder: str | os.PathLike[str], found: Epoch) -> None:
    """Write an epoch, in place of an earlier one of the same number."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    np.savez(
        Path(folder) / f"epoch-{found.epoch:03d}.npz",
        epoch=found.epoch,
        probability=found.probability,
        correct=found.correct,
        ids=np.array(found.ids, dtype=np.str_),
    )


def read_epochs(folder: str | os.PathLike[str]) -> list[Epoch]:
    """Read the epochs that a folder holds, the first one first; [] where there is none."""
    epochs = []
    for file in sorted(Path(folder).glob(PATTERN)):
        with np.load(file, allow_pickle=False) as held:
            ids = tuple(held["ids"].tolist()) if "ids" in held else ()
            epochs.append(Epoch(int(held["epoch"]), held["probability"], held["correct"], ids))
    return sorted(epochs, key=lambda one: one.epoch)


def forget_after(folder: str | os.PathLike[str], epoch: float) -> None:
    """Remove the epochs that an earlier run wrote beyond where this one stands."""
    for file in Path(folder).glob(PATTERN):
        with np.load(file, allow_pickle=False) as held:
            stale = int(held["epoch"]) > epoch
        if stale:
            file.unlink()


def map_of(epochs: Sequence[Epoch]) -> DataMap:
    """Make the data map of some epochs of the same examples."""
    return data_map(np.stack([one.probability for one in epochs]), np.stack([one.correct for one in epochs]))


def load_data_map(folder: str | os.PathLike[str]) -> tuple[DataMap, tuple[str, ...]]:
    """Open what `DataMapCallback(..., out=folder)` wrote.

    Args:
        folder: The folder.

    Returns:
        The data map, and the ids of its examples; () where the training run gave none.

    Raises:
        ValueError: If the folder holds no epoch, or epochs of different examples.
    """
    epochs = read_epochs(folder)
    if not epochs:
        raise ValueError(f"Expected a folder that DataMapCallback wrote, but {folder} holds no {PATTERN}.")
    for one in epochs[1:]:
        if len(one.probability) != len(epochs[0].probability) or one.ids != epochs[0].ids:
            raise ValueError(
                f"Expected the epochs in {folder} to be of the same examples, but epoch {epochs[0].epoch} and epoch "
                f"{one.epoch} are not: they come from two runs."
            )
    return map_of(epochs), epochs[0].ids
