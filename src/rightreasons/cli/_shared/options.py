"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
