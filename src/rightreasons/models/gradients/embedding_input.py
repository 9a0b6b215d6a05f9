"""Embeddings as the input of a model: given embeddings take the place of those that it looks up.

Masks and everything else still come from the token ids, and so do position and type embeddings where words are given.
An encoder-decoder that classifies (BART, T5, mBART) reads its text twice: the decoder sees the tokens shifted by one
place, and receives the same embeddings, shifted by one place too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from rightreasons.foundations.choices import LAYERS
from rightreasons.foundations.validation import check_one_of


class EmbeddingInput:
    """Feeds word embeddings to a model in place of its own.

    A model may look its words up in a layout of its own: as (length, rows), as XLNet does, or padded to a multiple of a
    window, as Longformer does. An encoder-decoder looks the text up twice; how it shifts the text for its decoder is
    seen in what it looks up.

    Args:
        model: An encoder, a decoder, or an encoder-decoder that shifts its own text, with any head.
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
        self._words = layer == "word_embeddings"
        self._decoder: nn.Module | None = None
        self._tables: list[nn.Module]
        if getattr(model.config, "is_encoder_decoder", False):
            encoder, decoder = _coder_tables(model)
            self._decoder = model.base_model.decoder
            self._tables = [encoder] if encoder is decoder else [encoder, decoder]
        else:
            self._tables = [_table(model) if self._words else _module(model)]
        self._first = self._tables[0]

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
        if self._words or self._decoder is not None:
            return self.look_up(ids)
        outputs: list[Tensor] = []
        hook = self._first.register_forward_hook(lambda module, inputs, output: outputs.append(output))
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return outputs[0][:, : ids.shape[-1]].reshape(*ids.shape, -1)

    @contextmanager
    def feed(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Iterator[None]:
        """Feed embeddings to every forward pass inside the block.

        Args:
            embeddings: (..., L, d), one per place of the padded ids.
            inputs: What the model is called with.
        """
        given, ids = embeddings.flatten(0, -3), inputs["input_ids"].flatten(0, -2)
        transposed = self._words and len(ids) == ids.shape[1] > 1 and self._looks_up_transposed(inputs)

        # Asked before anything is replaced.
        last_first = self._decoder is not None and self._words and self._begins_with_last

        def replace(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor | None:
            if reading:
                return self._shifted(given, inputs, arguments[0], output, last_first) if self._words else None
            if transposed or output.shape[:2] != given.shape[:2] == output.shape[1::-1]:
                return given.transpose(0, 1).clone()
            # What a model pads by itself stays. Copies, as CTRL scales its embeddings in place.
            return torch.cat((given, output[:, given.shape[1] :]), 1)

        reading: list[bool] = []  # not empty while the decoder runs
        hooks = [table.register_forward_hook(replace) for table in self._tables]
        if self._decoder is not None:
            hooks.append(self._decoder.register_forward_pre_hook(lambda *_: reading.append(True)))
            hooks.append(self._decoder.register_forward_hook(lambda *_: reading.clear(), always_call=True))
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def logits(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        """Run the model on embeddings, (b, L, d) or (b, C, L, d), in place of those of its inputs; (b, K).

        Raises:
            ValueError: If the embeddings require gradients and the model passes none on, or an encoder-decoder feeds
                its decoder in an unknown way.
        """
        # A multiple-choice model joins items and choices into one dimension before it looks anything up.
        with self.feed(embeddings, inputs):
            logits: Tensor = self._model(**inputs).logits
        if torch.is_grad_enabled() and embeddings.requires_grad and not logits.requires_grad:
            raise ValueError(
                "Expected gradients to flow from the logits to the word embeddings, but "
                f"{type(self._model).__name__} passes none on: a quantized or exported model has none. Load it in "
                "float32 or bfloat16."
            )
        return logits

    def _looks_up_transposed(self, inputs: dict[str, Tensor]) -> bool:
        """Ask a model with one row whether it looks words up as (length, rows): of a square nobody can tell."""
        one = {
            name: value[(slice(1),) * (value.dim() - 1)] if isinstance(value, Tensor) else value
            for name, value in inputs.items()
        }
        return self._looked_up(self._first, one)[0].shape[0] > 1

    @cached_property
    def _begins_with_last(self) -> bool:
        """Whether the decoder begins with the last token of the text (mBART) or with one of its own (BART, T5)."""
        config = self._model.config
        special = {config.pad_token_id, config.eos_token_id, config.bos_token_id, config.decoder_start_token_id}
        first, second = [token for token in range(6) if token not in special][:2]
        ids = torch.tensor([[first, config.eos_token_id, last] for last in (first, second)], device=self._model.device)
        begin = self._looked_up(self._tables[-1], {"input_ids": ids, "attention_mask": torch.ones_like(ids)})[-1][:, 0]
        return begin.tolist() == [first, second]

    @torch.no_grad()
    def _looked_up(self, table: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
        """Return what a table is asked for in a pass."""
        asked: list[Tensor] = []
        hook = table.register_forward_pre_hook(lambda module, arguments: asked.append(arguments[0]))
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return asked

    def _shifted(
        self, given: Tensor, inputs: dict[str, Tensor], ids: Tensor, output: Tensor, last_first: bool
    ) -> Tensor:
        """Return the embeddings as the decoder reads the text: shifted by one place."""
        text = inputs["input_ids"]
        if ids.shape != text.shape or not torch.equal(ids[:, 1:], text[:, :-1]):
            raise ValueError(
                "Expected an encoder, a decoder, or an encoder-decoder whose decoder reads the text shifted by one "
                f"place, but {type(self._model).__name__} feeds its decoder in an unknown way."
            )
        begin = output[:, :1].detach()
        if last_first:
            places = torch.arange(text.shape[1], device=text.device)
            last = (inputs["attention_mask"] * places).argmax(dim=1)
            begin = given[torch.arange(len(given), device=text.device), last].unsqueeze(1)
        return torch.cat((begin, given[:, :-1]), dim=1)


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


def _coder_tables(model: Any) -> tuple[nn.Module, nn.Module]:
    parts = [getattr(model.base_model, coder, None) for coder in ("encoder", "decoder")]
    encoder, decoder = (getattr(part, "embed_tokens", None) for part in parts)
    if not isinstance(encoder, nn.Embedding) or not isinstance(decoder, nn.Embedding):
        raise ValueError(
            "Expected an encoder-decoder whose two parts look words up in a table, but "
            f"{type(model).__name__} has none."
        )
    if not torch.equal(encoder.weight, decoder.weight):
        raise ValueError(
            f"Expected one table of word embeddings for encoder and decoder, but {type(model).__name__} has two."
        )
    return encoder, decoder


def _check_differentiable(model: Any) -> None:
    """Refuse torch's quantized layers: residual connections would lead gradients around them, to wrong values."""
    for name, module in model.named_modules():
        if ".quantized" in type(module).__module__ and type(module).__module__.startswith("torch."):
            raise ValueError(
                f"Expected a model that gradients can pass through, but {type(model).__name__} has the quantized layer "
                f"{name} ({type(module).__name__}): load it in float32 or bfloat16."
            )
