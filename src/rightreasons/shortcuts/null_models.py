"""Compute how often blind picks of tokens would count as shortcuts.

Head tokens are frequent, so that even random tokens of a text hit the head of a label now and then.
The null models shuffle the top tokens within their text, among all tokens or among those of similar
frequency; `compute_hit_chances` gives the chance of a hit in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import compute_log_binomial


def compute_hit_chances(
    rows: NDArray[np.int64],
    n_rows: int,
    in_top: NDArray[np.bool_],
    in_head: NDArray[np.bool_],
    strata: NDArray[np.int64] | None = None,
) -> Floats:
    r"""Compute the chance that shuffled top tokens hit the head at least once, for each text.

    The positions of the top tokens are shuffled among the tokens of the same text and the same
    stratum:

    \[ P_i = 1 - \prod_b \binom{L_{ib} - h_{ib}}{m_{ib}} \Big/ \binom{L_{ib}}{m_{ib}} \]

    for \(L_{ib}\) tokens of text i in stratum b, of which \(h_{ib}\) lie in the head and \(m_{ib}\)
    among the top.

    Args:
        rows: (total,) the text of each token.
        n_rows: Number of texts N.
        in_top: (total,) whether the token is among the top tokens of its text.
        in_head: (total,) whether the token lies in the head of the predicted label.
        strata: (total,) the stratum of each token, from 0. If None (default), all tokens of a text
            are one stratum.

    Returns:
        (N,) chances in [0, 1].

    Example:
        One of four tokens is in the head and two are picked: 1 - C(3, 2) / C(4, 2) = 1/2.

        >>> rows = np.zeros(4, dtype=np.int64)
        >>> in_top = np.array([True, True, False, False])
        >>> in_head = np.array([False, False, False, True])
        >>> compute_hit_chances(rows, 1, in_top, in_head).round(6).tolist()
        [0.5]
    """
    n_strata = 1
    cells = rows
    if strata is not None:
        n_strata = int(strata.max(initial=0)) + 1
        cells = rows * n_strata + strata

    # Each of the counts below is an (N, S) table of texts and strata.
    shape = (n_rows, n_strata)
    is_token = np.ones(len(rows), dtype=np.bool_)
    n_tokens = _count_by_cell(is_token, cells, shape)
    n_picked = _count_by_cell(in_top, cells, shape)
    n_in_head = _count_by_cell(in_head, cells, shape)
    n_outside = n_tokens - n_in_head

    # With fewer tokens outside of the head than picks, a hit is certain.
    can_miss = n_outside >= n_picked
    safe_outside = np.maximum(n_outside, n_picked)
    log_misses = compute_log_binomial(safe_outside, n_picked)
    log_picks = compute_log_binomial(n_tokens, n_picked)
    log_ratios = log_misses - log_picks
    log_chances = np.where(can_miss, log_ratios, 0)
    log_miss = log_chances.sum(axis=1)

    # A chance of exactly 0 must not come out as a rounding error below it.
    log_miss = np.minimum(log_miss, 0.0)
    chances = 0.0 - np.expm1(log_miss)
    can_miss_all = can_miss.all(axis=1)
    return np.where(can_miss_all, chances, 1.0)


def _count_by_cell(
    flags: NDArray[np.bool_],
    cells: NDArray[np.int64],
    shape: tuple[int, int],
) -> Floats:
    """Count the flagged tokens in each cell of a table of texts and strata.

    Args:
        flags: (total,) whether a token counts.
        cells: (total,) number of the cell of each token, row by row of the table.
        shape: Shape of the table.

    Returns:
        Counts of the given shape.
    """
    n_rows, n_strata = shape
    weights = flags.astype(np.float64)
    counts = np.bincount(cells, weights, minlength=n_rows * n_strata)
    return counts.astype(np.float64).reshape(shape)


def assign_frequency_bins(
    vocabulary: Sequence[str],
    frequencies: Mapping[str, int],
    n_bins: int,
) -> NDArray[np.int64]:
    """Assign tokens to bins of similar frequency, each with about as many occurrences.

    Args:
        vocabulary: The V tokens.
        frequencies: Token -> number of its occurrences in the corpus. Missing tokens have none.
        n_bins: Number of bins.

    Returns:
        (V,) bins from 0 (rare) to n_bins - 1 (frequent). Tokens of one frequency share a bin.

    Example:
        >>> frequencies = {"the": 50, "of": 40, "film": 10}
        >>> assign_frequency_bins(["the", "of", "film", "new"], frequencies, 2).tolist()
        [1, 0, 0, 0]
    """
    counts = np.fromiter(frequencies.values(), dtype=np.int64, count=len(frequencies))
    is_counted = counts > 0
    # Distinct frequencies in ascending order, and how many tokens have each.
    distinct_counts, n_tokens = np.unique(counts[is_counted], return_counts=True)

    # If all occurrences are sorted by the frequency of their tokens, each frequency is a segment of
    # this sequence. Its bin is the one that contains the middle of the segment.
    mass = distinct_counts * n_tokens
    total = max(int(mass.sum()), 1)
    middle = np.cumsum(mass) - mass / 2
    bin_by_frequency = (middle / total * n_bins).astype(np.int64)
    bin_by_frequency = np.minimum(bin_by_frequency, n_bins - 1)

    n_types = len(vocabulary)
    token_counts = np.zeros(n_types, dtype=np.int64)
    for index, token in enumerate(vocabulary):
        token_counts[index] = frequencies.get(token, 0)

    # Tokens that are not in the corpus stay in bin 0, that of the rarest ones.
    position = np.searchsorted(distinct_counts, token_counts)
    is_listed = position < len(distinct_counts)
    is_in_corpus = is_listed & (token_counts > 0)
    bins = np.zeros(n_types, dtype=np.int64)
    bins[is_in_corpus] = bin_by_frequency[position[is_in_corpus]]
    return bins


def compute_permutation_p_value(n_hits: int, chances: Floats, resampling: Resampling) -> float:
    """Compute how often shuffled top tokens hit in at least as many texts as the observed ones.

    Whether a shuffled text hits is a coin of known chance, so that the shuffles are drawn as coins:
    the same distribution, without the cost of shuffling. The observed assignment counts as one of
    the shuffles, so that the p-value is never 0.

    Args:
        n_hits: Number of texts with a hit.
        chances: (N,) chance of a hit in each text.
        resampling: Number of shuffles of all texts, and their seed.

    Returns:
        One-sided p-value in (0, 1].
    """
    rng = np.random.default_rng(resampling.seed)
    n_items = len(chances)
    n_extreme = 1
    # Blocks bound the memory: N texts times all shuffles would be too large.
    for n_shuffles in resampling.split_into_blocks(n_items):
        draws = rng.random((n_shuffles, n_items))
        coins = draws < chances
        hits_by_shuffle = coins.sum(axis=1)
        n_extreme += int(np.count_nonzero(hits_by_shuffle >= n_hits))
    return n_extreme / (resampling.resamples + 1)
