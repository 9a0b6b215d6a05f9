"""The loops of calibration, cues, behavior and labels: what a correction changes, and whether it is accepted.

Each has a correction that is made elsewhere: a fitted recalibrator, mirrored items, training on a suite, reviewed
labels. Functions such as `judge_recalibration` convert the figures before and after it to a `Loop`, with the
conditions under which the correction is accepted. The first condition is that there is something to correct. No
condition uses the measure that the correction optimizes. `loop_page.write_loop_page` writes the page.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from rightreasons.calibration.measure import measure_figures
from rightreasons.calibration.recalibration import RecalibrationReport, judge_before_and_after
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.cues.gap_change import GapComparison
from rightreasons.repairs.acceptance import (
    MAX_ACCURACY_LOSS,
    MIN_ITEMS,
    Criterion,
    require_above,
    require_at_least,
    require_at_most,
    require_below,
)
from rightreasons.repairs.label_sheets import LabelReview
from rightreasons.report.learning_page import HELD_OUT, SETTING_NAMES, LearningOutcome

MIN_ERROR = 0.01
"""Calibration error, or share of incorrect labels, from which a correction is worthwhile.

The low end of its interval must reach it."""

MIN_FAILED = 0.05
"""How far G must be from 1 before training on the tests."""

MAX_AUROC_LOSS = 0.02
"""How much the AUROC of the confidence may fall by a recalibration."""

MAX_INCORRECT = 0.05
"""Share of incorrect labels that may remain."""

MAX_INCORRECT_HIGH = 0.10
"""High end of the interval of that share."""

LoopKind = Literal["recalibration", "balancing", "learning", "labels"]


@dataclasses.dataclass(frozen=True)
class Change(Result):
    """A figure before and after a correction.

    Attributes:
        name: Name of the figure.
        original: The figure before.
        corrected: The figure after.
        p_value: Paired test of the change; None if there is none.
    """

    name: str
    original: Estimate
    corrected: Estimate
    p_value: float | None = None


@dataclasses.dataclass(frozen=True)
class Loop(Result):
    """A correction with its proof.

    Attributes:
        kind: Kind of the correction.
        subject: Name of the model or the data, with which the finding begins.
        data: Name of the data on which the correction is judged.
        task: "classification" or "multiple_choice".
        correction: Description of the correction, such as "beta, fitted on 500 other items".
        n_items: Number of items on which the correction is judged.
        changes: Figures before and after; the first one is the subject of the page.
        criteria: Conditions of acceptance; the first one is that there is something to correct.
        warning: Warning at the top of the page; "" if there is none.
    """

    kind: LoopKind
    subject: str
    data: str
    task: Literal["classification", "multiple_choice"]
    correction: str
    n_items: int
    changes: tuple[Change, ...]
    criteria: tuple[Criterion, ...]
    warning: str = ""

    @property
    def accepted(self) -> bool | None:
        """Whether the correction is accepted; None if there is nothing to correct."""
        # Without a problem to correct, the correction is neither a success nor a failure.
        if not self.criteria[0].is_met:
            return None
        return all(criterion.is_met for criterion in self.criteria)

    @property
    def main(self) -> Change:
        """The figure that is the subject of the page."""
        return self.changes[0]


def check_enough_items(n_items: int, option: str) -> None:
    """Check that there are enough items to judge a correction.

    Args:
        n_items: Number of items.
        option: Option that the error names.

    Raises:
        OptionError: If there are fewer than `MIN_ITEMS`, which might pass or fail by chance.
    """
    if n_items < MIN_ITEMS:
        raise OptionError(
            f"Expected at least {MIN_ITEMS} items to judge a correction by, but got {n_items}.",
            option=option,
        )


# ------------------------------------------------------------------------------------ recalibration

RECALIBRATED_FIGURES = {
    "ece": "calibration error",
    "accuracy": "accuracy",
    "auroc": "AUROC of the confidence",
    "brier": "Brier score",
}
"""Key of a figure -> its name. The log loss is not included, because most fits minimize it."""


def judge_recalibration(  # noqa: PLR0913 - what was fitted, the items that judge, and their names
    report: RecalibrationReport,
    predictions: Any,
    references: Any,
    *,
    scores: str,
    subject: str,
    data: str,
    warning: str = "",
    resampling: Resampling = Resampling(),
) -> Loop:
    """Judge a recalibration on items that it was not fitted on.

    The fit minimizes the log loss, or the squared errors of the classes (isotonic regression). The
    recalibration is judged by other figures: the calibration error of the top label, the AUROC of
    the confidence (whether it ranks correct before incorrect predictions), and the accuracy.

    Args:
        report: Result of `recalibration_report`.
        predictions: (N, K) or (N,) scores of items that were not fitted on, in the format of
            `recalibration_report`.
        references: (N,) labels of these items.
        scores: "logits", "log_probabilities" or "probabilities".
        subject: Name of the model.
        data: Name of the items.
        warning: Reason why the model should be repaired first; "" (default) for none.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        The figures before and after, each condition with whether it holds, and the decision.

    Raises:
        OptionError: If there are fewer than 100 items.
    """
    items, corrected_items = judge_before_and_after(
        report.recalibrator, predictions, references, scores=scores
    )
    check_enough_items(len(items), "file")
    original = measure_figures(items, RECALIBRATED_FIGURES, resampling=resampling)
    corrected = measure_figures(corrected_items, RECALIBRATED_FIGURES, resampling=resampling)
    changes = []
    for key, name in RECALIBRATED_FIGURES.items():
        # The AUROC is undefined if all predictions are correct.
        if key in original and key in corrected:
            p_value = _get_p_value(report.tests, key)
            changes.append(Change(name, original[key], corrected[key], p_value))
    return Loop(
        kind="recalibration",
        subject=subject,
        data=data,
        task="classification",
        correction=f"{report.method}, fitted on {report.n_fit:,} other items",
        n_items=len(items),
        changes=tuple(changes),
        criteria=_list_recalibration_criteria(report, original, corrected),
        warning=warning,
    )


def _get_p_value(tests: Mapping[str, PairedTest], key: str) -> float | None:
    # Only some figures have a paired test.
    if key not in tests:
        return None
    return tests[key].p_value


def _list_recalibration_criteria(
    report: RecalibrationReport, original: Mapping[str, Estimate], corrected: Mapping[str, Estimate]
) -> tuple[Criterion, ...]:
    """Return the conditions under which a recalibration is accepted, and whether each is met.

    The calibration error must have been large enough to correct, and must fall significantly.
    Accuracy and AUROC must not fall by much, because even a constant confidence may be calibrated.

    Args:
        report: The recalibration, with paired tests of its changes.
        original: Key -> figure before.
        corrected: Key -> figure after.
    """
    error_test = report.tests["ece"]
    # Without an interval the change may be due to chance, and the condition is not met.
    largest_error_change = 0.0
    if error_test.interval is not None:
        largest_error_change = error_test.interval.high
    accuracy_gain = report.tests["accuracy"].difference
    criteria = [
        require_at_least("error", original["ece"].low or 0.0, MIN_ERROR),
        require_below("error_change", largest_error_change, 0.0),
        require_at_least("accuracy", accuracy_gain, -MAX_ACCURACY_LOSS),
    ]
    # The AUROC is undefined if all predictions are correct.
    if "auroc" in original and "auroc" in corrected:
        auroc_gain = (corrected["auroc"].value or 0.0) - (original["auroc"].value or 0.0)
        criteria.append(require_at_least("auroc", auroc_gain, -MAX_AUROC_LOSS))
    return tuple(criteria)


# ---------------------------------------------------------------------------------- mirrored items


def judge_balancing(
    comparison: GapComparison,
    original_runs: Any,
    balanced_runs: Any,
    references: Any,
    easy: Any,
    *,
    data: str,
    resampling: Resampling = Resampling(),
) -> Loop:
    """Judge training on balanced items by the Easy/Hard gap on test items that are not balanced.

    Balanced test items could not judge it, because their cues are useless by construction.

    Args:
        comparison: Result of `compare_gaps`.
        original_runs: (N,) or (N, R1) predictions of runs that were trained on the original items.
        balanced_runs: (N,) or (N, R2) predictions of runs that were trained on the balanced items.
        references: (N,) correct choices.
        easy: (N,) whether each item is Easy.
        data: Name of the test items.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        The figures before and after, each condition with whether it holds, and the decision.

    Raises:
        OptionError: If there are fewer than 100 items.
    """
    n_items = comparison.n_easy + comparison.n_hard
    check_enough_items(n_items, "dataset")
    original = easy_hard_gap(original_runs, references, easy, resampling=resampling)
    corrected = easy_hard_gap(balanced_runs, references, easy, resampling=resampling)
    # With several runs per training set, the test includes the variation between seeds.
    p_value = comparison.p_value
    if p_value is None:
        p_value = comparison.item_p_value
    changes = [Change("Easy/Hard gap", _get_gap(original), _get_gap(corrected), p_value)]
    for kind in ("easy", "hard"):
        name = f"accuracy on {kind.capitalize()} items"
        accuracy = _get_accuracy(original, kind)
        changes.append(Change(name, accuracy, _get_accuracy(corrected, kind)))
    hard_gain = corrected.hard_accuracy - original.hard_accuracy
    return Loop(
        kind="balancing",
        subject="The model trained on balanced items",
        data=data,
        task="multiple_choice",
        correction=(
            f"{len(comparison.original_runs)} runs on the original and "
            f"{len(comparison.balanced_runs)} on the balanced items"
        ),
        n_items=n_items,
        changes=tuple(changes),
        criteria=(
            require_above("gap", original.interval.low, 0.0),
            require_above("gap_change", comparison.interval.low, 0.0),
            # Accuracy on Easy items came from the cues and may fall; that on Hard items may not.
            require_at_least("hard", hard_gain, -MAX_ACCURACY_LOSS),
        ),
    )


def _get_gap(figures: EasyHardGap) -> Estimate:
    return make_estimate(figures.easy_hard_gap, figures.interval)


def _get_accuracy(figures: EasyHardGap, kind: str) -> Estimate:
    interval: Interval = getattr(figures, f"{kind}_accuracy_interval")
    return make_estimate(getattr(figures, f"{kind}_accuracy"), interval)


# --------------------------------------------------------------------------- training on the tests


def judge_learning(outcome: LearningOutcome) -> Loop:
    """Judge training on behavioral tests by held-out functionalities and by independent data.

    Args:
        outcome: Scores of the runs of a plan: without training, and trained with functionalities
            held out.

    Returns:
        The figures before and after, each condition with whether it holds, and the decision.

    Raises:
        ValueError: If the runs that hold out functionalities are not finished.
    """
    best = outcome.best
    baseline = outcome.baseline
    if best is None or baseline is None or outcome.change is None:
        raise ValueError(
            "Expected finished runs that hold out each functionality, but there are none. A "
            "functionality that was trained on cannot judge the repair."
        )
    changes = []
    # The change with functionalities held out, which decides, comes first. The sort is stable.
    settings = sorted(outcome.list_changes(), key=lambda change: change[0] != HELD_OUT)
    for setting, old_score, new_score in settings:
        name = f"G, {SETTING_NAMES[setting]}"
        p_value = best.p_values[setting]
        changes.append(Change(name, Estimate(old_score), Estimate(new_score), p_value))
    # Both models are scored on the same independent items, if these runs are finished.
    accuracy_gain = 0.0
    if best.iid_score is not None and baseline.iid_score is not None:
        accuracy_gain = best.iid_score - baseline.iid_score
        change = Change(
            "accuracy on independent data",
            Estimate(baseline.iid_score),
            Estimate(best.iid_score),
            best.p_values.get("iid"),
        )
        changes.append(change)
    old_held_out_score = best.scores[HELD_OUT] - outcome.change
    # A gain that may be chance does not count, and a loss counts in any case.
    held_out_gain = outcome.change
    if not outcome.is_significant:
        held_out_gain = min(outcome.change, 0.0)
    # Functionalities that became significantly worse show that the training did harm.
    n_functionalities = len(outcome.scores.functionalities)
    worse_share = len(best.negative_transfer) / n_functionalities
    return Loop(
        kind="learning",
        subject=outcome.model,
        data=outcome.suite,
        task="classification",
        correction=f"{best.configuration} by {best.method}, seed {best.seed}",
        n_items=n_functionalities,
        changes=tuple(changes),
        criteria=(
            require_at_least("failed", 1 - old_held_out_score, MIN_FAILED),
            require_above("gain", held_out_gain, 0.0),
            require_at_least("accuracy", accuracy_gain, -MAX_ACCURACY_LOSS),
            require_at_most("worse", worse_share, 0.0),
        ),
    )


# ----------------------------------------------------------------------------------------- labels


def judge_labels(review: LabelReview, *, data: str, model: str) -> Loop:
    """Judge reviewed labels by the share of incorrect labels that remain.

    The share is estimated from random controls, because the disputed labels that were corrected say
    nothing about the undisputed ones.

    Args:
        review: Result of `measure_review`.
        data: Name of the data.
        model: Name of the model that disputed labels.

    Returns:
        The figures before and after, each condition with whether it holds, and the decision.

    Raises:
        OptionError: If there are fewer than 100 items, or no disputed label or no control was
            reviewed.
    """
    check_enough_items(review.n_items, "report")
    incorrect = review.incorrect
    remaining = review.remaining
    if incorrect is None or remaining is None:
        raise OptionError(
            "Expected reviewed labels of both kinds, disputed labels and controls, but all "
            "labels of one kind are open. The correction is judged by comparing disputed labels "
            "with controls.",
            option="sheet",
        )
    changes = [Change("incorrect labels", incorrect, remaining)]
    # The interval of the change belongs to the difference, so that the new accuracy has none.
    if review.accuracy_change is not None:
        old_accuracy = review.accuracy.value or 0.0
        new_accuracy = old_accuracy + (review.accuracy_change.value or 0.0)
        changes.append(Change(f"accuracy of {model}", review.accuracy, Estimate(new_accuracy)))
    # The end of the interval is a condition, too, because a few controls may pass by chance.
    remaining_high = remaining.high
    if remaining_high is None:
        remaining_high = remaining.value
    return Loop(
        kind="labels",
        subject=data,
        data=data,
        task="classification",
        correction=f"{review.n_reviewed:,} reviewed labels",
        n_items=review.n_items,
        changes=tuple(changes),
        criteria=(
            require_at_least("incorrect", incorrect.low or 0.0, MIN_ERROR),
            require_at_most("remaining", remaining.value or 0.0, MAX_INCORRECT),
            require_at_most("remaining_high", remaining_high or 0.0, MAX_INCORRECT_HIGH),
        ),
    )
