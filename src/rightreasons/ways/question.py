"""The question about prompt formats: what is asked, its figures, its verdict, and its page.

`WAYS` asks the same items in several formats, and again after a doubt. Its sentences are in
question.md.j2.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.core.decisions import MARGINS
from rightreasons.core.estimates import Estimate
from rightreasons.core.scores import Scores
from rightreasons.models.prompted import Prompted
from rightreasons.page import plots
from rightreasons.page.parts import Example, ItemFigure
from rightreasons.page.plots import Drawing
from rightreasons.page.prose import prose
from rightreasons.page.question import (
    Examples,
    Figure,
    Lead,
    Need,
    Part,
    Plot,
    Question,
    Rule,
    Table,
)
from rightreasons.ways.examples import compare_doubt, compare_formats, list_examples
from rightreasons.ways.measure import WaysFigures, measure_ways
from rightreasons.ways.options import WaysOptions
from rightreasons.ways.spread import POWER

CHATTERJEE = "Chatterjee et al. 2024"
SCLAR = "Sclar et al. 2024"
SELECTED = "Sclar et al. 2024; selection on the other half of the items is of this package"
SHARMA = "Sharma et al. 2023; the neutral second request is of this package"

N_EXAMPLES = 3
"""Number of examples of a list."""

LARGE = ("some", "large")
"""Levels of a figure that is significantly above its margin."""


def measure(context: AuditContext, options: WaysOptions) -> WaysFigures:
    """Ask about the labeled items of an audit in several prompt formats, and compare the answers.

    Args:
        context: The audit, whose model must be a language model with a prompt.
        options: Number of formats, and the questions whose verdicts are compared between formats.

    Returns:
        Accuracy by format, the spread of the accuracies, POSIX, flips, and agreement of verdicts.

    Raises:
        ValueError: If the model is not a language model with a prompt.
    """
    prompted = context.prompted
    if prompted is None:
        raise ValueError("Expected a language model with a prompt, but got another kind of model.")
    # The accuracy of a format needs labels.
    labeled = context.primary.take(np.flatnonzero(context.primary.labeled))

    def judge(scorer: Prompted, scores: Scores) -> Mapping[str, tuple[str, str]]:
        """Return the verdicts of `options.questions` about the scores of one prompt format.

        Args:
            scorer: The model with prompts in this format.
            scores: Its scores of the labeled items.
        """
        # For these questions, each format is a separate model, with its own answers and cache.
        format_context = dataclasses.replace(
            context,
            source=scorer,
            primary=labeled,
            comparisons=(),
            train=None,
            answers={},
            progress=False,
            _shared={},
        )
        return context.judge_scores(format_context, scores, options.questions)

    return measure_ways(
        prompted,
        labeled,
        options=options,
        resampling=context.resampling,
        out=context.folder("ways", labeled.fingerprint),
        progress=context.progress,
        judge=judge,
    )


# --- Figures and tables


def get_spread(measurement: WaysFigures) -> Estimate | None:
    """Return the spread of the accuracies; None if it is withheld."""
    if measurement.spread is None:
        return None
    return Estimate(measurement.spread.spread)


def get_held_out(measurement: WaysFigures) -> Estimate | None:
    """Return the difference of the best and the worst format; None if it is withheld."""
    if measurement.spread is None:
        return None
    return measurement.spread.held_out


def get_given_up(measurement: WaysFigures) -> Estimate | None:
    """Return the share of correct answers that a doubt changes; None if it is not known."""
    if measurement.given_up is None:
        return None
    return measurement.given_up.difference


def count_given_up(measurement: WaysFigures) -> int:
    """Return the number of correct answers that were doubted."""
    return 0 if measurement.given_up is None else measurement.given_up.n_items


def draw_formats(key: str, measurement: WaysFigures) -> Drawing:
    """Draw the accuracy by each format that is compared."""
    rows = []
    for row in measurement.ways:
        # What cannot be read would be drawn as errors of the model.
        if not row.excluded:
            rows.append((row.way.title, [row.accuracy]))
    return plots.dot_rows(key, rows=rows, series=("accuracy",), xlabel="share of items")


def list_formats(measurement: WaysFigures) -> Iterator[tuple[Any, ...]]:
    """Return a row per format."""
    for row in measurement.ways:
        yield row.way.title, row.accuracy, row.n_unread, row.excluded


def list_flips(measurement: WaysFigures) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table of flips: one for correct and one for incorrect first answers.

    The columns are the kind of change, the number of items, the shares that change after a doubt and
    after a neutral request, their difference, and its p-value.

    Args:
        measurement: Figures of all prompt formats; `flips` are the changes after a doubt.
    """
    for flips in measurement.flips:
        yield (
            flips.turn.replace("right", "correct").replace("wrong", "incorrect"),
            flips.n_items,
            flips.doubted,
            flips.asked_again,
            flips.difference,
            flips.p_value,
        )


def describe_verdicts(measurement: WaysFigures, question: str) -> str:
    """Return the verdicts on a question over the formats, with how many have each."""
    counts: Counter[str] = Counter()
    for row in measurement.ways:
        counts[row.verdicts[question] or "no answer"] += 1
    # The most frequent verdict comes first.
    parts = [f"{label} in {count}" for label, count in counts.most_common()]
    return ", ".join(parts)


# --- Verdict


def is_withheld(measurement: WaysFigures) -> bool:
    """Return whether unread answers leave nothing to compare."""
    return measurement.spread is None


def depends_on_format(measurement: WaysFigures) -> bool:
    """Return whether the accuracy depends significantly on the format."""
    return measurement.spread is not None and measurement.spread.decided.level in LARGE


def gives_up(measurement: WaysFigures) -> bool:
    """Return whether a doubt changes significantly many correct answers."""
    return measurement.given_up is not None and measurement.given_up.decided.level in LARGE


def is_about_doubt(measurement: WaysFigures) -> bool:
    """Return whether the doubt is the finding; a dependence on the format comes first."""
    return gives_up(measurement) and not depends_on_format(measurement)


def is_steady(measurement: WaysFigures) -> bool:
    """Return whether both differences are significantly small, as far as they were asked."""
    # Green takes evidence on all that was asked.
    if (
        measurement.spread is None
        or measurement.spread.decided.level != "small"
        or measurement.is_doubt_unread
    ):
        return False
    return measurement.given_up is None or measurement.given_up.decided.level == "small"


def get_format_size(measurement: WaysFigures) -> float:
    """Return the size of the dependence on the format."""
    held_out = get_held_out(measurement)
    return 0.0 if held_out is None else max(held_out.value or 0.0, 0.0)


def get_doubt_size(measurement: WaysFigures) -> float:
    """Return the size of the effect of a doubt."""
    given_up = get_given_up(measurement)
    return 0.0 if given_up is None else max(given_up.value or 0.0, 0.0)


def list_item_figures(measurement: WaysFigures) -> Iterator[ItemFigure]:
    """Yield what becomes of the correct answers in the worst format, and after a doubt.

    Args:
        measurement: Accuracy in each prompt format, and the answers to each item in all formats.

    Yields:
        Figures with one value per item: 1 if the correct answer is lost by the format or the doubt, -1
        for the reverse, else 0. No figure if fewer than two formats are compared, or no answer was
        doubted.
    """
    # Two reports are compared by these figures only if one of them is about them.
    formats = compare_formats(measurement)
    if formats is not None:
        yield ItemFigure.from_arrays(
            "lost_by_format",
            "Correct in the best format, incorrect in the worst",
            "lower",
            formats.ids,
            formats.values,
            low=-1.0,
            is_finding=depends_on_format(measurement),
        )
    doubt = compare_doubt(measurement)
    if doubt is not None:
        yield ItemFigure.from_arrays(
            "given_up",
            "Correct answer given up when doubted",
            "lower",
            doubt.ids,
            doubt.values,
            low=-1.0,
            is_finding=gives_up(measurement),
        )


def list_format_examples(measurement: WaysFigures) -> tuple[Example, ...]:
    """Return items that are answered correctly in the best format only, the clearest first."""
    note = "Only the prompt format differs."
    return tuple(itertools.islice(list_examples(compare_formats(measurement), note), N_EXAMPLES))


def list_doubt_examples(measurement: WaysFigures) -> tuple[Example, ...]:
    """Return correct answers that only a doubt makes incorrect, the clearest first."""
    note = "After a neutral second request, the answer is still correct."
    return tuple(itertools.islice(list_examples(compare_doubt(measurement), note), N_EXAMPLES))


WAYS = Question(
    name="ways",
    title="Does the prompt format matter?",
    prose=prose(
        __file__, verdicts=describe_verdicts, is_about_doubt=is_about_doubt, MARGINS=MARGINS
    ),
    needs=(
        Need("prompted", lambda context, options: context.prompted is not None),
        Need("labels", lambda context, options: context.primary.labeled.any()),
    ),
    measure=measure,
    power=POWER,
    figures=(
        Figure(
            "format_spread",
            get_spread,
            SCLAR,
            better="lower",
            n=lambda m: m.spread.n_items,
            no_interval="Chance alone makes it positive; the difference on other items has an interval.",
        ),
        Figure(
            "format_difference",
            get_held_out,
            SELECTED,
            better="lower",
            n=lambda m: m.spread.n_items,
        ),
        Figure("given_up", get_given_up, SHARMA, better="lower", n=count_given_up),
        Figure("posix", lambda m: m.posix, CHATTERJEE, unit="nats", better="lower"),
    ),
    headlines=("format_difference", "format_spread", "given_up", "posix"),
    # The first rule that holds gives the verdict.
    verdict=(
        Rule("neutral", "unread", is_withheld),
        Rule("warn", "format", depends_on_format),
        Rule("warn", "doubt", gives_up),
        Rule("good", "steady", is_steady),
        Rule("neutral", "open"),
    ),
    # Parts of the page, in this order.
    parts=(
        Part(
            "formats",
            (
                Plot("formats", draw_formats, SCLAR, condition=lambda m: m.spread),
                Table("formats", list_formats, SCLAR),
                Examples("formats", list_format_examples, lambda m: "lost_by_format"),
            ),
            figures=("format_difference", "format_spread"),
        ),
        Part("verdicts", figures=("posix",)),
        Part(
            "doubt",
            (
                Table("doubt", list_flips, SHARMA, condition=lambda m: m.flips),
                Examples("doubt", list_doubt_examples, lambda m: "given_up"),
            ),
            figures=("given_up",),
        ),
    ),
    # The first that applies is the finding.
    leads=(
        Lead("unread", condition=is_withheld),
        Lead(
            "format",
            figure="format_difference",
            plot="formats",
            size=get_format_size,
            pair=lambda m: list_format_examples(m)[:1],
            item_figure=lambda m: "lost_by_format",
            condition=depends_on_format,
        ),
        Lead(
            "doubt",
            figure="given_up",
            size=get_doubt_size,
            pair=lambda m: list_doubt_examples(m)[:1],
            item_figure=lambda m: "given_up",
            condition=gives_up,
        ),
        Lead("steady", figure="format_difference", plot="formats", condition=is_steady),
        Lead("open", figure="format_difference", plot="formats"),
    ),
    data=lambda m: m.to_dict(),
    by_item=list_item_figures,
    # Stored predictions are of one prompt.
    without_model="A model must answer anew in other prompt formats, but its predictions are stored.",
    reads="none",
)
