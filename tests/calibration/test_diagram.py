"""The reliability diagram shows the bins of every kind of calibration error."""

import numpy as np
import pytest
from matplotlib import pyplot

from rightreasons.calibration.confidences import KINDS
from rightreasons.calibration.diagram import reliability_diagram
from rightreasons.calibration.errors import calibration_error

ROWS = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.25, 0.75], [0.55, 0.45]])
LABELS = np.array([0, 1, 1, 1, 0])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def make_input(kind):
    if kind == "confidence":
        return ROWS.max(axis=1), ROWS.argmax(axis=1) == LABELS
    return ROWS, LABELS


@pytest.mark.parametrize("kind", KINDS)
def test_the_diagram_of_every_kind_has_a_bar_for_each_filled_bin(kind):
    predictions, references = make_input(kind)
    table = calibration_error(predictions, references, kind=kind, n_bins=5).bins
    filled = [row for row in table[:5] if row.count]

    axes = reliability_diagram(predictions, references, kind=kind, n_bins=5)

    bars = [bar for bar in axes.patches if bar.get_width() > 0]
    assert [bar.get_x() for bar in bars] == [row.lower for row in filled]
    assert [bar.get_height() for bar in bars] == [row.accuracy for row in filled]


def test_positive_scores_are_those_of_class_1():
    # P(class 1) in two bins: 0.1, 0.4 and 0.45 with one label 1 of three, 0.8 and 0.75 with both.
    axes = reliability_diagram(ROWS, LABELS, kind="positive", n_bins=2)
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([1 / 3, 1.0])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("P(class 1)", "frequency of class 1")


def test_each_bar_has_the_wilson_interval_of_its_events():
    # Of the last bin, 2 of 2: from n / (n + z²) = 2 / (2 + 1.96²) to 1.
    axes = reliability_diagram(ROWS, LABELS, kind="positive", n_bins=2)

    (bars,) = axes.containers[1].lines[2]
    low, high = bars.get_segments()[1][:, 1]
    assert low == pytest.approx(2 / (2 + 1.959964**2), abs=1e-6)
    assert high == pytest.approx(1.0)


def test_classwise_bins_are_those_of_the_first_class():
    axes = reliability_diagram(ROWS, LABELS, kind="classwise", n_bins=2)
    assert [bar.get_height() for bar in axes.patches] == pytest.approx([0.0, 2 / 3])
    assert axes.get_xlabel() == "P(class 0)"


def test_the_diagram_is_drawn_on_given_axes():
    _, axes = pyplot.subplots()
    assert reliability_diagram(ROWS, LABELS, axes=axes) is axes
    assert axes.get_xlabel() == "confidence"
