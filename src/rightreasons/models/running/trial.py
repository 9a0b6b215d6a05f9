"""The way that a model's inputs are batched, tried on the model itself before it is believed.

A model is asked a few short items, and an item as long as the data's longest, one by one and in each way of batching.
The fastest way that gives the numbers of one by one is taken. Nothing is known of architectures: what a new one does
with padding, windows and states shows in its numbers.
"""

from __future__ import annotations

import json
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.processes import processes

ONE_BY_ONE = "one by one"
"""The way that every other one is compared with."""

EQUAL_LENGTHS = "equal lengths"
"""Batches of sequences of one length, for models that read padding as text."""

SHORTEST = 16
"""Maximum tokens of the short items of a trial; longer ones are tried once data has them."""

# Largest difference between two ways, as a share of the largest absolute value, and the smallest that counts at all.
_TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (2e-5, 1e-5), torch.float16: (2e-2, 5e-3)}
_COARSE = (1e-1, 2e-2)  # bfloat16
# A narrow model with no more parameters than this is tried in float32, where mistakes stand out from rounding.
_WIDENED = 200_000_000

Answers = Sequence[NDArray[np.float64]]


class RefusalError(ValueError):
    """A trial's reason to refuse a model, in a sentence of its own."""


@dataclass(frozen=True)
class Way:
    """How a model's inputs are batched.

    Attributes:
        name: The way, such as "right padding" or "one by one".
        longest: Maximum tokens per sequence for which it was tried.
        reason: Why faster ways were not taken; "" where there is none.
    """

    name: str
    longest: int
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name

    @property
    def side(self) -> str:
        """The side that is padded: "left" or "right"."""
        return "left" if self.name.startswith("left") else "right"

    @property
    def padded(self) -> bool:
        """Whether sequences of different lengths may share a batch."""
        return self.name not in (EQUAL_LENGTHS, ONE_BY_ONE)


def fastest_way(
    model: torch.nn.Module,
    name: str,
    alone: Callable[[], Answers],
    ways: Mapping[str, Callable[[], Answers]],
    *,
    longest: int,
    again: Callable[[], Answers] | None = None,
) -> Way:
    """Return the first way whose answers are those of one by one.

    Args:
        model: The model.
        name: What the user called it.
        alone: Asks some items one by one.
        ways: Asks the same items in each way, the fastest way first.
        longest: Tokens of the longest of these items.
        again: Gives the answers of the first of these items with one or more asked again; None does not ask again.

    Raises:
        ValueError: If the model cannot be asked, gives NaN or infinity, or answers the same question in two ways.
    """
    with torch.no_grad(), frozen(model), _widened(model):
        try:
            want = alone()
        except RefusalError:
            raise
        except Exception as error:
            raise ValueError(
                f"Expected a model that can be asked, but {name} fails at a text of {longest} tokens or less: "
                f"{_first_line(error)}"
            ) from error
        if not all(np.isfinite(row).all() for row in want):
            if (weight := broken_weight(model)) is not None:
                raise ValueError(f"Expected finite weights, but {weight} of {name} holds NaN or infinity.")
            raise ValueError(f"Expected finite scores, but {name} gives NaN or infinity for ordinary words.")
        bound = tolerance(model, max(float(np.abs(row).max(initial=0)) for row in want))
        if again is not None and (off := _difference(again(), want)) > bound:
            raise ValueError(
                f"Expected a model that gives the same answer to the same question, but two answers of {name} differ "
                f"by {off:.2g}."
            )
        reasons = []
        for way, ask in ways.items():
            try:
                off = _difference(ask(), want)
            except Exception as error:
                reasons.append(f"{way} fails ({_first_line(error)})")
                continue
            if off <= bound:
                return Way(way, longest, "; ".join(reasons))
            reasons.append(f"{way} is off by {off:.2g}")
        return Way(ONE_BY_ONE, longest, "; ".join(reasons))


class Trials:
    """The ways that were found for models in this process; a model that changes is tried again.

    Example:
        >>> model, trials = torch.nn.Linear(2, 1), Trials()
        >>> ways = [trials.way(model, "texts", n, lambda reach: Way("right padding", reach)) for n in (5, 16, 17)]
        >>> [way.longest for way in ways]
        [16, 16, 17]
    """

    def __init__(self) -> None:
        self._found: weakref.WeakKeyDictionary[torch.nn.Module, tuple[int, dict[str, Way]]] = (
            weakref.WeakKeyDictionary()
        )

    def way(self, model: torch.nn.Module, kind: str, longest: int, find: Callable[[int], Way]) -> Way:
        """Return the way for sequences of up to `longest` tokens, from an earlier trial if one went as far.

        Args:
            model: The model.
            kind: What it is asked.
            longest: Tokens of the longest sequence.
            find: Tries the model with sequences of up to the given tokens, at least `SHORTEST`.
        """
        longest = max(longest, SHORTEST)
        state = _state(model)
        seen, ways = self._found.get(model, (state, {}))
        if seen != state:
            ways = {}
        before = ways.get(kind)
        if before is None or before.longest < longest:
            ways[kind] = _agreed(lambda: find(longest))
            self._found[model] = (state, ways)
            if ways[kind].name == ONE_BY_ONE:
                warnings.warn(f"Items are scored one by one, which is slow: {ways[kind].reason}.", stacklevel=4)
        return ways[kind]


TRIALS = Trials()
"""The trials of this process."""


def tolerance(model: torch.nn.Module, scale: float) -> float:
    """Return the largest difference that rounding explains, between two ways of computing values of that scale."""
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    share, least = _TOLERANCE.get(dtype, _COARSE)
    return max(least, share * scale)


def reach_of(longest: int) -> int:
    """Return the upper end of the class of lengths that have a way in common.

    Example:
        >>> [reach_of(longest) for longest in (3, 16, 17, 33, 100, 512, 513)]
        [16, 16, 20, 40, 112, 512, 640]
    """
    if longest <= SHORTEST:
        return SHORTEST
    step = 1 << ((longest - 1).bit_length() - 3)
    return -(-longest // step) * step


def broken_weight(model: torch.nn.Module) -> str | None:
    """Return the name of a weight that holds NaN or infinity; None if all are finite."""
    for key, weight in model.named_parameters():
        if weight.is_floating_point() and not bool(torch.isfinite(weight).all()):
            return key
    return None


def _difference(rows: Answers, want: Answers) -> float:
    """Return the largest difference; infinity where an answer is not finite or has another shape."""
    largest = 0.0
    for row, other in zip(rows, want, strict=False):
        if row.shape != other.shape or not np.isfinite(row).all():
            return float("inf")
        largest = max(largest, float(np.abs(row - other).max(initial=0)))
    return largest


def _agreed(find: Callable[[], Way]) -> Way:
    """Find a way, and take that of the main process in all of them; an error of one is raised in all."""
    result: Way | Exception
    try:
        result = find()
    except ValueError as error:
        if processes().count == 1:
            raise
        result = error
    results = processes().gather(result)
    for result in results:
        if isinstance(result, Exception):
            raise result
    way = results[0]
    assert isinstance(way, Way)  # noqa: S101 - errors were raised above
    return way


def _state(model: torch.nn.Module) -> int:
    """Return a number that changes with a model's weights and settings."""
    config: Any = getattr(model, "config", None)
    settings = json.dumps(config.to_dict(), sort_keys=True, default=str) if hasattr(config, "to_dict") else ""
    settings += str(getattr(config, "_attn_implementation", ""))
    weights = tuple((w.data_ptr(), 0 if w.is_inference() else w._version, w.dtype) for w in model.parameters())
    return hash((settings, weights))


@contextmanager
def _widened(model: torch.nn.Module) -> Iterator[None]:
    """Hold the weights of a small model in float32 meanwhile."""
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t.is_floating_point() and t.dtype.itemsize < 4]
    if not tensors or sum(tensor.numel() for tensor in tensors) > _WIDENED:
        yield
        return
    before = [tensor.data for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, data in zip(tensors, before, strict=True):
            tensor.data = data


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
