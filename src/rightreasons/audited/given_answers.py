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
        clusters: (N,) names of the samples or groups; None for independent items.
        task: Task of the audit; predictions of "multiple_choice" are positions of choices.
        unserved: Reason -> number of further items whose request failed, was filtered, or was
            refused. They are not among the N, as they say nothing about the model's answers.
        used_columns: Columns of a file of predictions that say what the answers are, or which of
            them are correct.
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
        # Usually all rows count. The rows as a list would be an object of Python for each.
        if len(self.rows) == len(values):
            return values
        # A column is a list of any values, which numpy cannot index.
        return [values[row] for row in self.rows]

    def measure_texts(self, name: str) -> NDArray[np.int64]:
        """Return the N lengths of a column of texts, in characters; none if there is no such column."""
        import pyarrow.compute as pc

        from rightreasons.io.columns import get_arrow_column

        if name not in self.split.data.column_names:
            return np.zeros(0, dtype=np.int64)
        # Measured in place: a million items have no text of Python each.
        lengths = pc.utf8_length(get_arrow_column(self.split.data, name))
        numbers = np.asarray(pc.fill_null(lengths, 0), dtype=np.int64)
        return numbers[self.rows]


def collect_answers(context: AuditContext) -> GivenAnswers | None:
    """Return the answers to the primary split; None if no label is known, or no answer."""
    answered = context.primary
    if not context.has_scores(answered) or not answered.labeled.any():
        return None
    # Items whose answer cannot be read were excluded, and are put back in their places.
    split = answered.before_exclusion or answered
    reasons = dict(answered.left_out)
    picks = np.full(len(split), NO_ANSWER, dtype=np.int64)
    is_correct = np.zeros(len(split), dtype=np.bool_)
    is_answered = np.ones(len(split), dtype=np.bool_)
    # Without exclusions, which is usual, the ids of a million items are not read.
    if reasons:
        is_answered = ~np.isin(split.ids, list(reasons))
    scores = context.scores(answered)
    picks[is_answered] = scores.predicted
    if context.task == "confidence":
        is_correct[is_answered] = answered.labels == 1
    elif context.stored is not None and context.stored.answers_once:
        is_correct[is_answered] = get_correctness(answered, scores)
    else:
        is_correct[is_answered] = scores.predicted == answered.labels

    unserved_ids: set[str] = set()
    if context.prompted is not None:
        unserved_ids = context.prompted.unserved
    is_asked = np.ones(len(split), dtype=np.bool_)
    n_by_reason: Counter[str] = Counter()
    for row in np.flatnonzero(split.labeled & ~is_answered).tolist():
        name = split.ids[row]
        # Nothing was asked about an item without words.
        is_asked[row] = reasons[name] != NO_WORDS and name not in unserved_ids
        if name in unserved_ids:
            n_by_reason[shorten_reason(reasons[name])] += 1
    rows = np.flatnonzero(split.labeled & is_asked)
    used_columns: tuple[str, ...] = ()
    if context.stored is not None:
        used_columns = context.stored.columns_used
    clusters = split.clusters
    return GivenAnswers(
        split=split,
        rows=rows,
        labels=split.labels[rows],
        picks=picks[rows],
        is_correct=is_correct[rows],
        reasons=_list_reasons(split, reasons, rows),
        clusters=None if clusters is None else clusters[rows],
        task=context.task,
        unserved=dict(n_by_reason.most_common()),
        used_columns=used_columns,
    )


def _list_reasons(split: AuditSplit, reasons: dict[str, str], rows: NDArray[np.int64]) -> list[str]:
    """Return why each answer cannot be read, by the log or by the model; "" if it can."""
    # The log of a harness has its own reasons.
    from_log = split.column(LACK)
    if from_log is not None:
        return [from_log[row] for row in rows.tolist()]
    if not reasons:
        return [""] * len(rows)
    return [shorten_reason(reasons.get(split.ids[row], "")) for row in rows.tolist()]


def shorten_reason(reason: str) -> str:
    """Return a reason without the text that it quotes, which differs from item to item."""
    if reason.startswith("no answer in"):
        return NO_READABLE_ANSWER
    return reason
