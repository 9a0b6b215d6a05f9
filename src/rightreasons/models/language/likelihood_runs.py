"""The log-likelihoods of the choices of all items of a dataset: `score_continuations`.

A trial on random words finds the fastest batching strategy with the same numbers as reading choices
one by one (`find_likelihood_strategy`). Batches consist of items of similar length, so that there
is little padding (`make_batches`).
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
from rightreasons.models.input_limits import list_ordinary_tokens
from rightreasons.models.language.continuations import LanguageModel, TokenizedItem
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
    BatchingStrategy,
    Outputs,
    find_fastest_strategy,
    name_failing_item,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

MAX_PADDING = 0.2
"""Largest share of padding in a batch of more than a few tokens."""

MAX_ITEM_TOKENS = 512
"""Maximum number of tokens of the choices of an item, unless its prompt has more."""

# A pass of the model costs as much as about this number of tokens, so that splitting a smaller
# batch to avoid padding would not save time.
_MIN_TOKENS = 128
# On a CPU a larger batch is no faster, needs more memory, and shows progress less often.
_CPU_TOKENS = 512
# Approximate number of tokens of choices that are scored in a trial.
_N_TRIED_TOKENS = 256
# Maximum number of prompts with choices of about as many tokens: each costs two passes.
_MAX_TRIED_PROMPTS = 4


def score_continuations(
    scorer: LanguageModel,
    items: Sequence[TokenizedItem],
    *,
    kind: str,
    max_tokens: int | None,
    **options: Unpack[HowToRun],
) -> tuple[Columns, str]:
    """Compute the log-likelihood of every choice of every item, in batches that do not change it.

    A prompt is read once for all of its choices if a trial finds that exact, and if the longest row
    of a prompt with all of its choices is not too long for the model.

    Args:
        scorer: The model.
        items: N items.
        kind: Name of the results, as in `run_model`.
        max_tokens: Maximum number of tokens per batch, padding included. If None, it depends on the
            device.
        **options: Options of `HowToRun`.

    Returns:
        The column `likelihood`, with a row of one number per choice for each of N items; and a
        description of the batching strategy.
    """
    # The trial needs items as long as the longest of the data, because some models read long
    # sequences differently. Rows into which several items are packed may be longer still, but each
    # token in them sees only its own item.
    longest = max(measure_width(item, ONE_BY_ONE) for item in items)
    can_share_prefix = SHARED in scorer.STRATEGIES
    if can_share_prefix:
        longest_shared = max(measure_width(item, SHARED) for item in items)
        can_share_prefix = longest_shared <= scorer.max_length
    # The first trial, with a few short sequences, only shows that the model works. Data gets a
    # trial with longer ones, however short its own sequences are.
    strategy = find_likelihood_strategy(
        scorer, longest=max(longest, SHORTEST + 1), shared_prefix=can_share_prefix
    )
    if max_tokens is None:
        max_tokens = get_max_tokens(scorer, strategy.name)

    @torch.inference_mode()
    def score(batch: NDArray[np.int64]) -> dict[str, Column] | Later:
        batch_items = [items[int(position)] for position in batch]
        first_name = batch_items[0].name
        with name_failing_item(scorer.name, first_name):
            wait = scorer.score(batch_items, strategy.name)

        def read() -> dict[str, Column]:
            # A GPU reports some errors only when its results are read.
            with name_failing_item(scorer.name, first_name):
                rows = wait()
            return _make_columns(scorer.name, batch_items, rows)

        # On a CPU the results are ready, and the progress bar need not wait for the next batch.
        return read if is_queued(scorer.model.device) else read()

    scores = run_model(
        scorer.model,
        score,
        make_batches(items, strategy.name, max_tokens),
        kind=kind,
        inputs=lambda: _digest_items(items),
        lengths=measure_lengths(items, strategy.name),
        **options,
    )
    return scores, str(strategy)


def _make_columns(
    model_name: str, items: Sequence[TokenizedItem], rows: Sequence[NDArray[np.float64]]
) -> dict[str, Column]:
    """Return the results of a batch as a column `likelihood`, after a check.

    Args:
        model_name: Name of the model, for errors.
        items: The items of the batch.
        rows: (C,) log-likelihoods of the choices of each item.

    Raises:
        ValueError: If a log-likelihood is NaN or infinite.
    """
    for item, row in zip(items, rows, strict=True):
        if not np.isfinite(row).all():
            raise ValueError(
                f"Expected finite scores, but {model_name} gave NaN or infinity for item "
                f"{item.name!r}."
            )
    return {"likelihood": Ragged.of(np.concatenate(rows), list(map(len, rows)))}


def _digest_items(items: Sequence[TokenizedItem]) -> dict[str, str]:
    """Return digests of the names and of the tokens of items, which identify a stored run."""
    tokens = []
    names = []
    for item in items:
        tokens.append([item.prompt, item.choices])
        names.append(item.name)
    return {"ids": fingerprint_texts(names), "texts": digest_value(tokens)}


def split_choices(item: TokenizedItem, max_length: int) -> list[TokenizedItem]:
    """Split an item with many choices into several items with the same prompt.

    A row of very many choices, such as all label words of a dataset, would be slow, because the
    cost of attention is quadratic in its length, and could be longer than the model can read. The
    prompt is read again with each part, which at most doubles the number of tokens.

    Args:
        item: The item.
        max_length: Maximum number of tokens that the model reads.

    Returns:
        Items whose choices have up to `MAX_ITEM_TOKENS` tokens, or as many as the prompt if that is
        more, but no more than the model can read after the prompt. A single choice may exceed this.
    """
    n_prompt = len(item.prompt)
    max_tokens = min(max(MAX_ITEM_TOKENS, n_prompt), max_length - n_prompt)
    split_items: list[TokenizedItem] = []
    # Number of tokens of the choices in the last of these items.
    n_tokens = 0
    for choice_index, choice in zip(item.choice_indices, item.choices, strict=True):
        n_tokens += len(choice)
        if not split_items or n_tokens > max_tokens:
            split_items.append(dataclasses.replace(item, choices=[], choice_indices=[]))
            n_tokens = len(choice)
        split_items[-1].choices.append(choice)
        split_items[-1].choice_indices.append(choice_index)
    return split_items


def measure_width(item: TokenizedItem, strategy: str) -> int:
    """Return the number of tokens of the longest row that a model reads for an item.

    Args:
        item: A prompt with its choices.
        strategy: Name of the batching strategy. With "shared prefix", one row has the prompt and
            all choices; otherwise each choice has its own row after the prompt.
    """
    if strategy == SHARED:
        return count_shared_tokens(item)
    # The last token of a choice is predicted, but not read.
    return len(item.prompt) + max(map(len, item.choices)) - 1


def count_rows(item: TokenizedItem, strategy: str) -> int:
    """Return the maximum number of rows that a model reads for an item.

    Args:
        item: A prompt with its choices.
        strategy: Name of the batching strategy, such as "shared prefix".
    """
    has_single_tokens = max(map(len, item.choices)) == 1
    # Choices of a single token are all predicted at the end of the prompt.
    if strategy == SHARED or has_single_tokens:
        return 1
    return len(item.choices)


def measure_lengths(items: Sequence[TokenizedItem], strategy: str) -> NDArray[np.int64]:
    """Return the number of tokens of all rows of each item, (N,)."""
    lengths = []
    for item in items:
        n_rows = count_rows(item, strategy)
        lengths.append(n_rows * measure_width(item, strategy))
    return np.array(lengths)


def get_max_tokens(scorer: LanguageModel, strategy: str) -> int:
    """Return the default maximum number of tokens of a batch.

    It is small on a CPU, where larger batches are no faster, and depends on the free memory of a
    GPU.

    Args:
        scorer: The model.
        strategy: Name of the batching strategy.
    """
    # A larger maximum lets more sequences share a batch with others of equal length.
    if scorer.model.device.type == "cpu" and strategy != EQUAL_LENGTHS:
        return _CPU_TOKENS
    return TOKENS_PER_ITEM * default_batch_size(scorer.model)


def make_batches(
    items: Sequence[TokenizedItem], strategy: str, max_tokens: int
) -> list[NDArray[np.int64]]:
    """Divide items into batches of similar length, the longest first.

    The longest batch comes first, so that one that does not fit in memory fails at once. A batch
    ends before the item with which it would exceed `max_tokens`, or a share of padding of
    `MAX_PADDING`.

    Args:
        items: N items.
        strategy: Name of the batching strategy, such as "right padding".
        max_tokens: Maximum number of tokens per batch, padding included. A single item may exceed
            it.

    Returns:
        Arrays of item indices; each index is in one of them.
    """
    prompt_lengths = np.array([len(item.prompt) for item in items])
    widths = np.array([measure_width(item, strategy) for item in items])
    n_rows = np.array([count_rows(item, strategy) for item in items])
    longest_first = -widths
    order = np.argsort(longest_first, kind="stable")
    if strategy == EQUAL_LENGTHS:
        # An encoder reads prompts of one length together. `lexsort` sorts by its last key first.
        order = np.lexsort((longest_first, -prompt_lengths))

    batches = []
    # The current batch is order[start:end], with these numbers of tokens without and with padding.
    start = 0
    n_tokens = 0
    n_padded = 0
    for end, item in enumerate(order):
        item_tokens = n_rows[item] * widths[item]
        n_tokens += item_tokens
        # Only right padding extends the rows of an item to the longest row of its batch. Other
        # strategies read rows of equal lengths, one by one, or packed into rows of similar lengths.
        padded_width = widths[order[start]] if strategy == PADDED else widths[item]
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


def find_likelihood_strategy(
    scorer: LanguageModel, *, longest: int, shared_prefix: bool = True
) -> BatchingStrategy:
    """Find the fastest way to batch items that leaves the scores of a language model unchanged.

    A trial compares the log-likelihoods of random items in batches with those of one choice at a
    time. The result is stored in `TRIALS`, so that there is one trial per model and length.

    Args:
        scorer: The model.
        longest: Number of tokens of the longest sequence.
        shared_prefix: Whether a prompt may be read once for all of its choices.

    Raises:
        ValueError: If the model cannot score texts, or a causal model also reads later tokens.
    """
    # The longest prompt before a continuation of one token.
    max_length = scorer.get_max_prompt_length(scorer.max_length, 1)
    candidates = _list_candidates(scorer, shared_prefix=shared_prefix)

    def run_trial(n_tokens: int) -> BatchingStrategy:
        # The remark of the model is shown with the strategy, even if no candidate fails.
        earlier_strategy = BatchingStrategy(candidates[0], 0, scorer.REMARK)
        if n_tokens > SHORTEST:
            # A strategy that fails for short sequences is not tried for long ones.
            earlier_strategy = find_likelihood_strategy(
                scorer, longest=SHORTEST, shared_prefix=shared_prefix
            )
        words = list_ordinary_tokens(scorer.model, scorer.tokenizer)
        # A batch of equal lengths needs two items of one length. These are left out if prefixes can
        # be shared, because other strategies are then rarely needed.
        items = _make_trial_items(
            words, min(n_tokens, max_length), has_equal_lengths=candidates[0] != SHARED
        )
        # One long choice is enough to detect random outputs.
        repeated_item = dataclasses.replace(items[0], choices=items[0].choices[:1])
        score_by_strategy: dict[str, Callable[[], Outputs]] = {}
        for candidate in candidates:
            score_by_strategy[candidate] = functools.partial(
                scorer.score_trial_items, items, candidate
            )
        return find_fastest_strategy(
            scorer.model,
            scorer.name,
            lambda: scorer.score_trial_items(items, ONE_BY_ONE),
            score_by_strategy,
            longest=n_tokens,
            repeat=lambda: scorer.score_trial_items([repeated_item], ONE_BY_ONE),
            earlier_strategy=earlier_strategy,
        )

    kind = "choices by likelihood" if shared_prefix else "single choices by likelihood"
    # Changed versions of items are often a little longer. Rounding up saves another trial for them.
    n_tokens = min(_round_up(longest), max_length)
    return TRIALS.get_strategy(scorer.model, kind, n_tokens, run_trial, scorer.tokenizer)


def _list_candidates(scorer: LanguageModel, *, shared_prefix: bool) -> list[str]:
    """Return the names of the strategies that a trial compares with one by one, the fastest first.

    Args:
        scorer: The model, whose class has all names in `STRATEGIES`.
        shared_prefix: Whether a prompt may be read once for all of its choices. If not, the
            strategy "shared prefix" is left out.
    """
    candidates = []
    for strategy in scorer.STRATEGIES:
        if strategy != ONE_BY_ONE and (shared_prefix or strategy != SHARED):
            candidates.append(strategy)
    return candidates


def _round_up(length: int) -> int:
    """Round a length up to four significant binary digits, by at most an eighth of it.

    Example:
        >>> [_round_up(length) for length in (16, 17, 266, 273, 288, 289)]
        [16, 18, 288, 288, 288, 320]
    """
    step = 1 << max(length.bit_length() - 4, 0)
    # Integer division of the negative number rounds up.
    return -(-length // step) * step


def _make_trial_items(
    words: NDArray[np.int64], longest: int, *, has_equal_lengths: bool
) -> list[TokenizedItem]:
    """Make prompts with choices of random words, for a trial of batching strategies.

    Args:
        words: Token ids to sample from.
        longest: Number of tokens of the longest item. Up to `SHORTEST`, all items are short.
        has_equal_lengths: Whether the longest item occurs twice, for batches of equal lengths.

    Returns:
        Items, the longest first. Random outputs are detected in that one, because sparse attention
        that samples tokens at random may read short items in full.
    """
    # Number of tokens of the prompt, and of each of its choices.
    shapes: list[tuple[int, tuple[int, ...]]] = [(5, (3, 2)), (1, (2,))]
    if longest > SHORTEST:
        long_shapes: list[tuple[int, tuple[int, ...]]] = [(longest - 2, (3,))]
        if not has_equal_lengths:
            # Many tokens are needed to notice that padding changes which tokens sparse attention
            # selects, because that happens only at near ties.
            quarter = longest // 4
            n_long = min(max(1, _N_TRIED_TOKENS // longest), _MAX_TRIED_PROMPTS)
            long_shapes = [(quarter, (longest - quarter + 1, quarter))] * n_long
        # A short item next to the long ones, whose length may change how it is read.
        shapes = [*long_shapes, (5, (3, 1, 2))]
    if has_equal_lengths:
        shapes = [*shapes, shapes[0]]
    rng = np.random.default_rng(0)
    items = []
    for n_prompt, choice_lengths in shapes:
        prompt = rng.choice(words, n_prompt).tolist()
        choices = [rng.choice(words, length).tolist() for length in choice_lengths]
        for choice in choices[1:]:
            # Choices of real items often begin with the same words.
            n_common = len(choice) // 2
            choice[:n_common] = choices[0][:n_common]
        items.append(TokenizedItem("trial", prompt, choices, choice_indices=[], truncated=False))
    return items
