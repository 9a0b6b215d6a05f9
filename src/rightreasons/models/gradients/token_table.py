"""Which pieces and words a tokenized text is made of, and where in the text they stand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.running.batching import Encoded, encode

WORD_PATTERN = re.compile(r"\w+|[^\w\s]")
"""A word (letters, digits, underscore), or one mark of punctuation: the words over which LMI and every other word-level
statistic of this package counts (`analysis.tokens`, which this wing does not know; a test holds the two together)."""


@dataclass(frozen=True, eq=False)
class TokenTable:
    """Tokenized sequences, with what is known of every token.

    Attributes:
        encoded: The token ids.
        special: (total,) whether the tokenizer added the token ([CLS], [SEP], <s>, </s>).
        part: (total,) 0 in the first text, 1 in the second; 0 for special tokens.
        start: (total,) first character in its text; 0 for special tokens.
        end: (total,) one past the last character; equal to `start` where a token stands for no character.
    """

    encoded: Encoded
    special: NDArray[np.bool_]
    part: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def token_table(
    tokenizer: Any, texts: Sequence[str], text_pairs: Sequence[str] | None, *, max_length: int
) -> TokenTable:
    """Tokenize texts, or pairs of texts, and keep where each token stands.

    Args:
        tokenizer: A fast tokenizer of transformers.
        texts: n texts.
        text_pairs: n second texts, or None.
        max_length: The most tokens of a sequence.

    Returns:
        The table.

    Raises:
        ValueError: If the tokenizer does not tell where its tokens stand, or has no padding token.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"Expected a fast tokenizer, which tells where its tokens stand, but {type(tokenizer).__name__} "
            "is a slow one: save a tokenizer.json beside the model."
        )
    encoded = encode(tokenizer, texts, text_pairs, max_length=max_length)
    pairs = None if text_pairs is None else list(text_pairs)
    found = tokenizer(list(texts), pairs, truncation=True, max_length=max_length, return_attention_mask=False)
    special: list[bool] = []
    part: list[int] = []
    spans: list[tuple[int, int]] = []
    for encoding in found.encodings:
        # A token without a sequence was added by the tokenizer; its own mask would also count <unk> in some of them.
        sequences = encoding.sequence_ids
        special.extend(sequence is None for sequence in sequences)
        part.extend(sequence or 0 for sequence in sequences)
        spans.extend((0, 0) if s is None else span for s, span in zip(sequences, encoding.offsets, strict=True))
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return TokenTable(
        encoded, np.array(special, dtype=np.bool_), np.array(part, dtype=np.int64), table[:, 0], table[:, 1]
    )


def word_spans(text: str) -> NDArray[np.int64]:
    """Return where the words of a text stand, (n, 2) first character and one past the last.

    Example:
        >>> word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    return np.array([match.span() for match in WORD_PATTERN.finditer(text)], dtype=np.int64).reshape(-1, 2)


def word_of_piece(spans: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tell in which word each piece begins; -1 for a piece that touches no word (a space, or nothing).

    A piece that covers two words ("'s") counts for the first of them.

    Args:
        spans: (n, 2) words in order, from `word_spans`.
        start: (pieces,) first character of each piece; it may be a space before the word.
        end: (pieces,) one past its last character.

    Returns:
        (pieces,) positions in `spans`.

    Example:
        >>> word_of_piece(word_spans("a good"), np.array([0, 1, 4]), np.array([1, 4, 6])).tolist()
        [0, 1, 1]
    """
    if not len(spans):
        return np.full(len(start), -1, dtype=np.int64)
    # The first word that ends after the piece begins; the piece touches it when it reaches its first character.
    word = np.searchsorted(spans[:, 1], start, side="right")
    touches = (word < len(spans)) & (end > spans[np.minimum(word, len(spans) - 1), 0]) & (end > start)
    return np.where(touches, word, -1).astype(np.int64)
