"""Usual headings: English names of columns that show the role of a column, unless its cells contradict it.

`usual_headings.json` lists them, the likeliest first. Columns with other headings, or in other languages, are chosen by
their cells; see `roles.py`. `find_usual_column` is the entry point.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.labels.names import fold_name
from rightreasons.io.cells import is_number

_FILE = Path(__file__).with_name("usual_headings.json")
USUAL_HEADINGS: Mapping[str, Any] = json.loads(_FILE.read_text("utf-8"))
"""Usual headings in lower case, the likeliest first, of tables of items, predictions and judgments."""

STATUSES: Mapping[str, Sequence[str]] = USUAL_HEADINGS["statuses"]
"""Column of the statuses that Prodigy, Argilla, Label Studio and MTurk export -> its values for rejected rows."""

_ITEM_HEADINGS = USUAL_HEADINGS["items"]
TEXT_HEADINGS: Sequence[str] = _ITEM_HEADINGS["text"]
PAIR_HEADINGS: Sequence[Sequence[str]] = _ITEM_HEADINGS["pairs"]
LABEL_HEADINGS: Sequence[str] = _ITEM_HEADINGS["label"]
ID_HEADINGS: Sequence[str] = _ITEM_HEADINGS["id"]

PREDICTION_HEADINGS: Mapping[str, Any] = USUAL_HEADINGS["predictions"]
"""Role of a column of predictions, such as "answer" -> its usual headings. Headings of scores state their kind."""

MODEL_ANSWER_HEADINGS = frozenset(PREDICTION_HEADINGS["answer"]) - {"answer", "answers"}
"""Usual headings of a model's answers. "answer" is not one of them, because items have answers as well."""

MAX_HEADING_LENGTH = 60
"""Maximum length of a heading: a longer one is a cell of a file without headings."""

# The border between words is a sign, as in "comment_text", or a capital letter, as in "TweetText".
_WORD_BORDER = re.compile(r"[\W_]|(?<=[a-z])(?=[A-Z])")


def make_heading_key(name: str) -> str:
    """Return a heading in the form of `usual_headings.json`: lower case, underscores, no accents.

    Example:
        >>> make_heading_key("True Label"), make_heading_key("Résumé")
        ('true_label', 'resume')
    """
    folded = fold_name(name).replace(" ", "_")
    # The normal form NFD separates accents from their letters.
    characters = unicodedata.normalize("NFD", folded)
    return "".join(character for character in characters if not unicodedata.combining(character))


def list_usual_columns(names: Iterable[str], headings: Sequence[str]) -> list[str]:
    """Return the columns that have one of the usual headings of a role, the likeliest heading first.

    Args:
        names: The columns of a table.
        headings: Usual headings in the form of `make_heading_key`, the likeliest first.

    Example:
        >>> list_usual_columns(["ID", "label", "Item"], ["item", "id"])
        ['Item', 'ID']
    """
    rank_by_name = {}
    for name in names:
        key = make_heading_key(name)
        if key in headings:
            rank_by_name[name] = headings.index(key)
    # Sorting is stable: of two columns with one heading, the earlier one comes first.
    return sorted(rank_by_name, key=rank_by_name.__getitem__)


def find_usual_column(names: Iterable[str], headings: Sequence[str]) -> str | None:
    """Return the column with the likeliest of the usual headings of a role; None if there is none.

    Args:
        names: The columns of a table.
        headings: Usual headings in the form of `make_heading_key`, the likeliest first.

    Example:
        >>> find_usual_column({"ID": [1], "label": [0]}, ("item", "id"))
        'ID'
    """
    columns = list_usual_columns(names, headings)
    if not columns:
        return None
    return columns[0]


def list_role_columns(
    columns: Iterable[str], role: str, option_name: str | None = None
) -> list[str]:
    """Return the columns that may have a role in a table of predictions.

    Args:
        columns: The columns of the table.
        role: A key of `PREDICTION_HEADINGS`, such as "answer".
        option_name: The column that an option names, which is then the only one; None to use the usual
            headings of the role.

    Example:
        >>> list_role_columns(["Gold", "Pred", "text"], "answer")
        ['Pred']
    """
    if option_name is not None:
        return [option_name]
    headings = PREDICTION_HEADINGS[role]
    names = []
    for name in columns:
        if make_heading_key(name) in headings:
            names.append(name)
    return names


def list_ending_columns(names: Iterable[str], headings: Sequence[str]) -> list[str]:
    """Return the columns whose last word is a usual heading, such as "comment_text" for "text".

    Args:
        names: The columns of a table.
        headings: Usual headings in lower case.

    Example:
        >>> list_ending_columns(["TweetText", "comment_text", "texture"], ["text"])
        ['TweetText', 'comment_text']
    """
    columns = []
    for name in names:
        words = _WORD_BORDER.split(name)
        # A heading that ends in a sign, such as a bracket, has an empty last word.
        while words and not words[-1]:
            words.pop()
        if words and words[-1].lower() in headings:
            columns.append(name)
    return columns


def is_model_answer(name: str) -> bool:
    """Return whether a heading is one of a model's answers, such as "prediction".

    Args:
        name: A heading, or the dotted name of a field, of which the part before the first dot is used.

    Example:
        >>> is_model_answer("predictions.result.choices"), is_model_answer("answer")
        (True, False)
    """
    root = make_heading_key(name.partition(".")[0])
    # The heading "predictions" is also used for scores, which are an output of a model as well.
    return root in MODEL_ANSWER_HEADINGS or root == "predictions"


def find_statuses(name: str, values: Iterable[str]) -> list[str]:
    """Return the values of a column by which an annotation tool marks rows as rejected.

    Args:
        name: The heading of the column.
        values: The distinct values of the column.

    Returns:
        The values, such as "reject". If the heading is not that of a tool's status, an empty list, because
        the same words may be classes in another column.

    Example:
        >>> find_statuses("answer", ["accept", "reject"]), find_statuses("label", ["reject"])
        (['reject'], [])
    """
    statuses = STATUSES.get(make_heading_key(name))
    if statuses is None:
        return []
    rejected = []
    for value in values:
        if value.lower() in statuses:
            rejected.append(value)
    return rejected


def is_first_row(names: Sequence[str]) -> bool:
    """Return whether the headings of a table look like a row of cells: one is a number or a long text.

    The numbers 0, 1, …, by which pandas names columns, are headings.

    Args:
        names: The headings.

    Example:
        >>> is_first_row(["10857", "Why?", "anger", "0.479"]), is_first_row(["0", "1", "label"])
        (True, False)
    """
    for name in names:
        if len(name) > MAX_HEADING_LENGTH:
            return True
        is_position = name.isdecimal() and int(name) < len(names)
        if is_number(name) and not is_position:
            return True
    return False
