"""Trials of models: how inputs can be batched without changing the outputs.

A model computes its outputs for a few short items, and for one as long as the longest of the data,
once one by one and once in batches. The fastest batching strategy with the same outputs is used.
No list of architectures is needed, because the trial shows how a model reads padding and windows.
`find_fastest_strategy` runs a trial, and `TRIALS` has the results. What the items of a trial are
depends on the kind of model: `padding_trial` has those of models with a head, and the language
models have separate trials.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.errors import get_first_line
from rightreasons.core.store import digest_package_code, get_trial_file, write_json
from rightreasons.models.batching import (
    CHANGING,
    frozen,
    unchanged,
)
from rightreasons.models.fingerprints import PROVENANCE
from rightreasons.models.runs.elapsed import show_elapsed
from rightreasons.models.runs.processes import processes

ONE_BY_ONE = "one by one"
"""The strategy whose outputs those of every other strategy are compared with."""

EQUAL_LENGTHS = "equal lengths"
"""Batches of sequences of one length, for models that read padding as text."""


SHORTEST = 16
"""Maximum tokens of the short items of a trial; longer ones are tried once data has them."""


# Type of the numbers -> the largest difference that rounding explains: as a share of the largest
# absolute value, and as a number.
_TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (2e-5, 1e-5), torch.float16: (2e-2, 5e-3)}
# The same for bfloat16 and other coarse types.
_COARSE_TOLERANCE = (1e-1, 2e-2)
# A half-precision model with up to this number of parameters is tried in float32.
_MAX_WIDENED = 200_000_000
# Settings of a tokenizer on which a trial depends.
_TOKENIZER_SETTINGS = (
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "model_input_names",
    "model_max_length",
)

Outputs = Sequence[NDArray[np.float64]]
"""Outputs of a model, one array per item, such as its logits."""


class ModelWithTokenizer(Protocol):
    """A model of transformers with its tokenizer, as a trial needs it."""

    @property
    def model(self) -> Any:
        """The model, in evaluation mode."""

    @property
    def tokenizer(self) -> Any:
        """Tokenizer of the model."""

    @property
    def name(self) -> str:
        """The folder or hub id that the user gave."""

    @property
    def max_length(self) -> int:
        """Maximum number of tokens per sequence."""


class RefusalError(ValueError):
    """The reason of a trial to refuse a model, in a complete sentence."""


@dataclass(frozen=True)
class BatchingStrategy:
    """How the inputs of a model are batched, as found by a trial.

    Attributes:
        name: Name of the strategy, such as "right padding" or "one by one".
        longest: Maximum number of tokens per sequence in the trial.
        reason: Why faster strategies failed. Empty if none did.
    """

    name: str
    longest: int
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


# -------------------------------------------------------------------------------- trials


def find_fastest_strategy(
    model: torch.nn.Module,
    name: str,
    score_singly: Callable[[], Outputs],
    score_by_strategy: Mapping[str, Callable[[], Outputs]],
    *,
    longest: int,
    repeat: Callable[[], Outputs],
    earlier_strategy: BatchingStrategy | None = None,
) -> BatchingStrategy:
    """Find the fastest way to batch items that leaves the outputs of a model unchanged.

    The outputs for items in batches are compared with those for items that are read one by one. A
    strategy passes if they agree up to rounding.

    Args:
        model: The model.
        name: Name of the model, for errors.
        score_singly: Computes the outputs for a few trial items, one array per item, and reads the
            items one by one.
        score_by_strategy: Name of a strategy, such as "right padding" -> a function that computes
            the outputs for the same items in batches of this strategy. The fastest strategy is
            first.
        longest: Number of tokens of the longest trial item.
        repeat: Computes the outputs for the first of these items again, to detect random outputs.
        earlier_strategy: Result of a trial with shorter items. Faster strategies than it failed
            there, and are not tried again.

    Returns:
        The first strategy that passes, with the reasons why faster ones failed; `ONE_BY_ONE` if all
        fail.

    Raises:
        ValueError: If the model fails, returns NaN or infinity, or returns different outputs for
            the same items.
    """
    # Each call starts from the same state of the model. Small weights in half precision are
    # widened to float32, so that a mistake is larger than the rounding.
    with torch.no_grad(), frozen(model), unchanged(model, each_call=True), _widened(model):
        expected = _score_singly(name, score_singly, longest)
        _check_finite(model, name, expected)
        scale = max(float(np.abs(row).max(initial=0)) for row in expected)
        max_difference = get_tolerance(model, scale)
        difference = _measure_difference(repeat(), expected)
        if difference > max_difference:
            raise ValueError(
                "Expected a model that gives the same answer to the same question, but two answers "
                f"of {name} differ by {difference:.2g}."
            )

        candidates = list(score_by_strategy)
        reasons = []
        if earlier_strategy is not None:
            # No candidate is left if only reading one by one, the slowest strategy, passed earlier.
            all_strategies = [*candidates, ONE_BY_ONE]
            candidates = candidates[all_strategies.index(earlier_strategy.name) :]
            if earlier_strategy.reason:
                reasons.append(earlier_strategy.reason)
        for candidate in candidates:
            try:
                outputs = score_by_strategy[candidate]()
                difference = _measure_difference(outputs, expected)
            except Exception as error:
                # A model that refuses padding may raise any error. That only rules out padding.
                reasons.append(f"{candidate} fails ({get_first_line(error)})")
                continue
            if difference <= max_difference:
                return BatchingStrategy(candidate, longest, "; ".join(reasons))
            reasons.append(f"{candidate} is off by {difference:.2g}")
        return BatchingStrategy(ONE_BY_ONE, longest, "; ".join(reasons))


def _score_singly(name: str, score_singly: Callable[[], Outputs], longest: int) -> Outputs:
    """Call a function that scores trial items one by one, and explain its errors.

    Args:
        name: Name of the model, for errors.
        score_singly: Computes the outputs of the model, one array per item.
        longest: Number of tokens of the longest trial item, for errors.

    Raises:
        RefusalError: Raised by `score_singly` if the model cannot be used; passed on unchanged.
        ValueError: If `score_singly` raises any other error.
    """
    try:
        return score_singly()
    except RefusalError:
        raise
    except Exception as error:
        raise ValueError(
            f"Expected a model that can score texts, but {name} fails at a text of {longest} "
            f"tokens or less: {get_first_line(error)}"
        ) from error


def _check_finite(model: torch.nn.Module, name: str, outputs: Outputs) -> None:
    """Check that a model returned finite numbers for trial items.

    Args:
        model: The model.
        name: Name of the model, for errors.
        outputs: Outputs of the model, one array per item.

    Raises:
        ValueError: If a number is NaN or infinite. If a weight of the model is not finite either,
            the error names that weight as the cause.
    """
    if all(np.isfinite(row).all() for row in outputs):
        return
    for weight_name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise ValueError(
                f"Expected finite weights, but {weight_name} of {name} holds NaN or infinity."
            )
    raise ValueError(
        f"Expected finite scores, but {name} gives NaN or infinity for ordinary words."
    )


def _measure_difference(outputs: Outputs, expected: Outputs) -> float:
    """Return the largest absolute difference between two lists of arrays.

    Args:
        outputs: One array per item. They may be fewer than the expected ones; the remaining
            expected arrays are then ignored.
        expected: Finite arrays, one per item.

    Returns:
        The difference; infinity if an array of `outputs` is not finite, or has another shape than
        the expected array.
    """
    largest = 0.0
    for row, expected_row in zip(outputs, expected, strict=False):
        if row.shape != expected_row.shape or not np.isfinite(row).all():
            return float("inf")
        difference = np.abs(row - expected_row).max(initial=0)
        largest = max(largest, float(difference))
    return largest


def get_tolerance(model: torch.nn.Module, scale: float) -> float:
    """Return the largest difference of two outputs of a model that rounding can explain.

    It depends on the number type in which the model computes: the type of its first floating-point
    weight, or a coarser one if its layers are quantized.

    Args:
        model: The model.
        scale: Largest absolute value of its outputs. The tolerance is a share of it.
    """
    dtype = torch.float32
    for parameter in model.parameters():
        if parameter.is_floating_point():
            dtype = parameter.dtype
            break
    # Layers of 4 bits compute in a type of their configuration, which may be less precise.
    settings = getattr(getattr(model, "config", None), "quantization_config", None)
    compute_dtype = getattr(settings, "bnb_4bit_compute_dtype", dtype)
    if compute_dtype.itemsize < dtype.itemsize:
        dtype = compute_dtype
    # Layers of 8 bits also round their input to 8 bits, as coarsely as bfloat16.
    if any(parameter.dtype == torch.int8 for parameter in model.parameters()):
        dtype = torch.bfloat16
    share, smallest = _TOLERANCE.get(dtype, _COARSE_TOLERANCE)
    return max(smallest, share * scale)


@contextmanager
def _widened(model: torch.nn.Module) -> Iterator[None]:
    """Convert the half-precision weights and buffers of a model to float32 during the block.

    The tensors are replaced inside the model, because a copy of the model would lack its hooks and
    its compiled code. The original tensors are put back at the end, even after an error. No other
    thread may use the model meanwhile. Nothing is done if there are more than `_MAX_WIDENED`
    half-precision values.

    Args:
        model: The model, which is changed inside the block only.
    """
    half_tensors = []
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point() and tensor.dtype.itemsize < 4:
            half_tensors.append(tensor)
    n_values = sum(tensor.numel() for tensor in half_tensors)
    if not half_tensors or n_values > _MAX_WIDENED:
        yield
        return
    originals = [tensor.data for tensor in half_tensors]
    try:
        for tensor in half_tensors:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, original in zip(half_tensors, originals, strict=True):
            tensor.data = original


# --------------------------------------------------------------------------- stored results


class Trials:
    """The strategies found for models in this process; a model that changes is tried again.

    The strategy of a class of transformers is also stored on disk for later processes, because an
    audit of a small model would spend as much time on its trials as on its items. It is identified
    by all that a trial depends on but the values of the weights: the architecture, the
    configuration, the tokenizer's sizes, the type of the weights, the kind of device, and the
    versions of this package and its libraries. `CACHE_VARIABLE` names the folder. A model that
    changes itself as it reads is tried in each process.

    Example:
        >>> model, trials = torch.nn.Linear(2, 1), Trials()
        >>> def find(reach):
        ...     return BatchingStrategy("right padding", reach)
        >>> [trials.get_strategy(model, "texts", length, find).longest for length in (5, 16, 17)]
        [16, 16, 17]
    """

    def __init__(self) -> None:
        # Model -> hash of its state at the trial, and kind of items -> strategy. Entries of a model
        # that no longer exists disappear.
        self._strategies = weakref.WeakKeyDictionary[
            torch.nn.Module, tuple[int, dict[str, BatchingStrategy]]
        ]()

    def get_strategy(
        self,
        model: torch.nn.Module,
        kind: str,
        longest: int,
        find: Callable[[int], BatchingStrategy],
        tokenizer: Any = None,
    ) -> BatchingStrategy:
        """Return how to batch sequences of up to `longest` tokens for a model.

        The model is tried only if neither this process nor a file on disk has the result of a trial
        with sequences as long.

        Args:
            model: The model.
            kind: Kind of the items, such as "texts" or "choices", each of which has its own trial.
            longest: Number of tokens of the longest sequence.
            find: Runs a trial with sequences of up to the given number of tokens, which is at least
                `SHORTEST`, and returns the fastest exact strategy.
            tokenizer: The tokenizer of the model. If None, the result is not stored on disk.

        Warns:
            UserWarning: If the strategy is one by one, which is slow.
        """
        longest = max(longest, SHORTEST)
        state = _hash_state(model)
        tried_state, strategies = self._strategies.get(model, (state, {}))
        # Earlier results are no longer valid if weights or settings of the model have changed.
        if tried_state != state:
            strategies = {}
        strategy = strategies.get(kind)
        # A trial of long sequences is valid for short ones, too.
        if strategy is not None and strategy.longest >= longest:
            return strategy
        strategy = _load_or_find(model, kind, longest, find, tokenizer)
        strategies[kind] = strategy
        self._strategies[model] = (state, strategies)
        if strategy.name == ONE_BY_ONE:
            warnings.warn(
                f"Items are scored one by one, which is slow: {strategy.reason}.", stacklevel=4
            )
        return strategy


TRIALS = Trials()
"""The trials of this process."""


def _load_or_find(
    model: torch.nn.Module,
    kind: str,
    longest: int,
    find: Callable[[int], BatchingStrategy],
    tokenizer: Any,
) -> BatchingStrategy:
    """Load the batching strategy of a model from disk; if there is none, run a trial and store it.

    Args:
        model: The model.
        kind: Kind of the items, such as "texts".
        longest: Number of tokens of the longest sequence.
        find: Runs a trial with sequences of up to the given number of tokens.
        tokenizer: The tokenizer of the model. If None, nothing is stored on disk.
    """
    path = None
    if tokenizer is not None:
        path = _get_trial_path(model, tokenizer, kind)
    # All processes of a launch follow the main one. They may share the work of a trial, so that
    # either all of them run it or none does.
    stored: BatchingStrategy | None = processes().gather(
        _read_strategy(path, longest), "the kept trial"
    )[0]
    if stored is not None:
        return stored
    with show_elapsed(f"Trying how to batch {kind} of up to {longest} tokens"):
        strategy = _find_in_all_processes(lambda: find(longest))
    # The outputs of a model that changes itself depend on what it has read before, so that the
    # result is valid in this process only.
    if path is not None and model not in CHANGING and processes().is_main:
        # If the folder is not writable, the next process repeats the trial.
        with contextlib.suppress(OSError):
            write_json(path, dataclasses.asdict(strategy))
    return strategy


def _find_in_all_processes(find: Callable[[], BatchingStrategy]) -> BatchingStrategy:
    """Run a trial in every process of a launch, and return the result of the main process.

    Args:
        find: Runs the trial in this process.

    Raises:
        ValueError: In all processes, if the trial of one of them fails.
    """
    own_result: Any
    try:
        own_result = find()
    except ValueError as error:
        # Raised below. If this process left now, the others would wait for it.
        own_result = error
    results: list[Any] = processes().gather(own_result, "the trial")
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results[0]  # type: ignore[no-any-return]


def _describe_settings(model: torch.nn.Module) -> str:
    """Return the configuration of a model as JSON, followed by its implementation of attention.

    Entries about the origin of the model, such as its path, are left out.
    """
    config: Any = getattr(model, "config", None)
    settings = {}
    if hasattr(config, "to_dict"):
        settings = {key: value for key, value in config.to_dict().items() if key not in PROVENANCE}
    # `to_dict` leaves out the implementation of attention, such as "sdpa".
    attention = str(getattr(config, "_attn_implementation", ""))
    return json.dumps(settings, sort_keys=True, default=str) + attention


def _get_trial_path(model: torch.nn.Module, tokenizer: Any, kind: str) -> Path | None:
    """Return the path of the file that stores the result of a trial of a model.

    The file name is a digest of everything that the result depends on, except for the values of
    the weights: configuration, types of the layers and weights, device, and tokenizer.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        kind: Kind of the items, such as "texts".

    Returns:
        The path. None if the class of the model is not defined in transformers.
    """
    # The version of transformers is part of the digest. Code of the user has no such version.
    if not type(model).__module__.startswith("transformers."):
        return None
    layer_types = set()
    for layer in model.modules():
        layer_types.add(f"{type(layer).__module__}.{type(layer).__qualname__}")
    weight_types = {f"{weight.dtype} {weight.device.type}" for weight in model.parameters()}
    tokenizer_settings = [type(tokenizer).__name__, len(tokenizer)]
    for name in _TOKENIZER_SETTINGS:
        tokenizer_settings.append(str(getattr(tokenizer, name, "")))
    dependencies = [
        kind,
        _describe_settings(model),
        type(model).__qualname__,
        sorted(layer_types),
        sorted(weight_types),
        tokenizer_settings,
        digest_package_code(),
    ]
    return get_trial_file(dependencies)


def _read_strategy(path: Path | None, longest: int) -> BatchingStrategy | None:
    """Read the result of an earlier trial from its file.

    Args:
        path: Path of the file, or None.
        longest: Number of tokens of the longest sequence that will be batched.

    Returns:
        The strategy. None if `path` is None, if there is no such file or it is damaged, or if the
        trial had shorter sequences than `longest`.
    """
    if path is None:
        return None
    try:
        strategy = BatchingStrategy(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return strategy if strategy.longest >= longest else None


def _hash_state(model: torch.nn.Module) -> int:
    """Return a hash that changes with the weights and the configuration of a model.

    The values of the weights are not read. A weight is identified by its address in memory and its
    version, which PyTorch increases at every change in place.

    Args:
        model: The model.

    Returns:
        A hash that is valid in this process only, because it depends on addresses.
    """
    states = []
    for weight in model.parameters():
        # Tensors that were created in inference mode have no version.
        version = 0 if weight.is_inference() else weight._version
        states.append((weight.data_ptr(), version, weight.dtype))
    return hash((_describe_settings(model), tuple(states)))


@contextmanager
def name_failing_item(name: str, item: str) -> Iterator[None]:
    """Replace an error of a model inside the block by one that names an item of its batch.

    Args:
        name: Name of the model.
        item: Id of the first item of the batch that is computed in the block.

    Raises:
        ValueError: If the block raises a RuntimeError or an IndexError, as models do. Any item of
            the batch may be the cause.
    """
    try:
        yield
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"Expected a model that can read every item, but {name} fails at item {item!r} or at "
            f"another item of its batch: {get_first_line(error)}"
        ) from error
