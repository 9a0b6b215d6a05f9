"""The training of a model on items by one method."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch

from rightreasons.behavior.learning.items import CLASSES, Batch, Items, Step, Target, plan_steps
from rightreasons.behavior.learning.methods import (
    GroupWeights,
    has_dropout,
    irm_loss,
    irm_weight,
    set_dropout,
)
from rightreasons.behavior.learning.options import METHODS, LearningOptions, Method
from rightreasons.core.errors import OptionError
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.signals import stop_if_signaled
from rightreasons.core.validation import check_one_of, check_seed
from rightreasons.models.batching import Encoded, pad
from rightreasons.models.weights import explain_untrainable, unwrap_model
from rightreasons.training.finetune import seed_random_state


class Fish:
    """The outer step of Fish: move the parameters only a fraction of the way that inner steps moved them.

        theta <- theta + rate (inner - theta)

    Each round starts from the parameters theta, takes several inner steps, each on the data of one
    environment, which lead to the parameters inner, and ends with the outer step.

    Args:
        parameters: Parameters that are trained.
        rate: Fraction of the way, in (0, 1].
        inner_steps: Number of inner steps per round; default 5.

    References:
        Shi, Seely, Torr, Siddharth, Hannun, Usunier and Synnaeve (2022), "Gradient Matching for
        Domain Generalization", ICLR, algorithm 2.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], rate: float, *, inner_steps: int = 5
    ) -> None:
        """Copy the values of the parameters at the start of the first round."""
        self.parameters = list(parameters)
        self.rate = rate
        self.inner_steps = inner_steps
        self._n_steps = 0
        self._starts = [parameter.detach().clone() for parameter in self.parameters]

    def after_step(self) -> None:
        """Count an inner step. If it was the last one of a round, take the outer step."""
        self._n_steps += 1
        if self._n_steps % self.inner_steps == 0:
            self.finish()

    @torch.no_grad()
    def finish(self) -> None:
        """Take the outer step: start + rate (present value - start) for each parameter."""
        for parameter, start in zip(self.parameters, self._starts, strict=True):
            # The result is also the start of the next round.
            start.lerp_(parameter, self.rate)
            parameter.copy_(start)


class Objective:
    """The loss that a method minimizes.

    Args:
        name: "mean", "irm", "dro" or "fish".
        target: Functions that compute the losses of a classifier or a question-answering model.
        n_environments: Number of environments, which are the functionalities and the independent data.
        activation: Activation in the loss of labels, "softmax" or "sigmoid".
    """

    def __init__(self, name: str, target: Target, n_environments: int, activation: str) -> None:
        self.name = name
        self.target = target
        self.activation = activation
        self.groups = GroupWeights(n_environments)

    def __call__(self, logits: torch.Tensor, batch: Batch, progress: float) -> torch.Tensor:
        """Return the loss of a batch.

        Args:
            logits: Logits of the batch's texts.
            batch: Columns of the batch, with one row per item, such as `targets` and `environment`.
            progress: Fraction of the training that is done, in [0, 1].

        Returns:
            A scalar.
        """
        if self.name == "irm":
            losses = []
            for environment in torch.unique(batch["environment"]).tolist():
                losses.append(self._make_mean_loss(batch, environment))
            return irm_loss(logits, losses, irm_weight(progress))
        loss = self.target.losses(logits, batch, activation=self.activation).mean()
        if self.name == "dro":
            # All items of a batch are of the same environment, which is a group of Group-DRO.
            return self.groups.scale(int(batch["environment"][0]), loss)
        return loss

    def _make_mean_loss(
        self, batch: Batch, environment: int
    ) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a function from the logits of a batch to the mean loss of one environment.

        IRM needs a function, and not a value, because it differentiates the loss by a scale of the logits.

        Args:
            batch: Columns of the batch.
            environment: Number of the environment.
        """
        # Every column of a batch has one row per item.
        is_member = batch["environment"] == environment
        environment_batch = {name: column[is_member] for name, column in batch.items()}

        def compute_mean_loss(logits: torch.Tensor) -> torch.Tensor:
            losses = self.target.losses(logits, environment_batch, activation=self.activation)
            return losses.mean()

        return compute_mean_loss


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
        items: Labeled texts, and pairs of an original and its changed texts.
        target: Functions that compute the losses of the model; by default those of a classifier.
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
    check_one_of(method, tuple(METHODS), "method")
    check_seed(seed)
    parts = METHODS[method]
    # Unwrap the model: layers of the head are recognized by their names, which a wrapper changes.
    model = unwrap_model(getattr(model, "_orig_mod", model))
    reason = explain_untrainable(model)
    if reason:
        raise ValueError(reason)
    if parts.dropout is not None:
        _set_dropout_of_method(model, parts.dropout, encoded, method, seed)

    loss = float("nan")
    for number, phase in enumerate(parts.phases):
        only_head = phase == "head"
        _freeze_body(model, is_frozen=only_head)
        learning_rate = options.learning_rate
        if only_head:
            learning_rate = options.head_learning_rate
        steps = plan_steps(
            items,
            objective=parts.objective,
            batch_size=options.batch_size,
            epochs=options.epochs / len(parts.phases),
            seed=seed + number,
        )
        n_environments = len(items.environments)
        phase_training = _Phase(
            model=model,
            parts=parts,
            objective=Objective(parts.objective, target, n_environments, options.activation),
            learning_rate=learning_rate,
            options=options,
        )
        with seed_random_state(seed):
            loss = phase_training.run(encoded, items, steps)
        if not np.isfinite(loss):
            raise OptionError(
                f"Expected a finite training loss, but got {loss}. Lower `learning_rate`.",
                option="learning_rate",
            )
    # Unfreeze the body, which the last phase may have frozen.
    model.requires_grad_(True)
    return loss


@dataclasses.dataclass(frozen=True, eq=False)
class _Phase:
    """One phase of a training, with its own optimizer.

    Attributes:
        model: The model, with frozen parameters if only its head is trained.
        parts: The parts of the method.
        objective: The loss.
        learning_rate: Rate at the first step; it falls linearly.
        options: Options of the training.
    """

    model: Any
    parts: Method
    objective: Objective
    learning_rate: float
    options: LearningOptions

    def run(self, encoded: Encoded, items: Items, steps: Sequence[Step]) -> float:
        """Take all steps of the phase, and return their mean loss.

        Args:
            encoded: Tokens of the items' texts.
            items: All items.
            steps: For each step, pairs (number of an item, number of its changed text).
        """
        parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        # As `Trainer` does: AdamW, clipping to norm 1, a rate that falls linearly.
        optimizer = torch.optim.AdamW(
            _group_parameters(parameters, self.parts.weight_decay), lr=self.learning_rate
        )
        fish = None
        if self.parts.objective == "fish":
            fish = Fish(parameters, self.options.fish_rate)

        # For a rate of 0, use evaluation mode, in which no dropout is applied, even one whose rate
        # cannot be set.
        self.model.train(self.parts.dropout != 0.0)
        total = 0.0
        for number, step in enumerate(steps):
            stop_if_signaled()
            progress = number / len(steps)
            for group in optimizer.param_groups:
                group["lr"] = self.learning_rate * (1 - progress)
            loss = self._compute_loss(encoded, items, step, progress)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            total += float(loss.detach())
            if fish is not None:
                fish.after_step()
        if fish is not None:
            # The last round may have fewer inner steps.
            fish.finish()
        return total / len(steps)

    def _compute_loss(
        self, encoded: Encoded, items: Items, step: Step, progress: float
    ) -> torch.Tensor:
        """Run the model on the texts of a step, and return the loss, which can be differentiated.

        Args:
            encoded: Tokens of the items' texts.
            items: All items.
            step: Pairs (number of an item, number of its changed text).
            progress: Fraction of the phase that is done.
        """
        device = self.model.device
        target = self.objective.target
        texts, columns = target.describe(items, step)
        is_bfloat16 = self.options.precision == "bfloat16"
        with torch.autocast(device.type, torch.bfloat16, enabled=is_bfloat16):
            outputs = self.model(**pad(encoded, texts, device))
            # Losses are computed in full precision, as in transformers.
            logits = target.logits(outputs).float()
        batch = {name: column.to(logits.device) for name, column in columns.items()}
        return self.objective(logits, batch, progress)


def _set_dropout_of_method(
    model: Any, rate: float, encoded: Encoded, method: str, seed: int
) -> None:
    """Set the dropout rate of a method, and check that the model applies it.

    Args:
        model: The model, which is changed.
        rate: Rate of dropout; 0 for none.
        encoded: Tokenized texts. The first one is used for the check.
        method: Name of the method, for the error message.
        seed: Seed of the dropout in the check.

    Raises:
        OptionError: If the model has no dropout, so that the method would not differ from another one.
    """
    set_dropout(model, rate)
    if rate == 0.0:
        return
    # A model may ignore the rate that was set, so that two passes over one text are compared.
    with seed_random_state(seed):
        inputs = pad(encoded, np.array([0]), model.device)
        is_applied = has_dropout(model, inputs)
    if not is_applied:
        raise OptionError(
            f"Expected a model with dropout for method={method!r}, but {type(model).__name__} has "
            "no dropout. Omit this method.",
            option="method",
        )


def _freeze_body(model: Any, *, is_frozen: bool) -> None:
    """Exclude the body of a model, which is all but its head, from training, or include it again."""
    body_prefix = f"{model.base_model_prefix}."
    for name, parameter in model.named_parameters():
        is_body = name.startswith(body_prefix)
        is_trained = not (is_frozen and is_body)
        parameter.requires_grad_(is_trained)


def _group_parameters(
    parameters: Sequence[torch.nn.Parameter], weight_decay: float
) -> list[dict[str, Any]]:
    """Return parameter groups for an optimizer, with weight decay for matrices only.

    Biases and the weights of norms are vectors: pulling them to 0 does not make a model simpler.

    Args:
        parameters: Parameters that are trained.
        weight_decay: Weight decay of the matrices.
    """
    matrices = [parameter for parameter in parameters if parameter.ndim > 1]
    vectors = [parameter for parameter in parameters if parameter.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
