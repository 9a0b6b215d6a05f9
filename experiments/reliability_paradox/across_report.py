"""The tests and the table of the paradox across models, from their runs alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

MODELS = {
    "cnn": "CNN over GloVe",
    "encoder-2": "MiniLM, 2 layers",
    "encoder-4": "MiniLM, 4 layers",
    "encoder-6": "MiniLM, 6 layers",
    "smollm2": "SmolLM2-135M",
}
SEEDS = (0, 1, 2)
FIGURES = ("f1", "accuracy", "shortcut_rate", "null_rate", "excess", "tradeoff", "ece")
CLAIMS = {"shortcut_rate": -1, "excess": -1, "tradeoff": 1}
"""Figure -> the sign of its relation with ECE within a task if the better calibrated model rests on more shortcuts."""

N_PERMUTATIONS = 20_000
Runs = dict[str, dict[str, dict[str, dict[str, float | None]]]]
"""data set -> model -> seed -> figures."""


ONE_CLASS = "†"
"""Marks a model that predicts one class."""


def predicts_one_class(f1: float | None, accuracy: float | None) -> bool:
    """Tell whether macro F1 and accuracy are those of a constant answer: F1 = (2 a / (1 + a)) / K, for K classes."""
    if f1 is None or accuracy is None:
        return False
    return any(
        abs(f1 - 2 * accuracy / (1 + accuracy) / n_classes) < 1e-9 for n_classes in range(2, 10)
    )


# --------------------------------------------------------------------------------------------------------------- tests


def means(runs: Runs, figure: str) -> dict[str, dict[str, float]]:
    """Return the mean over the seeds of each data set and model that has at least one run in which it is defined."""
    return {
        label: {
            model: float(np.mean(values))
            for model in MODELS
            if (
                values := [
                    row[figure] for row in models.get(model, {}).values() if row[figure] is not None
                ]
            )
        }
        for label, models in runs.items()
    }


def whole(runs: Runs) -> Runs:
    """Leave out models of which a run is missing in any data set: the tests are about the same models everywhere."""
    kept = [
        model
        for model in MODELS
        if all(len(models.get(model, {})) == len(SEEDS) for models in runs.values())
    ]
    return {label: {model: models[model] for model in kept} for label, models in runs.items()}


def within_tasks(runs: Runs, figure: str, seed: int = 0) -> dict[str, Any] | None:
    """Test whether a figure goes with ECE over the models of a task, in tasks together.

    Spearman's correlation within each task, its mean over the tasks, and the share of concordant minus discordant pairs
    of models (Kendall) over all pairs of a task. p: two-sided, permuting the models of each task. The interval of the
    mean is Student's t over the tasks. None where fewer than three tasks have at least three models.
    """
    figures, errors = means(runs, figure), means(runs, "ece")
    tasks = {}
    for label, values in figures.items():
        both = [
            (value, errors[label][model])
            for model, value in values.items()
            if model in errors[label]
        ]
        if len(both) >= 3 and all(len(set(column)) > 1 for column in zip(*both, strict=True)):
            tasks[label] = np.array(both).T
    if len(tasks) < 3:
        return None

    def ranks(row: np.ndarray) -> np.ndarray:
        centered = stats.rankdata(row) - (len(row) + 1) / 2
        return centered / np.linalg.norm(centered)

    def signs(row: np.ndarray) -> np.ndarray:
        places = np.triu_indices(len(row), 1)
        return np.sign(row[places[0]] - row[places[1]])

    generator = np.random.default_rng(seed)
    rho, drawn_rho, pairs, drawn_pairs = [], np.zeros(N_PERMUTATIONS), [], np.zeros(N_PERMUTATIONS)
    n_pairs = sum(values.shape[1] * (values.shape[1] - 1) // 2 for values in tasks.values())
    for first_values, other in tasks.values():
        rho.append(float(ranks(first_values) @ ranks(other)))
        pairs.append(float(signs(first_values) @ signs(other)))
        orders = generator.permuted(
            np.tile(np.arange(len(first_values)), (N_PERMUTATIONS, 1)), axis=1
        )
        drawn_rho += ranks(other)[orders] @ ranks(first_values)
        first, second = np.triu_indices(len(first_values), 1)
        shuffled = other[orders]
        drawn_pairs += np.sign(shuffled[:, first] - shuffled[:, second]) @ signs(first_values)
    mean = float(np.mean(rho))
    half = float(stats.t.ppf(0.975, len(rho) - 1) * np.std(rho, ddof=1) / np.sqrt(len(rho)))
    drawn = np.abs(drawn_rho / len(tasks))
    return {
        "tasks": {
            label: {"n_models": values.shape[1], "rho": value}
            for (label, values), value in zip(tasks.items(), rho, strict=True)
        },
        "mean_rho": mean,
        "interval": [max(mean - half, -1.0), min(mean + half, 1.0)],
        "p": float((1 + (drawn >= abs(mean) - 1e-12).sum()) / (N_PERMUTATIONS + 1)),
        "concordance": sum(pairs) / n_pairs,
        "concordance_p": float(
            (1 + (np.abs(drawn_pairs) >= abs(sum(pairs)) - 1e-9).sum()) / (N_PERMUTATIONS + 1)
        ),
        "n_pairs": n_pairs,
        # A mean correlation of this size is significant.
        "detectable": float(np.quantile(drawn, 1 - 0.05 / len(CLAIMS))),
    }


def answer(test: Mapping[str, Any] | None, sign: int) -> str:
    """Say what a test says of the paper's claim."""
    if test is None:
        return "too few models"
    if test["p"] >= 0.05 / len(CLAIMS):
        return "cannot tell"
    return "as the paper says" if np.sign(test["mean_rho"]) == sign else "the other way round"


# ------------------------------------------------------------------------------------------------------------- writing


def write_report(results: Mapping[str, Any], folder: Path) -> None:
    """Write the tables of figures, one row per data set and one column per model, and that of the tests."""
    runs: Runs = results["runs"]
    done = sum(len(seeds) for models in runs.values() for seeds in models.values())
    planned = len(results["datasets"]) * len(MODELS) * len(SEEDS)
    introduction = (
        f"{done} of {planned} runs (data set, model, seed); a cell is the mean over its seeds, whose number is in "
        f"parentheses, and – has not been run. {ONE_CLASS}: with a seed, or all, that predicts one class."
    )
    lines = [introduction]
    cells = {figure: means(runs, figure) for figure in FIGURES}
    for figure, title, scale, digits in (
        ("f1", "Macro F1", 1, 2),
        ("ece", "ECE, top label, 10 bins", 1, 3),
        ("shortcut_rate", "P_sc, %", 100, 1),
        ("excess", "Excess of P_sc over blind picks, points", 100, 1),
        ("tradeoff", "T_sc", 1, 2),
    ):
        rows = []
        for label in results["datasets"]:
            row = [label]
            for model in MODELS:
                value = cells[figure].get(label, {}).get(model)
                seeds = runs.get(label, {}).get(model, {})
                constant = any(
                    predicts_one_class(figures["f1"], figures["accuracy"])
                    for figures in seeds.values()
                )
                mark = ONE_CLASS if constant else ""
                row.append(
                    "–" if value is None else f"{scale * value:.{digits}f}{mark} ({len(seeds)})"
                )
            rows.append(row)
        lines += ["", f"**{title}**", *_markdown(("data set", *MODELS.values()), rows)]
    rows = []
    for figure, sign in CLAIMS.items():
        test = results["tests"][figure]
        if test is None:
            rows.append((figure, "–", "–", "–", "–", "–", answer(None, sign)))
            continue
        low, high = test["interval"]
        rows.append(
            (
                figure,
                f"{len(test['tasks'])}",
                f"{test['mean_rho']:.2f} [{low:.2f}, {high:.2f}]",
                f"{test['p']:.3f}",
                f"{test['concordance']:.2f} (p = {test['concordance_p']:.3f})",
                f"{test['detectable']:.2f}",
                answer(test, sign),
            )
        )
    names = (
        "figure against ECE",
        "tasks",
        "mean Spearman within tasks",
        "p",
        "pairs of models",
        "significant from",
        "the claim",
    )
    lines += ["", "**Within tasks, across models**", *_markdown(names, rows)]
    (folder / "across_models.md").write_text("\n".join(lines) + "\n", "utf-8")


def _markdown(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["", *(f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows))]
