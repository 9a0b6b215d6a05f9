"""Run many independent tasks: one after the other, in processes of this machine, or on a cluster.

joblib brings loky; dask and ray are asked for their own futures, as joblib's adapter of ray gives no result before the
last one, and that of dask waits forever for a cluster whose workers are all dead.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import pickle
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Any, TypeVar

from rightreasons.foundations.engines.options import EngineOptions

T = TypeVar("T")
R = TypeVar("R")

_NOBODY = 30.0
"""Seconds without any worker after which a cluster is dead."""

_ROUNDS = 3
"""How often a task is run whose worker died: the last time alone, so that none suffers from another one."""

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def run_tasks(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    options: EngineOptions | None = None,
    progress: bool = True,
    description: str = "tasks",
) -> Iterator[tuple[int, R]]:
    """Run a function on each task, and yield the place of each with its result as it is finished.

    A result does not depend on where it is computed, provided that the function does not: arithmetic of PyTorch differs
    in its last digits between numbers of threads, which `OMP_NUM_THREADS` sets. A task whose worker dies is run again.
    What is finished stays finished, provided that the function or the caller stores it.

    Args:
        function: Takes one task. Beside the serial engine it has to be importable in the workers, which have the same
            version of this package, and read and write the same folders.
        tasks: The tasks.
        options: The engine; None runs the tasks here, one after the other.
        progress: Whether to show a progress bar.
        description: The text of the bar.

    Yields:
        (place, result) of every task: in the order of the tasks from the serial engine, as they end from others.

    Raises:
        Exception: What the function raises; tasks that have not begun are not run then.
        RuntimeError: If the workers of a task die again and again, after the other tasks.
        ValueError: If an engine cannot be reached.

    Example:
        >>> list(run_tasks(abs, [-3, 2], progress=False))
        [(0, 3), (1, 2)]
    """
    options = options or EngineOptions()
    numbered = list(enumerate(tasks))
    with _bar(len(tasks), description, progress and bool(tasks)) as advance:
        for finished in _here(function, numbered) if options.name == "serial" else _away(function, numbered, options):
            advance(1)
            yield finished


def _here(function: Callable[[T], R], tasks: Sequence[tuple[int, T]]) -> Iterator[tuple[int, R]]:
    for place, task in tasks:
        yield place, function(task)


def _away(function: Callable[[T], R], tasks: list[tuple[int, T]], options: EngineOptions) -> Iterator[tuple[int, R]]:
    left, reasons = tasks, [""]
    for number in range(_ROUNDS):
        if left:
            left = yield from _round(function, left, options, reasons, alone=number == _ROUNDS - 1)
    if left:
        raise RuntimeError(
            f"Expected the workers of {options.engine or options.name} to live, but those of {len(left):,} of "
            f"{len(tasks):,} tasks failed again and again, as where memory runs out ({reasons[-1]}); the other tasks "
            "are finished."
        )


def _round(
    function: Callable[[T], R],
    tasks: Sequence[tuple[int, T]],
    options: EngineOptions,
    reasons: list[str],
    *,
    alone: bool,
) -> Generator[tuple[int, R], None, list[tuple[int, T]]]:
    """Run tasks, and return those that the engine failed to run, mostly as their worker died."""
    from rightreasons import __version__

    waiting, failed = deque(tasks), list[tuple[int, T]]()
    while waiting:
        with _ENGINES[options.name](options) as engine:
            flying: dict[Future[Any], tuple[int, T]] = {}
            broken = False
            while flying or (waiting and not broken):
                while waiting and not broken and len(flying) < (1 if alone else 2 * engine.jobs):
                    try:
                        flying[engine.submit(_one, function, waiting[0][1], __version__)] = waiting[0]
                    except BrokenExecutor:  # a worker died meanwhile
                        broken = True
                    else:
                        waiting.popleft()
                ended = _next(flying, engine)
                if not ended and flying:
                    reasons.append("there is no worker")
                    failed += flying.values()
                    flying, broken = {}, True
                for future in ended:
                    numbered = flying.pop(future)
                    # What a task raises is a result, so that an error here is one of the engine, whatever its kind.
                    try:
                        result, error, trace = future.result()
                    except Exception as reason:
                        reasons.append(f"{type(reason).__name__}: {str(reason).strip().partition(chr(10))[0]}"[:200])
                        broken = isinstance(reason, BrokenExecutor)
                        failed.append(numbered)
                        continue
                    if error is not None:
                        raise error from RuntimeError(trace)
                    yield numbered[0], result
    return failed


def _one(function: Callable[[T], R], task: T, version: str) -> tuple[R | None, Exception | None, str]:
    """Run one task in a worker; return its result, or what it raised and where."""
    from rightreasons import __version__

    try:
        if __version__ != version:
            raise ValueError(f"Expected version {version} of rightreasons on each worker, but one has {__version__}.")
        return function(task), None, ""
    except Exception as error:
        trace = traceback.format_exc()
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301, our own error
        except Exception:  # one that cannot travel
            return None, RuntimeError(f"{type(error).__name__}: {error}"), trace
        return None, error, trace


def _next(flying: Mapping[Future[Any], Any], engine: _Engine) -> set[Future[Any]]:
    """Wait for tasks, and return those that ended; none where the engine has no worker any more."""
    alive = time.monotonic()
    while time.monotonic() - alive < _NOBODY:
        ended = wait(flying, timeout=_NOBODY / 10, return_when=FIRST_COMPLETED).done
        if ended or not flying:
            return ended
        if engine.lives():
            alive = time.monotonic()
    return set()


# -------------------------------------------------------------------------------------------------------------- engines


@dataclasses.dataclass(frozen=True)
class _Engine:
    """An engine that is open.

    Attributes:
        submit: Takes a function and its arguments, and returns a future.
        jobs: How many tasks run at a time.
        lives: Tells whether there is a worker.
    """

    submit: Callable[..., Future[Any]]
    jobs: int
    lives: Callable[[], bool] = lambda: True


@contextlib.contextmanager
def _loky(options: EngineOptions) -> Iterator[_Engine]:
    import joblib
    from joblib.externals.loky import ProcessPoolExecutor

    jobs = options.jobs or joblib.cpu_count()
    each = str(max(1, joblib.cpu_count() // jobs))
    executor = ProcessPoolExecutor(jobs, env={name: os.environ.get(name, each) for name in _THREADS})
    ended = False
    try:
        yield _Engine(executor.submit, jobs)
        ended = True
    finally:
        executor.shutdown(wait=True, kill_workers=not ended)


@contextlib.contextmanager
def _dask(options: EngineOptions) -> Iterator[_Engine]:
    """Use the cluster at an address, or start one of processes on this machine."""
    import distributed

    with contextlib.ExitStack() as stack:
        if options.address:
            address = f"tcp://{options.address}"
        else:
            jobs = options.jobs or os.cpu_count() or 1
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=jobs, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
                )
            )
        try:
            client = stack.enter_context(distributed.Client(address, timeout=10, set_as_default=False))
        except (OSError, ValueError) as error:
            raise ValueError(f"Expected a dask scheduler at {options.address}, but got none: {error}.") from None
        executor = client.get_executor(pure=False)
        stack.callback(executor.shutdown, wait=False)
        jobs = options.jobs or max(1, sum(client.nthreads().values()))
        yield _Engine(executor.submit, jobs, lambda: bool(client.nthreads()))


@contextlib.contextmanager
def _ray(options: EngineOptions) -> Iterator[_Engine]:
    """Use the cluster at an address or of this process, or start one on this machine."""
    import ray

    own = not ray.is_initialized()
    if own:
        about: dict[str, Any] = {"address": f"ray://{options.address}"}
        if not options.address:
            # Workers of this machine import what this process does.
            seen = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
            about = {"num_cpus": options.jobs, "include_dashboard": False, "runtime_env": seen}
        try:
            ray.init(**about, log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ValueError(f"Expected a ray cluster at {options.address}, but got none: {error}.") from None

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = ray.remote(function).options(max_retries=_ROUNDS).remote(*arguments).future()
        return future

    try:
        yield _Engine(submit, options.jobs or max(1, int(ray.cluster_resources().get("CPU", 1))))
    finally:
        if own:
            ray.shutdown()


_ENGINES: dict[str, Callable[[EngineOptions], contextlib.AbstractContextManager[_Engine]]] = {
    "loky": _loky,
    "dask": _dask,
    "ray": _ray,
}


@contextlib.contextmanager
def _bar(total: int, description: str, shown: bool) -> Iterator[Callable[[int], object]]:
    if not shown:
        yield lambda count: None
        return
    from tqdm.auto import tqdm  # type: ignore[import-untyped]

    with tqdm(total=total, desc=description, unit="task") as bar:
        yield bar.update
