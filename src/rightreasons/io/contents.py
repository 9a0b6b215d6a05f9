"""What the cells of a column hold, whatever its heading says: texts, classes, numbers or codes.

`describe_contents` looks at a sample of the rows of a table. Contents propose what a column means where no heading
says it, and contradict a heading that cannot be true; they never decide in silence, because gold labels and answers,
or two sets of texts, have the same contents. `roles.py` combines them with the headings.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.limits import MAX_COLUMNS
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.io.cells import (
    are_numeric,
    is_list_of_one,
    parse_cell,
    parse_number,
    unwrap_value,
)
from rightreasons.io.score_cells import MAX_SUM_ERROR

MAX_SAMPLED_ROWS = 2_000
"""Number of rows that are looked at."""

MIN_ROWS = 10
"""Number of rows below which contents propose nothing: nearly everything fits a few rows."""

MAX_CLASSES = 50
MAX_CLASS_LETTERS = 60
MIN_REPEATS = 2.5
"""Mean number of rows per class from which on values are classes rather than names of rows."""

MAX_CHOICES = 26
"""Choices have letters."""

MIN_TEXT_LETTERS = 7
MAX_TEXT_FREE_LETTERS = 25
"""Mean number of letters up to which values that repeat are classes, and not texts read by several people."""

MIN_FRACTIONS = 4
"""Number of distinct fractions below which they are flags, or shares of a few raters."""

MIN_SHARE_OF_SUMS = 0.99
"""Share of rows in which scores of classes add up to 1."""

# Codes, links, hashes, dates and numbers: signs of ASCII without a space.
_CODE = re.compile(r"[\w.:/@#?=&%+\-]+|\d{4}-\d\d-\d\d[ T][\d:.Z+]+", re.ASCII)


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """A summary of the cells of one column.

    Attributes:
        n_rows: The number of sampled cells that are not empty.
        n_values: The number of distinct values among them.
        kind: "text", "number", "flag", "list" (of several texts), "marks" (0 or 1 by class), "shares" (numbers by class
            that add up to 1), "mixed" (other objects, or several types) or "empty".
        n_letters: The mean number of letters per cell.
        spaced: The share of cells of more than one word.
        coded: The share of cells that look like a code, a link or a date.
        numbers: (n,) the sampled numbers, NaN for empty cells; None unless all cells are numbers.
        in_lists: Whether each cell is a list of one value.
    """

    n_rows: int
    n_values: int
    kind: str
    n_letters: float = 0.0
    spaced: float = 0.0
    coded: float = 0.0
    numbers: NDArray[np.float64] | None = None
    in_lists: bool = False

    @property
    def has_classes(self) -> bool:
        """Whether the values repeat as those of classes do, or mark which classes hold."""
        if self.kind == "marks":
            return self.n_rows >= MIN_ROWS and self.n_values >= 2
        if self.n_rows < MIN_ROWS or not 2 <= self.n_values <= MAX_CLASSES:
            return False
        # Values that hardly repeat are names of rows.
        if self.n_rows < MIN_REPEATS * self.n_values:
            return False
        if self.numbers is not None:
            return _are_consecutive(self.numbers)
        if self.kind == "flag":
            return True
        return self.kind == "text" and self.n_letters <= MAX_CLASS_LETTERS

    @property
    def has_texts(self) -> bool:
        """Whether the cells are texts to read, most of which occur once or a few times."""
        if self.kind != "text" or self.in_lists or self.n_rows < MIN_ROWS:
            return False
        if self.coded > 0.5:
            return False
        # A script without spaces has texts of one "word".
        is_worded = self.spaced > 0.3 or self.n_letters > 2 * MIN_TEXT_LETTERS
        if not is_worded:
            return False
        if self.n_letters < MIN_TEXT_LETTERS:
            return False
        # Few short values are the names of classes, however few rows there are.
        if self.has_classes and self.n_letters <= MAX_TEXT_FREE_LETTERS:
            return False
        return 5 * self.n_values > self.n_rows

    @property
    def has_distinct_texts(self) -> bool:
        """Whether the cells are texts, also short ones, most of which occur once, and no codes or links."""
        # Other kinds have no codes.
        if self.kind != "text" or self.coded > 0.5:
            return False
        return 2 * self.n_values > self.n_rows

    @property
    def is_mark(self) -> bool:
        """Whether the values number classes, or are single letters."""
        if not self.has_classes:
            return False
        return self.numbers is not None or self.n_letters == 1

    @property
    def has_shares(self) -> bool:
        """Whether each cell is a list or an object of scores of all classes."""
        return self.kind == "shares" and self.n_rows >= MIN_ROWS

    @property
    def is_constant(self) -> bool:
        """Whether all rows hold one value."""
        return self.n_rows >= MIN_ROWS and self.n_values == 1

    @property
    def has_fractions(self) -> bool:
        """Whether the cells are different numbers from 0 to 1, as confidences are."""
        return self._has_numbers_between(0, 1)

    @property
    def has_log_fractions(self) -> bool:
        """Whether the cells are different numbers up to 0, not all of them whole, as log-probabilities are."""
        if self.numbers is None or not self._has_numbers_between(-np.inf, 0):
            return False
        is_whole = self.numbers == np.floor(self.numbers)
        return not is_whole.all()

    def _has_numbers_between(self, lowest: float, highest: float) -> bool:
        """Return whether the cells are different numbers within these bounds."""
        if self.numbers is None:
            return False
        if self.n_rows < MIN_ROWS or self.n_values < MIN_FRACTIONS:
            return False
        smallest = np.nanmin(self.numbers)
        largest = np.nanmax(self.numbers)
        is_within = smallest >= lowest and largest <= highest
        return bool(is_within)


class Contents(Mapping[str, Content]):
    """The contents of the columns of a table, each of which is looked at when it is first asked for.

    Args:
        columns: Column name -> its cells.
        rows: The numbers of the rows to look at; None for all of them.
    """

    def __init__(self, columns: Mapping[str, Any], rows: NDArray[np.int64] | None = None) -> None:
        self._columns = columns
        self._rows = rows
        self._cache: dict[str, Content] = {}

    def __getitem__(self, name: str) -> Content:
        if name not in self._cache:
            self._cache[name] = describe_content(self.get_cells(name))
        return self._cache[name]

    def __contains__(self, name: object) -> bool:
        # Otherwise the column would be described for that.
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def list_texts(self, names: Iterable[str]) -> list[str]:
        """Return the columns that hold texts, the longest texts first."""
        texts = list(filter(lambda name: self[name].has_texts, names))
        texts.sort(key=lambda name: self[name].n_letters, reverse=True)
        return texts

    def list_classes(self, names: Iterable[str]) -> list[str]:
        """Return the columns whose values repeat as those of classes do."""
        columns = []
        for name in names:
            content = self[name]
            if content.has_classes and not content.has_texts:
                columns.append(name)
        return columns

    def list_votes(self, names: Iterable[str]) -> list[str]:
        """Return the columns whose cells list what several people said, some of them the same."""
        return list(filter(self._has_votes, names))

    def _has_votes(self, name: str) -> bool:
        n_votes = 0
        has_repeats = False
        values: set[str] = set()
        for cell in self.get_cells(name):
            votes = parse_value(cell)
            if not isinstance(votes, list):
                return False
            keys = [make_key(unwrap_value(vote)) for vote in votes]
            n_votes += len(keys)
            has_repeats = has_repeats or len({*keys}) < len(keys)
            values.update(keys)
        return (
            has_repeats and 2 <= len(values) <= MAX_CLASSES and n_votes >= MIN_REPEATS * len(values)
        )

    def list_choices(self, names: Iterable[str]) -> list[str]:
        """Return the columns that may be the choices of the items: one of lists, or as many of texts as there are marks.

        A column of the marks 0, 1, 2 or A, B, C counts the choices.
        """
        names = list(names)
        answers: list[str] = []
        n_marks = set()
        for name in names:
            content = self[name]
            if content.kind == "list" and self._may_list_choices(name, names):
                return [name]
            if content.is_mark:
                n_marks.add(content.n_values)
            elif content.has_distinct_texts:
                answers.append(name)
        # A question comes before its choices; several texts of an item are rarely marked by more than two classes.
        for n_choices in sorted(n_marks):
            if n_choices > 2 and len(answers) > n_choices:
                return answers[1:]
        return []

    def _may_list_choices(self, name: str, names: Iterable[str]) -> bool:
        """Return whether lists may hold choices, rather than words, or the votes or names of the classes of a column."""
        lists = []
        for cell in self.get_cells(name):
            lists.append(list(map(make_key, parse_value(cell) or ())))
        # Longer lists are the words of a text.
        if max(map(len, lists)) > MAX_CHOICES:
            return False
        if 2 * self[name].n_values > self[name].n_rows:
            return True
        for column in names:
            content = self[column]
            if content.kind != "text" or not content.has_classes:
                continue
            keys = map(make_key, self.get_cells(column))
            is_member = [key in values for key, values in zip(keys, lists, strict=True)]
            if np.mean(is_member) >= MIN_SHARE_OF_SUMS:
                return False
        return True

    def get_cells(self, name: str) -> Sequence[Any]:
        """Return the sampled cells of a column."""
        column = self._columns[name]
        if self._rows is None:
            return list(column)
        if isinstance(column, (np.ndarray, LazyArrowColumn)):
            return list(column[self._rows])
        return [column[int(row)] for row in self._rows]


def describe_contents(table: datasets.Dataset | Mapping[str, Any]) -> Contents:
    """Describe the columns of a table by a sample of its rows.

    Args:
        table: A Dataset, or columns of the same length by name.

    Returns:
        The contents by column.

    Example:
        >>> rows = {"x": ["The plot is thin.", "A fine cast."] * 6, "y": ["bad", "good"] * 6}
        >>> contents = describe_contents(rows)
        >>> contents.list_classes(contents), contents["x"].n_values
        (['x', 'y'], 2)
    """
    columns: dict[str, Any] = {}
    if isinstance(table, datasets.Dataset):
        arrow = table.with_format("arrow")[:]
        for name in arrow.column_names:
            columns[name] = LazyArrowColumn(arrow.column(name))
    else:
        columns.update(table)
    lengths = map(len, columns.values())
    n_rows = max(lengths, default=0)
    rows = None
    if n_rows > MAX_SAMPLED_ROWS:
        rows = sample_rows(n_rows)
    # A table may have hundreds of columns, of which few are looked at.
    return Contents(columns, rows)


def describe_content(cells: Sequence[Any]) -> Content:
    """Describe the cells of one column.

    Example:
        >>> content = describe_content(["0", "1", "1"] * 5)
        >>> content.kind, content.n_values, content.has_classes
        ('number', 2, True)
    """
    values = list(itertools.filterfalse(is_empty, map(parse_value, cells)))
    if not values:
        return Content(0, 0, "empty")
    # Some files write every value as a list of one.
    in_lists = all(map(is_list_of_one, values))
    if in_lists:
        values = list(map(unwrap_value, values))
    n_values = len(set(map(make_key, values)))
    numbers = None if in_lists else _parse_numbers(cells)
    if numbers is not None:
        return Content(len(values), n_values, "number", numbers=numbers)
    if not all(isinstance(value, str) for value in values):
        return Content(len(values), n_values, _find_kind(values), in_lists=in_lists)

    n_letters = 0
    n_spaced = 0
    n_coded = 0
    for value in values:
        n_letters += _count_letters(value)
        n_spaced += " " in value.strip()
        n_coded += _CODE.fullmatch(value) is not None
    return Content(
        n_rows=len(values),
        n_values=n_values,
        kind="text",
        n_letters=n_letters / len(values),
        spaced=n_spaced / len(values),
        coded=n_coded / len(values),
        in_lists=in_lists,
    )


def _find_kind(values: Sequence[Any]) -> str:
    """Return the kind of values that are neither numbers nor all of them texts."""
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(map(_is_list_of_texts, values)):
        return "list"
    table = _parse_numbers_by_class(values)
    if table is None:
        return "mixed"
    n_classes = table.shape[1]
    errors = np.abs(table.sum(axis=1) - 1)
    is_one = errors <= MAX_SUM_ERROR
    if np.isin(table, (0, 1)).all():
        # A list of flags may be anything; an object says what each of its marks is about.
        is_marked = is_one.all() or isinstance(values[0], dict)
        return "marks" if is_marked and n_classes <= MAX_CLASSES else "mixed"
    # A few rows may be broken.
    has_sums = is_one.mean() >= MIN_SHARE_OF_SUMS
    if table.min() < 0 or not has_sums:
        return "mixed"
    n_fractions = len(np.unique(table))
    return "shares" if n_fractions >= MIN_FRACTIONS else "mixed"


def _parse_numbers_by_class(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return (n, K) the numbers of lists of one length, or of objects of the same keys; None for other values."""
    if not all(isinstance(value, type(values[0])) for value in values):
        return None
    if isinstance(values[0], dict):
        keys: dict[str, None] = {}
        for value in values:
            keys |= dict.fromkeys(value)
        if len(keys) > MAX_COLUMNS:
            return None
        rows = [_list_numbers(value, keys) for value in values]
    elif isinstance(values[0], list):
        rows = list(values)
    else:
        return None
    widths = set(map(len, rows))
    if len(widths) != 1 or max(widths) < 2:
        return None
    # Texts among them are no shares.
    if not all(map(are_numeric, rows)):
        return None
    return np.array(rows, dtype=np.float64)


def _list_numbers(value: Mapping[str, Any], keys: Iterable[str]) -> list[Any]:
    """Return the numbers of an object by some keys; it leaves classes out that have no share."""
    return [value.get(key) or 0 for key in keys]


def parse_value(cell: Any) -> Any:
    """Return a cell as a plain value; a list or an object that a text writes is one."""
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return parse_cell(cell)


def _is_list_of_texts(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < 2:
        return False
    return all(isinstance(item, str) for item in value)


def sample_rows(n_rows: int) -> NDArray[np.int64]:
    """Return sorted row numbers, always the same ones of as many rows; random, since files are sorted."""
    rng = np.random.default_rng(0)
    rows = rng.choice(n_rows, MAX_SAMPLED_ROWS, replace=False)
    return np.sort(rows)


def is_empty(cell: Any) -> bool:
    """Return whether a cell is missing, a text without signs, or a list of nothing."""
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, list):
        return all(map(is_empty, cell))
    # NaN is not itself.
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan


def make_key(value: Any) -> str:
    """Return a value as it is compared: 1, 1.0 and "1" are one value, and so are Yes and yes."""
    # Lists and objects are compared by what they hold, not by their order of keys.
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str, sort_keys=True)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return unicodedata.normalize("NFKC", str(value)).strip().casefold()


def _parse_numbers(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the numbers of a column, as they are written in files; None if a cell holds anything else."""
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if isinstance(cell, (bool, list, dict)):
            return None
        number = parse_number(cell)
        # One word is enough for a column of texts.
        if number is None:
            return None
        numbers[row] = number
    return numbers


def _are_consecutive(numbers: NDArray[np.float64]) -> bool:
    """Return whether numbers count classes: whole ones from 0 or 1 without a gap, or -1 and 1."""
    values = np.unique(numbers[~np.isnan(numbers)])
    if values.tolist() == [-1, 1]:
        return True
    if values[0] not in (0, 1):
        return False
    steps = np.diff(values)
    return bool((steps == 1).all())


def _count_letters(text: str) -> int:
    # Marks are the vowels of many scripts.
    categories = map(unicodedata.category, text)
    return sum(category[0] in "LM" for category in categories)
