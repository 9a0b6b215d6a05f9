"""What a ranking shows: which model is the most accurate, and which is right for the right reasons.

`find_accuracy` and `find_reasons` conclude no more than the corrected paired tests and the verdicts
of the reports.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.sentences import join_parts, pluralize
from rightreasons.page.formats import number
from rightreasons.report.figures import audit_figures
from rightreasons.report.questions import get_question_name
from rightreasons.report.ranking.groups import ModelReport
from rightreasons.report.ranking.models import ModelTest, RankedModel, Ranking
from rightreasons.report.ranking.verdicts import ModelVerdict, get_result
from rightreasons.shortcuts.options import ShortcutsOptions
from rightreasons.shortcuts.stored_pairs import find_named_pair, find_pair_share

SHORTCUTS = get_question_name(ShortcutsOptions)

MAX_NAMED_MODELS = 3
"""Number of models that a list in a sentence names."""


@dataclasses.dataclass(frozen=True)
class ModelValue(Result):
    """A model with its value of a figure.

    Attributes:
        name: Name of the model.
        estimate: The value with its interval, as its report has it.
        unit: Unit of the figure.
    """

    name: str
    estimate: Estimate
    unit: str = "fraction"

    def __str__(self) -> str:
        value = self.estimate.value
        # A swap that flips fewer predictions than its control decides none of them.
        if value is None or value < 0:
            return self.name
        return f"{self.name} ({number(value, self.unit)})"


def list_models(models: Sequence[object]) -> str:
    """Return models as an enumeration: the first ones, and the number of the others.

    Example:
        >>> list_models(["a", "b"]), list_models(["a", "b", "c", "d", "e"])
        ('a and b', 'a, b, c and 2 other models')
    """
    names = list(map(str, models[:MAX_NAMED_MODELS]))
    n_unnamed = len(models) - len(names)
    if n_unnamed:
        names.append(pluralize(n_unnamed, "other model"))
    return join_parts(names)


# ----------------------------------------------------------------------------------- accuracy


@dataclasses.dataclass(frozen=True)
class AccuracyFinding(Result):
    """What the paired tests show about the accuracies.

    Attributes:
        kind: "best" if the first model is significantly more accurate than every other one, "tied"
            if no difference is significant, "partly" if only some are, "same" if all answers are
            the same, and "single" if fewer than two models can be compared.
        models: The compared models with their accuracies on the common items, the highest first.
        close: The models that are not significantly less accurate than the first one.
        lower: The models that are.
    """

    kind: Literal["best", "tied", "partly", "same", "single"]
    models: tuple[ModelValue, ...] = ()
    close: tuple[ModelValue, ...] = ()
    lower: tuple[ModelValue, ...] = ()


def find_accuracy(ranking: Ranking) -> AccuracyFinding:
    """Conclude from the paired tests which model is the most accurate.

    Args:
        ranking: The ranking, whose tests are corrected.
    """
    values = []
    for model in ranking.models:
        values.append(ModelValue(model.name, model.common_accuracy or model.accuracy))
    models = tuple(values)
    if len(models) < 2:
        return AccuracyFinding("single", models)
    if ranking.n_same_answers == ranking.n_items:
        return AccuracyFinding("same", models, close=models[1:])

    tests = ranking.list_accuracy_tests()
    lower_names = set()
    for test in tests:
        if test.better == models[0].name:
            lower_names.add(test.worse)
    lower = tuple(model for model in models[1:] if model.name in lower_names)
    close = tuple(model for model in models[1:] if model.name not in lower_names)
    if not close:
        return AccuracyFinding("best", models, close, lower)
    # Without a better model in any test, the sentence need not name the first one.
    if not any(test.better for test in tests):
        return AccuracyFinding("tied", models, close, lower)
    return AccuracyFinding("partly", models, close, lower)


# ------------------------------------------------------------------------------------ reasons


@dataclasses.dataclass(frozen=True)
class ClaimedFigure(Result):
    """The figure of a claim about a model, with its tests against the other models.

    Attributes:
        key: Key of the figure; "" if the claim is about no figure that can be tested.
        name: Its name for readers.
        direction: Whether the value of the model is "more" or "less" than those of better models.
        value: The model with its value; None if it is compared with no other model.
        better: Models whose value is significantly better, with their values.
        close: Tested models that are neither significantly better nor worse, with their values.
        worse: Models whose value is significantly worse, with their values.
    """

    key: str = ""
    name: str = ""
    direction: Literal["more", "less"] = "more"
    value: ModelValue | None = None
    better: tuple[ModelValue, ...] = ()
    close: tuple[ModelValue, ...] = ()
    worse: tuple[ModelValue, ...] = ()

    def find_value(self, name: str) -> ModelValue | None:
        """Return the value of a model; None if it was not tested."""
        for model in (self.value, *self.better, *self.close, *self.worse):
            if model is not None and model.name == name:
                return model
        return None


@dataclasses.dataclass(frozen=True)
class ReasonsFinding(Result):
    """What the reports and the paired tests show about the reasons for the predictions.

    Attributes:
        kind: "problem" if a report has a red verdict, "doubt" if a model with an amber verdict is
            significantly worse than another one, "none" if all verdicts are green, "untested" if no
            report asks about the reasons, and "open" otherwise.
        model: The model that the claim is about: the most accurate one with a red verdict, or with
            such an amber one; "" if there is none.
        question: Question of the claim; "" for none.
        claim: End of a sentence that begins with the name of the model, as in its report.
        figure: The figure of the claim, with its tests.
        fine: Models whose reports find no problem with the reasons, except those that are better or
            close at the figure.
        further: Models with a red verdict about the reasons, with the same exception.
        missing: Models whose report does not answer the question.
    """

    kind: Literal["problem", "doubt", "none", "open", "untested"]
    model: str = ""
    question: str = ""
    claim: str = ""
    figure: ClaimedFigure = ClaimedFigure()
    fine: tuple[str, ...] = ()
    further: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def find_reasons(ranking: Ranking) -> ReasonsFinding:
    """Conclude which model is not right for the right reasons, and which ones are better.

    Args:
        ranking: The ranking, whose tests are corrected.
    """
    for model in ranking.all_models:
        for verdict in model.reason_verdicts:
            if verdict.tone == "bad":
                figure = compare_claim(ranking, model, verdict)
                return _describe_claim(ranking, "problem", model, verdict, figure)
    # An amber verdict alone judges nothing, unless another model is significantly better.
    for model in ranking.all_models:
        for verdict in model.reason_verdicts:
            figure = compare_claim(ranking, model, verdict)
            if verdict.tone == "warn" and figure.better:
                return _describe_claim(ranking, "doubt", model, verdict, figure)
    tones_by_model = [model.reason_tones for model in ranking.all_models]
    if not any(tones_by_model):
        return ReasonsFinding("untested")
    # Nothing is known about a model whose report does not ask about reasons.
    if all(tones == {"good"} for tones in tones_by_model):
        return ReasonsFinding("none")
    return ReasonsFinding("open")


def _describe_claim(
    ranking: Ranking,
    kind: Literal["problem", "doubt"],
    model: RankedModel,
    verdict: ModelVerdict,
    figure: ClaimedFigure,
) -> ReasonsFinding:
    """Describe a claim about a model, and what the reports of the other models find.

    Args:
        ranking: The ranking.
        kind: Kind of the finding.
        model: The model.
        verdict: The verdict of its report that makes the claim.
        figure: The figure of the claim.
    """
    fine = []
    further = []
    missing = []
    named_partners = {value.name for value in (*figure.better, *figure.close)}
    for partner in ranking.all_models:
        if partner.name == model.name:
            continue
        if partner.find_verdict(verdict.question) is None:
            missing.append(partner.name)
        # The sentence says how these models differ.
        if partner.name in named_partners:
            continue
        if "bad" in partner.reason_tones:
            further.append(partner.name)
        elif partner.reason_tones == {"good"}:
            fine.append(partner.name)
    return ReasonsFinding(
        kind=kind,
        model=model.name,
        question=verdict.question,
        # A verdict without a finding is the claim.
        claim=verdict.claim or f"— {verdict.label}",
        figure=figure,
        fine=tuple(fine),
        further=tuple(further),
        missing=tuple(missing),
    )


def compare_claim(ranking: Ranking, model: RankedModel, verdict: ModelVerdict) -> ClaimedFigure:
    """Compare a model with the others at the figure of a claim about it.

    Args:
        ranking: The ranking.
        model: The model.
        verdict: The verdict of its report that makes the claim.
    """
    reports = {report.name: report for report in ranking.group.compared}
    if model.name not in reports:
        return ClaimedFigure()
    key = find_claimed_key(reports[model.name], verdict)
    better = []
    close = []
    worse = []
    name = ""
    direction: Literal["more", "less"] = "more"
    for test in ranking.list_tests(verdict.question, key):
        if model.name not in test.models:
            continue
        name = test.figure.name
        partner = test.get_partner(model.name)
        value = ModelValue(partner, get_estimate(reports[partner], test), test.figure.unit)
        if test.better == partner:
            better.append(value)
            # Of an accuracy, less is worse.
            if test.is_larger(partner):
                direction = "less"
        elif test.better:
            worse.append(value)
        else:
            close.append(value)
    return ClaimedFigure(
        key=key,
        name=name,
        direction=direction,
        # The claim of the report is about this figure, so that both have the same value.
        value=ModelValue(model.name, verdict.estimate or Estimate(None), verdict.unit),
        better=tuple(better),
        close=tuple(close),
        worse=tuple(worse),
    )


def find_claimed_key(report: ModelReport, verdict: ModelVerdict) -> str:
    """Return the key of the figure with a value per item that a claim is about; "" for none.

    Args:
        report: The report.
        verdict: Its verdict that makes the claim.
    """
    result = get_result(report.audit, verdict.question)
    claimed_key = verdict.figure
    # A claim about shortcuts may be about a pair of words, which has a separate figure.
    if verdict.question == SHORTCUTS:
        claimed_key = find_named_pair(result)
    for figure in result.get("by_item", ()):
        if figure["key"] == claimed_key:
            return claimed_key
    return ""


def get_estimate(report: ModelReport, test: ModelTest) -> Estimate:
    """Return a tested figure of a model: as its report shows it, else the mean over common items.

    Args:
        report: The report of the model.
        test: A test of the model and another one.
    """
    question = test.figure.question
    key = test.figure.key
    for figure in audit_figures(report.audit).values():
        if (figure.question, figure.key) == (question, key):
            return figure.estimate
    # The report shows what a pair of words decides beyond a control.
    share = None
    if question == SHORTCUTS:
        share = find_pair_share(get_result(report.audit, question), key)
    return share or test.get_estimate(report.name)
