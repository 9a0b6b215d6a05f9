"""A model that is correct on every text passes every test of the released suites."""

import numpy as np
import pytest

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.datasets import open_suite
from rightreasons.io.scores.results import ModelAnswers

ASYMMETRIC = "Order does matter for asymmetric relations"


def find_correct_answer(expectation, label, *, is_first):
    """Return an answer to an example that a correct model may give."""
    if expectation["name"] == "not_equal":
        return int(expectation["value"] == 0)
    if expectation["name"] != "equal":
        return 1
    # The pair before a change is a duplicate, or the test would not apply.
    if is_first and expectation.get("skip_first"):
        return 1
    value = expectation.get("value")
    return int(label) if value is None else value


def answer_by_text(suite):
    """Return the answers of a correct model, which is a function of the texts of a functionality."""
    answers = []
    for functionality in suite.functionalities:
        answer_of_text = {}
        for case in functionality.cases:
            labels = case.labels or (None,) * len(case.examples)
            for position, (texts, label) in enumerate(zip(case.examples, labels, strict=True)):
                answer = find_correct_answer(
                    functionality.expectation, label, is_first=position == 0
                )
                # No text may need two answers.
                assert answer_of_text.setdefault(texts, answer) == answer, (
                    functionality.name,
                    texts,
                )
                answers.append(answer)
    return np.array(answers)


def score(suite):
    answers = answer_by_text(suite)
    scores = np.eye(len(suite.label_names))[answers]
    given = ModelAnswers(scores, label_names=suite.label_names)
    return score_stored("perfect", suite, given)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["checklist_paraphrase", "checklist_sentiment"])
def test_a_perfect_model_fails_no_test(name, real_data):
    tested = score(open_suite(name, data_dir=real_data))
    m = BehaviorMeasurement(tested)

    assert m.n_failed == 0
    assert m.mean.value == 1
    verdict = BEHAVIOR.answer(m).verdict
    assert verdict.tone == "good"


@pytest.mark.real_data
def test_the_suite_as_released_fails_a_perfect_model(real_data):
    corrected = open_suite("checklist_paraphrase", data_dir=real_data)
    released = open_suite("checklist_paraphrase", data_dir=real_data, known_issues=False)
    labels = {}
    for functionality in corrected.functionalities:
        if functionality.name == ASYMMETRIC:
            for case in functionality.cases:
                labels[case.examples] = case.labels

    (functionality,) = [part for part in released.functionalities if part.name == ASYMMETRIC]

    # Correct is "not a duplicate", and the released label says the opposite of every case.
    assert {label for case in labels.values() for label in case} == {0}
    assert {label for case in functionality.cases for label in case.labels} == {1}
