"""Encoders and sums of word weights that are trained on texts of known truth, with a planted word and without one."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone
from benchmarks.verdicts.classes import N_TRAIN, word
from benchmarks.verdicts.texts import CUES, Plant, texts
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rightreasons.core.resampling import Resampling
from rightreasons.models import as_scorer, demo_encoder, load_classifier
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.measure_deciding import measure_swaps
from rightreasons.shortcuts.swapping.training import TrainingTexts
from rightreasons.training import fine_tune

FOLDER = Path(tempfile.gettempdir()) / "rightreasons-verdicts"


@dataclasses.dataclass(frozen=True)
class Trained:
    """A trained model, whose training texts have what is planted, and noisy labels that it explains.

    Our own swap of the planted words must change the declared share of its predictions.
    """

    plant: Plant
    strength: float
    noise: float = 0.0
    linear: bool = False

    def model(self, seed: int) -> Any:
        """Train logistic regression on counts of words, or fine-tune the encoder, or open what an earlier run has."""
        train, labels = texts(N_TRAIN, 1000 * seed + 1, self.plant, noise=self.noise)
        if self.linear:
            pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(train, labels)
            return as_scorer(pipeline), TrainingTexts([train], np.array(labels), 2)
        out = FOLDER / f"{self.noise}-{seed}"
        rows = {"text": train, "label": labels}
        names = ("negative", "positive")
        fine_tune(
            demo_encoder(),
            rows,
            out=out,
            label_names=names,
            epochs=2,
            learning_rate=1e-4,
            progress=False,
        )
        return load_classifier(out), TrainingTexts([train], np.array(labels), 2)

    def run(self, n_items: int, seed: int) -> Tone:
        """Return the verdict."""
        model, training = self.model(seed)
        items, gold = texts(n_items, 1000 * seed + 2, self.plant, noise=self.noise)
        swap = dict(zip(CUES, CUES[::-1], strict=True))
        swapped = [" ".join(swap.get(each, each) for each in text.split()) for text in items]
        before, after = (model.predict(each, progress=False).predicted for each in (items, swapped))
        share = float((before != after).mean())
        if abs(share - self.strength) > 0.1:
            raise ValueError(
                f"Expected the swap to change {self.strength:.0%} of the predictions, but got {share:.0%}."
            )
        measured = measure_swaps(
            model,
            [items],
            before,
            training,
            ids=[str(row) for row in range(n_items)],
            labels=np.array(gold),
            resampling=Resampling(seed=seed),
        )
        return TONES[conclude(measured, Judge())]


# Where labels contradict the meaning in a fifth of the texts and the word never lies, it is learned; else it is not.
PARTS = {
    "fine-tuned, a word that never lies among noisy labels": (
        "follower",
        Trained(word(1.0), 1.0, noise=0.2),
    ),
    "fine-tuned, nothing planted": ("reader", Trained(lambda draw: None, 0.0)),
    "weights of words, one that never lies among noisy labels": (
        "follower",
        Trained(word(1.0), 1.0, noise=0.2, linear=True),
    ),
    "weights of words, one of .8 that is ignored": ("reader", Trained(word(0.8), 0.0, linear=True)),
    "weights of words, nothing planted": ("reader", Trained(lambda draw: None, 0.0, linear=True)),
}

SCENARIOS = {
    name: Scenario(name, "shortcuts", truth, part.strength, part.run)
    for name, (truth, part) in PARTS.items()
}
