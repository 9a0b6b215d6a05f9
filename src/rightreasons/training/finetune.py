"""Fine-tune an encoder into a classifier or a multiple-choice model, on transformers' Trainer."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError, get_first_line
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.results import Result
from rightreasons.core.signals import defer_stop, is_progress_visible, is_signaled
from rightreasons.core.store import (
    check_folder,
    digest_files,
    digest_package_code,
    list_changed_files,
    lock_folder,
    set_aside,
    write_bytes,
)
from rightreasons.models.batching import ensure_padding
from rightreasons.models.loading import (
    agree_on_padding,
    check_model,
    load_tokenizer,
    position_bound,
    quiet,
)
from rightreasons.models.running import Processes, Store, fingerprint_model, open_store, processes
from rightreasons.models.weights import adapter_of, quantized
from rightreasons.training.callbacks import AttachedCallback
from rightreasons.training.examples import (
    Examples,
    Table,
    as_dataset,
    encoded_examples,
    find_label_names,
    task_of,
)
from rightreasons.training.metrics import compute_metrics
from rightreasons.training.options import TuningOptions


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore the global random states afterwards, whatever is drawn from them meanwhile."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])  # noqa: NPY002


@contextmanager
def own_random_state(seed: int) -> Iterator[None]:
    """Seed the global random states, which transformers draws from, and restore them afterwards."""
    with kept_random_state():
        transformers.set_seed(seed)
        yield


_MEGABATCHES = 50


class LengthGroupedSampler(torch.utils.data.Sampler[int]):
    """Shuffled batches of examples of similar length, in an order that depends only on (seed, epoch).

    The sampler of transformers draws from the global random state, so a run that resumes within an epoch sees another
    order than the killed run: some examples twice and some never. This one repeats its order.

    Each epoch shuffles the examples, sorts every 50 batches of them by length, and shuffles these batches. The batch
    with the longest example comes first, so that a batch too large for memory fails at once.

    Args:
        lengths: (N,) tokens of each example.
        batch_size: Examples per batch, over all processes.
        seed: Seed of the order.
    """

    def __init__(self, lengths: NDArray[np.int64], batch_size: int, seed: int) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, at the start of each and when a run resumes."""
        self.epoch = int(epoch)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        stretch = _MEGABATCHES * self.batch_size
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), stretch):
            part = order[start : start + stretch]
            part = part[np.argsort(-self.lengths[part], kind="stable")]
            cut = [part[i : i + self.batch_size] for i in range(0, len(part), self.batch_size)]
            # An incomplete batch stays at the end of its stretch, and so of the epoch: only the last can be incomplete.
            full = len(cut) - (len(cut[-1]) < self.batch_size)
            batches.extend(cut[i] for i in [*rng.permutation(full), *range(full, len(cut))])
        longest = max(
            (i for i, batch in enumerate(batches) if len(batch) == self.batch_size),
            key=lambda i: int(self.lengths[batches[i]].max()),
            default=0,
        )
        batches[0], batches[longest] = batches[longest], batches[0]
        return iter(np.concatenate(batches).tolist())


RESULT = "result.json"
CHECKPOINTS = "checkpoints"
DECIDING = ("task", "epochs", "learning_rate", "freeze_encoder", "weight_decay", "warmup", "seed")


# The classes of a task's models and of its data collator.
_TASKS: dict[str, tuple[Any, Any]] = {
    "classification": (
        transformers.AutoModelForSequenceClassification,
        transformers.DataCollatorWithPadding,
    ),
    "multiple_choice": (
        transformers.AutoModelForMultipleChoice,
        transformers.DataCollatorForMultipleChoice,
    ),
}


@dataclasses.dataclass(frozen=True)
class FineTuned(Result):
    """A finished fine-tuning run.

    Attributes:
        folder: Folder of the model and the tokenizer, for `load_classifier` or `load_multiple_choice`.
        task: "classification" or "multiple_choice".
        label_names: The classes in the order of the logits; None for multiple choice.
        n_train: Training examples.
        n_validation: Validation examples; None without a validation set.
        n_truncated: Training texts (or pairs of prompt and choice) that were longer than `max_length` and were cut.
        n_steps: Optimizer steps.
        epochs: Passes over the training set.
        metrics: Figures on the validation set as `compute_metrics` names them, and the `loss`; empty without a set.
        seconds: Wall time of the call that finished the run.
        resumed_from_step: The step at which it resumed after an earlier call was killed; None if none was.
    """

    folder: str
    task: str
    label_names: tuple[str, ...] | None
    n_train: int
    n_validation: int | None
    n_truncated: int
    n_steps: int
    epochs: float
    metrics: Mapping[str, float | None]
    seconds: float
    resumed_from_step: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class Objective:
    """What a training minimizes, other than the model's own loss.

    Attributes:
        trainer_class: A subclass of `Trainer`, for another objective (`compute_loss`) or another loop.
        extra_columns: Numeric columns of the tables that go into the batch; for multiple choice, one value per choice.
    """

    trainer_class: type[transformers.Trainer] = transformers.Trainer
    extra_columns: Sequence[str] = ()


@accept_options_as_keywords(TuningOptions)
def fine_tune(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    *,
    out: str | os.PathLike[str],
    options: TuningOptions,
    validation: Table | None = None,
    metrics: Sequence[str] | Callable[..., Mapping[str, Any]] = ("accuracy", "f1", "ece"),
    objective: Objective = Objective(),
    callbacks: Sequence[transformers.TrainerCallback] = (),
    training_arguments: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
    device: str | None = None,
    progress: bool = True,
) -> FineTuned:
    """Fine-tune an encoder on labeled texts and save a model that `load_classifier` loads.

    AdamW with a linear schedule, batches of similar lengths, every random draw from `seed`; the caller's random state
    is restored. A run that is killed resumes from its last checkpoint when the same call is repeated, and ends with the
    same model as an uninterrupted run. A finished run is loaded and not repeated.

    Args:
        model_name_or_path: An encoder or a classifier: a folder or a hub id. Weights that it lacks for the task (the
            head) are drawn from `seed`.
        train: A `datasets.Dataset`, a mapping of columns or a list of rows: `text` (optionally `text_pair`) and `label`
            for classification; `prompt`, `choices` (equally many in each example) and `label` for multiple choice.
        out: The folder of the model: new, empty, or of the same call.
        options: Fields of `TuningOptions` as keywords: task, label_names, epochs, learning_rate, freeze_encoder,
            batch_size, max_length, weight_decay, warmup, seed, checkpoint_steps, revision.
        validation: Examples to evaluate on after each epoch, in the form of `train`.
        metrics: Names for `compute_metrics`, or a `compute_metrics` of your own.
        objective: Another objective than the model's own loss.
        callbacks: Trainer callbacks. The state of one that exports it (`ExportableState`) survives a resume.
        training_arguments: Further `TrainingArguments`, such as {"load_best_model_at_end": True,
            "metric_for_best_model": "eval_ece", "greater_is_better": False, "save_strategy": "epoch"}. {"bf16": True}
            multiplies in bfloat16, two to three times faster where the hardware has it; weights stay float32.
        record: Whatever else the result depends on, as plain values: the options of your objective or callbacks. It is
            stored with the run, so that a call with other values is not mistaken for this run.
        device: "cpu" to keep off a GPU; None takes what is there.
        progress: Whether to show progress bars and the log.

    Returns:
        A `FineTuned`: folder, task, label names, counts, steps, epochs, metrics, seconds, and the step
        at which it resumed.

    Raises:
        TypeError: If something has the wrong type, or an option is unknown.
        ValueError: If a column is missing, a label does not fit, an option is out of range, `out` holds something else,
            or the loss diverged.

    References:
        Devlin, Chang, Lee, Toutanova (2019), BERT, section 4; Mosbach, Andriushchenko, Klakow (2021), On the Stability
        of Fine-tuning BERT, for the warm-up and the small learning rate.
    """
    began = time.perf_counter()
    check_folder(out)
    kind = options.task or task_of(train)
    options = options.replace(task=kind)
    model_class, collator = _TASKS[kind]
    name, workers = check_model(model_name_or_path), processes()
    train_table = as_dataset(train, kind, "train")
    valid_table = None if validation is None else as_dataset(validation, kind, "validation")
    names = find_label_names(train_table, options.label_names) if kind == "classification" else None
    tokenizer = load_tokenizer(name, options.revision)
    with contextlib.ExitStack() as held, own_random_state(options.seed), quiet():
        model, untrained = _load(model_class, name, options.revision, names)
        ensure_padding(tokenizer)
        agree_on_padding(model, tokenizer)
        max_length = min(options.max_length, position_bound(model) or options.max_length)
        encode = functools.partial(
            encoded_examples,
            tokenizer,
            max_length,
            label_names=names,
            extra_columns=objective.extra_columns,
        )
        train_set = encode(train_table, "train")
        valid_set = None if valid_table is None else encode(valid_table, "validation")
        # Sorted, batches need less padding. A function of the caller may know items by their order.
        if valid_set is not None and not callable(metrics):
            valid_set = valid_set.by_length()
        run = {
            "kind": "fine-tuning",
            "model": fingerprint_model(model),
            "training set": train_set.fingerprint,
            "validation set": None if valid_set is None else valid_set.fingerprint,
            "label names": names,
            # The options that decide the model; others are in the fingerprints, or do not matter for it.
            **{name.replace("_", " "): getattr(options, name) for name in DECIDING},
            "batch size": options.batch_size * workers.count,
            # Not the repr of a function, which contains an address.
            "metrics": getattr(metrics, "__qualname__", repr(metrics))
            if callable(metrics)
            else list(metrics),
            "trainer": objective.trainer_class.__qualname__,
            "callbacks": [type(callback).__qualname__ for callback in callbacks],
            "training arguments": {
                key: repr(value) for key, value in sorted((training_arguments or {}).items())
            },
            "record": dict(record or {}),
            "code": digest_package_code(),
        }
        store = open_store(out, run)
        if workers.is_main:
            held.enter_context(lock_folder(store.folder, "training the same model in it"))
        finished = workers.main_first(lambda: _open(store), "opening the run")
        if finished is not None:
            return finished

        steps = math.ceil(
            math.ceil(len(train_set) / (options.batch_size * workers.count)) * options.epochs
        )
        every = (
            max(50, math.ceil(steps / 10))
            if options.checkpoint_steps is None
            else options.checkpoint_steps
        )
        # Said where there is nothing else, as transformers refuses bf16 on a CPU that nobody asked for.
        use_cpu = device == "cpu" or not torch.accelerator.is_available()
        arguments = {
            "output_dir": str(store.folder / CHECKPOINTS),
            "report_to": "none",
            "remove_unused_columns": False,  # the examples have only columns that the model and the objective take
            "dataloader_pin_memory": torch.cuda.is_available() and not use_cpu,
            "num_train_epochs": options.epochs,
            "learning_rate": options.learning_rate,
            "per_device_train_batch_size": options.batch_size,
            "per_device_eval_batch_size": 2 * options.batch_size,
            "weight_decay": options.weight_decay,
            "warmup_steps": options.warmup,
            "seed": options.seed,
            "label_names": ["labels"],
            "use_cpu": use_cpu,
            "disable_tqdm": not (progress and is_progress_visible()),
            "logging_strategy": "epoch" if progress else "no",
            "eval_strategy": "no" if valid_set is None else "epoch",
            "save_strategy": "steps" if 0 < every < steps else "no",
            "save_steps": every or 1,
            "save_total_limit": 2,
            **(training_arguments or {}),
        }
        try:
            training = transformers.TrainingArguments(**arguments)
        except TypeError as error:
            raise ValueError(
                f"Expected options of TrainingArguments in `training_arguments`, but {error}."
            ) from error
        if options.freeze_encoder:  # but what is drawn at random within it, such as a pooler
            for key, parameter in model.named_parameters():
                parameter.requires_grad_(
                    not key.startswith(f"{model.base_model_prefix}.") or key in untrained
                )
        trainer = _resumable(objective.trainer_class, train_set, options.seed, store)(
            model=model,
            args=training,
            data_collator=collator(tokenizer=tokenizer),
            train_dataset=train_set.dataset,
            eval_dataset=None if valid_set is None else valid_set.dataset,
            processing_class=tokenizer,
            compute_metrics=metrics if callable(metrics) else compute_metrics(*metrics),
            callbacks=list(callbacks),
        )
        for callback in callbacks:
            if isinstance(callback, AttachedCallback):
                callback.attach(trainer)
        trainer.remove_callback(
            transformers.PrinterCallback
        )  # of dictionaries, where there is no terminal
        resumed = workers.main_first(lambda: _last_step(store), "the last checkpoint")
        checkpoint = (
            None if resumed is None else str(store.folder / CHECKPOINTS / f"checkpoint-{resumed}")
        )
        with defer_stop():
            trainer.add_callback(_StopAtStep())
            loss = float(trainer.train(resume_from_checkpoint=checkpoint).training_loss)
        if not math.isfinite(loss):
            raise OptionError(
                f"Expected a finite training loss, but got {loss}: the run diverged; lower `learning_rate`.",
                option="learning_rate",
            )
        figures = {} if valid_set is None else _figures(trainer)

    result = FineTuned(
        folder=str(store.folder),
        task=kind,
        label_names=names,
        n_train=len(train_set),
        n_validation=None if valid_set is None else len(valid_set),
        n_truncated=train_set.truncated,
        n_steps=int(trainer.state.global_step),
        epochs=float(trainer.state.epoch or 0.0),
        metrics=figures,
        seconds=time.perf_counter() - began,
        resumed_from_step=resumed,
    )
    _save(store, trainer.model, tokenizer, result, workers)
    return result


def _load(
    model_class: Any, name: str, revision: str | None, names: Sequence[str] | None
) -> tuple[Any, set[str]]:
    """Load a model with the head of the task, and the names of the weights that were drawn at random."""
    if adapter_of(name, revision) is not None:
        raise ValueError(
            f"Expected a whole model to fine-tune, but {name} holds an adapter: merge it into its base first, by "
            "`merge_and_unload` of peft."
        )
    options: dict[str, Any] = {}
    if names is not None:
        options = {
            "num_labels": len(names),
            "id2label": dict(enumerate(names)),
            "label2id": {label: index for index, label in enumerate(names)},
            "problem_type": "single_label_classification",
        }
    with quiet():
        try:
            model, report = model_class.from_pretrained(
                name,
                revision=revision,
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **options,
            )
        except Exception as error:
            raise ValueError(
                f"Expected {name} to be an encoder or a classifier, but got: {get_first_line(error)}"
            ) from error
    if reason := quantized(model):
        raise ValueError(reason)
    reshaped = {
        entry[0] if isinstance(entry, tuple) else entry for entry in report["mismatched_keys"]
    }
    return model, set(report["missing_keys"]) | reshaped


def _resumable(trainer_class: type[Any], examples: Examples, seed: int, store: Store) -> type[Any]:
    """Let a trainer class resume exactly: in the same order, with the same draws, from a checkpoint that is whole."""

    class Resumable(trainer_class):  # type: ignore[misc]
        def _get_train_sampler(self, *args: Any, **kwargs: Any) -> LengthGroupedSampler:
            return LengthGroupedSampler(
                examples.lengths, self.args.train_batch_size * self.args.world_size, seed
            )

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            # A run that resumes after an evaluation does not repeat it, nor what it draws.
            with kept_random_state():
                return super().evaluate(*args, **kwargs)

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            try:
                super()._save_checkpoint(*args, **kwargs)
            except RuntimeError:  # torch does not say that the disk is full; a megabyte more tells
                write_bytes(store.folder / "room", bytes(1 << 20)).unlink()
                raise
            if self.is_world_process_zero():
                name = f"{CHECKPOINTS}/checkpoint-{self.state.global_step}"
                store.write_json(f"{name}.json", digest_files(store.folder / name))

    Resumable.__name__ = trainer_class.__name__
    return Resumable


class _StopAtStep(transformers.TrainerCallback):  # type: ignore[misc]
    """Ends a training that a signal stops when the next step is done, with a checkpoint of that step."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_save = control.should_save or is_signaled()

    def on_save(self, *_: Any, **__: Any) -> None:
        if is_signaled():
            raise KeyboardInterrupt


def _last_step(store: Store) -> int | None:
    """Return the step of the last checkpoint that is whole; later ones are set aside."""
    folders = (store.folder / CHECKPOINTS).glob("checkpoint-*[0-9]")
    for step, folder in sorted(
        ((int(folder.name.rpartition("-")[2]), folder) for folder in folders), reverse=True
    ):
        files = store.read_json(f"{CHECKPOINTS}/{folder.name}.json")
        if files is not None and not list_changed_files(folder, files):
            return step
        set_aside(folder)
    return None


def _figures(trainer: Any) -> dict[str, float | None]:
    """Return the figures of the final model on the validation set."""
    last: dict[str, Any] = next(
        (entry for entry in reversed(trainer.state.log_history) if "eval_loss" in entry), {}
    )
    if last.get("step") != trainer.state.global_step or trainer.args.load_best_model_at_end:
        last = trainer.evaluate()
    speed = ("_runtime", "_per_second", "_preparation_time")
    return {
        key.removeprefix("eval_"): value
        for key, value in last.items()
        if key[:5] == "eval_" and not key.endswith(speed)
    }


def _save(store: Store, model: Any, tokenizer: Any, result: FineTuned, workers: Processes) -> None:
    if workers.is_main:
        model.config.problem_type = (
            None if result.label_names is None else "single_label_classification"
        )
        with quiet():
            for part in (model, tokenizer):
                part.save_pretrained(store.folder)
        # The result comes last: it marks the run as finished.
        figures = {key: value for key, value in result.to_dict().items() if key != "folder"}
        store.write_json(RESULT, figures)
        shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    workers.gather(None, "the end of the run")


def _open(store: Store) -> FineTuned | None:
    """Open a finished run; None where there is none."""
    figures = store.read_json(RESULT)
    if figures is None:
        return None
    shutil.rmtree(
        store.folder / CHECKPOINTS, ignore_errors=True
    )  # of a run that was killed when it had finished
    names = figures.pop("label_names")
    return FineTuned(
        folder=str(store.folder), label_names=None if names is None else tuple(names), **figures
    )
