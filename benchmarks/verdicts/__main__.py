"""Run the scenarios at several sizes and seeds: `make -C benchmarks verdicts` writes docs/evidence/verdicts.md."""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import pkgutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import benchmarks.verdicts as package
import numpy as np
from benchmarks.blocks import write_block
from benchmarks.verdicts import Scenario
from joblib import Parallel, delayed

SIZES = (50, 100, 200, 400, 1000)
LEVELS = {"good": 0, "neutral": 1, "warn": 2, "bad": 3}
PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "verdicts.md"
STORED = Path(__file__).with_name("results.json")


def scenarios() -> dict[str, Scenario]:
    """Return the scenarios of every file but those on shortcuts, which `natural` tries on real texts."""
    found: dict[str, Scenario] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name in ("__main__", "natural"):
            continue
        loaded = importlib.import_module(f"{package.__name__}.{module.name}")
        for name, scenario in getattr(loaded, "SCENARIOS", {}).items():
            if scenario.question != "shortcuts":
                found[name] = scenario
    return found


def rank_auroc(followers: Sequence[int], others: Sequence[int]) -> float | None:
    """Return how often a follower has the worse verdict than another model, ties counting half."""
    if not followers or not others:
        return None
    table = np.subtract.outer(np.array(followers), np.array(others))
    return float((table > 0).mean() + (table == 0).mean() / 2)


def run(name: str, n_items: int, seed: int) -> tuple[str, int, int, str]:
    """Run one scenario."""
    return name, n_items, seed, scenarios()[name].run(n_items, seed)


def counts_as(scenario: Scenario) -> str:
    """Return the truth of a scenario; what decides less than a quarter, give or take, need not be named."""
    return "none" if scenario.truth == "follower" and scenario.strength < 0.35 else scenario.truth


def summary(
    results: Sequence[tuple[str, int, int, str]], known: Mapping[str, Scenario]
) -> Iterator[str]:
    """Write a row per question; where a figure differs among the sizes, one for each of them."""
    sizes = sorted({n for _, n, _, _ in results})
    yield "| question | followers green | readers red or amber | followers named | cannot tell | AUROC |"
    yield "|---|---|---|---|---|---|"
    for question in dict.fromkeys(scenario.question for scenario in known.values()):
        columns: list[list[str]] = []
        for size in sizes:
            tones: dict[str, list[str]] = {"follower": [], "reader": [], "none": []}
            for name, n, _, tone in results:
                if n == size and known[name].question == question:
                    tones[counts_as(known[name])].append(tone)
            follow, read = tones["follower"], tones["reader"]
            if not follow and not read:
                continue
            auroc = rank_auroc([LEVELS[t] for t in follow], [LEVELS[t] for t in read])
            columns.append(
                [
                    share(follow, "good"),
                    share(read, "bad", "warn"),
                    share(follow, "bad", "warn"),
                    share(follow + read, "neutral"),
                    "" if auroc is None else f"{auroc:.2f}",
                ]
            )
        cells = [joined(cells) for cells in zip(*columns, strict=True)]
        if cells:
            yield f"| {question} | {' | '.join(cells)} |"


def joined(cells: Sequence[str]) -> str:
    """Write the cells of all sizes: once if they are equal, and what all end with once."""
    if len(set(cells)) == 1:
        return cells[0]
    ends = {cell.partition(" of ")[2] for cell in cells}
    if len(ends) > 1 or not ends - {""}:
        return ", ".join(cells)
    return f"{', '.join(cell.partition(' of ')[0] for cell in cells)} of {ends.pop()}"


def by_model(
    results: Sequence[tuple[str, int, int, str]], known: Mapping[str, Scenario]
) -> Iterator[list[str]]:
    """Yield the rows of the table beside the page: a row per model, a column of verdicts per size."""
    sizes = sorted({n for _, n, _, _ in results})
    yield ["model", "truth", "decided by it", *(f"{size:,} items" for size in sizes)]
    names = {"good": "green", "neutral": "gray", "warn": "amber", "bad": "red"}
    for name, scenario in known.items():
        cells = []
        for size in sizes:
            counts = Counter(
                names[tone] for other, n, _, tone in results if other == name and n == size
            )
            cells.append(", ".join(f"{n} {tone}" for tone, n in counts.most_common()))
        if any(cells):
            yield [name, scenario.truth, f"{scenario.strength:.2f}", *cells]


def share(tones: Sequence[str], *wanted: str) -> str:
    """Write the share of verdicts of some tones."""
    return f"{sum(tone in wanted for tone in tones)} of {len(tones)}"


def main() -> None:
    """Run what is not stored yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--write",
        action="store_true",
        help="write docs/evidence/verdicts.md from all that is stored",
    )
    options = parser.parse_args()
    known = scenarios()
    stored = (
        [tuple(row) for row in json.loads(STORED.read_text("utf-8"))] if STORED.exists() else []
    )
    done = {row[:3] for row in stored}
    wanted = [
        (name, size, seed)
        for size in options.sizes
        for seed in range(options.seeds)
        for name in known
        if options.only in name and (name, size, seed) not in done
    ]
    for row in Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(run)(*each) for each in wanted
    ):
        stored.append(row)
        STORED.write_text(json.dumps(stored), "utf-8")
    shown = [row for row in stored if row[0] in known]
    lines = "\n".join(summary(shown, known))
    print(lines)
    if options.write:
        write_block(PAGE, "tables", lines)
        with PAGE.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(by_model(shown, known))


if __name__ == "__main__":
    main()
