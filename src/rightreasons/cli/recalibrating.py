"""The command that recalibrates stored predictions, and shows what that changes on other items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import hand_over, make_command_lines
from rightreasons.cli.declared import declared_command
from rightreasons.cli.loops import PageFolder, check_page, show_loop
from rightreasons.cli.show import print_rows
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.sentences import pluralize
from rightreasons.io.options import PredictionOptions

if TYPE_CHECKING:
    from rightreasons.calibration.recalibration import RecalibrationReport
    from rightreasons.io.scores.results import Predictions

COMMANDS = make_command_lines("recalibrating")

SHOWN_FIGURES = ("accuracy", "ece", "smooth_ece", "classwise_ece", "brier", "nll")
"""Figures that are printed."""


@declared_command(COMMANDS["recalibrate"], "recalibrate", {"options": PredictionOptions})
def recalibrate(
    fit: Annotated[
        Path,
        typer.Argument(
            help=(
                "File of labeled predictions to fit on, which must be held out from training and "
                "from FILE."
            ),
            metavar="FIT",
        ),
    ],
    file: Annotated[
        Path,
        typer.Argument(help="File of predictions with labels to recalibrate.", metavar="FILE"),
    ],
    options: Any,
    method: Annotated[str, typer.Option(help="temperature, vector or isotonic.")] = "temperature",
    out: Annotated[Path, typer.Option(help="Path of the .csv file to write.")] = Path(
        "recalibrated.csv"
    ),
    save: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Path of the .json file for the recalibrator, which load_recalibrator applies to "
                "new scores."
            )
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Report on the model, so that the command can warn of a shortcut; by default the "
                "report of FILE."
            )
        ),
    ] = None,
    page: PageFolder = None,
) -> None:
    """Fit a recalibration on one file of predictions, apply it to another file, and report the changes."""
    # Imported late, so that the help of a command does not wait for numpy.
    from rightreasons.calibration.recalibration import recalibration_report
    from rightreasons.core.store import check_file
    from rightreasons.io.predictions import read_predictions
    from rightreasons.repairs.recalibration_order import find_report

    # Invalid arguments raise an error before the first file is written.
    check_file(out)
    if out.suffix.lower() != ".csv":
        raise OptionError(f"Expected a .csv file in `out`, but got {out.name}.", option="out")
    check_page(page)
    fitted = read_predictions(fit, options=options)
    table = read_predictions(file, options=options)
    # A page judges the recalibration by items that it was not fitted on.
    if page is not None:
        _check_new_items(fit, fitted, file, table)
    # If the columns do not tell the type of the scores, they are probabilities.
    scores = fitted.scores or "probabilities"
    with attach_options("score_columns", "label_column"):
        _check_classes(fit, fitted, file, table)
        result = recalibration_report(
            fitted.predictions,
            fitted.references,
            table.predictions,
            table.references,
            method=method,
            scores=scores,
        )

    _write_predictions(out, table, result.recalibrator(table.predictions, scores=scores))
    hand_over(result)
    _show_recalibration(result, fit, file)
    # A file in the folder of a report has the predictions of the audited model.
    report = report or find_report(file)
    warning = _explain_order(report)
    if warning:
        typer.secho(f"Warning: {warning}", err=True)
    typer.echo(f"Predictions: {out}")
    if save is not None:
        typer.echo(f"Recalibrator: {result.recalibrator.save(save)}")
    if page is not None:
        settings = {"fit": str(fit), "file": str(file), "method": method}
        _show_page(result, table, page, settings, report=report, warning=warning)


def _explain_order(report: Path | None) -> str:
    """Return why the audited model is to be repaired first; "" if no shortcut decides."""
    from rightreasons.repairs.recalibration_order import explain_order

    if report is None:
        return ""
    return explain_order(report)


def _show_page(
    result: RecalibrationReport,
    table: Predictions,
    page: Path,
    settings: dict[str, str],
    *,
    report: Path | None,
    warning: str,
) -> None:
    """Write a page that compares before and after a recalibration, and print its verdict.

    Args:
        result: Figures before and after the recalibration.
        table: Predictions to which the recalibration was applied, with labels.
        page: Folder of the page.
        settings: The arguments "fit", "file" and "method" of the command, which the page records.
        report: Folder of a report on the model, which names it; None if there is none.
        warning: Reason to repair the model before it is recalibrated; "" if there is none.
    """
    from rightreasons.page.formats import short_name
    from rightreasons.repairs.loops import judge_recalibration
    from rightreasons.report.schema import read_audit

    name = Path(settings["file"]).name
    # A file of predictions does not name its model.
    subject = f"The model of {name}"
    if report is not None:
        subject = short_name(read_audit(report)["model"]["name"])
    loop = judge_recalibration(
        result,
        table.predictions,
        table.references,
        scores=table.scores or "probabilities",
        subject=subject,
        data=name,
        warning=warning,
    )
    show_loop(loop, page, settings=settings)


def _check_new_items(fit: Path, fitted: Predictions, file: Path, table: Predictions) -> None:
    """Check that a recalibration is evaluated on enough items that it was not fitted on.

    Items are recognized by their ids. Without ids, they are recognized by their scores and labels,
    which are equal for some items by chance. In this case, an error is raised only if all items
    occur among the fitted ones.

    Args:
        fit: File of the predictions that the recalibration is fitted on.
        fitted: These predictions.
        file: File of the predictions on which it is evaluated.
        table: These predictions.

    Raises:
        ValueError: If there are too few items, or fitted ones among them.
    """
    from rightreasons.repairs.loops import check_enough_items

    check_enough_items(len(table), "file")
    fitted_keys = set(_make_item_keys(fitted))
    keys = _make_item_keys(table)
    n_shared = sum(key in fitted_keys for key in keys)
    has_ids = _has_ids(fitted) and _has_ids(table)
    if n_shared == len(keys) or (has_ids and n_shared):
        raise OptionError(
            f"Expected {file} to contain other items than {fit}, to evaluate the recalibration on "
            f"new items, but {n_shared:,} of {len(keys):,} items are the same.",
            option="page",
        )


def _has_ids(table: Predictions) -> bool:
    """Return whether the items have ids other than the numbers of their rows."""
    if table.ids is None:
        return False
    row_numbers = list(map(str, range(len(table))))
    return list(map(str, table.ids)) != row_numbers


def _make_item_keys(table: Predictions) -> list[str]:
    """Return a string for each item that consists of its id, its label and its scores.

    Equal items of two files have equal strings.
    """
    import numpy as np

    n_items = len(table)
    # Missing ids are "", and missing labels are 0.
    ids = [""] * n_items
    if table.ids is not None:
        ids = list(map(str, table.ids))
    labels = [0] * n_items
    if table.references is not None:
        labels = table.references.tolist()
    # The scores of an item are an array, a list, or a single number.
    scores = [np.asarray(row, dtype=np.float64).tolist() for row in table.predictions]
    return list(map(str, zip(ids, labels, scores, strict=True)))


def _check_classes(fit: Path, fitted: Predictions, file: Path, table: Predictions) -> None:
    """Check that two files of predictions have scores and labels of the same classes.

    Args:
        fit: File of the predictions that a recalibration is fitted on.
        fitted: These predictions.
        file: File of the predictions to recalibrate.
        table: These predictions.

    Raises:
        ValueError: If the classes differ, or a file has only confidences or items without labels.
    """
    for path, predictions in ((fit, fitted), (file, table)):
        if predictions.kind == "confidence":
            raise ValueError(
                f"Expected {path.name} to contain a score for each class, but it contains only "
                "the confidence in each answer."
            )
        labels = predictions.references
        if labels is None or (labels < 0).any():
            raise ValueError(
                f"Expected a label for each item of {path.name}, but some items have no label."
            )
    if fitted.label_names != table.label_names or fitted.scores != table.scores:
        raise ValueError(
            f"Expected the classes of {fit.name}, {_describe_classes(fitted)}, in {file.name}, but got "
            f"{_describe_classes(table)}."
        )


def _describe_classes(table: Predictions) -> str:
    names = ", ".join(table.label_names or ()) or "no names"
    return f"{names} ({table.scores})"


def _write_predictions(out: Path, table: Predictions, probabilities: Any) -> None:
    """Write recalibrated predictions as a csv file: ids if there are some, a column per class, and labels.

    Args:
        out: The file.
        table: The predictions before, with ids, labels and names of the classes.
        probabilities: (N, K) recalibrated probabilities.
    """
    from rightreasons.core.store import format_csv, write_text

    names = table.label_names or tuple(map(str, range(probabilities.shape[1])))
    columns: dict[str, list[Any]] = {}
    if table.ids is not None:
        columns["id"] = list(table.ids)
    for k, name in enumerate(names):
        columns[f"p_{name}"] = probabilities[:, k].tolist()
    # Labels are written by name, so that a later command need not know how they are numbered.
    columns["label"] = []
    if table.references is not None:
        columns["label"] = [names[label] for label in table.references.tolist()]
    headings = list(columns)
    rows = zip(*columns.values(), strict=True)
    write_text(out, format_csv([headings, *rows]))


def _show_recalibration(report: RecalibrationReport, fit: Path, file: Path) -> None:
    """Print a table of the figures before and after a recalibration, with the tests of their changes.

    Args:
        report: The figures and tests.
        fit: File of the predictions that it was fitted on.
        file: File of the recalibrated predictions.
    """
    from rightreasons.calibration.figures import FIGURES

    n_items = f"{report.before['n_items']:,} of {file.name}"
    typer.secho(
        f"{report.method}, fitted on {pluralize(report.n_fit, 'item')} of {fit.name}; on {n_items}:",
        bold=True,
    )
    rows: list[tuple[str, ...]] = [("", "before", "after", "change", "p")]
    for name in SHOWN_FIGURES:
        old_value = _write_figure(report.before[name])
        new_value = _write_figure(report.after[name])
        # A figure that is not tested has neither a change nor a p-value.
        change, p_value = _write_change(report, name)
        rows.append((FIGURES[name].name, old_value, new_value, change, p_value))
    print_rows(rows)


def _write_figure(value: float | None) -> str:
    from rightreasons.page.formats import NONE

    return NONE if value is None else f"{value:.4f}"


def _write_change(report: RecalibrationReport, name: str) -> tuple[str, str]:
    """Return the change of a figure with its interval, and its p-value, as strings.

    Args:
        report: The figures and tests of a recalibration.
        name: Name of the figure.

    Returns:
        Strings such as "-0.0213 [-0.0300, -0.0126]" and "< 0.001"; "" and "" if the figure is not
        tested.
    """
    from rightreasons.page.formats import p_value

    test = report.tests.get(name)
    if test is None:
        return "", ""
    # A sign is also printed for an increase, so that the direction is seen at once.
    change = f"{test.difference:+.4f}"
    if test.interval is not None:
        change += f" [{test.interval.low:+.4f}, {test.interval.high:+.4f}]"
    return change, p_value(test.p_value)
