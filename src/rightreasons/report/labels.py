"""Several labels per item: an audit of each label with two classes, and all of them in one table."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.audited.splits import safe_name
from rightreasons.core.errors import OptionError, format_error, make_unknown_name_error
from rightreasons.core.estimates import Estimate
from rightreasons.core.options import format_names, parse_names
from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import check_folder
from rightreasons.io.cells import list_labels
from rightreasons.io.columns import get_values
from rightreasons.io.descriptions import read_description
from rightreasons.io.headings import LABEL_HEADINGS, find_usual_column
from rightreasons.io.label_columns import select_single_labels, write_label_expressions
from rightreasons.io.opened_columns import name_source
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.io.predictions import list_label_scores
from rightreasons.io.reading import as_table
from rightreasons.models.wording import Prompt
from rightreasons.page import parts as p
from rightreasons.page.formats import short_name
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.report.figures import AuditFigure, sort_answers
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.request import resolve_inputs, select_options
from rightreasons.report.runner import AuditResult, audit

ALL = "all"
"""Target that represents every label."""

LABELS_FILE = "labels.json"

AVERAGED_UNITS = ("fraction", "nats", "ratio")
"""Units of figures that have a mean over labels."""

MAX_FIGURES = 3
"""Number of figures of a question that the page and the console show; labels.json has all of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelAudits(Result):
    """The audits of several labels, and the means of their figures.

    Attributes:
        out: The folder: a page, labels.json, and the report of each label in its own folder.
        figures: Label -> path -> figure.
        verdicts: Label -> question -> label of its verdict.
        failed: Label -> why there is no audit of it.
        macro: Path -> mean of the figure over the labels that have it. The ends of its interval are
            the means of theirs: labels share their items, and its standard error is at most the mean
            of theirs.
    """

    out: Path = dataclasses.field(metadata=NOT_SERIALIZED)
    figures: Mapping[str, Mapping[str, AuditFigure]]
    verdicts: Mapping[str, Mapping[str, str]]
    failed: Mapping[str, str]
    macro: Mapping[str, Estimate]

    @functools.cached_property
    def displayed_figures(self) -> list[AuditFigure]:
        """The first `MAX_FIGURES` figures of each question that have a mean over labels.

        Only their names, paths and units are meant: the values are those of one of the labels.
        """
        figure_by_path: dict[str, AuditFigure] = {}
        for figures_of_label in self.figures.values():
            figure_by_path.update(figures_of_label)
        figures_by_question: dict[str, list[AuditFigure]] = {}
        for path, figure in figure_by_path.items():
            # The table begins with the means, among which no cell is to be empty.
            if path in self.macro:
                figures_by_question.setdefault(figure.question, []).append(figure)
        displayed = []
        for figures in figures_by_question.values():
            displayed += figures[:MAX_FIGURES]
        return displayed

    def rows(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield the rows of the page's table: the mean over labels, then each label.

        A row has the name of the label, the displayed figures, and the verdicts in one cell.
        """
        means = []
        for figure in self.displayed_figures:
            means.append(p.Amount(self.macro[figure.path], figure.unit))
        yield "mean over labels", *means, ""
        for label, figure_by_path in self.figures.items():
            cells: list[p.Cell] = []
            for figure in self.displayed_figures:
                # A question may not apply to every label.
                cell = None
                if figure.path in figure_by_path:
                    cell = p.Amount(figure_by_path[figure.path].estimate, figure.unit)
                cells.append(cell)
            verdicts = "; ".join(self.verdicts[label].values())
            yield label, *cells, verdicts


def audit_labels(
    model: Any = None,
    dataset: Any = None,
    *,
    target: str = ALL,
    out: str | os.PathLike[str] = "report",
    tell: Callable[[str], object] | None = None,
    **settings: Any,
) -> LabelAudits:
    """Audit each label of a multi-label classifier, or of stored scores of several labels per item.

    Each label is a separate question with the classes "not LABEL" and "LABEL", which
    `rightreasons.audit` answers: a model reads the items once per label. A label that cannot be
    audited, such as one that no item has, does not stop the others.

    Args:
        model: A folder or a hub id of a multi-label classifier; None with `predictions`.
        dataset: The data, as in `audit`. Its labels are a column of 0 and 1 for each label, or one
            column (`label_column`) of names or numbers: lists, strings such as "4,27", objects, or
            lists of 0 and 1.
        target: Comma-separated labels; "all" for all of them.
        out: The folder of a page, labels.json, and a report for each label.
        tell: Called with messages, such as "anger (1/28)" before the audit of a label.
        **settings: Further options of `audit`.

    Returns:
        The figures and verdicts of each label, and the means over labels.

    Raises:
        ValueError: If there are not several labels, one is unknown, or none can be audited.
    """
    if isinstance(settings.get("label_names"), (list, tuple)):
        settings["label_names"] = format_names(settings["label_names"])
    # A single file may be the predictions, even if it is passed as the model.
    predictions = settings.pop("predictions", None)
    model, dataset, predictions = resolve_inputs(
        model, dataset, predictions, StoredOptions(), Prompt()
    )
    audited_source = model
    if predictions is not None:
        audited_source = predictions
        settings["predictions"] = predictions
    # Columns and classes of each label are checked before the first audit.
    settings_by_label = make_label_settings(model, dataset, settings)
    labels = _choose_labels(target, settings_by_label)
    folder = check_folder(out, own=(LABELS_FILE, PAGE, *map(safe_name, settings_by_label)))

    results: dict[str, AuditResult] = {}
    failed: dict[str, str] = {}
    for number, label in enumerate(labels, start=1):
        if tell is not None:
            tell(f"{label} ({number}/{len(labels)})")
        label_settings = {**settings, **settings_by_label[label]}
        try:
            result = audit(
                model, dataset, out=folder / safe_name(label), tell=tell, **label_settings
            )
        except ValueError as error:
            failed[label] = format_error(error)
            continue
        # A plan writes no report.
        if result.written:
            results[label] = result
    if len(failed) == len(labels):
        first_message = next(iter(failed.values()))
        raise ValueError(first_message)

    audits = _collect_audits(folder, results, failed)
    if results:
        _write_labels_page(audits, audited_source, dataset)
    return audits


def _choose_labels(target: str, known_labels: Mapping[str, Any]) -> list[str]:
    """Return the distinct labels that a target names.

    Args:
        target: A label, several ones with commas between them, or "all".
        known_labels: The labels of the model or the file, as keys.

    Raises:
        ValueError: If a label is unknown.
    """
    if target == ALL:
        return list(known_labels)
    labels = [target]
    # The name of a single label may contain a comma.
    if target not in known_labels:
        labels = list(dict.fromkeys(parse_names(target) or []))
    for label in labels:
        if label not in known_labels:
            raise make_unknown_name_error("label", label, [*known_labels, ALL])
    return labels


def _collect_audits(
    folder: Path, results: Mapping[str, AuditResult], failed: Mapping[str, str]
) -> LabelAudits:
    """Collect the figures and verdicts of the audits of labels, and average the figures.

    Args:
        folder: Folder of all reports.
        results: Label -> its audit.
        failed: Label -> why there is no audit of it.
    """
    figures = {label: result.figures for label, result in results.items()}
    verdicts: dict[str, dict[str, str]] = {}
    for label, result in results.items():
        verdicts[label] = {}
        for answer in sort_answers(result.audit):
            verdicts[label][answer["question"]] = answer["result"]["verdict"]["label"]

    # The mean of a figure is over the labels for which it is defined. Counts have no mean.
    estimates_by_path: dict[str, list[Estimate]] = {}
    for figure_by_path in figures.values():
        for path, figure in figure_by_path.items():
            if figure.unit in AVERAGED_UNITS and figure.estimate.value is not None:
                estimates_by_path.setdefault(path, []).append(figure.estimate)
    macro = {path: _average(estimates) for path, estimates in estimates_by_path.items()}
    return LabelAudits(folder, figures, verdicts, failed, macro)


def _average(estimates: list[Estimate]) -> Estimate:
    """Return the mean of estimates, with the means of the ends of their intervals.

    The interval is conservative: the standard error of a mean is at most the mean of the standard
    errors.
    """
    return Estimate(
        value=_mean([estimate.value for estimate in estimates]),
        low=_mean([estimate.low for estimate in estimates]),
        high=_mean([estimate.high for estimate in estimates]),
        level=estimates[0].level,
        method="means of the ends of the labels' intervals",
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean; None if a value is missing."""
    defined = [value for value in values if value is not None]
    if len(defined) < len(values):
        return None
    return sum(defined) / len(defined)


def _write_labels_page(audits: LabelAudits, source: Any, dataset: Any) -> None:
    """Write the page with a row per label, and labels.json.

    Args:
        audits: The audits.
        source: The model or the predictions, as a path or an object in memory.
        dataset: The data, as a path or an object in memory.
    """
    labels = list(audits.figures)
    # Objects in memory have no name.
    name = "the table"
    if isinstance(source, (str, os.PathLike)):
        name = short_name(str(source))
    facts = [("labels", str(len(labels)))]
    if isinstance(dataset, str):
        facts.append(("data", short_name(dataset)))
    answer = LABELS.answer(audits)
    page = Page(
        title=f"{name}: {pluralize(len(labels), 'label')}",
        heading=f"Each label of {name}",
        facts=facts,
        outcomes=[Outcome("labels", "Each label separately", "answered", "", answer)],
        made=[(label, f"report {safe_name(label)}") for label in labels],
        files=[(f"{safe_name(label)}/{PAGE}", label) for label in labels],
    )
    write_page(audits.out, page, {LABELS_FILE: audits.to_dict()})


def make_label_settings(
    model: Any, dataset: Any, settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return, for each label, the settings of an audit of it alone.

    Args:
        model: A folder or a hub id of a multi-label classifier; None with `predictions`.
        dataset: The data; None if the predictions contain it.
        settings: Options of `audit`, by name. `label_names` are in the order of the labels' numbers.

    Returns:
        Label -> the settings that differ between labels: `target` or `score_columns`, `scores`,
        `label_column`, `label_names` and `first_label`.
    """
    # Predictions may be a table in memory, which cannot be the value of an option.
    options = {name: value for name, value in settings.items() if name != "predictions"}
    general = select_options(AuditOptions, options)
    predictions = settings.get("predictions")
    label_settings: dict[str, dict[str, Any]] = {}
    has_headings = False
    described_source = dataset
    if predictions is None:
        from rightreasons.models.heads import read_labels

        for label in read_labels(model):
            label_settings[label] = {"target": label}
    else:
        stored = select_options(StoredOptions, options)
        columns, kind, has_headings = list_label_scores(
            predictions, label_names=parse_names(general.label_names), options=stored
        )
        for label, column in columns.items():
            label_settings[label] = {
                "score_columns": format_names([column]),
                "scores": kind,
                # `target` selects a label of a model. For a file, `score_columns` does so.
                "target": None,
            }
        # The file of predictions may contain the labels.
        if dataset is None:
            described_source = predictions

    description = read_description(described_source)
    label_columns = write_label_expressions(
        _open_tables(description, general),
        list(label_settings),
        general.label_column or description.settings.get("label_column"),
        name_source(description),
        first=general.first_label,
        headings=has_headings,
    )
    for label, values in label_settings.items():
        values["label_column"] = label_columns[label]
        values["label_names"] = format_names((f"not {label}", label))
        # The column of each label contains 0 and 1, whether the user's labels begin with 0 or 1.
        values["first_label"] = None
    return label_settings


def _open_tables(description: Any, options: AuditOptions) -> list[Any]:
    """Return the tables of all splits of data; of data without splits, its only table."""
    opened = as_table(description, options.config, data_dir=options.data_dir)
    if isinstance(opened, dict):
        return list(opened.values())
    return [opened]


def has_several_labels(dataset: Any, settings: Mapping[str, Any]) -> bool:
    """Return whether some items have several labels, as a list or as a string such as "4,27".

    Args:
        dataset: The data: a path, a name, or an object in memory.
        settings: Options of the audit, by name, such as the column of labels.
    """
    options = select_options(AuditOptions, settings)
    description = read_description(dataset)
    # All splits have the same columns, so that one of them is enough.
    table = _open_tables(description, options)[0]
    column = options.label_column or description.settings.get("label_column")
    if not column:
        column = find_usual_column(table.column_names, LABEL_HEADINGS)
    column = str(column)
    if column not in table.column_names:
        return False
    cells = get_values(table, column)
    try:
        for cell in select_single_labels(cells, column):
            labels = list_labels(cell)
            # A string with commas is a list of labels if all parts are numbers, or if the user
            # selects one of them. Otherwise, it may be the name of a single label.
            is_list = options.target in labels or all(map(str.isdecimal, labels))
            if len(labels) > 1 and is_list:
                return True
    except OptionError:
        # `select_single_labels` refuses a list of several labels, unlike a list of votes.
        return True
    return False


LABELS = Question(
    name="labels",
    prose=sentences("labels"),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("labels", (Table("labels", lambda m: m.rows()),)),),
)
