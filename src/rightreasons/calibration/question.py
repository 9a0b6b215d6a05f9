"""Does its confidence match its accuracy? Overall, by bin, class and split, and after a temperature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rightreasons.calibration.elicit import BY_GROUP, OF_ANSWERS, ConfidenceMeasurement
from rightreasons.calibration.measure import FIGURES, VOTE_FIGURES
from rightreasons.calibration.measurement import (
    COMPARED,
    MARGIN,
    N_EXAMPLES,
    NAMES,
    CalibrationAnswers,
    change,
    measure,
)
from rightreasons.core.intervals import Estimate, Power, estimate_of
from rightreasons.page import plots
from rightreasons.page.parts import Amount, Cell
from rightreasons.page.plots import Drawing
from rightreasons.page.prose import percent, prose
from rightreasons.page.question import Examples, Figure, Lead, Need, Part, Plot, Question, Rule, Table

OVERVIEW = ("accuracy", "macro_f1", "mean_confidence", "confidence_gap")
"""The figures of the first part; all others are in the table of the second."""

N_LABELS = 300
"""Labels to check that a report names at most."""

RELIABILITY = "DeGroot & Fienberg 1983; Guo et al. 2017; consistency bars: Bröcker & Smith 2007"


def if_calibrated(m: CalibrationAnswers) -> Estimate | None:
    """Return the calibration error of a calibrated model."""
    if m.measured is None:
        return None
    null = m.measured.consistency
    return Estimate(null.expected, 0.0, null.upper, null.confidence_level, "one-sided, binomial draws")


def draw_reliability(key: str, m: Any) -> Drawing:
    """Draw the reliability diagram with its consistency bars."""
    measured, null = m.measured, m.measured.consistency
    return plots.reliability_diagram(
        key, measured.bins.bins, intervals=measured.accuracies, bars=null.bars, level=null.confidence_level
    )


def draw_risk(key: str, m: Any) -> Drawing:
    """Draw the error rate among the most confident items."""
    coverage, risk = zip(*m.risk, strict=True)
    random = plots.Curve("ranked at random", [Estimate(1 - m.measured.bins.accuracy)] * len(risk), dashed=True)
    lines, kept = [plots.Curve("ranked by confidence", risk), random], "share of items kept (coverage)"
    return plots.curves(key, coverage, lines, xlabel=kept, ylabel="error rate among them", zero=True)


def draw_splits(key: str, m: CalibrationAnswers) -> Drawing:
    """Draw accuracy and mean confidence of each split."""
    bars = [(name, [each["accuracy"], each["mean_confidence"]]) for name, each in m.compared.items()]
    return plots.dot_rows(key, rows=bars, series=("accuracy", "mean confidence"), xlabel="share of items, probability")


def bin_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the rows behind the reliability diagram."""
    measured = m.measured
    for row, accuracy, bar in zip(measured.bins.bins, measured.accuracies, measured.consistency.bars, strict=True):
        if row.accuracy is not None and row.confidence is not None:
            name = f"({percent(row.lower)}, {percent(row.upper)}]"
            calibrated = "" if bar is None else f"{percent(bar[0])} to {percent(bar[1])}"
            yield name, row.count, row.confidence, accuracy, row.confidence - row.accuracy, calibrated


def family_rows(m: CalibrationAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return the figures that are not in the overview."""
    for key, it in m.headlines(m.estimates).items():
        if key not in OVERVIEW:
            yield it.name, Amount(it.estimate, it.unit), it.better or "", it.definition, it.source


def split_rows(m: CalibrationAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each split, with the change from the primary one."""
    for name, figures in m.compared.items():
        split = m.context.split(name)
        shown = (figures[key] for key in COMPARED[:4])
        yield name, int(split.labeled.sum()), *shown, *change(m.context, split, m.context.resampling)


def temperature_rows(m: CalibrationAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return the figures before and after."""
    before = m.headlines(m.estimates)
    for key, after in m.headlines(m.scaled).items():
        pair = (Amount(headline.estimate, headline.unit) for headline in (before[key], after))
        yield before[key].name, *pair, before[key].better or ""


def label_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the labels that the model contradicts."""
    rows = m.label_errors[:N_LABELS]
    for example, chance in zip(m.shown(rows), m.measured.items.label_probability[rows], strict=True):
        yield example.id, example.label, example.prediction, float(chance)


def vote_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the share of the votes of each class."""
    shares = m.votes.shares
    names = m.context.label_names or [f"choice {k + 1}" for k in range(len(shares))]
    yield from zip(names, map(float, shares), strict=True)


OF_SOURCES = ("mean_confidence", "ece", "brier_of_answers", "auroc", "aurc")
OF_COMMAND = ("accuracy", "mean_confidence", "ece", "smooth_ece", "brier_of_answers", "auroc", "aurc")
PAIRED = ("accuracy", "confidence_gap", "ece", "brier", "auroc", "aurc")
"""The figures of sources of confidence: on a page, by `rightreasons confidence`, and in its tests of each two."""


def source_rows(measured: ConfidenceMeasurement, keys: Sequence[str] = OF_SOURCES) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each source of confidence."""
    for source in measured.sources:
        yield NAMES.get(source.name, source.name), source.confident, *map(source.figures.get, keys)


def difference_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Return the paired tests of each two sources of confidence."""
    for pair in measured.pairs:
        for key in PAIRED:
            test = pair.differences.get(key)
            if test is not None and test.interval is not None:
                name, value = FIGURES[OF_ANSWERS.get(key, key)].name, estimate_of(test.difference, test.interval)
                yield f"{pair.first} - {pair.second}", name, value, test.p_value, pair.p_holm[key]


def group_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each source of confidence by group."""
    for group, (n_items, figures) in measured.groups.items():
        for name, estimates in figures.items():
            yield group or "(no group)", name, n_items, *map(estimates.get, BY_GROUP)


def data(m: CalibrationAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    elicited = {}
    if m.asked is not None:
        elicited = {"sources": m.asked.measured and m.asked.measured.to_dict(), "rare": m.asked.rare}
    if m.measured is None:
        return elicited
    return {
        "bins": m.measured.bins.to_dict(),
        "consistency": m.measured.consistency.to_dict(),
        **elicited,
        "votes": m.votes and m.votes.result.to_dict(),
        "temperature": m.fit and m.fit.to_dict(),
        "figures": {key: figure.to_dict() for key, figure in m.headlines(m.measured.figures).items()},
        "figures_at_temperature": {key: figure.to_dict() for key, figure in m.headlines(m.scaled).items()},
        "splits": {name: {key: each[key].to_dict() for key in COMPARED} for name, each in m.compared.items()},
    }


CALIBRATION = Question(
    name="calibration",
    order=1,
    title="Does its confidence match its accuracy?",
    prose=prose(
        __file__,
        MARGIN=MARGIN,
        NAMES=NAMES,
        N_LABELS=N_LABELS,
        FIGURES=FIGURES,
        COMPARED=COMPARED,
        OF_SOURCES=OF_SOURCES,
    ),
    reads="all",
    needs=(
        Need("labels", lambda context, options: context.primary.labeled.any()),
        Need("stored", lambda context, options: context.stored is None or not context.answers_once),
        Need("elicited", lambda context, options: options.elicit or not context.answers_once),
    ),
    measure=measure,
    power=Power("confidence", tests=2),
    figures=(
        *(
            Figure(key, lambda m, key=key: m.estimates.get(key), text=lambda m, key=key: m.text(key))  # type: ignore[misc]
            for key in FIGURES
        ),
        Figure("ece_if_calibrated", if_calibrated, "Vaicenavicius et al. 2019"),
        Figure(
            "accuracy_worst",
            lambda m: m.worst and m.compared[m.worst]["accuracy"],
            "Counted",
            better="higher",
            n=lambda m: int(m.there.labeled.sum()),
            split=lambda m: m.worst,
        ),
        *(
            Figure(
                key,
                lambda m, key=key: m.votes and m.votes.figures[key],  # type: ignore[misc]
                n=lambda m: m.votes.result.n_items,
                text=lambda m, text=text: text,  # type: ignore[misc]
            )
            for key, text in VOTE_FIGURES.items()
        ),
    ),
    headlines=lambda m: (
        "accuracy",
        "accuracy_worst" if m.measured else "mean_confidence",
        "confidence_gap",
        "ece",
        "auroc",
    ),
    verdict=(
        Rule("neutral", "few_confidences", lambda m: not m.estimates),
        Rule("neutral", "asked", lambda m: m.measured is None),
        Rule("bad", "worst", lambda m: m.worst),
        Rule("bad", "over", lambda m: m.is_apart and m.is_over),
        Rule("bad", "under", lambda m: m.is_apart),
        Rule("warn", "in_parts", lambda m: m.is_off_in_parts),
        Rule("good", "none_found", lambda m: m.is_small),
        Rule("neutral", "open"),
    ),
    parts=(
        Part(
            "overview",
            (
                Plot("reliability", draw_reliability, RELIABILITY),
                Table("bins", bin_rows, RELIABILITY, folded=True),
            ),
            figures=OVERVIEW,
            when=lambda m: m.measured,
        ),
        Part(
            "family",
            (Table("calibration_family", family_rows),),
            figures=("ece", "ece_if_calibrated", "nll", "brier"),
            when=lambda m: m.measured,
        ),
        Part(
            "splits",
            (
                Plot("splits", draw_splits, "Counted"),
                Table("splits", split_rows, "Counted; ECE as above; McNemar 1947; Efron & Tibshirani 1993"),
                Examples("flipped", CalibrationAnswers.flipped_examples),
            ),
            when=lambda m: len(m.compared) > 1,
        ),
        Part(
            "ranking",
            (
                Plot("risk_coverage", draw_risk, "El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017"),
                Examples("confident_errors", lambda m: m.shown(m.surest_errors[:N_EXAMPLES])),
            ),
            figures=("auroc", "aurc", "macro_ce"),
            when=lambda m: m.measured,
        ),
        Part(
            "labels",
            (
                Examples("labels", lambda m: m.shown(m.label_errors[:N_EXAMPLES])),
                Table("labels", label_rows, "Northcutt et al. 2021", folded=True),
            ),
            when=lambda m: m.label_errors.size,
        ),
        Part(
            "temperature",
            (Table("temperature", temperature_rows, "Guo et al. 2017, section 4.2"),),
            when=lambda m: m.fit,
        ),
        Part(
            "classes",
            (
                Table(
                    "classes",
                    lambda m: [(m.context.label_names[row.label], *[*vars(row).values()][1:]) for row in m.classes],
                    "Counted; van Rijsbergen 1979; Kull et al. 2019",
                ),
            ),
            when=lambda m: m.classes is not None,
        ),
        Part("votes", (Table("votes", vote_rows, "Counted"),), figures=tuple(VOTE_FIGURES), when=lambda m: m.votes),
        Part(
            "asked",
            (
                Table(
                    "confidence_sources",
                    lambda m: source_rows(m.asked.measured),
                    "Kadavath et al. 2022; Tian et al. 2023; Wang et al. 2023",
                    when=lambda m: m.asked.measured,
                ),
                Examples("confidence_prompts", CalibrationAnswers.prompts),
            ),
            when=lambda m: m.asked,
        ),
    ),
    leads=(
        Lead(
            "sure_there",
            figure="accuracy_worst",
            plot="splits",
            size=lambda m: abs(m.compared[m.worst]["mean_confidence"].value - m.compared[m.worst]["accuracy"].value),
            contrast=lambda m: (m.compared[m.worst]["mean_confidence"], m.compared[m.worst]["accuracy"]),
            when=lambda m: m.worst and m.holds_there,
        ),
        Lead(
            "wrong_there",
            figure="accuracy_worst",
            plot="splits",
            size=lambda m: max(m.estimates["accuracy"].value - m.compared[m.worst]["accuracy"].value, 0.0),
            pair=CalibrationAnswers.flipped_pair,
            contrast=lambda m: (m.compared[m.worst]["accuracy"], m.estimates["accuracy"]),
            when=lambda m: m.worst,
        ),
        Lead(
            "here",
            figure="ece",
            plot="reliability",
            # A page without a fault opens with what the model decides by, where that is known.
            size=lambda m: None if m.is_small else max(abs(m.estimates["confidence_gap"].value), m.measured.bins.ece),
            pair=CalibrationAnswers.telling_item,
            when=lambda m: m.measured,
        ),
    ),
    data=data,
)


SOURCES = Question(
    name="confidence",
    prose=prose(str(Path(__file__).with_name("sources.py")), FIGURES=FIGURES, OF_COMMAND=OF_COMMAND, BY_GROUP=BY_GROUP),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "sources",
            (
                Table("sources", lambda m: source_rows(m, OF_COMMAND)),
                Table("pairs", difference_rows, when=lambda m: m.pairs),
                Table("groups", group_rows, when=lambda m: m.groups),
            ),
        ),
    ),
)
"""What `rightreasons confidence` prints of several sources of confidence."""
