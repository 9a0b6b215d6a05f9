"""evaluate: the ways to hand items to a metric that its tests try, in a plain metric of the host and in the module."""

import itertools
import pickle
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import datasets
import evaluate
import numpy as np
import pandas as pd
import torch
from scenario import Case, softmax_rows

import rightreasons
from rightreasons.calibration.errors import calibration_error
from rightreasons.probes.bias import prior_bias

CASTS = "evaluate converts the label 0.5 to 0, and rightreasons refuses it"
CALLS_LENGTH = "evaluate accepts no generator"
HALVES = [0.5] * 96


class PlainEce(evaluate.Metric):
    """The kernel of `ece` in a metric as the host's guide has it."""

    def _info(self) -> evaluate.MetricInfo:
        rows = datasets.List(datasets.Value("float64"))
        features = datasets.Features({"predictions": rows, "references": datasets.Value("int64")})
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions: list, references: list) -> dict:
        return {"ece": calibration_error(predictions, references).ece}


class PlainPriorBias(PlainEce):
    """The kernel of `prior_bias` in such a metric."""

    def _compute(self, predictions: list, references: list) -> dict:
        return {"prior_bias": prior_bias(predictions, references).prior_bias}


FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda values: values.tolist(),
    "tuple": lambda values: tuple(values.tolist()),
    "numpy": lambda values: values,
    "torch": torch.tensor,
    "rows of numpy": list,
    "column of datasets": lambda values: datasets.Dataset.from_dict({"x": values.tolist()})["x"],
    "Series": lambda values: pd.Series(values.tolist()),
    "generator": lambda values: (value for value in values.tolist()),
}


def together(metric: Any, rows: Any, labels: Any) -> dict:
    return metric.compute(predictions=rows, references=labels)


def in_batches(metric: Any, rows: Any, labels: Any) -> dict:
    for start in range(0, len(labels), 32):
        metric.add_batch(
            predictions=rows[start : start + 32], references=labels[start : start + 32]
        )
    return metric.compute()


def one_by_one(metric: Any, rows: Any, labels: Any) -> dict:
    for row, label in zip(rows, labels, strict=True):
        metric.add(prediction=row, reference=label)
    return metric.compute()


def twice(metric: Any, rows: Any, labels: Any) -> dict:
    together(metric, rows, labels)
    return in_batches(metric, rows, labels)


def pickled(metric: Any, rows: Any, labels: Any) -> dict:
    return together(pickle.loads(pickle.dumps(metric)), rows, labels)  # noqa: S301


def combined(metric: Any, rows: Any, labels: Any) -> dict:
    both = evaluate.combine({"one": metric, "two": metric}, force_prefix=True)
    results = both.compute(predictions=rows, references=labels)
    return {
        name.removeprefix("one_"): value
        for name, value in results.items()
        if name.startswith("one_")
    }


def combined_in_batches(metric: Any, rows: Any, labels: Any) -> dict:
    both = evaluate.combine([metric])
    both.add_batch(predictions=rows[:50], references=labels[:50])
    both.add_batch(predictions=rows[50:], references=labels[50:])
    return both.compute()


def saved(metric: Any, rows: Any, labels: Any) -> dict:
    import json

    with tempfile.TemporaryDirectory() as folder:
        return json.loads(evaluate.save(folder, **together(metric, rows, labels)).read_text())


WAYS = (together, in_batches, one_by_one, twice, pickled, combined, combined_in_batches, saved)


def result(compute: Callable[[], dict], name: str) -> Any:
    """Return the figure, or that there is none."""
    try:
        return compute()[name]
    except Exception:  # the host refuses in many ways
        return "refused"


def cases() -> Iterator[Case]:
    rows, labels = softmax_rows(96, 3, 0)
    modules = (("ece", PlainEce), ("prior_bias", PlainPriorBias))
    for (name, plain), way in itertools.product(modules, WAYS):
        ours = result(lambda: way(rightreasons.load(name), rows, labels), name)  # noqa: B023
        peer = result(lambda: way(plain(), rows, labels), name)  # noqa: B023
        yield Case("ways to hand items in", f"{name} {way.__name__}", ours, peer, 1e-12)
    for (name, plain), form in itertools.product(modules, FORMS):
        reason = CALLS_LENGTH if form == "generator" else ""
        make = FORMS[form]
        ours = result(lambda: together(rightreasons.load(name), make(rows), make(labels)), name)  # noqa: B023
        peer = result(lambda: together(plain(), make(rows), make(labels)), name)  # noqa: B023
        yield Case("forms of columns", f"{name} {form}", ours, peer, 1e-12, reason)
    for (name, plain), wrong in itertools.product(
        modules,
        (
            {"references": labels[:-1]},
            {"references": HALVES},
            {"predictions": ["x"] * 96},
            {"predictions": []},
        ),
    ):
        inputs = {"predictions": rows, "references": labels, **wrong}
        ours = result(lambda: rightreasons.load(name).compute(**inputs), name)  # noqa: B023
        peer = result(lambda: plain().compute(**inputs), name)  # noqa: B023
        reason = CASTS if wrong.get("references") is HALVES else ""
        yield Case("wrong input", f"{name} {list(wrong)}", ours, peer, 1e-12, reason)
