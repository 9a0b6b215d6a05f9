"""The reliability diagram with its consistency bars, and the table behind it."""

from __future__ import annotations

from rightreasons.auditing.page import plots
from rightreasons.auditing.page.parts import Column, Plot, Table
from rightreasons.auditing.page.words import level_percent, percent
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.calibration import CalibrationMeasurement

SOURCE = "DeGroot & Fienberg 1983; Guo et al. 2017; consistency bars: Bröcker & Smith 2007"


def reliability_plot(key: str, measured: CalibrationMeasurement, split: str, title: str) -> Plot:
    """Draw the reliability diagram with its consistency bars."""
    null, level = measured.consistency, level_percent(measured.consistency.confidence_level)
    drawing = plots.reliability_diagram(
        key, measured.bins.bins, intervals=measured.accuracies, bars=null.bars, level=null.confidence_level
    )
    words = "; ".join(
        f"{counted(row.count, 'item')} at confidence {percent(row.confidence or 0.0)}, accuracy "
        f"{percent(row.accuracy or 0.0)}"
        for row in measured.bins.bins
        if row.count
    )
    return drawing.plot(
        title=title,
        caption=f"On “{split}”, {counted(len(measured.items), 'item')}. Bars are accuracy; dots with whiskers "
        "are accuracy and "
        f"its {level} Wilson interval at the bin's mean confidence. Gray boxes hold the accuracy of a calibrated model "
        f"in {level} of cases: a dot outside its box speaks against calibration there. Below: the items of each bin.",
        alt=f"Reliability diagram of {measured.n_bins} bins. {words}.",
        source=SOURCE,
    )


def bin_table(key: str, measured: CalibrationMeasurement) -> Table:
    """Return the table behind the diagram."""
    level = level_percent(measured.consistency.confidence_level)
    bins = zip(measured.bins.bins, measured.accuracies, measured.consistency.bars, strict=True)
    return Table(
        key=key,
        title="The bins behind the diagram",
        columns=(
            Column("bin", "Confidence", "text"),
            Column("n", "Items", "count"),
            Column("confidence", "Mean confidence", "share"),
            Column("accuracy", f"Accuracy [{level} interval]", "share"),
            Column("gap", "Gap", "share"),
            Column("calibrated", "If calibrated", "text", f"Accuracy of a calibrated model in {level} of cases."),
        ),
        rows=tuple(
            (
                f"({percent(row.lower)}, {percent(row.upper)}]",
                row.count,
                row.confidence,
                accuracy,
                row.confidence - row.accuracy,
                "" if bar is None else f"{percent(bar[0])} to {percent(bar[1])}",
            )
            for row, accuracy, bar in bins
            if row.accuracy is not None and row.confidence is not None
        ),
        source=SOURCE,
        folded=True,
    )
