"""The explorer's default model, trained in seconds on generated reviews when the app first starts."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from rightreasons.data.builders.catalog import load_dataset
from rightreasons.models.cnn import build_cnn
from rightreasons.models.loading import Classifier, as_classifier, load_classifier
from rightreasons.training.tuning.finetune import fine_tune
from rightreasons.widget import typed_hub_id, typed_text

TRAIN, TEST = 1000, 40
SHOWN = 14
"""Initial reviews of the page."""


@functools.cache
def own_model() -> tuple[Classifier, tuple[str, ...]]:
    """Train the small network of the Space; return it with reviews that it has not seen."""
    # No cue is planted: the model should read the reviews.
    data = load_dataset(
        "planted_shortcuts", coverage=0.0, label_noise=0.0, train_size=TRAIN, validation_size=10, test_size=TEST
    )
    texts = data["train"]["text"][:]
    with tempfile.TemporaryDirectory(prefix="difficulty-explorer-") as folder:
        start = build_cnn(texts, Path(folder) / "start", n_filters=16, max_length=128)
        done = fine_tune(
            start,
            data["train"],
            out=Path(folder) / "model",
            epochs=6,
            learning_rate=4e-3,
            max_length=64,
            checkpoint_steps=0,
            progress=False,
            device="cpu",
        )
        return load_classifier(done.folder), tuple(data["test"]["text"][:SHOWN])


@functools.lru_cache(maxsize=2)
def _named(name: str) -> Classifier:
    return as_classifier(name)


def open_model(name: str) -> Classifier:
    """Open a model of the hub by its id, or the Space's own if the name is empty."""
    if not typed_text(name, "Model").strip():
        return own_model()[0]
    return _named(typed_hub_id(name, "Model"))
