"""Recipes for repeating the experiments of papers, read from YAML files.

`load_recipe` reads `recipes/PAPER.yaml` and `printed/PAPER.yaml`; a `Recipe` has the settings of
each scale, the steps in their order, and the tables that are made of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rightreasons.core.validation import check_one_of

FOLDER = Path(__file__).parent
PAPERS = tuple(sorted(path.stem for path in (FOLDER / "recipes").glob("*.yaml")))
SCALES = ("small", "medium", "paper")
"""Scales that a user chooses; `beluga2023`, `bihani2025` and `shen2022` have a medium one.

Recipes also have "smoke", with which the tests run every step.
"""


@dataclasses.dataclass(frozen=True)
class Scale:
    """Size of a replication.

    Attributes:
        cost: Expected cost in words, with the hardware.
        gpu_hours: Hours of one GPU; 0 if two cores are enough.
        settings: Options of all steps, by name.
    """

    cost: str
    gpu_hours: float
    settings: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a replication, which is stored when it is done.

    Attributes:
        name: Name of the step, unique in its recipe.
        kind: Key of `rightreasons.replicate.steps.STEPS`.
        options: Options of this step, besides those of the scale.
    """

    name: str
    kind: str
    options: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A column of figures.

    Attributes:
        name: Key in the rows of the step and of the printed table.
        header: Heading of the column.
        digits: Number of decimal places.
    """

    name: str
    header: str
    digits: int = 1


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of TABLES.md.

    Attributes:
        title: Heading of the table.
        step: Name of the step whose rows are shown.
        figures: Columns of figures.
        rows: Key of the rows in the result of the step.
        printed: Key of the printed table; None if the printed figures are not available.
        match: Keys in which a printed row and our corresponding row have the same values; empty if
            there is a single row of each.
        why: Reason why our figures differ from the printed ones.
    """

    title: str
    step: str
    figures: tuple[Figure, ...]
    rows: str = "rows"
    printed: str | None = None
    match: tuple[str, ...] = ()
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a replication of a paper needs.

    Attributes:
        paper: Name of the recipe, such as "kavumba2019".
        title: Title of the paper.
        reference: Authors, year, and where the paper is.
        question: What the experiments are meant to answer.
        definitions: Definitions and corrections that are applied, one sentence each.
        scales: Scale by name.
        steps: Steps in the order in which they run.
        tables: Tables in the order in which they are written.
        sentences: Templates of sentences, whose fields are the facts of the steps.
        printed: Printed table by key: its source, and its rows with `key` and `figures`.
    """

    paper: str
    title: str
    reference: str
    question: str
    definitions: tuple[str, ...]
    scales: Mapping[str, Scale]
    steps: tuple[Step, ...]
    tables: tuple[Table, ...]
    sentences: tuple[str, ...]
    printed: Mapping[str, Mapping[str, Any]]


def load_recipe(paper: str) -> Recipe:
    """Read the recipe of a paper.

    Args:
        paper: A name of `PAPERS`.

    Returns:
        The `Recipe`.

    Raises:
        ValueError: If there is no recipe of that name.

    Example:
        >>> recipe = load_recipe("kavumba2019")
        >>> sorted(recipe.scales), recipe.steps[0].name
        (['paper', 'small', 'smoke'], 'cues')
    """
    check_one_of(paper, PAPERS, "paper")
    content = _read_yaml("recipes", paper)
    scales = {}
    # A scale sets options of all steps, such as numbers of items.
    for name, scale in content["scales"].items():
        scales[name] = Scale(
            cost=scale["cost"],
            gpu_hours=float(scale["gpu_hours"]),
            settings=scale["settings"],
        )
    steps = []
    for step in content["steps"]:
        # The options of a step are all other keys of its entry.
        options = {key: value for key, value in step.items() if key not in ("name", "kind")}
        steps.append(Step(name=step["name"], kind=step["kind"], options=options))
    # The printed tables are in a separate file.
    return Recipe(
        paper=paper,
        title=content["title"],
        reference=content["reference"],
        question=content["question"],
        definitions=tuple(content["definitions"]),
        scales=scales,
        steps=tuple(steps),
        tables=tuple(_parse_table(table) for table in content["tables"]),
        sentences=tuple(content["sentences"]),
        printed=_read_yaml("printed", paper),
    )


def _parse_table(content: Mapping[str, Any]) -> Table:
    """Make a table from its entry in the YAML file of a recipe.

    Args:
        content: title, step and figures, and optionally rows, printed, match and why, as in `Table`.

    Raises:
        TypeError: If a figure has an unknown key, such as a misspelled one.
    """
    figures = []
    for figure in content["figures"]:
        # An unknown key raises a TypeError.
        figures.append(Figure(**figure))
    return Table(
        title=content["title"],
        step=content["step"],
        figures=tuple(figures),
        rows=content.get("rows", "rows"),
        printed=content.get("printed"),
        match=tuple(content.get("match", ())),
        why=content.get("why", ""),
    )


def _read_yaml(folder: str, paper: str) -> Any:
    """Read a YAML file of a paper."""
    file = FOLDER / folder / f"{paper}.yaml"
    # If the printed tables are not available, the file has only comments, and its content is None.
    return yaml.safe_load(file.read_text("utf-8")) or {}
