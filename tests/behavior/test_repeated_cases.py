"""Cases with the same text are one cluster in intervals and tests."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.behavior.rates import find_low_pass_rates, pass_rates
from rightreasons.core.intervals import cluster_wilson, stratified_wilson, wilson
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.io.scores.results import ModelAnswers


def make_suite(texts, name="f", expectation=None):
    cases = tuple(Case(str(row), ((text,),), (1,)) for row, text in enumerate(texts))
    return Functionality(name, "C", "MFT", expectation or {"name": "equal"}, cases)


def score(texts, answers, *further, **options):
    functionality = make_suite(texts, **options)
    suite = Suite("s", ("text",), (functionality, *further))
    return pass_rates(np.array(answers), suite.table(), outputs="labels")


def test_repeated_cases_are_worth_their_texts():
    # 600 cases that are 6 texts with 100 copies each; the model is correct on 3 texts.
    texts = [f"text {row % 6}" for row in range(600)]
    answers = [int(row % 6 < 3) for row in range(600)]

    result = score(texts, answers).functionalities[0]

    assert (result.n_passed, result.n_cases, result.pass_rate) == (300, 600, 0.5)
    assert (result.n_distinct, result.n_effective) == (6, 6)
    assert result.interval == cluster_wilson([100] * 3 + [0] * 3, [100] * 6)
    # Six independent cases have an interval of about this width, 600 a tenth of it.
    width = result.interval.high - result.interval.low
    plain = wilson(3, 6)
    assert width > plain.high - plain.low
    assert width > 7 * (wilson(300, 600).high - wilson(300, 600).low)


def test_the_mean_counts_every_text_once():
    texts = [f"text {row % 6}" for row in range(600)]
    answers = [int(row % 6 < 3) for row in range(600)]
    other = make_suite([f"other {row}" for row in range(20)], "g")

    result = score(texts, answers + [1] * 18 + [0] * 2, other)

    assert result.behavioral_pass_rate == pytest.approx(0.7)
    assert result.interval == stratified_wilson([3, 18], [6, 20])
    assert result.n_repeated == 594


def test_different_texts_keep_the_plain_interval():
    result = score(["a", "b", "c"], [1, 1, 0])

    assert result.functionalities[0].interval == wilson(2, 3)
    assert result.functionalities[0].n_distinct is None
    assert result.functionalities[0].n_effective is None
    assert result.n_repeated == 0


def test_clusters_of_different_sizes_have_an_effective_number():
    # Sizes 3 and 1: 4^2 / (9 + 1) = 1.6.
    result = score(["a", "a", "a", "b"], [0, 0, 0, 1]).functionalities[0]

    assert result.n_effective == pytest.approx(1.6)


def test_equal_texts_of_two_functionalities_are_no_repetition():
    result = score(["a", "b"], [1, 0, 1, 0], make_suite(["a", "b"], "g"))

    assert result.n_repeated == 0


def test_a_case_that_does_not_apply_is_no_repetition():
    # The expectation applies to the answer 0 alone, which both copies of "a" get; "b" gets 1.
    spec = {"name": "equal", "where_first": {"is": [0]}}

    result = score(["a", "a", "b", "b"], [0, 0, 1, 1], expectation=spec)
    functionality = result.functionalities[0]

    assert (functionality.n_cases, functionality.n_distinct, result.n_repeated) == (2, 1, 1)
    nothing = score(["a", "a"], [1, 1], expectation=spec).functionalities[0]
    assert (nothing.pass_rate, nothing.interval, nothing.n_distinct) == (None, None, None)


def test_repetition_makes_no_failure_significant():
    # 100 failing copies of one text are one failure: P(0 passes of 1) at 0.9 is 0.1.
    repeated = score(["a"] * 100, [0] * 100).functionalities
    independent = score([f"text {row}" for row in range(100)], [0] * 100).functionalities

    assert find_low_pass_rates(repeated, 0.9) == []
    assert find_low_pass_rates(independent, 0.9) == independent


@pytest.mark.parametrize(("n_passed", "n_texts"), [(0, 2), (1, 5), (4, 5), (17, 20), (20, 20)])
def test_the_test_of_copies_is_that_of_their_texts(n_passed, n_texts):
    texts = [f"text {row % n_texts}" for row in range(7 * n_texts)]
    answers = [int(row % n_texts < n_passed) for row in range(7 * n_texts)]
    results = score(texts, answers).functionalities
    p_value = stats.binom.cdf(n_passed, n_texts, 0.9)

    # A functionality alone has no other tests to correct for.
    slightly_below, slightly_above = 1 - p_value * 1.001, 1 - p_value * 0.999
    if 0 < slightly_below < 1:
        assert find_low_pass_rates(results, 0.9, confidence_level=slightly_below) == results
    if 0 < slightly_above < 1:
        assert find_low_pass_rates(results, 0.9, confidence_level=slightly_above) == []


def test_the_page_says_that_cases_repeat():
    functionality = make_suite([f"text {row % 4}" for row in range(40)])
    suite = Suite("s", ("text",), (functionality,))
    tested = score_stored("m", suite, ModelAnswers(None, np.array([1] * 40)))

    note = BEHAVIOR.answer(BehaviorMeasurement(tested)).parts[0].text

    assert "36 cases repeat" in note


def test_items_of_a_report_have_the_cluster_of_their_text():
    functionality = make_suite(["a", "b", "a"])
    suite = Suite("s", ("text",), (functionality,))
    tested = score_stored("m", suite, ModelAnswers(None, np.array([1, 1, 1])))

    (figure,) = BEHAVIOR.by_item(BehaviorMeasurement(tested))

    assert figure.clusters == ("0", "1", "0")


def test_tables_without_clusters_are_independent():
    functionality = make_suite(["a", "a"])
    table = Suite("s", ("text",), (functionality,)).table()

    result = pass_rates([1, 1], dataclasses.replace(table, case_clusters=None), outputs="labels")

    assert result.functionalities[0].interval == wilson(2, 2)
