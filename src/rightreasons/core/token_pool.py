"""Number the tokens of a corpus that is read chunk by chunk: equal tokens get equal numbers.

Tokens are spans of an array of code points. They are compared by a 64-bit hash first, and then
character by character with the token that owns the hash, so that the numbers are exact even if two
tokens share a hash. A Python string is made for each distinct token, never for each occurrence.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.scanning import Codes, Flags, Positions, decode_text

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]

_HASH_BASE = 0x9E3779B97F4A7C15
"""Base of the polynomial hash: an odd number, because only those have an inverse modulo 2^64."""

_INITIAL_CHARACTERS = 1 << 16


class TokenPool:
    """The distinct tokens of a corpus. A token's number is its rank in the order of discovery."""

    def __init__(self) -> None:
        # The characters of the distinct tokens, one token after another, with room to grow.
        self._codes: Codes = np.empty(_INITIAL_CHARACTERS, dtype=np.uint32)
        self._starts: Positions = np.empty(0, dtype=np.int64)
        self._ends: Positions = np.empty(0, dtype=np.int64)
        # Hashes in ascending order, and the number of the token that owns each.
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)
        self._owners: Numbers = np.empty(0, dtype=np.int32)
        # Tokens whose hash is owned by another token: none in any corpus that we know.
        self._number_by_collided: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def list_tokens(self) -> list[str]:
        """Return the distinct tokens by number."""
        text = decode_text(self._codes[: self._size])
        spans = zip(self._starts.tolist(), self._ends.tolist(), strict=True)
        return [text[start:end] for start, end in spans]

    def number_tokens(self, codes: Codes, starts: Positions, ends: Positions) -> Numbers:
        """Return the number of each token of a chunk, and add the tokens that are new.

        Args:
            codes: (C,) characters of the chunk.
            starts: (T,) position of the first character of each token.
            ends: (T,) position after the last.

        Returns:
            (T,) numbers.
        """
        hashes = hash_spans(codes, starts, ends)
        order = np.argsort(hashes)
        sorted_hashes = hashes[order]
        is_first = np.ones(len(order), dtype=np.bool_)
        is_first[1:] = sorted_hashes[1:] != sorted_hashes[:-1]

        # One token of the chunk represents all that have its hash.
        samples = order[is_first]
        sample_numbers = self._number_hashes(
            sorted_hashes[is_first], codes, starts[samples], ends[samples]
        )
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = sample_numbers[np.cumsum(is_first) - 1]

        is_equal = self._compare(numbers, codes, starts, ends)
        for token in np.flatnonzero(~is_equal).tolist():
            numbers[token] = self._number_collided(codes[starts[token] : ends[token]])
        return numbers

    @property
    def _size(self) -> int:
        """Number of characters of all distinct tokens."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def _number_hashes(
        self, hashes: Hashes, codes: Codes, starts: Positions, ends: Positions
    ) -> Numbers:
        """Return the number of the owner of each hash; new hashes are owned by the given spans.

        Args:
            hashes: (D,) distinct hashes in ascending order.
            codes: (C,) characters of the chunk.
            starts: (D,) first character of a span with each hash.
            ends: (D,) position after its last.
        """
        positions = np.searchsorted(self._hashes, hashes)
        is_new = np.ones(len(hashes), dtype=np.bool_)
        inside = positions < len(self._hashes)
        is_new[inside] = self._hashes[positions[inside]] != hashes[inside]

        numbers = np.empty(len(hashes), dtype=np.int32)
        numbers[~is_new] = self._owners[positions[~is_new]]
        numbers[is_new] = np.arange(len(self), len(self) + np.count_nonzero(is_new))

        self._append(codes, starts[is_new], ends[is_new])
        # Both columns stay sorted by hash, as new hashes go to where the search has ended.
        self._hashes = np.insert(self._hashes, positions[is_new], hashes[is_new])
        self._owners = np.insert(self._owners, positions[is_new], numbers[is_new])
        return numbers

    def _append(self, codes: Codes, starts: Positions, ends: Positions) -> None:
        """Add spans of a chunk as new tokens."""
        lengths = ends - starts
        characters = codes[list_positions(starts, lengths)]
        size = self._size
        required = size + len(characters)
        if required > len(self._codes):
            # Twice the size each time, so that all copies together cost no more than the last.
            grown = np.empty(2 * required, dtype=np.uint32)
            grown[:size] = self._codes[:size]
            self._codes = grown

        self._codes[size:required] = characters
        new_ends = size + np.cumsum(lengths)
        self._starts = np.concatenate((self._starts, new_ends - lengths))
        self._ends = np.concatenate((self._ends, new_ends))

    def _compare(
        self, numbers: Numbers, codes: Codes, starts: Positions, ends: Positions
    ) -> Flags:
        """Return which spans of a chunk equal the token with their number, to the character."""
        lengths = ends - starts
        pool_starts = self._starts[numbers]
        is_equal = np.asarray(self._ends[numbers] - pool_starts == lengths)

        # Spans of another length than their token may point beyond the pool, hence the clipping.
        characters = codes[list_positions(starts, lengths)]
        expected = self._codes.take(list_positions(pool_starts, lengths), mode="clip")
        differences = np.flatnonzero(characters != expected)
        if differences.size:
            token_of_character = np.repeat(np.arange(len(numbers)), lengths)
            is_equal[token_of_character[differences]] = False
        return is_equal

    def _number_collided(self, codes: Codes) -> int:
        """Return the number of one token whose hash is owned by another token."""
        token = decode_text(codes)
        if token not in self._number_by_collided:
            self._number_by_collided[token] = len(self)
            self._append(codes, starts=np.array([0]), ends=np.array([len(codes)]))
        return self._number_by_collided[token]


def hash_spans(codes: Codes, starts: Positions, ends: Positions) -> Hashes:
    r"""Return the hash of each span of an array of code points.

    \[ h = \sum_{j=0}^{n-1} c_j B^j \bmod 2^{64} \]

    for the characters \(c_0, \dots, c_{n-1}\) of the span.

    Args:
        codes: (C,) code points.
        starts: (T,) position of the first character of each span.
        ends: (T,) position after its last.

    Returns:
        (T,) hashes.
    """
    powers, inverse_powers = _list_powers(1 << len(codes).bit_length())
    # Running sums over all characters, so that a span is the difference of two of them. It then has
    # the powers of its position in the chunk, which the inverse power of its start takes out.
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(codes * powers[: len(codes)], out=sums[1:])
    return np.asarray((sums[ends] - sums[starts]) * inverse_powers[starts])


def list_positions(starts: Positions, lengths: Positions) -> Positions:
    """Return the positions that spans cover, one span after another.

    Example:
        >>> list_positions(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    n_positions = int(ends[-1]) if len(ends) else 0
    return np.arange(n_positions) + np.repeat(starts - ends + lengths, lengths)


@functools.lru_cache(maxsize=1)
def _list_powers(size: int) -> tuple[Hashes, Hashes]:
    """Return the powers of the base and of its inverse modulo 2^64, exponents from 0."""
    powers = np.full(size, _HASH_BASE, dtype=np.uint64)
    powers[0] = 1
    inverse_powers = np.full(size, pow(_HASH_BASE, -1, 1 << 64), dtype=np.uint64)
    inverse_powers[0] = 1
    return np.cumprod(powers), np.cumprod(inverse_powers)
