"""`rightreasons data list | build NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()


@app.callback()
def data() -> None:
    """List the data sets, or write one as files."""


@app.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` know."""
    from rightreasons.data.catalog import available_datasets, builder_class

    names = available_datasets()
    width = max((len(name) for name in names), default=0)
    for name in names:
        typer.echo(f"{name:<{width}}  {builder_class(name).DESCRIPTION}")


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="One of `rightreasons data list`.", metavar="NAME", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The folder to write; the name of the data set by default.")] = None,
    config: Annotated[str | None, typer.Option(help="The configuration; the first by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="A folder of local copies of the source files.")] = None,
) -> None:
    """Write a data set as parquet files, one a split, which `datasets.load_dataset(FOLDER)` opens."""
    from rightreasons.data.catalog import load_dataset

    folder = out or Path(name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"Expected --out to be a new or an empty folder, but {folder} holds other files.")
    splits = load_dataset(name, config, data_dir=data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for split, rows in splits.items():
        rows.to_parquet(folder / f"{split}.parquet")
        typer.echo(f"{split}: {len(rows):,} rows")
    typer.echo(f"Data: {folder}")
