"""Declare the words of amber readers as reasons: `python -m benchmarks.verdicts.natural.reasons`.

The verdict on a reader is amber if single words decide more than half of its predictions. This script
simulates a user who declares the words that the report lists as reasons, and audits again, until the
verdict is green or `MAX_ROUNDS` rounds are over. The results are stored in reasons.json, and
`describe_rounds` writes the sentence of docs/evidence/verdicts.md from them.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from benchmarks.blocks import write_block
from benchmarks.verdicts.natural.__main__ import (
    COLORS,
    PAGE,
    Row,
    audit_world,
    classify,
    read_stored,
)
from benchmarks.verdicts.natural.cases import list_cases, make_world

STORED = Path(__file__).with_name("reasons.json")
N_ITEMS = 1_000
MAX_ROUNDS = 3


def declare_reasons(case_name: str, seed: int, folder: Path) -> Row:
    """Audit a reader repeatedly, and declare the words that each report lists as reasons.

    Args:
        case_name: Name of the case of the reader.
        seed: Seed of the case and of the audits.
        folder: Folder of all data sets.

    Returns:
        The case and its seed, the color of each verdict ("colors"), and the declared words ("reasons").
    """
    case_by_name = {case.name: case for case in list_cases()}
    world = make_world(case_by_name[case_name], N_ITEMS, seed, folder)
    reasons: list[str] = []
    result = audit_world(world, seed, reasons=reasons)
    colors = [COLORS[result["verdict"]["tone"]]]
    for _ in range(MAX_ROUNDS):
        if colors[-1] == "green":
            break
        # A dictionary drops repeated words, and keeps their order.
        reasons = list(dict.fromkeys([*reasons, *list_words(result)]))
        result = audit_world(world, seed, reasons=reasons)
        colors.append(COLORS[result["verdict"]["tone"]])
    return {"case": case_name, "seed": seed, "colors": colors, "reasons": reasons}


def list_words(result: Row) -> list[str]:
    """Return the words that a report lists for its tests, the most decisive first."""
    words: list[str] = []
    for test in result["data"]["swaps"]["tests"]:
        words.extend(test["words"])
    return words


def describe_rounds(rows: list[Row]) -> str:
    """Return one sentence on how many verdicts turned green, and how many words that took.

    Args:
        rows: Results of `declare_reasons`.
    """
    n_green = sum(row["colors"][-1] == "green" for row in rows)
    word_counts = [len(row["reasons"]) for row in rows]
    # The first color is that of the audit without reasons.
    n_rounds = max(len(row["colors"]) for row in rows) - 1
    return (
        f"With {min(word_counts)} to {max(word_counts)} words declared as reasons in at most "
        f"{n_rounds} rounds, {n_green} of {len(rows)} amber verdicts turn green."
    )


def list_amber_readers() -> list[tuple[str, int]]:
    """Return the case and seed of the stored audits of readers whose verdict is amber."""
    case_by_name = {case.name: case for case in list_cases()}
    readers = []
    for row in read_stored():
        if row["n"] != N_ITEMS or row["color"] != "amber":
            continue
        if classify(case_by_name[row["case"]], row).startswith("readers"):
            readers.append((row["case"], row["seed"]))
    return readers


def main() -> None:
    """Audit the amber readers that are not stored yet, and write the sentence of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("RIGHTREASONS_DATA_DIR"))
    options = parser.parse_args()
    rows = []
    if STORED.exists():
        rows = json.loads(STORED.read_text("utf-8"))
    # Without a folder of data sets, the sentence is made from the stored results alone.
    if options.data is not None:
        stored_audits = {(row["case"], row["seed"]) for row in rows}
        for case_name, seed in list_amber_readers():
            if (case_name, seed) in stored_audits:
                continue
            rows.append(declare_reasons(case_name, seed, folder=Path(options.data)))
            # Stored after each case, so that an interrupted run resumes.
            STORED.write_text(json.dumps(rows, indent=0, ensure_ascii=False), "utf-8")
            print(rows[-1], flush=True)
    write_block(PAGE, "reasons", describe_rounds(rows))


if __name__ == "__main__":
    main()
