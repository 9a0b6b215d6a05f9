"""Run a computation over the batches of a dataset: sharded, resumable, with a progress bar, in the dataset's order."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.foundations.ragged import Ragged
from rightreasons.models.running.fingerprint import fingerprint_model
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.processes import processes
from rightreasons.models.running.store import Chunk, Column, Store, join

Compute = Callable[[NDArray[np.int64]], Mapping[str, Column]]


class Columns(dict[str, Column]):
    """The columns of a run, each over all items."""

    def array(self, name: str) -> NDArray[Any]:
        """Return a column with one value, or one array of a fixed shape, per item."""
        return np.asarray(self[name])

    def ragged(self, name: str) -> Ragged:
        """Return a column whose rows may differ in length.

        Raises:
            TypeError: If the column is an array.
        """
        column = self[name]
        if not isinstance(column, Ragged):
            raise TypeError(f"Expected the column {name!r} to have rows of their own lengths, but it is an array.")
        return column


def open_store(folder: str | os.PathLike[str], run: Mapping[str, Any]) -> Store:
    """Open the store of a run in every process of the launch: the main one makes it, and the others find it made.

    Args:
        folder: The folder.
        run: What the results depend on, as in `Store`.

    Raises:
        ValueError: If the folder belongs to another run.
    """
    return processes().main_first(lambda: Store(folder, run))


def run_model(
    model: torch.nn.Module,
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    kind: str,
    inputs: Callable[[], Mapping[str, Any]],
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> Columns:
    """Run a computation that only reads a model over the batches of a dataset; `run_batches` says how.

    Args:
        model: The model; it is frozen meanwhile and afterwards as it was.
        compute: Takes (n,) items and returns named columns with one row per item.
        batches: Disjoint arrays of items that cover 0..N-1.
        kind: What is computed: the text of the progress bar, and part of what a store belongs to.
        inputs: Returns what the results depend on beside the model: fingerprints of the inputs, and every option that
            changes a result. Called only with `out`.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; a later run of the same kind resumes. None keeps
            them in memory.
        notes: Small files to write beside the results: JSON values by name.

    Raises:
        ValueError: If `out` belongs to another run.
    """
    store = None
    if out is not None:
        store = open_store(out, {"kind": kind, "model": fingerprint_model(model), **inputs()})
        for name, value in (notes or {}).items():
            if processes().is_main:
                store.write_json(name, value)
    with frozen(model):
        return run_batches(compute, batches, store=store, progress=progress, description=kind)


def run_batches(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    store: Store | None = None,
    progress: bool = True,
    description: str = "items",
    flush_seconds: float = 5.0,
) -> Columns:
    """Call `compute` on each batch of items and return its columns in the order of the items.

    The processes of one launch take the batches in turn, and each returns the whole result. The batches do not depend
    on the number of processes, and so neither does the result, to the rounding of the arithmetic. With a store, results
    are written every few seconds and at the end, also when an error or Ctrl-C ends the run; a later run of the same
    kind computes only what is missing.

    Args:
        compute: Takes (n,) items and returns named columns with one row per item.
        batches: Disjoint arrays of items that cover 0..N-1.
        store: Where results are kept; None keeps them in memory.
        progress: Whether to show a progress bar (on the main process).
        description: The text of the bar.
        flush_seconds: Maximum seconds of unwritten work; 0 writes after every batch.

    Returns:
        Each column over all N items.

    Raises:
        Exception: Whatever `compute` raises, in every process.
    """
    workers = processes()
    before = store.read() if store else Chunk(np.empty(0, np.int64), {})
    # Use the main process's list of finished items; other processes may see newer chunks.
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
    return Columns(join([before, *gathered]).columns)


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
