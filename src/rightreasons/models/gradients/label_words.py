"""A prompted language model as a classifier: its logits are the scores of its label words.

What explains a classifier, from attributions to Fisher information, explains a prompted model in this form: the words
of a text stand among those of the template, which belong to no text.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from rightreasons.core.errors import one_line
from rightreasons.models.causal import CausalLM
from rightreasons.models.classes import Classifier
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.likelihoods import logits_of
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.protocol import Scorer, lacking
from rightreasons.models.weights import quantized

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
    asked = (prompted, prompted.asking(scoring="sum"))
    own, raw = (np.asarray(each.predict(["a"], progress=False).logits)[0] for each in asked)
    off = raw - own
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
        return _Tokens({"input_ids": [encoding.ids for encoding in encodings]}, encodings)

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
        own = text.strip() if trim else text
        start, more = template.index(_MARKS[name]), len(own) - 1
        template = template.replace(_MARKS[name], own)
        spans = {key: (a + more, b + more, skip) if a > start else (a, b, skip) for key, (a, b, skip) in spans.items()}
        spans[name] = (start, start + len(own), len(text) - len(text.lstrip()) if trim else 0)
    return template, spans


class _Tokens(dict[str, Any]):
    """Token ids, with the encodings that tell where each token is."""

    def __init__(self, columns: dict[str, Any], encodings: list[_Encoding]) -> None:
        super().__init__(columns)
        self.encodings = encodings


class _Encoding:
    """An encoded prompt as if its texts alone were text, and all else special tokens; it is cut at its beginning."""

    def __init__(self, own: Any, spans: dict[str, _Span], room: int) -> None:
        first = max(0, len(own.ids) - room)
        self.ids = own.ids[first:]
        self.overflowing = [own] if first else []
        self.sequence_ids: list[int | None] = []
        self.offsets: list[tuple[int, int]] = []
        for (start, end), added in zip(own.offsets[first:], own.sequence_ids[first:], strict=True):
            part, place = None, (0, 0)
            for number, name in enumerate(_FIELDS):
                low, high, skip = spans.get(name, (0, 0, 0))
                if added is not None and max(start, low) < min(end, high):
                    part, place = number, (max(start, low) - low + skip, min(end, high) - low + skip)
            self.sequence_ids.append(part)
            self.offsets.append(place)
