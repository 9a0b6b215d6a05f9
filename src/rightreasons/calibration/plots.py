"""The reliability diagram, for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.errors import needs
from rightreasons.core.intervals import wilson

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability_diagram(predictions: Any, references: Any, *, axes: Axes | None = None, **options: Any) -> Axes:
    """Draw accuracy against confidence by bin, with the bins' 95 % intervals (Wilson) and the error in the title.

    Args:
        predictions: (N, K) class scores, or what else `calibration_error` takes.
        references: (N,) labels.
        axes: Where to draw; a new figure of matplotlib by default.
        **options: Those of `calibration_error`, such as `n_bins`, `strategy` and `scores`.

    Returns:
        The axes.

    Raises:
        TypeError: If an input is of the wrong kind.
        ValueError: If a value is wrong; the message names the first bad row.

    References:
        Niculescu-Mizil, Caruana (2005), Predicting Good Probabilities With Supervised Learning.

    Example:
        >>> axes = reliability_diagram([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1], n_bins=2)
        >>> axes.get_xlabel(), axes.get_title()
        ('confidence', 'ECE 0.100')
    """
    needs("matplotlib")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    result = calibration_error(predictions, references, **options)
    rows = [row for row in result.bins if row.count and not row.class_index]
    ends = [wilson(round((row.accuracy or 0.0) * row.count), row.count) for row in rows]
    sure, accuracy = np.array([(row.confidence, row.accuracy) for row in rows], dtype=np.float64).T
    whiskers = np.abs([[end.low for end in ends], [end.high for end in ends]] - accuracy)
    axes = pyplot.subplots()[1] if axes is None else axes
    axes.plot([0, 1], [0, 1], "--", color="gray")
    axes.bar([row.lower for row in rows], accuracy, [row.upper - row.lower for row in rows], align="edge", alpha=0.4)
    axes.errorbar(sure, accuracy, yerr=whiskers, fmt="ko", capsize=2.5)
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="confidence", ylabel="accuracy", title=f"ECE {result.ece:.3f}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return axes
