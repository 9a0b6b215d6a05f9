"""Several requests in flight at the same time: `send_all`."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping

from rightreasons.core.signals import allow_immediate_interrupt
from rightreasons.models.protocol import Request
from rightreasons.models.servers.client import Client
from rightreasons.models.servers.completions import BadReplyError
from rightreasons.models.servers.refusals import RequestError

SWITCH_SECONDS = 0.0005
"""Seconds that a thread waits for another one while requests are in flight. A reply that has come is
then soon followed by the next request, also while other threads read theirs."""

TICK_SECONDS = 1.0
"""Seconds between two calls of `wait` while no request is finished."""

MIN_FAILURES = 3
"""Failures in a row after which a server is gone, if fewer requests are in flight."""

Outcome = tuple[str, Exception | None, bool]
"""The key of a request, why it failed, and whether another request was answered meanwhile."""


def send_all(
    client: Client,
    requests: Mapping[str, Request],
    ask: Callable[[str, Request], object],
    wait: Callable[[float], object] = lambda seconds: None,
) -> Generator[tuple[str, RequestError | None]]:
    """Send requests by several threads, `in_flight` of them at the same time.

    If the server no longer responds or refuses the key, or a limit is reached, the remaining
    requests are not sent, and `client.ended` is the reason.

    Args:
        client: The server.
        requests: Key -> request.
        ask: Sends the request of a key, and stores its answer. It is called by several threads.
        wait: Called every second while no request is finished, with the seconds since the last one.

    Yields:
        The key of each finished request, and its error (None if it was answered).

    Raises:
        Exception: An error of `ask` that is not about its request, such as a full disk.
    """
    outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
    stopped = threading.Event()
    # All threads get their next request from this iterator.
    remaining = iter(requests.items())

    def work() -> None:
        for key, request in remaining:
            if stopped.is_set():
                return
            n_answered = client.usage.requests
            failure = _try_to_ask(ask, key, request)
            is_answering = client.usage.requests > n_answered
            outcomes.put((key, failure, is_answering))

    # Daemon threads, because Python would wait for other threads when it ends, even after Ctrl-C.
    for _ in range(min(client.options.in_flight, len(requests))):
        threading.Thread(target=work, daemon=True).start()
    # Number of consecutive failures of the server.
    n_failures = 0
    try:
        with _switch_threads_often():
            for _ in requests:
                with allow_immediate_interrupt():
                    key, failure, is_answering = _get_outcome(outcomes, wait)
                if failure is not None and not isinstance(failure, RequestError):
                    raise failure
                if failure is None or not failure.is_of_server or is_answering:
                    n_failures = 0
                else:
                    n_failures += 1
                # After enough failures without an answer, the server is given up.
                if n_failures >= max(client.options.in_flight, MIN_FAILURES):
                    client.end(str(failure))
                yield key, failure
    finally:
        stopped.set()


def _get_outcome(outcomes: queue.SimpleQueue[Outcome], wait: Callable[[float], object]) -> Outcome:
    """Wait for the next finished request, and call `wait` every second until there is one."""
    start = time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty):
            return outcomes.get(timeout=TICK_SECONDS)
        wait(time.monotonic() - start)


def _try_to_ask(
    ask: Callable[[str, Request], object], key: str, request: Request
) -> Exception | None:
    """Call `ask` in a thread, and return its error; None if there is none.

    An error of any type is returned, because an error that ends a thread is lost.

    Args:
        ask: Function that sends a request and stores its answer under a key.
        key: Key of the answer.
        request: The request to send.
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
    """Let Python switch between threads every `SWITCH_SECONDS` in the block, instead of 5 ms."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
