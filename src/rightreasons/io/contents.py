"""What the cells of a column hold, whatever its heading says: texts, classes, numbers or codes.

`describe_contents` looks at a sample of the rows of a table. Contents propose what a column means where no heading
says it, and contradict a heading that cannot be true; they never decide without a message, because gold labels and answers,
or two sets of texts, have the same contents. `roles.py` combines them with the headings.
"""

from __future__ import annotations

import dataclasses
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
        """Whether the values repeat as those of classes do, or are objects that mark classes."""
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
        if self.n_letters < MIN_TEXT_LETTERS:
            return False
        # Scripts without spaces have texts of one "word", which are recognized by their length.
        has_words = self.spaced > 0.3 or self.n_letters > 2 * MIN_TEXT_LETTERS
        if not has_words:
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
        """Return whether the cells are numbers within these bounds, `MIN_FRACTIONS` distinct ones or more.

        Fewer distinct numbers are flags, or shares of a few raters.
        """
        if self.numbers is None:
            return False
        if self.n_rows < MIN_ROWS or self.n_values < MIN_FRACTIONS:
            return False
        smallest = np.nanmin(self.numbers)
        largest = np.nanmax(self.numbers)
        return bool(lowest <= smallest and largest <= highest)


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
        """Return those of some columns that hold texts, the longest texts first."""
        texts = [name for name in names if self[name].has_texts]
        return sorted(texts, key=lambda name: self[name].n_letters, reverse=True)

    def list_classes(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns whose values repeat as those of classes do, and are no texts."""
        columns = []
        for name in names:
            content = self[name]
            if content.has_classes and not content.has_texts:
                columns.append(name)
        return columns

    def list_votes(self, names: Iterable[str]) -> list[str]:
        """Return those of some columns whose cells list what several people said, partly the same."""
        return [name for name in names if self._has_votes(name)]

    def _has_votes(self, name: str) -> bool:
        """Return whether each cell of a column is a list of votes, such as ["yes", "yes", "no"].

        Lists are votes if some of them repeat a value, and if few distinct values make up all of them.
        """
        n_votes = 0
        has_repeats = False
        values: set[str] = set()
        for cell in self.get_cells(name):
            votes = parse_value(cell)
            if not isinstance(votes, list):
                return False
            # Annotation tools may put each vote into a list.
            keys = [make_key(unwrap_value(vote)) for vote in votes]
            if len(set(keys)) < len(keys):
                has_repeats = True
            n_votes += len(keys)
            values.update(keys)
        if not has_repeats or not 2 <= len(values) <= MAX_CLASSES:
            return False
        return n_votes >= MIN_REPEATS * len(values)

    def list_choices(self, names: Iterable[str]) -> list[str]:
        """Return the columns that may hold the choices of items.

        Choices are one column of lists, or more columns of texts than a column of marks has values: the
        marks 0, 1, 2 or A, B, C say which choice is right, and the first text is then the question.

        Args:
            names: The columns to look at, in the order of the table.

        Returns:
            The columns; [] if there are none.
        """
        names = list(names)
        text_columns: list[str] = []
        mark_counts = set()
        for name in names:
            content = self[name]
            if content.kind == "list" and self._may_list_choices(name, names):
                return [name]
            if content.is_mark:
                mark_counts.add(content.n_values)
            elif content.has_distinct_texts:
                text_columns.append(name)
        for n_marks in sorted(mark_counts):
            # Two marks next to several texts are mostly the classes of a pair.
            if n_marks > 2 and len(text_columns) > n_marks:
                return text_columns[1:]
        return []

    def _may_list_choices(self, name: str, names: Iterable[str]) -> bool:
        """Return whether a column of lists of texts may hold choices, rather than words, votes or classes.

        Args:
            name: The column of lists.
            names: All columns; if one of them holds classes that are members of the lists, these are votes,
                or the names of the classes.
        """
        lists = []
        for cell in self.get_cells(name):
            members = parse_value(cell) or ()
            lists.append(list(map(make_key, members)))
        # Longer lists are the words of a text.
        if max(map(len, lists)) > MAX_CHOICES:
            return False
        # Votes repeat from row to row.
        if 2 * self[name].n_values > self[name].n_rows:
            return True
        for column in names:
            content = self[column]
            if content.kind != "text" or not content.has_classes:
                continue
            n_members = 0
            for cell, members in zip(self.get_cells(column), lists, strict=True):
                n_members += make_key(cell) in members
            share = n_members / len(lists)
            if share >= MIN_SHARE_OF_SUMS:
                return False
        return True

    def get_cells(self, name: str) -> Sequence[Any]:
        """Return the sampled cells of a column as a list."""
        column = self._columns[name]
        if self._rows is None:
            return list(column)
        # Arrays select all rows at once.
        if isinstance(column, (np.ndarray, LazyArrowColumn)):
            return list(column[self._rows])
        return [column[int(row)] for row in self._rows]


def describe_contents(table: datasets.Dataset | Mapping[str, Any]) -> Contents:
    """Summarize the cells of each column of a table, by a sample of at most `MAX_SAMPLED_ROWS` rows.

    Args:
        table: A Dataset, or columns of the same length by name.

    Returns:
        Column -> its `Content`, which is computed when it is first looked up.

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
    n_rows = max((len(column) for column in columns.values()), default=0)
    sample = None
    if n_rows > MAX_SAMPLED_ROWS:
        sample = sample_rows(n_rows)
    return Contents(columns, sample)


def describe_content(cells: Sequence[Any]) -> Content:
    """Summarize the cells of one column: how many values, of which kind, and how long the texts are.

    Args:
        cells: The cells; texts that write lists or objects count as these.

    Example:
        >>> content = describe_content(["0", "1", "1"] * 5)
        >>> content.kind, content.n_values, content.has_classes
        ('number', 2, True)
    """
    values = []
    for cell in cells:
        value = parse_value(cell)
        if not is_empty(value):
            values.append(value)
    if not values:
        return Content(0, 0, "empty")
    # Some files write every value as a list of one.
    in_lists = all(map(is_list_of_one, values))
    if in_lists:
        values = list(map(unwrap_value, values))
    n_values = len(set(map(make_key, values)))
    numbers = None
    if not in_lists:
        numbers = _parse_numbers(cells)
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
    """Return the kind of values that are neither numbers nor all of them texts.

    Args:
        values: The values of a column that are not empty.

    Returns:
        "flag" for booleans, "list" for lists of texts, "marks" for 0 or 1 by class, "shares" for
        numbers by class that add up to 1, and "mixed" for anything else.
    """
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(map(_is_list_of_texts, values)):
        return "list"
    table = _parse_numbers_by_class(values)
    if table is None:
        return "mixed"
    n_classes = table.shape[1]
    # (n,) whether the numbers of a row add up to 1.
    is_one = np.abs(table.sum(axis=1) - 1) <= MAX_SUM_ERROR
    if np.isin(table, (0, 1)).all():
        # The flags of a list may mean anything; an object names the class of each of its marks.
        has_marks = is_one.all() or isinstance(values[0], dict)
        return "marks" if has_marks and n_classes <= MAX_CLASSES else "mixed"
    # A few rows may be broken.
    if table.min() < 0 or is_one.mean() < MIN_SHARE_OF_SUMS:
        return "mixed"
    n_fractions = len(np.unique(table))
    return "shares" if n_fractions >= MIN_FRACTIONS else "mixed"


def _parse_numbers_by_class(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return (n, K) the numbers in lists of one length, or in objects by key; None for other values.

    Args:
        values: Lists such as [0.7, 0.3], or objects such as {"up": 0.7, "down": 0.3}. A key that an
            object lacks counts as 0.
    """
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
    # Texts and nested values are no numbers of classes.
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
    """Return whether a cell is None, NaN, a blank text, or a list of only such cells."""
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, list):
        return all(map(is_empty, cell))
    # NaN differs from itself.
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan


def make_key(value: Any) -> str:
    """Return the form in which values are compared: 1, 1.0 and "1" are equal, and so are Yes and yes.

    Lists and objects become JSON with sorted keys; other values a text in lower case and in one
    Unicode form.
    """
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str, sort_keys=True)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return unicodedata.normalize("NFKC", str(value)).strip().casefold()


def _parse_numbers(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return (N,) the numbers in a column, NaN for empty cells; None if a cell holds anything else.

    Numbers may be written as texts, also with a decimal comma or as percentages.
    """
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        # Python takes flags for numbers.
        if isinstance(cell, (bool, list, dict)):
            return None
        number = parse_number(cell)
        if number is None:
            return None
        numbers[row] = number
    return numbers


def _are_consecutive(numbers: NDArray[np.float64]) -> bool:
    """Return whether numbers count classes: whole numbers from 0 or 1 without a gap, or -1 and 1.

    Args:
        numbers: (N,) numbers, of which some are not NaN.
    """
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
