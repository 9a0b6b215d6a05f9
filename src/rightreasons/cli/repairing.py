"""The command that closes the loop: from what an audit found to a model that is repaired, with the proof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import hand_over, make_command_lines, tell
from rightreasons.cli.declared import declared_command
from rightreasons.cli.show import show_answer, show_table
from rightreasons.core.options import parse_names
from rightreasons.repairs.options import RepairOptions

if TYPE_CHECKING:
    from rightreasons.repairs.result import RepairResult

COMMANDS = make_command_lines("repairing")


@declared_command(COMMANDS["repair"], "repair", {"options": RepairOptions})
def repair(
    report: Annotated[
        Path,
        typer.Argument(help="Folder of a report on shortcuts.", metavar="REPORT"),
    ],
    train: Annotated[
        str,
        typer.Option(help="Labeled training texts: a file, a folder, or a dataset."),
    ],
    options: RepairOptions,
    not_reasons: Annotated[
        str | None,
        typer.Option(help="Comma-separated words that are not a valid reason for a label."),
    ] = None,
    retrain: Annotated[
        str | None,
        typer.Option(
            help="Command that trains the model again, such as 'fine-tune demo --epochs 2'."
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(help="Model to verify, which you have trained on the repaired texts."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the repair.")] = Path("repair"),
) -> None:
    """Edit training texts so that spurious words predict no label, retrain the model, and verify it.

    Without --not-reasons, the command writes repair.yaml, in which a person judges the deciding
    words. Without --retrain or --after, it writes the repaired texts and verifies nothing.
    """
    from rightreasons.repairs.run import repair as run_repair

    # Imported late, so that the help of a command does not wait for numpy.
    result = run_repair(
        report,
        train,
        options=options,
        not_reasons=parse_names(not_reasons) or (),
        retrain=retrain,
        after=after,
        out=out,
    )
    show_repair(result)


def show_repair(result: RepairResult) -> None:
    """Print whether a repair worked, and the paths of its files.

    Args:
        result: The repair. Its `verification` is None if no repaired model was given or trained.
    """
    from rightreasons.repairs.run import TRAIN_FILE

    tell(f"Training texts: {result.out / TRAIN_FILE}")
    if result.has_other_training:
        tell("They were made from other training texts than those of the report.")
    if result.verification is None:
        hand_over({"words": list(result.words.labels), "repaired": None})
        reason = "No command was given to train the model again"
        # A model in memory has no path, from which a command could load and train it.
        if result.findings.model_path is None:
            reason = f"The audited model was {result.findings.missing_model}, which no command can train again"
        typer.echo(
            f"{reason}: train a model on these texts, and repeat the command with --after NEW_MODEL to verify it."
        )
        return
    from rightreasons.repairs.page import REPAIR

    answer = REPAIR.answer(result, result.findings.audit["settings"]["confidence_level"])
    hand_over(answer)
    # The verdict, whether the repair worked, is printed before the tables.
    show_answer(REPAIR.title, answer.verdict)
    # Only tables of figures are printed. The page also has the edited texts.
    for part in answer.parts:
        for table in part.tables:
            if table.key in ("accuracies", "shares", "criteria"):
                show_table(table)
    typer.echo(f"\nPage: {result.page}")
