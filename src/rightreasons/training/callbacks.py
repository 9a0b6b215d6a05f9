"""Callbacks that watch a model while a Trainer trains it: its shortcuts, and every training example.

A callback gets its Trainer by `attach`, because Trainer tells its callbacks neither about itself
nor about the other callbacks:

    trainer = Trainer(...)
    ShortcutCallback(texts, labels, heads).attach(trainer)

What is measured is up to the trackers of `rightreasons.training.trackers`, which fit other loops
too. The callbacks say when, and take the figures to where Trainer's own go.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import transformers
from typing_extensions import Self

from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.ranking import DataMap
from rightreasons.shortcuts.detector import Heads
from rightreasons.training.trackers import DataMapTracker, Record, ShortcutTracker

LOGGED_RECORD = "shortcuts"
"""Entry of the log history that has a record."""

_SPEED = "_samples_per_second"


class AttachedCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """A callback that knows its Trainer."""

    _trainer: Any = None

    def attach(self, trainer: Any) -> Self:
        """Add this callback to a Trainer, before its other callbacks.

        So it can add figures to a log before other callbacks, such as that of W&B, report the log.

        Args:
            trainer: A `transformers.Trainer`, with a tokenizer as its `processing_class`.

        Returns:
            This callback.
        """
        callbacks = trainer.callback_handler.callbacks
        if self in callbacks:
            callbacks.remove(self)
        callbacks.insert(0, self)
        self._trainer = trainer
        return self

    @property
    def trainer(self) -> Any:
        """The Trainer that was attached.

        Raises:
            ValueError: If no Trainer was attached.
        """
        if self._trainer is None:
            raise ValueError(
                f"Expected a Trainer for {type(self).__name__}, but there is none. Call "
                "`attach(trainer)` after making the Trainer, instead of passing `callbacks`."
            )
        return self._trainer


class ShortcutCallback(AttachedCallback):
    """Record shortcut rate, types, trade-off, ECE and F1 before, during and after fine-tuning.

    Each evaluation has the figures `eval_shortcut_rate`, `eval_shortcut_excess` and
    `eval_shortcut_tradeoff`. They go where Trainer's own go: the log history and
    `trainer_state.json`, TensorBoard and whatever else `report_to` names, the returned metrics,
    `metric_for_best_model` and early stopping. Each of several evaluation sets has them under its
    own prefix (`eval_NAME_`), always of the watched texts. A resumed run restores the records of its
    checkpoint, and with `out` that of an evaluation right after it.

    Args:
        texts: N labeled texts to watch, such as the validation set.
        labels: (N,) their labels.
        heads: The `LmiResult` of the training data, or a mapping from labels to the words of their
            heads.
        out: A JSON file for the records; None to keep them with the Trainer only.
        resampling: Level, resamples (200 by default) and seed of the intervals.
        **options: Options of `measure_shortcuts`: `text_pairs`, `protocol` (the heads must be of
            its tokens) and `average`.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 2.

    Example:
        >>> from rightreasons.shortcuts.mutual_information import lmi
        >>> heads = lmi(["good film", "bad film"], [1, 0])
        >>> callback = ShortcutCallback(["a good film", "a bad one"], [1, 0], heads)
        >>> callback.records
        []
        >>> callback.attach(transformers.Trainer(model, args))  # doctest: +SKIP
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
        self.tracker = ShortcutTracker(
            texts, labels, heads, out=out, resampling=resampling, **options
        )

    @property
    def records(self) -> list[Record]:
        """One dict of figures per measurement, the one before fine-tuning (step 0) first."""
        return self.tracker.records

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the model before fine-tuning; restore the earlier records if a run resumes."""
        # A checkpoint contains the log history, but not the attributes of callbacks.
        records = []
        for entry in state.log_history:
            if LOGGED_RECORD in entry:
                records.append(entry[LOGGED_RECORD])
        self.tracker.restore(records, state.global_step)
        if state.global_step == 0:
            self._measure(state)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Fail at the first batch of an evaluation, and not after it, if there is no Trainer."""
        _ = self.trainer

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Add the figures to the logs of an evaluation, before they are reported.

        Args:
            args: Arguments of the Trainer.
            state: State of the Trainer, whose history has a copy of the logs.
            control: Control of the Trainer.
            logs: Figures that are about to be reported, by name, such as "eval_loss".
            **kwargs: Further arguments of the callback.
        """
        prefix = find_evaluation_prefix(logs or {})
        if logs is None or prefix is None:
            return
        figures = {f"{prefix}_{name}": value for name, value in self._measure(state).items()}
        logs.update(figures)
        # Trainer has already copied the logs to its history. Add the figures to the copy, too.
        for entry in reversed(state.log_history):
            is_of_step = entry.get("step") == state.global_step
            if is_of_step and find_evaluation_prefix(entry) == prefix:
                entry.update(figures)
                break

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Measure the finished model, unless an evaluation has measured it."""
        if not self.tracker.has_record_of(int(state.global_step)):
            self._measure(state)

    def _measure(self, state: Any) -> dict[str, float]:
        """Measure the shortcuts of the present model, and add a new record to the log history.

        If there are several evaluation sets, the model is measured only once per step.

        Args:
            state: State of the Trainer, with the epoch, the step and the history.

        Returns:
            The figures to log, by name.
        """
        n_records = len(self.records)
        figures = self.tracker.on_epoch(
            self.trainer.model,
            self.trainer.processing_class,
            epoch=float(state.epoch or 0.0),
            step=int(state.global_step),
        )
        # The history is stored in checkpoints, from which a resumed run restores the records.
        for record in self.records[n_records:]:
            state.log_history.append(
                {"epoch": record["epoch"], "step": record["step"], LOGGED_RECORD: record}
            )
        return figures


class DataMapCallback(AttachedCallback):
    """Follow every training example over the epochs: confidence, variability and correctness.

    At the end of each epoch the model, in evaluation mode, scores all training texts: one forward
    pass over the data, about a third of the cost of the epoch. The end of training ends an epoch
    too, however short (`max_steps`, or 2.5 epochs). The means over the examples so far are logged as
    `data_map_confidence`, `data_map_variability` and `data_map_correctness`, where Trainer's own
    figures go.

    The map of a resumed run begins where it resumes, and a warning says so.

    Args:
        texts: N training texts.
        labels: (N,) their labels.
        text_pairs: (N,) second texts, for a task of pairs; None for single texts.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with
        Training Dynamics".

    Example:
        >>> callback = DataMapCallback(["good film", "bad film"], [1, 0])
        >>> callback.result()
        Traceback (most recent call last):
        ...
        ValueError: Expected at least one finished epoch of training, but got none.
    """

    def __init__(
        self,
        texts: Sequence[str],
        labels: Any,
        *,
        text_pairs: Sequence[str] | None = None,
    ) -> None:
        self.tracker = DataMapTracker(texts, labels, text_pairs=text_pairs)
        self._last_step: int | None = None

    def result(self) -> DataMap:
        """Return the data map of the epochs so far.

        Raises:
            ValueError: If no epoch has ended.
        """
        return self.tracker.result()

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin a new data map; warn if the run resumes after some steps."""
        # If there is no Trainer, this raises an error before the first epoch.
        _ = self.trainer
        self.tracker.restart()
        self._last_step = None
        step = int(state.global_step)
        if step:
            warnings.warn(
                f"The data map begins at step {step}, where training resumed.", stacklevel=2
            )

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Score all training texts with the present model, and log the means of the data map."""
        step = int(state.global_step)
        # If no step was made since the end of the previous epoch, the model is the same.
        if step == self._last_step:
            return
        self._last_step = step
        # These figures are not part of an evaluation, so that they are logged separately.
        trainer = self.trainer
        trainer.log(self.tracker.on_epoch(trainer.model, trainer.processing_class))


def find_evaluation_prefix(logs: Mapping[str, Any]) -> str | None:
    """Return the prefix of the figures of an evaluation, such as "eval".

    Args:
        logs: Figures that Trainer logs, by name.

    Returns:
        The prefix; None if the logs are not those of an evaluation.

    Example:
        >>> find_evaluation_prefix({"eval_loss": 0.5, "eval_samples_per_second": 80.0})
        'eval'
    """
    # The summary of a training run has a name with this suffix, too, but is not an evaluation.
    if "total_flos" in logs:
        return None
    # Every evaluation logs its speed, such as "eval_samples_per_second".
    for name in logs:
        if name.endswith(_SPEED):
            return name.removesuffix(_SPEED)
    return None
