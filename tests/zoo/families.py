"""What families need beyond the rules of shrinking, and what is known of them: data alone."""

from __future__ import annotations

from typing import Any

_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
_INDEXER = {
    "indexer_n_heads": 2,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 8,
    "indexer_budget": 8,
    "indexer_compress_ratio": 2,
}
_SWA = {
    "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 4,
    "swa_q_lora_rank": 8,
    "swa_kv_lora_rank": 8,
    "swa_head_dim": 8,
    "swa_qk_nope_head_dim": 4,
    "swa_v_head_dim": 8,
}

OVERRIDES: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1]},
    "cohere_compass_text": {
        "rope_parameters": {kind: dict(_ROPE) for kind in ("full_attention", "sliding_attention")}
    },
    "deepseek_v2": {"num_experts_per_tok": 2, "topk_method": "greedy"},
    "dbrx": {"attn_config.rope_theta": 10000.0, "attn_config.clip_qkv": 8.0},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "dots3_note_text": _SWA,
    "gemma3n_text": {"intermediate_size": 48},
    "gemma4": {"text_config.global_head_dim": 16},
    "gemma4_text": {"global_head_dim": 16},
    "gemma4_unified": {"text_config.global_head_dim": 16},
    "gemma4_unified_text": {"global_head_dim": 16},
    "granitemoehybrid": {
        "layer_types": ["linear_attention", "full_attention"],
        "num_hidden_layers": 2,
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "layoutlmv3": {"coordinate_size": 6, "shape_size": 4},
    "lfm2": {"full_attn_idxs": [1], "layer_types": None},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "lilt": {"hidden_size": 48},
    "longcat_flash": {"qk_head_dim": 8, "head_dim": 4},
    "mamba2": {"head_dim": 16},
    "mpnet": {"relative_attention_num_buckets": 32},
    "qwen4_exp": {f"text_config.{name}": value for name, value in _INDEXER.items()},
    "qwen4_exp_text": _INDEXER,
    "recurrent_gemma": {"num_hidden_layers": 3},
    "reformer": {
        "axial_pos_shape": (8, 8),
        "axial_pos_embds_dim": (16, 16),
        "attn_layers": ["local", "lsh"],
    },
    "xlstm": {"max_inference_chunksize": 16384},
    "xmod": {"default_language": "en_XX"},
    "zamba": {"num_hidden_layers": 6, "layers_block_type": None},
}
"""Attributes by family."""

_RELATIVE = {
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"],
    "position_buckets": 8,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "type_vocab_size": 0,
}

VARIATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "deberta-v2 (v3)": ("deberta-v2", _RELATIVE),
    "falcon (ALiBi)": ("falcon", {"alibi": True}),
    "mixtral (window)": ("mixtral", {"sliding_window": 8}),
    "phi3 (window)": ("phi3", {"sliding_window": 8}),
    "qwen2 (window)": (
        "qwen2",
        {"use_sliding_window": True, "max_window_layers": 1, "layer_types": None},
    ),
    "qwen3 (window)": (
        "qwen3",
        {"use_sliding_window": True, "max_window_layers": 1, "layer_types": None},
    ),
}
"""Families with settings that change what their layers do and are not the default: the family and the settings."""

TYPED = ("xlnet",)
"""Families whose tokenizers give type ids although the configuration does not count the types."""

MECHANISMS: dict[str, tuple[str, ...]] = {
    "classes": (
        "bert",  # absolute positions, type ids
        "roberta",  # positions from behind the padding id
        "deberta-v2",  # relative positions
        "modernbert",  # windows in an encoder
        "longformer",  # pads by itself to a multiple of its window
        "xlnet",  # (length, batch) inside
        "fnet",  # no mask
        "bart",  # two readers
        "t5",  # two readers with one table
        "gpt2",  # absolute positions, the last token decides
        "llama",  # rotary positions
        "gemma2",  # windows in a decoder
        "mpt",  # ALiBi
        "ctrl",  # scales its embeddings in place
        "qwen3_next",  # linear attention
        "canine",  # no table of words
    ),
    "choices": ("bert", "xlnet", "fnet"),
    "causal": (
        "gpt2",
        "llama",
        "qwen3_moe",  # experts
        "mistral",  # a window
        "gemma2",  # windows in some layers
        "gpt_oss",  # windows and sinks
        "llama4_text",  # chunks
        "gpt_neo",  # a window of its own
        "mpt",  # ALiBi
        "bloom",  # ALiBi from the mask
        "mamba",
        "mamba2",
        "xlstm",  # a cache that fails at some lengths
        "qwen3_next",
        "lfm2",  # convolutions
        "recurrent_gemma",
        "rwkv",
        "bart",  # a decoder without its encoder
    ),
    "encoder-decoder": (
        "t5",
        "bart",  # writes the start of a text first
        "prophetnet",  # what stands behind an answer changes it
        "switch_transformers",  # experts
    ),
    "masked": (
        "bert",
        "roberta",
        "flaubert",  # a head that is called as that of a causal model
        "fnet",  # no mask
        "reformer",  # draws at random in long texts
    ),
}
"""A family per mechanism: the part of the zoo that the tests run."""

HALF: dict[str, tuple[str, ...]] = {
    "classes": ("bert", "deberta-v2 (v3)", "modernbert", "gpt2", "llama", "gemma", "qwen3"),
    "causal": ("gpt2", "llama", "gemma", "gemma2", "qwen3"),
}
"""Families that are compared in bfloat16 too."""

REFUSED = {
    "classes-canine-attributions": "it has no table of word embeddings",
    "classes-canine-fisher": "it has no table of word embeddings",
    "masked-reformer-masked": "it answers the same question in two ways",
}
"""Calls that are refused rightly, and why."""

KNOWN: dict[str, str] = {}
"""Calls that are known to be wrong, and why: who mends one takes it from here."""
