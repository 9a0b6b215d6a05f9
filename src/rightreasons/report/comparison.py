"""Compare two audited models on the same items: which one is significantly better, or better calibrated?

`compare` is the entry point. The reports are joined, and their figures tested, in `report.pairing`.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import rightreasons
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import holm
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
from rightreasons.report.render import Page, sentences, write_page
from rightreasons.report.schema import get_names, prepare_page_folder

SIDES: tuple[Winner, ...] = ("first", "second")

COMPARISON_FILE = "comparison.json"

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


def find_winner(
    difference: Estimate, better: str | None, holm_p_value: float, level: float
) -> Winner:
    """Return which model is better; "" if the corrected p-value is too large, or neither direction is better.

    Args:
        difference: First minus second.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after correction.
        level: Confidence level; p-values below one minus it are significant.

    Example:
        >>> find_winner(Estimate(-0.2), "lower", 0.01, 0.95), find_winner(Estimate(-0.2), "lower", 0.2, 0.95)
        ('first', '')
    """
    if better is None or not difference.value or holm_p_value >= 1 - level:
        return ""
    is_first_better = difference.value > 0
    if better == "lower":
        is_first_better = difference.value < 0
    return "first" if is_first_better else "second"


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


def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two audited models on the items that both reports contain, by paired tests.

    Accuracy is compared by McNemar's mid-p test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by flipping signs, and calibration errors by the jackknife of their debiased difference
    (`compare_confidence`). The figures of all other questions that are means over items (or cases of a suite) are
    compared by `compare_paired_means`.
    Items are joined by id if both reports have the same text for them. A figure is compared with itself only: what the
    swap of two words changes in one report is not compared with what other words change in the other. Which model is
    better at what follows from p-values that are corrected by Holm's method for all tests of the comparison; otherwise
    it is open.

    Args:
        reports: The folders of two reports.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Number of resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        A `Comparison`: the models, for each shared split its counts and figures, and the figures of the questions.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If there are not two reports, they are of other data or share no item, the models' classes have
            other names, or an item has one label in one report and another in the other.
    """
    resampling = Resampling(confidence_level, n_resamples, seed)
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
    figures = [*predictions.figures, *questions.figures]
    comparison = Comparison(
        first=first_name,
        second=second_name,
        dataset=data_name,
        splits=predictions.splits,
        figures=_correct_tests(figures, resampling.level),
        n_resamples=resampling.resamples,
        seed=resampling.seed,
        unpaired=questions.unpaired,
    )
    if folder is not None:
        _write_comparison(comparison, pair, folder)
    return comparison


def _correct_tests(figures: Sequence[ComparedFigure], level: float) -> tuple[ComparedFigure, ...]:
    """Correct the p-values of figures by Holm's method, and set which model is better.

    Args:
        figures: All figures of the comparison. Corrected together, their tests find a difference
            that does not exist with a probability of at most 1 - level.
        level: Confidence level.
    """
    p_values = np.array([figure.p_value for figure in figures])
    corrected_figures = []
    for figure, holm_p_value in zip(figures, holm(p_values).tolist(), strict=True):
        winner = find_winner(figure.difference, figure.better, holm_p_value, level)
        corrected_figures.append(
            dataclasses.replace(figure, holm_p_value=holm_p_value, winner=winner)
        )
    return tuple(corrected_figures)


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
    page = Page(
        title=f"{comparison.first} and {comparison.second}",
        # A reader wants to know which model is better, so the verdict is the heading.
        heading=answer.verdict.label,
        facts=prose.pairs("facts"),
        outcomes=[Outcome("answers", TITLE, "answered", "", answer)],
        made=prose.pairs("made"),
    )
    write_page(folder, page, {COMPARISON_FILE: comparison.to_dict()})


def _name_models(pair: ReportPair) -> tuple[str, str]:
    """Return distinct names of the two models.

    If both have the same name, the name of the report's folder is added, as in "bert (report-2)", or
    its path if both folders have the same name.

    Args:
        pair: The two reports.
    """
    name, _ = get_names(pair.audits[0])
    partner_name, _ = get_names(pair.audits[1])
    if name != partner_name:
        return name, partner_name
    folder, partner_folder = pair.folders
    if folder.name == partner_folder.name:
        return f"{name} ({folder})", f"{name} ({partner_folder})"
    return f"{name} ({folder.name})", f"{name} ({partner_folder.name})"


def _write_within_sentence(name: str) -> str:
    """Return the name of a figure with a small initial, for use within a sentence.

    Acronyms and the names of people keep their capitals, as in "ECE" and "Brier score".
    """
    first_word = name.split()[0]
    is_acronym = not first_word[1:].islower()
    if first_word == "Brier" or is_acronym:
        return name
    return f"{name[0].lower()}{name[1:]}"
