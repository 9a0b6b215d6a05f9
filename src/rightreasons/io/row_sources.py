"""Sources of rows before they are opened: which rows are meant, and which values make arms.

`add_row_options` adds `--where` to a source; `list_values` lists what `--by` makes arms of;
`add_settled_checks` reads which doubts about rows a data.yaml says are settled.
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
    """Return a source of rows with the options that say which of its rows are meant.

    Args:
        source: Anything that `as_table` takes.
        options: Those options, perhaps among others.

    Returns:
        The source itself if no such option was given.
    """
    names = RowOptions.list_names()
    changes = {name: value for name, value in options.get_changes().items() if name in names}
    # Sources in memory keep their type unless rows are chosen.
    if not changes or source is None:
        return source
    description = read_description(source)
    return dataclasses.replace(description, settings={**description.settings, **changes})


def add_settled_checks(options: AuditOptions, *sources: Any) -> AuditOptions:
    """Return the options of an audit with the checks of rows that its data.yaml says are settled.

    Args:
        options: The options; checks that they name come before those of a data.yaml.
        *sources: The data and the predictions, None for none.
    """
    if options.settled_checks:
        return options
    for source in sources:
        # A source in memory settles none.
        settled = read_description(source).complete(CheckOptions()).settled_checks
        if settled:
            return options.replace(settled_checks=settled)
    return options


def list_values(source: Any, column: str) -> list[Any]:
    """Return the distinct values of a column, each of which is an arm of a comparison.

    Raises:
        OptionError: If there is no such column, or it has one value or too many.
    """
    tables = as_table(source)
    parts: Mapping[str, datasets.Dataset] = {"": tables}
    if not isinstance(tables, datasets.Dataset):
        parts = tables
    # The order of the rows is that of the reports.
    values: dict[Any, None] = {}
    for data in parts.values():
        check_column_name(data, column, "by", "the table")
        values |= dict.fromkeys(get_values(data, column))
    if not 1 < len(values) <= MAX_ARMS:
        raise OptionError(
            f"Expected a column of 2 to {MAX_ARMS} values in `by`, but {column!r} has "
            f"{len(values):,}.",
            option="by",
        )
    return list(values)
