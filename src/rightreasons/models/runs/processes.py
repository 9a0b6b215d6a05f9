"""The processes of a launch, and their devices.

`processes` returns those that `accelerate launch` or `torchrun` started; `Processes.gather`
exchanges values between them. `default_device` and `default_batch_size` say where a model runs, and
on how many items at a time.
"""

from __future__ import annotations

import atexit
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rightreasons.core.sentences import pluralize
from rightreasons.models.runs.progress import make_title

TOKENS_PER_ITEM = 128
"""Tokens that a batch may hold for each of its items, as language models batch by tokens."""

SMALLEST_BATCH = 32
LARGEST_BATCH = 256

T = TypeVar("T")

_meetings = itertools.count(1)


@dataclass(frozen=True)
class Processes:
    """The processes that `accelerate launch` or `torchrun` started, or this single one.

    Attributes:
        rank: Number of this process, from 0.
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

        All processes must call this together. A process that calls it for another step than the
        others would otherwise exchange values of different meanings, which is an error.

        Args:
            value: Value of this process.
            at: Name of the step, such as "results".

        Raises:
            ConnectionError: If another process has ended.
            RuntimeError: If another process is at another step.
        """
        if self.count == 1:
            return [value]
        from accelerate.utils import gather_object

        # The count of meetings distinguishes two calls for steps of the same name.
        step = f"{make_title(at)} (meeting {next(_meetings)})"
        try:
            gathered: list[tuple[str, T]] = gather_object([(step, value)])
        except RuntimeError as error:
            raise ConnectionError(
                f"Expected an answer from all {self.count} processes, but one process has ended. "
                "The last line of its output gives the reason. Finished results are kept; run "
                "the same command again to resume."
            ) from error
        steps, values = zip(*gathered, strict=True)
        if len(set(steps)) > 1:
            places = [f"process {rank} at {step_name}" for rank, step_name in enumerate(steps)]
            raise RuntimeError(
                f"Expected all {self.count} processes at the same step, but got "
                f"{', '.join(places)}."
            )
        return list(values)

    def main_first(self, function: Callable[[], T], at: str) -> T:
        """Call a function in the main process, and in the others once it has finished there.

        Args:
            function: The function, which prepares something that the processes share, such as a
                folder.
            at: Name of the step, as for `gather`.

        Returns:
            The result of this process's own call.

        Raises:
            Exception: An error of the main process, in all processes.
        """
        result: list[T] = []
        error: Exception | None = None
        if self.is_main:
            try:
                result.append(function())
            except Exception as raised:
                error = raised
        # The others wait here for the main process. They learn of its error, so that none goes on.
        error = self.gather(error, at)[0]
        if error is not None:
            raise error
        return result[0] if self.is_main else function()


def processes() -> Processes:
    """Return the processes of this launch; a plain run is one process and starts nothing."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes()
    state = _join_processes()
    return Processes(state.process_index, state.num_processes)


def _join_processes() -> Any:
    """Join the processes of the launch, and return accelerate's state of them.

    Raises:
        ValueError: If there are GPUs, but fewer than processes on this machine.
    """
    import torch
    from accelerate import PartialState

    n_local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    n_gpus = torch.cuda.device_count()
    if 0 < n_gpus < n_local:
        raise ValueError(
            f"Expected one GPU per process, but this machine has {pluralize(n_gpus, 'GPU')} for "
            f"{n_local} processes. Start {pluralize(n_gpus, 'process', 'processes')}, or set "
            "CUDA_VISIBLE_DEVICES='' to run on the CPU."
        )
    was_joined = torch.distributed.is_initialized()
    # Without a GPU accelerate joins the processes only with cpu=True.
    state: Any = PartialState(cpu=not torch.cuda.is_available())
    is_joined_here = torch.distributed.is_initialized() and not was_joined
    if is_joined_here:
        # The group's threads have to end before Python does, or they may abort it. A group that
        # the caller made is the caller's to destroy.
        atexit.register(state.destroy_process_group)
    return state


def default_device() -> str:
    """Return the device of this process: its GPU if there is one, else the CPU."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return str(_join_processes().device)
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def default_batch_size(scorer: Any) -> int:
    """Return the usual number of items of a batch.

    It is 32 on a CPU, and on a GPU what half of its free memory holds.

    An item is counted as 128 tokens. For each token, the states that a layer keeps for its
    gradients count, in all layers: 8 times the width and 3 times the inner width. That is within a
    factor of two of what passes were seen to take (benchmarks/RESULTS.md). A batch that does not
    fit after all is halved.

    Args:
        scorer: A model of torch, or a scorer or engine of one; anything else is on no GPU.

    Returns:
        A power of two from 32 to 256.

    Example:
        >>> import torch
        >>> default_batch_size(torch.nn.Linear(2, 2))
        32
    """
    # A prompted scorer has an engine, and both engines and scorers have a model.
    engine = getattr(scorer, "engine", scorer)
    model = getattr(engine, "model", engine)
    device: Any = getattr(model, "device", None)
    is_on_gpu = getattr(device, "type", "cpu") == "cuda"
    if not is_on_gpu or not hasattr(model, "config"):
        return SMALLEST_BATCH
    from rightreasons.models.batching import get_free_memory

    n_items = get_free_memory(device) // 2 // _count_item_bytes(model)
    # Round down to a power of two.
    power = 1 << max(n_items.bit_length() - 1, 0)
    return min(max(power, SMALLEST_BATCH), LARGEST_BATCH)


def _count_item_bytes(model: Any) -> int:
    """Return the bytes that the states of an item take in a pass with gradients."""
    config = model.config.get_text_config()
    width = getattr(config, "hidden_size", 1024)
    # Configurations without an inner width have the usual one.
    inner_width = getattr(config, "intermediate_size", None) or 4 * width
    n_layers = getattr(config, "num_hidden_layers", 24)
    token_bytes = (8 * width + 3 * inner_width) * model.dtype.itemsize
    return int(token_bytes * n_layers * TOKENS_PER_ITEM)
