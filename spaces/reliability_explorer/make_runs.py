"""Makes the bundled runs: predictions of real fine-tuned encoders for data with planted shortcuts.

    python spaces/reliability_explorer/make_runs.py WORK_FOLDER

needs the extra [encoder] and takes a few minutes on two cores. Each run is a table of probabilities (four places) and
labels, in the form that the Space takes as an upload.
"""

import json
import sys
from pathlib import Path

import numpy as np

from rightreasons.core.validation import softmax
from rightreasons.datasets.planted import LABELS, PlantedConfig, generate_planted_examples
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.training.finetune import fine_tune

RUNS = Path(__file__).resolve().parent / "bundled"

# A cue that is found in most texts and pays in most of them; and a noisy task of three classes, trained on for long.
LEANING = PlantedConfig(
    "lexical", strength=0.9, coverage=0.6, label_noise=0.05, train_size=2000, test_size=1000, seed=0
)
OVERFITTED = PlantedConfig(
    "mixed",
    n_classes=3,
    strength=0.8,
    coverage=0.5,
    label_noise=0.25,
    train_size=600,
    test_size=1000,
    seed=0,
)

ABOUT = {
    "planted_test": (
        LEANING,
        "test",
        "Planted cue as in training",
        "Reviews; 60% hold a word that has nothing to do with the verdict but agrees with the label in 90% of them.",
    ),
    "planted_absent": (
        LEANING,
        "test_absent",
        "Planted cue absent",
        "The same model and reviews, without that word.",
    ),
    "planted_flipped": (
        LEANING,
        "test_flipped",
        "Planted cue flipped",
        "The same model and reviews; the word now agrees with the label in 10% of them.",
    ),
    "three_classes": (
        OVERFITTED,
        "test",
        "Three classes, trained for long",
        "Negative, neutral, positive; a quarter of the labels are wrong, and the model memorized them.",
    ),
}
EPOCHS = {LEANING.name: 3, OVERFITTED.name: 8}


def main(work: Path) -> None:
    """Train both models, let them predict, and write the runs and their index."""
    RUNS.mkdir(exist_ok=True)
    for key, (config, split, _, _) in ABOUT.items():
        names = LABELS[config.n_classes]
        # A model that exists is loaded: three runs share the first one.
        model = fine_tune(
            demo_encoder(),
            list(generate_planted_examples("train", config)),
            out=work / config.name,
            label_names=names,
            epochs=EPOCHS[config.name],
            learning_rate=1e-4,
            seed=0,
        )
        texts = []
        labels = []
        for item in generate_planted_examples(split, config):
            texts.append(item["text"])
            labels.append(item["label"])
        # Labels travel with the scores, in the order of the model.
        scores = predict(
            load_classifier(model.folder),
            texts,
            labels=labels,
        )
        write(RUNS / f"{key}.csv", softmax(np.asarray(scores.logits)), scores.labels, names)
    # The page lists the runs in this order.
    index = []
    for key, (_, _, title, description) in ABOUT.items():
        index.append({"file": f"{key}.csv", "title": title, "about": description})
    (RUNS / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def write(
    path: Path, probabilities: np.ndarray, labels: np.ndarray, names: tuple[str, ...]
) -> None:
    """Write one row per item; rows still sum to 1 after rounding."""
    head = probabilities[:, 1:]
    rounded = np.round(probabilities, 4)
    # The first class takes the rounding error of the others.
    rounded[:, 0] = 1 - np.round(head, 4).sum(axis=1)
    rounded = np.clip(rounded, 0, 1)
    heads = [f"p_{name}" for name in names]
    lines = [",".join(["label", *heads])]
    for label, row in zip(labels, rounded.tolist(), strict=True):
        cells = [f"{probability:.4f}" for probability in row]
        lines.append(",".join([names[label], *cells]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
