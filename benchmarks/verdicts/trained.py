"""Encoders that are fine-tuned on texts of known truth: with a planted word that decides, and without one."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone
from benchmarks.verdicts.classes import N_TRAIN, word
from benchmarks.verdicts.texts import CUES, Plant, texts

from rightreasons.core.resampling import Resampling
from rightreasons.models import demo_encoder, load_classifier
from rightreasons.shortcuts.families.training import Training
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.measure_deciding import measure_swaps
from rightreasons.training import fine_tune

FOLDER = Path(tempfile.gettempdir()) / "rightreasons-verdicts"


@dataclasses.dataclass(frozen=True)
class Trained:
    """A fine-tuned encoder, whose training texts have what is planted, and noisy labels that it explains.

    Our own swap of the planted words must change the declared share of its predictions.
    """

    plant: Plant
    strength: float
    noise: float = 0.0

    def model(self, seed: int) -> Any:
        """Fine-tune the encoder, or open what an earlier run has fine-tuned."""
        train, labels = texts(N_TRAIN, 1000 * seed + 1, self.plant, noise=self.noise)
        out = FOLDER / f"{self.noise}-{seed}"
        rows = {"text": train, "label": labels}
        names = ("negative", "positive")
        fine_tune(demo_encoder(), rows, out=out, label_names=names, epochs=2, learning_rate=1e-4, progress=False)
        return load_classifier(out), Training([train], np.array(labels), 2)

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
            seconds=3600.0,
        )
        return TONES[conclude(measured, Judge())]


# Where labels contradict the meaning in a fifth of the texts and the word never lies, it is learned; else it is not.
PARTS = {
    "fine-tuned, a word that never lies among noisy labels": ("follower", Trained(word(1.0), 1.0, noise=0.2)),
    "fine-tuned, nothing planted": ("reader", Trained(lambda draw: None, 0.0)),
}

SCENARIOS = {name: Scenario(name, "shortcuts", truth, part.strength, part.run) for name, (truth, part) in PARTS.items()}
