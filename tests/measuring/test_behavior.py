"""Answers to a suite, scored case by case."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rightreasons.data.opening.predictions import ModelAnswers
from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.behavior import SENTIMENTS, failing_cases, judged_cases, measure_behavior, score_stored
from rightreasons.models.loading import load_classifier
from tiny_models import save_tiny_classifier
from tiny_suites import behavior_suite

SUITE = Suite(
    "mine",
    ("text",),
    (
        Functionality(
            "negation",
            "Negation",
            "MFT",
            {"name": "equal"},
            tuple(Case(f"n{n}", ((f"not good {n}",),), (0,)) for n in range(4)),
        ),
        Functionality(
            "names",
            "Fairness",
            "INV",
            {"name": "invariant", "tolerance": 0.1},
            (
                Case("a", (("Ann liked it",), ("Ali liked it",), ("Bo liked it",))),
                Case("b", (("Ann left",), ("Ali left",), ("Bo left",))),
            ),
        ),
    ),
)
# Negation: n1 and n3 are called positive. Names: in a, Ali's P(1) falls from 0.9 to 0.3, Bo's to 0.85, within 0.1.
POSITIVE = np.array([0.1, 0.8, 0.2, 0.9, 0.9, 0.3, 0.85, 0.6, 0.6, 0.6])


def stored(**options):
    given = ModelAnswers(np.column_stack((1 - POSITIVE, POSITIVE)), label_names=("negative", "positive"))
    return score_stored("stored", SUITE, dataclasses.replace(given, **options), resampling=Resampling(resamples=50))


def test_failing_cases_tell_which_example_failed() -> None:
    tested = stored()
    assert [each.pass_rate for each in tested.result.functionalities] == [0.5, 0.5]
    negation = failing_cases(tested, 0)
    assert [(case.id, case.compared, case.examples[0].held) for case in negation] == [
        ("n1", False, False),
        ("n3", False, False),
    ]
    (names,) = failing_cases(tested, 1)
    assert names.id == "a"
    assert names.compared
    assert [(example.row, example.held) for example in names.examples] == [(4, None), (5, False), (6, True)]
    assert [case.passed for case in judged_cases(tested, 1)] == [False, True]
    assert tested.called(tested.answers[5]) == "negative"


def test_a_sample_is_the_same_each_time_and_in_order() -> None:
    cases = tuple(Case(str(n), ((f"text {n}",),), (0,)) for n in range(30))
    suite = Suite("many", ("text",), (Functionality("f", "C", "MFT", {"name": "equal"}, cases),))
    tested = score_stored(
        "m", suite, ModelAnswers(None, np.ones(30, dtype=np.int64)), resampling=Resampling(resamples=10)
    )
    drawn = [[case.id for case in failing_cases(tested, 0, limit=5, seed=seed)] for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(drawn[0], key=int)
    assert len(failing_cases(tested, 0)) == 30
    assert [case.id for case in judged_cases(tested, 0, [7, 2])] == ["7", "2"]
    assert tested.called(tested.answers[0]) == "class 1"


def test_a_model_and_its_stored_probabilities_pass_the_same(tmp_path) -> None:
    suite = behavior_suite()
    classifier = load_classifier(save_tiny_classifier(tmp_path / "model"))
    asked = measure_behavior(classifier, suite, progress=False, resampling=Resampling(resamples=20))
    assert asked.spread
    assert asked.class_names == SENTIMENTS
    # Two classes are spread over three: P(positive) is what neutral_probabilities was given.
    assert asked.probabilities.shape == (suite.n_examples, 3)
    outside = (asked.probabilities[:, 1] == 0).nonzero()[0]
    positive = asked.probabilities[outside, 2]
    np.testing.assert_allclose(asked.probabilities[outside, 0], 1 - positive)
    given = ModelAnswers(asked.probabilities)
    again = score_stored("stored", suite, given, resampling=Resampling(resamples=20))
    assert again.result.passed == asked.result.passed


def test_texts_are_answers_too() -> None:
    reading = Suite(
        "reading",
        ("question", "context"),
        (Functionality("who", "Coref", "MFT", {"name": "equal"}, (Case("0", (("Who?", "Ann sat."),), ("Ann",)),)),),
    )
    tested = score_stored("m", reading, ModelAnswers(None, ["Bo"]), resampling=Resampling(resamples=10))
    (case,) = failing_cases(tested, 0)
    assert case.examples[0].texts == ("Who?", "Ann sat.")
    assert tested.called(tested.answers[0]) == "Bo"
    # A file in which every answer is a whole number is read as numbers.
    assert score_stored(
        "m", reading, ModelAnswers(None, np.array([1990])), resampling=Resampling(resamples=10)
    ).answers == ["1990"]


@pytest.mark.parametrize(
    "names", [("Positive", "negative"), ("positive", "neutral", "negative"), ("negative", "positive", "neutral")]
)
def test_sentiments_in_another_order_are_refused(names) -> None:
    suite = behavior_suite()
    scores = np.full((suite.n_examples, len(names)), 1 / len(names))
    with pytest.raises(ValueError, match=f"negative before .*positive, but they are {', '.join(names)}"):
        score_stored("m", suite, ModelAnswers(scores, label_names=names))
    ordered = tuple(name for name in SENTIMENTS if name in [name.lower() for name in names])
    score_stored("m", suite, ModelAnswers(scores, label_names=ordered), resampling=Resampling(resamples=10))
    # The labels of another suite may mean anything.
    assert stored(label_names=("positive", "negative")).class_names == ("positive", "negative")


def test_predictions_in_another_order_are_refused() -> None:
    ids = tuple(row["id"] for row in SUITE.examples())
    assert stored(ids=ids).result.passed == stored().result.passed
    turned = (ids[0], ids[2], ids[1], *ids[3:])
    with pytest.raises(ValueError, match="order of the suite 'mine', but row 1 has the id 0-n2-0 where .* has 0-n1-0"):
        stored(ids=turned)
    # Ids of a user's own say nothing of the order.
    assert stored(ids=tuple(map(str, range(10)))).result.passed == stored().result.passed


def test_bad_input(tmp_path) -> None:
    with pytest.raises(ValueError, match="each of the 10 examples of the suite 'mine', in its order, but got 9"):
        score_stored("m", SUITE, ModelAnswers(np.full((9, 2), 0.5)))
    raw = ModelAnswers(np.full((10, 2), 3.0))
    with pytest.raises(ValueError, match="between 0 and 1, but got 3 to 3; name columns of raw outputs logits"):
        score_stored("m", SUITE, raw)
    # A softmax in float32 may leave [0, 1] by its rounding.
    rounded = ModelAnswers(np.tile([1.0000001, -1e-7], (10, 1)))
    assert score_stored("m", SUITE, rounded, resampling=Resampling(resamples=10)).probabilities.max() == 1
    six = Functionality("f", "C", "MFT", {"name": "equal"}, (Case("0", (("a",),), (5,)),))
    with pytest.raises(ValueError, match="every label of the suite 'many', 0 to 5, but m has 2"):
        score_stored("m", Suite("many", ("text",), (six,)), ModelAnswers(np.array([[0.5, 0.5]])))
    turned = load_classifier(save_tiny_classifier(tmp_path / "model", label_names=("POSITIVE", "NEGATIVE")))
    with pytest.raises(ValueError, match="negative before positive, but they are POSITIVE, NEGATIVE"):
        measure_behavior(turned, behavior_suite(), progress=False)
