"""The training of a model on items by one method, and of many linear heads over one frozen encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.behavior.learning.items import CLASSES, Batch, Items, Step, Target, plan_steps
from rightreasons.behavior.learning.methods import GroupWeights, irm_loss, irm_weight, set_dropout
from rightreasons.behavior.learning.options import METHODS, LearningOptions
from rightreasons.core.errors import OptionError, stop_if_signaled
from rightreasons.core.options import takes
from rightreasons.core.validation import check_one_of, check_seed
from rightreasons.models.batching import Encoded, frozen, length_batches, pad
from rightreasons.training.finetune import own_random_state


class Fish:
    """Fish's outer step: after some inner steps, one environment each, go a share of the way to where they led.

        theta <- theta + rate (inner - theta)

    Args:
        parameters: What is trained.
        rate: The share of the way, in (0, 1].
        inner_steps: Inner steps, one per environment; default 5.

    References:
        Shi, Seely, Torr, Siddharth, Hannun, Usunier and Synnaeve (2022), "Gradient Matching for Domain Generalization",
        ICLR, algorithm 2.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], rate: float, *, inner_steps: int = 5) -> None:
        self.parameters, self.rate, self.inner_steps, self._steps = list(parameters), rate, inner_steps, 0
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


class Objective:
    """What a method minimizes.

    Args:
        name: "mean", "irm", "dro" or "fish".
        target: What the model learns.
        n_environments: Number of environments.
        activation: As in `mft_loss`.
    """

    def __init__(self, name: str, target: Target, n_environments: int, activation: str) -> None:
        self.name, self.target, self.activation = name, target, activation
        self.groups = GroupWeights(n_environments)

    def __call__(self, logits: torch.Tensor, batch: Batch, progress: float) -> torch.Tensor:
        """Return the loss of a batch from its logits, at a fraction of the training."""
        if self.name == "irm":
            present = torch.unique(batch["environment"]).tolist()
            return irm_loss(logits, [self._mean_loss(batch, number) for number in present], irm_weight(progress))
        loss = self.target.losses(logits, batch, activation=self.activation).mean()
        return self.groups.scale(int(batch["environment"][0]), loss) if self.name == "dro" else loss

    def _mean_loss(self, batch: Batch, environment: int) -> Callable[[torch.Tensor], torch.Tensor]:
        inside = batch["environment"] == environment
        part = {name: value[inside] for name, value in batch.items()}
        return lambda logits: self.target.losses(logits, part, activation=self.activation).mean()


@takes(LearningOptions)
def train_on_behavior(
    model: Any,
    encoded: Encoded,
    items: Items,
    *,
    target: Target = CLASSES,
    method: str = "vanilla",
    seed: int = 0,
    options: LearningOptions,
) -> float:
    """Train a model on items by one method, in place and on the device that it is on.

    Args:
        model: A sequence classifier of transformers, or a model of another target.
        encoded: The items' texts, tokenized.
        items: What to train on.
        target: What the model learns; by default classes.
        method: A name of `METHODS`.
        seed: Seed of order, changed texts and dropout.
        options: Fields of `LearningOptions` as keywords: learning_rate, head_learning_rate, epochs, batch_size,
            activation, precision.

    Returns:
        The mean training loss of the last phase.

    Raises:
        TypeError: If an option is unknown or has the wrong type.
        ValueError: If the method is unknown, an option is out of range, there is nothing to train on, or
            the loss diverged.
    """
    chosen = METHODS[check_one_of(method, tuple(METHODS), "method")]
    check_seed(seed)
    if chosen.dropout is not None:
        set_dropout(model, chosen.dropout)
    loss = float("nan")
    for number, phase in enumerate(chosen.phases):
        only_head = phase == "head"
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not (only_head and name.startswith(f"{model.base_model_prefix}.")))
        steps = plan_steps(
            items,
            objective=chosen.objective,
            batch_size=options.batch_size,
            epochs=options.epochs / len(chosen.phases),
            seed=seed + number,
        )
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        groups = [
            {"params": [each for each in trained if each.ndim > 1], "weight_decay": chosen.weight_decay},
            {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
        ]
        objective = Objective(chosen.objective, target, len(items.environments), options.activation)
        fish = Fish(trained, options.fish_rate) if chosen.objective == "fish" else None
        rate = options.head_learning_rate if only_head else options.learning_rate

        def logits(texts: NDArray[np.int64]) -> torch.Tensor:
            with torch.autocast(model.device.type, torch.bfloat16, enabled=options.precision == "bfloat16"):
                return target.logits(model(**pad(encoded, texts, model.device))).float()

        with own_random_state(seed):
            model.train()
            loss = _minimize(logits, groups, items, steps, objective, rate=rate, fish=fish)
        if not np.isfinite(loss):
            raise OptionError(
                f"Expected a finite training loss, but got {loss}: lower `learning_rate`.", option="learning_rate"
            )
    model.requires_grad_(True)
    return loss


def _minimize(
    logits: Callable[[NDArray[np.int64]], torch.Tensor],
    groups: list[dict[str, Any]],
    items: Items,
    steps: Sequence[Step],
    objective: Objective,
    *,
    rate: float,
    fish: Fish | None = None,
) -> float:
    """Train groups of parameters as `Trainer` does: AdamW, clipping to norm 1, a rate that falls linearly.

    Returns:
        The mean loss.
    """
    optimizer, total = torch.optim.AdamW(groups, lr=rate), 0.0
    trained = [parameter for group in groups for parameter in group["params"]]
    for number, step in enumerate(steps):
        stop_if_signaled()
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 - number / len(steps))
        texts, described = objective.target.describe(items, step)
        rows = logits(texts)
        batch = {name: column.to(rows.device) for name, column in described.items()}
        loss = objective(rows, batch, number / len(steps))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        total += float(loss.detach())
        if fish is not None:
            fish.after_step()
    if fish is not None:
        fish.finish()  # inner steps of an unfinished round count for their share
    return total / len(steps)


Features = Callable[[NDArray[np.int64]], torch.Tensor]
"""From (n,) texts to their (n, …, H) features."""


def linear_head(model: Any) -> torch.nn.Linear:
    """Return the linear layer that a classifier ends in.

    Raises:
        ValueError: If its head is more than one linear layer, or one without a bias, as those of decoders, which score
            each token.
    """
    parts = [(name, part) for name, part in model.named_children() if name != model.base_model_prefix]
    layers = [part for _, part in parts if any(True for _ in part.parameters())]
    if len(layers) != 1 or not isinstance(layers[0], torch.nn.Linear) or layers[0].bias is None:
        raise ValueError(
            f"Expected a classifier with one linear layer with a bias as its head, but {type(model).__name__} has "
            f"{', '.join(name for name, _ in parts)}."
        )
    return layers[0]


def head_inputs(model: Any, encoded: Encoded) -> Features:
    """Return a function that computes the features of some texts: float32 inputs of the linear head, on the CPU.

    The model computes them in its present mode: freeze it first to keep dropout out of them.
    """
    head = linear_head(model)

    def features(texts: NDArray[np.int64]) -> torch.Tensor:
        inputs: list[torch.Tensor] = []
        hook = head.register_forward_pre_hook(lambda _, args: inputs.append(args[0].float().cpu()))
        try:
            with torch.no_grad():
                model(**pad(encoded, texts, model.device))
        finally:
            hook.remove()
        return inputs[0]

    return features


def head_features(model: Any, encoded: Encoded, *, batch_size: int = 64) -> torch.Tensor:
    """Compute the inputs of the linear head for every text, without dropout.

    Returns:
        (N, H) float32 features on the CPU.
    """
    inputs, features = head_inputs(model, encoded), torch.empty(len(encoded), linear_head(model).in_features)
    with frozen(model):
        for batch in length_batches(encoded.lengths, batch_size=batch_size):
            features[torch.from_numpy(batch)] = inputs(batch)
    return features


@takes(LearningOptions)
def train_head(
    head: torch.nn.Linear,
    features: torch.Tensor | Features,
    items: Items,
    *,
    target: Target = CLASSES,
    seed: int = 0,
    options: LearningOptions,
) -> torch.nn.Linear:
    """Train a copy of a linear head on the features of a frozen encoder, which many heads can share.

    Args:
        head: The initial head.
        features: (N, H) of the items' texts, from `head_features`; or a function from texts to their features.
        items: What to train on.
        target: What the head learns; by default classes.
        seed: Seed of the order and the changed texts.
        options: Fields of `LearningOptions` as keywords, of which head_learning_rate, epochs, batch_size and
            activation apply.

    Returns:
        The trained head, on the CPU in float32.

    Raises:
        TypeError: If an option is unknown or has the wrong type.
        ValueError: If there is nothing to train on, or an option is out of range.
    """
    trained = copy.deepcopy(head).cpu().float().requires_grad_()
    steps = plan_steps(items, objective="mean", batch_size=options.batch_size, epochs=options.epochs, seed=seed)

    def logits(texts: NDArray[np.int64]) -> torch.Tensor:
        shared = features[torch.from_numpy(texts)] if isinstance(features, torch.Tensor) else features(texts)
        outputs: torch.Tensor = trained(shared)
        return outputs

    objective = Objective("mean", target, len(items.environments), options.activation)
    groups = [{"params": list(trained.parameters()), "weight_decay": 0.0}]
    _minimize(logits, groups, items, steps, objective, rate=options.head_learning_rate)
    return trained
