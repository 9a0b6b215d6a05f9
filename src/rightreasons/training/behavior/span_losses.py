"""The losses of behavioral learning for spans: answers that are known, and answers that a change should not move.

The logits are those of `behavior_losses`, once for the first token of the answer and once for its last; what the two
lose is averaged.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from rightreasons.foundations.validation import check_one_of
from rightreasons.training.behavior.losses import inv_loss

# Far below any logit, and finite, so that a share of 0 in a target times it is 0.
_NOWHERE = -1e4


def span_losses(
    logits: torch.Tensor,
    about: Mapping[str, torch.Tensor],
    *,
    activation: str = "softmax",
    detach: bool = False,
) -> torch.Tensor:
    r"""Give each item of a batch the loss of its rule.

        labeled:    L = -(log p_first(a) + log p_last(b)) / 2
        invariant:  L = mean over first and last of -sum_t p(t | x) log p(t | x')

    The softmax of a labeled item is over the tokens of its window; that of a pair is over the tokens that both texts
    have, as in `span_inv_loss`.

    Args:
        logits: (…, N, T, 2) of the batch's windows.
        about: `first` and `second` (n,) windows of each item, `targets` (n, 2) tokens, `rule` (n,) 0 labeled or 1
            invariant, `mask` (n, T) which tokens the first window has, `shared_first` and `shared_second` (n, P)
            positions of shared tokens, -1 behind them.
        activation: "softmax", the only one.
        detach: As in `inv_loss`.

    Returns:
        (…, n) losses in nats.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.
    """
    check_one_of(activation, ("softmax",), "activation")
    logits = logits.movedim(-1, -2)  # (…, N, 2, T)
    before = logits[..., about["first"], :, :]
    inside = before.masked_fill(about["mask"][:, None] == 0, _NOWHERE).log_softmax(-1)
    targets = about["targets"].long()[..., None].expand(*inside.shape[:-1], 1)
    losses: torch.Tensor = -inside.gather(-1, targets).squeeze(-1).mean(-1)
    pairs = about["rule"] == 1
    if pairs.any():
        after = logits[..., about["second"], :, :]
        shared = [_at(table, about[name]) for table, name in ((before, "shared_first"), (after, "shared_second"))]
        losses = torch.where(pairs, inv_loss(shared[0], shared[1], detach=detach).mean(-1), losses)
    return losses


def _at(logits: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Take (…, n, 2, P) logits at (n, P) positions; where there is no position they are far below all others."""
    index = positions.clamp(min=0)[:, None].expand(*logits.shape[:-1], positions.shape[-1])
    return logits.gather(-1, index).masked_fill(positions[:, None] < 0, _NOWHERE)
