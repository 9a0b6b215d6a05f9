"""Audit every case at several sizes and seeds: `python -m benchmarks.verdicts.natural --seeds 0 1 2`.

Each audit is a row of docs/evidence/verdicts_natural.csv, which is written after every case, so that an
interrupted run resumes. `--write` writes the table of docs/evidence/verdicts.md from these rows.
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
from rightreasons.core.sentences import pluralize
from rightreasons.models import as_scorer

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "evidence" / "verdicts.md"
TABLE = PAGE.with_name("verdicts_natural.csv")
COLUMNS = ("case", "n", "seed", "truth", "color", "is_named", "finding")
SIZES = (200, 400, 1000)
COLORS = {"good": "green", "neutral": "gray", "warn": "amber", "bad": "red"}

STRONG = 0.5
"""Share of predictions from which on a cue of any size must not get a green verdict."""

WEAK = 0.3
"""Share of predictions from which on a cue of one or two words must not get a green verdict."""

Row = dict[str, Any]
"""An audit as a row of the table: column of `COLUMNS` -> value."""


def audit_case(case: Case, n_items: int, seed: int, folder: Path) -> Row:
    """Audit one case, and return its row of the table.

    Args:
        case: Case to audit.
        n_items: Number of audited texts.
        seed: Seed of the case and of the audit.
        folder: Folder of all data sets.
    """
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
        "is_named": is_cue_named(finding, world),
        # The first sentence names what decides; the table is too long for the others.
        "finding": finding.partition(". ")[0],
    }


def audit_world(
    world: World, seed: int, *, has_training: bool = True, reasons: Sequence[str] = ()
) -> Row:
    """Audit the model of a case for shortcuts, and return the result as in audit.json.

    Args:
        world: Model, audited texts, and training texts.
        seed: Seed of the audit.
        has_training: Whether the audit gets the training texts.
        reasons: Words that the user declares as reasons, which the audit does not count as shortcuts.
    """

    def predict(texts: Sequence[str]) -> np.ndarray:
        scores = world.model(texts)
        # Softmax. Without the largest score of each row, the exponential might overflow.
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    scorer = as_scorer(predict, label_names=list(world.label_names))
    data = make_table(world.texts, world.labels, world.label_names)
    train = None
    if has_training:
        train = make_table(world.train_texts, world.train_labels, world.label_names)
    with tempfile.TemporaryDirectory() as out:
        result = rightreasons.audit(
            scorer,
            data,
            train=train,
            questions=["shortcuts"],
            options={"shortcuts": {"reasons": tuple(reasons)}},
            out=out,
            seed=seed,
            progress=False,
        )
        audit = json.loads((Path(result.out) / "audit.json").read_text("utf-8"))
    return audit["questions"][0]["result"]


def make_table(
    texts: Sequence[str], labels: Sequence[int], label_names: Sequence[str]
) -> dict[str, list[str]]:
    """Return texts and the names of their labels as the columns of a table."""
    return {"text": list(texts), "label": [label_names[label] for label in labels]}


def is_cue_named(finding: str, world: World) -> bool:
    """Return whether a finding names a planted word or mark, or the changed aspect of the texts."""
    lower_finding = finding.lower()
    if world.aspect and world.aspect in lower_finding:
        return True
    return any(sign.lower() in lower_finding for sign in world.signs)


def read_stored() -> list[Row]:
    """Return the rows that earlier runs stored."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows: list[Row] = list(csv.DictReader(file))
    # A CSV file stores every value as text.
    for row in rows:
        row["n"] = int(row["n"])
        row["seed"] = int(row["seed"])
        row["truth"] = float(row["truth"])
        row["is_named"] = row["is_named"] == "True"
    return rows


def store(rows: Sequence[Row]) -> None:
    """Write all rows to the table, in an order that does not depend on which was audited first."""
    sorted_rows = sorted(rows, key=lambda row: (row["case"], row["n"], row["seed"]))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted_rows)


def classify(case: Case, row: Row) -> str:
    """Return the group of an audit in the table, such as "readers".

    Args:
        case: Audited case.
        row: Result of the audit, with the share of predictions that the cue decides as "truth".
    """
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


def format_color_shares(groups: Sequence[Sequence[Row]], color: str) -> str:
    """Return the percentages of audits with a color, one for each group.

    Args:
        groups: Audits of each number of items.
        color: Color of the verdict.
    """
    shares = []
    for group in groups:
        n_matching = sum(row["color"] == color for row in group)
        shares.append(n_matching / len(group))
    return join_percentages(shares)


def format_named_shares(groups: Sequence[Sequence[Row]]) -> str:
    """Return the percentages of amber and red audits whose finding names the cue.

    Args:
        groups: Audits of each number of items.
    """
    shares = []
    for group in groups:
        flagged_rows = [row for row in group if row["color"] in ("amber", "red")]
        n_named = sum(row["is_named"] for row in flagged_rows)
        shares.append(n_named / len(flagged_rows))
    return join_percentages(shares)


def join_percentages(shares: Sequence[float]) -> str:
    """Return percentages such as "95, 97, 100", or a single one if all are equal."""
    percentages = [f"{100 * share:.0f}" for share in shares]
    if len(set(percentages)) == 1:
        return percentages[0]
    return ", ".join(percentages)


def group_rows(rows: Sequence[Row]) -> dict[str, list[list[Row]]]:
    """Return the audits of each group of `classify`, split by their number of items.

    Rows of cases that were removed from the benchmark are left out.
    """
    case_by_name = {case.name: case for case in list_cases()}
    rows_by_size: dict[str, dict[int, list[Row]]] = {}
    for row in rows:
        case = case_by_name.get(row["case"])
        if case is not None:
            sizes = rows_by_size.setdefault(classify(case, row), {})
            sizes.setdefault(row["n"], []).append(row)
    groups = {}
    for name in sorted(rows_by_size):
        sizes = rows_by_size[name]
        groups[name] = [sizes[n_items] for n_items in sorted(sizes)]
    return groups


def format_table(rows: Sequence[Row]) -> str:
    """Return the table of the page: a row for each group, with a percentage for each size."""
    lines = [
        "| models | audits | green, % | amber, % | red, % | gray, % | cue named, % of amber and red |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, groups in group_rows(rows).items():
        n_audits = sum(len(group) for group in groups)
        cells = [name, str(n_audits)]
        for color in ("green", "amber", "red", "gray"):
            cells.append(format_color_shares(groups, color))
        # The findings on readers have no planted cue to name.
        cells.append(format_named_shares(groups) if "followers" in name else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def describe_runs(rows: Sequence[Row]) -> str:
    """Return two sentences on the cases, seeds and sizes of the table."""
    n_cases = len({row["case"] for row in rows})
    n_seeds = len({row["seed"] for row in rows})
    sizes = sorted({row["n"] for row in rows})
    *smaller_sizes, largest_size = [f"{size:,}" for size in sizes]
    return (
        f"The table summarizes {len(rows):,} audits of {n_cases} cases, with "
        f"{pluralize(n_seeds, 'seed')}. "
        f"A cell with several numbers lists them for {', '.join(smaller_sizes)} and {largest_size} "
        "items."
    )


def write_page(rows: Sequence[Row]) -> None:
    """Write the table of docs/evidence/verdicts.md, with the sentences of `describe_runs`."""
    write_block(PAGE, "natural", f"{describe_runs(rows)}\n\n{format_table(rows)}")


def list_pending(
    rows: Sequence[Row], sizes: Sequence[int], seeds: Sequence[int], text: str
) -> list[tuple[Case, int, int]]:
    """Return the audits that are not stored yet.

    Args:
        rows: Stored audits.
        sizes: Numbers of items.
        seeds: Seeds of each case and size.
        text: Part of the names of the cases. If "", all cases are listed.

    Returns:
        Case, number of items, and seed of each audit.
    """
    stored_audits = {(row["case"], row["n"], row["seed"]) for row in rows}
    pending = []
    for n_items in sizes:
        for seed in seeds:
            for case in list_cases():
                if text in case.name and (case.name, n_items, seed) not in stored_audits:
                    pending.append((case, n_items, seed))
    return pending


def main() -> None:
    """Audit the cases that are not stored yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--data", type=Path, default=os.environ.get("RIGHTREASONS_DATA_DIR"))
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    rows = read_stored()
    # Without a folder of data sets, the table is made from the stored audits alone.
    if options.data is not None:
        print(f"seeds {options.seeds}, {len(list_cases())} cases", flush=True)
        pending = list_pending(rows, options.sizes, options.seeds, options.only)
        for case, n_items, seed in pending:
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
