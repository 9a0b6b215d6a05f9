"""Whether a scorer of the user's own keeps to what it said: `check_repeated_scores`.

A model of transformers is tried when it is opened. A function, an estimator or a scorer of the
user's own is only known by its scores, so a few audited items are scored again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.sentences import pluralize
from rightreasons.io.row_checks import RowDoubt
from rightreasons.models.functions import is_foreign

MAX_REPEATED = 20
"""Number of items that are scored again."""

MAX_DIFFERENCE = 0.01
"""Largest difference between two probabilities that rounding explains, also in half precision."""

Probabilities = dict[str, NDArray[np.float64]]
"""Id of an item -> the probabilities of its classes or choices."""


def check_repeated_scores(context: AuditContext) -> list[RowDoubt]:
    """Score a few items of the primary split again, if the scorer is not one of this package.

    A scorer should score an item the same, whatever other items it is asked about and how often.

    Args:
        context: The audit with its scores.

    Returns:
        Notes on a scorer whose answers vary, or that does not read second texts; [] for others.

    Raises:
        ValueError: If the scores of an item depend on the other items of a call.
    """
    split = context.primary
    is_asked = context.stored is None and is_foreign(context.scorer)
    if not is_asked or not context.has_scores(split) or not len(split):
        return []
    # Evenly spread, so that each class of a sorted file is among them.
    rows = np.unique(np.linspace(0, len(split) - 1, MAX_REPEATED).astype(np.int64))
    sample = split.take(rows)
    expected = _get_probabilities(context, split)

    # The sample differs from the first call by the other items, and by the order.
    reversed_sample = sample.take(np.arange(len(sample))[::-1])
    try:
        repeated = _score(context, reversed_sample, reversed_sample.text_pairs)
    except ValueError:
        # Stored scores may outlive the service that gave them: the questions can still be answered.
        return []
    changed = _list_changed(expected, repeated)
    if changed:
        # If the same call gives the same scores again, the other items make the difference.
        repeated_again = _score(context, reversed_sample, reversed_sample.text_pairs)
        varied = _list_changed(repeated, repeated_again)
        if not varied:
            raise ValueError(_explain_dependence(context, changed, len(repeated)))
        return [_describe_variation(context, varied, len(repeated))]
    note = _describe_unread_pairs(context, sample, repeated)
    if note is None:
        return []
    return [note]


def _get_probabilities(context: AuditContext, split: AuditSplit) -> Probabilities:
    scores = context.scores(split)
    return dict(zip(scores.ids, map(_softmax, scores.logits), strict=True))


def _score(
    context: AuditContext, items: AuditSplit, text_pairs: Sequence[str] | None
) -> Probabilities:
    """Score items without the report folder, whose stored scores would be returned."""
    if items.choices is not None:
        scores = context.scorer.choose(
            items.texts, items.choices, ids=list(items.ids), progress=False
        )
    else:
        scores = context.scorer.predict(
            items.texts, text_pairs=text_pairs, ids=list(items.ids), progress=False
        )
    return dict(zip(scores.ids, map(_softmax, scores.logits), strict=True))


def _softmax(row: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(row - row.max())
    return np.asarray(exponentials / exponentials.sum())


def _list_changed(expected: Probabilities, repeated: Probabilities) -> list[str]:
    """Return the ids of the items whose probabilities differ by more than rounding."""
    changed = []
    for item_id, row in repeated.items():
        before = expected.get(item_id)
        # An item may fail once and be scored another time: its reason is told elsewhere.
        if before is not None and np.abs(row - before).max() > MAX_DIFFERENCE:
            changed.append(item_id)
    return changed


def _explain_dependence(context: AuditContext, changed: Sequence[str], n_items: int) -> str:
    return (
        f"Expected scores of {context.source.name} that depend on the item alone, but those of "
        f"{len(changed)} of {pluralize(n_items, 'item')}, such as {changed[0]}, are others among "
        "other items: score each text individually, and give stored answers a new `fingerprint` when "
        "the model changes; `rightreasons.testing.check_scorer` tests a scorer."
    )


def _describe_variation(context: AuditContext, varied: Sequence[str], n_items: int) -> RowDoubt:
    return RowDoubt(
        "varying_answers",
        f"{context.source.name} does not give the same scores twice to {len(varied)} of "
        f"{pluralize(n_items, 'item')}: its answers are random, which hides effects.",
        len(varied),
        remedy="Switch off sampling and dropout in your function to find more.",
        is_open=False,
    )


def _describe_unread_pairs(
    context: AuditContext, sample: AuditSplit, expected: Probabilities
) -> RowDoubt | None:
    """Describe a scorer of text pairs whose scores do not depend on the second texts.

    Args:
        context: The audit.
        sample: Some items, which are scored again with exchanged second texts.
        expected: Scores of these items with their own second texts.

    Returns:
        A note; None for a scorer that reads them, and for items without different second texts.
    """
    pairs = sample.text_pairs
    if pairs is None or sample.choices is not None or len(set(pairs)) == 1:
        return None
    # Each item gets the second text of the next one.
    exchanged = _score(context, sample, [*pairs[1:], pairs[0]])
    for item_id, row in exchanged.items():
        if item_id in expected and not np.array_equal(expected[item_id], row):
            return None
    return RowDoubt(
        "unread_pairs",
        f"No score of {context.source.name} changes when {pluralize(len(sample), 'item')} exchange "
        "their second texts.",
        len(sample),
        remedy="Check that your function reads `text_pairs`.",
        is_open=False,
    )
