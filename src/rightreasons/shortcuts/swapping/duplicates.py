"""Find texts that are nearly the same: items that repeat each other, and items that repeat training texts.

Two texts are near duplicates if they share most of their runs of three words. `near_duplicates` compares items with
training texts, `cluster_duplicates` compares items with each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.tokens import split_words

Run = tuple[str, ...]

RUN_LENGTH = 3
"""Number of words of a run."""

MAX_HOLDERS = 200
"""A run that occurs in more texts than this does not distinguish any two of them."""

MIN_SIMILARITY = 0.8
"""Smallest share of common runs of two near duplicates."""


def near_duplicates(
    texts: Sequence[str], training: Sequence[str], *, threshold: float = MIN_SIMILARITY
) -> NDArray[np.bool_]:
    r"""Find the texts that share most of their runs of three words with one training text.

    \(J(a, b) = |S_a \cap S_b| / |S_a \cup S_b|\), where \(S\) is the set of runs of three lower-case words and marks;
    the text itself if it is shorter. Runs of more than 200 training texts are left out of both sets.

    Args:
        texts: N texts.
        training: M training texts.
        threshold: Smallest \(J\) of a near duplicate, in (0, 1].

    Returns:
        (N,) whether a text has a training text of at least that \(J\).

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
    index = _RunIndex(training)
    flags = []
    for text in texts:
        rows = index.find_similar(list_runs(text), threshold)
        flags.append(bool(rows))
    return np.array(flags, dtype=np.bool_)


def cluster_duplicates(
    texts: Sequence[str], *, threshold: float = MIN_SIMILARITY
) -> NDArray[np.int64]:
    """Return (N,) the cluster of each text: near duplicates, and near duplicates of these, are in one cluster.

    Example:
        >>> cluster_duplicates(["it is a film", "no", "it is a film", "it is a show"]).tolist()
        [0, 1, 0, 3]
    """
    index = _RunIndex(texts)
    parents = list(range(len(texts)))

    def find_root(row: int) -> int:
        # Paths are halved on the way, so that chains of duplicates stay short.
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    for row, text in enumerate(texts):
        for duplicate in index.find_similar(list_runs(text), threshold):
            root = find_root(row)
            duplicate_root = find_root(duplicate)
            # The earliest text names its cluster.
            parents[max(root, duplicate_root)] = min(root, duplicate_root)
    roots = [find_root(row) for row in range(len(texts))]
    return np.array(roots, dtype=np.int64)


class _RunIndex:
    """The runs of three words of a collection, and the texts that hold each."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.holders: dict[Run, list[int]] = defaultdict(list)
        runs_by_row = []
        for row, text in enumerate(texts):
            runs = list_runs(text)
            runs_by_row.append(runs)
            for run in runs:
                self.holders[run].append(row)
        # A run of hundreds of texts would make every pair of them a candidate.
        self.common = {run for run, rows in self.holders.items() if len(rows) > MAX_HOLDERS}
        self.sizes = []
        for runs in runs_by_row:
            self.sizes.append(len(runs - self.common))

    def find_similar(self, runs: set[Run], threshold: float) -> list[int]:
        """Return the rows that share enough runs with a text."""
        distinctive = runs - self.common
        n_shared: Counter[int] = Counter()
        for run in distinctive:
            n_shared.update(self.holders.get(run, ()))
        rows = []
        for row, count in n_shared.items():
            n_union = len(distinctive) + self.sizes[row] - count
            if count / n_union >= threshold:
                rows.append(row)
        return rows


def list_runs(text: str) -> set[Run]:
    """Return the runs of three words and marks of a text; the text itself if it is shorter."""
    words = split_words(text)
    # A text of fewer words is a run of its own.
    n_runs = max(len(words) - RUN_LENGTH + 1, 1)
    runs = set()
    for start in range(n_runs):
        runs.add(tuple(words[start : start + RUN_LENGTH]))
    return runs
