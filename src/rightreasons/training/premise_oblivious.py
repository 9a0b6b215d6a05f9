"""Easy and Hard items of a data set: those that models solve without the premise, and the others.

`premise_oblivious_split` trains models on the choices alone, and tests which items they solve.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.core.results import Result
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_count, check_labels, check_seed
from rightreasons.models.loading import load_multiple_choice
from rightreasons.training.examples import Table, convert_table
from rightreasons.training.finetune import fine_tune

TASK = "multiple_choice"


def train_and_score(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    tests: Mapping[str, Table],
    *,
    out: str | os.PathLike[str],
    **options: Any,
) -> dict[str, Scores]:
    """Fine-tune a multiple-choice model and score test sets with it.

    A finished run is loaded and not repeated; a killed run resumes from its last checkpoint.

    Args:
        model_name_or_path: An encoder.
        train: The training set: `prompt`, `choices` and `label`.
        tests: Test sets by name, in the same form, and optionally with a column `id`.
        out: The folder of this run. The fine-tuned model is in its subfolder `model`.
        **options: Options of `fine_tune`; `progress` is off by default.

    Returns:
        `Scores` by the name of the test set.

    Raises:
        ValueError: If `out` contains other files, a column is missing, or an option is invalid.
    """
    options = {"progress": False, "device": None, **options}
    # Test sets are checked before the training, which takes longer.
    test_sets = {}
    for name, table in tests.items():
        test_sets[name] = convert_table(table, TASK, f"tests[{name!r}]")
    trained = fine_tune(model_name_or_path, train, out=Path(out) / "model", task=TASK, **options)
    scorer = load_multiple_choice(trained.folder, device=options["device"])
    max_length = min(options.get("max_length") or scorer.max_length, scorer.max_length)
    scores = {}
    for name, dataset in test_sets.items():
        rows = dataset.with_format(None)
        ids = rows["id"][:] if "id" in rows.column_names else None
        scores[name] = scorer.choose(
            rows["prompt"][:],
            rows["choices"][:],
            ids=ids,
            labels=rows["label"][:],
            max_length=max_length,
            progress=options["progress"],
            out=Path(out) / f"scores-{name}",
        )
    return scores


@dataclasses.dataclass(frozen=True)
class EasyHardSplit(Result):
    """Items that models solve without the premises (Easy), and the others (Hard).

    Attributes:
        ids: The N items.
        easy: (N,) whether every run solved the item.
        n_correct: (N,) number of runs that solved it.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_runs: Number of runs (seeds).
        accuracy: Accuracy of each run without the premises, in [0, 1].
        mean_accuracy: Mean accuracy over the runs.
        std_accuracy: Population standard deviation of the accuracy over the runs.
        chance: Accuracy of guessing.
        majority: Accuracy of always giving the most frequent label.
        easy_by_chance: Share of items that would be Easy if every run guessed independently: the
            mean of (1/m)^runs over items of m choices.
    """

    ids: tuple[str, ...]
    easy: tuple[bool, ...]
    n_correct: tuple[int, ...]
    n_easy: int
    n_hard: int
    n_runs: int
    accuracy: tuple[float, ...]
    mean_accuracy: float
    std_accuracy: float
    chance: float
    majority: float
    easy_by_chance: float


def premise_oblivious_split(
    model_name_or_path: str | os.PathLike[str],
    test: Table,
    train: Table,
    *,
    out: str | os.PathLike[str],
    n_runs: int = 3,
    seed: int = 0,
    progress: bool = False,
    **options: Any,
) -> EasyHardSplit:
    """Split items into Easy, solved without their premises in every run, and Hard.

    The model is trained on the choices alone, `n_runs` times with different seeds, and tested in
    the same way. An item is Easy if all runs are correct: either the choices reveal the answer, or
    all runs guessed it (`easy_by_chance`).

    The split depends on the model with which it was made. Use it to evaluate models that start from
    other weights: a model with the same weights may have the same random preferences for choices, and
    so solve the Easy items.

    Args:
        model_name_or_path: An encoder.
        test: The items to split: `prompt`, `choices`, `label`, and optionally `id`.
        train: The training set in the same form.
        out: A folder for the runs and their models, which a second call loads.
        n_runs: Number of runs; three in the paper.
        seed: Seed of the first run; run r has `seed` + r.
        progress: Whether to show progress bars.
        **options: Options of `fine_tune`: epochs, learning_rate, batch_size, max_length, device, …

    Returns:
        `EasyHardSplit`: ids, flags, counts, and the accuracy of each run.

    Raises:
        ValueError: If a column is missing, or an item has no label.

    References:
        Kavumba et al. (2019), §4.
    """
    n_runs = check_count(n_runs, "n_runs")
    seed = check_seed(seed)
    items = convert_table(test, TASK, "test")
    ids = list(map(str, range(len(items))))
    if "id" in items.column_names:
        ids = list(map(str, items["id"]))
    labels = check_labels(items["label"][:], name="test['label']")
    blind_test = hide_premise(items).add_column("id", ids)
    blind_train = hide_premise(convert_table(train, TASK, "train"))

    # (N, runs) whether a run solves an item.
    is_correct = np.zeros((len(items), n_runs), dtype=np.bool_)
    run_options = {"progress": progress, "metrics": ("accuracy",), **options}
    for run in range(n_runs):
        # The name of the folder has the seed, so that a later call with more runs finds the earlier ones.
        run_seed = seed + run
        scores = train_and_score(
            model_name_or_path,
            blind_train,
            {"test": blind_test},
            out=Path(out) / f"seed-{run_seed}" / "all",
            seed=run_seed,
            **run_options,
        )
        is_correct[:, run] = scores["test"].predicted == labels

    accuracy = is_correct.mean(axis=0)
    is_easy = np.logical_and.reduce(is_correct, axis=1)
    # Probability of guessing each item. Items may have different numbers of choices.
    chance = 1.0 / np.array(list(map(len, items["choices"])))
    return EasyHardSplit(
        ids=tuple(ids),
        easy=tuple(is_easy.tolist()),
        n_correct=tuple(is_correct.sum(axis=1).tolist()),
        n_easy=int(is_easy.sum()),
        n_hard=int((~is_easy).sum()),
        n_runs=n_runs,
        accuracy=tuple(accuracy.tolist()),
        mean_accuracy=float(accuracy.mean()),
        std_accuracy=float(accuracy.std()),
        chance=float(chance.mean()),
        majority=float(np.bincount(labels).max() / len(labels)),
        # An item is Easy by chance if all runs guess it.
        easy_by_chance=float((chance**n_runs).mean()),
    )


def hide_premise(table: Table) -> datasets.Dataset:
    """Replace the prompts of a multiple-choice data set by empty ones.

    Example:
        >>> hide_premise([{"prompt": "It rained.", "choices": ["It is wet.", "It is dry."], "label": 0}])["prompt"][:]
        ['']
    """
    data = convert_table(table, TASK, "the data set")
    # Other columns might contain the premise.
    return data.select_columns(["choices", "label"]).add_column("prompt", [""] * len(data))
