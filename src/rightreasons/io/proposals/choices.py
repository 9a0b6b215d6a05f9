"""The question, the choices, and the right choice of items, if no heading says which columns hold them.

Choices are a column of lists of texts, or as many columns of texts as a column of marks such as 0, 1, 2 or A, B, C has
values. Which of them is right is said by the only column whose values number, name or repeat a choice of their row.
`propose_choices` is the entry point. What it proposes is reported, because texts to compare look like choices.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.io.columns import quote_column
from rightreasons.io.contents import MAX_CHOICES, MIN_ROWS, Contents, make_key, parse_value
from rightreasons.io.proposals.choice_lists import (
    ChoiceLists,
    Texts,
    list_split_texts,
    read_lists,
)

MIN_SHARE_OF_DISTINCT = 0.95
"""Share of rows whose choices are all different: some items repeat one by mistake."""

MAX_SHARE_OF_POSITION = 0.9
"""Share of rows with the right choice at one position: authors of questions vary it."""

MAX_LENGTH_RATIO = 2
"""How much longer one choice may be than another on average: right ones come at every position."""

MIN_LENGTH_P_VALUE = 0.01
"""Two choices of an item are as often the longer one as chance allows; questions and answers are not."""

_LETTER = re.compile(r"^\(?[a-z]\s?[).:]\s*")
"""The letter before a choice, as in "(b) yes"."""

_CODE = re.compile(r"\S*(\d\S*[a-z]|[a-z]\S*\d|[/_])\S*", re.IGNORECASE)
"""Ids and links: one sequence of letters with digits, slashes or underscores."""


@dataclasses.dataclass(frozen=True)
class ChoiceProposal:
    """The columns of items with choices, as only their cells say it.

    Attributes:
        prompt: Columns of the question.
        choices: One column, or expression, of lists, or a column per choice.
        label: Column, or expression, of the right choice.
        reason: A phrase that says why.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str
    reason: str

    @property
    def in_words(self) -> str:
        """The sentence about the proposal."""
        prompts = ", ".join(map(repr, self.prompt))
        choices = ", ".join(map(repr, self.choices))
        return (
            "No heading says which columns hold questions and choices, so the question is "
            f"{prompts}, the choices are {choices}, and the right one is {self.label!r} "
            f"({self.reason}): `prompt_column`, `choices_column` and `label_column` name others, "
            "and `text_column` texts to classify."
        )


def propose_choices(contents: Contents) -> ChoiceProposal | None:
    """Propose the columns of the question, the choices and the right choice by their cells.

    Args:
        contents: The contents of the columns of a table, and of the fields of objects in them.

    Returns:
        The proposal; None if no columns fit, or several.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> rows = {
        ...     "設問": [f"{number} + 1 の答えはどれでしょうか。" for number in range(12)],
        ...     "候補": [[str(number + 1), str(number)] for number in range(12)],
        ...     "正解": [0, 1] * 6,
        ... }
        >>> proposal = propose_choices(describe_contents(rows))
        >>> proposal.prompt, proposal.choices, proposal.label
        (('設問',), ('候補',), '正解')
    """
    columns = list(_iterate_lists(contents))
    if len(columns) == 1:
        return _propose_lists(contents, columns[0])
    # Which of several lists holds the choices is for a person to say.
    if columns:
        return None
    return _propose_split_texts(contents) or _propose_columns(contents)


# --------------------------------------------------------------------------- lists of choices


def _iterate_lists(contents: Contents) -> Iterator[ChoiceLists]:
    """Yield the columns of lists of choices."""
    previous: list[ChoiceLists] = []
    for name in contents:
        # The fields of lists of objects are lists themselves.
        if any(lists.contains(name) for lists in previous):
            continue
        # Texts, numbers and flags are no lists.
        if contents[name].kind not in ("list", "mixed", "marks", "shares"):
            continue
        cells = list(map(parse_value, contents.get_cells(name)))
        lists = read_lists(name, cells)
        if lists is not None and _are_choices(lists):
            previous.append(lists)
            yield lists


def _are_choices(lists: ChoiceLists) -> bool:
    """Return whether lists hold different texts each; lists of a few names that repeat are votes."""
    n_rows = len(lists.texts)
    if n_rows < MIN_ROWS:
        return False
    sizes = lists.sizes
    if sizes.min() < 2 or sizes.max() > MAX_CHOICES:
        return False
    n_distinct = 0
    sets = set()
    for texts in lists.texts:
        distinct = frozenset(texts)
        n_distinct += len(distinct) == len(texts)
        sets.add(distinct)
    if n_distinct < MIN_SHARE_OF_DISTINCT * n_rows:
        return False
    # The order of the choices differs, the choices of one item do not.
    return 2 * len(sets) > n_rows


def _has_constant_choice(lists: ChoiceLists) -> bool:
    """Return whether the choice at one position is the same in all rows, as the beginning of a template is."""
    for position in range(lists.sizes.min()):
        texts = {row[position] for row in lists.texts}
        if len(texts) == 1:
            return True
    return False


def _propose_lists(contents: Contents, lists: ChoiceLists) -> ChoiceProposal | None:
    """Propose a column of lists of choices, the only column that says which is right, and the texts."""
    columns = [name for name in contents if not lists.contains(name)]
    label = lists.label
    reason = "marked among the choices"
    positions = lists.positions
    if not label:
        label = find_pointing_column(contents, lists)
        if not label:
            return None
        reason = "each of its values is a choice of its row"
        positions = _list_positions(contents, label, lists)
    prompt = []
    for name in columns:
        if contents[name].has_texts and _is_question(
            contents.get_cells(name), lists.texts, positions
        ):
            prompt.append(name)
    if not prompt:
        return None
    if not lists.label:
        label = name_right_choice(contents, label, lists)
    return ChoiceProposal(tuple(prompt), (lists.expression,), label, reason)


def name_right_choice(contents: Contents, label: str, lists: ChoiceLists) -> str:
    """Return the expression of the right choice if the reader does not know its names; otherwise the column.

    Args:
        contents: The contents of the columns of the table.
        label: The column whose values are choices of their rows.
        lists: The choices.
    """
    cells = contents.get_cells(label)
    keys = list(map(make_key, cells))
    if not lists.marks_expression or not _are_members(keys, lists.marks):
        return label
    term = quote_column(label)
    # Names are texts, also those that are numbers.
    if not all(isinstance(cell, str) for cell in cells):
        term += " | string"
    return f"{{{{ ({lists.marks_expression}).index({term}) }}}}"


def _propose_split_texts(contents: Contents) -> ChoiceProposal | None:
    """Propose the only column of texts that a separator splits into choices."""
    proposals = []
    for name in contents:
        lists = find_split_texts(contents, name)
        if lists is not None:
            proposals.append(_propose_lists(contents, lists))
    # Which of several such columns holds the choices is for a person to say.
    return proposals[0] if len(proposals) == 1 else None


def find_split_texts(contents: Contents, name: str, label: str = "") -> ChoiceLists | None:
    """Return the choices in a column of texts by the only separator for which a column says which is right.

    Args:
        contents: The contents of the columns of the table.
        name: The column of texts.
        label: The column of the right choice; "" for any.
    """
    content = contents[name]
    # Links and dates have signs between their parts.
    if not content.has_distinct_texts or content.n_rows < MIN_ROWS:
        return None
    candidates = []
    for lists in list_split_texts(name, contents.get_cells(name)):
        if not _are_choices(lists) or _has_constant_choice(lists):
            continue
        # Any column that points into the choices shows that they are split as they should be.
        names = [label] if label else contents
        if any(_varies_among(contents, column, lists) for column in names if column != name):
            candidates.append(lists)
    return candidates[0] if len(candidates) == 1 else None


def _varies_among(contents: Contents, label: str, lists: ChoiceLists) -> bool:
    """Return whether a column points into choices, and not mostly at one position.

    A text that always begins with its class, as in "yes: it rains", has no choices.
    """
    if not _points_into(contents, label, lists):
        return False
    counts = Counter(_list_positions(contents, label, lists))
    return max(counts.values()) <= MAX_SHARE_OF_POSITION * len(lists.texts)


def find_choice_lists(contents: Contents, name: str, label: str = "") -> ChoiceLists | None:
    """Return the choices in a column that holds them by its heading; None if their form is unknown.

    Args:
        contents: The contents of the columns of the table.
        name: The column.
        label: The column of the right choice; "" if no heading says which it is.
    """
    values = list(map(parse_value, contents.get_cells(name)))
    lists = read_lists(name, values)
    if lists is None:
        return find_split_texts(contents, name, label)
    return lists if _are_choices(lists) else None


def propose_right_choice(contents: Contents, choices: Sequence[str]) -> str:
    """Return the only column that says which choice is right, if headings say which columns hold the choices.

    Args:
        contents: The contents of the columns of a table.
        choices: A column of lists of choices, or a column per choice.

    Returns:
        The column; "" if there is none, or several.
    """
    # Expressions make choices of what no column holds.
    if not all(name in contents for name in choices):
        return ""
    columns = []
    for name in choices:
        columns.append(list(map(parse_value, contents.get_cells(name))))
    lists = read_lists(choices[0], columns[0])
    if len(choices) > 1:
        # An item may leave the last choices empty.
        rows = []
        for cells in zip(*columns, strict=True):
            rows.append(list(filter(None, cells)))
        lists = read_lists("", rows)
    if lists is None:
        return ""
    return lists.label or find_pointing_column(contents, lists, excluded=choices)


def find_pointing_column(
    contents: Contents, lists: ChoiceLists, excluded: Sequence[str] = ()
) -> str:
    """Return the only column whose values are choices of their rows; "" if there is none, or several."""
    columns = []
    for name in contents:
        is_part = lists.contains(name) or name in excluded
        if not is_part and _points_into(contents, name, lists):
            columns.append(name)
    # Of two such columns, one may be a model's answer.
    return columns[0] if len(columns) == 1 else ""


def _points_into(contents: Contents, name: str, lists: ChoiceLists) -> bool:
    """Return whether each value of a column is a choice of its row: its mark, its number, its letter or its text."""
    content = contents[name]
    if content.n_values < 2 or content.kind not in ("text", "number"):
        return False
    keys = list(map(make_key, contents.get_cells(name)))
    # The name of a choice comes before its position.
    if _are_members(keys, lists.marks) or _are_members(keys, lists.texts):
        return True
    sizes = lists.sizes
    # A number, or a letter, next to several texts may also be about something else.
    is_complete = sizes.min() == sizes.max() == content.n_values
    if lists.pointer == "name" or (lists.pointer == "complete" and not is_complete):
        return False
    return _are_numbers(keys, sizes) or _are_letters(keys, sizes)


def _are_members(keys: Sequence[str], names: Texts) -> bool:
    """Return whether each key is one of the names of its row."""
    if not names:
        return False
    n_members = 0
    for key, row in zip(keys, names, strict=True):
        row_keys = map(make_key, row)
        n_members += key in row_keys
    return n_members == len(keys)


def _are_numbers(keys: Sequence[str], sizes: NDArray[np.int64]) -> bool:
    """Return whether each key is the number of a choice, from 0 or from 1, and all numbers occur."""
    if not all(map(str.isdecimal, keys)):
        return False
    numbers = np.array(list(map(int, keys)))
    start = numbers.min()
    if start not in (0, 1):
        return False
    # A flag has fewer values than there are choices.
    if len({*keys}) < sizes.max():
        return False
    positions = numbers - start
    return bool((positions < sizes).all())


def _are_letters(keys: Sequence[str], sizes: NDArray[np.int64]) -> bool:
    """Return whether each key is the letter of a choice."""
    positions = np.array(list(map(_find_letter, keys)))
    is_letter = positions >= 0
    is_within = positions < sizes
    is_choice = is_letter & is_within
    return bool(is_choice.all())


def _find_letter(key: str) -> int:
    """Return the position of a letter in the alphabet; -1 for other texts."""
    # The alphabet contains "ab" as well.
    if len(key) != 1:
        return -1
    return string.ascii_lowercase.find(key)


def _list_positions(contents: Contents, label: str, lists: ChoiceLists) -> list[int]:
    """Return the position of the choice that a column of each row points to."""
    keys = list(map(make_key, contents.get_cells(label)))
    names = lists.marks or lists.texts
    # Numbers count from 0 or from 1.
    numbers = [int(key) for key in keys if key.isdecimal()]
    start = min(numbers, default=0)
    positions = []
    for key, row in zip(keys, names, strict=True):
        row_keys = list(map(make_key, row))
        if key in row_keys:
            positions.append(row_keys.index(key))
        elif key.isdecimal():
            positions.append(int(key) - start)
        else:
            positions.append(_find_letter(key))
    return positions


def _is_question(cells: Sequence[Any], texts: Texts, right: Sequence[int]) -> bool:
    """Return whether texts neither repeat all choices nor single out the right one, as explanations do."""
    n_right = 0
    n_single = 0
    n_complete = 0
    for cell, row, position in zip(cells, texts, right, strict=True):
        matches = _find_choices(cell, row)
        n_complete += len(matches) == len(row)
        n_single += len(matches) == 1
        n_right += matches == [position]
    if 2 * n_complete > len(texts):
        return False
    # A few texts hold a choice by accident.
    if n_single < MIN_ROWS:
        return True
    # Passages hold right and wrong choices: the limit is halfway between chance and certainty.
    n_choices = sum(map(len, texts))
    chance = len(texts) / n_choices
    max_share = (1 + chance) / 2
    return n_right <= max_share * n_single


def _find_choices(text: Any, choices: Sequence[str]) -> list[int]:
    """Return the positions of the choices that a text contains, without the letters before them."""
    key = make_key(text or "")
    positions = []
    for position, choice in enumerate(choices):
        words = _LETTER.sub("", make_key(choice))
        if words in key:
            positions.append(position)
    return positions


# -------------------------------------------------------------------------- a column per choice


def _propose_columns(contents: Contents) -> ChoiceProposal | None:
    """Propose as many neighboring columns of texts as the only column of marks has values."""
    texts = []
    marks = []
    for name in contents:
        # Fields are parts of what a column holds.
        if "." in name:
            continue
        if contents[name].is_mark:
            marks.append(name)
        elif _may_be_choice(contents, name):
            texts.append(name)
    proposals = []
    for mark in marks:
        run = _find_run(contents, texts, contents[mark].n_values)
        prompt = [name for name in contents.list_texts(texts) if name not in run]
        # Without a question, they are texts to compare.
        if run and prompt:
            prompt.sort(key=texts.index)
            reason = f"as many columns of texts of similar length as {mark!r} has values"
            proposals.append(ChoiceProposal(tuple(prompt), run, mark, reason))
    # Two columns of marks may be a label and an answer.
    return proposals[0] if len(proposals) == 1 else None


def _may_be_choice(contents: Contents, name: str) -> bool:
    """Return whether a column holds texts, also of one word, most of which are different, and no ids or links."""
    content = contents[name]
    if content.kind != "text":
        return False
    if content.n_rows < MIN_ROWS:
        return False
    # Choices repeat less than classes do.
    if 2 * content.n_values <= content.n_rows:
        return False
    n_codes = 0
    for cell in contents.get_cells(name):
        text = str(cell).strip()
        n_codes += bool(_CODE.fullmatch(text))
    return 2 * n_codes <= content.n_rows


def _find_run(contents: Contents, texts: Sequence[str], n_choices: int) -> tuple[str, ...]:
    """Return the neighboring columns that are most alike in length; () if none may be choices."""
    run: tuple[str, ...] = ()
    min_ratio = np.inf
    for start in range(len(texts) - n_choices + 1):
        columns = tuple(texts[start : start + n_choices])
        ratio = _measure_length_ratio(contents, columns)
        # Passages and questions are longer or shorter than choices.
        if ratio < min_ratio:
            run = columns
            min_ratio = ratio
    if min_ratio > MAX_LENGTH_RATIO:
        return ()
    return run


def _measure_length_ratio(contents: Contents, names: Sequence[str]) -> float:
    """Return how much longer one column is than another; infinity if the columns cannot be choices."""
    columns = []
    lengths = []
    for name in names:
        keys = list(map(make_key, contents.get_cells(name)))
        columns.append(keys)
        key_lengths = list(map(len, keys))
        lengths.append(np.array(key_lengths))
    rows = list(zip(*columns, strict=True))
    n_distinct = 0
    for row in rows:
        n_values = len(set(row))
        n_distinct += n_values == len(row)
    # Choices of one item differ.
    if n_distinct < MIN_SHARE_OF_DISTINCT * len(rows):
        return np.inf
    # Two texts are pairs more often than choices.
    if len(names) == 2 and not _are_equally_long(*lengths):
        return np.inf
    means = np.mean(lengths, axis=1)
    return float(means.max() / max(1, means.min()))


def _are_equally_long(lengths: NDArray[np.int64], other_lengths: NDArray[np.int64]) -> bool:
    """Return whether each of two columns is the longer one about equally often, by a sign test."""
    # Few tables need it, and scipy.stats takes long to load.
    from scipy.stats import binomtest

    is_longer = lengths > other_lengths
    is_unequal = lengths != other_lengths
    n_longer = int(is_longer.sum())
    n_unequal = int(is_unequal.sum())
    # Without any difference there is nothing to test.
    if not n_unequal:
        return True
    return bool(binomtest(n_longer, n_unequal).pvalue > MIN_LENGTH_P_VALUE)
