"""The page of an audit: its facts, its answers, and what could not be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.page.formats import describe_range, short_name
from rightreasons.page.parts import Column, Table
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.items.columns import select_columns
from rightreasons.report.items.listing import collect_items
from rightreasons.report.items.values import get_items_path
from rightreasons.report.messages import list_split_accuracies
from rightreasons.report.outcomes import Outcome, sort_worst_first
from rightreasons.report.render import Page, render_page, sentences
from rightreasons.report.row_doubts import AuditedRows
from rightreasons.report.schema import describe_subject
from rightreasons.report.unread import list_failed_requests

WORDS = sentences("audit", items_file=get_items_path)
"""Statements of the page in addition to the answers."""

LEFT_OUT = (
    Column("split", "Split", "text"),
    Column("id", "Item", "text"),
    Column("reason", "Reason", "text"),
)

FAILED = (
    Column("reason", "Reason", "text"),
    Column("n", "Requests", "count"),
    Column("first", "Such as", "text"),
)


def render_audit(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    command: str,
    answers: AnswerFigures | None,
    audited_rows: AuditedRows | None = None,
) -> str:
    """Render the page of an audit as HTML.

    Args:
        context: The audit, scored.
        record: Content of audit.json.
        outcomes: The questions with their answers.
        command: Command that makes the page again.
        answers: The accuracy of the answers, from `measure_answers`; None if it is not known.
        audited_rows: Doubts about the rows, from `check_audited_rows`; None to show none.
    """
    name = short_name(_get_model_name(context))
    title = f"Audit of {name}"
    data_name = short_name(context.dataset_name)
    # A file of stored predictions may contain the data, too.
    if name != data_name:
        title += f" on {data_name}"
    prose = WORDS.of(
        context=context,
        record=record,
        outcomes=outcomes,
        command=command,
        answers=answers,
        split_accuracies=list_split_accuracies(context),
        choices=_describe_choices(context),
    )
    # The list of items opens with the figure that the worst finding names.
    results = [result for _, result in sort_worst_first(outcomes)]
    provenance_tables = []
    answer_tables = []
    if answers is not None and _is_about_answers(context):
        answer_tables = answers.list_tables()
    elif answers is not None:
        provenance_tables = answers.list_tables()
    page = Page(
        title=title,
        heading=f"Is {name} right for the right reasons?",
        facts=prose.pairs("facts"),
        outcomes=outcomes,
        prompt=_describe_prompt(context, record, answers),
        made=prose.pairs("made"),
        made_tables=provenance_tables + _make_exclusion_tables(context),
        answer_tables=answer_tables,
        command=command,
        subject=describe_subject(record),
        items=collect_items(context, select_columns(results)),
        files=prose.pairs("files"),
        rows=audited_rows,
    )
    return render_page(page)


def _get_model_name(context: AuditContext) -> str:
    """Return the name of the model; for stored predictions, the name in their log if it has one."""
    if context.stored is not None:
        logged_model, _ = context.stored.logged
        if logged_model:
            return logged_model
    # Stored predictions without a log are named after their file.
    return context.source.name


def _describe_choices(context: AuditContext) -> dict[str, Any] | None:
    """Return how many choices the items have, and how often a random guess is correct.

    Args:
        context: The audit.

    Returns:
        `counts`, such as "4" or "2 to 5", and `guessing`, the expected accuracy of a random guess.
        None for data without choices.
    """
    if not context.primary.choices:
        return None
    # Items may have different numbers of choices.
    sizes = np.array(list(map(len, context.primary.choices)))
    return {
        "counts": describe_range(sizes.tolist()),
        "guessing": float((1 / sizes).mean()),
    }


def _describe_prompt(
    context: AuditContext, record: Mapping[str, Any], answers: AnswerFigures | None
) -> dict[str, Any] | None:
    """Return the variables of the template that describe the prompt of a language model.

    Args:
        context: The audit, scored.
        record: Content of audit.json.
        answers: The accuracy of the answers; None if it is not known.

    Returns:
        `told`, the prompt; `right`, a paragraph about the accuracy of the answers if no section has
        it, or else ""; and `server`, the server of the model, None for a local one. None if no
        prompt was used.
    """
    # If no question reads scores, a prompted model is not sent this prompt.
    if context.prompted is None or record["model"]["prompt"] is None:
        return None
    accuracy = ""
    # No section has the accuracy of generated answers, because they have no confidence.
    if answers is not None and context.answers_once:
        accuracy = answers.sentence
    return {"told": context.prompted.describe(), "right": accuracy, "server": context.server}


def _is_about_answers(context: AuditContext) -> bool:
    """Return whether the page shows the tables of answers in a separate place.

    This is so for a log of generated answers, about which most questions show nothing.
    """
    return context.stored is not None and context.answers_once


def _make_exclusion_tables(context: AuditContext) -> list[Table]:
    """Return a table of the items without scores, and one of the failed requests.

    A table without rows is omitted.
    """
    tables = []
    excluded = []
    for split in context.splits:
        for item_id, reason in split.left_out:
            excluded.append((split.name, item_id, reason))
    if excluded:
        title = "Excluded items, which the model could not score"
        tables.append(Table("left_out", title, LEFT_OUT, tuple(excluded)))
    # Unlike an excluded item, a failed request of a question leaves the item in other figures.
    failed = list_failed_requests(context)
    if failed:
        title = "Failed requests"
        tables.append(Table("failed", title, FAILED, tuple(failed)))
    return tables
