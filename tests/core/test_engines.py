"""Tasks give the same results wherever they run."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

import errands
from rightreasons.behavior.learning.plan import Plan, plan_runs
from rightreasons.behavior.learning.run import run_plan
from rightreasons.core import engines
from rightreasons.core.engines import EngineOptions, run_tasks

SQUARES = [(number, number * number) for number in range(5)]


@pytest.fixture(scope="module")
def dask_address():
    """Address of a real cluster of two worker processes."""
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


def run_sorted(function, tasks, options):
    return sorted(run_tasks(function, tasks, options=options, progress=False))


def test_the_serial_engine_keeps_the_order_and_stops_at_an_error():
    assert list(run_tasks(errands.square, range(5), progress=False)) == SQUARES
    with pytest.raises(ValueError, match="got 1"):
        list(run_tasks(errands.refuse, range(3), progress=False))


def test_the_serial_engine_yields_a_result_before_the_next_task_starts():
    started = []

    results = run_tasks(started.append, [1, 2], progress=False)
    assert started == []
    next(results)
    assert started == [1]


def test_a_person_sees_a_progress_bar_unless_it_is_switched_off(monkeypatch, capsys):
    monkeypatch.setattr(engines, "is_progress_visible", lambda: True)

    list(run_tasks(errands.square, range(5)))
    assert "5/5" in capsys.readouterr().err

    list(run_tasks(errands.square, range(5), progress=False))
    assert capsys.readouterr().err == ""


def test_every_engine_gives_the_same_results(options):
    assert run_sorted(errands.square, range(5), options) == SQUARES
    with pytest.raises(ValueError, match="got 1"):
        run_sorted(errands.refuse, range(3), options)


def test_dask_runs_the_task_of_a_dead_worker_again(dask_address, tmp_path):
    tasks = [(number, tmp_path) for number in range(5)]

    assert run_sorted(errands.die_once, tasks, EngineOptions(dask_address)) == SQUARES

    assert (tmp_path / "died").exists()


def test_a_worker_that_dies_is_an_error():
    with pytest.raises(RuntimeError, match="one died"):
        run_sorted(errands.die, range(5), EngineOptions("loky", jobs=2))


@pytest.mark.parametrize(
    ("options", "name", "address"),
    [
        (EngineOptions(), "serial", ""),
        (EngineOptions(jobs=1), "serial", ""),
        (EngineOptions(jobs=2), "loky", ""),
        (EngineOptions("serial", jobs=2), "serial", ""),
        (EngineOptions("loky"), "loky", ""),
        (EngineOptions("dask"), "dask", ""),
        (EngineOptions("dask://10.0.0.1:10001"), "dask", "10.0.0.1:10001"),
    ],
)
def test_the_engine_follows_from_the_options(options, name, address):
    assert options.name == name
    assert options.address == address


@pytest.mark.parametrize(
    ("values", "option", "words"),
    [
        ({"engine": "lokey"}, "engine", "Did you mean 'loky'"),
        ({"engine": "dask://"}, "engine", "HOST:PORT"),
        ({"engine": "loky://a:1"}, "engine", "HOST:PORT"),
        ({"engine": "ray"}, "engine", "`engine`"),
        ({"jobs": 0}, "jobs", "`jobs`"),
    ],
)
def test_invalid_options_are_refused(values, option, words):
    with pytest.raises(ValueError, match=words) as caught:
        EngineOptions(**values)

    assert option in str(caught.value)


class FakeClient:
    """Client of a cluster that records its arguments."""

    calls: list = []

    def __init__(self, *addresses, **options):
        self.calls.append((addresses, options))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.calls.append("closed")


def test_a_cluster_is_reached_by_its_address_or_started_here(monkeypatch):
    monkeypatch.setattr(FakeClient, "calls", [])
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=FakeClient))
    monkeypatch.setattr(engines, "require_package", lambda package: None)

    for options in (EngineOptions("dask://a:1"), EngineOptions("dask", jobs=3)):
        with engines._connect_dask(options):
            pass

    assert FakeClient.calls == [
        # A client that were the default would also run the tasks of others.
        (("tcp://a:1",), {"timeout": 10, "set_as_default": False}),
        "closed",
        (
            (),
            {
                "n_workers": 3,
                "threads_per_worker": 1,
                "dashboard_address": None,
                "set_as_default": False,
            },
        ),
        "closed",
    ]


def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch):
    distributed = pytest.importorskip("distributed")

    def time_out(*args, **kwargs):
        raise OSError("timed out")

    monkeypatch.setattr(distributed, "Client", time_out)

    with pytest.raises(ValueError, match=r"127.0.0.1:1, but the connection failed: timed out"):
        run_sorted(errands.square, range(3), EngineOptions("dask://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("progress", "visible", "tasks", "expected"),
    [
        (True, True, [1, 2], [2]),
        (False, True, [1, 2], []),
        (True, False, [1, 2], []),
        (True, True, [], []),
    ],
)
def test_a_bar_is_shown_to_somebody_who_sees_it(monkeypatch, progress, visible, tasks, expected):
    totals = []

    def record(results, total, **options):
        totals.append(total)
        return results

    monkeypatch.setattr("tqdm.auto.tqdm", record)
    monkeypatch.setattr(engines, "is_progress_visible", lambda: visible)

    results = run_tasks(errands.square, tasks, progress=progress)

    assert len(list(results)) == len(tasks)
    assert totals == expected


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
    here, there = (
        tmp_path / name / "models" / "iid-42" / "model.safetensors" for name in ("here", "there")
    )
    assert here.read_bytes() == there.read_bytes()
