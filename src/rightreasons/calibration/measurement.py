"""What the question about calibration measures: the audited split, the others, votes, and confidence asked for.

A language model is asked for several sources of its confidence, on the same answers.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext, AuditSplit, example_of, safe_name
from rightreasons.calibration.human import HumanCalibration, human_calibration
from rightreasons.calibration.measure import (
    DECIDED,
    FIGURES,
    CalibrationMeasurement,
    ClassFigures,
    JudgedItems,
    measure_calibration,
    measure_classes,
    measure_figures,
    worst_split,
)
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.arrays import Ragged
from rightreasons.core.classification import label_errors
from rightreasons.core.decisions import MARGINS, Decision, decide
from rightreasons.core.errors import OptionError, make_unknown_name_error
from rightreasons.core.estimates import Estimate
from rightreasons.core.json_files import parse_json
from rightreasons.core.label_names import format_list, match_columns
from rightreasons.core.options import parse_names as listed_names
from rightreasons.core.validation import check_scores, softmax
from rightreasons.page.parts import Example, Headline

if TYPE_CHECKING:
    from rightreasons.calibration.elicit import ConfidenceMeasurement


def votes_measured(context: AuditContext, options: CalibrationOptions) -> HumanCalibration | None:
    """Compare the primary split with the votes that the options name; None where they name none.

    Raises:
        ValueError: If the votes are of other classes than the scores, or the items have no classes in common.
    """
    if options.votes_columns is None:
        return None
    split, scores = context.primary, context.scores()
    if scores.kind == "confidence" or isinstance(scores.logits, Ragged):
        raise OptionError(
            f"Expected the same classes in all items for `votes_columns`, but those of {split.name!r} have not.",
            option="votes_columns",
        )
    votes = _votes(context, listed_names(options.votes_columns) or [])
    exact = scores.probabilities
    table = (
        softmax(scores.logits)
        if exact is None or isinstance(exact, Ragged)
        else check_scores(exact)
    )
    return human_calibration(table, votes, votes=options.votes, resampling=context.resampling)


# ------------------------------------------------------------------------------------------------------------- private


def _votes(context: AuditContext, columns: list[str]) -> NDArray[np.float64]:
    """Return the votes in the order of the model's classes."""
    split = context.primary
    known = split.data.column_names
    for name in columns:
        if name not in known:
            raise make_unknown_name_error(f"column of {split.name} in `votes_columns`", name, known)
    if len(columns) == 1:
        return _numbers(split.data[columns[0]][:], columns[0])
    if not columns:
        raise OptionError(
            "Expected comma-separated names of columns in `votes_columns`, but got none.",
            option="votes_columns",
        )
    table = np.column_stack([_numbers(split.data[name][:], name) for name in columns])
    classes = context.label_names
    if classes is None or list(classes) == [str(number) for number in range(len(classes))]:
        return table
    # Names of columns differ in the class: "votes_yes" and "votes_no" name yes and no.
    shared = os.path.commonprefix(columns)  # noqa: RUF071 these are no paths
    begin = max(shared.rfind(sign) for sign in "_:. -") + 1
    named = [name[begin:] for name in columns]
    where = f"the columns {format_list(columns)}"
    return np.asarray(
        table[:, match_columns(named, classes, where=where, classes_of=context.source.name)]
    )


def _numbers(column: list[Any], name: str) -> NDArray[np.float64]:
    """Return numbers or rows of numbers; the cells of a csv file are texts."""
    try:
        cells = [
            parse_json(cell, name) if isinstance(cell, str) and cell[:1] == "[" else cell
            for cell in column
        ]
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Expected votes in each item of the column {name!r}: numbers, or lists of one length."
        ) from None


def elicited_items(
    context: AuditContext, options: CalibrationOptions
) -> ConfidenceMeasurement | None:
    """Ask the model how sure it is where the options say so; else None.

    Raises:
        ValueError: If the model is no prompted language model, or writes no text.
    """
    if not options.elicit:
        return None
    if context.prompted is None:
        raise ValueError(
            f"Expected a language model to ask how sure it is, but {context.source.name} is none."
        )
    from rightreasons.calibration.elicit import elicit_confidence, measure_confidence

    split = context.primary
    items = split.take(np.flatnonzero(split.labeled))
    table = elicit_confidence(
        context.prompted,
        {"id": items.ids, "label": items.labels.tolist(), **items.fields},
        seed=context.seed,
        progress=context.progress,
        out=context.folder(
            f"confidence-{safe_name(split.name)}", split.fingerprint, str(context.seed)
        ),
    )
    return measure_confidence(table, n_bins=options.n_bins, resampling=context.resampling)


COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "nll")
"""The figures that are computed for every split."""

Compared = Mapping[str, Mapping[str, Estimate]]
"""Split -> the figures of `COMPARED`."""


MARGIN = MARGINS["confidence"].small
"""A mean confidence this far from the accuracy makes the verdict red, and green needs that it is ruled out."""

N_EXAMPLES = 10


@dataclasses.dataclass(frozen=True, eq=False)
class CalibrationAnswers:
    """What is measured; `measured` is None of generated answers, whose confidence is what was asked for alone."""

    context: AuditContext
    asked: ConfidenceMeasurement | None
    measured: CalibrationMeasurement | None = None
    compared: Compared = dataclasses.field(default_factory=dict)
    classes: list[ClassFigures] | None = None
    votes: HumanCalibration | None = None

    @property
    def n_items(self) -> int:
        """The number of items that the figures are about."""
        if self.measured is not None:
            return len(self.measured.items)
        return self.asked.n_shared if self.asked else 0

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The figures by their keys."""
        if self.measured is not None:
            return self.measured.figures
        first = self.asked.sources[0].figures if self.asked else {}
        return {
            key: first[key]
            for key in ("accuracy", "mean_confidence", "confidence_gap")
            if key in first
        }

    def text(self, key: str) -> Any:
        """Return the text of a figure."""
        items = self.measured and self.measured.items
        return FIGURES[key].defined(items.n_bins, items.kind) if items else FIGURES[key]

    def headlines(self, figures: Mapping[str, Estimate]) -> dict[str, Headline]:
        """Return figures with their texts."""
        about: dict[str, Any] = {"split": self.context.primary.name, "n": self.n_items}
        return {
            key: Headline.of(key, self.text(key), estimate, **about)
            for key, estimate in figures.items()
        }

    @functools.cached_property
    def decisions(self) -> Mapping[str, Decision]:
        """What is decided of each figure of `DECIDED`, beside the margin."""
        if self.measured is None:
            return {}
        sizes = self.n_items, self.measured.items.n_units
        return {
            key: decide(self.measured.decided.get(key), MARGINS["confidence"], *sizes)
            for key in DECIDED
        }

    @property
    def is_apart(self) -> bool:
        """Whether mean confidence and accuracy are surely farther apart than the margin."""
        return (
            "confidence_gap" in self.decisions and self.decisions["confidence_gap"].level == "large"
        )

    @property
    def is_over(self) -> bool:
        """Whether the mean confidence is above the accuracy."""
        return (self.estimates["confidence_gap"].value or 0.0) > 0

    @property
    def is_off_in_parts(self) -> bool:
        """Whether the calibration error is more than chance gives a calibrated model, and beyond the margin."""
        if self.measured is None:
            return False
        null, error = self.measured.consistency, self.measured.decided["ece_debiased"].value or 0.0
        return null.p_value < (1 - null.confidence_level) / len(DECIDED) and error > MARGIN

    @property
    def is_small(self) -> bool:
        """Whether both figures are surely within the margin."""
        return bool(self.decisions) and {
            decision.level for decision in self.decisions.values()
        } == {"small"}

    @property
    def is_open(self) -> bool:
        """Whether a miscalibration beyond the margin is neither shown nor ruled out."""
        return not (self.is_apart or self.is_off_in_parts or self.is_small)

    @property
    def leans(self) -> bool:
        """Whether confidence and accuracy surely differ, by more or less than the margin."""
        gap = None if self.measured is None else self.measured.decided["confidence_gap"]
        return gap is not None and gap.has_interval and (gap.low or 0.0) * (gap.high or 0.0) > 0

    @property
    def n_needed(self) -> int | None:
        """About how many items would rule out a miscalibration beyond the margin; None where none would."""
        return (
            max(
                (d.n_needed or 0 for d in self.decisions.values() if d.level == "unknown"),
                default=0,
            )
            or None
        )

    @functools.cached_property
    def worst(self) -> str | None:
        """The split on which confidence and accuracy are clearly further apart; None without one."""
        return worst_split(self.context.primary.name, self.compared) if self.compared else None

    @property
    def there(self) -> AuditSplit:
        """The worst split."""
        return next(split for split in self.context.splits if split.name == self.worst)

    @property
    def holds_there(self) -> bool:
        """Whether it is the confidence, and not the accuracy, that differs on the worst split."""
        there, here = self.compared[self.worst or ""]["accuracy"], self.estimates["accuracy"]
        return (there.value or 0.0) >= (here.value or 0.0)

    @functools.cached_property
    def label_errors(self) -> NDArray[np.int64]:
        """The measured errors whose label the model contradicts with more than its usual confidence."""
        if self.measured is None or self.classes is None:
            return np.zeros(0, dtype=np.int64)
        rows = label_errors(self.measured.items.table, self._top.labels)
        return np.asarray(rows[~self._top.correct[rows]])

    @property
    def _top(self) -> Any:
        if self.measured is None:
            raise ValueError("Expected a confidence in each prediction, but there is none.")
        return self.measured.items.top

    def shown(self, rows: NDArray[np.int64]) -> Iterator[Example]:
        """Show measured items with their predictions."""
        split, top = self.context.primary, self._top
        for row, item in zip(rows, np.flatnonzero(split.labeled)[rows].tolist(), strict=True):
            yield example_of(
                self.context, split, item, int(top.predicted[row]), float(top.confidence[row])
            )


NAMES = {
    "probability": "Probability of the answer",
    "verbalized": "Verbalized",
}
"""Sources of confidence, for readers."""


def measure(context: AuditContext, options: CalibrationOptions) -> CalibrationAnswers:
    """Measure calibration on the audited splits, by class, and beside votes."""
    elicited = elicited_items(context, options)
    if elicited is not None and context.answers_once:
        return CalibrationAnswers(context, elicited)
    resampling, bins = context.resampling, options.n_bins
    measured = measure_calibration(_judged(context, context.primary, bins), resampling=resampling)
    compared = {
        other.name: measured.figures
        if other is context.primary
        else measure_figures(_judged(context, other, bins), COMPARED, resampling=resampling)
        for other in context.splits
        if other.labeled.any()
    }
    by_class = context.label_names and measured.items.by_class
    classes = measure_classes(measured.items, resampling=resampling) if by_class else None
    votes = votes_measured(context, options)
    return CalibrationAnswers(context, elicited, measured, compared, classes, votes)


def _judged(context: AuditContext, split: AuditSplit, n_bins: int) -> JudgedItems:
    """Compare what the model says about the labeled items of a split with their labels."""
    scores = context.scores(split)
    return JudgedItems.of(
        scores.logits,
        split.labels,
        probabilities=scores.probabilities,
        kind=scores.kind,
        n_bins=n_bins,
        clusters=split.clusters,
    )
