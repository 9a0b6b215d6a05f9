"""A question of one small folder: are the answers long?"""

import dataclasses
from pathlib import Path

import numpy as np

from rightreasons.audited.examples import make_example
from rightreasons.core.estimates import estimate_share
from rightreasons.core.options import QuestionOptions, option
from rightreasons.page.parts import ItemFigure
from rightreasons.page.plots import dot_rows
from rightreasons.page.prose import Prose
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

PROSE = """
{% macro both() %}
{{ figures.long_rate | interval }} of the texts
are long{% endmacro %}

## need.texts
Texts are too few: {{ context.primary.texts | length }}.

## figure.long_rate: Long texts
Share of texts with more than {{ options.most | counted("word") }}.

## figure.short_rate: Short texts
Share of the others.

## verdict.long: Too long
{{ both() }}.

## verdict.fine: Short enough
{{ both() }}, which is fine.

## claim
reads texts of which {{ figures.long_rate.estimate.value | percent }} are long

## evidence
{{ m.n_items | counted("text") }}.

## contrast.all: Texts of {{ split }}
- that are long
- by guessing
- of nobody

## advice
- [Read them.](#items)
{% if m.long.any() %}
- Cut “{{ m.names[0] }}”.
{% endif %}
- {{ gate(report, "toy.long_rate > 0.5", "most texts are long") }}

## part.all: How long they are in {{ split }}
One paragraph,
of two lines.

And {{ m.names[0] }} in another.

## plot.rates: Rates
With {{ level }} intervals.

## alt.rates
{{ figures.long_rate | interval }}.

## table.texts: Texts

- text (text): Text of {{ m.n_items }}

## examples.longest: A long text
The first.

## part.never: Not shown

## limits
- Words are counted, not read.

## data.said
{{ m.n_items }} texts
"""


class ToyOptions(QuestionOptions):
    """Are the texts long?"""

    most: int = option(4, "Words of the longest short text.", minimum=1)


@dataclasses.dataclass(frozen=True, eq=False)
class Measurement:
    """Which texts are long."""

    context: object
    long: np.ndarray
    names: tuple

    @property
    def n_items(self):
        return len(self.long)

    def rate(self, which):
        return estimate_share(
            int((self.long == which).sum()), self.n_items, self.context.resampling
        )


def measure(context, options):
    split = context.primary
    return Measurement(
        context,
        np.array([len(t.split()) > options.most for t in split.texts]),
        ("- a\n\nb ## limits",),
    )


def longest(m):
    rows = np.flatnonzero(m.long)[:1]
    return [make_example(m.context, m.context.primary, int(row), 0, 0.5) for row in rows]


def toy(folder, prose=PROSE, **changes):
    """Write the prose into a folder, and make the question."""
    path = Path(folder) / "question.md.j2"
    path.write_text(prose, "utf-8")
    question = Question(
        name="toy",
        title="Are the texts long?",
        prose=Prose(path),
        needs=(Need("texts", lambda context, options: len(context.primary) > 1),),
        measure=measure,
        figures=(
            Figure("long_rate", lambda m: m.rate(True), "Counted", better="lower"),
            Figure("short_rate", lambda m: m.rate(False) if m.long.any() else None, "Counted", n=lambda m: 7),
        ),
        headlines=("long_rate", "short_rate"),
        verdict=(Rule("bad", "long", lambda m: m.long.mean() > 0.5), Rule("good", "fine")),
        parts=(
            Part(
                "all",
                (
                    Plot("rates", lambda key, m: dot_rows(
                        key, rows=[("long", [m.rate(True)])], series=("rate",), xlabel="share"), "Counted"),
                    Table("texts", lambda m: [("a",)]),
                    Examples("longest", longest),
                ),
                figures=("long_rate",),
            ),
            Part("never", condition=lambda m: False),
        ),
        leads=(
            Lead("all", figure="long_rate", plot="rates", size=lambda m: m.long.mean(),
                 contrast=lambda m: (m.rate(True), None, None)),
        ),
        data=lambda m: {"n_long": int(m.long.sum())},
        by_item=lambda m: [ItemFigure.from_arrays("long_rate", "Long texts", "lower", m.context.primary.ids, m.long)],
    )  # fmt: skip
    return dataclasses.replace(question, **changes)
