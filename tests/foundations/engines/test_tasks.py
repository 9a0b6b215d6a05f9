"""Tasks have the same results wherever they run, and none is lost where a worker dies."""

import json
import os

import pytest

import errands
from rightreasons.foundations.engines import tasks as tasks_module
from rightreasons.foundations.engines.options import EngineOptions
from rightreasons.foundations.engines.tasks import run_tasks
from rightreasons.training.behavior.plan import Plan, plan_runs
from rightreasons.training.behavior.runner import run_plan

SQUARES = [(place, place * place) for place in range(5)]


@pytest.fixture(scope="module")
def dask_address():
    """A real cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        yield f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


@pytest.fixture(params=("loky", "dask", "ray"))
def options(request):
    """Each engine that is installed; `make engines` installs them all."""
    if request.param == "dask":
        return EngineOptions(request.getfixturevalue("dask_address"))
    if request.param == "ray":
        pytest.importorskip("ray")
    return EngineOptions(request.param, jobs=2)


def outcome(function, tasks, options):
    return sorted(run_tasks(function, tasks, options=options, progress=False))


def test_in_their_order_here():
    assert list(run_tasks(errands.square, range(5), progress=False)) == SQUARES
    with pytest.raises(ValueError, match="Expected another number, but got 1"):
        list(run_tasks(errands.refuse, range(3), progress=False))


def test_every_engine_gives_the_same(options, tmp_path):
    assert outcome(errands.die_once, [(number, tmp_path) for number in range(5)], options) == SQUARES
    assert (tmp_path / "died").exists()
    with pytest.raises(ValueError, match="^Expected another number, but got 1"):
        outcome(errands.refuse, range(3), options)


def test_a_task_that_kills_its_workers_is_told_after_the_others():
    finished = []
    with pytest.raises(RuntimeError, match=r"workers of loky to live, but those of 1 of 5 tasks failed again") as told:
        finished.extend(run_tasks(errands.die, range(5), options=EngineOptions("loky", jobs=2), progress=False))
    assert "the other tasks are finished" in str(told.value)


def test_workers_with_another_version_are_refused():
    result, error, _ = tasks_module._one(errands.square, 2, "0.0.1")
    assert result is None
    assert str(error).startswith("Expected version 0.0.1 of rightreasons on each worker, but one has ")


def test_options():
    assert EngineOptions("ray://10.0.0.1:10001").address == "10.0.0.1:10001"
    for wrong, words in (
        ("lokey", "Did you mean 'loky'"),
        ("dask://", "dask://HOST:PORT"),
        ("loky://a:1", "HOST:PORT"),
    ):
        with pytest.raises(ValueError, match=words):
            EngineOptions(wrong)
    with pytest.raises(ValueError, match="jobs"):
        EngineOptions(jobs=0)


def test_a_cluster_that_does_not_answer_is_one_sentence(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def nobody(*args, **kwargs):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", nobody)
    with pytest.raises(ValueError, match=r"Expected a dask scheduler at 127.0.0.1:1, but got none: timed out"):
        outcome(errands.square, range(3), EngineOptions("dask://127.0.0.1:1"))


@pytest.mark.skipif("ENGINES" not in os.environ, reason="two processes that load PyTorch: make engines")
def test_a_plan_is_the_same_on_a_cluster(tiny_learning_task, dask_address, tmp_path):
    runs = plan_runs(tiny_learning_task.suite, configurations=("IID", "IID->T"), methods=("lp",), partitions=("seen",))
    results = {}
    for name, options in {"here": None, "there": EngineOptions(dask_address)}.items():
        plan = Plan.create(tmp_path / name, runs, tiny_learning_task.settings())
        assert run_plan(plan, tiny_learning_task, engine=options, progress=False) == len(runs) == 2
        assert run_plan(plan, tiny_learning_task, engine=options, progress=False) == 0
        results[name] = [json.dumps({**row, "seconds": 0}) for row in plan.results()]
    assert results["here"] == results["there"]
    weights = [(tmp_path / name / "models" / "iid-42" / "model.safetensors").read_bytes() for name in results]
    assert weights[0] == weights[1]
