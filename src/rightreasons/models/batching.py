"""Texts as token ids, in padded batches of similar length, and models held still while they read.

`encode` turns texts into an `Encoded`, a column of ids without padding. `length_batches` cuts its
items into batches, and `pad` makes the tensors of one batch. `frozen` keeps a model in evaluation
mode meanwhile, and restores whatever the model changes of itself.
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

T = TypeVar("T")

CHANGING: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()
"""Models that change themselves as they read, so that an answer depends on what was read before.

Examples are attention that is replaced by another for short texts (BigBird), and rotary factors of
the longest text so far.
"""

QUEUES = "cuda"
"""Type of the devices that compute and copy while this process goes on."""

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
    """The attributes, buffers and submodules of one module, which `restore` brings back."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._attributes: dict[str, Any] = vars(module)
        self._saved_attributes: dict[str, Any] = dict(self._attributes)
        self._saved_members: dict[str, dict[str, Any]] = {
            "_buffers": dict(module._buffers),
            "_modules": dict(module._modules),
        }

    def restore(self) -> bool:
        """Bring back what the module had; return whether anything differed."""
        has_changed = False
        for name, saved in self._saved_members.items():
            has_changed |= _restore_mapping(self._saved_attributes[name], saved)
        return _restore_mapping(self._attributes, self._saved_attributes) or has_changed


def _restore_mapping(current: dict[str, Any], saved: dict[str, Any]) -> bool:
    """Give a dictionary its earlier entries, in place.

    Args:
        current: The dictionary.
        saved: A copy of it from before.

    Returns:
        Whether anything differed.
    """
    # By identity: tensors have no truth value, and a replaced part may equal the one before.
    is_changed = current.keys() != saved.keys()
    if not is_changed:
        is_changed = any(value is not saved[name] for name, value in current.items())
    if is_changed:
        current.clear()
        current.update(saved)
    return is_changed


@contextmanager
def unchanged(model: torch.nn.Module, *, each_call: bool | None = None) -> Iterator[None]:
    """Restore what a model changes of itself in the block, besides the values of its weights.

    Some models replace a module or extend a buffer as they read. A model that does is added to
    `CHANGING`.

    Args:
        model: The model. Its attributes, buffers and submodules are restored on exit.
        each_call: Whether to restore them after each call as well, so that each call starts from
            the same state. If None, this is done for a model that is in `CHANGING`.
    """
    states = [_ModuleState(module) for module in model.modules()]

    def restore(*_: Any) -> None:
        for state in states:
            if state.restore():
                CHANGING.add(model)

    if each_call is None:
        # Hooks cost time, and most models do not change.
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

    Gradients with respect to inputs still flow; parameters collect none. On exit, also after an
    error, every submodule's training mode, every parameter's `requires_grad` and what the model
    changed of itself are restored.

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
    # A model may train some of its modules, and keep others as they are.
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
class Places:
    """Positions of the tokens of tokenized texts in these texts.

    Attributes:
        special: (total,) whether the tokenizer added the token ([CLS], [SEP], <s>, </s>).
        sequence: (total,) 0 in the first text, 1 in the second; 0 for special tokens.
        start: (total,) first character in its text; 0 for special tokens.
        end: (total,) one past the last character; equal to `start` for a token without characters.
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
        text_pairs: N second texts, or None. The longer of the two is truncated first.
        max_length: Maximum tokens per item, special tokens included.

    Returns:
        The token ids, in flat arrays without padding.

    Raises:
        ValueError: If a text holds half of a surrogate pair.
    """
    names = input_names(tokenizer)
    # Column, such as "input_ids" -> an array of the tokens of each block of texts.
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
        padding=padding_values(tokenizer),
    )


@dataclass(frozen=True, eq=False)
class _TokenizedBlock:
    """A block of texts with the output of the tokenizer."""

    texts: list[str]
    text_pairs: list[str] | None
    tokens: Any


def _tokenize_blocks(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None,
    max_length: int,
) -> Iterator[_TokenizedBlock]:
    """Tokenize texts in blocks, so that the lists of all tokens are not in memory at once.

    The arguments are those of `encode`.

    Raises:
        ValueError: If a text holds half of a surrogate pair.
    """
    for start in range(0, len(texts), _BLOCK_SIZE):
        block_texts = list(texts[start : start + _BLOCK_SIZE])
        block_pairs = None
        if text_pairs is not None:
            block_pairs = list(text_pairs[start : start + _BLOCK_SIZE])
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
    """Check that texts can be encoded as UTF-8, which the tokenizer itself does not report."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ValueError(
            "Expected texts of complete characters, but got a text with half of a surrogate pair."
        ) from None


def _find_truncated(tokenizer: Any, block: _TokenizedBlock, max_length: int) -> list[bool]:
    """Return whether each text of a block was truncated to `max_length` tokens."""
    if block.tokens.encodings is not None:
        # Fast tokenizers keep the tokens that they cut off.
        return [bool(encoding.overflowing) for encoding in block.tokens.encodings]
    # Slow tokenizers do not. Texts of fewer tokens are complete, and those of just as many are
    # tokenized again without a limit.
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
    """Tokenize texts as `encode` does; texts that were tokenized before are not tokenized again.

    The questions of an audit read the same texts. The last few encodings of a tokenizer are
    kept, until it is gone or changes. Few texts are tokenized again, because that is faster.

    Args:
        tokenizer: A tokenizer of transformers.
        texts: N texts.
        text_pairs: N second texts, or None.
        max_length: Maximum tokens per item, special tokens included.

    Returns:
        The token ids, in arrays that cannot be written to.
    """
    if len(texts) < MIN_CACHED_TEXTS or not getattr(tokenizer, "is_fast", False):
        return encode(tokenizer, texts, text_pairs, max_length=max_length)
    # A digest of the contents: a question may hold equal texts in another list, and words may be
    # added to a tokenizer.
    key = _digest_encoding(tokenizer, texts, text_pairs, max_length)
    encodings = _ENCODINGS.setdefault(tokenizer, OrderedDict())
    if key in encodings:
        # The encoding that was used last is removed last.
        encodings.move_to_end(key)
        encoded = encodings[key]
    else:
        encoded = encode(tokenizer, texts, text_pairs, max_length=max_length)
        # Later calls get the same arrays, which must stay as they are.
        arrays: list[NDArray[Any]] = [*encoded.columns.values(), encoded.offsets, encoded.truncated]
        for array in arrays:
            array.flags.writeable = False
        n_tokens = int(encoded.offsets[-1])
        if n_tokens <= _MAX_CACHED_TOKENS:
            encodings[key] = encoded
            if len(encodings) > _MAX_CACHED_ENCODINGS:
                encodings.popitem(last=False)
    # The padding token is no part of the digest.
    return dataclasses.replace(encoded, padding=padding_values(tokenizer))


def _digest_encoding(
    tokenizer: Any, texts: Sequence[str], text_pairs: Sequence[str] | None, max_length: int
) -> str:
    """Return a digest of everything that the token ids of texts depend on.

    The arguments are those of `encode`, with a fast tokenizer.
    """
    rules = tokenizer.backend_tokenizer
    # The tokenizer stores the truncation and the padding of its last call among its rules. Every
    # call sets both, so that they may be removed.
    rules.no_truncation()
    rules.no_padding()
    settings = [tokenizer.truncation_side, *input_names(tokenizer), str(max_length)]
    digests = [
        xxhash.xxh3_128(rules.to_str().encode()).hexdigest(),
        fingerprint_texts(settings),
        fingerprint_texts(texts),
    ]
    if text_pairs is not None:
        digests.append(fingerprint_texts(text_pairs))
    return "|".join(digests)


def find_token_places(
    tokenizer: Any,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None = None,
    *,
    max_length: int,
) -> Places:
    """Tokenize texts as `encode` does, and return the position of each token in its text.

    The arguments are those of `encode`.

    Raises:
        ValueError: If the tokenizer is not a fast one: others do not know the positions.
    """
    check_fast(tokenizer)
    is_special: list[bool] = []
    sequences: list[int] = []
    spans: list[tuple[int, int]] = []
    for block in _tokenize_blocks(tokenizer, texts, text_pairs, max_length):
        for encoding in block.tokens.encodings:
            for sequence, span in zip(encoding.sequence_ids, encoding.offsets, strict=True):
                # A token of neither text was added by the tokenizer. Its `special_tokens_mask`
                # is no alternative: in some tokenizers it includes <unk>.
                if sequence is None:
                    is_special.append(True)
                    sequences.append(0)
                    spans.append((0, 0))
                else:
                    is_special.append(False)
                    sequences.append(sequence)
                    spans.append(span)
    table = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return Places(
        special=np.array(is_special, dtype=np.bool_),
        sequence=np.array(sequences, dtype=np.int64),
        start=table[:, 0],
        end=table[:, 1],
    )


def ensure_padding(tokenizer: Any) -> None:
    """Let a tokenizer without a padding token pad with its end token, with a warning.

    Raises:
        ValueError: If it has no end token either.
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


def padding_values(
    tokenizer: Any, model: Any = None, used: NDArray[np.int32] | None = None
) -> dict[str, int]:
    """Return the value that pads each column of tokenized texts.

    A model with a padding token of its own is padded with it, whatever the tokenizer's is, because
    the head of a decoder finds the last token of a text by it. For other models any token will do,
    but not one of the texts: the tokenizer's padding token, else its end token.

    Args:
        tokenizer: A tokenizer of transformers.
        model: The model that reads the texts. None if it is not known yet.
        used: Token ids of the texts.

    Returns:
        `input_ids` and `token_type_ids`, one number each.
    """
    n_words = vocabulary_size(model)
    token = getattr(text_config(model), "pad_token_id", None)
    # Some configurations name a token that the model does not embed.
    if token is None or token < 0 or (n_words is not None and token >= n_words):
        token = _select_padding_token(tokenizer, n_words, used)
    return {"input_ids": int(token), "token_type_ids": int(tokenizer.pad_token_type_id)}


def _select_padding_token(
    tokenizer: Any, n_words: int | None, used: NDArray[np.int32] | None
) -> int:
    """Return a token that pads texts for a model without a padding token.

    Args:
        tokenizer: The tokenizer, whose padding or end token is preferred.
        n_words: Number of tokens that the model embeds. None if it is not known.
        used: Token ids of the texts, or None. Another token is taken if one of them is the
            preferred one, and there is a token that is not used.
    """
    # A tokenizer with neither of the two is padded with the first word of the vocabulary.
    token = 0
    for candidate in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if candidate is not None:
            token = candidate
            break
    if used is None or n_words is None or not (used == token).any():
        return token
    # A decoder would take a word that equals the padding for the end of its text.
    unused = np.setdiff1d(np.arange(n_words), used)
    return int(unused[0]) if len(unused) else token


def vocabulary_size(model: Any) -> int | None:
    """Return the number of tokens that a model embeds; None without a table of embeddings."""
    try:
        table = model.get_input_embeddings()
        return int(getattr(table, "num_embeddings", None) or len(table.weight))
    except (AttributeError, NotImplementedError):
        return None


def text_config(model: Any) -> Any:
    """Return the configuration of the part of a model that reads text; None if it has none."""
    config: Any = getattr(model, "config", None)
    if hasattr(config, "get_text_config"):
        return config.get_text_config()
    return config


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
    """Divide items into batches of similar length, the longest first.

    The longest batch comes first, so that one that does not fit in memory fails at once. Items of
    equal length keep their order, so that the batches depend on the lengths alone.

    Args:
        lengths: (N,) tokens of each item.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch, items times the longest; None for no bound. A
            single item may exceed it.
        groups: (N,) group of each item; items of different groups share no batch. None for one
            group.

    Returns:
        Arrays of item positions; each position is in one of them.

    Example:
        >>> lengths = np.array([3, 9, 2, 8, 3])
        >>> [batch.tolist() for batch in length_batches(lengths, batch_size=2)]
        [[1, 3], [0, 4], [2]]
        >>> [batch.tolist() for batch in length_batches(lengths, batch_size=9, max_tokens=10)]
        [[1], [3], [0, 4, 2]]
    """
    check_count(batch_size, "batch_size")
    if max_tokens is not None:
        check_count(max_tokens, "max_tokens")
    order = np.argsort(-lengths, kind="stable").astype(np.int64)
    grouped_items = [order]
    if groups is not None:
        # Groups are most often lengths, of which the largest comes first.
        grouped_items = [order[groups[order] == group] for group in np.unique(groups)[::-1]]
    batches = []
    for items in grouped_items:
        start = 0
        while start < len(items):
            size = batch_size
            if max_tokens is not None:
                longest = max(int(lengths[items[start]]), 1)
                size = max(1, min(batch_size, max_tokens // longest))
            batches.append(items[start : start + size])
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
        `input_ids`, `attention_mask` and, if the model takes them, `token_type_ids`: (n, longest)
        int64 each.
    """
    # All rows are filled at once, because a loop over items would take longer than a small model.
    starts = encoded.offsets[items]
    lengths = encoded.offsets[items + 1] - starts
    shape = (len(items), int(lengths.max()))
    column_index = np.broadcast_to(np.arange(shape[1]), shape)
    is_token = column_index < lengths[:, None]
    # Indices of the tokens in the flat columns, row by row, as assignment by a mask fills a table.
    token_index = (starts[:, None] + column_index)[is_token]
    tensors = {"attention_mask": send_array(is_token.astype(np.int64), device)}
    for name, column in encoded.columns.items():
        # Embeddings take 64-bit ids, which are stored in 32 bits.
        table = np.full(shape, encoded.padding[name], dtype=np.int64)
        table[is_token] = column[token_index]
        tensors[name] = send_array(table, device)
    return tensors


def is_queued(device: str | torch.device) -> bool:
    """Return whether a device computes, and copies, while this process goes on."""
    return torch.device(device).type == QUEUES


def send_array(array: NDArray[Any], device: str | torch.device) -> torch.Tensor:
    """Return an array as a tensor on a device.

    A GPU copies it from pinned memory, and this process does not wait for the copy.
    """
    tensor = torch.from_numpy(array)
    if is_queued(device):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def read_later(function: Callable[..., T], *tensors: torch.Tensor) -> Callable[[], T]:
    """Start to copy tensors to the CPU, and return a function that waits for the copies.

    A GPU works through a queue. A copy that is started once the next batch has been launched would
    wait for that batch, too. One that is queued right behind its own batch can be read while the
    next batch is computed.

    Args:
        function: Takes an array for each tensor; its result is that of the returned function.
        *tensors: The tensors. Those of a GPU need not be referenced until they are read.

    Example:
        >>> read = read_later(lambda logits: logits.argmax(axis=1).tolist(), torch.eye(3))
        >>> read()
        [0, 1, 2]
    """
    readers = [_start_copy(tensor) for tensor in tensors]

    def read() -> T:
        arrays = [wait() for wait in readers]
        return function(*arrays)

    return read


def _start_copy(tensor: torch.Tensor) -> Callable[[], NDArray[Any]]:
    """Start to copy a tensor to the CPU, and return a function that waits for its array.

    On a GPU the copy is queued, and an event after it tells when it is finished.
    """
    if not is_queued(tensor.device):
        return tensor.detach().cpu().numpy
    copy = tensor.detach().to("cpu", non_blocking=True)
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record(torch.cuda.current_stream(tensor.device))

    def wait() -> NDArray[Any]:
        event.synchronize()
        # A copy, because pinned memory is scarce, and is given back with the tensor.
        return np.array(copy.numpy())

    return wait


def get_free_memory(device: torch.device) -> int:
    """Return the bytes of a GPU that are free, or that PyTorch has in reserve."""
    free_bytes, _ = torch.cuda.mem_get_info(device)
    reserved_bytes = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free_bytes + reserved_bytes)


def check_fast(tokenizer: Any) -> None:
    """Refuse a slow tokenizer, which does not know the positions of its tokens."""
    if not getattr(tokenizer, "is_fast", False):
        raise ValueError(
            "Expected a fast tokenizer, which records the position of each token in the text, "
            f"but {type(tokenizer).__name__} is a slow tokenizer. Save a tokenizer.json next to "
            "the model."
        )
