"""What counts as the same text, and how well text answers match: exact match and token F1."""

from __future__ import annotations

import dataclasses
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from rightreasons.core.intervals import Interval, bootstrap_mean, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_one_of, check_same_length, check_texts

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_FIRST_ARTICLE = re.compile(r"^(a|an|the) ")


def normalize_answer(text: str, normalization: str = "squad") -> str:
    """Bring a text to the form in which answers are compared.

    | name | what it does |
    | --- | --- |
    | `none` | nothing: texts are compared as they are |
    | `casefold` | folds the case, and leaves one space between words |
    | `article` | drops the spaces around the text and a leading a, an or the, as CheckList's suite of reading does |
    | `ropes` | lowers the case, drops ASCII punctuation, and leaves one space between words; articles stay |
    | `squad` | as `ropes`, and drops the articles a, an and the |

    Args:
        text: A text.
        normalization: The name.

    Returns:
        The normalized text.

    Raises:
        ValueError: If there is no normalization of this name.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
        EMNLP, section 6.1, with the released script of version 1.1. Lin, Tafjord, Clark and Gardner (2019), "Reasoning
        Over Paragraph Effects in Situations", MRQA, with the released script of version 1.0.

    Example:
        >>> normalize_answer("The  Cat's  pajamas, an hour!")
        'cats pajamas hour'
        >>> normalize_answer("The  Cat's  pajamas, an hour!", "ropes")
        'the cats pajamas an hour'
    """
    return NORMALIZERS[check_one_of(normalization, tuple(NORMALIZERS), "normalization")](text)


def _ropes(text: str) -> str:
    return " ".join(text.lower().translate(_PUNCTUATION).split())


def _squad(text: str) -> str:
    # Punctuation goes first: "A." is an article.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


NORMALIZERS: Mapping[str, Callable[[str], str]] = {
    "none": lambda text: text,
    "casefold": lambda text: " ".join(text.casefold().split()),
    "article": lambda text: _FIRST_ARTICLE.sub("", text.strip()),
    "ropes": _ropes,
    "squad": _squad,
}
"""The normalization of each name; `core.suites` declares the same names for suites."""


@dataclasses.dataclass(frozen=True)
class AnswerScores(Result):
    """How well texts answer questions; see `answer_scores`.

    Attributes:
        exact_match: Share of answers that are one of the references, in [0, 1].
        f1: Mean token F1 with the nearest reference, in [0, 1].
        n_items: How many questions.
        exact_match_interval: Wilson interval of `exact_match`.
        f1_interval: Interval of `f1` (`bootstrap_mean` in [0, 1]).
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


def answer_scores(
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    normalization: str = "squad",
    resampling: Resampling = Resampling(),
) -> AnswerScores:
    """Score text answers against the answers that people gave.

    Every prediction is compared with each of its references after `normalize_answer`, and the best comparison counts.
    F1 is that of the words, counted with repetition: with c words in common (as multisets), P = c / words of the
    prediction and R = c / words of the reference, it is 2 P R / (P + R). As in SQuAD 1.1 it is 0 where nothing is in
    common, also between two answers without words.

    Args:
        predictions: N answers; an empty answer is allowed.
        references: N lists of at least one right answer.
        normalization: The name of what is done to texts before they are compared, one of `normalize_answer`: "squad",
            "ropes" (which keeps articles), "article", "casefold" or "none".
        resampling: Level of the intervals, and how that of F1 is resampled.

    Returns:
        An `AnswerScores`. Higher is better. SQuAD's own script gives the same figures times 100, and that of ROPES the
        same with normalization="ropes".

    Raises:
        TypeError: If a prediction or a reference is not a text.
        ValueError: If there are more or fewer predictions than lists of references, or a list is empty, or there is no
            normalization of this name.

    References:
        Rajpurkar, Zhang, Lopyrev and Liang (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
        EMNLP, section 6.1.

    Example:
        >>> result = answer_scores(["the Denver Broncos", "in 1976"], [["Denver Broncos"], ["1976", "the year 1976"]])
        >>> result.exact, [round(value, 4) for value in result.f1_scores]
        ([True, False], [1.0, 0.6667])
        >>> answer_scores(["the Denver Broncos"], [["Denver Broncos"]], normalization="ropes").exact
        [False]
    """
    texts = check_texts(predictions, "predictions", allow_empty=True)
    check_same_length(predictions=texts, references=references)
    exact, f1 = [], []
    for number, (text, answers) in enumerate(zip(texts, references, strict=True)):
        normalized = normalize_answer(text, normalization)
        answers = check_texts(answers, f"references[{number}]", allow_empty=True)
        right = [normalize_answer(answer, normalization) for answer in answers]
        exact.append(normalized in right)
        f1.append(max(_f1(normalized.split(), answer.split()) for answer in right))
    return AnswerScores(
        exact_match=float(np.mean(exact)),
        f1=float(np.mean(f1)),
        n_items=len(texts),
        exact_match_interval=wilson(sum(exact), len(exact), confidence_level=resampling.level),
        f1_interval=bootstrap_mean(f1, bounds=(0.0, 1.0), resampling=resampling),
        exact=exact,
        f1_scores=f1,
    )


def _f1(prediction: list[str], reference: list[str]) -> float:
    common = sum((Counter(prediction) & Counter(reference)).values())
    # 2 P R / (P + R) with P = c / m and R = c / n is 2 c / (m + n).
    return 2 * common / (len(prediction) + len(reference)) if common else 0.0
