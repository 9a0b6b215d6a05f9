"""Does its confidence match its accuracy?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

from rightreasons.analysis.calibration.temperature import Temperature
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.words import decimal, first_of, level_percent, p_equals, percent, written
from rightreasons.auditing.questions.calibration import elicited
from rightreasons.auditing.questions.calibration.classes import classes_part
from rightreasons.auditing.questions.calibration.finding import finding, shown_item, surest_errors
from rightreasons.auditing.questions.calibration.reliability import bin_table, reliability_plot
from rightreasons.auditing.questions.calibration.splits import (
    COMPARED,
    Compared,
    labeled_splits,
    splits_part,
)
from rightreasons.auditing.questions.calibration.votes import votes_measured, votes_part
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.calibration import (
    FIGURES,
    CalibrationMeasurement,
    measure_calibration,
    measure_classes,
    measure_figures,
    measure_rescaled,
    measure_risk,
    worst_split,
)
from rightreasons.measuring.options import CalibrationOptions

N_EXAMPLES = 10

FEW_ITEMS = 300
"""With fewer items than this, the report says that calibration figures are coarse."""

MARGIN = 0.05
"""A mean confidence this far from the accuracy makes the verdict red, and green needs that it is ruled out."""

OVERVIEW = ("accuracy", "macro_f1", "mean_confidence", "confidence_gap")
"""The figures of the first part; all others are in the table of the second."""

WHY_NOT = (
    "Calibration says nothing about why the model is right: one that leans on a shortcut is calibrated wherever the "
    "shortcut holds."
)
ITEMS_ONLY = (
    "The intervals are about the choice of items, not about training: another seed of the same training may differ by "
    "more."
)

Figures = Mapping[str, p.Headline]


class Calibration:
    """Accuracy, confidence and the gap between the two: overall, by bin, class and split, and after a temperature."""

    question = "calibration"
    title = "Does its confidence match its accuracy?"
    order = 1
    needs_labels = True
    without_model = ""
    reads: p.Reads = "all"

    def applies(self, context: AuditContext, options: CalibrationOptions) -> p.Applicability:
        """Ask for labels on the primary split."""
        if not context.primary.labeled.any():
            return p.applies_not(f"None of the items of {context.primary.name!r} has a label.")
        if context.stored is not None and context.answers_once:
            return p.applies_not(
                f"One generated answer has no confidence, and {context.model_name} has no other: a harness that asks "
                "for log-likelihoods, or for the log-probabilities of letters, keeps one."
            )
        if context.answers_once and not options.elicit:
            return p.applies_not(
                "One generated answer has no confidence: `--samples 10` takes the shares of several answers, "
                "`--calibration-elicit verbalized,samples` asks for one, and `--scoring sum` or `next_words` asks for "
                "the likelihood of each answer."
            )
        return p.APPLIES

    def run(self, context: AuditContext, options: CalibrationOptions) -> p.SectionResult:
        """Answer the question."""
        asked = elicited.elicited_items(context, options)
        if asked is not None and context.answers_once:
            return elicited.result(context, asked)
        resampling = context.resampling
        split, names = context.primary.name, context.label_names
        measured = measure_calibration(context.judged(context.primary), options=options, resampling=resampling)
        figures = _figures(measured, split)
        compared = {
            other.name: measured.figures
            if other is context.primary
            else measure_figures(context.judged(other), COMPARED, options=options, resampling=resampling)
            for other in labeled_splits(context)
        }
        parts = [_overview(measured, figures, split), _family(measured, figures, split)]
        if len(compared) > 1:
            parts.append(splits_part(context, compared, resampling))
        parts.append(_ranking(context, measured, figures, resampling))
        fit, after = None, {}
        if context.validation is not None:
            validation = context.judged(context.validation)
            fit, scaled = measure_rescaled(measured.items, validation, options=options, resampling=resampling)
            after = _figures(scaled, split)
            parts.append(_temperature(context.validation.name, split, fit, scaled, figures, after))
        if names and measured.items.by_class:
            classes = measure_classes(measured.items, options=options, resampling=resampling)
            parts.append(classes_part(names, classes, resampling.level))
        votes = votes_measured(context, options)
        if votes is not None:
            parts.append(votes_part(context, votes))
        if asked is not None:
            parts.append(elicited.elicited_part(context, asked))
        verdict = _verdict(split, measured, figures, compared)
        return p.SectionResult(
            verdict=verdict,
            headlines=_glance(context, figures, compared),
            parts=tuple(parts),
            limits=_limits(context, len(measured.items)),
            data={
                "bins": measured.bins.to_dict(),
                "consistency": measured.consistency.to_dict(),
                **({} if asked is None else elicited.data(asked)),
                "votes": None if votes is None else votes.result.to_dict(),
                "temperature": None if fit is None else fit.to_dict(),
                "figures": {key: figure.to_dict() for key, figure in figures.items()},
                "figures_at_temperature": {key: figure.to_dict() for key, figure in after.items()},
                "splits": {
                    name: {key: estimates[key].to_dict() for key in COMPARED} for name, estimates in compared.items()
                },
            },
            finding=finding(context, measured, figures, compared, shown=verdict.tone in ("bad", "warn")),
        )


SECTION = Calibration()


def _figures(measured: CalibrationMeasurement, split: str) -> dict[str, p.Headline]:
    texts = {key: FIGURES[key].defined(measured.n_bins, measured.items.kind) for key in measured.figures}
    return {
        key: p.Headline.of(key, texts[key], estimate, split=split, n=len(measured.items))
        for key, estimate in measured.figures.items()
    }


def _overview(measured: CalibrationMeasurement, figures: Figures, split: str) -> p.Part:
    top = measured.items.top
    quartiles = [(name, measured.items.confidence_quartiles(name == "right")) for name in ("right", "wrong")]
    words = " and ".join(
        f"{row[0]:,} {name} predictions with median confidence {percent(row[1][1])} "
        f"(quartiles {percent(row[1][0])} and {percent(row[1][2])})"
        for name, row in quartiles
        if row is not None
    )
    return p.Part(
        title="How often it is right, and how sure it is",
        headlines=tuple(figures[key] for key in OVERVIEW if key in figures),
        plots=(
            reliability_plot("reliability", measured, split, "Reliability diagram"),
            plots.confidence_histogram("confidence", confidence=top.confidence, correct=top.correct).plot(
                title="Confidence of right and of wrong predictions",
                caption="Each outline sums to 100%. For a model that knows when it errs, the two are far apart. "
                "Counted, so without interval.",
                alt=f"Histograms of confidence: {words}.",
                source="Counted",
            ),
        ),
        tables=(bin_table("bins", measured),),
    )


def _family(measured: CalibrationMeasurement, figures: Figures, split: str) -> p.Part:
    bins, null, n_items = measured.bins, measured.consistency, len(measured.items)
    level = level_percent(null.confidence_level)
    text = (
        f"In {measured.n_bins} bins of confidence, the model's accuracy is off by {percent(bins.ece)} on average: "
        f"{percent(bins.overconfidence)} from bins where it is too sure and {percent(bins.underconfidence)} from "
        f"bins where it is not sure enough. Chance alone gives a perfectly calibrated model with these confidences an "
        f"error of {percent(null.expected)} on average, and one as large as the observed one with p "
        f"{p_equals(null.p_value)}.\n\n"
        "The binned error is biased upward, and its interval corrects for that: it may lie below the figure itself, "
        "and touches 0 where the data do not speak against calibration."
    )
    if_calibrated = p.Headline(
        key="ece_if_calibrated",
        name="ECE of a calibrated model",
        estimate=p.Estimate(null.expected, 0.0, null.upper, null.confidence_level, "one-sided, binomial draws"),
        definition="Mean ECE of a model whose predictions come true exactly as often as it says. The interval is where "
        f"it falls in {level} of draws.",
        source="Vaicenavicius et al. 2019",
        split=split,
        n=n_items,
    )
    table = p.Table(
        key="calibration_family",
        title="The family of figures",
        columns=(
            p.Column("name", "Figure", "text"),
            p.Column("value", f"Value [{level} interval]"),
            p.Column("better", "Better", "text"),
            p.Column("definition", "Definition", "text"),
            p.Column("source", "Source", "text"),
        ),
        rows=tuple(
            (figure.name, p.Amount(figure.estimate, figure.unit), figure.better or "", figure.definition, figure.source)
            for key, figure in figures.items()
            if key not in OVERVIEW
        ),
        note=f"On {counted(n_items, 'item')} of “{split}”. The figures differ in what they count as an error; "
        "where they "
        "disagree on whether a model is calibrated, the choice of bins decides too much.",
    )
    return p.Part(
        title="Confidence against accuracy",
        text=text,
        headlines=(figures["ece"], if_calibrated, *(figures[key] for key in ("nll", "brier") if key in figures)),
        tables=(table,),
    )


def _ranking(
    context: AuditContext, measured: CalibrationMeasurement, figures: Figures, resampling: Resampling
) -> p.Part:
    curve = measure_risk(measured.items, resampling)
    errors = [(coverage, error.value or 0.0) for coverage, error in curve]
    examples = _confident_errors(context, measured)
    low, high = plots.bounds(error for _, error in curve)
    drawing = plots.risk_coverage(
        "risk_coverage",
        coverage=plots.column([coverage for coverage, _ in errors]),
        risk=plots.column([error for _, error in errors]),
        low=low,
        high=high,
        base=1 - measured.bins.accuracy,
    )
    words = "; ".join(
        f"keeping the most confident {100 * coverage:.0f}%, {percent(error)} are wrong"
        for coverage, error in errors
        if round(100 * coverage) in (25, 50, 75, 100)
    )
    return p.Part(
        title="Does it know which of its answers are wrong?",
        headlines=tuple(figures[key] for key in ("auroc", "aurc", "macro_ce")),
        plots=(
            drawing.plot(
                title="Error rate when it may decline to answer",
                caption="The error rate among the most confident items, as more of them are kept. The band is the "
                f"pointwise {level_percent(resampling.level)} Wilson interval of the error rate among the kept items.",
                alt=f"Risk-coverage curve. {words}.",
                source="El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017",
            ),
        ),
        examples=(examples,) if examples.examples else (),
        text="" if examples.examples else "It makes no error on these items.",
    )


def _temperature(
    validation: str,
    split: str,
    fit: Temperature,
    scaled: CalibrationMeasurement,
    before: Figures,
    after: Figures,
) -> p.Part:
    effect = "softens" if fit.temperature > 1 else "sharpens"
    if f"{fit.temperature:.3f}" == "1.000":
        effect = "hardly moves"
    text = (
        f"One number, fitted on {counted(fit.n_items, 'item')} of “{validation}” and applied to “{split}”: the "
        f"temperature {fit.temperature:.3f}, which {effect} the probabilities and changes no prediction. On "
        f"“{validation}” it brings the log loss from {decimal(fit.nll_before)} to {decimal(fit.nll_after)} nats."
    )
    if fit.at_bound:
        text += " It lies at the bound of the search: the split it was fitted on has no error, or no signal."
    table = p.Table(
        key="temperature",
        title="Before and after temperature scaling",
        columns=(
            p.Column("name", "Figure", "text"),
            p.Column("before", "Before"),
            p.Column("after", "After"),
            p.Column("better", "Better", "text"),
        ),
        rows=tuple(
            (name, *(p.Amount(one.estimate, one.unit) for one in (before[k], after[k])), before[k].better or "")
            for k, name in ((k, before[k].name) for k in after)
        ),
        note=f"On “{split}”, in brackets {level_percent(scaled.consistency.confidence_level)} intervals; the "
        "uncertainty of the temperature itself is not in them. Definitions as in the table above.",
        source="Guo et al. 2017, section 4.2",
    )
    return p.Part(
        title="Would a temperature fix it?",
        text=text,
        plots=(reliability_plot("reliability_scaled", scaled, split, "After temperature scaling"),),
        tables=(table,),
    )


def _confident_errors(context: AuditContext, measured: CalibrationMeasurement) -> p.ExampleList:
    wrong = surest_errors(measured)
    order = wrong[:N_EXAMPLES]
    return p.ExampleList(
        key="confident_errors",
        title="The errors it is most sure of",
        note=f"{first_of(len(order), len(wrong), 'wrong prediction', 'surest')}. A label can be wrong too: read them.",
        examples=tuple(shown_item(context, measured, int(row)) for row in order),
    )


def _verdict(split: str, measured: CalibrationMeasurement, figures: Figures, compared: Compared) -> p.Verdict:
    null, accuracy, gap = measured.consistency, figures["accuracy"], figures["confidence_gap"].estimate
    low, high = (-1.0, 1.0) if gap.low is None or gap.high is None else (gap.low, gap.high)
    summary = (
        f"On “{split}” it is right in {written(accuracy.estimate)} of the cases, and its mean confidence is "
        f"{written(figures['mean_confidence'].estimate)}: a gap of {written(gap)}. Its calibration error "
        f"is {percent(measured.bins.ece)}, where a calibrated model would show {percent(null.expected)} "
        f"(consistency resampling, p {p_equals(null.p_value)})."
    )
    tone: Literal["good", "warn", "bad", "neutral"]
    if low > 0:
        tone, label = ("bad" if low > MARGIN else "warn"), "Over-confident"
    elif high < 0:
        tone, label = ("bad" if high < -MARGIN else "warn"), "Under-confident"
    elif null.p_value < 1 - null.confidence_level:
        tone, label = "warn", "Miscalibrated in parts"
    elif max(-low, high) >= MARGIN:
        tone, label = "neutral", "No miscalibration shown"
        summary += f" {counted(accuracy.n, 'item does', 'items do')} not rule out a gap of {100 * MARGIN:.0f} points."
    else:
        tone, label = "good", "No miscalibration found"
    worst = worst_split(split, compared)
    if worst is not None:
        summary += (
            f" On “{worst}” it gets {written(compared[worst]['accuracy'])} right and is "
            f"{written(compared[worst]['mean_confidence'])} sure."
        )
        right, sure = (compared[worst][key].value or 0.0 for key in ("accuracy", "mean_confidence"))
        tone, label = "bad", f"{percent(sure)} sure, {percent(right)} right on {worst}"
    return p.Verdict(tone, label, summary)


def _glance(context: AuditContext, figures: Figures, compared: Compared) -> tuple[p.Headline, ...]:
    """Choose the figures of the overview, with the accuracy on a split where the model breaks."""
    accuracy, gap, ece = (figures[key] for key in ("accuracy", "confidence_gap", "ece"))
    worst = worst_split(context.primary.name, compared)
    if worst is None:
        return accuracy, gap, ece, figures["auroc"]
    fallen = dataclasses.replace(
        accuracy,
        key="accuracy_worst",
        name=f"Accuracy on {worst}",
        estimate=compared[worst]["accuracy"],
        split=worst,
        n=int(context.split(worst).labeled.sum()),
    )
    return accuracy, fallen, gap, ece


def _limits(context: AuditContext, n_items: int) -> tuple[str, ...]:
    limits = [WHY_NOT, ITEMS_ONLY]
    if n_items < FEW_ITEMS:
        limits.insert(
            0, f"With {counted(n_items, 'item')}, figures by bin are coarse: read the intervals, not the figures."
        )
    n_unlabeled = int((~context.primary.labeled).sum())
    if n_unlabeled:
        limits.append(f"Left out: {counted(n_unlabeled, 'item')} without a label.")
    return tuple(limits)
