"""What became of each question, and what a reader sees first.

`Outcome` holds the answer to a question, or the reason why there is none. `compose_first_screen`
gathers the worst finding, a row per question on one scale, and what to do next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from rightreasons.core.results import Result
from rightreasons.page.formats import badness
from rightreasons.page.parts import (
    Action,
    Example,
    ExampleList,
    Finding,
    Headline,
    Plot,
    SectionResult,
)

LIGHTS = {
    "bad": "Problem",
    "warn": "Look closer",
    "neutral": "No verdict",
    "good": "No problem found",
}
"""Tone of a verdict -> its name for readers."""

N_EXAMPLES = 3
"""Number of examples of a section that are not folded."""


@dataclasses.dataclass(frozen=True)
class Outcome(Result):
    """What became of one question.

    Attributes:
        question: Its name.
        title: The question as a reader would ask it.
        status: "answered", "skipped" (it does not apply) or "failed".
        reason: Why it was skipped or how it failed.
        result: The answer, if there is one.
    """

    question: str
    title: str
    status: Literal["answered", "skipped", "failed"]
    reason: str = ""
    result: SectionResult | None = None


AnsweredOutcome = tuple[Outcome, SectionResult]
"""An outcome with its answer."""


def list_answered(outcomes: Sequence[Outcome]) -> list[AnsweredOutcome]:
    """Return the answered questions with their answers."""
    answered = []
    for outcome in outcomes:
        if outcome.result is not None:
            answered.append((outcome, outcome.result))
    return answered


def sort_worst_first(outcomes: Sequence[Outcome]) -> list[AnsweredOutcome]:
    """Sort the answered questions by tone, and those of one tone by the share that they are about."""

    def rank(answered: AnsweredOutcome) -> tuple[int, float]:
        result = answered[1]
        return badness(result.verdict.tone, get_finding(result).size)

    return sorted(list_answered(outcomes), key=rank)


def get_finding(result: SectionResult) -> Finding:
    """Return the finding of a section, or its verdict if it has none."""
    if result.finding is not None:
        return result.finding
    label = result.verdict.label
    return Finding(claim=f"— {label[:1].lower()}{label[1:]}", evidence="")


def compose_first_screen(
    outcomes: Sequence[Outcome], subject: str, heading: str, *, is_correction: bool = False
) -> dict[str, Any] | None:
    """Gather what a reader sees first.

    Args:
        outcomes: The questions of the page, in its order.
        subject: What the finding begins with, such as the name of the model; "" for a page about
            several models, which keeps its order and its heading.
        heading: Heading of a page without a subject.
        is_correction: Whether the page is about a correction, whose success is to be used.

    Returns:
        `claim`, the finding in one sentence; `rows`, the answered questions with their answers, the
        worst first; `plot`, the picture of the finding unless it is a contrast; and `actions`, what
        to do by question. None if no question is answered.
    """
    # Models that are compared have no worst question.
    rows = list_answered(outcomes)
    if subject:
        rows = sort_worst_first(outcomes)
    if not rows:
        return None
    finding = get_finding(rows[0][1])
    claim = heading
    if subject:
        # Findings are clauses that continue the name of the model.
        claim = f"{subject} {finding.claim}".rstrip(".") + "."
    # The bars of a contrast show the finding more plainly than a plot.
    plot = None
    if finding.contrast is None:
        plot = find_plot(rows[0][1])
    # Several models have no verdict, and a correction that succeeded leads on.
    is_about_model = bool(subject) and not is_correction
    actions = {}
    for outcome, result in rows:
        actions[outcome.question] = _select_actions(result, is_about_model=is_about_model)
    return {"claim": claim, "rows": rows, "plot": plot, "actions": actions}


def _select_actions(result: SectionResult, *, is_about_model: bool) -> tuple[Action, ...]:
    """Return what to do about a finding."""
    actions = get_finding(result).actions
    if is_about_model and result.verdict.tone == "good":
        # A model without a problem needs no repair, only a gate that watches it.
        return tuple(
            action for action in actions if action.command.startswith("rightreasons gate ")
        )
    return actions


def find_plot(result: SectionResult) -> Plot | None:
    """Return the picture that shows a finding, or else the first of the section."""
    key = get_finding(result).plot
    for plot in result.plots:
        if plot.key == key:
            return plot
    return next(iter(result.plots), None)


def find_figure(result: SectionResult) -> Headline | None:
    """Return the figure that a finding names, or else the first share of the overview."""
    key = get_finding(result).figure
    headlines = list(result.headlines)
    for section_part in result.parts:
        headlines += section_part.headlines
    for headline in headlines:
        if headline.key == key:
            return headline
    # A finding without a figure is shown by the first one that has a place on the scale.
    for headline in result.headlines:
        if headline.unit == "fraction":
            return headline
    return None


def find_examples(result: SectionResult) -> ExampleList | None:
    """Return the first list of examples that is not folded, cut to `N_EXAMPLES`."""
    for section_part in result.parts:
        for example_list in section_part.examples:
            if not example_list.folded and example_list.examples:
                examples: tuple[Example, ...] = example_list.examples[:N_EXAMPLES]
                return dataclasses.replace(example_list, examples=examples)
    return None


def place_bar(headline: Headline) -> dict[str, float] | None:
    """Place a share and its interval on a scale from 0 to 100 %.

    Returns:
        `low` and `width` of the interval and `dot`, the left end of the mark of the share, in
        percent; None if the figure is no share.
    """
    estimate = headline.estimate
    value = estimate.value
    if headline.unit != "fraction" or value is None:
        return None
    low = value if estimate.low is None else estimate.low
    high = value if estimate.high is None else estimate.high
    # Differences of shares may be negative, and have no place on the scale.
    if value < 0 or low < -1 or max(high, value) > 1:
        return None
    low = max(low, 0.0)
    return {
        "low": round(100 * low, 2),
        "width": round(max(100 * (high - low), 0.5), 2),
        "dot": round(min(max(100 * value - 0.5, 0.0), 99.0), 2),
    }
