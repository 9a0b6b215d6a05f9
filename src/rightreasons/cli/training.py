"""The commands that train: fine-tuning, and behavioral learning on a suite."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.behavior.learning.options import PlanOptions
from rightreasons.behavior.options import SUITE_HELP
from rightreasons.cli import command_line, hand_over, tell
from rightreasons.cli.declared import Dataset, declared_command
from rightreasons.cli.loops import PageFolder, check_page, show_loop
from rightreasons.core.engines import EngineOptions
from rightreasons.core.sentences import pluralize
from rightreasons.training.options import TrainingDataOptions, TuningOptions

if TYPE_CHECKING:
    from rightreasons.training.examples import TrainingData
    from rightreasons.training.finetune import FineTuned


COMMANDS = {name: command_line() for name in ("fine-tune", "learn")}


@declared_command(
    COMMANDS["fine-tune"], "fine-tune", {"source": TrainingDataOptions, "options": TuningOptions}
)
def fine_tune(
    model: Annotated[
        str,
        typer.Argument(
            help=(
                "Folder or hub id of an encoder or a classifier; `demo` for the encoder that the "
                "extra [encoder] installs."
            ),
            metavar="MODEL",
        ),
    ],
    dataset: Dataset,
    source: TrainingDataOptions,
    options: TuningOptions,
    out: Annotated[
        Path,
        typer.Option(
            help="Folder of the model; repeat the command to resume an interrupted training."
        ),
    ] = Path("my-model"),
    cpu: Annotated[
        bool, typer.Option("--cpu", help="Train on the CPU, even if there is a GPU.")
    ] = False,
) -> None:
    """Fine-tune an encoder on labeled texts or choices, and print the command that audits it.

    If the data have no split to evaluate on, such as a single csv file, a share of the items is
    held out for the audit. To resume an interrupted run from its last checkpoint, repeat the
    command.
    """
    from rightreasons.core.store import check_folder
    from rightreasons.models.scorers import demo_encoder
    from rightreasons.training.examples import open_training_data, write_parts
    from rightreasons.training.finetune import fine_tune as tune

    check_folder(out)
    encoder = model
    # "demo" means the encoder of the extra, unless the user has a model in a folder of this name.
    if model == "demo" and not Path("demo", "config.json").is_file():
        encoder = str(demo_encoder())
    data = open_training_data(dataset, source, task=options.task, label_names=options.label_names)
    tell(
        f"Fine-tuning {model} on {pluralize(len(data.train), 'item')} of {dataset}, {data.train_name}."
    )
    # If the user has not named the task, it follows from the data.
    settings = {**options.to_dict(), "task": data.task}
    device = "cpu" if cpu else None
    tuned = tune(
        encoder,
        data.train,
        out=out,
        validation=data.validation,
        device=device,
        **settings,
    )
    test = dataset
    # Items that were held out here are written into a file, for the command that audits the model.
    if data.holds_out:
        test = str(write_parts(data, out / "data"))
    _show_tuned(tuned, data, out, test, source)


def _show_tuned(
    tuned: FineTuned, data: TrainingData, out: Path, test: str, source: TrainingDataOptions
) -> None:
    """Print the figures of a trained model, and the command that audits it.

    Args:
        tuned: The trained model, with its figures on the validation items.
        data: The data on which it was trained.
        out: Folder of the model.
        test: Name or path of the data on which to audit it.
        source: Options of the training data, such as the names of columns.
    """
    hand_over(tuned)
    resumed = ""
    if tuned.resumed_from_step is not None:
        resumed = f", resumed at step {tuned.resumed_from_step:,}"
    task = tuned.task.replace("_", " ")
    n_steps = pluralize(tuned.n_steps, "step")
    typer.secho(f"{task}: {n_steps}, {tuned.seconds:,.0f} s{resumed}", bold=True)
    if data.validation is not None:
        # Not every task has these figures; question answering has none of them.
        figures = []
        for name in ("accuracy", "F1", "ECE"):
            value = tuned.metrics.get(name.lower())
            if value is not None:
                figures.append(f"{name} {value:.1%}")
        n_items = pluralize(len(data.validation), "item")
        typer.echo(f"On {n_items} of {data.validation_name}: {', '.join(figures)}.")
    if tuned.n_truncated:
        n_texts = pluralize(tuned.n_truncated, "text")
        typer.echo(f"Truncated to the length limit of the model: {n_texts} (--max-length).")
    typer.echo(f"Model: {out}")
    # An audit on training items would be too favorable, so that no command is printed for them.
    if data.validation is None:
        typer.echo("No items were held out. Audit the model on items that it was not trained on.")
    else:
        typer.echo(f"Next: {shlex.join(_audit_words(out, test, data, source))}")


def _audit_words(
    out: Path, test: str, data: TrainingData, source: TrainingDataOptions
) -> list[str]:
    """Return the words of the command that audits a model on items that it was not trained on.

    Args:
        out: Folder of the model.
        test: Name or path of the data on which to audit it.
        data: The data on which the model was trained.
        source: Options of the training data, such as the names of columns.
    """
    from rightreasons.io.options import AuditOptions, ItemOptions

    words = ["rightreasons", "audit", str(out), test]
    # Held-out items were written into a file with the default columns, which needs no options.
    if data.holds_out:
        return words
    # The audit has the options of columns, but not those of training.
    settings = {}
    for name, value in source.get_changes().items():
        if name in ItemOptions.list_names():
            settings[name] = value
    if source.validation_split is not None:
        settings["split"] = source.validation_split
    return words + AuditOptions(**settings).to_flags()


PLAN_FILES = ("plan.json", "results", "collected.json", "index.html", "figures")
"""Files in the folder of a plan; the first one identifies it."""

PlanFolder = Annotated[Path, typer.Argument(help="Folder of the plan.", metavar="PLAN")]


@COMMANDS["learn"].callback()
def learn() -> None:
    """Train on a behavioral suite and measure what generalizes: plan the runs, execute them, collect the scores."""


@declared_command(COMMANDS["learn"], "plan", {"options": PlanOptions})
def plan(
    folder: PlanFolder,
    model: Annotated[
        str, typer.Option(help="Folder or hub id of an encoder, or of a model for the suite.")
    ],
    suite: Annotated[str, typer.Option(help=SUITE_HELP)],
    data: Annotated[
        str, typer.Option(help="Independent data: a known name, a hub id or a folder of files.")
    ],
    options: PlanOptions,
) -> None:
    """Plan the runs of an experiment and store them in a folder."""
    from rightreasons.behavior.learning.plan import Plan, describe_sources, open_task, plan_runs
    from rightreasons.core.store import check_folder

    # The folder is checked first, because opening a model and a suite takes long.
    check_folder(folder, "PLAN", own=PLAN_FILES)
    source = describe_sources(model, suite, data, options)
    task = open_task(source)
    runs = plan_runs(
        task.suite,
        configurations=options.configurations,
        methods=options.methods,
        partitions=options.partitions,
        seeds=options.seeds,
    )
    stored = Plan.create(folder, runs, {**task.settings(), "source": source})
    selection = ""
    # A run trains with several settings, and selects the best on the validation cases of the suite.
    if task.grid:
        selection = f", each the best of {len(task.grid)} settings"
    typer.echo(
        f"{pluralize(len(runs), 'run')}{selection} in {folder}, {len(stored.list_finished_keys()):,} finished. Next: rightreasons "
        f"learn run {folder}"
    )


@declared_command(COMMANDS["learn"], "run", {"options": EngineOptions})
def run(
    folder: PlanFolder,
    options: EngineOptions,
) -> None:
    """Execute the unfinished runs of a plan, which you can stop and resume at any time."""
    from rightreasons.behavior.learning.plan import Plan, open_task
    from rightreasons.behavior.learning.run import run_plan
    from rightreasons.core.store import check_folder

    opened = Plan.open(folder)
    check_folder(folder, "PLAN", own=PLAN_FILES)
    opened.check_code()
    # A plan that was made in Python may not record the paths of its model and data.
    if "source" not in opened.settings:
        raise ValueError(
            f"Expected a plan made by `rightreasons learn plan`, but {folder} lists no sources."
        )
    executed = run_plan(opened, open_task(opened.settings["source"]), engine=options)
    typer.echo(
        f"{pluralize(executed, 'run')} executed; {len(opened.list_finished_keys()):,} of {len(opened.runs):,} are finished."
    )


@COMMANDS["learn"].command()
def collect(
    folder: PlanFolder,
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write; by default PLAN/collected.json.")
    ] = None,
    page: PageFolder = None,
) -> None:
    """Compute G scores from the finished runs of a plan, and write a page that compares before and after."""
    from rightreasons.behavior.learning.collect import collect_scores, compare_averages
    from rightreasons.behavior.learning.plan import Plan
    from rightreasons.cli.show import show_scores
    from rightreasons.core.store import check_file, write_json
    from rightreasons.report.learning_page import make_learning_outcome, write_learning_report

    check_page(page)
    opened = Plan.open(folder)
    file = check_file(out or folder / "collected.json")
    scores = collect_scores(opened)
    averages = compare_averages([opened])
    write_json(file, {**scores.to_dict(), "averages": [row.to_dict() for row in averages]})
    learning_page = write_learning_report(opened, scores, averages, folder)
    hand_over(scores)
    show_scores(scores, averages)
    typer.echo(f"Pass rates and scores: {file}")
    typer.echo(f"Report: {learning_page}")
    if page is not None:
        from rightreasons.repairs.loops import judge_learning

        loop = judge_learning(make_learning_outcome(opened, scores, averages))
        show_loop(loop, page, settings={"plan": str(folder)})
