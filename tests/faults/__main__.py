"""`python -m faults`: a kill, a full disk and a flipped bit at the writes of every command."""

import argparse
import collections
import contextlib
import csv
import importlib
import os
import pkgutil
import sys
import tempfile
import time
from pathlib import Path

from faults.injecting import FAULTS, Bench, build, compiler, environment, freeze_time, try_case

MARKS = ("<!-- counts -->", "<!-- end of the counts -->")
KEYS = ("writes", *FAULTS, "wrong")
HEAD = (
    "| commands | calls that change files | kills | full disks | flipped bits | ended otherwise |",
    "|---:|---:|---:|---:|---:|---:|",
)


def main():
    """Start a process with the shim, and print a table; the exit code is 1 where something is lost or wrong."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--cases", help="comma-separated cases; all of them by default")
    parser.add_argument(
        "--most",
        type=int,
        help="maximum number of calls per case and fault; all of them by default",
    )
    parser.add_argument(
        "--faults", default=",".join(FAULTS), help="comma-separated: kill, full, flip"
    )
    parser.add_argument(
        "--page",
        type=Path,
        help="a page for the sums; the csv beside it has the counts, those of other cases too",
    )
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
    if options.most != 1:
        find_slow_things()
    known = prepared(world, names, make_world, cases)
    bench = Bench(folder, folder / "faults.so")
    lost = 0
    for name in names:
        began, row = time.monotonic(), collections.Counter()
        for fault, at, met, wrong in try_case(
            bench, known[name], options.most, options.faults.split(",")
        ):
            if fault == "count":
                row["writes"] = at
                continue
            row[fault] += met
            if wrong:
                lost += 1
                row["wrong"] += 1
                print(f"{name}: {fault} at write {at}: {wrong}", flush=True)
        print(f"{name}: {dict(row)} in {time.monotonic() - began:.0f} s", flush=True)
        if options.page is not None:
            write_counts(options.page, name, row, list(cases(world)), options.faults.split(","))
    return 1 if lost else 0


def write_counts(page, name, counts, order, faults):
    """Write the counts of a case into the csv beside a page, and their sums into the page; other cases stay."""
    table = page.with_suffix(".csv")
    rows = {}
    if table.exists():
        with table.open(encoding="utf-8", newline="") as file:
            known = {row.pop("command"): row for row in csv.DictReader(file)}
        rows = {
            case: {key: int(row[key]) for key in KEYS}
            for case, row in known.items()
            if case in order
        }
    earlier = rows.get(name, {}) if set(faults) != set(FAULTS) else {}
    rows[name] = {
        key: counts.get(key, 0) if key in ("writes", *faults) else earlier.get(key, 0)
        for key in KEYS
    }
    rows[name]["wrong"] += counts.get("wrong", 0)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ("command", *KEYS), lineterminator="\n")
        writer.writeheader()
        writer.writerows({"command": case} | rows[case] for case in order if case in rows)
    before, _, rest = page.read_text("utf-8").partition(MARKS[0])
    sums = " | ".join(f"{sum(row[key] for row in rows.values()):,}" for key in KEYS)
    lines = [MARKS[0], "", *HEAD, f"| {len(rows)} | {sums} |", "", MARKS[1]]
    page.write_text(before + "\n".join(lines) + rest.partition(MARKS[1])[2], "utf-8")


def load_everything():
    """Import what the cases need, once, before processes are forked."""
    import matplotlib.pyplot  # noqa: F401
    import transformers

    import rightreasons

    for module in pkgutil.walk_packages(rightreasons.__path__, "rightreasons."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in (
        "Trainer",
        "AutoTokenizer",
        "AutoModelForSequenceClassification",
        "BertForSequenceClassification",
    ):
        getattr(transformers, name)


def find_slow_things():
    """Read what each process would read again: the thesaurus, fonts, and the version of the code."""
    import matplotlib.pyplot as plt

    from rightreasons.core.store import digest_package_code
    from rightreasons.datasets.perturbing.thesaurus import load_thesaurus

    load_thesaurus()
    digest_package_code()
    figure = plt.figure()
    figure.gca().set_title("fonts")
    figure.savefig(os.devnull, format="png")
    plt.close(figure)


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
