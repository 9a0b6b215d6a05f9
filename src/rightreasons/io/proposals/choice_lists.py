"""The forms in which one column holds the choices of its items, and the expressions that read them.

The choices of an item are a list of texts, of lists of one text, or of objects; an object with a text per choice; or one
text with a separator between them. `read_lists` and `list_split_texts` return them as `ChoiceLists`.
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
from rightreasons.io.columns import quote_column

MIN_SHARE_OF_SPLIT_ROWS = 0.95
"""Share of rows with a separator: an item may have a single choice by mistake."""

_SIGN = re.compile(r"([^\w\s])\1*|\n+")
"""One sign, perhaps several times, or new lines."""

Pointer = Literal["any", "complete", "name"]
"""What may say which choice is right: its name, text or position; a position only if each of a fixed number of choices
is right somewhere; or its name and its text alone."""

Texts = Sequence[Sequence[str]]
"""The texts of the choices of each row."""


@dataclasses.dataclass(frozen=True)
class ChoiceLists:
    """A column of choices.

    Attributes:
        column: The column.
        expression: The column, or the expression that makes lists of texts of it.
        texts: The texts of the choices of each sampled row.
        marks: The names by which the cells call the choices of each row; () without any.
        marks_expression: The expression of these names, without brackets, if the reader does not know them; ""
            otherwise.
        label: The expression of the right choice if the cells mark it; "" otherwise.
        positions: The position of the right choice of each row if the cells mark it; () otherwise.
        pointer: What may say which choice is right.
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
        """Return whether a name is that of the column, or of a field in it."""
        # Columns of choices without a list have no name.
        if not self.column:
            return False
        return f"{name}.".startswith(f"{self.column}.")


def read_lists(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Return the choices in a column of lists or objects; None for other cells.

    Example:
        >>> read_lists("options", [{"blue": 1, "red": 0}]).texts
        [['blue', 'red']]
        >>> read_lists("options", [[["blue"], ["red"]]]).expression
        "{{ options | map('first') | list }}"
    """
    if not all(cells):
        return None
    # Empty cells have no choices, and all others are of one kind.
    kinds = set(map(type, cells))
    if kinds == {dict}:
        return (
            _read_lettered_objects(column, cells)
            or _read_marked_objects(column, cells)
            or _read_named_objects(column, cells)
        )
    if kinds != {list}:
        return None
    item_kinds: set[type] = set()
    for cell in cells:
        item_kinds.update(map(type, cell))
    if item_kinds == {str}:
        return ChoiceLists(column, column, cells)
    if item_kinds == {dict}:
        return _read_records(column, cells)
    if item_kinds == {list}:
        return _read_single_texts(column, cells)
    return None


# ------------------------------------------------------------------------------------- objects


def _read_lettered_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Return the texts of objects such as {"A": "Yes", "B": "No"}."""
    marks = []
    texts = []
    for cell in cells:
        choices = drop_missing(cell)
        names = sorted(choices)
        values = list(map(choices.__getitem__, names))
        if not _are_texts(values):
            return None
        letters = string.ascii_uppercase[: len(names)]
        if names != list(letters):
            return None
        marks.append(names)
        texts.append(values)
    return ChoiceLists(column, column, texts, marks=marks)


def _read_marked_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Return the keys of objects that mark one of them by 1, as the tasks of BIG-bench do."""
    texts = []
    positions = []
    for cell in cells:
        marks = drop_missing(cell)
        values = list(marks.values())
        if not _mark_one(values):
            return None
        texts.append(list(marks))
        positions.append(values.index(1))
    items = f"{quote_column(column)}.items()"
    return ChoiceLists(
        column=column,
        expression=f"{{{{ {items} | rejectattr(1, 'none') | map(attribute=0) | list }}}}",
        texts=texts,
        label=f"{{{{ ({items} | selectattr(1) | first)[0] }}}}",
        positions=positions,
    )


def _read_named_objects(column: str, cells: Sequence[Mapping[str, Any]]) -> ChoiceLists | None:
    """Return the texts of objects of the same keys, such as {"1": "Yes", "2": "No"}."""
    marks = list(cells[0])
    texts = []
    for cell in cells:
        values = list(cell.values())
        if list(cell) != marks or not _are_texts(values):
            return None
        texts.append(values)
    term = quote_column(column)
    return ChoiceLists(
        column=column,
        expression=f"{{{{ {term}.values() | list }}}}",
        texts=texts,
        marks=[marks] * len(cells),
        marks_expression=f"{term}.keys() | list",
        # A number next to a record of several fields is rarely the position of one of them.
        pointer="name",
    )


# ----------------------------------------------------------------------------- lists of objects


def _read_records(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Return the texts in lists of objects, such as {"id": "A", "text": "No", "correct": true}."""
    texts_by_field = {}
    flags_by_field = {}
    for field in cells[0][0]:
        rows = _get_field(cells, field)
        if all(map(_are_texts, rows)):
            texts_by_field[field] = rows
        elif all(map(_mark_one, rows)):
            flags_by_field[field] = rows
    fields = _rank_text_fields(texts_by_field)
    # Of two fields of texts, or of flags, a person has to tell which counts.
    if not fields or len(flags_by_field) > 1:
        return None
    text_field = fields[0]
    # The reader knows the usual name of this field.
    expression = column
    if text_field != "text":
        expression = _map_attribute(column, text_field)
    lists = ChoiceLists(column, expression, texts_by_field[text_field])
    if flags_by_field:
        ((field, flags),) = flags_by_field.items()
        positions = [row.index(1) for row in flags]
        return dataclasses.replace(lists, label=_find_flag(column, field), positions=positions)
    # Without a flag, the other field names the choices.
    if len(fields) != 2:
        return None
    mark_field = fields[1]
    marks_expression = _map_attribute(column, mark_field).strip("{} ")
    if (text_field, mark_field) == ("text", "label"):
        marks_expression = ""
    return dataclasses.replace(
        lists, marks=texts_by_field[mark_field], marks_expression=marks_expression
    )


def _rank_text_fields(texts_by_field: Mapping[str, Texts]) -> list[str]:
    """Return the fields of texts, that of the choices first; [] if two may be it.

    Names of choices are the same in most rows, and texts are not.
    """
    n_lists_by_field = {}
    for field, rows in texts_by_field.items():
        n_lists_by_field[field] = len(set(map(tuple, rows)))
    fields = sorted(n_lists_by_field, key=n_lists_by_field.__getitem__, reverse=True)
    if len(fields) > 1 and n_lists_by_field[fields[0]] == n_lists_by_field[fields[1]]:
        return []
    return fields


def _get_field(cells: Sequence[Any], field: str) -> list[list[Any]]:
    """Return a field of the objects in each row; None for an object without it."""
    rows = []
    for cell in cells:
        rows.append([item.get(field) for item in cell])
    return rows


def _are_texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _mark_one(values: Sequence[Any]) -> bool:
    """Return whether values mark one of several: a single 1, or true, and 0 for all others."""
    is_flag = all(value in (0, 1) for value in values)
    return is_flag and len(values) > 1 and sum(values) == 1


def _map_attribute(column: str, field: str) -> str:
    """Return the expression of the list of a field of objects."""
    return f"{{{{ {quote_column(column)} | map(attribute={field!r}) | list }}}}"


def _find_flag(column: str, field: str) -> str:
    """Return the expression of the position of the object whose flag is set."""
    flags = f"{quote_column(column)} | map(attribute={field!r}) | map('int') | list"
    return f"{{{{ ({flags}).index(1) }}}}"


def _read_single_texts(column: str, cells: Sequence[Any]) -> ChoiceLists | None:
    """Return the texts of lists of one text per choice, such as [["No"], ["Yes"]]."""
    texts = []
    for cell in cells:
        row = []
        for choice in cell:
            if len(choice) != 1 or not isinstance(choice[0], str):
                return None
            row.append(choice[0])
        texts.append(row)
    expression = f"{{{{ {quote_column(column)} | map('first') | list }}}}"
    return ChoiceLists(column, expression, texts)


# ------------------------------------------------------------------------------- choices in a text


def list_split_texts(column: str, cells: Sequence[Any]) -> Iterator[ChoiceLists]:
    """Yield the choices in texts, once for each separator that nearly all of the texts contain.

    Example:
        >>> [lists.texts for lists in list_split_texts("options", ["red / blue", "one / two / three"])]
        [[['red', 'blue'], ['one', 'two', 'three']]]
    """
    if not cells or not _are_texts(cells):
        return
    counts = Counter(_list_separators(cells))
    for separator, count in counts.most_common():
        # A text with every choice on a line may have other signs in each line.
        if count < MIN_SHARE_OF_SPLIT_ROWS * len(cells):
            return
        texts = []
        for cell in cells:
            segments = map(str.strip, cell.split(separator))
            texts.append(list(filter(None, segments)))
        term = quote_column(column)
        expression = f"{{{{ {term}.split({separator!r}) | map('trim') | select | list }}}}"
        # Sentences have commas as well, so that a number or a letter next to them needs more evidence.
        yield ChoiceLists(column, expression, texts, pointer="complete")


def _list_separators(cells: Iterable[str]) -> Iterator[str]:
    """Yield the signs that may separate the choices of each cell, each of them once per cell."""
    for cell in cells:
        signs = set()
        for match in _SIGN.finditer(cell):
            sign = match[0]
            # Empty lines between choices are new lines as well.
            if sign.startswith("\n"):
                signs.add("\n")
            # The vowels of some scripts are neither letters nor punctuation.
            elif unicodedata.category(sign[0])[0] in "PS":
                signs.add(sign)
        yield from signs
