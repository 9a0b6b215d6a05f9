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
from torch import Tensor
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

Losses = Callable[[Tensor], Tensor]
"""A function from the logits of a batch to a loss."""

# Far below any logit, and finite, so that its product with a target of 0 is 0.
_MASKED_LOGIT = -1e4


def mft_loss(
    logits: Tensor,
    targets: Tensor,
    *,
    activation: str = "softmax",
) -> Tensor:
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
        log_probabilities = logits.log_softmax(-1)
        return -(targets * log_probabilities).sum(-1)
    # Stable for large logits: -[y log s(z) + (1 - y) log(1 - s(z))] = softplus(z) - y z
    losses = functional.softplus(logits) - targets * logits
    return losses.mean(-1)


def inv_loss(original: Tensor, changed: Tensor) -> Tensor:
    r"""Cross-entropy of the predictions for changed texts under those for their originals.

        L_INV = -sum_c p_c(x) log p_c(x')

    Gradients flow through both predictions.

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
    original_probabilities = original.softmax(-1)
    changed_log_probabilities = changed.log_softmax(-1)
    return -(original_probabilities * changed_log_probabilities).sum(-1)


def dir_error(original: Tensor, changed: Tensor, direction: str) -> Tensor:
    """Measure how far probabilities moved in the forbidden direction.

    With the change d = p(x') - p(x) and the original prediction c = argmax p(x), the error is
    max(0, d_c) for "not_more_conf", max(0, -d_c) for "not_less_conf", max(0, -d_negative) for
    "not_less_0" and max(0, -d_positive) for "not_less_2". The negative class is the first one, and
    the positive class the last one.

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
        # A fall of P(negative), the first class.
        error = -change[..., 0]
    elif direction == "not_less_2":
        # A fall of P(positive), the last class.
        error = -change[..., -1]
    else:
        predicted = original.argmax(-1, keepdim=True)
        confidence_change = change.gather(-1, predicted).squeeze(-1)
        error = confidence_change
        if direction == "not_less_conf":
            error = -confidence_change
    # A movement in the other direction is no error.
    return error.clamp(min=0.0)


def dir_loss(original: Tensor, changed: Tensor, direction: str) -> Tensor:
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
    original_probabilities = original.softmax(-1)
    changed_probabilities = changed.softmax(-1)
    error = dir_error(original_probabilities, changed_probabilities, direction)
    no_error = torch.zeros_like(error)
    return functional.binary_cross_entropy(error, no_error, reduction="none")


def class_losses(
    logits: Tensor,
    batch: Mapping[str, Tensor],
    *,
    activation: str = "softmax",
) -> Tensor:
    """Compute the loss of each item of a batch of texts, by the item's rule.

    Args:
        logits: (…, N, C) logits of the batch's texts.
        batch: `first` and `second`, (n,) indices in `logits` of the original text of each item, and
            of its changed text; `targets` (n, C); `rule` (n,), numbers in `RULES`, such as 0 for an
            item that is learned by its label.
        activation: Activation in the loss of labels, "softmax" or "sigmoid".

    Returns:
        (…, n) losses in nats.
    """
    original = logits[..., batch["first"], :]
    changed = logits[..., batch["second"], :]
    targets = batch["targets"].to(logits.dtype)
    losses = mft_loss(original, targets, activation=activation)
    # Each loss is computed for the whole batch, and then selected where the rule applies: this costs
    # less than a batch for each rule.
    for number in torch.unique(batch["rule"]).tolist():
        rule = RULES[number]
        if rule == "labeled":
            continue
        if rule == "invariant":
            rule_losses = inv_loss(original, changed)
        else:
            rule_losses = dir_loss(original, changed, rule)
        has_rule = batch["rule"] == number
        losses = torch.where(has_rule, rule_losses, losses)
    return losses


def span_losses(
    logits: Tensor,
    batch: Mapping[str, Tensor],
    *,
    activation: str = "softmax",
) -> Tensor:
    r"""Compute the loss of each item of a batch of windows, by the item's rule.

        labeled:    L = -(log p_first(a) + log p_last(b)) / 2
        invariant:  L = mean over first and last of -sum_t p(t | x) log p(t | x')

    Here, a is the answer, and p_first and p_last are the probabilities of its first and its last
    token. For a labeled item, the softmax is over the tokens of its window; for a pair, over the
    tokens t that both texts contain.

    Args:
        logits: (…, N, T, 2) logits of the batch's windows, for the first and the last token of the
            answer.
        batch: `first` and `second`, (n,) indices in `logits` of the window of each original text,
            and of its changed text; `targets` (n, 2), first and last token of the answer; `rule`
            (n,), 0 labeled or 1 invariant; `mask` (n, T), 0 for the padding of the first window;
            `shared_first` and `shared_second` (n, P), positions of shared tokens, padded with -1.
        activation: "softmax", the only one that is supported.

    Returns:
        (…, n) losses in nats.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL.
    """
    check_one_of(activation, ("softmax",), "activation")
    logits = logits.movedim(-1, -2)  # (…, N, 2, T)
    first_windows = batch["first"]
    second_windows = batch["second"]
    original = logits[..., first_windows, :, :]
    losses = _compute_answer_losses(original, batch["mask"], batch["targets"])

    is_pair = batch["rule"] == RULES.index("invariant")
    if is_pair.any():
        changed = logits[..., second_windows, :, :]
        # Shared tokens are listed in the same order for both texts, so that the k-th match.
        original_shared = _select_positions(original, batch["shared_first"])
        changed_shared = _select_positions(changed, batch["shared_second"])
        pair_losses = inv_loss(original_shared, changed_shared)
        losses = torch.where(is_pair, pair_losses.mean(-1), losses)
    return losses


def _compute_answer_losses(
    logits: Tensor,
    mask: Tensor,
    answers: Tensor,
) -> Tensor:
    """Return the mean negative log-probability of the first and the last token of each answer.

    Args:
        logits: (…, n, 2, T) logits of T tokens for the first and the last token of an answer.
        mask: (n, T) 1 for a token, 0 for padding.
        answers: (n, 2) positions of the first and the last token of each answer.

    Returns:
        (…, n) losses in nats.
    """
    # Padding gets the probability 0.
    is_padding = mask[:, None] == 0
    unpadded = logits.masked_fill(is_padding, _MASKED_LOGIT)
    log_probabilities = unpadded.log_softmax(-1)
    positions = answers.long()[..., None]
    shape = (*log_probabilities.shape[:-1], 1)
    positions = positions.expand(shape)
    answer_log_probabilities = log_probabilities.gather(-1, positions)
    token_losses = -answer_log_probabilities.squeeze(-1)
    return token_losses.mean(-1)


def _select_positions(logits: Tensor, positions: Tensor) -> Tensor:
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
    n_positions = positions.shape[-1]
    shape = (*logits.shape[:-1], n_positions)
    # The logits that are selected at the padding are masked below.
    valid_positions = positions.clamp(min=0)
    index = valid_positions.expand(shape)
    selected = logits.gather(-1, index)
    return selected.masked_fill(is_padding, _MASKED_LOGIT)


def set_dropout(model: torch.nn.Module, rate: float) -> int:
    """Set every dropout of a model to one rate, including the dropout of the attention.

    A dropout is a module, as in BERT, or a number that a module passes to a function, such as
    `attention_dropout` of Llama and `dropout` of BART. Such a number is recognized by its name. A
    model may ignore the number: `has_dropout` tests whether dropout is applied.

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
            # A flag such as `use_dropout` is not a rate, although bool is a subclass of int.
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if "dropout" in name and is_number:
                setattr(module, name, rate)
                n_dropouts += 1
    return n_dropouts


@torch.no_grad()
def has_dropout(model: torch.nn.Module, inputs: Mapping[str, Tensor]) -> bool:
    """Return whether a model in training mode gives two results for the same inputs.

    Args:
        model: The model, which stays in training mode.
        inputs: Inputs of its `forward`.
    """
    model.train()
    outputs = model(**inputs)
    repeated_outputs = model(**inputs)
    logits = _concatenate_logits(outputs)
    repeated_logits = _concatenate_logits(repeated_outputs)
    return not torch.equal(logits, repeated_logits)


def _concatenate_logits(outputs: Any) -> Tensor:
    """Return all logits of a model's output as one vector.

    Args:
        outputs: Output of a classifier, with `logits`; or of a question-answering model, with
            `start_logits` and `end_logits`.
    """
    vectors = []
    for name, value in outputs.items():
        if name.endswith("logits"):
            vector = value.float().flatten()
            vectors.append(vector)
    return torch.cat(vectors)


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
    if progress < warm:
        return 1.0
    return largest


def irm_loss(logits: Tensor, losses: Sequence[Losses], weight: float) -> Tensor:
    r"""Compute the loss of invariant risk minimization.

        mean_e [L_e(z) + w ||grad_u L_e(u * z) at u = 1||^2] / max(1, w)

    The penalty is the squared gradient of the loss of each environment e by u, a vector of C factors
    of the logits z.

    Args:
        logits: (n, C) logits z of a batch.
        losses: For each environment, a function from the logits to its mean loss L_e.
        weight: Weight w of the penalty, from `irm_weight`.

    Returns:
        A scalar, which can be differentiated once more.

    References:
        Arjovsky, Bottou, Gulrajani and Lopez-Paz (2019), "Invariant Risk Minimization", section 3.1; with a vector for
        u as the released code of Luz de Araujo and Roth (2023) has it.
    """
    scale = torch.ones(
        logits.shape[-1],
        dtype=logits.dtype,
        device=logits.device,
        requires_grad=True,
    )
    terms = []
    for compute_loss in losses:
        scaled_logits = logits * scale
        loss = compute_loss(scaled_logits)
        # The penalty is minimized, too, so that its gradient must be differentiable.
        (gradient,) = torch.autograd.grad(loss, scale, create_graph=True)
        penalty = gradient.square().sum()
        terms.append(loss + weight * penalty)
    mean_term = torch.stack(terms).mean()
    # Without the division, a large weight would raise the learning rate (released code).
    return mean_term / max(1.0, weight)


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
        n_groups = check_count(n_groups, "n_groups")
        self.weights = np.full(n_groups, 1.0 / n_groups)
        self.step = check_number(step, "step", minimum=0.0)

    def scale(self, group: int, loss: Tensor) -> Tensor:
        """Raise a group's weight by its loss, and return the loss times the weight."""
        # An exponentiated gradient step, after which the weights sum to 1 again.
        loss_value = float(loss.detach())
        growth = np.exp(self.step * loss_value)
        self.weights[group] *= growth
        self.weights /= self.weights.sum()
        weight = float(self.weights[group])
        return loss * weight
