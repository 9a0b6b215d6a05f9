"""`rightreasons audit MODEL DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import (
    BatchSize,
    ConfidenceLevel,
    ConfigName,
    DataDir,
    Dataset,
    LabelColumn,
    LimitEach,
    Model,
    ReportFolder,
    Resamples,
    Revision,
    Seed,
    Task,
    TextColumn,
    TextPairColumn,
)

app = command_line()


@app.command()
def audit(
    model: Model,
    dataset: Dataset,
    out: ReportFolder = Path("report"),
    questions: Annotated[
        str | None, typer.Option(help="Questions to ask, parted by commas; all that apply by default.")
    ] = None,
    limit: LimitEach = None,
    seed: Seed = 0,
    split: Annotated[
        str | None, typer.Option(help="The splits to audit, parted by commas; the headlines are about the first.")
    ] = None,
    config: ConfigName = None,
    task: Task = None,
    text_column: TextColumn = None,
    text_pair_column: TextPairColumn = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    revision: Revision = None,
    batch_size: BatchSize = 32,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
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
