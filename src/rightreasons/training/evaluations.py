"""Parsed evaluations of a Trainer: logits, labels, and missing choices.

`read_arrays` checks the arrays of a Trainer, `join_batches` joins the batches of
`batch_eval_metrics=True`, and `parse_evaluation` makes an `Evaluation`, from which the figures are
computed. `ProbeSets` says which rows of an evaluation are perturbed versions of which items.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.core.arrays import Ragged, to_array_or_list, to_numpy
from rightreasons.core.errors import OptionError
from rightreasons.core.validation import check_labels, check_same_length

IGNORED_LABEL = -100
"""Label of items that the losses of transformers ignore. They are ignored here too."""

PADDING_LOGIT = -100.0
"""Value with which Trainer fills up the rows of a batch that has fewer choices than another one."""

ORIGINAL = "original"
"""Name of the unperturbed items among the parts of an evaluation."""

ADDED_CHOICES = "extra_choices"
"""Name of the probe that leaves the correct choice and adds others."""

Rows = NDArray[np.intp]
Batch = tuple[NDArray[Any], NDArray[Any]]
"""Logits (B, K) and labels (B,) of some items."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProbeSets:
    """Items and their perturbed versions as one evaluation set of a Trainer; `join_probes` makes it.

    Attributes:
        dataset: N rows, part after part, with the columns `id`, `prompt`, `choices` and `label`
            (-100 if no choice is correct). It is the evaluation set.
        rows: Rows of each part by its name: "original", and the name of each probe.
        sources: For each probe, the positions of its items among the original items.
        n_choices: (N,) number of choices of each row.
        original_positions: Position of each original choice in the row, for each row of the probe
            "extra_choices"; empty without this probe.
    """

    dataset: Any
    rows: Mapping[str, Rows]
    sources: Mapping[str, Rows]
    n_choices: NDArray[np.int64]
    original_positions: Sequence[Sequence[int]]

    @property
    def probe_names(self) -> list[str]:
        """Names of the probes, in the order of their rows."""
        return list(self.sources)


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """N items with their logits.

    Attributes:
        logits: (N, K) logits, minus infinity for missing choices.
        labels: (N,) labels, -100 for items without one.
        n_choices: (N,) number of choices, or of classes, of each item.
        probes: Evaluation of each probe by its name; empty without probes.
    """

    logits: NDArray[Any]
    labels: NDArray[Any]
    n_choices: NDArray[np.int64]
    probes: Mapping[str, Evaluation] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.logits)

    @functools.cached_property
    def labeled_rows(self) -> Rows:
        """Rows with a label.

        Raises:
            ValueError: If there are none.
        """
        rows = np.flatnonzero(self.labels != IGNORED_LABEL)
        if not len(rows):
            raise ValueError(
                "Expected at least one item with a label in the evaluation, but there is none."
            )
        return rows

    @functools.cached_property
    def top(self) -> TopLabel:
        """Predicted classes of the labeled items with their confidence, and labels."""
        rows = self.labeled_rows
        return parse_top_label(self.logits[rows], self.labels[rows], scores="logits")

    @property
    def labeled_logits(self) -> NDArray[Any]:
        """Logits of the labeled items."""
        return self.logits[self.labeled_rows]

    @property
    def choice_logits(self) -> Ragged:
        """Logits of all items, without those of missing choices, in rows of different lengths."""
        is_present = np.arange(self.logits.shape[1]) < self.n_choices[:, None]
        return Ragged.of(self.logits[is_present].astype(np.float64), self.n_choices)

    def select(self, rows: Rows) -> Evaluation:
        """Return the evaluation of some items."""
        return Evaluation(self.logits[rows], self.labels[rows], self.n_choices[rows])

    def take_labeled(self, column: Any, name: str) -> Any:
        """Return the values of a column, which the user passed, for the labeled items only.

        Args:
            column: Array or list with one value per item of the evaluation, in its order.
            name: Name of the option that contains the column, for error messages.

        Raises:
            OptionError: If the column has another length.
        """
        values = to_array_or_list(column, name)
        if len(values) != len(self):
            raise OptionError(
                f"Expected one value of `{name}` per item of the evaluation, {len(self)}, "
                f"but got {len(values)}.",
                option=name,
            )
        if isinstance(values, np.ndarray):
            return values[self.labeled_rows]
        return [values[row] for row in self.labeled_rows]


def read_arrays(prediction: Any) -> Batch:
    """Return the logits and the labels of an evaluation as arrays.

    Args:
        prediction: `EvalPrediction` of a Trainer, or a pair of logits and labels. The logits may be
            the first of a tuple of outputs.

    Returns:
        (N, K) logits, and (N,) labels.

    Raises:
        TypeError: If there are no labels.
        ValueError: If a shape or a length is invalid.
    """
    is_eval_prediction = hasattr(prediction, "label_ids")
    if is_eval_prediction:
        logits = prediction.predictions
        labels = prediction.label_ids
    else:
        logits, labels = prediction
    if labels is None:
        raise TypeError("Expected labels in the evaluation, but got None.")
    if isinstance(logits, tuple):
        # A model that also returns hidden states or attentions returns its logits first.
        logits = logits[0]

    # Trainer passes arrays; other training loops may pass tensors or lists.
    logits = to_numpy(logits, "predictions")
    labels = to_numpy(labels, "label_ids")
    if labels.ndim != 1 or logits.ndim != 2:
        raise ValueError(
            f"Expected logits of shape (N, K) and labels of shape (N,), but got {logits.shape} "
            f"and {labels.shape}. Use `compute_metrics` only for models that return one row of "
            "scores per item."
        )
    check_same_length(predictions=logits, label_ids=labels)
    return logits, labels


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Concatenate the logits and labels of batches whose numbers of choices may differ.

    Args:
        batches: Pairs of (B, K) logits and (B,) labels; K may differ.

    Returns:
        (N, K) logits, in which missing choices have the logit `PADDING_LOGIT`, and (N,) labels.
    """
    # Usually, there is a single batch, which need not be copied.
    if len(batches) == 1:
        return batches[0]
    max_choices = max(logits.shape[1] for logits, _ in batches)
    padded_logits = []
    all_labels = []
    for logits, labels in batches:
        n_missing = max_choices - logits.shape[1]
        # Add columns at the right, with the value that Trainer uses when it joins batches.
        padding = ((0, 0), (0, n_missing))
        padded_logits.append(np.pad(logits, padding, constant_values=PADDING_LOGIT))
        all_labels.append(labels)
    return np.concatenate(padded_logits), np.concatenate(all_labels)


def parse_evaluation(
    logits: NDArray[Any],
    labels: NDArray[Any],
    *,
    n_choices: Any = None,
    probes: ProbeSets | None = None,
) -> Evaluation:
    """Parse the items of an evaluation.

    Args:
        logits: (N, K) logits.
        labels: (N,) labels, -100 for items that are ignored.
        n_choices: (N,) number of choices of each item. None if all logits are choices, except those
            with which Trainer has padded rows.
        probes: Rows of the original items, and of each probe, if both are in the evaluation; None if
            all items are original.

    Returns:
        The evaluation of the original items, in which `probes` has the evaluation of each probe.

    Raises:
        OptionError: If `n_choices` or `probes` have another number of items than the evaluation.
        ValueError: If a label is not one of the choices of its item.
    """
    if probes is not None:
        _check_number_of_rows(len(probes.n_choices), len(logits), "probes")
        n_choices = probes.n_choices
    if n_choices is None:
        counts = _count_choices(logits, labels)
    else:
        counts = check_labels(n_choices, logits.shape[1] + 1, name="n_choices", minimum=1)
        _check_number_of_rows(len(counts), len(logits), "n_choices")

    is_missing = np.arange(logits.shape[1]) >= counts[:, None]
    if is_missing.any():
        # The softmax of minus infinity is exactly 0.
        logits = np.where(is_missing, -np.inf, logits)
        _check_labels_are_choices(labels, counts)
    evaluation = Evaluation(logits, labels, counts)
    if probes is None:
        return evaluation

    # Most figures are about the original items. Those about a probe use the field `probes`.
    evaluations = {name: evaluation.select(rows) for name, rows in probes.rows.items()}
    original = evaluations.pop(ORIGINAL)
    return dataclasses.replace(original, probes=evaluations)


def _count_choices(logits: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of choices of each item, without the logits with which Trainer pads rows.

    Args:
        logits: (N, K) logits, in which a row of fewer than K choices ends with `PADDING_LOGIT`.
        labels: (N,) labels. There are at least as many choices as the label requires, even if the logit
            of the label equals `PADDING_LOGIT`.

    Returns:
        (N,) numbers of choices.
    """
    n_columns = logits.shape[1]
    is_choice = logits != PADDING_LOGIT
    # Read from the end of a row, the index of the first choice is the number of padding logits.
    n_padding = np.argmax(is_choice[:, ::-1], axis=1)
    counts = n_columns - n_padding
    # A label that is out of range is reported later.
    min_counts = np.where(labels < n_columns, labels + 1, 0)
    return np.asarray(np.maximum(counts, min_counts), dtype=np.int64)


def _check_number_of_rows(number: int, n_items: int, name: str) -> None:
    """Check that an option has one row per item of the evaluation.

    Args:
        number: Number of rows of the option.
        n_items: Number of items.
        name: Name of the option, for the error.
    """
    if number != n_items:
        raise OptionError(
            f"Expected `{name}` of the {n_items} items of the evaluation, but got {number} rows. "
            f"Use a `compute_metrics` with `{name}` for only one evaluation set.",
            option=name,
        )


def _check_labels_are_choices(labels: NDArray[Any], counts: NDArray[np.int64]) -> None:
    """Check that each label is below the number of choices of its item.

    Args:
        labels: (N,) labels; negative ones are accepted.
        counts: (N,) number of choices of each item.
    """
    # The label of ignored items, -100, is below every number of choices.
    is_invalid = labels >= counts
    if is_invalid.any():
        item = int(np.argmax(is_invalid))
        raise ValueError(
            f"Expected a label below {counts[item]}, the number of choices of item {item}, "
            f"but got {labels[item]}."
        )
