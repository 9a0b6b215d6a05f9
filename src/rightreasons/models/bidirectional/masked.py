"""A masked language model, such as BERT or RoBERTa with its own head: each word of an answer is masked in turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.models.batching import later, sent
from rightreasons.models.causal import CausalLM
from rightreasons.models.likelihoods import Asked, tokenize_apart
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, UNBOUNDED, Way

# Tokens that are read at once, each with a logit of every word.
_AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class MaskedLM(CausalLM):
    """A masked language model with its tokenizer; the attributes are those of `CausalLM`.

    The score of an answer is its pseudo-log-likelihood, sum_t log P(a_t | x, a without a_t): the model reads prompt and
    answer with one token of the answer masked, and what is behind it, too. It is the sum of Salazar et al. (2020),
    equation 1, over the tokens of the answer alone, and no log-probability: over all answers its exponentials do not
    sum to 1. It writes nothing.

    References:
        Salazar, Liang, Nguyen & Kirchhoff (2020), "Masked Language Model Scoring", ACL.
    """

    KIND: ClassVar[str] = "masked language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForMaskedLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset({"next_words"})
    WAY: ClassVar[Way] = Way(EQUAL_LENGTHS, UNBOUNDED, "pseudo-log-likelihoods: each token of an answer masked in turn")

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt beside a continuation and the special tokens around both."""
        return bound - size - sum(map(len, self._around))

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The special tokens before a text and behind it."""
        whole, plain = (self._ids("a", special=special) for special in (True, False))
        first = next(place for place in range(len(whole)) if whole[place : place + len(plain)] == plain)
        return whole[:first], whole[first + len(plain) :]

    def _ids(self, text: str, *, special: bool = False) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=special, verbose=False)["input_ids"])

    def tokenize(
        self, names: Sequence[str], heads: Sequence[str], texts: Sequence[Sequence[str]], **how: Any
    ) -> list[list[Asked]]:
        """Tokenize each text with each of its continuations, without special tokens."""
        how.pop("bare", None)
        rows = (
            (self._ids(head), [(self._ids(head + text), text) for text in row])
            for head, row in zip(heads, texts, strict=True)
        )
        pairs = (
            (first, [t[len(first) :] if t[: len(first)] == first else self._ids(text) for t, text in row])
            for first, row in rows
        )
        return tokenize_apart(self, names, pairs, **how)

    def score(self, items: Sequence[Asked], *_: Any) -> Callable[[], list[NDArray[np.float64]]]:
        """Ask for the pseudo-log-likelihood of each continuation of each item."""
        (front, behind), device = self._around, self.model.device
        rows: list[tuple[list[int], int, int, int]] = []  # tokens, place of the mask, the token there, continuation
        choices = [(asked, choice) for asked in items for choice in asked.choices]
        for owner, (asked, choice) in enumerate(choices):
            whole, first = [*front, *asked.prompt, *choice, *behind], len(front) + len(asked.prompt)
            for place, token in enumerate(choice, first):
                rows.append(([*whole[:place], self.tokenizer.mask_token_id, *whole[place + 1 :]], place, token, owner))
        rows.sort(key=lambda row: len(row[0]))
        parts = []
        for size, group in itertools.groupby(rows, key=lambda row: len(row[0])):
            own, step = [*group], max(1, _AT_ONCE // size)
            for block in (own[start : start + step] for start in range(0, len(own), step)):
                tokens = sent(np.array([row[0] for row in block], dtype=np.int64), device)
                places, wanted = (sent(np.array([row[n] for row in block]), device) for n in (1, 2))
                logits = self.model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
                logits = logits[torch.arange(len(block), device=device), places].float()
                parts.append((logits.gather(1, wanted[:, None])[:, 0] - logits.logsumexp(dim=1)).double())
        ends = np.cumsum([len(asked.choices) for asked in items])[:-1]

        def summed(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
            owners = np.array([row[3] for row in rows])
            return np.split(np.bincount(owners, values, len(choices)), ends)

        return later(summed, torch.cat(parts))

    def try_out(self) -> None:
        """Try it on a few short sequences; without a mask token it cannot be asked."""
        if self.tokenizer.mask_token_id is None:
            raise ValueError(f"Expected a mask token in the tokenizer of {self.name}, but it has none.")
        CausalLM.try_out(self)
