"""One table of the accuracies of several models on several tasks.

`find_reports` audits logs of harnesses that have no report yet, and `models_by_tasks` makes the table.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.audited.splits import safe_name
from rightreasons.core.errors import SeveralSourcesError, get_first_line
from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.io.files.compressed import get_data_type
from rightreasons.io.log_forms import LOG_TYPES, list_logs
from rightreasons.page import parts as p
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.report.comparison import COMPARISON_FILE
from rightreasons.report.outcomes import Outcome
from rightreasons.report.pairing import report_folder
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.schema import AUDIT_FILE, get_names, prepare_page_folder, read_audit


@dataclasses.dataclass(frozen=True)
class ModelOnTask(Result):
    """The accuracy of a model on a task.

    Attributes:
        model: Name of the model.
        task: Name of the task.
        report: Folder of its report.
        n_items: Number of answers.
        n_unread: Number of answers that cannot be read, which count as incorrect.
        accuracy: Share of correct answers.
    """

    model: str
    task: str
    report: str
    n_items: int
    n_unread: int
    accuracy: Estimate


@dataclasses.dataclass(frozen=True)
class ModelsByTasks(Result):
    """A table of models and tasks.

    Attributes:
        cells: The pairs of a model and a task that there are, in the order of the reports.
    """

    cells: tuple[ModelOnTask, ...]

    @property
    def models(self) -> list[str]:
        """The models, in the order of the reports."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the reports."""
        return list(dict.fromkeys(cell.task for cell in self.cells))

    def list_rows(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield a row per model: its accuracy on each task."""
        accuracies = {}
        for cell in self.cells:
            accuracies[cell.model, cell.task] = p.Amount(cell.accuracy, "fraction")
        # Not every model was audited on every task.
        for model in self.models:
            yield model, *[accuracies.get((model, task)) for task in self.tasks]


TASKS = Question(
    name="tasks",
    prose=sentences("tasks"),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("tasks", (Table("tasks", lambda m: m.list_rows(), "Wilson 1927"),)),),
)


def write_tasks(out: str | os.PathLike[str], table: ModelsByTasks) -> Path:
    """Write the table as a page and comparison.json, in place of what the folder holds, and return the page."""
    folder = prepare_page_folder(out, COMPARISON_FILE)
    names = f"{pluralize(len(table.models), 'model')}, {pluralize(len(table.tasks), 'task')}"
    page = Page(
        title=names,
        heading="How many answers are correct?",
        facts=[("models", str(len(table.models))), ("tasks", str(len(table.tasks)))],
        outcomes=[Outcome("tasks", "Models by tasks", "answered", "", TASKS.answer(table))],
        made=[(f"{cell.model} on {cell.task}", f"report {cell.report}") for cell in table.cells],
    )
    write_page(folder, page, {COMPARISON_FILE: table.to_dict()})
    return folder / PAGE


def models_by_tasks(reports: Sequence[str | os.PathLike[str]]) -> ModelsByTasks:
    """Put how many answers are right into one table of models and tasks.

    A second report of one model and task, as of another prompt, has " (2)" behind the name of the model.

    Args:
        reports: Folders of reports.

    Raises:
        ValueError: If a report has no labeled item.
    """
    cells: list[ModelOnTask] = []
    for report in map(report_folder, reports):
        audit = read_audit(report)
        answers = audit.get("answers")
        if answers is None:
            raise ValueError(f"Expected labeled items in {report}, but it has none.")
        model, task = get_names(audit)
        # A second report of the same model and task, such as one with another prompt.
        names = {cell.model for cell in cells if cell.task == task}
        cells.append(
            ModelOnTask(
                model=_make_unique(model, names),
                task=task,
                report=os.fspath(report),
                n_items=answers["n_items"],
                n_unread=sum(answers["lacks"].values()),
                accuracy=Estimate(**answers["accuracy"]),
            )
        )
    return ModelsByTasks(_drop_suites(cells))


def _drop_suites(cells: Sequence[ModelOnTask]) -> tuple[ModelOnTask, ...]:
    """Return the cells with short names of tasks: "piqa" for "leaderboard|piqa".

    Tasks of two suites that have the same short name keep their suites.
    """
    full_names = defaultdict[str, set[str]](set)
    for cell in cells:
        full_names[cell.task.rpartition("|")[2]].add(cell.task)
    renamed = []
    for cell in cells:
        short_task = cell.task.rpartition("|")[2]
        # A suite may ask the same items in another way, which is another task.
        if len(full_names[short_task]) > 1:
            short_task = cell.task
        renamed.append(dataclasses.replace(cell, task=short_task))
    return tuple(renamed)


def _make_unique(name: str, names: Collection[str]) -> str:
    """Return a name that is not among others: the name itself, or with a number after it."""
    unique_name = name
    number = 2
    while unique_name in names:
        unique_name = f"{name} ({number})"
        number += 1
    return unique_name


@dataclasses.dataclass(frozen=True)
class _Source:
    """A report or a log to compare.

    Attributes:
        path: The folder of the report, or the log.
        is_log: Whether it is a log, which has no report yet.
        is_named: Whether the user named it, instead of a folder that contains it.
    """

    path: Path
    is_log: bool = False
    is_named: bool = True


def find_reports(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], **settings: Any
) -> list[Path]:
    """Return the reports of some paths: logs, also those in folders, are audited first.

    A file in a folder that is no log with labeled answers is left out, and a warning names it.

    Args:
        paths: Reports, logs, and folders of logs.
        out: A folder for the reports of logs.
        **settings: Settings of the audits.

    Raises:
        FileNotFoundError: If there is nothing.
        ValueError: If a folder holds no report and no readable log, or a named log cannot be read.
    """
    sources: list[_Source] = []
    for path in map(Path, paths):
        sources += _list_sources(path)
    reports = []
    errors: dict[Path, ValueError] = {}
    # Everything is found before the first log is audited, which takes long.
    for number, source in enumerate(sources, start=1):
        if not source.is_log:
            reports.append(source.path)
            continue
        folder = Path(out) / f"{number:02d}-{safe_name(source.path.stem)}"[:80]
        try:
            reports += _audit_sources(source.path, folder, settings)
        except ValueError as error:
            # The user wants a named log in the table; a folder may contain anything.
            if source.is_named:
                raise
            errors[source.path] = error
    _warn_of_unread_logs(errors, has_reports=bool(reports))
    return reports


def _warn_of_unread_logs(errors: Mapping[Path, ValueError], *, has_reports: bool) -> None:
    """Warn of files in folders that cannot be compared; without any report, raise the first error."""
    for path, error in errors.items():
        if not has_reports:
            raise error
        warnings.warn(f"Left out {path}: {get_first_line(error)}", stacklevel=3)


def _list_sources(path: Path) -> list[_Source]:
    """Return the reports and logs of a path."""
    is_report = report_folder(path) != path or (path / AUDIT_FILE).exists()
    # A path without a file says so when it is read as a report.
    if is_report or not path.exists():
        return [_Source(path)]
    if not path.is_dir():
        is_log = get_data_type(path) in LOG_TYPES or path.suffix in (*LOG_TYPES, ".csv")
        return [_Source(path, is_log=is_log)]
    logs = [_Source(log, is_log=True, is_named=False) for log in list_logs(path)]
    if not logs:
        raise ValueError(
            f"Expected a report or logs in {path}, but it has no {AUDIT_FILE}, and no log."
        )
    return logs


def _audit_sources(log: Path, out: Path, settings: Mapping[str, Any]) -> list[Path]:
    """Audit a log, or each model in it, and return the folders of the reports.

    Raises:
        ValueError: If it cannot be read, or has no labeled items.
    """
    try:
        _audit_log(log, out, settings)
    except SeveralSourcesError as error:
        # Filters and scorers are readings of one model, of which the user has to choose.
        if error.kind != "provider":
            raise
        folders = []
        for source in error.sources:
            folder = out.with_name(f"{out.name}-{safe_name(source)}"[:80])
            _audit_log(log, folder, {**settings, "log_filter": source})
            folders.append(folder)
        return folders
    return [out]


def _audit_log(log: Path, out: Path, settings: Mapping[str, Any]) -> None:
    """Audit a log for the accuracy of its answers.

    Raises:
        ValueError: If it cannot be read, or has no labeled items.
    """
    # Imported late: the table of finished reports needs no engine.
    from rightreasons.report.questions import list_questions_for_table
    from rightreasons.report.runner import audit

    audit(
        predictions=os.fspath(log),
        out=out,
        # The report has the accuracy of the answers, whatever else it asks.
        questions=list_questions_for_table("predictions"),
        progress=False,
        **settings,
    )
    if read_audit(out).get("answers") is None:
        raise ValueError(f"Expected labeled items in {log}, but it has none.")
