"""`rightreasons compare REPORT REPORT …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = (
    "rightreasons compare report-a report-b --out comparison",
    "rightreasons compare report-step-100 report-step-200 report-step-300 --out history",
)


@app.command(no_args_is_help=True)
def compare(
    reports: Annotated[
        list[Path], typer.Argument(help="Folders of two or more reports.", metavar="REPORT...", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for a page and comparison.json.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resamples.")] = 0,
    n_resamples: Annotated[int, typer.Option(help="Resamples of each test.")] = 1000,
    confidence_level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
) -> None:
    """Compare two audited models over all questions, or follow the figures over the reports of checkpoints.

    Of two reports, the figures of all questions are compared item by item, by paired tests that are corrected for their
    number. Figures that are no means over items are put side by side, with an interval of the change. Of more than two
    reports, the first and the last are compared so, and all figures are followed from the first to the last.
    """
    from rightreasons.auditing.comparing.comparison import compare as compare_reports
    from rightreasons.cli._shared.show import show_comparison, show_history

    comparison = compare_reports(
        *reports, out=out, seed=seed, n_resamples=n_resamples, confidence_level=confidence_level
    )
    show_comparison(comparison)
    show_history(comparison)
    if out is not None:
        typer.echo(f"\nPage: {out / 'index.html'}")
