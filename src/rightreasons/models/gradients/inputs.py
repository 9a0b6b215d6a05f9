"""What gradients are taken through: embeddings as the input of a model, and a prompted language model as a classifier.

Given embeddings take the place of those that a model looks up. Masks and everything else still come from the token ids,
and so do position and type embeddings where words are given. An encoder-decoder that classifies (BART, T5, mBART) reads
its text twice: the decoder sees the tokens shifted by one place, and receives the same embeddings, shifted by one place
too.

What explains a classifier, from attributions to Fisher information, explains a prompted model as one whose logits are
the scores of its label words: the words of a text stand among those of the template, which belong to no text.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import BatchEncoding

from rightreasons.core.arrays import Ragged, offsets_of
from rightreasons.core.choices import LAYERS
from rightreasons.core.errors import one_line
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import check_count, check_one_of
from rightreasons.models.choices import CausalLM
from rightreasons.models.classes import Classifier
from rightreasons.models.items import Items
from rightreasons.models.likelihoods import logits_of
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.protocol import Scorer, lacking
from rightreasons.models.weights import quantized


def word_spans(text: str) -> NDArray[np.int64]:
    """Return the places of the words of a text, (n, 2): first character and one past the last.

    Example:
        >>> word_spans("It's good.").tolist()
        [[0, 2], [2, 3], [3, 4], [5, 9], [9, 10]]
    """
    return np.array([match.span() for match in WORD_PATTERN.finditer(text)], dtype=np.int64).reshape(-1, 2)


def word_of_piece(spans: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
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
    touches = (word < len(spans)) & (end > spans[np.minimum(word, len(spans) - 1), 0]) & (end > start)
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
        choices: (total,) the sequence of the item that the token is in.
    """

    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    choices: NDArray[np.int64]


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
    if unit == "wordpiece":
        real = ~places.special | special
        tokens = items.classifier.tokenizer.convert_ids_to_tokens(encoded.columns["input_ids"][real].tolist())
        spans = np.column_stack((places.start[real], places.end[real]))
        return _by_item(items, list(tokens), scores[real], spans, places.part[real], encoded.row[real])
    tokens = []
    word = np.full(len(scores), -1, dtype=np.int64)
    all_spans, all_rows, all_parts = [np.empty((0, 2), np.int64)], [], []
    for row, (start, end) in enumerate(itertools.pairwise(encoded.offsets.tolist())):
        for part, column in enumerate((items.first, items.second)):
            inside = np.flatnonzero(~places.special[start:end] & (places.part[start:end] == part)) + start
            if column is None or not len(inside):
                continue
            spans = word_spans(column[row])
            owner = word_of_piece(spans, places.start[inside], places.end[inside])
            whole, place = np.unique(owner[owner >= 0], return_inverse=True)  # without words that were cut off
            word[inside[owner >= 0]] = len(tokens) + place
            tokens += [column[row][a:b].lower() for a, b in spans[whole].tolist()]
            all_spans.append(spans[whole])
            all_rows += [row] * len(whole)
            all_parts += [part] * len(whole)
    joined = _join(scores[word >= 0], word[word >= 0], len(tokens), merge)
    parts, rows = np.array(all_parts, dtype=np.int64), np.array(all_rows, dtype=np.int64)
    return _by_item(items, tokens, joined, np.concatenate(all_spans), parts, rows)


def _by_item(
    items: Items,
    tokens: list[str],
    scores: NDArray[np.float64],
    spans: NDArray[np.int64],
    parts: NDArray[np.int64],
    sequences: NDArray[np.int64],
) -> TokenScores:
    """Group tokens, of which the sequences are known, by item."""
    item_of_sequence = np.repeat(np.arange(len(items)), items.counts)
    choice_of_sequence = np.arange(len(item_of_sequence)) - items.offsets[item_of_sequence]
    offsets = offsets_of(np.bincount(item_of_sequence[sequences], minlength=len(items)))
    return TokenScores(
        tokens=tuple(tuple(tokens[a:b]) for a, b in itertools.pairwise(offsets.tolist())),
        scores=Ragged(scores, offsets),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=parts,
        choices=choice_of_sequence[sequences],
    )


def _join(scores: NDArray[np.float64], word: NDArray[np.int64], n_words: int, merge: str) -> NDArray[np.float64]:
    if merge == "absmax":
        # The last of a word's pieces in this order is the largest in magnitude.
        order = np.lexsort((np.abs(scores), word))
        joined = np.zeros(n_words)
        joined[word[order]] = scores[order]
        return joined
    return np.asarray(np.bincount(word, scores, minlength=n_words), dtype=np.float64)


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
        single = {
            name: value[(slice(1),) * (value.dim() - 1)] if isinstance(value, Tensor) else value
            for name, value in inputs.items()
        }
        return self._looked_up(self._first, single)[0].shape[0] > 1

    @cached_property
    def _begins_with_last(self) -> bool:
        """Whether the decoder begins with the last token of the text (mBART) or with one of its own (BART, T5)."""
        config = self._model.config
        named = ("pad_token_id", "eos_token_id", "bos_token_id", "decoder_start_token_id")  # T5 has no beginning
        special = {getattr(config, name, None) for name in named}
        first, second = [token for token in range(6) if token not in special][:2]
        ids = torch.tensor([[first, config.eos_token_id, last] for last in (first, second)], device=self._model.device)
        begin = self._looked_up(self._tables[-1], {"input_ids": ids, "attention_mask": torch.ones_like(ids)})[-1][:, 0]
        return begin.tolist() == [first, second]

    @torch.no_grad()
    def _looked_up(self, table: nn.Module, inputs: dict[str, Tensor]) -> list[Tensor]:
        """Return what a table is asked for in a pass."""
        indices: list[Tensor] = []
        hook = table.register_forward_pre_hook(lambda module, arguments: indices.append(arguments[0]))
        try:
            self._model(**inputs)
        finally:
            hook.remove()
        return indices

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
    parts = [getattr(model.base_model, coder, None) for coder in ("encoder", "decoder")]
    encoder, decoder = (getattr(part, "embed_tokens", None) for part in parts)
    if encoder is None or decoder is None or not (_is_table(encoder) and _is_table(decoder)):
        raise ValueError(
            "Expected an encoder-decoder whose two parts look words up in a table, but "
            f"{type(model).__name__} has none."
        )
    if not torch.equal(encoder.weight, decoder.weight):
        raise ValueError(
            f"Expected one table of word embeddings for encoder and decoder, but {type(model).__name__} has two."
        )
    return encoder, decoder


# ------------------------------------ Words that are alike to a model: the nearest ones in its table of word embeddings


class NoWordError(ValueError):
    """None of the candidate words is a token of the model."""


class EmbeddingNeighbors:
    """Nearest words by the cosine of their word embeddings.

    Args:
        classifier: The model.
        among: Lower-case candidates, such as the words of texts of one class; those that are not one token of the
            vocabulary are left out. None takes all words of the vocabulary that consist of letters.
        count: Number of neighbors per word; default 5.

    Raises:
        ValueError: If the model has no table of word embeddings, or no word is left.

    Example:
        >>> neighbors = EmbeddingNeighbors(classifier)  # doctest: +SKIP
        >>> neighbors("good")  # doctest: +SKIP
        ['great', 'better', 'well', 'nice', 'bad']
    """

    def __init__(self, classifier: Classifier, among: Iterable[str] | None = None, *, count: int = 5) -> None:
        self.count = check_count(count, "count")
        vocabulary: dict[str, int] = classifier.tokenizer.get_vocab()
        special = set(classifier.tokenizer.all_special_tokens)
        # Byte-level and metaspace vocabularies mark the word's first piece, BERT's marks the others.
        marks = next((mark for mark in ("Ġ", "▁") if sum(token[:1] == mark for token in vocabulary) > 100), "")
        whole = {
            token[len(marks) :].lower(): row
            for token, row in sorted(vocabulary.items(), key=lambda pair: -pair[1])
            if token.startswith(marks) and token[len(marks) :].isalpha() and token not in special
        }
        names = sorted(whole) if among is None else sorted(set(among) & set(whole))
        if not names:
            raise NoWordError(
                "Expected at least one word that is a token of the model's vocabulary, but there is none."
            )
        rows = torch.tensor([whole[name] for name in names], device=classifier.device)
        self.words = names
        self._place = {name: place for place, name in enumerate(names)}
        self._whole = whole
        self._device = classifier.device
        self._table = EmbeddingInput(classifier.model)
        self._vectors = _unit(self._table.look_up(rows))

    def __call__(self, word: str) -> list[str]:
        """Return the words nearest to a word, nearest first; [] where the word is not one token."""
        row = self._whole.get(word.lower())
        if row is None:
            return []
        near = self._vectors @ _unit(self._table.look_up(torch.tensor([row], device=self._device)))[0]
        here = self._place.get(word.lower())
        if here is not None:
            near[here] = -np.inf
        count = min(self.count, len(near) - (here is not None))
        order = np.argsort(-near, kind="stable")[:count]
        return [self.words[place] for place in order.tolist()]


def class_neighbors(
    classifier: Classifier, words: Mapping[int, Iterable[str]], *, count: int = 5
) -> dict[int, EmbeddingNeighbors]:
    """Return neighbors for each class among the words of that class only, for changes that should keep the label.

    Args:
        classifier: The model.
        words: Lower-case words of each class, such as `data.substitutions.class_words` gives.
        count: Number of neighbors per word; default 5.

    Returns:
        The neighbors of each class that has a word in the model's vocabulary.
    """
    neighbors = {}
    for label, class_words in words.items():
        try:
            neighbors[label] = EmbeddingNeighbors(classifier, class_words, count=count)
        except NoWordError:
            continue
    return neighbors


def _unit(vectors: Any) -> NDArray[np.float64]:
    rows = vectors.double().cpu().numpy()
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12), dtype=np.float64)


_FIELDS = ("text", "text_pair")
_Span: TypeAlias = "tuple[int, int, int]"  # first character, one past the last, and what was trimmed before
# Private characters, which no text has.
_MARKS = {"text": "\ue000", "text_pair": "\ue001"}


def why_no_gradients(scorer: Scorer) -> str:
    """Say why the words of what a scorer is asked have no gradients; "" where they have."""
    model = scorer.engine if isinstance(scorer, Prompted) else scorer
    lacks = lacking(scorer, "gradients", "about gradients")
    if not isinstance(model, (LocalEngine, Classifier, CausalLM)):
        return lacks or f"{scorer.name} is not a model of transformers in this process."
    if reason := quantized(model.model) or lacks:
        return reason
    if isinstance(scorer, Prompted) and scorer.prompt.shots and scorer.prompt.draw == "item":
        return "Each item has few-shot examples of its own, and no gradients: `--draw run` gives all items the same."
    if not getattr(model.tokenizer, "is_fast", False):
        return "The tokenizer does not give the positions of its tokens in the text."
    try:
        EmbeddingInput(model.model)
        if isinstance(scorer, Prompted) and scorer.label_names is not None:
            label_word_classifier(scorer)
    except ValueError as error:
        return str(error)
    return ""


def with_gradients(scorer: Scorer) -> Any:
    """Return a scorer in the form that has gradients: a prompted scorer of classes as a classifier of label words.

    Raises:
        ValueError: If it has none.
    """
    if isinstance(scorer, Prompted) and scorer.label_names is not None:
        return label_word_classifier(scorer)
    if not isinstance(scorer, (Classifier, CausalLM, Prompted)):
        raise ValueError(why_no_gradients(scorer))
    return scorer


def label_word_classifier(prompted: Prompted) -> Classifier:
    """Return a prompted language model as a classifier of texts, with gradients.

    Args:
        prompted: A scorer of classes by likelihood, of a model in this process.

    Returns:
        A classifier whose logits are the scores of `prompted.predict`, to the rounding of the arithmetic.

    Raises:
        ValueError: If it has no gradients, or its template changes the words of a text.
    """
    engine = prompted.engine
    if prompted.label_names is None or not isinstance(engine, LocalEngine):
        raise ValueError(f"Expected a prompted classifier of a model in this process, but got {prompted.name}.")
    if (lacks := lacking(prompted, "gradients", "about gradients")) and not quantized(engine.model):
        raise ValueError(lacks)
    tokenizer = PromptTokenizer(prompted, engine)
    scoring = prompted.rendering.scoring
    words = tokenizer.answers
    if scoring == "next_words":
        words = [tokens[:1] for tokens in words]
    model = _LabelWords(engine.model, words, mean=scoring == "mean", names=prompted.label_names)
    classifier = Classifier(model.eval(), tokenizer, prompted.label_names, prompted.name)
    if scoring in ("unconditional", "calibrated"):
        # Both take a number off each class, the same for every text.
        model.register_buffer("offsets", _offsets(prompted))
    return classifier


def _offsets(prompted: Prompted) -> Tensor:
    """Return what a scoring takes off the log-likelihood of each label word: (K,)."""
    both = (prompted, prompted.asking(scoring="sum"))
    scored, raw = (np.asarray(each.predict(["a"], progress=False).logits)[0] for each in both)
    off = raw - scored
    return torch.from_numpy(off - off.mean() if prompted.rendering.scoring == "calibrated" else off)


class _LabelWords(nn.Module):
    """A causal language model whose logits are the scores of some continuations after each prompt.

    Args:
        model: The language model.
        words: The tokens of the K continuations.
        mean: Whether a score is the mean over the tokens; else it is the sum.
        names: The names of the K classes.
    """

    def __init__(self, model: Any, words: Sequence[Sequence[int]], *, mean: bool, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.words = [list(tokens) for tokens in words]
        self.mean = mean
        self.offsets: Tensor | None
        self.register_buffer("offsets", None)
        self.config = copy.deepcopy(model.config)
        self.config.num_labels = len(self.words)
        self.config.id2label = dict(enumerate(names))
        self.config.label_words, self.config.label_word_mean = self.words, mean
        self._options = inspect.signature(model.forward).parameters

    @property
    def device(self) -> torch.device:
        """Device of the model's input."""
        device: torch.device = self.model.device
        return device

    @property
    def dtype(self) -> torch.dtype:
        """Type of the weights."""
        dtype: torch.dtype = self.model.dtype
        return dtype

    def get_input_embeddings(self) -> Any:
        """Return the table of word embeddings."""
        return self.model.get_input_embeddings()

    def num_parameters(self) -> int:
        """Return the number of parameters."""
        return int(self.model.num_parameters())

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any) -> Any:
        """Return `logits`: (B, K) scores of the continuations."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        scores: list[Tensor | None] = [None] * len(self.words)
        # Words that share all but their last token are read in one pass.
        reads: dict[tuple[int, ...], list[int]] = {}
        for place, tokens in enumerate(self.words):
            reads.setdefault(tuple(tokens[:-1]), []).append(place)
        for read, places in reads.items():
            log = self._after(input_ids, mask, list(read))
            for place in places:
                wanted = torch.tensor(self.words[place], device=log.device)
                score = log.gather(2, wanted[None, :, None].expand(len(log), -1, 1))[..., 0].sum(1)
                scores[place] = score / len(wanted) if self.mean else score
        logits = torch.stack([score for score in scores if score is not None], dim=1)
        return SimpleNamespace(logits=logits if self.offsets is None else logits - self.offsets.to(logits))

    def _after(self, ids: Tensor, mask: Tensor, read: list[int]) -> Tensor:
        """Return the log-probabilities after each prompt and each token read behind it: (B, 1 + len(read), V)."""
        rows, size = ids.shape
        behind = torch.tensor(read, dtype=ids.dtype, device=ids.device).expand(rows, -1)
        whole = torch.cat((ids, behind), dim=1)
        seen = torch.cat((mask, torch.ones_like(behind)), dim=1)
        # The last token of each prompt, wherever its padding is; then those behind it.
        last = (mask * torch.arange(1, size + 1, device=ids.device)).argmax(dim=1)
        columns = torch.cat((last[:, None], size + torch.arange(len(read), device=ids.device).expand(rows, -1)), dim=1)
        inputs: dict[str, Any] = {"input_ids": whole}
        if not bool((seen == 1).all()):
            inputs["attention_mask"] = seen
            if "position_ids" in self._options:
                inputs["position_ids"] = (seen.cumsum(1) - 1).clamp(min=0)
        if "use_cache" in self._options:
            inputs["use_cache"] = False
        if "logits_to_keep" in self._options:
            kept, columns = torch.unique(columns, return_inverse=True)
            inputs["logits_to_keep"] = kept
        logits = logits_of(self.model, inputs)
        picked = logits[torch.arange(rows, device=ids.device)[:, None], columns]
        log: Tensor = (picked if picked.dtype == torch.float64 else picked.float()).log_softmax(-1)
        return log


class PromptTokenizer:
    """Tokenizes texts inside the prompt of a model, and knows which tokens are those of the text.

    What is not said here is as in the tokenizer of the model.
    """

    def __init__(self, prompted: Prompted, engine: LocalEngine) -> None:
        self._prompted, self._engine, self._own = prompted, engine, engine.tokenizer
        # A prompt needs no types of tokens.
        self.model_input_names = ["input_ids", "attention_mask"]
        sample = prompted.rendering.request(self._item("a", None), prompted.shots(self._item("a", None)))
        parts = engine.tokens([sample])[0]
        self.answers = [tokens for part in parts for tokens in part.choices]
        self._chat = not isinstance(sample.prompt, str)
        self._rendered("a", None)  # a template that changes texts is refused at once

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def __len__(self) -> int:
        return len(self._own)

    def __call__(
        self,
        texts: Sequence[str] | str,
        pairs: Sequence[str] | None = None,
        *,
        add_special_tokens: bool = True,
        max_length: int | None = None,
        **options: Any,
    ) -> Any:
        """Tokenize texts inside the prompt; without special tokens, the texts alone."""
        if not add_special_tokens or isinstance(texts, str):
            return self._own(texts, pairs, add_special_tokens=add_special_tokens, **options)
        seconds: Sequence[str | None] = [None] * len(texts) if pairs is None else pairs
        rows = [self._rendered(text, second) for text, second in zip(texts, seconds, strict=True)]
        whole = self._own(
            [text for text, _ in rows],
            add_special_tokens=not self._chat and not self._starts(rows),
            return_attention_mask=False,
            verbose=False,
        )
        room = max_length or 1 << 30
        encodings = [
            _Encoding(encoding, spans, room) for encoding, (_, spans) in zip(whole.encodings, rows, strict=True)
        ]
        return BatchEncoding({"input_ids": [each.ids for each in encodings]}, encodings, n_sequences=1)

    def _starts(self, rows: Sequence[tuple[str, Any]]) -> bool:
        """Return whether prompts begin with the start token themselves."""
        start = self._engine.scorer.start_token
        mark = "" if start is None else str(self._own.decode([start]))
        return bool(mark) and all(text.startswith(mark) for text, _ in rows)

    def _rendered(self, text: str, second: str | None) -> tuple[str, dict[str, _Span]]:
        """Return the prompt of a text, and where its texts are in it; a template may trim them."""
        item, marked = (
            self._item(text, second),
            self._item(_MARKS["text"], None if second is None else _MARKS["text_pair"]),
        )
        shots = self._prompted.shots(item)
        rendering, engine = self._prompted.rendering, self._engine
        whole = engine.render(rendering.request(item, shots).prompt)
        template = engine.render(rendering.request(marked, shots).prompt)
        for trim in (False, True):
            filled, spans = _filled(template, (text, second), trim=trim)
            if filled.rstrip() == whole.rstrip() and "text" in spans:
                return whole, spans
        raise ValueError(
            "Expected a template that holds the text once, as it is, where its words are explained, but got "
            f"{rendering.template!r}, in the chat template of the model, for {one_line(text)}."
        )

    def _item(self, text: str, second: str | None) -> Item:
        return Item("", {"text": text, "text_pair": second})


def _filled(template: str, texts: Sequence[str | None], *, trim: bool) -> tuple[str, dict[str, _Span]]:
    """Put texts, or these without the white space around them, in the place of their marks."""
    spans: dict[str, _Span] = {}
    for name, text in zip(_FIELDS, texts, strict=True):
        if text is None or template.count(_MARKS[name]) != 1:
            continue
        inserted = text.strip() if trim else text
        start, more = template.index(_MARKS[name]), len(inserted) - 1
        template = template.replace(_MARKS[name], inserted)
        spans = {key: (a + more, b + more, skip) if a > start else (a, b, skip) for key, (a, b, skip) in spans.items()}
        spans[name] = (start, start + len(inserted), len(text) - len(text.lstrip()) if trim else 0)
    return template, spans


class _Encoding:
    """An encoded prompt as if its texts alone were text, and all else special tokens; it is cut at its beginning."""

    def __init__(self, encoding: Any, spans: dict[str, _Span], room: int) -> None:
        first = max(0, len(encoding.ids) - room)
        self.ids = encoding.ids[first:]
        self.overflowing = [encoding] if first else []
        self.sequence_ids: list[int | None] = []
        self.offsets: list[tuple[int, int]] = []
        for (start, end), added in zip(encoding.offsets[first:], encoding.sequence_ids[first:], strict=True):
            part, place = None, (0, 0)
            for number, name in enumerate(_FIELDS):
                low, high, skip = spans.get(name, (0, 0, 0))
                if added is not None and max(start, low) < min(end, high):
                    part, place = number, (max(start, low) - low + skip, min(end, high) - low + skip)
            self.sequence_ids.append(part)
            self.offsets.append(place)
