"""`rightreasons confidence FILE …`: which source of confidence knows best when the answers are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import ConfidenceLevel, FiguresFile, Resamples, Seed
from rightreasons.data.opening.options import ConfidenceOptions

if TYPE_CHECKING:
    from rightreasons.measuring.confidence.sources import ConfidenceMeasurement

COLUMNS = ("accuracy", "mean_confidence", "ece", "smooth_ece", "brier_of_answers", "auroc", "aurc")
PAIRED = ("accuracy", "confidence_gap", "ece", "brier", "auroc", "aurc")

app = command_line()

EXAMPLES = (
    "rightreasons confidence answers.csv --source-column method --item-column question_id",
    "rightreasons confidence probability.jsonl verbalized.jsonl --out figures.json",
)


@declared_command(app, "confidence", {"options": ConfidenceOptions})
def confidence(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Tables with a confidence and whether the answer was right; of several, each is a source.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    n_bins: Annotated[int, typer.Option(help="Number of confidence bins.", min=1)] = 15,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: FiguresFile = None,
    *,
    options: ConfidenceOptions,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of right above wrong answers, tests."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.judged.confidence import read_confidence
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.confidence.sources import measure_confidence
    from rightreasons.measuring.options import CalibrationOptions

    resampling = Resampling(confidence_level, n_resamples, seed)
    table = read_confidence(list(files), options=options)
    measured = measure_confidence(table, options=CalibrationOptions(n_bins=n_bins), resampling=resampling)
    typer.secho(f"{', '.join(map(str, files))}: {measured.n_items:,} items ({table.used})", bold=True)
    show(measured)
    write_figures(out, measured)


def show(measured: ConfidenceMeasurement) -> None:
    """Print the figures of each source, the tests between each two, and the figures by group."""
    from rightreasons.cli._shared.show import figure_cell, p_value
    from rightreasons.measuring.calibration import FIGURES

    n_sources = len(measured.sources)
    if n_sources > 1:
        typer.echo(f"Figures are about the {measured.n_shared:,} items that have a confidence from each source.")
    for one in measured.sources:
        if one.n_confident < one.n_answered:
            share = 0.0 if one.confident is None else one.confident.value or 0.0
            typer.echo(f"{one.name}: {one.n_confident:,} of {one.n_answered:,} answers have a confidence ({share:.1%})")
    width = max(len(one.name) for one in measured.sources) + 2
    typer.echo(f"\n{'':<{width}}" + "".join(f"{_short(FIGURES[key].name):>24}" for key in COLUMNS))
    for one in measured.sources:
        typer.echo(f"{one.name:<{width}}" + "".join(f"{figure_cell(one.figures[key]):>24}" for key in COLUMNS))
    for pair in measured.pairs:
        typer.echo(f"\n{pair.first} - {pair.second}:")
        for key in PAIRED:
            test = pair.differences.get(key)
            if test is None or test.interval is None:
                continue
            name = FIGURES["brier_of_answers" if key == "brier" else key].name
            typer.echo(
                f"  {_short(name):<18} {test.difference:+.3f} [{test.interval.low:+.3f}, {test.interval.high:+.3f}]  "
                f"p = {p_value(test.p_value)}, corrected for all pairs {p_value(pair.p_holm[key])}"
            )
    for group, (n_items, figures) in measured.groups.items():
        typer.echo(f"\n{group or '(no group)'} ({n_items:,} items)")
        for name, estimates in figures.items():
            said = ", ".join(f"{_short(FIGURES[key].name)} {figure_cell(each)}" for key, each in estimates.items())
            typer.echo(f"  {name}: {said}")


def _short(name: str) -> str:
    """Return the short form that a name has in brackets, or its beginning."""
    if name.endswith(")"):
        return name[name.index("(") + 1 : -1]
    return name.split(" of ")[0]
