"""Expectations, pass rates and G scores: closed forms, the paper's worked values, and a released model's results."""

import gzip
import json

import numpy as np
import pytest

from rightreasons.behavior.expectations import Answers, evaluate_cases
from rightreasons.behavior.generalization import (
    compare_generalization,
    generalization_score,
    harmonic_mean,
)
from rightreasons.behavior.predictions import asks_for_neutral, neutral_probabilities
from rightreasons.behavior.rates import FunctionalityResult, find_low_pass_rates, pass_rates
from rightreasons.core.errors import OptionError
from rightreasons.core.suites import SuiteTable

NAN = float("nan")


def answers(predictions, sizes, probabilities=None, **rest):
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Answers(
        np.array(predictions),
        offsets,
        None if probabilities is None else np.array(probabilities),
        **rest,
    )


def cases(spec, given):
    return [None if np.isnan(value) else bool(value) for value in evaluate_cases(spec, given)[1]]


def test_equal_and_not_equal():
    given = answers([0, 1, 1], [2, 1], labels=[0, 1, 0])
    assert cases({"name": "equal"}, given) == [True, False]
    assert cases({"name": "equal", "value": 1}, given) == [False, True]
    assert cases({"name": "not_equal", "value": 0}, given) == [False, True]
    unlabeled = answers([0, 1], [1, 1], labels=[None, 1])
    assert cases({"name": "equal"}, unlabeled) == [None, True]


def test_invariance_allows_a_small_move():
    # First case: the label flips, but the first answer's probability moves by .08 only; second: by .3.
    given = answers([0, 1, 0, 1], [2, 2], [[0.54, 0.46], [0.46, 0.54], [0.6, 0.4], [0.3, 0.7]])
    assert cases({"name": "invariant"}, given) == [True, False]
    assert cases({"name": "invariant", "tolerance": 0.05}, given) == [False, False]


def test_monotonic_is_undefined_without_room():
    rows = [[0.9, 0.1], [0.7, 0.3], [0.95, 0.05], [0.5, 0.5], [0.6, 0.4], [0.75, 0.25]]
    given = answers([0] * 6, [2, 2, 2], rows)
    # Falling: .9 >= 1 - .1 and .95 have no say, .6 -> .75 rises by .15 > .1 and fails.
    falling = {"name": "monotonic", "increasing": False, "tolerance": 0.1}
    assert cases(falling, given) == [None, None, False]
    # Rising: .9 -> .7 fails, .95 -> .5 fails, .6 -> .75 passes.
    assert cases({"name": "monotonic", "increasing": True, "tolerance": 0.1}, given) == [
        False,
        False,
        True,
    ]
    # Without a tolerance every confidence has room: .9 -> .7 and .95 -> .5 fall, .6 -> .75 rises.
    assert cases({"name": "monotonic", "increasing": False}, given) == [True, True, False]
    assert cases({**falling, "tolerance": 0}, given) == [True, True, False]
    # P(class 1) rises by .2, rises by .45, and falls by .15.
    assert cases({**falling, "label": 1}, given) == [False, False, True]
    kept = {"name": "monotonic", "increasing": True, "where_first": {"not": [0]}}
    assert cases(kept, given) == [None, None, None]


THREE = answers(
    [0, 1, 1, 0, 0, 2, 2, 2],
    [3, 1, 2, 2],
    # The answers and their probabilities: 0 .6, 1 .5, 1 .7 | 0 .9 | 0 .5, 2 .8 | 2 .4, 2 .96
    [
        [0.6, 0.3, 0.1],
        [0.3, 0.5, 0.2],
        [0.2, 0.7, 0.1],
        [0.9, 0.05, 0.05],
        [0.5, 0.25, 0.25],
        [0.1, 0.1, 0.8],
        [0.3, 0.3, 0.4],
        [0.02, 0.02, 0.96],
    ],
    labels=[0, 1, None, 1, None, None, 2, 0],
)
ONE = {"name": "equal", "value": 1}


@pytest.mark.parametrize(
    ("spec", "passed"),
    [
        ({"name": "invariant", "tolerance": 0}, [False, None, False, True]),
        ({"name": "invariant", "tolerance": 0, "skip_first": False}, [False, True, False, True]),
        ({"name": "equal"}, [True, False, None, False]),
        ({"name": "equal", "skip_first": True}, [True, None, None, False]),
        ({**ONE, "where_first": {"is": [0]}}, [False, False, False, None]),
        ({"name": "unknown", "why": "it is code"}, [None] * 4),
    ],
)
def test_which_examples_count(spec, passed):
    assert cases(spec, THREE) == passed


@pytest.mark.parametrize(
    ("clean", "passed"),
    [
        ("none", [False, False, False]),
        ("article", [False, False, True]),
        ("squad", [True, True, True]),
    ],
)
def test_texts_are_compared_after_a_normalization(clean, passed):
    read = Answers(
        ["CAT", "A cat.", "the cat"], np.array([0, 1, 2, 3]), labels=["cat", "cat", "cat"]
    )
    assert cases({"name": "equal", "clean": clean}, read) == passed


def test_an_answer_may_be_a_text():
    offsets = np.array([0, 1, 3])
    read = Answers(["the cat", "a cat", "yes"], offsets)
    assert cases({"name": "equal", "value": "cat"}, read) == [False, False]
    assert cases({"name": "equal", "value": "cat", "clean": "article"}, read) == [True, False]
    assert cases({"name": "not_equal", "value": "yes"}, read) == [True, False]
    assert cases({"name": "invariant"}, read) == [None, False]
    with pytest.raises(ValueError, match="class labels .* but got 'cat'"):
        cases({"name": "equal", "value": "cat"}, THREE)
    with pytest.raises(TypeError, match="the predictions are texts"):
        cases({"name": "equal", "value": 1}, read)
    with pytest.raises(ValueError, match="label below 3"):
        cases({"name": "monotonic", "increasing": True, "label": 3}, THREE)


def test_sentiment_shift():
    rows = [[0.2, 0.2, 0.6], [0.3, 0.2, 0.5], [0.2, 0.2, 0.6], [0.22, 0.2, 0.58]]
    given = answers([2, 2, 2, 2], [2, 2], rows)
    # change = (.2 - .3) + (.5 - .6) = -.2 < -.1; (.2 - .22) + (.58 - .6) = -.04 >= -.1
    assert cases({"name": "sentiment_shift", "positive": True}, given) == [False, True]
    assert cases({"name": "sentiment_shift", "positive": False}, given) == [True, True]
    # Where neutral loses most: change = (.2 - .45) + (.35 - .3) = -.2 < -.1
    given = answers([1, 0], [2], [[0.2, 0.5, 0.3], [0.45, 0.2, 0.35]])
    assert cases({"name": "sentiment_shift", "positive": True}, given) == [False]


def test_transitivity():
    given = answers([1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0], [3, 3, 3, 3])
    assert cases({"name": "transitive"}, given) == [True, False, None, None]


def test_unknown_and_unfit_expectations():
    with pytest.raises(ValueError, match="Did you mean 'equal'"):
        evaluate_cases({"name": "equals"}, answers([0], [1]))
    with pytest.raises(ValueError, match="Expected class probabilities"):
        evaluate_cases({"name": "monotonic", "increasing": True}, answers([0, 0], [2]))
    with pytest.raises(ValueError, match="Expected labels"):
        evaluate_cases({"name": "equal"}, answers([0, 0], [2]))


def test_neutral_mapping_worked_values():
    expected = {0.1: (0.9, 0, 0.1), 0.34: (0.48, 0.52, 0), 0.4: (0.3, 0.7, 0), 0.5: (0, 1, 0)}
    expected |= {0.6: (0, 0.7, 0.3), 0.66: (0, 0.52, 0.48), 0.9: (0.1, 0, 0.9)}
    for p, row in expected.items():
        assert neutral_probabilities(np.array([p]))[0] == pytest.approx(row, abs=1e-9)
    # From the edges on it is neutral, and beside them it is not.
    edges = np.array([1 / 3, 2 / 3])
    beside = neutral_probabilities(
        np.concatenate((edges, np.nextafter(edges, 0.5), np.nextafter(edges, [0.0, 1.0])))
    )
    assert beside.argmax(axis=1).tolist() == [1, 1, 1, 1, 0, 2]
    assert beside.sum(axis=1) == pytest.approx(np.ones(6))
    assert beside[:2].max(axis=1) == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match=r"`positive` .*shape \(2, 2\)"):
        neutral_probabilities(np.array([[0.9, 0.1], [0.2, 0.8]]))
    with pytest.raises(ValueError, match="positive"):
        neutral_probabilities(np.array([0.5, 1.2]))


def table(**changes):
    return SuiteTable(
        **{
            "functionalities": ("f", "g"),
            "classes": ("A", "B"),
            "test_types": ("MFT", "INV"),
            "expectations": ({"name": "equal"}, {"name": "invariant"}),
            "case_ids": ("0", "1", "2", "3"),
            "case_functionality": np.array([0, 0, 1, 1]),
            "case_offsets": np.array([0, 1, 2, 4, 6]),
            "labels": (1, 1, None, None, None, None),
            **changes,
        }
    )


def test_pass_rates():
    result = pass_rates([1, 0, 1, 1, 0, 1], table(), outputs="labels")
    # f: 1 of 2, g: 1 of 2; the mean over functionalities .5
    assert result.behavioral_pass_rate == 0.5
    assert [part.pass_rate for part in result.functionalities] == [0.5, 0.5]
    assert result.passed == [True, False, True, False]
    assert result.classes["A"].pass_rate == 0.5
    assert result.test_types["INV"].n_functionalities == 1
    assert result.interval.low <= 0.5 <= result.interval.high
    json.dumps(result.to_dict(), allow_nan=False)


def test_functionalities_count_alike_whatever_their_size():
    sizes = table(
        case_ids=tuple("0123"),
        case_functionality=np.array([0, 0, 0, 1]),
        case_offsets=np.array([0, 1, 2, 3, 5]),
    )
    sizes = table(
        case_functionality=np.array([0, 0, 0, 1]),
        case_offsets=np.array([0, 1, 2, 3, 5]),
        labels=(1, 1, 1, None, None),
    )
    # f: 3 of 3, g: 0 of 1: mean .5, although 3 of 4 cases pass
    assert pass_rates([1, 1, 1, 0, 1], sizes, outputs="labels").behavioral_pass_rate == 0.5


@pytest.mark.parametrize(
    ("predictions", "changes", "sentence"),
    [
        (
            [1, 0],
            {},
            "prediction for",
        ),
        (
            [1] * 6,
            {"expectations": ({"name": "equal"}, {"name": "nope"})},
            "expectation.*functionality 'g'",
        ),
    ],
)
def test_bad_input(predictions, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        pass_rates(predictions, table(**changes), outputs="labels")


def test_numbers_of_labels_are_no_names_whichever_of_them_occur():
    # The labels 0, 1 and 2 are called "1", "2" and "3". Label 1 is expected.
    stars = table(label_names=("1", "2", "3"))
    assert pass_rates([1, 1, 0, 0, 0, 0], stars, outputs="labels").passed[:2] == [True, True]
    # The same predictions hold if label 0 is not among them.
    assert pass_rates([1, 1, 2, 2, 2, 2], stars, outputs="labels").passed[:2] == [True, True]
    with pytest.raises(ValueError, match="between 0 and 2"):
        pass_rates([3, 1, 1, 1, 1, 1], stars, outputs="labels")
    # Texts may be names.
    assert pass_rates(["2", "1", *"1111"], stars, outputs="texts").passed[:2] == [True, False]


def test_predictions_without_a_length_are_counted():
    with pytest.raises(ValueError, match="but got 4"):
        pass_rates((label for label in [1, 0, 1, 1]), table(), outputs="labels")


@pytest.mark.parametrize("names", [None, ("negative", "neutral", "positive")])
def test_probabilities_are_of_the_labels_of_the_suite(names):
    # Of two classes column 1 is "positive", and would pass as "neutral".
    three = table(labels=(0, 1, 2, 0, None, None), label_names=names)
    with pytest.raises(OptionError, match="`predictions` for"):
        pass_rates([[0.2, 0.8]] * 6, three)
    assert pass_rates([[0.2, 0.7, 0.1]] * 6, three).n_cases == 4
    with pytest.raises(OptionError, match="no, yes, but got 3"):
        pass_rates([[0.2, 0.7, 0.1]] * 6, table(label_names=("no", "yes")))


@pytest.mark.real_data
def test_stored_results_of_a_model_are_reproduced(real_data):
    """The released SQuAD suite holds one model's answers with CheckList's own verdict on every case."""
    from rightreasons.datasets.suites.checklist import make_released
    from rightreasons.datasets.suites.pickled_suites import read_pickled_suite

    path = real_data / "checklist" / "suites" / "squad_suite.jsonl.gz"
    archive = real_data / "checklist" / "release" / "squad_suite.tar.gz"
    suite = read_pickled_suite(
        archive,
        name="checklist_reading",
        text_columns=("context", "question"),
        make_functionality=make_released,
    ).table()
    predictions, passed = [], []
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            results = json.loads(line)["results"]
            for case in results["preds"]:
                predictions += case if isinstance(case, list) else [case]
            passed += [bool(value) for value in results["passed"]]
    found = pass_rates(predictions, suite, outputs="texts")
    assert found.passed == passed
    rates = {part.functionality: part for part in found.functionalities}
    assert rates["Former / Latter"].n_passed == 0
    typo = rates["Question typo"]
    assert (typo.n_cases - typo.n_passed, typo.n_cases) == (58, 500)
    comparison = next(
        part
        for name, part in rates.items()
        if name.startswith("A is COMP than B. Who is more / less")
    )
    assert (comparison.n_cases - comparison.n_passed, comparison.n_cases) == (99, 494)


# ----------------------------------------------------------------------------------------------------------- G scores


def test_g_worked_values():
    assert harmonic_mean(0.90, 0.60) == pytest.approx(0.72)
    assert harmonic_mean(0.95, 0.333) == pytest.approx(0.49314, abs=1e-5)
    assert harmonic_mean(0.9, 0) == 0


def test_generalization_score():
    result = generalization_score(
        {"seen": [1, 0.8], "functionality": [0.7, 0.7], "class": [0.6, 0.6], "type": [0.5, 0.5]},
        0.9,
    )
    assert result.suite_scores["seen"] == pytest.approx(0.9)
    assert result.scores["seen"] == pytest.approx(0.9)
    assert result.scores["class"] == pytest.approx(0.72)
    assert result.generalization_score == pytest.approx(np.mean(list(result.scores.values())))
    assert generalization_score({"standard": [0.6]}, 0.9).generalization_score == pytest.approx(
        0.72
    )
    with pytest.raises(ValueError, match="Did you mean 'functionality'"):
        generalization_score({"functionalty": [0.5]}, 0.9)
    with pytest.raises(ValueError, match="at most 1"):
        generalization_score({"seen": [1.5]}, 0.9)


def test_randomization():
    rng = np.random.default_rng(0)
    good, bad = (rng.random(400) < 0.9).astype(float), (rng.random(400) < 0.6).astype(float)
    suite = [(good[:100], bad[:100]), (np.where(rng.random(50) < 0.1, NAN, good[:50]), bad[:50])]
    apart = compare_generalization((good, bad), suite, n_permutations=2000)
    assert apart.difference > 0.15
    assert apart.p_value == pytest.approx(1 / 2001)
    same = compare_generalization(
        (good, good[::-1].copy()), [(good, good[::-1].copy())], n_permutations=2000
    )
    assert same.difference == pytest.approx(0)
    assert same.p_value == 1


def test_randomization_by_plain_exchange():
    """The binomial shortcut has the distribution of exchanging item by item."""
    first, second = np.array([1, 1, 1, 0, 1, 0, 0, 1.0]), np.array([1, 0, 0, 1, 0, 0, 1, 1.0])
    rng = np.random.default_rng(1)
    swaps = rng.random((20000, 8)) < 0.5
    a = np.where(swaps, second, first).mean(axis=1)
    b = np.where(swaps, first, second).mean(axis=1)
    g = 2 * a * a / (a + a) - 2 * b * b / (
        b + b
    )  # the suite holds the same outcomes, but is shuffled apart below
    assert g.mean() == pytest.approx(0, abs=0.01)
    found = compare_generalization((first, second), [(first, second)], n_permutations=20000)
    b_first = np.where(rng.random((20000, 8)) < 0.5, second, first)
    c_first = np.where(rng.random((20000, 8)) < 0.5, second, first)
    mean = first + second

    def score(x, y):
        return 2 * x * y / (x + y)

    x, y = b_first.mean(axis=1), c_first.mean(axis=1)
    other_x, other_y = (mean - b_first).mean(axis=1), (mean - c_first).mean(axis=1)
    plain = np.abs(score(x, y) - score(other_x, other_y)) >= abs(found.difference) - 1e-12
    assert found.p_value == pytest.approx(plain.mean(), abs=0.02)


@pytest.mark.parametrize(
    ("names", "three"),
    [
        (("negative", "neutral", "positive"), True),
        (("Negative", "Neutral ", "POSITIVE"), True),
        (("negative", "positive"), False),
        (("entailment", "neutral", "contradiction"), False),
        (None, False),
    ],
)
def test_a_suite_of_three_sentiments_is_told(names, three):
    assert asks_for_neutral(table(label_names=names)) is three


def test_labels_that_are_texts_are_not_held_against_classes():
    with pytest.raises(ValueError, match="Expected class labels .* 'in 1990'"):
        evaluate_cases({"name": "equal"}, answers([0, 1], [1, 1], labels=["in 1990", None]))


def test_an_undefined_functionality_changes_nothing():
    """Its cases are left out of every mean, in the shuffles as in what was observed."""
    rng = np.random.default_rng(1)
    iid = (rng.random(200) < 0.8, rng.random(200) < 0.8)
    suites = [(rng.random(40) < 0.6, rng.random(40) < 0.55) for _ in range(3)]
    undefined = (np.full(40, np.nan), np.full(40, np.nan))
    alone = compare_generalization(iid, suites, n_permutations=2000)
    assert (
        compare_generalization(iid, [*suites, undefined, undefined], n_permutations=2000) == alone
    )


def test_outcomes_are_checked():
    with pytest.raises(ValueError, match=r"in `suites\[0\]`"):
        compare_generalization(([1, 0], [0, 1]), [([0.3], [1])])
    with pytest.raises(ValueError, match="defined case"):
        compare_generalization(([1, 0], [0, 1]), [([np.nan], [1])])
    with pytest.raises(ValueError, match="first model in at least one"):
        compare_generalization(([1, 0], [0, 1]), [])


def result_of(name, n_passed, n_cases):
    rate = n_passed / n_cases if n_cases else None
    return FunctionalityResult(name, "A", "MFT", rate, n_passed, n_cases, 0, None)


def test_what_lies_below_a_bound_beyond_doubt():
    # At 0.9: a 0/1: .1; b 0/3: .001; c 17/20: P(X <= 17) = .323; d 1/2: 1 - .81 = .19; e 0/2: .01.
    results = [
        result_of(*row)
        for row in (("a", 0, 1), ("b", 0, 3), ("c", 17, 20), ("d", 1, 2), ("e", 0, 2))
    ]
    # Holm: .001 < .05 / 5, .01 < .05 / 4, .1 > .05 / 3.
    assert [each.functionality for each in find_low_pass_rates(results, 0.9)] == ["b", "e"]
    # With two more, .01 = .07 / 7 would do at 0.93, but .05 / 6 does not.
    more = [*results, result_of("f", 9, 9), result_of("g", 8, 8)]
    assert [each.functionality for each in find_low_pass_rates(more, 0.9)] == ["b"]
    assert find_low_pass_rates([result_of("none", 0, 0)], 0.9) == []


def test_means_have_an_interval_where_every_functionality_agrees():
    sizes = table(
        case_functionality=np.array([0, 0, 0, 1]),
        case_offsets=np.array([0, 1, 2, 3, 5]),
        labels=(1, 1, 1, None, None),
    )
    result = pass_rates([1, 1, 1, 0, 0], sizes, outputs="labels")
    # f: 3 of 3, g: 1 of 1; n* = 4 / (1/3 + 1) = 3.
    assert result.interval.high == 1
    assert result.interval.low == pytest.approx(1 / (1 + 1.959963984540054**2 / 3))
    # One functionality of one case is a class of its own: Wilson of 1 of 1.
    assert result.test_types["INV"].interval.low == pytest.approx(1 / (1 + 1.959963984540054**2))
