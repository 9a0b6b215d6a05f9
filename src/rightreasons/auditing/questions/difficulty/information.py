"""The part of the report on usable information: how much of each label does the model have from its input?"""

from __future__ import annotations

import dataclasses

import numpy as np

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import decimal, percent, written
from rightreasons.auditing.predictions import safe_name
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.asking.information import InformationMeasurement, measure_information
from rightreasons.measuring.estimates import Estimate, estimate_of

N_EXAMPLES = 6

SOURCE = "Ethayarajh et al. 2022"


def applies(context: AuditContext) -> bool:
    """Return whether a prompted model scores labels, and some items have one."""
    prompted = context.prompted
    scored = prompted is not None and prompted.rendering.scoring != "generated"
    return scored and bool(context.primary.labeled.any())


def result(context: AuditContext) -> p.SectionResult:
    """Report the usable information of the primary split; one sentence where it is infinite."""
    split, prompted = context.primary, context.prompted
    if prompted is None:
        raise ValueError("Expected a prompted language model, but the model is another.")
    try:
        measured = measure_information(
            prompted,
            split.texts,
            split.labels,
            text_pairs=split.text_pairs,
            choices=split.choices,
            ids=split.ids,
            scores=context.scores(),
            resampling=context.resampling,
            progress=context.progress,
            out=context.folder(f"information-{safe_name(split.name)}", split.fingerprint),
        )
    except ValueError as error:
        return p.SectionResult(
            verdict=p.Verdict("neutral", "Cannot tell", f"Usable information could not be measured. {error}"),
            headlines=(),
            parts=(),
            data={"information": {"withheld": str(error)}},
        )
    figures = measured.figures
    information = estimate_of(figures.information, figures.interval)
    misled = measured.misled(context.resampling)
    headlines = (
        p.Headline.of(
            "usable_information",
            p.FigureText(
                "Usable information, bits",
                "Mean over items of log₂ of the probability of the label, minus the same where the text is empty.",
                SOURCE,
                "ratio",
                "higher",
            ),
            information,
            split=split.name,
            n=len(measured),
        ),
        p.Headline.of(
            "misled",
            p.FigureText(
                "Less probable with the text",
                "Share of items whose label is less probable with the text than with an empty one.",
                SOURCE,
                better="lower",
            ),
            misled,
            split=split.name,
            n=len(measured),
        ),
    )
    return p.SectionResult(
        verdict=_verdict(information, misled),
        headlines=headlines,
        parts=(_part(context, measured, headlines),),
        limits=(
            (
                "Usable information is that of this model under this prompt: labels that the prompt favors leave "
                "little to learn from the text."
            ),
            *(
                [f"Left out: {counted(measured.n_left_out, 'labeled item')} without an answer to one of the two."]
                if measured.n_left_out
                else []
            ),
        ),
        data={"information": {"ids": list(measured.ids), **figures.to_dict()}},
    )


# ------------------------------------------------------------------------------------------------------------- private


def _verdict(information: Estimate, misled: Estimate) -> p.Verdict:
    summary = (
        f"Its input tells it {written(information, 'ratio')} bits of the label on average, and makes the label less "
        f"probable for {written(misled)} of the items."
    )
    if information.high is not None and information.high < 0:
        return p.Verdict("warn", "Its input misleads it", summary)
    if information.low is None or information.low <= 0:
        return p.Verdict("neutral", "Cannot tell that its input helps", summary)
    return p.Verdict("neutral", "Its input helps", summary)


def _part(context: AuditContext, measured: InformationMeasurement, headlines: tuple[p.Headline, ...]) -> p.Part:
    figures, split, scores = measured.figures, context.primary, context.scores()
    place_of = {name: row for row, name in enumerate(split.ids)}
    answer_of = {name: row for row, name in enumerate(scores.ids)}
    order = np.argsort(figures.pointwise, kind="stable").tolist()

    def example(place: int) -> p.Example:
        name = measured.ids[place]
        row, answer = place_of[name], answer_of[name]
        shown = example_of(context, split, row, int(scores.predicted[answer]), float(scores.confidence[answer]))
        note = (
            f"{decimal(float(figures.pointwise[place]))} bits: P(label) {percent(float(measured.with_input[place]))} "
            f"with the text, {percent(float(measured.without_input[place]))} without."
        )
        return dataclasses.replace(shown, note=f"{shown.note} {note}".strip())

    return p.Part(
        title="What the input tells it",
        text="The prompt is asked with each text, and with an empty text in its place: examples, label words and "
        "choices stay. The information of an item is the logarithm to base 2 of how much more probable its label is "
        f"with the text. Without the text the labels cost {decimal(figures.entropy)} bits on average, with it "
        f"{decimal(figures.conditional_entropy)}: the text is worth {decimal(figures.information)} bits. Below 0, the "
        "text makes its label less probable; such items are hard for this model, or wrongly labeled.",
        headlines=headlines,
        examples=(
            p.ExampleList(
                key="information_least",
                title="Misled most" if figures.pointwise[order[0]] < 0 else "Told least",
                note="The least information, the least first.",
                examples=tuple(example(place) for place in order[:N_EXAMPLES]),
            ),
        ),
    )
