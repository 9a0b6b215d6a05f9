"""Models in bfloat16: the library and a plain loop both differ from float32 by rounding."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.choices import load_causal
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from tiny_causal import chosen
from zoo import literal
from zoo.building import build, reads_types, save
from zoo.holding import STEPS
from zoo.words import CHOICES, PROMPTS, TEXTS, tokenizer

TIMES = 2.0
"""How many times the error of the plain loop is rounding, too: rows of one batch round in another order."""

LEAST = 2.0**-7
"""An error that is rounding in any case: two units in the last place of bfloat16, relative to the largest number."""

Rows = list[NDArray[np.float64]]


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How far numbers in bfloat16 are from those in float32, of the same weights, relative to the largest of the call.

    Attributes:
        call: What was asked.
        ours: The largest difference of the library.
        plain: That of a plain loop in bfloat16, one item at a time.
    """

    call: str
    ours: float
    plain: float

    @property
    def is_rounding(self) -> bool:
        return self.ours <= max(LEAST, TIMES * self.plain)


def hold_half(task: str, family: str) -> list[Rounding]:
    """Compare every call on a tiny model in bfloat16 with float32.

    Args:
        task: "classes" or "causal".
        family: One of its families.
    """
    model = build(task, family).bfloat16()
    words = tokenizer(ends=task == "classes", types=task == "classes" and reads_types(model))
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), words)
        return (_classes if task == "classes" else _causal)(Path(folder))


def _classes(folder: Path) -> list[Rounding]:
    classifier = load_classifier(folder, device="cpu")
    parts = [
        literal.inputs_of(classifier.tokenizer, text, None, classifier.max_length) for text in TEXTS
    ]
    models = {"plain": classifier.model, "exact": copy.deepcopy(classifier.model).float()}
    labels = [int(literal.logits(models["exact"], part).argmax()) for part in parts]
    told: dict[str, dict[str, Rows]] = {name: {} for name in ("ours", *models)}
    for name, model in models.items():
        reader = literal.Reader(model)
        told[name]["predict"] = [literal.logits(reader.model, part) for part in parts]
        told[name]["attributions"] = [
            literal.attributions(reader, [part], label, STEPS)
            for part, label in zip(parts, labels, strict=True)
        ]
        told[name]["fisher"] = [np.array([literal.fisher(reader, [part])]) for part in parts]
    told["ours"]["predict"] = list(predict(classifier, TEXTS, progress=False).logits)
    attributions = integrated_gradients(
        classifier,
        TEXTS,
        labels=labels,
        label="gold",
        method="riemann_right",
        steps=STEPS,
        baseline="zeros",
        rank_special=True,
        progress=False,
    )
    told["ours"]["attributions"] = list(attributions.scores)
    told["ours"]["fisher"] = [
        np.array([value])
        for value in fisher_information(classifier, TEXTS, progress=False).eigenvalues
    ]
    return _roundings(told)


def _causal(folder: Path) -> list[Rounding]:
    scorer = load_causal(folder, device="cpu")

    def alone(model: Any) -> Rows:
        return [
            np.array(
                [
                    literal.likelihood(model, scorer.tokenizer, prompt, text, scorer.max_length)[0]
                    for text in row
                ]
            )
            for prompt, row in zip(PROMPTS, CHOICES, strict=True)
        ]

    ours = list(chosen(scorer, PROMPTS, CHOICES, method="sum", progress=False).logits)
    exact = copy.deepcopy(scorer.model).float()
    return _roundings(
        {
            "ours": {"causal": ours},
            "plain": {"causal": alone(scorer.model)},
            "exact": {"causal": alone(exact)},
        }
    )


def _roundings(told: dict[str, dict[str, Rows]]) -> list[Rounding]:
    def error(name: str, call: str) -> float:
        size = max(float(np.abs(row).max()) for row in told["exact"][call])
        pairs = zip(told[name][call], told["exact"][call], strict=True)
        return max(float(np.abs(np.asarray(a) - b).max()) for a, b in pairs) / size

    return [Rounding(call, error("ours", call), error("plain", call)) for call in told["exact"]]
