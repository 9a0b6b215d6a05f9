"""The one place that checks what a user hands in, and raises.

Every check returns its value in the form in which the kernels want it, or raises one sentence that says what was
expected, what came and where. `TypeError` is for the wrong kind of thing, `ValueError` for the wrong value.
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
    LazyArrowColumn,
    Ragged,
    describe_kind,
    to_array_or_list,
    to_floats,
    to_numpy,
)
from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.label_names import format_list
from rightreasons.core.sentences import format_value, suggest_similar_names

# ---------------------------------------------------------------------------- Numeric helpers that several floors share


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the softmax over the last axis without overflow; (…, K) to (…, K)."""
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True), dtype=np.float64)


T = TypeVar("T", bound=str)

ROW_SUM_TOLERANCE = 1e-2
"""How far a row of probabilities may sum from 1.

A softmax in bfloat16 (8 bits of mantissa) rounds every entry by up to 0.4 %, so its rows sum to 1 within 0.004 plus the
rounding of the sum; float16 and float32 lie well inside. Nothing is renormalised.
"""

RANGE_TOLERANCE = 1e-6
"""How far a probability may leave [0, 1] by rounding; it is clipped to the range."""

_LISTS = dict.fromkeys((list, Iterable, Sequence), "a list")
_NOUNS: Mapping[Any, str] = {
    str: "a text",
    os.PathLike: "a path",
    Mapping: "a mapping",
    dict: "a mapping",
    Callable: "a function",
    Sized: "a sequence",
    **_LISTS,
}

MAX_DRAWS = 10_000_000
"""How many resamples or permutations may be asked for."""

MAX_BINS = 1_000_000
"""How many bins may be asked for."""

SCORE_KINDS = ("probabilities", "logits", "log_probabilities")


# ------------------------------------------------------------------------------------------------ names and packages


def check_kind(value: object, name: str, kind: Any) -> None:
    """Refuse a value that is not of a kind: a class, or a union of classes, whose items are not looked at.

    Numbers are not looked at either: whoever reads them knows their range and says it.

    Example:
        >>> check_kind(7, "text", str | None)
        Traceback (most recent call last):
        ...
        TypeError: Expected `text` to be a text, but got 7 (int).
    """
    parts = (
        typing.get_args(kind)
        if typing.get_origin(kind) in (typing.Union, types.UnionType)
        else (kind,)
    )
    kinds = [typing.get_origin(part) or part for part in parts]
    if not {Any, int, float, bool} & set(kinds) and not isinstance(value, tuple(kinds)):
        nouns = " or ".join(
            _NOUNS.get(each, f"a {each.__name__}") for each in kinds if each is not types.NoneType
        )
        raise TypeError(
            f"Expected `{name}` to be {nouns}, but got {format_value(value)} ({type(value).__name__})."
        )


def check_one_of(value: T, allowed: Sequence[str], name: str) -> T:
    """Check an option that takes one of a few words.

    Example:
        >>> check_one_of("quantiles", ("uniform", "quantile"), "bins")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `bins` to be one of 'uniform' or 'quantile', but got \
'quantiles'. Did you mean 'quantile'?
    """
    if isinstance(value, str) and value in allowed:
        return value
    words = [repr(word) for word in allowed]
    listed = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    if not isinstance(value, str):
        raise OptionTypeError(
            f"Expected `{name}` to be one of {listed}, but got {describe_kind(value)}.", option=name
        )
    hint = suggest_similar_names(value, allowed)
    raise OptionError(
        f"Expected `{name}` to be one of {listed}, but got {value!r}.{hint}", option=name
    )


def require_value(value: Any, name: str, what: str) -> Any:
    """Return an option that has no default, or say that it is missing.

    Example:
        >>> require_value(None, "suite", "a Suite")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `suite` (a Suite), but got None.
    """
    if value is None:
        raise OptionError(f"Expected `{name}` ({what}), but got None.", option=name)
    return value


def check_all(
    values: Iterable[Any],
    is_right: Callable[[Any], object],
    expected: str,
    *,
    unit: str = "row",
    first: int = 0,
    names: Sequence[object] | None = None,
) -> None:
    """Refuse the first of some values that is not right.

    Args:
        values: N values.
        is_right: Tells whether one is right.
        expected: What is expected, and where.
        unit: What a value belongs to.
        first: The number of the first one.
        names: N names of these units; None for their numbers.

    Example:
        >>> check_all([0.5, 7], lambda share: share <= 1, "shares in the column 'p' of x.csv")
        Traceback (most recent call last):
        ...
        ValueError: Expected shares in the column 'p' of x.csv, but row 1 holds 7.
    """
    for number, value in enumerate(values):
        if not is_right(value):
            name = number + first if names is None else format_value(names[number])
            plain = value.item() if isinstance(value, np.generic) else value
            raise ValueError(
                f"Expected {expected}, but {unit} {name} holds {format_value(plain, 60)}."
            )


# ------------------------------------------------------------------------------------------------------------ scalars


def check_count(value: object, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Check a whole number that is at least `minimum` and, where there is one, at most `maximum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise OptionTypeError(
            f"Expected `{name}` to be a whole number, but got {describe_kind(value)}.", option=name
        )
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        bound = f"at least {minimum}" if number < minimum else f"at most {maximum}"
        # Python writes some thousands of digits at most.
        shown = number if number.bit_length() < 200 else f"one of {number.bit_length()} bits"
        raise OptionError(f"Expected `{name}` to be {bound}, but got {shown}.", option=name)
    return number


def check_at_most(number: int, most: int, what: str, where: object) -> None:
    """Check that something is within a limit.

    Example:
        >>> check_at_most(1_001, 1_000, "rows", "long.csv")
        Traceback (most recent call last):
        ...
        ValueError: Expected at most 1,000 rows in long.csv, but it has 1,001.
    """
    if number > most:
        raise ValueError(f"Expected at most {most:,} {what} in {where}, but it has {number:,}.")


def check_seed(value: object) -> int:
    """Check a seed: a whole number from 0."""
    return check_count(value, "seed", minimum=0)


def check_number(
    value: object, name: str, *, minimum: float | None = None, maximum: float | None = None
) -> float:
    """Check a finite real number, with closed bounds."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise OptionTypeError(
            f"Expected `{name}` to be a number, but got {describe_kind(value)}.", option=name
        )
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise OptionError(
            f"Expected `{name}` to be a finite number, but got {number}.", option=name
        )
    if (minimum is not None and number < minimum) or (maximum is not None and number > maximum):
        raise OptionError(
            f"Expected `{name}` to be {_describe_bounds(minimum, maximum)}, but got {number}.",
            option=name,
        )
    return number


def check_fraction(value: object, name: str, *, open_ends: bool = False) -> float:
    """Check a number in [0, 1], or in (0, 1) where the ends make no sense."""
    number = (
        check_number(value, name) if open_ends else check_number(value, name, minimum=0, maximum=1)
    )
    if open_ends and not 0 < number < 1:
        raise OptionError(
            f"Expected `{name}` to be strictly between 0 and 1, but got {number}.", option=name
        )
    return number


def check_bool(value: object, name: str) -> bool:
    """Check a flag."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionTypeError(
            f"Expected `{name}` to be True or False, but got {describe_kind(value)}.", option=name
        )
    return bool(value)


# -------------------------------------------------------------------------------------------------------------- arrays


def check_scores(
    predictions: object,
    *,
    scores: str = "probabilities",
    name: str = "predictions",
    allow_vector: bool = True,
) -> NDArray[np.float64]:
    r"""Check a table of class scores and return it as probabilities.

    Args:
        predictions: (N, K) scores with K >= 2, or (N,) P(class 1) of a binary task, which becomes (N, 2). Lists, numpy
            arrays of any float type, and tensors (bfloat16 too, with or without gradients) are accepted.
        scores: What the numbers are: "probabilities" (rows sum to 1 within `ROW_SUM_TOLERANCE`), "logits" (softmax is
            taken) or "log_probabilities" (exponentials are taken, and checked as probabilities).
        name: What the caller calls the table.
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
    _check_not_empty(table.size, "row", name)
    allow_vector = allow_vector and scores != "logits"
    if table.ndim == 1 and allow_vector:
        positive = _fractions(table, scores, name)
        return np.column_stack((1.0 - positive, positive))
    if table.ndim != 2 or table.shape[1] < 2:
        wanted = "(N, K) for K classes, at least two" + (
            ", or (N,) for P(class 1)" if allow_vector else ""
        )
        raise ValueError(f"Expected `{name}` of shape {wanted}, but got shape {table.shape}.")
    if scores == "logits":
        _check_finite(table, name, allow_minus_infinity=True)
        _check_some_finite(table.max(axis=1), name)
        return softmax(table)
    table = _fractions(table, scores, name)
    _check_row_sums(table.sum(axis=1), name)
    return table


def check_ragged(
    predictions: object, *, scores: str = "probabilities", name: str = "predictions"
) -> Ragged:
    """Check rows of choice scores whose lengths may differ and return probabilities.

    Args:
        predictions: A sequence of N rows, each with at least two numbers, or an (N, K) array.
        scores: As in `check_scores`; a softmax is taken inside each row.
        name: What the caller calls them.

    Returns:
        The rows as `Ragged` float64 probabilities.

    Example:
        >>> check_ragged([[0.5, 0.5], [0.2, 0.3, 0.5]]).lengths
        array([2, 3])
    """
    check_one_of(scores, SCORE_KINDS, "scores")
    rows = as_ragged(predictions, name)
    _check_not_empty(len(rows), "row", name)
    short = np.flatnonzero(rows.lengths < 2)
    if short.size:
        but = f"row {short[0]} has {rows.lengths[short[0]]}"
        raise ValueError(f"Expected at least two choices in each row of `{name}`, but {but}.")
    if scores == "logits":
        _check_finite(rows.values, name, allow_minus_infinity=True, rows=rows)
        _check_some_finite(rows.reduce(np.maximum), name)
        return rows.softmax()
    checked = Ragged(_fractions(rows.values, scores, name, rows), rows.offsets)
    _check_row_sums(checked.reduce(np.add), name)
    return checked


def check_logits(
    predictions: object, *, scores: str = "logits", name: str = "predictions"
) -> NDArray[np.float64] | Ragged:
    """Check scores and return them in the logarithm: logits whose softmax gives the probabilities.

    Nothing is lost to underflow, as it is where the softmax is taken first.

    Args:
        predictions: (N, K) scores, (N,) P(class 1) or its logarithm, or N rows of different lengths.
        scores: What the numbers are, as in `check_scores`.
        name: What the caller calls them.

    Returns:
        (N, K) float64 logits, or `Ragged` ones where the rows differ in length; minus infinity for a probability of 0.

    Example:
        >>> check_logits([[0.0, 3.0]])
        array([[0., 3.]])
    """
    predictions = to_array_or_list(predictions, name)
    if is_ragged(predictions):
        rows = check_ragged(predictions, scores=scores, name=name)
        if scores != "probabilities":
            return as_ragged(predictions, name)
        with np.errstate(divide="ignore"):
            return Ragged(np.log(rows.values), rows.offsets)
    probabilities = check_scores(predictions, scores=scores, name=name)
    table = to_floats(predictions, name)
    with np.errstate(divide="ignore"):
        if scores == "probabilities":
            return np.log(probabilities)
        if table.ndim == 1:
            # log(1 - p) from log p, which a rounding error may carry just above 0
            positive = np.minimum(table, 0.0)
            return np.column_stack((np.log(-np.expm1(positive)), positive))
    return table


def as_ragged(rows: object, name: str) -> Ragged:
    """Turn a sequence of rows of numbers, of equal or different lengths, into `Ragged`."""
    if isinstance(rows, Ragged):
        return rows
    items = to_array_or_list(rows, name, "a sequence of rows of numbers")
    if isinstance(items, np.ndarray):
        table = to_floats(items, name)
        if table.ndim != 2:
            raise ValueError(
                f"Expected a row of numbers per item in `{name}`, but got shape {table.shape}."
            )
        return Ragged.of_table(table)
    parts = [to_floats(row, f"{name}[{index}]") for index, row in enumerate(items)]
    odd = next((index for index, part in enumerate(parts) if part.ndim != 1), None)
    if odd is not None:
        but = f"row {odd} has {parts[odd].ndim} dimensions"
        raise ValueError(f"Expected each row of `{name}` to be a list of numbers, but {but}.")
    values = np.concatenate(parts) if parts else np.empty(0)
    return Ragged.of(values.astype(np.float64, copy=False), [len(part) for part in parts])


def is_ragged(rows: Any) -> bool:
    """Tell whether a list of rows has rows of different lengths."""
    if isinstance(rows, Ragged):
        return len(np.unique(rows.lengths)) > 1
    is_listed = (
        rows.dtype.kind == "O" if isinstance(rows, np.ndarray) else isinstance(rows, Sequence)
    )
    try:
        return (
            is_listed and not isinstance(rows, (str, bytes)) and len({len(row) for row in rows}) > 1
        )
    except TypeError:
        return False


def check_labels(
    references: object,
    n_classes: int | NDArray[np.int64] | None = None,
    *,
    name: str = "references",
    minimum: int | None = 0,
) -> NDArray[np.int64]:
    """Check class labels: whole numbers from `minimum` to below `n_classes`.

    Args:
        references: (N,) labels. Floats, booleans and strings are refused, as evaluate would cast them silently.
        n_classes: Number of classes, for all items or for each item; None to leave the upper end open.
        name: What the caller calls them.
        minimum: The smallest legal label, 0 or -1 (for items without a right answer); None to leave the lower end open.

    Returns:
        (N,) int64.

    Example:
        >>> check_labels([0, 2], 2)
        Traceback (most recent call last):
        ...
        ValueError: Expected each label in `references` to be between 0 and 1, but item 1 is 2.
    """
    values = to_numpy(references, name)
    if values.ndim != 1:
        raise ValueError(f"Expected `{name}` of shape (N,), but got shape {values.shape}.")
    _check_not_empty(values.size, "label", name)
    if values.dtype.kind == "f":
        odd = (values != np.floor(values)) | ~np.isfinite(values)
        items = references if isinstance(references, (list, tuple)) else ()
        first = next((item for item, value in enumerate(items) if not _is_whole(value)), 0)
        where, error = (int(odd.argmax()), ValueError) if odd.any() else (first, TypeError)
        raise error(
            f"Expected whole numbers in `{name}`, but item {where} is {float(values[where])!r}, a float."
        )
    if values.dtype.kind not in "iu":
        item = next((i for i, value in enumerate(values) if not _is_whole(value)), None)
        if item is not None:
            raise TypeError(
                f"Expected whole numbers in `{name}`, but item {item} is {describe_kind(values[item])}."
            )
    if values.dtype.kind == "O" or values.dtype == np.uint64:
        item = next(
            (
                i
                for i, value in enumerate(values.tolist())
                if not -_LARGEST_LABEL <= value <= _LARGEST_LABEL
            ),
            None,
        )
        if item is not None:
            raise ValueError(
                f"Expected labels of at most 64 bits in `{name}`, but item {item} is larger."
            )
    labels = values.astype(np.int64, copy=False)
    upper = np.broadcast_to(
        _LARGEST_LABEL if n_classes is None else np.asarray(n_classes) - 1, labels.shape
    )
    wrong = (labels > upper) if minimum is None else (labels < minimum) | (labels > upper)
    if wrong.any():
        item = int(wrong.argmax())
        span = _describe_bounds(minimum, None if n_classes is None else int(upper[item]))
        raise ValueError(
            f"Expected each label in `{name}` to be {span}, but item {item} is {int(labels[item])}."
        )
    return labels


def check_vector(
    values: object, name: str, *, minimum: float | None = None, maximum: float | None = None
) -> NDArray[np.float64]:
    """Check a non-empty (N,) vector of finite floats, with closed bounds; returns float64."""
    vector = to_floats(values, name)
    if vector.ndim != 1:
        raise ValueError(f"Expected `{name}` of shape (N,), but got shape {vector.shape}.")
    _check_finite(vector, name)
    _check_not_empty(vector.size, "value", name)
    for bad, span in (
        (vector < (-np.inf if minimum is None else minimum), _describe_bounds(minimum, None)),
        (vector > (np.inf if maximum is None else maximum), _describe_bounds(None, maximum)),
    ):
        if bad.any():
            item = int(bad.argmax())
            raise ValueError(
                f"Expected each value in `{name}` to be {span}, but item {item} is {vector[item]}."
            )
    return vector


def check_flags(values: object, name: str) -> NDArray[np.bool_]:
    """Check a non-empty (N,) vector of True/False; 0 and 1 are accepted."""
    flags = to_numpy(values, name)
    if flags.ndim != 1:
        raise ValueError(f"Expected `{name}` of shape (N,), but got shape {flags.shape}.")
    _check_not_empty(flags.size, "value", name)
    if flags.dtype.kind == "b":
        return flags.astype(np.bool_, copy=False)
    if flags.dtype == object:
        bad = np.array(
            [not isinstance(flag, numbers.Integral) or flag not in (0, 1) for flag in flags]
        )
    else:
        bad = ~np.isin(flags, (0, 1))
    if bad.any() or flags.dtype.kind not in "iuO":
        item = int(np.argmax(bad))
        raise TypeError(
            f"Expected True or False in `{name}`, but item {item} is {describe_kind(flags[item])}."
        )
    return flags.astype(np.bool_)


def check_same_length(**columns: Any) -> int:
    """Check that the named columns have one length and return it.

    Example:
        >>> check_same_length(predictions=[1, 2, 3], references=[1, 2])
        Traceback (most recent call last):
        ...
        ValueError: Expected `predictions` and `references` of one length, but got 3 and 2.
    """
    for name, column in columns.items():
        check_kind(column, name, Sized)
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        names = [f"`{name}`" for name in lengths]
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        counts = [str(length) for length in lengths.values()]
        raise ValueError(
            f"Expected {listed} of one length, but got {', '.join(counts[:-1])} and {counts[-1]}."
        )
    return next(iter(lengths.values()))


def check_columns(present: Sequence[str], needed: Sequence[str], where: object) -> None:
    """Check that a table has some columns.

    Args:
        present: The columns that it has.
        needed: Those that it has to have.
        where: What it is called.

    Example:
        >>> check_columns(["text", "class"], ["text", "label"], "the data set")
        Traceback (most recent call last):
        ...
        ValueError: Expected the columns text, label in the data set, but it lacks label; it has text, class.
    """
    lacking = [name for name in needed if name not in present]
    if lacking:
        raise ValueError(
            f"Expected the columns {', '.join(needed)} in {where}, but it lacks {', '.join(lacking)}; it has "
            f"{format_list(list(present)) or 'none'}."
        )


def check_texts(texts: object, name: str = "data", *, allow_empty: bool = False) -> list[str]:
    """Check a non-empty sequence of texts; an empty text is an error unless allowed."""
    checked = list(to_array_or_list(texts, name, "a sequence of texts"))
    _check_not_empty(len(checked), "text", name)
    for index, text in enumerate(checked):
        if not isinstance(text, str):
            raise TypeError(
                f"Expected each item of `{name}` to be a text, but item {index} is {describe_kind(text)}."
            )
        if not allow_empty and not text.strip():
            raise ValueError(
                f"Expected each text of `{name}` to have words, but item {index} is empty."
            )
    return checked


def check_choice_lists(
    rows: object, name: str = "choices", *, allow_empty: bool = True
) -> list[list[str]]:
    """Check the choices of multiple-choice items: N lists of at least two texts.

    Args:
        rows: The choices.
        name: What they are called in errors.
        allow_empty: Whether a choice may be empty.

    Example:
        >>> check_choice_lists([["yes", "no"], "maybe"])
        Traceback (most recent call last):
        ...
        TypeError: Expected each item of `choices` to be a list of choices, but item 1 is 'maybe' (str).
    """
    items = [
        check_texts(row, f"{name}[{index}]", allow_empty=allow_empty)
        for index, row in enumerate(_parse_lists("choices", rows, name))
    ]
    for index, item in enumerate(items):
        if len(item) < 2:
            raise ValueError(
                f"Expected at least two choices in each item of `{name}`, but item {index} has {len(item)}."
            )
    return items


def check_token_lists(
    rows: object, name: str = "tokens", *, allow_empty: bool = False
) -> list[Sequence[str]]:
    """Check a non-empty sequence of lists of tokens; a list without tokens is an error unless allowed.

    Example:
        >>> check_token_lists([["good", "film"], "bad film"])
        Traceback (most recent call last):
        ...
        TypeError: Expected each item of `tokens` to be a list of tokens, but item 1 is 'bad film' (str).
    """
    checked = _parse_lists("tokens", rows, name)
    for index, tokens in enumerate(checked):
        if not tokens and not allow_empty:
            raise ValueError(
                f"Expected at least one token in each item of `{name}`, but item {index} has none."
            )
        if not all(isinstance(token, str) for token in tokens):
            bad = next(token for token in tokens if not isinstance(token, str))
            raise TypeError(
                f"Expected the tokens of `{name}` to be texts, but item {index} holds {describe_kind(bad)}."
            )
    return checked


def _parse_lists(what: str, rows: object, name: str) -> list[Any]:
    """Check that rows are lists, and that there is one."""
    items: list[Any] = list(to_array_or_list(rows, name, f"a sequence of lists of {what}"))
    _check_not_empty(len(items), "item", name)
    for index, row in enumerate(items):
        if not isinstance(row, list):
            raise TypeError(
                f"Expected each item of `{name}` to be a list of {what}, but item {index} is {describe_kind(row)}."
            )
    return items


def check_ids(ids: Iterable[object], name: str = "id") -> Sequence[str]:
    """Check that ids are unique and return them as strings."""
    if isinstance(ids, LazyArrowColumn) and len(ids.arrow.unique()) == len(ids):
        return ids
    checked = [str(item) for item in ids]
    if len(set(checked)) < len(checked):
        index = next(index for index, item in enumerate(checked) if item in checked[:index])
        raise ValueError(
            f"Expected each `{name}` once, but {checked[index]!r} comes again at item {index}."
        )
    return checked


# ------------------------------------------------------------------------------------------------------------- private

_LARGEST_LABEL = np.iinfo(np.int64).max


def _check_not_empty(number: int, what: str, name: str) -> None:
    if not number:
        raise ValueError(f"Expected at least one {what} in `{name}`, but it is empty.")


def _describe_bounds(minimum: float | None, maximum: float | None) -> str:
    """Say between which bounds a number lies."""
    if minimum is not None and maximum is not None:
        return f"between {minimum} and {maximum}"
    return f"at most {maximum}" if minimum is None else f"at least {minimum}"


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def _row_of(index: int, values: NDArray[np.float64], rows: Ragged | None) -> int:
    if rows is not None:
        return rows.row_of(index)
    return index // values.shape[1] if values.ndim == 2 else index


def _check_finite(
    values: NDArray[np.float64],
    name: str,
    *,
    allow_minus_infinity: bool = False,
    rows: Ragged | None = None,
) -> None:
    # A sum is finite when all its terms are: one pass, and no mask in the usual case.
    if np.isfinite(values.sum()):
        return
    bad = np.isnan(values) | (np.isposinf(values) if allow_minus_infinity else np.isinf(values))
    if not bad.any():
        return
    index = int(np.flatnonzero(bad)[0])
    value = values.reshape(-1)[index]
    held = "NaN" if np.isnan(value) else str(value)
    raise ValueError(
        f"Expected finite numbers in `{name}`, but row {_row_of(index, values, rows)} holds {held}."
    )


def _check_some_finite(largest: NDArray[np.float64], name: str) -> None:
    lost = np.flatnonzero(np.isneginf(largest))
    if lost.size:
        raise ValueError(
            f"Expected a finite logit in each row of `{name}`, but row {lost[0]} has none."
        )


def _fractions(
    values: NDArray[np.float64], scores: str, name: str, rows: Ragged | None = None
) -> NDArray[np.float64]:
    """Return probabilities, or log-probabilities, as probabilities in [0, 1]."""
    _check_finite(values, name, allow_minus_infinity=scores != "probabilities", rows=rows)
    values = np.exp(values) if scores == "log_probabilities" else values
    low, high = values.min(), values.max()
    if low >= 0 and high <= 1:
        return values
    bad = (values < -RANGE_TOLERANCE) | (values > 1 + RANGE_TOLERANCE)
    if bad.any():
        index = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"Expected probabilities between 0 and 1 in `{name}`, but row {_row_of(index, values, rows)} holds "
            f"{float(values.reshape(-1)[index]):.6g}; divide percentages by 100, and say scores='logits' of raw model "
            "outputs."
        )
    return np.clip(values, 0.0, 1.0)


def _check_row_sums(sums: NDArray[np.float64], name: str) -> None:
    if sums.max() - 1.0 > ROW_SUM_TOLERANCE or 1.0 - sums.min() > ROW_SUM_TOLERANCE:
        row = int(np.flatnonzero(np.abs(sums - 1.0) > ROW_SUM_TOLERANCE)[0])
        raise ValueError(
            f"Expected each row of `{name}` to sum to 1, but row {row} sums to {sums[row]:.4g}."
        )


def add_letters(prompt: str, choices: Sequence[str]) -> tuple[str, list[str]]:
    r"""Write choices with letters under a prompt; return the text to ask, and the letters.

    Raises:
        ValueError: If there are more choices than letters.

    Example:
        >>> add_letters("Why cook?", ["To eat.", "To run."])
        ('Why cook?\nA. To eat.\nB. To run.\nAnswer:', ['A', 'B'])
    """
    if len(choices) > len(LETTERS):
        raise ValueError(
            f"Expected at most {len(LETTERS)} choices with letters, but got {len(choices)}."
        )
    letters = list(LETTERS[: len(choices)])
    lines = "\n".join(f"{letter}. {text}" for letter, text in zip(letters, choices, strict=True))
    return f"{prompt}\n{lines}\nAnswer:".lstrip("\n"), letters
