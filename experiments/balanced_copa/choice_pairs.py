"""The (prompt, choice) pairs of multiple-choice items, one after another, and which item each belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_choices
from rightreasons.models.loading import Classifier


@dataclasses.dataclass(frozen=True, eq=False)
class ChoicePairs:
    """N items as P pairs.

    Attributes:
        prompts: P prompts.
        choices: P choices.
        item: (P,) which item a pair belongs to.
        offsets: (N + 1,) where each item's pairs begin.
    """

    prompts: list[str]
    choices: list[str]
    item: NDArray[np.int64]
    offsets: NDArray[np.int64]


def choice_pairs(classifier: Classifier, prompts: Sequence[str], choices: Sequence[Sequence[str]]) -> ChoicePairs:
    """Check items and lay their pairs out.

    Raises:
        ValueError: If the model is no multiple-choice model, lengths differ, or an item has fewer than two choices.
    """
    if classifier.label_names is not None:
        raise ValueError(f"Expected a multiple-choice model, but {classifier.name} is a classifier.")
    firsts, rows, counts = check_choices(prompts, choices)
    item = np.repeat(np.arange(len(rows)), counts)
    return ChoicePairs(
        prompts=[firsts[i] for i in item],
        choices=[choice for row in rows for choice in row],
        item=item,
        offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
    )
