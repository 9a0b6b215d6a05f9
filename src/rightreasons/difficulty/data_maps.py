"""Data maps: which examples a model finds easy, ambiguous or hard while it learns, and their files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Result, as_floats, to_numpy
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.store import Records, digest_of_arrays
from rightreasons.difficulty.ranking import rank_correlation

PATTERN = "step-*.npz"
"""Files of a data map on disk: one per end of an epoch, written during training and read for a report."""


@dataclasses.dataclass(frozen=True, eq=False)
class DataMap(Result):
    """Training dynamics of N examples over E epochs.

    Attributes:
        confidence: (N,) mean over the epochs of the probability of the gold label, in [0, 1].
        variability: (N,) its standard deviation over the epochs, in [0, 0.5].
        correctness: (N,) share of the epochs in which the prediction is the gold label, in [0, 1].
        n_epochs: E.
    """

    confidence: NDArray[np.float64]
    variability: NDArray[np.float64]
    correctness: NDArray[np.float64]
    n_epochs: int


def data_map(gold_probabilities: Any, correct: Any) -> DataMap:
    r"""Map training examples by the model's predictions, epoch by epoch.

    \[ \mu_i = \frac1E \sum_e p_e(y_i \mid x_i), \quad
       \sigma_i = \sqrt{\frac1E \sum_e (p_e(y_i \mid x_i) - \mu_i)^2}, \quad
       c_i = \frac1E \sum_e 1[\hat y_{ei} = y_i] \]

    Args:
        gold_probabilities: (E, N) probability of the gold label at the end of each epoch, in [0, 1].
        correct: (E, N) whether the prediction was right.

    Returns:
        `DataMap`.

    Raises:
        ValueError: If the shapes differ, something is empty or a probability is out of range.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with Training Dynamics",
        section 2.

    Example:
        >>> dynamics = data_map([[0.9, 0.2], [0.7, 0.6]], [[True, False], [True, True]])
        >>> dynamics.confidence.round(6).tolist(), dynamics.variability.round(6).tolist(), dynamics.correctness.tolist()
        ([0.8, 0.4], [0.1, 0.2], [1.0, 0.5])
    """
    probability = as_floats(gold_probabilities, "gold_probabilities")
    right = to_numpy(correct, "correct")
    right = as_floats(right.astype(np.float64) if right.dtype.kind == "b" else right, "correct")
    if probability.ndim != 2 or probability.size == 0:
        raise ValueError(f"Expected `gold_probabilities` of shape (E, N), but got shape {probability.shape}.")
    if right.shape != probability.shape:
        raise ValueError(
            f"Expected `correct` of the shape of `gold_probabilities`, {probability.shape}, but got {right.shape}."
        )
    for name, values in (("gold_probabilities", probability), ("correct", right)):
        outside = np.argwhere(~((values >= 0) & (values <= 1)))
        if len(outside):
            epoch, example = outside[0].tolist()
            raise ValueError(
                f"Expected values between 0 and 1 in `{name}`, but example {example} of epoch {epoch} has "
                f"{values[epoch, example]}."
            )
    return DataMap(probability.mean(axis=0), probability.std(axis=0), right.mean(axis=0), len(probability))


@dataclasses.dataclass(frozen=True, eq=False)
class EpochScores:
    """The scores of all training examples at the end of an epoch.

    Attributes:
        step: The training step at which the epoch ended.
        epoch: The epochs trained by then; fractional where the end of training cut the last one short.
        probability: (N,) probability of the gold label.
        correct: (N,) whether the prediction was right.
    """

    step: int
    epoch: float
    probability: NDArray[np.float64]
    correct: NDArray[np.bool_]

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"step-{self.step:08d}.npz"


def map_run(ids: Sequence[str], labels: NDArray[np.int64]) -> dict[str, Any]:
    """Return what the records of a data map are of: the ids of its examples, () for none, and their labels."""
    return {"kind": "data map", "ids": list(ids), "labels": digest_of_arrays({"labels": labels})}


def write_epoch(records: Records, scores: EpochScores) -> None:
    """Write the end of an epoch, replacing an earlier one at the same step."""
    columns = {name: np.asarray(value) for name, value in vars(scores).items()}
    records.write_arrays(scores.file, columns)


def read_epochs(records: Records) -> list[EpochScores]:
    """Read the epochs in a folder, in order; damaged ones are set aside."""
    arrays = (records.read_arrays(file.name) for file in sorted(records.folder.glob(PATTERN)))
    return [
        EpochScores(int(each["step"]), float(each["epoch"]), each["probability"], each["correct"])
        for each in arrays
        if each is not None
    ]


def map_of(epochs: Sequence[EpochScores]) -> DataMap:
    """Compute the data map of some epochs of the same examples."""
    return data_map(np.stack([each.probability for each in epochs]), np.stack([each.correct for each in epochs]))


def load_data_map(folder: str | os.PathLike[str]) -> tuple[DataMap, tuple[str, ...]]:
    """Read the folder that `DataMapCallback(..., out=folder)` wrote.

    Args:
        folder: The folder.

    Returns:
        The data map, and the ids of its examples; () where the training run had none.

    Raises:
        ValueError: If the folder has no epoch, or a damaged one.
    """
    n_files = len(list(Path(folder).glob(PATTERN)))
    if not n_files:
        raise ValueError(f"Expected a folder that DataMapCallback wrote, but {folder} has no {PATTERN}.")
    records = Records.open(folder)
    epochs = read_epochs(records)
    if len(epochs) < n_files:
        raise ValueError(
            f"Expected the epochs that DataMapCallback wrote in {folder}, but {n_files - len(epochs)} of {n_files} "
            "cannot be read."
        )
    return map_of(epochs), tuple(records.run["ids"])


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingDynamics:
    """How some of the measured items fared in training.

    Attributes:
        places: (m,) which of the measured items these are.
        variability: (m,) standard deviation over the epochs of the probability of the label.
        confidence: (m,) its mean.
        n_epochs: Number of epochs.
    """

    places: NDArray[np.int64]
    variability: NDArray[np.float64]
    confidence: NDArray[np.float64]
    n_epochs: int

    @classmethod
    def of_items(cls, folder: str, ids: Sequence[str], split_ids: Sequence[str], split_name: str) -> TrainingDynamics:
        """Find items of a split in a data map: by their ids, or by their rows where the map has none.

        Args:
            folder: The folder of the data map.
            ids: The ids of the items.
            split_ids: The ids of all items of the split, in its order.
            split_name: Its name, for errors.

        Raises:
            ValueError: If the folder has no data map, or too few of the items are in it.
        """
        dynamics, map_ids = load_data_map(folder)
        size = len(dynamics.variability)
        if not map_ids and size != len(split_ids):
            raise ValueError(
                f"Expected a data map of the {len(split_ids):,} items of {split_name}, but {folder} holds {size:,} and "
                "no ids: ask about the split that was trained on, without a limit, or give DataMapCallback the ids."
            )
        row_of = {name: row for row, name in enumerate(map_ids or split_ids)}
        rows = np.array([row_of.get(name, -1) for name in ids], dtype=np.int64)
        places = np.flatnonzero(rows >= 0)
        if len(places) < MIN_ITEMS:
            raise ValueError(
                f"Expected a data map with at least {MIN_ITEMS} of the items of {split_name} by their ids, but "
                f"{folder} has {len(places)} of {len(rows):,}: its first id is {next(iter(row_of))!r}, and that of "
                f"{split_name} is {split_ids[0]!r}."
            )
        known = rows[places]
        return cls(places, dynamics.variability[known], dynamics.confidence[known], dynamics.n_epochs)

    def to_dict(self, ids: Sequence[str], eigenvalues: NDArray[np.float64]) -> dict[str, Any]:
        """Return it as plain values, with its rank correlations with the (N,) eigenvalues of the measured items."""
        values = eigenvalues[self.places]
        return {
            "n_epochs": self.n_epochs,
            "ids": [ids[place] for place in self.places],
            "variability": self.variability.tolist(),
            "confidence": self.confidence.tolist(),
            "correlation_with_variability": rank_correlation(values, self.variability).to_dict(),
            "correlation_with_confidence": rank_correlation(values, self.confidence).to_dict(),
        }
