"""The training of a model on items by one method."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from rightreasons.behavior.learning.items import CLASSES, Batch, Items, Target, plan_steps
from rightreasons.behavior.learning.methods import GroupWeights, irm_loss, irm_weight, set_dropout
from rightreasons.behavior.learning.options import METHODS, LearningOptions
from rightreasons.core.errors import OptionError
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.signals import stop_if_signaled
from rightreasons.core.validation import check_one_of, check_seed
from rightreasons.models.batching import Encoded, pad
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

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], rate: float, *, inner_steps: int = 5
    ) -> None:
        self.parameters, self.rate, self.inner_steps, self._steps = (
            list(parameters),
            rate,
            inner_steps,
            0,
        )
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
            return irm_loss(
                logits, [self._mean_loss(batch, number) for number in present], irm_weight(progress)
            )
        loss = self.target.losses(logits, batch, activation=self.activation).mean()
        return self.groups.scale(int(batch["environment"][0]), loss) if self.name == "dro" else loss

    def _mean_loss(self, batch: Batch, environment: int) -> Callable[[torch.Tensor], torch.Tensor]:
        inside = batch["environment"] == environment
        part = {name: value[inside] for name, value in batch.items()}
        return lambda logits: self.target.losses(logits, part, activation=self.activation).mean()


@accept_options_as_keywords(LearningOptions)
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
            parameter.requires_grad_(
                not (only_head and name.startswith(f"{model.base_model_prefix}."))
            )
        steps = plan_steps(
            items,
            objective=chosen.objective,
            batch_size=options.batch_size,
            epochs=options.epochs / len(chosen.phases),
            seed=seed + number,
        )
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        groups = [
            {
                "params": [each for each in trained if each.ndim > 1],
                "weight_decay": chosen.weight_decay,
            },
            {"params": [each for each in trained if each.ndim <= 1], "weight_decay": 0.0},
        ]
        objective = Objective(chosen.objective, target, len(items.environments), options.activation)
        fish = Fish(trained, options.fish_rate) if chosen.objective == "fish" else None
        rate = options.head_learning_rate if only_head else options.learning_rate

        with own_random_state(seed):
            model.train()
            # As `Trainer` does: AdamW, clipping to norm 1, a rate that falls linearly.
            optimizer, total = torch.optim.AdamW(groups, lr=rate), 0.0
            for step_number, step in enumerate(steps):
                stop_if_signaled()
                done = step_number / len(steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate * (1 - done)
                texts, described = target.describe(items, step)
                with torch.autocast(
                    model.device.type, torch.bfloat16, enabled=options.precision == "bfloat16"
                ):
                    logits = target.logits(model(**pad(encoded, texts, model.device))).float()
                batch = {name: column.to(logits.device) for name, column in described.items()}
                step_loss = objective(logits, batch, done)
                optimizer.zero_grad()
                step_loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(trained, 1.0)
                optimizer.step()
                total += float(step_loss.detach())
                if fish is not None:
                    fish.after_step()
            if fish is not None:
                fish.finish()  # inner steps of an unfinished round count for their share
        loss = total / len(steps)
        if not np.isfinite(loss):
            raise OptionError(
                f"Expected a finite training loss, but got {loss}: lower `learning_rate`.",
                option="learning_rate",
            )
    model.requires_grad_(True)
    return loss
