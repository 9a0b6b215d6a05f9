"""Steps about texts: calibration and shortcuts after fine-tuning, and Fisher eigenvalues of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from rightreasons.difficulty.ranking import distribution_overlap, paired_difficulty
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.replicate.work import Work, average_runs
from rightreasons.shortcuts.measure import measure_shortcuts, training_heads
from rightreasons.shortcuts.protocols import protocol_of
from rightreasons.training.finetune import fine_tune

FIGURES = {"f1": 100, "shortcut_rate": 100, "excess": 100, "shortcut_tradeoff": 1, "ece": 1}
"""Figure of a shortcut measurement -> its factor in the table."""

ORIGINAL = "original"
"""Role of the text that another one of its pair was made from."""


def measure_paradox(work: Work) -> dict[str, Any]:
    """Fine-tune each model on each task, and measure calibration and shortcuts (Table 3)."""
    rows = []
    for task, source in work.settings["tasks"].items():
        for model_name, path in work.models.items():
            records = []
            for seed in work.seeds:
                records.append(_measure_run(work, task, source, path, seed))
            key = {"task": task, "model": model_name}
            rows.append({"key": key, "figures": _average_records(records)})
    n_excess = 0
    for row in rows:
        n_excess += row["figures"]["excess"]["value"] > 0
    return {"rows": rows, "facts": {"n_excess": n_excess, "n_rows": len(rows)}}


def _average_records(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return each figure of a model as its mean and deviation over seeds."""
    figures = {}
    for name, factor in FIGURES.items():
        # The trade-off is undefined for a model without shortcut-cued predictions.
        values = [record[name] for record in records if record[name] is not None]
        if values:
            figures[name] = average_runs(values, scale=factor)
    return figures


def _measure_run(
    work: Work, task: str, source: dict[str, Any], path: str, seed: int
) -> dict[str, Any]:
    """Fine-tune once, and return the figures of the model on the test items."""
    config = source.get("config")
    name = source["name"]
    train = work.load(name, config, source["train"])
    train = work.sample(train, work.settings["n_train"])
    test = work.load(name, config, source["test"])
    test = work.sample(test, work.settings["n_test"])
    # A path becomes the name of one folder.
    folder = work.folder / path.replace("/", "+").strip("+") / task / f"seed-{seed}"
    trained = fine_tune(
        path,
        train.select_columns(["text", "label"]),
        out=folder / "model",
        seed=seed,
        checkpoint_steps=0,
        progress=False,
        **work.settings["training"],
    )
    classifier = load_classifier(trained.folder)
    attribution = work.settings.get("attribution", {})
    protocol = protocol_of(work.settings["protocol"], **attribution)
    # The head of a label has the tokenizer's own pieces, as in the released code.
    heads = training_heads(
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


def measure_pairs(work: Work) -> dict[str, Any]:
    """Train on original reviews, and compare the Fisher eigenvalues of originals and revisions."""
    train = work.load("imdb_counterfactual", None, "train")
    # Revised reviews would show the model what is asked of it later.
    roles = np.array(train["role"][:])
    original_rows = np.flatnonzero(roles == ORIGINAL)
    originals = train.select(original_rows)
    originals = work.sample(originals, work.settings["n_train"])
    rows = []
    facts = {}
    for model_name, path in work.models.items():
        trained = fine_tune(
            path,
            originals.select_columns(["text", "label"]),
            out=work.folder / model_name / "model",
            seed=0,
            checkpoint_steps=0,
            progress=False,
            **work.settings["training"],
        )
        classifier = load_classifier(trained.folder)
        for data_name in ("imdb_counterfactual", "imdb_contrast"):
            for split in work.settings["splits"]:
                figures = _compare_pairs(work, classifier, data_name, split)
                # Names as in the paper.
                set_name = data_name.removeprefix("imdb_")
                split_name = split.replace("validation", "dev")
                key = {"model": model_name, "set": set_name, "split": split_name}
                rows.append({"key": key, "figures": figures})
                harder = 100 - figures["not_harder"]
                facts[f"{set_name}_{split_name}_harder"] = harder
    return {"rows": rows, "facts": facts}


def _compare_pairs(work: Work, classifier: Any, data_name: str, split: str) -> dict[str, Any]:
    """Compare the eigenvalues of the pairs of one split."""
    pairs = _list_pairs(work, data_name, split)
    eigenvalues = []
    margins = []
    for role in ("original", "revised"):
        information = fisher_information(
            classifier,
            [pair[role] for pair in pairs],
            max_length=work.settings["training"]["max_length"],
            progress=False,
            out=work.folder / f"{data_name}-{split}-{role}",
        )
        eigenvalues.append(information.eigenvalues)
        margins.append(_compute_margins(information.logits))
    # Positive differences are originals that are harder than their revisions, as in the paper.
    change = paired_difficulty(eigenvalues[0], eigenvalues[1])
    overlap = distribution_overlap(eigenvalues[0], eigenvalues[1])
    # The eigenvalue is a function of both the margin and the gradient: how much is the margin alone?
    correlation = stats.spearmanr(eigenvalues[0], -margins[0]).statistic
    return {
        "mean": {"value": round(change.mean, 6), "std": round(change.std, 6)},
        "not_harder": round(100 * change.not_harder, 6),
        "overlap": round(100 * overlap.histogram, 6),
        "margin": round(float(correlation), 6),
        "n_pairs": change.n_pairs,
    }


def _list_pairs(work: Work, data_name: str, split: str) -> list[dict[str, str]]:
    """Return the original and the revised text of each pair of a split."""
    originals: dict[Any, str] = {}
    revisions: dict[Any, str] = {}
    for row in work.load(data_name, None, split):
        texts = originals if row["role"] == ORIGINAL else revisions
        texts[row["pair_id"]] = row["text"]
    names = sorted(set(originals) & set(revisions), key=str)
    pairs = []
    for name in names[: work.settings["n_pairs"]]:
        pairs.append({"original": originals[name], "revised": revisions[name]})
    return pairs


def _compute_margins(logits: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the difference between the two largest logits of each row."""
    ordered = np.sort(np.asarray(logits, dtype=np.float64), axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])
