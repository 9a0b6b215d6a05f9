"""`rightreasons difficulty MODEL DATASET`: which examples is a model fragile on, and why?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import (
    BatchSize,
    ConfidenceLevel,
    ConfigName,
    DataDir,
    Dataset,
    LabelColumn,
    Limit,
    Model,
    Resamples,
    Revision,
    Seed,
    Task,
    TextColumn,
    TextPairColumn,
)

if TYPE_CHECKING:
    from rightreasons.auditing.runner import AuditResult

app = command_line()

RANKING = "ranking.csv"
LONGEST = 90
"""Characters of a text that are printed."""


@app.command()
def difficulty(
    model: Model,
    dataset: Dataset,
    out: Annotated[Path, typer.Option(help="The folder of the report and the ranking.")] = Path("difficulty"),
    top: Annotated[int, typer.Option(help="How many of the hardest items to print.")] = 10,
    limit: Limit = None,
    seed: Seed = 0,
    split: Annotated[str | None, typer.Option(help="The split; the first of test, validation with labels.")] = None,
    config: ConfigName = None,
    task: Task = None,
    text_column: TextColumn = None,
    text_pair_column: TextPairColumn = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    revision: Revision = None,
    neighbors: Annotated[
        str, typer.Option(help="Words that stand in for others: same_class (of the predicted class) or any.")
    ] = "same_class",
    data_map: Annotated[
        Path | None, typer.Option(help="A folder of DataMapCallback, of training on these items, to compare with.")
    ] = None,
    batch_size: BatchSize = 32,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
) -> None:
    """Rank the items of a data set by how fragile the model's prediction is, and say which words make it so."""
    from rightreasons.auditing.runner import audit
    from rightreasons.cli._show import show_audit
    from rightreasons.foundations.validation import check_count

    check_count(top, "top", minimum=0)
    options = {"items": limit, "neighbors": neighbors, "data_map": None if data_map is None else str(data_map)}
    result = audit(
        model,
        dataset,
        out=out,
        questions=["difficulty"],
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
        options={"difficulty": {name: value for name, value in options.items() if value is not None}},
    )
    _show(result, top)
    show_audit(result)


def _show(result: AuditResult, top: int) -> None:
    (outcome,) = result.outcomes
    if outcome.result is None:
        return
    rows: list[dict[str, Any]] = outcome.result.data["ranking"]
    file = result.page.parent / RANKING
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "words": " ".join(row["words"])} for row in rows)
    shown = {
        example.id: example for part in outcome.result.parts for list_ in part.examples for example in list_.examples
    }
    typer.secho(f"{'':>4}  {'eigenvalue':>11}  {'confidence':>10}  prediction (label): words that move it", bold=True)
    for place, row in enumerate(rows[:top], start=1):
        label = f" ({row['label']})" if row["label"] else ""
        typer.echo(
            f"{place:>4}  {row['eigenvalue']:>11.4g}  {row['confidence']:>10.3f}  {row['prediction']}{label}: "
            f"{', '.join(row['words'])}   [{row['id']}]"
        )
        example = shown.get(row["id"])
        if example is not None:
            text = " ".join(example.text.split())
            typer.echo(f"{'':>31}{text[:LONGEST]}{'…' if len(text) > LONGEST else ''}")
            if ". " in example.note:
                typer.echo(f"{'':>31}{example.note.split('. ', 1)[1]}")
    typer.echo(f"\nRanking of {len(rows):,} items: {file}")
