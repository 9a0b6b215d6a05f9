"""How many answers of several models to several tasks are right, in one table; logs are audited for it."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import read_predictions, safe_name
from rightreasons.core.arrays import Result
from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate, estimate_of, holm, paired_means, rate
from rightreasons.core.resampling import Resampling
from rightreasons.io.reading import data_type
from rightreasons.page import parts as p
from rightreasons.page.prose import short_name
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.report.comparison import (
    COMPARISON_FILE,
    MIN_ITEMS,
    TESTS,
    prediction_files,
    report_folder,
    shared_rows,
)
from rightreasons.report.render import PAGE, Outcome, Page, sentences, write_page
from rightreasons.report.schema import AUDIT_FILE, check_files, page_folder, read_audit

_LOGS = (".eval", ".json", ".jsonl", ".parquet")
_BESIDE = re.compile(r"results_.*\.json|.*\.header\.json|logs\.json|listing\.json")
"""What harnesses write beside their logs."""


@dataclasses.dataclass(frozen=True)
class ModelOnTask(Result):
    """How many answers of a model to a task are right.

    Attributes:
        model: The model.
        task: The task.
        report: The folder of its report.
        n_items: Its answers.
        n_unread: How many of these cannot be read; they are wrong.
        accuracy: Share of right answers.
        scored: Whether its answers have scores of classes or choices, so that `compare` compares more than how many are
            right.
        n_shared: Items, of the same id and text, that the first model of the task has too.
        difference: Accuracy minus that of the first model of the task on these; None of the first, and of too few.
        p_value: Of "no difference", corrected by Holm's method over the table.
    """

    model: str
    task: str
    report: str
    n_items: int
    n_unread: int
    accuracy: Estimate
    scored: bool = True
    n_shared: int = 0
    difference: Estimate | None = None
    p_value: float | None = None


@dataclasses.dataclass(frozen=True)
class ModelsByTasks(Result):
    """Models and tasks in one table.

    Attributes:
        cells: The pairs of a model and a task that there are, in the order of the reports.
        level: Of the intervals.
    """

    cells: tuple[ModelOnTask, ...]
    level: float

    @property
    def models(self) -> list[str]:
        """The models, in the order of the reports."""
        return list(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the reports."""
        return list(dict.fromkeys(cell.task for cell in self.cells))

    def of(self, model: str, task: str) -> ModelOnTask | None:
        """Return a cell; None where there is none."""
        return next((cell for cell in self.cells if (cell.model, cell.task) == (model, task)), None)

    def by_model(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield a row per model: its accuracy on each task."""
        for model in self.models:
            cells = (self.of(model, task) for task in self.tasks)
            yield model, *(None if cell is None else p.Amount(cell.accuracy, "fraction") for cell in cells)

    def beside(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield a row per cell: how it differs from the first model of its task."""
        for cell in self.cells:
            difference = cell.difference and p.Amount(cell.difference, "fraction")
            yield cell.task, cell.model, cell.n_items, cell.n_unread, cell.n_shared or None, difference, cell.p_value


TASKS = Question(
    name="tasks",
    prose=sentences("tasks"),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "tasks",
            (Table("tasks", lambda m: m.by_model(), "Wilson 1927"), Table("beside", lambda m: m.beside(), TESTS)),
        ),
    ),
)


def write_tasks(out: str | os.PathLike[str], table: ModelsByTasks) -> Path:
    """Write the table as a page and comparison.json, in place of what the folder holds, and return the page."""
    folder = page_folder(out, COMPARISON_FILE)
    names = f"{counted(len(table.models), 'model')}, {counted(len(table.tasks), 'task')}"
    page = Page(
        title=names,
        heading="How many answers are right?",
        facts=[("models", str(len(table.models))), ("tasks", str(len(table.tasks)))],
        outcomes=[Outcome("tasks", "Models by tasks", "answered", "", TASKS.answer(table))],
        made=[(f"{cell.model} on {cell.task}", f"report {cell.report}") for cell in table.cells],
    )
    write_page(folder, page, {COMPARISON_FILE: table.to_dict()})
    return folder / PAGE


@dataclasses.dataclass(frozen=True, eq=False)
class _Read:
    cell: ModelOnTask
    right: NDArray[np.bool_]
    names: list[tuple[str, str]]
    named: bool


def models_by_tasks(reports: Sequence[str | os.PathLike[str]], how: Resampling = Resampling()) -> ModelsByTasks:
    """Put how many answers are right into one table of models and tasks, each model beside the first of its task.

    Differences are over the items that both have with the same id and text (`paired_means`; items of one text are one
    unit), and their p-values are corrected together (Holm 1979). Files that do not tell their task are of one if they
    share items. A second report of one model and task, as of another prompt, has " (2)" behind the name of the model.

    Args:
        reports: Folders of reports.
        how: Level of the intervals; random signs and their seed.
    """
    known: list[_Read] = []
    for report in reports:
        this = _read(report_folder(report), how)
        untold = (other for other in known if not (this.named and other.named))
        alike = next((other for other in untold if len(shared_rows(this.names, other.names)[0]) >= MIN_ITEMS), None)
        if alike is not None:
            this = dataclasses.replace(this, cell=dataclasses.replace(this.cell, task=alike.cell.task))
        names = {other.cell.model for other in known if other.cell.task == this.cell.task}
        again = (f"{this.cell.model} ({number})" for number in itertools.count(2))
        model = next(name for name in itertools.chain([this.cell.model], again) if name not in names)
        known.append(dataclasses.replace(this, cell=dataclasses.replace(this.cell, model=model)))
    firsts: dict[str, _Read] = {}
    cells = [_beside(this, firsts.setdefault(this.cell.task, this), how) for this in known]
    tested = [place for place, cell in enumerate(cells) if cell.p_value is not None]
    p_values = np.array([cells[place].p_value for place in tested], dtype=np.float64)
    for place, p_value in zip(tested, holm(p_values) if tested else (), strict=True):
        cells[place] = dataclasses.replace(cells[place], p_value=float(p_value))
    return ModelsByTasks(tuple(cells), how.level)


def reports_of(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], **settings: Any) -> list[Path]:
    """Return the reports of some paths: logs, also those in folders, are audited first.

    Args:
        paths: Reports, logs, and folders of logs.
        out: A folder for the reports of logs.
        **settings: Settings of the audits.

    Raises:
        FileNotFoundError: If there is nothing.
        ValueError: If a folder holds no report and no log, or a log cannot be read.
    """
    from rightreasons.report.runner import audit

    found: list[tuple[Path, bool]] = []
    for path in map(Path, paths):
        if report_folder(path) != path or (path / AUDIT_FILE).exists() or not path.exists():
            found.append((path, False))  # what is no report says so when it is read
        elif path.is_dir():
            logs = sorted(each for each in path.rglob("*") if each.suffix in _LOGS and not _BESIDE.fullmatch(each.name))
            if not logs:
                raise ValueError(f"Expected a report or logs in {path}, but it has no {AUDIT_FILE}, and no log.")
            found += [(log, True) for log in logs]
        else:
            found.append((path, data_type(path) in _LOGS or path.suffix in (*_LOGS, ".csv")))
    reports = []
    for number, (path, is_log) in enumerate(found, start=1):
        if is_log:
            folder = Path(out) / f"{number:02d}-{safe_name(path.stem)}"[:80]
            audit(predictions=os.fspath(path), out=folder, questions=["calibration"], progress=False, **settings)
            path = folder
        reports.append(path)
    return reports


# ------------------------------------------------------------------------------------------------------------- private


def _read(folder: Path, how: Resampling) -> _Read:
    audit = read_audit(folder)
    primary, files = audit["dataset"]["primary"], prediction_files(audit)
    if primary not in files:
        raise ValueError(f"Expected the predictions of “{primary}” in {folder}, but it holds none.")
    check_files(folder, audit, [files[primary]])
    said = read_predictions(folder / files[primary])
    known = np.asarray(said.labels) >= 0
    sure = audit["model"]["task"] == "confidence"  # its labels say which answers are right
    right = np.asarray(said.labels) == 1 if sure else np.array([np.argmax(row) for row in said.logits]) == said.labels
    names = list(itertools.compress(said.named, known))
    accuracy, answers = rate(right[known], how), audit.get("answers")
    n_items = len(names)
    if answers is not None:
        accuracy, n_items = Estimate(**answers["accuracy"]), answers["n_items"]
    if accuracy is None:
        raise ValueError(f"Expected labeled items in {folder}, but it has none.")
    called, data = audit["model"]["name"], audit["dataset"]["name"]
    model, task = audit["model"].get("logged") or ("", "")
    alone = called == data and not task  # a file that does not tell whose answers it holds, and to what
    cell = ModelOnTask(
        model=model or (Path(called).stem if alone else short_name(called)),
        task=task or (Path(data).stem if alone else short_name(data)),
        report=os.fspath(folder),
        n_items=n_items,
        n_unread=sum((answers or {}).get("lacks", {}).values()),
        accuracy=accuracy,
        scored=not sure,
    )
    return _Read(cell, right[known], names, bool(task))


def _beside(other: _Read, first: _Read, how: Resampling) -> ModelOnTask:
    mine, its = shared_rows(other.names, first.names)
    if other is first or len(mine) < MIN_ITEMS:
        return other.cell
    # Answers without texts stand alone; the same text twice is one cluster.
    texts = [other.names[row][1] or f"item {other.names[row][0]}" for row in mine]
    clusters = None if len({*texts}) == len(texts) else texts
    test = paired_means(other.right[mine], first.right[its], clusters=clusters, resampling=how)
    difference = estimate_of(test.difference, test.interval)
    return dataclasses.replace(other.cell, n_shared=len(mine), difference=difference, p_value=test.p_value)
