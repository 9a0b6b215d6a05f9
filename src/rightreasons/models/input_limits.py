"""The input that a model can read: how many tokens per sequence, and which token ids.

A model and its tokenizer may come from different places, so that the limits of both are compared.
`get_max_length` returns the length, and `check_vocabulary` and `check_tokens` compare token ids.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

UNBOUNDED = 1_000_000
"""A tokenizer without a bound reports a larger number."""

MIN_KNOWN_TOKENS = 0.5
"""Smallest share of a model's tokens that its tokenizer must know."""

_POSITION_BOUNDS = ("max_position_embeddings", "max_seq_len", "max_target_positions")


# ------------------------------------------------------------------------------- lengths


def find_max_positions(model: Any) -> int | None:
    """Return the maximum number of tokens that the position embeddings of a model allow.

    The configuration may state a larger maximum than the table of embeddings has rows, so that both
    are read.

    Args:
        model: A model of transformers, with its `config`.

    Returns:
        The smallest of all maxima; None if there is none, as for relative positions.
    """
    config = model.config
    if hasattr(config, "get_text_config"):
        config = config.get_text_config()
    bounds = []
    for name in _POSITION_BOUNDS:
        bound = getattr(config, name, None) or 0
        if bound > 0:
            bounds.append(int(bound))
    # A model that also reads pictures has a separate configuration for text. Its tables may be
    # position embeddings of the pictures.
    if config is not model.config and bounds:
        return min(bounds)
    for name, module in getattr(model, "named_modules", tuple)():
        # An embedding table of torch or of I-BERT; both have a padding index.
        if name.endswith("position_embeddings") and hasattr(module, "padding_idx"):
            bound = len(module.weight)
            if module.padding_idx is not None:
                # RoBERTa and related models count positions from the row after the padding index.
                bound -= module.padding_idx + 1
            if bound > 0:
                bounds.append(int(bound))
    return min(bounds, default=None)


def get_max_length(model: Any, tokenizer: Any) -> int:
    """Return the maximum number of tokens per sequence that both model and tokenizer allow.

    Args:
        model: A model of transformers, perhaps with an adapter of peft.
        tokenizer: Its tokenizer, whose `model_max_length` is a huge number if it has no maximum.

    Returns:
        The smaller of both maxima; 2048 if neither of them states one.
    """
    n_positions = find_max_positions(model) or 0
    if n_positions:
        # Prompt tuning puts virtual tokens before each text, which take positions.
        settings = getattr(model, "active_peft_config", None)
        n_positions -= getattr(settings, "num_virtual_tokens", None) or 0
    n_tokens = int(getattr(tokenizer, "model_max_length", None) or 0)
    # 0 means that there is no maximum, and so does a huge number in a tokenizer.
    bounds = [bound for bound in (n_positions, n_tokens) if 0 < bound < UNBOUNDED]
    return min(bounds, default=2048)


# ------------------------------------------------------------------------------- token ids


def get_vocabulary_size(model: Any) -> int | None:
    """Return the number of tokens that a model embeds; None if it has no table of embeddings."""
    try:
        table = model.get_input_embeddings()
        return int(getattr(table, "num_embeddings", None) or len(table.weight))
    except (AttributeError, NotImplementedError):
        return None


def check_vocabulary(model: Any, tokenizer: Any, name: str) -> None:
    """Check that a tokenizer has at least about half as many tokens as its model.

    A tokenizer with too many tokens is not refused here, because an unknown token is found when
    texts are tokenized. Published models embed up to 2 % more tokens than their tokenizers have,
    because tables of embeddings are padded to round numbers.

    Args:
        model: The model.
        tokenizer: The tokenizer.
        name: Name of the model, for errors.

    Raises:
        ValueError: If the tokenizer has fewer tokens.
    """
    n_embedded = get_vocabulary_size(model)
    n_tokens = len(tokenizer)
    if n_embedded is not None and n_tokens < n_embedded * MIN_KNOWN_TOKENS:
        raise ValueError(
            f"Expected a tokenizer of about {n_embedded:,} tokens, the vocabulary size of {name}, "
            f"but got {n_tokens:,} tokens. The tokenizer and model do not belong together."
        )


def check_tokens(model: Any, name: str, largest: int) -> None:
    """Check that a model has an embedding for the largest of some token ids.

    Args:
        model: The model.
        name: Name of the model, for errors.
        largest: The largest token id.

    Raises:
        ValueError: If the id is not below the vocabulary size of the model.
    """
    n_embedded = get_vocabulary_size(model)
    if n_embedded is not None and largest >= n_embedded:
        raise ValueError(
            f"Expected token ids below {n_embedded}, the vocabulary size of {name}, but the "
            f"tokenizer gave {largest}. The tokenizer and model do not belong together."
        )


def list_ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of all tokens but special ones that tokenizer and model have in common.

    Args:
        model: The model, whose table of embeddings may be shorter than the vocabulary.
        tokenizer: Its tokenizer.

    Returns:
        The ids in ascending order, without tokens whose embeddings are not finite. If the vocabulary
        consists of special tokens only, these are returned.
    """
    tokens = np.arange(len(tokenizer))
    n_embedded = get_vocabulary_size(model)
    if n_embedded is not None:
        tokens = tokens[:n_embedded]
        weights = model.get_input_embeddings().weight[: len(tokens)]
        is_finite = torch.isfinite(weights).all(dim=1).cpu().numpy()
        # If no embedding is finite, a later check of the scores refuses the model.
        if is_finite.any():
            tokens = tokens[is_finite]
    words = np.setdiff1d(tokens, tokenizer.all_special_ids)
    if len(words):
        return words
    return tokens
