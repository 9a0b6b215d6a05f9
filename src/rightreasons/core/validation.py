"""Checks of what users hand in: options, texts, labels and class scores.

Each `check_*` returns its input in the form that the kernels need, or raises one sentence that says
what was expected, what came instead, and where. `TypeError` is for the wrong kind of thing,
`ValueError` for the wrong value. A kernel checks its input at its first lines, and only there.

Input is checked in two steps. core.arrays converts what a user hands in, such as a tensor or a
column of a table, to arrays and lists; then functions of this module check what the values mean:
`table_to_probabilities` class scores, `check_label_array` labels, and `check_text_items` texts.
`check_scores`, `check_labels` and `check_texts` do both.
"""

from __future__ import annotations

import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import (
    BLOCK_SIZE,
    Floats,
    Integers,
    NumericRows,
    Ragged,
    concatenate_rows,
    describe_kind,
    is_ragged,
    to_array_or_list,
    to_floats,
    to_numpy,
)
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_list, format_value, suggest_similar_names

T = TypeVar("T", bound=str)

MAX_DRAWS = 10_000_000
"""Largest number of resamples or permutations."""

MAX_BINS = 1_000_000
"""Largest number of bins."""

_NOUN_BY_TYPE: Mapping[Any, str] = {
    str: "a text",
    os.PathLike: "a path",
    Mapping: "a mapping",
    dict: "a mapping",
    list: "a list",
    Iterable: "a list",
    Sequence: "a list",
    Callable: "a function",
    Sized: "a sequence",
}

_MAX_CELL_CHARACTERS = 60

_MAX_NUMBER_BITS = 200
"""Largest number of bits of a whole number that a message writes in digits."""


# --------------------------------------------------------------------------------------- options


def check_kind(value: object, name: str, kind: Any) -> None:
    """Check that a value is an instance of a class, or of one class of a union.

    The items of a collection are not checked. Numbers are not checked either; this is left to
    functions such as `check_count`, which also know the range.

    Args:
        value: The value.
        name: Name of the argument in error messages.
        kind: A class or a type annotation, such as `str | None` or `dict[str, int]`.

    Raises:
        TypeError: If the value is an instance of none of the classes.

    Example:
        >>> check_kind(7, "text", str | None)
        Traceback (most recent call last):
        ...
        TypeError: Expected `text` to be a text, but got 7 (int).
    """
    is_union = typing.get_origin(kind) in (typing.Union, types.UnionType)
    members = typing.get_args(kind) if is_union else (kind,)
    # The origin of `dict[str, int]` is `dict`; a plain class has none.
    classes = [typing.get_origin(member) or member for member in members]
    is_unchecked = not {Any, int, float, bool}.isdisjoint(classes)
    if is_unchecked or isinstance(value, tuple(classes)):
        return
    nouns = []
    for member_class in classes:
        if member_class is not types.NoneType:
            nouns.append(_NOUN_BY_TYPE.get(member_class, f"a {member_class.__name__}"))
    raise TypeError(
        f"Expected `{name}` to be {' or '.join(nouns)}, "
        f"but got {format_value(value)} ({type(value).__name__})."
    )


def check_one_of(value: T, allowed: Sequence[str], name: str) -> T:
    """Check that the value of an option is one of the allowed words.

    Args:
        value: The value.
        allowed: The allowed words.
        name: Name of the option in error messages.

    Returns:
        The value.

    Raises:
        OptionTypeError: If the value is not a string.
        OptionError: If it is not one of the words; the message lists all, and suggests the most
            similar one.

    Example:
        >>> check_one_of("quantiles", ("uniform", "quantile"), "bins")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `bins` to be one of 'uniform' or 'quantile', \
but got 'quantiles'. Did you mean 'quantile'?
    """
    if isinstance(value, str) and value in allowed:
        return value
    words = [repr(word) for word in allowed]
    choices = words[-1]
    if len(words) > 1:
        choices = f"{', '.join(words[:-1])} or {words[-1]}"
    if not isinstance(value, str):
        raise OptionTypeError(
            f"Expected `{name}` to be one of {choices}, but got {describe_kind(value)}.",
            option=name,
        )
    hint = suggest_similar_names(value, allowed)
    raise OptionError(
        f"Expected `{name}` to be one of {choices}, but got {value!r}.{hint}", option=name
    )


def require_value(value: Any, name: str, description: str) -> Any:
    """Return the value of an option that has no default; raise OptionError if it is None.

    Args:
        value: Value of the option.
        name: Name of the option in the error message.
        description: Description of the expected value, such as "a Suite".

    Example:
        >>> require_value(None, "suite", "a Suite")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `suite` (a Suite), but got None.
    """
    if value is None:
        raise OptionError(f"Expected `{name}` ({description}), but got None.", option=name)
    return value


def check_count(value: object, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Check an option that is a whole number, and return it as int.

    Args:
        value: The option; numpy integers are accepted, booleans are not.
        name: Name of the option in error messages.
        minimum: Smallest allowed number.
        maximum: Largest allowed number. If None, there is no upper bound.

    Raises:
        OptionTypeError: If the option is not a whole number.
        OptionError: If it is out of bounds.
    """
    if not _is_whole(value):
        raise OptionTypeError(
            f"Expected `{name}` to be a whole number, but got {describe_kind(value)}.", option=name
        )
    number = int(typing.cast(int, value))
    if number < minimum:
        bound = f"at least {minimum}"
    elif maximum is not None and number > maximum:
        bound = f"at most {maximum}"
    else:
        return number
    # Python refuses to write numbers of more than some thousand digits.
    text = str(number)
    if number.bit_length() >= _MAX_NUMBER_BITS:
        text = f"one of {number.bit_length()} bits"
    raise OptionError(f"Expected `{name}` to be {bound}, but got {text}.", option=name)


def check_seed(value: object) -> int:
    """Check a seed: a whole number from 0."""
    return check_count(value, "seed", minimum=0)


def check_number(
    value: object, name: str, *, minimum: float | None = None, maximum: float | None = None
) -> float:
    """Check an option that is a finite real number, and return it as float.

    Args:
        value: The option; booleans are refused.
        name: Name of the option in error messages.
        minimum: Smallest allowed number. If None, there is no lower bound.
        maximum: Largest allowed number. If None, there is no upper bound.

    Raises:
        OptionTypeError: If the option is not a real number.
        OptionError: If it is not finite or out of bounds.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise OptionTypeError(
            f"Expected `{name}` to be a number, but got {describe_kind(value)}.", option=name
        )
    # A whole number of more than 308 digits is real, but no float.
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise OptionError(
            f"Expected `{name}` to be a finite number, but got {number}.", option=name
        )
    is_too_small = minimum is not None and number < minimum
    is_too_large = maximum is not None and number > maximum
    if is_too_small or is_too_large:
        bounds = _describe_bounds(minimum, maximum)
        raise OptionError(f"Expected `{name}` to be {bounds}, but got {number}.", option=name)
    return number


def check_fraction(value: object, name: str, *, open_ends: bool = False) -> float:
    """Check an option that is a number in [0, 1], and return it as float.

    Args:
        value: The option.
        name: Name of the option in error messages.
        open_ends: Whether 0 and 1 themselves are refused.
    """
    if not open_ends:
        return check_number(value, name, minimum=0, maximum=1)
    number = check_number(value, name)
    if not 0 < number < 1:
        raise OptionError(
            f"Expected `{name}` to be strictly between 0 and 1, but got {number}.", option=name
        )
    return number


def check_bool(value: object, name: str) -> bool:
    """Check an option that is True or False, and return it as bool; otherwise raise OptionTypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionTypeError(
            f"Expected `{name}` to be True or False, but got {describe_kind(value)}.", option=name
        )
    return bool(value)


# ------------------------------------------------------------------------------------- collections


def check_all(
    values: Iterable[Any],
    is_valid: Callable[[Any], object],
    expected: str,
    *,
    unit: str = "row",
    first: int = 0,
    names: Sequence[object] | None = None,
) -> None:
    """Check each value by a function, and raise ValueError for the first one that is not valid.

    Args:
        values: N values.
        is_valid: Function of one value that returns whether it is valid.
        expected: Description of the valid values and where they come from, for the error message,
            such as "shares in the column 'p' of x.csv".
        unit: Noun that stands before the number or name of a value in the message, such as "row".
        first: Number of the first value in the message.
        names: N names of the values. If None, the message contains the number of the value.

    Example:
        >>> check_all([0.5, 7], lambda share: share <= 1, "shares in the column 'p' of x.csv")
        Traceback (most recent call last):
        ...
        ValueError: Expected shares in the column 'p' of x.csv, but row 1 holds 7.
    """
    for index, value in enumerate(values):
        if is_valid(value):
            continue
        name = index + first if names is None else format_value(names[index])
        if isinstance(value, np.generic):
            value = value.item()
        text = format_value(value, _MAX_CELL_CHARACTERS)
        raise ValueError(f"Expected {expected}, but {unit} {name} holds {text}.")


def check_at_most(number: int, maximum: int, unit: str, source: object) -> None:
    """Check that the size of something does not exceed a limit; otherwise raise ValueError.

    Args:
        number: The size, such as a number of rows.
        maximum: The limit.
        unit: Noun for the units of the size, such as "rows".
        source: Name of the thing, such as a file.

    Example:
        >>> check_at_most(1_001, 1_000, "rows", "long.csv")
        Traceback (most recent call last):
        ...
        ValueError: Expected at most 1,000 rows in long.csv, but it has 1,001.
    """
    if number > maximum:
        raise ValueError(f"Expected at most {maximum:,} {unit} in {source}, but it has {number:,}.")


def check_same_length(**columns: Any) -> int:
    """Check that columns have the same length, and return it; otherwise raise ValueError.

    Args:
        **columns: Columns by the names that an error message uses.

    Example:
        >>> check_same_length(predictions=[1, 2, 3], references=[1, 2])
        Traceback (most recent call last):
        ...
        ValueError: Expected `predictions` and `references` of one length, but got 3 and 2.
    """
    lengths = []
    for name, column in columns.items():
        check_kind(column, name, Sized)
        lengths.append(len(column))
    if len(set(lengths)) > 1:
        names = _join_with_and([f"`{name}`" for name in columns])
        counts = _join_with_and(list(map(str, lengths)))
        raise ValueError(f"Expected {names} of one length, but got {counts}.")
    return lengths[0]


def check_columns(present: Sequence[str], required: Sequence[str], source: object) -> None:
    """Check that a table has the required columns.

    Args:
        present: Columns of the table.
        required: Columns that it must have.
        source: Name of the table in error messages.

    Example:
        >>> check_columns(["text", "class"], ["text", "label"], "the data set")
        Traceback (most recent call last):
        ...
        ValueError: Expected the columns text, label in the data set, but it lacks label; it has \
text, class.
    """
    missing = [name for name in required if name not in present]
    if missing:
        # The list of existing columns shows whether a name is only spelled differently.
        raise ValueError(
            f"Expected the columns {', '.join(required)} in {source}, but it lacks "
            f"{', '.join(missing)}; it has {format_list(list(present)) or 'none'}."
        )


def check_ids(ids: Iterable[object], name: str = "id") -> Sequence[str]:
    """Check that ids are unique, and return them as strings.

    Args:
        ids: N ids. A `LazyArrowColumn` of unique ids is returned unchanged.
        name: Name of the ids in the error message.

    Raises:
        ValueError: If an id occurs twice; the message names the first repetition.
    """
    # Arrow counts distinct values much faster than Python.
    if isinstance(ids, LazyArrowColumn) and len(ids.arrow.unique()) == len(ids):
        return ids
    texts = [str(value) for value in ids]
    if len(set(texts)) == len(texts):
        return texts
    # Look for the first repeated id only if there is one.
    seen_ids: set[str] = set()
    for index, text in enumerate(texts):
        if text in seen_ids:
            # Only the name of an argument is code, and not a phrase such as "id of a.csv".
            shown_name = f"`{name}`" if name.isidentifier() else name
            raise ValueError(
                f"Expected each {shown_name} once, but {text!r} is repeated at item {index}."
            )
        seen_ids.add(text)
    return texts


# ----------------------------------------------------------------------------------------- texts


def check_texts(texts: object, name: str = "data", *, allow_empty: bool = False) -> list[str]:
    """Check a non-empty sequence of texts.

    Args:
        texts: N texts in any form that `to_array_or_list` accepts.
        name: Name of the texts in error messages.
        allow_empty: Whether a text may be empty or blank.

    Returns:
        The texts as a new list.
    """
    # A copy: callers may change their list later.
    items = list(to_array_or_list(texts, name, "a sequence of texts"))
    check_text_items(items, name, allow_empty=allow_empty)
    return items


def check_choice_lists(
    rows: object, name: str = "choices", *, allow_empty: bool = True
) -> list[list[str]]:
    """Check the choices of multiple-choice items: N lists of at least two strings.

    Args:
        rows: N lists of strings, in any form that `to_array_or_list` accepts.
        name: Name of the choices in error messages.
        allow_empty: Whether a choice may be an empty string.

    Returns:
        The choices as N new lists of at least two strings.

    Raises:
        TypeError: If an item is not a list, or a choice is not a string.
        ValueError: If there are no items, an item has fewer than two choices, or a choice is empty
            although `allow_empty` is False.

    Example:
        >>> check_choice_lists([["yes", "no"], "maybe"])
        Traceback (most recent call last):
        ...
        TypeError: Expected each item of `choices` to be a list of choices, but item 1 is 'maybe' \
(str).
    """
    items = _parse_lists(rows, name, unit="choices")
    # Wrong types come before wrong numbers: they show that a column was mixed up.
    for index, choices in enumerate(items):
        check_text_items(choices, f"{name}[{index}]", allow_empty=allow_empty)
    for index, choices in enumerate(items):
        if len(choices) < 2:
            raise ValueError(
                f"Expected at least two choices in each item of `{name}`, "
                f"but item {index} has {len(choices)}."
            )
    return items


def check_token_lists(
    rows: object, name: str = "tokens", *, allow_empty: bool = False
) -> list[list[str]]:
    """Check a non-empty sequence of lists of tokens.

    Args:
        rows: N lists of strings, in any form that `to_array_or_list` accepts.
        name: Name of the lists in error messages.
        allow_empty: Whether a list may have no tokens.

    Returns:
        The tokens as N lists of strings.

    Raises:
        TypeError: If an item is not a list, or a token is not a string.
        ValueError: If there are no items, or a list is empty although `allow_empty` is False.

    Example:
        >>> check_token_lists([["good", "film"], "bad film"])
        Traceback (most recent call last):
        ...
        TypeError: Expected each item of `tokens` to be a list of tokens, but item 1 is 'bad film' \
(str).
    """
    items = _parse_lists(rows, name, unit="tokens")
    for index, tokens in enumerate(items):
        if not tokens and not allow_empty:
            raise ValueError(
                f"Expected at least one token in each item of `{name}`, but item {index} has none."
            )
        for token in tokens:
            if not isinstance(token, str):
                raise TypeError(
                    f"Expected the tokens of `{name}` to be texts, "
                    f"but item {index} holds {describe_kind(token)}."
                )
    return items


def check_text_items(items: Sequence[Any], name: str, *, allow_empty: bool) -> None:
    """Check that a list has at least one item, that all are strings, and that none is blank.

    Args:
        items: The items.
        name: Name of the list in error messages.
        allow_empty: Whether a string may be empty or blank.

    Raises:
        TypeError: If an item is not a string.
        ValueError: If there are no items, or a string is blank.
    """
    _check_not_empty(len(items), "text", name)
    for index, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(
                f"Expected each item of `{name}` to be a text, "
                f"but item {index} is {describe_kind(item)}."
            )
        if not allow_empty and not item.strip():
            raise ValueError(
                f"Expected each text of `{name}` to have words, but item {index} is empty."
            )


def _parse_lists(rows: object, name: str, *, unit: str) -> list[Any]:
    """Convert rows to a list of at least one list; raise TypeError if a row is something else.

    Args:
        rows: N rows in any form that `to_array_or_list` accepts.
        name: Name of the rows in error messages.
        unit: Plural noun for the items of a row, such as "tokens", for error messages.

    Returns:
        N lists, whose items are not checked.
    """
    items = list(to_array_or_list(rows, name, f"a sequence of lists of {unit}"))
    _check_not_empty(len(items), "item", name)
    for index, item in enumerate(items):
        if not isinstance(item, list):
            raise TypeError(
                f"Expected each item of `{name}` to be a list of {unit}, "
                f"but item {index} is {describe_kind(item)}."
            )
    return items


# --- Labels, numbers and flags

_LARGEST_LABEL = int(np.iinfo(np.int64).max)


def check_labels(
    references: object,
    n_classes: int | Integers | None = None,
    *,
    name: str = "references",
    minimum: int | None = 0,
) -> Integers:
    """Check class labels: whole numbers from `minimum` to below `n_classes`.

    Args:
        references: (N,) labels. Floats, booleans and strings are refused, as evaluate would cast
            them silently.
        n_classes: Number of classes, for all items or (N,) for each item. If None, there is no
            upper bound.
        name: Name of the labels in error messages.
        minimum: Smallest label, 0 or -1 (for items without a correct answer). If None, there is no
            lower bound.

    Returns:
        (N,) int64.

    Example:
        >>> check_labels([0, 2], 2)
        Traceback (most recent call last):
        ...
        ValueError: Expected each label in `references` to be between 0 and 1, but item 1 is 2.
    """
    array = to_numpy(references, name)
    return check_label_array(array, references, n_classes, name=name, minimum=minimum)


def check_label_array(
    array: NDArray[Any],
    original: object,
    n_classes: int | Integers | None = None,
    *,
    name: str = "references",
    minimum: int | None = 0,
) -> Integers:
    """Check the values of labels that are an array: the second step of `check_labels`.

    Args:
        array: (N,) labels of any type, from `to_numpy`.
        original: The labels as the user gave them. numpy turns a list with one float into floats, so
            that only the list shows an error message which label was the float.
        n_classes: Number of classes, for all items or (N,) for each item. If None, there is no
            upper bound.
        name: Name of the labels in error messages.
        minimum: Smallest label. If None, there is no lower bound.

    Returns:
        (N,) int64.
    """
    labels = _cast_to_whole_numbers(array, original, name)
    _check_label_range(labels, n_classes, name=name, minimum=minimum)
    return labels


def check_labels_of_rows(
    references: object,
    rows: Floats | Ragged,
    *,
    name: str = "references",
    rows_name: str = "predictions",
    minimum: int | None = 0,
) -> Integers:
    """Check that there is one label per row of class scores, and that it is one of the row's classes.

    Args:
        references: (N,) labels, as in `check_labels`.
        rows: (N, K) class scores, or `Ragged` if the number of choices varies.
        name: Name of the labels in error messages.
        rows_name: Name of the class scores in error messages.
        minimum: Smallest label, 0 or -1 (for items without a correct answer).

    Returns:
        (N,) int64.

    Example:
        >>> check_labels_of_rows([0, 2], Ragged.of(np.full(5, 0.5), [2, 3]))
        array([0, 2])
    """
    labels = _to_whole_numbers(references, name)
    # The length comes first: without it, the classes of a label are unknown.
    check_same_length(**{rows_name: rows, name: labels})
    n_classes = rows.lengths if isinstance(rows, Ragged) else rows.shape[1]
    _check_label_range(labels, n_classes, name=name, minimum=minimum)
    return labels


def check_vector(
    values: object, name: str, *, minimum: float | None = None, maximum: float | None = None
) -> Floats:
    """Check a non-empty vector of finite numbers, and return it as float64.

    Args:
        values: (N,) numbers in any form that `to_array_or_list` accepts.
        name: Name of the vector in error messages.
        minimum: Smallest allowed number. If None, there is no lower bound.
        maximum: Largest allowed number. If None, there is no upper bound.

    Returns:
        (N,) float64.

    Raises:
        TypeError: If a value is not a number.
        ValueError: If the vector is empty, or a number is not finite or out of bounds.
    """
    vector = to_floats(values, name)
    _check_is_vector(vector, name)
    _check_finite(vector, name)
    _check_not_empty(vector.size, "value", name)
    # The extremes decide quickly whether a mask is needed to find the invalid item.
    if minimum is not None and vector.min() < minimum:
        is_invalid = vector < minimum
        bounds = f"at least {minimum}"
    elif maximum is not None and vector.max() > maximum:
        is_invalid = vector > maximum
        bounds = f"at most {maximum}"
    else:
        return vector
    item = int(np.argmax(is_invalid))
    raise ValueError(
        f"Expected each value in `{name}` to be {bounds}, but item {item} is {vector[item]}."
    )


def check_flags(values: object, name: str) -> NDArray[np.bool_]:
    """Check a non-empty vector of flags: booleans, or the whole numbers 0 and 1.

    Args:
        values: (N,) flags in any form that `to_array_or_list` accepts.
        name: Name of the vector in error messages.

    Returns:
        (N,) booleans.

    Raises:
        TypeError: If a value is something else. 0.0 and 1.0 are refused, as they may be
            probabilities.
        ValueError: If the vector is empty, or has more than one dimension.
    """
    flags = to_numpy(values, name)
    _check_is_vector(flags, name)
    _check_not_empty(flags.size, "value", name)
    if flags.dtype.kind == "b":
        return flags.astype(np.bool_, copy=False)
    # Booleans among integers come as objects.
    if flags.dtype == object:
        is_invalid = np.array([not _is_flag(value) for value in flags])
    else:
        is_invalid = ~np.isin(flags, (0, 1))
    if is_invalid.any() or flags.dtype.kind not in "iuO":
        item = int(np.argmax(is_invalid))
        raise TypeError(
            f"Expected True or False in `{name}`, but item {item} is {describe_kind(flags[item])}."
        )
    return flags.astype(np.bool_)


def _to_whole_numbers(values: object, name: str) -> Integers:
    """Convert (N,) whole numbers of at most 64 bits to int64; at least one is needed."""
    array = to_numpy(values, name)
    return _cast_to_whole_numbers(array, values, name)


def _cast_to_whole_numbers(
    array: NDArray[Any],
    values: object,
    name: str,
) -> Integers:
    """Cast labels to int64; refuse everything but whole numbers of at most 64 bits.

    Args:
        array: (N,) labels, from `to_numpy`.
        values: The labels as the user gave them, for error messages.
        name: Name of the labels in error messages.

    Raises:
        TypeError: If a label is a boolean, a string or a float.
        ValueError: If there are no labels, or a label is not whole or too large.
    """
    _check_is_vector(array, name)
    _check_not_empty(array.size, "label", name)
    if array.dtype.kind == "f":
        raise _make_float_label_error(array, values, name)
    # An array of booleans, strings or objects: the error names the first value that is no integer.
    if array.dtype.kind not in "iu":
        for item, value in enumerate(array):
            if not _is_whole(value):
                raise TypeError(
                    f"Expected whole numbers in `{name}`, "
                    f"but item {item} is {describe_kind(value)}."
                )
    # Only these types can represent numbers beyond 64 bits with a sign.
    if array.dtype.kind == "O" or array.dtype == np.uint64:
        for item, value in enumerate(array.tolist()):
            if abs(value) > _LARGEST_LABEL:
                raise ValueError(
                    f"Expected labels of at most 64 bits in `{name}`, but item {item} is larger."
                )
    return array.astype(np.int64, copy=False)


def _make_float_label_error(array: Floats, values: object, name: str) -> Exception:
    """Return the error for floats in place of labels; the message names the first float.

    Args:
        array: (N,) floats.
        values: The labels as the user gave them. If a list has a single float, numpy converts all
            its numbers to floats; the list shows which number was a float.
        name: Name of the labels in the message.

    Returns:
        A ValueError if a number is not whole, otherwise a TypeError.
    """
    is_fractional = (array != np.floor(array)) | ~np.isfinite(array)
    if is_fractional.any():
        item = int(np.argmax(is_fractional))
        error_type: type[Exception] = ValueError
    else:
        is_listed = isinstance(values, (list, tuple))
        item = _find_first_float(values) if is_listed else 0
        error_type = TypeError
    value = float(array[item])
    return error_type(f"Expected whole numbers in `{name}`, but item {item} is {value!r}, a float.")


def _find_first_float(values: Any) -> int:
    for index, value in enumerate(values):
        if not _is_whole(value):
            return index
    return 0


def _check_label_range(
    labels: Integers, n_classes: int | Integers | None, *, name: str, minimum: int | None
) -> None:
    """Refuse labels below a minimum, or beyond the number of classes of their items.

    Args:
        labels: (N,) labels.
        n_classes: Number of classes, for all items or (N,) for each item. If None, there is no
            upper bound.
        name: Name of the labels in error messages.
        minimum: Smallest label. If None, there is no lower bound.
    """
    largest: Any = _LARGEST_LABEL if n_classes is None else np.asarray(n_classes) - 1
    is_invalid = labels > largest
    if minimum is not None:
        is_invalid |= labels < minimum
    if not is_invalid.any():
        return
    item = int(np.argmax(is_invalid))
    maximum = None
    if n_classes is not None:
        # The bound of this item, which may differ from those of others.
        maximum = int(np.broadcast_to(largest, labels.shape)[item])
    bounds = _describe_bounds(minimum, maximum)
    raise ValueError(
        f"Expected each label in `{name}` to be {bounds}, but item {item} is {int(labels[item])}."
    )


# ----------------------------------------------------------------------------------- class scores

SCORE_KINDS = ("probabilities", "logits", "log_probabilities")

ROW_SUM_TOLERANCE = 1e-2
"""Largest distance of the sum of a row of probabilities from 1.

A softmax in bfloat16 (8 bits of mantissa) rounds every entry by up to 0.4 %, so its rows sum to 1
within 0.004 plus the rounding of the sum; float16 and float32 lie well inside. Rows are not
renormalized.
"""

RANGE_TOLERANCE = 1e-6
"""Largest distance of a probability from [0, 1] by rounding; it is clipped to the range."""


MAX_LOOP_COLUMNS = 7
"""Largest number of columns that a loop reduces faster than numpy does, and in the same order."""


def reduce_rows(table: NDArray[Any], ufunc: np.ufunc) -> NDArray[Any]:
    """Reduce each row of a table by a ufunc, quickly for rows of few columns.

    Args:
        table: (N, C) values.
        ufunc: A binary ufunc, such as `np.add` or `np.maximum`.

    Returns:
        (N,) one value per row.

    Example:
        >>> reduce_rows(np.array([[0.25, 0.5], [1.0, 3.0]]), np.add)
        array([0.75, 4.  ])
    """
    if table.shape[1] > MAX_LOOP_COLUMNS:
        reduced = ufunc.reduce(table, axis=1)
        return np.asarray(reduced)
    # numpy reduces short rows slowly. A loop over the columns of a block of rows is several times
    # as fast, because the block stays in the processor's cache.
    reduced = np.empty(len(table), dtype=table.dtype)
    for start in range(0, len(table), BLOCK_SIZE):
        block = table[start : start + BLOCK_SIZE]
        result = reduced[start : start + BLOCK_SIZE]
        result[:] = block[:, 0]
        for column in range(1, block.shape[1]):
            ufunc(result, block[:, column], out=result)
    return reduced


def softmax(logits: Floats) -> Floats:
    """Compute the softmax over the last axis, without overflow.

    Args:
        logits: (..., K) logits.

    Returns:
        (..., K) float64 probabilities.
    """
    rows = logits.reshape(-1, logits.shape[-1])
    # Subtracting the largest logit changes nothing, but prevents an overflow.
    highest = reduce_rows(rows, np.maximum)
    exponentials = np.exp(rows - highest[:, None])
    sums = reduce_rows(exponentials, np.add)
    probabilities = exponentials / sums[:, None]
    return np.asarray(probabilities.reshape(logits.shape), dtype=np.float64)


def to_probabilities(
    rows: NumericRows, *, scores: str = "probabilities", name: str = "predictions"
) -> Floats | Ragged:
    """Check rows of class scores, and return them as probabilities.

    Args:
        rows: (N, K) scores, (N,) P(class 1), or rows of different lengths, from `parse_rows`.
        scores: Meaning of the numbers, as in `check_scores`.
        name: Name of the scores in error messages.

    Returns:
        (N, K) float64 probabilities, or `Ragged` if the rows differ in length.

    Example:
        >>> from rightreasons.core.arrays import parse_rows
        >>> to_probabilities(parse_rows([0.25, 1.0], "predictions"))
        array([[0.75, 0.25],
               [0.  , 1.  ]])
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    if not isinstance(rows.values, Ragged):
        return table_to_probabilities(rows.values, scores=scores, name=name)
    return _ragged_to_probabilities(rows.values, scores, name)


def check_scores(
    predictions: object,
    *,
    scores: str = "probabilities",
    name: str = "predictions",
    allow_vector: bool = True,
) -> Floats:
    r"""Check a table of class scores, and return it as probabilities.

    Args:
        predictions: (N, K) scores with K >= 2, or (N,) P(class 1) of a binary task, which becomes
            (N, 2). Lists, numpy arrays of any float type, and tensors (bfloat16 too, with or
            without gradients) are accepted.
        scores: Meaning of the numbers: "probabilities" (rows sum to 1 within `ROW_SUM_TOLERANCE`),
            "logits" (the softmax is taken) or "log_probabilities" (exponentials are taken, and
            checked as probabilities).
        name: Name of the table in error messages.
        allow_vector: Whether (N,) is accepted.

    Returns:
        (N, K) float64 probabilities in [0, 1].

    Raises:
        TypeError: If it is not a table of numbers.
        ValueError: If a shape, a sum or a value is wrong; the first bad row is named.

    Example:
        >>> check_scores([[0.0, 0.0], [3.0, 3.0]], scores="logits")
        array([[0.5, 0.5],
               [0.5, 0.5]])
        >>> check_scores([[0.5, 0.5], [0.5, 0.33]])
        Traceback (most recent call last):
        ...
        ValueError: Expected each row of `predictions` to sum to 1, but row 1 sums to 0.83.
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    table = to_floats(predictions, name)
    return table_to_probabilities(table, scores=scores, name=name, allow_vector=allow_vector)


def check_ragged(
    predictions: object, *, scores: str = "probabilities", name: str = "predictions"
) -> Ragged:
    """Check rows of choice scores whose lengths may differ, and return probabilities.

    Args:
        predictions: A sequence of N rows, each with at least two numbers, or an (N, K) array.
        scores: Meaning of the numbers, as in `check_scores`. A softmax is taken inside each row.
        name: Name of the rows in error messages.

    Returns:
        The rows as `Ragged` float64 probabilities.

    Example:
        >>> check_ragged([[0.5, 0.5], [0.2, 0.3, 0.5]]).lengths
        array([2, 3])
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    rows = as_ragged(predictions, name)
    return _ragged_to_probabilities(rows, scores, name)


def check_logits(
    predictions: object, *, scores: str = "logits", name: str = "predictions"
) -> Floats | Ragged:
    """Check scores, and return logits whose softmax gives the probabilities.

    The softmax itself is not computed, because small probabilities would underflow to 0.

    Args:
        predictions: (N, K) scores, (N,) P(class 1) or its logarithm, or N rows of different
            lengths.
        scores: Meaning of the numbers, as in `check_scores`.
        name: Name of the scores in error messages.

    Returns:
        (N, K) float64 logits, or `Ragged` logits if the rows differ in length; minus infinity for a
        probability of 0.

    Example:
        >>> check_logits([[0.0, 3.0]])
        array([[0., 3.]])
    """
    items = to_array_or_list(predictions, name)
    if is_ragged(items):
        check_one_of(scores, SCORE_KINDS, "scores")
        rows = concatenate_rows(items, name)
        probabilities = _ragged_to_probabilities(rows, scores, name)
        # Log-probabilities are logits, too. Both are checked above, and returned unchanged.
        if scores != "probabilities":
            return rows
        with np.errstate(divide="ignore"):
            return Ragged(np.log(probabilities.values), rows.offsets)

    check_one_of(scores, SCORE_KINDS, "scores")
    table = to_floats(items, name)
    checked = table_to_probabilities(table, scores=scores, name=name)
    # The logarithm of a probability of 0 is minus infinity, which is a valid logit.
    with np.errstate(divide="ignore"):
        if scores == "probabilities":
            return np.log(checked)
        if table.ndim == 1:
            # Rounding may make log P(class 1) slightly positive; then P(class 0) would be negative.
            log_positive = np.minimum(table, 0.0)
            log_negative = np.log(-np.expm1(log_positive))
            return np.column_stack((log_negative, log_positive))
    return table


def as_ragged(rows: object, name: str) -> Ragged:
    """Convert rows of numbers, of equal or different lengths, to `Ragged`.

    Args:
        rows: N rows in any form that `to_array_or_list` accepts.
        name: Name of the rows in error messages.
    """
    if isinstance(rows, Ragged):
        return rows
    items = to_array_or_list(rows, name, "a sequence of rows of numbers")
    if not isinstance(items, np.ndarray):
        return concatenate_rows(items, name)
    table = to_floats(items, name)
    if table.ndim != 2:
        raise ValueError(
            f"Expected a row of numbers per item in `{name}`, but got shape {table.shape}."
        )
    return Ragged.of_table(table)


def table_to_probabilities(
    table: Floats, *, scores: str, name: str = "predictions", allow_vector: bool = True
) -> Floats:
    """Check the values of class scores that are an array: the second step of `check_scores`.

    Args:
        table: (N, K) float64 scores with K >= 2, or (N,) P(class 1), from `to_floats`.
        scores: One of `SCORE_KINDS`: "probabilities", "logits" or "log_probabilities".
        name: Name of the table in error messages.
        allow_vector: Whether (N,) is accepted; logits must be (N, K) in any case.

    Returns:
        (N, K) probabilities in [0, 1].

    Raises:
        ValueError: If the shape or a value is wrong, or a row of probabilities does not sum to 1.
    """
    _check_not_empty(table.size, "row", name)
    # A single logit per item does not score two classes, and its softmax would always be 1.
    allow_vector = allow_vector and scores != "logits"
    if table.ndim == 1 and allow_vector:
        positive = _to_unit_interval(table, scores, name)
        return np.column_stack((1.0 - positive, positive))
    if table.ndim != 2 or table.shape[1] < 2:
        expected = "(N, K) for K classes, at least two"
        if allow_vector:
            expected += ", or (N,) for P(class 1)"
        raise ValueError(f"Expected `{name}` of shape {expected}, but got shape {table.shape}.")
    # Minus infinity is the logit of a choice that is masked out.
    if scores == "logits":
        _check_finite(table, name, allow_minus_infinity=True)
        _check_has_finite_logits(reduce_rows(table, np.maximum), name)
        return softmax(table)
    probabilities = _to_unit_interval(table, scores, name)
    _check_row_sums(reduce_rows(probabilities, np.add), name)
    return probabilities


def _ragged_to_probabilities(rows: Ragged, scores: str, name: str) -> Ragged:
    """Check rows of choice scores, and convert them to probabilities.

    Args:
        rows: Rows of at least two scores each.
        scores: One of `SCORE_KINDS`: "probabilities", "logits" or "log_probabilities".
        name: Name of the rows in error messages.

    Raises:
        ValueError: If a row has fewer than two scores, a value is wrong, or a row of probabilities
            does not sum to 1.
    """
    _check_not_empty(len(rows), "row", name)
    lengths = rows.lengths
    # The probability of a single choice would always be 1.
    if lengths.min() < 2:
        row = int(np.argmax(lengths < 2))
        raise ValueError(
            f"Expected at least two choices in each row of `{name}`, "
            f"but row {row} has {lengths[row]}."
        )
    if scores != "logits":
        values = _to_unit_interval(rows.values, scores, name, rows)
        probabilities = Ragged(values, rows.offsets)
        _check_row_sums(probabilities.reduce(np.add), name)
        return probabilities
    _check_finite(rows.values, name, allow_minus_infinity=True, rows=rows)
    _check_has_finite_logits(rows.reduce(np.maximum), name)
    return rows.softmax()


def _to_unit_interval(values: Floats, scores: str, name: str, rows: Ragged | None = None) -> Floats:
    """Check probabilities, or convert log-probabilities, and clip small rounding errors to [0, 1].

    Args:
        values: Probabilities or log-probabilities, of any shape.
        scores: "probabilities" or "log_probabilities".
        name: Name of the scores in error messages.
        rows: The rows of different lengths that `values` are from, for error messages. If None,
            `values` has a row per item.

    Returns:
        Probabilities of the same shape.

    Raises:
        ValueError: If a value is not finite, or outside [0, 1] by more than `RANGE_TOLERANCE`.
    """
    is_log = scores != "probabilities"
    _check_finite(values, name, allow_minus_infinity=is_log, rows=rows)
    if scores == "log_probabilities":
        values = np.exp(values)
    # The extremes show that almost every input is valid, without the cost of a mask.
    if values.min() >= 0 and values.max() <= 1:
        return values
    is_outside = (values < -RANGE_TOLERANCE) | (values > 1 + RANGE_TOLERANCE)
    if is_outside.any():
        index = int(np.argmax(is_outside))
        row = _find_row(index, values, rows)
        value = float(values.reshape(-1)[index])
        raise OptionError(
            f"Expected probabilities between 0 and 1 in `{name}`, but row {row} holds "
            f"{value:.6g}. Divide percentages by 100, or set `scores` to logits for raw model "
            "outputs.",
            option="scores",
        )
    return np.clip(values, 0.0, 1.0)


def has_numbers_outside(values: Floats) -> bool:
    """Return whether finite numbers are outside [0, 1] by more than `RANGE_TOLERANCE`."""
    is_outside = (values < -RANGE_TOLERANCE) | (values > 1 + RANGE_TOLERANCE)
    return bool((is_outside & np.isfinite(values)).any())


def _check_row_sums(sums: Floats, name: str) -> None:
    """Check that rows of probabilities sum to 1, up to `ROW_SUM_TOLERANCE`.

    Args:
        sums: (N,) sum of each row.
        name: Name of the scores in error messages.
    """
    # The extremes show quickly that all rows are valid, in the usual case.
    if sums.max() - 1.0 <= ROW_SUM_TOLERANCE and 1.0 - sums.min() <= ROW_SUM_TOLERANCE:
        return
    distances = np.abs(sums - 1.0)
    row = int(np.argmax(distances > ROW_SUM_TOLERANCE))
    raise ValueError(
        f"Expected each row of `{name}` to sum to 1, but row {row} sums to {sums[row]:.4g}."
    )


def _check_has_finite_logits(largest: Floats, name: str) -> None:
    """Check that each row has a logit above minus infinity: otherwise no choice is possible.

    Args:
        largest: (N,) largest logit of each row.
        name: Name of the logits in the error message.
    """
    is_impossible = np.isneginf(largest)
    if is_impossible.any():
        row = int(np.argmax(is_impossible))
        raise ValueError(
            f"Expected a finite logit in each row of `{name}`, but row {row} has none."
        )


# ----------------------------------------------------------------------------- parts of all checks


def _check_not_empty(number: int, unit: str, name: str) -> None:
    if number == 0:
        raise ValueError(f"Expected at least one {unit} in `{name}`, but it is empty.")


def _check_is_vector(array: NDArray[Any], name: str) -> None:
    if array.ndim != 1:
        raise ValueError(f"Expected `{name}` of shape (N,), but got shape {array.shape}.")


def _check_finite(
    values: Floats, name: str, *, allow_minus_infinity: bool = False, rows: Ragged | None = None
) -> None:
    """Check that numbers are finite; raise ValueError with the first row that has another one.

    Args:
        values: Numbers of any shape.
        name: Name of the numbers in the error message.
        allow_minus_infinity: Whether minus infinity is accepted, as the logarithm of zero.
        rows: The rows of different lengths that `values` are from, for the error message. If None,
            `values` has a row per item.
    """
    # A finite sum proves that all terms are finite. In the usual case, this avoids a mask.
    if np.isfinite(values.sum()):
        return
    is_infinite = np.isposinf(values) if allow_minus_infinity else np.isinf(values)
    is_invalid = np.isnan(values) | is_infinite
    # Finite numbers may have an infinite sum.
    if not is_invalid.any():
        return
    index = int(np.argmax(is_invalid))
    row = _find_row(index, values, rows)
    value = values.reshape(-1)[index]
    text = "NaN" if np.isnan(value) else str(value)
    raise ValueError(f"Expected finite numbers in `{name}`, but row {row} holds {text}.")


def _find_row(index: int, values: Floats, rows: Ragged | None) -> int:
    """Return the row that contains an index of the flattened values.

    Args:
        index: Index into `values.reshape(-1)`.
        values: (N,) or (N, K) values, or the flat values of `rows`.
        rows: Rows that the values belong to, if these differ in length.
    """
    if rows is not None:
        # The row is the last one that begins at the index or before it.
        return int(np.searchsorted(rows.offsets, index, side="right")) - 1
    if values.ndim == 2:
        return index // int(values.shape[1])
    return index


def _is_whole(value: object) -> bool:
    """Return whether a value is an integer, but not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _is_flag(value: object) -> bool:
    return isinstance(value, numbers.Integral) and value in (0, 1)


def _describe_bounds(minimum: float | None, maximum: float | None) -> str:
    """Return bounds in words, such as "between 0 and 1"; at most one of them may be None."""
    if minimum is None:
        return f"at most {maximum}"
    if maximum is None:
        return f"at least {minimum}"
    return f"between {minimum} and {maximum}"


def _join_with_and(words: Sequence[str]) -> str:
    """Join at least two words by commas and a final "and"."""
    return f"{', '.join(words[:-1])} and {words[-1]}"
