"""The log-likelihoods of all items of a data set, in the fastest exact way: `score_continuations`.

A trial on random words finds which ways of batching give the numbers of one by one
(`find_likelihood_way`). Batches then hold items of similar length, with little padding
(`make_batches`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.store import digest_value
from rightreasons.models.batching import is_queued
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.models.language.continuations import LanguageModel, Tokens
from rightreasons.models.language.likelihoods import PADDED, SHARED
from rightreasons.models.language.token_rows import count_shared_tokens
from rightreasons.models.running import HowToRun, Later, run_model
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.runs.processes import TOKENS_PER_ITEM, default_batch_size
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    SHORTEST,
    TRIALS,
    Answers,
    Way,
    find_fastest_way,
    name_failing_item,
    ordinary_tokens,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_PADDING = 0.2
"""Largest share of padding in a batch of more than a few tokens."""

MAX_ITEM_TOKENS = 512
"""Maximum number of tokens of the choices of an item, unless its prompt has more."""

# A pass costs as much as this number of tokens by itself: smaller batches are not cut for padding.
_MIN_TOKENS = 128
# On a CPU a larger batch is no faster, needs more memory, and shows progress less often.
_CPU_TOKENS = 512
# Approximate number of tokens of choices that are scored in a trial.
_N_TRIED_TOKENS = 256
# Maximum number of prompts with choices of about as many tokens: each costs two passes.
_MAX_TRIED_PROMPTS = 4


def score_continuations(
    scorer: LanguageModel,
    items: Sequence[Tokens],
    *,
    kind: str,
    max_tokens: int | None,
    **options: Unpack[HowToRun],
) -> tuple[Columns, str]:
    """Compute the log-likelihood of every choice of every item, in the fastest exact way.

    If a row of a prompt with all of its choices is longer than what the model reads, each choice
    has its own row.

    Args:
        scorer: The model.
        items: N items.
        kind: Name of the results, as in `run_model`.
        max_tokens: Maximum tokens per batch, padding included. If None, what suits the device.
        **options: How the run is shown and stored.

    Returns:
        N rows in the column `likelihood`, one number per choice; and a description of the way.
    """
    # The trial needs items as long as the longest of the data, because models may behave
    # differently for them. Rows into which several items are packed are longer, but do not matter.
    longest = max(measure_width(item, ONE_BY_ONE) for item in items)
    is_shareable = SHARED in scorer.WAYS
    if is_shareable:
        longest_shared = max(measure_width(item, SHARED) for item in items)
        is_shareable = longest_shared <= scorer.max_length
    # The trial of short sequences, when a model is opened, has few items. Data gets a trial of
    # longer ones, however short its own are.
    way = find_likelihood_way(
        scorer, longest=max(longest, SHORTEST + 1), shared_prefix=is_shareable
    )
    if max_tokens is None:
        max_tokens = get_max_tokens(scorer, way.name)

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> dict[str, Column] | Later:
        batch_items = [items[int(position)] for position in batch]
        first_name = batch_items[0].name
        with name_failing_item(scorer.name, first_name):
            wait = scorer.score(batch_items, way.name)

        def read() -> dict[str, Column]:
            # A GPU reports some errors only when its results are read.
            with name_failing_item(scorer.name, first_name):
                rows = wait()
            return _make_columns(scorer.name, batch_items, rows)

        # On a CPU the results are at hand, and the progress bar need not wait for the next batch.
        return read if is_queued(scorer.model.device) else read()

    scores = run_model(
        scorer.model,
        score,
        make_batches(items, way.name, max_tokens),
        kind=kind,
        inputs=lambda: _digest_items(items),
        lengths=measure_lengths(items, way.name),
        **options,
    )
    return scores, str(way)


def _make_columns(
    model_name: str, items: Sequence[Tokens], rows: Sequence[NDArray[np.float64]]
) -> dict[str, Column]:
    """Return the column of the log-likelihoods of some items.

    Raises:
        ValueError: If one is not finite.
    """
    for item, row in zip(items, rows, strict=True):
        if not np.isfinite(row).all():
            raise ValueError(
                f"Expected finite scores, but {model_name} gave NaN or infinity for item "
                f"{item.name!r}."
            )
    return {"likelihood": Ragged.of(np.concatenate(rows), list(map(len, rows)))}


def _digest_items(items: Sequence[Tokens]) -> dict[str, str]:
    """Digest items as tokens, and their names."""
    tokens = []
    names = []
    for item in items:
        tokens.append([item.prompt, item.choices])
        names.append(item.name)
    return {"ids": fingerprint_texts(names), "texts": digest_value(tokens)}


def split_choices(item: Tokens, max_length: int) -> list[Tokens]:
    """Split an item with many choices into several items with the same prompt.

    A row of all choices, such as those of all items of a data set after the empty prompt, would be
    slow, because attention is quadratic in its length, and could be longer than the model reads.
    Reading the prompt again at most doubles the tokens.

    Args:
        item: The item.
        max_length: Maximum tokens that the model reads.

    Returns:
        Items with choices of up to `MAX_ITEM_TOKENS` tokens, or as many as the prompt has, but no
        more than the model reads after the prompt. A single choice may exceed that.
    """
    n_prompt = len(item.prompt)
    max_tokens = min(max(MAX_ITEM_TOKENS, n_prompt), max_length - n_prompt)
    split_items: list[Tokens] = []
    # Tokens of the choices of the last of these items.
    n_tokens = 0
    for position, choice in zip(item.places, item.choices, strict=True):
        n_tokens += len(choice)
        if not split_items or n_tokens > max_tokens:
            split_items.append(dataclasses.replace(item, choices=[], places=[]))
            n_tokens = len(choice)
        split_items[-1].choices.append(choice)
        split_items[-1].places.append(position)
    return split_items


def measure_width(item: Tokens, way: str) -> int:
    """Return the number of tokens of the longest row that holds an item.

    Args:
        item: A prompt with its choices.
        way: `SHARED` for one row of the prompt and all choices; otherwise each choice has its own
            row after the prompt.
    """
    if way == SHARED:
        return count_shared_tokens(item)
    # The last token of a choice is not read.
    return len(item.prompt) + max(map(len, item.choices)) - 1


def count_rows(item: Tokens, way: str) -> int:
    """Return the maximum number of rows that hold an item, which its choices may share.

    Args:
        item: A prompt with its choices.
        way: A way of batching.
    """
    # Choices of one token are all read off the end of the prompt.
    if way == SHARED or max(map(len, item.choices)) == 1:
        return 1
    return len(item.choices)


def measure_lengths(items: Sequence[Tokens], way: str) -> NDArray[np.int64]:
    """Return (N,) the number of tokens of all rows of each item."""
    lengths = []
    for item in items:
        n_rows = count_rows(item, way)
        lengths.append(n_rows * measure_width(item, way))
    return np.array(lengths)


def get_max_tokens(scorer: LanguageModel, way: str) -> int:
    """Return the default maximum number of tokens of a batch, for a way of batching.

    It is small on a CPU, where larger batches are no faster, and depends on the free memory of a
    GPU.
    """
    # In batches of equal lengths, a larger maximum lets more sequences find others of their length.
    if scorer.model.device.type == "cpu" and way != EQUAL_LENGTHS:
        return _CPU_TOKENS
    return TOKENS_PER_ITEM * default_batch_size(scorer.model)


def make_batches(items: Sequence[Tokens], way: str, max_tokens: int) -> list[NDArray[np.int64]]:
    """Cut items into batches of similar length, the longest first.

    The longest batch comes first, so that one that does not fit in memory fails at once. A batch
    ends before the item that would exceed `max_tokens`, or a share of padding of `MAX_PADDING`.

    Args:
        items: N items.
        way: One of `WAYS`.
        max_tokens: Maximum tokens per batch, padding included. A single item may exceed it.

    Returns:
        Arrays of item positions; each position is in one of them.
    """
    prompts = np.array([len(item.prompt) for item in items])
    widths = np.array([measure_width(item, way) for item in items])
    n_rows = np.array([count_rows(item, way) for item in items])
    longest_first = -widths
    order = np.argsort(longest_first, kind="stable")
    if way == EQUAL_LENGTHS:
        # An encoder reads prompts of one length together: the last key is the first to sort by.
        order = np.lexsort((longest_first, -prompts))

    batches = []
    # The current batch is order[start:end], with these numbers of tokens without and with padding.
    start = 0
    n_tokens = 0
    n_padded = 0
    for end, item in enumerate(order):
        item_tokens = n_rows[item] * widths[item]
        n_tokens += item_tokens
        # Only right padding extends the rows of an item to the longest of its batch. Other ways
        # read rows of equal lengths, one by one, or packed into rows of similar lengths.
        padded_width = widths[order[start]] if way == PADDED else widths[item]
        n_padded += n_rows[item] * padded_width
        is_wasteful = n_padded > _MIN_TOKENS and n_tokens < (1 - MAX_PADDING) * n_padded
        is_full = n_padded > max_tokens or is_wasteful
        if is_full and end > start:
            # The item begins the next batch.
            batch = order[start:end]
            batches.append(batch.astype(np.int64))
            start = end
            n_tokens = item_tokens
            n_padded = item_tokens
    batches.append(order[start:].astype(np.int64))
    return batches


def find_likelihood_way(scorer: LanguageModel, *, longest: int, shared_prefix: bool = True) -> Way:
    """Return the fastest way of batching that is exact for a language model, from a trial.

    A trial compares the log-likelihoods of random items in each way with those one by one. It is
    made once per model and length: `TRIALS` stores its result.

    Args:
        scorer: The model.
        longest: Tokens of the longest sequence.
        shared_prefix: Whether a prompt may be read once for all of its choices.

    Raises:
        ValueError: If no way is exact, or a causal model also reads the tokens that it is to
            predict.
    """
    # A prompt before a continuation of one token.
    max_length = scorer.room(scorer.max_length, 1)
    ways = _list_ways(scorer, shared_prefix=shared_prefix)

    def try_ways(reach: int) -> Way:
        # A way that fails for short sequences is not tried for long ones.
        earlier_way = Way(ways[0], 0, scorer.TOLD)
        if reach > SHORTEST:
            earlier_way = find_likelihood_way(scorer, longest=SHORTEST, shared_prefix=shared_prefix)
        words = ordinary_tokens(scorer.model, scorer.tokenizer)
        # A batch of equal lengths needs two such items. It is tried unless shared prefixes are,
        # after which it is rarely needed.
        items = _make_trial_items(words, min(reach, max_length), twice=ways[0] != SHARED)
        # One long choice is enough to find answers that are drawn at random.
        repeated_item = dataclasses.replace(items[0], choices=items[0].choices[:1])
        ask_by_way: dict[str, Callable[[], Answers]] = {}
        for way in ways:
            ask_by_way[way] = functools.partial(scorer.answers, items, way)
        return find_fastest_way(
            scorer.model,
            scorer.name,
            lambda: scorer.answers(items, ONE_BY_ONE),
            ask_by_way,
            longest=reach,
            repeat=lambda: scorer.answers([repeated_item], ONE_BY_ONE),
            earlier_way=earlier_way,
        )

    kind = "choices by likelihood" if shared_prefix else "single choices by likelihood"
    # Changed items are often a little longer, for which another trial would cost as much.
    reach = min(_round_up(longest), max_length)
    return TRIALS.way(scorer.model, kind, reach, try_ways, scorer.tokenizer)


def _list_ways(scorer: LanguageModel, *, shared_prefix: bool) -> list[str]:
    """Return the ways of batching that a trial compares with one by one, the fastest first.

    Args:
        scorer: The model, whose class lists all ways in `WAYS`.
        shared_prefix: Whether a prompt may be read once for all of its choices.
    """
    ways = []
    for way in scorer.WAYS:
        if way != ONE_BY_ONE and (shared_prefix or way != SHARED):
            ways.append(way)
    return ways


def _round_up(length: int) -> int:
    """Return the next length of four binary digits, which is at most an eighth longer.

    Example:
        >>> [_round_up(length) for length in (16, 17, 266, 273, 288, 289)]
        [16, 18, 288, 288, 288, 320]
    """
    step = 1 << max(length.bit_length() - 4, 0)
    return -(-length // step) * step


def _make_trial_items(words: NDArray[np.int64], reach: int, *, twice: bool) -> list[Tokens]:
    """Return prompts with choices of random words, for a trial.

    Args:
        words: Token ids to draw from.
        reach: Tokens of the longest item. Up to `SHORTEST`, all items are short.
        twice: Whether two items have equal lengths, as batches of equal lengths need.

    Returns:
        Items, the longest first: it is asked again, because attention that draws at random may
        read short ones in full.
    """
    # Tokens of the prompt, and tokens of each of its choices.
    shapes: list[tuple[int, tuple[int, ...]]] = [(5, (3, 2)), (1, (2,))]
    if reach > SHORTEST:
        long_shapes: list[tuple[int, tuple[int, ...]]] = [(reach - 2, (3,))]
        if not twice:
            # Ties in attention to the few best tokens, which padding changes, need many tokens.
            quarter = reach // 4
            n_long = min(max(1, _N_TRIED_TOKENS // reach), _MAX_TRIED_PROMPTS)
            long_shapes = [(quarter, (reach - quarter + 1, quarter))] * n_long
        # The length of the long items may change how the short one next to them is read.
        shapes = [*long_shapes, (5, (3, 1, 2))]
    if twice:
        shapes = [*shapes, shapes[0]]
    rng = np.random.default_rng(0)
    items = []
    for n_prompt, choice_sizes in shapes:
        prompt = rng.choice(words, n_prompt).tolist()
        choices = [rng.choice(words, size).tolist() for size in choice_sizes]
        for choice in choices[1:]:
            # Choices of real items often begin alike.
            n_common = len(choice) // 2
            choice[:n_common] = choices[0][:n_common]
        items.append(Tokens("trial", prompt, choices, places=[], truncated=False))
    return items
