"""What a behavioral test expects of a model: named, pure functions from answers to results.

Every expectation takes the answers to a functionality's examples, case by case, and returns one number per example: 1
where it holds, 0 where it fails, NaN where it does not apply. Expectations compose: `where_first` keeps the cases whose
first answer is (or is not) among given labels. A case passes when all of its applicable examples pass; pairwise
expectations, which compare with the first example, do not count that one.

The definitions are those of CheckList (Ribeiro et al. 2020), implemented independently.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.expectation_specs import check_expectation, expectation_parameters, skips_first
from rightreasons.foundations.validation import check_number

Results = NDArray[np.float64]

TOLERANCE = 0.1
"""How far a probability may move before CheckList calls it a change."""


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a model to the examples of one functionality, cases one after another.

    Attributes:
        predictions: n answers: an int64 array of labels, or texts for reading comprehension.
        offsets: (cases + 1,) where each case begins.
        probabilities: (n, K) class probabilities; None where the model gives none.
        labels: n expected answers (labels or texts), None where an example has none; None for tests without labels.
        meta: n pairs (old, new): what was replaced in this example; None where nothing was.
    """

    predictions: NDArray[np.int64] | Sequence[str]
    offsets: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None = None
    labels: Sequence[Any] | NDArray[np.int64] | None = None
    meta: Sequence[Any] | None = None

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def first(self) -> NDArray[np.int64]:
        """(n,) the index of the first example of each example's case."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def known_labels(self) -> Sequence[Any] | NDArray[np.int64]:
        """Return the labels, which this expectation needs."""
        if self.labels is None:
            raise ValueError("Expected labels for an expectation of right answers, but the functionality has none.")
        return self.labels

    def known_probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities, which this expectation needs."""
        if self.probabilities is None:
            raise ValueError("Expected class probabilities for an expectation of confidence, but got labels alone.")
        return self.probabilities

    def classes(self) -> NDArray[np.int64]:
        """Return the predictions as class labels."""
        if not isinstance(self.predictions, np.ndarray):
            raise TypeError("Expected class labels for this expectation, but the predictions are texts.")
        return self.predictions


def equal(answers: Answers, *, value: int | None = None, clean: str = "none") -> Results:
    """Expect the labeled answer, or one fixed label; NaN where an example has no label.

    Args:
        answers: The answers.
        value: The label expected of every example; None takes the examples' own.
        clean: "article" drops a leading a, an or the from both texts before they are compared.
    """
    if value is not None:
        return _as_results(answers.classes() == value)
    labels = answers.known_labels()
    if isinstance(answers.predictions, np.ndarray):
        try:
            gold = np.array([np.nan if label is None else label for label in labels], dtype=np.float64)
        except ValueError:
            text = next(label for label in labels if isinstance(label, str))
            raise ValueError(f"Expected class labels to compare predicted classes with, but got {text!r}.") from None
        return np.where(np.isnan(gold) | (gold < 0), np.nan, (answers.predictions == gold).astype(np.float64))
    return np.array(
        [
            np.nan if label is None else float(_clean(text, clean) == _clean(label, clean))
            for text, label in zip(answers.predictions, labels, strict=True)
        ]
    )


def not_equal(answers: Answers, *, value: int) -> Results:
    """Expect any label but one."""
    return _as_results(answers.classes() != value)


def invariant(answers: Answers, *, tolerance: float = TOLERANCE) -> Results:
    """Expect the answer of the case's first example, or nearly its confidence.

    A class label may differ where the probability of the first answer moved by at most `tolerance`. Texts have to be
    the same; where an example's `meta` is (old, new), the first answer is expected with old replaced by new.
    """
    first = answers.first
    if isinstance(answers.predictions, np.ndarray):
        holds = answers.predictions == answers.predictions[first]
        if answers.probabilities is not None:
            rows = np.arange(len(answers))
            before = answers.predictions[first]
            moved = np.abs(answers.probabilities[rows, before] - answers.probabilities[first, before])
            holds |= moved <= check_number(tolerance, "tolerance", minimum=0)
        return _as_results(holds)
    meta = answers.meta if answers.meta is not None else [None] * len(answers)
    return np.array(
        [
            float(text == _replaced(answers.predictions[start], change))
            for text, start, change in zip(answers.predictions, first, meta, strict=True)
        ]
    )


def monotonic(answers: Answers, *, increasing: bool, tolerance: float = TOLERANCE) -> Results:
    """Expect the confidence in the first answer to rise (or fall), within a tolerance.

    As in CheckList's released code, a confidence at or below `tolerance` need not rise, and one at or above
    1 - `tolerance` need not fall.
    """
    probabilities, first = answers.known_probabilities(), answers.first
    before = answers.classes()[first]
    start, now = probabilities[first, before], probabilities[np.arange(len(answers)), before]
    limit = check_number(tolerance, "tolerance", minimum=0)
    if increasing:
        return np.where(start <= limit, np.nan, (now - start + limit >= 0).astype(np.float64))
    return np.where(start >= 1 - limit, np.nan, (now - start - limit <= 0).astype(np.float64))


def sentiment_shift(answers: Answers, *, positive: bool, tolerance: float = TOLERANCE) -> Results:
    """Expect an added phrase not to move the sentiment the opposite way by more than a tolerance.

    The change is (p_neg before - p_neg after) + (p_pos after - p_pos before) over three classes (negative, neutral,
    positive).
    """
    probabilities, first = answers.known_probabilities(), answers.first
    if probabilities.shape[1] != 3:
        raise ValueError(
            f"Expected three classes (negative, neutral, positive), but there are {probabilities.shape[1]}."
        )
    change = probabilities[first, 0] - probabilities[:, 0] + probabilities[:, 2] - probabilities[first, 2]
    limit = check_number(tolerance, "tolerance", minimum=0)
    return _as_results((change >= -limit) if positive else (change <= limit))


def transitive(answers: Answers) -> Results:
    """Expect that of three pairs (a, b), (b, c), (a, c), two duplicates imply the third.

    A case with fewer than two predicted duplicates does not apply.
    """
    sizes = np.diff(answers.offsets)
    if (sizes != 3).any():
        raise ValueError(f"Expected three examples in every case of implications, but one has {sizes[sizes != 3][0]}.")
    duplicates = (answers.classes() == 1).reshape(-1, 3).sum(axis=1)
    return np.repeat(np.where(duplicates < 2, np.nan, (duplicates == 3).astype(np.float64)), 3)


EXPECTATIONS: Mapping[str, Callable[..., Results]] = {
    "equal": equal,
    "not_equal": not_equal,
    "invariant": invariant,
    "monotonic": monotonic,
    "sentiment_shift": sentiment_shift,
    "transitive": transitive,
}
"""Every expectation by the name that a suite gives it; their parameters are in `expectation_specs`."""


def evaluate_cases(spec: Mapping[str, Any], answers: Answers) -> tuple[Results, Results]:
    """Evaluate an expectation on answers.

    Args:
        spec: `name`, the parameters of that expectation, and optionally `where_first` and `skip_first`, as
            `expectation_specs` says.
        answers: The answers of the functionality.

    Returns:
        (n,) results of the examples, and (cases,) results of the cases: 1 passed, 0 failed, NaN not applicable.

    Raises:
        ValueError: If the expectation is unknown or lacks what it needs.

    Example:
        >>> answers = Answers(np.array([1, 1, 0, 1]), np.array([0, 2, 4]))
        >>> examples, cases = evaluate_cases({"name": "invariant"}, answers)
        >>> cases.tolist()
        [1.0, 0.0]
    """
    check_expectation(spec)
    results = EXPECTATIONS[spec["name"]](answers, **expectation_parameters(spec))
    first = answers.first
    condition = spec.get("where_first")
    if condition:
        matches = np.isin(answers.classes()[first], condition.get("is", condition.get("not")))
        results = np.where(matches if "is" in condition else ~matches, results, np.nan)
    counted = results
    if skips_first(spec):
        counted = np.where(np.arange(len(answers)) == first, np.nan, results)
    low = np.minimum.reduceat(np.where(np.isnan(counted), np.inf, counted), answers.offsets[:-1])
    return results, np.where(np.isinf(low), np.nan, low)


def neutral_probabilities(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread a binary P(positive) over three classes, as BeLUGA does to test two-class models on three-class suites.

    With p = P(positive): outside [1/3, 2/3] neutral gets nothing; inside it gets n = 1 - 3 |p - 1/2| and the nearer
    class the rest. At exactly 1/3 and 2/3, where the released code gives all zeros, the inner formula applies.

    Args:
        positive: (N,) probabilities.

    Returns:
        (N, 3) probabilities of negative, neutral and positive.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.

    Example:
        >>> neutral_probabilities(np.array([0.1, 0.5, 0.6])).round(2).tolist()
        [[0.9, 0.0, 0.1], [0.0, 1.0, 0.0], [0.0, 0.7, 0.3]]
    """
    p = np.asarray(positive, dtype=np.float64)
    inside = (p >= 1 / 3) & (p <= 2 / 3)
    neutral = np.where(inside, 1 - 3 * np.abs(p - 0.5), 0.0)
    high = np.where(inside, np.where(p >= 0.5, 1 - neutral, 0.0), p)
    low = np.where(inside, np.where(p < 0.5, 1 - neutral, 0.0), 1 - p)
    return np.column_stack((low, neutral, high))


def _as_results(holds: NDArray[np.bool_]) -> Results:
    return holds.astype(np.float64)


def _clean(text: str, how: str) -> str:
    return re.sub(r"^(a|an|the) ", "", text.strip()) if how == "article" else text


def _replaced(text: str, change: Any) -> str:
    if not change:
        return text
    old, new = change
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)
