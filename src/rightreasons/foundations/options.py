"""Options, declared once: the keyword signature, the command's flags and the stored record all come from one class."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rightreasons.foundations.sentences import one_line

Self = TypeVar("Self", bound="Options")
T = TypeVar("T")


def option(default: Any, text: str, **metadata: Any) -> Any:
    """Declare an option of an `Options` class.

    Args:
        default: Its default; every option has one.
        text: One sentence for the command line and the documentation.
        **metadata: `choices`, the allowed values; `minimum` and `maximum` of a whole number (or of each one).
    """
    return dataclasses.field(default=default, metadata={"help": text, **metadata})


@dataclasses.dataclass(frozen=True)
class Options:
    """Base of every frozen options class; a subclass is a frozen dataclass whose fields are made by `option`.

    Values are plain: numbers, texts, booleans, None, and tuples of them. `choices`, `minimum` and `maximum` of an
    option are checked here, anything else in a subclass's `__post_init__`. An option whose default is None accepts
    None. Nothing heavy is imported before a value is checked, so that a command line can list its options at once.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Toy(Options):
        ...     items: int | None = option(None, "Maximum number of items.")
        ...     fast: bool = option(False, "Skip the slow part.")
        >>> Toy.read({"items": 5}, "toy")
        Toy(items=5, fast=False)
        >>> Toy.read({"itmes": 5}, "toy")
        Traceback (most recent call last):
        ...
        ValueError: Expected an option of toy, but got 'itmes'. Did you mean 'items'? Known: fast, items.
        >>> Toy(items=5, fast=True).flags()
        ['--items', '5', '--fast']
    """

    def __post_init__(self) -> None:
        from rightreasons.foundations.validation import check_count, check_one_of

        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            if isinstance(value, str) and not value and field.default != "":
                raise ValueError(f"Expected a value of `{field.name}`, but it is empty.")
            is_text = "choices" not in field.metadata and str(field.type) in ("str", "str | None")
            if is_text and not isinstance(value, (str, os.PathLike)):
                raise TypeError(f"Expected `{field.name}` to be a text, but got {one_line(value)}.")
            several = isinstance(value, tuple) and "tuple" in str(field.type)
            for each in value if several else (value,):
                if "choices" in field.metadata:
                    check_one_of(each, field.metadata["choices"], field.name)
                if "minimum" in field.metadata:
                    check_count(each, field.name, minimum=field.metadata["minimum"])
                if "maximum" in field.metadata and each > field.metadata["maximum"]:
                    raise ValueError(
                        f"Expected `{field.name}` to be at most {field.metadata['maximum']}, but got {each}."
                    )

    @classmethod
    def shown(cls) -> list[dataclasses.Field[Any]]:
        """Return the options in the order of help and commands: its own, then those of the classes it extends."""

        def level(field: dataclasses.Field[Any]) -> int:
            return next(n for n, part in enumerate(cls.__mro__) if field.name in inspect.get_annotations(part))

        return sorted(dataclasses.fields(cls), key=level)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the options."""
        return tuple(field.name for field in cls.shown())

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
        from rightreasons.foundations.validation import check_options

        if isinstance(given, cls):
            return given
        if not isinstance(given, (Mapping, type(None))):
            raise TypeError(f"Expected the options of {where} by name, but got {one_line(given)}.")
        values = dict(given or {})
        check_options(values, cls.names(), where)
        return cls(**{name: _plain(value) for name, value in values.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return every option as a plain value."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in self._items()}

    def changed(self) -> dict[str, Any]:
        """Return the options that are away from their defaults."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {name: value for name, value in self._items() if value != defaults[name]}

    def flags(self, prefix: str = "") -> list[str]:
        """Return the words of a command line that give these options.

        Args:
            prefix: Prefix of each name, such as "difficulty-".
        """
        words: list[str] = []
        for name, value in self.changed().items():
            flag = prefix + name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
                words += [f"--{flag}", text]
        return words

    def _items(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.names()]


def takes(options: type[Options], *, without: Sequence[str] = ()) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Let callers give the fields of an options class as keywords of a function that has a parameter `options`.

    The function receives an instance of the class; its signature lists the fields in place of `options`. An instance
    may be given instead of keywords, as `options=`. An unknown keyword is refused with the nearest known one.

    Args:
        options: The class.
        without: Fields that the function does not have; they keep their defaults.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class Toy(Options):
        ...     times: int = option(2, "How often.", minimum=1)
        >>> @takes(Toy)
        ... def repeat(text: str, *, options: Toy, end: str = ".") -> str:
        ...     return text * options.times + end
        >>> repeat("ab"), repeat("ab", times=3, end="!"), repeat("ab", options=Toy(times=1))
        ('abab.', 'ababab!', 'ab.')
        >>> inspect.signature(repeat)
        <Signature (text: 'str', *, times: 'int' = 2, end: 'str' = '.') -> 'str'>
        >>> repeat("ab", time=3)
        Traceback (most recent call last):
        ...
        TypeError: Expected an option of repeat, but got 'time'. Did you mean 'times'? Known: end, times.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        where = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        signature = inspect.signature(function)
        fields = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in dataclasses.fields(options)
            if field.name not in without
        ]
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            parameters += fields if parameter.name == "options" else [parameter]
        known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]

        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> T:
            unknown = {name: value for name, value in keywords.items() if name not in signature.parameters}
            if not unknown.keys() <= set(known):
                from rightreasons.foundations.validation import check_options

                try:
                    check_options(unknown, known, where)
                except ValueError as error:  # an unknown keyword, of the kind that Python raises
                    raise TypeError(str(error)) from None
            values = {field.name: keywords.pop(field.name) for field in fields if field.name in keywords}
            whole = keywords.pop("options", None)
            if whole is not None and values:
                raise TypeError(
                    f"Expected `options` or keywords of {where}, but got `options` and {', '.join(values)}."
                )
            return function(*arguments, options=options.read(values if whole is None else whole, where), **keywords)

        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate


def listed(names: str | None) -> list[str] | None:
    """Read comma-separated names; None stays None."""
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


def one_or_more(names: str | None) -> str | list[str] | None:
    """Read one name, or several comma-separated ones."""
    parts = listed(names)
    return parts[0] if parts is not None and len(parts) == 1 else parts


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value
