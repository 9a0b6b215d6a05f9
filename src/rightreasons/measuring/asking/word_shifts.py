"""Which examples a model is fragile on, by leaving words out: for any scorer, with gradients or without."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.difficulty import RankedItems
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.measuring.occlusion.leaving_out import Occlusion


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordShifts(RankedItems):
    r"""The n items with words and answers, out of N: their `values` are their largest shifts, in [0, 1].

    \[ D(x) = \max_j TV(x, j), \quad TV(x, j) = \frac12 \sum_k |p_k(x) - p_k(x_{-j})| \]

    for the probabilities p of the labels, or choices, of the text x, and of the text without its word j: the most
    probability that one left-out word moves to other labels. It is no Fisher information: it is about whole words, not
    about small steps, and a word may be left out for a good reason to decide otherwise ("not"). Of generated answers,
    whose distribution is one answer, it is 1 where a word exists without which the answer is another, else 0.

    Attributes:
        occlusion: What was asked about all N items.
        mean: (n,) the mean of TV over the words of each item.
        flips: (n,) how many words of each item change its prediction when one is left out.
        n_words: (n,) how many of its words have an answer without them.
    """

    occlusion: Occlusion
    mean: NDArray[np.float64]
    flips: NDArray[np.int64]
    n_words: NDArray[np.int64]

    @property
    def others(self) -> Mapping[str, NDArray[np.float64]]:
        """The number of words, and the mean shift."""
        return {"words": self.n_words.astype(np.float64), "mean_shift": self.mean}

    def shifts(self, place: int) -> NDArray[np.float64]:
        """Return TV of each word of an item; NaN where there is no answer without it."""
        return self.occlusion.shifts[int(self.rows[place])]

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that move most."""
        shifts, tokens = np.nan_to_num(self.shifts(place), nan=-1.0), self.occlusion.tokens[int(self.rows[place])]
        return [tokens[word] for word in np.argsort(-shifts, kind="stable")[:count]]

    def flipped(self, resampling: Resampling) -> Estimate:
        """Return the share of items whose prediction changes without one word or other, with its Wilson interval."""
        return share(int((self.flips > 0).sum()), len(self), resampling) or Estimate(None)


@checks_kinds
def measure_word_shifts(occlusion: Occlusion) -> WordShifts:
    """Rank items by the most that one left-out word moves their answer.

    Args:
        occlusion: From `occlude`.

    Returns:
        A `WordShifts`: of the items with an answer, and an answer without at least one of their words.

    Raises:
        ValueError: If there is no such item.

    References:
        Li, Monroe and Jurafsky (2016), Understanding Neural Networks through Representation Erasure, for leaving words
        out; the total variation and its maximum are this package's.
    """
    shifts = occlusion.shifts
    known = [~np.isnan(row) for row in shifts]
    rows = np.array([row for row, words in enumerate(known) if words.any()], dtype=np.int64)
    if not len(rows):
        raise ValueError(f"Expected items with words and answers, but none of {len(occlusion)} is one.")
    changed = (occlusion.predicted_without >= 0) & (
        occlusion.predicted_without != np.repeat(occlusion.predicted, np.diff(occlusion.offsets))
    )
    logits = occlusion.logits
    return WordShifts(
        occlusion=occlusion,
        rows=rows,
        values=np.array([np.nanmax(shifts[row]) for row in rows.tolist()]),
        mean=np.array([np.nanmean(shifts[row]) for row in rows.tolist()]),
        flips=np.array(
            [int(changed[slice(*occlusion.offsets[row : row + 2])].sum()) for row in rows.tolist()], dtype=np.int64
        ),
        n_words=np.array([int(known[row].sum()) for row in rows.tolist()], dtype=np.int64),
        labels=np.full(len(rows), -1) if occlusion.labels is None else occlusion.labels[rows],
        **RankedItems.said(logits, rows),
    )
