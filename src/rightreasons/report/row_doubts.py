"""Checks of the rows of an audit: doubtful rows make its figures invalid.

`check_audited_rows` checks the rows of the primary split. `withhold_by_rows` replaces good and bad
verdicts while a doubt is open.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.audited.repeats import check_repeated_scores
from rightreasons.core.arrays import Ragged
from rightreasons.core.labels.class_order import suggest_class_order
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.io.logs import LACK, PICKED, UNREAD
from rightreasons.io.row_checks import (
    Outcomes,
    RowDoubt,
    RowRoles,
    RowTable,
    check_rows,
    describe_unused_columns,
)
from rightreasons.io.row_codes import COPIED_ROW, REPEATED_ID
from rightreasons.page.parts import SectionResult, Verdict

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit

TEXTS = ("text", "text_pair", "prompt", "choices")
"""Columns of the common schema that make up the input of a model."""

OURS = (
    UNREAD,
    LACK,
    PICKED,
    "source_id",
    "pair_id",
    "mirrored",
    "planted",
    "content_label",
    "cue_label",
    "text",
    "text_pair",
    "prompt",
    "choices",
    "id",
)
"""Further columns that have a meaning for an audit."""


@dataclasses.dataclass(frozen=True)
class AuditedRows:
    """What the checks of the rows of an audit found.

    Attributes:
        doubts: The findings, open ones first.
        unused: The columns of few values that no question uses, with their counts, in a sentence.
    """

    doubts: tuple[RowDoubt, ...] = ()
    unused: str = ""

    @property
    def open_doubts(self) -> list[RowDoubt]:
        """The doubts that withhold good and bad verdicts."""
        return [doubt for doubt in self.doubts if doubt.is_open]

    @property
    def class_order(self) -> str:
        """The doubt about the order of the classes in a sentence; "" for none."""
        for doubt in self.doubts:
            if doubt.check == "class_order":
                return doubt.sentence
        return ""

    @property
    def lines(self) -> list[str]:
        """All findings as lines for the console."""
        lines = [f"Rows: {doubt.in_words}" for doubt in self.open_doubts]
        lines += [f"Note: {doubt.in_words}" for doubt in self.doubts if not doubt.is_open]
        if self.unused:
            lines.append(self.unused)
        return lines

    def to_record(self) -> dict[str, Any]:
        """Return the findings in the format of audit.json."""
        return {"doubts": [doubt.to_dict() for doubt in self.doubts], "unused": self.unused}


def check_audited_rows(context: AuditContext) -> AuditedRows:
    """Check the rows of the primary split, and which of them the model answers correctly.

    Args:
        context: The audit, scored if any question reads scores.

    Raises:
        ValueError: If the scores of an item depend on the other items.
    """
    split = context.primary
    roles = _assign_roles(context, split)
    table = RowTable(split.data, roles, judge_answers(context), context.train)
    # A user may have settled a check in data.yaml, which is then skipped.
    doubts = check_rows(table, context.settings.settled_checks)
    doubts += check_repeated_scores(context)
    return AuditedRows(tuple(doubts), describe_unused_columns(table))


def judge_answers(context: AuditContext) -> Outcomes | None:
    """Return which answers to the labeled items of the primary split are correct.

    Args:
        context: The audit, scored if any question reads scores.

    Returns:
        The outcomes; for a classifier, with the labels and the predicted classes. None if no item
        has a label, or the model has no scores.
    """
    split = context.primary
    if not context.has_scores(split) or not split.labeled.any():
        return None
    scores = context.scores(split)
    labels = split.labels[split.labeled]
    rows = np.flatnonzero(split.labeled)
    is_stored = context.stored is not None
    order_doubt = ""
    if context.stored is not None:
        order_doubt = context.stored.order_doubt
    # In this task, the label is 1 if a given answer is correct.
    if context.task == "confidence":
        return Outcomes(labels == 1, rows=rows, order_doubt=order_doubt, is_stored=is_stored)
    predicted = scores.predicted[split.labeled]
    # Choice 0 of one item has nothing to do with choice 0 of another: there are no classes.
    if context.task == "multiple_choice" or isinstance(scores.logits, Ragged):
        return Outcomes(predicted == labels, rows=rows, is_stored=is_stored)
    if not order_doubt:
        order_doubt = doubt_class_order(context)
    class_names = context.label_names or ()
    # The labels are numbered as the classes of the model, whatever the data calls them.
    return Outcomes(
        is_correct=predicted == labels,
        rows=rows,
        labels=np.asarray(labels, dtype=np.int64),
        answers=np.asarray(predicted, dtype=np.int64),
        gold=np.asarray(labels, dtype=np.int64),
        n_classes=len(class_names),
        order_doubt=order_doubt,
        is_stored=is_stored,
    )


def doubt_class_order(context: AuditContext) -> str:
    """Return a doubt if another order of the classes would fit the labels far better; "" for none.

    There is no doubt if labels were matched with classes by name.

    Args:
        context: The audit, with scores of its primary split.
    """
    split = context.primary
    if split.class_of is None or not split.label_mapping.startswith(BY_NUMBER):
        return ""
    scores = context.scores(split)
    # Items with different numbers of choices have no classes.
    if isinstance(scores.logits, Ragged) or scores.labels is None:
        return ""
    return suggest_class_order(scores.logits, scores.labels, scores.label_names)


def withhold_by_rows(result: SectionResult, rows: AuditedRows) -> SectionResult:
    """Replace a good or bad verdict by a neutral one if a doubt about the rows is open.

    Args:
        result: The answer to a question, with its verdict.
        rows: Findings of the checks of the rows. An open doubt is one that the user has not
            settled, such as many repeated ids.

    Returns:
        The answer, whose verdict states the doubt if it is replaced.
    """
    if not rows.open_doubts or result.verdict.tone not in ("good", "bad"):
        return result
    # One doubt is enough to withhold; the page lists all of them.
    doubt = rows.open_doubts[0]
    summary = (
        f"{doubt.sentence} Until that is settled, no verdict is given. With the present rows, "
        f"it would be: {result.verdict.label}. {result.verdict.summary}"
    )
    verdict = Verdict("neutral", "Check the rows first", summary)
    return dataclasses.replace(result, verdict=verdict, finding=None)


def _assign_roles(context: AuditContext, split: AuditSplit) -> RowRoles:
    """Return which columns of a split contain its texts, labels and ids, for the checks of rows.

    Args:
        context: The audit.
        split: The split, whose columns have the names of the common schema, such as "text".
    """
    columns = split.data.column_names
    text_columns = tuple(name for name in TEXTS if name in columns)
    # In the task "confidence", the label is whether an answer is correct, not what the text is
    # about.
    label_column = ""
    if "label" in columns and context.task != "confidence":
        label_column = "label"
    # A file of predictions may have any names of columns. Those that were read are no unused ones.
    used_columns: tuple[str, ...] = ()
    if context.stored is not None:
        used_columns = context.stored.columns_used
    groups_column = split.groups_column or ""
    return RowRoles(
        text=text_columns,
        label=label_column,
        id=_find_name(REPEATED_ID, columns),
        copied_row=_find_name(COPIED_ROW, columns),
        further=(*OURS, *used_columns, "label", groups_column),
        has_known_copies=True,
        item_id="id",
        has_positions=label_column != "",
    )


def _find_name(name: str, names: Sequence[str]) -> str:
    """Return a name if it is among others, or else ""."""
    return name if name in names else ""
