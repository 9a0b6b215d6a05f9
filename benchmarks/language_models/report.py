"""The tables of RESULTS.md: scores by dataset, paired differences, and conclusions by prompt format.

A cell of results.json holds the scores of one dataset in one prompt format. The format is named by a
key such as "chat/0/words/sum": template, number of examples, style of the answers, and scoring. The
entry point is `write_report`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.intervals import Interval, bounded_mean_interval, wilson
from rightreasons.core.significance import mcnemar

LEVEL = 0.95
INTRODUCTION = (
    "In how many ways of asking the conclusion is drawn (the interval is above the bound), its opposite is drawn, and "
    "neither is."
)
Cells = Mapping[str, Mapping[str, Any]]
"""Key of a prompt format -> cell of results.json."""


@dataclasses.dataclass(frozen=True)
class Responses:
    """The responses of a model to the items of a dataset in one prompt format.

    Attributes:
        ids: N identifiers of the items.
        labels: (N,) gold labels.
        probabilities: N rows of the probabilities of the answers.
        is_correct: (N,) whether the likeliest answer is correct.
    """

    ids: tuple[str, ...]
    labels: NDArray[np.int64]
    probabilities: list[NDArray[np.float64]]
    is_correct: NDArray[np.bool_]

    @classmethod
    def from_cell(cls, cell: Mapping[str, Any]) -> Responses:
        """Read a cell of results.json, whose scores are log probabilities."""
        rows = [np.asarray(row, dtype=np.float64) for row in cell["scores"]]
        probabilities = []
        for row in rows:
            # Subtracting the largest score avoids an overflow.
            exponentials = np.exp(row - row.max())
            probabilities.append(exponentials / exponentials.sum())
        labels = np.asarray(cell["labels"], dtype=np.int64)
        is_correct = np.array([row.argmax() for row in rows]) == labels
        return cls(tuple(cell["ids"]), labels, probabilities, is_correct)

    def select_correctness(self, ids: Sequence[str]) -> NDArray[np.float64]:
        """Return 1 for each of the items that is answered correctly, and 0 for the others."""
        row_by_id = {name: row for row, name in enumerate(self.ids)}
        return self.is_correct[[row_by_id[name] for name in ids]].astype(np.float64)

    def compute_accuracy_interval(self) -> Interval:
        """Return the interval of the accuracy."""
        n_correct = int(self.is_correct.sum())
        return wilson(n_correct, len(self.is_correct), confidence_level=LEVEL)

    def compute_overconfidence_interval(self) -> Interval:
        """Return the interval of the mean overconfidence."""
        return bounded_mean_interval(self.overconfidence, low=-1, high=1, confidence_level=LEVEL)

    @property
    def chance(self) -> float:
        """The accuracy of the most frequent label, or of a guess if that is higher."""
        most_frequent = float(np.bincount(self.labels).max() / len(self.labels))
        return max(most_frequent, 1 / len(self.probabilities[0]))

    @property
    def overconfidence(self) -> NDArray[np.float64]:
        """(N,) confidence minus correctness."""
        return np.array([row.max() for row in self.probabilities]) - self.is_correct

    @property
    def favorite(self) -> float:
        """The share of items with the most frequent answer."""
        answers = np.array([row.argmax() for row in self.probabilities])
        return float(np.bincount(answers).max() / len(answers))


def parse_key(key: str) -> dict[str, str]:
    """Return the settings of a prompt format.

    Example:
        >>> parse_key("chat/0/words/sum")
        {'template': 'chat', 'shots': '0', 'style': 'words', 'scoring': 'sum'}
    """
    return dict(zip(("template", "shots", "style", "scoring"), key.split("/"), strict=True))


class Change(NamedTuple):
    """A change of one setting of the prompt format, from `old` to `new`."""

    name: str
    setting: str
    new: str
    old: str


CHANGES = (
    Change("template on, off", "template", "chat", "bare"),
    Change("letters, words", "style", "letters", "words"),
    Change("4 examples, none", "shots", "4", "0"),
    Change("mean, sum", "scoring", "mean", "sum"),
    Change("unconditional, sum", "scoring", "unconditional", "sum"),
    Change("calibrated, sum", "scoring", "calibrated", "sum"),
)


def list_key_pairs(cells: Cells, change: Change) -> list[tuple[str, str]]:
    """Return the pairs of keys, new and old, that differ by a change alone."""
    pairs = []
    for key in cells:
        settings = parse_key(key)
        old_key = "/".join({**settings, change.setting: change.old}.values())
        if settings[change.setting] == change.new and old_key in cells:
            pairs.append((key, old_key))
    return pairs


def group_by_shots(cells: Cells) -> dict[str, Cells]:
    """Return the cells by the number of examples in the prompt."""
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for key, cell in cells.items():
        groups.setdefault(parse_key(key)["shots"], {})[key] = cell
    return dict(sorted(groups.items()))


def write_report(folder: Path, results: Mapping[str, Cells]) -> None:
    """Write RESULTS.md into a folder, from the cells of each dataset."""
    head = (
        "# Results\n\nWritten by `run.py --report` from results.json; README.md says how to read it. In brackets: 95 % "
        "intervals over the items (Wilson; of means and differences Student's t, an item at each bound); p: McNemar's "
        "mid-p test on the same items, of one comparison at a time."
    )
    sections = [head, _format_conclusions(results)]
    for dataset, cells in results.items():
        sections.append(_format_scores(dataset, cells))
        sections.append(_format_differences(dataset, cells))
    (folder / "RESULTS.md").write_text("\n\n".join(sections) + "\n", "utf-8")


# ------------------------------------------------------------------------------------------------------------- private


def _format_scores(dataset: str, cells: Cells) -> str:
    """Return the section of a dataset: a row for each prompt format."""
    notes = []
    for shots, shots_cells in group_by_shots(cells).items():
        # All formats with the same number of examples have the same items.
        responses = Responses.from_cell(next(iter(shots_cells.values())))
        notes.append(
            f"{len(responses.ids)} items with {shots} examples, "
            f"the most frequent label right on {responses.chance:.0%}"
        )
    lines = [
        f"## {dataset}",
        "",
        f"{'; '.join(notes)}.",
        "",
        "| template | examples | answers | score | accuracy | confidence − accuracy | ECE | most frequent answer |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_format_score_row(key, Responses.from_cell(cells[key])) for key in sorted(cells)]
    return "\n".join(lines)


def _format_score_row(key: str, responses: Responses) -> str:
    """Return the row of one prompt format."""
    settings = parse_key(key)
    template = "on" if settings["template"] == "chat" else "off"
    accuracy = responses.compute_accuracy_interval()
    gap = responses.overconfidence.mean()
    gap_interval = responses.compute_overconfidence_interval()
    probabilities = [row.tolist() for row in responses.probabilities]
    ece = calibration_error(probabilities, responses.labels.tolist(), n_bins=10).ece
    return (
        f"| {template} | {settings['shots']} | {settings['style']} | {settings['scoring']} "
        f"| {responses.is_correct.mean():.3f} [{accuracy.low:.3f}, {accuracy.high:.3f}] "
        f"| {gap:+.3f} [{gap_interval.low:+.3f}, {gap_interval.high:+.3f}] "
        f"| {ece:.3f} | {responses.favorite:.0%} |"
    )


def _format_differences(dataset: str, cells: Cells) -> str:
    """Return the section of a dataset with the effects of each change on the accuracy."""
    lines = [
        f"### {dataset}: accuracy of the first minus that of the second, all else the same, on the items of both",
        "",
        "| change | all else | difference | p |",
        "|---|---|---|---|",
    ]
    for change in CHANGES:
        for new_key, old_key in list_key_pairs(cells, change):
            new_responses = Responses.from_cell(cells[new_key])
            old_responses = Responses.from_cell(cells[old_key])
            # Formats with examples may have fewer items.
            old_ids = set(old_responses.ids)
            shared_ids = [item for item in new_responses.ids if item in old_ids]
            new = new_responses.select_correctness(shared_ids)
            old = old_responses.select_correctness(shared_ids)
            interval = bounded_mean_interval(new - old, low=-1, high=1, confidence_level=LEVEL)
            p_value = mcnemar(new > 0, old > 0).p_value
            settings = parse_key(new_key)
            del settings[change.setting]
            lines.append(
                f"| {change.name} | {', '.join(settings.values())} "
                f"| {new.mean() - old.mean():+.3f} [{interval.low:+.3f}, {interval.high:+.3f}] "
                f"| {p_value:.3g} |"
            )
    return "\n".join(lines)


def _format_conclusions(results: Mapping[str, Cells]) -> str:
    """Count the prompt formats in which a conclusion or its opposite is significant."""
    conclusions: Sequence[tuple[str, Callable[[Responses], int]]] = (
        ("better than the most frequent label", _judge_accuracy),
        ("too sure of itself", _judge_overconfidence),
        ("gives one answer to 9 of 10 items", _judge_favorite),
    )
    lines = [
        "## Which conclusion changes?",
        "",
        INTRODUCTION,
        "",
        "| data | examples | conclusion | drawn | opposite | neither |",
        "|---|---|---|---|---|---|",
    ]
    for dataset, cells in results.items():
        for shots, shots_cells in group_by_shots(cells).items():
            for conclusion, judge in conclusions:
                signs = [judge(Responses.from_cell(cell)) for cell in shots_cells.values()]
                lines.append(
                    f"| {dataset} | {shots} | {conclusion} "
                    f"| {signs.count(1)} | {signs.count(-1)} | {signs.count(0)} |"
                )
    return "\n".join(lines)


def _get_side(interval: Interval, bound: float) -> int:
    """Return 1 if an interval is above a bound, -1 if it is below, and 0 if it contains the bound."""
    if interval.low > bound:
        return 1
    return -1 if interval.high < bound else 0


def _judge_accuracy(responses: Responses) -> int:
    """Return 1 if the accuracy is significantly above chance, -1 if below, and 0 otherwise."""
    return _get_side(responses.compute_accuracy_interval(), responses.chance)


def _judge_overconfidence(responses: Responses) -> int:
    """Return 1 if the model is significantly overconfident, -1 if underconfident, and 0 otherwise."""
    return _get_side(responses.compute_overconfidence_interval(), 0)


def _judge_favorite(responses: Responses) -> int:
    """Return 1 if nine of ten items or more have the same answer, and -1 otherwise."""
    return 1 if responses.favorite >= 0.9 else -1
