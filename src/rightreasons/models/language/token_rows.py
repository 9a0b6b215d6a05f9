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
    """Return the number of tokens of a row that holds a prompt with a tree of its choices.

    Choices that begin with the same tokens share these, and the last token of a choice is not read.

    Args:
        item: A prompt with its choices.
    """
    # The nodes of the tree, by their parent and token; 0 is the end of the prompt.
    nodes: dict[tuple[int, int], int] = {}
    for choice in item.choices:
        node = 0
        read_tokens = choice[:-1]
        for token in read_tokens:
            new_node = len(nodes) + 1
            # The existing node, if another choice has the same beginning.
            node = nodes.setdefault((node, token), new_node)
    return len(item.prompt) + len(nodes)


def make_rows(item: Tokens, first_owner: int, *, shared: bool) -> Iterator[Row]:
    """Yield one row of all choices of an item, or a row per choice.

    Choices that differ only in their last token, which is not read, share a row in both cases.

    Args:
        item: The item.
        first_owner: Number of its first choice among those of all items.
        shared: Whether one row holds all choices.
    """
    if shared:
        owners = range(first_owner, first_owner + len(item.choices))
        yield make_row(item.prompt, item.choices, owners)
        return
    # Tokens after the prompt that are read -> positions of the choices that begin with them.
    positions_by_tokens = defaultdict(list)
    for position, choice in enumerate(item.choices):
        read_tokens = tuple(choice[:-1])
        positions_by_tokens[read_tokens].append(position)
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
    """Put a prompt and all of its choices into one row, in which equal beginnings are read once.

    The prompt is segment 0. Segment k has the tokens that choice k adds to the tree of the choices
    before it. `limits[k, m]` says up to which position choice k passes through segment m, so that a
    token of segment k sees exactly the prompt and the beginning of its own choice.

    Args:
        prompt: Tokens of the prompt.
        choices: Tokens of each choice.
        owners: Number of each choice among those of all items.
    """
    n_prompt = len(prompt)
    tokens = list(prompt)
    positions = list(range(n_prompt))
    segments = [0] * n_prompt
    n_segments = len(choices) + 1
    limits = np.zeros((n_segments, n_segments), dtype=np.int64)
    # All choices see the whole prompt.
    limits[:, 0] = n_prompt
    columns: list[int] = []
    # (column of the token before, token) -> column of the token
    column_by_step: dict[tuple[int, int], int] = {}
    for segment, choice in enumerate(choices, start=1):
        # The first token of a choice is predicted at the end of the prompt.
        column = n_prompt - 1
        columns.append(column)
        # The last token is predicted, but predicts nothing, so that it is not read.
        read_tokens = choice[:-1]
        for position, token in enumerate(read_tokens, start=n_prompt):
            step = (column, token)
            # A token that an earlier choice has at this point of the tree is not repeated.
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
        # With the prompt and one more segment, each token sees all tokens before it.
        is_path=len(set(segments)) <= 2,
    )


def pack_rows(rows: Sequence[Row]) -> list[Row]:
    """Join rows into a few long ones of nearly equal lengths, so that little is padded.

    The joined rows have about `ROW_TOKENS` tokens, or as many as the longest row.

    Args:
        rows: Rows of several items, whose order is not kept.
    """
    n_tokens = sum(map(len, rows))
    # A row is not divided, so that the longest one is a minimum for all.
    longest = max(map(len, rows))
    n_packed = round(n_tokens / max(ROW_TOKENS, longest))
    n_packed = max(n_packed, 1)
    groups: list[list[Row]] = [[] for _ in range(n_packed)]
    lengths = [0] * n_packed
    # Greedy balancing: the longest first, each into the group that is the shortest so far.
    for row in sorted(rows, key=len, reverse=True):
        shortest = lengths.index(min(lengths))
        groups[shortest].append(row)
        lengths[shortest] += len(row)
    # With fewer rows than groups, some groups are empty.
    return [_join_rows(group) for group in groups if group]


def _join_rows(rows: Sequence[Row]) -> Row:
    """Join rows into one, in which the items of different rows do not see each other."""
    if len(rows) == 1:
        return rows[0]
    n_segments = sum(len(row.limits) for row in rows)
    # A limit of zero hides a segment, so that the blocks off the diagonal stay as they are.
    limits = np.zeros((n_segments, n_segments), dtype=np.int64)
    segments = []
    columns = []
    # Segments and columns of a row are numbered after those of the rows before it.
    first_segment = 0
    first_column = 0
    for row in rows:
        end_segment = first_segment + len(row.limits)
        limits[first_segment:end_segment, first_segment:end_segment] = row.limits
        segments.append(row.segments + first_segment)
        columns.append(row.columns + first_column)
        first_segment = end_segment
        first_column += len(row)
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
    """Return rows as arguments of a causal language model, padded on the right.

    Args:
        model: The model.
        rows: n rows of up to T tokens.

    Returns:
        `input_ids`, (n, T). If a row holds several choices, also `position_ids`, (n, T), and an
        additive `attention_mask`, (n, 1, T, T); otherwise an `attention_mask`, (n, T), if there is
        padding.
    """
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
    for index, row in enumerate(rows):
        is_token[index, : len(row)] = 1
    # Without a mask, some implementations of attention are faster.
    if not is_token.all():
        inputs["attention_mask"] = send_array(is_token, device)
    return inputs


def _pad_rows(rows: Sequence[Row], name: str, padding: int) -> Integers:
    """Return an attribute of n rows as a table, (n, longest) int64, padded on the right.

    Args:
        rows: The rows.
        name: Name of the attribute, such as "tokens".
        padding: The value after the end of a row.
    """
    shape = (len(rows), max(map(len, rows)))
    table = np.full(shape, padding, dtype=np.int64)
    for number, row in enumerate(rows):
        size = len(row)
        table[number, :size] = getattr(row, name)
    return table


def _make_mask(model: Any, rows: Sequence[Row], positions: torch.Tensor) -> torch.Tensor:
    """Return the attention mask by which each choice sees only the prompt and itself.

    A token sees another one before it if the position of that is below the limit that its own
    segment has for the other's segment. A four-dimensional additive mask is what transformers uses
    without changes.

    Args:
        model: The model.
        rows: n rows.
        positions: (n, T) positions of their tokens, padded.

    Returns:
        (n, 1, T, T) in the type of the model: 0 where a token (row) sees another (column), and the
        lowest number otherwise. It is the same for all heads.
    """
    device = positions.device
    size = positions.shape[1]
    limits = _look_up_limits(rows, device)
    is_visible = positions[:, None, :] < limits
    is_pair = torch.ones(size, size, dtype=torch.bool, device=device)
    is_visible &= is_pair.tril()
    # Each token sees itself, padding too, so that no softmax is over nothing.
    is_visible |= torch.eye(size, dtype=torch.bool, device=device)
    mask = torch.zeros(
        is_visible.shape,
        dtype=model.dtype,
        device=device,
    )
    lowest = torch.finfo(model.dtype).min
    mask.masked_fill_(~is_visible, lowest)
    return mask[:, None]


def _look_up_limits(rows: Sequence[Row], device: torch.device) -> torch.Tensor:
    """Look up the limit of each pair of tokens of a row, which depends on their segments.

    Args:
        rows: n rows of up to T tokens.
        device: Device of the result.

    Returns:
        (n, T, T) int32: for a token (row) and another (column), the position below which the first
        sees tokens of the other's segment. It is 0 for padding.
    """
    n_segments = max(len(row.limits) for row in rows)
    # One more segment for padding, which sees nothing, and which nothing sees.
    size = n_segments + 1
    table = np.zeros((len(rows), size, size), dtype=np.int32)
    for index, row in enumerate(rows):
        n_own = len(row.limits)
        table[index, :n_own, :n_own] = row.limits
    limits = send_array(table, device)
    padded = _pad_rows(rows, "segments", padding=n_segments)
    segments = send_array(padded, device)
    row_numbers = torch.arange(len(rows), device=device)
    # Broadcast to (n, T, T): the row, the segment that sees, and the one that is seen.
    row_index = row_numbers[:, None, None]
    observer = segments[:, :, None]
    observed = segments[:, None, :]
    return limits[row_index, observer, observed]
