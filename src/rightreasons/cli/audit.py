"""`rightreasons audit MODEL DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()


@app.command()
def audit(
    model: Annotated[
        str, typer.Argument(help="A folder or a hub id of a classifier.", metavar="MODEL", show_default=False)
    ],
    dataset: Annotated[
        str,
        typer.Argument(
            help="A name of `rightreasons data list`, a hub id, or a local csv, tsv, jsonl or parquet file or folder.",
            metavar="DATASET",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder of the report.")] = Path("report"),
    questions: Annotated[
        str | None, typer.Option(help="Questions to ask, parted by commas; all that apply by default.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many items of each split.")] = None,
    seed: Annotated[int, typer.Option(help="Decides every random choice.")] = 0,
    split: Annotated[
        str | None, typer.Option(help="The splits to audit, parted by commas; the headlines are about the first.")
    ] = None,
    config: Annotated[str | None, typer.Option(help="The configuration of the dataset.")] = None,
    task: Annotated[
        str | None, typer.Option(help="classification or multiple_choice; what the model is, by default.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="The column of texts (or prompts).")] = None,
    text_pair_column: Annotated[str | None, typer.Option(help="The column of second texts.")] = None,
    label_column: Annotated[str | None, typer.Option(help="The column of labels.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="A folder of local copies of known datasets.")] = None,
    revision: Annotated[str | None, typer.Option(help="The revision of a model on the hub.")] = None,
    batch_size: Annotated[int, typer.Option(help="Items a batch.")] = 32,
    n_resamples: Annotated[int, typer.Option(help="Resamples of every bootstrap.")] = 1000,
    confidence_level: Annotated[float, typer.Option(help="The level of every interval.")] = 0.95,
) -> None:
    """Ask whether a model is right for the right reasons, and write the report."""
    from rightreasons.audit.runner import audit as run
    from rightreasons.cli._show import show_audit

    result = run(
        model,
        dataset,
        out=out,
        questions=_names(questions),
        limit=limit,
        seed=seed,
        split=split,
        config=config,
        task=task,
        text_column=text_column,
        text_pair_column=text_pair_column,
        label_column=label_column,
        data_dir=data_dir,
        revision=revision,
        batch_size=batch_size,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
    )
    show_audit(result)


def _names(questions: str | None) -> list[str] | None:
    return None if questions is None else [name.strip() for name in questions.split(",") if name.strip()]
