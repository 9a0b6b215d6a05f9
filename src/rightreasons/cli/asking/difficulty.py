"""`rightreasons difficulty MODEL DATASET`: which examples is a model fragile on, and why?"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions
from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import Dataset, Model, Open, Out
from rightreasons.cli.asking.audit import ASKED, run_audit
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.options import DifficultyOptions

if TYPE_CHECKING:
    from rightreasons.auditing.runner import AuditResult

app = command_line()

EXAMPLES = (
    "rightreasons difficulty my-model my_reviews.csv --items 200 --top 20",
    "rightreasons difficulty my-model pairs.csv --groups-column pair --measures contrast",
)

RANKING = "ranking.csv"
LONGEST = 90
"""Characters of a text that are printed."""


@declared_command(app, "difficulty", {"settings": AuditOptions, **ASKED, "options": DifficultyOptions})
def difficulty(
    model: Model,
    dataset: Dataset,
    settings: Any,
    prompt: Any,
    server: Any,
    options: Any,
    out: Out = Path("report"),
    top: Annotated[int, typer.Option(help="Number of the hardest items to print.", min=0)] = 10,
    open_page: Open = False,
) -> None:
    """Rank the items of a data set by how fragile the model's prediction is, and say which words make it so."""
    show = functools.partial(_show, top=top)
    asked = {**settings.changed(), **prompt.changed(), **server.changed()}
    run_audit(model, dataset, out, ["difficulty"], asked, {"difficulty": options}, show, open_page=open_page)


def _show(result: AuditResult, top: int) -> None:
    outcome = result["difficulty"]
    if outcome.result is None or not result.written:
        return
    rows: list[dict[str, Any]] = outcome.result.data.get("ranking", [])
    if not rows:
        return
    shown = {
        example.id: example for part in outcome.result.parts for list_ in part.examples for example in list_.examples
    }
    measure = next(name for name in ("eigenvalue", "shift") if name in rows[0])
    typer.secho(f"{'':>4}  {measure:>11}  {'confidence':>10}  prediction (label): words that move it", bold=True)
    for place, row in enumerate(rows[:top], start=1):
        label = f" ({row['label']})" if row["label"] else ""
        typer.echo(
            f"{place:>4}  {row[measure]:>11.4g}  {row['confidence']:>10.3f}  {row['prediction']}{label}: "
            f"{', '.join(row['words'])}   [{row['id']}]"
        )
        example = shown.get(row["id"])
        if example is not None:
            text = " ".join(example.text.split())
            typer.echo(f"{'':>31}{text[:LONGEST]}{'…' if len(text) > LONGEST else ''}")
            if ". " in example.note:
                typer.echo(f"{'':>31}{example.note.split('. ', 1)[1]}")
    typer.echo(f"\nRanking of {counted(len(rows), 'item')}: {result.out / RANKING}")
