"""Names of classes: their check, their folded form, their lookup, and the numbers that they express.

`check_label_names` parses a list of names, and `NameIndex.find` chooses how names are compared.
`parse_label_numbers` reads the numbers of names, such as 3 in "3", LABEL_3 and "class 3", or 0 and 1
in "no" and "yes". `find_first_number` infers whether numbers count from 0 or from 1.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

from rightreasons.core.errors import OptionError

BY_NAME = "by name"
BY_FOLDED_NAME = "by name, letter case aside"
BY_NUMBER = "by number"

MAX_VALUE_CHARS = 60
"""Number of characters of a value that a message shows."""

_MAX_DIGITS = 40
"""Number of digits of a number that a message shows."""

_SEPARATORS = re.compile(r"[\s_-]+")
# Characters that nobody sees, such as marks of the direction of a text.
_INVISIBLE_CHARS = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")

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


def fold_name(name: str) -> str:
    """Normalize a name for comparison without regard to letter case, spaces, hyphens and underscores.

    Each run of separators becomes one space. A name that consists of separators is returned as it
    is.

    Args:
        name: Name of a class or a column, as the user writes it.

    Example:
        >>> fold_name("Non-Hateful"), fold_name("--")
        ('non hateful', '--')
    """
    # One letter may have several codes, such as "é" and "e" with an accent.
    visible = _INVISIBLE_CHARS.sub("", unicodedata.normalize("NFKC", name))
    return _SEPARATORS.sub(" ", visible).strip().casefold() or name


def parse_names(names: Sequence[str], subject: str) -> tuple[str, ...]:
    """Check that names are an ordered collection of texts, and return them as a tuple.

    Args:
        names: The names.
        subject: What the names are, for errors.

    Raises:
        TypeError: If they are something else, such as a set or a single text.
    """
    # The order of a set means nothing, and a text is a list of letters.
    is_ordered = isinstance(names, Iterable) and not isinstance(names, (str, Mapping, Set))
    if is_ordered:
        texts = tuple(names)
        if all(isinstance(name, str) for name in texts):
            return texts
    raise TypeError(f"Expected {subject} to be a list of strings, but got {format_label(names)}.")


def check_label_names(names: Sequence[str], name: str = "label_names") -> tuple[str, ...]:
    """Check that names of classes are distinct strings, none of them empty.

    Args:
        names: The names.
        name: Name of the option with the names, for error messages.

    Returns:
        The names, as a tuple.

    Raises:
        TypeError: If `names` is not an ordered collection of strings.
        OptionError: If a name is empty, or occurs twice.

    Example:
        >>> check_label_names(["x", "x"])
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected distinct names in `label_names`, but 'x' comes again at \
position 1.
    """
    texts = parse_names(names, f"`{name}`")
    previous: set[str] = set()
    for position, text in enumerate(texts):
        if not text.strip():
            raise OptionError(
                f"Expected a name in each entry of `{name}`, but entry {position} is empty.",
                option=name,
            )
        if text in previous:
            raise OptionError(
                f"Expected distinct names in `{name}`, but {text!r} comes again at position "
                f"{position}.",
                option=name,
            )
        previous.add(text)
    return texts


@dataclasses.dataclass(frozen=True)
class NameIndex:
    """Classes by their names.

    Attributes:
        class_by_key: The position of each class by its name, folded if `is_folded`.
        is_folded: Whether names are compared by their folded form.
    """

    class_by_key: Mapping[str, int]
    is_folded: bool

    @classmethod
    def find(cls, names: Collection[str], classes: Sequence[str]) -> NameIndex | None:
        """Index classes by their names, so that each name of a list is found.

        If the names are not equal to classes, they are compared by their folded form, which ignores
        letter case, spaces, hyphens and underscores.

        Args:
            names: Distinct names to look up.
            classes: Names of the classes.

        Returns:
            An index of the classes. None if a name is not a class by either comparison, or if two
            names or two classes have the same folded form.

        Example:
            >>> NameIndex.find(["Good"], ["bad", "good"]).rule
            'by name, letter case aside'
            >>> NameIndex.find(["fine"], ["bad", "good"]) is None
            True
        """
        for is_folded in (False, True):
            class_by_key = {}
            for number, label in enumerate(classes):
                class_by_key[_make_key(label, is_folded)] = number
            keys = {_make_key(name, is_folded) for name in names}
            # If folding makes two classes or two names equal, the match would be ambiguous.
            is_distinct = len(class_by_key) == len(classes) and len(keys) == len(names)
            if is_distinct and class_by_key.keys() >= keys:
                return cls(class_by_key, is_folded)
        return None

    @property
    def rule(self) -> str:
        """The rule by which names are compared: `BY_NAME` or `BY_FOLDED_NAME`."""
        if self.is_folded:
            return BY_FOLDED_NAME
        return BY_NAME

    def get_class(self, name: str) -> int:
        """Return the position of the class of a name; -1 if it is no class."""
        return self.class_by_key.get(_make_key(name, self.is_folded), -1)


def _make_key(name: str, is_folded: bool) -> str:
    if is_folded:
        return fold_name(name)
    return name


def format_label(value: Any) -> str:
    """Format a label for an error message, shortened if it is long.

    Args:
        value: A string, which is quoted, or any other value.

    Example:
        >>> format_label("good"), format_label(10**400)
        ("'good'", 'a number of 1,329 bits')
    """
    # Python refuses to convert numbers of thousands of digits to strings.
    if isinstance(value, int) and abs(value) >= 10**_MAX_DIGITS:
        return f"a number of {value.bit_length():,} bits"
    is_text = isinstance(value, str)
    text: str = value
    if not is_text:
        text = repr(value)
    if len(text) > MAX_VALUE_CHARS:
        text = f"{text[:MAX_VALUE_CHARS]}…"
    # A string is quoted after it is shortened, so that the closing quote is kept.
    if is_text:
        return repr(text)
    return text


def format_remedy(remedy: str) -> str:
    """Return the sentence, without its full stop, that says what a person can do; "" if nothing is known."""
    return f". {remedy}" if remedy else ""


# --- Numbers in names


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
    distinct_names = set(folded_names)
    for pair in _BINARY_WORDS:
        # Both words have to occur: "no" alone may stand next to "maybe" in other data.
        if distinct_names == set(pair):
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
    n_distinct = len(set(numbers))
    if not names or n_distinct < len(names):
        return None
    return numbers


def is_numbered(name: str) -> bool:
    """Return whether a name is a number, perhaps after "label" or "class"."""
    match = _NUMBERED_NAME.fullmatch(name.strip())
    return match is not None


def are_numbers(names: Sequence[str]) -> bool:
    """Return whether all names are numbered, and no two are equal.

    Example:
        >>> are_numbers(["LABEL_0", "LABEL_1"]), are_numbers(["0", "1"]), are_numbers(["bad", "good"])
        (True, True, False)
    """
    return parse_numbered_names(names) is not None


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
    from_one = set(range(1, n_classes + 1))
    if numbers == from_one:
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
    doubt = f"which may count from 0 or from 1, as there is no {missing}"
    return f", {doubt}{format_remedy(remedy)}"
