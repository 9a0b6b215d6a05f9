"""Runs the work of a page in processes of its own, which end when it takes too long, too much, or nobody waits for it.

A page calls `work` in a handler that is a generator; gradio closes it when the visitor leaves, and with it the process:

    def handler(path):
        found = yield from waiting(work(analyze, path), 1)
        yield page(found)

A worker keeps what it has imported and loaded for its next call, and ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import queue
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, wait
from typing import Any

from rightreasons.core.errors import in_one_sentence, is_expected

SECONDS = 120.0
"""Seconds that one piece of work may take."""

GIGABYTES = 6.0
"""Memory that a worker may take, in 10^9 bytes."""

BEAT = 0.5
"""Seconds between two signs of life of work that goes on."""

_FREE: queue.LifoQueue[Any] = queue.LifoQueue()
"""An executor with one worker for each that is free, the one that was used last in front; None before its first use."""

for _ in range(int(os.environ.get("RIGHTREASONS_WORKERS", "2"))):
    _FREE.put(None)


def work(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float = SECONDS,
    gigabytes: float = GIGABYTES,
    **keywords: Any,
) -> Generator[None, None, Any]:
    """Call a function in a worker; the generator yields while it goes on and returns what the function returns.

    Closing the generator ends the worker.

    Args:
        function: A function of a module that can be imported; arguments and results are pickled.
        *arguments: Its arguments.
        seconds: The longest time, which does not count the wait for a free worker.
        gigabytes: The most memory, in 10^9 bytes.
        **keywords: Its further arguments.

    Yields:
        None, every half second at least.

    Returns:
        The result.

    Raises:
        TypeError: As the function raises it.
        ValueError: As the function raises it; also where it takes too long or too much memory, or raises an error that
            its input explains.
        RuntimeError: If the function has a bug, with its traceback.
    """
    from joblib.externals.loky import ProcessPoolExecutor

    while True:
        with contextlib.suppress(queue.Empty):
            # It writes where the page does.
            worker = _FREE.get(timeout=BEAT) or ProcessPoolExecutor(1, env={"TMPDIR": tempfile.gettempdir()})
            break
        yield None
    is_done = False
    try:
        # By its name, which the worker imports with the paths of now.
        named = list(sys.path), function.__module__, function.__qualname__
        call = worker.submit(_called, named, arguments, keywords, gigabytes)
        end = time.monotonic() + seconds
        while not wait([call], min(BEAT, max(end - time.monotonic(), 0))).done:
            if time.monotonic() >= end:
                raise ValueError(f"Expected work of at most {seconds:g} seconds, but it takes longer: send less.")
            yield None
        has_failed, value = call.result()
        is_done = True
        if not has_failed:
            return value
        try:
            raise value
        finally:
            del value, call  # whose traceback would keep the uploads of its frames
    except BrokenExecutor:
        raise _too_much(gigabytes) from None
    finally:
        if not is_done:
            worker.shutdown(kill_workers=True)
        _FREE.put(worker if is_done else None)


def result_of(steps: Generator[Any, None, Any]) -> Any:
    """Run a generator to its end, and return what it returns.

    Example:
        >>> def three():
        ...     yield "so far"
        ...     return 3
        >>> result_of(three())
        3
    """
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def end_workers() -> None:
    """End all idle workers; the next work starts new ones."""
    idle = [_FREE.get() for _ in range(_FREE.qsize())]
    for worker in idle:
        if worker is not None:
            worker.shutdown(kill_workers=True)
        _FREE.put(None)


def _too_much(gigabytes: float) -> ValueError:
    return ValueError(f"Expected work that takes at most {gigabytes:g} GB of memory, but it takes more: send less.")


def _called(named: tuple[list[str], str, str], arguments: Any, keywords: Any, gigabytes: float) -> tuple[bool, Any]:
    """Call a function in the worker; returns whether it has failed, and its result or its error."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on this system
        import resource

        # What it may still allocate fails, and the machine goes on.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = math.floor(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_DATA, (soft if hard < 0 else min(soft, hard), hard))
    try:
        sys.path[:], module, name = named
        function: Any = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        return False, function(*arguments, **keywords)
    except Exception as error:  # any error is passed on: the page knows which of them a visitor reads
        if isinstance(error, MemoryError) or "allocate memory" in str(error):  # as torch says it
            return True, _too_much(gigabytes)
        if isinstance(error, (TypeError, ValueError)):
            return True, type(error)(str(error)) if type(error) in (TypeError, ValueError) else ValueError(str(error))
        if is_expected(error):
            return True, ValueError(in_one_sentence(error))
        return True, RuntimeError("".join(traceback.format_exception(error)))
