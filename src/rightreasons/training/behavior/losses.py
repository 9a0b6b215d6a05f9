"""The losses of behavioral learning: labeled examples, pairs that should agree, pairs that should move one way.

Every loss gives one value an item, so that a mean over a batch, an environment or a group is taken by who asks.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from rightreasons.foundations.validation import check_one_of, unknown_name

DIRECTIONS = ("not_more_conf", "not_less_conf", "not_less_0", "not_less_2")
"""What a changed text may not do: raise the confidence in the first answer, lower it, lower P(negative), lower
P(positive). The names are those of the released code."""

ACTIVATIONS = ("softmax", "sigmoid")

SENTIMENT_TARGETS: Mapping[Any, tuple[float, float]] = {
    0: (1.0, 0.0),
    1: (0.5, 0.5),
    2: (0.0, 1.0),
    "not negative": (1 / 3, 2 / 3),
}
"""A suite of three sentiments for a model of two: neutral lies in between, and so does what is not negative."""


def sentiment_targets(labels: Sequence[Any]) -> NDArray[np.float64]:
    """Turn labels of a sentiment suite into targets of a model of two classes.

    Args:
        labels: N labels: 0 negative, 1 neutral, 2 positive, or "not negative".

    Returns:
        (N, 2) soft labels.

    Raises:
        ValueError: If a label is unknown.

    Example:
        >>> sentiment_targets([0, 1, 2, "not negative"]).round(3).tolist()
        [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.333, 0.667]]
    """
    for label in labels:
        if label not in SENTIMENT_TARGETS:
            raise unknown_name("sentiment", label, [str(key) for key in SENTIMENT_TARGETS])
    return np.array([SENTIMENT_TARGETS[label] for label in labels], dtype=np.float64).reshape(-1, 2)


def one_hot_targets(labels: Sequence[int], n_classes: int) -> NDArray[np.float64]:
    """Turn class labels into (N, `n_classes`) rows with a single one.

    Raises:
        ValueError: If a label is not one of the classes.
    """
    for label in labels:
        if not 0 <= label < n_classes:
            raise ValueError(f"Expected labels from 0 to {n_classes - 1}, the model's classes, but got {label}.")
    return np.eye(n_classes)[np.asarray(labels, dtype=np.int64)]


def mft_loss(logits: torch.Tensor, targets: torch.Tensor, *, activation: str = "softmax") -> torch.Tensor:
    r"""Cross-entropy of soft labels.

        softmax:  L = -sum_c y_c log p_c;   sigmoid:  L = -mean_c [y_c log s_c + (1 - y_c) log(1 - s_c)]

    Args:
        logits: (…, n, C).
        targets: (n, C) rows that sum to one.
        activation: "softmax", or "sigmoid" as the released sentiment models are trained.

    Returns:
        (…, n) losses in nats.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.

    Example:
        >>> logits, half = torch.tensor([[0.2, -0.1]]), torch.tensor([[0.5, 0.5]])
        >>> round(mft_loss(logits, half).item(), 6), round(mft_loss(logits, half, activation="sigmoid").item(), 6)
        (0.704355, 0.696268)
    """
    check_one_of(activation, ACTIVATIONS, "activation")
    if activation == "softmax":
        return -(targets * logits.log_softmax(-1)).sum(-1)
    # -[y log s(z) + (1 - y) log(1 - s(z))] = softplus(z) - y z
    return (functional.softplus(logits) - targets * logits).mean(-1)


def inv_loss(original: torch.Tensor, changed: torch.Tensor, *, detach: bool = False) -> torch.Tensor:
    r"""Cross-entropy of the answers to changed texts under those to the originals.

        L_INV = -sum_c p_c(x) log p_c(x')

    Args:
        original: (…, n, C) logits of the originals, x.
        changed: (…, n, C) logits of the changed texts, x'.
        detach: Whether the answers to the originals are taken as given. The released code lets gradients flow through
            them, so this is False by default.

    Returns:
        (…, n) losses in nats; the least is the entropy of p(x), not 0.

    References:
        Luz de Araujo and Roth (2023), section 3.

    Example:
        >>> p, q = torch.tensor([[0.8, 0.2]]).log(), torch.tensor([[0.7, 0.3]]).log()
        >>> round(inv_loss(p, q).item(), 6)
        0.526135
    """
    target = original.softmax(-1)
    return -((target.detach() if detach else target) * changed.log_softmax(-1)).sum(-1)


def dir_error(original: torch.Tensor, changed: torch.Tensor, direction: str) -> torch.Tensor:
    """Say how far probabilities moved the wrong way.

    With the change d = p(x') - p(x) and the first answer c = argmax p(x), the error is max(0, d_c) for
    "not_more_conf", max(0, -d_c) for "not_less_conf", max(0, -d_negative) for "not_less_0" and max(0, -d_positive) for
    "not_less_2"; negative is the first class and positive the last.

    Args:
        original: (…, n, C) probabilities of the originals.
        changed: (…, n, C) probabilities of the changed texts.
        direction: One of `DIRECTIONS`.

    Returns:
        (…, n) errors in [0, 1]; 0 is best.
    """
    check_one_of(direction, DIRECTIONS, "direction")
    moved = changed - original
    if direction == "not_less_0":
        wrong = -moved[..., 0]
    elif direction == "not_less_2":
        wrong = -moved[..., -1]
    else:
        of_first = moved.gather(-1, original.argmax(-1, keepdim=True)).squeeze(-1)
        wrong = of_first if direction == "not_more_conf" else -of_first
    return wrong.clamp(min=0.0)


def dir_loss(original: torch.Tensor, changed: torch.Tensor, direction: str) -> torch.Tensor:
    r"""Binary cross-entropy of a movement the wrong way, L_DIR = -log(1 - error).

    Args:
        original: (…, n, C) logits of the originals.
        changed: (…, n, C) logits of the changed texts.
        direction: One of `DIRECTIONS`; see `dir_error`.

    Returns:
        (…, n) losses in nats; 0 where nothing moved the wrong way.

    References:
        Luz de Araujo and Roth (2023), section 3.

    Example:
        >>> before, after = torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.6, 0.4]]).log()
        >>> round(dir_loss(before, after, "not_less_conf").item(), 6), dir_loss(before, after, "not_more_conf").item()
        (0.356675, 0.0)
    """
    error = dir_error(original.softmax(-1), changed.softmax(-1), direction)
    return functional.binary_cross_entropy(error, torch.zeros_like(error), reduction="none")


def aligned_positions(original: Sequence[int], changed: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the tokens that two texts share, in order.

    Args:
        original: Token ids of one text.
        changed: Token ids of another.

    Returns:
        The positions in each, of the matching blocks of `difflib.SequenceMatcher`.

    Example:
        >>> first, second = aligned_positions([101, 7, 8, 9, 102], [101, 7, 5, 5, 9, 102])
        >>> first.tolist(), second.tolist()
        ([0, 1, 3, 4], [0, 1, 4, 5])
    """
    blocks = difflib.SequenceMatcher(None, list(original), list(changed), autojunk=False).get_matching_blocks()
    first = np.concatenate([np.arange(b.a, b.a + b.size) for b in blocks]).astype(np.int64)
    second = np.concatenate([np.arange(b.b, b.b + b.size) for b in blocks]).astype(np.int64)
    return first, second


def span_inv_loss(
    original: tuple[torch.Tensor, torch.Tensor],
    changed: tuple[torch.Tensor, torch.Tensor],
    positions: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    length: int | None = None,
    detach: bool = False,
) -> torch.Tensor:
    """Invariance of an answer's span: the mean of `inv_loss` over start and end, at tokens that both texts have.

    Args:
        original: Start and end logits (T,) of one text.
        changed: Start and end logits (U,) of the changed text.
        positions: From `aligned_positions`.
        length: Pad the shared logits with zeros to this length, as the released code does, where zeros are answers
            too; None takes the shared tokens alone.
        detach: As in `inv_loss`.

    Returns:
        The loss, a scalar in nats.

    Raises:
        ValueError: If the texts share no token.
    """
    if not len(positions[0]):
        raise ValueError("Expected texts that share at least one token for an invariant span, but they share none.")
    losses = []
    for before, after in zip(original, changed, strict=True):
        pair = [logits[torch.from_numpy(where)] for logits, where in zip((before, after), positions, strict=True)]
        if length is not None:
            pair = [functional.pad(logits, (0, length - len(logits))) for logits in pair]
        losses.append(inv_loss(pair[0], pair[1], detach=detach))
    return torch.stack(losses).mean()
