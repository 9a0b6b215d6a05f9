"""Nodes on the path from baseline to input where gradients are taken, and their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count, check_one_of

RULES = ("riemann_right", "gauss_legendre")


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule on [0, 1].

    Attributes:
        nodes: (m,) positions on the path: 0 is the baseline, 1 the input.
        weights: (m,) weight of each node; they sum to 1.
    """

    nodes: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nodes)


def quadrature(name: str, steps: int) -> Rule:
    r"""Return a rule on [0, 1] with `steps` nodes.

    "riemann_right" has the nodes k/m with weights 1/m, k = 1..m, as in Du et al.; its error falls with 1/m.
    "gauss_legendre", captum's default and so that of the Reliability Paradox, is exact for polynomials up to degree
    2m - 1 and has no node at the ends.

    Args:
        name: "riemann_right" or "gauss_legendre".
        steps: Number of nodes, m >= 1.

    Returns:
        The rule.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks", eq. 3; Du et al. (2021), "Towards
        Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 2.

    Example:
        >>> quadrature("riemann_right", 4).nodes
        array([0.25, 0.5 , 0.75, 1.  ])
        >>> rule = quadrature("gauss_legendre", 2)  # the integral of x^3 over [0, 1] is 1/4
        >>> round(float(rule.weights @ rule.nodes**3), 12)
        0.25
    """
    check_one_of(name, RULES, "rule")
    check_count(steps, "steps")
    if name == "riemann_right":
        return Rule(np.arange(1, steps + 1) / steps, np.full(steps, 1.0 / steps))
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return Rule((nodes + 1.0) / 2.0, weights / 2.0)
