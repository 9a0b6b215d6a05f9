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
from rightreasons.core.errors import OptionError, ScoreKindError, format_error
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
"""Kind of the stored chunks that say, in a column `reason`, why items have no results."""

NO_WORDS = "Its text has no words."
"""Reason why an empty text is left out."""

FLUSH_SECONDS = 5.0
"""Seconds after which results are written to the store; 0 to write after every batch."""

MAX_FAILURES = 100
"""Number of items that may fail, without a single success, before a run gives up."""

Later = Callable[[], Mapping[str, Column]]
"""Waits for the columns of a batch that a device is computing, such as a result of `read_later`."""

Compute = Callable[[NDArray[np.int64]], "Mapping[str, Column] | Later"]
"""Receives item indices, and returns their columns or a function that waits for the columns."""

ITEM_ERRORS = (ValueError, RuntimeError, LookupError, ArithmeticError)
"""Errors that an item may have caused."""

ITEMS_BAR = BarText()
"""Default text of a progress bar."""

_BATCH_LIMITS: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""Model -> what is computed -> maximum number of items per batch, once a batch did not fit."""


# --- Stored chunks


class Store(Records):
    """The chunks of one run in one folder; a chunk is a record of arrays.

    Args:
        folder: The folder of the chunks; made if it does not exist.
        run: What the results depend on, as short plain values: fingerprints of model and inputs,
            the version of the code, and every option that changes a result. What another run left
            in the folder is set aside.

    Raises:
        ValueError: If the folder contains other files, or another command is writing results of
            another run to it.
    """

    def write(self, chunk: Columns, kind: str = "chunk") -> None:
        """Write a chunk into a new file, completely or not at all.

        Args:
            chunk: The chunk. If it has no items, no file is written.
            kind: "chunk" for results, or `FAILED`.
        """
        if not len(chunk):
            return
        # Name of an array in the file -> the array. A plain column "x" is stored as "x.rows", and a
        # `Ragged` column as "x.values" and "x.offsets".
        arrays: dict[str, NDArray[Any]] = {"items": chunk.positions}
        for name, column in chunk.columns.items():
            if isinstance(column, Ragged):
                arrays[f"{name}.values"] = column.values
                arrays[f"{name}.offsets"] = column.offsets
            else:
                arrays[f"{name}.rows"] = column
        # No two chunks of a run have an item in common, so that the first item makes the file name
        # unique, whichever process writes it.
        first_item = int(chunk.positions.min())
        self.write_arrays(f"{kind}-{first_item:09d}.npz", arrays)

    def read(self, kind: str = "chunk") -> Columns:
        """Return all chunks of a kind, in the order of the dataset; damaged ones are skipped.

        Args:
            kind: "chunk" for results, or `FAILED`.
        """
        paths = sorted(self.folder.glob(f"{kind}-*.npz"))
        return join(self._read(path.name) for path in paths)

    def _read(self, name: str) -> Columns:
        """Return the chunk in a file that `write` wrote; an empty chunk if the file is damaged."""
        arrays = self.read_arrays(name)
        if arrays is None:
            return EMPTY
        positions = arrays.pop("items").astype(np.int64)
        columns: dict[str, Column] = {}
        for key, array in arrays.items():
            column_name, part = key.rsplit(".", 1)
            if part == "rows":
                columns[column_name] = array
            # "values" and "offsets" are the two parts of a `Ragged` column.
            elif part == "values":
                columns[column_name] = Ragged(array, arrays[f"{column_name}.offsets"])
        return Columns(positions, columns)


def open_store(folder: str | os.PathLike[str], run: Mapping[str, Any]) -> Store:
    """Open the store of a run in all processes, after the main process has created it.

    Args:
        folder: The folder.
        run: Everything that the results depend on, as JSON values; see `Store`.

    Raises:
        ValueError: If the folder contains other files, or another command is writing results of
            another run to it.
    """
    return processes().run_main_first(lambda: Store(folder, run), "opening the store")


# --- Options of a run


class HowToBatch(HowToKeep, total=False):
    """Options of a run over items of a local model, none of which changes a result.

    Attributes:
        batch_size: Maximum items per batch; 32 by default.
        max_tokens: Maximum tokens per padded batch; None (default) for no maximum.
        fail_fast: Whether an item that cannot be scored is an error; True by default.
    """

    batch_size: int
    max_tokens: int | None
    fail_fast: bool


class HowToRun(HowToKeep, total=False):
    """Options of a run, none of which changes a result.

    Attributes:
        notes: Name of a small file to write next to the results -> its JSON value.
        fail_fast: Whether an item that fails ends the run. Defaults to True. If False, the item is
            left out, see `run_batches`.
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
    """Run a computation with a model, which it does not change, over the batches of a dataset.

    Args:
        model: The model. It is in evaluation mode during the run, and restored afterwards.
        compute: Receives (n,) item indices. It returns columns with one row per item, or a function
            that waits for them.
        batches: Disjoint arrays of item indices that cover 0..N-1.
        kind: What is computed, such as "logits": the title of the progress bar, and part of what
            identifies a stored run.
        inputs: Returns what identifies a stored run besides the model and the code: fingerprints of
            the inputs, and every option that changes a result. It is called only with `out`.
        lengths: (N,) number of tokens of each item, which the progress bar counts. If None, it
            counts items.
        **run_options: Options of `HowToRun`.

    Returns:
        The columns; see `run_batches`.

    Raises:
        ValueError: If `out` contains other files, or another command is writing results of another
            run to it.
    """
    from rightreasons.models.batching import frozen

    # Unknown options are passed on to `run_batches`, which refuses them.
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
    # Later runs of the model begin with batches that fit in memory.
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

    The processes of a launch take turns at the batches, and each of them returns the complete
    result. It does not depend on the number of processes, up to rounding. With a store, results are
    written every few seconds and at the end, even if an error or Ctrl-C ends the run, and a later
    run computes only the missing items. If a batch does not fit in the memory of its device, it and
    the following batches are halved, with a warning.

    If `compute` returns a function that waits for the columns of a batch, the next batch is
    launched before that function is called. The GPU then has work while this process reads one
    batch and prepares another.

    Args:
        compute: Receives (n,) item indices. It returns columns with one row per item, or a function
            that waits for them.
        batches: Disjoint arrays of item indices that cover 0..N-1.
        store: Store of the results. If None, they are kept in memory only.
        progress: Whether to show a progress bar (in the main process).
        bar: Title and unit of the bar.
        fail_fast: Whether an item that fails ends the run. If not, a batch that fails is halved
            until each failing item has a batch of its own. These items are left out, and their
            reasons are stored.
        fitting: Title of a bar -> maximum number of items per batch that fit in memory, from
            earlier runs. The dictionary is updated. None to learn nothing for later runs.

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
    loop = _BatchLoop(compute, store, fail_fast, max_items=limits.get(bar.description))
    error: Exception | None = None
    try:
        is_shown = progress and workers.is_main and len(own_batches) > 0
        items = np.concatenate([np.empty(0, np.int64), *own_batches])
        with open_item_bar(bar, items, is_shown=is_shown) as advance:
            loop.run(own_batches, advance)
    except Exception as raised:
        if workers.count == 1:
            raise
        error = raised
    finally:
        if loop.max_items is not None:
            limits[bar.description] = loop.max_items

    # A process that failed also takes part in this exchange, or the others would wait forever.
    for raised_error in workers.gather(error, "errors"):
        if raised_error is not None:
            raise raised_error
    columns = join([computed, *workers.gather(join(loop.computed), "results")])
    failures = join([failed, *workers.gather(join(loop.failed), "failures")])
    result = columns.add_failures(failures)
    if result.failures and not len(columns):
        # All items usually fail for the same reason, so that the first reason is enough.
        first_reason = next(iter(result.failures.values()))
        raise OptionError(first_reason, option=loop.options)
    return result


def _read_stored(store: Store | None, fail_fast: bool) -> tuple[Columns, Columns]:
    """Return the results and the failures of earlier runs, which are not computed again.

    Args:
        store: The store; None for a run without one.
        fail_fast: Whether an item that fails ends the run. If so, items that failed earlier are
            tried again, and no failures are returned.

    Returns:
        The results; and the items that failed, with their reasons in a column `reason`.
    """
    if store is None:
        return EMPTY, EMPTY
    computed = store.read()
    if fail_fast:
        return computed, EMPTY
    failed = store.read(FAILED)
    # An item may have failed in one run, and succeeded in a later one. Then it is not a failure.
    is_failed = ~np.isin(failed.positions, computed.positions)
    columns = {name: np.asarray(column)[is_failed] for name, column in failed.columns.items()}
    return computed, Columns(failed.positions[is_failed], columns)


def _select_pending(
    batches: Sequence[NDArray[np.int64]], computed: Columns, failed: Columns
) -> list[NDArray[np.int64]]:
    """Remove from batches the items that earlier runs finished; empty batches are left out.

    Args:
        batches: Disjoint arrays of item indices that cover 0..N-1.
        computed: Results of earlier runs.
        failed: Failures of earlier runs.
    """
    finished = np.concatenate([computed.positions, failed.positions])
    # All processes use what the main process has read, because the others may see newer chunks.
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
class _BatchLoop:
    """The loop over the batches of one process, with its results so far.

    Attributes:
        compute: Receives item indices, and returns columns or a function that waits for them.
        store: Store of the results; None if they are kept in memory only.
        fail_fast: Whether an item that fails ends the run.
        computed: Chunks of results so far.
        failed: Chunks of the items that failed so far, with their reasons.
        n_written: Number of chunks of `computed`, and of `failed`, that are in the store.
        max_items: Maximum number of items per batch that fit in memory; None if all batches fit.
        options: Names of the options that caused the last failure; empty if no option did.
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
        """Compute batches one after another, and store the results, even if an error ends the work.

        While a device computes one batch, the next one is prepared and launched. At the beginning
        of a round of the loop, at most one batch is running.

        Args:
            batches: Arrays of item indices.
            advance: Called with the items of each finished batch, to advance a progress bar.
        """
        last_flush = time.monotonic()
        queue = deque(batches)
        # Items of the batches that were launched but not read, with functions that wait for them.
        launched: deque[tuple[NDArray[np.int64], Later]] = deque()
        try:
            while queue or launched:
                stop_if_signaled()
                is_running = False
                if queue:
                    items = self._take_batch(queue)
                    wait, is_running = self._launch(items)
                    launched.append((items, wait))
                # The new batch is read in the next round, after another one has been launched. If
                # it has finished already, or is the last one, it is read at once.
                n_left_running = int(is_running and len(queue) > 0)
                while len(launched) > n_left_running:
                    items, wait = launched.popleft()
                    halves = self._read(items, wait)
                    if halves:
                        _requeue(queue, halves, launched)
                    else:
                        advance(items)
                if time.monotonic() - last_flush >= FLUSH_SECONDS:
                    self._flush()
                    last_flush = time.monotonic()
        finally:
            # After an error, the results of batches that were launched later are stored if they are
            # valid. If not, the first error is the one to report.
            with contextlib.suppress(Exception):
                for items, wait in launched:
                    self.computed.append(Columns(items, wait()))
            self._flush()

    def _take_batch(self, queue: deque[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Remove the next batch from the queue, or as many of its items as fit in memory."""
        items = queue.popleft()
        if self.max_items is not None and len(items) > self.max_items:
            queue.appendleft(items[self.max_items :])
            items = items[: self.max_items]
        return items

    def _launch(self, items: NDArray[np.int64]) -> tuple[Later, bool]:
        """Start to compute a batch.

        Args:
            items: (n,) indices of the items.

        Returns:
            A function that waits for the columns, or raises the error of the batch; and whether the
            batch is still running on its device.
        """
        try:
            result = self.compute(items)
        except ITEM_ERRORS as error:
            return functools.partial(_raise, error), False
        if isinstance(result, Mapping):
            return functools.partial(dict, result), False
        return result, True

    def _read(self, items: NDArray[np.int64], wait: Later) -> list[NDArray[np.int64]]:
        """Wait for the columns of a batch, and keep them; or halve the batch if it failed.

        Batches get smaller until they fit in memory, and until an item that fails is alone in its
        batch. The reason of such an item is kept.

        Args:
            items: (n,) indices of the items of the batch.
            wait: Returns the columns of the batch, or raises its error.

        Returns:
            Two halves of the batch that have to be computed instead; empty if the batch is
            finished.

        Raises:
            Exception: The error of the batch, if it ends the run.
        """
        try:
            self.computed.append(Columns(items, wait()))
        # No item is at fault, and others would be misread.
        except ScoreKindError:
            raise
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
        """Write all results and failures that are not in the store yet."""
        if self.store is None:
            return
        n_computed, n_failed = self.n_written
        self.store.write(join(self.computed[n_computed:]))
        self.store.write(join(self.failed[n_failed:]), FAILED)
        self.n_written = (len(self.computed), len(self.failed))


def _is_out_of_memory(error: Exception) -> bool:
    """Return whether a batch failed because its device did not have enough memory."""
    # The error of torch is the cause of an error that names the item. It is recognized by the name
    # of its class, so that torch need not be imported. Libraries that allocate memory themselves,
    # such as cuBLAS, report a status like CUBLAS_STATUS_ALLOC_FAILED.
    cause = error.__cause__ or error
    return type(cause).__name__ == "OutOfMemoryError" or "_ALLOC_FAILED" in str(cause)


def _requeue(
    queue: deque[NDArray[np.int64]],
    halves: Sequence[NDArray[np.int64]],
    launched: deque[tuple[NDArray[np.int64], Later]],
) -> None:
    """Put a batch that failed, and those launched after it, back at the front of the queue.

    Args:
        queue: Batches that have not been launched yet.
        halves: The two halves of the batch that failed.
        launched: Batches that were launched after it, which is emptied. They may not fit in memory
            either, or may be lost with the failed batch.
    """
    batches = [*halves, *(items for items, _ in launched)]
    # `extendleft` adds one element after the other to the front, which reverses their order.
    queue.extendleft(reversed(batches))
    launched.clear()
    # cuBLAS cannot use memory that the allocator of torch holds in reserve.
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def _raise(error: Exception) -> Any:
    raise error
