"""A classifier of a given shape with random weights, for benchmarks without a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def save_small_encoder(folder: Path, max_length: int, **shape: Any) -> str:
    """Save a BERT with random weights and a tokenizer of a few words; the default shape is that of MiniLM, two layers.

    Args:
        folder: Where to.
        max_length: Positions.
        **shape: Entries of `BertConfig`.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(995))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=max_length)
    torch.manual_seed(0)
    usual = {
        "hidden_size": 384,
        "num_hidden_layers": 2,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    }
    config = BertConfig(
        vocab_size=len(words), max_position_embeddings=max_length, **{**usual, **shape}
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
