"""The command that repeats the experiments of a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import hand_over, make_command_lines, tell
from rightreasons.cli.show import say

COMMANDS = make_command_lines("replicate")


@COMMANDS["replicate"].command(no_args_is_help=True)
def replicate(
    paper: Annotated[
        str,
        typer.Argument(
            help="beluga2023, bihani2025, datta2020, kavumba2019 or shen2022.", metavar="PAPER"
        ),
    ],
    scale: Annotated[
        str,
        typer.Option(
            help=(
                "small: at most an hour on two cores; medium: several hours (beluga2023, "
                "bihani2025 and shen2022); paper: the size of the paper."
            )
        ),
    ] = "small",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the result, from which a later run resumes; by default replication/PAPER."
        ),
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Folder of local copies of the datasets.")
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Write the tables again from results.json, without running anything."
        ),
    ] = False,
) -> None:
    """Repeat the experiments of a paper, and print our results next to those of the paper."""
    # Steps train models, and import torch; the help of the command does not.
    from rightreasons.core.validation import check_one_of
    from rightreasons.replicate import replicate as run_recipe
    from rightreasons.replicate.recipe import SCALES
    from rightreasons.replicate.runner import TABLES

    # Recipes have another scale, which is only for tests and not accepted here.
    check_one_of(scale, SCALES, "scale")
    # By default, each paper has a separate folder, in which the same command resumes.
    folder = Path("replication") / paper if out is None else out
    result = run_recipe(
        paper,
        out=folder,
        scale=scale,
        data_dir=data_dir,
        report=report,
        tell=tell,
    )
    hand_over(result)
    say(f"Tables: {folder / TABLES}")
