"""Many independent tasks: which engine runs them, and how they are run."""

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
FORMS = "serial, loky, dask or dask://HOST:PORT"


class EngineOptions(Options):
    """Where the independent tasks of a command run.

    Example:
        >>> EngineOptions("dask://10.0.0.1:8786").name, EngineOptions("dask://10.0.0.1:8786").address
        ('dask', '10.0.0.1:8786')
        >>> EngineOptions().name, EngineOptions(jobs=4).name
        ('serial', 'loky')
    """

    engine: str | None = option(
        None,
        f"Where tasks run: {FORMS}; by default loky, processes of this machine, with --jobs above 1, else serial.",
    )
    jobs: int | None = option(
        None, "Tasks at a time; by default as many as the engine has cores or workers.", minimum=1
    )

    def _check(self) -> None:
        from rightreasons.core.validation import (
            check_one_of,
        )  # loads numpy, which a command's help does not

        check_one_of(self.name, ENGINES, "engine")
        if (
            self.engine is not None
            and "://" in self.engine
            and not (self.address and self.name == "dask")
        ):
            raise ValueError(f"Expected `engine` to be {FORMS}, but got {self.engine!r}.")

    @property
    def name(self) -> str:
        """One of `ENGINES`."""
        if self.engine is None:
            return "loky" if (self.jobs or 1) > 1 else "serial"
        return self.engine.partition("://")[0]

    @property
    def address(self) -> str:
        """The host and the port of the engine; "" for one that is started here."""
        return (self.engine or "").partition("://")[2]


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    options: EngineOptions | None = None,
    progress: bool = True,
) -> Iterator[tuple[int, R]]:
    """Run a function on each task, and yield the place of each with its result as it is finished.

    A result does not depend on where it is computed, provided that the function does not: arithmetic of PyTorch differs
    in its last digits between numbers of threads, which `OMP_NUM_THREADS` sets. What is finished stays finished,
    provided that the function or the caller stores it.

    Args:
        function: Takes one task. Beside the serial engine it has to be importable in the workers, which have the same
            version of this package, and read and write the same folders.
        tasks: The tasks.
        options: The engine; None runs the tasks here, one after the other.
        progress: Whether to show a progress bar.

    Yields:
        (place, result) of every task: in the order of the tasks from the serial engine, as they end from others.

    Raises:
        Exception: What the function raises; tasks that have not begun are not run then.
        RuntimeError: If a worker dies, as where memory runs out.
        ValueError: If an engine cannot be reached.

    Example:
        >>> list(run_tasks(abs, [-3, 2], progress=False))
        [(0, 3), (1, 2)]
    """
    options = options or EngineOptions()
    finished: Iterator[tuple[int, R]] = (
        (_run_with_index(function, place, task) for place, task in enumerate(tasks))
        if options.name == "serial"
        else _run_remotely(function, tasks, options)
    )
    if progress and tasks and is_progress_visible():
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        finished = tqdm(finished, total=len(tasks), desc="tasks", unit="task")
    yield from finished


def _run_remotely(
    function: Callable[[T], R], tasks: Sequence[T], options: EngineOptions
) -> Iterator[tuple[int, R]]:
    require_package("joblib")
    import joblib

    with contextlib.ExitStack() as stack:
        about = (
            {"client": stack.enter_context(_connect_dask(options))}
            if options.name == "dask"
            else {}
        )
        stack.enter_context(
            joblib.parallel_config(options.name, n_jobs=options.jobs or -1, **about)
        )
        work = joblib.Parallel(return_as="generator_unordered", batch_size=1)
        try:
            finished = work(
                joblib.delayed(_run_with_index)(function, place, task)
                for place, task in enumerate(tasks)
            )
            for _ in tasks:
                with allow_immediate_interrupt():
                    result = next(finished)
                yield result
        except BrokenExecutor as error:
            raise RuntimeError(
                "Expected the worker processes to live, but one died, as where memory runs out; what is finished is "
                "kept where the command stores it."
            ) from error


def _run_with_index(function: Callable[[T], R], place: int, task: T) -> tuple[int, R]:
    stop_if_signaled()
    return place, function(task)


@contextlib.contextmanager
def _connect_dask(options: EngineOptions) -> Iterator[Any]:
    """Connect to the cluster at an address, or start one of processes on this machine."""
    require_package("distributed")
    import distributed

    try:
        client = (
            distributed.Client(f"tcp://{options.address}", timeout=10, set_as_default=False)
            if options.address
            else distributed.Client(
                n_workers=options.jobs,
                threads_per_worker=1,
                dashboard_address=None,
                set_as_default=False,
            )
        )
    except (OSError, ValueError) as error:
        raise ValueError(
            f"Expected a dask scheduler at {options.address}, but got none: {error}."
        ) from None
    with client:
        yield client
