"""Texts as token ids, in batches of like length."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.validation import check_count

T = TypeVar("T")

CHANGING: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
"""The models that change something of themselves as they read, so that what they say depends on what they read before:
attention that becomes another one for short texts (BigBird), rotary factors of the longest text so far."""

QUEUES = "cuda"
"""The type of the devices that compute, and copy, while this process goes on."""


@contextmanager
def unchanged(model: torch.nn.Module, *, each: bool | None = None) -> Iterator[None]:
    """Restore what a model changes of itself beside the values of its weights: attributes, buffers and submodules.

    Args:
        model: The model.
        each: Whether to restore it after each call, too, so that each begins as the first; None does for a model that
            is known to change.
    """
    parts = [
        (vars(part), dict(vars(part)), dict(part._buffers), dict(part._modules))
        for part in model.modules()
    ]

    def restore(*_: Any) -> None:
        for now, attributes, buffers, modules in parts:
            for name, before in (("_buffers", buffers), ("_modules", modules)):
                if not _same(attributes[name], before):
                    CHANGING.add(model)
                    attributes[name].clear()
                    attributes[name].update(before)
            if not _same(now, attributes):
                CHANGING.add(model)
                now.clear()
                now.update(attributes)

    hook = (
        model.register_forward_hook(restore)
        if (model in CHANGING if each is None else each)
        else None
    )
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()
        restore()


def _same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Return whether names stand for the very objects that they stood for."""
    return now.keys() == before.keys() and all(value is before[name] for name, value in now.items())


@contextmanager
def frozen(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Put a model in evaluation mode with frozen parameters, and restore it afterwards.

    Gradients with respect to inputs still flow; parameters collect none. On exit, also after an error, every
    submodule's training mode, every parameter's `requires_grad` and what the model changed of itself are restored.

    Args:
        model: The model.

    Yields:
        The same model.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Dropout()).train()
        >>> with frozen(model):
        ...     model.training, model[0].weight.requires_grad
        (False, False)
        >>> model.training, model[0].weight.requires_grad
        (True, True)
    """
    training = [(module, module.training) for module in model.modules()]
    trainable = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        model.eval()
        model.requires_grad_(False)
        with unchanged(model):
            yield model
    finally:
        for module, mode in training:
            module.training = mode
        for parameter, flag in trainable:
            parameter.requires_grad_(flag)


# Tokenizing in blocks keeps the tokenizer's Python lists of all texts from being in memory at once.
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Places:
    """Where each token of tokenized texts is in its text.

    Attributes:
        special: (total,) whether the tokenizer added the token ([CLS], [SEP], <s>, </s>).
        part: (total,) 0 in the first text, 1 in the second; 0 for special tokens.
        start: (total,) first character in its text; 0 for special tokens.
        end: (total,) one past the last character; equal to `start` where a token covers no character.
    """

    special: NDArray[np.bool_]
    part: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Tokenized texts without padding: the tokens of item i are `values[offsets[i]:offsets[i + 1]]` of each column.

    Attributes:
        columns: `input_ids`, and `token_type_ids` where the model takes them: (total,) int32 each.
        offsets: (N + 1,) where each item begins.
        truncated: (N,) whether the text was longer than `max_length` and was cut.
        padding: The value that pads each column.
    """

    columns: dict[str, NDArray[np.int32]]
    offsets: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    padding: dict[str, int]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many tokens each item has, special tokens included."""
        return np.diff(self.offsets)

    @property
    def row(self) -> NDArray[np.int64]:
        """(total,) the item of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)


def encode(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
    collect: Callable[[Sequence[Any]], object] | None = None,
) -> Encoded:
    """Tokenize texts, or pairs of texts, once; what is longer than `max_length` is cut and counted.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None. The longer of the two is cut first.
        max_length: Maximum tokens per item, special tokens included.
        collect: Receives the encodings of each block of texts; None for nobody.

    Returns:
        The token ids.
    """
    names = input_names(tokenizer)
    parts: dict[str, list[NDArray[np.int32]]] = {name: [] for name in names}
    lengths: list[int] = []
    truncated: list[bool] = []
    for start in range(0, len(texts), _BLOCK):
        block = slice(start, start + _BLOCK)
        pairs = None if text_pairs is None else list(text_pairs[block])
        try:
            "".join([*texts[block], *(pairs or ())]).encode()
        except UnicodeEncodeError:
            raise ValueError(
                "Expected texts of whole characters, but one holds half of a surrogate pair."
            ) from None
        tokens = tokenizer(
            list(texts[block]),
            pairs,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
        )
        rows = tokens["input_ids"]
        lengths.extend(map(len, rows))
        truncated.extend(_cut(tokenizer, tokens, list(texts[block]), pairs, max_length))
        for name in names:
            flat = chain.from_iterable(tokens[name])
            parts[name].append(np.fromiter(flat, dtype=np.int32, count=sum(map(len, rows))))
        if collect is not None:
            collect(tokens.encodings)
    return Encoded(
        columns={name: np.concatenate(part) for name, part in parts.items()},
        offsets=compute_offsets(lengths),
        truncated=np.array(truncated, dtype=bool),
        padding=padding_values(tokenizer),
    )


def places_of(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
) -> Places:
    """Tokenize as `encode` does, and return where in its text each token is.

    Raises:
        ValueError: If the tokenizer is not a fast one, which alone knows the places.
    """
    check_fast(tokenizer)
    special: list[bool] = []
    part: list[int] = []
    spans: list[tuple[int, int]] = []

    def collect(encodings: Sequence[Any]) -> None:
        for encoding in encodings:
            # The tokenizer added every token without a sequence; some tokenizers' own masks also count <unk>.
            sequences = encoding.sequence_ids
            special.extend(sequence is None for sequence in sequences)
            part.extend(sequence or 0 for sequence in sequences)
            spans.extend(
                (0, 0) if s is None else span
                for s, span in zip(sequences, encoding.offsets, strict=True)
            )

    encode(tokenizer, texts, text_pairs, max_length=max_length, collect=collect)
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Places(
        np.array(special, dtype=np.bool_), np.array(part, dtype=np.int64), table[:, 0], table[:, 1]
    )


def ensure_padding(tokenizer: Any) -> None:
    """Give a tokenizer without a padding token its end token as one, which a collator needs, and say so once.

    Raises:
        ValueError: If it has no end token either.
    """
    if tokenizer.pad_token_id is not None:
        return
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"Expected the tokenizer of {tokenizer.name_or_path} to have a padding or an end token, but it has "
            "neither: set `tokenizer.pad_token` and save it."
        )
    tokenizer.pad_token = tokenizer.eos_token
    warnings.warn(
        f"{tokenizer.name_or_path} has no padding token: its end token {tokenizer.eos_token!r} is used.",
        stacklevel=2,
    )


def padding_values(
    tokenizer: Any, model: Any = None, used: NDArray[np.int32] | None = None
) -> dict[str, int]:
    """Return the values that pad the columns of tokenized texts: by the padding token, else by the end token.

    A model with a padding token of its own, by which a decoder's head finds the last token of a text, is padded with
    that, whatever the tokenizer's is. Any other token will do for a model without one, but not one of the texts.

    Args:
        tokenizer: A tokenizer of transformers.
        model: The model that reads them.
        used: The token ids of the texts.
    """
    known = vocabulary_size(model)
    token = getattr(text_config(model), "pad_token_id", None)
    if token is None or token < 0 or (known is not None and token >= known):
        token = next(
            (t for t in (tokenizer.pad_token_id, tokenizer.eos_token_id) if t is not None), 0
        )
        if used is not None and known is not None and (used == token).any():
            free = np.setdiff1d(np.arange(known), used)
            token = free[0] if len(free) else token
    return {"input_ids": int(token), "token_type_ids": int(tokenizer.pad_token_type_id)}


def vocabulary_size(model: Any) -> int | None:
    """Return how many tokens a model embeds; None for a model without a table of word embeddings."""
    try:
        table = model.get_input_embeddings()
        return int(getattr(table, "num_embeddings", None) or len(table.weight))
    except (AttributeError, NotImplementedError):
        return None


def text_config(model: Any) -> Any:
    """Return the configuration of the part of a model that reads text; None for a model without any."""
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def input_names(tokenizer: Any) -> list[str]:
    """Return the columns of token ids that the model takes."""
    return [name for name in ("input_ids", "token_type_ids") if name in tokenizer.model_input_names]


def length_batches(
    lengths: NDArray[np.int64],
    *,
    batch_size: int = 32,
    max_tokens: int | None = None,
    groups: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Cut items into batches of like length, the longest first.

    The longest batch comes first, so that one that does not fit in memory fails at once. Items of equal length keep
    their order, so the batches depend on the lengths alone.

    Args:
        lengths: (N,) tokens of each item.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch, items times the longest; None for no bound. A single item may
            exceed it.
        groups: (N,) the group of each item; items of different groups share no batch. None for one group.

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
    for rows in (
        [order]
        if groups is None
        else [order[groups[order] == group] for group in np.unique(groups)[::-1]]
    ):
        start = 0
        while start < len(rows):
            width = max(int(lengths[rows[start]]), 1)
            size = (
                batch_size if max_tokens is None else max(1, min(batch_size, max_tokens // width))
            )
            batches.append(rows[start : start + size])
            start += size
    return batches


def pad(
    encoded: Encoded, items: NDArray[np.int64], device: str | torch.device = "cpu"
) -> dict[str, torch.Tensor]:
    """Pad some items on the right to the longest of them.

    Args:
        encoded: The tokenized texts.
        items: (n,) their positions.
        device: Device of the tensors.

    Returns:
        `input_ids`, `attention_mask` and, where the model takes them, `token_type_ids`: (n, longest) int64 each.
    """
    lengths = encoded.offsets[items + 1] - encoded.offsets[items]
    width = int(lengths.max())
    place = np.broadcast_to(np.arange(width), (len(items), width))
    mask = place < lengths[:, None]
    source = (encoded.offsets[items][:, None] + place)[mask]
    tensors = {"attention_mask": sent(mask.astype(np.int64), device)}
    for name, column in encoded.columns.items():
        table = np.full(mask.shape, encoded.padding[name], dtype=np.int64)
        table[mask] = column[source]
        tensors[name] = sent(table, device)
    return tensors


def sent(array: NDArray[Any], device: str | torch.device) -> torch.Tensor:
    """Return an array as a tensor on a device; a GPU fetches it from pinned memory, for which nobody waits."""
    tensor = torch.from_numpy(array)
    return (
        tensor.pin_memory().to(device, non_blocking=True)
        if torch.device(device).type == QUEUES
        else tensor.to(device)
    )


def later(then: Callable[..., T], *tensors: torch.Tensor) -> Callable[[], T]:
    """Start copying tensors to the CPU, and return a function that waits for them and passes them on as arrays.

    A GPU works through a queue: a copy that is asked for once the next batch has been launched would wait for that
    batch, too. One that is queued behind its own batch can be read while the next is computed.

    Args:
        then: Takes an array for each tensor.
        *tensors: The tensors. Those of a GPU need not be held until they are read.

    Example:
        >>> read = later(lambda logits: logits.argmax(axis=1).tolist(), torch.eye(3))
        >>> read()
        [0, 1, 2]
    """
    waits = [
        _copy(each) if each.device.type == QUEUES else each.detach().cpu().numpy for each in tensors
    ]
    return lambda: then(*(wait() for wait in waits))


def _copy(tensor: torch.Tensor) -> Callable[[], NDArray[Any]]:
    copy, copied = tensor.detach().to("cpu", non_blocking=True), torch.cuda.Event()  # type: ignore[no-untyped-call]
    copied.record(torch.cuda.current_stream(tensor.device))

    def wait() -> NDArray[Any]:
        copied.synchronize()
        return np.array(copy.numpy())  # pinned memory is scarce, and goes back

    return wait


def check_fast(tokenizer: Any) -> None:
    """Refuse a slow tokenizer, which does not know the places of its tokens."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            f"Expected a fast tokenizer, which knows the places of its tokens, but {type(tokenizer).__name__} is a "
            "slow one: save a tokenizer.json beside the model."
        )


def _cut(
    tokenizer: Any, tokens: Any, texts: list[str], pairs: list[str] | None, max_length: int
) -> list[bool]:
    if tokens.encodings is not None:  # fast tokenizers keep what they cut off
        return [bool(encoding.overflowing) for encoding in tokens.encodings]
    # Slow ones do not: what is full is tokenized again without a bound.
    full = [index for index, row in enumerate(tokens["input_ids"]) if len(row) >= max_length]
    cut = [False] * len(texts)
    if full:
        whole = tokenizer(
            [texts[i] for i in full], None if pairs is None else [pairs[i] for i in full]
        )
        for index, row in zip(full, whole["input_ids"], strict=True):
            cut[index] = len(row) > max_length
    return cut
