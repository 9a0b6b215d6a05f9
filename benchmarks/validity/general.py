"""Intervals and tests that every question uses, over a grid of items, clusters, skew, ties, rarity and spread."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
from benchmarks.validity.scenario import Outcome, Scenario

from rightreasons.core.bootstrap import bootstrap, bootstrap_mean, bootstrap_sums, jackknife
from rightreasons.core.estimates import estimate_mean, estimate_rate, estimate_share
from rightreasons.core.intervals import (
    bounded_mean_interval,
    cluster_wilson,
    compute_placements,
    delong,
    stratified_wilson,
    wilson,
)
from rightreasons.core.resampling import Resampling
from rightreasons.core.significance import (
    chances_p_value,
    compare_paired_means,
    holm,
    mcnemar,
    poisson_binomial_p_value,
    sign_flip_p_value,
    two_rates_p_value,
)

Draw = Callable[[np.random.Generator, int], Outcome]


def few(seed: int) -> Resampling:
    return Resampling(resamples=400, seed=seed)


def ends(interval: object, truth: float) -> tuple[float, float, float] | None:
    if interval is None or getattr(interval, "low", None) is None:
        return None
    return (interval.low, interval.high, truth)  # type: ignore[attr-defined]


# --------------------------------------------------------------------------------------------------- shares and means

SKEWS: dict[str, tuple[Callable[..., np.ndarray], float]] = {
    "normal": (lambda rng, n: rng.normal(1.0, 1.0, n), 1.0),
    "skewed (gamma 2)": (lambda rng, n: rng.gamma(2.0, size=n), 2.0),
    "very skewed (lognormal)": (lambda rng, n: rng.lognormal(size=n), float(np.exp(0.5))),
}
PARTS: dict[str, tuple[Callable[..., np.ndarray], float]] = {
    "spread over [0, 1]": (lambda rng, n: rng.beta(2, 3, n), 0.4),
    "mostly near 1": (lambda rng, n: rng.beta(9, 1, n), 0.9),
    "0 but for one in 30": (lambda rng, n: (rng.random(n) < 1 / 30) * 1.0, 1 / 30),
}
CLUSTERS = {"5": (5, 9), "10": (10, 9), "20 unequal": (20, 31), "60 small": (60, 5)}
"""Number of clusters, and one more than the size of the largest."""


def shares(n_items: int, rate: float | None) -> Draw:
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        truth = rng.random() if rate is None else rate
        hits = int(rng.binomial(n_items, truth))
        return {
            "": ends(wilson(hits, n_items), truth),
            "share": ends(estimate_share(hits, n_items, few(seed)), truth),
        }

    return draw


def sizes_of(rng: np.random.Generator, kind: str) -> np.ndarray:
    n_clusters, largest = CLUSTERS[kind]
    return rng.integers(1, largest, size=n_clusters)


def clustered(kind: str, concentration: float) -> Draw:
    """Clusters whose rates differ: the smaller the concentration, the more their items are alike."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        sizes = sizes_of(rng, kind)
        rates = rng.beta(0.7 * concentration, 0.3 * concentration, size=len(sizes))
        names = np.repeat(np.arange(len(sizes)), sizes)
        flags = rng.random(len(names)) < rates[names]
        return {
            "": ends(cluster_wilson(np.bincount(names, flags), sizes), 0.7),
            "rate": ends(estimate_rate(flags, few(seed), names), 0.7),
        }

    return draw


def stratified(sizes: tuple[int, ...], rates: tuple[float, ...]) -> Draw:
    truth = float(np.mean(rates))

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        return {"": ends(stratified_wilson(rng.binomial(sizes, rates), sizes), truth)}

    return draw


def bounded(values: str, n_items: int, copies: int) -> Draw:
    sample, truth = PARTS[values]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        rows, names = sample(rng, n_items), None
        if copies > 1:
            number = rng.integers(1, 2 * copies, size=n_items)
            names = np.repeat(np.arange(n_items), number)
            rows = rows[names]
        return {"": ends(bounded_mean_interval(rows, low=0, high=1, clusters=names), truth)}

    return draw


def means(values: str, n_items: int, copies: int) -> Draw:
    sample, truth = SKEWS[values]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        rows, names = sample(rng, n_items), None
        if copies > 1:
            names = np.repeat(np.arange(n_items), copies)
            rows = rows[names]
        return {"": ends(bootstrap_mean(rows, clusters=names, resampling=few(seed)), truth)}

    return draw


def sample_means(rng: np.random.Generator, seed: int) -> Outcome:
    return {"": ends(estimate_mean(rng.beta(2, 3, size=60), few(seed), bounds=(0, 1)), 0.4)}


def medians(rng: np.random.Generator, seed: int) -> Outcome:
    values = rng.normal(size=61)
    return {"": ends(bootstrap(lambda x: float(np.median(x)), values, resampling=few(seed)), 0.0)}


def deviations(rng: np.random.Generator, seed: int) -> Outcome:
    return {"": ends(jackknife(lambda x: float(x.var()), rng.normal(size=60)), 1.0)}


def ratios(rng: np.random.Generator, seed: int) -> Outcome:
    known = rng.random(120) < 0.6
    hits = known & (rng.random(120) < 0.7)
    table = np.column_stack((hits, known)).astype(float)
    return {
        "": ends(
            bootstrap_sums(lambda sums: sums[..., 0] / sums[..., 1], table, resampling=few(seed)),
            0.7,
        )
    }


# ------------------------------------------------------------------------------------------------------------ rankings

SPREADS: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "alike": (lambda rng, n: rng.normal(1, 1, n), lambda rng, n: rng.normal(0, 1, n)),
    "five times as wide": (lambda rng, n: rng.normal(1, 5, n), lambda rng, n: rng.normal(0, 1, n)),
    "a fifth as wide": (lambda rng, n: rng.normal(1, 1, n), lambda rng, n: rng.normal(0, 5, n)),
    "U-shaped among the few": (
        lambda rng, n: rng.beta(12, 4, n),
        lambda rng, n: rng.beta(0.5, 0.5, n),
    ),
    "three tied values": (
        lambda rng, n: rng.integers(1, 4, n) * 1.0,
        lambda rng, n: rng.integers(0, 3, n) * 1.0,
    ),
    "far apart": (lambda rng, n: rng.normal(3, 1, n), lambda rng, n: rng.normal(0, 1, n)),
}
_AUROC = {}
for _name, (_first, _second) in SPREADS.items():
    _rng = np.random.default_rng(0)
    _values = np.concatenate((_first(_rng, 200_000), _second(_rng, 200_000)))
    _AUROC[_name] = compute_placements(_values, np.arange(400_000) < 200_000)[0]


def ranked(spread: str, n_first: int, n_second: int, copies: int = 1) -> Draw:
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        first, second = SPREADS[spread]
        scores = np.concatenate((first(rng, n_first), second(rng, n_second)))
        flags, names = np.arange(len(scores)) < n_first, np.arange(len(scores))
        names = np.repeat(names, copies)
        found = delong(scores[names], flags[names], clusters=names if copies > 1 else None)
        return {"": ends(found, _AUROC[spread])}

    return draw


# --------------------------------------------------------------------------------------------------------------- tests


def matched(n_items: int, differ: float) -> Draw:
    """Two models of one accuracy that differ on a share of the items."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        first, moved = rng.random(n_items) < 0.5, rng.random(n_items) < differ
        return {"p_value": mcnemar(first, first ^ moved).p_value}

    return draw


def paired(values: str, n_items: int, copies: int) -> Draw:
    """Two models of one mean, alike in half of their items."""
    sample, _ = PARTS[values]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        first = sample(rng, n_items)
        second = np.where(rng.random(n_items) < 0.5, first, sample(rng, n_items))
        names = np.repeat(np.arange(n_items), copies)
        test = compare_paired_means(
            first[names],
            second[names],
            clusters=names if copies > 1 else None,
            resampling=few(seed),
        )
        return {"p_value": test.p_value, "interval": ends(test.interval, 0.0)}

    return draw


def paired_losses(values: str, n_items: int) -> Draw:
    sample, _ = SKEWS[values]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        test = compare_paired_means(
            sample(rng, n_items), sample(rng, n_items), low=None, high=None, resampling=few(seed)
        )
        return {"p_value": test.p_value, "interval": ends(test.interval, 0.0)}

    return draw


def flipped(n_items: int, copies: int) -> Draw:
    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        values = rng.choice([-1.0, 0.0, 0.5, -0.5, 1.0], size=n_items)
        names = np.repeat(np.arange(n_items), copies)
        p_value = sign_flip_p_value(
            values[names], clusters=names if copies > 1 else None, resampling=few(seed)
        )
        return {"p_value": p_value}

    return draw


def lopsided(rng: np.random.Generator, seed: int) -> Outcome:
    return {"p_value": sign_flip_p_value(rng.exponential(size=15) - 1.0, resampling=few(seed))}


def unequal_trials(rng: np.random.Generator, seed: int) -> Outcome:
    chances = rng.random(60)
    return {"p_value": poisson_binomial_p_value(int((rng.random(60) < chances).sum()), chances)}


def chances(n_clusters: int, chance: float, alike: float) -> Draw:
    """Hits of five items a cluster, which are those of one item with some chance."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        shared, each = rng.random((n_clusters, 1)) < chance, rng.random((n_clusters, 5)) < chance
        hits = np.where(rng.random((n_clusters, 1)) < alike, shared, each)
        names = np.repeat(np.arange(n_clusters), 5)
        return {
            "p_value": chances_p_value(hits.ravel(), np.full(hits.size, chance), clusters=names)
        }

    return draw


def two_groups(n_inside: int, n_clusters: int, rate: float) -> Draw:
    """Hits of items, independent or alike in each of some clusters; some of them are compared with the rest."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        if not n_clusters:
            return {"p_value": two_rates_p_value(rng.random(80) < rate, np.arange(80) < n_inside)}
        names = np.repeat(np.arange(n_clusters), 4)
        hits = np.where(
            rng.random(len(names)) < 0.7,
            (rng.random(n_clusters) < rate)[names],
            rng.random(len(names)) < rate,
        )
        return {
            "p_value": two_rates_p_value(
                hits, np.arange(len(names)) % 80 < n_inside, clusters=names
            )
        }

    return draw


def corrected(rng: np.random.Generator, seed: int) -> Outcome:
    # The smallest of five corrected p-values, of which two belong to tests of the same items.
    tests = rng.random(5)
    tests[1] = tests[0]
    return {"p_value": float(holm(tests).min())}


def only(draw: Draw, *figures: str, **names: str) -> Draw:
    """Keep some figures of a scenario, under other names where given."""

    def kept(rng: np.random.Generator, seed: int) -> Outcome:
        outcome = draw(rng, seed)
        return {
            **{name: outcome[name] for name in figures},
            **{new: outcome[old] for new, old in names.items()},
        }

    return kept


_COPIES = {1: "", 5: ", five copies of each"}
_SKEWED = "its null is symmetry, not a mean of 0"
_TAIL = "so few items lack the large values that carry the mean"
_RARE = "so few items of one kind often rank all below the others"

SCENARIOS = (
    *(
        Scenario(
            "wilson",
            f"{n} items, rate {'uniform in [0, 1]' if p is None else f'{p:g}'}",
            only(shares(n, p), ""),
        )
        for n, p in product((3, 20, 200), (None, 0.02, 0.2, 0.5))
    ),
    Scenario(
        "estimate_share",
        "30 items, rate uniform in [0, 1]",
        only(shares(30, None), interval="share"),
    ),
    *(
        Scenario(name, f"{kind} clusters, {how}", only(clustered(kind, c), **{"": figure}))
        for name, figure, kind, (how, c) in (
            *(
                ("cluster_wilson", "", kind, how)
                for kind, how in product(CLUSTERS, (("much alike", 1.0), ("little alike", 20.0)))
            ),
            ("estimate_rate", "rate", "20 unequal", ("much alike", 1.0)),
        )
    ),
    *(
        Scenario("stratified_wilson", words, stratified(sizes, rates))
        for words, sizes, rates in (
            ("five strata of 1 to 30 items", (3, 12, 1, 30, 7), (0.9, 0.5, 0.8, 1.0, 0.3)),
            ("30 strata of two items, rates .95 and .05", (2,) * 30, (0.95, 0.05) * 15),
            ("30 strata of two items, rate .95", (2,) * 30, (0.95,) * 30),
            (
                "six strata of 1 to 20 items that nearly always pass",
                (2, 5, 20, 3, 8, 1),
                (0.98,) * 6,
            ),
            ("20 strata of one item, rate .9", (1,) * 20, (0.9,) * 20),
            ("ten strata of 20 items, rates .9 and .2", (20,) * 10, (0.9, 0.2) * 5),
        )
    ),
    *(
        Scenario(
            "bounded_mean_interval",
            f"{n} values, {values}{', one to nine copies' if c > 1 else ''}",
            bounded(values, n, c),
        )
        for values, n, c in product(PARTS, (8, 25, 100), (1, 5))
    ),
    *(
        Scenario(
            "bootstrap_mean",
            f"{n} values, {values}{_COPIES[c]}",
            means(values, n, c),
            known={"": _TAIL},
        )
        for values, n, c in product(SKEWS, (8, 25, 60, 200), (1, 5))
        if c == 1 or n == 60
    ),
    Scenario("estimate_mean", "60 values in [0, 1]", sample_means),
    Scenario("bootstrap", "median of 61 normal values", medians),
    Scenario("bootstrap_sums", "a ratio of two sums over 120 items", ratios),
    Scenario("jackknife", "variance of 60 normal values", deviations),
    *(
        Scenario("delong", f"{m} and {n} values, {spread}", ranked(spread, m, n), known={"": _RARE})
        for spread, (m, n) in product(SPREADS, ((12, 12), (200, 12), (60, 30)))
    ),
    Scenario("delong", "60 and 30 values, alike, five copies of each", ranked("alike", 60, 30, 5)),
    *(
        Scenario(
            "mcnemar",
            f"{n} items, models that differ on {differ:.0%}",
            matched(n, differ),
            conservative=True,
        )
        for n, differ in product((30, 200, 1000), (0.05, 0.3))
    ),
    *(
        Scenario(
            "compare_paired_means",
            f"{n} values, {values}{_COPIES[c]}",
            paired(values, n, c),
            conservative=True,
        )
        for values, n, c in product(PARTS, (25, 100), (1, 5))
    ),
    *(
        Scenario(
            "compare_paired_means",
            f"{n} values without bounds, {values}",
            paired_losses(values, n),
            conservative=True,
        )
        for values, n in product(SKEWS, (25, 60))
    ),
    *(
        Scenario(
            "sign_flip_p_value",
            f"{n} symmetric differences with ties{_COPIES[c]}",
            flipped(n, c),
            conservative=True,
        )
        for n, c in product((12, 30), (1, 5))
    ),
    Scenario("sign_flip_p_value", "15 skewed differences", lopsided, known={"p_value": _SKEWED}),
    Scenario(
        "poisson_binomial_p_value",
        "60 trials of unequal chances",
        unequal_trials,
        conservative=True,
    ),
    *(
        Scenario(
            "chances_p_value",
            f"{n} clusters of five items, chance {chance:g}, {alike:.0%} of them alike",
            chances(n, chance, alike),
            conservative=True,
        )
        for n, chance, alike in product((12, 40), (0.25, 0.5), (0.0, 1.0))
    ),
    *(
        Scenario(
            "two_rates_p_value",
            f"{n} of 80 items beside the others, rate {rate:g}",
            two_groups(n, 0, rate),
            conservative=True,
        )
        for n, rate in product((15, 40), (0.5, 0.9))
    ),
    *(
        Scenario(
            "two_rates_p_value",
            f"{n} clusters of four items that are alike, half of them beside the others",
            two_groups(40, n, 0.6),
        )
        for n in (40, 100)
    ),
    Scenario("holm", "the smallest of five p-values under the null", corrected, conservative=True),
)
