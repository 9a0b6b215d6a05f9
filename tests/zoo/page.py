"""docs/evidence/models.md and the csv beside it: the table of the zoo, as it was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from zoo.half import Rounding
from zoo.published import published

COLUMNS = {
    "predict": "predict",
    "attributions": "attributions",
    "fisher": "Fisher information",
    "choices": "choices",
    "causal": "causal scoring",
    "encoder-decoder": "encoder-decoder scoring",
    "masked": "masked scoring",
}
_HEAD = """# Models

We test the model families of transformers {version} with tiny models that have random weights (torch {torch}, float32, on a
CPU). For each model, the test compares our batched results with a loop over single items: logits, integrated gradients
at {steps} nodes, the largest eigenvalue of the Fisher information, and the log-likelihoods of choices.

    make -C benchmarks zoo

The file [models.csv](models.csv) lists the fastest exact [batching strategy](parity.md#the-trial) of each family.

- **Exact**: no number is off by more than {tolerance:g} of the largest number of its call. If a number is off by up to 1 %,
  the test repeats the call in float64.
- **Refused**: the package raises an error. The last column of models.csv gives the reason.
"""
_PUBLISHED = """
## Published models

We also tested smaller versions of {count} published models of {kinds} types, built from their config.json
(`tests/zoo/published.jsonl`). Every model was also tested with a LoRA adapter, and every causal model with 4-bit weights.
"""
_HALF = """
## In bfloat16

The table shows the largest difference between bfloat16 and float32, relative to the largest number of the call. The numbers
in brackets show how large this difference is if a plain loop processes one item at a time.
"""
_WEIGHTS = """
## States of a model

A model may be wrapped, compiled or quantized when you pass it. We compared a tiny classifier in each of these states with a
plain classifier that has the same weights:

| state | predictions, attributions, Fisher information | `audit`, training trackers | `learn` |
|---|---|---|---|
| training mode, gradient checkpointing, `enable_input_require_grads`, k-bit preparation, hooks | exact | exact; the model's state does not change | exact |
| `torch.compile`, `DataParallel`, a merged adapter | exact | exact | exact |
| an adapter (LoRA, by peft) | exact | exact | refused: merge it first |
| int8 of torchao 0.18 | exact | exact | refused: load it in float32 |
| int8 layers of torch | predictions exact; gradients refused: load it in float32 | `audit` exact; shortcuts refused | refused |
| weights named `module.` or `_orig_mod.` | refused: remove the prefix, as the error shows | | |

## Changed weights

We also tested adapters and quantized weights:

| weights | compared with | result |
|---|---|---|
| LoRA adapters (peft) | the merged model: classes, choices, gradients; published models | exact |
| 4 bits (bitsandbytes, if installed) | one item at a time: choices; published models | exact; gradients are refused |
| 8 bits, with rounded inputs | one item at a time: choices | within 0.2 nats; gradients are refused |
| GPTQ, AWQ (three layers, run by hand on a CPU) | one item at a time: choices | within 0.2 nats; gradients are refused |
"""
_MASKS = """
## On a GPU

We fine-tuned a BERT of four layers on SST-2, and audited it on an H200 and on the CPU. Six of the 15,770 entries in audit.json
differ. All six entries are eigenvalues, and they differ by less than one part in a million.

## Wrong masks

The [trial](parity.md#the-trial) tests bfloat16 models of more than 200 million parameters with a tolerance of 10 %. The table
shows which deliberate mistakes in the masks of tiny models this tolerance detects. In long texts, it **does not detect** that
a model sees one token too many or too few. Use `--dtype float32` (tolerance 0.002 %) to detect such a mistake.
"""


def rows(records: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return a row per family: what became of each call, and why it was refused or not built."""
    cells: dict[str, dict[str, str]] = {}
    reasons: dict[str, list[str]] = {}
    for record in records:
        family = record["family"]
        row, why = cells.setdefault(family, {}), reasons.setdefault(family, [])
        for call in COLUMNS:
            held = [outcome for outcome in record["outcomes"] if outcome["call"] == call]
            if held:
                row[call] = _cell(held)
                why += [
                    _plain(outcome["sentence"])
                    for outcome in held
                    if outcome["verdict"] == "refused"
                ]
        if record["not_built"]:
            why.append(f"{record['task']}: {_plain(record['not_built'])}")
    return [
        {"family": family}
        | {title: cells[family].get(call, "–") for call, title in COLUMNS.items()}
        | {"why": " ".join(dict.fromkeys(reasons[family]))}
        for family in sorted(cells)
    ]


def page(
    found: Sequence[dict[str, str]],
    halves: Sequence[dict[str, Any]] = (),
    masks: Sequence[str] = (),
) -> str:
    """Return docs/evidence/models.md for the rows of all families, of those in bfloat16, and the table of masks."""
    from zoo.holding import STEPS, TOLERANCE

    version = transformers.__version__
    head = _HEAD.format(
        version=version, torch=torch.__version__.split("+")[0], steps=STEPS, tolerance=TOLERANCE
    )
    names = [row["family"] for row in found if row["family"] in published()]
    kinds = {published()[name]["model_type"] for name in names}
    lines = [head, *_counts([row for row in found if row["family"] not in names])]
    lines += [_PUBLISHED.format(count=len(names), kinds=len(kinds))] if names else []
    lines += _counts([row for row in found if row["family"] in names]) if names else []
    return (
        "\n".join(
            [
                *lines,
                _WEIGHTS.rstrip(),
                *(_half_table(halves) if halves else []),
                *([_MASKS, *masks] if masks else []),
            ]
        )
        + "\n"
    )


def _counts(found: Sequence[dict[str, str]]) -> list[str]:
    """Return the lines that count what became of the calls, and name what was refused."""
    lines = ["| | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for kind in ("exact", "refused", "**"):
        counts = [sum(row[title].startswith(kind) for row in found) for title in COLUMNS.values()]
        lines.append(f"| {'wrong' if kind == '**' else kind} | {' | '.join(map(str, counts))} |")
    refused = [
        row["family"] for row in found if any("refused" in row[title] for title in COLUMNS.values())
    ]
    return [
        *lines,
        "",
        f"The package refuses at least one of these calls for\n{', '.join(refused) or 'none'}.",
    ]


def _half_table(halves: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about bfloat16."""
    cells: dict[str, dict[str, str]] = {}
    for record in halves:
        row = cells.setdefault(record["family"], {})
        row.update(
            {one["call"]: f"{one['ours']:.1%} ({one['plain']:.1%})" for one in record["roundings"]}
        )
    columns = [call for call in COLUMNS if any(call in row for row in cells.values())]
    lines = [
        _HALF,
        "| family | " + " | ".join(COLUMNS[call] for call in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]
    named = {name: row for name, row in cells.items() if name not in published()}
    lines += [
        f"| {name} | " + " | ".join(row.get(c, "–") for c in columns) + " |"
        for name, row in named.items()
    ]
    if len(named) == len(cells):
        return lines
    off = [
        record["family"]
        for record in halves
        if not all(Rounding(**one).is_rounding for one in record["roundings"])
    ]
    exceptions = f", except for {', '.join(off)}" if off else ""
    return [
        *lines,
        "",
        (
            f"For {len(cells) - len(named)} published models, each of a different type, "
            f"all differences are rounding errors{exceptions}."
        ),
    ]


def _cell(held: Sequence[dict[str, Any]]) -> str:
    wrong = [outcome for outcome in held if outcome["verdict"] not in ("exact", "refused")]
    if wrong:
        where = ", ".join(dict.fromkeys(outcome["variant"].split(",")[0] for outcome in wrong))
        errors = [outcome["error"] for outcome in wrong if outcome["error"] is not None]
        size = f"**wrong** by {max(errors):.0e}" if errors else f"**{wrong[0]['verdict']}**"
        return f"{size} ({where})"
    refused = [outcome for outcome in held if outcome["verdict"] == "refused"]
    ways = ", ".join(dict.fromkeys(outcome["way"] for outcome in held if outcome["way"]))
    exact = f"exact ({ways})" if ways else "exact"
    if len(refused) in (0, len(held)):
        return "refused" if refused else exact
    where = ", ".join(dict.fromkeys(outcome["variant"].split(",")[0] for outcome in refused))
    return f"{exact}; refused ({where})"


def _plain(sentence: str) -> str:
    """Return a sentence without the folder, the class and the numbers of one model."""
    sentence = re.sub(
        r"/\S*/(right|left|other padding|prepend|adapter|4 bits)\b", "the model", sentence
    )
    sentence = re.sub(
        r"\b[A-Z]\w+For(SequenceClassification|MultipleChoice|CausalLM|MaskedLM|ConditionalGeneration)\b",
        "the model",
        sentence,
    )
    return re.sub(r"differ by [\d.e+-]*\d", "differ by …", sentence).replace("|", "/")
