"""Which words the pieces of a text belong to."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

WORD_PATTERN = re.compile(r"\w+|[^\w\s]")
"""A word (letters, digits, underscore) or one punctuation mark: the words over which LMI and every other word-level
statistic of this package counts (`analysis.tokens`, which this wing does not know; a test keeps the two equal)."""


def word_spans(text: str) -> NDArray[np.int64]:
    """Return the places of the words of a text, (n, 2): first character and one past the last.

    Example:
        >>> word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    return np.array([match.span() for match in WORD_PATTERN.finditer(text)], dtype=np.int64).reshape(-1, 2)


def word_of_piece(spans: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the word in which each piece begins; -1 for a piece that touches no word (a space, or nothing).

    A piece that covers two words ("'s") counts for the first of them.

    Args:
        spans: (n, 2) words in order, from `word_spans`.
        start: (pieces,) first character of each piece; it may be a space before the word.
        end: (pieces,) one past its last character.

    Returns:
        (pieces,) positions in `spans`.

    Example:
        >>> word_of_piece(word_spans("a good"), np.array([0, 1, 4]), np.array([1, 4, 6])).tolist()
        [0, 1, 1]
    """
    if not len(spans):
        return np.full(len(start), -1, dtype=np.int64)
    # The first word that ends after the piece begins; the piece touches it when it reaches its first character.
    word = np.searchsorted(spans[:, 1], start, side="right")
    touches = (word < len(spans)) & (end > spans[np.minimum(word, len(spans) - 1), 0]) & (end > start)
    return np.where(touches, word, -1).astype(np.int64)
