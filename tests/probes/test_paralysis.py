"""Choice paralysis against its definition and against scorers whose answer is known."""

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.probes.paralysis import choice_paralysis


def test_independent_scores_lose_by_dilution_alone():
    rng = np.random.default_rng(0)
    own, extra = rng.normal(size=(200, 3)), rng.normal(size=(200, 2))
    labels = rng.integers(3, size=200)
    result = choice_paralysis(own, np.hstack([own, extra]), labels, labels, scores="logits")
    assert result.restricted_drop.mean == pytest.approx(0, abs=1e-12)
    assert result.mechanical_drop == pytest.approx(result.choice_paralysis)
    assert result.choice_paralysis > 0
    assert result.restricted_accuracy == result.accuracy
    # c' = c * Z / (Z + Z_new) for every item
    weights, more = np.exp(own), np.exp(extra).sum(axis=1)
    before = weights[np.arange(200), labels] / weights.sum(axis=1)
    after = before * weights.sum(axis=1) / (weights.sum(axis=1) + more)
    assert result.choice_paralysis == pytest.approx((before - after).mean())


def test_confidence_that_rises_is_negative_paralysis():
    result = choice_paralysis([[0.5, 0.5]], [[0.8, 0.1, 0.1]], [0], [0])
    assert result.choice_paralysis == pytest.approx(-0.3)
    # among the own choices: .8 / .9 = .888889
    assert result.restricted_confidence == pytest.approx(0.8 / 0.9)
    assert result.restricted_drop.mean == pytest.approx(0.5 - 0.8 / 0.9)


def test_null_of_uniform_new_choices():
    # c = .6 with n = 2 and k = 2 added: .6 * 2 / 4 = .3
    result = choice_paralysis([[0.6, 0.4]], [[0.3, 0.2, 0.25, 0.25]], [0], [0])
    assert result.null_drop == pytest.approx(0.3)
    assert result.choice_paralysis == pytest.approx(0.3)


def test_means_over_items_that_differ():
    # The first item is diluted alone (.3 / .5 = .6 is left); of the second, .2 / .8 = .25 of .5 is left.
    result = choice_paralysis(
        [[0.6, 0.4], [0.5, 0.5]], [[0.3, 0.2, 0.5], [0.2, 0.6, 0.2]], [0, 0], [0, 0]
    )
    assert result.choice_paralysis == pytest.approx((0.3 + 0.3) / 2)
    assert result.restricted_drop.mean == pytest.approx((0 + 0.25) / 2)
    assert result.mechanical_drop == pytest.approx(0.3 - 0.125)
    assert result.restricted_accuracy == 0.5


def test_moved_right_choice_and_positions():
    own = np.array([[0.2, 0.5, 0.3]])
    # The right choice (index 1) is put in at place 3; the others keep their order: [.1 (0), .15 (2), extra, right].
    perturbed = [[0.1, 0.15, 0.5, 0.25]]
    guessed = choice_paralysis(own, perturbed, [1], [3])
    told = choice_paralysis(own, perturbed, [1], [3], [[0, 3, 1]])
    assert guessed == told
    assert told.restricted_confidence == pytest.approx(0.25 / 0.5)
    other = choice_paralysis(own, perturbed, [1], [3], [[0, 3, 2]])
    assert other.restricted_confidence == pytest.approx(0.25 / 0.85)


def test_own_choices_without_any_confidence():
    assert choice_paralysis([[0.9, 0.1]], [[0.0, 0.0, 1.0]], [0], [0]).restricted_confidence == 0.5


def test_paired_tests_and_intervals():
    rng = np.random.default_rng(1)
    before = rng.dirichlet([4, 1], size=100)
    after = np.column_stack([before * 0.7, np.full(100, 0.3)])
    result = choice_paralysis(
        before, after, np.zeros(100, int), np.zeros(100, int), resampling=Resampling(level=0.9)
    )
    assert result.drop.t_p_value < 1e-6
    assert result.drop.wilcoxon_p_value < 1e-6
    assert result.drop.interval.low < result.choice_paralysis < result.drop.interval.high
    assert result.choice_paralysis == pytest.approx(0.3 * before[:, 0].mean())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ([[0.5, 0.5]], [[0.5, 0.5]], [0], [0]),
            "its original",
        ),
        (
            ([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [0], [3]),
            "`perturbed_references` to",
        ),
        (
            ([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [-1], [0]),
            "`references` to be between 0",
        ),
        (([[0.5, 0.5]], [[0.4, 0.3, 0.3]] * 2, [0], [0]), "of one length, but got 1, 2, 1 and 1"),
        (
            ([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [0], [0], [[1, 2]]),
            "position in `perturbed_references`",
        ),
        (([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [0], [0], [[0, 5]]), "row 0 holds 0, 5 of 3 choices"),
        (
            ([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [0], [0], [[0, 0]]),
            "row 0 holds 0",
        ),
        (([[0.5, 0.5]], [[0.4, 0.3, 0.3]], [0], [0], [[0]]), "row 0 holds 0 of 3 choices"),
        (
            ([[0.5, 0.5]] * 2, [[0.4, 0.3, 0.3]] * 2, [0, 0], [0, 0], [[0, 1], [0]]),
            "row 1 holds 0 of 3 choices",
        ),
        (
            ([[0.5, 0.5]] * 2, [[0.4, 0.3, 0.3], [0.5, 0.5]], [0, 0], [0, 0]),
            "but row 1 has 2 and the original 2",
        ),
    ],
)
def test_bad_input(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        choice_paralysis(*arguments)


def test_rounding_is_no_drop():
    # Scores of single choices, off by what float32 leaves: the own choices keep their shares up to 1e-8.
    before = np.tile([0.6, 0.4], (30, 1))
    after = np.column_stack(
        (before * (0.5 - 1e-9 * np.arange(1, 31)[:, None] * [1, -1.5]), np.full(30, 0.5))
    )
    result = choice_paralysis(before, after / after.sum(axis=1, keepdims=True), [0] * 30, [0] * 30)
    assert 0 < result.restricted_drop.mean < 1e-6
    assert result.restricted_drop.t_p_value is None
    assert result.restricted_drop.wilcoxon_p_value is None
    assert result.drop.wilcoxon_p_value < 1e-5


@pytest.mark.parametrize("clusters", [None, [row // 2 for row in range(40)]])
def test_rounding_noise_does_not_change_ties(clusters):
    # Drops of 0.1 and -0.1 in turn: their ranks are ties, and those of each cluster cancel.
    drops = np.tile([0.1, -0.1], 20)
    before = np.column_stack([0.5 + drops / 2, 0.5 - drops / 2])
    after = np.tile([0.25, 0.25, 0.5], (40, 1))
    noise = 1e-8 * np.random.default_rng(0).standard_normal(before.shape)
    noisy = (before + noise) / (before + noise).sum(axis=1, keepdims=True)
    labels = [0] * 40

    exact = choice_paralysis(before, after, labels, labels, clusters=clusters).restricted_drop
    rounded = choice_paralysis(noisy, after, labels, labels, clusters=clusters).restricted_drop

    assert rounded.t_p_value == exact.t_p_value
    assert rounded.wilcoxon_p_value == exact.wilcoxon_p_value
