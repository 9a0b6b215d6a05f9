"""Digests of models, tokenizers and texts, so that results are not used for another model.

`fingerprint_model` reads every weight, in whatever form the model holds it: as a plain tensor, as
a subclass that packs several (torchao), or as the tuples of torch's own quantized layers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import xxhash

from rightreasons.core.store import digest_value

if TYPE_CHECKING:
    import torch

PROVENANCE = ("_name_or_path", "transformers_version")
"""Entries of a configuration about the origin of a model, which do not change its results."""

_TOKENIZER_PROVENANCE = (
    "name_or_path",
    "tokenizer_file",
    "vocab_file",
    "merges_file",
    "special_tokens_map_file",
    "vocab",
)
# Settings of the last call of a fast tokenizer, which it stores among its rules.
_SETTINGS_OF_LAST_CALL = ("truncation", "padding")
_PAGE_SIZE = 64 << 20


def fingerprint_model(model: torch.nn.Module, tokenizer: Any = None) -> str:
    """Digest a model: its class, its configuration, every weight, and perhaps its tokenizer.

    All weights are read at each call, because any of them may have changed. An audit calls the
    function a dozen times. The digest is therefore xxHash, which reads ten gigabytes per second. It
    distinguishes models, but does not protect against forgery.

    Args:
        model: Any module, quantized or not, perhaps with a configuration of transformers.
        tokenizer: Its tokenizer. If None, the digest is of the model only.

    Returns:
        32 hexadecimal digits. They are equal on every device, and change if one bit of a weight
        changes.
    """
    digest = _WeightDigest()
    digest.add_text(type(model).__name__)
    config: Any = getattr(model, "config", None)
    if hasattr(config, "to_dict"):
        settings = {key: value for key, value in config.to_dict().items() if key not in PROVENANCE}
        digest.add_text(json.dumps(settings, sort_keys=True, default=str))
    for name, layer in model.named_modules():
        # The output of a layer of peft depends on which adapters are active, and how strongly. That
        # is neither in the weights nor in the configuration.
        if hasattr(layer, "_disable_adapters"):
            state = [name, type(layer).__name__, layer.active_adapters, layer._disable_adapters]
            state.append(getattr(layer, "scaling", None))
            digest.add_text(json.dumps(state, default=str))
    for name, entry in model.state_dict().items():
        digest.add_entry(name, entry)
    if tokenizer is not None:
        digest.add_text(fingerprint_tokenizer(tokenizer))
    return digest.finish()


class _WeightDigest:
    """The digest of one model, to which its weights are added one by one."""

    def __init__(self) -> None:
        self._digest = xxhash.xxh3_128()
        # A GPU copies at full speed only to memory that is never swapped out.
        self._pinned_page: torch.Tensor | None = None

    def add_text(self, text: str) -> None:
        self._digest.update(text.encode())

    def add_entry(self, name: str, entry: Any) -> None:
        """Add an entry of a state dict to the digest.

        Args:
            name: Name of the entry.
            entry: A plain tensor; a tensor of torchao, which packs several plain ones; a tuple of
                tensors, such as (weight, bias) of a quantized layer of torch; or a setting.
        """
        import torch
        from torch.utils import _python_dispatch

        # As Any, because type checkers would take its type guard for a contradiction.
        is_packed: Any = _python_dispatch.is_traceable_wrapper_subclass
        if isinstance(entry, (tuple, list)):
            self.add_text(f"{name}|{len(entry)}|")
            for position, member in enumerate(entry):
                self.add_entry(f"{name}.{position}", member)
        elif not isinstance(entry, torch.Tensor):
            self.add_text(f"{name}|{entry!r}|")
        elif is_packed(entry):
            packed: Any = entry
            # Names of the attributes with the plain tensors, and the settings of the packed one.
            members, settings = packed.__tensor_flatten__()
            self.add_text(f"{name}|{type(entry).__name__}|{settings}|")
            for member in members:
                self.add_entry(f"{name}.{member}", getattr(entry, member))
        else:
            self._add_tensor(name, entry.detach())

    def _add_tensor(self, name: str, tensor: torch.Tensor) -> None:
        """Add a plain tensor to the digest: its name, type, shape and bytes.

        Args:
            name: Name of the weight in the model.
            tensor: The weight, on any device.
        """
        import torch

        self.add_text(f"{name}|{tensor.dtype}|{tuple(tensor.shape)}|")
        if tensor.is_quantized:
            # The numbers that a quantized tensor represents depend on its integers and its scales.
            tensor = tensor.dequantize()
        raw = tensor.contiguous().reshape(-1).view(torch.uint8)
        if not tensor.is_cuda:
            # The digest reads the memory of the tensor, without a copy.
            self._digest.update(raw.cpu().numpy().data)
            return
        # Page by page, so that the weights of a GPU need little memory of the CPU.
        if self._pinned_page is None:
            self._pinned_page = torch.empty(_PAGE_SIZE, dtype=torch.uint8, pin_memory=True)
        for page in torch.split(raw, _PAGE_SIZE):
            copy = self._pinned_page[: len(page)].copy_(page)
            self._digest.update(copy.numpy().data)

    def finish(self) -> str:
        """Return the digest in hexadecimal digits."""
        return str(self._digest.hexdigest())


def fingerprint_tokenizer(tokenizer: Any) -> str:
    """Digest a tokenizer: its class, its vocabulary, its rules and its settings.

    Args:
        tokenizer: A tokenizer of transformers.

    Returns:
        32 hexadecimal digits, which do not depend on the folder of the tokenizer.
    """
    settings = {}
    for key, value in tokenizer.init_kwargs.items():
        if key not in _TOKENIZER_PROVENANCE:
            settings[key] = value
    # A fast tokenizer gives its rules with its vocabulary as JSON. Of a slow one, only the
    # vocabulary can be read.
    rules: Any = getattr(tokenizer, "backend_tokenizer", None)
    content: Any
    if hasattr(rules, "to_str"):
        content = json.loads(rules.to_str())
        for key in _SETTINGS_OF_LAST_CALL:
            content.pop(key, None)
    else:
        content = sorted(tokenizer.get_vocab().items())
    max_length = int(tokenizer.model_max_length)
    parts = [type(tokenizer).__name__, settings, content, max_length]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def fingerprint_texts(texts: Iterable[str]) -> str:
    """Digest a sequence of texts, including where each of them ends."""
    return digest_value(list(texts))
