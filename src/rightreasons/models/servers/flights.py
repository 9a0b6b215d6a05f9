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
        The key of each request, and why it has no answer.
    """
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    stopped = threading.Event()
    remaining = iter(requests.items())

    def work() -> None:
        for key, request in remaining:
            if stopped.is_set():
                return
            n_answered = client.usage.requests
            failure = _try_to_ask(ask, key, request)
            outcomes.put((key, failure, client.usage.requests > n_answered))

    # Threads of their own: those of a pool are waited for when Python ends, also after Ctrl-C.
    for _ in range(min(client.options.in_flight, len(requests))):
        threading.Thread(target=work, daemon=True).start()
    n_failures = 0
    try:
        with _switch_threads_often():
            for _ in requests:
                with allow_immediate_interrupt():
                    key, failure, is_answering = outcomes.get()
                if failure is not None and not isinstance(failure, RequestError):
                    raise failure
                # A server that fails again and again is gone, whatever it answers, unless it
                # answers other requests meanwhile.
                n_failures += 1
                if failure is None or not failure.is_of_server or is_answering:
                    n_failures = 0
                if n_failures >= max(client.options.in_flight, MIN_FAILURES):
                    client.end(str(failure))
                yield key, failure
    finally:
        stopped.set()


def _try_to_ask(
    ask: Callable[[str, Request], object], key: str, request: Request
) -> Exception | None:
    """Ask a request, and return why it has no answer."""
    try:
        ask(key, request)
    except BadReplyError as error:
        return RequestError(f"the server sent {error}", status=200)
    # The thread that waits for all of them raises it.
    except Exception as error:
        return error
    return None


@contextlib.contextmanager
def _switch_threads_often() -> Iterator[None]:
    """Let threads wait less for each other."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
