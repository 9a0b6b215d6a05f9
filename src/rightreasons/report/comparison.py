"""Two audited models on the same items: is one really better, or better calibrated?"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import read_predictions, safe_name
from rightreasons.calibration.measure import FIGURES, TESTED, measure_figures, paired_outcomes, paired_test
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.arrays import Result, falling
from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate, FigureText, estimate_of, holm, paired_means, rate
from rightreasons.core.resampling import Resampling
from rightreasons.io.reading import data_type
from rightreasons.page import parts as p
from rightreasons.page import plots
from rightreasons.page.plots import Curve, curves
from rightreasons.page.prose import p_equals, percent, short_name, written
from rightreasons.page.question import Examples, Figure, Lead, Part, Plot, Question, Rule, Table, Tables
from rightreasons.report.paired import (
    COMPARISON_FILE,
    MIN_ITEMS,
    SIDES,
    ComparedFigure,
    ComparedSplit,
    Comparison,
    SharedItems,
    compared_answers,
    history,
    matched_classes,
    prediction_files,
    read_reports,
    report_folder,
    same_items,
    shared_items,
    shared_rows,
    winner_of,
)
from rightreasons.report.render import PAGE, Outcome, Page, sentences, write_page
from rightreasons.report.schema import AUDIT_FILE, check_files, check_still, page_folder, read_audit, reads_again

N_EXAMPLES = 5
"""Items shown for each model."""

DIFFERENCES = ("accuracy", "ece", "confidence_gap", "nll")
"""Figures whose differences the overview of a split shows."""

N_LINES = 4
"""Figures of one question that are drawn over the reports."""

# ------------------------------------------------------------------------------------ Which is better at what, in tests


def _amounts(figure: ComparedFigure) -> list[p.Amount]:
    return [p.Amount(each, figure.unit) for each in (figure.first, figure.second, figure.difference)]


def _tested(m: Comparison) -> Iterator[tuple[p.Cell, ...]]:
    """Yield a row per figure of a question, or group of it, that is compared."""
    for each in m.answers:
        name = f"Pass rate: {each.group}" if each.group else each.name
        yield (
            each.question,
            name,
            *_amounts(each),
            each.n_items,
            each.p_value,
            each.holm_p_value,
            m.name_of(each.winner),
        )


_TESTS = "McNemar 1947; Fisher 1935; Agresti & Min 2005; Holm 1979"

ANSWERS = Question(
    name="answers",
    prose=sentences("answers"),
    verdict=(
        Rule("good", "one", lambda m: len(m.winners) == 1),
        Rule("good", "each", lambda m: len(m.winners) == 2),
        Rule("neutral", "open"),
    ),
    parts=(Part("answers", (Table("answers", _tested, _TESTS, when=lambda m: m.answers),)),),
    leads=(Lead("right", contrast=lambda m: (m.accuracy.first, m.accuracy.second), when=lambda m: m.splits),),
)


# ------------------------------------------------------------------------------------- The figures of reports in a row


def _lines(comparison: Comparison) -> Iterator[p.Plot]:
    """Draw the first shares of each question over the reports."""
    shares = [
        figure
        for figure in comparison.side_by_side
        if figure.unit == "fraction" and figure.better
        if all(0 <= each.value <= 1 for each in figure.estimates if each is not None and each.value is not None)
    ]
    numbers = list(range(1, len(comparison.history.models) + 1))
    for question in dict.fromkeys(figure.question for figure in shares):
        shown = [figure for figure in shares if figure.question == question][:N_LINES]
        values = "; ".join(
            f"{f.name}: {', '.join('none' if e is None else written(e, f.unit) for e in f.estimates)}" for f in shown
        )
        lines = [Curve(figure.name, figure.estimates) for figure in shown]
        yield curves(f"history_{question}", numbers, lines, xlabel="report", ylabel="share").plot(
            title=f"{question.capitalize()} over the reports",
            caption="In the order in which the reports were named; shaded: the interval of each.",
            alt=f"Lines over {len(numbers)} reports. {values}.",
            source="Definitions as in the audits",
        )


def _side_by_side(m: Comparison) -> Iterator[tuple[p.Cell, ...]]:
    """Yield a row per figure over the reports."""
    better = {**m.sides, "open": "cannot tell", "": ""}
    for figure in m.side_by_side:
        cells = (each and p.Amount(each, figure.unit) for each in (*figure.estimates, figure.change))
        yield figure.name, figure.question, *cells, better[figure.better]


HISTORY = Question(
    name="history",
    prose=sentences("history"),
    verdict=(Rule("neutral", "followed", lambda m: m.many), Rule("neutral", "two")),
    parts=(
        Part(
            "figures",
            (Tables("lines", _lines, when=lambda m: m.many), Table("history", _side_by_side, "Zou & Donner 2008")),
        ),
    ),
)


# ------------------------------------------------------------------------------------------ The predictions of a split


@dataclasses.dataclass(frozen=True, eq=False)
class _Split:
    """What the section about a split shows."""

    number: int
    comparison: Comparison
    split: ComparedSplit
    pair: Any = None  # the items, for what is drawn: SharedItems
    class_names: Sequence[str] = ()

    @property
    def n_items(self) -> int:
        return self.split.n_items

    @property
    def accuracy(self) -> ComparedFigure:
        return self.split.by_key["accuracy"]

    @property
    def in_words(self) -> str:
        """The figures of both models."""
        figures = self.split.figures
        return "; ".join(f"{f.name}: {written(f.first, f.unit)} and {written(f.second, f.unit)}" for f in figures)

    def text(self, key: str) -> FigureText:
        """The text of a difference."""
        about, figure = FIGURES[key].defined(CalibrationOptions().n_bins), self.split.by_key[key]
        definition = f"{about.definition} The difference of the two, p {p_equals(figure.p_value)} ({figure.test})."
        return FigureText(
            f"{about.name}, {self.comparison.first} minus {self.comparison.second}",
            definition,
            about.source,
            about.unit,
        )

    def rows(self) -> Iterator[tuple[p.Cell, ...]]:
        """A row per figure."""
        for f in self.split.figures:
            better = self.comparison.name_of(f.winner) if f.better else ""
            yield f.name, *_amounts(f), f.p_value, f.holm_p_value, f.test, better

    def counts(self) -> tuple[tuple[p.Cell, ...], ...]:
        """The items that one, both and neither get right."""
        split = self.split
        return ("right", split.both_right, split.first_right), ("wrong", split.second_right, split.both_wrong)

    def draw(self) -> plots.Drawing:
        """The shares of both models."""
        shares = [f for f in self.split.figures if f.unit == "fraction" and f.key != "confidence_gap"]
        rows = [(figure.name, [figure.first, figure.second]) for figure in shares]
        models = self.comparison.first, self.comparison.second
        return plots.dot_rows(f"models_{self.number}", rows=rows, series=models, xlabel="fraction")

    def examples(self, side: str) -> Iterator[p.Example]:
        """Items that one model alone gets right, those of which the other is surest first."""
        better, worse = (self.pair.first, self.pair.second) if side == "first" else (self.pair.second, self.pair.first)
        rows = np.flatnonzero(better.top.correct & ~worse.top.correct)
        surest = falling(worse.top.confidence[rows], [self.pair.ids[row] for row in rows.tolist()])
        for row in rows[surest][:N_EXAMPLES].tolist():
            label, prediction = (
                self.class_names[number] if self.class_names else f"choice {number + 1}"
                for number in (int(worse.top.labels[row]), int(worse.top.predicted[row]))
            )
            confidence = min(float(worse.top.confidence[row]), 1.0)
            note = f"the other: {percent(float(better.top.confidence[row]))}"
            yield p.Example(self.pair.ids[row], self.pair.texts[row], label, prediction, confidence, note=note)


def _difference(key: str) -> Figure:
    """Declare the difference of the two models in one figure."""

    def of(m: Any) -> Estimate | None:
        figure = m.split.by_key.get(key)
        return None if figure is None else figure.difference

    return Figure(
        f"{key}_difference",
        of,
        text=lambda m: m.text(key),
        split=lambda m: m.split.split,
        no_interval="The test gives no interval.",
    )


SPLIT = Question(
    name="split",
    prose=sentences(
        "split", order="Prediction and confidence are those of the model that is wrong, the most confident first."
    ),
    figures=[_difference(key) for key in DIFFERENCES],
    headlines=[f"{key}_difference" for key in DIFFERENCES],
    verdict=(Rule("good", "better", lambda m: m.accuracy.winner), Rule("neutral", "open")),
    parts=(
        Part(
            "figures",
            (
                Plot("models", lambda key, m: m.draw(), "Definitions as in the audits"),
                Table(
                    "figures",
                    lambda m: m.rows(),
                    "McNemar 1947; Efron & Tibshirani 1993; Fisher 1935; definitions as in the audits",
                ),
                Table("counts", lambda m: m.counts(), "Counted"),
            ),
        ),
        Part(
            "items",
            tuple(
                Examples(f"{side}_right", lambda m, side=side: m.examples(side))  # type: ignore[misc]
                for side in SIDES
            ),
        ),
    ),
)


def sections(
    comparison: Comparison, pairs: Mapping[str, SharedItems] | None = None, class_names: Sequence[str] = ()
) -> Iterator[tuple[str, str, Question, Any]]:
    """Yield the sections of a comparison: the name of each, its title, the section, and what it is about.

    Args:
        comparison: The comparison.
        pairs: The items of each split, for pictures and examples; None where nothing is drawn.
        class_names: The names of the classes.
    """
    if not comparison.not_paired:
        yield "answers", "Which is better at what?", ANSWERS, comparison
    if comparison.side_by_side:
        title = "How do the figures move?" if comparison.many else "What else differs?"
        yield "history", title, HISTORY, comparison
    for number, split in enumerate(comparison.splits):
        pair = pairs[split.split] if pairs is not None else None
        shown = _Split(number, comparison, split, pair, class_names)
        yield f"split-{number}", f"On “{split.split}”", SPLIT, shown


def _write(
    out: Path,
    comparison: Comparison,
    pairs: Mapping[str, SharedItems],
    audits: Sequence[dict[str, Any]],
    folders: Sequence[Path],
) -> None:
    """Write the page, its pictures and comparison.json, in place of what the folder holds."""
    first, second = comparison.first, comparison.second
    say = ANSWERS.prose.of(m=comparison, audits=audits, folders=folders)
    outcomes = [
        Outcome(name, title, "answered", "", section.answer(m, report=shlex.join(map(str, folders))))
        for name, title, section, m in sections(comparison, pairs, audits[0]["model"]["label_names"])
    ]
    paired = "" if comparison.not_paired or outcomes[0].result is None else outcomes[0].result.verdict.label
    page = Page(
        title=f"{first} and {second}",
        heading=paired or f"From {first} to {second}",
        facts=say.pairs("facts"),
        outcomes=outcomes,
        made=say.pairs("made"),
    )
    write_page(out, page, {COMPARISON_FILE: comparison.to_dict()})


@reads_again
def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two audited models on the items that both reports hold, by paired tests; follow more over their reports.

    Accuracy is compared by McNemar's mid-p test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by flipping signs, and calibration errors by the jackknife of their debiased difference
    (`compare_confidence`). The figures of all other questions that are means over items (or cases of a suite) are
    compared by `paired_means`.
    Items are joined by id, and only where both reports have the same text. Which model is better at what follows from
    p-values that are corrected by Holm's method for all tests of the comparison; else it is open.

    Of more than two reports, such as those of checkpoints, the first and the last are the two models, and every figure
    is followed over all of them (`history`), also where the two cannot be compared item by item (`not_paired`).

    Args:
        reports: The folders of two reports or more.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        A `Comparison`: the models, for each shared split its counts and figures, the figures of the questions, and the
        figures of all reports side by side.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If there are fewer than two reports, they share no item, the models' classes have other names, or an
            item has one label in one report and another in the other.
    """
    how = Resampling(confidence_level, n_resamples, seed)
    target = None if out is None else page_folder(out, COMPARISON_FILE)
    every = read_reports(reports)
    followed = history(reports, every)
    folders, audits = tuple(map(report_folder, (reports[0], reports[-1]))), (every[0], every[-1])
    names = followed.models[0], followed.models[-1]
    not_paired = _not_paired(folders, audits)
    if not_paired and len(reports) == 2:
        raise ValueError(not_paired)
    pairs = {} if not_paired else _pairs(folders, audits)
    compared = tuple(_compare(split, pair, how) for split, pair in pairs.items())
    primary = pairs.get(audits[0]["dataset"]["primary"])
    shared = None if same_items(audits) else set() if primary is None else set(primary.ids)
    answers = () if not_paired else compared_answers(audits, folders, shared, how)
    tests = _corrected(compared, answers, how.level)
    comparison = Comparison(*names, *tests, followed, not_paired, how.resamples, how.seed)
    for report, audit in zip(reports, every, strict=True):
        check_still(report, audit)
    if target is not None:
        _write(target, comparison, pairs, audits, folders)
    return comparison


# ------------------------------------------------------------------------------------------------------------- private


def _not_paired(folders: Sequence[Path], audits: Sequence[dict[str, Any]]) -> str:
    """Return why two reports cannot be compared item by item; "" where they can."""
    for folder, each in zip(folders, audits, strict=True):
        if each["model"]["task"] == "confidence":
            return (
                f"Expected two reports with class scores, but {folder} has the confidence in given answers, which "
                "are not those of another model."
            )
    files = [prediction_files(audit) for audit in audits]
    if not set(files[0]) & set(files[1]) and not same_items(audits):
        return (
            f"Expected two reports of the same splits, but {folders[0]} holds the predictions of "
            f"{', '.join(files[0]) or 'none'} and {folders[1]} of {', '.join(files[1]) or 'none'}."
        )
    return ""


def _pairs(folders: Sequence[Path], audits: Sequence[dict[str, Any]]) -> dict[str, SharedItems]:
    """Join the items of each split that two reports hold the predictions of."""
    mapping = matched_classes(audits)
    files = [prediction_files(audit) for audit in audits]
    splits = [split for split in files[0] if split in files[1]]
    for folder, audit, of in zip(folders, audits, files, strict=True):
        check_files(folder, audit, (of[split] for split in splits))
    pairs: dict[str, SharedItems] = {}
    for split in splits:
        said = [read_predictions(folder / file[split]) for folder, file in zip(folders, files, strict=True)]
        pair = shared_items(split, said[0], said[1], mapping, audits)
        if pair is not None:
            pairs[split] = pair
    if not pairs and splits:
        raise ValueError(
            f"Expected two reports of the same items, but {folders[0]} and {folders[1]} share no labeled item with "
            "the same id and text."
        )
    return pairs


def _corrected(
    splits: Sequence[ComparedSplit], answers: Sequence[ComparedFigure], level: float
) -> tuple[tuple[ComparedSplit, ...], tuple[ComparedFigure, ...]]:
    """Correct the p-values of all tests together, and say which model is better by them."""
    tests = [*(figure for split in splits for figure in split.figures), *answers]
    p_values = holm(np.array([test.p_value for test in tests])).tolist()
    decided = iter(
        dataclasses.replace(test, holm_p_value=p_value, winner=winner_of(test.difference, test.better, p_value, level))
        for test, p_value in zip(tests, p_values, strict=True)
    )
    corrected = [dataclasses.replace(split, figures=tuple(next(decided) for _ in split.figures)) for split in splits]
    return tuple(corrected), tuple(decided)


def _compare(split: str, pair: SharedItems, how: Resampling) -> ComparedSplit:
    first, second = (measure_figures(judged, TESTED, resampling=how) for judged in (pair.first, pair.second))
    figures = []
    for key in first:
        if first[key].value is None or second[key].value is None:  # the log loss where a label has probability 0
            continue
        test, about = paired_test(key, pair.first, pair.second, resampling=how), FIGURES[key]
        known = {"question": "calibration", "name": about.name, "unit": about.unit, "better": about.better}
        figures.append(ComparedFigure.of(key, test, (first[key], second[key]), n_items=len(pair.ids), **known))
    return ComparedSplit(
        split, len(pair.ids), *pair.n_only, **paired_outcomes(pair.first, pair.second), figures=tuple(figures)
    )


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
            (Table("tasks", lambda m: m.by_model(), "Wilson 1927"), Table("beside", lambda m: m.beside(), _TESTS)),
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


def reports_of(
    paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str], **settings: Any
) -> list[tuple[Path, bool]]:
    """Return the reports of some paths, and whether each is of a log: logs, also those in folders, are audited first.

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
        reports.append((path, is_log))
    return reports


# ------------------------------------------------------------------------------------------------------------- private


@reads_again
def _read(folder: Path, how: Resampling) -> _Read:
    audit = read_audit(folder)
    primary, files = audit["dataset"]["primary"], prediction_files(audit)
    if primary not in files:
        raise ValueError(f"Expected the predictions of “{primary}” in {folder}, but it holds none.")
    check_files(folder, audit, [files[primary]])
    said = read_predictions(folder / files[primary])
    check_still(folder, audit)
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
