"""Text answers: exact match and token F1, as SQuAD 1.1 defines them."""

from __future__ import annotations

import dataclasses
import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from rightreasons.analysis.intervals import Interval, bootstrap_mean, wilson
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.validation import check_same_length, check_texts

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


@dataclasses.dataclass(frozen=True)
class AnswerScores(Result):
    """How well texts answer questions; see `answer_scores`.

    Attributes:
        exact_match: Share of answers that are one of the references, in [0, 1].
        f1: Mean token F1 with the nearest reference, in [0, 1].
        n_items: How many questions.
        exact_match_interval: Wilson interval of `exact_match`.
        f1_interval: Percentile bootstrap interval of `f1`.
        exact: One entry per question: whether the answer matches.
        f1_scores: One F1 per question.
    """

    exact_match: float
    f1: float
    n_items: int
    exact_match_interval: Interval
    f1_interval: Interval
    exact: list[bool]
    f1_scores: list[float]


def normalize_answer(text: str) -> str:
    """Lower the case, drop ASCII punctuation and then articles, and leave one space between words.

    Example:
        >>> normalize_answer("The  Cat's  pajamas, an hour!")
        'cats pajamas hour'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(prediction: str, reference: str) -> float:
    """Return the F1 of the words of two answers, counted with repetition.

    With c words in common (as multisets), P = c / words of the prediction and R = c / words of the reference,
    F1 = 2 P R / (P + R). As in SQuAD 1.1 it is 0 where nothing is in common, also between two answers without words.

    Example:
        Words "cat sat" and "black cat sat": c = 2, P = 1, R = 2/3, F1 = 0.8.

        >>> round(token_f1("The cat sat.", "a black cat sat"), 6)
        0.8
    """
    return _f1(normalize_answer(prediction).split(), normalize_answer(reference).split())


def answer_scores(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    resampling: Resampling = Resampling(),
) -> AnswerScores:
    """Score text answers against the answers that people gave.

    Every prediction is compared with each of its references after `normalize_answer`, and the best comparison counts.

    Args:
        predictions: N answers; an empty answer is allowed.
        references: N lists of at least one right answer.
        resampling: Level of the intervals, and how that of F1 is resampled.

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
        right = [normalize_answer(answer) for answer in check_texts(answers, f"references[{number}]", allow_empty=True)]
        exact.append(normalized in right)
        f1.append(max(_f1(normalized.split(), answer.split()) for answer in right))
    return AnswerScores(
        exact_match=float(np.mean(exact)),
        f1=float(np.mean(f1)),
        n_items=len(texts),
        exact_match_interval=wilson(sum(exact), len(exact), confidence_level=resampling.level),
        f1_interval=bootstrap_mean(f1, resampling=resampling),
        exact=exact,
        f1_scores=f1,
    )


def _f1(prediction: list[str], reference: list[str]) -> float:
    common = sum((Counter(prediction) & Counter(reference)).values())
    # 2 P R / (P + R) with P = c / m and R = c / n is 2 c / (m + n).
    return 2 * common / (len(prediction) + len(reference)) if common else 0.0
