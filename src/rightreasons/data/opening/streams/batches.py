"""Open data beyond memory in the common schema, batch by batch: files, folders of files, and IterableDatasets.

The labels are read once before, so that a label has the same number in every batch; ids are the numbers of the rows.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rightreasons.data.opening.datasets import find_label_column, open_dataset, open_multiple_choice
from rightreasons.data.opening.files import read_batches
from rightreasons.data.opening.folders import split_files
from rightreasons.data.opening.labels import read_labels
from rightreasons.foundations.choices import TASKS
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count, check_one_of, unknown_name

BATCH = 50_000
"""Rows per batch."""

MAX_CLASSES = 10_000

_ROW = "row number of the stream"


@dataclasses.dataclass(frozen=True, eq=False)
class Stream:
    """Data in the common schema of a task, batch by batch; iterating over it reads it again.

    Attributes:
        name: What it is called in errors.
        parts: The files, each of which can be read by itself; None alone for an IterableDataset.
        starts: The number of the first row of each part.
        n_rows: Number of rows.
        label_names: Names of the classes; None for multiple choice, and without labels.
    """

    name: str
    parts: tuple[Path | None, ...]
    starts: tuple[int, ...]
    n_rows: int
    label_names: tuple[str, ...] | None
    _tables: Callable[[Path | None], Iterator[pa.Table]] = dataclasses.field(repr=False)
    _open: Callable[[pa.Table], datasets.Dataset] = dataclasses.field(repr=False)

    def __len__(self) -> int:
        return self.n_rows

    def __iter__(self) -> Iterator[datasets.Dataset]:
        for place in range(len(self.parts)):
            yield from self.part(place)

    def part(self, place: int) -> Iterator[datasets.Dataset]:
        """Yield the batches of one part."""
        row = self.starts[place]
        for table in self._tables(self.parts[place]):
            numbers = pa.array(np.arange(row, row + table.num_rows)).cast(pa.string())
            yield self._open(table.append_column(_ROW, numbers))
            row += table.num_rows


@checks_kinds
def open_stream(
    source: Any,
    *,
    task: str = "classification",
    split: str | None = None,
    batch_size: int = BATCH,
    label_column: str | None = None,
    label_names: Sequence[str] | None = None,
    first_label: int | None = None,
    require_labels: bool = True,
    **options: Any,
) -> Stream:
    """Open data that need not fit into memory.

    Args:
        source: A file (.parquet, .csv, .tsv, .jsonl, perhaps compressed), a folder of such files, or an
            IterableDataset, which is read once for the labels and once for each iteration.
        task: "classification" or "multiple_choice".
        split: The split of a folder; None for its only one.
        batch_size: Maximum rows per batch of a parquet file or an IterableDataset; default 50,000.
        label_column: As in `open_dataset` and `open_multiple_choice`.
        label_names: As in `open_dataset`.
        first_label: As there; where choices are numbered, and no known format says from where, it has to be said.
        require_labels: Whether to refuse data without labels.
        **options: Names of columns, as there.

    Returns:
        A `Stream`. Ids are row numbers over all files, as uniqueness cannot be checked in bounded memory.

    Raises:
        TypeError: As `open_dataset`.
        ValueError: As `open_dataset`, if there is no such split, or there are more than 10,000 classes.

    Example:
        >>> rows = datasets.Dataset.from_dict({"text": ["Fine.", "Dull.", "Grand."], "label": ["up", "down", "up"]})
        >>> stream = open_stream(rows.to_iterable_dataset(), batch_size=2)
        >>> [batch["label"][:] for batch in stream], stream.label_names
        ([[1, 0], [1]], ('down', 'up'))
    """
    check_one_of(task, TASKS, "task")
    size = check_count(batch_size, "batch_size")
    parts, name = _parts(source, split)

    def tables(part: Path | None) -> Iterator[pa.Table]:
        if part is not None:
            yield from read_batches(part, size)
            return
        for table in source.with_format("arrow").iter(size):
            yield table if isinstance(table, pa.Table) else pa.Table.from_batches([table])

    if task == "multiple_choice":
        counts = [sum(table.num_rows for table in tables(part)) for part in parts]

        def choices(table: pa.Table) -> datasets.Dataset:
            opened: datasets.Dataset = open_multiple_choice(
                datasets.Dataset(table),
                id_column=_ROW,
                label_column=label_column,
                first_label=first_label,
                require_labels=require_labels,
                **options,
            )
            return opened

        return Stream(name, parts, _starts(counts), sum(counts), None, tables, choices)
    counts, values, feature, column = _label_values(parts, tables, label_column, require_labels, name)
    opened = {"id_column": _ROW, **options}
    if column is None:
        return Stream(
            name, parts, _starts(counts), sum(counts), None, tables,
            lambda table: open_dataset(datasets.Dataset(table), require_labels=False, **opened),
        )  # fmt: skip
    distinct = datasets.Dataset.from_dict({column: values}, features=datasets.Features({column: feature}))
    labels = read_labels({"": (distinct, column)}, label_names, first_label, name)[""]
    known, ids = pa.array(distinct.with_format("arrow")[:][column].to_pylist()), pa.array(labels.ids)
    named = datasets.ClassLabel(names=list(labels.names))

    def classes(table: pa.Table) -> datasets.Dataset:
        numbers = ids.take(pc.index_in(table[column].cast(known.type), known))
        features = datasets.Dataset(table.slice(0, 0)).features
        features[column] = named
        place = table.column_names.index(column)
        numbered = table.set_column(place, column, numbers.cast(pa.int64())).replace_schema_metadata(None)
        data = datasets.Dataset(numbered, info=datasets.DatasetInfo(features=features))
        result: datasets.Dataset = open_dataset(data, label_column=column, **opened)
        return result

    return Stream(name, parts, _starts(counts), sum(counts), tuple(labels.names), tables, classes)


def _parts(source: Any, split: str | None) -> tuple[tuple[Path | None, ...], str]:
    if isinstance(source, datasets.IterableDataset):
        return (None,), "the stream"
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"Expected a file, a folder of files or an IterableDataset to stream, but got {type(source).__name__}."
        )
    path = Path(source).expanduser()
    if path.is_file():
        return (path,), str(path)
    if not path.is_dir():
        raise FileNotFoundError(f"Expected a file or a folder of files to stream, but there is none at {path}.")
    splits = split_files(path)
    if split is None and len(splits) > 1:
        raise ValueError(f"Expected `split` to be one of {', '.join(splits)}, as {path} has several, but got None.")
    chosen = next(iter(splits)) if split is None else split
    if chosen not in splits:
        raise unknown_name(f"split of {path}", chosen, splits)
    return tuple(path / file for file in splits[chosen]), str(path)


def _starts(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple((np.cumsum(counts) - np.array(counts)).tolist())


def _label_values(
    parts: Sequence[Path | None],
    tables: Callable[[Path | None], Iterator[pa.Table]],
    named: str | None,
    required: bool,
    name: str,
) -> tuple[list[int], list[Any], Any, str | None]:
    """Read all data once: the rows of each part, the distinct labels, and the type and the name of their column."""
    counts: list[int] = []
    values: dict[Any, None] = {}
    feature, column, kind = None, None, pa.null()
    for part in parts:
        counts.append(0)
        for table in tables(part):
            if not sum(counts):
                column = find_label_column(datasets.Dataset(table.slice(0, 0)), named, required, name)
            counts[-1] += table.num_rows
            if column is not None:
                if column not in table.column_names:
                    raise ValueError(f"Expected the column {column!r} in all of {name}, but {part} lacks it.")
                joint = _joint_type(kind, table[column].type, f"the column {column!r} of {name}")
                if feature is None or joint != kind:
                    # A ClassLabel is known by the description of its own table; numbers of two types have none.
                    own = table if joint == table[column].type else pa.schema([(column, joint)]).empty_table()
                    kind, feature = joint, datasets.Dataset(own.slice(0, 0)).features[column]
                values.update(dict.fromkeys(pc.unique(table[column]).to_pylist()))
                if len(values) > MAX_CLASSES:
                    raise ValueError(
                        f"Expected at most {MAX_CLASSES:,} classes in the column {column!r} of {name}, but it has more."
                    )
    if not sum(counts):
        raise ValueError(f"Expected at least one row in {name}, but it has none.")
    return counts, list(values), feature, column


def _joint_type(first: pa.DataType, second: pa.DataType, where: str) -> pa.DataType:
    """Return the type that holds the values of two batches: nothing and anything, or two kinds of numbers."""
    try:
        schemas = [pa.schema([("label", kind)]) for kind in (first, second)]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        raise ValueError(f"Expected labels of one type in {where}, but they are {first} and {second}.") from None
