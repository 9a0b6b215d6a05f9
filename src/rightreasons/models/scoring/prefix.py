"""The tokens that many prompts begin with, such as a system prompt, instructions and few-shot examples, read once.

What a model holds of them, its cache, is copied to every batch of what follows. Whether it scores what follows exactly
then is tried on the model itself, as every way of batching.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.running.padding import ordinary_tokens
from rightreasons.models.running.trial import EQUAL_LENGTHS, TRIALS, Answers, Way, fastest_way, reach_of
from rightreasons.models.scoring.likelihoods import PADDED, SHARED, Prefix, one_by_one, token_likelihoods, width
from rightreasons.models.scoring.requests import Asked

APART = "no common prefix"
"""The way of a model that cannot go on from tokens that it has read, or not exactly."""

FEWEST_ITEMS = 8
"""Fewer items than this do not make up for the trial."""

_FEWEST_TOKENS = 16
# A prefix that is shorter than this share of what follows it saves little.
_LEAST_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class Common:
    """Items that begin with the same tokens, which are read once.

    Attributes:
        members: Positions of the items.
        prefix: The tokens, as the model holds them.
        way: How the rest of the items is batched.
    """

    members: NDArray[np.int64]
    prefix: Prefix
    way: Way

    def rest(self, asked: Asked) -> Asked:
        """Return a member without the prefix."""
        return asked.after(len(self.prefix))


def find_common(model: Any, tokenizer: Any, name: str, items: Sequence[Asked], *, bound: int) -> Common | None:
    """Return the items that begin alike where reading that once pays and is exact; None where not.

    Args:
        model: A causal language model.
        tokenizer: Its tokenizer.
        name: What the user called it.
        items: Items as tokens.
        bound: Maximum tokens that the model reads.
    """
    widths = np.array([width(asked, SHARED) for asked in items])
    readable = np.flatnonzero(widths <= bound)
    size, inside = longest_common([items[place].prompt for place in readable.tolist()])
    members = readable[inside]
    rest = widths[members].mean() - size if len(members) else 0.0
    if len(members) < FEWEST_ITEMS or size < max(_FEWEST_TOKENS, _LEAST_SHARE * rest):
        return None
    way = _prefix_way(model, tokenizer, name, size=size, longest=int(widths[members].max()), bound=bound)
    if way.name == APART:
        return None
    return Common(members, Prefix(model, items[members[0]].prompt[:size]), way)


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


def _prefix_way(model: Any, tokenizer: Any, name: str, *, size: int, longest: int, bound: int) -> Way:
    """Return how a model goes on from a prefix, from a trial; `APART` if it does not."""

    def find(reach: int) -> Way:
        draw, words = np.random.default_rng(0), ordinary_tokens(model, tokenizer)
        begin = draw.choice(words, size).tolist()
        room = max(1, min(reach, bound) - size - 5)
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
            return token_likelihoods(model, [asked.after(size) for asked in items], way, Prefix(model, begin))

        ways = {way: functools.partial(after, way) for way in (SHARED, PADDED, EQUAL_LENGTHS)}
        return fastest_way(model, name, alone, {**ways, APART: lambda: answers[0]}, longest=reach)

    kind = f"what follows {reach_of(size)} tokens, up to {reach_of(longest)}"
    return TRIALS.way(model, kind, longest, find)
