"""Calibration to the votes of annotators who disagree.

`human_calibration` is the entry point. It parses the class probabilities of a model and the votes
of several annotators per item, and compares three aspects of the two distributions: the
probabilities themselves (DistCE), their entropies (EntCE) and the rankings of the classes (RankCS).
"""

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

TIE_RULES = ("expected", "class_order")

MAX_CLASS_PAIRS = 4_000_000
"""Maximum number of pairs of classes that are compared at once, which bounds the memory."""

MAX_VOTES_PER_ITEM = 2**53
"""Maximum number of votes per item: above it, float64 does not represent every whole number."""


@dataclasses.dataclass(frozen=True)
class HumanCalibration(Result):
    """Calibration of class probabilities to the votes of annotators.

    Attributes:
        dist_ce: Human distribution calibration error, in [0, 1]; lower is better.
        interval: Interval of `dist_ce` over items, by `bounded_mean_interval`.
        ent_ce: Human entropy calibration error in nats, in [0, log K]: the mean absolute difference
            of the entropies; lower is better.
        ent_ce_interval: Interval of `ent_ce` over items, by `bounded_mean_interval`.
        rank_cs: Human ranking calibration score, in [0, 1]; higher is better.
        rank_cs_interval: Wilson interval of `rank_cs`.
        n_items: Number of items.
        n_votes: Number of votes; None if the votes are distributions.
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
        """Return a figure with its interval.

        Args:
            key: "dist_ce", "ent_ce" or "rank_cs".
        """
        interval = self.interval if key == "dist_ce" else getattr(self, f"{key}_interval")
        return make_estimate(getattr(self, key), interval)


@dataclasses.dataclass(frozen=True, eq=False)
class Votes:
    """Votes of annotators on N items and K classes.

    Attributes:
        weights: (N, K) votes as they were given, counts or shares. Rankings use these, because
            equal counts are equal exactly.
        shares: (N, K) shares of the votes, which sum to 1 in each row.
        n_votes: Number of votes; None if only their shares are known.
    """

    weights: Floats
    shares: Floats
    n_votes: int | None


def human_calibration(
    predictions: Any,
    references: Any,
    *,
    votes: str = "counts",
    scores: str = "probabilities",
    ties: str = "expected",
    resampling: Resampling = Resampling(),
) -> HumanCalibration:
    r"""Measure how well class probabilities match the votes of annotators who may disagree.

    With the probabilities \(f_i\) of the model and the shares of the votes \(\pi_i\) of item i,

    \[ DistCE = \frac1N \sum_i \tfrac12 \lVert f_i - \pi_i \rVert_1, \quad
       EntCE = \frac1N \sum_i \lvert H(f_i) - H(\pi_i) \rvert, \quad
       RankCS = \frac1N \sum_i [\operatorname{argsort} f_i = \operatorname{argsort} \pi_i] \]

    with the entropy H in nats. DistCE is the mean total variation distance. The shares of few votes
    are a coarse estimate of how a population would vote.

    Args:
        predictions: (N, K) class scores, or (N,) P(class 1) of a binary task.
        references: (N, K) votes for each class, in the order of the classes of the scores.
        votes: Kind of the references: "counts" (whole numbers; the number of annotators may differ
            between items) or "distributions" (shares that sum to 1).
        scores: "probabilities", "logits" or "log_probabilities".
        ties: Treatment of classes with equal votes or probabilities. "expected" is the probability
            that the two rankings agree if ties are broken at random. "class_order" ranks the class
            with the higher index higher, as the authors' code does. Without ties, both rules give
            the same result.
        resampling: Level of the intervals.

    Returns:
        A `HumanCalibration`.

    Raises:
        TypeError: If an input is not numeric.
        ValueError: If a value, a shape or a length is invalid, counts are not whole numbers,
            distributions do not sum to 1, or an item has no votes.

    References:
        Baan, Aziz, Plank, Fernández (2022), "Stop Measuring Calibration When Humans Disagree",
        EMNLP, section 5. Its tables report the mean absolute EntCE and the mean DistCE.

    Example:
        The distances are 0.2 and 0.1. The classes of the first item are ranked as the votes rank
        them, those of the second are not.

        >>> result = human_calibration([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]], [[5, 3, 2], [5, 4, 1]])
        >>> round(result.dist_ce, 6), result.rank_cs, round(result.ent_ce, 6)
        (0.15, 0.5, 0.113917)
    """
    check_one_of(votes, VOTE_KINDS, "votes")
    check_one_of(ties, TIE_RULES, "ties")
    if is_ragged(predictions) or is_ragged(references):
        raise ValueError(
            "Expected rows of one length in `predictions` and `references`, but they differ."
        )
    if scores == "probabilities":
        refuse_class_labels(predictions)
    probabilities = check_scores(predictions, scores=scores)
    human_votes = parse_votes(references, votes)
    _check_same_shape(probabilities, human_votes.weights)

    # Each figure is a mean over the items.
    distances = np.abs(probabilities - human_votes.shares).sum(axis=1) / 2
    model_entropy = special.entr(probabilities).sum(axis=1)
    human_entropy = special.entr(human_votes.shares).sum(axis=1)
    entropy_gaps = np.abs(model_entropy - human_entropy)
    agreement = _compute_agreement(probabilities, human_votes.weights, ties)

    level = resampling.level
    max_entropy = float(np.log(probabilities.shape[1]))
    return HumanCalibration(
        dist_ce=float(distances.mean()),
        # Rounding may lift a distance or an entropy slightly above its bound.
        interval=bounded_mean_interval(
            np.minimum(distances, 1.0), low=0.0, high=1.0, confidence_level=level
        ),
        ent_ce=float(entropy_gaps.mean()),
        ent_ce_interval=bounded_mean_interval(
            np.minimum(entropy_gaps, max_entropy),
            low=0.0,
            high=max_entropy,
            confidence_level=level,
        ),
        rank_cs=float(agreement.mean()),
        rank_cs_interval=_make_agreement_interval(agreement, level),
        n_items=len(probabilities),
        n_votes=human_votes.n_votes,
    )


def parse_votes(references: Any, kind: str) -> Votes:
    """Parse the votes of annotators.

    Args:
        references: (N, K) whole numbers of votes, or shares that sum to 1.
        kind: "counts" or "distributions".

    Returns:
        The votes as float64.

    Raises:
        TypeError: If the votes are not numeric.
        ValueError: If a count is not a whole number from 0, a distribution does not sum to 1, or an
            item has no votes or too many.

    Example:
        >>> parse_votes([[3, 1]], "counts").shares
        array([[0.75, 0.25]])
        >>> parse_votes([[0.5, 0.5]], "counts")
        Traceback (most recent call last):
        ...
        ValueError: Expected whole numbers of votes in `references` for votes='counts', but row 0 \
has 0.5.
    """
    weights = to_floats(references, "references")
    if kind == "distributions":
        weights = check_scores(weights, name="references", allow_vector=False)
        return Votes(weights, weights / weights.sum(axis=1, keepdims=True), n_votes=None)
    _check_counts(weights)
    totals = weights.sum(axis=1, keepdims=True)
    return Votes(weights, weights / totals, n_votes=int(totals.sum()))


def _check_counts(counts: Floats) -> None:
    """Check a table of votes: whole numbers, with at least one vote for each item.

    Args:
        counts: (N, K) number of votes for each class of each item.

    Raises:
        ValueError: If the shape or a number is invalid; the message names the first invalid row.
    """
    if counts.ndim != 2 or counts.shape[1] < 2 or not len(counts):
        raise ValueError(
            "Expected `references` of shape (N, K), the votes for each class, but got shape "
            f"{counts.shape}."
        )
    is_invalid = ~np.isfinite(counts) | (counts < 0) | (counts != np.floor(counts))
    if is_invalid.any():
        row, column = np.argwhere(is_invalid)[0]
        raise ValueError(
            "Expected whole numbers of votes in `references` for votes='counts', but row "
            f"{row} has {counts[row, column]:g}."
        )

    # Floats cannot represent larger sums exactly, and the sum of the largest floats overflows.
    with np.errstate(over="ignore"):
        totals = counts.sum(axis=1)
    too_large = np.flatnonzero(totals > MAX_VOTES_PER_ITEM)
    if too_large.size:
        raise ValueError(
            f"Expected at most {MAX_VOTES_PER_ITEM:,} votes in each row of `references`, but row "
            f"{too_large[0]} has {totals[too_large[0]]:g}."
        )
    empty_rows = np.flatnonzero(totals == 0)
    if empty_rows.size:
        raise ValueError(
            "Expected at least one vote in each row of `references`, but row "
            f"{empty_rows[0]} has none."
        )


def _check_same_shape(probabilities: Floats, votes: Floats) -> None:
    """Check that (N, K) probabilities and (N, K) votes have as many items and classes."""
    check_same_length(predictions=probabilities, references=votes)
    if probabilities.shape != votes.shape:
        raise ValueError(
            "Expected one column of votes per class in `references`, "
            f"{probabilities.shape[1]}, but got {votes.shape[1]}."
        )


def _make_agreement_interval(agreement: Floats, level: float) -> Interval:
    """Return Wilson's interval of the mean agreement, whose values may lie between 0 and 1."""
    # Each item is a cluster of size one: the cluster formula accepts shares, Wilson's only counts.
    interval = cluster_wilson(agreement, np.ones(len(agreement)), confidence_level=level)
    return dataclasses.replace(interval, method="Wilson score")


# --- Agreement of two rankings of the classes


def _compute_agreement(probabilities: Floats, votes: Floats, ties: str) -> Floats:
    """Return, for each item, the probability that scores and votes rank the classes equally.

    Args:
        probabilities: (N, K) probabilities of the model.
        votes: (N, K) votes of annotators.
        ties: One of `TIE_RULES`. "class_order" ranks the later of equal classes higher, so that the
            probability is 0 or 1; "expected" breaks ties at random.

    Returns:
        (N,) probabilities.
    """
    if ties == "class_order":
        # A stable sort ranks the later of equal classes higher.
        model_order = np.argsort(probabilities, axis=1, kind="stable")
        human_order = np.argsort(votes, axis=1, kind="stable")
        return np.asarray((model_order == human_order).all(axis=1), dtype=np.float64)

    # The comparison of all pairs of classes needs K^2 values per item, so it runs in blocks.
    n_items, n_classes = probabilities.shape
    n_rows = max(1, MAX_CLASS_PAIRS // n_classes**2)
    blocks = []
    for start in range(0, n_items, n_rows):
        rows = slice(start, start + n_rows)
        blocks.append(_compute_expected_agreement(probabilities[rows], votes[rows]))
    return np.concatenate(blocks)


def _compute_expected_agreement(first: Floats, second: Floats) -> Floats:
    r"""Return, for each item, the probability that two rankings agree if ties are broken at random.

    Rankings that order a pair of classes in opposite ways never agree. Otherwise, let a, b and c be
    the numbers of orders of the classes that are consistent with the first ranking, the second
    ranking, and both. Breaking ties selects one of a orders and one of b orders at random, so both
    are the same with probability \(c / (a b)\).

    Args:
        first: (N, K) values that rank the K classes.
        second: (N, K) other values that rank them.

    Returns:
        (N,) probabilities.
    """
    # (N, K, K) difference of each pair of classes.
    first_gaps = first[:, :, None] - first[:, None, :]
    second_gaps = second[:, :, None] - second[:, None, :]
    has_contradiction = ((first_gaps > 0) & (second_gaps < 0)).any(axis=(1, 2))

    first_ties = first_gaps == 0
    second_ties = second_gaps == 0
    # Computed as logarithms, because the factorials of many tied classes overflow.
    log_probability = (
        _count_log_orders(first_ties & second_ties)
        - _count_log_orders(first_ties)
        - _count_log_orders(second_ties)
    )
    return np.where(has_contradiction, 0.0, np.exp(log_probability))


def _count_log_orders(is_tied: NDArray[np.bool_]) -> Floats:
    """Return the logarithm of the number of ways to order the tied classes of each item.

    A group of s tied classes has s! orders. Each of its s members contributes log(s!) / s.

    Args:
        is_tied: (N, K, K) whether each pair of classes is tied; each class is tied with itself.

    Returns:
        (N,) logarithms.
    """
    # (N, K) size of the group of each class.
    sizes = is_tied.sum(axis=2)
    return np.asarray((special.gammaln(sizes + 1) / sizes).sum(axis=1))
