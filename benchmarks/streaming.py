"""Time and peak memory of counts over folders beyond memory: words, cues and calibration of stored scores.

    python benchmarks/streaming.py [--rows 10000000] [--files 10] [--work FOLDER]

The files repeat one block of 100,000 made-up texts (Zipf's law) with other labels; each figure is taken in a process
of its own, one thread, and is processor time. The floor is reading the same batches and doing nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from lmi import zipf_texts

from rightreasons.calibration.errors import CalibrationBins
from rightreasons.io.files import read_batches
from rightreasons.report.counts import count_cues, count_words

BLOCK = 100_000
TOKENS = 8


def write(folder: Path, kinds: set[str], rows: int, files: int, single: dict[str, int]) -> None:
    """Write what is missing of the folders words/, cues/, scores/ and csv/."""
    rng = np.random.default_rng(0)
    texts = list(itertools.islice(zipf_texts(length=TOKENS), 2 * BLOCK))
    pairs = pa.ListArray.from_arrays(np.arange(0, 2 * BLOCK + 1, 2), pa.array(texts))

    def block(kind: str) -> dict[str, Any]:
        labels = rng.integers(2, size=BLOCK)
        if kind == "cues":
            return {"prompt": ["Why?"] * BLOCK, "choices": pairs, "label": labels}
        if kind == "scores":
            share = rng.random(BLOCK)
            return {"p_0": 1 - share, "p_1": share, "label": (rng.random(BLOCK) < share).astype(int)}
        return {"text": texts[:BLOCK], "label": labels}

    for kind in kinds:
        (folder / kind).mkdir(parents=True, exist_ok=True)
        each = single.get(kind, rows // files)
        for number in range(1 if kind in single else files):
            file = folder / kind / f"{number:02d}{'.csv' if kind == 'csv' else '.parquet'}"
            if not file.exists():
                parts = [pa.table(block(kind)).slice(0, min(BLOCK, each - at)) for at in range(0, each, BLOCK)]
                (pa.csv.write_csv if kind == "csv" else pq.write_table)(pa.concat_tables(parts), file)


def read(folder: Path) -> int:
    return sum(table.num_rows for file in sorted(folder.iterdir()) for table in read_batches(file, 50_000))


def words(folder: Path) -> int:
    return count_words(folder, progress=False).result().n_documents


def cues(folder: Path) -> int:
    return count_cues(folder, first_label=0, progress=False).result(min_applicability=20).n_items


def calibration(folder: Path) -> int:
    bins = CalibrationBins()
    for file in sorted(folder.iterdir()):
        for table in read_batches(file, 50_000):
            scores = np.column_stack([table["p_0"].to_numpy(), table["p_1"].to_numpy()])
            bins.update(scores, table["label"].to_numpy())
    return bins.result().n_items


WHAT: dict[str, tuple[str, Callable[[Path], int]]] = {
    "reading words": ("words", read),
    "LMI counts": ("words", words),
    "LMI counts from csv": ("csv", words),
    "reading cues": ("cues", read),
    "cue counts": ("cues", cues),
    "reading scores": ("scores", read),
    "calibration": ("scores", calibration),
}


def measured(function: Callable[[Path], int], folder: Path, queue: multiprocessing.Queue) -> None:
    begin = time.process_time()
    rows = function(folder)
    seconds = time.process_time() - begin
    # The peak of this very process (Linux); getrusage would report the parent's where that is larger.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    queue.put({"rows": rows, "seconds": seconds, "MiB": int(status["VmHWM"].split()[0]) / 1024})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--csv-rows", type=int, default=1_000_000, help="rows of the csv file, read by Python's reader")
    parser.add_argument("--only", nargs="*", choices=WHAT, default=list(WHAT), help="what to measure; all by default")
    parser.add_argument("--leave-out", default="", help="what not to measure, by a word of its name")
    parser.add_argument("--work", type=Path, default=Path("runs/streaming"))
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    if options.leave_out:
        options.only = [name for name in options.only if options.leave_out not in name]
    folder = options.work / str(options.rows)
    kinds = {WHAT[name][0] for name in options.only}
    write(folder, kinds, options.rows, options.files, {"csv": options.csv_rows})
    context = multiprocessing.get_context("spawn")
    figures = {}
    print("| what | rows | s | µs per row | peak MiB |\n|---|---:|---:|---:|---:|", flush=True)
    for name in options.only:
        kind, function = WHAT[name]
        queue = context.Queue()
        process = context.Process(target=measured, args=(function, folder / kind, queue))
        process.start()
        one = figures[name] = queue.get()
        process.join()
        each = one["seconds"] / one["rows"] * 1e6
        print(f"| {name} | {one['rows']:,} | {one['seconds']:.1f} | {each:.2f} | {one['MiB']:.0f} |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
