"""Verdicts on models of known truth: their rules say what decides, so each verdict is correct or incorrect.

`texts` generates texts, and `classes`, `surface`, `choices`, `confidence` and `behavior` define the models.
Each of these modules lists its models in `SCENARIOS`. `python -m benchmarks.verdicts` runs them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

Tone = Literal["good", "warn", "bad", "neutral"]
"""Color of a verdict: green, amber, red or gray."""

Truth = Literal["follower", "reader", "none"]
"""Whether a model relies on a shortcut, uses the content, or does neither."""


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A model of known truth.

    Attributes:
        name: What decides the model's predictions, in words.
        question: Question of the audit whose verdict is checked, such as "probes".
        truth: "follower" of a shortcut that the question should report, "reader", or "none".
        strength: Share of predictions that the shortcut decides, in [0, 1].
        run: Function from the number of items and a seed to the tone of the verdict.
    """

    name: str
    question: str
    truth: Truth
    strength: float
    run: Callable[[int, int], Tone]
