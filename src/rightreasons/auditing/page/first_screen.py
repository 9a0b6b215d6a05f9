"""What a reader sees first: one finding, a row per question on one scale, and what to do next."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rightreasons.auditing.page.parts import Action, Example, Finding, Headline, Plot, SectionResult
from rightreasons.auditing.page.words import badness

if TYPE_CHECKING:
    from rightreasons.auditing.page.report import Outcome

LIGHTS = {"bad": "Problem", "warn": "Look closer", "neutral": "No verdict", "good": "No problem found"}
"""What the tones of a verdict say."""

MOST_ACTIONS = 2
"""Actions shown for each question but the first, which shows all."""


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One question on the first screen.

    Attributes:
        question: Its name.
        title: The question as a reader would ask it.
        tone: That of its verdict.
        light: What the tone says.
        answer: The verdict in a few words.
        figure: The share that shows it, where there is one.
        bar: Its place on the common scale from 0 to 100 %; None where it is no share from 0 to 1.
    """

    question: str
    title: str
    tone: str
    light: str
    answer: str
    figure: Headline | None
    bar: dict[str, float] | None


@dataclasses.dataclass(frozen=True, eq=False)
class FirstScreen:
    """What a reader sees first.

    Attributes:
        claim: The finding in one sentence.
        tone: That of its verdict.
        light: What the tone says.
        evidence: What the finding rests on.
        question: The question that found it.
        plot: The picture that shows it, if any.
        pair: One example, or an item before and after a change.
        rows: The answered questions, the worst first.
        skipped: (question, title, reason) of the questions that do not apply.
        failed: (title, reason) of those that failed.
        actions: (question, what to do), the worst finding first.
    """

    claim: str
    tone: str
    light: str
    evidence: str
    question: str
    plot: Plot | None
    pair: tuple[Example, ...]
    rows: tuple[Row, ...]
    skipped: tuple[tuple[str, str, str], ...]
    failed: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, Action], ...]


def worst_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Order the answered questions by their tone, those of one tone by the share of predictions that they are about."""
    answered = [
        (badness(outcome.result.verdict.tone, finding_of(outcome.result).size), outcome)
        for outcome in outcomes
        if outcome.result is not None
    ]
    return [outcome for _, outcome in sorted(answered, key=lambda pair: pair[0])]


def finding_of(result: SectionResult) -> Finding:
    """Return the finding of a section; where it has none, its verdict."""
    verdict = result.verdict
    return result.finding or Finding(claim=f"— {verdict.label[:1].lower()}{verdict.label[1:]}", evidence="")


def first_screen(subject: str, outcomes: Sequence[Outcome]) -> FirstScreen | None:
    """Gather what a reader sees first.

    Args:
        subject: What the sentence begins with: the name of the model.
        outcomes: The questions.

    Returns:
        The first screen; None where no question is answered.
    """
    answered = worst_first(outcomes)
    if not answered or answered[0].result is None:
        return None
    first = answered[0].result
    lead = finding_of(first)
    asked = {outcome.question for outcome in answered}
    actions = [
        (outcome.question, _here(action, asked - {outcome.question}))
        for place, outcome in enumerate(answered)
        if outcome.result is not None and outcome.result.verdict.tone != "good"
        for action in finding_of(outcome.result).actions[: None if place == 0 else MOST_ACTIONS]
    ]
    unanswered = [outcome for outcome in outcomes if outcome.result is None]
    return FirstScreen(
        claim=f"{subject} {lead.claim}".rstrip(".") + ".",
        tone=first.verdict.tone,
        light=LIGHTS[first.verdict.tone],
        evidence=lead.evidence,
        question=answered[0].question,
        plot=plot_of(first),
        pair=lead.pair,
        rows=tuple(_row(outcome, outcome.result) for outcome in answered if outcome.result is not None),
        skipped=tuple((each.question, each.title, each.reason) for each in unanswered if each.status == "skipped"),
        failed=tuple((each.title, each.reason) for each in unanswered if each.status == "failed"),
        actions=tuple(actions),
    )


def plot_of(result: SectionResult) -> Plot | None:
    """Return the picture that shows a finding, or the first of the section."""
    wanted = finding_of(result).plot
    plots = result.plots
    return next((plot for plot in plots if plot.key == wanted), plots[0] if plots else None)


def _here(action: Action, asked: set[str]) -> Action:
    """Point to the section of a question that the page answers, in the place of the command that asks it."""
    _, _, question = action.command.rpartition(" --questions ")
    return Action(action.text, link=f"#{question}") if question in asked else action


def _row(outcome: Outcome, result: SectionResult) -> Row:
    figures = {headline.key: headline for part in result.parts for headline in part.headlines}
    figures |= {headline.key: headline for headline in result.headlines}
    shares = [headline for headline in result.headlines if headline.unit == "fraction"]
    figure = figures.get(finding_of(result).figure) or next(iter(shares), None)
    verdict = result.verdict
    return Row(outcome.question, outcome.title, verdict.tone, LIGHTS[verdict.tone], verdict.label, figure, _bar(figure))


def _bar(figure: Headline | None) -> dict[str, float] | None:
    if figure is None or figure.unit != "fraction" or figure.estimate.value is None:
        return None
    value = figure.estimate.value
    low, high = figure.estimate.low, figure.estimate.high
    low, high = (value if low is None else low), (value if high is None else high)
    if value < 0 or low < -1 or max(value, high) > 1:  # a difference that is negative has no place on this scale
        return None
    low, high, value = (100 * max(each, 0.0) for each in (low, high, value))
    return {
        "low": round(low, 2),
        "width": round(max(high - low, 0.6), 2),
        "dot": round(min(max(value - 0.4, 0.0), 99.2), 2),
    }
