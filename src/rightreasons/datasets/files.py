"""Readers of simple files, and the columns that data sets share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.core.labels.names import check_label_names


def make_classification_features(label_names: Sequence[str], **extra: Any) -> datasets.Features:
    """Return the columns id, text and label with named labels, and those that a data set adds.

    Args:
        label_names: The names of the classes, in the order of their ids.
        **extra: Column -> feature.
    """
    # The names decide the ids of the classes, so they have to differ.
    names = list(check_label_names(label_names))
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=names),
            **extra,
        }
    )


def make_multiple_choice_features(**extra: Any) -> datasets.Features:
    """Return the columns id, prompt, choices and label, and those that a data set adds.

    Args:
        **extra: Column -> feature.
    """
    return datasets.Features(
        {
            "id": datasets.Value("string"),
            "prompt": datasets.Value("string"),
            "choices": datasets.List(datasets.Value("string")),
            "label": datasets.Value("int64"),
            **extra,
        }
    )


def read_lines(file: str | os.PathLike[str], encoding: str = "utf-8") -> list[str]:
    """Return the lines of a text file, without their ends.

    Only a newline ends a line. `str.splitlines` would also break a text at Unicode's line separators,
    and misalign two files that belong together line by line.

    Args:
        file: The file.
        encoding: Its encoding.
    """
    # Decoded from bytes, as opening a file as text would turn a lone carriage return into a line end.
    text = Path(file).read_bytes().decode(encoding).replace("\r\n", "\n")
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def read_table(file: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the fields of each line of a tab-separated file without quoting."""
    for line in read_lines(file):
        yield line.split("\t")


def read_rows(file: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a parquet or JSON-lines file as column -> value.

    Args:
        file: A local path, or an address on the hub (hf://…).
    """
    import pyarrow.parquet as pq

    # Unlike `open`, this reads hf:// addresses, too.
    from datasets.utils.file_utils import xopen

    with xopen(file, "rb") as stream:
        # Downloaded copies have no suffix: the first bytes of the file tell its format.
        is_parquet = stream.read(4) == b"PAR1"
        stream.seek(0)
        if is_parquet:
            # Batches keep the memory small if a file of the hub is streamed.
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=1024):
                yield from batch.to_pylist()
        else:
            for line in stream:
                yield json.loads(line)
