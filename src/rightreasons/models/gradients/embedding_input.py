"""Embeddings as the input of a model: given embeddings take the place of those that it looks up.

Masks and everything else still come from the token ids, and so do position and type embeddings where words are given.
An encoder-decoder that classifies (BART) reads its text twice: the decoder sees the tokens shifted by one place, and
receives the same embeddings, shifted by one place too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rightreasons.foundations.choices import LAYERS
from rightreasons.foundations.validation import check_one_of


class EmbeddingInput:
    """Feeds word embeddings to a model in place of its own.

    Args:
        model: An encoder, or an encoder-decoder that shifts its own text, with any head.
        layer: "word_embeddings" (default), or "embeddings": the output of the module of embeddings, with positions and
            types, after its normalization, takes the place of the word embeddings. An encoder-decoder has no such
            module: its encoder receives word embeddings then, while its decoder reads the text as it is.

    Raises:
        ValueError: If the model has no table of word embeddings, or no module of embeddings where one is asked for, or
            has quantized layers, which gradients do not pass.
    """

    def __init__(self, model: Any, *, layer: str = "word_embeddings") -> None:
        check_one_of(layer, LAYERS, "layer")
        self._model = model
        _check_differentiable(model)
        two_readers = getattr(model.config, "is_encoder_decoder", False)
        words = layer == "word_embeddings"
        self._alone = words or two_readers
        self._first: nn.Module
        if two_readers:
            self._first = _coder_table(model, "encoder")
        else:
            self._first = _table(model) if words else _module(model)
        self._second: nn.Module | None = _coder_table(model, "decoder") if two_readers and words else None

    @property
    def n_words(self) -> int:
        """The number of rows of the table of word embeddings."""
        return _table(self._model).num_embeddings

    def look_up(self, input_ids: Tensor) -> Tensor:
        """Return the model's own word embeddings of some ids, (..., L) to (..., L, d), without gradients."""
        with torch.no_grad():
            embeddings: Tensor = self._first(input_ids)
        return embeddings

    @torch.no_grad()
    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the model's own embeddings of its inputs, (..., L) to (..., L, d), without gradients."""
        ids = inputs["input_ids"]
        if self._alone:
            return self.look_up(ids)
        outputs: list[Tensor] = []
        hook = self._first.register_forward_hook(lambda module, inputs, output: outputs.append(output))
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return outputs[0].view(*ids.shape, -1)

    @contextmanager
    def feed(self, embeddings: Tensor) -> Iterator[None]:
        """Feed embeddings to every forward pass inside the block.

        Args:
            embeddings: (rows, L, d), one row per sequence of the pass, as long as the padded ids.
        """

        def at_encoder(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            return embeddings

        def at_decoder(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            # The decoder begins with a token of its own and then reads the text, without its last place.
            return torch.cat((output[:, :1].detach(), embeddings[:, :-1]), dim=1)

        hooks = [self._first.register_forward_hook(at_encoder)]
        if self._second is not None:
            hooks.append(self._second.register_forward_hook(at_decoder))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def logits(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        """Run the model on embeddings, (b, L, d) or (b, C, L, d), in place of those of its inputs; (b, K).

        Raises:
            ValueError: If the embeddings require gradients and the model passes none on.
        """
        # A multiple-choice model joins items and choices into one dimension before it looks anything up.
        with self.feed(embeddings.flatten(0, -3)):
            logits: Tensor = self._model(**inputs).logits
        if torch.is_grad_enabled() and embeddings.requires_grad and not logits.requires_grad:
            raise ValueError(
                "Expected gradients to flow from the logits to the word embeddings, but "
                f"{type(self._model).__name__} passes none on: a quantized or exported model has none. Load it in "
                "float32 or bfloat16."
            )
        return logits


def _table(model: Any) -> nn.Embedding:
    try:
        table = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        table = None
    if not isinstance(table, nn.Embedding):
        raise ValueError(
            f"Expected a model with a table of word embeddings, but {type(model).__name__} has none: "
            "gradients with respect to input embeddings are not defined for it. Let its get_input_embeddings() return "
            "the torch.nn.Embedding that looks up the tokens; `inputs_embeds` is not needed."
        )
    return table


def _module(model: Any) -> nn.Module:
    module = getattr(getattr(model, "base_model", None), "embeddings", None)
    if not isinstance(module, nn.Module) or isinstance(module, nn.Embedding):
        raise ValueError(
            f"Expected a model with a module of embeddings for layer='embeddings', but {type(model).__name__} has "
            "none: use layer='word_embeddings'."
        )
    return module


def _coder_table(model: Any, coder: str) -> nn.Module:
    part = getattr(model.base_model, coder, None)
    table = getattr(part, "embed_tokens", None)
    shift_known = model.config.model_type in ("bart", "mvp")
    if not isinstance(table, nn.Embedding) or not shift_known:
        raise ValueError(
            f"Expected an encoder, or a BART-like encoder-decoder, but {type(model).__name__} feeds its decoder in an "
            "unknown way."
        )
    return table


def _check_differentiable(model: Any) -> None:
    """Refuse torch's quantized layers: residual connections would lead gradients around them, to wrong values."""
    for name, module in model.named_modules():
        if ".quantized" in type(module).__module__ and type(module).__module__.startswith("torch."):
            raise ValueError(
                f"Expected a model that gradients can pass through, but {type(model).__name__} has the quantized layer "
                f"{name} ({type(module).__name__}): load it in float32 or bfloat16."
            )
