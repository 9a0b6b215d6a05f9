"""Rank the models of a task, and test the differences of each two.

`compare_models` makes the tests, and `rank_models` a `Ranking` of them, once their p-values are
corrected. What a ranking shows is decided in `ranking.findings`.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np

from rightreasons.calibration.figures import FIGURES
from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.core.significance import compare_paired_means
from rightreasons.report.pairing import ComparedFigure, ReportPair, compare_questions, make_figure
from rightreasons.report.ranking.answered_items import AnsweredItems
from rightreasons.report.ranking.groups import ModelReport, ReportGroup
from rightreasons.report.ranking.verdicts import (
    CALIBRATION,
    ModelVerdict,
    get_position,
    list_verdicts,
)

ACCURACY = "accuracy"
"""Key of the accuracy."""


@dataclasses.dataclass(frozen=True)
class ModelTest(Result):
    """A figure of two models, with the test of its difference.

    Attributes:
        model: Name of the first model.
        partner: Name of the second model.
        figure: The figure on the items of both, and its test.
    """

    model: str
    partner: str
    figure: ComparedFigure

    @property
    def better(self) -> str:
        """Name of the better model; "" if the difference is not significant."""
        return {"first": self.model, "second": self.partner, "": ""}[self.figure.winner]

    @property
    def worse(self) -> str:
        """Name of the worse model; "" if the difference is not significant."""
        return {"first": self.partner, "second": self.model, "": ""}[self.figure.winner]

    @property
    def models(self) -> tuple[str, str]:
        """Names of both models."""
        return self.model, self.partner

    def get_partner(self, name: str) -> str:
        """Return the name of the model that is compared with another one."""
        return self.partner if name == self.model else self.model

    def get_estimate(self, name: str) -> Estimate:
        """Return the figure of one of the models on the common items."""
        return self.figure.first if name == self.model else self.figure.second

    def is_larger(self, name: str) -> bool:
        """Return whether the figure of one of the models is the larger one."""
        # The difference is that of the first model minus the second.
        difference = self.figure.difference.value or 0.0
        return difference > 0 if name == self.model else difference < 0


def compare_models(group: ReportGroup, resampling: Resampling) -> list[ModelTest]:
    """Test the differences of each two models: in accuracy, and in the figures of findings.

    Args:
        group: The reports. Only those with the same items are tested.
        resampling: Level of the intervals, number of resamples and seed.

    Returns:
        The tests, whose p-values are not corrected yet.
    """
    tests = []
    for report, partner in itertools.combinations(group.compared, 2):
        pair = ReportPair((report.folder, partner.folder), (report.audit, partner.audit))
        # Figures of other items of a report are not compared.
        questions = compare_questions(pair, frozenset(report.answers.ids), resampling)
        accuracy = compare_accuracies(report, partner, resampling)
        for figure in (accuracy, *questions.figures):
            tests.append(ModelTest(report.name, partner.name, figure))
    return tests


def compare_accuracies(
    report: ModelReport, partner: ModelReport, resampling: Resampling
) -> ComparedFigure:
    """Test whether two models have the same accuracy on their common items.

    Args:
        report: A report whose answers are those to the common items.
        partner: Another such report.
        resampling: Level of the intervals, number of resamples and seed.
    """
    test = compare_paired_means(
        report.answers.is_correct.astype(np.float64),
        partner.answers.is_correct.astype(np.float64),
        # If one log has several answers to a sample, those of the other log have the same ids.
        clusters=report.answers.clusters or partner.answers.clusters,
        resampling=resampling,
    )
    return make_figure(
        key=ACCURACY,
        question=CALIBRATION,
        description=FIGURES[ACCURACY],
        split=str(report.audit["dataset"]["primary"]),
        estimates=(get_accuracy(report, resampling), get_accuracy(partner, resampling)),
        test=test,
    )


def get_accuracy(report: ModelReport, resampling: Resampling) -> Estimate:
    """Return the accuracy of a report on its `answers`: that of the report if they are complete.

    Args:
        report: The report, with at least one answer.
        resampling: Level of the interval.
    """
    answers = report.answers
    # A reader should find the same digits in the report.
    if len(answers) == report.n_items:
        return report.accuracy
    estimate = estimate_rate(answers.is_correct, resampling, answers.clusters)
    return estimate or report.accuracy


# ------------------------------------------------------------------------------------ ranking


@dataclasses.dataclass(frozen=True)
class RankedModel(Result):
    """A model of a ranking.

    Attributes:
        name: Name of the model.
        report: The folder of its report.
        n_items: Number of labeled items of the report.
        accuracy: The accuracy of the report.
        common_accuracy: The accuracy on the items of all compared models; None for a model that is
            not compared. It is that of the report if these are all of its items.
        verdicts: The verdicts of its report, those about its confidence last.
    """

    name: str
    report: str
    n_items: int
    accuracy: Estimate
    common_accuracy: Estimate | None
    verdicts: tuple[ModelVerdict, ...]

    @property
    def reason_verdicts(self) -> list[ModelVerdict]:
        """The verdicts about the reasons for the predictions, the worst first."""
        verdicts = [verdict for verdict in self.verdicts if verdict.is_about_reasons]
        return sorted(verdicts, key=lambda verdict: verdict.badness)

    @property
    def reason_tones(self) -> set[str]:
        """The tones of these verdicts; empty if the report does not ask about reasons."""
        return {verdict.tone for verdict in self.reason_verdicts}

    def find_verdict(self, question: str) -> ModelVerdict | None:
        """Return the verdict on a question; None if there is none."""
        for verdict in self.verdicts:
            if verdict.question == question:
                return verdict
        return None


@dataclasses.dataclass(frozen=True)
class Ranking(Result):
    """Models on the same items, the most accurate first, with the tests of their differences.

    Attributes:
        task: Name of the task.
        models: The compared models; the one with the highest accuracy on the common items comes
            first, and of equals the one with fewer problems.
        unpaired: Models whose reports do not store the answers.
        n_items: Number of items that all compared models were audited on; 0 for a single model.
        n_same_answers: Number of items to which all compared models give the same answer or, if the
            reports do not store the answers, on which all are correct or all are incorrect.
        tests: The tests of each two compared models.
        group: The reports.
    """

    task: str
    models: tuple[RankedModel, ...]
    unpaired: tuple[RankedModel, ...]
    n_items: int
    n_same_answers: int
    tests: tuple[ModelTest, ...]
    group: ReportGroup = dataclasses.field(repr=False, metadata=NOT_SERIALIZED)

    @property
    def all_models(self) -> tuple[RankedModel, ...]:
        """All models, the compared ones first."""
        return (*self.models, *self.unpaired)

    @property
    def questions(self) -> list[tuple[str, str]]:
        """Name and title of each question that a report answers, those about reasons first."""
        # Each audit stores the titles of its questions, of whatever version.
        verdict_by_question = {}
        for model in self.all_models:
            for verdict in model.verdicts:
                verdict_by_question[verdict.question] = verdict
        verdicts = sorted(verdict_by_question.values(), key=get_position)
        return [(verdict.question, verdict.title) for verdict in verdicts]

    def list_tests(self, question: str, key: str) -> list[ModelTest]:
        """Return the tests of a figure of a question."""
        tests = []
        for test in self.tests:
            if (test.figure.question, test.figure.key) == (question, key):
                tests.append(test)
        return tests

    def list_accuracy_tests(self) -> list[ModelTest]:
        """Return the tests of the accuracy."""
        return self.list_tests(CALIBRATION, ACCURACY)


def rank_models(group: ReportGroup, tests: Sequence[ModelTest], resampling: Resampling) -> Ranking:
    """Make the ranking of the models of a task.

    Args:
        group: The reports.
        tests: Their tests, with corrected p-values.
        resampling: Level of the intervals.
    """
    models = []
    # The reports of a group are sorted.
    for report in group.compared:
        models.append(_make_model(report, get_accuracy(report, resampling)))
    unpaired = [_make_model(report, None) for report in group.unpaired]
    n_items = 0
    n_same_answers = 0
    # A single model has no items in common with another one.
    if len(models) > 1:
        n_items = len(group.answers[0])
        n_same_answers = count_same_answers(group.answers)
    return Ranking(
        task=group.task,
        models=tuple(models),
        unpaired=tuple(unpaired),
        n_items=n_items,
        n_same_answers=n_same_answers,
        tests=tuple(tests),
        group=group,
    )


def _make_model(report: ModelReport, common_accuracy: Estimate | None) -> RankedModel:
    return RankedModel(
        name=report.name,
        report=str(report.folder),
        n_items=report.n_items,
        accuracy=report.accuracy,
        common_accuracy=common_accuracy,
        verdicts=list_verdicts(report.audit),
    )


def count_same_answers(answers: Sequence[AnsweredItems]) -> int:
    """Return the number of items to which several models give the same answer.

    Args:
        answers: Answers of each model to the same items, in the same order.
    """
    reference = answers[0]
    is_same = np.ones(len(reference), dtype=np.bool_)
    for model_answers in answers[1:]:
        is_same &= model_answers.predicted == reference.predicted
        # Answers that are not stored are compared by whether they are correct.
        is_same &= model_answers.is_correct == reference.is_correct
    return int(is_same.sum())
