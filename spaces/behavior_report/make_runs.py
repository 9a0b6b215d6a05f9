"""Makes the bundled predictions of one encoder, trained on sentiment, then on the suite or all but one class of it.

    python spaces/behavior_report/make_runs.py WORK_FOLDER DATA_FOLDER

needs the extra [encoder], and SST-2 in DATA_FOLDER (without it, SST-2 is downloaded); about ten minutes on one core.
Only probabilities about the bundled suite are kept, in the form that the Space takes as an upload.
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from make_suite import SUITE, make_suite

from rightreasons.behavior.learning.items import suite_items
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.core.validation import softmax
from rightreasons.datasets.builder import load_dataset
from rightreasons.datasets.suites.suite import Suite
from rightreasons.models.batching import encode
from rightreasons.models.classes import predict
from rightreasons.models.loading import Classifier, load_classifier
from rightreasons.models.scorers import demo_encoder
from rightreasons.training.finetune import fine_tune

NAMES = ("negative", "positive")
SENTENCES = 6000
HELD_OUT = "Negation"
SEED = 0
ON_SUITE = {"epochs": 2.0, "learning_rate": 5e-5, "batch_size": 24}


def main(work: Path, data: Path | None) -> None:
    """Train the three models and write their predictions for the bundled suite."""
    # Accuracy on ordinary sentences shows what the suite costs a model elsewhere.
    validation = load_dataset("sst2", split="validation", data_dir=data)
    sentiment_model = fine_tune_sentiment(work, data)
    # The bundled suite is the test part: no model learns from its cases.
    training_suite = make_suite().split("train")
    functionalities = []
    for functionality in training_suite.functionalities:
        if functionality.functionality_class != HELD_OUT:
            functionalities.append(functionality)
    reduced_suite = dataclasses.replace(training_suite, functionalities=tuple(functionalities))
    sentences = f"{SENTENCES:,} sentences of SST-2"
    runs = (
        ("sentiment", "Sentiment alone", f"fine-tuned on {sentences}", None),
        (
            "sentiment_suite",
            "then the suite",
            "the same, then on other cases of this suite",
            training_suite,
        ),
        (
            "sentiment_rest",
            f"then all but {HELD_OUT.lower()}",
            f"the same, without the class {HELD_OUT}",
            reduced_suite,
        ),
    )
    suite = Suite.read(SUITE)
    texts = [text for (text,) in suite.texts()]
    index = []
    for key, title, description, suite_part in runs:
        # Training changes the model in place, so each run loads the sentiment model again.
        classifier = fine_tune_behavior(load_classifier(sentiment_model), suite_part)
        write_predictions(SUITE.with_name(f"{key}.csv"), predict_positive(classifier, texts))
        is_correct = (predict_positive(classifier, validation["text"][:]) > 0.5) == np.array(
            validation["label"][:]
        )
        index.append(
            {
                "file": f"{key}.csv",
                "title": title,
                "about": description,
                "iid_accuracy": round(is_correct.mean(), 4),
            }
        )
    SUITE.with_name("index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


def fine_tune_sentiment(work: Path, data: Path | None) -> Path:
    """Fine-tune the encoder on sentences of SST-2."""
    train = load_dataset("sst2", split="train", data_dir=data)
    # Sorted rows keep the order of the data set.
    sampled_rows = np.sort(np.random.default_rng(SEED).permutation(len(train))[:SENTENCES])
    rows = train.select(sampled_rows)
    tuned = fine_tune(
        demo_encoder(),
        rows,
        out=work / "sentiment",
        label_names=NAMES,
        epochs=1,
        learning_rate=1e-4,
        seed=SEED,
    )
    return tuned.folder


def fine_tune_behavior(classifier: Classifier, suite_part: Suite | None) -> Classifier:
    """Train a classifier on part of the suite, in place."""
    if suite_part is None:
        return classifier
    items = suite_items(suite_part)
    encoded = encode(classifier.tokenizer, items.texts, max_length=64)
    train_on_behavior(classifier.model, encoded, items, seed=SEED, **ON_SUITE)
    # Training has switched on dropout.
    classifier.model.eval()
    return classifier


def predict_positive(classifier: Classifier, texts: Sequence[str]) -> np.ndarray:
    """Compute P(positive) for each text."""
    scores = predict(classifier, texts, progress=False)
    return softmax(np.asarray(scores.logits, dtype=np.float64))[:, 1]


def write_predictions(path: Path, chances: np.ndarray) -> None:
    """Write one row per example; rows sum to 1 after rounding."""
    # Four places suffice for every figure of the page.
    rounded = np.round(chances, 4)
    rows = [f"{1 - p:.4f},{p:.4f}" for p in rounded]
    path.write_text(
        "\n".join([",".join(f"p_{name}" for name in NAMES), *rows]) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
