"""The log-likelihood of choices after their prompts, in every way of batching that a causal language model may allow.

A prompt is read once with all its choices behind it, in one row where an attention mask lets each choice see only the
prompt and itself, or it is read with each choice anew. A row holds no last token of a choice, which nothing follows, so
choices of one token need the prompt alone.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.store import digest_value
from rightreasons.models.batching import later, sent
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.protocol import Ability
from rightreasons.models.running import (
    Column,
    Columns,
    HowToRun,
    Later,
    run_model,
)
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    SHORTEST,
    TRIALS,
    Answers,
    ModelWithTokenizer,
    RefusalError,
    Way,
    fails_at,
    fastest_way,
    ordinary_tokens,
    tolerance,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


SHARED = "shared prefix"
PADDED = "right padding"

WAYS = (SHARED, PADDED, EQUAL_LENGTHS, ONE_BY_ONE)
"""The ways of batching, the fastest first."""

_PART = 512
# About as many tokens of choices are scored in a trial.
_TRIED = 256
# Rows of a trial that are read again without their last tokens.
_CUT = 6
# Texts that are tokenized at once.
_BLOCK = 1024


@dataclass(frozen=True)
class Tokens:
    """A prompt with choices as tokens.

    Attributes:
        name: The item.
        prompt: Tokens of the prompt, at least one.
        choices: Tokens of each choice, at least one each.
        places: The position of each choice among those of its item.
        truncated: Whether the prompt was cut, at its beginning.
    """

    name: str
    prompt: list[int]
    choices: list[list[int]]
    places: list[int]
    truncated: bool


class LanguageModel(ModelWithTokenizer, Protocol):
    """A language model of transformers, as likelihoods and generation need it.

    `models.choices.CausalLM` is the usual one, and documents the class variables.
    """

    ASKED: ClassVar[frozenset[Ability]]
    WAYS: ClassVar[Sequence[str]]
    TOLD: ClassVar[str]
    SURROUNDED: ClassVar[bool]

    @property
    def start_token(self) -> int | None:
        """Token in the place of an empty prompt. None if the model has none."""

    @property
    def opening(self) -> dict[str, Any]:
        """Settings of generation for the beginning of an answer that does not follow its prompt."""

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt before a continuation of `size` tokens."""

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of each text, and of each of its continuations."""

    def score(self, items: Sequence[Tokens], way: str) -> Callable[[], list[NDArray[np.float64]]]:
        """Start to compute the log-likelihood of each continuation of each item."""

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Return the numbers of each item of a trial."""


def tokenize_continuations(
    scorer: LanguageModel,
    names: Sequence[str],
    heads: Sequence[str],
    texts: Sequence[Sequence[str]],
    *,
    max_length: int | None = None,
    bare: bool = False,
    failures: dict[int, str] | None = None,
) -> list[list[Tokens]]:
    """Tokenize each text with each of its continuations, as `scorer.tokens` does, and cut texts at their beginning.

    An empty text is the model's start token, where no other token stands before what is read.

    Args:
        scorer: The model.
        names: N ids of items, for errors.
        heads: N texts.
        texts: N lists of continuations, exactly as they follow.
        max_length: Maximum tokens of each; None takes what the model reads.
        bare: Whether the texts have all of their special tokens, as those of a chat template have.
        failures: Takes the reasons why items cannot be asked, by their positions; None raises the first.

    Returns:
        N lists: one `Tokens`, or several where a text is cut so that its continuations see different parts of it;
        none for an item that cannot be asked.

    Raises:
        ValueError: If a continuation has no tokens, or more than the model can read, or a text is empty and there is no
            start token.
    """
    encode = Encoder(scorer.tokenizer, scorer.start_token)
    blocks = (slice(start, start + _BLOCK) for start in range(0, len(heads), _BLOCK))
    pairs = (
        pair
        for block in blocks
        for pair in scorer.tokens(encode, heads[block], texts[block], bare=bare)
    )
    items: list[list[Tokens]] = []
    for name, (prompt, parts) in zip(names, pairs, strict=True):
        try:
            items.append(_fit(scorer, name, prompt, parts, max_length or scorer.max_length))
        except ValueError as error:
            if failures is None:
                raise
            failures[len(items)] = str(error)
            items.append([])
    if failures and not any(items):
        raise ValueError(failures[0])
    return items


class Encoder:
    """Tokenizes texts, many at once: as running text, with special tokens before them but none behind, or otherwise.

    Attributes:
        start: The start token, as a list; [] where there is none.
        before: The special tokens that a tokenizer puts before a text.
        behind: Those that it puts behind it.
    """

    def __init__(self, tokenizer: Any, start_token: int | None) -> None:
        self.tokenizer = tokenizer
        self.start = [] if start_token is None else [start_token]
        self._mark = str(tokenizer.decode(self.start)) if self.start else ""
        (whole,), (plain,) = self.whole(["a"]), self.bare(["a"])
        size = len(plain)
        first = next(
            (i for i in range(len(whole) - size + 1) if whole[i : i + size] == plain),
            len(whole) - size,
        )
        self.before, self.behind = whole[:first], whole[first + size :] if size else []

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize running text; what begins with the start token, as chat templates write it, gets no second one."""
        bare = [bool(self._mark) and text.startswith(self._mark) for text in texts]
        rows = iter(self.whole([text for text, flag in zip(texts, bare, strict=True) if not flag]))
        others = iter(self.bare([text for text, flag in zip(texts, bare, strict=True) if flag]))
        return [
            next(others) if flag else (row := next(rows))[: len(row) - len(self.behind)]
            for flag in bare
        ]

    def bare(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts without special tokens."""
        return self.whole(texts, special=False)

    def whole(self, texts: Sequence[str], *, special: bool = True) -> list[list[int]]:
        """Tokenize texts with all of the special tokens that the tokenizer gives them."""
        how = {"add_special_tokens": special, "return_attention_mask": False, "verbose": False}
        return list(self.tokenizer(list(texts), **how)["input_ids"]) if texts else []


def _fit(
    scorer: LanguageModel,
    name: str,
    prompt: list[int],
    choices: Sequence[list[int]],
    max_length: int,
) -> list[Tokens]:
    """Cut a prompt at its beginning; choices that see the same part of it stay together."""
    if not prompt and not scorer.SURROUNDED:
        raise ValueError(
            f"Expected the tokenizer of {scorer.name} to have a begin- or end-of-sequence token, which the empty "
            f"prompt of item {name!r} needs, but it has neither."
        )
    groups: dict[int, Tokens] = {}
    for place, choice in enumerate(choices):
        if not choice:
            raise ValueError(
                f"Expected choices with tokens, but choice {place} of item {name!r} has none."
            )
        room = scorer.room(max_length, len(choice))
        if room < 1:
            raise ValueError(
                f"Expected choices that {scorer.name} can read (up to {max_length} tokens), but one of item {name!r} "
                f"has {len(choice)}."
            )
        seen = prompt[-room:]
        item = groups.setdefault(len(seen), Tokens(name, seen, [], [], len(prompt) > room))
        item.choices.append(choice)
        item.places.append(place)
    return list(groups.values())


@dataclass(frozen=True, eq=False)
class _Row:
    """One sequence that a model reads, and what is read off it.

    Attributes:
        tokens: (T,) the sequence.
        positions: (T,) the position of each token.
        segments: (T,) 0 for the prompt, j > 0 for a choice that sees only the prompt and itself.
        columns: (W,) where the logits of each wanted token are.
        wanted: (W,) the wanted tokens.
        owners: (W,) the choice that each is of.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    segments: NDArray[np.int64]
    columns: NDArray[np.int64]
    wanted: NDArray[np.int64]
    owners: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.tokens)


def width(item: Tokens, way: str) -> int:
    """Return the tokens of the longest row that an item becomes."""
    sizes = [len(choice) - 1 for choice in item.choices]
    return len(item.prompt) + (sum(sizes) if way == SHARED else max(sizes))


def n_rows(item: Tokens, way: str) -> int:
    """Return the maximum number of rows that an item becomes."""
    return 1 if way == SHARED or max(map(len, item.choices)) == 1 else len(item.choices)


def likelihoods(
    model: Any, items: Sequence[Tokens], way: str
) -> Callable[[], list[NDArray[np.float64]]]:
    """Ask for the log-likelihood of each choice of each item, in nats: (C,) per item; see `token_likelihoods`."""
    launched = token_likelihoods(model, items, way)

    def read() -> list[NDArray[np.float64]]:
        tokens = iter(launched())
        return [np.array([float(next(tokens).sum()) for _ in item.choices]) for item in items]

    return read


def token_likelihoods(
    model: Any, items: Sequence[Tokens], way: str
) -> Callable[[], list[NDArray[np.float64]]]:
    """Ask for the log-likelihood of each token of each choice, in nats.

    Args:
        model: A causal language model.
        items: The items.
        way: One of `WAYS`.

    Returns:
        A function that waits for them: (T,) per choice, one choice after another.
    """
    first = [0, *itertools.accumulate(len(item.choices) for item in items)]
    rows = [
        row
        for item, start in zip(items, first, strict=False)
        for row in _rows(item, start, shared=way == SHARED)
    ]
    groups: list[list[_Row]] = [rows]
    if way == ONE_BY_ONE:
        groups = [[row] for row in rows]
    elif way == EQUAL_LENGTHS:
        groups = [list(group) for _, group in itertools.groupby(sorted(rows, key=len), key=len)]
    owners = np.concatenate([row.owners for group in groups for row in group])
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners))[:-1]
    scored = torch.cat([_read(model, group) for group in groups])
    return later(lambda values: np.split(values[order], ends), scored)


def fingerprints_of(items: Sequence[Tokens]) -> dict[str, str]:
    """Digest items as tokens, and their names."""
    tokens = [[item.prompt, item.choices] for item in items]
    return {"ids": fingerprint_texts(item.name for item in items), "texts": digest_value(tokens)}


def likelihood_way(scorer: LanguageModel, *, longest: int, shared_prefix: bool = True) -> Way:
    """Return how a language model reads sequences, from a trial: the fastest of its `WAYS` that is exact.

    Args:
        scorer: The model.
        longest: Tokens of the longest sequence.
        shared_prefix: Whether a prompt may be read once for all of its choices.

    Raises:
        ValueError: If no way is exact, or a causal model also reads the tokens that it is to predict.
    """
    model, name, bound = scorer.model, scorer.name, scorer.room(scorer.max_length, 1)

    def find(reach: int) -> Way:
        ways = [
            way for way in scorer.WAYS if way != ONE_BY_ONE and (shared_prefix or way != SHARED)
        ]
        items = _trial_items(
            ordinary_tokens(model, scorer.tokenizer), min(reach, bound), twice=ways[0] != WAYS[0]
        )
        before = Way(ways[0], 0, scorer.TOLD)
        if reach > SHORTEST:
            before = likelihood_way(scorer, longest=SHORTEST, shared_prefix=shared_prefix)
        return fastest_way(
            model,
            name,
            lambda: scorer.answers(items, ONE_BY_ONE),
            {way: functools.partial(scorer.answers, items, way) for way in ways},
            longest=reach,
            again=lambda: scorer.answers(items[:1], ONE_BY_ONE),
            before=before,
        )

    kind = "choices by likelihood" if shared_prefix else "single choices by likelihood"
    return TRIALS.way(model, kind, min(longest, bound), find, scorer.tokenizer)


def _trial_items(words: NDArray[np.int64], reach: int, *, twice: bool) -> list[Tokens]:
    """Return items of random words: several of up to 16 tokens, or long prompts, `twice` of one length, and choices."""
    draw = np.random.default_rng(0)
    shapes: list[tuple[int, tuple[int, ...]]] = [
        (1, (2, 1)),
        (5, (3, 1, 2)),
        (min(9, max(1, reach - 7)), (4, 2, 2)),
    ]
    if reach > SHORTEST:  # a short item beside long ones, whose length may change how it is read
        shapes = [(reach - 2, (3,)), shapes[1]]
    shapes += shapes[:1] * twice
    # Ties in attention to the few best tokens, which padding upsets, show only now and then: in many tokens.
    shapes += [(1, (reach // 4, reach - reach // 4))] * max(1, _TRIED // reach)
    return [
        Tokens(
            "trial",
            draw.choice(words, size).tolist(),
            [draw.choice(words, n).tolist() for n in sizes],
            [],
            False,
        )
        for size, sizes in shapes
    ]


def one_by_one(model: Any, items: Sequence[Tokens], name: str) -> Answers:
    """Score one by one by plain calls; check that no logits depend on tokens that follow."""
    answers: list[NDArray[np.float64]] = []
    left = _CUT
    alone = (
        Tokens("", item.prompt, [choice], [], False) for item in items for choice in item.choices
    )
    for row in itertools.chain.from_iterable(_rows(item, 0, shared=False) for item in alone):
        scores = logits_of(model, {"input_ids": _tensor(model, row.tokens[None])}, name)[0]
        if left and len(row) > 4:
            left -= 1
            part = logits_of(model, {"input_ids": _tensor(model, row.tokens[None, :-3])})[0]
            off = float((scores[: len(part)] - part).abs().max())
            if off > 10 * tolerance(model, float(scores.abs().max())):
                raise RefusalError(
                    f"Expected a causal language model, but {name} reads the tokens that it is to predict: scores "
                    f"differ by {off:.2g} where later tokens differ."
                )
        log = scores[_tensor(model, row.columns)].double().log_softmax(-1)
        answers.append(log.gather(1, _tensor(model, row.wanted)[:, None])[:, 0].cpu().numpy())
    return answers


def _rows(item: Tokens, first: int, *, shared: bool) -> Iterator[_Row]:
    """Yield a row per choice, or one of all; choices that differ in their last token alone are read once."""
    read: dict[tuple[int, ...], list[int]] = {}
    for place, choice in enumerate(item.choices):
        read.setdefault(tuple(choice[:-1]), []).append(place)
    for parts in [list(read.items())] if shared else [[part] for part in read.items()]:
        size = at = len(item.prompt)
        columns: list[int] = []
        wanted: list[int] = []
        owners: list[int] = []
        for tokens, places in parts:
            for place in places:
                columns += [size - 1, *range(at, at + len(tokens))]
                wanted += item.choices[place]
                owners += [first + place] * (len(tokens) + 1)
            at += len(tokens)
        lengths = [len(tokens) for tokens, _ in parts]
        segments = np.arange(1, len(parts) + 1) if len(parts) > 1 else np.zeros(1, dtype=np.int64)
        yield _Row(
            np.array(
                [*item.prompt, *itertools.chain.from_iterable(tokens for tokens, _ in parts)],
                dtype=np.int64,
            ),
            np.concatenate([np.arange(size), *(size + np.arange(length) for length in lengths)]),
            np.concatenate([np.zeros(size, dtype=np.int64), np.repeat(segments, lengths)]),
            np.array(columns, dtype=np.int64),
            np.array(wanted, dtype=np.int64),
            np.array(owners, dtype=np.int64),
        )


def _read(model: Any, rows: Sequence[_Row]) -> torch.Tensor:
    """Read rows in one pass, padded on the right; return the log-likelihoods of their wanted tokens."""
    shape = (len(rows), max(map(len, rows)))
    tokens, positions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    segments = np.full(shape, -1, dtype=np.int64)
    for place, row in enumerate(rows):
        tokens[place, : len(row)], positions[place, : len(row)] = row.tokens, row.positions
        segments[place, : len(row)] = row.segments
    inputs: dict[str, Any] = {"input_ids": _tensor(model, tokens)}
    if (segments > 0).any():
        inputs |= {
            "attention_mask": _mask(model, segments),
            "position_ids": _tensor(model, positions),
        }
    elif (segments < 0).any():
        inputs["attention_mask"] = _tensor(model, (segments >= 0).astype(np.int64))
    known, columns = inspect.signature(model.forward).parameters, np.arange(shape[1])
    if "use_cache" in known:
        inputs["use_cache"] = False
    if "logits_to_keep" in known:
        columns = np.unique(np.concatenate([row.columns for row in rows]))
        inputs["logits_to_keep"] = _tensor(model, columns)
    logits = logits_of(model, inputs)
    if logits.shape[1] == shape[1]:  # all were kept
        columns = np.arange(shape[1])
    at_row = np.repeat(np.arange(len(rows)), [len(row.wanted) for row in rows])
    at_column = np.searchsorted(columns, np.concatenate([row.columns for row in rows]))
    index = [
        sent(each, logits.device)
        for each in (at_row, at_column, np.concatenate([row.wanted for row in rows]))
    ]
    found = []
    # In parts: the table of all logits is in memory already, a float copy of it need not be.
    for at, column, wanted in zip(*(torch.split(each, _PART) for each in index), strict=True):
        scores = logits[at, column]
        scores = scores if scores.dtype == torch.float64 else scores.float()
        found.append(scores.gather(1, wanted[:, None])[:, 0] - scores.logsumexp(dim=1))
    return torch.cat(found).double()


def _mask(model: Any, segments: NDArray[np.int64]) -> torch.Tensor:
    """Return the additive, four-dimensional attention mask that transformers takes as it is."""
    parts = _tensor(model, segments)
    size = parts.shape[1]
    causal = torch.ones(size, size, dtype=torch.bool, device=parts.device).tril()
    key, query = parts[:, None, :], parts[:, :, None]
    allowed = causal & (key >= 0) & ((key == 0) | (key == query))
    allowed |= torch.eye(
        size, dtype=torch.bool, device=parts.device
    )  # padding sees itself, so that no row is empty
    mask = torch.zeros(allowed.shape, dtype=model.dtype, device=parts.device)
    return mask.masked_fill_(~allowed, torch.finfo(model.dtype).min)[:, None]


def logits_of(model: Any, inputs: Mapping[str, Any], name: str = "the model") -> torch.Tensor:
    """Return the logits of every token that a model is asked, without those of tokens that it puts before them."""
    outputs = model(**inputs)
    logits = getattr(outputs, "logits", None)
    if logits is None or logits.dim() != 3:
        raise RefusalError(
            f"Expected logits of every token from {name}, but it gives {type(outputs).__name__} without them."
        )
    table: torch.Tensor = logits
    return table[:, -inputs["input_ids"].shape[1] :]


def _tensor(model: Any, array: NDArray[np.int64]) -> torch.Tensor:
    return sent(array, model.device)


def scored_continuations(
    scorer: LanguageModel,
    items: Sequence[Tokens],
    *,
    kind: str,
    max_tokens: int,
    **how: Unpack[HowToRun],
) -> tuple[Columns, str]:
    """Return the log-likelihood of every choice of every item, and in words how they were read: the fastest exact way.

    Where a row of a prompt with all of its choices is longer than what the model reads, each choice has its own.
    """
    fits = SHARED in scorer.WAYS and max(width(item, SHARED) for item in items) <= scorer.max_length
    longest = max(width(item, SHARED if fits else ONE_BY_ONE) for item in items)
    way = likelihood_way(scorer, longest=longest, shared_prefix=fits)

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> Later:
        chosen = [items[int(index)] for index in batch]
        named = fails_at(scorer.name, chosen[0].name)
        read = named(named(scorer.score)(chosen, way.name))

        def columns() -> dict[str, Column]:
            rows = read()
            for item, row in zip(chosen, rows, strict=True):
                if not np.isfinite(row).all():
                    raise ValueError(
                        f"Expected finite scores, but {scorer.name} gave NaN or infinity for item {item.name!r}."
                    )
            return {"likelihood": Ragged.of(np.concatenate(rows), [len(row) for row in rows])}

        return columns

    batches = _batches(items, way.name, max_tokens)
    scored = run_model(
        scorer.model, score, batches, kind=kind, inputs=lambda: fingerprints_of(items), **how
    )
    return scored, str(way)


def _batches(items: Sequence[Tokens], way: str, max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of prompts, and of choices together, of like length; the longest first."""
    prompts = np.array([len(item.prompt) for item in items])
    widths = np.array([width(item, way) for item in items])
    rows = np.array([n_rows(item, way) for item in items])
    order = np.lexsort((-(widths - prompts), -(prompts // 8))).astype(np.int64)
    batches, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order):
            batch = order[start : end + 1]
            if rows[batch].sum() * widths[batch].max() > max_tokens:
                break
            end += 1
        batches.append(order[start:end])
        start = end
    return batches
