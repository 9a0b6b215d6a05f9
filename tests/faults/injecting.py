"""Running a case in a process of its own with a fault at one of its writes, and comparing what it leaves."""

import contextlib
import ctypes
import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import sys
import types
from pathlib import Path

from rightreasons.cli import main

SHIM = Path(__file__).with_name("shim.c")
MODES = {"count": 1, "kill": 2, "full": 3, "flip": 4}
FAULTS = ("kill", "full", "flip")
MOVES, TAKES_ROOM, WRITES = range(3)  # the kinds of calls, as in the shim

# Where a training stopped, and how long it took, are of the call that finished it.
_OF_THE_CALL = ("seconds", "resumed_from_step")


def compiler():
    """The C compiler, or None."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def build(folder):
    """Compile the shim into a folder; the processes that meet faults start with it in LD_PRELOAD."""
    library = Path(folder) / "faults.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True)
    return library


def environment(library, folder):
    """What a process that meets faults is started with."""
    return {
        **os.environ,
        "LD_PRELOAD": str(library),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HOME": str(Path(folder) / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def freeze_time():
    """Let all runs name one time, so that what they leave can be compared byte by byte."""
    import rightreasons.behavior.learning.run as plans
    import rightreasons.report.behavior_page as behavior_report
    import rightreasons.report.record as record
    import rightreasons.training.finetune as finetune

    noon = __import__("datetime").datetime(
        2026, 1, 1, 12, tzinfo=__import__("datetime").timezone.utc
    )
    fixed = types.SimpleNamespace(now=lambda *_: noon)
    for module in (record, behavior_report):
        module.datetime = types.SimpleNamespace(datetime=fixed)
    for module in (plans, finetune):
        module.time = types.SimpleNamespace(perf_counter=lambda: 0.0)


class Bench:
    """Runs a case again and again in one folder.

    Args:
        folder: A folder; its `trial` is emptied before each trial.
        library: The shim, which this process was started with.
    """

    def __init__(self, folder, library):
        self.trial, self.log = Path(folder) / "trial", Path(folder) / "log"
        self._calls = mmap.mmap(-1, 16 * mmap.PAGESIZE)
        self._counters = (ctypes.c_long * 2).from_buffer(self._calls)
        self._arm = ctypes.CDLL(str(library)).faults_arm

    def empty(self):
        """Empty the folder of the trials."""
        shutil.rmtree(self.trial, ignore_errors=True)
        self.trial.mkdir(parents=True)

    def run(self, steps, mode="count", at=0):
        """Run a case in a process of its own.

        Returns:
            Its exit code (negative for a signal), its error or else its last line, and whether it met the fault.
        """
        child = os.fork()
        if child == 0:
            self._child(steps, mode, at)
        _, status = os.waitpid(child, 0)
        lines = self.log.read_text("utf-8", "replace").splitlines() or [""]
        errors = [
            line for line in lines if line.startswith("Error:")
        ]  # a progress bar may come after it
        return os.waitstatus_to_exitcode(status), (errors or lines)[-1], bool(self._counters[1])

    @property
    def calls(self):
        """The kinds of the calls that the last run without a fault counted."""
        return self._calls[2 * ctypes.sizeof(ctypes.c_long) :][1 : self._counters[0] + 1]

    def _child(self, steps, mode, at):
        code = 70
        try:
            signal.alarm(300)
            out = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(out, stream)
            os.chdir(self.trial)
            address, size = (
                ctypes.c_void_p(ctypes.addressof(self._counters)),
                ctypes.c_long(len(self._calls)),
            )
            self._arm(
                MODES[mode], ctypes.c_long(at), str(self.trial).encode() + b"/", address, size
            )
            for step in steps:
                code = _code_of(step)
                if code:
                    break
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def left(self):
        """File -> bytes of what is in the folder of the trial, without hidden files."""
        files = {}
        for path in sorted(self.trial.rglob("*")):
            name = path.relative_to(self.trial)
            if path.is_file() and not any(part.startswith(".") for part in name.parts):
                files[name.as_posix()] = _plain(path)
        return files


def _code_of(words):
    try:
        main(words)
    except SystemExit as ended:
        return ended.code or 0
    return 0


def _plain(path):
    content = path.read_bytes()
    if path.suffix != ".json" or not any(f'"{name}"'.encode() in content for name in _OF_THE_CALL):
        return content
    value = json.loads(content)
    value.get("record", {}).pop("content", None)
    text = json.dumps(value, sort_keys=True)
    return re.sub(rf'"({"|".join(_OF_THE_CALL)})": [^,}}]+', "", text).encode()


def chosen(numbers, most):
    """The calls at which faults are set: all of these numbers, or `most` of them evenly apart."""
    if most is None or len(numbers) <= most:
        return list(numbers)
    if most == 1:
        return [numbers[(len(numbers) - 1) // 2]]
    return [
        numbers[place]
        for place in sorted({round(step * (len(numbers) - 1) / (most - 1)) for step in range(most)})
    ]


def try_case(bench, steps, most=None, faults=FAULTS):
    """Set each fault at the writes of a case, repeat the case, and compare.

    Yields:
        (fault, number of the call, whether it was met, what went wrong or "").
    """
    bench.empty()
    code, line, _ = bench.run(steps)
    whole = bench.left()
    bench.empty()
    again, _, _ = bench.run(steps)
    calls = bench.calls
    unlike = _difference(whole, bench.left())
    if code or again or unlike:
        yield "none", 0, False, f"two runs differ in {unlike}" if unlike else line[:200]
        return
    yield "count", len(calls), True, ""
    for fault in faults:
        least = {"kill": MOVES, "full": TAKES_ROOM, "flip": WRITES}[fault]
        for at in chosen([number for number, kind in enumerate(calls, 1) if kind >= least], most):
            bench.empty()
            code, line, met = bench.run(steps, fault, at)
            wrong = ""
            if fault == "full" and code not in (0, 2):
                wrong = f"exit code {code} on a full disk: {line[:200]}"
            elif fault == "full" and code == 2 and "disk is full" not in line:
                wrong = f"another sentence on a full disk: {line[:200]}"
            again, told, _ = bench.run(steps)
            unlike = _difference(whole, bench.left())
            if again:
                wrong = f"not finished again (exit code {again}): {told[:200]}"
            elif unlike:
                wrong = f"another result: {unlike}"
            yield fault, at, met, wrong


def _difference(first, second):
    names = [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]
    return ", ".join(names[:3])
