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
    check_vector,
)

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FIRST_ARTICLE = re.compile(r"^(a|an|the) ")

Results: TypeAlias = NDArray[np.float64]
"""One number per example or case: 1 for passed, 0 for failed, NaN if the test does not apply."""


# ------------------------------------------------------------------------------------ texts


def normalize_answer(text: str, normalization: str = "squad") -> str:
    """Bring a text to the form in which answers are compared.

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
    name = check_one_of(normalization, tuple(NORMALIZERS), "normalization")
    return NORMALIZERS[name](text)


def _keep_text(text: str) -> str:
    return text


def _drop_leading_article(text: str) -> str:
    return _FIRST_ARTICLE.sub("", text.strip())


def _normalize_as_squad(text: str) -> str:
    # Punctuation goes before articles do: "A." is an article.
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
    """Score text answers against the answers that people gave.

    Every prediction is compared with each of its references after `normalize_answer`, and the best
    comparison counts. F1 is that of the words, counted with repetition: with c words in common (as
    multisets), P = c / words of the prediction and R = c / words of the reference, it is
    2 P R / (P + R). As in SQuAD 1.1, it is 0 if nothing is in common, even for two empty answers.

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
        checked = check_texts(answers, f"references[{row}]", allow_empty=True)
        normalized = [normalize_answer(answer) for answer in checked]
        exact.append(prediction in normalized)
        # SQuAD has several references per question, and the nearest one counts.
        f1_scores.append(max(_compute_f1(prediction, answer) for answer in normalized))

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
    """Expect the label of each example, or one fixed answer.

    Args:
        answers: n answers to the examples.
        value: Expected answer to all examples; None for the label of each example.
        clean: Normalization of both texts before they are compared, as in `normalize_answer`.
        accept: Class label, as a text -> all classes that are correct for it, such as neutral and
            positive for "not negative"; None if only the label is correct.

    Returns:
        (n,) 1 for an expected answer, 0 for another one, NaN for an example without a label.

    Raises:
        TypeError: If answers are texts, but the expected ones are classes.
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
        # The answers are texts: asking for classes raises the error that says so.
        answers.get_classes()
    return _compare_texts(answers.predictions, labels, clean)


def _compare_classes(predictions: NDArray[np.int64], labels: Any) -> Results:
    """Compare predicted classes with labels.

    Args:
        predictions: (n,) predicted classes.
        labels: n labels. Data sets have -1, and suites None, for an example without one.

    Returns:
        (n,) 1 for a prediction that is the label, 0 for another one, NaN for an example without a label.

    Raises:
        ValueError: If a label is a text.
    """
    numbers = [np.nan if label is None else label for label in labels]
    try:
        gold = np.array(numbers, dtype=np.float64)
    except ValueError:
        text = next(label for label in labels if isinstance(label, str))
        raise ValueError(
            f"Expected class labels to compare predicted classes with, but got {text!r}."
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
        results: (n,) results for the labels themselves.
        predictions: (n,) predicted classes.
        labels: n labels.
        accept: Label, as a text -> all classes that are correct for it: {"1": [1, 2]}.

    Returns:
        (n,) results, with 1 for each prediction that is accepted.
    """
    for accepted_label, classes in accept.items():
        # Labels are compared as texts, because the keys of JSON are.
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
    # Labels are normalized as well, since a released label may have an article or a mark, too.
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
    """Expect the answer to the first example of the case, or nearly its confidence.

    A class label may differ if the probability of the first answer moved by at most `tolerance`.
    Texts have to be equal. If the `meta` of an example is (old, new), the expected text is the
    first answer with old replaced by new.

    Args:
        answers: n answers to the examples.
        tolerance: Largest change of the probability that is no change of behavior.

    Returns:
        (n,) 1 for an answer that stays the same, 0 for one that changes.
    """
    first_rows = answers.first_rows
    if not isinstance(answers.predictions, np.ndarray):
        return _compare_with_first_text(answers, first_rows)

    first_classes = answers.predictions[first_rows]
    is_same = answers.predictions == first_classes
    if answers.probabilities is not None:
        # A flip between two nearly equal probabilities is no change of behavior (CheckList).
        rows = np.arange(len(answers))
        confidence = answers.probabilities[rows, first_classes]
        first_confidence = answers.probabilities[first_rows, first_classes]
        movement = np.abs(confidence - first_confidence)
        is_same |= movement <= check_number(tolerance, "tolerance", minimum=0)
    return np.asarray(is_same, dtype=np.float64)


def _compare_with_first_text(answers: Answers, first_rows: NDArray[np.int64]) -> Results:
    """Compare each answer in words with the answer to the first example of its case.

    Args:
        answers: n answers in words. If `meta` of an example is (old, new), the example has the words `new`
            in place of `old`, and so should the answer.
        first_rows: (n,) row of the first example of each case.

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
    """Expect the confidence in an answer to rise (or fall), within a tolerance.

    As in CheckList's released code, a confidence at or below `tolerance` need not rise, and one at
    or above 1 - `tolerance` need not fall: NaN.

    Args:
        answers: n answers to the examples.
        increasing: Whether the confidence should rise.
        tolerance: Largest allowed change in the opposite direction.
        label: Class whose probability counts; None for the answer to the first example of the case.

    Returns:
        (n,) 1 for a confidence that moves as expected, 0 for one that does not, NaN if the confidence in
        the first example is at the end of its range.

    Raises:
        ValueError: If there are no probabilities, or none of the label.
    """
    first_rows = answers.first_rows
    probabilities = answers.get_probabilities()
    n_classes = probabilities.shape[1]
    if label is not None and label >= n_classes:
        raise ValueError(
            f"Expected a label below {n_classes}, the number of classes, but got {label}."
        )

    # One column for all examples, or the class of the first answer for the examples of its case.
    columns: Any = label
    if label is None:
        columns = answers.get_classes()[first_rows]
    rows = np.arange(len(answers))
    confidence = probabilities[rows, columns]
    first_confidence = confidence[first_rows]

    # A confidence at the end of its range could not move far enough to fail.
    limit = check_number(tolerance, "tolerance", minimum=0)
    if increasing:
        can_fail = first_confidence > limit
        is_expected = confidence - first_confidence + limit >= 0
    else:
        can_fail = first_confidence < 1 - limit
        is_expected = confidence - first_confidence - limit <= 0
    return np.where(can_fail, is_expected.astype(np.float64), np.nan)


def sentiment_shift(answers: Answers, *, positive: bool, tolerance: float = TOLERANCE) -> Results:
    """Expect an added phrase not to move the sentiment the opposite way by more than a tolerance.

    The change is (p_neg before - p_neg after) + (p_pos after - p_pos before) over three classes
    (negative, neutral, positive).

    Args:
        answers: n answers to the examples; the first of each case is that without the phrase.
        positive: Whether the phrase is positive, and not negative.
        tolerance: Largest allowed change in the opposite direction.

    Returns:
        (n,) 1 for a sentiment that moves as expected, 0 for one that does not.

    Raises:
        ValueError: If there are no probabilities of three classes.
    """
    probabilities = answers.get_probabilities()
    first_rows = answers.first_rows
    if probabilities.shape[1] != 3:
        raise ValueError(
            "Expected three classes (negative, neutral, positive), "
            f"but there are {probabilities.shape[1]}."
        )

    # The order of the terms decides the last bit, and with it the ties at the tolerance.
    negative = probabilities[:, 0]
    loss_of_negative = negative[first_rows] - negative
    positive_scores = probabilities[:, 2]
    first_positive_scores = positive_scores[first_rows]
    change = loss_of_negative + positive_scores - first_positive_scores

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
        answers: n answers; every case has the three pairs.

    Returns:
        (n,) 1 for the examples of a consistent case, 0 for those of another one, NaN for those of a case
        with fewer than two predicted duplicates.

    Raises:
        ValueError: If a case has another number of examples.
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
        spec: `name`, the parameters of that expectation, and optionally `where_first` and
            `skip_first`, as in `core.suites`.
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
    # The function checks nothing again: its parameters are those that the suite declares.
    expectation = EXPECTATIONS[spec["name"]]
    results = expectation(answers, **get_expectation_parameters(spec))
    if spec.get("where_first"):
        is_selected = _select_by_first_answer(spec["where_first"], answers)
        results = np.where(is_selected, results, np.nan)

    case_results = results
    if is_original_first(spec):
        # The original is compared with itself, which would always pass.
        is_original = np.arange(len(answers)) == answers.first_rows
        case_results = np.where(is_original, np.nan, results)

    # Every case has an example, as `reduceat` requires: it misreads an empty range.
    starts = answers.offsets[:-1]
    n_applicable = np.add.reduceat(~np.isnan(case_results), starts, dtype=np.int64)
    n_passed = np.add.reduceat(case_results == 1, starts, dtype=np.int64)
    is_passed = (n_passed == n_applicable).astype(np.float64)
    return results, np.where(n_applicable > 0, is_passed, np.nan)


def _select_by_first_answer(
    condition: Mapping[str, Sequence[int]], answers: Answers
) -> NDArray[np.bool_]:
    """Return which examples belong to a case whose first answer meets a condition.

    Args:
        condition: {"is": classes} for a first answer among these classes, or {"is_not": classes}.
        answers: n answers to the examples.

    Returns:
        (n,) whether the condition holds.
    """
    ((relation, labels),) = condition.items()
    first_classes = answers.get_classes()[answers.first_rows]
    is_listed = np.isin(first_classes, labels)
    return is_listed if relation == "is" else ~is_listed


# ------------------------------------------------------------------- two classes as three


def neutral_probabilities(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spread a binary P(positive) over three classes, as BeLUGA does for suites of three classes.

    With p = P(positive): outside [1/3, 2/3], neutral gets nothing. Inside, it gets
    n = 1 - 3 |p - 1/2|, and the nearer class the rest. At exactly 1/3 and 2/3, for which the
    released code gives all zeros, the answer is neutral: n is the next number above 1/2.

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
    """Compute `neutral_probabilities` from checked probabilities.

    Args:
        positive: (N,) P(positive) of a model of two sentiments.

    Returns:
        (N, 3) probabilities of negative, neutral and positive.
    """
    is_inside = (positive >= 1 / 3) & (positive <= 2 / 3)
    # The next number above 1/2 keeps neutral the largest at the ends of the interval.
    neutral_inside = np.maximum(1 - 3 * np.abs(positive - 0.5), np.nextafter(0.5, 1))
    neutral = np.where(is_inside, neutral_inside, 0.0)

    # Inside the interval, the nearer class gets all that neutral leaves, and the other class nothing.
    is_nearer_to_positive = positive >= 0.5
    high_inside = np.where(is_nearer_to_positive, 1 - neutral, 0.0)
    low_inside = np.where(is_nearer_to_positive, 0.0, 1 - neutral)
    # Outside, the two classes keep their probabilities.
    high = np.where(is_inside, high_inside, positive)
    low = np.where(is_inside, low_inside, 1 - positive)
    return np.column_stack((low, neutral, high))
