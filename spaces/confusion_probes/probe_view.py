"""One item under the four probes, as HTML: a verdict, figures, and the forms side by side.

`measure_forms` computes what the page shows from the scores of all forms, and `write_page` writes it.
"""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from probed_items import (
    EXTRA,
    FIRST,
    Forms,
    Item,
    Scores,
    make_forms,
    read_bundled_items,
    score_forms,
)

from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import softmax
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.formats import decimal, percent
from rightreasons.probes.bias import PriorBias, prior_bias
from rightreasons.probes.measure import WITHOUT_ANSWER
from rightreasons.probes.paralysis import ChoiceParalysis, choice_paralysis
from rightreasons.widget.pages import tiles, verdict

TITLES = {
    ORIGINAL: "Unchanged",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No correct answer",
    EXTRA: "More choices",
}
"""Name of a form -> its title."""

MIN_PREFERENCE = 1.5
"""Confidence without a question, as a multiple of chance, from which a choice is preferred."""

Page = tuple[str, str]
"""The verdict with the figures, and the forms, as HTML."""


@dataclasses.dataclass(frozen=True)
class ProbedItem:
    """Figures of an item under the probes.

    Attributes:
        confidences: Name of a form -> confidences in its choices.
        drop: Drop of the confidence in the correct choice among more choices.
        biases: Name of a form without a correct choice -> its prior bias.
    """

    confidences: Mapping[str, NDArray[np.float64]]
    drop: ChoiceParalysis
    biases: Mapping[str, PriorBias]


def measure_forms(forms: Forms, scores: Scores) -> ProbedItem:
    """Measure prior bias and choice paralysis of one item."""
    confidences = {}
    for name, logits in scores.items():
        confidences[name] = softmax(np.asarray([logits], dtype=np.float64))[0]
    extended = forms.items[EXTRA]
    drop = choice_paralysis(
        [confidences[ORIGINAL]],
        [confidences[EXTRA]],
        [forms.original["label"]],
        [extended["label"]],
        [extended["original_positions"]],
    )
    biases = {}
    for name in WITHOUT_ANSWER:
        biases[name] = prior_bias([confidences[name]])
    return ProbedItem(confidences, drop, biases)


def probe_item(item: Item, n_added: int, seed: int, path: str, method: str) -> Page:
    """Apply the probes to an item, let a model score its forms, and write the page."""
    forms = make_forms(item, n_added, seed)
    scores, is_joint = score_forms(forms, path, method)
    return write_page(forms, scores, is_joint)


def read_first_page() -> tuple[dict[str, Any], Page]:
    """Return the settings of the example that the page opens with, and the page."""
    opening = json.loads(FIRST.read_text("utf-8"))
    item = read_bundled_items()[opening["prompt"]]
    forms = make_forms(item, opening["k"], opening["seed"])
    return opening, write_page(forms, opening["scores"], True)


def write_page(forms: Forms, scores: Scores, is_joint: bool | None) -> Page:
    """Write the figures, and the forms side by side.

    Args:
        forms: The forms.
        scores: Logits of the choices of each.
        is_joint: Whether the scorer sees the choices together. None if that is unknown.
    """
    probed = measure_forms(forms, scores)
    n_choices = len(forms.original["choices"])
    # The largest variance: all confidence in one choice.
    largest_bias = decimal((n_choices - 1) / n_choices**2)
    # The scale of a variance is not obvious: the note names both ends.
    note = (
        "Prior bias is the population variance of the confidences: 0 means no preference, and the "
        f"largest value for {n_choices} choices is {largest_bias}."
    )
    if is_joint is False:
        note = f"This scorer looks at one choice at a time, so it can only show dilution. {note}"
    head = (
        f"{verdict(*describe_faults(forms, probed.confidences))}{_write_figures(forms, probed)}"
        f"<p class='rr-small'>{note}</p>"
    )
    sections = []
    for name, item in forms.items.items():
        sections.append(_write_form(name, item, probed.confidences[name], forms.original["id"]))
    return head, "".join(sections)


def describe_faults(
    forms: Forms, confidences: Mapping[str, NDArray[np.float64]]
) -> tuple[str, str]:
    """Describe the effect of the probes on an item in one sentence.

    Returns:
        The sentence and its tone, which is never red or green: one item shows no rule.
    """
    label = forms.original["label"]
    original = confidences[ORIGINAL]
    extended = confidences[EXTRA]
    prior_confidences = confidences["no_question"]
    added = pluralize(len(extended) - len(original), "more incorrect choice")
    # A sentence may have two faults: without the question, and among more choices.
    faults = []
    preferred = int(prior_confidences.argmax())
    if prior_confidences[preferred] >= MIN_PREFERENCE / len(prior_confidences):
        choice = "the correct answer" if preferred == label else f"choice {preferred + 1}"
        faults.append(
            f"without any question it still prefers {choice} ({percent(prior_confidences[preferred])})"
        )
    extended_label = forms.items[EXTRA]["label"]
    # What was incorrect from the start cannot be given up.
    if original.argmax() != label:
        choice = int(original.argmax()) + 1
        faults.append(f"with its question it prefers choice {choice}, which is incorrect")
    elif extended.argmax() != extended_label:
        faults.append(
            f"with {added} it gives up the correct one ({percent(original[label])} to "
            f"{percent(extended[extended_label])})"
        )
    if faults:
        return f"On this item, {'; '.join(faults)}.", "warn"
    sentence = (
        "On this item it has no strong preference without the question, and is correct among "
        f"{added}."
    )
    return sentence, "neutral"


def _write_figures(forms: Forms, probed: ProbedItem) -> str:
    """Write prior biases and the drop among more choices as tiles."""
    entries = []
    for name in WITHOUT_ANSWER:
        title = f"Prior bias: {TITLES[name].lower()}"
        value = decimal(probed.biases[name].prior_bias)
        picked = int(probed.confidences[name].argmax())
        entries.append((title, value, _describe_pick(name, picked == forms.original["label"])))
    drop = probed.drop
    n_added = len(forms.items[EXTRA]["choices"]) - len(forms.original["choices"])
    # The sum with 0 has no sign before 0.
    restricted = round(drop.restricted_drop.mean, 9) + 0.0
    entries.append(
        (
            f"Drop with {pluralize(n_added, 'more choice')}",
            percent(drop.choice_paralysis),
            "of the confidence in the correct choice",
        )
    )
    entries.append(("Beyond dilution", percent(restricted), "drop among its own choices"))
    entries.append(
        ("Expected dilution", percent(drop.null_drop), "if the new choices were as good")
    )
    return tiles(entries)


def _describe_pick(name: str, is_position_of_correct: bool) -> str:
    """Return which choice of a form without a correct one is picked."""
    if name == "no_right_answer":
        # A borrowed choice stands in the place of the correct one.
        if is_position_of_correct:
            return "picks the borrowed choice"
        return "picks one of its own choices"
    if is_position_of_correct:
        return "picks the originally correct choice"
    return "picks another choice"


def _write_form(name: str, item: Item, confidences: NDArray[np.float64], original_id: str) -> str:
    """Write a form: its prompt, and a bar for each choice."""
    # Only the probe that adds choices records where they come from.
    sources: Sequence[str] = item.get("choice_sources", [original_id] * len(item["choices"]))
    choices = []
    for position, choice in enumerate(item["choices"]):
        css_class = "cp-choice"
        text = html.escape(choice)
        if sources[position] != original_id:
            css_class += " cp-borrowed"
            text += " <em>borrowed</em>"
        if position == confidences.argmax():
            css_class += " cp-top"
        # A choice that was correct before the probe has its mark in parentheses.
        mark = ""
        if position == item["label"]:
            mark = "✓"
        elif position == item.get("pseudo_label", -1):
            mark = "(✓)"
        confidence = float(confidences[position])
        choices.append(
            f'<div class="{css_class}"><span class="cp-text">{text} {mark}</span>'
            f'<span class="cp-bar"><i style="width:{100 * confidence:.1f}%"></i></span>'
            f'<span class="cp-number">{percent(confidence)}</span></div>'
        )
    # A form without a question has an empty prompt.
    prompt = html.escape(item["prompt"]) or "<em>no question</em>"
    return (
        f'<section class="cp-form" data-form="{name}"><h3>{TITLES[name]}</h3>'
        f'<p class="cp-prompt">{prompt}</p>{"".join(choices)}</section>'
    )
