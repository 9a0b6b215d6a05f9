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
from rightreasons.core.sentences import join_parts
from rightreasons.io.logs import NORMALIZED
from rightreasons.page.parts import Verdict

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.audited.splits import AuditSplit


def doubt_normalization(context: AuditContext) -> Verdict | None:
    """Return a neutral verdict if the confidence depends on how log-likelihoods are normalized.

    Logs of multiple-choice tasks may contain the log-likelihoods of the choices as sums, per
    character and per byte. The softmax of each gives a different confidence. The verdict applies if
    the model is significantly overconfident by one of them, and underconfident by another one.

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
        # The gap is significant if its interval excludes 0.
        if gap.low > 0:
            overconfident.append(name)
        elif gap.high < 0:
            underconfident.append(name)
    if not overconfident or not underconfident:
        return None

    summary = (
        "Whether the confidence is too high depends on how the log-likelihoods of the choices are "
        f"normalized: it is too high with {_quote_columns(overconfident)}, but too low with "
        f"{_quote_columns(underconfident)}. Therefore, no single verdict holds."
    )
    return Verdict("neutral", "Depends on the normalization", summary)


def _quote_columns(names: Sequence[str]) -> str:
    """Return the names of columns for a sentence of the page, which shows them as code."""
    return join_parts([f"`{name}`" for name in names])


def _estimate_confidence_gap(
    split: AuditSplit, rows: Sequence[Any] | None, context: AuditContext
) -> Estimate | None:
    """Estimate mean confidence minus accuracy, if the confidence is the softmax of log-likelihoods.

    Args:
        split: The split, whose labels decide which answers are correct.
        rows: Log-likelihoods of the choices of each item. None if the log does not have this column.
        context: The audit; its resampling has the level of the interval.

    Returns:
        The mean gap with its interval, or None if the log does not have the column.
    """
    if rows is None:
        return None
    gaps = []
    for row, label in zip(rows, split.labels.tolist(), strict=True):
        # An unlabeled item does not show whether its answer is correct.
        if label < 0:
            continue
        # The largest log-likelihood is subtracted, so that no exponential overflows.
        shares = np.exp(np.asarray(row) - np.max(row))
        confidence = float(shares.max() / shares.sum())
        is_correct = float(np.argmax(row) == label)
        gaps.append(confidence - is_correct)
    return estimate_mean(np.array(gaps), context.resampling, bounds=(-1.0, 1.0))
