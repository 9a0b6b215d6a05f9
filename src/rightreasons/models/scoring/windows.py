"""Questions with their contexts as token ids; a long context becomes several windows that overlap."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count, check_same_length
from rightreasons.models.running.batching import Encoded

_BLOCK = 1024


@dataclasses.dataclass(frozen=True, eq=False)
class Windows:
    """W windows of N questions, those of a question one after another.

    Attributes:
        encoded: The token ids of each window: the question, then a part of its context.
        places: In the same rows, `first` and `last`: the first character of each token in its context, and the one
            behind its last; -1 where the token is not of the context.
        owner: (W,) the question of each window, not decreasing.
        n_cut: How many questions were too long and were cut.
    """

    encoded: Encoded
    places: Encoded
    owner: NDArray[np.int64]
    n_cut: int

    def __len__(self) -> int:
        return len(self.owner)

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
        questions: N questions; one that would leave a context no room is cut.
        contexts: N contexts.
        max_length: The most tokens of a window, special tokens included.
        stride: Tokens that a window shares with the one before; None takes `default_stride`.

    Returns:
        The windows.

    Raises:
        ValueError: If the tokenizer is not a fast one or has no padding token, or `stride` leaves no room.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"Expected a fast tokenizer, which knows the characters of its tokens, but that of "
            f"{tokenizer.name_or_path} ({type(tokenizer).__name__}) is not one."
        )
    if tokenizer.pad_token_id is None:
        raise ValueError(
            f"Expected the tokenizer of {tokenizer.name_or_path} to have a padding token, but it has none."
        )
    check_same_length(questions=questions, contexts=contexts)
    overlap = default_stride(max_length) if stride is None else check_count(stride, "stride", minimum=0)
    room = max_length - tokenizer.num_special_tokens_to_add(pair=True) - overlap - 1
    if room < 1:
        raise ValueError(
            f"Expected `stride` to leave room for a question in {max_length} tokens, but got {overlap}: the windows "
            "share too much."
        )
    names = [name for name in ("input_ids", "token_type_ids") if name in tokenizer.model_input_names]
    parts: dict[str, list[Any]] = {name: [] for name in (*names, "first", "last")}
    owner: list[int] = []
    n_cut = 0
    for start in range(0, len(questions), _BLOCK):
        asked, cut = _cut(tokenizer, list(questions[start : start + _BLOCK]), room)
        n_cut += cut
        found = tokenizer(
            asked,
            list(contexts[start : start + _BLOCK]),
            truncation="only_second",
            max_length=max_length,
            stride=overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_attention_mask=False,
        )
        owner.extend(start + sample for sample in found["overflow_to_sample_mapping"])
        for name in names:
            parts[name].extend(found[name])
        for offsets, encoding in zip(found["offset_mapping"], found.encodings, strict=True):
            inside = np.array([sequence == 1 for sequence in encoding.sequence_ids])
            table = np.where(inside[:, None], np.array(offsets, dtype=np.int32).reshape(-1, 2), -1)
            parts["first"].append(table[:, 0])
            parts["last"].append(table[:, 1])
    lengths = [len(row) for row in parts["input_ids"]]
    bounds = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    columns = {name: np.concatenate(rows).astype(np.int32) for name, rows in parts.items()}
    encoded = Encoded(
        columns={name: columns[name] for name in names},
        offsets=bounds,
        truncated=np.zeros(len(lengths), dtype=bool),
        padding={"input_ids": int(tokenizer.pad_token_id), "token_type_ids": int(tokenizer.pad_token_type_id)},
        padding_side=str(tokenizer.padding_side),
    )
    places = dataclasses.replace(
        encoded, columns={name: columns[name] for name in ("first", "last")}, padding={"first": -1, "last": -1}
    )
    return Windows(encoded, places, np.array(owner, dtype=np.int64), n_cut)


def _cut(tokenizer: Any, questions: list[str], room: int) -> tuple[list[str], int]:
    """Cut questions to a number of tokens; also how many were longer."""
    found = tokenizer(questions, add_special_tokens=False, return_offsets_mapping=True, return_attention_mask=False)
    long = [number for number, row in enumerate(found["input_ids"]) if len(row) > room]
    for number in long:
        questions[number] = questions[number][: found["offset_mapping"][number][room - 1][1]]
    return questions, len(long)
