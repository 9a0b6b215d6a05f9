"""A known mistake: for a binary task, P(class 1) compared with whether the prediction is right.

The calibration error of a binary classifier compares P(class 1) with the label, or the largest probability with
correctness. Code that was written for several classes and is handed P(class 1) mixes the two. The resulting
figure is large for every good classifier: an item that rightly gets P(class 1) = 0.01 counts as a gap of 0.99.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rightreasons.analysis.binning import BinSums, binned_error, uniform_edges
from rightreasons.analysis.calibration.top_label import TopLabel, top_label
from rightreasons.foundations.ragged import Ragged

LINT_BINS = 20
"""Bins of P(class 1) in the check: an even number, so that one half mirrors the other."""

LINT_MINIMUM = 10
"""Minimum number of items on each side of 0.5 for a warning."""

SENTENCE = (
    'The references look like "was the prediction right" beside P(class 1): pass the labels as references, '
    "or the figure is no calibration error."
)


class PositiveVersusCorrectnessWarning(UserWarning):
    """P(class 1) seems to be compared with whether the prediction is right, instead of with the label."""


def looks_like_positive_vs_correctness(predictions: Any, references: Any, *, scores: str = "probabilities") -> bool:
    """Tell whether a binary input looks like P(class 1) compared with "was the prediction right".

    A label rises with P(class 1). Whether the prediction is right does not: it is mostly true at both ends. So the
    answer is True when items with P(class 1) below 0.5 have reference 1 in more than half of the cases (by over 3.09
    standard errors, a one-sided chance of 0.1 %), items above 0.5 do as well, not all references are 1, and the
    references agree at least twice as well with max(p, 1 - p) as with p. It needs ten items on each side of 0.5.

    Args:
        predictions: (N,) P(class 1) or (N, 2) scores.
        references: (N,) 0 and 1.
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        Whether it looks like the mistake. Always False for more than two classes.

    Example:
        >>> p = [0.02, 0.97, 0.04, 0.99, 0.03, 0.95] * 20
        >>> label = [0, 1, 0, 1, 0, 0] * 20
        >>> right = [int((a > 0.5) == b) for a, b in zip(p, label)]
        >>> looks_like_positive_vs_correctness(p, label), looks_like_positive_vs_correctness(p, right)
        (False, True)
    """
    sums = positive_sums(top_label(predictions, references, scores=scores))
    return sums is not None and is_suspect(sums)


def positive_sums(top: TopLabel) -> BinSums | None:
    """Return the bins of P(class 1) that the check uses; None unless there are two classes."""
    table = top.probabilities
    if isinstance(table, Ragged) or table.shape[1] != 2:
        return None
    sums = BinSums.empty(uniform_edges(LINT_BINS)[None])
    sums.add(0, table[:, 1], top.labels == 1, uniform=True)
    return sums


def is_suspect(positive: BinSums) -> bool:
    """Tell from the bins of P(class 1) whether the references look like correctness."""
    half = LINT_BINS // 2
    count, score, event = positive.counts, positive.score_sums, positive.event_counts
    below, above = count[0, :half].sum(), count[0, half:].sum()
    if min(below, above) < LINT_MINIMUM or event.sum() == count.sum():
        return False
    if event[0, :half].sum() - below / 2 <= 3.09 * np.sqrt(below) / 2 or event[0, half:].sum() <= above / 2:
        return False
    # max(p, 1 - p) in bins: the lower half, mirrored, is added to the upper half.
    folded_count = count[:, half:] + count[:, half - 1 :: -1]
    folded_score = score[:, half:] + (count - score)[:, half - 1 :: -1]
    folded_event = event[:, half:] + event[:, half - 1 :: -1]
    as_labels = binned_error(count, score, event)
    as_correctness = binned_error(folded_count, folded_score, folded_event)
    return bool(as_correctness <= as_labels / 2)
