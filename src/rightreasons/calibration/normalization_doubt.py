"""Doubt about a confidence that depends on how the log-likelihoods of choices are normalized.

A log of a multiple-choice task holds the sum of the log-likelihoods of each choice, and often the
same per character and per byte. The softmax over each is another confidence. If one of them is
significantly too high and another one too low, no verdict on "the" confidence is right, and
`doubt_normalization` says so in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.estimates import Estimate, estimate_mean
from rightreasons.io.logs import NORMALIZED
from rightreasons.page.parts import Verdict

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit


def doubt_normalization(context: AuditContext) -> Verdict | None:
    """Return the verdict that the confidence depends on how log-likelihoods are normalized.

    Logs of multiple-choice tasks may contain the log-likelihoods of the choices also per character
    and per byte, and the softmax of each is another confidence. The verdict applies if by one of
    them the model is significantly overconfident, and by another significantly underconfident.

    Args:
        context: The audit, with scores.

    Returns:
        The verdict, or None if it does not apply.
    """
    split = context.primary
    if context.stored is None or context.task != "multiple_choice" or not context.has_scores(split):
        return None

    overconfident = []
    underconfident = []
    for name in ("logits", *NORMALIZED):
        gap = _estimate_confidence_gap(split, split.column(name), context)
        if gap is None or gap.low is None or gap.high is None:
            continue
        # An interval that excludes zero: the confidence is off by more than chance.
        if gap.low > 0:
            overconfident.append(name)
        elif gap.high < 0:
            underconfident.append(name)
    if not overconfident or not underconfident:
        return None

    summary = (
        "A softmax over log-likelihoods is no one confidence: by "
        f"{', '.join(overconfident)} the confidence is too high, by {', '.join(underconfident)} "
        "too low, whichever figures are shown."
    )
    return Verdict("neutral", "Depends on the normalization", summary)


def _estimate_confidence_gap(
    split: AuditSplit, rows: Sequence[Any] | None, context: AuditContext
) -> Estimate | None:
    """Return the mean of confidence minus correctness by one column of log-likelihoods.

    Args:
        split: The split.
        rows: One list of log-likelihoods per item. None if the log does not have the column.
        context: The audit.

    Returns:
        The mean gap with its interval, or None if the column cannot be used.
    """
    if rows is None:
        return None
    gaps = []
    for row, label in zip(rows, split.labels.tolist(), strict=True):
        # Nothing is known about the answer to an unlabeled item.
        if label < 0:
            continue
        # The largest share is 1 before it is normalized, so that no exponential overflows.
        shares = np.exp(np.asarray(row) - np.max(row))
        confidence = float(shares.max() / shares.sum())
        is_correct = float(np.argmax(row) == label)
        gaps.append(confidence - is_correct)
    return estimate_mean(np.array(gaps), context.resampling, bounds=(-1.0, 1.0))
