"""What the page shows for one item under the four probes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import html
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.sentences import pluralize
from rightreasons.core.validation import softmax
from rightreasons.datasets.perturbing.probes import ORIGINAL, Perturber, Pool
from rightreasons.models.scorers import demo_language_model
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.measure import WITHOUT_ANSWER
from rightreasons.probes.paralysis import choice_paralysis
from rightreasons.widget.pages import figure, tiles, typed_count, typed_text, verdict

MAX_PAGE_CHOICES = 100
"""Choices of one item that is typed into the page."""

ITEMS = Path(__file__).resolve().parent / "items.jsonl"
FIRST = Path(__file__).resolve().parent / "first.json"
"""The example that the page opens with, and its scores; `make_first.py` makes it."""
MODEL_VARIABLE = "RIGHTREASONS_PROBE_MODEL"
EXTRA = "extra_choices"
MAX_PROMPT, MAX_CHOICE = 4_000, 1_000
"""Characters of a question and of a choice: a model reads each choice with the question."""

TITLES = {
    ORIGINAL: "As it is",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No right answer",
    EXTRA: "More choices",
}
Row = dict[str, Any]


def bundled() -> dict[str, Row]:
    """The bundled items by their prompts."""
    rows = [json.loads(line) for line in ITEMS.read_text("utf-8").splitlines()]
    return {row["prompt"]: row for row in rows}


def written(prompt: str, choices: str, right: float) -> Row:
    """Read a visitor's item: a prompt, one choice per line, the number of the right one."""
    texts = [line.strip() for line in typed_text(choices, "Choices").splitlines() if line.strip()]
    if len(texts) > MAX_PAGE_CHOICES:
        raise ValueError(
            f"Expected at most {MAX_PAGE_CHOICES} choices, one per line, but got {len(texts):,}."
        )
    odd = next(
        (number for number, text in enumerate(texts, start=1) if len(text) > MAX_CHOICE), None
    )
    if odd is not None:
        raise ValueError(
            f"Expected choices of at most {MAX_CHOICE:,} characters, but choice {odd} is longer."
        )
    prompt = typed_text(prompt, "Question").strip()
    if len(prompt) > MAX_PROMPT:
        raise ValueError(
            f"Expected a question of at most {MAX_PROMPT:,} characters, but got {len(prompt):,}."
        )
    chosen = typed_count(right, "Right choice", minimum=1, maximum=max(len(texts), 1))
    return {"id": "yours", "prompt": prompt, "choices": texts, "label": chosen - 1}


@dataclasses.dataclass(frozen=True)
class Forms:
    """The original item and its forms under the probes: name -> {prompt, choices, label, …}."""

    rows: Mapping[str, Row]

    @property
    def item(self) -> Row:
        """The original item."""
        return self.rows[ORIGINAL]


def forms(item: Row, k: int, seed: int) -> Forms:
    """Apply every probe to an item; texts are borrowed from the bundled items."""
    this = (item["prompt"].strip(), tuple(item["choices"]))
    others = [row for row in bundled().values() if (row["prompt"], tuple(row["choices"])) != this]
    pool = Pool(others)
    made = {ORIGINAL: item}
    for probe in (*WITHOUT_ANSWER, EXTRA):
        perturber = Perturber(probe, k=k, pool=pool, seed=seed, duplicates="error")
        (made[probe],) = perturber.rows(item["id"], item["prompt"], item["choices"], item["label"])
    return Forms(made)


def template(found: Forms) -> str:
    """The lines to fill in with scores, one for each form."""
    return "\n".join(
        f"{name}: {', '.join('0' for _ in row['choices'])}" for name, row in found.rows.items()
    )


def parse_scores(text: str, found: Forms) -> dict[str, list[float]]:
    """Read pasted scores: one line for each form, `name: number, number, …`."""
    scores = {}
    for line in text.splitlines():
        if not line.strip():
            continue
        name, _, numbers = line.partition(":")
        name = name.strip()
        if name not in found.rows:
            raise ValueError(
                f"Expected each line to begin with one of {', '.join(found.rows)}, but got {name!r}."
            )
        try:
            scores[name] = [float(number) for number in numbers.replace(",", " ").split()]
        except ValueError as error:
            raise ValueError(
                f"Expected numbers after {name}, but got {numbers.strip()!r}."
            ) from error
        wanted = len(found.rows[name]["choices"])
        if len(scores[name]) != wanted or not np.isfinite(scores[name]).all():
            raise ValueError(
                f"Expected {wanted} finite scores for {name}, one per choice, but got {len(scores[name])}: "
                f"{numbers.strip()}."
            )
    missing = [name for name in found.rows if name not in scores]
    if missing:
        raise ValueError(
            f"Expected a line of scores for every form, but {', '.join(missing)} has none."
        )
    return scores


def model_path() -> str | None:
    """Find the model of this page: the one named in the environment, else the packaged SmolLM2, else none."""
    named = os.environ.get(MODEL_VARIABLE)
    if named:
        return named
    with contextlib.suppress(ImportError):
        return str(demo_language_model())
    return None


@functools.lru_cache(maxsize=1)
def scorer(path: str) -> Any:
    """Load the model of this page: a multiple-choice model, or a language model."""
    from rightreasons.models.choices import LANGUAGE_MODELS, kind_of_model, load_language_model
    from rightreasons.models.loading import load_multiple_choice

    return (
        load_language_model(path)
        if kind_of_model(path) in LANGUAGE_MODELS
        else load_multiple_choice(path)
    )


def ask(found: Forms, path: str, method: str) -> tuple[dict[str, list[float]], bool]:
    """Let a model score the forms; returns the scores, and whether it sees all choices together."""
    from rightreasons.models.choices import bare
    from rightreasons.models.classes import choose
    from rightreasons.models.language.causal import CausalLM

    model = scorer(path)
    if isinstance(model, CausalLM):
        model = bare(model, method)
    rows: list[Row] = list(found.rows.values())
    scores = choose(
        model,
        [row["prompt"] for row in rows],
        [row["choices"] for row in rows],
        ids=list(found.rows),
        progress=False,
    )
    joint = model.joint
    return {name: list(row) for name, row in zip(found.rows, scores.logits, strict=True)}, joint


def by_model(item: Row, k: int, seed: int, path: str, method: str) -> tuple[str, str]:
    """Apply the probes to an item and let a model score its forms; returns the page."""
    found = forms(item, k, seed)
    return page(found, *ask(found, path, method))


def first_page() -> tuple[dict[str, Any], tuple[str, str]]:
    """Read the example that the page opens with; returns its settings and the page."""
    first = json.loads(FIRST.read_text("utf-8"))
    found = forms(bundled()[first["prompt"]], first["k"], first["seed"])
    return first, page(found, first["scores"], True)


def _measured(found: Forms, scores: Mapping[str, Sequence[float]]) -> tuple[Any, Any, Any]:
    """Return the confidences of all forms, the drop with more choices, and the prior bias without an answer."""
    confidences = {
        name: softmax(np.asarray(row, dtype=np.float64)[None])[0] for name, row in scores.items()
    }
    after = found.rows[EXTRA]
    drop = choice_paralysis(
        [confidences[ORIGINAL]],
        [confidences[EXTRA]],
        [found.item["label"]],
        [after["label"]],
        [after["original_positions"]],
    )
    biases = {name: prior_bias([confidences[name]]) for name in WITHOUT_ANSWER}
    return confidences, drop, biases


def _verdict(found: Forms, confidences: Mapping[str, np.ndarray]) -> tuple[str, str]:
    """Say in one sentence what the probes do to this item; returns it and its tone: one item shows no rule."""
    label, without = found.item["label"], confidences["no_question"]
    before, after = confidences[ORIGINAL], confidences[EXTRA]
    faults = []
    picked = int(without.argmax())
    if without[picked] >= 1.5 / len(without):
        which = "the right answer" if picked == label else f"choice {picked + 1}"
        faults.append(f"without any question it still prefers {which} ({without[picked]:.0%})")
    right, added = (
        found.rows[EXTRA]["label"],
        pluralize(len(after) - len(before), "more wrong choice"),
    )
    if before.argmax() != label:
        faults.append(
            f"with its question it prefers choice {int(before.argmax()) + 1}, which is wrong"
        )
    elif after.argmax() != right:
        faults.append(
            f"with {added} it gives up the right one ({before[label]:.0%} to {after[right]:.0%})"
        )
    if not faults:
        words = f"no strong preference without the question, and is right among {added}"
        return f"On this item it has {words}.", "neutral"
    return f"On this item, {'; '.join(faults)}.", "warn"


def page(
    found: Forms, scores: Mapping[str, Sequence[float]], joint: bool | None
) -> tuple[str, str]:
    """Write the figures and the forms side by side.

    Args:
        found: The forms.
        scores: Logits of the choices of each.
        joint: Whether the scorer sees the choices together; None where it is not known.

    Returns:
        Two pieces of HTML.
    """
    confidences, drop, biases = _measured(found, scores)
    label, after = found.item["label"], found.rows[EXTRA]
    added = len(after["choices"]) - len(found.item["choices"])
    entries = []
    for name in WITHOUT_ANSWER:
        bias = biases[name]
        picked = int(confidences[name].argmax())
        said = "picks the choice that was right" if picked == label else "picks another choice"
        if name == "no_right_answer":
            said = "picks the borrowed choice" if picked == label else "picks one of its own"
        entries.append((f"Prior bias: {TITLES[name].lower()}", f"{bias.prior_bias:.4f}", said))
    entries += [
        (
            f"Drop with {added} more",
            f"{drop.choice_paralysis:.4f}",
            "of the confidence in the right choice",
        ),
        (
            "Beyond dilution",
            f"{round(drop.restricted_drop.mean, 9) + 0.0:.4f}",
            "the drop among its own choices",
        ),
        ("If the new were as good", f"{drop.null_drop:.4f}", "the drop by dilution alone"),
    ]
    alone = (
        "This scorer looks at one choice at a time, so it shows dilution alone. "
        if joint is False
        else ""
    )
    words = (
        "Prior bias is the population variance of the confidences: 0 is no preference, the largest value for "
        f"{len(found.item['choices'])} choices is {figure(_largest(len(found.item['choices'])))}."
    )
    head = f"{verdict(*_verdict(found, confidences))}{tiles(entries)}<p class='rr-small'>{alone}{words}</p>"
    return head, "".join(
        _form(name, row, confidences[name], found.item) for name, row in found.rows.items()
    )


def _largest(n: int) -> float:
    return (n - 1) / n**2


def _form(name: str, row: Row, confidence: np.ndarray, item: Row) -> str:
    right = row["label"]
    pseudo = row.get("pseudo_label", -1)
    lines = []
    for place, choice in enumerate(row["choices"]):
        mark = "✓" if place == right else "(✓)" if place == pseudo else ""
        source = row.get("choice_sources", [item["id"]] * len(row["choices"]))[place]
        borrowed = source != item["id"]
        share = 100 * float(confidence[place])
        kind = " cp-borrowed" if borrowed else ""
        kind += " cp-top" if place == confidence.argmax() else ""
        lines.append(
            f'<div class="cp-choice{kind}">'
            f'<span class="cp-text">{html.escape(choice)}{" <em>borrowed</em>" if borrowed else ""} {mark}</span>'
            f'<span class="cp-bar"><i style="width:{share:.1f}%"></i></span>'
            f'<span class="cp-number">{float(confidence[place]):.3f}</span></div>'
        )
    prompt = html.escape(row["prompt"]) or "<em>nothing</em>"
    return (
        f'<section class="cp-form" data-form="{name}"><h3>{TITLES[name]}</h3>'
        f'<p class="cp-prompt">{prompt}</p>{"".join(lines)}</section>'
    )
