"""Tables of several sources of confidence, for `rightreasons confidence` and the report.

`SOURCES` is the section that the command prints; `list_source_rows` is shared with the report.
"""

from __future__ import annotations

from collections.abc import Iterator

from rightreasons.calibration.figures import FIGURES
from rightreasons.calibration.measure_sources import ConfidenceMeasurement
from rightreasons.calibration.measurement import SOURCE_NAMES
from rightreasons.core.estimates import make_estimate
from rightreasons.page.parts import Cell
from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table

SOURCE_FIGURES = (
    "accuracy",
    "mean_confidence",
    "ece",
    "smooth_ece",
    "brier_of_answers",
    "auroc",
    "aurc",
)
"""Figures in the table of sources."""

# "brier" of two confidences is the figure "brier_of_answers" of each.
FIGURE_BY_TEST = {
    "confidence_gap": "confidence_gap",
    "ece": "ece",
    "brier": "brier_of_answers",
    "auroc": "auroc",
}
"""Key of a test of `compare_confidence` -> key of its figure, in the table of differences."""


def list_source_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of the table of sources: name, share of answers, and `SOURCE_FIGURES`."""
    for source in measured.sources:
        name = SOURCE_NAMES.get(source.name, source.name)
        # A source that is not compared has no figures: its cells are empty.
        figures = [source.figures.get(key) for key in SOURCE_FIGURES]
        yield (name, source.confident, *figures)


def list_difference_rows(measured: ConfidenceMeasurement) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the table of differences between sources, one per pair and figure.

    The columns are the pair, the figure, its difference with the interval, the p-value, and the
    p-value after Holm's correction.

    Args:
        measured: The sources; each of its `pairs` has a test for each figure.
    """
    for pair in measured.pairs:
        for key, figure_key in FIGURE_BY_TEST.items():
            test = pair.differences.get(key)
            # With too few items, there is no test, or a test without an interval.
            if test is None or test.interval is None:
                continue
            yield (
                f"{pair.first} - {pair.second}",
                FIGURES[figure_key].name,
                make_estimate(test.difference, test.interval),
                test.p_value,
                pair.p_holm[key],
            )


SOURCES = Question(
    name="confidence",
    prose=prose(__file__, FIGURES=FIGURES, SOURCE_FIGURES=SOURCE_FIGURES),
    verdict=(Rule("neutral", "comparison"),),
    parts=(
        Part(
            "sources",
            (
                Table("sources", list_source_rows),
                Table("pairs", list_difference_rows, condition=lambda m: m.pairs),
            ),
        ),
    ),
)
"""Section that `rightreasons confidence` prints."""
