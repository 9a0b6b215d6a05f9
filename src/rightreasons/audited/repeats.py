"""Check that a user's scorer gives the same scores again: `check_repeated_scores`.

A model of transformers is tested when it is opened. A function, an estimator or another scorer of
the user is tested by scoring a few audited items again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.sentences import pluralize, short_name
from rightreasons.io.row_checks import RowDoubt
from rightreasons.models.functions import is_user_code

MAX_REPEATED = 20
"""Number of items that are scored again."""

MAX_DIFFERENCE = 0.01
"""Largest difference between two probabilities that rounding explains, also in half precision."""

Probabilities = dict[str, NDArray[np.float64]]
"""Id of an item -> the probabilities of its classes or choices."""


def check_repeated_scores(context: AuditContext) -> list[RowDoubt]:
    """Check that a user's scorer scores a few items of the primary split as it did before.

    The scores of an item should not depend on the other items of a call, nor change from call to
    call. Scorers of this package are not checked.

    Args:
        context: The audit, with the scores of the primary split.

    Returns:
        A note if the scores are random, or if they do not depend on the second texts of pairs.
        Empty for other scorers, and for a scorer that no longer answers.

    Raises:
        ValueError: If the scores of an item depend on the other items of a call.
    """
    split = context.primary
    is_user_scorer = context.stored is None and is_user_code(context.scorer)
    if not is_user_scorer or not context.has_scores(split) or not len(split):
        return []
    # The rows are evenly spaced, because a file may be sorted by class.
    rows = np.unique(np.linspace(0, len(split) - 1, MAX_REPEATED).astype(np.int64))
    sample = split.take(rows)
    original_scores = _get_probabilities(context, split)

    # Compared with the call for the whole split, each item now has other items before and after it.
    reversed_sample = sample.take(np.arange(len(sample))[::-1])
    try:
        new_scores = _score(context, reversed_sample, reversed_sample.text_pairs)
    except ValueError:
        # The service of the scorer may be gone. The audit can still use the stored scores.
        return []
    changed_ids = _list_changed(original_scores, new_scores)
    if not changed_ids:
        note = _describe_unread_pairs(context, sample, new_scores)
        return [] if note is None else [note]

    # Scores that differ again in an identical call are random. Otherwise, they depend on the other
    # items of a call.
    repeated_scores = _score(context, reversed_sample, reversed_sample.text_pairs)
    varied_ids = _list_changed(new_scores, repeated_scores)
    if not varied_ids:
        raise ValueError(_explain_dependence(context, changed_ids, len(new_scores)))
    return [_describe_variation(context, varied_ids, len(new_scores))]


def _get_probabilities(context: AuditContext, split: AuditSplit) -> Probabilities:
    """Return the probabilities of the items of a split, from the scores of the audit."""
    scores = context.scores(split)
    return dict(zip(scores.ids, map(_softmax, scores.logits), strict=True))


def _score(
    context: AuditContext, items: AuditSplit, text_pairs: Sequence[str] | None
) -> Probabilities:
    """Score items anew, and return their probabilities by id.

    Without a folder (`out`), the scorer cannot return stored scores.

    Args:
        context: The audit, with the scorer.
        items: The items.
        text_pairs: Second text of each item; None for single texts, and for items with choices.
    """
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
    """Return the (K,) probabilities of K classes from their logits."""
    # Subtracting the maximum changes no probability, and prevents an overflow.
    exponentials = np.exp(row - row.max())
    return np.asarray(exponentials / exponentials.sum())


def _list_changed(expected: Probabilities, repeated: Probabilities) -> list[str]:
    """Return the ids of the items whose probabilities differ by more than rounding.

    Args:
        expected: Id -> (K,) probabilities.
        repeated: Id -> (K,) probabilities from another call, of some of the items.
    """
    changed_ids = []
    for item_id, probabilities in repeated.items():
        expected_probabilities = expected.get(item_id)
        # An item that failed in the first call is reported as a failure, not as a change.
        if expected_probabilities is None:
            continue
        difference = np.abs(probabilities - expected_probabilities).max()
        if difference > MAX_DIFFERENCE:
            changed_ids.append(item_id)
    return changed_ids


def _explain_dependence(context: AuditContext, changed: Sequence[str], n_items: int) -> str:
    """Return the message of an error about scores that depend on the other items of a call.

    Args:
        context: The audit.
        changed: Ids of the items whose scores changed.
        n_items: Number of items that were scored again.
    """
    return (
        f"Expected scores of {short_name(context.source.name)} that depend on the item alone, but those of "
        f"{len(changed)} of {pluralize(n_items, 'item')}, such as {changed[0]}, change with the "
        "other items of a call: score each text individually, and give stored answers a new "
        "`fingerprint` when the model changes; `rightreasons.testing.check_scorer` tests a scorer."
    )


def _describe_variation(context: AuditContext, varied: Sequence[str], n_items: int) -> RowDoubt:
    """Return a note on scores that change from one call to an identical one.

    Args:
        context: The audit.
        varied: Ids of the items whose scores changed.
        n_items: Number of items that were scored again.
    """
    model = short_name(context.source.name)
    items = pluralize(n_items, "item")
    return RowDoubt(
        check="varying_answers",
        sentence=(
            f"{model} does not give the same scores twice to {len(varied)} of {items}: its answers "
            "are random, which hides effects."
        ),
        count=len(varied),
        remedy="Switch off sampling and dropout in your function to find more.",
        is_open=False,
    )


def _describe_unread_pairs(
    context: AuditContext, sample: AuditSplit, expected: Probabilities
) -> RowDoubt | None:
    """Check whether the scores of text pairs depend on the second texts, by exchanging these.

    Args:
        context: The audit.
        sample: Some items, which are scored again with exchanged second texts.
        expected: Id -> (K,) probabilities of these items with their original second texts.

    Returns:
        A note if no score changes. None if one does, or if there are no second texts to exchange.
    """
    second_texts = sample.text_pairs
    if second_texts is None or sample.choices is not None:
        return None
    # If all second texts are equal, exchanging them changes nothing.
    if len(set(second_texts)) == 1:
        return None
    # Each item gets the second text of the next one, and the last item that of the first.
    exchanged_texts = [*second_texts[1:], second_texts[0]]
    new_scores = _score(context, sample, exchanged_texts)
    for item_id, probabilities in new_scores.items():
        if item_id in expected and not np.array_equal(expected[item_id], probabilities):
            return None
    return RowDoubt(
        "unread_pairs",
        f"No score of {short_name(context.source.name)} changes when {pluralize(len(sample), 'item')} exchange "
        "their second texts.",
        len(sample),
        remedy="Check that your function reads `text_pairs`.",
        is_open=False,
    )
