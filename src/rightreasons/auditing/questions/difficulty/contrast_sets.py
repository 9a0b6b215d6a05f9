"""The part of the report on contrast sets: is the model right on items and on their small revisions?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.examples import changes, example_of
from rightreasons.auditing.page.words import first_of, level_percent, percent, written
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.contrast_sets import (
    FIGURES,
    GARDNER,
    ContrastItems,
    ContrastMeasurement,
    measure_contrast_sets,
)

MIN_SETS = 20
"""With fewer sets than this, there is no verdict on them."""

WEAK, POOR = 0.9, 0.5
"""Of the sets whose original is right, fewer that are right throughout than this count as failing some, or most."""

N_BROKEN = 6
"""Sets shown."""


def contrast_items(split: AuditSplit, original_column: str | None) -> ContrastItems | None:
    """Find the contrast sets of a split; None where there are none."""
    return ContrastItems.of(split.data, split.labels, split.groups_column, original_column)


def measured_splits(
    context: AuditContext, items: ContrastItems, original_column: str | None
) -> dict[str, ContrastMeasurement]:
    """Measure the contrast sets of every audited split that has some, the primary one first."""
    measured = {}
    for split in context.splits:
        found = items if split is context.primary else contrast_items(split, original_column)
        if found is not None:
            measured[split.name] = measure_contrast_sets(
                found, context.scores(split).predicted, split.labels, resampling=context.resampling
            )
    return measured


def result(context: AuditContext, items: ContrastItems, measured: Mapping[str, ContrastMeasurement]) -> p.SectionResult:
    """Report the contrast sets of the audited splits, by name, of which the primary one leads."""
    primary = measured[context.primary.name]
    right = context.scores().predicted[items.rows] == context.primary.labels[items.rows]
    originals = np.flatnonzero(items.is_original)
    whole = [bool(right[items.groups == items.groups[place]].all()) for place in originals]
    ids = [context.primary.ids[items.rows[place]] for place in originals]  # a set goes by the name of its original
    by_item = (p.ItemFigure.of("contrast_consistency", FIGURES["contrast_consistency"].name, "higher", ids, whole),)
    return p.SectionResult(
        verdict=verdict(primary),
        headlines=_headlines(primary, context.primary.name),
        parts=(_part(context, measured),),
        limits=_limits(primary),
        data={"contrast_sets": {name: one.to_dict() for name, one in measured.items()}},
        by_item=by_item,
    )


def verdict(measured: ContrastMeasurement) -> p.Verdict:
    """Judge by the intervals: do revisions of what it gets right fail, and does accuracy fall?"""
    original, contrast, _, followed = (measured.figures[key] for key in FIGURES)
    summary = _sentence(measured)
    if measured.result.n_sets < MIN_SETS:
        return p.Verdict("neutral", "Cannot tell from so few contrast sets", summary)
    if followed.low is None or followed.high is None:
        return p.Verdict("neutral", "Right on no original", summary)
    summary += f" Of the sets whose original it gets right, {written(followed)} are right throughout."
    if followed.high < POOR:
        return p.Verdict("bad", "Fails on most small revisions", summary)
    if (contrast.high or 0.0) < (original.low or 0.0):
        return p.Verdict(
            "bad", "Falls on small revisions", f"{summary} The intervals of the accuracies do not overlap."
        )
    if followed.high < WEAK:
        return p.Verdict("warn", "Fails on some small revisions", summary)
    if followed.low < WEAK:
        return p.Verdict(
            "neutral",
            "Cannot tell",
            f"{summary} {counted(measured.counts['contrast_followed'], 'such set does', 'such sets do')} not rule out "
            f"that fewer than {WEAK:.0%} are.",
        )
    return p.Verdict("good", "Right on revisions too", summary)


# ------------------------------------------------------------------------------------------------------------- private


def _headlines(measured: ContrastMeasurement, split: str) -> tuple[p.Headline, ...]:
    return tuple(
        p.Headline.of(key, FIGURES[key], estimate, split=split, n=measured.counts[key])
        for key, estimate in measured.figures.items()
    )


def _sentence(measured: ContrastMeasurement) -> str:
    """Say in one sentence how the model does."""
    original, contrast, consistency, _ = (written(measured.figures[key]) for key in FIGURES)
    return (
        f"On {counted(measured.result.n_sets, 'contrast set')} it is right on {original} of the originals and on "
        f"{contrast} of their revisions, and right throughout on {consistency} of the sets."
    )


def _part(context: AuditContext, measured: Mapping[str, ContrastMeasurement]) -> p.Part:
    """Report the contrast sets of the audited splits, and show where the primary one breaks."""
    level, primary = level_percent(context.resampling.level), context.primary.name
    first = measured[primary]
    lost = first.outcomes[1]
    drawing = plots.dot_rows(
        "contrast_sets",
        rows=[
            plots.Bar.of(text.name, *(each.figures[key] for each in measured.values())) for key, text in FIGURES.items()
        ],
        series=tuple(measured),
        xlabel="share",
    )
    words = "; ".join(f"{FIGURES[key].name}: {percent(one.value or 0.0)}" for key, one in first.figures.items())
    text = (
        "A contrast set is an item with small revisions that usually change its label, so a model that is right for "
        f"the right reasons follows them.\n\n{_sentence(first)} In {counted(lost.n_sets, 'set')} it is right on "
        "the original "
        f"alone; in {lost.n_same_answer:,} of these it answers every revision as it does the original."
    )
    return p.Part(
        title="Contrast sets",
        text=text,
        headlines=_headlines(first, primary),
        plots=(
            drawing.plot(
                title="Right on originals, on revisions and on whole sets",
                caption=f"Lines are {level} intervals with sets as units: Wilson intervals for originals and sets, and "
                "for revisions Wilson intervals of their effective number.",
                alt=f"On “{primary}”: {words}.",
                source=f"{GARDNER}; intervals: Wilson 1927, Korn & Graubard 1998",
            ),
        ),
        tables=(_split_table(measured, level), _outcome_table(first, level)),
        examples=_broken(context, first),
    )


def _limits(measured: ContrastMeasurement) -> tuple[str, ...]:
    """Say what the figures of contrast sets do not cover."""
    said = ["Consistency falls as sets grow: compare it between models on the same sets alone."]
    if measured.items.n_left_out:
        said.append(
            f"Left out: {counted(measured.items.n_left_out, 'contrast set')}, as an item has no label, or the "
            "original or all revisions are missing."
        )
    return tuple(said)


def _split_table(measured: Mapping[str, ContrastMeasurement], level: str) -> p.Table:
    return p.Table(
        key="contrast_sets",
        title="Contrast sets by split",
        columns=(
            p.Column("split", "Split", "text"),
            p.Column("n_sets", "Sets", "count"),
            p.Column("n_contrasts", "Revisions", "count"),
            *(p.Column(key, text.name, "share") for key, text in FIGURES.items()),
        ),
        rows=tuple(
            (name, one.result.n_sets, one.result.n_contrasts, *one.figures.values()) for name, one in measured.items()
        ),
        note=f"In brackets: {level} intervals. Definitions as above.",
        source=GARDNER,
    )


def _outcome_table(measured: ContrastMeasurement, level: str) -> p.Table:
    return p.Table(
        key="contrast_outcomes",
        title="How the sets come out",
        columns=(
            p.Column("outcome", "Set", "text"),
            p.Column("n_sets", "Sets", "count"),
            p.Column("share", f"Share [{level}]", "share", "Wilson intervals."),
            p.Column("n_same_answer", "One answer to all", "count", "Sets with the same prediction for every item."),
        ),
        rows=tuple((one.name.capitalize(), one.n_sets, one.share, one.n_same_answer) for one in measured.outcomes),
        note="The revisions of a set are right if all of them are.",
        source="Counted",
    )


def _broken(context: AuditContext, measured: ContrastMeasurement) -> tuple[p.ExampleList, ...]:
    if not measured.broken:
        return ()
    split, scores = context.primary, context.scores()
    order = np.argsort([-scores.confidence[row] for _, row in measured.broken], kind="stable")[:N_BROKEN]
    which = first_of(len(order), len(measured.broken), "such revision", "first" if context.answers_once else "surest")
    examples = []
    for original, row in (measured.broken[int(place)] for place in order):
        example = example_of(
            context,
            split,
            row,
            int(scores.predicted[row]),
            float(scores.confidence[row]),
            marks=changes(split.texts[original], split.texts[row]),
        )
        said = (
            "The original is answered rightly."
            if context.answers_once
            else f"The original is {context.label_name(int(split.labels[original]))} and answered so "
            f"(confidence {percent(float(scores.confidence[original]))})."
        )
        examples.append(dataclasses.replace(example, note=f"{example.note} {said}".strip()))
    return (
        p.ExampleList(
            key="broken_sets",
            title="Right on the original, wrong on the revision",
            note=f"{which}. Marked: what was changed; point at a mark to see what stood there before. A label can be "
            "wrong too: read them.",
            examples=tuple(examples),
        ),
    )
