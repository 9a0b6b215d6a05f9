"""Contrast sets: figures by hand, intervals that cover and never collapse, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from rightreasons.core.intervals import cluster_wilson, wilson
from rightreasons.core.significance import mcnemar
from rightreasons.datasets.builder import load_dataset
from rightreasons.difficulty.contrast import contrast_consistency

# Sets of 2, 3 and 5 items, not neighbors. Set "x" is right throughout; "y" has one of two perturbed items wrong; "z"
# has its original wrong and its four perturbed items right.
GROUPS = ["z", "x", "y", "z", "y", "z", "x", "z", "y", "z"]
ORIGINAL = [False, True, False, True, True, False, False, False, False, False]
LABELS = [0, 1, 2, 2, 1, 1, 0, 0, 0, 1]
PREDICTIONS = [0, 1, 0, 0, 1, 1, 0, 0, 0, 1]


def ends(interval):
    return interval.low, interval.high


def wilson_ends(share, n):
    """The limits p for which (share - p)^2 = z^2 p (1 - p) / n: the roots of a quadratic."""
    z2 = 1.959963984540054**2
    return tuple(sorted(np.roots([1 + z2 / n, -(2 * share + z2 / n), share**2]).real))


def test_figures_by_hand():
    result = contrast_consistency(PREDICTIONS, LABELS, GROUPS, ORIGINAL)
    assert result.contrast_consistency == pytest.approx(1 / 3)
    assert result.original_accuracy == pytest.approx(2 / 3)
    assert result.contrast_accuracy == pytest.approx((1 + 1 + 4) / (1 + 2 + 4))
    assert (result.n_sets, result.n_contrasts) == (3, 7)
    assert result.sets == ["z", "x", "y"]  # as their first items come
    assert result.consistent == [False, True, False]


def few(n_items, n_sets):
    """By how much the few sets, of which the variance is known, lessen the effective number of items."""
    return (stats.t.ppf(0.975, n_items - 1) / stats.t.ppf(0.975, n_sets - 1)) ** 2


def test_intervals_by_hand():
    result = contrast_consistency(PREDICTIONS, LABELS, GROUPS, ORIGINAL)
    assert result.interval == wilson(1, 3)
    assert result.original_interval == wilson(2, 3)
    # p = 6/7; k - p m = 1/7, -5/7, 4/7, squared and summed 42/49; v = 3/2 * 42/49 / 49 = 9/343;
    # n* = p (1 - p) / v = 6/49 * 343/9 = 14/3, between 49/21 and 7, and less as three sets tell little of v.
    assert ends(result.contrast_interval) == pytest.approx(wilson_ends(6 / 7, 14 / 3 * few(7, 3)))
    narrow = contrast_consistency(PREDICTIONS, LABELS, GROUPS, ORIGINAL, confidence_level=0.5)
    assert narrow.interval == wilson(1, 3, confidence_level=0.5)
    assert narrow.original_interval == wilson(2, 3, confidence_level=0.5)
    low, high = ends(narrow.contrast_interval)
    assert result.contrast_interval.low < low < 6 / 7 < high < result.contrast_interval.high


@pytest.mark.parametrize(("wrong", "share"), [(0, 1.0), (1, 0.0)])
def test_intervals_do_not_collapse_where_all_agree(wrong, share):
    result = contrast_consistency((np.array(LABELS) + wrong) % 3, LABELS, GROUPS, ORIGINAL)
    assert (
        result.contrast_consistency == result.original_accuracy == result.contrast_accuracy == share
    )
    assert result.interval == result.original_interval == wilson(3 * (1 - wrong), 3)
    # The items of a set count as one another's copies: n* = 7^2 / (1 + 4 + 16) = 7/3; the far end is n* / (n* + z^2).
    far = (7 / 3) / (7 / 3 + 1.959963984540054**2)
    assert ends(result.contrast_interval) == pytest.approx((far, 1) if share else (0, 1 - far))


def test_sets_with_the_same_share_count_as_independent_items():
    # One of two perturbed items right in each of four sets: no variance between sets, so n* is at most 8, less by t.
    result = contrast_consistency([0, 0, 1] * 4, [0] * 12, np.repeat(range(4), 3))
    assert ends(result.contrast_interval) == pytest.approx(wilson_ends(1 / 2, 8 * few(8, 4)))


def test_one_set():
    result = contrast_consistency([0, 0, 1], [0, 0, 0], [7, 7, 7])
    assert ends(result.contrast_interval) == pytest.approx(wilson_ends(1 / 2, 1))
    assert result.sets == ["7"]


def test_pairs_have_plain_wilson_intervals():
    result = contrast_consistency([0, 0, 1, 1, 0, 1], [0, 0, 1, 0, 0, 0], list("aabbcc"))
    assert result.contrast_interval == wilson(1, 3)
    assert result.original_interval == wilson(3, 3)
    # The same limits as the general form has for clusters of one.
    assert ends(cluster_wilson([1, 0, 0], [1, 1, 1])) == pytest.approx(ends(wilson(1, 3)))


def test_the_first_item_is_the_original_unless_said_otherwise():
    predictions, labels = [0, 1, 1, 1, 1], [0, 0, 0, 1, 1]
    first = contrast_consistency(predictions, labels, list("aabbb"))
    assert (first.original_accuracy, first.contrast_accuracy) == (0.5, 2 / 3)
    last = contrast_consistency(predictions, labels, list("aabbb"), [0, 1, 0, 0, 1])
    assert (last.original_accuracy, last.contrast_accuracy) == (0.5, 2 / 3)
    middle = contrast_consistency(
        predictions, labels, list("aabbb"), [True, False, False, True, False]
    )
    assert (middle.original_accuracy, middle.contrast_accuracy) == (1.0, 1 / 3)
    assert first.consistent == last.consistent == middle.consistent == [False, False]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_order_of_items_changes_no_figure(order):
    rows = np.random.default_rng(order).permutation(len(GROUPS))
    columns = [np.array(column)[rows] for column in (PREDICTIONS, LABELS, GROUPS, ORIGINAL)]
    result, expected = (
        contrast_consistency(*columns),
        contrast_consistency(PREDICTIONS, LABELS, GROUPS, ORIGINAL),
    )
    skip = ("sets", "consistent", "contrast_interval")
    as_dict = [
        {k: v for k, v in each.to_dict().items() if k not in skip} for each in (result, expected)
    ]
    assert as_dict[0] == as_dict[1]
    assert ends(result.contrast_interval) == pytest.approx(ends(expected.contrast_interval))
    assert dict(zip(result.sets, result.consistent, strict=True)) == {
        "x": True,
        "y": False,
        "z": False,
    }


def test_two_models_by_the_consistency_of_their_sets():
    labels, groups = [0] * 12, np.repeat(range(6), 2)
    good = contrast_consistency(labels, labels, groups)
    bad = contrast_consistency([0, 1] * 6, labels, groups)
    assert mcnemar(good.consistent, bad.consistent).p_value == 1 / 2**6


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_coverage(rho):
    """Correct answers correlate within sets; 95 % intervals cover about that, in 400 draws (standard error 1.1 %)."""
    rng = np.random.default_rng(5)
    p, n_sets, n_draws = 0.85, 40, 400
    covered = np.zeros(3)
    for _ in range(n_draws):
        sizes = rng.choice([2, 3, 5], size=n_sets)
        chance = (
            rng.beta(p * (1 - rho) / rho, (1 - p) * (1 - rho) / rho, n_sets)
            if rho
            else np.full(n_sets, p)
        )
        groups = np.repeat(np.arange(n_sets), sizes)
        right = rng.random(len(groups)) < chance[groups]
        result = contrast_consistency(
            np.where(right, 0, 1), np.zeros(len(groups), dtype=int), groups
        )
        # E[chance^m] of a beta distribution with a + b = (1 - rho) / rho: the product of (a + i) / (a + b + i).
        total = (1 - rho) / rho if rho else np.inf
        factors = [(p * total + i) / (total + i) if rho else p for i in range(5)]
        truths = (np.mean([np.prod(factors[:m]) for m in (2, 3, 5)]), p, p)
        intervals = (result.interval, result.original_interval, result.contrast_interval)
        covered += [
            each.low <= truth <= each.high for each, truth in zip(intervals, truths, strict=True)
        ]
    # The variance between 40 sets of unequal size is itself estimated, which costs the last interval up to 5 %.
    assert (covered / n_draws >= (0.925, 0.925, 0.895)).all(), covered / n_draws
    assert (covered / n_draws <= 0.985).all(), covered / n_draws


def test_independent_items_in_a_correlated_sample_would_not_cover():
    """The clusters matter: with items that always agree the interval is that of sets, not of items.

    It is a little wider, as the variance between 20 sets is estimated: t of 79 degrees of freedom is 1.990450, and of
    19 it is 2.093024.
    """
    groups = np.repeat(range(20), 5)
    right = np.repeat(np.arange(20) < 15, 5)
    result = contrast_consistency(np.where(right, 0, 1), np.zeros(100, dtype=int), groups)
    # The 80 perturbed items are worth 20, and somewhat less by Student's t.
    assert ends(result.contrast_interval) == pytest.approx(wilson_ends(3 / 4, 20 * few(80, 20)))


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        (
            {"predictions": [0, 1]},
            ValueError,
            "`predictions` and `references`",
        ),
        ({"groups": ["a"] * 3}, ValueError, "of one length, but got 4 and 3"),
        ({"is_original": [True]}, ValueError, "`is_original` of one length, but got 4 and 1"),
        (
            {"groups": list("aaab")},
            ValueError,
            "contrast set",
        ),
        (
            {"is_original": [1, 0, 0, 0]},
            ValueError,
            "contrast set",
        ),
        (
            {"is_original": [1, 0, 1, 1]},
            ValueError,
            "contrast set",
        ),
        (
            {"is_original": ["yes", "no", "yes", "no"]},
            TypeError,
            "False in `is_original`",
        ),
        (
            {"predictions": [0, 1, -1, 0]},
            ValueError,
            "`predictions` to",
        ),
        (
            {"references": [0, 1, -1, 0]},
            ValueError,
            "`references` to",
        ),
        ({"predictions": [0.5, 1, 1, 0]}, ValueError, "whole numbers in `predictions`"),
        (
            {"predictions": ["no", "yes", "yes", "no"]},
            TypeError,
            "whole numbers in `predictions`",
        ),
        ({"predictions": [[0.5, 0.5]] * 4}, ValueError, "`predictions` of shape"),
        (
            {"predictions": [[1, 0], [1], [1], [0]]},
            ValueError,
            "rows of one length in `predictions`",
        ),
        ({"groups": "aabb"}, TypeError, "`groups` to be a sequence of names"),
        ({"groups": {"a", "b"}}, TypeError, "`groups` to be a sequence of names"),
        ({"groups": [1, "1", 2, 2]}, TypeError, "item of `groups` to be a text, but item 0"),
        (
            {"groups": ["a", "a", None, None]},
            TypeError,
            "item of `groups` to be a text, but item 2",
        ),
        ({"groups": []}, ValueError, "`groups`, but it is empty"),
        ({"confidence_level": 1}, ValueError, "confidence_level"),
    ],
)
def test_bad_inputs(changes, error, sentence):
    columns = {
        "predictions": [0, 1, 1, 0],
        "references": [0, 1, 1, 0],
        "groups": list("aabb"),
        **changes,
    }
    with pytest.raises(error, match=sentence):
        contrast_consistency(**columns)


@pytest.mark.parametrize(
    ("successes", "sizes", "sentence"),
    [
        ([1, 3], [1, 2], "most `sizes`"),
        ([0, 0], [1, 0], "positive numbers in `sizes`"),
        ([-1, 0], [1, 1], "`successes` to be at least 0"),
        ([1], [1, 1], "of one length, but got 1 and 2"),
    ],
)
def test_bad_clusters(successes, sizes, sentence):
    with pytest.raises(ValueError, match=sentence):
        cluster_wilson(successes, sizes)


@pytest.mark.real_data
def test_real_contrast_sets_of_film_reviews(real_data, tmp_path):
    reviews = load_dataset(
        "imdb_contrast", data_dir=real_data, cache_dir=tmp_path, split="test"
    ).shuffle(seed=3)
    number = np.array([int(name.removeprefix("test-")) for name in reviews["pair_id"]])
    original = np.array([role == "original" for role in reviews["role"]])
    labels = np.array(reviews["label"])
    # Every tenth original and every sixth revision is predicted wrong.
    wrong = np.where(original, number % 10 == 0, number % 6 == 0)
    result = contrast_consistency(
        np.where(wrong, 1 - labels, labels), labels, reviews["pair_id"], original
    )
    # Of 0 to 487, 49 are divisible by 10, 82 by 6 and 17 by 30, so 488 - 49 - 82 + 17 = 374 pairs are right.
    assert result.n_sets == result.n_contrasts == 488
    assert result.contrast_consistency == 374 / 488
    assert result.original_accuracy == (488 - 49) / 488
    assert result.contrast_accuracy == (488 - 82) / 488
    assert result.interval == wilson(374, 488)
    assert result.original_interval == wilson(439, 488)
    assert result.contrast_interval == wilson(406, 488)
