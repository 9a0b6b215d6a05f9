"""What sources of confidence are beside each other: the tables of a report, and of `rightreasons confidence`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightreasons.calibration.elicit import BY_GROUP, OF_ANSWERS, ConfidenceMeasurement
from rightreasons.calibration.measure import FIGURES
from rightreasons.calibration.measurement import NAMES
from rightreasons.core.intervals import estimate_of
from rightreasons.page.parts import Cell
from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table

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


SOURCES = Question(
    name="confidence",
    prose=prose(__file__, FIGURES=FIGURES, OF_COMMAND=OF_COMMAND, BY_GROUP=BY_GROUP),
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
