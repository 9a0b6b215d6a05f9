"""Metrics for Trainer: from logits to plain floats."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.errors import CalibrationBins, calibration_error
from rightreasons.analysis.calibration.options import CalibrationErrorOptions
from rightreasons.analysis.calibration.proper_scores import brier_of, negative_log_likelihood
from rightreasons.analysis.calibration.top_label import TopLabel, top_label
from rightreasons.analysis.classification import AVERAGES, ConfusionMatrix
from rightreasons.foundations.arrays import kind_of
from rightreasons.foundations.sentences import one_line
from rightreasons.foundations.validation import check_one_of, check_options, check_same_length, unknown_name
from rightreasons.measuring.calibration import FIGURES
from rightreasons.measuring.contrast_sets import USUAL, ContrastItems, measure_contrast_sets

T = TypeVar("T")

IGNORED = -100
"""The label that the losses of transformers ignore; such items are ignored here too."""

Figures: TypeAlias = "dict[str, float | None]"


class ComputeMetrics:
    """A `compute_metrics` for Trainer; see `compute_metrics`, which makes it."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.names = tuple(names)
        self.options = dict(options)
        self._states, self._n_rows = self._fresh(), 0

    def __call__(self, prediction: Any, compute_result: bool | None = None) -> Figures:
        """Compute the figures of an evaluation, or add one batch of it.

        Args:
            prediction: Trainer's `EvalPrediction`, or a pair of logits and labels.
            compute_result: None: the prediction is the whole evaluation. Trainer's `batch_eval_metrics=True` calls it
                with False for each batch, and with True for the last.

        Returns:
            One figure per name; {} before the last batch.
        """
        logits, labels = _rows(prediction)
        rows = np.flatnonzero(labels != IGNORED)
        states = self._fresh() if compute_result is None else self._states
        before = 0 if compute_result is None else self._n_rows
        if len(rows):
            logits = logits[rows]
            top = top_label(logits, labels[rows], scores="logits")
            for state in states:
                state.update(logits, top, before + rows)
        if compute_result is not None:
            self._n_rows = before + len(labels)
        if compute_result is False:
            return {}
        if compute_result:
            self.reset()
        figures: Figures = {}
        for state in states:
            figures.update(state.figures())
        return {name: figures[name] for name in self.names}

    def reset(self) -> None:
        """Forget the batches so far, after an interrupted evaluation with `batch_eval_metrics=True`."""
        self._states, self._n_rows = self._fresh(), 0

    def __repr__(self) -> str:
        parts = [*map(repr, self.names), *(f"{key}={one_line(value)}" for key, value in sorted(self.options.items()))]
        return f"compute_metrics({', '.join(parts)})"

    def _fresh(self) -> list[_State]:
        """Create one state per family, with the options that it takes."""
        states: list[_State] = []
        for family, (known, accepted) in _FAMILIES.items():
            names = [name for name in self.names if name in known]
            if names:
                states.append(family(names, {key: value for key, value in self.options.items() if key in accepted}))
        return states


def compute_metrics(*names: str, **options: Any) -> ComputeMetrics:
    """Make a `compute_metrics` for Trainer from the names of metrics.

    The logits (the first output, where a model gives several) go through one softmax in float64 and then to the same
    kernels as everywhere else in the library. It serves `AutoModelForSequenceClassification` and
    `AutoModelForMultipleChoice` alike; items with the label -100 are ignored. With several processes Trainer passes the
    gathered items to each, so every process has the figures of all items.

    With `TrainingArguments(batch_eval_metrics=True)` it is called once per batch. Accuracy, F1 and the errors in bins
    of equal width are then kept as mergeable counts, NLL and Brier score as sums; the others need all items at once and
    keep their probabilities. The figures are the same either way.

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

    | contrast_consistency | [0, 1] | higher | share of the contrast sets of `contrast_sets` that are right throughout |
    | contrast_accuracy, original_accuracy | [0, 1] | higher | accuracy on revised items and on originals |

    `contrast_sets` is the Dataset that is evaluated, in its order, with its labels and the columns of the sets: those
    that `rightreasons difficulty` knows, or `groups_column` and `original_column`.

    So are the other figures of `rightreasons.measuring.calibration.FIGURES` that are functions of the top labels, such
    as `ece_sweep`, `e_aurc` and `brier_reliability`.

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
        raise ValueError(f"Expected at least one name of a metric. Known: {', '.join(sorted(_KNOWN))}.")
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Expected the names of metrics, but got {name!r} ({type(name).__name__}).")
        if name not in _KNOWN:
            raise unknown_name("metric", name, _KNOWN)
    unique = tuple(dict.fromkeys(names))
    allowed = [option for name in unique for option in _KNOWN[name]]
    check_options(options, allowed, f"compute_metrics({', '.join(map(repr, unique))})")
    return ComputeMetrics(unique, options)


# ------------------------------------------------------------------------------------------------------------- families


class _State(Protocol):
    """The sufficient statistic of a family of figures."""

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None: ...

    def figures(self) -> Figures: ...


class _Confusion:
    """Accuracy and F1, from a confusion matrix."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        check_one_of(options.get("average", "macro"), AVERAGES, "average")
        self.options = options
        self.matrix: ConfusionMatrix | None = None

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None:
        batch = ConfusionMatrix(logits.shape[1]).update(top.predicted, top.labels)
        self.matrix = batch if self.matrix is None else self.matrix.merge(batch)

    def figures(self) -> Figures:
        result = _some(self.matrix).result(**self.options)
        return {"accuracy": result.accuracy, "f1": result.f1}


class _Bins:
    """Calibration errors, from bins of equal width; bins of equal mass need all items at once."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.options = CalibrationErrorOptions.read(options, "compute_metrics")
        self.tops: list[TopLabel] = []
        self.bins = CalibrationBins(options=self.options) if self.options.strategy == "uniform" else None

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None:
        if self.bins is not None:
            self.bins.update(top.probabilities, top.labels)
        else:
            self.tops.append(top)

    def figures(self) -> Figures:
        if self.bins is not None:
            result = self.bins.result()
        else:
            top = _joined(self.tops)
            result = calibration_error(top.probabilities, top.labels, options=self.options)
        return {"ece": result.ece, "mce": result.mce}


class _Means:
    """Figures that are means over items, from sums over the batches."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.brier = self.nll = 0.0
        self.n_items = self.n_impossible = 0

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None:
        self.n_items += len(top)
        self.brier += brier_of(top).brier * len(top)
        loss = negative_log_likelihood(logits, top.labels, scores="logits")
        self.n_impossible += loss.n_impossible
        self.nll += (loss.nll or 0.0) * len(top)

    def figures(self) -> Figures:
        n_items = _some(self.n_items)
        return {"brier": self.brier / n_items, "nll": None if self.n_impossible else self.nll / n_items}


class _Ranked:
    """Figures that need all items at once."""

    FUNCTIONS: ClassVar[Mapping[str, Callable[[TopLabel], float | None]]] = {
        name: figure.of_top for name, figure in FIGURES.items() if figure.of_top is not None
    }

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        self.names = names
        self.tops: list[TopLabel] = []

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None:
        self.tops.append(top)

    def figures(self) -> Figures:
        top = _joined(self.tops)
        return {name: self.FUNCTIONS[name](top) for name in self.names}


class _Contrast:
    """Figures of contrast sets, which the table of the evaluated items names."""

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        import datasets

        table = options.get("contrast_sets")
        if isinstance(table, Mapping):
            table = datasets.Dataset.from_dict(dict(table))
        if not isinstance(table, datasets.Dataset) or "label" not in table.column_names:
            got = table.column_names if isinstance(table, datasets.Dataset) else kind_of(table)
            raise TypeError(
                f"Expected `contrast_sets`, the Dataset of the evaluation with its labels and sets, for {names[0]!r}, "
                f"but got {got}."
            )
        self.labels = np.array([IGNORED if label is None else label for label in table["label"][:]], dtype=np.int64)
        items = ContrastItems.of(
            table,
            np.maximum(self.labels, -1),
            groups_column=options.get("groups_column"),
            original_column=options.get("original_column"),
        )
        if items is None:
            usual = ", ".join(column for column, _ in USUAL[1:])
            raise ValueError(
                f"Expected contrast sets in `contrast_sets`, named by {usual} or `groups_column`, but its columns are "
                f"{', '.join(table.column_names)}."
            )
        self.items = items
        self.predicted = np.full(len(self.labels), IGNORED, dtype=np.int64)

    def update(self, logits: Any, top: TopLabel, rows: NDArray[np.int64]) -> None:
        if rows[-1] >= len(self.labels) or (self.labels[rows] != top.labels).any():
            raise ValueError(
                f"Expected the labels of the evaluation to be those of the {len(self.labels):,} rows of "
                "`contrast_sets`, in their order, but they are others."
            )
        self.predicted[rows] = top.predicted

    def figures(self) -> Figures:
        n_missing = int(np.count_nonzero(self.predicted[self.items.rows] == IGNORED))
        if n_missing:
            raise ValueError(
                f"Expected a prediction for each of the {len(self.items.rows):,} items of `contrast_sets`, but "
                f"{n_missing:,} of them have none."
            )
        result = measure_contrast_sets(self.items, self.predicted, self.labels).result
        return {name: getattr(result, name) for name in _CONTRAST}


_CONTRAST = ("contrast_consistency", "contrast_accuracy", "original_accuracy")

_FAMILIES: Mapping[type[Any], tuple[tuple[str, ...], tuple[str, ...]]] = {
    _Confusion: (("accuracy", "f1"), ("average",)),
    _Bins: (("ece", "mce"), tuple(name for name in CalibrationErrorOptions.names() if name != "scores")),
    _Means: (("brier", "nll"), ()),
    _Ranked: (tuple(_Ranked.FUNCTIONS), ()),
    _Contrast: (_CONTRAST, ("contrast_sets", "groups_column", "original_column")),
}
_KNOWN = {name: options for names, options in _FAMILIES.values() for name in names}


# ---------------------------------------------------------------------------------------------------------------- input


def _some(state: T | None) -> T:
    if not state:
        raise ValueError("Expected at least one item with a label in the evaluation, but there is none.")
    return state


def _joined(tops: Sequence[TopLabel]) -> TopLabel:
    _some(tops)
    columns = [field.name for field in dataclasses.fields(TopLabel)]
    return TopLabel(**{name: np.concatenate([getattr(top, name) for top in tops]) for name in columns})


def _rows(prediction: Any) -> tuple[Any, NDArray[Any]]:
    """Return the logits (N, K) and labels (N,), `IGNORED` where there is none."""
    logits, labels = (prediction.predictions, prediction.label_ids) if hasattr(prediction, "label_ids") else prediction
    if isinstance(logits, list) and logits and isinstance(logits[0], (tuple, np.ndarray)):
        # `eval_do_concat_batches=False` passes a list of batches.
        logits = _stacked([_first(batch) for batch in logits])
        labels = np.concatenate([np.asarray(batch) for batch in labels])
    logits, labels = _array(_first(logits)), _array(labels)
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


def _stacked(batches: Sequence[Any]) -> NDArray[np.float64]:
    """Stack batches; missing choices get probability 0."""
    width = max(batch.shape[1] for batch in batches)
    return np.concatenate(
        [np.pad(batch, ((0, 0), (0, width - batch.shape[1])), constant_values=-np.inf) for batch in batches]
    ).astype(np.float64)


def _array(values: Any) -> NDArray[Any]:
    if values is None:
        raise TypeError("Expected labels in the evaluation, but got None.")
    if hasattr(values, "detach"):  # batch_eval_metrics passes tensors
        values = values.detach().cpu()
        values = values.float().numpy() if values.is_floating_point() else values.numpy()
    return np.asarray(values)
