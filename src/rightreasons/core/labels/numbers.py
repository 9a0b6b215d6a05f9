"""Numbers in names of classes: "3", LABEL_3 and "class 3", or "no" and "yes" for 0 and 1.

`parse_label_numbers` reads the numbers of a list of names, and `find_first_number` tells whether
numbers count from 0 or from 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

from rightreasons.core.labels.names import fold_name, format_remedy

# A checkpoint trained without names calls its classes LABEL_0, LABEL_1, …; a file may just number
# them. A number of 19 digits does not fit into int64.
_NUMBERED_NAME = re.compile(r"(?i)(?:(?:label|class)[\s_-]*)?(0|[1-9][0-9]{0,17})")

BOOLEANS = ("false", "true")
_BINARY_WORDS = (BOOLEANS, ("no", "yes"))
"""Pairs of words for 0 and 1."""

NUMBER_BY_WORD: dict[str, int] = {}
for _pair in _BINARY_WORDS:
    for _number, _word in enumerate(_pair):
        NUMBER_BY_WORD[_word] = _number
"""The number of each word for 0 or 1."""


def parse_label_number(name: str) -> int | None:
    """Return the number in a name; None if there is none.

    Example:
        >>> parse_label_number("LABEL_2"), parse_label_number("Yes"), parse_label_number("good")
        (2, 1, None)
    """
    match = _NUMBERED_NAME.fullmatch(name)
    if match:
        return int(match[1])
    return NUMBER_BY_WORD.get(fold_name(name))


def parse_label_numbers(names: Sequence[str]) -> list[int] | None:
    """Return the number that each class name expresses, such as 1 for "LABEL_1", "1" or "yes".

    Args:
        names: Names of the classes.

    Returns:
        One number per name. None if a name expresses no number, or two express the same. "yes" and
        "no" (or "true" and "false") are numbers only together.

    Example:
        >>> parse_label_numbers(["LABEL_1", "class 0"]), parse_label_numbers(["yes", "no"])
        ([1, 0], [1, 0])
        >>> parse_label_numbers(["positive", "negative"]) is None
        True
    """
    folded_names = list(map(fold_name, names))
    for pair in _BINARY_WORDS:
        # Both words have to occur: "no" alone may stand next to "maybe" in other data.
        if set(folded_names) == set(pair):
            return list(map(pair.index, folded_names))
    return parse_numbered_names(names)


def parse_numbered_names(names: Sequence[str]) -> list[int] | None:
    """Return the number of each name if all names are numbers, such as "3" or "LABEL_3".

    Unlike in `parse_label_numbers`, words such as "yes" are not numbers.

    Args:
        names: The names.

    Returns:
        The numbers. None if there are no names, a name is not a number, or two numbers are equal.
    """
    numbers = []
    for name in names:
        match = _NUMBERED_NAME.fullmatch(name.strip())
        if match:
            numbers.append(int(match[1]))
    # There are fewer distinct numbers than names if a name has no number, or two have the same.
    if not names or len(set(numbers)) < len(names):
        return None
    return numbers


def is_numbered(name: str) -> bool:
    """Return whether a name is a number, perhaps after "label" or "class"."""
    return _NUMBERED_NAME.fullmatch(name.strip()) is not None


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether all names are numbered, and no two are equal.

    Example:
        >>> are_numbers(["LABEL_0", "LABEL_1"]), are_numbers(["0", "1"]), are_numbers(["bad", "good"])
        (True, True, False)
    """
    return parse_numbered_names(names) is not None


def parse_words_next_to_numbers(
    words: Sequence[str], numbers: Mapping[str, int]
) -> dict[str, int] | None:
    """Return the number that each word expresses, in a column that also has numbers.

    Such a column has "true" in one row and 1 in another one, or "LABEL_2" and 2.

    Args:
        words: Distinct labels that are not numbers.
        numbers: Text of each label that is a number -> the number.

    Returns:
        Word -> number. None if a word does not express a number, or if a word such as "yes"
        expresses 0 or 1 although other numbers occur.

    Example:
        >>> parse_words_next_to_numbers(["LABEL_2"], {"0": 0})
        {'LABEL_2': 2}
        >>> parse_words_next_to_numbers(["yes"], {"2": 2}) is None
        True
    """
    number_by_word = {}
    for word in words:
        number = parse_label_number(word)
        if number is None:
            return None
        number_by_word[word] = number
    # A word such as "yes" is class 1 only if there are no classes but 0 and 1.
    folded_words = set(map(fold_name, words))
    has_binary_word = not folded_words.isdisjoint(NUMBER_BY_WORD)
    all_numbers = {*number_by_word.values(), *numbers.values()}
    has_other_number = not all_numbers <= {0, 1}
    if has_binary_word and has_other_number:
        return None
    return number_by_word


def find_first_number(numbers: Set[int], n_classes: int, first: int | None) -> int | None:
    """Infer whether the numbers of classes count from 0 or from 1.

    Args:
        numbers: The numbers that occur.
        n_classes: Number of classes.
        first: Number of the first class, if it is already known. None if it is not.

    Returns:
        Number of the first class, 0 or 1. None if it is ambiguous.

    Example:
        >>> find_first_number({0, 2}, 3, None), find_first_number({1, 2, 3}, 3, None)
        (0, 1)
        >>> find_first_number({1, 2}, 3, None) is None
        True
    """
    if first is not None:
        return first
    if not numbers or 0 in numbers:
        return 0
    # If the numbers counted from 0, the largest number K would not be a class.
    if numbers == set(range(1, n_classes + 1)):
        return 1
    return None


def describe_ambiguous_offset(numbers: Set[int], n_classes: int, remedy: str) -> str:
    """Return the end of an error message about numbers that may count from 0 or from 1.

    Args:
        numbers: The numbers that occur.
        n_classes: Number of classes.
        remedy: What a person can do; "" if nothing is known.

    Returns:
        Words to append to the sentence, and the remedy; "" if a number is beyond the classes, which is an error
        wherever numbers begin.
    """
    if max(numbers) > n_classes:
        return ""
    missing = "0" if min(numbers) == 1 else "0 or 1"
    return f", which may count from 0 or from 1, as there is no {missing}{format_remedy(remedy)}"
