"""Arguments and options that several commands share, so that they are called and explained alike."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    str, typer.Argument(help="A folder or a hub id of a classifier.", metavar="MODEL", show_default=False)
]
Dataset = Annotated[
    str,
    typer.Argument(
        help="A name of `rightreasons data list`, a hub id, or a local csv, tsv, jsonl or parquet file or folder.",
        metavar="DATASET",
        show_default=False,
    ),
]
ConfigName = Annotated[str | None, typer.Option(help="The configuration of the dataset.")]
DataDir = Annotated[Path | None, typer.Option(help="A folder of local copies of known datasets.")]
Limit = Annotated[int | None, typer.Option(help="At most so many items.")]
LimitEach = Annotated[int | None, typer.Option(help="At most so many items of each split.")]
Task = Annotated[str | None, typer.Option(help="classification or multiple_choice; what the model is, by default.")]
TextColumn = Annotated[str | None, typer.Option(help="The column of texts (or prompts).")]
TextPairColumn = Annotated[str | None, typer.Option(help="The column of second texts.")]
LabelColumn = Annotated[str | None, typer.Option(help="The column of labels.")]
RightChoiceColumn = Annotated[str | None, typer.Option(help="The column of the right choice.")]
PromptColumn = Annotated[str | None, typer.Option(help="The columns of prompts, parted by commas.")]
ChoicesColumn = Annotated[
    str | None, typer.Option(help="The column of the list of choices, or one column a choice, parted by commas.")
]
Revision = Annotated[str | None, typer.Option(help="The revision of a model on the hub.")]
BatchSize = Annotated[int, typer.Option(help="Items a batch.")]
Resamples = Annotated[int, typer.Option(help="Resamples of every bootstrap.")]
ConfidenceLevel = Annotated[float, typer.Option(help="The level of every interval.")]
Seed = Annotated[int, typer.Option(help="Decides every random choice.")]
SUITE_HELP = (
    "A .jsonl, .jsonl.gz or .parquet suite, a CSV in the form of HateCheck, or checklist_sentiment, "
    "checklist_paraphrase or checklist_reading."
)
SuiteName = Annotated[str, typer.Argument(help=SUITE_HELP, metavar="SUITE", show_default=False)]
MaxCases = Annotated[int | None, typer.Option(help="At most so many cases of each functionality of a suite.")]
ReportFolder = Annotated[Path, typer.Option(help="The folder of the report.")]
