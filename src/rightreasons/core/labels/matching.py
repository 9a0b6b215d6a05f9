"""Match of two lists of class names: the labels of some data, and the classes of a model.

`match_labels` is the entry point; `match_columns` orders columns that are named by class.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.names import (
    BY_NUMBER,
    NameIndex,
    describe_ambiguous_offset,
    find_first_number,
    fold_name,
    is_numbered,
    parse_label_numbers,
    parse_names,
    parse_numbered_names,
)
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_list

_MAX_PAIRS = 10
"""Number of pairs in the description of a match."""

_MAX_RENAMINGS = 6
"""Number of names in the suggestion of a renaming."""


@dataclasses.dataclass(frozen=True, eq=False)
class LabelMatch(Result):
    """The class of each name of a list.

    Attributes:
        class_of: (L,) class of each name; -1 for a name that does not occur and is no class.
        how: `BY_NAME`, `BY_FOLDED_NAME` or `BY_NUMBER`.
        reason: What a match by number rests on; "" if the names are the same.
        pairs: The names that occur anywhere and have a class, each with the name of its class.
    """

    class_of: NDArray[np.int64]
    how: str
    reason: str
    pairs: tuple[tuple[str, str], ...]

    @property
    def in_words(self) -> str:
        """The match for a person: "by name: bad is negative, good is positive"; ten pairs at most."""
        rule = f"{self.how}, as {self.reason}" if self.reason else self.how
        return describe_match(rule, self.pairs)


def describe_match(rule: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Return a match of names with classes in words, with ten pairs at most.

    Args:
        rule: Rule of the match, such as "by number".
        pairs: Each name with the name of its class.

    Example:
        >>> describe_match("by number", [("0", "bad"), ("1", "good")])
        'by number: 0 is bad, 1 is good'
    """
    if not pairs:
        return rule
    descriptions = [f"{name} is {label}" for name, label in pairs]
    # If all names equal their classes, "a is a" would be of no use.
    if all(name == label for name, label in pairs):
        descriptions = [name for name, _ in pairs]
    text = f"{rule}: {', '.join(descriptions[:_MAX_PAIRS])}"
    if len(pairs) > _MAX_PAIRS:
        text += f" and {len(pairs) - _MAX_PAIRS:,} more"
    return text


@dataclasses.dataclass(frozen=True)
class MatchTerms:
    """The words of an error about a match.

    Attributes:
        source: What the names belong to.
        target: What the classes belong to.
        remedy: What a person can do if it is in doubt whether numbers count from 0 or from 1; "" if
            nothing is known.
        rename: The option that takes a class for each name, as "old=new,…"; "" if there is none.
    """

    source: str = "the data"
    target: str = "the model"
    remedy: str = ""
    rename: str = ""


@dataclasses.dataclass(frozen=True)
class _Matching:
    """Two lists of names to match.

    Attributes:
        names: L names.
        classes: K names of classes.
        used: Sorted positions of the names that occur, each of which needs a class.
        used_anywhere: Sorted positions of the names that occur anywhere.
        first_number: The number of the first class, 0 or 1; None to find out.
        terms: Words for errors.
    """

    names: tuple[str, ...]
    classes: tuple[str, ...]
    used: list[int]
    used_anywhere: list[int]
    first_number: int | None
    terms: MatchTerms

    def get_names(self, positions: Iterable[int]) -> list[str]:
        """Return the names at some positions."""
        return [self.names[position] for position in positions]

    def make_error(self, problem: str = "") -> OptionError:
        """Return the error for names that cannot be matched with classes; the message lists both.

        Args:
            problem: End of the sentence. If empty, the sentence ends with the advice to rename the
                labels, provided that `terms.rename` is an option that does so.
        """
        terms = self.terms
        used_names = self.get_names(self.used)
        if terms.rename and used_names and not problem:
            advice = "Rename"
            # More labels than classes can't be renamed one by one.
            if len(used_names) > len(self.classes):
                advice = "Leave out the rows with other labels, or rename"
            renaming = describe_renaming(used_names, self.classes)
            example = f"{terms.rename}='{renaming}'"
            problem = f". {advice} the labels, as in {example}"
        return OptionError(
            f"Expected the labels of {terms.source} to be among those of {terms.target} "
            f"({format_list(self.classes)}), but they are {format_list(used_names)}{problem}.",
            option=terms.rename or (),
        )


def match_labels(
    names: Sequence[str],
    classes: Sequence[str],
    *,
    used: Iterable[int] | None = None,
    used_anywhere: Iterable[int] | None = None,
    first: int | None = None,
    terms: MatchTerms = MatchTerms(),
) -> LabelMatch:
    """Find the class of each name: by name, otherwise by number if one side has no names.

    1. By name: each name that occurs is one of the classes.
    2. By name, letter case aside: as before, but ignoring case, spaces, hyphens and underscores,
       unless this makes two names or two classes equal.
    3. By number, if one side only numbers its labels ("0", "1", …, or "LABEL_0", "LABEL_1", …).
       Numbers count from 0 if 0 occurs, and from 1 if 1 to K all occur, where K is the number of
       classes. Otherwise, the first number is ambiguous unless it is given as `first`. Words are
       matched with numbered classes by position, if there are as many words as classes.

    Args:
        names: L names, such as those of a data set's labels.
        classes: K names, such as those of a model's classes.
        used: Positions of the names that occur and therefore need a class. If None, all names occur.
        used_anywhere: Positions of the names that occur in any split; these show whether numbers
            count from 0 or from 1. If None, they are the positions in `used`.
        first: Number of the first class, 0 or 1, if the names are numbers. If None, it is inferred.
        terms: Descriptions of the names and the classes, and advice for the user, for error messages.

    Returns:
        The class of each name, and the rule by which it was found.

    Raises:
        TypeError: If a name is not a string.
        ValueError: If a name has no class, or the match is ambiguous; the message lists both sides.

    Example:
        >>> match_labels(["Good", "bad"], ["bad", "good"]).class_of
        array([1, 0])
        >>> match_labels(["bad", "good"], ["LABEL_0", "LABEL_1"]).reason
        'the model only numbers its classes (labels in alphabetical order)'
        >>> match_labels(["1", "2"], ["bad", "good"]).in_words
        'by number, as the data counts from 1: 1 is bad, 2 is good'
        >>> match_labels(["joy", "anger"], ["bad", "good"])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected ... among those of ... (bad, good), but they are joy, anger.
    """
    names = parse_names(names, f"the labels of {terms.source}")
    classes = parse_names(classes, f"the classes of {terms.target}")
    positions: Iterable[int] = range(len(names))
    if used is not None:
        positions = map(int, used)
    used_positions = set(positions)
    all_positions = used_positions
    if used_anywhere is not None:
        all_positions = used_positions.union(map(int, used_anywhere))
    matching = _Matching(
        names=names,
        classes=classes,
        used=sorted(used_positions),
        used_anywhere=sorted(all_positions),
        first_number=first,
        terms=terms,
    )
    index = NameIndex.find(matching.get_names(matching.used), classes)
    if index is not None:
        class_of = np.array(list(map(index.get_class, names)), dtype=np.int64)
        rule = index.rule
        reason = ""
    else:
        class_of, reason = _match_by_number(matching)
        rule = BY_NUMBER
    # The description of the match for the user includes labels that only occur in another split.
    pairs = []
    for position in matching.used_anywhere:
        number = class_of[position]
        if number >= 0:
            pairs.append((names[position], classes[number]))
    return LabelMatch(class_of, rule, reason, tuple(pairs))


def _match_by_number(matching: _Matching) -> tuple[NDArray[np.int64], str]:
    """Match names with classes by their numbers, or words with numbered classes by position.

    Args:
        matching: The L names, the classes, and which names occur.

    Returns:
        (L,) class of each name, -1 for a name without a class, and the reason for the match in words.

    Raises:
        OptionError: If neither side only numbers its labels, or the match is ambiguous.
    """
    names = matching.names
    classes = matching.classes
    # The number of each name and of each class; None if one of them is not a number.
    name_numbers = parse_numbered_names(matching.get_names(matching.used_anywhere))
    class_numbers = parse_label_numbers(classes)

    # The classes must be numbered without gaps, from 0 or from 1. Other numbers may be ids of
    # anything.
    sorted_numbers = sorted(class_numbers or ())
    from_zero = list(range(len(classes)))
    from_one = list(range(1, len(classes) + 1))
    is_consecutive = class_numbers is not None and sorted_numbers in (from_zero, from_one)
    if name_numbers is not None and (class_numbers is None or is_consecutive):
        class_by_number = {}
        # Classes with names are numbered by position.
        for position, number in enumerate(class_numbers or range(len(classes))):
            class_by_number[number] = position
        return _match_numbers(matching, name_numbers, class_by_number)

    # Words are matched with numbered classes by position, because training scripts number the
    # sorted words. Classes such as "no" and "yes" express numbers, but are words themselves.
    are_plain_numbers = class_numbers == parse_numbered_names(classes)
    is_ordered = is_consecutive and class_numbers == sorted_numbers and are_plain_numbers
    has_numbers = any(map(is_numbered, names))
    if is_ordered and len(names) == len(classes) and not has_numbers:
        order = f"the order of {matching.terms.source}"
        if list(names) == sorted(names):
            order = "alphabetical order"
        reason = f"{matching.terms.target} only numbers its classes (labels in {order})"
        return np.arange(len(names), dtype=np.int64), reason
    raise matching.make_error()


def _match_numbers(
    matching: _Matching, numbers: Sequence[int], class_by_number: dict[int, int]
) -> tuple[NDArray[np.int64], str]:
    """Match names that are numbers with numbered classes; both may count from 0 or from 1.

    Args:
        matching: The L names, the classes, and which names occur.
        numbers: Number of each name in `matching.used_anywhere`.
        class_by_number: Number of each class -> its position; classes with names are numbered from 0.

    Returns:
        (L,) class of each name, -1 for a name without a class, and the reason for the match in words.

    Raises:
        OptionError: If it is ambiguous whether the names count from 0 or from 1, or a name that
            occurs has no class.
    """
    n_classes = len(matching.classes)
    start = find_first_number(set(numbers), n_classes, matching.first_number)
    # The names and the classes may count from different numbers.
    shift = min(class_by_number) - (start or 0)
    class_of = np.full(len(matching.names), -1, dtype=np.int64)
    for position, number in zip(matching.used_anywhere, numbers, strict=True):
        class_of[position] = class_by_number.get(number + shift, -1)
    if start is None:
        doubt = describe_ambiguous_offset(set(numbers), n_classes, matching.terms.remedy)
        raise matching.make_error(doubt)
    is_complete = (class_of[matching.used] >= 0).all()
    if not is_complete:
        raise matching.make_error()
    rule = "counts from 1" if start else "numbers its labels"
    return class_of, f"{matching.terms.source} {rule}"


def match_columns(
    columns: Sequence[str], classes: Sequence[str], *, source: str, target: str
) -> NDArray[np.int64]:
    """Find the column of each class by `match_labels`.

    If the names of the columns do not match, their common beginning, such as "votes_", is removed.

    Args:
        columns: K names of columns.
        classes: K names of classes.
        source: Description of the table with the columns, for error messages.
        target: Description of the model with the classes, for error messages.

    Returns:
        (K,) position of the column of each class.

    Raises:
        ValueError: If a column does not match a class, or a class has no column; the message lists
            both.

    Example:
        >>> match_columns(["pos", "neg"], ["neg", "pos"], source="the table", target="the model")
        array([1, 0])
    """
    terms = MatchTerms(source, target)
    try:
        match = match_labels(columns, classes, terms=terms)
    except ValueError:
        names = _remove_common_beginning(columns)
        if set(names) != set(classes):
            raise
        match = match_labels(names, classes, terms=terms)
    if sorted(match.class_of) != list(range(len(classes))):
        raise ValueError(
            f"Expected a column for each class of {target} ({format_list(classes)}), but {source} "
            f"are {format_list(columns)}."
        )
    # `class_of` has the class of each column. The inverse of this permutation has the column of each
    # class.
    return np.argsort(match.class_of)


def _remove_common_beginning(columns: Sequence[str]) -> list[str]:
    """Return names without what they all begin with, up to its last separator.

    Args:
        columns: The names.

    Example:
        >>> _remove_common_beginning(["votes_may", "votes_must"])
        ['may', 'must']
    """
    # What the first and the last name in alphabetical order share, all names between them share.
    smallest = min(columns)
    largest = max(columns)
    length = 0
    for index, (letter, other_letter) in enumerate(zip(smallest, largest, strict=False)):
        if letter != other_letter:
            break
        # Letters after the last separator, such as the "m", belong to the names.
        if not letter.isalnum():
            length = index + 1
    return [column[length:] for column in columns]


def describe_renaming(names: Sequence[str], classes: Sequence[str]) -> str:
    """Return an example of how to rename labels to classes, as the value of an option.

    A label that clearly abbreviates a class is renamed to it; other labels are renamed to "?".

    Args:
        names: The labels.
        classes: Names of the classes.

    Example:
        >>> describe_renaming(["c", "e", "other"], ["entailment", "neutral", "contradiction"])
        'c=contradiction,e=entailment,other=?'
    """
    pairs = []
    for name in names[:_MAX_RENAMINGS]:
        label = _find_abbreviated_class(name, names, classes)
        if label is None:
            label = "?"
        pairs.append(f"{name}={label}")
    if len(names) > _MAX_RENAMINGS:
        pairs.append("…")
    return ",".join(pairs)


def _find_abbreviated_class(name: str, names: Sequence[str], classes: Sequence[str]) -> str | None:
    """Find the class that a label abbreviates, such as "entailment" for "e".

    Args:
        name: The label.
        names: All labels, including this one.
        classes: Names of the classes.

    Returns:
        The only class that begins with the label. None if there are several or none, or if the class
        begins with another label too.
    """
    candidates = [label for label in classes if _is_abbreviation(name, label)]
    if len(candidates) != 1:
        return None
    candidate = candidates[0]
    abbreviations = [label for label in names if _is_abbreviation(label, candidate)]
    if len(abbreviations) != 1:
        return None
    return candidate


def _is_abbreviation(name: str, label: str) -> bool:
    return fold_name(label).startswith(fold_name(name))


def describe_unlabeled(names: Sequence[str]) -> str:
    """Return a warning about classes that no item of the data has as its label.

    Args:
        names: Names of these classes.

    Returns:
        A sentence; "" if there are no such classes.
    """
    if not names:
        return ""
    return f"The data has no label for {format_list(names)}: check the order of the classes."
