"""`rightreasons audit MODEL DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import (
    SUITE_HELP,
    BatchSize,
    ConfidenceLevel,
    ConfigName,
    DataDir,
    Dataset,
    LabelColumn,
    LimitEach,
    MaxCases,
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
    suite: Annotated[
        str | None, typer.Option(help=f"For the question behavior. {SUITE_HELP}", show_default=False)
    ] = None,
    max_cases: MaxCases = None,
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
    from rightreasons.auditing.runner import audit as run
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
        options=_options(suite, max_cases, data_dir),
    )
    show_audit(result)


def _options(suite: str | None, max_cases: int | None, data_dir: Path | None) -> dict[str, Any]:
    if suite is None:
        if max_cases is not None:
            raise ValueError("Expected --suite where --max-cases is given, but there is none.")
        return {}
    given = {"suite": suite, "max_cases": max_cases, "data_dir": None if data_dir is None else str(data_dir)}
    return {"behavior": {name: value for name, value in given.items() if value is not None}}


def _names(questions: str | None) -> list[str] | None:
    return None if questions is None else [name.strip() for name in questions.split(",") if name.strip()]
