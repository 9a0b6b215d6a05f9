"""Computations over the batches of a dataset: sharded, resumable, in the order of the dataset.

`run_model` runs a computation that only reads a model, `run_batches` any computation. A `Store`
keeps the finished chunks of a run in a folder.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError, format_error
from rightreasons.core.signals import stop_if_signaled
from rightreasons.core.store import Records, digest_package_code
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.protocol import HowToKeep
from rightreasons.models.runs.columns import EMPTY, Column, Columns, join
from rightreasons.models.runs.processes import processes
from rightreasons.models.runs.progress import Advance, BarText, open_item_bar

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack


FAILED = "failed"
"""Kind of the chunks with the reasons, in a column `reason`, why items have no results."""

NO_WORDS = "Its text has no words."
"""Why an empty text is left out."""

FLUSH_SECONDS = 5.0
"""Maximum seconds of unwritten work; 0 writes after every batch."""

MAX_FAILURES = 100
"""Number of the first items that may fail before a run that leaves failing items out gives up."""

Later = Callable[[], Mapping[str, Column]]
"""Waits for the columns of a batch that has been launched, such as those of `read_later`."""

Compute = Callable[[NDArray[np.int64]], "Mapping[str, Column] | Later"]
"""Returns the columns of some items, or a function that waits for them."""

ITEM_ERRORS = (ValueError, RuntimeError, LookupError, ArithmeticError)
"""Errors that may be due to an item."""

ITEMS_BAR = BarText()
"""Text of a bar if nobody says."""

_BATCH_LIMITS: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""Model -> what is computed -> items of a batch that fit in memory, if a larger batch did not."""


# --- Stored chunks


class Store(Records):
    """The chunks of one run in one folder; a chunk is a record of arrays.

    Args:
        folder: The folder of the chunks; made if it does not exist.
        run: What the results depend on, as short plain values: fingerprints of model and inputs,
            the version of the code, and every option that changes a result. What another run left
            in the folder is set aside.

    Raises:
        ValueError: If the folder holds other files, or another command is writing results of
            another run to it.
    """

    def write(self, chunk: Columns, kind: str = "chunk") -> None:
        """Write one chunk into its own file, completely or not at all.

        Args:
            chunk: The chunk. Nothing is written of one without items.
            kind: "chunk" for results, or `FAILED`.
        """
        if not len(chunk):
            return
        # A file of arrays: an array is stored under "NAME.rows", and a `Ragged` as two arrays.
        arrays: dict[str, NDArray[Any]] = {"items": chunk.positions}
        for name, column in chunk.columns.items():
            if isinstance(column, Ragged):
                arrays[f"{name}.values"] = column.values
                arrays[f"{name}.offsets"] = column.offsets
            else:
                arrays[f"{name}.rows"] = column
        # No two chunks have an item in common, so that the first one gives a chunk a name of its
        # own, whichever process writes it.
        first_item = int(chunk.positions.min())
        self.write_arrays(f"{kind}-{first_item:09d}.npz", arrays)

    def read(self, kind: str = "chunk") -> Columns:
        """Return all chunks of a kind, in the dataset's order, without damaged or outdated ones."""
        paths = sorted(self.folder.glob(f"{kind}-*.npz"))
        return join(self._read(path.name) for path in paths)

    def _read(self, name: str) -> Columns:
        """Return the chunk of a file that `write` has written; an empty one if it is damaged."""
        arrays = self.read_arrays(name)
        if arrays is None:
            return EMPTY
        positions = arrays.pop("items").astype(np.int64)
        columns: dict[str, Column] = {}
        for key, array in arrays.items():
            column_name, content = key.rsplit(".", 1)
            if content == "rows":
                columns[column_name] = array
            # The offsets are read with their values.
            elif content == "values":
                columns[column_name] = Ragged(array, arrays[f"{column_name}.offsets"])
        return Columns(positions, columns)


def open_store(folder: str | os.PathLike[str], run: Mapping[str, Any]) -> Store:
    """Open the store of a run in every process: the main one makes it, and the others find it made.

    Args:
        folder: The folder.
        run: What the results depend on; see `Store`.

    Raises:
        ValueError: If the folder holds other files, or another command is writing results of
            another run to it.
    """
    return processes().main_first(lambda: Store(folder, run), "opening the store")


# --- Options of a run


class HowToBatch(HowToKeep, total=False):
    """Options of a run over items of a local model, none of which changes a result.

    Attributes:
        batch_size: Maximum items per batch; 32 by default.
        max_tokens: Maximum tokens per padded batch; None, the default, for no bound.
        fail_fast: Whether an item that cannot be scored is an error; True by default.
    """

    batch_size: int
    max_tokens: int | None
    fail_fast: bool


class HowToRun(HowToKeep, total=False):
    """Options of a run, none of which changes a result.

    Attributes:
        notes: Small files to write next to the results: JSON values by name.
        fail_fast: Whether an item that fails ends the run; True by default. If not, it is left out,
            see `run_batches`.
    """

    notes: Mapping[str, Any] | None
    fail_fast: bool


# --- Runs


def run_model(
    model: torch.nn.Module,
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    kind: str,
    inputs: Callable[[], Mapping[str, Any]],
    lengths: NDArray[np.int64] | None = None,
    **run_options: Unpack[HowToRun],
) -> Columns:
    """Run a computation that only reads a model over the batches of a dataset.

    Args:
        model: The model. It is frozen during the run, and as it was afterwards.
        compute: Takes (n,) items, and returns named columns with one row per item, or a function
            that waits for them.
        batches: Disjoint arrays of items that cover 0..N-1.
        kind: What is computed: the text of the progress bar, and part of the identity of a store.
        inputs: Returns what the results depend on besides the model and the code: fingerprints of
            the inputs, and every option that changes a result. Called only with `out`.
        lengths: (N,) tokens of each item, which the progress bar counts. If None, it counts items.
        **run_options: Options of `HowToRun`.

    Returns:
        The columns; see `run_batches`.

    Raises:
        ValueError: If `out` holds other files, or another command is writing results of another run
            to it.
    """
    from rightreasons.models.batching import frozen

    # What is unknown, `run_batches` refuses.
    options: dict[str, Any] = dict(run_options)
    out = options.pop("out", None)
    notes = options.pop("notes", None) or {}
    store = None
    if out is not None:
        run = {
            "kind": kind,
            "model": fingerprint_model(model),
            **inputs(),
            "code": digest_package_code(),
        }
        store = open_store(out, run)
        if processes().is_main:
            for name, value in notes.items():
                store.write_json(name, value)
    # A later question about the model begins with batches that fit.
    limits = _BATCH_LIMITS.setdefault(model, {})
    with frozen(model):
        return run_batches(
            compute, batches, store=store, bar=BarText(kind, lengths), fitting=limits, **options
        )


def run_batches(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    store: Store | None = None,
    progress: bool = True,
    bar: BarText = ITEMS_BAR,
    fail_fast: bool = True,
    fitting: dict[str, int] | None = None,
) -> Columns:
    """Call `compute` on each batch of items, and return its columns in the order of the items.

    The processes of one launch take the batches in turn, and each returns the complete result. The
    batches do not depend on the number of processes, and so neither does the result, up to
    rounding. With a store, results are written every few seconds and at the end, also when an error
    or Ctrl-C ends the run; a later run of the same kind computes only what is missing. A batch that
    does not fit in the memory of its device is halved, and so are those that follow; a warning says
    so.

    If `compute` returns a function that waits for the columns of a batch, the next batch is
    launched before that is called, so that a GPU has work while this process reads one batch and
    prepares another.

    Args:
        compute: Takes (n,) items, and returns named columns with one row per item, or a function
            that waits for them.
        batches: Disjoint arrays of items that cover 0..N-1.
        store: Store of the results. None keeps them in memory.
        progress: Whether to show a progress bar (on the main process).
        bar: The text of the bar, and what it counts.
        fail_fast: Whether an item that fails ends the run. If not, a batch that fails is halved
            until the failing items are single; they are left out, and stored with their reasons.
        fitting: Description -> items of a batch that fit in memory, from earlier runs; takes what
            this run finds. None for a run from which others learn nothing.

    Returns:
        Each column over all N items, or over those that did not fail.

    Raises:
        ValueError: If every item fails, or the first `MAX_FAILURES` do.
        Exception: Whatever `compute` raises, in every process.
    """
    workers = processes()
    computed, failed = _read_stored(store, fail_fast)
    pending = _select_pending(batches, computed, failed)
    own_batches = pending[workers.rank :: workers.count]
    limits = {} if fitting is None else fitting
    work = _Work(compute, store, fail_fast, max_items=limits.get(bar.description))
    error: Exception | None = None
    try:
        is_shown = progress and workers.is_main and len(own_batches) > 0
        items = np.concatenate([np.empty(0, np.int64), *own_batches])
        with open_item_bar(bar, items, is_shown=is_shown) as advance:
            work.run(own_batches, advance)
    except Exception as raised:
        if workers.count == 1:
            raise
        error = raised
    finally:
        if work.max_items is not None:
            limits[bar.description] = work.max_items

    # A process that failed still takes part, so that the others learn of it and none waits forever.
    for raised_error in workers.gather(error, "errors"):
        if raised_error is not None:
            raise raised_error
    columns = join([computed, *workers.gather(join(work.computed), "results")])
    failures = join([failed, *workers.gather(join(work.failed), "failures")])
    result = columns.add_failures(failures)
    if result.failures and not len(columns):
        # Most often, all items fail for the same reason: the first one is enough, and so are the
        # options to blame for the last one.
        first_reason = next(iter(result.failures.values()))
        raise OptionError(first_reason, option=work.options)
    return result


def _read_stored(store: Store | None, fail_fast: bool) -> tuple[Columns, Columns]:
    """Return the results, and the failures, of earlier runs that are not computed again.

    Args:
        store: The store; None for a run without one.
        fail_fast: Whether an item that fails ends the run. Then earlier failures are tried again.

    Returns:
        The results, and the items that failed with their reasons, in a column `reason`.
    """
    if store is None:
        return EMPTY, EMPTY
    computed = store.read()
    if fail_fast:
        return computed, EMPTY
    failed = store.read(FAILED)
    # An item may have failed in one run, and been computed in a later one: then its result counts.
    is_failed = ~np.isin(failed.positions, computed.positions)
    columns = {name: np.asarray(column)[is_failed] for name, column in failed.columns.items()}
    return computed, Columns(failed.positions[is_failed], columns)


def _select_pending(
    batches: Sequence[NDArray[np.int64]], computed: Columns, failed: Columns
) -> list[NDArray[np.int64]]:
    """Return the batches without the items that are finished; empty batches are left out.

    Args:
        batches: Disjoint arrays of items that cover 0..N-1.
        computed: Results of earlier runs.
        failed: Failures of earlier runs.
    """
    finished = np.concatenate([computed.positions, failed.positions])
    # The main process decides; the others may see newer chunks.
    finished = processes().gather(finished, "what is done")[0]
    is_done = np.zeros(sum(map(len, batches)), dtype=bool)
    is_done[finished] = True
    pending = []
    for batch in batches:
        remaining = batch[~is_done[batch]]
        if len(remaining):
            pending.append(remaining)
    return pending


@dataclass(eq=False)
class _Work:
    """What one process computes of a run, written every few seconds and at the end.

    Attributes:
        compute: Returns the columns of some items, or a function that waits for them.
        store: Store of the results; None keeps them in memory.
        fail_fast: Whether an item that fails ends the run.
        computed: Results so far.
        failed: Items that failed so far, with their reasons.
        n_written: Number of chunks of both that are written.
        max_items: Items of a batch that fit in memory; None while all do.
        options: Names of the options to blame for the last failure; () if it is not an option.
    """

    compute: Compute
    store: Store | None
    fail_fast: bool
    computed: list[Columns] = field(default_factory=list)
    failed: list[Columns] = field(default_factory=list)
    n_written: tuple[int, int] = (0, 0)
    max_items: int | None = None
    options: Sequence[str] = ()

    def run(self, batches: Sequence[NDArray[np.int64]], advance: Advance) -> None:
        """Compute batches in turn; what is computed is written also when an error ends it.

        While a device computes one batch, the next one is prepared and launched: at most one batch
        is running, unread, at the beginning of a round.

        Args:
            batches: The batches.
            advance: Called with the items of each batch that is finished.
        """
        last_flush = time.monotonic()
        queue = deque(batches)
        # Items of the batches that are computed but not read, with functions that wait for them.
        launched: deque[tuple[NDArray[np.int64], Later]] = deque()
        try:
            while queue or launched:
                stop_if_signaled()
                is_running = False
                if queue:
                    items = self._take_batch(queue)
                    wait, is_running = self._launch(items)
                    launched.append((items, wait))
                # The batch that was just launched is read in the next round, after another one has
                # been launched. Nothing is gained by that if it is finished, or is the last one.
                n_left_running = int(is_running and len(queue) > 0)
                while len(launched) > n_left_running:
                    items, wait = launched.popleft()
                    halves = self._read(items, wait)
                    if halves:
                        _put_back(queue, halves, launched)
                    else:
                        advance(items)
                if time.monotonic() - last_flush >= FLUSH_SECONDS:
                    self._flush()
                    last_flush = time.monotonic()
        finally:
            # The error of an earlier batch ends the run; those after it may be fine.
            with contextlib.suppress(Exception):
                for items, wait in launched:
                    self.computed.append(Columns(items, wait()))
            self._flush()

    def _take_batch(self, queue: deque[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Take the next batch, or as much of it as fits in memory."""
        items = queue.popleft()
        if self.max_items is not None and len(items) > self.max_items:
            queue.appendleft(items[self.max_items :])
            items = items[: self.max_items]
        return items

    def _launch(self, items: NDArray[np.int64]) -> tuple[Later, bool]:
        """Start to compute a batch.

        Returns:
            A function that waits for the columns, and raises the error if the batch has failed; and
            whether the batch is still running on its device.
        """
        try:
            result = self.compute(items)
        except ITEM_ERRORS as error:
            return functools.partial(_raise, error), False
        if isinstance(result, Mapping):
            return functools.partial(dict, result), False
        return result, True

    def _read(self, items: NDArray[np.int64], wait: Later) -> list[NDArray[np.int64]]:
        """Wait for the columns of a batch, and keep them, or the reason why its only item failed.

        Args:
            items: (n,) items of the batch.
            wait: Returns its columns, or raises its error.

        Returns:
            [] if the batch is finished. If it failed, the two halves, which are to be computed
            instead: batches get smaller until they fit in memory, and until a failing item is
                single.

        Raises:
            Exception: The error of the batch, if it ends the run.
        """
        try:
            self.computed.append(Columns(items, wait()))
        except ITEM_ERRORS as error:
            is_single = len(items) == 1
            if _is_out_of_memory(error):
                # Not even one item fits. It is the memory that is at fault, and not the item.
                if is_single:
                    raise
                self.max_items = -(-len(items) // 2)
                warnings.warn(
                    f"A batch of {len(items)} does not fit in the device's memory: batches of "
                    f"{self.max_items} follow.",
                    stacklevel=2,
                )
            elif self.fail_fast:
                raise
            # The halves are computed once this error, and the memory that it holds, are gone.
            if not is_single:
                return np.array_split(items, 2)
            reason = np.array([format_error(error)])
            self.failed.append(Columns(items, {"reason": reason}))
            self.options = getattr(error, "option", ())
            # If the first items all fail, the others are not worth the time.
            if not self.computed and len(self.failed) >= MAX_FAILURES:
                raise
        return []

    def _flush(self) -> None:
        """Write what is not written yet."""
        if self.store is None:
            return
        n_computed, n_failed = self.n_written
        self.store.write(join(self.computed[n_computed:]))
        self.store.write(join(self.failed[n_failed:]), FAILED)
        self.n_written = (len(self.computed), len(self.failed))


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether a batch failed because its device had no memory for it."""
    # The error of torch is the cause of the one that names the item. It is known by its name, so
    # that torch need not be imported. cuBLAS and other libraries that allocate memory themselves
    # report a status like CUBLAS_STATUS_ALLOC_FAILED.
    cause = error.__cause__ or error
    return type(cause).__name__ == "OutOfMemoryError" or "_ALLOC_FAILED" in str(cause)


def _put_back(
    queue: deque[NDArray[np.int64]],
    halves: Sequence[NDArray[np.int64]],
    launched: deque[tuple[NDArray[np.int64], Later]],
) -> None:
    """Return a batch that failed, and those launched after it, to the front of the queue.

    Args:
        queue: Batches that are still to be launched, which get these at the front.
        halves: Halves of the batch that failed.
        launched: Batches that were launched after it, which is emptied: they may lack memory, too,
            or may be lost with it.
    """
    batches = [*halves, *(items for items, _ in launched)]
    # `extendleft` adds one after the other, so that the last one ends at the front.
    queue.extendleft(reversed(batches))
    launched.clear()
    # Memory that the allocator of torch has in reserve is not available to cuBLAS.
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def _raise(error: Exception) -> Any:
    raise error
