"""A scenario that the library and a peer both run: what each gives, and why the two may differ."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    """One case of a scenario.

    Attributes:
        scenario: The scenario that it belongs to, a row of the table.
        name: What tells it from the others.
        ours: What the library gives: numbers, or a text.
        peer: What the peer gives.
        tolerance: How far two numbers may lie apart.
        reason: Why the two may differ; "" where they may not.
    """

    scenario: str
    name: str
    ours: Any
    peer: Any
    tolerance: float = 1e-6
    reason: str = ""

    @property
    def same(self) -> bool:
        """Tell whether both give the same."""
        if isinstance(self.ours, str) or isinstance(self.peer, str):
            return bool(self.ours == self.peer)
        ours, peer = np.asarray(self.ours, dtype=float), np.asarray(self.peer, dtype=float)
        return ours.shape == peer.shape and bool(
            np.allclose(ours, peer, rtol=0.0, atol=self.tolerance, equal_nan=True)
        )


def softmax_rows(n_items: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Make probabilities of an overconfident model, and labels."""
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.normal(size=(n_items, n_classes)) * 2)
    rows /= rows.sum(axis=1, keepdims=True)
    labels = np.where(
        rng.random(n_items) < 0.7, rows.argmax(axis=1), rng.integers(0, n_classes, n_items)
    )
    return rows, labels
