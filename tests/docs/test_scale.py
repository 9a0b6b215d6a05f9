"""The figures of docs/scale.md are those of benchmarks/schedule.py, from the costs in benchmarks/RESULTS.md."""

import importlib

import pytest


@pytest.fixture(scope="module")
def schedule(root):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "benchmarks")
        yield importlib.import_module("schedule")


def test_the_page_has_the_figures(schedule):
    assert schedule.read_block(schedule.PAGE, "figures") == schedule.figures()


def test_the_costs_are_those_that_were_measured(schedule):
    unit = schedule.costs()
    assert 0.9 < unit.predict < 1.25
    assert 2 < unit.fisher < 2.5
    assert all(0 < seconds < 1e-4 for seconds in unit.kernels.values())


def test_an_hour_is_an_hour(schedule):
    # A model of 975,198,208 parameters read 1,552 items of 128 tokens per second; one of 7e9 takes longer.
    assert schedule.hours(1_000_000) * 3600 == pytest.approx(1e6 / 1524 * 7e9 / 975_198_208)
    assert f"{schedule.operations() / 1e12:.0f} teraflops" in schedule.PAGE.read_text("utf-8")
    assert schedule.simulate(1_000, 1) >= 1
