"""The protocol of Balanced COPA: train on COPA, Balanced COPA or half of it, and compare Easy with Hard test items."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from styles import as_multiple_choice

from rightreasons.core.results import Result
from rightreasons.core.validation import check_count, check_one_of, check_seed
from rightreasons.cues.easy_hard import EasyHardGap, easy_hard_gap
from rightreasons.datasets.builder import load_dataset
from rightreasons.training.premise_oblivious import scored_run

TRAINING_SETS = ("original", "balanced", "balanced_50")
"""COPA's 500 items, all 1,000 of Balanced COPA, and 500 of these: 250 originals with their mirrored items."""


@dataclasses.dataclass(frozen=True)
class CopaRow(Result):
    """One row of Table 5 or 6: a training set over several seeds.

    Attributes:
        training_set: "original", "balanced" or "balanced_50".
        frozen_encoder: Whether the head alone was trained (Table 6).
        seeds: The seeds.
        gap: Accuracy overall, on Easy and on Hard, with intervals and p-value.
        train_accuracy: Mean accuracy on the training set itself, in [0, 1]: whether the model has fit it at all.
    """

    training_set: str
    frozen_encoder: bool
    seeds: tuple[int, ...]
    gap: EasyHardGap
    train_accuracy: float


def copa_protocol(
    model_name_or_path: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str],
    training_sets: Sequence[str] = TRAINING_SETS,
    n_runs: int = 3,
    freeze_encoder: bool = False,
    epochs: float = 10.0,
    learning_rate: float = 2e-5,
    batch_size: int = 16,
    max_length: int = 64,
    warmup: float = 0.1,
    style: str = "question",
    seed: int = 0,
    data_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> tuple[CopaRow, ...]:
    """Train an encoder on each training set with several seeds, and test it on COPA's Easy and Hard items.

    The paper prints neither learning rate nor epochs: the defaults are usual ones for BERT. The weights of the last
    epoch are tested; `balanced_50` takes another half of the pairs with each seed.

    Args:
        model_name_or_path: Any encoder that `AutoModelForMultipleChoice` opens.
        out: A folder for the runs (`TRAINING_SET/seed-S`) and their models, which a second call reads back.
        training_sets: Of `TRAINING_SETS`.
        n_runs: Seeds; the paper has three.
        freeze_encoder: Whether to train the head alone, as the "non-fine-tuned" models of Table 6.
        epochs: Passes over the training set.
        learning_rate: The largest learning rate.
        batch_size: Items of a batch.
        max_length: The most tokens of premise and alternative.
        warmup: Share of the steps over which the learning rate rises.
        style: How the question is put, as in `as_multiple_choice`.
        seed: The first seed; run r has seed + r.
        data_dir: Where local copies of the data are, as in `load_dataset`.
        progress: Whether to show progress bars.
        **options: Further options of `fine_tune`.

    Returns:
        A `CopaRow` for each training set.

    References:
        Kavumba et al. (2019), §4-5, Tables 4 to 6.
    """
    for name in training_sets:
        check_one_of(name, TRAINING_SETS, "training_sets")
    seeds = tuple(range(check_seed(seed), seed + check_count(n_runs, "n_runs")))
    items = load_dataset("copa_easy_hard", "all", split="test", data_dir=data_dir)
    test = as_multiple_choice(items, style=style)
    rows = []
    for name in training_sets:
        chosen, on_train = [], []
        for number in seeds:
            half: dict[str, Any] = {"seed": number} if name == "balanced_50" else {}
            raw = load_dataset(
                "balanced_copa",
                name,
                split="train",
                data_dir=data_dir,
                known_issues=False,
                **half,
            )
            train = as_multiple_choice(raw, style=style)
            scores = scored_run(
                model_name_or_path,
                train,
                {"test": test, "train": train},
                out=run_folder(out, name, number),
                progress=progress,
                **{
                    "epochs": epochs,
                    "learning_rate": learning_rate,
                    "batch_size": batch_size,
                    "max_length": max_length,
                    "warmup": warmup,
                    "freeze_encoder": freeze_encoder,
                    "seed": number,
                    "metrics": ("accuracy",),
                    **options,
                },
            )
            chosen.append(scores["test"].predicted)
            on_train.append(float(np.mean(scores["train"].predicted == scores["train"].labels)))
        gap = easy_hard_gap(np.stack(chosen, axis=1), test["label"][:], test["easy"][:])
        rows.append(CopaRow(name, freeze_encoder, seeds, gap, float(np.mean(on_train))))
    return tuple(rows)


def run_folder(out: str | os.PathLike[str], training_set: str, seed: int) -> Path:
    """Return the folder of one run of the protocol."""
    return Path(out) / training_set / f"seed-{seed}"
