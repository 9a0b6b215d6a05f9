"""Steps about texts: calibration and shortcuts after fine-tuning.

`measure_paradox` trains models on each task, and `measure_corrections` repeats some tasks with the known
issues of their data corrected.
"""

from __future__ import annotations

import re
from typing import Any

import datasets
import numpy as np

from rightreasons.models.loading import load_classifier
from rightreasons.replicate.work import Work, average_runs
from rightreasons.shortcuts.measure import measure_shortcuts, rank_training_heads
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.finetune import fine_tune

FIGURES = {"f1": 100, "shortcut_rate": 100, "excess": 100, "shortcut_tradeoff": 1, "ece": 1}
"""Figure of a shortcut measurement -> its factor in the table."""


def measure_paradox(work: Work) -> dict[str, Any]:
    """Fine-tune each model on each task, and measure calibration and shortcuts (Table 3).

    Args:
        work: Settings, models, data and folder of the step. `settings["tasks"]` has the data set of each task.

    Returns:
        `rows`: figures by task and model; and `facts`: the number of rows, and the number of those with a
        positive `excess`, in which shortcut tokens are more frequent among the important tokens than their
        frequency in the texts explains.
    """
    rows = []
    for task, source in work.settings["tasks"].items():
        for model_name, path in work.models.items():
            figures = _measure_model(work, task, source, model_name, path)
            rows.append({"key": {"task": task, "model": model_name}, "figures": figures})
    n_excess = 0
    for row in rows:
        n_excess += row["figures"]["excess"]["value"] > 0
    return {"rows": rows, "facts": {"n_excess": n_excess, "n_rows": len(rows)}}


def measure_corrections(work: Work) -> dict[str, Any]:
    """Repeat some tasks with the known issues of their data corrected, and compare the figures.

    Args:
        work: Settings, models, data and results of the step. `settings["corrected_tasks"]` has the corrected data
            set of each task, and `settings["released"]` the name of the step that measured the released data.

    Returns:
        `rows`: figures by task and data ("as released" or "corrected"); and `facts`: both figures, and a
        sentence on the changes.
    """
    # The figures of the released data are those of an earlier step.
    released_rows = work.results[work.settings["released"]]["rows"]
    # Only the first model is used, because the corrections are about the data.
    model_name, path = next(iter(work.models.items()))
    rows = []
    facts: dict[str, Any] = {}
    changes = []
    for task, source in work.settings["corrected_tasks"].items():
        key = {"task": task, "model": model_name}
        released = _find_figures(released_rows, key)
        corrected = _measure_model(work, task, source, model_name, path)
        for data, figures in (("as released", released), ("corrected", corrected)):
            rows.append({"key": {**key, "data": data}, "figures": figures})

        changes.append(_describe_correction(task, released, corrected))
        # A figure may be undefined on one of the two versions of the data.
        for name in FIGURES:
            if name in released and name in corrected:
                facts[f"{task}_{name}"] = released[name]["value"]
                facts[f"{task}_{name}_corrected"] = corrected[name]["value"]

    answer = "The known issues of the data were not corrected at this scale."
    if changes:
        answer = f"With known issues corrected, {'; '.join(changes)}."
    facts["answer"] = answer
    return {"rows": rows, "facts": facts}


def _find_figures(rows: list[dict[str, Any]], key: dict[str, str]) -> dict[str, Any]:
    """Return the figures of the row with a key, such as {"task": "sst2", "model": "BERT"}.

    Raises:
        KeyError: If there is no such row.
    """
    for row in rows:
        if row["key"] == key:
            figures: dict[str, Any] = row["figures"]
            return figures
    raise KeyError(key)


def _describe_correction(
    task: str,
    released: dict[str, Any],
    corrected: dict[str, Any],
) -> str:
    """Describe how F1 and the shortcut rate change with the correction of a task, as a clause.

    Args:
        task: Name of the task.
        released: Figures on the released data, such as {"f1": {"value": 90.1}, …}, in percent.
        corrected: Figures on the corrected data.
    """
    f1 = corrected["f1"]["value"]
    released_f1 = released["f1"]["value"]
    rate = corrected["shortcut_rate"]["value"]
    released_rate = released["shortcut_rate"]["value"]
    return (
        f"on {task}, F1 is {f1:.1f} % instead of {released_f1:.1f} % "
        f"and P_sc is {rate:.1f} % instead of {released_rate:.1f} %"
    )


def _measure_model(
    work: Work,
    task: str,
    source: dict[str, Any],
    model_name: str,
    path: str,
) -> dict[str, Any]:
    """Fine-tune a model on a task with each seed, and return the mean and deviation of its figures.

    Args:
        work: Settings, folder and data of the step.
        task: Name of the task.
        source: Data set and splits of the task, such as {"name": "sst2", "train": "train", "test": "test"}.
        model_name: Name of the model in the recipe.
        path: Path or hub id of the model.

    Returns:
        Figure -> {"value": mean over seeds, "std": standard deviation}.
    """
    records = []
    for seed in work.seeds:
        records.append(_measure_run(work, task, source, model_name, path, seed))
    return _average_records(records)


def _average_records(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean and the deviation over seeds of each figure of `FIGURES`.

    Args:
        records: For each seed, figure -> value; None if it is undefined.

    Returns:
        Figure -> {"value": mean, "std": standard deviation}, without figures that are undefined for all
        seeds.
    """
    figures = {}
    for name, factor in FIGURES.items():
        # The trade-off is undefined if no prediction relies on shortcuts.
        values = [record[name] for record in records if record[name] is not None]
        if values:
            figures[name] = average_runs(values, scale=factor)
    return figures


def _measure_run(
    work: Work,
    task: str,
    source: dict[str, Any],
    model_name: str,
    path: str,
    seed: int,
) -> dict[str, Any]:
    """Fine-tune a model on a task once, and measure it on the test items.

    Args:
        work: Settings, folder and data of the step.
        task: Name of the task.
        source: Data set and splits of the task, such as {"name": "sst2", "train": "train", "test": "test"}.
        model_name: Name of the model in the recipe.
        path: Path or hub id of the model.
        seed: Seed of the training.

    Returns:
        Figure -> value; None if it is undefined.
    """
    train = work.sample(_load_texts(work, source, "train"), work.settings["n_train"])
    test = work.sample(_load_texts(work, source, "test"), work.settings["n_test"])
    folder = work.folder / model_name / task / f"seed-{seed}"
    # Training options differ between models. For example, a small model needs a larger learning rate.
    training = work.settings["training"][model_name]
    trained = fine_tune(
        work.prepare_model(path, train, folder / "untrained", seed),
        train.select_columns(["text", "label"]),
        out=folder / "model",
        seed=seed,
        checkpoint_steps=0,
        progress=False,
        **training,
    )
    classifier = load_classifier(trained.folder)
    attribution = work.settings.get("attribution", {})
    protocol = get_protocol(work.settings["protocol"], **attribution)
    # The heads are the tokens that are associated with a label in the training texts.
    heads = rank_training_heads(
        train["text"][:],
        np.array(train["label"][:]),
        protocol=protocol,
        classifier=classifier,
    )
    measurement = measure_shortcuts(
        classifier,
        test["text"][:],
        test["label"][:],
        heads,
        protocol=protocol,
        progress=False,
        out=folder / "attributions",
    )
    return measurement.record()


def _load_texts(work: Work, source: dict[str, Any], part: str) -> datasets.Dataset:
    """Load the items of a task that models are trained or tested on.

    Args:
        work: Settings, folder and data of the step.
        source: Entry of the task in the recipe: `name` of the data set, names of the splits `train` and
            `test`, and optionally `config`, `known_issues` (whether to correct them), and `removed` (a
            regular expression; its matches are removed from the texts).
        part: "train" or "test".
    """
    data = work.load(
        source["name"],
        source.get("config"),
        source[part],
        known_issues=source.get("known_issues", False),
    )
    pattern = source.get("removed")
    if pattern is None:
        return data
    expression = re.compile(pattern, re.IGNORECASE)
    texts = [expression.sub("", text) for text in data["text"][:]]
    # Replace only this column, so that the others keep their types, such as the names of the labels.
    return data.remove_columns("text").add_column("text", texts)
