"""The answers of a model to the labeled items of an audit, with those that cannot be read.

`collect_answers` puts them in one place, so that a figure counts an unreadable answer as incorrect,
as harnesses do, and still knows its position, its epoch and its group.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.choice_logs import get_correctness
from rightreasons.io.logs import LACK, NO_READABLE_ANSWER
from rightreasons.models.running import NO_WORDS

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit
    from rightreasons.core.scores import Scores

NO_ANSWER = -1
"""Pick of an item without an answer that can be read."""


@dataclasses.dataclass(frozen=True, eq=False)
class GivenAnswers:
    """Answers to the N labeled items that the model was asked.

    Attributes:
        split: The split with all its items.
        rows: (N,) rows of the split.
        labels: (N,) labels.
        picks: (N,) predictions, -1 for an answer that cannot be read.
        is_correct: (N,) whether the answer is correct; one that cannot be read is not.
        reasons: N reasons why an answer cannot be read, "" if it can.
        clusters: (N,) numbers of the samples or groups; None if the items are independent.
        task: Task of the audit; predictions of "multiple_choice" are positions of choices.
        unserved: Reason -> number of further items whose request failed, was filtered, or was
            refused. They are not among the N items, because they have no answer of the model.
        used_columns: Columns of a file of predictions from which the answers, or whether they are
            correct, were read.
    """

    split: AuditSplit
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    picks: NDArray[np.int64]
    is_correct: NDArray[np.bool_]
    reasons: list[str]
    clusters: NDArray[Any] | None
    task: str
    unserved: Mapping[str, int] = dataclasses.field(default_factory=dict)
    used_columns: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_multiple_choice(self) -> bool:
        """Whether predictions are positions of choices."""
        return self.task == "multiple_choice"

    @property
    def is_read(self) -> NDArray[np.bool_]:
        """(N,) whether each answer can be read."""
        return np.asarray(np.array(self.reasons, dtype=object) == "", dtype=np.bool_)

    @property
    def has_epochs(self) -> bool:
        """Whether the log contains several answers to the same item."""
        return self.clusters is not None and self.split.column("source_id") is not None

    def column(self, name: str) -> list[Any] | None:
        """Return the N values of a column of the data; None if there is no such column."""
        values = self.split.column(name)
        if values is None:
            return None
        # Usually the answers are about all rows of the split, so that nothing has to be selected.
        if len(self.rows) == len(values):
            return values
        return [values[row] for row in self.rows]

    def measure_texts(self, name: str) -> NDArray[np.int64]:
        """Return the lengths of the texts in a column, in characters.

        Args:
            name: Name of the column.

        Returns:
            (N,) lengths, 0 for a missing text; (0,) if there is no such column.
        """
        import pyarrow.compute as pc

        from rightreasons.io.columns import get_arrow_column

        if name not in self.split.data.column_names:
            return np.zeros(0, dtype=np.int64)
        # Arrow measures a million texts without making a Python string of each.
        lengths = pc.utf8_length(get_arrow_column(self.split.data, name))
        numbers = np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)
        return numbers[self.rows]


def collect_answers(context: AuditContext) -> GivenAnswers | None:
    """Collect the answers to the labeled items of the primary split, with those that cannot be read.

    An answer that cannot be read counts as incorrect. Items without an answer are excluded: those
    without a text, and those whose request failed, was filtered, or was refused.

    Args:
        context: The audit with its scores.

    Returns:
        The answers, and the numbers of failed requests by reason; None if no item has a label, or
        the split has no scores.
    """
    scored = context.primary
    if not context.has_scores(scored) or not scored.labeled.any():
        return None
    # Items that the model could not score were excluded from the split, and are put back here.
    split = scored.before_exclusion or scored
    reason_by_id = dict(scored.left_out)
    is_scored = np.ones(len(split), dtype=np.bool_)
    # Usually no item was excluded, and the ids of a million items need not be read.
    if reason_by_id:
        is_scored = ~np.isin(split.ids, list(reason_by_id))
    scores = context.scores(scored)
    picks = np.full(len(split), NO_ANSWER, dtype=np.int64)
    picks[is_scored] = scores.predicted
    is_correct = np.zeros(len(split), dtype=np.bool_)
    is_correct[is_scored] = _find_correct(context, scored, scores)

    # An item without a score has an unreadable answer, unless it has no words (`NO_WORDS`) or its
    # request was not served. The latter are counted by their reasons.
    unserved_ids: set[str] = set()
    if context.prompted is not None:
        unserved_ids = context.prompted.unserved
        # The reason of an unread reply quotes the reply, which differs from item to item.
        reason_by_id |= dict.fromkeys(
            reason_by_id.keys() & context.prompted.unread, NO_READABLE_ANSWER
        )
    is_asked = np.ones(len(split), dtype=np.bool_)
    n_by_reason: Counter[str] = Counter()
    for row in np.flatnonzero(split.labeled & ~is_scored).tolist():
        item_id = split.ids[row]
        is_unserved = item_id in unserved_ids
        is_asked[row] = reason_by_id[item_id] != NO_WORDS and not is_unserved
        if is_unserved:
            n_by_reason[reason_by_id[item_id]] += 1

    rows = np.flatnonzero(split.labeled & is_asked)
    clusters = split.clusters
    used_columns: tuple[str, ...] = ()
    if context.stored is not None:
        used_columns = context.stored.columns_used
    return GivenAnswers(
        split=split,
        rows=rows,
        labels=split.labels[rows],
        picks=picks[rows],
        is_correct=is_correct[rows],
        reasons=_list_reasons(split, reason_by_id, rows),
        clusters=None if clusters is None else clusters[rows],
        task=context.task,
        # The most frequent reason comes first.
        unserved=dict(n_by_reason.most_common()),
        used_columns=used_columns,
    )


def _find_correct(context: AuditContext, split: AuditSplit, scores: Scores) -> NDArray[np.bool_]:
    """Return (N,) whether the answer to each of the N scored items of a split is correct.

    Args:
        context: The audit.
        split: Split with the N items.
        scores: Scores of the N items.
    """
    if context.task == "confidence":
        # In this task, the label is 1 if the given answer is correct.
        return np.asarray(split.labels == 1)
    if context.stored is not None and context.stored.answers_once:
        return get_correctness(split, scores)
    return np.asarray(scores.predicted == split.labels)


def _list_reasons(
    split: AuditSplit, reason_by_id: Mapping[str, str], rows: NDArray[np.int64]
) -> list[str]:
    """Return the reason why the answer to each item cannot be read; "" if it can.

    Args:
        split: The split.
        reason_by_id: Id -> reason, for the items that the model could not score.
        rows: (N,) rows of the items in the split.

    Returns:
        N reasons.
    """
    # The log of a harness may contain a reason for each item.
    logged_reasons = split.column(LACK)
    if logged_reasons is not None:
        return [logged_reasons[row] for row in rows.tolist()]
    # Usually there are no failures, and the ids of a million items need not be read.
    if not reason_by_id:
        return [""] * len(rows)
    reasons = []
    for row in rows.tolist():
        reasons.append(reason_by_id.get(split.ids[row], ""))
    return reasons
