"""The one trainer of behavioral learning, and the shared training of many heads on a frozen encoder."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_bool, check_count, check_number, check_one_of, check_seed
from rightreasons.models.loading import quiet
from rightreasons.models.running.batching import Encoded, length_batches, pad
from rightreasons.models.running.frozen import frozen
from rightreasons.training.behavior.items import RULES, Items, Step, plan_steps
from rightreasons.training.behavior.losses import ACTIVATIONS, DIRECTIONS, dir_loss, inv_loss, mft_loss
from rightreasons.training.behavior.methods import Fish, GroupWeights, find_method, irm_loss, irm_weight, set_dropout
from rightreasons.training.tuning.finetune import own_random_state

PRECISIONS = ("float32", "bfloat16")

_RATES = ("learning_rate", "head_learning_rate", "epochs")

_MODEL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def item_losses(
    logits: torch.Tensor,
    about: dict[str, torch.Tensor],
    *,
    activation: str = "softmax",
    detach: bool = False,
) -> torch.Tensor:
    """Give each item of a batch the loss of its rule.

    Args:
        logits: (…, N, C) of the batch's texts.
        about: `first` and `second` (n,) texts of each item, `targets` (n, C), `rule` (n,) numbers in `RULES`.
        activation: As in `mft_loss`.
        detach: As in `inv_loss`.

    Returns:
        (…, n) losses.
    """
    before, after = logits[..., about["first"], :], logits[..., about["second"], :]
    losses = mft_loss(before, about["targets"].to(logits.dtype), activation=activation)
    for number in torch.unique(about["rule"]).tolist():
        if RULES[number] in DIRECTIONS:
            of_rule = dir_loss(before, after, RULES[number])
        elif RULES[number] == "invariant":
            of_rule = inv_loss(before, after, detach=detach)
        else:
            continue
        losses = torch.where(about["rule"] == number, of_rule, losses)
    return losses


def describe(items: Items, step: Step) -> tuple[NDArray[np.int64], dict[str, torch.Tensor]]:
    """Return the texts of a step, each once, and what `item_losses` wants to know of its items."""
    chosen, shown = (np.array(column, dtype=np.int64) for column in zip(*step, strict=True))
    texts, places = np.unique(np.concatenate((items.first[chosen], shown)), return_inverse=True)
    return texts, {
        "first": torch.from_numpy(places[: len(chosen)]),
        "second": torch.from_numpy(places[len(chosen) :]),
        "targets": torch.from_numpy(items.targets[chosen]).float(),
        "rule": torch.from_numpy(items.rule[chosen]),
        "environment": torch.from_numpy(items.environment[chosen]),
    }


@dataclasses.dataclass(frozen=True)
class Target:
    """What a kind of model learns: how its batches are described, where its logits are, and what items lose.

    Attributes:
        describe: As `describe`: the texts of a step, and tensors of one row an item.
        logits: The logits of a model's output, one row a text.
        losses: As `item_losses`: from logits and what `describe` says to (…, n) losses.
    """

    describe: Callable[[Items, Step], tuple[NDArray[np.int64], dict[str, torch.Tensor]]]
    logits: Callable[[Any], torch.Tensor]
    losses: Callable[..., torch.Tensor]


CLASSES = Target(describe, lambda outputs: outputs.logits, item_losses)
"""A classifier."""


class _Steps(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """The batches of a training in their order."""

    def __init__(self, encoded: Encoded, items: Items, steps: list[Step], target: Target) -> None:
        self.encoded, self.items, self.steps, self.target = encoded, items, steps, target

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        texts, about = self.target.describe(self.items, self.steps[number])
        return {**pad(self.encoded, texts), **about}


class BehaviorTrainer(transformers.Trainer):  # type: ignore[misc]
    """A Trainer whose batches are the steps of `plan_steps` and whose loss is that of a method.

    Args:
        target: What the model learns.
        objective: "mean", "irm", "dro" or "fish".
        n_environments: How many environments there are.
        activation: As in `mft_loss`.
        detach: As in `inv_loss`.
        **options: Those of `Trainer`.
    """

    def __init__(
        self,
        *,
        target: Target = CLASSES,
        objective: str = "mean",
        n_environments: int = 1,
        activation: str = "softmax",
        detach: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(data_collator=lambda batches: batches[0], **options)
        self.target, self.objective = target, objective
        self.options = {"activation": activation, "detach": detach}
        self.groups = GroupWeights(n_environments)
        if objective == "fish":
            self.add_callback(_OuterSteps(Fish(self.model, self.args.learning_rate)))

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Return the loss of a batch by the method's objective."""
        about = {name: value for name, value in inputs.items() if name not in _MODEL_INPUTS}
        outputs = model(**{name: value for name, value in inputs.items() if name in _MODEL_INPUTS})
        loss = self.objective_of(self.target.logits(outputs), about)
        return (loss, outputs) if return_outputs else loss

    def objective_of(self, logits: torch.Tensor, about: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of a batch from its logits."""
        if self.objective == "irm":
            present = torch.unique(about["environment"]).tolist()
            progress = self.state.global_step / max(1, self.state.max_steps)
            return irm_loss(logits, [self._mean_of(about, number) for number in present], irm_weight(progress))
        loss = self.target.losses(logits, about, **self.options).mean()
        if self.objective == "dro":
            return self.groups.scale(int(about["environment"][0]), loss)
        return loss

    def _mean_of(self, about: dict[str, torch.Tensor], environment: int) -> Callable[[torch.Tensor], torch.Tensor]:
        inside = about["environment"] == environment
        part = {name: value[inside] for name, value in about.items()}
        return lambda logits: self.target.losses(logits, part, **self.options).mean()


class _OuterSteps(transformers.TrainerCallback):  # type: ignore[misc]
    """Fish's outer step after every few optimizer steps."""

    def __init__(self, fish: Fish) -> None:
        self.fish = fish

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.fish.after_step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        # Inner steps that begin another round count for their share of the way.
        self.fish.finish()


def check_training_option(name: str, value: Any, *, called: str | None = None) -> None:
    """Check the value of an option of `train_on_behavior`.

    Args:
        name: The option.
        value: Its value.
        called: What errors call it; None for its name.

    Raises:
        TypeError: If the value is of the wrong kind.
        ValueError: If it is out of range.
    """
    shown = called or name
    if name in _RATES:
        if check_number(value, shown, minimum=0.0) == 0:
            raise ValueError(f"Expected `{shown}` to be above 0, but got {value}.")
    elif name == "batch_size":
        check_count(value, shown)
    elif name == "activation":
        check_one_of(value, ACTIVATIONS, shown)
    elif name == "detach":
        check_bool(value, shown)
    elif name == "precision":
        check_one_of(value, PRECISIONS, shown)


def train_on_behavior(
    model: Any,
    encoded: Encoded,
    items: Items,
    *,
    target: Target = CLASSES,
    method: str = "vanilla",
    learning_rate: float = 2e-5,
    head_learning_rate: float = 5e-4,
    epochs: float = 1.0,
    batch_size: int = 8,
    activation: str = "softmax",
    detach: bool = False,
    precision: str = "float32",
    seed: int = 0,
    device: str | None = None,
    progress: bool = False,
) -> float:
    """Train a model on items by one method, in place.

    Args:
        model: A sequence classifier of transformers, or a model of another target.
        encoded: The items' texts, tokenized.
        items: What to train on.
        target: What the model learns; by default classes.
        method: A name of `METHODS`.
        learning_rate: Largest learning rate where everything is trained; it falls linearly.
        head_learning_rate: That where the head alone is trained.
        epochs: Passes over the items, shared among the phases of the method.
        batch_size: Texts of a batch; pairs come in batches of half as many.
        activation: As in `mft_loss`.
        detach: As in `inv_loss`.
        precision: "float32", or "bfloat16" to multiply in it: about three times faster where the hardware has it. The
            weights stay in float32.
        seed: Seed of order, changed texts and dropout.
        device: "cpu" to keep off a GPU.
        progress: Whether to show a bar.

    Returns:
        The mean training loss of the last phase.

    Raises:
        TypeError: If an option is of the wrong kind.
        ValueError: If the method is unknown, an option is out of range, there is nothing to train on, or the loss
            diverged.
    """
    chosen = find_method(method)
    check_seed(seed)
    for name, value in (
        ("learning_rate", learning_rate),
        ("head_learning_rate", head_learning_rate),
        ("epochs", epochs),
        ("batch_size", batch_size),
        ("activation", activation),
        ("detach", detach),
        ("precision", precision),
    ):
        check_training_option(name, value)
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
            batch_size=batch_size,
            epochs=epochs / len(chosen.phases),
            seed=seed + number,
        )
        with tempfile.TemporaryDirectory() as scratch, own_random_state(seed), quiet():
            trainer = BehaviorTrainer(
                target=target,
                objective=chosen.objective,
                n_environments=len(items.environments),
                activation=activation,
                detach=detach,
                model=model,
                train_dataset=_Steps(encoded, items, steps, target),
                args=transformers.TrainingArguments(
                    output_dir=scratch,
                    num_train_epochs=1,
                    per_device_train_batch_size=1,  # a "sample" is a whole batch
                    learning_rate=head_learning_rate if only_head else learning_rate,
                    weight_decay=chosen.weight_decay,
                    seed=seed,
                    use_cpu=device == "cpu",
                    bf16=precision == "bfloat16",
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
            raise ValueError(f"Expected a finite training loss, but it is {loss}: lower `learning_rate`.")
    model.requires_grad_(True)
    return loss


def linear_head(model: Any) -> torch.nn.Linear:
    """Return the linear layer that a classifier ends in.

    Raises:
        ValueError: If its head is more than one linear layer.
    """
    parts = [(name, part) for name, part in model.named_children() if name != model.base_model_prefix]
    layers = [part for _, part in parts if any(True for _ in part.parameters())]
    if len(layers) != 1 or not isinstance(layers[0], torch.nn.Linear):
        raise ValueError(
            f"Expected a classifier with one linear layer as its head, but {type(model).__name__} has "
            f"{', '.join(name for name, _ in parts)}."
        )
    return layers[0]


def head_inputs(model: Any, encoded: Encoded) -> Callable[[NDArray[np.int64]], torch.Tensor]:
    """Return what computes, for some texts, the (n, …, H) float32 features on the CPU that enter the linear head.

    The model computes them as it is: freeze it first, so that no dropout is in them.
    """
    head = linear_head(model)

    def features(texts: NDArray[np.int64]) -> torch.Tensor:
        seen: list[torch.Tensor] = []
        hook = head.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].float().cpu()))
        try:
            with torch.no_grad():
                model(**pad(encoded, texts, model.device))
        finally:
            hook.remove()
        return seen[0]

    return features


def head_features(model: Any, encoded: Encoded, *, batch_size: int = 64) -> torch.Tensor:
    """Compute what enters the linear head, once for every text, without dropout.

    Returns:
        (N, H) float32 features on the CPU.
    """
    inputs, features = head_inputs(model, encoded), torch.empty(len(encoded), linear_head(model).in_features)
    with frozen(model):
        for batch in length_batches(encoded.lengths, batch_size=batch_size):
            features[torch.from_numpy(batch)] = inputs(batch)
    return features


def train_heads(
    head: torch.nn.Linear,
    features: torch.Tensor | Callable[[NDArray[np.int64]], torch.Tensor],
    items: Items,
    held_out: NDArray[np.bool_],
    *,
    target: Target = CLASSES,
    learning_rate: float = 5e-4,
    epochs: float = 1.0,
    batch_size: int = 8,
    activation: str = "softmax",
    detach: bool = False,
    seed: int = 0,
) -> list[torch.nn.Linear]:
    """Train one head for each set of held-out items, all in one pass over features that were computed once.

    All heads see the same batches; each leaves its held-out items out of its mean, and takes no step where nothing is
    left. AdamW without weight decay, gradients clipped to norm 1, the learning rate falling linearly: what `Trainer`
    does to one head.

    Args:
        head: Where all begin.
        features: (N, H) of the items' texts, from `head_features`; or what gives those of some texts, (n, …, H).
        items: The items.
        held_out: (K, n) whether head k is kept from item i.
        target: What the heads learn; by default classes.
        learning_rate: Largest learning rate.
        epochs: Passes over the items.
        batch_size: As in `train_on_behavior`.
        activation: As in `mft_loss`.
        detach: As in `inv_loss`.
        seed: Seed of the order and the changed texts.

    Returns:
        K heads.

    Raises:
        ValueError: If a head is kept from every item.
    """
    if held_out.all(axis=1).any():
        raise ValueError("Expected items to train on, but everything is held out.")
    steps = plan_steps(items, objective="mean", batch_size=batch_size, epochs=epochs, seed=seed)
    n_heads, n_classes = len(held_out), head.out_features
    # The bias is one more column.
    start = torch.cat((head.weight.detach(), head.bias.detach()[:, None]), dim=1).float().cpu()
    weights = start.expand(n_heads, *start.shape).clone().requires_grad_()
    if isinstance(features, torch.Tensor):
        table = _with_ones(features)
        inputs: Callable[[NDArray[np.int64]], torch.Tensor] = lambda texts: table[torch.from_numpy(texts)]  # noqa: E731
    else:
        inputs = lambda texts: _with_ones(features(texts))  # noqa: E731
    kept = torch.from_numpy(~held_out).float()
    mean, square, taken = torch.zeros(weights.shape), torch.zeros(weights.shape), torch.zeros(n_heads, 1, 1)
    for number, step in enumerate(steps):
        texts, about = target.describe(items, step)
        inside = kept[:, [item for item, _ in step]]
        counts = inside.sum(1)
        logits = inputs(texts) @ weights.reshape(n_heads * n_classes, -1).T
        logits = logits.reshape(*logits.shape[:-1], n_heads, n_classes).movedim(-2, 0)
        losses = target.losses(logits, about, activation=activation, detach=detach)
        total = ((losses * inside).sum(1) / counts.clamp(min=1)).sum()
        (slope,) = torch.autograd.grad(total, weights)
        with torch.no_grad():
            # torch's clip_grad_norm_, head by head
            slope = slope * (1.0 / (slope.flatten(1).norm(dim=1) + 1e-6)).clamp(max=1.0)[:, None, None]
            steps_now = (counts > 0)[:, None, None]
            taken += steps_now
            mean = torch.where(steps_now, 0.9 * mean + 0.1 * slope, mean)
            square = torch.where(steps_now, 0.999 * square + 0.001 * slope**2, square)
            bias1, bias2 = 1 - 0.9 ** taken.clamp(min=1), 1 - 0.999 ** taken.clamp(min=1)
            rate = learning_rate * (1 - number / len(steps))
            moved = rate * (mean / bias1) / ((square / bias2).sqrt() + 1e-8)
            weights -= torch.where(steps_now, moved, 0.0)
    heads = []
    for table in weights.detach():
        own = copy.deepcopy(head).cpu()
        with torch.no_grad():
            own.weight.copy_(table[:, :-1])
            own.bias.copy_(table[:, -1])
        heads.append(own)
    return heads


def _with_ones(features: torch.Tensor) -> torch.Tensor:
    return torch.cat((features, torch.ones(*features.shape[:-1], 1)), dim=-1)
