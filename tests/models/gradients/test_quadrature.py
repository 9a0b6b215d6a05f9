"""Quadrature rules against integrals that are known."""

import numpy as np
import pytest

from rightreasons.models.gradients.paths import make_quadrature


def test_right_riemann_sum_of_a_line():
    # The integral of x over [0, 1] is 1/2; the right sum with m nodes is (m + 1) / 2m.
    for m in (1, 4, 50):
        nodes, weights = make_quadrature("riemann_right", m)
        assert weights @ nodes == pytest.approx((m + 1) / (2 * m))


@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_gauss_legendre_is_exact_up_to_degree_2m_minus_1(m):
    nodes, weights = make_quadrature("gauss_legendre", m)

    # The integral of x^k over [0, 1] is 1 / (k + 1).
    for degree in range(2 * m):
        assert weights @ nodes**degree == pytest.approx(1 / (degree + 1), rel=1e-12)
    # It is not exact at degree 2m, but the error of twenty nodes is below that of the numbers.
    error = abs(weights @ nodes ** (2 * m) - 1 / (2 * m + 1))
    assert error > 1e-14 or m > 10
    assert nodes.min() > 0
    assert nodes.max() < 1


@pytest.mark.parametrize("name", ["riemann_right", "gauss_legendre"])
def test_weights_sum_to_one(name):
    nodes, weights = make_quadrature(name, 7)
    assert weights.sum() == pytest.approx(1.0)
    assert len(nodes) == len(weights) == 7


def test_gauss_legendre_integrates_a_sharp_path():
    # A logistic step at 0.3, as the probability of a sure model rises along its path; integral = f(1) - f(0).
    def f(x):
        return 1 / (1 + np.exp(-20 * (x - 0.3)))

    nodes, weights = make_quadrature("gauss_legendre", 20)
    slopes = 20 * f(nodes) * (1 - f(nodes))
    assert weights @ slopes == pytest.approx(f(1.0) - f(0.0), abs=1e-3)
