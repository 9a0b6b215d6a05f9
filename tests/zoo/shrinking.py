"""Configurations of any family at a tiny size: a rule per attribute, and a short table of families that need more."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import transformers

from zoo.words import RESERVED, VOCABULARY

MAX_LAYERS = 4
MAX_KINDS = 8
"""A list with more different entries does not list kinds of layers."""

# The first rule whose pattern matches the whole name of an attribute decides; a rule may read the default value.
RULES: tuple[tuple[str, Any], ...] = (
    # vocabulary
    (r"vocab_size|unpadded_vocab_size|vocab_size_per_layer_input", lambda value: VOCABULARY),
    (r"entity_vocab_size|shape_vocab_size|pronunciation_vocab_size|audio_vocab_size|codebook_size", 32),
    (r"encoder_hash_byte_group_vocab|num_hash_buckets", 64),
    (r"(begin|first)_suppress_tokens|suppress_tokens", None),
    # lengths
    (r"max_position_embeddings|n_positions|n_ctx|max_seq_len|context_length", 64),
    (r"original_max_position_embeddings|max_target_positions|max_source_positions", 64),
    (r"max_2d_position_embeddings", 128),
    (r"(max_relative_positions|clamp_len|mem_len)", lambda value: value),
    (r"relative_max_distance|relative_attention_max_distance|position_bias_max_distance|rel_extent", 16),
    (r"relative_attention_num_buckets|num_buckets|position_bias_num_buckets", 8),
    (r"sliding_window(_size)?|window_size|local_attention|attention_window(_size)?|local_attention_window_len", 8),
    (r"(attention_|mamba_)?chunk_size|attention_chunk_size|keep_window_size|max_inference_chunksize", 8),
    (r"block_size|index_block_size|segment_means_seq_len|num_landmarks|local_transformer_stride", 8),
    (r"l(ocal|sh)_attn_chunk_length", 8),
    (r"index_topk_blocks|hash_code_len|num_hash|num_random_blocks", lambda value: min(value, 2)),
    (r"index_topk", 8),
    # layers
    (r"num_(hidden_|encoder_|decoder_)?layers|n_layers?|(en|de)coder_layers|depth", 2),
    (r"(swin_)?num_global_layers|conf_num_hidden_layers|num_nextn_predict_layers|num_mtp_layers", 1),
    (r"num_kv_shared_layers|first_k_dense_replace|num_dense_layers|max_window_layers", lambda value: min(value, 1)),
    (r".*(_pattern|_period|_interval|_every_n_layers|layer_group_size|interleave_moe_layer_step)",
     lambda value: min(value, 2)),
    (r"attn_layer_offset|expert_layer_offset", 1),
    (r"(H|L)_cycles|num_self_attends_per_block|num_blocks|n_layers_per_attn_res_block", lambda value: min(value, 2)),
    # widths
    (r"hidden_size|d_model|dim|emb_dim|n_embd|embed_dim|backbone_hidden_size|out_hidden_size|hidden_size_global", 32),
    (r"adapter_(in|out)_dim|projector_(in|out)put_dim|pooler_hidden_size|d_latents|embed_dim|lru_width", 32),
    (r"embedding_size|input_embedding_size|output_embedding_size|entity_emb_size|shape_embed_dim", 32),
    (r"pronunciation_embed_dim|prediction_head_size|mm_embed_dim|output_proj_dims|router_hidden_size", 32),
    (r"hidden_size_per_layer_input|intra_bottleneck_size|adapter_rank|laurel_rank|xpath_unit_hidden_size", 8),
    (r".*_lora_rank|hc_lowrank|gated_norm_rank|d_rel", 8),
    (r".*intermediate_size(_mlp)?|.*ffn_dim|d_ff|dim_ff|dff|d_inner|hidden_dim|.*ffn_hidden_size", 48),
    (r"mlp_dim|inner_dim|feed_forward_size|prompt_mid_dim", 48),
    (r"mamba_d_ssm", 64),
    # heads
    (r"kv_n_heads|(swa_)?num_(global_)?key_value_heads", lambda value: min(value, 2)),
    (r".*num_(self_|cross_)?attention_heads|n_heads?|num_heads|(en|de)coder_attention_heads|attention_heads", 4),
    (r"linear_num_(key_|value_)?heads|mamba_n(um)?_heads|n_mamba_heads|index_n_heads", 4),
    (r"qk_(nope|rope)_head_dim", 4),
    (r"mamba_d_head", 16),
    (r".*head_dim|d_kv|d_head|dim_head|kv_channels|attention_head_size", 8),
    (r"(mamba_)?n_?groups|n_group|topk_group|o_groups|mamba_ngroups", 1),
    (r"rotary_dim", 4),
    (r"query_pre_attn_scalar|dim_model_base", 8),
    (r"mamba_d_state|state_size|ssm_state_size", 8),
    # experts
    (r"num_(local_)?experts|n_routed_experts|moe_num_experts|zero_expert_num", 4),
    (r"num_experts_per_tok|experts_per_token|top_k_experts|moe_topk|moe_top_k|moe_k", lambda value: min(value, 2)),
    # pictures and sound: never given
    (r"image_size|crop_size|input_size", 28),
    (r"patch_size", 14),
    (r"num_position_embeddings|position_embedding_size|mm_posemb_size|base_channels|num_centroids", 16),
    (r"output_channels|latent_channels|nemo_conv_channels|.*_out_channel|downsample_hidden_size", 32),
    (r"num_latents|prompt_length", 4),
)  # fmt: skip
DEFAULTS = {"vocab_size": VOCABULARY, "head_dim": 8, "num_key_value_heads": 4}
"""Values of attributes that have no default and are not derived from others."""

SPECIAL_TOKENS = {
    "bos": 0,
    "cls": 0,
    "pad": 1,
    "eos": 2,
    "sep": 2,
    "mask": 4,
    "unk": 3,
    "decoder_start": 2,
}
_TOKEN = re.compile(r"(.+?)_(token_id|token_index|index)")


def make_tiny_config(
    family: str, *, overrides: dict[str, Any] | None = None, **options: Any
) -> Any:
    """Return the configuration of a family at a tiny size.

    Args:
        family: A key of transformers' mappings.
        overrides: Settings that the family needs beyond the rules; "sub.name" sets an attribute of
            a part.
        options: Attributes of the whole configuration, such as `num_labels`.
    """
    return make_part(transformers.CONFIG_MAPPING[family], overrides or {}, options)


def make_part(config_class: Any, overrides: dict[str, Any], options: dict[str, Any]) -> Any:
    """Return the tiny configuration of a whole model, or of a part such as its text model."""
    default = config_class()
    defaults = {field.name: get_default(field) for field in dataclasses.fields(config_class)}

    small = {}
    for name, value in defaults.items():
        small_value = shrink_value(name, value)
        if small_value is not _UNCHANGED:
            small[name] = small_value
    n_heads = defaults.get("num_attention_heads")
    n_groups = defaults.get("num_key_value_heads")
    if isinstance(n_groups, int) and isinstance(n_heads, int):
        is_ungrouped = n_groups == n_heads
        small["num_key_value_heads"] = (
            small["num_attention_heads"] if is_ungrouped else min(n_groups, 2)
        )
    for name, value in DEFAULTS.items():
        if name in defaults and defaults[name] is None and get_value(default, name) is None:
            small[name] = value
    small |= select_layers(defaults, default)
    small |= make_sub_configs(config_class, default, overrides)
    small |= {key: value for key, value in overrides.items() if "." not in key}

    known_options = {
        name: value for name, value in options.items() if name in defaults or name == "num_labels"
    }
    return config_class(**{**list_tokens(default), **small, **known_options})


def make_sub_configs(config_class: Any, default: Any, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return the tiny configurations of the parts of a model, by name."""
    sub_configs = {}
    for name in getattr(config_class, "sub_configs", None) or {}:
        part = getattr(default, name, None)
        if not isinstance(part, transformers.PreTrainedConfig):
            continue
        part_overrides = {}
        for key, value in overrides.items():
            if key.startswith(f"{name}."):
                part_overrides[key.split(".", 1)[1]] = value
        sub_configs[name] = make_part(type(part), part_overrides, {})
    return sub_configs


def list_tokens(default: Any) -> dict[str, int]:
    """Return the special tokens that a family has."""
    # What real configurations of a family lack stays absent, such as the start token of T5.
    names = [name for name in ("bos", "pad", "eos") if hasattr(default, f"{name}_token_id")]
    if getattr(default, "is_encoder_decoder", False):
        names.append("decoder_start")
    return {f"{name}_token_id": SPECIAL_TOKENS[name] for name in names}


_UNCHANGED = object()


def get_default(field: Any) -> Any:
    """Return the default that a configuration class declares for an attribute."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None


def get_value(config: Any, name: str) -> Any:
    """Return an attribute of a configuration; None if it differs between layers."""
    try:
        return getattr(config, name)
    except (AttributeError, RuntimeError):
        return None


def shrink_value(name: str, value: Any) -> Any:
    """Return the smaller value of an attribute, or `_UNCHANGED`."""
    token = _TOKEN.fullmatch(name)
    if token and token[1] in SPECIAL_TOKENS:
        return SPECIAL_TOKENS[token[1]]
    if isinstance(value, bool) or not isinstance(value, int):
        return _UNCHANGED
    if token and value >= 0:
        return RESERVED[hash_name(token[1]) % len(RESERVED)]
    for pattern, rule in RULES:
        if not re.fullmatch(pattern, name):
            continue
        if callable(rule):
            return rule(value)
        return min(rule, value) if value > 0 else value
    return _UNCHANGED


def hash_name(name: str) -> int:
    """Return a number for a name, the same in every process."""
    return sum(ord(letter) * (index + 1) for index, letter in enumerate(name))


def select_layers(defaults: dict[str, Any], default: Any) -> dict[str, Any]:
    """Return the settings of a layer of each kind; {} if the configuration does not list the kinds.

    Args:
        defaults: The defaults of the configuration class.
        default: Its default configuration, which derives further values.
    """
    n_layers = get_value(default, "num_hidden_layers") or 0
    lists = {}
    for name in defaults:
        value = get_value(default, name)
        if not isinstance(value, list) or not len(value) == n_layers > 0:
            continue
        if len(set(map(str, value))) <= MAX_KINDS:
            lists[name] = value
    if not lists:
        return {}

    layers = find_kinds(lists, n_layers)
    if len(layers) == 1:
        layers *= 2
    small: dict[str, Any] = {}
    for name, values in lists.items():
        small[name] = [values[layer] for layer in layers]
    for name in ("num_hidden_layers", "n_layer", "n_layers", "num_layers"):
        if name in defaults:
            small[name] = len(layers)
    return small


def find_kinds(lists: dict[str, Any], n_layers: int) -> list[int]:
    """Return the first layer of each kind, at most `MAX_LAYERS`.

    Args:
        lists: Setting -> its value in each layer.
        n_layers: Number of layers.
    """
    layer_by_kind: dict[tuple[str, ...], int] = {}
    for layer in range(n_layers):
        kind = tuple(str(values[layer]) for values in lists.values())
        layer_by_kind.setdefault(kind, layer)
    return sorted(layer_by_kind.values())[:MAX_LAYERS]
