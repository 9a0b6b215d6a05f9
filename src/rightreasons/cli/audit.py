"""`rightreasons audit MODEL DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions
from rightreasons.cli import command_line
from rightreasons.cli._shared.audit import Out, run_audit
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import Dataset, Model
from rightreasons.foundations.options import listed
from rightreasons.measuring.options import QUESTIONS

app = command_line()


@declared_command(app, "audit", {"settings": AuditOptions, **QUESTIONS})
def audit(
    model: Model,
    dataset: Dataset,
    settings: Any,
    questions: Annotated[
        str | None,
        typer.Option(help=f"Comma-separated questions, of {', '.join(QUESTIONS)}; by default all that apply."),
    ] = None,
    out: Out = Path("report"),
    **options: Any,
) -> None:
    """Ask whether a model is right for the right reasons, and write the report."""
    asked = listed(questions)
    run_audit(
        model,
        dataset,
        out,
        asked,
        settings.changed(),
        {name: options[name] for name in QUESTIONS if asked is None or name in asked or options[name].changed()},
    )
