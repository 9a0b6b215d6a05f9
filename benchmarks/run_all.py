"""Run the benchmarks and write what each prints into its block of benchmarks/RESULTS.md: `make -C benchmarks bench`.

    python benchmarks/run_all.py [--only calibration lmi] [--data FOLDER]

Each runs in a process of its own, one thread, at a size that ends in minutes; `--data` is the folder of local copies of
the data sets (or RIGHTREASONS_DATA_DIR), without which those that need it are left as they are. One that fails, or that
misses a target and says so by its exit status, does not keep the others from running.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch
from blocks import RESULTS, digest_files, write_block

HERE = Path(__file__).parent
DATA = "DATA"
COMMANDS = {
    "growth": "growth.py --write",
    "audit": "audit_share.py --write",
    "calibration": "calibration.py",
    "lmi": "lmi.py --repeats 2",
    "reading": "reading.py --rounds 2",
    "predict": "predict.py --items 400 --repeats 3",
    "decoders": "decoders.py --models llama,qwen3 --parts classes --texts 96 --repeats 1",
    "fim": "fim.py --data DATA --items 100 --repeats 2 --rows 2048",
    "attribution": "attribution.py --data DATA --items 128 --nodes 10 --floor-nodes 10 --repeats 3 "
    "--reference-items 16",
    "probes": "probes.py --data-dir DATA --items 12 --repeats 1",
    "prompts": "prompts.py --items 8 --repeats 1",
    "behavior": "behavior.py --data DATA --repeats 3",
    "reasons": "reasons.py",
    "servers": "servers.py --busy",
    "gpu": "gpu.py",
}
"""The name of a block -> its command."""

OWN = ("growth", "audit")
"""Those that write tables into their blocks by themselves."""

FILES = {
    "growth": ("core", "calibration", "cues", "probes", "shortcuts/mutual_information.py"),
    "audit": ("report", "page"),
    "calibration": ("calibration", "core/binning.py"),
    "lmi": ("shortcuts/mutual_information.py",),
    "reading": ("io",),
    "predict": ("models/classes.py", "models/running.py", "models/batching.py"),
    "decoders": ("models/classes.py", "models/gradients"),
    "fim": ("models/gradients/fisher.py",),
    "attribution": ("models/gradients/attribution.py",),
    "probes": ("models/likelihoods.py", "datasets/perturbing"),
    "prompts": ("models/likelihoods.py", "models/prompted.py"),
    "behavior": ("behavior/expectations.py", "behavior/predictions.py", "behavior/rates.py"),
    "reasons": ("reasons",),
    "servers": ("models/servers",),
    "gpu": ("models/gradients", "models/running.py"),
}
"""The name of a block -> files and folders below src/rightreasons that it measures."""

MEASURED = HERE / "measured.json"
"""The name of a block -> digest of its files when it was last measured."""

LIMIT = 1800
"""Seconds after which a benchmark is stopped."""


def read_measured() -> dict[str, str]:
    """Return the digest of each block's files when it was measured; blocks without one are old."""
    return json.loads(MEASURED.read_text("utf-8")) if MEASURED.exists() else {}


def find_outdated() -> list[str]:
    """Return the blocks whose files have changed since they were measured."""
    measured = read_measured()
    return [name for name in COMMANDS if measured.get(name) != digest_files(FILES[name])]


def run(name: str, data: str | None) -> str:
    """Run one benchmark and return how it ended."""
    command = COMMANDS[name]
    if DATA in command and not data:
        return "left as it was: it needs --data"
    if name == "gpu" and not torch.cuda.is_available():
        return "left as it was: it needs a GPU"
    words = [data if word == DATA else word for word in command.split()]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(
        filter(None, [os.environ.get("PYTHONPATH"), str(HERE.parent / "tests")])
    )
    begin, before = time.monotonic(), os.getloadavg()[0]
    try:
        done = subprocess.run(
            [sys.executable, str(HERE / words[0]), *map(str, words[1:])],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            timeout=LIMIT,
            cwd=HERE.parent,
        )
    except subprocess.TimeoutExpired:
        return f"stopped after {LIMIT} s"
    if name not in OWN and done.stdout.strip():
        text = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
        shown = text if text.startswith("| ") else f"```text\n{text}\n```"
        load = (
            f"load {before:.1f} before and {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores"
        )
        write_block(RESULTS, name, f"`python benchmarks/{command}` ({load})\n\n{shown}")
    MEASURED.write_text(
        json.dumps(read_measured() | {name: digest_files(FILES[name])}, indent=2) + "\n"
    )
    return f"exit status {done.returncode}, {time.monotonic() - begin:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="*", choices=COMMANDS, default=list(COMMANDS), help="all by default"
    )
    parser.add_argument("--data", default=os.environ.get("RIGHTREASONS_DATA_DIR"))
    parser.add_argument("--check", action="store_true", help="name blocks that are older than code")
    options = parser.parse_args()
    if options.check:
        outdated = find_outdated()
        for name in outdated:
            print(f"measured before its files changed: {name}")
        sys.exit(bool(outdated))
    for name in options.only:
        print(f"{name:16s} {run(name, options.data)}", flush=True)


if __name__ == "__main__":
    main()
