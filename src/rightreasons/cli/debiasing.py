"""The command that corrects answer priors, and proves what the correction changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import hand_over, make_command_lines
from rightreasons.cli.ask import ASKED
from rightreasons.cli.declared import Dataset, Model, declared_command
from rightreasons.cli.show import show_answer, show_table
from rightreasons.io.options import AuditOptions
from rightreasons.probes.options import DebiasOptions

COMMANDS = make_command_lines("debiasing")


@declared_command(
    COMMANDS["debias"],
    "debias",
    {"settings": AuditOptions, **ASKED, "options": DebiasOptions},
)
def debias(
    model: Model,
    dataset: Dataset,
    out: Annotated[Path, typer.Option(help="Folder of the correction and its page.")] = Path(
        "debias"
    ),
    **declared: Any,
) -> None:
    """Correct the answer priors of a multiple-choice model on some items, and verify the correction on the other items."""
    from rightreasons.repairs.debias import CORRECTION_FILE
    from rightreasons.repairs.debias import debias as run_debias
    from rightreasons.repairs.debias_page import DEBIAS

    # Options that were not typed keep the defaults of the function.
    settings: dict[str, Any] = {}
    for options in declared.values():
        settings.update(options.get_changes())
    result = run_debias(model, dataset, out=out, **settings)
    answer = DEBIAS.answer(result, declared["settings"].confidence_level)
    hand_over(answer)
    # The verdict, whether the correction is recommended, is printed before the tables.
    show_answer(DEBIAS.title, answer.verdict)
    for part in answer.parts:
        for table in part.tables:
            show_table(table)
    typer.echo(f"\nCorrection: {out / CORRECTION_FILE}")
    typer.echo(f"Page: {result.page}")
