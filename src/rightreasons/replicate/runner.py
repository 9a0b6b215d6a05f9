"""Run the steps of a recipe, store each, and write the tables.

A finished step is stored with a digest of its settings in `OUT/steps`, so that an interrupted
replication resumes. `OUT/results.json` has the figures of all tables, and no text of the data.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.json_files import read_json
from rightreasons.core.results import Result
from rightreasons.core.store import (
    check_folder,
    digest_value,
    read_record,
    write_json,
    write_record,
)
from rightreasons.core.validation import check_one_of
from rightreasons.replicate.recipe import Recipe, Scale, Step, load_recipe
from rightreasons.replicate.tables import write_tables

RESULTS = "results.json"
TABLES = "TABLES.md"
STEPS = "steps"
WORK = "work"


@dataclasses.dataclass(frozen=True)
class Replication(Result):
    """A finished replication.

    Attributes:
        paper: Name of the recipe.
        scale: Name of the scale.
        cpu_seconds: CPU time of each step, over all threads and child processes. For a step that was
            interrupted, only the last run counts.
        steps: Stored result of each step: `rows` of figures, and `facts` for sentences.
    """

    paper: str
    scale: str
    cpu_seconds: dict[str, float]
    steps: dict[str, Any]


def replicate(
    paper: str,
    *,
    out: str | os.PathLike[str],
    scale: str = "small",
    data_dir: str | os.PathLike[str] | None = None,
    report: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Replication:
    """Repeat the experiments of a paper, and print our results next to those of the paper.

    Args:
        paper: Name of the recipe: "beluga2023", "bihani2025", "datta2020", "kavumba2019" or
            "shen2022".
        out: Folder of the result. A second call resumes; finished steps are not repeated.
        scale: "small" (default), sized for an hour on two cores; "paper", the size of the paper; or
            "medium", which takes hours, for beluga2023, bihani2025 and shen2022.
        data_dir: Folder with local copies of the data sets, as in `load_dataset`. If None, they are
            downloaded.
        report: Whether to run nothing, and write TABLES.md again from results.json in `out`.
        tell: Function that is called with a status message before and after each step; None for no
            messages.

    Returns:
        The `Replication`, which is also stored in `out`/results.json; TABLES.md is next to it.

    Raises:
        ValueError: If a name is unknown, or `report` is true and nothing is stored.
    """
    recipe = load_recipe(paper)
    check_one_of(scale, tuple(recipe.scales), "scale")
    folder = check_folder(out, own=(RESULTS, TABLES, STEPS, WORK))
    if report:
        replication = read_replication(folder)
    else:
        replication = _run_steps(recipe, scale, folder, data_dir, tell or _tell_nothing)
        write_json(folder / RESULTS, replication.to_dict())
    write_tables(recipe, replication.scale, replication.steps, folder / TABLES)
    return replication


def read_replication(folder: Path) -> Replication:
    """Read a stored replication.

    Args:
        folder: Folder of the replication, with results.json.

    Raises:
        OptionError: If the folder contains none.
    """
    file = folder / RESULTS
    if not file.is_file():
        raise OptionError(
            f"Expected {RESULTS} of a finished replication in {folder}, but there is none.",
            option="out",
        )
    return Replication(**read_json(file))


def _run_steps(
    recipe: Recipe,
    scale: str,
    folder: Path,
    data_dir: str | os.PathLike[str] | None,
    tell: Callable[[str], None],
) -> Replication:
    """Run the steps of a recipe in their order, except those whose results are stored.

    Args:
        recipe: The recipe.
        scale: Name of the scale.
        folder: Folder of the replication, in which the result of each step is stored.
        data_dir: Folder with local copies of the data sets; None to download them.
        tell: Function that is called with a status message before and after each step.

    Returns:
        The results and the CPU times of all steps.
    """
    cpu_seconds = {}
    results: dict[str, Any] = {}
    settings = recipe.scales[scale]
    for step in recipe.steps:
        file = folder / STEPS / f"{step.name}.json"
        # A stored result is used only if it was made with the same settings.
        digest = digest_value([step.kind, dict(step.options), dict(settings.settings)])
        record = read_record(file, digest)
        if record is None:
            tell(f"{recipe.paper}, {step.name}: running")
            record = _run_step(step, settings, folder, data_dir, results)
            # The result is stored before the next step, so that an interruption costs at most one step.
            write_record(file, record, digest)
        results[step.name] = record["result"]
        cpu_seconds[step.name] = record["cpu_seconds"]
        tell(f"{recipe.paper}, {step.name}: done ({record['cpu_seconds']:.0f} s of CPU time)")
    return Replication(paper=recipe.paper, scale=scale, cpu_seconds=cpu_seconds, steps=results)


def _run_step(
    step: Step,
    scale: Scale,
    folder: Path,
    data_dir: str | os.PathLike[str] | None,
    results: dict[str, Any],
) -> dict[str, Any]:
    """Run one step, and remove its working files.

    Args:
        step: The step.
        scale: The scale, whose settings take precedence over the options of the step.
        folder: Folder of the replication.
        data_dir: Folder with local copies of the data sets; None to download them.
        results: Name of an earlier step -> its result.

    Returns:
        {"result": result of the step, "cpu_seconds": its CPU time}.
    """
    # Imported here, because the steps import torch, which takes long, and which a report does not need.
    from rightreasons.replicate import steps

    start = _get_cpu_seconds()
    work = steps.Work(
        folder=folder / WORK / step.name,
        data_dir=data_dir,
        # A scale may replace an option of a step, such as the list of tasks.
        settings={**step.options, **scale.settings},
        results=results,
    )
    result = steps.STEPS[step.kind](work)
    # Models and scores of the step have hundreds of megabytes, and are not needed any more.
    shutil.rmtree(work.folder, ignore_errors=True)
    return {"result": result, "cpu_seconds": round(_get_cpu_seconds() - start, 1)}


def _get_cpu_seconds() -> float:
    """Return the CPU time of this process and of its finished children, in seconds."""
    # Unlike wall time, CPU time does not depend on other programs that run on the machine.
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _tell_nothing(line: str) -> None:
    """Ignore a line."""
