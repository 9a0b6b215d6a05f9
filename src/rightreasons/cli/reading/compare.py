"""`rightreasons compare REPORT REPORT`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = ("rightreasons compare report-a report-b --out comparison",)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT", show_default=False)],
    second: Annotated[Path, typer.Argument(help="Folder of another report.", metavar="REPORT", show_default=False)],
    out: Annotated[Path | None, typer.Option(help="Folder for a page and comparison.json.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 0,
    n_resamples: Annotated[int, typer.Option(help="Resamples of each test.")] = 1000,
    confidence_level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
) -> None:
    """Compare two audited models on the same items, by paired tests."""
    from rightreasons.auditing import comparison as comparing
    from rightreasons.cli._shared.show import show_comparison

    comparison = comparing.compare(
        first, second, out=out, seed=seed, n_resamples=n_resamples, confidence_level=confidence_level
    )
    show_comparison(comparison)
    if out is not None:
        typer.echo(f"\nPage: {out / 'index.html'}")
