"""What the commands that audit a model on a dataset share: `audit`, and one command for each question."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions
from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import Dataset, Model
from rightreasons.foundations.options import Options
from rightreasons.measuring.options import QUESTIONS

if TYPE_CHECKING:
    from rightreasons.auditing.runner import AuditResult

Out = Annotated[Path, typer.Option(help="Folder of the report.")]


def question_app(question: str, **fixed: Any) -> typer.Typer:
    """Return the command that asks one question of a model, and writes the report.

    Args:
        question: The question: a name of `measuring.options.QUESTIONS`.
        **fixed: Settings of the audit that the question implies, where the command line leaves them open.
    """
    app = command_line()

    def ask(model: Model, dataset: Dataset, settings: Any, options: Any, out: Out = Path("report")) -> None:
        run_audit(model, dataset, out, [question], {**fixed, **settings.changed()}, {question: options})

    ask.__doc__ = QUESTIONS[question].__doc__
    declared_command(app, question, {"settings": AuditOptions, "options": QUESTIONS[question]})(ask)
    return app


def run_audit(
    model: str,
    dataset: str,
    out: Path,
    questions: list[str] | None,
    settings: Mapping[str, Any],
    options: Mapping[str, Options],
    show: Callable[[AuditResult], None] | None = None,
) -> None:
    """Audit, and print the verdicts; `show` prints more before them."""
    from rightreasons.auditing.runner import audit
    from rightreasons.cli._shared.show import show_audit

    tell = functools.partial(typer.echo, err=True)
    result = audit(model, dataset, out=out, questions=questions, options=options, tell=tell, **settings)
    if show is not None:
        show(result)
    show_audit(result)
