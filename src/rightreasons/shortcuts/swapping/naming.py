"""Name the part of the form on which a model relies: capitals, marks, spaces, digits, or emoji."""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rightreasons.shortcuts.swapping import forms

if TYPE_CHECKING:
    from rightreasons.shortcuts.experiment import Experiment

FORM_PARTS: Mapping[str, str] = {
    "case": "capitals and accents",
    "start": "marks before the first word",
    "inside": "marks and spaces between words",
    "end": "marks after the last word",
}
"""Part of the form -> its description."""

MAX_NAMING_ITEMS = 200
"""Number of items on which the parts are compared."""

MAX_MARKS = 3
"""Number of marks that are named."""

MIN_Z_SCORE = 3.0
"""A mark is named if its share of a predicted label is this many standard errors above that of all items."""


def name_form_parts(experiment: Experiment) -> tuple[str, tuple[str, ...]]:
    """Return the part of the form that changes most predictions, and the marks in it that predict a prediction."""
    rows = experiment.all_rows[:MAX_NAMING_ITEMS]
    sizes = {}
    for part in FORM_PARTS:
        take_part = functools.partial(forms.take_form, parts=frozenset({part}))
        outcome = experiment.exchange(f"form {part}", take_part, rows)
        changes = experiment.is_changed(outcome).astype(float) - experiment.is_control_changed(
            outcome
        )
        sizes[part] = float(changes.mean())
    part = max(sizes, key=lambda name: sizes[name])
    return FORM_PARTS[part], () if part == "case" else find_marks(experiment, part)


def find_marks(experiment: Experiment, part: str) -> tuple[str, ...]:
    """Return the marks of a part of the form that are most associated with a predicted label."""
    n_classes = experiment.training.n_classes
    counts: dict[str, Counter[int]] = {}
    for item, label in zip(experiment.items, experiment.predictions.tolist(), strict=True):
        marks: set[str] = set()
        for text in item:
            marks |= list_marks(text, part)
        for mark in marks:
            counts.setdefault(mark, Counter())[label] += 1
    priors = np.bincount(experiment.predictions, minlength=n_classes) / len(experiment.items)
    sizes = []
    for mark, labels in counts.items():
        total = sum(labels.values())
        for label, count in labels.items():
            error = np.sqrt(priors[label] * (1 - priors[label]) / total)
            if error > 0 and (count / total - priors[label]) / error > MIN_Z_SCORE:
                sizes.append((count * np.log(count / total / priors[label]), mark))
    ordered = [mark for _, mark in sorted(sizes, reverse=True)]
    return tuple(dict.fromkeys(ordered))[:MAX_MARKS]


def list_marks(text: str, part: str) -> set[str]:
    """Return the marks in a part of the form, and its spaces other than a single blank by name.

    Example:
        >>> sorted(list_marks("A\u00a0film :) !!", "end")), sorted(list_marks("A\u00a0film :) !!", "inside"))
        (['!!', ':)'], ['no-break space'])
    """
    _, gaps = forms.split_form(text)
    selected = {"start": gaps[:1], "inside": gaps[1:-1], "end": gaps[-1:]}[part]
    marks: set[str] = set()
    for gap in selected:
        marks.update(gap.split())
        for character in gap:
            if character.isspace() and character != " ":
                marks.add(unicodedata.name(character, "line break").lower())
        if "  " in gap:
            marks.add("double space")
    return marks
