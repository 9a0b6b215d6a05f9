"""The reliability diagram of `calibration_error`, for a notebook.

`reliability_diagram` is the entry point. It needs the package `matplotlib`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rightreasons.calibration.errors import CalibrationBin, calibration_error
from rightreasons.core.extras import require_package
from rightreasons.core.intervals import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability_diagram(
    predictions: Any, references: Any, *, axes: Axes | None = None, **options: Any
) -> Axes:
    """Draw the rate of events against the mean score by bin, with the error in the title.

    Each bin has its 95 % interval (Wilson). For kind="classwise", the bins are those of class 0.

    Args:
        predictions: (N, K) class scores, or another form that `calibration_error` accepts.
        references: (N,) labels.
        axes: Axes of matplotlib to draw on. If None (default), a new figure is made.
        **options: Options of `calibration_error`, such as `n_bins`, `strategy` and `scores`.

    Returns:
        The axes.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value is wrong; the message names the first bad row.

    References:
        Niculescu-Mizil, Caruana (2005), Predicting Good Probabilities With Supervised Learning.

    Example:
        >>> rows = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]
        >>> axes = reliability_diagram(rows, [0, 1, 1], n_bins=2)
        >>> axes.get_xlabel(), axes.get_ylabel(), axes.get_title()
        ('confidence', 'accuracy', 'ECE 0.100')
    """
    require_package("matplotlib")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    result = calibration_error(predictions, references, **options)
    # All bins have the same class or none, except for kind="classwise", which starts with class 0.
    class_index = result.bins[0].class_index
    bars = []
    for row in result.bins:
        # An empty bin has no rate.
        if row.count == 0 or row.class_index != class_index:
            continue
        bars.append(_measure_bar(row))
    # One array for each field of `_Bar`, in its order.
    left_edge, width, mean_score, rate, distance_down, distance_up = np.array(bars).T

    if axes is None:
        _, axes = pyplot.subplots()
    axes.plot([0, 1], [0, 1], "--", color="gray")
    axes.bar(left_edge, rate, width, align="edge", alpha=0.4)
    axes.errorbar(mean_score, rate, yerr=[distance_down, distance_up], fmt="ko", capsize=2.5)
    axes.set_title(f"ECE {result.ece:.3f}")

    xlabel = "confidence"
    ylabel = "accuracy"
    if class_index is not None:
        xlabel = f"P(class {class_index})"
        ylabel = f"frequency of class {class_index}"
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    axes.set_xlim(0.0, 1.0)
    # Leave room above a bar of height 1 for the end of its interval.
    axes.set_ylim(0.0, 1.02)
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return axes


class _Bar(NamedTuple):
    """One bar of a reliability diagram.

    Attributes:
        left_edge: Left edge.
        width: Width.
        mean_score: Mean score of the items in the bin.
        rate: Rate of events, the height of the bar.
        distance_down: Distance from the rate down to the low end of its 95 % interval.
        distance_up: Distance from the rate up to the high end.
    """

    left_edge: float
    width: float
    mean_score: float
    rate: float
    distance_down: float
    distance_up: float


def _measure_bar(row: CalibrationBin) -> _Bar:
    """Return the bar of a bin with items, with the Wilson interval of its rate of events.

    Args:
        row: The bin. `accuracy` and `confidence` are None only if the bin is empty.
    """
    rate = row.accuracy or 0.0
    n_events = round(rate * row.count)
    interval = wilson(n_events, row.count)
    return _Bar(
        left_edge=row.lower,
        width=row.upper - row.lower,
        mean_score=row.confidence or 0.0,
        rate=rate,
        # Rounding may put a rate of 0 or 1 slightly outside its interval.
        distance_down=max(rate - interval.low, 0.0),
        distance_up=max(interval.high - rate, 0.0),
    )
