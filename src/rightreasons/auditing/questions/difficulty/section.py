"""Which examples is it fragile on?

The section has four measures: the eigenvalue, which needs gradients; left-out words, which any model can be asked;
usable information, of prompted models; and contrast sets, which need data that has them.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import decimal, level_percent, percent, written
from rightreasons.auditing.predictions import safe_name
from rightreasons.auditing.questions.difficulty import contrast_sets, information, left_out, plots
from rightreasons.auditing.questions.difficulty.finding import finding
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.options import MEASURES as ALL_MEASURES
from rightreasons.measuring.options import DifficultyOptions
from rightreasons.models.running.bars import bars_about

if TYPE_CHECKING:
    from rightreasons.analysis.difficulty.ranking import AccuracyByDifficulty
    from rightreasons.measuring.contrast_sets import ContrastItems
    from rightreasons.measuring.difficulty import Correlation, DifficultyMeasurement, ExtremeFlips, TrainingDynamics
    from rightreasons.measuring.substitutions import Attempt

MAX_ITEMS = 1000
"""Items ranked by eigenvalue, unless the option says otherwise."""

MIN_ITEMS = 20
"""With fewer items than this, the question does not apply."""

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
TONES = ("bad", "warn", "good", "neutral")
"""Tones of a verdict, the one that leads first."""

MEASURES = {
    "small_margin": ("Small margin", "Minus the gap of the two largest probabilities."),
    "entropy": ("Entropy", "Of the probabilities, in nats."),
    "gradient_norm": ("Gradient norm", "Of log p of the predicted class."),
    "words": ("Words", "Of the text."),
    "variability": ("Variability in training", "Standard deviation of P(label) over {epochs}"),
    "low_confidence": ("Low confidence in training", "Minus the mean of P(label) over {epochs}"),
    "wrong": ("Being wrong", "1 for a wrong answer, 0 for a right one."),
}
"""Name and definition of what the eigenvalue is correlated with, in the order of the table."""


RANKING = "ranking.csv"
"""The file of a report with the items, the hardest first."""


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


class Difficulty:
    """How fragile each prediction is, in which words, and what flips the most fragile ones."""

    question = "difficulty"
    title = "Which examples is it fragile on?"
    order = 5
    needs_labels = False
    without_model = ""  # contrast sets need none
    reads: p.Reads = "audited"

    def applies(self, context: AuditContext, options: DifficultyOptions) -> p.Applicability:
        """Ask for contrast sets, or for some items and a model that can be asked or whose embeddings can be moved."""
        if _measures(context, options):
            return p.APPLIES
        if not options.measures or "eigenvalue" in options.measures:
            return _eigenvalue_applies(context)
        if "left_out_words" in options.measures:
            return _words_apply(context)
        if "information" in options.measures:
            return p.applies_not("Usable information is about a prompted language model whose answers are scored.")
        return p.applies_not(
            f"“{context.primary.name}” has no contrast sets: name the column of the sets with `--groups-column`."
        )

    def run(self, context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
        """Answer the question."""
        measures = _measures(context, options)
        results = []
        if "eigenvalue" in measures:
            results.append(_eigenvalue_result(context, _items(context, options)))
        if "left_out_words" in measures:
            by_words = left_out.result(context, options.items)
            if not results:  # it leads: its ranking is that of the question
                rows = by_words.data["left_out_words"]["ranking"]
                by_words = dataclasses.replace(
                    by_words, data={**by_words.data, "ranking": rows}, files={RANKING: _csv(rows)}
                )
            results.append(by_words)
        if "information" in measures:
            results.append(information.result(context))
        sets = _contrast_items(context, options) if "contrast" in measures else None
        if sets is not None:
            measured = contrast_sets.measured_splits(context, sets, options.original_column)
            results.append(contrast_sets.result(context, sets, measured))
        if not results:  # items without an answer were left out since it was asked whether the question applies
            raise ValueError(self.applies(context, options).reason)
        return _joined(results)


SECTION = Difficulty()


def _measures(context: AuditContext, options: DifficultyOptions) -> set[str]:
    """Return the measures that are asked for and apply."""
    wanted = set(options.measures or ALL_MEASURES)
    by_gradients = "eigenvalue" in wanted and bool(_eigenvalue_applies(context))
    # Unless it is asked for, leaving words out stands in for gradients.
    by_words = "left_out_words" in wanted and bool(_words_apply(context))
    by_words &= "left_out_words" in options.measures or not by_gradients
    applies = {
        "eigenvalue": by_gradients,
        "left_out_words": by_words,
        "information": "information" in wanted and information.applies(context),
        "contrast": "contrast" in wanted and _contrast_items(context, options) is not None,
    }
    return {name for name, able in applies.items() if able}


def _words_apply(context: AuditContext) -> p.Applicability:
    if context.stored is not None:
        return p.applies_not("Words are left out and the model asked again, which stored predictions cannot answer.")
    if len(context.primary) < MIN_ITEMS:
        return p.applies_not(f"It needs at least {MIN_ITEMS} items, but there are {len(context.primary)}.")
    return p.APPLIES


def _contrast_items(context: AuditContext, options: DifficultyOptions) -> ContrastItems | None:
    if context.task == "confidence":  # whether an answer was right is known, and not which it was
        return None
    return contrast_sets.contrast_items(context.primary, options.original_column)


def _eigenvalue_applies(context: AuditContext) -> p.Applicability:
    if context.stored is not None:
        return p.applies_not("Fisher information takes gradients of the model, which stored predictions do not have.")
    if len(context.primary) < MIN_ITEMS:
        return p.applies_not(f"It needs at least {MIN_ITEMS} items, but there are {len(context.primary)}.")
    reason = context.why_no_gradients()
    return p.applies_not(reason) if reason else p.APPLIES


def _eigenvalue_result(context: AuditContext, items: DifficultyItems) -> p.SectionResult:
    headlines, examples = _headlines(items), _example_part(context, items)
    hardest = examples.examples[0].examples if examples.examples else ()
    return p.SectionResult(
        verdict=_verdict(items, headlines),
        headlines=tuple(headlines.values())[:4],
        parts=(_spread_part(items, headlines), _agreement_part(items), examples),
        limits=_limits(context, items),
        data=(data := _data(context, items)),
        files={RANKING: _csv(data["ranking"])} if data["ranking"] else {},
        finding=finding(context, headlines, items.flips, len(items.measured), hardest),
    )


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the ranking as a table for a spreadsheet."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "words": " ".join(row["words"])} for row in rows)
    return stream.getvalue()


def _joined(results: Sequence[p.SectionResult]) -> p.SectionResult:
    """Join what the measures say; the worst verdict leads, and two figures of the first with one of each other."""
    if len(results) == 1:
        return results[0]
    ordered = sorted(results, key=lambda each: TONES.index(each.verdict.tone))
    return p.SectionResult(
        verdict=dataclasses.replace(
            ordered[0].verdict, summary=" ".join(filter(None, (each.verdict.summary for each in ordered)))
        ),
        headlines=(
            *results[0].headlines[:2],
            *(headline for each in results[1:] for headline in _main_headlines(each)[: 2 if len(results) == 2 else 1]),
        )[:4],
        parts=tuple(part for each in results for part in each.parts),
        limits=tuple(dict.fromkeys(limit for each in results for limit in each.limits)),
        data={key: value for each in results for key, value in each.data.items()},
        finding=ordered[0].finding,
        files={name: content for each in results for name, content in each.files.items()},
        by_item=tuple(figure for each in results for figure in each.by_item),
    )


def _main_headlines(result: p.SectionResult) -> tuple[p.Headline, ...]:
    """Return the headlines of a further measure; of contrast sets the consistency and the accuracy of revisions."""
    return result.headlines[2:0:-1] if "contrast_sets" in result.data else result.headlines


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
    if len(measured) < MIN_ITEMS:
        why = measured.fisher.failures[0][1] if measured.fisher.failures else "`items` asks for no more."
        raise ValueError(
            f"Expected the eigenvalue of at least {MIN_ITEMS} items, but it is known of {len(measured)}: {why}"
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


# ------------------------------------------------------------------------------------------------------------- telling


def _headlines(items: DifficultyItems) -> dict[str, p.Headline]:
    groups, flips, resampling, split = items.groups, items.flips, items.resampling, items.split.name
    headlines = {}
    for name, place, size in (("hardest", -1, "largest"), ("easiest", 0, "smallest")):
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
    groups, level, dynamics = items.groups, level_percent(items.resampling.level), items.dynamics
    epochs = ""
    if dynamics is not None:
        epochs = f"{dynamics.n_epochs} epochs of training; {len(dynamics.places):,} items are in the data map."
    pictures = []
    if groups is not None:
        drawing = plots.accuracy_steps(
            "difficulty_accuracy",
            accuracies=groups.accuracies,
            lows=[one.low or 0.0 for one in items.accuracies],
            highs=[one.high or 0.0 for one in items.accuracies],
            xlabel=f"group of rising eigenvalue ({groups.counts[0]} items each)",
        )
        pictures.append(
            drawing.plot(
                title="Accuracy by difficulty",
                caption=f"Groups of equal size. Whiskers are {level} Wilson intervals.",
                alt="Accuracy from the easiest to the hardest group: "
                f"{', '.join(percent(share) for share in groups.accuracies)}.",
                source=DATTA,
            )
        )
    return p.Part(
        title="What it correlates with",
        text="The eigenvalue is p(1−p) times a squared gradient for two classes, so it grows near the decision "
        "boundary and where the model reacts strongly. The table compares it with cheaper measures of the same items.",
        plots=tuple(pictures),
        tables=(
            p.Table(
                key="difficulty_correlations",
                title="Rank correlations with the eigenvalue",
                columns=(
                    p.Column("measure", "Measure", "text"),
                    p.Column("rho", "Spearman's ρ"),
                    p.Column("p", "p", "p_value", "Of no correlation."),
                    p.Column("definition", "What it is", "text"),
                ),
                rows=tuple(
                    (
                        name,
                        items.correlations[key].rho,
                        items.correlations[key].test.p_value,
                        what.format(epochs=epochs),
                    )
                    for key, (name, what) in MEASURES.items()
                    if key in items.correlations and (key != "wrong" or groups is not None)
                ),
                note=f"In brackets: {level} bootstrap intervals over items.",
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
            text += f" {flips.tests.n_unknown:,} replacements that the model's vocabulary lacks are left out."
        if flips.tests.n_failed:
            text += f" {flips.tests.n_failed:,} changed texts that the model could not score are left out."
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
            summary += f"A replacement of like meaning flips {flipped} of {tested} of the {name} items"
            summary += ". " if estimate is None else f": {written(estimate)}. "
    summary = summary.strip()
    if fragile.get("easiest"):
        # A red verdict would need a person who has read that the replacements keep the meaning.
        return p.Verdict("warn", "Single words flip even easy items", summary)
    # Near its boundary any model errs and is easily moved.
    if errs_where_fragile:
        return p.Verdict("neutral", "Errs where it is fragile", summary)
    if fragile.get("hardest"):
        return p.Verdict("neutral", "Single words flip the hardest", summary)
    return p.Verdict("neutral", "Ranked by fragility", summary or f"{len(items.measured):,} items are ranked.")


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
        limits.append(f"{len(fisher.failures):,} items could not be computed; the first: {fisher.failures[0][1]}")
    if fisher.truncated.any():
        limits.append(f"{int(fisher.truncated.sum()):,} texts were cut; what was cut off is not measured.")
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
