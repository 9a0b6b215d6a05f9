"""The command that converts a behavioral suite that CheckList has saved."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.core.sentences import pluralize

COMMANDS = {"suite": command_line()}


@COMMANDS["suite"].callback()
def suite() -> None:
    """Convert a behavioral suite that CheckList has saved."""


@COMMANDS["suite"].command()
def convert(
    file: Annotated[
        Path,
        typer.Argument(
            help="Pickle that CheckList has saved: .pkl, .pkl.gz or .tar.gz.", metavar="FILE"
        ),
    ],
    out: Annotated[Path, typer.Argument(help=".jsonl or .jsonl.gz file.", metavar="OUT")],
    text_columns: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated names of the texts of an example, such as context,question."
        ),
    ] = None,
) -> None:
    """Convert a suite that CheckList has saved, without running code from the pickle.

    If the expectation of a test is defined in code, OUT contains "unknown", and the test is skipped
    until you replace it.
    """
    from rightreasons.core.options import parse_names
    from rightreasons.core.store import check_file
    from rightreasons.datasets.suites.pickled_suites import read_pickled_suite

    if not out.name.endswith((".jsonl", ".jsonl.gz")):
        raise ValueError(f"Expected OUT to end in .jsonl or .jsonl.gz, but got {out.name!r}.")
    # A file that cannot be written is reported before the pickle is read.
    check_file(out, "OUT")
    converted = read_pickled_suite(file, text_columns=parse_names(text_columns))
    converted.write(out)
    if converted.label_names is not None:
        labels = [f"{number} {name}" for number, name in enumerate(converted.label_names)]
        typer.echo(f"Labels: {', '.join(labels)}")
    # The printed numbers show whether the conversion is complete.
    n_functionalities = len(converted.functionalities)
    counts = (
        pluralize(n_functionalities, "functionality", "functionalities"),
        pluralize(converted.n_cases, "case"),
        pluralize(converted.n_examples, "example"),
    )
    typer.echo(f"{converted.name}: {', '.join(counts)}\nSuite: {out}")
    # The expectation of a test may be defined by code, which is not run.
    unknown = []
    for functionality in converted.functionalities:
        if functionality.expectation["name"] == "unknown":
            unknown.append(functionality)
            typer.echo(f"Unknown: {functionality.name}: {functionality.expectation['why']}")
    if unknown:
        n_tests = pluralize(n_functionalities, "test")
        typer.echo(
            f"{len(unknown)} of {n_tests} are skipped until you set their expectations in {out}."
        )
