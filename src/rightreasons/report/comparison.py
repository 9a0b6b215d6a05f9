"""Two audited models on the same items: is one really better, or better calibrated?"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import rightreasons
from rightreasons.audited.predictions_file import read_predictions
from rightreasons.calibration.figures import FIGURES
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_figures
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.paired import COMPARED_FIGURES, count_paired_outcomes, paired_test
from rightreasons.core.arrays import take_rows
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.label_names import MatchTerms, match_labels
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest, compare_paired_means, holm
from rightreasons.page import parts as p
from rightreasons.page.prose import short_name
from rightreasons.page.question import Lead, Part, Question, Rule, Table
from rightreasons.report.files import items_file, read_items
from rightreasons.report.questions import get_question_name
from rightreasons.report.render import Outcome, Page, sentences, write_page
from rightreasons.report.schema import AUDIT_FILE, check_files, page_folder, read_audit

Winner = Literal["first", "second", ""]
SIDES: tuple[Winner, ...] = ("first", "second")

MIN_ITEMS = 10
"""With fewer shared items than this a figure is not compared."""

COMPARISON_FILE = "comparison.json"

TITLE = "Which is better at what?"

TESTS = "McNemar 1947; Fisher 1935; Agresti & Min 2005; Holm 1979"


@dataclasses.dataclass(frozen=True)
class ComparedFigure(Result):
    """One figure of a question, of two models on the same items.

    Attributes:
        question: The question.
        key: The figure, as in the audit.
        name: Its name for readers.
        split: The split of figures of calibration; "" for those of other questions.
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
    split: str
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
    def of(
        cls, key: str, test: PairedTest, figures: Sequence[Estimate], **about: Any
    ) -> ComparedFigure:
        """Join a test with the figures of both models."""
        difference = make_estimate(test.difference, test.interval)
        first, second = figures
        tested: dict[str, Any] = {
            "p_value": test.p_value,
            "test": test.method,
            "n_items": test.n_items,
        }
        return cls(key=key, first=first, second=second, difference=difference, **tested | about)


def winner_of(
    difference: Estimate, better: str | None, holm_p_value: float, level: float
) -> Winner:
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
    """

    split: str
    n_items: int
    n_only_first: int
    n_only_second: int
    both_right: int
    first_right: int
    second_right: int
    both_wrong: int


@dataclasses.dataclass(frozen=True)
class Comparison(Result):
    """What comparing two reports found.

    Attributes:
        first: The first model.
        second: The second model.
        dataset: The data.
        splits: The splits that both reports hold.
        figures: The figures of calibration on each split, and those of the other questions that both reports answer
            item by item, with their tests.
        n_resamples: The resamples of every bootstrap and permutation test.
        seed: Their seed.
        rightreasons: The version.
    """

    first: str
    second: str
    dataset: str
    splits: tuple[ComparedSplit, ...]
    figures: tuple[ComparedFigure, ...]
    n_resamples: int
    seed: int
    rightreasons: str = rightreasons.__version__

    def better_at(self, winner: Winner) -> list[str]:
        """Name what a model is better at; with "", what is open."""
        return [
            f"{_within(figure.name)} on {figure.split}" if figure.split else _within(figure.name)
            for figure in self.figures
            if figure.better is not None and figure.winner == winner
        ]

    def name_of(self, winner: Winner) -> str:
        """Name the model that is better; "cannot tell" where that is open."""
        return {"first": self.first, "second": self.second, "": "cannot tell"}[winner]

    @property
    def winners(self) -> list[Winner]:
        """The models that are better at something."""
        return [side for side in SIDES if self.better_at(side)]

    @property
    def accuracy(self) -> ComparedFigure:
        """The accuracies on the first split that both reports hold."""
        return next(figure for figure in self.figures if figure.key == "accuracy" and figure.split)

    @property
    def n_tests(self) -> int:
        """The number of figures at which a model could be better."""
        return sum(figure.better is not None for figure in self.figures)


def _tested(m: Comparison) -> Iterator[tuple[p.Cell, ...]]:
    """Yield a row per figure that is compared."""
    for each in m.figures:
        amounts = (
            p.Amount(estimate, each.unit) for estimate in (each.first, each.second, each.difference)
        )
        better = m.name_of(each.winner) if each.better else ""
        tests = each.n_items, each.p_value, each.holm_p_value, each.test, better
        yield each.question, each.name, each.split, *amounts, *tests


ANSWERS = Question(
    name="answers",
    prose=sentences("answers"),
    verdict=(
        Rule("good", "one", lambda m: len(m.winners) == 1),
        Rule("good", "each", lambda m: len(m.winners) == 2),
        Rule("neutral", "open"),
    ),
    parts=(
        Part(
            "answers",
            (
                Table("answers", _tested, TESTS),
                Table(
                    "counts",
                    lambda m: map(dataclasses.astuple, m.splits),
                    "Counted",
                    when=lambda m: m.splits,
                ),
            ),
        ),
    ),
    leads=(
        Lead(
            "right",
            contrast=lambda m: (m.accuracy.first, m.accuracy.second),
            when=lambda m: m.splits,
        ),
    ),
)


def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two audited models on the items that both reports hold, by paired tests.

    Accuracy is compared by McNemar's mid-p test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by flipping signs, and calibration errors by the jackknife of their debiased difference
    (`compare_confidence`). The figures of all other questions that are means over items (or cases of a suite) are
    compared by `compare_paired_means`.
    Items are joined by id, and only where both reports have the same text. Which model is better at what follows from
    p-values that are corrected by Holm's method for all tests of the comparison; else it is open.

    Args:
        reports: The folders of two reports.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        A `Comparison`: the models, for each shared split its counts and figures, and the figures of the questions.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If there are not two reports, they are of other data or share no item, the models' classes have
            other names, or an item has one label in one report and another in the other.
    """
    how = Resampling(confidence_level, n_resamples, seed)
    target = None if out is None else page_folder(out, COMPARISON_FILE)
    if len(reports) != 2:
        raise ValueError(f"Expected two reports, but got {len(reports)}.")
    audits = [read_audit(report) for report in reports]
    folders = [report_folder(report) for report in reports]
    _check_paired(folders, audits)
    splits, tests, ids = _compared_splits(folders, audits, how)
    shared = None if same_items(audits) else ids.get(audits[0]["dataset"]["primary"], frozenset())
    tests += _compared_answers(audits, folders, shared, how)
    p_values = holm(np.array([test.p_value for test in tests])).tolist()
    figures = [
        dataclasses.replace(
            test,
            holm_p_value=p_value,
            winner=winner_of(test.difference, test.better, p_value, how.level),
        )
        for test, p_value in zip(tests, p_values, strict=True)
    ]
    comparison = Comparison(
        *_names(audits, folders),
        short_name(audits[0]["dataset"]["name"]),
        tuple(splits),
        tuple(figures),
        how.resamples,
        how.seed,
    )
    if target is not None:
        say = ANSWERS.prose.of(m=comparison, audits=audits, folders=folders)
        answer = ANSWERS.answer(comparison, report=shlex.join(map(str, folders)))
        page = Page(
            title=f"{comparison.first} and {comparison.second}",
            heading=answer.verdict.label,
            facts=say.pairs("facts"),
            outcomes=[Outcome("answers", TITLE, "answered", "", answer)],
            made=say.pairs("made"),
        )
        write_page(target, page, {COMPARISON_FILE: comparison.to_dict()})
    return comparison


def report_folder(report: str | os.PathLike[str]) -> Path:
    """Return the folder of a report, which may be named by its audit.json."""
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def prediction_files(audit: Mapping[str, Any]) -> dict[str, str]:
    """Return the file of the predictions of each split that is compared."""
    return {
        split["name"]: split["predictions"]
        for split in audit["dataset"]["splits"]
        if split["predictions"] and split["role"] in ("primary", "comparison")
    }


def shared_rows(first: Sequence[Hashable], second: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the (2, M) rows of the names that two lists share, in the order of the first.

    Example:
        >>> shared_rows(["a", "b", "c"], ["c", "a"]).tolist()
        [[0, 2], [1, 0]]
    """
    place = {name: row for row, name in enumerate(second)}
    rows = [(row, place[name]) for row, name in enumerate(first) if name in place]
    return np.array(rows, dtype=np.intp).reshape(-1, 2).T


def same_items(audits: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether two reports answer a question item by item for the same items, with or without their predictions."""
    kept = [
        {
            each["question"]
            for each in audit["questions"]
            if each["result"] and each["result"].get("by_item")
        }
        for audit in audits
    ]
    prints = {
        split["fingerprint"]
        for audit in audits
        for split in audit["dataset"]["splits"]
        if split["name"] == audit["dataset"]["primary"]
    }
    return len(prints) == 1 and bool(kept[0] & kept[1])


# ------------------------------------------------------------------------------------------------------------- private


def _check_paired(folders: Sequence[Path], audits: Sequence[dict[str, Any]]) -> None:
    """Check that two reports can be compared item by item."""
    for folder, audit in zip(folders, audits, strict=True):
        if audit["model"]["task"] == "confidence":
            raise ValueError(
                f"Expected two reports with class scores, but {folder} has the confidence in given answers, which "
                "are not those of another model."
            )
        for what, here, first in (
            ("split", audit["dataset"]["primary"], audits[0]["dataset"]["primary"]),
            ("task", audit["model"]["task"], audits[0]["model"]["task"]),
        ):
            if here != first:
                raise ValueError(
                    f"Expected reports of the same {what}, {first}, but {folder} is of {here}."
                )


def _matched_classes(audits: Sequence[dict[str, Any]]) -> NDArray[np.int64] | None:
    """Return the first model's class of each of the second's classes; None for multiple choice."""
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


def _compared_splits(
    folders: Sequence[Path], audits: Sequence[dict[str, Any]], how: Resampling
) -> tuple[list[ComparedSplit], list[ComparedFigure], dict[str, frozenset[str]]]:
    """Compare the predictions of each split that two reports hold.

    Returns:
        The counts of each split, its figures of calibration, and the ids of the items that both have.
    """
    mapping = _matched_classes(audits)
    files = [prediction_files(audit) for audit in audits]
    names = [name for name in files[0] if name in files[1]]
    for folder, audit, of in zip(folders, audits, files, strict=True):
        check_files(folder, audit, (of[name] for name in names))
    splits: list[ComparedSplit] = []
    figures: list[ComparedFigure] = []
    ids: dict[str, frozenset[str]] = {}
    for name in names:
        first, second = (
            read_predictions(folder / file[name])
            for folder, file in zip(folders, files, strict=True)
        )
        rows = shared_rows(
            *(list(zip(each.ids, each.texts, strict=True)) for each in (first, second))
        )
        mine, its = rows[:, first.labels[rows[0]] >= 0]
        if not len(mine):
            continue
        labels, others, logits = (
            first.labels[mine],
            second.labels[its],
            take_rows(second.logits, its),
        )
        mapped = others
        if mapping is not None:
            mapped, logits = mapping[others], np.asarray(logits)[:, np.argsort(mapping)]
        # Reports that give an item different labels: one of them took its labels for other classes.
        odd = np.flatnonzero((others >= 0) & (labels != mapped))
        if odd.size:
            shown = [
                audit["model"]["label_names"][label]
                if audit["model"]["label_names"]
                else f"choice {label + 1}"
                for audit, label in zip(audits, (labels[odd[0]], others[odd[0]]), strict=True)
            ]
            raise ValueError(
                f"Expected two reports that give each item the same label, but item {first.ids[mine[odd[0]]]!r} of the "
                f"split {name!r} is {shown[0]!r} in the first and {shown[1]!r} in the second."
            )
        judged = (
            JudgedItems.of(take_rows(first.logits, mine), labels),
            JudgedItems.of(logits, labels),
        )
        n_only = len(first) - len(mine), len(second) - len(mine)
        ids[name] = frozenset(first.ids[row] for row in mine)
        splits.append(ComparedSplit(name, len(mine), *n_only, **count_paired_outcomes(*judged)))
        ours, theirs = (measure_figures(each, COMPARED_FIGURES, resampling=how) for each in judged)
        for key in ours:
            if (
                ours[key].value is None or theirs[key].value is None
            ):  # the log loss where a label has probability 0
                continue
            test = paired_test(key, *judged, resampling=how)
            about = FIGURES[key]
            known = {
                "question": get_question_name(CalibrationOptions),
                "name": about.name,
                "unit": about.unit,
                "better": about.better,
            }
            pair = ours[key], theirs[key]
            figures.append(
                ComparedFigure.of(key, test, pair, split=name, n_items=len(mine), **known)
            )
    if not splits and (names or not same_items(audits)):
        raise ValueError(
            f"Expected two reports of the same items, but {folders[0]} and {folders[1]} share no labeled item with "
            "the same id and text."
        )
    return splits, figures, ids


def _compared_answers(
    audits: Sequence[Mapping[str, Any]],
    folders: Sequence[Path],
    shared: Collection[str] | None,
    how: Resampling,
) -> list[ComparedFigure]:
    """Compare the figures of all questions that both reports keep by item, in the order of the first report.

    Items of the data are joined by id where both reports hold them with the same text (`shared`; None where that is
    all); cases of a behavioral suite where both reports are about the same suite.
    """
    answers: list[ComparedFigure] = []
    results = [
        {each["question"]: each["result"] for each in audit["questions"] if each["result"]}
        for audit in audits
    ]
    for question in results[0]:
        if question not in results[1]:
            continue
        pair = [result[question] for result in results]
        if pair[0]["data"].get("suite") != pair[1]["data"].get("suite"):
            continue
        figures = []
        for folder, audit, result in zip(folders, audits, pair, strict=True):
            check_files(folder, audit, [items_file(question)])
            figures.append(read_items(folder, question, result))
        for key in figures[0]:
            if key in figures[1]:
                known = None if figures[0][key].groups else shared
                answers += _compared(question, figures[0][key], figures[1][key], known, how)
    return answers


def _compared(
    question: str,
    first: p.ItemFigure,
    second: p.ItemFigure,
    known: Collection[str] | None,
    how: Resampling,
) -> Iterator[ComparedFigure]:
    """Compare one figure, where enough items are shared."""
    mine, its = shared_rows(first.ids, second.ids)
    if known is not None:
        mine, its = np.array((mine, its))[:, [first.ids[row] in known for row in mine]]
    if len(mine) < MIN_ITEMS:
        return
    values, bounds = (
        [np.array(first.values)[mine], np.array(second.values)[its]],
        (first.low, first.high),
    )
    if first.groups:
        names, codes, counts = np.unique(
            np.array(first.groups)[mine], return_inverse=True, return_counts=True
        )
        # So weighted, the mean over cases is the mean over groups of their means.
        weights = (len(codes) / (len(names) * counts))[codes]
        values, bounds = (
            [each * weights for each in values],
            (0.0, first.high * float(weights.max())),
        )
    # Cases with the same text get the same answer from each model: they are one unit of the test.
    ends: dict[str, Any] = {"low": bounds[0], "high": bounds[1]}
    if first.clusters:
        ends["clusters"] = np.array(first.clusters)[mine]
    test = compare_paired_means(*values, **ends, resampling=how)
    means = [
        make_estimate(
            float(each.mean()), bounded_mean_interval(each, **ends, confidence_level=how.level)
        )
        for each in values
    ]
    about = {
        "question": question,
        "name": first.name,
        "split": "",
        "unit": first.unit,
        "better": first.better,
    }
    yield ComparedFigure.of(first.key, test, means, **about)


def _names(audits: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> tuple[str, str]:
    """Name the models; those of one name by their reports too."""
    names = [
        (audit["model"].get("logged") or [""])[0] or short_name(audit["model"]["name"])
        for audit in audits
    ]
    if names[0] == names[1]:
        places = [folder.name for folder in folders]
        places = places if places[0] != places[1] else list(map(str, folders))
        names = [f"{name} ({place})" for name, place in zip(names, places, strict=True)]
    return names[0], names[1]


def _within(name: str) -> str:
    """Write the name of a figure within a sentence: acronyms and people keep their capitals."""
    first = name.split()[0]
    return name if first == "Brier" or not first[1:].islower() else f"{name[0].lower()}{name[1:]}"
