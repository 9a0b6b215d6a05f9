"""`rightreasons demo`: what `make audit` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line

app = command_line()


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("report"),
    model_dir: Annotated[Path, typer.Option(help="Folder of the fine-tuned model.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the data, the training and every random choice.")] = 0,
) -> None:
    """Fine-tune the packaged encoder on data with a planted shortcut, and audit it: a few minutes on two cores."""
    from rightreasons.auditing.demo import audit_demo
    from rightreasons.cli._shared.show import show_audit

    show_audit(audit_demo(out, model_dir=model_dir, seed=seed, say=lambda line: typer.echo(line, err=True)))
