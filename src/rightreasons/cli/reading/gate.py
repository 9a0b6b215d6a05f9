"""`rightreasons gate REPORT --fail-if CONDITION`: a report as a check of a build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from rightreasons.cli import command_line

app = command_line()

EXAMPLES = (
    "rightreasons gate report --fail-if 'shortcuts.causal_rate > 0.1' --fail-if 'calibration.ece.low > 5%'",
    "rightreasons gate report --fail-if 'behavior.verdict == bad' --markdown comment.md",
    "rightreasons gate report --list",
)


@app.command(no_args_is_help=True)
def gate(
    report: Annotated[Path, typer.Argument(help="Folder of a report.", metavar="REPORT", show_default=False)],
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Condition that must not hold: a path, one of < <= > >= == != and a number, such as "
            "'calibration.ece.low > 0.05', or a verdict (good, warn, bad, neutral); repeatable.",
            show_default=False,
        ),
    ] = None,
    undefined: Annotated[
        str,
        typer.Option(help="What becomes of a condition about a figure that the report does not have: fail or pass."),
    ] = "fail",
    github: Annotated[
        bool | None,
        typer.Option(
            "--github/--no-github",
            help="Whether failures are also annotations of a GitHub workflow; by default inside one.",
            show_default=False,
        ),
    ] = None,
    markdown: Annotated[Path | None, typer.Option(help="File for a comment on a pull request, in Markdown.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the paths of all figures with their values.")] = False,
) -> None:
    """Check the figures of a report, and exit with 1 if a condition holds that must not.

    A figure that the report does not have (its question does not apply, failed or was not asked, or it is undefined)
    fails, as what cannot be checked is not passed; --undefined pass lets it through.
    """
    from rightreasons.auditing.figures import audit_figures
    from rightreasons.auditing.reading import gate as gates
    from rightreasons.auditing.schema import read_audit
    from rightreasons.foundations.atomic_write import check_file, write_text

    if list_:
        figures = audit_figures(read_audit(report))
        width = max((len(path) for path in figures), default=0)
        for path, figure in figures.items():
            typer.echo(f"{path:<{width}}  {figure.in_words}")
        return
    if not fail_if:
        raise ValueError("Expected a condition, --fail-if 'calibration.ece > 0.05', or --list, but got neither.")
    if markdown is not None:
        check_file(markdown, "markdown")
    rule: Literal["fail", "pass"] = undefined  # type: ignore[assignment]  # checked below
    result = gates.gate(report, fail_if, undefined=rule)
    for check in result.checks:
        typer.echo(check.line)
    if os.environ.get("GITHUB_ACTIONS") == "true" if github is None else github:
        for annotation in result.annotations:
            typer.echo(annotation)
    if markdown is not None:
        write_text(markdown, result.markdown)
    if not result.passed:
        raise typer.Exit(1)
