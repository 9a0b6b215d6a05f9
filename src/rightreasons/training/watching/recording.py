"""The base of callbacks that measure a model during training: when they measure, and where they keep the records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import transformers

from rightreasons.models.loading import Classifier
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

    The records are also kept in the Trainer's log history, from which a resumed run restores those of its checkpoint;
    with `out` it restores all of them, including that of an evaluation right after the checkpoint.

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
        self.records: list[R] = []

    def measure(self, parts: Mapping[str, Any], *, step: int, epoch: float) -> R:
        """Measure the model that the Trainer gives."""
        raise NotImplementedError

    def metrics(self, record: R) -> dict[str, float]:
        """Return the figures that join the metrics of `Trainer.evaluate`."""
        raise NotImplementedError

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the model before fine-tuning, or restore the records of a resumed run."""
        rows = [entry[self._logged] for entry in state.log_history if self._logged in entry]
        if state.global_step and self._out is not None and self._out.is_file():
            rows += json.loads(self._out.read_text("utf-8"))
        by_step = {row["step"]: self._read(row) for row in rows if row["step"] <= state.global_step}
        self.records = [by_step[step] for step in sorted(by_step)]
        if state.global_step == 0:
            self._record(state, parts)

    def on_evaluate(
        self, args: Any, state: Any, control: Any, metrics: dict[str, Any] | None = None, **parts: Any
    ) -> None:
        """Record the model, once per step for any number of evaluation sets."""
        self._record_once(state, parts)
        if metrics is not None:
            metrics.update(self.metrics(self.records[-1]))

    def on_train_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Record the finished model, unless an evaluation has."""
        self._record_once(state, parts)

    def _record_once(self, state: Any, parts: Mapping[str, Any]) -> None:
        if not self.records or self.records[-1].step != state.global_step:
            self._record(state, parts)

    def _record(self, state: Any, parts: Mapping[str, Any]) -> None:
        record = self.measure(parts, step=int(state.global_step), epoch=float(state.epoch or 0.0))
        self.records.append(record)
        state.log_history.append({"epoch": record.epoch, "step": record.step, self._logged: record.to_dict()})
        if self._out is not None and processes().is_main:
            self._out.parent.mkdir(parents=True, exist_ok=True)
            self._out.write_text(json.dumps([row.to_dict() for row in self.records], indent=1), "utf-8")


def classifier_of(parts: Mapping[str, Any]) -> Classifier:
    """Return the classifier under training.

    Raises:
        ValueError: If the Trainer has no tokenizer.
    """
    model = parts["model"]
    names = tuple(str(model.config.id2label[k]) for k in range(model.config.num_labels))
    return Classifier(model, _tokenizer(parts), names, "the model under training")


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
