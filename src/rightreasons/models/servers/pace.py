"""How fast a server answers, and how long further requests take: `Pace` and `WaitNotice`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable

from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.models.servers.usage import Usage

FIRST_NOTICE_SECONDS = 5.0
"""Seconds without an answer after which a person is told; each further notice takes twice as long."""


class Pace:
    """Seconds that a server took for its replies, measured by several threads."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._n_replies = 0
        self._n_tokens = 0
        self._lock = threading.Lock()

    def add(self, seconds: float, n_tokens: int) -> None:
        """Add the time of a reply; several threads may call this at the same time.

        Args:
            seconds: Time from the request to its reply.
            n_tokens: Number of generated tokens.
        """
        # Without the lock, additions of other threads could be lost.
        with self._lock:
            self._seconds += seconds
            self._n_replies += 1
            self._n_tokens += n_tokens

    def estimate_seconds(self, cost: Usage, in_flight: int) -> float | None:
        r"""Estimate how long requests will take; None before the first reply.

        With t seconds per reply and u seconds per generated token so far, n requests with g
        generated tokens in all take \(\max(n t, g u) / k\) seconds, if k of them are sent at the
        same time. The actual time is shorter if answers end early, or the server computes several
        answers together.

        Args:
            cost: Number of requests, and of generated tokens.
            in_flight: Maximum number of requests that are sent at the same time.

        Example:
            >>> pace = Pace()
            >>> pace.add(2.0, 10)
            >>> pace.estimate_seconds(Usage(requests=8, answer_tokens=800), in_flight=4)
            40.0
        """
        if not self._n_replies:
            return None
        seconds_per_reply = self._seconds / self._n_replies
        by_replies = cost.requests * seconds_per_reply
        # Replies so far may be the short ones of a trial, so that tokens are counted, too.
        seconds_per_token = self._seconds / max(self._n_tokens, 1)
        by_tokens = cost.answer_tokens * seconds_per_token
        n_parallel = min(in_flight, max(cost.requests, 1))
        return max(by_replies, by_tokens) / n_parallel


class WaitNotice:
    """Lines on stderr that tell a person that, and why, a server has not answered for a while.

    A failed request is repeated in silence, so that a server that fails all the time looks like one
    that is slow.

    Args:
        name: Name of the model.
        get_failure: Returns why the latest request failed that is sent again; "" if none failed.
    """

    def __init__(self, name: str, get_failure: Callable[[], str]) -> None:
        self.name = name
        self.get_failure = get_failure
        self._next_notice = FIRST_NOTICE_SECONDS

    def reset(self) -> None:
        """Count the seconds from now on, because a request has finished."""
        self._next_notice = FIRST_NOTICE_SECONDS

    def update(self, seconds: float) -> None:
        """Print a line if there was no answer for 5, 10, 20, 40, … seconds.

        Args:
            seconds: Seconds since the last request has finished.
        """
        if seconds < self._next_notice:
            return
        self._next_notice *= 2
        line = f"Waiting for {self.name}: no answer for {int(seconds)} s"
        failure = self.get_failure()
        if failure:
            line += f"; {failure}, and the request is sent again"
        # The line is written above the progress bar.
        tqdm.write(f"{line}.", file=sys.stderr)


def describe_seconds(seconds: float) -> str:
    """Return a time in words, in seconds, minutes or hours.

    Example:
        >>> describe_seconds(3.2), describe_seconds(250), describe_seconds(9000)
        ('4 s', '5 min', '2.5 h')
    """
    if seconds < 120:
        return f"{int(seconds) + 1} s"
    if seconds < 7200:
        return f"{int(seconds / 60) + 1} min"
    return f"{seconds / 3600:.1f} h"
