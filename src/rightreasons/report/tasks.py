"""One table of the accuracies of several models on several tasks.

`find_reports` audits logs of harnesses that have no report yet, and `models_by_tasks` makes the table.
"""

from __future__ import annotations

import dataclasses
import os
import warnings
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
from rightreasons.report.pairing import get_report_folder
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
        """Yield a row per model: its name, and its accuracy on each task, None if it has no report."""
        accuracies = {}
        for cell in self.cells:
            accuracies[cell.model, cell.task] = p.Amount(cell.accuracy, "fraction")
        # A model need not have a report on every task.
        for model in self.models:
            yield model, *[accuracies.get((model, task)) for task in self.tasks]


TASKS = Question(
    name="tasks",
    prose=sentences("tasks"),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("tasks", (Table("tasks", lambda m: m.list_rows(), "Wilson 1927"),)),),
)


def write_tasks(out: str | os.PathLike[str], table: ModelsByTasks) -> Path:
    """Write a table of models and tasks as a page and comparison.json.

    Args:
        out: The folder; an earlier comparison in it is replaced.
        table: The table.

    Returns:
        The page.
    """
    folder = prepare_page_folder(out, COMPARISON_FILE)
    n_models = len(table.models)
    n_tasks = len(table.tasks)
    page = Page(
        title=f"{pluralize(n_models, 'model')}, {pluralize(n_tasks, 'task')}",
        heading="How many answers are correct?",
        facts=[("models", str(n_models)), ("tasks", str(n_tasks))],
        outcomes=[Outcome("tasks", "Models by tasks", "answered", "", TASKS.answer(table))],
        made=[(f"{cell.model} on {cell.task}", f"report {cell.report}") for cell in table.cells],
    )
    write_page(folder, page, {COMPARISON_FILE: table.to_dict()})
    return folder / PAGE


def models_by_tasks(reports: Sequence[str | os.PathLike[str]]) -> ModelsByTasks:
    """Make a table of the accuracies of several models on several tasks.

    If a model has two reports on a task, such as with different prompts, the second one is listed
    under its name with " (2)" after it.

    Args:
        reports: Folders of reports.

    Raises:
        ValueError: If a report has no labeled item.
    """
    cells: list[ModelOnTask] = []
    for report in map(get_report_folder, reports):
        audit = read_audit(report)
        answers = audit.get("answers")
        if answers is None:
            raise ValueError(f"Expected labeled items in {report}, but it has none.")
        model, task = get_names(audit)
        models_on_task = {cell.model for cell in cells if cell.task == task}
        cell = ModelOnTask(
            model=_make_unique(model, models_on_task),
            task=task,
            report=os.fspath(report),
            n_items=answers["n_items"],
            n_unread=sum(answers["lacks"].values()),
            accuracy=Estimate(**answers["accuracy"]),
        )
        cells.append(cell)
    return ModelsByTasks(_drop_suites(cells))


def _drop_suites(cells: Sequence[ModelOnTask]) -> tuple[ModelOnTask, ...]:
    """Return cells of the table in which tasks have short names: "piqa" for "leaderboard|piqa".

    If tasks of two suites have the same short name, they keep their full names: another suite may
    ask about the same items in another format.

    Args:
        cells: Cells of a table, each with the name of its task.
    """
    full_names_by_short_name: dict[str, set[str]] = {}
    for cell in cells:
        _, _, short_name = cell.task.rpartition("|")
        full_names_by_short_name.setdefault(short_name, set()).add(cell.task)
    renamed_cells = []
    for cell in cells:
        _, _, short_name = cell.task.rpartition("|")
        is_unique = len(full_names_by_short_name[short_name]) == 1
        if is_unique:
            cell = dataclasses.replace(cell, task=short_name)
        renamed_cells.append(cell)
    return tuple(renamed_cells)


def _make_unique(name: str, names: Collection[str]) -> str:
    """Return a name that differs from others, with a number after it if necessary: "gpt2 (2)"."""
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
    """Return the folders of reports for some paths; logs are audited to make their reports.

    A file in a folder that is no log with labeled answers is omitted with a warning.

    Args:
        paths: Reports, logs, and folders of logs.
        out: A folder for the reports of logs.
        **settings: Options of these audits.

    Raises:
        FileNotFoundError: If a path does not exist.
        ValueError: If a folder contains neither a report nor a readable log, or a log in `paths`
            cannot be read.
    """
    # A path that does not exist is reported before the first log is audited, which is slow.
    sources: list[_Source] = []
    for path in map(Path, paths):
        sources += _list_sources(path)
    reports = []
    errors: dict[Path, ValueError] = {}
    for number, source in enumerate(sources, start=1):
        if not source.is_log:
            reports.append(source.path)
            continue
        folder_name = f"{number:02d}-{safe_name(source.path.stem)}"
        # File names may have 255 characters, so that a long one cannot be extended.
        folder = Path(out) / folder_name[:80]
        try:
            reports += _audit_sources(source.path, folder, settings)
        except ValueError as error:
            # A log that the user named must be in the table; a folder may contain other files.
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
    """Return the report, the log, or the logs of a folder that a path names.

    Args:
        path: A report, its audit.json, a log, or a folder of logs.

    Raises:
        ValueError: If it is a folder without a report and without logs.
    """
    is_audit_file = get_report_folder(path) != path
    is_report = is_audit_file or (path / AUDIT_FILE).exists()
    # A missing path is returned as a report, too, and raises an error when it is read.
    if is_report or not path.exists():
        return [_Source(path)]
    if not path.is_dir():
        is_log = get_data_type(path) in LOG_TYPES or path.suffix in (*LOG_TYPES, ".csv")
        return [_Source(path, is_log=is_log)]
    logs = []
    for log in list_logs(path):
        logs.append(_Source(log, is_log=True, is_named=False))
    if not logs:
        raise ValueError(
            f"Expected a report or logs in {path}, but found no {AUDIT_FILE} and no log."
        )
    return logs


def _audit_sources(log: Path, out: Path, settings: Mapping[str, Any]) -> list[Path]:
    """Audit a log, or each model in it, and return the folders of the reports.

    Args:
        log: The log.
        out: Folder of the report. If the log has several models, their names are appended to it.
        settings: Options of the audits, by name.

    Raises:
        ValueError: If it cannot be read, or has no labeled items.
    """
    try:
        _audit_log(log, out, settings)
    except SeveralSourcesError as error:
        # Several filters or scorers of a log are different readings of the same answers, of which
        # the user has to choose one.
        if error.kind != "provider":
            raise
        folders = []
        for model in error.sources:
            folder_name = f"{out.name}-{safe_name(model)}"
            folder = out.with_name(folder_name[:80])
            _audit_log(log, folder, {**settings, "log_filter": model})
            folders.append(folder)
        return folders
    return [out]


def _audit_log(log: Path, out: Path, settings: Mapping[str, Any]) -> None:
    """Audit a log for the accuracy of its answers, and write its report.

    Args:
        log: The log.
        out: Folder of the report.
        settings: Options of `audit`, by name.

    Raises:
        ValueError: If it cannot be read, or has no labeled items.
    """
    # Imported late: the table of finished reports needs no engine.
    from rightreasons.report.questions import list_questions_for_table
    from rightreasons.report.runner import audit

    audit(
        predictions=os.fspath(log),
        out=out,
        # Every report has the accuracy of the answers. At least one question has to be asked.
        questions=list_questions_for_table("predictions"),
        progress=False,
        **settings,
    )
    if read_audit(out).get("answers") is None:
        raise ValueError(f"Expected labeled items in {log}, but it has none.")
