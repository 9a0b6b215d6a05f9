"""The question, the choices, and the correct choice of items, chosen by cells if no heading identifies the columns.

Choices are a column of lists of texts, or several columns of texts, as many as a column of marks such as 0, 1, 2 or A, B,
C has values. The correct choice is in the only column whose values are all numbers, names or texts of choices of their
row. `propose_choices` is the entry point. A warning reports its choice, because texts to compare look like choices.
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

from rightreasons.io.columns import quote_column, write_expression
from rightreasons.io.contents import MAX_CHOICES, MIN_ROWS, Contents, make_key, parse_value
from rightreasons.io.proposals.choice_lists import (
    ChoiceLists,
    Texts,
    list_split_texts,
    read_lists,
)

MIN_SHARE_OF_DISTINCT = 0.95
"""Minimum share of rows with distinct choices: some items repeat a choice by mistake."""

MAX_SHARE_OF_POSITION = 0.9
"""Maximum share of rows whose correct choices are at the same position, which authors of questions vary."""

MAX_LENGTH_RATIO = 2
"""Maximum ratio of the mean lengths of two columns of choices, which contain correct ones alike."""

MIN_LENGTH_P_VALUE = 0.01
"""Minimum p-value of the hypothesis that two columns of choices are equally often longer; answers and questions differ."""

MIN_UNLABELED_CHOICES = 3
"""Minimum number of columns that look like choices without a label; two texts may be a pair to compare."""

_LETTER = re.compile(r"^\(?[a-z]\s?[).:]\s*")
"""Matches the letter in front of a choice, as in "(b) yes"."""

_CODE = re.compile(r"\S*(\d\S*[a-z]|[a-z]\S*\d|[/_])\S*", re.IGNORECASE)
"""Matches ids and links: one sequence of letters with digits, slashes or underscores."""


@dataclasses.dataclass(frozen=True)
class ChoiceProposal:
    """The columns of items with choices that were chosen by their cells.

    Attributes:
        prompt: Columns of the question.
        choices: One column, or expression, of lists of choices, or a column per choice.
        label: Column, or expression, of the correct choice.
        reason: A phrase with the reason.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str
    reason: str

    @property
    def in_words(self) -> str:
        """A sentence that reports the columns, with the options that name others."""
        prompts = ", ".join(map(repr, self.prompt))
        choices = ", ".join(map(repr, self.choices))
        return (
            "No heading identifies the columns of questions and choices, so the question is "
            f"{prompts}, the choices are {choices}, and the correct choice is {self.label!r} "
            f"({self.reason}). Name other columns with `prompt_column`, `choices_column` and "
            "`label_column`, or the column of texts to classify with `text_column`."
        )


def propose_choices(contents: Contents) -> ChoiceProposal | None:
    """Choose the columns of the question, the choices and the correct choice by their cells.

    Choices may be lists in one column, texts with separators, or in a column per choice.

    Args:
        contents: Column, or field of objects -> the summary of its cells.

    Returns:
        The columns; None if no columns fit, or if several may be the same.

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
    candidates = list(_iterate_lists(contents))
    if len(candidates) == 1:
        return _propose_lists(contents, candidates[0])
    # None of several columns of lists is preferred.
    if candidates:
        return None
    proposal = _propose_split_texts(contents)
    if proposal is not None:
        return proposal
    return _propose_columns(contents)


# --------------------------------------------------------------------------- lists of choices


def _iterate_lists(contents: Contents) -> Iterator[ChoiceLists]:
    """Yield the choices in each column of lists, or of objects, that may contain choices.

    Args:
        contents: Column, or field of objects -> the summary of its cells.
    """
    accepted: list[ChoiceLists] = []
    for name in contents:
        # A field of the objects in such a column ("choices.text") has the same choices.
        if any(lists.contains(name) for lists in accepted):
            continue
        # Only these kinds of cells can be lists or objects.
        if contents[name].kind not in ("list", "mixed", "marks", "shares"):
            continue
        cells = list(map(parse_value, contents.get_cells(name)))
        lists = read_lists(name, cells)
        if lists is not None and _are_choices(lists):
            accepted.append(lists)
            yield lists


def _are_choices(lists: ChoiceLists) -> bool:
    """Return whether lists may be choices: each has distinct texts, and most rows have different lists.

    Lists that repeat from row to row are votes or classes.

    Args:
        lists: The choices of each row, with `texts` (n lists of strings) and `sizes` (n numbers of choices).
    """
    n_rows = len(lists.texts)
    if n_rows < MIN_ROWS:
        return False
    sizes = lists.sizes
    if sizes.min() < 2 or sizes.max() > MAX_CHOICES:
        return False
    n_without_repeats = 0
    distinct_sets = set()
    for texts in lists.texts:
        # Sets of the same texts are equal in any order.
        choices = frozenset(texts)
        n_without_repeats += len(choices) == len(texts)
        distinct_sets.add(choices)
    if n_without_repeats < MIN_SHARE_OF_DISTINCT * n_rows:
        return False
    # More than half of the lists have to be distinct.
    return 2 * len(distinct_sets) > n_rows


def _has_constant_choice(lists: ChoiceLists) -> bool:
    """Return whether the choice at any position is the same in all rows.

    Such lists are the segments of texts with a template ("Question: … Answer: …"), and not choices.

    Args:
        lists: The choices of each row, with `texts` (n lists of strings) and `sizes` (n numbers of choices).
    """
    n_common = lists.sizes.min()
    for position in range(n_common):
        texts = {row[position] for row in lists.texts}
        if len(texts) == 1:
            return True
    return False


def _propose_lists(contents: Contents, lists: ChoiceLists) -> ChoiceProposal | None:
    """Choose the column of the correct choice and the columns of the question, for choices in one column.

    Args:
        contents: Column -> the summary of its cells.
        lists: The choices of each row, perhaps with marks of the correct ones.

    Returns:
        The columns; None if no column, or several, may identify the correct choice, or if no column is a
        question.
    """
    label = lists.label
    reason = "marked among the choices"
    positions = lists.positions
    if not label:
        label_column = find_pointing_column(contents, lists)
        if not label_column:
            return None
        label = name_right_choice(contents, label_column, lists)
        reason = "each of its values is a choice of its row"
        positions = _list_positions(contents, label_column, lists)
    prompt = []
    for name in contents:
        if lists.contains(name) or not contents[name].has_texts:
            continue
        if _is_question(contents.get_cells(name), lists.texts, positions):
            prompt.append(name)
    if not prompt:
        return None
    return ChoiceProposal(tuple(prompt), (lists.expression,), label, reason)


def name_right_choice(contents: Contents, label: str, lists: ChoiceLists) -> str:
    """Return the column, or the expression, from which the correct choice can be read.

    The reader of choices needs no expression for numbers, letters and texts. For names that the data
    gives to the choices, an expression looks up their position.

    Args:
        contents: Column -> the summary of its cells.
        label: The column whose values are choices of their rows.
        lists: The choices.

    Returns:
        The column, or an expression such as "{{ (options.keys() | list).index(label) }}".
    """
    cells = contents.get_cells(label)
    keys = list(map(make_key, cells))
    if not lists.marks_expression or not _are_members(keys, lists.marks):
        return label
    term = quote_column(label)
    # Names of choices are strings, even if they are digits.
    if not all(isinstance(cell, str) for cell in cells):
        term += " | string"
    return write_expression(f"({lists.marks_expression}).index({term})")


def _propose_split_texts(contents: Contents) -> ChoiceProposal | None:
    """Choose the only column of texts that a separator splits into choices; None if none fits, or several.

    Args:
        contents: Column -> the summary of its cells.
    """
    candidates = []
    for name in contents:
        lists = find_split_texts(contents, name)
        if lists is not None:
            candidates.append(lists)
    if len(candidates) != 1:
        return None
    return _propose_lists(contents, candidates[0])


def find_split_texts(contents: Contents, name: str, label: str = "") -> ChoiceLists | None:
    """Split the texts of a column into choices, if exactly one separator leads to choices.

    A separator is accepted if another column identifies the correct segment. Without this condition, any
    sentence with commas would be a list of choices.

    Args:
        contents: Column -> the summary of its cells.
        name: The column of texts, such as "red | green | blue".
        label: The column of the correct choice; "" if it may be any column.

    Returns:
        The choices; None if no separator fits, or if several do.
    """
    content = contents[name]
    # `has_distinct_texts` excludes links and dates, which have separators as well.
    if not content.has_distinct_texts or content.n_rows < MIN_ROWS:
        return None
    label_columns = [label]
    if not label:
        label_columns = list(contents)
    candidates = []
    for lists in list_split_texts(name, contents.get_cells(name)):
        if not _are_choices(lists) or _has_constant_choice(lists):
            continue
        for column in label_columns:
            if column != name and _varies_among(contents, column, lists):
                candidates.append(lists)
                break
    if len(candidates) != 1:
        return None
    return candidates[0]


def _varies_among(contents: Contents, label: str, lists: ChoiceLists) -> bool:
    """Return whether a column identifies a choice in each row, at varying positions.

    For example, the class "yes" of the text "yes: it rains" is always the first segment at the separator
    ":", so that the segments are not choices.

    Args:
        contents: Column -> the summary of its cells.
        label: The column.
        lists: The choices of each row.
    """
    if not _points_into(contents, label, lists):
        return False
    counts = Counter(_list_positions(contents, label, lists))
    n_most_frequent = max(counts.values())
    return n_most_frequent <= MAX_SHARE_OF_POSITION * len(lists.texts)


def find_choice_lists(contents: Contents, name: str, label: str = "") -> ChoiceLists | None:
    """Read the choices from a column whose heading shows that it contains choices.

    Args:
        contents: Column -> the summary of its cells.
        name: The column of lists, objects or texts with separators.
        label: The column of the correct choice; "" if no heading identifies it.

    Returns:
        The choices; None if their format is unknown.
    """
    values = list(map(parse_value, contents.get_cells(name)))
    lists = read_lists(name, values)
    if lists is None:
        return find_split_texts(contents, name, label)
    if not _are_choices(lists):
        return None
    return lists


def propose_right_choice(contents: Contents, choices: Sequence[str]) -> str:
    """Return the only column that identifies the correct choice, for known columns of choices.

    Args:
        contents: Column -> the summary of its cells.
        choices: A column of lists of choices, or a column per choice.

    Returns:
        The column, or the expression that reads marks among the choices; "" if no column fits, or if several
        do.
    """
    # The cells of choices that are expressions are not known here.
    if not all(name in contents for name in choices):
        return ""
    columns = []
    for name in choices:
        columns.append(list(map(parse_value, contents.get_cells(name))))
    if len(choices) == 1:
        lists = read_lists(choices[0], columns[0])
    else:
        rows = []
        for cells in zip(*columns, strict=True):
            # The last columns are empty for items with fewer choices.
            rows.append([cell for cell in cells if cell])
        lists = read_lists("", rows)
    if lists is None:
        return ""
    if lists.label:
        return lists.label
    return find_pointing_column(contents, lists, excluded=choices)


def find_pointing_column(
    contents: Contents, lists: ChoiceLists, excluded: Sequence[str] = ()
) -> str:
    """Return the only column in which each value identifies a choice of its row.

    Args:
        contents: Column -> the summary of its cells.
        lists: The choices of each row.
        excluded: Columns to leave out, such as those of the choices.

    Returns:
        The column; "" if there is no such column, or if there are several, because one may be the answers
        of a model.
    """
    columns = []
    for name in contents:
        if lists.contains(name) or name in excluded:
            continue
        if _points_into(contents, name, lists):
            columns.append(name)
    if len(columns) != 1:
        return ""
    return columns[0]


def _points_into(contents: Contents, name: str, lists: ChoiceLists) -> bool:
    """Return whether each value of a column is the name, text, number or letter of a choice of its row.

    Args:
        contents: Column -> the summary of its cells.
        name: The column.
        lists: The choices of each row: their `texts`, their names (`marks`), their number (`sizes`), and
            `pointer`, which shows whether numbers and letters may identify a choice.
    """
    content = contents[name]
    if content.n_values < 2 or content.kind not in ("text", "number"):
        return False
    keys = list(map(make_key, contents.get_cells(name)))
    if _are_members(keys, lists.marks) or _are_members(keys, lists.texts):
        return True
    # Numbers and letters do not identify choices that are fields of an object.
    if lists.pointer == "name":
        return False
    sizes = lists.sizes
    # Numbers and letters may have another meaning. If it is uncertain that the lists are choices at all,
    # their number has to be fixed, and each position has to occur.
    is_complete = sizes.min() == sizes.max() == content.n_values
    if lists.pointer == "complete" and not is_complete:
        return False
    return _are_numbers(keys, sizes) or _are_letters(keys, sizes)


def _are_members(keys: Sequence[str], names: Texts) -> bool:
    """Return whether each key is one of the names in its row; False if there are no names.

    Args:
        keys: (n,) values in the form in which they are compared; see `make_key`.
        names: (n,) lists of the names, or texts, of choices in their original spelling; empty if there are none.
    """
    if not names:
        return False
    n_members = 0
    for key, row in zip(keys, names, strict=True):
        row_keys = list(map(make_key, row))
        n_members += key in row_keys
    return n_members == len(keys)


def _are_numbers(keys: Sequence[str], sizes: NDArray[np.int64]) -> bool:
    """Return whether each key is the number of a choice, counted from 0 or 1, and all numbers occur.

    Args:
        keys: (n,) values as strings.
        sizes: (n,) number of choices in each row.
    """
    if not all(key.isdecimal() for key in keys):
        return False
    numbers = np.array(list(map(int, keys)))
    start = numbers.min()
    if start not in (0, 1):
        return False
    # A flag of 0 and 1 does not identify one of four choices.
    if len(set(keys)) < sizes.max():
        return False
    positions = numbers - start
    return bool((positions < sizes).all())


def _are_letters(keys: Sequence[str], sizes: NDArray[np.int64]) -> bool:
    """Return whether each key is the letter of a choice of its row.

    Args:
        keys: (n,) values in lower case.
        sizes: (n,) number of choices in each row.
    """
    positions = np.array(list(map(_find_letter, keys)))
    is_letter = positions >= 0
    is_within = positions < sizes
    is_choice = is_letter & is_within
    return bool(is_choice.all())


def _find_letter(key: str) -> int:
    """Return the position of a letter in the alphabet; -1 for any other string."""
    # `find` also finds strings of several letters, such as "ab".
    return string.ascii_lowercase.find(key) if len(key) == 1 else -1


def _list_positions(contents: Contents, label: str, lists: ChoiceLists) -> list[int]:
    """Return (n,) the position of the choice that a column identifies in each row; -1 if it identifies none.

    Args:
        contents: Column -> the summary of its cells.
        label: The column, with names or texts of choices, numbers or letters.
        lists: The choices of each row.
    """
    keys = list(map(make_key, contents.get_cells(label)))
    names = lists.marks or lists.texts
    # Numbers may count from 0 or from 1, so the smallest number is that of the first choice.
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


def _is_question(cells: Sequence[Any], texts: Texts, right_positions: Sequence[int]) -> bool:
    """Return whether a column of texts is a question or passage, and not a list or an explanation.

    A list of the choices contains all of them. An explanation contains mostly the correct one.

    Args:
        cells: (n,) texts of the column.
        texts: (n,) lists of the choices.
        right_positions: (n,) positions of the correct choices.
    """
    # Numbers of texts that mention all choices, only one choice, and only the correct one.
    n_complete = 0
    n_single = 0
    n_correct = 0
    for cell, choices, right_position in zip(cells, texts, right_positions, strict=True):
        mentioned = _find_choices(cell, choices)
        n_complete += len(mentioned) == len(choices)
        n_single += len(mentioned) == 1
        n_correct += mentioned == [right_position]
    if 2 * n_complete > len(texts):
        return False
    # A few texts contain a choice by accident.
    if n_single < MIN_ROWS:
        return True
    # If a passage mentions one choice, this is the correct one about as often as by chance. In an
    # explanation it nearly always is. The limit is halfway between the two shares.
    n_choices = sum(map(len, texts))
    chance = len(texts) / n_choices
    max_share = (1 + chance) / 2
    return n_correct <= max_share * n_single


def _find_choices(text: Any, choices: Sequence[str]) -> list[int]:
    """Return the positions of the choices that a text contains, in any letter case.

    The letter in front of a choice such as "(b) yes" is ignored.

    Args:
        text: The text; None for a missing one.
        choices: The choices of an item.
    """
    text_key = make_key(text or "")
    positions = []
    for position, choice in enumerate(choices):
        choice_key = _LETTER.sub("", make_key(choice))
        if choice_key in text_key:
            positions.append(position)
    return positions


# -------------------------------------------------------------------------- a column per choice


def _propose_columns(contents: Contents) -> ChoiceProposal | None:
    """Choose neighboring columns of texts as the choices, as many as another column has marks.

    For example, four columns of answers next to a column of the letters A to D.

    Args:
        contents: Column -> the summary of its cells.

    Returns:
        The columns; None if no columns fit, or if several columns of letters or numbers do, because one
        may be the answers of a model.
    """
    text_columns = []
    mark_columns = []
    for name in contents:
        # Fields of objects, such as "meta.source", are not considered.
        if "." in name:
            continue
        if contents[name].is_mark:
            mark_columns.append(name)
        elif may_be_choice(contents, name):
            text_columns.append(name)
    proposals = []
    for mark_column in mark_columns:
        n_choices = contents[mark_column].n_values
        choices = _find_similar_neighbors(contents, text_columns, n_choices)
        question_columns = contents.list_texts(text_columns)
        prompt = [name for name in text_columns if name in question_columns and name not in choices]
        # Without a question, the columns are texts to compare.
        if choices and prompt:
            reason = f"as many columns of texts of similar length as {mark_column!r} has values"
            proposals.append(ChoiceProposal(tuple(prompt), choices, mark_column, reason))
    if len(proposals) != 1:
        return None
    return proposals[0]


def find_unlabeled_choices(contents: Contents) -> tuple[str, ...]:
    """Return three or more neighboring columns of similar texts, next to a question, in a table without labels.

    One of them may always be the correct choice, such as a correct answer next to distractors.

    Args:
        contents: Column -> the summary of its cells.

    Returns:
        The columns; empty if no columns fit.
    """
    text_columns = []
    for name in contents:
        if "." not in name and may_be_choice(contents, name):
            text_columns.append(name)
    # At least one column remains for the question.
    for n_choices in range(len(text_columns) - 1, MIN_UNLABELED_CHOICES - 1, -1):
        choices = _find_similar_neighbors(contents, text_columns, n_choices)
        if choices:
            return choices
    return ()


def may_be_choice(contents: Contents, name: str) -> bool:
    """Return whether a column may contain a choice of each item: mostly distinct texts, and not ids or links.

    A choice may be a single word.

    Args:
        contents: Column -> the summary of its cells.
        name: The column.
    """
    content = contents[name]
    if content.kind != "text":
        return False
    if content.n_rows < MIN_ROWS:
        return False
    # Values that repeat more often are classes.
    if 2 * content.n_values <= content.n_rows:
        return False
    n_codes = 0
    for cell in contents.get_cells(name):
        text = str(cell).strip()
        n_codes += _CODE.fullmatch(text) is not None
    return 2 * n_codes <= content.n_rows


def _find_similar_neighbors(
    contents: Contents, text_columns: Sequence[str], n_choices: int
) -> tuple[str, ...]:
    """Return the neighboring columns of texts whose mean lengths are the most similar.

    These are likely the choices, because questions and passages are longer or shorter.

    Args:
        contents: Column -> the summary of its cells.
        text_columns: The columns, in the order of the table.
        n_choices: The number of columns to return.

    Returns:
        The columns; empty if even the most similar ones cannot be choices.
    """
    best_columns: tuple[str, ...] = ()
    min_ratio = np.inf
    for start in range(len(text_columns) - n_choices + 1):
        columns = tuple(text_columns[start : start + n_choices])
        ratio = _measure_length_ratio(contents, columns)
        if ratio < min_ratio:
            best_columns = columns
            min_ratio = ratio
    if min_ratio > MAX_LENGTH_RATIO:
        return ()
    return best_columns


def _measure_length_ratio(contents: Contents, names: Sequence[str]) -> float:
    """Return the ratio of the largest to the smallest mean length of some columns of texts.

    Args:
        contents: Column -> the summary of its cells.
        names: Columns that may be the choices of the items.

    Returns:
        The ratio. It is infinite if the columns cannot be choices, because many rows repeat a text, or
        because one of two columns is usually longer, like answers next to questions.
    """
    columns = []
    lengths = []
    for name in names:
        keys = list(map(make_key, contents.get_cells(name)))
        columns.append(keys)
        lengths.append(np.array(list(map(len, keys))))
    rows = list(zip(*columns, strict=True))
    n_distinct = 0
    for row in rows:
        n_distinct += len(set(row)) == len(row)
    if n_distinct < MIN_SHARE_OF_DISTINCT * len(rows):
        return np.inf
    if len(names) == 2 and not _are_equally_long(lengths[0], lengths[1]):
        return np.inf
    mean_lengths = np.mean(lengths, axis=1)
    # The mean length is 0 if all texts of a column are empty.
    return float(mean_lengths.max() / max(1, mean_lengths.min()))


def _are_equally_long(lengths: NDArray[np.int64], other_lengths: NDArray[np.int64]) -> bool:
    """Return whether each of two columns of texts is the longer one about equally often.

    Args:
        lengths: (n,) lengths of the texts of one column.
        other_lengths: (n,) lengths of the texts of the other column.

    Returns:
        False if a two-sided sign test rejects equal chances, at the level `MIN_LENGTH_P_VALUE`.
    """
    # Few tables need scipy.stats, which takes long to load.
    from scipy.stats import binomtest

    n_longer = int((lengths > other_lengths).sum())
    n_unequal = int((lengths != other_lengths).sum())
    # The test needs at least one difference.
    if n_unequal == 0:
        return True
    p_value = binomtest(n_longer, n_unequal).pvalue
    return bool(p_value > MIN_LENGTH_P_VALUE)
