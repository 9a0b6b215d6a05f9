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
from zoo.building import build, has_token_types, save
from zoo.holding import STEPS
from zoo.words import CHOICES, PROMPTS, TEXTS, tokenizer

MAX_RATIO = 2.0
"""Multiple of the error of the plain loop that is rounding, too: rows of a batch round in another order."""

MIN_ERROR = 2.0**-7
"""An error that is rounding in any case: two units in the last place of bfloat16, relative to the largest number."""

Rows = list[NDArray[np.float64]]


@dataclasses.dataclass(frozen=True)
class Rounding:
    """Differences between numbers in bfloat16 and in float32, of the same weights, relative to the largest number.

    Attributes:
        call: The call that computes the numbers.
        ours: The largest difference of the library.
        plain: That of a plain loop in bfloat16, one item at a time.
    """

    call: str
    ours: float
    plain: float

    @property
    def is_rounding(self) -> bool:
        return self.ours <= max(MIN_ERROR, MAX_RATIO * self.plain)


def measure_rounding(task: str, family: str) -> list[Rounding]:
    """Compare every call on a tiny model in bfloat16 with float32.

    Args:
        task: "classes" or "causal".
        family: One of its families.
    """
    model = build(task, family).bfloat16()
    is_classifier = task == "classes"
    words = tokenizer(ends=is_classifier, types=is_classifier and has_token_types(model))
    measure = measure_classes if is_classifier else measure_causal
    with tempfile.TemporaryDirectory() as folder:
        save(model, Path(folder), words)
        return measure(Path(folder))


def measure_classes(folder: Path) -> list[Rounding]:
    classifier = load_classifier(folder, device="cpu")
    exact_model = copy.deepcopy(classifier.model).float()
    inputs = []
    for text in TEXTS:
        inputs.append(literal.tokenize(classifier.tokenizer, text, None, classifier.max_length))
    # All attributions are those of the classes that the exact model predicts.
    labels = [int(literal.compute_logits(exact_model, row).argmax()) for row in inputs]

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
    eigenvalues = fisher_information(classifier, TEXTS, progress=False).eigenvalues
    ours = {
        "predict": list(predict(classifier, TEXTS, progress=False).logits),
        "attributions": list(attributions.scores),
        "fisher": [np.array([value]) for value in eigenvalues],
    }
    return list_roundings(
        ours=ours,
        plain=loop_over_items(classifier.model, inputs, labels),
        exact=loop_over_items(exact_model, inputs, labels),
    )


def loop_over_items(model: Any, inputs: list[literal.Inputs], labels: list[int]) -> dict[str, Rows]:
    """Return the rows of each call by a plain loop over single items."""
    reader = literal.EmbeddingReader(model)
    rows: dict[str, Rows] = {"predict": [], "attributions": [], "fisher": []}
    for item, label in zip(inputs, labels, strict=True):
        rows["predict"].append(literal.compute_logits(model, item))
        rows["attributions"].append(literal.integrate_gradients(reader, [item], label, STEPS))
        rows["fisher"].append(np.array([literal.compute_fisher(reader, [item])]))
    return rows


def measure_causal(folder: Path) -> list[Rounding]:
    scorer = load_causal(folder, device="cpu")
    exact_model = copy.deepcopy(scorer.model).float()

    def score_singly(model: Any) -> dict[str, Rows]:
        rows = []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            scores = []
            for choice in choices:
                score, _ = literal.score_causal(
                    model, scorer.tokenizer, prompt, choice, scorer.max_length
                )
                scores.append(score)
            rows.append(np.array(scores))
        return {"causal": rows}

    ours = chosen(scorer, PROMPTS, CHOICES, method="sum", progress=False).logits
    return list_roundings(
        ours={"causal": list(ours)},
        plain=score_singly(scorer.model),
        exact=score_singly(exact_model),
    )


def list_roundings(
    *, ours: dict[str, Rows], plain: dict[str, Rows], exact: dict[str, Rows]
) -> list[Rounding]:
    """Return the rounding of each call, by the rows of each computation."""
    roundings = []
    for call, rows in exact.items():
        error = compute_error(ours[call], rows)
        plain_error = compute_error(plain[call], rows)
        roundings.append(Rounding(call, error, plain_error))
    return roundings


def compute_error(rows: Rows, exact_rows: Rows) -> float:
    """Return the largest difference, relative to the largest exact number."""
    differences = []
    for row, exact in zip(rows, exact_rows, strict=True):
        differences.append(float(np.abs(np.asarray(row) - exact).max()))
    return max(differences) / max(float(np.abs(row).max()) for row in exact_rows)
