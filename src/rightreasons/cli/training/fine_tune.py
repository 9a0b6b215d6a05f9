"""`rightreasons fine-tune MODEL DATASET`: a model to audit, for those who have none yet."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli.declared import Dataset, declared_command
from rightreasons.core.errors import counted
from rightreasons.training.options import TrainingDataOptions, TuningOptions

if TYPE_CHECKING:
    from rightreasons.training.examples import TrainingData
    from rightreasons.training.finetune import FineTuned


DEMO = "demo"
"""What the packaged encoder is called."""

FIGURES: Mapping[str, str] = {"accuracy": "accuracy", "exact_match": "exact match", "f1": "F1", "ece": "ECE"}

COMMANDS = {"fine-tune": command_line()}

EXAMPLES = {
    "fine-tune": (
        "rightreasons fine-tune distilbert/distilbert-base-uncased reviews.csv --text-column text --label-column stars",
        "rightreasons fine-tune demo sst2 --limit 1000 --epochs 1 --out sst2-model",
        "rightreasons fine-tune demo socialiqa --limit 4000 --out socialiqa-model",
    )
}


@declared_command(COMMANDS["fine-tune"], "fine-tune", {"source": TrainingDataOptions, "options": TuningOptions})
def fine_tune(
    model: Annotated[
        str,
        typer.Argument(
            help="Folder or hub id of an encoder or a classifier; `demo` for the packaged encoder of the extra [demo].",
            metavar="MODEL",
            show_default=False,
        ),
    ],
    dataset: Dataset,
    source: TrainingDataOptions,
    options: TuningOptions,
    out: Annotated[Path, typer.Option(help="Folder of the model; the same command goes on from what is there.")] = Path(
        "my-model"
    ),
    cpu: Annotated[bool, typer.Option("--cpu", help="Keep off a GPU.")] = False,
) -> None:
    """Fine-tune an encoder on labeled texts or choices, and print the command that audits it.

    Of a data set without a split to evaluate on, such as one csv file, a share of the items is held out for the audit.
    A run that is stopped goes on from its last checkpoint when the same command is repeated.
    """
    from rightreasons.core.store import check_folder
    from rightreasons.models.packaged import demo_encoder
    from rightreasons.training.callbacks import TrainingBar
    from rightreasons.training.examples import open_training_data, write_held_out
    from rightreasons.training.finetune import fine_tune as tune

    check_folder(out)
    encoder = str(demo_encoder()) if model == DEMO and not (Path(DEMO) / "config.json").is_file() else model
    data = open_training_data(dataset, source, task=options.task, label_names=options.label_names)
    typer.echo(_plan(model, dataset, data, options), err=True)
    tuned = tune(
        encoder,
        data.train,
        out=out,
        validation=data.validation,
        callbacks=[TrainingBar()],
        progress=False,
        device="cpu" if cpu else None,
        **{**options.to_dict(), "task": data.task},
    )
    test = str(write_held_out(data, out)) if data.holds_out else dataset
    _show(tuned, data, out, test, source)


def _plan(model: str, dataset: str, data: TrainingData, options: TuningOptions) -> str:
    evaluated = ""
    if data.validation is not None:
        kept = "held out of the same file" if data.holds_out else f"of {data.validation_name}"
        evaluated = f", evaluated on {len(data.validation):,} {kept}"
    return (
        f"Fine-tuning {model} on {counted(len(data.train), 'item')} of {dataset}, {data.train_name}{evaluated}: "
        f"{options.epochs:g} {'epoch' if options.epochs == 1 else 'epochs'}."
    )


def _show(tuned: FineTuned, data: TrainingData, out: Path, test: str, source: TrainingDataOptions) -> None:
    """Print what was trained and how good it is, and the command that comes next."""
    resumed = "" if tuned.resumed_from_step is None else f", resumed at step {tuned.resumed_from_step:,}"
    kind = "questions" if data.task == "question_answering" else tuned.task.replace("_", " ")
    typer.secho(f"{kind}: {counted(tuned.n_steps, 'step')}, {tuned.seconds:,.0f} s{resumed}", bold=True)
    if data.validation is not None:
        figures = [
            f"{name} {value:.1%}" for key, name in FIGURES.items() if (value := tuned.metrics.get(key)) is not None
        ]
        typer.echo(f"On {counted(len(data.validation), 'item')} of {data.validation_name}: {', '.join(figures)}.")
        _tell_baseline(tuned, data)
    if tuned.n_truncated:
        typer.echo(f"Cut, as longer than the model reads: {counted(tuned.n_truncated, 'text')} (--max-length).")
    typer.echo(f"Model: {out}")
    if data.validation is None:
        typer.echo("Nothing was held out: audit it on other items than those it was trained on.")
    elif data.task == "question_answering":
        typer.echo(f"Next: {shlex.join(['rightreasons', 'behavior', str(out), 'checklist_squad'])}")
    else:
        typer.echo(f"Next: {shlex.join(_audit(out, test, data, source))}")


def _tell_baseline(tuned: FineTuned, data: TrainingData) -> None:
    """Say so where the model is right no more often than one answer to everything would be."""
    accuracy = tuned.metrics.get("accuracy")
    if accuracy is None or data.validation is None:
        return
    labels = data.validation["label"][:]
    constant = max(map(labels.count, set(labels))) / len(labels)
    if accuracy <= constant:
        typer.echo(
            f"That is no better than one answer to every item, which is right in {constant:.1%}. More items, more "
            "--epochs or a higher --learning-rate may help."
        )


def _audit(out: Path, test: str, data: TrainingData, source: TrainingDataOptions) -> list[str]:
    """Return the words of the command that audits the model on items that it was not trained on."""
    from rightreasons.audited.options import AuditOptions
    from rightreasons.io.options import ItemOptions

    words = ["rightreasons", "audit", str(out), test]
    if data.holds_out:
        return words
    settings = {name: value for name, value in source.changed().items() if name in ItemOptions.names()}
    if source.validation_split is not None:
        settings["split"] = source.validation_split
    return words + AuditOptions(**settings).flags()
