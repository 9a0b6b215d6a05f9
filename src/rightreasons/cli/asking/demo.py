"""`rightreasons demo`: what `make audit` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.options import Open, Out

app = command_line()

EXAMPLES = ("rightreasons demo --out report",)


@app.command()
def demo(
    out: Out = Path("report"),
    model_dir: Annotated[Path, typer.Option(help="Folder of the fine-tuned model.")] = Path("runs/demo"),
    seed: Annotated[int, typer.Option(help="Seed of the data, the training and every random choice.")] = 0,
    open_page: Open = False,
) -> None:
    """Fine-tune the packaged encoder on data with a planted shortcut, and audit it: a few minutes on two cores."""
    from rightreasons.auditing.demo import audit_demo
    from rightreasons.cli._shared.show import show_audit

    show_audit(
        audit_demo(out, model_dir=model_dir, seed=seed, say=lambda line: typer.echo(line, err=True)),
        open_page=open_page,
    )
