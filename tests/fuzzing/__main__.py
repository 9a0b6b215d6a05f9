"""`python -m fuzzing`: fuzz every target for a time, or replay inputs that failed; see CONTRIBUTING.md."""

import argparse
import contextlib
import itertools
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from fuzzing.judging import NotOneSentence, judge, place, store
from fuzzing.targets import load_targets

BATCH = 100
SLICE = 180.0
"""Seconds of a target before the next has its turn."""

SEEDS = 10_000
"""Seeds that are left to a slice: more than the batches that it can run."""

STUCK = 120.0
"""Seconds after which an input counts as stuck in code that nothing interrupts."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="make -C benchmarks fuzz", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=600.0, help="time for all targets together"
    )
    parser.add_argument("--targets", default="", help="comma-separated targets; all by default")
    parser.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first batch; a later run goes on after it"
    )
    parser.add_argument(
        "--found", type=Path, default=Path(".fuzz"), help="folder of the inputs that fail"
    )
    parser.add_argument(
        "--replay", type=Path, nargs="+", metavar="FILE", help="inputs of that folder to run again"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given_ = parser.parse_args()
    given_.found = given_.found.absolute()
    if given_.replay:
        return replay(given_.replay)
    if given_.worker:
        return work(given_)
    return run_all(given_)


def run_all(given_) -> int:
    """Give each target its turn in a process of its own, until the time is over."""
    names = [name for name in given_.targets.split(",") if name] or list(load_targets())
    given_.found.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + given_.seconds
    share = min(SLICE, max(given_.seconds / len(names), 1.0))
    file = given_.found / "summary.json"
    earlier = json.loads(file.read_text("utf-8")) if file.exists() else {}
    inputs, seconds = earlier.get("inputs", {}), earlier.get("seconds", {})
    next_seed = max(given_.seed, earlier.get("next_seed", 0))
    for name in itertools.cycle(names):
        left = until - time.monotonic()
        if left <= 0:
            break
        begun = time.monotonic()
        inputs[name] = inputs.get(name, 0) + run_slice(name, min(share, left), next_seed, given_)
        seconds[name] = seconds.get(name, 0.0) + time.monotonic() - begun
        next_seed += SEEDS
        found = sorted(path.stem for path in given_.found.glob("*.pickle"))
        summary = {"inputs": inputs, "seconds": seconds, "next_seed": next_seed, "found": found}
        file.write_text(json.dumps(summary, indent=1), "utf-8")
    for name in inputs:
        print(f"{name:<16}{inputs[name]:>10,} inputs{seconds[name]:>8.0f} s")
    found = sorted(given_.found.glob("*.pickle"))
    for file in found:
        print(f"found: {file}")
    return 1 if found else 0


def run_slice(name: str, seconds: float, first: int, given_) -> int:
    """Fuzz one target in a process; return the number of its inputs."""
    words = [
        "--worker",
        name,
        "--seconds",
        str(seconds),
        "--seed",
        str(first),
        "--engine",
        given_.engine,
    ]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as work_folder:
        folder = Path(work_folder)
        process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing", *words, "--found", str(given_.found)],
            env={
                **os.environ,
                "FUZZ_FOLDER": work_folder,
                "HF_HOME": str(folder / "hf"),
                "HF_HUB_OFFLINE": "1",
            },
            stdout=subprocess.DEVNULL,
            stderr=(folder / "errors").open("wb"),
        )
        stuck = False
        while process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            current = folder / "current.pickle"
            if current.exists() and time.time() - current.stat().st_mtime > max(STUCK, 2 * seconds):
                stuck = True
                process.kill()
                process.wait()
        counted = folder / "count"
        count = int(counted.read_text() or 0) if counted.exists() else 0
        if process.returncode != 0:
            # The process died or was stuck: the input that it had is a finding, and so are its last words.
            why = "stuck" if stuck else f"exit-{process.returncode}"
            if (folder / "current.pickle").exists():
                shutil.copy(folder / "current.pickle", given_.found / f"{name}-{why}.pickle")
            shutil.copy(folder / "errors", given_.found / f"{name}-{why}.txt")
        return count


def work(given_) -> int:
    """Fuzz one target in this process."""
    warnings.simplefilter("ignore")
    with instrumented(given_.engine):
        return work_on(load_targets()[given_.worker], given_)


def instrumented(engine: str):
    """Let atheris see which code of ours runs; what is imported inside is made so."""
    if engine != "atheris":
        return contextlib.nullcontext()
    import atheris

    return atheris.instrument_imports(include=["rightreasons"], enable_loader_override=False)


def work_on(target, given_) -> int:
    """Fuzz a target, and write what fails."""
    folder = Path(os.environ["FUZZ_FOLDER"])
    known = {
        path.stem.removesuffix(".pickle") for path in given_.found.glob(f"{target.name}-*.pickle")
    }
    count = itertools.count(1)
    until = time.monotonic() + given_.seconds
    shrinking = {"until": 0.0}

    def attempt(value):
        number = next(count)
        with (folder / "current.pickle").open("wb") as stream:
            pickle.dump((target.name, value), stream)
        if number % 20 == 0:
            (folder / "count").write_text(str(number))
        inputs = folder / "input"
        shutil.rmtree(inputs, ignore_errors=True)
        inputs.mkdir()
        os.chdir(inputs)
        try:
            judge(target, value, inputs)
        except NotOneSentence as error:
            where = (
                f"{target.name}-{place(error).replace(':', '-').replace('<', '').replace('>', '')}"
            )
            if where in known:
                return
            store(given_.found, target, value, error)
            if "took more than" in str(error) or (
                shrinking["until"] and time.monotonic() > shrinking["until"]
            ):
                known.add(where)
                return
            shrinking["until"] = shrinking["until"] or time.monotonic() + 30
            shrinking["where"] = where
            raise

    if given_.engine == "atheris":
        return guided(target, attempt, given_)
    batch = given_.seed
    while time.monotonic() < until:
        batch += 1
        once = settings(
            max_examples=BATCH, deadline=None, database=None, suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink), report_multiple_bugs=False,
        )(given(target.inputs)(attempt))  # fmt: skip
        try:
            seed(batch)(once)()
        except BaseException as error:
            if not shrinking["until"]:
                raise
            if isinstance(error, KeyboardInterrupt):
                raise
            known.add(shrinking["where"])
            shrinking.update(until=0.0)
    (folder / "count").write_text(str(next(count) - 1))
    os.chdir("/")
    return 0


def guided(target, attempt, given_) -> int:
    """Let atheris choose the inputs by the code that they reach; those that reached something new are kept."""
    import atheris

    def never_fails(value):
        with contextlib.suppress(NotOneSentence):
            attempt(value)

    test = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))(
        given(target.inputs)(never_fails)
    )
    corpus = given_.found / "corpus" / target.name
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        # Of fewer bytes hypothesis makes no input.
        for number in range(50):
            (corpus / f"random-{number}").write_bytes(random.Random(number).randbytes(4096))
    limits = [
        f"-max_total_time={int(given_.seconds)}",
        "-rss_limit_mb=0",
        "-max_len=65536",
        f"-seed={given_.seed + 1}",
    ]
    atheris.Setup([sys.argv[0], *limits, str(corpus)], test.hypothesis.fuzz_one_input)
    atheris.Fuzz()
    return 0


def replay(files) -> int:
    """Run stored inputs again, and show what each ends in."""
    failed = 0
    for file in files:
        name, value = pickle.loads(file.read_bytes())
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            here = Path.cwd()
            os.chdir(folder)
            try:
                judge(load_targets()[name], value, Path(folder))
                print(f"passes: {file}")
            except NotOneSentence as error:
                failed += 1
                print(f"fails: {file}: {error}")
                if error.__cause__ is not None:
                    print(f"    {type(error.__cause__).__name__}: {error.__cause__!s:.500}")
            finally:
                os.chdir(here)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
