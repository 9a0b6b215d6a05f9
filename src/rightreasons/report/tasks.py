"""Compare the models of several reports, on one task or on several.

`find_reports` audits logs of harnesses that have no report yet, and `models_by_tasks` compares the
models of each task.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.audited.splits import safe_name
from rightreasons.core.errors import SeveralSourcesError, get_first_line
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.io.files.compressed import get_data_type
from rightreasons.io.log_forms import LOG_TYPES, list_logs
from rightreasons.page import parts as p
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.report.outcomes import Outcome
from rightreasons.report.pairing import get_report_folder
from rightreasons.report.ranking.groups import (
    ReportGroup,
    group_reports,
    make_unique,
    make_unlabeled_error,
    name_by_folder,
    open_report,
)
from rightreasons.report.ranking.models import compare_models, rank_models
from rightreasons.report.ranking.page import (
    HEADINGS,
    ComparisonView,
    TaskComparison,
    answer_ranking,
    conclude,
    make_front,
    make_model_table,
    render_views,
)
from rightreasons.report.ranking.winners import correct_tests
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.schema import AUDIT_FILE, COMPARISON_FILE, prepare_page_folder, read_audit


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
    """A table of models and tasks, with the comparison of the models of each task.

    Attributes:
        cells: The pairs of a model and a task that there are, in the order of the reports.
        comparisons: What the comparison of the models of each task found.
        n_resamples: Number of resamples of every test that resamples.
        seed: Their seed.
        rightreasons: The version.
    """

    cells: tuple[ModelOnTask, ...]
    comparisons: tuple[TaskComparison, ...] = ()
    n_resamples: int = 1000
    seed: int = 0
    rightreasons: str = rightreasons.__version__

    @functools.cached_property
    def accuracies(self) -> dict[tuple[str, str], Estimate]:
        """(model, task) -> accuracy."""
        return {(cell.model, cell.task): cell.accuracy for cell in self.cells}

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the reports."""
        return list(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def common_tasks(self) -> list[str]:
        """The tasks of which every model has a report."""
        n_models = len({cell.model for cell in self.cells})
        n_reports = collections.Counter(cell.task for cell in self.cells)
        # The models of a task have distinct names.
        tasks = []
        for task in self.tasks:
            if n_reports[task] == n_models:
                tasks.append(task)
        return tasks

    @functools.cached_property
    def models(self) -> list[str]:
        """The models, those with the highest accuracies on the common tasks first.

        Without a common task, models are sorted by how much their accuracies exceed the means of
        the tasks. Models that are compared with no other one come last.
        """
        # The models of a single task are sorted by their common items, too.
        if len(self.comparisons) == 1:
            return [model.name for model in self.comparisons[0].ranking.all_models]
        advantages = {cell.model: 0.0 for cell in self.cells}
        for task in self.common_tasks or self.tasks:
            values = {}
            for cell in self.cells:
                if cell.task == task:
                    values[cell.model] = cell.accuracy.value or 0.0
            mean = sum(values.values()) / len(values)
            for name, value in values.items():
                advantages[name] += value - mean
        separate_models = self.separate_models

        def rank(name: str) -> tuple[bool, float]:
            # Sums that differ by rounding are equal, and sorting keeps the order of equal models.
            return name in separate_models, -round(advantages[name], 12)

        return sorted(advantages, key=rank)

    @property
    def compared(self) -> list[TaskComparison]:
        """The comparisons of the tasks with at least two models on the same items."""
        compared = []
        for comparison in self.comparisons:
            if not comparison.is_single:
                compared.append(comparison)
        return compared

    @property
    def separate_models(self) -> list[str]:
        """Models that share their items with no other model."""
        compared_names: set[str] = set()
        for comparison in self.compared:
            compared_names.update(model.name for model in comparison.ranking.models)
        separate_models: list[str] = []
        for cell in self.cells:
            if cell.model not in {*compared_names, *separate_models}:
                separate_models.append(cell.model)
        return separate_models

    @property
    def unpaired_models(self) -> list[str]:
        """Models without a compared report, of which a report does not store its answers."""
        separate_models = self.separate_models
        names = []
        for comparison in self.comparisons:
            for model in comparison.ranking.unpaired:
                if model.name in separate_models:
                    names.append(model.name)
        return names

    @property
    def other_models(self) -> list[str]:
        """Models that were audited on other items than all others, with stored answers."""
        unpaired_models = self.unpaired_models
        names = []
        for name in self.separate_models:
            if name not in unpaired_models:
                names.append(name)
        return names

    @property
    def n_tests(self) -> int:
        """Number of all paired tests, for which the p-values are corrected."""
        n_tests = 0
        for comparison in self.comparisons:
            n_tests += len(comparison.ranking.tests)
        return n_tests

    @property
    def heading(self) -> str:
        """The finding in a few sentences."""
        if len(self.comparisons) == 1:
            return self.comparisons[0].heading
        return HEADINGS.of(m=self)("heading.tasks")

    def count_best(self) -> list[tuple[str, int]]:
        """Return the models that are the most accurate on a task, with their numbers of tasks."""
        counts: collections.Counter[str] = collections.Counter()
        for comparison in self.compared:
            if comparison.accuracy.kind == "best":
                counts[comparison.accuracy.models[0].name] += 1
        return counts.most_common()

    def count_worse(self) -> list[tuple[str, int]]:
        """Return the models that are less accurate than another, with their numbers of tasks."""
        counts: collections.Counter[str] = collections.Counter()
        for comparison in self.compared:
            tests = comparison.ranking.list_accuracy_tests()
            # A model counts once per task, however many others are better.
            counts.update(sorted({test.worse for test in tests} - {""}))
        return counts.most_common()

    def find_problem(self) -> TaskComparison | None:
        """Return the first comparison with a problem of the reasons, or with a doubt; None for none."""
        for kind in ("problem", "doubt"):
            for comparison in self.comparisons:
                if comparison.reasons.kind == kind:
                    return comparison
        return None

    def list_rows(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield a row per model: its name, and its accuracy on each task, None if it has no report."""
        for model in self.models:
            cells: list[p.Cell] = [model]
            for task in self.tasks:
                # A model need not have a report on every task.
                accuracy = self.accuracies.get((model, task))
                cells.append(None if accuracy is None else p.Amount(accuracy, "fraction"))
            yield tuple(cells)

    def make_views(self, out: Path | None = None) -> list[ComparisonView]:
        """Return the comparison of each task as a page shows it, that of the finding first.

        Args:
            out: Folder of the page. None for no links to the reports.
        """
        views = []
        for number, comparison in enumerate(self.comparisons, start=1):
            # Links of one task must not lead to the items of another one.
            key = str(number) if len(self.comparisons) > 1 else ""
            views.append(ComparisonView(comparison, self.n_tests, out, key))
        problem = self.find_problem()

        def rank(view: ComparisonView) -> tuple[bool, bool]:
            # Sorting keeps the order of the other tasks.
            return view.comparison is not problem, view.comparison.is_single

        return sorted(views, key=rank)

    def __str__(self) -> str:
        return self.heading

    def _repr_html_(self) -> str:
        return render_views(self.heading, self.make_views())


TASKS = Question(
    name="tasks",
    prose=sentences("tasks"),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("tasks", (Table("tasks", lambda m: m.list_rows(), "Wilson 1927"),)),),
)

TITLE = "Which model is better?"


def make_task_table(table: ModelsByTasks) -> p.Table:
    """Return the table of the accuracy of each model on each task."""
    (task_table,) = TASKS.answer(table).parts[0].tables
    return task_table


def answer_tasks(views: Sequence[ComparisonView]) -> list[Outcome]:
    """Return the section of each task.

    Args:
        views: The comparison of each task, as the page shows it.
    """
    if len(views) == 1:
        # The page shows the table of the models above.
        answer = answer_ranking(views[0], omitted=("models",))
        return [Outcome("ranking", TITLE, "answered", "", answer)]
    outcomes = []
    for view in views:
        title = f"Which model is better on {view.ranking.task}?"
        outcome = Outcome(f"ranking-{view.key}", title, "answered", "", answer_ranking(view))
        outcomes.append(outcome)
    return outcomes


def write_tasks(out: str | os.PathLike[str], table: ModelsByTasks) -> Path:
    """Write a table of models and tasks as a page and comparison.json.

    Args:
        out: The folder; an earlier comparison in it is replaced.
        table: The table.

    Returns:
        The page.
    """
    folder = prepare_page_folder(out, COMPARISON_FILE)
    facts = TASKS.prose.of(m=table).pairs("facts")
    views = table.make_views(folder)
    model_table = make_task_table(table)
    if len(views) == 1:
        model_table = make_model_table(views[0])
    made = []
    for cell in table.cells:
        made.append((f"{cell.model} on {cell.task}", f"report {cell.report}"))
    page = Page(
        title=HEADINGS.of(m=table).title("heading.tasks"),
        heading=table.heading,
        facts=facts,
        outcomes=answer_tasks(views),
        made=made,
        # The first section is about the finding.
        front=make_front(views[0], model_table),
    )
    write_page(folder, page, {COMPARISON_FILE: table.to_dict()})
    return folder / PAGE


def models_by_tasks(
    reports: Sequence[str | os.PathLike[str]],
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> ModelsByTasks:
    """Compare the models of several reports, on each task on the items that all its reports share.

    If a model has two reports on a task, such as with different prompts, the second one is listed
    under its name with " (2)" after it.

    Args:
        reports: Folders of reports.
        confidence_level: The level of every interval and test.
        n_resamples: Number of resamples of every test that resamples.
        seed: Their seed.

    Raises:
        ValueError: If a report has no labeled item.
    """
    resampling = Resampling(confidence_level, n_resamples, seed)
    opened_reports = []
    for position, report in enumerate(reports):
        opened_reports.append(open_report(report, position))
    groups = _name_tasks(group_reports(name_by_folder(opened_reports)))
    tests_by_group = [compare_models(group, resampling) for group in groups]
    # The p-values are corrected for the tests of all tasks.
    tests = itertools.chain(*tests_by_group)
    figures = iter(correct_tests([test.figure for test in tests], resampling.level))
    comparisons = []
    for group, group_tests in zip(groups, tests_by_group, strict=True):
        corrected_tests = []
        for test in group_tests:
            # The corrected figures are in the order of the tests.
            corrected_tests.append(dataclasses.replace(test, figure=next(figures)))
        comparisons.append(conclude(rank_models(group, corrected_tests, resampling)))
    return ModelsByTasks(
        cells=_make_cells(groups),
        comparisons=tuple(comparisons),
        n_resamples=resampling.resamples,
        seed=resampling.seed,
    )


def _make_cells(groups: Sequence[ReportGroup]) -> tuple[ModelOnTask, ...]:
    """Return the cells of the table, in the order of the reports.

    Args:
        groups: The reports of each task.
    """
    cells = {}
    for group in groups:
        for report in group.reports:
            answers = report.audit["answers"]
            cells[report.position] = ModelOnTask(
                model=report.name,
                task=group.task,
                report=os.fspath(report.folder),
                n_items=answers["n_items"],
                n_unread=sum(answers["lacks"].values()),
                accuracy=report.accuracy,
            )
    return tuple(cells[position] for position in sorted(cells))


def _name_tasks(groups: Sequence[ReportGroup]) -> list[ReportGroup]:
    """Give tasks distinct names, which are short ones if possible: "piqa" for "leaderboard|piqa".

    If tasks of two suites have the same short name, they keep their full names: another suite may
    ask about the same items in another format.

    Args:
        groups: The reports of each task.
    """
    full_names_by_short_name: dict[str, set[str]] = {}
    for group in groups:
        _, _, short_name = group.task.rpartition("|")
        full_names_by_short_name.setdefault(short_name, set()).add(group.task)
    named_groups: list[ReportGroup] = []
    for group in groups:
        _, _, short_name = group.task.rpartition("|")
        name = group.describe_task()
        if name == group.task and len(full_names_by_short_name[short_name]) == 1:
            name = short_name
        # Two samples of a benchmark have the same name.
        name = make_unique(name, [named_group.task for named_group in named_groups])
        named_groups.append(dataclasses.replace(group, task=name))
    return named_groups


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

    A file in a folder that is no log with labeled answers, and a report without such, is omitted
    with a warning.

    Args:
        paths: Reports, logs, and folders of them.
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
            # A folder may contain reports of data without labels, which have no accuracy.
            if not source.is_named and read_audit(source.path).get("answers") is None:
                errors[source.path] = make_unlabeled_error(source.path)
            else:
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
    """Return the report, the log, or the reports and logs of a folder that a path names.

    Args:
        path: A report, its audit.json, a log, or a folder of reports and logs.

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
    sources = []
    report_folders = set()
    for file in path.rglob(AUDIT_FILE):
        # Earlier reports are set aside in hidden folders.
        if not any(name.startswith(".") for name in file.relative_to(path).parts):
            report_folders.add(file.parent)
    for folder in sorted(report_folders):
        sources.append(_Source(folder, is_named=False))
    for log in list_logs(path):
        # The files of a report are no logs.
        if report_folders.isdisjoint(log.parents):
            sources.append(_Source(log, is_log=True, is_named=False))
    if not sources:
        raise ValueError(
            f"Expected a report or logs in {path}, but found no {AUDIT_FILE} and no log."
        )
    return sources


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
        raise make_unlabeled_error(log)
