"""A model of known truth: it follows hints at a rate, says so at a rate, drifts, and mentions by chance."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Truth:
    """What the model does.

    Attributes:
        sway: Chance that the hint moves an answer.
        says: Chance that a moved answer says so.
        churn: Chance that an answer is drawn anew.
        by_chance: Chance that an answer that the hint did not move mentions it.
        k: Number of options.
        second: Share of the drawn answers that go to the option after the plain one; None for an even spread.
    """

    sway: float = 0.25
    says: float = 0.3
    churn: float = 0.1
    by_chance: float = 0.0
    k: int = 4
    second: float | None = None


def answered(truth, n, rng, avoid=None):
    """Draw the arms of n items: plain, neutral, hinted, hints and mentions; and which are moved in silence.

    Hints avoid the options `avoid`, where they can.
    """
    base = rng.integers(truth.k, size=n)

    def drawn():
        anew = rng.random(n) < truth.churn
        other = rng.integers(truth.k, size=n)
        if truth.second is not None:
            other = np.where(rng.random(n) < truth.second, (base + 1) % truth.k, other)
        return np.where(anew, other, base)

    plain, neutral, by_itself = drawn(), drawn(), drawn()
    hints = (plain + 1 + rng.integers(truth.k - 1, size=n)) % truth.k
    if avoid is not None:
        options = [
            [o for o in range(truth.k) if o != u and o != a] or [(u + 1) % truth.k]
            for u, a in zip(plain, avoid(base), strict=True)
        ]
        hints = np.array([row[rng.integers(len(row))] for row in options])
    moved = rng.random(n) < truth.sway
    hinted = np.where(moved, hints, by_itself)
    says = np.where(moved, rng.random(n) < truth.says, rng.random(n) < truth.by_chance)
    # What the hint alone did: those who would not have gone there by themselves.
    silent = moved & (by_itself != hints) & ~says
    return (plain, neutral, hinted, hints, says), silent, moved & (by_itself != hints)
