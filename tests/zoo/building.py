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
from zoo.published import get_tasks, load_published, make_small_config
from zoo.shrinking import make_tiny_config
from zoo.words import PAIRS, TEXTS, tokenizer

TASKS = {
    "classes": ("SEQUENCE_CLASSIFICATION", transformers.AutoModelForSequenceClassification),
    "choices": ("MULTIPLE_CHOICE", transformers.AutoModelForMultipleChoice),
    "causal": ("CAUSAL_LM", transformers.AutoModelForCausalLM),
    "encoder-decoder": ("SEQ_TO_SEQ_CAUSAL_LM", transformers.AutoModelForSeq2SeqLM),
    "masked": ("MASKED_LM", transformers.AutoModelForMaskedLM),
}
N_CLASSES = 3

MAX_PARAMETERS = 3_000_000
"""Largest number of parameters of a tiny model; ten times as many if it is published."""

SPREADS = ((0.8, 0.35), (0.4, 0.2), (0.2, 0.1), (None, None))
"""Spreads of embeddings and weights, tried one after another; the last pair leaves the initial weights."""


class NotBuilt(Exception):
    """A family that cannot be built tiny, or that reads more than text; the message says why."""


def families(task: str) -> list[str]:
    """Return the families that the installed transformers offers for a task, their variations, and published models."""
    mapping, _ = TASKS[task]
    offered = list(getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES"))
    # A model that turns pictures or sound into text is no encoder-decoder of texts. One of these
    # that fills in masks is not a masked model.
    if task in ("encoder-decoder", "masked"):
        is_wanted = task == "encoder-decoder"
        configs = transformers.CONFIG_MAPPING
        offered = [name for name in offered if configs[name].is_encoder_decoder == is_wanted]
    variations = [name for name, (family, _) in VARIATIONS.items() if family in offered]
    published = []
    for name, config in load_published().items():
        if config["model_type"] in offered and task in get_tasks(name):
            published.append(name)
    return sorted([*offered, *variations, *published])


def build(task: str, family: str, *, seed: int = 0) -> Any:
    """Return a tiny model with random weights, which gives different logits for different texts.

    Its attribute `published_config` is the content of the config.json of a published model; None
    for a family.

    Raises:
        NotBuilt: If that fails, with the reason.
    """
    _, model_class = TASKS[task]
    try:
        config, published_config = make_config(task, family)
        with torch.device("meta"):
            draft = model_class.from_config(config)
    except Exception as error:
        raise NotBuilt(f"no tiny configuration: {describe_error(error)}") from error
    check_size(draft, is_published=published_config is not None)

    for embedding_spread, weight_spread in SPREADS:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            try:
                model = model_class.from_config(config).float().eval()
            except Exception as error:
                raise NotBuilt(f"no tiny configuration: {describe_error(error)}") from error
            if weight_spread is not None:
                spread_weights(model, embedding_spread, weight_spread)
        if has_distinct_logits(model, task):
            model.published_config = published_config
            return model
    raise NotBuilt("random weights give no finite logits that depend on the text")


def make_config(task: str, family: str) -> tuple[Any, dict[str, Any] | None]:
    """Return a tiny configuration, and the content of its config.json if it is published."""
    options: dict[str, Any] = {"num_labels": N_CLASSES} if task == "classes" else {}
    if family in load_published():
        return make_small_config(family, **options)
    if task != "classes":
        # XLM can be either kind of model, and its configuration decides which.
        options = {"is_decoder": task == "causal", "causal": task == "causal"}
    family, settings = VARIATIONS.get(family, (family, {}))
    overrides = {**OVERRIDES.get(family, {}), **settings}
    return make_tiny_config(family, overrides=overrides, **options), None


def check_size(draft: Any, *, is_published: bool) -> None:
    """Raise NotBuilt if a model has too many parameters."""
    n_parameters = sum(parameter.numel() for parameter in draft.parameters())
    # Sizes that a published file does not state are not reduced.
    limit = MAX_PARAMETERS * (10 if is_published else 1)
    if n_parameters > limit:
        name, largest = max(draft.named_parameters(), key=lambda pair: pair[1].numel())
        raise NotBuilt(
            f"no tiny configuration: {n_parameters:,} parameters, {name} is {tuple(largest.shape)}"
        )


def has_token_types(model: Any) -> bool:
    """Return whether the tokenizer of such a model gives type ids."""
    n_types = int(getattr(model.config, "type_vocab_size", 0) or 0)
    if n_types <= 1 and model.config.model_type not in TYPED:
        return False
    return "token_type_ids" in inspect.signature(model.forward).parameters


def save(model: Any, folder: Path, words: Any, weights: str = "") -> Path:
    """Save a model and its tokenizer as users have them: with the config.json of a published model, not a new one.

    Args:
        model: A model of `build`.
        folder: The folder to write.
        words: Its tokenizer.
        weights: "adapter" for a LoRA on its base, "4 bits" for quantized weights.
    """
    base = folder / "base" if weights == "adapter" else folder
    config = getattr(model, "published_config", None)
    with silence_transformers():
        model.save_pretrained(base)
        if config is not None:
            config = {**config, "architectures": [type(model).__name__]}
            (base / "config.json").write_text(json.dumps(config), encoding="utf-8")
            set_special_tokens(words, config.get("text_config", config))
        words.save_pretrained(folder)
        if weights == "adapter":
            save_adapter(type(model).from_pretrained(base), folder)
        if weights == "4 bits":
            settings = transformers.BitsAndBytesConfig(
                load_in_4bit=True, bnb_4bit_compute_dtype=torch.float32
            )
            quantized = type(model).from_pretrained(base, quantization_config=settings)
            quantized.save_pretrained(folder)
    return folder


def save_adapter(model: Any, folder: Path) -> None:
    """Save a random LoRA of all linear layers but the head."""
    body = set(model.base_model.modules())
    head = model.get_output_embeddings()
    layers = []
    for name, module in model.named_modules():
        is_linear = isinstance(module, (torch.nn.Linear, transformers.pytorch_utils.Conv1D))
        is_in_body = module in body and module is not head
        # peft refuses those of Mamba; the router of Llama 4 gives two tensors.
        is_supported = not name.endswith(("out_proj", "router"))
        if is_linear and is_in_body and is_supported:
            layers.append(name)
    settings = peft.LoraConfig(r=2, target_modules=layers, init_lora_weights=False)
    peft.get_peft_model(model, settings).save_pretrained(folder)


def set_special_tokens(words: Any, config: dict[str, Any]) -> None:
    """Give a tokenizer the special tokens of a config.json; without a padding id, it has no padding token."""
    for name in ("bos", "eos", "pad"):
        token_id = config.get(f"{name}_token_id")
        if isinstance(token_id, list):
            token_id = token_id[0]
        if isinstance(token_id, int) and token_id >= 0:
            setattr(words, f"{name}_token", words.convert_ids_to_tokens(token_id))
        elif name == "pad":
            words.pad_token = None


UNSPREAD = (
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
"""Parts of the names of parameters that keep their initial values."""


@torch.no_grad()
def spread_weights(model: Any, embedding_spread: float, weight_spread: float) -> None:
    """Draw weights with a larger spread: with the initial ones, nothing depends on the input."""
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:
        table = None
    for name, parameter in model.named_parameters():
        end_of_name = ".".join(name.lower().split(".")[-2:])
        if any(word in end_of_name for word in UNSPREAD):
            continue
        if parameter.dim() <= 1:
            parameter.normal_(0.0, 0.1)
            continue
        is_embedding = "embed" in name or "wte" in name
        parameter.normal_(0.0, embedding_spread if is_embedding else weight_spread)
    if isinstance(table, torch.nn.Embedding):
        table.weight.normal_(0.0, embedding_spread)


@torch.no_grad()
def has_distinct_logits(model: Any, task: str) -> bool:
    """Return whether two texts have finite logits that differ, and no class is certain."""
    words = tokenizer(ends=task != "causal", types=has_token_types(model))
    rows = []
    for text in TEXTS[:2]:
        inputs = make_inputs(model, task, words, text)
        try:
            logits = model(**inputs).logits
        except Exception as error:
            raise NotBuilt(f"reads more than text: {describe_error(error)}") from error
        rows.append(logits.reshape(-1, logits.shape[-1])[-1].double())
    if not all(bool(row.isfinite().all()) for row in rows):
        return False
    if task == "classes" and max(float(row.softmax(0).max()) for row in rows) > 0.9999:
        return False
    return float((rows[0] - rows[1]).abs().max()) > 1e-3


def make_inputs(model: Any, task: str, words: Any, text: str) -> dict[str, Any]:
    """Return the inputs of a model for one text."""
    inputs = dict(words(text, PAIRS[0] if task == "choices" else None, return_tensors="pt"))
    if task == "choices":
        return {name: tensor[None] for name, tensor in inputs.items()}
    if task == "encoder-decoder":
        return {"input_ids": inputs["input_ids"], "decoder_input_ids": inputs["input_ids"]}
    # The cache of xLSTM fails at sequences of some lengths, and is never used.
    if task == "causal" and "use_cache" in inspect.signature(model.forward).parameters:
        inputs["use_cache"] = False
    return inputs


def describe_error(error: Exception) -> str:
    """Return the type and the first line of an error, at most 200 characters."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0]}"[:200]
