"""Does good behavior generalize? A model's score on independent data and on a suite, in one figure, with a test."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Result, ingest, to_numpy
from rightreasons.core.errors import one_line, unknown_name
from rightreasons.core.validation import (
    MOST_DRAWS,
    check_count,
    check_fraction,
    check_kind,
    check_same_length,
    check_seed,
    check_vector,
)

SETTINGS = ("standard", "seen", "functionality", "class", "type")
"""What of the suite was trained on when a functionality was scored: nothing, all of it, all but that functionality, all
but its class, all but its test type."""


@dataclasses.dataclass(frozen=True)
class GeneralizationScore(Result):
    """G scores; see `generalization_score`.

    Attributes:
        generalization_score: Mean of the G scores of the settings other than "standard", or that of "standard" where it
            is alone.
        scores: Setting -> G, the harmonic mean of `iid_score` and the suite score, in [0, 1].
        suite_scores: Setting -> suite score: unweighted mean of the functionalities' pass rates.
        n_functionalities: Setting -> how many functionalities.
    """

    generalization_score: float
    scores: dict[str, float]
    suite_scores: dict[str, float]
    n_functionalities: dict[str, int]


def harmonic_mean(first: float, second: float) -> float:
    """Return 2ab / (a + b), and 0 where one of them is 0.

    Example:
        >>> round(harmonic_mean(0.9, 0.6), 6)
        0.72
    """
    return 0.0 if first <= 0 or second <= 0 else 2 * first * second / (first + second)


def generalization_score(pass_rates: Mapping[str, Any], iid_score: float) -> GeneralizationScore:
    r"""Join a model's score on independent data with its scores on a behavioral suite.

        G = 2 s_iid s / (s_iid + s),   s = mean pass rate over functionalities

    Args:
        pass_rates: Setting (one of `SETTINGS`) -> (F,) pass rates of the functionalities, each scored by the model of
            that setting. Functionalities that are not defined for a model are left out by the caller.
        iid_score: Score on independent data, such as accuracy, in [0, 1].

    Returns:
        A `GeneralizationScore`. Higher is better.

    Raises:
        ValueError: If a setting is unknown, a rate lies outside [0, 1] or there are none.

    References:
        Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL,
        section 3.

    Example:
        >>> result = generalization_score({"seen": [0.5, 0.7]}, 0.9)
        >>> round(result.scores["seen"], 6)
        0.72
    """
    check_kind(pass_rates, "pass_rates", Mapping)
    if not pass_rates:
        raise ValueError("Expected the pass rates of at least one setting, but got none.")
    iid = check_fraction(iid_score, "iid_score")
    suites, counts = {}, {}
    for setting, rates in pass_rates.items():
        if setting not in SETTINGS:
            raise unknown_name("setting", setting, SETTINGS)
        values = check_vector(rates, setting, minimum=0, maximum=1)
        suites[setting], counts[setting] = float(values.mean()), len(values)
    scores = {setting: harmonic_mean(iid, score) for setting, score in suites.items()}
    generalizing = [score for setting, score in scores.items() if setting != "standard"]
    return GeneralizationScore(
        generalization_score=float(np.mean(generalizing)) if generalizing else scores["standard"],
        scores=scores,
        suite_scores=suites,
        n_functionalities=counts,
    )


@dataclasses.dataclass(frozen=True)
class Randomization(Result):
    """Approximate randomization of a difference of G scores.

    Attributes:
        difference: G of the first model minus that of the second.
        p_value: (k + 1) / (n_permutations + 1), k shuffles with a difference at least as large in size.
        n_permutations: How many shuffles.
    """

    difference: float
    p_value: float
    n_permutations: int


def compare_generalization(
    iid: tuple[object, object], suites: Sequence[tuple[object, object]], *, n_permutations: int = 10_000, seed: int = 0
) -> Randomization:
    """Test the difference of two models' G by approximate randomization.

    On every item that the models differ on, their outcomes change places with probability 1/2, and G is computed anew.

    Args:
        iid: Outcomes (N,) of the first and second model on independent data, 1 right and 0 wrong.
        suites: For every functionality, the outcomes of both models on its cases: 1 passed, 0 failed, NaN undefined. A
            case that is undefined for one of them changes no places; a functionality without a defined case is left
            out of the mean.
        n_permutations: Number of shuffles; default 10,000 as in the paper.
        seed: Seed of the shuffles; default 0.

    Returns:
        A `Randomization`.

    Raises:
        ValueError: If an outcome is none of these, lengths differ, or a model has no defined case at all.

    References:
        Yeh (2000), "More accurate tests for the statistical significance of result differences", COLING; Luz de Araujo
        and Roth (2023), section 4.
    """
    shuffles = check_count(n_permutations, "n_permutations", maximum=MOST_DRAWS)
    rng = np.random.default_rng(check_seed(seed))
    groups = [_pair(iid, "iid"), *(_pair(pair, f"suites[{k}]") for k, pair in enumerate(ingest(suites, "suites")))]
    if np.isnan(groups[0]).any():
        raise ValueError("Expected an outcome of every independent item for both models, but some are undefined.")
    for side, name in enumerate(("first", "second")):
        if all(np.isnan(pair[side]).all() for pair in groups[1:]):
            raise ValueError(f"Expected a defined case of the {name} model in at least one of `suites`, but none is.")
    delta = float(_difference([_means(a, b, np.zeros(1)) for a, b in groups])[0])
    permuted = _difference([_shuffled_means(a, b, shuffles, rng) for a, b in groups])
    k = int((np.abs(permuted) >= abs(delta) - 1e-12).sum())
    return Randomization(delta, (k + 1) / (shuffles + 1), shuffles)


def _difference(means: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the first model's G minus the second's, (R,), from their means on independent data and suites, (2, R)."""
    suite = np.nanmean(np.stack(means[1:]), axis=0)
    first, second = 2 * means[0] * suite / np.maximum(means[0] + suite, 1e-300)
    return np.asarray(first - second, dtype=np.float64)


def _pair(pair: Any, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    try:
        a, b = (np.asarray(to_numpy(column, name), dtype=np.float64) for column in pair)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Expected `{name}` to be a pair of outcomes, but got {one_line(pair)}.") from error
    check_same_length(first=a, second=b)
    for values in (a, b):
        if values.ndim != 1 or len(values) == 0 or not np.isin(values[~np.isnan(values)], (0, 1)).all():
            raise ValueError(f"Expected outcomes of 1, 0 or NaN, (N,), in `{name}`, but got {one_line(values)}.")
    return a, b


def _shuffled_means(
    a: NDArray[np.float64], b: NDArray[np.float64], shuffles: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the means of both sides under random exchange, (2, shuffles).

    Only the number of exchanged wins matters: of the items that one side alone gets right, each side gains and loses a
    binomial number.
    """
    both = ~np.isnan(a) & ~np.isnan(b)
    first_wins = int((a[both] > b[both]).sum())
    second_wins = int((b[both] > a[both]).sum())
    moved = rng.binomial(second_wins, 0.5, shuffles) - rng.binomial(first_wins, 0.5, shuffles)
    return _means(a, b, moved)


def _means(a: NDArray[np.float64], b: NDArray[np.float64], moved: NDArray[Any]) -> NDArray[np.float64]:
    """Return both means when so many passes have moved to the first side, (2, len(moved)); NaN for a side of NaN."""
    sides = ((np.nansum(a) + moved, a), (np.nansum(b) - moved, b))
    return np.stack(
        [total / n if (n := int((~np.isnan(side)).sum())) else np.full(len(moved), np.nan) for total, side in sides]
    )
