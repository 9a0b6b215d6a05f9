"""Results of reading a file of predictions: scores and labels, the confidence in answers, or only answers.

`Predictions` include the labels, or whether each answer is correct; `ModelAnswers` belong to items whose labels are stored
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
        references: (N,) labels, -1 for an item without a label. For kind="confidence": (N,) booleans, whether the
            answer is correct. None if the file has no labels, or they were not requested.
        label_names: K class names; None if the file does not contain them.
        scores: The kind of the scores ("probabilities", "logits", "log_probabilities"); None if neither an option nor
            a heading states it.
        kind: "top_label" for class scores, or "confidence" for the confidence in given answers: the argument `kind` of
            the kernels.
        ids: N ids of the items; None without a column of ids. `ids.arrow` is the column of Arrow.
        columns: All columns of the file.
        taken: Role, such as "scores" or "labels" -> the columns that were read.
        remark: A change to the values of the first role, in brackets, such as " (its sigmoid)"; "" if there is none.
        label_match: A phrase on how labels and classes were matched; "" if there are no names.
        answers_once: Whether the file has only answers, without scores and confidences, so that `predictions` are 1.
        mapping: A row for every value of the labels, with its count, its class and the rule by which it was matched.
        doubt: A sentence if the labels would fit far better in another order of the classes; "" otherwise.
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
        """The columns that were read by their roles, such as "scores: p_0, p_1; labels: gold"."""
        phrases = []
        if self.answers_once:
            phrases.append("answers without scores")
        # The remark belongs to the first role.
        remark = self.remark
        for subject, names in self.taken.items():
            columns = format_list(names)
            # Correctness is a comparison of two columns, such as "right: answer is label".
            if subject == "right":
                columns = " is ".join(names)
            phrases.append(f"{subject}: {columns}{remark}")
            remark = ""
        return "; ".join(phrases)

    @property
    def match_in_words(self) -> str:
        """A phrase on how labels and classes were matched, with up to ten pairs; "" if there are no names."""
        # Labels that are numbers of classes need no explanation.
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
        label_names: K class names; None if the headings do not contain them.
        kind: The kind of the scores ("probabilities", "logits", "log_probabilities"); None if it is unknown.
        ids: N ids of the items; None without a column `id`.
        unread: (N,) whether the reply in a log has no readable answer; None if all replies have one.
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
        """Select the scores, answers and ids of some rows, in the given order.

        Args:
            rows: The indices of the rows.
        """
        changes = {}
        for name in ("scores", "answers", "ids", "unread"):
            changes[name] = _take_rows(getattr(self, name), rows)
        return dataclasses.replace(self, **changes)


def _take_rows(column: Any, rows: Sequence[int]) -> Any:
    """Select rows of an array, a column of Arrow or a list of strings, in the given order.

    Args:
        column: The column; None if it is missing, which is returned unchanged.
        rows: The indices of the rows.
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
