"""Fingerprints of models and inputs, which identify the run that a stored result belongs to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import torch
import xxhash

# Entries of a configuration about the origin of a model, which do not change what it computes.
_PROVENANCE = ("_name_or_path", "transformers_version")
_TOKENIZER_PROVENANCE = (
    "name_or_path",
    "tokenizer_file",
    "vocab_file",
    "merges_file",
    "special_tokens_map_file",
    "vocab",
)
_LAST_CALL = ("truncation", "padding")


def fingerprint_model(model: torch.nn.Module) -> str:
    """Digest a model's class, its configuration and every weight.

    An audit asks for it a dozen times, and every weight is read each time, as any of them may have been changed; so the
    digest is xxHash's, at ten gigabytes a second. It tells models apart, and is no proof against a forgery.

    Args:
        model: Any module; its configuration, if it has one, is that of transformers.

    Returns:
        32 hexadecimal digits; equal on every device, and different if one weight differs in one bit.
    """
    digest = xxhash.xxh3_128(type(model).__name__.encode())
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_dict"):
        settings = {key: value for key, value in config.to_dict().items() if key not in _PROVENANCE}
        digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    for name, tensor in model.state_dict().items():
        digest.update(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}|".encode())
        flat = tensor.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return str(digest.hexdigest())


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """Digest what a tokenizer does with a text: its class, its vocabulary, its rules and its settings.

    Args:
        tokenizer: A tokenizer of transformers.

    Returns:
        32 hexadecimal digits; equal wherever the tokenizer was saved.
    """
    digest = hashlib.blake2b(type(tokenizer).__name__.encode(), digest_size=16)
    settings = {key: value for key, value in tokenizer.init_kwargs.items() if key not in _TOKENIZER_PROVENANCE}
    rules: Any = getattr(tokenizer, "backend_tokenizer", None)
    content: Any = sorted(tokenizer.get_vocab().items())
    if hasattr(rules, "to_str"):
        # How the last call cut and padded its texts stands among the rules.
        content = {key: value for key, value in json.loads(rules.to_str()).items() if key not in _LAST_CALL}
    bound = int(tokenizer.model_max_length)
    digest.update(json.dumps([settings, content, bound], sort_keys=True, default=str).encode())
    return digest.hexdigest()


def fingerprint_texts(texts: Iterable[str]) -> str:
    """Digest a sequence of texts, including where each ends."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()
