"""Questions with their contexts as token ids; a long context becomes several windows that overlap."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.ragged import offsets_of
from rightreasons.foundations.validation import check_count, check_same_length
from rightreasons.models.running.batching import Encoded, input_names, padding_of

_BLOCK = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """W windows of N questions; those of a question are adjacent.

    Attributes:
        encoded: The token ids of each window: the question, then a part of its context.
        places: In the same rows, `first` and `last`: the first character of each token in its context, and one past
            its last character; -1 where the token is not of the context.
        owner: (W,) the question of each window, in ascending order.
        n_cut: How many questions were too long and were cut.
    """

    encoded: Encoded
    places: Encoded
    owner: NDArray[np.int64]
    n_cut: int

    def __len__(self) -> int:
        return len(self.owner)

    def padded(self, side: str) -> Windows:
        """Return the same windows, padded on a side."""
        parts = {name: dataclasses.replace(getattr(self, name), padding_side=side) for name in ("encoded", "places")}
        return dataclasses.replace(self, **parts)

    def tokens_of(self, window: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return `first` and `last` of the tokens of one window."""
        row = slice(self.encoded.offsets[window], self.encoded.offsets[window + 1])
        return self.places.columns["first"][row], self.places.columns["last"][row]


def default_stride(max_length: int) -> int:
    """Return the overlap of windows: a third of their length, which is 128 for the usual 384.

    Example:
        >>> default_stride(384)
        128
    """
    return max_length // 3


def encode_windows(
    tokenizer: Any, questions: Sequence[str], contexts: Sequence[str], *, max_length: int, stride: int | None = None
) -> Windows:
    """Tokenize questions with their contexts; what is longer than `max_length` becomes several windows.

    Args:
        tokenizer: A fast tokenizer of transformers, which knows the characters of its tokens.
        questions: N questions; one that would leave its context no room is cut.
        contexts: N contexts.
        max_length: Maximum tokens per window, special tokens included.
        stride: Tokens that a window shares with the previous one; None takes `default_stride`.

    Returns:
        The windows.

    Raises:
        ValueError: If the tokenizer is not a fast one, or `stride` leaves no room.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"Expected a fast tokenizer, which knows the characters of its tokens, but that of "
            f"{tokenizer.name_or_path} ({type(tokenizer).__name__}) is a slow one."
        )
    check_same_length(questions=questions, contexts=contexts)
    overlap = default_stride(max_length) if stride is None else check_count(stride, "stride", minimum=0)
    room = max_length - tokenizer.num_special_tokens_to_add(pair=True) - overlap - 1
    if room < 1:
        raise ValueError(f"Expected `stride` to leave room for a question in {max_length} tokens, but got {overlap}.")
    names = input_names(tokenizer)
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "first", "last")}
    owner: list[int] = []
    n_cut = 0
    for start in range(0, len(questions), _BLOCK):
        asked, cut = _cut(tokenizer, list(questions[start : start + _BLOCK]), room)
        n_cut += cut
        tokens = tokenizer(
            asked,
            list(contexts[start : start + _BLOCK]),
            truncation="only_second",
            max_length=max_length,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )
        owner.extend(start + sample for sample in tokens["overflow_to_sample_mapping"])
        for name in names:
            parts[name].extend(tokens[name])
        for spans, encoding in zip(tokens["offset_mapping"], tokens.encodings, strict=True):
            inside = np.array([sequence == 1 for sequence in encoding.sequence_ids])
            table = np.where(inside[:, None], np.array(spans, dtype=np.int32).reshape(-1, 2), -1)
            parts["first"].append(table[:, 0])
            parts["last"].append(table[:, 1])
    offsets = offsets_of([len(row) for row in parts["input_ids"]])
    columns = {name: np.concatenate(rows).astype(np.int32) for name, rows in parts.items()}
    encoded = Encoded(
        columns={name: columns[name] for name in names},
        offsets=offsets,
        truncated=np.zeros(len(offsets) - 1, dtype=bool),
        padding=padding_of(tokenizer),
    )
    places = dataclasses.replace(
        encoded, columns={name: columns[name] for name in ("first", "last")}, padding={"first": -1, "last": -1}
    )
    return Windows(encoded, places, np.array(owner, dtype=np.int64), n_cut)


def _cut(tokenizer: Any, questions: list[str], room: int) -> tuple[list[str], int]:
    """Cut questions to a number of tokens; also return how many were longer."""
    tokens = tokenizer(questions, add_special_tokens=False, return_offsets_mapping=True, return_attention_mask=False)
    long = [number for number, row in enumerate(tokens["input_ids"]) if len(row) > room]
    for number in long:
        questions[number] = questions[number][: tokens["offset_mapping"][number][room - 1][1]]
    return questions, len(long)
