"""What a suite expects, in the words that the report and the Space share."""

import numpy as np
import pytest

from rightreasons.behavior.measure import judged_cases, score_stored
from rightreasons.behavior.plots import expected, rule
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.cases import Case, Functionality
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.predictions import ModelAnswers

TEXTS = (("Ann sat",), ("Eve sat",), ("Bob sat",))
# P(negative, neutral, positive) of three examples: the second falls from 0.7 to 0.3, the third rises to 0.8.
SCORES = np.array([[0.1, 0.2, 0.7], [0.6, 0.1, 0.3], [0.15, 0.05, 0.8]])


def answers(expectation, labels=None, scores=SCORES):
    part = Functionality("names", "Names", "INV", expectation, (Case("0", TEXTS, labels),))
    given = ModelAnswers(scores, label_names=("negative", "neutral", "positive"))
    return score_stored("m", Suite("mine", ("text",), (part,)), given, resampling=Resampling(resamples=10))


@pytest.mark.parametrize(
    ("expectation", "labels", "sentence", "of_examples"),
    [
        (
            {"name": "equal"},
            (2, 1, 2),
            "Every answer must be the label.",
            ["expected positive", "expected neutral", "expected positive"],
        ),
        (
            {"name": "not_equal", "value": 0},
            None,
            "Any answer passes but negative.",
            ["expected anything but negative"] * 3,
        ),
        (
            {"name": "invariant", "tolerance": 0.2},
            None,
            "Every changed text must get the original's answer, or keep the confidence in it within 0.2.",
            [
                "the original",
                "expected positive again; P(positive) from 70.0% to 30.0%",
                "expected positive again; P(positive) from 70.0% to 80.0%",
            ],
        ),
        (
            {"name": "monotonic", "increasing": False, "tolerance": 0.1},
            None,
            "The confidence in the original's answer must not rise by more than 0.1.",
            [
                "the original",
                "P(positive) from 70.0% to 30.0%; it must not rise by more than 0.1",
                "P(positive) from 70.0% to 80.0%; it must not rise by more than 0.1",
            ],
        ),
        (
            {"name": "sentiment_shift", "positive": True},
            None,
            "P(positive) − P(negative) must not fall by more than 0.1.",
            [
                "the original",
                "P(positive) − P(negative) from 60.0% to −30.0%; it must not fall by more than 0.1",
                "P(positive) − P(negative) from 60.0% to 65.0%; it must not fall by more than 0.1",
            ],
        ),
        (
            {"name": "transitive"},
            None,
            "Where two of three pairs are answered neutral, the third must be too.",
            None,
        ),
        (
            {"name": "equal", "where_first": {"not": [0, 1]}},
            (2, 1, 2),
            "Every answer must be the label. Asked only where the first answer is not negative or neutral.",
            None,
        ),
        (
            {"name": "monotonic", "increasing": True, "label": 0},
            None,
            "The probability of negative must not fall.",
            [
                "the original",
                "P(negative) from 10.0% to 60.0%; it must not fall",
                "P(negative) from 10.0% to 15.0%; it must not fall",
            ],
        ),
        ({"name": "unknown", "why": "it is code"}, None, "Nothing is asked: it is code.", ["not asked"] * 3),
    ],
)
def test_every_expectation_has_its_words(expectation, labels, sentence, of_examples):
    tested = answers(expectation, labels)
    assert rule(tested, 0) == sentence
    (case,) = judged_cases(tested, 0)
    if of_examples is not None:
        assert [expected(tested, 0, case, example) for example in case.examples] == of_examples


def test_answers_without_confidence():
    part = Functionality("names", "Names", "INV", {"name": "invariant"}, (Case("0", TEXTS),))
    given = ModelAnswers(None, np.array([1, 0, 1]))
    tested = score_stored("m", Suite("mine", ("text",), (part,)), given, resampling=Resampling(resamples=10))
    (case,) = judged_cases(tested, 0)
    assert rule(tested, 0) == "Every changed text must get the original's answer."
    assert expected(tested, 0, case, case.examples[1]) == "expected class 1 again"
