"""The part of the report on usable information: how much of each label does the model have from its input?"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext, example_of
from rightreasons.audited.predictions import safe_name
from rightreasons.core.intervals import estimate_of
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.difficulty.usable_information import InformationMeasurement, measure_information
from rightreasons.page.parts import Example
from rightreasons.page.prose import prose
from rightreasons.page.question import Examples, Figure, Need, Part, Question, Rule
from rightreasons.page.words import decimal, percent

N_EXAMPLES = 6

SOURCE = "Ethayarajh et al. 2022"

FIGURES = ("usable_information", "misled")


@dataclasses.dataclass(frozen=True, eq=False)
class InformationAnswers:
    """The usable information of the primary split.

    Attributes:
        context: The audit.
        measured: The information; None where it is infinite, or there is none.
        withheld: Why so; "" else.
    """

    context: AuditContext
    measured: InformationMeasurement | None
    withheld: str = ""

    @property
    def n_items(self) -> int:
        """The number of items with a label and both answers."""
        return len(self.measured or ())


def is_scored(context: AuditContext, options: DifficultyOptions) -> bool:
    """Return whether a prompted model scores labels, and some items have one."""
    scored = context.prompted is not None and context.prompted.rendering.scoring != "generated"
    return scored and bool(context.primary.labeled.any())


def measure(context: AuditContext, options: DifficultyOptions) -> InformationAnswers:
    """Ask a prompted model without the input."""
    split = context.primary
    if context.prompted is None:
        raise ValueError("Expected a prompted language model, but the model is another.")
    try:
        measured = measure_information(
            context.prompted,
            context.scores(),
            split.labels,
            ids=split.ids,
            choices=split.choices,
            has_pairs=split.text_pairs is not None,
            resampling=context.resampling,
            progress=context.progress,
            out=context.folder(f"information-{safe_name(split.name)}", split.fingerprint),
        )
    except ValueError as error:
        return InformationAnswers(context, None, str(error))
    return InformationAnswers(context, measured)


def least_informed(m: InformationAnswers) -> Iterator[Example]:
    """Show the items with the least information."""
    split, scores, measured = m.context.primary, m.context.scores(), m.measured
    if measured is None:
        return
    for place in np.argsort(measured.figures.pointwise, kind="stable")[:N_EXAMPLES].tolist():
        name, bits = measured.ids[place], float(measured.figures.pointwise[place])
        answer = scores.ids.index(name)
        predicted, confidence = int(scores.predicted[answer]), float(scores.confidence[answer])
        first, second = (percent(float(side[place])) for side in (measured.with_input, measured.without_input))
        note = f"{decimal(bits)} bits: P(label) {first} with the text, {second} without."
        yield example_of(m.context, split, split.ids.index(name), predicted, confidence, note=note)


def data(m: InformationAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    if m.measured is None:
        return {"information": {"withheld": m.withheld}}
    return {"information": {"ids": list(m.measured.ids), **m.measured.figures.to_dict()}}


INFORMATION = Question(
    name="information",
    order=3,
    title="How much of each label does the model have from its input?",
    prose=prose(__file__),
    needs=(Need("scored", is_scored),),
    measure=measure,
    figures=(
        Figure(
            "usable_information",
            lambda m: m.measured and estimate_of(m.measured.figures.information, m.measured.figures.interval),
            SOURCE,
            "ratio",
            "higher",
        ),
        Figure("misled", lambda m: m.measured and m.measured.misled(m.context.resampling), SOURCE, better="lower"),
    ),
    headlines=FIGURES,
    verdict=(Rule("neutral", "withheld", lambda m: m.withheld), Rule("neutral", "measured")),
    parts=(Part("bits", (Examples("information_least", least_informed),), figures=FIGURES, when=lambda m: m.measured),),
    data=data,
)
