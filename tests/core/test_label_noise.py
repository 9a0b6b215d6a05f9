"""The expected share of incorrect labels among disputed ones."""

import numpy as np
import pytest

from rightreasons.core.classification import find_disputed_labels
from rightreasons.core.label_noise import MAX_FITTED_ITEMS, estimate_incorrect_share
from rightreasons.core.resampling import Resampling


def draw_items(n_items, n_classes, noise, seed):
    """Return probabilities of a calibrated model, labels with noise, and which are incorrect."""
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.25), size=n_items)
    classes = (probabilities.cumsum(axis=1) < rng.random((n_items, 1))).sum(axis=1)
    classes = np.minimum(classes, n_classes - 1)
    is_incorrect = rng.random(n_items) < noise
    shifts = rng.integers(1, n_classes, size=n_items)
    labels = np.where(is_incorrect, (classes + shifts) % n_classes, classes)
    return probabilities, labels, is_incorrect


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("noise", [0.0, 0.03, 0.15])
def test_the_interval_contains_the_share_of_labels_that_were_changed(n_classes, noise):
    probabilities, labels, is_incorrect = draw_items(1000, n_classes, noise, seed=n_classes)
    rows = find_disputed_labels(probabilities, labels)

    # A level that a correct interval misses once in a thousand data sets.
    share = estimate_incorrect_share(
        probabilities, labels, rows, resampling=Resampling(level=0.999)
    )

    assert share.low <= is_incorrect[rows].mean() <= share.high
    assert share.high - share.low < 0.6


def test_errors_of_an_overconfident_model_are_no_incorrect_labels():
    probabilities, labels, _ = draw_items(1000, 3, 0.0, seed=7)
    # Cubed probabilities are too high, as those of a model with a third of the right temperature.
    cubed = probabilities**3 / (probabilities**3).sum(axis=1, keepdims=True)
    rows = find_disputed_labels(cubed, labels)

    share = estimate_incorrect_share(cubed, labels, rows)

    assert len(rows) > 25
    assert share.low == 0
    assert share.high < 0.25


def test_a_label_that_a_confident_model_contradicts_once_is_probably_incorrect():
    # 1 of 400 labels has a probability of .001. If .0025 of the labels are incorrect, it is one of
    # them with probability .0025 * .999 / (.9975 * .001 + .0025 * .999) = .715.
    probabilities = np.tile([[0.999, 0.001], [0.001, 0.999]], (200, 1))
    labels = np.tile([0, 1], 200)
    labels[0] = 1

    share = estimate_incorrect_share(probabilities, labels, np.array([0]))

    # Temperature and noise explain a single error alike: the data do not decide between them.
    assert share.low == 0
    assert share.high > 0.7


def test_repeated_items_do_not_narrow_the_interval():
    probabilities, labels, _ = draw_items(300, 2, 0.1, seed=3)
    rows = find_disputed_labels(probabilities, labels)
    single = estimate_incorrect_share(probabilities, labels, rows)
    repeated_probabilities = np.repeat(probabilities, 4, axis=0)
    repeated_labels = np.repeat(labels, 4)

    grouped = estimate_incorrect_share(
        repeated_probabilities,
        repeated_labels,
        np.concatenate([4 * rows + k for k in range(4)]),
        n_units=300,
    )

    assert (grouped.low, grouped.high) == pytest.approx((single.low, single.high))


def test_a_higher_confidence_level_widens_the_interval():
    probabilities, labels, _ = draw_items(500, 2, 0.1, seed=4)
    rows = find_disputed_labels(probabilities, labels)

    usual = estimate_incorrect_share(probabilities, labels, rows)
    wide = estimate_incorrect_share(probabilities, labels, rows, resampling=Resampling(level=0.999))

    assert wide.level == 0.999
    assert wide.low < usual.low
    assert wide.high > usual.high


def test_many_items_are_fitted_by_a_part_of_them():
    probabilities, labels, is_incorrect = draw_items(2 * MAX_FITTED_ITEMS + 1, 2, 0.1, seed=5)
    rows = find_disputed_labels(probabilities, labels)

    share = estimate_incorrect_share(probabilities, labels, rows)

    assert share.low <= is_incorrect[rows].mean() <= share.high
    # Whatever the order of the items, it is the same part of them.
    order = np.random.default_rng(6).permutation(len(labels))
    shuffled = estimate_incorrect_share(
        probabilities[order], labels[order], np.flatnonzero(np.isin(order, rows))
    )
    assert shuffled.value == pytest.approx(share.value, abs=1e-12)


def test_nothing_is_estimated_without_disputed_labels():
    nothing = np.zeros(0, dtype=np.int64)

    share = estimate_incorrect_share(np.array([[0.9, 0.1]]), np.array([0]), nothing)

    assert share.value is None
    assert not share.has_interval


def test_the_interval_is_wider_than_the_sampling_error_alone():
    # 141 disputed labels, of which .738 are expected to be incorrect. If the noise were known, the
    # interval would be narrower than that of 141 equal labels, +-1.96 sqrt(.738 * .262 / 141).
    probabilities, labels, _ = draw_items(1000, 2, 0.15, seed=4)
    rows = find_disputed_labels(probabilities, labels)

    share = estimate_incorrect_share(probabilities, labels, rows)

    binomial_error = 1.96 * np.sqrt(share.value * (1 - share.value) / len(rows))
    assert share.high - share.value > 1.2 * binomial_error
    assert share.value - share.low > 1.2 * binomial_error
