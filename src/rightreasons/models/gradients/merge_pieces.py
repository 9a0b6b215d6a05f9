"""From the attributions of all pieces to those of what is ranked: word pieces or words, without special tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.gradients.token_table import TokenTable, word_of_piece, word_spans

UNITS = ("wordpiece", "word")
MERGES = ("absmax", "sum", "mean")


@dataclass(frozen=True)
class Units:
    """What is ranked.

    Attributes:
        unit: "wordpiece" or "word".
        merge: How the pieces of a word become one: "absmax", "sum" or "mean".
    """

    unit: str
    merge: str

    def describe(self) -> str:
        """Say in words what is ranked."""
        if self.unit == "wordpiece":
            return "One number a word piece, special tokens left out."
        how = {"absmax": "the largest in magnitude", "sum": "the sum", "mean": "the mean"}[self.merge]
        return f"One number a word, {how} of its pieces, special tokens left out."


@dataclass(frozen=True, eq=False)
class Merged:
    """The units of n sequences, one sequence after another.

    Attributes:
        tokens: The units.
        scores: (total,) their attributions.
        starts: (total,) first character in their text.
        ends: (total,) one past the last character.
        parts: (total,) 0 in the first text, 1 in the second.
        offsets: (n + 1,) where each sequence begins.
    """

    tokens: list[str]
    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    offsets: NDArray[np.int64]


def merge_pieces(
    tokenizer: Any,
    table: TokenTable,
    scores: NDArray[np.float64],
    units: Units,
    first: Sequence[str],
    second: Sequence[str] | None,
) -> Merged:
    """Leave special tokens out and join pieces to units.

    Args:
        tokenizer: The tokenizer that made the table.
        table: The pieces of n sequences.
        scores: (total,) the attribution of every piece, special ones included.
        units: What to make of them.
        first: The n first texts.
        second: The n second texts, or None.

    Returns:
        The units.
    """
    n_sequences = len(table.encoded)
    row = np.repeat(np.arange(n_sequences), table.encoded.lengths)
    kept = ~table.special
    if units.unit == "wordpiece":
        ids = table.encoded.columns["input_ids"][kept].tolist()
        return Merged(
            tokens=list(tokenizer.convert_ids_to_tokens(ids)),
            scores=scores[kept],
            starts=table.start[kept],
            ends=table.end[kept],
            parts=table.part[kept],
            offsets=_offsets(row[kept], n_sequences),
        )
    texts = [first, second]
    tokens: list[str] = []
    word = np.full(len(row), -1, dtype=np.int64)
    spans_of_all, row_of_all, part_of_all = [], [], []
    for index in range(n_sequences):
        pieces = slice(*table.encoded.offsets[index : index + 2])
        for part, column in enumerate(texts):
            inside = np.flatnonzero(kept[pieces] & (table.part[pieces] == part)) + pieces.start
            if column is None or not len(inside):
                continue
            text = column[index]
            spans = word_spans(text)
            found = word_of_piece(spans, table.start[inside], table.end[inside])
            seen, place = np.unique(found[found >= 0], return_inverse=True)  # words that were cut off are not seen
            word[inside[found >= 0]] = len(tokens) + place
            tokens += [text[a:b].lower() for a, b in spans[seen].tolist()]
            spans_of_all.append(spans[seen])
            row_of_all.append(np.full(len(seen), index))
            part_of_all.append(np.full(len(seen), part))
    spans = np.concatenate([np.empty((0, 2), np.int64), *spans_of_all])
    return Merged(
        tokens=tokens,
        scores=_join(scores[word >= 0], word[word >= 0], len(tokens), units.merge),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=np.concatenate([np.empty(0, np.int64), *part_of_all]),
        offsets=_offsets(np.concatenate([np.empty(0, np.int64), *row_of_all]), n_sequences),
    )


def _join(scores: NDArray[np.float64], unit: NDArray[np.int64], n_units: int, merge: str) -> NDArray[np.float64]:
    if merge == "absmax":
        # The last of equal units in this order is the largest in magnitude.
        order = np.lexsort((np.abs(scores), unit))
        joined = np.zeros(n_units)
        joined[unit[order]] = scores[order]
        return joined
    total = np.bincount(unit, scores, minlength=n_units)
    sizes = np.bincount(unit, minlength=n_units)
    return np.asarray(total if merge == "sum" else total / sizes, dtype=np.float64)


def _offsets(row: NDArray[np.int64], n_rows: int) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(np.bincount(row, minlength=n_rows)))).astype(np.int64)
