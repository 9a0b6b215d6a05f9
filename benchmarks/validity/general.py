"""Intervals and tests that every question uses."""

from __future__ import annotations

import numpy as np
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.core.intervals import (
    bootstrap,
    bootstrap_mean,
    bootstrap_sums,
    bounded_mean,
    cluster_wilson,
    holm,
    mcnemar,
    paired_bootstrap,
    paired_means,
    poisson_binomial_p_value,
    sign_flip_p_value,
    stratified_wilson,
    wilson,
)
from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.ranking import rank_correlation


def few(seed: int) -> Resampling:
    return Resampling(resamples=400, seed=seed)


def ends(interval: object, truth: float) -> tuple[float, float, float] | None:
    return None if interval is None else (interval.low, interval.high, truth)  # type: ignore[attr-defined]


def shares(n_items: int):
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        rate = rng.random()
        return {"": ends(wilson(int(rng.binomial(n_items, rate)), n_items), rate)}

    return draw


def sure_share(rng: np.random.Generator, seed: int) -> Outcome:
    rate, n_items = float(rng.integers(2)), int(rng.integers(1, 30))
    return {"": ends(wilson(int(rate * n_items), n_items), rate)}


def means(n_items: int):
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        return {"": ends(bootstrap_mean(rng.gamma(2, size=n_items), resampling=few(seed)), 2.0)}

    return draw


def medians(rng: np.random.Generator, seed: int) -> Outcome:
    values = rng.normal(size=61)
    return {"": ends(bootstrap(lambda x: float(np.median(x)), values, resampling=few(seed)), 0.0)}


def paired(n_items: int, agreement: float):
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        first = rng.random(n_items) < 0.7
        second = np.where(rng.random(n_items) < agreement, first, rng.random(n_items) < 0.7)
        test = mcnemar(first, second)
        resampled = paired_bootstrap(first, second, resampling=few(seed))
        return {"mcnemar": test.p_value, "p_value": resampled.p_value, "interval": ends(resampled.interval, 0.0)}

    return draw


def only(draw, *figures: str, **names: str):
    """Keep some figures of a scenario, under other names where given."""

    def kept(rng: np.random.Generator, seed: int) -> Outcome:
        outcome = draw(rng, seed)
        return {**{name: outcome[name] for name in figures}, **{new: outcome[old] for new, old in names.items()}}

    return kept


def ranks(rng: np.random.Generator, seed: int) -> Outcome:
    return {"p_value": rank_correlation(rng.integers(6, size=60), rng.normal(size=60)).p_value}


def clustered(rng: np.random.Generator, seed: int) -> Outcome:
    sizes = rng.integers(1, 5, size=40)
    hits = rng.binomial(sizes, rng.beta(2, 3, size=40))
    return {"": ends(cluster_wilson(hits, sizes), 0.4)}


def stratified(rng: np.random.Generator, seed: int) -> Outcome:
    sizes, rates = np.array([3, 12, 1, 30, 7]), np.array([0.9, 0.5, 0.8, 1.0, 0.3])
    return {"": ends(stratified_wilson(rng.binomial(sizes, rates), sizes), float(rates.mean()))}


def bounded(rng: np.random.Generator, seed: int) -> Outcome:
    values = rng.choice([-1.0, 0.0, 1.0], size=25, p=[0.05, 0.75, 0.2])
    return {"": ends(bounded_mean(values, low=-1, high=1), 0.15)}


def flipped(rng: np.random.Generator, seed: int) -> Outcome:
    return {"p_value": sign_flip_p_value(rng.choice([-1.0, 0.0, 0.5, -0.5, 1.0], size=30), resampling=few(seed))}


def ratios(rng: np.random.Generator, seed: int) -> Outcome:
    asked = rng.random(120) < 0.6
    hits = asked & (rng.random(120) < 0.7)
    table = np.column_stack((hits, asked)).astype(float)
    return {"": ends(bootstrap_sums(lambda sums: sums[..., 0] / sums[..., 1], table, resampling=few(seed)), 0.7)}


def unequal_trials(rng: np.random.Generator, seed: int) -> Outcome:
    chances = rng.random(60)
    return {"p_value": poisson_binomial_p_value(int((rng.random(60) < chances).sum()), chances)}


def paired_flags(rng: np.random.Generator, seed: int) -> Outcome:
    first = rng.random(60) < 0.7
    second = np.where(rng.random(60) < 0.5, first, rng.random(60) < 0.7)
    test = paired_means(first, second, resampling=few(seed))
    return {"p_value": test.p_value, "interval": ends(test.interval, 0.0)}


def paired_parts(rng: np.random.Generator, seed: int) -> Outcome:
    # The confidence of two models in the same 40 answers: alike in half of the items, and never far apart.
    first = rng.beta(5, 2, size=40)
    second = np.where(rng.random(40) < 0.5, first, rng.beta(5, 2, size=40))
    test = paired_means(first, second, resampling=few(seed))
    return {"p_value": test.p_value, "interval": ends(test.interval, 0.0)}


def corrected(rng: np.random.Generator, seed: int) -> Outcome:
    # The smallest of five corrected p-values, of which two belong to tests of the same items.
    tests = rng.random(5)
    tests[1] = tests[0]
    return {"p_value": float(holm(tests).min())}


SCENARIOS = (
    Scenario("cluster_wilson", "40 clusters of one to four items", clustered),
    Scenario("stratified_wilson", "five strata of 1 to 30 items", stratified),
    Scenario("bounded_mean", "25 differences, mostly 0", bounded),
    Scenario("sign_flip_p_value", "30 symmetric differences with ties", flipped),
    Scenario("paired_means", "60 answers of two models of one accuracy", paired_flags, conservative=True),
    Scenario("paired_means", "40 confidences of two models of one mean", paired_parts),
    Scenario("holm", "the smallest of five p-values under the null", corrected, conservative=True),
    Scenario("bootstrap_sums", "a ratio of two sums over 120 items", ratios),
    Scenario("poisson_binomial_p_value", "60 trials of unequal chances", unequal_trials, conservative=True),
    *(Scenario("wilson", f"share of {n} items, rate uniform in [0, 1]", shares(n)) for n in (3, 20, 200)),
    Scenario("wilson", "rates of exactly 0 or 1, 1 to 29 items", sure_share),
    Scenario("bootstrap_mean", "mean of 200 skewed values (gamma 2)", means(200)),
    Scenario(
        "bootstrap_mean",
        "mean of 15 skewed values",
        means(15),
        known={"": "a percentile bootstrap of few skewed values is too narrow"},
    ),
    Scenario("bootstrap", "median of 61 normal values", medians),
    Scenario(
        "mcnemar", "two models of one accuracy, 200 items", only(paired(200, 0.5), p_value="mcnemar"), conservative=True
    ),
    Scenario(
        "paired_bootstrap", "two models of one accuracy, 200 items", only(paired(200, 0.5), "p_value", "interval")
    ),
    Scenario("rank_correlation", "60 unrelated pairs, one side with six distinct values", ranks),
)
