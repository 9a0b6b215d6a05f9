import json
import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import torch

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import SetAsideWarning, format_error
from rightreasons.models import running
from rightreasons.models.running import Store, run_batches, run_model
from rightreasons.models.runs import progress
from rightreasons.models.runs.columns import Columns, join
from rightreasons.models.runs.processes import Processes, processes
from rightreasons.models.runs.progress import BarText, prefix_bar_titles

RUN = {"kind": "test", "model": "abc"}


def ragged(*rows):
    return Ragged(
        np.array([x for row in rows for x in row], float), np.cumsum([0, *map(len, rows)])
    )


def test_chunks_come_back_in_order(tmp_path):
    store = Store(tmp_path / "out", RUN)
    store.write(
        Columns(
            np.array([3, 1]), {"x": np.array([[3.0, 3.5], [1.0, 1.5]]), "r": ragged([3, 3, 3], [1])}
        )
    )
    store.write(
        Columns(
            np.array([2, 0]), {"x": np.array([[2.0, 2.5], [0.0, 0.5]]), "r": ragged([2, 2], [])}
        )
    )
    chunk = Store(tmp_path / "out", RUN).read()
    assert chunk.positions.tolist() == [0, 1, 2, 3]
    assert chunk.columns["x"].tolist() == [[0, 0.5], [1, 1.5], [2, 2.5], [3, 3.5]]
    assert [row.tolist() for row in chunk.columns["r"]] == [[], [1], [2, 2], [3, 3, 3]]


def test_an_item_that_comes_twice_is_kept_once():
    twice = join(
        [
            Columns(np.array([0, 1]), {"x": np.array([0, 1])}),
            Columns(np.array([1, 2]), {"x": np.array([1, 2])}),
        ]
    )
    assert twice.columns["x"].tolist() == [0, 1, 2]


def one_chunk(folder, run=RUN, value=0.5):
    store = Store(folder, run)
    store.write(Columns(np.arange(50), {"x": np.random.default_rng(0).normal(value, size=50)}))
    return store


def test_results_of_another_run_are_set_aside(tmp_path):
    one_chunk(tmp_path)
    with pytest.warns(
        SetAsideWarning,
        match="run, which differs",
    ):
        other = Store(tmp_path, {"kind": "other", "model": "xyz"})
    assert len(other.read()) == 0
    other.write(Columns(np.array([0]), {"x": np.array([9.0])}))
    with pytest.warns(SetAsideWarning, match="differs in kind and model"):
        assert len(Store(tmp_path, RUN).read()) == 0


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="holds other files"):
        Store(tmp_path, RUN)
    with pytest.raises(ValueError, match="is a file"):
        Store(tmp_path / "thesis.tex", RUN)
    with pytest.raises(ValueError, match=r"but manifest\.json"):
        Store.open(tmp_path)


def test_a_chunk_of_another_run_is_not_served(tmp_path):
    mine, other = (
        Store(tmp_path / "mine", RUN),
        one_chunk(tmp_path / "other", {**RUN, "model": "xyz"}),
    )
    name = "chunk-000000000.npz"
    (other.folder / name).rename(mine.folder / name)
    with pytest.warns(SetAsideWarning, match="computed again"):
        assert len(mine.read()) == 0
    assert (mine.folder / ".set-aside" / name).is_file()


def test_no_flipped_bit_of_a_chunk_is_served(tmp_path):
    """Each bit of some 250 bytes over the file, names of arrays and lengths among them."""
    store = one_chunk(tmp_path)
    path = tmp_path / "chunk-000000000.npz"
    whole, right = path.read_bytes(), store.read().columns["x"]
    noticed = 0
    for place in range(0, len(whole), max(1, len(whole) // 250)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SetAsideWarning)
            read = store.read()
        noticed += not len(read)
        assert not len(read) or read.columns["x"].tolist() == right.tolist()
    assert noticed > 100
    path.write_bytes(whole[:300])
    with pytest.warns(SetAsideWarning, match="because it is damaged or"):
        assert len(store.read()) == 0


def test_a_damaged_manifest_loses_no_chunk(tmp_path):
    one_chunk(tmp_path)
    for damaged in ("{", json.dumps({"format": "something", "version": 7, "run": {}}), ""):
        (tmp_path / "manifest.json").write_text(damaged)
        with pytest.warns(SetAsideWarning, match="computed again"):
            assert len(Store(tmp_path, RUN).read()) == 50
    text = (tmp_path / "manifest.json").read_text()
    (tmp_path / "manifest.json").write_text(
        text.replace("abc", "abe")
    )  # a changed value, in whole JSON
    with pytest.warns(SetAsideWarning), pytest.raises(ValueError, match=r"but manifest\.json"):
        Store.open(tmp_path)


def test_an_item_that_fails_is_left_out_and_stored_with_its_reason(tmp_path):
    asked = []

    def root(items):
        asked.append(items.tolist())
        if (items % 7 == 3).any():
            raise ValueError(
                f"Expected no such item, but got {[int(i) for i in items if i % 7 == 3]}."
            )
        return {"y": np.sqrt(items)}

    for _ in range(2):
        columns = run_batches(
            root, batches_of(23, 8), store=Store(tmp_path, RUN), progress=False, fail_fast=False
        )
        assert sorted(columns.failures) == [3, 10, 17]
        assert columns.failures[10] == "Expected no such item, but got [10]."
        assert columns.positions.tolist() == [i for i in range(23) if i % 7 != 3]
        assert columns["y"].tolist() == [i**0.5 for i in range(23) if i % 7 != 3]
        times, asked[:] = len(asked), []
    assert not times  # the second run computes nothing
    with pytest.raises(ValueError, match="Expected no such item"):
        run_batches(root, batches_of(23, 8), store=Store(tmp_path, RUN), progress=False)
    with pytest.raises(ValueError, match="always"):
        run_batches(always, batches_of(1000, 8), progress=False, fail_fast=False)


@pytest.mark.parametrize("fail_fast", [True, False])
def test_a_batch_that_does_not_fit_in_memory_is_halved_and_so_are_later_ones(fail_fast):
    asked = []

    def small(items):
        asked.append(len(items))
        if len(items) > 3:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            except RuntimeError as error:  # as `Items` names the item
                raise ValueError("Expected a model that can read every item.") from error
        return {"y": items}

    batches = [np.arange(start, min(start + 11, 30)) for start in range(0, 30, 11)]
    with pytest.warns(
        UserWarning, match="A batch of (11|6) does not fit in the device's memory"
    ) as told:
        columns = run_batches(small, batches, progress=False, fail_fast=fail_fast)
    assert columns["y"].tolist() == list(range(30))
    assert (len(told), columns.failures) == (2, {})
    assert asked == [11, 6, *[3, 3, 3, 2] * 2, 3, 3, 2]  # 11 = 6 + 5, 6 = 3 + 3; then at most 3

    def never(error):
        def raises(items):
            raise error

        return raises

    for error, told in (
        (torch.OutOfMemoryError("CUDA out of memory."), "out of memory"),
        (
            RuntimeError(
                "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
            ),
            "ALLOC_FAILED",
        ),
    ):
        with (
            pytest.warns(UserWarning, match="batches of 1 follow"),
            pytest.raises(RuntimeError, match=told),
        ):
            run_batches(never(error), [np.arange(2)], progress=False, fail_fast=fail_fast)


class Device:
    """Computes what is launched while the program goes on, and answers when it is read; some batches lack memory."""

    def __init__(self, launches=10**9, reads=10**9):
        self.log, self.launches, self.reads = [], launches, reads

    def __call__(self, items):
        self.does("launch", items, self.launches)

        def read():
            self.does("read", items, self.reads)
            return {"y": items**2}

        return read

    def does(self, what, items, most):
        self.log.append((what, *items.tolist()))
        if len(items) > most:
            raise torch.OutOfMemoryError("CUDA out of memory.")


FOURS = [np.arange(start, start + 4) for start in (0, 4, 8)]


def test_the_next_batch_is_launched_before_the_last_is_read(monkeypatch):
    device, told = Device(), []
    monkeypatch.setattr(
        progress.tqdm, "update", lambda bar, count: told.append((count, len(device.log)))
    )
    assert run_batches(device, [np.array([item]) for item in (3, 1, 0, 2)])["y"].tolist() == [
        0,
        1,
        4,
        9,
    ]
    launched_and_read = [
        ("launch", 3),
        ("launch", 1),
        ("read", 3),
        ("launch", 0),
        ("read", 1),
        ("launch", 2),
    ]
    assert device.log == [*launched_and_read, ("read", 0), ("read", 2)]
    assert told == [(1, 3), (1, 5), (1, 7), (1, 8)]  # a batch is done when it is read


@pytest.mark.filterwarnings("ignore:A batch of 4 does not fit")
@pytest.mark.parametrize("fail_fast", [True, False])
def test_memory_that_lacks_when_a_batch_is_read_takes_the_one_behind_it_along(fail_fast):
    device = Device(reads=2)
    assert run_batches(device, FOURS, progress=False, fail_fast=fail_fast)["y"].tolist() == [
        i**2 for i in range(12)
    ]
    first, second = ("launch", 0, 1, 2, 3), ("launch", 4, 5, 6, 7)
    assert device.log[:3] == [first, second, ("read", 0, 1, 2, 3)]
    # Batches of two from here on, each launched before the one ahead of it is read; nothing is read twice.
    twos = [(what, item, item + 1) for item in range(0, 12, 2) for what in ("launch", "read")]
    assert sorted(device.log[3:]) == sorted(twos)
    assert device.log[3:6] == [("launch", 0, 1), ("launch", 2, 3), ("read", 0, 1)]


@pytest.mark.filterwarnings("ignore:A batch of 4 does not fit")
def test_memory_that_lacks_at_the_launch_leaves_the_batch_before_whole():
    device = Device(launches=2)
    small = [np.arange(2), *(batch + 2 for batch in FOURS)]
    assert run_batches(device, small, progress=False)["y"].tolist() == [i**2 for i in range(14)]
    assert device.log[:4] == [
        ("launch", 0, 1),
        ("launch", 2, 3, 4, 5),
        ("read", 0, 1),
        ("launch", 2, 3),
    ]
    assert len(device.log) == len(set(device.log))


def test_what_was_launched_is_kept_when_something_else_ends_the_run(tmp_path, monkeypatch):
    """An error of a batch as it is launched or read, or a signal."""

    def run(name, compute):
        run_batches(compute, FOURS, store=Store(tmp_path / name, RUN), progress=False)

    def kept(name):
        return Store.open(tmp_path / name).read().positions.tolist()

    def broken(items, at_launch):
        def read():
            if 4 in items:
                raise ValueError("Expected no 4.")
            return {"y": items}

        return read() and read if at_launch else read

    with pytest.raises(ValueError, match="Expected no 4"):
        run("launched", lambda items: broken(items, True))
    assert kept("launched") == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Expected no 4"):
        run("read", lambda items: broken(items, False))
    assert kept("read") == [0, 1, 2, 3, 8, 9, 10, 11]

    def stopped():
        if len(steps) == 2:
            raise KeyboardInterrupt
        steps.append(0)

    steps = []
    monkeypatch.setattr(running, "stop_if_signaled", stopped)
    with pytest.raises(KeyboardInterrupt):
        run("stopped", Device())
    assert kept("stopped") == list(range(8))


def test_an_item_that_fails_when_it_is_read_is_left_out():
    def root(items):
        def read():
            if 5 in items:
                raise ValueError("Expected no 5.")
            return {"y": items**2}

        return read

    columns = run_batches(root, FOURS, progress=False, fail_fast=False)
    assert columns.failures == {5: "Expected no 5."}
    assert columns["y"].tolist() == [i**2 for i in range(12) if i != 5]


def always(items):
    raise ValueError("always")


def batches_of(count, size):
    order = np.random.default_rng(0).permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]


def test_an_error_loses_nothing_and_a_second_run_repeats_nothing(tmp_path):
    asked = []

    def square(items, fail_at=None):
        if fail_at is not None and len(asked) >= fail_at:
            raise RuntimeError("out of memory")
        asked.extend(items.tolist())
        return {
            "y": items.astype(float) ** 2,
            "r": Ragged(np.repeat(items, 2).astype(float), 2 * np.arange(len(items) + 1)),
        }

    batches = batches_of(23, 4)
    with pytest.raises(RuntimeError, match="out of memory"):
        run_batches(
            lambda items: square(items, 12), batches, store=Store(tmp_path, RUN), progress=False
        )
    assert len(asked) == 12
    columns = run_batches(square, batches, store=Store(tmp_path, RUN), progress=False)
    assert sorted(asked) == list(range(23))  # each item once, over both runs
    assert columns["y"].tolist() == [i**2 for i in range(23)]
    assert [row.tolist() for row in columns["r"]] == [[i, i] for i in range(23)]
    again = run_batches(square, batches, store=Store(tmp_path, RUN), progress=False)
    assert len(asked) == 23
    assert again["y"].tolist() == columns["y"].tolist()


def test_other_batches_may_finish_a_run(tmp_path):
    def square(items):
        return {"y": items.astype(float) ** 2}

    store = Store(tmp_path, RUN)
    store.write(Columns(np.array([5, 2, 7]), square(np.array([5, 2, 7]))))
    columns = run_batches(square, batches_of(10, 3), store=store, progress=False)
    assert columns["y"].tolist() == [i**2 for i in range(10)]


def test_more_processes_than_gpus_are_refused(monkeypatch):
    for name, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(ValueError, match="this machine"):
        processes()


def test_the_death_of_a_process_is_one_sentence(monkeypatch):
    def ended(values):
        raise RuntimeError(
            "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:41923"
        )

    monkeypatch.setattr("accelerate.utils.gather_object", ended)
    with pytest.raises(ConnectionError, match="all 2 processes") as raised:
        Processes(0, 2).gather(1, "results")
    assert "gloo" not in format_error(raised.value)
    assert "run the same command again" in format_error(raised.value)


def test_processes_that_took_different_ways_are_told_apart(monkeypatch):
    other = []

    def both(values):  # the other process has been at one meeting more, or is at another thing
        ((here, value),) = values
        return [*values, (other[0] if other else here, value + 1)]

    monkeypatch.setattr("accelerate.utils.gather_object", both)
    assert Processes(0, 2).gather(1, "results") == [1, 2]
    other.append("failures (meeting 7)")
    with (
        prefix_bar_titles("test"),
        pytest.raises(RuntimeError, match="test: results"),
    ):
        Processes(0, 2).gather(1, "results")


def test_without_a_store_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_batches(lambda items: {"y": items}, batches_of(5, 2), progress=False)[
        "y"
    ].tolist() == [0, 1, 2, 3, 4]
    assert not list(tmp_path.iterdir())


WORKER = """
import sys, time
import numpy as np
from rightreasons.models.running import run_batches
from rightreasons.models.running import Store
from rightreasons.models import running

running.FLUSH_SECONDS = 0

def slow(items):
    time.sleep(0.05)
    with open(sys.argv[2], "a") as log:
        log.write(" ".join(map(str, items.tolist())) + "\\n")
    return {"y": items.astype(float) ** 2}

order = np.random.default_rng(0).permutation(80)
batches = [order[start:start + 4] for start in range(0, 80, 4)]
columns = run_batches(slow, batches, store=Store(sys.argv[1], {"kind": "test"}), progress=False)
print(columns["y"].tolist() == [i**2 for i in range(80)])
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path / "out"), str(tmp_path / "log")]
    first = subprocess.Popen(command)
    while len(list((tmp_path / "out").glob("chunk-*.npz"))) < 4:
        assert first.poll() is None
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    kept = Store.open(tmp_path / "out").read().positions
    assert 16 <= len(kept) < 80
    already = (tmp_path / "log").read_text().splitlines()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    later = (tmp_path / "log").read_text().splitlines()[len(already) :]
    computed = {int(item) for line in later for item in line.split()}
    assert computed == set(range(80)) - set(kept.tolist())


def test_an_item_that_failed_once_and_is_computed_later_counts_once(tmp_path):
    broken = {3}

    def root(items):
        if broken & set(items.tolist()):
            raise ValueError("Expected another day.")
        return {"y": np.sqrt(items)}

    def run(**how):
        return run_batches(
            root, batches_of(6, 2), store=Store(tmp_path, RUN), progress=False, **how
        )

    assert run(fail_fast=False).positions.tolist() == [0, 1, 2, 4, 5]
    broken.clear()
    assert run()["y"].tolist() == [i**0.5 for i in range(6)]
    again = run(fail_fast=False)
    assert (again.positions.tolist(), again.failures) == (list(range(6)), {})


def test_a_later_run_begins_with_batches_that_fit_in_memory():
    model = torch.nn.Linear(2, 2)
    sizes = []

    def compute(items):
        sizes.append(len(items))
        if len(items) > 3:
            raise torch.OutOfMemoryError("of a fake device")
        return {"y": items}

    def run(kind):
        columns = run_model(model, compute, [np.arange(5)], kind=kind, inputs=dict, progress=False)
        assert columns["y"].tolist() == [0, 1, 2, 3, 4]

    with pytest.warns(UserWarning, match="does not fit"):
        run("answers")
    run("answers")
    with pytest.warns(UserWarning, match="does not fit"):
        run("attributions")

    # 5 are halved to 3 and 2; the same work begins with 3, other work with 5.
    assert sizes == [5, 3, 2, 3, 2, 5, 3, 2]


def test_a_bar_counts_tokens_so_that_the_first_batch_tells_how_long_a_run_takes(monkeypatch):
    lines = []

    class Bar:
        def __init__(self, total, desc, unit, unit_scale, leave, disable):
            lines.append((desc, total, unit))

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def update(self, n):
            lines.append(n)

    monkeypatch.setattr("rightreasons.models.runs.progress.tqdm", Bar)
    batches = [np.array([2]), np.array([0, 1])]
    bar = BarText("logits", lengths=np.array([5, 4, 90]))

    run_batches(lambda items: {"x": items}, batches, bar=bar)
    run_batches(lambda items: {"x": items}, batches, bar=BarText("logits"))

    assert lines[:3] == [("logits, 3 items", 99, "token"), 90, 9]
    assert lines[3:] == [("logits", 3, "item"), 1, 2]
