"""Does its confidence match its accuracy?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration import CalibrationResult
from rightreasons.analysis.classification import classification_scores
from rightreasons.analysis.classwise import classwise_table
from rightreasons.analysis.consistency import ConsistencyResult, consistency
from rightreasons.analysis.selective import selective_of
from rightreasons.analysis.temperature import Temperature, fit_temperature
from rightreasons.audit import plots
from rightreasons.audit.context import AuditContext, AuditSplit
from rightreasons.audit.measures import (
    ABOUT,
    N_BINS,
    Judged,
    Resampling,
    binned,
    estimate_of,
    measure,
)
from rightreasons.audit.report import fraction, p_value
from rightreasons.audit.section import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    Example,
    ExampleList,
    Headline,
    Mark,
    Part,
    Plot,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)

N_EXAMPLES = 10
"""Errors that are shown."""

FEW_ITEMS = 300
"""With fewer items than this, the report says that calibration figures are coarse."""

MOST_CLASSES = 50
"""Rows of the table of classes."""

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
COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "nll")

WHY_NOT = (
    "Calibration says nothing about why the model is right: one that leans on a shortcut is calibrated wherever the "
    "shortcut holds."
)
ITEMS_ONLY = (
    "The intervals are about the choice of items, not about training: another seed of the same training may differ by "
    "more."
)

SOURCE_OF_DIAGRAM = "DeGroot & Fienberg 1983; Guo et al. 2017; consistency bars: Bröcker & Smith 2007"


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
        how = Resampling(context.confidence_level, context.n_resamples, context.seed)
        judged = _judge(context, context.primary)
        headlines = measure(judged, how)
        bins = binned(judged)
        null = consistency(bins, confidence_level=how.confidence_level, n_resamples=how.n_resamples, seed=how.seed)
        compared = {split.name: measure(_judge(context, split), how, COMPARED) for split in _labelled(context)}
        fit, after = _rescaled(context, judged, how)
        parts = [
            _overview(judged, headlines, bins, null, how),
            _family(judged, headlines, bins, null, how),
            *([_splits(context, compared, how)] if len(compared) > 1 else []),
            _ranking(context, judged, headlines, how),
            *([_temperature(context, judged, fit, headlines, after, how)] if fit is not None else []),
            *([_classes(context, judged)] if context.label_names and judged.by_class else []),
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
            _reliability("reliability", judged, bins, null, how, "Reliability diagram"),
            _plot(
                histogram,
                key="confidence",
                title="Confidence of right and of wrong predictions",
                caption="Each outline sums to 100 %. A model that knows when it errs has the two apart. Counted, so "
                "without interval.",
                alt=_histogram_alt(judged),
                source="Counted",
            ),
        ),
        tables=(_bin_table("bins", bins, null, how),),
    )


def _family(
    judged: Judged,
    headlines: Mapping[str, Headline],
    bins: CalibrationResult,
    null: ConsistencyResult,
    how: Resampling,
) -> Part:
    level = f"{100 * how.confidence_level:g} %"
    text = (
        f"In {N_BINS} bins of confidence, the model's accuracy is off by {fraction(bins.ece)} on average: "
        f"{fraction(bins.overconfidence)} from bins where it is too sure and {fraction(bins.underconfidence)} from "
        f"bins where it is not sure enough. Chance alone gives a perfectly calibrated model with these confidences an "
        f"error of {fraction(null.expected)} on average, and one as large as the observed one with p "
        f"{_equals(null.p_value)}.\n\n"
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
        intervals.wilson(int(min(w, k)), int(k), confidence_level=how.confidence_level)
        for w, k in zip(wrong, kept, strict=True)
    ]
    risk = np.array([point.risk for point in curve])
    error_rate = 1 - float(judged.top.correct.mean())
    examples = _confident_errors(context, judged)
    return Part(
        title="Does it know which of its answers are wrong?",
        headlines=tuple(headlines[key] for key in ("auroc", "aurc", "macro_ce")),
        plots=(
            _plot(
                plots.risk_coverage(
                    "risk_coverage",
                    coverage=np.array([point.coverage for point in curve]),
                    risk=risk,
                    low=np.array([interval.low for interval in ends]),
                    high=np.array([interval.high for interval in ends]),
                    base=error_rate,
                ),
                key="risk_coverage",
                title="Error rate when it may decline to answer",
                caption="The error rate among the most confident items, as more of them are kept. The band is the "
                f"pointwise {100 * how.confidence_level:g} % Wilson interval of the error rate among the kept items.",
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


def _splits(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]], how: Resampling) -> Part:
    """Compare the audited splits, paired with the primary one where their items belong together."""
    primary = context.primary
    rows: list[tuple[Any, ...]] = []
    for name, figures in compared.items():
        split = context.split(name)
        change = _change(context, split, how) if split is not primary else None
        rows.append(
            (
                name,
                int(split.labelled.sum()),
                *(figures[key].estimate for key in COMPARED[:4]),
                None if change is None or change.interval is None else estimate_of(change.difference, change.interval),
                None if change is None else change.p_value,
            )
        )
    drawing = plots.dot_rows(
        "splits",
        rows=[
            plots.Bar(
                name,
                *(
                    tuple(getattr(figures[key].estimate, end) for key in ("accuracy", "mean_confidence"))
                    for end in ("value", "low", "high")
                ),
            )
            for name, figures in compared.items()
        ],
        series=("accuracy", "mean confidence"),
        xlabel="share of items, probability",
    )
    words = "; ".join(
        f"{name}: accuracy {fraction(f['accuracy'].estimate.value or 0.0)}, mean confidence "
        f"{fraction(f['mean_confidence'].estimate.value or 0.0)}"
        for name, f in compared.items()
    )
    cues = _cue_table(context)
    level = f"{100 * how.confidence_level:g} %"
    return Part(
        title="What happens on the other splits",
        text=_splits_text(context, compared, bool(cues)),
        plots=(
            _plot(
                drawing,
                key="splits",
                title="Accuracy and mean confidence by split",
                caption="Where the gray bar is long, confidence and accuracy are far apart. Whiskers are "
                f"{level} intervals (Wilson for accuracy, bootstrap for confidence).",
                alt=f"Accuracy and mean confidence by split. {words}.",
                source="Counted",
            ),
        ),
        tables=(
            Table(
                key="splits",
                title="Splits side by side",
                columns=(
                    Column("split", "Split", "text"),
                    Column("n", "Items", "count"),
                    *(Column(key, ABOUT[key].name) for key in COMPARED[:4]),
                    Column(
                        "change",
                        f"Change from {primary.name}",
                        definition="Of accuracy, on the items that the splits share: mean difference, bootstrapped "
                        "over the items.",
                    ),
                    Column("p", "p", "p_value", "Two-sided p-value of no change."),
                ),
                rows=tuple(rows),
                note=f"In brackets: {level} intervals.",
                source="Counted; ECE as above; bootstrap: Efron & Tibshirani 1993",
            ),
            *cues,
        ),
        examples=_flipped_examples(context),
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
    null = consistency(bins, confidence_level=how.confidence_level, n_resamples=how.n_resamples, seed=how.seed)
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
        plots=(_reliability("reliability_scaled", scaled, bins, null, how, "After temperature scaling"),),
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
                note=f"On “{judged.split}”, in brackets {100 * how.confidence_level:g} % intervals; the uncertainty of "
                "the temperature itself is not in them. Definitions as in the table above.",
                source="Guo et al. 2017, section 4.2",
            ),
        ),
    )


def _classes(context: AuditContext, judged: Judged) -> Part:
    names = context.label_names or ()
    shown = classwise_table(judged.logits, judged.top.labels, n_bins=N_BINS, scores="logits", label_names=list(names))
    scores = classification_scores(judged.top.predicted, judged.top.labels, n_classes=len(names)).classes
    order = sorted(range(len(names)), key=lambda k: -shown.classes[k].n_items)[:MOST_CLASSES]
    rows = tuple(
        (
            names[k],
            shown.classes[k].n_items,
            shown.classes[k].n_predicted,
            scores[k].precision,
            _recall(scores[k].recall, scores[k].support),
            scores[k].f1,
            shown.classes[k].confidence,
            shown.classes[k].mean_probability - shown.classes[k].frequency,
            shown.classes[k].ece,
        )
        for k in order
    )
    return Part(
        title="Class by class",
        tables=(
            Table(
                key="classes",
                title="Classes",
                columns=(
                    Column("label", "Class", "text"),
                    Column("n_items", "Items", "count"),
                    Column("n_predicted", "Predicted", "count"),
                    Column("precision", "Precision", definition="Share of its predictions that are right."),
                    Column("recall", "Recall", definition="Share of its items that are found, with a Wilson interval."),
                    Column("f1", "F1"),
                    Column("confidence", "Confidence", definition="Mean confidence where it is predicted."),
                    Column(
                        "surplus",
                        "Surplus",
                        definition="Its mean probability over all items minus how often it occurs.",
                    ),
                    Column("ece", "ECE", definition="Calibration error of its probability over all items."),
                ),
                rows=rows,
                note="" if len(rows) == len(names) else f"The {len(rows)} most frequent of {len(names)} classes.",
                source="Counted; Kull et al. 2019",
            ),
        ),
    )


# -------------------------------------------------------------------------------------------------------------- pieces


def _judge(context: AuditContext, split: AuditSplit) -> Judged:
    return Judged.of(context.scores(split).logits, split.labels, split.name)


def _labelled(context: AuditContext) -> list[AuditSplit]:
    return [split for split in context.splits if split.labelled.any()]


def _rescaled(context: AuditContext, judged: Judged, how: Resampling) -> tuple[Temperature | None, dict[str, Headline]]:
    if context.validation is None:
        return None, {}
    other = _judge(context, context.validation)
    fit = fit_temperature(other.logits, other.top.labels)
    return fit, measure(judged.scaled(fit.temperature), how, SCALED)


def _plot(drawing: plots.Drawing, **said: Any) -> Plot:
    return Plot(png=drawing.png, svg=drawing.svg, **said)


def _reliability(
    key: str, judged: Judged, bins: CalibrationResult, null: ConsistencyResult, how: Resampling, title: str
) -> Plot:
    rows = bins.bins
    counts = np.array([row.count for row in rows])
    hits = [round((row.accuracy or 0.0) * row.count) for row in rows]
    ends = [
        intervals.wilson(hit, row.count, confidence_level=how.confidence_level) if row.count else None
        for hit, row in zip(hits, rows, strict=True)
    ]
    blank = np.zeros(len(rows))

    def column(values: Sequence[float | None]) -> NDArray[np.float64]:
        return blank + [0.0 if value is None else value for value in values]

    drawing = plots.reliability_diagram(
        key,
        edges=np.array([row.lower for row in rows] + [rows[-1].upper]),
        counts=counts,
        confidence=column([row.confidence for row in rows]),
        accuracy=column([row.accuracy for row in rows]),
        accuracy_low=column([end.low if end else None for end in ends]),
        accuracy_high=column([end.high if end else None for end in ends]),
        band_low=column([bar[0] if bar else None for bar in null.bars]),
        band_high=column([bar[1] if bar else None for bar in null.bars]),
    )
    told = "; ".join(
        f"{row.count:,} items at confidence {fraction(row.confidence or 0.0)}, accuracy {fraction(row.accuracy or 0.0)}"
        for row in rows
        if row.count
    )
    level = f"{100 * how.confidence_level:g} %"
    return _plot(
        drawing,
        key=key,
        title=title,
        caption=f"On “{judged.split}”, {len(judged):,} items. Bars are accuracy; dots with whiskers are accuracy and "
        f"its {level} Wilson interval at the bin's mean confidence. Gray boxes hold the accuracy of a calibrated model "
        f"in {level} of cases: a dot outside its box speaks against calibration there. Below: the items of each bin.",
        alt=f"Reliability diagram of {N_BINS} bins. {told}.",
        source=SOURCE_OF_DIAGRAM,
    )


def _bin_table(key: str, bins: CalibrationResult, null: ConsistencyResult, how: Resampling) -> Table:
    rows: list[tuple[Any, ...]] = []
    for row, bar in zip(bins.bins, null.bars, strict=True):
        if not row.count or row.accuracy is None or row.confidence is None:
            continue
        interval = intervals.wilson(round(row.accuracy * row.count), row.count, confidence_level=how.confidence_level)
        rows.append(
            (
                f"({fraction(row.lower)}, {fraction(row.upper)}]",
                row.count,
                row.confidence,
                estimate_of(row.accuracy, interval),
                row.confidence - row.accuracy,
                "" if bar is None else f"{fraction(bar[0])} to {fraction(bar[1])}",
            )
        )
    level = f"{100 * how.confidence_level:g} %"
    return Table(
        key=key,
        title="The bins behind the diagram",
        columns=(
            Column("bin", "Confidence", "text"),
            Column("n", "Items", "count"),
            Column("confidence", "Mean confidence"),
            Column("accuracy", f"Accuracy [{level} interval]"),
            Column("gap", "Gap"),
            Column(
                "calibrated",
                "If calibrated",
                "text",
                f"Where the accuracy of a calibrated model falls in {level} of cases.",
            ),
        ),
        rows=tuple(rows),
        source=SOURCE_OF_DIAGRAM,
        folded=True,
    )


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
            _example(context, split, int(items[row]), int(judged.top.predicted[row]), float(judged.top.confidence[row]))
            for row in order
        ),
    )


def _example(context: AuditContext, split: AuditSplit, item: int, predicted: int, confidence: float) -> Example:
    text, note = split.texts[item], ""
    if split.choices is not None:
        note = " | ".join(f"{n + 1}. {choice}" for n, choice in enumerate(split.choices[item]))
    return Example(
        id=split.ids[item],
        text=text,
        text_pair=split.text_pairs[item] if split.text_pairs else "",
        label=context.label_name(int(split.labels[item])),
        prediction=context.label_name(predicted),
        confidence=min(confidence, 1.0),
        marks=_planted_marks(split, item),
        note=note,
    )


def _planted_marks(split: AuditSplit, item: int) -> tuple[Mark, ...]:
    """Mark the planted tokens of data that tells them."""
    planted = split.planted
    return (
        () if planted is None else tuple(Mark(t["start"], t["end"], "cue", note="planted cue") for t in planted[item])
    )


def _change(context: AuditContext, split: AuditSplit, how: Resampling) -> intervals.PairedTest | None:
    """Test the change of accuracy from the primary split on the items that the two share."""
    primary = context.primary
    names = [s.pair_ids for s in (split, primary)]
    if names[0] is None or names[1] is None:
        return None
    place = {name: row for row, name in enumerate(names[1])}
    pairs = [(row, place[name]) for row, name in enumerate(names[0]) if name in place]
    pairs = [(a, b) for a, b in pairs if split.labels[a] >= 0 and primary.labels[b] >= 0]
    if not pairs:
        return None
    rows = np.array(pairs)
    right = [
        (_predicted(context, s) == s.labels)[rows[:, side]].astype(np.float64)
        for side, s in enumerate((split, primary))
    ]
    return intervals.paired_bootstrap(*right, **how.options)


def _predicted(context: AuditContext, split: AuditSplit) -> NDArray[np.int64]:
    logits = context.scores(split).logits
    return logits.argmax() if not isinstance(logits, np.ndarray) else np.asarray(logits.argmax(axis=1), dtype=np.int64)


def _cue_table(context: AuditContext) -> tuple[Table, ...]:
    """Tell how often the prediction goes with a planted cue, where the data says which class each cue stands for."""
    rows: list[tuple[Any, ...]] = []
    for split in _labelled(context):
        cues = split.cue_labels
        if cues is None:
            return ()
        predicted = _predicted(context, split)
        for name, group in (
            ("agrees with the label", (cues == split.labels) & (cues >= 0)),
            ("contradicts the label", (cues != split.labels) & (cues >= 0)),
            ("absent", cues < 0),
        ):
            group = group & split.labelled
            n = int(group.sum())
            if not n:
                continue
            right, follows = int((predicted == split.labels)[group].sum()), int((predicted == cues)[group].sum())
            level = context.confidence_level
            rows.append(
                (
                    split.name,
                    name,
                    n,
                    estimate_of(right / n, intervals.wilson(right, n, confidence_level=level)),
                    None
                    if name == "absent"
                    else estimate_of(follows / n, intervals.wilson(follows, n, confidence_level=level)),
                )
            )
    return (
        Table(
            key="cues",
            title="The planted cue and the prediction",
            columns=(
                Column("split", "Split", "text"),
                Column("cue", "The cue", "text"),
                Column("n", "Items", "count"),
                Column("accuracy", "Accuracy"),
                Column("follows", "Goes with the cue", definition="Share of predictions that are the cue's class."),
            ),
            rows=tuple(rows),
            note="The data tells which token is the cue and which class it stands for; it has nothing to do with what "
            f"the text says. In brackets: {100 * context.confidence_level:g} % Wilson intervals.",
            source="Counted",
        ),
    )


def _flipped_examples(context: AuditContext) -> tuple[ExampleList, ...]:
    """Show items that are right as they are and wrong once their cue is flipped."""
    primary = context.primary
    flipped = next((s for s in context.comparisons if s.cue_labels is not None and (s.cue_labels >= 0).any()), None)
    if flipped is None or primary.pair_ids is None or flipped.pair_ids is None:
        return ()
    place = {name: row for row, name in enumerate(primary.pair_ids)}
    scores = context.scores(flipped).logits
    if not isinstance(scores, np.ndarray):
        return ()
    judged = Judged.of(scores, np.maximum(flipped.labels, 0), flipped.name).top
    was_right = _predicted(context, primary) == primary.labels
    fell = [
        row
        for row, name in enumerate(flipped.pair_ids)
        if name in place and was_right[place[name]] and flipped.labels[row] >= 0 and not judged.correct[row]
    ]
    fell.sort(key=lambda row: -judged.confidence[row])
    if not fell:
        return ()
    chosen = fell[: N_EXAMPLES // 2]
    return (
        ExampleList(
            key="flipped",
            title=f"Right on “{primary.name}”, wrong on “{flipped.name}”",
            note=f"The {len(chosen)} most confident of {len(fell):,} items that the model answers rightly until their "
            "planted cue (marked) is changed; the rest of the text is the same.",
            examples=tuple(
                _example(context, flipped, row, int(judged.predicted[row]), float(judged.confidence[row]))
                for row in chosen
            ),
        ),
    )


def _recall(recall: float | None, support: int) -> Estimate | None:
    if recall is None:
        return None
    return estimate_of(recall, intervals.wilson(round(recall * support), support))


# --------------------------------------------------------------------------------------------------------------- words


def _verdict(
    context: AuditContext,
    headlines: Mapping[str, Headline],
    null: ConsistencyResult,
    compared: Mapping[str, Mapping[str, Headline]],
) -> Verdict:
    gap, ece = headlines["confidence_gap"].estimate, headlines["ece"].estimate
    tone: Literal["good", "warn", "bad", "neutral"]
    if gap.low is not None and gap.low > 0:
        tone, label = ("bad" if gap.low > 0.05 else "warn"), "Over-confident"
    elif gap.high is not None and gap.high < 0:
        tone, label = ("bad" if gap.high < -0.05 else "warn"), "Under-confident"
    elif null.p_value < 0.05:
        tone, label = "warn", "Miscalibrated in parts"
    else:
        tone, label = "good", "No miscalibration found"
    primary = context.primary.name
    summary = (
        f"On “{primary}” it is right in {_with_interval(headlines['accuracy'].estimate)} of the cases and says "
        f"{_with_interval(headlines['mean_confidence'].estimate)}, a gap of {_with_interval(gap)}; its calibration "
        f"error is {fraction(ece.value or 0.0)}, against {fraction(null.expected)} for a calibrated model "
        f"(p {_equals(null.p_value)})."
    )
    worst = _worst(context, compared)
    if worst is not None:
        accuracy, confidence = (compared[worst][key].estimate for key in ("accuracy", "mean_confidence"))
        summary += (
            f" On “{worst}” it is right in {_with_interval(accuracy)} of the cases and still says "
            f"{_with_interval(confidence)}."
        )
        tone, label = "bad", f"{label} on {primary}, far off on {worst}"
    return Verdict(tone, label, summary)


def _glance(
    context: AuditContext, headlines: Mapping[str, Headline], compared: Mapping[str, Mapping[str, Headline]]
) -> tuple[Headline, ...]:
    """Choose the figures of the overview: where a split breaks the model, its accuracy is one of them."""
    chosen = [headlines[key] for key in ("accuracy", "confidence_gap", "ece")]
    worst = _worst(context, compared)
    if worst is None:
        return (*chosen, headlines["auroc"])
    fallen = compared[worst]["accuracy"]
    return (chosen[0], dataclasses.replace(fallen, key="accuracy_worst", name=f"Accuracy on {worst}"), *chosen[1:])


def _worst(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]]) -> str | None:
    """Name the comparison split with the largest gap, where it is clearly larger than that of the primary split."""
    gaps = {name: figures["confidence_gap"].estimate for name, figures in compared.items()}
    base = gaps.pop(context.primary.name)
    if not gaps:
        return None
    worst = max(gaps, key=lambda name: abs(gaps[name].value or 0.0))
    low = min(abs(gaps[worst].low or 0.0), abs(gaps[worst].high or 0.0))
    return worst if low > max(0.05, abs(base.low or 0.0), abs(base.high or 0.0)) else None


def _splits_text(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]], planted: bool) -> str:
    primary = context.primary.name
    first = compared[primary]
    text = ""
    if planted:
        text = (
            "This data carries a planted cue: a token that mostly agrees with the label in training and has nothing to "
            "do with what the text says. The splits hold the same items with the cue as in training, without it, or "
            "turned against the label. A model that reads the text answers alike on all of them.\n\n"
        )
    for name, figures in compared.items():
        if name != primary:
            text += (
                f"From “{primary}” to “{name}”, accuracy goes from "
                f"{fraction(first['accuracy'].estimate.value or 0.0)} to "
                f"{_with_interval(figures['accuracy'].estimate)} and mean confidence from "
                f"{fraction(first['mean_confidence'].estimate.value or 0.0)} to "
                f"{_with_interval(figures['mean_confidence'].estimate)}. "
            )
    return text


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


def _with_interval(estimate: Estimate) -> str:
    if estimate.value is None:
        return "an undefined share"
    if estimate.low is None or estimate.high is None:
        return fraction(estimate.value)
    return f"{fraction(estimate.value)} [{fraction(estimate.low)}, {fraction(estimate.high)}]"


def _equals(p: float) -> str:
    text = p_value(p)
    return text if text.startswith("<") else f"= {text}"
