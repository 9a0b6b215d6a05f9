"""The right choice of every item, by its mark, its number, its letter or its text.

`read_right_choices` reads a column in the one way that all of its values can be read.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import datasets

from rightreasons.core.labels.names import fold_name
from rightreasons.core.labels.numbers import describe_ambiguous_offset, find_first_number
from rightreasons.core.sentences import format_list, format_value
from rightreasons.io import columns, label_columns
from rightreasons.io.choices.cells import Choices
from rightreasons.io.choices.forms import ChoiceForm

NO_LABEL = -1
"""Label of an item without a right choice."""

MAX_VALUE_CHARACTERS = 40
"""Length of a value in errors."""

# -1 and a hyphen mark an item without a right choice, unless a choice has that name.
_MISSING_MARKS = ("-1", "-1.0", "-")
_WHOLE_NUMBER = re.compile(r"\s*([0-9]{1,18})(?:\.0+)?\s*")

Positions = list[int | None]
"""For each labeled item the position of the right choice; None if a value names no choice."""


def read_right_choices(
    data: datasets.Dataset, items: Sequence[Choices], form: ChoiceForm, source_name: str
) -> list[int]:
    """Return the position of the right choice of every item, -1 for none.

    The column may hold names, numbers, letters or texts of the choices, the same in all rows.

    Args:
        data: The table.
        items: The choices of every row.
        form: The columns, whose `label` is the one to read.
        source_name: What the table is called in errors.

    Raises:
        ValueError: If the values name no choices, or if they can be read in two ways that differ.
    """
    values = label_columns.get_labels(data, str(form.label), source_name)
    if not isinstance(values, label_columns.NamedLabels):
        return _read_values(values, items, form, source_name)
    # The class names of a ClassLabel are read like texts.
    named_form = dataclasses.replace(form, numbers=frozenset(list_numbers(data, form)))
    try:
        return _read_values(values, items, named_form, source_name)
    except ValueError:
        # If the class names are no choices, the class numbers are positions. This needs as many
        # classes as each item has choices.
        choice_counts = {len(choices.texts) for choices in items}
        if choice_counts != {len(values.names)}:
            raise
        return _fill_missing(values.numbers)


def list_numbers(data: datasets.Dataset, form: ChoiceForm) -> set[int]:
    """Return the whole numbers among the values of the column of right choices.

    Those of all splits together show whether choices are counted from 0 or from 1.

    Args:
        data: The table.
        form: The columns, whose `label` is the one to read.

    Returns:
        The numbers; for a ClassLabel, the numbers among its class names.
    """
    if form.label is None:
        return set()
    feature = data.features[form.label]
    if isinstance(feature, datasets.ClassLabel):
        return _parse_numbers(feature.names)
    return _parse_numbers(columns.get_values(data, form.label))


def parse_whole_number(value: Any) -> int | None:
    """Return a value as a whole number from 0: 2 for "2.0"; None for any other value.

    Example:
        >>> parse_whole_number("2.0"), parse_whole_number(1.0)
        (2, 1)
        >>> parse_whole_number("-1"), parse_whole_number("B")
        (None, None)
    """
    if isinstance(value, str):
        match = _WHOLE_NUMBER.fullmatch(value)
        return None if match is None else int(match[1])
    number = _simplify(value)
    # True is 1 in Python, but no number of a choice.
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return number if number >= 0 else None


def _parse_numbers(values: Sequence[Any]) -> set[int]:
    # Lists are no numbers, and cannot be in a set.
    numbers = set(map(parse_whole_number, values))
    # None represents values that are no numbers.
    return {number for number in numbers if number is not None}


def _simplify(value: Any) -> Any:
    """Return a whole float as a whole number, which a column with missing values makes it."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _fill_missing(positions: Iterable[int | None]) -> list[int]:
    return [NO_LABEL if position is None else position for position in positions]


# ------------------------------------------------------------------------------- readings


def _read_values(
    values: columns.Column, items: Sequence[Choices], form: ChoiceForm, source_name: str
) -> list[int]:
    """Return the position of the right choice of every item, by the one way that reads all values.

    The ways are the names of the choices in the data, their numbers, their letters and their texts.

    Args:
        values: (N,) cells of the column of right choices.
        items: The choices of the N rows.
        form: The columns, and what is known about numbers.
        source_name: What the table is called, for errors.

    Raises:
        ValueError: If no way reads all values, if two ways disagree, or if nothing shows whether
            numbers count from 0 or from 1.
    """
    rows = []
    labeled_values = []
    labeled_items = []
    for row, value in enumerate(values):
        if not _is_missing(value, items[row]):
            rows.append(row)
            labeled_values.append(value)
            labeled_items.append(items[row])
    # The numbers of other splits count as well.
    numbers = _parse_numbers(labeled_values) | (form.numbers or set())
    n_choices = max(len(choices.texts) for choices in items)
    first_number = _find_first_number(form, numbers, n_choices)
    positions_by_way = _read_in_all_ways(labeled_values, labeled_items, first_number or 0)

    column_name = f"the column {form.label!r} of {source_name}"
    complete = {}
    for way, positions in positions_by_way.items():
        if None not in positions:
            complete[way] = positions
    if not complete:
        raise _make_unread_error(rows, labeled_values, positions_by_way, column_name)
    # The user says that these are numbers, although they may be texts of choices as well.
    if form.is_numbered and "number" in complete:
        complete = {"number": complete["number"]}
    # The ways are in the order of preference.
    way = next(iter(complete))
    if way == "number" and first_number is None and rows:
        doubt = describe_ambiguous_offset(numbers, n_choices, "Set `first_label` to 0 or 1")
        raise ValueError(
            f"Expected numbers of choices in {column_name}, but got "
            f"{format_list(sorted(numbers))}{doubt}."
        )
    # A mark is the choice's own name, whatever else it may be read as.
    if way != "mark":
        _check_one_meaning(rows, labeled_values, complete, column_name)
    position_by_row = dict(zip(rows, complete[way], strict=True))
    positions_of_rows = map(position_by_row.get, range(len(values)))
    return _fill_missing(positions_of_rows)


def _read_in_all_ways(
    values: Sequence[Any], items: Sequence[Choices], first_number: int
) -> dict[str, Positions]:
    """Return the position of the choice that each value names, for each way to read values.

    Args:
        values: The values of the labeled rows.
        items: The choices of these rows.
        first_number: The number of the first choice.

    Returns:
        Way, such as "letter" -> the position for each value; None if the way cannot read it.
    """
    positions_by_way: dict[str, Positions] = {way: [] for way in _WAYS}
    for value, choices in zip(values, items, strict=True):
        for way, find_position in _WAYS.items():
            position = find_position(value, choices, first_number)
            positions_by_way[way].append(position)
    return positions_by_way


def _is_missing(value: Any, choices: Choices) -> bool:
    """Return whether a value marks an item without a right choice: None, NaN, "", -1 or "-".

    Args:
        value: The cell.
        choices: The choices of the item, of which one may be called "-1" or "-".
    """
    if not isinstance(value, str):
        # NaN differs from itself.
        return value is None or value == -1 or value != value
    text = value.strip()
    if not text:
        return True
    return text in _MISSING_MARKS and text not in (*choices.texts, *choices.marks)


def _find_first_number(form: ChoiceForm, numbers: set[int], n_choices: int) -> int | None:
    """Return the number of the first choice, 0 or 1; None if nothing shows it.

    Args:
        form: The format, which may say it itself.
        numbers: The numbers among the labels of all splits.
        n_choices: The largest number of choices of an item.
    """
    if form.numbers is None or form.is_numbered:
        return form.first_label
    # A number that is too large for any choice is refused later, with the row that holds it.
    if max(numbers, default=0) > n_choices:
        return 0
    return find_first_number(numbers, n_choices, None)


def _make_unread_error(
    rows: Sequence[int],
    values: Sequence[Any],
    positions_by_way: Mapping[str, Positions],
    column_name: str,
) -> ValueError:
    """Return the error for values that no single way reads as choices.

    Args:
        rows: The numbers of the labeled rows.
        values: Their values.
        positions_by_way: Way to read values, such as "letter" -> the choice of each labeled row, None
            for a value that it cannot read.
        column_name: What the column is called.
    """
    reason = "they are mixed"
    # The positions of a row are one per way.
    for row, value, *positions in zip(rows, values, *positions_by_way.values(), strict=True):
        if set(positions) == {None}:
            reason = f"row {row} holds {format_value(value, MAX_VALUE_CHARACTERS)}"
            break
    return ValueError(
        f"Expected the number, the letter or the text of a choice in each row of {column_name}, "
        f"but {reason}. If the values are numbers, set `first_label` to the number of the first "
        "choice, 0 or 1."
    )


def _check_one_meaning(
    rows: Sequence[int],
    values: Sequence[Any],
    positions_by_way: Mapping[str, Positions],
    column_name: str,
) -> None:
    """Check that all ways that can read a column find the same choices.

    Args:
        rows: The numbers of the labeled rows.
        values: Their values.
        positions_by_way: Way to read values, such as "letter" -> the choice of each labeled row.
        column_name: What the column is called.

    Raises:
        ValueError: If two ways differ, as for the text "2" of the first choice.
    """
    way, *other_ways = positions_by_way
    for other_way in other_ways:
        pairs = zip(positions_by_way[way], positions_by_way[other_way], strict=True)
        for index, (position, other_position) in enumerate(pairs):
            if position != other_position:
                raise ValueError(
                    f"Expected one meaning for each value of {column_name}, but row "
                    f"{rows[index]} holds {values[index]!r}, which is choice {position} by {way} "
                    f"and choice {other_position} by {other_way}. Set `first_label` if the "
                    "values are numbers."
                )


# ------------------------------------------------------------------------------- ways


def _find_by_mark(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a mark, such as "A" or "1"."""
    return _find_name(str(_simplify(value)), choices.marks)


def _find_by_number(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a number; None if the value is none.

    Args:
        value: The cell, such as 2 or "2.0".
        choices: The choices of the item.
        first_number: The number of the first choice.
    """
    number = parse_whole_number(value)
    if number is None:
        return None
    position = number - first_number
    if not 0 <= position < len(choices.texts):
        return None
    return position


def _find_by_letter(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a letter, as 1 for "B" or "(B)"; None for other values.

    Args:
        value: The cell.
        choices: The choices of the item, of which the first is A.
        first_number: Not used.
    """
    n_choices = len(choices.texts)
    letters = list(string.ascii_uppercase[:n_choices])
    return _find_name(str(value).strip("() ."), letters)


def _find_by_text(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a text."""
    if not isinstance(value, str):
        return None
    return _find_name(value.strip(), choices.texts)


_WAYS: Mapping[str, Callable[[Any, Choices, int], int | None]] = {
    "mark": _find_by_mark,
    "number": _find_by_number,
    "letter": _find_by_letter,
    "text": _find_by_text,
}
"""Ways to name a choice -> the function that finds its position, the way to prefer first."""


def _find_name(name: str, names: Sequence[str]) -> int | None:
    """Return the position of a name in a list, also in another letter case or with other hyphens.

    Args:
        name: The name.
        names: The list.

    Returns:
        The position; None if the name is missing, or if two names differ only in this way.
    """
    if name in names:
        return names.index(name)
    keys = list(map(fold_name, names))
    key = fold_name(name)
    if keys.count(key) != 1:
        return None
    return keys.index(key)
