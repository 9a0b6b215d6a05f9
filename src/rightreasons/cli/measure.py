"""The command that measures confidences, and prints the figures."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rightreasons.calibration.options import CalibrationOptions, ConfidenceOptions
from rightreasons.cli import command_line
from rightreasons.cli.declared import FiguresFile, declared_command
from rightreasons.cli.show import show_section, write_figures
from rightreasons.io.options import RESAMPLED, AuditOptions

COMMANDS = {"confidence": command_line()}


@declared_command(
    COMMANDS["confidence"],
    "confidence",
    {
        "options": ConfidenceOptions,
        "settings": (AuditOptions, RESAMPLED),
        "bins": (CalibrationOptions, ("n_bins",)),
    },
)
def confidence(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Tables with a confidence and whether the answer was right; of several, each is a source.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    out: FiguresFile = None,
    **declared: Any,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of right above wrong answers, tests."""
    from rightreasons.calibration.confidence_tables import read_confidence
    from rightreasons.calibration.elicit import measure_confidence
    from rightreasons.calibration.question import SOURCES

    settings: AuditOptions = declared["settings"]
    table = read_confidence(list(files), options=declared["options"])
    measured = measure_confidence(table, options=declared["bins"], resampling=settings.resampling)
    answer = SOURCES.answer(measured, settings.confidence_level, drawn=False)
    show_section(f"{', '.join(files)} ({table.used})", answer)
    write_figures(out, measured)
