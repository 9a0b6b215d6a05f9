"""Compare families with one item at a time; `make -C benchmarks zoo` runs them all for docs/evidence/models.md."""

from __future__ import annotations

import argparse
import contextlib
import csv
import dataclasses
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import transformers

from zoo.building import TASKS, NotBuilt, families
from zoo.families import HALF, MECHANISMS
from zoo.half import Rounding, measure_rounding
from zoo.holding import CALLS, Outcome, compare_family, use_single_thread
from zoo.masks import make_table
from zoo.page import make_rows, render_page
from zoo.published import list_one_per_type

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "models.md"
MAX_SECONDS = 120.0
"""Processor time of a family."""


class TooLong(Exception):
    """A family took more than `MAX_SECONDS`."""


def main() -> int:
    options = parse_options()
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    use_single_thread()
    options.out.mkdir(parents=True, exist_ok=True)
    n_wrong = 0
    for task in options.tasks:
        for family in choose_families(task, options):
            record = load_or_compute(options, f"{task}.{family}", compare, task, family)
            n_wrong += print_outcomes(record)
    for task, family in list_halves():
        is_selected = not options.families or family in options.families
        if task in options.tasks and is_selected:
            name = f"half.{task}.{family}"
            record = load_or_compute(options, name, compare_half, task, family)
            n_wrong += print_roundings(record)
    if options.write:
        write_page(options.out)
    return int(n_wrong > 0)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make -C benchmarks zoo", description=__doc__)
    parser.add_argument(
        "--tasks", default=",".join(TASKS), help="comma-separated tasks; all by default"
    )
    parser.add_argument("--families", default="", help="comma-separated families; all by default")
    parser.add_argument("--short", action="store_true", help="only the families that the tests run")
    parser.add_argument(
        "--resume", action="store_true", help="skip families with a result in the folder"
    )
    parser.add_argument("--out", type=Path, default=ROOT / ".zoo", help="folder of the results")
    parser.add_argument(
        "--write", action="store_true", help="write the page and its csv from all results"
    )
    options = parser.parse_args()
    options.tasks = options.tasks.split(",")
    options.families = [name for name in options.families.split(",") if name]
    return options


def choose_families(task: str, options: argparse.Namespace) -> list[str]:
    """Return the families of a task that the options select."""
    offered = families(task)
    selected = offered
    if options.families:
        selected = options.families
    elif options.short:
        selected = MECHANISMS[task]
    return [family for family in selected if family in offered]


def list_halves() -> list[tuple[str, str]]:
    """Return the tasks and families that are compared in bfloat16."""
    halves = []
    for task, names in HALF.items():
        offered = families(task)
        for family in (*names, *list_one_per_type(task)):
            if family in offered:
                halves.append((task, family))
    return halves


# ---------------------------------------------------------------- Records


def get_record_file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '+')}.json"


def load_record(folder: Path, name: str) -> dict[str, Any]:
    return dict(json.loads(get_record_file(folder, name).read_text(encoding="utf-8")))


def load_or_compute(
    options: argparse.Namespace,
    name: str,
    compute: Callable[[str, str], dict[str, Any]],
    task: str,
    family: str,
) -> dict[str, Any]:
    """Return the record of a family, which is computed unless a run is resumed that has it."""
    file = get_record_file(options.out, name)
    if not (options.resume and file.exists()):
        file.write_text(json.dumps(compute(task, family), indent=1), encoding="utf-8")
    return load_record(options.out, name)


def compare(task: str, family: str) -> dict[str, Any]:
    """Return the outcomes of a family; if it is not built, the reason takes their place."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong(f"more than {MAX_SECONDS:.0f} seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    reason = ""
    outcomes: list[Outcome] = []
    try:
        outcomes = compare_family(task, family)
    except NotBuilt as error:
        reason = str(error)
    except Exception as error:
        # An error of one family must not end the run.
        sentence = f"{type(error).__name__}: {error}".splitlines()[0]
        for call in CALLS[task]:
            outcomes.append(Outcome(call, "", "crashed", None, sentence))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return {
        "task": task,
        "family": family,
        "not_built": reason,
        "outcomes": [dataclasses.asdict(outcome) for outcome in outcomes],
    }


def compare_half(task: str, family: str) -> dict[str, Any]:
    """Return the roundings of a family in bfloat16; none if it is refused in float32."""
    roundings: list[Rounding] = []
    with contextlib.suppress(ValueError):
        roundings = measure_rounding(task, family)
    return {
        "task": task,
        "family": family,
        "roundings": [dataclasses.asdict(rounding) for rounding in roundings],
    }


# ---------------------------------------------------------------- Output


def print_outcomes(record: dict[str, Any]) -> int:
    """Print the outcomes of a family, and return the number of wrong ones."""
    name = f"{record['task']:8} {record['family']:24}"
    if record["not_built"]:
        print(name, "not built:", record["not_built"], flush=True)
        return 0
    calls: dict[str, set[str]] = {"exact": set(), "refused": set()}
    failures = []
    for outcome in record["outcomes"]:
        if outcome["verdict"] in calls:
            calls[outcome["verdict"]].add(outcome["call"])
        else:
            failures.append(outcome)

    summary = [name]
    if calls["exact"]:
        summary.append(f"exact: {', '.join(sorted(calls['exact']))};")
    if calls["refused"]:
        summary.append(f"refused: {', '.join(sorted(calls['refused']))}")
    print(*summary)
    for outcome in failures:
        size = "" if outcome["error"] is None else f" by {outcome['error']:.0e}"
        call = f"{outcome['call']} ({outcome['variant']})"
        print(f"    {call} {outcome['verdict']}{size} {outcome['sentence']}"[:200])
    sys.stdout.flush()
    return len(failures)


def print_roundings(record: dict[str, Any]) -> int:
    """Print how far a family in bfloat16 is from float32, and return the number of calls beyond rounding."""
    roundings = [Rounding(**fields) for fields in record["roundings"]]
    errors = []
    for rounding in roundings:
        errors.append(f"{rounding.call} {rounding.ours:.0e} (loop {rounding.plain:.0e})")
    print(f"{record['task']:8} {record['family']:24} bfloat16: {', '.join(errors)}", flush=True)
    return sum(not rounding.is_rounding for rounding in roundings)


def write_page(folder: Path) -> None:
    """Write the page and its csv from the records of all families."""
    records = []
    for task in TASKS:
        for family in families(task):
            records.append(load_record(folder, f"{task}.{family}"))
    halves = [load_record(folder, f"half.{task}.{family}") for task, family in list_halves()]
    rows = make_rows(records)
    PAGE.write_text(render_page(rows, halves, make_table()), encoding="utf-8")
    with PAGE.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
