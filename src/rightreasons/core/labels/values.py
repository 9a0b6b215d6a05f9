"""Values of label columns: what each distinct value is called, and the number that it is.

`parse_columns` reads columns that share their classes into `LabelValues`, on which the rules of
`new_classes.py` and `known_classes.py` find the class of each value.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.labels.names import (
    MAX_VALUE_CHARS,
    format_label,
    format_remedy,
    is_numbered,
    parse_label_number,
)
from rightreasons.core.ordering import LazyArrowColumn, factorize

NO_GOLD_LABEL = "-"
"""How SNLI marks an item whose annotators did not agree."""

OPPOSITE_OF_MARK = {"-1": "+1", NO_GOLD_LABEL: "+"}
"""Marks of an item without a label; each is a label itself if its opposite occurs."""

LABEL_SEPARATOR = re.compile(r"\s*[,;|]\s*")
"""Separator of several labels in one text."""

MULTI_LABEL_HINT = (
    "For items with several labels, audit each label with target=all, or a single label with "
    "label_column='{{ COLUMN | whether(\"LABEL\") }}'"
)
"""What a person can do about several labels per item."""

MULTI_LABEL_OPTIONS = ("target", "label_column")
"""The options in `MULTI_LABEL_HINT`."""

_MAX_NUMBER = 10**18
"""Numbers from here on belong to no class; those of 19 digits may not fit into int64."""

# Files have no numbers: "1", and "1.0" where a table once had a missing value, are whole numbers.
# "01" is a name.
_WHOLE_NUMBER = re.compile(r"(0|[1-9][0-9]{0,17})(?:\.0+)?")
# Numbers that no class has: negative, fractions, or of more digits.
_INVALID_NUMBER = re.compile(r"-[0-9]+|-?[0-9]*\.[0-9]+|[1-9][0-9]{18,}")


class LabelValue(NamedTuple):
    """A distinct value of a column of labels.

    Attributes:
        column: What the first column with this value is called in errors.
        value: The value as it is in the column.
        text: The value as a name, without spaces around it.
        number: The number that the value is; None unless it is whole and not negative.
        is_invalid: Whether the value is a number that no class has.
    """

    column: str
    value: Any
    text: str
    number: int | None = None
    is_invalid: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class ValueColumn:
    """A column of labels by its distinct values.

    Attributes:
        codes: (N,) position in `labels` of each row.
        labels: Distinct values, in the order of their first rows; None for a row without a label.
    """

    codes: NDArray[np.int64]
    labels: Mapping[Any, LabelValue | None]

    def find_row(self, value: Any) -> int:
        """Return the first row that holds a value."""
        code = list(self.labels).index(value)
        return int(np.argmax(self.codes == code))


@dataclasses.dataclass(frozen=True)
class LabelValues:
    """The distinct labels of columns that share their classes.

    Attributes:
        columns: The columns by what they are called in errors.
        label_by_text: The distinct labels by their names.
        first: The number of the first class, 0 or 1; None to find out.
        remedy: What a person can do about doubt; "" if nothing is known.
    """

    columns: Mapping[str, ValueColumn]
    label_by_text: Mapping[str, LabelValue]
    first: int | None
    remedy: str

    @property
    def source(self) -> str:
        """What the column of the first label is called."""
        return next(iter(self.label_by_text.values())).column

    @property
    def numbers(self) -> dict[str, int]:
        """The labels that are numbers, with their values."""
        numbers = {}
        for text, label in self.label_by_text.items():
            if label.number is not None:
                numbers[text] = label.number
        return numbers

    @property
    def words(self) -> list[str]:
        """The labels that are no numbers."""
        return [text for text, label in self.label_by_text.items() if label.number is None]

    def find_expressed_numbers(self) -> dict[str, int] | None:
        """Find the number of each label, which is or expresses one, such as 2 and "LABEL_2".

        Returns:
            Text of each label -> its number, first the labels that are numbers. None if a label
            expresses no number, or if a word such as "yes" expresses 0 or 1 next to other numbers.

        Example:
            >>> values = parse_columns({"x": ["LABEL_2", "0"]}, None, None, remedy="")
            >>> values.find_expressed_numbers()
            {'0': 0, 'LABEL_2': 2}
        """
        number_by_text = self.numbers
        has_binary_word = False
        for word in self.words:
            number = parse_label_number(word)
            if number is None:
                return None
            number_by_text[word] = number
            has_binary_word = has_binary_word or not is_numbered(word)
        # A word such as "yes" is class 1 only if there are no classes but 0 and 1.
        has_other_number = not {0, 1}.issuperset(number_by_text.values())
        if has_binary_word and has_other_number:
            return None
        return number_by_text

    def describe_row(self, label: LabelValue) -> str:
        """Return the first row with a label in words: "row 3 holds 'good'"."""
        row = self.columns[label.column].find_row(label.value)
        # Numbers are not quoted.
        text = label.text[:MAX_VALUE_CHARS]
        if label.number is None and not label.is_invalid:
            text = format_label(label.text)
        return f"row {row} holds {text}"

    def make_refusal(
        self, expected: str, words: Collection[str], problem: str, suggestion: str = ""
    ) -> OptionError:
        """Return the error for labels that cannot be classes, with advice for the user.

        If a label lists several labels, such as "joy;fear", the advice names the options that select
        one of them; otherwise, it is `remedy`.

        Args:
            expected: Description of the expected labels, after "Expected".
            words: The invalid labels.
            problem: Description of the labels that occur, after "but".
            suggestion: A closing sentence, unless a label lists several labels.
        """
        has_lists = any(len(LABEL_SEPARATOR.split(word)) > 1 for word in words)
        if has_lists:
            return OptionError(
                f"Expected {expected}, but {problem}. {MULTI_LABEL_HINT}.",
                option=MULTI_LABEL_OPTIONS,
            )
        return OptionError(
            f"Expected {expected}, but {problem}{format_remedy(self.remedy)}.{suggestion}"
        )


def parse_columns(
    columns: Mapping[str, Any],
    known_names: Collection[str] | None,
    first: int | None,
    remedy: str,
) -> LabelValues:
    """Parse columns of labels that share their classes, and collect their distinct labels.

    "-1" and "-" mark unlabeled items, unless they are names of classes.

    Args:
        columns: Description of each column in error messages -> its values.
        known_names: Names of the classes. If None, they are not known.
        first: Number of the first class, 0 or 1. If None, it is inferred later.
        remedy: Advice at the end of error messages about ambiguous labels.

    Raises:
        TypeError: If a value has a type that labels cannot have, or booleans are mixed with numbers.
        ValueError: If there are only two values, and one of them is "-1" or "-", which may be a label.
    """
    parsed_columns = {}
    label_by_text: dict[str, LabelValue] = {}
    for name, values in columns.items():
        parsed_columns[name] = _parse_column(values, name)
        for label in parsed_columns[name].labels.values():
            # Error messages name the first column with a label.
            if label is not None:
                label_by_text.setdefault(label.text, label)

    marks = []
    for mark in _find_marks(label_by_text, known_names):
        marks.append(label_by_text.pop(mark))
    label_values = LabelValues(parsed_columns, label_by_text, first, remedy)
    _check_marks(marks, label_values, has_known_names=known_names is not None)
    return label_values


def _find_marks(labels: Collection[str], known_names: Collection[str] | None) -> list[str]:
    """Find the labels "-1" and "-" that mark unlabeled items, rather than being labels themselves.

    Args:
        labels: The distinct labels as texts.
        known_names: Names of the classes. If None, "-1" is a label if "+1" occurs, and "-" is one if
            "+" occurs.
    """
    marks = []
    for mark, opposite in OPPOSITE_OF_MARK.items():
        if known_names is not None:
            is_label = mark in known_names
        else:
            is_label = opposite in labels
        if mark in labels and not is_label:
            marks.append(mark)
    return marks


def _check_marks(
    marks: Collection[LabelValue], values: LabelValues, *, has_known_names: bool
) -> None:
    """Refuse marks of unlabeled items that may be the second of two labels: -1 and 1, "-" and "x".

    Args:
        marks: The values that mark unlabeled items, "-1" or "-".
        values: The distinct labels without the marks.
        has_known_names: Whether the names of the classes are known.

    Raises:
        ValueError: If there is a single other label, so that the mark may be a label too.
    """
    # With several other labels, the marks are not ambiguous.
    if len(values.label_by_text) != 1:
        return
    text, label = next(iter(values.label_by_text.items()))
    for mark in marks:
        is_unnamed_hyphen = mark.text == NO_GOLD_LABEL and not has_known_names
        if label.number == 1 or is_unnamed_hyphen:
            raise ValueError(
                f"Expected at least two labels in {mark.column}, but the only values are "
                f"{format_label(text)} and {mark.text}, which marks an item without a label. If "
                f"{mark.text} is a label, rename it with `label_names`, as in "
                f"{mark.text}=0,{text}=1{format_remedy(values.remedy)}."
            )


def _parse_column(values: Any, name: str) -> ValueColumn:
    """Find the distinct values of a column of labels, and parse each of them once.

    Args:
        values: (N,) values: an array, a column of Arrow, or a list.
        name: Description of the column in error messages.

    Returns:
        The distinct labels, and the index of the label of each row.

    Raises:
        TypeError: If a value is neither a string nor a number, or booleans are mixed with numbers.
    """
    is_array = getattr(values, "ndim", 0) == 1 and values.dtype != object
    codes = None
    if is_array or isinstance(values, LazyArrowColumn):
        # To save time, only the distinct values are converted to Python values. `codes` has the
        # index of the value of each row.
        codes, plain_values = factorize(values)
    elif hasattr(values, "tolist"):
        plain_values = values.tolist()
    else:
        plain_values = list(values)
    plain_values = _normalize_values(plain_values)
    _check_types(plain_values, codes, name)

    # Different values of an array, such as None and NaN, may be equal after normalization.
    merged_codes, distinct_values = factorize(plain_values)
    if codes is not None:
        merged_codes = merged_codes[codes]
    labels = {value: parse_value(value, name) for value in distinct_values}
    return ValueColumn(merged_codes, labels)


def _normalize_values(values: list[Any]) -> list[Any]:
    """Replace numpy scalars by Python values, and NaN by None.

    Args:
        values: Values of any types. The list is not changed.
    """
    # The types are checked first, because a loop over millions of values is slow.
    types = set(map(type, values))
    if any(issubclass(value_type, np.generic) for value_type in types):
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        types = set(map(type, values))
    if float in types:
        # NaN is the only float that differs from itself.
        values = [None if value != value else value for value in values]
    return values


def _check_types(values: list[Any], codes: NDArray[np.int64] | None, name: str) -> None:
    """Check that labels are strings, numbers or booleans, and that booleans are not mixed with numbers.

    Args:
        values: The values of all rows, or only the distinct ones.
        codes: (N,) index into `values` of each row. If None, there is one value per row.
        name: Description of the column in the error message.

    Raises:
        TypeError: If a value is invalid; the message names its first row.
    """
    types = set(map(type, values))
    invalid_types = set()
    for value_type in types:
        if not issubclass(value_type, (str, int, float, type(None))):
            invalid_types.add(value_type)
    has_boolean_among_numbers = bool in types and not types.isdisjoint((int, float))
    if not invalid_types and not has_boolean_among_numbers:
        return

    refused_types = invalid_types or {bool}
    for position, value in enumerate(values):
        if type(value) not in refused_types:
            continue
        row = position
        if codes is not None:
            row = int(np.argmax(codes == position))
        problem = f"{value} among numbers"
        if invalid_types:
            problem = f"a {type(value).__name__}"
        raise TypeError(
            f"Expected labels of one kind in {name}, whole numbers from 0 or names, but row {row} "
            f"holds {problem}."
        )


def parse_value(value: Any, column: str) -> LabelValue | None:
    """Parse one label: a string, a number or a boolean.

    Args:
        value: The label, as it is in the column.
        column: Description of the column in error messages.

    Returns:
        The parsed label. None if the value is None or a blank string, which mark unlabeled items.

    Example:
        >>> parse_value(" 1.0", "the labels").number, parse_value(True, "the labels").text
        (1, 'true')
        >>> parse_value(-2.5, "the labels").is_invalid
        True
    """
    if value is None:
        return None
    # A boolean is an int in Python.
    if isinstance(value, bool):
        return LabelValue(column, value, str(value).lower())
    if isinstance(value, str):
        return _parse_text(value, column)
    if value == -1:
        return LabelValue(column, value, "-1")
    is_whole = value == value // 1
    if value < 0 or not is_whole or value >= _MAX_NUMBER:
        return LabelValue(column, value, format_label(value), is_invalid=True)
    number = int(value)
    return LabelValue(column, value, str(number), number)


def _parse_text(value: str, column: str) -> LabelValue | None:
    """Parse a label that is a string: a name, or a whole number such as "1" or "1.0".

    Args:
        value: The string.
        column: Description of the column in error messages.

    Returns:
        The parsed label. None if the string is blank, which marks an unlabeled item.
    """
    text = value.strip()
    if not text:
        return None
    # A table with a missing value turns whole numbers into floats, including the mark -1.
    if text == "-1.0":
        text = "-1"
    match = _WHOLE_NUMBER.fullmatch(text)
    if match:
        return LabelValue(column, value, text, int(match[1]))
    # The number -1 is valid, because it may mark an unlabeled item.
    is_invalid = text not in OPPOSITE_OF_MARK and _INVALID_NUMBER.fullmatch(text) is not None
    return LabelValue(column, value, text, is_invalid=is_invalid)
