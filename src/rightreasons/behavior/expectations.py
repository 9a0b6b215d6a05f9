"""What a behavioral test expects of a model: named, pure functions from answers to results.

Every expectation takes the answers to a functionality's examples, case by case, and returns one number per example: 1
where it holds, 0 where it fails, NaN where it does not apply. `where_first` keeps the cases whose first answer is, or
is not, among given labels. A case passes when all of its applicable examples pass; pairwise expectations, which
compare with the first example, do not count that one.

The definitions are those of CheckList (Ribeiro et al. 2020), implemented independently. Texts are compared after a
normalization, and by exact match and token F1.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.results import Result
from rightreasons.core.suites import (
    TOLERANCE,
    check_expectation,
    get_expectation_parameters,
    is_original_first,
)
from rightreasons.core.validation import (
    check_number,
    check_one_of,
    check_same_length,
    check_texts,
    check_vector,
)

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FIRST_ARTICLE = re.compile(r"^(a|an|the) ")


def normalize_answer(text: str, normalization: str = "squad") -> str:
    """Bring a text to the form in which answers are compared.

    | name | what it does |
    | --- | --- |
    | `none` | nothing: texts are compared as they are |
    | `article` | drops the spaces around the text and a leading a, an or the, as CheckList's suite of reading does |
    | `squad` | lowers the case, drops ASCII punctuation and articles, and leaves one space between words |

    Args:
        text: A text.
        normalization: The name.

    Returns:
        The normalized text.

    Raises:
        ValueError: If there is no normalization of this name.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
        EMNLP, section 6.1, with the released script of version 1.1.

    Example:
        >>> normalize_answer("The  Cat's  pajamas, an hour!")
        'cats pajamas hour'
    """
    return NORMALIZERS[check_one_of(normalization, tuple(NORMALIZERS), "normalization")](text)


def _squad(text: str) -> str:
    # Punctuation goes first: "A." is an article.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "article": lambda text: _FIRST_ARTICLE.sub("", text.strip()),
    "squad": _squad,
}
"""The normalization of each name; `core.suites` declares the same names for suites."""


@dataclasses.dataclass(frozen=True)
class AnswerScores(Result):
    """How well texts answer questions; see `answer_scores`.

    Attributes:
        exact_match: Share of answers that are one of the references, in [0, 1].
        f1: Mean token F1 with the nearest reference, in [0, 1].
        exact: One entry per question: whether the answer matches.
        f1_scores: One F1 per question.
    """

    exact_match: float
    f1: float
    exact: list[bool]
    f1_scores: list[float]


def answer_scores(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> AnswerScores:
    """Score text answers against the answers that people gave.

    Every prediction is compared with each of its references after `normalize_answer`, and the best comparison counts.
    F1 is that of the words, counted with repetition: with c words in common (as multisets), P = c / words of the
    prediction and R = c / words of the reference, it is 2 P R / (P + R). As in SQuAD 1.1 it is 0 where nothing is in
    common, also between two answers without words.

    Args:
        predictions: N answers; an empty answer is allowed.
        references: N lists of at least one right answer.

    Returns:
        An `AnswerScores`. Higher is better. SQuAD's own script gives the same figures times 100.

    Raises:
        TypeError: If a prediction or a reference is not a text.
        ValueError: If there are more or fewer predictions than lists of references, or a list is empty.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
        EMNLP, section 6.1.

    Example:
        >>> result = answer_scores(["the Denver Broncos", "in 1976"], [["Denver Broncos"], ["1976", "the year 1976"]])
        >>> result.exact, [round(value, 4) for value in result.f1_scores]
        ([True, False], [1.0, 0.6667])
    """
    texts = check_texts(predictions, "predictions", allow_empty=True)
    check_same_length(predictions=texts, references=references)
    exact, f1 = [], []
    for number, (text, answers) in enumerate(zip(texts, references, strict=True)):
        normalized = normalize_answer(text)
        answers = check_texts(answers, f"references[{number}]", allow_empty=True)
        right = [normalize_answer(answer) for answer in answers]
        exact.append(normalized in right)
        f1.append(max(_f1(normalized.split(), answer.split()) for answer in right))
    return AnswerScores(float(np.mean(exact)), float(np.mean(f1)), exact, f1)


def _f1(prediction: list[str], reference: list[str]) -> float:
    common = sum((Counter(prediction) & Counter(reference)).values())
    # 2 P R / (P + R) with P = c / m and R = c / n is 2 c / (m + n).
    return 2 * common / (len(prediction) + len(reference)) if common else 0.0


Results = NDArray[np.float64]


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

    def known_probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities, which this expectation needs."""
        if self.probabilities is None:
            raise ValueError(
                "Expected class probabilities for an expectation of confidence, but got labels alone."
            )
        return self.probabilities

    def classes(self) -> NDArray[np.int64]:
        """Return the predictions as class labels."""
        if not isinstance(self.predictions, np.ndarray):
            raise TypeError(
                "Expected class labels for this expectation, but the predictions are texts."
            )
        return self.predictions


def equal(answers: Answers, *, value: int | str | None = None, clean: str = "none") -> Results:
    """Expect the labeled answer, or one fixed answer; NaN where an example has no label.

    Args:
        answers: The answers.
        value: The answer expected of every example; None takes the examples' own.
        clean: What is done to both texts before they are compared: a name of `normalize_answer`.
    """
    labels = answers.labels if value is None else [value] * len(answers)
    if labels is None:
        raise ValueError(
            "Expected labels for an expectation of right answers, but the functionality has none."
        )
    if isinstance(answers.predictions, np.ndarray):
        try:
            gold = np.array(
                [np.nan if label is None else label for label in labels], dtype=np.float64
            )
        except ValueError:
            text = next(label for label in labels if isinstance(label, str))
            raise ValueError(
                f"Expected class labels to compare predicted classes with, but got {text!r}."
            ) from None
        return np.where(
            np.isnan(gold) | (gold < 0), np.nan, (answers.predictions == gold).astype(np.float64)
        )
    if isinstance(value, int):
        answers.classes()  # tells that texts came
    return np.array(
        [
            np.nan
            if label is None
            else float(normalize_answer(text, clean) == normalize_answer(label, clean))
            for text, label in zip(answers.predictions, labels, strict=True)
        ]
    )


def not_equal(answers: Answers, *, value: int | str) -> Results:
    """Expect any answer but one."""
    return 1 - equal(answers, value=value)


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
            moved = np.abs(
                answers.probabilities[rows, before] - answers.probabilities[first, before]
            )
            holds |= moved <= check_number(tolerance, "tolerance", minimum=0)
        return np.asarray(holds, dtype=np.float64)
    meta = answers.meta if answers.meta is not None else [None] * len(answers)
    return np.array(
        [
            float(text == _replaced(answers.predictions[start], change))
            for text, start, change in zip(answers.predictions, first, meta, strict=True)
        ]
    )


def monotonic(
    answers: Answers, *, increasing: bool, tolerance: float = 0.0, label: int | None = None
) -> Results:
    """Expect the confidence in an answer to rise (or fall), within a tolerance.

    As in CheckList's released code, a confidence at or below `tolerance` need not rise, and one at or above
    1 - `tolerance` need not fall.

    Args:
        answers: The answers.
        increasing: Whether it has to rise.
        tolerance: How far it may move the other way.
        label: The class whose probability counts; None for the answer to the case's first example.
    """
    first = answers.first
    table = answers.known_probabilities()
    if label is not None and label >= table.shape[1]:
        raise ValueError(
            f"Expected a label below {table.shape[1]}, the number of classes, but got {label}."
        )
    now = table[np.arange(len(answers)), answers.classes()[first] if label is None else label]
    start = now[first]
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
    change = (
        probabilities[first, 0]
        - probabilities[:, 0]
        + probabilities[:, 2]
        - probabilities[first, 2]
    )
    limit = check_number(tolerance, "tolerance", minimum=0)
    return np.asarray((change >= -limit) if positive else (change <= limit), dtype=np.float64)


def transitive(answers: Answers) -> Results:
    """Expect that of three pairs (a, b), (b, c), (a, c), two duplicates imply the third.

    A case with fewer than two predicted duplicates does not apply.
    """
    sizes = np.diff(answers.offsets)
    if (sizes != 3).any():
        raise ValueError(
            f"Expected three examples in every case of implications, but one has {sizes[sizes != 3][0]}."
        )
    duplicates = (answers.classes() == 1).reshape(-1, 3).sum(axis=1)
    return np.repeat(np.where(duplicates < 2, np.nan, (duplicates == 3).astype(np.float64)), 3)


def unknown(answers: Answers, *, why: str) -> Results:
    """Expect nothing: of no example is it known what was expected."""
    return np.full(len(answers), np.nan)


EXPECTATIONS: Mapping[str, Callable[..., Results]] = {
    function.__name__: function
    for function in (equal, not_equal, invariant, monotonic, sentiment_shift, transitive, unknown)
}
"""Every expectation by the name that a suite gives it; their parameters are in `core.suites`."""


def evaluate_cases(spec: Mapping[str, Any], answers: Answers) -> tuple[Results, Results]:
    """Evaluate an expectation on answers.

    Args:
        spec: `name`, the parameters of that expectation, and optionally `where_first` and `skip_first`, as
            `core.suites` says.
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
        >>> evaluate_cases({"name": "invariant", "where_first": {"is": [0]}}, answers)[1]
        array([nan,  0.])
    """
    check_expectation(spec)
    results = EXPECTATIONS[spec["name"]](answers, **get_expectation_parameters(spec))
    if spec.get("where_first"):
        ((relation, labels),) = spec["where_first"].items()
        among = np.isin(answers.classes()[answers.first], labels)
        results = np.where(among if relation == "is" else ~among, results, np.nan)
    counted = results
    if is_original_first(spec):
        counted = np.where(np.arange(len(answers)) == answers.first, np.nan, results)
    starts = answers.offsets[:-1]
    known = np.add.reduceat(~np.isnan(counted), starts, dtype=np.int64)
    passed = np.add.reduceat(counted == 1, starts, dtype=np.int64)
    return results, np.where(known > 0, (passed == known).astype(np.float64), np.nan)


def neutral_probabilities(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread a binary P(positive) over three classes, as BeLUGA does to test two-class models on three-class suites.

    With p = P(positive): outside [1/3, 2/3] neutral gets nothing; inside it gets n = 1 - 3 |p - 1/2| and the nearer
    class the rest. At exactly 1/3 and 2/3, where the released code gives all zeros, the answer is neutral: n is the
    next number above 1/2.

    Args:
        positive: (N,) probabilities.

    Returns:
        (N, 3) probabilities of negative, neutral and positive.

    Raises:
        ValueError: If they have another shape, or are no probabilities.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.

    Example:
        >>> neutral_probabilities(np.array([0.1, 0.5, 0.6])).round(2).tolist()
        [[0.9, 0.0, 0.1], [0.0, 1.0, 0.0], [0.0, 0.7, 0.3]]
        >>> neutral_probabilities(np.array([1 / 3, 2 / 3])).argmax(axis=1).tolist()
        [1, 1]
    """
    return spread_over_neutral(check_vector(positive, "positive", minimum=0, maximum=1))


def spread_over_neutral(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute `neutral_probabilities` from (N,) checked probabilities."""
    is_inside = (positive >= 1 / 3) & (positive <= 2 / 3)
    # The next number above 1/2 keeps neutral the largest at the ends of the interval.
    inner = np.maximum(1 - 3 * np.abs(positive - 0.5), np.nextafter(0.5, 1))
    neutral = np.where(is_inside, inner, 0.0)
    is_high = positive >= 0.5
    # Inside the interval, only the nearer class gets the remaining probability.
    high = np.where(is_inside, np.where(is_high, 1 - neutral, 0.0), positive)
    low = np.where(is_inside, np.where(is_high, 0.0, 1 - neutral), 1 - positive)
    return np.column_stack((low, neutral, high))


def _replaced(text: str, change: Any) -> str:
    if not change:
        return text
    old, new = change
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)
