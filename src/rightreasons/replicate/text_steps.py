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

    Returns:
        `rows`: figures by task and model; and `facts`: the number of rows in which shortcut tokens are more
        frequent in the attributions than their frequency explains.
    """
    rows = []
    for task, source in work.settings["tasks"].items():
        for model_name, path in work.models.items():
            figures = _measure_model(work, task, source, model_name, path)
            rows.append({"key": {"task": task, "model": model_name}, "figures": figures})
    # Sentences quote this number.
    n_excess = 0
    for row in rows:
        n_excess += row["figures"]["excess"]["value"] > 0
    return {"rows": rows, "facts": {"n_excess": n_excess, "n_rows": len(rows)}}


def measure_corrections(work: Work) -> dict[str, Any]:
    """Measure some tasks again with the known issues of their data corrected, next to the released data.

    Returns:
        `rows`: figures by task and state of the data; and `facts`: the figures of both states, and a
        sentence on the changes.
    """
    released_rows = work.results[work.settings["released"]]["rows"]
    # One model suffices, because the correction is about the data.
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
        # A figure may be undefined in one of the states.
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
    """Describe what the correction of a task changes, as a clause of a sentence.

    Args:
        task: Name of the task.
        released: Figure -> {"value": percent} on the data as released.
        corrected: Figure -> {"value": percent} on the corrected data.
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
        work: The work of the step.
        task: Name of the task.
        source: Entry of the task in the recipe, as in `_load_texts`.
        model_name: Name of the model in the recipe.
        path: Its path or hub id.

    Returns:
        Figure -> {"value": mean over seeds, "std": deviation}.
    """
    records = []
    for seed in work.seeds:
        records.append(_measure_run(work, task, source, model_name, path, seed))
    return _average_records(records)


def _average_records(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the mean and the deviation over seeds of each figure of `FIGURES`.

    Args:
        records: Figure -> value, None if it is undefined, for each seed.

    Returns:
        Figure -> {"value": mean, "std": deviation}. A figure that is undefined for all seeds is left out.
    """
    figures = {}
    for name, factor in FIGURES.items():
        # The trade-off is undefined for a model without shortcut-cued predictions.
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
        work: The work of the step.
        task: Name of the task.
        source: Entry of the task in the recipe, as in `_load_texts`.
        model_name: Name of the model in the recipe.
        path: Its path or hub id.
        seed: Seed of the training.

    Returns:
        Figure -> value; None if it is undefined.
    """
    train = work.sample(_load_texts(work, source, "train"), work.settings["n_train"])
    test = work.sample(_load_texts(work, source, "test"), work.settings["n_test"])
    folder = work.folder / model_name / task / f"seed-{seed}"
    # Each model has its own training options: fewer layers need larger steps to learn at all.
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
    # The tokens that predict a label in the training texts, as the classifier's tokenizer splits them.
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
        work: The work.
        source: Entry of the task: `name`, perhaps `config`, the splits `train` and `test`; and, to
            correct the data, `known_issues`, and a regular expression of what is `removed` from texts.
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
    # The other columns, and the names of the labels, stay as they are.
    return data.remove_columns("text").add_column("text", texts)
