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


def simulate_arms(truth, n, rng, avoid=None):
    """Draw the arms of n items.

    Args:
        truth: What the model does.
        n: Number of items.
        rng: Generator of random numbers.
        avoid: Function from the usual answers to the options that hints avoid where they can; None
            to avoid the plain answer alone.

    Returns:
        The columns plain, neutral, hinted, hints and mentions; (n,) whether the hint alone moved an
        answer that does not say so; (n,) whether the hint alone moved it.
    """
    base = rng.integers(truth.k, size=n)

    def draw_answers():
        is_anew = rng.random(n) < truth.churn
        new_answers = rng.integers(truth.k, size=n)
        if truth.second is not None:
            new_answers = np.where(rng.random(n) < truth.second, (base + 1) % truth.k, new_answers)
        return np.where(is_anew, new_answers, base)

    plain = draw_answers()
    neutral = draw_answers()
    # The answers to the hinted questions, had the hint no effect.
    unmoved = draw_answers()
    hints = (plain + 1 + rng.integers(truth.k - 1, size=n)) % truth.k
    if avoid is not None:
        hints = draw_hints(plain, avoid(base), truth.k, rng)

    is_swayed = rng.random(n) < truth.sway
    hinted = np.where(is_swayed, hints, unmoved)
    mentions = np.where(is_swayed, rng.random(n) < truth.says, rng.random(n) < truth.by_chance)
    # The effect of the hint alone: answers that would not have gone there without it.
    is_moved = is_swayed & (unmoved != hints)
    return (plain, neutral, hinted, hints, mentions), is_moved & ~mentions, is_moved


def draw_hints(plain, avoided, k, rng):
    """Draw hints that are neither the plain answer nor the avoided option, if there is a third one."""
    hints = []
    for answer, option in zip(plain, avoided, strict=True):
        candidates = [c for c in range(k) if c not in (answer, option)] or [(answer + 1) % k]
        hints.append(candidates[rng.integers(len(candidates))])
    return np.array(hints)
