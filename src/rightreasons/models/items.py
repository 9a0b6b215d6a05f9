"""From items to the sequences that a model reads: one a text, or one a (prompt, choice) pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_choices, check_count, check_same_length, check_texts
from rightreasons.models.loading import Classifier
from rightreasons.models.running.batching import Encoded, length_batches, pad


def check_max_length(classifier: Classifier, max_length: int | None) -> int:
    """Check the most tokens of a text against what the model takes; None gives that."""
    bound = classifier.max_length
    length = bound if max_length is None else check_count(max_length, "max_length", minimum=4)
    if length > bound:
        raise ValueError(
            f"Expected `max_length` to be at most {bound}, which {classifier.name} takes, but got {length}."
        )
    return length


def item_sequences(
    classifier: Classifier,
    texts: Sequence[str],
    text_pairs: Sequence[str] | None,
    choices: Sequence[Sequence[str]] | None,
    *,
    allow_empty: bool = False,
) -> tuple[list[str], list[str] | None, NDArray[np.int64]]:
    """Return the first and second text of every sequence, and how many sequences each item has."""
    if classifier.label_names is not None:
        if choices is not None:
            raise ValueError(f"Expected no `choices`, for {classifier.name} is a classifier of texts.")
        first = check_texts(texts, "texts", allow_empty=allow_empty or text_pairs is not None)
        second = None if text_pairs is None else check_texts(text_pairs, "text_pairs", allow_empty=True)
        if second is not None:
            check_same_length(texts=first, text_pairs=second)
        return first, second, np.ones(len(first), dtype=np.int64)
    if choices is None or text_pairs is not None:
        raise ValueError(f"Expected `choices` and no `text_pairs`, for {classifier.name} is a multiple-choice model.")
    prompts, rows, counts = check_choices(texts, choices, "texts", allow_empty=True)
    first = [prompt for prompt, row in zip(prompts, rows, strict=True) for _ in row]
    return first, [choice for row in rows for choice in row], counts


def item_inputs(
    classifier: Classifier, encoded: Encoded, counts: NDArray[np.int64]
) -> Callable[[NDArray[np.int64]], dict[str, torch.Tensor]]:
    """Return what makes the padded inputs of some items, all of one number of sequences.

    Args:
        classifier: Who reads them; a multiple-choice model takes (n, C, T) tensors, a classifier of texts (n, T).
        encoded: All sequences.
        counts: (N,) sequences of each item.
    """
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    def inputs(items: NDArray[np.int64]) -> dict[str, torch.Tensor]:
        n_sequences = int(counts[items[0]])
        sequences = (starts[items][:, None] + np.arange(n_sequences)).reshape(-1)
        padded = pad(encoded, sequences, classifier.device)
        if classifier.label_names is None:
            return {name: tensor.view(len(items), n_sequences, -1) for name, tensor in padded.items()}
        return padded

    return inputs


def item_batches(
    lengths: NDArray[np.int64], counts: NDArray[np.int64], *, batch_size: int, max_tokens: int | None = None
) -> list[NDArray[np.int64]]:
    """Cut items into batches of one number of sequences and of like length, the longest first.

    Args:
        lengths: (sequences,) tokens of each sequence.
        counts: (N,) sequences of each item.
        batch_size: The most items of a batch.
        max_tokens: The most tokens of a padded batch; None for no bound.
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
    longest = np.maximum.reduceat(lengths, starts)
    batches = []
    for count in np.unique(counts)[::-1]:
        items = np.flatnonzero(counts == count)
        room = None if max_tokens is None else max(1, max_tokens // int(count))
        batches += [items[rows] for rows in length_batches(longest[items], batch_size=batch_size, max_tokens=room)]
    return batches
