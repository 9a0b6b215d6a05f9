"""The part of the report on the chat template: what is picked with it and without it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import written
from rightreasons.auditing.questions.probes.examples import NAMES
from rightreasons.foundations.scores import Scores
from rightreasons.measuring.asking.picks import ask_for_picks
from rightreasons.measuring.asking.templates import TemplateFigures, measure_templates, template_tables
from rightreasons.measuring.options import ProbesOptions
from rightreasons.measuring.probes import ORIGINAL, ProbeTables

Picks = Mapping[str, NDArray[np.int64]]


def compare(
    context: AuditContext, options: ProbesOptions, tables: ProbeTables, picked: Picks
) -> TemplateFigures | None:
    """Ask again without the chat template, or with it where the model was asked without.

    Args:
        context: The audit.
        options: Of the probes.
        tables: Its items under the probes.
        picked: Name of a table -> what was picked as the audit asks.

    Returns:
        The figures; None where the model has no template, or they are not wanted.
    """
    other = context.prompted.other_way() if context.prompted is not None and options.templates else None
    if context.prompted is None or other is None:
        return None
    folder = context.folder("other template", context.primary.fingerprint, str(context.seed))

    def ask(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Scores:
        return other.choose(prompts, choices, ids=ids, out=folder, progress=context.progress)

    asked = template_tables(tables)
    again = ask_for_picks(asked, ask)
    ways = (picked, again) if context.prompted.rendering.chat else (again, picked)
    return measure_templates(asked, *ways, resampling=context.resampling)


def part(figures: TemplateFigures, level: str) -> p.Part:
    """Report the comparison."""
    same = "No unchanged item is answered in both."
    if figures.agreement is not None:
        same = f"The same choice is picked in {written(figures.agreement)} of the unchanged items."
    return p.Part(
        title="With and without the chat template",
        text=f"The same prompt was put to the model in both ways, without the template as bare text. {same} A "
        "preference without the question in one way alone comes from how the model is asked.",
        tables=(
            p.Table(
                key="templates",
                title="Picked with and without the chat template",
                columns=(
                    p.Column("probe", "Items", "text"),
                    p.Column("what", "What is picked", "text"),
                    p.Column("n", "Answered both times", "count"),
                    p.Column("with_template", f"With [{level}]", "share"),
                    p.Column("without", f"Without [{level}]", "share"),
                    p.Column("difference", "Difference", "share"),
                    p.Column("p", "p", "p_value", "Exact McNemar test of no difference."),
                ),
                rows=tuple(
                    (
                        NAMES.get(name, "Unchanged"),
                        "the right choice" if name == ORIGINAL else "the old answer",
                        each.n_items,
                        *(getattr(each, field.name) for field in dataclasses.fields(each)[1:]),
                    )
                    for name, each in figures.probes.items()
                ),
                source="Comparison of this package",
            ),
        ),
    )
