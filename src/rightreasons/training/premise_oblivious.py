"""Easy and Hard items of a data set: those that models solve after training without the premise, and the others."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, Result
from rightreasons.core.choices import TASKS
from rightreasons.core.errors import OptionError
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_count, check_labels, check_one_of, check_seed
from rightreasons.models.classes import load_scores, predict
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.running import fingerprint_texts, open_store
from rightreasons.training.examples import Table, as_dataset, class_labels, find_label_names
from rightreasons.training.finetune import fine_tune
from rightreasons.training.options import TuningOptions

MODEL = "model"
RESULT = "result.json"


def scored_run(
    model_name_or_path: str | os.PathLike[str],
    train: Table,
    tests: Mapping[str, Table],
    *,
    out: str | os.PathLike[str],
    task: str = "multiple_choice",
    keep_model: bool = True,
    **options: Any,
) -> dict[str, Scores]:
    """Fine-tune a model and score test sets with it.

    A finished run is read back and not repeated, even if its weights are gone; a killed run resumes from its last
    checkpoint.

    Args:
        model_name_or_path: An encoder.
        train: The training set, as in `fine_tune`.
        tests: Test sets by name, with an `id` column. Labels that have names are those of the training set by name.
        out: The folder of this run.
        task: "multiple_choice" or "classification".
        keep_model: Whether to keep the fine-tuned weights (in `out`/model) after scoring.
        **options: Options of `fine_tune`; `progress` is off by default.

    Returns:
        `Scores` by the name of the test set.

    Raises:
        ValueError: If `out` holds other files, or as in `fine_tune`.
    """
    how: dict[str, Any] = {"progress": options.pop("progress", False), "device": options.pop("device", None)}
    # A mistake sets no earlier run aside.
    TuningOptions.read({name: value for name, value in options.items() if name in TuningOptions.names()}, "fine_tune")
    train_set = as_dataset(train, task, "train")
    test_sets = {name: as_dataset(table, task, f"tests[{name!r}]") for name, table in tests.items()}
    run = {
        "kind": "scored run",
        "task": task,
        "encoder": os.fspath(model_name_or_path),
        "training set": _fingerprint(train_set),
        "test sets": {name: _fingerprint(table) for name, table in test_sets.items()},
        "options": {name: repr(value) for name, value in sorted(options.items())},
    }
    store = open_store(out, run)
    folders, scores = {name: store.folder / f"scores-{name}" for name in test_sets}, None
    if store.read_json(RESULT) is not None:
        with contextlib.suppress(ValueError):  # damaged ones are computed again
            scores = {name: load_scores(folder) for name, folder in folders.items()}
    if scores is None:
        trained = fine_tune(model_name_or_path, train_set, out=store.folder / MODEL, task=task, **how, **options)
        load = load_multiple_choice if task == "multiple_choice" else load_classifier
        classifier = load(trained.folder, device=how["device"])
        bound = min(options.get("max_length") or classifier.max_length, classifier.max_length)
        for name, table in test_sets.items():
            rows, classes = table.with_format(None), classifier.label_names
            inputs: dict[str, Any] = {
                "ids": rows["id"][:] if "id" in rows.column_names else None,
                "labels": rows["label"][:] if classes is None else class_labels(rows, classes, name, minimum=-1),
                "max_length": bound,
                "progress": how["progress"],
                "out": folders[name],
            }
            if task == "multiple_choice":
                classifier.choose(rows["prompt"][:], rows["choices"][:], **inputs)
            else:
                pairs = rows["text_pair"][:] if "text_pair" in rows.column_names else None
                predict(classifier, rows["text"][:], text_pairs=pairs, **inputs)
        store.write_json(RESULT, {**trained.to_dict(), "folder": MODEL, "kept": keep_model})
    if not keep_model:
        shutil.rmtree(store.folder / MODEL, ignore_errors=True)
    return scores or {name: load_scores(folder) for name, folder in folders.items()}


def _fingerprint(table: Any) -> str:
    columns = [name for name in ("id", "prompt", "text", "text_pair", "choices", "label") if name in table.column_names]
    return fingerprint_texts(repr(tuple(row.values())) for row in table.select_columns(columns))


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
        task: "multiple_choice" or "classification".
        n_folds: Number of folds, where models were trained on the other folds; None with a separate training set.
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
    task: str
    n_folds: int | None


def premise_oblivious_split(
    model_name_or_path: str | os.PathLike[str],
    test: Table,
    train: Table | None = None,
    *,
    out: str | os.PathLike[str],
    task: str = "multiple_choice",
    n_runs: int = 3,
    n_folds: int = 5,
    seed: int = 0,
    keep_models: bool = False,
    progress: bool = False,
    **options: Any,
) -> EasyHardSplit:
    """Split items into Easy, solved without their premises in every run, and Hard.

    The model is trained on the choices alone (multiple choice) or on the second texts alone (classification of pairs:
    "hypothesis only"), `n_runs` times with different seeds, and tested in the same way. An item is Easy when all runs
    are right: something other than its premise gives the answer away, or luck does (`easy_by_chance`).

    The split depends on the model that made it: use it to evaluate models that start from other weights, as two models
    that prefer the same choices for no good reason agree on which items are Easy.

    Args:
        model_name_or_path: An encoder.
        test: The items to split: `prompt`, `choices`, `label` (multiple choice) or `text`, `text_pair`, `label`
            (classification), and optionally `id`.
        train: The training set in the same form; None trains on the other folds of `test`.
        out: A folder for the runs, which a second call reads back.
        task: "multiple_choice" or "classification".
        n_runs: Number of runs; three in the paper.
        n_folds: Number of folds if `train` is None; items of one `source_id`, such as mirrored pairs, stay in one.
        seed: Seed of the first run and of the folds; run r has `seed` + r.
        keep_models: Whether to keep the weights.
        progress: Whether to show progress bars.
        **options: Options of `fine_tune`: epochs, learning_rate, batch_size, max_length, device, …

    Returns:
        `EasyHardSplit`: ids, flags, counts, and the accuracy of each run.

    Raises:
        ValueError: If a column is missing, an item has no label, pairs have no second text, or there are fewer groups
            than folds.

    References:
        Kavumba et al. (2019), §4; Gururangan et al. (2018), Annotation Artifacts in Natural Language Inference Data;
        Poliak et al. (2018), Hypothesis Only Baselines in Natural Language Inference.
    """
    check_one_of(task, TASKS, "task")
    runs = check_count(n_runs, "n_runs")
    first = check_seed(seed)
    items = as_dataset(test, task, "test")
    names = [str(key) for key in items["id"]] if "id" in items.column_names else [str(i) for i in range(len(items))]
    blind = hide_premise(items, task).add_column("id", names)
    if task == "classification":
        options["label_names"] = find_label_names(
            items if train is None else as_dataset(train, task, "train"), options.get("label_names")
        )
        labels = class_labels(items, options["label_names"], "test")
    else:
        labels = check_labels(items["label"][:], name="test['label']")
    folder = Path(out)
    if train is None:
        fold = _folds(items, check_count(n_folds, "n_folds", minimum=2), first)
        parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
        pairs = [(blind.select(train_rows), test_rows) for train_rows, test_rows in parts]
    else:
        pairs = [(hide_premise(as_dataset(train, task, "train"), task), np.arange(len(items)))]

    correct = np.zeros((len(items), runs), dtype=np.bool_)
    n_choices = np.zeros(len(items), dtype=np.int64)
    for r in range(runs):
        for k, (train_set, rows) in enumerate(pairs):
            scores = scored_run(
                model_name_or_path,
                train_set,
                {"test": blind.select(rows)},
                out=folder / f"seed-{first + r}" / (f"fold-{k}" if train is None else "all"),
                task=task,
                keep_model=keep_models,
                progress=progress,
                seed=first + r,
                **{"metrics": ("accuracy",), **options},
            )["test"]
            logits = scores.logits
            n_choices[rows] = logits.lengths if isinstance(logits, Ragged) else logits.shape[1]
            correct[rows, r] = scores.predicted == labels[rows]
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
        task=task,
        n_folds=None if train is not None else n_folds,
    )


def hide_premise(table: Table, task: str) -> datasets.Dataset:
    """Remove the premise from a data set: leave an empty prompt, or only the second text of a pair.

    Example:
        >>> hide_premise([{"text": "A man sleeps.", "text_pair": "Nobody sleeps.", "label": 1}], "classification")[0]
        {'text': 'Nobody sleeps.', 'label': 1}
    """
    data = as_dataset(table, task, "the data set")
    if task == "multiple_choice":
        blind = data.select_columns(["choices", "label"])
        return blind.add_column("prompt", [""] * len(data))
    if "text_pair" not in data.column_names:
        raise ValueError(
            "Expected pairs of texts (`text` and `text_pair`), the first of which can be hidden, but the data set has "
            f"{', '.join(data.column_names)}."
        )
    return (
        data.select_columns(["text_pair", "label"]).rename_column("text_pair", "text").select_columns(["text", "label"])
    )


def _folds(items: Any, n_folds: int, seed: int) -> NDArray[np.int64]:
    keys = items["source_id"][:] if "source_id" in items.column_names else range(len(items))
    ids: dict[Hashable, int] = {}
    group = np.array([ids.setdefault(key, len(ids)) for key in keys], dtype=np.int64)
    if n_folds > len(ids):
        raise OptionError(
            f"Expected `n_folds` to be at most the number of groups, {len(ids)}, but got {n_folds}.", option="n_folds"
        )
    order = np.random.default_rng([seed, 2]).permutation(len(ids))
    return (order % n_folds)[group]
