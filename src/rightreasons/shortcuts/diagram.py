"""Draw the paper's Figure 3 in a notebook: reliability and types of shortcuts by confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rightreasons.core.extras import require_package
from rightreasons.core.intervals import wilson
from rightreasons.shortcuts.reliance import ShortcutReliance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TYPE_COLORS = {"lexicon-cued": "tab:orange", "grammar-cued": "tab:purple", "not cued": "lightgray"}
"""Type of a prediction -> its color."""


def shortcut_diagram(
    reliance: ShortcutReliance, *, axes: tuple[Axes, Axes] | None = None
) -> tuple[Axes, Axes]:
    """Draw accuracy by confidence, and below it the types of shortcuts by confidence.

    Accuracies have 95 % intervals (Wilson). The dashed line is the rate of the null model
    "frequency". Bins without predictions are left blank; without references, only the lower diagram
    has bars.

    Args:
        reliance: Result of `shortcut_reliance` with `confidences`.
        axes: Upper and lower axes of matplotlib to draw on. If None (default), a new figure is
            made.

    Returns:
        The upper and the lower axes.

    Raises:
        ValueError: If the result has no bins, because no confidences were passed.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 3.

    Example:
        >>> from rightreasons.shortcuts import shortcut_reliance
        >>> heads = {0: ["bad", "the"], 1: ["good"]}
        >>> tokens = [["the", "good", "film"], ["the", "film", "fails"]]
        >>> attributions = [[0.1, 0.7, 0.2], [0.5, 0.2, 0.9]]
        >>> result = shortcut_reliance(
        ...     tokens,
        ...     attributions,
        ...     [1, 0],
        ...     heads,
        ...     references=[1, 1],
        ...     confidences=[0.9, 0.6],
        ... )
        >>> upper, lower = shortcut_diagram(result)
        >>> upper.get_ylabel(), lower.get_ylabel(), lower.get_xlabel()
        ('accuracy', 'share of the bin', 'confidence')
    """
    require_package("matplotlib")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    if not reliance.bins:
        raise ValueError(
            "Expected a result of `shortcut_reliance` with `confidences`, but got none."
        )
    if axes is None:
        _, axes = pyplot.subplots(2, 1, sharex=True)
    upper, lower = axes
    _draw_reliability(upper, reliance)
    _draw_types(lower, reliance)

    upper.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="accuracy")
    lower.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share of the bin", xlabel="confidence")
    for axis in (upper.yaxis, lower.yaxis, lower.xaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return upper, lower


def _draw_reliability(axes: Axes, reliance: ShortcutReliance) -> None:
    """Draw the accuracy of each bin of confidence with its Wilson interval, and the diagonal.

    Args:
        axes: Axes of matplotlib.
        reliance: Result of `shortcut_reliance`. Bins without predictions or references are left out.
    """
    axes.plot([0, 1], [0, 1], "--", color="gray")
    for row in reliance.bins:
        # Without references there is no accuracy to draw.
        if row.confidence is None or row.accuracy is None:
            continue
        axes.bar(
            row.lower,
            row.accuracy,
            row.upper - row.lower,
            align="edge",
            alpha=0.4,
            color="tab:blue",
        )
        n_correct = round(row.accuracy * row.n_items)
        interval = wilson(n_correct, row.n_items)
        # Rounding may put an end a hair beyond the accuracy, which matplotlib refuses.
        below = max(row.accuracy - interval.low, 0.0)
        above = max(interval.high - row.accuracy, 0.0)
        axes.errorbar(
            [row.confidence],
            [row.accuracy],
            yerr=[[below], [above]],
            fmt="ko",
            capsize=2.5,
        )


def _draw_types(axes: Axes, reliance: ShortcutReliance) -> None:
    """Draw the shares of the three types of predictions in each bin as stacked bars.

    A dashed line shows the shortcut rate of the null model.

    Args:
        axes: Axes of matplotlib.
        reliance: Result of `shortcut_reliance`. Bins without predictions are left out.
    """
    for row in reliance.bins:
        # Empty bins stay blank: a bar of zeros would read as "not cued".
        if row.lexicon is None or row.grammar is None:
            continue
        uncued = 1 - row.lexicon - row.grammar
        # In the order of `TYPE_COLORS`.
        shares = (row.lexicon, row.grammar, uncued)
        bottom = 0.0
        for color, share in zip(TYPE_COLORS.values(), shares, strict=True):
            axes.bar(
                row.lower,
                share,
                row.upper - row.lower,
                bottom,
                align="edge",
                color=color,
                edgecolor="white",
            )
            bottom += share
    # Empty bars make one entry of the legend for each type, rather than for each bar.
    for name, color in TYPE_COLORS.items():
        axes.bar(0, 0, color=color, label=name)
    axes.axhline(
        reliance.null["frequency"].rate,
        linestyle="--",
        color="black",
        label="null model",
    )
    axes.legend(fontsize="small")
