"""Relations between columns that say what they are, whatever their headings say.

A column that holds what most annotators say is the label; of two columns that name the same classes differently, one
is enough; a text that begins with a class in every row is an answer, and not what a model reads. `find_decided_label`
is the entry point for labels, `begins_with_class` the one for texts.
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
"""Share of rows in which a relation has to hold: a few rows of most files are broken."""

MIN_VOTERS = 3
"""Fewer annotators have no majority, and one of them may be meant."""

MAX_COUNT_COLUMNS = 30
"""A table of more columns of whole numbers is one of features, among which sums occur by accident."""

Keys = Sequence[str]
"""The cells of a column as they are compared; "" for empty cells."""


@dataclasses.dataclass(frozen=True)
class DecidedLabel:
    """The label among several columns of classes.

    Attributes:
        column: The column.
        reason: A phrase that says why.
    """

    column: str
    reason: str


def find_decided_label(contents: Contents, candidates: Sequence[str]) -> DecidedLabel | None:
    """Return the column of classes that its relation to the other columns shows to be the labels.

    The other columns are renamings of it, or votes of annotators whose majority it holds.

    Args:
        contents: Summaries of the cells of all columns.
        candidates: Columns of classes, in the order of the table.

    Returns:
        The column and the reason; None if no relation decides.

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
        return DecidedLabel(column, f"{names} say the same")
    majority = find_majority_column(distinct)
    if majority is not None:
        return DecidedLabel(majority, "it holds what most of the columns with its values say")
    # Votes may also be lists in one column, or counts in a column per class.
    decided = _find_label_by_lists(contents, distinct)
    if decided is not None:
        return decided
    return _find_label_by_counts(contents, distinct)


def list_keys(cells: Sequence[Any]) -> list[str]:
    """Return cells in the form in which they are compared, "" for empty ones; see `make_key`."""
    keys = []
    for cell in cells:
        # NaN differs from itself.
        is_missing = cell is None or cell != cell
        if is_missing:
            keys.append("")
        else:
            keys.append(make_key(cell))
    return keys


# ------------------------------------------------------------------------ other names of a label


def drop_renamed_columns(contents: Contents, keys: Mapping[str, Keys]) -> dict[str, Keys]:
    """Drop the columns that repeat the classes of another column under other names.

    Of "positive, negative" and "1, 0", the column of words is kept; of two columns of words, the
    earlier one.

    Args:
        contents: Summaries of the cells of each column.
        keys: Column -> the key of each row.

    Returns:
        The remaining columns with their keys, in the order of the table.
    """
    # Sorting is stable: columns of one kind stay in the order of the table.
    words_first = sorted(keys, key=lambda name: contents[name].kind != "text")
    distinct: list[str] = []
    for name in words_first:
        is_repeated = any(are_renamed(keys[name], keys[previous]) for previous in distinct)
        if not is_repeated:
            distinct.append(name)
    return {name: column for name, column in keys.items() if name in distinct}


def are_renamed(keys: Keys, other_keys: Keys) -> bool:
    """Return whether two columns name the same classes: each value always occurs with one other value.

    Columns that share values have to be equal: "yes" where the other says "no" is the opposite.

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
    """Return the only column that holds the majority vote of the other columns in nearly every row.

    The votes on a column are all columns that share its values, at least `MIN_VOTERS`.

    Args:
        keys: Column -> the key of each row.

    Returns:
        The column; None if there is none, or several.
    """
    matches = []
    for name, column in keys.items():
        voters = []
        for voter, votes in keys.items():
            if voter != name and have_same_values(votes, column):
                voters.append(votes)
        if len(voters) < MIN_VOTERS:
            continue
        majorities = list(map(find_majority, zip(*voters, strict=True)))
        if _is_equal_where_known(column, majorities):
            matches.append(name)
    if len(matches) != 1:
        return None
    return matches[0]


def find_majority(votes: Sequence[str]) -> str:
    """Return the vote that more than half of the voters gave; "" if there is none.

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
        column: The key of each row.
        winners: The winner of each row; "" for a tie, which is skipped.
    """
    n_known = 0
    n_equal = 0
    for value, winner in zip(column, winners, strict=True):
        if winner:
            n_known += 1
            n_equal += value == winner
    # The limit is high because systems agree with the labels in many rows as well.
    return n_known > 0 and n_equal >= MIN_SHARE_OF_ROWS * n_known


def _find_label_by_lists(contents: Contents, keys: Mapping[str, Keys]) -> DecidedLabel | None:
    """Return the only column that holds the majorities of lists of votes, as in ["a", "a", "b"].

    Args:
        contents: Summaries of the cells of each column, those of lists included.
        keys: Column of classes -> the key of each row.
    """
    for list_column in contents:
        if contents[list_column].kind != "list":
            continue
        majorities = []
        for cell in contents.get_cells(list_column):
            # An empty list has no votes, and so no majority.
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
    """Return the only column whose value follows from the largest of some vote counts.

    For example, "label" next to the columns "n_yes" and "n_no", which count the votes.

    Args:
        contents: Summaries of the cells of each column, those of counts included.
        keys: Column of classes -> the key of each row.
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
    """Return the column with the largest count of each row; "" for a tie.

    Args:
        names: K columns of counts.
        counts: (n, K) votes for each class.

    Returns:
        "column NAME" per row, so that no winner equals a class.
    """
    winners = []
    for row in counts.tolist():
        largest = max(row)
        if row.count(largest) > 1:
            winners.append("")
        else:
            # Classes may be numbers, and so may the names of columns: the prefix distinguishes them.
            position = row.index(largest)
            winners.append(f"column {names[position]}")
    return winners


def _is_decided(column: Keys, winners: Keys) -> bool:
    """Return whether each winner always occurs with the same class, in rows without a tie.

    Args:
        column: The class of each row.
        winners: The winner of each row; "" for a tie.
    """
    decided_classes = []
    known_winners = []
    for value, winner in zip(column, winners, strict=True):
        if winner:
            decided_classes.append(value)
            known_winners.append(winner)
    return are_renamed(decided_classes, known_winners)


def list_vote_counts(contents: Contents) -> list[tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Return the groups of neighboring columns that count votes: their sum is another column.

    Args:
        contents: Summaries of the cells of each column.

    Returns:
        The columns of each group, and (n, K) their counts.

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
        # A single count is no sum.
        if stop - start < 2:
            continue
        counts = table[:, start:stop]
        totals = counts.sum(axis=1, keepdims=True)
        other_columns = np.delete(table, np.s_[start:stop], axis=1)
        # (n, other columns) whether a cell equals the sum of its row.
        is_total = other_columns == totals
        if is_total.all(axis=0).any():
            groups.append((tuple(names[start:stop]), counts))
    return groups


def _get_counts(content: Content) -> NDArray[np.float64] | None:
    """Return (n,) the numbers of a column if they may count votes; None otherwise.

    Counts are whole numbers from 0, without empty cells.
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
        # A number begins many texts by accident.
        is_word = class_key[:1].isalpha()
        if is_word and isinstance(text, str):
            n_compared += 1
            n_equal += make_key(text).startswith(class_key)
    has_words = 2 * n_compared > len(texts)
    return has_words and n_equal >= MIN_SHARE_OF_ROWS * n_compared


def _get_marked_class(value: Any) -> Any:
    """Return the class that an object of 0 and 1 marks, as "yes" of {"yes": 1, "no": 0}.

    Other values are returned as they are; an object with several marks, or none, has the class "".
    """
    if not isinstance(value, dict):
        return value
    marked = [name for name, mark in value.items() if mark == 1]
    if len(marked) != 1:
        return ""
    return marked[0]
