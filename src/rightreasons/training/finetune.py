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
from rightreasons.models.loading import (
    agree_on_padding,
    check_model,
    load_tokenizer,
    position_bound,
    quiet,
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
    """Restore the global random states afterwards, whatever is drawn from them inside."""
    # transformers, datasets and torch draw from the states of three libraries.
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

    The sampler of transformers draws from the global random state, so a run that resumes within an
    epoch sees another order than the killed run: some examples twice and some never. This one
    repeats its order.

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
        # Sorting all examples at once would give the same batches in every epoch, so they are
        # sorted within groups of some batches.
        group_size = _MEGABATCHES * self.batch_size
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), group_size):
            batches.extend(self._make_batches(order[start : start + group_size], rng))
        # The longest batch comes first: if it does not fit into memory, it fails at once.
        longest = self._find_longest(batches)
        batches[0], batches[longest] = batches[longest], batches[0]
        return iter(np.concatenate(batches).tolist())

    def _make_batches(
        self, examples: NDArray[np.int64], rng: np.random.Generator
    ) -> list[NDArray[np.int64]]:
        """Divide examples into batches of similar lengths, and shuffle the batches.

        Args:
            examples: Indices of the examples.
            rng: Source of the shuffle.

        Returns:
            Indices of each batch. An incomplete batch, which only the last group of an epoch can
            have, stays at the end.
        """
        examples = examples[np.argsort(-self.lengths[examples], kind="stable")]
        batches = []
        for start in range(0, len(examples), self.batch_size):
            batches.append(examples[start : start + self.batch_size])
        n_complete = len(batches)
        if len(batches[-1]) < self.batch_size:
            n_complete -= 1
        shuffled = [batches[index] for index in rng.permutation(n_complete)]
        return shuffled + batches[n_complete:]

    def _find_longest(self, batches: Sequence[NDArray[np.int64]]) -> int:
        """Return the index of the complete batch that contains the longest example.

        Args:
            batches: Indices of the examples of each batch.

        Returns:
            The index; 0 if no batch is complete.
        """
        longest = 0
        max_length = -1
        for index, batch in enumerate(batches):
            length = int(self.lengths[batch].max())
            if len(batch) == self.batch_size and length > max_length:
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
    """What a training minimizes, other than the model's own loss.

    Attributes:
        trainer_class: A subclass of `Trainer`, for another objective (`compute_loss`) or another
            loop.
        extra_columns: Numeric columns of the tables that go into the batch; for multiple choice,
            one value per choice.
    """

    trainer_class: type[transformers.Trainer] = transformers.Trainer
    extra_columns: Sequence[str] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class _Request:
    """Arguments of `fine_tune` that decide how a run goes.

    Attributes:
        options: Options, with the task.
        metrics: Names for `compute_metrics`, or a function.
        objective: Objective of the training.
        callbacks: Trainer callbacks.
        training_arguments: Further `TrainingArguments`.
        record: Further values that the result depends on.
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
        """Return everything but the model and the data that the result of the run depends on.

        A run is resumed only if these plain values are those of its record.
        """
        deciding = {name.replace("_", " "): getattr(self.options, name) for name in DECIDING}
        if callable(self.metrics):
            # Not the repr of a function, which contains an address.
            metrics: Any = getattr(self.metrics, "__qualname__", repr(self.metrics))
        else:
            metrics = list(self.metrics)
        arguments = {}
        for name, value in sorted(self.training_arguments.items()):
            arguments[name] = repr(value)
        return {
            **deciding,
            "batch size": self.options.batch_size * processes().count,
            "metrics": metrics,
            "trainer": self.objective.trainer_class.__qualname__,
            "callbacks": [type(callback).__qualname__ for callback in self.callbacks],
            "training arguments": arguments,
            "record": dict(self.record),
            "code": digest_package_code(),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class _Subject:
    """What is trained, and on what.

    Attributes:
        model: The model.
        untrained: Names of its weights that were drawn at random.
        tokenizer: Its tokenizer.
        label_names: Names of the classes; None for multiple choice.
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

    AdamW with a linear schedule, batches of similar lengths, every random draw from `seed`; the
    caller's random state is restored. A run that is killed resumes from its last checkpoint when
    the same call is repeated, and ends with the same model as an uninterrupted run. A finished run
    is loaded and not repeated.

    Args:
        model_name_or_path: An encoder or a classifier: a folder or a hub id. Weights that it lacks
            for the task (the head) are drawn from `seed`.
        train: A `datasets.Dataset`, a mapping of columns or a list of rows: `text` (optionally
            `text_pair`) and `label` for classification; `prompt`, `choices` (equally many in each
            example) and `label` for multiple choice; `question`, `context` and `answers` (`text`
            and `answer_start`, a list each, of which the first is learned) for question answering.
        out: The folder of the model: new, empty, or of the same call.
        options: Fields of `TuningOptions` as keywords: task, label_names, epochs, learning_rate,
            freeze_encoder, batch_size, max_length, weight_decay, warmup, seed, checkpoint_steps,
            revision.
        validation: Examples to evaluate on after each epoch, in the form of `train`.
        metrics: Names for `compute_metrics`, or a `compute_metrics` of your own, which sees the
            examples of `validation` in their order. For question answering, names are ignored, and
            the loss is evaluated alone.
        objective: Another objective than the model's own loss.
        callbacks: Trainer callbacks; those of this package are attached to the Trainer. The state
            of one that exports it (`ExportableState`) survives a resume.
        training_arguments: Further `TrainingArguments`, such as {"load_best_model_at_end": True,
            "metric_for_best_model": "eval_ece", "greater_is_better": False, "save_strategy":
            "epoch"}. {"bf16": True} multiplies in bfloat16, two to three times faster if the
            hardware has it; weights stay float32.
        record: Whatever else the result depends on, as plain values: the options of your objective
            or callbacks. It is stored with the run, so that a call with other values is not
            mistaken for this run.
        device: "cpu" to keep off a GPU; None for the default device.
        progress: Whether to show progress bars and the log.

    Returns:
        A `FineTuned`: folder, task, label names, counts, steps, epochs, metrics, seconds, and the step
        at which it resumed.

    Raises:
        TypeError: If something has the wrong type, or an option is unknown.
        ValueError: If a column is missing, a label does not fit, an option is out of range, `out`
            has other contents, or the loss diverged.

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
    # A head that the model lacks is drawn when it is loaded, so that the seed comes first.
    with contextlib.ExitStack() as stack:
        stack.enter_context(seed_random_state(options.seed))
        stack.enter_context(quiet())
        subject = _open_subject(model_name_or_path, train, validation, request)
        store = _open_run(out, subject, request)
        if workers.is_main:
            stack.enter_context(lock_folder(store.folder, "training the same model in it"))
        # Two processes must not remove the same checkpoints.
        finished = workers.main_first(lambda: _open_result(store), "opening the run")
        if finished is not None:
            return finished
        if options.freeze_encoder:
            _freeze_encoder(subject)
        trainer = _make_trainer(store, subject, request)
        resumed_step = _train(trainer, store)
        figures = {}
        if subject.validation is not None:
            figures = _read_figures(trainer)

    result = FineTuned(
        folder=str(store.folder),
        task=str(request.options.task),
        label_names=subject.label_names,
        n_train=len(subject.train),
        n_validation=None if subject.validation is None else len(subject.validation),
        n_truncated=subject.train.truncated,
        n_steps=int(trainer.state.global_step),
        epochs=float(trainer.state.epoch or 0.0),
        metrics=figures,
        seconds=time.perf_counter() - start,
        resumed_from_step=resumed_step,
    )
    _save(store, trainer.model, subject.tokenizer, result, workers)
    return result


def _open_subject(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    validation: Table | None,
    request: _Request,
) -> _Subject:
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
    model, untrained = _load(model_class, name, options.revision, label_names)
    ensure_padding(tokenizer)
    agree_on_padding(model, tokenizer)

    # Both tables are tokenized with the same arguments.
    encode_table: Callable[..., Examples] = encode_questions
    if task != "question_answering":
        encode_table = functools.partial(encode_examples, label_names=label_names)
    # A model may accept fewer tokens than are requested.
    max_length = min(options.max_length, position_bound(model) or options.max_length)
    extra_columns = request.objective.extra_columns
    validation_examples = None
    if validation_table is not None:
        validation_examples = encode_table(
            tokenizer, max_length, validation_table, "validation", extra_columns=extra_columns
        )
        # Sorted, batches need less padding. A function of the caller may know items by their order.
        if not callable(request.metrics):
            validation_examples = validation_examples.by_length()
    return _Subject(
        model=model,
        untrained=untrained,
        tokenizer=tokenizer,
        label_names=label_names,
        train=encode_table(
            tokenizer, max_length, train_table, "train", extra_columns=extra_columns
        ),
        validation=validation_examples,
    )


def _open_run(out: str | os.PathLike[str], subject: _Subject, request: _Request) -> Store:
    """Open the folder of a run, which must be new, empty, or that of an interrupted same run.

    Args:
        out: The folder.
        subject: Model and examples, whose fingerprints identify the run.
        request: Arguments, which identify it as well.
    """
    validation = subject.validation
    run = {
        "kind": "fine-tuning",
        "model": fingerprint_model(subject.model),
        "training set": subject.train.fingerprint,
        "validation set": None if validation is None else validation.fingerprint,
        "label names": subject.label_names,
        **request.describe(),
    }
    return open_store(out, run)


def _freeze_encoder(subject: _Subject) -> None:
    """Train only the head, and weights of the encoder that were drawn at random, as a pooler."""
    encoder = f"{subject.model.base_model_prefix}."
    for name, parameter in subject.model.named_parameters():
        is_trained = not name.startswith(encoder) or name in subject.untrained
        parameter.requires_grad_(is_trained)


def _make_trainer(store: Store, subject: _Subject, request: _Request) -> Any:
    """Make the Trainer of a run, with its callbacks attached.

    Args:
        store: Folder of the run.
        subject: Model, tokenizer and examples.
        request: Arguments of the run.
    """
    _, collator = _TASKS[str(request.options.task)]
    trainer_class = _make_resumable(
        request.objective.trainer_class, subject.train, request.options.seed, store
    )
    metrics: Any = request.metrics
    if not callable(metrics):
        metrics = compute_metrics(*metrics)
        # These are figures of classes. Of spans, the loss is evaluated alone.
        if request.options.task == "question_answering":
            metrics = None
    trainer = trainer_class(
        model=subject.model,
        args=_make_arguments(store, subject, request),
        data_collator=collator(tokenizer=subject.tokenizer),
        train_dataset=subject.train.dataset,
        eval_dataset=None if subject.validation is None else subject.validation.dataset,
        processing_class=subject.tokenizer,
        compute_metrics=metrics,
        callbacks=list(request.callbacks),
    )
    for callback in request.callbacks:
        if isinstance(callback, AttachedCallback):
            callback.attach(trainer)
    # Without a terminal, it prints dictionaries.
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def _make_arguments(
    store: Store, subject: _Subject, request: _Request
) -> transformers.TrainingArguments:
    """Make the `TrainingArguments` of a run; those of the caller have precedence.

    Args:
        store: Folder of the run, in which checkpoints are saved.
        subject: Model and examples, whose number determines the number of steps.
        request: Arguments of the run.

    Raises:
        ValueError: If a further argument is none of `TrainingArguments`.
    """
    options = request.options
    batch_size = options.batch_size * processes().count
    n_steps = math.ceil(math.ceil(len(subject.train) / batch_size) * options.epochs)
    checkpoint_steps = options.checkpoint_steps
    # A checkpoint costs as much as some steps, and losing a tenth of a run is bearable.
    if checkpoint_steps is None:
        checkpoint_steps = max(50, math.ceil(n_steps / 10))
    # transformers refuses bf16 on a CPU unless it is told that there is nothing else.
    use_cpu = request.device == "cpu" or not torch.accelerator.is_available()
    arguments = {
        "output_dir": str(store.folder / CHECKPOINTS),
        "report_to": "none",
        # The examples have only columns that the model and the objective take.
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
        "eval_strategy": "no" if subject.validation is None else "epoch",
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
    """Train from the last checkpoint, or from the beginning if there is none.

    Args:
        trainer: The Trainer.
        store: Folder of the run.

    Returns:
        Step of the checkpoint; None if there is none.

    Raises:
        KeyboardInterrupt: If a signal stops the training, after a checkpoint was saved.
        OptionError: If the loss diverged.
    """
    resumed_step = processes().main_first(lambda: _find_last_step(store), "the last checkpoint")
    checkpoint = None
    if resumed_step is not None:
        checkpoint = str(store.folder / CHECKPOINTS / f"checkpoint-{resumed_step}")
    # A signal must not end the process within a step, of which no checkpoint could be written.
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


def _load(
    model_class: Any, name: str, revision: str | None, label_names: Sequence[str] | None
) -> tuple[Any, set[str]]:
    """Load a model for the task in float32, with a random head if it has none of this form.

    Args:
        model_class: Class of transformers, such as `AutoModelForSequenceClassification`.
        name: Folder or hub id.
        revision: Branch, tag or commit; None for the default.
        label_names: Names of the classes; None if the task has none.

    Returns:
        The model, and the names of its weights that were drawn at random.

    Raises:
        ValueError: If the model is an adapter, quantized, or of another kind.
    """
    # Saving would write the adapter only, without the weights of its base.
    if find_adapter(name, revision) is not None:
        raise ValueError(
            f"Expected a complete model to fine-tune, but {name} contains an adapter. Merge the "
            "adapter into its base first, with `merge_and_unload` of peft."
        )
    options: dict[str, Any] = {}
    if label_names is not None:
        id_by_label = {label: index for index, label in enumerate(label_names)}
        options = {
            "num_labels": len(label_names),
            "id2label": dict(enumerate(label_names)),
            "label2id": id_by_label,
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
                f"Expected {name} to be an encoder or a classifier, but loading the model fails: "
                f"{get_first_line(error)}"
            ) from error
    reason = explain_quantization(model)
    if reason:
        raise ValueError(reason)
    untrained = set(report["missing_keys"])
    for entry in report["mismatched_keys"]:
        # transformers reports names, or names with the two shapes.
        untrained.add(entry[0] if isinstance(entry, tuple) else entry)
    return model, untrained


def _make_resumable(
    trainer_class: type[Any], examples: Examples, seed: int, store: Store
) -> type[Any]:
    """Derive a trainer class whose runs resume exactly, as if they had not been interrupted.

    It repeats the order of the examples and all random draws, and it resumes only from complete
    checkpoints.

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
            # A run that resumes after an evaluation does not repeat it, nor what it draws.
            with keep_random_state():
                return super().evaluate(*args, **kwargs)

        def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
            """Save a checkpoint with the digests of its files, by which a damaged one is found."""
            try:
                super()._save_checkpoint(*args, **kwargs)
            except RuntimeError:
                # torch does not say that the disk is full. Writing a megabyte more raises the error
                # of the system, if that is the reason.
                write_bytes(store.folder / "room", bytes(1 << 20)).unlink()
                raise
            if self.is_world_process_zero():
                name = f"{CHECKPOINTS}/checkpoint-{self.state.global_step}"
                store.write_json(f"{name}.json", digest_files(store.folder / name))

    # The record of a run names its trainer.
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
    """Find the last complete checkpoint of a run; move incomplete ones after it aside.

    Returns:
        Its step; None if there is no complete checkpoint.
    """
    folder_by_step = {}
    for folder in (store.folder / CHECKPOINTS).glob("checkpoint-*[0-9]"):
        folder_by_step[int(folder.name.rpartition("-")[2])] = folder
    for step in sorted(folder_by_step, reverse=True):
        folder = folder_by_step[step]
        # The digests are written after the checkpoint: without them, it is incomplete.
        files = store.read_json(f"{CHECKPOINTS}/{folder.name}.json")
        if files is not None and not list_changed_files(folder, files):
            return step
        set_aside(folder)
    return None


def _read_figures(trainer: Any) -> dict[str, float | None]:
    """Return the figures of the final model on the validation set.

    They are those of the last evaluation, which is repeated only if the model has changed since.

    Returns:
        Name of the figure, without the prefix "eval_" -> value. Running times are left out.
    """
    evaluation: dict[str, Any] = {}
    for entry in trainer.state.log_history:
        if "eval_loss" in entry:
            evaluation = entry
    # The last step, or the best checkpoint, may not have been evaluated as the final model.
    is_final = evaluation.get("step") == trainer.state.global_step
    if not is_final or trainer.args.load_best_model_at_end:
        evaluation = trainer.evaluate()
    speed = ("_runtime", "_per_second", "_preparation_time")
    figures = {}
    for name, value in evaluation.items():
        if name.startswith("eval_") and not name.endswith(speed):
            figures[name.removeprefix("eval_")] = value
    return figures


def _save(store: Store, model: Any, tokenizer: Any, result: FineTuned, workers: Processes) -> None:
    """Save the model, the tokenizer and the result of a finished run, and remove its checkpoints.

    Only the main process writes; the others wait until it has finished.

    Args:
        store: Folder of the run.
        model: The fine-tuned model.
        tokenizer: Its tokenizer.
        result: The result, which marks the run as finished.
        workers: Processes of the run.
    """
    if workers.is_main:
        is_classifier = result.label_names is not None
        model.config.problem_type = "single_label_classification" if is_classifier else None
        with quiet():
            model.save_pretrained(store.folder)
            tokenizer.save_pretrained(store.folder)
        # The result comes last: it marks the run as finished. A folder may be moved.
        figures = result.to_dict()
        del figures["folder"]
        store.write_json(RESULT, figures)
        shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    workers.gather(None, "the end of the run")


def _open_result(store: Store) -> FineTuned | None:
    """Read the result of a run; return None if the run is not finished."""
    figures = store.read_json(RESULT)
    if figures is None:
        return None
    # A run may be killed after it has finished, before its checkpoints are removed.
    shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    # JSON has lists in place of tuples.
    label_names = figures.pop("label_names")
    if label_names is not None:
        label_names = tuple(label_names)
    return FineTuned(folder=str(store.folder), label_names=label_names, **figures)
