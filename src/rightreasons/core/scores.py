"""What a model said about the items of a dataset."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Cells, Ragged, take_rows
from rightreasons.core.validation import check_ragged, softmax


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """What a model said about the items of a dataset, in the dataset's order.

    Attributes:
        ids: N item ids, unique: a tuple, or a column of Arrow where they are stored.
        logits: (N, K) array, or `Ragged` where the number of choices differs. For kind="confidence" (N, 2), the
            log-probabilities of wrong and right.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        label_names: K names of the classes; None for multiple choice.
        truncated: How many texts were longer than the model takes and were cut.
        probabilities: The probabilities as they are stored, of which `logits` are the logarithms: (N, K) or `Ragged`,
            and (N,) for kind="confidence"; None where the logits are what is known.
        kind: "top_label", or "confidence" where the confidence in the given answer is all that is known.
        way: How the model's inputs were batched, and why not faster, as its trial found; "" for stored predictions.
        failures: Id of an item that has no score -> why, in one sentence; such items are not among `ids`.
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
        """Return what was said about some of the items."""
        return dataclasses.replace(
            self,
            ids=self.ids[rows] if isinstance(self.ids, Cells) else tuple(self.ids[row] for row in rows.tolist()),
            logits=take_rows(self.logits, rows),
            labels=None if self.labels is None else self.labels[rows],
            probabilities=None if self.probabilities is None else take_rows(self.probabilities, rows),
        )

    @functools.cached_property
    def predicted(self) -> NDArray[np.int64]:
        """(N,) predicted classes, or choices: the first of the largest scores."""
        logits = self.logits
        return logits.argmax() if isinstance(logits, Ragged) else np.asarray(logits.argmax(axis=1), dtype=np.int64)

    def answers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return (M,) the predicted classes, or choices, of items by their ids; -1 where one has no score."""
        known = dict(zip(self.ids, self.predicted.tolist(), strict=True)) if len(self) else {}
        return np.array([known.get(name, -1) for name in ids], dtype=np.int64)

    @functools.cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(N,) their probabilities."""
        if isinstance(self.logits, Ragged):
            return check_ragged(self.logits, scores="logits").reduce(np.maximum)
        return np.asarray(softmax(self.logits).max(axis=1))
