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

    Returns:
        `rows`: figures of the probes by model and benchmark; and `facts`: the number of models that prefer
        some answers without the question.
    """
    rows = []
    n_biased = 0
    for benchmark, splits in work.settings["benchmarks"].items():
        # All models see the same items.
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
            tables = _ask_probes(load_chooser(trained.folder), test, pool, work, folder / "scores")
            figures = measure_probes(tables, resampling=Resampling(seed=0))
            key = {"model": model_name, "benchmark": benchmark, "items": len(test)}
            rows.append({"key": key, "figures": _describe_probes(figures)})
            # A bias of 0 is that of a model without any preference.
            bias = figures.prior_bias["no_question"].normalized_prior_bias
            n_biased += int(bias > MIN_BIAS)
    return {"rows": rows, "facts": {"n_biased": n_biased, "n_models": len(rows)}}


def probe_language_models(work: Work) -> dict[str, Any]:
    """Probe language models without any training, by each method of scoring choices.

    Returns:
        `rows`: figures of the probes by model, method and benchmark; `facts` are empty.
    """
    rows = []
    for model_name, path in work.settings["language_models"].items():
        # The folder of the packaged model differs between installations.
        model = path
        if path == PACKAGED:
            model = str(demo_language_model())
        for method in work.settings["methods"]:
            scorer = load_chooser(model, method=method)
            for benchmark, splits in work.settings["benchmarks"].items():
                pool = work.load(benchmark, None, splits["test"])
                test = work.sample(pool, work.settings["n_asked"])
                folder = work.folder / model_name / method / benchmark
                tables = _ask_probes(scorer, test, pool, work, folder)
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
    """Return the figures of `_describe_probes` with one more, the drop within the original choices.

    Args:
        figures: Figures of the probes of one model on one benchmark.
    """
    cells = _describe_probes(figures)
    # The drop is that of the probe with the most added choices.
    largest = max(figures.paralysis)
    drop = figures.paralysis[largest].restricted_drop
    # The bootstrap has an interval whenever there are two items.
    if drop.interval is not None:
        cells["restricted"] = write_interval(drop.mean, drop.interval)
    return cells


def _split_benchmark(
    work: Work, name: str, splits: Mapping[str, str]
) -> tuple[datasets.Dataset, datasets.Dataset, datasets.Dataset]:
    """Load a benchmark: items to train on, items to probe, and items from which probes borrow texts.

    Args:
        work: The work of the step, whose settings limit the numbers of items.
        name: Name of the data set.
        splits: "train" and "test" -> a split. If they are the same one, because the labels of the others
            are not public, the model trains on the items that are not probed.

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


def _ask_probes(
    scorer: Scorer, test: datasets.Dataset, pool: datasets.Dataset, work: Work, folder: Path
) -> ProbeTables:
    """Score items as they are and under each probe.

    Args:
        scorer: A model that chooses.
        test: The items.
        pool: Items from which probes borrow texts: the whole split, so that a larger sample of it has the
            same perturbed items.
        work: The work of the step, whose settings have the numbers of added choices.
        folder: Folder in which the scores are stored, so that an interrupted step resumes.
    """

    def score(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
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
    # Variances are divided by their largest value, so that benchmarks with 2 and 4 choices compare.
    cells: dict[str, Any] = {
        "accuracy": write_interval(figures.accuracy, figures.accuracy_interval),
        "original": round(figures.original.normalized_prior_bias, 6),
    }
    for probe, bias in figures.prior_bias.items():
        cells[probe] = round(bias.normalized_prior_bias, 6)
    # A probe has an interval only if it keeps the choice that was correct before.
    for probe, interval in figures.pseudo_correct_intervals.items():
        preference: Any = figures.prior_bias[probe].pseudo_correct
        cells[f"{probe}_pseudo"] = write_interval(preference.rate, interval)
    # The dilution is the drop that the softmax alone would cause, by k choices as good as the average.
    for n_added, paralysis in figures.paralysis.items():
        cells[f"paralysis_{n_added}"] = round(paralysis.choice_paralysis, 6)
        cells[f"dilution_{n_added}"] = round(paralysis.null_drop, 6)
    return cells
