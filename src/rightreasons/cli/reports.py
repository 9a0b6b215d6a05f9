"""The commands that read finished reports, and `doctor`, which lists what is installed."""

from __future__ import annotations

import platform
import re
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

import rightreasons
from rightreasons.cli import command_line, hand_over
from rightreasons.cli.declared import declared_command
from rightreasons.cli.show import print_rows
from rightreasons.core.errors import OptionError
from rightreasons.core.extras import make_install_command
from rightreasons.core.store import get_installed_version
from rightreasons.io.options import RESAMPLED, AuditOptions

COMMANDS = {name: command_line() for name in ("card", "compare", "doctor", "gate")}


@COMMANDS["card"].command(no_args_is_help=True)
def card(
    report: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT")],
    to: Annotated[
        Path,
        typer.Option(help="Model card to write into, a record.json, or .eval_results/NAME.yaml."),
    ],
    benchmark: Annotated[
        str | None, typer.Option(help="Benchmark of the hub for a .yaml file, as org/data:task.")
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Figure for a .yaml file, such as cues.easy_accuracy.")
    ] = None,
) -> None:
    """Write a report into a model card: a section with the verdicts, and the metrics as metadata.

    The command replaces the section of an earlier report, and keeps the rest of the card. Into a
    .json file, it writes a record of Every Eval Ever with all metrics; into a .yaml file, one
    metric as the result of a benchmark of the hub.
    """
    from rightreasons.report.sharing.card import write_card
    from rightreasons.report.sharing.every_eval_ever import write_every_eval_ever
    from rightreasons.report.sharing.hub_results import write_eval_results

    # The suffix of the file determines the format.
    if to.suffix in (".yaml", ".yml"):
        if benchmark is None or figure is None:
            raise OptionError(
                f"Expected `benchmark` and `figure` with {to.name}, because a benchmark result is "
                "one figure.",
                option=("benchmark", "figure"),
            )
        typer.echo(f"Result: {write_eval_results(report, to, benchmark=benchmark, figure=figure)}")
    elif to.suffix == ".json":
        typer.echo(f"Record: {write_every_eval_ever(report, to)}")
    else:
        typer.echo(f"Card: {write_card(report, to)}")


@declared_command(COMMANDS["compare"], "compare", {"settings": (AuditOptions, RESAMPLED)})
def compare(
    reports: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of two or more reports, logs, or folders of these.", metavar="REPORT"
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for a page and comparison.json.")] = None,
    *,
    settings: AuditOptions,
) -> None:
    """Compare audited models: which is more accurate, and right for the right reasons?

    The command pairs the items that all reports contain, and corrects the tests for their number.
    For two reports, it compares every metric that is a mean over items; for more, the accuracy and
    the metrics of the findings. If you pass logs of harnesses, or folders of reports and logs, it
    first measures the accuracy and the calibration of the logs.
    """
    from rightreasons.cli.comparing import show_comparison, show_tasks
    from rightreasons.report.comparison import compare as compare_reports
    from rightreasons.report.schema import read_audit
    from rightreasons.report.tasks import find_reports, models_by_tasks, write_tasks

    resampling: dict[str, Any] = {name: getattr(settings, name) for name in RESAMPLED}
    # The reports of logs are kept only if there is a page, in a folder next to it.
    with tempfile.TemporaryDirectory() as temporary_folder:
        report_folder = Path(temporary_folder)
        if out is not None:
            report_folder = out.with_name(f"{out.name}-reports")
        reports = find_reports(reports, report_folder, **resampling)
        models = [read_audit(report)["model"] for report in reports]
        # Paired tests of all metrics need two models with predictions for the same items.
        if len(reports) != 2 or not _are_comparable(models):
            table = models_by_tasks(reports, **resampling)
            hand_over(table)
            show_tasks(table)
            if out is not None:
                typer.echo(f"\nPage: {write_tasks(out, table)}")
            return
        comparison = compare_reports(reports[0], reports[1], out=out, **resampling)
    hand_over(comparison)
    show_comparison(comparison)
    if out is not None:
        typer.echo(f"\nPage: {out / 'index.html'}")


def _are_comparable(models: list[dict[str, Any]]) -> bool:
    """Return whether audited models have class scores for the items of the same task.

    Args:
        models: Entry "model" of the audit.json of each report. For a log, its "logged" contains the
            name of the model and the name of the task, "" if unknown.
    """
    tasks = set()
    for model in models:
        # This task has only the confidence in each answer, and two models give different answers.
        if model["task"] == "confidence":
            return False
        # Only the log of a harness contains the name of its task.
        if model.get("logged"):
            _, task = model["logged"][:2]
            tasks.add(task)
    known_tasks = tasks - {""}
    return len(known_tasks) <= 1


@COMMANDS["gate"].command(no_args_is_help=True)
def gate(
    report: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT")],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Condition that must not hold: a path, one of < <= > >= == != and a number, such as "
            "'calibration.ece.low > 0.05', or a verdict (good, warn, bad, neutral); repeatable."
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the paths of all metrics with their values.")
    ] = False,
) -> None:
    """Check the metrics of a report, and exit with 1 if a condition of --fail-if holds.

    The command also exits with 1 if the report lacks a metric of a condition, because its question
    does not apply, failed or was not asked, or because the metric is undefined.
    """
    from rightreasons.report.figures import audit_figures
    from rightreasons.report.gates import gate as check_conditions
    from rightreasons.report.schema import read_audit

    if list_:
        figures = audit_figures(read_audit(report))
        words = {path: figure.in_words for path, figure in figures.items()}
        hand_over(words)
        print_rows(words.items(), indent="", texts=(0, 1))
        return
    if not fail_if:
        raise ValueError(
            "Expected a condition, --fail-if 'calibration.ece > 0.05', or --list, but got neither."
        )
    # All conditions are checked and printed, also after one that is true.
    result = check_conditions(report, fail_if)
    hand_over(result)
    for check in result.checks:
        typer.echo(check.line)
    if not result.passed:
        raise typer.Exit(1)


DEVELOPER_EXTRAS = ("dev", "peers", "parity")
"""Extras for those who work on the package."""


@COMMANDS["doctor"].command()
def doctor() -> None:
    """Show what is installed, and which extras are missing."""
    # A bug report needs the versions, which are in the first line.
    versions = f"{rightreasons.__version__}, Python {platform.python_version()}"
    rows = [("ok", "rightreasons", versions)]
    for extra, packages in _list_extras().items():
        missing = []
        for package in packages:
            if get_installed_version(package) is None:
                missing.append(package)
        if missing:
            install = make_install_command(extra)
            rows.append(("--", f"[{extra}]", f"missing {', '.join(missing)}: {install}"))
        else:
            rows.append(("ok", f"[{extra}]", "installed"))
    hand_over([{"name": name, "fine": mark == "ok", "told": text} for mark, name, text in rows])
    print_rows(rows, indent="", texts=range(3))


def _list_extras() -> dict[str, list[str]]:
    """Return extra -> its packages, from the metadata of the installed package.

    Extras for developers are excluded, and an extra that consists of other extras has no packages.
    """
    extras: dict[str, list[str]] = {}
    for requirement in metadata.requires("rightreasons") or ():
        # The requirement of an extra has the form "torch>=2.2; extra == 'torch'".
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", requirement)
        if match is None:
            continue
        package, extra = match.groups()
        if package != "rightreasons" and extra not in DEVELOPER_EXTRAS:
            extras.setdefault(extra, []).append(package)
    return extras
