"""An item and its changed forms under the probes, and the scores of their choices.

`parse_item` reads an item that a visitor typed, `make_forms` applies the probes to it, and
`score_forms` or `parse_scores` give the logits of all choices.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.datasets.perturbing.probes import ORIGINAL, Perturber, Pool
from rightreasons.models.scorers import demo_language_model
from rightreasons.probes.measure import WITHOUT_ANSWER
from rightreasons.widget.pages import typed_count, typed_text

ITEMS = Path(__file__).resolve().parent / "items.jsonl"

FIRST = Path(__file__).resolve().parent / "first.json"
"""The example that the page opens with, with its scores; `make_first.py` makes it."""

MODEL_VARIABLE = "RIGHTREASONS_PROBE_MODEL"
"""Environment variable with the folder of another model for the page."""

EXTRA = "extra_choices"
"""Name of the probe that adds choices."""

MAX_CHOICES = 100
"""Largest number of choices of an item that is typed into the page."""

MAX_PROMPT_CHARACTERS = 4_000
"""Longest question: a model reads it once with each choice."""

MAX_CHOICE_CHARACTERS = 1_000
"""Longest choice."""

Item = dict[str, Any]
"""An item: `id`, `prompt`, `choices` and `label`, the position of the correct choice."""

Scores = Mapping[str, list[float]]
"""Name of a form -> the logits of its choices."""


@dataclasses.dataclass(frozen=True)
class Forms:
    """An item and its forms under the probes.

    Attributes:
        items: Name of the form -> the changed item; the original one comes first.
    """

    items: Mapping[str, Item]

    @property
    def original(self) -> Item:
        """The item itself."""
        return self.items[ORIGINAL]


@functools.cache
def read_bundled_items() -> dict[str, Item]:
    """Return the bundled items by their prompts."""
    items = {}
    for line in ITEMS.read_text("utf-8").splitlines():
        item = json.loads(line)
        items[item["prompt"]] = item
    return items


def parse_item(prompt: str, choices: str, correct: float) -> Item:
    """Parse an item that a visitor typed.

    Args:
        prompt: The question.
        choices: The choices, one per line.
        correct: Number of the correct choice, from 1.

    Raises:
        ValueError: If something is too long, too many, or missing.
    """
    texts = []
    # Empty lines are no choices.
    for line in typed_text(choices, "Choices").splitlines():
        if line.strip():
            texts.append(line.strip())
    if len(texts) > MAX_CHOICES:
        raise ValueError(
            f"Expected at most {MAX_CHOICES} choices, one per line, but got {len(texts):,}."
        )
    for number, text in enumerate(texts, start=1):
        if len(text) > MAX_CHOICE_CHARACTERS:
            raise ValueError(
                f"Expected choices of at most {MAX_CHOICE_CHARACTERS:,} characters, but choice "
                f"{number} is longer."
            )
    question = typed_text(prompt, "Question").strip()
    if len(question) > MAX_PROMPT_CHARACTERS:
        raise ValueError(
            f"Expected a question of at most {MAX_PROMPT_CHARACTERS:,} characters, but got "
            f"{len(question):,}."
        )
    # Visitors count from 1.
    number = typed_count(correct, "Right choice", minimum=1, maximum=max(len(texts), 1))
    return {"id": "yours", "prompt": question, "choices": texts, "label": number - 1}


def make_forms(item: Item, n_added: int, seed: int) -> Forms:
    """Apply every probe to an item; texts are borrowed from the bundled items.

    Args:
        item: The item.
        n_added: Number of choices that the last probe adds.
        seed: Seed of the borrowed texts.
    """
    # An item must not borrow from itself, whoever typed it.
    other_items = []
    for candidate in read_bundled_items().values():
        is_same = (
            candidate["prompt"] == item["prompt"].strip()
            and candidate["choices"] == item["choices"]
        )
        if not is_same:
            other_items.append(candidate)
    pool = Pool(other_items)
    items = {ORIGINAL: item}
    for probe in (*WITHOUT_ANSWER, EXTRA):
        # An item with two equal choices is refused: one of them would count as incorrect.
        perturber = Perturber(probe, k=n_added, pool=pool, seed=seed, duplicates="error")
        changed = perturber.rows(item["id"], item["prompt"], item["choices"], item["label"])
        # These probes make one form each.
        (items[probe],) = changed
    return Forms(items)


# -------------------------------------------------------------------------------- scores


def write_template(forms: Forms) -> str:
    """Write lines for a visitor's scores: a line per form, with a 0 for each choice."""
    lines = []
    for name, item in forms.items.items():
        zeros = ", ".join(["0"] * len(item["choices"]))
        lines.append(f"{name}: {zeros}")
    return "\n".join(lines)


def parse_scores(text: str, forms: Forms) -> Scores:
    """Parse pasted scores: a line for each form, `name: number, number, …`.

    Raises:
        ValueError: If a form has no line, an unknown name, or other than one finite number per
            choice.
    """
    scores = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, _, numbers = line.partition(":")
        name = name.strip()
        if name not in forms.items:
            raise ValueError(
                f"Expected each line to begin with one of {', '.join(forms.items)}, but got "
                f"{name!r}."
            )
        # A later line for the same form replaces an earlier one.
        scores[name] = _parse_numbers(name, numbers, len(forms.items[name]["choices"]))
    missing = [name for name in forms.items if name not in scores]
    if missing:
        raise ValueError(
            f"Expected a line of scores for every form, but {', '.join(missing)} has none."
        )
    return scores


def _parse_numbers(name: str, text: str, count: int) -> list[float]:
    """Return the scores of a form."""
    try:
        # Spaces separate as well as commas.
        numbers = [float(number) for number in text.replace(",", " ").split()]
    except ValueError as error:
        raise ValueError(f"Expected numbers after {name}, but got {text.strip()!r}.") from error
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(
            f"Expected {count} finite scores for {name}, one per choice, but got {len(numbers)}: "
            f"{text.strip()}."
        )
    return numbers


def find_model() -> str | None:
    """Return the folder of the page's model; None if there is none.

    It is the one of the environment, or the packaged SmolLM2.
    """
    folder = os.environ.get(MODEL_VARIABLE)
    if folder:
        return folder
    # Without the package of the model, visitors paste their scores.
    with contextlib.suppress(ImportError):
        return str(demo_language_model())
    return None


@functools.lru_cache(maxsize=1)
def load_model(path: str) -> Any:
    """Load a multiple-choice model or a language model; a worker keeps the last one."""
    from rightreasons.models.choices import LANGUAGE_MODELS, find_model_kind, load_language_model
    from rightreasons.models.loading import load_multiple_choice

    if find_model_kind(path) in LANGUAGE_MODELS:
        return load_language_model(path)
    return load_multiple_choice(path)


def score_forms(forms: Forms, path: str, method: str) -> tuple[Scores, bool]:
    """Let a model score the choices of all forms.

    Args:
        forms: The forms.
        path: Folder of the model.
        method: How a causal language model scores choices; see `SCORING_METHODS`.

    Returns:
        The scores, and whether the model sees all choices together.
    """
    from rightreasons.models.choices import bare
    from rightreasons.models.classes import choose
    from rightreasons.models.language.causal import CausalLM

    model = load_model(path)
    if isinstance(model, CausalLM):
        model = bare(model, method)
    items = forms.items.values()
    choice_scores = choose(
        model,
        [item["prompt"] for item in items],
        [item["choices"] for item in items],
        ids=list(forms.items),
        progress=False,
    )
    scores = {}
    for name, logits in zip(forms.items, choice_scores.logits, strict=True):
        scores[name] = list(logits)
    return scores, model.joint
