"""How often a detector would find a shortcut if it picked its tokens blindly.

Frequent words fill the head of the LMI ranking and every text is full of them, so some of any text's tokens lie in the
head whatever the model does. These are the chances of that, in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]

_CELLS = 4_000_000
"""Maximum number of random numbers held in memory at once."""


def chance_of_hit(
    rows: NDArray[np.int64],
    n_rows: int,
    in_top: NDArray[np.bool_],
    in_head: NDArray[np.bool_],
    strata: NDArray[np.int64] | None = None,
) -> Floats:
    r"""Compute the chance that shuffled top tokens hit the head at least once, for each text.

    The places of the top tokens are shuffled among the tokens of the same text and the same stratum:

    \[ P_i = 1 - \prod_b \binom{L_{ib} - h_{ib}}{m_{ib}} \Big/ \binom{L_{ib}}{m_{ib}} \]

    for \(L_{ib}\) tokens of text i in stratum b, of which \(h_{ib}\) lie in the head and \(m_{ib}\) among the top.

    Args:
        rows: (total,) the text of each token.
        n_rows: Number of texts N.
        in_top: (total,) whether the token is among the top tokens of its text.
        in_head: (total,) whether the token lies in the head of the predicted label.
        strata: (total,) the stratum of each token, from 0; None for one stratum: any token of the text.

    Returns:
        (N,) chances in [0, 1].

    Example:
        One of four tokens is in the head and two are picked: 1 - C(3, 2) / C(4, 2) = 1/2.

        >>> rows = np.zeros(4, dtype=np.int64)
        >>> chance_of_hit(rows, 1, np.array([1, 1, 0, 0], bool), np.array([0, 0, 0, 1], bool)).round(6).tolist()
        [0.5]
    """
    n_strata = 1 if strata is None else int(strata.max(initial=0)) + 1
    cells = rows if strata is None else rows * n_strata + strata
    size = n_rows * n_strata
    length, in_both, picked = (
        np.bincount(cells, weights, minlength=size).astype(np.float64)
        for weights in (None, in_head.astype(np.float64), in_top.astype(np.float64))
    )
    outside = length - in_both
    possible = outside >= picked
    with np.errstate(invalid="ignore"):
        miss = np.where(possible, _log_binomial(np.maximum(outside, picked), picked) - _log_binomial(length, picked), 0)
    log_miss = miss.reshape(n_rows, n_strata).sum(axis=1)
    sure = ~possible.reshape(n_rows, n_strata).all(axis=1)
    # A chance of exactly 0 must not come out as a rounding error below it.
    return np.where(sure, 1.0, 0.0 - np.expm1(np.minimum(log_miss, 0.0)))


def frequency_bins(vocabulary: Sequence[str], frequencies: Mapping[str, int], n_bins: int) -> NDArray[np.int64]:
    """Put tokens into bins of similar frequency, each of which holds about the same share of the running text.

    Args:
        vocabulary: The tokens.
        frequencies: How often tokens occur in the corpus; tokens that it lacks count as never seen.
        n_bins: Number of bins.

    Returns:
        (V,) bins from 0 (rare) to n_bins - 1 (frequent). Tokens of one frequency share a bin.

    Example:
        >>> frequency_bins(["the", "of", "film", "new"], {"the": 50, "of": 40, "film": 10}, 2).tolist()
        [1, 0, 0, 0]
    """
    counts = np.fromiter(frequencies.values(), dtype=np.int64, count=len(frequencies))
    distinct, types = np.unique(counts[counts > 0], return_counts=True)
    mass = distinct * types
    middle = (np.cumsum(mass) - mass / 2) / max(int(mass.sum()), 1)
    bin_of_count = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
    own = np.fromiter((frequencies.get(token, 0) for token in vocabulary), dtype=np.int64, count=len(vocabulary))
    place = np.searchsorted(distinct, own)
    known = (place < len(distinct)) & (own > 0)
    bins = np.zeros(len(vocabulary), dtype=np.int64)
    bins[known] = bin_of_count[place[known]]
    return bins


def permutation_p_value(n_hits: int, chances: Floats, *, n_permutations: int, seed: int) -> float:
    """Return how often shuffled top tokens hit in at least as many texts as the observed ones did.

    Whether a shuffled text hits is a coin of known chance, so the shuffles are drawn as coins: the same distribution,
    at no cost. The observed assignment is counted as one of the shuffles, so the p-value is never 0.

    Args:
        n_hits: Number of texts with a hit.
        chances: (N,) chance of a hit in each text.
        n_permutations: Number of shuffles of all texts.
        seed: Seed of the shuffles.

    Returns:
        One-sided p-value in (0, 1].
    """
    rng = np.random.default_rng(seed)
    as_many = 0
    step = max(1, _CELLS // len(chances))
    for start in range(0, n_permutations, step):
        hits = rng.random((min(step, n_permutations - start), len(chances))) < chances
        as_many += int(np.count_nonzero(hits.sum(axis=1) >= n_hits))
    return (as_many + 1) / (n_permutations + 1)


def _log_binomial(n: Floats, k: Floats) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1), dtype=np.float64)
