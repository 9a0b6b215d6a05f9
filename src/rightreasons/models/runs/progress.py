"""Progress bars on stderr, and prefixes of their titles: `progress_bar` and `prefix_bar_titles`.

Without a terminal, such as in the log of a batch job, `ProgressLines` replaces a bar. `show_total` adds what is left of the whole work to the bars of its steps.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.sentences import pluralize
from rightreasons.core.signals import is_progress_visible, is_quiet

Advance = Callable[[NDArray[np.int64]], object]
"""Advances a bar by some items."""

LINE_SECONDS = 60.0
"""Minimum number of seconds between two lines of progress, where there is no terminal."""

_SUBJECTS: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("subjects", default=())


class RequestTotal:
    """Progress of several steps of requests: how many are answered, and the time left.

    Args:
        n_requests_by_step: Name of a step -> number of its requests, in the order of the steps.

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
        """Begin a step. All steps before it count as finished."""
        self._step = step
        self._n_answered_of_step = 0

    def advance(self, n_requests: int, *, seconds: float) -> None:
        """Count answered requests, and the time that they took."""
        self._n_answered_of_step += n_requests
        self._n_answered += n_requests
        self._seconds += seconds

    def describe(self) -> str:
        """Return how many requests of all steps are answered, and the time left.

        An example is "150/300 requests in all, 00:15 left". The time is left out before the first
        answer. For a step without planned requests, the result is "".
        """
        n_requests = self._n_requests.get(self._step, 0)
        if not n_requests:
            return ""
        n_finished = 0
        for step, count in self._n_requests.items():
            if step == self._step:
                break
            n_finished += count
        # A step may turn out to have more requests than planned, but must not count as more.
        n_finished += min(self._n_answered_of_step, n_requests)
        line = f"{n_finished:,}/{self._n_planned:,} requests in all"
        if not self._n_answered:
            return line
        # Stored answers took no time, so that the speed is that of the requests that were sent.
        seconds_left = (self._n_planned - n_finished) * self._seconds / self._n_answered
        return f"{line}, {tqdm.format_interval(seconds_left)} left"


_TOTAL: contextvars.ContextVar[RequestTotal | None] = contextvars.ContextVar("total", default=None)


@contextlib.contextmanager
def show_total(n_requests_by_step: Mapping[str, int]) -> Iterator[None]:
    """Show the progress of all steps at the end of each progress bar that is opened in the block.

    Args:
        n_requests_by_step: Name of a step -> number of its requests, in the order of the steps.
    """
    token = _TOTAL.set(RequestTotal(n_requests_by_step))
    try:
        yield
    finally:
        _TOTAL.reset(token)


def begin_step(name: str) -> None:
    """Begin a step of the work inside a block of `show_total`; outside of one, do nothing."""
    total = _TOTAL.get()
    if total is not None:
        total.begin(name)


@contextlib.contextmanager
def prefix_bar_titles(*subjects: str) -> Iterator[None]:
    """Put words before the title of each progress bar that is opened in the block.

    In nested blocks, the words of the outer block come first.

    Example:
        >>> with prefix_bar_titles("2/3 shortcuts"), prefix_bar_titles("test"):
        ...     make_title("attributions")
        '2/3 shortcuts, test: attributions'
    """
    token = _SUBJECTS.set((*_SUBJECTS.get(), *subjects))
    try:
        yield
    finally:
        _SUBJECTS.reset(token)


def make_title(description: str) -> str:
    """Return the title of a progress bar: the words of `prefix_bar_titles`, and a description.

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


class ProgressLines:
    """Lines on stderr with the progress of slow work, at most one per minute over all steps.

    The class has the methods of a bar of tqdm that this package uses.

    Args:
        total: Number of units of the work.
        title: Title of the step, such as "predictions, test".
        unit: Name of a unit, such as "token".

    Example:
        >>> lines = ProgressLines(200, "predictions, test", "item")
        >>> lines.update(50)
        >>> lines.describe(seconds=30.0)
        'predictions, test: 50/200 items, 01:30 left'
    """

    # An audit has many short steps, so that the time since the latest line counts across steps.
    _latest_line: float | None = None

    def __init__(self, total: int, title: str, unit: str) -> None:
        self._total = total
        self._title = title
        self._unit = unit
        self._n_finished = 0
        self._postfix = ""
        self._start = time.monotonic()
        if ProgressLines._latest_line is None:
            ProgressLines._latest_line = self._start

    def __enter__(self) -> ProgressLines:
        """Return the object, as a bar of tqdm does."""
        return self

    def __exit__(self, *error: object) -> None:
        """Print nothing more, because a finished step shows in the lines that follow."""

    def set_postfix_str(self, postfix: str, *, refresh: bool = True) -> None:
        """Set the text at the end of the line, such as the progress of all steps."""
        self._postfix = postfix

    def update(self, n_units: int) -> None:
        """Count finished units, and print a line if the latest one is a minute old."""
        self._n_finished += n_units
        now = time.monotonic()
        latest = ProgressLines._latest_line
        if latest is not None and now - latest < LINE_SECONDS:
            return
        ProgressLines._latest_line = now
        print(self.describe(seconds=now - self._start), file=sys.stderr, flush=True)

    def describe(self, *, seconds: float) -> str:
        """Return the progress in a line.

        Args:
            seconds: Seconds since the work began, from which the remaining time is estimated.
        """
        line = f"{self._title}: {self._n_finished:,}/{pluralize(self._total, self._unit)}"
        if self._postfix:
            return f"{line}, {self._postfix}"
        if not self._n_finished:
            return line
        n_remaining = max(0, self._total - self._n_finished)
        seconds_left = n_remaining * seconds / self._n_finished
        return f"{line}, {tqdm.format_interval(seconds_left)} left"


def progress_bar(total: int, description: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a progress bar of tqdm on stderr, which disappears when the work is done.

    Args:
        total: Number of units of the work.
        description: What is computed, such as "predictions".
        shown: Whether to show the bar. Without a terminal, lines replace it.
        unit: Name of a unit, such as "token".
    """
    is_visible = shown and is_progress_visible()
    if shown and not is_visible and not is_quiet.get():
        return ProgressLines(total, make_title(description), unit)
    return tqdm(
        total=total,
        desc=make_title(description),
        unit=unit,
        # Thousands of tokens are displayed as "12.3k".
        unit_scale=unit == "token",
        disable=not is_visible,
        # An audit has dozens of short steps. Their finished bars would push its plan off the
        # screen.
        leave=False,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class BarText:
    """The text and the unit of the progress bar of a run over items.

    Attributes:
        description: What is computed.
        lengths: (N,) tokens of each item, which the bar counts. If None, it counts items.
    """

    description: str = "items"
    lengths: NDArray[np.int64] | None = None


@contextlib.contextmanager
def open_item_bar(text: BarText, items: NDArray[np.int64], *, is_shown: bool) -> Iterator[Advance]:
    """Open a progress bar for a run over items, and yield a function that advances it.

    The bar counts items, or their tokens if `text` has the lengths of the items. As the longest
    items are computed first, a bar that counts items would predict far too long a time.

    Args:
        text: Title of the bar, and perhaps the number of tokens of each item of the dataset.
        items: (n,) indices of the items of the run in the dataset.
        is_shown: Whether to show the bar. Without a terminal, lines replace it.

    Yields:
        A function that receives the indices of the items of a finished batch.
    """
    if text.lengths is None:
        total = len(items)
        title = text.description
        unit = "item"
        # Each item counts as one unit, at all indices up to the largest.
        n_units = np.ones(int(items.max(initial=-1)) + 1, dtype=np.int64)
    else:
        total = int(text.lengths[items].sum())
        title = f"{text.description}, {pluralize(len(items), 'item')}"
        unit = "token"
        n_units = text.lengths
    with progress_bar(total, title, shown=is_shown, unit=unit) as bar:
        yield _make_batch_counter(bar, n_units)


def make_request_counter(bar: Any) -> Callable[[int], object]:
    """Return a function that advances a progress bar by a number of answered requests.

    Inside a block of `show_total`, it also updates the progress of all steps, which is shown at the
    end of the bar.
    """
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


def _make_batch_counter(bar: Any, n_units: NDArray[np.int64]) -> Advance:
    """Return a function that advances a progress bar when a batch of items is finished.

    Inside a block of `show_total`, it also updates the progress of all steps, which is shown at the
    end of the bar.

    Args:
        bar: The bar, from `progress_bar`.
        n_units: (N,) number of units of the bar that each item counts for, such as its tokens.
    """
    total = _TOTAL.get()
    if total is None:
        return lambda batch: bar.update(int(n_units[batch].sum()))
    # The time of a batch includes its preparation, which the next batches will need as well.
    latest = time.perf_counter()

    def advance(batch: NDArray[np.int64]) -> None:
        nonlocal latest
        now = time.perf_counter()
        total.advance(len(batch), seconds=now - latest)
        latest = now
        # `update` below draws the bar with this text.
        bar.set_postfix_str(total.describe(), refresh=False)
        bar.update(int(n_units[batch].sum()))

    return advance
