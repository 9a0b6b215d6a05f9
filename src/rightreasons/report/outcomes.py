"""What became of each question, and what a reader sees first.

`Outcome` holds the answer to a question, or the reason why there is none. `compose_first_screen`
gathers the worst finding, a row per question on one scale, and what to do next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.page.formats import badness
from rightreasons.page.parts import (
    Action,
    Example,
    ExampleList,
    Finding,
    Headline,
    Part,
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
        options: Names of the options that made it fail, which audit.json does not store.
    """

    question: str
    title: str
    status: Literal["answered", "skipped", "failed"]
    reason: str = ""
    result: SectionResult | None = None
    options: tuple[str, ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)


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
    """Return the answered questions with their answers, the worst verdict first.

    Verdicts of one tone, such as "bad", are sorted by the size of their findings.
    """

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
    """Compose what a reader sees first: the worst finding, all answers, and what to do.

    Args:
        outcomes: The questions in the order of the page. The `result` of an outcome has the
            verdict, the finding and the actions; it is None if the question was not answered.
        subject: Name of the model, with which the sentence about the worst finding begins; "" for a
            page about several models, which keeps its order and its heading.
        heading: Heading of a page without a subject.
        is_correction: Whether the page is about a correction of a model. If it succeeds, the page
            says how to use it.

    Returns:
        `claim`, the worst finding in one sentence; `rows`, an (outcome, result) pair for each
        answered question, the worst first; `plot`, the picture of the worst finding, None if its
        shares are drawn as bars instead; and `actions`, question -> what to do about it. None if no
        question is answered.
    """
    is_about_model = bool(subject)
    if is_about_model:
        rows = sort_worst_first(outcomes)
    else:
        rows = list_answered(outcomes)
    if not rows:
        return None

    # Without a subject, the rows keep their order, and the first one leads the page.
    _, first_result = rows[0]
    finding = get_finding(first_result)
    claim = heading
    if is_about_model:
        # A finding is a clause that continues the name of the model.
        sentence = f"{subject} {finding.claim}"
        claim = f"{sentence.rstrip('.')}."
    # A contrast of shares is drawn as bars, which show the finding more plainly than a plot.
    plot = None
    if finding.contrast is None:
        plot = find_plot(first_result)

    # A good verdict about a model needs no repair. That of a correction, or of a comparison, has
    # actions that go on from it.
    only_gates_if_good = is_about_model and not is_correction
    actions = {}
    for outcome, result in rows:
        actions[outcome.question] = _select_actions(result, only_gates_if_good=only_gates_if_good)
    return {"claim": claim, "rows": rows, "plot": plot, "actions": actions}


def _select_actions(result: SectionResult, *, only_gates_if_good: bool) -> tuple[Action, ...]:
    """Return the actions that a section proposes, such as commands.

    Args:
        result: The section with its verdict.
        only_gates_if_good: Whether to return, for a good verdict, only the commands that set up a
            gate, which fails if a later model is worse.
    """
    actions = get_finding(result).actions
    if not only_gates_if_good or result.verdict.tone != "good":
        return actions
    gates = []
    for action in actions:
        if action.command.startswith("rightreasons gate "):
            gates.append(action)
    return tuple(gates)


def find_plot(result: SectionResult) -> Plot | None:
    """Return the plot that the finding of a section names, or else its first one; None without plots."""
    key = get_finding(result).plot
    for plot in result.plots:
        if plot.key == key:
            return plot
    if result.plots:
        return result.plots[0]
    return None


def find_figure(result: SectionResult) -> Headline | None:
    """Return the figure that the finding of a section names, or else the first share of its overview.

    Args:
        result: The section. Its figures are the headlines of the overview and of its parts.

    Returns:
        The figure; None if the section has neither.
    """
    key = get_finding(result).figure
    headlines = list(result.headlines)
    for section_part in result.parts:
        headlines += section_part.headlines
    for headline in headlines:
        if headline.key == key:
            return headline
    # Only shares can be placed on the common scale from 0 to 100 %.
    for headline in result.headlines:
        if headline.unit == "fraction":
            return headline
    return None


def find_examples(result: SectionResult) -> ExampleList | None:
    """Return the list of examples that a section leads with, cut to `N_EXAMPLES`.

    It is the first one that is not folded, of the part that has the figure of the finding if this
    part has examples. None if all lists are folded.
    """
    figure = get_finding(result).figure

    def has_no_figure(section_part: Part) -> bool:
        """Return whether a part lacks the figure of the finding."""
        return figure not in [headline.key for headline in section_part.headlines]

    # The sort is stable, and puts the part of the finding (False) before the others (True).
    for section_part in sorted(result.parts, key=has_no_figure):
        for example_list in section_part.examples:
            if not example_list.folded and example_list.examples:
                examples: tuple[Example, ...] = example_list.examples[:N_EXAMPLES]
                return dataclasses.replace(example_list, examples=examples)
    return None


def place_bar(headline: Headline) -> dict[str, float] | None:
    """Compute the position of a share and its interval on a scale from 0 to 100 %.

    Args:
        headline: A figure with its unit and its interval.

    Returns:
        `low` and `width` of the interval, and `dot`, the left end of the mark of the share, in
        percent of the scale, such as `{"low": 20.0, "width": 10.0, "dot": 24.5}`. None if the
        figure is not a share, or a negative difference of shares.
    """
    estimate = headline.estimate
    value = estimate.value
    if headline.unit != "fraction" or value is None:
        return None
    low = value if estimate.low is None else estimate.low
    high = value if estimate.high is None else estimate.high
    # The scale shows shares from 0 to 1, and no differences that may be negative.
    if value < 0 or low < -1 or max(high, value) > 1:
        return None
    low = max(low, 0.0)
    # An interval stays visible, however short it is.
    width = max(100 * (high - low), 0.5)
    # The mark is 1 % wide, centered at the value, and stays within the scale.
    dot = min(max(100 * value - 0.5, 0.0), 99.0)
    return {"low": round(100 * low, 2), "width": round(width, 2), "dot": round(dot, 2)}
