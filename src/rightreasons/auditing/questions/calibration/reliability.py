"""The reliability diagram with its consistency bars, and the table behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.calibration.consistency import ConsistencyResult
from rightreasons.analysis.calibration.errors import CalibrationResult
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.figures import N_BINS, Judged
from rightreasons.auditing.page.parts import Column, Plot, Table
from rightreasons.auditing.page.words import fraction, percent
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.estimates import estimate_of

SOURCE_OF_DIAGRAM = "DeGroot & Fienberg 1983; Guo et al. 2017; consistency bars: Bröcker & Smith 2007"


def reliability_plot(
    key: str, judged: Judged, bins: CalibrationResult, null: ConsistencyResult, how: Resampling, title: str
) -> Plot:
    """Draw the reliability diagram with its consistency bars."""
    rows = bins.bins
    counts = np.array([row.count for row in rows])
    hits = [round((row.accuracy or 0.0) * row.count) for row in rows]
    ends = [
        intervals.wilson(hit, row.count, confidence_level=how.level) if row.count else None
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
    level = percent(how.level)
    return drawing.plot(
        key=key,
        title=title,
        caption=f"On “{judged.split}”, {len(judged):,} items. Bars are accuracy; dots with whiskers are accuracy and "
        f"its {level} Wilson interval at the bin's mean confidence. Gray boxes hold the accuracy of a calibrated model "
        f"in {level} of cases: a dot outside its box speaks against calibration there. Below: the items of each bin.",
        alt=f"Reliability diagram of {N_BINS} bins. {told}.",
        source=SOURCE_OF_DIAGRAM,
    )


def bin_table(key: str, bins: CalibrationResult, null: ConsistencyResult, how: Resampling) -> Table:
    """Return the table behind the diagram."""
    rows: list[tuple[Any, ...]] = []
    for row, bar in zip(bins.bins, null.bars, strict=True):
        if not row.count or row.accuracy is None or row.confidence is None:
            continue
        interval = intervals.wilson(round(row.accuracy * row.count), row.count, confidence_level=how.level)
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
    level = percent(how.level)
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
