"""What is written of the scores: a table per data set, paired differences, and which conclusions depend on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.intervals import bounded_mean_interval, wilson
from rightreasons.core.significance import mcnemar

LEVEL = 0.95
INTRODUCTION = (
    "In how many ways of asking the conclusion is drawn (the interval is above the bound), its opposite is drawn, and "
    "neither is."
)
Cells = Mapping[str, Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a model said to the items of a data set in one way.

    Attributes:
        ids: N items.
        labels: (N,) the right answers.
        confidence: N rows of the shares of the answers.
        right: (N,) whether the likeliest answer is right.
    """

    ids: tuple[str, ...]
    labels: NDArray[np.int64]
    confidence: list[NDArray[np.float64]]
    right: NDArray[np.bool_]

    @classmethod
    def of(cls, cell: Mapping[str, Any]) -> Asked:
        """Read a cell of results.json."""
        rows = [np.asarray(row, dtype=np.float64) for row in cell["scores"]]
        shares = [np.exp(row - row.max()) / np.exp(row - row.max()).sum() for row in rows]
        labels = np.asarray(cell["labels"], dtype=np.int64)
        right = np.array([row.argmax() for row in rows]) == labels
        return cls(tuple(cell["ids"]), labels, shares, right)

    def right_on(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return whether the likeliest answers to some items are right."""
        place = {name: row for row, name in enumerate(self.ids)}
        return self.right[[place[name] for name in ids]].astype(np.float64)

    @property
    def chance(self) -> float:
        """The accuracy of the most frequent label, or of a guess where the answers have no names."""
        return max(
            float(np.bincount(self.labels).max() / len(self.labels)), 1 / len(self.confidence[0])
        )

    @property
    def overconfidence(self) -> NDArray[np.float64]:
        """(N,) confidence minus whether the answer was right."""
        return np.array([row.max() for row in self.confidence]) - self.right

    @property
    def favorite(self) -> float:
        """The share of items that get the most frequent answer."""
        picks = np.array([row.argmax() for row in self.confidence])
        return float(np.bincount(picks).max() / len(picks))


def parts_of(key: str) -> dict[str, str]:
    """Return the parts of the name of a way.

    Example:
        >>> parts_of("chat/0/words/sum")
        {'template': 'chat', 'shots': '0', 'style': 'words', 'scoring': 'sum'}
    """
    return dict(zip(("template", "shots", "style", "scoring"), key.split("/"), strict=True))


CHANGES = (
    ("template on, off", "template", "chat", "bare"),
    ("letters, words", "style", "letters", "words"),
    ("4 examples, none", "shots", "4", "0"),
    ("mean, sum", "scoring", "mean", "sum"),
    ("unconditional, sum", "scoring", "unconditional", "sum"),
    ("calibrated, sum", "scoring", "calibrated", "sum"),
)
"""Name of a change, the part of a way that it changes, and the two values of it."""


def pairs_of(cells: Cells, part: str, first: str, second: str) -> list[tuple[str, str]]:
    """Return the ways that differ in one part alone."""
    found = []
    for key in cells:
        settings = parts_of(key)
        other = "/".join({**settings, part: second}.values())
        if settings[part] == first and other in cells:
            found.append((key, other))
    return found


def by_shots(cells: Cells) -> dict[str, Cells]:
    """Part the ways by the number of their examples."""
    numbers = sorted({parts_of(key)["shots"] for key in cells})
    return {
        n: {key: cell for key, cell in cells.items() if parts_of(key)["shots"] == n}
        for n in numbers
    }


def write_report(folder: Path, results: Mapping[str, Cells]) -> None:
    """Write RESULTS.md."""
    head = (
        "# Results\n\nWritten by `run.py --report` from results.json; README.md says how to read it. In brackets: 95 % "
        "intervals over the items (Wilson; of means and differences Student's t, an item at each bound); p: McNemar's "
        "mid-p test on the same items, of one comparison at a time."
    )
    parts = [head, _conclusions(results)]
    for name, cells in results.items():
        parts += [_ways(name, cells), _differences(name, cells)]
    (folder / "RESULTS.md").write_text("\n\n".join(parts) + "\n", "utf-8")


# ------------------------------------------------------------------------------------------------------------- private


def _ways(name: str, cells: Cells) -> str:
    notes = []
    for shots, way in by_shots(cells).items():
        answers = Asked.of(next(iter(way.values())))
        notes.append(
            f"{len(answers.ids)} items with {shots} examples, the most frequent label right on {answers.chance:.0%}"
        )
    lines = [
        f"## {name}",
        "",
        f"{'; '.join(notes)}.",
        "",
        "| template | examples | answers | score | accuracy | confidence − accuracy | ECE | most frequent answer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted(cells):
        answers, way = Asked.of(cells[key]), parts_of(key)
        low_high = wilson(int(answers.right.sum()), len(answers.right), confidence_level=LEVEL)
        gap, ends = (
            answers.overconfidence.mean(),
            bounded_mean_interval(answers.overconfidence, low=-1, high=1, confidence_level=LEVEL),
        )
        ece = calibration_error(
            [row.tolist() for row in answers.confidence], answers.labels.tolist(), n_bins=10
        ).ece
        lines.append(
            f"| {'on' if way['template'] == 'chat' else 'off'} | {way['shots']} | {way['style']} | {way['scoring']} "
            f"| {answers.right.mean():.3f} [{low_high.low:.3f}, {low_high.high:.3f}] "
            f"| {gap:+.3f} [{ends.low:+.3f}, {ends.high:+.3f}] | {ece:.3f} | {answers.favorite:.0%} |"
        )
    return "\n".join(lines)


def _differences(name: str, cells: Cells) -> str:
    lines = [
        f"### {name}: accuracy of the first minus that of the second, all else the same, on the items of both",
        "",
        "| change | all else | difference | p |",
        "|---|---|---|---|",
    ]
    for label, part, first, second in CHANGES:
        for first_key, second_key in pairs_of(cells, part, first, second):
            both = Asked.of(cells[first_key]), Asked.of(cells[second_key])
            shared = [item for item in both[0].ids if item in set(both[1].ids)]
            a, b = (each.right_on(shared) for each in both)
            ends = bounded_mean_interval(a - b, low=-1, high=1, confidence_level=LEVEL)
            rest = ", ".join(value for key, value in parts_of(first_key).items() if key != part)
            lines.append(
                f"| {label} | {rest} | {a.mean() - b.mean():+.3f} [{ends.low:+.3f}, {ends.high:+.3f}] "
                f"| {mcnemar(a > 0, b > 0).p_value:.3g} |"
            )
    return "\n".join(lines)


def _conclusions(results: Mapping[str, Cells]) -> str:
    """Tell, of each conclusion, in how many ways it would be drawn, beyond doubt, and in how many its opposite."""
    questions: Sequence[tuple[str, Callable[[Asked], int]]] = (
        ("better than the most frequent label", _above_chance),
        ("too sure of itself", _too_sure),
        ("gives one answer to 9 of 10 items", lambda answers: 1 if answers.favorite >= 0.9 else -1),
    )
    lines = [
        "## Which conclusion changes?",
        "",
        INTRODUCTION,
        "",
        "| data | examples | conclusion | drawn | opposite | neither |",
        "|---|---|---|---|---|---|",
    ]
    for name, cells in results.items():
        for shots, way in by_shots(cells).items():
            for claim, judge in questions:
                said = [judge(Asked.of(cell)) for cell in way.values()]
                lines.append(
                    f"| {name} | {shots} | {claim} | {said.count(1)} | {said.count(-1)} | {said.count(0)} |"
                )
    return "\n".join(lines)


def _above_chance(answers: Asked) -> int:
    ends = wilson(int(answers.right.sum()), len(answers.right), confidence_level=LEVEL)
    return 1 if ends.low > answers.chance else -1 if ends.high < answers.chance else 0


def _too_sure(answers: Asked) -> int:
    ends = bounded_mean_interval(answers.overconfidence, low=-1, high=1, confidence_level=LEVEL)
    return 1 if ends.low > 0 else -1 if ends.high < 0 else 0
