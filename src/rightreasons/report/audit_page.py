"""The page of an audit: its facts, its answers, and what could not be answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.audited.context import AuditContext
from rightreasons.page.formats import short_name
from rightreasons.page.parts import Column, ItemFigure, Table
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.items.listing import collect_items
from rightreasons.report.items.values import get_items_path
from rightreasons.report.messages import list_split_accuracies
from rightreasons.report.outcomes import Outcome, sort_worst_first
from rightreasons.report.render import Page, render_page, sentences
from rightreasons.report.row_doubts import AuditedRows
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
    """Render the page of an audit.

    Args:
        context: The audit, scored.
        record: Content of audit.json.
        outcomes: The questions with their answers.
        command: Command that makes the page again.
        answers: How many answers are correct, from `measure_answers`.
        audited_rows: Doubts about the rows, from `check_audited_rows`; None to show none.
    """
    subject = short_name(_get_model_name(context))
    prose = WORDS.of(
        context=context,
        record=record,
        outcomes=outcomes,
        command=command,
        answers=answers,
        split_accuracies=list_split_accuracies(context),
    )
    figures: list[ItemFigure] = []
    # The items are about the finding of the headline first.
    for _, result in sort_worst_first(outcomes):
        figures += result.by_item
    made_tables, answer_tables = _divide_answer_tables(context, answers)
    return render_page(
        Page(
            title=f"Audit of {subject} on {context.dataset_name}",
            heading=f"Is {subject} right for the right reasons?",
            facts=prose.pairs("facts"),
            outcomes=outcomes,
            prompt=_describe_prompt(context, record, answers),
            made=prose.pairs("made"),
            made_tables=made_tables + _list_missing(context),
            answer_tables=answer_tables,
            command=command,
            subject=subject,
            items=collect_items(context, figures),
            files=prose.pairs("files"),
            rows=audited_rows,
        )
    )


def _get_model_name(context: AuditContext) -> str:
    """Return the name of the model; of stored predictions, the name in the log if it has one."""
    # A file of predictions has the name of the file, and a log names the model.
    if context.stored is not None and context.stored.logged[0]:
        return context.stored.logged[0]
    return context.source.name


def _describe_prompt(
    context: AuditContext, record: Mapping[str, Any], answers: AnswerFigures | None
) -> dict[str, Any] | None:
    """Return what the page states about the prompt; None if no prompt was used."""
    # A prompted model that no question asked for scores has no prompt in the record.
    if context.prompted is None or record["model"]["prompt"] is None:
        return None
    accuracy = ""
    # No section gives the accuracy of generated answers, because they have no confidence.
    if answers is not None and context.answers_once:
        accuracy = answers.sentence
    return {"told": context.prompted.describe(), "right": accuracy, "server": context.server}


def _divide_answer_tables(
    context: AuditContext, answers: AnswerFigures | None
) -> tuple[list[Table], list[Table]]:
    """Return the tables about the answers: those of the provenance, and those with a separate place."""
    if answers is None:
        return [], []
    # A log of drawn answers shows most by its answers.
    if context.stored is not None and context.answers_once:
        return [], answers.list_tables()
    return answers.list_tables(), []


def _list_missing(context: AuditContext) -> list[Table]:
    """Return the tables of excluded items and of failed requests."""
    tables = []
    # Each split excludes its own items.
    excluded = []
    for split in context.splits:
        for item_id, reason in split.left_out:
            excluded.append((split.name, item_id, reason))
    if excluded:
        title = "Items that the model could not score, which no figure counts"
        tables.append(Table("left_out", title, LEFT_OUT, tuple(excluded)))
    failed = list_failed_requests(context)
    if failed:
        title = "Requests of the questions that have no answer"
        tables.append(Table("failed", title, FAILED, tuple(failed)))
    return tables
