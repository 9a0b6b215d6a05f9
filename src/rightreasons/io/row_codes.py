"""Codes of rows: which rows of a table are equal, in some columns or in all, and how often values occur.

Arrow compares the values, so that a million rows need no Python objects. The entry points are
`encode_rows`, a number per row, and `find_repeats`, which finds rows that are not independent items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.io.cells import is_number
from rightreasons.io.columns import get_arrow_column
from rightreasons.io.headings import find_usual_column

REPEATED_ID = "repeated_id"
"""Column of the common schema with the ids of the file, if they repeat: rows of one id are one unit."""

COPIED_ROW = "copied_row"
"""Column of the common schema with the first of equal rows, if a file without ids repeats rows."""

MIN_ROWS = 8
"""Fewer rows repeat values, or agree with each other, by accident."""

MIN_COPIES = 0.01
"""Share of rows from which copies count: fewer change an interval by less than a percent."""

MAX_ACCIDENT = 1e-3
"""Probability from which rows are not taken for copies of each other."""

MIN_KEY_DIGITS = 5
"""Significant digits from which equal numbers are not equal by accident; a confidence of 0.9 often repeats."""

MAX_SAMPLED_KEYS = 1000
"""Number of values of a key whose digits are counted."""

MAX_FEW_VALUES = 8
"""A column of at most so many values is printed with its counts, and may qualify its rows."""

MAX_VALUE_CHARACTERS = 40
"""Longer values are texts, not categories."""

NO_LABELS = pa.array(["", "-1", "-1.0", "-"])
"""How files write that a row has no label."""

Codes = NDArray[np.int64]


def encode_rows(data: datasets.Dataset, names: Sequence[str]) -> Codes:
    """Return (N,) a number per row from 0, equal for rows with equal values in some columns.

    Args:
        data: The table.
        names: The columns to compare; without any, all rows are equal.
    """
    codes = None
    for name in names:
        column = to_plain_column(get_arrow_column(data, name))
        column_codes = _encode(column)
        if codes is None:
            codes = column_codes
        else:
            codes = combine_codes(codes, column_codes)
    if codes is None:
        return np.zeros(len(data), dtype=np.int64)
    return codes


def combine_codes(left: Codes, right: Codes) -> Codes:
    """Return (N,) a number per pair of codes from 0, in the order of their first rows.

    Args:
        left: (N,) codes from 0.
        right: (N,) codes from 0.
    """
    # The pairs are numbered like the cells of a matrix. With N rows, the numbers stay below N², which
    # 64 bits hold.
    n_right = 1 + right.max(initial=0)
    pairs = n_right * left
    pairs += right
    # Arrow finds distinct numbers by hashing, which is several times as fast as sorting.
    return _encode(pa.array(pairs))


def _encode(values: pa.Array) -> Codes:
    """Return (N,) a number per value, from 0 in the order of their first rows."""
    # A missing value is a value too.
    encoded = values.dictionary_encode("encode")
    return np.asarray(encoded.indices, dtype=np.int64)


def are_crossed(units: Codes, arms: Codes) -> bool:
    """Return whether each unit occurs equally often with each arm, as the items of several systems do.

    Args:
        units: (N,) number of what is judged, such as a text.
        arms: (N,) number of the system, seed or rater.

    Example:
        >>> units = np.array([0, 0, 1, 2, 0, 0, 1, 2])
        >>> are_crossed(units, np.array([0] * 4 + [1] * 4)), are_crossed(units, np.array([0] * 5 + [1] * 3))
        (True, False)
    """
    arm_sizes = np.bincount(arms)
    n_arms = len(arm_sizes)
    if n_arms < 2 or arm_sizes.min() != arm_sizes.max():
        return False
    n_units = 1 + units.max()
    # Each row is a cell of a matrix of units and arms, numbered row by row.
    cells = n_arms * units
    cells += arms
    counts = np.bincount(cells, minlength=n_units * n_arms)
    counts_by_unit = counts.reshape(n_units, n_arms)
    # All arms of a unit have one count if the smallest equals the largest.
    smallest = counts_by_unit.min(axis=1)
    largest = counts_by_unit.max(axis=1)
    return np.array_equal(smallest, largest)


def count_codes(codes: Codes) -> int:
    """Return the number of distinct codes."""
    return int(np.count_nonzero(np.bincount(codes)))


def mark_first(codes: Codes) -> NDArray[np.bool_]:
    """Return (N,) whether a row is the first of its code."""
    # The first row of a code is an item, and the others repeat it.
    is_first = np.zeros(len(codes), dtype=np.bool_)
    is_first[find_first_rows(codes)] = True
    return is_first


def find_first_rows(codes: Codes) -> Codes:
    """Return the first row of each code that occurs, in the order of the codes.

    Args:
        codes: (N,) codes from 0.
    """
    largest = codes.max(initial=-1)
    first_rows = np.full(largest + 1, -1, dtype=np.int64)
    # If an index repeats in an assignment, the last value stays: the rows are assigned in reverse, so
    # that this is the first row of each code.
    rows = np.arange(len(codes))
    reversed_codes = np.flip(codes)
    first_rows[reversed_codes] = np.flip(rows)
    # Not every number up to the largest occurs.
    is_code = first_rows >= 0
    return first_rows[is_code]


def to_plain_column(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as an array whose values Arrow can compare: lists, objects and JSON become texts."""
    array = column.combine_chunks()
    # Columns of some types keep their chunks.
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if isinstance(array.type, pa.JsonType):
        return array.storage
    if pa.types.is_nested(array.type):
        texts = list(map(repr, array.to_pylist()))
        return pa.array(texts, pa.string())
    return array


def normalize_texts(data: datasets.Dataset, names: Sequence[str]) -> pa.Array:
    """Return (N,) the texts of each row, joined, in lower case and without punctuation.

    Args:
        data: The table.
        names: The columns of texts.

    Returns:
        Words separated by single spaces. A text without letters and digits, such as one of emoji,
        stays as it is.
    """
    texts_by_column = [_read_texts(data, name) for name in names]
    texts = texts_by_column[0]
    if len(texts_by_column) > 1:
        texts = pc.binary_join_element_wise(*texts_by_column, "\n")
    lower = pc.utf8_lower(texts)
    # Letters, the vowel signs of some scripts, and digits remain.
    words = pc.replace_substring_regex(lower, r"[^\p{L}\p{M}\p{N}]+", " ")
    normalized = pc.utf8_trim_whitespace(words)
    return pc.if_else(pc.equal(normalized, ""), texts, normalized)


def encode_normalized_texts(data: datasets.Dataset, names: Sequence[str]) -> Codes:
    """Return (N,) a number per row: texts of one normal form have equal numbers."""
    return _encode(normalize_texts(data, names))


def find_labeled(data: datasets.Dataset, label: str) -> NDArray[np.bool_]:
    """Return (N,) which rows have a label: neither null, nor empty, nor -1."""
    texts = _read_texts(data, label)
    is_missing = pc.is_in(texts, value_set=NO_LABELS)
    return ~np.asarray(is_missing, dtype=np.bool_)


def find_copies(data: datasets.Dataset, names: Sequence[str] | None = None) -> NDArray[np.bool_]:
    """Return (N,) whether each row is a copy of an earlier row.

    Args:
        data: The table.
        names: The columns to compare; None for all of them.

    Example:
        >>> find_copies(datasets.Dataset.from_dict({"a": [1, 1, 1], "b": [2, 3, 2]})).tolist()
        [False, False, True]
    """
    numbers = number_copies(data, names)
    is_original = mark_first(numbers)
    return ~is_original


def number_copies(data: datasets.Dataset, names: Sequence[str] | None = None) -> Codes:
    """Return (N,) the number of the first row that equals each row.

    Args:
        data: The table.
        names: The columns to compare; None for all of them.
    """
    if names is None:
        names = data.column_names
    codes = None
    for name in names:
        column_codes = encode_rows(data, (name,))
        if codes is None:
            codes = column_codes
        else:
            codes = combine_codes(codes, column_codes)
        # Most tables have a column of distinct values, after which no row can be a copy.
        if count_codes(codes) == len(codes):
            break
    # Without columns, all rows are equal.
    if codes is None:
        return np.zeros(len(data), dtype=np.int64)
    return find_first_rows(codes)[codes]


def are_copies(data: datasets.Dataset) -> bool:
    """Return whether equal rows of a table without texts are copies, and not equal by accident.

    Two conditions have to hold:

    - The table has a key, a column of precise numbers or words that differ between all different
      rows. A few levels of confidence are no key.
    - The other columns would hardly agree by accident. Two rows agree in a column with the probability
      Σ p² over the shares p of its values; that all copies do so has to be less likely than
      `MAX_ACCIDENT`.

    Args:
        data: The table.

    Example:
        >>> rows = {"p": [row / 97 for row in range(20)] * 2, "gold": ["a", "b", "b", "a"] * 10}
        >>> are_copies(datasets.Dataset.from_dict(rows))
        True
    """
    numbers = number_copies(data)
    # The first of equal rows has its own number; this is much quicker than `np.unique`.
    is_original = numbers == np.arange(len(data))
    originals = np.flatnonzero(is_original)
    n_copies = len(data) - len(originals)
    if not n_copies:
        return False
    has_key = False
    agreement = 1.0
    for name in data.column_names:
        codes = encode_rows(data, (name,))
        original_codes = codes[originals]
        counts = np.bincount(original_codes)
        if counts.max() == 1:
            has_key = has_key or _is_precise(data, name)
            continue
        shares = counts / len(originals)
        # The column in which accidental agreement is least likely decides.
        agreement = min(agreement, float(shares @ shares))
    # The logarithm of agreement ** n_copies, which does not underflow.
    log_probability = n_copies * np.log(agreement)
    return has_key and bool(log_probability < np.log(MAX_ACCIDENT))


def _is_precise(data: datasets.Dataset, name: str) -> bool:
    """Return whether a column holds words, or numbers of which at least half have many digits.

    Args:
        data: The table.
        name: The column.
    """
    values = _read_texts(data, name).unique()
    # Evenly spaced values show it as well as a million of them.
    step = 1 + len(values) // MAX_SAMPLED_KEYS
    positions = np.arange(0, len(values), step)
    texts = values.take(pa.array(positions)).to_pylist()
    if not all(map(is_number, texts)):
        return True
    # Rounding to one significant digit less than required changes a precise number.
    few_digits = f".{MIN_KEY_DIGITS - 1}g"
    n_precise = 0
    for text in texts:
        number = float(text)
        rounded_text = format(number, few_digits)
        rounded = float(rounded_text)
        n_precise += number != rounded
    return 2 * n_precise >= len(texts)


def find_repeats(
    data: datasets.Dataset, id_names: Sequence[str], text_names: Sequence[str]
) -> dict[str, pa.Array]:
    """Return a column that the rows of one unit share, if rows are not independent items.

    Args:
        data: The rows.
        id_names: Usual headings of ids; the first that the table has is used.
        text_names: Columns of texts: without texts, rows may be equal by accident.

    Returns:
        `REPEATED_ID` -> (N,) ids if these repeat, or `COPIED_ROW` -> (N,) the number of the first equal
        row if rows without ids are copies; {} if every row is a separate item.
    """
    name = find_usual_column(data.column_names, id_names)
    if name is not None:
        ids = _read_texts(data, name)
        n_ids = len(ids.unique())
        # One id in all rows names the file, not its items.
        if n_ids in (1, len(ids)):
            return {}
        return {REPEATED_ID: ids}
    if len(data) < MIN_ROWS:
        return {}
    if not text_names and not are_copies(data):
        return {}
    first_rows = number_copies(data)
    is_copy = first_rows != np.arange(len(data))
    if is_copy.sum() < MIN_COPIES * len(data):
        return {}
    names = pa.array(first_rows).cast(pa.string())
    return {COPIED_ROW: names}


def count_few_values(data: datasets.Dataset, name: str) -> Counter[str]:
    """Count the values of a column that has few of them, as categories and flags do.

    Args:
        data: The table.
        name: The column.

    Returns:
        Value -> its count, the most frequent first; nothing for fractions, long texts, and more than
        `MAX_FEW_VALUES` values.
    """
    column = get_arrow_column(data, name)
    kind = column.type
    is_plain = pa.types.is_string(kind) or pa.types.is_boolean(kind)
    if not is_plain and not pa.types.is_integer(kind):
        return Counter()
    value_counts = pc.value_counts(to_plain_column(column))
    # A few rows have few values, whatever they are.
    max_values = max(2, len(data) // 2)
    if len(value_counts) > min(max_values, MAX_FEW_VALUES):
        return Counter()
    counts: Counter[str] = Counter()
    for value_count in value_counts.to_pylist():
        value = ""
        if value_count["values"] is not None:
            value = str(value_count["values"])
        if len(value) > MAX_VALUE_CHARACTERS:
            return Counter()
        counts[value] = value_count["counts"]
    # Equally frequent values stay in the order of the rows.
    ordered = dict(counts.most_common())
    return Counter(ordered)


def count_labels(cells: Sequence[Any]) -> Codes | None:
    """Return (N,) the number of labels in each cell; None if the cells are no lists of labels.

    Args:
        cells: Lists of texts, or objects that mark labels by 1; None for a row without labels.

    Example:
        >>> count_labels([{"joy": 1.0, "fear": 1.0}, {"joy": 0.0, "fear": 1.0}]).tolist()
        [2, 1]
        >>> count_labels([{"joy": 0.9, "fear": 0.1}]), count_labels(["joy"])
        (None, None)
    """
    counts = []
    for cell in cells:
        count = _count_labels_in(cell)
        # One cell of another kind is enough.
        if count is None:
            return None
        counts.append(count)
    return np.array(counts, dtype=np.int64)


def _count_labels_in(cell: Any) -> int | None:
    """Return the number of labels in a list of texts, or in an object of 0 and 1; None for other cells."""
    if cell is None:
        return 0
    if isinstance(cell, dict):
        count = 0
        for mark in cell.values():
            # None is a label that other objects have.
            if mark not in (0, 1, None):
                return None
            count += int(mark or 0)
        return count
    if isinstance(cell, list):
        # Lists of numbers are shares.
        has_texts = set(map(type, cell)) <= {str}
        return len(cell) if has_texts else None
    return None


def _read_texts(data: datasets.Dataset, name: str) -> pa.Array:
    """Return a column as texts, empty ones for missing values."""
    column = to_plain_column(get_arrow_column(data, name))
    texts = column.cast(pa.string())
    return pc.fill_null(texts, "")
