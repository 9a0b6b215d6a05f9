"""Stored predictions that replace a model: `StoredModel`, which `rightreasons.audited.stored` opens."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.logged_arms import LoggedArms
from rightreasons.audited.stored_items import Task
from rightreasons.core.arrays import Ragged, take_rows
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.scores import Scores

if TYPE_CHECKING:
    from rightreasons.audited.splits import AuditSplit


@dataclasses.dataclass(frozen=True, eq=False)
class StoredModel:
    """Stored predictions for the items of a split, instead of the model that made them.

    Attributes:
        name: File of the predictions.
        task: "classification", "multiple_choice", or "confidence" if only the confidences in given
            answers are stored.
        label_names: K names of the classes; None unless the task is classification.
        ids: Ids of the items.
        logits: Logits as in `Scores`.
        probabilities: Exact probabilities as in `Scores`; None if logits are stored.
        fingerprint: Digest of the columns.
        used: Description of the columns that were read.
        answers_once: Whether there is one answer per item and no confidence, as in a log of
            generated answers.
        label_match: Description of how the labels of the file were matched with its columns; "" if
            the labels are those of a dataset.
        unscored: Whether the items have choices, but the file has no scores of them.
        logged: Names of the model and of its task; "" if the file does not contain them.
        columns_used: Columns of the file that were read.
        order_doubt: The sentence of `suggest_class_order` about the labels of the file, "" for none.
        confidences: (N,) confidence in each answer of a log of generated answers, NaN if unknown;
            None for any other file.
        arms: Answers to changed versions of the items, as our tasks of harnesses log them; None
            without any.
        arms_command: Command that asks the items of a log in their arms; "" if it is not known.
        failures: Id of an item without an answer that can be read -> the reason.
    """

    name: str
    task: Task
    label_names: tuple[str, ...] | None
    ids: LazyArrowColumn
    logits: NDArray[np.float64] | Ragged
    probabilities: NDArray[np.float64] | Ragged | None
    fingerprint: str
    used: str
    answers_once: bool = False
    label_match: str = ""
    unscored: bool = False
    logged: tuple[str, str] = ("", "")
    columns_used: tuple[str, ...] = ()
    order_doubt: str = ""
    confidences: NDArray[np.float64] | None = None
    arms: LoggedArms | None = None
    arms_command: str = ""
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def has_confidences(self) -> bool:
        """Whether some items have a confidence."""
        # A log of generated answers may have log-probabilities for some of them.
        return not self.answers_once or self.confidences is not None

    def get_scores(self, split: AuditSplit) -> Scores:
        """Return the stored scores of the items of a split, in their order.

        Items whose answer cannot be read are among the failures of the scores.

        Args:
            split: The split, whose items are found by their ids.

        Raises:
            ValueError: If an item has no prediction.
        """
        logits = self.logits
        probabilities = self.probabilities
        # Usually all items are audited in the order of the file, and no rows have to be selected.
        if split.ids != self.ids:
            rows = self._find_rows(split)
            logits = take_rows(logits, rows)
            if probabilities is not None:
                probabilities = take_rows(probabilities, rows)
        scores = Scores(
            ids=split.ids,
            logits=logits,
            labels=split.labels,
            label_names=self.label_names,
            probabilities=probabilities,
            kind="confidence" if self.task == "confidence" else "top_label",
        )
        if not self.failures:
            return scores
        # An answer that cannot be read has no score.
        answered_rows = []
        failures = {}
        for row, item_id in enumerate(split.ids):
            if item_id in self.failures:
                failures[item_id] = self.failures[item_id]
            else:
                answered_rows.append(row)
        answered_scores = scores.take(np.array(answered_rows, dtype=np.intp))
        return dataclasses.replace(answered_scores, failures=failures)

    def _find_rows(self, split: AuditSplit) -> NDArray[np.intp]:
        """Return (N,) the row of the prediction of each item of a split, found by its id.

        Raises:
            ValueError: If an item has no prediction.
        """
        import pyarrow.compute as pc

        # Arrow compares a million ids without making a Python string of each.
        rows = pc.index_in(split.ids.arrow, value_set=self.ids.arrow)
        if rows.null_count:
            missing = split.ids[pc.index(pc.is_null(rows), True).as_py()]
            raise ValueError(
                f"Expected a prediction for each item of {split.name} in {self.name}, but "
                f"{rows.null_count:,} of {len(split):,} have none, such as the id {missing!r}. "
                "Add their predictions, or leave these items out of the data."
            )
        return np.asarray(rows.to_numpy(), dtype=np.intp)
