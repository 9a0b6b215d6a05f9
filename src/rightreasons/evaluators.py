"""An `evaluate` evaluator that passes on all probabilities, where the host's own passes on only the top label."""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from rightreasons.core.arrays import kind_of
from rightreasons.core.errors import needs

TASK = "text-classification"

__all__ = ["evaluator", "probability_evaluator"]


def evaluator(task: str = TASK) -> Any:
    """Build an evaluator for text classification whose metrics get the probabilities of all classes.

    Metrics that expect one class per item (accuracy, F1) still get the top label, so `evaluate.combine` works for both
    kinds. The evaluator accepts a model path, a loaded model with its tokenizer, a `transformers` pipeline, or a
    pipeline of one's own: a callable with a `task` that takes a list of texts (of mappings with "text" and "text_pair"
    where there is a second column) and returns for each `{"label": ..., "score": ...}` of every class, or
    `{"label": ...}` alone, for metrics of the top label.

    `compute(strategy="bootstrap")` is refused: the bootstrap of a calibration error is biased upward, and `ece` returns
    an interval with `confidence_level=0.95`.

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
            self, metric: Any, metric_inputs: dict[str, Any], strategy: str = "simple", **_: Any
        ) -> dict[str, Any]:
            if strategy != "simple":
                raise ValueError(
                    f"Expected `strategy` to be 'simple', but got {strategy!r}: a module gives the interval of a "
                    "figure where `confidence_level` is set."
                )
            rows: list[dict[int, float | None]] = metric_inputs["predictions"]
            results = []
            for part in getattr(metric, "evaluation_modules", [metric]):
                read = _top_labels if _wants_labels(part) else _probabilities
                inputs = {**metric_inputs, "predictions": read(rows), "references": list(metric_inputs["references"])}
                results.append(super().compute_metric(part, inputs))
            # What is combined tells figures of the same name apart by the names of their metrics.
            merged: dict[str, Any] = results[0] if part is metric else metric._merge_results(results)
            return merged

    return ProbabilityEvaluator


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
