"""Configurations as they are published, reduced in size alone: what a file lacks stays absent.

`published.jsonl` has a model per line: its name on the hub, where its config.json was read, the transformers that wrote
it, and its settings without those of generation, labels and file formats. Copies of test suites have fewer layers.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import json
import re
from pathlib import Path
from typing import Any

import transformers

from zoo.shrinking import RULES, SPECIAL_TOKENS, find_kinds, hash_name
from zoo.words import RESERVED, VOCABULARY

HEAD_WIDTH = 8
"""Least width of a head of attention."""

_PARTS = ("text_config", "vision_config", "audio_config", "attn_config", "ffn_config")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "depth")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads")
_GROUPS = ("num_key_value_heads", "num_kv_heads", "num_global_key_value_heads")
_WIDTHS = ("hidden_size", "d_model", "dim", "n_embd", "n_embed")
_HEAD_WIDTHS = ("head_dim", "attention_head_dim", "d_kv", "d_head", "v_head_dim")
_BOUNDS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "n_ctx",
    "seq_length",
    "max_sequence_length",
)
_MAX_TOKENS = 64
"""Largest number of positions of a small model."""

_ATTENTION_WINDOW = 8
_WINDOWS = {
    r"sliding_window(_size)?|local_attention|window_size": 12,
    r"attention_chunk_size": 16,
    r"original_max_position_embeddings|initial_context_length": 24,
}
"""Names of windows -> lengths that texts of 5 to 60 tokens exceed.

They apply if the published model has more positions than its window."""

_WIDTH_NAMES = (
    r"hidden_size|d_model|dim|n_embd|n_embed|embedding_size|word_embed_proj_dim|pooler_(hidden|fc)_size|out_hidden_size"
    r"|.*intermediate_size(_mlp)?|.*ffn_dim|d_ff|d_inner|n_inner|hidden_dim|.*_lora_rank|mamba_dt_rank|time_step_rank"
)
_FIXED_NAMES = r".*(num_buckets|max_distance)|index_n_heads"
"""Numbers that make another model if reduced: tables of distances, and heads without which scores of an indexer tie."""

_HEAD_WIDTH_NAMES = r".*head_dim|d_kv|d_head|pooler_size_per_head|rotary_dim|query_pre_attn_scalar"
_TOKEN = re.compile(r"(.+?)_(token_id|token_index|index|id)")


@functools.cache
def load_published() -> dict[str, dict[str, Any]]:
    """Return the published configurations by the name of their model."""
    lines = Path(__file__).with_name("published.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["name"]: record["config"] for record in map(json.loads, lines)}


def get_tasks(name: str) -> set[str]:
    """Return the tasks of a published model, of which the installed transformers may lack a head."""
    config = load_published()[name]
    head = (config.get("architectures") or ["MaskedLM"])[0]
    if config.get("is_encoder_decoder"):
        return {"classes", "choices", "encoder-decoder"}
    if re.search("CausalLM|LMHeadModel|ConditionalGeneration", head):
        return {"classes", "choices", "causal"}
    return {"classes", "choices", "masked"}


def list_one_per_type(task: str) -> list[str]:
    """Return a published model of each type that has a task; of language models, causal ones alone."""
    name_by_type = {}
    for name, config in load_published().items():
        if task in get_tasks(name):
            name_by_type[config["model_type"]] = name
    names = set(name_by_type.values())
    if task != "causal":
        names -= set(list_one_per_type("causal"))
    return sorted(names)


def make_small_config(name: str, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return the configuration of a published model at a tiny size, and the content of its config.json."""
    content = shrink(load_published()[name])
    # The vocabulary is that of the tokenizer, also if the file lacks it.
    content.get("text_config", content)["vocab_size"] = VOCABULARY
    if "num_labels" in options:
        names = [f"LABEL_{number}" for number in range(options["num_labels"])]
        content["id2label"] = {str(number): name for number, name in enumerate(names)}
        content["label2id"] = {name: number for number, name in enumerate(names)}
    config_class = transformers.CONFIG_MAPPING[content["model_type"]]
    return config_class.from_dict(copy.deepcopy(content)), content


@dataclasses.dataclass(frozen=True)
class Scale:
    """Factors by which sizes become smaller.

    Attributes:
        width: Factor of widths of the model.
        head: Factor of widths of a head of attention.
        n_positions: Number of positions of the published model; None if it has no limit.
    """

    width: float
    head: float
    n_positions: int | None


def shrink(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration with smaller sizes: widths in proportion, heads in groups, a layer of each kind."""
    n_heads = get_number(config, _HEADS)
    width = get_number(config, _WIDTHS)
    n_positions = get_number(config, _BOUNDS)
    small_counts: dict[int, int] = {}
    scale = Scale(1.0, 1.0, n_positions)
    if n_heads and width:
        head_width = get_number(config, _HEAD_WIDTHS) or width // n_heads
        head_scale = choose_head_width(config) / head_width
        n_groups = get_number(config, _GROUPS) or n_heads
        small_counts = reduce_heads(n_heads, n_groups)
        small_width = width / n_heads * small_counts[n_heads] * head_scale
        width_scale = max(16, round(small_width / 8) * 8) / width
        scale = Scale(width_scale, head_scale, n_positions)
    elif width:
        scale = Scale(32 / width, 1.0, n_positions)

    small = {name: shrink_value(name, value, scale) for name, value in config.items()}
    for name in (*_HEADS, *_GROUPS, "decoder_attention_heads", "pooler_num_attention_heads"):
        if config.get(name) in small_counts:
            small[name] = small_counts[config[name]]
    n_keys = config.get("linear_num_key_heads")
    n_values = config.get("linear_num_value_heads")
    if n_keys and n_values:
        small["linear_num_key_heads"] = 2
        small["linear_num_value_heads"] = 2 * n_values // n_keys
    return small | replace_tokens(config) | select_layers(config)


def choose_head_width(config: dict[str, Any]) -> int:
    """Return the width of a head: the part of it that turns with the position has an even number of dimensions."""
    share = 1.0
    for name in ("rotary_pct", "partial_rotary_factor"):
        share = config.get(name, share)
    for width in range(HEAD_WIDTH, 64):
        if (width * share) % 2 == 0:
            return width
    raise ValueError(f"Expected an even part of a head, but got a share of {share}.")


def get_number(config: dict[str, Any], names: tuple[str, ...]) -> int | None:
    """Return the value of the first of these names that has a number."""
    for name in names:
        if isinstance(config.get(name), int):
            return int(config[name])
    return None


def reduce_heads(n_heads: int, n_groups: int) -> dict[int, int]:
    """Return smaller numbers of heads and groups.

    A power of two stays one, as slopes of ALiBi depend on it. Odd groups stay odd.
    """
    if n_groups == n_heads:
        is_power_of_two = n_heads & (n_heads - 1) == 0
        return {n_heads: 4 if is_power_of_two else 3}
    n_small_groups = min(n_groups, 2)
    group_size = 2 + n_heads // n_groups % 2
    return {n_groups: n_small_groups, n_heads: n_small_groups * group_size}


def shrink_value(name: str, value: Any, scale: Scale) -> Any:
    """Return the smaller value of a setting."""
    if isinstance(value, dict):
        if name in _PARTS:
            return shrink(value)
        if name.startswith("rope_"):
            return {key: shrink_value(key, entry, scale) for key, entry in value.items()}
        return value
    if name == "mrope_section":
        return [max(1, round(sum(value) * scale.head)), 0, 0]
    if name == "attention_window":
        return [_ATTENTION_WINDOW] * len(value)
    is_size = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if not is_size or re.fullmatch(_FIXED_NAMES, name):
        return value
    return shrink_size(name, value, scale)


def shrink_size(name: str, value: int, scale: Scale) -> Any:
    """Return the smaller value of a size, by the first kind of name that matches."""
    for pattern, length in _WINDOWS.items():
        if re.fullmatch(pattern, name):
            is_window = scale.n_positions is None or value < scale.n_positions
            return length if is_window else _MAX_TOKENS
    if name in _BOUNDS:
        # The positions of RoBERTa begin after the padding id.
        has_offset = value % _MAX_TOKENS == 2
        return _MAX_TOKENS + 2 * has_offset
    if re.fullmatch(_HEAD_WIDTH_NAMES, name):
        return max(4, round(value * scale.head / 2) * 2)
    if re.fullmatch(_WIDTH_NAMES, name):
        return max(8, round(value * scale.width / 8) * 8)
    for pattern, rule in RULES:
        if re.fullmatch(pattern, name):
            return rule(value) if callable(rule) else min(rule, value)
    return value


def replace_tokens(config: dict[str, Any]) -> dict[str, Any]:
    """Return the ids of special tokens.

    Tokens that share an id still share it, and absent ones stay absent.
    """
    new_ids: dict[int, int] = {}
    replaced: dict[str, Any] = {}
    for token, name in sort_tokens(config):
        ids = config[name] if isinstance(config[name], list) else [config[name]]
        if not all(type(value) is int and value >= 0 for value in ids):
            continue
        for value in ids:
            if value not in new_ids:
                index = hash_name(f"{token}{len(new_ids)}") % len(RESERVED)
                new_ids[value] = SPECIAL_TOKENS.get(token, RESERVED[index])
        distinct = list(dict.fromkeys(new_ids[value] for value in ids))
        replaced[name] = distinct if isinstance(config[name], list) else distinct[0]
    return replaced


def sort_tokens(config: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the token and the name of each setting of a special token, the usual tokens first."""
    order = ("eos", "pad", "bos", "decoder_start", "cls", "sep", "mask", "unk")
    tokens = []
    for name in config:
        match = _TOKEN.fullmatch(name)
        if match:
            tokens.append((match[1], name))
    return sorted(tokens, key=lambda pair: order.index(pair[0]) if pair[0] in order else len(order))


def select_layers(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a layer of each kind if the configuration lists them, else of two layers."""
    n_layers = get_number(config, _LAYERS)
    if not n_layers:
        return {}
    lists = {}
    for name, value in config.items():
        is_list = isinstance(value, list) or name.endswith("pattern")
        if is_list and value and len(value) == n_layers > 2:
            lists[name] = value

    if lists:
        layers = find_kinds(lists, n_layers)
    else:
        layers = list(range(count_layers(config)))
    if len(layers) == 1:
        layers *= 2

    small: dict[str, Any] = {}
    for name, values in lists.items():
        selected = [values[layer] for layer in layers]
        small[name] = "".join(selected) if isinstance(values, str) else selected
    for name in (*_LAYERS, "decoder_layers", "num_decoder_layers"):
        if name in config:
            small[name] = len(layers)
    return small


def count_layers(config: dict[str, Any]) -> int:
    """Return how many layers contain one of each kind, if the kinds follow from what the file lacks."""
    with contextlib.suppress(Exception):
        config_class = transformers.CONFIG_MAPPING[config["model_type"]]
        kinds = config_class.from_dict(copy.deepcopy(config)).layer_types
        return max(2, 1 + max(map(kinds.index, kinds)))
    return 2
