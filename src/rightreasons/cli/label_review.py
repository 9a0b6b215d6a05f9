"""The commands that write doubtful labels for a person to review, and read the decisions."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line, hand_over
from rightreasons.cli.loops import PageFolder, check_page, show_loop
from rightreasons.cli.show import print_rows
from rightreasons.core.sentences import pluralize

if TYPE_CHECKING:
    from rightreasons.core.estimates import Estimate
    from rightreasons.repairs.label_sheets import LabelReview

LABELS = command_line()

ReportFolder = Annotated[
    Path,
    typer.Argument(help="Folder of a report on a classifier.", metavar="REPORT"),
]


@LABELS.callback()
def labels() -> None:
    """Review labels that a model disputes: write a sheet, and read the decisions."""


@LABELS.command("write")
def write(
    report: ReportFolder,
    out: Annotated[Path, typer.Option(help="Path of the .csv file to write.")] = Path("labels.csv"),
    seed: Annotated[int, typer.Option(help="Seed of the controls.", min=0)] = 0,
    controls: Annotated[
        int | None,
        typer.Option(help="Number of controls; by default as many as disputed labels.", min=1),
    ] = None,
) -> None:
    """Write a sheet with disputed labels, and with other labels as a control, for a person to review."""
    from rightreasons.core.store import check_file
    from rightreasons.repairs.label_sheets import write_label_sheet

    # A file that cannot be written is reported before the report is read.
    check_file(out)
    file = write_label_sheet(report, out, seed=seed, n_controls=controls)
    hand_over({"file": str(file)})
    typer.echo(f"Sheet: {file}")
    _print_expected_share(report)
    # A person fills in the sheet before the next command.
    typer.echo("Replace each “?” by the correct label, or by keep or drop.")
    typer.echo(
        f"Next: rightreasons data labels read {shlex.quote(str(report))} {file} --page reviewed"
    )


@LABELS.command("read")
def read(
    report: ReportFolder,
    sheet: Annotated[Path, typer.Argument(help="The reviewed sheet.", metavar="SHEET")],
    out: Annotated[Path, typer.Option(help="Path of the .yaml file to write.")] = Path(
        "labels.yaml"
    ),
    page: PageFolder = None,
) -> None:
    """Read the decisions, show the accuracy before and after, and write a file for --known-issues."""
    from rightreasons.core.store import check_file
    from rightreasons.repairs.label_sheets import (
        measure_review,
        read_label_sheet,
        write_label_issues,
    )

    # Files that cannot be written are reported before the sheet is read.
    check_file(out)
    check_page(page)
    decisions = read_label_sheet(report, sheet)
    review = measure_review(report, decisions)
    # The figures are printed before the file is written: without a changed label, there is no file.
    typer.secho(
        f"{review.n_reviewed:,} labels reviewed, of {pluralize(review.n_items, 'item')}; "
        f"{review.n_disputed:,} are disputed",
        bold=True,
    )
    print_rows(
        [
            ("incorrect, of the disputed labels", _write_share(review.wrong_disputed)),
            ("incorrect, of the controls", _write_share(review.wrong_controls)),
            ("accuracy with the given labels", _write_share(review.accuracy)),
            ("change with the reviewed labels", _write_share(review.accuracy_change)),
        ]
    )
    hand_over(review)
    typer.echo(review.verdict)
    if page is not None:
        _show_page(review, report, sheet, page)
    file = write_label_issues(report, decisions, out)
    typer.echo(f"Corrections: {file}")
    typer.echo(f"Next: rightreasons audit MODEL DATA --known-issues {file}")


def _print_expected_share(report: Path) -> None:
    """Print the share of disputed labels that a report expects to be incorrect, if it has this figure.

    Args:
        report: Folder of the report.
    """
    from rightreasons.report.figures import audit_figures
    from rightreasons.report.schema import read_audit

    # Only an audit that asked about calibration has the figure.
    figure = audit_figures(read_audit(report)).get("calibration.disputed_incorrect")
    if figure is not None:
        typer.echo(
            f"{figure.name}: {_write_share(figure.estimate)} of {figure.n:,} disputed labels"
        )


def _show_page(review: LabelReview, report: Path, sheet: Path, page: Path) -> None:
    """Write a page on the accuracy with the given and with the reviewed labels, and print its verdict.

    Args:
        review: Figures of the reviewed labels.
        report: Folder of the report that disputed the labels.
        sheet: The reviewed sheet.
        page: Folder of the page.
    """
    from rightreasons.page.formats import short_name
    from rightreasons.repairs.loops import judge_labels
    from rightreasons.report.schema import read_audit

    # The report names the model that disputed the labels.
    audit = read_audit(report)
    loop = judge_labels(
        review,
        data=short_name(audit["dataset"]["name"]),
        model=short_name(audit["model"]["name"]),
    )
    show_loop(loop, page, settings={"report": str(report), "sheet": str(sheet)})


def _write_share(estimate: Estimate | None) -> str:
    """Return a share with its interval as a text; a dash for labels that nobody reviewed (None)."""
    from rightreasons.page.formats import NONE, format_estimate

    if estimate is None:
        return NONE
    return format_estimate(estimate)
