"""Embeddings as the input of a model, for gradients with respect to them.

`EmbeddingInput` replaces the embeddings that a model looks up by given ones. Masks and everything
else still come from the token ids, and so do position and type embeddings if words are given. An
encoder-decoder that classifies (BART, T5, mBART) reads its text twice: the decoder sees the tokens
shifted by one position, and receives the given embeddings, shifted by one too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn

from rightreasons.core.choices import LAYERS
from rightreasons.core.validation import check_one_of
from rightreasons.models.batching import check_fast
from rightreasons.models.classes import Classifier
from rightreasons.models.protocol import Scorer, explain_missing_ability
from rightreasons.models.weights import explain_quantization

_SPECIAL_TOKENS = ("pad_token_id", "eos_token_id", "bos_token_id", "decoder_start_token_id")


class EmbeddingInput:
    """A model that is fed embeddings in place of those that it looks up by token ids.

    Hooks on its embedding tables replace their outputs. XLNet looks words up as (length, rows)
    instead of (rows, length), and Longformer pads the text to a multiple of its window; both are
    handled. An encoder-decoder looks the text up twice, the second time shifted for its decoder.

    Args:
        model: An encoder, a decoder, or an encoder-decoder that shifts its own text, with any head.
        layer: "word_embeddings" (default); or "embeddings" to replace the output of the module of
            embeddings, with positions and types, after its normalization. An encoder-decoder has no
            such module: then its encoder receives word embeddings, and its decoder reads the text
            unchanged.

    Raises:
        ValueError: If the model has no table of word embeddings, no module of embeddings with
            layer="embeddings", or quantized layers, which gradients cannot pass.
    """

    def __init__(self, model: Any, *, layer: str = "word_embeddings") -> None:
        """Find the modules whose outputs are replaced by given embeddings.

        Raises:
            ValueError: If the model has quantized layers, or no such module.
        """
        check_one_of(layer, LAYERS, "layer")
        # A model of torch.compile takes no embeddings in place of those that it looks up.
        self._model = getattr(model, "_orig_mod", model)
        reason = explain_quantization(self._model)
        if reason:
            raise ValueError(reason)
        self._feeds_words = layer == "word_embeddings"
        self._decoder: nn.Module | None = None
        self._tables = self._find_tables()
        self._first_table = self._tables[0]

    def _find_tables(self) -> list[nn.Module]:
        """Return the modules whose output is replaced.

        They are the embedding tables of encoder and decoder for an encoder-decoder, or one table if
        the two are the same; otherwise the table of word embeddings, or the module that adds
        positions and types to them.
        """
        model = self._model
        if getattr(model.config, "is_encoder_decoder", False):
            encoder_table, decoder_table = _find_coder_tables(model)
            self._decoder = model.base_model.decoder
            if encoder_table is decoder_table:
                return [encoder_table]
            return [encoder_table, decoder_table]
        if self._feeds_words:
            return [_find_table(model)]
        return [_find_embedding_module(model)]

    def look_up(self, input_ids: Tensor) -> Tensor:
        """Return the word embeddings of token ids, (..., L) to (..., L, d), without gradients."""
        with torch.no_grad():
            embeddings: Tensor = self._first_table(input_ids)
        # Gradient checkpointing and peft add hooks to the table that make its output require
        # gradients.
        return embeddings.detach()

    @torch.no_grad()
    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the embeddings that the model itself computes from inputs, without gradients.

        Args:
            inputs: The arguments of the model, with `input_ids` of shape (..., L).

        Returns:
            (..., L, d) word embeddings; or with layer="embeddings" the output of the module of
            embeddings.
        """
        input_ids = inputs["input_ids"]
        if self._feeds_words or self._decoder is not None:
            return self.look_up(input_ids)
        # A hook records the output of the module while the model runs.
        outputs: list[Tensor] = []

        def record(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            outputs.append(output)

        hook = self._first_table.register_forward_hook(record)
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        # Some models, such as Longformer, pad the text further. This padding is removed.
        n_tokens = input_ids.shape[-1]
        embeddings = outputs[0].detach()[:, :n_tokens]
        return embeddings.reshape(*input_ids.shape, -1)

    @contextmanager
    def feed(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Iterator[None]:
        """Replace the embeddings that the model looks up, in every forward pass inside the block.

        Args:
            embeddings: (..., L, d), one per position of the padded token ids.
            inputs: The arguments of the model, with `input_ids` of shape (..., L).
        """
        # A multiple-choice model joins items and choices into one dimension.
        rows = embeddings.flatten(0, -3)
        n_rows, n_tokens = rows.shape[:2]
        # XLNet looks words up as (L, n) instead of (n, L). The shape of its output shows that,
        # unless n equals L. In this case, the model is tried with a single row before anything is
        # replaced.
        is_square = n_rows == n_tokens > 1
        is_transposed_square = is_square and self._feeds_words and self._looks_up_transposed(inputs)
        shifts_last_token = (
            self._decoder is not None and self._feeds_words and self._begins_with_last
        )
        # Not empty while the decoder runs. It may use the same table as the encoder.
        decoder_runs: list[bool] = []

        def replace(
            _module: nn.Module, arguments: tuple[Any, ...], output: Tensor
        ) -> Tensor | None:
            if decoder_runs:
                if not self._feeds_words:
                    # A hook that returns None leaves the output unchanged.
                    return None
                return self._shift(rows, inputs, arguments[0], output, shifts_last_token)
            is_transposed = is_transposed_square
            if n_rows != n_tokens:
                is_transposed = output.shape[:2] == (n_tokens, n_rows)
            # Both results are copies, because CTRL scales its embeddings in place.
            if is_transposed:
                return rows.transpose(0, 1).clone()
            # Positions that the model itself adds as padding, as Longformer does, stay unchanged.
            return torch.cat((rows, output[:, n_tokens:]), 1)

        hooks = [table.register_forward_hook(replace) for table in self._tables]
        if self._decoder is not None:
            hooks += _track_runs(self._decoder, decoder_runs)
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def logits(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        """Run the model on given embeddings, and return its logits.

        Args:
            embeddings: (b, L, d), or (b, C, L, d) for a multiple-choice model.
            inputs: The arguments of the model, with `input_ids` of shape (b, L) or (b, C, L).

        Returns:
            The logits of the model, such as (b, K).

        Raises:
            ValueError: If the embeddings require gradients and the logits do not, or the decoder of
                an encoder-decoder does not read the text shifted by one token.
        """
        with self.feed(embeddings, inputs):
            logits: Tensor = self._model(**inputs).logits
        if torch.is_grad_enabled() and embeddings.requires_grad and not logits.requires_grad:
            raise ValueError(
                "Expected gradients to flow from the logits to the word embeddings, but "
                f"{type(self._model).__name__} computes no gradients. If the model is quantized "
                "or exported, load it in float32 or bfloat16."
            )
        return logits

    def _looks_up_transposed(self, inputs: dict[str, Tensor]) -> bool:
        """Return whether the model looks words up as (length, rows), as XLNet does.

        The model reads a single row, which it looks up as (1, L), or as (L, 1) if it transposes.

        Args:
            inputs: The arguments of the model, with `input_ids` of shape (..., L), L > 1.
        """
        single_row = {}
        for name, value in inputs.items():
            if isinstance(value, Tensor):
                # The first entry of each dimension, except for the last dimension, which is
                # complete.
                index = (slice(1),) * (value.dim() - 1)
                value = value[index]
            single_row[name] = value
        looked_up_ids = self._list_lookups(self._first_table, single_row)[0]
        return looked_up_ids.shape[0] > 1

    @cached_property
    def _begins_with_last(self) -> bool:
        """Whether the decoder reads the last token of the text first, as that of mBART does.

        The decoders of BART and T5 read a fixed start token first. To find out, the model reads two
        texts that differ in their last token. The first tokens that its decoder looks up are then
        compared with these last tokens.
        """
        config = self._model.config
        special_tokens = {getattr(config, name, None) for name in _SPECIAL_TOKENS}
        # At least two of the six smallest token ids are not special.
        ordinary_tokens = [token for token in range(6) if token not in special_tokens]
        last_tokens = ordinary_tokens[:2]
        rows = []
        for last_token in last_tokens:
            rows.append([ordinary_tokens[0], config.eos_token_id, last_token])
        input_ids = torch.tensor(rows, device=self._model.device)
        inputs = {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}
        decoder_ids = self._list_lookups(self._tables[-1], inputs)[-1]
        return decoder_ids[:, 0].tolist() == last_tokens

    @torch.no_grad()
    def _list_lookups(self, table: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
        """Run the model, and return the token ids that it looks up in a table of embeddings.

        Args:
            table: A table of the model.
            inputs: The arguments of the model.

        Returns:
            The token ids of each lookup, in the order of the lookups.
        """
        lookups: list[Tensor] = []

        def record(_module: nn.Module, arguments: tuple[Any, ...]) -> None:
            lookups.append(arguments[0])

        hook = table.register_forward_pre_hook(record)
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return lookups

    def _shift(
        self,
        rows: Tensor,
        inputs: dict[str, Tensor],
        decoder_ids: Tensor,
        output: Tensor,
        shifts_last_token: bool,
    ) -> Tensor:
        """Return the embeddings of a text as a decoder reads it, shifted by one position.

        Args:
            rows: (n, L, d) embeddings of the text.
            inputs: The arguments of the model, with `input_ids` and `attention_mask`, (n, L) each.
            decoder_ids: (n, L) token ids that the decoder looks up.
            output: (n, L, d) embeddings of the decoder for these ids, of which the first is used.
            shifts_last_token: Whether the decoder begins with the last token of the text, instead
                of a start token.

        Returns:
            (n, L, d) the embedding of the first token, and those of the text without its last
            position.

        Raises:
            ValueError: If the decoder does not read the text shifted by one position.
        """
        input_ids = inputs["input_ids"]
        is_shifted = decoder_ids.shape == input_ids.shape and torch.equal(
            decoder_ids[:, 1:], input_ids[:, :-1]
        )
        if not is_shifted:
            raise ValueError(
                "Expected an encoder, a decoder, or an encoder-decoder whose decoder reads the "
                "text shifted by one token, but the input of the decoder of "
                f"{type(self._model).__name__} is unknown."
            )
        # A start token is not part of the text, so that its embedding has no gradients.
        first_embedding = output[:, :1].detach()
        if shifts_last_token:
            # The product is 0 at padding, so that its maximum is at the last token.
            positions = torch.arange(input_ids.shape[1], device=input_ids.device)
            last_positions = (inputs["attention_mask"] * positions).argmax(dim=1)
            row_index = torch.arange(len(rows), device=input_ids.device)
            first_embedding = rows[row_index, last_positions].unsqueeze(1)
        return torch.cat((first_embedding, rows[:, :-1]), dim=1)


def _track_runs(module: nn.Module, runs: list[bool]) -> list[Any]:
    """Register hooks that keep a list non-empty while a module runs, and return the hooks.

    Args:
        module: The module.
        runs: An empty list. An element is added when the module begins. The list is emptied when
            the module ends, even after an error.
    """

    def begin(*_arguments: Any) -> None:
        runs.append(True)

    def end(*_arguments: Any) -> None:
        runs.clear()

    return [
        module.register_forward_pre_hook(begin),
        module.register_forward_hook(end, always_call=True),
    ]


def _is_table(module: Any) -> bool:
    """Return whether a module is an embedding table, perhaps with an adapter of peft."""
    return isinstance(module, nn.Embedding) or hasattr(module, "_disable_adapters")


def _find_table(model: Any) -> nn.Module:
    """Return the table of word embeddings of an encoder or a decoder.

    Raises:
        ValueError: If `get_input_embeddings()` of the model returns no table, or is not
            implemented.
    """
    try:
        table = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        table = None
    if not _is_table(table):
        raise ValueError(
            f"Expected a model with a table of word embeddings, but {type(model).__name__} has "
            "none, so gradients with respect to input embeddings are not defined. Let its "
            "get_input_embeddings() return the torch.nn.Embedding that looks up the tokens; "
            "`inputs_embeds` is not needed."
        )
    return cast("nn.Module", table)


def _find_embedding_module(model: Any) -> nn.Module:
    """Return the module of an encoder that adds positions and types to its word embeddings.

    Raises:
        ValueError: If the model has no such module.
    """
    module = getattr(getattr(model, "base_model", None), "embeddings", None)
    if not isinstance(module, nn.Module) or isinstance(module, nn.Embedding):
        raise ValueError(
            "Expected a model with a module of embeddings for layer='embeddings', but "
            f"{type(model).__name__} has none. Use layer='word_embeddings'."
        )
    return module


def _find_coder_tables(model: Any) -> tuple[nn.Module, nn.Module]:
    """Return the tables of word embeddings of the encoder and of the decoder.

    Raises:
        ValueError: If the encoder or the decoder has no table, or the weights of the two differ.
            With different weights, a token of the text has two embeddings, and no single path.
    """
    base_model = model.base_model
    encoder_table = getattr(getattr(base_model, "encoder", None), "embed_tokens", None)
    decoder_table = getattr(getattr(base_model, "decoder", None), "embed_tokens", None)
    expected = (
        "Expected an encoder-decoder with one table of word embeddings for both parts, but "
        f"{type(model).__name__} has"
    )
    if not (_is_table(encoder_table) and _is_table(decoder_table)):
        raise ValueError(f"{expected} none.")
    if not torch.equal(encoder_table.weight, decoder_table.weight):  # type: ignore[union-attr]
        raise ValueError(f"{expected} two.")
    return cast("nn.Module", encoder_table), cast("nn.Module", decoder_table)


def explain_missing_gradients(scorer: Scorer) -> str:
    """Return why gradients with respect to word embeddings cannot be computed, or an empty string.

    They can be computed for a classifier of transformers in this process with a table of word
    embeddings, no quantized layers, and a fast tokenizer.
    """
    if not isinstance(scorer, Classifier) or scorer.label_names is None:
        reason = explain_missing_ability(scorer, "gradients")
        return reason or f"{scorer.name} is not a transformers classifier in this process."
    try:
        check_fast(scorer.tokenizer)
        EmbeddingInput(scorer.model)
    except ValueError as error:
        return str(error)
    return ""


def check_gradients(scorer: Scorer) -> Classifier:
    """Check that gradients with respect to word embeddings can be computed, and return the model.

    Raises:
        ValueError: If the scorer is not a classifier of transformers in this process, has quantized
            layers or no table of word embeddings, or its tokenizer is a slow one.
    """
    reason = explain_missing_gradients(scorer)
    if reason:
        raise ValueError(reason)
    return cast("Classifier", scorer)
