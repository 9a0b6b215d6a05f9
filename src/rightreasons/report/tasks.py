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
    for report in map(report_folder, reports):
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
    """Return the cells with short names of tasks: "piqa" for "leaderboard|piqa".

    Tasks of two suites that have the same short name keep their suites: they are different tasks,
    as the second suite may ask about the same items in another form.
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
        FileNotFoundError: If a path does not exist.
        ValueError: If a folder holds no report and no readable log, or a named log cannot be read.
    """
    # All paths are resolved before the first log is audited, which takes long.
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
        # Names of files may be too long for a folder with a suffix.
        folder = Path(out) / folder_name[:80]
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
    """Return the report or the logs that a path is or contains.

    Raises:
        ValueError: If it is a folder without a report and without logs.
    """
    is_audit_file = report_folder(path) != path
    is_report = is_audit_file or (path / AUDIT_FILE).exists()
    # A missing path raises an error when it is read as a report.
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
        out: Folder of the report. With several models, their names are added to it.
        settings: Settings of the audits.

    Raises:
        ValueError: If it cannot be read, or has no labeled items.
    """
    try:
        _audit_log(log, out, settings)
    except SeveralSourcesError as error:
        # A log may also have several filters or scorers, which are different readings of the same
        # answers: the user has to choose one.
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
