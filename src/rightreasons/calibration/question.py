"""Does its confidence match its accuracy? Overall, by bin, class and split, and after a temperature."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rightreasons.calibration.elicit import OF_ANSWERS, ConfidenceMeasurement
from rightreasons.calibration.measure import FIGURES, VOTE_FIGURES
from rightreasons.calibration.measurement import (
    COMPARED,
    MARGIN,
    N_EXAMPLES,
    NAMES,
    CalibrationAnswers,
    measure,
)
from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.page import plots
from rightreasons.page.parts import Amount, Cell
from rightreasons.page.plots import Drawing
from rightreasons.page.prose import prose
from rightreasons.page.question import (
    Examples,
    Figure,
    Lead,
    Need,
    Part,
    Plot,
    Question,
    Rule,
    Table,
)

OVERVIEW = ("accuracy", "macro_f1", "mean_confidence", "confidence_gap")
"""The figures of the first part; all others are in the table of the second."""

N_LABELS = 300
"""Labels to check that a report names at most."""


def if_calibrated(m: CalibrationAnswers) -> Estimate | None:
    """Return the calibration error of a calibrated model."""
    if m.measured is None:
        return None
    null = m.measured.consistency
    return Estimate(
        null.expected, 0.0, null.upper, null.confidence_level, "one-sided, binomial draws"
    )


def draw_reliability(key: str, m: Any) -> Drawing:
    """Draw the reliability diagram with its consistency bars."""
    measured, null = m.measured, m.measured.consistency
    return plots.reliability_diagram(
        key,
        measured.bins.bins,
        intervals=measured.accuracies,
        bars=null.bars,
        level=null.confidence_level,
    )


def draw_splits(key: str, m: CalibrationAnswers) -> Drawing:
    """Draw accuracy and mean confidence of each split."""
    bars = [
        (name, [each["accuracy"], each["mean_confidence"]]) for name, each in m.compared.items()
    ]
    return plots.dot_rows(
        key, rows=bars, series=("accuracy", "mean confidence"), xlabel="share of items, probability"
    )


def family_rows(m: CalibrationAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return the figures that are not in the overview."""
    for key, it in m.headlines(m.estimates).items():
        if key not in OVERVIEW:
            yield it.name, Amount(it.estimate, it.unit), it.better or "", it.definition, it.source


def label_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the labels that the model contradicts."""
    rows = m.label_errors[:N_LABELS]
    for example, chance in zip(
        m.shown(rows), m.measured.items.label_probability[rows], strict=True
    ):
        yield example.id, example.label, example.prediction, float(chance)


OF_SOURCES = (
    "accuracy",
    "mean_confidence",
    "ece",
    "smooth_ece",
    "brier_of_answers",
    "auroc",
    "aurc",
)
PAIRED = ("confidence_gap", "ece", "brier", "auroc")
"""The figures of sources of confidence, and of the tests of each two."""


def source_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each source of confidence."""
    for source in measured.sources:
        yield (
            NAMES.get(source.name, source.name),
            source.confident,
            *map(source.figures.get, OF_SOURCES),
        )


def difference_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Return the paired tests of each two sources of confidence."""
    for pair in measured.pairs:
        for key in PAIRED:
            test = pair.differences.get(key)
            if test is not None and test.interval is not None:
                name, value = (
                    FIGURES[OF_ANSWERS.get(key, key)].name,
                    make_estimate(test.difference, test.interval),
                )
                yield f"{pair.first} - {pair.second}", name, value, test.p_value, pair.p_holm[key]


def data(m: CalibrationAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    elicited = {} if m.asked is None else {"sources": m.asked.to_dict()}
    if m.measured is None:
        return elicited
    return {
        "bins": m.measured.bins.to_dict(),
        "consistency": m.measured.consistency.to_dict(),
        **elicited,
        "votes": m.votes and m.votes.to_dict(),
        "figures": {
            key: figure.to_dict() for key, figure in m.headlines(m.measured.figures).items()
        },
        "splits": {
            name: {key: each[key].to_dict() for key in COMPARED}
            for name, each in m.compared.items()
        },
    }


CALIBRATION = Question(
    name="calibration",
    title="Does its confidence match its accuracy?",
    prose=prose(
        __file__,
        MARGIN=MARGIN,
        NAMES=NAMES,
        N_LABELS=N_LABELS,
        FIGURES=FIGURES,
        OF_SOURCES=OF_SOURCES,
    ),
    reads="audited",
    needs=(
        Need("labels", lambda context, options: context.primary.labeled.any()),
        Need("stored", lambda context, options: context.stored is None or not context.answers_once),
        Need("elicited", lambda context, options: options.elicit or not context.answers_once),
    ),
    measure=measure,
    power=Power("confidence", n_tests=2),
    figures=(
        *(
            Figure(
                key,
                lambda m, key=key: m.estimates.get(key),  # type: ignore[misc]
                text=lambda m, key=key: m.text(key),  # type: ignore[misc]
            )
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
                lambda m, key=key: m.votes and m.votes.estimate(key),  # type: ignore[misc]
                n=lambda m: m.votes.n_items,
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
                Plot(
                    "reliability",
                    draw_reliability,
                    "DeGroot & Fienberg 1983; Guo et al. 2017; Bröcker & Smith 2007",
                ),
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
            (Plot("splits", draw_splits, "Counted"),),
            when=lambda m: len(m.compared) > 1,
        ),
        Part(
            "ranking",
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
            "classes",
            (
                Table(
                    "classes",
                    lambda m: [
                        (m.context.label_names[row.label], *[*vars(row).values()][1:])
                        for row in m.classes
                    ],
                    "Counted; van Rijsbergen 1979; Kull et al. 2019",
                ),
            ),
            when=lambda m: m.classes is not None,
        ),
        Part("votes", figures=tuple(VOTE_FIGURES), when=lambda m: m.votes),
        Part(
            "asked",
            (
                Table(
                    "confidence_sources",
                    lambda m: source_rows(m.asked),
                    "Tian et al. 2023",
                ),
            ),
            when=lambda m: m.asked,
        ),
    ),
    leads=(
        Lead(
            "sure_there",
            figure="accuracy_worst",
            plot="splits",
            size=lambda m: abs(
                m.compared[m.worst]["mean_confidence"].value - m.compared[m.worst]["accuracy"].value
            ),
            contrast=lambda m: (
                m.compared[m.worst]["mean_confidence"],
                m.compared[m.worst]["accuracy"],
            ),
            when=lambda m: m.worst and m.holds_there,
        ),
        Lead(
            "wrong_there",
            figure="accuracy_worst",
            plot="splits",
            size=lambda m: max(
                m.estimates["accuracy"].value - m.compared[m.worst]["accuracy"].value, 0.0
            ),
            contrast=lambda m: (m.compared[m.worst]["accuracy"], m.estimates["accuracy"]),
            when=lambda m: m.worst,
        ),
        Lead(
            "here",
            figure="ece",
            plot="reliability",
            # A page without a fault opens with what the model decides by, where that is known.
            size=lambda m: (
                None
                if m.is_small
                else max(abs(m.estimates["confidence_gap"].value), m.measured.bins.ece)
            ),
            when=lambda m: m.measured,
        ),
    ),
    data=data,
)


SOURCES = Question(
    name="confidence",
    prose=prose(
        str(Path(__file__).with_name("sources.py")), FIGURES=FIGURES, OF_SOURCES=OF_SOURCES
    ),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "sources",
            (
                Table("sources", source_rows),
                Table("pairs", difference_rows, when=lambda m: m.pairs),
            ),
        ),
    ),
)
"""What `rightreasons confidence` prints of several sources of confidence."""
