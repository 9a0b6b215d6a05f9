"""What a suite expects, in the words that the report and the Space share."""

import numpy as np
import pytest

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.words import describe_expectation
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers

TEXTS = (("Ann sat",), ("Eve sat",), ("Bob sat",))
# P(negative, neutral, positive) of three examples: the second falls from 0.7 to 0.3, the third rises to 0.8.
SCORES = np.array([[0.1, 0.2, 0.7], [0.6, 0.1, 0.3], [0.15, 0.05, 0.8]])


def answers(expectation, labels=None, scores=SCORES):
    part = Functionality("names", "Names", "INV", expectation, (Case("0", TEXTS, labels),))
    given = ModelAnswers(scores, label_names=("negative", "neutral", "positive"))
    return score_stored(
        "m", Suite("mine", ("text",), (part,)), given, resampling=Resampling(resamples=10)
    )


@pytest.mark.parametrize(
    ("expectation", "labels", "sentence"),
    [
        (
            {"name": "equal"},
            (2, 1, 2),
            "Every answer must be the label.",
        ),
        (
            {"name": "not_equal", "value": 0},
            None,
            "Any answer except negative passes.",
        ),
        (
            {"name": "invariant", "tolerance": 0.2},
            None,
            "Every changed text must have the same answer as the original, or a confidence in that answer within 0.2.",
        ),
        (
            {"name": "monotonic", "increasing": False, "tolerance": 0.1},
            None,
            "The confidence in the original's answer must not rise by more than 0.1.",
        ),
        (
            {"name": "sentiment_shift", "positive": True},
            None,
            "P(positive) − P(negative) must not fall by more than 0.1.",
        ),
        (
            {"name": "transitive"},
            None,
            "If the answer to two of three pairs is neutral, it must be so for the third.",
        ),
        (
            {"name": "equal", "where_first": {"not": [0, 1]}},
            (2, 1, 2),
            "Every answer must be the label. Applies only if the first answer is not negative or neutral.",
        ),
        (
            {"name": "monotonic", "increasing": True, "label": 0},
            None,
            "The probability of negative must not fall.",
        ),
        ({"name": "unknown", "why": "it is code"}, None, "Nothing is tested: it is code."),
    ],
)
def test_every_expectation_has_its_words(expectation, labels, sentence):
    assert describe_expectation(answers(expectation, labels), 0) == sentence


def test_answers_without_confidence():
    part = Functionality("names", "Names", "INV", {"name": "invariant"}, (Case("0", TEXTS),))
    given = ModelAnswers(None, np.array([1, 0, 1]))
    tested = score_stored(
        "m", Suite("mine", ("text",), (part,)), given, resampling=Resampling(resamples=10)
    )
    assert (
        describe_expectation(tested, 0)
        == "Every changed text must have the same answer as the original."
    )
