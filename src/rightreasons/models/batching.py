"""Texts as token ids, in padded batches of similar length, for a model in evaluation mode.

`encode` turns texts into an `Encoded`, flat columns of ids without padding. `make_length_batches`
divides its items into batches, and `pad` makes the tensors of one batch. `frozen` puts a model in
evaluation mode for a while, and restores the state that the model changes.
"""

from __future__ import annotations

import dataclasses
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import torch
import xxhash
from numpy.typing import NDArray

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.validation import check_count
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.input_limits import get_vocabulary_size

T = TypeVar("T")

CHANGING: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
"""Models that change themselves while they read, so that outputs depend on what was read before.

BigBird replaces its attention by another kind at the first short text, for example. Other models
keep rotary factors for the longest text so far.
"""

QUEUES = "cuda"
"""Type of the devices that work through a queue, while this process continues."""

MIN_CACHED_TEXTS = 1000
"""Number of texts from which `encode_once` is faster than `encode`.

The digest of a tokenizer of 50,000 words costs as much as tokenizing 500 sentences with it.
"""

_MAX_CACHED_ENCODINGS = 4
# 64 MiB of a column.
_MAX_CACHED_TOKENS = 1 << 24
# Tokenizing in blocks keeps the tokenizer's Python lists of all texts from being in memory at once.
_BLOCK_SIZE = 4096


class _ModuleState:
    """The attributes, buffers and submodules that one module has now, for `restore` later."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._attributes: dict[str, Any] = vars(module)
        self._saved_attributes: dict[str, Any] = dict(self._attributes)
        self._saved_members: dict[str, dict[str, Any]] = {
            "_buffers": dict(module._buffers),
            "_modules": dict(module._modules),
        }

    def restore(self) -> bool:
        """Restore attributes, buffers and submodules; return whether any of them had changed."""
        has_changed = False
        for name, saved in self._saved_members.items():
            has_changed |= _restore_mapping(self._saved_attributes[name], saved)
        return _restore_mapping(self._attributes, self._saved_attributes) or has_changed


def _restore_mapping(current: dict[str, Any], saved: dict[str, Any]) -> bool:
    """Restore the entries of a dictionary, in place.

    Args:
        current: The dictionary.
        saved: An earlier copy of it.

    Returns:
        Whether the dictionary had changed.
    """
    # Values are compared by identity, because `==` of tensors compares their elements, and a
    # replaced module may equal the original.
    has_changed = current.keys() != saved.keys()
    if not has_changed:
        has_changed = any(value is not saved[name] for name, value in current.items())
    if has_changed:
        current.clear()
        current.update(saved)
    return has_changed


@contextmanager
def unchanged(model: torch.nn.Module, *, each_call: bool | None = None) -> Iterator[None]:
    """Restore the attributes, buffers and submodules of a model at the end of the block.

    Some models replace a module or extend a buffer while they read. Such a model is added to
    `CHANGING`. The values of the weights are not restored.

    Args:
        model: The model.
        each_call: Whether to restore the model after each call as well, so that every call starts
            from the same state. If None, only for a model that is in `CHANGING`.
    """
    states = [_ModuleState(module) for module in model.modules()]

    def restore(*_: Any) -> None:
        for state in states:
            if state.restore():
                CHANGING.add(model)

    if each_call is None:
        # Hooks take time, and most models do not change.
        each_call = model in CHANGING
    hook = None
    if each_call:
        hook = model.register_forward_hook(restore)
    try:
        yield
    finally:
        if hook is not None:
            hook.remove()
        restore()


@contextmanager
def frozen(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """Put a model in evaluation mode with frozen parameters, and restore it afterwards.

    Gradients with respect to inputs can still be computed; parameters collect none. On exit, even
    after an error, the training mode of every submodule, `requires_grad` of every parameter, and
    attributes, buffers and submodules that the model changed are restored.

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
    # The mode may differ from module to module, if only some are trained.
    training = [(module, module.training) for module in model.modules()]
    trainable = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        model.eval()
        model.requires_grad_(False)
        with unchanged(model):
            yield model
    finally:
        for module, is_training in training:
            module.training = is_training
        for parameter, requires_grad in trainable:
            parameter.requires_grad_(requires_grad)


@dataclass(frozen=True, eq=False)
class TokenPositions:
    """Positions of the tokens of tokenized texts in these texts.

    Attributes:
        special: (total,) whether the tokenizer added the token ([CLS], [SEP], <s>, </s>).
        sequence: (total,) 0 in the first text of a pair, 1 in the second; 0 for special tokens.
        start: (total,) index of the first character in the text; 0 for special tokens.
        end: (total,) index after the last character; equal to `start` for a token without
            characters.
    """

    special: NDArray[np.bool_]
    sequence: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Tokenized texts without padding.

    The tokens of item i are `values[offsets[i]:offsets[i + 1]]` of each column.

    Attributes:
        columns: `input_ids`, and `token_type_ids` if the model takes them: (total,) int32 each.
        offsets: (N + 1,) position of the first token of each item.
        truncated: (N,) whether the text was longer than `max_length` and was truncated.
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
        """(N,) number of tokens of each item, special tokens included."""
        return np.diff(self.offsets)

    @property
    def row(self) -> NDArray[np.int64]:
        """(total,) item of each token."""
        return np.repeat(np.arange(len(self)), self.lengths)


def encode(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
) -> Encoded:
    """Tokenize texts, or pairs of texts, and truncate those longer than `max_length`.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None. The longer text of a pair is truncated first.
        max_length: Maximum number of tokens per item, special tokens included.

    Returns:
        The token ids, in flat arrays without padding.

    Raises:
        ValueError: If a text contains half of a surrogate pair.
    """
    names = list_input_names(tokenizer)
    # Column, such as "input_ids" -> one flat array of tokens for each block of texts.
    arrays_by_name: dict[str, list[NDArray[np.int32]]] = {name: [] for name in names}
    lengths: list[int] = []
    truncated: list[bool] = []
    for block in _tokenize_blocks(tokenizer, texts, text_pairs, max_length):
        rows = block.tokens["input_ids"]
        lengths.extend(map(len, rows))
        truncated.extend(_find_truncated(tokenizer, block, max_length))
        n_tokens = sum(map(len, rows))
        for name in names:
            flat = chain.from_iterable(block.tokens[name])
            arrays_by_name[name].append(np.fromiter(flat, dtype=np.int32, count=n_tokens))
    return Encoded(
        columns={name: np.concatenate(arrays) for name, arrays in arrays_by_name.items()},
        offsets=compute_offsets(lengths),
        truncated=np.array(truncated, dtype=bool),
        padding=get_padding_values(tokenizer),
    )


@dataclass(frozen=True, eq=False)
class _TokenizedBlock:
    """A block of texts with the output of the tokenizer.

    Attributes:
        texts: n texts.
        text_pairs: n second texts, or None.
        tokens: What the tokenizer returned: n lists per column, such as `input_ids`.
    """

    texts: list[str]
    text_pairs: list[str] | None
    tokens: Any


def _tokenize_blocks(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None,
    max_length: int,
) -> Iterator[_TokenizedBlock]:
    """Tokenize texts in blocks, so that the lists of all tokens are never in memory at once.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None.
        max_length: Maximum number of tokens per item.

    Raises:
        ValueError: If a text contains half of a surrogate pair.
    """
    for start in range(0, len(texts), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        block_texts = list(texts[block])
        block_pairs = None
        if text_pairs is not None:
            block_pairs = list(text_pairs[block])
        _check_characters([*block_texts, *(block_pairs or ())])
        tokens = tokenizer(
            block_texts,
            block_pairs,
            truncation=True,
            max_length=max_length,
            return_attention_mask=False,
        )
        yield _TokenizedBlock(block_texts, block_pairs, tokens)


def _check_characters(texts: Sequence[str]) -> None:
    """Check that texts can be encoded as UTF-8, because tokenizers give no clear error.

    Raises:
        ValueError: If a text contains half of a surrogate pair.
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "Expected texts of complete characters, but got a text with half of a surrogate pair."
        ) from None


def _find_truncated(tokenizer: Any, block: _TokenizedBlock, max_length: int) -> list[bool]:
    """Return whether each text of a block was truncated.

    Args:
        tokenizer: The tokenizer.
        block: Texts with their tokens.
        max_length: Maximum number of tokens per item.
    """
    if block.tokens.encodings is not None:
        # Fast tokenizers keep the tokens that they cut off.
        return [bool(encoding.overflowing) for encoding in block.tokens.encodings]
    # Slow tokenizers do not. A text with the maximum number of tokens may be complete or truncated,
    # so that it is tokenized again without a limit.
    lengths = np.array([len(row) for row in block.tokens["input_ids"]])
    is_truncated = [False] * len(lengths)
    full_rows = np.flatnonzero(lengths >= max_length).tolist()
    if not full_rows:
        return is_truncated
    full_texts = [block.texts[row] for row in full_rows]
    full_pairs = None
    if block.text_pairs is not None:
        full_pairs = [block.text_pairs[row] for row in full_rows]
    complete = tokenizer(full_texts, full_pairs)
    for row, tokens in zip(full_rows, complete["input_ids"], strict=True):
        is_truncated[row] = len(tokens) > max_length
    return is_truncated


# Tokenizer -> digest of texts and settings -> token ids; the most recent last.
_ENCODINGS: weakref.WeakKeyDictionary[Any, OrderedDict[str, Encoded]] = weakref.WeakKeyDictionary()


def encode_once(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
) -> Encoded:
    """Tokenize texts as `encode` does, or return an earlier result for the same texts.

    The questions of an audit read the same texts. The last few results of each tokenizer are cached
    until the tokenizer changes. Small numbers of texts are not cached, because tokenizing them
    again is faster.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None.
        max_length: Maximum number of tokens per item, special tokens included.

    Returns:
        The token ids, in read-only arrays if they are cached.
    """
    if len(texts) < MIN_CACHED_TEXTS or not getattr(tokenizer, "is_fast", False):
        return encode(tokenizer, texts, text_pairs, max_length=max_length)
    # The key is a digest of the contents, because equal texts may be in another list, and words may
    # be added to a tokenizer.
    key = _digest_encoding(tokenizer, texts, text_pairs, max_length)
    encodings = _ENCODINGS.setdefault(tokenizer, OrderedDict())
    if key in encodings:
        # The least recently used result is removed first.
        encodings.move_to_end(key)
        encoded = encodings[key]
    else:
        encoded = encode(tokenizer, texts, text_pairs, max_length=max_length)
        # Later calls get the same arrays, so that nobody may change them.
        arrays: list[NDArray[Any]] = [*encoded.columns.values(), encoded.offsets, encoded.truncated]
        for array in arrays:
            array.flags.writeable = False
        n_tokens = int(encoded.offsets[-1])
        if n_tokens <= _MAX_CACHED_TOKENS:
            encodings[key] = encoded
            if len(encodings) > _MAX_CACHED_ENCODINGS:
                encodings.popitem(last=False)
    # The padding token of the tokenizer may have changed, and is not part of the digest.
    return dataclasses.replace(encoded, padding=get_padding_values(tokenizer))


def _digest_encoding(
    tokenizer: Any, texts: Sequence[str], text_pairs: Sequence[str] | None, max_length: int
) -> str:
    """Return a digest of everything that the token ids of texts depend on.

    Args:
        tokenizer: A fast tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None.
        max_length: Maximum number of tokens per item.
    """
    rules = tokenizer.backend_tokenizer
    # The rules include truncation and padding of the last call. They can be removed, because every
    # call sets both again.
    rules.no_truncation()
    rules.no_padding()
    settings = [tokenizer.truncation_side, *list_input_names(tokenizer), str(max_length)]
    digests = [
        xxhash.xxh3_128(rules.to_str().encode()).hexdigest(),
        fingerprint_texts(settings),
        fingerprint_texts(texts),
    ]
    if text_pairs is not None:
        digests.append(fingerprint_texts(text_pairs))
    return "|".join(digests)


def find_token_positions(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
) -> TokenPositions:
    """Tokenize texts as `encode` does, and return the position of each token in its text.

    Args:
        tokenizer: A fast tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None.
        max_length: Maximum number of tokens per item, special tokens included.

    Raises:
        ValueError: If the tokenizer is a slow one, which does not know the positions.
    """
    check_fast(tokenizer)
    is_special: list[bool] = []
    sequences: list[int] = []
    spans: list[tuple[int, int]] = []
    for block in _tokenize_blocks(tokenizer, texts, text_pairs, max_length):
        for encoding in block.tokens.encodings:
            for sequence, span in zip(encoding.sequence_ids, encoding.offsets, strict=True):
                # A token that belongs to neither text was added by the tokenizer. The mask of
                # special tokens cannot be used, because some tokenizers include <unk> in it.
                if sequence is None:
                    is_special.append(True)
                    sequences.append(0)
                    spans.append((0, 0))
                else:
                    is_special.append(False)
                    sequences.append(sequence)
                    spans.append(span)
    # Even without tokens, the table has two columns.
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    starts, ends = table.T
    return TokenPositions(
        special=np.array(is_special, dtype=np.bool_),
        sequence=np.array(sequences, dtype=np.int64),
        start=starts,
        end=ends,
    )


def ensure_padding(tokenizer: Any) -> None:
    """Use the end token of a tokenizer for padding if it has no padding token.

    Args:
        tokenizer: A tokenizer of transformers, which is changed.

    Raises:
        ValueError: If the tokenizer has no end token either.

    Warns:
        UserWarning: If the end token is used.
    """
    if tokenizer.pad_token_id is not None:
        return
    if tokenizer.eos_token_id is None:
        raise ValueError(
            f"Expected the tokenizer of {tokenizer.name_or_path} to have a padding token or an "
            "end token, but the tokenizer has neither. Set `tokenizer.pad_token`, then save the "
            "tokenizer."
        )
    tokenizer.pad_token = tokenizer.eos_token
    warnings.warn(
        f"The tokenizer of {tokenizer.name_or_path} has no padding token. The end token "
        f"{tokenizer.eos_token!r} is used for padding.",
        stacklevel=2,
    )


def get_padding_values(
    tokenizer: Any, model: Any = None, used: NDArray[np.int32] | None = None
) -> dict[str, int]:
    """Return the token id and the type id that pad tokenized texts.

    If the configuration of the model names a padding token, it is used, because the head of a
    decoder finds the last token of a text by it. Other models ignore padding, so that any token
    will do, except for one of the texts: the padding token of the tokenizer, or else its end token.

    Args:
        tokenizer: A tokenizer of transformers.
        model: The model that reads the texts. None if it is not known yet.
        used: Token ids of all texts, or None.

    Returns:
        `input_ids` and `token_type_ids`, one number each.
    """
    n_words = get_vocabulary_size(model)
    token = getattr(get_text_config(model), "pad_token_id", None)
    # Some configurations name a token for which the model has no embedding.
    if token is None or token < 0 or (n_words is not None and token >= n_words):
        token = _select_padding_token(tokenizer, n_words, used)
    return {"input_ids": int(token), "token_type_ids": int(tokenizer.pad_token_type_id)}


def _select_padding_token(
    tokenizer: Any, n_words: int | None, used: NDArray[np.int32] | None
) -> int:
    """Return a token that pads texts for a model without a padding token.

    It is the padding token of the tokenizer, or else its end token, or else 0. If a text contains
    that token, another one that no text contains is returned, if there is any.

    Args:
        tokenizer: The tokenizer.
        n_words: Number of tokens that the model embeds. None if it is not known.
        used: Token ids of all texts, or None.
    """
    token = 0
    for candidate in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if candidate is not None:
            token = candidate
            break
    if used is None or n_words is None or not (used == token).any():
        return token
    # A decoder would mistake a word that equals the padding for the end of its text.
    unused = np.setdiff1d(np.arange(n_words), used)
    return int(unused[0]) if len(unused) else token


def get_text_config(model: Any) -> Any:
    """Return the configuration of the part of a model that reads text; None if it has none."""
    config: Any = getattr(model, "config", None)
    if hasattr(config, "get_text_config"):
        return config.get_text_config()
    return config


def list_input_names(tokenizer: Any) -> list[str]:
    """Return the columns of token ids that a tokenizer makes: `input_ids`, and types if any."""
    return [name for name in ("input_ids", "token_type_ids") if name in tokenizer.model_input_names]


def make_length_batches(
    lengths: NDArray[np.int64],
    *,
    batch_size: int = 32,
    max_tokens: int | None = None,
    groups: NDArray[np.int64] | None = None,
) -> list[NDArray[np.int64]]:
    """Divide items into batches of similar length, the longest first.

    The longest batch comes first, so that one that does not fit in memory fails at once. Items of
    equal length keep their order, so that the batches depend on the lengths only.

    Args:
        lengths: (N,) number of tokens of each item.
        batch_size: Maximum number of items per batch.
        max_tokens: Maximum number of tokens per padded batch, which is the number of items times
            the length of the longest. A single item may exceed it. None for no maximum.
        groups: (N,) group of each item. Items of different groups are never in one batch. None for
            a single group.

    Returns:
        Arrays of item indices; each index is in one of them.

    Example:
        >>> lengths = np.array([3, 9, 2, 8, 3])
        >>> [batch.tolist() for batch in make_length_batches(lengths, batch_size=2)]
        [[1, 3], [0, 4], [2]]
        >>> [batch.tolist() for batch in make_length_batches(lengths, batch_size=9, max_tokens=10)]
        [[1], [3], [0, 4, 2]]
    """
    check_count(batch_size, "batch_size")
    if max_tokens is not None:
        check_count(max_tokens, "max_tokens")
    order = np.argsort(-lengths, kind="stable").astype(np.int64)
    grouped_items = [order]
    if groups is not None:
        # Groups are usually lengths, so that the largest number is the longest group.
        groups_in_order = np.unique(groups)[::-1]
        grouped_items = [order[groups[order] == group] for group in groups_in_order]
    batches = []
    for items in grouped_items:
        start = 0
        while start < len(items):
            size = batch_size
            if max_tokens is not None:
                # Items are sorted, so that the first one of a batch is its longest.
                longest = max(int(lengths[items[start]]), 1)
                size = max(1, min(batch_size, max_tokens // longest))
            batches.append(items[start : start + size])
            start += size
    return batches


def pad(
    encoded: Encoded, items: NDArray[np.int64], device: str | torch.device = "cpu"
) -> dict[str, torch.Tensor]:
    """Pad tokenized texts on the right to the longest of them, and return them as tensors.

    Args:
        encoded: All tokenized texts.
        items: (n,) indices of the texts to pad.
        device: Device of the tensors.

    Returns:
        `input_ids`, `attention_mask` and, if the model has types, `token_type_ids`: (n, longest)
        int64 each.
    """
    # All rows are filled at once, because a loop over items would take longer than a small model.
    starts = encoded.offsets[items]
    lengths = encoded.offsets[items + 1] - starts
    shape = (len(items), int(lengths.max()))
    column_index = np.broadcast_to(np.arange(shape[1]), shape)
    is_token = column_index < lengths[:, None]
    # Indices of the tokens in the flat columns, row by row. Assignment by a mask, below, fills a
    # table in this order.
    token_index = (starts[:, None] + column_index)[is_token]
    tensors = {"attention_mask": send_array(is_token.astype(np.int64), device)}
    for name, column in encoded.columns.items():
        # Token ids are stored in 32 bits, but models look up embeddings by 64 bits.
        table = np.full(shape, encoded.padding[name], dtype=np.int64)
        table[is_token] = column[token_index]
        tensors[name] = send_array(table, device)
    return tensors


def is_queued(device: str | torch.device) -> bool:
    """Return whether a device works through a queue, so that a call returns before its result."""
    return torch.device(device).type == QUEUES


def send_array(array: NDArray[Any], device: str | torch.device) -> torch.Tensor:
    """Return an array as a tensor on a device.

    A GPU copies the array from pinned memory in the background.
    """
    tensor = torch.from_numpy(array)
    if is_queued(device):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def read_later(function: Callable[..., T], *tensors: torch.Tensor) -> Callable[[], T]:
    """Start to copy tensors to the CPU, and return a function that waits and processes the arrays.

    A GPU works through a queue. A copy that is started directly after its batch can be read while
    the GPU computes the next batch. A copy that is started later would wait for the next batch.

    Args:
        function: Receives one array for each tensor. Its result is that of the returned function.
        *tensors: The tensors. The caller need not keep them until they are read.

    Example:
        >>> read = read_later(lambda logits: logits.argmax(axis=1).tolist(), torch.eye(3))
        >>> read()
        [0, 1, 2]
    """
    waits = [_start_copy(tensor) for tensor in tensors]

    def read() -> T:
        arrays = [wait() for wait in waits]
        return function(*arrays)

    return read


def _start_copy(tensor: torch.Tensor) -> Callable[[], NDArray[Any]]:
    """Start to copy a tensor to the CPU, and return a function that waits for the array."""
    if not is_queued(tensor.device):
        return tensor.detach().cpu().numpy
    copy = tensor.detach().to("cpu", non_blocking=True)
    # The event follows the copy in the queue of the GPU, so that its end is that of the copy.
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record(torch.cuda.current_stream(tensor.device))

    def wait() -> NDArray[Any]:
        event.synchronize()
        # Pinned memory is scarce, and is released with `copy`. The array is in ordinary memory.
        return np.array(copy.numpy())

    return wait


def get_free_memory(device: torch.device) -> int:
    """Return the number of bytes of a GPU that are free, or reserved by PyTorch but not in use."""
    free_bytes, _ = torch.cuda.mem_get_info(device)
    reserved_bytes = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free_bytes + reserved_bytes)


def check_fast(tokenizer: Any) -> None:
    """Raise a ValueError if a tokenizer is a slow one, which does not know positions of tokens."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            "Expected a fast tokenizer, which records the position of each token in the text, "
            f"but {type(tokenizer).__name__} is a slow tokenizer. Save a tokenizer.json next to "
            "the model."
        )
