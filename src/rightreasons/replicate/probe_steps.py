"""Steps about confusion probes: trained models and language models on four benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.core.resampling import Resampling
from rightreasons.datasets.perturbing.probes import Pool
from rightreasons.models.choices import load_chooser
from rightreasons.models.classes import choose
from rightreasons.models.protocol import Scorer
from rightreasons.models.scorers import demo_language_model
from rightreasons.probes.measure import ProbeFigures, ProbeTables, measure_probes, probe_tables
from rightreasons.replicate.work import PACKAGED, Work, write_interval
from rightreasons.training.finetune import fine_tune

MIN_BIAS = 0.01
"""Normalized prior bias above which a model counts as biased."""


def probe_trained_models(work: Work) -> dict[str, Any]:
    """Train a model on each benchmark, and probe it on items that it was not trained on.

    Args:
        work: Settings, models, data and folder of the step. `settings["benchmarks"]` has the splits of each data
            set.

    Returns:
        `rows`: figures of the probes by model and benchmark; and `facts`: the number of models that prefer
        some answers without the question.
    """
    rows = []
    n_biased = 0
    for benchmark, splits in work.settings["benchmarks"].items():
        # All models have the same training and test items.
        train, test, pool = _split_benchmark(work, benchmark, splits)
        for model_name, path in work.models.items():
            folder = work.folder / model_name / benchmark
            trained = fine_tune(
                path,
                train,
                out=folder / "model",
                task="multiple_choice",
                seed=0,
                metrics=("accuracy",),
                checkpoint_steps=0,
                progress=False,
                **work.settings["training"],
            )
            scorer = load_chooser(trained.folder)
            tables = _score_probes(scorer, test, pool, work, folder / "scores")
            figures = measure_probes(tables, resampling=Resampling(seed=0))
            key = {"model": model_name, "benchmark": benchmark, "items": len(test)}
            rows.append({"key": key, "figures": _describe_probes(figures)})
            # A model that prefers no answer has a bias of 0.
            bias = figures.prior_bias["no_question"].normalized_prior_bias
            n_biased += int(bias > MIN_BIAS)
    return {"rows": rows, "facts": {"n_biased": n_biased, "n_models": len(rows)}}


def probe_language_models(work: Work) -> dict[str, Any]:
    """Probe language models without any training, by each method of scoring choices.

    Args:
        work: Settings, data and folder of the step. `settings["language_models"]` has the path of each model,
            `settings["methods"]` the methods of scoring, `settings["benchmarks"]` the splits of each data set.

    Returns:
        `rows`: figures of the probes by model, method and benchmark; `facts` are empty.
    """
    rows = []
    for model_name, path in work.settings["language_models"].items():
        model = path
        if path == PACKAGED:
            # Recipes have the name of the packaged model, whose folder differs between installations.
            model = str(demo_language_model())
        for method in work.settings["methods"]:
            scorer = load_chooser(model, method=method)
            for benchmark, splits in work.settings["benchmarks"].items():
                pool = work.load(benchmark, None, splits["test"])
                test = work.sample(pool, work.settings["n_asked"])
                folder = work.folder / model_name / method / benchmark
                tables = _score_probes(scorer, test, pool, work, folder)
                figures = measure_probes(tables, resampling=Resampling(seed=0))
                key = {
                    "model": model_name,
                    "method": method,
                    "benchmark": benchmark,
                    "items": len(test),
                }
                rows.append({"key": key, "figures": _describe_language_model(figures)})
    return {"rows": rows, "facts": {}}


def _describe_language_model(figures: ProbeFigures) -> dict[str, Any]:
    """Return accuracy, prior bias and choice paralysis of a language model as the figures of a row.

    In addition to the figures of trained models, `restricted` is the drop of the confidence in the correct
    choice relative to the original choices, when most choices are added.

    Args:
        figures: Figures of the probes of one model on one benchmark.
    """
    cells = _describe_probes(figures)
    max_added = max(figures.paralysis)
    drop = figures.paralysis[max_added].restricted_drop
    # The interval is None if there are fewer than two items.
    if drop.interval is not None:
        cells["restricted"] = write_interval(drop.mean, drop.interval)
    return cells


def _split_benchmark(
    work: Work, name: str, splits: Mapping[str, str]
) -> tuple[datasets.Dataset, datasets.Dataset, datasets.Dataset]:
    """Load a benchmark: items to train on, items to probe, and items from which probes borrow texts.

    Args:
        work: Settings, folder and data of the step; settings limit the numbers of items.
        name: Name of the data set.
        splits: "train" and "test" -> name of a split. If both are the same split, because the labels of
            other splits are not public, the model is trained on the items that are not probed.

    Returns:
        Training items, test items, and the whole test split.
    """
    test_pool = work.load(name, None, splits["test"])
    test = work.sample(test_pool, work.settings["n_test"])
    if splits["train"] != splits["test"]:
        train = work.load(name, None, splits["train"])
    else:
        test_ids = set(test["id"][:])
        rows = []
        for row, item_id in enumerate(test_pool["id"][:]):
            if item_id not in test_ids:
                rows.append(row)
        train = test_pool.select(rows)
    return work.sample(train, work.settings["n_train"]), test, test_pool


def _score_probes(
    scorer: Scorer, test: datasets.Dataset, pool: datasets.Dataset, work: Work, folder: Path
) -> ProbeTables:
    """Score the choices of items, unperturbed and under each probe.

    Args:
        scorer: A multiple-choice model or a language model.
        test: The items.
        pool: Items from which probes borrow texts: the whole split, so that the perturbed items do not
            depend on the size of the sample.
        work: Settings, folder and data of the step; settings have the numbers of added choices.
        folder: Folder in which the scores are stored, so that an interrupted step resumes.
    """

    def score(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
        """Return the scores of the choices of items."""
        return choose(scorer, prompts, choices, ids=ids, progress=False, out=folder)

    n_added = tuple(work.settings["ks"])
    tables = probe_tables(test, ks=n_added, pool=Pool(pool), seed=0)
    return tables.scored_by(score)


def _describe_probes(figures: ProbeFigures) -> dict[str, Any]:
    """Return accuracy, prior bias and choice paralysis of one model as the figures of a row.

    Args:
        figures: Figures of the probes of one model on one benchmark.

    Returns:
        Column of the table -> a number, or {"value": …, "low": …, "high": …}.
    """
    # The prior bias is normalized to [0, 1], so that benchmarks with 2 and 4 choices can be compared.
    cells: dict[str, Any] = {
        "accuracy": write_interval(figures.accuracy, figures.accuracy_interval),
        "original": round(figures.original.normalized_prior_bias, 6),
    }
    for probe, bias in figures.prior_bias.items():
        cells[probe] = round(bias.normalized_prior_bias, 6)
    # Only probes that keep the choice that was correct before are in this mapping.
    for probe, interval in figures.pseudo_correct_intervals.items():
        preference: Any = figures.prior_bias[probe].pseudo_correct
        cells[f"{probe}_pseudo"] = write_interval(preference.rate, interval)
    # The dilution is the drop that k added choices of average score would cause by the softmax alone.
    for n_added, paralysis in figures.paralysis.items():
        cells[f"paralysis_{n_added}"] = round(paralysis.choice_paralysis, 6)
        cells[f"dilution_{n_added}"] = round(paralysis.null_drop, 6)
    return cells
