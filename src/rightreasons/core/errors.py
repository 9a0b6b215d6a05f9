"""What stops work: errors as a person reads them, a missing package, a wrong name, a signal, a hub that is silent.

Imports are plain; the doors of the package say the sentence: a wing's `make_facade`, whose public names are those of its
stub, the command line, and `require_package` in a function that imports at its call. A signal is a flag that long work looks at
between two steps.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence

from rightreasons.core.sentences import (
    MAX_MESSAGE_CHARS,
    add_article,
    escape_name,
    format_value,
    suggest_similar_names,
)

USER_ERRORS = (ValueError, TypeError, OSError, ImportError)
"""What users can cause and understand; anything else is a mistake of ours."""


class _OptionAwareError(Exception):
    def __init__(self, sentence: str = "", *, option: str | Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.option = (option,) if isinstance(option, str) else tuple(option)


class OptionError(_OptionAwareError, ValueError):
    """A wrong value of an option, or a missing option.

    Args:
        sentence: What was expected and what came, with the option as `name` or `name=value`, as in Python.
        option: Its name, or several names, which a command line writes as flags.
    """


class OptionTypeError(_OptionAwareError, TypeError):
    """The same for a value of the wrong kind."""


class OptionFileError(_OptionAwareError, FileNotFoundError):
    """The same for a file that is not where the option says."""


class OptionConnectionError(_OptionAwareError, ConnectionError):
    """The same for what the option would have made needless to download."""


@contextlib.contextmanager
def attach_options(*options: str) -> Iterator[None]:
    """Let the errors of a block, or of a function that it decorates, carry the options that settle them."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if getattr(error, "option", ()):
            raise
        kind = OptionTypeError if isinstance(error, TypeError) else OptionError
        raise kind(str(error), option=options) from error


_FULL = (errno.ENOSPC, errno.EDQUOT)

_CLIENTS = frozenset(("httpx", "httpcore", "httpx2", "requests", "urllib3", "aiohttp"))


def is_user_error(error: BaseException) -> bool:
    """Tell whether users can cause and understand an error, or the network or a full disk did."""
    return (
        isinstance(error, USER_ERRORS)
        or _is_network_error(error)
        or _find_full_disk_error(error) is not None
    )


def is_fatal_disk_error(error: BaseException) -> bool:
    """Tell whether an error is one of the disk, which whatever comes next would meet as well."""
    return (isinstance(error, OSError) and error.errno in (*_FULL, errno.EROFS, errno.EIO)) or bool(
        _find_full_disk_error(error)
    )


def _find_full_disk_error(error: BaseException) -> BaseException | None:
    """Return the error that says that the disk is full, among an error and those that it followed from."""
    seen: BaseException | None = error
    while seen is not None:
        if (isinstance(seen, OSError) and seen.errno in _FULL) or "No space left on device" in str(
            seen
        ):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def _is_network_error(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _CLIENTS for kind in type(error).__mro__)


def format_error(error: BaseException) -> str:
    r"""Write an error in one line.

    Args:
        error: Any error.

    Returns:
        Its message, in one line and of bounded length, in which a name of somebody else has no marks that nobody sees.
        An error of the operating system names the file; an error that is a mistake of ours names its kind.

    Example:
        >>> format_error(ValueError("Expected 2 rows,\n but got 3."))
        'Expected 2 rows, but got 3.'
        >>> format_error(PermissionError(13, "Permission denied", "report/index.html"))
        "Expected access to 'report/index.html', but got: permission denied."
        >>> format_error(OSError(28, "No space left on device", "report/index.html"))[:74]
        "Expected room on the disk to write 'report/index.html', but it is full: fr"
        >>> format_error(KeyError("text"))
        "An error inside rightreasons: KeyError: 'text'."
    """
    text = str(error)
    if text.startswith("Expected"):
        # The lines of an array are one; what else has several lines is somebody's name.
        text = escape_name(re.sub("\n +", " ", text), longest=len(text))
    text = " ".join(text.split())
    if (full := _find_full_disk_error(error)) is not None:
        file = getattr(full, "filename", None)
        where = f" to write {os.fspath(file)!r}" if isinstance(file, (str, os.PathLike)) else ""
        text = (
            f"Expected room on the disk{where}, but it is full: free some, and repeat the same command; what "
            "was kept is not computed again."
        )
    elif isinstance(error, OSError) and error.strerror:
        where = f" to {error.filename!r}" if error.filename is not None else ""
        text = f"Expected access{where}, but got: {error.strerror.lower()}."
    elif _is_network_error(error):
        text = f"Expected an answer from the network, but got {type(error).__name__}{f': {text}' if text else ''}."
    elif not isinstance(error, USER_ERRORS):
        text = f"An error inside rightreasons: {type(error).__name__}{f': {text}' if text else ''}."
    if len(text) > MAX_MESSAGE_CHARS:
        text = f"{text[: MAX_MESSAGE_CHARS // 2 - 2]} … {text[1 - MAX_MESSAGE_CHARS // 2 :]}"
    return text or type(error).__name__


def get_first_line(error: Exception) -> str:
    """Return the first line of an error's text, or the error's type where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def make_unknown_name_error(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """Build the error for a name that is not known, with the nearest known names.

    Example:
        >>> str(make_unknown_name_error("module", "eec", ["ece", "lmi"]))
        "Expected the name of a module, but got 'eec'. Did you mean 'ece'? Known: ece, lmi."
    """
    names = sorted(known)
    hint = suggest_similar_names(name, names, n=2)
    listed = ", ".join(map(escape_name, names))
    return ValueError(
        f"Expected the name of {add_article(kind)}, but got {format_value(name)}.{hint} Known: {listed}."
    )


class SetAsideWarning(UserWarning):
    """Stored results were damaged or stale; they are set aside and computed again."""


def warn_stored_results(sentence: str) -> None:
    """Say one line about stored results: a warning, which the command line prints as it is."""
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)
