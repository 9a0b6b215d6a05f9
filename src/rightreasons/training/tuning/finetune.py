"""Fine-tune an encoder into a classifier, a multiple-choice or a question-answering model, on transformers' Trainer."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from rightreasons.analysis.behavior.squad_scores import answer_scores
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_bool, check_count, check_number, check_one_of, check_seed
from rightreasons.models.loading import (
    Classifier,
    agree_on_padding,
    check_model,
    load_tokenizer,
    position_bound,
    quiet,
)
from rightreasons.models.running.fingerprint import fingerprint_model
from rightreasons.models.running.processes import Processes, processes
from rightreasons.models.running.store import Store
from rightreasons.models.scoring.spans import predict_answers
from rightreasons.training.metrics import compute_metrics
from rightreasons.training.tuning.examples import (
    COLUMNS,
    Examples,
    Table,
    as_dataset,
    choice_examples,
    classification_examples,
    find_label_names,
)
from rightreasons.training.tuning.sampling import LengthGroupedSampler
from rightreasons.training.tuning.span_examples import span_examples

TASKS = tuple(COLUMNS)
RESULT = "result.json"
CHECKPOINTS = "checkpoints"
_AUTO_CLASSES = {
    "classification": transformers.AutoModelForSequenceClassification,
    "multiple_choice": transformers.AutoModelForMultipleChoice,
    "question_answering": transformers.AutoModelForQuestionAnswering,
}


@dataclasses.dataclass(frozen=True)
class FineTuned(Result):
    """A finished fine-tuning run.

    Attributes:
        folder: Where model and tokenizer are; `load_classifier`, `load_multiple_choice` or `load_question_answering`
            opens it.
        task: "classification", "multiple_choice" or "question_answering".
        label_names: The classes in the order of the logits; None for the other tasks.
        n_train: Training examples; windows of contexts for question answering.
        n_validation: Validation examples, counted in the same way; None without a validation set.
        n_truncated: Training texts (or pairs of prompt and choice) that were longer than `max_length` and were cut;
            questions that were, for question answering.
        n_steps: Optimizer steps.
        epochs: Passes over the training set.
        train_loss: Mean loss over the steps of the call that finished the run, in nats; None if it had none left.
        metrics: Figures on the validation set as `compute_metrics` names them (`exact_match` and `f1` for question
            answering), and the `loss`; empty without a set.
        seconds: Wall time of the call that finished the run.
        resumed_from_step: The step it went on from, after an earlier call was killed; None if there was none.
    """

    folder: str
    task: str
    label_names: tuple[str, ...] | None
    n_train: int
    n_validation: int | None
    n_truncated: int
    n_steps: int
    epochs: float
    train_loss: float | None
    metrics: Mapping[str, float | None]
    seconds: float
    resumed_from_step: int | None


def fine_tune(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    *,
    out: str | os.PathLike[str],
    validation: Table | None = None,
    task: str = "classification",
    label_names: Sequence[str] | None = None,
    epochs: float = 3.0,
    learning_rate: float = 5e-5,
    head_learning_rate: float | None = None,
    freeze_encoder: bool = False,
    batch_size: int = 32,
    max_length: int | None = None,
    stride: int | None = None,
    weight_decay: float = 0.01,
    warmup: float = 0.06,
    seed: int = 0,
    metrics: Sequence[str] | Callable[..., Mapping[str, Any]] = ("accuracy", "f1", "ece"),
    checkpoint_steps: int | None = None,
    revision: str | None = None,
    device: str | None = None,
    progress: bool = True,
    callbacks: Sequence[transformers.TrainerCallback] = (),
    trainer_class: type[transformers.Trainer] = transformers.Trainer,
    compute_loss_func: Callable[..., torch.Tensor] | None = None,
    extra_columns: Sequence[str] = (),
    training_arguments: Mapping[str, Any] | None = None,
    record: Mapping[str, Any] | None = None,
) -> FineTuned:
    """Fine-tune an encoder on labelled texts and save what `load_classifier` opens.

    AdamW with a linear schedule, batches of like length, everything drawn from `seed`; the caller's random state is
    left as it was. A run that is killed goes on from its last checkpoint when the same call is made again, and ends
    with the model of a run that was never killed. A run that is finished is opened and not repeated.

    Args:
        model_name_or_path: An encoder or a classifier: a folder or a hub id. Weights that it lacks for the task (the
            head) are drawn from `seed`.
        train: A `datasets.Dataset`, a mapping of columns or a list of rows: `text` (optionally `text_pair`) and `label`
            for classification; `prompt`, `choices` (as many in each example) and `label` for multiple choice;
            `question`, `context` and `answers` ({text, answer_start}, of which the first is learned) for question
            answering.
        out: The folder of the model: new, empty, or of the same call.
        validation: Examples to evaluate on after each epoch, in the form of `train`.
        task: "classification", "multiple_choice" or "question_answering".
        label_names: Names of the classes; None takes them from a `ClassLabel` column, from labels that are texts, or
            numbers them. They are written into the model's configuration.
        epochs: Passes over the training set.
        learning_rate: Largest learning rate.
        head_learning_rate: That of the head, which is what lies outside the encoder or was drawn anew; None: the same.
        freeze_encoder: Whether to train the head alone.
        batch_size: Examples of a batch, on each device.
        max_length: The most tokens of a text (or of a prompt with one choice); what is longer is cut and counted. For
            question answering, that of a window of the context. None: 128, and 384 for question answering.
        stride: Tokens that the windows of a context share, for question answering; None: a third of `max_length`.
        weight_decay: Decoupled weight decay, of matrices only.
        warmup: Share of the steps over which the learning rate rises.
        seed: Seed of the head, the order and the dropout.
        metrics: Names for `compute_metrics`, or a `compute_metrics` of your own. Question answering has exact match and
            F1, once, of the final model.
        checkpoint_steps: Steps between checkpoints, kept until the end; None: ten times in a run, and not more often
            than every 50 steps. 0: none.
        revision: A branch, tag or commit of the hub repository.
        device: "cpu" to keep off a GPU; None takes what is there.
        progress: Whether to show progress bars and the log.
        callbacks: Trainer callbacks. One that exports its state (`ExportableState`) has it back after a resume.
        trainer_class: A subclass of `Trainer`, for another objective (`compute_loss`) or another loop.
        compute_loss_func: `Trainer`'s `compute_loss_func(outputs, labels, num_items_in_batch)`.
        extra_columns: Numeric columns of `train` and `validation` that go into the batch for such an objective; for
            multiple choice, one value a choice.
        training_arguments: Further `TrainingArguments`, such as {"load_best_model_at_end": True,
            "metric_for_best_model": "eval_ece", "greater_is_better": False, "save_strategy": "epoch"}. {"bf16": True}
            multiplies in bfloat16, which is two to three times faster where the hardware has it; weights stay float32.
        record: What else the result depends on, as plain values: the options of your trainer, loss or callbacks. It is
            kept with the run, so that a call with other options is not taken for this run.

    Returns:
        A `FineTuned`: folder, task, label names, counts, steps, epochs, training loss, metrics, seconds, where it
        resumed.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a column is missing, a label does not fit, an option is out of range, `out` holds something else,
            or the loss diverged.

    References:
        Devlin, Chang, Lee, Toutanova (2019), BERT, section 4; Mosbach, Andriushchenko, Klakow (2021), On the Stability
        of Fine-tuning BERT, for the warm-up and the small learning rate.
    """
    began = time.perf_counter()
    check_one_of(task, TASKS, "task")
    check_number(epochs, "epochs", minimum=0.0)
    check_number(learning_rate, "learning_rate", minimum=0.0)
    if head_learning_rate is not None:
        check_number(head_learning_rate, "head_learning_rate", minimum=0.0)
    check_bool(freeze_encoder, "freeze_encoder")
    check_count(batch_size, "batch_size")
    reading = task == "question_answering"
    longest = (384 if reading else 128) if max_length is None else check_count(max_length, "max_length", minimum=4)
    if reading and extra_columns:
        raise ValueError("Expected no `extra_columns` for question answering, whose examples are windows.")
    check_seed(seed)
    name = check_model(model_name_or_path)
    workers = processes()

    train_table = as_dataset(train, task, "train")
    valid_table = None if validation is None else as_dataset(validation, task, "validation")
    names = find_label_names(train_table, label_names) if task == "classification" else None
    tokenizer = load_tokenizer(name, revision)

    with own_random_state(seed), quiet():
        model, untrained = _load(task, name, revision, names)
        agree_on_padding(model, tokenizer)
        bound = min(longest, position_bound(model) or longest)

        def examples(table: Any, called: str) -> Examples:
            if reading:
                return span_examples(table, tokenizer, max_length=bound, stride=stride, name=called)
            if names is None:
                return choice_examples(table, tokenizer, max_length=bound, name=called, extra_columns=extra_columns)
            return classification_examples(
                table, tokenizer, names, max_length=bound, name=called, extra_columns=extra_columns
            )

        train_set = examples(train_table, "train")
        valid_set = None if valid_table is None else examples(valid_table, "validation").by_length()
        run = {
            "kind": "fine-tuning",
            "task": task,
            "model": fingerprint_model(model),
            "training set": train_set.fingerprint,
            "validation set": None if valid_set is None else valid_set.fingerprint,
            "label names": names,
            "epochs": epochs,
            "learning rate": learning_rate,
            "head learning rate": head_learning_rate,
            "frozen encoder": freeze_encoder,
            "batch size": batch_size * workers.count,
            "weight decay": weight_decay,
            "warm-up": warmup,
            "seed": seed,
            "metrics": _name(metrics) if callable(metrics) else list(metrics),
            "trainer": trainer_class.__qualname__,
            "loss": None if compute_loss_func is None else _name(compute_loss_func),
            "callbacks": [type(callback).__qualname__ for callback in callbacks],
            "training arguments": {key: repr(value) for key, value in sorted((training_arguments or {}).items())},
            "record": dict(record or {}),
        }
        store = workers.main_first(lambda: Store(out, run))
        if (store.folder / RESULT).is_file():
            return _open(store)

        steps = math.ceil(math.ceil(len(train_set) / (batch_size * workers.count)) * epochs)
        arguments = _arguments(
            store.folder / CHECKPOINTS,
            {
                "num_train_epochs": epochs,
                "learning_rate": learning_rate,
                "per_device_train_batch_size": batch_size,
                "per_device_eval_batch_size": 2 * batch_size,
                "weight_decay": weight_decay,
                "warmup_steps": warmup,
                "seed": seed,
                "use_cpu": device == "cpu",
                "disable_tqdm": not progress,
                "logging_strategy": "epoch" if progress else "no",
                "eval_strategy": "no" if valid_set is None else "epoch",
                **_checkpointing(checkpoint_steps, steps),
                **({"label_names": ["start_positions", "end_positions"]} if reading else {}),
                **(training_arguments or {}),
            },
        )
        head = _head(model, untrained)
        if freeze_encoder:
            for key, parameter in model.named_parameters():
                parameter.requires_grad_(key in head)
        choices = task == "multiple_choice"
        collator = transformers.DataCollatorForMultipleChoice if choices else transformers.DataCollatorWithPadding
        trainer = _length_grouped(trainer_class, train_set, seed)(
            model=model,
            args=arguments,
            data_collator=collator(tokenizer=tokenizer),
            train_dataset=train_set.dataset,
            eval_dataset=None if valid_set is None else valid_set.dataset,
            processing_class=tokenizer,
            compute_metrics=None if reading else metrics if callable(metrics) else compute_metrics(*metrics),
            compute_loss_func=compute_loss_func,
            callbacks=list(callbacks),
        )
        if not progress:
            trainer.remove_callback(transformers.PrinterCallback)
        if head_learning_rate is not None:
            _set_head_learning_rate(trainer, head, head_learning_rate)
        checkpoint = workers.gather(_last_checkpoint(store.folder / CHECKPOINTS))[0]
        resumed = None if checkpoint is None else int(Path(checkpoint).name.rsplit("-", 1)[1])
        loss = _mean_loss(trainer.train(resume_from_checkpoint=checkpoint), resumed or 0)
        figures = {} if valid_set is None else _figures(trainer)
        if reading and valid_table is not None:
            reader = Classifier(trainer.model, tokenizer, None, name)
            found = predict_answers(
                reader,
                valid_table["question"],
                valid_table["context"],
                max_length=bound,
                stride=stride,
                batch_size=2 * batch_size,
                progress=progress,
            )
            scores = answer_scores(found.texts, [row["text"] for row in valid_table["answers"]])
            figures |= {"exact_match": scores.exact_match, "f1": scores.f1}

    result = FineTuned(
        folder=str(store.folder),
        task=task,
        label_names=names,
        n_train=len(train_set),
        n_validation=None if valid_set is None else len(valid_set),
        n_truncated=train_set.truncated,
        n_steps=int(trainer.state.global_step),
        epochs=float(trainer.state.epoch or 0.0),
        train_loss=loss,
        metrics=figures,
        seconds=time.perf_counter() - began,
        resumed_from_step=resumed,
    )
    _save(store, trainer.model, tokenizer, result, workers)
    return result


def _name(function: Any) -> str:
    # The repr of a function holds its address, which differs in the next process.
    return str(getattr(function, "__qualname__", None) or repr(function))


def _load(task: str, name: str, revision: str | None, names: Sequence[str] | None) -> tuple[Any, set[str]]:
    """Load a model with the head of the task; also the names of the weights that were drawn at random."""
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
            model, report = _AUTO_CLASSES[task].from_pretrained(
                name,
                revision=revision,
                dtype=torch.float32,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **options,
            )
        except Exception as error:
            first = str(error).strip().splitlines()[0][:300]
            raise ValueError(f"Expected {name} to be an encoder or a classifier, but it is not: {first}") from error
    reshaped = {entry[0] if isinstance(entry, tuple) else entry for entry in report["mismatched_keys"]}
    return model, set(report["missing_keys"]) | reshaped


def _head(model: Any, untrained: set[str]) -> set[str]:
    """Name the parameters of the head: outside the encoder, or drawn at random within it (such as a pooler)."""
    prefix = f"{model.base_model_prefix}."
    return {key for key, _ in model.named_parameters() if not key.startswith(prefix) or key in untrained}


def _set_head_learning_rate(trainer: Any, head: set[str], rate: float) -> None:
    optimizer = trainer.create_optimizer()
    of_head = {id(parameter) for key, parameter in trainer.model.named_parameters() if key in head}
    groups = list(optimizer.param_groups)
    optimizer.param_groups.clear()
    for group in groups:
        for inside in (False, True):
            chosen = [parameter for parameter in group["params"] if (id(parameter) in of_head) == inside]
            if chosen:
                optimizer.add_param_group({**group, "params": chosen, **({"lr": rate} if inside else {})})


def _arguments(folder: Path, options: dict[str, Any]) -> transformers.TrainingArguments:
    fixed = {
        "output_dir": str(folder),
        "report_to": "none",
        "remove_unused_columns": False,  # the examples hold what the model and the objective take, and no more
        "label_names": ["labels"],
        "dataloader_pin_memory": torch.cuda.is_available() and not options["use_cpu"],
    }
    try:
        return transformers.TrainingArguments(**{**fixed, **options})
    except TypeError as error:
        raise ValueError(f"Expected options of TrainingArguments in `training_arguments`, but {error}.") from error


def _checkpointing(checkpoint_steps: int | None, steps: int) -> dict[str, Any]:
    every = max(50, math.ceil(steps / 10)) if checkpoint_steps is None else checkpoint_steps
    if check_count(every, "checkpoint_steps", minimum=0) == 0 or every >= steps:
        return {"save_strategy": "no"}
    return {"save_strategy": "steps", "save_steps": every, "save_total_limit": 2}


def _length_grouped(trainer_class: type[Any], examples: Examples, seed: int) -> type[Any]:
    """Give a trainer class the sampler whose order a resumed run repeats."""

    class LengthGrouped(trainer_class):  # type: ignore[misc]
        def _get_train_sampler(self, *args: Any, **kwargs: Any) -> LengthGroupedSampler:
            return LengthGroupedSampler(examples.lengths, self.args.train_batch_size * self.args.world_size, seed)

    LengthGrouped.__name__ = trainer_class.__name__
    return LengthGrouped


def _last_checkpoint(folder: Path) -> str | None:
    # Trainer writes its state last: a checkpoint without it was cut off by the kill.
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    return str(max(whole, key=lambda path: int(path.name.rsplit("-", 1)[1]))) if whole else None


def _mean_loss(done: Any, first_step: int) -> float | None:
    """Return the mean loss of the steps that a call made; Trainer divides their sum by all steps, earlier ones too."""
    steps = int(done.global_step) - first_step
    if steps <= 0:
        return None
    loss = float(done.training_loss) * int(done.global_step) / steps
    if not math.isfinite(loss):
        raise ValueError(f"Expected a finite training loss, but it is {loss}: the run diverged; lower `learning_rate`.")
    return loss


def _figures(trainer: Any) -> dict[str, float | None]:
    """Return the figures of the final model on the validation set."""
    last: dict[str, Any] = next((entry for entry in reversed(trainer.state.log_history) if "eval_loss" in entry), {})
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
        model.config.problem_type = None if result.label_names is None else "single_label_classification"
        with quiet():
            model.save_pretrained(store.folder)
            tokenizer.save_pretrained(store.folder)
        # The result comes last: it says that the run is finished.
        store.write_json(RESULT, {key: value for key, value in result.to_dict().items() if key != "folder"})
        shutil.rmtree(store.folder / CHECKPOINTS, ignore_errors=True)
    workers.gather(None)


def _open(store: Store) -> FineTuned:
    figures = store.read_json(RESULT)
    names = figures.pop("label_names")
    return FineTuned(folder=str(store.folder), label_names=None if names is None else tuple(names), **figures)


@contextmanager
def own_random_state(seed: int) -> Iterator[None]:
    """Seed the global random states, which transformers draws from, and give them back as they were."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    of_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    transformers.set_seed(seed)
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])
        if of_gpus:
            torch.cuda.set_rng_state_all(of_gpus)
