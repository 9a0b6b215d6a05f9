"""docs/evidence/models.md and its csv file: the table of the zoo, as it was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from zoo.half import Rounding
from zoo.published import load_published

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

Does batching change a result? We test the model families of transformers {version} with tiny models that have random weights
(torch {torch}, float32, on a CPU). For each model, the test compares our batched results with a loop over single items:
logits, integrated gradients, the largest eigenvalue of the Fisher information, and the log-likelihoods of choices.

    make -C benchmarks zoo

A result is *exact* if no number is off by more than {tolerance:g} of the largest number of its call. No result is wrong: if the
package cannot compute it exactly, it *refuses* the model with an error. The file [models.csv](models.csv) lists the reason, and
the fastest exact [batching strategy](parity.md#the-trial) of each family.
"""
_PUBLISHED = """
## Published models

We also tested smaller versions of {count} published models of {kinds} types, built from their config.json
(`tests/zoo/published.jsonl`). Every model was also tested with a LoRA adapter, and every causal model with 4-bit weights.
"""
_WEIGHTS = """
## States and weights

You can pass a model in training mode, with gradient checkpointing, hooks or k-bit preparation, after `torch.compile`, in
`DataParallel`, or with an adapter. Results are exact, and an audit does not change the state of the model, with some
exceptions:

| model | exception |
|---|---|
| an adapter (LoRA, by peft), int8 of torchao 0.18 | `learn` refuses it |
| int8 layers of torch | gradients, shortcuts and `learn` are refused |
| 4 bits (bitsandbytes) | gradients are refused |
| 8 bits with rounded inputs, GPTQ, AWQ | scores of choices differ by up to 0.2 nats; gradients are refused |
| weights named `module.` or `_orig_mod.` | the model is refused |
"""
_HALF = """
## Half precision, GPUs

Half-precision results differ from those in float32 only by rounding errors. In bfloat16, the largest differences, relative to the
largest number of the call, are
"""
_MASKS = """
We fine-tuned a BERT of four layers on SST-2, and audited it on an H200 and on the CPU. Six of the 15,770 entries in audit.json
differ, by less than one part in a million. All six are eigenvalues.

## Wrong masks

The [trial](parity.md#the-trial) tests bfloat16 models of more than 200 million parameters with a tolerance of 10 %.
In long texts, it **does not detect** that such a model sees one token too many or too few. To detect such a mistake, use
`--dtype float32`.
"""


def make_rows(records: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """Return a row per family: the outcome of each call, and why it was refused or not built."""
    cells_by_family: dict[str, dict[str, str]] = {}
    reasons_by_family: dict[str, list[str]] = {}
    for record in records:
        family = record["family"]
        cells = cells_by_family.setdefault(family, {})
        reasons = reasons_by_family.setdefault(family, [])
        for call in COLUMNS:
            outcomes = [outcome for outcome in record["outcomes"] if outcome["call"] == call]
            if outcomes:
                cells[call] = format_cell(outcomes)
            for outcome in outcomes:
                if outcome["verdict"] == "refused":
                    reasons.append(generalize(outcome["sentence"]))
        if record["not_built"]:
            reasons.append(f"{record['task']}: {generalize(record['not_built'])}")

    rows = []
    for family, cells in sorted(cells_by_family.items()):
        row = {"family": family}
        for call, title in COLUMNS.items():
            row[title] = cells.get(call, "–")
        # Each reason is listed once.
        row["why"] = " ".join(dict.fromkeys(reasons_by_family[family]))
        rows.append(row)
    return rows


def render_page(
    rows: Sequence[dict[str, str]],
    half_records: Sequence[dict[str, Any]] = (),
    mask_lines: Sequence[str] = (),
) -> str:
    """Return docs/evidence/models.md.

    Args:
        rows: A row per family.
        half_records: Results of the families in bfloat16.
        mask_lines: Lines of the table of wrong masks.
    """
    from zoo.holding import TOLERANCE

    head = _HEAD.format(
        version=transformers.__version__,
        torch=torch.__version__.split("+")[0],
        tolerance=TOLERANCE,
    )
    published = load_published()
    family_rows = [row for row in rows if row["family"] not in published]
    published_rows = [row for row in rows if row["family"] in published]

    lines = [head, *count_outcomes(family_rows)]
    if published_rows:
        types = {published[row["family"]]["model_type"] for row in published_rows}
        lines.append(_PUBLISHED.format(count=len(published_rows), kinds=len(types)))
        lines += count_outcomes(published_rows)
    lines.append(_WEIGHTS.rstrip())
    if half_records:
        lines += describe_half(half_records)
    if mask_lines:
        lines += [_MASKS, *mask_lines]
    return "\n".join(lines) + "\n"


def count_outcomes(rows: Sequence[dict[str, str]]) -> list[str]:
    """Return the lines that count the outcomes of each call, and name the refused families."""
    titles = list(COLUMNS.values())
    lines = ["| | " + " | ".join(titles) + " |", "|---|" + "---:|" * len(titles)]
    # A cell of wrong results is bold.
    for name, prefix in (("exact", "exact"), ("refused", "refused"), ("wrong", "**")):
        counts = [sum(row[title].startswith(prefix) for row in rows) for title in titles]
        # The row of wrong results would be empty: no release may have one.
        if name != "wrong" or any(counts):
            lines.append(f"| {name} | {' | '.join(map(str, counts))} |")

    refused = []
    for row in rows:
        if any("refused" in row[title] for title in titles):
            refused.append(row["family"])
    names = ", ".join(refused) or "none"
    return [*lines, "", f"The package refuses at least one of these calls for\n{names}."]


def describe_half(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about bfloat16: the largest difference of each call over the families."""
    published = load_published()
    ours: dict[str, list[float]] = {}
    plain: dict[str, list[float]] = {}
    for record in records:
        if record["family"] in published:
            continue
        for rounding in record["roundings"]:
            ours.setdefault(rounding["call"], []).append(rounding["ours"])
            plain.setdefault(rounding["call"], []).append(rounding["plain"])

    calls = [call for call in COLUMNS if call in ours]
    differences = ", ".join(f"{max(ours[call]):.1%} ({COLUMNS[call]})" for call in calls)
    *loops, last_loop = [f"{max(plain[call]):.1%}" for call in calls]
    lines = [
        f"{_HALF.rstrip()} {differences}.",
        f"A plain loop over single items differs by {', '.join(loops)} and {last_loop}.",
    ]

    mistaken = []
    for record in records:
        roundings = [Rounding(**fields) for fields in record["roundings"]]
        if not all(rounding.is_rounding for rounding in roundings):
            mistaken.append(record["family"])
    if mistaken:
        lines.append(f"Other errors occur for {', '.join(mistaken)}.")
    return lines


def format_cell(outcomes: Sequence[dict[str, Any]]) -> str:
    """Return the outcome of a call over all variants of a model."""
    failures = [outcome for outcome in outcomes if outcome["verdict"] not in ("exact", "refused")]
    if failures:
        errors = [outcome["error"] for outcome in failures if outcome["error"] is not None]
        kind = f"**{failures[0]['verdict']}**"
        if errors:
            kind = f"**wrong** by {max(errors):.0e}"
        return f"{kind} ({join_variants(failures)})"

    refused = [outcome for outcome in outcomes if outcome["verdict"] == "refused"]
    if len(refused) == len(outcomes):
        return "refused"
    strategies = [outcome["strategy"] for outcome in outcomes if outcome["strategy"]]
    exact = "exact"
    if strategies:
        exact = f"exact ({', '.join(dict.fromkeys(strategies))})"
    if not refused:
        return exact
    return f"{exact}; refused ({join_variants(refused)})"


def join_variants(outcomes: Sequence[dict[str, Any]]) -> str:
    """Return the tokenizers or weights of outcomes, each once."""
    variants = [outcome["variant"].split(",")[0] for outcome in outcomes]
    return ", ".join(dict.fromkeys(variants))


def generalize(sentence: str) -> str:
    """Return a sentence without the folder, the class and the numbers of one model."""
    variants = "right|left|other padding|prepend|adapter|4 bits"
    sentence = re.sub(rf"/\S*/({variants})\b", "the model", sentence)
    heads = "SequenceClassification|MultipleChoice|CausalLM|MaskedLM|ConditionalGeneration"
    sentence = re.sub(rf"\b[A-Z]\w+For({heads})\b", "the model", sentence)
    sentence = re.sub(r"differ by [\d.e+-]*\d", "differ by …", sentence)
    return sentence.replace("|", "/")
