"""Draw the pictures of the question: tests, types of shortcuts, confidence, training.

`draw_confidence_bins` is the paper's Figure 3. The pictures are specifications of Vega-Lite;
`diagram` has the same figure for a notebook, on axes of matplotlib.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.page.plots import (
    DASHES,
    PALETTE,
    PANEL,
    Curve,
    Drawing,
    accuracy_layers,
    axis,
    count_layer,
    curves,
    dot_rows,
    layer,
    series_of,
)
from rightreasons.shortcuts.measurement import ShortcutAnswers
from rightreasons.shortcuts.reliance import ConfidenceBin

COLORS = {"lexicon-cued": "orange", "grammar-cued": "violet", "not cued": "grid"}
"""Type of a prediction -> its color."""

NULL_NAME = "null model"
"""Name of the shortcut rate of random tokens in legends."""

TYPE_NAMES = ("shortcut-cued", "lexicon-cued", "grammar-cued", NULL_NAME)
"""Series of the picture of types."""


def draw_tests(key: str, measurement: ShortcutAnswers) -> Drawing:
    """Draw the effect of each test."""
    rows = []
    for row in measurement.swaps.rows:
        rows.append((row.test, [row.estimate]))
    return dot_rows(key, rows=rows, series=("decides",), xlabel="share of all predictions")


def draw_types(key: str, measurement: Any) -> Drawing:
    """Draw the shortcut rate, its two types and the rate of the null model, as in Figure 1 of the paper.

    Args:
        key: Key of the drawing in the report.
        measurement: `ShortcutAnswers` with attributions.
    """
    reliance = measurement.measured.reliance
    # The intervals of the two types are not drawn, because they would overlap that of the rate.
    estimates = [
        make_estimate(reliance.shortcut_reliance, reliance.interval),
        Estimate(reliance.lexicon_cued),
        Estimate(reliance.grammar_cued),
        Estimate(measurement.null.rate),
    ]
    rows = [(measurement.items.name, estimates)]
    return dot_rows(key, rows=rows, series=TYPE_NAMES, xlabel="share of predictions")


def draw_bins(key: str, measurement: Any) -> Drawing:
    """Draw accuracy and shortcuts by confidence, as in Figure 3 of the paper.

    Args:
        key: Key of the drawing in the report.
        measurement: `ShortcutAnswers` with attributions.
    """
    bins = measurement.measured.reliance.bins
    accuracies = []
    for row in bins:
        # A bin stores the share of correct predictions, and the interval needs their number.
        n_correct = round((row.accuracy or 0.0) * row.n_items)
        accuracies.append(estimate_share(n_correct, row.n_items, measurement.context.resampling))
    return draw_confidence_bins(key, bins, intervals=accuracies, null=measurement.null.rate)


def draw_confidence_bins(
    key: str,
    bins: Sequence[ConfidenceBin],
    *,
    intervals: Sequence[Estimate | None],
    null: float,
    title: str = "",
) -> Drawing:
    """Draw the reliability diagram and, below it, the stacked types of each bin.

    Args:
        key: Key of the drawing in the report.
        bins: M bins of confidence; empty ones are left blank.
        intervals: M accuracies with their intervals; None for empty bins.
        null: The shortcut rate of the null model over all items.
        title: The title of the picture; "" if there is none.

    Returns:
        The drawing.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 3.
    """
    # A bin without items has no accuracy and no shares.
    filled_bins = []
    filled_intervals = []
    for row, interval in zip(bins, intervals, strict=True):
        if row.n_items:
            filled_bins.append(row)
            filled_intervals.append(interval)

    # One scale of colors for both panels, so that they share a legend.
    colors = {"accuracy": "blue-soft", **COLORS, NULL_NAME: "ink"}
    reliability = {
        "layer": accuracy_layers(filled_bins, filled_intervals, colors, "accuracy"),
        "width": PANEL,
        "height": 220,
        "title": title,
    }
    sizes = [row.n_items for row in filled_bins]
    counts = count_layer(filled_bins, sizes, [1.0] * len(filled_bins))
    null_line = layer(
        {"type": "rule", "strokeDash": DASHES},
        [{"y": null}],
        y="y",
        color=series_of(NULL_NAME, colors),
    )
    types = {
        "layer": [*_stack_types(filled_bins, colors), counts, null_line],
        "width": PANEL,
        "height": 190,
    }
    return Drawing(key, {"vconcat": [reliability, types], "spacing": 12})


def _stack_types(bins: Sequence[ConfidenceBin], colors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the layers of a stacked bar chart of the types of predictions in each bin.

    Args:
        bins: Bins of confidence that contain predictions.
        colors: Name of a series -> its color, for the legend of the whole picture.

    Returns:
        One layer of bars for each type, which begin where those of the type before it end.
    """
    x = axis("left", "confidence", percent=True, domain=(0, 1), grid=False)
    # The axis extends beyond 1, because the numbers of items are written above the bars.
    y = axis(
        "low",
        "share of the bin",
        percent=True,
        domain=(0, 1.1),
        values=[0, 0.2, 0.4, 0.6, 0.8, 1],
    )
    lexicon = np.array([row.lexicon or 0.0 for row in bins])
    grammar = np.array([row.grammar or 0.0 for row in bins])
    # In the order of `COLORS`.
    shares_by_type = (lexicon, grammar, 1 - lexicon - grammar)
    layers = []
    low = np.zeros(len(bins))
    for name, shares in zip(COLORS, shares_by_type, strict=True):
        high = low + shares
        rows = []
        for row, start, stop in zip(bins, low.tolist(), high.tolist(), strict=True):
            rows.append({"left": row.lower, "right": row.upper, "low": start, "high": stop})
        bars = layer(
            {"type": "bar", "stroke": PALETTE["paper"]},
            rows,
            x=x,
            x2={"field": "right"},
            y=y,
            y2={"field": "high"},
            color=series_of(name, colors),
        )
        layers.append(bars)
        low = high
    return layers


def draw_training(key: str, measurement: ShortcutAnswers) -> Drawing:
    """Draw shortcut rate, F1 and calibration error over training, as in Figure 2 of the paper.

    Args:
        key: Key of the drawing in the report.
        measurement: Answers with the records of `ShortcutCallback`, whose columns are those of
            `ShortcutMeasurement.record`.
    """
    steps = []
    rates = []
    f1_scores = []
    errors = []
    null_rates = []
    for row in measurement.records:
        steps.append(row["step"])
        rates.append(Estimate(row["shortcut_rate"], *row["shortcut_rate_interval"]))
        f1_scores.append(Estimate(row["f1"]))
        # With few items, the calibration error has no interval.
        errors.append(Estimate(row["ece"], *row["ece_interval"] or ()))
        null_rates.append(Estimate(row["null_rate"]))
    lines = [
        Curve("shortcut rate", rates),
        Curve("F1", f1_scores),
        Curve("ECE", errors),
        Curve(NULL_NAME, null_rates, dashed=True),
    ]
    xlabel = "optimizer steps (0: before fine-tuning)"
    return curves(key, steps, lines, xlabel=xlabel, ylabel="share")
