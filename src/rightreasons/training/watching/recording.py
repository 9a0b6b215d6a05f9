"""The base of callbacks that measure a model during training: when they measure, and where they keep the records."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import transformers
from transformers.trainer_callback import CallbackHandler

from rightreasons.foundations.atomic_write import write_json
from rightreasons.foundations.bounds import read_json
from rightreasons.models.loading import Classifier, class_names
from rightreasons.models.running.processes import processes


class _Record(Protocol):
    @property
    def step(self) -> int: ...

    @property
    def epoch(self) -> float: ...

    def to_dict(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=_Record)


class RecordingCallback(transformers.TrainerCallback, Generic[R]):  # type: ignore[misc]
    """Record a model before fine-tuning, at each evaluation, and at the end.

    Its figures are part of each evaluation, under the prefix of that evaluation (`eval_`, or `eval_NAME_` for a set of
    several), before anybody reads it: they are in its entry of the log history and so in `trainer_state.json`, in what
    `report_to` reports, in the returned metrics, and so in `metric_for_best_model` and early stopping, in whatever
    order the callbacks were given. What is recorded before fine-tuning and at the end is logged by itself.

    The records are entries of the log history too, from which a resumed run restores those of its checkpoint; with
    `out` it restores all of them, including that of an evaluation right after the checkpoint.

    Args:
        logged: The entry of the log history with a record.
        read: Reads a record that `to_dict` wrote.
        out: A JSON file for the records; None keeps them only with the Trainer.

    Attributes:
        records: One record per measurement, the one before fine-tuning (step 0) first.
    """

    def __init__(self, logged: str, read: Callable[[Mapping[str, Any]], R], out: str | os.PathLike[str] | None) -> None:
        self._logged, self._read = logged, read
        self._out = None if out is None else Path(out)
        self._measured: tuple[tuple[int, int], R | None] | None = None
        self._unreported: R | None = None
        self.records: list[R] = []

    def measure(self, parts: Mapping[str, Any], *, step: int, epoch: float) -> R | None:
        """Measure the model that the Trainer gives; None where there is nothing to record."""
        raise NotImplementedError

    def figures(self, record: R) -> dict[str, float]:
        """Return the figures that join an evaluation, without its prefix."""
        raise NotImplementedError

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the model before fine-tuning, or restore the records of a resumed run."""
        lead(self)
        rows = [entry[self._logged] for entry in state.log_history if self._logged in entry]
        if state.global_step and self._out is not None and self._out.is_file():
            rows += _rows_in(self._out)
        by_step = {row["step"]: self._read(row) for row in rows if row["step"] <= state.global_step}
        self.records = [by_step[step] for step in sorted(by_step)]
        self._measured = self._unreported = None
        if state.global_step == 0:
            self._unreported = self._current(state, parts)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Log the model before fine-tuning, now that what reports has begun too."""
        if self._unreported is not None:
            report(prefixed(self.figures(self._unreported), "eval"), args, state, control)
        self._unreported = None

    def on_prediction_step(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Come before the callbacks that report the evaluation that now runs."""
        lead(self)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **parts: Any) -> None:
        """Let the figures join an evaluation that is about to be reported."""
        prefix = prefix_of(logs or {})
        if logs is None or prefix is None:
            return
        self._unreported = None
        figures = prefixed(self._current_figures(state, parts), prefix)
        logs.update(figures)
        for entry in reversed(state.log_history):
            if entry.get("step") == state.global_step and prefix_of(entry) == prefix:
                entry.update(figures)
                break

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **parts: Any
    ) -> None:
        """Let the figures join the metrics of a Trainer that does not log its evaluations."""
        figures = prefixed(self._current_figures(state, parts), prefix_of(metrics or {}) or "eval")
        if metrics is not None:
            metrics.update(figures)

    def on_train_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the finished model, unless an evaluation has."""
        if not self._is_recorded(state) and (figures := self._current_figures(state, parts)):
            report(prefixed(figures, "eval"), args, state, control)

    def _is_recorded(self, state: Any) -> bool:
        return bool(self.records) and self.records[-1].step == state.global_step

    def _current_figures(self, state: Any, parts: Mapping[str, Any]) -> dict[str, float]:
        record = self._current(state, parts)
        return {} if record is None else self.figures(record)

    def _current(self, state: Any, parts: Mapping[str, Any]) -> R | None:
        """Measure the model as it is now, once for any number of evaluation sets."""
        # The best checkpoint, loaded at the end, is another model at the same step.
        model = (int(state.global_step), sum(parameter._version for parameter in parts["model"].parameters()))
        workers = processes()
        if self._measured is None or any(workers.gather(self._measured[0] != model)):
            record = self.measure(parts, step=int(state.global_step), epoch=float(state.epoch or 0.0))
            self._measured = (model, record)
            if record is not None and not self._is_recorded(state):
                self.records.append(record)
                state.log_history.append({"epoch": record.epoch, "step": record.step, self._logged: record.to_dict()})
                if self._out is not None and workers.is_main:
                    write_json(self._out, [row.to_dict() for row in self.records])
        return self._measured[1]


def _rows_in(file: Path) -> list[Any]:
    """Return the records in a file, as an earlier run wrote them."""
    rows = read_json(file)
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "step" in row for row in rows):
        raise ValueError(f"Expected the records of an earlier run in {file}, but it holds something else.")
    return rows


def prefixed(figures: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Name figures as those of an evaluation."""
    return {f"{prefix}_{name}": value for name, value in figures.items()}


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
    model, name = parts["model"], "the model under training"
    return Classifier(model, _tokenizer(parts), class_names(model.config, name), name)


def chooser_of(parts: Mapping[str, Any]) -> Classifier:
    """Return the multiple-choice model under training.

    Raises:
        ValueError: If the Trainer has no tokenizer.
    """
    return Classifier(parts["model"], _tokenizer(parts), None, "the model under training")


def _tokenizer(parts: Mapping[str, Any]) -> Any:
    """Return the tokenizer of the Trainer.

    Raises:
        ValueError: If it has none.
    """
    tokenizer = parts.get("processing_class")
    if tokenizer is None:
        raise ValueError("Expected a Trainer with a tokenizer, but it has none: pass `processing_class`.")
    return tokenizer
