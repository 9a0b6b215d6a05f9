"""Runs the work of a page in processes of its own, which end when it takes too long, too much, or nobody waits for it.

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
import io
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from rightreasons.core.errors import in_one_sentence, is_expected

SECONDS = 120.0
"""Seconds that one piece of work may take."""

GIGABYTES = 6.0
"""Memory that a worker may take, in 10^9 bytes."""

BEAT = 0.5
"""Seconds between two signs of life of work that goes on."""

_WORKERS = int(os.environ.get("RIGHTREASONS_WORKERS", "2"))

Step = str | None
"""What work says of itself while it goes on: its last line, or None for nothing new."""


def work(
    function: Callable[..., Any],
    *arguments: Any,
    seconds: float = SECONDS,
    gigabytes: float = GIGABYTES,
    **keywords: Any,
) -> Generator[Step, None, Any]:
    """Call a function in a worker; the generator yields while it goes on and returns what the function returns.

    Closing the generator ends the worker.

    Args:
        function: A function of a module that can be imported; arguments and results are pickled.
        *arguments: Its arguments.
        seconds: The longest time, which does not count the wait for a free worker.
        gigabytes: The most memory, in 10^9 bytes.
        **keywords: Its further arguments.

    Yields:
        The last line that the function has written to standard error, such as a progress bar, or None; every half
        second at least.

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
        worker = _POOL.take(BEAT)
        if worker is None:
            yield None
    whole = False
    try:
        worker.send(function, arguments, keywords, gigabytes)
        end = time.monotonic() + seconds
        while True:
            kind, value = worker.receive(min(BEAT, max(end - time.monotonic(), 0)), gigabytes)
            if kind == "step":
                yield value
            elif kind == "done":
                whole = True
                return value
            elif kind == "error":
                whole = True
                try:
                    raise value
                finally:
                    del value  # whose traceback would keep the uploads of its frames
            if time.monotonic() >= end:
                raise ValueError(f"Expected work of at most {seconds:g} seconds, but it takes longer: send less.")
    finally:
        if not whole:
            worker.end()
        _POOL.give(worker)


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
    _POOL.end()


# ----------------------------------------------------------------------------------------------------- in the page


class _Worker:
    """A process that is started with its first work."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.connection: Connection | None = None

    def send(self, function: Callable[..., Any], arguments: Any, keywords: Any, gigabytes: float) -> None:
        call = (list(sys.path), function.__module__, function.__qualname__, arguments, keywords, gigabytes)
        if self.connection is not None:
            with contextlib.suppress(OSError):  # it has ended while it was idle
                self.connection.send(call)
                return
            self.end()
        self._start().send(call)

    def receive(self, seconds: float, gigabytes: float) -> tuple[str, Any]:
        connection = self.connection
        if connection is None or not connection.poll(seconds):
            return "step", None
        try:
            kind, value = connection.recv()
        except (EOFError, OSError):
            self.end()
            return "error", _too_much(gigabytes)
        return kind, value

    def end(self) -> None:
        if self.process is not None and self.connection is not None:
            self.connection.close()
            self.process.kill()
            self.process.wait()
            if self.process.stdin is not None:
                self.process.stdin.close()
        self.process = self.connection = None

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                # It writes where the page does.
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "TMPDIR": tempfile.gettempdir(),
                },
            )
        self.connection = ours
        return ours


class _Pool:
    """The workers of this process; those that are free wait in a queue, the one that was used last in front."""

    def __init__(self, size: int) -> None:
        self.free: queue.LifoQueue[_Worker] = queue.LifoQueue()
        for _ in range(size):
            self.free.put(_Worker())

    def take(self, seconds: float) -> _Worker | None:
        try:
            return self.free.get(timeout=seconds)
        except queue.Empty:
            return None

    def give(self, worker: _Worker) -> None:
        self.free.put(worker)

    def end(self) -> None:
        idle = []
        while (worker := self.take(0.001)) is not None:
            worker.end()
            idle.append(worker)
        for worker in idle:
            self.give(worker)


_POOL = _Pool(_WORKERS)


def _too_much(gigabytes: float) -> ValueError:
    return ValueError(f"Expected work that takes at most {gigabytes:g} GB of memory, but it takes more: send less.")


# ---------------------------------------------------------------------------------------------------- in the worker


class _Told(io.TextIOBase):
    """Standard error, whose last line goes to the page, twice a second at most."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.next = 0.0

    def write(self, text: str) -> int:
        lines = [line.strip() for line in text.replace("\r", "\n").split("\n")]
        last = next((line for line in reversed(lines) if line), None)
        if last is not None and time.monotonic() >= self.next:
            self.next = time.monotonic() + BEAT
            self.connection.send(("step", last[:300]))
        return len(text)


def _serve(connection: Connection) -> None:
    errors = sys.stderr
    while True:
        try:
            path, module, name, arguments, keywords, gigabytes = connection.recv()
        except EOFError:
            return
        sys.path[:] = path
        sys.stderr = _Told(connection)
        try:
            _limit(gigabytes)
            function: Any = importlib.import_module(module)
            for part in name.split("."):
                function = getattr(function, part)
            answer = ("done", function(*arguments, **keywords))
        except MemoryError:
            answer = ("error", _too_much(gigabytes))
        except Exception as error:  # any error is passed on: the page knows which of them a visitor reads
            answer = ("error", _readable(error, gigabytes))
        finally:
            sys.stderr = errors
        connection.send(answer)


def _readable(error: Exception, gigabytes: float) -> Exception:
    if isinstance(error, (TypeError, ValueError)):
        return type(error)(str(error)) if type(error) in (TypeError, ValueError) else ValueError(str(error))
    if is_expected(error):
        return ValueError(in_one_sentence(error))
    if "allocate memory" in str(error):  # as torch says it
        return _too_much(gigabytes)
    return RuntimeError("".join(traceback.format_exception(error)))


def _limit(gigabytes: float) -> None:
    """Limit the memory of this process: what it may still allocate fails, and the machine goes on."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on this system
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = math.floor(gigabytes * 1e9)
        resource.setrlimit(resource.RLIMIT_DATA, (soft if hard < 0 else min(soft, hard), hard))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _serve(Connection(int(sys.argv[1])))
    os._exit(0)  # the thread still reads
