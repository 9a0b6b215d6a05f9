"""Commands whose options are declared elsewhere, from an `Options` class to flags and back; options that many share."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
import typer.core

from rightreasons.behavior.options import SUITE_HELP
from rightreasons.cli import ABOUT, HELP_ALL, shows_all_options, with_flags
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.options import Options, parse_names

UNPREFIXED = ("settings", "stored", "source", "prompt", "server", "options", "drawn", "form")
"""Names of arguments whose options have no prefix on the command line."""

MOST_SHOWN = 15
"""Options that the help of a command shows; `--help-all` shows the others too."""

Declared = type[Options] | tuple[type[Options], tuple[str, ...]]
"""A class of options, or some of its options."""


class Command(typer.core.TyperCommand):
    """A command whose help shows a few of its options, by group; `--help-all` shows all."""

    groups: Mapping[str, str] = {}
    """Heading -> the flags under it that the help shows, without dashes; {} for the first ones there are."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, and the options by group."""
        parameters: list[Any] = [each for each in self.get_params(ctx) if each.name != "help"]
        records = {each.opts[0].lstrip("-"): each.get_help_record(ctx) for each in parameters}
        kinds = {
            each.opts[0].lstrip("-"): "Arguments"
            if each.param_type_name == "argument"
            else each.rich_help_panel
            for each in parameters
        }
        sections = {
            "Arguments": [records.pop(flag) for flag, kind in kinds.items() if kind == "Arguments"]
        }
        for heading, flags in self.groups.items():
            sections[heading] = [records.pop(flag) for flag in flags.split() if flag in records]
        n_shown = len(records) if shows_all_options.get() else 0 if self.groups else MOST_SHOWN - 2
        for flag in [*records][:n_shown]:
            sections.setdefault(kinds[flag] or "Options", []).append(records.pop(flag))
        more = (
            [(HELP_ALL, f"Show {len(records)} more options, which can be typed too.")]
            if records
            else []
        )
        sections["Help"] = [("-h, --help", "Show this message and exit."), *more]
        for heading, lines in sections.items():
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def declared_command(
    app: typer.Typer, name: str, declared: Mapping[str, Declared]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command that also takes declared options.

    Args:
        app: What the command is added to.
        name: The command.
        declared: Argument of the function -> the class of its value, or the class and which of its options the command
            has. The options of `UNPREFIXED` ones have no prefix; those of "difficulty" become `--difficulty-items` and
            so on.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        direct = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(function, eval_str=True).parameters.values()
            if parameter.name not in declared and parameter.kind is not parameter.VAR_KEYWORD
        ]
        classes = {
            name: each if isinstance(each, tuple) else (each, each.list_names())
            for name, each in declared.items()
        }
        added = {argument: _parameters(*each, argument) for argument, each in classes.items()}

        def run(**values: Any) -> None:
            for argument, (options, names) in classes.items():
                given = {name: values.pop(f"{argument}_{name}") for name in names}
                values[argument] = _read(options, given, _prefix(argument))
            function(**values)

        every = [*direct, *(parameter for parameters in added.values() for parameter in parameters)]
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        command = type("Declared", (Command,), {"groups": ABOUT.get(name, {}).get("shown", {})})
        app.command(name, cls=command, no_args_is_help=True)(run)
        return function

    return register


def _parameters(
    options: type[Options], names: Sequence[str], argument: str
) -> list[inspect.Parameter]:
    """Return options of a class as parameters that typer reads."""
    hints, prefix = typing.get_type_hints(options), _prefix(argument)
    heading = re.split(r"\n|;", options.__doc__ or "")[0].rstrip(".")
    parameters = []
    for name in names:
        field: Any = options.model_fields[name]
        kind, default = hints[name], field.default
        if _of_tuple(kind) is not None:
            text = ",".join(map(str, typing.cast("tuple[Any, ...]", default or ())))
            kind, default = (str, text) if text else (str | None, None)
        flag = prefix + name.replace("_", "-")
        info = typer.Option(
            f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}",
            help=field.description,
            rich_help_panel=heading,
        )
        annotation: Any = Annotated[kind, info]
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters.append(
            inspect.Parameter(f"{argument}_{name}", keyword, default=default, annotation=annotation)
        )
    return parameters


def _prefix(argument: str) -> str:
    return "" if argument in UNPREFIXED else f"{argument}-"


def _read(options: type[Options], values: Mapping[str, Any], prefix: str) -> Options:
    """Make the options of a class from values of a command line, by name; errors name the flags."""
    hints = typing.get_type_hints(options)
    try:
        return options(**{name: _value(hints[name], value, name) for name, value in values.items()})
    except (OptionError, OptionTypeError) as error:
        raise type(error)(
            with_flags(str(error), error.option, prefix), option=error.option
        ) from error


def _value(kind: Any, value: Any, name: str) -> Any:
    element = _of_tuple(kind)
    if element is None:
        return value
    if value is None:
        return () if get_origin(kind) is tuple else None
    parts = parse_names(value) or []
    if not parts or (
        element is int and not all(part.isascii() and part.isdigit() for part in parts)
    ):
        what = "whole numbers" if element is int else "names"
        raise OptionError(
            f"Expected `{name}` to be comma-separated {what}, but got {value!r}.", option=name
        )
    return tuple(element(part) for part in parts)


def _of_tuple(kind: Any) -> Any:
    """Return the type of the elements of a tuple, or of a tuple that may be None; None for another type."""
    each = next((part for part in (kind, *get_args(kind)) if get_origin(part) is tuple), None)
    return None if each is None else get_args(each)[0]


_DATA = "Name from `rightreasons data list`, hub id, or local csv, tsv, jsonl or parquet file or folder."
_MODEL = (
    "Folder or hub id of a classifier, a multiple-choice model or a language model; address of a server, or "
    "inspect:PROVIDER/MODEL"
)

Model = Annotated[str, typer.Argument(help=f"{_MODEL}.", metavar="MODEL", show_default=False)]
Dataset = Annotated[str, typer.Argument(help=_DATA, metavar="DATASET", show_default=False)]
OptionalModel = Annotated[
    str | None,
    typer.Argument(
        help=f"{_MODEL}; or, alone, a file of predictions.", metavar="MODEL", show_default=False
    ),
]
OptionalDataset = Annotated[
    str | None, typer.Argument(help=_DATA, metavar="DATASET", show_default=False)
]

Split = Annotated[
    str | None,
    typer.Option(
        help="Split; by default the first of test, validation and dev with labels, or else any."
    ),
]
SuiteName = Annotated[str, typer.Argument(help=SUITE_HELP, metavar="SUITE", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder of the report.")]
Open = Annotated[
    bool, typer.Option("--open", help="Open the report in a browser when it is written.")
]
