"""The commands that list data sets and their known issues; the other commands on data sets have files of their own.

Each of these files adds its commands to the group when it is imported.
"""

from __future__ import annotations

from typing import Annotated

import typer

from rightreasons.cli import exporting as exporting
from rightreasons.cli import hand_over
from rightreasons.cli import item_sheets as item_sheets
from rightreasons.cli import item_subsets as item_subsets
from rightreasons.cli.data_group import DATA
from rightreasons.cli.label_review import LABELS
from rightreasons.cli.show import print_rows

# Sheets of labels that a model contradicts are reviewed like other sheets of items.
DATA.add_typer(LABELS, name="labels")

COMMANDS = {"data": DATA}


@DATA.callback()
def data() -> None:
    """List and export data sets, split items into Easy and Hard, and have items and labels reviewed by people."""


@DATA.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` accept."""
    from rightreasons.datasets.builder import available_datasets, get_builder_class

    descriptions = {}
    for name in available_datasets():
        descriptions[name] = get_builder_class(name).DESCRIPTION
    hand_over(descriptions)
    print_rows(descriptions.items(), indent="", texts=(0, 1))


@DATA.command("issues")
def list_issues(
    dataset: Annotated[str, typer.Argument(help="A known data set.", metavar="DATASET")],
) -> None:
    """List the known issues of a data set, and which of them are corrected."""
    from rightreasons.datasets.builder import get_builder_class
    from rightreasons.datasets.issues.table import get_table

    # An unknown name raises an error here. A known data set may have no issues.
    get_builder_class(dataset)
    issues = get_table(dataset)
    hand_over([issue.model_dump(mode="json", by_alias=True) for issue in issues])
    rows = []
    for issue in issues:
        size = ""
        if issue.count is not None:
            size = f"{issue.count:,} of {issue.n_items:,}"
        # An issue with weak evidence is not corrected unless the user asks for it.
        effect = f"{issue.evidence}, off"
        if issue.is_active:
            effect = issue.action
        scope = issue.test or issue.split or "all"
        rows.append((scope, issue.kind, size, effect, issue.reason))
    print_rows(rows, indent="", texts=(0, 1, 3, 4))
    if not rows:
        typer.echo(f"No known issues of {dataset}.")
