"""The world outside: signals that stop long work between two steps, who watches it, and whether the hub answers.

Who has no network is told at once, and uses what was downloaded before.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import queue
import signal
import socket
import sys
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from urllib.parse import urlsplit


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
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    proxies = {} if urllib.request.proxy_bypass(address.hostname or "") else urllib.request.getproxies()
    address = urlsplit(proxies.get(address.scheme) or proxies.get("all") or constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    answers: queue.Queue[str] = queue.Queue()

    def connect() -> None:
        try:
            with socket.create_connection((address.hostname or "", port), timeout=SECONDS):
                answers.put("")
        except OSError as error:
            answers.put(error.strerror or str(error))

    # Looking a name up has no time limit of its own.
    threading.Thread(target=connect, daemon=True).start()
    try:
        return answers.get(timeout=SECONDS)
    except queue.Empty:
        return f"no answer in {SECONDS:g} seconds"


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
        sentence = f"{constants.ENDPOINT} cannot be reached ({why}): what was downloaded before is used."
        warnings.warn(sentence, stacklevel=2)
