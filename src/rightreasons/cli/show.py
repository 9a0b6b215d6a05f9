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
        result: A finished audit, or the plan of one.
        open_page: Whether to open the report in a browser.

    Raises:
        typer.Exit: With code 1 if a question failed.
    """
    # A plan writes no report. If several processes share an audit, only the first one does.
    if not result.written:
        hand_over(result.audit.get("plan"))
        return
    from rightreasons.report.outcomes import sort_worst_first
    from rightreasons.report.schema import read_audit

    # The large audit.json is read only if the command has --json.
    hand_over(functools.partial(read_audit, result.out))
    for outcome, answer in sort_worst_first(result.outcomes):
        show_answer(outcome.title, answer.verdict)
    # Questions without an answer come after the verdicts, with the reason.
    unanswered = [outcome for outcome in result.outcomes if outcome.result is None]
    if unanswered:
        typer.echo("")
    for outcome in unanswered:
        # A question that does not apply to the data has not failed.
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
    # With --json, the results of all audits replace that of the last one.
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
        answer: The content of the section. Parts without tables, but with pictures or examples, are
            omitted.
    """
    typer.secho(f"\n{title}", bold=True)
    say(f"  {answer.verdict.label}. {answer.verdict.summary}")
    for part in answer.parts:
        # The text of such a part describes its pictures or examples, which are not printed.
        if not part.tables and (part.plots or part.examples):
            continue
        for paragraph in part.text.split("\n\n"):
            if paragraph:
                say(f"  {paragraph}")
        for table in part.tables:
            show_table(table)


def show_table(table: Table) -> None:
    """Print a table with its title. Columns of text are aligned to the left, and numbers to the right.

    Args:
        table: A table of a page, with its columns and rows.
    """
    from rightreasons.page.formats import align_columns, cell

    headings = []
    text_columns = []
    for index, column in enumerate(table.columns):
        headings.append(column.name)
        if column.kind == "text":
            text_columns.append(index)
    rows = []
    for values in table.rows:
        cells = map(cell, values, table.columns)
        rows.append(list(cells))
    lines = align_columns([headings, *rows], text_columns)
    longest = max(map(len, lines))
    # Headings are often longer than the cells below them.
    if longest > WIDTH:
        wrapped_headings = _wrap_headings(headings, rows)
        lines = align_columns([*wrapped_headings, *rows], text_columns)
    typer.secho(f"\n{table.title}", bold=True)
    typer.echo(textwrap.indent("\n".join(lines), "  "))


def _wrap_headings(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the headings of a table in several lines, each column no wider than its cells need.

    Args:
        headings: Heading of each column.
        rows: Cells of each row.
    """
    wrapped_headings = []
    for index, heading in enumerate(headings):
        # A word is never divided.
        width = max(map(len, [*heading.split(), "-"]))
        for row in rows:
            width = max(width, len(row[index]))
        wrapped_headings.append(textwrap.wrap(heading, width) or [""])
    height = max(map(len, wrapped_headings))
    columns = []
    for lines in wrapped_headings:
        # Short headings are at the bottom, next to their cells.
        n_empty = height - len(lines)
        columns.append([""] * n_empty + lines)
    return [list(line) for line in zip(*columns, strict=True)]


def print_rows(
    rows: Iterable[Sequence[str]], *, indent: str = "  ", texts: Collection[int] = (0,)
) -> None:
    """Print rows of strings as a table.

    Args:
        rows: Cells of each row.
        indent: Spaces before each row.
        texts: Indices of the columns that are aligned to the left; others are aligned to the right.
    """
    from rightreasons.page.formats import align_columns

    for line in align_columns(list(rows), texts):
        typer.echo((indent + line).rstrip())


def say(text: str, *, hanging: str = "  ") -> None:
    """Print a paragraph, wrapped to the width of the terminal.

    Args:
        text: The paragraph. If it begins with spaces, all lines are indented by them.
        hanging: Additional indentation of all lines but the first.
    """
    indent = text[: len(text) - len(text.lstrip())]
    lines = textwrap.fill(
        text,
        get_width(),
        subsequent_indent=indent + hanging,
        # A flag such as --groups-column is not divided, so that it can be copied.
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
    """Print the G scores of behavioral learning, with the tests of their differences from IID.

    IID is the model that was trained on independent data only, and not on the suite.

    Args:
        collected: Scores of each configuration and method, from the finished runs.
        averages: Mean scores over seeds.
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
        collected: Scores of each configuration and method, from the finished runs.

    Returns:
        Cells of each row. A star marks a score that differs significantly from that of IID, the
        model that was trained on independent data only.
    """
    from rightreasons.behavior.generalization import SETTINGS
    from rightreasons.page.formats import number

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
    """Print warnings about the scores of behavioral learning.

    They are about functionalities that became worse, models that always give the same answer, and
    trainings without an effect.

    Args:
        collected: Scores of the finished runs, with the runs to warn about.
    """
    for row in collected.rows:
        if row.negative_transfer:
            names = ", ".join([loss.functionality for loss in row.negative_transfer])
            typer.echo(
                f"  Negative transfer: {row.configuration} {row.method} (seed {row.seed}) is "
                f"significantly worse than IID on {names}, held out."
            )
    # Only one run is named. The file of scores lists all of them.
    if collected.degenerate:
        run = collected.degenerate[0]
        typer.echo(
            f"  One answer: {len(collected.degenerate):,} of {pluralize(collected.n_done, 'run')} "
            "give the same answer to over 90% of the independent items, such as "
            f"{run['configuration']} {run['method']} (seed {run['seed']})."
        )
    for row in collected.rows:
        if row.n_unchanged:
            typer.echo(
                f"  Changed nothing: {row.n_unchanged:,} of {pluralize(row.n_runs, 'run')} of "
                f"{row.configuration} {row.method} (seed {row.seed}). All of their outcomes "
                "equal those of IID."
            )


def show_averages(averages: Sequence[AverageScore]) -> None:
    """Print the mean G score of each configuration and method, and its difference from IID.

    IID is the model that was trained on independent data only.

    Args:
        averages: Means over seeds, with the p-values of the differences.
    """
    from rightreasons.page.formats import p_equals

    for row in averages:
        typer.echo(
            f"  Mean G of {row.configuration} {row.method} over {pluralize(row.n_seeds, 'seed')}: "
            f"{row.average:.1%}, {row.difference:+.1%} from IID (p {p_equals(row.p_value)})."
        )
