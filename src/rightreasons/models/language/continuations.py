"""Prompts with their continuations as tokens: `tokenize_continuations`.

Each kind of language model tokenizes prompts and continuations by its own rules, which are its
method `tokens`. What they share is here: an `Encoder` of many texts at once, and the truncation of
a prompt to what the model reads before a continuation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rightreasons.models.protocol import Ability
from rightreasons.models.trial import Answers, ModelWithTokenizer

WaitForScores: TypeAlias = Callable[[], list[NDArray[np.float64]]]
"""Waits for the (C,) scores of each item of a batch that has been launched."""

TokenizedTexts: TypeAlias = Iterator[tuple[list[int], list[list[int]]]]
"""The tokens of each text, and of each of its continuations."""

# Texts that are tokenized at once.
_BLOCK_SIZE = 1024


@dataclass(frozen=True)
class Tokens:
    """A prompt with choices as tokens.

    Attributes:
        name: Name of the item.
        prompt: Tokens of the prompt, at least one.
        choices: Tokens of each choice, at least one each.
        places: Position of each choice among those of its item.
        truncated: Whether the prompt was truncated, at its beginning.
    """

    name: str
    prompt: list[int]
    choices: list[list[int]]
    places: list[int]
    truncated: bool


class LanguageModel(ModelWithTokenizer, Protocol):
    """A language model of transformers, as likelihoods and generation need it.

    `models.language.causal.CausalLM` is the usual one, and documents the class variables.
    """

    ASKED: ClassVar[frozenset[Ability]]
    WAYS: ClassVar[Sequence[str]]
    TOLD: ClassVar[str]
    SURROUNDED: ClassVar[bool]

    @property
    def start_token(self) -> int | None:
        """Token in the place of an empty prompt. None if the model has none."""

    @property
    def opening(self) -> dict[str, Any]:
        """Settings of generation for the beginning of an answer that does not follow its prompt."""

    def room(self, bound: int, size: int) -> int:
        """Return the maximum tokens of a prompt before a continuation of `size` tokens."""

    def tokens(
        self, encode: Encoder, heads: Sequence[str], texts: Sequence[Sequence[str]], *, bare: bool
    ) -> TokenizedTexts:
        """Yield the tokens of each text, and of each of its continuations."""

    def score(self, items: Sequence[Tokens], way: str) -> WaitForScores:
        """Start to compute the log-likelihood of each continuation of each item."""

    def answers(self, items: Sequence[Tokens], way: str) -> Answers:
        """Return the numbers of each item of a trial."""


def tokenize_continuations(
    scorer: LanguageModel,
    names: Sequence[str],
    heads: Sequence[str],
    texts: Sequence[Sequence[str]],
    *,
    max_length: int | None = None,
    bare: bool = False,
    failures: dict[int, str] | None = None,
) -> list[list[Tokens]]:
    """Tokenize each prompt with each of its continuations, and truncate prompts at their beginning.

    An empty prompt is the model's start token, unless other tokens stand before all that is read.

    Args:
        scorer: The model.
        names: N ids of items, for errors.
        heads: N prompts.
        texts: N lists of continuations, exactly as they follow.
        max_length: Maximum tokens of each; None takes what the model reads.
        bare: Whether the prompts contain all of their special tokens, as those of a chat template.
        failures: A dictionary to which position -> reason is added for each item that cannot be
            asked. If None, the first such item is an error.

    Returns:
        N lists: one `Tokens`, or several if a prompt is truncated differently for its
        continuations; none for an item that cannot be asked.

    Raises:
        ValueError: If a continuation has no tokens, or more than the model can read, or a prompt is
            empty and there is no start token.
    """
    encode = Encoder(scorer.tokenizer, scorer.start_token)
    max_length = max_length or scorer.max_length
    items: list[list[Tokens]] = []
    # Tokenizing in blocks keeps the texts of prompts with their continuations out of memory.
    for start in range(0, len(heads), _BLOCK_SIZE):
        block = slice(start, start + _BLOCK_SIZE)
        tokenized = scorer.tokens(encode, heads[block], texts[block], bare=bare)
        for name, (prompt, choices) in zip(names[block], tokenized, strict=True):
            try:
                item = _truncate(scorer, name, prompt, choices, max_length)
            except ValueError as error:
                if failures is None:
                    raise
                failures[len(items)] = str(error)
                item = []
            items.append(item)
    # If no item can be asked, one reason is enough: most often, all have the same.
    if failures and not any(items):
        raise ValueError(failures[0])
    return items


class Encoder:
    """Tokenizes many texts at once, with and without special tokens.

    Attributes:
        start: The start token, as a list; [] if there is none.
        before: Special tokens that the tokenizer puts before a text.
        behind: Special tokens that it puts after a text.
    """

    def __init__(self, tokenizer: Any, start_token: int | None) -> None:
        self.tokenizer = tokenizer
        # The start token, and as text, as chat templates write it out.
        self.start = [] if start_token is None else [start_token]
        self._start_text = str(tokenizer.decode(self.start)) if self.start else ""
        # The special tokens are those around a letter, which is tokenized with and without them.
        (surrounded,) = self.whole(["a"])
        (letter,) = self.bare(["a"])
        position = _find_tokens(surrounded, letter)
        self.before = surrounded[:position]
        self.behind: list[int] = []
        if letter:
            self.behind = surrounded[position + len(letter) :]

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize running text, with special tokens before it but none after it.

        A text that begins with the start token, as chat templates write it, gets no second one.

        Args:
            texts: N texts.

        Returns:
            N lists of token ids.
        """
        # Two calls, each for all texts of a kind: a fast tokenizer divides them among threads.
        started_rows: list[int] = []
        plain_rows: list[int] = []
        for row, text in enumerate(texts):
            if self._is_started(text):
                started_rows.append(row)
            else:
                plain_rows.append(row)
        token_rows: list[list[int]] = [[] for _ in texts]
        started = self.bare([texts[row] for row in started_rows])
        for row, tokens in zip(started_rows, started, strict=True):
            token_rows[row] = tokens
        plain = self.whole([texts[row] for row in plain_rows])
        for row, tokens in zip(plain_rows, plain, strict=True):
            # Without the special tokens after the text.
            token_rows[row] = tokens[: len(tokens) - len(self.behind)]
        return token_rows

    def _is_started(self, text: str) -> bool:
        """Return whether a text begins with the start token, written out."""
        return bool(self._start_text) and text.startswith(self._start_text)

    def bare(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts without special tokens."""
        return self.whole(texts, special=False)

    def whole(self, texts: Sequence[str], *, special: bool = True) -> list[list[int]]:
        """Tokenize texts.

        Args:
            texts: N texts.
            special: Whether to add all special tokens that the tokenizer gives a text, before and
                after it.

        Returns:
            N lists of token ids.
        """
        # Tokenizers fail without any text.
        if not texts:
            return []
        encoded = self.tokenizer(
            list(texts),
            add_special_tokens=special,
            return_attention_mask=False,
            # Texts longer than what the model reads are truncated later.
            verbose=False,
        )
        return list(encoded["input_ids"])


def _find_tokens(row: Sequence[int], tokens: Sequence[int]) -> int:
    """Return the first position at which a row contains some tokens in sequence.

    If it does not contain them, return the last position at which it could.

    Example:
        >>> _find_tokens([1, 5, 6, 2], [5, 6])
        1
    """
    n_tokens = len(tokens)
    max_position = len(row) - n_tokens
    for position in range(max_position + 1):
        if row[position : position + n_tokens] == tokens:
            return position
    return max_position


def _truncate(
    scorer: LanguageModel,
    name: str,
    prompt: list[int],
    choices: Sequence[list[int]],
    max_length: int,
) -> list[Tokens]:
    """Truncate a prompt at its beginning, so that the model can read it with each of its choices.

    A long choice leaves its prompt fewer tokens than a short one. Choices that follow the same part
    of the prompt form one `Tokens`.

    Args:
        scorer: The model, whose `room` is the maximum tokens of a prompt before a choice.
        name: Id of the item, for errors.
        prompt: Tokens of the prompt.
        choices: Tokens of each choice.
        max_length: Maximum tokens that the model reads.

    Raises:
        ValueError: If the prompt is empty and the model has no start token, or a choice has no
            tokens, or too many.
    """
    if not prompt and not scorer.SURROUNDED:
        raise ValueError(
            f"Expected the tokenizer of {scorer.name} to have a begin- or end-of-sequence token "
            f"for the empty prompt of item {name!r}, but the tokenizer has neither."
        )
    # Number of tokens of the prompt that are read -> the choices after these.
    tokens_by_length: dict[int, Tokens] = {}
    for position, choice in enumerate(choices):
        if not choice:
            raise ValueError(
                f"Expected at least one token in each choice, but choice {position} of item "
                f"{name!r} has no tokens."
            )
        max_prompt = scorer.room(max_length, len(choice))
        if max_prompt < 1:
            raise ValueError(
                f"Expected choices that {scorer.name} can read (up to {max_length} tokens), but "
                f"item {name!r} has a choice of {len(choice)} tokens."
            )
        # The end of a prompt matters more: it is what a continuation follows.
        visible = prompt[-max_prompt:]
        if len(visible) not in tokens_by_length:
            tokens_by_length[len(visible)] = Tokens(
                name=name,
                prompt=visible,
                choices=[],
                places=[],
                truncated=len(prompt) > max_prompt,
            )
        tokens_by_length[len(visible)].choices.append(choice)
        tokens_by_length[len(visible)].places.append(position)
    return list(tokens_by_length.values())
