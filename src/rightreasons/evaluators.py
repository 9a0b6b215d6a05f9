"""An `evaluate` evaluator that passes on all probabilities, where the host's own passes on only the top label."""

from __future__ import annotations

import contextlib
import math
import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core.arrays import kind_of
from rightreasons.core.errors import needs
from rightreasons.core.validation import check_count, check_fraction, check_one_of

TASK = "text-classification"
STRATEGIES = ("simple", "bootstrap")

__all__ = ["evaluator", "probability_evaluator"]


def evaluator(task: str = TASK) -> Any:
    """Build an evaluator for text classification whose metrics get the probabilities of all classes.

    Metrics that expect one class per item (accuracy, F1) still get the top label, so `evaluate.combine` works for both
    kinds. The evaluator accepts a model path, a loaded model with its tokenizer, a `transformers` pipeline, or a
    pipeline of one's own: a callable with a `task` that takes a list of texts (of mappings with "text" and "text_pair"
    where there is a second column) and returns for each `{"label": ..., "score": ...}` of every class, or
    `{"label": ...}` alone, for metrics of the top label.

    With `compute(strategy="bootstrap")` each figure that is a fraction or another number has its standard error and BCa
    interval, as in `evaluate`, from resamples of whole items; the interval is None where a figure is undefined or the
    same in all of them. The bootstrap of a calibration error is biased upward: prefer the interval that `ece` returns.

    Args:
        task: "text-classification", or its alias "sentiment-analysis".

    Returns:
        An `evaluate.TextClassificationEvaluator`; see `evaluate` for the options of its `compute`. Without
        `label_mapping` the classes are in the order of the model's own `label2id`, or the whole numbers that a pipeline
        of one's own gives as labels.

    Raises:
        ValueError: If the task is a different one.
    """
    if task not in (TASK, "sentiment-analysis"):
        raise ValueError(f"Expected the task {TASK!r}, but got {task!r}.")
    return _evaluator_class()(task=TASK, default_metric_name="accuracy")


@contextlib.contextmanager
def probability_evaluator() -> Iterator[None]:
    """Let `evaluate.evaluator("text-classification")` and `EvaluationSuite` use this package's evaluator.

    The host builds the evaluators of a suite itself, from a table of classes; inside this context that table holds
    ours, and it is restored afterwards.
    """
    from evaluate.evaluator import SUPPORTED_EVALUATOR_TASKS

    before = SUPPORTED_EVALUATOR_TASKS[TASK]
    SUPPORTED_EVALUATOR_TASKS[TASK] = {**before, "implementation": _evaluator_class()}
    try:
        yield
    finally:
        SUPPORTED_EVALUATOR_TASKS[TASK] = before


def _evaluator_class() -> Any:
    needs("transformers")
    from evaluate.evaluator.text_classification import TextClassificationEvaluator

    class ProbabilityEvaluator(TextClassificationEvaluator):  # type: ignore[misc]
        PIPELINE_KWARGS: Mapping[str, Any] = {"truncation": True, "top_k": None}
        label2id: Mapping[str, int] | None

        def prepare_pipeline(self, model_or_pipeline: Any, *args: Any, **kwargs: Any) -> Any:
            # Recognize a pipeline by its task: the host's own check needs a class that transformers 5 removed.
            pipe = model_or_pipeline
            if not (callable(pipe) and hasattr(pipe, "task")):
                pipe = super().prepare_pipeline(model_or_pipeline, *args, **kwargs)
            elif pipe.task != self.task:
                raise ValueError(f"Expected a pipeline of the task {self.task!r}, but got one of {pipe.task!r}.")
            config = getattr(getattr(pipe, "model", None), "config", None)
            self.label2id = getattr(config, "label2id", None)
            return pipe

        def call_pipeline(self, pipe: Any, inputs: Any, **kwargs: Any) -> Any:
            is_plain = not hasattr(pipe, "preprocess")
            if is_plain and getattr(inputs, "second_col", 0) is None:
                inputs = list(inputs.dataset[inputs.first_col])
            return super().call_pipeline(pipe, inputs, **kwargs)

        def predictions_processor(self, predictions: Any, label_mapping: Any) -> dict[str, Any]:
            columns = label_mapping if label_mapping is not None else self.label2id
            return {"predictions": [_by_class(output, columns, item) for item, output in enumerate(predictions)]}

        def compute_metric(
            self, metric: Any, metric_inputs: dict[str, Any], strategy: str = "simple", **options: Any
        ) -> dict[str, Any]:
            check_one_of(strategy, STRATEGIES, "strategy")
            rows: list[dict[int, float | None]] = metric_inputs["predictions"]
            results = []
            for part in getattr(metric, "evaluation_modules", [metric]):
                read = _top_labels if _wants_labels(part) else _probabilities
                inputs = {**metric_inputs, "predictions": read(rows), "references": list(metric_inputs["references"])}
                result = super().compute_metric(part, inputs)
                results.append(result if strategy == "simple" else _with_intervals(part, inputs, result, **options))
            # What is combined tells figures of the same name apart by the names of their metrics.
            merged: dict[str, Any] = results[0] if part is metric else metric._merge_results(results)
            return merged

    return ProbabilityEvaluator


def _with_intervals(
    metric: Any,
    inputs: Mapping[str, Sequence[Any]],
    result: Mapping[str, Any],
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    random_state: int | None = None,
) -> dict[str, Any]:
    """Return what the host does for a bootstrap: score, standard error and interval of each figure.

    The host draws from each input by itself, which needs one number per item; here whole items are drawn, once for all
    figures. What is no fraction of a number, such as a list of bins or a count, has its score alone.
    """
    names = [name for name, value in result.items() if isinstance(value, float)]
    arrays = {name: np.asarray(values) for name, values in inputs.items()}

    def figures(items: NDArray[np.int64]) -> NDArray[np.float64]:
        try:
            drawn = metric.compute(**{name: values[items] for name, values in arrays.items()})
        except ValueError:  # undefined on these items, such as those of one class
            drawn = {}
        return np.array([np.nan if drawn.get(name) is None else drawn[name] for name in names], dtype=np.float64)

    n_items = len(arrays["references"])
    if n_items < 2:
        raise ValueError(f"Expected at least 2 items for strategy 'bootstrap', but got {n_items}.")
    intervals: dict[str, dict[str, Any]] = {}
    if names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a figure that is the same in all resamples has no interval
            drawn = stats.bootstrap(
                (np.arange(n_items),),
                figures,
                vectorized=False,
                batch=max(1, 1_000_000 // n_items),
                confidence_level=check_fraction(confidence_level, "confidence_level"),
                n_resamples=check_count(n_resamples, "n_resamples"),
                random_state=random_state,
            )
        interval = drawn.confidence_interval
        columns = np.array([interval.low, interval.high, drawn.standard_error]).T.tolist()
        for name, (low, high, error) in zip(names, columns, strict=True):
            intervals[name] = {
                "confidence_interval": (low, high) if math.isfinite(low) and math.isfinite(high) else None,
                "standard_error": error if math.isfinite(error) else None,
            }
    return {name: {**intervals.get(name, {}), "score": value} for name, value in result.items()}


def _by_class(output: Any, columns: Mapping[Any, int] | None, item: int) -> dict[int, float | None]:
    """Return the score of each class in what a pipeline gives for an item; None for a label without one."""
    scores: dict[int, float | None] = {}
    for entry in output if isinstance(output, list) else [output]:
        if not isinstance(entry, Mapping) or "label" not in entry:
            raise TypeError(
                f"Expected a pipeline that gives labels and their scores for each item, but item {item} has "
                f"{kind_of(entry)}."
            )
        label = entry["label"]
        if columns is None and isinstance(label, numbers.Integral):
            scores[int(label)] = entry.get("score")
        elif columns is None:
            raise ValueError(f"Expected `label_mapping` for a pipeline without a model's own, as it says {label!r}.")
        elif label not in columns:
            raise ValueError(
                f"Expected `label_mapping` to hold the model's labels, but {label!r} is not in {sorted(columns)}."
            )
        else:
            scores[int(columns[label])] = entry.get("score")
    if not scores:
        raise ValueError(f"Expected at least one label for each item, but item {item} has none.")
    return scores


def _top_labels(rows: list[dict[int, float | None]]) -> list[int]:
    return [next(iter(row)) if len(row) == 1 else max(row, key=lambda label: row[label] or 0.0) for row in rows]


def _probabilities(rows: list[dict[int, float | None]]) -> list[list[float]]:
    """Return a row per item with the scores of all classes."""
    n_classes = 1 + max(label for row in rows for label in row)
    table = []
    for item, row in enumerate(rows):
        scores = [score for label in range(n_classes) if (score := row.get(label)) is not None]
        if len(scores) < max(n_classes, 2):
            raise ValueError(
                "Expected a pipeline that gives the score of every class (top_k=None) for this metric, but item "
                f"{item} has {len(scores)} of {max(n_classes, 2)}."
            )
        table.append(scores)
    return table


def _wants_labels(metric: Any) -> bool:
    features = metric.features[0] if isinstance(metric.features, list) else metric.features
    return "int" in str(getattr(features["predictions"], "dtype", ""))
