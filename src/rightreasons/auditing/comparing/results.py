"""What comparing two models finds."""

from __future__ import annotations

import dataclasses

import rightreasons
from rightreasons.auditing.comparing.history import FigureHistory, History
from rightreasons.auditing.comparing.paired import ComparedAnswer, Winner
from rightreasons.auditing.figures import short_path
from rightreasons.foundations.results import Result
from rightreasons.measuring.estimates import Estimate

COMPARISON_FILE = "comparison.json"


@dataclasses.dataclass(frozen=True)
class ComparedFigure(Result):
    """One figure of two models on the same items.

    Attributes:
        key: The figure, as in the audit.
        name: Its name.
        first: The first model's.
        second: The second model's.
        difference: First minus second, with its interval.
        p_value: Two-sided p-value of "no difference".
        test: The test, in words.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after Holm's correction for all tests of the comparison.
        winner: The model that is better by the corrected p-value; "" where that is open.
    """

    key: str
    name: str
    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    better: str | None
    holm_p_value: float = 1.0
    winner: Winner = ""


@dataclasses.dataclass(frozen=True)
class ComparedSplit(Result):
    """Two models on the items that both were audited on.

    Attributes:
        split: The name of the split.
        n_items: Items that both reports hold, with the same text and a label.
        n_only_first: Items that only the first report holds.
        n_only_second: Items that only the second report holds.
        both_right: Items that both get right.
        first_right: Items that only the first gets right.
        second_right: Items that only the second gets right.
        both_wrong: Items that neither gets right.
        figures: The figures with their tests.
    """

    split: str
    n_items: int
    n_only_first: int
    n_only_second: int
    both_right: int
    first_right: int
    second_right: int
    both_wrong: int
    figures: tuple[ComparedFigure, ...]


@dataclasses.dataclass(frozen=True)
class Comparison(Result):
    """What comparing two reports found.

    Attributes:
        first: The first model.
        second: The second model, of the last report.
        splits: The splits that both reports hold.
        answers: The figures of the questions that both reports answer, item by item.
        history: The figures of all reports side by side; of more than two, the first and the last are the two models.
        not_paired: Why the two cannot be compared item by item; "" where they are.
        n_resamples: The resamples of every bootstrap and permutation test.
        seed: Their seed.
        rightreasons: The version.
    """

    first: str
    second: str
    splits: tuple[ComparedSplit, ...]
    answers: tuple[ComparedAnswer, ...]
    history: History
    not_paired: str
    n_resamples: int
    seed: int
    rightreasons: str = rightreasons.__version__

    def better_at(self, winner: Winner) -> list[str]:
        """Name what a model is better at; with "", what is open."""
        at = [
            f"{_within(figure.name)} on {split.split}"
            for split in self.splits
            for figure in split.figures
            if figure.better is not None and figure.winner == winner
        ]
        names = [one.group or _within(one.name) for one in self.answers if one.winner == winner]
        return [*at, *names]

    @property
    def side_by_side(self) -> tuple[FigureHistory, ...]:
        """The figures of all reports; of two reports, those that are not compared item by item."""
        if len(self.history.models) > 2:
            return self.history.figures
        paired = {short_path(f"{one.question}.{one.key}") for one in self.answers}
        return tuple(
            figure for figure in self.history.figures if figure.question != "calibration" and figure.path not in paired
        )


def _within(name: str) -> str:
    """Write the name of a figure within a sentence: acronyms and people keep their capitals."""
    first = name.split()[0]
    return name if first == "Brier" or not first[1:].islower() else f"{name[0].lower()}{name[1:]}"
