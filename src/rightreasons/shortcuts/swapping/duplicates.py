"""Find texts that are nearly the same: items that repeat each other, or repeat training texts.

Two texts are near duplicates if they share most of their runs of three words. `near_duplicates`
compares items with training texts, `cluster_duplicates` compares items with each other. Both number
the runs and count those that two texts share by a product of sparse tables, in which a text is a
row and a run is a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.interning import InternedTexts, intern_texts
from rightreasons.core.interning.runs import iterate_blocks

Rows = NDArray[np.intp]

Table = sparse.csr_array
"""(texts, runs) table: 1 if a text has a run, else 0."""

RUN_LENGTH = 3
"""Number of words of a run."""

MAX_HOLDERS = 200
"""Number of texts above which a run is ignored, because many different texts share it."""

MIN_SIMILARITY = 0.8
"""Smallest share of common runs of two near duplicates."""

MAX_BLOCK_PAIRS = 4_000_000
"""Number of pairs of texts with a common run that are compared at a time, which bounds the
memory."""


class SimilarTexts(NamedTuple):
    """Pairs of near duplicates.

    Attributes:
        rows: (P,) row of a text.
        matches: (P,) row of the text that it resembles.
    """

    rows: Rows
    matches: Rows


def near_duplicates(
    texts: Sequence[str], training: Sequence[str], *, threshold: float = MIN_SIMILARITY
) -> NDArray[np.bool_]:
    r"""Find the texts that share most of their runs of three words with one training text.

    \(J(a, b) = |S_a \cap S_b| / |S_a \cup S_b|\), where \(S\) is the set of runs of three
    lower-case words and marks; the text itself if it is shorter. Runs of more than 200 training
    texts are left out of both sets.

    Args:
        texts: N texts.
        training: M training texts.
        threshold: Smallest \(J\) of a near duplicate, in (0, 1].

    Returns:
        (N,) whether a text has a training text of at least that \(J\).

    References:
        Broder (1997), On the resemblance and containment of documents.

    Example:
        The first text and a training text have seven distinct runs, of which they share five:
        5 / 7 = 0.71.

        >>> training = ["it was a long and quiet film .", "the plot is thin"]
        >>> texts = ["it was a long and quiet film !", "the plot is thin"]
        >>> near_duplicates(texts, training, threshold=0.7).tolist()
        [True, True]
        >>> near_duplicates(["it was a long and quiet film !", "thin"], training).tolist()
        [False, False]
    """
    # One table of both, so that a run has the same number in all texts.
    runs = _tabulate_runs([*texts, *training])
    n_texts = len(texts)
    flags = np.zeros(n_texts, dtype=np.bool_)
    for pairs in _iterate_similar(runs[:n_texts], runs[n_texts:], threshold):
        flags[pairs.rows] = True
    return flags


def cluster_duplicates(
    texts: Sequence[str], *, threshold: float = MIN_SIMILARITY
) -> NDArray[np.int64]:
    """Group near duplicates: two texts are in one cluster if a chain of near duplicates links them.

    Args:
        texts: N texts.
        threshold: Smallest similarity of near duplicates, as in `near_duplicates`.

    Returns:
        (N,) cluster of each text, which is the row of the earliest text of the cluster.

    Example:
        >>> cluster_duplicates(["it is a film", "no", "it is a film", "it is a show"]).tolist()
        [0, 1, 0, 3]
    """
    runs = _tabulate_runs(texts)
    n_texts = len(texts)
    rows = [np.empty(0, dtype=np.intp)]
    matches = [np.empty(0, dtype=np.intp)]
    for pairs in _iterate_similar(runs, runs, threshold):
        rows.append(pairs.rows)
        matches.append(pairs.matches)
    graph = _make_table(
        np.concatenate(rows),
        np.concatenate(matches),
        shape=(n_texts, n_texts),
    )
    _, components = csgraph.connected_components(graph, directed=False)

    # The first row of each component, at the rows of all its texts.
    _, first_rows = np.unique(components, return_index=True)
    return np.asarray(first_rows[components], dtype=np.int64)


def _tabulate_runs(texts: Sequence[str]) -> Table:
    """Return a sparse (texts, runs) table that is 1 if a text contains a run of three words.

    A text of fewer words counts as a run itself, so that short texts are compared as a whole.
    """
    words = intern_texts(list(texts))
    runs = words.make_ngrams(RUN_LENGTH).select_distinct()
    n_runs = len(runs.vocabulary)
    short_rows, short_numbers = _number_short_texts(words)

    # The columns of short texts come after those of runs.
    short_columns = n_runs + short_numbers
    rows = np.concatenate([runs.rows, short_rows])
    columns = np.concatenate([runs.ids, short_columns])
    shape = (len(texts), n_runs + len(short_numbers))
    return _make_table(rows, columns, shape)


def _make_table(rows: Rows, columns: Rows, shape: tuple[int, int]) -> Table:
    """Return a sparse table that is 1 at some cells."""
    ones = np.ones(len(rows), dtype=np.int32)
    return sparse.csr_array((ones, (rows, columns)), shape=shape)


def _number_short_texts(words: InternedTexts) -> tuple[Rows, Rows]:
    """Number the texts that are shorter than a run; equal texts have the same number.

    Returns:
        (S,) rows of the short texts, and (S,) their numbers from 0.
    """
    rows = np.flatnonzero(words.lengths < RUN_LENGTH)
    number_by_text: dict[tuple[str, ...], int] = {}
    numbers = []
    for row in rows.tolist():
        text = tuple(words.get_tokens(row))
        number = number_by_text.setdefault(text, len(number_by_text))
        numbers.append(number)
    return rows, np.array(numbers, dtype=np.intp)


def _iterate_similar(
    texts: Table,
    training: Table,
    threshold: float,
) -> Iterator[SimilarTexts]:
    """Yield the pairs of a text and a training text that share enough of their runs.

    Args:
        texts: (N, R) sparse table that is 1 if a text contains a run of words.
        training: (M, R) sparse table of training texts and the same runs.
        threshold: Smallest Jaccard similarity of the two sets of runs.

    Yields:
        Pairs of rows, block by block: all pairs at once would not fit into the memory.
    """
    n_holders = training.sum(axis=0)
    # A run that is in hundreds of texts would make every pair of them a candidate.
    distinctive = np.flatnonzero(n_holders <= MAX_HOLDERS)
    n_holders = n_holders[distinctive]
    texts = texts[:, distinctive]
    training = training[:, distinctive]
    sizes = texts.sum(axis=1)
    training_sizes = training.sum(axis=1)
    # (R, M), so that a product with it counts the runs that two texts share.
    texts_by_run = training.T.tocsr()

    # An upper bound of the pairs of each text: the training texts of its runs, counted repeatedly.
    max_pairs = texts @ n_holders
    offsets = compute_offsets(max_pairs)
    for start, stop in iterate_blocks(offsets, MAX_BLOCK_PAIRS):
        block = texts[start:stop]
        # The product lists only pairs that share a run.
        shared = (block @ texts_by_run).tocoo()
        rows = start + shared.row
        matches = shared.col
        n_shared = shared.data
        n_union = sizes[rows] + training_sizes[matches] - n_shared
        is_similar = n_shared / n_union >= threshold
        yield SimilarTexts(rows[is_similar], matches[is_similar])
