"""What a file of predictions holds: scores and labels, the confidence in answers, or answers alone.

`Predictions` come with labels, or with whether each answer is correct; `ModelAnswers` belong to items that are stored
elsewhere.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.labels.mapping import LabelRow
from rightreasons.core.labels.matching import describe_match
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_list
from rightreasons.io.columns import Columns, read_names
from rightreasons.io.headings import PREDICTION_HEADINGS, find_usual_column
from rightreasons.io.roles import Role


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A table of predictions for the calibration kernels, which check its values.

    Attributes:
        predictions: (N, K) scores, (N,) P(class 1), or N rows of different lengths. For kind="confidence": (N,)
            confidence in the given answer.
        references: (N,) labels, -1 for none. For kind="confidence": (N,) booleans, whether the answer was
            right, which no kernel takes for labels. None if they are not read.
        label_names: K class names where the columns have them, or else None.
        scores: The kind of score that an option or the column names state ("probabilities", "logits",
            "log_probabilities"), or None.
        kind: "top_label" for class scores or "confidence" for the confidence in given answers, as the kernels call it.
        ids: N ids of the items; None without a column of ids; `ids.arrow` is the column of Arrow.
        columns: All columns of the file.
        taken: What was read -> the columns that it was read from.
        remark: What was done to the first of these, in brackets; "" for nothing.
        label_match: In words, how labels and classes were matched; "" if there are no names.
        answers_once: Whether there is one answer per item, and neither scores nor a confidence: `predictions` are 1.
        mapping: The mapping table: every value of the labels with its count, its class and the rule by which it was matched.
        doubt: A sentence if another order of the classes would fit far better; "" otherwise.
        roles: The roles of the columns that were read, with the reasons.
    """

    predictions: NDArray[Any] | list[list[float]]
    references: NDArray[Any] | None
    label_names: tuple[str, ...] | None = None
    scores: str | None = None
    kind: str = "top_label"
    ids: LazyArrowColumn | None = None
    columns: Columns = dataclasses.field(default_factory=dict)
    taken: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    remark: str = ""
    label_match: str = ""
    answers_once: bool = False
    mapping: tuple[LabelRow, ...] = ()
    doubt: str = ""
    roles: tuple[Role, ...] = ()

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def used(self) -> str:
        """Which columns were taken for what, as in "scores: p_0, p_1; labels: gold"."""
        phrases = []
        if self.answers_once:
            phrases.append("answers without scores")
        # The remark is about what was read first.
        remark = self.remark
        for subject, names in self.taken.items():
            columns = format_list(names)
            # Correctness is read from the answer and the label: "right: answer is label".
            if subject == "right":
                columns = " is ".join(names)
            phrases.append(f"{subject}: {columns}{remark}")
            remark = ""
        return "; ".join(phrases)

    @property
    def match_in_words(self) -> str:
        """How labels and classes were matched, with ten pairs at most; "" if there are no names."""
        # Numbers of classes match without words.
        if not self.label_match:
            return ""
        pairs = [(row.value, row.label) for row in self.mapping if row.label]
        return describe_match(self.label_match, pairs)


@dataclasses.dataclass(frozen=True, eq=False)
class ModelAnswers:
    """A model's answers to items whose labels are stored elsewhere, such as the examples of a behavioral suite.

    Attributes:
        scores: (N, K) scores or (N,) P(class 1); None if the file has only answers.
        answers: (N,) labels, or N texts; None if the file has only scores.
        label_names: K class names where the columns have them, or else None.
        kind: The kind of score that the column names state ("probabilities", "logits", "log_probabilities"), or None.
        ids: N ids of the items; None without a column `id`.
        unread: (N,) whether what a model wrote holds no answer that can be read, by a log; None if all have one.
    """

    scores: NDArray[Any] | None
    answers: NDArray[np.int64] | list[str] | None = None
    label_names: tuple[str, ...] | None = None
    kind: str | None = None
    ids: LazyArrowColumn | None = None
    unread: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        # There are scores or answers, rarely both.
        for content in (self.scores, self.answers):
            if content is not None:
                return len(content)
        return 0

    def take(self, rows: Sequence[int]) -> ModelAnswers:
        """Return the answers in some rows, in the given order; names and kind stay as they are."""
        changes = {}
        for name in ("scores", "answers", "ids", "unread"):
            changes[name] = _take_rows(getattr(self, name), rows)
        return dataclasses.replace(self, **changes)


def _take_rows(column: Any, rows: Sequence[int]) -> Any:
    """Return some rows of an array, a column of Arrow or a list of texts, in the given order.

    Args:
        column: The column; None for a missing one, which stays None.
        rows: Numbers of rows.
    """
    if column is None:
        return None
    if isinstance(column, (np.ndarray, LazyArrowColumn)):
        return column[np.array(rows, dtype=np.int64)]
    return [column[row] for row in rows]


def find_ids(columns: Columns) -> LazyArrowColumn | None:
    """Return the ids of the items; None if no column has a usual heading of ids."""
    name = find_usual_column(columns, PREDICTION_HEADINGS["id"])
    if name is None:
        return None
    return read_names(columns[name])
