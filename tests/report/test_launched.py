"""Commands by two processes of one launch: the bytes of one process. `make -C benchmarks engines` runs it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import rightreasons
from launching import launch_two
from tiny_bidirectional import save_tiny_bidirectional
from tiny_causal import save_tiny_causal
from tiny_suites import behavior_suite

pytestmark = pytest.mark.skipif(
    "ENGINES" not in os.environ, reason="loads PyTorch: make -C benchmarks engines"
)

SCRIPT = "import sys; from rightreasons.cli import main; main(sys.argv[1:])"


def classification(folder):
    words = "a good film with bad plot and fine story but slow end".split()
    rows = [
        " ".join(words[(7 * row + step) % len(words)] for step in range(3 + row % 5))
        for row in range(40)
    ]
    lines = [json.dumps({"text": text, "label": row % 2}) for row, text in enumerate(rows)]
    path = folder / "reviews.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def choices(folder):
    words = "a good film with bad plot and fine story but slow end".split()
    path = folder / "choices.jsonl"
    rows = [
        {
            "prompt": f"Why {words[row % 12]} {words[(row + 3) % 12]}?",
            "choices": [f"{words[(row + k) % 12]} {words[(5 * row + k) % 12]}" for k in (1, 4)],
            "label": row % 3 % 2,
        }
        for row in range(24)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", "utf-8")
    return path


def pairs(folder):
    path = folder / "pairs.jsonl"
    rows = map(json.loads, choices(folder).read_text("utf-8").splitlines())
    pairs = [
        dict(zip(("prompt", "answer_a", "answer_b"), (row["prompt"], *row["choices"]), strict=True))
        for row in rows
    ]
    path.write_text("\n".join(map(json.dumps, pairs)) + "\n", "utf-8")
    return path


def held(folder):
    """All that a command left, without when; chunks are of one process each."""
    made = re.compile(rb"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d[+-]\d\d:\d\d)?")
    files = {
        path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()
    }
    held = {
        name: made.sub(b"", path.read_bytes())
        for name, path in files.items()
        if "/." not in f"/{name}" and path.suffix != ".npz"
    }
    if "audit.json" in held:
        audit = json.loads(held["audit.json"])
        del audit["digest"], audit["files"]["index.html"]  # which has the date
        held["audit.json"] = audit
    return held


COMMANDS = {
    "audit of classes": ("audit {classifier} {reviews} --n-resamples 50", "audit.json"),
    "audit of choices": ("audit {choice} {choices} --n-resamples 50", "audit.json"),
    "audit of a language model": (
        "audit {causal} {choices} --questions calibration,cues",
        "audit.json",
    ),
    "audit of an encoder-decoder": ("audit {t5} {reviews} --n-resamples 50", "audit.json"),
    "audit of a masked model": (
        "audit {bert} {reviews} --questions calibration --n-resamples 50",
        "audit.json",
    ),
    "shortcuts": (
        "shortcuts {classifier} {reviews} --train {reviews} --n-resamples 50",
        "audit.json",
    ),
    "difficulty": ("difficulty {classifier} {reviews} --items 20 --n-resamples 50", "audit.json"),
    "probes": ("probes {causal} {choices} --n-resamples 50", "audit.json"),
    "behavior": ("behavior {classifier} {suite}", "pass_rates.json"),
    "ways": ("ways {causal} {choices} --limit 8", "ways.json"),
    "reasons": ("reasons {causal} {choices} --limit 20 --n-resamples 50", "audit.json"),
}


def by_accelerate(folder, typed):
    """Run a command in two processes that `accelerate launch` starts; return what they printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Two processes of one machine are "multi_gpu" to accelerate, on CPUs as well.
    how = "--multi_gpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port"
    words = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        *how.split(),
        port,
        "-m",
        "rightreasons",
        *typed,
    ]
    return output_of(words, PYTHONPATH=str(Path(rightreasons.__file__).parents[1]))


def output_of(words, **settings):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **settings}
    done = subprocess.run(
        [*map(str, words)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


LAUNCHES = {
    "torchrun": lambda folder, typed: launch_two(SCRIPT, folder, *typed),
    "accelerate launch": by_accelerate,
}


@pytest.mark.parametrize(
    ("command", "launch"),
    [*((name, "torchrun") for name in COMMANDS), ("audit of choices", "accelerate launch")],
)
def test_two_processes_write_and_print_what_one_does(command, launch, request, tmp_path):
    words, mark = COMMANDS[command]
    folders = {name: request.getfixturevalue(f"{name}_folder") for name in ("classifier", "choice")}
    data = {
        "reviews": classification(tmp_path),
        "choices": choices(tmp_path),
        "pairs": pairs(tmp_path),
    }
    suite = behavior_suite().write(tmp_path / "suite.jsonl")
    folders |= {kind: save_tiny_bidirectional(tmp_path / kind, kind) for kind in ("t5", "bert")}
    causal = save_tiny_causal(tmp_path / "causal")
    config = causal / "config.json"  # to reason, it reads more tokens
    config.write_text(
        config.read_text().replace(
            '"max_position_embeddings": 256', '"max_position_embeddings": 2048'
        )
    )
    typed = words.format(**folders, **data, suite=suite, causal=causal).split()
    out = tmp_path / "report"
    alone = output_of([sys.executable, "-c", SCRIPT, *typed, "--out", out])
    one = held(out if out.is_dir() else tmp_path)
    for made in tmp_path.glob("report*"):
        shutil.rmtree(made) if made.is_dir() else made.unlink()
    both = LAUNCHES[launch](tmp_path, [*typed, "--out", out])
    two = held(out if out.is_dir() else tmp_path)
    two.pop("worker.py", None)
    assert any(name.endswith(mark) for name in one)
    assert sorted(one) == sorted(two)
    assert [name for name in one if one[name] != two[name]] == []
    # How long it takes is guessed from the number of processes.
    more = Counter(both.splitlines()) - Counter(alone.splitlines())
    assert [line for line in more if " s, less what " not in line and "%|" not in line] == []
