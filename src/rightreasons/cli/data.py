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
    from rightreasons.data.builders.catalog import available_datasets, builder_class

    names = available_datasets()
    width = max((len(name) for name in names), default=0)
    for name in names:
        typer.echo(f"{name:<{width}}  {builder_class(name).DESCRIPTION}")


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="One of `rightreasons data list`.", metavar="NAME", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The folder to write; the name of the data set by default.")] = None,
    config: Annotated[
        str | None, typer.Option(help="The configurations, parted by commas; all of them by default.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="A folder of local copies of the source files.")] = None,
) -> None:
    """Write a data set as parquet files with a card, which `datasets.load_dataset(FOLDER)` opens."""
    from rightreasons.data.builders.publish import publish

    configs = None if config is None else [part.strip() for part in config.split(",")]
    typer.echo(f"Data: {publish(name, out or Path(name), configs=configs, data_dir=data_dir)}")
