"""Readers of one column with all choices of each item, which also return the expression that reads them.

The choices of an item may be a list of texts, of lists of one text, or of objects; an object with a text per choice; or
one text with separators. `read_lists` and `list_split_texts` return them as `ChoiceLists`.
"""

from __future__ import annotations

import dataclasses
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.io.cells import drop_missing
from rightreasons.io.columns import quote_column, write_expression

MIN_SHARE_OF_SPLIT_ROWS = 0.95
"""Minimum share of rows with a separator: an item may have a single choice by mistake."""

_SIGN = re.compile(r"([^\w\s])\1*|\n+")
"""Matches a sign, which may be repeated ("//"), or new lines."""

Pointer = Literal["any", "complete", "name"]
"""Values of another column that may identify the correct choice: "any" for its name, text or position; "name" for its
name or text only; "complete" for a position only if the number of choices is fixed and each position occurs."""

Texts = Sequence[Sequence[str]]
"""The texts of the choices of each row."""


@dataclasses.dataclass(frozen=True)
class ChoiceLists:
    """The choices in a column, in a sample of n rows.

    Attributes:
        column: The column; "" if the choices are in several columns.
        expression: The column, or the expression that makes lists of texts from it.
        texts: (n,) lists of the texts of the choices.
        marks: (n,) lists of names such as "A" that the cells give to the choices; empty if there are none.
        marks_expression: The expression of these names, without braces; "" if the reader of choices needs no
            expression.
        label: The expression of the correct choice if the cells mark it; "" otherwise.
        positions: (n,) positions of the correct choices if the cells mark them; empty otherwise.
        pointer: The values of another column that may identify the correct choice.
    """

    column: str
    expression: str
    texts: Texts
    marks: Texts = ()
    marks_expression: str = ""
    label: str = ""
    positions: Sequence[int] = ()
    pointer: Pointer = "any"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(n,) the number of choices of each row."""
        sizes = list(map(len, self.texts))
        return np.array(sizes, dtype=np.int64)

    def contains(self, name: str) -> bool:
        """Return whether a name is that of the column, or of a field of the objects in it ("choices.text")."""
        # Choices in several columns have no common name.
        if not self.column:
            return False
        return f"{name}.".startswith(f"{self.column}.")


def read_lists(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Read the choices of each row from a column of lists or objects.

    Args:
        column: The name of the column.
        cells: (n,) lists of texts, of lists of one text, or of objects; or objects with a text per choice.

    Returns:
        The texts of the choices, with the expression that reads them; None if a cell has another format,
        or is empty.

    Example:
        >>> read_lists("options", [{"blue": 1, "red": 0}]).texts
        [['blue', 'red']]
        >>> read_lists("options", [[["blue"], ["red"]]]).expression
        "{{ options | map('first') | list }}"
    """
    if not all(cells):
        return None
    cell_types = set(map(type, cells))
    if cell_types == {dict}:
        return _read_objects(column, cells)
    if cell_types != {list}:
        return None
    item_types: set[type] = set()
    for cell in cells:
        item_types.update(map(type, cell))
    if item_types == {str}:
        return ChoiceLists(column, column, cells)
    if item_types == {dict}:
        return _read_records(column, cells)
    if item_types == {list}:
        return _read_single_texts(column, cells)
    return None


def _read_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Read choices that are an object per row, in the first format that fits all rows; None if none fits."""
    # The order matters: objects with the keys A and B have the same keys in all rows as well.
    readers = (_read_lettered_objects, _read_marked_objects, _read_named_objects)
    for read_objects in readers:
        lists = read_objects(column, cells)
        if lists is not None:
            return lists
    return None


# ------------------------------------------------------------------------------------- objects


def _read_lettered_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Read objects such as {"A": "Yes", "B": "No"}; None if the keys are not A, B, C and so on.

    Args:
        column: The name of the column.
        cells: (n,) objects.
    """
    marks = []
    texts = []
    for cell in cells:
        text_by_letter = drop_missing(cell)
        letters = sorted(text_by_letter)
        row_texts = [text_by_letter[letter] for letter in letters]
        if not _are_texts(row_texts):
            return None
        if letters != list(string.ascii_uppercase[: len(letters)]):
            return None
        marks.append(letters)
        texts.append(row_texts)
    return ChoiceLists(column, column, texts, marks=marks)


def _read_marked_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Read objects whose keys are the choices, with 1 for the correct one, such as {"yes": 1, "no": 0}.

    The tasks of BIG-bench have this format. The result is None if a row does not mark exactly one choice.

    Args:
        column: The name of the column.
        cells: (n,) objects.
    """
    texts = []
    positions = []
    for cell in cells:
        mark_by_text = drop_missing(cell)
        marks = list(mark_by_text.values())
        if not _mark_one(marks):
            return None
        texts.append(list(mark_by_text))
        positions.append(marks.index(1))
    items = f"{quote_column(column)}.items()"
    return ChoiceLists(
        column=column,
        expression=write_expression(f"{items} | rejectattr(1, 'none') | map(attribute=0) | list"),
        texts=texts,
        label=write_expression(f"({items} | selectattr(1) | first)[0]"),
        positions=positions,
    )


def _read_named_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Read objects of texts with the same keys in all rows, such as {"1": "Yes", "2": "No"}.

    The result is None if the keys differ between rows, or if a value is not a string.

    Args:
        column: The name of the column.
        cells: (n,) objects.
    """
    marks = list(cells[0])
    texts = []
    for cell in cells:
        row_texts = list(cell.values())
        if list(cell) != marks or not _are_texts(row_texts):
            return None
        texts.append(row_texts)
    term = quote_column(column)
    return ChoiceLists(
        column=column,
        expression=write_expression(f"{term}.values() | list"),
        texts=texts,
        marks=[marks] * len(cells),
        marks_expression=f"{term}.keys() | list",
        # Such an object may also be a record of several fields, and a number in another column is rarely
        # a position in it. Therefore only a name or a text may identify the correct choice.
        pointer="name",
    )


# ----------------------------------------------------------------------------- lists of objects


def _read_records(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Read lists of objects such as {"id": "A", "text": "No", "correct": true}.

    One field has the texts. A field of flags marks the correct choice; without one, a second field of
    strings has the names of the choices.

    Args:
        column: The name of the column.
        cells: (n,) lists of objects.

    Returns:
        The choices; None if several fields may be the texts, or the flags.
    """
    texts_by_field = {}
    flags_by_field = {}
    for field in cells[0][0]:
        rows = _get_field(cells, field)
        if all(map(_are_texts, rows)):
            texts_by_field[field] = rows
        elif all(map(_mark_one, rows)):
            flags_by_field[field] = rows
    text_fields = _rank_text_fields(texts_by_field)
    if not text_fields or len(flags_by_field) > 1:
        return None
    text_field = text_fields[0]
    # The reader of choices needs no expression for a field "text".
    expression = column
    if text_field != "text":
        expression = _map_attribute(column, text_field)
    lists = ChoiceLists(column, expression, texts_by_field[text_field])
    if flags_by_field:
        flag_field, flags = flags_by_field.popitem()
        positions = [row.index(1) for row in flags]
        label = _find_flag(column, flag_field)
        return dataclasses.replace(lists, label=label, positions=positions)

    # Without flags, the second field of strings has the names of the choices.
    if len(text_fields) != 2:
        return None
    mark_field = text_fields[1]
    marks_expression = _map_attribute(column, mark_field).strip("{} ")
    # The reader of choices needs no expression for the fields "text" and "label".
    if text_field == "text" and mark_field == "label":
        marks_expression = ""
    return dataclasses.replace(
        lists, marks=texts_by_field[mark_field], marks_expression=marks_expression
    )


def _rank_text_fields(texts_by_field: Mapping[str, Texts]) -> list[str]:
    """Sort fields of strings by how likely they are the texts of choices, and not their names ("A", "B").

    Names repeat from row to row, but texts do not, so that the field with the most distinct lists is first.

    Args:
        texts_by_field: Field -> (n,) lists of its values for the choices of each row.

    Returns:
        The fields; an empty list if the first two have equally many distinct lists.
    """
    n_lists_by_field = {}
    for field, rows in texts_by_field.items():
        n_lists_by_field[field] = len(set(map(tuple, rows)))
    fields = sorted(n_lists_by_field, key=n_lists_by_field.__getitem__, reverse=True)
    if len(fields) > 1 and n_lists_by_field[fields[0]] == n_lists_by_field[fields[1]]:
        return []
    return fields


def _get_field(cells: Sequence[Any], field: str) -> list[list[Any]]:
    """Return (n,) lists of the values of a field in lists of objects, with None for a missing value."""
    rows = []
    for cell in cells:
        rows.append([item.get(field) for item in cell])
    return rows


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _mark_one(values: Sequence[Any]) -> bool:
    """Return whether values are flags that mark one of several: a single 1 (or True), and otherwise 0."""
    is_flag = all(value in (0, 1) for value in values)
    return is_flag and len(values) > 1 and sum(values) == 1


def _map_attribute(column: str, field: str) -> str:
    """Return the expression for the list of the values of a field in a list of objects."""
    return write_expression(f"{quote_column(column)} | map(attribute={field!r}) | list")


def _find_flag(column: str, field: str) -> str:
    """Return the expression for the position of the object with a true flag in a list of objects."""
    flags = f"{quote_column(column)} | map(attribute={field!r}) | map('int') | list"
    return write_expression(f"({flags}).index(1)")


def _read_single_texts(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Read lists with a list of one text per choice, such as [["No"], ["Yes"]]; None if a cell differs.

    Args:
        column: The name of the column.
        cells: (n,) lists.
    """
    texts = []
    for cell in cells:
        row_texts = []
        for choice in cell:
            if len(choice) != 1 or not isinstance(choice[0], str):
                return None
            row_texts.append(choice[0])
        texts.append(row_texts)
    expression = write_expression(f"{quote_column(column)} | map('first') | list")
    return ChoiceLists(column, expression, texts)


# ------------------------------------------------------------------------------- choices in a text


def list_split_texts(column: str, cells: Sequence[Any]) -> Iterator[ChoiceLists]:
    """Split texts such as "red / blue" into choices, by each separator that nearly all texts contain.

    Args:
        column: The name of the column.
        cells: (n,) texts. If a cell is not a string, nothing is yielded.

    Yields:
        The choices of each row for one separator, the most frequent separator first.

    Example:
        >>> [lists.texts for lists in list_split_texts("options", ["red / blue", "one / two / three"])]
        [[['red', 'blue'], ['one', 'two', 'three']]]
    """
    if not cells or not _are_texts(cells):
        return
    counts = Counter(_list_separators(cells))
    for separator, count in counts.most_common():
        # The remaining separators are even rarer.
        if count < MIN_SHARE_OF_SPLIT_ROWS * len(cells):
            return
        texts = []
        for cell in cells:
            segments = [segment.strip() for segment in cell.split(separator)]
            texts.append([segment for segment in segments if segment])
        term = quote_column(column)
        expression = write_expression(f"{term}.split({separator!r}) | map('trim') | select | list")
        # Sentences contain commas as well. Therefore, numbers or letters in another column only identify
        # the correct choices if they have as many values as there are choices.
        yield ChoiceLists(column, expression, texts, pointer="complete")


def _list_separators(cells: Iterable[str]) -> Iterator[str]:
    """Yield the distinct punctuation marks of each text, which may separate choices.

    A repeated mark ("//") differs from a single one, but several line breaks count as one.

    Args:
        cells: The texts.
    """
    for cell in cells:
        # A dictionary keeps the order of the text, unlike a set.
        separators: dict[str, None] = {}
        for match in _SIGN.finditer(cell):
            sign = match[0]
            if sign.startswith("\n"):
                separators["\n"] = None
            # The pattern also matches the vowel signs of some scripts. The Unicode categories of
            # punctuation and symbols begin with P and S.
            elif unicodedata.category(sign[0])[0] in "PS":
                separators[sign] = None
        yield from separators
