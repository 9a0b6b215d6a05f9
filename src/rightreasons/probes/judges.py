"""Biases of judges that compare pairs: the position, the length, or being the judge's own answer.

`judge_bias` measures one judge, and `measure_judges` all judges of a table from `read_judgments`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_floats, to_numpy
from rightreasons.core.intervals import Interval, bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import sign_flip_p_value
from rightreasons.core.validation import check_same_length
from rightreasons.probes.judgments import Judgments

SIDES = ("longer", "own")
"""Arguments that name a side: 1 for the first candidate, 0 for the second, 0.5 for neither."""


@dataclasses.dataclass(frozen=True)
class Preference(Result):
    """A figure of a judge, a mean over items.

    Attributes:
        value: The figure.
        interval: Interval of the figure: Student's t with an item at each bound.
        n_items: Number of items; pairs of one item are averaged first.
        n_pairs: Number of pairs.
        p_value: Two-sided p-value of `null`, by random signs of items. None without a test.
        null: Null hypothesis in words; "" without a test.
    """

    value: float
    interval: Interval
    n_items: int
    n_pairs: int
    p_value: float | None = None
    null: str = ""


@dataclasses.dataclass(frozen=True)
class JudgeBias(Result):
    """Preferences of a judge of pairs, from `judge_bias`. None for those that the data do not show.

    Attributes:
        consistency: Share of the pairs with the same winner in both orders, in [0, 1]; higher is
            better.
        position: How much more often a candidate wins in the first place than in the second, in
            [-1, 1]; 0 is best.
        length: How much more often the longer candidate wins than the shorter one, in [-1, 1].
        length_beyond: Share of wins of the longer candidate minus that of the reference, in [-1, 1];
            0 is best.
        own: How much more often the judge's own candidate wins than the other one, in [-1, 1].
        own_beyond: Share of wins of its own candidate minus that of the reference, in [-1, 1]; 0 is
            best.
        n_pairs: Number of pairs.
    """

    consistency: Preference | None
    position: Preference | None
    length: Preference | None
    length_beyond: Preference | None
    own: Preference | None
    own_beyond: Preference | None
    n_pairs: int


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
    r"""Measure a judge's preferences for a position, for longer candidates, and for its own ones.

    With \(a_i\) whether the first candidate of pair i wins (1, 0, or 1/2 for a tie) when it is shown
    first, \(b_i\) whether the same candidate wins when it is shown second, and
    \(s_i = (a_i + b_i) / 2\) (or the only one of them):

    - position: mean of \(a_i - b_i\) over pairs in both orders. Its test flips the sign of each item,
      which is valid if neither place is preferred. For pairs in one order alone it is the mean of
      \(2 a_i - 1\), and the null only holds if the order was random;
    - length: mean of \(2 s_i - 1\), counted for the longer candidate. Its null, that the longer one is
      as likely to win, only holds if length and quality are unrelated; a longer answer may be better;
    - length beyond the reference: mean of \(s_i - r_i\), counted for the longer candidate, with
      \(r_i\) whether the first one wins according to the reference, such as people or other judges.
      Its null: the judge and the reference prefer the longer one equally often, item by item;
    - own: the same for the judge's own candidate. Without a reference there is no test: it may be
      better.

    Pairs of one item are averaged first, so that an item counts once, and tests and intervals are
    over items.

    Args:
        first_wins: (N,) whether the first candidate of each pair wins when it is shown first: 1, 0 or
            0.5; NaN if not judged.
        swapped: (N,) whether the same candidate wins when it is shown second; NaN if not judged. None
            (default) if no pair was judged in the other order.
        longer: (N,) 1 if the first candidate is longer, 0 if the second is, 0.5 if they are equally
            long. None (default) if the lengths are unknown.
        own: (N,) 1 if the first candidate is by the judge itself, 0 if the second is, 0.5 if neither
            or both are. None (default) if the authors are unknown.
        reference: (N,) whether the first candidate wins according to the reference, from 0 to 1; NaN
            if unknown. None (default) without a reference.
        items: (N,) names of the items. None (default) if each pair is an item.
        resampling: Level of the intervals, number of random signs, and seed.

    Returns:
        A `JudgeBias`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value or a length is wrong, or no pair is judged.

    References:
        Zheng et al. (2023), Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena, sections 3.3 and
        3.4. Fisher (1935), The Design of Experiments, section 21 (the test).

    Example:
        Of four pairs, one goes to whichever is shown first.

        >>> bias = judge_bias([1, 1, 0, 0], [1, 0, 0, 0])
        >>> bias.consistency.value, bias.position.value, bias.position.p_value
        (0.75, 0.25, 1.0)
    """
    # The arguments are checked together: all are about the same pairs.
    arguments = {
        "first_wins": first_wins,
        "swapped": swapped,
        "longer": longer,
        "own": own,
        "reference": reference,
    }
    pairs = _JudgedPairs.parse(arguments, items, resampling)
    wins_as_first = pairs.columns["first_wins"]
    wins_as_second = pairs.columns["swapped"]
    is_equal = (wins_as_first == wins_as_second).astype(np.float64)
    consistency = np.where(pairs.is_in_both_orders, is_equal, np.nan)
    # Wins minus losses of the first candidate, and its wins minus those by the reference.
    net_wins = 2 * pairs.wins - 1
    excess_wins = pairs.wins - pairs.columns["reference"]
    return JudgeBias(
        consistency=pairs.average(consistency, low=0.0),
        position=_measure_position(pairs),
        length=pairs.average(
            pairs.count_by_side("longer", net_wins),
            null="The longer wins as often as the shorter.",
        ),
        length_beyond=pairs.average(
            pairs.count_by_side("longer", excess_wins),
            null="The judge and the reference decide for the longer equally often.",
        ),
        # Its own candidate may be better, so that there is no null to test.
        own=pairs.average(pairs.count_by_side("own", net_wins)),
        own_beyond=pairs.average(
            pairs.count_by_side("own", excess_wins),
            null="The judge and the reference decide for the judge's own candidate equally often.",
        ),
        n_pairs=len(wins_as_first),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _JudgedPairs:
    """N pairs of candidates with the verdicts of a judge.

    Attributes:
        columns: The checked arguments of `judge_bias`, each (N,), NaN for unknown.
        item: (N,) number of the item of each pair.
        is_in_both_orders: (N,) whether a pair was judged in both orders.
        wins: (N,) mean of the verdicts of a pair, counted for the first candidate; NaN without
            verdicts.
        resampling: Level of the intervals, number of random signs, and seed.
    """

    columns: Mapping[str, Floats]
    item: NDArray[np.intp]
    is_in_both_orders: NDArray[np.bool_]
    wins: Floats
    resampling: Resampling

    @classmethod
    def parse(
        cls, arguments: Mapping[str, Any], items: Any, resampling: Resampling
    ) -> _JudgedPairs:
        """Check the arguments of `judge_bias`, and average the verdicts of each pair.

        Args:
            arguments: "first_wins", "swapped", "longer", "own" and "reference" -> (N,) values; None
                for an argument that is not given, except the first.
            items: (N,) names of the items. None if each pair is an item.
            resampling: Level of the intervals, number of random signs, and seed.

        Raises:
            ValueError: If a value or a length is wrong, or no pair is judged.
        """
        first_wins = _check_shares(arguments["first_wins"], "first_wins")
        columns = {}
        for name, values in arguments.items():
            if values is None:
                # The value is unknown for every pair.
                columns[name] = np.full(len(first_wins), np.nan)
            else:
                columns[name] = _check_shares(values, name)
        n_pairs = check_same_length(**columns)
        item_names = np.arange(n_pairs)
        if items is not None:
            item_names = to_numpy(items, "items")
        check_same_length(first_wins=first_wins, items=item_names)
        _, item_numbers = np.unique(item_names.astype(np.str_), return_inverse=True)

        # Both columns are about the same candidate, which is shown first or second.
        wins_as_first = columns["first_wins"]
        wins_as_second = columns["swapped"]
        is_judged_as_first = np.isfinite(wins_as_first)
        is_judged_as_second = np.isfinite(wins_as_second)
        if not (is_judged_as_first | is_judged_as_second).any():
            raise ValueError("Expected at least one pair with a judgment, but there is none.")
        # The mean of both orders cancels a preference for a place.
        is_in_both_orders = is_judged_as_first & is_judged_as_second
        mean_wins = (wins_as_first + wins_as_second) / 2
        single_wins = np.where(is_judged_as_first, wins_as_first, wins_as_second)
        return cls(
            columns=columns,
            item=item_numbers,
            is_in_both_orders=is_in_both_orders,
            wins=np.where(is_in_both_orders, mean_wins, single_wins),
            resampling=resampling,
        )

    def count_by_side(self, side: str, values: Floats) -> Floats:
        """Convert values about the first candidates to values about the longer, or own, candidates.

        Args:
            side: "longer" or "own".
            values: (N,) values about the first candidate of each pair, which change their sign if
                the second one is the longer or own candidate.

        Returns:
            (N,) values; NaN for a pair in which neither candidate is longer or the judge's own.
        """
        sides = self.columns[side]
        is_known = np.isin(sides, (0, 1))
        signs = 2 * sides - 1
        return np.where(is_known, values * signs, np.nan)

    def average(self, values: Floats, *, low: float = -1.0, null: str = "") -> Preference | None:
        """Return the mean over items of the values of pairs; None if no pair has one.

        Args:
            values: (N,) values up to 1; NaN for a pair without one.
            low: Smallest possible value.
            null: Null hypothesis to be tested, that values are symmetric around 0; "" for no test.
        """
        has_value = np.isfinite(values)
        if not has_value.any():
            return None
        # Pairs of one item are not independent: each item counts once.
        numbers, group = np.unique(self.item[has_value], return_inverse=True)
        means = np.bincount(group, values[has_value]) / np.bincount(group)
        interval = bounded_mean_interval(
            means, low=low, high=1.0, confidence_level=self.resampling.level
        )
        p_value = None
        if null:
            p_value = sign_flip_p_value(means, resampling=self.resampling)
        return Preference(
            value=float(means.mean()),
            interval=interval,
            n_items=len(numbers),
            n_pairs=int(has_value.sum()),
            p_value=p_value,
            null=null,
        )


def _measure_position(pairs: _JudgedPairs) -> Preference | None:
    """Measure how much more often a candidate wins if it is shown first than if it is shown second.

    It is measured on pairs that were judged in both orders. If there are none, it is how much more
    often the candidate that is shown first wins, which only is a preference if the order was
    random.

    Args:
        pairs: Pairs with the wins of the first candidate in each order.
    """
    wins_as_first = pairs.columns["first_wins"]
    wins_as_second = pairs.columns["swapped"]
    in_both_orders = pairs.average(
        wins_as_first - wins_as_second,
        null="A candidate wins equally often in the first and in the second place.",
    )
    if in_both_orders is not None:
        return in_both_orders
    # Wins minus losses of the candidate that was shown first. If a pair was judged only in the
    # other order, its first candidate was shown second.
    net_wins = np.where(np.isfinite(wins_as_first), 2 * wins_as_first - 1, 1 - 2 * wins_as_second)
    return pairs.average(net_wins, null="The order was random, and both places win equally often.")


def _check_shares(values: Any, name: str) -> Floats:
    """Check an argument of `judge_bias`: shares of wins, or sides, with NaN for unknown values.

    Args:
        values: (N,) values. Shares are from 0 to 1. Sides are 1 for the first candidate, 0 for the
            second, and 0.5 for neither.
        name: Name of the argument: one of `SIDES`, or the name of a share.

    Raises:
        ValueError: If the shape or a value is wrong; the message names the first pair.
    """
    shares = to_floats(values, name)
    if shares.ndim != 1 or not len(shares):
        raise ValueError(
            f"Expected `{name}` of shape (N,) with at least one pair, but got shape {shares.shape}."
        )
    # A share may have any value from 0 to 1, but a side only three values.
    is_valid = (shares >= 0) & (shares <= 1)
    description = "values from 0 to 1"
    if name in SIDES:
        is_valid = np.isin(shares, (0, 0.5, 1))
        description = "0, 0.5 or 1"
    invalid = np.flatnonzero(~(np.isnan(shares) | is_valid))
    if invalid.size:
        pair = invalid[0]
        raise ValueError(
            f"Expected {description} in `{name}`, but pair {pair} has {shares[pair]:g}."
        )
    return shares


@dataclasses.dataclass(frozen=True)
class JudgesMeasurement(Result):
    """Preferences of each judge.

    Attributes:
        judges: Judge -> its preferences.
        n_rows: Number of judgments in the table.
        n_without: Number of judgments without a verdict, which are ignored.
    """

    judges: Mapping[str, JudgeBias]
    n_rows: int
    n_without: int


def measure_judges(
    judgments: Judgments, *, resampling: Resampling = Resampling()
) -> JudgesMeasurement:
    """Measure preferences of judges for a position, for longer answers, and for their own answers.

    Args:
        judgments: Result of `read_judgments`.
        resampling: Level of the intervals, number of random signs of the tests, and seed.

    Returns:
        The preferences of each judge that has a verdict; see `judge_bias`.

    Raises:
        ValueError: If no judgment has a verdict.
    """
    biases = {}
    for judge, pairs in judgments.judges.items():
        # A judge without any verdict is left out.
        has_verdict = np.isfinite([pairs["first_wins"], pairs["swapped"]]).any()
        if has_verdict:
            biases[judge] = judge_bias(**pairs, resampling=resampling)
    if not biases:
        raise ValueError(
            f"Expected judgments with a verdict, but none of {judgments.n_rows:,} has one."
        )
    return JudgesMeasurement(biases, judgments.n_rows, judgments.n_without)
