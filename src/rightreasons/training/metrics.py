"""Metrics for Trainer: from logits to plain floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.confidences import TopLabel, parse_top_label
from rightreasons.calibration.errors import CalibrationErrorOptions, compute_calibration
from rightreasons.calibration.figures import STATISTICS
from rightreasons.calibration.proper_scores import brier_score, negative_log_likelihood
from rightreasons.core.arrays import to_numpy
from rightreasons.core.classification import AVERAGES, classification_scores
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_one_of, check_same_length

IGNORED = -100
"""The label that the losses of transformers ignore; such items are ignored here too."""

Figures: TypeAlias = "dict[str, float | None]"


class ComputeMetrics:
    """A `compute_metrics` for Trainer; see `compute_metrics`, which makes it."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        self.options = dict(options)
        self._average = check_one_of(options.get("average", "macro"), AVERAGES, "average")
        of_ece = {name: value for name, value in options.items() if name in _ECE_OPTIONS}
        self._calibration = CalibrationErrorOptions.read(of_ece, "compute_metrics")

    def __call__(self, prediction: Any) -> Figures:
        """Compute one figure per name from Trainer's `EvalPrediction`, or a pair of logits and labels."""
        logits, labels = _rows(prediction)
        rows = np.flatnonzero(labels != IGNORED)
        if not len(rows):
            raise ValueError(
                "Expected at least one item with a label in the evaluation, but there is none."
            )
        logits = logits[rows]
        top = parse_top_label(logits, labels[rows], scores="logits")
        figures: Figures = {}
        for name in self.names:
            if name not in figures:
                figures.update(self._family(name, logits, top))
        return {name: figures[name] for name in self.names}

    def _family(self, name: str, logits: NDArray[Any], top: TopLabel) -> Figures:
        """Compute a figure, with those that come along."""
        if name in ("accuracy", "f1"):
            n_classes = logits.shape[1]
            result = classification_scores(
                top.predicted, top.labels, n_classes=n_classes, average=self._average
            )
            return {"accuracy": result.accuracy, "f1": result.f1}
        if name in ("ece", "mce"):
            errors = compute_calibration(top, self._calibration)
            return {"ece": errors.ece, "mce": errors.mce}
        if name == "brier":
            return {name: brier_score(top).brier}
        if name == "nll":
            return {name: negative_log_likelihood(logits, top.labels, scores="logits").nll}
        return {name: STATISTICS[name](top)}

    def __repr__(self) -> str:
        parts = [
            *map(repr, self.names),
            *(f"{key}={format_value(value)}" for key, value in sorted(self.options.items())),
        ]
        return f"compute_metrics({', '.join(parts)})"


def compute_metrics(*names: str, **options: Any) -> ComputeMetrics:
    """Make a `compute_metrics` for Trainer from the names of metrics.

    The logits (the first output, where a model gives several) go through one softmax in float64 and then to the same
    kernels as everywhere else in the library. It serves `AutoModelForSequenceClassification` and
    `AutoModelForMultipleChoice` alike; items with the label -100 are ignored. With several processes Trainer passes the
    gathered items to each, so every process has the figures of all items.

    | name | range | better | |
    |---|---|---|---|
    | accuracy | [0, 1] | higher | share of correct predictions |
    | f1 | [0, 1] | higher | option `average`: "macro" (default), "binary" (of class 1), "micro", "weighted" |
    | ece | [0, 1] | lower | options of `calibration_error`, without `scores` |
    | mce | [0, 1] | lower | the largest gap of a bin; options as for ece |
    | smooth_ece | [0, 1] | lower | kernel-smoothed ECE |
    | macro_ce | [0, 1] | lower | calibration of correct and of wrong predictions; None unless there are both |
    | brier | [0, 2] | lower | mean squared distance of the probabilities from the label, summed over the classes |
    | nll | [0, ∞) | lower | mean negative log-likelihood of the label, in nats |
    | aurc | [0, 1] | lower | area under the risk-coverage curve |
    | auroc | [0, 1] | higher | how well confidence separates correct from wrong; None unless there are both |

    So is `ece_sweep`, the other figure of `rightreasons.calibration.figures.STATISTICS`.

    Trainer prefixes each name, so `ece` is logged as `eval_ece`. It assumes that higher is better for every metric
    whose name does not end in "loss": to choose a checkpoint by calibration, set `greater_is_better=False`:

        TrainingArguments(
            ..., load_best_model_at_end=True, metric_for_best_model="eval_ece", greater_is_better=False
        )

    Args:
        *names: Names of metrics; repetitions are ignored.
        **options: Options of these metrics, as in the table.

    Returns:
        A callable that takes an `EvalPrediction` and returns `{name: float}`; None where a figure is undefined.

    Raises:
        TypeError: If a name is not a string.
        ValueError: If a name or an option is unknown, or there is no name.

    Example:
        >>> metrics = compute_metrics("accuracy", "ece", n_bins=10)
        >>> logits, labels = [[2.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0, 1, 1]
        >>> {name: round(value, 4) for name, value in metrics((logits, labels)).items()}
        {'accuracy': 0.6667, 'ece': 0.296}
    """
    if not names:
        raise ValueError(
            f"Expected at least one name of a metric. Known: {', '.join(sorted(_KNOWN))}."
        )
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"Expected the names of metrics, but got {name!r} ({type(name).__name__})."
            )
        if name not in _KNOWN:
            raise make_unknown_name_error("metric", name, _KNOWN)
    unique = tuple(dict.fromkeys(names))
    allowed = [option for name in unique for option in _KNOWN[name]]
    check_options(options, allowed, f"compute_metrics({', '.join(map(repr, unique))})")
    return ComputeMetrics(unique, options)


_ECE_OPTIONS = tuple(name for name in CalibrationErrorOptions.list_names() if name != "scores")
_KNOWN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("accuracy", "f1"), ("average",)),
    **dict.fromkeys(("ece", "mce"), _ECE_OPTIONS),
    **dict.fromkeys(("brier", "nll", *STATISTICS), ()),
}


def _rows(prediction: Any) -> tuple[Any, NDArray[Any]]:
    """Return the logits (N, K) and labels (N,), `IGNORED` where there is none."""
    logits, labels = (
        (prediction.predictions, prediction.label_ids)
        if hasattr(prediction, "label_ids")
        else prediction
    )
    if labels is None:
        raise TypeError("Expected labels in the evaluation, but got None.")
    logits, labels = to_numpy(_first(logits), "predictions"), to_numpy(labels, "label_ids")
    if labels.ndim != 1 or logits.ndim != 2:
        raise ValueError(
            f"Expected logits of shape (N, K) and labels of shape (N,), but got {logits.shape} and {labels.shape}: "
            "`compute_metrics` is for models that give one row of scores per item."
        )
    check_same_length(predictions=logits, label_ids=labels)
    return logits, labels


def _first(outputs: Any) -> Any:
    # A model that returns more (hidden states, attentions) returns a tuple that begins with the logits.
    return outputs[0] if isinstance(outputs, tuple) else outputs
