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
    """Return the prompt of every row.

    Raises:
        TypeError: If a cell is no text.
        ValueError: If a row has no prompt.
    """
    parts = []
    for name in form.prompt:
        texts = columns.get_texts(data, name, source_name)
        parts.append(texts.to_pylist())
    prompts = []
    for cells in zip(*parts, strict=True):
        # A passage that an item does not have is left out.
        present_cells = filter(None, cells)
        words = filter(None, map(str.strip, present_cells))
        prompts.append(" ".join(words))
    check_all(prompts, bool, f"a prompt in each row of {source_name}")
    return prompts


def read_choices(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> list[Choices]:
    """Return the choices of every row.

    Raises:
        TypeError: If the choices of a row are no list of texts.
        ValueError: If a row has fewer than two.
    """
    cells_by_column = [columns.get_values(data, name) for name in form.choices]
    rows = zip(*cells_by_column, strict=True)
    items = []
    for row, cells in enumerate(rows):
        content, marks = _parse_cells(cells)
        _check_texts(content, row, source_name)
        texts = _strip_letters(content)
        mark_texts = [str(mark) for mark in marks]
        items.append(Choices(texts, mark_texts))
    return items


def _parse_cells(cells: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the choices that the cells of a row hold, unchecked, and their names."""
    if len(cells) > 1:
        texts = list(cells)
        # An item may have fewer choices than others.
        while texts and texts[-1] in (None, ""):
            texts.pop()
        return texts, []
    content = cells[0]
    if isinstance(content, dict):
        return _parse_object(content)
    if not isinstance(content, list):
        return content, []
    if not set(map(type, content)) <= {dict, type(None)}:
        return content, []
    # [{"text": …, "label": …}, …]
    texts = []
    marks = []
    for choice in content:
        if choice:
            texts.append(choice.get("text"))
            marks.append(choice.get("label"))
        else:
            # A missing choice is no text, which is said where texts are checked.
            texts.append(None)
    return texts, marks


def _parse_object(content: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the choices of an object, and their names."""
    choices = drop_missing(content)
    if choices and all(map(_is_letter, content)):
        # {"A": …, "B": …}
        letters = sorted(choices)
        return list(map(choices.__getitem__, letters)), letters
    # {"text": […], "label": ["A", "B", …]}
    return content.get("text"), content.get("label") or []


def _is_letter(key: str) -> bool:
    return key in string.ascii_letters and len(key) == 1


def _check_texts(texts: Any, row: int, source_name: str) -> None:
    """Check that the choices of a row are a list of two texts or more."""
    is_list = isinstance(texts, list)
    if not is_list or not set(map(type, texts)) <= {str}:
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
    """Return choices without the letters they begin with, if all begin with their own."""
    stripped = []
    # A 27th choice has no letter.
    letters = string.ascii_uppercase.ljust(len(texts))
    for text, letter in zip(texts, letters, strict=False):
        match = _LETTERED_CHOICE.fullmatch(text)
        if match is None or match[1] != letter:
            return [text.strip() for text in texts]
        stripped.append(match[2])
    return stripped
