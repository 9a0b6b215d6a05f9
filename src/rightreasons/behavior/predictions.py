"""Predictions on a behavioral suite, parsed once: class numbers or texts, and their probabilities.

`parse_predictions` turns a user's predictions into a `SuitePredictions`. `number_answers` turns names or
numbers of labels, as files hold them, into the numbers that a suite uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import to_array_or_list, to_floats, to_numpy
from rightreasons.core.errors import OptionError
from rightreasons.core.labels.ids import resolve_labels
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.sentences import format_list
from rightreasons.core.suites import SuiteTable
from rightreasons.core.validation import (
    check_kind,
    check_label_array,
    check_text_items,
    check_vector,
    table_to_probabilities,
)

OUTPUTS = ("probabilities", "logits", "labels", "texts", "binary_sentiment")
"""Kinds of predictions that `pass_rates` takes."""

SENTIMENTS = ("negative", "neutral", "positive")
"""Labels of a suite of three sentiments, over which the probabilities of two are spread."""

ClassesOrTexts: TypeAlias = "NDArray[np.int64] | list[str]"
"""One answer per example: numbers of the suite's labels, or texts."""


@dataclasses.dataclass(frozen=True, eq=False)
class SuitePredictions:
    """Checked predictions, one per example of a suite, in the suite's order.

    Attributes:
        answers: n numbers of labels, or n texts.
        probabilities: (n, K) probabilities of the labels; None if they are unknown.
    """

    answers: ClassesOrTexts
    probabilities: NDArray[np.float64] | None = None


def parse_predictions(predictions: Any, suite: SuiteTable, outputs: str) -> SuitePredictions:
    """Check predictions on a suite, and convert them to class numbers or texts.

    Args:
        predictions: One prediction per example, in the suite's order.
        suite: Table of the suite, without its texts.
        outputs: Kind of the predictions: "probabilities", "logits", "labels", "texts", or
            "binary_sentiment" for P(positive) of a model of two sentiments.

    Returns:
        The answers, with probabilities unless `outputs` is "labels" or "texts".

    Raises:
        ValueError: If the number of predictions or of their columns differs from the suite's.
    """
    check_kind(suite, "suite", SuiteTable)
    # First the type, whatever library the predictions come from, and then what the values mean.
    values = _convert_predictions(predictions, outputs)
    if outputs == "labels":
        labels = check_label_array(values, predictions, _count_labels(suite), name="predictions")
        parsed = SuitePredictions(labels)
    elif outputs == "texts":
        check_text_items(values, "predictions", allow_empty=True)
        parsed = SuitePredictions(_number_texts(values, suite))
    else:
        # P(positive) is checked as any other probability.
        scores = "logits" if outputs == "logits" else "probabilities"
        probabilities = table_to_probabilities(values, scores=scores)
        parsed = _read_scores(probabilities, suite, is_binary=outputs == "binary_sentiment")
    n_predictions = len(parsed.answers)
    if n_predictions != len(suite):
        raise ValueError(
            f"Expected one prediction for each of the {len(suite)} examples of the suite, "
            f"in its order, but got {n_predictions}."
        )
    return parsed


def _convert_predictions(predictions: Any, outputs: str) -> Any:
    """Convert predictions from a list, an array, a tensor or a column of a table to one known type.

    Args:
        predictions: One prediction per example.
        outputs: Kind of the predictions, one of `OUTPUTS`.

    Returns:
        For "texts" a list of n values, for "labels" an array, and for scores a float64 array. Neither
        the shape nor the values are checked.

    Raises:
        TypeError, ValueError: If the predictions cannot be converted, such as scores that are texts.
    """
    if outputs == "texts":
        texts = to_array_or_list(predictions, "predictions", "a sequence of texts")
        # A copy: the caller may change the list later.
        return list(texts)
    if outputs == "labels":
        return to_numpy(predictions, "predictions")
    return to_floats(predictions, "predictions")


def _number_texts(texts: list[str], suite: SuiteTable) -> ClassesOrTexts:
    """Convert texts that are names or numbers of labels to numbers."""
    numbered = number_answers(texts, suite)
    if numbered is None:
        # The suite compares texts, or only tests whether answers stay the same.
        return texts
    return numbered.numbers


def _read_scores(
    probabilities: NDArray[np.float64], suite: SuiteTable, *, is_binary: bool
) -> SuitePredictions:
    """Return the most probable labels, with their probabilities.

    Args:
        probabilities: (n, K) probabilities.
        suite: Table of the suite.
        is_binary: Whether K = 2, for negative and positive, although the suite also has neutral.
    """
    if is_binary:
        probabilities = spread_over_neutral(probabilities[:, 1])
    _check_number_of_columns(probabilities.shape[1], suite)
    answers = np.argmax(probabilities, axis=1).astype(np.int64)
    return SuitePredictions(answers, probabilities)


def _count_labels(suite: SuiteTable) -> int | None:
    """Return the number of labels of a suite; None if a label may be any number.

    Without names, a model may have more labels than occur in the suite.
    """
    if suite.asks_for_texts or suite.label_names is None:
        return None
    return len(suite.label_names)


def _check_number_of_columns(n_columns: int, suite: SuiteTable) -> None:
    """Check that there is a column of scores for each label of a suite.

    Args:
        n_columns: Number of columns.
        suite: Table of the suite. If its labels have no names, there may be more columns than labels
            that occur in it.

    Raises:
        OptionError: If there are too few columns, or more columns than names of labels.
    """
    if suite.label_names:
        labels = format_list(suite.label_names)
        is_expected_number = n_columns == len(suite.label_names)
    else:
        labels = f"0 to {suite.max_label}"
        is_expected_number = n_columns >= suite.max_label + 1
    if is_expected_number:
        return
    hint = ""
    if n_columns == 2 and asks_for_neutral(suite):
        hint = ": say outputs='binary_sentiment'"
    raise OptionError(
        f"Expected a column of `predictions` for each label of the suite, {labels}, "
        f"but got {n_columns}{hint}.",
        option="outputs",
    )


def asks_for_neutral(suite: SuiteTable) -> bool:
    """Return whether the labels of a suite are called negative, neutral and positive.

    A model of two sentiments is scored on such a suite with outputs="binary_sentiment".
    """
    names = suite.label_names or ()
    return tuple(name.strip().casefold() for name in names) == SENTIMENTS


# ------------------------------------------------------------------- two classes as three


def neutral_probabilities(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn P(positive) of two classes into probabilities of negative, neutral and positive.

    With p = P(positive): outside [1/3, 2/3], the probability of neutral is 0. Inside, it is
    n = 1 - 3 |p - 1/2|, and the nearer one of the other classes has 1 - n. This is the rule of
    BeLUGA. At exactly 1/3 and 2/3, for which its code gives all zeros, the answer is neutral: n is
    the next number above 1/2.

    Args:
        positive: (N,) probabilities.

    Returns:
        (N, 3) probabilities of negative, neutral and positive.

    Raises:
        ValueError: If the shape is different, or a number is not a probability.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
        Learning", TACL.

    Example:
        >>> neutral_probabilities(np.array([0.1, 0.5, 0.6])).round(2).tolist()
        [[0.9, 0.0, 0.1], [0.0, 1.0, 0.0], [0.0, 0.7, 0.3]]
        >>> neutral_probabilities(np.array([1 / 3, 2 / 3])).argmax(axis=1).tolist()
        [1, 1]
    """
    checked = check_vector(positive, "positive", minimum=0, maximum=1)
    return spread_over_neutral(checked)


def spread_over_neutral(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn P(positive) of two classes into three probabilities, by the rule of `neutral_probabilities`.

    Args:
        positive: (N,) P(positive) of a model of two sentiments, which is not checked.

    Returns:
        (N, 3) probabilities of negative, neutral and positive.
    """
    is_inside = (positive >= 1 / 3) & (positive <= 2 / 3)
    # A little more than 1/2, so that neutral is the answer at both ends of the interval, too.
    min_neutral = np.nextafter(0.5, 1)
    neutral_inside = np.maximum(1 - 3 * np.abs(positive - 0.5), min_neutral)
    neutral = np.where(is_inside, neutral_inside, 0.0)

    # Inside the interval, the nearer class gets the rest, and the other class 0.
    rest = 1 - neutral
    is_nearer_to_positive = positive >= 0.5
    positive_inside = np.where(is_nearer_to_positive, rest, 0.0)
    negative_inside = np.where(is_nearer_to_positive, 0.0, rest)
    # Outside, the two classes keep their probabilities.
    new_positive = np.where(is_inside, positive_inside, positive)
    new_negative = np.where(is_inside, negative_inside, 1 - positive)
    return np.column_stack((new_negative, neutral, new_positive))


# ------------------------------------------------------------------------- names of labels


@dataclasses.dataclass(frozen=True, eq=False)
class NumberedAnswers:
    """Answers as numbers of the suite's labels.

    Attributes:
        numbers: (n,) numbers of the suite's labels.
        method: Description of how answers and labels were matched, such as "by name".
    """

    numbers: NDArray[np.int64]
    method: str


def number_answers(
    answers: NDArray[np.int64] | Sequence[str], suite: SuiteTable, *, source: str = "predictions"
) -> NumberedAnswers | None:
    """Turn answers, which are names or numbers of labels, into the numbers of a suite's labels.

    An answer such as "1" is first looked up among the names of the labels; if it is not a name, it is
    read as a number. Numbers count from 0, as in the suite.

    Args:
        answers: n numbers or texts.
        suite: Table of the suite.
        source: Description of the answers for error messages, such as "the predictions of bert".

    Returns:
        The numbers, and a description of the match. None if the suite compares texts, or if it has no
        labels, because it only tests whether answers stay the same.

    Raises:
        ValueError: If an answer is not a label of the suite. The message has both lists.

    Example:
        >>> from rightreasons.core.suites import SuiteTable
        >>> table = SuiteTable(
        ...     functionalities=("f",),
        ...     classes=("C",),
        ...     test_types=("MFT",),
        ...     expectations=({"name": "equal"},),
        ...     case_ids=("0",),
        ...     case_functionality=np.array([0]),
        ...     case_offsets=np.array([0, 2]),
        ...     labels=(0, 1),
        ...     label_names=("no", "yes"),
        ... )
        >>> numbered = number_answers(["Yes", "no"], table)
        >>> numbered.numbers, numbered.method
        (array([1, 0]), 'by name, letter case aside')
    """
    if suite.asks_for_texts:
        return None
    names = suite.label_names
    if names is None:
        if isinstance(answers, np.ndarray):
            return NumberedAnswers(answers, BY_NUMBER)
        # Texts may be the numbers of labels, but only if the suite uses such numbers.
        if not _has_numbered_labels(suite):
            return None

    column = resolve_labels(answers, names, first=0, source=source)
    if names is None and column.how != BY_NUMBER:
        raise ValueError(
            f"Expected label numbers in {source}, because the suite's first line has no "
            f"`label_names`, but got the answers {format_list(column.names)}."
        )
    # An empty answer would silently count as a failure.
    missing = np.flatnonzero(column.ids < 0)
    if missing.size:
        raise ValueError(
            f"Expected an answer to each example in {source}, one of "
            f"{format_list(names or column.names)}, but row {int(missing[0])} has none."
        )

    method = column.how
    if names and method == BY_NUMBER:
        # List the labels with their numbers, because a wrong order would not be noticed otherwise.
        pairs = [f"{number} is {name}" for number, name in enumerate(names)]
        method = f"{method}: {', '.join(pairs)}"
    return NumberedAnswers(column.ids, method)


def _has_numbered_labels(suite: SuiteTable) -> bool:
    """Return whether an example or an expectation of the suite has a label, which is a number.

    Args:
        suite: Table of the suite, with the label of each example, None for an example without a label, and the
            expectation of each functionality.
    """
    if any(label is not None for label in suite.labels):
        return True
    for spec in suite.expectations:
        for parameter in ("value", "label", "where_first"):
            if spec.get(parameter) is not None:
                return True
    return False
