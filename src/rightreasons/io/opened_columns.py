"""Columns of a file or a table, such as one of stored predictions.

`read_columns` opens a source of rows, and returns all columns, including the fields and expressions that
options name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rightreasons.core.options import Options, parse_names
from rightreasons.io.arrow_tables import only_part
from rightreasons.io.columns import Column, Columns, add_nested_columns, get_cells, is_expression
from rightreasons.io.descriptions import OptionsOfTable, read_description
from rightreasons.io.joined_files import JoinedFiles, name_file
from rightreasons.io.label_columns import get_labels
from rightreasons.io.options import FileForm
from rightreasons.io.reading import as_table


def read_columns(source: Any, options: OptionsOfTable) -> tuple[Columns, OptionsOfTable, str]:
    """Read the columns of a table. The cells of a csv or tsv file are strings.

    Args:
        source: A file of predictions, or a table in memory, which `as_table` accepts, or a data.yaml.
        options: Options that name columns. If they name fields of objects or expressions, these become
            columns as well.

    Returns:
        A tuple of three: the columns by their names, the options completed by the settings of a data.yaml,
        and the name of the table for error messages.

    Raises:
        TypeError: If the source is neither a table nor a path.
        FileNotFoundError: If the file does not exist.
        IsADirectoryError: If the path is a folder.
        ValueError: If the file does not have the format of its suffix, has no row, or has columns of
            different lengths.
    """
    description = read_description(source)
    options = description.complete(options)
    file = description.source
    # `as_table` also accepts names of data sets and folders, which are not files of predictions.
    is_path = isinstance(file, (str, os.PathLike)) and "://" not in str(file)
    if is_path and not Path(file).is_file():
        if Path(file).is_dir():
            raise IsADirectoryError(
                f"Expected a file of predictions, but {file} is a folder: name one of its files, or "
                f"tabulate all logs in it by `rightreasons compare {file}`."
            )
        raise FileNotFoundError(
            f"Expected a file of predictions at {file}, but there is no such file."
        )
    source_name = name_source(source)
    form = FileForm(log_filter=getattr(options, "log_filter", None))
    table = only_part(as_table(description, form=form, source_name=source_name), source_name)
    data = add_nested_columns(table, list_named_columns(options))
    return get_columns(data, source_name), options, source_name


def name_source(source: Any) -> str:
    """Return the name of a source of rows for error messages; for a data.yaml, the name of its file."""
    files = read_description(source).source
    return files.name if isinstance(files, JoinedFiles) else name_file(files)


def list_named_columns(options: Options) -> list[str]:
    """Return the columns that options name, including those in comma-separated lists.

    Args:
        options: Options, of which those whose names end in "_column" or "_columns" are used.
    """
    columns: list[str] = []
    for option in options.list_names():
        if not option.endswith(("_column", "_columns")):
            continue
        value = getattr(options, option)
        # An expression is a single name, even with commas. Only `score_columns` may list several.
        if is_expression(value) and option != "score_columns":
            columns.append(value)
        else:
            columns += parse_names(value) or ()
    return columns


def get_columns(data: datasets.Dataset, source_name: str) -> Columns:
    """Return the columns of a Dataset, as arrays of numpy for floats, or else as sequences of cells.

    Args:
        data: The table.
        source_name: Name of the file, for error messages.

    Returns:
        Name -> column: an array for floats, and for lists of floats of the same length; class names for a
        ClassLabel; and a sequence of cells for any other column.

    Raises:
        ValueError: If the table has no row.
    """
    if not len(data):
        raise ValueError(f"Expected at least one row in {source_name}, but it is empty.")
    table = data.with_format("arrow")[:]
    columns: dict[str, Column] = {}
    for name, feature in data.features.items():
        # The feature of a list has the feature of its elements as an attribute.
        element_feature = getattr(feature, "feature", feature)
        if isinstance(element_feature, datasets.ClassLabel):
            columns[name] = get_labels(data, name, source_name)
        else:
            columns[name] = _get_plain_column(table.column(name))
    return columns


def _get_plain_column(column: pa.ChunkedArray) -> Column:
    """Return a column of floats, or of lists of floats of the same length, as an array; others as cells.

    Args:
        column: The column of Arrow.

    Returns:
        (N,) or (N, K) floats; a sequence of N cells if a value is missing, or not a float.
    """
    element_type = getattr(column.type, "value_type", column.type)
    if column.null_count or not pa.types.is_floating(element_type):
        return get_cells(column)
    if pa.types.is_floating(column.type):
        return np.asarray(column.to_numpy())
    widths = pc.unique(pc.list_value_length(column)).to_pylist()
    numbers = pc.list_flatten(column)
    # Lists of different lengths, empty lists, and lists with missing values do not form a matrix.
    has_one_width = len(widths) == 1 and bool(widths[0])
    if not has_one_width or numbers.null_count:
        return get_cells(column)
    return np.asarray(numbers.to_numpy()).reshape(-1, widths[0])
