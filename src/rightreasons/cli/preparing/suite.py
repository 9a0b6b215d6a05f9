"""`rightreasons suite show | write`: look at a behavioral suite, or write its cases out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.options import DataDir, SuiteName, TextColumns
from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.data.suites.suite import Suite

app = command_line()

EXAMPLES = (
    "rightreasons suite show my_suite.jsonl --cases 3",
    "rightreasons suite write checklist_sentiment suite.parquet",
)


@app.callback()
def suite() -> None:
    """Show what a behavioral suite asks, or write all its cases to a file."""


@app.command()
def show(
    suite: SuiteName,
    data_dir: DataDir = None,
    text_columns: TextColumns = None,
    cases: Annotated[int, typer.Option(help="Cases shown per functionality.", min=0)] = 2,
) -> None:
    """Show the functionalities of a suite, with the first cases of each."""
    opened = _open(suite, data_dir, text_columns)
    for functionality in opened.functionalities:
        typer.secho(
            f"{functionality.test_type} {functionality.functionality_class}: {functionality.name}, "
            f"{counted(len(functionality.cases), 'case')}",
            bold=True,
        )
        if functionality.expectation["name"] == "unknown":
            typer.echo(f"  nothing is asked: {functionality.expectation['why']}")
        for case in functionality.cases[:cases]:
            for index, texts in enumerate(case.examples):
                label = None if case.labels is None else case.labels[index]
                if opened.label_names is not None and isinstance(label, int) and label >= 0:
                    label = opened.label_names[label]
                typer.echo(
                    f"  {'-' if index == 0 else ' '} {' | '.join(texts)}{'' if label is None else f'  [{label}]'}"
                )
    _show_size(opened)


@app.command()
def write(
    suite: SuiteName,
    out: Annotated[Path, typer.Argument(help=".jsonl, .jsonl.gz or .parquet file.", metavar="OUT")],
    data_dir: DataDir = None,
    text_columns: TextColumns = None,
) -> None:
    """Write a suite with all its cases, including those that its templates and perturbations generate."""
    if not out.name.endswith((".jsonl", ".jsonl.gz", ".parquet")):
        raise ValueError(f"Expected OUT to end in .jsonl, .jsonl.gz or .parquet, but got {out.name!r}.")
    from rightreasons.foundations.atomic_write import check_file

    check_file(out, "OUT")
    opened = _open(suite, data_dir, text_columns)
    opened.write(out)
    _show_size(opened)
    typer.echo(f"Suite: {out}")


def _open(suite: str, data_dir: Path | None, text_columns: str | None) -> Suite:
    from rightreasons.data.suites.opening import open_suite
    from rightreasons.foundations.options import listed

    return open_suite(suite, data_dir=data_dir, text_columns=listed(text_columns))


def _show_size(suite: Suite) -> None:
    if suite.label_names is not None:
        typer.echo(f"Labels: {', '.join(f'{number} {name}' for number, name in enumerate(suite.label_names))}")
    typer.echo(
        f"{suite.name}: {counted(len(suite.functionalities), 'functionality', 'functionalities')}, "
        f"{counted(suite.n_cases, 'case')}, "
        f"{counted(suite.n_examples, 'example')}"
    )
