"""Does a model know when no choice is right? "None of the above" where it is wrong, and where it is right."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.analysis.intervals import Interval, mcnemar, wilson
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_labels, check_ragged, check_same_length


@dataclasses.dataclass(frozen=True)
class NoneOfTheAbove(Result):
    """How often "none of the above" is picked, of N items.

    Attributes:
        n_items: N.
        false_alarms: Share of items where it is picked although the right choice is there.
        false_alarms_interval: Its interval (Wilson).
        hits: Share where it is picked when the right choice is taken out, so that it is right.
        hits_interval: Its interval (Wilson).
        expected: The hits that follow from the scores with the right choice, by striking that one out.
        gain: hits - expected, in [-1, 1]: what the model does beyond that when the right choice is gone.
        p_value: Exact McNemar test of no gain.
    """

    n_items: int
    false_alarms: float
    false_alarms_interval: Interval
    hits: float
    hits_interval: Interval
    expected: float
    gain: float
    p_value: float


@checks_kinds
def none_of_the_above(
    added: Any, replaced: Any, references: Any, *, scores: str = "logits", confidence_level: float = 0.95
) -> NoneOfTheAbove:
    """Compare how often "none of the above" is picked where it is wrong with how often where it is right.

    Whoever takes the right choice out leaves fewer to compete with, so that "none of the above" is picked more often by
    arithmetic alone. The expected hits are those of the same scores with the right choice struck out: a scorer that
    looks at one choice at a time has exactly these, and no gain.

    Args:
        added: N rows of scores of an item's choices and, last, "none of the above".
        replaced: N rows of scores of the same choices without the right one and, last, "none of the above".
        references: (N,) positions of the right choices in `added`.
        scores: "logits" (default), "probabilities" or "log_probabilities".
        confidence_level: Such as 0.95.

    Returns:
        A `NoneOfTheAbove`.

    Raises:
        ValueError: If the rows do not have one choice less without the right one, or a label is "none of the above".

    References:
        Elhady, Agirre and Artetxe (2025), WiCkeD: A Simple Method to Make Multiple Choice Benchmarks More Challenging;
        the comparison with struck-out scores is this package's.

    Example:
        The second item's right choice leads "none of the above", which leads the rest.

        >>> result = none_of_the_above([[2, 0, 3], [4, 1, 2]], [[0, 3], [1, 2]], [0, 0])
        >>> result.false_alarms, result.hits, result.expected
        (0.5, 1.0, 1.0)
    """
    first = check_ragged(added, scores=scores, name="added")
    second = check_ragged(replaced, scores=scores, name="replaced")
    check_same_length(added=first, replaced=second, references=references)
    labels = check_labels(references, first.lengths - 1, name="references")
    if (first.lengths != second.lengths + 1).any():
        item = int(np.flatnonzero(first.lengths != second.lengths + 1)[0])
        raise ValueError(
            f"Expected one choice less without the right one, but item {item} has {first.lengths[item]} scores with it "
            f"and {second.lengths[item]} without."
        )
    last_added, last_replaced = first.lengths - 1, second.lengths - 1
    alarms, hits = first.argmax() == last_added, second.argmax() == last_replaced
    struck = [int(np.delete(row, label).argmax()) == len(row) - 2 for row, label in zip(first, labels, strict=True)]
    expected = np.array(struck)
    n_items, level = len(labels), confidence_level
    test = mcnemar(hits, expected)
    return NoneOfTheAbove(
        n_items=n_items,
        false_alarms=float(alarms.mean()),
        false_alarms_interval=wilson(int(alarms.sum()), n_items, confidence_level=level),
        hits=float(hits.mean()),
        hits_interval=wilson(int(hits.sum()), n_items, confidence_level=level),
        expected=float(expected.mean()),
        gain=float(hits.mean() - expected.mean()),
        p_value=test.p_value,
    )
