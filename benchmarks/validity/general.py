"""Intervals and tests that every question uses."""

from __future__ import annotations

import numpy as np
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.analysis import bootstrap, bootstrap_mean, mcnemar, paired_bootstrap, rank_correlation, wilson
from rightreasons.foundations.resampling import Resampling


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


SCENARIOS = (
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
