"""Number the tokens of a corpus that is read chunk by chunk: equal tokens get equal numbers.

Tokens are spans of an array of code points. They are compared by a 64-bit hash first, and then
character by character with the token that owns the hash, so that the numbers are exact even if two
tokens share a hash. A Python string is made for each distinct token, never for each occurrence.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.interning.runs import Flags, Positions, flag_changes, list_positions
from rightreasons.core.interning.scanning import Codes, decode_text

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int32]

_HASH_BASE = 0x9E3779B97F4A7C15
"""Base of the polynomial hash: an odd number, because only those have an inverse modulo 2^64."""

_INITIAL_CHARACTERS = 1 << 16


class TokenPool:
    """The distinct tokens of a corpus. A token's number is its rank in the order of discovery."""

    def __init__(self) -> None:
        """Create an empty pool."""
        # The characters of the distinct tokens, one token after another. The array is longer than
        # they are, so that most new tokens fit without a copy.
        self._codes: Codes = np.empty(_INITIAL_CHARACTERS, dtype=np.uint32)
        self._starts: Positions = np.empty(0, dtype=np.int64)
        self._ends: Positions = np.empty(0, dtype=np.int64)
        # Hashes in ascending order, and the number of the first token with each hash, its owner.
        self._hashes: Hashes = np.empty(0, dtype=np.uint64)
        self._owners: Numbers = np.empty(0, dtype=np.int32)
        # Tokens whose hash is owned by another token. No known corpus has any.
        self._number_by_collided: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def list_tokens(self) -> list[str]:
        """Return the distinct tokens by number."""
        text = decode_text(self._codes[: self._size])
        starts = self._starts.tolist()
        ends = self._ends.tolist()
        return [text[start:end] for start, end in zip(starts, ends, strict=True)]

    def number_tokens(
        self,
        codes: Codes,
        starts: Positions,
        ends: Positions,
    ) -> Numbers:
        """Return the number of each token of a chunk, and add the tokens that are new.

        Equal tokens get equal numbers. Tokens are looked up by their hashes, and then compared
        character by character, because different tokens may share a hash.

        Args:
            codes: (C,) code points of the chunk.
            starts: (T,) position of the first character of each token.
            ends: (T,) position after the last.

        Returns:
            (T,) numbers.
        """
        hashes = hash_spans(codes, starts, ends)
        order = np.argsort(hashes)
        sorted_hashes = hashes[order]
        is_first = flag_changes(sorted_hashes)

        # Look up each distinct hash once, by the first of the tokens that have it.
        samples = order[is_first]
        sample_numbers = self._number_hashes(
            hashes[samples],
            codes,
            starts[samples],
            ends[samples],
        )
        # Copy its number to all tokens with the same hash, in the order of the chunk.
        sample_of_sorted_token = np.cumsum(is_first) - 1
        numbers = np.empty(len(order), dtype=np.int32)
        numbers[order] = sample_numbers[sample_of_sorted_token]

        # Tokens that share a hash with another token are numbered one by one.
        is_equal = self._compare(numbers, codes, starts, ends)
        for token in np.flatnonzero(~is_equal).tolist():
            span = slice(starts[token], ends[token])
            numbers[token] = self._number_collided(codes[span])
        return numbers

    @property
    def _size(self) -> int:
        """Number of characters of all distinct tokens."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def _number_hashes(
        self,
        hashes: Hashes,
        codes: Codes,
        starts: Positions,
        ends: Positions,
    ) -> Numbers:
        """Return the number of the token that owns each hash; add a token for each new hash.

        Args:
            hashes: (D,) distinct hashes in ascending order.
            codes: (C,) code points of the chunk.
            starts: (D,) position of the first character of a span with each hash. If the hash is
                new, this span becomes a token.
            ends: (D,) position after the last character of the span.

        Returns:
            (D,) numbers of the tokens.
        """
        # A hash is new if its insertion points before and after equal hashes are the same.
        positions = np.searchsorted(self._hashes, hashes)
        next_positions = np.searchsorted(self._hashes, hashes, side="right")
        is_new = positions == next_positions
        new_positions = positions[is_new]
        new_numbers = np.arange(len(new_positions)) + len(self)
        numbers = np.empty(len(hashes), dtype=np.int32)
        numbers[is_new] = new_numbers
        numbers[~is_new] = self._owners[positions[~is_new]]

        # The insertion points keep the hashes sorted.
        self._hashes = np.insert(self._hashes, new_positions, hashes[is_new])
        self._owners = np.insert(self._owners, new_positions, new_numbers)
        self._append(codes, starts[is_new], ends[is_new])
        return numbers

    def _append(
        self,
        codes: Codes,
        starts: Positions,
        ends: Positions,
    ) -> None:
        """Add spans of a chunk as new tokens, numbered after those that exist.

        Args:
            codes: (C,) code points of the chunk.
            starts: (n,) position of the first character of each span.
            ends: (n,) position after its last.
        """
        lengths = ends - starts
        size = self._size
        new_size = size + int(lengths.sum())
        if new_size > len(self._codes):
            # The size is doubled each time, so that all copies together cost about as much as the
            # last one.
            grown = np.empty(2 * new_size, dtype=np.uint32)
            grown[:size] = self._codes[:size]
            self._codes = grown

        # Copy the characters of all spans one after another to the end of the pool.
        positions = list_positions(starts, lengths)
        self._codes[size:new_size] = codes[positions]
        new_ends = size + np.cumsum(lengths)
        new_starts = new_ends - lengths
        self._starts = np.concatenate((self._starts, new_starts))
        self._ends = np.concatenate((self._ends, new_ends))

    def _compare(
        self,
        numbers: Numbers,
        codes: Codes,
        starts: Positions,
        ends: Positions,
    ) -> Flags:
        """Compare spans of a chunk, character by character, with the tokens of the given numbers.

        Args:
            numbers: (n,) number of the token that each span is compared with.
            codes: (C,) code points of the chunk.
            starts: (n,) position of the first character of each span.
            ends: (n,) position after its last.

        Returns:
            (n,) whether each span equals its token.
        """
        lengths = ends - starts
        token_starts = self._starts[numbers]
        token_lengths = self._ends[numbers] - token_starts
        is_equal = np.asarray(token_lengths == lengths)

        # Spans that are longer than their token may point beyond the pool, hence the clipping.
        positions = list_positions(starts, lengths)
        token_positions = list_positions(token_starts, lengths)
        expected = self._codes.take(token_positions, mode="clip")
        differences = np.flatnonzero(codes[positions] != expected)
        if differences.size:
            spans = np.arange(len(numbers))
            span_of_character = np.repeat(spans, lengths)
            is_equal[span_of_character[differences]] = False
        return is_equal

    def _number_collided(self, codes: Codes) -> int:
        """Return the number of a token whose hash equals that of a different, earlier token.

        Args:
            codes: Code points of the token.
        """
        token = decode_text(codes)
        if token not in self._number_by_collided:
            self._number_by_collided[token] = len(self)
            self._append(codes, starts=np.array([0]), ends=np.array([len(codes)]))
        return self._number_by_collided[token]


def hash_spans(
    codes: Codes,
    starts: Positions,
    ends: Positions,
) -> Hashes:
    r"""Compute a polynomial hash of each span of an array of code points.

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
    # With running sums of c_i B^i over all positions i, the sum of a span is one subtraction. It is
    # the hash times B^start, so that it is multiplied by the inverse of this power. Unsigned
    # integers of 64 bits wrap around, which is the modulus.
    terms = codes * powers[: len(codes)]
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum(terms, out=sums[1:])
    span_sums = sums[ends] - sums[starts]
    return np.asarray(span_sums * inverse_powers[starts])


@functools.lru_cache(maxsize=1)
def _list_powers(size: int) -> tuple[Hashes, Hashes]:
    """Return the powers of the hash base, and those of its inverse, modulo 2^64.

    Args:
        size: Number of powers, with exponents from 0 to size - 1.

    Returns:
        (size,) powers, and (size,) inverse powers.
    """
    inverse = pow(_HASH_BASE, exp=-1, mod=1 << 64)
    factors = np.ones((2, size), dtype=np.uint64)
    factors[0, 1:] = _HASH_BASE
    factors[1, 1:] = inverse
    powers, inverse_powers = np.cumprod(factors, axis=1)
    return powers, inverse_powers
