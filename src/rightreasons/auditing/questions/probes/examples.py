"""Single items under the probes, side by side."""

from __future__ import annotations

from typing import Any

from rightreasons.auditing.page.parts import Column, Part, Table
from rightreasons.measuring.probes import ORIGINAL, WITHOUT_ANSWER, ProbeScores, extra_choices_name

N_EXAMPLES = 3
LONGEST_CHOICE = 160
SHEN = "Shen & Kejriwal 2022"

NAMES = {
    ORIGINAL: "Unchanged",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No right answer",
}


def example_part(scores: ProbeScores) -> Part:
    """Show the items with the strongest preference without a question, and the one with the weakest."""
    return Part(
        title="Items under the probes",
        text="The confidences of single items, side by side as in the paper's Figure 1: those where the removed "
        "question leaves the most confidence in one choice, or the least.",
        tables=tuple(_example(scores, item) for item in scores.telling_items(N_EXAMPLES)),
    )


def _example(scores: ProbeScores, item: int) -> Table:
    k = min(scores.ks)
    extra = extra_choices_name(k)
    original, added = scores.tables[ORIGINAL][item], scores.tables[extra][item]
    confidence = {name: scores.confidences[name][item] for name in (ORIGINAL, *WITHOUT_ANSWER, extra)}
    replacement = scores.tables["no_right_answer"][item]["choices"]
    label, places = int(original["label"]), added["original_positions"]
    rows: list[tuple[Any, ...]] = []
    for place, choice in enumerate(original["choices"]):
        own = [float(confidence[name][place]) for name in (ORIGINAL, *WITHOUT_ANSWER)]
        text = f"{'✓ ' if place == label else ''}{_short(choice)}"
        rows.append((text, *own[:3], None if place == label else own[3], float(confidence[extra][places[place]])))
    rows.append(
        (f"in its place: {_short(replacement[label])}", *[None] * 3, float(confidence["no_right_answer"][label]), None)
    )
    for place, choice in enumerate(added["choices"]):
        if place not in places:
            rows.append((f"added: {_short(choice)}", *[None] * 4, float(confidence[extra][place])))
    wrong = scores.tables["wrong_question"][item]["prompt"]
    return Table(
        key=f"example_{item}",
        title=_short(original["prompt"], 240),
        columns=(
            Column("choice", "Choice", "text"),
            *(Column(name, heading, "share") for name, heading in NAMES.items()),
            Column("extra_choices", f"{k} added", "share"),
        ),
        rows=tuple(rows),
        note=f"Item {original['id']}; ✓ is the right choice. The wrong question: {_short(wrong, 240)}",
        source=SHEN,
    )


def _short(text: str, longest: int = LONGEST_CHOICE) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
