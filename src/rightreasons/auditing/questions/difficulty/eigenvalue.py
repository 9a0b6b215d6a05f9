"""The part of the report on the largest Fisher eigenvalue: how fragile each prediction is, in which words."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import decimal, percent, written
from rightreasons.auditing.predictions import safe_name
from rightreasons.auditing.questions.difficulty import agreement, plots
from rightreasons.auditing.questions.difficulty.finding import finding
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.options import DifficultyOptions
from rightreasons.models.running.bars import bars_about

if TYPE_CHECKING:
    from rightreasons.analysis.difficulty.ranking import AccuracyByDifficulty
    from rightreasons.measuring.difficulty import Correlation, DifficultyMeasurement, ExtremeFlips, TrainingDynamics
    from rightreasons.measuring.substitutions import Attempt

MAX_ITEMS = 1000
"""Items ranked by eigenvalue, unless the option says otherwise."""

N_EXAMPLES = 6
TOP_K = 6
"""Words of each tested item that are replaced, those of largest attribution."""

FRAGILE = 0.1
"""Single words flip items where the interval of the share that a word with the same meaning flips begins above this."""

MARKED = 0.2
"""Words are marked if they move at least this share as far as the most moved one."""

DATTA = "Datta et al. 2020, arXiv:2010.07212"
DEFINITION = (
    "Largest eigenvalue λ of the Fisher information of the prediction with respect to the word embeddings: a step of "
    "length e in the worst direction changes the prediction by about λe²/2 nats of KL divergence."
)

MEASURES = {
    "small_margin": agreement.SMALL_MARGIN,
    "entropy": agreement.ENTROPY,
    "gradient_norm": ("Gradient norm", "Of log p of the predicted class."),
    "words": agreement.WORDS,
    "variability": ("Variability in training", "Standard deviation of P(label) over {epochs}"),
    "low_confidence": ("Low confidence in training", "Minus the mean of P(label) over {epochs}"),
    "wrong": agreement.WRONG,
}
"""Name and definition of what the eigenvalue is correlated with, in the order of the table."""


@dataclasses.dataclass(frozen=True, eq=False)
class DifficultyItems:
    """The measured items of the primary split, with everything that the section reports.

    Attributes:
        split: The measured items.
        measured: Their difficulty.
        dynamics: How they fared in training; None where that is unknown.
        groups: Accuracy by difficulty; None where labels are too few.
        accuracies: The same with intervals, the easiest group first; [] likewise.
        correlations: Rank correlations of the eigenvalue with other measures.
        flips: What single replaced words do; None for tasks where words are not replaced.
        resampling: How intervals are made.
    """

    split: AuditSplit
    measured: DifficultyMeasurement
    dynamics: TrainingDynamics | None
    groups: AccuracyByDifficulty | None
    accuracies: list[p.Estimate]
    correlations: dict[str, Correlation]
    flips: ExtremeFlips | None
    resampling: Resampling


def applies(context: AuditContext) -> p.Applicability:
    """Ask for some items, and for a model whose embeddings can be moved."""
    if context.stored is not None:
        return p.applies_not("Fisher information takes gradients of the model, which stored predictions do not have.")
    reason = context.why_no_gradients() if (enough := agreement.enough_items(context)) else ""
    return p.applies_not(reason) if reason else enough


def result(context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
    """Report the eigenvalue of the items of the primary split."""
    items = _items(context, options)
    headlines, examples = _headlines(items), _example_part(context, items)
    hardest = examples.examples[0].examples if examples.examples else ()
    return p.SectionResult(
        verdict=_verdict(items, headlines),
        headlines=tuple(headlines.values())[:4],
        parts=(_spread_part(items, headlines), _agreement_part(items), examples),
        limits=_limits(context, items),
        data=_data(context, items),
        finding=finding(context, headlines, items.flips, len(items.measured), hardest),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _items(context: AuditContext, options: DifficultyOptions) -> DifficultyItems:
    from rightreasons.auditing.questions.difficulty.data_map import OpenedMap
    from rightreasons.data.opening.splits import chosen_rows
    from rightreasons.measuring.difficulty import measure_difficulty, measure_flips

    resampling = context.resampling
    data_map = None if options.data_map is None else OpenedMap.of(options.data_map)
    split, limit = context.primary, options.items or MAX_ITEMS
    if limit < len(split):
        split = split.take(np.sort(np.array(chosen_rows(split.ids, limit, seed=context.seed))))
    measured = measure_difficulty(
        context.classifier,
        split.texts,
        labels=split.labels,
        text_pairs=split.text_pairs,
        choices=split.choices,
        ids=split.ids,
        eigenvector=True,
        unit="word",
        batch_size=context.batch_size,
        progress=context.progress,
        out=context.folder(
            f"difficulty-{safe_name(split.name)}",
            split.fingerprint,
            str(limit),
            str(getattr(context.classifier, "method", "")),
        ),
        fail_fast=context.fail_fast,
    )
    if len(measured) < agreement.MIN_ITEMS:
        why = measured.fisher.failures[0][1] if measured.fisher.failures else "`items` asks for no more."
        raise ValueError(
            f"Expected the eigenvalue of at least {agreement.MIN_ITEMS} items, but it is known of "
            f"{len(measured)}: {why}"
        )
    flips = None
    if context.task == "classification" and split.text_pairs is None:
        with bars_about("words replaced"):
            flips = measure_flips(
                context.classifier,
                split.texts,
                measured,
                top_k=TOP_K,
                neighbors=options.neighbors,
                batch_size=context.batch_size,
                seed=context.seed,
                progress=context.progress,
                fail_fast=context.fail_fast,
            )
    ids = [split.ids[row] for row in measured.rows]
    dynamics = None if data_map is None else data_map.of_items(ids, context.primary.ids, split.name)
    return DifficultyItems(
        split=split,
        measured=measured,
        dynamics=dynamics,
        groups=measured.groups(),
        accuracies=measured.accuracies(resampling),
        correlations=measured.correlations(resampling, dynamics),
        flips=flips,
        resampling=resampling,
    )


def _headlines(items: DifficultyItems) -> dict[str, p.Headline]:
    groups, flips, resampling, split = items.groups, items.flips, items.resampling, items.split.name
    headlines = {}
    for name, place, size in agreement.ENDS:
        if groups is not None:
            n = groups.counts[place]
            text = p.FigureText(
                f"Accuracy, {name} group",
                f"Share of right answers among the {n} items of {size} eigenvalue ({len(groups.counts)} groups of "
                "equal size).",
                "Counted",
                better="higher",
            )
            headlines[f"{name}_accuracy"] = p.Headline.of(
                f"{name}_accuracy", text, items.accuracies[place], split=split, n=n
            )
        if flips is not None:
            for which, kinds, what, better in _flips(flips):
                estimate = flips.items(name == "hardest", kinds, resampling)
                if estimate is None:
                    continue
                text = p.FigureText(
                    f"{what.capitalize()}: flipped by one word, {name}",
                    f"Share of the {flips.n_hard} items of {size} eigenvalue whose predicted class at least one "
                    f"replacement of one of their {TOP_K} most attributed words changes, by a word with the {what}.",
                    f"{DATTA}, section 4.2.1",
                    better=better,
                )
                n = flips.n_flipped(name == "hardest", kinds)[1]
                key = f"{name}_{which}"
                headlines[key] = p.Headline.of(key, text, estimate, split=split, n=n)
    text = p.FigureText("Median eigenvalue", DEFINITION, DATTA, "ratio", "lower")
    median = items.measured.median(resampling)
    headlines["median_difficulty"] = p.Headline.of(
        "median_difficulty", text, median, split=split, n=len(items.measured)
    )
    order = (
        "hardest_accuracy",
        "easiest_accuracy",
        "hardest_flipped",
        "median_difficulty",
        "easiest_flipped",
        "hardest_reversed",
        "easiest_reversed",
    )
    return {key: headlines[key] for key in order if key in headlines}


def _flips(flips: ExtremeFlips) -> tuple[tuple[str, Sequence[str], str, Literal["higher", "lower"]], ...]:
    """Return the two figures about replaced words: key, kinds, what becomes of the meaning, and which way is better."""
    from rightreasons.measuring.difficulty import REVERSED

    return ("flipped", flips.kept, "meaning kept", "lower"), ("reversed", REVERSED, "meaning reversed", "higher")


def _spread_part(items: DifficultyItems, headlines: dict[str, p.Headline]) -> p.Part:
    measured = items.measured
    values, known = measured.values, measured.correct if measured.labeled.all() else None
    quantiles = ", ".join(f"{q:.0%} {decimal(float(np.quantile(values, q)))}" for q in (0.1, 0.5, 0.9))
    rho = items.correlations["confidence"].test.rho or 0.0
    return p.Part(
        title="How fragility is distributed",
        text="Each prediction is moved in the direction of its word embeddings in which it changes fastest. The "
        "eigenvalue says how fast: where it is large, a small change of the words is enough to change the answer.\n\n"
        f"The hardest tenth of the items holds {measured.share_of_hardest_tenth():.0%} of the sum of all eigenvalues.",
        headlines=tuple(headlines.values()),
        plots=(
            plots.difficulty_histogram("difficulty_histogram", difficulty=values, correct=known).plot(
                title="Largest Fisher eigenvalue",
                caption="Items by eigenvalue, on a logarithmic axis. No interval is drawn: every item is counted.",
                alt=f"Histogram of eigenvalues; quantiles: {quantiles}.",
                source=DATTA,
            ),
            plots.difficulty_scatter(
                "difficulty_confidence", difficulty=values, confidence=measured.confidence, correct=known
            ).plot(
                title="Eigenvalue and confidence",
                caption="One point per item. Where the model is sure, the eigenvalue goes to 0, for wrong answers too.",
                alt=f"Eigenvalue against confidence, one point per item; rank correlation {decimal(rho)}.",
                source=DATTA,
            ),
        ),
    )


def _agreement_part(items: DifficultyItems) -> p.Part:
    groups, dynamics = items.groups, items.dynamics
    epochs = ""
    if dynamics is not None:
        n_known = counted(len(dynamics.places), "item is", "items are")
        epochs = f"{dynamics.n_epochs} epochs of training; {n_known} in the data map."
    return p.Part(
        title="What it correlates with",
        text="The eigenvalue is p(1−p) times a squared gradient for two classes, so it grows near the decision "
        "boundary and where the model reacts strongly. The table compares it with cheaper measures of the same items.",
        plots=()
        if groups is None
        else (
            agreement.accuracy_plot(
                "difficulty_accuracy",
                groups,
                items.accuracies,
                items.resampling,
                by="difficulty",
                of="eigenvalue",
                source=DATTA,
            ),
        ),
        tables=(
            agreement.correlation_table(
                "difficulty_correlations",
                items.correlations,
                {
                    key: (name, what.format(epochs=epochs))
                    for key, (name, what) in MEASURES.items()
                    if key != "wrong" or groups is not None
                },
                items.resampling,
                of="the eigenvalue",
                source="Spearman 1904" if dynamics is None else "Spearman 1904; data map: Swayamdipta et al. 2020",
            ),
        ),
    )


def _example_part(context: AuditContext, items: DifficultyItems) -> p.Part:
    order, flips, text = items.measured.order, items.flips, ""
    if flips is not None:
        text = (
            f"The {TOP_K} most attributed words of the {flips.n_hard} hardest and the {flips.n_hard} easiest items "
            f"were replaced one at a time, by words from {flips.sources}."
        )
        for _, kinds, what, _ in _flips(flips):
            counts = [
                f"{sum(one.flipped for one in attempts):,} of {len(attempts):,} replacements flip {name} item"
                for name, hard in (("a hard", True), ("an easy", False))
                if (attempts := flips.attempts(hard, kinds))
            ]
            if counts:
                text += f" With the {what}, {' and '.join(counts)}."
        if flips.tests.n_unknown:
            text += f" Left out: {counted(flips.tests.n_unknown, 'replacement')} that the model's vocabulary lacks."
        if flips.tests.n_failed:
            text += f" Left out: {counted(flips.tests.n_failed, 'changed text')} that the model could not score."
    lists = tuple(
        p.ExampleList(
            key=f"{name}_examples",
            title=f"The {name}",
            note=f"The {size} eigenvalues, the {size} first. Marked: the words that the fragile direction moves, by "
            "the norm of its part there.",
            examples=tuple(_example(context, items, place) for place in places),
        )
        for name, size, places in (
            ("hardest", "largest", order[:N_EXAMPLES]),
            ("easiest", "smallest", order[::-1][:N_EXAMPLES]),
        )
    )
    return p.Part(title="Hardest and easiest", text=text, examples=lists)


def _example(context: AuditContext, items: DifficultyItems, place: int) -> p.Example:
    measured = items.measured
    row, predicted, confidence = int(measured.rows[place]), int(measured.predicted[place]), measured.confidence[place]
    example = example_of(context, items.split, row, predicted, float(confidence), marks=_marks(context, items, row))
    note = f"λ = {decimal(float(measured.values[place]))}"
    tested = None if items.flips is None else items.flips.of_place(place)
    if tested is not None:
        note += f". {_flip(context, *tested)}"
    return dataclasses.replace(example, note=f"{example.note} {note}".strip())


def _flip(context: AuditContext, attempts: list[Attempt], best: Attempt | None) -> str:
    if best is None:
        return "No word of it could be replaced."
    change = best.changes[0]
    words = f"“{change.original}” → “{change.replacement}” ({best.kind})"
    if best.flipped:
        count = sum(attempt.flipped for attempt in attempts)
        return f"{words} flips it to {context.label_name(best.after)} ({count} of {len(attempts)} replacements do)."
    return (
        f"None of {len(attempts)} replacements flips it; {words} comes closest "
        f"(confidence {percent(best.confidence_before)} to {percent(best.confidence_after)})."
    )


def _marks(context: AuditContext, items: DifficultyItems, row: int) -> tuple[p.Mark, ...]:
    fisher = items.measured.fisher
    if context.task != "classification" or fisher.token_norms is None or fisher.starts is None or fisher.ends is None:
        return ()
    first, last = fisher.token_norms.offsets[row : row + 2]
    norms, starts, ends = (values[first:last] for values in (fisher.token_norms.values, fisher.starts, fisher.ends))
    largest, reached, marks = float(norms.max(initial=0.0)), 0, []
    for norm, start, end in zip(norms.tolist(), starts.tolist(), ends.tolist(), strict=True):
        if start < reached or end > len(items.split.texts[row]):
            break  # the second text of a pair begins
        reached = end
        if largest > 0 and norm >= MARKED * largest and end > start:
            marks.append(p.Mark(start, end, "weight", norm / largest, f"moves by {decimal(norm)}"))
    return tuple(marks)


def _verdict(items: DifficultyItems, headlines: dict[str, p.Headline]) -> p.Verdict:
    summary, errs_where_fragile = "", False
    if items.groups is not None:
        hard, easy = headlines["hardest_accuracy"].estimate, headlines["easiest_accuracy"].estimate
        summary = f"Right on {written(hard)} of the hardest group and {written(easy)} of the easiest. "
        errs_where_fragile = (hard.high or 0.0) < (easy.low or 0.0)
    fragile = {}
    if items.flips is not None:
        for name, hard_ones in (("hardest", True), ("easiest", False)):
            flipped, tested = items.flips.n_flipped(hard_ones, items.flips.kept)
            estimate = items.flips.items(hard_ones, items.flips.kept, items.resampling)
            fragile[name] = estimate is not None and (estimate.low or 0.0) > FRAGILE
            if estimate is not None:
                summary += f"A replacement of like meaning flips {flipped} of {tested} of the {name} items: "
                summary += f"{written(estimate)}. "
    summary = summary.strip()
    if fragile.get("easiest"):
        # A red verdict would need a person who has read that the replacements keep the meaning.
        return p.Verdict("warn", "Single words flip even easy items", summary)
    # Near its boundary any model errs and is easily moved.
    if errs_where_fragile:
        return p.Verdict("neutral", "Errs where it is fragile", summary)
    if fragile.get("hardest"):
        return p.Verdict("neutral", "Single words flip the hardest", summary)
    ranked = f"{counted(len(items.measured), 'item is', 'items are')} ranked."
    return p.Verdict("neutral", "Ranked by fragility", summary or ranked)


def _limits(context: AuditContext, items: DifficultyItems) -> tuple[str, ...]:
    fisher, n_items = items.measured.fisher, len(items.split)
    limits = [
        "The eigenvalue is about small steps between words, where no real word need be.",
        "A small eigenvalue does not make an answer right: where the model is sure, it is small for errors too.",
    ]
    if items.flips is not None:
        limits.append(
            "Replacements are neither inflected nor read by a person: a synonym may be of another sense, and an "
            "antonym need not reverse the whole text. No item is relabeled."
        )
    if n_items < len(context.primary):
        limits.append(f"{n_items:,} of {len(context.primary):,} items were measured, chosen by the seed.")
    if fisher.failures:
        limits.append(
            f"{counted(len(fisher.failures), 'item')} could not be computed; the first: {fisher.failures[0][1]}"
        )
    if fisher.truncated.any():
        limits.append(
            f"{counted(int(fisher.truncated.sum()), 'text was', 'texts were')} cut; what was cut off is not measured."
        )
    return tuple(limits)


def _data(context: AuditContext, items: DifficultyItems) -> dict[str, Any]:
    measured, ids, dynamics = items.measured, items.split.ids, items.dynamics
    return {
        "definition": DEFINITION,
        "ranking": [
            {
                "id": ids[measured.rows[place]],
                "eigenvalue": float(measured.values[place]),
                "scale_free": float(measured.fisher.scale_free[measured.rows[place]]),
                "prediction": context.label_name(int(measured.predicted[place])),
                "confidence": float(min(measured.confidence[place], 1.0)),
                "label": context.label_name(int(measured.labels[place])),
                "words": measured.words(place),
            }
            for place in measured.order
        ],
        "failures": [{"id": name, "reason": reason} for name, reason in measured.fisher.failures],
        "data_map": None if dynamics is None else dynamics.to_dict(measured),
        "accuracy_by_difficulty": None if items.groups is None else items.groups.to_dict(),
        "substitutions": None if items.flips is None else items.flips.tests.to_dict(),
    }
