"""Figure 3 on axes of matplotlib: bars of accuracy above, stacked types of shortcuts below."""

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts import shortcut_diagram
from rightreasons.shortcuts.reliance import shortcut_reliance

pyplot = pytest.importorskip("matplotlib.pyplot")

HEADS = {0: ["the"], 1: ["good"]}
# Confidence above .5: cued by "good" twice, not cued once; below: cued by "the".
TOKENS = [["good"], ["good"], ["film"], ["the"]]
ATTRIBUTIONS = [[1.0], [1.0], [1.0], [1.0]]
PREDICTIONS = [1, 1, 1, 0]
CONFIDENCES = [0.9, 0.8, 0.7, 0.4]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


def measure(**options):
    return shortcut_reliance(
        TOKENS,
        ATTRIBUTIONS,
        PREDICTIONS,
        HEADS,
        n_bins=2,
        resampling=Resampling(resamples=20),
        **options,
    )


def list_bars(axes):
    """Return (left, bottom, height) of the bars of an axes that have a width."""
    bars = []
    for patch in axes.patches:
        if patch.get_height():
            bars.append((patch.get_x(), patch.get_y(), patch.get_height()))
    return bars


def test_bars_are_accuracies_and_stacked_types():
    result = measure(references=[1, 1, 0, 0], confidences=CONFIDENCES)

    upper, lower = shortcut_diagram(result)

    # Two of the three predictions above .5 are correct, and the one below.
    assert np.allclose(list_bars(upper), [(0.0, 0.0, 1.0), (0.5, 0.0, 2 / 3)])
    # Below .5 the only prediction is grammar-cued; above, two of three are lexicon-cued.
    expected = [(0.0, 0.0, 1.0), (0.5, 0.0, 2 / 3), (0.5, 2 / 3, 1 / 3)]
    assert np.allclose(sorted(list_bars(lower)), expected)
    assert {text.get_text() for text in lower.get_legend().get_texts()} == {
        "lexicon-cued",
        "grammar-cued",
        "not cued",
        "null model",
    }
    null_line = lower.lines[-1]
    assert null_line.get_ydata()[0] == result.null["frequency"].rate


def test_axes_of_the_caller_are_used():
    _, axes = pyplot.subplots(2, 1)

    drawn = shortcut_diagram(measure(confidences=CONFIDENCES), axes=tuple(axes))

    assert drawn[0] is axes[0]
    assert drawn[1] is axes[1]
    # Without references there is no accuracy.
    assert list_bars(axes[0]) == []


def test_confidences_are_required():
    with pytest.raises(ValueError, match="confidences"):
        shortcut_diagram(measure())
