"""Prompts and choices of every row of a table.

`read_prompts` joins the columns of the prompts, and `read_choices` reads the choices of each row in
any of the usual forms.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from typing import Any, NamedTuple

import datasets

from rightreasons.core.validation import check_all
from rightreasons.io import columns
from rightreasons.io.cells import drop_missing
from rightreasons.io.choices.forms import ChoiceForm

# A choice that begins with its letter: "(A) yes", "A) yes", "A. yes".
_LETTERED_CHOICE = re.compile(r"\s*\(?([A-Z])[).:]\s*(.*\S)\s*", re.DOTALL)


class Choices(NamedTuple):
    """The choices of an item.

    Attributes:
        texts: Their texts.
        marks: Their names ("A", "1", …); [] if the data has none.
    """

    texts: list[str]
    marks: list[str]


def read_prompts(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> list[str]:
    """Return the prompt of every row: the texts of its columns, joined by spaces.

    Args:
        data: The table.
        form: The columns, of which those of `prompt` are read.
        source_name: What the table is called, for errors.

    Raises:
        TypeError: If a cell is no text.
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
            # An item may lack a part of the prompt, such as a passage.
            if cell and cell.strip():
                texts_of_row.append(cell.strip())
        prompts.append(" ".join(texts_of_row))
    check_all(prompts, bool, f"a prompt in each row of {source_name}")
    return prompts


def read_choices(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> list[Choices]:
    """Return the texts of the choices of every row, and their names if the data has some.

    Args:
        data: The table.
        form: The columns, of which those of `choices` are read.
        source_name: What the table is called, for errors.

    Raises:
        TypeError: If the choices of a row are no list of texts.
        ValueError: If a row has fewer than two choices.
    """
    cells_by_column = []
    for name in form.choices:
        cells_by_column.append(columns.get_values(data, name))
    items = []
    for row, cells in enumerate(zip(*cells_by_column, strict=True)):
        texts, marks = _parse_cells(cells)
        _check_texts(texts, row, source_name)
        items.append(Choices(_strip_letters(texts), list(map(str, marks))))
    return items


def _parse_cells(cells: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the texts of the choices of a row, which are not checked yet, and their names.

    Args:
        cells: A cell per choice, or one cell with a list of texts, a list of objects
            {"text": …, "label": …}, or an object.

    Returns:
        The texts, None for a missing one, and the names, [] for none.
    """
    if len(cells) > 1:
        texts = list(cells)
        # An item with fewer choices leaves the last columns empty.
        while texts and texts[-1] in (None, ""):
            texts.pop()
        return texts, []
    content = cells[0]
    if isinstance(content, dict):
        return _parse_object(content)
    if not isinstance(content, list):
        return content, []
    has_objects = set(map(type, content)) <= {dict, type(None)}
    if not has_objects:
        return content, []
    texts = []
    marks = []
    for choice in content:
        if choice:
            texts.append(choice.get("text"))
            marks.append(choice.get("label"))
        else:
            # The check of the texts reports the missing choice.
            texts.append(None)
    return texts, marks


def _parse_object(content: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the texts and the names of choices in an object, as a pair; see `_parse_cells`.

    Args:
        content: {"A": "Yes", "B": "No"}, or {"text": ["Yes", "No"], "label": ["A", "B"]}.
    """
    text_by_letter = drop_missing(content)
    if text_by_letter and all(map(_is_letter, content)):
        letters = sorted(text_by_letter)
        return [text_by_letter[letter] for letter in letters], letters
    return content.get("text"), content.get("label") or []


def _is_letter(key: str) -> bool:
    return key in string.ascii_letters and len(key) == 1


def _check_texts(texts: Any, row: int, source_name: str) -> None:
    """Check that the choices of a row are a list of two texts or more.

    Args:
        texts: The choices.
        row: The number of the row, for errors.
        source_name: What the table is called, for errors.

    Raises:
        TypeError: If they are no list of texts.
        ValueError: If there are fewer than two.
    """
    if not isinstance(texts, list) or not set(map(type, texts)) <= {str}:
        raise TypeError(
            f"Expected the choices in {source_name} to be a list of texts, but row {row} holds "
            f"{texts!r}."
        )
    if len(texts) < 2:
        raise ValueError(
            f"Expected at least two choices in each row of {source_name}, but row {row} has "
            f"{len(texts)}."
        )


def _strip_letters(texts: Sequence[str]) -> list[str]:
    """Remove the letters from choices such as "A) yes" and "B) no", if all have the letter of their place.

    Otherwise the letters are a part of the texts, and only the spaces around them are removed.
    """
    stripped = []
    # Choices after the 26th have no letter, so that nothing is removed from any of them.
    letters = string.ascii_uppercase.ljust(len(texts))
    for text, letter in zip(texts, letters, strict=False):
        match = _LETTERED_CHOICE.fullmatch(text)
        if match is None or match[1] != letter:
            return list(map(str.strip, texts))
        stripped.append(match[2])
    return stripped
