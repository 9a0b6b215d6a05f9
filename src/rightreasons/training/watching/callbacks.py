"""Watch a model during training: its shortcuts at each evaluation, and every training example after each epoch."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import transformers

from rightreasons.analysis.difficulty.data_map import DataMap
from rightreasons.analysis.shortcuts.lmi import LmiResult
from rightreasons.analysis.shortcuts.reliance import Heads
from rightreasons.foundations.arrays import kind_of
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import one_line
from rightreasons.foundations.validation import check_bool, check_ids, check_labels, check_same_length, check_texts
from rightreasons.measuring.calibration import JudgedItems
from rightreasons.measuring.causal_shortcuts import measure_causal_shortcuts, named_cues
from rightreasons.measuring.protocols import Protocol, protocol_of
from rightreasons.measuring.shortcuts import N_CUES, ShortcutRecord, WithheldError, measure_shortcuts
from rightreasons.models.running.processes import processes
from rightreasons.models.scoring.classes import predict
from rightreasons.training.watching.data_map_files import EpochScores, forget_others, map_of, read_epochs, write_epoch
from rightreasons.training.watching.recording import RecordingCallback, classifier_of, report

LOGGED = "shortcuts"
"""The entry of the Trainer's log history with a record."""

FOLLOWED = ("confidence", "variability", "correctness")
"""The figures of a data map whose means over the examples are logged."""


class ShortcutCallback(RecordingCallback[ShortcutRecord]):
    """Record shortcut rate, types, trade-off, ECE and F1 before fine-tuning, at each evaluation, and at the end.

    Each evaluation has the figures `eval_shortcut_rate`, `eval_shortcut_excess` and `eval_shortcut_tradeoff`. They go
    where Trainer's own go: the log history and `trainer_state.json`, TensorBoard and whatever else `report_to` names,
    the returned metrics, `metric_for_best_model` and early stopping. Each of several evaluation sets has them under its
    own prefix (`eval_NAME_`), always of the watched texts. A resumed run restores the records of its checkpoint; with
    `out` it restores all of them, including that of an evaluation right after the checkpoint.

    With `causal`, the predictions are also made again without the cues that are named at that moment and without
    control words (`measure_causal_shortcuts`): at most five forward passes over the texts more at each evaluation.

    Args:
        texts: N labeled texts to watch, such as the validation set.
        labels: (N,) their labels.
        heads: The `LmiResult` of the training data, or a mapping from labels to the words of their heads.
        text_pairs: N second texts, for a task of pairs.
        protocol: Name of the protocol, or a `Protocol`, as in `measure_shortcuts`; the heads must be of its tokens.
        top_n: Number of tokens on which a prediction rests; by default that of the protocol.
        average: Average of F1; default "macro".
        n_bins: Bins of the calibration error; by default those of the protocol.
        n_resamples: Resamples of the intervals; default 200.
        seed: Seed of the resamples.
        attribution: Options of `integrated_gradients`.
        causal: Whether to record the causal shortcut rate too; default False. `heads` is then an `LmiResult`.
        words: With `causal`, words to test at each evaluation, beside those that the detector names.
        out: A JSON file for the records; None keeps them only with the Trainer.

    Attributes:
        records: One `ShortcutRecord` per measurement, the one before fine-tuning (step 0) first.

    References:
        Bihani & Rayz (2025), "The Reliability Paradox", figure 2.

    Example:
        >>> from rightreasons.analysis.shortcuts.lmi import lmi
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
        text_pairs: Sequence[str] | None = None,
        protocol: str | Protocol | None = None,
        top_n: int | None = None,
        average: str = "macro",
        n_bins: int | None = None,
        n_resamples: int = 200,
        seed: int = 0,
        attribution: Mapping[str, Any] | None = None,
        causal: bool = False,
        words: Sequence[str] = (),
        out: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(LOGGED, ShortcutRecord.of, out)
        if causal and not isinstance(heads, LmiResult):
            raise TypeError(f"Expected `heads` as an LmiResult where `causal` is on, but got {kind_of(heads)}.")
        if causal and protocol_of(protocol).unit != "word":
            raise ValueError("Expected a protocol of words where `causal` is on, but got one of pieces.")
        if isinstance(words, str) or (words and not causal):
            raise ValueError(f"Expected a list of `words` with `causal`, but got {one_line(words)}.")
        self._causal, self._words = check_bool(causal, "causal"), check_texts(words, "words") if words else []
        self._texts = check_texts(texts, "texts", allow_empty=text_pairs is not None)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._heads = heads
        self._options: dict[str, Any] = {
            "text_pairs": text_pairs,
            "protocol": protocol,
            "top_n": top_n,
            "average": average,
            "n_bins": n_bins,
            "resampling": Resampling(resamples=n_resamples, seed=seed),
            "attribution": attribution,
        }

    def measure(self, parts: Mapping[str, Any], *, step: int, epoch: float) -> ShortcutRecord | None:
        """Measure the shortcuts of the model that the Trainer gives; None, with a warning, where they are withheld."""
        classifier = classifier_of(parts)
        try:
            measured = measure_shortcuts(
                classifier, self._texts, self._labels, self._heads, progress=False, **self._options
            )
        except WithheldError as error:
            warnings.warn(f"No shortcuts are recorded at step {step}: {error}", stacklevel=2)
            return None
        if not self._causal or not isinstance(self._heads, LmiResult):
            return measured.record(step=step, epoch=epoch)
        named, pairs = named_cues(measured.cues(self._heads, N_CUES, None)), self._options["text_pairs"]
        tested = measure_causal_shortcuts(
            classifier,
            [self._texts[row] for row in measured.rows],
            measured,
            self._heads,
            [*named, *measured.suspected_cues(self._heads, self._words, without=named)],
            text_pairs=None if pairs is None else [pairs[row] for row in measured.rows],
            resampling=self._options["resampling"],
            progress=False,
        )
        return measured.record(step=step, epoch=epoch, causal=tested.shortcuts)

    def figures(self, record: ShortcutRecord) -> dict[str, float]:
        """Return the figures that join an evaluation, without its prefix."""
        figures = {"shortcut_rate": record.shortcut_rate, "shortcut_excess": record.excess}
        if record.shortcut_tradeoff is not None:
            figures["shortcut_tradeoff"] = record.shortcut_tradeoff
        if record.causal_shortcut_rate is not None:
            figures["causal_shortcut_rate"] = record.causal_shortcut_rate
        return figures


class DataMapCallback(transformers.TrainerCallback):  # type: ignore[misc]
    """Follow every training example over the epochs: confidence, variability and correctness.

    At the end of each epoch the model, in evaluation mode, scores all training texts: one forward pass over the data,
    about a third of the cost of the epoch. The end of training ends an epoch too, however short (`max_steps`, or 2.5
    epochs). The means over the examples so far are logged as `data_map_confidence`, `data_map_variability` and
    `data_map_correctness`, where Trainer's own figures go.

    A resumed run continues the map: from `out`, or from this callback's own memory. The epoch at whose end the
    checkpoint was saved is scored again if need be; if earlier ones are missing, one warning says how many.

    Args:
        texts: N training texts.
        labels: (N,) their labels.
        text_pairs: N second texts, for a task of pairs.
        ids: N unique ids, which identify the examples in another order or selection; None stores none.
        out: A folder for the scores of each epoch, from which a resumed run continues and which `rightreasons
            difficulty --data-map` reads; None keeps them only in memory. Epochs of an earlier run are replaced.
        max_length: Maximum tokens per text; None takes the limit of the model.
        batch_size: Texts per batch.

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
        ids: Iterable[object] | None = None,
        out: str | os.PathLike[str] | None = None,
        max_length: int | None = None,
        batch_size: int = 64,
    ) -> None:
        self._texts = check_texts(texts, "texts", allow_empty=text_pairs is not None)
        self._labels = check_labels(labels, name="labels")
        check_same_length(texts=self._texts, labels=self._labels)
        self._ids = () if ids is None else tuple(check_ids(ids, "ids"))
        if ids is not None:
            check_same_length(texts=self._texts, ids=self._ids)
        self._text_pairs = text_pairs
        self._out = None if out is None else Path(out)
        self._max_length = max_length
        self._batch_size = batch_size
        self._epochs: list[EpochScores] = []

    def result(self) -> DataMap:
        """Return the data map of the epochs so far.

        Raises:
            ValueError: If no epoch has ended.
        """
        if not self._epochs:
            raise ValueError("Expected at least one epoch of training, but none has ended.")
        return map_of(self._epochs)

    def on_train_begin(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Forget earlier runs; restore the finished epochs of a resumed one."""
        workers = processes()
        step, epoch = int(state.global_step), float(state.epoch or 0.0)
        known = {
            one.step: one for one in [*(read_epochs(self._out, skip_damaged=True) if self._out else ()), *self._epochs]
        }
        self._epochs = [
            known[end]
            for end in sorted(known)
            if end <= step
            and not known[end].is_cut
            and (len(known[end].probability), known[end].ids) == (len(self._labels), self._ids)
        ]
        workers.gather(None)  # all processes have read
        if self._out is not None and workers.is_main:
            forget_others(self._out, {one.step for one in self._epochs})
        if not step:
            return
        if epoch.is_integer() and not self._ends_at(step):
            self._score(step, epoch, is_cut=False, parts=parts)
        n_missing = int(epoch) - len(self._epochs)
        if n_missing > 0 and workers.is_main:
            where = (
                "only the run that stopped held them: give DataMapCallback `out`"
                if self._out is None
                else (f"{self._out} does not hold them")
            )
            warnings.warn(
                f"The data map lacks {n_missing} of the {int(epoch)} epochs before this run was resumed; {where}.",
                stacklevel=2,
            )

    def on_epoch_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Score all training texts."""
        step, epoch = int(state.global_step), float(state.epoch or 0.0)
        if self._ends_at(step):
            return
        self._score(step, epoch, is_cut=control.should_training_stop and not epoch.is_integer(), parts=parts)
        so_far = self.result()
        report({f"data_map_{name}": float(getattr(so_far, name).mean()) for name in FOLLOWED}, args, state, control)

    def _ends_at(self, step: int) -> bool:
        return bool(self._epochs) and self._epochs[-1].step == step

    def _score(self, step: int, epoch: float, *, is_cut: bool, parts: Mapping[str, Any]) -> None:
        classifier = classifier_of(parts)
        names = classifier.label_names or ()
        labels = check_labels(self._labels, len(names), name="labels")
        scores = predict(
            classifier,
            self._texts,
            text_pairs=self._text_pairs,
            batch_size=self._batch_size,
            max_length=self._max_length,
            progress=False,
        )
        items = JudgedItems.of(scores.logits, labels)
        self._epochs.append(EpochScores(step, epoch, is_cut, items.label_probability, items.top.correct, self._ids))
        if self._out is not None and processes().is_main:
            write_epoch(self._out, self._epochs[-1])
