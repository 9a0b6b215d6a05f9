"""Smooth ECE against its definition by quadrature; ECE-sweep against a plain search."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightreasons.calibration.smooth import (
    N_CELLS,
    _compute_smooth_error,
    _spread_on_grid,
    _transform_residuals,
    ece_sweep,
    smooth_ece,
)


def calibrated(n, shift=0.0, seed=0):
    """Confidences in [0.5, 1] of two-class rows that are right with chance confidence - shift."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.5 + shift, 1, n)
    return np.column_stack((p, 1 - p)), (rng.random(n) > p - shift).astype(int)


def reflected_error(scores, events, sigma, points=20_000):
    """smECE_σ by its definition: a sum over the kernel's mirror images, integrated by the midpoint rule."""
    t = (np.arange(points) + 0.5) / points
    height = np.zeros(points)
    for score, event in zip(scores, events, strict=True):
        for image in range(-2, 3):
            for mirrored in (2 * image + score, 2 * image - score):
                height += (event - score) * np.exp(-0.5 * ((t - mirrored) / sigma) ** 2)
    return np.abs(height).mean() / (sigma * np.sqrt(2 * np.pi)) / len(scores)


class TestSmoothEce:
    @pytest.mark.parametrize("sigma", [0.02, 0.1, 0.5])
    def test_is_the_definition(self, sigma):
        rows, labels = calibrated(30)
        expected = reflected_error(rows[:, 0], labels == 0, sigma)
        assert _compute_smooth_error(
            sigma, _transform_residuals(rows[:, 0], labels == 0)
        ) == pytest.approx(expected, rel=1e-4)

    def test_mass_at_the_ends_is_reflected(self):
        scores, labels = np.array([0.0, 1.0, 1.0]), np.array([1, 1, 0])
        expected = reflected_error(scores, labels, 0.1)
        assert _compute_smooth_error(0.1, _transform_residuals(scores, labels)) == pytest.approx(
            expected, rel=1e-4
        )

    def test_weights_are_split_between_the_nodes_beside_a_value(self):
        nodes = _spread_on_grid(np.array([1.0, 0.25 / N_CELLS]), np.array([3.0, 1.0]))
        assert (nodes[0], nodes[1], nodes[-1], np.count_nonzero(nodes)) == (
            0.75 / 2,
            0.25 / 2,
            3 / 2,
            3,
        )

    @pytest.mark.parametrize("shift", [0.0, 0.05, 0.2])
    def test_the_bandwidth_is_the_error(self, shift):
        rows, labels = calibrated(2000, shift)
        error = smooth_ece(rows, labels).smooth_ece
        assert _compute_smooth_error(
            error, _transform_residuals(rows[:, 0], labels == 0)
        ) == pytest.approx(error, abs=1e-7)

    def test_finds_a_constant_gap(self):
        # A gap of one sign cancels nowhere: smECE_σ = 0.1 for every σ.
        rows, labels = calibrated(200_000, 0.1)
        assert smooth_ece(rows, labels).smooth_ece == pytest.approx(0.1, abs=0.005)

    def test_falls_with_the_number_of_items_where_there_is_no_error(self):
        values = [smooth_ece(*calibrated(n)).smooth_ece for n in (100, 3_000, 100_000)]
        assert values[0] > values[1] > values[2]
        assert values[2] < 0.01

    def test_is_continuous_where_bins_jump(self):
        # Half right just below .6, half wrong just above: a bin edge between them changes everything, a kernel nothing.
        def at(gap):
            p = np.array([0.6 - gap] * 50 + [0.6 + gap] * 50)
            return smooth_ece(np.column_stack((p, 1 - p)), [0] * 50 + [1] * 50).smooth_ece

        assert at(1e-6) == pytest.approx(at(-1e-6), abs=1e-4)

    def test_ends(self):
        assert smooth_ece([[1.0, 0.0]] * 3, [0] * 3).smooth_ece == 0
        assert smooth_ece([[1.0, 0.0]] * 3, [1] * 3).smooth_ece == pytest.approx(1.0)

    def test_ragged_and_binary(self):
        assert smooth_ece([[0.9, 0.1], [0.2, 0.3, 0.5]], [0, 2]).n_items == 2
        assert smooth_ece([0.3, 0.9], [0, 1]).smooth_ece > 0

    def test_bad_input(self):
        with pytest.raises(ValueError, match="Expected `kind`"):
            smooth_ece([[0.5, 0.5]], [0], kind="classwise")


def plain_sweep(confidence, correct, norm):
    """The definition, one number of bins after another, on distinct confidences."""
    order = np.argsort(confidence)
    confidence, correct = confidence[order], correct[order].astype(float)
    n, power, error = len(order), 1 if norm == "l1" else 2, None
    for bins in range(1, n + 1):
        parts = np.split(np.arange(n), [n * m // bins for m in range(1, bins)])
        accuracy = [correct[part].mean() for part in parts]
        if any(a > b + 1e-12 for a, b in itertools.pairwise(accuracy)):
            break
        error = (
            sum(
                len(part) / n * abs(correct[part].mean() - confidence[part].mean()) ** power
                for part in parts
            )
            ** (1 / power),
            bins,
        )
    return error


class TestSweep:
    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("norm", ["l1", "l2"])
    def test_is_the_plain_search(self, seed, norm):
        rows, labels = calibrated(200, 0.05, seed)
        error, n_bins = plain_sweep(rows[:, 0], labels == 0, norm)
        result = ece_sweep(rows, labels, norm=norm)
        assert result.n_bins == n_bins
        assert result.ece == pytest.approx(error, abs=1e-12)

    def test_all_right(self):
        # Every number of bins keeps the order; n bins of one item each: mean of 1 - p.
        p = np.array([0.6, 0.7, 0.9])
        result = ece_sweep(np.column_stack((p, 1 - p)), [0, 0, 0])
        assert result.ece == pytest.approx(0.8 / 3)

    def test_less_biased_than_many_bins(self):
        from rightreasons.calibration.errors import calibration_error

        cases = [calibrated(200, seed=seed) for seed in range(50)]
        sweep = np.mean([ece_sweep(*case).ece for case in cases])
        binned = np.mean([calibration_error(*case, strategy="quantile").ece for case in cases])
        assert sweep < binned

    def test_large_and_rising_is_quick(self):
        p = np.linspace(0.5, 1, 100_000)
        assert ece_sweep(np.column_stack((p, 1 - p)), np.zeros(100_000, int)).n_bins == 100_000

    @settings(max_examples=50, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(5, 10), st.booleans()), min_size=1, max_size=30),
        st.randoms(),
    )
    def test_order_does_not_matter(self, items, random):
        p = np.array([c / 10 for c, _ in items])
        rows, labels = np.column_stack((p, 1 - p)), np.array([int(not y) for _, y in items])
        order = list(range(len(items)))
        random.shuffle(order)
        first = ece_sweep(rows, labels)
        second = ece_sweep(rows[order], labels[order])
        assert second.n_bins == first.n_bins
        assert second.ece == pytest.approx(first.ece, abs=1e-9)
        assert 0 <= first.ece <= 1
