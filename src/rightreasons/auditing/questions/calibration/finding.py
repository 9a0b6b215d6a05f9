"""What the first screen says about calibration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.actions import compare, gate
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.parts import Action, Example, Finding, Headline
from rightreasons.auditing.page.words import p_equals, percent
from rightreasons.auditing.questions.calibration.splits import Compared, flipped_pair
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.calibration import CalibrationMeasurement, worst_split


def finding(
    context: AuditContext,
    measured: CalibrationMeasurement,
    figures: Mapping[str, Headline],
    compared: Compared,
    *,
    shown: bool,
) -> Finding:
    """Say how often the model is right and how sure it is, where the two are furthest apart.

    Args:
        context: The audit.
        measured: Calibration on the primary split.
        figures: Its figures.
        compared: Accuracy and mean confidence on the other splits.
        shown: Whether the verdict shows a difference of the two: without, how far they are apart says nothing.
    """
    split, n_items = context.primary.name, len(measured.items)
    right, sure, gap = (figures[key].estimate.value or 0.0 for key in ("accuracy", "mean_confidence", "confidence_gap"))
    worst = worst_split(split, compared)
    if worst is not None:
        return _on_another_split(context, right, compared, worst)
    apart = shown and abs(gap) >= 0.005
    too = "too sure" if gap > 0 else "not sure enough"
    claim = f"gets {percent(right)} of “{split}” right and is {percent(sure)} sure on average"
    # A calibration error can be shown where the mean difference is not: too sure here, not sure enough there.
    low, high = (getattr(figures["confidence_gap"].estimate, end) for end in ("low", "high"))
    directed = low is not None and high is not None and not low <= 0 <= high
    claim += (f": {too} by {100 * abs(gap):.1f} points" if directed else ": miscalibrated in parts") if apart else ""
    read = [Action("Read the errors that it is most sure of: some labels may be wrong.", link="#items")]
    actions = [
        *(read if right < 1 else []),
        Action(
            "Fit a temperature on validation data; it changes how sure the model is, and no prediction.",
            "rightreasons recalibrate validation.csv test.csv --method temperature",
        ),
        gate("calibration.ece.low > 0.05", "the calibration error is surely above 5%"),
    ]
    return Finding(
        claim=claim,
        evidence=f"Test against a calibrated model, p {p_equals(measured.consistency.p_value)}, "
        f"{counted(n_items, 'item')}.",
        figure="ece",
        size=max(abs(gap), measured.bins.ece),
        plot="reliability",
        pair=_telling_item(context, measured, gap) if apart else (),
        actions=tuple(actions),
    )


def surest_errors(measured: CalibrationMeasurement) -> npt.NDArray[np.int64]:
    """Return the measured items that are wrong, the surest first."""
    wrong = np.flatnonzero(~measured.items.top.correct)
    return wrong[np.argsort(-measured.items.top.confidence[wrong], kind="stable")]


def shown_item(context: AuditContext, measured: CalibrationMeasurement, row: int) -> Example:
    """Show one of the measured items with its prediction."""
    top, split = measured.items.top, context.primary
    item = int(np.flatnonzero(split.labeled)[row])
    return example_of(context, split, item, int(top.predicted[row]), float(top.confidence[row]))


def _telling_item(context: AuditContext, measured: CalibrationMeasurement, gap: float) -> tuple[Example, ...]:
    """Show the surest error of a model that is too sure, the least sure right answer of one that is not sure enough."""
    if gap > 0:
        rows = surest_errors(measured)
    else:
        right = np.flatnonzero(measured.items.top.correct)
        rows = right[np.argsort(measured.items.top.confidence[right], kind="stable")]
    shown = (shown_item(context, measured, int(row)) for row in rows[:1])
    return tuple(example for example in shown if example.text)


def _on_another_split(context: AuditContext, right: float, compared: Compared, worst: str) -> Finding:
    there, sure = (compared[worst][key].value or 0.0 for key in ("accuracy", "mean_confidence"))
    split, path = context.split(worst), f"calibration.{'_'.join(worst.split())}"
    where = f"on “{worst}”"
    if split.cue_labels is not None and (split.cue_labels >= 0).any():
        where = f"where a planted cue is turned against the label (“{worst}”)"
    elif split.cue_labels is not None:
        where = f"without the planted cue (“{worst}”)"
    n_items = int(split.labeled.sum())
    paired = split.pair_ids is not None and context.primary.pair_ids is not None
    evidence = f"{'The same items, changed' if paired else 'Compared on another split'}: {counted(n_items, 'item')}."
    if there >= right:  # it is the confidence that differs
        return Finding(
            claim=f"is {percent(sure)} sure {where} and gets {percent(there)} right there",
            evidence=evidence,
            figure="accuracy_worst",
            size=abs(sure - there),
            plot="splits",
            actions=(gate(f"{path}.ece > 0.05", f"the calibration error on “{worst}” is above 5%"),),
        )
    still = "still " if sure > there else ""
    return Finding(
        claim=f"gets {percent(right)} right, but {percent(there)} {where}, {still}{percent(sure)} sure",
        evidence=evidence,
        figure="accuracy_worst",
        size=right - there,
        plot="splits",
        pair=flipped_pair(context),
        actions=(
            Action(f"Read what it gets wrong on “{worst}”.", link="#items"),
            compare(
                "Remove what the splits differ in from the training texts, or let every label have the same share of "
                "it; fine-tune again, audit, and compare. A temperature does not help: it changes no prediction."
            ),
            gate(f"{path}.accuracy < {(right + there) / 2:.2f}", f"accuracy on “{worst}” stays low"),
        ),
    )
