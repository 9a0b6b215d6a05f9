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

from rightreasons.core.errors import OptionError, format_error, is_user_error

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
    """Call a function in a worker process, with limits on its time and memory.

    The result is a generator for a handler of gradio, which is closed when the visitor leaves. Closing
    it ends the worker.

    Args:
        function: A function of a module that can be imported; arguments and results are pickled.
        *arguments: Positional arguments of the function.
        seconds: Maximum time, without the time of waiting for a free worker.
        gigabytes: Maximum memory, in 10^9 bytes.
        **keywords: Keyword arguments of the function.

    Yields:
        None, at least every half second while the function is running.

    Returns:
        The result of the function.

    Raises:
        TypeError: If the function raises one.
        ValueError: If the function raises one, takes too long or too much memory, or raises another
            error that its input may cause.
        RuntimeError: If the function has a bug; the message is its traceback.
    """
    worker = None
    while worker is None:
        with contextlib.suppress(queue.Empty):
            worker = _FREE.get(timeout=BEAT)
        # If all workers are busy, gradio checks whether the visitor has left.
        if worker is None:
            yield None
    is_done = False
    try:
        # The worker imports the function by its name. `_serve` unpacks these six values.
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
        while True:
            remaining_seconds = max(end - time.monotonic(), 0)
            if connection.poll(min(BEAT, remaining_seconds)):
                break
            if time.monotonic() >= end:
                raise ValueError(
                    f"Expected work of at most {seconds:g} seconds, but it takes longer: send fewer items."
                )
            yield None
        try:
            has_failed, value = connection.recv()
        except (EOFError, OSError):
            # The operating system has ended the worker, most likely because of its memory.
            raise _make_memory_error(gigabytes) from None
        is_done = True
        if not has_failed:
            return value
        try:
            raise value
        finally:
            # The traceback of the error refers to this frame. Without this variable, the two do not
            # refer to each other, and the memory of the uploads is released.
            del value
    finally:
        # A worker that is still busy is ended. Its process is started again with the next work.
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
        """Send a call to the worker process, and start the process if it is not running.

        Args:
            call: A tuple of import paths, module, name of the function, arguments, keywords, and memory
                limit, which `_serve` receives.

        Returns:
            The connection that receives the answer.
        """
        if self.connection is not None:
            # The process may have ended while it was idle.
            with contextlib.suppress(OSError):
                self.connection.send(call)
                return self.connection
            self.end()
        self.connection, worker_connection = Pipe()
        with worker_connection:
            # The worker imports the same modules as the page, and has the same temporary folder.
            variables = {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "TMPDIR": tempfile.gettempdir(),
            }
            descriptor = worker_connection.fileno()
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(descriptor)],
                pass_fds=[descriptor],
                env={**os.environ, **variables},
            )
        self.connection.send(call)
        return self.connection

    def end(self) -> None:
        """End the process, if it runs."""
        if self.process is not None and self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.wait()
        self.process = None
        self.connection = None


_FREE: queue.LifoQueue[_Worker] = queue.LifoQueue()
"""The workers that are free, the one that was used last in front."""

for _ in range(int(os.environ.get("RIGHTREASONS_WORKERS", "2"))):
    _FREE.put(_Worker())


def _make_memory_error(gigabytes: float) -> ValueError:
    """Return the error for work that takes too much memory."""
    return ValueError(
        f"Expected work that takes at most {gigabytes:g} GB of memory, but it takes more: send fewer items."
    )


# ---------------------------------------------------------------------------------------------------- in the worker


def _serve(connection: Connection) -> None:
    """Run functions for a page in this worker process, until the process of the page ends.

    A call consists of the import paths, the module and the qualified name of a function, its arguments
    and keywords, and the memory limit in 10^9 bytes. The answer is (False, result) or (True, error).

    Args:
        connection: Connection to the page, which sends calls and receives answers.
    """
    while True:
        try:
            sys.path[:], module, name, arguments, keywords, gigabytes = connection.recv()
        except (EOFError, OSError):
            # The page has ended.
            return
        try:
            _limit(gigabytes)
            function: Any = importlib.import_module(module)
            # The qualified name of a method begins with the name of its class.
            for attribute in name.split("."):
                function = getattr(function, attribute)
            answer = (False, function(*arguments, **keywords))
        except MemoryError:
            answer = (True, _make_memory_error(gigabytes))
        # Any other error is sent to the page, which decides whether a visitor reads it.
        except Exception as error:
            answer = (True, _make_picklable(error, gigabytes))
        connection.send(answer)


def _make_picklable(error: Exception, gigabytes: float) -> Exception:
    """Convert an error to one that can be pickled: a TypeError, a ValueError or a RuntimeError.

    Other classes of errors may need arguments that pickle does not store. Errors that a user can cause
    become ValueErrors, whose message is displayed; the option that an error names is kept. All others
    become RuntimeErrors with their traceback.

    Args:
        error: The error.
        gigabytes: The memory limit, for the message about too little memory.
    """
    if type(error) in (TypeError, ValueError):
        return type(error)(str(error))
    if isinstance(error, (TypeError, ValueError)):
        option = getattr(error, "option", ())
        return OptionError(str(error), option=option) if option else ValueError(str(error))
    if is_user_error(error):
        return ValueError(format_error(error))
    # torch raises a RuntimeError with this message if it cannot allocate memory.
    if "allocate memory" in str(error):
        return _make_memory_error(gigabytes)
    return RuntimeError("".join(traceback.format_exception(error)))


def _limit(gigabytes: float) -> None:
    """Limit the memory that this process can allocate, so that one visitor cannot use all of it.

    Larger allocations raise a MemoryError. On systems without such limits, nothing is changed.

    Args:
        gigabytes: The limit, in 10^9 bytes.
    """
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
        soft_limit = math.floor(gigabytes * 1e9)
        # A negative hard limit means that there is none.
        if hard_limit >= 0:
            soft_limit = min(soft_limit, hard_limit)
        resource.setrlimit(resource.RLIMIT_DATA, (soft_limit, hard_limit))


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
