"""The figures of docs/scale.md are those of benchmarks/schedule.py, which simulates the package's own schedule."""

import importlib.util

import pytest


@pytest.fixture(scope="module")
def schedule(root):
    spec = importlib.util.spec_from_file_location("schedule", root / "benchmarks" / "schedule.py")
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["schedule"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_figures(schedule, root):
    page = (root / "docs" / "scale.md").read_text("utf-8")
    told = page.partition(schedule.BEGIN)[2].partition(schedule.END)[0].strip()
    assert told == schedule.figures()


def test_an_hour_is_an_hour(schedule):
    # 2 x 7e9 operations x 128 tokens x 1e6 items / 125e12 per second = 14,336 s
    assert schedule.hours(1_000_000) * 3600 == pytest.approx(14_336)
    assert schedule.simulate(1_000, 1) >= 1
