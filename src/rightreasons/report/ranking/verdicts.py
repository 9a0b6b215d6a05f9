"""The verdicts of a report as a comparison of several models shows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.page.formats import badness
from rightreasons.report.figures import AuditFigure, audit_figures
from rightreasons.report.questions import QUESTIONS, get_question_name

CALIBRATION = get_question_name(CalibrationOptions)
"""The only question that is not about the reasons for the predictions."""


@dataclasses.dataclass(frozen=True)
class ModelVerdict(Result):
    """Verdict of a report on a question.

    Attributes:
        question: Name of the question.
        title: The question as a reader would ask it.
        tone: "good", "neutral", "warn" or "bad".
        label: The verdict.
        claim: End of a sentence about the model, which begins with its name; "" for none.
        size: Share of predictions that the claim is about; None if it judges nothing.
        figure: Key of the figure that the claim is about; "" for none.
        estimate: Its value. None for no figure.
        unit: Its unit.
        item: Id of an item that shows the finding; "" if the report names none.
    """

    question: str
    title: str
    tone: str
    label: str
    claim: str
    size: float | None
    figure: str
    estimate: Estimate | None
    unit: str
    item: str

    @property
    def is_about_reasons(self) -> bool:
        """Whether the question is about the reasons for the predictions."""
        return self.question != CALIBRATION

    @property
    def badness(self) -> tuple[int, float]:
        """Key by which worse verdicts, and larger findings within a tone, come first."""
        return badness(self.tone, self.size)


def list_verdicts(audit: Mapping[str, Any]) -> tuple[ModelVerdict, ...]:
    """Return the verdicts of a report, those about the reasons first.

    Args:
        audit: Content of audit.json.
    """
    figures: dict[tuple[str, str], AuditFigure] = {}
    for figure in audit_figures(audit).values():
        # Figures of the primary split come before those of other splits.
        figures.setdefault((figure.question, figure.key), figure)
    verdicts = []
    for answer in audit["questions"]:
        # A question that does not apply, or failed, has no result.
        if answer["result"] is not None:
            verdicts.append(_make_verdict(answer, figures))
    return tuple(sorted(verdicts, key=get_position))


def _make_verdict(
    answer: Mapping[str, Any], figures: Mapping[tuple[str, str], AuditFigure]
) -> ModelVerdict:
    """Return the verdict on a question.

    Args:
        answer: The question with its result in audit.json.
        figures: (question, key) -> figure.
    """
    question = answer["question"]
    result = answer["result"]
    # A report without a finding, and one without an example, are described by empty texts.
    finding = result["finding"] or {}
    item = ""
    for example in finding.get("pair", ())[:1]:
        item = example["id"]
    # Not every finding is about a figure.
    key = ""
    estimate = None
    unit = "fraction"
    figure = figures.get((question, finding.get("figure", "")))
    if figure is not None:
        key = figure.key
        estimate = figure.estimate
        unit = figure.unit
    return ModelVerdict(
        question=question,
        title=answer["title"],
        tone=result["verdict"]["tone"],
        label=result["verdict"]["label"],
        claim=finding.get("claim", "").rstrip("."),
        size=finding.get("size"),
        figure=key,
        estimate=estimate,
        unit=unit,
        item=item,
    )


def get_position(verdict: ModelVerdict) -> int:
    """Return the position of a verdict in a comparison: reasons first, confidence last."""
    names = [name for name in QUESTIONS if name != CALIBRATION]
    # Questions of plugins, or of other versions, come after the known ones.
    if verdict.question in names:
        return names.index(verdict.question)
    return len(names) + int(verdict.question == CALIBRATION)


def get_result(audit: Mapping[str, Any], question: str) -> Mapping[str, Any]:
    """Return the result of an answered question in audit.json.

    Raises:
        KeyError: If the audit has no answer to the question.
    """
    for answer in audit["questions"]:
        if answer["question"] == question and answer["result"] is not None:
            result: Mapping[str, Any] = answer["result"]
            return result
    raise KeyError(question)
