"""Readers of arrays of numpy, and of lines that begin with a label.

Each returns columns by their names. Cells of lines are strings, like those of a csv file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.limits import MAX_CELL_CHARACTERS

FASTTEXT_PREFIX = "__label__"
"""Prefix of each label in files of fastText."""


def read_array(path: Path, source_name: str) -> dict[str, Any]:
    """Read an array of numpy (.npy) as columns.

    Args:
        path: The file.
        source_name: Name of the file, for error messages.

    Returns:
        {"value": array} for an array of one dimension, or a column "0", "1", … for each column of an array
        of two dimensions.

    Raises:
        ValueError: If the file is not an array of numbers or strings of one or two dimensions.
    """
    try:
        # Arrays of objects are refused, because they could run code when they are loaded.
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError):
        raise ValueError(
            f"Expected a numpy array of plain values in {source_name}, but the file cannot be "
            "read as an array."
        ) from None
    if array.ndim not in (1, 2):
        raise ValueError(
            f"Expected an array of one or two dimensions in {source_name}, but got shape {array.shape}."
        )
    if array.ndim == 1:
        return {"value": array}
    columns = {}
    for column in range(array.shape[1]):
        columns[str(column)] = array[:, column]
    return columns


def read_labeled_lines(
    path: Path, line_format: str, encoding: str, source_name: str
) -> dict[str, list[str]]:
    r"""Read lines of a label and a text, such as those of fastText, TREC and SST.

    Args:
        path: The file.
        line_format: Names of the columns in their order, such as "label text". The last column contains
            the remainder of the line.
        encoding: Encoding of the file.
        source_name: Name of the file, for error messages.

    Returns:
        Column -> its cells; blank lines are skipped.

    Raises:
        OptionError: If a line has fewer words than the format has columns.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "train.txt")
        ...     _ = path.write_text("__label__up A fine film.\n__label__down Dull.\n")
        ...     read_labeled_lines(path, "label text", "utf-8", "train.txt")
        {'label': ['up', 'down'], 'text': ['A fine film.', 'Dull.']}
    """
    names = line_format.split()
    if len(names) < 2 or len(set(names)) < len(names):
        raise OptionError(
            f"Expected `line_format` to name two columns or more, as in 'label text', but got "
            f"{line_format!r}.",
            option="line_format",
        )
    columns: dict[str, list[str]] = {name: [] for name in names}
    with path.open(encoding=encoding, newline=None) as stream:
        # `iter` calls the function until it returns "", at the end of the file.
        lines = iter(lambda: stream.readline(MAX_CELL_CHARACTERS), "")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            # Texts contain spaces, so that the line is only split at the first ones.
            cells = line.split(None, len(names) - 1)
            if len(cells) < len(names):
                raise OptionError(
                    f"Expected {len(names)} parts ({line_format}) in each line of {source_name}, but line "
                    f"{number} has {len(cells)}.",
                    option="line_format",
                )
            for name, cell in zip(names, cells, strict=True):
                columns[name].append(cell.strip().removeprefix(FASTTEXT_PREFIX))
    return columns
