"""How the inputs of classifiers, multiple-choice and question-answering models are padded: as their trial shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import offsets_of
from rightreasons.models.running.batching import Encoded, encode, pad
from rightreasons.models.running.trial import EQUAL_LENGTHS, SHORTEST, TRIALS, Answers, RefusalError, Way, fastest_way

RIGHT = "right padding"
LEFT = "left padding"


def classifier_way(
    model: Any,
    tokenizer: Any,
    name: str,
    *,
    longest: int,
    bound: int,
    joint: bool = False,
    n_classes: int | None = None,
) -> Way:
    """Return how a model's inputs are batched, from a trial in this process: the fastest way that is exact.

    The ways are right padding, left padding, batches of equal lengths, and one by one. The padding side of the
    tokenizer does not matter.

    Args:
        model: A sequence classifier, a multiple-choice or a question-answering model.
        tokenizer: Its tokenizer.
        name: What the user called it.
        longest: Tokens of the longest sequence of the data.
        bound: Maximum tokens per sequence.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.
        n_classes: Number of classes of a classifier; None for the other models.

    Raises:
        ValueError: If no way is exact, with the reason.
    """

    def find(reach: int) -> Way:
        encoded = _trial_items(model, tokenizer, min(reach, bound))
        # The long items have a batch of their own, so that the short ones are not padded to their length.
        long = encoded.lengths > SHORTEST
        together = [np.append(np.flatnonzero(long), 0), np.flatnonzero(~long)] if long.any() else [np.arange(len(long))]
        single = [np.array([item]) for item in range(len(long))]
        equal = [np.flatnonzero(encoded.lengths == length) for length in np.unique(encoded.lengths)]

        def ask(batches: list[NDArray[np.int64]], side: str = "right") -> Answers:
            rows: dict[int, NDArray[np.float64]] = {}
            for batch in batches:
                inputs = pad(dataclasses.replace(encoded, padding_side=side), batch, model.device)
                mask = inputs["attention_mask"].bool()
                if joint:
                    inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
                answers = _answers(model(**inputs), mask, name, n_classes)
                for item, answer in zip(batch.tolist(), answers, strict=True):
                    # An item of two batches counts with the answer of the first, which is the longer one.
                    rows.setdefault(item, answer)
            return [rows[item] for item in sorted(rows)]

        with padding_token(model, encoded.padding["input_ids"]):
            return fastest_way(
                model,
                name,
                lambda: ask(single),
                {
                    RIGHT: lambda: ask(together),
                    LEFT: lambda: ask(together, "left"),
                    EQUAL_LENGTHS: lambda: ask(equal),
                },
                longest=reach,
                again=lambda: ask(single[:2]),
            )

    kind = "choices" if joint else "texts"
    return TRIALS.way(model, kind, min(longest, bound), find)


def padding_values(model: Any, tokenizer: Any, used: NDArray[np.int32] | None = None) -> dict[str, int]:
    """Return the values that pad the columns of a model's inputs.

    A model with a padding token of its own, by which a decoder's head finds the last token of a text, is padded with
    that, whatever the tokenizer's is. Any other token will do for a model without one, but not one of the texts.

    Args:
        model: A model of transformers.
        tokenizer: Its tokenizer.
        used: The token ids of the texts.
    """
    known = vocabulary_size(model)
    token = _text_config(model).pad_token_id if hasattr(_text_config(model), "pad_token_id") else None
    own = token is not None and token >= 0 and (known is None or token < known)
    if not own:
        token = next((t for t in (tokenizer.pad_token_id, tokenizer.eos_token_id) if t is not None), 0)
        if used is not None and known is not None and (used == token).any():
            free = np.setdiff1d(np.arange(known), used)
            token = free[0] if len(free) else token
    return {"input_ids": int(token or 0), "token_type_ids": int(tokenizer.pad_token_type_id)}


@contextmanager
def padding_token(model: Any, token: int) -> Iterator[None]:
    """Let a model without a padding token have one meanwhile; its configuration is as it was afterwards.

    A decoder with a classification head reads the last token that is not padding, and refuses batches without one.
    """
    config = _text_config(model)
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    missing = "pad_token_id" not in vars(config)
    config.pad_token_id = token
    try:
        yield
    finally:
        if missing:
            del config.pad_token_id
        else:
            config.pad_token_id = None


def vocabulary_size(model: Any) -> int | None:
    """Return how many tokens a model embeds; None for a model without a table of word embeddings."""
    try:
        return int(model.get_input_embeddings().num_embeddings)
    except (AttributeError, NotImplementedError):
        return None


def ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the tokens of words that both tokenizer and model know, but none whose embedding is NaN or infinite."""
    size = len(tokenizer)
    known = vocabulary_size(model)
    if known is not None:
        size = min(size, known)
        table = model.get_input_embeddings().weight[:size]
        tokens = torch.nonzero(torch.isfinite(table).all(dim=1))[:, 0].cpu().numpy()
    else:
        tokens = np.arange(size)
    ordinary = np.setdiff1d(tokens, tokenizer.all_special_ids)
    return ordinary if len(ordinary) else tokens


def _trial_items(model: Any, tokenizer: Any, longest: int) -> Encoded:
    """Return texts of random words: five of up to 16 tokens, and one of `longest` if that is more."""
    letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]
    lengths = [1, 12, 4, 4, 7]
    texts = [" ".join(letters[:length]) for length in lengths]
    short = min(longest, SHORTEST)
    parts = [encode(tokenizer, texts, max_length=short)]
    if longest > short:
        parts.append(encode(tokenizer, [" ".join(letters * (longest // 8 + 1))], max_length=longest))
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
    words = ordinary_tokens(model, tokenizer)
    special = np.isin(columns["input_ids"], [t for t in tokenizer.all_special_ids if t != tokenizer.unk_token_id])
    drawn = np.random.default_rng(0).choice(words, len(special)).astype(np.int32)
    columns["input_ids"] = np.where(special, columns["input_ids"], drawn)
    lengths = [length for part in parts for length in part.lengths.tolist()]
    return Encoded(
        columns=columns,
        offsets=offsets_of(lengths),
        truncated=np.zeros(len(lengths), dtype=np.bool_),
        padding=padding_values(model, tokenizer, columns["input_ids"]),
    )


def _answers(outputs: Any, mask: torch.Tensor, name: str, n_classes: int | None) -> Answers:
    """Return what a model said of each row of a batch: its scores, or those of every token that is not padding."""
    if hasattr(outputs, "start_logits"):
        table = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
        return [row[real].cpu().numpy() for row, real in zip(table, mask, strict=True)]
    logits = getattr(outputs, "logits", None)
    if logits is None or logits.numel() != len(mask) * (n_classes or 1):
        came = "none" if logits is None else f"a tensor of shape {tuple(logits.shape)}"
        what = "one score per choice" if n_classes is None else f"one score for each of {n_classes} classes"
        raise RefusalError(f"Expected {what} from {name}, but it gives {came} for {len(mask)} texts.")
    return list(logits.double().flatten(1).cpu().numpy())


def _text_config(model: Any) -> Any:
    config: Any = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config
