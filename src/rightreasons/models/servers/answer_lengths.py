"""How many tokens answers have: `AnswerLengths` remembers those that a server generated.

Hidden thinking is billed as generated tokens, so that it is included.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple


class LengthSettings(NamedTuple):
    """The settings on which the length of an answer depends.

    Attributes:
        max_tokens: Maximum number of tokens.
        is_drawn: Whether the answer is sampled.
        is_constrained: Whether the answer is restricted to given strings.
    """

    max_tokens: int
    is_drawn: bool
    is_constrained: bool


class AnswerLengths:
    """Numbers of tokens of the answers so far, by the settings of their generation.

    Example:
        >>> lengths = AnswerLengths()
        >>> lengths.add({"max_new_tokens": 2048}, n_answers=2, n_tokens=300)
        >>> lengths.estimate({"max_new_tokens": 2048}), lengths.estimate({"max_new_tokens": 40})
        (150.0, 40.0)
    """

    def __init__(self) -> None:
        # Settings -> number of answers, and number of their tokens.
        self._counts: dict[LengthSettings, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def add(self, settings: Mapping[str, Any], *, n_answers: int, n_tokens: int) -> None:
        """Add answers and their tokens to the counts; several threads may call this.

        Args:
            settings: Options of `Generation` as a dictionary.
            n_answers: Number of answers.
            n_tokens: Number of tokens of all of these answers.
        """
        key = _select_settings_of_length(settings)
        # Without the lock, another thread might add answers between the two lines.
        with self._lock:
            n_earlier_answers, n_earlier_tokens = self._counts.get(key, (0, 0))
            n_answers += n_earlier_answers
            n_tokens += n_earlier_tokens
            self._counts[key] = (n_answers, n_tokens)

    def has(self, settings: Mapping[str, Any]) -> bool:
        """Return whether an answer with such settings was counted."""
        return _select_settings_of_length(settings) in self._counts

    def estimate(self, settings: Mapping[str, Any]) -> float:
        """Estimate the number of tokens of an answer.

        It is the mean of earlier answers with the same settings. If there are none, answers with
        the next larger maximum are used; before any answer, the estimate is the maximum itself.

        Args:
            settings: Options of `Generation` as a dictionary, of which `max_new_tokens` is the
                maximum.
        """
        key = _select_settings_of_length(settings)
        max_tokens = float(key.max_tokens)
        if not self._counts:
            return max_tokens
        # Answers with a similar maximum are better than no answers.
        if key not in self._counts:
            key = self._find_similar_key(max_tokens)
        n_answers, n_tokens = self._counts[key]
        mean = n_tokens / n_answers
        return min(mean, max_tokens)

    def _find_similar_key(self, max_tokens: float) -> LengthSettings:
        """Return the settings with the next larger maximum of tokens, or with the largest one."""
        # Settings are sorted by their maximum, which comes first.
        keys = sorted(self._counts)
        for key in keys:
            if key.max_tokens >= max_tokens:
                return key
        return keys[-1]


def _select_settings_of_length(settings: Mapping[str, Any]) -> LengthSettings:
    """Return the settings of `Generation` on which the length of an answer depends."""
    max_tokens = settings.get("max_new_tokens", 1)
    is_drawn = settings.get("temperature", 0) > 0
    is_constrained = bool(settings.get("constrained"))
    return LengthSettings(max_tokens, is_drawn, is_constrained)
