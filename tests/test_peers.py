"""What `make -C benchmarks peers` runs: the first cases of each scenario, where the peer is installed."""

import importlib
import importlib.util
import itertools
import sys

import pytest

PEERS = ("captum", "checklist", "evaluate", "netcal", "relplot", "torchmetrics")


@pytest.fixture
def scenarios(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks" / "peers"))
    monkeypatch.delitem(sys.modules, "scenario", raising=False)
    return lambda peer: importlib.import_module(f"with_{peer}")


def test_every_file_is_run(root):
    files = sorted(path.stem for path in (root / "benchmarks" / "peers").glob("with_*.py"))
    assert files == [f"with_{peer}" for peer in PEERS]


@pytest.mark.parametrize("peer", PEERS)
def test_the_first_cases_are_the_same(scenarios, peer):
    if importlib.util.find_spec(peer) is None:
        pytest.skip(f"{peer} is not installed")
    cases = list(itertools.islice(scenarios(peer).cases(), 6))
    assert len(cases) == 6
    assert [case.name for case in cases if not case.same] == []


def test_a_case_tells_figures_apart(scenarios):
    case = importlib.import_module("scenario").Case
    assert case("a", "b", [0.5, float("nan")], [0.5, float("nan")]).same
    assert not case("a", "b", 0.5, 0.5001).same
    assert case("a", "b", 0.5, 0.5001, 0.001).same
    assert not case("a", "b", [0.5], [0.5, 0.5]).same
    assert not case("a", "b", "refused", 0.5).same
