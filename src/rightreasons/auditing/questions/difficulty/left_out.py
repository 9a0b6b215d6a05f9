"""The part of the report on left-out words: which answers does one word carry?"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.actions import ask
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import decimal, percent, written
from rightreasons.auditing.questions.difficulty import agreement, plots
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.asking.word_shifts import WordShifts, measure_word_shifts

MAX_ITEMS = 100
"""Items whose words are left out, unless the option says otherwise: each is asked once per word."""

N_EXAMPLES = 6

SOURCE = "Erasure: Li, Monroe & Jurafsky 2016; its largest shift: this package"
DEFINITION = (
    "Largest change of the probabilities of the labels (total variation, 0 to 1) when one word is left out of the text."
)
OTHERS = {
    "small_margin": agreement.SMALL_MARGIN,
    "entropy": agreement.ENTROPY,
    "words": agreement.WORDS,
    "mean_shift": ("Mean shift", "Over the words of the text, in place of the largest."),
    "wrong": agreement.WRONG,
}


def applies(context: AuditContext) -> p.Applicability:
    """Ask for some items, and for a model that can be asked again."""
    if context.stored is not None:
        return p.applies_not("Words are left out and the model asked again, which stored predictions cannot answer.")
    return agreement.enough_items(context)


def result(context: AuditContext, limit: int | None) -> p.SectionResult:
    """Report what left-out words do to the items of the primary split."""
    items, occlusion = context.occluded(context.primary, limit or MAX_ITEMS)
    measured = measure_word_shifts(occlusion)
    headlines = _headlines(context, measured)
    examples = _examples(context, items, measured)
    flipped = written(headlines["flipped_by_one_word"].estimate)
    once = context.answers_once
    return p.SectionResult(
        verdict=p.Verdict(
            "neutral",
            "Ranked by left-out words",
            f"Leaving one word out changes the answer to {flipped} of {counted(len(measured), 'item')}.",
        ),
        headlines=tuple(headlines.values()),
        parts=(_part(context, measured, headlines, examples, once=once),),
        limits=_limits(context, measured),
        data={
            "left_out_words": {
                "definition": DEFINITION,
                "n_asked": len(occlusion.starts) + len(occlusion),
                "n_unanswered": occlusion.n_unanswered,
                "ranking": [_row(context, items, measured, place) for place in measured.order],
            },
        },
        finding=p.Finding(
            claim=f"changes its answer to {int((measured.flips > 0).sum())} of {counted(len(measured), 'item')} when "
            "one word is left out",
            evidence=f"{counted(len(occlusion.starts), 'text')} with one word left out.",
            figure="flipped_by_one_word",
            actions=(
                p.Action("Read the items that one word decides, and whether it should.", link="#difficulty"),
                p.Action("Rank more items.", ask(context, "difficulty", all_items=True, items="500")),
            ),
        ),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _headlines(context: AuditContext, measured: WordShifts) -> dict[str, p.Headline]:
    resampling, split, n = context.resampling, context.primary.name, len(measured)
    rows = [
        (
            "flipped_by_one_word",
            "Flipped by one left-out word",
            "Share of items with a word without which the answer is another; whether it should be, only reading tells.",
            measured.flipped(resampling),
            n,
        ),
        ("median_shift", "Median largest shift", DEFINITION, measured.median(resampling), n),
    ]
    groups, accuracies = measured.groups(), measured.accuracies(resampling)
    for name, place, size in agreement.ENDS if groups is not None else ():
        count = groups.counts[place] if groups is not None else 0
        definition = f"Share of right answers among the {count} items of {size} shift."
        rows.append((f"{name}_accuracy", f"Accuracy, {name} group", definition, accuracies[place], count))
    return {
        key: p.Headline.of(
            key,
            p.FigureText(
                name,
                definition,
                "Counted" if key.endswith("accuracy") else SOURCE,
                better="higher" if key.endswith("accuracy") else None,
            ),
            estimate,
            split=split,
            n=size,
        )
        for key, name, definition, estimate, size in rows
    }


def _part(
    context: AuditContext,
    measured: WordShifts,
    headlines: dict[str, p.Headline],
    examples: tuple[p.ExampleList, ...],
    *,
    once: bool,
) -> p.Part:
    groups = measured.groups()
    correct = measured.correct if measured.labeled.all() else None
    quantiles = ", ".join(f"{q:.0%} {decimal(float(np.quantile(measured.values, q)))}" for q in (0.1, 0.5, 0.9))
    pictures = [
        plots.difficulty_histogram(
            "left_out_histogram",
            difficulty=measured.values,
            correct=correct,
            xlabel="largest shift by one left-out word",
            log=False,
        ).plot(
            title="Largest shift by one left-out word",
            caption="Items by shift; no interval is drawn: every item is counted.",
            alt=f"Histogram of the largest shift; quantiles: {quantiles}.",
            source=SOURCE,
        )
    ]
    if groups is not None:
        pictures.append(
            agreement.accuracy_plot(
                "left_out_accuracy",
                groups,
                measured.accuracies(context.resampling),
                context.resampling,
                by="shift",
                of="shift",
                source="Counted",
            )
        )
    generated = "\n\nAnswers are generated, so that an answer stays or changes: a shift is 0 or 1." if once else ""
    return p.Part(
        title="What one left-out word changes",
        text="Each word of a text is left out, one at a time, and the model is asked again. The shift is the share of "
        "probability that moves to other labels: near 1, one word carries the whole answer. It is about whole words, "
        "and needs no gradients; it is not the Fisher information, which is about small steps. A word that means the "
        f"label should carry the answer; a name or a comma should not.{generated}",
        headlines=tuple(headlines.values()),
        plots=tuple(pictures),
        tables=(
            agreement.correlation_table(
                "left_out_correlations",
                measured.correlations(context.resampling),
                {key: texts for key, texts in OTHERS.items() if key != "wrong" or groups is not None},
                context.resampling,
                of="the largest shift",
            ),
        ),
        examples=examples,
    )


def _examples(context: AuditContext, items: AuditSplit, measured: WordShifts) -> tuple[p.ExampleList, ...]:
    order = measured.order
    return tuple(
        p.ExampleList(
            key=f"left_out_{name}",
            title=title,
            note="The shade of a word is the shift without it.",
            examples=tuple(_example(context, items, measured, place) for place in places),
        )
        for name, title, places in (
            ("most", "Carried by one word", order[:N_EXAMPLES]),
            ("least", "Moved least by any word", order[::-1][:N_EXAMPLES]),
        )
    )


def _example(context: AuditContext, items: AuditSplit, measured: WordShifts, place: int) -> p.Example:
    row, occlusion = int(measured.rows[place]), measured.occlusion
    first, last = occlusion.offsets[row : row + 2]
    shifts = measured.shifts(place)
    words = np.flatnonzero((occlusion.parts[first:last] == 0) & ~np.isnan(shifts))
    marks = tuple(
        p.Mark(
            int(occlusion.starts[first + word]),
            int(occlusion.ends[first + word]),
            "weight",
            float(shifts[word]),
            f"without it, {percent(float(shifts[word]))} of the probability moves",
        )
        for word in words.tolist()
    )
    example = example_of(context, items, row, int(measured.predicted[place]), float(measured.confidence[place]), marks)
    word = int(np.nanargmax(shifts))
    text = items.texts[row] if occlusion.parts[first + word] == 0 else (items.text_pairs or [""])[row]
    own = text[occlusion.starts[first + word] : occlusion.ends[first + word]]
    after = int(occlusion.predicted_without[first + word])
    note = f"Without “{own}”, {percent(float(shifts[word]))} of the probability moves"
    note += f", and the answer is {context.label_name(after)}." if after != measured.predicted[place] else "."
    return dataclasses.replace(example, note=f"{example.note} {note}".strip())


def _limits(context: AuditContext, measured: WordShifts) -> tuple[str, ...]:
    occlusion = measured.occlusion
    limits = [
        "A text without a word may be one that nobody would write, and may rightly have another label.",
        "Words that stand for one another hide each other where they are left out one at a time.",
    ]
    if len(occlusion) < len(context.primary):
        limits.append(
            f"Words of {len(occlusion):,} of {len(context.primary):,} items were left out, chosen by the seed."
        )
    if occlusion.n_unanswered:
        limits.append(f"Ignored: {counted(occlusion.n_unanswered, 'text')} without a word, to which no answer came.")
    if occlusion.n_truncated:
        limits.append(
            f"{counted(occlusion.n_truncated, 'text was', 'texts were')} cut; a word that was cut off moves nothing."
        )
    return tuple(limits)


def _row(context: AuditContext, items: AuditSplit, measured: WordShifts, place: int) -> dict[str, Any]:
    return {
        "id": items.ids[int(measured.rows[place])],
        "shift": float(measured.values[place]),
        "mean_shift": float(measured.mean[place]),
        "words_that_flip": int(measured.flips[place]),
        "prediction": context.label_name(int(measured.predicted[place])),
        "confidence": float(min(measured.confidence[place], 1.0)),
        "label": context.label_name(int(measured.labels[place])),
        "words": measured.words(place),
    }
