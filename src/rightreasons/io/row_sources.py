"""Options on the rows of a source, before it is opened.

`add_row_options` adds `--where` to a source; `list_values` lists the values of the column that `--by`
names, each of which is audited; `add_settled_checks` reads from a data.yaml which doubts are settled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import datasets

from rightreasons.core.errors import OptionError
from rightreasons.io.columns import check_column_name, get_values
from rightreasons.io.descriptions import read_description
from rightreasons.io.options import AuditOptions, CheckOptions, RowOptions
from rightreasons.io.reading import as_table

MAX_ARMS = 20
"""The maximum number of values of a column that is audited value by value."""


def add_row_options(source: Any, options: RowOptions) -> Any:
    """Attach the options that select rows, such as `--where`, to a source of rows.

    Args:
        source: Anything that `as_table` accepts; None for no source.
        options: Options, of which only those of `RowOptions` are used.

    Returns:
        A description of the source with the options that were changed. If none was changed, the source
        itself, so that a table in memory keeps its type.
    """
    names = RowOptions.list_names()
    changes = {name: value for name, value in options.get_changes().items() if name in names}
    # Without changes, a table in memory does not become a description.
    if not changes or source is None:
        return source
    description = read_description(source)
    return dataclasses.replace(description, settings={**description.settings, **changes})


def add_settled_checks(options: AuditOptions, *sources: Any) -> AuditOptions:
    """Add the checks of rows that a data.yaml lists as settled to the options of an audit.

    Args:
        options: The options, returned unchanged if they name settled checks themselves.
        *sources: The data and the predictions: a data.yaml, another source, which has no settings, or
            None. The first data.yaml with settled checks is used.
    """
    # Checks that the user names replace those of a data.yaml.
    if options.settled_checks:
        return options
    for source in sources:
        settled = read_description(source).complete(CheckOptions()).settled_checks
        if settled:
            return options.replace(settled_checks=settled)
    return options


def list_values(source: Any, column: str) -> list[Any]:
    """Return the distinct values of a column, in the order of the rows, for an audit value by value.

    Args:
        source: Anything that `as_table` accepts.
        column: The column, such as "system".

    Raises:
        OptionError: If there is no such column, or it has fewer than 2 or more than `MAX_ARMS` values.
    """
    tables = as_table(source)
    parts: Mapping[str, datasets.Dataset] = {"": tables}
    if not isinstance(tables, datasets.Dataset):
        parts = tables
    # A dictionary drops repeated values, and keeps the order of the rows.
    values: dict[Any, None] = {}
    for data in parts.values():
        check_column_name(data, column, "by", "the table")
        values |= dict.fromkeys(get_values(data, column))
    if not 1 < len(values) <= MAX_ARMS:
        raise OptionError(
            f"Expected a column with 2 to {MAX_ARMS} distinct values in `by`, but {column!r} has "
            f"{len(values):,}.",
            option="by",
        )
    return list(values)
