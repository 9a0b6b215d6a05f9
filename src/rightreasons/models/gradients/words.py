"""Numbers per token of a model, as numbers per word piece or word of the text.

`merge_pieces` is the entry point. Words are those of `rightreasons.core.tokens.WORD_PATTERN`,
whatever the tokenizer's pieces, so that they are the words of the statistics of texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from rightreasons.core.arrays import Floats, Ints, Ragged, compute_offsets
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.models.items import Items

TokenRows: TypeAlias = tuple[tuple[str, ...], ...]
"""One tuple of tokens per item."""


@dataclass(frozen=True, eq=False)
class TokenScores:
    """The tokens of N items, each with a score, one item after another.

    Attributes:
        tokens: N tuples of tokens: word pieces, or words in lower case.
        scores: N rows of scores.
        starts: (total,) index of the first character of each token in its text.
        ends: (total,) index after its last character.
        parts: (total,) 0 for a token of the first text of an item, 1 for one of the second.
    """

    tokens: TokenRows
    scores: Ragged
    starts: Ints
    ends: Ints
    parts: Ints


def find_word_spans(text: str) -> Ints:
    """Return where the words of a text begin and end, (n, 2).

    The columns are the index of the first character, and the index after the last character.

    Example:
        >>> find_word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    spans = []
    for match in WORD_PATTERN.finditer(text):
        spans.append(match.span())
    table = np.array(spans, dtype=np.int64)
    # Even without words, the table has two columns.
    return table.reshape(-1, 2)


def match_pieces(spans: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Find out which word pieces of a tokenizer belong to which words.

    A piece belongs to every word of which it covers a part: "'t" in "don't" covers two. A piece
    that covers only white space, or nothing, belongs to the next word. Some tokenizers mark the
    beginning of a word by such a piece. At the end of the text it belongs to the last word.

    Args:
        spans: (n, 2) words in order, from `find_word_spans`.
        starts: (m,) index of the first character of each piece; it may be a space before a word.
        ends: (m,) index after its last character.

    Returns:
        (k,) indices of pieces, and (k,) index of the word of each; both are empty for a text
        without words. A piece of several words occurs once for each of them.

    Example:
        >>> pieces, words = match_pieces(
        ...     find_word_spans("a good"), np.array([0, 1, 2]), np.array([1, 2, 6])
        ... )
        >>> pieces.tolist(), words.tolist()
        ([0, 1, 2], [0, 1, 1])
    """
    n_words = len(spans)
    if n_words == 0:
        empty = np.empty(0, dtype=np.int64)
        return empty, empty
    word_starts, word_ends = spans.T
    # The words of a piece are adjacent: from the first word that ends after the piece begins, to
    # the last word that begins before the piece ends.
    first_words = np.searchsorted(word_ends, starts, side="right")
    n_words_before_end = np.searchsorted(word_starts, ends, side="left")
    last_words = n_words_before_end - 1
    # A piece after the last word belongs to that word.
    first_words = np.minimum(first_words, n_words - 1)
    # A piece between two words covers no word, and belongs to the next one.
    n_covered_words = last_words - first_words + 1
    n_words_by_piece = np.maximum(n_covered_words, 1)

    # The words of the first piece, then those of the second, and so on.
    piece_indices = np.arange(len(starts))
    pieces = np.repeat(piece_indices, n_words_by_piece)
    stop_rows = np.cumsum(n_words_by_piece)
    first_rows = stop_rows - n_words_by_piece
    # 0, 1, … within the words of each piece.
    row_numbers = np.arange(len(pieces))
    first_row_by_row = np.repeat(first_rows, n_words_by_piece)
    rank_in_piece = row_numbers - first_row_by_row
    first_word_by_row = np.repeat(first_words, n_words_by_piece)
    words = first_word_by_row + rank_in_piece
    return pieces, words


def merge_pieces(
    items: Items, scores: Floats, *, unit: str, merge: str, special: bool = False
) -> TokenScores:
    """Convert scores of the tokens of a model into scores of word pieces, or of words.

    Args:
        items: N items, with the positions of their tokens in the texts.
        scores: (total,) score of every token of their sequences, special tokens included.
        unit: "wordpiece" to leave pieces as they are, or "word".
        merge: Score of a word: "absmax" for the score of its pieces with the largest magnitude, or
            "sum". If a piece belongs to several words, each of them has its score with "absmax",
            and an equal share of it with "sum".
        special: Whether special tokens are included; with unit="wordpiece" only.

    Returns:
        The tokens of each item, with their scores and positions in the text.
    """
    if unit == "word":
        return _merge_to_words(items, scores, merge)
    positions = items.token_positions
    is_included = ~positions.special | special
    encoded = items.encoded
    tokenizer = items.classifier.tokenizer
    input_ids = encoded.columns["input_ids"][is_included]
    tokens = tokenizer.convert_ids_to_tokens(input_ids.tolist())
    # Number of included tokens of each item; `row` is the item of each token.
    item_by_token = encoded.row[is_included]
    n_tokens = np.bincount(item_by_token, minlength=len(items))
    included_scores = scores[is_included]
    offsets = compute_offsets(n_tokens)
    return TokenScores(
        tokens=_split_rows(list(tokens), n_tokens),
        scores=Ragged(included_scores, offsets),
        starts=positions.start[is_included],
        ends=positions.end[is_included],
        parts=positions.sequence[is_included],
    )


@dataclass(eq=False)
class _WordTable:
    """The words of all items, text by text, and the word pieces that belong to them.

    Attributes:
        tokens: Words in lower case.
        spans: (n, 2) first character of each word of a text, and index after its last character;
            one array per text.
        n_words: Number of words of each text.
        parts: 0 for a first text, 1 for a second; one number per text.
        pieces: Indices of the pieces that belong to a word, one array per text.
        words: Index in `tokens` of the word of each of these pieces, one array per text.
    """

    tokens: list[str] = field(default_factory=list)
    spans: list[Ints] = field(default_factory=list)
    n_words: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    pieces: list[Ints] = field(default_factory=list)
    words: list[Ints] = field(default_factory=list)

    def add_text(self, text: str, part: int, pieces: Ints, starts: Ints, ends: Ints) -> None:
        """Add the words of a text that have pieces. Truncated words, which have none, are left out.

        Args:
            text: The text.
            part: 0 for a first text, 1 for a second.
            pieces: (m,) indices of its pieces among the tokens of all items.
            starts: (m,) index of the first character of each piece.
            ends: (m,) index after its last character.
        """
        spans = find_word_spans(text)
        # Indices into `pieces`, and into `spans`, one for each piece of a word.
        matched_pieces, matched_words = match_pieces(spans, starts, ends)
        # The words with pieces, and for each matched word its index among these.
        words, word_numbers = np.unique(matched_words, return_inverse=True)
        self.pieces.append(pieces[matched_pieces])
        # The words of earlier texts come first in `tokens`.
        n_earlier_words = len(self.tokens)
        self.words.append(n_earlier_words + word_numbers)
        word_spans = spans[words]
        for start, end in word_spans.tolist():
            word = text[start:end].lower()
            self.tokens.append(word)
        self.spans.append(word_spans)
        self.n_words.append(len(words))
        self.parts.append(part)


def _merge_to_words(items: Items, scores: Floats, merge: str) -> TokenScores:
    """Return the words of all items, with one score per word from the scores of its pieces.

    Args:
        items: N items, with the positions of their tokens in the texts.
        scores: (total,) score of every token of their sequences, special tokens included.
        merge: "absmax" for the score with the largest magnitude; or "sum", for which the score of a
            piece of several words is divided among them.
    """
    table, n_words_by_item = _find_words(items)
    # If all texts are empty, there is nothing else to concatenate.
    empty = np.empty(0, dtype=np.int64)
    pieces = np.concatenate([empty, *table.pieces])
    words = np.concatenate([empty, *table.words])
    no_spans = empty.reshape(0, 2)
    spans = np.concatenate([no_spans, *table.spans])
    n_words = len(table.tokens)
    if merge == "absmax":
        merged = _select_largest(scores[pieces], words, n_words)
    else:
        # With equal shares, the sum over words is the sum over pieces.
        n_words_by_piece = np.bincount(pieces, minlength=len(scores))
        divisors = n_words_by_piece[pieces]
        shares = scores[pieces] / divisors
        sums = np.bincount(words, shares, minlength=n_words)
        merged = sums.astype(np.float64)
    parts = np.array(table.parts, dtype=np.int64)
    starts, ends = spans.T
    offsets = compute_offsets(n_words_by_item)
    return TokenScores(
        tokens=_split_rows(table.tokens, n_words_by_item),
        scores=Ragged(merged, offsets),
        starts=starts,
        ends=ends,
        parts=np.repeat(parts, table.n_words),
    )


def _select_largest(values: Floats, words: Ints, n_words: int) -> Floats:
    """Select the value with the largest magnitude for each word; 0 for a word without values.

    Args:
        values: (k,) values.
        words: (k,) word of each value, from 0 to n_words - 1.
        n_words: Number of words.

    Example:
        >>> _select_largest(np.array([1.0, -3.0, 2.0]), np.array([0, 0, 2]), n_words=3)
        array([-3.,  0.,  2.])
    """
    # Sort by word, and within a word by magnitude: the last key of `lexsort` is the first to sort
    # by.
    magnitudes = np.abs(values)
    order = np.lexsort((magnitudes, words))
    largest = np.zeros(n_words)
    # If an index occurs several times, numpy assigns the last value, which is the largest.
    largest[words[order]] = values[order]
    return largest


def _find_words(items: Items) -> tuple[_WordTable, Ints]:
    """Find the words of the texts of all items.

    Returns:
        A table of the words and their pieces, and the (N,) number of words of each item.
    """
    table = _WordTable()
    n_words_by_item = np.zeros(len(items), dtype=np.int64)
    offsets = items.encoded.offsets
    for row in range(len(items)):
        # Indices of the tokens of the item among the tokens of all items.
        start = offsets[row]
        end = offsets[row + 1]
        tokens = np.arange(start, end)
        n_earlier_words = len(table.tokens)
        _add_text(table, items, items.texts[row], 0, tokens)
        if items.text_pairs is not None:
            _add_text(table, items, items.text_pairs[row], 1, tokens)
        n_words_by_item[row] = len(table.tokens) - n_earlier_words
    return table, n_words_by_item


def _add_text(table: _WordTable, items: Items, text: str, part: int, tokens: Ints) -> None:
    """Add the words of one text of an item to a table of words.

    Args:
        table: The table, which is changed.
        items: All items, with the positions of their tokens in the texts.
        text: The text.
        part: 0 for the first text of the item, 1 for the second.
        tokens: (t,) indices of the tokens of the item among the tokens of all items.
    """
    positions = items.token_positions
    is_special = positions.special[tokens]
    is_in_part = positions.sequence[tokens] == part
    is_piece = is_in_part & ~is_special
    pieces = tokens[is_piece]
    # A text that is empty, or was truncated to nothing, has no pieces.
    if len(pieces) == 0:
        return
    starts = positions.start[pieces]
    ends = positions.end[pieces]
    table.add_text(text, part, pieces, starts, ends)


def _split_rows(tokens: list[str], lengths: Ints) -> TokenRows:
    """Split a list with the tokens of all items into one tuple per item.

    Args:
        tokens: Tokens of all items, one item after another.
        lengths: (N,) number of tokens of each item.
    """
    rows = []
    end = 0
    for length in lengths.tolist():
        start = end
        end += length
        rows.append(tuple(tokens[start:end]))
    return tuple(rows)
