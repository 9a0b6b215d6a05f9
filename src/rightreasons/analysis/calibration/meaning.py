"""Answers that mean the same: clusters by entailment in both directions, and the entropy over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.arrays import to_numpy
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_labels


@checks_kinds
def meaning_clusters(entails: Any) -> NDArray[np.int64]:
    """Put answers into clusters of one meaning: each into the first whose first member it entails and is entailed by.

    Args:
        entails: (n, n) whether answer i entails answer j, given the question; the diagonal does not matter.

    Returns:
        (n,) the cluster of each answer, numbered from 0 in the order of their first members.

    Raises:
        ValueError: If the table is not square, or empty.

    References:
        Kuhn, Gal, Farquhar (2023), Semantic Uncertainty: Linguistic Invariances for Uncertainty Estimation in Natural
        Language Generation, algorithm 1.

    Example:
        The first two entail each other; the third entails the first, but not the other way round.

        >>> meaning_clusters([[1, 1, 0], [1, 1, 0], [1, 0, 1]]).tolist()
        [0, 0, 1]
    """
    table = to_numpy(entails, "entails").astype(np.bool_)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        raise ValueError(f"Expected `entails` of shape (n, n) for n answers, but got shape {table.shape}.")
    both = table & table.T
    firsts: list[int] = []
    clusters = np.empty(len(table), dtype=np.int64)
    for answer in range(len(table)):
        place = next((number for number, first in enumerate(firsts) if both[answer, first]), len(firsts))
        if place == len(firsts):
            firsts.append(answer)
        clusters[answer] = place
    return clusters


@checks_kinds
def semantic_entropy(clusters: Any) -> float:
    r"""Compute the entropy over clusters of meaning of answers that were drawn from a model.

    \[ -\sum_c p_c \log p_c \]

    with \(p_c\) the share of the answers in cluster c (the discrete estimate, which needs no token probabilities).

    Args:
        clusters: (n,) the cluster of each answer.

    Returns:
        The entropy in nats, from 0 (all mean the same) to log n.

    References:
        Farquhar, Kossen, Kuhn, Gal (2024), Detecting Hallucinations in Large Language Models Using Semantic Entropy.

    Example:
        >>> round(semantic_entropy([0, 0, 1, 1]), 6), semantic_entropy([0, 0, 0])
        (0.693147, 0.0)
    """
    counts = np.unique(check_labels(clusters, name="clusters"), return_counts=True)[1]
    shares = counts / counts.sum()
    return float(abs(-(shares * np.log(shares)).sum()))
