"""The question "Does its confidence match its accuracy?": its figures, verdict and report section.

`CALIBRATION` declares the question; its text is in question.md.j2, its measurement in
measurement.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rightreasons.calibration.figures import FIGURES, VOTE_FIGURES
from rightreasons.calibration.measurement import (
    MARGIN,
    N_EXAMPLES,
    SOURCE_NAMES,
    SPLIT_FIGURES,
    CalibrationAnswers,
    measure,
)
from rightreasons.calibration.normalization_doubt import doubt_normalization
from rightreasons.calibration.sources import SOURCE_FIGURES, list_source_rows
from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate
from rightreasons.page import plots
from rightreasons.page.parts import Amount, Cell, ItemFigure
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
"""Figures of the first part; all others are in the table of the second part."""

MAX_LISTED_LABELS = 300
"""Maximum number of possible label errors that a report lists."""


# --- Pictures and tables


def draw_reliability(key: str, measurement: Any) -> Drawing:
    """Draw the reliability diagram of the primary split, with its consistency bars.

    Args:
        key: Key of the drawing.
        measurement: The measurement, a `CalibrationAnswers` with class scores.
    """
    null_model = measurement.measured.consistency
    # Whiskers are the intervals of the accuracies. Bars show which accuracies a calibrated model
    # would have by chance.
    return plots.reliability_diagram(
        key,
        measurement.measured.bins.bins,
        intervals=measurement.measured.accuracies,
        bars=null_model.bars,
        level=null_model.confidence_level,
    )


def draw_splits(key: str, measurement: CalibrationAnswers) -> Drawing:
    """Draw accuracy and mean confidence of each split as two dots in a row.

    Args:
        key: Key of the drawing.
        measurement: Results of the calibration of the audited splits.
    """
    rows = []
    for name, figures in measurement.compared.items():
        rows.append((name, [figures["accuracy"], figures["mean_confidence"]]))
    return plots.dot_rows(
        key, rows=rows, series=("accuracy", "mean confidence"), xlabel="share of items, probability"
    )


def list_family_rows(measurement: CalibrationAnswers) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the table of all further figures, which are not in the overview.

    The columns are name, value with unit, better direction ("higher", "lower" or ""), definition, and
    source.

    Args:
        measurement: Results of the calibration of the audited splits.
    """
    for key, headline in measurement.make_headlines(measurement.estimates).items():
        if key not in OVERVIEW:
            yield (
                headline.name,
                Amount(headline.estimate, headline.unit),
                headline.better or "",
                headline.definition,
                headline.source,
            )


def list_label_rows(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the possible label errors, the least probable label first."""
    rows = measurement.label_errors[:MAX_LISTED_LABELS]
    probabilities = measurement.measured.items.label_probability[rows]
    for example, probability in zip(measurement.show_items(rows), probabilities, strict=True):
        yield example.id, example.label, example.prediction, float(probability)


def list_class_rows(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each class, one row per class."""
    for figures in measurement.classes:
        name = measurement.context.label_names[figures.label]
        yield name, figures.n_items, figures.precision, figures.recall, figures.ece


# --- Items


ITEM_FIGURE = "worst_bin"
"""Key of the figure by item: whether an item of the worst bin shows the miscalibration."""


def describe_bin(measurement: CalibrationAnswers) -> str:
    """Return the confidences of the worst bin, such as "80% to 86.7%"; "" if there is none."""
    if measurement.worst_bin is None:
        return ""
    row = measurement.worst_bin.row
    # The sign "%" of the lower edge is written too, because the text is also a heading.
    return f"{100 * row.lower:.3g}% to {100 * row.upper:.3g}%"


def list_item_figures(measurement: CalibrationAnswers) -> Iterator[ItemFigure]:
    """Yield whether each item of the worst bin shows the miscalibration, if there is such a bin.

    Args:
        measurement: Results of the calibration of the audited splits.
    """
    worst_bin = measurement.worst_bin
    if worst_bin is None:
        return
    split = measurement.context.primary
    rows = np.flatnonzero(split.labeled)[worst_bin.rows]
    outcome = "Incorrect" if worst_bin.is_overconfident else "Correct"
    yield ItemFigure.from_arrays(
        ITEM_FIGURE,
        f"{outcome} at a confidence of {describe_bin(measurement)}",
        "lower",
        [split.ids[row] for row in rows.tolist()],
        worst_bin.shows,
        # The bins of two models differ, so that `compare` does not test this figure.
        is_finding=False,
    )


def name_item_figure(measurement: CalibrationAnswers) -> str:
    """Return the key of the figure by item that shows the finding; "" if there is none."""
    return "" if measurement.worst_bin is None else ITEM_FIGURE


# --- Figures


def estimate_null_error(measurement: CalibrationAnswers) -> Estimate | None:
    """Return the calibration error that a calibrated model would have by chance on these items.

    Args:
        measurement: Results of the calibration of the audited splits.

    Returns:
        The mean error, with a one-sided interval; None without class scores.
    """
    if measurement.measured is None:
        return None
    null_model = measurement.measured.consistency
    return Estimate(
        null_model.expected,
        low=0.0,
        high=null_model.upper,
        level=null_model.confidence_level,
        method="one-sided, binomial draws",
    )


def get_worst_accuracy(measurement: CalibrationAnswers) -> Estimate | None:
    """Return the accuracy on the split with the largest confidence gap, if there is one."""
    return (
        None if measurement.worst is None else measurement.compared[measurement.worst]["accuracy"]
    )


def make_figure(key: str) -> Figure:
    """Return the figure of the report for one of `FIGURES`."""
    return Figure(key, lambda m: m.estimates.get(key), text=lambda m: m.get_text(key))


def make_vote_figure(key: str) -> Figure:
    """Return the definition of a figure of the report about the votes of annotators.

    Args:
        key: Key of the figure in `VOTE_FIGURES`, such as "dist_ce".
    """

    def get_estimate(measurement: CalibrationAnswers) -> Estimate | None:
        # Only some data sets have the votes of several annotators.
        if measurement.votes is None:
            return None
        return measurement.votes.estimate(key)

    return Figure(
        key=key,
        get_estimate=get_estimate,
        # The report asks for the number of items only if there is an estimate.
        n=lambda measurement: measurement.votes.n_items,
        text=lambda measurement: VOTE_FIGURES[key],
    )


def list_headlines(measurement: CalibrationAnswers) -> tuple[str, ...]:
    """Return the keys of the headline figures."""
    # Elicited confidence has no splits to compare.
    second = "mean_confidence" if measurement.measured is None else "accuracy_worst"
    return ("accuracy", second, "confidence_gap", "ece", "auroc")


# --- Size of a finding, which orders the first screen


def measure_worst_gap(measurement: Any) -> float:
    """Return the distance of confidence and accuracy on the worst split."""
    figures = measurement.compared[measurement.worst]
    return float(abs(figures["mean_confidence"].value - figures["accuracy"].value))


def measure_accuracy_loss(measurement: Any) -> float:
    """Return the loss of accuracy from the primary to the worst split."""
    loss = (
        measurement.estimates["accuracy"].value
        - measurement.compared[measurement.worst]["accuracy"].value
    )
    return float(max(loss, 0.0))


def measure_miscalibration(measurement: Any) -> float | None:
    """Return the larger of gap and calibration error; None for a calibrated model."""
    # A page without a fault opens with the features that decide the predictions, if it has them.
    if measurement.is_calibrated:
        return None
    return float(
        max(abs(measurement.estimates["confidence_gap"].value), measurement.measured.bins.ece)
    )


def make_data(measurement: CalibrationAnswers) -> dict[str, Any]:
    """Return the entries of audit.json about calibration, in addition to the headline figures.

    Args:
        measurement: Results of the calibration of the audited splits.

    Returns:
        "bins", "consistency", "votes", "figures" and "splits" if there are class scores, and
        "sources" if confidence was elicited. Values are plain, ready for JSON.
    """
    data: dict[str, Any] = {}
    if measurement.measured is not None:
        data["bins"] = measurement.measured.bins.to_dict()
        data["consistency"] = measurement.measured.consistency.to_dict()
    if measurement.elicited is not None:
        data["sources"] = measurement.elicited.to_dict()
    if measurement.measured is None:
        return data
    data["votes"] = None if measurement.votes is None else measurement.votes.to_dict()
    # All figures are listed, not only those with a headline.
    headlines = measurement.make_headlines(measurement.measured.figures)
    data["figures"] = {key: headline.to_dict() for key, headline in headlines.items()}
    data["splits"] = {}
    for name, figures in measurement.compared.items():
        data["splits"][name] = {key: figures[key].to_dict() for key in SPLIT_FIGURES}
    return data


CALIBRATION = Question(
    name="calibration",
    title="Does its confidence match its accuracy?",
    prose=prose(
        __file__,
        MARGIN=MARGIN,
        SOURCE_NAMES=SOURCE_NAMES,
        MAX_LISTED_LABELS=MAX_LISTED_LABELS,
        FIGURES=FIGURES,
        describe_bin=describe_bin,
        SOURCE_FIGURES=SOURCE_FIGURES,
    ),
    reads="audited",
    needs=(
        Need("labels", lambda context, options: context.primary.labeled.any()),
        # One generated answer per item has no probability, so its confidence must be elicited.
        Need("stored", lambda context, options: context.stored is None or context.has_confidences),
        Need("elicited", lambda context, options: options.elicit or context.has_confidences),
    ),
    measure=measure,
    doubt=doubt_normalization,
    power=Power("confidence", n_tests=2),
    figures=(
        *map(make_figure, FIGURES),
        # The binned error is biased upward: only next to this figure does it mean something.
        Figure("ece_if_calibrated", estimate_null_error, "Vaicenavicius et al. 2019"),
        Figure(
            "accuracy_worst",
            get_worst_accuracy,
            "Counted",
            better="higher",
            n=lambda m: int(m.worst_split.labeled.sum()),
            split=lambda m: m.worst,
        ),
        *map(make_vote_figure, VOTE_FIGURES),
        Figure(
            "disputed_incorrect",
            lambda m: m.incorrect_share,
            "Copas 1988; Northcutt et al. 2021",
            # It is a share of the disputed labels, not of all items.
            n=lambda m: len(m.label_errors),
        ),
    ),
    headlines=list_headlines,
    # The first rule that holds gives the verdict.
    verdict=(
        Rule("neutral", "few_confidences", lambda m: not m.estimates),
        Rule("neutral", "elicited", lambda m: m.measured is None),
        Rule("bad", "worst", lambda m: m.worst),
        Rule("bad", "over", lambda m: m.is_gap_large and m.is_overconfident),
        Rule("bad", "under", lambda m: m.is_gap_large),
        Rule("warn", "in_parts", lambda m: m.is_miscalibrated_in_bins),
        Rule("good", "none_found", lambda m: m.is_calibrated),
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
            condition=lambda m: m.measured,
        ),
        Part(
            "family",
            (Table("calibration_family", list_family_rows),),
            figures=("ece", "ece_if_calibrated", "nll", "brier"),
            condition=lambda m: m.measured,
        ),
        Part(
            "splits",
            (Plot("splits", draw_splits, "Counted"),),
            condition=lambda m: len(m.compared) > 1,
        ),
        Part(
            "ranking",
            figures=("auroc", "aurc", "macro_ce"),
            condition=lambda m: m.measured,
        ),
        Part(
            "labels",
            (
                Examples("labels", lambda m: m.show_items(m.label_errors[:N_EXAMPLES])),
                # Folded, because a reader checks a few examples before the whole list.
                Table("labels", list_label_rows, "Northcutt et al. 2021", folded=True),
            ),
            figures=("disputed_incorrect",),
            condition=lambda m: m.label_errors.size,
        ),
        Part(
            "classes",
            (
                Table(
                    "classes",
                    list_class_rows,
                    "van Rijsbergen 1979; Kull et al. 2019",
                ),
            ),
            condition=lambda m: m.classes is not None,
        ),
        # Without a common label, the votes say more than calibration to the majority.
        Part("votes", figures=tuple(VOTE_FIGURES), condition=lambda m: m.votes),
        Part(
            "elicited",
            (
                Table(
                    "confidence_sources",
                    lambda m: list_source_rows(m.elicited),
                    "Tian et al. 2023",
                ),
            ),
            condition=lambda m: m.elicited,
        ),
    ),
    leads=(
        # A confidence that misleads on another split is news; so is a lower accuracy there.
        Lead(
            "sure_there",
            figure="accuracy_worst",
            plot="splits",
            size=measure_worst_gap,
            contrast=lambda m: (
                m.compared[m.worst]["mean_confidence"],
                m.compared[m.worst]["accuracy"],
            ),
            pair=lambda m: m.pick_worst_error(),
            condition=lambda m: m.worst and m.keeps_accuracy,
        ),
        Lead(
            "wrong_there",
            figure="accuracy_worst",
            plot="splits",
            size=measure_accuracy_loss,
            contrast=lambda m: (m.compared[m.worst]["accuracy"], m.estimates["accuracy"]),
            pair=lambda m: m.pick_worst_error(),
            condition=lambda m: m.worst,
        ),
        Lead(
            "here",
            figure="ece",
            plot="reliability",
            size=measure_miscalibration,
            pair=lambda m: m.pick_example(),
            item_figure=name_item_figure,
            condition=lambda m: m.measured,
        ),
    ),
    data=make_data,
    by_item=list_item_figures,
)
