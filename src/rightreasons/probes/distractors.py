"""What added choices do beyond being more: random ones, ones like the right choice, and "None of the above"."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Result
from rightreasons.core.intervals import Estimate, cluster_codes, paired_means, rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_labels, check_ragged, check_same_length
from rightreasons.datasets.perturbing.probes import NONE_OF_THE_ABOVE
from rightreasons.probes.measure import NONE, ProbeScores, extra_choices_name, near_choices_name, spare_choices

NEAR = 4
"""Maximum number of near choices; as many random ones are there to compare them with."""


def added_choices(rows: Sequence[Sequence[str]], ks: Sequence[int]) -> tuple[tuple[int, ...], int, bool]:
    """Return the numbers of choices that can be added, how many near ones, and whether "None of the above" can be.

    Args:
        rows: The choices of the items.
        ks: The wanted numbers.
    """
    spare = spare_choices(rows)
    possible = tuple(k for k in dict.fromkeys(ks) if k <= spare) or (1,)
    plain = {choice.strip().rstrip(".").casefold() for row in rows for choice in row}
    near = max((k for k in possible if k <= NEAR), default=min(possible))
    return possible, near, NONE_OF_THE_ABOVE.casefold() not in plain


@dataclasses.dataclass(frozen=True)
class NoneOfTheAbove(Result):
    """How often "none of the above" is picked, of N items.

    Attributes:
        n_items: N.
        false_alarms: Share of items where it is picked although the right choice is there.
        hits: Share where it is picked when the right choice is taken out, so that it is right.
        expected: The hits that follow from the scores with the right choice, by striking that one out.
        gain: hits - expected, in [-1, 1]: what the model does beyond that when the right choice is gone.
        p_value: Paired test of no gain.
    """

    n_items: int
    false_alarms: Estimate
    hits: Estimate
    expected: float
    gain: float
    p_value: float


def none_of_the_above(
    added: Any,
    replaced: Any,
    references: Any,
    *,
    scores: str = "logits",
    clusters: Any = None,
    resampling: Resampling = Resampling(),
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
        clusters: (N,) names of the items that belong together; None (default) where each item is on its own.
        resampling: Level of the intervals.

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
        >>> result.false_alarms.value, result.hits.value, result.expected
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
    alarms, hits = (rows.argmax() == rows.lengths - 1 for rows in (first, second))
    struck = [int(np.delete(row, label).argmax()) == len(row) - 2 for row, label in zip(first, labels, strict=True)]
    expected, units = np.array(struck), cluster_codes(clusters, len(labels))
    return NoneOfTheAbove(
        n_items=len(labels),
        false_alarms=rate(alarms, resampling, units) or Estimate(None),
        hits=rate(hits, resampling, units) or Estimate(None),
        expected=float(expected.mean()),
        gain=float(hits.mean() - expected.mean()),
        p_value=paired_means(hits, expected, clusters=units, resampling=resampling).p_value,
    )


@dataclasses.dataclass(frozen=True)
class Distractor(Result):
    """Some choices added to each item.

    Attributes:
        accuracy: Share of items whose right choice is picked among all.
        picked: Share of items of which an added choice is picked.
    """

    accuracy: Estimate
    picked: Estimate


@dataclasses.dataclass(frozen=True)
class DistractorFigures(Result):
    """What kinds of added choices do; see `measure_distractors`.

    Attributes:
        n_items: Number of items.
        k: How many choices are added.
        random: Random choices of other items.
        near: The choices of other items that are most like the right one.
        difference: Share of items of which a near choice is picked, minus that of a random one, in [-1, 1].
        p_value: Paired test of no difference.
        none: "None of the above", beside the right choice and in its place; None where it was not asked.
    """

    n_items: int
    k: int
    random: Distractor
    near: Distractor
    difference: float
    p_value: float
    none: NoneOfTheAbove | None


def measure_distractors(scores: ProbeScores, k: int, *, resampling: Resampling = Resampling()) -> DistractorFigures:
    """Compare near choices with as many random ones, and "None of the above" wrong with the same right.

    The near choices are those of other items that share most with the right one: the cosine of their words, weighted by
    the logarithm of how rare they are. Whoever knows the answer is misled by neither; whoever goes by words is misled
    by near ones. A near choice may be right too.

    Args:
        scores: Scores of `probe_tables(…, near=k, none=True)`, with k among its `ks` too.
        k: How many choices were added.
        resampling: Level of the intervals.

    Returns:
        A `DistractorFigures`.

    Raises:
        ValueError: If the items were not scored with so many choices of both kinds.

    References:
        Elhady, Agirre and Artetxe (2025), WiCkeD: A Simple Method to Make Multiple Choice Benchmarks More Challenging.
    """
    kinds: dict[str, Distractor] = {}
    strayed: dict[str, NDArray[np.bool_]] = {}
    for kind, name in (("random", extra_choices_name(k)), ("near", near_choices_name(k))):
        if name not in scores.logits:
            raise ValueError(f"Expected scores of the items under {name}, but got {', '.join(scores.logits)}.")
        picked = scores.logits[name].argmax()
        kept = scores.column(name, "original_positions")
        strayed[kind] = np.array([pick not in row for pick, row in zip(picked.tolist(), kept, strict=True)])
        shares = (rate(hits, resampling, scores.units) for hits in (picked == scores.labels(name), strayed[kind]))
        kinds[kind] = Distractor(*(each or Estimate(None) for each in shares))
    test = paired_means(strayed["near"], strayed["random"], clusters=scores.units, resampling=resampling)
    none = None
    if all(name in scores.logits for name in NONE):
        added, replaced = (scores.logits[name] for name in NONE)
        how: dict[str, Any] = {"clusters": scores.units, "resampling": resampling}
        none = none_of_the_above(added, replaced, scores.labels(NONE[0]), **how)
    return DistractorFigures(len(scores), k, **kinds, difference=test.difference, p_value=test.p_value, none=none)
