"""The processes of one launch: which one this is, and how they exchange results."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


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

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, by rank, in every process.

        Raises:
            ConnectionError: If another process has ended.
        """
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        try:
            gathered: list[T] = gather_object([value])
        except RuntimeError as error:
            raise ConnectionError(
                f"Expected an answer from all {self.count} processes, but one has ended, whose own last line tells "
                "why; what was computed is kept, and the same command goes on from there."
            ) from error
        return gathered

    def main_first(self, function: Callable[[], T]) -> T:
        """Call a function in the main process, then in the others; an error of the main process is raised in all."""
        result: list[T] = []
        error: Exception | None = None
        if self.is_main:
            try:
                result.append(function())
            except Exception as raised:
                error = raised
        error = self.gather(error)[0]
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


def _state() -> Any:
    import torch
    from accelerate import PartialState

    joined_before = torch.distributed.is_initialized()
    # Without a GPU accelerate joins the processes only with cpu=True.
    state: Any = PartialState(cpu=not torch.cuda.is_available())
    if torch.distributed.is_initialized() and not joined_before:
        # The threads that join the processes have to end before Python does, or they may abort it. A caller who joined
        # the processes also separates them.
        atexit.register(state.destroy_process_group)
    return state
