"""`rightreasons probe MODEL DATASET`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import (
    ChoicesColumn,
    ConfidenceLevel,
    ConfigName,
    DataDir,
    Dataset,
    Limit,
    PromptColumn,
    ReportFolder,
    Resamples,
    Revision,
    RightChoiceColumn,
    Seed,
)

app = command_line()


@app.command()
def probe(
    model: Annotated[
        str,
        typer.Argument(
            help="A folder or a hub id of a multiple-choice model or a causal language model, or a GGUF file.",
            metavar="MODEL",
            show_default=False,
        ),
    ],
    dataset: Dataset,
    out: ReportFolder = Path("report"),
    method: Annotated[
        str | None,
        typer.Option(
            help="How a causal language model scores a choice: mean, sum, unconditional, or letters (which sees all "
            "choices together); mean by default."
        ),
    ] = None,
    k: Annotated[str, typer.Option(help="How many choices the fourth probe adds, parted by commas.")] = "1,2,4,8",
    limit: Limit = None,
    seed: Seed = 0,
    split: Annotated[str | None, typer.Option(help="The split; test, or else validation.")] = None,
    config: ConfigName = None,
    prompt_column: PromptColumn = None,
    choices_column: ChoicesColumn = None,
    label_column: RightChoiceColumn = None,
    data_dir: DataDir = None,
    revision: Revision = None,
    batch_size: Annotated[int, typer.Option(help="Pairs a batch of a multiple-choice model.")] = 32,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
) -> None:
    """Put four confusion probes to a model: does it choose without a reason to, does it falter among more choices?"""
    from rightreasons.auditing.runner import audit
    from rightreasons.cli._choices import listed, one_or_more
    from rightreasons.cli._show import show_audit
    from rightreasons.data.opening.splits import open_splits
    from rightreasons.models.scoring.choices import load_chooser

    ks = _numbers(k)
    splits = open_splits(
        dataset,
        config,
        task="multiple_choice",
        prompt_column=listed(prompt_column),
        choices_column=one_or_more(choices_column),
        label_column=label_column,
        data_dir=data_dir,
    )
    scorer = load_chooser(model, method=method, revision=revision)
    result = audit(
        scorer,
        splits,
        name=f"{dataset} ({config})" if config else dataset,
        out=out,
        questions=["probes"],
        task="multiple_choice",
        limit=limit,
        seed=seed,
        split=split,
        batch_size=batch_size,
        n_resamples=n_resamples,
        confidence_level=confidence_level,
        options={"probes": {"ks": ks}},
        command=shlex.join(["rightreasons", *sys.argv[1:]]) if sys.argv[1:2] == ["probe"] else "",
    )
    show_audit(result)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"Expected `--k` to be whole numbers from 1, parted by commas, but got {text!r}.")
    return [int(part) for part in parts]
