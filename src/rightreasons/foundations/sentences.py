"""Errors as a person reads them: one sentence, whoever raised them, also on arguments of the wrong kind."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import errno
import functools
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

LONGEST = 1000
"""Characters of an error; of a longer one, the middle is left out."""

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What users can cause and understand; anything else is a mistake of ours."""


_FULL = (errno.ENOSPC, errno.EDQUOT)

_CLIENTS = frozenset(("httpx", "httpcore", "httpx2", "requests", "urllib3", "aiohttp"))


def is_expected(error: BaseException) -> bool:
    """Tell whether users can cause and understand an error, or the network or a full disk did."""
    return isinstance(error, EXPECTED) or _is_of_network(error) or _full_disk(error) is not None


def ends_all(error: BaseException) -> bool:
    """Tell whether an error is one of the disk, which whatever comes next would meet as well."""
    return (isinstance(error, OSError) and error.errno in (*_FULL, errno.EROFS, errno.EIO)) or bool(_full_disk(error))


def _full_disk(error: BaseException) -> BaseException | None:
    """Return the error that says that the disk is full, among an error and those that it followed from."""
    seen: BaseException | None = error
    while seen is not None:
        if (isinstance(seen, OSError) and seen.errno in _FULL) or "No space left on device" in str(seen):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _is_of_network(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _CLIENTS for kind in type(error).__mro__)


def counted(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun.

    Args:
        number: The number.
        one: The noun, perhaps with its verb, behind 1.
        many: The same behind other numbers; by default `one` with an s.

    Example:
        >>> counted(1, "item"), counted(2_000, "item"), counted(0, "text was", "texts were")
        ('1 item', '2,000 items', '0 texts were')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def in_one_sentence(error: BaseException) -> str:
    r"""Write an error in one line.

    Args:
        error: Any error.

    Returns:
        Its message, in one line and of bounded length. An error of the operating system names the file; an error that
        is a mistake of ours names its kind.

    Example:
        >>> in_one_sentence(ValueError("Expected 2 rows,\n but got 3."))
        'Expected 2 rows, but got 3.'
        >>> in_one_sentence(PermissionError(13, "Permission denied", "report/index.html"))
        "Expected access to 'report/index.html', but got: permission denied."
        >>> in_one_sentence(OSError(28, "No space left on device", "report/index.html"))[:74]
        "Expected room on the disk to write 'report/index.html', but it is full: fr"
        >>> in_one_sentence(KeyError("text"))
        "An error inside rightreasons: KeyError: 'text'."
    """
    text = " ".join(str(error).split())
    if (full := _full_disk(error)) is not None:
        file = getattr(full, "filename", None)
        where = f" to write {os.fspath(file)!r}" if isinstance(file, (str, os.PathLike)) else ""
        text = (
            f"Expected room on the disk{where}, but it is full: free some, and repeat the same command, which goes on "
            "from what it kept."
        )
    elif isinstance(error, OSError) and error.strerror:
        where = f" to {error.filename!r}" if error.filename is not None else ""
        text = f"Expected access{where}, but got: {error.strerror.lower()}."
    elif _is_of_network(error):
        text = f"Expected an answer from the network, but got {type(error).__name__}{f': {text}' if text else ''}."
    elif not isinstance(error, EXPECTED):
        text = f"An error inside rightreasons: {type(error).__name__}{f': {text}' if text else ''}."
    return _shortened(text) or type(error).__name__


def did_you_mean(name: object, known: Iterable[str], n: int = 1) -> str:
    """Name the nearest of the known names, at the end of a sentence; "" where none is near.

    Example:
        >>> did_you_mean("eec", ["ece", "lmi"])
        " Did you mean 'ece'?"
    """
    near = difflib.get_close_matches(str(name), list(known), n=n, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def escaped(text: object, longest: int = 80) -> str:
    r"""Write a name of somebody else for a sentence: in one line, without marks that nobody sees, and not endless.

    Example:
        >>> escaped("a\nb"), escaped("x" * 99, longest=4)
        ('a\\nb', 'xxx…')
    """
    name = str(text)
    if len(name) > longest:
        name = f"{name[: longest - 1]}…"
    return name if name.isprintable() else "".join(one if one.isprintable() else repr(one)[1:-1] for one in name)


def checks_kinds(function: F) -> F:
    r"""Let a public function refuse an argument of the wrong kind in one sentence, as its annotations say.

    Texts, paths, mappings, lists, functions and instances of classes are checked. Numbers and arrays are not: whoever
    reads them knows their range and says it. A name that is imported for type checking alone says nothing,
    unless it is that of a class of ours, or of a module, that is loaded.

    An error of ours that quotes what the caller handed in is made one sentence of at most `LONGEST` characters: a line
    break in a column's name is written as `\n`. One of the operating system becomes a sentence that names the file.

    Args:
        function: A function whose annotations are texts (`from __future__ import annotations`).

    Returns:
        The function with the same signature.

    Example:
        >>> @checks_kinds
        ... def repeat(text: str, times: int = 2, *, between: list[str] | None = None) -> str:
        ...     return (between or [""])[0].join([text] * times)
        >>> repeat("ab"), repeat("ab", between=["-"])
        ('abab', 'ab-ab')
        >>> repeat(7)
        Traceback (most recent call last):
        ...
        TypeError: Expected `text` to be a text, but got 7 (int).
    """
    signature = inspect.signature(function)

    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    unresolved = {name: each.annotation for name, each in signature.parameters.items() if each.kind not in kinds}
    resolved: dict[str, Any] = {}
    n_loaded = 0

    def hints() -> dict[str, Any]:
        nonlocal n_loaded
        # What could not be resolved is looked up again only when further modules are loaded.
        if not unresolved or n_loaded == len(sys.modules):
            return resolved
        n_loaded = len(sys.modules)
        # datasets exchanges the Path of the modules in which builders are.
        names = {**sys.modules, **function.__globals__, "Path": Path}
        for name, annotation in list(unresolved.items()):
            with contextlib.suppress(NameError):
                resolved[name] = eval(annotation, names, _OurClasses(names))  # noqa: S307 - our own source
                del unresolved[name]
        return resolved

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            bound = signature.bind(*arguments, **keywords).arguments
        except TypeError:  # Python says it when the function is called
            bound = {}
        for name, hint in hints().items():
            if name in bound:
                check_kind(bound[name], name, hint)
        try:
            return function(*arguments, **keywords)
        except EXPECTED as error:
            if len(error.args) == 1 and str(error).startswith("Expected"):
                # The lines of an array are one; what else has several lines is somebody's name.
                error.args = (_shortened(escaped(re.sub("\n +", " ", str(error)), longest=sys.maxsize)),)
            elif isinstance(error, OSError) and error.strerror and type(error).__module__ == "builtins":
                raise type(error)(in_one_sentence(error)) from error
            raise

    return cast(F, call)


def check_kind(value: object, name: str, hint: Any) -> None:
    """Refuse a value whose kind is not that of an annotation, as `checks_kinds` does.

    Example:
        >>> check_kind(None, "split", str)
        Traceback (most recent call last):
        ...
        TypeError: Expected `split` to be a text, but got None (NoneType).
    """
    if not _is_kind(value, hint):
        raise TypeError(f"Expected `{name}` to be {_kind(hint)}, but got {one_line(value)} ({type(value).__name__}).")


def one_line(value: object, longest: int = 80) -> str:
    r"""Write a value for an error: in one line, and not endless.

    Example:
        >>> one_line("a\nb"), one_line([1] * 99, longest=20)
        ("'a\\nb'", '[1, 1, 1, 1, 1, 1, …')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2 - 2]} … {text[1 - LONGEST // 2 :]}"


def _is_kind(value: object, hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, types.UnionType):
        return any(_is_kind(value, part) for part in typing.get_args(hint))
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin is Callable:
        return callable(value)
    if not isinstance(origin, type) or origin in (int, float, bool, object) or origin.__module__.startswith("numpy"):
        return True
    if _is_ours(origin) and getattr(origin, "_is_protocol", False):
        return not getattr(origin, "_is_runtime_protocol", False) or isinstance(value, origin)
    if origin in (str, os.PathLike) or not issubclass(origin, Iterable):
        return isinstance(value, origin)
    if issubclass(origin, Mapping):
        return isinstance(value, origin) and _are_ours(value.values(), typing.get_args(hint)[1:])
    if origin.__module__ in ("builtins", "collections.abc"):  # a list in any form: an array, a column, a series
        listed = hasattr(value, "__iter__") or hasattr(value, "__getitem__")
        return not isinstance(value, (bytes, type)) and listed and _are_ours(value, typing.get_args(hint)[:1])
    return isinstance(value, origin)


_OURS = re.compile(r"rightreasons\.")


class _OurClasses(dict[str, Any]):
    """The classes of ours that are loaded, by name, for what `names` lacks; protocols, which say less, are not."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        super().__init__()
        self.names = names

    def __missing__(self, name: str) -> Any:
        if name not in self.names and not hasattr(builtins, name):
            loaded = [vars(module).get(name) for place, module in list(sys.modules.items()) if _OURS.match(place)]
            kinds = {kind for kind in loaded if _is_ours(kind) and not getattr(kind, "_is_protocol", False)}
            if len(kinds) == 1:
                return kinds.pop()
        raise KeyError(name)


def _is_ours(kind: Any) -> bool:
    return isinstance(kind, type) and kind.__module__.startswith("rightreasons")


def _are_ours(items: Any, kinds: tuple[Any, ...]) -> bool:
    """Tell whether items are of a class of ours, where a hint names one; what can be read once is not looked at."""
    if not kinds or not _is_ours(kinds[0]) or getattr(kinds[0], "_is_protocol", False) or hasattr(items, "__next__"):
        return True
    return all(isinstance(item, kinds[0]) for item in items)


def _kind(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        parts = dict.fromkeys(_kind(part) for part in typing.get_args(hint) if part is not type(None))
        *others, last = parts
        return f"{', '.join(others)} or {last}" if others else last
    origin = typing.get_origin(hint) or hint
    if origin is str:
        return "a text"
    if origin is os.PathLike:
        return "a path"
    if origin is Callable:
        return "a function"
    items = [part.__name__ for part in typing.get_args(hint) if _is_ours(part)][:1]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return " of ".join(["a mapping", *items])
    if isinstance(origin, type) and origin.__module__ in ("builtins", "collections.abc"):
        numbers = {"int": "a whole number", "float": "a number", "bool": "True or False"}
        return numbers.get(origin.__name__, " of ".join(["a list", *items]))
    name = getattr(origin, "__name__", str(origin))
    return f"a{'n' if name[:1] in 'AEIO' else ''} {name}"
