"""Tiny models of every family with random weights, saved to a folder as a user has them."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import peft
import torch
import transformers
from transformers.models.auto import modeling_auto

from rightreasons.models.loading import silence_transformers
from zoo.families import OVERRIDES, TYPED, VARIATIONS
from zoo.published import published, small_config, tasks_of
from zoo.shrinking import tiny_config
from zoo.words import PAIRS, TEXTS, tokenizer

TASKS = {
    "classes": ("SEQUENCE_CLASSIFICATION", transformers.AutoModelForSequenceClassification),
    "choices": ("MULTIPLE_CHOICE", transformers.AutoModelForMultipleChoice),
    "causal": ("CAUSAL_LM", transformers.AutoModelForCausalLM),
    "encoder-decoder": ("SEQ_TO_SEQ_CAUSAL_LM", transformers.AutoModelForSeq2SeqLM),
    "masked": ("MASKED_LM", transformers.AutoModelForMaskedLM),
}
N_CLASSES = 3
MOST_PARAMETERS = 3_000_000
SPREADS = ((0.8, 0.35), (0.4, 0.2), (0.2, 0.1), (None, None))
"""Spreads of embeddings and weights that are tried one after another; the last is the family's own."""


class NotBuilt(Exception):
    """A family that cannot be built tiny, or that reads more than text; the message says why."""


def families(task: str) -> list[str]:
    """Return the families that the installed transformers offers for a task, their variations, and published models."""
    offered = getattr(modeling_auto, f"MODEL_FOR_{TASKS[task][0]}_MAPPING_NAMES")
    # What turns pictures or sound into text is no encoder-decoder; an encoder-decoder that fills in masks is one.
    if task in ("encoder-decoder", "masked"):
        both = task == "encoder-decoder"
        offered = [
            name for name in offered if transformers.CONFIG_MAPPING[name].is_encoder_decoder == both
        ]
    varied = [name for name, (family, _) in VARIATIONS.items() if family in offered]
    asked = [
        name
        for name, told in published().items()
        if told["model_type"] in offered and task in tasks_of(name)
    ]
    return sorted([*offered, *varied, *asked])


def build(task: str, family: str, *, seed: int = 0) -> Any:
    """Return a tiny model with random weights, for which texts differ.

    Raises:
        NotBuilt: If that fails, with the reason.
    """
    reads = dict.fromkeys(
        ("is_decoder", "causal"), task == "causal"
    )  # XLM reads both ways, and says which
    options: dict[str, Any] = {"num_labels": N_CLASSES} if task == "classes" else dict(reads)
    family, settings = VARIATIONS.get(family, (family, {}))
    overrides = {**OVERRIDES.get(family, {}), **settings}
    written = None
    try:
        if family in published():
            config, written = small_config(family, **({} if "is_decoder" in options else options))
        else:
            config = tiny_config(family, overrides=overrides, **options)
        with torch.device("meta"):
            draft = TASKS[task][1].from_config(config)
    except Exception as error:
        raise NotBuilt(f"no tiny configuration: {_line(error)}") from error
    size = sum(parameter.numel() for parameter in draft.parameters())
    if size > MOST_PARAMETERS * (
        1 if written is None else 10
    ):  # what a file lacks is not made smaller
        name, largest = max(draft.named_parameters(), key=lambda pair: pair[1].numel())
        raise NotBuilt(
            f"no tiny configuration: {size:,} parameters, {name} is {tuple(largest.shape)}"
        )
    for embedding, weight in SPREADS:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            try:
                model = TASKS[task][1].from_config(config).float().eval()
            except Exception as error:
                raise NotBuilt(f"no tiny configuration: {_line(error)}") from error
            if weight is not None:
                _spread(model, embedding, weight)
        if _lively(model, task):
            model.written = written
            return model
    raise NotBuilt("random weights give no finite logits that depend on the text")


def reads_types(model: Any) -> bool:
    """Tell whether the tokenizer of such a model gives type ids."""
    known = (
        int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
        or model.config.model_type in TYPED
    )
    return known and "token_type_ids" in inspect.signature(model.forward).parameters


def save(model: Any, folder: Path, words: Any, weights: str = "") -> Path:
    """Save a model and its tokenizer as users have them: with the config.json of a published model, not a new one.

    Args:
        model: What `build` returned.
        folder: Where to.
        words: Its tokenizer.
        weights: "adapter" for a LoRA beside its base, "4 bits" for quantized weights.
    """
    base = folder / "base" if weights == "adapter" else folder
    with silence_transformers():
        model.save_pretrained(base)
        if (written := getattr(model, "written", None)) is not None:
            written = {**written, "architectures": [type(model).__name__]}
            (base / "config.json").write_text(json.dumps(written), encoding="utf-8")
            _like(words, written.get("text_config", written))
        words.save_pretrained(folder)
        if weights == "adapter":
            fresh = type(model).from_pretrained(base)
            inner, head = set(fresh.base_model.modules()), fresh.get_output_embeddings()
            layers = [
                place
                for place, part in fresh.named_modules()
                if isinstance(part, (torch.nn.Linear, transformers.pytorch_utils.Conv1D))
                and part in inner
                and part is not head
                # peft refuses those of Mamba; the router of Llama 4 gives two tensors.
                and not place.endswith(("out_proj", "router"))
            ]
            settings = peft.LoraConfig(r=2, target_modules=layers, init_lora_weights=False)
            adapted = peft.get_peft_model(fresh, settings)
            adapted.save_pretrained(folder)
        if weights == "4 bits":
            settings = transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.float32
            )
            type(model).from_pretrained(base, quantization_config=settings).save_pretrained(folder)
    return folder


def _like(words: Any, written: dict[str, Any]) -> None:
    """Let a tokenizer's special tokens be those that a config.json names; one that names no padding has none."""
    for name in ("bos", "eos", "pad"):
        token = written.get(f"{name}_token_id")
        token = token[0] if isinstance(token, list) else token
        known = isinstance(token, int) and token >= 0
        if known or name == "pad":
            setattr(words, f"{name}_token", words.convert_ids_to_tokens(token) if known else None)


@torch.no_grad()
def _spread(model: Any, embedding: float, weight: float) -> None:
    """Spread the weights: with the initial ones nothing depends on the input."""
    try:
        words = model.get_input_embeddings()
    except NotImplementedError:
        words = None
    for name, parameter in model.named_parameters():
        lower = ".".join(name.lower().split(".")[-2:])
        if any(
            word in lower
            for word in (
                "a_log",
                "dt_",
                "norm",
                "decay",
                "time_",
                "ln_",
                "lambda",
                "scale",
                "rotary",
            )
        ):
            continue
        if parameter.dim() > 1:
            parameter.normal_(0.0, embedding if "embed" in name or "wte" in name else weight)
        else:
            parameter.normal_(0.0, 0.1)
    if isinstance(words, torch.nn.Embedding):
        words.weight.normal_(0.0, embedding)


@torch.no_grad()
def _lively(model: Any, task: str) -> bool:
    words = tokenizer(ends=task != "causal", types=reads_types(model))
    rows = []
    for text in TEXTS[:2]:
        inputs = words(text, PAIRS[0] if task == "choices" else None, return_tensors="pt")
        if task == "choices":
            inputs = {name: tensor[None] for name, tensor in inputs.items()}
        if task == "encoder-decoder":
            inputs = {"input_ids": inputs["input_ids"], "decoder_input_ids": inputs["input_ids"]}
        # The cache of xLSTM fails at sequences of some lengths, and is never asked for.
        if task == "causal" and "use_cache" in inspect.signature(model.forward).parameters:
            inputs["use_cache"] = False
        try:
            logits = model(**inputs).logits
        except Exception as error:
            raise NotBuilt(f"reads more than text: {_line(error)}") from error
        rows.append(logits.reshape(-1, logits.shape[-1])[-1].double())
    if not all(bool(row.isfinite().all()) for row in rows):
        return False
    if task == "classes" and max(float(row.softmax(0).max()) for row in rows) > 0.9999:
        return False
    return float((rows[0] - rows[1]).abs().max()) > 1e-3


def _line(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}"[:200]
