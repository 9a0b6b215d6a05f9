"""Rows of tokens that a causal language model reads, with the tokens whose likelihood is read off.

`make_rows` turns a prompt with its choices into one row, in which an attention mask lets each
choice see only the prompt and itself, or into a row per choice. `pack_rows` joins rows of several
items into long ones, so that little is padded. `make_inputs` returns their tensors. A row holds no
last token of a choice, which nothing follows: choices of one token need only the prompt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.models.batching import send_array
from rightreasons.models.language.continuations import Tokens

Integers: TypeAlias = NDArray[np.int64]

ROW_TOKENS = 256
"""Approximate number of tokens of a packed row.

Longer rows cost more attention, and shorter ones use a processor less well.
"""


@dataclass(frozen=True, eq=False)
class Row:
    """One sequence that a model reads.

    A row holds prompts, each with its choices as a tree: a beginning that choices have in common is
    read once. A segment is a prompt, or what a choice adds to the tree.

    Attributes:
        tokens: (T,) token ids.
        positions: (T,) position of each token in its prompt with its choice.
        segments: (T,) segment of each token.
        limits: (S, S) position below which tokens of one segment (row) see those of another
            (column).
        columns: (W,) column of the logits of each target.
        targets: (W,) token ids whose log-likelihood is read.
        owners: (W,) choice that each target belongs to.
        is_path: Whether each token sees all tokens before it, so that no mask is needed.
    """

    tokens: Integers
    positions: Integers
    segments: Integers
    limits: Integers
    columns: Integers
    targets: Integers
    owners: Integers
    is_path: bool

    def __len__(self) -> int:
        return len(self.tokens)


def count_shared_tokens(item: Tokens) -> int:
    """Return the number of tokens of a row that holds a prompt with all of its choices."""
    # (node before, token) -> node
    nodes: dict[tuple[int, int], int] = {}
    for choice in item.choices:
        # The end of the prompt.
        node = 0
        read_tokens = choice[:-1]
        for token in read_tokens:
            step = (node, token)
            new_node = len(nodes) + 1
            node = nodes.setdefault(step, new_node)
    return len(item.prompt) + len(nodes)


def make_rows(item: Tokens, first_owner: int, *, shared: bool) -> Iterator[Row]:
    """Yield one row of all choices of an item, or a row per choice.

    Choices that differ only in their last token share a row in both cases.

    Args:
        item: The item.
        first_owner: Number of its first choice among those of all items.
        shared: Whether one row holds all choices.
    """
    if shared:
        owners = range(first_owner, first_owner + len(item.choices))
        yield make_row(item.prompt, item.choices, owners)
        return
    # Tokens that are read of a choice -> positions of the choices that they are read for.
    positions_by_tokens = defaultdict(list)
    for position, choice in enumerate(item.choices):
        tokens = tuple(choice[:-1])
        positions_by_tokens[tokens].append(position)
    for positions in positions_by_tokens.values():
        choices = []
        owners_of_row = []
        for position in positions:
            choices.append(item.choices[position])
            owners_of_row.append(first_owner + position)
        yield make_row(item.prompt, choices, owners_of_row)


def make_row(
    prompt: Sequence[int],
    choices: Sequence[Sequence[int]],
    owners: Sequence[int],
) -> Row:
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
    n_segments = len(choices) + 1
    limits = np.zeros((n_segments, n_segments), dtype=np.int64)
    limits[:, 0] = size
    columns: list[int] = []
    # (column of the token before, token) -> column of the token
    column_by_step: dict[tuple[int, int], int] = {}
    for segment, choice in enumerate(choices, start=1):
        # The first token of a choice is predicted at the end of the prompt.
        column = size - 1
        columns.append(column)
        # Nothing follows the last token, so that it is not read.
        read_tokens = choice[:-1]
        for position, token in enumerate(read_tokens, start=size):
            step = (column, token)
            if step not in column_by_step:
                column_by_step[step] = len(tokens)
                tokens.append(token)
                positions.append(position)
                segments.append(segment)
            column = column_by_step[step]
            columns.append(column)
            limits[segment, segments[column]] = position + 1
    targets: list[int] = []
    target_owners: list[int] = []
    for choice, owner in zip(choices, owners, strict=True):
        targets.extend(choice)
        target_owners.extend([owner] * len(choice))
    return Row(
        tokens=np.array(tokens, dtype=np.int64),
        positions=np.array(positions, dtype=np.int64),
        segments=np.array(segments, dtype=np.int64),
        limits=limits,
        columns=np.array(columns, dtype=np.int64),
        targets=np.array(targets, dtype=np.int64),
        owners=np.array(target_owners, dtype=np.int64),
        is_path=len(set(segments)) <= 2,
    )


def pack_rows(rows: Sequence[Row]) -> list[Row]:
    """Join rows into a few of about `ROW_TOKENS` tokens and nearly equal lengths."""
    n_tokens = sum(map(len, rows))
    # A row is not divided, so that the longest one decides how long all may be.
    longest = max(map(len, rows))
    n_packed = round(n_tokens / max(ROW_TOKENS, longest))
    n_packed = max(n_packed, 1)
    groups: list[list[Row]] = [[] for _ in range(n_packed)]
    lengths = [0] * n_packed
    # The longest first, each into the row that is the shortest so far.
    for row in sorted(rows, key=len, reverse=True):
        shortest = lengths.index(min(lengths))
        groups[shortest].append(row)
        lengths[shortest] += len(row)
    # Many short rows may leave one without any.
    return [_join_rows(group) for group in groups if group]


def _join_rows(rows: Sequence[Row]) -> Row:
    """Put rows into one, in which their items do not see each other."""
    if len(rows) == 1:
        return rows[0]
    n_segments = sum(len(row.limits) for row in rows)
    limits = np.zeros((n_segments, n_segments), dtype=np.int64)
    segments = []
    columns = []
    segment = 0
    column = 0
    for row in rows:
        end = segment + len(row.limits)
        # Limits of zero hide all segments of other rows.
        limits[segment:end, segment:end] = row.limits
        segments.append(row.segments + segment)
        columns.append(row.columns + column)
        segment = end
        column += len(row)
    return Row(
        tokens=_concatenate(rows, "tokens"),
        positions=_concatenate(rows, "positions"),
        segments=np.concatenate(segments),
        limits=limits,
        columns=np.concatenate(columns),
        targets=_concatenate(rows, "targets"),
        owners=_concatenate(rows, "owners"),
        is_path=False,
    )


def _concatenate(rows: Sequence[Row], name: str) -> Integers:
    """Join an attribute of rows."""
    return np.concatenate([getattr(row, name) for row in rows])


def make_inputs(model: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the tokens of rows, padded on the right, with the mask that they need."""
    device = model.device
    tokens = _pad_rows(rows, "tokens", padding=0)
    inputs = {"input_ids": send_array(tokens, device)}
    needs_mask = not all(row.is_path for row in rows)
    if needs_mask:
        positions = send_array(_pad_rows(rows, "positions", padding=0), device)
        inputs["attention_mask"] = _make_mask(model, rows, positions)
        inputs["position_ids"] = positions
        return inputs
    is_token = np.zeros_like(tokens)
    for number, row in enumerate(rows):
        is_token[number, : len(row)] = 1
    # Without any padding, some implementations of attention are faster.
    if not is_token.all():
        inputs["attention_mask"] = send_array(is_token, device)
    return inputs


def _pad_rows(rows: Sequence[Row], name: str, padding: int) -> Integers:
    """Return an attribute of rows as a table of numbers, padded on the right."""
    shape = (len(rows), max(map(len, rows)))
    table = np.full(shape, padding, dtype=np.int64)
    for number, row in enumerate(rows):
        size = len(row)
        table[number, :size] = getattr(row, name)
    return table


def _make_mask(model: Any, rows: Sequence[Row], positions: torch.Tensor) -> torch.Tensor:
    """Return the additive, four-dimensional attention mask that transformers takes as it is.

    A token sees those before it whose position is below the limit of its segment for theirs.

    Args:
        model: The model.
        rows: n rows.
        positions: (n, T) positions of their tokens, padded.
    """
    device = positions.device
    size = positions.shape[1]
    limits = _look_up_limits(rows, device)
    is_visible = positions[:, None, :] < limits
    pairs = torch.ones(size, size, dtype=torch.bool, device=device)
    is_visible &= pairs.tril()
    # Each token sees itself, padding too, so that no softmax is over nothing.
    is_visible |= torch.eye(size, dtype=torch.bool, device=device)
    mask = torch.zeros(
        is_visible.shape,
        dtype=model.dtype,
        device=device,
    )
    lowest = torch.finfo(model.dtype).min
    mask.masked_fill_(~is_visible, lowest)
    # One mask for all heads.
    return mask[:, None]


def _look_up_limits(rows: Sequence[Row], device: torch.device) -> torch.Tensor:
    """Return (n, T, T) limits of the segment of each token for that of each other token."""
    n_segments = max(len(row.limits) for row in rows)
    # Padding is a segment that sees nothing, and that nothing sees.
    size = n_segments + 1
    table = np.zeros((len(rows), size, size), dtype=np.int32)
    for number, row in enumerate(rows):
        n_own = len(row.limits)
        table[number, :n_own, :n_own] = row.limits
    limits = send_array(table, device)
    padded = _pad_rows(rows, "segments", padding=n_segments)
    segments = send_array(padded, device)
    numbers = torch.arange(len(rows), device=device)
    # Broadcast to (n, T, T): the row, the segment that sees, and the one that is seen.
    row_index = numbers[:, None, None]
    observer = segments[:, :, None]
    observed = segments[:, None, :]
    return limits[row_index, observer, observed]
