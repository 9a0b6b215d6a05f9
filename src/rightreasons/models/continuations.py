"""The likelihoods of continuations of many requests: what begins alike is read once, as the model's trial allows."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, offsets_of
from rightreasons.core.validation import check_count
from rightreasons.models.likelihoods import (
    PADDED,
    SHARED,
    Asked,
    Prefix,
    fingerprints_of,
    likelihood_way,
    n_rows,
    one_by_one,
    token_likelihoods,
    width,
)
from rightreasons.models.running import Column, Columns, HowToRun, Later, run_model
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    SHORTEST,
    TRIALS,
    Answers,
    Way,
    check_tokens,
    fails_at,
    fastest_way,
    ordinary_tokens,
    reach_of,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.causal import CausalLM

APART = "no common prefix"
"""The way of a model that cannot go on from tokens that it has read, or not exactly."""

FEWEST_ITEMS = 8
"""Fewer items than this do not make up for the trial."""

_FEWEST_TOKENS = 16
# A prefix that is shorter than this share of what follows it saves little.
_LEAST_SHARE = 0.25

WAY = "way.json"
"""The file of a store that tells how its items were batched."""

# So many tokens that a model has read before take about the memory of one that it reads.
_HELD = 4


@dataclass(frozen=True, eq=False)
class _Plan:
    """How some items are read.

    Attributes:
        rows: Positions of the items.
        way: How they are batched.
        prefix: What is read once before all of them; None for nothing.
    """

    rows: NDArray[np.int64]
    way: Way
    prefix: Prefix | None = None


def _common(scorer: CausalLM, items: Sequence[Asked]) -> _Plan | None:
    """Return the items that begin alike where reading that once pays and is exact; None where not.

    Args:
        scorer: The model.
        items: Items as tokens.
    """
    widths = np.array([width(asked, SHARED) for asked in items])
    readable = np.flatnonzero(widths <= scorer.max_length)
    size, inside = longest_common([items[place].prompt for place in readable.tolist()])
    members = readable[inside]
    rest = widths[members].mean() - size if len(members) else 0.0
    if len(members) < FEWEST_ITEMS or size < max(_FEWEST_TOKENS, _LEAST_SHARE * rest):
        return None
    way = _prefix_way(scorer, size, int(widths[members].max()))
    if way.name == APART:
        return None
    return _Plan(members, way, Prefix(scorer.model, items[members[0]].prompt[:size]))


def longest_common(prompts: Sequence[list[int]]) -> tuple[int, NDArray[np.int64]]:
    """Return how many tokens prompts have in common at their beginning, and which prompts.

    Of all beginnings of the prompt in the middle of their order, it is the one that saves the most tokens where it is
    read once. The last token of a prompt stays out of it, since what follows is read off it.

    Example:
        >>> size, members = longest_common([[7, 8, 9, 1], [5, 5], [7, 8, 9, 2], [7, 8, 9, 3], [7, 4]])
        >>> size, members.tolist()
        (3, [0, 2, 3])
        >>> longest_common([[7]])[0]
        0
    """
    if not prompts:
        return 0, np.empty(0, dtype=np.int64)
    middle = sorted(range(len(prompts)), key=lambda place: prompts[place])[len(prompts) // 2]
    first = prompts[middle]

    def common(prompt: list[int]) -> int:
        end = min(len(first), len(prompt)) - 1
        if prompt[:end] == first[:end]:
            return end
        # The shortest beginning that differs is one token longer than what they have in common.
        return bisect.bisect_left(range(end), True, key=lambda size: prompt[: size + 1] != first[: size + 1])

    sizes = np.array([common(prompt) for prompt in prompts])
    steps = np.unique(sizes)
    saved = [int(step) * (int((sizes >= step).sum()) - 1) for step in steps]
    size = int(steps[int(np.argmax(saved))])
    return size, np.flatnonzero(sizes >= size)


def _prefix_way(scorer: CausalLM, size: int, longest: int) -> Way:
    """Return how a model goes on from a prefix, from a trial; `APART` if it does not."""
    model = scorer.model

    def find(reach: int) -> Way:
        draw, words = np.random.default_rng(0), ordinary_tokens(model, scorer.tokenizer)
        begin = draw.choice(words, size).tolist()
        room = max(1, min(reach, scorer.max_length) - size - 5)
        shapes = [(1, (2, 1)), (room, (4, 2, 2))]
        items = [
            Asked(
                "trial", begin + draw.choice(words, n).tolist(), [draw.choice(words, k).tolist() for k in ks], [], False
            )
            for n, ks in shapes
        ]
        answers: list[Answers] = []

        def alone() -> Answers:
            answers.append(one_by_one(model, items))
            return answers[0]

        def after(way: str) -> Answers:
            return token_likelihoods(model, [asked.after(size) for asked in items], way, Prefix(model, begin))()

        ways = {way: functools.partial(after, way) for way in (SHARED, PADDED, EQUAL_LENGTHS)}
        return fastest_way(model, scorer.name, alone, {**ways, APART: lambda: answers[0]}, longest=reach)

    kind = f"what follows {reach_of(size)} tokens, up to {reach_of(longest)}"
    return TRIALS.way(model, kind, longest, find, scorer.tokenizer)


@dataclass(frozen=True, eq=False)
class Scored:
    """The log-likelihoods of the continuations of some items.

    Attributes:
        likelihoods: (P,) in nats, one continuation after another.
        lengths: (P,) the tokens of each.
        truncated: How many prompts were cut.
        way: How the items were batched, in words.
        reasons: Item -> why it could not be scored; its numbers are NaN.
    """

    likelihoods: NDArray[np.float64]
    lengths: NDArray[np.int64]
    truncated: int
    way: str
    reasons: dict[int, str]


@dataclass(frozen=True)
class Reading:
    """How continuations are read; nothing of it changes a result.

    Attributes:
        max_tokens: Maximum tokens per padded batch; a single item may exceed it.
        shared_prefix: Whether a prompt may be read once for all of its continuations, where the model's trial finds
            that exact.
        common_prefix: Whether what many prompts begin with, such as instructions and few-shot examples, may be read
            once; never without `shared_prefix`.
    """

    max_tokens: int = 4096
    shared_prefix: bool = True
    common_prefix: bool = True

    def __post_init__(self) -> None:
        check_count(self.max_tokens, "max_tokens")


def score_asked(
    scorer: CausalLM,
    items: Sequence[Sequence[Asked]],
    counts: Sequence[int],
    reading: Reading,
    *,
    kind: str,
    **how: Unpack[HowToRun],
) -> Scored:
    """Score the continuations of tokenized items.

    Args:
        scorer: From `load_causal`.
        items: From `tokenize_continuations`.
        counts: Continuations of each item.
        reading: How they are read.
        kind: What is scored, for the progress bar and the store.
        **how: As in `run_model`.
    """
    parts = list(itertools.chain.from_iterable(items))
    tokens = (token for asked in parts for part in (asked.prompt, *asked.choices) for token in part)
    check_tokens(scorer.model, scorer.name, max(tokens))
    plans = _plans(scorer, parts, reading)
    columns = _likelihoods(scorer, parts, plans, kind=kind, max_tokens=reading.max_tokens, **how)
    owners = np.repeat(np.arange(len(items)), [len(group) for group in items])
    _, reasons = columns.whole(owners)
    first = offsets_of(counts)
    places = [start + np.array(asked.places) for start, asked in zip(first[owners], parts, strict=True)]
    likelihood, lengths = np.full(int(first[-1]), np.nan), np.ones(int(first[-1]), dtype=np.int64)
    for place, asked in zip(places, parts, strict=True):
        lengths[place] = [len(choice) for choice in asked.choices]
    for part, row in zip(columns.positions.tolist(), columns.ragged("likelihood"), strict=True):
        likelihood[places[part]] = row
    truncated = sum(any(asked.truncated for asked in group) for group in items)
    return Scored(likelihood, lengths, truncated, _way_in_words(plans), reasons)


def _plans(scorer: CausalLM, items: Sequence[Asked], reading: Reading) -> list[_Plan]:
    """Plan how every item is read: the fastest way that is exact."""
    plans: list[_Plan] = []
    rest = np.arange(len(items))
    shared = reading.shared_prefix and SHARED in scorer.WAYS
    if shared and reading.common_prefix and (common := _common(scorer, items)) is not None:
        plans.append(common)
        rest = np.setdiff1d(rest, common.rows)
    ways = _ways(scorer, [items[int(row)] for row in rest], shared) if len(rest) else []
    for name in dict.fromkeys(way.name for way in ways):
        own = [way for way in ways if way.name == name]
        plans.append(_Plan(rest[[way.name == name for way in ways]], max(own, key=lambda way: way.longest)))
    return plans


def _way_in_words(plans: Sequence[_Plan]) -> str:
    """Return how items are read in words."""
    total = sum(len(plan.rows) for plan in plans)
    parts = []
    for plan in plans:
        words = str(plan.way)
        if plan.prefix is not None:
            whose = "all items" if len(plan.rows) == total else f"{len(plan.rows)} of {total} items"
            words += f" after the first {len(plan.prefix)} tokens, which {whose} share and are read once"
        elif len(plans) > 1:
            words += f" of up to {plan.way.longest} tokens"
        parts.append(words)
    return "; ".join(parts)


def _likelihoods(
    scorer: CausalLM,
    items: Sequence[Asked],
    plans: Sequence[_Plan],
    *,
    kind: str,
    max_tokens: int,
    **how: Unpack[HowToRun],
) -> Columns:
    """Return the log-likelihood of every choice of every item."""
    plan_of = {int(row): plan for plan in plans for row in plan.rows}
    batches = [
        plan.rows[batch]
        for plan in plans
        for batch in _batches([items[int(row)] for row in plan.rows], plan, max_tokens)
    ]

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> Later:
        plan = plan_of[int(batch[0])]
        chosen = [items[int(index)] for index in batch]
        asked = chosen if plan.prefix is None else [item.after(len(plan.prefix)) for item in chosen]
        named = fails_at(scorer.name, chosen[0].name)
        read = named(named(scorer.score)(asked, plan.way.name, plan.prefix))

        def columns() -> dict[str, Column]:
            rows = read()
            for item, row in zip(chosen, rows, strict=True):
                if not np.isfinite(row).all():
                    raise ValueError(
                        f"Expected finite scores, but {scorer.name} gave NaN or infinity for item {item.name!r}."
                    )
            return {"likelihood": Ragged.of(np.concatenate(rows), [len(row) for row in rows])}

        return columns

    how["notes"] = {WAY: _way_in_words(plans)}
    return run_model(scorer.model, score, batches, kind=kind, inputs=lambda: fingerprints_of(items), **how)


def _ways(scorer: CausalLM, items: Sequence[Asked], shared_prefix: bool) -> list[Way]:
    """Return the way of each item: the fastest that a trial at about its length finds exact."""
    bound = scorer.max_length
    widths = [width(asked, SHARED if shared_prefix else ONE_BY_ONE) for asked in items]
    longest: dict[int, int] = {}
    for size in sorted(size for size in widths if size <= bound):
        longest[reach_of(size)] = size
    found: dict[int, Way] = {}
    for reach in sorted(longest, reverse=True):
        found[reach] = likelihood_way(scorer, longest=longest[reach], shared_prefix=shared_prefix)
        if found[reach].name == likelihood_way(scorer, longest=SHORTEST, shared_prefix=shared_prefix).name:
            break  # what is exact for long sequences is exact for shorter ones
    ways = []
    for asked, size in zip(items, widths, strict=True):
        if size <= bound:
            ways.append(found.get(reach_of(size)) or found[min(found)])
        else:  # a row of prompt and all choices is longer than what the model reads
            ways.append(likelihood_way(scorer, longest=width(asked, ONE_BY_ONE), shared_prefix=False))
    return ways


def _batches(items: Sequence[Asked], plan: _Plan, max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of prompts, and of choices together, of like length; the longest first."""
    before = 0 if plan.prefix is None else len(plan.prefix)
    prompts = np.array([len(asked.prompt) for asked in items]) - before
    widths = np.array([width(asked, plan.way.name) for asked in items]) - before
    rows = np.array([n_rows(asked, plan.way.name) for asked in items])
    order = np.lexsort((-(widths - prompts), -(prompts // 8))).astype(np.int64)
    batches, start = [], 0
    while start < len(order):
        end = start + 1
        while end < len(order):
            batch = order[start : end + 1]
            count, longest = rows[batch].sum(), widths[batch].max()
            # What a model holds of a prefix takes less memory than reading it.
            if max(count * longest, count * (before + longest) / _HELD) > max_tokens:
                break
            end += 1
        batches.append(order[start:end])
        start = end
    return batches
