"""The commands that read finished reports, and the one that says what this installation has."""

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
from rightreasons.cli.show import print_rows, show_section
from rightreasons.core.errors import OptionError
from rightreasons.core.store import get_installed_version
from rightreasons.io.options import RESAMPLED, AuditOptions

COMMANDS = {name: command_line() for name in ("card", "compare", "doctor", "gate")}


@COMMANDS["card"].command(no_args_is_help=True)
def card(
    report: Annotated[
        Path, typer.Argument(help="Folder of a report.", metavar="REPORT", show_default=False)
    ],
    to: Annotated[
        Path,
        typer.Option(help="Model card to write into, a record.json, or .eval_results/NAME.yaml."),
    ],
    benchmark: Annotated[
        str | None, typer.Option(help="Of .yaml: the benchmark of the hub, org/data:task.")
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Of .yaml: the figure, such as cues.easy_accuracy.")
    ] = None,
) -> None:
    """Write a report into a model card: a section with the verdicts, and the figures as metadata of the hub.

    A section that an earlier report wrote is replaced; the rest of the card stays as it is. To a .json goes a record of
    Every Eval Ever with all figures, to a .yaml one figure as the result of a benchmark of the hub.
    """
    from rightreasons.report.card import write_card, write_eval_results, write_every_eval_ever

    if to.suffix in (".yaml", ".yml"):
        if benchmark is None or figure is None:
            raise OptionError(
                f"Expected `benchmark` and `figure` with {to.name}, as a result of a benchmark is one figure.",
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
            help="Folders of two or more reports, logs, or folders of logs.",
            metavar="REPORT",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Folder for a page and comparison.json.")] = None,
    *,
    settings: AuditOptions,
) -> None:
    """Compare two audited models over all questions, or put how often several are right into one table.

    Of two reports, the figures of all questions that are means over items are compared item by item, by paired tests
    that are corrected for their number. More reports, or reports of several tasks, make one table of models and tasks.
    Logs of harnesses, and folders of them, are audited first, for their accuracy and calibration.
    """
    from rightreasons.report.comparison import ANSWERS, TITLE
    from rightreasons.report.comparison import compare as compare_reports
    from rightreasons.report.schema import read_audit
    from rightreasons.report.tasks import TASKS, models_by_tasks, reports_of, write_tasks

    how: dict[str, Any] = {name: getattr(settings, name) for name in RESAMPLED}
    with tempfile.TemporaryDirectory() as folder:
        reports = reports_of(
            reports, Path(folder) if out is None else out.with_name(f"{out.name}-reports"), **how
        )
        models = [read_audit(report)["model"] for report in reports]
        tasks = {model["logged"][1] for model in models if model.get("logged")} - {""}
        if (
            len(reports) != 2
            or len(tasks) > 1
            or any(model["task"] == "confidence" for model in models)
        ):
            table = models_by_tasks(reports)
            hand_over(table)
            show_section("Models by tasks", TASKS.answer(table))
            if out is not None:
                typer.echo(f"\nPage: {write_tasks(out, table)}")
            return
        comparison = compare_reports(*reports, out=out, **how)
    hand_over(comparison)
    show_section(TITLE, ANSWERS.answer(comparison))
    if out is not None:
        typer.echo(f"\nPage: {out / 'index.html'}")


@COMMANDS["gate"].command(no_args_is_help=True)
def gate(
    report: Annotated[
        Path, typer.Argument(help="Folder of a report.", metavar="REPORT", show_default=False)
    ],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Condition that must not hold: a path, one of < <= > >= == != and a number, such as "
            "'calibration.ece.low > 0.05', or a verdict (good, warn, bad, neutral); repeatable.",
            show_default=False,
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="List the paths of all figures with their values.")
    ] = False,
) -> None:
    """Check the figures of a report, and exit with 1 if a condition of --fail-if holds.

    A condition about a figure that the report does not have (its question does not apply, failed or was not asked, or
    the figure is undefined) fails too.
    """
    from rightreasons.report.card import gate as checked
    from rightreasons.report.files import audit_figures
    from rightreasons.report.schema import read_audit

    if list_:
        figures = audit_figures(read_audit(report))
        hand_over({path: figure.in_words for path, figure in figures.items()})
        print_rows(
            ((path, figure.in_words) for path, figure in figures.items()), indent="", texts=(0, 1)
        )
        return
    if not fail_if:
        raise ValueError(
            "Expected a condition, --fail-if 'calibration.ece > 0.05', or --list, but got neither."
        )
    result = checked(report, fail_if)
    hand_over(result)
    for check in result.checks:
        typer.echo(check.line)
    if not result.passed:
        raise typer.Exit(1)


_SKIPPED = ("dev", "peers", "parity")
"""Extras for those who work on the package."""


@COMMANDS["doctor"].command()
def doctor() -> None:
    """Say what is installed, and which extras are missing."""
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("rightreasons") or ():
        match = re.match(r"([\w.-]+).*extra == ['\"]([\w-]+)['\"]", line)
        if match and match[1] != "rightreasons" and match[2] not in _SKIPPED:
            extras.setdefault(match[2], []).append(match[1])
    found = [
        ("rightreasons", True, f"{rightreasons.__version__}, Python {platform.python_version()}")
    ]
    for extra, packages in extras.items():
        missing = [package for package in packages if get_installed_version(package) is None]
        state = (
            "installed"
            if not missing
            else f"missing {', '.join(missing)}: pip install 'rightreasons[{extra}]'"
        )
        found.append((f"[{extra}]", not missing, state))
    hand_over([{"name": name, "fine": fine, "told": state} for name, fine, state in found])
    print_rows(
        (("ok" if fine else "--", name, state) for name, fine, state in found),
        indent="",
        texts=range(3),
    )
