"""Find the words of many ASCII texts fast: eight bytes at a time, without a Python object per token.

A word of up to eight letters, and a mark of punctuation, is one 64-bit number, its key. The words are those of
`rightreasons.analysis.tokens.words`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.tokens import WORD_PATTERN

WIDTH = 8
"""Letters of the longest word that has a key."""

_SPACE, _LETTER, _MARK = 0, 1, 2


def _kind_of_byte() -> NDArray[np.uint8]:
    # Asked of the pattern itself, so that the two ways cannot differ.
    kinds = np.zeros(128, dtype=np.uint8)
    for code in range(128):
        if WORD_PATTERN.fullmatch(chr(code)):
            kinds[code] = _LETTER if WORD_PATTERN.fullmatch(chr(code) * 2) else _MARK
    return kinds


_KIND = _kind_of_byte()
_FIRST_BYTES = np.array([(1 << (8 * length)) - 1 for length in range(WIDTH + 1)], dtype=np.uint64)


@dataclasses.dataclass(frozen=True, eq=False)
class Scan:
    """The tokens of some texts, in their order.

    Attributes:
        starts: (T,) where each token begins in the joined text.
        is_short: (T,) whether it has a key.
        keys: One for each short token.
        long: The other tokens.
        ends: (N,) where each text ends in the joined text.
    """

    starts: NDArray[np.int64]
    is_short: NDArray[np.bool_]
    keys: NDArray[np.uint64]
    long: list[str]
    ends: NDArray[np.int64]


def is_plain(text: str) -> bool:
    """Tell whether a text can be scanned: ASCII without a NUL, which would be taken for the end of a short word."""
    return text.isascii() and "\0" not in text


def scan(texts: Sequence[str]) -> Scan:
    """Find the lower-case words and the marks of plain texts; they are joined, so pass a few megabytes at a time.

    Example:
        >>> found = scan(["A good film", "unbelievable!"])
        >>> key_words(found.keys), found.long
        (['a', 'good', 'film', '!'], ['unbelievable'])
    """
    # A space in front, so that the first word has an edge; eight behind, so that the last has eight bytes to read.
    text = f" {chr(10).join(texts)}{' ' * WIDTH}".lower()
    raw = text.encode("ascii")
    kinds = _KIND[np.frombuffer(raw, dtype=np.uint8)]
    letters, marks = kinds == _LETTER, kinds == _MARK
    starts = np.flatnonzero((letters[1:] & ~letters[:-1]) | marks[1:]) + 1
    ends = np.flatnonzero((letters[:-1] & ~letters[1:]) | marks[:-1]) + 1
    lengths = ends - starts
    is_short = lengths <= WIDTH
    eight_bytes = np.ndarray((len(raw) - WIDTH + 1,), dtype="<u8", buffer=raw, strides=(1,))
    long = zip(starts[~is_short].tolist(), ends[~is_short].tolist(), strict=True)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return Scan(
        starts=starts,
        is_short=is_short,
        keys=eight_bytes[starts[is_short]] & _FIRST_BYTES[lengths[is_short]],
        long=[text[start:end] for start, end in long],
        ends=np.cumsum(sizes + 1),
    )


def key_words(keys: NDArray[np.uint64]) -> list[str]:
    """Return the word of each key."""
    words: list[str] = keys.astype("<u8").view(f"S{WIDTH}").astype(f"U{WIDTH}").tolist()
    return words
