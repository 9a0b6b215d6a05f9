"""Find the words of many ASCII texts fast: eight bytes at a time, without a Python object per token.

A word of up to eight letters, and a mark of punctuation, is one 64-bit number, its key; a word of up to sixteen is two.
The words are those of `rightreasons.analysis.tokens.words`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.tokens import WORD_PATTERN

WIDTH = 8
"""Letters of one number of a key."""

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
        is_short: (T,) whether it has a key of one number.
        is_wide: (T,) whether it has a key of two.
        keys: One for each short token.
        wide_keys: (W, 2), one row for each wide token.
        long: The other tokens.
        ends: (N,) where each text ends in the joined text.
    """

    starts: NDArray[np.int64]
    is_short: NDArray[np.bool_]
    is_wide: NDArray[np.bool_]
    keys: NDArray[np.uint64]
    wide_keys: NDArray[np.uint64]
    long: list[str]
    ends: NDArray[np.int64]


def is_plain(text: str) -> bool:
    """Tell whether a text can be scanned: ASCII without a NUL, which would be taken for the end of a short word."""
    return text.isascii() and "\0" not in text


def scan(texts: Sequence[str]) -> Scan:
    """Find the lower-case words and the marks of plain texts; they are joined, so pass a few megabytes at a time.

    Example:
        >>> found = scan(["A good film", "unbelievable incomprehensibility!"])
        >>> key_words(key_bytes(found.keys)), key_words(key_bytes(found.wide_keys)), found.long
        (['a', 'good', 'film', '!'], ['unbelievable'], ['incomprehensibility'])
    """
    # A space in front, so that the first word has an edge; some behind, so that the last has all bytes to read.
    text = f" {chr(10).join(texts)}{' ' * 2 * WIDTH}".lower()
    raw = text.encode("ascii")
    kinds = _KIND[np.frombuffer(raw, dtype=np.uint8)]
    letters, marks = kinds == _LETTER, kinds == _MARK
    starts = np.flatnonzero((letters[1:] & ~letters[:-1]) | marks[1:]) + 1
    ends = np.flatnonzero((letters[:-1] & ~letters[1:]) | marks[:-1]) + 1
    lengths = ends - starts
    is_short, is_long = lengths <= WIDTH, lengths > 2 * WIDTH
    is_wide = ~(is_short | is_long)
    eight_bytes = np.ndarray((len(raw) - WIDTH + 1,), dtype="<u8", buffer=raw, strides=(1,))
    first = starts[is_wide]
    second = eight_bytes[first + WIDTH] & _FIRST_BYTES[lengths[is_wide] - WIDTH]
    long = zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    return Scan(
        starts=starts,
        is_short=is_short,
        is_wide=is_wide,
        keys=eight_bytes[starts[is_short]] & _FIRST_BYTES[lengths[is_short]],
        wide_keys=np.stack((eight_bytes[first], second), axis=1),
        long=[text[start:end] for start, end in long],
        ends=np.cumsum(sizes + 1),
    )


def key_bytes(keys: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Return the letters of each key, (T,): the keys are (T,) or (T, W)."""
    n_numbers = int(np.prod(keys.shape[1:]))
    letters = np.ascontiguousarray(keys, dtype="<u8").reshape(len(keys), n_numbers).view(f"S{WIDTH * n_numbers}")
    return letters.reshape(-1)


def key_words(letters: NDArray[np.bytes_]) -> list[str]:
    """Return the words of the letters of keys."""
    words: list[str] = letters.astype(f"U{letters.dtype.itemsize}").tolist()
    return words
