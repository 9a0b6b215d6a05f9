"""Objects that follow a model over its training: its shortcuts, and every training example.

A tracker is called between epochs, with the model as it is then: `on_epoch(model, tokenizer, ...)`
measures it and returns figures to log. So it fits any training loop, such as one of accelerate. The
callbacks of `rightreasons.training.callbacks` call trackers from a Trainer.

A model may be in training mode, wrapped by accelerate, or prepared for gradient checkpointing: it
is measured in evaluation mode, and everything is as before afterwards.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from accelerate.utils import extract_model_from_parallel
from numpy.typing import NDArray

from rightreasons.calibration.judged import JudgedItems
from rightreasons.core.json_files import read_json
from rightreasons.core.options import check_options
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import write_json
from rightreasons.core.validation import check_labels, check_same_length, check_texts
from rightreasons.difficulty.ranking import DataMap, data_map
from rightreasons.models.classes import Classifier, predict
from rightreasons.models.heads import get_class_names
from rightreasons.models.runs.processes import processes
from rightreasons.shortcuts.detector import Heads
from rightreasons.shortcuts.measure import WithheldError, measure_shortcuts

SHORTCUT_OPTIONS = ("text_pairs", "protocol", "average")
"""Options of `measure_shortcuts` that a tracker takes."""

LOGGED_FIGURES = {
    "shortcut_rate": "shortcut_rate",
    "shortcut_excess": "excess",
    "shortcut_tradeoff": "shortcut_tradeoff",
}
"""Name of each logged figure, and of the entry of a record that it is."""

DATA_MAP_FIGURES = ("confidence", "variability", "correctness")
"""Figures of a data map whose means over the examples are logged."""

Record = dict[str, Any]


class ShortcutTracker:
    """Measure shortcut rate, types, trade-off, ECE and F1 of a model during its training.

    Args:
        texts: N labeled texts to watch, such as the validation set.
        labels: (N,) their labels.
        heads: The `LmiResult` of the training data, or a mapping from labels to the words of their
            heads.
        out: A JSON file for the records; None to keep them in memory only.
        resampling: Level, resamples (200 by default) and seed of the intervals.
        **options: Options of `measure_shortcuts`: `text_pairs`, `protocol` (the heads must be of
            its tokens) and `average`.

    Attributes:
        records: One dict of figures per measurement.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 2.

    Example:
        In a loop of accelerate, in every process:

        >>> from rightreasons.shortcuts.mutual_information import lmi
        >>> heads = lmi(["good film", "bad film"], [1, 0])
        >>> tracker = ShortcutTracker(["a good film", "a bad one"], [1, 0], heads)
        >>> accelerator.log(tracker.on_epoch(model, tokenizer, epoch=1))  # doctest: +SKIP
        >>> tracker.records
        []
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
        """Check the texts, labels and options, which are described in the docstring of the class."""
        check_options(options, SHORTCUT_OPTIONS, type(self).__name__)
        # One text of a pair may be empty.
        has_pairs = options.get("text_pairs") is not None
        self._texts = check_texts(texts, "texts", allow_empty=has_pairs)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._heads = heads
        self._resampling = resampling
        self._options = options
        self._out = None if out is None else Path(out)
        # The last state of the model that was measured, and its record. If a Trainer has several evaluation
        # sets, it asks for the figures of the same state several times.
        self._measured_state: tuple[int, int] | None = None
        self._measured_record: Record | None = None
        self.records: list[Record] = []

    def on_epoch(
        self, model: Any, tokenizer: Any, *, epoch: float, step: int | None = None
    ) -> dict[str, float]:
        """Measure a model, unless it has not changed since the last call, and return the figures to log.

        Args:
            model: The sequence classifier under training, wrapped by accelerate or not. With
                several processes, each must call this method.
            tokenizer: The tokenizer of the model.
            epoch: Number of epochs so far.
            step: Number of optimizer steps so far; None for the number of records.

        Returns:
            `shortcut_rate`, `shortcut_excess` and `shortcut_tradeoff`, without those that are
            undefined. Empty, with a warning, if the shortcuts are withheld.
        """
        if step is None:
            step = len(self.records)
        model = extract_model_from_parallel(model)
        # Recognize a changed model by the step, and by the number of changes of its parameters, which torch
        # counts: at the last step, Trainer may load the best checkpoint.
        n_changes = sum(parameter._version for parameter in model.parameters())
        state = (step, n_changes)
        workers = processes()
        # If the model has changed in one process, all must measure it, because they share the work.
        is_new = workers.gather(state != self._measured_state, "whether weights changed")
        if any(is_new):
            self._measured_record = self.measure(model, tokenizer, step=step, epoch=epoch)
            self._measured_state = state
            if self._measured_record is not None and not self.has_record_of(step):
                self.records.append(self._measured_record)
                if self._out is not None and workers.is_main:
                    write_json(self._out, self.records)

        figures = {}
        if self._measured_record is not None:
            for name, entry in LOGGED_FIGURES.items():
                value = self._measured_record[entry]
                if value is not None:
                    figures[name] = value
        return figures

    def measure(self, model: Any, tokenizer: Any, *, step: int, epoch: float) -> Record | None:
        """Measure the shortcuts of a model.

        Args:
            model: The sequence classifier under training.
            tokenizer: The tokenizer of the model.
            step: Number of optimizer steps so far, for the record.
            epoch: Number of epochs so far, for the record.

        Returns:
            One dict of figures; None, with a warning, if the shortcuts are withheld.
        """
        # Early in the training, attributions may be unreliable. Then only a warning is given, because the
        # model may be measured later.
        try:
            measurement = measure_shortcuts(
                make_classifier(model, tokenizer),
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
        return measurement.record(step=step, epoch=epoch)

    def has_record_of(self, step: int) -> bool:
        """Return whether the last record is that of a step."""
        return bool(self.records) and self.records[-1]["step"] == step

    def restore(self, records: Sequence[Record], step: int) -> None:
        """Replace all records by those of a run up to the step at which it resumes.

        Args:
            records: Records in the checkpoint of the run.
            step: Step at which the run resumes; 0 for a new run.
        """
        candidates = list(records)
        if step and self._out is not None and self._out.is_file():
            # The file may also have the record of an evaluation that followed the checkpoint.
            candidates += read_json(self._out)
        # Keep one record per step. Drop records of later steps, which will be measured again.
        record_by_step = {}
        for record in candidates:
            if record["step"] <= step:
                record_by_step[record["step"]] = record
        self.records = [record_by_step[step] for step in sorted(record_by_step)]
        self._measured_state = None
        self._measured_record = None


class DataMapTracker:
    """Follow every training example over the epochs: confidence, variability and correctness.

    Each call scores all training texts: one forward pass over the data, about a third of the cost
    of an epoch.

    Args:
        texts: N training texts.
        labels: (N,) their labels.
        text_pairs: (N,) second texts, for a task of pairs; None for single texts.

    References:
        Swayamdipta et al. (2020), "Dataset Cartography: Mapping and Diagnosing Datasets with
        Training Dynamics".

    Example:
        >>> tracker = DataMapTracker(["good film", "bad film"], [1, 0])
        >>> accelerator.log(tracker.on_epoch(model, tokenizer))  # doctest: +SKIP
        >>> tracker.result()
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
        """Check the texts and labels, which are described in the docstring of the class."""
        # One text of a pair may be empty.
        self._texts = check_texts(texts, "texts", allow_empty=text_pairs is not None)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._text_pairs = text_pairs
        # Probability of the label, and correctness, of each text: one array per epoch.
        self._probabilities: list[NDArray[np.float64]] = []
        self._is_correct: list[NDArray[np.bool_]] = []

    def on_epoch(self, model: Any, tokenizer: Any) -> dict[str, float]:
        """Score all training texts with the present model, and return the figures to log.

        Args:
            model: The sequence classifier under training, wrapped by accelerate or not.
            tokenizer: The tokenizer of the model.

        Returns:
            `data_map_confidence`, `data_map_variability` and `data_map_correctness`: means over the
            training texts, for the epochs so far.
        """
        classifier = make_classifier(extract_model_from_parallel(model), tokenizer)
        # Labels are checked here, because the number of classes is known only from the model.
        labels = check_labels(self._labels, len(classifier.label_names or ()), name="labels")
        scores = predict(classifier, self._texts, text_pairs=self._text_pairs, progress=False)
        items = JudgedItems.of(scores.logits, labels)
        self._probabilities.append(items.label_probability)
        self._is_correct.append(items.top.correct)

        # The data map has one value per text. Only means are logged.
        result = self.result()
        figures = {}
        for name in DATA_MAP_FIGURES:
            figures[f"data_map_{name}"] = float(getattr(result, name).mean())
        return figures

    def result(self) -> DataMap:
        """Return the data map of the epochs so far.

        Raises:
            ValueError: If no epoch has ended.
        """
        if not self._probabilities:
            raise ValueError("Expected at least one finished epoch of training, but got none.")
        return data_map(np.stack(self._probabilities), np.stack(self._is_correct))

    def restart(self) -> None:
        """Forget all epochs."""
        self._probabilities.clear()
        self._is_correct.clear()


def make_classifier(model: Any, tokenizer: Any) -> Classifier:
    """Wrap a model under training as a `Classifier`, with which predictions and attributions are computed.

    Args:
        model: A sequence classifier of transformers. Its configuration has the names of the classes.
        tokenizer: The tokenizer of the model.

    Raises:
        ValueError: If there is no tokenizer.
    """
    if tokenizer is None:
        raise ValueError(
            "Expected a Trainer with a tokenizer, but the Trainer has no tokenizer. Pass "
            "`processing_class`."
        )
    name = "the model under training"
    return Classifier(model, tokenizer, get_class_names(model.config, name), name)
