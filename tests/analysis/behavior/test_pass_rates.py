"""Expectations, pass rates and G scores: closed forms, the paper's worked values, and a released model's results."""

import gzip
import json

import numpy as np
import pytest

from rightreasons.analysis.behavior.expectations import Answers, evaluate_cases, neutral_probabilities
from rightreasons.analysis.behavior.generalization import (
    compare_generalization,
    generalization_score,
    harmonic_mean,
)
from rightreasons.analysis.behavior.pass_rates import asks_for_neutral, pass_rates
from rightreasons.foundations.suite_table import SuiteTable

NAN = float("nan")


def answers(predictions, sizes, probabilities=None, **rest):
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Answers(np.array(predictions), offsets, None if probabilities is None else np.array(probabilities), **rest)


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
    assert cases({"name": "monotonic", "increasing": False}, given) == [None, None, False]
    # Rising: .9 -> .7 fails, .95 -> .5 fails, .6 -> .75 passes.
    assert cases({"name": "monotonic", "increasing": True}, given) == [False, False, True]
    kept = {"name": "monotonic", "increasing": True, "where_first": {"not": [0]}}
    assert cases(kept, given) == [None, None, None]


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
    edges = neutral_probabilities(np.array([1 / 3, 2 / 3]))
    assert edges.sum(axis=1) == pytest.approx([1, 1])


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
        case_ids=tuple("0123"), case_functionality=np.array([0, 0, 0, 1]), case_offsets=np.array([0, 1, 2, 3, 5])
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
        ([1, 0], {}, "one prediction for each of the 6 examples of the suite, in its order, but got 2"),
        ([1] * 6, {"case_functionality": np.array([0, 0, 0, 0])}, "at least one case in the functionality 'g'"),
        ([1] * 6, {"expectations": ({"name": "equal"}, {"name": "nope"})}, "expectation.*functionality 'g'"),
    ],
)
def test_bad_input(predictions, changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        pass_rates(predictions, table(**changes), outputs="labels")


@pytest.mark.real_data
def test_stored_results_of_a_model_are_reproduced(real_data):
    """The released SQuAD suite holds one model's answers with CheckList's own verdict on every case."""
    from rightreasons.data.benchmarks.checklist import read_checklist

    path = real_data / "checklist" / "suites" / "squad_suite.jsonl.gz"
    suite = read_checklist(path, "checklist_reading", ("context", "question")).table()
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
    comparison = next(part for name, part in rates.items() if name.startswith("A is COMP than B. Who is more / less"))
    assert (comparison.n_cases - comparison.n_passed, comparison.n_cases) == (99, 494)


# ----------------------------------------------------------------------------------------------------------- G scores


def test_g_worked_values():
    assert harmonic_mean(0.90, 0.60) == pytest.approx(0.72)
    assert harmonic_mean(0.95, 0.333) == pytest.approx(0.49314, abs=1e-5)
    assert harmonic_mean(0.9, 0) == 0


def test_generalization_score():
    result = generalization_score(
        {"seen": [1, 0.8], "functionality": [0.7, 0.7], "class": [0.6, 0.6], "type": [0.5, 0.5]}, 0.9
    )
    assert result.suite_scores["seen"] == pytest.approx(0.9)
    assert result.scores["seen"] == pytest.approx(0.9)
    assert result.scores["class"] == pytest.approx(0.72)
    assert result.decreasing is True
    assert result.generalization_score == pytest.approx(np.mean(list(result.scores.values())))
    assert generalization_score({"standard": [0.6]}, {"standard": 0.9}).generalization_score == pytest.approx(0.72)
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
    same = compare_generalization((good, good[::-1].copy()), [(good, good[::-1].copy())], n_permutations=2000)
    assert same.difference == pytest.approx(0)
    assert same.p_value == 1


def test_randomization_by_plain_exchange():
    """The binomial shortcut has the distribution of exchanging item by item."""
    first, second = np.array([1, 1, 1, 0, 1, 0, 0, 1.0]), np.array([1, 0, 0, 1, 0, 0, 1, 1.0])
    rng = np.random.default_rng(1)
    swaps = rng.random((20000, 8)) < 0.5
    a = np.where(swaps, second, first).mean(axis=1)
    b = np.where(swaps, first, second).mean(axis=1)
    g = 2 * a * a / (a + a) - 2 * b * b / (b + b)  # the suite holds the same outcomes, but is shuffled apart below
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
    ("labels", "expectation", "three"),
    [
        ((0, 2), {"name": "equal"}, True),
        ((0, 1), {"name": "equal"}, False),
        ((0, 1), {"name": "not_equal", "value": 0}, True),
        ((None, None), {"name": "sentiment_shift", "positive": True}, True),
        ((None, None), {"name": "invariant"}, False),
        # Six classes are no sentiments, whatever is expected of them.
        ((0, 5), {"name": "not_equal", "value": 0}, False),
        (("in 1990", None), {"name": "equal"}, False),
    ],
)
def test_a_suite_of_three_sentiments_is_told(labels, expectation, three):
    table = SuiteTable(
        functionalities=("f",),
        classes=("c",),
        test_types=("MFT",),
        expectations=(expectation,),
        case_ids=("0",),
        case_functionality=np.array([0]),
        case_offsets=np.array([0, 2]),
        labels=labels,
    )
    assert asks_for_neutral(table) is three


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
    assert compare_generalization(iid, [*suites, undefined, undefined], n_permutations=2000) == alone


def test_outcomes_are_checked():
    with pytest.raises(ValueError, match=r"Expected outcomes of 1, 0 or NaN in `suites\[0\]`, but got 0.3"):
        compare_generalization(([1, 0], [0, 1]), [([0.3], [1])])
    with pytest.raises(ValueError, match="a defined case of the first model in at least one of `suites`"):
        compare_generalization(([1, 0], [0, 1]), [([np.nan], [1])])
    with pytest.raises(ValueError, match="first model in at least one"):
        compare_generalization(([1, 0], [0, 1]), [])
