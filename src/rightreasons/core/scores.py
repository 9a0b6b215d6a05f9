"""The scores of a model: its logits on the items of a dataset, with the items' ids and labels.

`Scores` is what models return and what stored predictions are read into. It is in the order of the
dataset; `Scores.take` selects items, and `Scores.answers` looks predictions up by id.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, take_rows
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.validation import check_ragged, softmax

NO_PREDICTION = -1
"""Stands for the prediction of an item without scores."""


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """Scores of a model on the items of a dataset, in the order of the dataset.

    Attributes:
        ids: N unique item ids: a tuple, or an Arrow column for stored predictions.
        logits: (N, K) array, or `Ragged` if the number of choices varies. For kind="confidence",
            (N, 2) logarithms of the probabilities of an incorrect and of a correct answer.
        labels: (N,) gold labels, -1 for unlabeled items. None if the data has no labels.
        label_names: K names of the classes. None for multiple choice.
        truncated: Number of texts that were truncated to the length limit of the model.
        probabilities: Probabilities as they are stored, with `logits` as their logarithms: (N, K)
            or `Ragged`, or (N,) for kind="confidence". None if only logits are known.
        kind: "top_label", or "confidence" if only the confidence in the given answer is known.
        way: Description of how the inputs were batched, and why not in a faster way. Empty for
            stored predictions.
        failures: Mapping of the ids of items without scores, which `ids` does not include, to the
            reason, in one sentence.
    """

    ids: Sequence[str]
    logits: NDArray[np.float64] | Ragged
    labels: NDArray[np.int64] | None = None
    label_names: tuple[str, ...] | None = None
    truncated: int = 0
    probabilities: NDArray[np.float64] | Ragged | None = None
    kind: str = "top_label"
    way: str = ""
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.intp]) -> Scores:
        """Return the scores of selected items, in the order of the selection.

        Args:
            rows: (M,) indices of items.
        """
        # Ids in an Arrow column stay in it, because a tuple of a million ids takes seconds to build.
        ids: Sequence[str]
        if isinstance(self.ids, LazyArrowColumn):
            ids = self.ids[rows]
        else:
            ids = tuple(self.ids[row] for row in rows.tolist())
        labels = None
        if self.labels is not None:
            labels = self.labels[rows]
        probabilities = None
        if self.probabilities is not None:
            probabilities = take_rows(self.probabilities, rows)

        return dataclasses.replace(
            self,
            ids=ids,
            logits=take_rows(self.logits, rows),
            labels=labels,
            probabilities=probabilities,
        )

    @functools.cached_property
    def predicted(self) -> NDArray[np.int64]:
        """(N,) predicted classes or choices: the first of the largest scores."""
        if isinstance(self.logits, Ragged):
            return self.logits.argmax()
        return np.asarray(self.logits.argmax(axis=1), dtype=np.int64)

    def answers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the predicted classes or choices of items by their ids.

        Args:
            ids: M ids, in any order.

        Returns:
            (M,) predictions; -1 for items without scores.
        """
        prediction_by_id: dict[str, int] = {}
        # The largest score of no rows at all is undefined.
        if len(self):
            prediction_by_id = dict(zip(self.ids, self.predicted.tolist(), strict=True))
        predictions = [prediction_by_id.get(item_id, NO_PREDICTION) for item_id in ids]
        return np.array(predictions, dtype=np.int64)

    @functools.cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(N,) largest probabilities."""
        # Choices that vary in number have their softmax row by row.
        if isinstance(self.logits, Ragged):
            return check_ragged(self.logits, scores="logits").reduce(np.maximum)
        return np.asarray(softmax(self.logits).max(axis=1))
