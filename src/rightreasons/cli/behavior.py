"""`rightreasons behavior MODEL SUITE`, and `rightreasons behavior plan | run | collect`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._default import DefaultGroup
from rightreasons.cli._options import (
    SUITE_HELP,
    BatchSize,
    ConfidenceLevel,
    DataDir,
    LabelColumn,
    MaxCases,
    Resamples,
    Seed,
    SuiteName,
    TextColumn,
    TextPairColumn,
)


class _Behavior(DefaultGroup):
    default = "test"

    def follows_command(self, word: str, rest: Sequence[str]) -> bool:
        if word == "plan":
            return not rest or "--model" in rest
        return not rest or (Path(rest[0]) / "plan.jsonl").is_file()


app = command_line(_Behavior)


@app.callback(subcommand_metavar="MODEL SUITE | COMMAND ...")
def _group() -> None:
    """Test models on a behavioral suite (MODEL SUITE), or train on one (plan, run, collect)."""


PlanFolder = Annotated[Path, typer.Argument(help="The folder of the plan.", metavar="PLAN", show_default=False)]


@app.command("test")
def score(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Folders or hub ids of classifiers.", metavar="MODEL", show_default=False),
    ] = None,
    suite: SuiteName,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(help="A file of predictions in the suite's order, in place of a model; may come again."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the report.")] = Path("behavior"),
    data_dir: DataDir = None,
    max_cases: MaxCases = None,
    examples: Annotated[int, typer.Option(help="Failing cases of each functionality in the report.")] = 3,
    batch_size: BatchSize = 32,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
) -> None:
    """Test classifiers on a behavioral suite: the share of cases that passes, by functionality."""
    from rightreasons.auditing.questions.behavior.report import check_report_folder, write_behavior_report
    from rightreasons.cli._show import show_pass_rates
    from rightreasons.data.opening.predictions import read_answers
    from rightreasons.data.suites.opening import open_suite
    from rightreasons.foundations.validation import check_count
    from rightreasons.measuring.behavior import ask
    from rightreasons.measuring.behavior_answers import score_stored
    from rightreasons.models.loading import load_classifier, load_question_answering
    from rightreasons.training.behavior.question_answering import ask_reader
    from rightreasons.training.behavior.span_items import is_reading

    if not models and not predictions:
        raise ValueError("Expected a model and a suite, or a suite and --predictions, but got one word alone.")
    check_count(examples, "examples", minimum=0)
    check_report_folder(out)
    opened = open_suite(suite, data_dir=data_dir, max_cases=max_cases, seed=seed)
    level: dict[str, Any] = {"n_resamples": n_resamples, "confidence_level": confidence_level, "seed": seed}
    tested = [score_stored(file.stem, opened, read_answers(file), **level) for file in predictions or ()]
    for number, model in enumerate(models or (), start=1):
        kept = out / "predictions" / (str(number) if len(models or ()) > 1 else "")
        if is_reading(opened):
            answered = ask_reader(load_question_answering(model), opened, batch_size=batch_size, out=kept, **level)
        else:
            answered = ask(load_classifier(model), opened, batch_size=batch_size, out=kept, **level)
        tested.append(answered)
    page = write_behavior_report(
        tested, out, confidence_level=confidence_level, seed=seed, examples=examples, command=_typed()
    )
    show_pass_rates(tested)
    typer.echo(f"Pass rates: {page.parent / 'pass_rates.json'}")
    typer.echo(f"Report: {page}")


@app.command()
def plan(
    folder: PlanFolder,
    model: Annotated[str, typer.Option(help="A folder or hub id of an encoder, or of a model for the suite.")],
    suite: Annotated[str, typer.Option(help=SUITE_HELP)],
    data: Annotated[str, typer.Option(help="Independent data: a known name, a hub id or a folder of files.")],
    train_split: Annotated[str, typer.Option(help="Its training split.")] = "train",
    test_split: Annotated[str, typer.Option(help="Its test split, with labels.")] = "validation",
    data_dir: DataDir = None,
    text_column: TextColumn = None,
    text_pair_column: TextPairColumn = None,
    label_column: LabelColumn = None,
    train_limit: Annotated[int | None, typer.Option(help="At most so many training items.")] = None,
    test_limit: Annotated[int | None, typer.Option(help="At most so many test items.")] = None,
    max_cases: MaxCases = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="sentiment (0, 1, 2 for two classes), classes or answers (spans); by default what the suite asks for.",
            show_default=False,
        ),
    ] = None,
    configurations: Annotated[str, typer.Option(help="Parted by commas; all four by default.")] = "",
    methods: Annotated[str, typer.Option(help="Parted by commas; all eight by default.")] = "",
    partitions: Annotated[str, typer.Option(help="Parted by commas; seen, functionality, class, type.")] = "",
    seeds: Annotated[str, typer.Option(help="Parted by commas.")] = "42",
    epochs: Annotated[float, typer.Option(help="Passes over the suite.")] = 1.0,
    learning_rate: Annotated[float, typer.Option(help="The largest learning rate.")] = 2e-5,
    head_learning_rate: Annotated[float, typer.Option(help="That of linear probes.")] = 5e-4,
    batch_size: Annotated[int, typer.Option(help="Texts a batch of the suite.")] = 8,
    iid_epochs: Annotated[float, typer.Option(help="Passes over the independent data.")] = 3.0,
    iid_batch_size: Annotated[int, typer.Option(help="Texts a batch of independent data.")] = 16,
    activation: Annotated[str, typer.Option(help="softmax, or sigmoid as in the released code.")] = "softmax",
    grid: Annotated[
        str,
        typer.Option(help='Options to choose from by the validation part: "learning_rate=2e-5,5e-5 epochs=1,2".'),
    ] = "",
    max_length: Annotated[
        int | None,
        typer.Option(help="The most tokens of a text: 128, and 384 for reading, by default.", show_default=False),
    ] = None,
) -> None:
    """List the runs of an experiment in behavioral learning, and store them in a folder."""
    from rightreasons.cli._behavior_task import absolute, open_task
    from rightreasons.cli._choices import listed
    from rightreasons.data.builders.catalog import CATALOG
    from rightreasons.training.behavior import plan as behavior_plan
    from rightreasons.training.behavior.grid import parse_grid

    asked = {"configurations": configurations, "methods": methods, "partitions": partitions}
    chosen: dict[str, Any] = {name: tuple(listed(words) or ()) for name, words in asked.items() if words}
    numbers = listed(seeds) or []
    if not all(number.isdecimal() for number in numbers):
        raise ValueError(f"Expected --seeds to be whole numbers parted by commas, but got {seeds!r}.")
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
        f"{len(runs):,} runs{each} in {folder}, {len(made.done()):,} finished. Next: rightreasons behavior run {folder}"
    )


@app.command()
def run(
    folder: PlanFolder,
    shard: Annotated[str, typer.Option(help="Which part, i/n from 1: one of n processes or machines.")] = "1/1",
) -> None:
    """Make the runs of a plan that are not finished; kill it and call it again as you like."""
    from rightreasons.cli._behavior_task import open_task
    from rightreasons.training.behavior.plan import Plan
    from rightreasons.training.behavior.runner import run_plan

    opened = Plan.open(folder)
    opened.check_code()
    if "source" not in opened.settings:
        raise ValueError(f"Expected a plan that `rightreasons behavior plan` made, but {folder} names no sources.")
    made = run_plan(opened, open_task(opened.settings["source"]), shard=shard)
    typer.echo(f"{made:,} runs made; {len(opened.done()):,} of {len(opened.runs):,} are finished.")


@app.command()
def collect(
    folder: PlanFolder,
    out: Annotated[Path | None, typer.Option(help="A JSON file; PLAN/collected.json by default.")] = None,
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


def _typed() -> str:
    """The command line as it was typed; "" where it was called from Python."""
    return shlex.join(["rightreasons", *sys.argv[1:]]) if sys.argv[1:2] == ["behavior"] else ""
