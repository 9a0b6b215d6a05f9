"""What the command `compare` prints when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from rightreasons.cli.show import say, show_section, show_table

if TYPE_CHECKING:
    from rightreasons.report.comparison import Comparison
    from rightreasons.report.ranking.page import ComparisonView
    from rightreasons.report.tasks import ModelsByTasks


def show_comparison(comparison: Comparison) -> None:
    """Print the finding about two models, and all of their metrics.

    Args:
        comparison: The comparison.
    """
    from rightreasons.report.comparison import ANSWERS, TITLE

    _show_heading(comparison.heading)
    # Reports that do not store their answers are compared by their metrics only.
    view = comparison.make_view()
    if view is not None:
        _show_models(view)
    show_section(TITLE, ANSWERS.answer(comparison))


def show_tasks(table: ModelsByTasks) -> None:
    """Print the finding about several models, and the models of each task.

    Args:
        table: The models and their tasks.
    """
    from rightreasons.report.tasks import make_task_table

    _show_heading(table.heading)
    views = table.make_views()
    if len(views) > 1:
        task_table = make_task_table(table)
        show_table(task_table)
        say(f"  {task_table.note}", hanging="")
    for view in views:
        # The table of all tasks has the accuracy of a single model.
        if len(views) == 1 or len(view.ranking.models) > 1:
            _show_task(view, has_title=len(views) > 1)


def _show_task(view: ComparisonView, *, has_title: bool) -> None:
    """Print the models of a task, what their reports find, and the tests.

    Args:
        view: The comparison of the models.
        has_title: Whether to print the name of the task and the finding about it.
    """
    from rightreasons.report.ranking.page import answer_ranking

    if has_title:
        typer.secho(f"\n{view.ranking.task}", bold=True)
        say(f"  {view.comparison.heading}", hanging="")
    answer = answer_ranking(view)
    _show_models(view)
    say(f"  {answer.verdict.summary}", hanging="")
    for part in answer.parts:
        for table in part.tables:
            # Texts of items are too long for a terminal; the page has them.
            if table.key in ("patterns", "tests"):
                show_table(table)


def _show_heading(heading: str) -> None:
    """Print the finding of a comparison."""
    typer.echo("")
    say(heading, hanging="")


def _show_models(view: ComparisonView) -> None:
    """Print the models, the problems that their reports find, and one item that shows the finding.

    Args:
        view: The comparison of the models.
    """
    from rightreasons.page.formats import cell
    from rightreasons.report.ranking.page import list_finding_rows, make_model_table, pick_example

    table = make_model_table(view)
    show_table(table)
    typer.echo("")
    for _, verdict, claim, _ in list_finding_rows(view):
        # The claim says which question the verdict is about.
        light, _, _ = cell(verdict, table.columns[0]).partition(":")
        say(f"  {light}: {claim}")
    for example in pick_example(view):
        typer.secho(f"\n{view.example_title}", bold=True)
        say(f"  {example.id}: {example.text}", hanging="")
        label = f"label {example.label}, " if example.label else ""
        say(f"  {label}predicted {example.prediction}. {example.note}", hanging="")
