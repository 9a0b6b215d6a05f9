"""Prior bias against its definition, worked values and scipy."""

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.probes.bias import prior_bias


def test_worked_value():
    # C = (.7, .2, .1), mean 1/3: squared deviations .134444, .017778, .054444, sum .206667, / 3 = .068889;
    # times n^2 / (n - 1) = 9 / 2 gives .31. The sample variance would be .206667 / 2 = .103333.
    result = prior_bias([[0.7, 0.2, 0.1]])
    assert result.prior_bias == pytest.approx(0.0688889, abs=1e-7)
    assert result.normalized_prior_bias == pytest.approx(0.31)
    # KL = log 3 - H, H = .7 log(1/.7) + .2 log 5 + .1 log 10
    entropy = -(0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1))
    assert result.divergence_from_uniform == pytest.approx(np.log(3) - entropy)


@pytest.mark.parametrize(("n", "largest"), [(2, 0.25), (3, 2 / 9), (4, 0.1875)])
def test_one_hot_is_the_largest(n, largest):
    result = prior_bias(np.eye(n)[:1])
    assert result.prior_bias == pytest.approx(largest)
    assert result.normalized_prior_bias == pytest.approx(1)
    assert result.normalized_divergence == pytest.approx(1)


def test_uniform_is_none():
    result = prior_bias([[0.5, 0.5], [0.25] * 4])
    assert result.prior_bias == 0
    assert result.t_p_value is None
    assert result.wilcoxon_p_value is None


def test_ragged_rows_average_over_items():
    both = prior_bias([[0.7, 0.2, 0.1], [1.0, 0.0]])
    assert both.prior_bias == pytest.approx((0.0688889 + 0.25) / 2, abs=1e-7)
    assert both.mean_top_confidence == pytest.approx(0.85)


def test_logits_are_softmaxed_within_the_row():
    logits = [[2.0, 0.0], [1.0, 0.5, -1.0]]
    rows = [np.exp(row) / np.exp(row).sum() for row in map(np.array, logits)]
    assert prior_bias(logits, scores="logits").prior_bias == pytest.approx(
        prior_bias(rows).prior_bias
    )


def test_pseudo_correct_rate_is_a_binomial_test():
    rows = np.tile([0.6, 0.4], (20, 1))
    references = [0] * 15 + [1] * 5
    found = prior_bias(rows, references).pseudo_correct
    assert found.rate == 0.75
    assert found.test == "binomial"
    assert found.p_value == pytest.approx(0.041389, abs=1e-6)  # 15 of 20 at 1/2, two-sided
    assert found.confidence_excess == pytest.approx((15 * 0.1 - 5 * 0.1) / 20)


def test_references_of_minus_one_are_left_out():
    found = prior_bias([[0.6, 0.4], [0.6, 0.4]], [0, -1]).pseudo_correct
    assert found.rate == 1
    assert prior_bias([[0.6, 0.4]], [-1]).pseudo_correct is None


def test_a_constant_of_an_item_changes_nothing():
    # The softmax of an item does not see what all its scores share, such as the likelihood of its prompt.
    rng = np.random.default_rng(1)
    scores, constants = rng.normal(size=(60, 3)), rng.normal(scale=5, size=(60, 1))
    references = np.arange(60) % 3
    first, second = (
        prior_bias(each, references, scores="logits") for each in (scores, scores + constants)
    )
    for name, value in first.to_dict().items():
        if isinstance(value, float):
            assert getattr(second, name) == pytest.approx(value, abs=1e-9), name
    assert second.pseudo_correct.p_value == pytest.approx(first.pseudo_correct.p_value)


def test_templates_count_once():
    # Each of 40 items comes five times: alone, five hits of a template are five of 200 independent ones.
    rng = np.random.default_rng(3)
    rejected = {"alone": 0, "together": 0}
    for _ in range(200):
        rows, references = (
            np.repeat(rng.dirichlet(np.ones(3), size=40), 5, axis=0),
            np.repeat(rng.integers(3, size=40), 5),
        )
        for name, clusters in (("alone", None), ("together", np.repeat(np.arange(40), 5))):
            found = prior_bias(rows, references, clusters=clusters)
            rejected[name] += found.pseudo_correct.p_value < 0.05
    assert found.pseudo_correct.test == "clusters"
    # Of 200 draws at .05, 20 and more come once in a thousand times.
    assert rejected["together"] < 20 < 60 < rejected["alone"]


def test_same_seed_same_result():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    first = prior_bias(rows, resampling=Resampling(level=0.95, seed=3))
    assert first == prior_bias(rows, resampling=Resampling(level=0.95, seed=3))
    assert first.interval.low < first.prior_bias < first.interval.high


@pytest.mark.parametrize(
    ("predictions", "references", "sentence"),
    [
        ([[1.0]], None, "`predictions`, but row 0"),
        ([[0.5, 0.5], [0.9, 0.3]], None, "row 1 sums to 1.2"),
        ([[0.5, 0.5]], [2], "between -1 and 1, but item 0 is 2"),
        ([[0.5, 0.5]], [0, 1], "one length, but got 1 and 2"),
        ([], None, "at least one row"),
    ],
)
def test_bad_input(predictions, references, sentence):
    with pytest.raises(ValueError, match=sentence):
        prior_bias(predictions, references)
