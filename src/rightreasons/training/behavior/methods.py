"""The methods of behavioral learning: what regularizes a model that is trained on a suite.

Each is a few lines that the one trainer of `behavior_trainer` calls; `METHODS` says what each is made of. Environments
and groups are the functionalities, and independent data where it is trained on is one more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch

from rightreasons.foundations.validation import check_count, check_number, unknown_name

Losses = Callable[[torch.Tensor], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Method:
    """What a method is made of.

    Attributes:
        weight_decay: Decoupled weight decay.
        dropout: Dropout of hidden states and attention; None keeps the model's own.
        phases: What is trained one after another, "head" or "all", each with a fresh optimizer and an equal share of
            the epochs.
        objective: "mean", "irm", "dro" or "fish".
    """

    weight_decay: float = 0.0
    dropout: float | None = None
    phases: tuple[str, ...] = ("all",)
    objective: str = "mean"


METHODS = {
    "vanilla": Method(),
    "l2": Method(weight_decay=0.1),
    "dropout": Method(dropout=0.3),
    "lp": Method(phases=("head",)),
    "lp-ft": Method(phases=("head", "all")),
    "irm": Method(objective="irm"),
    "dro": Method(objective="dro"),
    "fish": Method(objective="fish"),
}
"""The eight methods by name, with the released code's settings."""


def find_method(name: str) -> Method:
    """Return a method by its name.

    Raises:
        ValueError: If there is none.
    """
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name]


def set_dropout(model: torch.nn.Module, rate: float) -> int:
    """Set every dropout layer to one rate, those of the attention too.

    Returns:
        How many layers there are.
    """
    check_number(rate, "rate", minimum=0.0, maximum=1.0)
    layers = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    for layer in layers:
        layer.p = rate
    return len(layers)


def irm_weight(progress: float, *, warm: float = 0.2, largest: float = 1e4) -> float:
    """Return the weight of the penalty at a share of the training: 1 at first, `largest` from `warm` on.

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
        losses: For each environment, what gives its mean loss from the logits.
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
    r"""The weights of Group-DRO: q_g grows with the loss of group g, and the loss counts q_g times.

        q_g <- q_g exp(step L_g) / sum;   loss = q_g L_g

    Args:
        n_groups: How many groups; all weigh the same at first.
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
    """Fish's outer step: after some inner steps, one environment each, go a little of the way they went.

        theta <- theta + rate (inner - theta)

    Args:
        model: The model; what of it is trained.
        learning_rate: That of the inner steps.
        inner_steps: Inner steps, one an environment; default 5.
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
        """Count an inner step that was made; after the last one, make the outer step."""
        self._steps += 1
        if self._steps % self.inner_steps == 0:
            self.finish()

    @torch.no_grad()
    def finish(self) -> None:
        """Make the outer step now."""
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
