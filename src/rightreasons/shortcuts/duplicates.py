"""Which items are nearly training texts: what a model says of these may be remembered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.tokens import words as tokenize

SIZE = 3
"""Words of a run."""

MOST_TEXTS = 200
"""A run of words that is in more training texts than this tells no two of them apart."""


def near_duplicates(texts: Sequence[str], training: Sequence[str], *, threshold: float = 0.8) -> NDArray[np.bool_]:
    r"""Find the texts that share most of their runs of three words with one training text.

    \(J(a, b) = |S_a \cap S_b| / |S_a \cup S_b|\), \(S\) being the set of runs of three lower-case words and marks; of a
    shorter text, the text. Runs that are in more than 200 training texts are left out of both sets.

    Args:
        texts: N texts.
        training: M training texts.
        threshold: The smallest \(J\) of a near duplicate, in (0, 1].

    Returns:
        (N,) which texts have a training text of at least that \(J\).

    References:
        Broder (1997), On the resemblance and containment of documents.

    Example:
        The first shares five of its six runs, of seven together: 5 / 7 = 0.71.

        >>> training = ["it was a long and quiet film .", "the plot is thin"]
        >>> near_duplicates(["it was a long and quiet film !", "the plot is thin"], training, threshold=0.7).tolist()
        [True, True]
        >>> near_duplicates(["it was a long and quiet film !", "thin"], training, threshold=0.8).tolist()
        [False, False]
    """
    sets = [_runs(text) for text in training]
    counts = Counter(run for runs in sets for run in runs)
    known = {run for run, count in counts.items() if count > MOST_TEXTS}
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes = []
    for row, runs in enumerate(sets):
        kept = runs - known
        sizes.append(len(kept))
        for run in kept:
            holders[run].append(row)
    return np.array([_is_near(_runs(text) - known, holders, sizes, threshold) for text in texts], dtype=np.bool_)


def _runs(text: str) -> set[tuple[str, ...]]:
    words = tokenize(text)
    return {tuple(words[start : start + SIZE]) for start in range(max(len(words) - SIZE + 1, 1))}


def _is_near(
    runs: set[tuple[str, ...]], holders: dict[tuple[str, ...], list[int]], sizes: Sequence[int], threshold: float
) -> bool:
    shared = Counter(row for run in runs for row in holders.get(run, ()))
    return any(count / (len(runs) + sizes[row] - count) >= threshold for row, count in shared.items())
