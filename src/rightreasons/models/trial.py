"""The way that a model's inputs are batched, tried on the model itself before it is believed.

A model is asked a few short items, and an item as long as the data's longest, one by one and in each way of batching.
The fastest way that gives the numbers of one by one is taken. Nothing is known of architectures: what a new one does
with padding, windows and states shows in its numbers.
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
from rightreasons.models.elapsed import show_elapsed
from rightreasons.models.fingerprints import PROVENANCE
from rightreasons.models.running import processes

ONE_BY_ONE = "one by one"
"""The way that every other one is compared with."""

EQUAL_LENGTHS = "equal lengths"
"""Batches of sequences of one length, for models that read padding as text."""

RIGHT = "right padding"

SHORTEST = 16
"""Maximum tokens of the short items of a trial; longer ones are tried once data has them."""

# Largest difference between two ways, as a share of the largest absolute value, and the smallest that counts at all.
_TOLERANCE = {torch.float64: (1e-6, 1e-8), torch.float32: (2e-5, 1e-5), torch.float16: (2e-2, 5e-3)}
_COARSE = (1e-1, 2e-2)  # bfloat16
# A narrow model with no more parameters than this is tried in float32, where mistakes stand out from rounding.
_WIDENED = 200_000_000
# About as many tokens of long texts are read in a trial.
_TRIED = 512

UNBOUNDED = 1_000_000
"""A tokenizer without a bound of its own reports a larger number."""

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
    """A model with a head that scores classes, choices or spans, such as `models.classes.Classifier`."""

    @property
    def label_names(self) -> tuple[str, ...] | None:
        """K names of the classes, in the order of the logits. None for other heads."""

    @property
    def device(self) -> torch.device:
        """Device of the input of the model."""


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


def fastest_way(
    model: torch.nn.Module,
    name: str,
    alone: Callable[[], Answers],
    ways: Mapping[str, Callable[[], Answers]],
    *,
    longest: int,
    again: Callable[[], Answers],
    before: Way | None = None,
) -> Way:
    """Return the first way whose answers are those of one by one.

    Args:
        model: The model.
        name: What the user called it.
        alone: Asks some items one by one.
        ways: Asks the same items in each way, the fastest way first.
        longest: Tokens of the longest of these items.
        again: Gives the answers of the first of these items with one or more asked again.
        before: The way of shorter items: one that failed there is not tried again, and the reason stays.

    Raises:
        ValueError: If the model cannot be asked, gives NaN or infinity, or answers the same question in two ways.
    """
    with torch.no_grad(), frozen(model), unchanged(model, each_call=True), _widened(model):
        try:
            want = alone()
        except RefusalError:
            raise
        except Exception as error:
            raise ValueError(
                f"Expected a model that can be asked, but {name} fails at a text of {longest} tokens or less: "
                f"{get_first_line(error)}"
            ) from error
        if not all(np.isfinite(row).all() for row in want):
            weights = (
                name
                for name, each in model.named_parameters()
                if not bool(torch.isfinite(each).all())
            )
            if (weight := next(weights, None)) is not None:
                raise ValueError(
                    f"Expected finite weights, but {weight} of {name} holds NaN or infinity."
                )
            raise ValueError(
                f"Expected finite scores, but {name} gives NaN or infinity for ordinary words."
            )
        bound = tolerance(model, max(float(np.abs(row).max(initial=0)) for row in want))
        if (off := _difference(again(), want)) > bound:
            raise ValueError(
                f"Expected a model that gives the same answer to the same question, but two answers of {name} differ "
                f"by {off:.2g}."
            )
        reasons = [before.reason] if before is not None and before.reason else []
        first = 0 if before is None else [*ways, ONE_BY_ONE].index(before.name)
        for way, ask in [*ways.items()][first:]:
            try:
                off = _difference(ask(), want)
            except Exception as error:
                reasons.append(f"{way} fails ({get_first_line(error)})")
                continue
            if off <= bound:
                return Way(way, longest, "; ".join(reasons))
            reasons.append(f"{way} is off by {off:.2g}")
        return Way(ONE_BY_ONE, longest, "; ".join(reasons))


class Trials:
    """The ways that were found for models in this process; a model that changes is tried again.

    What was found for a class of transformers is kept on disk for later processes, by all that a trial depends on but
    the values of the weights: the architecture, the configuration, the tokenizer's sizes, the type of the weights, the
    kind of device, and the versions of this package and its libraries. `CACHE_VARIABLE` names the folder. A model that
    changes itself as it reads is tried in each process.

    Example:
        >>> model, trials = torch.nn.Linear(2, 1), Trials()
        >>> ways = [trials.way(model, "texts", n, lambda reach: Way("right padding", reach)) for n in (5, 16, 17)]
        >>> [way.longest for way in ways]
        [16, 16, 17]
    """

    def __init__(self) -> None:
        self._found = weakref.WeakKeyDictionary[torch.nn.Module, tuple[int, dict[str, Way]]]()

    def way(
        self,
        model: torch.nn.Module,
        kind: str,
        longest: int,
        find: Callable[[int], Way],
        tokenizer: Any = None,
    ) -> Way:
        """Return the way for sequences of up to `longest` tokens, from an earlier trial if one went as far.

        Args:
            model: The model.
            kind: What it is asked.
            longest: Tokens of the longest sequence.
            find: Tries the model with sequences of up to the given tokens, at least `SHORTEST`.
            tokenizer: The tokenizer of the model; without it nothing is kept on disk.
        """
        longest = max(longest, SHORTEST)
        state = _state(model)
        seen, ways = self._found.get(model, (state, {}))
        if seen != state:
            ways = {}
        before = ways.get(kind)
        if before is None or before.longest < longest:
            kept = None if tokenizer is None else _kept_in(model, tokenizer, kind)
            # All processes try, or none.
            way = processes().gather(_read(kept, longest), "the kept trial")[0]
            if way is None:
                with show_elapsed(f"Trying how to batch {kind} of up to {longest} tokens"):
                    way = _agreed(lambda: find(longest))
                if kept is not None and model not in CHANGING and processes().is_main:
                    with contextlib.suppress(OSError):  # it is tried again next time
                        write_json(kept, dataclasses.asdict(way))
            ways[kind] = way
            self._found[model] = (state, ways)
            if ways[kind].name == ONE_BY_ONE:
                warnings.warn(
                    f"Items are scored one by one, which is slow: {ways[kind].reason}.",
                    stacklevel=4,
                )
        return ways[kind]


TRIALS = Trials()
"""The trials of this process."""


def tolerance(model: torch.nn.Module, scale: float) -> float:
    """Return the largest difference that rounding explains, between two ways of computing values of that scale."""
    dtype = next((p.dtype for p in model.parameters() if p.is_floating_point()), torch.float32)
    # Layers of 4 bits compute in a type of their own; those of 8 bits round what they read to 8 bits, too.
    settings = getattr(getattr(model, "config", None), "quantization_config", None)
    dtype = min(
        dtype, getattr(settings, "bnb_4bit_compute_dtype", dtype), key=lambda each: each.itemsize
    )
    if any(parameter.dtype == torch.int8 for parameter in model.parameters()):
        dtype = torch.bfloat16
    share, least = _TOLERANCE.get(dtype, _COARSE)
    return max(least, share * scale)


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
    result: Any
    try:
        result = find()
    except ValueError as error:
        result = error
    results: list[Any] = processes().gather(result, "the trial")
    for each in results:
        if isinstance(each, Exception):
            raise each
    return results[0]  # type: ignore[no-any-return]


def _settings(model: torch.nn.Module) -> str:
    config: Any = getattr(model, "config", None)
    settings = config.to_dict() if hasattr(config, "to_dict") else {}
    settings = {name: value for name, value in settings.items() if name not in PROVENANCE}
    return json.dumps(settings, sort_keys=True, default=str) + str(
        getattr(config, "_attn_implementation", "")
    )


def _kept_in(model: torch.nn.Module, tokenizer: Any, kind: str) -> Path | None:
    """Return the file that keeps what was found for a model; None for one whose code is not that of transformers."""
    if not type(model).__module__.startswith("transformers."):
        return None
    parts = sorted(
        {f"{type(part).__module__}.{type(part).__qualname__}" for part in model.modules()}
    )
    weights = sorted({f"{weight.dtype} {weight.device.type}" for weight in model.parameters()})
    names = (
        "pad_token_id",
        "bos_token_id",
        "eos_token_id",
        "model_input_names",
        "model_max_length",
    )
    words = [
        type(tokenizer).__name__,
        len(tokenizer),
        *(str(getattr(tokenizer, name, "")) for name in names),
    ]
    depends = [
        kind,
        _settings(model),
        type(model).__qualname__,
        parts,
        weights,
        words,
        digest_package_code(),
    ]
    return get_trial_file(depends)


def _read(kept: Path | None, longest: int) -> Way | None:
    """Return what an earlier process found, if it went as far; None where there is nothing, or nothing whole."""
    try:
        way = Way(**json.loads(kept.read_text("utf-8"))) if kept is not None else None
    except (OSError, ValueError, TypeError):
        return None
    return way if way is not None and way.longest >= longest else None


def _state(model: torch.nn.Module) -> int:
    """Return a number that changes with a model's weights and settings."""
    weights = tuple(
        (w.data_ptr(), 0 if w.is_inference() else w._version, w.dtype) for w in model.parameters()
    )
    return hash((_settings(model), weights))


@contextmanager
def _widened(model: torch.nn.Module) -> Iterator[None]:
    """Hold the weights of a small model in float32 meanwhile."""
    tensors = [
        t
        for t in (*model.parameters(), *model.buffers())
        if t.is_floating_point() and t.dtype.itemsize < 4
    ]
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


@contextmanager
def fails_at(name: str, item: str) -> Iterator[None]:
    """Name the first item of a batch at which a model fails."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        raise ValueError(
            f"Expected a model that can read every item, but {name} fails at item {item!r}, or one of its batch: "
            f"{get_first_line(error)}"
        ) from error


def position_bound(model: Any) -> int | None:
    """Return the maximum tokens of a model's position table; None if it has none."""
    config = (
        model.config.get_text_config() if hasattr(model.config, "get_text_config") else model.config
    )
    names = ("max_position_embeddings", "max_seq_len", "max_target_positions")
    bounds = [getattr(config, name, None) or 0 for name in names]
    if (
        config is not model.config and max(bounds) > 0
    ):  # any table of positions may be that of its pictures
        return min(int(bound) for bound in bounds if bound > 0)
    for name, module in getattr(model, "named_modules", tuple)():
        if name.endswith("position_embeddings") and hasattr(
            module, "padding_idx"
        ):  # torch's table, or one of I-BERT's
            # RoBERTa and related models number positions from after the padding index, so fewer tokens fit.
            bounds.append(
                len(module.weight) - (0 if module.padding_idx is None else module.padding_idx + 1)
            )
    return min((int(bound) for bound in bounds if bound > 0), default=None)


def length_bound(model: Any, tokenizer: Any) -> int:
    """Maximum tokens per sequence that both the model's positions and the tokenizer allow; 2048 if neither says."""
    positions = position_bound(model)
    if positions:  # prompt tuning puts tokens of its own before each text
        positions -= (
            getattr(getattr(model, "active_peft_config", None), "num_virtual_tokens", None) or 0
        )
    bounds = (positions, int(getattr(tokenizer, "model_max_length", None) or 0))
    return min((bound for bound in bounds if bound and 0 < bound < UNBOUNDED), default=2048)


def classifier_way(classifier: ModelWithHead, *, longest: int, joint: bool = False) -> Way:
    """Return how a model's inputs are batched, from a trial in this process: the fastest way that is exact.

    The ways are right padding, batches of equal lengths, and one by one. The padding side of the tokenizer does not
    matter.

    Args:
        classifier: A sequence classifier, a multiple-choice or a question-answering model.
        longest: Tokens of the longest sequence of the data.
        joint: Whether the model reads tensors (n, C, T), as a multiple-choice model does.

    Raises:
        ValueError: If no way is exact, with the reason.
    """
    model, tokenizer, name, bound = (
        classifier.model,
        classifier.tokenizer,
        classifier.name,
        classifier.max_length,
    )
    n_classes = None if classifier.label_names is None else len(classifier.label_names)

    def find(reach: int) -> Way:
        before = (
            classifier_way(classifier, longest=SHORTEST, joint=joint) if reach > SHORTEST else None
        )
        items = _trial_items(
            model, tokenizer, min(reach, bound), paired=n_classes is None, short=reach <= SHORTEST
        )
        trial = PaddingTrial(model, name, items, joint=joint, n_classes=n_classes)
        ways = {RIGHT: trial.right, EQUAL_LENGTHS: trial.equal}
        with padding_token(model, items.padding["input_ids"]):
            return fastest_way(
                model, name, trial.alone, ways, longest=reach, again=trial.again, before=before
            )

    return TRIALS.way(model, "choices" if joint else "texts", min(longest, bound), find, tokenizer)


class PaddingTrial:
    """Some items, and what a model answers to them one by one and in each way of padding.

    Args:
        model: The model.
        name: What the user called it.
        items: The items of the trial.
        joint: Whether the model reads tensors (n, C, T).
        n_classes: Number of classes of a classifier; None for the other models.
    """

    def __init__(
        self, model: Any, name: str, items: Encoded, *, joint: bool, n_classes: int | None
    ) -> None:
        self.model, self.name, self.items = model, name, items
        self.joint, self.n_classes = joint, n_classes
        self._readable = np.arange(len(items))
        self._alone: list[NDArray[np.float64]] = []

    def alone(self) -> Answers:
        """Answer every item by itself; those that the model cannot read, such as too short ones, are left out."""
        readable: list[int] = []
        for item in range(len(self.items)):
            try:
                self._alone += self._answers(np.array([item]))
                readable.append(item)
            except (RuntimeError, IndexError) as error:
                reason = error
        if not readable:
            raise reason
        self._readable = np.array(readable)
        return self._alone

    def again(self) -> Answers:
        """Answer the longest item once more: attention that draws at random may read short ones in full."""
        longest = int(self.items.lengths[self._readable].argmax())
        return [*self._alone[:longest], *self._answers(self._readable[[longest]])]

    def right(self) -> Answers:
        """Answer the items padded on the right."""
        # The long items have a batch of their own with one short item; the others are not padded to their length.
        long = self.items.lengths[self._readable] > SHORTEST
        batches = [self._readable[long], self._readable[~long]]
        if len(batches[0]) and len(batches[1]):
            batches[0] = np.append(batches[0], batches[1][0])
        return self._in_order(batches)

    def equal(self) -> Answers:
        """Answer the items of each length together."""
        lengths = self.items.lengths[self._readable]
        return self._in_order([self._readable[lengths == length] for length in np.unique(lengths)])

    def _in_order(self, batches: Sequence[NDArray[np.int64]]) -> Answers:
        """Ask batches, and return the answers in the order of the items; one of two batches counts with the first."""
        rows: dict[int, NDArray[np.float64]] = {}
        for batch in batches:
            if len(batch):
                for item, answer in zip(batch.tolist(), self._answers(batch), strict=True):
                    rows.setdefault(item, answer)
        return [rows[item] for item in sorted(rows)]

    def _answers(self, batch: NDArray[np.int64]) -> Answers:
        """Return what the model says of each item: its scores, or those of every token that is not padding."""
        inputs = pad(self.items, batch, self.model.device)
        mask = inputs["attention_mask"].bool()
        if self.joint:
            inputs = {key: tensor[:, None] for key, tensor in inputs.items()}
        outputs = self.model(**inputs)
        if hasattr(outputs, "start_logits"):
            table = torch.stack([outputs.start_logits, outputs.end_logits], dim=-1).double()
            return [row[real].cpu().numpy() for row, real in zip(table, mask, strict=True)]
        logits, n_classes = getattr(outputs, "logits", None), self.n_classes
        if logits is None or logits.numel() != len(mask) * (n_classes or 1):
            came = "none" if logits is None else f"a tensor of shape {tuple(logits.shape)}"
            came = "a tuple (set `config.return_dict`)" if isinstance(outputs, tuple) else came
            what = (
                "one score per choice"
                if n_classes is None
                else f"one score for each of {n_classes} classes"
            )
            raise RefusalError(
                f"Expected {what} from {self.name}, but it gives {came} for {len(mask)} texts."
            )
        return list(logits.double().flatten(1).cpu().numpy())


@contextmanager
def padding_token(model: Any, token: int) -> Iterator[None]:
    """Let a model without a padding token have one meanwhile; its configuration is as it was afterwards.

    A decoder with a classification head reads the last token that is not padding, and refuses batches without one.
    """
    config = text_config(model)
    if config is None or getattr(config, "pad_token_id", None) is not None:
        yield
        return
    before = dict(vars(config))
    config.pad_token_id = token
    try:
        yield
    finally:
        vars(config).clear()
        vars(config).update(before)


def check_tokens(model: Any, name: str, largest: int) -> None:
    """Check that a model knows the largest of some token ids.

    Raises:
        ValueError: If it does not.
    """
    known = vocabulary_size(model)
    if known is not None and largest >= known:
        raise ValueError(
            f"Expected token ids below {known}, which {name} knows, but its tokenizer gave {largest}: "
            "tokenizer and model do not belong together."
        )


def ordinary_tokens(model: Any, tokenizer: Any) -> NDArray[np.int64]:
    """Return the tokens of words that both tokenizer and model know, but none whose embedding is NaN or infinite."""
    tokens, known = np.arange(len(tokenizer)), vocabulary_size(model)
    if known is not None:
        tokens = tokens[:known]
        finite = (
            torch.isfinite(model.get_input_embeddings().weight[: len(tokens)])
            .all(dim=1)
            .cpu()
            .numpy()
        )
        tokens = (
            tokens[finite] if finite.any() else tokens
        )  # weights that are all NaN are refused where the scores are
    ordinary = np.setdiff1d(tokens, tokenizer.all_special_ids)
    return ordinary if len(ordinary) else tokens


def _trial_items(model: Any, tokenizer: Any, longest: int, *, paired: bool, short: bool) -> Encoded:
    """Return texts, or pairs of texts, of random words: of up to 16 tokens, or one such and others of `longest`."""
    letters = [*"abcdefghijklmnop"]
    bound = min(longest, SHORTEST)
    # Ties in attention to the few best tokens, which padding upsets, show only now and then: in many tokens.
    texts = [
        " ".join(letters[:length])
        for length in (7, 1, 4, 4, 12, 11, 10, 9, 8, 6, 5, 3)[: None if short else 1]
    ]
    parts = [encode(tokenizer, texts, ["b"] * len(texts) if paired else None, max_length=bound)]
    if not short:
        text = " ".join(letters * (longest // 8 + 1))
        sixteenths = [16, *(12 - 5 * number % 8 for number in range(max(1, _TRIED // longest)))]
        lengths = [max(bound + 1, longest * part // 16) for part in sixteenths]
        parts += [
            encode(tokenizer, [text], ["b"] if paired else None, max_length=length)
            for length in lengths
        ]
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns
    }
    words = ordinary_tokens(model, tokenizer)
    special = np.isin(
        columns["input_ids"], [t for t in tokenizer.all_special_ids if t != tokenizer.unk_token_id]
    )
    drawn = np.random.default_rng(0).choice(words, len(special)).astype(np.int32)
    columns["input_ids"] = np.where(special, columns["input_ids"], drawn)
    sizes = [size for part in parts for size in part.lengths.tolist()]
    return Encoded(
        columns=columns,
        offsets=compute_offsets(sizes),
        truncated=np.zeros(len(sizes), dtype=np.bool_),
        padding=padding_values(tokenizer, model, columns["input_ids"]),
    )
