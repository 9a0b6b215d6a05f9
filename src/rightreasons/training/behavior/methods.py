"""What regularizes a model that is trained on a suite: the parts of the methods that `options.METHODS` combines.

Environments and groups are the functionalities; independent data, where it is trained on, is one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from rightreasons.foundations.validation import check_count, check_number

Losses = Callable[[torch.Tensor], torch.Tensor]


def set_dropout(model: torch.nn.Module, rate: float) -> int:
    """Set every dropout layer to one rate, including those of the attention.

    Returns:
        The number of layers.
    """
    check_number(rate, "rate", minimum=0.0, maximum=1.0)
    layers = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    for layer in layers:
        layer.p = rate
    return len(layers)


def irm_weight(progress: float, *, warm: float = 0.2, largest: float = 1e4) -> float:
    """Return the weight of the penalty at a fraction of the training: 1 before `warm`, then `largest`.

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
    ones = torch.ones(logits.shape[-1], dtype=logits.dtype, device=logits.device, requires_grad=True)
    terms = []
    for loss_of in losses:
        loss = loss_of(logits * ones)
        (slope,) = torch.autograd.grad(loss, ones, create_graph=True)
        terms.append(loss + weight * slope.square().sum())
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
        self.weights[group] *= np.exp(self.step * float(loss.detach()))
        self.weights /= self.weights.sum()
        return loss * float(self.weights[group])


class Fish:
    """Fish's outer step: after some inner steps, one environment each, move a little toward where they led.

        theta <- theta + rate (inner - theta)

    Args:
        model: The model; its trainable parameters take part.
        learning_rate: Learning rate of the inner steps.
        inner_steps: Inner steps, one per environment; default 5.
        rate: Of the outer step; None takes the released code's 5e-7 / `learning_rate` / 5.

    References:
        Shi, Seely, Torr, Siddharth, Hannun, Usunier and Synnaeve (2022), "Gradient Matching for Domain Generalization",
        ICLR, algorithm 2.
    """

    def __init__(
        self, model: torch.nn.Module, learning_rate: float, *, inner_steps: int = 5, rate: float | None = None
    ) -> None:
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.inner_steps = check_count(inner_steps, "inner_steps")
        self.rate = fish_rate(learning_rate) if rate is None else check_number(rate, "rate", minimum=0.0)
        self._steps = 0
        self._start = [parameter.detach().clone() for parameter in self.parameters]

    def after_step(self) -> None:
        """Count an inner step; after the last one of a round, take the outer step."""
        self._steps += 1
        if self._steps % self.inner_steps == 0:
            self.finish()

    @torch.no_grad()
    def finish(self) -> None:
        """Take the outer step now."""
        for parameter, start in zip(self.parameters, self._start, strict=True):
            start.lerp_(parameter, self.rate)
            parameter.copy_(start)


def fish_rate(learning_rate: float) -> float:
    """Return the released code's outer rate.

    Example:
        >>> round(fish_rate(2e-5), 6)
        0.005
    """
    return 5e-7 / check_number(learning_rate, "learning_rate", minimum=1e-12) / 5
