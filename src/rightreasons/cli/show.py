"""What the commands print when they are done."""

from __future__ import annotations

import functools
import shutil
import sys
import textwrap
import webbrowser
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rightreasons.cli import hand_over
from rightreasons.core.sentences import pluralize

if TYPE_CHECKING:
    from rightreasons.behavior.learning.collect import AverageScore, CollectedScores
    from rightreasons.page.parts import SectionResult, Table, Verdict
    from rightreasons.report.labels import LabelAudits
    from rightreasons.report.plan import Plan
    from rightreasons.report.runner import AuditResult


WIDTH = 100
"""Characters of a line of text, where the terminal is not narrower."""

COLORS = {"bad": "red", "warn": "yellow", "neutral": None, "good": "green"}


def show_audit(result: AuditResult, *, open_page: bool = False) -> None:
    """Print each answer in a few lines, the worst first, and where the report is; exit with 1 when one failed."""
    if not result.written:
        hand_over(result.audit.get("plan"))
        return
    from rightreasons.report.render import worst_first
    from rightreasons.report.schema import read_audit

    hand_over(functools.partial(read_audit, result.out))
    for outcome, answer in worst_first(result.outcomes):
        show_answer(outcome.title, answer.verdict)
    unanswered = [outcome for outcome in result.outcomes if outcome.result is None]
    if unanswered:
        typer.echo("")
    for outcome in unanswered:
        state = "Failed" if outcome.status == "failed" else "Not asked"
        say(f"{state}: {outcome.title} {outcome.reason}")
    typer.echo(f"\nReport: {result.page}")
    _open(result.page, open_page)
    if result.failed:
        raise typer.Exit(1)


def _open(page: Path, wanted: bool) -> None:
    if wanted and not webbrowser.open(page.resolve().as_uri()):
        typer.echo("No browser could be started: open it by hand.", err=True)


def show_labels(found: LabelAudits, *, open_page: bool = False) -> None:
    """Print the figures and the verdicts of each label, and the means over labels."""
    from rightreasons.report.labels import LABELS
    from rightreasons.report.render import PAGE

    hand_over(found)
    show_section("Each label by itself", LABELS.answer(found))
    page = found.out / PAGE
    typer.echo(f"\nReport: {page}")
    _open(page, open_page)


def show_plan(plan: Plan) -> None:
    """Print what would be sent."""
    hand_over(plan.costs)
    typer.echo("\n".join(plan.lines))


def show_answer(title: str, verdict: Verdict) -> None:
    """Print the answer to a question in a few lines."""
    from rightreasons.report.render import LIGHTS

    typer.echo("")
    typer.secho(f"{LIGHTS[verdict.tone]}: ", bold=True, fg=COLORS[verdict.tone], nl=False)
    typer.secho(title, bold=True)
    typer.echo(
        textwrap.indent(textwrap.fill(f"{verdict.label}. {verdict.summary}", _columns() - 2), "  ")
    )


def show_section(title: str, answer: SectionResult) -> None:
    """Print a section of a page: its verdict, and the texts and the tables of its parts."""
    typer.secho(f"\n{title}", bold=True)
    say(f"  {answer.verdict.label}. {answer.verdict.summary}")
    for part in answer.parts:
        if not part.tables and (part.plots or part.examples):
            continue
        for paragraph in filter(None, part.text.split("\n\n")):
            say(f"  {paragraph}")
        for table in part.tables:
            show_table(table)


def show_table(table: Table) -> None:
    """Print a table of a page."""
    from rightreasons.page.prose import aligned, cell

    names = [column.name for column in table.columns]
    rows = [
        [cell(each, column) for each, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    lines = aligned(
        [names, *rows], [place for place, each in enumerate(table.columns) if each.kind == "text"]
    )
    typer.secho(f"\n{table.title}", bold=True)
    typer.echo(textwrap.indent("\n".join(lines), "  "))


def print_rows(
    rows: Iterable[Sequence[str]], *, indent: str = "  ", texts: Collection[int] = (0,)
) -> None:
    """Print rows of texts in columns: those of `texts` to the left, the others to the right."""
    from rightreasons.page.prose import aligned

    for line in aligned(list(rows), texts):
        typer.echo((indent + line).rstrip())


def say(text: str) -> None:
    """Print a paragraph; that of an indented text stays so."""
    indent = text[: len(text) - len(text.lstrip())]
    typer.echo(textwrap.fill(text, _columns(), subsequent_indent=f"{indent}  "))


def _columns() -> int:
    return min(WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def show_scores(collected: CollectedScores, averages: Sequence[AverageScore] = ()) -> None:
    """Print the scores of each configuration and method, with the tests against IID."""
    from rightreasons.behavior.generalization import SETTINGS
    from rightreasons.page.prose import number

    typer.secho(f"{collected.n_done:,} of {collected.n_runs:,} runs are finished.", bold=True)
    typer.echo(
        f"G over {len(collected.functionalities)} of {collected.n_functionalities} functionalities, those that are "
        "defined in every row. * differs from IID (p < 0.05)."
    )
    settings = ("iid", *SETTINGS, "average")
    rows = []
    for row in collected.rows:
        values = {"iid": row.iid_score, **row.scores, "average": row.average}
        cells = [
            number(values.get(name)) + "*" * (row.p_values.get(name, 1.0) < 0.05)
            for name in settings
        ]
        f1 = "" if row.iid_f1 is None else f"{row.iid_f1:.1%}"
        rows.append((row.configuration, row.method, str(row.seed), *cells, f1))
    print_rows([("configuration", "method", "seed", "i.i.d.", *settings[1:], "i.i.d. F1"), *rows])
    if averages:
        show_averages(averages)
    for row in collected.rows:
        if row.negative_transfer:
            names = ", ".join(loss.functionality for loss in row.negative_transfer)
            typer.echo(
                f"  Negative transfer: {row.configuration} {row.method} (seed {row.seed}) is significantly worse "
                f"than IID on {names}, held out."
            )
    if collected.degenerate:
        run = collected.degenerate[0]
        typer.echo(
            f"  One answer: {len(collected.degenerate):,} of {pluralize(collected.n_done, 'run')} give over 90% of "
            f"the independent items one answer, such as {run['configuration']} {run['method']} (seed {run['seed']})."
        )
    for row in collected.rows:
        if row.n_unchanged:
            typer.echo(
                f"  Changed nothing: {row.n_unchanged:,} of {pluralize(row.n_runs, 'run')} of {row.configuration} "
                f"{row.method} (seed {row.seed}), whose every outcome is that of IID."
            )


def show_averages(averages: Sequence[AverageScore]) -> None:
    """Print the mean G of each configuration and method over seeds, with its difference from IID."""
    from rightreasons.page.prose import p_equals

    for row in averages:
        typer.echo(
            f"  Mean G of {row.configuration} {row.method} over {pluralize(row.n_seeds, 'seed')}: {row.average:.1%}, "
            f"{row.difference:+.1%} from IID (p {p_equals(row.p_value)})."
        )
