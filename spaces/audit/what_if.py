"""What if: the prediction of an audited model for a text, before and after a visitor edits it.

`choose_subject` names the model of a report and a text to begin with. `predict_edit` runs in a
worker, which keeps the model for the next edit.
"""

from __future__ import annotations

import dataclasses
import functools
import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.core.validation import softmax
from rightreasons.models.protocol import Scorer
from rightreasons.page.formats import percent
from rightreasons.report.demo import MODEL_NAME, train_demo_model
from rightreasons.report.items.changes import list_edits
from rightreasons.report.live import has_pairs
from rightreasons.report.runner import AuditResult
from rightreasons.report.schema import list_class_names
from rightreasons.widget.pages import typed_text, verdict

MAX_SHOWN_TEXT = 400
"""Longest text that the page begins with, in characters: a visitor has to read it."""


@dataclasses.dataclass(frozen=True)
class Subject:
    """A model that answers on the page.

    Attributes:
        model: Id of the model on the hub, or the name of the demo's model.
        labels: Names of its classes.
        text: Text to begin with.
    """

    model: str
    labels: tuple[str, ...]
    text: str


@dataclasses.dataclass(frozen=True)
class Edit:
    """A text before and after an edit, with the predictions of a model.

    Attributes:
        labels: Names of the K classes.
        original: The text before.
        edited: The text after.
        old_probabilities: K probabilities for the text before.
        new_probabilities: K probabilities for the text after.
    """

    labels: tuple[str, ...]
    original: str
    edited: str
    old_probabilities: tuple[float, ...]
    new_probabilities: tuple[float, ...]


def choose_subject(result: AuditResult, model: str | None) -> Subject | None:
    """Return the model of an audit with an item; None if the page cannot query it.

    Args:
        result: The audit.
        model: Id of its model on the hub, or the name of the demo's model. None for stored
            predictions.
    """
    if model is None or result.audit["model"]["task"] != "classification":
        return None
    # The page has one field, and the table of items joins the texts of a pair.
    if has_pairs(result.audit, result.out):
        return None
    items = result.items()
    is_short = items["text"].str.len() <= MAX_SHOWN_TEXT
    is_in_finding = items["findings"] != ""
    labels = tuple(list_class_names(result.audit))
    # An item that a finding is about shows what the edit of one word can do.
    for candidates in (items[is_short & is_in_finding], items[is_short], items):
        if len(candidates):
            return Subject(model, labels, str(candidates["text"].iloc[0]))
    return None


@functools.lru_cache(maxsize=1)
def load_model(name: str, labels: tuple[str, ...]) -> Scorer:
    """Load the model of a subject; a worker keeps the last one."""
    from rightreasons.models.scorers import as_named_scorer, as_scorer

    if name == MODEL_NAME:
        # The same seed trains the same model, in about a second.
        model, _ = train_demo_model()
        return as_scorer(model, name=name)
    return as_named_scorer(name, labels)


def predict_edit(subject: Subject, text: str) -> Edit:
    """Predict the text of a subject and an edited text.

    Raises:
        ValueError: If the edited text is empty or too long.
    """
    edited = typed_text(text, "Text")
    if not edited.strip():
        raise ValueError("Expected a text, but the field is empty.")
    scorer = load_model(subject.model, subject.labels)
    # Both texts are in one batch, so that nothing but the edit differs.
    scores = scorer.predict([subject.text, edited], progress=False)
    probabilities = softmax(np.asarray(scores.logits))
    return Edit(
        labels=subject.labels,
        original=subject.text,
        edited=edited,
        old_probabilities=tuple(probabilities[0].tolist()),
        new_probabilities=tuple(probabilities[1].tolist()),
    )


def write_edit(edit: Edit) -> str:
    """Write the two predictions as HTML: a sentence, the edited text, and a bar per class."""
    old_answer = _describe_answer(edit.labels, edit.old_probabilities)
    new_answer = _describe_answer(edit.labels, edit.new_probabilities)
    # Only the class counts: a probability changes with almost every edit.
    if np.argmax(edit.old_probabilities) == np.argmax(edit.new_probabilities):
        sentence = verdict(f"The prediction stays: {old_answer} → {new_answer}.")
    else:
        sentence = verdict(f"The prediction flips: {old_answer} → {new_answer}.", "warn")
    rows = ["<tr><td></td><th>before</th><th>after</th></tr>"]
    for k, label in enumerate(edit.labels):
        old_bar = _write_bar(edit.old_probabilities[k])
        new_bar = _write_bar(edit.new_probabilities[k])
        rows.append(f"<tr><th>{html.escape(label)}</th>{old_bar}{new_bar}</tr>")
    return f'{sentence}{_mark_edits(edit)}<table class="au-bars">{"".join(rows)}</table>'


def _describe_answer(labels: Sequence[str], probabilities: Sequence[float]) -> str:
    """Return the predicted class with its probability."""
    prediction = int(np.argmax(probabilities))
    return f"{labels[prediction]} ({percent(probabilities[prediction])})"


def _write_bar(share: float) -> str:
    """Write a probability as a cell with a bar and a number."""
    width = f"{100 * share:.1f}%"
    return f'<td><span class="au-bar" style="width: {width}"></span> {percent(share)}</td>'


def _mark_edits(edit: Edit) -> str:
    """Write the edited text, in which removed words are struck and inserted ones are marked."""
    pieces = []
    position = 0
    for start, end, replacement in list_edits(edit.original, edit.edited):
        pieces.append(html.escape(edit.original[position:start]))
        # An insertion removes nothing, and a removal inserts nothing.
        if end > start:
            pieces.append(f"<del>{html.escape(edit.original[start:end])}</del>")
        if replacement:
            pieces.append(f"<mark>{html.escape(replacement)}</mark>")
        position = end
    pieces.append(html.escape(edit.original[position:]))
    return f'<p class="au-edited">{"".join(pieces)}</p>'


def to_subject(values: dict[str, Any] | None) -> Subject | None:
    """Return a subject from its plain values, as a file of an example has them."""
    if values is None:
        return None
    labels: Sequence[str] = values["labels"]
    return Subject(values["model"], tuple(labels), values["text"])
