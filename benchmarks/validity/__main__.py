"""Simulate every p-value and interval of the package, and write docs/evidence/validity.md.

    python -m benchmarks.validity [--simulations 2000] [--only FUNCTION … | --missing] [--write] [--jobs 2]

Each scenario draws data whose truth is known; a figure holds inside the bands of `scenario`. What chance makes rarer
than one in ten thousand is a problem, which the tests refuse.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
import time
from pathlib import Path

from benchmarks.validity.questions import EXEMPT
from benchmarks.validity.registry import SCENARIOS
from benchmarks.validity.scenario import LEVELS, Tally, n_drawn, simulate

from rightreasons.core.engines import EngineOptions, run_tasks

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "validity.md"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"


def run(place: int, n_simulations: int) -> list[Tally]:
    """Run one scenario; its function cannot travel between processes, so it stays behind."""
    tallies = simulate(SCENARIOS[place], n_simulations)
    return [dataclasses.replace(one, scenario=dataclasses.replace(one.scenario, draw=len)) for one in tallies]


def row(tally: Tally, figures: list[str]) -> str:
    scenario = tally.scenario
    cells = [
        f"`{scenario.function}`",
        tally.figure or "interval",
        scenario.truth,
        f"{tally.n:,}",
        *figures,
        tally.verdict,
    ]
    return f"| {' | '.join(cells)} |"


def key(line: str) -> str:
    """Return the cells that name a row: function, figure and what is simulated."""
    return "|".join(line.split("|")[:4])


def tables(tallies: list[Tally], page: str = "") -> str:
    """Write both tables; rows of a page that are not simulated again stay."""
    known = {key(line): line for line in page.splitlines() if line.startswith("| `")}
    tests = [
        row(one, [f"{one.rejections[level]:.3f}" for level in LEVELS]) for one in tallies if one.rejections is not None
    ]
    intervals = [row(one, [f"{one.coverage:.3f}", f"{one.width:.3f}"]) for one in tallies if one.coverage is not None]
    known |= {key(line): line for line in [*tests, *intervals]}
    order = {(f"`{one.function}`", one.truth): place for place, one in enumerate(SCENARIOS)}

    def place(line: str) -> int:
        cells = [cell.strip() for cell in line.split("|")]
        return order.get((cells[1], cells[3]), -1)

    lines = sorted((line for line in known.values() if place(line) >= 0), key=place)
    return "\n".join(
        [
            "| function | figure | simulated | n | at .01 | at .05 | at .1 | verdict |",
            "|---|---|---|---:|---:|---:|---:|---|",
            *(line for line in lines if line.count("|") == 9),
            "",
            "| function | figure | simulated | n | coverage | mean width | verdict |",
            "|---|---|---|---:|---:|---:|---|",
            *(line for line in lines if line.count("|") == 8),
        ]
    )


def exempt() -> str:
    reasons: dict[tuple[str, str], list[str]] = {}
    for (function, figure), why in EXEMPT.items():
        reasons.setdefault((function, why), []).append(figure)
    return "\n".join(f"- `{function}`, {', '.join(names)}: {why}" for (function, why), names in reasons.items())


def missing(page: str, n_simulations: int) -> list[int]:
    """Return the places of the scenarios that are missing from a page, or have fewer simulations there than asked."""
    rows = [[cell.strip(" `") for cell in line.split("|")] for line in page.splitlines() if line.startswith("| `")]
    known: dict[tuple[str, str], int] = {}
    for cells in rows:
        name, n = (cells[1], cells[3]), int(cells[4].replace(",", ""))
        known[name] = max(n, known.get(name, 0))
    # A figure that is undefined in some simulations has a few less.
    return [
        place
        for place, one in enumerate(SCENARIOS)
        if known.get((one.function, one.truth), 0) < 0.9 * n_drawn(one, n_simulations)
    ]


def write(tallies: list[Tally], *, keep: bool) -> None:
    """Write the tables into the page; with `keep`, rows that are not simulated again stay."""
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    known, _, tail = rest.partition(END)
    told = tables(tallies, known if keep else "")
    PAGE.write_text(f"{head}{BEGIN}\n\n{told}\n\nNot simulated:\n\n{exempt()}\n\n{END}{tail}", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2, help="scenarios at a time")
    parser.add_argument("--engine", help="where they run, as for `rightreasons learn run`")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--only", nargs="*", help="functions to simulate; all by default")
    chosen.add_argument("--missing", action="store_true", help="simulate what the page lacks, or has of fewer draws")
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/evidence/validity.md; with --only or --missing after each scenario, keeping all other rows",
    )
    options = parser.parse_args()
    places = list(range(len(SCENARIOS)))
    if options.only:
        places = [place for place in places if SCENARIOS[place].function in options.only]
    elif options.missing:
        places = missing(PAGE.read_text("utf-8"), options.simulations)
    some = bool(options.only or options.missing)
    started, parts = time.perf_counter(), dict[int, list[Tally]]()
    engine = EngineOptions(options.engine, options.jobs)
    task = functools.partial(run, n_simulations=options.simulations)
    for number, part in run_tasks(task, places, options=engine, progress=False):
        place = places[number]
        parts[place] = part
        short = [f"{one.figure or 'interval'} {one.verdict}" for one in part if one.problem]
        told = "; ".join(short) or "holds"
        print(f"{SCENARIOS[place].function}, {SCENARIOS[place].truth}: {told}", file=sys.stderr, flush=True)
        if options.write and some:
            write(part, keep=True)
    tallies = [tally for place in sorted(parts) for tally in parts[place]]
    print(tables(tallies))
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    if options.write and not some:
        write(tallies, keep=False)


if __name__ == "__main__":
    main()
