"""Prior bias against its definition, worked values and scipy."""

import numpy as np
import pytest

import rightreasons.probes.bias as prior_bias_module
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
    result = prior_bias(np.eye(n)[:1], n_permutations=0)
    assert result.prior_bias == pytest.approx(largest)
    assert result.normalized_prior_bias == pytest.approx(1)
    assert result.normalized_divergence == pytest.approx(1)


def test_uniform_is_none():
    result = prior_bias([[0.5, 0.5], [0.25] * 4])
    assert result.prior_bias == 0
    assert result.t_p_value is None
    assert result.wilcoxon_p_value is None
    assert result.null is None


def test_ragged_rows_average_over_items():
    both = prior_bias([[0.7, 0.2, 0.1], [1.0, 0.0]], n_permutations=0)
    assert both.prior_bias == pytest.approx((0.0688889 + 0.25) / 2, abs=1e-7)
    assert both.mean_choices == 2.5
    assert both.mean_top_confidence == pytest.approx(0.85)


def test_rows_that_differ_by_a_constant_are_their_own_shuffles():
    # Both slots hold one score each but for the item's constant: shuffled, the constants come apart and the spread
    # grows. Without constants, the softmax (0.7, 0.3) has 2 * 0.2^2 / 2 = 0.04.
    scores = np.log([[0.7, 0.3]] * 5) + np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    result = prior_bias(scores, scores="logits", n_permutations=20)
    assert result.prior_bias == pytest.approx(0.04)
    assert result.null.mean > 0.04
    assert result.null.p_value > 0.9


@pytest.mark.parametrize(
    ("predictions", "options", "reason"),
    [
        ([[0.7, 0.3], [0.6, 0.4]], {}, "tied by their sum"),
        (np.log([[0.7, 0.3], [0.6, 0.4]]), {"scores": "log_probabilities"}, "tied by their sum"),
        (np.log([[0.7, 0.3], [0.6, 0.4]]) + 3, {"scores": "logits"}, "normalized within each item"),
        ([[0.0, -np.inf], [1.0, 0.0]], {"scores": "logits"}, "minus infinity"),
        ([[0.0, 2.0], [1.0, 0.0]], {"scores": "logits", "n_permutations": 0}, "No shuffles"),
    ],
)
def test_where_there_is_no_null(predictions, options, reason):
    result = prior_bias(predictions, **options)
    assert result.null is None
    assert reason in result.no_null


@pytest.mark.parametrize(("n_items", "n_choices", "many"), [(40, 2, 10_000), (60, 4, 10_000), (60, 3, 50)])
def test_the_null_is_uniform_under_itself(monkeypatch, n_items, n_choices, many):
    monkeypatch.setattr(prior_bias_module, "MANY", many)
    rng = np.random.default_rng(5)
    p_values = np.array(
        [
            prior_bias(
                rng.normal(size=(n_items, n_choices)) * 2, scores="logits", n_permutations=39, seed=seed
            ).null.p_value
            for seed in range(300)
        ]
    )
    for level in (0.05, 0.25, 0.5):
        assert abs((p_values <= level).mean() - level) < 3 * (level * (1 - level) / 300) ** 0.5


def test_rotated_slots_give_the_null_of_shuffled_ones(monkeypatch):
    # Sizes of two and three, more items than are summed at once, and a slot that all prefer.
    rng = np.random.default_rng(2)
    rows = [rng.normal(size=size) + np.arange(size) for size in [2] * 211 + [3] * 503]
    monkeypatch.setattr(prior_bias_module, "CACHED", 100)
    shuffled = prior_bias(rows, scores="logits", n_permutations=1500).null
    monkeypatch.setattr(prior_bias_module, "MANY", 200)
    rotated = prior_bias(rows, scores="logits", n_permutations=1500).null
    assert rotated != shuffled
    # The biases of single shuffles have a standard deviation of 0.00124: 4 standard errors of a difference of means.
    assert rotated.mean == pytest.approx(shuffled.mean, abs=4 * 0.00124 * (2 / 1500) ** 0.5)
    # A choice far below all others leaves the bias of the others, whose exponentials alone would be the same.
    wide = [np.append(row, -700.0) for row in rows[:211]]
    narrow = [np.append(row, -500.0) for row in rows[:211]]
    far, near = (prior_bias(part, scores="logits", n_permutations=20).null for part in (wide, narrow))
    assert far.mean == pytest.approx(near.mean, rel=1e-12)
    assert far.p_value == near.p_value


def test_logits_are_softmaxed_within_the_row():
    logits = [[2.0, 0.0], [1.0, 0.5, -1.0]]
    rows = [np.exp(row) / np.exp(row).sum() for row in map(np.array, logits)]
    assert prior_bias(logits, scores="logits").prior_bias == pytest.approx(prior_bias(rows).prior_bias)


def test_pseudo_correct_rate_is_a_binomial_test():
    rows = np.tile([0.6, 0.4], (20, 1))
    references = [0] * 15 + [1] * 5
    found = prior_bias(rows, references, n_permutations=0).pseudo_correct
    assert found.rate == 0.75
    assert found.test == "binomial"
    assert found.p_value == pytest.approx(0.041389, abs=1e-6)  # 15 of 20 at 1/2, two-sided
    assert found.confidence_excess == pytest.approx((15 * 0.1 - 5 * 0.1) / 20)


def test_references_of_minus_one_are_left_out():
    found = prior_bias([[0.6, 0.4], [0.6, 0.4]], [0, -1], n_permutations=0).pseudo_correct
    assert found.rate == 1
    assert prior_bias([[0.6, 0.4]], [-1], n_permutations=0).pseudo_correct is None


def test_null_sees_choices_that_work_against_each_other():
    rng = np.random.default_rng(0)
    # A level that the choices of an item share: shuffling adds spread.
    alike = rng.normal(0, 3, size=(300, 1)) + rng.normal(0, 0.1, size=(300, 2))
    assert prior_bias(alike, scores="logits", n_permutations=50).null.excess < -0.05
    opposed = rng.normal(0, 3, size=(300, 1)) * np.array([[1, -1]]) + rng.normal(0, 1, size=(300, 2))
    assert prior_bias(opposed, scores="logits", n_permutations=50).null.p_value < 0.05


def test_same_seed_same_result():
    rows = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    first = prior_bias(rows, resampling=Resampling(level=0.95, seed=3))
    assert first == prior_bias(rows, resampling=Resampling(level=0.95, seed=3))
    assert first.interval.low < first.prior_bias < first.interval.high


@pytest.mark.parametrize(
    ("predictions", "references", "sentence"),
    [
        ([[1.0]], None, "at least two choices in each row of `predictions`, but row 0 has 1"),
        ([[0.5, 0.5], [0.9, 0.3]], None, "row 1 sums to 1.2"),
        ([[0.5, 0.5]], [2], "between -1 and 1, but item 0 is 2"),
        ([[0.5, 0.5]], [0, 1], "one length, but got 1 and 2"),
        ([], None, "at least one row"),
    ],
)
def test_bad_input(predictions, references, sentence):
    with pytest.raises(ValueError, match=sentence):
        prior_bias(predictions, references)
