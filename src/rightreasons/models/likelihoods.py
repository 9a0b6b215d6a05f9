"""The log-likelihood of choices after their prompts, in every way of batching that a causal language model may allow.

A prompt is read once with all of its choices after it, in one row in which an attention mask lets each choice see only
the prompt and itself, and such rows of several items are packed into one. Otherwise it is read anew with each choice. A
row holds no last token of a choice, which nothing follows, so that choices of one token need only the prompt.
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
from rightreasons.models.batching import read_later, send_array
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.protocol import Ability
from rightreasons.models.running import (
    TOKENS_PER_ITEM,
    Column,
    Columns,
    HowToRun,
    Later,
    default_batch_size,
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

ROW_TOKENS = 256
"""About as many tokens are packed into one row: longer rows cost more attention, shorter ones use a processor less well."""

MAX_PADDING = 0.2
"""Largest share of padding in a batch of more than a few tokens."""

# A batch below so many tokens is not cut because of its padding: a pass costs as much as these tokens by itself.
_MIN_TOKENS = 128
_PART = 512
# About as many tokens of choices are scored in a trial.
_TRIED = 256
# Prompts of a trial that have choices of about as many tokens, at most: each costs two passes.
_MAX_TRIED = 4
# Tokens of a batch on a CPU: a larger one is not faster, needs more memory, and says less often how far it is.
_CPU_TOKENS = 512
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
    """One sequence that a model reads, and the tokens whose log-likelihood is read off it.

    A row holds prompts, each with its choices as a tree: what choices have in common at their beginning is read once. A
    segment is a prompt, or what a choice adds to the tree.

    Attributes:
        tokens: (T,) token ids.
        positions: (T,) position of each token in its prompt with its choice.
        segments: (T,) segment of each token.
        limits: (S, S) position below which tokens of one segment (row) see those of another (column).
        columns: (W,) column of the logits of each target.
        targets: (W,) token ids whose log-likelihood is read.
        owners: (W,) choice that each target belongs to.
        is_path: Whether each token sees all tokens before it, so that no mask is needed.
    """

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    segments: NDArray[np.int64]
    limits: NDArray[np.int64]
    columns: NDArray[np.int64]
    targets: NDArray[np.int64]
    owners: NDArray[np.int64]
    is_path: bool

    def __len__(self) -> int:
        return len(self.tokens)


def width(item: Tokens, way: str) -> int:
    """Return the tokens of the longest row that an item becomes."""
    if way == SHARED:
        return len(item.prompt) + _count_nodes(item.choices)
    return len(item.prompt) + max(map(len, item.choices)) - 1


def _count_nodes(choices: Sequence[Sequence[int]]) -> int:
    """Return the number of tokens that are read of choices if a common beginning is read once."""
    # (node before, token) -> node
    nodes: dict[tuple[int, int], int] = {}
    for choice in choices:
        node = 0
        for token in choice[:-1]:
            node = nodes.setdefault((node, token), len(nodes) + 1)
    return len(nodes)


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
    rows: list[_Row] = []
    n_choices = 0
    for item in items:
        rows += _rows(item, n_choices, shared=way == SHARED)
        n_choices += len(item.choices)

    if way == SHARED:
        groups = [_pack(rows)]
    elif way == ONE_BY_ONE:
        groups = [[row] for row in rows]
    elif way == EQUAL_LENGTHS:
        groups = [list(group) for _, group in itertools.groupby(sorted(rows, key=len), key=len)]
    else:
        groups = [rows]
    owners = np.concatenate([row.owners for group in groups for row in group])
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners))[:-1]
    scored = torch.cat([_read(model, group) for group in groups])
    return read_later(lambda values: np.split(values[order], ends), scored)


def _pack(rows: Sequence[_Row]) -> list[_Row]:
    """Join rows into a few of about `ROW_TOKENS` tokens, nearly equal in length, so that little is padded."""
    sizes = np.array([len(row) for row in rows])
    n_packed = max(1, round(int(sizes.sum()) / max(ROW_TOKENS, int(sizes.max()))))
    packed: list[list[_Row]] = [[] for _ in range(n_packed)]
    lengths = [0] * n_packed
    # The longest first, each into the row that is the shortest so far.
    for position in np.argsort(-sizes, kind="stable"):
        shortest = lengths.index(min(lengths))
        packed[shortest].append(rows[position])
        lengths[shortest] += len(rows[position])
    return [_join(group) for group in packed if group]


def _join(rows: Sequence[_Row]) -> _Row:
    """Put rows into one, in which their items do not see each other."""
    starts = np.cumsum([0, *map(len, rows[:-1])])
    n_segments = [len(row.limits) for row in rows]
    first_segments = np.cumsum([0, *n_segments[:-1]])
    limits = np.zeros((sum(n_segments), sum(n_segments)), dtype=np.int64)
    segments = []
    columns = []
    for row, start, first_segment in zip(rows, starts, first_segments, strict=True):
        own = slice(first_segment, first_segment + len(row.limits))
        limits[own, own] = row.limits
        segments.append(row.segments + first_segment)
        columns.append(row.columns + start)
    return _Row(
        tokens=np.concatenate([row.tokens for row in rows]),
        positions=np.concatenate([row.positions for row in rows]),
        segments=np.concatenate(segments),
        limits=limits,
        columns=np.concatenate(columns),
        targets=np.concatenate([row.targets for row in rows]),
        owners=np.concatenate([row.owners for row in rows]),
        is_path=len(rows) == 1 and rows[0].is_path,
    )


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
    """Return items of random words for a trial.

    Args:
        words: Token ids to draw from.
        reach: Tokens of the longest item. Up to `SHORTEST`, all items are short.
        twice: Whether two items have equal lengths, as batches of equal lengths need.
    """
    # (tokens of the prompt, tokens of each choice). The longest item comes first: it is asked again,
    # because attention that draws at random may read short ones in full.
    shapes: list[tuple[int, tuple[int, ...]]] = [(5, (3, 2)), (1, (2,))]
    if reach > SHORTEST:
        # A short item next to long ones, whose length may change how it is read.
        long_shapes: list[tuple[int, tuple[int, ...]]] = [(reach - 2, (3,))]
        if not twice:
            # Ties in attention to the few best tokens, which padding changes, need many tokens to show.
            quarter = reach // 4
            n_long = min(max(1, _TRIED // reach), _MAX_TRIED)
            long_shapes = [(quarter, (reach - quarter + 1, quarter))] * n_long
        shapes = [*long_shapes, (5, (3, 1, 2))]
    if twice:
        shapes = [*shapes, shapes[0]]
    draw = np.random.default_rng(0)
    items = []
    for size, sizes in shapes:
        prompt = draw.choice(words, size).tolist()
        choices = [draw.choice(words, n).tolist() for n in sizes]
        for choice in choices[1:]:
            # Choices of real items often begin alike.
            n_common = len(choice) // 2
            choice[:n_common] = choices[0][:n_common]
        items.append(Tokens("trial", prompt, choices, places=[], truncated=False))
    return items


def one_by_one(model: Any, items: Sequence[Tokens], name: str) -> Answers:
    """Score choices one by one by plain calls, and check that no logits depend on later tokens.

    Args:
        model: A causal language model.
        items: The items.
        name: Name of the model, for errors.

    Returns:
        (T,) log-likelihoods per choice, one choice after another.

    Raises:
        RefusalError: If logits depend on later tokens, or the model gives none.
    """
    answers: list[NDArray[np.float64]] = []
    for item in items:
        previous: tuple[NDArray[np.int64], torch.Tensor] | None = None
        for choice in item.choices:
            row = _row(item.prompt, [choice], owners=[0])
            scores = _plain_logits(model, row.tokens, name)
            if previous is not None:
                _check_causal(model, previous, (row.tokens, scores), name)
            previous = (row.tokens, scores)
            log = scores[_tensor(model, row.columns)].double().log_softmax(-1)
            targets = _tensor(model, row.targets)[:, None]
            answers.append(log.gather(1, targets)[:, 0].cpu().numpy())
    return answers


def _check_causal(
    model: Any,
    left: tuple[NDArray[np.int64], torch.Tensor],
    right: tuple[NDArray[np.int64], torch.Tensor],
    name: str,
) -> None:
    """Check that two sequences, each with its logits, have the same logits up to where they differ."""
    tokens, scores = left
    other_tokens, other_scores = right
    shorter = min(len(tokens), len(other_tokens))
    is_equal = tokens[:shorter] == other_tokens[:shorter]
    n_common = int(np.logical_and.accumulate(is_equal).sum())
    bound = 10 * tolerance(model, float(scores.abs().max()))
    difference = float((scores[:n_common] - other_scores[:n_common]).abs().max())
    if not difference > bound:  # NaN is refused later, with its cause
        return
    # A model with random answers is no less causal for it.
    difference_again = float((scores - _plain_logits(model, tokens, name)).abs().max())
    if difference_again > bound:
        raise RefusalError(
            f"Expected a model that gives the same answer to the same question, but two answers of {name} differ by "
            f"{difference_again:.2g}."
        )
    raise RefusalError(
        f"Expected a causal language model, but {name} reads the tokens that it is to predict: scores differ by "
        f"{difference:.2g} where later tokens differ."
    )


def _plain_logits(model: Any, tokens: NDArray[np.int64], name: str) -> torch.Tensor:
    """Return the (T, V) logits of a sequence that is read by itself."""
    inputs: dict[str, Any] = {"input_ids": _tensor(model, tokens[None])}
    if "use_cache" in inspect.signature(model.forward).parameters:
        # Nothing is read after it, and the cache of some models fails at sequences of some lengths.
        inputs["use_cache"] = False
    return logits_of(model, inputs, name)[0]


def _rows(item: Tokens, first: int, *, shared: bool) -> Iterator[_Row]:
    """Yield a row per choice, or one of all; choices that differ only in their last token share a row.

    Args:
        item: The item.
        first: Number of its first choice among those of all items.
        shared: Whether one row holds all choices.
    """
    if shared:
        yield _row(item.prompt, item.choices, range(first, first + len(item.choices)))
        return
    # What is read of a choice, all but its last token -> the choices that it is read for.
    places_by_tokens: dict[tuple[int, ...], list[int]] = {}
    for place, choice in enumerate(item.choices):
        places_by_tokens.setdefault(tuple(choice[:-1]), []).append(place)
    for places in places_by_tokens.values():
        choices = [item.choices[place] for place in places]
        yield _row(item.prompt, choices, [first + place for place in places])


def _row(prompt: Sequence[int], choices: Sequence[Sequence[int]], owners: Sequence[int]) -> _Row:
    """Return the row of a prompt with a tree of choices.

    Args:
        prompt: Tokens of the prompt.
        choices: Tokens of each choice.
        owners: Number of each choice among those of all items.
    """
    size = len(prompt)
    tokens = list(prompt)
    positions = list(range(size))
    segments = [0] * size
    limits = np.zeros((len(choices) + 1, len(choices) + 1), dtype=np.int64)
    limits[:, 0] = size
    columns: list[int] = []
    # (column of the token before, token) -> column of the token
    column_by_step: dict[tuple[int, int], int] = {}
    for segment, choice in enumerate(choices, start=1):
        # The first token of a choice is predicted at the end of the prompt.
        column = size - 1
        columns.append(column)
        # Nothing follows the last token, so that it is not read.
        for position, token in enumerate(choice[:-1], start=size):
            step = (column, token)
            if step not in column_by_step:
                column_by_step[step] = len(tokens)
                tokens.append(token)
                positions.append(position)
                segments.append(segment)
            column = column_by_step[step]
            columns.append(column)
            limits[segment, segments[column]] = position + 1
    return _Row(
        tokens=np.array(tokens, dtype=np.int64),
        positions=np.array(positions, dtype=np.int64),
        segments=np.array(segments, dtype=np.int64),
        limits=limits,
        columns=np.array(columns, dtype=np.int64),
        targets=np.concatenate([np.array(choice, dtype=np.int64) for choice in choices]),
        owners=np.repeat(np.array(owners, dtype=np.int64), [len(choice) for choice in choices]),
        is_path=len(set(segments)) <= 2,
    )


def _read(model: Any, rows: Sequence[_Row]) -> torch.Tensor:
    """Read rows in one pass, padded on the right; return the log-likelihoods of their targets."""
    inputs = _inputs(model, rows)
    size = inputs["input_ids"].shape[1]
    parameters = inspect.signature(model.forward).parameters
    if "use_cache" in parameters:
        inputs["use_cache"] = False
    columns = np.arange(size)
    if "logits_to_keep" in parameters:
        columns = np.unique(np.concatenate([row.columns for row in rows]))
        inputs["logits_to_keep"] = _tensor(model, columns)
    logits = logits_of(model, inputs)
    if logits.shape[1] == size:  # some models take the option and keep all
        columns = np.arange(size)

    n_targets = [len(row.targets) for row in rows]
    at_row = np.repeat(np.arange(len(rows)), n_targets)
    at_column = np.searchsorted(columns, np.concatenate([row.columns for row in rows]))
    targets = np.concatenate([row.targets for row in rows])
    index = [send_array(array, logits.device) for array in (at_row, at_column, targets)]
    found = []
    # In parts: the table of all logits is in memory already, a float copy of it need not be.
    for at, column, target in zip(*(torch.split(array, _PART) for array in index), strict=True):
        scores = logits[at, column]
        if scores.dtype != torch.float64:
            scores = scores.float()
        found.append(scores.gather(1, target[:, None])[:, 0] - scores.logsumexp(dim=1))
    return torch.cat(found).double()


def _inputs(model: Any, rows: Sequence[_Row]) -> dict[str, Any]:
    """Return the tokens of rows, padded on the right, with the mask that they need."""
    shape = (len(rows), max(map(len, rows)))
    tokens = np.zeros(shape, dtype=np.int64)
    positions = np.zeros(shape, dtype=np.int64)
    is_token = np.zeros(shape, dtype=np.bool_)
    for place, row in enumerate(rows):
        tokens[place, : len(row)] = row.tokens
        positions[place, : len(row)] = row.positions
        is_token[place, : len(row)] = True
    inputs = {"input_ids": _tensor(model, tokens)}
    if not all(row.is_path for row in rows):
        inputs["attention_mask"] = _mask(model, rows, positions)
        inputs["position_ids"] = _tensor(model, positions)
    elif not is_token.all():
        inputs["attention_mask"] = _tensor(model, is_token.astype(np.int64))
    return inputs


def _mask(model: Any, rows: Sequence[_Row], positions: NDArray[np.int64]) -> torch.Tensor:
    """Return the additive, four-dimensional attention mask that transformers takes as it is.

    A token sees those before it whose position is below the limit of its segment for theirs.

    Args:
        model: The model.
        rows: n rows.
        positions: (n, T) positions of their tokens, padded.
    """
    n_segments = max(len(row.limits) for row in rows)
    # Padding is a segment that sees nothing, and that nothing sees.
    segments = np.full(positions.shape, n_segments, dtype=np.int64)
    limits = np.zeros((len(rows), n_segments + 1, n_segments + 1), dtype=np.int32)
    for place, row in enumerate(rows):
        segments[place, : len(row)] = row.segments
        limits[place, : len(row.limits), : len(row.limits)] = row.limits
    segment = _tensor(model, segments)
    number = torch.arange(len(rows), device=segment.device)[:, None, None]
    limit = send_array(limits, segment.device)[number, segment[:, :, None], segment[:, None, :]]
    allowed = _tensor(model, positions)[:, None, :] < limit
    size = positions.shape[1]
    every = torch.ones(size, size, dtype=torch.bool, device=segment.device)
    allowed &= every.tril()
    # Each token sees itself, padding too, so that no row is empty.
    allowed |= torch.eye(size, dtype=torch.bool, device=segment.device)
    mask = torch.zeros(allowed.shape, dtype=model.dtype, device=segment.device)
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
    return send_array(array, model.device)


def scored_continuations(
    scorer: LanguageModel,
    items: Sequence[Tokens],
    *,
    kind: str,
    max_tokens: int | None,
    **how: Unpack[HowToRun],
) -> tuple[Columns, str]:
    """Return the log-likelihood of every choice of every item, and in words how they were read: the fastest exact way.

    Where a row of a prompt with all of its choices is longer than what the model reads, each choice has its own.
    """
    fits = SHARED in scorer.WAYS and max(width(item, SHARED) for item in items) <= scorer.max_length
    # Packed rows are longer than items, in a trial as well: what a model may depend on is the length of the items.
    longest = max(width(item, ONE_BY_ONE) for item in items)
    # The trial of short sequences, as a model is opened, has few: data has one of its own.
    way = likelihood_way(scorer, longest=max(longest, SHORTEST + 1), shared_prefix=fits)
    max_tokens = max_tokens or tokens_of_batch(scorer.model, way.name)

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

    batches = make_batches(items, way.name, max_tokens)
    scored = run_model(
        scorer.model, score, batches, kind=kind, inputs=lambda: fingerprints_of(items), **how
    )
    return scored, str(way)


def tokens_of_batch(model: Any, way: str) -> int:
    """Return the maximum tokens of a batch if nobody says."""
    # Sequences of equal lengths have no padding, and the more there are, the more find their like.
    if model.device.type == "cpu" and way != EQUAL_LENGTHS:
        return _CPU_TOKENS
    return TOKENS_PER_ITEM * default_batch_size(model)


def make_batches(items: Sequence[Tokens], way: str, max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of like length, the longest first, so that one that does not fit in memory fails at once.

    Args:
        items: N items.
        way: One of `WAYS`.
        max_tokens: Maximum tokens per batch, padding included. A single item may exceed it.

    Returns:
        Arrays of item positions; each position is in one of them.
    """
    prompts = np.array([len(item.prompt) for item in items])
    widths = np.array([width(item, way) for item in items])
    rows = np.array([n_rows(item, way) for item in items])
    order = np.argsort(-widths, kind="stable")
    if way == EQUAL_LENGTHS:  # an encoder reads prompts of one length together
        order = np.lexsort((-widths, -prompts))

    batches = []
    start = 0
    n_tokens = 0
    n_padded = 0
    for end, item in enumerate(order):
        n_tokens += rows[item] * widths[item]
        # Other ways read rows of equal lengths, or one by one, or packed rows of nearly equal lengths.
        longest = order[start] if way == PADDED else item
        n_padded += rows[item] * widths[longest]
        is_wasteful = n_padded > _MIN_TOKENS and n_tokens < (1 - MAX_PADDING) * n_padded
        if end > start and (n_padded > max_tokens or is_wasteful):
            batches.append(order[start:end].astype(np.int64))
            start = end
            n_tokens = rows[item] * widths[item]
            n_padded = n_tokens
    batches.append(order[start:].astype(np.int64))
    return batches
