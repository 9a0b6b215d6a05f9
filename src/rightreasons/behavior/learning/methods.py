"""Losses of behavioral learning, and the methods that combine them.

Every loss returns one value per item. A method takes its mean over a batch, an environment or a
group. Environments and groups are the functionalities, and the independent data if it is trained
on. `class_losses` and `span_losses` are the entry points for the two kinds of models.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from rightreasons.behavior.learning.options import ACTIVATIONS
from rightreasons.core.validation import check_count, check_number, check_one_of

DIRECTIONS = ("not_more_conf", "not_less_conf", "not_less_0", "not_less_2")
"""What a changed text must not do. The names are those of the released code.

They are: raise the confidence in the original's prediction, lower it, lower P(negative), and lower
P(positive).
"""

RULES = ("labeled", "invariant", *DIRECTIONS)
"""What is required of an item; `Items.rule` numbers them."""

Losses = Callable[[torch.Tensor], torch.Tensor]
"""A function from the logits of a batch to a loss."""

# Far below any logit, and finite, so that its product with a target of 0 is 0.
_MASKED_LOGIT = -1e4


def mft_loss(
    logits: torch.Tensor, targets: torch.Tensor, *, activation: str = "softmax"
) -> torch.Tensor:
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
    # Stable for large logits: -[y log s(z) + (1 - y) log(1 - s(z))] = softplus(z) - y z
    return (functional.softplus(logits) - targets * logits).mean(-1)


def inv_loss(original: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    r"""Cross-entropy of the predictions for changed texts under those for the originals, through which gradients flow.

        L_INV = -sum_c p_c(x) log p_c(x')

    Args:
        original: (…, n, C) logits of the originals, x.
        changed: (…, n, C) logits of the changed texts, x'.

    Returns:
        (…, n) losses in nats, at least the entropy of p(x) and so above 0.

    References:
        Luz de Araujo and Roth (2023), section 3.

    Example:
        >>> p, q = torch.tensor([[0.8, 0.2]]).log(), torch.tensor([[0.7, 0.3]]).log()
        >>> round(inv_loss(p, q).item(), 6)
        0.526135
    """
    return -(original.softmax(-1) * changed.log_softmax(-1)).sum(-1)


def dir_error(original: torch.Tensor, changed: torch.Tensor, direction: str) -> torch.Tensor:
    """Measure how far probabilities moved in the forbidden direction.

    With the change d = p(x') - p(x) and the original prediction c = argmax p(x), the error is
    max(0, d_c) for "not_more_conf", max(0, -d_c) for "not_less_conf", max(0, -d_negative) for
    "not_less_0" and max(0, -d_positive) for "not_less_2"; negative is the first class and positive
    the last.

    Args:
        original: (…, n, C) probabilities of the originals.
        changed: (…, n, C) probabilities of the changed texts.
        direction: One of `DIRECTIONS`.

    Returns:
        (…, n) errors in [0, 1]; 0 is best.
    """
    check_one_of(direction, DIRECTIONS, "direction")
    change = changed - original
    if direction == "not_less_0":
        error = -change[..., 0]
    elif direction == "not_less_2":
        error = -change[..., -1]
    else:
        predicted = original.argmax(-1, keepdim=True)
        error = change.gather(-1, predicted).squeeze(-1)
        if direction == "not_less_conf":
            error = -error
    return error.clamp(min=0.0)


def dir_loss(original: torch.Tensor, changed: torch.Tensor, direction: str) -> torch.Tensor:
    r"""Binary cross-entropy of a change in the wrong direction, L_DIR = -log(1 - error).

    Args:
        original: (…, n, C) logits of the originals.
        changed: (…, n, C) logits of the changed texts.
        direction: One of `DIRECTIONS`; see `dir_error`.

    Returns:
        (…, n) losses in nats; 0 for an item that did not move in the forbidden direction.

    References:
        Luz de Araujo and Roth (2023), section 3.

    Example:
        >>> before, after = torch.tensor([[0.9, 0.1]]).log(), torch.tensor([[0.6, 0.4]]).log()
        >>> round(dir_loss(before, after, "not_less_conf").item(), 6), dir_loss(before, after, "not_more_conf").item()
        (0.356675, 0.0)
    """
    error = dir_error(original.softmax(-1), changed.softmax(-1), direction)
    return functional.binary_cross_entropy(error, torch.zeros_like(error), reduction="none")


def class_losses(
    logits: torch.Tensor, batch: Mapping[str, torch.Tensor], *, activation: str = "softmax"
) -> torch.Tensor:
    """Compute the loss of each item of a batch of texts, by the item's rule.

    Args:
        logits: (…, N, C) logits of the batch's texts.
        batch: `first` and `second`, (n,) texts of each item; `targets` (n, C); `rule` (n,), numbers
            in `RULES`.
        activation: As in `mft_loss`.

    Returns:
        (…, n) losses in nats.
    """
    original = logits[..., batch["first"], :]
    changed = logits[..., batch["second"], :]
    targets = batch["targets"].to(logits.dtype)
    losses = mft_loss(original, targets, activation=activation)
    # All rules are computed for the whole batch: a mask costs less than unequal shapes.
    for number in torch.unique(batch["rule"]).tolist():
        rule = RULES[number]
        if rule == "invariant":
            rule_losses = inv_loss(original, changed)
        elif rule in DIRECTIONS:
            rule_losses = dir_loss(original, changed, rule)
        else:
            continue
        losses = torch.where(batch["rule"] == number, rule_losses, losses)
    return losses


def span_losses(
    logits: torch.Tensor, batch: Mapping[str, torch.Tensor], *, activation: str = "softmax"
) -> torch.Tensor:
    r"""Compute the loss of each item of a batch of windows, by the item's rule.

        labeled:    L = -(log p_first(a) + log p_last(b)) / 2
        invariant:  L = mean over first and last of -sum_t p(t | x) log p(t | x')

    The softmax of a labeled item is over the tokens of its window; that of a pair is over the
    tokens that both texts contain.

    Args:
        logits: (…, N, T, 2) logits of the batch's windows, for the first and the last token of the
            answer.
        batch: `first` and `second`, (n,) windows of each item; `targets` (n, 2), tokens; `rule`
            (n,), 0 labeled or 1 invariant; `mask` (n, T), which tokens the first window has;
            `shared_first` and `shared_second` (n, P), positions of shared tokens, padded with -1.
        activation: "softmax", the only one.

    Returns:
        (…, n) losses in nats.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL.
    """
    check_one_of(activation, ("softmax",), "activation")
    logits = logits.movedim(-1, -2)  # (…, N, 2, T)
    original = logits[..., batch["first"], :, :]
    # Padding takes no part in the softmax.
    is_padding = batch["mask"][:, None] == 0
    log_shares = original.masked_fill(is_padding, _MASKED_LOGIT).log_softmax(-1)
    targets = batch["targets"].long()[..., None]
    targets = targets.expand(*log_shares.shape[:-1], 1)
    token_losses = -log_shares.gather(-1, targets).squeeze(-1)
    losses: torch.Tensor = token_losses.mean(-1)

    is_pair = batch["rule"] == 1
    if is_pair.any():
        changed = logits[..., batch["second"], :, :]
        # Only tokens of both texts can be compared; the k-th of one is the k-th of the other.
        original_shared = _take_positions(original, batch["shared_first"])
        changed_shared = _take_positions(changed, batch["shared_second"])
        pair_losses = inv_loss(original_shared, changed_shared).mean(-1)
        losses = torch.where(is_pair, pair_losses, losses)
    return losses


def _take_positions(logits: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Select the logits of some tokens of each item.

    Args:
        logits: (…, n, 2, T) logits of T tokens for the first and the last token of an answer.
        positions: (n, P) positions of tokens, padded with -1.

    Returns:
        (…, n, 2, P) logits; far below all others at the padding.
    """
    # The positions are the same for the first and the last token of an answer.
    positions = positions[:, None]
    is_padding = positions < 0
    shape = (*logits.shape[:-1], positions.shape[-1])
    index = positions.clamp(min=0).expand(shape)
    selected = logits.gather(-1, index)
    return selected.masked_fill(is_padding, _MASKED_LOGIT)


def set_dropout(model: torch.nn.Module, rate: float) -> int:
    """Set every dropout of a model to one rate, including those of the attention.

    A dropout is a module, as in BERT, or a number that a module passes to a function, such as
    `attention_dropout` of Llama and `dropout` of BART. Such a number is recognized by its name. A
    model may ignore it; `has_dropout` tries.

    Args:
        model: The model, which is changed.
        rate: Rate in [0, 1].

    Returns:
        Number of dropouts that were set.
    """
    check_number(rate, "rate", minimum=0.0, maximum=1.0)
    n_dropouts = 0
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = rate
            n_dropouts += 1
        for name, value in vars(module).items():
            # A flag such as `use_dropout` is no rate, although it is an int.
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if "dropout" in name and is_number:
                setattr(module, name, rate)
                n_dropouts += 1
    return n_dropouts


@torch.no_grad()
def has_dropout(model: torch.nn.Module, inputs: Mapping[str, torch.Tensor]) -> bool:
    """Return whether a model in training mode gives two results for the same inputs.

    Args:
        model: The model, which stays in training mode.
        inputs: Inputs of its `forward`.
    """
    model.train()
    logits = _join_logits(model(**inputs))
    repeated_logits = _join_logits(model(**inputs))
    return not torch.equal(logits, repeated_logits)


def _join_logits(outputs: Any) -> torch.Tensor:
    """Return all logits of a model's output as one vector.

    Args:
        outputs: Output of a classifier, with `logits`; or of a question-answering model, with
            `start_logits` and `end_logits`.
    """
    tables = []
    for name, value in outputs.items():
        if name.endswith("logits"):
            tables.append(value.float().flatten())
    return torch.cat(tables)


def irm_weight(progress: float, *, warm: float = 0.2, largest: float = 1e4) -> float:
    """Return the weight of the IRM penalty at a point of the training: small at first, then large.

    Args:
        progress: Fraction of the steps that are done, in [0, 1].
        warm: Fraction from which the weight is large.
        largest: The large weight.

    Example:
        >>> irm_weight(0.1), irm_weight(0.2)
        (1.0, 10000.0)
    """
    return 1.0 if progress < warm else largest


def irm_loss(logits: torch.Tensor, losses: Sequence[Losses], weight: float) -> torch.Tensor:
    r"""Invariant risk minimization.

        mean_e [L_e(z) + w ||grad_u L_e(u * z) at u = 1||^2] / max(1, w)

    Args:
        logits: (n, C) of a batch; u is a vector of C.
        losses: For each environment, a function from the logits to its mean loss.
        weight: w, from `irm_weight`.

    Returns:
        A scalar, which is differentiated twice.

    References:
        Arjovsky, Bottou, Gulrajani and Lopez-Paz (2019), "Invariant Risk Minimization", section 3.1; with a vector for
        u as the released code of Luz de Araujo and Roth (2023) has it.
    """
    scale = torch.ones(
        logits.shape[-1], dtype=logits.dtype, device=logits.device, requires_grad=True
    )
    terms = []
    for compute_loss in losses:
        loss = compute_loss(logits * scale)
        # The penalty is trained, so that its gradient is differentiated once more.
        (slope,) = torch.autograd.grad(loss, scale, create_graph=True)
        terms.append(loss + weight * slope.square().sum())
    # Without the division, a large weight would raise the learning rate (released code).
    return torch.stack(terms).mean() / max(1.0, weight)


class GroupWeights:
    r"""The weights of Group-DRO: q_g grows with the loss of group g and multiplies it.

        q_g <- q_g exp(step L_g) / sum;   loss = q_g L_g

    Args:
        n_groups: Number of groups; all weigh the same at first.
        step: Step size of the exponentiated gradient; default 0.01.

    References:
        Sagawa, Koh, Hashimoto and Liang (2020), "Distributionally Robust Neural Networks", algorithm 1.

    Example:
        >>> groups = GroupWeights(4)
        >>> round(groups.scale(1, torch.tensor(2.0)).item(), 6)
        0.507537
        >>> groups.weights.round(6).tolist()
        [0.248744, 0.253769, 0.248744, 0.248744]
    """

    def __init__(self, n_groups: int, *, step: float = 0.01) -> None:
        self.weights = np.full(check_count(n_groups, "n_groups"), 1.0 / n_groups)
        self.step = check_number(step, "step", minimum=0.0)

    def scale(self, group: int, loss: torch.Tensor) -> torch.Tensor:
        """Raise a group's weight by its loss, and return the loss times the weight."""
        # An exponentiated gradient step, after which the weights are shares again.
        self.weights[group] *= np.exp(self.step * float(loss.detach()))
        self.weights /= self.weights.sum()
        return loss * float(self.weights[group])
