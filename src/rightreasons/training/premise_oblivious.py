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
        train: The training set, as in `fine_tune`.
        tests: Test sets by name, with an `id` column.
        out: The folder of this run; `model` in it has the fine-tuned model.
        **options: Options of `fine_tune`; `progress` is off by default.

    Returns:
        `Scores` by the name of the test set.

    Raises:
        ValueError: If `out` holds other files, or as in `fine_tune`.
    """
    options = {"progress": False, "device": None, **options}
    # A test set without its columns fails before the training.
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
    """Items that models solve without ever seeing the premises.

    Attributes:
        ids: The N items.
        easy: (N,) whether every run solved the item.
        n_correct: (N,) number of runs that solved it.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_runs: Number of runs (seeds).
        accuracy: Accuracy of each run without the premises, in [0, 1].
        mean_accuracy: Their mean.
        std_accuracy: Their population standard deviation.
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
    the same way. An item is Easy if all runs are correct: something other than its premise reveals
    the answer, or luck does (`easy_by_chance`).

    The split depends on the model that made it: use it to evaluate models that start from other
    weights, because two models that prefer the same choices for no good reason agree on which items
    are Easy.

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

    # One column per run; an item is Easy only if all of them solve it.
    is_correct = np.zeros((len(items), n_runs), dtype=np.bool_)
    for run in range(n_runs):
        # The folder depends on the seed, so that further runs find the earlier ones.
        scores = train_and_score(
            model_name_or_path,
            blind_train,
            {"test": blind_test},
            out=Path(out) / f"seed-{seed + run}" / "all",
            seed=seed + run,
            **{"progress": progress, "metrics": ("accuracy",), **options},
        )
        is_correct[:, run] = scores["test"].predicted == labels

    # Items may have different numbers of choices, and so different chances.
    n_choices = np.array(list(map(len, items["choices"])))
    accuracy = is_correct.mean(axis=0)
    is_easy = np.logical_and.reduce(is_correct, axis=1)
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
        chance=float((1.0 / n_choices).mean()),
        majority=float(np.bincount(labels).max() / len(labels)),
        # All runs guess an item of m choices with probability (1/m)^runs.
        easy_by_chance=float(((1.0 / n_choices) ** n_runs).mean()),
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
