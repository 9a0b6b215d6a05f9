"""Families of shortcuts: what a model can decide by in place of the meaning, each with an intervention and a control.

A family looks for features that the labels of the training texts go with: words, length, capitals, and so on. Each
that it finds is a `Candidate`, which changes the feature of a text to what another label's texts have, and beside it
something else in the same manner. A model that decides by the feature changes its predictions with the first alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rightreasons.shortcuts.families import kinds, texts, words
from rightreasons.shortcuts.families.training import Candidate, Training

Find = Callable[[Training, int], list[Candidate]]

FAMILIES: Mapping[str, Find] = {
    "words": words.find,
    "length": texts.length,
    "capitals": texts.capitals,
    "numbers": kinds.numbers,
    "names": kinds.names,
    "groups of words": kinds.groups,
    "ends": kinds.ends,
    "marks and spaces": kinds.between,
    "position": texts.position,
    "order": texts.order,
    "bigrams": texts.bigrams,
    "count": texts.count,
    "overlap": texts.overlap,
    "negation": texts.negation,
    "one text alone": texts.alone,
}
"""Name -> what finds the candidates that the training texts of a column offer, strongest association first."""


def candidates(training: Training, family: str) -> list[Candidate]:
    """Return the candidates of a family, of one text or of two; none where the training texts offer none."""
    return [
        found
        for column in range(len(training.columns))
        for found in FAMILIES[family](training, column)
    ]


__all__ = ["FAMILIES", "Candidate", "Training", "candidates"]
