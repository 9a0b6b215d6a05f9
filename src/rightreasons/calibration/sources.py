"""What sources of confidence are beside each other: the tables of a report, and of `rightreasons confidence`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightreasons.calibration.elicit import BY_GROUP, OF_ANSWERS, ConfidenceMeasurement
from rightreasons.calibration.measure import FIGURES
from rightreasons.calibration.measurement import NAMES
from rightreasons.core.intervals import estimate_of
from rightreasons.page.parts import Cell, Column
from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table

OF_SOURCES = ("mean_confidence", "ece", "brier_of_answers", "auroc", "aurc")
OF_COMMAND = ("accuracy", "mean_confidence", "ece", "smooth_ece", "brier_of_answers", "auroc", "aurc")
PAIRED = ("accuracy", "confidence_gap", "ece", "brier", "auroc", "aurc")
"""The figures of sources of confidence: on a page, by `rightreasons confidence`, and in its tests of each two."""


def source_columns(measured: ConfidenceMeasurement, keys: Sequence[str] = OF_SOURCES) -> list[Column]:
    """Return the columns of the sources of confidence."""
    columns = [
        Column("source", "Source", "text"),
        Column("confident", "Answers with it [{{ level }}]", "share", "Share that have this confidence."),
    ]
    for key in keys:
        text = FIGURES[key].defined(measured.n_bins, "confidence")
        kind = "share" if text.unit == "fraction" else "number"
        columns.append(Column(key, text.name + " [{{ level }}]", kind, text.definition))  # type: ignore[arg-type]
    return columns


def source_rows(measured: ConfidenceMeasurement, keys: Sequence[str] = OF_SOURCES) -> Iterator[tuple[Cell, ...]]:
    """Return the figures of each source of confidence."""
    for one in measured.sources:
        yield NAMES.get(one.name, one.name), one.confident, *map(one.figures.get, keys)


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


PAIR_COLUMNS = (
    Column("pair", "Sources", "text"),
    Column("figure", "Figure", "text"),
    Column("difference", "Difference [{{ level }}]", "share"),
    Column("p_value", "p", "p_value"),
    Column("p_holm", "Corrected for all pairs", "p_value"),
)

GROUP_COLUMNS = (
    Column("group", "Group", "text"),
    Column("source", "Source", "text"),
    Column("n_items", "Items", "count"),
    *(Column(key, f"{FIGURES[key].name} [{{{{ level }}}}]", "share") for key in BY_GROUP),
)

SOURCES = Question(
    name="confidence",
    prose=prose(__file__),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "sources",
            (
                Table("sources", lambda m: source_columns(m, OF_COMMAND), lambda m: source_rows(m, OF_COMMAND)),
                Table("pairs", PAIR_COLUMNS, difference_rows, when=lambda m: m.pairs),
                Table("groups", GROUP_COLUMNS, group_rows, when=lambda m: m.groups),
            ),
        ),
    ),
)
"""What `rightreasons confidence` prints of several sources of confidence."""
