"""Tasks have the same results wherever they run, and a worker that dies is said."""

import json
import os

import pytest

import errands
from rightreasons.behavior.learning.plan import Plan, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.core.engines import EngineOptions, run_tasks

SQUARES = [(place, place * place) for place in range(5)]


@pytest.fixture(scope="module")
def dask_address():
    """A real cluster of two worker processes."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


@pytest.fixture(params=("loky", "dask"))
def options(request):
    if request.param == "dask":
        return EngineOptions(request.getfixturevalue("dask_address"))
    return EngineOptions(request.param, jobs=2)


def outcome(function, tasks, options):
    return sorted(run_tasks(function, tasks, options=options, progress=False))


def test_in_their_order_here():
    assert list(run_tasks(errands.square, range(5), progress=False)) == SQUARES
    with pytest.raises(ValueError, match="Expected another number, but got 1"):
        list(run_tasks(errands.refuse, range(3), progress=False))


def test_every_engine_gives_the_same(options):
    assert outcome(errands.square, range(5), options) == SQUARES
    with pytest.raises(ValueError, match="^Expected another number, but got 1"):
        outcome(errands.refuse, range(3), options)


def test_dask_runs_the_task_of_a_dead_worker_again(dask_address, tmp_path):
    tasks = [(number, tmp_path) for number in range(5)]
    assert outcome(errands.die_once, tasks, EngineOptions(dask_address)) == SQUARES
    assert (tmp_path / "died").exists()


def test_a_worker_that_dies_is_one_sentence():
    with pytest.raises(
        RuntimeError, match="worker processes to live, but one died, as where memory runs out"
    ):
        outcome(errands.die, range(5), EngineOptions("loky", jobs=2))


def test_options():
    assert EngineOptions("dask://10.0.0.1:10001").address == "10.0.0.1:10001"
    for wrong, words in (
        ("lokey", "Did you mean 'loky'"),
        ("dask://", "dask://HOST:PORT"),
        ("loky://a:1", "HOST:PORT"),
        ("ray", "Expected `engine`"),
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
    with pytest.raises(
        ValueError, match=r"Expected a dask scheduler at 127.0.0.1:1, but got none: timed out"
    ):
        outcome(errands.square, range(3), EngineOptions("dask://127.0.0.1:1"))


@pytest.mark.skipif(
    "ENGINES" not in os.environ,
    reason="two processes that load PyTorch: make -C benchmarks engines",
)
def test_a_plan_is_the_same_on_a_cluster(tiny_learning_task, dask_address, tmp_path):
    runs = plan_runs(
        tiny_learning_task.suite,
        configurations=("IID", "IID->T"),
        methods=("lp",),
        partitions=("seen",),
    )
    results = {}
    for name, options in {"here": None, "there": EngineOptions(dask_address)}.items():
        plan = Plan.create(tmp_path / name, runs, tiny_learning_task.settings())
        assert run_plan(plan, tiny_learning_task, engine=options, progress=False) == len(runs) == 2
        assert run_plan(plan, tiny_learning_task, engine=options, progress=False) == 0
        results[name] = [json.dumps({**row, "seconds": 0}) for row in plan.results()]
    assert results["here"] == results["there"]
    weights = [
        (tmp_path / name / "models" / "iid-42" / "model.safetensors").read_bytes()
        for name in results
    ]
    assert weights[0] == weights[1]
