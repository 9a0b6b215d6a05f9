"""Texts as token ids, in batches of like length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count

# Texts are tokenized in blocks, so that the tokenizer's Python lists of all of them never stand in memory at once.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Encoded:
    """Tokenized texts without padding: the tokens of item i are `values[offsets[i]:offsets[i + 1]]` of each column.

    Attributes:
        columns: `input_ids`, and `token_type_ids` where the model takes them: (total,) int32 each.
        offsets: (N + 1,) where each item begins.
        truncated: (N,) whether the text was longer than `max_length` and was cut.
        padding: The value that pads each column.
        padding_side: "right" or "left", as the tokenizer has it.
    """

    columns: dict[str, NDArray[np.int32]]
    offsets: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    padding: dict[str, int]
    padding_side: str

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many tokens each item has, special tokens included."""
        return np.diff(self.offsets)


def encode(
    tokenizer: Any, texts: Sequence[str], text_pairs: Sequence[str] | None = None, *, max_length: int
) -> Encoded:
    """Tokenize texts, or pairs of texts, once; what is longer than `max_length` is cut and counted.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None. The longer of the two is cut first.
        max_length: The most tokens of an item, special tokens included.

    Returns:
        The token ids.

    Raises:
        ValueError: If the tokenizer has no padding token.
    """
    if tokenizer.pad_token_id is None:
        raise ValueError(
            f"Expected the tokenizer of {tokenizer.name_or_path} to have a padding token, but it has none: "
            "set `tokenizer.pad_token` and `model.config.pad_token_id`."
        )
    names = [name for name in ("input_ids", "token_type_ids") if name in tokenizer.model_input_names]
    parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in names}
    lengths: list[int] = []
    truncated: list[bool] = []
    for start in range(0, len(texts), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = None if text_pairs is None else list(text_pairs[block])
        found = tokenizer(
            list(texts[block]), pairs, truncation=True, max_length=max_length, return_attention_mask=False
        )
        rows = found["input_ids"]
        lengths.extend(map(len, rows))
        truncated.extend(_cut(tokenizer, found, list(texts[block]), pairs, max_length))
        for name in names:
            flat = chain.from_iterable(found[name])
            parts[name].append(np.fromiter(flat, dtype=np.int32, count=sum(map(len, rows))))
    return Encoded(
        columns={name: np.concatenate(part) for name, part in parts.items()},
        offsets=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        truncated=np.array(truncated, dtype=bool),
        padding={"input_ids": int(tokenizer.pad_token_id), "token_type_ids": int(tokenizer.pad_token_type_id)},
        padding_side=str(tokenizer.padding_side),
    )


def length_batches(
    lengths: NDArray[np.int64], *, batch_size: int = 32, max_tokens: int | None = None
) -> list[NDArray[np.int64]]:
    """Cut items into batches of like length, the longest first.

    The longest batch comes first, so that one that does not fit in memory says so at once. Items of one length keep
    their order, so the batches depend on the lengths alone.

    Args:
        lengths: (N,) tokens of each item.
        batch_size: The most items of a batch.
        max_tokens: The most tokens of a padded batch, items times the longest; None for no bound. One item alone may
            exceed it.

    Returns:
        Arrays of item positions; each position is in one of them.

    Example:
        >>> [batch.tolist() for batch in length_batches(np.array([3, 9, 2, 8, 3]), batch_size=2)]
        [[1, 3], [0, 4], [2]]
        >>> [batch.tolist() for batch in length_batches(np.array([3, 9, 2, 8, 3]), batch_size=9, max_tokens=10)]
        [[1], [3], [0, 4, 2]]
    """
    check_count(batch_size, "batch_size")
    if max_tokens is not None:
        check_count(max_tokens, "max_tokens")
    order = np.argsort(-lengths, kind="stable").astype(np.int64)
    batches = []
    start = 0
    while start < len(order):
        width = max(int(lengths[order[start]]), 1)
        size = batch_size if max_tokens is None else max(1, min(batch_size, max_tokens // width))
        batches.append(order[start : start + size])
        start += size
    return batches


def pad(encoded: Encoded, items: NDArray[np.int64], device: str | torch.device = "cpu") -> dict[str, torch.Tensor]:
    """Pad some items to the longest of them.

    Args:
        encoded: The tokenized texts.
        items: (n,) which ones.
        device: Where the tensors go.

    Returns:
        `input_ids`, `attention_mask` and, where the model takes them, `token_type_ids`: (n, longest) int64 each.
    """
    lengths = encoded.lengths[items]
    width = int(lengths.max())
    first = np.zeros_like(lengths) if encoded.padding_side == "right" else width - lengths
    place = np.arange(width) - first[:, None]
    mask = (place >= 0) & (place < lengths[:, None])
    source = (encoded.offsets[items][:, None] + place)[mask]
    tensors = {"attention_mask": torch.from_numpy(mask.astype(np.int64))}
    for name, column in encoded.columns.items():
        table = np.full(mask.shape, encoded.padding[name], dtype=np.int64)
        table[mask] = column[source]
        tensors[name] = torch.from_numpy(table)
    return {name: tensor.to(device) for name, tensor in tensors.items()}


def _cut(tokenizer: Any, found: Any, texts: list[str], pairs: list[str] | None, max_length: int) -> list[bool]:
    if found.encodings is not None:  # the fast tokenizers keep what they cut off
        return [bool(encoding.overflowing) for encoding in found.encodings]
    # The others do not: what is full is tokenized again without a bound.
    full = [index for index, row in enumerate(found["input_ids"]) if len(row) >= max_length]
    cut = [False] * len(texts)
    if full:
        whole = tokenizer([texts[i] for i in full], None if pairs is None else [pairs[i] for i in full])
        for index, row in zip(full, whole["input_ids"], strict=True):
            cut[index] = len(row) > max_length
    return cut
