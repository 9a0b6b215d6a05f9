"""The measurement behind the question about calibration, and the verdict that follows from it.

`measure` is the entry point: it measures the audited splits, the classes, the votes of annotators
and elicited confidence, and returns `CalibrationAnswers`, whose properties decide the verdict.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.choice_logs import select_confident_answers
from rightreasons.audited.context import AuditContext
from rightreasons.audited.examples import make_example
from rightreasons.audited.predictions_file import get_predictions_path
from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.calibration.confidences import TopLabel
from rightreasons.calibration.errors import CalibrationBin
from rightreasons.calibration.figures import FIGURES, Figure
from rightreasons.calibration.human import HumanCalibration
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import (
    VERDICT_FIGURES,
    CalibrationMeasurement,
    ClassFigures,
    find_worst_split,
    measure_calibration,
    measure_classes,
    measure_figures,
)
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.vote_columns import measure_votes
from rightreasons.core.classification import find_disputed_labels
from rightreasons.core.decisions import MARGINS, Decision, decide
from rightreasons.core.estimates import Estimate
from rightreasons.core.label_noise import estimate_incorrect_share
from rightreasons.page.parts import Example, Headline

if TYPE_CHECKING:
    from rightreasons.calibration.measure_sources import ConfidenceMeasurement

SPLIT_FIGURES = ("accuracy", "mean_confidence", "confidence_gap", "ece", "nll")
"""Figures that are computed for each split."""

ELICITED_FIGURES = ("accuracy", "mean_confidence", "confidence_gap")
"""Figures of the first elicited source that stand in for the others."""

FiguresBySplit = Mapping[str, Mapping[str, Estimate]]
"""Split -> the figures of `SPLIT_FIGURES`."""

MARGIN = MARGINS["confidence"].small
"""Margin between mean confidence and accuracy.

A larger gap makes the verdict red. A green verdict requires that such a gap is ruled out.
"""

N_EXAMPLES = 10
"""Number of items that are shown as possible label errors."""

SOURCE_NAMES = {
    "probability": "Probability of the answer",
    "verbalized": "Verbalized",
}
"""Names of the sources of confidence in the report."""


@dataclasses.dataclass(frozen=True, eq=False)
class MiscalibratedBin:
    """The bin of confidence that shows a miscalibration best.

    Attributes:
        row: Its confidence, accuracy and number of items.
        accuracy: The accuracy of its items, with its interval.
        rows: (M,) indices of its items among the labeled items.
        shows: (M,) whether an item shows the miscalibration: an incorrect answer in an
            overconfident bin, and a correct one in an underconfident bin.
        is_overconfident: Whether the mean confidence is above the accuracy.
    """

    row: CalibrationBin
    accuracy: Estimate
    rows: NDArray[np.intp]
    shows: NDArray[np.bool_]
    is_overconfident: bool


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationAnswers:
    """The measurement of calibration in an audit.

    Attributes:
        context: The audit.
        elicited: Comparison of the elicited confidences; None if none were elicited.
        measured: Figures of the primary split. None for a language model that generates one answer
            per item, whose only confidences are the elicited ones.
        compared: Figures of each labeled split.
        classes: Figures of each class; None if the items have no common classes.
        votes: Comparison with the votes of annotators; None without votes.
    """

    context: AuditContext
    elicited: ConfidenceMeasurement | None
    measured: CalibrationMeasurement | None = None
    compared: FiguresBySplit = dataclasses.field(default_factory=dict)
    classes: list[ClassFigures] | None = None
    votes: HumanCalibration | None = None

    # --- Figures

    @property
    def n_items(self) -> int:
        """Number of items behind the figures."""
        if self.measured is not None:
            return len(self.measured.items)
        return self.elicited.n_shared if self.elicited else 0

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """Figures of the model's confidence, by key; those of `ELICITED_FIGURES` if it is elicited."""
        if self.measured is not None:
            return self.measured.figures
        if self.elicited is None:
            return {}
        # Without class scores, the first elicited source is reported as the confidence of the model.
        figures = self.elicited.sources[0].figures
        return {key: figures[key] for key in ELICITED_FIGURES if key in figures}

    def get_text(self, key: str) -> Figure:
        """Return the text of a figure, with its definition for these items."""
        if self.measured is None:
            return FIGURES[key]
        items = self.measured.items
        return FIGURES[key].fill_definition(items.n_bins, items.kind)

    def make_headlines(self, figures: Mapping[str, Estimate]) -> dict[str, Headline]:
        """Return figures of the primary split as headlines, with name, definition and number of items.

        Args:
            figures: Key of each figure, one of `FIGURES` -> its estimate.
        """
        split = self.context.primary.name
        headlines = {}
        for key, estimate in figures.items():
            headlines[key] = Headline.from_text(
                key, self.get_text(key), estimate, split=split, n=self.n_items
            )
        return headlines

    # --- Verdict

    @functools.cached_property
    def decisions(self) -> Mapping[str, Decision]:
        """Whether each of `VERDICT_FIGURES` is small, large or unknown compared with the margin."""
        if self.measured is None:
            return {}
        decisions = {}
        for key in VERDICT_FIGURES:
            decisions[key] = decide(
                self.measured.decided.get(key),
                MARGINS["confidence"],
                self.n_items,
                self.measured.items.n_units,
            )
        return decisions

    @property
    def is_gap_large(self) -> bool:
        """Whether the gap between mean confidence and accuracy significantly exceeds the margin."""
        decision = self.decisions.get("confidence_gap")
        return decision is not None and decision.level == "large"

    @property
    def is_overconfident(self) -> bool:
        """Whether the mean confidence is above the accuracy."""
        return (self.estimates["confidence_gap"].value or 0.0) > 0

    @property
    def has_significant_error(self) -> bool:
        """Whether the calibration error is significant, however small."""
        if self.measured is None:
            return False
        null_model = self.measured.consistency
        # Two figures decide the verdict, so that each test takes half of the error (Bonferroni).
        alpha = (1 - null_model.confidence_level) / len(VERDICT_FIGURES)
        return null_model.p_value < alpha

    @property
    def is_miscalibrated_in_bins(self) -> bool:
        """Whether the calibration error is significant and exceeds the margin."""
        if self.measured is None:
            return False
        error = self.measured.decided["ece_debiased"].value or 0.0
        return self.has_significant_error and error > MARGIN

    @property
    def is_calibrated(self) -> bool:
        """Whether both figures are significantly within the margin."""
        levels = {decision.level for decision in self.decisions.values()}
        return levels == {"small"}

    @property
    def is_inconclusive(self) -> bool:
        """Whether a miscalibration beyond the margin is neither shown nor ruled out."""
        return not (self.is_gap_large or self.is_miscalibrated_in_bins or self.is_calibrated)

    @property
    def has_significant_gap(self) -> bool:
        """Whether confidence and accuracy differ significantly, however little."""
        if self.measured is None:
            return False
        gap = self.measured.decided["confidence_gap"]
        # Both ends of the interval are on the same side of 0.
        return gap.has_interval and (gap.low or 0.0) * (gap.high or 0.0) > 0

    @property
    def n_needed(self) -> int | None:
        """Number of items that would decide all tests of the verdict; None if none are needed."""
        n_needed = 0
        for decision in self.decisions.values():
            if decision.level == "unknown":
                n_needed = max(n_needed, decision.n_needed or 0)
        return n_needed or None

    # --- The split with the largest gap

    @functools.cached_property
    def worst(self) -> str | None:
        """Name of the split with a significantly larger confidence gap; None if there is none."""
        if not self.compared:
            return None
        return find_worst_split(self.context.primary.name, self.compared)

    @property
    def worst_split(self) -> AuditSplit:
        """The split with the largest confidence gap."""
        return next(split for split in self.context.splits if split.name == self.worst)

    @property
    def keeps_accuracy(self) -> bool:
        """Whether the worst split differs in confidence, and not by a lower accuracy."""
        accuracy = self.compared[self.worst or ""]["accuracy"]
        return (accuracy.value or 0.0) >= (self.estimates["accuracy"].value or 0.0)

    # --- Items

    @functools.cached_property
    def worst_bin(self) -> MiscalibratedBin | None:
        """The bin of confidence that shows a miscalibration; None if no miscalibration is shown.

        It is off in the direction of the gap or, if the gap is small, of the bin that contributes
        most to the calibration error. Of the bins whose interval excludes their mean confidence,
        it is the most confident overconfident one, or the least confident underconfident one.
        """
        if self.measured is None or not (self.is_gap_large or self.is_miscalibrated_in_bins):
            return None
        # Index of a bin with items -> its mean confidence minus its accuracy.
        gaps = {}
        for index, row in enumerate(self.measured.bins.bins):
            if row.confidence is not None and row.accuracy is not None:
                gaps[index] = row.confidence - row.accuracy
        counts = [row.count for row in self.measured.bins.bins]
        strongest = max(gaps, key=lambda index: counts[index] * abs(gaps[index]))
        is_overconfident = gaps[strongest] > 0
        if self.is_gap_large:
            is_overconfident = self.is_overconfident
        candidates = []
        for index, gap in gaps.items():
            accuracy = self.measured.accuracies[index]
            is_in_direction = (gap > 0) == is_overconfident
            if is_in_direction and _excludes_confidence(accuracy, gap):
                candidates.append(index)
        if not candidates:
            return None
        # The bins are sorted by confidence.
        index = candidates[-1] if is_overconfident else candidates[0]
        return self._make_bin(index, is_overconfident=is_overconfident)

    def _make_bin(self, index: int, *, is_overconfident: bool) -> MiscalibratedBin | None:
        """Return a bin with its items; None if its accuracy has no interval.

        Args:
            index: Index of the bin.
            is_overconfident: Whether its mean confidence is above its accuracy.
        """
        if self.measured is None:
            return None
        row = self.measured.bins.bins[index]
        accuracy = self.measured.accuracies[index]
        if accuracy is None:
            return None
        # The edges are those of the diagram, whose first bin includes its lower edge.
        confidences = self._top.confidence
        is_above = confidences > row.lower
        if index == 0:
            is_above = confidences >= row.lower
        rows = np.flatnonzero(is_above & (confidences <= row.upper))
        is_correct = np.asarray(self._top.correct, dtype=np.bool_)[rows]
        shows = ~is_correct if is_overconfident else is_correct
        return MiscalibratedBin(row, accuracy, rows, shows, is_overconfident=is_overconfident)

    def pick_example(self) -> tuple[Example, ...]:
        """Return the item that shows the miscalibration best; none without `worst_bin`.

        It is the most confident error of an overconfident bin, or the least confident correct
        answer of an underconfident one. Items whose label is known to be incorrect are excluded.
        """
        if self.worst_bin is None:
            return ()
        split = self.context.primary
        is_mislabeled = split.mislabeled[split.labeled]
        rows = self.worst_bin.rows[self.worst_bin.shows]
        rows = rows[~is_mislabeled[rows]]
        return self._show_extreme(split, self._top, rows, largest=self.worst_bin.is_overconfident)

    def pick_worst_error(self) -> tuple[Example, ...]:
        """Return the most confident error on the split with the largest gap; none without errors."""
        split = self.worst_split
        # In this task, the scores are not those of the given answer.
        if self.context.task == "confidence":
            return ()
        scores = self.context.scores(split)
        is_error = split.labeled & ~split.mislabeled & (scores.predicted != split.labels)
        rows = np.flatnonzero(is_error)
        if not rows.size:
            return ()
        row = _find_extreme(scores.confidence, rows, split.ids, largest=True)
        return (make_example(self.context, split, row),)

    def _show_extreme(
        self, split: AuditSplit, top: TopLabel, rows: NDArray[np.intp], *, largest: bool
    ) -> tuple[Example, ...]:
        """Return the item with the largest or the smallest confidence; none without items.

        Args:
            split: The primary split.
            top: Predictions for its labeled items.
            rows: Indices of items among the labeled ones.
            largest: Whether the largest confidence is selected.
        """
        if not rows.size:
            return ()
        item_rows = np.flatnonzero(split.labeled)
        ids = [split.ids[row] for row in item_rows[rows].tolist()]
        position = _find_extreme(top.confidence[rows], np.arange(len(rows)), ids, largest=largest)
        return tuple(self.show_items(rows[[position]]))

    @property
    def predictions_file(self) -> str:
        """File of the predictions of these items, relative to the report folder."""
        return get_predictions_path(self.context.primary.name)

    @functools.cached_property
    def label_errors(self) -> NDArray[np.int64]:
        """Rows of items whose label is probably incorrect, by confident learning.

        The rows are indices among the labeled items. They are empty without class scores.
        """
        # Confident learning compares the labels of items that share their classes, unlike choices.
        if self.measured is None or self.classes is None:
            return np.zeros(0, dtype=np.int64)
        rows = find_disputed_labels(self.measured.items.table, self._top.labels)
        split = self.context.primary
        if split.records_mislabeled:
            # The data records which labels are incorrect, so only these are listed.
            is_mislabeled = split.mislabeled[split.labeled]
            return np.asarray(rows[is_mislabeled[rows]])
        return rows

    @functools.cached_property
    def incorrect_share(self) -> Estimate | None:
        """Expected share of incorrect labels among `label_errors`.

        None if there are no such labels, or if the data records which labels are incorrect.
        """
        if self.measured is None or not self.label_errors.size:
            return None
        if self.context.primary.records_mislabeled:
            return None
        items = self.measured.items
        return estimate_incorrect_share(
            items.table,
            self._top.labels,
            self.label_errors,
            n_units=items.n_units,
            resampling=self.context.resampling,
        )

    @property
    def _top(self) -> TopLabel:
        if self.measured is None:
            raise ValueError("Expected a confidence in each prediction, but got none.")
        return self.measured.items.top

    def show_items(self, rows: NDArray[np.int64]) -> Iterator[Example]:
        """Yield examples of measured items with their predictions, for the report.

        Args:
            rows: Indices of the items among the labeled items.
        """
        split = self.context.primary
        # Convert indices among the labeled items to rows of the split.
        item_indices = np.flatnonzero(split.labeled)[rows]
        for row, item_index in zip(rows, item_indices.tolist(), strict=True):
            prediction = int(self._top.predicted[row])
            # In this task, an example shows whether the given answer is correct.
            if self.context.task == "confidence":
                prediction = int(self._top.labels[row])
            confidence = float(self._top.confidence[row])
            yield make_example(self.context, split, item_index, prediction, confidence)


def _excludes_confidence(accuracy: Estimate | None, gap: float) -> bool:
    """Return whether the interval of a bin's accuracy excludes the bin's mean confidence.

    Args:
        accuracy: The accuracy; None if the bin is empty.
        gap: Mean confidence minus accuracy.
    """
    if accuracy is None or accuracy.value is None or not accuracy.has_interval:
        return False
    confidence = accuracy.value + gap
    return confidence > (accuracy.high or 0.0) or confidence < (accuracy.low or 0.0)


def _find_extreme(
    confidences: NDArray[np.float64], rows: NDArray[np.intp], ids: Sequence[str], *, largest: bool
) -> int:
    """Return the row with the largest or the smallest confidence; of equals, that of the first id.

    Args:
        confidences: (N,) confidences.
        rows: Rows to select from.
        ids: N ids.
        largest: Whether the largest confidence is selected.
    """
    keys = confidences[rows]
    if largest:
        keys = -keys
    # Equal confidences may differ by rounding, and the order of the file must not matter.
    is_smallest = np.round(keys, 9) == np.round(keys.min(), 9)
    candidates: list[int] = rows[is_smallest].tolist()
    return min(candidates, key=lambda row: ids[row])


def measure(context: AuditContext, options: CalibrationOptions) -> CalibrationAnswers:
    """Measure the calibration of a model on the audited splits, by class, and against votes.

    Args:
        context: The audit.
        options: Number of bins, columns of votes, and whether to elicit confidence.

    Returns:
        The measurement. For a language model that generates one answer per item, it consists of the
        elicited confidences only.
    """
    elicited = measure_elicited(context, options)
    if elicited is not None and context.answers_once:
        # A single generated answer has no probability, so there is nothing else to measure.
        return CalibrationAnswers(context, elicited)

    # A log of sampled answers may have a confidence in only some of them.
    context = select_confident_answers(context)
    resampling = context.resampling
    items = _judge_split(context, context.primary, options.n_bins)
    measured = measure_calibration(items, resampling=resampling)
    compared = {}
    for split in context.splits:
        if not split.labeled.any():
            continue
        if split is context.primary:
            compared[split.name] = measured.figures
        else:
            judged = _judge_split(context, split, options.n_bins)
            compared[split.name] = measure_figures(judged, SPLIT_FIGURES, resampling=resampling)

    classes = None
    if context.label_names and items.has_fixed_classes:
        classes = measure_classes(items, resampling=resampling)
    return CalibrationAnswers(
        context=context,
        elicited=elicited,
        measured=measured,
        compared=compared,
        classes=classes,
        votes=measure_votes(context, options),
    )


def measure_elicited(
    context: AuditContext, options: CalibrationOptions
) -> ConfidenceMeasurement | None:
    """Ask a language model for its confidence in its answers, and measure it.

    Args:
        context: The audit, of a prompted language model.
        options: Which confidence to elicit, and the number of bins.

    Returns:
        Figures of each source of confidence on the primary split; None if the options elicit none.

    Raises:
        ValueError: If the model is not a prompted language model, or does not generate text.
    """
    if not options.elicit:
        return None
    if context.prompted is None:
        raise ValueError(
            f"Expected a language model to elicit confidence from, but {context.source.name} is "
            "not a language model."
        )
    # Imported here, because few audits elicit confidence, and prompts take long to import.
    from rightreasons.calibration.elicit import elicit_confidence
    from rightreasons.calibration.measure_sources import measure_confidence

    split = context.primary
    items = split.take(np.flatnonzero(split.labeled))
    folder = context.folder(
        f"confidence-{safe_name(split.name)}", split.fingerprint, str(context.seed)
    )
    table = elicit_confidence(
        context.prompted,
        {"id": items.ids, "label": items.labels.tolist(), **items.fields},
        seed=context.seed,
        progress=context.progress,
        out=folder,
    )
    return measure_confidence(table, n_bins=options.n_bins, resampling=context.resampling)


def _judge_split(context: AuditContext, split: AuditSplit, n_bins: int) -> JudgedItems:
    """Return the labeled items of a split with the scores of the model.

    Args:
        context: The audit, which has or computes the scores.
        split: The split.
        n_bins: Number of bins of the binned figures.
    """
    scores = context.scores(split)
    return JudgedItems.of(
        scores.logits,
        split.labels,
        probabilities=scores.probabilities,
        kind=scores.kind,
        n_bins=n_bins,
        clusters=split.clusters,
    )
