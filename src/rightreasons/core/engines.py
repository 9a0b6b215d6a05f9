"""Running many independent tasks: one after the other, in processes, or on a cluster of dask.

`EngineOptions` says where, and `run_tasks` yields each result as soon as it is there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from rightreasons.core.extras import require_package
from rightreasons.core.options import Options, option
from rightreasons.core.signals import (
    allow_immediate_interrupt,
    is_progress_visible,
    stop_if_signaled,
)

T = TypeVar("T")
R = TypeVar("R")

ENGINES = ("serial", "loky", "dask")
ENGINE_FORMS = "serial, loky, dask or dask://HOST:PORT"

_CONNECTION_TIMEOUT_SECONDS = 10


class EngineOptions(Options):
    """Engine that runs the independent tasks of a command.

    Example:
        >>> options = EngineOptions("dask://10.0.0.1:8786")
        >>> options.name, options.address
        ('dask', '10.0.0.1:8786')
        >>> EngineOptions().name, EngineOptions(jobs=4).name
        ('serial', 'loky')
    """

    engine: str | None = option(
        None,
        f"Engine that runs tasks: {ENGINE_FORMS}. By default loky (processes of this computer) if "
        "--jobs is above 1, otherwise serial.",
    )
    jobs: int | None = option(
        None,
        "Number of simultaneous tasks; by default the number of cores or workers of the engine.",
        minimum=1,
    )

    def _check(self) -> None:
        """Check that the engine is known, and that only dask has an address.

        Examples of valid engines are "loky" and "dask://localhost:8786".
        """
        # Imported here, because the module imports numpy, which would slow down `--help`.
        from rightreasons.core.validation import check_one_of

        check_one_of(self.name, ENGINES, "engine")
        if self.engine is None or "://" not in self.engine:
            return
        if self.name != "dask" or not self.address:
            raise ValueError(f"Expected `engine` to be {ENGINE_FORMS}, but got {self.engine!r}.")

    @property
    def name(self) -> str:
        """Name of the engine, one of `ENGINES`."""
        if self.engine is None:
            return "loky" if (self.jobs or 1) > 1 else "serial"
        return self.engine.partition("://")[0]

    @property
    def address(self) -> str:
        """HOST:PORT of a running cluster, or "" if the engine is started here."""
        return (self.engine or "").partition("://")[2]


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    options: EngineOptions | None = None,
    progress: bool = True,
) -> Iterator[tuple[int, R]]:
    """Run a function on each task, and yield the results as they are finished.

    All engines give the same results if the number of threads is fixed, because PyTorch rounds
    differently with other values of `OMP_NUM_THREADS`. After an error, the results that the
    function or the caller has stored remain.

    Args:
        function: Function of one task. Engines other than serial import it in their workers, which
            need the same version of this package, and access to the same folders.
        tasks: The tasks.
        options: The engine. If None, the tasks run here, one after the other.
        progress: Whether to show a progress bar.

    Yields:
        (index of the task, result). The serial engine keeps the order of the tasks.

    Raises:
        Exception: An error of the function. Tasks that have not started by then are not run.
        RuntimeError: If a worker process dies, for example because memory runs out.
        ValueError: If a cluster cannot be reached.

    Example:
        >>> list(run_tasks(abs, [-3, 2], progress=False))
        [(0, 3), (1, 2)]
    """
    options = options or EngineOptions()
    results: Iterator[tuple[int, R]]
    # Both branches are lazy: the caller stores one result before the next task starts.
    if options.name == "serial":
        results = (_run_with_index(function, index, task) for index, task in enumerate(tasks))
    else:
        results = _run_remotely(function, tasks, options)
    if progress and tasks and is_progress_visible():
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        results = tqdm(results, total=len(tasks), desc="tasks", unit="task")
    yield from results


def _run_remotely(
    function: Callable[[T], R], tasks: Sequence[T], options: EngineOptions
) -> Iterator[tuple[int, R]]:
    """Run a function on each task in worker processes of joblib, on this computer or a dask cluster.

    Args:
        function: Function of one task.
        tasks: The tasks.
        options: The engine ("loky" or "dask"), and the number of workers.

    Yields:
        (index of the task, result), in the order in which the results arrive.

    Raises:
        RuntimeError: If a worker process dies.
    """
    require_package("joblib")
    import joblib

    # The stack closes the configuration and the cluster, also if the caller stops early.
    with contextlib.ExitStack() as stack:
        backend_options = {}
        if options.name == "dask":
            backend_options["client"] = stack.enter_context(_connect_dask(options))
        # joblib uses all cores or workers if the number is -1.
        n_jobs = options.jobs or -1
        stack.enter_context(joblib.parallel_config(options.name, n_jobs=n_jobs, **backend_options))

        # One task per batch: tasks take minutes, and each result should be stored at once.
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        run = joblib.delayed(_run_with_index)
        try:
            results = parallel(run(function, index, task) for index, task in enumerate(tasks))
            for _ in tasks:
                with allow_immediate_interrupt():
                    result = next(results)
                yield result
        except BrokenExecutor as error:
            raise RuntimeError(
                "Expected the worker processes to finish, but one died, possibly because it ran "
                "out of memory. Results that were already stored are kept."
            ) from error


def _run_with_index(function: Callable[[T], R], index: int, task: T) -> tuple[int, R]:
    stop_if_signaled()
    return index, function(task)


@contextlib.contextmanager
def _connect_dask(options: EngineOptions) -> Iterator[Any]:
    """Connect to a dask cluster, or start a cluster of local processes if there is no address.

    Args:
        options: The address of the scheduler, or the number of local processes (`jobs`).

    Yields:
        The client of the cluster. A cluster of local processes ends with the block.

    Raises:
        ValueError: If the cluster cannot be reached.
    """
    require_package("distributed")
    import distributed

    try:
        if options.address:
            client = distributed.Client(
                f"tcp://{options.address}",
                timeout=_CONNECTION_TIMEOUT_SECONDS,
                set_as_default=False,
            )
        else:
            # Processes instead of threads: PyTorch and the seeds of a task are global to a process.
            client = distributed.Client(
                n_workers=options.jobs,
                threads_per_worker=1,
                dashboard_address=None,
                set_as_default=False,
            )
    except (OSError, ValueError) as error:
        raise ValueError(
            f"Expected a dask scheduler at {options.address}, but the connection failed: {error}."
        ) from None
    with client:
        yield client
