"""Data maps: which examples a model finds easy, ambiguous or hard while it learns."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.arrays import as_floats, to_numpy
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_fraction, check_one_of

REGIONS = ("easy", "ambiguous", "hard")


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

    def region(self, name: str, *, fraction: float = 1 / 3) -> NDArray[np.int64]:
        """Return the examples of a region, the most typical first.

        Args:
            name: "easy" (highest confidence), "hard" (lowest confidence) or "ambiguous" (highest variability).
            fraction: The share of all examples that makes a region, in (0, 1]; default a third, as in the paper.

        Returns:
            The positions of floor(fraction · N) examples, as in the authors' code, and of one at least; regions may
            overlap.
        """
        check_one_of(name, REGIONS, "name")
        check_fraction(fraction, "fraction")
        key = {"easy": -self.confidence, "hard": self.confidence, "ambiguous": -self.variability}[name]
        size = max(1, int(round(fraction * len(key), 9)))
        return np.argsort(key, kind="stable")[:size].astype(np.int64)


@checks_kinds
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
        >>> dynamics.region("hard", fraction=0.5).tolist()
        [1]
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
    inside = (probability >= 0) & (probability <= 1)
    if not inside.all():
        epoch, example = (int(index[0]) for index in np.nonzero(~inside))
        raise ValueError(
            f"Expected probabilities between 0 and 1 in `gold_probabilities`, but example {example} of epoch {epoch} "
            f"has {probability[epoch, example]}."
        )
    return DataMap(probability.mean(axis=0), probability.std(axis=0), right.mean(axis=0), len(probability))
