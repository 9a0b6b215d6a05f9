"""Which source of confidence knows best when the answers are right: every figure on the same items, and their tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.compare import ConfidencePair, compare_confidence
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.calibration import JudgedItems, measure_figures
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.measuring.options import CalibrationOptions

if TYPE_CHECKING:
    from rightreasons.data.opening.judged.confidence import ConfidenceTable

BY_GROUP = ("accuracy", "mean_confidence", "confidence_gap", "ece")
"""The figures that are shown for each group; keys of `rightreasons.measuring.calibration.FIGURES`."""

OF_ANSWERS = {"brier": "brier_of_answers"}
"""Names of `compare_confidence` that figures of the confidence in given answers have under another key."""


@dataclasses.dataclass(frozen=True)
class SourceFigures(Result):
    """One source of confidence.

    Attributes:
        name: Its name.
        n_answered: Items to which it gave an answer.
        n_confident: Items for which it gave a confidence too.
        confident: Share of its answers with a confidence: of verbalized confidence, the share that could be parsed.
        figures: Figures of the items that every compared source has, by their keys in `FIGURES`; {} of a source
            without any confidence, which is not compared.
    """

    name: str
    n_answered: int
    n_confident: int
    confident: Estimate | None
    figures: Mapping[str, Estimate]


@dataclasses.dataclass(frozen=True)
class ConfidenceMeasurement(Result):
    """Several sources of confidence on the same items.

    Attributes:
        n_items: Items that any source has.
        n_shared: Items for which every compared source has an answer and a confidence; all figures are about these.
        n_bins: Number of bins of the binned figures.
        sources: The sources.
        pairs: How each two of them differ.
        groups: Group -> its number of items and source -> the figures `BY_GROUP`; {} without groups.
    """

    n_items: int
    n_shared: int
    n_bins: int
    sources: tuple[SourceFigures, ...]
    pairs: tuple[ConfidencePair, ...]
    groups: Mapping[str, tuple[int, Mapping[str, Mapping[str, Estimate]]]]

    def best(self, key: str = "auroc", *, higher: bool = True) -> tuple[str, ...]:
        """Return the sources that no other beats in a figure of `COMPARED` beyond doubt, the best first.

        Args:
            key: The figure.
            higher: Whether a higher figure is better.
        """
        sign = 1 if higher else -1
        beaten = set()
        for pair in self.pairs:
            test = pair.differences.get(key)
            if test is not None and test.interval is not None and pair.p_holm[key] < 1 - test.interval.confidence_level:
                beaten.add(pair.second if sign * test.difference > 0 else pair.first)
        name = OF_ANSWERS.get(key, key)
        values = {one.name: one.figures[name].value for one in self.sources if name in one.figures}
        known = {name: value for name, value in values.items() if value is not None and name not in beaten}
        return tuple(sorted(known, key=lambda one: -sign * known[one]))


@checks_kinds
def measure_confidence(
    table: ConfidenceTable,
    *,
    options: CalibrationOptions = CalibrationOptions(),
    resampling: Resampling = Resampling(),
) -> ConfidenceMeasurement:
    """Compare sources of confidence on the items that all of them have.

    Args:
        table: Confidence and correctness by source, as `rightreasons.data.read_confidence` reads them.
        options: Number of bins.
        resampling: Level, resamples and seed of intervals and tests.

    Returns:
        The figures of each source with intervals, and a paired test of each figure for each two sources; see
        `rightreasons.analysis.compare_confidence`.

    Raises:
        ValueError: If no item has a confidence from every source that has some.

    Example:
        >>> from rightreasons.data import read_confidence
        >>> table = read_confidence({"confidence_p": [0.9, 0.6, 0.2], "confidence_said": [0.9, "", 0.8],
        ...                          "correct": [1, 1, 0]})
        >>> measured = measure_confidence(table)
        >>> measured.n_shared, [(one.name, one.confident.value) for one in measured.sources][1]
        (2, ('said', 0.6666666666666666))
        >>> round(measured.pairs[0].differences["brier"].difference, 6)
        -0.3
    """
    answered = {name: table.correct[name] >= 0 for name in table.confidence}
    confident = {name: answered[name] & np.isfinite(values) for name, values in table.confidence.items()}
    # A source without any confidence, as of a model that never says a number, does not end the others' comparison.
    compared_sources = [name for name, mask in confident.items() if mask.any()]
    rows = np.flatnonzero(np.logical_and.reduce([confident[name] for name in compared_sources or confident]))
    if not len(rows):
        counts = ", ".join(f"{int(mask.sum()):,} of {name}" for name, mask in confident.items())
        raise ValueError(f"Expected items that have a confidence from every source, but there is none: {counts}.")
    confidences = {name: table.confidence[name][rows] for name in compared_sources}
    correct = {name: table.correct[name][rows] for name in confidences}
    compared = compare_confidence(confidences, correct, n_bins=options.n_bins, resampling=resampling)

    def figures(name: str, chosen: NDArray[np.intp], keys: tuple[str, ...] | None = None) -> dict[str, Estimate]:
        items = judged_answers(confidences[name][chosen], correct[name][chosen])
        return measure_figures(items, keys, options=options, resampling=resampling)

    every = np.arange(len(rows))
    names = [] if table.groups is None else sorted({table.groups[row] for row in rows})
    of_group = {group: np.flatnonzero([table.groups[row] == group for row in rows]) for group in names if table.groups}
    return ConfidenceMeasurement(
        n_items=len(table),
        n_shared=len(rows),
        n_bins=options.n_bins,
        sources=tuple(
            SourceFigures(
                name=name,
                n_answered=int(answered[name].sum()),
                n_confident=int(confident[name].sum()),
                confident=share(int(confident[name].sum()), int(answered[name].sum()), resampling),
                figures=figures(name, every) if name in confidences else {},
            )
            for name in table.confidence
        ),
        pairs=compared.pairs,
        groups={
            group: (len(chosen), {name: figures(name, chosen, BY_GROUP) for name in confidences})
            for group, chosen in of_group.items()
        },
    )


def judged_answers(confidence: NDArray[np.float64], correct: NDArray[np.int64]) -> JudgedItems:
    """Return answers with the confidence in each, (N,), and whether they were right, as the figures take them."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.column_stack((1 - confidence, confidence)))
    return JudgedItems.of(logs, correct, probabilities=confidence, kind="confidence")
