"""Texts as columns of token numbers: the tokenization that all word-level statistics share.

`intern_texts` splits texts into words and numbers the distinct ones in one pass;
`intern_token_lists` numbers tokens that exist already. Both return `InternedTexts`: one array with
the tokens of all texts as numbers, the offsets at which the texts begin, and the vocabulary.
Counts, distinct words, runs of words and the rows that have a word then take a few steps on whole
arrays; there is no Python object for a (word, text).
"""

from __future__ import annotations

import dataclasses
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.interning.pool import TokenPool
from rightreasons.core.interning.runs import (
    Positions,
    flag_changes,
    group_rows,
    iterate_blocks,
    list_positions,
)
from rightreasons.core.interning.scanning import Codes, encode_text, find_words

Ids = NDArray[np.int32]
"""Tokens as positions in a vocabulary."""

CHUNK_CHARACTERS = 200_000
"""Number of characters that are split at once: many enough to hide the cost of a step of numpy, few
enough that its arrays stay small."""

DOTTED_I = "\u0130"
"""The capital of Turkish, the only letter whose lower case is longer: it moves what follows."""


@dataclasses.dataclass(frozen=True, eq=False)
class InternedTexts:
    """N texts as rows of token ids.

    Attributes:
        ids: (T,) tokens of all rows, one row after another, as positions in `vocabulary`.
        offsets: (N + 1,) position in `ids` at which each row begins; the last entry is T.
        vocabulary: V distinct tokens in sorted order, so that ids compare as their tokens do.
        spans: (T, 2) first character of each token in its text, and the position after its last;
            None unless requested.
    """

    ids: Ids
    offsets: Positions
    vocabulary: Sequence[Any]
    spans: NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all rows."""
        return len(self.ids)

    @property
    def lengths(self) -> Positions:
        """(N,) number of tokens of each row."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Positions:
        """(T,) row of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def get_tokens(self, row: int) -> list[Any]:
        """Return the tokens of one row, in order."""
        start = self.offsets[row]
        stop = self.offsets[row + 1]
        return [self.vocabulary[token_id] for token_id in self.ids[start:stop].tolist()]

    def find_id(self, token: Any) -> int | None:
        """Return the id of a token, or None if no row has it."""
        position = bisect_left(self.vocabulary, token)
        if position == len(self.vocabulary):
            return None
        return position if self.vocabulary[position] == token else None

    def select_rows(self, rows: NDArray[np.integer[Any]]) -> InternedTexts:
        """Return selected rows, in the order of the selection, with the same vocabulary.

        Args:
            rows: (n,) row numbers, which may be repeated.
        """
        lengths = self.lengths[rows]
        positions = list_positions(self.offsets[rows], lengths)
        spans = None
        if self.spans is not None:
            spans = self.spans[positions]
        return InternedTexts(
            ids=self.ids[positions],
            offsets=compute_offsets(lengths),
            vocabulary=self.vocabulary,
            spans=spans,
        )

    def select_range(self, start: int, stop: int) -> InternedTexts:
        """Return consecutive rows with the same vocabulary, without copying their ids.

        Args:
            start: First row.
            stop: Row after the last one.
        """
        tokens = slice(self.offsets[start], self.offsets[stop])
        spans = None
        if self.spans is not None:
            spans = self.spans[tokens]
        return InternedTexts(
            ids=self.ids[tokens],
            offsets=self.offsets[start : stop + 1] - self.offsets[start],
            vocabulary=self.vocabulary,
            spans=spans,
        )

    def select_distinct(self) -> InternedTexts:
        """Return the rows with each token once, in the order of the ids, without spans.

        Example:
            >>> texts = intern_texts(["b a b", "c"]).select_distinct()
            >>> texts.get_tokens(0), texts.offsets.tolist()
            (['a', 'b'], [0, 2, 3])
        """
        # A row and an id are packed into one integer, with the row in the upper bits, so that one
        # sort orders the tokens by row and then by id.
        id_bits = len(self.vocabulary).bit_length()
        id_mask = (1 << id_bits) - 1
        ids = [self.ids[:0]]
        lengths = np.zeros(len(self), dtype=np.int64)
        for start, stop in iterate_blocks(self.offsets):
            block = self.select_range(start, stop)
            keys = np.sort(block.rows << id_bits | block.ids)

            # Equal keys are neighbors. Only the first of them is kept.
            is_first = flag_changes(keys)
            keys = keys[is_first]
            lengths[start:stop] = np.bincount(keys >> id_bits, minlength=stop - start)
            ids.append((keys & id_mask).astype(np.int32))

        return InternedTexts(
            ids=np.concatenate(ids),
            offsets=compute_offsets(lengths),
            vocabulary=self.vocabulary,
        )

    def count_tokens(self, rows: NDArray[np.integer[Any]] | None = None) -> Positions:
        """Count the occurrences of each token of the vocabulary.

        After `select_distinct`, these are the numbers of rows that have the tokens.

        Args:
            rows: Rows to count in; None for all.

        Returns:
            (V,) counts; 0 for a token that no selected row has.

        Example:
            >>> texts = intern_texts(["b a b", "b"])
            >>> texts.count_tokens().tolist(), texts.select_distinct().count_tokens().tolist()
            ([1, 3], [1, 2])
        """
        texts = self if rows is None else self.select_rows(rows)
        return np.bincount(texts.ids, minlength=len(self.vocabulary))

    def count_by_label(
        self,
        labels: NDArray[np.integer[Any]],
        n_labels: int,
    ) -> Positions:
        """Count the occurrences of each token in the rows of each label.

        Args:
            labels: (N,) label of each row, from 0; rows with a label below 0 are left out.
            n_labels: Number of labels K.

        Returns:
            (K, V) counts.

        Example:
            >>> intern_texts(["b a b", "b"]).count_by_label(np.array([1, 0]), 2).tolist()
            [[0, 1], [1, 2]]
        """
        counts = np.zeros((n_labels, len(self.vocabulary)), dtype=np.int64)
        for label, rows in enumerate(group_rows(labels, n_labels)):
            counts[label] = self.count_tokens(rows)
        return counts

    def index_rows(self) -> RowIndex:
        """Return an index from each token to the rows that have it.

        Example:
            >>> texts = intern_texts(["b a b", "b"])
            >>> texts.index_rows().list_rows(texts.find_id("b")).tolist()
            [0, 1]
        """
        distinct = self.select_distinct()
        # A stable sort leaves the rows of a token in ascending order.
        order = np.argsort(distinct.ids, kind="stable")
        return RowIndex(
            rows=distinct.rows[order].astype(np.int32),
            offsets=compute_offsets(distinct.count_tokens()),
        )

    def find_exclusive(
        self,
        group_offsets: Positions,
    ) -> ExclusiveTokens:
        """Find the tokens that occur in exactly one row of a group of consecutive rows.

        Args:
            group_offsets: (G + 1,) first row of each group, and the number of rows N.

        Returns:
            The group, the number of the row in its group (`members`), and the id of each such token.

        Example:
            >>> exclusive = intern_texts(["a b", "b c", "a"]).find_exclusive(np.array([0, 2, 3]))
            >>> exclusive.groups.tolist(), exclusive.members.tolist(), exclusive.ids.tolist()
            ([0, 0, 1], [0, 1, 0], [0, 2, 0])
        """
        # A key packs three numbers into one integer, from the upper to the lower bits: the group,
        # the id, and the member (the number of the row in its group). Without the member, it is a
        # pair of group and id.
        group_sizes = np.diff(group_offsets)
        member_bits = int(group_sizes.max(initial=0)).bit_length()
        id_bits = len(self.vocabulary).bit_length()
        member_mask = (1 << member_bits) - 1
        id_mask = (1 << id_bits) - 1

        # There is space for all tokens, which costs nothing: the operating system only provides the
        # memory that is written to.
        exclusive_groups, exclusive_members, exclusive_ids = np.empty(
            (3, self.n_tokens), dtype=np.int32
        )
        n_entries = 0
        for start, stop in iterate_blocks(self.offsets[group_offsets]):
            block = self.select_range(int(group_offsets[start]), int(group_offsets[stop]))
            sizes = group_sizes[start:stop]
            groups = np.repeat(np.arange(start, stop), sizes)
            members = list_positions(np.zeros_like(sizes), sizes)

            # Sort the distinct keys, so that the rows of a group with the same token are neighbors.
            rows = block.rows
            pairs = groups[rows] << id_bits | block.ids
            keys = pairs << member_bits | members[rows]
            keys.sort()
            keys = keys[flag_changes(keys)]
            pairs = keys >> member_bits
            # A pair with a single row differs from the pair before it and from the one after it.
            is_first = flag_changes(pairs)
            is_last = flag_changes(pairs[::-1])[::-1]
            is_exclusive = is_first & is_last
            keys = keys[is_exclusive]
            pairs = pairs[is_exclusive]

            target = slice(n_entries, n_entries + len(keys))
            exclusive_groups[target] = pairs >> id_bits
            exclusive_members[target] = keys & member_mask
            exclusive_ids[target] = pairs & id_mask
            n_entries += len(keys)
        return ExclusiveTokens(
            groups=exclusive_groups[:n_entries],
            members=exclusive_members[:n_entries],
            ids=exclusive_ids[:n_entries],
        )

    def make_ngrams(self, size: int) -> InternedTexts:
        """Return the n-grams of each row: all runs of `size` consecutive tokens.

        The vocabulary consists of runs of tokens joined by spaces, sorted by the ids of their tokens.
        The strings are created only when they are looked up.

        Args:
            size: Number of tokens of an n-gram.

        Example:
            >>> texts = intern_texts(["a b a b", "c"]).make_ngrams(2)
            >>> texts.get_tokens(0), texts.get_tokens(1), list(texts.vocabulary)
            (['a b', 'b a', 'a b'], [], ['a b', 'b a'])
        """
        if size == 1:
            return self

        # A run begins at each token whose row also has the token that would end the run.
        rows = self.rows
        n_starts = max(self.n_tokens - size + 1, 0)
        last_rows = rows[self.n_tokens - n_starts :]
        starts = np.flatnonzero(rows[:n_starts] == last_rows)

        # Number the distinct runs by extending them one token at a time. The key of a longer run
        # combines the rank of the shorter run with the id of the last token. Ranks are small numbers
        # in the order of the runs. `examples` has the index of one run of each rank.
        ranks = self.ids[starts].astype(np.int64)
        examples = np.zeros(0, dtype=np.int64)
        for shift in range(1, size):
            last_ids = self.ids[starts + shift]
            keys = ranks * len(self.vocabulary) + last_ids
            _, examples, ranks = np.unique(keys, return_index=True, return_inverse=True)

        example_starts = starts[examples]
        # (G, size) ids of the tokens of each distinct run.
        grams = self.ids[example_starts[:, None] + np.arange(size)]
        lengths = np.bincount(rows[starts], minlength=len(self))
        return InternedTexts(
            ids=ranks.astype(np.int32),
            offsets=compute_offsets(lengths),
            vocabulary=JoinedTokens(grams, self.vocabulary),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ExclusiveTokens:
    """Tokens that exactly one row of a group has: one entry for each (group, token).

    Attributes:
        groups: (E,) groups, in ascending order.
        members: (E,) position in its group of the row that has the token.
        ids: (E,) tokens.
    """

    groups: Ids
    members: Ids
    ids: Ids


@dataclasses.dataclass(frozen=True, eq=False)
class RowIndex:
    """The rows that have each of V tokens.

    Attributes:
        rows: Rows of the first token in ascending order, then those of the second, and so on.
        offsets: (V + 1,) position in `rows` at which each token begins.
    """

    rows: Ids
    offsets: Positions

    def list_rows(self, token_id: int) -> Ids:
        """Return the rows that have a token, in ascending order."""
        start = self.offsets[token_id]
        stop = self.offsets[token_id + 1]
        return self.rows[start:stop]


@dataclasses.dataclass(frozen=True, eq=False)
class JoinedTokens(Sequence[str]):
    """Runs of tokens, joined by a space when they are looked up.

    Attributes:
        grams: (G, n) ids of the tokens of each run.
        vocabulary: The tokens by id.
    """

    grams: Ids
    vocabulary: Sequence[str]

    def __len__(self) -> int:
        return len(self.grams)

    @overload
    def __getitem__(self, position: int) -> str: ...

    @overload
    def __getitem__(self, position: slice) -> JoinedTokens: ...

    def __getitem__(self, position: int | slice) -> str | JoinedTokens:
        """Return one joined run, or some of the runs."""
        grams = self.grams[position]
        if isinstance(position, slice):
            return JoinedTokens(grams, self.vocabulary)
        return " ".join([self.vocabulary[token_id] for token_id in grams.tolist()])


def intern_texts(
    texts: Sequence[str],
    *,
    with_spans: bool = False,
) -> InternedTexts:
    """Split texts into words and marks, and number the distinct ones.

    The tokens of each text are those of `split_words`, which takes three times as long.

    Args:
        texts: N texts.
        with_spans: Whether to record the position of each token in its text.

    Returns:
        N rows of token ids. An id is the rank of the token in the sorted vocabulary.

    Example:
        >>> texts = intern_texts(["Good film!", "", "A good one"], with_spans=True)
        >>> texts.vocabulary, texts.ids.tolist(), texts.offsets.tolist()
        (['!', 'a', 'film', 'good', 'one'], [3, 2, 0, 1, 3, 4], [0, 3, 3, 6])
        >>> texts.spans[:3].tolist()
        [[0, 4], [5, 9], [9, 10]]
    """
    pool = TokenPool()
    numbers = [np.empty(0, dtype=np.int32)]
    spans = [np.empty((0, 2), dtype=np.int32)]
    n_tokens = np.zeros(len(texts), dtype=np.int64)

    text_offsets = compute_offsets(list(map(len, texts)))
    for start, stop in iterate_blocks(text_offsets, CHUNK_CHARACTERS):
        chunk = _Chunk.read(texts[start:stop])
        numbers.append(pool.number_tokens(chunk.codes, chunk.starts, chunk.ends))
        n_tokens[start:stop] = chunk.n_tokens
        if with_spans:
            spans.append(chunk.compute_spans(texts[start:stop]))

    # The pool numbers tokens in the order of discovery. Replace the numbers by the ranks of the
    # tokens in the sorted vocabulary, in place to save memory.
    vocabulary, ranks = sort_tokens(pool.list_tokens())
    for chunk_numbers in numbers:
        chunk_numbers[:] = ranks[chunk_numbers]
    return InternedTexts(
        ids=np.concatenate(numbers),
        offsets=compute_offsets(n_tokens),
        vocabulary=vocabulary,
        spans=np.concatenate(spans) if with_spans else None,
    )


def intern_token_lists(token_lists: Iterable[Iterable[Any]]) -> InternedTexts:
    """Number the distinct tokens of texts that are already split.

    Args:
        token_lists: N lists of tokens, which may be any objects that can be hashed and sorted.

    Returns:
        N rows of token ids, without spans.

    Example:
        >>> texts = intern_token_lists([["good", "film"], [], ["film"]])
        >>> texts.vocabulary, texts.ids.tolist(), texts.offsets.tolist()
        (['film', 'good'], [1, 0, 0], [0, 2, 2, 3])
    """
    # A token that is looked up for the first time gets the next number.
    number_by_token = defaultdict[Any, int]()
    number_by_token.default_factory = number_by_token.__len__
    numbers = array("i")
    offsets = array("q", [0])
    for tokens in token_lists:
        numbers.extend(map(number_by_token.__getitem__, tokens))
        offsets.append(len(numbers))

    vocabulary, ranks = sort_tokens(list(number_by_token))
    return InternedTexts(
        ids=ranks[np.array(numbers, dtype=np.int32)],
        offsets=np.array(offsets, dtype=np.int64),
        vocabulary=vocabulary,
    )


def sort_tokens(tokens: list[Any]) -> tuple[list[Any], Ids]:
    """Sort tokens, and return the rank of each.

    Args:
        tokens: V distinct tokens.

    Returns:
        The tokens in sorted order, and (V,) the position there of each token.

    Example:
        >>> vocabulary, ranks = sort_tokens(["b", "c", "a"])
        >>> vocabulary, ranks.tolist()
        (['a', 'b', 'c'], [1, 2, 0])
    """
    # Python compares texts by code point, as numpy would, and much faster than numpy.
    order = sorted(range(len(tokens)), key=tokens.__getitem__)
    ranks = np.empty(len(tokens), dtype=np.int32)
    ranks[order] = np.arange(len(tokens))
    vocabulary = [tokens[position] for position in order]
    return vocabulary, ranks


@dataclasses.dataclass(frozen=True, eq=False)
class _Chunk:
    """Consecutive texts in lower case, joined by line feeds, and the tokens in them.

    Attributes:
        codes: (C,) code points.
        text_starts: (n,) position at which each text begins.
        starts: (t,) position of the first character of each token.
        ends: (t,) position after its last.
        offsets: (n + 1,) first token of each text, and t.
    """

    codes: Codes
    text_starts: Positions
    starts: Positions
    ends: Positions
    offsets: Positions

    @classmethod
    def read(cls, texts: Sequence[str]) -> _Chunk:
        """Convert n texts to lower case, and find their words and marks.

        Args:
            texts: The n texts.
        """
        # Each text is converted alone, because the lower case of a letter may depend on its
        # neighbors.
        lowered = [text.lower() for text in texts]
        codes = encode_text("\n".join(lowered))
        starts, ends = find_words(codes)

        # Each text is followed by a line feed, except for the last one. A line feed is white space,
        # so that no token crosses it.
        widths = np.array(list(map(len, lowered)), dtype=np.int64) + 1
        text_starts = np.cumsum(widths) - widths
        borders = np.append(text_starts, len(codes))
        return cls(
            codes=codes,
            text_starts=text_starts,
            starts=starts,
            ends=ends,
            offsets=np.searchsorted(starts, borders),
        )

    @property
    def n_tokens(self) -> Positions:
        """(n,) number of tokens of each text."""
        return np.diff(self.offsets)

    def compute_spans(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Return the position of each token in its original text, whose lower case was searched.

        Args:
            texts: The n original texts of this chunk.

        Returns:
            (t, 2) positions of the first character of each token, and after its last character.
        """
        text_starts = np.repeat(self.text_starts, self.n_tokens)
        starts = self.starts - text_starts
        ends = self.ends - text_starts
        for row, text in enumerate(texts):
            # Lower case has the same length, except for the letter İ, which becomes two characters.
            if DOTTED_I in text:
                widths = [len(letter.lower()) for letter in text]
                original_of_lowered = np.repeat(np.arange(len(text)), widths)
                tokens = slice(self.offsets[row], self.offsets[row + 1])
                starts[tokens] = original_of_lowered[starts[tokens]]
                ends[tokens] = original_of_lowered[ends[tokens] - 1] + 1
        return np.column_stack((starts, ends)).astype(np.int32)
