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
    from rightreasons.report.arms import Arm
    from rightreasons.report.labels import LabelAudits
    from rightreasons.report.plan import Plan
    from rightreasons.report.runner import AuditResult


WIDTH = 100
"""Maximum length of a printed line, in characters."""

COLORS = {"bad": "red", "warn": "yellow", "neutral": None, "good": "green"}
"""Tone of a verdict -> color of its light."""


def show_audit(result: AuditResult, *, open_page: bool = False) -> None:
    """Print the verdict of each question, the worst first, and the path of the report.

    Args:
        result: A finished audit, or one of which only the plan was made.
        open_page: Whether the report is opened in a browser.

    Raises:
        typer.Exit: With code 1 if a question failed.
    """
    # Nothing is written for a plan, nor by any but the first of several processes.
    if not result.written:
        hand_over(result.audit.get("plan"))
        return
    from rightreasons.report.outcomes import sort_worst_first
    from rightreasons.report.schema import read_audit

    # The file is large: it is read only if someone asked for it.
    hand_over(functools.partial(read_audit, result.out))
    for outcome, answer in sort_worst_first(result.outcomes):
        show_answer(outcome.title, answer.verdict)
    # Questions without an answer come after the verdicts, with the reason.
    unanswered = [outcome for outcome in result.outcomes if outcome.result is None]
    if unanswered:
        typer.echo("")
    for outcome in unanswered:
        # A question that does not apply to the data is no failure.
        state = "Failed" if outcome.status == "failed" else "Not asked"
        say(f"{state}: {outcome.title} {outcome.reason}")
    show_path(result.page, open_page=open_page)
    if result.failed:
        raise typer.Exit(1)


def show_path(page: Path, *, open_page: bool) -> None:
    """Print the path of a report, and open it in a browser on request."""
    typer.echo(f"\nReport: {page}")
    if open_page and not webbrowser.open(page.resolve().as_uri()):
        typer.echo("No browser could be started: open the page yourself.", err=True)


def show_labels(audits: LabelAudits, *, open_page: bool = False) -> None:
    """Print the figures and the verdicts of each label, and the means over labels.

    Args:
        audits: One audit per label that an item may have.
        open_page: Whether the report is opened in a browser.
    """
    from rightreasons.report.labels import LABELS
    from rightreasons.report.render import PAGE

    hand_over(audits)
    show_section("Each label separately", LABELS.answer(audits))
    show_path(audits.out / PAGE, open_page=open_page)


def show_arms(arms: Sequence[Arm], *, open_page: bool = False) -> None:
    """Print the audit of each value of a column, and the command that compares the first two.

    Args:
        arms: Audits, one per value.
        open_page: Whether the reports are opened in a browser.
    """
    for arm in arms:
        typer.secho(f"\n{arm.name}", bold=True)
        show_audit(arm.result, open_page=open_page)
    folders = " ".join(str(arm.result.out) for arm in arms[:2])
    typer.echo(f"\nCompare them: rightreasons compare {folders}")
    # Each audit handed over its own result before.
    hand_over({arm.name: arm.result.audit for arm in arms})


def show_plan(plan: Plan) -> None:
    """Print which requests would be sent."""
    hand_over(plan.costs)
    typer.echo("\n".join(plan.lines))


def show_answer(title: str, verdict: Verdict) -> None:
    """Print the verdict on a question: a colored light with the title, and a paragraph.

    Args:
        title: Title of the question.
        verdict: Its tone, such as "good", its label and its summary.
    """
    from rightreasons.report.outcomes import LIGHTS

    color = COLORS[verdict.tone]
    typer.echo("")
    typer.secho(f"{LIGHTS[verdict.tone]}: ", bold=True, fg=color, nl=False)
    typer.secho(title, bold=True)
    say(f"  {verdict.label}. {verdict.summary}", hanging="")


def show_section(title: str, answer: SectionResult) -> None:
    """Print a section of a page: its verdict, and the texts and the tables of its parts.

    Args:
        title: Title of the section.
        answer: Its content. Parts that only have pictures or examples are left out.
    """
    typer.secho(f"\n{title}", bold=True)
    say(f"  {answer.verdict.label}. {answer.verdict.summary}")
    for part in answer.parts:
        # The text of a part that only has a picture is about the picture.
        if not part.tables and (part.plots or part.examples):
            continue
        for paragraph in part.text.split("\n\n"):
            if paragraph:
                say(f"  {paragraph}")
        for table in part.tables:
            show_table(table)


def show_table(table: Table) -> None:
    """Print a table of a page, with its title: texts aligned to the left, numbers to the right."""
    from rightreasons.page.formats import align_columns, cell

    headings = [column.name for column in table.columns]
    rows = [headings]
    for values in table.rows:
        rows.append(list(map(cell, values, table.columns)))
    text_columns = [k for k, column in enumerate(table.columns) if column.kind == "text"]
    lines = align_columns(rows, text_columns)
    typer.secho(f"\n{table.title}", bold=True)
    typer.echo(textwrap.indent("\n".join(lines), "  "))


def print_rows(
    rows: Iterable[Sequence[str]], *, indent: str = "  ", texts: Collection[int] = (0,)
) -> None:
    """Print rows of texts in columns.

    Args:
        rows: Cells of each row.
        indent: Spaces before each row.
        texts: Indices of the columns that are aligned to the left; the others are to the right.
    """
    from rightreasons.page.formats import align_columns

    for line in align_columns(list(rows), texts):
        typer.echo((indent + line).rstrip())


def say(text: str, *, hanging: str = "  ") -> None:
    """Print a paragraph, wrapped; the lines of an indented text stay indented.

    Args:
        text: One paragraph.
        hanging: Further indent of all lines but the first.
    """
    indent = text[: len(text) - len(text.lstrip())]
    lines = textwrap.fill(
        text,
        get_width(),
        subsequent_indent=indent + hanging,
        # A flag such as --groups-column can be copied only in one piece.
        break_on_hyphens=False,
    )
    typer.echo(lines)


def get_width() -> int:
    """Return the length of printed lines: that of a narrow terminal, else `WIDTH`."""
    # In a file or a pipe the lines are the same everywhere.
    if not sys.stdout.isatty():
        return WIDTH
    return min(WIDTH, shutil.get_terminal_size().columns)


def show_scores(collected: CollectedScores, averages: Sequence[AverageScore] = ()) -> None:
    """Print the G scores of each configuration and method, with the tests against IID.

    Args:
        collected: Scores of the finished runs.
        averages: Means over seeds.
    """
    typer.secho(f"{collected.n_done:,} of {collected.n_runs:,} runs are finished.", bold=True)
    typer.echo(
        f"G over {len(collected.functionalities)} of {collected.n_functionalities} "
        "functionalities, those that are defined in every row. * differs from IID (p < 0.05)."
    )
    print_rows(_format_scores(collected))
    if averages:
        show_averages(averages)
    _show_doubts(collected)


def _format_scores(collected: CollectedScores) -> list[tuple[str, ...]]:
    """Return the rows of the table of scores of behavioral learning, the headings first.

    Args:
        collected: Scores of the finished runs.

    Returns:
        Cells of each row. A star marks a score that differs significantly from that of IID.
    """
    from rightreasons.behavior.generalization import SETTINGS
    from rightreasons.page.formats import number

    # The i.i.d. columns tell whether a method learned the task at all.
    headings = ("configuration", "method", "seed", "i.i.d.", *SETTINGS, "average", "i.i.d. F1")
    rows: list[tuple[str, ...]] = [headings]
    for row in collected.rows:
        values = {"iid": row.iid_score, **row.scores, "average": row.average}
        cells = []
        for name in ("iid", *SETTINGS, "average"):
            text = number(values.get(name))
            if row.p_values.get(name, 1.0) < 0.05:
                text += "*"
            cells.append(text)
        f1 = ""
        if row.iid_f1 is not None:
            f1 = f"{row.iid_f1:.1%}"
        rows.append((row.configuration, row.method, str(row.seed), *cells, f1))
    return rows


def _show_doubts(collected: CollectedScores) -> None:
    """Print what speaks against the scores: losses, constant models, and training without effect.

    Args:
        collected: Scores of the finished runs.
    """
    for row in collected.rows:
        if row.negative_transfer:
            names = ", ".join([loss.functionality for loss in row.negative_transfer])
            typer.echo(
                f"  Negative transfer: {row.configuration} {row.method} (seed {row.seed}) is "
                f"significantly worse than IID on {names}, held out."
            )
    # One example is enough: the file has all of them.
    if collected.degenerate:
        run = collected.degenerate[0]
        typer.echo(
            f"  One answer: {len(collected.degenerate):,} of {pluralize(collected.n_done, 'run')} "
            "give over 90% of the independent items one answer, such as "
            f"{run['configuration']} {run['method']} (seed {run['seed']})."
        )
    for row in collected.rows:
        if row.n_unchanged:
            typer.echo(
                f"  Changed nothing: {row.n_unchanged:,} of {pluralize(row.n_runs, 'run')} of "
                f"{row.configuration} {row.method} (seed {row.seed}). Their outcomes are all those "
                "of IID."
            )


def show_averages(averages: Sequence[AverageScore]) -> None:
    """Print the mean G of each configuration and method over seeds, and its difference from IID."""
    from rightreasons.page.formats import p_equals

    for row in averages:
        typer.echo(
            f"  Mean G of {row.configuration} {row.method} over {pluralize(row.n_seeds, 'seed')}: "
            f"{row.average:.1%}, {row.difference:+.1%} from IID (p {p_equals(row.p_value)})."
        )
