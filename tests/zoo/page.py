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
    from zoo.holding import TOLERANCE

    version = transformers.__version__
    head = _HEAD.format(version=version, torch=torch.__version__.split("+")[0], tolerance=TOLERANCE)
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
        # The row of wrong results would be empty: no release may have one.
        if kind != "**" or any(counts):
            name = "wrong" if kind == "**" else kind
            lines.append(f"| {name} | {' | '.join(map(str, counts))} |")
    refused = [
        row["family"] for row in found if any("refused" in row[title] for title in COLUMNS.values())
    ]
    return [
        *lines,
        "",
        f"The package refuses at least one of these calls for\n{', '.join(refused) or 'none'}.",
    ]


def _half_table(halves: Sequence[dict[str, Any]]) -> list[str]:
    """Return the lines about bfloat16: the largest difference of each call over the families."""
    ours: dict[str, list[float]] = {}
    plain: dict[str, list[float]] = {}
    for record in halves:
        if record["family"] in published():
            continue
        for rounding in record["roundings"]:
            ours.setdefault(rounding["call"], []).append(rounding["ours"])
            plain.setdefault(rounding["call"], []).append(rounding["plain"])
    calls = [call for call in COLUMNS if call in ours]
    differences = ", ".join(f"{max(ours[call]):.1%} ({COLUMNS[call]})" for call in calls)
    *loops, last_loop = [f"{max(plain[call]):.1%}" for call in calls]
    off = [
        record["family"]
        for record in halves
        if not all(Rounding(**one).is_rounding for one in record["roundings"])
    ]
    lines = [
        f"{_HALF.rstrip()} {differences}.",
        f"A plain loop over single items differs by {', '.join(loops)} and {last_loop}.",
    ]
    if off:
        lines.append(f"Other errors occur for {', '.join(off)}.")
    return lines


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
