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
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import transformers

from zoo.building import TASKS, NotBuilt, families
from zoo.families import HALF, MECHANISMS
from zoo.half import Rounding, hold_half
from zoo.holding import CALLS, Outcome, hold, single_thread
from zoo.masks import table
from zoo.page import page, rows
from zoo.published import one_of_each_type

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "evidence" / "models.md"
MOST_SECONDS = 120.0
"""Processor time of a family."""


class TooLong(Exception):
    """A family took more than `MOST_SECONDS`."""


def main() -> int:
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
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    single_thread()
    options.out.mkdir(parents=True, exist_ok=True)
    named = [name for name in options.families.split(",") if name]
    wrong = 0
    for task in options.tasks.split(","):
        for family in named or (MECHANISMS[task] if options.short else families(task)):
            if family not in families(task):
                continue
            record = _record(options.out, f"{task}.{family}")
            if not (options.resume and record.exists()):
                record.write_text(json.dumps(run(task, family), indent=1), encoding="utf-8")
            wrong += show(json.loads(record.read_text(encoding="utf-8")))
    halved = [
        (task, family)
        for task, names in HALF.items()
        for family in (*names, *one_of_each_type(task))
        if family in families(task)
    ]
    for task, family in halved:
        if task not in options.tasks.split(",") or (named and family not in named):
            continue
        record = _record(options.out, f"half.{task}.{family}")
        if not (options.resume and record.exists()):
            off: list[dict[str, Any]] = []
            with contextlib.suppress(ValueError):  # what is refused in float32
                off = [dataclasses.asdict(rounding) for rounding in hold_half(task, family)]
            record.write_text(
                json.dumps({"task": task, "family": family, "roundings": off}), encoding="utf-8"
            )
        wrong += show_half(json.loads(record.read_text(encoding="utf-8")))
    if options.write:
        records = [
            json.loads(_record(options.out, f"{task}.{family}").read_text(encoding="utf-8"))
            for task in TASKS
            for family in families(task)
        ]
        halves = [
            json.loads(_record(options.out, f"half.{task}.{family}").read_text(encoding="utf-8"))
            for task, family in halved
        ]
        found = rows(records)
        PAGE.write_text(page(found, halves, table()), encoding="utf-8")
        with PAGE.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    return int(wrong > 0)


def _record(folder: Path, name: str) -> Path:
    return folder / f"{name.replace('/', '+')}.json"


def run(task: str, family: str) -> dict[str, Any]:
    """Hold one family; a reason takes the place of its outcomes where it is not built."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong(f"more than {MOST_SECONDS:.0f} seconds")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    reason, outcomes = "", []
    try:
        outcomes = [dataclasses.asdict(outcome) for outcome in hold(task, family)]
    except NotBuilt as error:
        reason = str(error)
    except Exception as error:  # the zoo goes on
        sentence = f"{type(error).__name__}: {error}".splitlines()[0]
        outcomes = [
            dataclasses.asdict(Outcome(call, "", "crashed", None, sentence)) for call in CALLS[task]
        ]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return {"task": task, "family": family, "not_built": reason, "outcomes": outcomes}


def show(record: dict[str, Any]) -> int:
    """Print what a family came to; the number of its wrong outcomes."""
    name = f"{record['task']:8} {record['family']:24}"
    if record["not_built"]:
        print(name, "not built:", record["not_built"], flush=True)
        return 0
    wrong = [
        outcome for outcome in record["outcomes"] if outcome["verdict"] not in ("exact", "refused")
    ]
    refused = sorted(
        {outcome["call"] for outcome in record["outcomes"] if outcome["verdict"] == "refused"}
    )
    exact = sorted(
        {outcome["call"] for outcome in record["outcomes"] if outcome["verdict"] == "exact"}
    )
    print(
        name,
        *(f"exact: {', '.join(exact)};" for _ in exact[:1]),
        *(f"refused: {', '.join(refused)}" for _ in refused[:1]),
    )
    for outcome in wrong:
        size = "" if outcome["error"] is None else f" by {outcome['error']:.0e}"
        print(
            f"    {outcome['call']} ({outcome['variant']}) {outcome['verdict']}{size} {outcome['sentence']}"[
                :200
            ]
        )
    sys.stdout.flush()
    return len(wrong)


def show_half(record: dict[str, Any]) -> int:
    """Print how far a family in bfloat16 is from float32; the number of calls that are off by more than rounding."""
    rows = [Rounding(**row) for row in record["roundings"]]
    told = ", ".join(f"{row.call} {row.ours:.0e} (loop {row.plain:.0e})" for row in rows)
    print(f"{record['task']:8} {record['family']:24} bfloat16: {told}", flush=True)
    return sum(not row.is_rounding for row in rows)


if __name__ == "__main__":
    sys.exit(main())
