"""`rightreasons learn plan | run | collect`: behavioral learning, training on a behavioral suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.behavior.learning.options import PlanOptions
from rightreasons.behavior.options import SUITE_HELP
from rightreasons.cli import command_line
from rightreasons.cli.declared import declared_command
from rightreasons.core.engines import EngineOptions
from rightreasons.core.errors import counted

COMMANDS = {"learn": command_line()}

EXAMPLES = {
    "learn": (
        "rightreasons learn plan plan --model my-encoder --suite checklist_sentiment --data sst2",
        "rightreasons learn run plan --jobs 4",
        "rightreasons learn run plan --engine dask://scheduler:8786",
        "rightreasons learn run plan --shard 1/2",
        "rightreasons learn collect plan",
    )
}

PlanFolder = Annotated[Path, typer.Argument(help="Folder of the plan.", metavar="PLAN", show_default=False)]


@COMMANDS["learn"].callback()
def learn() -> None:
    """Train on a behavioral suite and measure what generalizes: plan the runs, execute them, collect the scores."""


@declared_command(COMMANDS["learn"], "plan", {"options": PlanOptions})
def plan(
    folder: PlanFolder,
    model: Annotated[str, typer.Option(help="Folder or hub id of an encoder, or of a model for the suite.")],
    suite: Annotated[str, typer.Option(help=SUITE_HELP)],
    data: Annotated[str, typer.Option(help="Independent data: a known name, a hub id or a folder of files.")],
    options: PlanOptions,
) -> None:
    """Plan the runs of an experiment and store them in a folder."""
    from rightreasons.behavior.learning.plan import Plan, describe_sources, open_task, plan_runs
    from rightreasons.core.store import check_folder

    check_folder(folder, "PLAN", own=("plan.json", "results"))
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
    each = f", each the best of {len(task.grid)} settings" if task.grid else ""
    typer.echo(
        f"{counted(len(runs), 'run')}{each} in {folder}, {len(stored.done()):,} finished. Next: rightreasons "
        f"learn run {folder}"
    )


@declared_command(COMMANDS["learn"], "run", {"options": EngineOptions})
def run(
    folder: PlanFolder,
    options: EngineOptions,
    shard: Annotated[str, typer.Option(help="Part i/n of the runs, for one of n processes or machines.")] = "1/1",
) -> None:
    """Execute the unfinished runs of a plan; can be stopped and started again at any time."""
    from rightreasons.behavior.learning.plan import Plan, open_task
    from rightreasons.behavior.learning.run import run_plan
    from rightreasons.core.store import check_folder

    opened = Plan.open(folder)
    check_folder(folder, "PLAN", own=("plan.json", "results"))
    opened.check_code()
    if "source" not in opened.settings:
        raise ValueError(f"Expected a plan that `rightreasons learn plan` made, but {folder} names no sources.")
    executed = run_plan(opened, open_task(opened.settings["source"]), shard=shard, engine=options)
    typer.echo(f"{counted(executed, 'run')} executed; {len(opened.done()):,} of {len(opened.runs):,} are finished.")


@COMMANDS["learn"].command()
def collect(
    folder: PlanFolder,
    out: Annotated[Path | None, typer.Option(help="JSON file; PLAN/collected.json by default.")] = None,
) -> None:
    """Gather the finished runs of a plan into G scores."""
    from rightreasons.behavior.learning.collect import collect_scores
    from rightreasons.behavior.learning.plan import Plan
    from rightreasons.cli.show import show_scores
    from rightreasons.core.store import check_file, write_json

    opened = Plan.open(folder)
    file = check_file(out or folder / "collected.json")
    scores = collect_scores(opened)
    write_json(file, scores.to_dict())
    show_scores(scores)
    typer.echo(f"Pass rates and scores: {file}")
