"""Answers to a suite, scored case by case."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rightreasons.behavior.cases import failing_cases, judge_cases
from rightreasons.behavior.measure import measure_behavior, score_stored
from rightreasons.behavior.predictions import SENTIMENTS
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers
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
    given = ModelAnswers(
        np.column_stack((1 - POSITIVE, POSITIVE)), label_names=("negative", "positive")
    )
    return score_stored(
        "stored", SUITE, dataclasses.replace(given, **options), resampling=Resampling(resamples=50)
    )


def test_failing_cases_tell_which_example_failed() -> None:
    tested = stored()
    assert [each.pass_rate for each in tested.result.functionalities] == [0.5, 0.5]
    negation = failing_cases(tested, 0)
    assert [(case.id, case.has_original, case.examples[0].passed) for case in negation] == [
        ("n1", False, False),
        ("n3", False, False),
    ]
    (names,) = failing_cases(tested, 1)
    assert names.id == "a"
    assert names.has_original
    assert [(example.row, example.passed) for example in names.examples] == [
        (4, None),
        (5, False),
        (6, True),
    ]
    assert [case.passed for case in judge_cases(tested, 1)] == [False, True]
    assert tested.describe_answer(tested.answers[5]) == "negative"


def test_a_sample_is_the_same_each_time_and_in_order() -> None:
    cases = tuple(Case(str(n), ((f"text {n}",),), (0,)) for n in range(30))
    suite = Suite("many", ("text",), (Functionality("f", "C", "MFT", {"name": "equal"}, cases),))
    tested = score_stored(
        "m",
        suite,
        ModelAnswers(None, np.ones(30, dtype=np.int64)),
        resampling=Resampling(resamples=10),
    )
    drawn = [
        [case.id for case in failing_cases(tested, 0, limit=5, seed=seed)] for seed in (0, 0, 1)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(drawn[0], key=int)
    assert len(failing_cases(tested, 0)) == 30
    assert [case.id for case in judge_cases(tested, 0, [7, 2])] == ["7", "2"]
    assert tested.describe_answer(tested.answers[0]) == "class 1"


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
        (
            Functionality(
                "who",
                "Coref",
                "MFT",
                {"name": "equal"},
                (Case("0", (("Who?", "Ann sat."),), ("Ann",)),),
            ),
        ),
    )
    tested = score_stored(
        "m", reading, ModelAnswers(None, ["Bo"]), resampling=Resampling(resamples=10)
    )
    (case,) = failing_cases(tested, 0)
    assert case.examples[0].texts == ("Who?", "Ann sat.")
    assert tested.describe_answer(tested.answers[0]) == "Bo"
    # A file in which every answer is a whole number is read as numbers.
    assert score_stored(
        "m", reading, ModelAnswers(None, np.array([1990])), resampling=Resampling(resamples=10)
    ).answers == ["1990"]


CASES = (("you are mean", 1), ("you are kind", 0), ("he is kind", 0))
HATE = Suite(
    "hate",
    ("text",),
    (
        Functionality(
            "slur",
            "Slur",
            "MFT",
            {"name": "equal"},
            tuple(
                Case(str(number), ((text,),), (label,))
                for number, (text, label) in enumerate(CASES)
            ),
        ),
    ),
    ("non-hateful", "hateful"),
)


def rate(answers: ModelAnswers, suite: Suite = HATE) -> float | None:
    return score_stored(
        "m", suite, answers, resampling=Resampling(resamples=10)
    ).result.behavioral_pass_rate


@pytest.mark.parametrize(
    "answers",
    [
        ["hateful", "non-hateful", "non-hateful"],
        ["Hateful", "NON_HATEFUL", "NON_HATEFUL"],
        ["1", "0", "0"],
        np.array([1, 0, 0]),
    ],
)
def test_stored_answers_are_words_or_numbers(answers) -> None:
    tested = score_stored(
        "m", HATE, ModelAnswers(None, answers), resampling=Resampling(resamples=10)
    )
    assert tested.result.behavioral_pass_rate == 1
    assert tested.answers.tolist() == [1, 0, 0]
    assert tested.describe_answer(tested.answers[0]) == "hateful"
    assert tested.matched.startswith("by number" if answers[0] in ("1", 1) else "by name")


def test_answers_that_are_no_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="non-hateful, hateful"):
        rate(ModelAnswers(None, ["hateful", "maybe", "hateful"]))
    with pytest.raises(ValueError, match="predictions of m"):
        rate(ModelAnswers(None, ["hateful", "", "hateful"]))
    with pytest.raises(ValueError, match="labels from 0 to 1"):
        rate(ModelAnswers(None, np.array([1, 0, 2])))
    # A suite that does not name its labels understands numbers alone.
    unnamed = dataclasses.replace(HATE, label_names=None)
    assert rate(ModelAnswers(None, ["1", "0", "1"]), unnamed) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="hateful, non-hate"):
        rate(ModelAnswers(None, ["hateful", "non-hateful", "hateful"]), unnamed)
    with pytest.raises(ValueError, match="either numbers or words"):
        rate(ModelAnswers(None, ["hateful", "0", "1"]), unnamed)


def test_columns_of_scores_go_by_name() -> None:
    # P(hateful) is 0.9, 0.2, 0.6: two of three are right.
    by_name = {"hateful": np.array([0.9, 0.2, 0.6]), "non-hateful": np.array([0.1, 0.8, 0.4])}
    for names in (
        ("hateful", "non-hateful"),
        ("non-hateful", "hateful"),
        ("HATEFUL", "non_hateful"),
    ):
        scores = np.column_stack([by_name[name.lower().replace("_", "-")] for name in names])
        tested = score_stored(
            "m", HATE, ModelAnswers(scores, label_names=names), resampling=Resampling(resamples=10)
        )
        assert tested.result.passed == [True, True, False]
        assert tested.class_names == ("non-hateful", "hateful")
        np.testing.assert_array_equal(tested.probabilities[:, 1], by_name["hateful"])
        assert "by name" in tested.matched
    # A class that the suite does not know comes last.
    more = np.column_stack((np.full(3, 0.5), by_name["hateful"] / 2, by_name["non-hateful"] / 2))
    tested = score_stored(
        "m",
        HATE,
        ModelAnswers(more, label_names=("spam", "hateful", "non-hateful")),
        resampling=Resampling(resamples=9),
    )
    assert tested.class_names == ("non-hateful", "hateful", "spam")
    assert tested.result.behavioral_pass_rate == 0
    both = r"the suite 'hate' to be among those of the predictions of m \(joy, anger\), but they are non-hateful, hateful"
    with pytest.raises(ValueError, match=both):
        rate(ModelAnswers(scores, label_names=("joy", "anger")))
    # Numbered columns go by number, and that is said.
    assert rate(
        ModelAnswers(np.column_stack((by_name["non-hateful"], by_name["hateful"])))
    ) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="'three', bad, fair"):
        rate(
            ModelAnswers(np.full((1, 2), 0.5)),
            Suite("three", ("text",), (functionality("f", 2, "good"),), ("bad", "fair", "good")),
        )


def functionality(name: str, label: int, text: str) -> Functionality:
    return Functionality(name, "C", "MFT", {"name": "equal"}, (Case("0", ((text,),), (label,)),))


def test_two_sentiments_are_spread_by_name_alone() -> None:
    named = behavior_suite()
    positive = np.linspace(0, 1, named.n_examples)
    expected = score_stored(
        "m", behavior_suite(), ModelAnswers(np.column_stack((1 - positive, positive)))
    )
    for names in (("Positive", "Negative"), ("negative", "positive")):
        columns = [positive if name.lower() == "positive" else 1 - positive for name in names]
        tested = score_stored("m", named, ModelAnswers(np.column_stack(columns), label_names=names))
        assert tested.spread
        assert tested.result.passed == expected.result.passed
        assert tested.class_names == SENTIMENTS
    # Three labels that are no sentiments are not spread over.
    inference = Suite(
        "nli", ("text",), (functionality("f", 2, "x"),), ("entailment", "neutral", "contradiction")
    )
    with pytest.raises(ValueError, match="a class for every label of the suite 'nli'"):
        rate(ModelAnswers(np.array([[0.5, 0.5]])), inference)


@pytest.mark.parametrize(
    "names", [("hateful", "non-hateful"), ("non-hateful", "hateful"), ("LABEL_0", "LABEL_1")]
)
def test_a_model_goes_by_the_names_of_its_classes(tmp_path, names) -> None:
    classifier = load_classifier(save_tiny_classifier(tmp_path / "model", label_names=names))
    tested = measure_behavior(classifier, HATE, progress=False, resampling=Resampling(resamples=10))
    plain = measure_behavior(
        classifier,
        dataclasses.replace(HATE, label_names=None),
        progress=False,
        resampling=Resampling(resamples=10),
    )
    order = [1, 0] if names[0] == "hateful" else [0, 1]
    np.testing.assert_array_equal(tested.probabilities, plain.probabilities[:, order])
    assert tested.class_names == ("non-hateful", "hateful")
    assert tested.matched.startswith("by number, as" if names[0] == "LABEL_0" else "by name")


def test_a_model_of_other_classes_is_refused(tmp_path) -> None:
    classifier = load_classifier(
        save_tiny_classifier(tmp_path / "model", label_names=("joy", "anger"))
    )
    with pytest.raises(ValueError, match=r"\(joy, anger\)"):
        measure_behavior(classifier, HATE, progress=False)


def test_predictions_go_by_the_ids_of_the_suite() -> None:
    ids = tuple(row["id"] for row in SUITE.examples())
    scores = np.column_stack((1 - POSITIVE, POSITIVE))
    assert stored(ids=ids).result.passed == stored().result.passed
    assert stored(ids=ids[::-1], scores=scores[::-1]).result.passed == stored().result.passed
    with pytest.raises(ValueError, match="suite 'mine'"):
        stored(ids=tuple("x" if name == "0-n2-0" else name for name in ids))
    # Ids of a user's own say nothing of the order.
    assert stored(ids=tuple(map(str, range(10)))).result.passed == stored().result.passed


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="suite 'mine'"):
        score_stored("m", SUITE, ModelAnswers(np.full((9, 2), 0.5)))
    raw = ModelAnswers(np.full((10, 2), 3.0))
    with pytest.raises(
        ValueError,
        match="set `scores` to logits",
    ):
        score_stored("m", SUITE, raw)
    # A softmax in float32 may leave [0, 1] by its rounding.
    rounded = ModelAnswers(np.tile([1.0000001, -1e-7], (10, 1)))
    assert (
        score_stored("m", SUITE, rounded, resampling=Resampling(resamples=10)).probabilities.max()
        == 1
    )
    six = Functionality("f", "C", "MFT", {"name": "equal"}, (Case("0", (("a",),), (5,)),))
    with pytest.raises(
        ValueError,
        match="suite 'many'",
    ):
        score_stored("m", Suite("many", ("text",), (six,)), ModelAnswers(np.array([[0.5, 0.5]])))


def test_an_example_that_fails_counts_as_a_wrong_answer(tmp_path) -> None:
    """What passed, and its forward pass now ends in an error, fails; the others are as they were."""
    classifier = load_classifier(
        save_tiny_classifier(tmp_path / "model", label_names=("non-hateful", "hateful"))
    )
    options = {"progress": False, "resampling": Resampling(resamples=10)}
    usual = measure_behavior(classifier, HATE, **options)
    rows = list(HATE.examples())
    tokens = [classifier.tokenizer(row["text"])["input_ids"] for row in rows]
    broken = tokens[next(row for row, passed in enumerate(usual.result.passed) if passed)]
    bad = [place for place, each in enumerate(tokens) if each == broken]
    assert 0 < len(bad) < len(rows)
    forward = classifier.model.forward

    def fails(input_ids=None, **inputs):
        if any(mine[: len(broken)].tolist() == broken for mine in input_ids):
            raise RuntimeError("Expected another text.")
        return forward(input_ids=input_ids, **inputs)

    classifier.model.forward = fails
    with pytest.raises(ValueError, match="can read every item"):
        measure_behavior(classifier, HATE, **options)
    tested = measure_behavior(classifier, HATE, fail_fast=False, **options)
    assert list(tested.failures) == [rows[place]["id"] for place in bad]
    assert all("Expected another text." in reason for reason in tested.failures.values())
    before = [bool(passed) for passed in usual.result.passed]
    assert [bool(passed) for passed in tested.result.passed] == [
        passed and place not in bad for place, passed in enumerate(before)
    ]
