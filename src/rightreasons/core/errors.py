"""Error types of the package, which errors a user can cause, and how an error reads in one line.

Code raises `OptionError` (or one of its siblings) if the value of an option is to blame. The
command line then writes the option as a flag. `is_user_error` separates errors that users can cause
from mistakes of this package, and `is_fatal_disk_error` finds those that would also stop whatever
comes next. `format_error` returns the line that a person reads.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from rightreasons.core.sentences import (
    add_article,
    escape_name,
    format_value,
    suggest_similar_names,
)

USER_ERRORS = (ValueError, TypeError, OSError, ImportError)
"""Types of errors that users can cause and understand. Any other error is a mistake of ours."""

MAX_MESSAGE_CHARS = 1000
"""Maximum length of an error message. The middle of a longer message is cut out."""

_MAX_FIRST_LINE_CHARS = 300

_DISK_FULL_CODES = (errno.ENOSPC, errno.EDQUOT)
"""Codes of a full disk and of an exhausted quota."""

_DISK_FAILURE_CODES = (errno.EROFS, errno.EIO)
"""Codes of a read-only and of a broken disk."""

_DOUBLE_END = re.compile(r"([!?…]|\.\.\.|(?<!\.)\.)\.$")
"""End of a sentence with a period after it; three periods are an ellipsis."""

_NETWORK_PACKAGES = frozenset(("httpx", "httpcore", "httpx2", "requests", "urllib3", "aiohttp"))


class _OptionAwareError(Exception):
    def __init__(self, message: str = "", *, option: str | Sequence[str] = ()) -> None:
        super().__init__(message)
        # Always a tuple, so that a command line need not ask how many options are to blame.
        self.option = (option,) if isinstance(option, str) else tuple(option)


class OptionError(_OptionAwareError, ValueError):
    """A missing option, or an option with an invalid value.

    Args:
        message: What was expected and what came, with the option written as in Python: `name` or
            `name=value`.
        option: Name of the option, or several names. A command line writes them as flags.
    """


class SeveralSourcesError(OptionError):
    """A log with answers of several sources, such as providers, of which none is named.

    Args:
        message: What was expected and what came.
        kind: Kind of the sources.
        sources: Their names.
        option: Name of the option that names one.
    """

    def __init__(self, message: str, *, kind: str, sources: Sequence[str], option: str) -> None:
        super().__init__(message, option=option)
        self.kind = kind
        self.sources = tuple(sources)


class UnreadAnswersError(OptionError):
    """Generated answers of which most cannot be read. It ends a run before further requests."""


class ScoreKindError(OptionError):
    """Scores of another kind than stated, such as logits for probabilities. It ends a run at once."""


class OptionTypeError(_OptionAwareError, TypeError):
    """An option with a value of the wrong type. It takes the arguments of `OptionError`."""


class OptionFileError(_OptionAwareError, FileNotFoundError):
    """An option that names a missing file. It takes the arguments of `OptionError`."""


class OptionConnectionError(_OptionAwareError, ConnectionError):
    """A failed download that the option would have avoided. It takes the arguments of `OptionError`."""


class SetAsideWarning(UserWarning):
    """Stored results were damaged or outdated. They were moved aside and are computed again."""


def warn_stored_results(message: str) -> None:
    """Warn about stored results. The command line prints the message without further decoration."""
    # The caller of the function that found the results is to be named.
    warnings.warn(message, SetAsideWarning, stacklevel=3)


@contextlib.contextmanager
def attach_options(*options: str) -> Iterator[None]:
    """Add names of options to the TypeErrors and ValueErrors of a block, for the command line.

    It may also decorate a function. An error that already names its option is not changed.

    Args:
        *options: Names of the options that are to blame.

    Raises:
        OptionError: In place of a ValueError.
        OptionTypeError: In place of a TypeError.
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        if getattr(error, "option", ()):
            raise
        # The type is kept: a caller may catch TypeError.
        if isinstance(error, TypeError):
            raise OptionTypeError(str(error), option=options) from error
        raise OptionError(str(error), option=options) from error


def is_user_error(error: BaseException) -> bool:
    """Return whether a user, the network or a full disk can cause an error."""
    if isinstance(error, USER_ERRORS) or _is_network_error(error):
        return True
    return _find_full_disk_error(error) is not None


def is_fatal_disk_error(error: BaseException) -> bool:
    """Return whether an error comes from a full, read-only or broken disk.

    The next step would fail for the same reason, so it is no use to go on with other items.
    """
    fatal_codes = (*_DISK_FULL_CODES, *_DISK_FAILURE_CODES)
    if isinstance(error, OSError) and error.errno in fatal_codes:
        return True
    return _find_full_disk_error(error) is not None


def _find_full_disk_error(error: BaseException) -> BaseException | None:
    """Find the first error that reports a full disk, among an error and its chain of causes.

    Args:
        error: Any error.

    Returns:
        The error; None if neither the error nor a cause reports a full disk.
    """
    candidate: BaseException | None = error
    while candidate is not None:
        if isinstance(candidate, OSError) and candidate.errno in _DISK_FULL_CODES:
            return candidate
        # Libraries written in other languages raise errors of other types with the system's message.
        if "No space left on device" in str(candidate):
            return candidate
        candidate = candidate.__cause__ or candidate.__context__
    return None


def _is_network_error(error: BaseException) -> bool:
    """Return whether an error is of a type that a network client, such as requests, defines.

    Clients are recognized by the name of their package, since importing them is slow.
    """
    # The package of the error's type and of each of its base types.
    packages = {base.__module__.partition(".")[0] for base in type(error).__mro__}
    return not packages.isdisjoint(_NETWORK_PACKAGES)


def format_error(error: BaseException) -> str:
    r"""Return an error as one line of bounded length.

    Errors of the operating system name the file, and errors that only a bug of this package can
    cause begin with their type. Invisible characters in quoted names are escaped.

    Args:
        error: Any error.

    Example:
        >>> format_error(ValueError("Expected 2 rows,\n but got 3."))
        'Expected 2 rows, but got 3.'
        >>> format_error(RuntimeError("The device is lost."))
        'An error inside rightreasons: RuntimeError: The device is lost.'
        >>> format_error(PermissionError(13, "Permission denied", "report/index.html"))
        "Expected access to 'report/index.html', but got: permission denied."
        >>> format_error(OSError(28, "No space left on device", "report/index.html"))[:74]
        "Expected free space on the disk to write 'report/index.html', but the disk"
        >>> format_error(KeyError("text"))
        "An error inside rightreasons: KeyError: 'text'."
    """
    # A sentence that quotes another error at its end would have two periods.
    message = _DOUBLE_END.sub(r"\1", _describe_error(error))
    if len(message) > MAX_MESSAGE_CHARS:
        # The beginning of a message states what was expected, and its end how to fix it.
        half = MAX_MESSAGE_CHARS // 2
        beginning = message[: half - 2]
        end = message[1 - half :]
        message = f"{beginning} … {end}"
    return message or type(error).__name__


def _describe_error(error: BaseException) -> str:
    """Return the message of an error in one line, in terms that a user can understand.

    Messages of this package begin with "Expected" and are kept. New sentences describe errors of a
    full disk, of files, of the network, and errors that a user cannot cause.

    Args:
        error: Any error.
    """
    message = str(error)
    if message.startswith("Expected"):
        # Indented lines belong to a printed array, and are joined. Any other line break is part of
        # a name that the user chose, and is escaped.
        message = re.sub("\n +", " ", message)
        message = escape_name(message, max_chars=len(message))
    message = " ".join(message.split())

    full_disk_error = _find_full_disk_error(error)
    if full_disk_error is not None:
        return _describe_full_disk(full_disk_error)
    if isinstance(error, OSError) and error.strerror:
        target = "" if error.filename is None else f" to {error.filename!r}"
        return f"Expected access{target}, but got: {error.strerror.lower()}."

    type_and_message = type(error).__name__
    if message:
        type_and_message += f": {message}"
    if _is_network_error(error):
        return f"Expected an answer from the network, but got {type_and_message}."
    if not isinstance(error, USER_ERRORS):
        return f"An error inside rightreasons: {type_and_message}."
    return message


def _describe_full_disk(error: BaseException) -> str:
    """Return a sentence for the user about a full disk.

    Args:
        error: The error that reports the full disk. The sentence names its file if it has one.
    """
    file = getattr(error, "filename", None)
    target = ""
    # The file of an error may also be bytes or a number.
    if isinstance(file, (str, os.PathLike)):
        target = f" to write {os.fspath(file)!r}"
    return (
        f"Expected free space on the disk{target}, but the disk is full. Free some space and "
        "repeat the same command; stored results are not computed again."
    )


def get_first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    lines = str(error).strip().splitlines()
    if not lines:
        return type(error).__name__
    return lines[0][:_MAX_FIRST_LINE_CHARS]


def make_unknown_name_error(kind: str, name: object, known_names: Iterable[str]) -> ValueError:
    """Return the error for an unknown name, with the known names and the most similar ones.

    Args:
        kind: Noun for the object that the name should refer to, such as "module".
        name: The unknown name.
        known_names: The known names.

    Example:
        >>> str(make_unknown_name_error("module", "eec", ["ece", "lmi"]))
        "Expected the name of a module, but got 'eec'. Did you mean 'ece'? Known: ece, lmi."
    """
    names = sorted(known_names)
    expected = add_article(kind)
    suggestion = suggest_similar_names(name, names, n=2)
    listing = ", ".join(map(escape_name, names))
    return ValueError(
        f"Expected the name of {expected}, but got {format_value(name)}.{suggestion} "
        f"Known: {listing}."
    )
