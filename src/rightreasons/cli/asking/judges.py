"""`rightreasons judges FILE`: what a judge of pairs prefers beside quality."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import ConfidenceLevel, FiguresFile, Resamples, Seed
from rightreasons.data.opening.options import JudgmentOptions
from rightreasons.foundations.sentences import counted

if TYPE_CHECKING:
    from rightreasons.analysis.probes.judges import Preference

FIGURES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}

app = command_line()

EXAMPLES = (
    "rightreasons judges judgments.csv --out figures.json",
    "rightreasons judges judgments.jsonl --reference-column human --verdict-column winner",
)


@declared_command(app, "judges", {"options": JudgmentOptions})
def judges(
    file: Annotated[
        Path,
        typer.Argument(
            help="Judgments: item, judge, candidate shown first and second, verdict; swapped orders as further rows.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: FiguresFile = None,
    *,
    options: JudgmentOptions,
) -> None:
    """Measure what judges of pairs prefer beside quality: position, length, their own answers."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.judged.judgments import read_judgments
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.judges.bias import measure_judges

    judgments = read_judgments(file, options=options)
    measured = measure_judges(judgments, resampling=Resampling(confidence_level, n_resamples, seed))
    without = f", {measured.n_without:,} without a verdict" if measured.n_without else ""
    typer.secho(f"{file}: {counted(measured.n_rows, 'judgment')}{without}", bold=True)
    nulls: dict[str, str] = {}
    for name, bias in measured.judges.items():
        typer.echo(f"\n{name} ({counted(bias.n_pairs, 'pair')})")
        for key, words in FIGURES.items():
            figure: Preference | None = getattr(bias, key)
            if figure is not None:
                typer.echo(f"  {words:<30} {_figure(figure)}")
                nulls |= {words: figure.null} if figure.null else {}
    typer.echo("\nTested:" if nulls else "")
    for words, null in nulls.items():
        typer.echo(f"  {words}: {null}")
    write_figures(out, measured)


def _figure(figure: Preference) -> str:
    from rightreasons.auditing.page.words import p_equals

    tested = "" if figure.p_value is None else f"  p {p_equals(figure.p_value)}"
    ends = f"[{figure.interval.low:+.3f}, {figure.interval.high:+.3f}]"
    about = f"{counted(figure.n_pairs, 'pair')} of {counted(figure.n_items, 'item')}"
    return f"{figure.value:+.3f} {ends}{tested}  ({about})"
