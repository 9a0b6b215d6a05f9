"""Run a computation over the batches of a dataset: sharded, resumable, with a progress bar, in the dataset's order."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.foundations.code_version import code_of
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.sentences import in_one_sentence
from rightreasons.foundations.storing.lease import leased
from rightreasons.models.running.bars import progress_bar
from rightreasons.models.running.fingerprint import fingerprint_model
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.processes import processes
from rightreasons.models.running.store import FAILED, Chunk, Column, Store, join

Compute = Callable[[NDArray[np.int64]], Mapping[str, Column]]


MOST_FAILURES = 100
"""How many of the first items may fail before a run that leaves failing items out gives up."""


class Columns(dict[str, Column]):
    """The columns of a run, each over all items, or over those that did not fail.

    Attributes:
        positions: (n,) the items that the rows of the columns are of.
        failures: Item -> the reason why it has no row; {} unless failing items are left out.
    """

    def __init__(self, chunk: Chunk, failures: Mapping[int, str]) -> None:
        super().__init__(chunk.columns)
        self.positions = chunk.items
        self.failures = dict(failures)

    @classmethod
    def of(cls, columns: Chunk, failed: Chunk) -> Columns:
        """Join computed rows with the reasons why others are missing."""
        reasons = map(str, np.asarray(failed.columns["reason"])) if len(failed) else ()
        return cls(columns, dict(zip(failed.items.tolist(), reasons, strict=True)))

    def whole(self, owners: NDArray[np.int64]) -> tuple[NDArray[np.bool_], dict[int, str]]:
        """Tell which items have all of their rows, where an item has several.

        Args:
            owners: (S,) the item that each of the S rows, failed ones included, belongs to.

        Returns:
            Which of the rows of these columns belong to an item without a failure, and item -> reason of the others.
        """
        reasons: dict[int, str] = {}
        for row, reason in sorted(self.failures.items()):
            reasons.setdefault(int(owners[row]), reason)
        rows = ~np.isin(owners[self.positions], list(reasons))
        if self.failures and not rows.any():
            raise ValueError(next(iter(reasons.values())))
        return rows, reasons

    def filled(self, lengths: Mapping[str, NDArray[np.int64]]) -> Columns:
        """Return the columns over all items, with NaN, or 0 among whole numbers, for those that failed.

        Args:
            lengths: Column whose rows differ in length -> (N,) the lengths of its rows.
        """
        failed = np.array(sorted(self.failures), dtype=np.int64)
        if not len(failed):
            return self
        blank: dict[str, Column] = {}
        for name, column in self.items():
            if isinstance(column, Ragged):
                blank[name] = Ragged.of(np.full(int(lengths[name][failed].sum()), np.nan), lengths[name][failed])
            else:
                value = np.nan if column.dtype.kind == "f" else 0
                blank[name] = np.full((len(failed), *column.shape[1:]), value, dtype=column.dtype)
        return Columns(join([Chunk(self.positions, self), Chunk(failed, blank)]), self.failures)

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
        ValueError: If the folder holds other files, or another command is writing results of another run to it.
    """
    return processes().main_first(lambda: Store(folder, run))


def run_model(
    model: torch.nn.Module,
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    kind: str,
    inputs: Callable[[], Mapping[str, Any]],
    code: Callable[..., Any] | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    notes: Mapping[str, Any] | None = None,
    fail_fast: bool = True,
) -> Columns:
    """Run a computation that only reads a model over the batches of a dataset; `run_batches` says how.

    Args:
        model: The model; it is frozen meanwhile and afterwards as it was.
        compute: Takes (n,) items and returns named columns with one row per item.
        batches: Disjoint arrays of items that cover 0..N-1.
        kind: What is computed: the text of the progress bar, and part of what a store belongs to.
        inputs: Returns what the results depend on beside the model and the code: fingerprints of the inputs, and every
            option that changes a result. Called only with `out`.
        code: The function whose code the results depend on, with all that it reaches; None for `compute`.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; a later run of the same kind resumes. None keeps
            them in memory.
        notes: Small files to write beside the results: JSON values by name.
        fail_fast: As in `run_batches`.

    Raises:
        ValueError: If `out` holds other files, or another command is writing results of another run to it.
    """
    with contextlib.ExitStack() as held:
        store = None
        if out is not None:
            run = {"kind": kind, "model": fingerprint_model(model), **inputs(), **versions_of(code or compute)}
            store = open_store(out, run)
            held.enter_context(leased(store.folder))
            for name, value in (notes or {}).items():
                if processes().is_main:
                    store.write_json(name, value)
        held.enter_context(frozen(model))
        return run_batches(compute, batches, store=store, progress=progress, description=kind, fail_fast=fail_fast)


def versions_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the versions of the code that results of a model depend on: ours, and that of its libraries."""
    return {"code": code_of(function), "libraries": [torch.__version__, transformers.__version__]}


def run_batches(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    store: Store | None = None,
    progress: bool = True,
    description: str = "items",
    flush_seconds: float = 5.0,
    fail_fast: bool = True,
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
        fail_fast: Whether an item that fails ends the run. If not, a batch that fails is halved until the failing items
            are alone; they are left out, and stored with their reasons.

    Returns:
        Each column over all N items, or over those that did not fail.

    Raises:
        ValueError: If every item fails, or the first `MOST_FAILURES` do.
        Exception: Whatever `compute` raises, in every process.
    """
    workers = processes()
    before, failed = _stored(store, fail_fast)
    # Use the main process's list of finished items; other processes may see newer chunks.
    done = np.zeros(_count(batches), dtype=bool)
    done[workers.gather(np.concatenate([before.items, failed.items]))[0]] = True
    pending = [batch[~done[batch]] for batch in batches if not done[batch].all()]
    mine = pending[workers.rank :: workers.count]
    work = _Work(compute, store, flush_seconds, fail_fast)
    error: Exception | None = None
    try:
        shown = progress and workers.is_main and len(mine) > 0
        with progress_bar(_count(mine), description, shown=shown) as bar:
            work.run(mine, bar.update)
    except Exception as raised:
        if workers.count == 1:
            raise
        error = raised
    # A process that failed still takes part, so that the others learn of it and none waits forever.
    errors = [raised for raised in workers.gather(error) if raised is not None]
    if errors:
        raise errors[0]
    columns = join([before, *workers.gather(join(work.computed))])
    result = Columns.of(columns, join([failed, *workers.gather(join(work.failed))]))
    if result.failures and not len(columns):
        raise ValueError(next(iter(result.failures.values())))
    return result


class _Work:
    """What one process computes of a run, written every few seconds and at the end."""

    def __init__(self, compute: Compute, store: Store | None, flush_seconds: float, fail_fast: bool) -> None:
        self.compute, self.store, self.flush_seconds, self.fail_fast = compute, store, flush_seconds, fail_fast
        self.computed: list[Chunk] = []
        self.failed: list[Chunk] = []
        self._written = (0, 0)

    def run(self, batches: Sequence[NDArray[np.int64]], advance: Callable[[int], object]) -> None:
        """Compute batches; what is computed is written also when an error ends it."""
        last = time.monotonic()
        try:
            for items in batches:
                self._attempt(items)
                advance(len(items))
                if time.monotonic() - last >= self.flush_seconds:
                    self._flush()
                    last = time.monotonic()
        finally:
            self._flush()

    def _attempt(self, items: NDArray[np.int64]) -> None:
        try:
            self.computed.append(Chunk(items, self.compute(items)))
        except (ValueError, RuntimeError, LookupError, ArithmeticError) as error:
            # An item is not at fault for a batch that is too large for the memory.
            if self.fail_fast or isinstance(error.__cause__ or error, torch.OutOfMemoryError):
                raise
            if len(items) > 1:
                for half in np.array_split(items, 2):
                    self._attempt(half)
                return
            self.failed.append(Chunk(items, {"reason": np.array([in_one_sentence(error)])}))
            if not self.computed and len(self.failed) >= MOST_FAILURES:
                raise

    def _flush(self) -> None:
        if self.store:
            self.store.write(join(self.computed[self._written[0] :]))
            self.store.write(join(self.failed[self._written[1] :]), FAILED)
            self._written = len(self.computed), len(self.failed)


def _stored(store: Store | None, fail_fast: bool) -> tuple[Chunk, Chunk]:
    """Read what a store holds: results, and failures where they are not to be met again."""
    nothing = Chunk(np.empty(0, np.int64), {})
    if store is None:
        return nothing, nothing
    computed, failed = store.read(), nothing if fail_fast else store.read(FAILED)
    # An item that failed once, and was computed by a later run that stops at failures, has its result.
    left = ~np.isin(failed.items, computed.items)
    return computed, Chunk(
        failed.items[left], {name: np.asarray(column)[left] for name, column in failed.columns.items()}
    )


def _count(batches: Sequence[NDArray[np.int64]]) -> int:
    return sum(len(batch) for batch in batches)
