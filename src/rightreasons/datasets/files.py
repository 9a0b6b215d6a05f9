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
    """Return the types of the columns id, text and label with named labels, and of further columns.

    Args:
        label_names: Names of the classes, in the order of their ids.
        **extra: Further column -> its type, such as `text_pair=datasets.Value("string")`.
    """
    # The id of a class is the position of its name, so that names have to differ.
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
    """Return the types of the columns id, prompt, choices and label, and of further columns.

    Args:
        **extra: Further column -> its type, such as `source_id=datasets.Value("string")`.
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
    """Return the lines of a text file, without their line ends.

    Only a line feed, or a carriage return with a line feed, ends a line. `str.splitlines` would also
    split at other characters, such as Unicode's line separators, so that line i of a file of texts
    would not belong to line i of the file of their labels.

    Args:
        file: The file.
        encoding: The encoding of the file.
    """
    # Read bytes, because a file that is opened as text has a line end at every carriage return.
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
        # A downloaded copy has no suffix. A parquet file begins with these four bytes.
        is_parquet = stream.read(4) == b"PAR1"
        stream.seek(0)
        if is_parquet:
            # Read a few rows at once, because a file may not fit into memory.
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=1024):
                yield from batch.to_pylist()
        else:
            for line in stream:
                yield json.loads(line)
