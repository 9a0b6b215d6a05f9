"""The log-likelihood of choices after their prompts, by a causal language model in batches.

`likelihoods` and `token_likelihoods` score the items of one batch, as rows of `token_rows`, by one
of the batching strategies. `score_one_by_one` scores each choice separately, for comparison in a
trial. `likelihood_runs` chooses the strategy for the items of a dataset.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.models.batching import read_later, send_array
from rightreasons.models.language.continuations import TokenizedItem, WaitForScores
from rightreasons.models.language.token_rows import Row, make_inputs, make_row, make_rows, pack_rows
from rightreasons.models.trial import (
    EQUAL_LENGTHS,
    ONE_BY_ONE,
    Outputs,
    RefusalError,
    get_tolerance,
)

SHARED = "shared prefix"
PADDED = "right padding"

STRATEGIES = (SHARED, PADDED, EQUAL_LENGTHS, ONE_BY_ONE)
"""Names of the batching strategies of causal language models, the fastest first."""

# Targets whose logits are copied to floats at once: the table of all logits is in memory already.
_N_TARGETS = 512


def likelihoods(model: Any, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
    """Start to compute the log-likelihood of each choice of each item, in nats.

    The model works on a device, while the caller prepares the next batch. So this function returns
    at once, and the function that it returns waits for the result.

    Args:
        model: A causal language model.
        items: The items, each with the tokens of its prompt and of its C choices (`choices`).
        strategy: Name of a batching strategy, one of `STRATEGIES`.

    Returns:
        A function without arguments that waits for the model, and returns a list with (C,)
        log-likelihoods per item.
    """
    wait_for_tokens = token_likelihoods(model, items, strategy)

    def sum_tokens() -> list[NDArray[np.float64]]:
        """Wait for the model, and sum the log-likelihoods of the tokens of each choice."""
        # One row of token log-likelihoods per choice, one item after another.
        token_rows = iter(wait_for_tokens())
        sums_by_item = []
        for item in items:
            sums = []
            for row in itertools.islice(token_rows, len(item.choices)):
                sums.append(float(row.sum()))
            sums_by_item.append(np.array(sums))
        return sums_by_item

    return sum_tokens


def token_likelihoods(model: Any, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
    """Start to compute the log-likelihood of each token of each choice, in nats.

    Args:
        model: A causal language model.
        items: The items.
        strategy: Name of a batching strategy, one of `STRATEGIES`.

    Returns:
        A function that waits for (T,) log-likelihoods per choice, one choice after another.
    """
    rows: list[Row] = []
    n_choices = 0
    for item in items:
        rows += make_rows(item, n_choices, shared=strategy == SHARED)
        n_choices += len(item.choices)
    scores = []
    owners = []
    for group in _group_rows(rows, strategy):
        scores.append(_read_rows(model, group))
        for row in group:
            owners.append(row.owners)

    # Number of the choice that each score belongs to. The choices may be in any order, but the
    # tokens of a choice are in theirs, which a stable sort preserves.
    choice_by_score = np.concatenate(owners)
    order = np.argsort(choice_by_score, kind="stable")
    n_tokens_by_choice = np.bincount(choice_by_score)
    ends = np.cumsum(n_tokens_by_choice)[:-1]
    return read_later(lambda values: np.split(values[order], ends), torch.cat(scores))


def _group_rows(rows: Sequence[Row], strategy: str) -> list[list[Row]]:
    """Divide rows of tokens into groups that share a pass of the model.

    Args:
        rows: Rows of all items.
        strategy: `SHARED` packs the rows into a few long ones for a single pass, `PADDED` pads all
            rows to the longest one, `EQUAL_LENGTHS` makes a pass for each length, and `ONE_BY_ONE`
            a pass for each row.
    """
    if strategy == SHARED:
        return [pack_rows(rows)]
    if strategy == PADDED:
        return [list(rows)]
    if strategy == ONE_BY_ONE:
        return [[row] for row in rows]
    rows_by_length: dict[int, list[Row]] = {}
    for row in sorted(rows, key=len):
        rows_by_length.setdefault(len(row), []).append(row)
    return list(rows_by_length.values())


def _read_rows(model: Any, rows: Sequence[Row]) -> torch.Tensor:
    """Compute the log-likelihoods of the target tokens of rows in one pass of the model.

    Args:
        model: A causal language model.
        rows: The rows, with W target tokens in all. They are padded on the right.

    Returns:
        (W,) log-likelihoods of the targets, one row after another.
    """
    inputs = make_inputs(model, rows)
    n_columns = inputs["input_ids"].shape[1]
    target_columns = np.concatenate([row.columns for row in rows])
    parameters = inspect.signature(model.forward).parameters
    if "use_cache" in parameters:
        inputs["use_cache"] = False
    # The columns for which the model returns logits, sorted.
    columns = np.arange(n_columns)
    if "logits_to_keep" in parameters:
        # Logits take most of the memory, and are not needed in the middle of a prompt, for example,
        # which predicts no target.
        columns = np.unique(target_columns)
        inputs["logits_to_keep"] = send_array(columns, model.device)
    logits = compute_logits(model, inputs)
    if logits.shape[1] == n_columns:
        # Some models accept the option, but return all logits.
        columns = np.arange(n_columns)
    n_targets = [len(row.targets) for row in rows]
    return _select_likelihoods(
        logits,
        row_index=np.repeat(np.arange(len(rows)), n_targets),
        # `columns` is sorted and contains every target column, so that the search finds its index.
        column_index=np.searchsorted(columns, target_columns),
        targets=np.concatenate([row.targets for row in rows]),
    )


def _select_likelihoods(
    logits: torch.Tensor,
    row_index: NDArray[np.int64],
    column_index: NDArray[np.int64],
    targets: NDArray[np.int64],
) -> torch.Tensor:
    """Return the log-probabilities of some tokens.

    Args:
        logits: (n, T, V) logits.
        row_index: (W,) row of the logits that predict each token.
        column_index: (W,) column of these logits.
        targets: (W,) token ids.

    Returns:
        (W,) float64.
    """
    # In blocks, because the selected logits are copied.
    blocks = []
    for array in (row_index, column_index, targets):
        tensor = send_array(array, logits.device)
        blocks.append(torch.split(tensor, _N_TARGETS))
    values = []
    for rows, columns, tokens in zip(*blocks, strict=True):
        scores = logits[rows, columns]
        # Sums over a vocabulary need more digits than half precision has.
        if scores.dtype != torch.float64:
            scores = scores.float()
        target_scores = scores.gather(1, tokens[:, None])[:, 0]
        # The log-softmax of only the target, without a table of all tokens.
        values.append(target_scores - scores.logsumexp(dim=1))
    return torch.cat(values).double()


def compute_logits(model: Any, inputs: Mapping[str, Any], name: str = "the model") -> torch.Tensor:
    """Run a language model, and return the (n, T, V) logits of the tokens that it reads.

    Logits of virtual tokens before the text, which prompt tuning inserts, are left out.

    Args:
        model: The model.
        inputs: Its arguments, with `input_ids` of shape (n, T).
        name: Name of the model, for errors.

    Raises:
        RefusalError: If the model returns no logits for every token.
    """
    outputs = model(**inputs)
    logits = getattr(outputs, "logits", None)
    if logits is None or logits.dim() != 3:
        raise RefusalError(
            f"Expected {name} to return logits of every token, but got {type(outputs).__name__} "
            "without logits."
        )
    n_tokens = inputs["input_ids"].shape[1]
    table: torch.Tensor = logits[:, -n_tokens:]
    return table


@dataclass(frozen=True, eq=False)
class _Reading:
    """A sequence of tokens with its (T, V) logits."""

    tokens: NDArray[np.int64]
    logits: torch.Tensor


def score_one_by_one(model: Any, items: Sequence[TokenizedItem], name: str) -> Outputs:
    """Score choices in a separate pass each, and check that the model is causal.

    Args:
        model: A causal language model.
        items: The items.
        name: Name of the model, for errors.

    Returns:
        (T,) log-likelihoods per choice, one choice after another.

    Raises:
        RefusalError: If logits depend on later tokens, or the model returns no logits.
    """
    outputs: list[NDArray[np.float64]] = []
    for item in items:
        previous: _Reading | None = None
        for choice in item.choices:
            row = make_row(item.prompt, [choice], owners=[0])
            reading = _Reading(row.tokens, _compute_plain_logits(model, row.tokens, name))
            # The logits after the prompt may differ between two choices, but not those before it.
            if previous is not None:
                _check_causal(model, previous, reading, name)
            previous = reading
            columns = send_array(row.columns, model.device)
            targets = send_array(row.targets, model.device)
            scores = reading.logits[columns]
            logs = scores.double().log_softmax(-1)
            target_logs = logs.gather(1, targets[:, None])[:, 0]
            outputs.append(target_logs.cpu().numpy())
    return outputs


def _check_causal(model: Any, left: _Reading, right: _Reading, name: str) -> None:
    """Check that a model has the same logits for two sequences up to the token where they differ.

    Args:
        model: The model.
        left: A sequence with its logits.
        right: Another sequence that begins with the same tokens.
        name: Name of the model, for errors.

    Raises:
        RefusalError: If the logits differ before the tokens do, because the model reads ahead or
            its logits are random.
    """
    shorter = min(len(left.tokens), len(right.tokens))
    is_equal = left.tokens[:shorter] == right.tokens[:shorter]
    # True up to the first token that differs.
    is_common = np.logical_and.accumulate(is_equal)
    n_common = int(is_common.sum())
    # More than the usual tolerance, because sequences of different lengths may round differently.
    max_difference = 10 * get_tolerance(model, float(left.logits.abs().max()))
    difference = _measure_difference(left.logits[:n_common], right.logits[:n_common])
    is_too_large = difference > max_difference
    # A difference of NaN is not too large. A later check refuses it with its cause.
    if not is_too_large:
        return
    # Random logits differ even if the same tokens are read again.
    repeated = _compute_plain_logits(model, left.tokens, name)
    difference_again = _measure_difference(left.logits, repeated)
    if difference_again > max_difference:
        raise RefusalError(
            "Expected a model that gives the same answer to the same question, but two answers of "
            f"{name} differ by {difference_again:.2g}."
        )
    raise RefusalError(
        f"Expected a causal language model, but the scores of {name} depend on later tokens: a "
        f"change of later tokens changes a score by {difference:.2g}."
    )


def _measure_difference(left: torch.Tensor, right: torch.Tensor) -> float:
    """Return the largest absolute difference of two tensors."""
    return float((left - right).abs().max())


def _compute_plain_logits(model: Any, tokens: NDArray[np.int64], name: str) -> torch.Tensor:
    """Return the (T, V) logits of one sequence of tokens, in a separate pass without padding."""
    inputs: dict[str, Any] = {"input_ids": send_array(tokens[None], model.device)}
    if "use_cache" in inspect.signature(model.forward).parameters:
        # Nothing is read after it, and the cache of some models fails at some lengths.
        inputs["use_cache"] = False
    return compute_logits(model, inputs, name)[0]
