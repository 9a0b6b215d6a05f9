"""Inputs of the steps: settings, a folder, data sets, models, and results of earlier steps."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.core.intervals import Interval
from rightreasons.datasets.builder import load_dataset
from rightreasons.io.samples import choose_rows
from rightreasons.models.scorers import demo_encoder
from rightreasons.replicate.cnn import build_cnn, load_glove_vectors
from rightreasons.replicate.small_encoder import make_small_encoder

PACKAGED = "packaged"
"""Name in recipes of the encoder that installs as a package, for machines that reach no hub."""

GLOVE_CNN = "glove_cnn"
"""Name in recipes of the convolutional network over GloVe vectors."""


@dataclasses.dataclass(frozen=True)
class Work:
    """The settings, data and models of a step, and the results of earlier steps.

    Attributes:
        folder: Folder of the models and scores of the step, removed when it is done.
        data_dir: Folder with local copies of the data sets; None to download them.
        settings: Options of the scale and of the step, by name.
        results: Results of the earlier steps, by name.
    """

    folder: Path
    data_dir: str | os.PathLike[str] | None
    settings: Mapping[str, Any]
    results: Mapping[str, Any]

    @property
    def seeds(self) -> range:
        """Seeds of the runs."""
        return range(self.settings["n_runs"])

    @property
    def models(self) -> dict[str, str]:
        """Path or hub id of each model, by the name that tables show."""
        models = {}
        for name, path in self.settings["models"].items():
            # Recipes have the name of the packaged encoder, whose folder differs between installations.
            if path == PACKAGED:
                path = self._open_packaged(name)
            models[name] = path
        return models

    def _open_packaged(self, name: str) -> str:
        """Return the folder of the packaged encoder, or of its first layers if the scale limits them.

        Args:
            name: Name of the model in the recipe.
        """
        encoder = demo_encoder()
        n_layers = self.settings.get("first_layers", {}).get(name)
        if n_layers is None:
            return str(encoder)
        # The time of a training is proportional to the number of layers.
        folder = self.folder / f"encoder-{n_layers}"
        return str(make_small_encoder(encoder, folder, None, n_layers))

    def prepare_model(self, path: str, train: datasets.Dataset, folder: Path, seed: int) -> str:
        """Return the path of the model from which a training starts.

        Args:
            path: Path or hub id of a pretrained model, which is returned unchanged; or `GLOVE_CNN` to make a
                network over the words of the training texts.
            train: Training items, with `text` and `label`.
            folder: Folder of the new network.
            seed: Seed of its weights.
        """
        if path != GLOVE_CNN:
            return path
        network = build_cnn(
            train["text"][:],
            folder,
            label_names=train.features["label"].names,
            vectors=load_glove_vectors(),
            seed=seed,
        )
        return str(network)

    def load(self, name: str, config: str | None, split: str, **options: Any) -> datasets.Dataset:
        """Load a split of a data set, by default without corrections of known issues, as in the paper.

        Args:
            name: Name of the data set.
            config: Configuration; None for the first one.
            split: Name of the split.
            **options: Options of `load_dataset`, such as `known_issues=True`.
        """
        options.setdefault("known_issues", False)
        # With a split, the result is one table, and not a mapping of splits.
        data: Any = load_dataset(
            name,
            config,
            split=split,
            data_dir=self.data_dir,
            **options,
        )
        return data

    def find_file(self, file: str, url: str) -> Path:
        """Return a local copy of a released file, such as predictions of a paper, or download it.

        Args:
            file: Path of the file in the folder of the data sets.
            url: Address from which it is downloaded if there is no local copy.
        """
        if self.data_dir is not None:
            path = Path(self.data_dir) / file
            if path.is_file():
                return path
        # The manager caches downloads, and its errors name the address.
        return Path(datasets.DownloadManager().download(url))

    def sample(self, data: datasets.Dataset, n_items: int | None) -> datasets.Dataset:
        """Return at most n_items items, selected by their ids: the same for every model and seed.

        Args:
            data: Items with a column `id`.
            n_items: Maximum number of items; None for all, as in the paper.
        """
        if n_items is None or len(data) <= n_items:
            return data
        return data.select(choose_rows(data["id"][:], n_items, seed=0))


def average_runs(values: Iterable[float], *, scale: float = 1.0) -> dict[str, float]:
    """Return the mean of a figure over runs and, if there are several, its standard deviation.

    Args:
        values: Figure of each run.
        scale: Factor of both; 100 for percent.

    Returns:
        `value`, and `std`, the population standard deviation, as the papers print it.

    Example:
        >>> average_runs([0.5, 0.7], scale=100)
        {'value': 60.0, 'std': 10.0}
    """
    figures = np.array(list(values), dtype=np.float64) * scale
    # Tables show fewer than six digits.
    summary = {"value": round(float(figures.mean()), 6)}
    if len(figures) > 1:
        summary["std"] = round(float(figures.std()), 6)
    return summary


def write_interval(value: float, interval: Interval, *, scale: float = 1.0) -> dict[str, float]:
    """Return a figure with the limits of its interval.

    Args:
        value: The figure.
        interval: Interval of the figure.
        scale: Factor of all three; 100 for percent.

    Returns:
        `value`, `low` and `high`.

    Example:
        >>> write_interval(0.5, Interval(0.25, 0.75, 0.95, "Wilson score"), scale=100)
        {'value': 50.0, 'low': 25.0, 'high': 75.0}
    """
    return {
        "value": round(scale * value, 6),
        "low": round(scale * interval.low, 6),
        "high": round(scale * interval.high, 6),
    }
