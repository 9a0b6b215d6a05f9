"""The one trainer of behavioral learning: a Trainer whose batches are planned steps and whose loss is a method's."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.foundations.options import takes
from rightreasons.foundations.validation import check_one_of, check_seed
from rightreasons.models.loading import quiet
from rightreasons.models.running.batching import Encoded, pad
from rightreasons.training.behavior.items import Items, Step, plan_steps
from rightreasons.training.behavior.losses import class_losses
from rightreasons.training.behavior.methods import Fish, GroupWeights, irm_loss, irm_weight, set_dropout
from rightreasons.training.behavior.options import METHODS, LearningOptions
from rightreasons.training.tuning.random_state import own_random_state

_MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")

Batch = dict[str, torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Target:
    """What a kind of model learns: how its batches are described, where its logits are, and what items lose.

    Attributes:
        describe: As `describe`: the texts of a step, and tensors with one row per item.
        logits: The logits of a model's output, one row per text.
        losses: As `class_losses`: from logits and a described batch to (…, n) losses.
    """

    describe: Callable[[Items, Step], tuple[NDArray[np.int64], Batch]]
    logits: Callable[[Any], torch.Tensor]
    losses: Callable[..., torch.Tensor]


def describe(items: Items, step: Step) -> tuple[NDArray[np.int64], Batch]:
    """Return the texts of a step, each once, and the columns of its items that losses and methods read."""
    chosen, shown = (np.array(column, dtype=np.int64) for column in zip(*step, strict=True))
    texts, places = np.unique(np.concatenate((items.first[chosen], shown)), return_inverse=True)
    return texts, {
        "first": torch.from_numpy(places[: len(chosen)]),
        "second": torch.from_numpy(places[len(chosen) :]),
        "targets": torch.from_numpy(items.targets[chosen]).float(),
        "rule": torch.from_numpy(items.rule[chosen]),
        "environment": torch.from_numpy(items.environment[chosen]),
    }


CLASSES = Target(describe, lambda outputs: outputs.logits, class_losses)
"""The target of a classifier."""


class _Steps(torch.utils.data.Dataset[Batch]):
    """The batches of a training in their order."""

    def __init__(self, encoded: Encoded, items: Items, steps: list[Step], target: Target) -> None:
        self.encoded, self.items, self.steps, self.target = encoded, items, steps, target

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, number: int) -> Batch:
        texts, batch = self.target.describe(self.items, self.steps[number])
        return {**pad(self.encoded, texts), **batch}


class BehaviorTrainer(transformers.Trainer):  # type: ignore[misc]
    """A Trainer whose batches are the steps of `plan_steps` and whose loss is that of a method.

    Args:
        target: What the model learns.
        objective: "mean", "irm", "dro" or "fish".
        n_environments: Number of environments.
        loss_options: Options of the target's losses.
        **options: Options of `Trainer`.
    """

    def __init__(
        self, *, target: Target, objective: str, n_environments: int, loss_options: dict[str, Any], **options: Any
    ) -> None:
        super().__init__(data_collator=lambda batches: batches[0], **options)
        self.target, self.objective, self.loss_options = target, objective, loss_options
        self.groups = GroupWeights(n_environments)
        if objective == "fish":
            self.add_callback(_OuterSteps(Fish(self.model, self.args.learning_rate)))

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the loss of a batch under the method's objective."""
        batch = {name: value for name, value in inputs.items() if name not in _MODEL_INPUTS}
        outputs = model(**{name: value for name, value in inputs.items() if name in _MODEL_INPUTS})
        loss = self.objective_of(self.target.logits(outputs), batch)
        return (loss, outputs) if return_outputs else loss

    def objective_of(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the loss of a batch from its logits."""
        if self.objective == "irm":
            present = torch.unique(batch["environment"]).tolist()
            progress = self.state.global_step / max(1, self.state.max_steps)
            return irm_loss(logits, [self._mean_loss(batch, number) for number in present], irm_weight(progress))
        loss = self.target.losses(logits, batch, **self.loss_options).mean()
        if self.objective == "dro":
            return self.groups.scale(int(batch["environment"][0]), loss)
        return loss

    def _mean_loss(self, batch: Batch, environment: int) -> Callable[[torch.Tensor], torch.Tensor]:
        inside = batch["environment"] == environment
        part = {name: value[inside] for name, value in batch.items()}
        return lambda logits: self.target.losses(logits, part, **self.loss_options).mean()


class _OuterSteps(transformers.TrainerCallback):  # type: ignore[misc]
    """Fish's outer step after every few optimizer steps."""

    def __init__(self, fish: Fish) -> None:
        self.fish = fish

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.fish.after_step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        # Inner steps of an unfinished round count for their share.
        self.fish.finish()


@takes(LearningOptions)
def train_on_behavior(
    model: Any,
    encoded: Encoded,
    items: Items,
    *,
    target: Target = CLASSES,
    method: str = "vanilla",
    seed: int = 0,
    device: str | None = None,
    progress: bool = False,
    options: LearningOptions,
) -> float:
    """Train a model on items by one method, in place.

    Args:
        model: A sequence classifier of transformers, or a model of another target.
        encoded: The items' texts, tokenized.
        items: What to train on.
        target: What the model learns; by default classes.
        method: A name of `METHODS`.
        seed: Seed of order, changed texts and dropout.
        device: "cpu" to keep off a GPU.
        progress: Whether to show a bar.
        options: Fields of `LearningOptions` as keywords: learning_rate, head_learning_rate, epochs, batch_size,
            activation, detach, precision.

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
        with tempfile.TemporaryDirectory() as scratch, own_random_state(seed), quiet():
            trainer = BehaviorTrainer(
                target=target,
                objective=chosen.objective,
                n_environments=len(items.environments),
                loss_options=options.of_loss,
                model=model,
                train_dataset=_Steps(encoded, items, steps, target),
                args=transformers.TrainingArguments(
                    output_dir=scratch,
                    num_train_epochs=1,
                    per_device_train_batch_size=1,  # a "sample" is a whole batch
                    learning_rate=options.head_learning_rate if only_head else options.learning_rate,
                    weight_decay=chosen.weight_decay,
                    seed=seed,
                    use_cpu=device == "cpu",
                    bf16=options.precision == "bfloat16",
                    disable_tqdm=not progress,
                    report_to="none",
                    save_strategy="no",
                    logging_strategy="no",
                    remove_unused_columns=False,
                    dataloader_pin_memory=False,
                ),
            )
            trainer.remove_callback(transformers.PrinterCallback)
            loss = float(trainer.train().training_loss)
        if not np.isfinite(loss):
            raise ValueError(f"Expected a finite training loss, but got {loss}: lower `learning_rate`.")
    model.requires_grad_(True)
    return loss
