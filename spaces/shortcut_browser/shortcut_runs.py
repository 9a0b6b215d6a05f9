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
        "mixed", strength=strength, label_noise=0.05, train_size=1200, test_size=500, seed=0
    )


@functools.cache
def training(strength: float) -> tuple[list[str], list[int]]:
    """Return the training texts and their labels, which are generated again."""
    items = list(generate_planted_examples("train", config(strength)))
    return [item["text"] for item in items], [item["label"] for item in items]


@functools.cache
def cue_labels(strength: float) -> np.ndarray:
    """Return the label that the planted cue of each test text stands for, -1 for none."""
    return np.array(
        [item["cue_label"] for item in generate_planted_examples("test", config(strength))]
    )


@functools.lru_cache(maxsize=256)
def heads(strength: float, percent: float) -> LmiResult:
    """Rank the words of the training texts by LMI; the first `percent` of each label are its head."""
    return lmi(*training(strength), head_fraction=percent / 100)


def run_file(strength: float) -> str:
    """Name the file of one strength."""
    return f"strength_{strength:.2f}.parquet"


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """What one model said about one split.

    Attributes:
        labels: (N,) gold labels.
        positive: (N,) P(positive).
        tokens: The tokens of the first texts.
        attributions: One attribution a token.
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
        rows = pq.read_table(folder / run_file(strength)).to_pylist()
        runs[strength] = {
            split: _run([row for row in rows if row["split"] == split]) for split in SPLITS
        }
    return runs


def _run(rows: list[dict[str, Any]]) -> Run:
    explained = [row for row in rows if row["tokens"] is not None]
    return Run(
        labels=np.array([row["label"] for row in rows]),
        positive=np.array([row["p_positive"] for row in rows]) / UNIT,
        tokens=[row["tokens"] for row in explained],
        attributions=[[value / UNIT for value in row["attributions"]] for row in explained],
        planted=[row["planted"] for row in explained],
    )
