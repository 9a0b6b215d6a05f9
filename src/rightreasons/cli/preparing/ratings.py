"""`rightreasons ratings write | read`: how well people do on multiple-choice items, and how well they agree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import ConfidenceLevel, Dataset, FiguresFile, Limit, Seed, Split
from rightreasons.data.opening.options import SourceOptions
from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.analysis.cues.agreement import HumanPerformance

LimitSeed = Annotated[int, typer.Option(help="Seed of the choice of items, and of the order on each sheet.")]

app = command_line()

EXAMPLES = (
    "rightreasons ratings write mirrored.jsonl --raters 5 --form html --out sheets",
    "rightreasons ratings read mirrored.jsonl sheets/rater-1.csv sheets/rater-2.csv sheets/rater-3.csv",
)


@app.callback()
def ratings() -> None:
    """Write rating sheets of multiple-choice items for people, and read the answers."""


@declared_command(app, "write", {"source": SourceOptions})
def write(
    dataset: Dataset,
    source: SourceOptions,
    out: Annotated[Path, typer.Option(help="Folder of the sheets.")] = Path("sheets"),
    raters: Annotated[int, typer.Option(help="Number of raters.", min=1)] = 3,
    form: Annotated[str, typer.Option(help="csv, or html for pages to click on.")] = "csv",
    split: Split = None,
    limit: Limit = None,
    seed: LimitSeed = 0,
) -> None:
    """Write a sheet for each rater: the items in an order of its own, without labels and ids."""
    from rightreasons.cli._shared.choices import open_items
    from rightreasons.data.opening.rating_sheets import write_rating_sheets

    items, taken = open_items(dataset, source, split, limit=limit, seed=seed)
    files = write_rating_sheets(items, out, n_raters=raters, form=form, seed=seed)
    typer.echo(f"{dataset}, {taken}: {counted(len(items), 'item')}\nSheets: {', '.join(map(str, files))}")


@declared_command(app, "read", {"source": SourceOptions})
def read(
    dataset: Dataset,
    sheets: Annotated[
        list[Path], typer.Argument(help="The sheet of each rater, at least two.", metavar="SHEETS", show_default=False)
    ],
    source: SourceOptions,
    split: Split = None,
    limit: Limit = None,
    seed: Seed = 0,
    confidence_level: ConfidenceLevel = 0.95,
    out: FiguresFile = None,
) -> None:
    """Read the filled sheets: accuracy of the raters, and Fleiss' kappa; for mirrored data of each half too.

    The items are those that the sheets were written from: give the same options.
    """
    from rightreasons.analysis.cues.agreement import human_performance
    from rightreasons.cli._shared.choices import open_items
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.rating_sheets import read_rating_sheets

    items, taken = open_items(dataset, source, split, limit=limit, seed=seed)
    answers = read_rating_sheets(items, sheets)
    rows = {"all": list(range(len(items)))}
    if "mirrored" in items.column_names:
        for mirrored, name in ((False, "original"), (True, "mirrored")):
            half = [row for row, flag in enumerate(items["mirrored"][:]) if bool(flag) is mirrored]
            rows |= {name: half} if 2 <= len(half) < len(items) else {}
    figures = {
        name: human_performance(
            [answers.ratings[row] for row in half],
            [answers.references[row] for row in half],
            n_choices=answers.n_choices,
            confidence_level=confidence_level,
        )
        for name, half in rows.items()
    }
    typer.secho(f"{dataset}, {taken}: {counted(len(items), 'item')}, {counted(len(sheets), 'rater')}", bold=True)
    for name, half in rows.items():
        _show(name, len(half), figures[name])
    write_figures(out, figures)


def _show(name: str, n_items: int, figures: HumanPerformance) -> None:
    kappa, interval = figures.kappa.fleiss_kappa, figures.kappa.interval
    agreement = (
        "no kappa, as all answers are the same choice"
        if kappa is None or interval is None
        else f"Fleiss' kappa {kappa:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    )
    typer.echo(
        f"{name} ({n_items:,}): accuracy {figures.accuracy:.3f} [{figures.interval.low:.3f}, "
        f"{figures.interval.high:.3f}], of the majority {figures.majority_accuracy:.3f}; {agreement}; raters: "
        f"{', '.join(f'{rate:.3f}' for rate in figures.by_rater)}"
    )
