"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.measuring.options import SUITE_HELP, TEXT_COLUMNS_HELP


def writable(file: Path | None) -> Path | None:
    """Check the file that a command writes before it begins."""
    from rightreasons.foundations.atomic_write import check_file

    return None if file is None else check_file(file)


Model = Annotated[
    str,
    typer.Argument(
        help="Folder or hub id of a classifier, a multiple-choice model or a causal language model.",
        metavar="MODEL",
        show_default=False,
    ),
]
Dataset = Annotated[
    str,
    typer.Argument(
        help="Name from `rightreasons data list`, hub id, or local csv, tsv, jsonl or parquet file or folder.",
        metavar="DATASET",
        show_default=False,
    ),
]
OptionalModel = Annotated[
    str | None,
    typer.Argument(
        help="Folder or hub id of a classifier, a multiple-choice model or a causal language model; or, alone, a file "
        "of predictions.",
        metavar="MODEL",
        show_default=False,
    ),
]
OptionalDataset = Annotated[
    str | None,
    typer.Argument(
        help="Name from `rightreasons data list`, hub id, or local csv, tsv, jsonl or parquet file or folder.",
        metavar="DATASET",
        show_default=False,
    ),
]
ConfigName = Annotated[str | None, typer.Option(help="Configuration of the dataset.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of local copies of known datasets.")]
Split = Annotated[
    str | None, typer.Option(help="Split; by default the first of test, validation and dev with labels, or else any.")
]
Limit = Annotated[int | None, typer.Option(help="Maximum number of items.")]
LimitEach = Annotated[int | None, typer.Option(help="Maximum number of items per split.")]
LabelColumn = Annotated[str | None, typer.Option(help="Column of the labels.")]
BatchSize = Annotated[int, typer.Option(help="Items per batch.")]
Resamples = Annotated[int, typer.Option(help="Resamples of each bootstrap.")]
ConfidenceLevel = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
SuiteName = Annotated[str, typer.Argument(help=SUITE_HELP, metavar="SUITE", show_default=False)]
TextColumns = Annotated[str | None, typer.Option(help=TEXT_COLUMNS_HELP)]
Out = Annotated[Path, typer.Option(help="Folder of the report.")]
Open = Annotated[bool, typer.Option("--open", help="Open the report in a browser when it is written.")]
FiguresFile = Annotated[Path | None, typer.Option(help="File for all figures, as JSON.", callback=writable)]


def asked_file(flag: str) -> Any:
    """Declare the file of the figures of a command that asks a model where a flag is given."""
    told = (
        f"File for all figures, as JSON; with --{flag}, what the model answers is kept beside it, and the same command "
        "goes on from there."
    )
    return typer.Option(help=told, callback=writable)


def answers_beside(out: Path | None) -> Path | None:
    """Return the folder where a command keeps what a model answers, beside the file of its figures."""
    return None if out is None else out.with_name(f"{out.stem}-answers")


def check_unread(flag: str, does: str, given: Mapping[str, Any]) -> None:
    """Check that no option is given that is read only with a flag.

    Raises:
        ValueError: If one is.
    """
    unread = next((name for name, value in given.items() if value is not None), None)
    if unread is not None:
        option = unread.replace("_", "-")
        raise ValueError(f"Expected --{flag}, which {does}, where --{option} is given, but there is none.")
