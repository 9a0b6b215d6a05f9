"""Configurations as they are published, shrunk in sizes alone: what a file lacks stays absent.

`published.jsonl` has a model per line: its name on the hub, where its config.json was read, the transformers that wrote
it, and its settings without those of generation, labels and file formats. Copies of test suites have fewer layers.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import re
from pathlib import Path
from typing import Any

import transformers

from zoo.shrinking import MOST_LAYERS, RULES, SPECIAL_TOKENS, hash_of
from zoo.words import RESERVED, VOCABULARY

HEAD = 8
"""Width of a head of attention."""

_PARTS = ("text_config", "vision_config", "audio_config", "attn_config", "ffn_config")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "depth")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
_GROUPS = ("num_key_value_heads", "num_kv_heads", "num_global_key_value_heads")
_WIDTHS = ("hidden_size", "d_model", "dim", "n_embd", "n_embed")
_BOUNDS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "n_ctx",
    "seq_length",
    "max_sequence_length",
)
_BOUND, _WINDOW = 64, 8
_WINDOWS = {
    r"sliding_window(_size)?|local_attention|window_size": 12,
    r"attention_chunk_size": 16,
    r"original_max_position_embeddings|initial_context_length": 24,
}
"""Lengths that texts of 5 to 60 tokens cross, where they are below the bound of the published model."""

_WIDE = (
    r"hidden_size|d_model|dim|n_embd|n_embed|embedding_size|word_embed_proj_dim|pooler_(hidden|fc)_size|out_hidden_size"
    r"|.*intermediate_size(_mlp)?|.*ffn_dim|d_ff|d_inner|n_inner|hidden_dim|.*_lora_rank|mamba_dt_rank|time_step_rank"
)
_KEPT = r".*(num_buckets|max_distance)|index_n_heads"
"""Numbers whose few would be other models: tables of distances, and heads without which scores of an indexer tie."""

_OF_HEADS = r".*head_dim|d_kv|d_head|pooler_size_per_head|rotary_dim|query_pre_attn_scalar"
_TOKEN = re.compile(r"(.+?)_(token_id|token_index|index|id)")


@functools.cache
def published() -> dict[str, dict[str, Any]]:
    """Return the published configurations by the name of their model."""
    lines = Path(__file__).with_name("published.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["name"]: record["config"] for record in map(json.loads, lines)}


def tasks_of(name: str) -> set[str]:
    """Return what a published model is asked, as far as the installed transformers has such a head."""
    config = published()[name]
    head = (config.get("architectures") or ["MaskedLM"])[0]
    if config.get("is_encoder_decoder"):
        return {"classes", "choices", "encoder-decoder"}
    if re.search("CausalLM|LMHeadModel|ConditionalGeneration", head):
        return {"classes", "choices", "causal"}
    return {"classes", "choices", "masked"}


def one_of_each_type(task: str) -> list[str]:
    """Return a published model of each type that is asked a task; of language models, causal ones alone."""
    found = {
        config["model_type"]: name for name, config in published().items() if task in tasks_of(name)
    }
    return (
        sorted(found.values())
        if task == "causal"
        else sorted(set(found.values()) - set(one_of_each_type("causal")))
    )


def small_config(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return the configuration of a published model at a tiny size, and what its config.json says."""
    written = shrunk(published()[name])
    text = written.get("text_config", written)
    text["vocab_size"] = VOCABULARY  # that of the tokenizer, also where the file lacks it
    if "num_labels" in options:
        labels = {str(number): f"LABEL_{number}" for number in range(options["num_labels"])}
        written |= {
            "id2label": labels,
            "label2id": {label: int(number) for number, label in labels.items()},
        }
    kind = transformers.CONFIG_MAPPING[written["model_type"]]
    return kind.from_dict(copy.deepcopy(written)), written


def shrunk(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with smaller sizes: widths in proportion, heads in groups, a layer of each kind."""
    heads, groups, width, bound, layers = (
        _first(config, names) for names in (_HEADS, _GROUPS, _WIDTHS, _BOUNDS, _LAYERS)
    )
    few, wide, narrow = {}, 1.0, 1.0
    if heads and width:
        head = (
            _first(config, ("head_dim", "attention_head_dim", "d_kv", "d_head", "v_head_dim"))
            or width // heads
        )
        narrow = _even(config) / head
        few = _fewer(heads, groups or heads)
        wide = max(16, round(width / heads * few[heads] * narrow / 8) * 8) / width
    elif width:
        wide = 32 / width
    small = {name: _small(name, value, wide, narrow, bound) for name, value in config.items()}
    grouped = (*_HEADS, *_GROUPS, "decoder_attention_heads", "pooler_num_attention_heads")
    small |= {name: few[config[name]] for name in grouped if config.get(name) in few}
    keys, values = (config.get(f"linear_num_{kind}_heads") for kind in ("key", "value"))
    if keys and values:
        small |= {"linear_num_key_heads": 2, "linear_num_value_heads": 2 * values // keys}
    return small | _tokens(config) | _kinds(config, layers)


def _even(config: dict[str, Any]) -> int:
    """Return the width of a head: a part of it that turns with the position has two numbers at least, and no half."""
    share = next(
        (config[name] for name in ("partial_rotary_factor", "rotary_pct") if name in config), 1.0
    )
    return next(width for width in range(HEAD, 64) if (width * share) % 2 == 0)


def _first(config: dict[str, Any], names: tuple[str, ...]) -> int | None:
    return next((config[name] for name in names if isinstance(config.get(name), int)), None)


def _fewer(heads: int, groups: int) -> dict[int, int]:
    """Return few heads and groups: a power of two stays one, as slopes of ALiBi depend on it; odd groups stay odd."""
    if groups == heads:
        return {heads: 4 if heads & (heads - 1) == 0 else 3}
    few = min(groups, 2)
    return {groups: few, heads: few * (2 + heads // groups % 2)}


def _small(name: str, value: Any, wide: float, narrow: float, bound: int | None) -> Any:
    if isinstance(value, dict):
        rope = {key: _small(key, part, wide, narrow, bound) for key, part in value.items()}
        return shrunk(value) if name in _PARTS else rope if name.startswith("rope_") else value
    if name == "mrope_section":
        return [max(1, round(sum(value) * narrow)), 0, 0]
    if name == "attention_window":
        return [_WINDOW] * len(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, int)
        or value <= 0
        or re.fullmatch(_KEPT, name)
    ):
        return value
    for pattern, length in _WINDOWS.items():
        if re.fullmatch(pattern, name):
            return length if bound is None or value < bound else _BOUND
    if name in _BOUNDS:
        return _BOUND + 2 * (
            value % _BOUND == 2
        )  # the positions of RoBERTa begin behind the padding id
    if re.fullmatch(_OF_HEADS, name):
        return max(4, round(value * narrow / 2) * 2)
    if re.fullmatch(_WIDE, name):
        return max(8, round(value * wide / 8) * 8)
    for pattern, rule in RULES:
        if re.fullmatch(pattern, name):
            return rule(value) if callable(rule) else min(rule, value)
    return value


def _tokens(config: dict[str, Any]) -> dict[str, Any]:
    """Return the ids of special tokens; those that share an id share it still, and absent ones stay absent."""
    ids: dict[int, int] = {}
    named: dict[str, Any] = {}
    order = ("eos", "pad", "bos", "decoder_start", "cls", "sep", "mask", "unk")
    found = [(match[1], name) for name in config if (match := _TOKEN.fullmatch(name))]
    for short, name in sorted(
        found, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order)
    ):
        values = config[name] if isinstance(config[name], list) else [config[name]]
        if not all(type(value) is int and value >= 0 for value in values):
            continue
        for value in values:
            ids.setdefault(
                value,
                SPECIAL_TOKENS.get(short, RESERVED[hash_of(f"{short}{len(ids)}") % len(RESERVED)]),
            )
        new = list(dict.fromkeys(ids[value] for value in values))
        named[name] = new if isinstance(config[name], list) else new[0]
    return named


def _kinds(config: dict[str, Any], count: int | None) -> dict[str, Any]:
    """Return a layer of each kind where the kind of every layer is listed, else two layers."""
    if not count:
        return {}
    lists = {
        name: value
        for name, value in config.items()
        if isinstance(value, list) or name.endswith("pattern")
    }
    lists = {name: value for name, value in lists.items() if value and len(value) == count > 2}
    kinds: dict[tuple[Any, ...], int] = {}
    for layer in range(count if lists else 0):
        kinds.setdefault(tuple(str(value[layer]) for value in lists.values()), layer)
    chosen = sorted(kinds.values())[:MOST_LAYERS] or [*range(_until_each_kind(config))]
    chosen = chosen * 2 if len(chosen) == 1 else chosen
    few = {name: [value[layer] for layer in chosen] for name, value in lists.items()}
    few = {
        name: "".join(value) if isinstance(config[name], str) else value
        for name, value in few.items()
    }
    return few | {
        name: len(chosen)
        for name in (*_LAYERS, "decoder_layers", "num_decoder_layers")
        if name in config
    }


def _until_each_kind(config: dict[str, Any]) -> int:
    """Return how many layers hold one of each kind, where the kinds follow from what the file lacks."""
    with contextlib.suppress(Exception):
        kinds = (
            transformers.CONFIG_MAPPING[config["model_type"]]
            .from_dict(copy.deepcopy(config))
            .layer_types
        )
        return max(2, 1 + max(map(kinds.index, kinds)))
    return 2
