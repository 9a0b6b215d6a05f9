"""Easy and Hard items of a data set: those that models solve after training without the premise, and the others."""

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
from rightreasons.training.examples import Table, as_dataset
from rightreasons.training.finetune import fine_tune

TASK = "multiple_choice"


def scored_run(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    tests: Mapping[str, Table],
    *,
    out: str | os.PathLike[str],
    **options: Any,
) -> dict[str, Scores]:
    """Fine-tune a multiple-choice model and score test sets with it.

    A finished run is read back and not repeated; a killed run resumes from its last checkpoint.

    Args:
        model_name_or_path: An encoder.
        train: The training set, as in `fine_tune`.
        tests: Test sets by name, with an `id` column.
        out: The folder of this run; `model` in it holds the fine-tuned model.
        **options: Options of `fine_tune`; `progress` is off by default.

    Returns:
        `Scores` by the name of the test set.

    Raises:
        ValueError: If `out` holds other files, or as in `fine_tune`.
    """
    options = {"progress": False, "device": None, **options}
    test_sets = {name: as_dataset(table, TASK, f"tests[{name!r}]") for name, table in tests.items()}
    trained = fine_tune(model_name_or_path, train, out=Path(out) / "model", task=TASK, **options)
    classifier = load_multiple_choice(trained.folder, device=options["device"])
    scores = {}
    for name, table in test_sets.items():
        rows = table.with_format(None)
        scores[name] = classifier.choose(
            rows["prompt"][:],
            rows["choices"][:],
            ids=rows["id"][:] if "id" in rows.column_names else None,
            labels=rows["label"][:],
            max_length=min(
                options.get("max_length") or classifier.max_length, classifier.max_length
            ),
            progress=options["progress"],
            out=Path(out) / f"scores-{name}",
        )
    return scores


@dataclasses.dataclass(frozen=True)
class EasyHardSplit(Result):
    """Items that models solve without ever seeing the premises.

    Attributes:
        ids: The N items.
        easy: (N,) whether every run got the item right.
        n_correct: (N,) number of runs that did.
        n_easy: Number of Easy items.
        n_hard: Number of Hard items.
        n_runs: Number of runs (seeds).
        accuracy: Accuracy of each run without the premises, in [0, 1].
        mean_accuracy: Their mean.
        std_accuracy: Their population standard deviation.
        chance: Accuracy of guessing.
        majority: Accuracy of always giving the most frequent label.
        easy_by_chance: Share of items that would be Easy if every run guessed independently: the mean of (1/m)^runs.
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

    The model is trained on the choices alone, `n_runs` times with different seeds, and tested in the same way. An item
    is Easy when all runs are right: something other than its premise gives the answer away, or luck does
    (`easy_by_chance`).

    The split depends on the model that made it: use it to evaluate models that start from other weights, as two models
    that prefer the same choices for no good reason agree on which items are Easy.

    Args:
        model_name_or_path: An encoder.
        test: The items to split: `prompt`, `choices`, `label`, and optionally `id`.
        train: The training set in the same form.
        out: A folder for the runs and their models, which a second call reads back.
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
    runs = check_count(n_runs, "n_runs")
    first = check_seed(seed)
    items = as_dataset(test, TASK, "test")
    names = (
        [str(key) for key in items["id"]]
        if "id" in items.column_names
        else [str(i) for i in range(len(items))]
    )
    labels = check_labels(items["label"][:], name="test['label']")
    blind, blind_train = (
        hide_premise(items).add_column("id", names),
        hide_premise(as_dataset(train, TASK, "train")),
    )
    how = {"progress": progress, "metrics": ("accuracy",), **options}
    correct = np.zeros((len(items), runs), dtype=np.bool_)
    for r in range(runs):
        folder = Path(out) / f"seed-{first + r}" / "all"
        scores = scored_run(
            model_name_or_path, blind_train, {"test": blind}, out=folder, seed=first + r, **how
        )["test"]
        correct[:, r] = scores.predicted == labels
    n_choices = np.array([len(row) for row in items["choices"]])
    accuracy = correct.mean(axis=0)
    easy = np.logical_and.reduce(correct, axis=1)
    return EasyHardSplit(
        ids=tuple(names),
        easy=tuple(easy.tolist()),
        n_correct=tuple(correct.sum(axis=1).tolist()),
        n_easy=int(easy.sum()),
        n_hard=int((~easy).sum()),
        n_runs=runs,
        accuracy=tuple(accuracy.tolist()),
        mean_accuracy=float(accuracy.mean()),
        std_accuracy=float(accuracy.std()),
        chance=float((1.0 / n_choices).mean()),
        majority=float(np.bincount(labels).max() / len(labels)),
        easy_by_chance=float(((1.0 / n_choices) ** runs).mean()),
    )


def hide_premise(table: Table) -> datasets.Dataset:
    """Leave an empty prompt in place of each of a multiple-choice data set.

    Example:
        >>> hide_premise([{"prompt": "It rained.", "choices": ["It is wet.", "It is dry."], "label": 0}])["prompt"][:]
        ['']
    """
    data = as_dataset(table, TASK, "the data set")
    return data.select_columns(["choices", "label"]).add_column("prompt", [""] * len(data))
