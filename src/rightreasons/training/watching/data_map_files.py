"""Data maps on disk: one file per epoch, written during training and read for a report."""

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
    """The scores of all training examples after one epoch.

    Attributes:
        epoch: Its number, from 1.
        probability: (N,) probability of the gold label.
        correct: (N,) whether the prediction was right.
        ids: Ids of the N examples; () where the training run had none.
    """

    epoch: int
    probability: NDArray[np.float64]
    correct: NDArray[np.bool_]
    ids: tuple[str, ...] = ()


def write_epoch(folder: str | os.PathLike[str], scores: Epoch) -> None:
    """Write an epoch, replacing an earlier one of the same number."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    np.savez(
        Path(folder) / f"epoch-{scores.epoch:03d}.npz",
        epoch=scores.epoch,
        probability=scores.probability,
        correct=scores.correct,
        ids=np.array(scores.ids, dtype=np.str_),
    )


def read_epochs(folder: str | os.PathLike[str]) -> list[Epoch]:
    """Read the epochs in a folder, in order; [] where there is none."""
    epochs = []
    for file in sorted(Path(folder).glob(PATTERN)):
        with np.load(file, allow_pickle=False) as columns:
            ids = tuple(columns["ids"].tolist()) if "ids" in columns else ()
            epochs.append(Epoch(int(columns["epoch"]), columns["probability"], columns["correct"], ids))
    return sorted(epochs, key=lambda one: one.epoch)


def forget_after(folder: str | os.PathLike[str], epoch: float) -> None:
    """Remove the epochs of an earlier run after the given one."""
    for file in Path(folder).glob(PATTERN):
        with np.load(file, allow_pickle=False) as columns:
            stale = int(columns["epoch"]) > epoch
        if stale:
            file.unlink()


def map_of(epochs: Sequence[Epoch]) -> DataMap:
    """Compute the data map of some epochs of the same examples."""
    return data_map(np.stack([one.probability for one in epochs]), np.stack([one.correct for one in epochs]))


def load_data_map(folder: str | os.PathLike[str]) -> tuple[DataMap, tuple[str, ...]]:
    """Read the folder that `DataMapCallback(..., out=folder)` wrote.

    Args:
        folder: The folder.

    Returns:
        The data map, and the ids of its examples; () where the training run had none.

    Raises:
        ValueError: If the folder has no epoch, or epochs of different examples.
    """
    epochs = read_epochs(folder)
    if not epochs:
        raise ValueError(f"Expected a folder that DataMapCallback wrote, but {folder} has no {PATTERN}.")
    for one in epochs[1:]:
        if len(one.probability) != len(epochs[0].probability) or one.ids != epochs[0].ids:
            raise ValueError(
                f"Expected the epochs in {folder} to be of the same examples, but epoch {epochs[0].epoch} and epoch "
                f"{one.epoch} are not: they come from two runs."
            )
    return map_of(epochs), epochs[0].ids
