"""Where the time of an audit goes: the share of forward and backward passes, and what the rest is.

    OMP_NUM_THREADS=1 python benchmarks/audit_share.py [--write] [-- audit MODEL DATA]

Runs a command of rightreasons (by default the audit of an encoder on planted words) in this process, from the first import on, and looks every five milliseconds of processor
time at what is being called. The time since the last look counts for the innermost call that belongs to one of the
parts below, or for imports while a module is imported, so a long call into a library counts in full.
"""

from __future__ import annotations

import argparse
import collections
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from blocks import RESULTS, write_block

MODEL = Path(tempfile.gettempdir()) / "rightreasons-benchmark-demo"
"""The folder of an encoder that is fine-tuned once."""
DATA = "planted_shortcuts"

PASSES = "forward and backward passes"
IMPORTING = "<frozen importlib"
PARTS = (
    (PASSES, "torch/autograd/"),
    (PASSES, "torch/nn/modules/"),
    ("updates of the weights", "torch/optim/"),
    ("updates of the weights", "torch/nn/utils/clip_grad"),
    ("drawing", "rightreasons/page/plots.py"),
    ("tokenizing", "rightreasons/models/batching.py"),
    ("tokenizing", "transformers/tokenization"),
    ("loading and saving models", "transformers/modeling_utils.py"),
    ("loading and saving models", "transformers/models/auto/"),
    ("the rest of the trainer", "transformers/trainer"),
    ("the rest of the trainer", "torch/utils/data/"),
    ("the rest of the trainer", "accelerate/"),
    ("making the data", "rightreasons/datasets/"),
    ("storing and fingerprints", "rightreasons/core/store.py"),
    ("storing and fingerprints", "rightreasons/report/folder.py"),
    ("statistics", "rightreasons/core/"),
    *(
        ("statistics", f"rightreasons/{name}/")
        for name in ("calibration", "shortcuts", "difficulty", "behavior")
    ),
    ("writing the page", "rightreasons/page/"),
    ("writing the page", "rightreasons/report/"),
    ("the rest of reading with the model", "rightreasons/models/"),
    ("the rest of reading with the model", "rightreasons/audited/"),
)
"""Part -> the end of the file that a call is in; the first that fits an innermost call counts."""

REST = "the rest"


def fine_tune_demo() -> None:
    """Fine-tune an encoder on planted words, or find it."""
    recipe = ("fine-tune", "demo", DATA, "--epochs", "1", "--learning-rate", "1e-4")
    subprocess.run([sys.executable, "-m", "rightreasons", *recipe, "--out", str(MODEL)], check=True)


class Sampler:
    """Adds the processor time between two looks to the part, and the place, that is being called."""

    def __init__(self) -> None:
        self.parts: collections.Counter[str] = collections.Counter()
        self.places: collections.Counter[tuple[str, str]] = collections.Counter()
        self.last = 0.0

    def look(self, _: int, frame: FrameType | None) -> None:
        """Handle the signal of the timer."""
        now = time.process_time()
        spent, self.last = now - self.last, now
        files: list[str] = []
        place: list[str] = []
        while frame is not None:
            code = frame.f_code
            files.append(code.co_filename)
            if len(place) < 2 and "rightreasons/" in code.co_filename:
                place.append(f"{code.co_filename.rpartition('rightreasons/')[2]}:{code.co_name}")
            frame = frame.f_back
        if any(IMPORTING in file for file in files):
            part = "imports"
        else:
            part = next((name for file in files for name, text in PARTS if text in file), REST)
        self.parts[part] += spent
        self.places[part, " < ".join(place)] += spent


def table(seconds: collections.Counter[str]) -> str:
    total = sum(seconds.values())
    lines = ["| part | s | share |", "|---|---:|---:|"]
    lines += [
        f"| {part} | {spent:.1f} | {100 * spent / total:.1f} % |"
        for part, spent in seconds.most_common()
    ]
    other = 1 - (seconds[PASSES] + seconds["updates of the weights"]) / total
    return "\n".join(
        [*lines, f"| all | {total:.1f} | {100 * other:.1f} % without passes and updates |"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", help="write the tables into benchmarks/RESULTS.md"
    )
    parser.add_argument(
        "--places", type=int, default=0, help="also print so many places of ours that cost most"
    )
    parser.add_argument("command", nargs="*", help="arguments of rightreasons")
    options = parser.parse_args()
    sampler = Sampler()
    scratch = tempfile.TemporaryDirectory()
    command = options.command
    if not command:
        fine_tune_demo()
        command = ["audit", str(MODEL), DATA, "--out", scratch.name]
    sys.argv = ["rightreasons", *command]
    sys.path.pop(0)
    signal.signal(signal.SIGPROF, sampler.look)
    signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)
    try:
        runpy.run_module("rightreasons", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    text = table(sampler.parts)
    print(f"\n{text}\n")
    for (part, place), spent in sampler.places.most_common(options.places):
        print(f"{spent:7.2f}  {part:28s} {place}")
    if options.write:
        write_block(RESULTS, "audit", text)


if __name__ == "__main__":
    main()
