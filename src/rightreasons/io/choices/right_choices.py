"""The correct choice of every item, which a column gives by its name, number, letter or text.

`read_right_choices` is the entry point: it reads the column by the one rule that applies to all of its values.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import datasets

from rightreasons.core.labels.names import describe_ambiguous_offset, find_first_number, fold_name
from rightreasons.core.sentences import format_list, format_value
from rightreasons.io import columns, label_columns
from rightreasons.io.choices.cells import Choices
from rightreasons.io.choices.forms import ChoiceForm

NO_LABEL = -1
"""Label of an item without a correct choice."""

MAX_VALUE_CHARACTERS = 40
"""Maximum length of a value in error messages."""

# -1 and a hyphen mark an item without a correct choice, unless a choice has that name.
_MISSING_MARKS = ("-1", "-1.0", "-")
_WHOLE_NUMBER = re.compile(r"\s*([0-9]{1,18})(?:\.0+)?\s*")

Positions = list[int | None]
"""Position of the correct choice of each labeled item, from 0; None if a value identifies no choice."""


def read_right_choices(
    data: datasets.Dataset, items: Sequence[Choices], form: ChoiceForm, source_name: str
) -> list[int]:
    """Return the position of the correct choice of every item, -1 for an item without one.

    The column may identify choices by name, number, letter or text, but by the same rule in all rows.

    Args:
        data: The table of N rows.
        items: The choices of every row, with their names if the data has some.
        form: The columns of the format, of which `label` is read, and the number of the first choice.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If no rule applies to all values, or if two rules find different choices.
    """
    values = label_columns.get_labels(data, str(form.label), source_name)
    if not isinstance(values, label_columns.NamedLabels):
        return _read_values(values, items, form, source_name)
    # The class names of a ClassLabel are read like the cells of a column of strings.
    named_form = dataclasses.replace(form, numbers=frozenset(list_numbers(data, form)))
    try:
        return _read_values(values, items, named_form, source_name)
    except ValueError:
        # If the class names identify no choices, the class numbers are positions, provided that there
        # are as many classes as each item has choices.
        choice_counts = {len(choices.texts) for choices in items}
        if choice_counts != {len(values.names)}:
            raise
        return _fill_missing(values.numbers)


def list_numbers(data: datasets.Dataset, form: ChoiceForm) -> set[int]:
    """Return the distinct whole numbers among the labels of a split.

    The numbers of all splits together show whether choices are counted from 0 or from 1.

    Args:
        data: The table of the split.
        form: The columns of the format, of which `label` is read.

    Returns:
        The numbers, or for a ClassLabel the numbers among its class names. The set is empty if the format
        has no label.
    """
    if form.label is None:
        return set()
    feature = data.features[form.label]
    if isinstance(feature, datasets.ClassLabel):
        return _parse_numbers(feature.names)
    return _parse_numbers(columns.get_values(data, form.label))


def parse_whole_number(value: Any) -> int | None:
    """Return a value as a whole number from 0, such as 2 for "2.0"; None if it is not such a number.

    Args:
        value: Any value.

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
    # True equals 1 in Python, but it is not the number of a choice.
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return number if number >= 0 else None


def _parse_numbers(values: Sequence[Any]) -> set[int]:
    numbers = set(map(parse_whole_number, values))
    # Values that are not whole numbers were parsed to None.
    return {number for number in numbers if number is not None}


def _simplify(value: Any) -> Any:
    """Return an integer for a float such as 2.0, and other values unchanged.

    Integers become floats if their column has missing values.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _fill_missing(positions: Iterable[int | None]) -> list[int]:
    return [NO_LABEL if position is None else position for position in positions]


# ------------------------------------------------------------------------------- columns


def _read_values(
    values: columns.Column, items: Sequence[Choices], form: ChoiceForm, source_name: str
) -> list[int]:
    """Return the position of the correct choice of every item, by the one rule that applies to all values.

    The rules, in the order of preference: a value is the name of a choice in the data ("mark"), its
    number, its letter, or its text.

    Args:
        values: (N,) cells of the column of correct choices.
        items: The choices of the N rows.
        form: The format: the name of the column as `label`, whether the user says that labels are numbers
            (`is_numbered`), the number of the first choice, and the numbers among the labels of all splits.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If no rule applies to all values, if two rules find different choices, or if numbers
            may count from 0 or from 1.
    """
    rows = []
    labeled_values = []
    labeled_items = []
    for row, value in enumerate(values):
        if not _is_missing(value, items[row]):
            rows.append(row)
            labeled_values.append(value)
            labeled_items.append(items[row])
    # The numbers of other splits may show where numbers begin.
    numbers = _parse_numbers(labeled_values) | (form.numbers or set())
    n_choices = max(len(choices.texts) for choices in items)
    first_number = _find_first_number(form, numbers, n_choices)
    positions_by_rule = _find_by_all_rules(labeled_values, labeled_items, first_number or 0)

    column_name = f"the column {form.label!r} of {source_name}"
    # Only rules that apply to all values are considered.
    complete = {}
    for rule, positions in positions_by_rule.items():
        if None not in positions:
            complete[rule] = positions
    if not complete:
        raise _make_unread_error(rows, labeled_values, positions_by_rule, column_name)
    # Numbers may be texts of choices as well, but the user says that they are numbers.
    if form.is_numbered and "number" in complete:
        complete = {"number": complete["number"]}
    best_rule = next(iter(complete))
    if best_rule == "number" and first_number is None and rows:
        doubt = describe_ambiguous_offset(numbers, n_choices, "Set `first_label` to 0 or 1")
        raise ValueError(
            f"Expected numbers of choices in {column_name}, but got "
            f"{format_list(sorted(numbers))}{doubt}."
        )
    # The name that the data gives to a choice is unambiguous, so the other rules do not matter.
    if best_rule != "mark":
        _check_one_meaning(rows, labeled_values, complete, form, column_name)
    position_by_row = dict(zip(rows, complete[best_rule], strict=True))
    # Rows without a label have no position.
    return _fill_missing(map(position_by_row.get, range(len(values))))


def _find_by_all_rules(
    values: Sequence[Any], items: Sequence[Choices], first_number: int
) -> dict[str, Positions]:
    """Return the position of the choice that each value identifies, by each rule.

    Args:
        values: (M,) values of the labeled rows, such as "B" or 2.
        items: (M,) choices of these rows.
        first_number: The number of the first choice, 0 or 1.

    Returns:
        Rule, such as "letter" -> (M,) positions from 0, None for a value to which the rule does not apply.
    """
    positions_by_rule: dict[str, Positions] = {}
    for rule, find_position in _FINDERS.items():
        positions = []
        for value, choices in zip(values, items, strict=True):
            positions.append(find_position(value, choices, first_number))
        positions_by_rule[rule] = positions
    return positions_by_rule


def _is_missing(value: Any, choices: Choices) -> bool:
    """Return whether a value means that an item has no correct choice: None, NaN, "", -1 or "-".

    Args:
        value: The cell.
        choices: The choices of the item. If "-1" or "-" is the text or the name of a choice, it means
            that choice.
    """
    if not isinstance(value, str):
        # NaN is the only value that differs from itself.
        return value is None or value == -1 or value != value
    text = value.strip()
    if not text:
        return True
    return text in _MISSING_MARKS and text not in (*choices.texts, *choices.marks)


def _find_first_number(form: ChoiceForm, numbers: set[int], n_choices: int) -> int | None:
    """Return the number of the first choice, 0 or 1; None if the numbers do not show it.

    Args:
        form: The format. Its `first_label` is valid if the user set it (`is_numbered`), or if the format
            is a known one (`numbers` is None).
        numbers: The numbers among the labels of all splits.
        n_choices: The largest number of choices of an item.
    """
    if form.numbers is None or form.is_numbered:
        return form.first_label
    # A number that is too large for any choice is refused later, by an error that names its row.
    if max(numbers, default=0) > n_choices:
        return 0
    return find_first_number(numbers, n_choices, None)


def _make_unread_error(
    rows: Sequence[int],
    values: Sequence[Any],
    positions_by_rule: Mapping[str, Positions],
    column_name: str,
) -> ValueError:
    """Return the error for a column to which no single rule applies.

    Args:
        rows: (M,) indices of the labeled rows.
        values: (M,) values of these rows.
        positions_by_rule: Rule, such as "letter" -> (M,) positions of choices, None for a value to which
            the rule does not apply.
        column_name: Name of the column, for the message.
    """
    reason = "they are mixed"
    # `positions` are those of one row by all rules.
    for row, value, *positions in zip(rows, values, *positions_by_rule.values(), strict=True):
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
    positions_by_rule: Mapping[str, Positions],
    form: ChoiceForm,
    column_name: str,
) -> None:
    """Check that all rules that apply to a column find the same choices.

    Args:
        rows: (M,) indices of the labeled rows.
        values: (M,) values of these rows.
        positions_by_rule: Rule, such as "letter" -> (M,) positions of choices.
        form: The columns of the format, for the advice in the message.
        column_name: Name of the column, for error messages.

    Raises:
        ValueError: If two rules find different choices, as if "2" is the text of the first choice.
    """
    rule, *other_rules = positions_by_rule
    for other_rule in other_rules:
        pairs = zip(positions_by_rule[rule], positions_by_rule[other_rule], strict=True)
        for index, (position, other_position) in enumerate(pairs):
            if position != other_position:
                raise ValueError(
                    f"Expected one meaning for each value of {column_name}, but row "
                    f"{rows[index]} holds {values[index]!r}, which is choice {position} by {rule} "
                    f"and choice {other_position} by {other_rule}. {_advise_on_meaning(form)}"
                )


def _advise_on_meaning(form: ChoiceForm) -> str:
    """Return how a user settles whether values are numbers or texts of choices, as two sentences.

    The position of a text in the list of choices is a number, whose meaning `first_label` settles.

    Args:
        form: The columns of the choices and of the correct choice.
    """
    terms = list(map(columns.quote_column, form.choices))
    choices = terms[0] if len(terms) == 1 else f"[{', '.join(terms)}]"
    # Values with two meanings come from a column of labels.
    label = columns.quote_column(form.label or "")
    position = columns.write_expression(f"{choices}.index({label})")
    return (
        "If the values are numbers, set `first_label` to the number of the first choice. If they are "
        f"texts of choices, set `choices_column` to {','.join(form.choices)!r}, `label_column` to "
        f'"{position}", and `first_label` to 0.'
    )


# ------------------------------------------------------------------------------- rules


def _find_by_mark(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice that the data names by a value, such as "A" or "1"."""
    return _find_name(str(_simplify(value)), choices.marks)


def _find_by_number(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a number; None if no choice has this number.

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
    """Return the position of the choice with a letter, such as 1 for "B" or "(B)"; None for other values.

    Args:
        value: The cell.
        choices: The choices of the item, which are lettered from A.
        first_number: Not used: all rules have the same signature.
    """
    n_choices = len(choices.texts)
    letters = list(string.ascii_uppercase[:n_choices])
    return _find_name(str(value).strip("() ."), letters)


def _find_by_text(value: Any, choices: Choices, first_number: int) -> int | None:
    """Return the position of the choice with a text."""
    if not isinstance(value, str):
        return None
    return _find_name(value.strip(), choices.texts)


_FINDERS: Mapping[str, Callable[[Any, Choices, int], int | None]] = {
    "mark": _find_by_mark,
    "number": _find_by_number,
    "letter": _find_by_letter,
    "text": _find_by_text,
}
"""Rule by which a value identifies a choice -> the function that finds its position, preferred rules first."""


def _find_name(name: str, names: Sequence[str]) -> int | None:
    """Return the position of a name in a list, exactly or in its folded form (letter case, hyphens).

    Args:
        name: The name.
        names: The list.

    Returns:
        The position; None if the list has no such name, or if only the folded form matches, and that of
        several names.
    """
    if name in names:
        return names.index(name)
    keys = list(map(fold_name, names))
    key = fold_name(name)
    if keys.count(key) != 1:
        return None
    return keys.index(key)
