"""Steps that need no model: tests of a claim by printed figures of a paper, and by our own figures.

Bihani & Rayz claim that the better calibrated models of a task rely on more shortcuts. `correlate_models`
tests this by their printed figures, and `correlate_trained_models` by those of an earlier step.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.replicate.recipe import load_recipe
from rightreasons.replicate.work import Work

Floats = NDArray[np.float64]

RESOLUTION = 1e-9
"""Largest difference of two sums of rank correlations that is attributed to rounding."""


CLAIMED = {"shortcut_rate": "P_sc", "excess": "excess", "shortcut_tradeoff": "T_sc"}
"""Figure that is related to the calibration error -> its name in sentences."""

MIN_MODELS = 3
"""Minimum number of models in a task; with fewer, their ranks are not meaningful."""


def correlate_models(work: Work) -> dict[str, Any]:
    """Test by the printed figures whether trade-off and calibration error are related (Bihani & Rayz).

    The claim is about models on the same task, so that models are ranked within each task, and the
    test statistic is the mean of Spearman's correlation over tasks. Its distribution for randomly
    ranked models is computed exactly.

    Args:
        work: Settings of the step; `settings["printed"]` is the key of the table of printed figures.

    Returns:
        `rows` and `facts`: the mean correlation and its p-value, for the tasks of each number of classes,
        and for all tasks.
    """
    printed = load_recipe("bihani2025").printed[work.settings["printed"]]
    n_models = printed["n_models"]
    rhos_by_group: dict[str, list[float]] = {}
    for row in printed["rows"]:
        rho = row["figures"]["rho"]
        # A task in which all models have the same error has no correlation.
        if rho is not None:
            rhos_by_group.setdefault(row["key"]["classes"], []).append(rho)
    rhos_by_group["all"] = list(itertools.chain.from_iterable(rhos_by_group.values()))
    rows = []
    facts = {}
    for name, rhos in rhos_by_group.items():
        mean_rho = round(float(np.mean(rhos)), 6)
        p_value = round(compute_mean_p_value(rhos, n_models), 6)
        figures = {
            "n_tasks": len(rhos),
            "mean_rho": mean_rho,
            "p_value": p_value,
        }
        rows.append({"key": {"classes of the tasks": name}, "figures": figures})
        facts[name] = mean_rho
        facts[f"{name}_p_value"] = p_value
    return {"rows": rows, "facts": facts}


def compute_mean_p_value(correlations: Sequence[float], n_models: int | Sequence[int]) -> float:
    """Test whether the mean of independent rank correlations is zero, exactly.

    Args:
        correlations: Spearman's correlation of each task.
        n_models: Number of models of each task, which are ranked without ties; or a single number for
            all tasks.

    Returns:
        Two-sided p-value, in (0, 1].

    Example:
        For a single task of three models, two of the six orders have a correlation of 1 or -1.

        >>> round(compute_mean_p_value([1.0], 3), 6)
        0.333333
    """
    if isinstance(n_models, int):
        n_models = [n_models] * len(correlations)
    distribution_by_size = {size: list_correlations(size) for size in set(n_models)}
    # The exact distribution of the sum of the correlations, to which one task after another is added:
    # its possible values, and their probabilities.
    sums: Floats = np.zeros(1)
    sum_probabilities: Floats = np.ones(1)
    for size in n_models:
        values, probabilities = distribution_by_size[size]
        totals = np.add.outer(sums, values).ravel()
        products = np.multiply.outer(sum_probabilities, probabilities).ravel()
        # Merge equal sums. Otherwise, their number would grow exponentially with the number of tasks.
        rounded = np.round(totals, 9)
        sums, indices = np.unique(rounded, return_inverse=True)
        sum_probabilities = np.bincount(indices, products).astype(np.float64)
    # The number of tasks is fixed, so that the sum can be tested in place of the mean.
    observed_sum = abs(float(np.sum(correlations)))
    is_extreme = np.abs(sums) >= observed_sum - RESOLUTION
    return float(sum_probabilities[is_extreme].sum())


def list_correlations(n_models: int) -> tuple[Floats, Floats]:
    """Return the values of Spearman's correlation under random ranks, and their probabilities.

    Args:
        n_models: Number of ranks, at most about 8, because all their orders are listed.

    Example:
        >>> values, probabilities = list_correlations(3)
        >>> values.tolist()
        [-1.0, -0.5, 0.5, 1.0]
    """
    # Spearman's correlation is Pearson's correlation of ranks.
    ranks = np.arange(n_models)
    correlations = []
    for permutation in itertools.permutations(range(n_models)):
        result = stats.pearsonr(ranks, permutation)
        correlations.append(result.statistic)
    # Round the correlations, so that equal ones are counted together.
    rounded = np.round(correlations, 9)
    values, counts = np.unique(rounded, return_counts=True)
    return values, counts / counts.sum()


def correlate_trained_models(work: Work) -> dict[str, Any]:
    """Correlate the shortcut figures of our own models with their calibration error, within each task.

    Args:
        work: Settings and results of the step; `settings["measured"]` is the name of the step that measured the
            models.

    Returns:
        `rows`: mean rank correlation over tasks and its p-value, by figure; and `facts`: a sentence on
        them.
    """
    measured = work.settings["measured"]
    models_by_task: dict[str, list[dict[str, Any]]] = {}
    for row in work.results[measured]["rows"]:
        task = row["key"]["task"]
        models_by_task.setdefault(task, []).append(row["figures"])

    rows = []
    claims = []
    for name, short_name in CLAIMED.items():
        figures = _average_correlations(models_by_task, name)
        # Skip a figure that is undefined in all tasks, or if there are too few models.
        if figures is None:
            continue
        rows.append({"key": {"figure": short_name}, "figures": figures})
        mean_rho = figures["mean_rho"]
        p_value = figures["p_value"]
        claims.append(f"{mean_rho:+.2f} for {short_name} (p = {p_value:.2g})")
    answer = describe_correlations(claims)
    return {"rows": rows, "facts": {"answer": answer}}


def _average_correlations(
    models_by_task: Mapping[str, Sequence[dict[str, Any]]],
    name: str,
) -> dict[str, float] | None:
    """Return the mean rank correlation of a figure with the calibration error, and its p-value.

    Args:
        models_by_task: Task -> figures of each model, such as {"ece": {"value": 0.1}, …}.
        name: Name of the figure, such as "shortcut_rate".

    Returns:
        {"n_tasks": …, "mean_rho": …, "p_value": …}; None if the correlation is undefined in all tasks.
    """
    correlations = []
    n_models_by_correlation = []
    for models in models_by_task.values():
        rho = correlate_with_error(models, name)
        # The correlation is None if a figure is undefined for a model, such as the trade-off.
        if rho is not None:
            correlations.append(rho)
            n_models_by_correlation.append(len(models))
    if not correlations:
        return None
    mean_rho = float(np.mean(correlations))
    p_value = compute_mean_p_value(correlations, n_models_by_correlation)
    return {
        "n_tasks": len(correlations),
        "mean_rho": round(mean_rho, 6),
        "p_value": round(p_value, 6),
    }


def correlate_with_error(models: Sequence[dict[str, Any]], name: str) -> float | None:
    """Return Spearman's correlation of a figure with the calibration error over the models of a task.

    Args:
        models: Figures of each model, such as {"ece": {"value": 0.1}, "f1": {"value": 90.0}}.
        name: Name of the figure, such as "f1".

    Returns:
        The correlation; None if there are fewer than `MIN_MODELS` models, a model does not have the
        figure, or all models have the same value or the same error.

    Example:
        >>> models = [{"ece": {"value": error}, "f1": {"value": 1 - error}} for error in (0.1, 0.2, 0.3)]
        >>> correlate_with_error(models, "f1")
        -1.0
    """
    errors = []
    values = []
    for model in models:
        if name not in model:
            return None
        errors.append(model["ece"]["value"])
        values.append(model[name]["value"])
    if len(models) < MIN_MODELS:
        return None
    # If all values are equal, the models cannot be ranked.
    if len(set(errors)) == 1 or len(set(values)) == 1:
        return None
    result = stats.spearmanr(errors, values)
    return round(float(result.statistic), 9)


def describe_correlations(claims: Sequence[str]) -> str:
    """Return a sentence on the mean correlations with the calibration error.

    Example:
        >>> describe_correlations([])
        'With fewer than three models per task, their ranks say nothing about the claim.'
    """
    if not claims:
        return "With fewer than three models per task, their ranks say nothing about the claim."
    return (
        "Over our own models, the mean rank correlation with the ECE within a task is "
        f"{', '.join(claims)}: the paper expects P_sc to fall and T_sc to rise with the ECE."
    )
