"""Run the scenarios at several sizes and seeds: `make -C benchmarks verdicts` writes docs/evidence/verdicts.md.

The verdicts are stored in results.json. `format_summary` and `list_model_rows` make the tables from them.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import pkgutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import benchmarks.verdicts as package
import numpy as np
from benchmarks.blocks import write_block
from benchmarks.verdicts import Scenario
from joblib import Parallel, delayed

SIZES = (50, 100, 200, 400, 1000)
LEVELS = {"good": 0, "neutral": 1, "warn": 2, "bad": 3}
"""Tone of a verdict -> its rank, from the best verdict to the worst."""

COLORS = {"good": "green", "neutral": "gray", "warn": "amber", "bad": "red"}
MIN_STRENGTH = 0.35
"""Share of predictions that a shortcut must decide, so that a verdict has to report it.

Shortcuts that decide less than a quarter need not be reported; the rest allows for random variation.
"""

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "verdicts.md"
STORED = Path(__file__).with_name("results.json")


class Outcome(NamedTuple):
    """The verdict of one audit.

    Attributes:
        name: Name of the scenario.
        n_items: Number of audited items.
        seed: Seed of the data and of the audit.
        tone: Tone of the verdict, a key of `LEVELS`.
    """

    name: str
    n_items: int
    seed: int
    tone: str


def load_scenarios() -> dict[str, Scenario]:
    """Return the scenarios of all modules of this package, by name.

    Scenarios on shortcuts are left out, because `natural` checks that question on real texts.
    """
    scenarios: dict[str, Scenario] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name in ("__main__", "natural"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, scenario in getattr(module, "SCENARIOS", {}).items():
            if scenario.question != "shortcuts":
                scenarios[name] = scenario
    return scenarios


def read_outcomes() -> list[Outcome]:
    """Return the stored outcomes of earlier runs, including those of former scenarios."""
    if not STORED.exists():
        return []
    return [Outcome(*row) for row in json.loads(STORED.read_text("utf-8"))]


def rank_auroc(followers: Sequence[int], readers: Sequence[int]) -> float | None:
    """Return the AUROC of verdicts as a detector of followers.

    It is the probability that a follower has a worse verdict than a reader, with ties counted half.

    Args:
        followers: Rank of the verdict on each follower, from 0 (green) to 3 (red).
        readers: Rank of the verdict on each reader.

    Returns:
        The AUROC, or None if there are no followers or no readers.
    """
    if not followers or not readers:
        return None
    differences = np.subtract.outer(np.array(followers), np.array(readers))
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def run_scenario(name: str, n_items: int, seed: int) -> Outcome:
    """Audit the model of a scenario."""
    # Each process looks up the scenario, so that only its name has to be sent to it.
    scenario = load_scenarios()[name]
    return Outcome(name, n_items, seed, scenario.run(n_items, seed))


def get_expected_group(scenario: Scenario) -> str:
    """Return the truth of a scenario, or "none" for a follower whose shortcut decides too little."""
    if scenario.truth == "follower" and scenario.strength < MIN_STRENGTH:
        return "none"
    return scenario.truth


def format_summary(outcomes: Sequence[Outcome], scenarios: Mapping[str, Scenario]) -> Iterator[str]:
    """Yield the lines of a Markdown table with one row for each question.

    Args:
        outcomes: Outcomes of the scenarios.
        scenarios: Name of each scenario -> the scenario.
    """
    sizes = sorted({outcome.n_items for outcome in outcomes})
    yield "| question | followers green | readers red or amber | followers named | gray | AUROC |"
    yield "|---|---|---|---|---|---|"
    questions = dict.fromkeys(scenario.question for scenario in scenarios.values())
    for question in questions:
        cells_by_size: list[list[str]] = []
        for size in sizes:
            followers = []
            readers = []
            for outcome in outcomes:
                scenario = scenarios[outcome.name]
                if outcome.n_items != size or scenario.question != question:
                    continue
                group = get_expected_group(scenario)
                if group == "follower":
                    followers.append(outcome.tone)
                elif group == "reader":
                    readers.append(outcome.tone)
            if followers or readers:
                cells_by_size.append(format_cells(followers, readers))

        cells = [join_cells(column) for column in zip(*cells_by_size, strict=True)]
        if cells:
            yield f"| {question} | {' | '.join(cells)} |"


def format_cells(followers: Sequence[str], readers: Sequence[str]) -> list[str]:
    """Return the cells of `format_summary` for one question and one number of items.

    Args:
        followers: Tones of the verdicts on followers.
        readers: Tones of the verdicts on readers.
    """
    auroc = rank_auroc([LEVELS[tone] for tone in followers], [LEVELS[tone] for tone in readers])
    return [
        format_share(followers, "good"),
        format_share(readers, "bad", "warn"),
        format_share(followers, "bad", "warn"),
        format_share([*followers, *readers], "neutral"),
        "" if auroc is None else f"{auroc:.2f}",
    ]


def join_cells(cells: Sequence[str]) -> str:
    """Join the cells of all sizes: `("1 of 5", "2 of 5")` becomes "1, 2 of 5".

    Equal cells are written once. Cells with different totals are written in full.
    """
    if len(set(cells)) == 1:
        return cells[0]
    counts = []
    totals = set()
    for cell in cells:
        count, _, total = cell.partition(" of ")
        counts.append(count)
        totals.add(total)
    # Cells such as an AUROC have no total.
    if len(totals) > 1 or totals == {""}:
        return ", ".join(cells)
    return f"{', '.join(counts)} of {totals.pop()}"


def list_model_rows(
    outcomes: Sequence[Outcome], scenarios: Mapping[str, Scenario]
) -> Iterator[list[str]]:
    """Yield the rows of docs/evidence/verdicts.csv: one for each model, with a column for each size.

    Args:
        outcomes: Outcomes of the scenarios.
        scenarios: Name of each scenario -> the scenario.
    """
    sizes = sorted({outcome.n_items for outcome in outcomes})
    yield ["model", "truth", "decided by it", *[f"{size:,} items" for size in sizes]]
    for name, scenario in scenarios.items():
        cells = []
        for size in sizes:
            colors: Counter[str] = Counter()
            for outcome in outcomes:
                if outcome.name == name and outcome.n_items == size:
                    colors[COLORS[outcome.tone]] += 1
            cells.append(", ".join([f"{n} {color}" for color, n in colors.most_common()]))
        # A scenario without any outcome has no row.
        if any(cells):
            yield [name, scenario.truth, f"{scenario.strength:.2f}", *cells]


def format_share(tones: Sequence[str], *matches: str) -> str:
    """Return how many verdicts have one of the tones in `matches`, such as "2 of 5"."""
    n_matching = sum(tone in matches for tone in tones)
    return f"{n_matching} of {len(tones)}"


def write_page(outcomes: Sequence[Outcome], scenarios: Mapping[str, Scenario]) -> None:
    """Write the table of docs/evidence/verdicts.md, and the file of all models next to it."""
    write_block(PAGE, "tables", "\n".join(format_summary(outcomes, scenarios)))
    with PAGE.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows(list_model_rows(outcomes, scenarios))


def main() -> None:
    """Run the scenarios that are not stored yet, and print the summary."""
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
    scenarios = load_scenarios()
    outcomes = read_outcomes()

    stored_runs = {(outcome.name, outcome.n_items, outcome.seed) for outcome in outcomes}
    tasks = []
    for size in options.sizes:
        for seed in range(options.seeds):
            for name in scenarios:
                if options.only in name and (name, size, seed) not in stored_runs:
                    tasks.append(delayed(run_scenario)(name, size, seed))
    for outcome in Parallel(n_jobs=options.jobs, return_as="generator")(tasks):
        outcomes.append(outcome)
        # Stored after each audit, so that an interrupted run resumes.
        STORED.write_text(json.dumps(outcomes), "utf-8")

    # Stored outcomes may be of scenarios that were removed since.
    current = [outcome for outcome in outcomes if outcome.name in scenarios]
    print("\n".join(format_summary(current, scenarios)))
    if options.write:
        write_page(current, scenarios)


if __name__ == "__main__":
    main()
