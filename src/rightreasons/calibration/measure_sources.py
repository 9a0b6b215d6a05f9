"""Comparison of several sources of confidence in the same answers.

`measure_confidence` is the entry point: it selects the items that have a confidence from every
source, computes the figures of each source on them, and tests each pair of sources.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.calibration.confidence_table import ConfidenceTable
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_figures
from rightreasons.core.arrays import Floats
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result

MIN_CONFIDENT = 10
"""Minimum number of answers in which a source that is compared has a confidence."""


@dataclasses.dataclass(frozen=True)
class SourceFigures(Result):
    """Figures of one source of confidence.

    Attributes:
        name: Name of the source.
        n_confident: Number of answers in which it has a confidence.
        confident: Share of the answers in which it has a confidence. For verbalized confidence, the
            share of replies that could be parsed.
        figures: Figures by key, as in `FIGURES`, on the items that every compared source has. Empty
            if the source has fewer than `MIN_CONFIDENT` confidences and is not compared.
    """

    name: str
    n_confident: int
    confident: Estimate | None
    figures: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True)
class ConfidenceMeasurement(Result):
    """Figures of several sources of confidence in the same answers.

    Attributes:
        n_items: Number of items.
        n_answered: Number of items with an answer.
        n_shared: Number of items with a confidence from every compared source. All figures are
            about these.
        n_bins: Number of bins of the binned figures.
        sources: Figures of each source.
        pairs: Paired tests of each pair of compared sources.
    """

    n_items: int
    n_answered: int
    n_shared: int
    n_bins: int
    sources: tuple[SourceFigures, ...]
    pairs: tuple[ConfidencePair, ...]


def measure_confidence(
    table: ConfidenceTable, *, n_bins: int = 15, resampling: Resampling = Resampling()
) -> ConfidenceMeasurement:
    """Compare sources of confidence on the items that all of them have.

    Args:
        table: Confidence by source, as `read_confidence` returns it.
        n_bins: Number of bins of the binned figures.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        The figures of each source with intervals, and a paired test of each figure for each pair of
        sources by `rightreasons.calibration.compare_confidence`.

    Raises:
        ValueError: If no item has a confidence from every source that is compared.

    Example:
        >>> from rightreasons.calibration import read_confidence
        >>> table = read_confidence({
        ...     "confidence_p": [0.9, 0.6, 0.2] * 5,
        ...     "confidence_verbalized": [0.9, "", 0.8] * 5,
        ...     "correct": [1, 1, 0] * 5,
        ... })
        >>> measured = measure_confidence(table)
        >>> measured.n_shared, round(measured.sources[1].confident.value, 6)
        (10, 0.666667)
        >>> round(measured.pairs[0].differences["brier"].difference, 6)
        -0.3
    """
    is_answered = table.correct >= 0
    n_answered = int(np.count_nonzero(is_answered))
    has_confidence = {}
    for name, values in table.confidence.items():
        has_confidence[name] = is_answered & np.isfinite(values)

    # All figures are about the same items, so that differences between sources are not due to the
    # items.
    compared, rows = _select_shared_rows(has_confidence)
    correct = table.correct[rows]
    confidences = {name: table.confidence[name][rows] for name in compared}

    sources = []
    for name, mask in has_confidence.items():
        n_confident = int(np.count_nonzero(mask))
        figures = {}
        if name in confidences:
            figures = _measure_source(confidences[name], correct, n_bins, resampling)
        confident = estimate_share(n_confident, n_answered, resampling)
        sources.append(SourceFigures(name, n_confident, confident, figures))

    pairs: tuple[ConfidencePair, ...] = ()
    if compared:
        pairs = compare_confidence(confidences, correct, n_bins=n_bins, resampling=resampling)
    return ConfidenceMeasurement(
        n_items=len(is_answered),
        n_answered=n_answered,
        n_shared=len(rows),
        n_bins=n_bins,
        sources=tuple(sources),
        pairs=pairs,
    )


def _select_shared_rows(
    has_confidence: Mapping[str, NDArray[np.bool_]],
) -> tuple[list[str], NDArray[np.intp]]:
    """Select the sources to compare, and the items that have a confidence from all of them.

    Args:
        has_confidence: Source -> (N,) whether it has a confidence in the answer to each item.

    Returns:
        Names of the sources with at least `MIN_CONFIDENT` confidences, and indices of the items.

    Raises:
        ValueError: If there are such sources, but no item has a confidence from all of them.
    """
    # A source with few confidences, such as a model that rarely states a number, is excluded. It
    # would leave too few shared items for the other sources.
    compared = []
    for name, mask in has_confidence.items():
        if np.count_nonzero(mask) >= MIN_CONFIDENT:
            compared.append(name)

    # If no source has enough, the items shared by all sources are still reported.
    masks = [has_confidence[name] for name in compared or has_confidence]
    rows = np.flatnonzero(np.logical_and.reduce(masks))
    if compared and not len(rows):
        counts = []
        for name, mask in has_confidence.items():
            counts.append(f"{np.count_nonzero(mask):,} of {name}")
        raise ValueError(
            "Expected items that have a confidence from every source, but got none: "
            f"{', '.join(counts)}."
        )
    return compared, rows


def _measure_source(
    confidence: Floats, correct: NDArray[np.int64], n_bins: int, resampling: Resampling
) -> dict[str, Estimate]:
    """Compute the figures of one source of confidence.

    Args:
        confidence: (N,) confidence in each answer, in [0, 1].
        correct: (N,) 1 for correct answers, 0 for incorrect ones.
        n_bins: Number of bins of the binned figures.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        Estimates by the keys of `FIGURES`.
    """
    # A confidence of 0 or 1 has an infinite logit, which the log loss reports as undefined.
    with np.errstate(divide="ignore"):
        logits = np.log(np.column_stack((1 - confidence, confidence)))
    items = JudgedItems.of(
        logits, correct, probabilities=confidence, kind="confidence", n_bins=n_bins
    )
    return measure_figures(items, resampling=resampling)
