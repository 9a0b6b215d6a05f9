"""Compare audited models on the same items: which one is better, and right for the right reasons?

`compare` is the entry point. Two reports are joined, and their figures tested, in `report.pairing`;
three or more are compared in `report.tasks`.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

import rightreasons
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.page import parts as p
from rightreasons.page.question import Lead, Part, Question, Rule, Table
from rightreasons.report.outcomes import Outcome
from rightreasons.report.pairing import (
    ComparedFigure,
    ComparedSplit,
    ReportPair,
    Winner,
    compare_questions,
    compare_splits,
    have_same_items,
    open_pair,
)
from rightreasons.report.ranking.answered_items import read_answers
from rightreasons.report.ranking.groups import (
    ModelReport,
    ReportGroup,
    add_folder,
    group_reports,
)
from rightreasons.report.ranking.models import ModelTest, compare_accuracies, rank_models
from rightreasons.report.ranking.page import (
    ComparisonView,
    TaskComparison,
    answer_ranking,
    conclude,
    make_front,
    make_model_table,
    render_views,
)
from rightreasons.report.ranking.winners import correct_tests
from rightreasons.report.render import Page, sentences, write_page
from rightreasons.report.schema import COMPARISON_FILE, get_names, prepare_page_folder

if TYPE_CHECKING:
    from rightreasons.report.tasks import ModelsByTasks

SIDES: tuple[Winner, ...] = ("first", "second")


TITLE = "Which model is better?"

TESTS = "McNemar 1947; Fisher 1935; Agresti & Min 2005; Holm 1979"


@dataclasses.dataclass(frozen=True)
class Comparison(Result):
    """The comparison of two reports.

    Attributes:
        first: Name of the first model.
        second: Name of the second model.
        dataset: Name of the data.
        splits: The splits that both reports contain.
        figures: The figures of calibration on each split, and those of the other questions that both reports answer
            item by item, with their tests.
        n_resamples: Number of resamples of every bootstrap and permutation test.
        seed: Their seed.
        unpaired: Names of figures that only one of the reports has measured, and is about.
        rightreasons: The version.
        conclusion: Which model is more accurate, which is right for the right reasons, and the
            items that show it. None if the reports do not store their answers.
    """

    first: str
    second: str
    dataset: str
    splits: tuple[ComparedSplit, ...]
    figures: tuple[ComparedFigure, ...]
    n_resamples: int
    seed: int
    unpaired: tuple[str, ...] = ()
    rightreasons: str = rightreasons.__version__
    conclusion: TaskComparison | None = None

    @property
    def heading(self) -> str:
        """The finding in one or two sentences."""
        label = ANSWERS.answer(self).verdict.label
        if self.conclusion is None:
            return label
        # Without a finding about reasons, the other metrics may still show which model is better.
        # A heading has no room for what speaks for either model, which the page lists.
        if len(self.winners) == 1 and not self.conclusion.reasons.model:
            return f"{self.conclusion.heading} {label}."
        return self.conclusion.heading

    def make_view(self, out: Path | None = None) -> ComparisonView | None:
        """Return the conclusion as a page shows it; None if there is none.

        Args:
            out: Folder of the page. None for no links to the reports.
        """
        if self.conclusion is None:
            return None
        return ComparisonView(self.conclusion, len(self.figures), out)

    def __str__(self) -> str:
        return self.heading

    def _repr_html_(self) -> str:
        view = self.make_view()
        return render_views(self.heading, [] if view is None else [view])

    def list_better_figures(self, winner: Winner) -> list[str]:
        """Return the names of the figures at which one model is significantly better.

        Args:
            winner: "first" or "second"; "" for the figures at which neither is.

        Returns:
            Names with a small initial, such as "accuracy on test".
        """
        names = []
        for figure in self.figures:
            # No value of a figure without a direction, such as the mean confidence, is better.
            if figure.better is None or figure.winner != winner:
                continue
            name = _write_within_sentence(figure.name)
            # Only figures of calibration are measured on each split.
            if figure.split:
                name = f"{name} on {figure.split}"
            names.append(name)
        return names

    def get_name(self, winner: Winner) -> str:
        """Return the name of the model that is better; "undecided" if that is open."""
        return {"first": self.first, "second": self.second, "": "undecided"}[winner]

    @property
    def winners(self) -> list[Winner]:
        """The models that are better at something."""
        # Both may be: one more accurate, the other better calibrated.
        return [side for side in SIDES if self.list_better_figures(side)]

    @property
    def n_same_answers(self) -> int | None:
        """Number of items, if both models give the same answer to every one; None otherwise."""
        n_items = sum(split.n_items for split in self.splits)
        if n_items and all(split.same_answers == split.n_items for split in self.splits):
            return n_items
        return None

    @property
    def accuracy(self) -> ComparedFigure:
        """The accuracies on the first split that both reports contain."""
        # Figures of other questions have no split.
        for figure in self.figures:
            if figure.key == "accuracy" and figure.split:
                return figure
        raise LookupError("Expected reports with a common split.")

    @property
    def n_tests(self) -> int:
        """Number of figures at which a model could be better."""
        return sum(figure.better is not None for figure in self.figures)


def list_figure_rows(comparison: Comparison) -> Iterator[tuple[p.Cell, ...]]:
    """Yield a row of the page's table for each compared figure.

    Args:
        comparison: The comparison, with its figures and the names of the models.

    Yields:
        Name of the better model, question, figure, split, value for the first and for the second
        model, difference, number of items, and p-value before and after Holm's correction.
    """
    for figure in comparison.figures:
        better_model = "–"
        if figure.better is not None:
            better_model = comparison.get_name(figure.winner)
        yield (
            better_model,
            figure.question,
            figure.name,
            figure.split,
            p.Amount(figure.first, figure.unit),
            p.Amount(figure.second, figure.unit),
            p.Amount(figure.difference, figure.unit),
            figure.n_items,
            figure.p_value,
            figure.holm_p_value,
        )


def list_count_rows(comparison: Comparison) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the counts of each split."""
    for split in comparison.splits:
        # The ids without a partner are separate sentences.
        yield dataclasses.astuple(split)[:-2]


ANSWERS = Question(
    name="answers",
    prose=sentences("answers"),
    verdict=(
        Rule("good", "one", lambda m: len(m.winners) == 1),
        Rule("good", "each", lambda m: len(m.winners) == 2),
        Rule("neutral", "same", lambda m: m.n_same_answers is not None),
        Rule("neutral", "open"),
    ),
    parts=(
        Part(
            "answers",
            (
                Table("answers", list_figure_rows, TESTS),
                Table("counts", list_count_rows, "", condition=lambda m: m.splits),
            ),
        ),
    ),
    leads=(
        Lead(
            "right",
            contrast=lambda m: (m.accuracy.first, m.accuracy.second),
            condition=lambda m: m.splits,
        ),
    ),
)


@overload
def compare(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    /,
    *,
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison: ...


@overload
def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison | ModelsByTasks: ...


def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison | ModelsByTasks:
    """Compare audited models on the items that their reports share, by paired tests.

    Accuracy is compared by McNemar's mid-p test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by flipping signs, and calibration errors by the jackknife of their debiased difference
    (`compare_confidence`). The figures of all other questions that are means over items (or cases of a suite) are
    compared by `compare_paired_means`.
    Items are joined by id if the reports have the same text for them. A figure is compared with itself only: what the
    swap of two words changes in one report is not compared with what other words change in the other. Which model is
    better at what follows from p-values that are corrected by Holm's method for all tests of the comparison; otherwise
    it is open. Of three or more models, each two are compared at the accuracy and at the figures of findings.

    Args:
        reports: The folders of two or more reports.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Number of resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        For two reports, a `Comparison`: the models, for each shared split its counts and figures, and the figures of the
        questions. For more, `ModelsByTasks`: the models of each task, the most accurate first, with their tests and
        the items that show the finding. `print` shows the finding, and a notebook also the models.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If there are fewer than two reports. If there are two, and they are of other data or share no item,
            the models' classes have other names, or an item has one label in one report and another in the other.
    """
    if len(reports) > 2:
        # Imported late, as this module is imported there.
        from rightreasons.report.tasks import models_by_tasks, write_tasks

        table = models_by_tasks(
            reports, confidence_level=confidence_level, n_resamples=n_resamples, seed=seed
        )
        if out is not None:
            write_tasks(out, table)
        return table
    return _compare_two(reports, out, Resampling(confidence_level, n_resamples, seed))


def _compare_two(
    reports: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    resampling: Resampling,
) -> Comparison:
    """Compare two models at all figures, and write the page.

    Args:
        reports: The folders of the reports.
        out: A folder for the page; None to write nothing.
        resampling: Level of the intervals, number of resamples and seed.
    """
    # A folder with other files is refused before anything is computed.
    folder = None
    if out is not None:
        folder = prepare_page_folder(out, COMPARISON_FILE)
    pair = open_pair(reports)
    predictions = compare_splits(pair, resampling)
    # If both reports are about the same items, all ids are shared. They need not be looked up in
    # the files of predictions, which may have been deleted.
    shared_ids = None
    if not have_same_items(pair.audits):
        shared_ids = predictions.ids.get(pair.primary, frozenset())
    questions = compare_questions(pair, shared_ids, resampling)

    # Two models may have the same name, such as versions of one.
    first_name, second_name = _name_models(pair)
    _, data_name = get_names(pair.audits[0])
    group = _group_pair(pair, (first_name, second_name), data_name)
    figures = [*predictions.figures, *questions.figures]
    if group is not None:
        figures = _count_unread(figures, group, resampling)
    comparison = Comparison(
        first=first_name,
        second=second_name,
        dataset=data_name,
        splits=predictions.splits,
        figures=correct_tests(figures, resampling.level),
        n_resamples=resampling.resamples,
        seed=resampling.seed,
        unpaired=questions.unpaired,
    )
    if group is not None:
        conclusion = _conclude(comparison, group, pair.primary, resampling)
        comparison = dataclasses.replace(comparison, conclusion=conclusion)
    if folder is not None:
        _write_comparison(comparison, pair, folder)
    return comparison


def _group_pair(pair: ReportPair, names: tuple[str, str], task: str) -> ReportGroup | None:
    """Return two reports with their answers to the common items; None if they do not store them.

    Args:
        pair: The reports.
        names: Distinct names of the models.
        task: Name of the data.
    """
    reports = []
    for position, folder in enumerate(pair.folders):
        audit = pair.audits[position]
        # Reports of unlabeled items, and those of earlier versions, have no accuracy.
        if audit.get("answers") is None:
            return None
        answers = read_answers(folder, audit)
        reports.append(ModelReport(names[position], folder, audit, answers, position))
    groups = group_reports(reports)
    if len(groups) > 1 or len(groups[0].compared) < 2:
        return None
    return dataclasses.replace(groups[0], task=task)


def _count_unread(
    figures: Sequence[ComparedFigure], group: ReportGroup, resampling: Resampling
) -> list[ComparedFigure]:
    """Replace the accuracy of the read answers by that of all answers, as the reports count it.

    Args:
        figures: Figures of the comparison.
        group: The reports, with all answers.
        resampling: Level of the interval.
    """
    # The ranking has the more accurate model first, and the figures have the order of the reports.
    reports = sorted(group.compared, key=lambda report: report.position)
    accuracy = compare_accuracies(reports[0], reports[1], resampling)
    replaced = []
    for figure in figures:
        is_accuracy = (figure.key, figure.split) == (accuracy.key, accuracy.split)
        replaced.append(accuracy if is_accuracy else figure)
    return replaced


def _conclude(
    comparison: Comparison, group: ReportGroup, split: str, resampling: Resampling
) -> TaskComparison:
    """Conclude from the tests of two models which is more accurate, and right for the right reasons.

    Args:
        comparison: The comparison with its tests.
        group: The reports.
        split: The split that both reports are about.
        resampling: Level of the intervals.
    """
    tests = []
    for figure in comparison.figures:
        # The reports give the verdicts about this split.
        if figure.split in ("", split):
            tests.append(ModelTest(comparison.first, comparison.second, figure))
    return conclude(rank_models(group, tests, resampling))


def _write_comparison(comparison: Comparison, pair: ReportPair, folder: Path) -> None:
    """Write the page of a comparison, and comparison.json, into a folder.

    Args:
        comparison: The comparison.
        pair: The compared reports, which the page names by their folders.
        folder: The folder.
    """
    prose = ANSWERS.prose.of(m=comparison, audits=pair.audits, folders=pair.folders)
    report_paths = shlex.join(map(str, pair.folders))
    answer = ANSWERS.answer(comparison, report=report_paths)
    outcomes = [Outcome("metrics", TITLE, "answered", "", answer)]
    view = comparison.make_view(folder)
    front = None
    if view is not None:
        # The front shows the table of the models, and the section below has all tests.
        ranking = answer_ranking(view, omitted=("models", "tests"))
        metrics = dataclasses.replace(outcomes[0], title="Which metrics differ?")
        outcomes = [Outcome("ranking", TITLE, "answered", "", ranking), metrics]
        front = make_front(view, make_model_table(view))
    page = Page(
        title=f"{comparison.first} and {comparison.second}",
        # A reader wants to know which model is better, so the finding is the heading.
        heading=comparison.heading,
        facts=prose.pairs("facts"),
        outcomes=outcomes,
        made=prose.pairs("made"),
        front=front,
    )
    write_page(folder, page, {COMPARISON_FILE: comparison.to_dict()})


def _name_models(pair: ReportPair) -> tuple[str, str]:
    """Return distinct names of the two models.

    If both have the same name, the name of the report's folder is added, as in "bert (report-2)", or
    its path if both folders have the same name; a long name is replaced by it. The second of two equal reports gets a number.

    Args:
        pair: The two reports.
    """
    name, _ = get_names(pair.audits[0])
    partner_name, _ = get_names(pair.audits[1])
    if name != partner_name:
        return name, partner_name
    folder, partner_folder = pair.folders
    if folder == partner_folder:
        return name, f"{name} (2)"
    if folder.name == partner_folder.name:
        return add_folder(name, str(folder)), add_folder(name, str(partner_folder))
    return add_folder(name, folder.name), add_folder(name, partner_folder.name)


def _write_within_sentence(name: str) -> str:
    """Return the name of a figure with a small initial, for use within a sentence.

    Acronyms and the names of people keep their capitals, as in "ECE" and "Brier score".
    """
    first_word = name.split()[0]
    is_acronym = not first_word[1:].islower()
    if first_word == "Brier" or is_acronym:
        return name
    return f"{name[0].lower()}{name[1:]}"
