import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rightreasons.foundations.ragged import Ragged
from rightreasons.models.running.run import run_batches
from rightreasons.models.running.store import Chunk, Store, join

RUN = {"kind": "test", "model": "abc"}


def ragged(*rows):
    return Ragged(np.array([x for row in rows for x in row], float), np.cumsum([0, *map(len, rows)]))


def test_chunks_come_back_in_order(tmp_path):
    store = Store(tmp_path / "out", RUN)
    store.write(Chunk(np.array([3, 1]), {"x": np.array([[3.0, 3.5], [1.0, 1.5]]), "r": ragged([3, 3, 3], [1])}))
    store.write(Chunk(np.array([2, 0]), {"x": np.array([[2.0, 2.5], [0.0, 0.5]]), "r": ragged([2, 2], [])}))
    chunk = Store(tmp_path / "out", RUN).read()
    assert chunk.items.tolist() == [0, 1, 2, 3]
    assert chunk.columns["x"].tolist() == [[0, 0.5], [1, 1.5], [2, 2.5], [3, 3.5]]
    assert [row.tolist() for row in chunk.columns["r"]] == [[], [1], [2, 2], [3, 3, 3]]


def test_an_item_that_comes_twice_is_kept_once():
    twice = join([Chunk(np.array([0, 1]), {"x": np.array([0, 1])}), Chunk(np.array([1, 2]), {"x": np.array([1, 2])})])
    assert twice.columns["x"].tolist() == [0, 1, 2]


def test_a_folder_of_another_run_is_refused_with_what_differs(tmp_path):
    Store(tmp_path, RUN)
    with pytest.raises(ValueError, match="differs in model: choose another folder, or delete this one"):
        Store(tmp_path, {**RUN, "model": "xyz"})
    with pytest.raises(ValueError, match="differs in kind and model"):
        Store(tmp_path, {"kind": "other", "model": "xyz"})


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="holds other files"):
        Store(tmp_path, RUN)
    with pytest.raises(ValueError, match="is a file"):
        Store(tmp_path / "thesis.tex", RUN)
    with pytest.raises(ValueError, match=r"has no manifest\.json"):
        Store.open(tmp_path)


def test_a_chunk_of_another_run_is_refused(tmp_path):
    mine, other = Store(tmp_path / "mine", RUN), Store(tmp_path / "other", {**RUN, "model": "xyz"})
    other.write(Chunk(np.array([0]), {"x": np.array([0.0])}))
    (tmp_path / "other" / "chunk-000000000.npz").rename(tmp_path / "mine" / "chunk-000000000.npz")
    with pytest.raises(ValueError, match=r"chunk-000000000\.npz to hold results of this run, but it is of another"):
        mine.read()


def test_a_broken_chunk_or_manifest_is_said(tmp_path):
    store = Store(tmp_path, RUN)
    store.write(Chunk(np.arange(50), {"x": np.random.default_rng(0).normal(size=50)}))
    path = tmp_path / "chunk-000000000.npz"
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match="it cannot be read: delete it"):
        store.read()
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "something", "version": 7, "run": {}}))
    with pytest.raises(ValueError, match="but it is of something 7"):
        Store(tmp_path, RUN)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="the manifest of a run"):
        Store(tmp_path, RUN)


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
        run_batches(lambda items: square(items, 12), batches, store=Store(tmp_path, RUN), progress=False)
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
    store.write(Chunk(np.array([5, 2, 7]), square(np.array([5, 2, 7]))))
    columns = run_batches(square, batches_of(10, 3), store=store, progress=False)
    assert columns["y"].tolist() == [i**2 for i in range(10)]


def test_without_a_store_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_batches(lambda items: {"y": items}, batches_of(5, 2), progress=False)["y"].tolist() == [0, 1, 2, 3, 4]
    assert not list(tmp_path.iterdir())


WORKER = """
import sys, time
import numpy as np
from rightreasons.models.running.run import run_batches
from rightreasons.models.running.store import Store

def slow(items):
    time.sleep(0.05)
    with open(sys.argv[2], "a") as log:
        log.write(" ".join(map(str, items.tolist())) + "\\n")
    return {"y": items.astype(float) ** 2}

order = np.random.default_rng(0).permutation(80)
batches = [order[start:start + 4] for start in range(0, 80, 4)]
columns = run_batches(slow, batches, store=Store(sys.argv[1], {"kind": "test"}), progress=False, flush_seconds=0)
print(columns["y"].tolist() == [i**2 for i in range(80)])
"""


def test_a_killed_run_goes_on_where_it_stopped(tmp_path):
    command = [sys.executable, "-c", WORKER, str(tmp_path / "out"), str(tmp_path / "log")]
    first = subprocess.Popen(command)
    for _ in range(400):
        if len(list((tmp_path / "out").glob("chunk-*.npz"))) >= 4:
            break
        time.sleep(0.02)
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    kept = Store.open(tmp_path / "out").read().items
    assert 16 <= len(kept) < 80
    already = (tmp_path / "log").read_text().splitlines()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
    later = (tmp_path / "log").read_text().splitlines()[len(already) :]
    computed = {int(item) for line in later for item in line.split()}
    assert computed == set(range(80)) - set(kept.tolist())
