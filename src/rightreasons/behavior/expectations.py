"""Expectations of behavioral tests: pure functions from the answers of a model to results.

An expectation takes the answers to the examples of one functionality, case by case, and returns one
number per example: 1 if the example passes, 0 if it fails, NaN if the expectation does not apply to
it. `evaluate_cases` looks an expectation up by its name and joins the results of each case. A case
passes if all examples to which the expectation applies pass. Expectations that compare an example
with the first of its case do not count that first one.

The definitions are those of CheckList (Ribeiro et al. 2020), implemented independently. Answers
that are texts are compared after `normalize_answer`, and scored by `answer_scores`.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

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
)

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FIRST_ARTICLE = re.compile(r"^(a|an|the) ")

Results: TypeAlias = NDArray[np.float64]
"""One number per example or case: 1 for passed, 0 for failed, NaN if the test does not apply."""


# ------------------------------------------------------------------------------------ texts


def normalize_answer(text: str, normalization: str = "squad") -> str:
    """Normalize an answer, so that answers that differ only in spelling are equal.

    | name | effect |
    | --- | --- |
    | `none` | texts are compared unchanged |
    | `article` | drops outer spaces and a leading a, an or the, as CheckList's suite of reading does |
    | `squad` | lowers the case, drops ASCII punctuation and articles, leaves one space between words |

    Args:
        text: A text.
        normalization: Name of the normalization.

    Returns:
        The normalized text.

    Raises:
        ValueError: If there is no normalization of this name.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine
        Comprehension of Text", EMNLP, section 6.1, with the released script of version 1.1.

    Example:
        >>> normalize_answer("The  Cat's  pajamas, an hour!")
        'cats pajamas hour'
    """
    check_one_of(normalization, tuple(NORMALIZERS), "normalization")
    normalize = NORMALIZERS[normalization]
    return normalize(text)


def _keep_text(text: str) -> str:
    return text


def _drop_leading_article(text: str) -> str:
    return _FIRST_ARTICLE.sub("", text.strip())


def _normalize_as_squad(text: str) -> str:
    # Punctuation is dropped first, because "A." is an article, too.
    without_punctuation = text.lower().translate(_PUNCTUATION)
    without_articles = _ARTICLES.sub(" ", without_punctuation)
    return " ".join(without_articles.split())


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "none": _keep_text,
    "article": _drop_leading_article,
    "squad": _normalize_as_squad,
}
"""Normalization by name. `core.suites.NORMALIZATIONS` declares these names for suites."""


@dataclasses.dataclass(frozen=True)
class AnswerScores(Result):
    """Agreement of text answers with references, from `answer_scores`.

    Attributes:
        exact_match: Share of answers that are equal to one of their references, in [0, 1].
        f1: Mean token F1 with the nearest reference, in [0, 1].
        exact: One entry per question: whether the answer is equal to a reference.
        f1_scores: One F1 per question.
    """

    exact_match: float
    f1: float
    exact: list[bool]
    f1_scores: list[float]


def answer_scores(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> AnswerScores:
    """Compute exact match and token F1 of text answers, compared with the answers that people gave.

    Every prediction is compared with each of its references after `normalize_answer`, and the best
    comparison counts. With c words in common, counted with repetition, the precision is
    P = c / words of the prediction, the recall R = c / words of the reference, and
    F1 = 2 P R / (P + R). As in SQuAD 1.1, F1 is 0 without a common word, even for two empty answers.

    Args:
        predictions: N answers; an empty answer is allowed.
        references: N lists of at least one correct answer.

    Returns:
        An `AnswerScores`. Higher is better. SQuAD's own script gives these figures times 100.

    Raises:
        TypeError: If a prediction or a reference is not a text.
        ValueError: If the numbers of predictions and lists differ, or a list is empty.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine
        Comprehension of Text", EMNLP, section 6.1.

    Example:
        >>> references = [["Denver Broncos"], ["1976", "the year 1976"]]
        >>> result = answer_scores(["the Denver Broncos", "in 1976"], references)
        >>> result.exact, [round(value, 4) for value in result.f1_scores]
        ([True, False], [1.0, 0.6667])
    """
    texts = check_texts(predictions, "predictions", allow_empty=True)
    check_same_length(predictions=texts, references=references)

    exact = []
    f1_scores = []
    for row, (text, answers) in enumerate(zip(texts, references, strict=True)):
        prediction = normalize_answer(text)
        checked_answers = check_texts(answers, f"references[{row}]", allow_empty=True)
        normalized_answers = [normalize_answer(answer) for answer in checked_answers]
        exact.append(prediction in normalized_answers)
        # SQuAD has several references per question; the most similar one counts.
        f1_by_reference = [_compute_f1(prediction, answer) for answer in normalized_answers]
        f1_scores.append(max(f1_by_reference))

    return AnswerScores(
        exact_match=float(np.mean(exact)),
        f1=float(np.mean(f1_scores)),
        exact=exact,
        f1_scores=f1_scores,
    )


def _compute_f1(prediction: str, reference: str) -> float:
    """Return the token F1 of a predicted answer, in [0, 1].

    Args:
        prediction: Normalized answer.
        reference: Normalized correct answer.
    """
    predicted_words = prediction.split()
    reference_words = reference.split()
    # Words are counted with repetition, as multisets.
    common = Counter(predicted_words) & Counter(reference_words)
    n_common = sum(common.values())
    if n_common == 0:
        return 0.0
    # 2 P R / (P + R) with P = c / m and R = c / n is 2 c / (m + n).
    return 2 * n_common / (len(predicted_words) + len(reference_words))


# ------------------------------------------------------------------------------ expectations


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """The answers of a model to the examples of one functionality, case by case.

    Attributes:
        predictions: n answers: an int64 array of labels, or texts in reading comprehension.
        offsets: (cases + 1,) position of the first example of each case, and n.
        probabilities: (n, K) class probabilities; None if the model gives none.
        labels: n expected answers (labels or texts), None for an example without one; None instead
            of the sequence for tests without labels.
        meta: n replaced pairs (old, new), None for an example without one; None instead of the
            sequence if nothing was replaced.
    """

    predictions: NDArray[np.int64] | Sequence[str]
    offsets: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None = None
    labels: Sequence[Any] | NDArray[np.int64] | None = None
    meta: Sequence[Any] | None = None

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @property
    def first_rows(self) -> NDArray[np.int64]:
        """(n,) position of the first example of each example's case."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def get_probabilities(self) -> NDArray[np.float64]:
        """Return the probabilities; raise an error if the model gives none."""
        if self.probabilities is None:
            raise ValueError(
                "Expected class probabilities for an expectation of confidence, but got only "
                "labels."
            )
        return self.probabilities

    def get_classes(self) -> NDArray[np.int64]:
        """Return the predictions as class labels; raise an error if they are texts."""
        if not isinstance(self.predictions, np.ndarray):
            raise TypeError(
                "Expected class labels for this expectation, but the predictions are texts."
            )
        return self.predictions


def equal(
    answers: Answers,
    *,
    value: int | str | None = None,
    clean: str = "none",
    accept: Mapping[str, Sequence[int]] | None = None,
) -> Results:
    """Expect that the answer to each example is its label, or that all answers are a fixed value.

    Args:
        answers: n answers to the examples.
        value: Expected answer to all examples; None to expect the label of each example.
        clean: Normalization of both texts before they are compared, as in `normalize_answer`.
        accept: Class label, as a string -> all classes that are correct for it, such as
            `{"1": [1, 2]}`; None if only the label is correct.

    Returns:
        (n,) 1 for an expected answer, 0 for another one, NaN for an example without a label.

    Raises:
        TypeError: If `value` is a class, but the answers are texts.
        ValueError: If there are no labels, or they are texts and the answers are classes.
    """
    labels = answers.labels
    if value is not None:
        labels = [value] * len(answers)
    if labels is None:
        raise ValueError(
            "Expected labels for an expectation of correct answers, but the functionality has none."
        )

    if isinstance(answers.predictions, np.ndarray):
        results = _compare_classes(answers.predictions, labels)
        return _accept_classes(results, answers.predictions, labels, accept or {})
    if isinstance(value, int):
        # The answers are texts, so that this raises an error.
        answers.get_classes()
    return _compare_texts(answers.predictions, labels, clean)


def _compare_classes(predictions: NDArray[np.int64], labels: Any) -> Results:
    """Compare predicted classes with labels.

    Args:
        predictions: (n,) predicted classes.
        labels: n labels. An example without a label has -1 in data sets, and None in suites.

    Returns:
        (n,) 1 for a prediction that is the label, 0 for another one, NaN for an example without a label.

    Raises:
        ValueError: If a label is not a number.
    """
    numbers = [np.nan if label is None else label for label in labels]
    try:
        gold = np.array(numbers, dtype=np.float64)
    except ValueError:
        texts = [label for label in labels if isinstance(label, str)]
        raise ValueError(
            f"Expected class labels to compare predicted classes with, but got {texts[0]!r}."
        ) from None
    is_unlabeled = np.isnan(gold) | (gold < 0)
    is_equal = (predictions == gold).astype(np.float64)
    return np.where(is_unlabeled, np.nan, is_equal)


def _accept_classes(
    results: Results,
    predictions: NDArray[np.int64],
    labels: Any,
    accept: Mapping[str, Sequence[int]],
) -> Results:
    """Count further classes as correct for some labels.

    Args:
        results: (n,) 1 for a prediction that is the label, 0 for another one.
        predictions: (n,) predicted classes.
        labels: n labels.
        accept: Label, as a string -> all classes that are correct for it, such as `{"1": [1, 2]}`.

    Returns:
        (n,) the results, with 1 for each prediction that is accepted.
    """
    for accepted_label, classes in accept.items():
        # Labels are compared as strings, because the keys of JSON objects are strings.
        has_label = np.array([str(label) == accepted_label for label in labels])
        is_accepted = has_label & np.isin(predictions, classes)
        results = np.where(is_accepted, 1.0, results)
    return results


def _compare_texts(predictions: Sequence[str], labels: Any, clean: str) -> Results:
    """Compare predicted texts with labels after a normalization of both.

    Args:
        predictions: n texts.
        labels: n texts; None for an example without a label.
        clean: Name of the normalization, as in `normalize_answer`.

    Returns:
        (n,) 1 for a prediction that is the label, 0 for another one, NaN for an example without a label.
    """
    # Labels are normalized, too, since they may have an article or punctuation.
    results = []
    for text, label in zip(predictions, labels, strict=True):
        if label is None:
            results.append(np.nan)
            continue
        answer = normalize_answer(text, clean)
        expected = normalize_answer(label, clean)
        results.append(float(answer == expected))
    return np.array(results)


def not_equal(answers: Answers, *, value: int | str) -> Results:
    """Expect any answer except a given one."""
    return 1 - equal(answers, value=value)


def invariant(answers: Answers, *, tolerance: float = TOLERANCE) -> Results:
    """Expect all examples of a case to get the same answer as its first example.

    Another class is tolerated if the probability of the first answer changes by at most `tolerance`.
    Texts have to be equal. If the `meta` of an example is (old, new), the expected text is the
    first answer with old replaced by new.

    Args:
        answers: n answers to the examples.
        tolerance: Largest change of the probability that is tolerated.

    Returns:
        (n,) 1 for an answer that stays the same, 0 for one that changes.
    """
    first_rows = answers.first_rows
    if not isinstance(answers.predictions, np.ndarray):
        return _compare_with_first_text(answers, first_rows)

    first_classes = answers.predictions[first_rows]
    is_same = answers.predictions == first_classes
    if answers.probabilities is not None:
        # As in CheckList, a flip between two nearly equal probabilities is tolerated.
        limit = check_number(tolerance, "tolerance", minimum=0)
        rows = np.arange(len(answers))
        # Probability of the first answer of the case, for each example and for the first one.
        confidence = answers.probabilities[rows, first_classes]
        first_confidence = answers.probabilities[first_rows, first_classes]
        is_same |= np.abs(confidence - first_confidence) <= limit
    return np.asarray(is_same, dtype=np.float64)


def _compare_with_first_text(answers: Answers, first_rows: NDArray[np.int64]) -> Results:
    """Compare each text answer with the answer to the first example of its case.

    Args:
        answers: n text answers. If `meta` of an example is (old, new), the words `old` of the first
            example are replaced by `new`, also in the expected answer.
        first_rows: (n,) row of the first example of each example's case.

    Returns:
        (n,) 1 for an equal answer, 0 for another one.
    """
    replacements = answers.meta
    if replacements is None:
        replacements = [None] * len(answers)
    results = []
    rows = zip(answers.predictions, first_rows, replacements, strict=True)
    for text, first_row, replacement in rows:
        first_text = str(answers.predictions[first_row])
        expected = _replace_words(first_text, replacement)
        results.append(float(text == expected))
    return np.array(results)


def _replace_words(text: str, change: Any) -> str:
    """Return a text with whole words replaced.

    Args:
        text: The text.
        change: Pair (old words, new words); None or an empty sequence for no change.
    """
    if not change:
        return text
    words, replacement = change
    # A function as the replacement keeps backslashes in it unchanged.
    return re.sub(rf"\b{re.escape(words)}\b", lambda _: replacement, text)


def monotonic(
    answers: Answers, *, increasing: bool, tolerance: float = 0.0, label: int | None = None
) -> Results:
    """Expect that the confidence in an answer does not fall (or rise) by more than a tolerance.

    As in CheckList's released code, the expectation does not apply if the confidence in the first
    example is so low, or so high, that it could not move further by more than the tolerance.

    Args:
        answers: n answers to the examples.
        increasing: Whether the confidence should rise, and not fall.
        tolerance: Largest allowed change in the opposite direction.
        label: Class whose probability is the confidence; None for the answer to the first example of
            the case.

    Returns:
        (n,) 1 for a confidence that moves as expected, 0 for one that does not, NaN if the confidence in
        the first example is at most `tolerance`, or at least 1 - `tolerance` if it should fall.

    Raises:
        ValueError: If there are no probabilities, or `label` is not one of the classes.
    """
    first_rows = answers.first_rows
    probabilities = answers.get_probabilities()
    n_classes = probabilities.shape[1]
    if label is not None and label >= n_classes:
        raise ValueError(
            f"Expected a label below {n_classes}, the number of classes, but got {label}."
        )

    # Class whose probability is the confidence: one for all examples, or one per example.
    classes: Any = label
    if label is None:
        classes = answers.get_classes()[first_rows]
    rows = np.arange(len(answers))
    confidence = probabilities[rows, classes]
    first_confidence = confidence[first_rows]

    limit = check_number(tolerance, "tolerance", minimum=0)
    if increasing:
        # A confidence of at most the tolerance cannot fall by more than the tolerance.
        can_fail = first_confidence > limit
        is_expected = confidence - first_confidence + limit >= 0
    else:
        can_fail = first_confidence < 1 - limit
        is_expected = confidence - first_confidence - limit <= 0
    return np.where(can_fail, is_expected.astype(np.float64), np.nan)


def sentiment_shift(answers: Answers, *, positive: bool, tolerance: float = TOLERANCE) -> Results:
    """Expect that adding a phrase does not move the sentiment against the phrase.

    The change of the sentiment is (p_neg before - p_neg after) + (p_pos after - p_pos before), over
    the three classes negative, neutral and positive.

    Args:
        answers: n answers to the examples; the first example of each case is without the phrase.
        positive: Whether the phrase is positive, and not negative.
        tolerance: Largest allowed change in the opposite direction.

    Returns:
        (n,) 1 for a sentiment that moves as expected, 0 for one that does not.

    Raises:
        ValueError: If there are no probabilities of three classes.
    """
    probabilities = answers.get_probabilities()
    first_rows = answers.first_rows
    n_classes = probabilities.shape[1]
    if n_classes != 3:
        raise ValueError(
            f"Expected three classes (negative, neutral, positive), but there are {n_classes}."
        )

    negative_scores, _, positive_scores = probabilities.T
    # Keep the order of the terms: rounding decides whether a change is equal to the tolerance.
    negative_loss = negative_scores[first_rows] - negative_scores
    change = negative_loss + positive_scores - positive_scores[first_rows]

    limit = check_number(tolerance, "tolerance", minimum=0)
    if positive:
        is_expected = change >= -limit
    else:
        is_expected = change <= limit
    return np.asarray(is_expected, dtype=np.float64)


def transitive(answers: Answers) -> Results:
    """Expect that three pairs of questions (a, b), (b, c), (a, c) are predicted consistently.

    If two of the pairs are predicted to be duplicates (class 1), the third one has to be, too.

    Args:
        answers: n answers; every case has three examples, the three pairs.

    Returns:
        (n,) 1 for each example of a consistent case, 0 for each example of an inconsistent case, NaN
        if fewer than two pairs of the case are predicted to be duplicates.

    Raises:
        ValueError: If a case does not have three examples.
    """
    sizes = np.diff(answers.offsets)
    unexpected = sizes[sizes != 3]
    if unexpected.size:
        raise ValueError(
            f"Expected three examples in every case of implications, but one has {unexpected[0]}."
        )
    is_duplicate = answers.get_classes() == 1
    n_duplicates = is_duplicate.reshape(-1, 3).sum(axis=1)
    is_consistent = (n_duplicates == 3).astype(np.float64)
    results = np.where(n_duplicates < 2, np.nan, is_consistent)
    return np.repeat(results, 3)


def unknown(answers: Answers, *, why: str) -> Results:
    """Expect nothing, as the code of the original expectation is not available."""
    return np.full(len(answers), np.nan)


_FUNCTIONS: tuple[Callable[..., Results], ...] = (
    equal,
    not_equal,
    invariant,
    monotonic,
    sentiment_shift,
    transitive,
    unknown,
)

EXPECTATIONS: Mapping[str, Callable[..., Results]] = {
    function.__name__: function for function in _FUNCTIONS
}
"""Expectation by the name that a suite gives it. `core.suites` declares their parameters."""


def evaluate_cases(spec: Mapping[str, Any], answers: Answers) -> tuple[Results, Results]:
    """Evaluate an expectation on the answers to a functionality.

    Args:
        spec: An expectation of a suite: its name, its parameters, and optionally `where_first`, a
            condition on the answer to the first example of a case, and `skip_first`, whether the
            first example does not count. For example,
            `{"name": "invariant", "where_first": {"not": [0]}}`.
        answers: Answers to the examples of the functionality.

    Returns:
        (n,) results of the examples, and (cases,) results of the cases: 1 for passed, 0 for failed,
        NaN for not applicable.

    Raises:
        ValueError: If the expectation is unknown or lacks a parameter.

    Example:
        >>> answers = Answers(np.array([1, 1, 0, 1]), np.array([0, 2, 4]))
        >>> examples, cases = evaluate_cases({"name": "invariant"}, answers)
        >>> cases.tolist()
        [1.0, 0.0]
        >>> evaluate_cases({"name": "invariant", "where_first": {"is": [0]}}, answers)[1]
        array([nan,  0.])
    """
    check_expectation(spec)
    evaluate = EXPECTATIONS[spec["name"]]
    results = evaluate(answers, **get_expectation_parameters(spec))
    if spec.get("where_first"):
        is_selected = _select_by_first_answer(spec["where_first"], answers)
        results = np.where(is_selected, results, np.nan)

    case_results = results
    if is_original_first(spec):
        # The original does not count: it is compared with itself, and always passes.
        is_original = np.arange(len(answers)) == answers.first_rows
        case_results = np.where(is_original, np.nan, results)

    # `reduceat` sums over the examples of each case. It requires at least one example per case.
    starts = answers.offsets[:-1]
    n_applicable = np.add.reduceat(~np.isnan(case_results), starts, dtype=np.int64)
    n_passed = np.add.reduceat(case_results == 1, starts, dtype=np.int64)
    is_passed = (n_passed == n_applicable).astype(np.float64)
    return results, np.where(n_applicable > 0, is_passed, np.nan)


def _select_by_first_answer(
    condition: Mapping[str, Sequence[int]], answers: Answers
) -> NDArray[np.bool_]:
    """Return a mask, (n,), of the examples of cases whose first answer meets a condition.

    Args:
        condition: `{"is": [0, 1]}` if the first answer must be one of these classes, or
            `{"not": [0, 1]}` if it must be another class.
        answers: n answers to the examples.
    """
    ((relation, classes),) = condition.items()
    first_classes = answers.get_classes()[answers.first_rows]
    is_listed = np.isin(first_classes, classes)
    if relation == "is":
        return is_listed
    return ~is_listed
