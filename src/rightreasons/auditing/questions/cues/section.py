"""Do the answer options give the answer away?"""

from __future__ import annotations

import dataclasses
from typing import Literal

import numpy as np

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import level_percent, p_equals, percent, written
from rightreasons.auditing.questions.cues import plots
from rightreasons.auditing.questions.cues.finding import finding
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.cues import MARGIN, MIN_ITEMS, ChoiceItems, CueFigures, ModelOnCues, measure_cues
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.options import CuesOptions

SHOWN = 30
"""Cues in the table; half of them, at most, are drawn."""

N_EXAMPLES = 6


NIVEN = "Niven & Kao 2019; Kavumba et al. 2019"
GAP = "Kavumba et al. 2019; approximate randomization: Noreen 1989"


@dataclasses.dataclass(frozen=True, eq=False)
class CueAnswers:
    """The cues of the audited items, how the model does on them, and in words where they were counted."""

    items: ChoiceItems
    figures: CueFigures
    model: ModelOnCues
    features: tuple[str, ...]
    counted_on: str
    easy_means: str


class Cues:
    """Cues in the choices, how far they lead by themselves, and whether the model is better where they help."""

    question = "cues"
    title = "Do the answer options give the answer away?"
    order = 3
    needs_labels = True
    without_model = ""
    reads: p.Reads = "primary"

    def applies(self, context: AuditContext, options: CuesOptions) -> p.Applicability:
        """Ask for a multiple-choice task with enough labeled items."""
        if context.primary.choices is None:
            return p.applies_not("Cues in the choices are a question about multiple-choice data.")
        labeled = int(context.primary.labeled.sum())
        if labeled < MIN_ITEMS:
            return p.applies_not(f"It takes at least {MIN_ITEMS} items with a label, but there are {labeled}.")
        return p.APPLIES

    def run(self, context: AuditContext, options: CuesOptions) -> p.SectionResult:
        """Answer the question."""
        answers = _answers(context, options)
        headlines = _headlines(context, answers)
        figures, gap = answers.figures, answers.model.gap
        parts = [_cue_part(answers), _classifier_part(figures, headlines)]
        if gap is not None:
            parts.append(_gap_part(context, answers, headlines))
        return p.SectionResult(
            verdict=_verdict(context, answers),
            headlines=tuple(headlines.values()),
            parts=tuple(parts),
            limits=_limits(figures),
            data={
                "cues": figures.statistics.to_dict(),
                "counted_on": answers.counted_on,
                "easy_hard_gap": None if gap is None else gap.to_dict(),
                "easy_means": answers.easy_means,
                "easy_ids": [context.primary.ids[row] for row in answers.items.rows[figures.easy]],
            },
            finding=finding(context, figures, answers.model, len(answers.items)),
            by_item=_by_item(context, answers),
        )


SECTION = Cues()


def _by_item(context: AuditContext, answers: CueAnswers) -> tuple[p.ItemFigure, ...]:
    """Return whether each of the Easy and of the Hard items is right."""
    rows, easy = np.asarray(answers.items.rows), np.asarray(answers.figures.easy, dtype=bool)
    right = np.asarray(context.scores().predicted)[rows] == context.primary.labels[rows]
    figures = []
    for key, name, chosen in (
        ("easy_accuracy", "Accuracy on Easy items, which cues alone solve", easy),
        ("hard_accuracy", "Accuracy on Hard items, which cues alone do not solve", ~easy),
    ):
        if chosen.any():
            ids = [context.primary.ids[row] for row in rows[chosen]]
            figures.append(p.ItemFigure.of(key, name, "higher", ids, right[chosen]))
    return tuple(figures)


def _answers(context: AuditContext, options: CuesOptions) -> CueAnswers:
    items = ChoiceItems.of(context.primary.data, options.groups_column)
    train, logits = None, context.scores().logits
    if context.train is not None and {"choices", "prompt", "label"} <= set(context.train.column_names):
        train = ChoiceItems.of(context.train) or None
    figures = measure_cues(
        items,
        train=train,
        logits=[logits[int(row)] for row in items.rows],
        options=options,
        resampling=context.resampling,
        n_permutations=0,
    )
    if figures.model is None:
        raise ValueError("Expected the model's scores for the items, but there are none.")
    if train is None:
        name, source = context.primary.name, "the other folds of these items"
        counted_on = f"the {len(items):,} items of “{name}” itself, as there is no training split"
    else:
        counted_on, source = f"the {len(train):,} items of the training split", "the training split"
    easy_means = "the data's own column “easy”"
    if not figures.easy_is_given:
        easy_means = f"the items that a classifier of cues alone, trained on {source}, gets right"
    return CueAnswers(items, figures, figures.model, options.features, counted_on, easy_means)


# ------------------------------------------------------------------------------------------------------------- telling


def _headlines(context: AuditContext, answers: CueAnswers) -> dict[str, p.Headline]:
    figures, gap, n_items = answers.figures, answers.model.gap, len(answers.items)
    rows: list[tuple[str, str, str, Estimate, int, Literal["higher"] | None]] = [
        (
            "cue_only_accuracy",
            "What cues alone reach",
            (
                "Accuracy of a classifier that sees nothing of the choices but their cues "
                f"({', '.join(answers.features)}); guessing gets "
                f"{percent(figures.chance)}."
            ),
            figures.accuracy,
            n_items,
            None,
        )
    ]
    if gap is not None:
        rows.insert(
            0,
            (
                "easy_hard_gap",
                "Easy/Hard gap",
                f"Accuracy on Easy minus accuracy on Hard items. Easy: {answers.easy_means}.",
                estimate_of(gap.easy_hard_gap, gap.interval),
                n_items,
                None,
            ),
        )
        for key, name, which, interval, n in (
            ("easy_accuracy", "Accuracy on Easy", "Easy", gap.easy_accuracy_interval, gap.n_easy),
            ("hard_accuracy", "Accuracy on Hard", "other", gap.hard_accuracy_interval, gap.n_hard),
        ):
            estimate = estimate_of(getattr(gap, key), interval)
            rows.append((key, name, f"Share of the {which} items it gets right.", estimate, n, "higher"))
    return {
        key: p.Headline.of(
            key,
            p.FigureText(
                name,
                definition,
                "Kavumba et al. 2019, Table 4 (word frequency)" if key == "cue_only_accuracy" else GAP,
                better=better,
            ),
            estimate,
            split=context.primary.name,
            n=n,
        )
        for key, name, definition, estimate, n, better in rows
    }


def _cue_part(answers: CueAnswers) -> p.Part:
    figures = answers.figures
    statistics, n_significant = figures.statistics, len(figures.significant)
    level = level_percent(statistics.confidence_level)
    shown = figures.telling(SHOWN)
    points = shown[: SHOWN // 2]
    return p.Part(
        title="Cues in the choices",
        text=f"Counted on {answers.counted_on}. A cue is applicable where exactly one choice has it, and productive "
        f"when that choice is right more often than chance. Of {counted(statistics.n_cues, 'cue')}, "
        f"{counted(n_significant, 'differs', 'differ')} from chance after Holm's correction.",
        plots=(
            plots.cue_productivity(
                "cue_productivity",
                cues=[plots.CuePoint.of(cue, significant=cue in figures.significant) for cue in points],
                chance=figures.chance,
            ).plot(
                title="Productivity of the cues",
                caption=f"How often the choice that has the cue is right, with the exact {level} interval; the dashed "
                "line is chance. Orange differs from chance after Holm's correction. On the right, the number of items "
                "in which the cue is applicable.",
                alt="Cues with their productivity: "
                + "; ".join(
                    f"{cue.cue} {percent(cue.productivity)} in {counted(cue.applicability, 'item')}" for cue in points
                )
                + ".",
                source=NIVEN,
            ),
        ),
        tables=(
            p.Table(
                key="cues",
                title="Cues",
                columns=(
                    p.Column("cue", "Cue", "text", "A word of a choice, or a shape of the choice in angle brackets."),
                    p.Column("applicability", "Applicable", "count", "Items in which exactly one choice has it."),
                    p.Column("productivity", f"Productivity [{level}]", "share", "Share of those where it is right."),
                    p.Column("coverage", "Coverage", "share", "Applicable items over all items."),
                    p.Column("p", "p", "p_value", "Exact binomial test against chance."),
                    p.Column("p_holm", "p (Holm)", "p_value", "The same, corrected for all cues."),
                ),
                rows=tuple(
                    (
                        cue.cue,
                        cue.applicability,
                        Estimate(cue.productivity, cue.low, cue.high, statistics.confidence_level, "Clopper-Pearson"),
                        cue.coverage,
                        cue.p_value,
                        cue.p_holm,
                    )
                    for cue in shown
                ),
                note=f"{len(shown):,} of {counted(statistics.n_cues, 'cue')}: those that differ from chance, then by "
                "applicability.",
                source=NIVEN,
            ),
        ),
    )


def _classifier_part(figures: CueFigures, headlines: dict[str, p.Headline]) -> p.Part:
    return p.Part(
        title="How far cues lead by themselves",
        text=f"A classifier that sees nothing but cues is right on {written(figures.accuracy)} of the items, "
        f"where guessing gets {percent(figures.chance)}: {_concluded(figures)}.",
        headlines=(headlines["cue_only_accuracy"],),
    )


def _gap_part(context: AuditContext, answers: CueAnswers, headlines: dict[str, p.Headline]) -> p.Part:
    gap = answers.model.gap
    if gap is None:
        raise ValueError("Expected Easy and Hard items, but all are of one kind.")
    split = context.primary
    examples = tuple(
        example_of(
            context,
            split,
            int(answers.items.rows[place]),
            int(answers.model.predicted[place]),
            float(answers.model.confidence[place]),
            marks=(),
        )
        for place in answers.model.hard_errors[:N_EXAMPLES]
    )
    errors = p.ExampleList("hard_errors", "Hard items that it gets wrong", "The most confident errors.", examples)
    accuracies = (gap.accuracy, gap.easy_accuracy, gap.hard_accuracy)
    ends = (gap.accuracy_interval, gap.easy_accuracy_interval, gap.hard_accuracy_interval)
    bars = plots.Bars("this model", accuracies, tuple(e.low for e in ends), tuple(e.high for e in ends))
    return p.Part(
        title="Is it better where cues help?",
        text=f"Easy are {answers.easy_means}: {gap.n_easy:,} of {len(answers.items):,} items. The model is right on "
        f"{percent(gap.easy_accuracy)} of them and on {percent(gap.hard_accuracy)} of the other {gap.n_hard:,}: a "
        f"gap of {written(headlines['easy_hard_gap'].estimate)}, p {p_equals(gap.p_value)}.",
        headlines=tuple(headlines[key] for key in ("easy_hard_gap", "easy_accuracy", "hard_accuracy")),
        plots=(
            plots.easy_hard_bars("easy_hard", bars=[bars], chance=answers.figures.chance).plot(
                title="Accuracy on Easy and on Hard items",
                caption=f"In percent, with {level_percent(context.resampling.level)} bootstrap intervals over items; "
                "the dashed line is chance.",
                alt=f"Accuracy {percent(gap.accuracy)} on all items, {percent(gap.easy_accuracy)} on Easy, "
                f"{percent(gap.hard_accuracy)} on Hard.",
                source=GAP,
            ),
        ),
        examples=(errors,) if examples else (),
    )


def _verdict(context: AuditContext, answers: CueAnswers) -> p.Verdict:
    figures, gap = answers.figures, answers.model.gap
    reach = f"Cues alone reach {written(figures.accuracy)}, where guessing gets {percent(figures.chance)}."
    if gap is None:
        return p.Verdict("neutral", "No Easy and Hard items", f"{reach} All items are of one kind.")
    summary = (
        f"Right on {written(estimate_of(gap.easy_accuracy, gap.easy_accuracy_interval))} of the Easy and "
        f"{written(estimate_of(gap.hard_accuracy, gap.hard_accuracy_interval))} of the Hard items: a gap of "
        f"{written(estimate_of(gap.easy_hard_gap, gap.interval))} (randomization test, p "
        f"{p_equals(gap.p_value)}). {reach}"
    )
    if gap.p_value < 1 - context.resampling.level and gap.easy_hard_gap > 0:
        if gap.hard_accuracy_interval.high < figures.chance:
            return p.Verdict("bad", "Misled where cues mislead", f"{summary} On Hard items it is worse than guessing.")
        unknown = "Easy items may be easier for other reasons too."
        return p.Verdict("warn", "Better where cues help", f"{summary} {unknown}")
    if figures.conclusion == "gives answers away":
        return p.Verdict("warn", "Cues, but no gap shown", summary)
    if figures.conclusion == "misleads":
        label = "Cues mislead here" if figures.classifier is None else "Items that belong together are apart"
        return p.Verdict("neutral", label, f"{summary} {_sentence(_concluded(figures))}")
    if figures.conclusion == "cannot tell" or gap.interval.high >= MARGIN:
        return p.Verdict("neutral", "No sign of cues", f"{summary} {_sentence(figures.too_few)}")
    return p.Verdict("good", "No sign of cues", summary)


def _concluded(figures: CueFigures) -> str:
    """Say what cues alone say of the data, as the end of a sentence."""
    match figures.conclusion:
        case "gives answers away":
            return "the data gives answers away"
        case "cannot tell":
            return f"no sign that the data gives answers away, but {figures.too_few}"
        case "no sign":
            return "no sign that the data gives answers away"
    if figures.classifier is None:
        return "what cues say of the training split is wrong of these items"
    return (
        "the classifier is misled, as it is where items that belong together are in different folds "
        f"({counted(figures.n_twins, 'item offers', 'items offer')} the same choices as another): "
        "--cues-groups-column says which do"
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _limits(figures: CueFigures) -> tuple[str, ...]:
    limits = (
        "Only cues that can be counted are searched for: words, length, overlap with the prompt, negation.",
        "A gap says that the model is better where cues help; Easy items may be easier for other reasons too.",
    )
    if figures.n_train is not None:
        return limits
    return (
        *limits,
        "Without a training split, the cues are those of the audited items, not of what the model learned from.",
    )
