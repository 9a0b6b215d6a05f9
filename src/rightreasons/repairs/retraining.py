"""Train the repaired model: clone and fit an estimator, run a command of `fine-tune`, or call a function."""

from __future__ import annotations

import copy
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.repairs.training_set import TrainingSet, list_columns

if TYPE_CHECKING:
    import datasets

Retrain = Callable[["datasets.Dataset"], Any]
"""Returns a model that was trained on a table with the columns of the original training texts."""

FINE_TUNE = "fine-tune"
"""The command that `retrain` may name."""

COLUMN_FLAGS = {
    "text": "--text-column",
    "text_pair": "--text-pair-column",
    "label": "--label-column",
}
"""Common column -> option of the command that names it."""

MODEL_FOLDER = "model"
"""Folder of a fine-tuned model, in the folder of the repair."""


def retrain_model(
    model: Any,
    training: TrainingSet,
    weights: NDArray[np.float64],
    *,
    retrain: str | Retrain | None,
    file: Path,
) -> Any:
    """Train a model on repaired texts, by a command, a function, or a clone of the first model.

    Args:
        model: The model before the repair.
        training: Repaired training texts.
        weights: (M,) weight of each text; all 1 for methods that edit.
        retrain: A command such as "fine-tune prajjwal1/bert-tiny --epochs 2", to which data and
            folder are added, or a function from the repaired table to a model. If None, a model
            with `fit` is cloned and fitted.
        file: The csv file with the repaired texts, which the command reads.

    Returns:
        A model in any form that `as_scorer` accepts; None if only the user can train it.

    Raises:
        ValueError: If the command is not `fine-tune`, or fails.
    """
    if callable(retrain):
        return retrain(make_table(training))
    if retrain is not None:
        return run_fine_tune(retrain, file, training.table.names)
    if is_estimator(model) and training.n_columns == 1:
        return fit_clone(model, training, weights)
    return None


def make_table(training: TrainingSet) -> datasets.Dataset:
    """Return the training texts as a table, with the columns of the user's table."""
    import datasets

    return datasets.Dataset.from_dict(training.table.columns)


def is_estimator(model: Any) -> bool:
    """Return whether a model can be cloned and fitted, as an estimator of scikit-learn can."""
    members = ("fit", "predict_proba", "classes_")
    return all(hasattr(model, member) for member in members)


def fit_clone(model: Any, training: TrainingSet, weights: NDArray[np.float64]) -> Any:
    """Fit an unfitted copy of an estimator on training texts.

    Args:
        model: An estimator or a pipeline of scikit-learn.
        training: Repaired training texts.
        weights: (M,) weight of each text.
    """
    # The classes are names or numbers, whichever the estimator was fitted with.
    labels = np.asarray(model.classes_)[training.labels]
    texts = list_columns(training.items)[0]
    estimator = _copy_unfitted(model)
    # Some estimators do not accept weights, so that they are passed only if they differ.
    if (weights == 1).all():
        return estimator.fit(texts, labels)
    argument = "sample_weight"
    steps = getattr(estimator, "steps", None)
    if steps:
        # A pipeline passes an argument "NAME__sample_weight" to the step of this name.
        last_step_name, _ = steps[-1]
        argument = f"{last_step_name}__sample_weight"
    return estimator.fit(texts, labels, **{argument: weights})


def _copy_unfitted(model: Any) -> Any:
    """Return an unfitted copy of an estimator."""
    if hasattr(model, "get_params") and "sklearn" in sys.modules:
        from sklearn.base import clone

        return clone(model)
    # In other libraries, `fit` is expected to overwrite the parameters of the copy.
    return copy.deepcopy(model)


def parse_command(command: str) -> list[str]:
    """Split a command that trains a model into its words.

    Raises:
        ValueError: If it is not `fine-tune` with a model.

    Example:
        >>> parse_command("fine-tune demo --epochs 2")
        ['fine-tune', 'demo', '--epochs', '2']
    """
    try:
        words = shlex.split(command)
    except ValueError:
        # A quotation mark is not closed.
        words = []
    if len(words) < 2 or words[0] != FINE_TUNE:
        raise OptionError(
            f"Expected a command such as {FINE_TUNE + ' MODEL --epochs 2'!r} in `retrain`, but got "
            f"{command!r}.",
            option="retrain",
        )
    return words


def run_fine_tune(command: str, file: Path, names: Mapping[str, str]) -> str:
    """Run `rightreasons fine-tune` on a csv file, and return the folder of the model.

    Args:
        command: The command without the file, such as "fine-tune MODEL --epochs 2".
        file: The csv file.
        names: "text", "text_pair" or "label" -> name of this column in the file.

    Raises:
        ValueError: If the command is not `fine-tune`, or fails.
    """
    words = parse_command(command)
    folder = file.parent / MODEL_FOLDER
    # Training runs in a separate process, with its own memory and random state.
    line = [sys.executable, "-m", "rightreasons", *words[:2], str(file), *words[2:]]
    for common, flag in COLUMN_FLAGS.items():
        if common in names:
            line += [flag, names[common]]
    finished = subprocess.run(
        [*line, "--out", str(folder)],
        check=False,
        capture_output=True,
        text=True,
    )
    if finished.returncode:
        # Commands end with one sentence about what went wrong.
        lines = finished.stderr.strip().splitlines() or ["no message"]
        raise OptionError(f"The command in `retrain` failed: {lines[-1]}", option="retrain")
    return str(folder)
