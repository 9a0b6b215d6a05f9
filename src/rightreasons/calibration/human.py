"""Calibration to people who disagree: a model's class probabilities beside the votes of several annotators."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.calibration.confidences import refuse_class_labels
from rightreasons.calibration.options import VOTE_KINDS
from rightreasons.core.arrays import Floats, is_ragged, to_floats
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import Interval, bounded_mean_interval, cluster_wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of, check_same_length, check_scores

TIES = ("expected", "class_order")

_PAIRS = 4_000_000
"""Pairs of classes that are compared at once."""


@dataclasses.dataclass(frozen=True)
class HumanCalibration(Result):
    """Calibration to the votes of people.

    Attributes:
        dist_ce: Human distribution calibration error, in [0, 1]; lower is better.
        interval: Its interval over items (`bounded_mean_interval`, like the next).
        ent_ce: Human entropy calibration error in nats, in [0, log K]: the mean absolute gap; lower is better.
        ent_ce_interval: Its interval.
        rank_cs: Human ranking calibration score, in [0, 1]; higher is better.
        rank_cs_interval: Its Wilson interval.
        n_items: Number of items.
        n_votes: Number of votes; None for distributions.
    """

    dist_ce: float
    interval: Interval
    ent_ce: float
    ent_ce_interval: Interval
    rank_cs: float
    rank_cs_interval: Interval
    n_items: int
    n_votes: int | None

    def estimate(self, key: str) -> Estimate:
        """Return "dist_ce", "ent_ce" or "rank_cs" with its interval."""
        interval = self.interval if key == "dist_ce" else getattr(self, f"{key}_interval")
        return make_estimate(getattr(self, key), interval)


def human_calibration(
    predictions: Any,
    references: Any,
    *,
    votes: str = "counts",
    scores: str = "probabilities",
    ties: str = "expected",
    resampling: Resampling = Resampling(),
) -> HumanCalibration:
    r"""Measure how well class probabilities match the votes of people who may disagree.

    With the model's probabilities \(f_i\) and the shares of the votes \(\pi_i\) of item i over K classes,

    \[ DistCE = \frac1N \sum_i \tfrac12 \lVert f_i - \pi_i \rVert_1, \quad
       EntCE = \frac1N \sum_i \lvert H(f_i) - H(\pi_i) \rvert, \quad
       RankCS = \frac1N \sum_i [\operatorname{argsort} f_i = \operatorname{argsort} \pi_i] \]

    with the entropy H in nats. DistCE is the mean total variation distance. Few votes are a coarse picture of what
    people think.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
        references: (N, K) votes for each class, in the order of the classes of the scores.
        votes: What the references are: "counts" (whole numbers; items may differ in how many voted) or
            "distributions" (shares that sum to 1).
        scores: "probabilities", "logits" or "log_probabilities".
        ties: What counts where classes have equal votes or probabilities: "expected", the chance that the two
            rankings agree if ties are broken at random, or "class_order", where the higher class ranks higher, as in
            the authors' code. Without ties the two are the same.
        resampling: Level, resamples and seed of the intervals.

    Returns:
        A `HumanCalibration`.

    Raises:
        TypeError: If something is not numbers.
        ValueError: If a value, a shape or a length is wrong, counts are not whole, distributions do not sum to 1, or an
            item has no votes.

    References:
        Baan, Aziz, Plank, Fernández (2022), "Stop Measuring Calibration When Humans Disagree", EMNLP, section 5; its
        tables have the mean absolute EntCE and the mean DistCE.

    Example:
        Distances 0.2 and 0.1; the first item ranks the classes as the votes do, the second does not.

        >>> result = human_calibration([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]], [[5, 3, 2], [5, 4, 1]])
        >>> round(result.dist_ce, 6), result.rank_cs, round(result.ent_ce, 6)
        (0.15, 0.5, 0.113917)
    """
    check_one_of(votes, VOTE_KINDS, "votes")
    check_one_of(ties, TIES, "ties")
    if is_ragged(predictions) or is_ragged(references):
        raise ValueError(
            "Expected rows of one length in `predictions` and `references`, but they differ."
        )
    if scores == "probabilities":
        refuse_class_labels(predictions)
    table = check_scores(predictions, scores=scores)
    given = check_votes(references, votes)
    check_same_length(predictions=table, references=given)
    if table.shape != given.shape:
        raise ValueError(
            f"Expected one column of votes per class in `references`, {table.shape[1]}, but got {given.shape[1]}."
        )
    totals = given.sum(axis=1)
    shares = given / totals[:, None]
    same_ranking = _same_ranking(table, given, ties)
    distance = np.abs(table - shares).sum(axis=1) / 2
    gap = np.abs(special.entr(table).sum(axis=1) - special.entr(shares).sum(axis=1))
    most, level = float(np.log(table.shape[1])), resampling.level
    return HumanCalibration(
        dist_ce=float(distance.mean()),
        interval=bounded_mean_interval(
            np.minimum(distance, 1.0), low=0.0, high=1.0, confidence_level=level
        ),
        ent_ce=float(gap.mean()),
        ent_ce_interval=bounded_mean_interval(
            np.minimum(gap, most), low=0.0, high=most, confidence_level=level
        ),
        rank_cs=float(same_ranking.mean()),
        # One item per cluster: Wilson's interval for chances as well as for 0 and 1.
        rank_cs_interval=dataclasses.replace(
            cluster_wilson(same_ranking, np.ones(len(table)), confidence_level=level),
            method="Wilson score",
        ),
        n_items=len(table),
        n_votes=int(totals.sum()) if votes == "counts" else None,
    )


def check_votes(references: Any, votes: str) -> Floats:
    """Check the votes of people: (N, K) whole numbers, or shares that sum to 1.

    Args:
        references: (N, K) votes.
        votes: "counts" or "distributions".

    Returns:
        (N, K) float64, unchanged.

    Example:
        >>> check_votes([[0.5, 0.5]], "counts")
        Traceback (most recent call last):
        ...
        ValueError: Expected whole numbers of votes in `references` for votes='counts', but row 0 has 0.5.
    """
    check_one_of(votes, VOTE_KINDS, "votes")
    table = to_floats(references, "references")
    if votes == "distributions":
        return check_scores(table, name="references", allow_vector=False)
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        raise ValueError(
            f"Expected `references` of shape (N, K), the votes for each class, but got shape {table.shape}."
        )
    wrong = ~np.isfinite(table) | (table < 0) | (table != np.floor(table))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"Expected whole numbers of votes in `references` for votes='counts', but row {row} has "
            f"{table[row, column]:g}."
        )
    empty = np.flatnonzero(table.sum(axis=1) == 0)
    if empty.size:
        raise ValueError(
            f"Expected at least one vote in each row of `references`, but row {empty[0]} has none."
        )
    return table


# ------------------------------------------------------------------------------------------------------------- private


def _same_ranking(table: Floats, votes: Floats, ties: str) -> Floats:
    """Return the chance that two rankings of the classes agree; (N,)."""
    if ties == "class_order":
        orders = [np.argsort(values, axis=1, kind="stable") for values in (table, votes)]
        return np.asarray((orders[0] == orders[1]).all(axis=1), dtype=np.float64)
    rows, n_classes = table.shape
    size = max(1, _PAIRS // n_classes**2)
    return np.concatenate(
        [_agreement(table[at : at + size], votes[at : at + size]) for at in range(0, rows, size)]
    )


def _agreement(first: Floats, second: Floats) -> Floats:
    """Return the chance that two rankings agree if the ties of each are broken at random.

    Rankings that contradict each other never agree. Otherwise there are as many orders that fit both as the classes
    tied in both can be arranged, and each ranking takes any of its own orders with equal chance.
    """
    a, b = (values[:, :, None] - values[:, None, :] for values in (first, second))
    against = ((a > 0) & (b < 0)).any(axis=(1, 2))
    both, ties_one, ties_two = (_log_orders(same) for same in ((a == 0) & (b == 0), a == 0, b == 0))
    return np.where(against, 0.0, np.exp(both - ties_one - ties_two))


def _log_orders(same: NDArray[np.bool_]) -> Floats:
    """Return the log of the number of orders of tied classes, from which classes are tied; (N, K, K) to (N,)."""
    sizes = same.sum(axis=2)
    return np.asarray((special.gammaln(sizes + 1) / sizes).sum(axis=1))
