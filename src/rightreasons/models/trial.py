"""Trials of models: how inputs can be batched without any change of the numbers.

A model is asked a few short items, and an item as long as the data's longest, one by one and in
each way of batching. The fastest way that gives the numbers of one by one is taken. Nothing is
known of architectures: what a new one does with padding, windows and states shows in its numbers.
`classifier_way` is the trial of models with a head; language models have their own trials, which
also use `find_fastest_way` and `TRIALS`.
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
    pad,
    padding_values,
    text_config,
    unchanged,
    vocabulary_size,
)
from rightreasons.models.fingerprints import PROVENANCE
from rightreasons.models.runs.elapsed import show_elapsed
from rightreasons.models.runs.processes import processes

ONE_BY_ONE = "one by one"
"""The way with which every other one is compared."""

EQUAL_LENGTHS = "equal lengths"
"""Batches of sequences of one length, for models that read padding as text."""

RIGHT = "right padding"

SHORTEST = 16
"""Maximum tokens of the short items of a trial; longer ones are tried once data has them."""

UNBOUNDED = 1_000_000
"""A tokenizer without a bound reports a larger number."""

# Largest difference between two ways, as a share of the largest absolute value, and the smallest
# one that counts at all.
_TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (2e-5, 1e-5), torch.float16: (2e-2, 5e-3)}
# That of bfloat16.
_COARSE_TOLERANCE = (1e-1, 2e-2)
# A narrow model with no more parameters is tried in float32, where mistakes exceed rounding.
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

Answers = Sequence[NDArray[np.float64]]


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
class Way:
    """A way of batching the inputs of a model.

    Attributes:
        name: The way, such as "right padding" or "one by one".
        longest: Maximum tokens per sequence for which it was tried.
        reason: Why faster ways were not taken; "" for none.
    """

    name: str
    longest: int
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.reason})" if self.reason else self.name


# -------------------------------------------------------------------------------- trials


def find_fastest_way(
    model: torch.nn.Module,
    name: str,
    ask_singly: Callable[[], Answers],
    ask_by_way: Mapping[str, Callable[[], Answers]],
    *,
    longest: int,
    repeat: Callable[[], Answers],
    earlier_way: Way | None = None,
) -> Way:
    """Return the fastest way of batching whose answers are those of one by one, up to rounding.

    Args:
        model: The model.
        name: Its name in errors.
        ask_singly: Returns the answers to some items, one array per item, read one by one.
        ask_by_way: Name of a way -> a function that returns the answers to the same items, read in
            that way. The fastest way comes first.
        longest: Tokens of the longest of these items.
        repeat: Returns the answers to the first of these items, with one or more asked again.
        earlier_way: The way of shorter items. One that failed for them is not tried again, and its
            reason stays.

    Returns:
        The way, with the reasons why faster ones were not taken; `ONE_BY_ONE` if all others fail.

    Raises:
        ValueError: If the model cannot be asked, gives NaN or infinity, or answers the same
            question in two ways.
    """
    # The model stays as it is: each call starts from the same state, and small weights in half
    # precision are held in float32, where mistakes exceed rounding.
    with torch.no_grad(), frozen(model), unchanged(model, each_call=True), _widened(model):
        expected = _ask_singly(name, ask_singly, longest)
        _check_finite(model, name, expected)
        scale = max(float(np.abs(row).max(initial=0)) for row in expected)
        max_difference = tolerance(model, scale)
        difference = _measure_difference(repeat(), expected)
        if difference > max_difference:
            raise ValueError(
                "Expected a model that gives the same answer to the same question, but two answers "
                f"of {name} differ by {difference:.2g}."
            )

        ways = list(ask_by_way)
        reasons = []
        if earlier_way is not None:
            # The ways before that of shorter items failed there. One by one, which is not among
            # the tried ways, leaves none.
            first_way = [*ways, ONE_BY_ONE].index(earlier_way.name)
            ways = ways[first_way:]
            if earlier_way.reason:
                reasons.append(earlier_way.reason)
        for way in ways:
            try:
                difference = _measure_difference(ask_by_way[way](), expected)
            except Exception as error:
                # A model that refuses padding may raise any error. That only rules out the way.
                reasons.append(f"{way} fails ({get_first_line(error)})")
                continue
            if difference <= max_difference:
                return Way(way, longest, "; ".join(reasons))
            reasons.append(f"{way} is off by {difference:.2g}")
        return Way(ONE_BY_ONE, longest, "; ".join(reasons))


def _ask_singly(name: str, ask_singly: Callable[[], Answers], longest: int) -> Answers:
    """Return the answers to the items of a trial, one by one.

    Raises:
        RefusalError: If the trial refuses the model.
        ValueError: If the model fails, with the reason.
    """
    try:
        return ask_singly()
    except RefusalError:
        raise
    except Exception as error:
        raise ValueError(
            f"Expected a model that can score texts, but {name} fails at a text of {longest} "
            f"tokens or less: {get_first_line(error)}"
        ) from error


def _check_finite(model: torch.nn.Module, name: str, answers: Answers) -> None:
    """Check that the answers of a model are finite.

    Raises:
        ValueError: If not. It names the first weight that is not finite, if there is one, as the
            cause.
    """
    if all(np.isfinite(row).all() for row in answers):
        return
    for weight_name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise ValueError(
                f"Expected finite weights, but {weight_name} of {name} holds NaN or infinity."
            )
    raise ValueError(
        f"Expected finite scores, but {name} gives NaN or infinity for ordinary words."
    )


def _measure_difference(answers: Answers, expected: Answers) -> float:
    """Return the largest absolute difference between two lists of arrays.

    Args:
        answers: Arrays, one per item. They may be fewer than those expected, for the first items.
        expected: Finite arrays.

    Returns:
        The difference; infinity if an answer is not finite, or has another shape.
    """
    largest = 0.0
    for row, expected_row in zip(answers, expected, strict=False):
        if row.shape != expected_row.shape or not np.isfinite(row).all():
            return float("inf")
        difference = np.abs(row - expected_row).max(initial=0)
        largest = max(largest, float(difference))
    return largest


def tolerance(model: torch.nn.Module, scale: float) -> float:
    """Return the largest difference that rounding explains between two computations of a value.

    It depends on the precision in which the model computes: that of its first floating-point
    weight, or a lower one if its layers are quantized.

    Args:
        model: The model.
        scale: The largest absolute value that it computes.
    """
    dtype = torch.float32
    for parameter in model.parameters():
        if parameter.is_floating_point():
            dtype = parameter.dtype
            break
    # Layers of 4 bits compute in their own type, which may be less precise.
    settings = getattr(getattr(model, "config", None), "quantization_config", None)
    compute_dtype = getattr(settings, "bnb_4bit_compute_dtype", dtype)
    if compute_dtype.itemsize < dtype.itemsize:
        dtype = compute_dtype
    # Layers of 8 bits also round what they read to 8 bits, as coarsely as bfloat16.
    if any(parameter.dtype == torch.int8 for parameter in model.parameters()):
        dtype = torch.bfloat16
    share, smallest = _TOLERANCE.get(dtype, _COARSE_TOLERANCE)
    return max(smallest, share * scale)


@contextmanager
def _widened(model: torch.nn.Module) -> Iterator[None]:
    """Hold the half-precision weights of a small model in float32 during the block.

    The weights are replaced in the model itself. A copy of it would not be the model: its hooks and
    its compiled code belong to this one. The original tensors are put back even after an error. No
    other thread may use the model meanwhile, as `frozen` and `unchanged` demand, too. A model with
    more than `_MAX_WIDENED` such weights stays as it is.
    """
    half_tensors = []
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point() and tensor.dtype.itemsize < 4:
            half_tensors.append(tensor)
    n_weights = sum(tensor.numel() for tensor in half_tensors)
    if not half_tensors or n_weights > _MAX_WIDENED:
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


# --------------------------------------------------------------------------- known ways


class Trials:
    """The ways that were found for models in this process; a model that changes is tried again.

    The way of a class of transformers is also stored on disk for later processes, because an audit
    of a small model would spend as much time on its trials as on its items. It is identified by all
    that a trial depends on but the values of the weights: the architecture, the configuration, the
    tokenizer's sizes, the type of the weights, the kind of device, and the versions of this package
    and its libraries. `CACHE_VARIABLE` names the folder. A model that changes itself as it reads is
    tried in each process.

    Example:
        >>> model, trials = torch.nn.Linear(2, 1), Trials()
        >>> def find(reach):
        ...     return Way("right padding", reach)
        >>> [trials.way(model, "texts", length, find).longest for length in (5, 16, 17)]
        [16, 16, 17]
    """

    def __init__(self) -> None:
        # A model that is gone takes its ways with it.
        self._ways = weakref.WeakKeyDictionary[torch.nn.Module, tuple[int, dict[str, Way]]]()

    def way(
        self,
        model: torch.nn.Module,
        kind: str,
        longest: int,
        find: Callable[[int], Way],
        tokenizer: Any = None,
    ) -> Way:
        """Return the way for sequences of up to `longest` tokens, by an earlier trial if possible.

        Args:
            model: The model.
            kind: Kind of items, such as "texts".
            longest: Tokens of the longest sequence.
            find: Tries the model with sequences of up to the given tokens, at least `SHORTEST`.
            tokenizer: The tokenizer of the model. If None, nothing is stored on disk.

        Warns:
            UserWarning: If the way is one by one, which is slow.
        """
        longest = max(longest, SHORTEST)
        state = _hash_state(model)
        tried_state, ways = self._ways.get(model, (state, {}))
        # The ways of a model whose weights or settings have changed since are no longer valid.
        if tried_state != state:
            ways = {}
        way = ways.get(kind)
        # A trial of long sequences serves short ones too.
        if way is not None and way.longest >= longest:
            return way
        way = _find_or_read(model, kind, longest, find, tokenizer)
        ways[kind] = way
        self._ways[model] = (state, ways)
        if way.name == ONE_BY_ONE:
            warnings.warn(
                f"Items are scored one by one, which is slow: {way.reason}.", stacklevel=4
            )
        return way


TRIALS = Trials()
"""The trials of this process."""


def _find_or_read(
    model: torch.nn.Module, kind: str, longest: int, find: Callable[[int], Way], tokenizer: Any
) -> Way:
    """Return the way that an earlier process stored on disk, or else try the model, and store it.

    The arguments are those of `Trials.way`.
    """
    path = None
    if tokenizer is not None:
        path = _get_stored_path(model, tokenizer, kind)
    # What the main process reads decides for all: a trial may share its work among them, so that
    # all have to take part.
    stored: Way | None = processes().gather(_read_way(path, longest), "the kept trial")[0]
    if stored is not None:
        return stored
    with show_elapsed(f"Trying how to batch {kind} of up to {longest} tokens"):
        way = _agree(lambda: find(longest))
    # The way of a model that changes itself depends on what it has read before.
    if path is not None and model not in CHANGING and processes().is_main:
        # A folder that cannot be written to costs another trial next time, but is no error.
        with contextlib.suppress(OSError):
            write_json(path, dataclasses.asdict(way))
    return way


def _agree(find: Callable[[], Way]) -> Way:
    """Try the model in every process, and return the way that the main process finds.

    Args:
        find: Tries the model.

    Raises:
        ValueError: In all processes, if the trial of one of them fails.
    """
    result: Any
    try:
        result = find()
    except ValueError as error:
        # Raised below: a process that left now would let the others wait for it.
        result = error
    results: list[Any] = processes().gather(result, "the trial")
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results[0]  # type: ignore[no-any-return]


def _describe_settings(model: torch.nn.Module) -> str:
    """Return the configuration of a model as text, without its provenance."""
    config: Any = getattr(model, "config", None)
    settings = {}
    if hasattr(config, "to_dict"):
        settings = {key: value for key, value in config.to_dict().items() if key not in PROVENANCE}
    # The kind of attention is no setting of the file.
    attention = str(getattr(config, "_attn_implementation", ""))
    return json.dumps(settings, sort_keys=True, default=str) + attention


def _get_stored_path(model: torch.nn.Module, tokenizer: Any, kind: str) -> Path | None:
    """Return the file that stores the way of a model; None for a class that is not of transformers.

    Its name is a digest of everything that a trial depends on, besides the values of the weights.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        kind: Kind of items, such as "texts".
    """
    # Other code may change without a change of its version.
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


def _read_way(path: Path | None, longest: int) -> Way | None:
    """Read the way of an earlier trial.

    Args:
        path: The file of `_get_stored_path`, or None.
        longest: Tokens of the longest sequence.

    Returns:
        The way; None if no file is stored, it is damaged, or its trial had shorter sequences only.
    """
    if path is None:
        return None
    try:
        way = Way(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return way if way.longest >= longest else None


def _hash_state(model: torch.nn.Module) -> int:
    """Return a number that changes with the weights and the configuration of a model.

    Weights are known by their address and their version, which every change in place increases, so
    that none is read.
    """
    states = []
    for weight in model.parameters():
        # Tensors of inference mode have no version.
        version = 0 if weight.is_inference() else weight._version
        states.append((weight.data_ptr(), version, weight.dtype))
    return hash((_describe_settings(model), tuple(states)))


@contextmanager
def name_failing_item(name: str, item: str) -> Iterator[None]:
    """Turn an error of a model inside the block into one that names an item of its batch.

    Args:
        name: Name of the model.
        item: Id of the first item of the batch. Any of the batch may be the cause.

    Raises:
        ValueError: If the block raises a RuntimeError or IndexError, as models do.
    """
    try:
        yield
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"Expected a model that can read every item, but {name} fails at item {item!r} or at "
            f"another item of its batch: {get_first_line(error)}"
        ) from error


# ------------------------------------------------------------------------------- lengths


def position_bound(model: Any) -> int | None:
    """Return the maximum tokens of a model's position table; None if it has none.

    The configuration may state a maximum that the table itself does not have, so that the smallest
    of all is taken.
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
    # those of the pictures.
    if config is not model.config and bounds:
        return min(bounds)
    for name, module in getattr(model, "named_modules", tuple)():
        # A table of torch, or one of I-BERT's.
        if name.endswith("position_embeddings") and hasattr(module, "padding_idx"):
            bound = len(module.weight)
            if module.padding_idx is not None:
                # RoBERTa and related models number positions from after the padding index.
                bound -= module.padding_idx + 1
            if bound > 0:
                bounds.append(int(bound))
    return min(bounds, default=None)


def length_bound(model: Any, tokenizer: Any) -> int:
    """Return the maximum tokens per sequence that both model and tokenizer allow.

    It is 2048 if neither states a maximum.
    """
    n_positions = position_bound(model) or 0
    if n_positions:
        # Prompt tuning puts its own tokens before each text, which take positions.
        settings = getattr(model, "active_peft_config", None)
        n_positions -= getattr(settings, "num_virtual_tokens", None) or 0
    n_tokens = int(getattr(tokenizer, "model_max_length", None) or 0)
    # 0 stands for no maximum here, and a huge number does in tokenizers.
    bounds = [bound for bound in (n_positions, n_tokens) if 0 < bound < UNBOUNDED]
    return min(bounds, default=2048)


# ------------------------------------------------------------------- models with a head


def classifier_way(classifier: ModelWithHead, *, longest: int, joint: bool = False) -> Way:
    """Return the fastest exact way of batching the inputs of a model with a head.

    The ways are right padding, batches of equal lengths, and one by one. The padding side of the
    tokenizer does not matter.

    Args:
        classifier: A sequence classifier, a multiple-choice or a question-answering model.
        longest: Tokens of the longest sequence of the data.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.

    Raises:
        ValueError: If no way is exact, with the reason.
    """
    model = classifier.model
    n_classes = None
    if classifier.label_names is not None:
        n_classes = len(classifier.label_names)

    def try_ways(reach: int) -> Way:
        is_short = reach <= SHORTEST
        earlier_way = None
        if not is_short:
            # A way that fails for short texts is not tried for long ones.
            earlier_way = classifier_way(classifier, longest=SHORTEST, joint=joint)
        items = _make_trial_items(
            model,
            classifier.tokenizer,
            min(reach, classifier.max_length),
            # Choices follow a prompt, and questions a context, as second texts.
            is_paired=n_classes is None,
            is_short=is_short,
        )
        trial = PaddingTrial(model, classifier.name, items, joint=joint, n_classes=n_classes)
        with padding_token(model, items.padding["input_ids"]):
            return find_fastest_way(
                model,
                classifier.name,
                trial.ask_singly,
                {RIGHT: trial.ask_padded, EQUAL_LENGTHS: trial.ask_by_length},
                longest=reach,
                repeat=trial.repeat,
                earlier_way=earlier_way,
            )

    kind = "choices" if joint else "texts"
    reach = min(longest, classifier.max_length)
    return TRIALS.way(model, kind, reach, try_ways, classifier.tokenizer)


class PaddingTrial:
    """Some items, and the answers of a model to them one by one and in each way of padding.

    Args:
        model: The model.
        name: Its name in errors.
        items: The items of the trial.
        joint: Whether the model reads tensors (n, C, T).
        n_classes: Number of classes of a classifier; None for other models.
    """

    def __init__(
        self, model: Any, name: str, items: Encoded, *, joint: bool, n_classes: int | None
    ) -> None:
        self.model = model
        self.name = name
        self.items = items
        self.joint = joint
        self.n_classes = n_classes
        self._readable = np.arange(len(items))
        self._single_answers: list[NDArray[np.float64]] = []

    def ask_singly(self) -> Answers:
        """Return the answers to every item that the model can read, one by one.

        Some models cannot read very short items. These are left out of the other ways, too.

        Raises:
            RuntimeError: If the model can read no item; the error of the last one, which may be an
                IndexError as well.
        """
        readable: list[int] = []
        for item in range(len(self.items)):
            try:
                self._single_answers += self._ask(np.array([item]))
                readable.append(item)
            except (RuntimeError, IndexError) as error:
                last_error = error
        if not readable:
            raise last_error
        self._readable = np.array(readable)
        return self._single_answers

    def repeat(self) -> Answers:
        """Return the answers up to the longest item, which is asked once more.

        A model with random answers is found by the difference. It is looked for in the longest
        item, because attention that draws at random may read short ones in full.
        """
        longest = int(self.items.lengths[self._readable].argmax())
        repeated = self._ask(self._readable[[longest]])
        return [*self._single_answers[:longest], *repeated]

    def ask_padded(self) -> Answers:
        """Return the answers to the items padded on the right."""
        is_long = self.items.lengths[self._readable] > SHORTEST
        long_items = self._readable[is_long]
        short_items = self._readable[~is_long]
        # Long items have a batch with one short item; the others are not padded to their length.
        if len(long_items) and len(short_items):
            long_items = np.append(long_items, short_items[0])
        return self._ask_batches([long_items, short_items])

    def ask_by_length(self) -> Answers:
        """Return the answers to the items of each length together."""
        lengths = self.items.lengths[self._readable]
        batches = [self._readable[lengths == length] for length in np.unique(lengths)]
        return self._ask_batches(batches)

    def _ask_batches(self, batches: Sequence[NDArray[np.int64]]) -> Answers:
        """Return the answers to the items of several batches, in the order of the items.

        Args:
            batches: Arrays of item positions, which may be empty. An item of two batches has its
                answer from the first.
        """
        answer_by_item: dict[int, NDArray[np.float64]] = {}
        for batch in batches:
            if not len(batch):
                continue
            for item, answer in zip(batch.tolist(), self._ask(batch), strict=True):
                answer_by_item.setdefault(item, answer)
        return [answer_by_item[item] for item in sorted(answer_by_item)]

    def _ask(self, batch: NDArray[np.int64]) -> Answers:
        """Return the scores of the items of one batch, padded on the right.

        Args:
            batch: (n,) positions of the items.

        Returns:
            n arrays: the scores of an item or, of a question-answering model, (T, 2) start and end
            logits of its tokens, without padding.

        Raises:
            RefusalError: If the model does not return one score per class, or per choice.
        """
        inputs = pad(self.items, batch, self.model.device)
        is_real = inputs["attention_mask"].bool()
        if self.joint:
            # A multiple-choice model reads (n, choices, T).
            inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
        outputs = self.model(**inputs)
        if hasattr(outputs, "start_logits"):
            table = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
            answers = []
            for row, is_token in zip(table, is_real, strict=True):
                answers.append(row[is_token].cpu().numpy())
            return answers
        logits = getattr(outputs, "logits", None)
        if logits is None or logits.numel() != len(is_real) * (self.n_classes or 1):
            raise RefusalError(self._explain_refusal(outputs, logits, len(is_real)))
        return list(logits.double().flatten(1).cpu().numpy())

    def _explain_refusal(self, outputs: Any, logits: Any, n_texts: int) -> str:
        """Return a sentence on the scores that were expected, and on what the model returned.

        Args:
            outputs: What the model returned.
            logits: Its logits, or None.
            n_texts: Number of items of the batch.
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
def padding_token(model: Any, token: int) -> Iterator[None]:
    """Set the padding token of a model that has none, during the block.

    A decoder with a classification head looks for the last token that is not padding, and refuses
    batches if its configuration names no padding token.

    Args:
        model: The model, whose configuration is restored afterwards.
        token: Id of the token.
    """
    config = text_config(model)
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    settings = dict(vars(config))
    config.pad_token_id = token
    try:
        yield
    finally:
        # All settings, as the model may have set further ones meanwhile.
        vars(config).clear()
        vars(config).update(settings)


def check_tokens(model: Any, name: str, largest: int) -> None:
    """Check that a model knows the largest of some token ids.

    Raises:
        ValueError: If it does not.
    """
    n_known = vocabulary_size(model)
    if n_known is not None and largest >= n_known:
        raise ValueError(
            f"Expected token ids below {n_known}, the vocabulary size of {name}, but the "
            f"tokenizer gave {largest}. The tokenizer and model do not belong together."
        )


def ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of the words that both tokenizer and model know, without special tokens.

    Words whose embeddings are not finite are left out. If the vocabulary has special tokens only,
    all of them are returned.
    """
    tokens = np.arange(len(tokenizer))
    n_embedded = vocabulary_size(model)
    if n_embedded is not None:
        tokens = tokens[:n_embedded]
        weights = model.get_input_embeddings().weight[: len(tokens)]
        is_finite = torch.isfinite(weights).all(dim=1).cpu().numpy()
        # A model whose embeddings are all NaN is refused later, by its scores.
        if is_finite.any():
            tokens = tokens[is_finite]
    words = np.setdiff1d(tokens, tokenizer.all_special_ids)
    return words if len(words) else tokens


def _make_trial_items(
    model: Any, tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> Encoded:
    """Return tokenized texts, or pairs of texts, of random words.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        longest: Tokens of the longest text.
        is_paired: Whether each text has a second one.
        is_short: Whether all texts have up to 16 tokens; if not, there is one such text, and long
            ones.
    """
    batches = _encode_trial_texts(tokenizer, longest, is_paired=is_paired, is_short=is_short)
    columns = {}
    for name in batches[0].columns:
        columns[name] = np.concatenate([batch.columns[name] for batch in batches])
    lengths = np.concatenate([batch.lengths for batch in batches])
    # The texts give the lengths, and the places of the special tokens. All other tokens are
    # replaced by random words; those of the letters may be unknown.
    special_ids = [token for token in tokenizer.all_special_ids if token != tokenizer.unk_token_id]
    is_special = np.isin(columns["input_ids"], special_ids)
    words = ordinary_tokens(model, tokenizer)
    sample = np.random.default_rng(0).choice(words, len(is_special)).astype(np.int32)
    columns["input_ids"] = np.where(is_special, columns["input_ids"], sample)
    return Encoded(
        columns=columns,
        offsets=compute_offsets(lengths),
        truncated=np.zeros(len(lengths), dtype=np.bool_),
        padding=padding_values(tokenizer, model, columns["input_ids"]),
    )


def _encode_trial_texts(
    tokenizer: Any, longest: int, *, is_paired: bool, is_short: bool
) -> list[Encoded]:
    """Tokenize texts of letters, of the lengths that a trial needs.

    Args:
        tokenizer: The tokenizer.
        longest: Tokens of the longest text.
        is_paired: Whether each text has a second one, "b".
        is_short: Whether all texts have up to `SHORTEST` tokens: those of `_SHORT_LENGTHS`. If
            not, there are the first of these, the longest text, and others of about 7 to 12
            sixteenths of its length, with `_N_LONG_TOKENS` tokens or more in all.
    """
    letters = [*"abcdefghijklmnop"]
    bound = min(longest, SHORTEST)
    n_short = len(_SHORT_LENGTHS) if is_short else 1
    texts = [" ".join(letters[:length]) for length in _SHORT_LENGTHS[:n_short]]
    pairs = ["b"] * len(texts) if is_paired else None
    batches = [encode(tokenizer, texts, pairs, max_length=bound)]
    if is_short:
        return batches

    # Ties in attention to the few best tokens, which padding changes, are rare, so that many tokens
    # are read. The tokenizer truncates one long text to each of the lengths.
    text = " ".join(letters * (longest // 8 + 1))
    sixteenths = [16]
    for number in range(max(1, _N_LONG_TOKENS // longest)):
        # 12, 7, 10, 5, 8, …: steps of 5 modulo 8 repeat no length among eight texts.
        sixteenths.append(12 - 5 * number % 8)
    for share in sixteenths:
        length = max(bound + 1, longest * share // 16)
        pair = ["b"] if is_paired else None
        batches.append(encode(tokenizer, [text], pair, max_length=length))
    return batches
