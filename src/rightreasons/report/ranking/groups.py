"""Reports of several models, joined to groups with the same items.

`open_report` reads a report with its answers, and `group_reports` finds the reports of each task.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.sentences import pluralize
from rightreasons.report.pairing import get_report_folder
from rightreasons.report.ranking.answered_items import (
    AnsweredItems,
    align_answers,
    has_enough_items,
    match_answers,
    read_answers,
)
from rightreasons.report.ranking.verdicts import list_verdicts
from rightreasons.report.schema import get_names, read_audit

MAX_REPEATED_NAME = 24
"""Length of the longest name of several models that is repeated next to the folder of each."""


@dataclasses.dataclass(frozen=True, eq=False)
class ModelReport:
    """A report of a model.

    Attributes:
        name: Name of the model, which differs from those of the other reports of the task.
        folder: The folder of the report.
        audit: Content of its audit.json.
        answers: Its answers to the labeled items; empty if the report does not store them.
        position: Position among all reports of the comparison.
    """

    name: str
    folder: Path
    audit: Mapping[str, Any]
    answers: AnsweredItems
    position: int = 0

    @property
    def kind(self) -> str:
        """The kind of task, such as "classification"."""
        return str(self.audit["model"]["task"])

    @property
    def accuracy(self) -> Estimate:
        """The accuracy of the report."""
        return Estimate(**self.audit["answers"]["accuracy"])

    @property
    def n_items(self) -> int:
        """Number of labeled items of the report."""
        return int(self.audit["answers"]["n_items"])

    @property
    def data_name(self) -> str:
        """Name of the data."""
        _, data_name = get_names(self.audit)
        return data_name

    @property
    def logged_task(self) -> str:
        """Name of the task in the log of a harness; "" if there is none."""
        logged = self.audit["model"].get("logged")
        return logged[1] if logged else ""


def open_report(report: str | os.PathLike[str], position: int = 0) -> ModelReport:
    """Read a report and its answers.

    Args:
        report: The folder of the report, or its audit.json.
        position: Position among all reports of the comparison.

    Raises:
        ValueError: If it has no labeled item.
    """
    folder = get_report_folder(report)
    audit = read_audit(folder)
    if audit.get("answers") is None:
        raise make_unlabeled_error(folder)
    name, _ = get_names(audit)
    return ModelReport(name, folder, audit, read_answers(folder, audit), position)


def make_unlabeled_error(path: Path) -> ValueError:
    """Return the error about a report or a log without labels, which has no accuracy."""
    return ValueError(f"Expected labeled items in {path}, but it has none.")


# ------------------------------------------------------------------------------------ groups


@dataclasses.dataclass(eq=False)
class ReportGroup:
    """The reports of one task.

    Attributes:
        task: Name of the task.
        compared: Reports with the same items, the most accurate first.
        unpaired: Reports of data with the same name that do not store their answers.
    """

    task: str
    compared: list[ModelReport] = dataclasses.field(default_factory=list)
    unpaired: list[ModelReport] = dataclasses.field(default_factory=list)

    @property
    def reports(self) -> list[ModelReport]:
        """All reports, the compared ones first."""
        return [*self.compared, *self.unpaired]

    @property
    def answers(self) -> list[AnsweredItems]:
        """The answers of each compared report."""
        return [report.answers for report in self.compared]

    def describe_task(self) -> str:
        """Return the name of the data, or the number of common items if the names differ."""
        data_names = {report.data_name for report in self.compared}
        if len(data_names) < 2:
            return self.task
        # Predictions of each model may be in a separate file, by which the data is named.
        return pluralize(len(self.compared[0].answers), "common item")

    def add(self, report: ModelReport) -> bool:
        """Add a report if it is of this task, and return whether it is.

        Args:
            report: The report. Its name gets a number if another model of the group has this name.
        """
        if self.reports:
            task_names = {self.reports[0].logged_task, report.logged_task} - {""}
            # Only the log of a harness contains the name of its task.
            if self.reports[0].kind != report.kind or len(task_names) > 1:
                return False
        # A log may contain several runs of a model.
        names = [member.name for member in self.reports]
        report = dataclasses.replace(report, name=make_unique(report.name, names))
        if len(report.answers) and self.compared:
            return self._join(report)
        # Reports that cannot be paired are of one task if their data has the same name.
        is_same_task = report.data_name == self.task
        if is_same_task and len(report.answers):
            self.compared.append(report)
        elif is_same_task:
            self.unpaired.append(report)
        return is_same_task

    def _join(self, report: ModelReport) -> bool:
        """Compare a report with the others if it shares enough items, and return whether it does."""
        reference = self.compared[0]
        try:
            answers = match_answers(
                (reference.audit, report.audit), (reference.answers, report.answers)
            )
        # The classes or the labels differ, so that the reports are of two tasks.
        except ValueError:
            return False
        if not has_enough_items([*self.answers, answers]):
            return False
        self.compared.append(dataclasses.replace(report, answers=answers))
        return True

    def align(self) -> None:
        """Restrict the answers to the common items, in the same order, and sort the reports."""
        if self.compared:
            restricted_reports = []
            for report, answers in zip(self.compared, align_answers(self.answers), strict=True):
                restricted_reports.append(dataclasses.replace(report, answers=answers))
            self.compared = restricted_reports
        self.compared = sort_reports(self.compared)
        self.unpaired = sort_reports(self.unpaired)


def group_reports(reports: Iterable[ModelReport]) -> list[ReportGroup]:
    """Find the reports of each task: those with the same items.

    Args:
        reports: The reports.

    Returns:
        The groups. The answers of their reports are restricted to the common items.
    """
    groups: list[ReportGroup] = []
    for report in reports:
        # `any` ends with the first group that accepts the report.
        if not any(group.add(report) for group in groups):
            group = ReportGroup(report.data_name)
            group.add(report)
            groups.append(group)
    # Only now it is known which items all reports of a group share.
    for group in groups:
        group.align()
    return groups


def sort_reports(reports: Sequence[ModelReport]) -> list[ModelReport]:
    """Sort reports by accuracy, the highest first; of equals, those with fewer problems come first.

    Args:
        reports: Reports of one task. The accuracy is that on their `answers`, if there are any.
    """

    def rank(report: ModelReport) -> tuple[float, int, int]:
        accuracy = report.accuracy.value or 0.0
        # The accuracy on other items is not comparable.
        if len(report.answers):
            accuracy = float(report.answers.is_correct.mean())
        tones = [verdict.tone for verdict in list_verdicts(report.audit)]
        return -accuracy, tones.count("bad"), tones.count("warn")

    return sorted(reports, key=rank)


# ------------------------------------------------------------------------------------ names


def make_unique(name: str, names: Collection[str]) -> str:
    """Return a name that differs from others, with a number after it if necessary: "gpt2 (2)"."""
    unique_name = name
    number = 2
    while unique_name in names:
        unique_name = f"{name} ({number})"
        number += 1
    return unique_name


def add_folder(name: str, folder: str) -> str:
    """Return the name of one of several reports on models with the same name.

    Args:
        name: Name of the models. A long one is replaced, because each sentence of a page repeats
            it: "TfidfVectorizer + LogisticRegression" in the folders "words" and "characters".
        folder: The folder of the report.

    Example:
        >>> add_folder("gpt2", "tuned"), add_folder("TfidfVectorizer + LogisticRegression", "words")
        ('gpt2 (tuned)', 'words')
    """
    if folder and len(name) > MAX_REPEATED_NAME:
        return folder
    return f"{name} ({folder})"


def name_by_folder(reports: Sequence[ModelReport]) -> list[ModelReport]:
    """Name models by the folders of their reports if several models have the same name.

    Args:
        reports: The reports. Those of logs keep their names, because we named their folders.
    """
    folders_by_name: dict[tuple[str, str], set[str]] = {}
    for report in reports:
        folders = folders_by_name.setdefault(get_names(report.audit), set())
        folders.add(report.folder.name)
    renamed_reports = []
    for report in reports:
        name = report.name
        n_folders = len(folders_by_name[get_names(report.audit)])
        # Predictions that are no log have two empty names here, and models that were run have None.
        is_logged = any(report.audit["model"].get("logged") or ())
        if n_folders > 1 and not is_logged:
            name = add_folder(report.name, report.folder.name)
        renamed_reports.append(dataclasses.replace(report, name=name))
    return renamed_reports
