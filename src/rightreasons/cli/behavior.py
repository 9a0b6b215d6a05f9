"""`rightreasons behavior test | plan | run | collect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._options import (
    BatchSize,
    DataDir,
    LabelColumn,
    Model,
    Resamples,
    Seed,
    TextColumn,
    TextPairColumn,
)

if TYPE_CHECKING:
    from rightreasons.training.behavior_runner import Data, Task

app = command_line()

_SUITE = "A .jsonl or .jsonl.gz suite, a CSV in the form of HateCheck, or checklist_sentiment or checklist_paraphrase."
PlanFolder = Annotated[Path, typer.Argument(help="The folder of the plan.", metavar="PLAN", show_default=False)]
MaxCases = Annotated[int | None, typer.Option(help="At most so many cases of each functionality.")]


@app.command("test")
def score(
    model: Model,
    suite: Annotated[str, typer.Argument(help=_SUITE, metavar="SUITE", show_default=False)],
    out: Annotated[Path, typer.Option(help="The folder of the results.")] = Path("behavior"),
    data_dir: DataDir = None,
    max_cases: MaxCases = None,
    batch_size: BatchSize = 32,
    n_resamples: Resamples = 1000,
    seed: Seed = 0,
) -> None:
    """Test a classifier on a behavioral suite: the share of cases that passes, by functionality."""
    from rightreasons.models.loading import load_classifier
    from rightreasons.training.behavior_testing import open_suite, run_suite

    opened = open_suite(suite, data_dir=data_dir, max_cases=max_cases, seed=seed)
    result, _ = run_suite(
        load_classifier(model),
        opened,
        batch_size=batch_size,
        n_resamples=n_resamples,
        seed=seed,
        out=out / "predictions",
    )
    _write(out / "pass_rates.json", {"model": model, "suite": opened.name, **result.to_dict()})
    typer.secho(f"{opened.name}: {opened.n_cases:,} cases, {opened.n_examples:,} examples", bold=True)
    for functionality in result.functionalities:
        rate, interval = functionality.pass_rate, functionality.interval
        said = (
            "      -" if rate is None or interval is None else f"{rate:7.1%} [{interval.low:.1%}, {interval.high:.1%}]"
        )
        typer.echo(
            f"  {functionality.test_type} {said:<26} {functionality.functionality_class}: {functionality.functionality}"
        )
    for kind, group in (("class", result.classes), ("type", result.test_types)):
        means = ", ".join(f"{name} {_percent(each.pass_rate)}" for name, each in group.items())
        typer.echo(f"By {kind}: {means}")
    typer.echo(f"Mean over functionalities: {_percent(result.behavioral_pass_rate)}")
    typer.echo(f"Results: {out / 'pass_rates.json'}")


@app.command()
def plan(
    folder: PlanFolder,
    model: Annotated[str, typer.Option(help="A folder or hub id of an encoder or a classifier of two classes.")],
    suite: Annotated[str, typer.Option(help=_SUITE)],
    data: Annotated[str, typer.Option(help="Independent data: a known name, a hub id or a local file.")],
    train_split: Annotated[str, typer.Option(help="Its training split.")] = "train",
    test_split: Annotated[str, typer.Option(help="Its test split, with labels.")] = "validation",
    data_dir: DataDir = None,
    text_column: TextColumn = None,
    text_pair_column: TextPairColumn = None,
    label_column: LabelColumn = None,
    train_limit: Annotated[int | None, typer.Option(help="At most so many training items.")] = None,
    test_limit: Annotated[int | None, typer.Option(help="At most so many test items.")] = None,
    max_cases: MaxCases = None,
    labels: Annotated[str, typer.Option(help="sentiment (0, 1, 2 for two classes) or classes.")] = "sentiment",
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
    max_length: Annotated[int, typer.Option(help="The most tokens of a text.")] = 128,
) -> None:
    """List the runs of an experiment in behavioral learning, and store them in a folder."""
    from rightreasons.cli._choices import listed
    from rightreasons.training import behavior_plan

    asked = {"configurations": configurations, "methods": methods, "partitions": partitions}
    chosen: dict[str, Any] = {name: tuple(listed(words) or ()) for name, words in asked.items() if words}
    numbers = listed(seeds) or []
    if not all(number.isdigit() for number in numbers):
        raise ValueError(f"Expected --seeds to be whole numbers parted by commas, but got {seeds!r}.")
    source = {
        "model": model,
        "suite": suite,
        "data": data,
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
        "max_length": max_length,
    }
    task = _task(source)
    runs = behavior_plan.lay_out(task.suite, seeds=[int(number) for number in numbers], **chosen)
    made = behavior_plan.Plan.create(folder, runs, {**task.settings(), "source": source})
    typer.echo(
        f"{len(runs):,} runs in {folder}, {len(made.done()):,} finished. Next: rightreasons behavior run {folder}"
    )


@app.command()
def run(
    folder: PlanFolder,
    shard: Annotated[str, typer.Option(help="Which part, i/n from 1: one of n processes or machines.")] = "1/1",
) -> None:
    """Make the runs of a plan that are not finished; kill it and call it again as you like."""
    from rightreasons.training.behavior_plan import Plan
    from rightreasons.training.behavior_runner import run_plan

    opened = Plan.open(folder)
    opened.check_code()
    if "source" not in opened.settings:
        raise ValueError(f"Expected a plan that `rightreasons behavior plan` made, but {folder} names no sources.")
    made = run_plan(opened, _task(opened.settings["source"]), shard=shard)
    typer.echo(f"{made:,} runs made; {len(opened.done()):,} of {len(opened.runs):,} are finished.")


@app.command()
def collect(
    folder: PlanFolder,
    out: Annotated[Path | None, typer.Option(help="A JSON file; PLAN/collected.json by default.")] = None,
) -> None:
    """Gather the finished runs of a plan into G scores."""
    from rightreasons.analysis.generalization import SETTINGS
    from rightreasons.training.behavior_plan import Plan
    from rightreasons.training.behavior_plan import collect as gather

    found = gather(Plan.open(folder))
    file = out or folder / "collected.json"
    _write(file, found.to_dict())
    typer.secho(f"{found.n_done:,} of {found.n_runs:,} runs are finished.", bold=True)
    typer.echo(f"  {'configuration':<14}{'method':<10}{'seed':>6}{'i.i.d.':>9}" + "".join(f"{s:>15}" for s in SETTINGS))
    for row in found.rows:
        iid = sum(row.iid_score.values()) / len(row.iid_score)
        scores = "".join(f"{_percent(row.scores.get(setting)):>15}" for setting in SETTINGS)
        typer.echo(f"  {row.configuration:<14}{row.method:<10}{row.seed:>6}{iid:>9.1%}{scores}")
    typer.echo(f"Pass rates and scores: {file}")


def _task(source: dict[str, Any]) -> Task:
    from rightreasons.training.behavior_runner import Task
    from rightreasons.training.behavior_testing import open_suite

    train, test = (
        _data(source, source[split], limit)
        for split, limit in zip(("train_split", "test_split"), source["limits"], strict=True)
    )
    return Task(
        model=source["model"],
        suite=open_suite(
            source["suite"], data_dir=source["data_dir"], paper_labels=True, max_cases=source["max_cases"]
        ),
        train=train,
        test=test,
        **{name: source[name] for name in ("labels", "options", "iid_options", "max_length")},
    )


def _data(source: dict[str, Any], split: str, limit: int | None) -> Data:
    from rightreasons.data.files import open_dataset
    from rightreasons.training.behavior_runner import Data

    rows: Any = open_dataset(
        source["data"], split=split, data_dir=source["data_dir"], limit=limit, drop_empty=True, **source["columns"]
    )
    pairs = rows["text_pair"][:] if "text_pair" in rows.column_names else None
    labels = rows["label"][:]
    if min(labels) < 0:
        raise ValueError(
            f"Expected a label on every item of the split {split!r} of {source['data']}, but some have none."
        )
    return Data(rows["text"][:], labels, pairs)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _write(file: Path, value: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
