"""`rightreasons data list | build NAME | export DATASET | plant DATASET | source FILE`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import completes, declared_command
from rightreasons.cli._shared.options import ConfigName, DataDir, Dataset, LabelColumn, Limit, Seed
from rightreasons.data.opening.options import SourceOptions
from rightreasons.foundations.choices import HARNESSES, ORDERS, TASKS
from rightreasons.foundations.engines.options import EngineOptions
from rightreasons.foundations.sentences import counted
from rightreasons.models.prompting.prompt import Wording

app = command_line()

EXPORTED_TASKS = (*TASKS, "suite")

EXAMPLES = (
    "rightreasons data list",
    "rightreasons data build planted_shortcuts --out planted",
    "rightreasons data export copa --limit 200 --out task",
    "rightreasons data export piqa --style letters --parts items,orders --orders random --limit 200 --out task",
    "rightreasons data export my_suite.jsonl --task suite --to inspect --out task",
    "rightreasons data plant reviews.csv --kind function --strength 0.9 --out planted",
    "rightreasons data source reviews.zip --url https://example.org/data/",
)


@app.callback()
def data() -> None:
    """List the data sets, write one as files or as a task, plant cues into your own, or declare a source file."""


@app.command("list")
def list_() -> None:
    """List the names that `rightreasons audit` and `rightreasons.load_dataset` accept."""
    from rightreasons.data.builders.catalog import available_datasets, builder_class

    names = available_datasets()
    width = max((len(name) for name in names), default=0)
    for name in names:
        typer.echo(f"{name:<{width}}  {builder_class(name).DESCRIPTION}")


@declared_command(app, "build", {"options": EngineOptions})
def build(
    name: Annotated[str, typer.Argument(help="One of `rightreasons data list`.", metavar="NAME", show_default=False)],
    options: EngineOptions,
    out: Annotated[Path | None, typer.Option(help="The folder to write; the name of the data set by default.")] = None,
    config: Annotated[str | None, typer.Option(help="Comma-separated configurations; all of them by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="The folder of local copies of the source files.")] = None,
    other_versions: Annotated[bool, typer.Option(help="Read local files other than the published ones.")] = False,
) -> None:
    """Write a data set as parquet files with a card; `datasets.load_dataset(FOLDER)` opens them.

    With --jobs or --engine, configurations are built at the same time.
    """
    from rightreasons.data.builders.publish import publish

    configs = None if config is None else [part.strip() for part in config.split(",")]
    folder = publish(
        name, out or Path(name), configs=configs, data_dir=data_dir, engine=options, other_versions=other_versions
    )
    typer.echo(f"Data: {folder}")


@declared_command(app, "export", {"source": SourceOptions, "prompt": Wording})
def export(
    dataset: Dataset,
    source: SourceOptions,
    prompt: Wording,
    to: Annotated[
        str,
        typer.Option(help="The harness that is to ask.", autocompletion=completes(HARNESSES)),
    ] = "lm-eval",
    task: Annotated[
        str | None,
        typer.Option(
            help="multiple_choice, classification, or suite (of behavioral tests); by default one of the first two, as "
            "the data is.",
            autocompletion=completes(EXPORTED_TASKS),
        ),
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option(
            help="Of multiple choice, comma-separated: items, probes (their changed versions), distractors (probes, "
            "near choices and “None of the above”), orders (of the choices); by default items and probes."
        ),
    ] = None,
    orders: Annotated[
        str | None,
        typer.Option(
            help="Which orders, where parts has orders: cyclic, random, all, or auto (the default): all of up to three "
            "choices, else cyclic.",
            autocompletion=completes(ORDERS),
        ),
    ] = None,
    subsets: Annotated[
        Path | None,
        typer.Option(help="easy_hard_subsets.json of `rightreasons split`: only these items, called Easy or Hard."),
    ] = None,
    max_cases: Annotated[
        int | None, typer.Option(help="Maximum number of cases of a functionality of a suite.", min=1)
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    text_pair_column: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the task.")] = Path("task"),
    split: Annotated[str | None, typer.Option(help="Split; by default the first of test, validation and dev.")] = None,
    limit: Limit = None,
    seed: Seed = 0,
) -> None:
    """Write items, or a suite, as a task of another harness, whose log comes back into the same measures."""
    from rightreasons.auditing.options import AuditOptions
    from rightreasons.cli._shared.exporting import exported_items, exported_suite
    from rightreasons.data.exporting.tasks import write_task
    from rightreasons.foundations.options import listed
    from rightreasons.foundations.validation import check_one_of
    from rightreasons.measuring.requests import request_rows

    check_one_of(to, HARNESSES, "to")
    if task is not None:
        check_one_of(task, EXPORTED_TASKS, "task")
    of_items = {"parts": parts, "orders": orders, "subsets": subsets, "split": split, "limit": limit}
    of_other = of_items if task == "suite" else {"max_cases": max_cases}
    odd = next((name for name, value in of_other.items() if value is not None), None)
    if odd is not None:
        raise ValueError(f"Expected no `{odd}` with the task {task or 'of items'}, but got {str(of_other[odd])!r}.")
    if task == "suite":
        taken = exported_suite(dataset, data_dir=source.data_dir, max_cases=max_cases, seed=seed)
    else:
        settings = AuditOptions(
            **source.to_dict(), task=task, text_column=text_column, text_pair_column=text_pair_column, seed=seed,
            split=split, limit=limit,
        )  # fmt: skip
        taken = exported_items(dataset, settings, prompt, parts=listed(parts), orders=orders, subsets=subsets)
    rendering = taken.rendering(prompt, chat=to == "inspect")
    rows = request_rows(taken.requests, rendering, examples=taken.examples, fields=taken.fields, seed=seed)
    declared = write_task(out, Path(dataset).stem, rows, to=to, read_by=taken.read_by)
    typer.echo(f"Task: {declared} ({counted(len(rows), 'request')} about {taken.about})")
    typer.echo("Its first lines say how it is asked, and how its log is read.")


@app.command()
def plant(
    dataset: Dataset,
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("planted"),
    kind: Annotated[
        str,
        typer.Option(
            help="Comma-separated kinds of cue: lexical, function, bigram, position, punctuation or length; with "
            "several, each item draws one."
        ),
    ] = "lexical",
    cues: Annotated[
        str | None, typer.Option(help="Comma-separated cues of your own, one per label in the order of the labels.")
    ] = None,
    strength: Annotated[float, typer.Option(help="How often a cue agrees with the label, from 0 to 1.")] = 0.95,
    coverage: Annotated[float, typer.Option(help="How often a text has a cue, from 0 to 1.")] = 1.0,
    unfit: Annotated[
        str, typer.Option(help="What to do about texts that cannot take the cues: refuse the data, or drop the texts.")
    ] = "refuse",
    config: ConfigName = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    text_pair_column: Annotated[str | None, typer.Option(help="Column of the second texts.")] = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    seed: Seed = 0,
) -> None:
    """Plant cues into your labeled texts, so that what a model should not rely on is known.

    Training data gets its cues; each other split is written with them, without them and with flipped ones, which an
    audit compares. Fine-tune on the result, then audit the model on it.
    """
    from rightreasons.data.builders.publish import write_splits
    from rightreasons.data.opening.datasets import open_splits
    from rightreasons.data.perturbing.planting import plant as plant_cues
    from rightreasons.foundations.options import listed

    splits = open_splits(
        dataset,
        config,
        text_column=text_column,
        text_pair_column=text_pair_column,
        label_column=label_column,
        data_dir=data_dir,
    )
    kinds = listed(kind) or []
    planted = plant_cues(splits, kinds, cues=listed(cues), strength=strength, coverage=coverage, unfit=unfit, seed=seed)
    told = (
        f"Cues of the kind {', '.join(kinds)}, planted into {dataset}: they agree with the label at a rate of "
        f"{strength:g} and are in a share of {coverage:g} of the texts (seed {seed})."
    )
    folder = write_splits(planted, out, text=told)
    for name, items in planted.items():
        with_cue = sum(cue >= 0 for cue in items["cue_label"])
        typer.echo(f"{name}: {counted(len(items), 'item')}, {with_cue:,} with a cue")
    typer.echo(f"Data: {folder}")


@app.command()
def source(
    file: Annotated[
        Path, typer.Argument(help="A file as its publisher offers it.", metavar="FILE", show_default=False)
    ],
    url: Annotated[
        str, typer.Option(help="Its address; one that ends in a slash is that of its folder.")
    ] = "https://…",
) -> None:
    """Print the declaration of a source file, with its size and checksum, for the builder of a data set."""
    from rightreasons.data.builders.sources import Source

    declared = Source.of(file, url)
    address = url if url.endswith("/") else declared.url
    typer.echo(f'Source("{declared.path}", "{address}", {declared.size}, "{declared.sha256}"),')
