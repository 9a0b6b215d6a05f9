"""Steps about COPA and its balanced form: cues, released predictions, trainings, and sensitivity."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.cues.classifier import cue_transfer
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.cues.gap_change import compare_gaps
from rightreasons.cues.statistics import CueStatistics, cue_statistics
from rightreasons.datasets.perturbing.mirroring import get_choices
from rightreasons.datasets.sources import Source, read_members
from rightreasons.models.gradients.sensitivity import cue_sensitivity, token_sensitivity
from rightreasons.models.loading import load_multiple_choice
from rightreasons.replicate.work import Work, average_runs, write_interval
from rightreasons.training.premise_oblivious import train_and_score

PREDICTIONS = Source(
    "predictions.tar.bz2",
    "https://raw.githubusercontent.com/Balanced-COPA/Balanced-COPA.github.io/6e031959/downloads/predictions.tar.bz2",
    2273,
    "3386956d3ffd4c5210f44bd9161739d60a5805a9e630766f4bc0df2949584c92",
    "MIT",
    "Kavumba et al. (2019)",
)
"""Released predictions of BERT-large and RoBERTa-large on COPA's test items, three seeds each."""

COPA_RELEASE = "https://people.ict.usc.edu/~gordon/downloads/COPA-resources.tgz"
"""Archive of COPA's release, with the answers of its baselines."""

BASELINES = {"PMI": "PMIgutenbergW5.test", "first alternative": "baselineFirst.test"}
"""File of the answers, by the name of a baseline that COPA ships."""

TRAINING_SETS = {"original": "COPA", "balanced_50": "B-COPA 50 %", "balanced": "B-COPA"}
"""Name in tables by configuration of `balanced_copa`."""

MIN_APPLICABILITY = 4
"""Minimum applicability of a word whose sensitivity is compared; Table 7 begins there."""

PRODUCTIVITY_RANGES = {
    "above 0.6": (np.nextafter(0.6, 1), 1.0),
    "0.4 to 0.6": (0.4, 0.6),
    "below 0.4": (0.0, np.nextafter(0.4, 0)),
}
"""Name of a group of words -> its lowest and highest productivity. Near 0.5, a word is not a cue."""

QUESTIONS = {"cause": "What was the cause?", "effect": "What happened as a result?"}


def count_cues(work: Work) -> dict[str, Any]:
    """Count the cues in the alternatives of COPA and of Balanced COPA (Tables 2 and 7).

    Args:
        work: Settings and data of the step; `settings["cues"]` are the words of the first table.

    Returns:
        `rows`: applicability, productivity and coverage of each cue of the recipe, in COPA; and `facts`:
        numbers of cues, and the number of cues of Balanced COPA whose productivity is 0.5.
    """
    # COPA's development set, on which models are trained.
    original = work.load("balanced_copa", "original", "train")
    table = cue_statistics(_list_choices(original), original["label"][:])
    rows = []
    for cue in work.settings["cues"]:
        statistics = table.find(cue)
        figures = {
            "applicability": statistics.applicability,
            "productivity": round(100 * statistics.productivity, 6),
            "coverage": round(100 * statistics.coverage, 6),
        }
        rows.append({"key": {"cue": cue}, "figures": figures})

    # The paper counted all items, also the one whose mirror repeats it, which is a known issue.
    balanced = work.load("balanced_copa", "balanced", "train", known_issues=False)
    features = ("unigram", "bigram", "trigram", "length", "negation")
    all_cues = cue_statistics(_list_choices(balanced), balanced["label"][:], features=features)
    # With a productivity of 0.5, a word is as often in the correct as in the incorrect alternative.
    n_uninformative = sum(row.productivity == 0.5 for row in all_cues.cues)
    facts = {
        "n_significant": table.n_significant,
        "n_cues": table.n_cues,
        "n_balanced_cues": all_cues.n_cues,
        "n_uninformative": n_uninformative,
    }
    return {"rows": rows, "facts": facts}


def score_released_predictions(work: Work) -> dict[str, Any]:
    """Score the released predictions of both models on Easy and Hard items (Table 4).

    Args:
        work: Settings and data of the step; `settings["n_permutations"]` is the number of shuffles of the test.

    Returns:
        `rows`: accuracies and Easy/Hard gap of each model and baseline; and `facts`: p-values of the gaps,
        and numbers of Easy and Hard items.
    """
    test = work.load("copa_easy_hard", "all", "test")
    rows = []
    facts = {}
    for model in ("BERT", "RoBERTa"):
        predictions, references = _read_released(work, model)
        gap = easy_hard_gap(
            predictions,
            references,
            test["easy"][:],
            n_permutations=work.settings["n_permutations"],
        )
        key = {"model": f"{model}-large", "trained on": "COPA"}
        rows.append({"key": key, "figures": _describe_gap(gap)})
        facts[f"{model.lower()}_p_value"] = gap.p_value
    rows += _score_baselines(work, test)
    facts["n_easy"] = sum(test["easy"][:])
    facts["n_hard"] = len(test) - facts["n_easy"]
    return {"rows": rows, "facts": facts}


def _score_baselines(work: Work, test: datasets.Dataset) -> list[dict[str, Any]]:
    """Score the baselines of COPA's release, and a classifier that uses only words of the alternatives.

    Args:
        work: Settings, folder and data of the step.
        test: COPA's test items, with a column `easy`.

    Returns:
        A row {"key": …, "figures": …} per baseline, with accuracies in percent.
    """
    labels = _read_answer_key(work, "gold.test")
    rows = []
    for name, file_name in BASELINES.items():
        answers = _read_answer_key(work, file_name)
        gap = easy_hard_gap(answers, labels, test["easy"][:])
        rows.append({"key": {"model": name, "trained on": "COPA"}, "figures": _describe_gap(gap)})

    original = work.load("balanced_copa", "original", "train")
    # (N,) 1 for a correct choice, 0 for an incorrect one, and one half for a tie.
    credit = cue_transfer(
        _list_choices(original),
        original["label"][:],
        _list_choices(test),
        test["label"][:],
    )
    is_easy = np.array(test["easy"][:])
    figures = {
        "accuracy": round(100 * float(credit.mean()), 6),
        "easy_accuracy": round(100 * float(credit[is_easy].mean()), 6),
        "hard_accuracy": round(100 * float(credit[~is_easy].mean()), 6),
    }
    rows.append({"key": {"model": "word frequency", "trained on": "COPA"}, "figures": figures})
    return rows


def _read_answer_key(work: Work, file_name: str) -> list[int]:
    """Read the choices (0 or 1) in a file of COPA's release, sorted by the number of the item.

    A line of the file is such as "501 0 1": the number of an item, and for each of its two alternatives
    whether it was chosen.

    Args:
        work: Settings, folder and data of the step, which finds or downloads the file.
        file_name: Name of the file.
    """
    file = work.find_file(f"copa/results/{file_name}", COPA_RELEASE)
    is_local_copy = file.name == file_name
    if is_local_copy:
        text = file.read_text("utf-8")
    else:
        # The archive of the release was downloaded.
        text = _read_member(file, file_name).decode()
    choice_by_item = {}
    for line in text.splitlines():
        item, _, is_second_chosen = line.split()
        choice_by_item[int(item)] = int(is_second_chosen)
    return [choice_by_item[item] for item in sorted(choice_by_item)]


def _read_member(archive: Path, file_name: str) -> bytes:
    """Return the content of the first file of an archive that has a name, in any folder.

    Args:
        archive: Path of the archive.
        file_name: Name of the file, without its folder.

    Raises:
        OptionError: If the archive has no such file.
    """
    for path, content in read_members(archive):
        if PurePosixPath(path).name == file_name:
            return content
    raise OptionError(
        f"Expected the file {file_name} in {archive.name}, but it has none: name a folder with "
        "copa/results by `data_dir`.",
        option="data_dir",
    )


def train_on_copa(work: Work) -> dict[str, Any]:
    """Train models on each training set with several seeds, and test them on COPA (Tables 5 and 6).

    Args:
        work: Settings, models, data and folder of the step. The settings have the training options, the number
            of seeds (`n_runs`), and optionally the number of items.

    Returns:
        `rows`: accuracies and Easy/Hard gap by model and training set. `answers`: (items, seeds) choices
        by "MODEL/TRAINING SET", with `labels` and `easy` of the items, from which a later step tests the
        change of the gap. If the recipe names cues, `sensitivities` and `falls`.
    """
    test = work.load("copa_easy_hard", "all", "test")
    items = write_prompts(work.sample(test, work.settings.get("n_items")))
    rows = []
    # "MODEL/TRAINING SET" -> choices of all seeds.
    answers: dict[str, Any] = {}
    for model_name, path in work.models.items():
        for training_set, set_name in TRAINING_SETS.items():
            runs = []
            for seed in work.seeds:
                folder = _get_run_folder(work, model_name, training_set, seed)
                runs.append(_train_and_answer(work, path, training_set, items, seed, folder))
            # (items, seeds) choices.
            predictions = np.stack(runs, axis=1)
            gap = easy_hard_gap(predictions, items["label"][:], items["easy"][:])
            key = {"model": model_name, "trained on": set_name}
            rows.append({"key": key, "figures": _describe_gap(gap)})
            answers[f"{model_name}/{training_set}"] = predictions.tolist()

    return {
        "rows": rows,
        "facts": {},
        "answers": answers,
        "labels": items["label"][:],
        "easy": items["easy"][:],
        **_measure_sensitivities(work),
    }


def _get_run_folder(work: Work, model_name: str, training_set: str, seed: int) -> Path:
    """Return the folder of the model and the scores of one training."""
    return work.folder / model_name / training_set / f"seed-{seed}"


def _train_and_answer(
    work: Work, path: str, training_set: str, items: datasets.Dataset, seed: int, folder: Path
) -> NDArray[np.int64]:
    """Train a model once, and return its choices on the test items.

    Args:
        work: Settings, folder and data of the step.
        path: Path or hub id of the pretrained model.
        training_set: Configuration of `balanced_copa`.
        items: Test items, with prompts.
        seed: Seed of the training, and of the half of the pairs in "balanced_50".
        folder: Folder of the model and its scores.

    Returns:
        (N,) choice of each item.
    """
    freeze_encoder = work.settings.get("freeze_encoder", False)
    training = work.settings["training"]
    if freeze_encoder:
        # If only the head is trained, it needs a larger learning rate.
        training = work.settings["frozen_training"]
    train = _load_training_set(work, training_set, seed)
    scores = train_and_score(
        path,
        write_prompts(work.sample(train, work.settings.get("n_items"))),
        {"test": items},
        out=folder,
        seed=seed,
        metrics=("accuracy",),
        checkpoint_steps=0,
        freeze_encoder=freeze_encoder,
        **training,
    )
    return scores["test"].predicted


def _measure_sensitivities(work: Work) -> dict[str, Any]:
    """Compare the sensitivity to cues of models trained on COPA and on Balanced COPA (Table 7).

    Args:
        work: Settings, models, data and folder of the step. `settings["sensitivity_cues"]` are the words; the
            folder has the trained models.

    Returns:
        `sensitivities`: a row for each cue that the recipe names; `falls`: a row for each group of words
        of similar productivity. An empty dictionary if the recipe names no cues.
    """
    cues = work.settings.get("sensitivity_cues", ())
    if not cues:
        return {}
    original = work.load("balanced_copa", "original", "train")
    table = cue_statistics(_list_choices(original), original["label"][:])
    rows = []
    falls = []
    for model_name in work.models:
        old_by_cue = _average_sensitivity(work, model_name, "original")
        new_by_cue = _average_sensitivity(work, model_name, "balanced")
        change_by_cue = {}
        for cue, old_value in old_by_cue.items():
            # In a sample of the items, a word may be missing.
            if cue in new_by_cue:
                change_by_cue[cue] = new_by_cue[cue] - old_value
        for cue in cues:
            if cue in change_by_cue:
                figures = {
                    "original": round(old_by_cue[cue], 6),
                    "balanced": round(new_by_cue[cue], 6),
                    "change": round(change_by_cue[cue], 6),
                }
                rows.append({"key": {"model": model_name, "cue": cue}, "figures": figures})
        falls += _summarize_changes(model_name, table, change_by_cue)
    return {"sensitivities": rows, "falls": falls}


def _average_sensitivity(work: Work, model_name: str, training_set: str) -> dict[str, float]:
    """Return word -> sensitivity to it, averaged over the models of all seeds, times 100.

    Args:
        work: Settings, folder and data of the step; the folder has the trained models.
        model_name: Name of the model in the recipe.
        training_set: Configuration of `balanced_copa` on which the models were trained.
    """
    original = work.load("balanced_copa", "original", "train")
    items = write_prompts(work.sample(original, work.settings.get("n_items")))
    values_by_cue: dict[str, list[float]] = {}
    for seed in work.seeds:
        folder = _get_run_folder(work, model_name, training_set, seed)
        sensitivity = token_sensitivity(
            load_multiple_choice(folder / "model"),
            items["prompt"][:],
            items["choices"][:],
            out=folder / "sensitivity",
            progress=False,
        )
        # The sensitivity of a model to a word is the mean over its occurrences.
        for cue in cue_sensitivity(sensitivity):
            values_by_cue.setdefault(cue.cue, []).append(cue.sensitivity)
    return {cue: 100 * float(np.mean(values)) for cue, values in values_by_cue.items()}


def _summarize_changes(
    model_name: str, table: CueStatistics, change_by_cue: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Summarize the changes of the sensitivity to words, in groups by their productivity.

    The productivity of a word is the share of correct alternatives among those that contain it. Words of
    high or low productivity are cues.

    Args:
        model_name: Name of the model in the recipe.
        table: Statistics of the words of COPA.
        change_by_cue: Word -> change of the sensitivity to it.

    Returns:
        A row {"key": …, "figures": …} per group: number of words, mean change, and share of words whose
        sensitivity falls, in percent.
    """
    rows = []
    for name, (low, high) in PRODUCTIVITY_RANGES.items():
        changes = []
        for cue in table.cues:
            is_common = cue.applicability >= MIN_APPLICABILITY and cue.cue in change_by_cue
            if is_common and low <= cue.productivity <= high:
                changes.append(change_by_cue[cue.cue])
        # A small sample may have no word of a group.
        if changes:
            fall_share = float(np.mean(np.array(changes) < 0))
            figures = {
                "n_cues": len(changes),
                "mean": round(float(np.mean(changes)), 6),
                "falls": round(100 * fall_share, 6),
            }
            rows.append({"key": {"model": model_name, "productivity": name}, "figures": figures})
    return rows


def compare_training_sets(work: Work) -> dict[str, Any]:
    """Test whether the Easy/Hard gap changes if a model is trained on Balanced COPA instead of COPA.

    Args:
        work: Settings, models and results of the step. `settings["trained"]` is the name of the step that
            trained the models.

    Returns:
        `rows`: both gaps in percent, their difference and its p-values, by model and training set; and
        `facts`: the difference and p-values of the first model and the whole Balanced COPA, which
        sentences quote.
    """
    # The choices that the models of an earlier step made on the same items.
    trained = work.results[work.settings["trained"]]
    rows: list[dict[str, Any]] = []
    for model_name in work.models:
        for training_set in ("balanced_50", "balanced"):
            change = compare_gaps(
                trained["answers"][f"{model_name}/original"],
                trained["answers"][f"{model_name}/{training_set}"],
                trained["labels"],
                trained["easy"],
                n_permutations=work.settings["n_permutations"],
            )
            figures: dict[str, Any] = {
                "original": round(100 * change.original, 6),
                "balanced": round(100 * change.balanced, 6),
                "difference": write_interval(change.difference, change.interval, scale=100),
                "item_p_value": change.item_p_value,
                "p_value": change.p_value,
            }
            key = {"model": model_name, "instead of COPA": TRAINING_SETS[training_set]}
            rows.append({"key": key, "figures": figures})
    # Each model has a row for "balanced_50", and then one for "balanced".
    balanced_row = rows[1]
    figures = balanced_row["figures"]
    facts = {
        **figures["difference"],
        "item_p_value": figures["item_p_value"],
        "p_value": figures["p_value"],
    }
    return {"rows": rows, "facts": facts}


def write_prompts(data: datasets.Dataset) -> datasets.Dataset:
    """Turn items of COPA into multiple-choice items whose prompt is the premise and a question.

    Args:
        data: Items with id, premise, question ("cause" or "effect"), choice1, choice2 and label.

    Example:
        >>> item = {"id": 1, "premise": "It rained.", "question": "effect", "label": 0}
        >>> item |= {"choice1": "It got wet.", "choice2": "It got dry."}
        >>> write_prompts(datasets.Dataset.from_list([item]))[0]["prompt"]
        'It rained. What happened as a result?'
    """
    rows = []
    for item in data:
        row = {
            "id": str(item["id"]),
            "prompt": f"{item['premise']} {QUESTIONS[item['question']]}",
            "choices": get_choices(item),
            "label": item["label"],
        }
        # Only test items have a column `easy`.
        if "easy" in item:
            row["easy"] = item["easy"]
        rows.append(row)
    return datasets.Dataset.from_list(rows)


def _load_training_set(work: Work, name: str, seed: int) -> datasets.Dataset:
    """Load a training set of the paper, without later corrections.

    Args:
        work: Settings, folder and data of the step.
        name: Configuration of `balanced_copa`.
        seed: Seed of the half of the pairs in "balanced_50".
    """
    options: dict[str, Any] = {"known_issues": False}
    if name == "balanced_50":
        options["seed"] = seed
    return work.load("balanced_copa", name, "train", **options)


def _list_choices(data: datasets.Dataset) -> list[list[str]]:
    """Return both alternatives of each item of COPA."""
    return [list(pair) for pair in zip(data["choice1"], data["choice2"], strict=True)]


def _read_released(work: Work, model: str) -> tuple[list[list[int]], list[int]]:
    """Read the released predictions of a model on COPA's test items, sorted by the number of the item.

    Args:
        work: Settings, folder and data of the step, which finds or downloads the archive.
        model: "BERT" or "RoBERTa".

    Returns:
        N rows of three choices, one per seed; and N labels.
    """
    archive = work.find_file(f"balanced_copa/{PREDICTIONS.path}", PREDICTIONS.url)
    PREDICTIONS.verify(archive)
    content = _read_member(archive, f"{model}_Original_COPA_DEV_predictions_test.csv")
    rows = list(csv.DictReader(io.StringIO(content.decode())))

    def get_number(row: dict[str, str]) -> int:
        """Return the number of the item, which is preceded by a letter, such as Q501."""
        return int(row["QuestionNumber"][1:])

    predictions = []
    labels = []
    for row in sorted(rows, key=get_number):
        # The file counts the alternatives from 1.
        predictions.append([int(row[f"SystemOutput_Seed{seed}"]) - 1 for seed in range(3)])
        labels.append(int(row["CorrectAnswer"]) - 1)
    return predictions, labels


def _describe_gap(gap: EasyHardGap) -> dict[str, Any]:
    """Return the accuracies and the gap in percent, as the figures of a row.

    Args:
        gap: Accuracies of each run on Easy and Hard items, and the gap over all runs.

    Returns:
        `accuracy`, `easy_accuracy` and `hard_accuracy`: {"value": mean over runs, "std": standard
        deviation}, as the paper prints them; `gap`: {"value": …, "low": …, "high": …}, with its interval
        over items; and `p_value` of the gap.
    """
    figures: dict[str, Any] = {}
    for name in ("accuracy", "easy_accuracy", "hard_accuracy"):
        values = [getattr(run, name) for run in gap.runs]
        figures[name] = average_runs(values, scale=100)
    figures["gap"] = write_interval(gap.easy_hard_gap, gap.interval, scale=100)
    figures["p_value"] = gap.p_value
    return figures
