"""`rightreasons learn plan | run | collect`: behavioral learning, training on a behavioral suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import SUITE_HELP, DataDir, LabelColumn, MaxCases, TextColumn, TextPairColumn

app = command_line()


@app.callback()
def learn() -> None:
    """Train on a behavioral suite and measure what generalizes: plan the runs, execute them, collect the scores."""


PlanFolder = Annotated[Path, typer.Argument(help="Folder of the plan.", metavar="PLAN", show_default=False)]


@app.command()
def plan(
    folder: PlanFolder,
    model: Annotated[str, typer.Option(help="Folder or hub id of an encoder, or of a model for the suite.")],
    suite: Annotated[str, typer.Option(help=SUITE_HELP)],
    data: Annotated[str, typer.Option(help="Independent data: a known name, a hub id or a folder of files.")],
    train_split: Annotated[str, typer.Option(help="Training split of the independent data.")] = "train",
    test_split: Annotated[str, typer.Option(help="Test split of the independent data, with labels.")] = "validation",
    data_dir: DataDir = None,
    text_column: TextColumn = None,
    text_pair_column: TextPairColumn = None,
    label_column: LabelColumn = None,
    train_limit: Annotated[int | None, typer.Option(help="Maximum number of training items.")] = None,
    test_limit: Annotated[int | None, typer.Option(help="Maximum number of test items.")] = None,
    max_cases: MaxCases = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="sentiment (0, 1, 2 for two classes), classes or answers (spans); by default what the suite asks for.",
            show_default=False,
        ),
    ] = None,
    configurations: Annotated[str, typer.Option(help="Comma-separated configurations; all four by default.")] = "",
    methods: Annotated[str, typer.Option(help="Comma-separated methods; all eight by default.")] = "",
    partitions: Annotated[str, typer.Option(help="Comma-separated; of seen, functionality, class, type.")] = "",
    seeds: Annotated[str, typer.Option(help="Comma-separated seeds.")] = "42",
    epochs: Annotated[float, typer.Option(help="Passes over the suite.")] = 1.0,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 2e-5,
    head_learning_rate: Annotated[float, typer.Option(help="Peak learning rate of linear probes.")] = 5e-4,
    batch_size: Annotated[int, typer.Option(help="Texts per batch of the suite.")] = 8,
    iid_epochs: Annotated[float, typer.Option(help="Passes over the independent data.")] = 3.0,
    iid_batch_size: Annotated[int, typer.Option(help="Texts per batch of independent data.")] = 16,
    activation: Annotated[str, typer.Option(help="softmax, or sigmoid as in the released code.")] = "softmax",
    grid: Annotated[
        str,
        typer.Option(help='Settings to choose from on the validation part: "learning_rate=2e-5,5e-5 epochs=1,2".'),
    ] = "",
    max_length: Annotated[
        int | None,
        typer.Option(help="Maximum tokens per text; 128, or 384 for reading.", show_default=False),
    ] = None,
) -> None:
    """Plan the runs of an experiment and store them in a folder."""
    from rightreasons.cli._learning_task import absolute, open_task
    from rightreasons.data.builders.catalog import CATALOG
    from rightreasons.foundations.options import listed
    from rightreasons.training.behavior import plan as behavior_plan
    from rightreasons.training.behavior.grid import parse_grid

    asked = {"configurations": configurations, "methods": methods, "partitions": partitions}
    chosen: dict[str, Any] = {name: tuple(listed(words) or ()) for name, words in asked.items() if words}
    numbers = listed(seeds) or []
    if not all(number.isdecimal() for number in numbers):
        raise ValueError(f"Expected --seeds to be comma-separated whole numbers, but got {seeds!r}.")
    source = {
        "model": absolute(model),
        "suite": absolute(suite),
        "data": data if data in CATALOG else absolute(data),
        "train_split": train_split,
        "test_split": test_split,
        "data_dir": None if data_dir is None else str(data_dir.resolve()),
        "columns": {"text_column": text_column, "text_pair_column": text_pair_column, "label_column": label_column},
        "limits": [train_limit, test_limit],
        "max_cases": max_cases,
        "labels": labels,
        "options": {
            "epochs": epochs,
            "learning_rate": learning_rate,
            "head_learning_rate": head_learning_rate,
            "batch_size": batch_size,
            "activation": activation,
        },
        "iid_options": {
            "epochs": iid_epochs,
            "learning_rate": learning_rate,
            "batch_size": iid_batch_size,
            "activation": activation,
        },
        "grid": parse_grid(grid),
        "max_length": max_length,
    }
    task = open_task(source)
    runs = behavior_plan.lay_out(task.suite, seeds=[int(number) for number in numbers], **chosen)
    made = behavior_plan.Plan.create(folder, runs, {**task.settings(), "source": source})
    each = f", each the best of {len(task.grid)} settings" if task.grid else ""
    typer.echo(
        f"{len(runs):,} runs{each} in {folder}, {len(made.done()):,} finished. Next: rightreasons learn run {folder}"
    )


@app.command()
def run(
    folder: PlanFolder,
    shard: Annotated[str, typer.Option(help="Part i/n of the runs, for one of n processes or machines.")] = "1/1",
) -> None:
    """Execute the unfinished runs of a plan; can be stopped and started again at any time."""
    from rightreasons.cli._learning_task import open_task
    from rightreasons.training.behavior.plan import Plan
    from rightreasons.training.behavior.runner import run_plan

    opened = Plan.open(folder)
    opened.check_code()
    if "source" not in opened.settings:
        raise ValueError(f"Expected a plan that `rightreasons learn plan` made, but {folder} names no sources.")
    made = run_plan(opened, open_task(opened.settings["source"]), shard=shard)
    typer.echo(f"{made:,} runs executed; {len(opened.done()):,} of {len(opened.runs):,} are finished.")


@app.command()
def collect(
    folder: PlanFolder,
    out: Annotated[Path | None, typer.Option(help="JSON file; PLAN/collected.json by default.")] = None,
) -> None:
    """Gather the finished runs of a plan into G scores."""
    from rightreasons.analysis.behavior.generalization import SETTINGS
    from rightreasons.cli._show import percent
    from rightreasons.foundations.atomic_write import write_json
    from rightreasons.training.behavior.plan import Plan
    from rightreasons.training.behavior.plan import collect as gather

    found = gather(Plan.open(folder))
    file = out or folder / "collected.json"
    write_json(file, found.to_dict())
    typer.secho(f"{found.n_done:,} of {found.n_runs:,} runs are finished.", bold=True)
    typer.echo(f"  {'configuration':<14}{'method':<10}{'seed':>6}{'i.i.d.':>9}" + "".join(f"{s:>15}" for s in SETTINGS))
    for row in found.rows:
        iid = sum(row.iid_score.values()) / len(row.iid_score)
        scores = "".join(f"{percent(row.scores.get(setting)):>15}" for setting in SETTINGS)
        f1 = f"   (i.i.d. F1 {sum(row.iid_f1.values()) / len(row.iid_f1):.1%})" if row.iid_f1 else ""
        typer.echo(f"  {row.configuration:<14}{row.method:<10}{row.seed:>6}{iid:>9.1%}{scores}{f1}")
    typer.echo(f"Pass rates and scores: {file}")
