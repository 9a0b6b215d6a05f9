"""Counts of data beyond memory: each file by itself, on any engine, kept as it is finished, and merged at the end."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from rightreasons.core.engines import EngineOptions, run_tasks
from rightreasons.core.errors import OptionError, unknown_name
from rightreasons.core.store import Records, package_code
from rightreasons.cues.statistics import CueCounts
from rightreasons.io.files import read_batches
from rightreasons.io.tables import open_dataset, open_multiple_choice, split_files
from rightreasons.shortcuts.measure import with_pairs
from rightreasons.shortcuts.mutual_information import LmiCounts

BATCH = 50_000
"""Rows per batch."""

_ROW = "row number of the batch"

Plain = dict[str, Any]


def count_words(source: str | os.PathLike[str], *, count: str = "occurrence", **options: Any) -> LmiCounts:
    """Count the words of labeled texts by label, for `LmiCounts.result`; memory grows with the vocabulary alone.

    Args:
        source: A file (.parquet, .csv, .tsv, .jsonl, perhaps compressed), or a folder of such files.
        count: "occurrence" or "presence", as in `LmiCounts`.
        **options: `split`, `engine`, `out` and `progress` of `count_files`, and the options of `open_dataset`.

    Returns:
        The counts of all texts. Labels that are numbers keep them; words are numbered in their sorted order.

    Raises:
        ValueError: As `open_dataset`, or if the labels are numbers in one file and words in another.
    """
    parts = count_files(source, _words_of, {"count": count}, **options)
    names = sorted({name for part in parts for name in part["documents"]})
    numbers = [name for name in names if name.isdecimal()]
    if 0 < len(numbers) < len(names):
        odd = next(name for name in names if not name.isdecimal())
        raise ValueError(f"Expected labels of one type in {source}, but they are {numbers[0]} and {odd}.")
    merged = LmiCounts(count=count)
    for place, name in enumerate(names):
        label = int(name) if numbers else place
        merged.documents[label] = sum(part["documents"].get(name, 0) for part in parts)
        merged.tokens[label] = _sum(part["tokens"].get(name, {}) for part in parts)
    return merged


def count_cues(
    source: str | os.PathLike[str], *, features: tuple[str, ...] = ("unigram",), **options: Any
) -> CueCounts:
    """Count the cues of labeled multiple-choice items, for `CueCounts.result`.

    Args:
        source: As in `count_words`.
        features: Families of cues, as in `cue_statistics`.
        **options: `split`, `engine`, `out` and `progress` of `count_files`, and the options of `open_multiple_choice`.

    Returns:
        The counts of all items, the same as those of `CueCounts.update` over all of them.

    Raises:
        ValueError: As `open_multiple_choice`.
    """
    parts = count_files(source, _cues_of, {"features": tuple(features)}, **options)
    merged = CueCounts(features)
    merged.n_items = sum(part["n_items"] for part in parts)
    for name in ("applicable", "correct"):
        for size in sorted({int(size) for part in parts for size in part[name]}):
            tables = [{int(key): cues for key, cues in part[name].items()}.get(size, {}) for part in parts]
            getattr(merged, name)[size] = _sum(tables)
    return merged


def count_files(
    source: str | os.PathLike[str],
    count: Callable[[Plain, Plain, Path], Plain],
    settings: Plain,
    *,
    split: str | None = None,
    engine: EngineOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> list[Plain]:
    """Count each file of a source.

    Args:
        source: A file, or a folder of files.
        count: Counts a file, with settings and the options of opening it.
        settings: Its settings.
        split: The split of a folder; None for its only one.
        engine: Where files are counted; None counts them here.
        out: A folder for the counts of each file; a killed run resumes. None keeps nothing.
        progress: Whether to show a progress bar.
        **options: How a file is opened.

    Returns:
        The counts of each file, in their order.
    """
    files = _files(source, split)
    records = None
    if out is not None:
        states = [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]
        about = {"settings": settings, "options": {key: repr(value) for key, value in options.items()}}
        records = Records(out, {"kind": count.__name__, "files": states, "code": package_code(), **about})
    kept = [records.read_json(f"part-{place:06d}.json") if records else None for place in range(len(files))]
    pending = [place for place, counts in enumerate(kept) if counts is None]
    task = functools.partial(count, settings, options)
    tasks = [files[place] for place in pending]
    for number, counts in run_tasks(task, tasks, options=engine, progress=progress, description="files"):
        kept[pending[number]] = counts
        if records:
            records.write_json(f"part-{pending[number]:06d}.json", counts)
    return [counts for counts in kept if counts is not None]


def _files(source: str | os.PathLike[str], split: str | None) -> list[Path]:
    path = Path(source).expanduser()
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise FileNotFoundError(f"Expected a file or a folder of files to count, but there is none at {path}.")
    splits = split_files(path)
    if split is None and len(splits) > 1:
        raise OptionError(
            f"Expected `split` to be one of {', '.join(splits)}, as {path} has several, but got None.", option="split"
        )
    chosen = next(iter(splits)) if split is None else split
    if chosen not in splits:
        raise unknown_name(f"split of {path}", chosen, splits)
    return [path / file for file in splits[chosen]]


def _batches(path: Path) -> Iterator[datasets.Dataset]:
    for table in read_batches(path, BATCH):
        yield datasets.Dataset(table.append_column(_ROW, pa.array(map(str, range(table.num_rows)))))


def _words_of(settings: Plain, options: Plain, path: Path) -> Plain:
    documents: Counter[str] = Counter()
    tokens: dict[str, Counter[str]] = {}
    for batch in _batches(path):
        opened: Any = open_dataset(batch, id_column=_ROW, **options)
        labels, names = np.array(opened["label"][:]), opened.features["label"].names
        texts = with_pairs(opened["text"][:], opened["text_pair"][:] if "text_pair" in opened.column_names else None)
        rows = np.flatnonzero(labels >= 0)
        if not rows.size:
            continue
        counts = LmiCounts(**settings)
        counts.update([texts[row] for row in rows.tolist()], labels[rows])
        for label, number in counts.documents.items():
            documents[names[label]] += number
            tokens.setdefault(names[label], Counter()).update(counts.tokens[label])
    return {"documents": dict(documents), "tokens": {name: dict(words) for name, words in tokens.items()}}


def _cues_of(settings: Plain, options: Plain, path: Path) -> Plain:
    counts = CueCounts(**settings)
    for batch in _batches(path):
        opened: Any = open_multiple_choice(batch, id_column=_ROW, **options)
        labels = np.array(opened["label"][:])
        labeled = opened.select(np.flatnonzero(labels >= 0))
        counts.update(labeled["choices"][:], labels[labels >= 0], labeled["prompt"][:])
    tables = {
        name: {size: dict(of) for size, of in getattr(counts, name).items()} for name in ("applicable", "correct")
    }
    return {"n_items": counts.n_items, **tables}


def _sum(tables: Iterable[Plain]) -> Counter[str]:
    total: Counter[str] = Counter()
    for table in tables:
        total.update(table)
    return total
