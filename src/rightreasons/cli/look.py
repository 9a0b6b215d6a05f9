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
    """Return the options of a user as a data.yaml has them."""
    settings: dict[str, Any] = {}
    for options in declared:
        settings |= options.get_changes()
    # Commas are part of an expression.
    for name in ("label_names", "prompt_column", "choices_column"):
        if name not in settings or "{{" in settings[name]:
            continue
        parse = parse_name_or_names if name == "choices_column" else parse_names
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
    from rightreasons.io.descriptions import (
        SUFFIXES,
        make_description,
        read_description,
        write_description,
    )
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
            f"Expected no `{name}` next to {dataset}, which sets it: change the value there.",
            option=name,
        )
    path = Path(dataset).expanduser()
    source: Any = dataset
    if not is_description:
        source = make_description({"data": dataset, **settings})
    resolution = resolve(source)
    hand_over(resolution)
    _print_resolution(dataset, resolution)
    doubts = []
    for doubt in (*resolution.doubts, *_describe_model_match(resolution, model)):
        doubts.append(with_flags(doubt, NAMES))
    # What the user named does not help.
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

    is_about_others = False
    if out.exists():
        is_about_others = Path(str(read_description(out).source)).resolve() != path.resolve()
    # Questions to read have fixed names of columns.
    has_roles = resolution.kind != "question_answering"
    is_written = has_roles and not is_description and not is_about_others
    if is_written:
        # The description may be in another folder than the data.
        location = dataset
        if path.exists():
            location = os.path.relpath(path, out.parent)
        write_description(out, {"data": location, **_describe_data(resolution), **settings})
    elif is_about_others and settings:
        raise OptionError(
            f"Expected `out` to be new or about {dataset}, but {out} is about other data.",
            option="out",
        )
    elif is_about_others and not is_description:
        typer.echo(f"Not written: {out} is about other data; --out names another file.")
    _print_questions(resolution, dataset, model, out if is_written else None)


def _print_doubts(doubts: Iterable[str]) -> None:
    """Print the doubts about how the data is read."""
    # A name of a column with a hyphen stays in one line, so that it can be copied.
    for doubt in doubts:
        text = textwrap.fill(
            f"Look at: {doubt}", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
        typer.secho(text, fg="yellow")


def _describe_data(resolution: Resolution) -> dict[str, Any]:
    """Return a resolution in the form of a data.yaml, for a person to change."""
    content: dict[str, Any] = {}
    if resolution.kind != "predictions":
        content["task"] = resolution.kind
    # The format of multiple choice says which columns it has.
    if resolution.kind != "multiple_choice":
        for name, columns in resolution.columns.items():
            if name in KEYS:
                content[KEYS[name]] = columns[0]
    # A proposal counts as confirmed once a person kept it.
    for role in resolution.roles:
        if role.source == "content" and role.name in PROPOSAL_KEYS:
            content[PROPOSAL_KEYS[role.name]] = _join_columns(role)
    if resolution.comparison:
        content["correct_column"] = resolution.comparison
    # Numbers are no names: a person would not know what to change them to.
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
    """Print what a file is, its columns, its first items, and its labels."""
    from rightreasons.page.formats import NONE

    sizes = ", ".join(f"{name} {size:,}" for name, size in resolution.splits.items())
    typer.secho(f"{dataset}: {resolution.kind.replace('_', ' ')} ({sizes})", bold=True)
    _print_columns(resolution)
    for number, item in enumerate(resolution.items, start=1):
        cells = ", ".join(f"{name}: {_shorten(value)}" for name, value in item.items())
        typer.echo(textwrap.fill(f"Item {number}: {cells}", WIDTH, subsequent_indent="  "))
    # A column with many values is no column of labels, which its first values show.
    rows = []
    for row in resolution.mapping[:MAX_ROWS]:
        rows.append((_shorten(row.value), f"{row.count:,}", row.label or NONE, row.rule))
    if rows:
        _print_table("Labels", [("value", "items", "class", "rule"), *rows])
    if len(resolution.mapping) > MAX_ROWS:
        typer.echo(f"  … {len(resolution.mapping):,} values in all")


def _print_columns(resolution: Resolution) -> None:
    """Print what each column is taken for, with the reason and the column that comes second."""
    roles = {role.name: role for role in resolution.roles}
    rows = []
    for name, columns in resolution.columns.items():
        reason = ""
        role = roles.get(name)
        if role is not None:
            reason = role.reason
            if role.runner_up:
                reason += f" (next: {role.runner_up})"
        rows.append((name, ", ".join(columns), reason))
    _print_table("Columns", rows)


def show_row_doubts(doubts: Sequence[RowDoubt]) -> None:
    """Print what the checks of the rows found: open doubts in yellow, and what they withhold."""
    for doubt in doubts:
        heading = "Note: "
        color = None
        # An open doubt stands out, since it withholds verdicts.
        if doubt.is_open:
            heading = "Rows: "
            color = "yellow"
        text = textwrap.fill(
            heading + doubt.in_words, WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
        typer.secho(text, fg=color)
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
    """Return how the labels meet the classes of a model, or why they do not."""
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
    covered = {label for _, label in match.pairs}
    uncovered = [name for name in classes if name not in covered]
    # Names that match leave no doubt about the order.
    if match.how != BY_NUMBER or not uncovered:
        return []
    return [describe_unlabeled(uncovered)]


def _describe_passes(resolution: Resolution, question: str) -> str:
    """Return about how many passes a question takes of a model that has gradients, at its defaults."""
    from rightreasons.io.samples import TEST_SPLITS
    from rightreasons.report.questions import QUESTIONS

    # An audit takes the first test split, or else any.
    names = filter(resolution.splits.__contains__, (*TEST_SPLITS, *resolution.splits))
    items = range(resolution.splits[next(names)])
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
    """Print which questions the data can answer, and the command that asks them."""
    from rightreasons.report.questions import QUESTIONS, list_questions_for_table

    # The description has all that was typed about the data.
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
    for name in names:
        options = QUESTIONS[name].options
        if options.is_about_labels and not is_labeled:
            unanswerable.append(name)
            continue
        requirement = options.tables[resolution.kind]
        answerable.append(f"{name} ({requirement or _describe_passes(resolution, name)})")
    typer.echo(f"It can answer: {', '.join(answerable) or 'nothing'}.")
    if unanswerable:
        typer.echo(f"Without labels it cannot answer: {', '.join(unanswerable)}.")
    if not answerable:
        return

    needs_model = not all(QUESTIONS[name].options.tables[resolution.kind] for name in names)
    if needs_model:
        typer.echo(
            "A pass is one item through the model. For a server, --plan prints the requests and their price."
        )
    # Stored predictions answer one question, whose command takes them.
    command = f"audit {model or 'MODEL'}"
    if resolution.kind == "predictions":
        command = names[0]
    typer.echo(f"Next: rightreasons {command} {data}")
