"""Scenarios of the intervals and tests that all questions share.

They vary the number of items, their clusters, skew, ties, rare values and spread. A function
`make_*` returns a draw, which simulates one sample and returns its interval with the truth, or its
p-value under the null. The scenarios are listed in `SCENARIOS`.
"""

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
"""Simulates one sample from a random generator and the seed of the resampling."""

Sampler = Callable[[np.random.Generator, int], np.ndarray]
"""Samples a number of values."""


def make_resampling(seed: int) -> Resampling:
    """Return a resampling that is short, because it runs in each of thousands of simulations."""
    return Resampling(resamples=400, seed=seed)


def add_truth(interval: object, truth: float) -> tuple[float, float, float] | None:
    """Return the ends of an interval and the truth, or None if the interval is undefined."""
    if interval is None or getattr(interval, "low", None) is None:
        return None
    return (interval.low, interval.high, truth)  # type: ignore[attr-defined]


# --------------------------------------------------------------------------------------------------- shares and means

UNBOUNDED: dict[str, tuple[Sampler, float]] = {
    "normal": (lambda rng, n: rng.normal(1.0, 1.0, n), 1.0),
    "skewed (gamma 2)": (lambda rng, n: rng.gamma(2.0, size=n), 2.0),
    "very skewed (lognormal)": (lambda rng, n: rng.lognormal(size=n), float(np.exp(0.5))),
}
"""Distributions of values without bounds, with their means."""

BOUNDED: dict[str, tuple[Sampler, float]] = {
    "spread over [0, 1]": (lambda rng, n: rng.beta(2, 3, n), 0.4),
    "mostly near 1": (lambda rng, n: rng.beta(9, 1, n), 0.9),
    "0 but for one in 30": (lambda rng, n: (rng.random(n) < 1 / 30) * 1.0, 1 / 30),
}
"""Distributions of values in [0, 1], with their means."""

CLUSTERS = {"5": (5, 9), "10": (10, 9), "20 unequal": (20, 31), "60 small": (60, 5)}
"""Number of clusters, and one more than the size of the largest."""


def make_shares(n_items: int, rate: float | None) -> Draw:
    """Simulate hits of items at a rate; None samples the rate uniformly from [0, 1]."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        truth = rng.random() if rate is None else rate
        hits = int(rng.binomial(n_items, truth))
        estimate = estimate_share(hits, n_items, make_resampling(seed))
        return {
            "": add_truth(wilson(hits, n_items), truth),
            "share": add_truth(estimate, truth),
        }

    return draw


def make_clusters(name: str, concentration: float) -> Draw:
    """Simulate hits in clusters whose rates differ, with a mean of 0.7.

    Args:
        name: Number and sizes of the clusters, a key of `CLUSTERS`.
        concentration: Concentration of the beta distribution of the rates. The smaller it is, the
            more similar are the items of a cluster.
    """
    n_clusters, size_limit = CLUSTERS[name]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        sizes = rng.integers(1, size_limit, size=n_clusters)
        rates = rng.beta(0.7 * concentration, 0.3 * concentration, size=n_clusters)
        clusters = np.repeat(np.arange(n_clusters), sizes)
        flags = rng.random(len(clusters)) < rates[clusters]
        return {
            "": add_truth(cluster_wilson(np.bincount(clusters, flags), sizes), 0.7),
            "rate": add_truth(estimate_rate(flags, make_resampling(seed), clusters), 0.7),
        }

    return draw


def make_strata(sizes: tuple[int, ...], rates: tuple[float, ...]) -> Draw:
    """Simulate hits in strata of fixed sizes and rates. The truth is the mean of the rates."""
    truth = float(np.mean(rates))

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        hits = rng.binomial(sizes, rates)
        return {"": add_truth(stratified_wilson(hits, sizes), truth)}

    return draw


def make_bounded_means(distribution: str, n_items: int, copies: int) -> Draw:
    """Simulate the mean of values in [0, 1].

    Args:
        distribution: A key of `BOUNDED`.
        n_items: Number of distinct values.
        copies: Mean number of copies of each value, which form a cluster; 1 for no clusters.
    """
    sample, truth = BOUNDED[distribution]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        values = sample(rng, n_items)
        clusters = None
        if copies > 1:
            n_copies = rng.integers(1, 2 * copies, size=n_items)
            clusters = np.repeat(np.arange(n_items), n_copies)
            values = values[clusters]
        interval = bounded_mean_interval(values, low=0, high=1, clusters=clusters)
        return {"": add_truth(interval, truth)}

    return draw


def make_unbounded_means(distribution: str, n_items: int, copies: int) -> Draw:
    """Simulate the mean of values without bounds.

    Args:
        distribution: A key of `UNBOUNDED`.
        n_items: Number of distinct values.
        copies: Number of copies of each value, which form a cluster; 1 for no clusters.
    """
    sample, truth = UNBOUNDED[distribution]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        values = sample(rng, n_items)
        clusters = None
        if copies > 1:
            clusters = np.repeat(np.arange(n_items), copies)
            values = values[clusters]
        interval = bootstrap_mean(values, clusters=clusters, resampling=make_resampling(seed))
        return {"": add_truth(interval, truth)}

    return draw


def draw_estimated_mean(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the mean of 60 values in [0, 1]."""
    values = rng.beta(2, 3, size=60)
    return {"": add_truth(estimate_mean(values, make_resampling(seed), bounds=(0, 1)), 0.4)}


def draw_median(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the median of 61 normal values."""
    values = rng.normal(size=61)
    interval = bootstrap(lambda x: float(np.median(x)), values, resampling=make_resampling(seed))
    return {"": add_truth(interval, 0.0)}


def draw_variance(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the variance of 60 normal values."""
    return {"": add_truth(jackknife(lambda x: float(x.var()), rng.normal(size=60)), 1.0)}


def draw_ratio(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate a ratio of two sums over 120 items: hits among the eligible items."""
    is_eligible = rng.random(120) < 0.6
    is_hit = is_eligible & (rng.random(120) < 0.7)
    table = np.column_stack((is_hit, is_eligible)).astype(float)

    def compute_ratio(sums: np.ndarray) -> np.ndarray:
        # The columns are those of `table`.
        return sums[..., 0] / sums[..., 1]

    interval = bootstrap_sums(compute_ratio, table, resampling=make_resampling(seed))
    return {"": add_truth(interval, 0.7)}


# ------------------------------------------------------------------------------------------------------------ rankings

SPREADS: dict[str, tuple[Sampler, Sampler]] = {
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
"""Distributions of the scores of positive and negative items."""


def _measure_aurocs() -> dict[str, float]:
    """Return the area under the ROC curve of each pair of distributions, from a large sample."""
    aurocs = {}
    for name, (sample_positives, sample_negatives) in SPREADS.items():
        rng = np.random.default_rng(0)
        positives = sample_positives(rng, 200_000)
        negatives = sample_negatives(rng, 200_000)
        scores = np.concatenate((positives, negatives))
        aurocs[name] = compute_placements(scores, np.arange(400_000) < 200_000)[0]
    return aurocs


AUROC_BY_SPREAD = _measure_aurocs()


def make_rankings(spread: str, n_positives: int, n_negatives: int, copies: int = 1) -> Draw:
    """Simulate the area under the ROC curve of scores.

    Args:
        spread: Distributions of the scores, a key of `SPREADS`.
        n_positives: Number of distinct positive items.
        n_negatives: Number of distinct negative items.
        copies: Number of copies of each item, which form a cluster; 1 for no clusters.
    """
    sample_positives, sample_negatives = SPREADS[spread]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        positives = sample_positives(rng, n_positives)
        negatives = sample_negatives(rng, n_negatives)
        scores = np.concatenate((positives, negatives))
        items = np.repeat(np.arange(len(scores)), copies)
        interval = delong(
            scores[items], items < n_positives, clusters=items if copies > 1 else None
        )
        return {"": add_truth(interval, AUROC_BY_SPREAD[spread])}

    return draw


# --------------------------------------------------------------------------------------------------------------- tests


def make_paired_accuracies(n_items: int, discordance: float) -> Draw:
    """Simulate two models of equal accuracy that differ on a share of the items."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        is_correct = rng.random(n_items) < 0.5
        is_discordant = rng.random(n_items) < discordance
        return {"p_value": mcnemar(is_correct, is_correct ^ is_discordant).p_value}

    return draw


def make_paired_scores(distribution: str, n_items: int, copies: int) -> Draw:
    """Simulate scores of two models with equal means, identical in half of the items.

    Args:
        distribution: A key of `BOUNDED`.
        n_items: Number of distinct items.
        copies: Number of copies of each item, which form a cluster; 1 for no clusters.
    """
    sample, _ = BOUNDED[distribution]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        scores = sample(rng, n_items)
        partner_scores = np.where(rng.random(n_items) < 0.5, scores, sample(rng, n_items))
        items = np.repeat(np.arange(n_items), copies)
        test = compare_paired_means(
            scores[items],
            partner_scores[items],
            clusters=items if copies > 1 else None,
            resampling=make_resampling(seed),
        )
        return {"p_value": test.p_value, "interval": add_truth(test.interval, 0.0)}

    return draw


def make_paired_losses(distribution: str, n_items: int) -> Draw:
    """Simulate independent losses of two models, from one distribution of `UNBOUNDED`."""
    sample, _ = UNBOUNDED[distribution]

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        losses = sample(rng, n_items)
        partner_losses = sample(rng, n_items)
        test = compare_paired_means(
            losses, partner_losses, low=None, high=None, resampling=make_resampling(seed)
        )
        return {"p_value": test.p_value, "interval": add_truth(test.interval, 0.0)}

    return draw


def make_symmetric_differences(n_items: int, copies: int) -> Draw:
    """Simulate differences with ties; copies of an item form a cluster, 1 for no clusters."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        differences = rng.choice([-1.0, 0.0, 0.5, -0.5, 1.0], size=n_items)
        items = np.repeat(np.arange(n_items), copies)
        p_value = sign_flip_p_value(
            differences[items],
            clusters=items if copies > 1 else None,
            resampling=make_resampling(seed),
        )
        return {"p_value": p_value}

    return draw


def draw_skewed_differences(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate 15 differences with a mean of 0 that are not symmetric."""
    differences = rng.exponential(size=15) - 1.0
    return {"p_value": sign_flip_p_value(differences, resampling=make_resampling(seed))}


def draw_unequal_trials(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the successes of 60 trials with unequal chances."""
    chances = rng.random(60)
    n_successes = int((rng.random(60) < chances).sum())
    return {"p_value": poisson_binomial_p_value(n_successes, chances)}


def make_clustered_trials(n_clusters: int, chance: float, dependence: float) -> Draw:
    """Simulate trials in clusters of five.

    Args:
        n_clusters: Number of clusters.
        chance: Chance of success of each trial.
        dependence: Share of clusters whose five trials have one common outcome.
    """

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        common = rng.random((n_clusters, 1)) < chance
        independent = rng.random((n_clusters, 5)) < chance
        hits = np.where(rng.random((n_clusters, 1)) < dependence, common, independent)
        clusters = np.repeat(np.arange(n_clusters), 5)
        chances = np.full(hits.size, chance)
        return {"p_value": chances_p_value(hits.ravel(), chances, clusters=clusters)}

    return draw


def make_two_groups(n_inside: int, rate: float) -> Draw:
    """Simulate hits of 80 independent items, of which some are compared with the remaining ones."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        hits = rng.random(80) < rate
        return {"p_value": two_rates_p_value(hits, np.arange(80) < n_inside)}

    return draw


def make_clustered_groups(n_clusters: int, rate: float) -> Draw:
    """Simulate hits in clusters of four items, with half of the items in either group."""

    def draw(rng: np.random.Generator, seed: int) -> Outcome:
        clusters = np.repeat(np.arange(n_clusters), 4)
        n_items = len(clusters)
        # An item has the outcome of its cluster with a chance of 0.7.
        is_common = rng.random(n_items) < 0.7
        common = rng.random(n_clusters) < rate
        independent = rng.random(n_items) < rate
        hits = np.where(is_common, common[clusters], independent)
        is_inside = np.arange(n_items) % 80 < 40
        return {"p_value": two_rates_p_value(hits, is_inside, clusters=clusters)}

    return draw


def draw_smallest_p_value(rng: np.random.Generator, seed: int) -> Outcome:
    """Simulate the smallest of five corrected p-values, of which two are from the same items."""
    p_values = rng.random(5)
    p_values[1] = p_values[0]
    return {"p_value": float(holm(p_values).min())}


def select_figure(draw: Draw, figure: str, name: str) -> Draw:
    """Return a draw with one figure of another draw, under a new name."""

    def draw_figure(rng: np.random.Generator, seed: int) -> Outcome:
        return {name: draw(rng, seed)[figure]}

    return draw_figure


# ----------------------------------------------------------------------------------------------------------- scenarios

COPIES_NOTE = {1: "", 5: ", five copies of each"}
"""Words for the number of copies of each item."""

_SKEWED = "its null is symmetry, not a mean of 0"
_TAIL = "so few items lack the large values that carry the mean"
_RARE = "so few items of one kind often rank all below the others"


def list_share_scenarios() -> list[Scenario]:
    """List the scenarios of shares, in independent items, clusters and strata."""
    scenarios = []
    for n_items, rate in product((3, 20, 200), (None, 0.02, 0.2, 0.5)):
        rate_text = "uniform in [0, 1]" if rate is None else f"{rate:g}"
        draw = select_figure(make_shares(n_items, rate), "", "")
        scenarios.append(Scenario("wilson", f"{n_items} items, rate {rate_text}", draw))
    draw = select_figure(make_shares(30, None), "share", "interval")
    scenarios.append(Scenario("estimate_share", "30 items, rate uniform in [0, 1]", draw))

    concentrations = {"much alike": 1.0, "little alike": 20.0}
    for name, (similarity, concentration) in product(CLUSTERS, concentrations.items()):
        draw = select_figure(make_clusters(name, concentration), "", "")
        scenarios.append(Scenario("cluster_wilson", f"{name} clusters, {similarity}", draw))
    draw = select_figure(make_clusters("20 unequal", 1.0), "rate", "")
    scenarios.append(Scenario("estimate_rate", "20 unequal clusters, much alike", draw))

    for words, sizes, rates in (
        ("five strata of 1 to 30 items", (3, 12, 1, 30, 7), (0.9, 0.5, 0.8, 1.0, 0.3)),
        ("30 strata of two items, rates .95 and .05", (2,) * 30, (0.95, 0.05) * 15),
        ("30 strata of two items, rate .95", (2,) * 30, (0.95,) * 30),
        ("six strata of 1 to 20 items that nearly always pass", (2, 5, 20, 3, 8, 1), (0.98,) * 6),
        ("20 strata of one item, rate .9", (1,) * 20, (0.9,) * 20),
        ("ten strata of 20 items, rates .9 and .2", (20,) * 10, (0.9, 0.2) * 5),
    ):
        scenarios.append(Scenario("stratified_wilson", words, make_strata(sizes, rates)))
    return scenarios


def list_mean_scenarios() -> list[Scenario]:
    """List the scenarios of means, of other statistics of a sample, and of rankings."""
    scenarios = []
    for distribution, n_items, copies in product(BOUNDED, (8, 25, 100), (1, 5)):
        note = ", one to nine copies" if copies > 1 else ""
        words = f"{n_items} values, {distribution}{note}"
        draw = make_bounded_means(distribution, n_items, copies)
        scenarios.append(Scenario("bounded_mean_interval", words, draw))
    for distribution, n_items, copies in product(UNBOUNDED, (8, 25, 60, 200), (1, 5)):
        # One number of items is enough for clusters.
        if copies > 1 and n_items != 60:
            continue
        words = f"{n_items} values, {distribution}{COPIES_NOTE[copies]}"
        draw = make_unbounded_means(distribution, n_items, copies)
        scenarios.append(Scenario("bootstrap_mean", words, draw, known={"": _TAIL}))
    scenarios += [
        Scenario("estimate_mean", "60 values in [0, 1]", draw_estimated_mean),
        Scenario("bootstrap", "median of 61 normal values", draw_median),
        Scenario("bootstrap_sums", "a ratio of two sums over 120 items", draw_ratio),
        Scenario("jackknife", "variance of 60 normal values", draw_variance),
    ]

    for spread, (n_positives, n_negatives) in product(SPREADS, ((12, 12), (200, 12), (60, 30))):
        words = f"{n_positives} and {n_negatives} values, {spread}"
        draw = make_rankings(spread, n_positives, n_negatives)
        scenarios.append(Scenario("delong", words, draw, known={"": _RARE}))
    draw = make_rankings("alike", 60, 30, copies=5)
    scenarios.append(Scenario("delong", "60 and 30 values, alike, five copies of each", draw))
    return scenarios


def list_paired_scenarios() -> list[Scenario]:
    """List the scenarios of tests that compare two models on the same items."""
    scenarios = []
    for n_items, discordance in product((30, 200, 1000), (0.05, 0.3)):
        words = f"{n_items} items, models that differ on {discordance:.0%}"
        draw = make_paired_accuracies(n_items, discordance)
        scenarios.append(Scenario("mcnemar", words, draw, conservative=True))
    for distribution, n_items, copies in product(BOUNDED, (25, 100), (1, 5)):
        words = f"{n_items} values, {distribution}{COPIES_NOTE[copies]}"
        draw = make_paired_scores(distribution, n_items, copies)
        scenarios.append(Scenario("compare_paired_means", words, draw, conservative=True))
    for distribution, n_items in product(UNBOUNDED, (25, 60)):
        words = f"{n_items} values without bounds, {distribution}"
        draw = make_paired_losses(distribution, n_items)
        scenarios.append(Scenario("compare_paired_means", words, draw, conservative=True))
    for n_items, copies in product((12, 30), (1, 5)):
        words = f"{n_items} symmetric differences with ties{COPIES_NOTE[copies]}"
        draw = make_symmetric_differences(n_items, copies)
        scenarios.append(Scenario("sign_flip_p_value", words, draw, conservative=True))
    scenarios.append(
        Scenario(
            "sign_flip_p_value",
            "15 skewed differences",
            draw_skewed_differences,
            known={"p_value": _SKEWED},
        )
    )
    return scenarios


def list_count_scenarios() -> list[Scenario]:
    """List the scenarios of tests of counted successes, and of corrected p-values."""
    scenarios = [
        Scenario(
            "poisson_binomial_p_value",
            "60 trials of unequal chances",
            draw_unequal_trials,
            conservative=True,
        )
    ]
    for n_clusters, chance, dependence in product((12, 40), (0.25, 0.5), (0.0, 1.0)):
        words = f"{n_clusters} clusters of five items, chance {chance:g}, {dependence:.0%} of them alike"
        draw = make_clustered_trials(n_clusters, chance, dependence)
        scenarios.append(Scenario("chances_p_value", words, draw, conservative=True))
    for n_inside, rate in product((15, 40), (0.5, 0.9)):
        words = f"{n_inside} of 80 items beside the others, rate {rate:g}"
        draw = make_two_groups(n_inside, rate)
        scenarios.append(Scenario("two_rates_p_value", words, draw, conservative=True))
    for n_clusters in (40, 100):
        words = (
            f"{n_clusters} clusters of four items that are alike, half of them beside the others"
        )
        draw = make_clustered_groups(n_clusters, 0.6)
        scenarios.append(Scenario("two_rates_p_value", words, draw))
    scenarios.append(
        Scenario(
            "holm",
            "the smallest of five p-values under the null",
            draw_smallest_p_value,
            conservative=True,
        )
    )
    return scenarios


SCENARIOS = (
    *list_share_scenarios(),
    *list_mean_scenarios(),
    *list_paired_scenarios(),
    *list_count_scenarios(),
)
