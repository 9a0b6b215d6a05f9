"""Models are run in batches, whose results are stored, resumed, and halved if memory lacks."""

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


def make_ragged(*rows):
    values = np.concatenate([np.array(row, float) for row in rows])
    return Ragged(values, np.cumsum([0, *map(len, rows)]))


def test_chunks_are_read_in_the_order_of_the_items(tmp_path):
    store = Store(tmp_path / "out", RUN)
    table = np.array([[3.0, 3.5], [1.0, 1.5]])
    store.write(Columns(np.array([3, 1]), {"x": table, "r": make_ragged([3, 3, 3], [1])}))
    table = np.array([[2.0, 2.5], [0.0, 0.5]])
    store.write(Columns(np.array([2, 0]), {"x": table, "r": make_ragged([2, 2], [])}))

    chunk = Store(tmp_path / "out", RUN).read()

    assert chunk.positions.tolist() == [0, 1, 2, 3]
    assert chunk.columns["x"].tolist() == [[0, 0.5], [1, 1.5], [2, 2.5], [3, 3.5]]
    assert [row.tolist() for row in chunk.columns["r"]] == [[], [1], [2, 2], [3, 3, 3]]


def test_an_item_in_two_chunks_counts_once():
    columns = Columns(np.array([0, 1]), {"x": np.array([0, 1])})
    overlapping = Columns(np.array([1, 2]), {"x": np.array([1, 2])})

    assert join([columns, overlapping]).columns["x"].tolist() == [0, 1, 2]


def write_chunk(folder, run=RUN):
    """Return a store with a chunk of 50 items."""
    store = Store(folder, run)
    values = np.random.default_rng(0).normal(0.5, size=50)
    store.write(Columns(np.arange(50), {"x": values}))
    return store


def test_results_of_another_run_are_set_aside(tmp_path):
    write_chunk(tmp_path)

    with pytest.warns(SetAsideWarning, match="run, which differs"):
        other_store = Store(tmp_path, {"kind": "other", "model": "xyz"})
    assert len(other_store.read()) == 0

    other_store.write(Columns(np.array([0]), {"x": np.array([9.0])}))
    with pytest.warns(SetAsideWarning, match="differs in kind and model"):
        assert len(Store(tmp_path, RUN).read()) == 0


def test_a_folder_of_other_files_is_refused(tmp_path):
    file = tmp_path / "thesis.tex"
    file.write_text("x")

    with pytest.raises(ValueError, match="holds other files"):
        Store(tmp_path, RUN)
    with pytest.raises(ValueError, match="is a file"):
        Store(file, RUN)
    with pytest.raises(ValueError, match=r"but manifest\.json"):
        Store.open(tmp_path)


def test_a_chunk_of_another_run_is_not_used(tmp_path):
    store = Store(tmp_path / "mine", RUN)
    other_store = write_chunk(tmp_path / "other", {**RUN, "model": "xyz"})
    name = "chunk-000000000.npz"
    (other_store.folder / name).rename(store.folder / name)

    with pytest.warns(SetAsideWarning, match="computed again"):
        assert len(store.read()) == 0
    assert (store.folder / ".set-aside" / name).is_file()


def test_no_flipped_bit_of_a_chunk_is_used(tmp_path):
    """Each bit of some 250 bytes over the file, names of arrays and lengths among them."""
    store = write_chunk(tmp_path)
    path = tmp_path / "chunk-000000000.npz"
    content = path.read_bytes()
    values = store.read().columns["x"].tolist()

    n_detected = 0
    for position in range(0, len(content), max(1, len(content) // 250)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SetAsideWarning)
            chunk = store.read()
        is_detected = len(chunk) == 0
        n_detected += is_detected
        # Some bits, such as those of times, change no value.
        assert is_detected or chunk.columns["x"].tolist() == values
    assert n_detected > 100

    path.write_bytes(content[:300])
    with pytest.warns(SetAsideWarning, match="because it is damaged or"):
        assert len(store.read()) == 0


def test_a_damaged_manifest_loses_no_chunk(tmp_path):
    write_chunk(tmp_path)
    manifest = tmp_path / "manifest.json"
    for damaged in ("{", json.dumps({"format": "something", "version": 7, "run": {}}), ""):
        manifest.write_text(damaged)
        with pytest.warns(SetAsideWarning, match="computed again"):
            assert len(Store(tmp_path, RUN).read()) == 50

    # A changed value in valid JSON.
    manifest.write_text(manifest.read_text().replace("abc", "abe"))
    with pytest.warns(SetAsideWarning), pytest.raises(ValueError, match=r"but manifest\.json"):
        Store.open(tmp_path)


def test_a_failed_item_is_excluded_and_stored_with_its_reason(tmp_path):
    batches = []

    def compute_roots(items):
        batches.append(items.tolist())
        failed = [int(i) for i in items if i % 7 == 3]
        if failed:
            raise ValueError(f"Expected no such item, but got {failed}.")
        return {"y": np.sqrt(items)}

    def run():
        return run_batches(
            compute_roots,
            make_batches(23, 8),
            store=Store(tmp_path, RUN),
            progress=False,
            fail_fast=False,
        )

    computed = run()
    assert batches
    batches.clear()
    stored = run()
    # The second run computes nothing.
    assert not batches
    remaining = [i for i in range(23) if i % 7 != 3]
    for columns in (computed, stored):
        assert sorted(columns.failures) == [3, 10, 17]
        assert columns.failures[10] == "Expected no such item, but got [10]."
        assert columns.positions.tolist() == remaining
        assert columns["y"].tolist() == [i**0.5 for i in remaining]

    with pytest.raises(ValueError, match="Expected no such item"):
        run_batches(compute_roots, make_batches(23, 8), store=Store(tmp_path, RUN), progress=False)
    with pytest.raises(ValueError, match="always"):
        run_batches(always_fail, make_batches(1000, 8), progress=False, fail_fast=False)


def make_failing(error):
    """Return a computation that always raises this error."""

    def fail(items):
        raise error

    return fail


@pytest.mark.parametrize("fail_fast", [True, False])
def test_a_batch_that_does_not_fit_in_memory_is_halved_and_so_are_later_ones(fail_fast):
    sizes = []

    def compute(items):
        sizes.append(len(items))
        if len(items) > 3:
            try:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            except RuntimeError as error:
                # `Items` names the item in the same way.
                raise ValueError("Expected a model that can read every item.") from error
        return {"y": items}

    # 11, 11 and 8 items.
    batches = [np.arange(start, min(start + 11, 30)) for start in range(0, 30, 11)]
    message = "A batch of (11|6) does not fit in the device's memory"
    with pytest.warns(UserWarning, match=message) as caught:
        columns = run_batches(compute, batches, progress=False, fail_fast=fail_fast)
    assert columns["y"].tolist() == list(range(30))
    assert len(caught) == 2
    assert columns.failures == {}
    # 11 = 6 + 5, 6 = 3 + 3; then at most 3
    assert sizes == [11, 6, *[3, 3, 3, 2] * 2, 3, 3, 2]

    cublas = "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"
    for error, message in (
        (torch.OutOfMemoryError("CUDA out of memory."), "out of memory"),
        (RuntimeError(cublas), "ALLOC_FAILED"),
    ):
        with (
            pytest.warns(UserWarning, match="batches of 1 follow"),
            pytest.raises(RuntimeError, match=message),
        ):
            run_batches(make_failing(error), [np.arange(2)], progress=False, fail_fast=fail_fast)


class Device:
    """Computes in the background, as a GPU does: a batch is launched, and its results are read later.

    Attributes:
        log: ("launch" or "read", its items) of each call.
    """

    def __init__(self, max_launched=10**9, max_read=10**9):
        """Lack memory for larger batches, when they are launched or when they are read."""
        self.log = []
        self.max_launched = max_launched
        self.max_read = max_read

    def __call__(self, items):
        self._record("launch", items, self.max_launched)

        def read():
            self._record("read", items, self.max_read)
            return {"y": items**2}

        return read

    def _record(self, step, items, max_items):
        self.log.append((step, *items.tolist()))
        if len(items) > max_items:
            raise torch.OutOfMemoryError("CUDA out of memory.")


FOURS = [np.arange(start, start + 4) for start in (0, 4, 8)]


def test_the_next_batch_is_launched_before_the_previous_one_is_read(monkeypatch):
    device = Device()
    updates = []

    def record_update(bar, count):
        updates.append((count, len(device.log)))

    monkeypatch.setattr(progress.ProgressLines, "update", record_update)

    columns = run_batches(device, [np.array([item]) for item in (3, 1, 0, 2)])

    assert columns["y"].tolist() == [0, 1, 4, 9]
    assert device.log == [
        ("launch", 3),
        ("launch", 1),
        ("read", 3),
        ("launch", 0),
        ("read", 1),
        ("launch", 2),
        ("read", 0),
        ("read", 2),
    ]
    # A batch is done when it is read: after 3, 5, 7 and 8 calls.
    assert updates == [(1, 3), (1, 5), (1, 7), (1, 8)]


@pytest.mark.filterwarnings("ignore:A batch of 4 does not fit")
@pytest.mark.parametrize("fail_fast", [True, False])
def test_if_memory_lacks_when_a_batch_is_read_the_next_one_is_repeated_too(fail_fast):
    device = Device(max_read=2)

    columns = run_batches(device, FOURS, progress=False, fail_fast=fail_fast)

    assert columns["y"].tolist() == [i**2 for i in range(12)]
    assert device.log[:3] == [
        ("launch", 0, 1, 2, 3),
        ("launch", 4, 5, 6, 7),
        ("read", 0, 1, 2, 3),
    ]
    # Batches of two follow, each launched before the previous one is read; nothing is read twice.
    pairs = [(step, item, item + 1) for item in range(0, 12, 2) for step in ("launch", "read")]
    assert sorted(device.log[3:]) == sorted(pairs)
    assert device.log[3:6] == [("launch", 0, 1), ("launch", 2, 3), ("read", 0, 1)]


@pytest.mark.filterwarnings("ignore:A batch of 4 does not fit")
def test_if_memory_lacks_at_the_launch_the_previous_batch_is_not_repeated():
    device = Device(max_launched=2)
    batches = [np.arange(2), *(batch + 2 for batch in FOURS)]

    columns = run_batches(device, batches, progress=False)

    assert columns["y"].tolist() == [i**2 for i in range(14)]
    assert device.log[:4] == [
        ("launch", 0, 1),
        ("launch", 2, 3, 4, 5),
        ("read", 0, 1),
        ("launch", 2, 3),
    ]
    # No call is repeated.
    assert len(device.log) == len(set(device.log))


def test_launched_batches_are_stored_when_an_error_or_a_signal_ends_the_run(tmp_path, monkeypatch):
    def run(name, compute):
        run_batches(compute, FOURS, store=Store(tmp_path / name, RUN), progress=False)

    def list_stored(name):
        return Store.open(tmp_path / name).read().positions.tolist()

    def fail_when_read(items):
        def read():
            if 4 in items:
                raise ValueError("Expected no 4.")
            return {"y": items}

        return read

    def fail_when_launched(items):
        read = fail_when_read(items)
        read()
        return read

    with pytest.raises(ValueError, match="Expected no 4"):
        run("launched", fail_when_launched)
    assert list_stored("launched") == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="Expected no 4"):
        run("read", fail_when_read)
    assert list_stored("read") == [0, 1, 2, 3, 8, 9, 10, 11]

    steps = []

    def interrupt_third_step():
        if len(steps) == 2:
            raise KeyboardInterrupt
        steps.append(0)

    monkeypatch.setattr(running, "stop_if_signaled", interrupt_third_step)
    with pytest.raises(KeyboardInterrupt):
        run("stopped", Device())
    assert list_stored("stopped") == list(range(8))


def test_an_item_that_fails_when_it_is_read_is_excluded():
    def compute(items):
        def read():
            if 5 in items:
                raise ValueError("Expected no 5.")
            return {"y": items**2}

        return read

    columns = run_batches(compute, FOURS, progress=False, fail_fast=False)

    assert columns.failures == {5: "Expected no 5."}
    assert columns["y"].tolist() == [i**2 for i in range(12) if i != 5]


def always_fail(items):
    raise ValueError("always")


def make_batches(count, size):
    """Return batches of `count` items in a random order."""
    order = np.random.default_rng(0).permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]


def square(items):
    return {"y": items.astype(float) ** 2}


def test_an_error_loses_nothing_and_a_second_run_repeats_nothing(tmp_path):
    computed = []

    def compute(items):
        computed.extend(items.tolist())
        pairs = np.repeat(items, 2).astype(float)
        return {**square(items), "r": Ragged(pairs, 2 * np.arange(len(items) + 1))}

    def fail_after_twelve(items):
        if len(computed) >= 12:
            raise RuntimeError("out of memory")
        return compute(items)

    def run(function):
        batches = make_batches(23, 4)
        return run_batches(function, batches, store=Store(tmp_path, RUN), progress=False)

    with pytest.raises(RuntimeError, match="out of memory"):
        run(fail_after_twelve)
    assert len(computed) == 12

    columns = run(compute)
    # Each item once, over both runs.
    assert sorted(computed) == list(range(23))
    assert columns["y"].tolist() == [i**2 for i in range(23)]
    assert [row.tolist() for row in columns["r"]] == [[i, i] for i in range(23)]

    stored = run(compute)
    assert len(computed) == 23
    assert stored["y"].tolist() == columns["y"].tolist()


def test_a_run_may_be_completed_with_other_batches(tmp_path):
    store = Store(tmp_path, RUN)
    store.write(Columns(np.array([5, 2, 7]), square(np.array([5, 2, 7]))))

    columns = run_batches(square, make_batches(10, 3), store=store, progress=False)

    assert columns["y"].tolist() == [i**2 for i in range(10)]


def test_more_processes_than_gpus_are_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)

    with pytest.raises(ValueError, match="this machine"):
        processes()


def test_the_end_of_another_process_is_explained(monkeypatch):
    def fail(values):
        raise RuntimeError(
            "[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:41923"
        )

    monkeypatch.setattr("accelerate.utils.gather_object", fail)

    with pytest.raises(ConnectionError, match="all 2 processes") as error:
        Processes(0, 2).gather(1, "results")

    message = format_error(error.value)
    assert "gloo" not in message
    assert "run the same command again" in message


def test_processes_that_gather_different_things_are_an_error(monkeypatch):
    partner_titles = []

    def gather_both(values):
        """Add the value of a second process, which gathers the same, or what its title says."""
        ((title, value),) = values
        partner_title = partner_titles[0] if partner_titles else title
        return [*values, (partner_title, value + 1)]

    monkeypatch.setattr("accelerate.utils.gather_object", gather_both)
    assert Processes(0, 2).gather(1, "results") == [1, 2]

    partner_titles.append("failures (meeting 7)")
    with prefix_bar_titles("test"), pytest.raises(RuntimeError, match="test: results"):
        Processes(0, 2).gather(1, "results")


def test_without_a_store_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    columns = run_batches(lambda items: {"y": items}, make_batches(5, 2), progress=False)

    assert columns["y"].tolist() == [0, 1, 2, 3, 4]
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


def test_a_killed_run_resumes_with_its_stored_items(tmp_path):
    out = tmp_path / "out"
    log_file = tmp_path / "log"
    command = [sys.executable, "-c", WORKER, str(out), str(log_file)]
    killed = subprocess.Popen(command)
    while len(list(out.glob("chunk-*.npz"))) < 4:
        assert killed.poll() is None
        time.sleep(0.02)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL

    stored = Store.open(out).read().positions
    assert 16 <= len(stored) < 80

    n_logged = len(log_file.read_text().splitlines())
    resumed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert resumed.stdout.strip() == "True"
    new_lines = log_file.read_text().splitlines()[n_logged:]
    computed = set(map(int, " ".join(new_lines).split()))
    assert computed == set(range(80)) - set(stored.tolist())


def test_an_item_that_failed_once_and_is_computed_later_counts_once(tmp_path):
    failing = {3}

    def compute_roots(items):
        if failing & set(items.tolist()):
            raise ValueError("Expected another day.")
        return {"y": np.sqrt(items)}

    def run(**options):
        return run_batches(
            compute_roots,
            make_batches(6, 2),
            store=Store(tmp_path, RUN),
            progress=False,
            **options,
        )

    assert run(fail_fast=False).positions.tolist() == [0, 1, 2, 4, 5]
    failing.clear()
    assert run()["y"].tolist() == [i**0.5 for i in range(6)]

    stored = run(fail_fast=False)
    assert stored.positions.tolist() == list(range(6))
    assert stored.failures == {}


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


class Bar:
    """Records the arguments and the updates of a bar of tqdm in the list `lines`."""

    lines = []

    def __init__(self, total, desc, unit, unit_scale, leave, disable):
        self.lines.append((desc, total, unit))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def update(self, n):
        self.lines.append(n)


def test_a_bar_counts_tokens_if_their_numbers_are_known(monkeypatch):
    lines = []
    monkeypatch.setattr(Bar, "lines", lines)
    monkeypatch.setattr("rightreasons.models.runs.progress.tqdm", Bar)
    monkeypatch.setattr(progress, "is_progress_visible", lambda: True)
    batches = [np.array([2]), np.array([0, 1])]
    bar = BarText("logits", lengths=np.array([5, 4, 90]))

    run_batches(lambda items: {"x": items}, batches, bar=bar)
    run_batches(lambda items: {"x": items}, batches, bar=BarText("logits"))

    assert lines[:3] == [("logits, 3 items", 99, "token"), 90, 9]
    assert lines[3:] == [("logits", 3, "item"), 1, 2]
