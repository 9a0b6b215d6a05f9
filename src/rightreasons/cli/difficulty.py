"""`rightreasons difficulty MODEL DATASET`: which examples is a model fragile on, and why?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line

if TYPE_CHECKING:
    from rightreasons.audit.runner import AuditResult

app = command_line()

RANKING = "ranking.csv"
LONGEST = 90
"""Characters of a text that are printed."""


@app.command()
def difficulty(
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
    out: Annotated[Path, typer.Option(help="The folder of the report and the ranking.")] = Path("difficulty"),
    top: Annotated[int, typer.Option(help="How many of the hardest items to print.")] = 10,
    limit: Annotated[int | None, typer.Option(help="At most so many items.")] = None,
    seed: Annotated[int, typer.Option(help="Decides every random choice.")] = 0,
    split: Annotated[str | None, typer.Option(help="The split; the first of test, validation with labels.")] = None,
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
    """Rank the items of a data set by how fragile the model's prediction is, and say which words make it so."""
    from rightreasons.audit.runner import audit
    from rightreasons.cli._show import show_audit
    from rightreasons.validation import check_count

    check_count(top, "top", minimum=0)
    most = {} if limit is None else {"difficulty": {"items": limit}}
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
        options=most,
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
