"""How much usable information an input has about its label: V-information, item by item."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from rightreasons.core.arrays import as_floats
from rightreasons.core.intervals import Interval, bootstrap_mean
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_labels, check_logits, check_same_length


@dataclasses.dataclass(frozen=True, eq=False)
class VInformation(Result):
    """Usable information of N inputs about their labels, in bits.

    Attributes:
        pointwise: (N,) pointwise V-information; below 0 where the input misleads the model. Lower is harder.
        information: Their mean, the V-information of the inputs about the labels.
        interval: Its bootstrap interval; None where all inputs have the same information, as one alone has.
        entropy: Mean of -log2 of the probability of the label without the input, the V-entropy of the labels.
        conditional_entropy: The same with the input; information = entropy - conditional_entropy.
        n_items: N.
        n_misled: Items below 0.
    """

    pointwise: NDArray[np.float64]
    information: float
    interval: Interval | None
    entropy: float
    conditional_entropy: float
    n_items: int
    n_misled: int


def v_information(
    with_input: Any,
    without_input: Any,
    references: Any,
    *,
    scores: str = "logits",
    resampling: Resampling = Resampling(),
) -> VInformation:
    r"""Measure how much more probable the input makes its label, for a model of a family V.

    \[ PVI(x_i \to y_i) = -\log_2 g'(y_i \mid \varnothing) + \log_2 g(y_i \mid x_i), \quad
       I_V(X \to Y) = \frac1n \sum_i PVI(x_i \to y_i) \]

    where g is the model that reads the input, and g' one of the same family that was trained to predict the label from
    an empty input. Of a prompted model that is not trained, g' is the same model with an empty input.

    Args:
        with_input: (N, K) scores of the classes given the input.
        without_input: (N, K) scores of the classes given an empty input; or (K,), the same for all items.
        references: (N,) labels.
        scores: "logits" (default), "probabilities" or "log_probabilities".
        resampling: Level, resamples and seed of the interval.

    Returns:
        A `VInformation`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a shape, a length or a label is wrong, or a label has probability 0.

    References:
        Ethayarajh, Choi, Swayamdipta (2022), Understanding Dataset Difficulty with V-Usable Information, equations 2 to
        4 and algorithm 1. Xu et al. (2020), A Theory of Usable Information under Computational Constraints.

    Example:
        The label is twice, and half, as probable with the input as without.

        >>> with_input = [[0.8, 0.2], [0.8, 0.2]]
        >>> found = v_information(with_input, [0.4, 0.6], [0, 0], scores="probabilities")
        >>> found.pointwise.round(6).tolist(), round(found.information, 6)
        ([1.0, 1.0], 1.0)
    """
    labels = check_labels(references, name="references")
    tables = []
    for name, given in (("with_input", with_input), ("without_input", without_input)):
        table = as_floats(given, name)
        if name == "without_input" and table.ndim == 1:
            table = np.tile(table, (len(labels), 1))
        if table.ndim != 2:
            raise ValueError(f"Expected `{name}` of shape (N, K), but got shape {table.shape}.")
        tables.append(log_softmax(np.asarray(check_logits(table, scores=scores, name=name)), axis=1))
    check_same_length(with_input=tables[0], without_input=tables[1], references=labels)
    if tables[0].shape[1] != tables[1].shape[1]:
        counts = " and ".join(str(table.shape[1]) for table in tables)
        raise ValueError(f"Expected as many classes with the input as without, but got {counts}.")
    check_labels(labels, tables[0].shape[1], name="references")
    rows = np.arange(len(labels))
    with_x, without = (table[rows, labels] / np.log(2) for table in tables)
    bad = np.flatnonzero(~np.isfinite(with_x - without))
    if bad.size:
        raise ValueError(
            f"Expected labels of a probability above 0, but that of item {bad[0]} is 0, and its information infinite."
        )
    pointwise = with_x - without
    return VInformation(
        pointwise=pointwise,
        information=float(pointwise.mean()),
        interval=bootstrap_mean(pointwise, resampling=resampling) if np.ptp(pointwise) > 0 else None,
        entropy=float(abs(-without.mean())),
        conditional_entropy=float(abs(-with_x.mean())),
        n_items=len(labels),
        n_misled=int(np.count_nonzero(pointwise < 0)),
    )
