"""Public tables, drawn again: with other headings, in another order, with rows that come twice.

    python benchmarks/drawn_tables.py FOLDER [--write] [--only WORD]

FOLDER holds the files of releases.yaml. Those that are read as released, or with a suggested column, are changed at random, by a
seed of their own: headings become nonsense words or words of another script, columns are shuffled, rows are repeated,
a second system is stacked below the first, or a column of statuses is added. How a table was read before it was
changed is its truth, which releases.yaml confirms. Writes the block `drawn` of docs/evidence/releases.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from blocks import write_block
from releases import PAGE, PROPOSED, RELEASED, Reading, Release, load_releases, read_release

MAX_ROWS = 500
"""Rows of a table that are kept, so that a run takes minutes."""

SCRIPTS = {
    "nonsense": "bcdfgklmnprstvz",
    "Japanese": "内容評価番号種類結果本文日時項目",
    "Arabic": "ابتثجحدرسعفقكلمنهوي",
    "Cyrillic": "абвгдежзиклмнопрсту",
}
"""Signs of which headings are drawn."""

OUTCOMES = (
    "correct",
    "correct, with a message",
    "asked for an option",
    "refused",
    "incorrect, with a message",
    "silently incorrect",
)
RIGHT, TOLD_RIGHT, ASKED, REFUSED, TOLD_WRONG, SILENT = OUTCOMES

Change = Callable[[datasets.Dataset, np.random.Generator], datasets.Dataset]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One way to change a table.

    Attributes:
        name: What is changed.
        change: Returns the changed table.
        checks: Checks of rows of which one must find the change; () if the truth stays the same.
    """

    name: str
    change: Change
    checks: tuple[str, ...] = ()


def draw_headings(
    table: datasets.Dataset, rng: np.random.Generator, signs: str
) -> datasets.Dataset:
    """Rename all columns to distinct words of some signs."""
    names: list[str] = []
    while len(names) < len(table.column_names):
        length = int(rng.integers(3, 8))
        name = "".join(rng.choice(list(signs), length))
        if name not in names:
            names.append(name)
    return table.rename_columns(dict(zip(table.column_names, names, strict=True)))


def rename_columns(script: str) -> Change:
    """Return the change that renames the columns in a script."""
    return lambda table, rng: draw_headings(table, rng, SCRIPTS[script])


def shuffle_columns(table: datasets.Dataset, rng: np.random.Generator) -> datasets.Dataset:
    names = list(table.column_names)
    rng.shuffle(names)
    return table.select_columns(names)


def repeat_rows(table: datasets.Dataset, rng: np.random.Generator) -> datasets.Dataset:
    """Repeat every row, as a sampler of several processes does."""
    return table.select(rng.permutation(np.repeat(np.arange(len(table)), 2)))


def stack_arms(table: datasets.Dataset, rng: np.random.Generator) -> datasets.Dataset:
    """Put the rows of a second system below, whose name a column tells."""
    n_rows = len(table)
    both = datasets.concatenate_datasets([table, table])
    return both.add_column("arm", ["first"] * n_rows + ["second"] * n_rows)


STATUS = "審査"
"""Heading of a column of statuses, in a language that no list of words has."""


def add_status(table: datasets.Dataset, rng: np.random.Generator) -> datasets.Dataset:
    """Add a column by which annotators rejected a third of the rows."""
    rejected = rng.permutation(len(table)) % 3 == 0
    return table.add_column(STATUS, np.where(rejected, "却下", "採用").tolist())


KINDS = (
    *(Kind(f"headings in {script} letters", rename_columns(script)) for script in SCRIPTS),
    Kind("columns shuffled", shuffle_columns),
    Kind("rows repeated", repeat_rows, ("repeated_ids", "repeated_rows")),
    Kind("a second system stacked below", stack_arms, ("long_format",)),
    Kind("rejected rows", add_status, ("rejected_rows",)),
)


def open_table(release: Release, folder: Path) -> datasets.Dataset | None:
    """Open the first split of a released file as it is; None if it is no table of rows."""
    from rightreasons.io.reading import as_table

    try:
        opened = as_table(str(folder / release.repo / release.path))
    except (TypeError, ValueError, OSError):
        return None
    table = opened if isinstance(opened, datasets.Dataset) else next(iter(opened.values()))
    return table.select(range(min(MAX_ROWS, len(table))))


def read_table(table: datasets.Dataset) -> Reading:
    """Read a table from a file, as a person would bring it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        table.to_parquet(path)
        return read_release(path, None)


def grade(reading: Reading, truth: Reading, kind: Kind) -> str:
    """Return the outcome of a changed table."""
    if reading.sentence:
        has_option = "_column" in reading.sentence or "label_names" in reading.sentence
        return ASKED if has_option else REFUSED
    new_doubts = set(reading.doubts) - set(truth.doubts)
    if kind.checks:
        is_told = not set(reading.row_checks).isdisjoint(kind.checks)
        # Statuses are listed with their counts, or a line says that they are taken for the labels.
        if kind.checks == ("rejected_rows",):
            is_told = any(STATUS in line for line in (reading.unused, *reading.doubts))
        return TOLD_RIGHT if is_told else SILENT
    # Texts without labels are read, and a line asks for the column of the labels.
    if truth.labels and not reading.labels and reading.accuracy is None and new_doubts:
        return ASKED
    is_same = (sorted(reading.labels), reading.accuracy, reading.rows) == (
        sorted(truth.labels),
        truth.accuracy,
        truth.rows,
    )
    if is_same:
        return TOLD_RIGHT if new_doubts else RIGHT
    return TOLD_WRONG if new_doubts else SILENT


def make_rng(release: Release, kind: Kind) -> np.random.Generator:
    """Return a separate generator for each table and change."""
    key = f"{release.repo}/{release.path}/{kind.name}".encode()
    return np.random.default_rng(
        int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
    )


def measure(
    chosen: Sequence[Release], folder: Path, kinds: Sequence[Kind]
) -> tuple[dict[str, Counter[str]], int, tuple[int, int]]:
    """Return the outcomes of each change; the number of tables; and the false alarms among unchanged ones."""
    counts: dict[str, Counter[str]] = {kind.name: Counter() for kind in kinds}
    n_tables = 0
    n_alarms = 0
    n_row_alarms = 0
    for release in chosen:
        table = open_table(release, folder)
        if table is None:
            continue
        truth = read_table(table)
        if truth.sentence:
            continue
        n_tables += 1
        n_alarms += any("by its heading" in doubt for doubt in truth.doubts)
        n_row_alarms += bool(truth.row_doubts)
        for doubt in truth.row_doubts:
            print(f"doubt about rows {release.repo}/{release.path}: {doubt}", flush=True)
        for kind in kinds:
            reading = read_table(kind.change(table, make_rng(release, kind)))
            outcome = grade(reading, truth, kind)
            counts[kind.name][outcome] += 1
            if outcome in (SILENT, TOLD_WRONG):
                print(f"{outcome:16} {kind.name}: {release.repo}/{release.path}", flush=True)
    return counts, n_tables, (n_alarms, n_row_alarms)


def describe_counts(
    counts: dict[str, Counter[str]], n_tables: int, n_alarms: tuple[int, int]
) -> str:
    """Return the block of the page."""
    rows = [
        f"The script changed {n_tables} tables, using at most {MAX_ROWS:,} rows of each:",
        "",
        f"| changed | {' | '.join(OUTCOMES)} |",
        f"|---|{'---:|' * len(OUTCOMES)}",
    ]
    # Changes with the same counts share a row.
    names_by_cells: dict[str, list[str]] = {}
    for name, outcomes in counts.items():
        cells = " | ".join(str(outcomes[outcome]) for outcome in OUTCOMES)
        names_by_cells.setdefault(cells, []).append(name)
    for cells, names in names_by_cells.items():
        rows.append(f"| {'; '.join(names)} | {cells} |")
    rows += [
        "",
        (
            f"Before any change, the reader warns about a heading in {n_alarms[0]} of these tables, "
            f"and about the rows in {n_alarms[1]}."
        ),
    ]
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="write docs/evidence/releases.md")
    parser.add_argument("--only", default="", help="only the changes whose names hold this")
    arguments: Any = parser.parse_args()
    datasets.disable_progress_bars()
    kinds = [kind for kind in KINDS if arguments.only in kind.name]
    chosen = [release for release in load_releases() if release.expected in (RELEASED, PROPOSED)]
    counts, n_tables, n_alarms = measure(chosen, arguments.folder, kinds)
    text = describe_counts(counts, n_tables, n_alarms)
    print(text)
    if arguments.write:
        write_block(PAGE, "drawn", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
