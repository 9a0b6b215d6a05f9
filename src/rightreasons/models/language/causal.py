"""A causal language model with its tokenizer: `CausalLM`, which the other kinds are derived from.

The class says what differs between kinds of language models: how they tokenize a prompt with its
continuations, how they score them, and which ways of batching may be exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import transformers

from rightreasons.models.classes import OfTransformers
from rightreasons.models.language.continuations import (
    Encoder,
    TokenizedTexts,
    Tokens,
    WaitForScores,
)
from rightreasons.models.language.likelihood_runs import find_likelihood_way
from rightreasons.models.language.likelihoods import (
    WAYS,
    likelihoods,
    score_one_by_one,
    token_likelihoods,
)
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import ONE_BY_ONE, SHORTEST, Answers


@dataclass(frozen=True, eq=False)
class CausalLM(OfTransformers):
    """A causal language model with its tokenizer.

    Attributes:
        KIND: Name of the kind, for errors.
        OPENED_BY: Class of transformers that opens it.
        ASKED: Abilities of an engine with it.
        WAYS: Ways of batching, the fastest first: a trial finds which of them is exact.
        TOLD: Remark on its scores, next to the way; "" for none.
        SURROUNDED: Whether special tokens stand around all that is read, so that a prompt may be
            empty.
        model: A model of transformers with a language-modeling head, in evaluation mode.
        tokenizer: Its tokenizer.
        name: The folder or hub id that the user gave.
    """

    model: Any
    tokenizer: Any
    name: str

    KIND: ClassVar[str] = "causal language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForCausalLM
    ASKED: ClassVar[frozenset[Ability]] = frozenset(
        {"likelihoods", "next_words", "text", "processes"}
    )
    WAYS: ClassVar[Sequence[str]] = WAYS
    TOLD: ClassVar[str] = ""
    SURROUNDED: ClassVar[bool] = False

    @property
    def start_token(self) -> int | None:
        """Token in the place of an empty prompt: begin of sequence, else end of sequence."""
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        return None

    @property
    def opening(self) -> dict[str, Any]:
        """Settings of generation for the beginning of an answer that does not follow its prompt."""
        return {}

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt before a continuation.

        The model reads both, but not the last token of the continuation, which is only predicted.

        Args:
            bound: Maximum tokens that the model reads.
            size: Tokens of the continuation.
        """
        return bound + 1 - size

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> TokenizedTexts:
        """Yield the tokens of each text, and of each of its continuations.

        A text and its continuation are tokenized together. The tokens after as many as the text has
        when it is tokenized separately are those of the continuation. Special tokens at the end of
        a text ([SEP] or </s>) are left out.

        Args:
            encode: Tokenizes texts.
            heads: N texts. An empty one is the start token.
            texts: N lists of continuations, exactly as they follow.
            bare: Whether the texts contain all of their special tokens, as those of a chat
                template.

        Yields:
            The tokens of a text, and a list of the tokens of its continuations.
        """
        tokenize = encode.bare if bare else encode
        head_rows = tokenize(heads)
        # The continuations of an empty text are tokenized without special tokens: it changes no
        # tokens of what follows it.
        joined_texts: list[str] = []
        separate_texts: list[str] = []
        for head, continuations in zip(heads, texts, strict=True):
            if head:
                joined_texts += [head + text for text in continuations]
            else:
                separate_texts += continuations
        # All at once, because a fast tokenizer divides many texts among threads. The rows are
        # handed out again in the same order.
        joined_rows = iter(tokenize(joined_texts))
        separate_rows = iter(encode.bare(separate_texts))

        for head, head_tokens, continuations in zip(heads, head_rows, texts, strict=True):
            n_choices = len(continuations)
            if not head:
                # A continuation that itself begins with the start token does not repeat it.
                rows = list(itertools.islice(separate_rows, n_choices))
                yield encode.start, [_drop_start(encode, row) for row in rows]
                continue
            choices = []
            rows = list(itertools.islice(joined_rows, n_choices))
            for text, row in zip(continuations, rows, strict=True):
                choice = row[len(head_tokens) :]
                # A prompt with all of its special tokens must be read as it is. If its end merges
                # with the beginning of the continuation, that is tokenized separately.
                if bare and row[: len(head_tokens)] != head_tokens:
                    choice = encode.bare([text])[0]
                choices.append(choice)
            yield head_tokens or encode.start, choices

    def score(self, items: Sequence[Tokens], way: str) -> WaitForScores:
        """Start to compute the log-likelihood of each continuation of each item."""
        return likelihoods(self.model, items, way)

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Return the log-likelihoods of the tokens of each choice of some trial items.

        Args:
            items: The items.
            way: One of `WAYS`.

        Returns:
            (T,) log-likelihoods per choice, one choice after another.

        Raises:
            RefusalError: If the model reads the tokens that it is to predict, which only the way
                `ONE_BY_ONE` finds.
        """
        # This also finds models that read ahead.
        if way == ONE_BY_ONE:
            return score_one_by_one(self.model, items, self.name)
        return token_likelihoods(self.model, items, way)()

    def try_out(self) -> None:
        """Try the model on a few short sequences.

        Raises:
            ValueError: If it cannot be asked.
        """
        find_likelihood_way(self, longest=SHORTEST)


def _drop_start(encode: Encoder, row: list[int]) -> list[int]:
    """Return tokens without a start token at their beginning."""
    if encode.start and row[:1] == encode.start:
        return row[1:]
    return row
