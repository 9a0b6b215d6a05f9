"""Does the data hand it cues?"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.cues.classifier import cue_classifier, cue_transfer
from rightreasons.analysis.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.analysis.cues.statistics import Cue, CueStatistics, cue_statistics
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    Example,
    ExampleList,
    Headline,
    Part,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, p_equals, percent, with_interval
from rightreasons.auditing.questions.cues import plots as plots_cues
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.options import CuesOptions

MIN_ITEMS = 20
"""With fewer labelled items than this nothing can be said about cues."""

SHOWN = 30
"""Cues of the table, and at most half of them in the picture."""

LARGE_GAP = 0.1
N_EXAMPLES = 6

NIVEN = "Niven & Kao 2019; Kavumba et al. 2019"
GAP = "Kavumba et al. 2019; approximate randomization: Noreen 1989"


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What the section has computed.

    Attributes:
        table: Cues of the data the model learns from.
        counted: On which data they were counted, in words.
        credit: (n,) what a cue-only classifier gets on each audited item.
        reached: Its accuracy with interval.
        chance: What guessing gets.
        easy: (n,) which items are Easy.
        defined: What Easy means here.
        gap: The gap; None where all items are Easy, or none is.
        rows: (n,) the audited items, those with a label.
        predicted: (n,) the model's choices.
        confidence: (n,) how sure it was of them.
        labels: (n,) the right choices.
    """

    table: CueStatistics
    counted: str
    credit: NDArray[np.float64]
    reached: Estimate
    chance: float
    easy: NDArray[np.bool_]
    defined: str
    gap: EasyHardGap | None
    rows: NDArray[np.intp]
    predicted: NDArray[np.int64]
    confidence: NDArray[np.float64]
    labels: NDArray[np.int64]


class Cues:
    """Cues in the choices, how far one gets by them alone, and whether the model is better where they help."""

    question = "cues"
    title = "Does the data hand it cues?"
    order = 3
    needs_labels = True

    def applies(self, context: AuditContext, options: CuesOptions) -> Applicability:
        """Ask for a multiple-choice task with enough labelled items."""
        if context.primary.choices is None:
            return applies_not("Cues in the choices are a question about multiple-choice data.")
        labelled = int(context.primary.labelled.sum())
        if labelled < MIN_ITEMS:
            return applies_not(f"It takes at least {MIN_ITEMS} items with a label, but there are {labelled}.")
        return APPLIES

    def run(self, context: AuditContext, options: CuesOptions) -> SectionResult:
        """Answer the question."""
        found = _find(context, options)
        headlines = _headlines(context, found)
        parts = [_cue_part(context, found), _classifier_part(found, headlines)]
        if found.gap is not None:
            parts.append(_gap_part(context, found, found.gap, headlines))
        shown = ("easy_hard_gap", "cue_only_accuracy", "easy_accuracy", "hard_accuracy")
        return SectionResult(
            verdict=_verdict(context, found),
            headlines=tuple(headlines[key] for key in shown if key in headlines),
            parts=tuple(parts),
            limits=_limits(found),
            data={
                "cues": found.table.to_dict(),
                "counted_on": found.counted,
                "easy_hard_gap": None if found.gap is None else found.gap.to_dict(),
                "easy_means": found.defined,
                "easy_ids": [context.primary.ids[row] for row in found.rows[found.easy]],
            },
        )


SECTION = Cues()


# ------------------------------------------------------------------------------------------------------------- figures


def _find(context: AuditContext, options: CuesOptions) -> _Found:
    split = context.primary
    rows = np.flatnonzero(split.labelled)
    every = split.choices or []
    choices, prompts = [every[i] for i in rows], [split.texts[i] for i in rows]
    labels = split.labels[rows]
    groups = split.column(options.groups_column or "source_id")
    kept: list[Any] = [groups[i] for i in rows] if groups is not None else list(range(len(rows)))
    shared: dict[str, Any] = {"features": options.features}
    train = _train(context)
    if train is not None:
        learned, answers, questions = train
        table = cue_statistics(learned, answers, prompts=questions, confidence_level=context.confidence_level, **shared)
        credit = cue_transfer(
            learned, answers, choices, labels, train_prompts=questions, test_prompts=prompts, **shared
        )
        counted = f"the {len(learned):,} items of the training split"
    else:
        table = cue_statistics(choices, labels, prompts=prompts, confidence_level=context.confidence_level, **shared)
        result = cue_classifier(
            choices,
            labels,
            prompts=prompts,
            groups=kept,
            n_folds=min(options.n_folds, len(set(kept))),
            n_permutations=0,
            resampling=Resampling(resamples=1, seed=context.seed),
            **shared,
        )
        credit = np.array(result.credits)
        counted = f"the {len(choices):,} items of “{split.name}” itself, as there is no training split"
    interval = intervals.bootstrap_mean(
        credit,
        clusters=kept,
        resampling=context.resampling,
    )
    easy, defined = _easy(context, rows, credit, train is not None)
    predicted, confidence = _predictions(context, rows)
    gap = None
    if easy.any() and not easy.all():
        gap = easy_hard_gap(
            predicted,
            labels,
            easy,
            resampling=context.resampling,
        )
    return _Found(
        table=table,
        counted=counted,
        credit=credit,
        reached=Estimate(
            float(credit.mean()), interval.low, interval.high, interval.confidence_level, "bootstrap over items"
        ),
        chance=float(np.mean([1 / len(row) for row in choices])),
        easy=easy,
        defined=defined,
        gap=gap,
        rows=rows,
        predicted=predicted,
        confidence=confidence,
        labels=labels,
    )


def _train(context: AuditContext) -> tuple[list[list[str]], NDArray[np.int64], list[str]] | None:
    data = context.train
    if data is None or not {"choices", "prompt", "label"} <= set(data.column_names):
        return None
    labels = np.array(data["label"][:], dtype=np.int64)
    rows = np.flatnonzero(labels >= 0)
    if not len(rows):
        return None
    kept = data.select(rows)
    return kept["choices"][:], labels[rows], kept["prompt"][:]


def _easy(
    context: AuditContext, rows: NDArray[np.intp], credit: NDArray[np.float64], trained: bool
) -> tuple[NDArray[np.bool_], str]:
    told = context.primary.column("easy")
    if told is not None:
        return np.array([bool(told[i]) for i in rows]), "the data's own column “easy”"
    source = "the training split" if trained else "the other folds of these items"
    return credit == 1.0, f"the items that a classifier of cues alone, trained on {source}, gets right"


def _predictions(context: AuditContext, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    logits = context.scores().logits
    if isinstance(logits, Ragged):
        probabilities = [softmax(logits[int(row)]) for row in rows]
        return logits.argmax()[rows], np.array([row.max() for row in probabilities])
    return logits[rows].argmax(axis=1).astype(np.int64), softmax(logits[rows]).max(axis=1)


def _headlines(context: AuditContext, found: _Found) -> dict[str, Headline]:
    split, n_items = context.primary.name, len(found.rows)
    made = {
        "cue_only_accuracy": Headline(
            key="cue_only_accuracy",
            name="What cues alone reach",
            estimate=found.reached,
            definition="Accuracy of a classifier that sees words, length, overlap with the prompt and negation of the "
            f"choices and nothing else; guessing gets {fraction(found.chance)}.",
            source="Kavumba et al. 2019, Table 4 (word frequency)",
            split=split,
            n=n_items,
        )
    }
    gap = found.gap
    if gap is not None:
        about = (
            (
                "easy_hard_gap",
                "Easy/Hard gap",
                gap.interval,
                f"Accuracy on Easy minus on Hard items. Easy: {found.defined}.",
            ),
            ("easy_accuracy", "Accuracy on Easy", gap.easy_accuracy_interval, "Share of the Easy items it gets right."),
            (
                "hard_accuracy",
                "Accuracy on Hard",
                gap.hard_accuracy_interval,
                "Share of the other items it gets right.",
            ),
        )
        counts = {"easy_hard_gap": n_items, "easy_accuracy": gap.n_easy, "hard_accuracy": gap.n_hard}
        for key, name, interval, definition in about:
            made[key] = Headline(
                key=key,
                name=name,
                estimate=Estimate(
                    getattr(gap, key), interval.low, interval.high, interval.confidence_level, interval.method
                ),
                definition=definition,
                source=GAP,
                better=None if key == "easy_hard_gap" else "higher",
                split=split,
                n=counts[key],
            )
    return made


# --------------------------------------------------------------------------------------------------------------- parts


def _cue_part(context: AuditContext, found: _Found) -> Part:
    level = percent(found.table.confidence_level)
    alpha = 1 - found.table.confidence_level
    significant = [row for row in found.table.cues if row.p_holm < alpha]
    # What differs from chance comes first, then what is spread widest.
    rest = [row for row in found.table.cues if row.p_holm >= alpha]
    shown = (*significant[:SHOWN], *rest[: max(0, SHOWN - len(significant))])
    drawn = shown[: SHOWN // 2]
    text = (
        f"Counted on {found.counted}. A cue is applicable where exactly one choice has it, and productive when that "
        f"choice is right more often than chance. Of {found.table.n_cues:,} cues, {len(significant):,} "
        f"{'differs' if len(significant) == 1 else 'differ'} from chance after Holm's correction."
    )
    picture = plots_cues.cue_productivity(
        "cue_productivity",
        cues=[
            plots_cues.CuePoint(r.cue, r.applicability, r.productivity, r.low, r.high, r.p_holm < alpha) for r in drawn
        ],
        chance=found.chance,
    )
    return Part(
        title="Cues in the choices",
        text=text,
        plots=(
            picture.plot(
                key="cue_productivity",
                title="Productivity of the cues",
                caption=f"How often the choice that has the cue is right, with the exact {level} interval; the dashed "
                "line is chance. Orange differs from chance after Holm's correction. At the right, in how many items "
                "the cue is applicable.",
                alt="Cues with their productivity: "
                + "; ".join(f"{r.cue} {fraction(r.productivity)} in {r.applicability:,} items" for r in drawn)
                + ".",
                source=NIVEN,
            ),
        ),
        tables=(
            Table(
                key="cues",
                title="Cues",
                columns=(
                    Column("cue", "Cue", "text", "A word of a choice, or a shape of the choice in angle brackets."),
                    Column("applicability", "Applicable", "count", "Items in which exactly one choice has it."),
                    Column("productivity", f"Productivity [{level}]", "number", "Share of those where it is right."),
                    Column("coverage", "Coverage", "number", "Applicable items over all items."),
                    Column("p", "p", "p_value", "Exact binomial test against chance."),
                    Column("p_holm", "p (Holm)", "p_value", "The same, corrected for all cues."),
                ),
                rows=tuple(_cue_row(row, found.table.confidence_level) for row in shown),
                note=f"{len(shown):,} of {found.table.n_cues:,} cues: those that differ from chance, then by "
                "applicability.",
                source=NIVEN,
            ),
        ),
    )


def _cue_row(row: Cue, level: float) -> tuple[Any, ...]:
    productivity = Estimate(row.productivity, row.low, row.high, level, "Clopper-Pearson")
    return (row.cue, row.applicability, productivity, row.coverage, row.p_value, row.p_holm)


def _classifier_part(found: _Found, headlines: dict[str, Headline]) -> Part:
    away = found.reached.low is not None and found.reached.low > found.chance
    says = "the data gives answers away" if away else "it is not seen that the data gives answers away"
    return Part(
        title="How far one gets by cues alone",
        text=f"A classifier that sees cues and nothing else is right on {with_interval(found.reached)} of the items, "
        f"where guessing gets {fraction(found.chance)}: {says}.",
        headlines=(headlines["cue_only_accuracy"],),
    )


def _gap_part(context: AuditContext, found: _Found, gap: EasyHardGap, headlines: dict[str, Headline]) -> Part:
    ends = (gap.accuracy_interval, gap.easy_accuracy_interval, gap.hard_accuracy_interval)
    picture = plots_cues.easy_hard_bars(
        "easy_hard",
        bars=[
            plots_cues.Bars(
                "this model",
                (gap.accuracy, gap.easy_accuracy, gap.hard_accuracy),
                (ends[0].low, ends[1].low, ends[2].low),
                (ends[0].high, ends[1].high, ends[2].high),
            )
        ],
        chance=found.chance,
    )
    examples = _misled(context, found)
    level = percent(context.confidence_level)
    return Part(
        title="Is it better where cues help?",
        text=f"Easy are {found.defined}: {gap.n_easy:,} of {len(found.rows):,} items. On them the model is right on "
        f"{fraction(gap.easy_accuracy)}, on the other {gap.n_hard:,} on {fraction(gap.hard_accuracy)}: a gap of "
        f"{with_interval(headlines['easy_hard_gap'].estimate)}, p {p_equals(gap.p_value)}.",
        headlines=tuple(headlines[key] for key in ("easy_hard_gap", "easy_accuracy", "hard_accuracy")),
        plots=(
            picture.plot(
                key="easy_hard",
                title="Accuracy on Easy and on Hard items",
                caption=f"In percent, with {level} bootstrap intervals over items; the dashed line is chance.",
                alt=f"Accuracy {fraction(gap.accuracy)} on all items, {fraction(gap.easy_accuracy)} on Easy, "
                f"{fraction(gap.hard_accuracy)} on Hard.",
                source=GAP,
            ),
        ),
        examples=(examples,) if examples.examples else (),
    )


def _misled(context: AuditContext, found: _Found) -> ExampleList:
    """Show Hard items that the model gets wrong with the most confidence."""
    wrong = np.flatnonzero(~found.easy & (found.predicted != found.labels))
    order = wrong[np.argsort(-found.confidence[wrong], kind="stable")][:N_EXAMPLES]
    examples: tuple[Example, ...] = tuple(
        example_of(
            context, context.primary, int(found.rows[i]), int(found.predicted[i]), float(found.confidence[i]), marks=()
        )
        for i in order
    )
    return ExampleList(
        key="hard_errors",
        title="Hard items that it gets wrong",
        note="Those that it is most confident about.",
        examples=examples,
    )


def _verdict(context: AuditContext, found: _Found) -> Verdict:
    gap = found.gap
    reach = f"Cues alone reach {with_interval(found.reached)} where guessing gets {fraction(found.chance)}."
    if gap is None:
        return Verdict("neutral", "No Easy and Hard items", f"{reach} All items fall on one side.")
    told = f"Easy {fraction(gap.easy_accuracy)}, Hard {fraction(gap.hard_accuracy)} (p {p_equals(gap.p_value)})."
    if gap.p_value < 1 - context.confidence_level and gap.easy_hard_gap > 0:
        tone: Literal["bad", "warn"] = "bad" if gap.easy_hard_gap >= LARGE_GAP else "warn"
        return Verdict(tone, "Better where cues help", f"{told} {reach}")
    if found.reached.low is not None and found.reached.low > found.chance:
        return Verdict("warn", "Cues, but no gap", f"{told} {reach}")
    return Verdict("good", "No sign of cues", f"{told} {reach}")


def _limits(found: _Found) -> tuple[str, ...]:
    limits = [
        "Only cues that can be counted are looked for: words, length, overlap with the prompt, negation.",
        "A gap says that the model is better where cues help; Easy items may be easier for other reasons too.",
    ]
    if "itself" in found.counted:
        limits.append("Without a training split, the cues are those of the audited items and not what it learned from.")
    return tuple(limits)
