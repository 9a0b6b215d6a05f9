"""What else than quality decides for a judge of pairs: the position, the length, or being its own answer."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, bounded_mean, sign_flip_p_value
from rightreasons.foundations.arrays import as_floats, to_numpy
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_same_length

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Preference(Result):
    """One figure of a judge, a mean over items.

    Attributes:
        value: The figure.
        interval: Its interval: Student's t with an item at each bound.
        n_items: Items it is a mean over; pairs of one item are averaged first.
        n_pairs: Pairs it is about.
        p_value: Two-sided p-value of `null`, by flipping signs of items at random; None where there is no test.
        null: What is tested, in words; "" where there is no test.
    """

    value: float
    interval: Interval
    n_items: int
    n_pairs: int
    p_value: float | None = None
    null: str = ""


@dataclasses.dataclass(frozen=True)
class JudgeBias(Result):
    """What a judge of pairs prefers; None for what the data do not tell.

    Attributes:
        consistency: Share of pairs, judged in both orders, whose winner stays; in [0, 1], higher is better.
        position: How much more often a candidate wins in the first place than in the second, in [-1, 1]; 0 is best.
        length: How much more often the longer candidate wins than the shorter, in [-1, 1].
        length_beyond: The share of wins of the longer less that of the reference, in [-1, 1]; 0 is best.
        own: How much more often the judge's own candidate wins than the other one, in [-1, 1].
        own_beyond: The share of wins of its own candidate less that of the reference, in [-1, 1]; 0 is best.
        n_pairs: Number of pairs.
    """

    consistency: Preference | None
    position: Preference | None
    length: Preference | None
    length_beyond: Preference | None
    own: Preference | None
    own_beyond: Preference | None
    n_pairs: int


@checks_kinds
def judge_bias(
    first_wins: Any,
    swapped: Any = None,
    *,
    longer: Any = None,
    own: Any = None,
    reference: Any = None,
    items: Any = None,
    resampling: Resampling = Resampling(),
) -> JudgeBias:
    r"""Measure what a judge of pairs prefers beside quality.

    With \(a_i\) whether the first of pair i wins (1, 0, or 1/2 for a tie) when it is shown first, \(b_i\) whether the
    same candidate wins when it is shown second, and \(s_i = (a_i + b_i) / 2\) (or the one of them that there is):

    - position: mean of \(a_i - b_i\) over pairs in both orders. Its test flips the sign of each item, as is right
      where neither place is preferred. Of pairs in one order alone it is the mean of \(2 a_i - 1\), and the null holds
      only where the order was random;
    - length: mean of \(2 s_i - 1\), counted for the longer. Its null, that the longer is as likely to win, holds only
      where length and quality are unrelated; a longer answer may be better;
    - length beyond the reference: mean of \(s_i - r_i\), counted for the longer, with \(r_i\) whether the first
      wins according to the reference, such as people or other judges. Its null: the judge and the reference decide
      for the longer equally often, item by item;
    - own: the same for the judge's own candidate. Without a reference there is no test: it may be better.

    Pairs of one item are averaged first, so that an item counts once, and tests and intervals are over items.

    Args:
        first_wins: (N,) whether the first of each pair wins when it is shown first: 1, 0 or 0.5; NaN for not judged.
        swapped: (N,) whether the same candidate wins when it is shown second; NaN for not judged; None for none.
        longer: (N,) 1 where the first is the longer one, 0 where the second is, 0.5 where they are alike; or None.
        own: (N,) 1 where the first is by the judge itself, 0 where the second is, 0.5 where none or both are; or None.
        reference: (N,) whether the first wins according to the reference, from 0 to 1; NaN for unknown; or None.
        items: (N,) names of the items; None where each pair is an item.
        resampling: Level of the intervals, number of random signs, and seed.

    Returns:
        A `JudgeBias`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value or a length is wrong, or no pair is judged.

    References:
        Zheng et al. (2023), Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, sections 3.3 and 3.4.
        Fisher (1935), The Design of Experiments, section 21 (the test).

    Example:
        Of four pairs, one goes to whichever is shown first.

        >>> found = judge_bias([1, 1, 0, 0], [1, 0, 0, 0])
        >>> found.consistency.value, found.position.value, found.position.p_value
        (0.75, 0.25, 1.0)
    """
    wins = {"first_wins": _shares(first_wins, "first_wins")}
    for name, values in (("swapped", swapped), ("longer", longer), ("own", own), ("reference", reference)):
        wins[name] = np.full(len(wins["first_wins"]), np.nan) if values is None else _shares(values, name)
    n_pairs = check_same_length(**wins)
    names = np.arange(n_pairs) if items is None else to_numpy(items, "items")
    check_same_length(first_wins=wins["first_wins"], items=names)
    item = np.unique(names.astype(np.str_), return_inverse=True)[1]
    one, two = wins["first_wins"], wins["swapped"]
    if not np.isfinite(np.column_stack((one, two))).any():
        raise ValueError("Expected at least one pair with a judgment, but there is none.")
    both = np.isfinite(one) & np.isfinite(two)
    either = np.where(both, (one + two) / 2, np.where(np.isfinite(one), one, two))

    def mean(values: Floats, *, low: float = -1.0, null: str = "") -> Preference | None:
        chosen = np.isfinite(values)
        if not chosen.any():
            return None
        places, group = np.unique(item[chosen], return_inverse=True)
        averages = np.bincount(group, values[chosen]) / np.bincount(group)
        interval = bounded_mean(averages, low=low, high=1.0, confidence_level=resampling.level)
        p_value = sign_flip_p_value(averages, resampling=resampling) if null else None
        return Preference(float(averages.mean()), interval, len(places), int(chosen.sum()), p_value, null)

    def turned(values: Floats, side: Floats) -> Floats:
        """Count values for one side; pairs in which no side is meant have none."""
        return np.where(np.isin(side, (0, 1)), values * (2 * side - 1), np.nan)

    beyond = either - wins["reference"]
    place, shown_first = one - two, np.where(np.isfinite(one), 2 * one - 1, 1 - 2 * two)
    in_both = mean(place, null="A candidate wins equally often in the first and in the second place.")
    return JudgeBias(
        consistency=mean(np.where(both, (one == two).astype(np.float64), np.nan), low=0.0),
        position=in_both or mean(shown_first, null="The order was random, and both places win equally often."),
        length=mean(turned(2 * either - 1, wins["longer"]), null="The longer wins as often as the shorter."),
        length_beyond=mean(
            turned(beyond, wins["longer"]),
            null="The judge and the reference decide for the longer equally often.",
        ),
        own=mean(turned(2 * either - 1, wins["own"])),
        own_beyond=mean(
            turned(beyond, wins["own"]),
            null="The judge and the reference decide for the judge's own candidate equally often.",
        ),
        n_pairs=n_pairs,
    )


def _shares(values: Any, name: str) -> Floats:
    """Check a vector of shares from 0 to 1 with NaN for none."""
    shares = as_floats(values, name)
    if shares.ndim != 1 or not len(shares):
        raise ValueError(f"Expected `{name}` of shape (N,) with at least one pair, but got shape {shares.shape}.")
    odd = np.flatnonzero(~(np.isnan(shares) | ((shares >= 0) & (shares <= 1))))
    if odd.size:
        raise ValueError(f"Expected values from 0 to 1 in `{name}`, but pair {odd[0]} has {shares[odd[0]]:g}.")
    return shares
