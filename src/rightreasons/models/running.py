"""Run a computation over the batches of a dataset: sharded, resumable, with a progress bar, in the dataset's order.

Here are the bars, the processes of a launch, and the chunks that are stored.
"""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import functools
import itertools
import os
import sys
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm  # type: ignore[import-untyped]

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import format_error
from rightreasons.core.signals import is_progress_visible, stop_if_signaled
from rightreasons.core.store import Records, digest_package_code
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.protocol import HowToKeep

if TYPE_CHECKING:
    import torch
    from typing_extensions import Unpack


FAILED = "failed"
"""The kind of the chunks that hold reasons, in a column `reason`, why items have no results."""

NO_WORDS = "Its text has no words."
"""Why an empty text is left out."""

TOKENS_PER_ITEM = 128
"""What a batch of so many items may hold for each of them: a language model batches by tokens."""

SMALLEST_BATCH, LARGEST_BATCH = 32, 256

FLUSH_SECONDS = 5.0
"""Maximum seconds of unwritten work; 0 writes after every batch."""

MOST_FAILURES = 100
"""How many of the first items may fail before a run that leaves failing items out gives up."""

Column: TypeAlias = "NDArray[Any] | Ragged"
Later = Callable[[], Mapping[str, Column]]
"""Waits for the columns of a batch that has been launched, as `read_later` makes it."""
Compute = Callable[[NDArray[np.int64]], "Mapping[str, Column] | Later"]
T = TypeVar("T")

_FITTING: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()
"""Model -> what is computed -> items of a batch that fit in memory, if a larger batch did not."""

_meetings = itertools.count(1)

_about: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("about", default=())


@contextlib.contextmanager
def bars_about(*words: str) -> Iterator[None]:
    """Let the bars that are opened inside begin with these words, after those of the blocks around it.

    Example:
        >>> with bars_about("2/3 shortcuts"), bars_about("test"), progress_bar(1, "attributions", shown=False) as bar:
        ...     title_of("attributions")
        '2/3 shortcuts, test: attributions'
    """
    token = _about.set((*_about.get(), *words))
    try:
        yield
    finally:
        _about.reset(token)


def title_of(what: str) -> str:
    """Return what is written before a bar: what it is about, and what is computed."""
    return f"{', '.join(_about.get())}: {what}" if _about.get() else what


def progress_bar(total: int, what: str, *, shown: bool, unit: str = "item") -> Any:
    """Open a bar on stderr.

    Args:
        total: Units of the work.
        what: What is computed.
        shown: Whether it is shown where somebody watches.
        unit: The name of a unit.
    """
    return tqdm(
        total=total, desc=title_of(what), unit=unit, disable=not (shown and is_progress_visible())
    )


@dataclass(frozen=True)
class Processes:
    """The processes that `accelerate launch` or `torchrun` started, or this single one.

    Attributes:
        rank: The number of this one, from 0.
        count: Number of processes.
    """

    rank: int = 0
    count: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that reports."""
        return self.rank == 0

    def gather(self, value: T, at: str) -> list[T]:
        """Return the values of all processes, by rank, in every process.

        Args:
            value: The value of this one.
            at: What is gathered. Processes that took different ways meet at different names, or numbers of meetings.

        Raises:
            ConnectionError: If another process has ended.
            RuntimeError: If another process is somewhere else, whose value is another thing.
        """
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        here = f"{title_of(at)} (meeting {next(_meetings)})"
        try:
            gathered: list[tuple[str, T]] = gather_object([(here, value)])
        except RuntimeError as error:
            raise ConnectionError(
                f"Expected an answer from all {self.count} processes, but one has ended, whose own last line tells "
                "why; what was computed is kept, and the same command goes on from there."
            ) from error
        where, values = zip(*gathered, strict=True)
        if len(set(where)) > 1:
            places = ", ".join(f"process {rank} at {place}" for rank, place in enumerate(where))
            raise RuntimeError(
                f"Expected all {self.count} processes at one place, but got {places}."
            )
        return list(values)

    def main_first(self, function: Callable[[], T], at: str) -> T:
        """Call a function in the main process, then in the others; an error of the main process is raised in all."""
        result: list[T] = []
        error: Exception | None = None
        if self.is_main:
            try:
                result.append(function())
            except Exception as raised:
                error = raised
        error = self.gather(error, at)[0]
        if error is not None:
            raise error
        return result[0] if self.is_main else function()


def processes() -> Processes:
    """Return the processes of this launch; a plain run is one process and starts nothing."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes()
    state = _state()
    return Processes(state.process_index, state.num_processes)


def default_device() -> str:
    """Return the device of this process: its GPU if there is one, else the CPU."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return str(_state().device)
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def default_batch_size(scorer: Any) -> int:
    """Return how many items a batch has where nobody says: 32, and on a GPU what half of its free memory takes.

    Counted are, for each of 128 tokens, the states that a layer keeps for its gradients, in all layers: 8 times the
    width and 3 times the inner width. That is within a factor of two of what passes were seen to take
    (benchmarks/RESULTS.md); a batch that does not fit after all is halved.

    Args:
        scorer: A model of torch, or a scorer or the engine of one that has it; anything else is on no GPU.

    Returns:
        A power of two from 32 to 256.

    Example:
        >>> import torch
        >>> default_batch_size(torch.nn.Linear(2, 2))
        32
    """
    holder = getattr(scorer, "engine", scorer)
    model = getattr(holder, "model", holder)
    device: Any = getattr(model, "device", None)
    if getattr(device, "type", "cpu") != "cuda" or not hasattr(model, "config"):
        return SMALLEST_BATCH
    from rightreasons.models.batching import get_free_memory

    config = model.config.get_text_config()
    width = getattr(config, "hidden_size", 1024)
    states = (
        8 * width + 3 * (getattr(config, "intermediate_size", None) or 4 * width)
    ) * model.dtype.itemsize
    free_bytes = get_free_memory(device)
    items = free_bytes // 2 // (states * getattr(config, "num_hidden_layers", 24) * TOKENS_PER_ITEM)
    return min(max(1 << max(int(items).bit_length() - 1, 0), SMALLEST_BATCH), LARGEST_BATCH)


def _state() -> Any:
    import torch
    from accelerate import PartialState

    count = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    gpus = torch.cuda.device_count()
    if 0 < gpus < count:
        raise ValueError(
            f"Expected a GPU for each of the {count} processes on this machine, but it has {gpus}: start as many, or "
            "hide them with CUDA_VISIBLE_DEVICES=''."
        )
    joined_before = torch.distributed.is_initialized()
    # Without a GPU accelerate joins the processes only with cpu=True.
    state: Any = PartialState(cpu=not torch.cuda.is_available())
    if torch.distributed.is_initialized() and not joined_before:
        # The threads that join the processes have to end before Python does, or they may abort it. A caller who joined
        # the processes also separates them.
        atexit.register(state.destroy_process_group)
    return state


@dataclass(frozen=True, eq=False)
class Columns:
    """Results of some items of a dataset.

    Attributes:
        positions: (n,) the positions of the items in the dataset.
        columns: One row per item under each name: an array (n, ...), or `Ragged` where the rows differ in length.
        failures: Item -> the reason why it has no row; {} unless failing items are left out.
    """

    positions: NDArray[np.int64]
    columns: Mapping[str, Column]
    failures: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def leaving_out(self, failed: Columns) -> Columns:
        """Return the same, with the reasons why other items are missing."""
        reasons = map(str, np.asarray(failed["reason"])) if len(failed) else ()
        return replace(self, failures=dict(zip(failed.positions.tolist(), reasons, strict=True)))

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
        for name, column in self.columns.items():
            if isinstance(column, Ragged):
                blank[name] = Ragged.of(
                    np.full(int(lengths[name][failed].sum()), np.nan), lengths[name][failed]
                )
            else:
                value = np.nan if column.dtype.kind == "f" else 0
                blank[name] = np.full((len(failed), *column.shape[1:]), value, dtype=column.dtype)
        return replace(join([self, Columns(failed, blank)]), failures=self.failures)

    def array(self, name: str) -> NDArray[Any]:
        """Return a column with one value, or one array of a fixed shape, per item."""
        return np.asarray(self.columns[name])

    def ragged(self, name: str) -> Ragged:
        """Return a column whose rows may differ in length.

        Raises:
            TypeError: If the column is an array.
        """
        column = self.columns[name]
        if not isinstance(column, Ragged):
            raise TypeError(
                f"Expected the column {name!r} to have rows of their own lengths, but it is an array."
            )
        return column


def join(chunks: Iterable[Columns]) -> Columns:
    """Join chunks into one with its items in the dataset's order; a repeated item is kept once.

    Example:
        >>> late = Columns(np.array([2]), {"x": np.array([0.3])})
        >>> early = Columns(np.array([1, 0]), {"x": np.array([0.2, 0.1])})
        >>> join([late, early]).columns["x"]
        array([0.1, 0.2, 0.3])
    """
    parts = [chunk for chunk in chunks if len(chunk)]
    if not parts:
        return Columns(np.empty(0, np.int64), {})
    items, order = np.unique(np.concatenate([part.positions for part in parts]), return_index=True)
    columns: dict[str, Column] = {}
    for name in parts[0].columns:
        rows: list[Any] = [part.columns[name] for part in parts]
        if all(isinstance(each, Ragged) for each in rows):
            values = np.concatenate([row.values for row in rows])
            lengths = np.concatenate([row.lengths for row in rows])
            columns[name] = Ragged.of(values, lengths).take(order)
        else:
            columns[name] = np.concatenate(rows)[order]
    return Columns(items, columns)


class Store(Records):
    """The chunks of one run in one folder; a chunk is a record of arrays, as `Records` says.

    Args:
        folder: The folder of the chunks; made if it does not exist.
        run: What the results depend on, as short plain values: fingerprints of model and inputs, the version of the
            code, and every option that changes a result. What another run left in the folder is set aside.

    Raises:
        ValueError: If the folder holds other files, or another command is writing results of another run to it.
    """

    def write(self, chunk: Columns, kind: str = "chunk") -> None:
        """Write one chunk, whole or not at all; `kind` tells those of results from those of failures."""
        if not len(chunk):
            return
        arrays: dict[str, NDArray[Any]] = {"items": chunk.positions}
        for name, column in chunk.columns.items():
            if isinstance(column, Ragged):
                arrays[f"{name}.values"] = column.values
                arrays[f"{name}.offsets"] = column.offsets
            else:
                arrays[f"{name}.rows"] = column
        # Chunks share no item, so each has a name of its own, whichever process writes it.
        self.write_arrays(f"{kind}-{int(chunk.positions.min()):09d}.npz", arrays)

    def read(self, kind: str = "chunk") -> Columns:
        """Read all chunks of a kind, in the dataset's order; what is damaged or stale is set aside and left out."""
        return join(self._read(path.name) for path in sorted(self.folder.glob(f"{kind}-*.npz")))

    def _read(self, name: str) -> Columns:
        arrays = self.read_arrays(name)
        if arrays is None:
            return Columns(np.empty(0, np.int64), {})
        items = arrays.pop("items").astype(np.int64)
        columns: dict[str, Column] = {}
        for key, array in arrays.items():
            stem, kind = key.rsplit(".", 1)
            if kind == "rows":
                columns[stem] = array
            elif kind == "values":
                columns[stem] = Ragged(array, arrays[f"{stem}.offsets"])
        return Columns(items, columns)


def open_store(folder: str | os.PathLike[str], run: Mapping[str, Any]) -> Store:
    """Open the store of a run in every process of the launch: the main one makes it, and the others find it made.

    Args:
        folder: The folder.
        run: What the results depend on, as in `Store`.

    Raises:
        ValueError: If the folder holds other files, or another command is writing results of another run to it.
    """
    return processes().main_first(lambda: Store(folder, run), "opening the store")


class HowToBatch(HowToKeep, total=False):
    """How a run over items of a model in this process is batched, shown and kept; nothing of it changes a result.

    Attributes:
        batch_size: Maximum items per batch; 32 by default.
        max_tokens: Maximum tokens per padded batch; None, the default, for no bound.
        fail_fast: Whether an item that cannot be scored is an error, as it is by default.
    """

    batch_size: int
    max_tokens: int | None
    fail_fast: bool


class HowToRun(HowToKeep, total=False):
    """How a run is shown and kept; nothing of it changes a result.

    Attributes:
        notes: Small files to write beside the results: JSON values by name.
        fail_fast: Whether an item that fails ends the run, as it does by default; if not, it is left out, as
            `run_batches` says.
    """

    notes: Mapping[str, Any] | None
    fail_fast: bool


def run_model(
    model: torch.nn.Module,
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    kind: str,
    inputs: Callable[[], Mapping[str, Any]],
    **how: Unpack[HowToRun],
) -> Columns:
    """Run a computation that only reads a model over the batches of a dataset; `run_batches` says how.

    Args:
        model: The model; it is frozen meanwhile and afterwards as it was.
        compute: Takes (n,) items and returns named columns with one row per item, or a function that waits for them.
        batches: Disjoint arrays of items that cover 0..N-1.
        kind: What is computed: the text of the progress bar, and part of what a store belongs to.
        inputs: Returns what the results depend on beside the model and the code: fingerprints of the inputs, and every
            option that changes a result. Called only with `out`.
        **how: How the run is shown and kept, as `HowToRun` says.

    Raises:
        ValueError: If `out` holds other files, or another command is writing results of another run to it.
    """
    from rightreasons.models.batching import frozen

    rest: dict[str, Any] = dict(how)  # what is unknown, `run_batches` refuses
    out, notes, store = rest.pop("out", None), rest.pop("notes", None) or {}, None
    if out is not None:
        run = {
            "kind": kind,
            "model": fingerprint_model(model),
            **inputs(),
            "code": digest_package_code(),
        }
        store = open_store(out, run)
        for name, value in notes.items() if processes().is_main else ():
            store.write_json(name, value)
    # A later question about the model begins with batches that fit.
    fitting = _FITTING.setdefault(model, {})
    with frozen(model):
        return run_batches(compute, batches, store=store, description=kind, fitting=fitting, **rest)


def run_batches(
    compute: Compute,
    batches: Sequence[NDArray[np.int64]],
    *,
    store: Store | None = None,
    progress: bool = True,
    description: str = "items",
    fail_fast: bool = True,
    fitting: dict[str, int] | None = None,
) -> Columns:
    """Call `compute` on each batch of items and return its columns in the order of the items.

    The processes of one launch take the batches in turn, and each returns the whole result. The batches do not depend
    on the number of processes, and so neither does the result, to the rounding of the arithmetic. With a store, results
    are written every few seconds and at the end, also when an error or Ctrl-C ends the run; a later run of the same
    kind computes only what is missing. A batch that does not fit in the memory of its device is halved, and so are
    those that follow; a warning says so.

    Where `compute` returns a function that waits for the columns of a batch, the next batch is launched before it is
    called, so that a GPU has work while this process reads one batch and prepares another.

    Args:
        compute: Takes (n,) items and returns named columns with one row per item, or a function that waits for them.
        batches: Disjoint arrays of items that cover 0..N-1.
        store: Where results are kept; None keeps them in memory.
        progress: Whether to show a progress bar (on the main process).
        description: The text of the bar.
        fail_fast: Whether an item that fails ends the run. If not, a batch that fails is halved until the failing items
            are alone; they are left out, and stored with their reasons.
        fitting: Description -> items of a batch that fit in memory, from earlier runs; takes what this run finds. None
            for a run that others learn nothing from.

    Returns:
        Each column over all N items, or over those that did not fail.

    Raises:
        ValueError: If every item fails, or the first `MOST_FAILURES` do.
        Exception: Whatever `compute` raises, in every process.
    """
    workers = processes()
    before, failed = _stored(store, fail_fast)
    # Use the main process's list of finished items; other processes may see newer chunks.
    done = np.zeros(sum(map(len, batches)), dtype=bool)
    done[
        workers.gather(np.concatenate([before.positions, failed.positions]), "what is done")[0]
    ] = True
    pending = [batch[~done[batch]] for batch in batches if not done[batch].all()]
    mine = pending[workers.rank :: workers.count]
    fitting = {} if fitting is None else fitting
    work = _Work(compute, store, fail_fast, most=fitting.get(description))
    error: Exception | None = None
    try:
        shown = progress and workers.is_main and len(mine) > 0
        with progress_bar(sum(map(len, mine)), description, shown=shown) as bar:
            work.run(mine, bar.update)
    except Exception as raised:
        if workers.count == 1:
            raise
        error = raised
    finally:
        if work.most is not None:
            fitting[description] = work.most
    # A process that failed still takes part, so that the others learn of it and none waits forever.
    errors = [raised for raised in workers.gather(error, "errors") if raised is not None]
    if errors:
        raise errors[0]
    columns = join([before, *workers.gather(join(work.computed), "results")])
    result = columns.leaving_out(join([failed, *workers.gather(join(work.failed), "failures")]))
    if result.failures and not len(columns):
        raise ValueError(next(iter(result.failures.values())))
    return result


# The errors that an item may be at fault for.
_OF_ITEMS = (ValueError, RuntimeError, LookupError, ArithmeticError)


@dataclass(eq=False)
class _Work:
    """What one process computes of a run, written every few seconds and at the end.

    Attributes:
        most: Items of a batch that fit in memory; None while all do.
    """

    compute: Compute
    store: Store | None
    fail_fast: bool
    computed: list[Columns] = field(default_factory=list)
    failed: list[Columns] = field(default_factory=list)
    written: tuple[int, int] = (0, 0)
    most: int | None = None

    def run(self, batches: Sequence[NDArray[np.int64]], advance: Callable[[int], object]) -> None:
        """Compute batches; what is computed is written also when an error ends it."""
        last = time.monotonic()
        queue = deque(batches)
        launched: deque[tuple[NDArray[np.int64], Later]] = deque()
        try:
            while queue or launched:
                stop_if_signaled()
                ahead = False
                if queue:
                    items = queue.popleft()
                    if self.most is not None and len(items) > self.most:
                        queue.appendleft(items[self.most :])
                        items = items[: self.most]
                    try:
                        columns: Any = self.compute(items)
                    except _OF_ITEMS as error:
                        launched.append((items, functools.partial(_raise, error)))
                    else:
                        ahead = not isinstance(columns, Mapping)
                        launched.append(
                            (items, columns if ahead else functools.partial(dict, columns))
                        )
                # One is left unread while the next is prepared, unless what came last is at hand, or an error.
                while len(launched) > (ahead and len(queue) > 0):
                    items = launched[0][0]
                    if again := self._read(*launched.popleft()):
                        # What was launched after it may lack memory, too, or be lost with it.
                        queue.extendleft(reversed([*again, *(after for after, _ in launched)]))
                        launched.clear()
                        if "torch" in sys.modules:  # what its allocator keeps, cuBLAS cannot have
                            sys.modules["torch"].cuda.empty_cache()
                    else:
                        advance(len(items))
                if time.monotonic() - last >= FLUSH_SECONDS:
                    self._flush()
                    last = time.monotonic()
        finally:
            with contextlib.suppress(Exception):  # that of the batch before ends the run
                for items, read in launched:
                    self.computed.append(Columns(items, read()))
            self._flush()

    def _read(self, items: NDArray[np.int64], read: Later) -> list[NDArray[np.int64]]:
        """Wait for the columns of a batch; return its halves where they are to be computed by themselves."""
        try:
            self.computed.append(Columns(items, read()))
        except _OF_ITEMS as error:
            # An item is not at fault for a batch that is too large for the memory.
            cause = error.__cause__ or error
            # torch's own, without torch; libraries beside its allocator have a status
            too_large = type(cause).__name__ == "OutOfMemoryError" or "_ALLOC_FAILED" in str(cause)
            if (self.fail_fast and not too_large) or (too_large and len(items) == 1):
                raise
            if too_large:
                self.most = -(-len(items) // 2)
                what = f"A batch of {len(items)} does not fit in the device's memory"
                warnings.warn(f"{what}: batches of {self.most} follow.", stacklevel=2)
            if (
                len(items) > 1
            ):  # its halves are computed once its error, and the memory that it holds, are gone
                return np.array_split(items, 2)
            self.failed.append(Columns(items, {"reason": np.array([format_error(error)])}))
            if not self.computed and len(self.failed) >= MOST_FAILURES:
                raise
        return []

    def _flush(self) -> None:
        if self.store:
            self.store.write(join(self.computed[self.written[0] :]))
            self.store.write(join(self.failed[self.written[1] :]), FAILED)
            self.written = len(self.computed), len(self.failed)


def _raise(error: Exception) -> Any:
    raise error


def _stored(store: Store | None, fail_fast: bool) -> tuple[Columns, Columns]:
    """Read what a store holds: results, and failures where they are not to be met again."""
    nothing = Columns(np.empty(0, np.int64), {})
    if store is None:
        return nothing, nothing
    computed = store.read()
    failed = nothing if fail_fast else store.read(FAILED)
    # An item that failed once, and was computed by a later run that stops at failures, has its result.
    left = ~np.isin(failed.positions, computed.positions)
    return computed, Columns(
        failed.positions[left],
        {name: np.asarray(column)[left] for name, column in failed.columns.items()},
    )
