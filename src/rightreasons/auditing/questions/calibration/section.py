"""Does its confidence match its accuracy?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import numpy as np

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration.consistency import ConsistencyResult, consistency
from rightreasons.analysis.calibration.errors import CalibrationResult
from rightreasons.analysis.calibration.selective import selective_of
from rightreasons.analysis.calibration.temperature import Temperature, fit_temperature
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.figures import N_BINS, Judged, binned, measure
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    ExampleList,
    Headline,
    Part,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, p_equals, percent, with_interval
from rightreasons.auditing.questions.calibration.classes import classes_part
from rightreasons.auditing.questions.calibration.reliability import bin_table, reliability_plot
from rightreasons.auditing.questions.calibration.splits import (
    COMPARED,
    judge,
    labelled_splits,
    splits_part,
    worst_split,
)
from rightreasons.foundations.resampling import Resampling

N_EXAMPLES = 10
"""Errors that are shown."""

FEW_ITEMS = 300
"""With fewer items than this, the report says that calibration figures are coarse."""

FAMILY = (
    "ece",
    "ece_debiased",
    "adaptive_ece",
    "smooth_ece",
    "ece_sweep",
    "mce",
    "classwise_ece",
    "macro_ce",
    "brier",
    "brier_reliability",
    "brier_resolution",
    "brier_uncertainty",
    "nll",
    "aurc",
    "e_aurc",
    "auroc",
)
SCALED = ("mean_confidence", "confidence_gap", "ece", "adaptive_ece", "classwise_ece", "macro_ce", "brier", "nll")

WHY_NOT = (
    "Calibration says nothing about why the model is right: one that leans on a shortcut is calibrated wherever the "
    "shortcut holds."
)
ITEMS_ONLY = (
    "The intervals are about the choice of items, not about training: another seed of the same training may differ by "
    "more."
)


class Calibration:
    """Accuracy, confidence and the gap between the two: overall, by bin, class and split, and after a temperature."""

    question = "calibration"
    title = "Does its confidence match its accuracy?"
    order = 1
    needs_labels = True

    def applies(self, context: AuditContext) -> Applicability:
        """Ask for labels on the primary split."""
        if not context.primary.labelled.any():
            return applies_not(f"None of the items of {context.primary.name!r} has a label.")
        return APPLIES

    def run(self, context: AuditContext) -> SectionResult:
        """Answer the question."""
        how = context.resampling
        judged = judge(context, context.primary)
        headlines = measure(judged, how)
        bins = binned(judged)
        null = consistency(bins, resampling=how)
        compared = {split.name: measure(judge(context, split), how, COMPARED) for split in labelled_splits(context)}
        fit, after = _rescaled(context, judged, how)
        parts = [
            _overview(judged, headlines, bins, null, how),
            _family(judged, headlines, bins, null, how),
            *([splits_part(context, compared, how)] if len(compared) > 1 else []),
            _ranking(context, judged, headlines, how),
            *([_temperature(context, judged, fit, headlines, after, how)] if fit is not None else []),
            *([classes_part(context.label_names, judged, how)] if context.label_names and judged.by_class else []),
        ]
        return SectionResult(
            verdict=_verdict(context, headlines, null, compared),
            headlines=_glance(context, headlines, compared),
            parts=tuple(parts),
            limits=_limits(context, judged),
            data={
                "bins": bins.to_dict(),
                "consistency": null.to_dict(),
                "temperature": None if fit is None else fit.to_dict(),
                "figures": {key: headline.to_dict() for key, headline in headlines.items()},
                "figures_at_temperature": {key: headline.to_dict() for key, headline in after.items()},
                "splits": {
                    name: {key: figure.estimate.to_dict() for key, figure in figures.items()}
                    for name, figures in compared.items()
                },
            },
        )


SECTION = Calibration()


# --------------------------------------------------------------------------------------------------------------- parts


def _overview(
    judged: Judged,
    headlines: Mapping[str, Headline],
    bins: CalibrationResult,
    null: ConsistencyResult,
    how: Resampling,
) -> Part:
    keys = ("accuracy", "macro_f1", "mean_confidence", "confidence_gap")
    histogram = plots.confidence_histogram("confidence", confidence=judged.top.confidence, correct=judged.top.correct)
    return Part(
        title="How often it is right, and how sure it is",
        headlines=tuple(headlines[key] for key in keys if key in headlines),
        plots=(
            reliability_plot("reliability", judged, bins, null, how, "Reliability diagram"),
            histogram.plot(
                key="confidence",
                title="Confidence of right and of wrong predictions",
                caption="Each outline sums to 100 %. A model that knows when it errs has the two apart. Counted, so "
                "without interval.",
                alt=_histogram_alt(judged),
                source="Counted",
            ),
        ),
        tables=(bin_table("bins", bins, null, how),),
    )


def _family(
    judged: Judged,
    headlines: Mapping[str, Headline],
    bins: CalibrationResult,
    null: ConsistencyResult,
    how: Resampling,
) -> Part:
    level = percent(how.level)
    text = (
        f"In {N_BINS} bins of confidence, the model's accuracy is off by {fraction(bins.ece)} on average: "
        f"{fraction(bins.overconfidence)} from bins where it is too sure and {fraction(bins.underconfidence)} from "
        f"bins where it is not sure enough. Chance alone gives a perfectly calibrated model with these confidences an "
        f"error of {fraction(null.expected)} on average, and one as large as the observed one with p "
        f"{p_equals(null.p_value)}.\n\n"
        "The binned error is biased upward, and its interval corrects for that: it may lie below the figure itself, "
        "and touches 0 where the data do not speak against calibration."
    )
    of_calibrated = Headline(
        key="ece_if_calibrated",
        name="ECE of a calibrated model",
        estimate=Estimate(null.expected, 0.0, null.upper, null.confidence_level, "one-sided, binomial draws"),
        definition="Mean ECE of a model whose predictions come true exactly as often as it says. The interval is where "
        f"it falls in {level} of draws.",
        source="Vaicenavicius et al. 2019",
        split=judged.split,
        n=len(judged),
    )
    family = Table(
        key="calibration_family",
        title="The family of figures",
        columns=(
            Column("name", "Figure", "text"),
            Column("value", f"Value [{level} interval]"),
            Column("better", "Better", "text"),
            Column("definition", "Definition", "text"),
            Column("source", "Source", "text"),
        ),
        rows=tuple(
            (h.name, h.estimate, h.better or "", h.definition, h.source)
            for h in (headlines[key] for key in FAMILY if key in headlines)
        ),
        note=f"On {len(judged):,} items of “{judged.split}”. The figures differ in what they count as an error; where "
        "they disagree on whether a model is calibrated, the choice of bins decides too much.",
    )
    shown = tuple(headlines[key] for key in ("nll", "brier") if key in headlines)
    return Part(
        title="Confidence against accuracy",
        text=text,
        headlines=(headlines["ece"], of_calibrated, *shown),
        tables=(family,),
    )


def _ranking(context: AuditContext, judged: Judged, headlines: Mapping[str, Headline], how: Resampling) -> Part:
    curve = selective_of(judged.top).curve
    wrong = np.array([round(point.risk * point.coverage * len(judged)) for point in curve])
    kept = np.array([round(point.coverage * len(judged)) for point in curve])
    ends = [
        intervals.wilson(int(min(w, k)), int(k), confidence_level=how.level) for w, k in zip(wrong, kept, strict=True)
    ]
    risk = np.array([point.risk for point in curve])
    error_rate = 1 - float(judged.top.correct.mean())
    examples = _confident_errors(context, judged)
    return Part(
        title="Does it know which of its answers are wrong?",
        headlines=tuple(headlines[key] for key in ("auroc", "aurc", "macro_ce")),
        plots=(
            plots.risk_coverage(
                "risk_coverage",
                coverage=np.array([point.coverage for point in curve]),
                risk=risk,
                low=np.array([interval.low for interval in ends]),
                high=np.array([interval.high for interval in ends]),
                base=error_rate,
            ).plot(
                key="risk_coverage",
                title="Error rate when it may decline to answer",
                caption="The error rate among the most confident items, as more of them are kept. The band is the "
                f"pointwise {percent(how.level)} Wilson interval of the error rate among the kept items.",
                alt="Risk-coverage curve. "
                + "; ".join(
                    f"keeping the most confident {100 * point.coverage:.0f} %, {fraction(point.risk)} are wrong"
                    for point in curve
                    if round(100 * point.coverage) in (25, 50, 75, 100)
                )
                + ".",
                source="El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017",
            ),
        ),
        examples=(examples,) if examples.examples else (),
        text="" if examples.examples else "It makes no error on these items.",
    )


def _temperature(
    context: AuditContext,
    judged: Judged,
    fit: Temperature,
    before: Mapping[str, Headline],
    after: Mapping[str, Headline],
    how: Resampling,
) -> Part:
    validation = context.validation
    name = "" if validation is None else validation.name
    scaled = judged.scaled(fit.temperature)
    bins = binned(scaled)
    null = consistency(bins, resampling=how)
    direction = "softens" if fit.temperature > 1 else "sharpens"
    text = (
        f"One number, fitted on {fit.n_items:,} items of “{name}” and applied to “{judged.split}”: the temperature "
        f"{fit.temperature:.3f}, which {direction} all probabilities and leaves every prediction as it is. On “{name}” "
        f"it brings the log loss from {fraction(fit.nll_before)} to {fraction(fit.nll_after)} nats."
    )
    if fit.at_bound:
        text += " It lies at the bound of what is looked at: the split it was fitted on has no error, or no signal."
    return Part(
        title="Would a temperature mend it?",
        text=text,
        plots=(reliability_plot("reliability_scaled", scaled, bins, null, how, "After temperature scaling"),),
        tables=(
            Table(
                key="temperature",
                title="Before and after temperature scaling",
                columns=(
                    Column("name", "Figure", "text"),
                    Column("before", "Before"),
                    Column("after", "After"),
                    Column("better", "Better", "text"),
                ),
                rows=tuple(
                    (before[k].name, before[k].estimate, after[k].estimate, before[k].better or "") for k in after
                ),
                note=f"On “{judged.split}”, in brackets {percent(how.level)} intervals; the uncertainty of "
                "the temperature itself is not in them. Definitions as in the table above.",
                source="Guo et al. 2017, section 4.2",
            ),
        ),
    )


# -------------------------------------------------------------------------------------------------------------- pieces


def _rescaled(context: AuditContext, judged: Judged, how: Resampling) -> tuple[Temperature | None, dict[str, Headline]]:
    if context.validation is None:
        return None, {}
    other = judge(context, context.validation)
    fit = fit_temperature(other.logits, other.top.labels)
    return fit, measure(judged.scaled(fit.temperature), how, SCALED)


def _confident_errors(context: AuditContext, judged: Judged) -> ExampleList:
    split = context.primary
    items = np.flatnonzero(split.labelled)
    wrong = np.flatnonzero(~judged.top.correct)
    order = wrong[np.argsort(-judged.top.confidence[wrong], kind="stable")][:N_EXAMPLES]
    return ExampleList(
        key="confident_errors",
        title="The errors it is most sure of",
        note=f"The {len(order)} wrong predictions with the highest confidence, of {len(wrong):,} wrong ones. A label "
        "can be wrong too: read them.",
        examples=tuple(
            example_of(
                context, split, int(items[row]), int(judged.top.predicted[row]), float(judged.top.confidence[row])
            )
            for row in order
        ),
    )


# --------------------------------------------------------------------------------------------------------------- words


def _verdict(
    context: AuditContext,
    headlines: Mapping[str, Headline],
    null: ConsistencyResult,
    compared: Mapping[str, Mapping[str, Headline]],
) -> Verdict:
    accuracy = headlines["accuracy"]
    gap, ece = headlines["confidence_gap"].estimate, headlines["ece"].estimate
    tone: Literal["good", "warn", "bad", "neutral"]
    if gap.low is not None and gap.low > 0:
        tone, label = ("bad" if gap.low > 0.05 else "warn"), "Over-confident"
    elif gap.high is not None and gap.high < 0:
        tone, label = ("bad" if gap.high < -0.05 else "warn"), "Under-confident"
    elif null.p_value < 0.05:
        tone, label = "warn", "Miscalibrated in parts"
    elif accuracy.n < FEW_ITEMS:
        tone, label = "neutral", "No miscalibration found among few items"
    else:
        tone, label = "good", "No miscalibration found"
    primary = context.primary.name
    summary = (
        f"On “{primary}” it is right in {with_interval(accuracy.estimate)} of the cases, and its mean confidence is "
        f"{with_interval(headlines['mean_confidence'].estimate)}: a gap of {with_interval(gap)}. Its calibration error "
        f"is {fraction(ece.value or 0.0)}, where a calibrated model would show {fraction(null.expected)} "
        f"(p {p_equals(null.p_value)})."
    )
    worst = worst_split(context, compared)
    if worst is not None:
        fallen = compared[worst]
        summary += (
            f" On “{worst}” it is right in {with_interval(fallen['accuracy'].estimate)} of the cases, with a mean "
            f"confidence of {with_interval(fallen['mean_confidence'].estimate)}."
        )
        tone, label = "bad", f"{label} on {primary}, far off on {worst}"
    return Verdict(tone, label, summary)


def _glance(
    context: AuditContext, headlines: Mapping[str, Headline], compared: Mapping[str, Mapping[str, Headline]]
) -> tuple[Headline, ...]:
    """Choose the figures of the overview: where a split breaks the model, its accuracy is one of them."""
    chosen = [headlines[key] for key in ("accuracy", "confidence_gap", "ece")]
    worst = worst_split(context, compared)
    if worst is None:
        return (*chosen, headlines["auroc"])
    fallen = compared[worst]["accuracy"]
    return (chosen[0], dataclasses.replace(fallen, key="accuracy_worst", name=f"Accuracy on {worst}"), *chosen[1:])


def _limits(context: AuditContext, judged: Judged) -> tuple[str, ...]:
    limits = [WHY_NOT, ITEMS_ONLY]
    if len(judged) < FEW_ITEMS:
        limits.insert(0, f"With {len(judged):,} items, figures by bin are coarse: read the intervals, not the figures.")
    dropped = int((~context.primary.labelled).sum())
    if dropped:
        limits.append(f"{dropped:,} items without a label are left out.")
    return tuple(limits)


def _histogram_alt(judged: Judged) -> str:
    said = []
    for name, mask in (("right", judged.top.correct), ("wrong", ~judged.top.correct)):
        if mask.any():
            low, middle, high = np.quantile(judged.top.confidence[mask], (0.25, 0.5, 0.75))
            said.append(
                f"{int(mask.sum()):,} {name} predictions with median confidence {fraction(middle)} "
                f"(quartiles {fraction(low)} and {fraction(high)})"
            )
    return f"Histograms of confidence: {' and '.join(said)}."
