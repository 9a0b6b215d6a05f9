"""How well a detector finds shortcuts where the planted ones are known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, cluster_wilson
from rightreasons.foundations.arrays import ingest, to_numpy
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import as_ragged, check_same_length


@dataclasses.dataclass(frozen=True)
class DetectionQuality(Result):
    """How well found tokens agree with planted ones. Shares in [0, 1], higher is better.

    Attributes:
        precision: Share of the found tokens that are planted; None where none is found.
        recall: Share of the planted tokens that are found; None where none is planted.
        f1: Their harmonic mean; None where one of them is None, 0 where both are 0.
        precision_interval: Its interval with texts as clusters (`cluster_wilson`); None where precision is.
        recall_interval: The same of recall.
        text_recall: Share of the texts with a planted token in which at least one is found; None where none has one.
        n_texts: Number of texts.
        n_found: Number of found tokens.
        n_planted: Number of planted tokens.
        n_both: Number of tokens that are both.
    """

    precision: float | None
    recall: float | None
    f1: float | None
    precision_interval: Interval | None
    recall_interval: Interval | None
    text_recall: float | None
    n_texts: int
    n_found: int
    n_planted: int
    n_both: int


@checks_kinds
def detection_quality(
    found: Any,
    planted: Any,
    *,
    resampling: Resampling = Resampling(),
) -> DetectionQuality:
    r"""Compare the tokens that a detector finds with the tokens that were planted.

    \[ precision = \frac{|found \cap planted|}{|found|}, \quad recall = \frac{|found \cap planted|}{|planted|} \]

    with tokens counted over all texts.

    Args:
        found: N lists of flags, one per token: whether the detector found it.
        planted: N lists of flags of the same lengths: whether it was planted.
        resampling: Its level is that of the intervals.

    Returns:
        `DetectionQuality`.

    Raises:
        TypeError: If flags are not True, False, 0 or 1.
        ValueError: If lengths differ or there are no texts.

    Example:
        >>> quality = detection_quality([[1, 1, 0], [0, 1]], [[1, 0, 0], [1, 0]])
        >>> round(quality.precision, 4), quality.recall, quality.text_recall
        (0.3333, 0.5, 0.5)
    """
    one, two = _flags(found, "found"), _flags(planted, "planted")
    check_same_length(found=one, planted=two)
    if len(one) == 0:
        raise ValueError("Expected at least one text, but `found` is empty.")
    differ = np.flatnonzero(one.lengths != two.lengths)
    if differ.size:
        item = int(differ[0])
        raise ValueError(
            f"Expected one flag per token in `found` and `planted`, but item {item} has {one.lengths[item]} and "
            f"{two.lengths[item]}."
        )
    rows = np.repeat(np.arange(len(one)), one.lengths)
    sums = np.stack(
        [
            np.bincount(rows, weights, minlength=len(one))
            for weights in (one.values * two.values, one.values, two.values)
        ],
        axis=1,
    )
    n_both, n_found, n_planted = sums.sum(axis=0).astype(int).tolist()
    precision = n_both / n_found if n_found else None
    recall = n_both / n_planted if n_planted else None
    with_planted = sums[:, 2] > 0

    def interval(column: int) -> Interval | None:
        texts = sums[sums[:, column] > 0]
        return cluster_wilson(texts[:, 0], texts[:, column], confidence_level=resampling.level) if len(texts) else None

    return DetectionQuality(
        precision=precision,
        recall=recall,
        f1=None if precision is None or recall is None else 2 * n_both / (n_found + n_planted),
        precision_interval=interval(1),
        recall_interval=interval(2),
        text_recall=float((sums[with_planted, 0] > 0).mean()) if with_planted.any() else None,
        n_texts=len(one),
        n_found=n_found,
        n_planted=n_planted,
        n_both=n_both,
    )


def _flags(rows: Any, name: str) -> Ragged:
    flat = rows if isinstance(rows, Ragged) else as_ragged([_numbers(row, name) for row in ingest(rows, name)], name)
    values: NDArray[np.float64] = flat.values
    if not np.isin(values, (0.0, 1.0)).all():
        place = int(np.flatnonzero(~np.isin(values, (0.0, 1.0)))[0])
        raise TypeError(f"Expected True or False in `{name}`, but item {flat.row_of(place)} holds {values[place]}.")
    return flat


def _numbers(row: Any, name: str) -> NDArray[Any]:
    # Flags are summed, so True and False count as numbers here.
    flags = to_numpy(row, f"a row of {name}")
    return flags.astype(np.float64) if flags.dtype.kind == "b" else flags
