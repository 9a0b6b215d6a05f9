"""Codes of rows: which rows of a table are equal, in some columns or in all, and how often values occur.

A code is an integer that represents a value: equal values have equal codes. Arrow compares the values,
so that a million rows need no Python objects. The entry points are `encode_rows`, a code per row, and
`find_repeats`, which finds rows that are not independent items.
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
"""Column of the common schema with the ids of the file, if they repeat: rows of one id are not independent."""

COPIED_ROW = "copied_row"
"""Column of the common schema with the number of the first equal row, if a file without ids repeats rows."""

MIN_ROWS = 8
"""Minimum number of rows for conclusions from repeated values: fewer rows may repeat them by accident."""

MIN_COPIES = 0.01
"""Minimum share of copied rows that is reported: fewer copies change an interval by less than a percent."""

MAX_ACCIDENT = 1e-3
"""Maximum probability of accidental agreement at which equal rows count as copies of each other."""

MIN_KEY_DIGITS = 5
"""Minimum number of significant digits of precise numbers, which are not equal by accident as 0.9 and 0.9 may be."""

MAX_SAMPLED_KEYS = 1000
"""Maximum number of values of a column whose digits are counted."""

MAX_FEW_VALUES = 8
"""Maximum number of distinct values of a column that is printed with its counts."""

MAX_VALUE_CHARACTERS = 40
"""Maximum length of the values of a category; longer values are texts."""

NO_LABELS = pa.array(["", "-1", "-1.0", "-"])
"""Values by which files mark rows without a label."""

Codes = NDArray[np.int64]


def encode_rows(data: datasets.Dataset, names: Sequence[str]) -> Codes:
    """Return (N,) codes of rows from 0, equal for rows with equal values in some columns.

    Args:
        data: The table of N rows.
        names: The columns to compare; if there are none, all rows are equal.
    """
    codes = None
    for name in names:
        values = to_plain_column(get_arrow_column(data, name))
        column_codes = _encode(values)
        if codes is None:
            codes = column_codes
        else:
            codes = combine_codes(codes, column_codes)
    if codes is None:
        return np.zeros(len(data), dtype=np.int64)
    return codes


def combine_codes(left: Codes, right: Codes) -> Codes:
    """Return (N,) codes of the pairs (left, right), numbered from 0 in the order of their first rows.

    Args:
        left: (N,) codes from 0.
        right: (N,) codes from 0.
    """
    # The pairs are numbered like the cells of a matrix. Codes are below N, so that the numbers are
    # below N², which fits in 64 bits.
    n_right = 1 + right.max(initial=0)
    pairs = n_right * left
    pairs += right
    # Arrow finds distinct numbers by hashing, which is several times as fast as sorting.
    return _encode(pa.array(pairs))


def _encode(values: pa.Array) -> Codes:
    """Return (N,) codes of values, numbered from 0 in the order of their first rows."""
    # With "encode", missing values get a code as well.
    encoded = values.dictionary_encode("encode")
    return np.asarray(encoded.indices, dtype=np.int64)


def are_crossed(items: Codes, arms: Codes) -> bool:
    """Return whether each item occurs equally often with each arm, as if every system answered all items.

    Args:
        items: (N,) codes of the items, such as texts.
        arms: (N,) codes of the systems, seeds or raters.

    Example:
        >>> items = np.array([0, 0, 1, 2, 0, 0, 1, 2])
        >>> are_crossed(items, np.array([0] * 4 + [1] * 4)), are_crossed(items, np.array([0] * 5 + [1] * 3))
        (True, False)
    """
    arm_sizes = np.bincount(arms)
    n_arms = len(arm_sizes)
    if n_arms < 2 or arm_sizes.min() != arm_sizes.max():
        return False
    n_items = 1 + items.max()
    # Pairs of an item and an arm are numbered like the cells of a matrix.
    cells = n_arms * items
    cells += arms
    counts = np.bincount(cells, minlength=n_items * n_arms)
    counts_by_item = counts.reshape(n_items, n_arms)
    # The counts of an item are equal if the smallest equals the largest.
    smallest = counts_by_item.min(axis=1)
    largest = counts_by_item.max(axis=1)
    return np.array_equal(smallest, largest)


def count_codes(codes: Codes) -> int:
    """Return the number of distinct codes."""
    return int(np.count_nonzero(np.bincount(codes)))


def mark_first(codes: Codes) -> NDArray[np.bool_]:
    """Return (N,) whether each row is the first with its code."""
    is_first = np.zeros(len(codes), dtype=np.bool_)
    is_first[find_first_rows(codes)] = True
    return is_first


def find_first_rows(codes: Codes) -> Codes:
    """Return the first row of each code that occurs, in the order of the codes.

    Args:
        codes: (N,) codes from 0, such as [2, 0, 2], whose first rows are [1, 0].
    """
    largest = codes.max(initial=-1)
    first_rows = np.full(largest + 1, -1, dtype=np.int64)
    # If an index repeats in an assignment, the last value stays. The rows are assigned in reverse, so
    # that the first row of each code is the last one to be assigned.
    rows = np.arange(len(codes))
    reversed_codes = np.flip(codes)
    first_rows[reversed_codes] = np.flip(rows)
    # Numbers that do not occur as codes have no row.
    is_code = first_rows >= 0
    return first_rows[is_code]


def to_plain_column(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as an array whose values Arrow can compare: lists and objects become strings.

    Args:
        column: The column, perhaps of several chunks.
    """
    array = column.combine_chunks()
    # `combine_chunks` does not combine columns of some types.
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
        Words separated by single spaces. A text without letters and digits, such as one of emoji, is not
        changed.
    """
    texts_by_column = [_read_texts(data, name) for name in names]
    texts = texts_by_column[0]
    if len(texts_by_column) > 1:
        texts = pc.binary_join_element_wise(*texts_by_column, "\n")
    lower = pc.utf8_lower(texts)
    # Letters (L), the vowel signs of some scripts (M) and digits (N) remain.
    words = pc.replace_substring_regex(lower, r"[^\p{L}\p{M}\p{N}]+", " ")
    normalized = pc.utf8_trim_whitespace(words)
    return pc.if_else(pc.equal(normalized, ""), texts, normalized)


def encode_normalized_texts(data: datasets.Dataset, names: Sequence[str]) -> Codes:
    """Return (N,) codes of rows, equal for texts that differ only in case, spaces or punctuation."""
    return _encode(normalize_texts(data, names))


def find_labeled(data: datasets.Dataset, label: str) -> NDArray[np.bool_]:
    """Return (N,) whether each row has a label: neither null, nor "", "-1" or "-"."""
    texts = _read_texts(data, label)
    is_missing = pc.is_in(texts, value_set=NO_LABELS)
    is_unlabeled = np.asarray(is_missing, dtype=np.bool_)
    return ~is_unlabeled


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
    """Return (N,) the index of the first row that equals each row, which is its own if it is no copy.

    Args:
        data: The table of N rows.
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
        # If all codes are distinct, no row can be a copy, whatever the remaining columns contain.
        if count_codes(codes) == len(codes):
            break
    # Without columns, all rows are equal.
    if codes is None:
        return np.zeros(len(data), dtype=np.int64)
    return find_first_rows(codes)[codes]


def are_copies(data: datasets.Dataset) -> bool:
    """Return whether equal rows of a table without texts are copies, and not equal by accident.

    Two conditions have to be true:

    - The table has a key: a column of words or precise numbers that are distinct in distinct rows. A
      column with a few levels of confidence is no key.
    - Accidental agreement in the other columns is unlikely. Two rows agree in a column with probability
      Σ p² over the shares p of its values; the probability that all copies do is below `MAX_ACCIDENT`.

    Args:
        data: The table.

    Example:
        >>> rows = {"p": [row / 97 for row in range(20)] * 2, "gold": ["a", "b", "b", "a"] * 10}
        >>> are_copies(datasets.Dataset.from_dict(rows))
        True
    """
    numbers = number_copies(data)
    # The first of equal rows equals itself; this comparison is much quicker than `np.unique`.
    is_original = numbers == np.arange(len(data))
    originals = np.flatnonzero(is_original)
    n_copies = len(data) - len(originals)
    if not n_copies:
        return False
    has_key = False
    # The probability that two rows agree in the column in which this is least likely.
    agreement = 1.0
    for name in data.column_names:
        codes = encode_rows(data, (name,))
        original_codes = codes[originals]
        counts = np.bincount(original_codes)
        if counts.max() == 1:
            has_key = has_key or _is_precise(data, name)
            continue
        shares = counts / len(originals)
        agreement = min(agreement, float(shares @ shares))
    # The logarithm of agreement ** n_copies does not underflow.
    log_probability = n_copies * np.log(agreement)
    return has_key and bool(log_probability < np.log(MAX_ACCIDENT))


def _is_precise(data: datasets.Dataset, name: str) -> bool:
    """Return whether a column has words, or numbers of which at least half are precise.

    A precise number has at least `MIN_KEY_DIGITS` significant digits.

    Args:
        data: The table.
        name: The column.
    """
    values = _read_texts(data, name).unique()
    # A sample of evenly spaced values is as conclusive as a million values.
    step = 1 + len(values) // MAX_SAMPLED_KEYS
    positions = np.arange(0, len(values), step)
    texts = values.take(pa.array(positions)).to_pylist()
    if not all(map(is_number, texts)):
        return True
    n_precise = 0
    # Rounding to one digit fewer changes a number that has all required digits.
    few_digits = f".{MIN_KEY_DIGITS - 1}g"
    for number in map(float, texts):
        rounded_text = format(number, few_digits)
        n_precise += number != float(rounded_text)
    return 2 * n_precise >= len(texts)


def find_repeats(
    data: datasets.Dataset, id_names: Sequence[str], text_names: Sequence[str]
) -> dict[str, pa.Array]:
    """Find rows that are not independent items: rows that repeat an id, or copies of rows without ids.

    Args:
        data: The N rows.
        id_names: Usual headings of ids, of which the first that the table has is used.
        text_names: The columns of texts. Without texts, rows may also be equal by accident; see
            `are_copies`.

    Returns:
        A mapping of one column that groups dependent rows: `REPEATED_ID` -> (N,) ids, or `COPIED_ROW` ->
        (N,) the index of the first equal row, as a string. It is empty if rows are independent.
    """
    name = find_usual_column(data.column_names, id_names)
    if name is not None:
        ids = _read_texts(data, name)
        n_ids = len(ids.unique())
        # The same id in all rows is that of the file.
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
    """Count the values of a column that has few distinct values, such as a category or a flag.

    Args:
        data: The table.
        name: The column.

    Returns:
        Value as a string -> its count, the most frequent first. It is empty for a column of fractions, of
        long texts, or of more than `MAX_FEW_VALUES` distinct values.
    """
    column = get_arrow_column(data, name)
    arrow_type = column.type
    is_category = pa.types.is_string(arrow_type) or pa.types.is_boolean(arrow_type)
    if not is_category and not pa.types.is_integer(arrow_type):
        return Counter()
    value_counts = pc.value_counts(to_plain_column(column))
    # In a small table, every column has few values, so they have to repeat.
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
    # `most_common` keeps equally frequent values in the order of the rows.
    ordered = dict(counts.most_common())
    return Counter(ordered)


def count_labels(cells: Sequence[Any]) -> Codes | None:
    """Return (N,) the number of labels in each cell; None if a cell is not a list of labels.

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
        # A single cell of another type shows that the column does not contain lists of labels.
        if count is None:
            return None
        counts.append(count)
    return np.array(counts, dtype=np.int64)


def _count_labels_in(cell: Any) -> int | None:
    """Return the number of labels in a cell; None if it is neither a list of labels nor marks them by 1.

    Args:
        cell: A list such as ["joy", "fear"], an object such as {"joy": 1, "fear": 0}, None for a row
            without labels, or any other value.
    """
    if cell is None:
        return 0
    if isinstance(cell, dict):
        count = 0
        for mark in cell.values():
            # All objects of an Arrow column have the same keys, with None for missing ones.
            if mark not in (0, 1, None):
                return None
            count += int(mark or 0)
        return count
    if isinstance(cell, list):
        # Numbers in lists are shares of classes, and not labels.
        has_only_texts = all(type(member) is str for member in cell)
        return len(cell) if has_only_texts else None
    return None


def _read_texts(data: datasets.Dataset, name: str) -> pa.Array:
    """Return the values of a column as strings, "" for missing values."""
    values = to_plain_column(get_arrow_column(data, name))
    texts = values.cast(pa.string())
    return pc.fill_null(texts, "")
