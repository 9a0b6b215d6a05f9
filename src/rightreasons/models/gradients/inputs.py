"""What gradients are taken through: embeddings as the input of a classifier.

Given embeddings take the place of those that a model looks up. Masks and everything else still come from the token ids,
and so do position and type embeddings where words are given. An encoder-decoder that classifies (BART, T5, mBART) reads
its text twice: the decoder sees the tokens shifted by one place, and receives the same embeddings, shifted by one too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from rightreasons.core.arrays import Ragged, compute_offsets
from rightreasons.core.choices import LAYERS
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import check_one_of
from rightreasons.models.batching import check_fast
from rightreasons.models.classes import Classifier
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer, lacking
from rightreasons.models.weights import quantized


def word_spans(text: str) -> NDArray[np.int64]:
    """Return the places of the words of a text, (n, 2): first character and one past the last.

    Example:
        >>> word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    return np.array(
        [match.span() for match in WORD_PATTERN.finditer(text)], dtype=np.int64
    ).reshape(-1, 2)


def word_of_piece(
    spans: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the word in which each piece begins; -1 for a piece that touches no word (a space, or nothing).

    A piece that covers two words ("'s") counts for the first of them.

    Args:
        spans: (n, 2) words in order, from `word_spans`.
        start: (pieces,) first character of each piece; it may be a space before the word.
        end: (pieces,) one past its last character.

    Returns:
        (pieces,) positions in `spans`.

    Example:
        >>> word_of_piece(word_spans("a good"), np.array([0, 1, 4]), np.array([1, 4, 6])).tolist()
        [0, 1, 1]
    """
    if not len(spans):
        return np.full(len(start), -1, dtype=np.int64)
    # The first word that ends after the piece begins; the piece touches it when it reaches its first character.
    word = np.searchsorted(spans[:, 1], start, side="right")
    touches = (
        (word < len(spans)) & (end > spans[np.minimum(word, len(spans) - 1), 0]) & (end > start)
    )
    return np.where(touches, word, -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class TokenScores:
    """The tokens of N items, each with its score, one item after another.

    Attributes:
        tokens: N tuples of tokens.
        scores: N rows of scores.
        starts: (total,) first character of each token in its text.
        ends: (total,) one past its last character.
        parts: (total,) 0 in the first text, 1 in the second.
    """

    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]


def merge_pieces(
    items: Items, scores: NDArray[np.float64], *, unit: str, merge: str, special: bool = False
) -> TokenScores:
    """Leave special tokens out and join pieces to words.

    Args:
        items: Items with the places of their tokens.
        scores: (total,) the score of every token of their sequences, special ones included.
        unit: "wordpiece" (pieces stay as they are) or "word".
        merge: How the pieces of a word become one: "absmax", the largest in magnitude, or "sum".
        special: Whether special tokens stay, among pieces.

    Returns:
        The tokens of each item, with their scores and places.
    """
    places, encoded = items.places, items.encoded
    if unit == "word":
        tokens, scores, spans, parts, rows = _words(items, scores, merge)
    else:
        real = ~places.special | special
        tokens = list(
            items.classifier.tokenizer.convert_ids_to_tokens(
                encoded.columns["input_ids"][real].tolist()
            )
        )
        scores, parts, rows = scores[real], places.sequence[real], encoded.row[real]
        spans = np.column_stack((places.start[real], places.end[real]))
    offsets = compute_offsets(np.bincount(rows, minlength=len(items)))
    return TokenScores(
        tokens=tuple(tuple(tokens[a:b]) for a, b in itertools.pairwise(offsets.tolist())),
        scores=Ragged(scores, offsets),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=parts,
    )


def _words(
    items: Items, scores: NDArray[np.float64], merge: str
) -> tuple[list[str], Any, Any, Any, Any]:
    """Return the words of all items, their scores, places, parts and items."""
    places = items.places
    tokens: list[str] = []
    word = np.full(len(scores), -1, dtype=np.int64)
    all_spans, all_rows, all_parts = [np.empty((0, 2), np.int64)], list[int](), list[int]()
    for row, (start, end) in enumerate(itertools.pairwise(items.encoded.offsets.tolist())):
        for part, column in enumerate((items.texts, items.text_pairs)):
            inside = (
                np.flatnonzero(~places.special[start:end] & (places.sequence[start:end] == part))
                + start
            )
            if column is None or not len(inside):
                continue
            spans = word_spans(column[row])
            owner = word_of_piece(spans, places.start[inside], places.end[inside])
            whole, place = np.unique(
                owner[owner >= 0], return_inverse=True
            )  # without words that were cut off
            word[inside[owner >= 0]] = len(tokens) + place
            tokens += [column[row][a:b].lower() for a, b in spans[whole].tolist()]
            all_spans.append(spans[whole])
            all_rows += [row] * len(whole)
            all_parts += [part] * len(whole)
    scores, word = scores[word >= 0], word[word >= 0]
    if merge == "absmax":
        # The last of a word's pieces in this order is the largest in magnitude.
        order = np.lexsort((np.abs(scores), word))
        joined = np.zeros(len(tokens))
        joined[word[order]] = scores[order]
    else:
        joined = np.bincount(word, scores, minlength=len(tokens)).astype(np.float64)
    parts, rows = np.array(all_parts, dtype=np.int64), np.array(all_rows, dtype=np.int64)
    return tokens, joined, np.concatenate(all_spans), parts, rows


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
        # What torch.compile made of a model takes no embeddings in place of its own.
        self._model = model = getattr(model, "_orig_mod", model)
        if reason := quantized(model):
            raise ValueError(reason)
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

    def look_up(self, input_ids: Tensor) -> Tensor:
        """Return the model's own word embeddings of some ids, (..., L) to (..., L, d), without gradients."""
        with torch.no_grad():
            embeddings: Tensor = self._first(input_ids)
        # Gradient checkpointing and peft hook the table, so that its output asks for gradients.
        return embeddings.detach()

    @torch.no_grad()
    def embed(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return the model's own embeddings of its inputs, (..., L) to (..., L, d), without gradients."""
        ids = inputs["input_ids"]
        if self._words or self._decoder is not None:
            return self.look_up(ids)
        outputs: list[Tensor] = []
        hook = self._first.register_forward_hook(
            lambda module, inputs, output: outputs.append(output)
        )
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return outputs[0].detach()[:, : ids.shape[-1]].reshape(*ids.shape, -1)

    @contextmanager
    def feed(self, embeddings: Tensor, inputs: dict[str, Tensor]) -> Iterator[None]:
        """Feed embeddings to every forward pass inside the block.

        Args:
            embeddings: (..., L, d), one per place of the padded ids.
            inputs: What the model is called with.
        """
        given, ids = embeddings.flatten(0, -3), inputs["input_ids"].flatten(0, -2)
        transposed = (
            self._words and len(ids) == ids.shape[1] > 1 and self._looks_up_transposed(inputs)
        )

        # Asked before anything is replaced.
        last_first = self._decoder is not None and self._words and self._begins_with_last

        def replace(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> Tensor | None:
            if reading:
                return (
                    self._shifted(given, inputs, arguments[0], output, last_first)
                    if self._words
                    else None
                )
            if transposed or output.shape[:2] != given.shape[:2] == output.shape[1::-1]:
                return given.transpose(0, 1).clone()
            # What a model pads by itself stays. Copies, as CTRL scales its embeddings in place.
            return torch.cat((given, output[:, given.shape[1] :]), 1)

        reading: list[bool] = []  # not empty while the decoder runs
        hooks = [table.register_forward_hook(replace) for table in self._tables]
        if self._decoder is not None:
            hooks.append(self._decoder.register_forward_pre_hook(lambda *_: reading.append(True)))
            hooks.append(
                self._decoder.register_forward_hook(lambda *_: reading.clear(), always_call=True)
            )
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
        single = {
            name: value[(slice(1),) * (value.dim() - 1)] if isinstance(value, Tensor) else value
            for name, value in inputs.items()
        }
        return self._looked_up(self._first, single)[0].shape[0] > 1

    @cached_property
    def _begins_with_last(self) -> bool:
        """Whether the decoder begins with the last token of the text (mBART) or with one of its own (BART, T5)."""
        config = self._model.config
        named = (
            "pad_token_id",
            "eos_token_id",
            "bos_token_id",
            "decoder_start_token_id",
        )  # T5 has no beginning
        special = {getattr(config, name, None) for name in named}
        first, second = [token for token in range(6) if token not in special][:2]
        ids = torch.tensor(
            [[first, config.eos_token_id, last] for last in (first, second)],
            device=self._model.device,
        )
        begin = self._looked_up(
            self._tables[-1], {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        )[-1][:, 0]
        return begin.tolist() == [first, second]

    @torch.no_grad()
    def _looked_up(self, table: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
        """Return what a table is asked for in a pass."""
        indices: list[Tensor] = []
        hook = table.register_forward_pre_hook(
            lambda module, arguments: indices.append(arguments[0])
        )
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return indices

    def _shifted(
        self,
        given: Tensor,
        inputs: dict[str, Tensor],
        ids: Tensor,
        output: Tensor,
        last_first: bool,
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


def _is_table(module: Any) -> bool:
    """Tell whether a module looks words up in a table, which an adapter may change."""
    return isinstance(module, nn.Embedding) or hasattr(module, "_disable_adapters")


def _table(model: Any) -> nn.Module:
    try:
        table = model.get_input_embeddings()
    except (NotImplementedError, AttributeError):
        table = None
    if not _is_table(table):
        raise ValueError(
            f"Expected a model with a table of word embeddings, but {type(model).__name__} has none: "
            "gradients with respect to input embeddings are not defined for it. Let its get_input_embeddings() return "
            "the torch.nn.Embedding that looks up the tokens; `inputs_embeds` is not needed."
        )
    return table  # type: ignore[no-any-return]


def _module(model: Any) -> nn.Module:
    module = getattr(getattr(model, "base_model", None), "embeddings", None)
    if not isinstance(module, nn.Module) or isinstance(module, nn.Embedding):
        raise ValueError(
            f"Expected a model with a module of embeddings for layer='embeddings', but {type(model).__name__} has "
            "none: use layer='word_embeddings'."
        )
    return module


def _coder_tables(model: Any) -> tuple[nn.Module, nn.Module]:
    encoder: Any
    decoder: Any
    parts = [getattr(model.base_model, coder, None) for coder in ("encoder", "decoder")]
    encoder, decoder = [getattr(part, "embed_tokens", None) for part in parts]
    tables = _is_table(encoder) and _is_table(decoder)
    if not tables or not torch.equal(encoder.weight, decoder.weight):
        raise ValueError(
            "Expected an encoder-decoder with one table of word embeddings for both parts, but "
            f"{type(model).__name__} has {'two' if tables else 'none'}."
        )
    return encoder, decoder


def why_no_gradients(scorer: Scorer) -> str:
    """Say why the words of the texts that a scorer is asked have no gradients; "" where they have."""
    if not isinstance(scorer, Classifier) or scorer.label_names is None:
        lacks = lacking(scorer, "gradients")
        return lacks or f"{scorer.name} is no classifier of transformers in this process."
    try:
        check_fast(scorer.tokenizer)
        EmbeddingInput(scorer.model)
    except ValueError as error:
        return str(error)
    return ""


def classifier_with_gradients(scorer: Scorer) -> Classifier:
    """Return a scorer that is a classifier of texts; of any other, words have no gradients.

    Raises:
        ValueError: If it is none, or its tokenizer does not know the places of its tokens.
    """
    if reason := why_no_gradients(scorer):
        raise ValueError(reason)
    return cast("Classifier", scorer)
