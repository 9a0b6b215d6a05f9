"""Run the work of a page in separate processes.

A process ends when its work takes too long or too much memory, or when nobody waits for it.

A page calls `work` in a handler that is a generator; gradio closes it when the visitor leaves, and with it the process:

    def handler(path):
        found = yield from waiting(work(analyze, path), 1)
        yield page(found)

A worker is `python -m rightreasons.widget.working`. It keeps what it has imported and loaded for its next call, and
ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import queue
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from rightreasons.core.errors import format_error, is_user_error

SECONDS = 120.0
"""Seconds that one piece of work may take."""

GIGABYTES = 6.0
"""Memory that a worker may take, in 10^9 bytes."""

BEAT = 0.5
"""Seconds between two signs of life of work that goes on."""


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
    worker = None
    while worker is None:
        with contextlib.suppress(queue.Empty):
            worker = _FREE.get(timeout=BEAT)
        if worker is None:
            yield None
    is_done = False
    try:
        call = (
            list(sys.path),
            function.__module__,
            function.__qualname__,
            arguments,
            keywords,
            gigabytes,
        )
        connection = worker.send(call)
        end = time.monotonic() + seconds
        while not connection.poll(min(BEAT, max(end - time.monotonic(), 0))):
            if time.monotonic() >= end:
                raise ValueError(
                    f"Expected work of at most {seconds:g} seconds, but it takes longer: send fewer items."
                )
            yield None
        try:
            has_failed, value = connection.recv()
        except (EOFError, OSError):
            raise _too_much(gigabytes) from None
        is_done = True
        if not has_failed:
            return value
        try:
            raise value
        finally:
            del value  # whose traceback would keep the uploads of its frames
    finally:
        if not is_done:
            worker.end()
        _FREE.put(worker)


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
    idle = []
    with contextlib.suppress(queue.Empty):
        while True:
            idle.append(_FREE.get_nowait())
    for worker in idle:
        worker.end()
        _FREE.put(worker)


# ----------------------------------------------------------------------------------------------------- in the page


class _Worker:
    """A process that is started with its first work."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: Connection | None = None

    def send(self, call: Any) -> Connection:
        if self.connection is not None:
            with contextlib.suppress(OSError):  # it has ended while it was idle
                self.connection.send(call)
                return self.connection
            self.end()
        self.connection, theirs = Pipe()
        with theirs:
            # It writes where the page does.
            paths = {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "TMPDIR": tempfile.gettempdir(),
            }
            command = [sys.executable, "-m", __name__, str(theirs.fileno())]
            self.process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env={**os.environ, **paths}
            )
        self.connection.send(call)
        return self.connection

    def end(self) -> None:
        if self.process is not None and self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.wait()
        self.process = self.connection = None


_FREE: queue.LifoQueue[_Worker] = queue.LifoQueue()
"""The workers that are free, the one that was used last in front."""

for _ in range(int(os.environ.get("RIGHTREASONS_WORKERS", "2"))):
    _FREE.put(_Worker())


def _too_much(gigabytes: float) -> ValueError:
    return ValueError(
        f"Expected work that takes at most {gigabytes:g} GB of memory, but it takes more: send fewer items."
    )


# ---------------------------------------------------------------------------------------------------- in the worker


def _serve(connection: Connection) -> None:
    while True:
        try:
            sys.path[:], module, name, arguments, keywords, gigabytes = connection.recv()
        except (EOFError, OSError):  # the page has ended
            return
        try:
            _limit(gigabytes)
            function: Any = importlib.import_module(module)
            # A method is named by its class, too.
            for attribute in name.split("."):
                function = getattr(function, attribute)
            answer = (False, function(*arguments, **keywords))
        except MemoryError:
            answer = (True, _too_much(gigabytes))
        # Any error is passed on: the page knows which of them a visitor reads.
        except Exception as error:
            answer = (True, _readable(error, gigabytes))
        connection.send(answer)


def _readable(error: Exception, gigabytes: float) -> Exception:
    # Errors of other classes may need arguments that pickle does not keep.
    if type(error) in (TypeError, ValueError):
        return type(error)(str(error))
    if isinstance(error, (TypeError, ValueError)):
        return ValueError(str(error))
    if is_user_error(error):
        return ValueError(format_error(error))
    if "allocate memory" in str(error):  # as torch says it
        return _too_much(gigabytes)
    return RuntimeError("".join(traceback.format_exception(error)))


def _limit(gigabytes: float) -> None:
    """Limit the memory of this process: what it may still allocate fails, and the machine goes on."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on this system
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = math.floor(gigabytes * 1e9)
        # A negative hard limit means that there is none.
        if hard >= 0:
            soft = min(soft, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
