"""Simulate every p-value and interval of the package, and write docs/evidence/validity.md and its csv.

    python -m benchmarks.validity [--simulations 2000] [--only FUNCTION … | --missing] [--write] [--jobs 2]

Each scenario draws data whose truth is known; a figure holds inside the bands of `scenario`. What chance makes rarer
than one in ten thousand is a problem, which the tests refuse.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import functools
import sys
import time
from pathlib import Path

from benchmarks.blocks import write_block
from benchmarks.validity.registry import SCENARIOS
from benchmarks.validity.scenario import LEVELS, Tally, n_drawn, simulate

from rightreasons.core.engines import EngineOptions, run_tasks

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "validity.md"
ROWS = PAGE.with_suffix(".csv")
COLUMNS = (
    "function",
    "figure",
    "simulated",
    "n",
    *(f"at {level}" for level in LEVELS),
    "coverage",
    "width",
    "verdict",
)
Row = dict[str, str]


def run(place: int, n_simulations: int) -> list[Tally]:
    """Run one scenario; its function cannot travel between processes, so it stays behind."""
    tallies = simulate(SCENARIOS[place], n_simulations)
    return [
        dataclasses.replace(tally, scenario=dataclasses.replace(tally.scenario, draw=len))
        for tally in tallies
    ]


def row(tally: Tally) -> Row:
    scenario = tally.scenario
    cells = {
        "function": scenario.function,
        "figure": tally.figure or "interval",
        "simulated": scenario.truth,
    }
    if tally.rejections is not None:
        cells |= {f"at {level}": f"{tally.rejections[level]:.3f}" for level in LEVELS}
    if tally.coverage is not None:
        cells |= {"coverage": f"{tally.coverage:.3f}", "width": f"{tally.width:.3f}"}
    return {**dict.fromkeys(COLUMNS, ""), **cells, "n": str(tally.n), "verdict": tally.verdict}


def stored() -> list[Row]:
    """Return the rows of the csv beside the page."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def merged(new: list[Row], old: list[Row]) -> list[Row]:
    """Return rows in the order of the scenarios; an old one stays where its scenario exists and none is new."""
    known = {(row["function"], row["figure"], row["simulated"]): row for row in [*old, *new]}
    order = {(row.function, row.truth): place for place, row in enumerate(SCENARIOS)}
    kept = [row for row in known.values() if (row["function"], row["simulated"]) in order]
    return sorted(kept, key=lambda row: order[row["function"], row["simulated"]])


def table(rows: list[Row]) -> str:
    """Write a row per function, which names each simulation that falls short."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["function"], []).append(row)
    lines = [
        "| function | simulated | hold | wide, or seldom | fall short |",
        "|---|---:|---:|---:|---|",
    ]
    for function, group in groups.items():
        verdicts = [row["verdict"] for row in group]
        careful = sum(verdict in ("wide", "rejects seldom") for verdict in verdicts)
        short = [
            f"{row['simulated']}, {row['figure']}: {row['coverage'] or row['at 0.05']}"
            for row in group
            if row["verdict"] not in ("holds", "wide", "rejects seldom")
        ]
        cells = [f"`{function}`", len(group), verdicts.count("holds"), careful, "; ".join(short)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def missing(rows: list[Row], n_simulations: int) -> list[int]:
    """Return the places of the scenarios that have no row, or one of fewer simulations than asked."""
    known: dict[tuple[str, str], int] = {}
    for row in rows:
        name = row["function"], row["simulated"]
        known[name] = max(int(row["n"]), known.get(name, 0))
    # A figure that is undefined in some simulations has a few less.
    return [
        place
        for place, row in enumerate(SCENARIOS)
        if known.get((row.function, row.truth), 0) < 0.9 * n_drawn(row, n_simulations)
    ]


def write(rows: list[Row]) -> None:
    """Write the rows beside the page, and their table into it."""
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_block(PAGE, "tables", table(rows))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time")
    parser.add_argument("--engine", help="where they run, as for `rightreasons learn run`")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--only", nargs="*", help="functions to simulate; all by default")
    chosen.add_argument(
        "--missing", action="store_true", help="simulate what the page lacks, or has of fewer draws"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the page and its csv; with --only or --missing after each scenario, keeping all other rows",
    )
    options = parser.parse_args()
    places = list(range(len(SCENARIOS)))
    if options.only:
        places = [place for place in places if SCENARIOS[place].function in options.only]
    elif options.missing:
        places = missing(stored(), options.simulations)
    some = bool(options.only or options.missing)
    started, parts = time.perf_counter(), dict[int, list[Tally]]()
    engine = EngineOptions(options.engine, options.jobs)
    task = functools.partial(run, n_simulations=options.simulations)
    for number, part in run_tasks(task, places, options=engine, progress=False):
        place = places[number]
        parts[place] = part
        short = [f"{each.figure or 'interval'} {each.verdict}" for each in part if each.problem]
        faults = "; ".join(short) or "holds"
        print(
            f"{SCENARIOS[place].function}, {SCENARIOS[place].truth}: {faults}",
            file=sys.stderr,
            flush=True,
        )
        if options.write and some:
            write(merged(list(map(row, part)), stored()))
    rows = merged([row(tally) for part in parts.values() for tally in part], [])
    print(table(rows))
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    if options.write and not some:
        write(rows)


if __name__ == "__main__":
    main()
