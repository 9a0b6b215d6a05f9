"""Summaries of the cells of columns: texts, classes, numbers or codes, whatever the heading.

`describe_contents` summarizes a sample of the rows of a table. Without a usual heading, a column is chosen for a role by
its contents, and contents may contradict a heading. A message reports both, because gold labels and answers, or two
columns of texts, have similar contents. `roles.py` combines contents and headings.
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
"""Maximum number of rows that are read to summarize a table."""

MIN_ROWS = 10
"""Minimum number of rows for conclusions from contents, which fewer rows may suggest by accident."""

MAX_CLASSES = 50
MAX_CLASS_LETTERS = 60
MAX_GRADE = 10
MIN_REPEATS = 2.5
"""Minimum mean number of rows per value of a column of classes; values that repeat less are names of rows."""

MAX_CHOICES = 26
"""Maximum number of choices, which are lettered from A to Z."""

MIN_TEXT_LETTERS = 7
MAX_TEXT_FREE_LETTERS = 25
"""Maximum mean number of letters of repeated values that are classes, and not texts read by several people."""

MAX_COPIES = 5
"""Maximum mean number of copies of each text in a column of texts to read, such as one per system or rater."""

MAX_CODED_SHARE = 0.5
"""Maximum share of cells of a column of texts that look like codes, links or dates."""

MIN_SPACED_SHARE = 0.3
"""Minimum share of cells with several words in a column of texts, in scripts with spaces."""

MIN_FRACTIONS = 4
"""Minimum number of distinct fractions of scores; fewer are flags, or shares of a few raters."""

MIN_SHARE_OF_SUMS = 0.99
"""Minimum share of rows in which the scores of all classes add up to 1."""

# Codes, links, hashes, dates and numbers: characters of ASCII without a space.
_CODE = re.compile(r"[\w.:/@#?=&%+\-]+|\d{4}-\d\d-\d\d[ T][\d:.Z+]+", re.ASCII)


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """A summary of the cells of one column.

    Attributes:
        n_rows: The number of sampled cells that are not empty.
        n_values: The number of distinct values of these cells.
        kind: "text", "number", "flag" (booleans), "list" (of several texts), "marks" (0 or 1 by class), "shares" (numbers
            by class that add up to 1), "mixed" (other objects, or several types) or "empty".
        n_letters: The mean number of letters per cell.
        width: The mean width of these letters, 2 for an ideograph and similar letters and 1 for others.
        spaced: The share of cells with more than one word.
        coded: The share of cells that look like a code, a link or a date.
        numbers: (n,) the sampled numbers, NaN for empty cells; None unless all cells are numbers.
        in_lists: Whether each cell is a list of one value.
    """

    n_rows: int
    n_values: int
    kind: str
    n_letters: float = 0.0
    width: float = 0.0
    spaced: float = 0.0
    coded: float = 0.0
    numbers: NDArray[np.float64] | None = None
    in_lists: bool = False

    @property
    def has_classes(self) -> bool:
        """Whether the values repeat like those of classes, or are objects that mark classes by 0 and 1."""
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
    def has_grades(self) -> bool:
        """Whether the values repeat like grades of a scale that are not all used, such as 1, 2, 4 and 5."""
        if self.numbers is None or self.has_classes or self.n_rows < MIN_ROWS:
            return False
        if self.n_values < 2 or self.n_rows < MIN_REPEATS * self.n_values:
            return False
        values = self.numbers[~np.isnan(self.numbers)]
        is_whole = values == np.floor(values)
        return bool(is_whole.all() and np.abs(values).max() <= MAX_GRADE)

    @property
    def has_texts(self) -> bool:
        """Whether the cells are texts to read, with at most a few copies each, and not classes or codes."""
        if self.kind != "text" or self.in_lists or self.n_rows < MIN_ROWS:
            return False
        # An ideograph says as much as several letters.
        if self.coded > MAX_CODED_SHARE or self.width < MIN_TEXT_LETTERS:
            return False
        # Texts of scripts without spaces look like one word, and are recognized by their length.
        is_long = self.width > 2 * MIN_TEXT_LETTERS
        if self.spaced <= MIN_SPACED_SHARE and not is_long:
            return False
        # Short values that repeat are the names of classes.
        if self.has_classes and self.n_letters <= MAX_TEXT_FREE_LETTERS:
            return False
        return MAX_COPIES * self.n_values > self.n_rows

    @property
    def has_distinct_texts(self) -> bool:
        """Whether the cells are texts of any length that hardly repeat, and not codes or links."""
        if self.kind != "text" or self.coded > MAX_CODED_SHARE:
            return False
        # Most texts occur only once if more than half of the values are distinct.
        return 2 * self.n_values > self.n_rows

    @property
    def is_mark(self) -> bool:
        """Whether the values are numbers of classes, or single letters."""
        if not self.has_classes:
            return False
        return self.numbers is not None or self.n_letters == 1

    @property
    def has_shares(self) -> bool:
        """Whether each cell is a list or an object of scores of all classes."""
        return self.kind == "shares" and self.n_rows >= MIN_ROWS

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same value."""
        return self.n_rows >= MIN_ROWS and self.n_values == 1

    @property
    def has_fractions(self) -> bool:
        """Whether the cells are numbers from 0 to 1 that differ, like confidences."""
        return self._has_numbers_between(0, 1)

    @property
    def has_log_fractions(self) -> bool:
        """Whether the cells are numbers up to 0 that differ, and not only integers, like log-probabilities."""
        if self.numbers is None or not self._has_numbers_between(-np.inf, 0):
            return False
        # NaN, which differs from itself, is no fraction.
        values = self.numbers[~np.isnan(self.numbers)]
        is_whole = values == np.floor(values)
        return not is_whole.all()

    def _has_numbers_between(self, lowest: float, highest: float) -> bool:
        """Return whether the cells are numbers between two bounds, with at least `MIN_FRACTIONS` distinct values.

        Args:
            lowest: The lower bound, inclusive.
            highest: The upper bound, inclusive.
        """
        if self.numbers is None:
            return False
        if self.n_rows < MIN_ROWS or self.n_values < MIN_FRACTIONS:
            return False
        smallest = np.nanmin(self.numbers)
        largest = np.nanmax(self.numbers)
        return bool(lowest <= smallest and largest <= highest)


class Contents(Mapping[str, Content]):
    """The summaries of the columns of a table by column name, each computed when it is first used."""

    def __init__(self, columns: Mapping[str, Any], rows: NDArray[np.int64] | None = None) -> None:
        """Store the columns; nothing is computed yet.

        Args:
            columns: Column name -> its cells.
            rows: The indices of the rows to summarize; None for all rows.
        """
        self._columns = columns
        self._rows = rows
        self._cache: dict[str, Content] = {}

    def __getitem__(self, name: str) -> Content:
        if name not in self._cache:
            self._cache[name] = describe_content(self.get_cells(name))
        return self._cache[name]

    def __contains__(self, name: object) -> bool:
        # `Mapping` would compute the summary of the column to find out.
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def list_texts(self, names: Iterable[str]) -> list[str]:
        """Select the columns that contain texts to read, the longest texts first."""
        texts = [name for name in names if self[name].has_texts]
        return sorted(texts, key=lambda name: self[name].n_letters, reverse=True)

    def list_classes(self, names: Iterable[str]) -> list[str]:
        """Select the columns whose values repeat like those of classes, and are not texts to read."""
        columns = []
        for name in names:
            content = self[name]
            if content.has_classes and not content.has_texts:
                columns.append(name)
        return columns

    def list_votes(self, names: Iterable[str]) -> list[str]:
        """Select the columns whose cells list votes of several people, such as ["yes", "yes", "no"]."""
        return [name for name in names if self._has_votes(name)]

    def _has_votes(self, name: str) -> bool:
        """Return whether each cell of a column is a list of votes, such as ["yes", "yes", "no"].

        Lists are votes if a list repeats a value, and if all lists together have few distinct values.

        Args:
            name: The column.
        """
        n_votes = 0
        has_repeats = False
        values: set[str] = set()
        for cell in self.get_cells(name):
            votes = parse_value(cell)
            if not isinstance(votes, list):
                return False
            # Some annotation tools put each vote into a list of one.
            keys = [make_key(unwrap_value(vote)) for vote in votes]
            if len(set(keys)) < len(keys):
                has_repeats = True
            n_votes += len(keys)
            values.update(keys)
        if not has_repeats or not 2 <= len(values) <= MAX_CLASSES:
            return False
        return n_votes >= MIN_REPEATS * len(values)

    def list_choices(self, names: Iterable[str]) -> list[str]:
        """Return the columns that may contain the choices of items: one column of lists, or a column per choice.

        Several columns of texts may be a question and its choices if another column has marks such as 0,
        1, 2 or A, B, C, which identify the correct choice. There have to be more columns of texts than marks.

        Args:
            names: The columns to consider, in the order of the table.

        Returns:
            The columns; an empty list if no columns look like choices.
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
            # Two marks next to several texts are usually classes of a pair of texts.
            if n_marks > 2 and len(text_columns) > n_marks:
                # The first column of texts is the question.
                return text_columns[1:]
        return []

    def _may_list_choices(self, name: str, names: Iterable[str]) -> bool:
        """Return whether a column of lists of texts may contain choices, rather than words, votes or classes.

        Lists that repeat are votes, or the names of all classes, if the class in another column is always
        a member of the list.

        Args:
            name: The column of lists.
            names: All columns.
        """
        lists = []
        for cell in self.get_cells(name):
            members = parse_value(cell) or ()
            lists.append(list(map(make_key, members)))
        # Lists of more members than there are letters are the words of a text.
        if max(map(len, lists)) > MAX_CHOICES:
            return False
        # Votes and names of classes repeat from row to row, but choices do not.
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
        # Arrays select all rows at once, which is faster.
        if isinstance(column, (np.ndarray, LazyArrowColumn)):
            return list(column[self._rows])
        return [column[int(row)] for row in self._rows]


def describe_contents(table: datasets.Dataset | Mapping[str, Any]) -> Contents:
    """Summarize the cells of each column of a table, in a sample of at most `MAX_SAMPLED_ROWS` rows.

    Args:
        table: A Dataset, or columns of the same length by their names.

    Returns:
        Column -> the summary of its cells, which is computed when it is first used.

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
    """Summarize the cells of one column: the type of their values, their numbers, and the length of texts.

    Args:
        cells: The cells. A string of JSON that is a list or an object is parsed.

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
    # In some files, every value is in a list of one.
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

    # The remaining columns have only strings: count their letters, and cells with spaces or codes.
    n_letters = 0
    width = 0
    n_spaced = 0
    n_coded = 0
    for value in values:
        letters = _list_letters(value)
        n_letters += len(letters)
        width += len(letters) + sum(map(_is_wide, letters))
        n_spaced += " " in value.strip()
        n_coded += _CODE.fullmatch(value) is not None
    return Content(
        n_rows=len(values),
        n_values=n_values,
        kind="text",
        n_letters=n_letters / len(values),
        width=width / len(values),
        spaced=n_spaced / len(values),
        coded=n_coded / len(values),
        in_lists=in_lists,
    )


def _find_kind(values: Sequence[Any]) -> str:
    """Return the kind of the values of a column that are neither all numbers nor all strings.

    Args:
        values: The values that are not empty.

    Returns:
        "flag" for booleans, "list" for lists of strings, "marks" for 0 or 1 by class, "shares" for
        numbers by class that add up to 1, and "mixed" for any other values.
    """
    if all(isinstance(value, bool) for value in values):
        return "flag"
    if all(map(_is_list_of_texts, values)):
        return "list"
    table = _parse_numbers_by_class(values)
    if table is None:
        return "mixed"
    n_classes = table.shape[1]
    # (n,) whether the numbers of each row add up to 1.
    has_unit_sum = np.abs(table.sum(axis=1) - 1) <= MAX_SUM_ERROR
    if np.isin(table, (0, 1)).all():
        # A list of 0 and 1 marks a class if exactly one is 1. An object names the class of each mark,
        # and may have several.
        has_marks = has_unit_sum.all() or isinstance(values[0], dict)
        return "marks" if has_marks and n_classes <= MAX_CLASSES else "mixed"
    # A few rows may have faults.
    if table.min() < 0 or has_unit_sum.mean() < MIN_SHARE_OF_SUMS:
        return "mixed"
    n_fractions = len(np.unique(table))
    return "shares" if n_fractions >= MIN_FRACTIONS else "mixed"


def _parse_numbers_by_class(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the numbers in lists of the same length, or in objects, as a table with a column per class.

    Args:
        values: n lists such as [0.7, 0.3], or n objects such as {"up": 0.7, "down": 0.3}. A key that is
            missing in an object has the number 0.

    Returns:
        (n, K) numbers; None for any other values, such as lists of different lengths or with strings.
    """
    if not all(isinstance(value, type(values[0])) for value in values):
        return None
    if isinstance(values[0], dict):
        keys: dict[str, None] = {}
        for value in values:
            keys |= dict.fromkeys(value)
        if len(keys) > MAX_COLUMNS:
            return None
        rows = []
        for value in values:
            rows.append([value.get(key) or 0 for key in keys])
    elif isinstance(values[0], list):
        rows = list(values)
    else:
        return None
    widths = set(map(len, rows))
    if len(widths) != 1 or max(widths) < 2:
        return None
    # Strings and nested values are not numbers of classes.
    if not all(map(are_numeric, rows)):
        return None
    return np.array(rows, dtype=np.float64)


def parse_value(cell: Any) -> Any:
    """Return a cell as a value of Python: arrays become lists, and strings of JSON lists or objects."""
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return parse_cell(cell)


def _is_list_of_texts(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < 2:
        return False
    return all(isinstance(item, str) for item in value)


def sample_rows(n_rows: int) -> NDArray[np.int64]:
    """Return the sorted indices of a random sample of `MAX_SAMPLED_ROWS` rows.

    The sample is random because files may be sorted. It is always the same for the same number of rows.
    """
    rng = np.random.default_rng(0)
    rows = rng.choice(n_rows, MAX_SAMPLED_ROWS, replace=False)
    return np.sort(rows)


def is_empty(cell: Any) -> bool:
    """Return whether a cell is None, NaN, a blank string, or a list of only such cells."""
    if isinstance(cell, str):
        return not cell.strip()
    if isinstance(cell, list):
        return all(map(is_empty, cell))
    # NaN is the only value that differs from itself.
    is_nan = isinstance(cell, float) and cell != cell
    return cell is None or is_nan


def make_key(value: Any) -> str:
    """Return a string that is equal for equal values: for 1, 1.0 and "1", and for "Yes" and "yes".

    Lists and objects become JSON with sorted keys. Other values become strings in lower case and in the
    Unicode normal form NFKC.
    """
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=str, sort_keys=True)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return unicodedata.normalize("NFKC", str(value)).strip().casefold()


def _parse_numbers(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return (N,) the numbers in a column, NaN for empty cells; None if a cell has any other value.

    Numbers may be strings, with a decimal comma or a percent sign.
    """
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        # Booleans would be parsed to 0 and 1.
        if isinstance(cell, (bool, list, dict)):
            return None
        number = parse_number(cell)
        if number is None:
            return None
        numbers[row] = number
    return numbers


def _are_consecutive(numbers: NDArray[np.float64]) -> bool:
    """Return whether numbers may be those of classes: integers from 0 or 1 without a gap, or -1 and 1.

    Args:
        numbers: (N,) numbers, NaN for a missing one. At least one is not NaN.
    """
    values = np.unique(numbers[~np.isnan(numbers)])
    if values.tolist() == [-1, 1]:
        return True
    if values[0] not in (0, 1):
        return False
    steps = np.diff(values)
    return bool((steps == 1).all())


def _list_letters(text: str) -> list[str]:
    # The Unicode category of letters begins with L. Marks, M, are the vowels of many scripts.
    return [character for character in text if unicodedata.category(character)[0] in "LM"]


def _is_wide(letter: str) -> bool:
    # Unicode's East Asian Width: W for ideographs, kana and Hangul, F for full-width Latin letters.
    return unicodedata.east_asian_width(letter) in "WF"
