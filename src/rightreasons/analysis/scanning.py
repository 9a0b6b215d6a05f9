"""Find the words of many ASCII texts fast: eight bytes at a time, without a Python object per token.

A word of up to eight letters, and a mark of punctuation, is one 64-bit number, its key; a word of up to sixteen is two.
The words are those of `rightreasons.analysis.tokens.words`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.tokens import WORD_PATTERN

WIDTH = 8
"""Letters of one number of a key."""

_END = "\0"
"""What ends each of the joined texts: no plain text has it."""


def _table(belongs: Callable[[str], object]) -> bytes:
    """Return a table for `bytes.translate`: 1 for a character that belongs, 0 for another and for the end of a text."""
    return bytes(code in range(1, 128) and bool(belongs(chr(code))) for code in range(256))


# Asked of the pattern itself, so that the two ways cannot differ.
_IS_TOKEN = _table(WORD_PATTERN.fullmatch)
_IS_LETTER = _table(lambda letter: WORD_PATTERN.fullmatch(letter * 2))
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
    """Tell whether a text can be scanned: ASCII without a NUL, which would be taken for its end."""
    return text.isascii() and _END not in text


def scan(texts: Sequence[str]) -> Scan:
    """Find the lower-case words and the marks of plain texts; they are joined, so pass a few megabytes at a time.

    Example:
        >>> found = scan(["A good film", "unbelievable incomprehensibility!"])
        >>> key_words(key_bytes(found.keys)), key_words(key_bytes(found.wide_keys)), found.long
        (['a', 'good', 'film', '!'], ['unbelievable'], ['incomprehensibility'])
    """
    # An end in front, so that the first word has an edge; some behind, so that the last has all bytes to read.
    raw = f"{_END}{_END.join(texts)}{_END * 2 * WIDTH}".encode("ascii").lower()
    tokens, letters = (np.frombuffer(raw.translate(table), dtype=np.bool_) for table in (_IS_TOKEN, _IS_LETTER))
    inside = letters[1:] & letters[:-1]
    starts = np.flatnonzero(tokens[1:] != inside) + 1
    ends = np.flatnonzero(tokens[:-1] != inside) + 1
    lengths = ends - starts
    is_short, is_long = lengths <= WIDTH, lengths > 2 * WIDTH
    is_wide = ~(is_short | is_long)
    eight_bytes = np.ndarray((len(raw) - WIDTH + 1,), dtype="<u8", buffer=raw, strides=(1,))
    first = starts[is_wide]
    second = eight_bytes[first + WIDTH] & _FIRST_BYTES.take(lengths[is_wide] - WIDTH)
    long = zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True)
    return Scan(
        starts=starts,
        is_short=is_short,
        is_wide=is_wide,
        keys=eight_bytes[starts[is_short]] & _FIRST_BYTES.take(lengths[is_short]),
        wide_keys=np.stack((eight_bytes[first], second), axis=1),
        long=[raw[start:end].decode("ascii") for start, end in long],
        ends=np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == 0)[1 : len(texts) + 1],
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
