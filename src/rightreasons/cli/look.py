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
"""Role of a column -> the option of data.yaml that names it."""

PROPOSAL_KEYS = {
    "scores": "score_columns",
    "confidence": "confidence_column",
    "prompt": "prompt_column",
    "choices": "choices_column",
    "label": "label_column",
}
"""Role of a column -> the option of data.yaml, for columns that were recognized by their content."""

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
    """Return the options that the user has set, in the format of data.yaml.

    Args:
        declared: The groups of options of the command.

    Returns:
        Name of an option -> its value. Comma-separated names become a list.
    """
    settings: dict[str, Any] = {}
    for options in declared:
        settings |= options.get_changes()
    parse_by_name = {
        "label_names": parse_names,
        "prompt_column": parse_names,
        # A single name means a column of lists, and stays a string.
        "choices_column": parse_name_or_names,
    }
    for name, parse in parse_by_name.items():
        # An expression of Jinja, which begins with "{{", may contain commas.
        if name in settings and "{{" not in settings[name]:
            settings[name] = parse(settings[name])
    return settings


@declared_command(COMMANDS["look"], "look", DECLARED)
def look(
    dataset: Dataset,
    model: Annotated[
        str | None,
        typer.Argument(help="Folder or hub id of a model, to match its classes.", metavar="MODEL"),
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
    for doubt in (*resolution.doubts, *_print_model_match(resolution, model)):
        doubts.append(with_flags(doubt, NAMES))
    if not resolution.readable:
        # The first doubt is the reason, and nothing is written. The others may help to find the
        # right options.
        _print_doubts(doubts[1:])
        raise ValueError(doubts[0])
    _print_doubts(doubts)
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
    """Write a file such as data.yaml with the options by which data is read.

    Args:
        out: The file. An existing one about other data is not replaced.
        dataset: Name, hub id or path of the data.
        resolution: How the data is read.
        settings: Name -> value of the options that the user has set, which override those of
            `resolution`.

    Returns:
        Whether the file was written.

    Raises:
        OptionError: If options are set, but the file is about other data.
    """
    from rightreasons.io.descriptions import read_description, write_description

    path = Path(dataset).expanduser()
    is_about_others = False
    if out.exists():
        described_path = Path(str(read_description(out).source))
        is_about_others = described_path.resolve() != path.resolve()
    if is_about_others and settings:
        raise OptionError(
            f"Expected `out` to be new or about {dataset}, but {out} is about other data.",
            option="out",
        )
    if is_about_others:
        typer.echo(
            f"Not written: {out} is about other data. To write another file, pass --out FILE."
        )
        return False
    # Data for reading comprehension always has the same columns, and needs no file.
    if resolution.kind == "question_answering":
        return False
    # A path in the file is relative to the folder of the file.
    location = dataset
    if path.exists():
        location = os.path.relpath(path, out.parent)
    write_description(out, {"data": location, **_describe_data(resolution), **settings})
    return True


def _print_doubts(doubts: Iterable[str]) -> None:
    """Print doubts about how data is read in yellow, each with "Look at:" before it.

    Args:
        doubts: Sentences, which may contain flags or names of columns with hyphens. These are not
            divided at the end of a line, so that they can be copied.
    """
    for doubt in doubts:
        text = textwrap.fill(
            f"Look at: {doubt}", WIDTH, subsequent_indent="  ", break_on_hyphens=False
        )
        typer.secho(text, fg="yellow")


def _describe_data(resolution: Resolution) -> dict[str, Any]:
    """Return the options by which data is read, for a data.yaml that the user may change.

    Args:
        resolution: How the data is read: its task (`kind`), its columns by their roles, and the
            names of its labels.

    Returns:
        Name of an option -> value, such as `{"task": "classification", "text_column": "review"}`.
    """
    content: dict[str, Any] = {}
    if resolution.kind != "predictions":
        content["task"] = resolution.kind
    # The format of multiple-choice data already determines its columns.
    if resolution.kind != "multiple_choice":
        for name, columns in resolution.columns.items():
            if name in KEYS:
                content[KEYS[name]] = columns[0]
    # Columns that were recognized by their content, and not by their names, are proposals. A user
    # who keeps them in the file confirms them.
    for role in resolution.roles:
        if role.source == "content" and role.name in PROPOSAL_KEYS:
            content[PROPOSAL_KEYS[role.name]] = _join_columns(role)
    if resolution.comparison:
        content["correct_column"] = resolution.comparison
    # Numbers are no names, which a user could change.
    are_numbers = all(map(str.isdecimal, resolution.label_names))
    if resolution.kind == "classification" and not are_numbers:
        content["label_names"] = resolution.label_names
    return content


def _join_columns(role: Role) -> str | list[str]:
    """Return the names of the columns of a role as a value in data.yaml.

    Several names are separated by commas, except those of choices, which are a list: a single name
    means a column of lists of choices.

    Args:
        role: A role, such as "scores" or "choices", with its columns.
    """
    if role.name == "choices" and len(role.columns) > 1:
        return list(role.columns)
    return ",".join(role.columns)


def _print_resolution(dataset: str, resolution: Resolution) -> None:
    """Print how data is read: its task and splits, its columns, its first items, and its labels.

    Args:
        dataset: Name, hub id or path of the data.
        resolution: How the data is read: its task (`kind`), split -> number of items, the first
            items, and each value of the labels with its class (`mapping`).
    """
    from rightreasons.page.formats import NONE

    sizes = ", ".join(f"{name} {size:,}" for name, size in resolution.splits.items())
    typer.secho(f"{dataset}: {resolution.kind.replace('_', ' ')} ({sizes})", bold=True)
    _print_columns(resolution)
    for number, item in enumerate(resolution.items, start=1):
        cells = _describe_cells(item)
        typer.echo(textwrap.fill(f"Item {number}: {cells}", WIDTH, subsequent_indent="  "))
    # The first values are enough to see that a column with many values has no labels.
    rows = []
    for value in resolution.mapping[:MAX_ROWS]:
        rows.append((_shorten(value.value), f"{value.count:,}", value.label or NONE, value.rule))
    if rows:
        _print_table("Labels", [("value", "items", "class", "rule"), *rows])
    if len(resolution.mapping) > MAX_ROWS:
        typer.echo(f"  … {len(resolution.mapping):,} values in all")


def _describe_cells(item: Mapping[str, Any]) -> str:
    """Return the cells of an item in one line, without columns that only the row checks use.

    Args:
        item: Name of a column of the common schema -> value.
    """
    from rightreasons.io.row_codes import COPIED_ROW, REPEATED_ID

    descriptions = []
    for name, value in item.items():
        # These columns are not in the file. A note describes the rows that repeat each other.
        if name not in (COPIED_ROW, REPEATED_ID):
            descriptions.append(f"{name}: {_shorten(value)}")
    return ", ".join(descriptions)


def _print_columns(resolution: Resolution) -> None:
    """Print a table of columns with their roles, the reason for each, and the next best column.

    Args:
        resolution: How the data is read: role -> its columns, and the reasons for the roles that
            were recognized by the content of a column.
    """
    role_by_name = {role.name: role for role in resolution.roles}
    rows = []
    for name, columns in resolution.columns.items():
        reason = ""
        # A column that is recognized by its name has no entry, because this needs no reason.
        role = role_by_name.get(name)
        if role is not None:
            reason = role.reason
            if role.runner_up:
                reason += f" (next: {role.runner_up})"
        # The option that names this column is --correct-column.
        shown_name = "correct" if name == "right" else name
        rows.append((shown_name, ", ".join(columns), reason))
    _print_table("Columns", rows)


def show_row_doubts(doubts: Sequence[RowDoubt]) -> None:
    """Print the findings of the checks of rows: open doubts in yellow, and others as notes.

    Args:
        doubts: The findings, such as repeated ids. While one is open, an audit gives no good or bad
            verdict.
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


def _print_model_match(resolution: Resolution, model: str | None) -> list[str]:
    """Print how the labels of data match the classes of a model, and return doubts about the match.

    Args:
        resolution: How the data is read, with the names of its labels.
        model: Folder or hub id of the model; None to match nothing.

    Returns:
        Sentences that say why labels and classes do not match, or which classes have no items.
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
    # Only a match by number may be wrong: the classes may be in another order.
    if match.how != BY_NUMBER or not unlabeled_classes:
        return []
    return [describe_unlabeled(unlabeled_classes)]


def _describe_passes(resolution: Resolution, question: str) -> str:
    """Estimate the cost of a question in passes of one item through the model: "2,400 passes".

    The estimate is for a model that has gradients, with the default options of the question.

    Args:
        resolution: How the data is read, with the number of items of each split.
        question: Name of the question.
    """
    from rightreasons.io.samples import TEST_SPLITS
    from rightreasons.report.questions import QUESTIONS

    # An audit uses the first of the usual test splits, or else the first split.
    candidates = [*TEST_SPLITS, *resolution.splits]
    split = next(name for name in candidates if name in resolution.splits)
    items = range(resolution.splits[split])
    # `passes` needs an audit, but reads only these attributes of it.
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
    # The estimate is rounded to two digits, because it is not exact.
    rounded = float(f"{n_passes:.2g}")
    return f"{rounded:,.0f} passes"


def _print_questions(
    resolution: Resolution, dataset: str, model: str | None, out: Path | None
) -> None:
    """Print which questions the data can answer, and the command that asks them.

    Args:
        resolution: How the data is read: its task (`kind`), its labels, and whether predictions have
            a confidence.
        dataset: Name, hub id or path of the data.
        model: The model that the user named; None for a placeholder in the command.
        out: The written file with the options of the data, which replaces the data in the command;
            None if none was written.
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
        # What the question needs to be answered from this type of data; "" if it needs a model.
        requirement = options.tables[resolution.kind]
        if not requirement:
            needs_model = True
        if options.is_about_labels and not is_labeled:
            unanswerable.append(name)
        else:
            answerable.append(f"{name} ({requirement or _describe_passes(resolution, name)})")
    typer.echo(f"Questions: {', '.join(answerable) or 'none'}.")
    if unanswerable:
        typer.echo(f"Questions that need labels: {', '.join(unanswerable)}.")
    if not answerable:
        return

    if needs_model:
        typer.echo(
            "One pass is one item through the model. For a server, --plan prints the requests and their price."
        )
    # Stored predictions answer a single question, which has its own command.
    command = f"audit {model or 'MODEL'}"
    if resolution.kind == "predictions":
        command = names[0]
    typer.echo(f"Next: rightreasons {command} {data}")
