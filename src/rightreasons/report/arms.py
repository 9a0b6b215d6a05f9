"""One audit for each value of a column, as for several systems, seeds or raters in one table.

`audit_arms` is what `rightreasons audit --by COLUMN` runs.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets

from rightreasons.audited.splits import safe_name
from rightreasons.core.errors import OptionError
from rightreasons.core.store import check_folder
from rightreasons.io.columns import check_column_name, get_values, quote_column
from rightreasons.io.options import StoredOptions
from rightreasons.io.reading import as_table
from rightreasons.io.row_checks import MAX_ARMS
from rightreasons.models.wording import Prompt
from rightreasons.report.request import resolve_inputs, select_options
from rightreasons.report.runner import AuditResult, audit


@dataclasses.dataclass(frozen=True)
class Arm:
    """The audit of the rows with one value.

    Attributes:
        name: Value of the column.
        result: The audit.
    """

    name: str
    result: AuditResult


def audit_arms(
    model: Any = None,
    dataset: Any = None,
    *,
    by: str,
    out: str | os.PathLike[str] = "report",
    tell: Callable[[str], object] | None = None,
    **settings: Any,
) -> list[Arm]:
    """Audit the rows of each value of a column, each into its own folder.

    Args:
        model: The model, or a file of predictions, as in `audit`.
        dataset: The data, as in `audit`; None if the predictions contain it.
        by: Name of a column with 2 to 20 distinct values, such as "seed".
        out: Folder of the reports; each report is in a subfolder that is named after its value.
        tell: Called with messages, such as "seed = 3" before the audit of these rows.
        **settings: Further options of `audit`, such as `predictions`.

    Returns:
        The audits in the order in which the values occur.

    Raises:
        ValueError: If there is no such column, it has other numbers of values, or an audit fails.
    """
    if settings.get("where") is not None:
        raise OptionError("Expected `by` or `where`, but got both.", option=("by", "where"))
    # A single file may be the model's predictions, even if it is passed as the model.
    predictions = settings.pop("predictions", None)
    stored = select_options(StoredOptions, settings)
    model, dataset, predictions = resolve_inputs(model, dataset, predictions, stored, Prompt())
    rows_source = dataset
    if predictions is not None:
        rows_source = predictions
        settings["predictions"] = predictions
    values = list_values(rows_source, by)
    # A value is any string, which may not be allowed as the name of a folder.
    folder_names = [safe_name(str(value)) for value in values]
    if len(set(folder_names)) < len(folder_names):
        raise OptionError(
            f"Expected values of {by!r} that give different folder names, but got {values}.",
            option="by",
        )
    folder = check_folder(out, own=folder_names)

    arms = []
    for folder_name, value in zip(folder_names, values, strict=True):
        if tell is not None:
            tell(f"{by} = {value}")
        # The condition has the form of `--where`, so that the command in the report repeats it.
        condition = f"{quote_column(by)} is none"
        if value is not None:
            condition = f"{quote_column(by)} == {json.dumps(value, ensure_ascii=False)}"
        result = audit(
            model, dataset, out=Path(folder, folder_name), where=condition, tell=tell, **settings
        )
        arms.append(Arm(str(value), result))
    return arms


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
