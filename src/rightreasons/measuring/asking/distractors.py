"""What added choices do beyond being more: random ones, ones like the right choice, and "None of the above"."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import mcnemar
from rightreasons.analysis.probes.none_of_the_above import NoneOfTheAbove, none_of_the_above
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.measuring.probes import NONE, ProbeScores, extra_choices_name, near_choices_name, spare_choices

NEAR = 4
"""Maximum number of near choices; as many random ones are there to compare them with."""


def added_choices(rows: Sequence[Sequence[str]], ks: Sequence[int]) -> tuple[tuple[int, ...], int, bool]:
    """Return the numbers of choices that can be added, how many near ones, and whether "None of the above" can be.

    Args:
        rows: The choices of the items.
        ks: The wanted numbers.
    """
    from rightreasons.data.perturbing.probes import NONE_OF_THE_ABOVE

    spare = spare_choices(rows)
    possible = tuple(k for k in dict.fromkeys(ks) if k <= spare) or (1,)
    plain = {choice.strip().rstrip(".").casefold() for row in rows for choice in row}
    near = max((k for k in possible if k <= NEAR), default=min(possible))
    return possible, near, NONE_OF_THE_ABOVE.casefold() not in plain


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
        p_value: Exact McNemar test of no difference.
        none: "None of the above", beside the right choice and in its place; None where it was not asked.
    """

    n_items: int
    k: int
    random: Distractor
    near: Distractor
    difference: float
    p_value: float
    none: NoneOfTheAbove | None


@checks_kinds
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
    tables = {"random": extra_choices_name(k), "near": near_choices_name(k)}
    for name in tables.values():
        if name not in scores.logits:
            raise ValueError(f"Expected scores of the items under {name}, but got {', '.join(scores.logits)}.")
    strayed, figures = {}, {}
    for kind, name in tables.items():
        strayed[kind] = picks_added(scores.tables[name], scores.logits[name].argmax())
        right = scores.logits[name].argmax() == scores.labels(name)
        figures[kind] = Distractor(*(_share(flags, resampling) for flags in (right, strayed[kind])))
    test = mcnemar(strayed["near"], strayed["random"])
    none = None
    if all(name in scores.logits for name in NONE):
        none = none_of_the_above(
            scores.logits[NONE[0]],
            scores.logits[NONE[1]],
            scores.labels(NONE[0]),
            confidence_level=resampling.level,
        )
    return DistractorFigures(
        n_items=len(scores),
        k=k,
        random=figures["random"],
        near=figures["near"],
        difference=test.difference,
        p_value=test.p_value,
        none=none,
    )


def picks_added(table: Any, picked: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which items of a table of probes have an added choice picked."""
    own: list[Mapping[int, None]] = [dict.fromkeys(row) for row in table["original_positions"][:]]
    return np.array([int(pick) not in row for pick, row in zip(picked, own, strict=True)], dtype=np.bool_)


def _share(flags: NDArray[np.bool_], resampling: Resampling) -> Estimate:
    return share(int(flags.sum()), len(flags), resampling) or Estimate(None)
