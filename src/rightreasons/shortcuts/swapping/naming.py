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
"""A mark is named if its share of a predicted label is this many standard errors above that of all
items."""


def name_form_parts(experiment: Experiment) -> tuple[str, tuple[str, ...]]:
    """Find the part of the form whose exchange changes most predictions, and its typical marks.

    The parts are capitals, and the marks before, between and after the words. One part at a time is
    exchanged for that of an item of another predicted label.

    Args:
        experiment: The items, the model to ask, and its predictions.

    Returns:
        Description of the part, such as "marks after the last word", and its marks that are most
        associated with a predicted label, such as ("!!",).
    """
    rows = experiment.all_rows[:MAX_NAMING_ITEMS]
    effects: dict[str, float] = {}
    for part_name in FORM_PARTS:
        take_part = functools.partial(
            forms.take_form, parts=frozenset({part_name}), reasons=experiment.training.reasons
        )
        outcome = experiment.exchange(f"form {part_name}", take_part, rows)
        differences = experiment.compute_differences(outcome)
        effects[part_name] = float(differences.mean())
    strongest = max(effects, key=effects.__getitem__)
    # Capitals cannot be quoted in a sentence, as marks can.
    marks: tuple[str, ...] = ()
    if strongest != "case":
        marks = find_marks(experiment, strongest)
    return FORM_PARTS[strongest], marks


def find_marks(experiment: Experiment, part: str) -> tuple[str, ...]:
    """Return the marks of a part of the form that are most associated with a predicted label.

    A mark is associated if its texts have the label significantly more often than all items. The
    marks are ranked by local mutual information.

    Args:
        experiment: The items, with the label that the model predicts for each.
        part: Part of the form, a key of `FORM_PARTS`.

    Returns:
        At most `MAX_MARKS` marks, such as ("!!", "double space").
    """
    n_classes = experiment.training.n_classes
    label_counts = np.bincount(experiment.predictions, minlength=n_classes)
    priors = label_counts / len(experiment.items)
    candidates = []
    for mark, counts_by_label in _count_marks(experiment, part).items():
        n_texts = counts_by_label.total()
        for label, count in counts_by_label.items():
            prior = priors[label]
            share = count / n_texts
            error = np.sqrt(prior * (1 - prior) / n_texts)
            # If all items have the label, the error is 0, and no mark is associated with it.
            if share - prior > MIN_Z_SCORE * error > 0:
                mutual_information = float(count * np.log(share / prior))
                candidates.append((mutual_information, mark))
    # A mark of several labels has several candidates, and is named once.
    ordered_marks = [mark for _, mark in sorted(candidates, reverse=True)]
    return tuple(dict.fromkeys(ordered_marks))[:MAX_MARKS]


def _count_marks(experiment: Experiment, part: str) -> dict[str, Counter[int]]:
    """Count the items with each mark in a part of the form, by predicted label.

    Args:
        experiment: The items, with the label that the model predicts for each.
        part: Part of the form, a key of `FORM_PARTS`.

    Returns:
        Mark -> label -> number of texts.
    """
    counts: dict[str, Counter[int]] = {}
    labels = experiment.predictions.tolist()
    for item, label in zip(experiment.items, labels, strict=True):
        for text in item:
            for mark in list_marks(text, part, experiment.training.reasons):
                label_counts = counts.setdefault(mark, Counter())
                label_counts[label] += 1
    return counts


def list_marks(text: str, part: str, reasons: frozenset[str] = frozenset()) -> set[str]:
    """Return the marks in a part of a text's form, and the names of its unusual spaces.

    Args:
        text: The text.
        part: "start", "inside" or "end": before, between or after the words.
        reasons: Words and marks in lower case that the user accepts as reasons for a label. They
            are no part of the form.

    Example:
        >>> text = "A\u00a0film :) !!"
        >>> sorted(list_marks(text, "end")), sorted(list_marks(text, "inside"))
        (['!!', ':)'], ['no-break space'])
    """
    _, gaps = forms.split_form(text, reasons)
    gaps_by_part = {
        "start": gaps[:1],
        "inside": gaps[1:-1],
        "end": gaps[-1:],
    }
    marks: set[str] = set()
    for gap in gaps_by_part[part]:
        marks.update(gap.split())
        # Spaces other than a blank are invisible on a page, so that they are named.
        for character in gap:
            if character.isspace() and character != " ":
                marks.add(unicodedata.name(character, "line break").lower())
        if "  " in gap:
            marks.add("double space")
    return marks
