"""An `evaluate` evaluator that passes on all probabilities, where the host's own passes on only the top label."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

TASK = "text-classification"

__all__ = ["evaluator", "probability_evaluator"]


def evaluator(task: str = TASK) -> Any:
    """Build an evaluator for text classification whose metrics get the probabilities of all classes.

    Metrics that expect one class per item (accuracy, F1) still get the top label, so `evaluate.combine` works for both
    kinds. The evaluator accepts a model path, a loaded model with its tokenizer, or a `transformers` pipeline.

    Args:
        task: "text-classification".

    Returns:
        An `evaluate.TextClassificationEvaluator`; see `evaluate` for the options of its `compute`. Without
        `label_mapping` the classes are in the order of the model's own `label2id`.

    Raises:
        ValueError: If the task is a different one.
    """
    if task != TASK:
        raise ValueError(f"Expected the task {TASK!r}, but got {task!r}.")
    return _evaluator_class()(task=task, default_metric_name="accuracy")


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
    import numpy as np
    from evaluate.evaluator.text_classification import TextClassificationEvaluator

    class ProbabilityEvaluator(TextClassificationEvaluator):  # type: ignore[misc]
        PIPELINE_KWARGS: Mapping[str, Any] = {"truncation": True, "top_k": None}
        label2id: Mapping[str, int]

        def prepare_pipeline(self, model_or_pipeline: Any, *args: Any, **kwargs: Any) -> Any:
            # Recognize a pipeline by its methods: the host's own check needs a class that transformers 5 removed.
            if hasattr(model_or_pipeline, "postprocess") and hasattr(model_or_pipeline, "preprocess"):
                pipe = model_or_pipeline
            else:
                pipe = super().prepare_pipeline(model_or_pipeline, *args, **kwargs)
            self.label2id = pipe.model.config.label2id
            return pipe

        def predictions_processor(self, predictions: Any, label_mapping: Any) -> dict[str, Any]:
            columns = label_mapping if label_mapping is not None else self.label2id
            table = np.zeros((len(predictions), len(columns)))
            for row, scores in enumerate(predictions):
                for score in scores:
                    if score["label"] not in columns:
                        raise ValueError(
                            f"Expected `label_mapping` to hold the model's labels, but {score['label']!r} is not in "
                            f"{sorted(columns)}."
                        )
                    table[row, int(columns[score["label"]])] = score["score"]
            return {"predictions": table}

        def compute_metric(self, metric: Any, metric_inputs: dict[str, Any], **kwargs: Any) -> Any:
            parts = getattr(metric, "evaluation_modules", [metric])
            result: dict[str, Any] = {}
            for part in parts:
                inputs = dict(metric_inputs)
                if _wants_labels(part):
                    inputs["predictions"] = inputs["predictions"].argmax(axis=1).tolist()
                    inputs["references"] = list(inputs["references"])
                result.update(super().compute_metric(part, inputs, **kwargs))
            return result

    return ProbabilityEvaluator


def _wants_labels(metric: Any) -> bool:
    features = metric.features[0] if isinstance(metric.features, list) else metric.features
    return "int" in str(getattr(features["predictions"], "dtype", ""))
