"""Options, declared once: the keyword signature, the command's flags and the stored record all come from one class."""

from __future__ import annotations

import csv
import functools
import inspect
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.sentences import format_value, suggest_similar_names

Self = TypeVar("Self", bound="Options")
T = TypeVar("T")


def option(default: Any, text: str, **metadata: Any) -> Any:
    """Declare an option of an `Options` class.

    Args:
        default: Its default; every option has one.
        text: One sentence for the command line and the documentation.
        **metadata: `choices`, the allowed values; `minimum` and `maximum` of a number (or of each one), which are
            written as floats where it need not be whole.
    """
    return Field(default=default, description=text, json_schema_extra=metadata)


class Options(BaseModel):
    """Base of every frozen options class, whose fields are made by `option`.

    Values are plain: numbers, texts, booleans, None, and tuples of them. pydantic checks their kinds, and `choices`,
    `minimum` and `maximum` are checked here; anything else in a subclass's `_check`. An option whose default is None
    accepts None. Nothing heavy is imported before a value is checked, so that a command line can list its options at
    once.

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
        >>> Toy(items=5, fast=True).flags()
        ['--items', '5', '--fast']
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, *first: Any, **values: Any) -> None:
        try:
            super().__init__(
                **dict(zip(type(self).__pydantic_fields__, first, strict=False)), **values
            )
        except ValidationError as error:
            raise _format_validation_error(error, type(self)) from None

    @field_validator("*", mode="before")
    @classmethod
    def _check_value(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        field = cls.__pydantic_fields__[name]
        value, limits = _to_plain(value), typing.cast("dict[str, Any]", field.json_schema_extra)
        if isinstance(value, str) and not value and field.default != "":
            raise OptionError(f"Expected a value of `{name}`, but it is empty.", option=name)
        if not limits or (value is None and (field.default is None or "choices" not in limits)):
            return value
        from rightreasons.core.validation import check_count, check_number, check_one_of

        check: Any = check_number if isinstance(limits.get("minimum"), float) else check_count
        for each in value if isinstance(value, tuple) else (value,):
            if "choices" in limits:
                check_one_of(each, limits["choices"], name)
            else:
                check(each, name, **limits)
        return value

    def model_post_init(self, context: Any) -> None:
        """Check what the options say together."""
        self._check()

    def _check(self) -> None:
        """Refuse options that do not go together, in a subclass."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return their names in the order of help and commands: its own, then those of the classes it extends."""

        def level(name: str) -> int:
            return next(
                n for n, part in enumerate(cls.__mro__) if name in inspect.get_annotations(part)
            )

        return tuple(sorted(cls.__pydantic_fields__, key=level))

    @classmethod
    def read(cls: type[Self], given: Mapping[str, Any] | Self | None, where: str) -> Self:
        """Make the options from values by name; those that are not given take their defaults.

        Args:
            given: Values by name, an instance of this class, or None.
            where: What the options belong to, for the error.

        Raises:
            TypeError: If the values are no mapping.
            ValueError: If a name is unknown; the nearest known one is given.
        """
        if isinstance(given, cls):
            return given
        if not isinstance(given, (Mapping, type(None))):
            raise TypeError(
                f"Expected the options of {where} by name, but got {format_value(given)}."
            )
        check_options(given or {}, cls.names(), where)
        return cls(**given or {})

    def replaced(self: Self, **changes: Any) -> Self:
        """Return these options with some in place of others, checked."""
        return type(self)(**{**dict(self), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return every option as a plain value."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._items()
        }

    def changed(self) -> dict[str, Any]:
        """Return the options that are away from their defaults."""
        fields = type(self).__pydantic_fields__
        return {name: value for name, value in self._items() if value != fields[name].default}

    def flags(self) -> list[str]:
        """Return the words of a command line that give these options."""
        words: list[str] = []
        for name, value in self.changed().items():
            flag = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                text = format_names(value) if isinstance(value, tuple) else str(value)
                words += [f"--{flag}", text]
        return words

    def _items(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.names()]


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
        """Return about how many passes of one item the question needs of an audit beyond the predictions."""
        return 0.0


def make_unknown_option_error(
    name: str,
    known: Iterable[str],
    where: str,
    kind: type[ValueError] | type[TypeError] = ValueError,
) -> ValueError | TypeError:
    """Return the error about a name that is no option of something, with the nearest known one."""
    names = sorted(known)
    hint = suggest_similar_names(name, names)
    return kind(
        f"Expected an option of {where}, but got {name!r}.{hint} Known: {', '.join(names)}."
    )


def check_options(
    names: Iterable[str],
    known: Iterable[str],
    where: str,
    kind: type[ValueError] | type[TypeError] = ValueError,
) -> None:
    """Check that every option has a known name."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise make_unknown_option_error(unknown, known, where, kind)


def accept_options_as_keywords(
    options: type[Options], *, without: Sequence[str] = ()
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let callers give the fields of an options class as keywords of a function that has a parameter `options`.

    The function receives an instance of the class; its signature lists the fields in place of `options`. An instance
    may be given instead of keywords, as `options=`. An unknown keyword is refused with the nearest known one.

    Args:
        options: The class.
        without: Fields that the function does not have; they keep their defaults.

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
        where = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        signature = inspect.signature(function)
        fields = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.annotation,
            )
            for name, field in options.__pydantic_fields__.items()
            if name not in without
        ]
        parameters = [
            each
            for p in signature.parameters.values()
            for each in (fields if p.name == "options" else [p])
        ]
        known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> T:
            values = {
                name: keywords.pop(name) for name in keywords.keys() - signature.parameters.keys()
            }
            check_options(values, known, where, TypeError)  # as Python does
            if values and "options" in keywords:
                raise TypeError(
                    f"Expected `options` or keywords of {where}, but got `options` and {', '.join(values)}."
                )
            keywords["options"] = options.read(keywords.get("options", values), where)
            return function(*arguments, **keywords)

        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate


def parse_names(names: str | None) -> list[str] | None:
    """Read comma-separated names, one with a comma in quotation marks; None stays None.

    Example:
        >>> parse_names('joy, "anger, mild"')
        ['joy', 'anger, mild']
    """
    cells = [] if names is None else next(csv.reader([names], skipinitialspace=True), [])
    return None if names is None else [name.strip() for name in cells if name.strip()]


def format_names(names: Iterable[object]) -> str:
    """Return names as `parse_names` reads them.

    Example:
        >>> format_names(["joy", "anger, mild"])
        'joy,"anger, mild"'
    """
    texts = list(map(str, names))
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    return ",".join(
        q if "," in text or text[:1] == '"' else text for q, text in zip(quoted, texts, strict=True)
    )


def parse_name_or_names(names: str | None) -> str | list[str] | None:
    """Read one name, or several comma-separated ones."""
    parts = parse_names(names)
    return parts[0] if parts is not None and len(parts) == 1 else parts


def _to_plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if type(value).__module__ == "numpy" and not getattr(value, "ndim", 1):
        return value.item()
    return (
        tuple(value)
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes))
        else value
    )


_KINDS = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "tuple": "a list",
}


def _format_validation_error(error: ValidationError, options: type[Options]) -> Exception:
    """Write what pydantic refuses as one sentence."""
    from rightreasons.core.arrays import describe_kind

    first = error.errors()[0]
    if "error" in first.get("ctx", {}):
        return typing.cast(Exception, first["ctx"]["error"])
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return make_unknown_option_error(name, options.names(), options.__name__, TypeError)
    kind, of = _KINDS[first["type"].split("_")[0]], "each of " if len(first["loc"]) > 1 else ""
    return OptionTypeError(
        f"Expected {of}`{name}` to be {kind}, but got {describe_kind(first['input'])}.", option=name
    )
