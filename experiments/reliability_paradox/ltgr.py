"""LTGR: teach a model to be less sure where its teacher took a shortcut (Du et al. 2021)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_fraction,
    check_labels,
    check_same_length,
    softmax,
)
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.options import Attributions
from rightreasons.models.loading import load_classifier
from rightreasons.models.running import processes
from rightreasons.shortcuts.detector import find_shortcuts
from rightreasons.shortcuts.mutual_information import LmiResult, lmi
from rightreasons.training.examples import Table, as_dataset, find_label_names
from rightreasons.training.finetune import FineTuned, Objective, fine_tune

Floats = NDArray[np.float64]

ALPHA = 0.8
"""The weight of the teacher in the loss of Du et al."""

TOP = 2
"""A sample counts as a shortcut's when one of its two most important words is in the head (Du et al.)."""

TARGETS = "teacher_targets"
"""The column of the training set that holds the smoothed outputs of the teacher."""

ATTRIBUTION: Mapping[str, Any] = {"label": "gold", "method": "gauss_legendre", "steps": 10}
"""How the training set is attributed: the gold label, as in the paper; ten nodes name the same top words as many do."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ltgr(Result):
    """A finished run of LTGR.

    Attributes:
        folder: Where the student is; `load_classifier` opens it.
        student: The run that trained the student.
        teacher: The run that trained the teacher.
        degree: (N,) shortcut degree b of each training example, in [0, 1].
        in_head: (N,) u: whether a top word of the example is in the head of its label.
        similarity: (N,) v: how like the teacher's attributions were after its first epoch to its final ones.
    """

    folder: str
    student: FineTuned
    teacher: FineTuned
    degree: Floats
    in_head: NDArray[np.bool_]
    similarity: Floats


def attribution_similarity(first: Ragged, last: Ragged, agree: Any) -> Floats:
    r"""Compare what a model looks at early in training with what it looks at in the end.

    \[ v_i = \cos(g(f_1(x_i)), g(f(x_i))) \text{ if both predict the same, else } 0 \]

    A model learns shortcuts first: what it looked at after one epoch and still does is suspect.

    Args:
        first: N rows of attributions after the first epoch, one number per token.
        last: N rows of the finished model, of the same lengths.
        agree: (N,) whether the two predictions are the same.

    Returns:
        (N,) cosines, in [0, 1] for attributions that have no sign; 0 where a row is all zeros.

    Example:
        >>> one = Ragged(np.array([3.0, 4.0, 1.0, 0.0]), np.array([0, 2, 4]))
        >>> two = Ragged(np.array([4.0, 3.0, 1.0, 0.0]), np.array([0, 2, 4]))
        >>> attribution_similarity(one, two, [True, False]).round(6).tolist()  # (12 + 12) / (5 * 5)
        [0.96, 0.0]
    """
    if not np.array_equal(first.offsets, last.offsets):
        raise ValueError(
            "Expected `first` and `last` to have one attribution for each token of the same texts."
        )
    check_same_length(first=first, agree=agree)
    row = np.repeat(np.arange(len(first)), first.lengths)

    def sums(values: Floats) -> Floats:
        return np.asarray(np.bincount(row, values, minlength=len(first)), dtype=np.float64)

    norms = np.sqrt(sums(first.values**2) * sums(last.values**2))
    cosine = np.divide(
        sums(first.values * last.values), norms, out=np.zeros(len(first)), where=norms > 0
    )
    return np.where(np.asarray(agree, dtype=np.bool_), cosine, 0.0)


def shortcut_degree(in_head: Any, similarity: Any) -> Floats:
    r"""Say how far each training example is a shortcut's.

    \[ b_i = \frac{(u_i + v_i) - \min_j (u_j + v_j)}{\max_j (u_j + v_j) - \min_j (u_j + v_j)} \]

    Args:
        in_head: (N,) u: whether one of the two words of largest attribution is in the head of the label.
        similarity: (N,) v: from `attribution_similarity`.

    Returns:
        (N,) degrees in [0, 1]; all 0 where no two examples differ.

    Example:
        >>> shortcut_degree([True, False, True], [1.0, 0.5, 0.5]).round(6).tolist()  # 2, 0.5 and 1.5
        [1.0, 0.0, 0.666667]
    """
    total = np.asarray(in_head, dtype=np.float64) + np.asarray(similarity, dtype=np.float64)
    span = total.max() - total.min()
    return (total - total.min()) / span if span > 0 else np.zeros_like(total)


def smoothed_targets(probabilities: Any, degree: Any) -> Floats:
    r"""Flatten what the teacher says by the shortcut degree.

    \[ s_{ij} = \frac{\sigma(z_i)_j^{1 - b_i}}{\sum_k \sigma(z_i)_k^{1 - b_i}} \]

    b = 0 leaves the teacher's probabilities, b = 1 makes all classes equally likely.

    Args:
        probabilities: (N, K) the teacher's probabilities.
        degree: (N,) shortcut degrees b.

    Returns:
        (N, K) targets; rows sum to 1.

    Example:
        >>> smoothed_targets([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]], [0.0, 0.5, 1.0]).round(6).tolist()
        [[0.9, 0.1], [0.75, 0.25], [0.5, 0.5]]
    """
    table, power = (
        np.asarray(probabilities, dtype=np.float64),
        1.0 - np.asarray(degree, dtype=np.float64),
    )
    check_same_length(probabilities=table, degree=power)
    # In logarithms, so that a probability of 0 stays one for b < 1 and does no harm for b = 1.
    return softmax(np.log(np.maximum(table, np.finfo(np.float64).tiny)) * power[:, None])


def ltgr_loss(
    logits: torch.Tensor, labels: torch.Tensor, targets: torch.Tensor, alpha: float
) -> torch.Tensor:
    r"""Return the loss of the student, a mean over the batch.

    \[ L = (1 - \alpha) H(y, \sigma(z)) + \alpha H(s, \sigma(z)), \quad H(p, q) = -\sum_j p_j \log q_j \]

    Args:
        logits: (B, K) the student's z.
        labels: (B,) gold labels y.
        targets: (B, K) smoothed outputs s of the teacher.
        alpha: Weight of the teacher.

    Returns:
        The loss, a scalar.
    """
    log_probability = torch.log_softmax(logits.float(), dim=-1)
    hard = torch.nn.functional.nll_loss(log_probability, labels)
    soft = -(targets.to(log_probability) * log_probability).sum(dim=-1).mean()
    return (1.0 - alpha) * hard + alpha * soft


def ltgr_trainer(alpha: float = ALPHA) -> type[transformers.Trainer]:
    """Return a Trainer whose batches carry the teacher's smoothed outputs, under `teacher_targets`.

    Args:
        alpha: Weight of the teacher, in [0, 1]; 0 is plain fine-tuning.

    Returns:
        A subclass of `transformers.Trainer`, for `Objective(trainer_class=...)` or to be used on its own.
    """
    check_fraction(alpha, "alpha")

    class LtgrTrainer(transformers.Trainer):  # type: ignore[misc]
        """Fine-tunes on labels and smoothed outputs together; without the latter, as in evaluation, on labels alone."""

        def compute_loss(
            self,
            model: Any,
            inputs: dict[str, Any],
            return_outputs: bool = False,
            num_items_in_batch: Any = None,
        ) -> Any:
            inputs = dict(inputs)
            labels, targets = inputs.pop("labels"), inputs.pop(TARGETS, None)
            outputs = model(**inputs)
            if targets is None or not model.training:
                loss = torch.nn.functional.cross_entropy(outputs.logits.float(), labels)
            else:
                loss = ltgr_loss(outputs.logits, labels, targets, alpha)
            if num_items_in_batch is not None and self.args.gradient_accumulation_steps > 1:
                # The Trainer then sums over the batches of one step, and expects each to be a share of its mean.
                loss = loss * len(labels) / num_items_in_batch
                if self.args.average_tokens_across_devices:
                    loss = loss * self.accelerator.num_processes
            return (loss, outputs) if return_outputs else loss

    return LtgrTrainer


class FrozenEncoder(transformers.TrainerCallback):  # type: ignore[misc]
    """Trains the head alone for the first epochs, as Du et al. do for one.

    Args:
        epochs: How many; 0 for none.
    """

    def __init__(self, epochs: int = 1) -> None:
        self._epochs = check_count(epochs, "epochs", minimum=0)

    def on_epoch_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **given: Any
    ) -> None:
        """Freeze or free the encoder."""
        if self._epochs:
            model.base_model.requires_grad_(round(state.epoch or 0) >= self._epochs)


class _KeepEpoch(transformers.TrainerCallback):  # type: ignore[misc]
    """Saves the model of the end of the first epoch, once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def on_epoch_end(
        self,
        args: Any,
        state: Any,
        control: Any,
        model: Any = None,
        processing_class: Any = None,
        **given: Any,
    ) -> None:
        if round(state.epoch) == 1 and processes().is_main:
            model.save_pretrained(self._folder)
            processing_class.save_pretrained(self._folder)


def fine_tune_ltgr(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    *,
    out: str | os.PathLike[str],
    validation: Table | None = None,
    heads: LmiResult | None = None,
    alpha: float = ALPHA,
    frozen_epochs: int = 0,
    attribution: Mapping[str, Any] | None = None,
    label_names: Sequence[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Ltgr:
    """Fine-tune by LTGR: a teacher first, then a student that is less sure where the teacher took shortcuts.

    The teacher is fine-tuned as usual. What it looks at after its first epoch and in the end, against the LMI heads of
    the training data, gives every training example a shortcut degree; by that its outputs are flattened, and the
    student learns from labels and flattened outputs. A run that is killed goes on where it stopped.

    Args:
        model_name_or_path: An encoder.
        train: Training examples, as for `fine_tune`.
        out: A folder; the student goes to its sub-folder `student`, the teacher to `teacher`.
        validation: Examples to evaluate on after each epoch.
        heads: The `LmiResult` of the training data over words, labels in the order of `label_names`; None counts it.
        alpha: Weight of the teacher; default 0.8.
        frozen_epochs: Epochs in which the head alone is trained; the paper has 1, default 0.
        attribution: Options of `integrated_gradients`; default `ATTRIBUTION`.
        label_names: Names of the classes, as for `fine_tune`.
        progress: Whether to show progress bars.
        **options: Options of `fine_tune` for both, such as epochs=6, learning_rate=1e-5.

    Returns:
        `Ltgr`.

    References:
        Du et al. (2021), "Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", section 3.
    """
    check_fraction(alpha, "alpha")
    folder = Path(out)
    table = as_dataset(train, "classification", "train")
    names = find_label_names(table, label_names)
    labels = _numbers(table, names)
    texts = table["text"][:]
    pairs = table["text_pair"][:] if "text_pair" in table.column_names else None
    shared: dict[str, Any] = {**options, "label_names": names, "progress": progress}
    how: dict[str, Any] = {
        **ATTRIBUTION,
        **(attribution or {}),
        "unit": "word",
        "progress": progress,
    }

    def attribute(model: Path, where: str) -> Attributions:
        return integrated_gradients(
            load_classifier(model),
            texts,
            text_pairs=pairs,
            labels=labels,
            out=folder / where,
            **how,
        )

    early = folder / "teacher-epoch-1"
    teacher = fine_tune(
        model_name_or_path,
        table,
        out=folder / "teacher",
        validation=validation,
        callbacks=[FrozenEncoder(frozen_epochs), _KeepEpoch(early)],
        record={"frozen epochs": frozen_epochs},
        **shared,
    )
    first, last = (
        attribute(early, "attributions-1"),
        attribute(Path(teacher.folder), "attributions"),
    )
    counted = lmi(_joined(texts, pairs), labels) if heads is None else heads
    in_head = find_shortcuts(last.tokens, last.scores, labels, counted, top_n=TOP).cued
    early_logits, late_logits = np.asarray(first.logits), np.asarray(last.logits)
    agree = early_logits.argmax(axis=1) == late_logits.argmax(axis=1)
    similarity = attribution_similarity(first.scores, last.scores, agree)
    degree = shortcut_degree(in_head, similarity)
    targets = smoothed_targets(softmax(late_logits), degree)
    student = fine_tune(
        model_name_or_path,
        table.add_column(TARGETS, targets.tolist()),
        out=folder / "student",
        validation=_with_targets(validation, len(names)),
        callbacks=[FrozenEncoder(frozen_epochs)],
        objective=Objective(ltgr_trainer(alpha), extra_columns=(TARGETS,)),
        record={"frozen epochs": frozen_epochs, "alpha": alpha},
        **shared,
    )
    return Ltgr(student.folder, student, teacher, degree, in_head, similarity)


def _numbers(table: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """The labels of a table in the order of the names."""
    feature, labels = table.features["label"], table.with_format(None)["label"][:]
    if hasattr(feature, "int2str") and set(feature.names) <= set(names):
        labels = [feature.int2str(label) for label in labels]
    if all(isinstance(label, str) for label in labels):
        return np.array([list(names).index(label) for label in labels], dtype=np.int64)
    return check_labels(labels, len(names), name="train['label']")


def _joined(texts: Sequence[str], pairs: Sequence[str] | None) -> Sequence[str]:
    return (
        texts
        if pairs is None
        else [f"{first}\n{second}" for first, second in zip(texts, pairs, strict=True)]
    )


def _with_targets(validation: Table | None, n_classes: int) -> Table | None:
    """Give the validation set the column of the training set; evaluation does not read it."""
    if validation is None:
        return None
    table = as_dataset(validation, "classification", "validation")
    return table.add_column(TARGETS, [[1.0 / n_classes] * n_classes] * len(table))
