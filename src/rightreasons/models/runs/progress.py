"""Progress bars on stderr, and what they are about: `progress_bar` and `bars_about`."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.sentences import pluralize
from rightreasons.core.signals import is_progress_visible

Advance = Callable[[NDArray[np.int64]], object]
"""Advances a bar by some items."""

_SUBJECTS: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("subjects", default=())


@contextlib.contextmanager
def bars_about(*subjects: str) -> Iterator[None]:
    """Begin the bars that are opened inside with some words, after those of the blocks around it.

    Example:
        >>> with bars_about("2/3 shortcuts"), bars_about("test"):
        ...     make_title("attributions")
        '2/3 shortcuts, test: attributions'
    """
    # Blocks within each other add to the subjects of the outer one.
    token = _SUBJECTS.set((*_SUBJECTS.get(), *subjects))
    try:
        yield
    finally:
        _SUBJECTS.reset(token)


def make_title(description: str) -> str:
    """Return the words before a bar: its subjects, and what is computed."""
    subjects = ", ".join(_SUBJECTS.get())
    if not subjects:
        return description
    return f"{subjects}: {description}"


def progress_bar(total: int, description: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a bar on stderr.

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
    """Open a bar on stderr for a run over some items; yield what advances it.

    The longest items come first, so that a bar that counts items would promise far too long a time.

    Args:
        text: The text of the bar.
        items: (n,) positions of the items.
        is_shown: Whether it is shown if somebody watches.
    """
    lengths = text.lengths
    if lengths is None:
        with progress_bar(len(items), text.description, shown=is_shown) as bar:
            yield lambda batch: bar.update(len(batch))
        return
    tokens = lengths
    description = f"{text.description}, {pluralize(len(items), 'item')}"
    n_tokens = int(tokens[items].sum())
    with progress_bar(n_tokens, description, shown=is_shown, unit="token") as bar:
        yield lambda batch: bar.update(int(tokens[batch].sum()))
