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
        """Exchange values between all processes, and return them by rank.

        All processes must call this at the same step. If they are at different steps, they would
        exchange values of different meanings, which is an error.

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

        # A counter distinguishes two calls for steps of the same name.
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
            steps_in_words = [f"process {rank} at {name}" for rank, name in enumerate(steps)]
            raise RuntimeError(
                f"Expected all {self.count} processes at the same step, but got "
                f"{', '.join(steps_in_words)}."
            )
        return list(values)

    def run_main_first(self, function: Callable[[], T], at: str) -> T:
        """Call a function in the main process, and then in the other processes.

        Args:
            function: The function, which prepares something that the processes share, such as a
                folder.
            at: Name of the step, such as "opening the store".

        Returns:
            The result of the call in this process.

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
        # The other processes wait here for the main one, and stop as well if it failed.
        error = self.gather(error, at)[0]
        if error is not None:
            raise error
        return result[0] if self.is_main else function()


def processes() -> Processes:
    """Return the processes of this launch; without `accelerate launch`, this single process."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return Processes()
    state = _join_processes()
    return Processes(state.process_index, state.num_processes)


def _join_processes() -> Any:
    """Connect to the other processes of the launch, and return accelerate's state of them.

    Raises:
        ValueError: If this machine has GPUs, but fewer than processes.
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
    # Without a GPU, accelerate connects the processes only if cpu=True.
    state: Any = PartialState(cpu=not torch.cuda.is_available())
    is_joined_here = torch.distributed.is_initialized() and not was_joined
    if is_joined_here:
        # The threads of the process group have to end before Python does, or Python may abort. A
        # group that the caller made is left to the caller.
        atexit.register(state.destroy_process_group)
    return state


def default_device() -> str:
    """Return the device of this process: its GPU if there is one, else the CPU."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        return str(_join_processes().device)
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def default_batch_size(scorer: Any) -> int:
    """Return the default number of items per batch.

    It is 32 on a CPU, and on a GPU the number of items that fit in half of its free memory.

    The estimate counts 128 tokens per item, and for each token the states that all layers keep for
    gradients: 8 times the width and 3 times the inner width of a layer. Measured passes take
    between half and twice as much (benchmarks/RESULTS.md). A batch that does not fit after all is
    halved.

    Args:
        scorer: A model of torch, or a scorer or an engine with an attribute `model`. Anything else
            is not on a GPU.

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

    n_items = get_free_memory(device) // 2 // _estimate_item_bytes(model)
    # Round down to a power of two.
    power = 1 << max(n_items.bit_length() - 1, 0)
    return min(max(power, SMALLEST_BATCH), LARGEST_BATCH)


def _estimate_item_bytes(model: Any) -> int:
    """Estimate the memory in bytes that an item needs in a pass with gradients."""
    config = model.config.get_text_config()
    width = getattr(config, "hidden_size", 1024)
    # If a configuration does not state the inner width, it is usually four times the width.
    inner_width = getattr(config, "intermediate_size", None) or 4 * width
    n_layers = getattr(config, "num_hidden_layers", 24)
    token_bytes = (8 * width + 3 * inner_width) * model.dtype.itemsize
    return int(token_bytes * n_layers * TOKENS_PER_ITEM)
