"""Data maps on disk: one file per end of an epoch, written during training and read for a report."""

from __future__ import annotations

import dataclasses
import os
import zipfile
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.difficulty.data_map import DataMap, data_map
from rightreasons.foundations.atomic_write import write_with

PATTERN = "step-*.npz"


@dataclasses.dataclass(frozen=True, eq=False)
class EpochScores:
    """The scores of all training examples at the end of an epoch.

    Attributes:
        step: The training step at which the epoch ended.
        epoch: The epochs trained by then; fractional where the end of training cut the last one short.
        is_cut: Whether it was cut short so: a run that goes on from this step has no such end of an epoch.
        probability: (N,) probability of the gold label.
        correct: (N,) whether the prediction was right.
        ids: Ids of the N examples; () where the training run had none.
    """

    step: int
    epoch: float
    is_cut: bool
    probability: NDArray[np.float64]
    correct: NDArray[np.bool_]
    ids: tuple[str, ...] = ()


def write_epoch(folder: str | os.PathLike[str], scores: EpochScores) -> None:
    """Write the end of an epoch, replacing an earlier one at the same step."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            np.savez(
                file,
                step=scores.step,
                epoch=scores.epoch,
                is_cut=scores.is_cut,
                probability=scores.probability,
                correct=scores.correct,
                ids=np.array(scores.ids, dtype=np.str_),
            )

    write_with(Path(folder) / _file_name(scores.step), write)


def read_epochs(folder: str | os.PathLike[str], *, skip_damaged: bool = False) -> list[EpochScores]:
    """Read the epochs in a folder, in order; [] where there is none.

    Raises:
        ValueError: If a file is damaged, unless such files are skipped.
    """
    epochs = []
    for file in Path(folder).glob(PATTERN):
        try:
            epochs.append(_read(file))
        except ValueError:
            if not skip_damaged:
                raise
    return sorted(epochs, key=lambda one: one.step)


def forget_others(folder: str | os.PathLike[str], steps: Collection[int]) -> None:
    """Remove the epochs of an earlier run and damaged ones: all that are not of one of the given steps."""
    kept = {_file_name(step) for step in steps}
    for file in Path(folder).glob(PATTERN):
        if file.name not in kept:
            file.unlink()


def _file_name(step: int) -> str:
    return f"step-{step:08d}.npz"


def _read(file: Path) -> EpochScores:
    try:
        with np.load(file, allow_pickle=False) as columns:
            return EpochScores(
                int(columns["step"]),
                float(columns["epoch"]),
                bool(columns["is_cut"]),
                columns["probability"],
                columns["correct"],
                tuple(columns["ids"].tolist()),
            )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error):
        raise ValueError(f"Expected an epoch that DataMapCallback wrote in {file}, but it cannot be read.") from None


def map_of(epochs: Sequence[EpochScores]) -> DataMap:
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
                f"Expected the epochs in {folder} to be of the same examples, but epoch {epochs[0].epoch:g} and epoch "
                f"{one.epoch:g} are not: they come from two runs."
            )
    return map_of(epochs), epochs[0].ids
