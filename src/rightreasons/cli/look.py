"""The command that shows what would be read of data: `rightreasons look DATA [MODEL]`."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line, hand_over, with_flags
from rightreasons.cli.declared import Dataset, declared_command
from rightreasons.cli.show import print_rows
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, parse_name_or_names, parse_names
from rightreasons.io.options import AuditOptions, LookOptions, ScoreOptions, TextOptions

if TYPE_CHECKING:
    from rightreasons.io.resolve import Resolution
    from rightreasons.io.roles import Role
    from rightreasons.io.row_checks import RowDoubt

COMMANDS = {"look": command_line()}

KEYS = {
    "text": "text_column",
    "text pair": "text_pair_column",
    "label": "label_column",
    "labels": "label_column",
}
"""What is read -> what a data.yaml calls its column."""

PROPOSAL_KEYS = {
    "scores": "score_columns",
    "confidence": "confidence_column",
    "prompt": "prompt_column",
    "choices": "choices_column",
    "label": "label_column",
}
"""Roles -> what a data.yaml calls their columns, which is written if no heading says them."""

WIDTH = 100
MAX_ROWS = 20
"""Number of values of labels that are printed."""


DECLARED: Mapping[str, tuple[type[Options], tuple[str, ...]]] = {
    "settings": (
        AuditOptions,
        (
            "text_column",
            "text_pair_column",
            "prompt_column",
            "choices_column",
            "label_column",
            "label_names",
        ),
    ),
    "stored": (ScoreOptions, ("score_columns", "scores", "confidence_column", "correct_column")),
    "form": (
        TextOptions,
        (
            "first_label",
            "separator",
            "quote",
            "encoding",
            "column_names",
            "drop_empty",
            "where",
            "rows",
            "line_format",
        ),
    ),
    "source": (LookOptions, ("kind", "settled_checks")),
}
"""What the columns mean, how the file is read, and what is settled about its rows."""

NAMES = tuple(name for _, names in DECLARED.values() for name in names)


def _parse_settings(declared: Iterable[Options]) -> dict[str, Any]:
    """Return the options that were typed, in the form of a data.yaml.

    Args:
        declared: The groups of options of the command.

    Returns:
        Name of an option -> its value; several names are a list.
    """
    settings: dict[str, Any] = {}
    for options in declared:
        settings |= options.get_changes()
    parse_by_name = {
        "label_names": parse_names,
        "prompt_column": parse_names,
        # A single column of choices is one column of lists.
        "choices_column": parse_name_or_names,
    }
    for name, parse in parse_by_name.items():
        # Commas in a jinja expression do not separate names.
        if name in settings and "{{" not in settings[name]:
            settings[name] = parse(settings[name])
    return settings


@declared_command(COMMANDS["look"], "look", DECLARED)
def look(
    dataset: Dataset,
    model: Annotated[
        str | None,
        typer.Argument(
            help="Folder or hub id of a model, to match its classes.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(help="File to write, which every command accepts in place of the data."),
    ] = Path("data.yaml"),
    **declared: Options,
) -> None:
    """Show how a file will be interpreted: columns, items, labels, doubts. Write data.yaml."""
    from rightreasons.core.store import check_file
    from rightreasons.io.descriptions import SUFFIXES, make_description
    from rightreasons.io.resolve import resolve

    settings = _parse_settings(declared.values())
    if out.suffix not in SUFFIXES:
        raise OptionError(
            f"Expected `out` to end in {' or '.join(SUFFIXES)}, but got {str(out)[:60]!r}.",
            option="out",
        )
    check_file(out)
    is_description = Path(dataset).suffix in SUFFIXES
    if is_description and settings:
        name = next(iter(settings))
        raise OptionError(
            f"Expected no `{name}` next to {dataset}, which already contains this option. Change "
            "the value in the file.",
            option=name,
        )
    source: Any = dataset
    if not is_description:
        source = make_description({"data": dataset, **settings})
    resolution = resolve(source)
    hand_over(resolution)
    _print_resolution(dataset, resolution)
    doubts = []
    for doubt in (*resolution.doubts, *_describe_model_match(resolution, model)):
        doubts.append(with_flags(doubt, NAMES))
    # If the data cannot be read in spite of what was typed, that is an error.
    if not resolution.readable and settings:
        raise ValueError(doubts[0])
    _print_doubts(doubts)
    if not resolution.readable:
        typer.echo("The file cannot be interpreted, so nothing is written.")
        return
    show_row_doubts(resolution.row_doubts)
    if resolution.unused:
        unused = with_flags(resolution.unused, NAMES)
        typer.echo(textwrap.fill(unused, WIDTH, subsequent_indent="  ", break_on_hyphens=False))

    is_written = False
    if not is_description:
        is_written = _write_data_file(out, dataset, resolution, settings)
    _print_questions(resolution, dataset, model, out if is_written else None)


def _write_data_file(
    out: Path, dataset: str, resolution: Resolution, settings: Mapping[str, Any]
) -> bool:
    """Write a data.yaml that says how data is read, and return whether it was written.

    Args:
        out: The file. One about other data is not replaced.
        dataset: What the user named.
        resolution: How the data is read. Questions to read have fixed columns, and no file is needed.
        settings: Options that were typed, which come first.

    Raises:
        OptionError: If options were typed, but the file is about other data.
    """
    from rightreasons.io.descriptions import read_description, write_description

    path = Path(dataset).expanduser()
    is_about_others = False
    if out.exists():
        is_about_others = Path(str(read_description(out).source)).resolve() != path.resolve()
    if is_about_others and settings:
        raise OptionError(
            f"Expected `out` to be new or about {dataset}, but {out} is about other data.",
            option="out",
        )
    if is_about_others:
        typer.echo(f"Not written: {out} is about other data; --out names another file.")
        return False
    if resolution.kind == "question_answering":
        return False
    # The description may be in another folder than the data.
    location = dataset
    if path.exists():
        location = os.path.relpath(path, out.parent)
    write_description(out, {"data": location, **_describe_data(resolution), **settings})
    return True


def _print_doubts(doubts: Iterable[str]) -> None:
    """Print sentences about what is doubtful in how the data is read, in yellow."""
    for doubt in doubts:
        # A name of a column with a hyphen stays in one line, so that it can be copied.
        text = textwrap.fill(
            f"Look at: {doubt}", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
        typer.secho(text, fg="yellow")


def _describe_data(resolution: Resolution) -> dict[str, Any]:
    """Return how data is read, in the form of a data.yaml, for a person to change.

    Args:
        resolution: How the data is read.

    Returns:
        Option -> value: the task, the columns, and the names of the labels.
    """
    content: dict[str, Any] = {}
    if resolution.kind != "predictions":
        content["task"] = resolution.kind
    # The format of multiple choice says which columns it has.
    if resolution.kind != "multiple_choice":
        for name, columns in resolution.columns.items():
            if name in KEYS:
                content[KEYS[name]] = columns[0]
    # Columns that were recognized by their content are proposals: a person who keeps them confirms them.
    for role in resolution.roles:
        if role.source == "content" and role.name in PROPOSAL_KEYS:
            content[PROPOSAL_KEYS[role.name]] = _join_columns(role)
    if resolution.comparison:
        content["correct_column"] = resolution.comparison
    # Labels that are numbers have no names: a person would not know what to change them to.
    are_numbers = all(map(str.isdecimal, resolution.label_names))
    if resolution.kind == "classification" and not are_numbers:
        content["label_names"] = resolution.label_names
    return content


def _join_columns(role: Role) -> str | list[str]:
    """Return the columns of a role in the form in which the option that names them takes several."""
    # A list of names of choices is no column of lists.
    if role.name == "choices" and len(role.columns) > 1:
        return list(role.columns)
    return ",".join(role.columns)


def _print_resolution(dataset: str, resolution: Resolution) -> None:
    """Print how data is read: its kind and splits, its columns, its first items, and its labels.

    Args:
        dataset: What the user named.
        resolution: How the data is read.
    """
    from rightreasons.page.formats import NONE

    sizes = ", ".join(f"{name} {size:,}" for name, size in resolution.splits.items())
    typer.secho(f"{dataset}: {resolution.kind.replace('_', ' ')} ({sizes})", bold=True)
    _print_columns(resolution)
    for number, item in enumerate(resolution.items, start=1):
        cells = ", ".join(f"{name}: {_shorten(value)}" for name, value in item.items())
        typer.echo(textwrap.fill(f"Item {number}: {cells}", WIDTH, subsequent_indent="  "))
    # A column with many values is no column of labels, which its first values show.
    rows = []
    for value in resolution.mapping[:MAX_ROWS]:
        rows.append((_shorten(value.value), f"{value.count:,}", value.label or NONE, value.rule))
    if rows:
        _print_table("Labels", [("value", "items", "class", "rule"), *rows])
    if len(resolution.mapping) > MAX_ROWS:
        typer.echo(f"  … {len(resolution.mapping):,} values in all")


def _print_columns(resolution: Resolution) -> None:
    """Print a table of what each column is taken for, with the reason and the next best column."""
    role_by_name = {role.name: role for role in resolution.roles}
    rows = []
    for name, columns in resolution.columns.items():
        reason = ""
        # A column that is known by its heading has no role.
        role = role_by_name.get(name)
        if role is not None:
            reason = role.reason
            if role.runner_up:
                reason += f" (next: {role.runner_up})"
        rows.append((name, ", ".join(columns), reason))
    _print_table("Columns", rows)


def show_row_doubts(doubts: Sequence[RowDoubt]) -> None:
    """Print what the checks of the rows found: open doubts in yellow, settled ones as notes.

    Args:
        doubts: The doubts. While one is open, no verdict of an audit is good or bad.
    """
    for doubt in doubts:
        heading = "Note: "
        color = None
        if doubt.is_open:
            heading = "Rows: "
            color = "yellow"
        text = textwrap.fill(
            heading + doubt.in_words, WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
        typer.secho(text, fg=color)
    # The consequence is printed once, after all doubts.
    if any(doubt.is_open for doubt in doubts):
        typer.echo(
            "While such a doubt is open, every verdict is gray. To settle a doubt, pass --settled-checks."
        )


def _print_table(title: str, rows: Sequence[Sequence[str]]) -> None:
    if rows:
        typer.secho(title, bold=True)
        print_rows(rows, texts=range(len(rows[0])))


def _shorten(value: Any) -> str:
    """Return the beginning of a cell, in one line."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def _describe_model_match(resolution: Resolution, model: str | None) -> list[str]:
    """Print how the labels of data match the classes of a model, and return what is doubtful about it.

    Args:
        resolution: How the data is read.
        model: Folder or hub id; None to match nothing.

    Returns:
        Sentences: why labels and classes do not match, or which classes have no items.
    """
    from rightreasons.core.labels.matching import MatchTerms, describe_unlabeled, match_labels
    from rightreasons.core.labels.names import BY_NUMBER

    if model is None or resolution.kind != "classification" or not resolution.label_names:
        return []
    from rightreasons.models.heads import read_class_names

    classes = read_class_names(model)
    try:
        match = match_labels(
            resolution.label_names, classes, terms=MatchTerms("the data", rename="label_names")
        )
    except ValueError as error:
        return [str(error)]
    typer.echo(f"Labels and the classes of {model} match {match.in_words}.")
    labeled_classes = {class_name for _, class_name in match.pairs}
    unlabeled_classes = [name for name in classes if name not in labeled_classes]
    # Names that match leave no doubt about the order.
    if match.how != BY_NUMBER or not unlabeled_classes:
        return []
    return [describe_unlabeled(unlabeled_classes)]


def _describe_passes(resolution: Resolution, question: str) -> str:
    """Estimate how many passes of an item through the model a question takes, such as "2,400 passes".

    The estimate is for a model that has gradients, with the default options of the question.

    Args:
        resolution: How the data is read.
        question: Name of the question.
    """
    from rightreasons.io.samples import TEST_SPLITS
    from rightreasons.report.questions import QUESTIONS

    # An audit takes the first test split, or else any.
    candidates = [*TEST_SPLITS, *resolution.splits]
    split = next(name for name in candidates if name in resolution.splits)
    items = range(resolution.splits[split])
    # What the options of a question read of an audit to estimate its passes.
    context = SimpleNamespace(
        primary=items,
        splits=(items,),
        comparisons=(),
        prompted=None,
        task=resolution.kind,
        label_names=resolution.label_names,
        why_no_gradients=str,
    )
    n_passes = len(items) + QUESTIONS[question].options().passes(context)
    # Two digits are as much as an estimate can say.
    rounded = float(f"{n_passes:.2g}")
    return f"{rounded:,.0f} passes"


def _print_questions(
    resolution: Resolution, dataset: str, model: str | None, out: Path | None
) -> None:
    """Print which questions the data can answer, and the command that asks them.

    Args:
        resolution: How the data is read.
        dataset: What the user named.
        model: The model that the user named; None for a placeholder in the command.
        out: File of the description that was written, which has all that was typed about the data; None if
            none was written.
    """
    from rightreasons.report.questions import QUESTIONS, list_questions_for_table

    data = dataset if out is None else str(out)
    names = list_questions_for_table(resolution.kind)
    if not resolution.has_confidence:
        typer.echo("An audit of this file reports the accuracy of the answers.")
        typer.echo(f"Questions that need a confidence (--confidence-column): {', '.join(names)}.")
        typer.echo(f"Next: rightreasons audit --predictions {data}")
        return
    is_labeled = any(row.label for row in resolution.mapping) or "right" in resolution.columns
    answerable = []
    unanswerable = []
    needs_model = False
    for name in names:
        options = QUESTIONS[name].options
        # The requirement of a question on this kind of data; "" if it needs a model.
        requirement = options.tables[resolution.kind]
        if not requirement:
            needs_model = True
        if options.is_about_labels and not is_labeled:
            unanswerable.append(name)
        else:
            answerable.append(f"{name} ({requirement or _describe_passes(resolution, name)})")
    typer.echo(f"It can answer: {', '.join(answerable) or 'nothing'}.")
    if unanswerable:
        typer.echo(f"Without labels it cannot answer: {', '.join(unanswerable)}.")
    if not answerable:
        return

    if needs_model:
        typer.echo(
            "A pass is one item through the model. For a server, --plan prints the requests and their price."
        )
    # Stored predictions answer one question, whose command takes them.
    command = f"audit {model or 'MODEL'}"
    if resolution.kind == "predictions":
        command = names[0]
    typer.echo(f"Next: rightreasons {command} {data}")
