"""From the scores of all pieces to those of the tokens that are ranked: pieces or words, without special tokens."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged, offsets_of
from rightreasons.models.gradients.words import word_of_piece, word_spans
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
        choices: (total,) the sequence of the item that the token is in.
    """

    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    choices: NDArray[np.int64]


def merge_pieces(
    items: Items, scores: NDArray[np.float64], *, unit: str, merge: str, special: bool = False
) -> TokenScores:
    """Leave special tokens out and join pieces to words.

    Args:
        items: Items with the places of their tokens.
        scores: (total,) the score of every token of their sequences, special ones included.
        unit: "wordpiece" (pieces stay as they are) or "word".
        merge: How the pieces of a word become one: "absmax", "sum" or "mean".
        special: Whether special tokens stay, among pieces.

    Returns:
        The tokens of each item, with their scores and places.
    """
    places, encoded = items.places, items.encoded
    if unit == "wordpiece":
        real = ~places.special | special
        tokens = items.classifier.tokenizer.convert_ids_to_tokens(encoded.columns["input_ids"][real].tolist())
        spans = np.column_stack((places.start[real], places.end[real]))
        return _by_item(items, list(tokens), scores[real], spans, places.part[real], encoded.row[real])
    tokens = []
    word = np.full(len(scores), -1, dtype=np.int64)
    all_spans, all_rows, all_parts = [np.empty((0, 2), np.int64)], [], []
    for row, (start, end) in enumerate(itertools.pairwise(encoded.offsets.tolist())):
        for part, column in enumerate((items.first, items.second)):
            inside = np.flatnonzero(~places.special[start:end] & (places.part[start:end] == part)) + start
            if column is None or not len(inside):
                continue
            spans = word_spans(column[row])
            owner = word_of_piece(spans, places.start[inside], places.end[inside])
            whole, place = np.unique(owner[owner >= 0], return_inverse=True)  # without words that were cut off
            word[inside[owner >= 0]] = len(tokens) + place
            tokens += [column[row][a:b].lower() for a, b in spans[whole].tolist()]
            all_spans.append(spans[whole])
            all_rows += [row] * len(whole)
            all_parts += [part] * len(whole)
    joined = _join(scores[word >= 0], word[word >= 0], len(tokens), merge)
    parts, rows = np.array(all_parts, dtype=np.int64), np.array(all_rows, dtype=np.int64)
    return _by_item(items, tokens, joined, np.concatenate(all_spans), parts, rows)


def _by_item(
    items: Items,
    tokens: list[str],
    scores: NDArray[np.float64],
    spans: NDArray[np.int64],
    parts: NDArray[np.int64],
    sequences: NDArray[np.int64],
) -> TokenScores:
    """Group tokens, of which the sequences are known, by item."""
    item_of_sequence = np.repeat(np.arange(len(items)), items.counts)
    choice_of_sequence = np.arange(len(item_of_sequence)) - items.offsets[item_of_sequence]
    offsets = offsets_of(np.bincount(item_of_sequence[sequences], minlength=len(items)))
    return TokenScores(
        tokens=tuple(tuple(tokens[a:b]) for a, b in itertools.pairwise(offsets.tolist())),
        scores=Ragged(scores, offsets),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=parts,
        choices=choice_of_sequence[sequences],
    )


def _join(scores: NDArray[np.float64], word: NDArray[np.int64], n_words: int, merge: str) -> NDArray[np.float64]:
    if merge == "absmax":
        # The last of a word's pieces in this order is the largest in magnitude.
        order = np.lexsort((np.abs(scores), word))
        joined = np.zeros(n_words)
        joined[word[order]] = scores[order]
        return joined
    total = np.bincount(word, scores, minlength=n_words)
    sizes = np.bincount(word, minlength=n_words)
    return np.asarray(total if merge == "sum" else total / sizes, dtype=np.float64)
