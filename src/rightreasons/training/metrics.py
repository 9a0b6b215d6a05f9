"""Metrics for Trainer: from logits and labels to plain floats.

`compute_metrics` makes the function that Trainer calls. Its figures belong to families, which share
work and options; `FAMILIES` lists them. To add figures, add a family.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

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

IGNORED_LABEL = -100
"""Label of items that the losses of transformers ignore. They are ignored here too."""

Figures: TypeAlias = "dict[str, float | None]"


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """The labeled items of an evaluation, parsed.

    Attributes:
        logits: (N, K) logits.
        top: Predicted classes with their confidence, and labels.
    """

    logits: NDArray[Any]
    top: TopLabel


class Family(abc.ABC):
    """Figures that are computed together.

    Args:
        options: Options of the family by name. They are checked here, before any training.
    """

    figure_names: ClassVar[tuple[str, ...]]
    """Names of the figures."""

    option_names: ClassVar[tuple[str, ...]] = ()
    """Names of the options."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = dict(options)

    @abc.abstractmethod
    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute at least the figures of the family that are among `names`."""


class Classification(Family):
    """Accuracy and F1."""

    figure_names = ("accuracy", "f1")
    option_names = ("average",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._average = check_one_of(options.get("average", "macro"), AVERAGES, "average")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute both figures, from one table of counts."""
        top = evaluation.top
        result = classification_scores(
            top.predicted,
            top.labels,
            # Classes that do not occur in the evaluation are classes of the model nevertheless.
            n_classes=evaluation.logits.shape[1],
            average=self._average,
        )
        return {"accuracy": result.accuracy, "f1": result.f1}


class CalibrationErrors(Family):
    """Binned calibration errors: their mean and their largest gap."""

    figure_names = ("ece", "mce")
    # The scores of an evaluation are always logits.
    option_names = tuple(name for name in CalibrationErrorOptions.list_names() if name != "scores")

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._options = CalibrationErrorOptions.read(options, "compute_metrics")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute both figures, from the same bins."""
        errors = compute_calibration(evaluation.top, self._options)
        return {"ece": errors.ece, "mce": errors.mce}


class ProperScores(Family):
    """The Brier score and the log loss."""

    figure_names = ("brier", "nll")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the requested figures."""
        figures: Figures = {}
        if "brier" in names:
            figures["brier"] = brier_score(evaluation.top).brier
        if "nll" in names:
            # From logits, because the probability of a label may underflow to 0.
            labels = evaluation.top.labels
            result = negative_log_likelihood(evaluation.logits, labels, scores="logits")
            figures["nll"] = result.nll
        return figures


class TopLabelStatistics(Family):
    """Figures that are functions of the top labels, such as AUROC."""

    figure_names = tuple(STATISTICS)

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the requested figures."""
        figures: Figures = {}
        for name in self.figure_names:
            if name in names:
                figures[name] = STATISTICS[name](evaluation.top)
        return figures


FAMILIES: tuple[type[Family], ...] = (
    Classification,
    CalibrationErrors,
    ProperScores,
    TopLabelStatistics,
)
"""All families that `compute_metrics` knows."""


class ComputeMetrics:
    """A function that computes figures from an evaluation of Trainer; `compute_metrics` makes it.

    Args:
        names: Names of the figures, in the order of the result.
        options: Options of their families.
    """

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        self.options = dict(options)
        self._families: list[Family] = []
        # Figures of one family share their work, in whatever order they are named.
        for family in FAMILIES:
            if not set(family.figure_names).isdisjoint(names):
                own_options = {}
                for name in family.option_names:
                    if name in options:
                        own_options[name] = options[name]
                self._families.append(family(own_options))

    def __call__(self, prediction: Any) -> Figures:
        """Compute the figures of Trainer's `EvalPrediction`, or of a pair of logits and labels."""
        evaluation = parse_evaluation(prediction)
        figures: Figures = {}
        for family in self._families:
            figures.update(family.compute(evaluation, self.names))
        return {name: figures[name] for name in self.names}

    def __repr__(self) -> str:
        arguments = [repr(name) for name in self.names]
        for name, value in sorted(self.options.items()):
            arguments.append(f"{name}={format_value(value)}")
        return f"compute_metrics({', '.join(arguments)})"


def compute_metrics(*names: str, **options: Any) -> ComputeMetrics:
    """Make a `compute_metrics` for Trainer from the names of metrics.

    The logits (the first output, if a model returns several) go through one softmax in float64 and
    then to the kernels that the whole library uses. Both `AutoModelForSequenceClassification` and
    `AutoModelForMultipleChoice` are supported; items with the label -100 are ignored. With several
    processes, Trainer passes the gathered items to each, so every process has the figures of all
    items.

    | name | range | better | |
    |---|---|---|---|
    | accuracy | [0, 1] | higher | share of correct predictions |
    | f1 | [0, 1] | higher | `average`: "macro" (default), "binary" (class 1), "micro", "weighted" |
    | ece | [0, 1] | lower | options of `calibration_error`, without `scores` |
    | mce | [0, 1] | lower | the largest gap of a bin; options as for ece |
    | smooth_ece | [0, 1] | lower | kernel-smoothed ECE |
    | ece_sweep | [0, 1] | lower | ECE with as many bins as keep the accuracies monotonic |
    | macro_ce | [0, 1] | lower | calibration of correct and of incorrect predictions, averaged |
    | brier | [0, 2] | lower | squared distance of the probabilities from the label, over all classes |
    | nll | [0, ∞) | lower | mean negative log-likelihood of the label, in nats |
    | aurc | [0, 1] | lower | area under the risk-coverage curve |
    | auroc | [0, 1] | higher | how well confidence separates correct from incorrect predictions |

    `macro_ce` and `auroc` are None unless there are correct and incorrect predictions.

    Trainer prefixes each name, so `ece` is logged as `eval_ece`. It assumes that higher is better
    for every metric whose name does not end in "loss". To choose a checkpoint by calibration, set
    `greater_is_better=False`:

        TrainingArguments(
            ...,
            load_best_model_at_end=True,
            metric_for_best_model="eval_ece",
            greater_is_better=False,
        )

    Args:
        *names: Names of metrics; repetitions are ignored.
        **options: Options of these metrics, as in the table.

    Returns:
        A callable that takes an `EvalPrediction` and returns `{name: float}`. A figure that is
        undefined is None.

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
        known = ", ".join(sorted(_list_options()))
        raise ValueError(f"Expected at least one name of a metric. Known: {known}.")
    options_by_name = _list_options()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"Expected the names of metrics, but got {name!r} ({type(name).__name__})."
            )
        if name not in options_by_name:
            raise make_unknown_name_error("metric", name, options_by_name)
    # A repeated name is computed once.
    unique_names = tuple(dict.fromkeys(names))
    allowed: list[str] = []
    for name in unique_names:
        allowed.extend(options_by_name[name])
    # A misspelled option fails here, not at the end of the first epoch.
    check_options(options, allowed, f"compute_metrics({', '.join(map(repr, unique_names))})")
    return ComputeMetrics(unique_names, options)


def parse_evaluation(prediction: Any) -> Evaluation:
    """Parse Trainer's `EvalPrediction`, or a pair of logits and labels, without ignored items.

    Raises:
        TypeError: If there are no labels.
        ValueError: If a shape, a length or a label is invalid, or no item has a label.
    """
    if hasattr(prediction, "label_ids"):
        logits, labels = prediction.predictions, prediction.label_ids
    else:
        logits, labels = prediction
    if labels is None:
        raise TypeError("Expected labels in the evaluation, but got None.")
    if isinstance(logits, tuple):
        # A model that also returns hidden states or attentions returns its logits first.
        logits = logits[0]

    # Trainer gives arrays, other loops tensors or lists.
    logits = to_numpy(logits, "predictions")
    labels = to_numpy(labels, "label_ids")
    if labels.ndim != 1 or logits.ndim != 2:
        raise ValueError(
            f"Expected logits of shape (N, K) and labels of shape (N,), but got {logits.shape} and "
            f"{labels.shape}: `compute_metrics` is for models that give one row of scores per item."
        )
    check_same_length(predictions=logits, label_ids=labels)

    rows = np.flatnonzero(labels != IGNORED_LABEL)
    if not len(rows):
        raise ValueError(
            "Expected at least one item with a label in the evaluation, but there is none."
        )
    logits = logits[rows]
    return Evaluation(logits, parse_top_label(logits, labels[rows], scores="logits"))


def _list_options() -> dict[str, tuple[str, ...]]:
    """Return the names of the options of every figure."""
    options: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        options.update(dict.fromkeys(family.figure_names, family.option_names))
    return options
