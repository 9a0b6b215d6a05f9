"""The command that writes items as a benchmark of the Hub, or as a task of another harness.

`export` is the entry point; each kind of export has a function.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli.data_group import DATA
from rightreasons.cli.declared import Dataset, declared_command
from rightreasons.core.choices import HARNESS_QUESTIONS, HARNESSES, TASKS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option
from rightreasons.core.sentences import pluralize
from rightreasons.io.options import AuditOptions, ItemOptions
from rightreasons.models.wording import Wording
from rightreasons.reasons.options import HINTS, ReasonsOptions

if TYPE_CHECKING:
    from rightreasons.integrations.registered_tasks import RegisteredTask

LM_EVAL = "lm-eval"
LIGHTEVAL = "lighteval"

BENCHMARK = "benchmark"
"""A data set with the `eval.yaml` of the Hub's benchmarks, instead of a task of a harness."""

REQUEST_FILE = "items.jsonl"
"""The file of the requests of a task, one JSON object per line."""

_ITEM_OPTIONS = ("to", "task", "split")
"""Options of an export that concern the items, not what is asked about them."""

QUESTION_ABOUT_TEXT = "Which label fits this text?"
"""What is asked of a text whose classes are its choices."""


class ExportOptions(Options):
    """Contents and target of the export."""

    to: str = option(
        "lm-eval",
        "benchmark for a data set of the Hub with eval.yaml, or a harness: lm-eval (the "
        "probes, --questions or --reasons), lighteval (the probes) or inspect (--reasons).",
        choices=(*HARNESSES, BENCHMARK),
    )
    task: str | None = option(
        None, "multiple_choice or classification; by default the task of the data.", choices=TASKS
    )
    reasons: bool = option(
        False, "Export the arms of the question about reasons: plain, neutral, and hints."
    )
    questions: tuple[str, ...] = option(
        (),
        "Comma-separated questions of a task of lm-eval, which uses the prompts of an audit; "
        "by default only the probes, with the prompt of the task.",
        choices=HARNESS_QUESTIONS,
    )
    hints: tuple[str, ...] = option(
        ("colleague", "metadata"), "Comma-separated kinds of hints of --reasons.", choices=HINTS
    )
    split: str | None = option(
        None, "Split to export; by default the first of test, validation and dev."
    )


@declared_command(
    DATA,
    "export",
    {
        "options": ExportOptions,
        "settings": (AuditOptions, (*ItemOptions.list_names(), "limit", "seed")),
        "prompt": Wording,
    },
)
def export(
    dataset: Dataset,
    options: ExportOptions,
    settings: AuditOptions,
    prompt: Wording,
    out: Annotated[Path, typer.Option(help="Folder of the task.")] = Path("task"),
) -> None:
    """Write items as a benchmark for the Hub, or questions as a task for another harness."""
    settings = settings.replace(task=options.task, split=options.split)
    _check_export(options, prompt)
    if options.to == BENCHMARK:
        export_benchmark(dataset, settings, out)
    elif options.to == LIGHTEVAL:
        export_probed(dataset, settings, out, to=LIGHTEVAL)
    elif options.reasons:
        export_reasons(dataset, settings, prompt, options, out)
    elif options.to == LM_EVAL:
        # Probes and questions are requests of the same documents, unlike the arms of `reasons`.
        export_probed(dataset, settings, out, options.questions)
    else:
        raise OptionError(
            "Expected `reasons` in a task of inspect, which needs no other export. To run the "
            f"probes, use inspect eval rightreasons/audit -T data={dataset}.",
            option=("reasons", "to"),
        )


def _check_export(options: ExportOptions, prompt: Wording) -> None:
    """Raise an OptionError if an option would have no effect on an export.

    Args:
        options: Options of the export: its format (`to`), its questions and its items.
        prompt: Options of the prompts, which have an effect with `reasons` only.
    """
    typed = {**options.get_changes(), **prompt.get_changes()}
    wording = ("hints", *Wording.list_names())
    # A benchmark of the Hub consists of items. The user who runs it decides about the prompts.
    if options.to == BENCHMARK:
        for name in typed:
            if name not in _ITEM_OPTIONS:
                raise OptionError(
                    f"Expected no `{name}` with a benchmark, which contains only items.",
                    option=name,
                )
    # lighteval sends one request per choice of an item, and no further request after an answer.
    if options.to == LIGHTEVAL and (options.reasons or options.questions):
        raise OptionError(
            "Expected no `reasons` or `questions` in a task of lighteval, which contains only "
            "the probes.",
            option=("reasons", "questions"),
        )
    if options.reasons and options.questions:
        raise OptionError(
            "Expected either `reasons` or `questions`, which are separate tasks, but got both. "
            "To export both as one task, add reasons to `questions`.",
            option=("reasons", "questions"),
        )
    # Other exports use the prompts of the task or those of an audit, which have no options here.
    for name in wording:
        if name in typed and not options.reasons:
            raise OptionError(
                f"Expected `reasons` with `{name}`, because other tasks have fixed prompts.",
                option=("reasons", name),
            )


def export_probed(
    dataset: str,
    settings: AuditOptions,
    out: Path,
    questions: Sequence[str] = (),
    *,
    to: str = LM_EVAL,
) -> None:
    """Write a task of a harness for each dataset, and print the files.

    A task asks the probes, which are changed versions of the items, or some questions of an audit.

    Args:
        dataset: Names or files, separated by commas.
        settings: The columns, the split, the limit and the seed.
        out: The folder of the tasks.
        questions: The questions; empty for the probes with the prompt of the task.
        to: The harness, "lm-eval" or "lighteval".
    """
    from rightreasons.cli.probed_tasks import (
        list_probed_items,
        write_lighteval_tasks,
        write_probed_tasks,
    )

    if Path(dataset).exists():
        # The name of a single file may contain commas.
        names = [dataset]
    else:
        names = [name.strip() for name in dataset.split(",") if name.strip()]
    # A name is that of a data set, whose rows are stored, or of a task of the harness.
    rows_by_name: dict[str, Any] = {}
    for name in names:
        task = None
        if to == LM_EVAL:
            task = find_task(name, settings)
        rows_by_name[name] = task or list_probed_items(name, settings)
    if to == LIGHTEVAL:
        files = write_lighteval_tasks(rows_by_name, out, seed=settings.seed)
    else:
        files = write_probed_tasks(rows_by_name, out, questions)

    # `files` has one file per data set, in the same order.
    for file, (name, rows) in zip(files, rows_by_name.items(), strict=True):
        content = f"the items of the task {name}"
        if isinstance(rows, list):
            content = pluralize(len(rows), "item")
        typer.echo(f"Task: {file} ({content})")
    typer.echo("The first lines of the task show the commands that run it and audit its log.")


def find_task(name: str, settings: AuditOptions) -> RegisteredTask | None:
    """Return the task of lm-evaluation-harness with a name; None for the name of a dataset or a file.

    Args:
        name: Name of a task, such as "arc_easy", or name or path of a dataset.
        settings: Settings of the export.

    Raises:
        OptionError: If a limit or a split was typed for a task, whose items the harness selects.
    """
    from rightreasons.datasets.builder import available_datasets
    from rightreasons.integrations.registered_tasks import find_registered_task

    # A name with a slash is a hub id.
    if name in available_datasets() or Path(name).exists() or "/" in name:
        return None
    task = find_registered_task(name)
    if task is None:
        return None
    for option_name in ("limit", "split"):
        if option_name in settings.get_changes():
            raise OptionError(
                f"Expected no `{option_name}` for {name}, a task of lm-evaluation-harness, which "
                "selects its items itself.",
                option=option_name,
            )
    return task


def export_benchmark(dataset: str, settings: AuditOptions, out: Path) -> None:
    """Write items as a benchmark of the Hub, a data set with `eval.yaml`, and print how to run it.

    Each split is a task of the benchmark: the selected one, and those that are made from it, such as
    "test_flipped" from "test".

    Args:
        dataset: Name, hub id or path of the data.
        settings: The columns, the split, the limit and the seed.
        out: The folder of the benchmark.
    """
    from rightreasons.audited.splits import limit_rows
    from rightreasons.audited.task_data import open_task_data
    from rightreasons.datasets.builder import available_datasets, get_builder_class
    from rightreasons.datasets.publishing import write_benchmark
    from rightreasons.io.samples import choose_split

    kind, splits = open_task_data(dataset, settings, require_labels=True)
    original = choose_split(splits, settings.split, source_name=dataset)
    # Name of a task of the benchmark -> its items.
    tasks: dict[str, list[dict[str, Any]]] = {}
    for split in _list_benchmark_splits(splits, original, settings):
        items = limit_rows(splits[split], settings, dataset)
        class_names: list[str] = []
        if kind == "classification":
            class_names = items.features["label"].names
        rows = []
        for item in items:
            # Items without a label have no correct answer, and are excluded.
            if item["label"] >= 0:
                rows.append(_make_benchmark_row(item, class_names))
        name = "items" if split == original else re.sub(r"\W+", "_", split)
        if rows:
            tasks[name] = rows
    builder = None
    if dataset in available_datasets():
        builder = get_builder_class(dataset)
    folder = write_benchmark(tasks, out, name=Path(dataset).stem, builder=builder)

    for task, rows in tasks.items():
        typer.echo(f"{task}: {pluralize(len(rows), 'item')}")
    typer.echo(f"Benchmark: {folder}")
    repository = f"my-name/{folder.name}"
    upload = shlex.join([repository, str(folder)])
    typer.echo(f"To upload it: hf upload {upload} --repo-type dataset")
    typer.echo(f"To run it: inspect eval hf/{shlex.quote(repository)} --model MODEL")


def _list_benchmark_splits(
    names: Iterable[str], original: str, settings: AuditOptions
) -> list[str]:
    """Return the splits to export: the selected one, and those that are made from it.

    Args:
        names: Names of all splits.
        original: Name of the selected split, such as "test". Splits such as "test_flipped" are made
            from it.
        settings: Settings of the export. If they name a split, only this one is exported.
    """
    splits = [original]
    if settings.split is not None:
        return splits
    for name in names:
        if name.startswith(f"{original}_"):
            splits.append(name)
    return splits


def _make_benchmark_row(item: Mapping[str, Any], class_names: Sequence[str]) -> dict[str, Any]:
    """Return an item of a data set as a question with choices.

    Args:
        item: The item, with "id", "label", and either "prompt" and "choices", or "text".
        class_names: Names of the classes of a text, which become its choices; empty for an item with
            choices.

    Returns:
        "id", "prompt", "choices" and "label", and the columns that link the item to others.
    """
    from rightreasons.io.logs import LINKS

    row = {}
    for name in ("id", "label", *LINKS, "easy", "group"):
        if name in item:
            row[name] = item[name]
    if not class_names:
        return {**row, "prompt": item["prompt"], "choices": item["choices"]}
    # A benchmark has no field for a text, so that the prompt consists of the text and a question.
    segments = (item["text"], item.get("text_pair"), QUESTION_ABOUT_TEXT)
    return {
        **row,
        "prompt": "\n\n".join(filter(None, segments)),
        "choices": class_names,
    }


def export_reasons(
    dataset: str, settings: AuditOptions, wording: Wording, options: ExportOptions, out: Path
) -> None:
    """Write the question about reasons as a task of a harness, and print its file.

    The task asks each item in several arms: unchanged, after a neutral sentence, and after hints.

    Args:
        dataset: Name, hub id or path of the data.
        settings: The columns, the split, the limit and the seed.
        wording: Options of the prompts.
        options: The harness, and the kinds of hints.
        out: The folder of the task.
    """
    from rightreasons.audited.task_data import open_items
    from rightreasons.models.wording import Prompt
    from rightreasons.reasons.prompts import ArmPrompts

    # `Prompt` has further options, such as the temperature, which the harness decides.
    prompt = Prompt(**{name: getattr(wording, name) for name in wording.list_names()})
    items, names = open_items(dataset, settings, wording.label_words)
    # inspect_ai sends the turns of a conversation, and lm-evaluation-harness a single string.
    prompts = ArmPrompts(
        prompt,
        names,
        ReasonsOptions(hints=options.hints),
        chat=options.to == "inspect",
        seed=settings.seed,
    )
    rows = prompts.list_rows(items)
    declared = write_task(out, f"{Path(dataset).stem} reasons", rows, to=options.to)
    n_requests = pluralize(len(rows), "request")
    n_items = pluralize(len(items), "item")
    typer.echo(f"Task: {declared} ({n_requests} about {n_items})")
    typer.echo("The first lines of the task show the commands that run it and audit its log.")


def write_task(out: Path, name: str, rows: Sequence[Mapping[str, Any]], *, to: str) -> Path:
    """Write requests into a folder as a task that a harness can run.

    Args:
        out: The folder. Files of an earlier task in it are replaced.
        name: Name of the data. "my data" becomes the task "rightreasons_my_data".
        rows: Requests of the question about reasons, with "text" for lm-evaluation-harness and
            "turns" for inspect_ai. The harness copies further fields to its log.
        to: "lm-eval" or "inspect".

    Returns:
        The file that declares the task.

    Raises:
        ValueError: If the folder contains other files.
    """
    from rightreasons.cli.probed_tasks import render_template
    from rightreasons.core.store import check_folder, format_json_lines, write_text

    # Names of tasks consist of Latin letters, digits and underscores. A name in another script
    # becomes empty, and is replaced by "items".
    letters = re.sub(r"[^0-9A-Za-z]+", "_", name).strip("_").lower()
    task = f"rightreasons_{letters or 'items'}"
    if to == LM_EVAL:
        declaration = f"{task}.yaml"
        template = "task_lm_eval.yaml.j2"
    else:
        declaration = f"{task}.py"
        template = "task_inspect.py.j2"
    folder = check_folder(out, own=(REQUEST_FILE, f"{task}.yaml", f"{task}.py", "logs"))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / REQUEST_FILE, format_json_lines(rows))
    text = render_template(template, task=task, rows=REQUEST_FILE, folder=folder.name)
    return write_text(folder / declaration, text)
