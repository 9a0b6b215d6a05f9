"""Audit every case at several sizes and seeds: `python -m benchmarks.verdicts.natural --seeds 0 1 2`.

Each audit is a row of docs/evidence/verdicts_natural.csv, which is written after every case, so that a
stopped run goes on. `--write` writes the table of docs/evidence/verdicts.md from these rows.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.blocks import write_block
from benchmarks.verdicts.natural.cases import Case, World, list_cases, make_world

import rightreasons
from rightreasons.models import as_scorer

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "evidence" / "verdicts.md"
TABLE = PAGE.with_name("verdicts_natural.csv")
COLUMNS = ("case", "n", "seed", "truth", "color", "is_named", "finding")
SIZES = (200, 400, 1000)
COLORS = {"good": "green", "neutral": "gray", "warn": "amber", "bad": "red"}
STRONG = 0.5
"""A cue that really decides at least this share must never be green; one of a word or two, from `WEAK` on."""
WEAK = 0.3

Row = dict[str, Any]


def audit_case(case: Case, n_items: int, seed: int, folder: Path) -> Row:
    """Audit one case, and return what was planted and what was found."""
    world = make_world(case, n_items, seed, folder)
    result = audit_world(world, seed, has_training=case.has_training)
    verdict = result["verdict"]
    finding = f"{verdict['label']} {verdict['summary']}"
    return {
        "case": case.name,
        "n": n_items,
        "seed": seed,
        "truth": round(world.truth, 3),
        "color": COLORS[verdict["tone"]],
        "is_named": is_named(finding, world),
        # The table has more than a thousand rows: the first sentence says what decided.
        "finding": finding.partition(". ")[0],
    }


def audit_world(
    world: World, seed: int, *, has_training: bool = True, reasons: Sequence[str] = ()
) -> Row:
    """Audit the model of a case for shortcuts, and return the result of the question.

    Args:
        world: Model, audited texts, and training texts.
        seed: Seed of the audit.
        has_training: Whether the audit gets the training texts.
        reasons: Words that the user calls reasons.
    """

    def predict(texts: Sequence[str]) -> np.ndarray:
        scores = world.model(texts)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return scores / scores.sum(axis=1, keepdims=True)

    scorer = as_scorer(predict, label_names=list(world.label_names))
    data = make_table(world, world.texts, world.labels)
    train = make_table(world, world.train_texts, world.train_labels)
    with tempfile.TemporaryDirectory() as out:
        result = rightreasons.audit(
            scorer,
            data,
            train=train if has_training else None,
            questions=["shortcuts"],
            options={"shortcuts": {"reasons": tuple(reasons)}},
            out=out,
            seed=seed,
            progress=False,
        )
        audit = json.loads((Path(result.out) / "audit.json").read_text("utf-8"))
    return audit["questions"][0]["result"]


def make_table(world: World, texts: Sequence[str], labels: Sequence[int]) -> dict[str, list[str]]:
    """Return texts with the names of their labels."""
    return {"text": list(texts), "label": [world.label_names[label] for label in labels]}


def is_named(finding: str, world: World) -> bool:
    """Return whether a finding names a planted word or mark, or the aspect that was changed."""
    lowered = finding.lower()
    if world.aspect and world.aspect in lowered:
        return True
    return any(sign.lower() in lowered for sign in world.signs)


def read_stored() -> list[Row]:
    """Return the rows that earlier runs stored."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    for row in rows:
        row["n"] = int(row["n"])
        row["seed"] = int(row["seed"])
        row["truth"] = float(row["truth"])
        row["is_named"] = row["is_named"] == "True"
    return rows


def store(rows: Sequence[Row]) -> None:
    """Write every row, in an order that does not depend on which was audited first."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["case"], row["n"], row["seed"])))


def classify(case: Case, row: Row) -> str:
    """Return the group of a row in the table."""
    if not case.has_training:
        return "no training texts"
    if case.is_reason:
        return "readers of signs, for good reasons"
    if not case.share:
        return "readers"
    if row["truth"] >= STRONG:
        return f"followers, {STRONG:.0%} or more"
    if row["truth"] >= WEAK:
        return f"followers, {WEAK:.0%} to {STRONG:.0%}"
    return f"followers, less than {WEAK:.0%}"


def format_share(rows: Sequence[Row], *colors: str) -> str:
    """Return the share of rows with one of some colors."""
    if not rows:
        return "-"
    count = sum(row["color"] in colors for row in rows)
    return f"{count / len(rows):.0%}"


def format_table(rows: Sequence[Row]) -> str:
    """Return the table of the page: a row for each group and number of items."""
    case_by_name = {case.name: case for case in list_cases()}
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row["case"] in case_by_name:
            key = (classify(case_by_name[row["case"]], row), row["n"])
            groups.setdefault(key, []).append(row)
    lines = [
        "| models | items | audits | green | amber | red | gray | cue named, of amber and red |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, n_items in sorted(groups):
        group = groups[name, n_items]
        flagged = [row for row in group if row["color"] in ("amber", "red")]
        n_named = sum(row["is_named"] for row in flagged)
        named = f"{n_named / len(flagged):.0%}" if flagged and "followers" in name else "-"
        cells = [
            name,
            f"{n_items:,}",
            str(len(group)),
            format_share(group, "green"),
            format_share(group, "amber"),
            format_share(group, "red"),
            format_share(group, "gray"),
            named,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def describe_runs(rows: Sequence[Row]) -> str:
    """Return one sentence on the cases, sizes and seeds that the table is about."""
    names = {row["case"] for row in rows}
    seeds = sorted({row["seed"] for row in rows})
    listed = ", ".join([str(seed) for seed in seeds])
    return (
        f"The table summarizes {len(rows):,} audits, which cover {len(names)} of the {len(list_cases())} "
        f"test cases (random seeds: {listed})."
    )


def write_page(rows: Sequence[Row]) -> None:
    """Write the table of the page."""
    write_block(PAGE, "natural", f"{describe_runs(rows)}\n\n{format_table(rows)}")


def main() -> None:
    """Audit what is not stored yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--data", type=Path, default=os.environ.get("RIGHTREASONS_DATA_DIR"))
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    rows = read_stored()
    done = {(row["case"], row["n"], row["seed"]) for row in rows}
    if options.data is not None:
        print(f"seeds {options.seeds}, {len(list_cases())} cases", flush=True)
        for n_items in options.sizes:
            for seed in options.seeds:
                for case in list_cases():
                    if options.only not in case.name or (case.name, n_items, seed) in done:
                        continue
                    row = audit_case(case, n_items, seed, Path(options.data))
                    rows.append(row)
                    store(rows)
                    print(
                        f"{row['truth']:.2f} {row['color']:6s} {row['is_named']!s:5s} "
                        f"n={n_items} seed={seed} {case.name}",
                        flush=True,
                    )
    if options.write:
        write_page(rows)
    print(format_table(rows))


if __name__ == "__main__":
    main()
