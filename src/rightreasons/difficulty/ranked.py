"""What the two rankings of items report alike: the accuracy of groups, and what the ranking correlates with."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext, example_of
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate
from rightreasons.difficulty import plots
from rightreasons.difficulty.data_maps import TrainingDynamics
from rightreasons.difficulty.measure import Correlation, RankedItems
from rightreasons.difficulty.ranking import MIN_ITEMS
from rightreasons.page.parts import Cell, Column, Example, Mark
from rightreasons.page.plots import Drawing
from rightreasons.page.question import Figure, Need

N_EXAMPLES = 6

ENDS = {"hardest": -1, "easiest": 0}
"""Name of each end of a ranking -> the place of its group."""

CORRELATES = {
    "small_margin": ("Small margin", "Minus the gap of the two largest probabilities."),
    "entropy": ("Entropy", "Of the probabilities, in nats."),
    "gradient_norm": ("Gradient norm", "Of log p of the predicted class."),
    "words": ("Words", "Of the text."),
    "mean_shift": ("Mean shift", "Over the words of the text, in place of the largest."),
    "variability": ("Variability in training", "Standard deviation of P(label) over {epochs}"),
    "low_confidence": ("Low confidence in training", "Minus the mean of P(label) over {epochs}"),
    "wrong": ("Being wrong", "1 for a wrong answer, 0 for a right one."),
}
"""Name and definition of what a ranking is correlated with, in the order of the tables."""

CORRELATIONS = (
    Column("measure", "Measure", "text"),
    Column("rho", "Spearman's ρ"),
    Column("p", "p", "p_value", "Of no correlation."),
    Column("definition", "What it is", "text"),
)

ENOUGH = Need("items", lambda context, options: len(context.primary) >= MIN_ITEMS)


@dataclasses.dataclass(frozen=True, eq=False)
class RankedAnswers:
    """The ranked items of the primary split.

    Attributes:
        context: The audit.
        split: The items that were asked about.
        measured: The ranking.
        dynamics: How they fared in training; None where that is unknown.
    """

    context: AuditContext
    split: AuditSplit
    measured: RankedItems
    dynamics: TrainingDynamics | None = None

    @property
    def n_items(self) -> int:
        """The number of ranked items."""
        return len(self.measured)

    @functools.cached_property
    def accuracies(self) -> list[Estimate]:
        """The accuracy of the groups, the easiest first; [] where labels are too few."""
        return self.measured.accuracies(self.context.resampling)

    @functools.cached_property
    def correlations(self) -> dict[str, Correlation]:
        """What the ranking correlates with."""
        return self.measured.correlations(self.context.resampling, self.dynamics)

    @property
    def correct(self) -> NDArray[np.bool_] | None:
        """Which predictions are right; None where some items have no label."""
        return self.measured.correct if self.measured.labeled.all() else None

    @property
    def quantiles(self) -> dict[str, float]:
        """Three quantiles of the difficulty, by their names."""
        return {f"{q:.0%}": float(np.quantile(self.measured.values, q)) for q in (0.1, 0.5, 0.9)}

    def marks(self, place: int) -> tuple[Mark, ...]:
        """Mark the words of an item that its difficulty rests on."""
        raise NotImplementedError

    def note(self, place: int) -> str:
        """Say in a sentence how difficult an item is."""
        raise NotImplementedError

    def examples(self, end: str) -> Iterator[Example]:
        """Show the hardest items, or the easiest."""
        for place in self.measured.order[:: 1 if end == "hardest" else -1][:N_EXAMPLES]:
            row, predicted = int(self.measured.rows[place]), int(self.measured.predicted[place])
            confidence, marks = float(self.measured.confidence[place]), self.marks(place)
            yield example_of(self.context, self.split, row, predicted, confidence, marks, self.note(place))

    def n_in_group(self, place: int) -> int:
        """Return the size of a group."""
        return self.measured.groups.counts[place] if self.measured.groups else 0


ACCURACIES = tuple(
    Figure(
        f"{end}_accuracy",
        lambda m, place=place: m.accuracies[place] if m.accuracies else None,  # type: ignore[misc]
        "Counted",
        better="higher",
        n=lambda m, place=place: m.n_in_group(place),  # type: ignore[misc]
    )
    for end, place in ENDS.items()
)


def draw_accuracy(of: str) -> Callable[[str, RankedAnswers], Drawing]:
    """Return what draws the accuracy of groups of equal size, by the figure that rises from group to group."""

    def draw(key: str, m: RankedAnswers) -> Drawing:
        return plots.accuracy_steps(
            key,
            accuracies=[each.value or 0.0 for each in m.accuracies],
            lows=[each.low or 0.0 for each in m.accuracies],
            highs=[each.high or 0.0 for each in m.accuracies],
            xlabel=f"group of rising {of} ({counted(m.n_in_group(0), 'item')} each)",
        )

    return draw


def correlation_rows(m: RankedAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of the table of rank correlations."""
    epochs = ""
    if m.dynamics is not None:
        n_known = counted(len(m.dynamics.places), "item is", "items are")
        epochs = f"{m.dynamics.n_epochs} epochs of training; {n_known} in the data map."
    for key, (name, definition) in CORRELATES.items():
        if key in m.correlations and (key != "wrong" or m.measured.groups):
            found = m.correlations[key]
            yield name, found.rho, found.test.p_value, definition.format(epochs=epochs)
