"""Commands whose options are declared by `Options` classes, and arguments that many commands share.

`declared_command` registers a function as a command. Each field of its `Options` arguments becomes
a flag, and the values of the flags become `Options` again before the function is called.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from rightreasons.behavior.options import SUITE_HELP
from rightreasons.cli import with_flags
from rightreasons.cli.commands import ABOUT, GroupedCommand
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.options import Options, parse_names, unescape_text

UNPREFIXED = (
    "settings",
    "earlier",
    "stored",
    "source",
    "prompt",
    "server",
    "options",
    "drawn",
    "items",
    "form",
)
"""Names of arguments whose options have no prefix on the command line."""

Declared = type[Options] | tuple[type[Options], tuple[str, ...]]
"""Class of options, or some of its options."""


def declared_command(
    app: typer.Typer, name: str, declared: Mapping[str, Declared]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a function as a command with declared options.

    Each option of a declared class becomes a flag. When the command runs, the values of its flags become
    an instance of the class again, which is passed to the function.

    Args:
        app: App to which the command is added.
        name: Name of the command.
        declared: Argument of the function -> the class of its options, or (class, names of its
            options that the command has). The flags of an argument begin with its name, such as
            `--difficulty-items`, except for arguments in `UNPREFIXED`.

    Returns:
        A decorator, which returns the function itself, so that Python code can call it.
    """
    # Argument -> its class of options, and the names of the options that the command has.
    classes: dict[str, tuple[type[Options], Sequence[str]]] = {}
    for argument, declaration in declared.items():
        if isinstance(declaration, tuple):
            classes[argument] = declaration
        else:
            classes[argument] = (declaration, declaration.list_names())

    def register(function: Callable[..., None]) -> Callable[..., None]:
        """Add a function as a command to the app, and return the function itself.

        The command has one flag for each option of the classes in `declared`, and one for each other
        parameter of the function.

        Args:
            function: The function, whose docstring becomes the help of the command.
        """

        def run(**values: Any) -> None:
            """Call the function with one object of options in place of the values of their flags.

            Args:
                **values: Value of each flag, as parsed by typer. The flags of an argument such as
                    `difficulty` arrive as `difficulty_items`, `difficulty_seed` and so on.
            """
            for argument, (options_class, names) in classes.items():
                option_values = {}
                for option_name in names:
                    # `_make_parameters` calls the parameter of a flag ARGUMENT_NAME.
                    option_values[option_name] = values.pop(f"{argument}_{option_name}")
                # An error about an option names its flag, which begins with this prefix.
                prefix = _prefix(argument)
                values[argument] = _make_options(options_class, option_values, prefix)
            function(**values)

        parameters = _list_direct_parameters(function, declared)
        for argument, (options_class, names) in classes.items():
            parameters.extend(_make_parameters(options_class, names, argument))
        # typer reads the flags of a command from the signature of its function, and the help from the
        # docstring.
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        # Heading -> the flags below it in the short help, from the description of the command.
        groups = ABOUT.get(name, {}).get("shown", {})
        command_class = type("Declared", (GroupedCommand,), {"groups": groups})
        app.command(name, cls=command_class, no_args_is_help=True)(run)
        return function

    return register


def _list_direct_parameters(
    function: Callable[..., None], declared: Mapping[str, Declared]
) -> list[inspect.Parameter]:
    """Return the parameters of a function that are not declared by a class of options.

    typer makes a flag of each of them. They become keyword arguments.

    Args:
        function: Function of a command.
        declared: Argument -> its class of options, for the arguments that are excluded.
    """
    parameters = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        # `**declared` receives the declared options, and does not become a flag.
        if parameter.name not in declared and parameter.kind is not parameter.VAR_KEYWORD:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    return parameters


def _make_parameters(
    options_class: type[Options], names: Sequence[str], argument: str
) -> list[inspect.Parameter]:
    """Return options of a class as parameters of a function, from which typer makes flags.

    Args:
        options_class: Class that declares the options.
        names: Names of the options that become parameters.
        argument: Argument of the command to which the options belong. The parameters are called
            ARGUMENT_NAME.
    """
    hints = _get_type_hints(options_class)
    # The heading of the options in the help is the first line of the docstring of their class.
    heading = re.split(r"\n|;", options_class.__doc__ or "")[0].rstrip(".")
    # A colon follows the heading.
    if heading.endswith("?"):
        heading = f"Question “{heading}”"
    parameters = []
    for name in names:
        field: Any = options_class.model_fields[name]
        kind = hints[name]
        default = field.default
        if _find_element_type(kind) is not None:
            # typer does not support tuples of any length, so that the flag is a string with commas.
            default = ",".join(map(str, default or ())) or None
            kind = str if default else str | None
        flag = f"--{_prefix(argument)}{name.replace('_', '-')}"
        if kind is bool:
            # A Boolean option needs a flag that turns it off, because its default may be on.
            flag = f"{flag}/--no-{flag.removeprefix('--')}"
        info = typer.Option(flag, help=field.description, rich_help_panel=heading)
        annotation: Any = Annotated[kind, info]
        parameters.append(
            inspect.Parameter(
                f"{argument}_{name}",
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=annotation,
            )
        )
    return parameters


@functools.cache
def _get_type_hints(options_class: type[Options]) -> Mapping[str, Any]:
    """Return the type of each option of a class, whose annotations are strings until evaluated."""
    return typing.get_type_hints(options_class)


def _prefix(argument: str) -> str:
    """Return the beginning of the flags of an argument."""
    if argument in UNPREFIXED:
        return ""
    return f"{argument}-"


def _make_options(options_class: type[Options], values: Mapping[str, Any], prefix: str) -> Options:
    """Make an instance of a class of options from the values of flags.

    Args:
        options_class: The class.
        values: Name of an option -> its typed value, or the default.
        prefix: Beginning of the flags, such as "difficulty-", for error messages.

    Raises:
        OptionError, OptionTypeError: If a value is invalid; the message names the flag.
    """
    hints = _get_type_hints(options_class)
    try:
        parsed = {}
        for name, value in values.items():
            is_escaped = options_class.is_escaped(name)
            parsed[name] = _parse_value(hints[name], value, name, is_escaped=is_escaped)
        return options_class(**parsed)
    except (OptionError, OptionTypeError) as error:
        # The message of the class contains the names of options in Python, such as `ks`.
        message = with_flags(str(error), error.option, prefix)
        raise type(error)(message, option=error.option) from error


def _parse_value(kind: Any, value: Any, name: str, *, is_escaped: bool = False) -> Any:
    """Return the value of a flag as the type of its option.

    For an option that is a tuple, comma-separated names become a tuple. Any other value is returned
    unchanged.

    Args:
        kind: Type of the option, such as `tuple[int, ...] | None`.
        value: The typed value, or the default; None for a tuple that was not typed.
        name: Name of the option, for error messages.
        is_escaped: Whether line breaks in the names are written as escapes.

    Raises:
        OptionError: If there is no name, a number is invalid, or an escape is unknown.
    """
    element_type = _find_element_type(kind)
    if element_type is None:
        return value
    if value is None:
        # Without a value, an option of the type `tuple` is empty, and one of `tuple | None` is None.
        return () if get_origin(kind) is tuple else None
    elements = parse_names(value) or []
    is_valid = bool(elements)
    expected = "names"
    if element_type is int:
        expected = "whole numbers"
        is_valid = is_valid and all(map(_is_whole_number, elements))
    if not is_valid:
        raise OptionError(
            f"Expected `{name}` to be comma-separated {expected}, but got {value!r}.", option=name
        )
    if is_escaped:
        try:
            elements = list(map(unescape_text, elements))
        except ValueError as error:
            raise OptionError(f"Expected in `{name}` {error}.", option=name) from None
    return tuple(map(element_type, elements))


def _is_whole_number(text: str) -> bool:
    """Return whether a text consists of the digits 0 to 9."""
    # Python calls digits of other scripts digits too.
    return text.isascii() and text.isdigit()


def _find_element_type(kind: Any) -> Any:
    """Return the type of the elements of a tuple or an optional tuple; None for another type."""
    # An optional tuple is a union, whose members are its arguments.
    for member in (kind, *get_args(kind)):
        if get_origin(member) is tuple:
            return get_args(member)[0]
    return None


_DATA = "Name from `rightreasons data list`, hub id, or local csv, tsv, jsonl or parquet file or folder."
_MODEL = (
    "Folder or hub id of a classifier, a multiple-choice model or a language model; address of a server, or "
    "inspect:PROVIDER/MODEL"
)

Model = Annotated[str, typer.Argument(help=f"{_MODEL}.", metavar="MODEL")]
Dataset = Annotated[str, typer.Argument(help=_DATA, metavar="DATASET")]
OptionalModel = Annotated[
    str | None,
    typer.Argument(help=f"{_MODEL}; or a file of predictions, without a dataset.", metavar="MODEL"),
]
OptionalDataset = Annotated[str | None, typer.Argument(help=_DATA, metavar="DATASET")]

Split = Annotated[
    str | None,
    typer.Option(
        help=(
            "Split; by default the first of test, validation and dev that has labels, or else any "
            "split."
        )
    ),
]
SuiteName = Annotated[str, typer.Argument(help=SUITE_HELP, metavar="SUITE")]
Out = Annotated[Path, typer.Option(help="Folder of the report.")]
Open = Annotated[bool, typer.Option("--open", help="Open the finished report in a browser.")]
