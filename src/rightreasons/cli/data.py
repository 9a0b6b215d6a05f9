"""`rightreasons data list | build NAME | source FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()


@app.callback()
def data() -> None:
    """List the data sets, write one as files, or declare a source file."""


@app.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` accept."""
    from rightreasons.data.builders.catalog import available_datasets, builder_class

    names = available_datasets()
    width = max((len(name) for name in names), default=0)
    for name in names:
        typer.echo(f"{name:<{width}}  {builder_class(name).DESCRIPTION}")


@app.command()
def build(
    name: Annotated[str, typer.Argument(help="One of `rightreasons data list`.", metavar="NAME", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="The folder to write; the name of the data set by default.")] = None,
    config: Annotated[str | None, typer.Option(help="Comma-separated configurations; all of them by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder of local copies of the source files.")] = None,
    other_versions: Annotated[bool, typer.Option(help="Read local files other than the published ones.")] = False,
) -> None:
    """Write a data set as parquet files with a card; `datasets.load_dataset(FOLDER)` opens them."""
    from rightreasons.data.builders.publish import publish

    configs = None if config is None else [part.strip() for part in config.split(",")]
    folder = publish(name, out or Path(name), configs=configs, data_dir=data_dir, other_versions=other_versions)
    typer.echo(f"Data: {folder}")


@app.command()
def source(
    file: Annotated[
        Path, typer.Argument(help="A file as its publisher offers it.", metavar="FILE", show_default=False)
    ],
    url: Annotated[
        str, typer.Option(help="Its address; one that ends in a slash is that of its folder.")
    ] = "https://…",
) -> None:
    """Print the declaration of a source file, with its size and checksum, for the builder of a data set."""
    from rightreasons.data.builders.sources import Source

    declared = Source.of(file, url)
    address = url if url.endswith("/") else declared.url
    typer.echo(f'Source("{declared.path}", "{address}", {declared.size}, "{declared.sha256}"),')
