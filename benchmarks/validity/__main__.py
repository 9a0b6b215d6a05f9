"""Simulate every p-value and interval of the package, and write docs/evidence/validity.md and its csv.

    python -m benchmarks.validity [--simulations 2000] [--only FUNCTION … | --missing] [--write] [--jobs 2]

Each scenario samples data whose truth is known. A figure holds if it is inside the bands of
`scenario`. A deviation that chance would produce less than once in ten thousand runs is a problem,
which the tests refuse.
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
STORED = PAGE.with_suffix(".csv")
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
CAREFUL = ("wide", "rejects seldom")
"""Verdicts on intervals and tests that are correct, but less precise than possible."""

Row = dict[str, str]
"""Column -> cell, for one figure of one scenario."""


def run_scenario(index: int, n_simulations: int) -> list[Tally]:
    """Run the scenario at an index of `SCENARIOS`, and return the tallies of its figures."""
    tallies = []
    for tally in simulate(SCENARIOS[index], n_simulations):
        # A draw is a closure, which cannot be sent to another process: `len` replaces it.
        scenario = dataclasses.replace(tally.scenario, draw=len)
        tallies.append(dataclasses.replace(tally, scenario=scenario))
    return tallies


def make_row(tally: Tally) -> Row:
    """Return the row of a tally in the csv. Cells that do not apply are empty."""
    row = dict.fromkeys(COLUMNS, "")
    row["function"] = tally.scenario.function
    row["figure"] = tally.figure or "interval"
    row["simulated"] = tally.scenario.truth
    row["n"] = str(tally.n)
    if tally.rejections is not None:
        for level in LEVELS:
            row[f"at {level}"] = f"{tally.rejections[level]:.3f}"
    if tally.coverage is not None:
        row["coverage"] = f"{tally.coverage:.3f}"
        row["width"] = f"{tally.width:.3f}"
    row["verdict"] = tally.verdict
    return row


def read_stored() -> list[Row]:
    """Return the rows of the stored csv."""
    with STORED.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def merge_rows(new_rows: list[Row], old_rows: list[Row]) -> list[Row]:
    """Return all rows in the order of the scenarios.

    A new row replaces the old one of the same figure. Rows of scenarios that no longer exist are
    dropped.
    """
    row_by_figure = {}
    for row in [*old_rows, *new_rows]:
        row_by_figure[row["function"], row["figure"], row["simulated"]] = row
    order = {}
    for index, scenario in enumerate(SCENARIOS):
        order[scenario.function, scenario.truth] = index

    def get_position(row: Row) -> int | None:
        return order.get((row["function"], row["simulated"]))

    current_rows = [row for row in row_by_figure.values() if get_position(row) is not None]
    return sorted(current_rows, key=get_position)


def format_table(rows: list[Row]) -> str:
    """Return the counts of the verdicts, and a table of the functions that fall short in a scenario."""
    verdicts = [row["verdict"] for row in rows]
    n_holding = verdicts.count("holds")
    n_careful = sum(verdict in CAREFUL for verdict in verdicts)
    n_short = len(rows) - n_holding - n_careful
    rows_by_function: dict[str, list[Row]] = {}
    for row in rows:
        rows_by_function.setdefault(row["function"], []).append(row)

    lines = [
        f"Of {len(rows)} simulations of {len(rows_by_function)} functions, {n_holding} hold, {n_careful} are wide or seldom,",
        f"and {n_short} fall short:",
        "",
        "| function | simulations | fall short | the worst |",
        "|---|---:|---:|---|",
    ]
    for function, function_rows in rows_by_function.items():
        short_rows = [row for row in function_rows if row["verdict"] not in ("holds", *CAREFUL)]
        if not short_rows:
            continue
        # Low coverage is worst, and so are many rejections of a p-value.
        worst = min(short_rows, key=lambda row: float(row["coverage"] or -float(row["at 0.05"])))
        rate = worst["coverage"] or worst["at 0.05"]
        case = f"{worst['simulated']}, {worst['figure']}: {rate}"
        lines.append(f"| `{function}` | {len(function_rows)} | {len(short_rows)} | {case} |")
    return "\n".join(lines)


def list_missing_scenarios(rows: list[Row], n_simulations: int) -> list[int]:
    """Return the indices of the scenarios without a row of as many simulations as required."""
    n_stored: dict[tuple[str, str], int] = {}
    for row in rows:
        name = row["function"], row["simulated"]
        n_stored[name] = max(int(row["n"]), n_stored.get(name, 0))
    indices = []
    for index, scenario in enumerate(SCENARIOS):
        # A figure that is undefined in some simulations has slightly fewer.
        n_required = 0.9 * n_drawn(scenario, n_simulations)
        if n_stored.get((scenario.function, scenario.truth), 0) < n_required:
            indices.append(index)
    return indices


def write_rows(rows: list[Row]) -> None:
    """Write the rows to the csv, and their table into the page."""
    with STORED.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_block(PAGE, "tables", format_table(rows))


def print_problems(index: int, tallies: list[Tally]) -> None:
    """Report the result of one scenario on the standard error, as progress."""
    problems = []
    for tally in tallies:
        if tally.problem:
            problems.append(f"{tally.figure or 'interval'} {tally.verdict}")
    summary = "; ".join(problems) or "holds"
    scenario = SCENARIOS[index]
    print(f"{scenario.function}, {scenario.truth}: {summary}", file=sys.stderr, flush=True)


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2, help="number of scenarios run in parallel")
    parser.add_argument("--engine", help="engine that runs them, as in `rightreasons learn run`")
    selection = parser.add_mutually_exclusive_group()
    selection.add_argument("--only", nargs="*", help="functions to simulate; all by default")
    selection.add_argument(
        "--missing",
        action="store_true",
        help="simulate the scenarios that the csv lacks, or has with fewer simulations",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the page and its csv; with --only or --missing after each scenario, keeping all other rows",
    )
    return parser.parse_args()


def main() -> None:
    """Simulate the selected scenarios, print their table, and write it if required."""
    options = parse_arguments()
    indices = list(range(len(SCENARIOS)))
    if options.only:
        indices = [index for index in indices if SCENARIOS[index].function in options.only]
    elif options.missing:
        indices = list_missing_scenarios(read_stored(), options.simulations)
    is_partial = bool(options.only or options.missing)

    start = time.perf_counter()
    tallies_by_index: dict[int, list[Tally]] = {}
    engine = EngineOptions(options.engine, options.jobs)
    task = functools.partial(run_scenario, n_simulations=options.simulations)
    for number, tallies in run_tasks(task, indices, options=engine, progress=False):
        index = indices[number]
        tallies_by_index[index] = tallies
        print_problems(index, tallies)
        if options.write and is_partial:
            write_rows(merge_rows([make_row(tally) for tally in tallies], read_stored()))

    rows = []
    for tallies in tallies_by_index.values():
        rows += [make_row(tally) for tally in tallies]
    rows = merge_rows(rows, [])
    print(format_table(rows))
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    # A complete run replaces all rows; a partial one has merged its own already.
    if options.write and not is_partial:
        write_rows(rows)


if __name__ == "__main__":
    main()
