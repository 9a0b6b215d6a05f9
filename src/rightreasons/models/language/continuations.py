"""Prompts with their continuations as tokens: `tokenize_continuations`.

Each kind of language model tokenizes prompts and continuations by its own rules, in its method
`tokenize`. This module has what all kinds need: an `Encoder` of many texts at once, and the
truncation of a prompt to what the model can read before a continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.protocol import Ability
from rightreasons.models.trial import ModelWithTokenizer, Outputs

WaitForScores: TypeAlias = Callable[[], list[NDArray[np.float64]]]
"""Waits for the (C,) scores of the choices of each item, which a device may still be computing."""

TokenizedTexts: TypeAlias = Iterator[tuple[list[int], list[list[int]]]]
"""The tokens of each prompt, and a list of the tokens of each of its continuations."""

# Texts that are tokenized at once.
_BLOCK_SIZE = 1024


@dataclass(frozen=True)
class TokenizedItem:
    """A prompt with choices as tokens.

    Attributes:
        name: Id of the item.
        prompt: Tokens of the prompt, at least one.
        choices: Tokens of each choice, at least one each.
        choice_indices: Index of each choice among all choices of the item, some of which may be in
            another `TokenizedItem`.
        truncated: Whether the beginning of the prompt was removed.
    """

    name: str
    prompt: list[int]
    choices: list[list[int]]
    choice_indices: list[int]
    truncated: bool


class LanguageModel(ModelWithTokenizer, Protocol):
    """A language model of transformers, as likelihoods and generation need it.

    `rightreasons.models.language.causal.CausalLM` implements it, and documents the class variables.
    """

    ABILITIES: ClassVar[frozenset[Ability]]
    STRATEGIES: ClassVar[Sequence[str]]
    REMARK: ClassVar[str]
    HAS_OUTER_TOKENS: ClassVar[bool]

    @property
    def start_token(self) -> int | None:
        """Token that replaces an empty prompt. None if the model has none."""

    @property
    def start_settings(self) -> dict[str, Any]:
        """Settings of generation that begin an answer in a decoder; empty without an encoder."""

    def get_max_prompt_length(self, max_length: int, n_continuation: int) -> int:
        """Return the maximum tokens of a prompt before `n_continuation` tokens."""

    def tokenize(
        self,
        encode: Encoder,
        prompts: Sequence[str],
        continuations: Sequence[Sequence[str]],
        *,
        bare: bool,
    ) -> TokenizedTexts:
        """Yield the tokens of each prompt, and of each of its continuations."""

    def score(self, items: Sequence[TokenizedItem], strategy: str) -> WaitForScores:
        """Start to compute the log-likelihood of each continuation of each item."""

    def score_trial_items(self, items: Sequence[TokenizedItem], strategy: str) -> Outputs:
        """Return log-likelihoods of a few items, which a trial of batching strategies compares."""


def tokenize_continuations(
    scorer: LanguageModel,
    names: Sequence[str],
    prompts: Sequence[str],
    continuations: Sequence[Sequence[str]],
    *,
    max_length: int | None = None,
    bare: bool = False,
    failures: dict[int, str] | None = None,
) -> list[list[TokenizedItem]]:
    """Tokenize prompts with their continuations, and truncate long prompts at their beginning.

    An empty prompt is replaced by the start token of the model, unless the model reads other
    special tokens before every text.

    Args:
        scorer: The model, which tokenizes a prompt with its continuations by its own rules.
        names: N ids of items, for errors.
        prompts: N prompts.
        continuations: N lists of continuations, each with the space that separates it from its
            prompt, such as " yes".
        max_length: Maximum number of tokens of a prompt with a continuation. If None, the maximum
            of the model.
        bare: Whether the prompts already contain their special tokens, as those of a chat template
            do.
        failures: Dictionary to which index -> reason is added for each item that cannot be
            tokenized. If None, the first such item raises an error.

    Returns:
        N lists. A list has one `TokenizedItem`; several if a prompt is truncated to different
        lengths for its continuations; none if the item cannot be tokenized.

    Raises:
        ValueError: If no item can be tokenized or, without `failures`, if one cannot: a
            continuation has no tokens or is too long, or a prompt is empty and the model has no
            start token.
    """
    encode = Encoder(scorer.tokenizer, scorer.start_token)
    max_length = max_length or scorer.max_length
    items: list[list[TokenizedItem]] = []
    # Tokenizing in blocks keeps the texts of prompts with their continuations out of memory.
    for start in range(0, len(prompts), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        tokenized = scorer.tokenize(encode, prompts[block], continuations[block], bare=bare)
        for name, (prompt, choices) in zip(names[block], tokenized, strict=True):
            try:
                item = _truncate(scorer, name, prompt, choices, max_length)
            except ValueError as error:
                if failures is None:
                    raise
                failures[len(items)] = str(error)
                item = []
            items.append(item)
    # If every item fails, the first reason is enough, because usually all have the same.
    if failures and not any(items):
        raise ValueError(failures[0])
    return items


class Encoder:
    """Tokenizes many texts at once, with and without special tokens.

    Args:
        tokenizer: A tokenizer of transformers.
        start_token: Token that replaces an empty prompt, or None.

    Attributes:
        start: The start token in a list; empty if there is none.
        prefix: Special tokens that the tokenizer puts before a text.
        suffix: Special tokens that the tokenizer puts after a text.
    """

    def __init__(self, tokenizer: Any, start_token: int | None) -> None:
        """Find the special tokens before and after a text, from those around a letter.

        Args:
            tokenizer: A tokenizer of transformers.
            start_token: Token that replaces an empty prompt. None if the model has no such token.
        """
        self.tokenizer = tokenizer
        self.start: list[int] = []
        # Chat templates write the start token as text, which must not be tokenized a second time.
        self._start_text = ""
        if start_token is not None:
            self.start = [start_token]
            self._start_text = str(tokenizer.decode(self.start))

        # Not every tokenizer lists the special tokens that it adds. A text is tokenized with and
        # without them: the tokens before and after those of the text are the special ones.
        (surrounded,) = self.with_special_tokens(["a"])
        (letter,) = self.without_special_tokens(["a"])
        letter_start = _find_tokens(surrounded, letter)
        letter_end = letter_start + len(letter)
        self.prefix = surrounded[:letter_start]
        self.suffix: list[int] = []
        # A tokenizer that does not know the letter returns no token for it, so that the end of the
        # prefix is unknown.
        if letter:
            self.suffix = surrounded[letter_end:]

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts that will be continued: with special tokens before, but none after them.

        A text that already begins with the start token, as chat templates write it, does not get a
        second one.

        Args:
            texts: N texts.

        Returns:
            N lists of token ids.
        """
        # Only two calls of the tokenizer, because a fast tokenizer divides many texts among
        # threads.
        started_rows: list[int] = []
        plain_rows: list[int] = []
        for row, text in enumerate(texts):
            if self._start_text and text.startswith(self._start_text):
                started_rows.append(row)
            else:
                plain_rows.append(row)
        token_rows: list[list[int]] = [[] for _ in texts]
        started = self.without_special_tokens([texts[row] for row in started_rows])
        for row, tokens in zip(started_rows, started, strict=True):
            token_rows[row] = tokens
        plain = self.with_special_tokens([texts[row] for row in plain_rows])
        for row, tokens in zip(plain_rows, plain, strict=True):
            n_kept = len(tokens) - len(self.suffix)
            token_rows[row] = tokens[:n_kept]
        return token_rows

    def without_special_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize N texts without special tokens, and return N lists of token ids."""
        return self._tokenize(texts, has_special_tokens=False)

    def with_special_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize N texts with special tokens before and after them, as lists of token ids."""
        return self._tokenize(texts, has_special_tokens=True)

    def _tokenize(self, texts: Sequence[str], *, has_special_tokens: bool) -> list[list[int]]:
        # Tokenizers fail if there is no text.
        if not texts:
            return []
        encoded = self.tokenizer(
            list(texts),
            add_special_tokens=has_special_tokens,
            return_attention_mask=False,
            # The tokenizer need not warn of long texts, which are truncated later.
            verbose=False,
        )
        return list(encoded["input_ids"])


def _find_tokens(row: Sequence[int], tokens: Sequence[int]) -> int:
    """Return the first index at which a sequence of tokens occurs in a longer one.

    If it does not occur, the largest index at which it would fit is returned.

    Args:
        row: The longer sequence.
        tokens: The tokens to find.

    Example:
        >>> _find_tokens([1, 5, 6, 2], [5, 6])
        1
        >>> _find_tokens([1, 5, 6, 2], [7, 8])
        2
    """
    n_tokens = len(tokens)
    max_index = len(row) - n_tokens
    for index in range(max_index + 1):
        if row[index : index + n_tokens] == tokens:
            return index
    return max_index


def _truncate(
    scorer: LanguageModel,
    name: str,
    prompt: list[int],
    choices: Sequence[list[int]],
    max_length: int,
) -> list[TokenizedItem]:
    """Truncate a prompt at its beginning, so that the model can read it with each of its choices.

    A long choice leaves fewer tokens to its prompt than a short one. Choices after equally long
    prompts are in one `TokenizedItem`.

    Args:
        scorer: The model. Its `get_max_prompt_length` says how long a prompt may be before a
            choice.
        name: Id of the item, for errors.
        prompt: Tokens of the prompt.
        choices: Tokens of each choice.
        max_length: Maximum number of tokens that the model reads.

    Raises:
        ValueError: If the prompt is empty and the model has no start token, or if a choice has no
            tokens or is too long.
    """
    if not prompt and not scorer.HAS_OUTER_TOKENS:
        raise ValueError(
            f"Expected the tokenizer of {scorer.name} to have a begin- or end-of-sequence token "
            f"for the empty prompt of item {name!r}, but the tokenizer has neither."
        )
    # Number of tokens of the truncated prompt -> the choices after it.
    item_by_prompt_length: dict[int, TokenizedItem] = {}
    for choice_index, choice in enumerate(choices):
        if not choice:
            raise ValueError(
                f"Expected at least one token in each choice, but choice {choice_index} of item "
                f"{name!r} has no tokens."
            )
        max_prompt = scorer.get_max_prompt_length(max_length, len(choice))
        if max_prompt < 1:
            raise ValueError(
                f"Expected choices that {scorer.name} can read (up to {max_length} tokens), but "
                f"item {name!r} has a choice of {len(choice)} tokens."
            )
        # The end of a prompt is kept, because the choice follows it.
        truncated_prompt = prompt[-max_prompt:]
        n_prompt = len(truncated_prompt)
        if n_prompt not in item_by_prompt_length:
            item_by_prompt_length[n_prompt] = TokenizedItem(
                name=name,
                prompt=truncated_prompt,
                choices=[],
                choice_indices=[],
                truncated=len(prompt) > max_prompt,
            )
        item_by_prompt_length[n_prompt].choices.append(choice)
        item_by_prompt_length[n_prompt].choice_indices.append(choice_index)
    return list(item_by_prompt_length.values())
