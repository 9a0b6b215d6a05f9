"""Which of two models is better at each figure, after a correction for all tests of a comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rightreasons.core.estimates import Estimate
from rightreasons.core.significance import holm
from rightreasons.report.pairing import ComparedFigure, Winner


def find_winner(
    difference: Estimate, better: str | None, holm_p_value: float, level: float
) -> Winner:
    """Return which model is better; "" if the corrected p-value is too large, or neither direction is better.

    Args:
        difference: First minus second.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after correction.
        level: Confidence level; p-values below one minus it are significant.

    Example:
        >>> find_winner(Estimate(-0.2), "lower", 0.01, 0.95), find_winner(Estimate(-0.2), "lower", 0.2, 0.95)
        ('first', '')
    """
    # A difference without a better direction, or that chance may explain, has no winner.
    if better is None or not difference.value or holm_p_value >= 1 - level:
        return ""
    is_first_better = difference.value > 0
    if better == "lower":
        is_first_better = difference.value < 0
    if is_first_better:
        return "first"
    return "second"


def correct_tests(figures: Sequence[ComparedFigure], level: float) -> tuple[ComparedFigure, ...]:
    """Correct the p-values of figures by Holm's method, and set which model is better.

    Args:
        figures: All figures of the comparison. Corrected together, their tests find a difference
            that does not exist with a probability of at most 1 - level.
        level: Confidence level.
    """
    # Without a test, as for models on different items, the result is empty.
    p_values = np.array([figure.p_value for figure in figures])
    corrected_figures = []
    for figure, holm_p_value in zip(figures, holm(p_values).tolist(), strict=True):
        winner = find_winner(figure.difference, figure.better, holm_p_value, level)
        corrected_figures.append(
            dataclasses.replace(figure, holm_p_value=holm_p_value, winner=winner)
        )
    return tuple(corrected_figures)
