"""`python -m faults`: a kill, a full disk and a flipped bit at the writes of every command."""

import argparse
import collections
import contextlib
import importlib
import json
import os
import pkgutil
import sys
import tempfile
import time
from pathlib import Path

from faults.injecting import FAULTS, Bench, build, compiler, environment, freeze_time, try_case


def main():
    """Start a process with the shim, and print a table; the exit code is 1 where something is lost or wrong."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--cases", help="comma-separated cases; all of them by default")
    parser.add_argument("--most", type=int, help="maximum number of writes per case; every write by default")
    parser.add_argument("--faults", default=",".join(FAULTS), help="comma-separated: kill, full, flip")
    parser.add_argument("--json", help="a file for the counts")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside is None:
        if compiler() is None:
            sys.exit("Expected a C compiler, but there is none: install cc.")
        with tempfile.TemporaryDirectory() as folder:
            library = build(folder)
            words = [sys.executable, "-m", "faults", *sys.argv[1:], "--inside", folder]
            sys.exit(os.spawnve(os.P_WAIT, sys.executable, words, environment(library, folder)))
    sys.exit(inside(Path(options.inside), options))


def inside(folder, options):
    """Run the cases; this process was started with the shim."""
    from faults.cases import cases, make_world

    world = folder / "world"
    world.mkdir()
    load_everything()
    freeze_time()
    names = options.cases.split(",") if options.cases else list(cases(world))
    known = prepared(world, names, make_world, cases)
    bench = Bench(folder, folder / "faults.so")
    table, lost = {}, 0
    for name in names:
        began, row = time.monotonic(), collections.Counter()
        for fault, at, code, wrong in try_case(bench, known[name], options.most, options.faults.split(",")):
            if fault == "count":
                row["writes"] = at
                continue
            row[fault] += 1
            row[f"{fault} met"] += code != 0
            if wrong:
                lost += 1
                row["wrong"] += 1
                print(f"{name}: {fault} at write {at}: {wrong}", flush=True)
        table[name] = dict(row)
        print(f"{name}: {dict(row)} in {time.monotonic() - began:.0f} s", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1) + "\n", "utf-8")
    return 1 if lost else 0


def load_everything():
    """Import what the cases need, once, before processes are forked."""
    import matplotlib.pyplot  # noqa: F401
    import transformers

    import rightreasons

    for module in pkgutil.walk_packages(rightreasons.__path__, "rightreasons."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in ("Trainer", "AutoTokenizer", "AutoModelForSequenceClassification", "BertForSequenceClassification"):
        getattr(transformers, name)


def prepared(world, names, make_world, cases):
    """Write the world in a process of its own: what this one starts is forked, and so must not have worked yet."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            make_world(world, names)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        sys.exit("The inputs of the cases could not be written.")
    return cases(world)


if __name__ == "__main__":
    main()
