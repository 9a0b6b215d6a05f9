"""What every picture has: both forms from one specification, titles of marks, ids of its own."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.estimates import Estimate
from rightreasons.page.plots import Curve, Drawing, curves, dot_rows, layer, reliability_diagram

DOTS = dot_rows(
    "a_key", rows=[("<b>", [Estimate(0.25, 0.125, 0.5)])], series=["x"], xlabel="share", line=0.5
)


def test_a_mark_tells_its_numbers():
    assert re.findall(r"<title>([^<]*)</title>", DOTS.svg) == ["&lt;b&gt;, x: 25.0% [12.5, 50.0]"]


def test_the_page_gives_the_colors():
    assert not re.search(r'(?:fill|stroke)="#', DOTS.svg)
    assert "var(--plot-blue)" in DOTS.svg


def test_both_forms_are_of_one_size():
    """470 pixels and what the axis needs beyond them; the PNG has one and a half dots per pixel."""
    width = float(re.search(r"max-width:([\d.]+)px", DOTS.svg)[1])
    assert int.from_bytes(DOTS.png[16:20], "big") == pytest.approx(1.5 * width, abs=1.5)
    assert 460 <= width <= 490


def test_what_is_no_number_leaves_a_gap():
    rows = layer(
        "line", [{"x": 1, "y": value} for value in (0.5, np.nan, np.float32(1.0), None, np.inf)]
    )
    assert [row["y"] for row in rows["data"]["values"]] == [0.5, None, 1.0, None, None]
    line = Curve("f", [Estimate(0.2), None, Estimate(0.4), Estimate(0.5)])
    paths = re.findall(
        r'stroke-width="2"[^>]*?|d="(M[^"]*)"',
        curves("c", [1, 2, 3, 4], [line], xlabel="", ylabel="").svg,
    )
    assert any(path.count("M") == 2 for path in paths)  # two pieces: a point, and a line of two


def test_ids_begin_anew_in_each_picture():
    clipped = {
        "mark": {"type": "point", "clip": True},
        "data": {"values": [{"x": 1}]},
        "encoding": {"x": {"field": "x"}},
    }
    first, second = Drawing("one_key", clipped).svg, Drawing("other", clipped).svg
    assert re.findall(r'\bid="([^"]+)"', first) == ["one-key-0"]
    assert "url(#one-key-0)" in first
    assert re.findall(r'\bid="([^"]+)"', second) == ["other-0"]


def test_texts_that_look_like_markup_are_texts():
    svg = dot_rows(
        "k", rows=[('url(#a) id="b"', [Estimate(0.5)])], series=["</svg>"], xlabel="&"
    ).svg
    assert "url(#a)" in svg
    assert svg.count("</svg>") == 1


@pytest.mark.parametrize(("low", "begins"), [(0.1, 0.0), (-0.25, -0.25), (None, 0.0)])
def test_an_interval_below_0_is_inside_the_axes(low, begins):
    spec = dot_rows(
        "k", rows=[("a", [Estimate(0.1, low, low and 0.2)])], series=["x"], xlabel="share"
    ).spec
    scales = [
        each["encoding"]["x"]["scale"] for each in spec["layer"] if "scale" in each["encoding"]["x"]
    ]
    assert scales
    assert all(scale["domain"][0] == begins for scale in scales)


def test_axes_of_whole_numbers_have_no_marks_between_them():
    estimates = [Estimate(0.5, 0.4, 0.6)] * 3
    whole, share = (
        curves("c", x, [Curve("a", estimates)], xlabel="group", ylabel="share").svg
        for x in ([1, 2, 3], [1.0, 1.5, 3.0])
    )
    assert ">1.5<" not in whole
    assert ">1.4<" in share


@pytest.mark.parametrize("bar", [None, (0.2, 0.8)])
def test_the_legend_has_bars_of_a_calibrated_model_where_they_are_drawn(bar):
    bins = [SimpleNamespace(lower=0.5, upper=1.0, confidence=0.7, accuracy=0.5, count=2)]
    drawn = reliability_diagram("r", bins, intervals=[Estimate(0.5, 0.1, 0.9)], bars=[bar]).svg
    assert ("if calibrated" in drawn) == (bar is not None)
