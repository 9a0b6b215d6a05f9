"""A metric of Evidently, with classes in the place of its own: it was run by hand, at version 0.7.23."""

import importlib
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Generic, TypeVar

import pandas
import pytest

Metric = TypeVar("Metric")


class SingleValueMetric:
    def __init__(self, **fields):
        for name, value in fields.items():
            setattr(self, name, value)


class SingleValueCalculation(Generic[Metric]):
    def __init__(self, metric):
        self.metric = metric

    def result(self, value):
        return value


class BinaryClassification(SimpleNamespace):
    pass


@pytest.fixture
def compute(monkeypatch):
    """Return a function that computes a figure of a table, as a report of Evidently does."""
    stubs = {
        "evidently": {},
        "evidently.core": {},
        "evidently.core.datasets": {"BinaryClassification": BinaryClassification},
        "evidently.core.metric_types": {
            "SingleValueCalculation": SingleValueCalculation,
            "SingleValueMetric": SingleValueMetric,
        },
    }
    for name, members in stubs.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    name = "rightreasons.integrations.evidently"
    monkeypatch.delitem(sys.modules, name, raising=False)
    integration = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)

    def run(table, columns, measure="ece", reference=None):
        metric = integration.ProbabilityFigure(measure=measure)
        calculation = integration.FigureCalculation(metric)
        current = make_dataset(table, columns)
        if reference is not None:
            reference = make_dataset(reference, columns)
        return calculation.calculate(None, current, reference)

    return run


def make_dataset(table, columns):
    definition = SimpleNamespace(get_classification=lambda name: columns)
    frame = pandas.DataFrame(table)
    return SimpleNamespace(data_definition=definition, as_dataframe=lambda: frame)


BINARY = BinaryClassification(target="y", prediction_probas="p", pos_label="yes")
CLASSES = SimpleNamespace(target="y", prediction_probas=["a", "b", "c"])


def test_a_column_has_the_probability_of_the_positive_class(compute):
    # Two items of confidence 0.8, one of them incorrect: a gap of 0.3.
    table = {"y": ["yes", "yes"], "p": [0.8, 0.2]}

    assert compute(table, BINARY) == pytest.approx(0.3)


def test_columns_have_the_names_of_the_classes(compute):
    # Confidences 0.6 (correct) and 0.6 (incorrect): a gap of 0.1.
    table = {"y": ["b", "c"], "a": [0.2, 0.6], "b": [0.6, 0.3], "c": [0.2, 0.1]}

    assert compute(table, CLASSES) == pytest.approx(0.1)


def test_the_reference_has_a_figure_too(compute):
    table = {"y": ["yes", "yes"], "p": [0.8, 0.2]}
    reference = {"y": ["yes", "yes"], "p": [0.8, 0.8]}

    # Both reference answers are correct at confidence 0.8.
    assert compute(table, BINARY, reference=reference) == pytest.approx((0.3, 0.2))


def test_an_undefined_figure_is_nan(compute):
    # Without an incorrect answer, there is no pair to rank.
    assert math.isnan(compute({"y": ["yes"], "p": [0.8]}, BINARY, "auroc"))


def test_a_target_without_a_column_is_refused(compute):
    table = {"y": ["d"], "a": [0.2], "b": [0.6], "c": [0.2]}

    with pytest.raises(ValueError, match="'d' is none"):
        compute(table, CLASSES)


def test_a_classification_without_probabilities_is_refused(compute):
    columns = SimpleNamespace(target="y", prediction_probas=None)

    with pytest.raises(ValueError, match="prediction_probas"):
        compute({"y": ["a"]}, columns)
