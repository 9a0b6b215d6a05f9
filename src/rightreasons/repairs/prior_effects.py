"""Effect of a correction of answer priors on held-out items: accuracy, and answers that ignore the question.

An answer ignores the question if it stays the same with the question of another item. Answers without any question
would show nothing: a full correction makes all choices of such an item tie. `measure_effect` is the entry point.
"""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.arrays import Ragged
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest, compare_paired_means
from rightreasons.probes.corrections import PriorCorrection
from rightreasons.probes.reading import Reading, measure_reading
from rightreasons.repairs.acceptance import (
    MAX_ACCURACY_LOSS,
    Criterion,
    require_at_least,
    require_below,
)
from rightreasons.repairs.verification import MIN_DECIDED, N_BINS

# The uncorrected model is measured by the same code, as a correction of strength 0.
NO_CORRECTION = PriorCorrection("per_item", strength=0.0, temperature=1.0, n_fit=0)


@dataclasses.dataclass(frozen=True, eq=False)
class QuestionScores:
    """Scores of the choices of N items with their question, without it, and with another one.

    Attributes:
        question: N rows of logits with the question of the item.
        no_question: N rows of logits without a question.
        other_question: N rows of logits with the question of another item.
        labels: (N,) correct choices.
        clusters: (N,) cluster numbers. None for independent items.
    """

    question: Ragged
    no_question: Ragged
    other_question: Ragged
    labels: NDArray[np.int64]
    clusters: NDArray[np.intp] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.intp]) -> QuestionScores:
        """Return the scores of selected items."""
        return QuestionScores(
            question=self.question.take(rows),
            no_question=self.no_question.take(rows),
            other_question=self.other_question.take(rows),
            labels=self.labels[rows],
            clusters=select_clusters(self.clusters, rows),
        )


@dataclasses.dataclass(frozen=True)
class CorrectionEffect(Result):
    """Figures of a model with a correction of its answer prior, on held-out items.

    Attributes:
        correction: The correction.
        accuracy: Accuracy.
        kept: Share of the answers that stay the same with the question of another item.
        beyond_chance: This share beyond chance (κ); its value is None if all answers would stay by
            chance.
        by_chance: Share of the answers that would stay by chance.
        calibration_error: Top-label calibration error in ten bins.
        accuracy_test: Paired test of the accuracy, with minus without the correction.
        kept_test: Paired test of `kept`, with minus without the correction.
    """

    correction: PriorCorrection
    accuracy: Estimate
    kept: Estimate
    beyond_chance: Estimate
    by_chance: float
    calibration_error: float
    accuracy_test: PairedTest
    kept_test: PairedTest


@dataclasses.dataclass(frozen=True, eq=False)
class CorrectedAnswers:
    """Answers of a model with a correction.

    Attributes:
        answers: (N,) selected choices with the question.
        other_answers: (N,) selected choices with the question of another item.
        calibration_error: Top-label calibration error with the question.
    """

    answers: NDArray[np.int64]
    other_answers: NDArray[np.int64]
    calibration_error: float


def correct_answers(scores: QuestionScores, correction: PriorCorrection) -> CorrectedAnswers:
    """Correct the scores of items for an answer prior, and select the best choices.

    Args:
        scores: Scores of N items with their question, without it, and with another one.
        correction: The correction; `NO_CORRECTION` for the uncorrected answers.

    Returns:
        The selected choices with either question, and the calibration error with the item's own
        question.
    """
    corrected = correction.correct_rows(scores.question, scores.no_question)
    # With another question, the choices are the same, and so is the prior.
    corrected_other = correction.correct_rows(scores.other_question, scores.no_question)
    probabilities = list(corrected.softmax())
    error = calibration_error(probabilities, scores.labels, n_bins=N_BINS).ece
    return CorrectedAnswers(
        answers=corrected.argmax(),
        other_answers=corrected_other.argmax(),
        calibration_error=float(error),
    )


def measure_effect(
    scores: QuestionScores, correction: PriorCorrection, resampling: Resampling = Resampling()
) -> CorrectionEffect:
    """Measure how a correction changes accuracy, and answers that do not depend on the question.

    Args:
        scores: Scores of at least one item, on none of which the correction was fitted.
        correction: The correction.
        resampling: Confidence level of the intervals, and seed of the tests of clusters.

    Returns:
        The figures with the correction, and paired tests against those without it.
    """
    original = correct_answers(scores, NO_CORRECTION)
    corrected = correct_answers(scores, correction)
    # Never None: every item has an answer.
    reading = cast(
        "Reading",
        measure_reading(
            corrected.answers,
            corrected.other_answers,
            scores.labels,
            n_choices=scores.question.lengths,
            clusters=scores.clusters,
            resampling=resampling,
        ),
    )
    # The tests are paired, because the same items are answered with and without the correction.
    testing: dict[str, Any] = {"clusters": scores.clusters, "resampling": resampling}
    accuracy_test = compare_paired_means(
        corrected.answers == scores.labels, original.answers == scores.labels, **testing
    )
    kept_test = compare_paired_means(
        corrected.answers == corrected.other_answers,
        original.answers == original.other_answers,
        **testing,
    )
    return CorrectionEffect(
        correction=correction,
        accuracy=reading.accuracy,
        kept=reading.kept,
        beyond_chance=reading.beyond_chance,
        by_chance=reading.by_chance,
        calibration_error=corrected.calibration_error,
        accuracy_test=accuracy_test,
        kept_test=kept_test,
    )


def list_correction_criteria(
    original: CorrectionEffect, corrected: CorrectionEffect
) -> tuple[Criterion, ...]:
    """Return the conditions under which a correction is recommended, and whether each is met.

    The answers without a question are no condition, because the correction makes all choices
    equally likely there by construction.

    Args:
        original: Figures of the model without a correction.
        corrected: Figures of the model with the correction.
    """
    # The low end of the interval must reach the bound, so that noise does not pass for a prior.
    prior_share = original.beyond_chance.low or 0.0
    # The high end of the interval must be below 0, so that the fall is significant.
    kept_change = corrected.kept_test.difference
    if corrected.kept_test.interval is not None:
        kept_change = corrected.kept_test.interval.high
    accuracy_gain = corrected.accuracy_test.difference
    return (
        require_at_least("prior", prior_share, MIN_DECIDED),
        require_below("kept", kept_change, 0.0),
        require_at_least("accuracy", accuracy_gain, -MAX_ACCURACY_LOSS),
    )
