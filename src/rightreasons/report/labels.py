"""Several labels per item: an audit of each label, a question with two answers, and all of them in one table."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rightreasons.audited.splits import safe_name
from rightreasons.core.errors import OptionError, format_error, make_unknown_name_error
from rightreasons.core.estimates import Estimate
from rightreasons.core.options import format_names, parse_names
from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import check_folder
from rightreasons.io.columns import (
    each_label,
    labels_in,
    one_label_each,
    values_of,
)
from rightreasons.io.headings import LABEL_HEADINGS, find_usual_column
from rightreasons.io.opened_columns import name_source
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.io.predictions import each_score
from rightreasons.io.reading import as_table, described
from rightreasons.models.wording import Prompt
from rightreasons.page import parts as p
from rightreasons.page.prose import short_name
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.report.figures import AuditFigure, sort_answers
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.request import resolve_inputs, select_options
from rightreasons.report.runner import AuditResult, audit

ALL = "all"
"""The target that is every label."""

LABELS_FILE = "labels.json"

MEANT = ("fraction", "nats", "ratio")
"""Units of figures that have a mean over labels."""

MOST_FIGURES = 3
"""Figures of one question that the page and the console show; labels.json has all of them."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelAudits(Result):
    """The audits of several labels, and the means of their figures.

    Attributes:
        out: The folder, with a page, labels.json and the report of each label in a folder of its own.
        figures: Label -> path -> figure.
        verdicts: Label -> question -> the label of its verdict.
        failed: Label -> why there is no audit of it.
        macro: Path -> mean of the figure over the labels that have it. The ends of its interval are the means of
            theirs: labels share their items, and its standard error is at most the mean of theirs.
    """

    out: Path = dataclasses.field(metadata=NOT_SERIALIZED)
    figures: Mapping[str, Mapping[str, AuditFigure]]
    verdicts: Mapping[str, Mapping[str, str]]
    failed: Mapping[str, str]
    macro: Mapping[str, Estimate]

    @functools.cached_property
    def shown(self) -> list[AuditFigure]:
        """The first figures of each question, of whichever label has them."""
        known = {
            path: figure
            for each in self.figures.values()
            for path, figure in each.items()
            if path in self.macro
        }
        questions: dict[str, list[AuditFigure]] = {}
        for figure in known.values():
            questions.setdefault(figure.question, []).append(figure)
        return [figure for each in questions.values() for figure in each[:MOST_FIGURES]]

    def rows(self) -> Iterator[tuple[p.Cell, ...]]:
        """Yield the mean over labels and each label: its name, the figures that are shown, and its verdicts."""
        yield (
            "mean over labels",
            *(p.Amount(self.macro[each.path], each.unit) for each in self.shown),
            "",
        )
        for name, by_path in self.figures.items():
            cells = (
                p.Amount(by_path[each.path].estimate, each.unit) if each.path in by_path else None
                for each in self.shown
            )
            yield name, *cells, "; ".join(self.verdicts[name].values())


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

    Each label is a question of its own with the classes "not LABEL" and "LABEL", and `rightreasons.audit` answers it: a
    model reads the items once per label. A label that cannot be audited, such as one that no item has, does not stop
    the others.

    Args:
        model: A folder or a hub id of a multi-label classifier; None with `predictions`.
        dataset: As in `audit`. Its labels are a column of 0 and 1 for each label, or one column (`label_column`) of
            names or numbers: lists, texts such as "4,27", objects, or lists of 0 and 1.
        target: Comma-separated labels; "all" for all of them.
        out: The folder: a page, labels.json, and a report for each label.
        tell: As in `audit`.
        **settings: As in `audit`.

    Returns:
        The figures and verdicts of each label, and the means over labels.

    Raises:
        ValueError: If there are not several labels, one is unknown, or none can be audited.
    """
    if isinstance(settings.get("label_names"), (list, tuple)):
        settings["label_names"] = format_names(settings["label_names"])
    model, dataset, predictions = resolve_inputs(
        model, dataset, settings.pop("predictions", None), StoredOptions(), Prompt()
    )
    settings |= {} if predictions is None else {"predictions": predictions}
    questions = label_questions(model, dataset, settings)
    names = (
        list(questions)
        if target == ALL
        else [target]
        if target in questions
        else parse_names(target) or []
    )
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in questions:
            raise make_unknown_name_error("label", name, [*questions, ALL])
    folder = check_folder(out, own=(LABELS_FILE, PAGE, *map(safe_name, questions)))
    written: dict[str, AuditResult] = {}
    failed: dict[str, str] = {}
    for number, name in enumerate(names, start=1):
        if tell is not None:
            tell(f"{name} ({number}/{len(names)})")
        try:
            how = {**settings, **questions[name]}
            result = audit(model, dataset, out=folder / safe_name(name), tell=tell, **how)
        except ValueError as error:
            failed[name] = format_error(error)
            continue
        if result.written:
            written[name] = result
    if len(failed) == len(names):
        raise ValueError(next(iter(failed.values())))
    figures = {name: result.figures for name, result in written.items()}
    verdicts = {
        name: {
            answer["question"]: answer["result"]["verdict"]["label"]
            for answer in sort_answers(result.audit)
        }
        for name, result in written.items()
    }
    of_path: dict[str, list[Estimate]] = {}
    for figure in (
        figure
        for by_path in figures.values()
        for figure in by_path.values()
        if figure.unit in MEANT
    ):
        if figure.estimate.value is not None:
            of_path.setdefault(figure.path, []).append(figure.estimate)
    macro = {path: _mean(estimates) for path, estimates in of_path.items()}
    found = LabelAudits(folder, figures, verdicts, failed, macro)
    if figures:
        source = model if predictions is None else predictions
        name = short_name(str(source)) if isinstance(source, (str, os.PathLike)) else "the table"
        page = Page(
            title=f"{name}: {pluralize(len(figures), 'label')}",
            heading=f"Each label of {name}",
            facts=[
                ("labels", str(len(figures))),
                *([("data", short_name(dataset))] if isinstance(dataset, str) else []),
            ],
            outcomes=[
                Outcome("labels", "Each label separately", "answered", "", LABELS.answer(found))
            ],
            made=[(label, f"report {safe_name(label)}") for label in figures],
            files=[(f"{safe_name(label)}/{PAGE}", label) for label in figures],
        )
        write_page(folder, page, {LABELS_FILE: found.to_dict()})
    return found


def label_questions(
    model: Any, dataset: Any, settings: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return, for each label, the settings of an audit of it alone.

    Args:
        model: As in `audit_labels`.
        dataset: As in `audit_labels`.
        settings: As in `audit`; `label_names` are those of the labels in the order of their numbers.
    """
    predictions = settings.get("predictions")
    named = {
        name: value for name, value in settings.items() if name != "predictions"
    }  # which may be a table
    given, stored = select_options(AuditOptions, named), select_options(StoredOptions, named)
    if predictions is None:
        from rightreasons.models.loading import labels_of

        its: dict[str, dict[str, str | None]] = {
            name: {"target": name} for name in labels_of(model)
        }
        headings = False
    else:
        scores, kind, headings = each_score(
            predictions, label_names=parse_names(given.label_names), options=stored
        )
        its = {
            name: {"score_columns": format_names([column]), "scores": kind, "target": None}
            for name, column in scores.items()
        }
    description = described(predictions if dataset is None else dataset)
    opened = as_table(description, given.config, data_dir=given.data_dir)
    columns = each_label(
        list(opened.values()) if isinstance(opened, dict) else [opened],
        list(its),
        given.label_column or description.given.get("label_column"),
        name_source(description),
        first=given.first_label,
        headings=headings,
    )
    both = {name: format_names((f"not {name}", name)) for name in its}
    return {
        name: {
            **options_here,
            "label_column": columns[name],
            "label_names": both[name],
            "first_label": None,
        }
        for name, options_here in its.items()
    }


def have_several(dataset: Any, settings: Mapping[str, Any]) -> bool:
    """Tell whether items have several labels each, as their column shows: lists of them, or texts that list them."""
    given = select_options(AuditOptions, settings)
    description = described(dataset)
    opened = as_table(description, given.config, data_dir=given.data_dir)
    part = next(iter(opened.values())) if isinstance(opened, dict) else opened
    column = str(
        given.label_column
        or description.given.get("label_column")
        or find_usual_column(part.column_names, LABEL_HEADINGS)
    )
    if column not in part.column_names:
        return False
    cells = values_of(part, column)
    try:
        parts = (labels_in(cell) for cell in one_label_each(cells, column))
        return any(
            len(names) > 1 and (given.target in names or all(map(str.isdecimal, names)))
            for names in parts
        )
    except OptionError:  # lists that are no shares or votes
        return True


# ------------------------------------------------------------------------------------------------------------- private


def _mean(estimates: list[Estimate]) -> Estimate:
    """Return the mean of figures, with the means of the ends of their intervals."""
    ends = [
        None
        if None in (values := [getattr(each, end) for each in estimates])
        else sum(values) / len(values)
        for end in ("value", "low", "high")
    ]
    return Estimate(
        ends[0], ends[1], ends[2], estimates[0].level, "means of the ends of the labels' intervals"
    )


LABELS = Question(
    name="labels",
    prose=sentences("labels"),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("labels", (Table("labels", lambda m: m.rows()),)),),
)
