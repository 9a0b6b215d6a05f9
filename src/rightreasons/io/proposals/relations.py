"""Relations between columns that identify labels and answers without headings.

A column with the majority vote of annotators is the label. Of two columns that name the same classes differently, one is
enough. Texts that begin with the class of their row are answers, and not the input of a model. `find_decided_label` is
the entry point for labels, `begins_with_class` the one for texts.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.io.cells import parse_cell
from rightreasons.io.contents import Content, Contents, make_key
from rightreasons.io.proposals.agreement import have_same_values

MIN_SHARE_OF_ROWS = 0.99
"""Minimum share of rows in which a relation is true: a few rows of a file may have faults."""

MIN_VOTERS = 3
"""Minimum number of annotators for a majority vote."""

MAX_COUNT_COLUMNS = 30
"""Maximum number of columns of whole numbers that are searched for sums, which occur by accident among many."""

Keys = Sequence[str]
"""The cells of a column in the form in which they are compared; "" for empty cells."""


@dataclasses.dataclass(frozen=True)
class DecidedLabel:
    """The column of labels among several columns of classes.

    Attributes:
        column: The column.
        reason: A phrase with the reason.
    """

    column: str
    reason: str


def find_decided_label(contents: Contents, candidates: Sequence[str]) -> DecidedLabel | None:
    """Return the column of classes that is identified as the labels by its relation to other columns.

    Either the other columns have the same classes under other names, or they are votes of annotators, and
    the labels are the majority votes.

    Args:
        contents: Column -> the summary of its cells, for all columns.
        candidates: Columns of classes, in the order of the table.

    Returns:
        The column and the reason; None if no relation identifies the labels.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> votes = {name: ["a", "b", "a", "b"] * 5 for name in "xyz"}
        >>> votes["x"] = ["a", "a", "a", "b"] * 5
        >>> votes["y"] = ["b", "b", "a", "b"] * 5
        >>> votes["z"] = ["a", "b", "b", "b"] * 5
        >>> contents = describe_contents({**votes, "gold": ["a", "b", "a", "b"] * 5})
        >>> find_decided_label(contents, list(contents)).column
        'gold'
    """
    keys_by_name = {name: list_keys(contents.get_cells(name)) for name in candidates}
    distinct = drop_renamed_columns(contents, keys_by_name)
    if len(distinct) == 1:
        (column,) = distinct
        renamed = [repr(name) for name in candidates if name != column]
        names = ", ".join(renamed)
        return DecidedLabel(column, f"{names} contain the same information")
    majority = find_majority_column(distinct)
    if majority is not None:
        return DecidedLabel(majority, "it is the majority vote of the columns with the same values")
    # Votes may also be lists in one column, or numbers of votes in one column per class.
    decided = _find_label_by_lists(contents, distinct)
    if decided is not None:
        return decided
    return _find_label_by_counts(contents, distinct)


def list_keys(cells: Sequence[Any]) -> list[str]:
    """Return cells in the form in which they are compared (see `make_key`), with "" for None and NaN.

    Args:
        cells: The cells of a column.
    """
    keys = []
    for cell in cells:
        # NaN is the only value that differs from itself.
        is_missing = cell is None or cell != cell
        if is_missing:
            keys.append("")
        else:
            keys.append(make_key(cell))
    return keys


# ------------------------------------------------------------------------ other names of a label


def drop_renamed_columns(contents: Contents, keys: Mapping[str, Keys]) -> dict[str, Keys]:
    """Drop the columns that have the classes of another column under other names.

    Of a column of "positive" and "negative" and a column of 1 and 0, the column of words remains; of two
    columns of words, the earlier one.

    Args:
        contents: Column -> the summary of its cells.
        keys: Column -> the key of each row.

    Returns:
        The remaining columns with their keys, in the order of the table.
    """
    # Sorting is stable: among columns of words, or of numbers, the order of the table remains.
    words_first = sorted(keys, key=lambda name: contents[name].kind != "text")
    distinct: list[str] = []
    for name in words_first:
        is_repeated = any(are_renamed(keys[name], keys[previous]) for previous in distinct)
        if not is_repeated:
            distinct.append(name)
    return {name: column for name, column in keys.items() if name in distinct}


def are_renamed(keys: Keys, other_keys: Keys) -> bool:
    """Return whether two columns have the same classes under different names.

    Each value of one column then always occurs with the same value of the other. Columns with a common
    value have to be equal instead, because "yes" in the rows with "no" is the opposite.

    Args:
        keys: (n,) keys of the cells of one column.
        other_keys: (n,) keys of the cells of the other column.

    Example:
        >>> are_renamed(["a", "b", "a"], ["1", "0", "1"]), are_renamed(["a", "b", "a"], ["b", "a", "b"])
        (True, False)
    """
    values = set(keys)
    other_values = set(other_keys)
    if values & other_values:
        return list(keys) == list(other_keys)
    pairs = set(zip(keys, other_keys, strict=True))
    # The relation is one-to-one if there are as many distinct pairs as values on either side.
    return len(values) == len(other_values) == len(pairs)


# ---------------------------------------------------------------------------------------- votes


def find_majority_column(keys: Mapping[str, Keys]) -> str | None:
    """Return the only column with the majority vote of other columns in nearly every row.

    The votes are all other columns with the same values, of which there have to be `MIN_VOTERS`.

    Args:
        keys: Column -> the key of each row.

    Returns:
        The column; None if there is no such column, or if there are several.
    """
    matches = []
    for name, column in keys.items():
        voters = []
        for other_name, other_column in keys.items():
            if other_name != name and have_same_values(other_column, column):
                voters.append(other_column)
        if len(voters) < MIN_VOTERS:
            continue
        # The votes of a row are its cells in the columns of the voters.
        votes_by_row = zip(*voters, strict=True)
        majorities = list(map(find_majority, votes_by_row))
        if _is_equal_where_known(column, majorities):
            matches.append(name)
    if len(matches) != 1:
        return None
    return matches[0]


def find_majority(votes: Sequence[str]) -> str:
    """Return the vote that more than half of the voters gave; "" if there is no such vote.

    Args:
        votes: At least one vote.

    Example:
        >>> find_majority(["a", "a", "b"]), find_majority(["a", "b"])
        ('a', '')
    """
    counts = Counter(votes)
    value, count = counts.most_common(1)[0]
    if 2 * count > len(votes):
        return value
    return ""


def _is_equal_where_known(column: Keys, winners: Keys) -> bool:
    """Return whether a column equals the winners of votes in nearly all rows that have a winner.

    Args:
        column: (n,) keys of the cells of the column.
        winners: (n,) winners of the rows; "" for a tie, which is skipped.
    """
    n_known = 0
    n_equal = 0
    for value, winner in zip(column, winners, strict=True):
        if winner:
            n_known += 1
            n_equal += value == winner
    # The minimum is high because the answers of systems equal the majority in many rows as well.
    return n_known > 0 and n_equal >= MIN_SHARE_OF_ROWS * n_known


def _find_label_by_lists(contents: Contents, keys: Mapping[str, Keys]) -> DecidedLabel | None:
    """Return the only column with the majorities of lists of votes, such as "a" for ["a", "a", "b"].

    Args:
        contents: Column -> the summary of its cells, including columns of lists.
        keys: Column of classes -> the key of each row.

    Returns:
        The column and the reason; None if there is no such column, or if there are several.
    """
    for list_column in contents:
        if contents[list_column].kind != "list":
            continue
        majorities = []
        for cell in contents.get_cells(list_column):
            # Without votes, the majority is "", which counts as a tie.
            votes = parse_cell(cell) or [""]
            vote_keys = list(map(make_key, votes))
            majorities.append(find_majority(vote_keys))
        matches = []
        for label, column in keys.items():
            if _is_equal_where_known(column, majorities):
                matches.append(label)
        if len(matches) == 1:
            return DecidedLabel(matches[0], f"it holds what most votes in {list_column!r} say")
    return None


def _find_label_by_counts(contents: Contents, keys: Mapping[str, Keys]) -> DecidedLabel | None:
    """Return the only column whose class is determined by the largest number of votes in a row.

    For example, the column "label" next to the columns "n_yes" and "n_no" with numbers of votes.

    Args:
        contents: Column -> the summary of its cells, including columns of numbers of votes.
        keys: Column of classes -> the key of each row.

    Returns:
        The column and the reason; None if there is no such column, or if there are several.
    """
    for count_columns, counts in list_vote_counts(contents):
        winners = _list_winners(count_columns, counts)
        matches = []
        for name, column in keys.items():
            if name not in count_columns and _is_decided(column, winners):
                matches.append(name)
        if len(matches) == 1:
            names = ", ".join(map(repr, count_columns))
            return DecidedLabel(matches[0], f"the largest of the counts {names} decides it")
    return None


def _list_winners(names: Sequence[str], counts: NDArray[np.float64]) -> list[str]:
    """Return the column with the largest number of votes in each row.

    Args:
        names: (K,) columns of numbers of votes.
        counts: (n, K) numbers of votes.

    Returns:
        (n,) winners, such as "column n_yes"; "" for a tie.
    """
    winners = []
    for row in counts.tolist():
        largest = max(row)
        if row.count(largest) > 1:
            winners.append("")
        else:
            # Names of columns may be equal to classes, from which the prefix distinguishes them.
            position = row.index(largest)
            winners.append(f"column {names[position]}")
    return winners


def _is_decided(column: Keys, winners: Keys) -> bool:
    """Return whether each winner always occurs with the same class, in rows without a tie.

    Args:
        column: (n,) classes of the rows.
        winners: (n,) winners of the rows; "" for a tie.
    """
    decided_classes = []
    known_winners = []
    for value, winner in zip(column, winners, strict=True):
        if winner:
            decided_classes.append(value)
            known_winners.append(winner)
    return are_renamed(decided_classes, known_winners)


def list_vote_counts(contents: Contents) -> list[tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Return the groups of neighboring columns of numbers of votes, whose sum is another column.

    Args:
        contents: Column -> the summary of its cells.

    Returns:
        The columns of each group, and (n, K) their numbers.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> rows = {"n": [3, 6] * 5, "a": [1, 6] * 5, "b": [2, 0] * 5}
        >>> [columns for columns, _ in list_vote_counts(describe_contents(rows))]
        [('a', 'b')]
    """
    names = []
    columns = []
    for name in contents:
        numbers = _get_counts(contents[name])
        if numbers is not None:
            names.append(name)
            columns.append(numbers)
    n_columns = len(names)
    if not 0 < n_columns <= MAX_COUNT_COLUMNS:
        return []
    table = np.column_stack(columns)
    groups = []
    # Each pair of borders encloses a group of neighboring columns.
    for start, stop in itertools.combinations(range(n_columns + 1), 2):
        # A group has at least two columns.
        if stop - start < 2:
            continue
        counts = table[:, start:stop]
        totals = counts.sum(axis=1, keepdims=True)
        other_columns = np.delete(table, np.s_[start:stop], axis=1)
        # For each cell of the other columns, whether it equals the sum of the group in its row.
        is_total = other_columns == totals
        if is_total.all(axis=0).any():
            groups.append((tuple(names[start:stop]), counts))
    return groups


def _get_counts(content: Content) -> NDArray[np.float64] | None:
    """Return (n,) the numbers of a column if they may be numbers of votes; None otherwise.

    Numbers of votes are whole numbers from 0, without empty cells.

    Args:
        content: The summary of the cells, with `numbers`, which are None unless all cells are numbers.
    """
    numbers = content.numbers
    if numbers is None or np.isnan(numbers).any():
        return None
    if numbers.min() < 0:
        return None
    is_whole = numbers % 1 == 0
    return numbers if is_whole.all() else None


# -------------------------------------------------------------------------------------- answers


def begins_with_class(texts: Sequence[Any], classes: Sequence[Any]) -> bool:
    """Return whether nearly all texts begin with the class of their row, as a model's answers do.

    Args:
        texts: (N,) cells of texts.
        classes: (N,) cells of classes: words, or objects that mark one class ({"yes": 1, "no": 0}).

    Example:
        >>> begins_with_class(["Yes. It rains.", "No, never."], ["yes", "no"])
        True
    """
    n_compared = 0
    n_equal = 0
    for text, cell in zip(texts, classes, strict=True):
        marked_class = _get_marked_class(parse_cell(cell))
        class_key = make_key(marked_class)
        # Texts begin with a number by accident, so only classes that are words are compared.
        is_word = class_key[:1].isalpha()
        if is_word and isinstance(text, str):
            n_compared += 1
            n_equal += make_key(text).startswith(class_key)
    has_words = 2 * n_compared > len(texts)
    return has_words and n_equal >= MIN_SHARE_OF_ROWS * n_compared


def _get_marked_class(value: Any) -> Any:
    """Return the class that an object of 0 and 1 marks, such as "yes" in {"yes": 1, "no": 0}.

    A value that is not an object is returned unchanged. For an object with several marks, or none, the
    result is "".
    """
    if not isinstance(value, dict):
        return value
    marked_classes = [name for name, mark in value.items() if mark == 1]
    if len(marked_classes) != 1:
        return ""
    return marked_classes[0]
