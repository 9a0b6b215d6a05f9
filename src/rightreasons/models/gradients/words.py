"""Numbers per token of a model, as numbers per word piece or word of the text.

`merge_pieces` is the entry point. Words are those of `rightreasons.core.tokens.WORD_PATTERN`,
whatever the tokenizer's pieces, so that they are the words of the statistics of texts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from rightreasons.core.arrays import Floats, Ints, Ragged, compute_offsets
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.models.items import Items


@dataclass(frozen=True, eq=False)
class TokenScores:
    """The tokens of N items, each with its score, one item after another.

    Attributes:
        tokens: N tuples of tokens.
        scores: N rows of scores.
        starts: (total,) first character of each token in its text.
        ends: (total,) one past its last character.
        parts: (total,) 0 in the first text, 1 in the second.
    """

    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: Ints
    ends: Ints
    parts: Ints


def find_word_spans(text: str) -> Ints:
    """Return the places of the words of a text, (n, 2): first character and one past the last.

    Example:
        >>> find_word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    spans = [match.span() for match in WORD_PATTERN.finditer(text)]
    table = np.array(spans, dtype=np.int64)
    # A text without words has a table of no rows.
    return table.reshape(-1, 2)


def match_pieces(spans: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return which pieces of a tokenizer belong to which words.

    A piece belongs to every word that it covers a part of ("'t" in "don't" covers two). One that
    covers white space alone, or nothing, belongs to the next word, as the mark of a word's
    beginning does in tokenizers that write it apart; at the end of the text, to the last word.

    Args:
        spans: (n, 2) words in order, from `find_word_spans`.
        starts: (m,) first character of each piece; it may be a space before the word.
        ends: (m,) one past its last character.

    Returns:
        (k,) pieces, and (k,) the word of each; both empty for a text without words. A piece of
        several words occurs once for each of them.

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
    # Words are sorted, so that those of a piece are adjacent: from the first one that ends after
    # the piece begins to the last one that begins before the piece ends.
    first_words = np.searchsorted(word_ends, starts, side="right")
    last_words = np.searchsorted(word_starts, ends, side="left") - 1
    # A piece after the last word belongs to it.
    first_words = np.minimum(first_words, n_words - 1)
    # A piece between two words covers no word, and gets the next one.
    n_words_by_piece = np.maximum(last_words - first_words + 1, 1)

    # Row by row: the words of the first piece, then those of the second, …
    pieces = np.repeat(np.arange(len(starts)), n_words_by_piece)
    first_rows = np.cumsum(n_words_by_piece) - n_words_by_piece
    # 0, 1, … within the words of each piece.
    row_numbers = np.arange(len(pieces))
    rank_in_piece = row_numbers - np.repeat(first_rows, n_words_by_piece)
    words = np.repeat(first_words, n_words_by_piece) + rank_in_piece
    return pieces, words


def merge_pieces(
    items: Items, scores: Floats, *, unit: str, merge: str, special: bool = False
) -> TokenScores:
    """Turn the scores of a model's tokens into scores of word pieces, or of words.

    Args:
        items: N items, with the positions of their tokens.
        scores: (total,) the score of every token of their sequences, special ones included.
        unit: "wordpiece" (pieces stay as they are) or "word".
        merge: How the pieces of a word become one: "absmax", the largest in magnitude, or "sum".
            The score of a piece of several words counts for each of them with "absmax", and is
            divided among them with "sum".
        special: Whether special tokens are kept; with unit="wordpiece" only.

    Returns:
        The tokens of each item, with their scores and positions in the text.
    """
    if unit == "word":
        return _merge_to_words(items, scores, merge)
    places = items.places
    is_kept = ~places.special | special
    encoded = items.encoded
    tokenizer = items.classifier.tokenizer
    input_ids = encoded.columns["input_ids"][is_kept]
    tokens = tokenizer.convert_ids_to_tokens(input_ids.tolist())
    n_tokens = np.bincount(encoded.row[is_kept], minlength=len(items))
    return TokenScores(
        tokens=_split_rows(list(tokens), n_tokens),
        scores=Ragged(scores[is_kept], compute_offsets(n_tokens)),
        starts=places.start[is_kept],
        ends=places.end[is_kept],
        parts=places.sequence[is_kept],
    )


@dataclass(eq=False)
class _WordTable:
    """The words of all items, text by text, and the pieces that belong to them.

    Attributes:
        tokens: Words in lower case.
        spans: Place of each word in its text, one array per text.
        n_words: Number of words of each text.
        parts: 0 for a first text, 1 for a second, per text.
        pieces: Pieces with a word, one array per text.
        words: The word of each of them, as an index of `tokens`, one array per text.
    """

    tokens: list[str] = field(default_factory=list)
    spans: list[Ints] = field(default_factory=list)
    n_words: list[int] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)
    pieces: list[Ints] = field(default_factory=list)
    words: list[Ints] = field(default_factory=list)

    def add_text(self, text: str, part: int, pieces: Ints, starts: Ints, ends: Ints) -> None:
        """Add the words of a text that have pieces; a truncated text has words without any.

        Args:
            text: The text.
            part: 0 for a first text, 1 for a second.
            pieces: (m,) positions of its pieces among the tokens of all items.
            starts: (m,) first character of each.
            ends: (m,) one past its last character.
        """
        spans = find_word_spans(text)
        # Indices into `pieces`, and into `spans`, one for each piece of a word.
        matched_pieces, matched_words = match_pieces(spans, starts, ends)
        # Words with pieces, and the number of each matched word among these.
        words, word_numbers = np.unique(matched_words, return_inverse=True)
        self.pieces.append(pieces[matched_pieces])
        # The words of earlier texts come first in `tokens`.
        self.words.append(len(self.tokens) + word_numbers)
        word_spans = spans[words]
        for start, end in word_spans.tolist():
            word = text[start:end].lower()
            self.tokens.append(word)
        self.spans.append(word_spans)
        self.n_words.append(len(words))
        self.parts.append(part)


def _merge_to_words(items: Items, scores: Floats, merge: str) -> TokenScores:
    """Return the words of all items, each with one score from those of its pieces.

    Args:
        items: N items, with the positions of their tokens.
        scores: (total,) the score of every token of their sequences, special tokens included.
        merge: "absmax" for the score of the largest magnitude, or "sum", by which a piece of
            several words is divided among them.
    """
    table, n_words_by_item = _find_words(items)
    # Items of empty texts have no words, so that there may be nothing to join.
    empty = np.empty(0, dtype=np.int64)
    pieces = np.concatenate([empty, *table.pieces])
    words = np.concatenate([empty, *table.words])
    spans = np.concatenate([empty.reshape(0, 2), *table.spans])
    n_words = len(table.tokens)
    if merge == "absmax":
        merged = _select_largest(scores[pieces], words, n_words)
    else:
        # Each word gets an equal share of a piece, so that no part of the sum is lost.
        n_words_by_piece = np.bincount(pieces, minlength=len(scores))
        shares = scores[pieces] / n_words_by_piece[pieces]
        sums = np.bincount(words, shares, minlength=n_words)
        merged = sums.astype(np.float64)
    parts = np.array(table.parts, dtype=np.int64)
    return TokenScores(
        tokens=_split_rows(table.tokens, n_words_by_item),
        scores=Ragged(merged, compute_offsets(n_words_by_item)),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=np.repeat(parts, table.n_words),
    )


def _select_largest(values: Floats, words: Ints, n_words: int) -> Floats:
    """Return the value of the largest magnitude of each word; 0 for a word without values.

    Args:
        values: (k,) values of pieces.
        words: (k,) word of each value, from 0 to n_words - 1.
        n_words: Number of words.
    """
    # Sorted by word, and within a word by magnitude: the last key is the most important one.
    order = np.lexsort((np.abs(values), words))
    largest = np.zeros(n_words)
    # If an index is repeated, numpy keeps its last value, which is the largest.
    largest[words[order]] = values[order]
    return largest


def _find_words(items: Items) -> tuple[_WordTable, Ints]:
    """Return the words of the texts of all items, and the (N,) number of words of each item."""
    table = _WordTable()
    n_words_by_item = np.zeros(len(items), dtype=np.int64)
    offsets = items.encoded.offsets
    for row in range(len(items)):
        # Positions of the item's tokens among those of all items.
        tokens = np.arange(offsets[row], offsets[row + 1])
        n_earlier_words = len(table.tokens)
        _add_text(table, items, items.texts[row], 0, tokens)
        if items.text_pairs is not None:
            _add_text(table, items, items.text_pairs[row], 1, tokens)
        n_words_by_item[row] = len(table.tokens) - n_earlier_words
    return table, n_words_by_item


def _add_text(table: _WordTable, items: Items, text: str, part: int, tokens: Ints) -> None:
    """Add one text of an item to a table of words.

    Args:
        table: The table, which is changed.
        items: All items, with the positions of their tokens.
        text: The text.
        part: 0 for the first text of the item, 1 for the second.
        tokens: (t,) positions of the item's tokens among those of all items.
    """
    places = items.places
    is_special = places.special[tokens]
    is_of_part = ~is_special & (places.sequence[tokens] == part)
    pieces = tokens[is_of_part]
    # A text that is empty, or was truncated to nothing, has no pieces.
    if len(pieces):
        starts = places.start[pieces]
        ends = places.end[pieces]
        table.add_text(text, part, pieces, starts, ends)


def _split_rows(tokens: list[str], lengths: Ints) -> tuple[tuple[str, ...], ...]:
    """Split the tokens of all items into a tuple for each item.

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
