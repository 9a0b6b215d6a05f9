"""docs/evidence/models.md: the table of the zoo, as it was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
import transformers

COLUMNS = {
    "predict": "predict",
    "attributions": "attributions",
    "fisher": "Fisher information",
    "choices": "choices",
    "causal": "causal scoring",
}
_HEAD = """# Models

Which families of transformers {version} this package reads exactly, written by

    make -C benchmarks zoo

which builds every family of the library's own lists from a tiny configuration with random weights and compares every
call with one item at a time, unpadded, by the plain forward pass: logits; integrated gradients at {steps} equal nodes
by a literal loop; the largest eigenvalue of the Fisher information from the whole Jacobian; the log-likelihood of each
(prompt, choice) pair. Texts have 5 to 60 tokens; tokenizers pad on the right and on the left, with another padding id
than the model's.

- **Exact**: no number differs by more than {tolerance:g}, relative to the largest of the call (small differences of
  gradients are compared again in float64). In brackets is the fastest exact [way of batching](parity.md#the-trial).
- **Refused**: in one sentence, numbered below.
- A dash: transformers has no such head for the family, or none can be built (below).

torch {torch}, float32, on a CPU.
"""


_HALF = """
## In bfloat16

Numbers in bfloat16 are rounded to three digits. Their distance from float32 with the same weights, relative to the
largest of the call; in brackets that of a plain loop in bfloat16, item by item.
"""


def page(records: Sequence[dict[str, Any]], halves: Sequence[dict[str, Any]] = ()) -> str:
    """Return docs/evidence/models.md for the records of all families, and of those that were compared in bfloat16."""
    from zoo.holding import STEPS, TOLERANCE

    version = transformers.__version__
    head = _HEAD.format(version=version, torch=torch.__version__.split("+")[0], steps=STEPS, tolerance=TOLERANCE)
    refusals: dict[str, int] = {}
    rows: dict[str, dict[str, str]] = {}
    counts = {call: dict.fromkeys(("exact", "refused", "wrong"), 0) for call in COLUMNS}
    for record in records:
        cells = rows.setdefault(record["family"], {})
        for call in COLUMNS:
            held = [outcome for outcome in record["outcomes"] if outcome["call"] == call]
            if held and not (record["task"] == "choices" and call in ("attributions", "fisher") and call in cells):
                cells[call], kind = _cell(held, refusals)
                counts[call][kind] += 1
    lines = [head, "| | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---|" * len(COLUMNS)]
    for kind in ("exact", "refused", "wrong"):
        lines.append(f"| {kind} | " + " | ".join(str(counts[call][kind]) for call in COLUMNS) + " |")
    lines += ["", "| " + " | ".join(COLUMNS.values()) + " | families |", "|---" * len(COLUMNS) + "|---|"]
    alike: dict[str, list[str]] = {}
    for family in sorted(rows):
        alike.setdefault(" | ".join(rows[family].get(call, "–") for call in COLUMNS), []).append(family)
    for cells, families in sorted(alike.items(), key=lambda pair: -len(pair[1])):
        lines.append(f"| {cells} | {', '.join(families)} |")
    if halves:
        lines += _half_table(halves)
    if refusals:
        lines += ["", "## Refused", ""]
        lines += [f"{number}. {sentence}" for sentence, number in refusals.items()]
    absent: dict[str, list[str]] = {}
    for record in records:
        if record["not_built"]:
            absent.setdefault(record["not_built"], []).append(f"{record['family']} ({record['task']})")
    if absent:
        lines += ["", "## Not built", "", "| families | why |", "|---|---|"]
        lines += [f"| {', '.join(names)} | {_plain(why)} |" for why, names in sorted(absent.items())]
    return "\n".join(lines) + "\n"


def _half_table(halves: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about bfloat16."""
    cells: dict[str, dict[str, str]] = {}
    for record in halves:
        row = cells.setdefault(record["family"], {})
        row.update({one["call"]: f"{one['ours']:.1%} ({one['plain']:.1%})" for one in record["roundings"]})
    columns = [call for call in COLUMNS if any(call in row for row in cells.values())]
    lines = [
        _HALF,
        "| family | " + " | ".join(COLUMNS[call] for call in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    return lines + [f"| {name} | " + " | ".join(row.get(c, "–") for c in columns) + " |" for name, row in cells.items()]


def _cell(held: Sequence[dict[str, Any]], refusals: dict[str, int]) -> tuple[str, str]:
    wrong = [outcome for outcome in held if outcome["verdict"] not in ("exact", "refused")]
    if wrong:
        where = ", ".join(dict.fromkeys(outcome["variant"].split(",")[0] for outcome in wrong))
        errors = [outcome["error"] for outcome in wrong if outcome["error"] is not None]
        size = f"**wrong** by {max(errors):.0e}" if errors else f"**{wrong[0]['verdict']}**"
        return f"{size} ({where})", "wrong"
    sentences = [outcome["sentence"] for outcome in held if outcome["verdict"] == "refused"]
    notes = sorted({refusals.setdefault(_plain(sentence), len(refusals) + 1) for sentence in sentences})
    told = f"refused ({', '.join(map(str, notes))})"
    ways = ", ".join(dict.fromkeys(outcome["way"] for outcome in held if outcome["way"]))
    exact = f"exact ({ways})" if ways else "exact"
    if not sentences:
        return exact, "exact"
    if len(sentences) == len(held):
        return told, "refused"
    where = ", ".join(
        dict.fromkeys(outcome["variant"].split(",")[0] for outcome in held if outcome["verdict"] == "refused")
    )
    return f"{exact}; {told} ({where})", "exact"


def _plain(sentence: str) -> str:
    """Return a sentence without the folder, the class and the numbers of one model."""
    sentence = re.sub(r"/\S*/(right|left|other padding|prepend)\b", "the model", sentence)
    sentence = re.sub(r"\b[A-Z]\w+For(SequenceClassification|MultipleChoice|CausalLM)\b", "the model", sentence)
    return re.sub(r"differ by [\d.e+-]*\d", "differ by …", sentence).replace("|", "/")
