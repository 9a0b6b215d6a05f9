"""Steps that need no model: what follows from the printed figures of a paper, and from our own.

Bihani & Rayz claim that the better calibrated models of a task rest on more shortcuts. `correlate_models`
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
"""Difference below which two sums of rank correlations are equal but for rounding."""


CLAIMED = {"shortcut_rate": "P_sc", "excess": "excess", "shortcut_tradeoff": "T_sc"}
"""Figure that is related to the calibration error -> its name in sentences."""

MIN_MODELS = 3
"""Number of models without which their ranks in a task say nothing."""


def correlate_models(work: Work) -> dict[str, Any]:
    """Test by the printed figures whether trade-off and calibration error go together (Bihani & Rayz).

    The claim is about models on one task, so that the ranks of the models within a task are the
    evidence, and the mean correlation over tasks is the test statistic. If models were ranked at
    random, each task would have the exact distribution of Spearman's correlation of five ranks; the
    mean over tasks is their convolution.

    Returns:
        `rows` and `facts`: the mean correlation and its p-value, for the tasks of each number of classes,
        and for all.
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
        n_models: Number of models that each correlation is over, without ties: one number for each
            task, or a single one for all.

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
    # The distribution of the sum of the correlations, one task after another: its values, and their
    # probabilities.
    sums: Floats = np.zeros(1)
    weights: Floats = np.ones(1)
    for size in n_models:
        values, probabilities = distribution_by_size[size]
        totals = np.add.outer(sums, values).ravel()
        products = np.multiply.outer(weights, probabilities).ravel()
        # Equal sums are merged, or there would be as many as a power of the number of tasks.
        rounded = np.round(totals, 9)
        sums, indices = np.unique(rounded, return_inverse=True)
        weights = np.bincount(indices, products).astype(np.float64)
    # The mean is as extreme as the sum, since all sums are over equally many tasks.
    observed = abs(float(np.sum(correlations)))
    is_extreme = np.abs(sums) >= observed - RESOLUTION
    return float(weights[is_extreme].sum())


def list_correlations(n_models: int) -> tuple[Floats, Floats]:
    """Return the values of Spearman's correlation under random ranks, and their probabilities.

    Args:
        n_models: Number of ranks. All their orders are listed, so that it has to be small.

    Example:
        >>> values, probabilities = list_correlations(3)
        >>> values.tolist()
        [-1.0, -0.5, 0.5, 1.0]
    """
    # Spearman's correlation is Pearson's of the ranks.
    ranks = np.arange(n_models)
    correlations = []
    for permutation in itertools.permutations(range(n_models)):
        result = stats.pearsonr(ranks, permutation)
        correlations.append(result.statistic)
    # Rounded, so that equal correlations are counted together.
    rounded = np.round(correlations, 9)
    values, counts = np.unique(rounded, return_counts=True)
    return values, counts / counts.sum()


def correlate_trained_models(work: Work) -> dict[str, Any]:
    """Relate the shortcut figures of our own models to their calibration error, within each task.

    Returns:
        `rows`: mean correlation over tasks and its p-value, by figure; and `facts`: a sentence on them.
    """
    measured = work.settings["measured"]
    models_by_task: dict[str, list[dict[str, Any]]] = {}
    for row in work.results[measured]["rows"]:
        task = row["key"]["task"]
        models_by_task.setdefault(task, []).append(row["figures"])

    rows = []
    claims = []
    for name, short_name in CLAIMED.items():
        figures = _relate_to_error(models_by_task, name)
        # A figure may be undefined in all tasks, or there may be too few models.
        if figures is None:
            continue
        rows.append({"key": {"figure": short_name}, "figures": figures})
        mean_rho = figures["mean_rho"]
        p_value = figures["p_value"]
        claims.append(f"{mean_rho:+.2f} for {short_name} (p = {p_value:.2g})")
    answer = describe_correlations(claims)
    return {"rows": rows, "facts": {"answer": answer}}


def _relate_to_error(
    models_by_task: Mapping[str, Sequence[dict[str, Any]]],
    name: str,
) -> dict[str, float] | None:
    """Return the mean rank correlation of a figure with the calibration error, and its p-value.

    Args:
        models_by_task: Task -> figures of each model.
        name: The figure, such as "shortcut_rate".

    Returns:
        {"n_tasks": …, "mean_rho": …, "p_value": …}; None if no task has a correlation.
    """
    correlations = []
    n_models_by_correlation = []
    for models in models_by_task.values():
        rho = correlate_with_error(models, name)
        # A model that is never cued by a shortcut has no trade-off, and its task no ranks.
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
        models: Figures of each model, each with its `value`.
        name: The figure.

    Returns:
        The correlation, or None with fewer than `MIN_MODELS` models, or if a model lacks the figure
        or all models have one value.

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
    # Without any difference there are no ranks.
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
