"""Several requests in flight at the same time: `send_all`."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping

from rightreasons.core.signals import allow_immediate_interrupt
from rightreasons.models.protocol import Request
from rightreasons.models.servers.client import Client
from rightreasons.models.servers.completions import BadReplyError
from rightreasons.models.servers.refusals import RequestError

SWITCH_SECONDS = 0.0005
"""Seconds that a thread waits for another one while requests are in flight. A reply that has come is
then soon followed by the next request, also while other threads read theirs."""

MIN_FAILURES = 3
"""Failures in a row after which a server is gone, if fewer requests are in flight."""

Outcome = tuple[str, Exception | None, bool]
"""The key of a request, why it has no answer, and whether another request was answered meanwhile."""


def send_all(
    client: Client,
    requests: Mapping[str, Request],
    ask: Callable[[str, Request], object],
) -> Generator[tuple[str, RequestError | None]]:
    """Ask requests in `in_flight` threads, which take them in turn.

    Once the server is gone or refuses the key, or a bound is reached, the others are not sent;
    `client.ended` says why.

    Args:
        client: The server.
        requests: The requests by their keys.
        ask: Asks a request by its key and keeps the answer; called by several threads.

    Yields:
        The key of each request when it is finished, and why it has no answer (None if it has).

    Raises:
        Exception: An error of `ask` that is not about its request.
    """
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    stopped = threading.Event()
    # All threads take their next request from this iterator.
    remaining = iter(requests.items())

    def work() -> None:
        for key, request in remaining:
            if stopped.is_set():
                return
            n_answered = client.usage.requests
            failure = _try_to_ask(ask, key, request)
            is_answering = client.usage.requests > n_answered
            outcomes.put((key, failure, is_answering))

    # Python waits for the threads of a pool when it ends, also after Ctrl-C, but not for daemons.
    for _ in range(min(client.options.in_flight, len(requests))):
        threading.Thread(target=work, daemon=True).start()
    # Failures of the server in a row.
    n_failures = 0
    try:
        with _switch_threads_often():
            for _ in requests:
                with allow_immediate_interrupt():
                    key, failure, is_answering = outcomes.get()
                if failure is not None and not isinstance(failure, RequestError):
                    raise failure
                if failure is None or not failure.is_of_server or is_answering:
                    n_failures = 0
                else:
                    n_failures += 1
                # A server that only fails is gone, whatever its errors say.
                if n_failures >= max(client.options.in_flight, MIN_FAILURES):
                    client.end(str(failure))
                yield key, failure
    finally:
        stopped.set()


def _try_to_ask(
    ask: Callable[[str, Request], object], key: str, request: Request
) -> Exception | None:
    """Ask a request in a thread, and return why it has no answer; None if it has.

    An error of any type is returned, because it would be lost in the thread.
    """
    try:
        ask(key, request)
    except BadReplyError as error:
        return RequestError(f"the server sent {error}", status=200)
    except Exception as error:
        return error
    return None


@contextlib.contextmanager
def _switch_threads_often() -> Iterator[None]:
    """Let Python switch between threads every `SWITCH_SECONDS` in the block, not every 5 ms."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
