"""Commands whose options are declared elsewhere: from an `Options` class to the flags of a command, and back."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

import typer

from rightreasons.foundations.options import Options, listed

UNPREFIXED = ("settings", "stored", "source", "prompt", "server", "options")
"""Names of arguments whose options have no prefix on the command line."""


def declared_command(
    app: typer.Typer, name: str, declared: Mapping[str, type[Options]]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command that also takes declared options.

    Args:
        app: What the command is added to.
        name: The command.
        declared: Argument of the function -> the class of its value. The options of `UNPREFIXED` ones
            have no prefix; those of "difficulty" become `--difficulty-items` and so on.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in inspect.signature(function, eval_str=True).parameters.values()
            if parameter.name not in declared and parameter.kind is not parameter.VAR_KEYWORD
        ]
        added = {argument: _parameters(options, argument) for argument, options in declared.items()}

        def run(**values: Any) -> None:
            for argument, options in declared.items():
                given = [values.pop(parameter.name) for parameter in added[argument]]
                values[argument] = _read(options, given)
            function(**values)

        every = [*own, *(parameter for parameters in added.values() for parameter in parameters)]
        run.__doc__ = function.__doc__
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        app.command(name, no_args_is_help=True)(run)
        return function

    return register


def completes(choices: Sequence[str]) -> Callable[[str], list[str]] | None:
    """Return what completes one of some values, or the last of comma-separated ones, in a shell; None without any."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + choice for choice in choices if choice.startswith(last)]

    return complete if choices else None


def _parameters(options: type[Options], argument: str) -> list[inspect.Parameter]:
    """Return the options of a class as parameters that typer reads."""
    hints = typing.get_type_hints(options)
    prefix = "" if argument in UNPREFIXED else f"{argument}-"
    parameters = []
    for field in options.shown():
        kind, default = hints[field.name], field.default
        if _of_tuple(kind) is not None:
            text = ",".join(map(str, typing.cast("tuple[Any, ...]", default or ())))
            kind, default = (str, text) if text else (str | None, None)
        flag = prefix + field.name.replace("_", "-")
        info = typer.Option(
            f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}",
            help=field.metadata["help"],
            autocompletion=completes(field.metadata.get("choices", ())),
        )
        parameters.append(
            inspect.Parameter(
                f"{argument}_{field.name}",
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[kind, info],
            )
        )
    return parameters


def _read(options: type[Options], values: list[Any]) -> Options:
    """Make the options of a class from the values of a command line, in the order of its flags."""
    hints = typing.get_type_hints(options)
    return options(
        **{name: _value(hints[name], value, name) for name, value in zip(options.names(), values, strict=True)}
    )


def _value(kind: Any, value: Any, name: str) -> Any:
    element = _of_tuple(kind)
    if element is None:
        return value
    if value is None:
        return () if get_origin(kind) is tuple else None
    parts = listed(value) or []
    if not parts or (element is int and not all(part.isascii() and part.isdigit() for part in parts)):
        what = "whole numbers" if element is int else "names"
        raise ValueError(f"Expected `--{name.replace('_', '-')}` to be comma-separated {what}, but got {value!r}.")
    return tuple(element(part) for part in parts)


def _of_tuple(kind: Any) -> Any:
    """Return the type of the elements of a tuple, or of a tuple that may be None; None for another type."""
    each = next((part for part in (kind, *get_args(kind)) if get_origin(part) is tuple), None)
    return None if each is None else get_args(each)[0]
