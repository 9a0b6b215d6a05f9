"""Measure which parts of an audit take its time: forward and backward passes, and everything else.

    OMP_NUM_THREADS=1 python benchmarks/audit_share.py [--write] [-- audit MODEL DATA]

Runs a command of rightreasons in this process, from the first import on; by default, it audits an
encoder on planted words. Every five milliseconds of processor time, the stack of calls is sampled. The
time since the previous sample counts for the innermost call that belongs to one of the parts below, or
for imports while a module is imported. A long call into a library therefore counts in full.
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
"""Folder of an encoder that is fine-tuned once."""
DATA = "planted_shortcuts"

PASSES = "forward and backward passes"
IMPORTING = "<frozen importlib"
FILES_BY_PART = (
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
"""Pairs of a part and a piece of the path of its files. The first match counts, for each call."""

REMAINDER = "the rest"
"""Name of the part of all calls that match no other."""


def fine_tune_demo() -> None:
    """Fine-tune an encoder on planted words, unless its folder exists."""
    recipe = ("fine-tune", "demo", DATA, "--epochs", "1", "--learning-rate", "1e-4")
    subprocess.run([sys.executable, "-m", "rightreasons", *recipe, "--out", str(MODEL)], check=True)


class Sampler:
    """Sums processor time by part, and by the innermost functions of this package.

    Attributes:
        seconds_by_part: Part -> seconds.
        seconds_by_location: Part and the two innermost functions of this package -> seconds.
    """

    def __init__(self) -> None:
        self.seconds_by_part: collections.Counter[str] = collections.Counter()
        self.seconds_by_location: collections.Counter[tuple[str, str]] = collections.Counter()
        self._previous_time = 0.0

    def handle_signal(self, _: int, frame: FrameType | None) -> None:
        """Add the time since the previous signal to the part that is running."""
        now = time.process_time()
        seconds = now - self._previous_time
        self._previous_time = now

        # From the innermost call outwards.
        files: list[str] = []
        functions: list[str] = []
        while frame is not None:
            code = frame.f_code
            files.append(code.co_filename)
            if len(functions) < 2 and "rightreasons/" in code.co_filename:
                file = code.co_filename.rpartition("rightreasons/")[2]
                functions.append(f"{file}:{code.co_name}")
            frame = frame.f_back

        part = find_part(files)
        self.seconds_by_part[part] += seconds
        self.seconds_by_location[part, " < ".join(functions)] += seconds


def find_part(files: list[str]) -> str:
    """Return the part of a stack of calls, given by their files, the innermost first."""
    if any(IMPORTING in file for file in files):
        return "imports"
    for file in files:
        for part, text in FILES_BY_PART:
            if text in file:
                return part
    return REMAINDER


def format_table(seconds_by_part: collections.Counter[str]) -> str:
    """Return a table of the parts, the slowest first, with their shares of the time."""
    total = sum(seconds_by_part.values())
    lines = ["| part | s | share |", "|---|---:|---:|"]
    for part, seconds in seconds_by_part.most_common():
        lines.append(f"| {part} | {seconds:.1f} | {100 * seconds / total:.1f} % |")
    necessary = seconds_by_part[PASSES] + seconds_by_part["updates of the weights"]
    overhead = 1 - necessary / total
    lines.append(f"| all | {total:.1f} | {100 * overhead:.1f} % without passes and updates |")
    return "\n".join(lines)


def main() -> None:
    """Run the command with a timer, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--write", action="store_true", help="write the tables into benchmarks/RESULTS.md"
    )
    parser.add_argument(
        "--places",
        type=int,
        default=0,
        help="number of the slowest functions of the package to print",
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
    signal.signal(signal.SIGPROF, sampler.handle_signal)
    signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)
    try:
        runpy.run_module("rightreasons", run_name="__main__")
    except SystemExit as error:
        # The command line ends with status 0 if all went well.
        if error.code:
            raise
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    text = format_table(sampler.seconds_by_part)
    print(f"\n{text}\n")
    for (part, functions), seconds in sampler.seconds_by_location.most_common(options.places):
        print(f"{seconds:7.2f}  {part:28s} {functions}")
    if options.write:
        write_block(RESULTS, "audit", text)


if __name__ == "__main__":
    main()
