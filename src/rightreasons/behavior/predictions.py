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

from rightreasons.behavior.expectations import spread_over_neutral
from rightreasons.core.arrays import cast_to_floats, to_array_or_list, to_numpy
from rightreasons.core.errors import OptionError
from rightreasons.core.labels.ids import resolve_labels
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.sentences import format_list
from rightreasons.core.suites import SuiteTable
from rightreasons.core.validation import (
    check_kind,
    check_text_items,
    table_to_probabilities,
    to_labels,
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
    _check_number_of_predictions(predictions, suite)
    converted = _convert_predictions(predictions, outputs)
    checked = _check_predictions(converted, predictions, outputs)
    if outputs in ("texts", "labels"):
        numbered = number_answers(checked, suite)
        if numbered is None:
            # The suite compares texts, or only tests whether answers stay the same.
            return SuitePredictions(checked)
        return SuitePredictions(numbered.numbers)

    if outputs == "binary_sentiment":
        _check_number_of_columns(len(SENTIMENTS), suite)
        # The columns are negative and positive, also if the input was a vector of P(positive).
        probabilities = spread_over_neutral(checked[:, 1])
    else:
        probabilities = checked
        _check_number_of_columns(probabilities.shape[1], suite)
    answers = np.argmax(probabilities, axis=1).astype(np.int64)
    return SuitePredictions(answers, probabilities)


def _convert_predictions(predictions: Any, outputs: str) -> Any:
    """Convert predictions from any accepted container to a list of texts or an array of numbers.

    Args:
        predictions: One prediction per example, such as a list, an array, a tensor or a column.
        outputs: One of `OUTPUTS`.

    Raises:
        TypeError: If they cannot be converted.
    """
    if outputs == "texts":
        return list(to_array_or_list(predictions, "predictions", "a sequence of texts"))
    array = to_numpy(predictions, "predictions")
    if outputs == "labels":
        return array
    return cast_to_floats(array, "predictions")


def _check_predictions(converted: Any, predictions: Any, outputs: str) -> Any:
    """Check converted predictions, and return n texts, n labels or (n, K) probabilities.

    Args:
        converted: A list of texts, or an array of numbers.
        predictions: The original predictions of the user, for error messages.
        outputs: One of `OUTPUTS`.
    """
    if outputs == "texts":
        check_text_items(converted, "predictions", allow_empty=True)
        return converted
    if outputs == "labels":
        return to_labels(converted, predictions, "predictions")
    scores = outputs
    if outputs == "binary_sentiment":
        # P(positive) is checked as any other probability.
        scores = "probabilities"
    return table_to_probabilities(converted, scores, "predictions", allow_vector=True)


def _check_number_of_predictions(predictions: Any, suite: SuiteTable) -> None:
    """Check that there is one prediction per example, if predictions have a length.

    Args:
        predictions: Predictions in any container. They are checked before their conversion, which may
            take long.
        suite: Table of the suite, whose length is the number of examples.

    Raises:
        ValueError: If the numbers differ.
    """
    # An iterator has no length before its conversion.
    if not hasattr(predictions, "__len__"):
        return
    n_predictions = len(predictions)
    if n_predictions != len(suite):
        raise ValueError(
            f"Expected one prediction for each of the {len(suite)} examples of the suite, "
            f"in its order, but got {n_predictions}."
        )


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
