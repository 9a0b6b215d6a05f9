"""Progress bars on stderr, and what they are about: `progress_bar` and `bars_about`.

`show_total` adds what is left of the whole work to the bars of its steps.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.sentences import pluralize
from rightreasons.core.signals import is_progress_visible

Advance = Callable[[NDArray[np.int64]], object]
"""Advances a bar by some items."""

_SUBJECTS: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("subjects", default=())


class RequestTotal:
    """Requests of work in several steps: how many are answered, and how long the others will take.

    Args:
        n_requests_by_step: Step -> number of its requests, in the order in which they are asked.

    Example:
        >>> total = RequestTotal({"the items": 100, "probes": 200})
        >>> total.begin("probes")
        >>> total.advance(50, seconds=5.0)
        >>> total.describe()
        '150/300 requests in all, 00:15 left'
    """

    def __init__(self, n_requests_by_step: Mapping[str, int]) -> None:
        self._n_requests = dict(n_requests_by_step)
        self._n_planned = sum(self._n_requests.values())
        self._step = ""
        self._n_answered_of_step = 0
        self._n_answered = 0
        self._seconds = 0.0

    def begin(self, step: str) -> None:
        """Begin a step; those before it are finished, by answers of now or of a store."""
        self._step = step
        self._n_answered_of_step = 0

    def advance(self, n_requests: int, *, seconds: float) -> None:
        """Count answered requests, and the time that they took."""
        self._n_answered_of_step += n_requests
        self._n_answered += n_requests
        self._seconds += seconds

    def describe(self) -> str:
        """Return how much of all steps is done, and the time left.

        It is "150/300 requests in all, 00:15 left", for example; "" for a step without planned
        requests. The time left is missing until a request is answered.
        """
        n_requests = self._n_requests.get(self._step, 0)
        if not n_requests:
            return ""
        n_finished = 0
        for step, count in self._n_requests.items():
            if step == self._step:
                break
            n_finished += count
        # A step may have more requests than planned, but should not count as more than it is.
        n_finished += min(self._n_answered_of_step, n_requests)
        line = f"{n_finished:,}/{self._n_planned:,} requests in all"
        if not self._n_answered:
            return line
        # Answers from a store took no time, so that only answered requests tell the speed.
        seconds_left = (self._n_planned - n_finished) * self._seconds / self._n_answered
        return f"{line}, {tqdm.format_interval(seconds_left)} left"


_TOTAL: contextvars.ContextVar[RequestTotal | None] = contextvars.ContextVar("total", default=None)


@contextlib.contextmanager
def show_total(n_requests_by_step: Mapping[str, int]) -> Iterator[None]:
    """Show at the end of each bar that is opened inside how much of all steps is done.

    Args:
        n_requests_by_step: Step -> number of its requests, in the order in which they are asked.
    """
    token = _TOTAL.set(RequestTotal(n_requests_by_step))
    try:
        yield
    finally:
        _TOTAL.reset(token)


def begin_step(name: str) -> None:
    """Begin a step of the work whose total is shown; without `show_total`, do nothing."""
    total = _TOTAL.get()
    if total is not None:
        total.begin(name)


@contextlib.contextmanager
def bars_about(*subjects: str) -> Iterator[None]:
    """Put some words before the text of each bar that is opened inside the block.

    Blocks within each other add up: the words of the outer one come first.

    Example:
        >>> with bars_about("2/3 shortcuts"), bars_about("test"):
        ...     make_title("attributions")
        '2/3 shortcuts, test: attributions'
    """
    token = _SUBJECTS.set((*_SUBJECTS.get(), *subjects))
    try:
        yield
    finally:
        _SUBJECTS.reset(token)


def make_title(description: str) -> str:
    """Return the text before a bar: the words of `bars_about`, and what is computed.

    Args:
        description: What is computed, such as "attributions".
    """
    subjects = _SUBJECTS.get()
    if not subjects:
        return description
    # The outer block may have named what is computed: "predictions, test".
    if description in subjects:
        return ", ".join(subjects)
    return f"{', '.join(subjects)}: {description}"


def progress_bar(total: int, description: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a bar on stderr, which disappears when the work is done.

    Args:
        total: Number of units of the work.
        description: What is computed.
        shown: Whether it is shown if somebody watches.
        unit: Name of a unit.
    """
    # Nobody watches a log file.
    is_visible = shown and is_progress_visible()
    return tqdm(
        total=total,
        desc=make_title(description),
        unit=unit,
        # Thousands of tokens are "12.3k".
        unit_scale=unit == "token",
        disable=not is_visible,
        # An audit has dozens of short steps, whose finished bars would push its plan off the
        # screen.
        leave=False,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class BarText:
    """The text of the progress bar of a run over items, and what it counts.

    Attributes:
        description: What is computed.
        lengths: (N,) tokens of each item, which the bar counts. If None, it counts items.
    """

    description: str = "items"
    lengths: NDArray[np.int64] | None = None


@contextlib.contextmanager
def open_item_bar(text: BarText, items: NDArray[np.int64], *, is_shown: bool) -> Iterator[Advance]:
    """Open a progress bar on stderr for a run over some items; yield a function that advances it.

    If the lengths of the items are known, the bar counts their tokens: the longest items come
    first, so that a bar that counts items would promise far too long a time.

    Args:
        text: The text of the bar, and the lengths of all items.
        items: (n,) positions of the items of the run.
        is_shown: Whether it is shown if somebody watches.
    """
    lengths = text.lengths
    if lengths is None:
        # Each item counts as one unit.
        units = np.ones(int(items.max(initial=-1)) + 1, dtype=np.int64)
        with progress_bar(len(items), text.description, shown=is_shown) as bar:
            yield _count_batches(bar, units)
        return
    description = f"{text.description}, {pluralize(len(items), 'item')}"
    n_tokens = int(lengths[items].sum())
    with progress_bar(n_tokens, description, shown=is_shown, unit="token") as bar:
        yield _count_batches(bar, lengths)


def make_request_counter(bar: Any) -> Callable[[int], object]:
    """Return what advances a bar by some answered requests, and the total of all steps with it."""
    total = _TOTAL.get()
    if total is None:
        return lambda n_requests: bar.update(n_requests)
    latest = time.perf_counter()

    def advance(n_requests: int) -> None:
        nonlocal latest
        now = time.perf_counter()
        total.advance(n_requests, seconds=now - latest)
        latest = now
        bar.set_postfix_str(total.describe(), refresh=False)
        bar.update(n_requests)

    return advance


def _count_batches(bar: Any, units: NDArray[np.int64]) -> Advance:
    """Return a function that advances a bar when a batch of items is finished.

    Args:
        bar: The bar of this run. Inside `show_total`, it also shows how much of all work is done.
        units: (N,) units of the bar that each item counts.
    """
    total = _TOTAL.get()
    if total is None:
        return lambda batch: bar.update(int(units[batch].sum()))
    # The time of a batch includes its preparation, as the next ones will take it too.
    latest = time.perf_counter()

    def advance(batch: NDArray[np.int64]) -> None:
        nonlocal latest
        now = time.perf_counter()
        total.advance(len(batch), seconds=now - latest)
        latest = now
        # The update below draws both.
        bar.set_postfix_str(total.describe(), refresh=False)
        bar.update(int(units[batch].sum()))

    return advance
