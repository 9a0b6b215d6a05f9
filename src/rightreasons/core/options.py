"""Options, declared once.

A subclass of `Options` declares its fields by `option`. The keyword signature of a function, the
flags of a command, and the record of a run all come from that class. `accept_options_as_keywords`
gives a function the signature.
"""

from __future__ import annotations

import csv
import functools
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.public_api import warn_of_new_name
from rightreasons.core.sentences import format_value, suggest_similar_names

Self = TypeVar("Self", bound="Options")
T = TypeVar("T")

ESCAPED = "escaped"
"""Metadata of an option whose texts have escapes on the command line, as a shell makes it hard to
type a line break."""

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
"""Character -> its escape."""


def option(default: Any, text: str, **metadata: Any) -> Any:
    """Declare an option of an `Options` class.

    Args:
        default: Default value; every option has one.
        text: One sentence for the command line and the documentation.
        **metadata: `choices`, the allowed values; `minimum` and `maximum` of a number (or of each
            number of a tuple), written as floats unless it must be whole; `escaped`, whether texts
            have escapes for line breaks on the command line.
    """
    return Field(default=default, description=text, json_schema_extra=metadata)


class Options(BaseModel):
    """Base of every frozen options class, whose fields are made by `option`.

    Values are plain: numbers, texts, booleans, None, and tuples of them. pydantic checks their
    types. `choices`, `minimum` and `maximum` are checked here, anything else in `_check` of a
    subclass. An option whose default is None accepts None.

    Example:
        >>> class Toy(Options):
        ...     items: int | None = option(None, "Maximum number of items.")
        ...     fast: bool = option(False, "Skip the slow part.")
        >>> Toy.read({"items": 5}, "toy")
        Toy(items=5, fast=False)
        >>> Toy.read({"itmes": 5}, "toy")
        Traceback (most recent call last):
        ...
        ValueError: Expected an option of toy, but got 'itmes'. Did you mean 'items'? Known: fast, items.
        >>> Toy(items="five")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionTypeError: Expected `items` to be a whole number, but got 'five' (str).
        >>> Toy(items=5, fast=True).to_flags()
        ['--items', '5', '--fast']
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, *positional: Any, **values: Any) -> None:
        """Check the values of the options, and store them.

        Args:
            *positional: Values of the first options, in the order of their declaration.
            **values: Values of other options by name.

        Raises:
            OptionError: If a value is out of bounds, or options cannot be combined.
            OptionTypeError: If a value has the wrong type.
        """
        names = type(self).__pydantic_fields__
        try:
            super().__init__(**dict(zip(names, positional, strict=False)), **values)
        except ValidationError as error:
            raise _format_validation_error(error, type(self)) from None

    @field_validator("*", mode="before")
    @classmethod
    def _check_value(cls, value: Any, info: ValidationInfo) -> Any:
        """Check a value against the choices or bounds of its option, before pydantic checks its type.

        Args:
            value: The value, of any type.
            info: Context of pydantic, with the name of the option.

        Returns:
            The value as a plain Python value.

        Raises:
            OptionError: If the value is empty, not one of the choices, or out of bounds.
        """
        name = str(info.field_name)
        field = cls.__pydantic_fields__[name]
        # The arguments `choices`, `minimum` and `maximum` of `option`, if they were given.
        metadata = typing.cast("dict[str, Any]", field.json_schema_extra)
        limits = {key: limit for key, limit in metadata.items() if key != ESCAPED}
        value = _to_plain(value)
        # A flag without a value on the command line arrives as an empty string.
        is_empty = isinstance(value, str) and value == ""
        if is_empty and field.default != "":
            raise OptionError(f"Expected a value of `{name}`, but it is empty.", option=name)
        if not limits:
            return value
        # None in place of a number is left to pydantic, which knows whether the type includes None.
        if value is None and (field.default is None or "choices" not in limits):
            return value
        # The limits of a tuple apply to each member.
        members = value if isinstance(value, tuple) else (value,)
        for member in members:
            _check_limits(member, name, limits)
        return value

    def model_post_init(self, context: Any) -> None:
        """Check combinations of options after pydantic has checked each of them."""
        self._check()

    def _check(self) -> None:
        """Refuse options that cannot be combined, in a subclass."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Return the names of the options in the order of help texts.

        The options that the class itself declares come first, then those of its bases.
        """
        # Level 0 is the class itself. An option that is declared twice has the lower level.
        levels: dict[str, int] = {}
        for level, base in enumerate(cls.__mro__):
            for name in inspect.get_annotations(base):
                levels.setdefault(name, level)
        return tuple(sorted(cls.__pydantic_fields__, key=levels.__getitem__))

    @classmethod
    def read(cls: type[Self], values: Mapping[str, Any] | Self | None, owner: str) -> Self:
        """Make the options from a mapping; options that are not in it have their defaults.

        Args:
            values: Values by name, or None for the defaults. An instance of this class is returned
                unchanged.
            owner: Name of the function or question that has the options, for error messages.

        Raises:
            TypeError: If `values` is not a mapping.
            ValueError: If a name is unknown; the most similar one is suggested.
        """
        if isinstance(values, cls):
            return values
        if values is None:
            return cls()
        if not isinstance(values, Mapping):
            raise TypeError(
                f"Expected the options of {owner} by name, but got {format_value(values)}."
            )
        check_options(values, cls.list_names(), owner)
        return cls(**values)

    def replace(self: Self, **changes: Any) -> Self:
        """Return a checked copy with other values of some options."""
        # A copy of pydantic would not check the new values.
        values = dict(self) | changes
        return type(self)(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return every option as a plain value."""
        values: dict[str, Any] = {}
        for name in self.list_names():
            value = getattr(self, name)
            values[name] = list(value) if isinstance(value, tuple) else value
        return values

    def get_changes(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        changes: dict[str, Any] = {}
        for name in self.list_names():
            value = getattr(self, name)
            if value != type(self).__pydantic_fields__[name].default:
                changes[name] = value
        return changes

    @classmethod
    def is_escaped(cls, name: str) -> bool:
        """Return whether the texts of an option have escapes on the command line."""
        metadata = typing.cast("dict[str, Any]", cls.__pydantic_fields__[name].json_schema_extra)
        return bool(metadata.get(ESCAPED))

    def to_flags(self) -> list[str]:
        """Return command-line arguments for the options that differ from their defaults.

        For example, items=5 and fast=True become ["--items", "5", "--fast"].
        """
        words: list[str] = []
        for name, value in self.get_changes().items():
            flag = name.replace("_", "-")
            if value is True:
                words.append(f"--{flag}")
            elif value is False:
                words.append(f"--no-{flag}")
            elif isinstance(value, tuple):
                if self.is_escaped(name):
                    value = tuple(map(escape_text, value))
                words += [f"--{flag}", format_names(value)]
            else:
                words += [f"--{flag}", str(value)]
        return words

    # The names of the methods before 0.2, for one release.

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Call `list_names`, by its earlier name."""
        warn_of_new_name(f"{cls.__name__}.names", f"{cls.__name__}.list_names")
        return cls.list_names()

    def replaced(self: Self, **changes: Any) -> Self:
        """Call `replace`, by its earlier name."""
        name = type(self).__name__
        warn_of_new_name(f"{name}.replaced", f"{name}.replace")
        return self.replace(**changes)

    def changed(self) -> dict[str, Any]:
        """Call `get_changes`, by its earlier name."""
        name = type(self).__name__
        warn_of_new_name(f"{name}.changed", f"{name}.get_changes")
        return self.get_changes()

    def flags(self) -> list[str]:
        """Call `to_flags`, by its earlier name."""
        name = type(self).__name__
        warn_of_new_name(f"{name}.flags", f"{name}.to_flags")
        return self.to_flags()


Requirements = Mapping[str, str]
"""Kind of table -> what a question needs to be answered on it, in words."""


class QuestionOptions(Options):
    """Base of the options of a question of an audit, and of facts about the question.

    The command line needs these facts at once. Importing the question itself takes long, as it
    imports all that it measures with.
    """

    tables: ClassVar[Requirements] = {}
    """Kinds of tables that the question is suggested for, with what it needs, such as "without a model".

    If that is empty, the question needs a model, and the number of passes is shown instead.
    """

    is_about_labels: ClassVar[bool] = False
    """Whether the question is only suggested for labeled data."""

    redundant_key_part: ClassVar[str] = ""
    """Part of the keys of figures that repeats the question's name, and that paths leave out."""

    def passes(self, context: Any) -> float:
        """Return about how many passes per item the question needs in addition to the predictions."""
        return 0.0

    def find_item_limit(self, context: Any) -> int | None:
        """Return about how many items the question uses at most; None for all items."""
        return None


def make_unknown_option_error(
    name: str,
    known_names: Iterable[str],
    owner: str,
    error_type: type[ValueError] | type[TypeError] = ValueError,
) -> ValueError | TypeError:
    """Return the error for an unknown option, with the nearest known name.

    Args:
        name: The unknown name.
        known_names: Names of the options.
        owner: What the options belong to.
        error_type: `TypeError` for keywords of a function, as in Python itself.
    """
    names = sorted(known_names)
    hint = suggest_similar_names(name, names)
    return error_type(
        f"Expected an option of {owner}, but got {name!r}.{hint} Known: {', '.join(names)}."
    )


def check_options(
    names: Iterable[str],
    known_names: Iterable[str],
    owner: str,
    error_type: type[ValueError] | type[TypeError] = ValueError,
) -> None:
    """Check that all options have known names; otherwise raise an error with the nearest known name.

    Args:
        names: Names of the options.
        known_names: The known names.
        owner: What the options belong to, for the error message.
        error_type: Type of the error: `TypeError` for keywords of a function, as in Python itself.
    """
    for name in names:
        if name not in known_names:
            raise make_unknown_option_error(name, known_names, owner, error_type)


def accept_options_as_keywords(
    options_class: type[Options], *, exclude: Sequence[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let callers pass the fields of an options class as keywords of a function.

    The decorated function has a parameter `options`, which receives an instance of the class. Its
    displayed signature lists the fields in place of `options`. Callers may also pass an instance as
    `options=`. An unknown keyword is an error that suggests the most similar one.

    Args:
        options_class: The class.
        exclude: Fields that callers cannot set; they keep their defaults.

    Example:
        >>> class Toy(Options):
        ...     times: int = option(2, "How often.", minimum=1)
        >>> @accept_options_as_keywords(Toy)
        ... def repeat(text: str, *, options: Toy, end: str = ".") -> str:
        ...     return text * options.times + end
        >>> repeat("ab"), repeat("ab", times=3, end="!"), repeat("ab", options=Toy(times=1))
        ('abab.', 'ababab!', 'ab.')
        >>> inspect.signature(repeat)
        <Signature (text: 'str', *, times: int = 2, end: 'str' = '.') -> 'str'>
        >>> repeat("ab", time=3)
        Traceback (most recent call last):
        ...
        TypeError: Expected an option of repeat, but got 'time'. Did you mean 'times'? Known: end, times.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        """Return a wrapper of the function that has the options of the class as keywords.

        Args:
            function: Function with a keyword-only parameter `options`.
        """
        # Error messages name a class, not its constructor.
        path = function.__qualname__.removesuffix(".__init__")
        owner = path.rpartition(".")[2]
        signature = inspect.signature(function)
        parameters = _replace_options_parameter(signature, options_class, exclude)
        keyword_names = [
            parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        ]

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> T:
            """Collect the keywords that are options in an instance, and call the function with it.

            Args:
                *arguments: Positional arguments of the decorated function.
                **keywords: Its keyword arguments, fields of the options class, or an instance as `options`.

            Returns:
                The result of the decorated function.
            """
            # Keywords that are not parameters of the function itself must be options.
            values = {}
            for name in keywords.keys() - signature.parameters.keys():
                values[name] = keywords.pop(name)
            check_options(values, keyword_names, owner, TypeError)
            if values and "options" in keywords:
                raise TypeError(
                    f"Expected `options` or keywords of {owner}, "
                    f"but got `options` and {', '.join(values)}."
                )
            options = keywords.get("options", values)
            keywords["options"] = options_class.read(options, owner)
            return function(*arguments, **keywords)

        # Help texts and editors show the options as ordinary keywords.
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate


def _replace_options_parameter(
    signature: inspect.Signature, options_class: type[Options], exclude: Sequence[str]
) -> list[inspect.Parameter]:
    """Return the parameters of a signature, with a keyword for each option in place of `options`.

    Args:
        signature: Signature of a function with the parameter `options`.
        options_class: Class of the options.
        exclude: Options without a keyword.
    """
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        if parameter.name != "options":
            parameters.append(parameter)
            continue
        for name, field in options_class.__pydantic_fields__.items():
            if name in exclude:
                continue
            keyword = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.annotation,
            )
            parameters.append(keyword)
    return parameters


# --- Comma-separated names


def parse_names(text: str | None) -> list[str] | None:
    """Split comma-separated names; a name with a comma is in quotation marks.

    Args:
        text: The names in one string, or None.

    Returns:
        The names without spaces around them. None if `text` is None.

    Example:
        >>> parse_names('joy, "anger, mild"')
        ['joy', 'anger, mild']
    """
    if text is None:
        return None
    rows = list(csv.reader([text], skipinitialspace=True))
    # An empty string has no row.
    cells = rows[0] if rows else []
    names = [cell.strip() for cell in cells]
    return [name for name in names if name]


def format_names(names: Iterable[object]) -> str:
    """Join names by commas, as the inverse of `parse_names`.

    Args:
        names: Names, which are converted to strings. A name with a comma is quoted.

    Example:
        >>> format_names(["joy", "anger, mild"])
        'joy,"anger, mild"'
    """
    cells = []
    for name in names:
        cell = str(name)
        if "," in cell or cell.startswith('"'):
            # As in a csv file, quotation marks inside a quoted cell are doubled.
            cell = cell.replace('"', '""')
            cell = f'"{cell}"'
        cells.append(cell)
    return ",".join(cells)


def escape_text(text: str) -> str:
    r"""Return a text with escapes in place of its line breaks, tabs and backslashes.

    Args:
        text: Any text, such as a prompt template with line breaks.

    Example:
        >>> escape_text("Q:" + chr(10))
        'Q:\\n'
    """
    # The backslash comes first, as the escapes of the others contain it.
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def unescape_text(text: str) -> str:
    r"""Replace the escapes of `escape_text` by the line breaks, tabs and backslashes they represent.

    Args:
        text: The escaped text.

    Raises:
        ValueError: If a backslash begins an unknown escape.

    Example:
        >>> unescape_text(r"Q:\n") == "Q:" + chr(10)
        True
    """
    character_by_escape = {escape: character for character, escape in _ESCAPES.items()}

    def replace(match: re.Match[str]) -> str:
        if match[0] not in character_by_escape:
            known = " ".join(character_by_escape)
            raise ValueError(f"one of the escapes {known}, but got {match[0]}")
        return character_by_escape[match[0]]

    return re.sub(r"\\.?", replace, text)


def parse_name_or_names(text: str | None) -> str | list[str] | None:
    """Return the name in a text, or a list of the comma-separated ones; None for None."""
    names = parse_names(text)
    if names is not None and len(names) == 1:
        return names[0]
    return names


# ------------------------------------------------------------------------------------------ checks


def _to_plain(value: Any) -> Any:
    """Convert a path to a string, a numpy scalar to a number, and a sequence to a tuple.

    Args:
        value: Value of an option. Values of other types are returned unchanged.
    """
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    # numpy is recognized by its name, because importing it would slow down each command.
    is_of_numpy = type(value).__module__ == "numpy"
    if is_of_numpy and getattr(value, "ndim", None) == 0:
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return tuple(value)
    return value


def _check_limits(value: Any, name: str, limits: Mapping[str, Any]) -> None:
    """Check the value of an option by its choices, or by its minimum and maximum.

    Args:
        value: The value.
        name: Name of the option.
        limits: Either {"choices": (...)}, or "minimum" and "maximum" of a number, one of which may be
            missing. The number must be whole unless the minimum is a float.
    """
    # Imported here, because the module imports numpy, which commands that only list options do not
    # need.
    from rightreasons.core.validation import check_count, check_number, check_one_of

    if "choices" in limits:
        check_one_of(value, limits["choices"], name)
    elif isinstance(limits.get("minimum"), float):
        check_number(value, name, **limits)
    else:
        check_count(value, name, **limits)


_NOUN_BY_ERROR = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "tuple": "a list",
}
"""Beginning of the type of a pydantic error -> what it expects."""


def _format_validation_error(error: ValidationError, options_class: type[Options]) -> Exception:
    """Convert the first error of a pydantic validation to an error of this package, in one sentence.

    Args:
        error: Error of pydantic.
        options_class: Class whose options were validated.
    """
    from rightreasons.core.arrays import describe_kind

    details = error.errors()[0]
    # Errors of the validators of `Options` are wrapped by pydantic, and have the right type already.
    context = details.get("ctx", {})
    if "error" in context:
        return typing.cast(Exception, context["error"])
    name = str(details["loc"][0])
    if details["type"] == "extra_forbidden":
        names = options_class.list_names()
        return make_unknown_option_error(name, names, options_class.__name__, TypeError)
    # The type of the error begins with the expected type, as in "int_type" and "string_type".
    expected = _NOUN_BY_ERROR[details["type"].split("_")[0]]
    # The location of a member of a tuple is (name of the option, index of the member).
    subject = f"each of `{name}`" if len(details["loc"]) > 1 else f"`{name}`"
    value = describe_kind(details["input"])
    return OptionTypeError(f"Expected {subject} to be {expected}, but got {value}.", option=name)
