"""Prompts and choices of every row of a table.

`read_prompts` joins the columns of the prompts. `read_choices` reads the choices of each row, from one
column per choice, a list, or an object.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets

from rightreasons.core.validation import check_all
from rightreasons.io import columns
from rightreasons.io.cells import drop_missing, parse_cell
from rightreasons.io.choices.forms import ChoiceForm

# A choice that begins with its letter: "(A) yes", "A) yes", "A. yes".
_LETTERED_CHOICE = re.compile(r"\s*\(?([A-Z])[).:]\s*(.*\S)\s*", re.DOTALL)


class Choices(NamedTuple):
    """The choices of an item.

    Attributes:
        texts: The K texts of the choices.
        marks: K names that the data gives to the choices, such as "A" or "1"; an empty list if it has none.
    """

    texts: list[str]
    marks: list[str]


def read_prompts(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> list[str]:
    """Return the prompt of every row: the texts of one or several columns, joined by spaces.

    Args:
        data: The table.
        form: The columns of the format, of which `prompt` is read.
        source_name: Name of the table, for error messages.

    Raises:
        TypeError: If a cell is not a string.
        ValueError: If a row has no prompt.
    """
    texts_by_column = []
    for name in form.prompt:
        texts = columns.get_texts(data, name, source_name)
        texts_by_column.append(texts.to_pylist())
    prompts = []
    for cells in zip(*texts_by_column, strict=True):
        texts_of_row = []
        for cell in cells:
            # A part of the prompt, such as a passage, may be missing in some rows.
            if cell and cell.strip():
                texts_of_row.append(cell.strip())
        prompts.append(" ".join(texts_of_row))
    # An empty prompt is false.
    check_all(prompts, bool, f"a prompt in each row of {source_name}")
    return prompts


def read_choices(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> list[Choices]:
    """Return the texts of the choices of every row, and the names of the choices if the data has some.

    Args:
        data: The table.
        form: The columns of the format, of which `choices` is read: one column with all choices, or one
            column per choice.
        source_name: Name of the table, for error messages.

    Raises:
        TypeError: If the choices of a row are not a list of strings.
        ValueError: If a row has fewer than two choices.
    """
    cells_by_column = []
    for name in form.choices:
        cells_by_column.append(columns.get_values(data, name))
    items = []
    for row, cells in enumerate(zip(*cells_by_column, strict=True)):
        if len(cells) > 1:
            texts: Any = _drop_last_empty(cells)
            marks: list[Any] = []
        else:
            texts, marks = _parse_choices(cells[0])
        _check_texts(texts, row, source_name)
        items.append(Choices(_strip_letters(texts), list(map(str, marks))))
    return items


def _drop_last_empty(cells: Sequence[Any]) -> list[Any]:
    """Return the cells of one column per choice, without the last ones that an item leaves empty."""
    texts = list(cells)
    while texts and texts[-1] in (None, ""):
        texts.pop()
    return texts


def _parse_choices(cell: Any) -> tuple[Any, list[Any]]:
    """Return the texts and the names of the choices in one cell.

    Args:
        cell: A list of texts, a list of objects such as {"text": "Yes", "label": "A"}, or an object (see
            `_parse_object`); or one of these as a string, as in a csv file. Any other value is returned as
            the texts, and refused by the caller.

    Returns:
        The texts, which are not checked yet, and the names, which are empty if there are none.
    """
    cell = parse_cell(cell)
    if isinstance(cell, dict):
        return _parse_object(cell)
    is_list_of_objects = isinstance(cell, list) and set(map(type, cell)) <= {dict, type(None)}
    if not is_list_of_objects:
        return cell, []
    texts = []
    marks = []
    for choice in cell:
        if choice:
            texts.append(choice.get("text"))
            marks.append(choice.get("label"))
        else:
            # The caller reports the missing choice.
            texts.append(None)
    return texts, marks


def _parse_object(content: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the texts and the names of the choices in an object, which are not checked yet.

    Args:
        content: Either {"A": "Yes", "B": "No"}, or {"text": ["Yes", "No"], "label": ["A", "B"]}.
    """
    # Arrow gives an object the keys of all others, with None for choices that it does not have.
    text_by_letter = drop_missing(content)
    if text_by_letter and all(map(_is_letter, content)):
        letters = sorted(text_by_letter)
        return [text_by_letter[letter] for letter in letters], letters
    return content.get("text"), content.get("label") or []


def _is_letter(key: str) -> bool:
    return key in string.ascii_letters and len(key) == 1


def _check_texts(texts: Any, row: int, source_name: str) -> None:
    """Check that the choices of a row are a list of two strings or more.

    Args:
        texts: The choices.
        row: Index of the row, for error messages.
        source_name: Name of the table, for error messages.

    Raises:
        TypeError: If the choices are not a list of strings.
        ValueError: If there are fewer than two choices.
    """
    if not isinstance(texts, list) or not set(map(type, texts)) <= {str}:
        raise TypeError(
            f"Expected the choices in {source_name} to be a list of texts, but row {row} holds "
            f"{texts!r}. If a cell has another form, set `choices_column` to an expression that makes a "
            "list of it, such as \"{{ choices.split('|') }}\"."
        )
    if len(texts) < 2:
        raise ValueError(
            f"Expected at least two choices in each row of {source_name}, but row {row} has "
            f"{len(texts)}."
        )


def _strip_letters(texts: Sequence[str]) -> list[str]:
    """Remove the letters from choices such as "A) yes" and "B) no", if they are in alphabetical order.

    Otherwise the letters are a part of the texts, and only the spaces around the texts are removed.

    Args:
        texts: The choices of an item.
    """
    unlettered = []
    # Spaces stand for the letters of choices after the 26th, and never match.
    letters = string.ascii_uppercase.ljust(len(texts))
    for text, letter in zip(texts, letters, strict=False):
        match = _LETTERED_CHOICE.fullmatch(text)
        if match is None or match[1] != letter:
            return [text.strip() for text in texts]
        unlettered.append(match[2])
    return unlettered
