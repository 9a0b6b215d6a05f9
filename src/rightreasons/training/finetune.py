"""Fine-tune an encoder into a classifier, a multiple-choice or a question-answering model.

`fine_tune` is the entry point. A run is stored in a folder, resumes from its last checkpoint, and
ends with the same model as an uninterrupted one: for that, batches and draws depend only on the
seed, the epoch and the step. `Objective` lets other losses use the same machinery.
"""

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
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.input_limits import find_max_positions
from rightreasons.models.loading import (
    check_model,
    load_tokenizer,
    share_padding,
    silence_transformers,
)
from rightreasons.models.running import Store, open_store
from rightreasons.models.runs.processes import Processes, processes
from rightreasons.models.weights import explain_quantization, find_adapter
from rightreasons.training.callbacks import AttachedCallback
from rightreasons.training.examples import (
    Examples,
    Table,
    convert_table,
    encode_examples,
    encode_questions,
    find_label_names,
    find_training_task,
)
from rightreasons.training.metrics import compute_metrics
from rightreasons.training.options import TuningOptions

RESULT = "result.json"
"""File of the result. It is written last, so that it marks a finished run."""

CHECKPOINTS = "checkpoints"
"""Folder of the checkpoints within the folder of a run."""

DECIDING = ("task", "epochs", "learning_rate", "freeze_encoder", "weight_decay", "warmup", "seed")
"""Options that decide the model; others are in the fingerprints, or do not matter for it."""

_MEGABATCHES = 50
"""Number of batches within which examples are sorted by length."""

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
    "question_answering": (
        transformers.AutoModelForQuestionAnswering,
        transformers.DataCollatorWithPadding,
    ),
}

# Columns of the labels, if they are others than `labels`.
_LABEL_COLUMNS = {"question_answering": ["start_positions", "end_positions"]}


@contextmanager
def keep_random_state() -> Iterator[None]:
    """Restore the global random states of Python, numpy and torch after the `with` block."""
    python_state = random.getstate()
    numpy_state = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)  # noqa: NPY002


@contextmanager
def seed_random_state(seed: int) -> Iterator[None]:
    """Seed the global random states, which transformers uses, and restore them afterwards."""
    with keep_random_state():
        transformers.set_seed(seed)
        yield


class LengthGroupedSampler(torch.utils.data.Sampler[int]):
    """Shuffled batches of examples of similar length, in an order set by seed and epoch.

    The sampler of transformers uses the global random state, so that a run that resumes within an
    epoch has another order than the interrupted run: some examples come twice, and some never. The
    order of this sampler can be repeated.

    Each epoch shuffles the examples, sorts every 50 batches of them by length, and shuffles these
    batches. The batch with the longest example comes first, so that a batch too large for memory
    fails at once.

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
        """Return the indices of all examples, in the order of this epoch."""
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        # Sorting all examples at once would give the same batches in every epoch, so that they are
        # sorted within groups of 50 batches.
        group_size = _MEGABATCHES * self.batch_size
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), group_size):
            group = order[start : start + group_size]
            batches.extend(self._make_batches(group, rng))
        # Move the longest batch to the front: if it is too large for memory, training fails at once.
        longest = self._find_longest_batch(batches)
        batches[0], batches[longest] = batches[longest], batches[0]
        return iter(np.concatenate(batches).tolist())

    def _make_batches(
        self, examples: NDArray[np.int64], rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Divide examples into batches of similar lengths, and shuffle the batches.

        Args:
            examples: Indices of the examples.
            rng: Random generator.

        Returns:
            Indices of the examples of each batch. An incomplete batch, which only the last group of an
            epoch can have, stays at the end.
        """
        longest_first = np.argsort(-self.lengths[examples], kind="stable")
        examples = examples[longest_first]
        batches = []
        for start in range(0, len(examples), self.batch_size):
            batches.append(examples[start : start + self.batch_size])
        n_complete = len(batches)
        if len(batches[-1]) < self.batch_size:
            n_complete -= 1
        shuffled = [batches[index] for index in rng.permutation(n_complete)]
        return shuffled + batches[n_complete:]

    def _find_longest_batch(self, batches: Sequence[NDArray[np.int64]]) -> int:
        """Return the index of the complete batch with the longest example; 0 if no batch is complete.

        Args:
            batches: Indices of the examples of each batch.
        """
        longest = 0
        max_length = -1
        for index, batch in enumerate(batches):
            length = int(self.lengths[batch].max())
            is_complete = len(batch) == self.batch_size
            if is_complete and length > max_length:
                longest = index
                max_length = length
        return longest


@dataclasses.dataclass(frozen=True)
class FineTuned(Result):
    """A finished fine-tuning run.

    Attributes:
        folder: Folder of the model and the tokenizer, for `load_classifier`,
            `load_multiple_choice` or `load_question_answering`.
        task: "classification", "multiple_choice" or "question_answering".
        label_names: Names of the classes in the order of the logits; None without classes.
        n_train: Number of training examples: texts, items, or windows of contexts.
        n_validation: Number of validation examples; None without a validation set.
        n_truncated: Number of training texts (or pairs of prompt and choice) that were longer than
            `max_length`, and were truncated; of contexts, that were divided into windows.
        n_steps: Number of optimizer steps.
        epochs: Passes over the training set.
        metrics: Figures on the validation set as `compute_metrics` names them, and the `loss`;
            empty without a set.
        seconds: Wall time of the call that finished the run.
        resumed_from_step: Step at which it resumed after an earlier call was killed; None if it did
            not resume.
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
    """An objective of a training, by default the model's own loss.

    Attributes:
        trainer_class: A subclass of `Trainer`, with another `compute_loss` or another training loop.
        extra_columns: Numeric columns of the tables that are added to each batch; for multiple
            choice, with one value per choice.
    """

    trainer_class: type[transformers.Trainer] = transformers.Trainer
    extra_columns: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class _Request:
    """Arguments of `fine_tune`, without the model and the data.

    Attributes:
        options: Options, with the task.
        metrics: Names for `compute_metrics`, or a function.
        objective: Objective of the training.
        callbacks: Trainer callbacks.
        training_arguments: Further `TrainingArguments`.
        record: Further values that the result depends on, such as options of the callbacks.
        device: "cpu" to keep off a GPU; None for the default device.
        progress: Whether to show progress bars and the log.
    """

    options: TuningOptions
    metrics: Sequence[str] | Callable[..., Mapping[str, Any]]
    objective: Objective
    callbacks: Sequence[transformers.TrainerCallback]
    training_arguments: Mapping[str, Any]
    record: Mapping[str, Any]
    device: str | None
    progress: bool

    def describe(self) -> dict[str, Any]:
        """Return plain values of all arguments that the result of the run depends on.

        They are stored with the run, which is resumed only if they are equal.
        """
        options = {name.replace("_", " "): getattr(self.options, name) for name in DECIDING}
        if callable(self.metrics):
            # The name of a function, because its repr contains an address.
            metrics: Any = getattr(self.metrics, "__qualname__", repr(self.metrics))
        else:
            metrics = list(self.metrics)
        arguments = {}
        for name, value in sorted(self.training_arguments.items()):
            arguments[name] = repr(value)
        return {
            **options,
            "batch size": self.options.batch_size * processes().count,
            "metrics": metrics,
            "trainer": self.objective.trainer_class.__qualname__,
            "callbacks": [type(callback).__qualname__ for callback in self.callbacks],
            "training arguments": arguments,
            "record": dict(self.record),
            "code": digest_package_code(),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class _RunInputs:
    """The model, the tokenizer and the examples of a run.

    Attributes:
        model: The model.
        untrained: Names of the weights that were initialized at random, such as those of a new head.
        tokenizer: The tokenizer of the model.
        label_names: Names of the classes; None unless the task is classification.
        train: Training examples.
        validation: Validation examples; None if there are none.
    """

    model: Any
    untrained: set[str]
    tokenizer: Any
    label_names: tuple[str, ...] | None
    train: Examples
    validation: Examples | None


@accept_options_as_keywords(TuningOptions)
def fine_tune(  # noqa: PLR0913
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
    """Fine-tune an encoder on labeled texts, choices or questions, and save the model.

    The optimizer is AdamW with a linear schedule. Examples of a batch have similar lengths. All
    random draws depend on `seed`, and the caller's random state is restored. An interrupted run
    resumes from its last checkpoint when the same call is repeated, and ends with the same model as
    an uninterrupted run. A finished run is loaded and not repeated.

    Args:
        model_name_or_path: An encoder or a classifier: a folder or a hub id. Weights that it lacks
            for the task (the head) are initialized at random, by `seed`.
        train: A `datasets.Dataset`, a mapping of columns or a list of rows: `text` (optionally
            `text_pair`) and `label` for classification; `prompt`, `choices` (equally many in each
            example) and `label` for multiple choice; `question`, `context` and `answers` (`text`
            and `answer_start`, a list each, of which the first is learned) for question answering.
        out: The folder of the model: new, empty, or of the same call.
        options: Fields of `TuningOptions` as keywords: task, label_names, epochs, learning_rate,
            freeze_encoder, batch_size, max_length, weight_decay, warmup, seed, checkpoint_steps,
            revision.
        validation: Examples to evaluate on after each epoch, in the form of `train`.
        metrics: Names for `compute_metrics`, or a `compute_metrics` of your own, which gets the
            examples of `validation` in their order. For question answering, names are ignored, and
            only the loss is evaluated.
        objective: Another objective than the model's own loss.
        callbacks: Trainer callbacks. Callbacks of this package are attached to the Trainer. The
            state of an `ExportableState` is restored when a run resumes.
        training_arguments: Further `TrainingArguments`, such as {"load_best_model_at_end": True,
            "metric_for_best_model": "eval_ece", "greater_is_better": False, "save_strategy":
            "epoch"}. {"bf16": True} multiplies in bfloat16, two to three times faster if the
            hardware has it; weights stay float32.
        record: Further plain values that the result depends on, such as the options of your objective
            or callbacks. They are stored with the run, so that a call with other values does not
            resume it.
        device: "cpu" to keep off a GPU; None for the default device.
        progress: Whether to show progress bars and the log.

    Returns:
        A `FineTuned`: folder, task, label names, counts, steps, epochs, metrics, seconds, and the step
        at which it resumed.

    Raises:
        TypeError: If an argument has the wrong type, or an option is unknown.
        ValueError: If a column is missing, a label is invalid, an option is out of range, `out`
            contains other files, or the loss diverged.

    References:
        Devlin, Chang, Lee, Toutanova (2019), BERT, section 4; Mosbach, Andriushchenko, Klakow
        (2021), On the Stability of Fine-tuning BERT, for the warm-up and the small learning rate.
    """
    start = time.perf_counter()
    check_folder(out)
    request = _Request(
        options=options.replace(task=options.task or find_training_task(train)),
        metrics=metrics,
        objective=objective,
        callbacks=callbacks,
        training_arguments=training_arguments or {},
        record=record or {},
        device=device,
        progress=progress,
    )
    workers = processes()
    with contextlib.ExitStack() as stack:
        # The seed is set before the model is loaded, because loading may initialize a head.
        stack.enter_context(seed_random_state(options.seed))
        stack.enter_context(silence_transformers())
        inputs = _open_inputs(model_name_or_path, train, validation, request)
        store = _open_run(out, inputs, request)
        if workers.is_main:
            stack.enter_context(lock_folder(store.folder, "training the same model in it"))
        # Two processes must not remove the same checkpoints.
        finished = workers.run_main_first(lambda: _open_result(store), "opening the run")
        if finished is not None:
            return finished
        if options.freeze_encoder:
            _freeze_encoder(inputs)
        trainer = _make_trainer(store, inputs, request)
        resumed_step = _train(trainer, store)
        figures = {}
        if inputs.validation is not None:
            figures = _read_figures(trainer)

    result = FineTuned(
        folder=str(store.folder),
        task=str(request.options.task),
        label_names=inputs.label_names,
        n_train=len(inputs.train),
        n_validation=None if inputs.validation is None else len(inputs.validation),
        n_truncated=inputs.train.truncated,
        n_steps=int(trainer.state.global_step),
        epochs=float(trainer.state.epoch or 0.0),
        metrics=figures,
        seconds=time.perf_counter() - start,
        resumed_from_step=resumed_step,
    )
    _save_run(store, trainer.model, inputs.tokenizer, result, workers)
    return result


def _open_inputs(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    validation: Table | None,
    request: _Request,
) -> _RunInputs:
    """Load the model and the tokenizer of a run, and tokenize its examples.

    Args:
        model_name_or_path: Folder or hub id of the model.
        train: Training table, in any form that `fine_tune` accepts.
        validation: Validation table; None if there is none.
        request: Arguments of the run, with the task.
    """
    options = request.options
    task = str(options.task)
    name = check_model(model_name_or_path)
    # Tables are checked before a model is loaded, which takes longer.
    train_table = convert_table(train, task, "train")
    validation_table = None
    if validation is not None:
        validation_table = convert_table(validation, task, "validation")
    label_names = None
    if task == "classification":
        label_names = find_label_names(train_table, options.label_names)

    tokenizer = load_tokenizer(name, options.revision)
    model_class, _ = _TASKS[task]
    model, untrained = _load_model(model_class, name, options.revision, label_names)
    ensure_padding(tokenizer)
    share_padding(model, tokenizer)

    encode_table: Callable[..., Examples] = encode_questions
    if task != "question_answering":
        encode_table = functools.partial(encode_examples, label_names=label_names)
    # A model may accept fewer tokens than are requested.
    max_length = min(options.max_length, find_max_positions(model) or options.max_length)
    extra_columns = request.objective.extra_columns
    train_examples = encode_table(
        tokenizer, max_length, train_table, "train", extra_columns=extra_columns
    )
    validation_examples = None
    if validation_table is not None:
        validation_examples = encode_table(
            tokenizer, max_length, validation_table, "validation", extra_columns=extra_columns
        )
        # Examples are sorted by length to need less padding, unless a function of the user computes the
        # metrics: it may depend on their order.
        if not callable(request.metrics):
            validation_examples = validation_examples.by_length()
    return _RunInputs(
        model=model,
        untrained=untrained,
        tokenizer=tokenizer,
        label_names=label_names,
        train=train_examples,
        validation=validation_examples,
    )


def _open_run(out: str | os.PathLike[str], inputs: _RunInputs, request: _Request) -> Store:
    """Open the folder of a run, which must be new, empty, or contain an earlier call of the same run.

    Args:
        out: The folder.
        inputs: Model and examples, whose fingerprints identify the run.
        request: Arguments, which identify the run, too.
    """
    validation = inputs.validation
    run = {
        "kind": "fine-tuning",
        "model": fingerprint_model(inputs.model),
        "training set": inputs.train.fingerprint,
        "validation set": None if validation is None else validation.fingerprint,
        "label names": inputs.label_names,
        **request.describe(),
    }
    return open_store(out, run)


def _freeze_encoder(inputs: _RunInputs) -> None:
    """Exclude the weights of the encoder from training, except those initialized at random.

    Some models have a pooler, which belongs to the encoder, but is not part of every checkpoint.
    """
    encoder_prefix = f"{inputs.model.base_model_prefix}."
    for name, parameter in inputs.model.named_parameters():
        is_in_head = not name.startswith(encoder_prefix)
        is_random = name in inputs.untrained
        parameter.requires_grad_(is_in_head or is_random)


def _make_trainer(store: Store, inputs: _RunInputs, request: _Request) -> Any:
    """Make the Trainer of a run, with its callbacks attached.

    Args:
        store: Folder of the run, for checkpoints and their digests.
        inputs: `model`, `tokenizer`, and the tokenized examples `train` and `validation`, None
            without validation data.
        request: Arguments of `fine_tune`: its `options` with the task and the seed, the `objective`
            with the class of the Trainer, the `metrics` (names, or a function), and `callbacks`.

    Returns:
        A transformers.Trainer.
    """
    # The collator of a task pads the examples of a batch to one length.
    _, collator_class = _TASKS[str(request.options.task)]
    trainer_class = _derive_resumable_trainer(
        trainer_class=request.objective.trainer_class,
        examples=inputs.train,
        seed=request.options.seed,
        store=store,
    )
    validation_data = None
    if inputs.validation is not None:
        validation_data = inputs.validation.dataset
    metrics: Any = request.metrics
    if not callable(metrics):
        metrics = compute_metrics(*metrics)
        # These figures are for classes. For answers that are spans, only the loss is evaluated.
        if request.options.task == "question_answering":
            metrics = None
    trainer = trainer_class(
        model=inputs.model,
        args=_make_arguments(store, inputs, request),
        data_collator=collator_class(tokenizer=inputs.tokenizer),
        train_dataset=inputs.train.dataset,
        eval_dataset=validation_data,
        processing_class=inputs.tokenizer,
        compute_metrics=metrics,
        callbacks=list(request.callbacks),
    )
    for callback in request.callbacks:
        # Some callbacks of this package need the Trainer itself, to log their figures with it.
        if isinstance(callback, AttachedCallback):
            callback.attach(trainer)
    # This default callback would print dictionaries if there is no terminal.
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _make_arguments(
    store: Store, inputs: _RunInputs, request: _Request
) -> transformers.TrainingArguments:
    """Make the `TrainingArguments` of a run. Arguments that the user passed have precedence.

    Args:
        store: Folder of the run, in which checkpoints are saved.
        inputs: Model and examples, whose number determines the number of steps.
        request: Arguments of the run.

    Raises:
        ValueError: If the user passed an argument that `TrainingArguments` does not have.
    """
    options = request.options
    batch_size = options.batch_size * processes().count
    n_steps_per_epoch = math.ceil(len(inputs.train) / batch_size)
    n_steps = math.ceil(n_steps_per_epoch * options.epochs)
    checkpoint_steps = options.checkpoint_steps
    if checkpoint_steps is None:
        # Ten checkpoints per run, but not too often, because a checkpoint takes as long as some steps.
        checkpoint_steps = max(50, math.ceil(n_steps / 10))
    # Without `use_cpu`, transformers rejects bf16 on a machine without an accelerator.
    use_cpu = request.device == "cpu" or not torch.accelerator.is_available()
    arguments = {
        "output_dir": str(store.folder / CHECKPOINTS),
        "report_to": "none",
        # The examples have only columns that the model or the objective needs.
        "remove_unused_columns": False,
        "dataloader_pin_memory": torch.cuda.is_available() and not use_cpu,
        "num_train_epochs": options.epochs,
        "learning_rate": options.learning_rate,
        "per_device_train_batch_size": options.batch_size,
        "per_device_eval_batch_size": 2 * options.batch_size,
        "weight_decay": options.weight_decay,
        "warmup_steps": options.warmup,
        "seed": options.seed,
        "label_names": _LABEL_COLUMNS.get(str(options.task), ["labels"]),
        "use_cpu": use_cpu,
        "disable_tqdm": not (request.progress and is_progress_visible()),
        "logging_strategy": "epoch" if request.progress else "no",
        "eval_strategy": "no" if inputs.validation is None else "epoch",
        "save_strategy": "steps" if 0 < checkpoint_steps < n_steps else "no",
        "save_steps": checkpoint_steps or 1,
        "save_total_limit": 2,
        **request.training_arguments,
    }
    try:
        return transformers.TrainingArguments(**arguments)
    except TypeError as error:
        raise ValueError(
            "Expected options of TrainingArguments in `training_arguments`, but got an error: "
            f"{error}."
        ) from error


def _train(trainer: Any, store: Store) -> int | None:
    """Train from the last checkpoint, or from the beginning if there is no checkpoint.

    Args:
        trainer: The Trainer.
        store: Folder of the run.

    Returns:
        Step of the checkpoint from which the training resumed; None if there was none.

    Raises:
        KeyboardInterrupt: If a signal stops the training, after a checkpoint was saved.
        OptionError: If the loss diverged.
    """
    resumed_step = processes().run_main_first(lambda: _find_last_step(store), "the last checkpoint")
    checkpoint = None
    if resumed_step is not None:
        checkpoint = str(store.folder / CHECKPOINTS / f"checkpoint-{resumed_step}")
    # A signal stops the training at the end of a step, when a checkpoint can be saved.
    with defer_stop():
        trainer.add_callback(_StopAtStep())
        loss = float(trainer.train(resume_from_checkpoint=checkpoint).training_loss)
    if not math.isfinite(loss):
        raise OptionError(
            f"Expected a finite training loss, but got {loss}: the run diverged. Lower "
            "`learning_rate`.",
            option="learning_rate",
        )
    return resumed_step


def _load_model(
    model_class: Any, name: str, revision: str | None, label_names: Sequence[str] | None
) -> tuple[Any, set[str]]:
    """Load a model for the task in float32, with a random head if it has no head of the right shape.

    Args:
        model_class: Class of transformers, such as `AutoModelForSequenceClassification`.
        name: Folder or hub id.
        revision: Branch, tag or commit; None for the default.
        label_names: Names of the classes; None unless the task is classification.

    Returns:
        The model, and the names of its weights that were initialized at random.

    Raises:
        ValueError: If the model is an adapter, is quantized, or cannot be loaded by the class.
    """
    # An adapter would be saved without the weights of its base model.
    if find_adapter(name, revision) is not None:
        raise ValueError(
            f"Expected a complete model to fine-tune, but {name} contains an adapter. Merge the "
            "adapter into its base first, with `merge_and_unload` of peft."
        )
    config: dict[str, Any] = {}
    if label_names is not None:
        id_by_label = {label: index for index, label in enumerate(label_names)}
        config = {
            "num_labels": len(label_names),
            "id2label": dict(enumerate(label_names)),
            "label2id": id_by_label,
            "problem_type": "single_label_classification",
        }
    with silence_transformers():
        try:
            model, report = model_class.from_pretrained(
                name,
                revision=revision,
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **config,
            )
        except Exception as error:
            raise ValueError(
                f"Expected {name} to be an encoder or a classifier, but loading the model fails: "
                f"{get_first_line(error)}"
            ) from error
    reason = explain_quantization(model)
    if reason:
        raise ValueError(reason)
    untrained = set(report["missing_keys"])
    for entry in report["mismatched_keys"]:
        # An entry is a name, or a tuple (name, shape in the checkpoint, shape in the model).
        weight_name = entry
        if isinstance(entry, tuple):
            weight_name, *_ = entry
        untrained.add(weight_name)
    return model, untrained


def _derive_resumable_trainer(
    trainer_class: type[Any], examples: Examples, seed: int, store: Store
) -> type[Any]:
    """Derive a trainer class whose interrupted runs end with the same model as uninterrupted ones.

    The order of the examples and the random draws can be repeated, and a run resumes only from a
    complete checkpoint.

    Args:
        trainer_class: A subclass of `Trainer`.
        examples: Training examples, whose lengths determine the batches.
        seed: Seed of the order.
        store: Folder of the run, in which the digests of checkpoints are written.
    """

    class Resumable(trainer_class):  # type: ignore[misc]
        def _get_train_sampler(self, *args: Any, **kwargs: Any) -> LengthGroupedSampler:
            batch_size = self.args.train_batch_size * self.args.world_size
            return LengthGroupedSampler(examples.lengths, batch_size, seed)

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            # A run that resumes after an evaluation does not repeat it, so that its random draws must
            # not affect the training.
            with keep_random_state():
                return super().evaluate(*args, **kwargs)

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            """Save a checkpoint with the digests of its files, by which a damaged one is found."""
            try:
                super()._save_checkpoint(*args, **kwargs)
            except RuntimeError:
                # The message of torch does not mention a full disk. If the disk is full, writing a
                # megabyte raises an OSError, which does.
                write_bytes(store.folder / "room", bytes(1 << 20)).unlink()
                raise
            if self.is_world_process_zero():
                name = f"{CHECKPOINTS}/checkpoint-{self.state.global_step}"
                store.write_json(f"{name}.json", digest_files(store.folder / name))

    # Keep the name, which is stored with the run.
    Resumable.__name__ = trainer_class.__name__
    return Resumable


class _StopAtStep(transformers.TrainerCallback):  # type: ignore[misc]
    """Ends a training that a signal stops after the present step, with a checkpoint of it."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save = control.should_save or is_signaled()

    def on_save(self, *args: Any, **kwargs: Any) -> None:
        if is_signaled():
            raise KeyboardInterrupt


def _find_last_step(store: Store) -> int | None:
    """Find the last complete checkpoint of a run, and rename incomplete ones that follow it.

    Args:
        store: Folder of the run.

    Returns:
        Step of the checkpoint; None if no checkpoint is complete.
    """
    folder_by_step = {}
    for folder in (store.folder / CHECKPOINTS).glob("checkpoint-*[0-9]"):
        _, _, step_text = folder.name.rpartition("-")
        folder_by_step[int(step_text)] = folder
    for step in sorted(folder_by_step, reverse=True):
        folder = folder_by_step[step]
        # The digests of its files are written after the checkpoint. If they are missing, it is incomplete.
        digests = store.read_json(f"{CHECKPOINTS}/{folder.name}.json")
        if digests is not None and not list_changed_files(folder, digests):
            return step
        set_aside(folder)
    return None


def _read_figures(trainer: Any) -> dict[str, float | None]:
    """Return the figures of the final model on the validation set.

    The last evaluation is used if it was made at the last step. Otherwise, the model is evaluated now.

    Args:
        trainer: The Trainer, after the training.

    Returns:
        Name of the figure, without the prefix "eval_" -> value. Running times are left out.
    """
    evaluation: dict[str, Any] = {}
    for entry in trainer.state.log_history:
        if "eval_loss" in entry:
            evaluation = entry
    is_of_last_step = evaluation.get("step") == trainer.state.global_step
    # With `load_best_model_at_end`, the final model may be that of an earlier step.
    if not is_of_last_step or trainer.args.load_best_model_at_end:
        evaluation = trainer.evaluate()
    time_suffixes = ("_runtime", "_per_second", "_preparation_time")
    figures = {}
    for name, value in evaluation.items():
        if name.startswith("eval_") and not name.endswith(time_suffixes):
            figures[name.removeprefix("eval_")] = value
    return figures


def _save_run(
    store: Store, model: Any, tokenizer: Any, result: FineTuned, workers: Processes
) -> None:
    """Save the model, the tokenizer and the result of a finished run, and remove its checkpoints.

    Only the main process writes; the others wait until it has finished.

    Args:
        store: Folder of the run.
        model: The fine-tuned model.
        tokenizer: The tokenizer of the model.
        result: The result, which is stored in a file.
        workers: Processes of the run.
    """
    if workers.is_main:
        is_classifier = result.label_names is not None
        model.config.problem_type = "single_label_classification" if is_classifier else None
        with silence_transformers():
            model.save_pretrained(store.folder)
            tokenizer.save_pretrained(store.folder)
        # The result is written last, because its file marks the run as finished. It does not contain the
        # folder, which a user may move.
        figures = result.to_dict()
        del figures["folder"]
        store.write_json(RESULT, figures)
        shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    workers.gather(None, "the end of the run")


def _open_result(store: Store) -> FineTuned | None:
    """Read the result of a run; return None if the run is not finished.

    Args:
        store: Folder of the run.
    """
    figures = store.read_json(RESULT)
    if figures is None:
        return None
    # Remove the checkpoints of a run that was killed after its result was written.
    shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    # JSON has lists in place of tuples.
    label_names = figures.pop("label_names")
    if label_names is not None:
        label_names = tuple(label_names)
    return FineTuned(folder=str(store.folder), label_names=label_names, **figures)
