"""Single items under the probes, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from rightreasons.auditing.page.parts import Column, Part, Table
from rightreasons.measuring.probes import ORIGINAL, WITHOUT_ANSWER, Probed, extra

N_EXAMPLES = 3
LONGEST_CHOICE = 160
SHEN = "Shen & Kejriwal 2022"


def example_part(probed: Probed) -> Part:
    """Show the items with the strongest preference without a question, and the one with the weakest."""
    return Part(
        title="Items under the probes",
        text="The confidences of single items, side by side as in the paper's Figure 1: those where the removed "
        "question leaves the most confidence in one choice, or the least.",
        tables=tuple(_example(probed, item) for item in _shown(probed)),
    )


def _shown(probed: Probed) -> list[int]:
    """Pick the items with the strongest preference without a question, and the one with the weakest."""
    bare = probed.confidences["no_question"]
    top = bare.reduce(np.maximum) * bare.lengths
    order = np.argsort(-top, kind="stable")
    return [*order[: N_EXAMPLES - 1].tolist(), int(order[-1])]


def _example(probed: Probed, item: int) -> Table:
    k = min(probed.ks)
    original = probed.tables[ORIGINAL][item]
    rows = probed.confidences[ORIGINAL][item]
    added = probed.tables[extra(k)][item]
    confidence = {name: probed.confidences[name][item] for name in (*WITHOUT_ANSWER, extra(k))}
    replaced = probed.tables["no_right_answer"][item]["choices"]
    label = int(original["label"])
    places = added["original_positions"]
    lines: list[tuple[Any, ...]] = []
    for place, choice in enumerate(original["choices"]):
        lines.append(
            (
                f"{'✓ ' if place == label else ''}{_short(choice)}",
                float(rows[place]),
                float(confidence["no_question"][place]),
                float(confidence["wrong_question"][place]),
                None if place == label else float(confidence["no_right_answer"][place]),
                float(confidence[extra(k)][places[place]]),
            )
        )
    lines.append(
        (f"in its place: {_short(replaced[label])}", *[None] * 3, float(confidence["no_right_answer"][label]), None)
    )
    for place, choice in enumerate(added["choices"]):
        if place not in places:
            lines.append((f"added: {_short(choice)}", *[None] * 4, float(confidence[extra(k)][place])))
    wrong = probed.tables["wrong_question"][item]["prompt"]
    return Table(
        key=f"example_{item}",
        title=_short(original["prompt"], 240),
        columns=(
            Column("choice", "Choice", "text"),
            Column("original", "As it was"),
            Column("no_question", "No question"),
            Column("wrong_question", "Wrong question"),
            Column("no_right_answer", "No right answer"),
            Column("extra_choices", f"{k} added"),
        ),
        rows=tuple(lines),
        note=f"Item {original['id']}; ✓ is the right choice. The wrong question: {_short(wrong, 240)}",
        source=SHEN,
    )


def _short(text: str, longest: int = LONGEST_CHOICE) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
