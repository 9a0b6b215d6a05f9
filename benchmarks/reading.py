"""Time the reading of files of a million rows against datasets' own readers, in one process.

    python benchmarks/reading.py [--rows 1000000] [--rounds 3]

Two columns, a text of about ten words and a label, as csv, JSON lines and parquet. `read` is our reader of files,
`open` is `open_dataset`, which also finds the columns, resolves the labels and makes ids; `datasets` is
`Dataset.from_csv`, `from_json` and `from_parquet` without their cache. What is printed is processor time, the best of
the rounds, and its ratio to that of datasets. The cells of both readers are compared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets

from rightreasons.data import open_dataset
from rightreasons.data.opening.datasets import read_tables


def write(folder: Path, n_rows: int) -> list[Path]:
    """Write the same rows in each form."""
    rows = [{"text": f"this is the text of row {row}, and some more words", "label": row % 2} for row in range(n_rows)]
    csv, lines, parquet = (folder / f"rows{suffix}" for suffix in (".csv", ".jsonl", ".parquet"))
    with open(csv, "w", encoding="utf-8") as stream:
        stream.write("text,label\n")
        stream.writelines(f'"{row["text"]}",{row["label"]}\n' for row in rows)
    with open(lines, "w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
    datasets.Dataset.from_list(rows).to_parquet(parquet)
    return [csv, lines, parquet]


def seconds(read: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the least processor time of some rounds, and what was read."""
    times, result = [], None
    for _ in range(rounds):
        start = time.process_time()
        result = read()
        times.append(time.process_time() - start)
    return min(times), result


def theirs(path: Path) -> datasets.Dataset:
    """Read a file with datasets, into a cache of its own."""
    reader = {".csv": "from_csv", ".jsonl": "from_json", ".parquet": "from_parquet"}[path.suffix]
    with tempfile.TemporaryDirectory() as cache:
        data: datasets.Dataset = getattr(datasets.Dataset, reader)(str(path), cache_dir=cache, keep_in_memory=True)
    return data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':<10}{'datasets':>10}{'read':>10}{'ratio':>8}{'open':>10}{'ratio':>8}")
        for path in write(Path(folder), options.rows):
            base, expected = seconds(lambda path=path: theirs(path), options.rounds)
            read, table = seconds(lambda path=path: read_tables(path), options.rounds)
            opened, data = seconds(lambda path=path: open_dataset(path), options.rounds)
            assert table["text"][:] == expected["text"][:] == data["text"][:]
            assert data["label"][:] == expected["label"][:]
            print(
                f"{path.suffix:<10}{base:>9.2f}s{read:>9.2f}s{read / base:>8.2f}{opened:>9.2f}s{opened / base:>8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
