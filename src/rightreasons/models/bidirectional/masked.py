"""A masked language model, such as BERT or RoBERTa with its own head: each word of an answer is masked in turn."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from rightreasons.models.batching import later, sent
from rightreasons.models.bidirectional.encoder_decoder import Bidirectional
from rightreasons.models.likelihoods import Asked, Encoder
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import ONE_BY_ONE, Answers

# Tokens that are read at once, each with a logit of every word.
_AT_ONCE = 2048
# Tokens of a choice that are read in a trial.
_FEW = 3


@dataclass(frozen=True, eq=False)
class MaskedLM(Bidirectional):
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
    TOLD: ClassVar[str] = "pseudo-log-likelihoods: each token of an answer masked in turn"
    SURROUNDED: ClassVar[bool] = True

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt beside a continuation and the special tokens around both."""
        return bound - size - sum(map(len, self._around))

    @property
    def start_token(self) -> None:
        """None: what stands before all that is read takes the place of an empty prompt."""
        return

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The special tokens before a text and behind it."""
        encode = Encoder(self.tokenizer, None)
        return encode.before, encode.behind

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield the tokens of each text, and of each of its continuations, without special tokens."""
        return super().tokens(encode, heads, texts, bare=True)

    def answers(self, items: Sequence[Asked], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way; of each choice, whose tokens are read one by one, the first few."""
        short = [dataclasses.replace(asked, choices=[own[:_FEW] for own in asked.choices]) for asked in items]
        return super().answers(short, way, name)

    def score(self, items: Sequence[Asked], way: str, *_: Any) -> Callable[[], list[NDArray[np.float64]]]:
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
            own, step = [*group], 1 if way == ONE_BY_ONE else max(1, _AT_ONCE // size)
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
        super().try_out()
