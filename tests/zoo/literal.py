"""The reference of the zoo: one item at a time, unpadded, by the plain forward pass of a model.

Nothing of the library is used.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]
Inputs = dict[str, Tensor]


class NoReferenceError(Exception):
    """The reference is not defined for a model; the message states the reason."""


def tokenize(tokenizer: Any, text: str, pair: str | None, length: int) -> Inputs:
    tokens = tokenizer(text, pair, truncation=True, max_length=length, return_tensors="pt")
    return dict(tokens)


def add_dimension(inputs: Inputs) -> Inputs:
    """Return the inputs of one choice, of shape (1, L), as (1, 1, L): an item with a single choice."""
    return {name: tensor[None] for name, tensor in inputs.items()}


@torch.no_grad()
def compute_logits(model: Any, inputs: Inputs) -> Floats:
    return np.asarray(model(**inputs).logits[0].double().numpy())


@torch.no_grad()
def compute_choice_logit(model: Any, inputs: Inputs) -> float:
    """Return the logit of a multiple-choice head for one (prompt, choice) pair."""
    return float(model(**add_dimension(inputs)).logits[0, 0])


# ---------------------------------------------------------------- Likelihoods of choices


def score_causal(
    model: Any, tokenizer: Any, prompt: str, choice: str, length: int
) -> tuple[float, int]:
    """Return the log-likelihood of a space and a choice after a prompt, and its number of tokens.

    As lm-evaluation-harness does, prompt and choice are encoded together and split after as many
    tokens as the prompt has. What is too long is truncated at the left.
    """
    if prompt:
        stem, continuation_text = split_continuation(prompt, choice)
        tokens = encode(tokenizer, stem + continuation_text)
        context = encode(tokenizer, stem)
        continuation = tokens[len(context) :]
    else:
        context = [get_start_token(tokenizer)]
        continuation = encode(tokenizer, " " + choice)
    tokens = (context + continuation)[-(length + 1) :]
    # The logits of a token are those at the position before it, so that the last token is not read.
    inputs = torch.tensor([tokens[:-1]])
    with torch.no_grad():
        logits = model(input_ids=inputs, use_cache=False).logits[0]
    log_probabilities = logits.double().log_softmax(-1)[-len(continuation) :]
    return sum_tokens(log_probabilities, continuation), len(continuation)


@torch.no_grad()
def score_encoder_decoder(
    model: Any, tokenizer: Any, prompt: str, choice: str, length: int
) -> tuple[float, int]:
    """Return the log-likelihood of a space and a choice by the decoder, and its number of tokens.

    The encoder reads the prompt. Neither the token with which the decoder begins nor the end of the
    choice is scored.
    """
    stem, continuation_text = split_continuation(prompt, choice)
    encoder_ids = [get_start_token(tokenizer)]
    if stem:
        encoder_ids = tokenizer(stem)["input_ids"][-length:]
    continuation = encode(tokenizer, continuation_text)
    decoder_ids = [model.config.decoder_start_token_id, *continuation[:-1]]
    outputs = model(
        input_ids=torch.tensor([encoder_ids]), decoder_input_ids=torch.tensor([decoder_ids])
    )
    log_probabilities = outputs.logits[0].double().log_softmax(-1)
    return sum_tokens(log_probabilities, continuation), len(continuation)


@torch.no_grad()
def score_masked(
    model: Any, tokenizer: Any, prompt: str, choice: str, length: int
) -> tuple[float, int]:
    """Return the pseudo-log-likelihood of a space and a choice, and its number of tokens.

    Each token of the choice is masked in turn.
    """
    stem, continuation_text = split_continuation(prompt, choice)
    tokens = encode(tokenizer, stem + continuation_text)
    context = encode(tokenizer, stem)
    start = len(context)
    if tokens[:start] != context:
        tokens = context + encode(tokenizer, continuation_text)
    total = 0.0
    for position in range(start, len(tokens)):
        masked = [*tokens[:position], tokenizer.mask_token_id, *tokens[position + 1 :]]
        row = [tokenizer.cls_token_id, *masked, tokenizer.sep_token_id]
        # The start token shifts each position by one.
        logits = model(input_ids=torch.tensor([row])).logits[0, position + 1].double()
        total += float(logits.log_softmax(-1)[tokens[position]])
    return total, len(tokens) - start


SCORERS = {
    "causal": score_causal,
    "encoder-decoder": score_encoder_decoder,
    "masked": score_masked,
}
"""Kind of language model -> how it scores one choice."""


def split_continuation(prompt: str, choice: str) -> tuple[str, str]:
    """Return the prompt without the spaces at its end, and these with the choice."""
    stem = prompt.rstrip()
    return stem, prompt[len(stem) :] + " " + choice


def encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def get_start_token(tokenizer: Any) -> int:
    """Return the token that stands for an empty prompt."""
    if tokenizer.bos_token_id is not None:
        return int(tokenizer.bos_token_id)
    return int(tokenizer.eos_token_id)


def sum_tokens(log_probabilities: Tensor, tokens: Sequence[int]) -> float:
    """Return the sum of the log-probabilities of tokens, one in each row."""
    indices = torch.tensor(tokens)[:, None]
    return float(log_probabilities.gather(1, indices).sum())


# ---------------------------------------------------------------- Gradients


class EmbeddingReader:
    """Runs a model on the embeddings of its tokens, wherever it looks these up.

    The decoder of a classifier with an encoder and a decoder reads a start token, or the last token
    of the text, and then the text without its last token. It gets the same embeddings as the
    encoder, one position later.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        try:
            self.table = model.get_input_embeddings()
        except Exception as error:
            raise NoReferenceError("it has no table of word embeddings") from error
        if not isinstance(self.table, nn.Embedding):
            raise NoReferenceError("it has no table of word embeddings")
        self.tables = self._find_tables()
        self._is_last_token_first = False
        if model.config.is_encoder_decoder:
            self._is_last_token_first = self._starts_with_last_token()

    def _find_tables(self) -> list[nn.Embedding]:
        """Return the modules that look tokens up: those with the weights of the table, and a decoder's own."""
        tables = []
        for name, module in self.model.named_modules():
            if not isinstance(module, nn.Embedding):
                continue
            is_decoder_table = (
                self.model.config.is_encoder_decoder
                and name.endswith("embed_tokens")
                and module.weight.shape == self.table.weight.shape
            )
            if module.weight is self.table.weight or is_decoder_table:
                tables.append(module)
        return tables

    def _starts_with_last_token(self) -> bool:
        """Return whether the decoder begins with the last token of the text, as BART's does."""
        lookups: list[list[int]] = []

        def record(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            lookups.append(inputs[0].reshape(-1).tolist())

        hooks = [table.register_forward_hook(record) for table in self.tables]
        # BART's head raises, as the text has no end token; the decoder has looked up its tokens.
        with torch.no_grad(), contextlib.suppress(ValueError):
            self.model(torch.tensor([[0, 40, 41]]))
        for hook in hooks:
            hook.remove()
        return [41, 0, 40] in lookups

    @torch.no_grad()
    def embed(self, ids: Tensor) -> Tensor:
        return self.table(ids.reshape(1, -1))[0]

    def compute_logits(self, inputs: Inputs, embeddings: Tensor) -> Tensor:
        """Return the logits of inputs whose tokens have these embeddings."""
        with self._replace_lookups(inputs["input_ids"], embeddings) as replaced:
            logits = self.model(**inputs).logits.reshape(-1)
        if not replaced:
            reason = "it does not look its tokens up in its table of word embeddings"
            raise NoReferenceError(reason)
        return logits

    @contextmanager
    def _replace_lookups(self, ids: Tensor, embeddings: Tensor) -> Iterator[list[nn.Module]]:
        """Let the tables return these embeddings; the yielded list collects the tables that did."""
        text_ids = ids.reshape(-1)
        replaced: list[nn.Module] = []

        def replace(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            replaced.append(module)
            chosen = self._choose_embeddings(inputs[0].reshape(-1), text_ids, embeddings, output)
            # Some models change the output in place.
            return chosen.reshape(output.shape).clone()

        hooks = [table.register_forward_hook(replace) for table in self.tables]
        try:
            yield replaced
        finally:
            for hook in hooks:
                hook.remove()

    def _choose_embeddings(
        self, lookup_ids: Tensor, text_ids: Tensor, embeddings: Tensor, output: Tensor
    ) -> Tensor:
        """Return the embeddings of the tokens that a table looks up.

        Args:
            lookup_ids: The tokens that it looks up.
            text_ids: (L,) tokens of the text.
            embeddings: (L, D) embeddings of the text.
            output: What the table returns.
        """
        size = len(text_ids)
        has_text_length = len(lookup_ids) == size
        if has_text_length and bool((lookup_ids == text_ids).all()):
            return embeddings
        if has_text_length and bool((lookup_ids[1:] == text_ids[:-1]).all()):
            # A decoder: its first token is the last of the text, or one of its own.
            start = output.reshape(size, -1)[:1].detach()
            if self._is_last_token_first:
                start = embeddings[-1:]
            return torch.cat((start, embeddings[:-1]))
        if len(lookup_ids) > size and bool((lookup_ids[:size] == text_ids).all()):
            # The model itself pads.
            padding = output.reshape(len(lookup_ids), -1)[size:].detach()
            return torch.cat((embeddings, padding))
        raise NoReferenceError("it looks up other tokens than those of the text")


def compute_joint_logits(
    reader: EmbeddingReader, parts: Sequence[Inputs], embeddings: Sequence[Tensor]
) -> Tensor:
    """Return the logits of an item: of a text, or of its choices, each with its own pass."""
    if len(parts) == 1:
        return reader.compute_logits(parts[0], embeddings[0])
    logits = []
    for part, rows in zip(parts, embeddings, strict=True):
        logits.append(reader.compute_logits(add_dimension(part), rows))
    return torch.cat(logits)


def integrate_gradients(
    reader: EmbeddingReader, parts: Sequence[Inputs], label: int, steps: int
) -> Floats:
    """Return the norms by token of integrated gradients of a label's probability.

    The path begins at zero embeddings, with the nodes 1/m, …, 1.
    """
    ends = [reader.embed(part["input_ids"]) for part in parts]
    means = [torch.zeros_like(end, dtype=torch.float64) for end in ends]
    for step in range(1, steps + 1):
        points = [(end * (step / steps)).requires_grad_() for end in ends]
        probability = compute_joint_logits(reader, parts, points).softmax(0)[label]
        gradients = torch.autograd.grad(probability, points)
        for mean, gradient in zip(means, gradients, strict=True):
            mean += gradient.double() / steps
    norms = [(end.double() * mean).norm(dim=1) for end, mean in zip(ends, means, strict=True)]
    return np.asarray(torch.cat(norms).numpy())


def compute_fisher(reader: EmbeddingReader, parts: Sequence[Inputs]) -> float:
    """Return the largest eigenvalue of J^T (diag p - p p^T) J, where J is the Jacobian of the logits.

    Each row of J takes a backward pass.
    """
    ends = [reader.embed(part["input_ids"]).requires_grad_() for part in parts]
    logits = compute_joint_logits(reader, parts, ends)
    rows = []
    for logit in logits:
        gradients = torch.autograd.grad(logit, ends, retain_graph=True)
        rows.append(torch.cat([gradient.reshape(-1) for gradient in gradients]).double())
    jacobian = torch.stack(rows)
    p = logits.detach().double().softmax(0)
    # The largest eigenvalue of J^T C J is that of C^(1/2) J J^T C^(1/2).
    values, vectors = torch.linalg.eigh(torch.diag(p) - torch.outer(p, p))
    root = vectors @ torch.diag(values.clamp_min(0).sqrt()) @ vectors.T
    return float(torch.linalg.eigvalsh(root @ jacobian @ jacobian.T @ root)[-1])
