"""Trials of models: how inputs can be batched without changing the outputs.

A model computes its outputs for a few short items, and for one as long as the longest of the data,
once one by one and once in batches. The fastest batching strategy with the same outputs is used.
No list of architectures is needed, because the trial shows how a model reads padding and windows.
`find_classifier_strategy` is the trial of models with a head. Language models have separate trials,
which also use `find_fastest_strategy` and `TRIALS`.
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

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.errors import get_first_line
from rightreasons.core.store import digest_package_code, get_trial_file, write_json
from rightreasons.models.batching import (
    CHANGING,
    Encoded,
    encode,
    frozen,
    get_padding_values,
    get_text_config,
    get_vocabulary_size,
    pad,
    unchanged,
)
from rightreasons.models.fingerprints import PROVENANCE
from rightreasons.models.runs.elapsed import show_elapsed
from rightreasons.models.runs.processes import processes

ONE_BY_ONE = "one by one"
"""The strategy whose outputs those of every other strategy are compared with."""

EQUAL_LENGTHS = "equal lengths"
"""Batches of sequences of one length, for models that read padding as text."""

RIGHT = "right padding"

SHORTEST = 16
"""Maximum tokens of the short items of a trial; longer ones are tried once data has them."""

UNBOUNDED = 1_000_000
"""A tokenizer without a bound reports a larger number."""

# Type of the numbers -> the largest difference that rounding explains: as a share of the largest
# absolute value, and as a number.
_TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (2e-5, 1e-5), torch.float16: (2e-2, 5e-3)}
# The same for bfloat16 and other coarse types.
_COARSE_TOLERANCE = (1e-1, 2e-2)
# A half-precision model with up to this number of parameters is tried in float32.
_MAX_WIDENED = 200_000_000
# Approximate number of tokens of long texts in a trial.
_N_LONG_TOKENS = 512
# Numbers of words of the short texts of a trial; the first one is also a neighbor of long texts.
_SHORT_LENGTHS = (7, 1, 4, 4, 12, 11, 10, 9, 8, 6, 5, 3)
_POSITION_BOUNDS = ("max_position_embeddings", "max_seq_len", "max_target_positions")
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


class ModelWithHead(ModelWithTokenizer, Protocol):
    """A model with a head that scores classes, choices or spans, such as `Classifier`."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """K names of the classes, in the order of the logits. None for other heads."""

    @property
    def device(self) -> torch.device:
        """Device of the input of the model."""


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


# ------------------------------------------------------------------------------- lengths


def find_max_positions(model: Any) -> int | None:
    """Return the maximum number of tokens that the position embeddings of a model allow.

    The configuration may state a larger maximum than the table of embeddings has rows, so that both
    are read.

    Args:
        model: A model of transformers, with its `config`.

    Returns:
        The smallest of all maxima; None if there is none, as for relative positions.
    """
    config = model.config
    if hasattr(config, "get_text_config"):
        config = config.get_text_config()
    bounds = []
    for name in _POSITION_BOUNDS:
        bound = getattr(config, name, None) or 0
        if bound > 0:
            bounds.append(int(bound))
    # A model that also reads pictures has a separate configuration for text. Its tables may be
    # position embeddings of the pictures.
    if config is not model.config and bounds:
        return min(bounds)
    for name, module in getattr(model, "named_modules", tuple)():
        # An embedding table of torch or of I-BERT; both have a padding index.
        if name.endswith("position_embeddings") and hasattr(module, "padding_idx"):
            bound = len(module.weight)
            if module.padding_idx is not None:
                # RoBERTa and related models count positions from the row after the padding index.
                bound -= module.padding_idx + 1
            if bound > 0:
                bounds.append(int(bound))
    return min(bounds, default=None)


def get_max_length(model: Any, tokenizer: Any) -> int:
    """Return the maximum number of tokens per sequence that both model and tokenizer allow.

    Args:
        model: A model of transformers, perhaps with an adapter of peft.
        tokenizer: Its tokenizer, whose `model_max_length` is a huge number if it has no maximum.

    Returns:
        The smaller of both maxima; 2048 if neither of them states one.
    """
    n_positions = find_max_positions(model) or 0
    if n_positions:
        # Prompt tuning puts virtual tokens before each text, which take positions.
        settings = getattr(model, "active_peft_config", None)
        n_positions -= getattr(settings, "num_virtual_tokens", None) or 0
    n_tokens = int(getattr(tokenizer, "model_max_length", None) or 0)
    # 0 means that there is no maximum, and so does a huge number in a tokenizer.
    bounds = [bound for bound in (n_positions, n_tokens) if 0 < bound < UNBOUNDED]
    return min(bounds, default=2048)


# ------------------------------------------------------------------- models with a head


def find_classifier_strategy(
    classifier: ModelWithHead, *, longest: int, joint: bool = False
) -> BatchingStrategy:
    """Find the fastest way to batch texts that leaves the scores of a model with a head unchanged.

    The candidates are right padding, batches of texts of equal lengths, and reading one by one. The
    padding side of the tokenizer does not matter.

    Args:
        classifier: A sequence classifier, a multiple-choice or a question-answering model.
        longest: Number of tokens of the longest sequence of the data.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.

    Raises:
        ValueError: If the model cannot be used, with the reason.
    """
    model = classifier.model
    n_classes = None
    if classifier.label_names is not None:
        n_classes = len(classifier.label_names)

    def run_trial(max_tokens: int) -> BatchingStrategy:
        """Find the fastest strategy for texts of up to `max_tokens` tokens."""
        is_short = max_tokens <= SHORTEST
        earlier_strategy = None
        if not is_short:
            # A strategy that fails for short texts is not tried for long ones.
            earlier_strategy = find_classifier_strategy(classifier, longest=SHORTEST, joint=joint)
        items = _make_trial_items(
            model,
            classifier.tokenizer,
            min(max_tokens, classifier.max_length),
            # Models of choices or spans read pairs of texts: a prompt and a choice, or a question
            # and a context.
            is_paired=n_classes is None,
            is_short=is_short,
        )
        trial = PaddingTrial(model, classifier.name, items, joint=joint, n_classes=n_classes)
        with set_padding_token(model, items.padding["input_ids"]):
            return find_fastest_strategy(
                model,
                classifier.name,
                trial.score_singly,
                {RIGHT: trial.score_padded, EQUAL_LENGTHS: trial.score_by_length},
                longest=max_tokens,
                repeat=trial.repeat,
                earlier_strategy=earlier_strategy,
            )

    kind = "choices" if joint else "texts"
    max_tokens = min(longest, classifier.max_length)
    return TRIALS.get_strategy(model, kind, max_tokens, run_trial, classifier.tokenizer)


class PaddingTrial:
    """Outputs of a model for a few items, computed one by one and in different batches.

    Args:
        model: The model.
        name: Name of the model, for errors.
        items: The items of the trial.
        joint: Whether the model reads tensors (n, C, T).
        n_classes: Number of classes of a classifier; None for other models.
    """

    def __init__(
        self, model: Any, name: str, items: Encoded, *, joint: bool, n_classes: int | None
    ) -> None:
        """Store the model and the items. Nothing is computed yet."""
        self.model = model
        self.name = name
        self.items = items
        self.joint = joint
        self.n_classes = n_classes
        # Indices of the items at which the model does not fail, and its outputs for them.
        self._readable_items = np.arange(len(items))
        self._single_outputs: list[NDArray[np.float64]] = []

    def score_singly(self) -> Outputs:
        """Return the outputs for every item that the model can read, one item at a time.

        Some models fail at very short items. The other methods leave these items out, too.

        Raises:
            RuntimeError: If the model fails at every item. It is the error of the last item, which
                may also be an IndexError.
        """
        readable_items: list[int] = []
        for item in range(len(self.items)):
            try:
                self._single_outputs += self._score_batch(np.array([item]))
                readable_items.append(item)
            except (RuntimeError, IndexError) as error:
                last_error = error
        if not readable_items:
            raise last_error
        self._readable_items = np.array(readable_items)
        return self._single_outputs

    def repeat(self) -> Outputs:
        """Score the longest item once more, and return the outputs for the items up to it.

        A difference from the earlier output reveals a model with random outputs. The longest item
        is used because sparse attention that samples tokens at random may read short items in full.
        """
        longest = int(self.items.lengths[self._readable_items].argmax())
        repeated = self._score_batch(self._readable_items[[longest]])
        return [*self._single_outputs[:longest], *repeated]

    def score_padded(self) -> Outputs:
        """Return the outputs for the items in two padded batches, of long and of short items."""
        is_long = self.items.lengths[self._readable_items] > SHORTEST
        long_items = self._readable_items[is_long]
        short_items = self._readable_items[~is_long]
        # One short item in the batch of long ones is enough to test a large amount of padding.
        if len(long_items) and len(short_items):
            long_items = np.append(long_items, short_items[0])
        return self._score_batches([long_items, short_items])

    def score_by_length(self) -> Outputs:
        """Return the outputs for the items in batches of equal lengths, which need no padding."""
        lengths = self.items.lengths[self._readable_items]
        batches = [self._readable_items[lengths == length] for length in np.unique(lengths)]
        return self._score_batches(batches)

    def _score_batches(self, batches: Sequence[NDArray[np.int64]]) -> Outputs:
        """Return the outputs for the items of several batches, in the order of the items.

        Args:
            batches: Arrays of item indices, which may be empty. If an item is in two batches, its
                output is from the first.
        """
        output_by_item: dict[int, NDArray[np.float64]] = {}
        for batch in batches:
            if not len(batch):
                continue
            for item, output in zip(batch.tolist(), self._score_batch(batch), strict=True):
                output_by_item.setdefault(item, output)
        return [output_by_item[item] for item in sorted(output_by_item)]

    def _score_batch(self, batch: NDArray[np.int64]) -> Outputs:
        """Run the model on one batch of items, padded on the right, and return its scores.

        Args:
            batch: (n,) indices of the items in `self.items`.

        Returns:
            n arrays: (K,) logits of the classes, (1,) score of a choice, or for a
            question-answering model (T, 2) start and end logits of the T tokens of the item,
            without padding.

        Raises:
            RefusalError: If the model does not return one logit per class, or one score per choice.
        """
        inputs = pad(self.items, batch, self.model.device)
        is_token = inputs["attention_mask"].bool()
        if self.joint:
            # A multiple-choice model reads (n, choices, T); each trial item is a single choice.
            inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
        outputs = self.model(**inputs)
        if hasattr(outputs, "start_logits"):
            span_logits = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
            scores = []
            for item_logits, is_item_token in zip(span_logits, is_token, strict=True):
                scores.append(item_logits[is_item_token].cpu().numpy())
            return scores
        logits = getattr(outputs, "logits", None)
        n_scores = len(is_token) * (self.n_classes or 1)
        if logits is None or logits.numel() != n_scores:
            raise RefusalError(self._explain_refusal(outputs, logits, len(is_token)))
        return list(logits.double().flatten(1).cpu().numpy())

    def _explain_refusal(self, outputs: Any, logits: Any, n_texts: int) -> str:
        """Return an error message that compares the expected scores with the output of the model.

        Args:
            outputs: The output of the model.
            logits: Its attribute `logits`. None if it has no such attribute.
            n_texts: Number of texts of the batch.
        """
        expected = "one score per choice"
        if self.n_classes is not None:
            expected = f"one score for each of {self.n_classes} classes"
        actual = "none"
        if isinstance(outputs, tuple):
            actual = "a tuple (set `config.return_dict`)"
        elif logits is not None:
            actual = f"a tensor of shape {tuple(logits.shape)}"
        return f"Expected {expected} from {self.name}, but it gives {actual} for {n_texts} texts."


@contextmanager
def set_padding_token(model: Any, token: int) -> Iterator[None]:
    """Set the padding token of a model that has none, during the block.

    A decoder with a classification head reads the score at the last token of a text that is not
    padding. It refuses batches if its configuration names no padding token.

    Args:
        model: The model, whose configuration is restored afterwards.
        token: Id of the token.
    """
    config = get_text_config(model)
    # Nothing has to be set.
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    settings = dict(vars(config))
    config.pad_token_id = token
    try:
        yield
    finally:
        # All settings are restored, because the model may have added others meanwhile.
        vars(config).clear()
        vars(config).update(settings)


def check_tokens(model: Any, name: str, largest: int) -> None:
    """Check that a model has an embedding for the largest of some token ids.

    Args:
        model: The model.
        name: Name of the model, for errors.
        largest: The largest token id.

    Raises:
        ValueError: If the id is not below the vocabulary size of the model.
    """
    n_embedded = get_vocabulary_size(model)
    if n_embedded is not None and largest >= n_embedded:
        raise ValueError(
            f"Expected token ids below {n_embedded}, the vocabulary size of {name}, but the "
            f"tokenizer gave {largest}. The tokenizer and model do not belong together."
        )


def list_ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of all tokens but special ones that tokenizer and model have in common.

    Args:
        model: The model, whose table of embeddings may be shorter than the vocabulary.
        tokenizer: Its tokenizer.

    Returns:
        The ids in ascending order, without tokens whose embeddings are not finite. If the vocabulary
        consists of special tokens only, these are returned.
    """
    tokens = np.arange(len(tokenizer))
    n_embedded = get_vocabulary_size(model)
    if n_embedded is not None:
        tokens = tokens[:n_embedded]
        weights = model.get_input_embeddings().weight[: len(tokens)]
        is_finite = torch.isfinite(weights).all(dim=1).cpu().numpy()
        # If no embedding is finite, a later check of the scores refuses the model.
        if is_finite.any():
            tokens = tokens[is_finite]
    words = np.setdiff1d(tokens, tokenizer.all_special_ids)
    return words if len(words) else tokens


def _make_trial_items(
    model: Any, tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> Encoded:
    """Make tokenized texts of random words, of the lengths that a trial of batching needs.

    Args:
        model: The model, whose vocabulary the words are from.
        tokenizer: Its tokenizer.
        longest: Number of tokens of the longest text.
        is_paired: Whether each item is a pair of texts.
        is_short: Whether all texts have up to 16 tokens. If not, there is one such text, and the
            others are long.
    """
    batches = _encode_trial_texts(tokenizer, longest, is_paired=is_paired, is_short=is_short)
    columns = {}
    for name in batches[0].columns:
        columns[name] = np.concatenate([batch.columns[name] for batch in batches])
    lengths = np.concatenate([batch.lengths for batch in batches])
    # The encoded texts of letters only give the lengths and the positions of special tokens. All
    # other tokens are replaced by random words, because the tokenizer may not know the letters.
    special_ids = [token for token in tokenizer.all_special_ids if token != tokenizer.unk_token_id]
    is_special = np.isin(columns["input_ids"], special_ids)
    words = list_ordinary_tokens(model, tokenizer)
    random_words = np.random.default_rng(0).choice(words, len(is_special)).astype(np.int32)
    columns["input_ids"] = np.where(is_special, columns["input_ids"], random_words)
    return Encoded(
        columns=columns,
        offsets=compute_offsets(lengths),
        truncated=np.zeros(len(lengths), dtype=np.bool_),
        padding=get_padding_values(tokenizer, model, columns["input_ids"]),
    )


def _encode_trial_texts(
    tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> list[Encoded]:
    """Tokenize texts of single letters, such as "a b c d", of the lengths that a trial needs.

    Args:
        tokenizer: The tokenizer.
        longest: Maximum number of tokens of a text.
        is_paired: Whether each text has a second one, "b".
        is_short: If True, the texts have the numbers of words in `_SHORT_LENGTHS`. If False, there
            is one such text, one of the maximum length, and others of 5/16 to 12/16 of that
            length, until all have about `_N_LONG_TOKENS` tokens.

    Returns:
        One batch with the short texts, and one for each long text.
    """
    letters = [*"abcdefghijklmnop"]
    max_short = min(longest, SHORTEST)
    n_short = len(_SHORT_LENGTHS) if is_short else 1
    texts = [" ".join(letters[:n_words]) for n_words in _SHORT_LENGTHS[:n_short]]
    pairs = ["b"] * len(texts) if is_paired else None
    batches = [encode(tokenizer, texts, pairs, max_length=max_short)]
    if is_short:
        return batches

    # Many tokens are needed to notice that padding changes which tokens sparse attention selects,
    # because that happens only at near ties. The tokenizer truncates one text to each length.
    long_text = " ".join(letters * (longest // 8 + 1))
    lengths_in_sixteenths = [16]
    for number in range(max(1, _N_LONG_TOKENS // longest)):
        # 12, 7, 10, 5, 8, …: steps of 5 modulo 8 repeat no length among eight texts.
        lengths_in_sixteenths.append(12 - 5 * number % 8)
    for sixteenths in lengths_in_sixteenths:
        length = max(max_short + 1, longest * sixteenths // 16)
        pair = ["b"] if is_paired else None
        batches.append(encode(tokenizer, [long_text], pair, max_length=length))
    return batches
