"""Callbacks that watch a model while it trains: its shortcuts, its choices, every training example."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import transformers
from numpy.typing import NDArray
from transformers.trainer_callback import CallbackHandler

from rightreasons.calibration.judged import JudgedItems
from rightreasons.core.json_files import read_json
from rightreasons.core.options import check_options
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import write_json
from rightreasons.core.validation import check_labels, check_same_length, check_texts
from rightreasons.difficulty.ranking import DataMap, data_map
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.loading import class_names
from rightreasons.models.running import processes
from rightreasons.shortcuts.measure import WithheldError, measure_shortcuts
from rightreasons.shortcuts.reliance import Heads


def prefix_of(logs: Mapping[str, Any]) -> str | None:
    """Return the prefix of the evaluation that some logs are of; None for the logs of training."""
    if "total_flos" in logs:  # the summary of a training run
        return None
    speed = "_samples_per_second"
    return next((name.removesuffix(speed) for name in logs if name.endswith(speed)), None)


def report(figures: Mapping[str, float], args: Any, state: Any, control: Any) -> None:
    """Log figures that belong to no evaluation, as `Trainer.log` would."""
    logs = {**figures, "epoch": float(state.epoch or 0.0)}
    state.log_history.append({**logs, "step": int(state.global_step)})
    handler = _handler()
    if handler is not None:
        handler.call_event("on_log", args, state, control, logs=logs)


def lead(callback: transformers.TrainerCallback) -> None:
    """Put a callback before the others of its Trainer, so that what it adds to a log reaches all of them."""
    handler = _handler()
    if handler is not None and any(other is callback for other in handler.callbacks[1:]):
        # In place, and the handler may be amid its list: those that it has called move on by one, so none is skipped.
        handler.callbacks.remove(callback)
        handler.callbacks.insert(0, callback)


def _handler() -> Any:
    """Return the handler that is calling a callback; None if something else calls it.

    A Trainer gives its callbacks neither itself nor the handler, so it is looked up where the call comes from.
    """
    frame = inspect.currentframe()
    while frame is not None:
        handler = frame.f_locals.get("self")
        if isinstance(handler, CallbackHandler):
            return handler
        frame = frame.f_back
    return None


def classifier_of(parts: Mapping[str, Any]) -> Classifier:
    """Return the classifier under training.

    Raises:
        ValueError: If the Trainer has no tokenizer.
    """
    model, tokenizer, name = (
        parts["model"],
        parts.get("processing_class"),
        "the model under training",
    )
    if tokenizer is None:
        raise ValueError(
            "Expected a Trainer with a tokenizer, but it has none: pass `processing_class`."
        )
    return Classifier(model, tokenizer, class_names(model.config, name), name)


MEASURED_BY = ("text_pairs", "protocol", "average")
"""The options of `measure_shortcuts` that `ShortcutCallback` takes."""

LOGGED = "shortcuts"
"""The entry of the log history with a record."""

FOLLOWED = ("confidence", "variability", "correctness")
"""The figures of a data map whose means over the examples are logged."""


class ShortcutCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Record shortcut rate, types, trade-off, ECE and F1 before fine-tuning, at each evaluation, and at the end.

    Each evaluation has the figures `eval_shortcut_rate`, `eval_shortcut_excess` and `eval_shortcut_tradeoff`. They go
    where Trainer's own go: the log history and `trainer_state.json`, TensorBoard and whatever else `report_to` names,
    the returned metrics, `metric_for_best_model` and early stopping. Each of several evaluation sets has them under its
    own prefix (`eval_NAME_`), always of the watched texts. A resumed run restores the records of its checkpoint, and
    with `out` that of an evaluation right after it.

    Args:
        texts: N labeled texts to watch, such as the validation set.
        labels: (N,) their labels.
        heads: The `LmiResult` of the training data, or a mapping from labels to the words of their heads.
        out: A JSON file for the records; None keeps them only with the Trainer.
        resampling: Level, resamples (200 by default) and seed of the intervals.
        **options: Of `measure_shortcuts`: `text_pairs`, `protocol` (the heads must be of its tokens) and
            `average`.

    Attributes:
        records: One dict of figures per measurement, the one before fine-tuning (step 0) first.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 2.

    Example:
        >>> from rightreasons.shortcuts.mutual_information import lmi
        >>> heads = lmi(["good film", "bad film"], [1, 0])
        >>> callback = ShortcutCallback(["a good film", "a bad one"], [1, 0], heads)
        >>> callback.records
        []
        >>> trainer = transformers.Trainer(model, args, callbacks=[callback])  # doctest: +SKIP
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Any,
        heads: Heads,
        *,
        out: str | os.PathLike[str] | None = None,
        resampling: Resampling = Resampling(resamples=200),
        **options: Any,
    ) -> None:
        check_options(options, MEASURED_BY, "ShortcutCallback")
        self._texts = check_texts(texts, "texts", allow_empty=options.get("text_pairs") is not None)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._heads, self._resampling, self._options = heads, resampling, options
        self._out = None if out is None else Path(out)
        self._measured: tuple[tuple[int, int], dict[str, Any] | None] | None = None
        self.records: list[dict[str, Any]] = []

    def measure(
        self, parts: Mapping[str, Any], *, step: int, epoch: float
    ) -> dict[str, Any] | None:
        """Measure the shortcuts of the model that the Trainer gives; None, with a warning, where they are withheld."""
        classifier = classifier_of(parts)
        try:
            measured = measure_shortcuts(
                classifier,
                self._texts,
                self._labels,
                self._heads,
                resampling=self._resampling,
                progress=False,
                **self._options,
            )
        except WithheldError as error:
            warnings.warn(f"No shortcuts are recorded at step {step}: {error}", stacklevel=2)
            return None
        return measured.record(step=step, epoch=epoch)

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the model before fine-tuning, or restore the records of a resumed run."""
        lead(self)
        rows = [entry[LOGGED] for entry in state.log_history if LOGGED in entry]
        if state.global_step and self._out is not None and self._out.is_file():
            rows += read_json(self._out)  # that of an evaluation right after the checkpoint, too
        by_step = {row["step"]: row for row in rows if row["step"] <= state.global_step}
        self.records = [by_step[step] for step in sorted(by_step)]
        self._measured = None
        if state.global_step == 0:
            self._figures(state, parts)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Come before the callbacks that report the evaluation that now runs."""
        lead(self)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **parts: Any
    ) -> None:
        """Let the figures join an evaluation that is about to be reported."""
        prefix = prefix_of(logs or {})
        if logs is None or prefix is None:
            return
        figures = {f"{prefix}_{name}": value for name, value in self._figures(state, parts).items()}
        logs.update(figures)
        for entry in reversed(state.log_history):
            if entry.get("step") == state.global_step and prefix_of(entry) == prefix:
                entry.update(figures)
                break

    def on_train_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the finished model, unless an evaluation has."""
        if not self._is_recorded(state):
            self._figures(state, parts)

    def _is_recorded(self, state: Any) -> bool:
        return bool(self.records) and self.records[-1]["step"] == state.global_step

    def _figures(self, state: Any, parts: Mapping[str, Any]) -> dict[str, float]:
        """Measure the model as it is now, once for any number of evaluation sets: the figures that join each."""
        # The best checkpoint, loaded at the end, is another model at the same step.
        model = (
            int(state.global_step),
            sum(parameter._version for parameter in parts["model"].parameters()),
        )
        workers = processes()
        if self._measured is None or any(
            workers.gather(self._measured[0] != model, "whether weights changed")
        ):
            record = self.measure(
                parts, step=int(state.global_step), epoch=float(state.epoch or 0.0)
            )
            self._measured = (model, record)
            if record is not None and not self._is_recorded(state):
                self.records.append(record)
                state.log_history.append(
                    {"epoch": record["epoch"], "step": record["step"], LOGGED: record}
                )
                if self._out is not None and workers.is_main:
                    write_json(self._out, self.records)
        if (now := self._measured[1]) is None:
            return {}
        names = {"rate": "shortcut_rate", "excess": "excess", "tradeoff": "shortcut_tradeoff"}
        return {f"shortcut_{name}": now[key] for name, key in names.items() if now[key] is not None}


class DataMapCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Follow every training example over the epochs: confidence, variability and correctness.

    At the end of each epoch the model, in evaluation mode, scores all training texts: one forward pass over the data,
    about a third of the cost of the epoch. The end of training ends an epoch too, however short (`max_steps`, or 2.5
    epochs). The means over the examples so far are logged as `data_map_confidence`, `data_map_variability` and
    `data_map_correctness`, where Trainer's own figures go.

    The map of a resumed run begins where it goes on, and a warning says so.

    Args:
        texts: N training texts.
        labels: (N,) their labels.
        text_pairs: N second texts, for a task of pairs.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with Training Dynamics".

    Example:
        >>> callback = DataMapCallback(["good film", "bad film"], [1, 0])
        >>> callback.result()
        Traceback (most recent call last):
        ...
        ValueError: Expected at least one epoch of training, but none has ended.
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Any,
        *,
        text_pairs: Sequence[str] | None = None,
    ) -> None:
        self._texts = check_texts(texts, "texts", allow_empty=text_pairs is not None)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._text_pairs = text_pairs
        self._epochs: list[
            tuple[int, NDArray[np.float64], NDArray[np.bool_]]
        ] = []  # step, probability, correct

    def result(self) -> DataMap:
        """Return the data map of the epochs so far.

        Raises:
            ValueError: If no epoch has ended.
        """
        if not self._epochs:
            raise ValueError("Expected at least one epoch of training, but none has ended.")
        _, probabilities, correct = zip(*self._epochs, strict=True)
        return data_map(np.stack(probabilities), np.stack(correct))

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Forget earlier runs."""
        self._epochs.clear()
        if step := int(state.global_step):
            warnings.warn(
                f"The data map begins at step {step}, where the run goes on.", stacklevel=2
            )

    def on_epoch_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Score all training texts."""
        step = int(state.global_step)
        if self._epochs and self._epochs[-1][0] == step:
            return
        classifier = classifier_of(parts)
        labels = check_labels(self._labels, len(classifier.label_names or ()), name="labels")
        scores = predict(classifier, self._texts, text_pairs=self._text_pairs, progress=False)
        items = JudgedItems.of(scores.logits, labels)
        self._epochs.append((step, items.label_probability, items.top.correct))
        so_far = self.result()
        report(
            {f"data_map_{name}": float(getattr(so_far, name).mean()) for name in FOLLOWED},
            args,
            state,
            control,
        )
