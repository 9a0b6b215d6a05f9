"""Estimates of how many tokens a server bills for a prompt.

`estimate_tokens` is about what the tokenizers of today's models make of an English text.
`TokenEstimate` corrects it by what a server has billed, as its tokenizer and the language of the
data may differ.
"""

from __future__ import annotations

import math
import re
from typing import Any

MAX_WORD_LENGTH = 7
"""Letters of a word up to which it is about one token."""

LETTERS_PER_TOKEN = 5
"""Letters of the rest of a longer word that are about one token."""

TOKENS_PER_CHARACTER = 0.6
"""Tokens of a character outside of ASCII, between those of Cyrillic and of Chinese."""

MIN_RATIO = 0.1
MAX_RATIO = 10.0
"""Limits of billed to estimated tokens, beyond which a server does not count tokens."""

# A capital begins a piece in the middle of a word, and up to three digits are one.
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]{1,3}|\n+|[!-/:-@\[-`{-~]+")


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has.

    For 300 prompts of each of PIQA, SocialIQA, ANLI and SST-2, and 100 paragraphs of SQuAD, the sum
    is within 8 % of that of the tokenizers of GPT-4o, Llama 3, Qwen 3, DeepSeek V3 and Gemma 3.

    Example:
        >>> estimate_tokens("Is it 12:30?"), estimate_tokens("Internationalization"), estimate_tokens("答案")
        (6, 4, 2)
    """
    total = 0.0
    # Spaces are part of the word that they precede.
    for piece in _PIECE.findall(text):
        total += 1 + max(0, len(piece) - MAX_WORD_LENGTH) / LETTERS_PER_TOKEN
    n_other_characters = len(text) - len(text.encode("ascii", "ignore"))
    return math.ceil(total + TOKENS_PER_CHARACTER * n_other_characters)


def estimate_prompt_tokens(prompt: Any) -> int:
    """Return about how many tokens a text or the turns of a conversation have."""
    if isinstance(prompt, str):
        return estimate_tokens(prompt)
    return sum(estimate_tokens(turn["content"]) for turn in prompt)


class TokenEstimate:
    """Corrects estimates of prompt tokens by what a server billed.

    Example:
        A template of 20 tokens, and a tokenizer that makes half as many more than estimated:

        >>> tokens = TokenEstimate()
        >>> tokens.add_short_prompt(10, 30)
        >>> tokens.add_prompt(100, 170)
        >>> tokens.correct(200)
        320
    """

    def __init__(self) -> None:
        self._template_tokens = 0
        self._n_short_prompts = 0
        self._estimated_tokens = 0
        self._billed_tokens = 0

    def add_short_prompt(self, estimated: int, billed: int) -> None:
        """Add a prompt of a trial, whose tokens beyond the estimate are those of the template."""
        # A short prompt has few tokens by which the estimate could be wrong.
        self._template_tokens += billed - estimated
        self._n_short_prompts += 1

    def add_prompt(self, estimated: int, billed: int) -> None:
        """Add a prompt of the data, which shows how many tokens its words have."""
        # The template is no word of the data.
        self._estimated_tokens += estimated
        self._billed_tokens += max(0, billed - self.template_tokens)

    @property
    def template_tokens(self) -> int:
        """The tokens that the template of a model adds to a prompt."""
        if not self._n_short_prompts:
            return 0
        return max(0, round(self._template_tokens / self._n_short_prompts))

    @property
    def ratio(self) -> float:
        """Billed tokens per estimated one, 1.0 before a prompt of the data was billed."""
        if not self._estimated_tokens:
            return 1.0
        return min(max(self._billed_tokens / self._estimated_tokens, MIN_RATIO), MAX_RATIO)

    def correct(self, estimated: int, n_prompts: int = 1) -> int:
        """Return the tokens that a server will bill for prompts with an estimate.

        Args:
            estimated: Sum of `estimate_prompt_tokens` over the prompts.
            n_prompts: Number of prompts.
        """
        return round(self.ratio * estimated) + n_prompts * self.template_tokens
