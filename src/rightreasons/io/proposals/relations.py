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
    """Return the column of classes that a relation with the other columns marks as the labels.

    Args:
        contents: The contents of all columns.
        candidates: Columns of classes, in the order of the table.

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
    keys = drop_renamed_columns(
        contents, {name: list_keys(contents.get_cells(name)) for name in candidates}
    )
    if len(keys) == 1:
        (column,) = keys
        renamed = ", ".join(repr(name) for name in candidates if name != column)
        return DecidedLabel(column, f"{renamed} say the same")
    majority = find_majority_column(keys)
    if majority is not None:
        return DecidedLabel(majority, "it holds what most of the columns with its values say")
    # Votes may also be lists in one column, or counts in a column per class.
    return _find_label_by_lists(contents, keys) or _find_label_by_counts(contents, keys)


def list_keys(cells: Sequence[Any]) -> list[str]:
    """Return cells as they are compared, "" for empty ones."""
    keys = []
    for cell in cells:
        # NaN is not itself.
        is_missing = cell is None or cell != cell
        key = ""
        if not is_missing:
            key = make_key(cell)
        keys.append(key)
    return keys


# ------------------------------------------------------------------------ other names of a label


def drop_renamed_columns(contents: Contents, keys: Mapping[str, Keys]) -> dict[str, Keys]:
    """Return the columns, without those that name the classes of another one differently.

    Of these, words come before numbers and flags, and earlier columns before later ones.

    Args:
        contents: The contents of the columns.
        keys: Column -> its keys.
    """
    # Sorting keeps the order of the table among columns of one kind.
    words_first = sorted(keys, key=lambda name: contents[name].kind != "text")
    distinct: list[str] = []
    for name in words_first:
        column = keys[name]
        is_repeated = any(are_renamed(column, keys[previous]) for previous in distinct)
        if not is_repeated:
            distinct.append(name)
    # In the order of the table.
    distinct.sort(key=list(keys).index)
    return {name: keys[name] for name in distinct}


def are_renamed(keys: Keys, other_keys: Keys) -> bool:
    """Return whether each value of one column always goes with one value of the other.

    The same values in another order are opposites, and no other names.

    Example:
        >>> are_renamed(["a", "b", "a"], ["1", "0", "1"]), are_renamed(["a", "b", "a"], ["b", "a", "b"])
        (True, False)
    """
    values = set(keys)
    other_values = set(other_keys)
    if values & other_values:
        return list(keys) == list(other_keys)
    pairs = set(zip(keys, other_keys, strict=True))
    # As many pairs as values: each has one partner.
    sizes = {len(values), len(other_values), len(pairs)}
    return len(sizes) == 1


# ---------------------------------------------------------------------------------------- votes


def find_majority_column(keys: Mapping[str, Keys]) -> str | None:
    """Return the only column that holds what more than half of the others say, in every row with such a majority.

    Args:
        keys: Column -> its keys; `MIN_VOTERS` columns of the values of a column have to be there besides it.

    Returns:
        The column; None if there is none, or several.
    """
    winners = []
    for name, column in keys.items():
        # The votes are the other columns of the same classes.
        voters = []
        for voter, votes in keys.items():
            if voter != name and have_same_values(votes, column):
                voters.append(votes)
        if len(voters) < MIN_VOTERS:
            continue
        majorities = [find_majority(votes) for votes in zip(*voters, strict=True)]
        if _is_equal_where_known(column, majorities):
            winners.append(name)
    if len(winners) != 1:
        return None
    return winners[0]


def find_majority(votes: Sequence[str]) -> str:
    """Return what more than half of the votes say; "" for nothing.

    Example:
        >>> find_majority(["a", "a", "b"]), find_majority(["a", "b"])
        ('a', '')
    """
    counts = Counter(votes)
    value, count = counts.most_common(1)[0]
    is_majority = 2 * count > len(votes)
    return value if is_majority else ""


def _is_equal_where_known(column: Keys, winners: Keys) -> bool:
    """Return whether a column holds the winners in nearly all rows that have one."""
    n_known = 0
    n_equal = 0
    for value, winner in zip(column, winners, strict=True):
        # A tie is for a person to decide.
        if winner:
            n_known += 1
            n_equal += value == winner
    # Systems disagree with the labels more often than votes do.
    return n_known > 0 and n_equal >= MIN_SHARE_OF_ROWS * n_known


def _find_label_by_lists(contents: Contents, keys: Mapping[str, Keys]) -> DecidedLabel | None:
    """Return the only column that holds the majorities of a column of lists of votes."""
    for name in contents:
        if contents[name].kind != "list":
            continue
        majorities = []
        for cell in map(parse_cell, contents.get_cells(name)):
            # An empty list has no votes.
            votes = list(map(make_key, cell or [""]))
            majorities.append(find_majority(votes))
        matches = []
        for label, column in keys.items():
            if _is_equal_where_known(column, majorities):
                matches.append(label)
        if len(matches) == 1:
            reason = f"it holds what most votes in {name!r} say"
            return DecidedLabel(matches[0], reason)
    return None


def _find_label_by_counts(contents: Contents, keys: Mapping[str, Keys]) -> DecidedLabel | None:
    """Return the only column that the largest of some counts of votes decides."""
    for run, counts in list_vote_counts(contents):
        winners = _list_winners(run, counts)
        matches = []
        for name, column in keys.items():
            if name not in run and _is_decided(column, winners):
                matches.append(name)
        if len(matches) == 1:
            names = ", ".join(map(repr, run))
            reason = f"the largest of the counts {names} decides it"
            return DecidedLabel(matches[0], reason)
    return None


def _list_winners(names: Sequence[str], counts: NDArray[np.float64]) -> list[str]:
    """Return the name of the largest count of each row; "" for a tie."""
    winners = []
    for row in counts.tolist():
        largest = max(row)
        winner = ""
        # A tie decides nothing.
        if row.count(largest) == 1:
            # A column of class numbers has to share no value with the names.
            position = row.index(largest)
            winner = f"column {names[position]}"
        winners.append(winner)
    return winners


def _is_decided(column: Keys, winners: Keys) -> bool:
    """Return whether a column names the winner of each row, where there is one."""
    decided = []
    known_winners = []
    for value, winner in zip(column, winners, strict=True):
        if winner:
            decided.append(value)
            known_winners.append(winner)
    return are_renamed(decided, known_winners)


def list_vote_counts(contents: Contents) -> list[tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Return the runs of neighboring columns of whole numbers that add up to the number of votes in another column.

    Returns:
        The columns of each run, and (n, K) their numbers.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> rows = {"n": [3, 6] * 5, "a": [1, 6] * 5, "b": [2, 0] * 5}
        >>> [run for run, _ in list_vote_counts(describe_contents(rows))]
        [('a', 'b')]
    """
    names = []
    columns = []
    for name in contents:
        numbers = _get_counts(contents[name])
        # Fractions and negative numbers count nothing.
        if numbers is not None:
            names.append(name)
            columns.append(numbers)
    n_columns = len(names)
    if not 0 < n_columns <= MAX_COUNT_COLUMNS:
        return []
    table = np.column_stack(columns)
    runs = []
    borders = range(n_columns + 1)
    for start, stop in itertools.combinations(borders, 2):
        # One count is no sum.
        if stop - start < 2:
            continue
        counts = table[:, start:stop]
        remaining = np.delete(table, np.s_[start:stop], axis=1)
        is_total = remaining == counts.sum(axis=1, keepdims=True)
        if is_total.all(axis=0).any():
            runs.append((tuple(names[start:stop]), counts))
    return runs


def _get_counts(content: Content) -> NDArray[np.float64] | None:
    """Return the numbers of a column if they may count votes: whole ones from 0; None otherwise."""
    numbers = content.numbers
    if numbers is None or np.isnan(numbers).any():
        return None
    if numbers.min() < 0:
        return None
    is_whole = (numbers % 1 == 0).all()
    return numbers if is_whole else None


# -------------------------------------------------------------------------------------- answers


def begins_with_class(texts: Sequence[Any], classes: Sequence[Any]) -> bool:
    """Return whether the texts begin with the class of their row, as a model's answers do.

    Args:
        texts: Cells of texts.
        classes: Cells of classes: words, or objects that mark one class.

    Example:
        >>> begins_with_class(["Yes. It rains.", "No, never."], ["yes", "no"])
        True
    """
    n_words = 0
    n_equal = 0
    for text, cell in zip(texts, classes, strict=True):
        value = parse_cell(cell)
        name = make_key(_get_marked_class(value))
        # A number begins many texts by accident.
        is_word = name[:1].isalpha()
        if is_word and isinstance(text, str):
            text_key = make_key(text)
            n_words += 1
            n_equal += text_key.startswith(name)
    has_words = 2 * n_words > len(texts)
    return has_words and n_equal >= MIN_SHARE_OF_ROWS * n_words


def _get_marked_class(value: Any) -> Any:
    """Return the only class that an object of 0 and 1 marks; other values as they are."""
    if not isinstance(value, dict):
        return value
    marked = [name for name, mark in value.items() if mark == 1]
    # Several classes, or none, are no class.
    if len(marked) != 1:
        return ""
    return marked[0]
