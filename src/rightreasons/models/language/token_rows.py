"""Rows of tokens that a causal language model reads, and the tokens whose likelihood it returns.

`make_rows` turns a prompt with its choices into one row, in which an attention mask lets each
choice see only the prompt and itself, or into a row per choice. `pack_rows` joins rows of several
items into long ones, which need little padding. `make_inputs` returns their tensors. A row does not
have the last token of a choice, because no further token is predicted from it. For choices of one
token, the row is only the prompt.
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
from rightreasons.models.language.continuations import TokenizedItem

Integers: TypeAlias = NDArray[np.int64]

ROW_TOKENS = 256
"""Approximate number of tokens of a packed row.

Longer rows cost more attention, and shorter ones use a processor less well.
"""


@dataclass(frozen=True, eq=False)
class Row:
    """One sequence of tokens that a model reads: prompts, each with its choices.

    A beginning that several choices have in common is in the row once. A segment is a prompt, or
    the tokens of a choice that no earlier choice has at the same point.

    Attributes:
        tokens: (T,) token ids.
        positions: (T,) position of each token in the text of its prompt and its choice.
        segments: (T,) segment of each token, below S.
        limits: (S, S) position below which tokens of one segment (row) see tokens of another
            (column).
        columns: (W,) column of the row whose logits predict each target.
        targets: (W,) ids of all tokens of the choices, whose log-likelihoods are computed.
        owners: (W,) number of the choice that each target belongs to.
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


def count_shared_tokens(item: TokenizedItem) -> int:
    """Return the number of tokens of a row that has a prompt and all of its choices.

    Equal beginnings of choices are in the row once, and the last token of a choice is left out,
    because it is predicted, but not read.

    Args:
        item: A prompt with its choices.
    """
    # A tree of the choices, as (parent node, token) -> node. Node 0 is the end of the prompt.
    nodes: dict[tuple[int, int], int] = {}
    for choice in item.choices:
        node = 0
        read_tokens = choice[:-1]
        for token in read_tokens:
            new_node = len(nodes) + 1
            # If another choice has the same beginning, its node is used.
            node = nodes.setdefault((node, token), new_node)
    return len(item.prompt) + len(nodes)


def make_rows(item: TokenizedItem, first_owner: int, *, shared: bool) -> Iterator[Row]:
    """Yield one row of tokens with all choices of an item, or a row per choice.

    In the second case, choices that differ in their last token only also share a row, because the
    last token is predicted, but not read.

    Args:
        item: A prompt with its choices.
        first_owner: Number of the first choice of the item among the choices of all items.
        shared: Whether one row has all choices.
    """
    if shared:
        owners = range(first_owner, first_owner + len(item.choices))
        yield make_row(item.prompt, item.choices, owners)
        return
    # Tokens that are read after the prompt -> indices of the choices that begin with them.
    choices_by_read_tokens = defaultdict(list)
    for choice_index, choice in enumerate(item.choices):
        read_tokens = tuple(choice[:-1])
        choices_by_read_tokens[read_tokens].append(choice_index)
    for choice_indices in choices_by_read_tokens.values():
        choices = []
        owners_of_row = []
        for choice_index in choice_indices:
            choices.append(item.choices[choice_index])
            owners_of_row.append(first_owner + choice_index)
        yield make_row(item.prompt, choices, owners_of_row)


def make_row(
    prompt: Sequence[int],
    choices: Sequence[Sequence[int]],
    owners: Sequence[int],
) -> Row:
    """Put a prompt and its choices into one row of tokens, in which equal beginnings are read once.

    The prompt is segment 0 of the row. Segment k has the tokens of choice k that no earlier choice
    has at the same point. An attention mask is made from `limits`: a token of segment k sees those
    tokens of segment m whose position is below `limits[k, m]`. These are exactly the prompt and the
    beginning of its own choice.

    Args:
        prompt: Tokens of the prompt.
        choices: Tokens of each choice.
        owners: Number of each choice among the choices of all items.

    Example:
        >>> row = make_row([1, 2], [[3, 4, 5], [3, 6, 7]], owners=[0, 1])
        >>> row.tokens.tolist(), row.segments.tolist()
        ([1, 2, 3, 4, 6], [0, 0, 1, 1, 2])
        >>> row.targets.tolist(), row.columns.tolist()  # token 3 is predicted in column 1, twice
        ([3, 4, 5, 3, 6, 7], [1, 2, 3, 1, 2, 4])
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
    # A tree of the choices, as (column of the previous token, token) -> column of the token.
    column_by_step: dict[tuple[int, int], int] = {}
    for segment, choice in enumerate(choices, start=1):
        # The first token of a choice is predicted at the end of the prompt.
        column = n_prompt - 1
        columns.append(column)
        # The last token is predicted, but predicts nothing, so that it is not read.
        read_tokens = choice[:-1]
        for position, token in enumerate(read_tokens, start=n_prompt):
            step = (column, token)
            # A token that an earlier choice has at the same point is not repeated.
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
        # With the prompt and at most one more segment, each token sees all tokens before it.
        is_path=len(set(segments)) <= 2,
    )


def pack_rows(rows: Sequence[Row]) -> list[Row]:
    """Join rows into a few long ones of nearly equal lengths, which need little padding.

    The joined rows have about `ROW_TOKENS` tokens, or as many as the longest row.

    Args:
        rows: Rows of several items, whose order is not preserved.
    """
    n_tokens = sum(map(len, rows))
    # A row is not divided, so that no joined row can be shorter than the longest.
    longest = max(map(len, rows))
    n_packed = round(n_tokens / max(ROW_TOKENS, longest))
    n_packed = max(n_packed, 1)
    groups: list[list[Row]] = [[] for _ in range(n_packed)]
    lengths = [0] * n_packed
    # Greedy balancing: the longest row first, each into the group that is the shortest so far.
    for row in sorted(rows, key=len, reverse=True):
        shortest = lengths.index(min(lengths))
        groups[shortest].append(row)
        lengths[shortest] += len(row)
    # With fewer rows than groups, some groups are empty.
    return [_join_rows(group) for group in groups if group]


def _join_rows(rows: Sequence[Row]) -> Row:
    """Join rows into one, in which tokens of different rows do not see each other.

    Args:
        rows: At least one row. The tokens of a row are divided into S segments. The table `limits`,
            (S, S), has the position below which the tokens of one segment see those of another.

    Returns:
        One row with the tokens of all, one row after another.
    """
    if len(rows) == 1:
        return rows[0]
    n_segments = sum(len(row.limits) for row in rows)
    # A limit of zero hides a segment, so that only blocks on the diagonal are filled.
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
    """Return an attribute of rows, such as "tokens", as one array."""
    return np.concatenate([getattr(row, name) for row in rows])


def make_inputs(model: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """Return rows of tokens as arguments of a causal language model, padded on the right.

    Args:
        model: The model.
        rows: n rows of up to T tokens.

    Returns:
        `input_ids`, (n, T). If a row has several choices, also `position_ids`, (n, T), and an
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
        padding: Value after the end of a row.
    """
    shape = (len(rows), max(map(len, rows)))
    table = np.full(shape, padding, dtype=np.int64)
    for index, row in enumerate(rows):
        size = len(row)
        table[index, :size] = getattr(row, name)
    return table


def _make_mask(model: Any, rows: Sequence[Row], positions: torch.Tensor) -> torch.Tensor:
    """Make the attention mask with which each choice sees only the prompt and itself.

    Token i sees token j before it if the position of j is below the limit that the segment of i has
    for the segment of j. transformers uses an additive mask of four dimensions without changes.

    Args:
        model: The model, for the number type of the mask.
        rows: n rows.
        positions: (n, T) positions of their tokens, padded.

    Returns:
        (n, 1, T, T): 0 where a token (row) sees another (column), and the lowest number otherwise.
        The mask is the same for all heads.
    """
    device = positions.device
    size = positions.shape[1]
    limits = _look_up_limits(rows, device)
    is_visible = positions[:, None, :] < limits
    is_pair = torch.ones(size, size, dtype=torch.bool, device=device)
    is_visible &= is_pair.tril()
    # Every token sees itself, also in padding, because a softmax over nothing would be NaN.
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
    """Look up how far each token of a row sees into the segment of each other token.

    Args:
        rows: n rows of up to T tokens, with the `limits` between their segments.
        device: Device of the result.

    Returns:
        (n, T, T) int32: for a token (row) and another (column), the position below which the first
        sees tokens of the other's segment. It is 0 for padding.
    """
    n_segments = max(len(row.limits) for row in rows)
    # Padding is one more segment, which sees nothing, and which nothing sees.
    size = n_segments + 1
    table = np.zeros((len(rows), size, size), dtype=np.int32)
    for index, row in enumerate(rows):
        n_own = len(row.limits)
        table[index, :n_own, :n_own] = row.limits
    limits = send_array(table, device)
    padded = _pad_rows(rows, "segments", padding=n_segments)
    segments = send_array(padded, device)
    row_numbers = torch.arange(len(rows), device=device)
    # Broadcast to (n, T, T): the row, the segment that sees, and the segment that is seen.
    row_index = row_numbers[:, None, None]
    observer = segments[:, :, None]
    observed = segments[:, None, :]
    return limits[row_index, observer, observed]
