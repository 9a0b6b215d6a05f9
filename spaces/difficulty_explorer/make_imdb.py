"""Write contrast pairs of film reviews with their eigenvalues for the page.

    python spaces/difficulty_explorer/make_imdb.py [DATA_DIR]

takes about a quarter of an hour of one core. The reviews are downloaded, or read from the folder with the published
files. They are no part of the repository; the Space gets them when it is published. Maas et al. 2011;
Kaushik et al. 2020 (training); Gardner et al. 2020 (pairs).
"""

import dataclasses
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from difficulty_model import IMDB_PAIRS
from difficulty_view import rank_pairs

from rightreasons.core.store import write_json
from rightreasons.datasets.builder import load_dataset
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.replicate.small_encoder import make_small_encoder
from rightreasons.training.finetune import fine_tune

N_LAYERS = 2
MAX_TOKENS = 256
"""Layers of the encoder, and tokens of a review that it reads."""

MAX_WORDS = 110
"""Most words of a review on the page, so that the network reads it whole and a visitor does, too."""

N_PAIRS = 6
"""Number of pairs on the page: the most difficult ones of those that are short enough."""

ORIGINAL = "original"


def main(data_dir: str | None) -> None:
    """Train the network, and write the most difficult pairs."""
    with tempfile.TemporaryDirectory() as folder:
        # The model is only needed here: the page shows stored eigenvalues.
        pairs = rank_pairs(train(data_dir, Path(folder)), list_pairs(data_dir))
    rows = []
    for pair in pairs[:N_PAIRS]:
        texts = [dataclasses.asdict(text) for text in pair.texts]
        rows.append({"texts": texts, "labels": pair.labels})
    write_json(IMDB_PAIRS, rows)


def train(data_dir: str | None, folder: Path) -> Classifier:
    """Train the first layers of the small encoder on original reviews, none of which is in a pair."""
    data = load_dataset("imdb_counterfactual", split="train", data_dir=data_dir)
    # Edited training reviews would teach the network what the pairs test.
    originals = data.select(np.flatnonzero(np.array(data["role"][:]) == ORIGINAL))
    trained = fine_tune(
        make_small_encoder(demo_encoder(), folder / "encoder", None, N_LAYERS),
        originals.select_columns(["text", "label"]),
        out=folder / "model",
        epochs=3,
        learning_rate=5e-4,
        batch_size=16,
        max_length=MAX_TOKENS,
        checkpoint_steps=0,
        progress=False,
        device="cpu",
    )
    return load_classifier(trained.folder)


def list_pairs(data_dir: str | None) -> list[dict[str, Any]]:
    """Return the pairs of short reviews, as `rank_pairs` takes them."""
    data = load_dataset("imdb_contrast", split="test", data_dir=data_dir)
    names = data.features["label"].names
    sides: dict[str, dict[bool, tuple[str, str]]] = {}
    for row in data:
        # Both sides of a pair have its id.
        is_original = row["role"] == ORIGINAL
        sides.setdefault(row["pair_id"], {})[is_original] = (row["text"], names[row["label"]])
    pairs = []
    for pair in sides.values():
        texts, labels = zip(pair[True], pair[False], strict=True)
        if max(len(text.split()) for text in texts) <= MAX_WORDS:
            pairs.append({"texts": texts, "labels": labels})
    return pairs


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
