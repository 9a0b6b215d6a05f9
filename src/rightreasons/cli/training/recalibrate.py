"""`rightreasons recalibrate FIT FILE`: recalibrate stored predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli.declared import LabelColumn, declared_command
from rightreasons.cli.show import print_rows
from rightreasons.core.errors import OptionError, counted
from rightreasons.io.options import PredictionOptions

if TYPE_CHECKING:
    from rightreasons.calibration.recalibration import RecalibrationReport
    from rightreasons.io.predictions import Predictions


FIGURES = {
    "accuracy": "accuracy",
    "ece": "ECE",
    "smooth_ece": "smooth ECE",
    "classwise_ece": "classwise ECE",
    "brier": "Brier score",
    "nll": "log loss",
}

COMMANDS = {"recalibrate": command_line()}

EXAMPLES = {"recalibrate": ("rightreasons recalibrate validation.csv test.csv --method vector --out recalibrated.csv",)}


@declared_command(COMMANDS["recalibrate"], "recalibrate", {"options": PredictionOptions})
def recalibrate(
    fit: Annotated[
        Path,
        typer.Argument(
            help="File of predictions with labels to fit on: held out from training and from FILE.",
            metavar="FIT",
            show_default=False,
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(help="File of predictions with labels to recalibrate.", metavar="FILE", show_default=False),
    ],
    options: Any,
    method: Annotated[str, typer.Option(help="temperature, vector or isotonic.")] = "temperature",
    out: Annotated[Path, typer.Option(help="File to write: .csv or .jsonl.")] = Path("recalibrated.csv"),
    label_column: LabelColumn = None,
    n_bins: Annotated[int, typer.Option(help="Number of bins of the calibration errors.")] = 15,
) -> None:
    """Fit a recalibration on one file of predictions, apply it to another, and say what it changes there."""
    from rightreasons.calibration.recalibration import recalibrate as recalibrated
    from rightreasons.calibration.recalibration import recalibration_report
    from rightreasons.core.store import check_file
    from rightreasons.io.predictions import read_predictions

    check_file(out)
    if out.suffix.lower() not in (".csv", ".jsonl"):
        raise OptionError(f"Expected a .csv or .jsonl file in `out`, but got {out.name}.", option="out")
    fitted = read_predictions(fit, label_column=label_column, options=options)
    table = read_predictions(file, label_column=label_column, options=options)
    _check_alike(fit, fitted, file, table)
    scores = fitted.scores or "probabilities"
    arrays = fitted.predictions, fitted.references, table.predictions
    probabilities = recalibrated(*arrays, method=method, scores=scores)
    report = recalibration_report(*arrays, table.references, method=method, n_bins=n_bins, scores=scores)
    _write(out, table, probabilities)
    _show(report, fit, file)
    typer.echo(f"Predictions: {out}")


def _check_alike(fit: Path, fitted: Predictions, file: Path, table: Predictions) -> None:
    for path, one in ((fit, fitted), (file, table)):
        if one.kind == "confidence":
            raise ValueError(f"Expected class scores in {path.name}, but it has the confidence in given answers.")
        if one.references is None or (one.references < 0).any():
            raise ValueError(f"Expected a label for each item of {path.name}, but some have none.")
    if fitted.label_names != table.label_names or fitted.scores != table.scores:
        shown = [f"{', '.join(one.label_names or ()) or 'no names'} ({one.scores})" for one in (fitted, table)]
        raise ValueError(f"Expected the classes of {fit.name}, {shown[0]}, in {file.name}, but got {shown[1]}.")


def _write(out: Path, table: Predictions, probabilities: Any) -> None:
    """Write ids where there are some, a column per class, and the labels."""
    import pandas as pd

    from rightreasons.core.store import json_lines, write_text

    names = table.label_names or tuple(map(str, range(probabilities.shape[1])))
    columns = {f"p_{name}": probabilities[:, k] for k, name in enumerate(names)}
    labels = [] if table.references is None else [names[label] for label in table.references.tolist()]
    ids = {} if table.ids is None else {"id": list(table.ids)}
    frame = pd.DataFrame({**ids, **columns, "label": labels})
    if out.suffix.lower() == ".jsonl":
        write_text(out, json_lines(frame.to_dict("records")))
    else:
        write_text(out, frame.to_csv(index=False, lineterminator="\n"))


def _show(report: RecalibrationReport, fit: Path, file: Path) -> None:
    typer.secho(
        f"{report.method}, fitted on {counted(report.n_fit, 'item')} of {fit.name}; "
        f"on {report.before.n_items:,} of {file.name}:",
        bold=True,
    )
    rows = []
    for name, shown in FIGURES.items():
        values = [getattr(one, name) for one in (report.before, report.after)]
        rows.append((shown, *("-" if value is None else f"{value:.4f}" for value in values)))
    print_rows([("", "before", "after"), *rows])
