"""The bundled runs: encoders fine-tuned on planted shortcuts of growing strength; `make_runs.py` makes them."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from rightreasons.datasets.planted import PlantedConfig, generate_planted_examples
from rightreasons.shortcuts.mutual_information import LmiResult, lmi

RUNS = Path(__file__).resolve().parent / "bundled"
STRENGTHS = (0.5, 0.7, 0.8, 0.9, 1.0)
SPLITS = ("test", "test_absent", "test_flipped")
UNIT = 10_000
"""Probabilities and attributions are kept as whole numbers of 1/UNIT."""

TOP_N, HEAD = 3, 5
"""The settings of the detector, the second in percent, at first."""


def config(strength: float) -> PlantedConfig:
    """Return the data of one strength: the same texts, another agreement of cue and label."""
    return PlantedConfig(
        "mixed",
        strength=strength,
        label_noise=0.05,
        train_size=1200,
        test_size=500,
        seed=0,
    )


@functools.cache
def training(strength: float) -> tuple[list[str], list[int]]:
    """Return the training texts and their labels."""
    # The texts follow from the seed: generating them again takes less than storing them.
    texts = []
    labels = []
    for item in generate_planted_examples("train", config(strength)):
        texts.append(item["text"])
        labels.append(item["label"])
    return texts, labels


@functools.cache
def cue_labels(strength: float) -> np.ndarray:
    """Return the label that the planted cue of each test text indicates, -1 for no cue."""
    items = generate_planted_examples("test", config(strength))
    return np.array([item["cue_label"] for item in items])


@functools.lru_cache(maxsize=256)
def heads(strength: float, percent: float) -> LmiResult:
    """Rank the words of the training texts by LMI; the first `percent` of each label are its head."""
    texts, labels = training(strength)
    return lmi(texts, labels, head_fraction=percent / 100)


def run_file(strength: float) -> str:
    """Name the file of one strength."""
    return f"strength_{strength:.2f}.parquet"


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """Predictions and attributions of one model on one split.

    Attributes:
        labels: (N,) gold labels.
        positive: (N,) P(positive).
        tokens: The tokens of the first texts.
        attributions: One attribution per token.
        planted: Whether each token was planted.
    """

    labels: np.ndarray
    positive: np.ndarray
    tokens: list[list[str]]
    attributions: list[list[float]]
    planted: list[list[bool]]

    @property
    def predictions(self) -> np.ndarray:
        """(N,) predicted labels."""
        # A probability of one half is negative, as for `argmax`.
        return (self.positive > 0.5).astype(np.int64)

    @property
    def confidences(self) -> np.ndarray:
        """(N,) probability of the predicted label."""
        return np.maximum(self.positive, 1 - self.positive)


@functools.cache
def read_runs(folder: Path = RUNS) -> Mapping[float, Mapping[str, Run]]:
    """Read the bundled runs: strength of the cue -> split -> run."""
    runs = {}
    for strength in STRENGTHS:
        # One file has the rows of all splits.
        rows_by_split: dict[str, list[dict[str, Any]]] = {split: [] for split in SPLITS}
        for row in pq.read_table(folder / run_file(strength)).to_pylist():
            rows_by_split[row["split"]].append(row)
        runs[strength] = {}
        for split, rows in rows_by_split.items():
            runs[strength][split] = _make_run(rows)
    return runs


def _make_run(rows: list[dict[str, Any]]) -> Run:
    """Return the run of the rows of a split."""
    labels = []
    positive = []
    tokens = []
    attributions = []
    planted = []
    for row in rows:
        labels.append(row["label"])
        positive.append(row["p_positive"] / UNIT)
        # All texts are predicted, but only the first ones are attributed.
        if row["tokens"] is None:
            continue
        tokens.append(row["tokens"])
        attributions.append([value / UNIT for value in row["attributions"]])
        planted.append(row["planted"])
    return Run(np.array(labels), np.array(positive), tokens, attributions, planted)
