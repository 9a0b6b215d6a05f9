"""The literal way: one item at a time, unpadded, by the plain forward pass of the model; nothing of ours is used."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]


class NoLiteral(Exception):
    """The literal way is not defined for a model; the message says why."""


def inputs_of(tokenizer: Any, text: str, pair: str | None, length: int) -> dict[str, Tensor]:
    tokens = tokenizer(text, pair, truncation=True, max_length=length, return_tensors="pt")
    return dict(tokens)


@torch.no_grad()
def logits(model: Any, inputs: dict[str, Tensor]) -> Floats:
    return np.asarray(model(**inputs).logits[0].double().numpy())


@torch.no_grad()
def pair_logit(model: Any, inputs: dict[str, Tensor]) -> float:
    """The number of a multiple-choice head for one (prompt, choice) pair, as (1, 1, L)."""
    return float(model(**{name: tensor[None] for name, tensor in inputs.items()}).logits[0, 0])


def likelihood(
    model: Any, tokenizer: Any, prompt: str, choice: str, length: int
) -> tuple[float, int]:
    """The log-likelihood of a space and a choice after a prompt, and its tokens: as lm-evaluation-harness asks for it.

    Prompt and choice are encoded together, and cut where the prompt alone ends; what is too long is cut at the left.
    """
    if prompt:
        stem = prompt.rstrip()
        after = prompt[len(stem) :] + " " + choice
        whole = tokenizer(stem + after, add_special_tokens=False)["input_ids"]
        given = tokenizer(stem, add_special_tokens=False)["input_ids"]
        continuation = whole[len(given) :]
    else:
        given, continuation = (
            [_start(tokenizer)],
            tokenizer(" " + choice, add_special_tokens=False)["input_ids"],
        )
    tokens = (given + continuation)[-(length + 1) :][:-1]
    with torch.no_grad():
        rows = (
            model(input_ids=torch.tensor([tokens]), use_cache=False)
            .logits[0]
            .double()
            .log_softmax(-1)
        )
    at = rows[len(tokens) - len(continuation) :]
    return float(at.gather(1, torch.tensor(continuation)[:, None]).sum()), len(continuation)


@torch.no_grad()
def answered(
    model: Any, tokenizer: Any, prompt: str, choice: str, length: int
) -> tuple[float, int]:
    """The log-likelihood of a space and a choice by the decoder after the encoder has read the prompt, and its tokens.

    Neither the token that the decoder begins with nor the end of the choice is scored.
    """
    stem = prompt.rstrip()
    after = prompt[len(stem) :] + " " + choice
    read = tokenizer(stem)["input_ids"][-length:] if stem else [_start(tokenizer)]
    wanted = tokenizer(after, add_special_tokens=False)["input_ids"]
    given = torch.tensor([[model.config.decoder_start_token_id, *wanted[:-1]]])
    rows = (
        model(input_ids=torch.tensor([read]), decoder_input_ids=given)
        .logits[0]
        .double()
        .log_softmax(-1)
    )
    return float(rows.gather(1, torch.tensor(wanted)[:, None]).sum()), len(wanted)


@torch.no_grad()
def masked(model: Any, tokenizer: Any, prompt: str, choice: str, length: int) -> tuple[float, int]:
    """The pseudo-log-likelihood of a space and a choice after a prompt, each token masked in turn, and its tokens."""
    stem = prompt.rstrip()
    after = prompt[len(stem) :] + " " + choice
    whole = tokenizer(stem + after, add_special_tokens=False)["input_ids"]
    given = tokenizer(stem, add_special_tokens=False)["input_ids"]
    first = len(given)
    if whole[:first] != given:
        whole = given + tokenizer(after, add_special_tokens=False)["input_ids"]
    total = 0.0
    for place in range(first, len(whole)):
        tokens = [*whole[:place], tokenizer.mask_token_id, *whole[place + 1 :]]
        row = [tokenizer.cls_token_id, *tokens, tokenizer.sep_token_id]
        logits = model(input_ids=torch.tensor([row])).logits[0, place + 1].double()
        total += float(logits.log_softmax(-1)[whole[place]])
    return total, len(whole) - first


def _start(tokenizer: Any) -> int:
    return int(
        tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    )


LIKELIHOODS = {"causal": likelihood, "encoder-decoder": answered, "masked": masked}
"""How the kinds of language models score a choice, one at a time."""


class Reader:
    """Runs a model on given embeddings of its tokens, wherever it looks these tokens up.

    The decoder of a model with two readers sees a token of its own, or the last of the text, and then the text without
    its last place, so it is given the same embeddings, one place later.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        try:
            self.table = model.get_input_embeddings()
        except Exception as error:
            raise NoLiteral("it has no table of word embeddings") from error
        if not isinstance(self.table, nn.Embedding):
            raise NoLiteral("it has no table of word embeddings")
        self.tables = [
            module
            for module in model.modules()
            if isinstance(module, nn.Embedding) and module.weight is self.table.weight
        ]
        if model.config.is_encoder_decoder:
            size = self.table.weight.shape
            self.tables += [
                module
                for name, module in model.named_modules()
                if name.endswith("embed_tokens") and isinstance(module, nn.Embedding)
                and module.weight.shape == size and module not in self.tables
            ]  # fmt: skip

        self._last_first = False
        if model.config.is_encoder_decoder:
            probe, seen = torch.tensor([[0, 40, 41]]), []
            hooks = [
                table.register_forward_hook(lambda _, asked, out: seen.append(asked[0]))
                for table in self.tables
            ]
            with (
                torch.no_grad(),
                contextlib.suppress(ValueError),
            ):  # BART's head wants the end of the text
                model(probe)
            for hook in hooks:
                hook.remove()
            self._last_first = any(ids.reshape(-1).tolist() == [41, 0, 40] for ids in seen)

    def embeddings(self, ids: Tensor) -> Tensor:
        with torch.no_grad():
            return self.table(ids.reshape(1, -1))[0]

    @contextmanager
    def _given(self, ids: Tensor, embeddings: Tensor):
        wanted = ids.reshape(-1)
        uses = []

        def replace(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
            asked = inputs[0]
            flat = asked.reshape(-1)
            size = len(wanted)
            if len(flat) == size and bool((flat == wanted).all()):
                new = embeddings
            elif len(flat) == size and bool((flat[1:] == wanted[:-1]).all()):
                begin = (
                    embeddings[-1:] if self._last_first else output.reshape(size, -1)[:1].detach()
                )
                new = torch.cat((begin, embeddings[:-1]))
            elif len(flat) > size and bool(
                (flat[:size] == wanted).all()
            ):  # the model pads by itself
                new = torch.cat((embeddings, output.reshape(len(flat), -1)[size:].detach()))
            else:
                raise NoLiteral("it looks up other tokens than those of the text")
            uses.append(module)
            return new.reshape(output.shape).clone()  # some models change it in place

        hooks = [table.register_forward_hook(replace) for table in self.tables]
        try:
            yield uses
        finally:
            for hook in hooks:
                hook.remove()

    def logits(self, inputs: dict[str, Tensor], embeddings: Tensor) -> Tensor:
        with self._given(inputs["input_ids"], embeddings) as uses:
            logits = self.model(**inputs).logits.reshape(-1)
        if not uses:
            raise NoLiteral("it does not look its tokens up in its table of word embeddings")
        return logits


def _joint(
    reader: Reader, parts: Sequence[dict[str, Tensor]], embeddings: Sequence[Tensor]
) -> Tensor:
    """The logits of an item: of a text, or of its choices, each with its own pass."""
    if len(parts) == 1:
        return reader.logits(parts[0], embeddings[0])
    passes = [{name: tensor[None] for name, tensor in part.items()} for part in parts]
    return torch.cat(
        [reader.logits(part, given) for part, given in zip(passes, embeddings, strict=True)]
    )


def attributions(
    reader: Reader, parts: Sequence[dict[str, Tensor]], label: int, steps: int
) -> Floats:
    """Integrated gradients of a label's probability from zero embeddings at the nodes 1/m, …, 1: norms by token."""
    ends = [reader.embeddings(part["input_ids"]) for part in parts]
    total = [torch.zeros_like(end, dtype=torch.float64) for end in ends]
    for step in range(1, steps + 1):
        points = [(end * (step / steps)).requires_grad_() for end in ends]
        probability = _joint(reader, parts, points).softmax(0)[label]
        for sum_, gradient in zip(total, torch.autograd.grad(probability, points), strict=True):
            sum_ += gradient.double() / steps
    norms = [(end.double() * mean).norm(dim=1) for end, mean in zip(ends, total, strict=True)]
    return np.asarray(torch.cat(norms).numpy())


def fisher(reader: Reader, parts: Sequence[dict[str, Tensor]]) -> float:
    """The largest eigenvalue of J^T (diag p - p p^T) J, J the Jacobian of the logits: one backward pass per logit."""
    ends = [reader.embeddings(part["input_ids"]).requires_grad_() for part in parts]
    logits = _joint(reader, parts, ends)
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
