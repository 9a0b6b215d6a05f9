"""The mean rank correlation over tasks is tested exactly."""

import itertools

import numpy as np
import pytest
from scipy import stats

from rightreasons.replicate import printed_steps
from rightreasons.replicate.printed_steps import (
    _average_correlations,
    compute_mean_p_value,
    correlate_models,
    list_correlations,
)
from rightreasons.replicate.recipe import load_recipe
from rightreasons.replicate.work import Work


def test_values_of_the_correlation_of_random_ranks():
    values, probabilities = list_correlations(4)

    # All 24 orders, counted by scipy.
    orders = list(itertools.permutations(range(4)))
    expected = [stats.spearmanr(range(4), order).statistic for order in orders]
    for value, probability in zip(values, probabilities, strict=True):
        assert probability == pytest.approx(np.isclose(expected, value).mean())


def test_two_tasks_are_tested_over_all_pairs_of_orders():
    single = [
        stats.spearmanr(range(4), order).statistic for order in itertools.permutations(range(4))
    ]
    sums = np.add.outer(single, single)

    p_value = compute_mean_p_value([0.8, 0.4], 4)

    assert p_value == pytest.approx((np.abs(sums) >= 1.2 - 1e-9).mean())


def test_tasks_of_different_numbers_of_models_are_tested_by_their_own_orders():
    four = [
        stats.spearmanr(range(4), order).statistic for order in itertools.permutations(range(4))
    ]
    three = [
        stats.spearmanr(range(3), order).statistic for order in itertools.permutations(range(3))
    ]
    sums = np.add.outer(four, three)

    p_value = compute_mean_p_value([0.8, 1.0], [4, 3])

    assert p_value == pytest.approx((np.abs(sums) >= 1.8 - 1e-9).mean())


def test_trained_models_are_related_by_the_number_of_models_of_each_task():
    four = make_models((0.1, 0.1), (0.2, 0.3), (0.3, 0.2), (0.4, 0.4))
    three = make_models((0.1, 0.1), (0.2, 0.2), (0.3, 0.3))

    figures = _average_correlations({"a": three, "b": four}, "shortcut_rate")

    # Not that of two tasks of four models, which the last task alone would suggest.
    assert figures["mean_rho"] == pytest.approx(0.9)
    assert figures["p_value"] == pytest.approx(compute_mean_p_value([1.0, 0.8], [3, 4]), abs=1e-6)
    assert figures["p_value"] != pytest.approx(compute_mean_p_value([1.0, 0.8], 4), abs=1e-6)


def test_printed_correlations_of_the_reliability_paradox(tmp_path):
    rows = load_recipe("bihani2025").printed["correlations"]["rows"]
    correlations = {row["key"]["task"]: row["figures"]["rho"] for row in rows}

    # The sign follows the number of classes, except for Hate and Sentiment, which show nothing.
    two = [correlations[task] for task in ("CoLA", "SST-2", "Irony", "Hate")]
    several = [correlations[task] for task in ("Emotion", "TREC", "Sentiment")]
    assert np.mean(two) == pytest.approx(0.6025)
    assert np.mean(several) == pytest.approx(-1.6 / 3)
    # Random orders instead of all: a sampled null of the mean over four tasks.
    rng = np.random.default_rng(0)
    ranks = rng.permuted(np.tile(np.arange(5.0), (80_000, 1)), axis=1).reshape(20_000, 4, 5)
    sampled = 1 - 6 * ((ranks - np.arange(5)) ** 2).sum(axis=2) / (5 * 24)
    share = (np.abs(sampled.mean(axis=1)) >= np.mean(two) - 1e-9).mean()
    assert compute_mean_p_value(two, 5) == pytest.approx(share, abs=0.003)
    result = correlate_models(Work(tmp_path, None, {"printed": "correlations"}, {}))
    assert result["facts"]["two"] == pytest.approx(0.6025)
    assert result["facts"]["two_p_value"] == pytest.approx(share, abs=0.003)


def make_models(*pairs):
    """Rows of one task: calibration error and shortcut rate of each model."""
    rows = []
    for error, rate in pairs:
        rows.append({"ece": {"value": error}, "shortcut_rate": {"value": rate}})
    return rows


def test_ranks_are_compared_within_a_task():
    # Ranks 1, 2, 3 of the errors and 3, 1, 2 of the rates: 1 - 6 * (4 + 1 + 1) / 24.
    models = make_models((0.1, 90.0), (0.2, 20.0), (0.3, 55.0))

    assert printed_steps.correlate_with_error(models, "shortcut_rate") == -0.5
    # Two models, a missing figure, and equal errors say nothing about ranks.
    assert printed_steps.correlate_with_error(models[:2], "shortcut_rate") is None
    assert printed_steps.correlate_with_error(models, "shortcut_tradeoff") is None
    # Two of three are equal: ranks 1, 2, 3 and 1.5, 1.5, 3, so 1.5 / sqrt(2 * 1.5); and the reverse.
    tied_rates = make_models((0.1, 20.0), (0.2, 20.0), (0.3, 55.0))
    tied_errors = make_models((0.1, 20.0), (0.1, 30.0), (0.3, 55.0))
    for tied in (tied_rates, tied_errors):
        rho = printed_steps.correlate_with_error(tied, "shortcut_rate")
        assert rho == pytest.approx(1.5 / 3**0.5)
    equal = make_models((0.1, 90.0), (0.1, 20.0), (0.1, 55.0))
    assert printed_steps.correlate_with_error(equal, "shortcut_rate") is None


def test_the_claim_is_tested_over_tasks(tmp_path):
    rows = []
    for task in ("Hate", "Irony", "TREC"):
        for figures in make_models((0.1, 90.0), (0.2, 50.0), (0.3, 20.0)):
            rows.append({"key": {"task": task}, "figures": figures})
    work = Work(tmp_path, None, {"measured": "models"}, {"models": {"rows": rows}})

    result = printed_steps.correlate_trained_models(work)

    # All three tasks are at -1: 2 of the 6 ** 3 sets of orders are that extreme.
    (row,) = result["rows"]
    assert row == {
        "key": {"figure": "P_sc"},
        "figures": {"n_tasks": 3, "mean_rho": -1.0, "p_value": round(2 / 216, 6)},
    }
    assert "-1.00 for P_sc (p = 0.0093)" in result["facts"]["answer"]
