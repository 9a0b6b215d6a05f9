"""One run of a protocol: fine-tune, score the test sets, store the scores; a resumed protocol skips finished runs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

from rightreasons.foundations.scores import Scores
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.running.fingerprint import fingerprint_texts
from rightreasons.models.running.run import open_store
from rightreasons.models.running.store import Store
from rightreasons.models.scoring.classes import load_scores, predict, predict_choices
from rightreasons.training.tuning.examples import Table, as_dataset, class_labels
from rightreasons.training.tuning.finetune import fine_tune
from rightreasons.training.tuning.options import TuningOptions

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
    progress: bool = False,
    device: str | None = None,
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
        progress: Whether to show progress bars.
        device: As in `fine_tune`.
        **options: Further options of `fine_tune`.

    Returns:
        `Scores` by the name of the test set.

    Raises:
        ValueError: If `out` holds other files, or as in `fine_tune`.
    """
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
    scores = None if store.read_json(RESULT) is None else _stored(store, test_sets)
    if scores is None:
        trained = fine_tune(
            model_name_or_path,
            train_set,
            out=store.folder / MODEL,
            task=task,
            progress=progress,
            device=device,
            **options,
        )
        load = load_multiple_choice if task == "multiple_choice" else load_classifier
        classifier = load(trained.folder, device=device)
        bound = min(options.get("max_length") or classifier.max_length, classifier.max_length)
        for name, table in test_sets.items():
            rows, classes = table.with_format(None), classifier.label_names
            how: dict[str, Any] = {
                "ids": rows["id"][:] if "id" in rows.column_names else None,
                "labels": rows["label"][:] if classes is None else class_labels(rows, classes, name, minimum=-1),
                "max_length": bound,
                "progress": progress,
                "out": store.folder / f"scores-{name}",
            }
            if task == "multiple_choice":
                predict_choices(classifier, rows["prompt"][:], rows["choices"][:], **how)
            else:
                pairs = rows["text_pair"][:] if "text_pair" in rows.column_names else None
                predict(classifier, rows["text"][:], text_pairs=pairs, **how)
        store.write_json(RESULT, {**trained.to_dict(), "folder": MODEL, "kept": keep_model})
    if not keep_model:
        shutil.rmtree(store.folder / MODEL, ignore_errors=True)
    return _load(store, test_sets) if scores is None else scores


def _load(store: Store, names: Iterable[str]) -> dict[str, Scores]:
    return {name: load_scores(store.folder / f"scores-{name}") for name in names}


def _stored(store: Store, names: Iterable[str]) -> dict[str, Scores] | None:
    """Open the scores of a finished run; None where some are damaged, and so to be computed again."""
    try:
        return _load(store, names)
    except ValueError:
        return None


def _fingerprint(table: Any) -> str:
    columns = [name for name in ("id", "prompt", "text", "text_pair", "choices", "label") if name in table.column_names]
    return fingerprint_texts(repr(tuple(row.values())) for row in table.select_columns(columns))
