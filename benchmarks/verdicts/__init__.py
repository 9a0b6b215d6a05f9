"""Verdicts on models of known truth: their rules say what decides, so that a verdict is right or wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

Tone = Literal["good", "warn", "bad", "neutral"]


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A model of known truth.

    Attributes:
        name: What decides it, in words.
        question: The question whose verdict is tried.
        truth: "follower" of a shortcut that the question names, "reader", or "none" of both.
        strength: The share of predictions that the shortcut decides, in [0, 1].
        run: (number of items, seed) -> the tone of the verdict.
    """

    name: str
    question: str
    truth: Literal["follower", "reader", "none"]
    strength: float
    run: Callable[[int, int], Tone]
