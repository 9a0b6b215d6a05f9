"""Folders of text files, one file per item, in a folder for each label: `positive/1.txt`, `train/spam/mail-7.txt`.

`read_text_folder` is the entry point. scikit-learn (`load_files`) and Keras read the same layout.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rightreasons.core.limits import MAX_CELL_CHARACTERS
from rightreasons.core.sentences import format_list
from rightreasons.core.validation import check_at_most
from rightreasons.io.files.splits import find_split, sort_splits
from rightreasons.io.files.text_files import find_encoding

SUFFIX = ".txt"


class TextFile(NamedTuple):
    """A file that holds the text of one item.

    Attributes:
        path: Path relative to the folder of data, with slashes.
        split: Name of the split; "train" if no folder names one.
        label: Name of the folder that contains the file.
    """

    path: str
    split: str
    label: str


def read_text_folder(path: Path) -> dict[str, pa.Table]:
    """Read a folder of text files in a folder for each label.

    Args:
        path: The folder of data.

    Returns:
        Name of a split -> a table with the columns `id` (the path of the file), `text` and `label`. It is
        empty if the files are not in the folders of two or more labels.

    Raises:
        ValueError: If a file is too long, or if its encoding is not found.

    Warns:
        UserWarning: If other text files are not read.
    """
    names = _list_text_files(path)
    files = []
    for name in names:
        file = _find_label(name)
        if file is not None:
            files.append(file)
    labels = set()
    for file in files:
        labels.add(file.label)
    # A single folder holds parts of a data set, and not a class.
    if len(labels) < 2:
        return {}
    _warn_of_unread_files(names, files, path)

    rows_by_split: dict[str, list[TextFile]] = {}
    for file in files:
        rows_by_split.setdefault(file.split, []).append(file)
    tables = {}
    for split, rows in sort_splits(rows_by_split).items():
        table = []
        for row in rows:
            # The path is unique, and leads a reader from an item of the report to its file.
            table.append({"id": row.path, "text": _read_text(path / row.path), "label": row.label})
        tables[split] = pa.Table.from_pylist(table)
    return tables


def _list_text_files(path: Path) -> list[str]:
    """Return the text files below a folder, sorted, as paths with slashes relative to it."""
    files = []
    for file in path.rglob(f"*{SUFFIX}"):
        name = file.relative_to(path)
        # Hidden files and folders, such as those of version control, are no data.
        is_hidden = any(part.startswith(".") for part in name.parts)
        if not is_hidden and file.is_file():
            files.append(name.as_posix())
    return sorted(files)


def _find_label(name: str) -> TextFile | None:
    """Return the split and the label of a text file; None if it is not in the folder of a label.

    Args:
        name: Path of the file, relative to the folder of data.
    """
    *folders, label, _ = ["", *Path(name).parts]
    # Files next to the folders, and files directly in the folder of a split, have no label.
    if not label or find_split(label):
        return None
    splits = filter(None, map(find_split, folders))
    # Texts that are in no folder of a split are one split.
    return TextFile(name, next(splits, "train"), label)


def _warn_of_unread_files(names: list[str], files: list[TextFile], path: Path) -> None:
    """Warn of text files that have no label, as they may have been meant to be read."""
    read_names = {file.path for file in files}
    unread_names = sorted(set(names) - read_names)
    if unread_names:
        warnings.warn(
            f"Text files of {path} that are not in the folder of a label are not read: "
            f"{format_list(unread_names)}.",
            stacklevel=3,
        )


def _read_text(path: Path) -> str:
    """Read a text in its encoding, if it is not longer than a cell may be."""
    encoding = find_encoding(path, path.name, None)
    check_at_most(path.stat().st_size, MAX_CELL_CHARACTERS, "bytes", path)
    return path.read_text(encoding=encoding)
