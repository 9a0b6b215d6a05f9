"""The answers of two reports item by item: which model is better at what, and what is open."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import rightreasons
from rightreasons.audited.context import Predictions, read_predictions
from rightreasons.calibration.measure import JudgedItems
from rightreasons.core.arrays import Result, take_rows
from rightreasons.core.intervals import Estimate, PairedTest, bounded_mean, estimate_of, paired_means
from rightreasons.core.label_names import MatchTerms, match_labels
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_kind, check_same_length
from rightreasons.page.parts import ItemFigure
from rightreasons.page.prose import short_name
from rightreasons.report.files import AuditFigure, audit_figures, items_file, read_items, short_path
from rightreasons.report.schema import AUDIT_FILE, check_files, read_audit

Winner = Literal["first", "second", ""]
SIDES: tuple[Winner, ...] = ("first", "second")

MIN_ITEMS = 10
"""With fewer shared items than this a figure is not compared."""


@dataclasses.dataclass(frozen=True)
class ComparedFigure(Result):
    """One figure of a question, of two models on the same items.

    Attributes:
        question: The question.
        key: The figure, as in the audit.
        name: Its name for readers.
        group: The part of it that is compared, such as a functionality of a suite; "" for the whole.
        unit: As of a headline.
        better: "higher", "lower" or None.
        n_items: Items that both reports hold.
        first: The first model's.
        second: The second model's.
        difference: First minus second, with its interval.
        p_value: Two-sided p-value of "no difference".
        test: The test, in words.
        holm_p_value: The p-value after Holm's correction for all tests of the comparison.
        winner: The model that is better by the corrected p-value; "" where that is open.
    """

    question: str
    key: str
    name: str
    group: str
    unit: str
    better: str | None
    n_items: int
    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    holm_p_value: float = 1.0
    winner: Winner = ""

    @classmethod
    def of(cls, key: str, test: PairedTest, figures: Sequence[Estimate], **about: Any) -> ComparedFigure:
        """Join a test with the figures of both models."""
        difference = estimate_of(test.difference, test.interval)
        first, second = figures
        tested = {"difference": difference, "p_value": test.p_value, "test": test.method, "n_items": test.n_items}
        return cls(key=key, first=first, second=second, **{"group": "", **tested, **about})


def winner_of(difference: Estimate, better: str | None, holm_p_value: float, level: float) -> Winner:
    """Return which model is better; "" where the corrected p-value does not tell, or neither direction is better.

    Args:
        difference: First minus second.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after correction.
        level: Confidence level; p-values below one minus it tell.

    Example:
        >>> winner_of(Estimate(-0.2), "lower", 0.01, 0.95), winner_of(Estimate(-0.2), "lower", 0.2, 0.95)
        ('first', '')
    """
    if better is None or not difference.value or holm_p_value >= 1 - level:
        return ""
    return "first" if (difference.value > 0) == (better == "higher") else "second"


def compared_answers(
    audits: Sequence[Mapping[str, Any]], folders: Sequence[Path], shared: Collection[str] | None, how: Resampling
) -> tuple[ComparedFigure, ...]:
    """Compare the figures of all questions that both reports keep by item.

    Items of the data are joined by id where both reports hold them with the same text; cases of a behavioral suite
    where both reports are about the same suite.

    Args:
        audits: Two audits, as `read_audit` returns them.
        folders: The folders of their reports.
        shared: Ids of the items of the primary split that both hold with the same text; None where that is all.
        how: Level of the intervals; random signs and their seed.

    Returns:
        The figures in the order of the first report; not yet corrected for their number.
    """
    answers: list[ComparedFigure] = []
    results = [
        {first["question"]: first["result"] for first in audit["questions"] if first["result"]} for audit in audits
    ]
    for question in results[0]:
        if question not in results[1]:
            continue
        first, second = (result[question] for result in results)
        if first["data"].get("suite") != second["data"].get("suite"):
            continue
        figures = []
        for folder, audit, result in zip(folders, audits, (first, second), strict=True):
            check_files(folder, audit, [items_file(question)])
            figures.append(read_items(folder, question, result))
        for key in figures[0]:
            if key in figures[1]:
                known = None if figures[0][key].groups else shared
                answers += _compared(question, figures[0][key], figures[1][key], known, how)
    return tuple(answers)


# ------------------------------------------------------------------------------------------------------------- private


def _compared(
    question: str, first: ItemFigure, second: ItemFigure, known: Collection[str] | None, how: Resampling
) -> Iterator[ComparedFigure]:
    """Compare one figure, and each of its groups."""
    mine, its = shared_rows(first.ids, second.ids)
    if known is not None:
        mine, its = np.array((mine, its))[:, [first.ids[row] in known for row in mine]]
    if len(mine) < MIN_ITEMS:
        return
    values = np.array(first.values)[mine], np.array(second.values)[its]
    if not first.groups:
        yield _answer(question, first, "", values, how)
        return
    groups = np.array(first.groups)[mine]
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    # So weighted, the mean over cases is the mean over groups of their means.
    weights = (len(groups) / (len(names) * counts))[codes]
    weighed = dataclasses.replace(first, low=0.0, high=first.high * float(weights.max()))
    yield _answer(question, weighed, "", (values[0] * weights, values[1] * weights), how)
    for name in dict.fromkeys(groups.tolist()):
        part = groups == name
        if part.sum() >= MIN_ITEMS:
            yield _answer(question, first, name, (values[0][part], values[1][part]), how)


def _answer(question: str, figure: ItemFigure, group: str, values: tuple[Any, Any], how: Resampling) -> ComparedFigure:
    bounds = {"low": figure.low, "high": figure.high}
    test = paired_means(*values, **bounds, resampling=how)
    means = [
        estimate_of(float(each.mean()), bounded_mean(each, **bounds, confidence_level=how.level)) for each in values
    ]
    about = {"question": question, "name": figure.name, "unit": figure.unit, "better": figure.better, "group": group}
    return ComparedFigure.of(figure.key, test, means, **about)


# ------------------------------------------------------------------------------------- The items that two reports share


@dataclasses.dataclass(frozen=True, eq=False)
class SharedItems:
    """The items that two reports share, judged by both models in the first's numbering of classes.

    Attributes:
        first: Judged by the first model.
        second: Judged by the second.
        ids: Their ids.
        texts: Their texts.
        n_only: Items that only the first holds, and only the second.
    """

    first: JudgedItems
    second: JudgedItems
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    n_only: tuple[int, int]


def shared_rows(first: Sequence[Hashable], second: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the (2, M) rows of the names that two lists share, in the order of the first.

    Example:
        >>> shared_rows(["a", "b", "c"], ["c", "a"]).tolist()
        [[0, 2], [1, 0]]
    """
    place = {name: row for row, name in enumerate(second)}
    rows = [(row, place[name]) for row, name in enumerate(first) if name in place]
    return np.array(rows, dtype=np.intp).reshape(-1, 2).T


def matched_classes(audits: Sequence[dict[str, Any]]) -> NDArray[np.int64] | None:
    """Return the first model's class of each of the second's classes; None for multiple choice.

    The two are known to be of one task.
    """
    ours, theirs = (audit["model"] for audit in audits)
    if ours["task"] == "multiple_choice":
        return None
    if len(ours["label_names"]) != len(theirs["label_names"]):
        raise ValueError(
            f"Expected two models of the same classes, but {ours['name']} has {', '.join(ours['label_names'])} "
            f"and {theirs['name']} has {', '.join(theirs['label_names'])}."
        )
    return match_labels(
        theirs["label_names"], ours["label_names"], terms=MatchTerms(theirs["name"], ours["name"])
    ).class_of


def prediction_files(audit: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of the predictions of each split that is compared."""
    return {
        split["name"]: split["predictions"]
        for split in audit["dataset"]["splits"]
        if split["predictions"] and split["role"] in ("primary", "comparison")
    }


def shared_items(
    split: str,
    first: Predictions,
    second: Predictions,
    mapping: NDArray[np.int64] | None,
    audits: Sequence[dict[str, Any]],
) -> SharedItems | None:
    """Join the labeled items that both reports hold with the same text; None where there are none."""
    rows = shared_rows(first.named, second.named)
    mine, its = rows[:, first.labels[rows[0]] >= 0]
    if not len(mine):
        return None
    labels, others = first.labels[mine], second.labels[its]
    logits = take_rows(second.logits, its)
    mapped = others
    if mapping is not None:
        mapped = mapping[others]
        logits = np.asarray(logits)[:, np.argsort(mapping)]
    # Reports that give an item different labels: one of them took its labels for other classes.
    odd = np.flatnonzero((others >= 0) & (labels != mapped))
    if odd.size:
        shown = [
            audit["model"]["label_names"][label] if audit["model"]["label_names"] else f"choice {label + 1}"
            for audit, label in zip(audits, (labels[odd[0]], others[odd[0]]), strict=True)
        ]
        raise ValueError(
            f"Expected two reports that give each item the same label, but item {first.ids[mine[odd[0]]]!r} of the "
            f"split {split!r} is {shown[0]!r} in the first and {shown[1]!r} in the second."
        )
    return SharedItems(
        first=JudgedItems.of(take_rows(first.logits, mine), labels),
        second=JudgedItems.of(logits, labels),
        ids=tuple(first.ids[row] for row in mine),
        texts=tuple(first.texts[row] for row in mine),
        n_only=(len(first) - len(mine), len(second) - len(mine)),
    )


def same_items(audits: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether two reports answer a question item by item for the same items, with or without their predictions."""
    held = [(audit["dataset"]["primary"], audit["dataset"]["splits"]) for audit in audits]
    kept = [
        {each["question"] for each in audit["questions"] if each["result"] and each["result"].get("by_item")}
        for audit in audits
    ]
    prints = {split["fingerprint"] for primary, splits in held for split in splits if split["name"] == primary}
    return len(prints) == 1 and bool(kept[0] & kept[1])


def n_shared(folders: Sequence[Path], audits: Sequence[Mapping[str, Any]]) -> int:
    """Count the items of the primary split that two reports hold with the same id and text."""
    held = []
    for folder, audit in zip(folders, audits, strict=True):
        file = prediction_files(audit).get(audit["dataset"]["primary"])
        if file is None:
            return 0
        check_files(folder, audit, [file])
        held.append(read_predictions(folder / file).named)
    return len(shared_rows(*held)[0])


# ----------- Reports side by side: the figures of all questions over models or checkpoints, and which is better at what


Better = Literal["first", "last", "open", ""]


@dataclasses.dataclass(frozen=True)
class FigureHistory(Result):
    """One figure over several reports.

    Attributes:
        path: Its path, as of a gate.
        question: The question that it answers.
        name: Its name for readers.
        unit: "fraction", "nats", "ratio" or "count".
        estimates: Its value and interval in each report; None where a report lacks it.
        change: The last minus the first, with an interval; None where one of the two or an interval is missing.
        better: Which of the two is better: "first", "last", "open" where the interval of the change holds 0 or there is
            none, "" where neither direction is better.
    """

    path: str
    question: str
    name: str
    unit: str
    estimates: tuple[Estimate | None, ...]
    change: Estimate | None
    better: Better


@dataclasses.dataclass(frozen=True)
class History(Result):
    """Several reports side by side.

    Attributes:
        models: The model of each report.
        dataset: The data of the first; where each report is of its own file of answers, they share items.
        figures: Every figure that at least two of the reports have.
    """

    models: tuple[str, ...]
    dataset: str
    figures: tuple[FigureHistory, ...]

    def better_at(self, which: Literal["first", "last"]) -> list[FigureHistory]:
        """Return the figures at which the first, or the last, report is better beyond the intervals."""
        return [figure for figure in self.figures if figure.better == which]


def history(reports: Sequence[str | os.PathLike[str]], audits: Sequence[dict[str, Any]] | None = None) -> History:
    """Put the figures of all questions of several reports side by side, in the given order.

    The change from the first to the last report has an interval from the intervals of the two (Zou & Donner 2008): with
    figures a and b, l and u the ends of their intervals, and d = b − a, it reaches from
    d − √((b − l_b)² + (u_a − a)²) to d + √((u_b − b)² + (a − l_a)²). The two are taken as independent. Where they are
    about the same items, they rise and fall together as a rule, and the interval is then too wide; `compare` pairs the
    items for the figures of calibration.

    Args:
        reports: At least two folders of reports, such as those of checkpoints in the order of training.
        audits: What `read_reports` returns of them; None to read them.

    Returns:
        The models and the figures.

    Raises:
        ValueError: If there are fewer than two reports, or their data, splits or tasks differ.
        FileNotFoundError: If one is not a report.
    """
    check_kind(reports, "reports", list | tuple)
    audits = read_reports(reports) if audits is None else audits
    check_same_length(reports=reports, audits=audits)
    for report, audit in zip(reports, audits, strict=True):
        for what, here, first in (
            ("split", audit["dataset"]["primary"], audits[0]["dataset"]["primary"]),
            ("task", audit["model"]["task"], audits[0]["model"]["task"]),
        ):
            if here != first:
                raise ValueError(f"Expected reports of the same {what}, {first}, but {os.fspath(report)} is of {here}.")
        # Stored answers are named by their file, and each model has its own.
        here, first = audit["dataset"]["name"], audits[0]["dataset"]["name"]
        if here != first and not n_shared([report_folder(reports[0]), report_folder(report)], [audits[0], audit]):
            raise ValueError(
                f"Expected reports of the same data, {first}, but {os.fspath(report)} is of {here}, and they share no "
                "item."
            )
    tables = [audit_figures(audit) for audit in audits]
    paths = dict.fromkeys(path for table in tables for path in table)
    shared = [path for path in paths if sum(path in table for table in tables) > 1]
    return History(
        models=_names(audits, reports),
        dataset=short_name(audits[0]["dataset"]["name"]),
        figures=tuple(_over(path, [table.get(path) for table in tables]) for path in shared),
    )


def read_reports(reports: Sequence[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Read the audits of at least two reports."""
    check_kind(reports, "reports", Sequence)
    if len(reports) < 2:
        raise ValueError(f"Expected at least two reports, but got {len(reports)}.")
    return [read_audit(report) for report in reports]


def change_of(first: Estimate, last: Estimate) -> Estimate | None:
    """Return last minus first with an interval from those of the two; None where there is no value or interval.

    Example:
        >>> change = change_of(Estimate(0.5, 0.4, 0.6), Estimate(0.9, 0.87, 0.92))
        >>> [round(each, 4) for each in (change.value, change.low, change.high)]
        [0.4, 0.2956, 0.502]
    """
    ends = (first.value, first.low, first.high, last.value, last.low, last.high)
    if any(end is None for end in ends) or first.level != last.level:
        return None
    a, low_a, high_a, b, low_b, high_b = (float(end) for end in ends if end is not None)
    below, above = math.hypot(b - low_b, high_a - a), math.hypot(high_b - b, a - low_a)
    # An interval that corrects for bias may lie to one side of its figure.
    return Estimate(
        b - a, b - a - below, b - a + above, first.level, "from the intervals of the two (Zou & Donner 2008)"
    )


def report_folder(report: str | os.PathLike[str]) -> Path:
    """Return the folder of a report, which may be named by its audit.json."""
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def _names(audits: Sequence[Mapping[str, Any]], reports: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Name the models; those of one name by their reports too."""
    models = [audit["model"] for audit in audits]
    names = [(model.get("logged") or [""])[0] or short_name(model["name"]) for model in models]
    places = [report_folder(report).name for report in reports]
    places = places if len(set(places)) == len(places) else [str(report) for report in reports]
    numbered = [f"{name} ({place})" for name, place in zip(names, places, strict=True)]
    return tuple(names if len(set(names)) == len(names) else numbered)


def _over(path: str, figures: Sequence[AuditFigure | None]) -> FigureHistory:
    known = next(figure for figure in figures if figure is not None)
    first, last = figures[0], figures[-1]
    change = None if first is None or last is None else change_of(first.estimate, last.estimate)
    return FigureHistory(
        path=path,
        question=known.question,
        name=known.name,
        unit=known.unit,
        estimates=tuple(None if figure is None else figure.estimate for figure in figures),
        change=change,
        better=_better(known.better, change),
    )


def _better(direction: str | None, change: Estimate | None) -> Better:
    if direction is None:
        return ""
    if change is None or change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "open"
    return "last" if (change.low > 0) == (direction == "higher") else "first"


# -------------------------------------------------------------------------------------- What comparing two models finds


COMPARISON_FILE = "comparison.json"


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

    @property
    def by_key(self) -> dict[str, ComparedFigure]:
        """The figures by their keys."""
        return {figure.key: figure for figure in self.figures}


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
    answers: tuple[ComparedFigure, ...]
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
        names = [answer.group or _within(answer.name) for answer in self.answers if answer.winner == winner]
        return [*at, *names]

    def name_of(self, winner: Winner) -> str:
        """Name the model that is better; "cannot tell" where that is open."""
        return {"first": self.first, "second": self.second, "": "cannot tell"}[winner]

    @property
    def sides(self) -> dict[str, str]:
        """The first and the last model of the reports, by these words."""
        return {"first": self.history.models[0], "last": self.history.models[-1]}

    @property
    def winners(self) -> list[Winner]:
        """The models that are better at something."""
        return [side for side in SIDES if self.better_at(side)]

    @property
    def accuracy(self) -> ComparedFigure:
        """The accuracies on the first split that both reports hold."""
        return self.splits[0].by_key["accuracy"]

    @property
    def n_tests(self) -> int:
        """The number of figures at which a model could be better."""
        return sum(len(self.better_at(side)) for side in (*SIDES, ""))

    @property
    def many(self) -> bool:
        """Whether there are more than two reports, which are followed."""
        return len(self.history.models) > 2

    @property
    def side_by_side(self) -> tuple[FigureHistory, ...]:
        """The figures of all reports; of two reports, those that are not compared item by item."""
        if self.many:
            return self.history.figures
        paired = {short_path(f"{answer.question}.{answer.key}") for answer in self.answers}
        return tuple(
            figure for figure in self.history.figures if figure.question != "calibration" and figure.path not in paired
        )

    def n_better(self, side: Better) -> int:
        """Count the figures side by side at which the first or the last report is better."""
        return sum(figure.better == side for figure in self.side_by_side)


def _within(name: str) -> str:
    """Write the name of a figure within a sentence: acronyms and people keep their capitals."""
    first = name.split()[0]
    return name if first == "Brier" or not first[1:].islower() else f"{name[0].lower()}{name[1:]}"
