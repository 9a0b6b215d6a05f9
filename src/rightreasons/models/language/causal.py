"""A causal language model with its tokenizer: `CausalLM`, which the other kinds are derived from.

The class defines what differs between kinds of language models: how they tokenize a prompt with its
continuations, how they score them, and which batching strategies may be exact.
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
    TokenizedItem,
    TokenizedTexts,
    WaitForScores,
)
from rightreasons.models.language.likelihood_runs import find_likelihood_strategy
from rightreasons.models.language.likelihoods import (
    STRATEGIES,
    likelihoods,
    score_one_by_one,
    token_likelihoods,
)
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import ONE_BY_ONE, SHORTEST, Outputs


@dataclass(frozen=True, eq=False)
class CausalLM(OfTransformers):
    """A causal language model with its tokenizer.

    Attributes:
        KIND: Name of the kind of model, for errors.
        OPENED_BY: Class of transformers that opens the model.
        ABILITIES: Abilities of an engine with the model.
        STRATEGIES: Names of batching strategies, the fastest first; a trial finds which are exact.
        REMARK: Remark on the scores, which reports show next to the batching strategy; may be
            empty.
        HAS_OUTER_TOKENS: Whether special tokens surround every prompt with its continuation. Then
            the prompt may be empty.
        model: A model of transformers with a language-modeling head, in evaluation mode.
        tokenizer: Its tokenizer.
        name: The folder or hub id that the user gave.
    """

    model: Any
    tokenizer: Any
    name: str

    KIND: ClassVar[str] = "causal language model"
    OPENED_BY: ClassVar[Any] = transformers.AutoModelForCausalLM
    ABILITIES: ClassVar[frozenset[Ability]] = frozenset(
        {"likelihoods", "next_words", "text", "processes"}
    )
    STRATEGIES: ClassVar[Sequence[str]] = STRATEGIES
    REMARK: ClassVar[str] = ""
    HAS_OUTER_TOKENS: ClassVar[bool] = False

    @property
    def start_token(self) -> int | None:
        """Token that replaces an empty prompt: the begin- or else the end-of-sequence token."""
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        return None

    @property
    def start_settings(self) -> dict[str, Any]:
        """Settings of generation for the start of an answer; empty, as there is no encoder."""
        return {}

    def get_max_prompt_length(self, max_length: int, n_continuation: int) -> int:
        """Return the maximum number of tokens of a prompt before a continuation.

        The last token of the continuation is predicted, but not read.

        Args:
            max_length: Maximum number of tokens that the model reads.
            n_continuation: Number of tokens of the continuation.
        """
        return max_length + 1 - n_continuation

    def tokenize(
        self,
        encode: Encoder,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        bare: bool,
    ) -> TokenizedTexts:
        """Yield the tokens of each prompt, and of each of its continuations.

        A prompt and a continuation are tokenized together. If the prompt has n tokens, those of
        the continuation begin at index n of the joined text. Special tokens at the end of a text
        ([SEP] or </s>) are left out.

        Args:
            encode: Tokenizes texts.
            prompts: N prompts. An empty one is replaced by the start token.
            continuations: N lists of continuations, each with the space that separates it from its
                prompt, such as " yes".
            bare: Whether the prompts already contain their special tokens, as those of a chat
                template do.

        Yields:
            The tokens of a prompt, and a list of the tokens of its continuations.
        """
        tokenize = encode.without_special_tokens if bare else encode
        prompt_rows = tokenize(prompts)
        # All texts are tokenized at once, because a fast tokenizer divides them among threads. The
        # rows of tokens are distributed again in the same order.
        joined_texts: list[str] = []
        separate_texts: list[str] = []
        for prompt, item_continuations in zip(prompts, continuations, strict=True):
            if prompt:
                joined_texts += [prompt + text for text in item_continuations]
            else:
                # After an empty prompt, a continuation is tokenized separately.
                separate_texts += item_continuations
        joined_rows = iter(tokenize(joined_texts))
        separate_rows = iter(encode.without_special_tokens(separate_texts))

        for prompt, prompt_tokens, item_continuations in zip(
            prompts, prompt_rows, continuations, strict=True
        ):
            n_choices = len(item_continuations)
            if not prompt:
                # A continuation that itself begins with the start token must not repeat it.
                rows = list(itertools.islice(separate_rows, n_choices))
                yield encode.start, [_drop_start(encode, row) for row in rows]
                continue
            n_prompt = len(prompt_tokens)
            choices = []
            rows = list(itertools.islice(joined_rows, n_choices))
            for text, row in zip(item_continuations, rows, strict=True):
                choice = row[n_prompt:]
                # A rendered chat template must be read unchanged. If tokenizing merges its end with
                # the beginning of the continuation, the continuation is tokenized separately.
                if bare and row[:n_prompt] != prompt_tokens:
                    choice = encode.without_special_tokens([text])[0]
                choices.append(choice)
            yield prompt_tokens or encode.start, choices

    def score(self, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
        """Start to compute the log-likelihood of each continuation of each item."""
        return likelihoods(self.model, items, strategy)

    def score_trial_items(self, items: Sequence[TokenizedItem], strategy: str) -> Outputs:
        """Return the log-likelihood of each token of each choice of some trial items.

        Args:
            items: The items.
            strategy: Name of a batching strategy, one of `STRATEGIES`.

        Returns:
            (T,) log-likelihoods per choice, one choice after another.

        Raises:
            RefusalError: If the model is not causal: its score of a token depends on later tokens.
                This is only checked by the strategy `ONE_BY_ONE`.
        """
        # The function also checks that the model is causal.
        if strategy == ONE_BY_ONE:
            return score_one_by_one(self.model, items, self.name)
        return token_likelihoods(self.model, items, strategy)()

    def try_out(self) -> None:
        """Run a trial of the model on a few short sequences.

        Raises:
            ValueError: If the model cannot score texts, with the reason.
        """
        find_likelihood_strategy(self, longest=SHORTEST)


def _drop_start(encode: Encoder, row: list[int]) -> list[int]:
    """Return tokens without a start token at their beginning."""
    if encode.start and row[:1] == encode.start:
        return row[1:]
    return row
