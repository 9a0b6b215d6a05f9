"""Run a computation over the batches of a dataset: sharded, resumable, with a progress bar, in the dataset's order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.models.running.processes import processes
from rightreasons.models.running.store import Chunk, Column, Store, join

Compute = Callable[[NDArray[np.int64]], Mapping[str, Column]]


def open_store(out: str | os.PathLike[str] | None, run: Callable[[], Mapping[str, Any]]) -> Store | None:
    """Open the store of a run in a folder, the main process first; None where nothing is kept.

    Args:
        out: The folder, or None.
        run: Says what the results depend on, as in `Store`; not asked where nothing is kept.
    """
    if out is None:
        return None
    described = run()
    return processes().main_first(lambda: Store(out, described))


def run_batches(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    store: Store | None = None,
    progress: bool = True,
    description: str = "items",
    flush_seconds: float = 5.0,
) -> dict[str, Column]:
    """Call `compute` on each batch of items and return its columns in the order of the items.

    Several processes of one launch take the batches in turn, and each gets the whole result; the batches are those of
    one process, and so is the answer, to the rounding of the arithmetic. With a store, what is computed is written
    every few seconds and at the end, also at an end by an error or Ctrl-C; a later run of the same kind computes only
    what is missing.

    Args:
        compute: Takes (n,) items and returns named columns with one row an item.
        batches: Disjoint arrays of items that cover 0..N-1.
        store: Where results are kept; None keeps them in memory alone.
        progress: Whether to show a progress bar (on the main process).
        description: What the bar says.
        flush_seconds: At most so many seconds of work stay unwritten; 0 writes after every batch.

    Returns:
        Each column over all N items.

    Raises:
        Exception: Whatever `compute` raises, in every process.
    """
    workers = processes()
    before = store.read() if store else Chunk(np.empty(0, np.int64), {})
    # The main process says what is done: the others may already see chunks that were written since.
    done = np.zeros(_count(batches), dtype=bool)
    done[workers.gather(before.items)[0]] = True
    pending = [batch[~done[batch]] for batch in batches if not done[batch].all()]
    mine = pending[workers.rank :: workers.count]
    computed: list[Chunk] = []
    error: Exception | None = None
    try:
        shown = progress and workers.is_main and len(mine) > 0
        with tqdm(total=_count(mine), desc=description, unit="item", disable=not shown) as bar:
            computed = _compute(compute, mine, store, flush_seconds, bar.update)
    except Exception as raised:
        if workers.count == 1:
            raise
        error = raised
    # A process that failed still takes part, so that the others learn of it and none waits forever.
    errors = [raised for raised in workers.gather(error) if raised is not None]
    if errors:
        raise errors[0]
    gathered = workers.gather(join(computed))
    whole = join([before, *gathered])
    return dict(whole.columns)


def _compute(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    store: Store | None,
    flush_seconds: float,
    advance: Callable[[int], object],
) -> list[Chunk]:
    computed: list[Chunk] = []
    written = 0
    last = time.monotonic()
    try:
        for items in batches:
            computed.append(Chunk(items, compute(items)))
            advance(len(items))
            if store and time.monotonic() - last >= flush_seconds:
                store.write(join(computed[written:]))
                written, last = len(computed), time.monotonic()
    finally:
        if store:
            store.write(join(computed[written:]))
    return computed


def _count(batches: Sequence[NDArray[np.int64]]) -> int:
    return sum(len(batch) for batch in batches)
