"""`rightreasons audit MODEL DATASET`, or `rightreasons audit --predictions FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions, StoredOptions
from rightreasons.cli import command_line
from rightreasons.cli._shared.audit import Open, Out, run_audit, sources
from rightreasons.cli._shared.declared import completes, declared_command
from rightreasons.cli._shared.options import OptionalDataset, OptionalModel
from rightreasons.foundations.options import listed
from rightreasons.measuring.options import QUESTIONS

app = command_line()

EXAMPLES = (
    "rightreasons audit my-model my_reviews.csv --text-column review --label-column stars",
    "rightreasons audit my-model sst2 --limit 500 --questions calibration,shortcuts --open",
    "rightreasons audit --predictions samples_piqa.jsonl --out report",
)


@declared_command(app, "audit", {"settings": AuditOptions, "stored": StoredOptions, **QUESTIONS})
def audit(
    *,
    model: OptionalModel = None,
    dataset: OptionalDataset = None,
    settings: Any,
    stored: Any,
    questions: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated questions, of {', '.join(QUESTIONS)}; by default all that apply.",
            autocompletion=completes(tuple(QUESTIONS)),
        ),
    ] = None,
    out: Out = Path("report"),
    open_page: Open = False,
    **options: Any,
) -> None:
    """Ask whether a model is right for the right reasons, and write the report.

    Stored predictions can be audited in the place of a model: questions that a model would have to answer anew say so.
    """
    asked = listed(questions)
    model, dataset, files = sources(model, dataset, stored)
    run_audit(
        model,
        dataset,
        out,
        asked,
        {**settings.changed(), **files},
        {name: options[name] for name in QUESTIONS if asked is None or name in asked or options[name].changed()},
        open_page=open_page,
    )
